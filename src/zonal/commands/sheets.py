"""Sheets: CSV files that go to the bench with questions and come back with answers.

A sheet is taken whole or not at all: every row is read and held against the study before the first is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from zonal.commands import regions
from zonal.errors import LARGEST_STD, InvalidInput, ZonalError, finite_number, standard_deviation
from zonal.rounds.trials import Trial, TrialRecord
from zonal.spaces import Region
from zonal.study import Study
from zonal.tables import Table, read_table
from zonal.tables.cells import csv_text, unescaped

T = TypeVar("T")

SHOWN_ROWS = 20
COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass(frozen=True)
class Answer:
    """A measurement of a trial, as a sheet has it."""

    number: int
    value: float
    sem: float | None
    note: str


@dataclass(frozen=True)
class Earlier:
    """A measurement made before, as a sheet has it."""

    region: Region
    value: float
    sem: float | None


def questions(trials: Sequence[Trial], space: Any) -> str:
    """Return a sheet of questions, with empty columns for the answers."""
    header = ["trial", "region", "look", *regions.columns(space), "value", "sem", "note"]
    rows = [
        [one.number, one.region.name, one.replicate, *regions.cells(one.region), None, None, None]
        for one in trials
    ]
    return csv_text([header, *rows])


def outcomes(study: Study) -> str:
    """Return all trials, and the measurements made outside of the study, as a sheet."""
    space = study.space
    header = ["trial", "region", "look", *regions.columns(space), "state", "value", "sem", "note"]
    rows = [
        [
            one.number,
            one.region.name,
            one.replicate,
            *regions.cells(one.region),
            one.state,
            one.value,
            one.sem,
            one.note,
        ]
        for one in study.trials
    ]
    rows += [
        [None, one.region.name, None, *regions.cells(one.region), "observed", one.value, one.sem, None]
        for one in study.observations
    ]
    return csv_text([header, *rows])


def answers(path: Path, study: Study) -> tuple[list[Answer], int]:
    """Return the answers of a sheet, and how many rows were left empty; or complain of every bad row."""
    table = read_table(path)
    trials = study.trials
    seen: set[int] = set()

    def read(row: dict[str, str]) -> Answer | None:
        cell = row["value"]
        number = _trial(row["trial"], trials, row.get("region", ""))
        if number in seen:
            raise InvalidInput("a row above has this trial already", number, "Keep one of the two.")
        seen.add(number)
        if not cell:
            return None
        answer = Answer(number, value_of(cell), sem_of(row.get("sem", "")), row.get("note", ""))
        _check_untold(trials[number], answer)
        return answer

    found = _every_row(table, ("trial", "value"), read, "told")
    told = [answer for answer in found if answer is not None]
    return told, len(found) - len(told)


def earlier(path: Path, study: Study) -> list[Earlier]:
    """Return measurements made before; or complain of every bad row."""
    space, feedback = study.space, study.feedback

    def read(row: dict[str, str]) -> Earlier:
        region: Region = space.region(regions.from_cells(space, row), feedback)
        return Earlier(region, value_of(row["value"]), sem_of(row.get("sem", "")))

    return _every_row(read_table(path), ("value",), read, "taken in")


def places(path: Path, space: Any) -> list[Region]:
    """Return the regions of a sheet; or complain of every bad row."""
    return _every_row(read_table(path), (), lambda row: space.region(regions.from_cells(space, row)), "predicted")


def _every_row(table: Table, needed: Sequence[str], read: Callable[[dict[str, str]], T], done: str) -> list[T]:
    """Return what every row says, or complain of all that cannot be read, by row."""
    for column in needed:
        if column not in table.columns:
            if any(";" in name for name in table.columns):
                fix = "Save the sheet as CSV with commas between the cells."
                raise InvalidInput(f"{table.path.name} has semicolons between its cells", ";", fix)
            table.texts(column)  # complains, and knows which columns there are
    found, wrong = [], []
    for at in range(table.rows):
        row = {unescaped(name): unescaped(str(column[at]).strip()) for name, column in table.columns.items()}
        if not any(row.values()):
            continue
        try:
            found.append(read(row))
        except ZonalError as error:
            line = f" (line {table.lines[at]})" if table.lines else ""
            wrong.append(f"row {at + 1}{line}: {error}")
    if wrong:
        more = [f"and {len(wrong) - SHOWN_ROWS} more"] if len(wrong) > SHOWN_ROWS else []
        listed = "\n  ".join([*wrong[:SHOWN_ROWS], *more])
        raise BadSheet(
            f"{table.path.name}: nothing was {done}; of {table.rows} rows {len(wrong)} cannot be.\n  {listed}"
        )
    return found


class BadSheet(ZonalError, ValueError):
    """A sheet with rows that cannot be taken; the message lists them."""


def _trial(cell: str, trials: Sequence[TrialRecord], name: str) -> int:
    number = regions.counted(cell)
    if number is None:
        raise InvalidInput("a trial is a whole number", cell, "Copy it from the sheet that `zonal ask` wrote.")
    if number >= len(trials):
        raise InvalidInput(
            f"there is no such trial: the study has asked for {len(trials)}", number, "Check the study."
        )
    if name and name != trials[number].region.name:
        own = trials[number].region.name
        raise InvalidInput(f"trial {number} is {own}, not this region", name, "Is the sheet another study's?")
    return number


def _check_untold(trial: TrialRecord, answer: Answer) -> None:
    if trial.state == "told" and (trial.value, trial.sem) != (answer.value, answer.sem):
        problem = f"trial {trial.number} was told already ({trial.value!r})"
        raise InvalidInput(
            problem, answer.value, "Leave its cell as it was; `zonal observe` takes a further value."
        )


def value_of(cell: str) -> float:
    """Return a measured value from its text."""
    fix = "Write a number such as 0.73, or leave the cell empty if there is none yet."
    if COMMA.fullmatch(cell.strip()):
        raise InvalidInput("a value has a decimal comma", cell, f"Write {cell.strip().replace(',', '.')}.")
    value = finite_number(_number(cell, "a value", fix), "a value", fix)
    if abs(value) > LARGEST_STD:
        raise InvalidInput("a value is too large", cell, fix)
    return value


def sem_of(cell: str) -> float | None:
    """Return a standard error from its text, None for none."""
    if not cell.strip():
        return None
    fix = "Write a number of 0 or more, or leave the cell empty."
    return standard_deviation(_number(cell, "a standard error", fix), "a standard error")


def _number(cell: str, what: str, fix: str) -> float:
    try:
        if "_" in cell:  # which float() would read over
            raise ValueError
        return float(cell)
    except ValueError:
        raise InvalidInput(f"{what} must be a number", cell, fix) from None
