"""An optimizer for Bluesky Adaptive and Blop: a fly scan from `low` to `high` is a measurement of a region.

The protocols of Bluesky Adaptive 1.0 (``bluesky_adaptive.protocols``) ask for methods, not for a base class, so
nothing of Bluesky is imported here. A suggestion has the edges of a region, ``x_low`` and ``x_high`` for the axis
``x``; the acquisition plan scans what lies between them, and the evaluation function returns the average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zonal.adapters import region_points
from zonal.adapters.region_points import SEM
from zonal.errors import require
from zonal.study.study import Study
from zonal.study.summary import measurements_left


class RegionOptimizer:
    """A study as an ``Optimizer`` that also stops when its budget is spent, and hears of failures.

    Parameters
    ----------
    study : Study
        Of intervals only, such as a `Box`, named as the actuators are. In a file it can be continued later.
    objective : str
        The name under which the evaluation function returns the average; with ``_sem`` its standard error.

    Examples
    --------
    >>> import zonal as zn
    >>> optimizer = RegionOptimizer(zn.Study(zn.Box({"motor": (0, 1)}), budget=9, noise=0.1), "counts")
    >>> [point] = optimizer.suggest(1)
    >>> optimizer.ingest([{"_id": point["_id"], "counts": 0.7}])
    >>> optimizer.study.measured
    1
    """

    def __init__(self, study: Study, objective: str = "value") -> None:
        axes = study.space.axes or ()
        intervals = bool(axes) and not any(axis.is_categorical for axis in axes)
        require(intervals, "a scan needs a study of intervals", study.space, "Pass a study of a Box.")
        self.study, self.objective = study, objective

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return the next regions to measure, each with its edges and the number of its trial.

        They are fewer than wanted where the budget leaves fewer.
        """
        left = measurements_left(self.study)
        return region_points.suggest(self.study, num_points and max(min(num_points, left), 1))

    def ingest(self, points: Sequence[Mapping[str, Any]]) -> None:
        """Tell the study what was measured; points without a trial's number are observations, NaN is a failure."""
        region_points.ingest(self.study, self.objective, points)

    def get_best_points(self) -> list[tuple[int | None, dict[str, float], dict[str, float]]]:
        """Return the best region: the number of its last trial, None if it has none; its edges; mean and std."""
        best = self.study.recommend()
        trials = [trial.number for trial in self.study.trials if trial.region.key == best.region.key]
        outcome = {self.objective: best.mean, self.objective + SEM: best.std}
        return [(trials[-1] if trials else None, region_points.edges(best.region), outcome)]

    def register_failures(self, suggestions: Sequence[Mapping[str, Any]]) -> None:
        """Record that suggestions could not be measured; the budget gets them back."""
        region_points.fail(self.study, suggestions)

    def should_stop(self) -> tuple[bool, str | None]:
        """Return whether the budget is spent, and that as the reason."""
        spent = not measurements_left(self.study)
        return spent, "the budget is spent" if spent else None
