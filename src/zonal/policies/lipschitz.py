"""How steep functions from a Gaussian process are: Lipschitz constants that hold with a stated probability.

The supremum of a derivative is bounded on one axis by Rice's formula for crossings, on several axes by the
expected number of local maxima (Kac and Rice) or, where f is not smooth enough for that, by the expected supremum
(Sudakov and Fernique) and the deviation of a supremum from it (Borell and TIS). docs/theory.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from zonal._types import Floats, Smoothness

STEPS = 2001  # of a quadrature whose error is far below the last digit printed
FAR = 12.0  # standard deviations beyond which a normal tail is neglected


def crossing_bound(z: float, turns: float) -> float:
    """Return a bound on the probability that a stationary process of variance 1 on an interval reaches z (Rice).

    It either starts above z or crosses z upwards, which happens ``turns / (2 pi) exp(-z^2 / 2)`` times on average;
    `turns` is the length of the interval times the standard deviation of the derivative.
    """
    return min(1.0, float(_tail(z)) + turns / (2 * math.pi) * math.exp(-z * z / 2))


def maxima_bound(z: float, turns: Floats, bends: Floats) -> float:
    """Return a bound on the probability that a product process of variance 1 on a box reaches z.

    If it does, it has a local maximum above z inside the box or on one of its faces; this is the expected number
    of these, with the determinant of the Hessian replaced by the product of its diagonal (Hadamard). `turns` are
    as in `crossing_bound`, one per axis, and `bends` a row of `Smoothness.bends`.
    """
    x = np.linspace(z, max(z, 0.0) + FAR, STEPS)
    density = _density(x)
    for turn, bend in zip(turns.tolist(), bends.tolist(), strict=True):
        density = density * (
            1 + turn / math.sqrt(2 * math.pi) * (bend * _density(x / bend) + x * _tail(-x / bend))
        )
    return min(1.0, float(np.trapezoid(density, x)))


def expected_supremum(turns: float) -> float:
    """Return a bound on the expected supremum of a stationary process of variance 1 on an interval."""
    z = np.linspace(0.0, FAR, STEPS)
    return float(np.trapezoid([crossing_bound(level, turns) for level in z.tolist()], z))


def certified_constants(smooth: Smoothness, failure: float) -> Floats | None:
    """Return L for each axis such that no slope exceeds its L anywhere, except with probability `failure`.

    None if f has no second derivative: none of the formulas applies then.
    """
    if smooth.curvatures is None:
        return None
    d = len(smooth.slopes)
    share = failure / (2 * d)  # both signs of every axis
    # How fast slope j varies along axis i, in standard deviations over the whole side.
    turns = np.asarray(smooth.sides * smooth.curvatures / smooth.slopes[:, None])
    if d == 1:
        return smooth.slopes * _level(partial(crossing_bound, turns=float(turns[0, 0])), share)
    if smooth.bends is not None:
        rows = zip(turns, smooth.bends, strict=True)
        return smooth.slopes * [_level(partial(maxima_bound, turns=t, bends=b), share) for t, b in rows]
    stray = math.sqrt(-2 * math.log(share))  # Borell and TIS
    return smooth.slopes * [sum(map(expected_supremum, row)) + stray for row in turns.tolist()]


def _level(probability: Callable[[float], float], wanted: float) -> float:
    """Return where a decreasing probability reaches the wanted value."""
    from scipy.optimize import brentq

    high = 1.0
    while probability(high) > wanted:
        high *= 2
    return float(brentq(lambda z: probability(z) - wanted, -high, high, xtol=1e-10))


def _density(x: Floats) -> Floats:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _tail(x: float | Floats) -> Floats:
    """Return the probability that a normal variable exceeds x."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-np.asarray(x)))
