"""The rows of a sheet: the measurement in each, whether the study has it already; all bad rows in one error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from zonal.engine.events import Labels
from zonal.engine.labels import checked_labels, merged
from zonal.engine.results import TrialRecord
from zonal.engine.trial_history import Outcome
from zonal.errors import ZonalError, require
from zonal.gp.likelihoods import Limit
from zonal.io.files import unescaped
from zonal.io.tables import Numeral, Table
from zonal.spaces import Region, Space
from zonal.study.region_formats import axis_columns, exact_columns
from zonal.study.sheet_cells import (
    NOT_YET,
    agrees,
    bare_limit,
    exposure_of,
    pointed_number,
    sem_of,
    time_of,
    value_of,
)

T = TypeVar("T")

SHOWN_ROWS = 20
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
        same = same and agrees(self.cells["value"], was.value)
        return same and (self.sem is None or agrees(self.cells["sem"], was.sem))

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
            return ended(now)
        if self.repeats(now) or not any(map(self.repeats, before)):
            return ""
        return "was retracted" if now.value is None else f"was corrected to {now.value!r}"

    def over(self, was: TrialRecord) -> FilledRow | None:
        """Return this row as a correction of a trial; None if it changes nothing or nothing was recorded."""
        if was.value is None:
            return None
        value = was.value if agrees(self.cells["value"], was.value) else self.value
        sem = was.sem if self.sem is None or agrees(self.cells["sem"], was.sem) else self.sem
        labels = merged(was.labels, self.labels)
        now = replace(self, value=value, sem=sem, note=self.note or was.note, labels=labels)
        parts = [(told.value, told.sem, told.note, told.limit, told.labels) for told in (now, was)]
        same = parts[0] == parts[1]
        return None if same and now.exposure in (None, was.exposure) else now


def ended(outcome: Outcome) -> str:
    """Return how a trial ended, and the note about it."""
    return f"was {outcome.state}{f' ({outcome.note})' if outcome.note else ''}"


def measurement_in(
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


def every_row(
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
        name: pointed_number(cells[name], pointed, CALLED.get(name, name)) for name, pointed in numbers.items()
    }


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
