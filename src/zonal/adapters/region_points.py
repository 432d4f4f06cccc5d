"""Regions as engines pass points: the edges ``x_low`` and ``x_high`` of each axis ``x``, and an ``_id``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from zonal.errors import BudgetSpent, Exhausted, InvalidInput, UnknownTrial
from zonal.spaces import Region
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
    """Tell a study what was measured; points without the number of a trial are observations, NaN is a failure."""
    for point in points:
        if objective not in point:
            raise InvalidInput("a point has no value of the objective", objective, "Add it; NaN means a failure.")
        value, sem, number = float(point[objective]), point.get(objective + SEM), point.get(ID)
        if number is None or isinstance(number, str):  # such as "baseline", which is none of our trials
            study.observe(_region(study, point), value, sem)
            continue
        number = checked_trial(study, number)
        if math.isnan(value):
            study.fail(number)
        else:
            study.tell(number, value, sem)


def checked_trial(study: Study, number: Any) -> int:
    """Return the number of a trial; raise a ValueError, as engines want it, if no suggestion has it."""
    try:
        return study.trials[int(number)].number
    except (IndexError, UnknownTrial):
        fix = f"Leave out {ID} for other results."
        raise InvalidInput(f"no suggestion has this {ID}", number, fix) from None


def _region(study: Study, point: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    missing = [name + side for name in study.space.names for side in (LOW, HIGH) if name + side not in point]
    if missing:
        raise InvalidInput(f"a point without a trial in {ID} must have all edges", missing[0], "Add it.")
    return {name: (float(point[name + LOW]), float(point[name + HIGH])) for name in study.space.names}
