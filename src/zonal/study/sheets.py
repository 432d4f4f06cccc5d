"""Sheets: files with trials to measure that come back with values, as spreadsheets save them.

A sheet is taken completely or not at all: its rows are told to a draft of the study, which is committed once all
of them are. Which rows are older than the study is decided by values: a row that has an earlier value of its
trial, or a value for a trial that has ended since, was written before that. So was an earlier note.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar

from zonal.engine import checks
from zonal.engine.events import Corrected, Labels, Noted, Observed, Told
from zonal.engine.labels import checked_labels, merged
from zonal.engine.readings import SIGNS
from zonal.engine.results import Observation, TrialRecord
from zonal.engine.settings import checked_feedback
from zonal.engine.trial_history import Outcome
from zonal.errors import (
    LARGEST_STD,
    InvalidInput,
    SeveralWrong,
    ZonalError,
    finite_number,
    from_margin,
    positive_number,
    require,
    standard_deviation,
)
from zonal.gp.likelihoods import Limit
from zonal.io.files import parsed, unescaped
from zonal.io.tables import Numeral, Table
from zonal.kernels.feedback import Slope
from zonal.spaces import Region, Space
from zonal.spaces.base import RegionLike
from zonal.study import operations, signatures
from zonal.study.history import history
from zonal.study.observations import Measurement
from zonal.study.queries import region_of
from zonal.study.region_formats import axis_columns, exact_columns, region_in_row
from zonal.study.study import Study

T = TypeVar("T")

MOST_DIGITS = 18  # of a trial's number
SHOWN_ROWS = 20
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
NOT_YET = ("", "-", "–", "—", "na", "n/a", "#n/a", "n.a.", "nd", "n.d.")  # no value; in any case
ENDED = ("failed", "cancelled")
SEEN = ("slope", "minus")  # columns for slopes (an axis) and differences (another region)
CALLED = {"value": "a value", "sem": "a standard error", "time": "a time", "moe": "a margin of error"}


@dataclass(frozen=True)
class FilledRow:
    """A measurement in a row of a sheet: arguments of `Study.tell`, and where they are written."""

    value: float
    sem: float | None
    note: str
    row: int = field(compare=False)  # counted from 1
    cells: Mapping[str, str] = field(compare=False)  # by the columns of `zonal ask`; numbers with a decimal point
    minus: Region | None = None
    time: float | None = None
    limit: Limit = ""
    exposure: float | None = None
    labels: Labels = ()

    @property
    def reading(self) -> dict[str, Any]:
        """What `Study.tell` takes in the place of a value: a value, or a limit; and the exposure of a count."""
        name = self.limit or "value"
        return {name: self.value, **({} if self.exposure is None else {"exposure": self.exposure})}

    def repeats(self, was: TrialRecord | FilledRow | Outcome) -> bool:
        """Tell whether this reading is known already: spreadsheets round, and an empty cell means no statement."""
        same = self.limit == was.limit and self.exposure in (None, was.exposure)
        same = same and _agrees(self.cells["value"], was.value)
        return same and (self.sem is None or _agrees(self.cells["sem"], was.sem))

    def check(self, was: TrialRecord) -> None:
        """Raise if the trial was told already, with another value."""
        same = was.value is None or self.repeats(was)
        fix = "Leave the cell as it was. --correct accepts the change; `zonal observe` adds a further value."
        require(same, f"trial {was.number} already has the value {was.value!r}", self.value, fix)

    def outdated(self, past: Sequence[Outcome]) -> str:
        """Return what happened to the trial since this row was written; "" if nothing did.

        A row is old if its trial failed or was cancelled, or if it has an earlier value than the present one.
        """
        *before, now = past
        if now.state in ENDED:
            return _ended(now)
        if self.repeats(now) or not any(map(self.repeats, before)):
            return ""
        return "was retracted" if now.value is None else f"was corrected to {now.value!r}"

    def over(self, was: TrialRecord) -> FilledRow | None:
        """Return this row as a correction of a trial; None if it changes nothing or nothing was recorded."""
        if was.value is None:
            return None
        value = was.value if _agrees(self.cells["value"], was.value) else self.value
        sem = was.sem if self.sem is None or _agrees(self.cells["sem"], was.sem) else self.sem
        labels = merged(was.labels, self.labels)
        now = replace(self, value=value, sem=sem, note=self.note or was.note, labels=labels)
        parts = [(told.value, told.sem, told.note, told.limit, told.labels) for told in (now, was)]
        same = parts[0] == parts[1]
        return None if same and now.exposure in (None, was.exposure) else now


class NoteLeft(NamedTuple):
    """A note in a sheet that the study does not keep, since its trial has a value, or ended with another note."""

    row: int  # counted from 1
    how: str  # what happened to the trial
    option: str  # of `measured`, with which it is kept


@dataclass
class Sheet(Generic[T]):
    """The content of a sheet: measurements of trials, or of regions."""

    new: list[tuple[T, FilledRow]] = field(default_factory=list)  # that the study does not have yet
    repeated: list[tuple[T, FilledRow]] = field(default_factory=list)  # that it, or a row above, has already
    corrected: list[tuple[T, FilledRow]] = field(default_factory=list)  # whose value in the study differs
    empty: int = 0  # rows without a value
    notes: dict[int, str] = field(default_factory=dict)  # in such rows, by trial
    notes_left: dict[int, NoteLeft] = field(default_factory=dict)  # notes that are not kept, by trial
    outdated: dict[int, tuple[int, str]] = field(default_factory=dict)  # by trial: row, and what happened
    taken: list[Observation] = field(default_factory=list)  # what was observed


def told(
    study: Study,
    table: Table,
    correct: bool = False,
    changed: bool = False,
    by: str | None = None,
    key: str = "",
    watched: Callable[..., Any] = lambda things, what: things,
) -> Sheet[int]:
    """Tell a study what a sheet says, all of it or nothing; return what the sheet says.

    `by` is who tells it. `key` names the request: repeating it changes nothing, whatever happened since.

    A value that differs from the one told before is an error unless `correct`. Rows of trials that changed after
    the sheet was written are taken only if `changed`. A new note for a trial that has a value is kept only if
    `correct`; for one that ended with another note, only if `changed`. `watched` goes over what is told, and what
    is corrected.
    """

    def change(draft: Study) -> Sheet[int]:
        sheet = answers(table, draft, correct, changed)

        def tell(number: int, filled: FilledRow) -> None:
            told = {
                "minus": filled.minus,
                "time": filled.time,
                "by": by,
                "labels": dict(filled.labels),
                **filled.reading,
            }
            draft.tell(number, sem=filled.sem, note=filled.note, **told)

        def amend(number: int, filled: FilledRow) -> None:
            labels = dict(filled.labels)
            draft.correct(number, sem=filled.sem, note=filled.note, labels=labels, by=by, **filled.reading)

        wrong = _rows_wrong(watched(sheet.new, "telling"), tell)
        wrong += _rows_wrong(watched(sheet.corrected, "correcting"), amend)
        refuse_rows(table, wrong, "recorded")
        for number, note in sheet.notes.items():
            operations.annotate(draft, number, note)
        return sheet

    if not key:
        return operations.together(study, change)
    kinds = Told, Corrected, Noted, Observed
    return signatures.signed(study, None, key, kinds, change, lambda state, at: answers(table, study))


def observed(study: Study, table: Table, again: bool, by: str | None = None, key: str = "") -> Sheet[Region]:
    """Add the earlier measurements of a sheet to a study, all or none; return what the sheet says.

    Rows that were told or observed before are taken only if `again`. `by` is who adds them.
    """

    def change(draft: Study) -> Sheet[Region]:
        sheet = earlier(table, draft)
        rows, measurements = to_observe(sheet, again)
        try:
            sheet.taken = draft._observe(measurements, by, key)
        except SeveralWrong as error:
            refuse_rows(table, [(rows[at] - 1, str(why)) for at, why in error.wrong], "taken in")
        except ZonalError as error:
            refuse_rows(table, [(row - 1, str(error)) for row in rows if len(rows) == 1], "taken in")
            raise
        return sheet

    return operations.together(study, change)


def to_observe(sheet: Sheet[Region], again: bool) -> tuple[list[int], list[Measurement]]:
    """Return the rows, from 1, that the study does not have, or all if `again`, and what was measured in each."""
    entries = sorted(sheet.new + sheet.repeated if again else sheet.new, key=lambda entry: entry[1].row)
    measurements = [
        Measurement(place, filled.value, filled.sem, place.feedback, None, filled.minus, filled.note)._replace(
            labels=dict(filled.labels)
        )
        for place, filled in entries
    ]
    return [filled.row for _, filled in entries], measurements


def _rows_wrong(
    things: Iterable[tuple[T, FilledRow]], do: Callable[[T, FilledRow], object]
) -> list[tuple[int, str]]:
    """Do something with the measurement of each row; return the rows, from 0, for which that raises, and why."""
    wrong = []
    for thing, filled in things:
        try:
            do(thing, filled)
        except ZonalError as error:
            wrong.append((filled.row - 1, str(error)))
    return wrong


def answers(table: Table, study: Study, correct: bool = False, changed: bool = False) -> Sheet[int]:
    """Return what a sheet says by trial; raise an error that lists every bad row: see `measured`."""
    trials = told_before(study)
    first: dict[int, tuple[FilledRow | None, str]] = {}
    noted: dict[int, FilledRow] = {}  # trials with a value whose note is to change, by rows without one
    sheet: Sheet[int] = Sheet()

    def read(cells: dict[str, str], row: int) -> None:
        number = _trial(cells["trial"], trials, cells.get("region", ""))
        answer, (was, past) = _answer(cells, row, "time" if times else "", labels), trials[number]
        if answer is not None and cells.get("minus"):
            other = region_of(study, place_of(study.space, cells["minus"]))
            checks.usable(study._state, was.region, other, answer.sem)
            answer = replace(answer, minus=other)
        note = cells.get("note", "")
        same = first.setdefault(number, (answer, note)) == (answer, note)
        require(same, "a row above has this trial already, with other values", number, "Keep one of the two.")
        if answer is not None and not changed and (how := answer.outdated(past)):
            sheet.outdated[number] = row, how
            return
        if answer is not None and not correct:
            answer.check(was)
        if not _is_new(note, past, changed) or (was.value is None and answer is not None):
            return
        if was.value is not None and not correct:
            sheet.notes_left[number] = NoteLeft(row, "has a value", "correct")
        elif was.value is not None and answer is None:
            kept = {**cells, "value": repr(was.value)}
            noted[number] = FilledRow(was.value, None, note, row, kept, limit=was.limit, exposure=was.exposure)
        elif was.value is None and (was.state == "pending" or not was.note or changed):
            sheet.notes[number] = note
        elif was.value is None:
            sheet.notes_left[number] = NoteLeft(row, _ended(past[-1]), "changed")

    times = bool(study.settings.times) and "time" not in exact_columns(study.space)
    labels = label_columns(study)
    _every_row(
        table,
        study.space,
        ("trial", "value"),
        read,
        "recorded",
        ("time",) if times else (),
        tuple(labels.values()),
    )
    for number, (answer, _) in first.items():
        was, answer = trials[number][0], noted.get(number, answer)
        if answer is None:
            sheet.empty += 1
        elif number not in sheet.outdated:
            over = answer.over(was) if correct else None
            repeated = sheet.repeated if over is None else sheet.corrected
            kind = sheet.new if was.value is None else repeated
            kind.append((number, over or answer))
    return sheet


def told_before(study: Study) -> dict[int, tuple[TrialRecord, list[Outcome]]]:
    """Return every trial with all its outcomes; if it was told late, with those of the observation it became."""
    every = history(study)
    trials = {record.number: (record, past) for record, past in every if isinstance(record, TrialRecord)}
    for record, past in every:
        number = study._state.observed[record.number][1].trial if isinstance(record, Observation) else None
        if number is not None:
            was, before = trials[number]
            *_, now = whole = sorted([*before, *past], key=lambda outcome: outcome.event)
            note = now.note if now.value is not None else now.note or was.note
            was = replace(was, value=now.value, sem=now.sem, limit=now.limit, exposure=now.exposure)
            trials[number] = replace(was, state=now.state, note=note), whole
    return trials


def _is_new(note: str, past: Sequence[Outcome], changed: bool) -> bool:
    """Tell whether a trial never had a note, up to blanks; if `changed`, whether it has another one now."""
    return note.split() not in ([], *(outcome.note.split() for outcome in (past[-1:] if changed else past)))


def _ended(outcome: Outcome) -> str:
    return f"was {outcome.state}{f' ({outcome.note})' if outcome.note else ''}"


def earlier(table: Table, study: Study) -> Sheet[Region]:
    """Return earlier measurements of a sheet by region; raise an error that lists every bad row."""
    space, feedback = study.space, study.settings.feedback
    seen: dict[Any, list[FilledRow | Outcome]] = {}
    for record, past in history(study):  # values that were corrected or retracted are known too
        seen.setdefault(_sort(record.region, record.minus), []).extend(past)
    sheet: Sheet[Region] = Sheet()

    def read(cells: dict[str, str], row: int) -> None:
        by = checked_feedback(Slope(cells["slope"]), space) if cells.get("slope") else feedback
        region: Region = space.region(region_in_row(space, cells), by)
        minus = space.region(place_of(space, cells["minus"]), by) if cells.get("minus") else None
        answer = _answer(cells, row, labels=labels)
        if answer is None:
            sheet.empty += 1
            return
        checks.usable(study._state, region, minus, answer.sem)
        before = seen.setdefault(_sort(region, minus), [])
        kind = sheet.repeated if any(answer.repeats(was) for was in before) else sheet.new
        kind.append((region, replace(answer, minus=minus)))
        before.append(answer)

    labels = label_columns(study)
    _every_row(table, space, ("value",), read, "taken in", texts=tuple(labels.values()))
    return sheet


def label_columns(study: Study) -> dict[str, str]:
    """Return the columns of labels by their names: those with an offset, and others that readings have."""
    used = {name: None for record, _ in history(study) for name, _ in record.labels}
    names = dict.fromkeys([*study.settings.offsets, *used])
    taken = {"trial", "region", "replicate", "value", "sem", "note", "time", "cost", "state", "earlier", *SEEN}
    taken |= {"observation", *exact_columns(study.space)}
    return {name: f"label {name}" if name in taken else name for name in names}


def _sort(region: Region, minus: Region | None) -> tuple[Hashable, ...]:
    """Return what distinguishes kinds of measurements: region, slope, and the region subtracted."""
    return region.key, region.feedback and region.feedback.slope, minus and minus.key


def place_of(space: Space, text: str) -> RegionLike:
    """Return, from a text or JSON, an argument for ``space.region``."""
    if not text.lstrip().startswith("{"):
        return space.from_text(text)
    try:
        place: RegionLike = json.loads(text)
        return place
    except ValueError:
        raise InvalidInput("a region cannot be read", text, "Write it as `zonal observe --help` says.") from None


def places(table: Table, space: Space) -> list[Region]:
    """Return the regions of a sheet; raise an error that lists every bad row."""
    return _every_row(table, space, (), lambda cells, row: space.region(region_in_row(space, cells)), "predicted")


def _every_row(
    table: Table,
    space: Space,
    needed: Sequence[str],
    read: Callable[[dict[str, str], int], T],
    done: str,
    more: Sequence[str] = (),
    texts: Sequence[str] = (),
) -> list[T]:
    """Return what every row contains; raise an error that lists every bad row.

    `more` are further columns of numbers, and `texts` of texts.
    """
    rows = list(_rows(table, [*exact_columns(space), "moe", *texts], needed))
    edges = [name for j in space.continuous_axes for name in axis_columns(space.axes[j])] if space.axes else []
    margin = [] if "moe" in exact_columns(space) else ["moe"]  # an axis may be called like that
    numeric = ("value", "sem", "exposure", *margin, *more, *edges)
    numbers = {name: table.pointed(name) for name in numeric if table.find(name) is not None}
    contents, wrong = [], []
    for at, cells in rows:
        try:
            contents.append(read(_with_sem(_with_points(cells, numbers), *margin), at + 1))
        except ZonalError as error:
            wrong.append((at, str(error)))
    refuse_rows(table, wrong, done)
    return contents


def refuse_rows(table: Table, wrong: Sequence[tuple[int, str]], done: str) -> None:
    """Raise an error that lists wrong rows, counted from 0, if there are any."""
    if wrong:
        many = f"{len(wrong)} of {table.rows}"
        named = [f"row {at + 1}{f' (line {table.lines[at]})' if table.lines else ''}: {why}" for at, why in wrong]
        raise BadSheet(f"{table.path.name}: nothing was {done}; wrong rows: {many}.", named)


def _with_points(cells: dict[str, str], numbers: Mapping[str, Callable[[str, str], str]]) -> dict[str, str]:
    """Return the cells of a row with a decimal point in every number."""
    return cells | {
        name: _pointed(cells[name], pointed, CALLED.get(name, name)) for name, pointed in numbers.items()
    }


def _pointed(cell: str, pointed: Callable[[str, str], str], what: str) -> str:
    """Return a number, or a limit, with a decimal point."""
    bare, limit = bare_limit(cell)
    return {"": "", "below": "<", "above": ">"}[limit] + pointed(bare, what)


def _with_sem(cells: dict[str, str], margin: str = "") -> dict[str, str]:
    """Return the cells of a row with the standard error that a published margin of error in it means."""
    sem = sem_of(cells.get("sem", ""), cells[margin]) if cells.get(margin) else None
    return cells if sem is None else cells | {"sem": repr(sem)}


def _rows(table: Table, more: Sequence[str], needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the cells of each row that has any, of the columns that may be there and those that must."""
    wanted = dict.fromkeys((*needed, "trial", "region", "value", "sem", "note", "time", "exposure", *SEEN, *more))
    columns = {name: table.cells(name) for name in wanted if name in needed or table.find(name) is not None}
    for at in range(table.rows):
        cells = {name: _plain(column[at]) for name, column in columns.items()}
        if any(cells.values()):
            yield at, cells


def _plain(cell: str) -> str:
    return cell if isinstance(cell, Numeral) else unescaped(cell.strip())


class BadSheet(ZonalError, ValueError):
    """A sheet with wrong rows; the message lists them."""

    def __init__(self, problem: str, wrong: Sequence[str]) -> None:
        more = [f"and {len(wrong) - SHOWN_ROWS} more"] if len(wrong) > SHOWN_ROWS else []
        super().__init__("\n  ".join([problem, *wrong[:SHOWN_ROWS], *more]))


def _trial(cell: str, trials: Mapping[int, tuple[TrialRecord, Sequence[Outcome]]], name: str) -> int:
    require(cell.isdecimal(), "a trial must be a whole number", cell, "Copy it from the sheet of `zonal ask`.")
    number = int(cell[-MOST_DIGITS:]) if len(cell) <= MOST_DIGITS else 10**MOST_DIGITS  # larger than any trial's
    problem = f"there is no such trial: the study has {len(trials)}"
    require(number < len(trials), problem, number, "Check the study.")
    expected = trials[number][0].region.name
    problem = f"trial {number} is {expected}, not this region"
    require(name in ("", expected), problem, name, "Use this study's sheet.")
    return number


def _answer(
    cells: dict[str, str],
    row: int,
    time: str = "",
    labels: Mapping[str, str] = {},  # never changed
) -> FilledRow | None:
    """Return the measurement of a row, None if it has no value yet.

    `time` is the column for times, if any; `labels` has columns of labels by name.
    """
    if cells["value"].casefold() in NOT_YET:
        return None
    bare, limit = bare_limit(cells["value"])
    value, sem, spent = value_of(bare), sem_of(cells.get("sem", "")), time_of(cells.get(time, ""))
    exposure = exposure_of(cells.get("exposure", ""))
    given = checked_labels({name: cells[column] for name, column in labels.items() if cells.get(column)})
    parts = row, cells | {"value": bare}, None, spent, limit, exposure, given
    return FilledRow(value, sem, cells.get("note", ""), *parts)


def bare_limit(cell: str) -> tuple[str, Limit]:
    """Return the number of a cell such as "<0.5", and on which side of it the reading lies; "" if no limit."""
    limit = SIGNS.get(cell.strip()[:1], "")
    return (cell.strip()[1:].removeprefix("=").strip() if limit else cell), limit


def reading_of(text: str) -> dict[str, Any]:
    """Return a measured value, or a limit such as "<0.5", as arguments of `Study.tell`."""
    bare, limit = bare_limit(text)
    return {limit or "value": value_of(bare)}


def exposure_of(cell: str) -> float | None:
    """Return the exposure of a count from its text, None if it is empty."""
    if cell.strip().casefold() in NOT_YET:
        return None
    fix = "Write a number above 0, or leave the cell empty."
    return positive_number(_number(cell, "an exposure", fix), "an exposure")


def value_of(cell: str) -> float:
    """Return a measured value from its text."""
    fix = "Write a number such as 0.73, a limit such as <0.5, or leave the cell empty if there is none yet."
    value = finite_number(_number(cell, "a value", fix), "a value", fix)
    require(abs(value) <= LARGEST_STD, "a value is too large", cell, fix)
    return value


def sem_of(cell: str, margin: str = "") -> float | None:
    """Return a standard error from its text, or from that of a margin of error; None if both are empty."""
    if margin.strip().casefold() not in NOT_YET:
        fix = "Write a number of 0 or more; codes such as -555555555 are no margins, so leave them empty."
        moe = _number(margin, "a margin of error", fix)
        require(moe >= 0, "a margin of error must not be negative", margin, fix)
        return float(from_margin(sem_of(cell), moe))
    if cell.strip().casefold() in NOT_YET:
        return None
    fix = "Write a number of 0 or more, or leave the cell empty."
    return standard_deviation(_number(cell, "a standard error", fix), "a standard error")


def time_of(cell: str) -> float | None:
    """Return the time really spent on a trial from its text, None if it is empty."""
    if cell.strip().casefold() in NOT_YET:
        return None
    fix = "Write a number above 0, or leave the cell empty."
    return positive_number(_number(cell, "a time", fix), "a time")


def _number(cell: str, what: str, fix: str) -> float:
    """Return the number that a text means; a decimal comma is as good as a point, unless it may mark thousands."""
    plain = cell.strip()
    if THOUSANDS.fullmatch(plain):
        fix = f"Is it {plain.replace(',', '.')} or {plain.replace(',', '')}? Write one of these."
    number = parsed(plain.replace(",", ".") if DECIMAL_COMMA.fullmatch(plain) else plain)
    if number is None or THOUSANDS.fullmatch(plain):
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
