"""Choosing a look: the largest gain per cost, over nodes and times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal.arrays import Floats
from zonal.policies.rules import Look, Rows, best
from zonal.tree import Tree

TIE = 1e-6  # of the log of a gain: smaller differences are rounding
KEPT = 64  # questions for which all times are compared
STAYS = (1, 2, 4, 8, 16)  # looks in a row that may share the cost of one way


def largest(
    tree: Tree,
    questions: Rows,  # rows that may be measured
    prepared: Callable[[Any, Any], Any],  # some questions and times to what gains are computed from
    rough: Callable[[Any], Floats],  # that to logs of gains, for ranking
    exact: Callable[[Any], Floats],  # the same, exactly
    finalists: int,  # the number of questions whose gain is computed exactly
    free: bool = True,  # whether the time of the look is chosen; else it is the usual one, if that can be paid
) -> Look:
    """Return the question with the largest gain; where looks cost, the largest gain per cost, and its time."""
    terms = tree.terms
    if terms is None:
        ready = prepared(slice(None), 1.0)
        some = highest(rough(ready), finalists, TIE)
        return best(tree, questions[some], exact([own[some] for own in ready]), TIE)
    prices, times = terms.prices(questions), terms.times
    ways = np.zeros(len(questions)) if terms.ways is None else terms.ways(questions)
    spends = times if terms.timed else np.zeros(times.size)
    if not free and terms.timed and (prices + ways + terms.usual <= terms.left).any():
        times = spends = np.array([terms.usual])
    able = (prices + ways + spends.min() <= terms.left).nonzero()[0]
    if not len(able):  # the caller reports that it cannot be paid
        return int(questions[(prices + ways).argmin()]), float(times[spends.argmin()])
    # Several looks can share a way: its cost is divided by the number of looks that is best.
    stays = np.array(STAYS if ways.max() > 0 else STAYS[:1])
    if times.size * stays.size > 1:
        usual = terms.usual if terms.timed else 0.0
        first = rough(prepared(able, 1.0)) - _log(prices[able] + usual + ways[able] / stays.size)
        able = able[highest(first, KEPT, TIE)]
    at, each = np.repeat(able, times.size), np.tile(times, able.size)
    costs = prices[at] + np.tile(spends, able.size)
    paid = costs + ways[at] <= terms.left
    at, each, costs = (np.repeat(own[paid], stays.size) for own in (at, each, costs))
    stay = np.tile(stays, len(at) // stays.size)
    costs = stay * costs + ways[at]
    ready = prepared(at, stay * each / terms.usual)
    some = highest(rough(ready) - _log(costs), finalists * min(times.size * stays.size, 3), TIE)
    values = exact([own[some] for own in ready]) - _log(costs[some])
    rows = questions[at[some]]
    row = best(tree, rows, values, TIE)
    own = (rows == row).nonzero()[0]
    close = own[values[own] >= values[own].max() - TIE]
    return row, float(each[some[close]].min())


def payable(tree: Tree, rows: Rows) -> Rows:
    """Return the rows, or, where looks cost and none of them can be paid, all askable rows that can."""
    terms = tree.terms
    if terms is None or (terms.costs(rows, terms.times.min()) <= terms.left).any():
        return rows
    every = tree.askable.nonzero()[0]
    able = every[terms.costs(every, terms.times.min()) <= terms.left]
    return able if len(able) else rows


def _log(costs: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(costs, 1e-300)))


def usual_time(tree: Tree, row: int) -> float | None:
    """Return the usual time, or the longest shorter one that can be paid; 0 if none can, None without costs."""
    terms = tree.terms
    if terms is None:
        return None
    able = terms.times[terms.costs(np.full(terms.times.size, row), terms.times) <= terms.left]
    return float(able[able <= terms.usual].max(initial=0.0))


def highest(values: Floats, number: int, tie: float) -> NDArray[np.intp]:
    """Return where the highest values are; if there are ties for the last places, some of them, evenly spread."""
    if len(values) <= number:
        return np.arange(len(values))
    last = np.partition(values, -number)[-number]
    sure = (values > last + tie).nonzero()[0]
    tied = ((values >= last - tie) & (values <= last + tie)).nonzero()[0]
    some = tied[(np.arange(number - len(sure)) * len(tied)) // (number - len(sure))]
    return np.sort(np.concatenate([sure, some]))
