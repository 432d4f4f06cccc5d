"""Short tours: where travel costs, several looks are planned at once, and the nearest is made first.

The largest gain per cost is greedy: it keeps measuring near the current region, since every other is far. So looks
are planned as if travel were free, as many together that the tour over all of them costs half as much as the
looks. The nearest is made first, and the rest of the tour is planned again after every look.
"""

from __future__ import annotations

import numpy as np

from zonal.arrays import Floats
from zonal.policies.buying import TIE
from zonal.policies.gain import log_pairs
from zonal.policies.rules import Rows, View, best
from zonal.tree import Tree

PLANNED_STOPS = 8  # of a tour; each represents the same number of looks
MODELS = 3  # used for planning: those with the largest weights


def next_stop(
    tree: Tree,
    questions: Rows,  # rows that may be measured
    views: list[View],
    joint: list[Floats],  # by view, the covariances of questions with candidates
    means: list[Floats],  # by view, the means of candidates
    looks: int,  # number of looks to plan
    tie: float,  # means closer than this are equal
) -> int | None:
    """Return the nearest of the best places for the next looks, None if none of them can be paid."""
    terms = tree.terms
    assert terms is not None
    assert terms.ways is not None
    prices, ways = terms.prices(questions), terms.ways(questions)
    able = (prices + ways + (terms.times.min() if terms.timed else 0.0) <= terms.left).nonzero()[0]
    if not len(able):
        return None
    likeliest = sorted(range(len(views)), key=lambda at: -views[at].weight)[:MODELS]
    views, means = [views[at] for at in likeliest], [means[at] for at in likeliest]
    stops = min(looks, PLANNED_STOPS)
    each = -(-looks // stops)
    rows, dear = questions[able], np.log(np.maximum(prices[able] + (terms.usual if terms.timed else 0.0), 1e-300))
    moved = [joint[at][able] for at in likeliest]
    own = [view.covariance(rows, rows) for view in views]
    noise = [view.noise[rows] ** 2 / each for view in views]
    chosen: list[int] = []
    for _ in range(stops):
        gains = np.full(len(rows), -np.inf)
        for view, mean, slope, spread, error in zip(views, means, moved, own, noise, strict=True):
            std = np.sqrt(np.maximum(np.diagonal(spread), 0.0) + error)
            std[std == 0] = np.inf
            gains = np.logaddexp(gains, np.log(view.weight) + log_pairs(mean, slope / std[:, None], tie))
        at = int((rows == best(tree, rows, gains - dear, TIE)).argmax())
        chosen.append(at)
        for slope, spread, error in zip(moved, own, noise, strict=True):
            told = spread[:, at] / max(spread[at, at] + error[at], 1e-300)
            slope -= np.outer(told, slope[at])
            spread -= np.outer(told, spread[at])
    way = ways[able][chosen]
    return best(tree, rows[chosen], -way, TIE * float(way.max()))
