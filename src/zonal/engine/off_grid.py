"""Measurements off the grid: windows where the best region is sought between the cells, late in a campaign.

The tree's cells find the right hill. Once three quarters of the budget are spent, what is left decides between
windows on it, and a cell says little about a window that covers half of it: so the knowledge gradient compares
windows shifted by a quarter and a half around the best cells, and asks for the one that is expected to raise the
best mean most. The tree does not grow by it; a window's failures count at the cell at its centre.
"""

from __future__ import annotations

import math

import numpy as np

from zonal._types import Floats
from zonal.engine.policy import recommend
from zonal.engine.state import State
from zonal.engine.windows import Obstacles, Search, Windows, answers_anywhere, best_cells, joined
from zonal.policies.gain import log_gains
from zonal.spaces import ContinuousAxis, ProductRegion, Region

LATE = 0.75  # of the budget, from which on windows are measured
LEAST_BUDGET = 16  # measurements: with fewer the cells are hardly known
SHIFTED = 4  # of the best cells, around which windows are tried
SHIFTS = (1 / 4, 1 / 2)  # of their widths


def chosen_window(state: State) -> Region | None:
    """Return the window to measure next; None where a node of the tree should be."""
    if not _is_late(state):
        return None
    obstacles = Obstacles.of(state)
    search, cells = Search(state, obstacles), best_cells(state)
    near = cells.take(np.arange(min(SHIFTED, len(cells.centers))))
    windows = joined([cells, search.without(joined([search.shifted(near, step) for step in SHIFTS]), cells)])
    windows = windows.take(obstacles.clear(windows))
    if not len(windows.centers):
        return None
    for at in np.argsort(-_log_gains(state, windows), kind="stable").tolist():
        region = search.region(windows, at)
        if state.find(region) is not None:
            return None  # a cell after all: the policy chooses among them
        if obstacles.allows(region) and may_be_repeated(state, region):
            return region
    return None


def _is_late(state: State) -> bool:
    """Tell whether the answer may lie between cells, and the tree has done its part."""
    problem = state.problem
    able = getattr(problem.policy, "asks_anywhere", False) and problem.measures_target and answers_anywhere(state)
    plain = problem.prices is None and not state.differences and not callable(problem.settings.noise)
    if not (able and plain) or state.budget < LEAST_BUDGET or state.has_no_posterior:
        return False
    late = state.measured + len(state.pending) >= math.ceil(LATE * state.budget)
    return late and bool(state.posterior_table().smallest[recommend(state)])


def _log_gains(state: State, windows: Windows) -> Floats:
    """Return the log of the expected rise of the best of some windows' means, by the window that is measured."""
    keys = state.tracked.layout.keys(windows.footprints(), register=False)
    seen, slots = state.draft(), state.tracked.size + np.arange(len(windows.centers))
    seen.posterior = state.posterior.beside(keys)
    belief, cell = seen.belief, recommend(state)
    variance, weight = state.problem.noise.of_reward(state.noise_of_row(cell), None, 1.0)
    slopes = []
    for member, overlay in zip(belief.members, seen.overlay().members, strict=True):
        joint = overlay.covariance(slots)
        noise = member.noise_variance(variance, weight, int(slots[0]))  # they are all of one size
        spread = np.sqrt(np.maximum(joint.diagonal(), 0.0) + noise)
        slopes.append(joint / np.maximum(spread, 1e-300)[:, None])
    means = np.stack([member.mean[slots] for member in belief.members]).repeat(len(slots), axis=0)
    by_model = log_gains(means, np.concatenate(slopes)).reshape(len(slopes), -1)
    weights = np.log(np.maximum(belief.weights, 1e-300))
    return np.asarray(np.logaddexp.reduce(by_model + weights[:, None], axis=0))


def may_be_repeated(state: State, region: Region) -> bool:
    """Tell whether a window was not yet measured as often as regions may be."""
    most = state.problem.settings.max_replicates
    return most is None or n_asked(state, region) < most


def n_asked(state: State, region: Region) -> int:
    """Return how often a window was measured, or is pending, whatever labels or offsets its readings have."""
    pending = (asked.window for asked in state.pending.values() if asked.window is not None)
    return state.window_counts.get(region.key, 0) + sum(window.key == region.key for window in pending)


def home_of(state: State, window: Region) -> int:
    """Return the leaf of the tree at the centre of a window."""
    assert isinstance(window, ProductRegion)
    parts = [
        axis.window(part[0], 0.0) if isinstance(axis, ContinuousAxis) else part for axis, part in window.along
    ]
    center, row = ProductRegion(window.space, None, None, tuple(parts)), 0
    while state.structure.first_child[row] >= 0:
        children = (state.structure.parent == row).nonzero()[0].tolist()
        row = next(child for child in children if state.region(child).overlaps(center))
    return row
