"""Looks as short tours: where ways cost, several are planned at once, and the nearest of them is made first.

The largest gain for its cost is greedy: it stays where it is, for one more look at the same hill, since every
other is far. So looks are planned as if ways cost nothing, so many together that the tour over all of them costs
half as much as the looks do; each is made when the tour comes by, and what is left of the tour is planned anew
after every look.
"""

from __future__ import annotations

import numpy as np

from zonal.policies.buying import TIE
from zonal.policies.gain import log_pairs
from zonal.policies.rules import Floats, Rows, View, best
from zonal.tree import Tree

STOPS = 8  # of a tour that are planned; each stands for as many looks as it takes
MODELS = 3  # by which they are planned, the likeliest


def next_stop(
    tree: Tree,
    questions: Rows,
    views: list[View],
    joint: list[Floats],
    means: list[Floats],
    looks: int,
    tie: float,
) -> int | None:
    """Return the nearest of the places where the next looks are best made, None if none of them can be paid.

    Parameters
    ----------
    tree : Tree
    questions : array of int
        Rows that may be measured.
    views : list of View
    joint : list of array
        Of each view, the covariances of questions with candidates.
    means : list of array
        Of each view, the means of candidates.
    looks : int
        To be planned.
    tie : float
        Means closer than this are equal.
    """
    terms = tree.terms
    assert terms is not None
    assert terms.ways is not None
    prices, ways = terms.prices(questions), terms.ways(questions)
    able = (prices + ways + (terms.times.min() if terms.timed else 0.0) <= terms.left).nonzero()[0]
    if not len(able):
        return None
    likeliest = sorted(range(len(views)), key=lambda at: -views[at].weight)[:MODELS]
    views, means = [views[at] for at in likeliest], [means[at] for at in likeliest]
    stops = min(looks, STOPS)
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
