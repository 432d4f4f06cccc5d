"""From a region to a point: sequential halving over representative points (the remark under Definition 2).

It knows a Gaussian over a few points and how to measure them; it must not know studies, trees or kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from zonal._types import Floats
from zonal.errors import finite_number, require, whole_number

MeasurePoint = Callable[[Floats], float]

MOST_MEASUREMENTS = 100_000  # each is a separate update


@dataclass(frozen=True)
class PointResult:
    """The best point found within a region.

    Attributes
    ----------
    x : array, shape (d,)
        The point.
    mean, std : float
        Posterior mean and standard deviation of f there.
    nfev : int
        Point measurements made.
    """

    x: Floats
    mean: float
    std: float
    nfev: int


def sequential_halving(
    points: Floats, mean: Floats, covariance: Floats, noise: float, measure: MeasurePoint, budget: int
) -> PointResult:
    """Find the best of some points on a fixed budget, starting from a Gaussian belief over them.

    In each of ceil(log2 n) rounds every remaining point gets an equal share of the budget, then the half with the
    lower posterior means is dropped. Every measurement, with standard deviation `noise`, updates all points by
    their covariance. With fewer measurements than points, only the most promising points are measured.
    """
    budget = whole_number(budget, "budget", 1, MOST_MEASUREMENTS)
    require(len(points), "there must be a point to choose", points, "Pass at least one.")
    mean, covariance = mean.copy(), covariance.copy()
    # First keep only as many points as can each be measured once, by what is known already.
    left = np.sort(np.argsort(-mean, kind="stable")[:budget])
    spent = 0
    rounds = math.ceil(math.log2(len(left))) if len(left) > 1 else 1
    for done in range(rounds):
        share = max(1, (budget - spent) // ((rounds - done) * len(left)))
        for _ in range(share):
            for point in left:
                if spent == budget:
                    break
                fix = "Return one finite number from measure_point."
                value = finite_number(measure(points[point]), "a measured value", fix)
                _observe(mean, covariance, int(point), value, noise**2)
                spent += 1
        order = np.argsort(-mean[left], kind="stable")
        left = np.sort(left[order[: max(1, math.ceil(len(left) / 2))]])
    winner = int(left[np.argmax(mean[left])])
    return PointResult(
        points[winner].copy(), float(mean[winner]), math.sqrt(max(float(covariance[winner, winner]), 0.0)), spent
    )


def _observe(mean: Floats, covariance: Floats, point: int, value: float, variance: float) -> None:
    """Condition a Gaussian, in place, on one measurement of one of its entries."""
    column = covariance[:, point].copy()
    spread = float(column[point]) + variance
    if spread <= 0:
        return
    mean += column * ((value - mean[point]) / spread)
    covariance -= np.outer(column, column / spread)
