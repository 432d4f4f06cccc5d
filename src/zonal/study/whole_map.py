"""All regions of the smallest size at once, whether the tree has them or not.

Where regions are products over axes they are a grid, whose posterior takes milliseconds (`gp.grid_posterior`).
"""

from __future__ import annotations

from zonal.engine.state import State
from zonal.errors import InvalidInput, require
from zonal.gp.grid_posterior import GridPosterior

MAX_CELLS = 1 << 20  # predicted at once as a grid


def smallest_grid(state: State) -> GridPosterior | None:
    """Return the posterior of all smallest regions as a grid; None if they are none, or have no such posterior."""
    problem = state.problem
    if problem.model_free or problem.space.axes is None or not GridPosterior.is_possible(state.belief):
        return None
    bottom = problem.bottom(state.h_max)
    number = problem.space.partition.leaves(bottom)
    fix = "Pass the regions, or give the space a larger smallest size."
    require(number <= MAX_CELLS, f"at most {MAX_CELLS} smallest regions are predicted at once", number, fix)
    return GridPosterior(state.belief, problem.frame, problem.frame.layout.grid(problem.space, bottom))


def whole_grid(state: State) -> GridPosterior:
    """Return the posterior of all smallest regions as a grid; raise if there is none."""
    grid = smallest_grid(state)
    if grid is None:
        fix = "Leave every= out, or pass regions to study.probability()."
        raise InvalidInput("all smallest regions are judged at once on axes, under product kernels", "every", fix)
    return grid
