"""Sheets: files with trials to measure that come back with values, as spreadsheets save them.

A sheet is taken completely or not at all: every row is read and checked before the first is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Generic, TypeVar

from zonal.averages.feedback import Slope
from zonal.errors import LARGEST_STD, InvalidInput, ZonalError, finite_number, need, standard_deviation
from zonal.rounds import checks
from zonal.rounds.outcomes import Outcome
from zonal.rounds.settings import checked_feedback
from zonal.rounds.trials import Observation, Trial, TrialRecord
from zonal.spaces import Region
from zonal.study import Study
from zonal.tables import Table, read_table
from zonal.tables.files import csv_text, parsed, unescaped

T = TypeVar("T")

MOST_DIGITS = 18  # of a trial's number
SHOWN_ROWS = 20
NOT_YET = ("", "-", "–", "—", "na", "n/a", "#n/a", "n.a.", "nd", "n.d.")  # no value; in any case
SEEN = ("slope", "minus")  # columns for slopes (an axis) and differences (another region)
CALLED = {"value": "a value", "sem": "a standard error"}


@dataclass(frozen=True)
class Filled:
    """A measurement in a row of a sheet: arguments of `Study.tell`, and where they are written."""

    value: float
    sem: float | None
    note: str
    row: int = field(compare=False)  # counted from 1
    cells: Mapping[str, str] = field(compare=False)  # by the columns of `zonal ask`; numbers with a decimal point
    minus: Region | None = None

    def repeats(self, value: float | None, sem: float | None) -> bool:
        """Tell whether this value is known already: spreadsheets round, and an empty cell means no statement."""
        return _agrees(self.cells["value"], value) and (self.sem is None or _agrees(self.cells["sem"], sem))

    def check(self, was: TrialRecord) -> None:
        """Raise if the trial was told already, with another value."""
        known = was.value is None or self.repeats(was.value, was.sem)
        fix = "Leave the cell as it was. --correct accepts the change; `zonal observe` adds a further value."
        need(known, f"trial {was.number} was told already ({was.value!r})", self.value, fix)

    def over(self, was: TrialRecord) -> Filled | None:
        """Return this row as a correction of a trial; None if it changes nothing or nothing was told."""
        if was.value is None:
            return None
        value = was.value if _agrees(self.cells["value"], was.value) else self.value
        sem = was.sem if self.repeats(value, was.sem) else self.sem
        now = replace(self, value=value, sem=sem, note=self.note or was.note)
        return now if (now.value, now.sem, now.note) != (was.value, was.sem, was.note) else None


@dataclass(frozen=True)
class Sheet(Generic[T]):
    """The content of a sheet: measurements of trials, or of regions."""

    new: list[tuple[T, Filled]]  # that the study does not have yet
    known: list[tuple[T, Filled]]  # that it, or a row above, has already
    empty: int  # rows without a value
    changed: list[tuple[T, Filled]] = field(default_factory=list)  # whose value in the study differs


def questions(study: Study, trials: Sequence[Trial]) -> str:
    """Return a sheet of trials to measure, with empty columns for the values."""
    spends = study.settings.spends
    header = ["trial", "region", "look", *study.space.columns, *spends, "value", "sem", "note"]
    rows = ([*_place(one, spends), None, None, None] for one in trials)
    return csv_text([header, *rows])


def _place(one: Any, spends: Sequence[str]) -> list[Any]:
    """Return the cells of a trial or an observation that say what was measured, and for how much."""
    number, look = (None, None) if isinstance(one, Observation) else (one.number, one.replicate)
    return [number, one.region.name, look, *one.region.row(), *(getattr(one, own, None) for own in spends)]


def _time_of(answer: Filled, study: Study) -> float | None:
    """Return the time really spent on a trial, if the sheet has it and no axis is called time."""
    cell = answer.cells.get("time", "")
    if not study.settings.times or "time" in study.space.columns or cell.strip().casefold() in NOT_YET:
        return None
    return _number(cell, "a time", "Write a number above 0, or leave the cell empty.")


def outcomes(study: Study) -> str:
    """Return all trials and observations as a sheet.

    The numbers of observations, and values that were corrected or retracted, have their own columns, if there are
    any: as rows they might be told again.
    """
    spends = study.settings.spends
    header = ["trial", "region", "look", *study.space.columns, *spends, "state", "value", "sem", "note"]
    rows = [[*_place(one, spends), *_became(one, past)] for one, past in study.history()]
    columns = list(zip([*header, *SEEN, "observation", "earlier"], *rows, strict=True))
    kept = [column for column in columns if column[0] in header or any(own is not None for own in column[1:])]
    return csv_text(list(zip(*kept, strict=True)))


def _became(one: TrialRecord | Observation, past: Sequence[Outcome]) -> list[Any]:
    """Return the cells of a trial or an observation that say what became of it."""
    *before, now = past
    told = [own.value for own in before if own.value is not None]
    earlier = told[0] if len(told) == 1 else "; ".join(map(repr, told)) or None
    seen = slope_of(one) or None, None if one.minus is None else written(one.minus)
    number = one.number if isinstance(one, Observation) else None
    return [now.state, now.value, now.sem, now.note, *seen, number, earlier]


def answers(sheet: Table, study: Study, correct: bool = False) -> Sheet[int]:
    """Return the values of a sheet by trial; raise an error that lists every bad row.

    A value that differs from the one told before is an error too, unless `correct`.
    """
    trials = study.trials
    first: dict[int, Filled | None] = {}

    def read(cells: dict[str, str], row: int) -> None:
        number, answer = _trial(cells["trial"], trials, cells.get("region", "")), _answer(cells, row)
        if answer is not None and cells.get("minus"):
            other = study._region(place_of(study.space, cells["minus"]))
            checks.seen(study._state, trials[number].region, other, answer.sem)
            answer = replace(answer, minus=other)
        same = first.setdefault(number, answer) == answer
        need(same, "a row above has this trial already, with other values", number, "Keep one of the two.")
        if answer is not None and not correct:
            answer.check(trials[number])

    _every_row(sheet, study.space, ("trial", "value"), read, "told")
    filled = [(number, answer) for number, answer in first.items() if answer is not None]
    found: Sheet[int] = Sheet([], [], len(first) - len(filled))
    for number, answer in filled:
        over = answer.over(trials[number]) if correct else None
        known = found.known if over is None else found.changed
        kind = found.new if trials[number].value is None else known
        kind.append((number, over or answer))
    return found


def take(
    found: Sheet[int],
    study: Study,
    by: str | None = None,
    watched: Callable[..., Any] = lambda things, what: things,
) -> None:
    """Tell a study what is new in a sheet, and correct what it has otherwise; `watched` goes over either."""
    for number, answer in watched(found.new, "telling"):
        time = _time_of(answer, study)
        study.tell(number, answer.value, answer.sem, answer.note, minus=answer.minus, time=time)
    for number, answer in watched(found.changed, "correcting"):
        study.correct(number, answer.value, answer.sem, answer.note, by=by)


def earlier(path: Path, study: Study) -> Sheet[Region]:
    """Return earlier measurements of a sheet by region; raise an error that lists every bad row."""
    space, feedback = study.space, study.feedback
    seen: dict[Any, list[tuple[float | None, float | None]]] = {}
    made: list[TrialRecord | Observation] = [*study.trials, *study.observations]
    for one in made:
        seen.setdefault(_sort(one.region, one.minus), []).append((one.value, one.sem))
    new: list[tuple[Region, Filled]] = []
    known: list[tuple[Region, Filled]] = []

    def read(cells: dict[str, str], row: int) -> None:
        by = checked_feedback(Slope(cells["slope"]), space) if cells.get("slope") else feedback
        region: Region = space.region(space.from_row(cells), by)
        minus = space.region(place_of(space, cells["minus"]), by) if cells.get("minus") else None
        answer = _answer(cells, row)
        if answer is not None:
            checks.seen(study._state, region, minus, answer.sem)
            before = seen.setdefault(_sort(region, minus), [])
            kind = known if any(answer.repeats(*own) for own in before) else new
            kind.append((region, replace(answer, minus=minus)))
            before.append((answer.value, answer.sem))

    rows = _every_row(read_table(path), space, ("value",), read, "taken in")
    return Sheet(new, known, len(rows) - len(new) - len(known))


def _sort(region: Region, minus: Region | None) -> Any:
    """Return what distinguishes kinds of measurements: region, slope, and the region subtracted."""
    return region.key, region.feedback and region.feedback.slope, minus and minus.key


def slope_of(one: TrialRecord | Observation) -> str:
    """Return the axis along which a slope was measured; "" if none was."""
    return one.region.feedback.slope if isinstance(one, Observation) and one.region.feedback else ""


def written(region: Region) -> str:
    """Return a region as text that defines it exactly: its name, if that does."""
    try:
        exact = region.space.region(place_of(region.space, region.name)).key == region.key
    except ZonalError:
        exact = False
    return region.name if exact else json.dumps(region.as_dict())


def place_of(space: Any, text: str | None) -> Any:
    """Return, from a text or JSON, an argument for ``space.region``; None for none."""
    if text is None:
        return None
    if not text.lstrip().startswith("{"):
        return space.from_text(text)
    try:
        return json.loads(text)
    except ValueError:
        raise InvalidInput("a region cannot be read", text, "Write it as `zonal observe --help` says.") from None


def places(path: Path, space: Any) -> list[Region]:
    """Return the regions of a sheet; raise an error that lists every bad row."""
    table = read_table(path)
    return _every_row(table, space, (), lambda cells, row: space.region(space.from_row(cells)), "predicted")


def _every_row(
    table: Table, space: Any, needed: Sequence[str], read: Callable[[dict[str, str], int], T], done: str
) -> list[T]:
    """Return what every row contains; raise an error that lists every bad row."""
    rows = list(_rows(table, space.columns, needed))
    edges = [name for j in space.lines for name in space.axes[j].columns] if space.axes else []
    numbers = {name: table.pointed(name) for name in (*CALLED, *edges) if table.find(name) is not None}
    found, wrong = [], []
    for at, cells in rows:
        try:
            found.append(read(_with_points(cells, numbers), at + 1))
        except ZonalError as error:
            line = f" (line {table.lines[at]})" if table.lines else ""
            wrong.append(f"row {at + 1}{line}: {error}")
    if wrong:
        many = f"{len(wrong)} of {table.rows}"
        raise BadSheet(f"{table.path.name}: nothing was {done}; wrong rows: {many}.", wrong)
    return found


def _with_points(cells: dict[str, str], numbers: Mapping[str, Callable[[str, str], str]]) -> dict[str, str]:
    """Return the cells of a row with a decimal point in every number."""
    return cells | {name: pointed(cells[name], CALLED.get(name, name)) for name, pointed in numbers.items()}


def _rows(table: Table, more: Sequence[str], needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the cells of each row that has any, of the columns that may be there and those that must."""
    wanted = dict.fromkeys((*needed, "trial", "region", "value", "sem", "note", "time", *SEEN, *more))
    columns = {name: table.cells(name) for name in wanted if name in needed or table.find(name) is not None}
    for at in range(table.rows):
        cells = {name: unescaped(str(column[at]).strip()) for name, column in columns.items()}
        if any(cells.values()):
            yield at, cells


class BadSheet(ZonalError, ValueError):
    """A sheet with wrong rows; the message lists them."""

    def __init__(self, problem: str, wrong: Sequence[str]) -> None:
        more = [f"and {len(wrong) - SHOWN_ROWS} more"] if len(wrong) > SHOWN_ROWS else []
        super().__init__("\n  ".join([problem, *wrong[:SHOWN_ROWS], *more]))


def _trial(cell: str, trials: Sequence[TrialRecord], name: str) -> int:
    need(cell.isdecimal(), "a trial must be a whole number", cell, "Copy it from the sheet of `zonal ask`.")
    number = int(cell[-MOST_DIGITS:]) if len(cell) <= MOST_DIGITS else 10**MOST_DIGITS  # larger than any trial's
    problem = f"there is no such trial: the study has {len(trials)}"
    need(number < len(trials), problem, number, "Check the study.")
    own = trials[number].region.name
    need(name in ("", own), f"trial {number} is {own}, not this region", name, "Use this study's sheet.")
    return number


def _answer(cells: dict[str, str], row: int) -> Filled | None:
    """Return the measurement of a row, None if it has no value yet."""
    if cells["value"].casefold() in NOT_YET:
        return None
    return Filled(value_of(cells["value"]), sem_of(cells.get("sem", "")), cells.get("note", ""), row, cells)


def value_of(cell: str) -> float:
    """Return a measured value from its text."""
    fix = "Write a number such as 0.73, or leave the cell empty if there is none yet."
    value = finite_number(_number(cell, "a value", fix), "a value", fix)
    need(abs(value) <= LARGEST_STD, "a value is too large", cell, fix)
    return value


def sem_of(cell: str) -> float | None:
    """Return a standard error from its text, None if it is empty."""
    if cell.strip().casefold() in NOT_YET:
        return None
    fix = "Write a number of 0 or more, or leave the cell empty."
    return standard_deviation(_number(cell, "a standard error", fix), "a standard error")


def _number(cell: str, what: str, fix: str) -> float:
    number = parsed(cell)
    if number is None:
        raise InvalidInput(f"{what} must be a number", cell, fix)
    return number


def _agrees(cell: str, value: float | None) -> bool:
    """Tell whether a cell equals a value, exactly or rounded to the digits of the cell."""
    if value is None:
        return False
    shown = Decimal(cell.strip())
    _, _, exponent = shown.as_tuple()
    assert isinstance(exponent, int)
    return float(shown) == value or abs(shown - Decimal(repr(value))) <= Decimal(5).scaleb(exponent - 1)
