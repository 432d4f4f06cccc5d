"""Regions as engines pass points: the edges ``x_low`` and ``x_high`` of each axis ``x``, and an ``_id``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from zonal.errors import BudgetSpent, Exhausted, InvalidInput, require
from zonal.spaces import Region
from zonal.study import operations
from zonal.study.study import Study

LOW, HIGH, SEM, ID = "_low", "_high", "_sem", "_id"


def edges(region: Region) -> dict[str, float]:
    """Return the edges of a region."""
    named: dict[str, float] = {}
    for name, (low, high) in zip(region.space.names, region.bounds.tolist(), strict=True):
        named |= {name + LOW: low, name + HIGH: high}
    return named


def suggest(study: Study, num_points: int | None) -> list[dict[str, Any]]:
    """Ask for regions; return their edges with the numbers of their trials."""
    try:
        trials = study.ask(1 if num_points is None else num_points)
    except (BudgetSpent, Exhausted) as error:
        raise ValueError(str(error)) from error  # as engines want it
    return [{**edges(trial.region), ID: trial.number} for trial in trials]


def ingest(study: Study, objective: str, points: Sequence[Mapping[str, Any]]) -> None:
    """Tell a study what was measured, all or none; points without a trial are observations, NaN is a failure."""

    def change(draft: Study) -> None:
        for point in points:
            _take(draft, objective, point)

    operations.together(study, change)


def fail(study: Study, points: Sequence[Mapping[str, Any]]) -> None:
    """Record that suggestions could not be measured."""

    def change(draft: Study) -> None:
        for point in points:
            draft.fail(_trial(draft, point[ID]))

    operations.together(study, change)


def _take(study: Study, objective: str, point: Mapping[str, Any]) -> None:
    require(objective in point, "a point has no value of the objective", objective, "Add it; NaN means a failure.")
    value, sem = float(point[objective]), _given(point, objective + SEM)
    number = _given(point, ID)
    if number is None or isinstance(number, str):  # such as "baseline", which is none of our trials
        study.observe(_region(study, point), value, sem)
    elif math.isnan(value):
        study.fail(_trial(study, number))
    else:
        study.tell(_trial(study, number), value, sem)


def _given(point: Mapping[str, Any], name: str) -> Any:
    """Return what a point has under a name; None if it has nothing or, as tables have it then, NaN."""
    value = point.get(name)
    return None if value != value else value


def _trial(study: Study, number: Any) -> int:
    """Return the number of a trial; raise a ValueError, as engines want it, if no suggestion has it."""
    fits = 0 <= int(number) < len(study.trials)
    require(fits, f"no suggestion has this {ID}", number, f"Leave out {ID} for other results.")
    return int(number)


def _region(study: Study, point: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    missing = [name + side for name in study.space.names for side in (LOW, HIGH) if name + side not in point]
    if missing:
        raise InvalidInput(f"a point without a trial in {ID} must have all edges", missing[0], "Add it.")
    return {name: (float(point[name + LOW]), float(point[name + HIGH])) for name in study.space.names}
