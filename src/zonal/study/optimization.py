"""Measuring with a function: what `Study.optimize` and `Study.refine` do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.engine import binding, checks, select
from zonal.engine.results import Result
from zonal.errors import plain_array, positive_number, require, standard_deviation, text, whole_number
from zonal.kernels.feedback import Average, footprints_of
from zonal.policies.knowledge_gradient import KnowledgeGradient
from zonal.policies.level_set import Above
from zonal.spaces import Region, with_feedback
from zonal.study import summary
from zonal.study.executors import Anywhere, Measure
from zonal.study.point_search import MeasurePoint, PointResult, sequential_halving
from zonal.study.queries import expected, judged_region
from zonal.study.run_loop import ENOUGH, Callback, OnError, run_loop
from zonal.study.run_session import RunSession
from zonal.study.worker_id import run_id

if TYPE_CHECKING:
    from zonal.study.study import Study

JUDGE = 10  # measurements after the initial design before a learned model may stop the search


def optimize(
    study: Study,
    measure: Measure,
    executor: Anywhere,
    *,
    n: int | None,
    workers: int | None,
    callback: Callback | None,
    progress: bool,
    tolerance: float | None,
    on_error: OnError,
    max_failures: int | None,
    timeout: float | None,
    take_over: bool,
    by: str | None,
) -> Result:
    """Ask, measure and tell until the budget is spent, or the answer is good enough: see `Study.optimize`."""
    name = None if by is None else text(by, "by")
    able = callback is None or callable(callback)
    require(able, "callback must be a function of a study and a trial", callback, "Pass a callable.")
    enough = None if tolerance is None else twice(study, positive_number(tolerance, "tolerance"))
    with run_id() as run:
        session = RunSession(study, name or run, take_over, n)
        why = run_loop(
            session,
            measure,
            executor=executor,
            workers=workers,
            callback=callback,
            progress=(lambda: summary.progress_text(study)) if progress else None,
            enough=enough,
            on_error=on_error,
            max_failures=max_failures,
            timeout=timeout,
        )
    good = why == ENOUGH
    if good:
        why = reached(study, tolerance)
    best, spent = study.recommend(), session.paid_out or not summary.measurements_left(study)
    ended = f"{why};" if why else f"{session.spent}:"
    return Result(
        region=best.region,
        x=best.region.x,
        mean=best.mean,
        std=best.std,
        gap=best.gap,
        probability_best=best.probability_best,
        nfev=study.measured,
        success=good or (not why and (n is not None or (spent and not study.pending))),
        message=f"{ended} {summary.progress(study, 'made', 'measurement')}{_notes(study)}",
        study=study,
    )


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
    spread = standard_deviation(study._state.structure.noise.item(0) if noise is None else noise, "noise")
    with study._lock:
        zero = study._state.prior_mean
        # No more points than the budget can be measured: only the most promising are kept.
        order = np.argsort(-expected(study._state, spots)[0], kind="stable")
        kept = np.sort(order[: whole_number(budget, "budget", 1)])
        seen = footprints_of([spots[at] for at in kept], study.target)
        centred, covariance = study._state.belief.joint(seen)

    def reward(x: NDArray[np.float64]) -> float:
        return study._sign * checks.measured(study._state, measure_point(x), None)[0] - zero

    point = sequential_halving(candidates[kept], centred, covariance, spread, reward, budget)
    return replace(point, mean=study._sign * (zero + point.mean))


def reached(study: Study, tolerance: float | None) -> str:
    """Learn the model from all measurements, as at the end of a budget; return how good the answer is."""
    study._refit(from_scratch=False)
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
    judged = state.measured >= binding.design_size(state) + JUDGE or not state.problem.learned
    if not judged or select.next_of_design(state) is not None:
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
    if region.feedback is not None and all(axis.measure(study.feedback).finite for axis in study.space.axes):
        return region.points
    d = len(region.widths)
    return with_feedback(region, Average(min(10, int(1000 ** (1 / d) + 1e-9)))).points
