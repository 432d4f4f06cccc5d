"""Measurements made outside the study, one or many at once: as users describe them, checked, and taken in.

Many are one transaction: all of them or none, and the models are learned once, after the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.engine import checks, commands, readings
from zonal.engine.events import Observed
from zonal.engine.readings import RawReading
from zonal.engine.results import Observation
from zonal.engine.settings import checked_feedback
from zonal.errors import InvalidInput, SeveralWrong, ZonalError, from_margin, listed, require
from zonal.io.dataframes import DataFrame
from zonal.io.result_table import Listing, labelled
from zonal.kernels.feedback import Feedback
from zonal.spaces import Region, Space, with_feedback
from zonal.spaces.base import RegionLike
from zonal.study.history import observation_of
from zonal.study.operations import log_measurement
from zonal.study.queries import region_of
from zonal.study.region_formats import columns_of, regions_of_columns

if TYPE_CHECKING:
    from zonal.study.study import Study

NO_VALUE: Any = object()  # where many measurements are passed, each with its own
FORMS = 'Pass (region, value) pairs, mappings such as {"region": ..., "value": ..., "sem": ...}, or a data frame.'


class Measurement(NamedTuple):
    """What `Study.observe` takes of one measurement."""

    region: RegionLike
    value: float | str | None = None
    sem: float | None = None
    feedback: Feedback | None = None
    time: float | None = None
    minus: RegionLike | None = None
    note: str = ""
    below: float | None = None
    above: float | None = None
    exposure: float | None = None
    moe: float | None = None


Many = (
    Sequence[tuple[RegionLike, float] | tuple[RegionLike, float, float] | Mapping[str, Any] | Observation]
    | DataFrame
    | Listing
)


def check_alone(*of_each: object) -> None:
    """Raise if many measurements come with a standard error, a feedback or a note for all."""
    problem = "many measurements each have their own sem, feedback, time, minus and note"
    fix = "Pass it with each, as mappings. For a single measurement pass its value."
    require(not any(part is not None and part != "" for part in of_each), problem, of_each, fix)


def measurements_in(study: Study, given: object) -> list[Measurement]:
    """Return what a list of pairs or mappings, a data frame or a table says."""
    columns = columns_of(given)
    if columns is not None:
        return _rows(study.space, columns, labelled(study.settings.value_name, study.settings.value_unit))
    several = listed(given, "these are not measurements", FORMS)
    wrong, read = list[tuple[int, ZonalError]](), list[Measurement]()
    for at, entry in enumerate(several):
        try:
            read.append(_entry(entry))
        except ZonalError as error:
            wrong.append((at, error))
    if wrong:
        raise SeveralWrong(wrong, len(several))
    return read


def _entry(entry: Any) -> Measurement:
    """Return what a pair, a mapping or an observation of another study says."""
    if isinstance(entry, Measurement):
        return entry
    if isinstance(entry, Observation):
        same = Measurement(entry.region, None, entry.sem, minus=entry.minus, note=entry.note)
        return same._replace(**{entry.limit or "value": entry.value}, exposure=entry.exposure)  # type: ignore[arg-type]
    if isinstance(entry, Mapping):
        for name in entry:
            fix = f"There are {', '.join(Measurement._fields)}."
            require(name in Measurement._fields, "a measurement has no such part", name, fix)
        is_whole = "region" in entry and not entry.keys().isdisjoint(("value", "below", "above"))
        require(is_whole, "a measurement is a region and its value", entry, FORMS)
        return Measurement(**entry)
    is_pair = isinstance(entry, tuple | list) and len(entry) in (2, 3)
    require(is_pair, "this is not a region and its value", entry, FORMS)
    return Measurement(*entry)


def _rows(space: Space, columns: Mapping[str, Sequence[Any]], value: str) -> list[Measurement]:
    """Return the measurements in the rows of a data frame or table."""
    values = next((columns[name] for name in ("value", value) if name in columns), None)
    if values is None:
        raise InvalidInput("there is no column of values", ", ".join(columns), "Name one column value.")
    minus = columns.get("minus")
    rows: list[dict[str, Any]] = [{} for _ in values]
    for name in ("sem", "moe", "time", "exposure", "note"):
        for row, cell in zip(rows, columns.get(name, ()), strict=False):
            row |= {} if cell is None or cell != cell else {name: cell}
    for row, cell in zip(rows, () if minus is None else minus, strict=False):
        row |= {} if cell is None or cell != cell or cell == "" else {"minus": space.from_text(str(cell))}
    regions = regions_of_columns(space, columns)
    return [Measurement(*entry, **more) for *entry, more in zip(regions, values, rows, strict=True)]


def observe(study: Study, measurements: Sequence[Measurement]) -> list[Observation]:
    """Record earlier or external measurements of any regions, all or none: see `Study.observe`."""
    with study._writing(partly=True):
        first, facts, wrong = len(study._state.observed), list[Observed](), list[tuple[int, ZonalError]]()
        for at, measurement in enumerate(measurements):
            try:
                facts.append(_checked(study, measurement))
            except ZonalError as error:
                wrong.append((at, error))
        if wrong:
            raise wrong[0][1] if len(measurements) == 1 else SeveralWrong(wrong, len(measurements))
        if facts:
            study._commit(commands.observe(study._state, facts))
        for fact in facts[:1] if len(facts) == 1 else ():
            log_measurement(study, "observed", fact.region, fact.value)
    return [observation_of(study, number, fact) for number, fact in enumerate(facts, first)]


def _checked(study: Study, given: Measurement) -> Observed:
    """Return the event of a measurement, after checking it."""
    region, state = given.region, study._state
    of_region = region.feedback if isinstance(region, Region) else None
    feedback = of_region if given.feedback is None else given.feedback
    by = study.settings.feedback if feedback is None else checked_feedback(feedback, study.space)
    seen = with_feedback(region_of(study, region), by)
    minus = None if given.minus is None else with_feedback(region_of(study, given.minus), by)
    spent = checks.time_spent(state, given.time) or 1.0
    raw = RawReading(given.value, given.below, given.above, given.exposure)
    sem = from_margin(given.sem, given.moe)
    value, sem, reading = readings.checked(state, raw, sem, given.note, lambda: seen, spent, by, minus is not None)
    checks.usable(state, seen, minus, sem)
    return Observed(seen, value, sem, 0.0, by, spent, minus, note=given.note, reading=reading)
