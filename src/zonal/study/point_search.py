"""From a region to a point: sequential halving over representative points (the remark under Definition 2).

`sequential_halving` knows a Gaussian over a few points and how to measure them, and no study; `refine` begins with
a study's posterior.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from zonal._types import Floats
from zonal.engine import checks
from zonal.errors import finite_number, plain_array, require, standard_deviation, whole_number
from zonal.kernels.feedback import Average, footprints_of
from zonal.spaces import Region, with_feedback
from zonal.study.queries import expected, judged_region

if TYPE_CHECKING:
    from zonal.study.study import Study

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

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(9):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> point = study.refine(lambda x: float(-x[0]), budget=20)
    >>> point.x.shape
    (1,)
    """

    x: Floats
    mean: float
    std: float
    nfev: int


def refine(
    study: Study, measure_point: MeasurePoint, budget: int, noise: float | None, points: ArrayLike | None
) -> PointResult:
    """Find a good point within the recommended region by measuring points: see `Study.refine`."""
    fix = "For members and sequences, extend the study or raise the policy's h_max."
    require(study.space.continuous, "refine works in a box only", study.space, fix)
    given = _spread(study, study.recommend().region) if points is None else points
    require(
        callable(measure_point), "measure_point must be a function of a point", measure_point, "Pass a callable."
    )
    problem, fix = f"points must have shape (n, {study.space.d})", "Pass one row per point."
    candidates = plain_array(given, problem, fix, float)
    right = candidates.ndim == 2 and candidates.shape[1:] == (study.space.d,) and len(candidates)
    require(right, problem, points, fix)
    spots = [judged_region(study, np.stack([x, x], axis=1)) for x in candidates]
    has_noise = noise is not None or not callable(study.settings.noise)
    require(has_noise, "the noise of a point is not known", noise, "Pass the noise= of one point measurement.")
    spread = standard_deviation(study._state.noise_std().item(0) if noise is None else noise, "noise")
    with study._lock:
        zero = study._state.prior_mean
        # No more points than the budget can be measured: only the most promising are kept.
        order = np.argsort(-expected(study._state, spots)[0], kind="stable")
        kept = np.sort(order[: whole_number(budget, "budget", 1)])
        seen = footprints_of([spots[at] for at in kept], study.settings.judged)
        centred, covariance = study._state.belief.joint(seen)

    def reward(x: Floats) -> float:
        return study.settings.sign * checks.measured(study._state, measure_point(x), None)[0] - zero

    point = sequential_halving(candidates[kept], centred, covariance, spread, reward, budget)
    return replace(point, mean=study.settings.sign * (zero + point.mean))


def _spread(study: Study, region: Region) -> Floats:
    """Return the points that represent a region, or else a grid over it: ten per axis, a thousand at most."""
    measures = [axis.measure(study.settings.feedback) for axis in study.space.axes]
    if region.feedback is not None and all(measure.finite for measure in measures):
        return region.points
    d = len(region.widths)
    return with_feedback(region, Average(min(10, int(1000 ** (1 / d) + 1e-9)))).points


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
