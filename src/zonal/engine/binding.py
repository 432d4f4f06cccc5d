"""The policy bound to the model in use, and what it answers without a decision being made."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from zonal._types import Floats
from zonal.engine import replies
from zonal.engine.settings import Problem
from zonal.engine.state import State
from zonal.engine.views import views
from zonal.errors import InvalidInput, require
from zonal.kernels.base import Kernel
from zonal.policies.base import BoundPolicy, PolicyContext
from zonal.policies.deltas import Variation

TIE = 1e-9  # of the prior standard deviation of a point
TYPICAL_CELLS = 16  # of each depth, over which the maximum of the variation within is taken


def bound_policy(state: State) -> BoundPolicy:
    """Return the policy bound to the model in use; delta and ties depend on it."""
    problem, model = state.problem, state.fit_state.fit.model
    if problem.bound is None or problem.bound[0] is not model:
        problem.bound = model, _bind(problem, state)
    return problem.bound[1]


def _bind(problem: Problem, state: State) -> BoundPolicy:
    space, target, h_max, model = problem.space, problem.target, state.h_max, state.model
    kernel = problem.unknowns.given if model is None else model.kernel
    lines = [axis for axis in space.axes or () if not axis.is_categorical]
    bound = problem.policy.bind(
        PolicyContext(
            counts=state.counts,
            base=space.arity,
            budget=state.n_affordable,
            h_max=h_max,
            variation=Variation(
                reaches=lambda: np.array([space.reach(depth, target) for depth in range(h_max + 2)]),
                smoothness=lambda: None if kernel is None else problem.frame.smoothness(kernel),
                spread=partial(_spread_by_depth, problem, kernel, h_max),
                learned=problem.learned,
                noise_learned=problem.unknowns.noise,
                endless=not all(axis.measure(target).ends for axis in lines),
            ),
            tie=TIE * (1.0 if kernel is None else float(np.sqrt(kernel.point_variance))),
            learned=problem.learned,
            opening=design_size(state),
            room=problem.frame.max_nodes,
            sign=problem.sign,
            zero=state.prior_mean,
        )
    )
    require(hasattr(bound, "choose"), "the policy's bind must return a bound policy", bound, "Correct the policy.")
    return bound


def _spread_by_depth(problem: Problem, kernel: Kernel | None, h_max: int) -> tuple[Floats, Floats]:
    """Return, by depth, the prior std of f about a cell's average, and log the number of smallest regions.

    `SpreadDelta` uses it: how much f varies within the cells of a depth, from the prior alone.
    """
    if kernel is None:
        raise InvalidInput("SpreadDelta needs a kernel", None, "Pass kernel=, or another delta.")
    space, (variance, log_members) = problem.space, np.zeros((2, h_max + 2))
    bottom = problem.bottom(h_max)
    for depth in range(bottom + 1):
        cells = [space.cell(node, problem.target) for node in space.representative_cells(depth, TYPICAL_CELLS)]
        variance[depth] = max(problem.frame.within(kernel, cell) for cell in cells)
        log_members[depth] = math.log(space.n_descendants(depth, bottom))
    tiny = 1e-12 * kernel.point_variance  # less is rounding
    return np.sqrt(np.where(variance > tiny, variance, 0.0)), log_members


def design_size(state: State) -> int:
    """Return the number of cells of the initial design, without leaves above its depth."""
    return sum(int(state.structure.depth[row]) >= state.created.opening for row in state.initial_design)


def has_scale(state: State) -> bool:
    """Tell whether rewards can be compared with delta: not before their scale was learned."""
    return not state.problem.learned or state.fit_state.fit.model.measurements > 0


def recommend(state: State) -> int:
    """Return the row to recommend."""
    return replies.row(
        bound_policy(state).recommend(state.posterior_table()), "recommend", state.posterior_table()
    )


def threshold(state: State) -> float | None:
    """Return the threshold the policy searches above, relative to the prior mean; None if it seeks the best."""
    return bound_policy(state).threshold(state.posterior_table(), partial(views, state, False))


def confidence_bands(state: State) -> tuple[Floats, Floats]:
    """Return confidence and variation of every node, as used to choose the next trial."""
    return replies.confidence_bands(
        bound_policy(state).confidence_bands(state.posterior_table(), state.measured + 1), state.posterior_table()
    )
