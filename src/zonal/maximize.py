"""`maximize` and `minimize`: a whole search in one call."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack

from zonal.engine.results import Result
from zonal.engine.settings import Given, SpaceLike
from zonal.io.hints import answering
from zonal.study.executors import Anywhere, Measure
from zonal.study.optimize import LabelsOfTrial
from zonal.study.run_loop import Callback, OnError
from zonal.study.study import Study


class Running(TypedDict, total=False):
    """How measurements are made: see `Study.optimize`."""

    executor: Anywhere
    workers: int | None
    callback: Callback | None
    progress: bool
    tolerance: float | None
    on_error: OnError
    max_failures: int | None
    timeout: float | None
    labels: LabelsOfTrial


class Options(Given, Running, total=False):
    """What `maximize` and `minimize` take."""


@answering(Options)
def maximize(
    measure: Measure,
    space: SpaceLike,
    budget: float,
    *,
    direction: Literal["maximize", "minimize"] = "maximize",
    **options: Unpack[Options],
) -> Result:
    """Find the region with the highest average, with a fixed budget of noisy measurements.

    The result has the region, mean and standard deviation of its average, and the study. After Ctrl-C it is the
    best so far, with ``success=False``. If `measure` raises, the error has the study as its ``study``.

    Parameters
    ----------
    measure : callable
        Turns a region into a noisy measurement of its average.
    executor, workers, callback, progress, tolerance, on_error, max_failures, timeout, labels
        As for `Study.optimize`; with a tolerance, in value units, it stops early when the answer is that good.
    space, budget, direction, kernel, noise, mean, feedback, policy, rng, max_replicates, forbidden, value_name
    value_unit, cost, times, overhead, travel, cost_unit
        As for `Study`.

    Examples
    --------
    >>> import zonal as zn
    >>> measure = zn.simulate(lambda x: -(x[:, 0] - 0.3) ** 2, zn.Mean(), noise=0.01, rng=0)
    >>> result = zn.maximize(measure, [(0, 1)], budget=40, kernel=zn.RBF(0.1, 0.3), noise=0.01)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """
    given: dict[str, Any] = dict(options)
    running = {name: given.pop(name) for name in Running.__annotations__ if name in given}
    study = Study(space, budget=budget, direction=direction, **given)
    try:
        return study.optimize(measure, **running)
    except BaseException as error:
        error.study = study  # type: ignore[attr-defined]
        if study.measured:
            error.add_note(f"{study.measured} measurements were told before; they are in this error's .study.")
        raise


@answering(Options)
def minimize(measure: Measure, space: SpaceLike, budget: float, **options: Unpack[Options]) -> Result:
    """Find the region with the lowest average; everything else as for `maximize`.

    Examples
    --------
    >>> import zonal as zn
    >>> measure = zn.simulate(lambda x: (x[:, 0] - 0.3) ** 2, zn.Mean(), noise=0.01, rng=0)
    >>> result = zn.minimize(measure, [(0, 1)], budget=40, kernel=zn.RBF(0.1, 0.3), noise=0.01)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """
    return maximize(measure, space, budget, direction="minimize", **options)
