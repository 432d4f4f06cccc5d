"""Choosing a measurement: the largest gain per cost, over nodes and times.

Travel is part of the cost. A journey may be shared by several measurements at its end, so a far region is judged
by the number of measurements there that is best per cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats
from zonal.policies.base import Choice, Rows, best
from zonal.tree import Tree

TIE = 1e-6  # of the log of a gain, relative if it is large: smaller differences are rounding
KEPT = 64  # questions for which all times are compared
STAYS = (1, 2, 4, 8, 16)  # measurements in a row that may share the cost of one journey


def largest(
    tree: Tree,
    questions: Rows,  # rows that may be measured
    prepared: Callable[[Any, Any], Any],  # some questions and times to what gains are computed from
    rough: Callable[[Any], Floats],  # that to logs of gains, for ranking
    exact: Callable[[Any], Floats],  # the same, exactly
    finalists: int,  # the number of questions whose gain is computed exactly
    free: bool = True,  # whether its time is chosen; else it is the default one, if that can be paid
) -> Choice:
    """Return the question with the largest gain; where it costs, the largest gain per cost, and its time."""
    if tree.terms is not None:
        return _largest_per_cost(tree, questions, prepared, rough, exact, finalists, free)
    ready = prepared(slice(None), 1.0)
    finalist = highest(rough(ready), finalists, TIE)
    gains = exact([column[finalist] for column in ready])
    return best(tree, questions[finalist], gains, _tie(gains))


def _largest_per_cost(
    tree: Tree, questions: Rows, prepared: Any, rough: Any, exact: Any, finalists: int, free: bool
) -> Choice:
    """Return the question and its time with the largest gain per cost, as `largest` does."""
    terms = tree.terms
    prices, travel, times = terms.prices(questions), terms.travel_costs(questions), terms.times
    spends = terms.timed * times
    if not free and terms.timed and (prices + travel + terms.usual <= terms.left).any():
        times = spends = np.array([terms.usual])
    able = (prices + travel + spends.min() <= terms.left).nonzero()[0]
    if not len(able):  # the caller reports that it cannot be paid
        return int(questions[(prices + travel).argmin()]), float(times[spends.argmin()])
    # Several measurements can share a journey: its cost is divided by the number of measurements that is best.
    stays = np.array(STAYS if travel.max() > 0 else STAYS[:1])
    if times.size * stays.size > 1:
        usual = prices[able] + terms.timed * terms.usual
        first = rough(prepared(able, 1.0)) - _log(usual + travel[able] / stays.size)
        able = able[highest(first, KEPT, TIE)]
    at, durations = np.repeat(able, times.size), np.tile(times, able.size)
    costs = prices[at] + np.tile(spends, able.size)
    paid = costs + travel[at] <= terms.left
    at, durations, costs = (np.repeat(column[paid], stays.size) for column in (at, durations, costs))
    stay = np.tile(stays, len(at) // stays.size)
    costs = stay * costs + travel[at]
    ready = prepared(at, stay * durations / terms.usual)
    finalist = highest(rough(ready) - _log(costs), finalists * min(times.size * stays.size, 3), TIE)
    values = exact([column[finalist] for column in ready]) - _log(costs[finalist])
    rows = questions[at[finalist]]
    tie = _tie(values)
    row = best(tree, rows, values, tie)
    of_row = (rows == row).nonzero()[0]
    close = of_row[values[of_row] >= values[of_row].max() - tie]
    return row, float(durations[finalist[close]].min())


def _tie(gains: Floats) -> float:
    """Return how close logs of gains are equal: of small gains they are -z^2 / 2, where z has been rounded."""
    return TIE * max(1.0, -float(gains.max()))


def payable(tree: Tree, rows: Rows) -> Rows:
    """Return the rows, or, where measurements cost and none of them can be paid, all askable rows that can."""
    terms = tree.terms
    if terms is None or (terms.costs(rows, terms.times.min()) <= terms.left).any():
        return rows
    every = tree.askable.nonzero()[0]
    able = every[terms.costs(every, terms.times.min()) <= terms.left]
    return able if len(able) else rows


def _log(costs: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(costs, 1e-300)))


def with_default_time(tree: Tree, row: int) -> Choice | None:
    """Return a row with the default time, or the longest shorter one that can be paid; None if none can."""
    terms = tree.terms
    if terms is None:
        return row
    able = terms.times[terms.costs(np.full(terms.times.size, row), terms.times) <= terms.left]
    time = float(able[able <= terms.usual].max(initial=0.0))
    return (row, time) if time > 0 else None


def highest(values: Floats, number: int, tie: float) -> NDArray[np.intp]:
    """Return where the highest values are; if there are ties for the last places, some of them, evenly spread."""
    if len(values) <= number:
        return np.arange(len(values))
    last = np.partition(values, -number)[-number]
    sure = (values > last + tie).nonzero()[0]
    tied = ((values >= last - tie) & (values <= last + tie)).nonzero()[0]
    chosen = tied[(np.arange(number - len(sure)) * len(tied)) // (number - len(sure))]
    return np.sort(np.concatenate([sure, chosen]))
