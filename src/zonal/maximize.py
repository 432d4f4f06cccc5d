"""The one call that does it all."""

from __future__ import annotations

from typing import Any

from zonal.engines import Anywhere, Measure
from zonal.run import Callback, OnError
from zonal.settings import SpaceLike
from zonal.study import Study
from zonal.trials import Result


def maximize(
    measure: Measure,
    space: SpaceLike,
    budget: int,
    *,
    executor: Anywhere = None,
    workers: int | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    tolerance: float | None = None,
    on_error: OnError = "raise",
    max_failures: int | None = None,
    timeout: float | None = None,
    **settings: Any,
) -> Result:
    """Find the region of the highest average, on a fixed budget of noisy measurements.

    Parameters
    ----------
    measure : callable
        Turns a region into a noisy measurement of its average.
    space : Box, or bounds for one
        Where to look.
    budget : int
        How many measurements to make.
    executor, workers, callback, progress, tolerance, on_error, max_failures, timeout
        As for `Study.optimize`; with a tolerance, in value units, it stops early once the answer is that good.
    **settings
        As for `Study`: kernel, noise, mean, feedback, policy, rng, direction, max_looks and so on.

    Returns
    -------
    Result
        The region with mean and standard deviation of its average, and the study. After Ctrl-C the best so
        far, with ``success=False``. If `measure` raises, the study so far is the error's ``study``.

    Examples
    --------
    >>> import zonal as zn
    >>> measure = zn.simulate(lambda x: -(x[:, 0] - 0.3) ** 2, zn.Mean(), noise=0.01, rng=0)
    >>> result = zn.maximize(measure, [(0, 1)], budget=40, kernel=zn.RBF(0.1, 0.3), noise=0.01)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """
    study = Study(space, budget=budget, **settings)
    try:
        return study.optimize(
            measure,
            executor,
            workers=workers,
            callback=callback,
            progress=progress,
            tolerance=tolerance,
            on_error=on_error,
            max_failures=max_failures,
            timeout=timeout,
        )
    except BaseException as error:
        error.study = study  # type: ignore[attr-defined]
        if study.told:
            error.add_note(f"{study.told} measurements were told before; they are in this error's .study.")
        raise
