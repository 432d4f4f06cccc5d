"""How much f varies within the cells of a depth, from the prior alone; `SpreadDelta` uses it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zonal.arrays import Floats
from zonal.averages.feedback import Feedback
from zonal.averages.kernels import Kernel
from zonal.beliefs.frames import Frame
from zonal.errors import InvalidInput

TYPICAL_CELLS = 16  # of each depth, over which the maximum is taken


def spread_by_depth(
    space: Any, kernel: Kernel | None, feedback: Feedback, frame: Frame, h_max: int
) -> tuple[Floats, Floats]:
    """Return, by depth, the prior std of f about a cell's average, and log the number of smallest regions."""
    if kernel is None:
        raise InvalidInput("SpreadDelta needs a kernel", None, "Pass kernel=, or another delta.")
    variance, log_members = np.zeros(h_max + 2), np.zeros(h_max + 2)
    deepest = space.deepest()
    bottom = h_max + 1 if deepest is None else min(h_max + 1, deepest)
    for depth in range(bottom + 1):
        cells = [space.cell(node, feedback) for node in space.typical(depth, TYPICAL_CELLS)]
        variance[depth] = max(frame.within(kernel, cell) for cell in cells)
        log_members[depth] = math.log(space.inside(depth, bottom))
    tiny = 1e-12 * kernel.point_variance  # less is rounding
    return np.sqrt(np.where(variance > tiny, variance, 0.0)), log_members
