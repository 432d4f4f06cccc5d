"""How probable it is that each of the smallest regions is the best one: from joint draws of the posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zonal._types import Floats, Ints
from zonal.engine import confidence
from zonal.engine.policy import views
from zonal.engine.windows import Obstacles
from zonal.errors import require
from zonal.kernels.feedback import footprints_of
from zonal.study.queries import expected, smallest_regions

if TYPE_CHECKING:
    from zonal.study.study import Study

MAX_DRAWN = 2048  # regions drawn together


class BestRegions(NamedTuple):
    """All smallest regions; arrays have one entry per region.

    Attributes
    ----------
    regions : list of Region
    mean, std : array
        Of their averages, in the user's units.
    height : array
        The means relative to the prior mean, turned so that high is good.
    halves : pair of array
        The share of draws in which each is the best, of one half of the draws and of the other.
    """

    regions: list[Any]
    mean: Floats
    std: Floats
    height: Floats
    halves: tuple[Floats, Floats]


def best_regions(study: Study) -> BestRegions:
    """Return how probable it is that each smallest region is the best one, among those that are allowed."""
    regions = smallest_regions(study)
    with study._lock:
        state = study._state
        fix = "Use a policy with a Gaussian belief, such as GPOO."
        require(not state.problem.model_free, "regions cannot be compared without a model", "StoOO", fix)
        height, variance = expected(state, regions)
        obstacles, std = Obstacles.of(state).regions, np.sqrt(variance)
        allowed = [
            at
            for at, region in enumerate(regions)
            if not any(region.overlaps(other) for other in obstacles) and not state.problem.is_forbidden(region)
        ]
        require(allowed, "every smallest region is forbidden", len(regions), "Allow some.")
        rivals = _rivals(np.array(allowed), height, std)
        problem = f"at most {MAX_DRAWN} regions that may be the best can be compared"
        fix = "Measure more first, or divide the space into fewer regions."
        require(len(rivals) <= MAX_DRAWN, problem, len(rivals), fix)
        seen = footprints_of([regions[at] for at in rivals], state.problem.target)
        keys = state.tracked.layout.keys(seen, register=False)
        rows = state.structure.size + np.arange(len(rivals))
        shares = confidence.times_best(views(state, pending=False, beside=keys), rows)
        mean = state.problem.sign * (state.prior_mean + height)
    first, second = np.zeros((2, len(regions)))
    first[rivals], second[rivals] = shares
    return BestRegions(regions, mean, std, height, (first, second))


def _rivals(among: Ints, height: Floats, std: Floats) -> Ints:
    """Return the regions that may be the best: not many standard deviations below the highest mean."""
    top = among[height[among].argmax()]
    behind = (height[top] - height[among]) / np.maximum(np.hypot(std[top], std[among]), 1e-300)
    return np.asarray(among[behind < confidence.HOPELESS])
