"""Measuring with a function: `Study.optimize` and `Study.refine`, written as functions of the study."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.engine import binding, checks, select
from zonal.engine.results import Result
from zonal.errors import need, plain_array, positive_number, standard_deviation, text, whole_number
from zonal.kernels.feedback import Average
from zonal.policies.knowledge_gradient import KnowledgeGradient
from zonal.policies.level_set import Above
from zonal.spaces import Region, with_feedback
from zonal.study import summary
from zonal.study.executors import Anywhere, Measure
from zonal.study.point_search import MeasurePoint, PointResult, sequential_halving
from zonal.study.queries import expected
from zonal.study.run_loop import ENOUGH, Callback, OnError, drive
from zonal.study.run_session import RunSession
from zonal.study.worker_id import run_of_mine

if TYPE_CHECKING:
    from zonal.study.study import Study

JUDGE = 10  # measurements after the initial design before a learned model may stop the search


def optimize(
    study: Study,
    measure: Measure,
    executor: Anywhere = None,
    *,
    n: int | None = None,
    workers: int | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    tolerance: float | None = None,
    on_error: OnError = "raise",
    max_failures: int | None = None,
    timeout: float | None = None,
    take_over: bool = False,
    by: str | None = None,
) -> Result:
    """Ask, measure and tell until the budget, or part of it, is spent, or the answer is good enough.

    Pending trials whose worker has ended are measured first: those of an earlier run in this process, or of a
    process on this machine that has ended. After Ctrl-C, or a stop by the callback, the result has
    ``success=False``.

    Parameters
    ----------
    measure : callable
        Turns a region into a value, a pair (value, standard error), or a mapping with arguments of `tell`: value,
        sem, note, time, slopes, minus. Where times are chosen and it has an argument `time`, that is how long to
        measure. If it raises, its trial is failed, which does not count against its region, and the error is
        passed on; the study can continue afterwards.
    executor : concurrent.futures.Executor, dask.distributed.Client or callable, optional
        Where to measure several regions at once. A function that returns an executor is called again if a
        worker process dies.
    n : int, optional
        Number of measurements to make now; by default all that remain.
    workers : int, optional
        How many at once; by default the executor's number of workers. Without an executor, the number of threads.
    callback : callable, optional
        Called with the study and the trial after each measurement; raise StopIteration to stop.
    progress : bool
        Show a progress bar.
    tolerance : float, optional
        In value units: stop early when the gap of the recommended region is no larger, twice in a row; while a
        model is learned, not before the initial design and ten more measurements. With the policy `Above` it
        applies to ``misclassified``, in units of weight.
    on_error : {"raise", "fail"}
        Whether a failed measurement ends the search, or only its trial.
    max_failures : int, optional
        With ``on_error="fail"``: one more failure is raised, and the failures since the last success do not
        count against any region; by default the number of remaining measurements.
    timeout : float, optional
        Seconds after which a measurement counts as failed.
    take_over : bool
        Also measure all trials that are pending, whoever asked for them: only if nobody else will.
    by : str, optional
        A name for whoever measures, such as ``"receiver 1"``. Trials pending under the same name are measured
        first, even if they were asked for on another host, as after a restart in another container. Only one run
        at a time may use a name. By default the name of this process, which another host cannot check.
    """
    name = None if by is None else text(by, "by")
    able = callback is None or callable(callback)
    need(able, "callback must be a function of a study and a trial", callback, "Pass a callable.")
    enough = None if tolerance is None else twice(study, positive_number(tolerance, "tolerance"))
    with run_of_mine() as run:
        part = RunSession(study, name or run, take_over, n)
        why = drive(
            part,
            measure,
            executor=executor,
            workers=workers,
            callback=callback,
            progress=(lambda: summary.hope(study)) if progress else None,
            enough=enough,
            on_error=on_error,
            max_failures=max_failures,
            timeout=timeout,
        )
    good = why == ENOUGH
    if good:
        why = reached(study, tolerance)
    found, spent = study.recommend(), part.paid_out or not study._looks_left
    ended = f"{why};" if why else f"{part.spent}:"
    return Result(
        region=found.region,
        x=found.region.x,
        mean=found.mean,
        std=found.std,
        gap=found.gap,
        probability_best=found.probability_best,
        nfev=study.measured,
        success=good or (not why and (n is not None or (spent and not study.pending))),
        message=f"{ended} {summary.progress(study, 'made', 'measurement')}{_notes(study)}",
        study=study,
    )


def refine(
    study: Study,
    measure_point: MeasurePoint,
    budget: int,
    *,
    noise: float | None = None,
    points: ArrayLike | None = None,
) -> PointResult:
    """Find a good point within the recommended region, and mean and std of f there, by measuring points.

    This is sequential halving over the region's representative points, starting from the study's posterior (the
    remark under Definition 2 of the paper). The study itself does not change.

    Parameters
    ----------
    measure_point : callable
        Turns a point, shape (d,), into a value.
    budget : int
        Number of point measurements; if there are more points, those with the lowest posterior means are dropped.
    noise : float, optional
        Standard deviation of one point measurement; the study's noise by default, if it is a number.
    points : array_like, shape (n, d), optional
        Candidates; by default the region's representative points, for an exact `Mean` a grid of points.
    """
    fix = "For members and sequences, extend the study or raise the policy's h_max."
    need(study.space.continuous, "refine works in a box only", study.space, fix)
    given = _spread(study, study.found) if points is None else points
    need(callable(measure_point), "measure_point must be a function of a point", measure_point, "Pass a callable.")
    problem, fix = f"points must have shape (n, {study.space.d})", "Pass one row per point."
    candidates = plain_array(given, problem, fix, float)
    right = candidates.ndim == 2 and candidates.shape[1:] == (study.space.d,) and len(candidates)
    need(right, problem, points, fix)
    spots = [study._region(np.stack([x, x], axis=1)) for x in candidates]
    known = noise is not None or not callable(study.settings.noise)
    need(known, "the noise of a point is not known", noise, "Pass the noise= of one point measurement.")
    spread = standard_deviation(study._state.table.noise.item(0) if noise is None else noise, "noise")
    with study._lock:
        zero = study._state.prior_mean
        # No more points than the budget can be measured: only the most promising are kept.
        order = np.argsort(-expected(study._state, spots)[0], kind="stable")
        kept = np.sort(order[: whole_number(budget, "budget", 1)])
        seen = study.feedback.footprints([spots[at] for at in kept])
        centred, covariance = study._state.belief.joint(seen)

    def reward(x: NDArray[np.float64]) -> float:
        return study._sign * checks.measured(study._state, measure_point(x), None)[0] - zero

    found = sequential_halving(candidates[kept], centred, covariance, spread, reward, budget)
    return replace(found, mean=study._sign * (zero + found.mean))


def reached(study: Study, tolerance: float | None) -> str:
    """Learn the model from all measurements, as at the end of a budget; return how good the answer is."""
    study._refit(anew=False)
    wrong = study.misclassified
    if wrong is None:
        good = f"the gap is {study.recommend().gap:.3g}"
    else:
        good = f"{wrong:.3g} is expected to be misclassified"
    return f"{good}, within the tolerance of {tolerance:g}"


def twice(study: Study, tolerance: float) -> Callable[[], bool]:
    """Return a function that tells whether the answer was good enough twice in a row."""
    latest = deque([False], maxlen=2)

    def enough() -> bool:
        latest.append(_is_enough(study, tolerance))
        return all(latest)

    return enough


def _is_enough(study: Study, tolerance: float) -> bool:
    """Tell whether a study's answer is good enough; a learned model needs some more."""
    state = study._state
    judged = state.measured >= binding.opening_size(state) + JUDGE or not state.problem.learned
    if not judged or select.next_of_opening(state) is not None:
        return False
    wrong = study.misclassified
    return (study.recommend().gap if wrong is None else wrong) <= tolerance


def _notes(study: Study) -> str:
    """Return notes on an answer that may be luck, and on a smallest size that the policy chose."""
    notes = "" if study.stands_out() else "; no region stands out"
    state, space = study._state, study.space
    if not isinstance(state.problem.policy, KnowledgeGradient | Above) or space.max_depth() is not None:
        return notes
    parts = {space.pieces(state.h_max + 1)[j] for j in space.continuous_axes}
    shown = " or ".join(map(str, sorted(parts)))
    return f"{notes}; the space has no smallest region, so each axis was divided into {shown} parts"


def _spread(study: Study, region: Region) -> NDArray[np.float64]:
    """Return the points that represent a region, or else a grid over it: ten per axis, a thousand at most."""
    if all(axis.measure(study.feedback).finite for axis in study.space.axes):
        return region.points
    d = len(region.widths)
    return with_feedback(region, Average(min(10, int(1000 ** (1 / d) + 1e-9)))).points
