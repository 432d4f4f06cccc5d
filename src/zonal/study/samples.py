"""Joint draws of regions' averages from the posterior: of a whole map, or of the regions given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zonal._types import Floats
from zonal.errors import random_generator, require, whole_number
from zonal.gp.grid_draws import dense_draws, grid_draws
from zonal.gp.model_average import Mixture
from zonal.io.dataframes import DataFrame
from zonal.io.result_table import Listing
from zonal.kernels.feedback import Feedback, footprints_of
from zonal.spaces import Region
from zonal.spaces.base import RegionLike
from zonal.study.queries import listed_regions, smallest_regions
from zonal.study.whole_map import smallest_grid

if TYPE_CHECKING:
    from zonal.study.study import Study

MAX_TOGETHER = 4096  # regions drawn together where they are no grid
MAX_NUMBERS = 1 << 28  # in one answer


def sample(
    study: Study,
    n: int,
    regions: RegionLike | Sequence[RegionLike] | DataFrame | Listing | None,
    rng: int | np.random.Generator | None,
) -> Floats:
    """Return joint draws of regions' averages: see `Study.sample`."""
    number, generator = whole_number(n, "the number of draws", 1), random_generator(rng)
    with study._lock:
        state = study._state
        belief = state.belief  # raises where there is none
        grid = smallest_grid(state) if regions is None else None
        if grid is not None:
            _check_size(number, grid.size)
            draws = grid_draws(grid, number, generator)
        else:
            several = smallest_regions(study) if regions is None else listed_regions(study, regions)[0]
            draws = _of_regions(belief, several, state.problem.target, number, generator)
        draws += state.prior_mean
        draws *= state.problem.sign
    likelihood = study.settings.likelihood
    return draws if likelihood is None else np.clip(draws, *likelihood.range)


def _of_regions(
    belief: Mixture, regions: list[Region], target: Feedback, number: int, rng: np.random.Generator
) -> Floats:
    """Return draws of some regions, from their joint covariance."""
    fix = "Pass fewer regions."
    require(len(regions) <= MAX_TOGETHER, f"at most {MAX_TOGETHER} regions are drawn together", len(regions), fix)
    _check_size(number, len(regions))
    if not regions:
        return np.zeros((number, 0))
    return dense_draws(belief, footprints_of(regions, target), len(regions), number, rng)


def _check_size(number: int, regions: int) -> None:
    problem = f"at most {MAX_NUMBERS} numbers are drawn at once"
    fix = "Draw fewer at a time, all with one generator as rng."
    require(number * regions <= MAX_NUMBERS, problem, f"{number} x {regions}", fix)
