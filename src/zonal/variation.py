"""How much f varies within the cells of a depth, from the prior alone: what `SpreadDelta` is made of."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from zonal.beliefs.frames import Frame
from zonal.errors import InvalidInput
from zonal.feedback import Feedback
from zonal.kernels import Kernel
from zonal.spaces import MemberRegion, MemberSpace, Space
from zonal.spaces.members import spread_evenly

Floats = NDArray[np.float64]

CELLS, MEMBERS = 16, 48  # of a depth, and of a cell, that are looked at


def spread_by_depth(
    space: Space, kernel: Kernel | None, feedback: Feedback, frame: Frame, h_max: int
) -> tuple[Floats, Floats]:
    """Return, by depth, the prior std of f about a cell's average, and log the number of smallest regions."""
    if kernel is None:
        raise InvalidInput("SpreadDelta needs a kernel", None, "Pass kernel=, or another delta.")
    covariance = frame.covariance(kernel)
    variance, log_members = np.zeros(h_max + 2), np.zeros(h_max + 2)
    deepest = space.deepest()
    bottom = h_max + 1 if deepest is None else min(h_max + 1, deepest)
    for depth in range(bottom + 1):
        if isinstance(space, MemberSpace):
            level = space.level(depth)
            variance[depth] = max(_within(space, kernel, depth, index) for index in _some(len(level.start)))
            log_members[depth] = math.log(int((level.stop - level.start).max()))
        else:
            own = covariance.among(feedback.footprints([space.cell((depth, 0), feedback)]))
            variance[depth] = max(kernel.point_variance - float(own[0, 0]), 0.0)
            log_members[depth] = math.log(space.count(bottom)) - math.log(space.count(depth))
    tiny = 1e-12 * kernel.point_variance  # less is rounding
    return np.sqrt(np.where(variance > tiny, variance, 0.0)), log_members


def _some(number: int) -> list[int]:
    return (
        np.unique(np.linspace(0, number - 1, CELLS).astype(int)).tolist()
        if number > CELLS
        else list(range(number))
    )


def _within(space: MemberSpace, kernel: Kernel, depth: int, index: int) -> float:
    """Return the prior variance of a member about the average of its cell."""
    region = space.cell((depth, index))
    assert isinstance(region, MemberRegion)
    places, shares = spread_evenly(region.positions, space.weights[region.positions], MEMBERS)
    gram = kernel(space.features[places], space.features[places])
    return max(float(shares @ np.diag(gram) - shares @ gram @ shares), 0.0)
