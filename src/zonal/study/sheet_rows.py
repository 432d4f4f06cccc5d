"""The rows of sheets that go out: trials to measure, and what became of all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from zonal.engine.results import Observation, Trial, TrialRecord
from zonal.engine.trial_history import Outcome
from zonal.errors import ZonalError
from zonal.io.spreadsheet import Row
from zonal.spaces import Region
from zonal.study.history import history
from zonal.study.region_cells import exact_cells, exact_columns
from zonal.study.sheets import SEEN, place_of
from zonal.study.study import Study


def questions(study: Study, trials: Sequence[Trial]) -> list[Row]:
    """Return a sheet of trials to measure, with empty columns for the values."""
    spends = study.settings.spends
    header = ["trial", "region", "replicate", *exact_columns(study.space), *spends, "value", "sem", "note"]
    return [header, *([*_place(trial, spends), None, None, None] for trial in trials)]


def _place(record: Any, spends: Sequence[str]) -> list[Any]:
    """Return the cells of a trial or an observation that say what was measured, and for how much."""
    number, replicate = (None, None) if isinstance(record, Observation) else (record.number, record.replicate)
    paid = (getattr(record, name, None) for name in spends)
    return [number, record.region.name, replicate, *exact_cells(record.region), *paid]


def outcomes(study: Study) -> list[Row]:
    """Return all trials and observations as a sheet.

    The numbers of observations, and values that were corrected or retracted, have their own columns, if there are
    any: as rows they might be told again.
    """
    spends = study.settings.spends
    exact = exact_columns(study.space)
    header = ["trial", "region", "replicate", *exact, *spends, "state", "value", "sem", "note"]
    rows = [[*_place(record, spends), *_became(record, past)] for record, past in history(study)]
    columns = list(zip([*header, *SEEN, "observation", "earlier"], *rows, strict=True))
    kept = [column for column in columns if column[0] in header or any(cell is not None for cell in column[1:])]
    return list(zip(*kept, strict=True))


def _became(record: TrialRecord | Observation, past: Sequence[Outcome]) -> list[Any]:
    """Return the cells of a trial or an observation that say what became of it."""
    *before, now = past
    told = [outcome.value for outcome in before if outcome.value is not None]
    earlier = told[0] if len(told) == 1 else "; ".join(map(repr, told)) or None
    seen = slope_of(record) or None, None if record.minus is None else written(record.minus)
    number = record.number if isinstance(record, Observation) else None
    return [now.state, now.value, now.sem, now.note, *seen, number, earlier]


def slope_of(record: TrialRecord | Observation) -> str:
    """Return the axis along which a slope was measured; "" if none was."""
    return record.region.feedback.slope if isinstance(record, Observation) and record.region.feedback else ""


def written(region: Region) -> str:
    """Return a region as text that defines it exactly: its name, if that does."""
    try:
        exact = region.space.region(place_of(region.space, region.name)).key == region.key
    except ZonalError:
        exact = False
    return region.name if exact else json.dumps(region.as_dict())
