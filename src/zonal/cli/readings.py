"""What was measured: tell and observe, correct and retract, set aside and reinstate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import click

from zonal.cli import options
from zonal.cli.trial_numbers import TRIAL, numbered, trials_argument
from zonal.engine.results import Observation, TrialRecord
from zonal.errors import InvalidInput
from zonal.io import plates
from zonal.io.result_table import counted
from zonal.io.tables import Table, read_table
from zonal.kernels.feedback import Slope
from zonal.study import operations, sheets
from zonal.study.sheet_cells import reading_of, sem_of, value_of
from zonal.study.study import Study

T = TypeVar("T")
Reading = TrialRecord | Observation

margin_option = click.option(
    "--moe", help="In place of --sem: a published 90 % margin of error, 1.645 standard errors."
)
exposure_option = click.option("--exposure", type=float, help="For a count: how much it covers, such as seconds.")
observation_option = click.option(
    "--observation", is_flag=True, help="TRIAL is the number of an observation, as in `zonal export`."
)


@options.study_command(numbers=True)
@click.argument("trial", required=False, type=TRIAL)
@click.argument("value", required=False)
@click.option("--sem", help="Standard error of this one measurement.")
@margin_option
@options.note_option
@click.option("--time", "spent", type=float, help="The time really spent, where times are chosen.")
@click.option("--slope", "slopes", multiple=True, metavar="AXIS=SLOPE:SEM", help="A slope measured with it.")
@click.option("--minus", metavar="REGION", help="VALUE is a difference: this region's average was subtracted.")
@options.labels_option
@exposure_option
@click.option(
    "--csv", "sheet", type=options.FILE, help="A sheet of `zonal ask` with values filled in; empty rows wait."
)
@click.option("--plate", "readings", type=options.FILE, help="What a plate reader read, for an order on plates.")
@click.option("--correct", is_flag=True, help="Also correct earlier values that differ from the sheet.")
@click.option("--changed", is_flag=True, help="Also take rows of trials that changed after the sheet was written.")
@options.decimal_option
@options.by_option
def tell(
    study: Study,
    trial: int | str | None,
    value: str | None,
    sem: str | None,
    moe: str | None,
    note: str,
    spent: float | None,
    slopes: tuple[str, ...],
    minus: str | None,
    labels: dict[str, str],
    exposure: float | None,
    sheet: Path | None,
    readings: Path | None,
    correct: bool,
    changed: bool,
    decimal: str | None,
    by: str | None,
) -> None:
    """Report the VALUE of a TRIAL, or a whole sheet of them.

    A VALUE that lies beyond what can be read is its limit: "<0.5" or ">10", here and in sheets.
    A sheet is taken completely or not at all. Rows of trials that were corrected, retracted or failed after the
    sheet was written are left out and listed, unless --changed. TRIAL may be a region with one trial pending.
    Slopes are means of df/dx over the region, per unit of the axis: --slope x=0.3:0.1. For a difference, the
    column minus of a sheet names the other region. A label is written --label plate=3; in a sheet it has a column.
    For an order on plates, --plate takes a table in the form of the plate, or a list with the columns well and
    value.
    """
    stray = "--correct is for the rows of a sheet; `zonal correct` takes one TRIAL." if correct else ""
    stray = "--changed is for the rows of a sheet: pass --csv FILE." if changed else stray
    stray = "--plate is for an order on plates: pass it with --csv ORDER." if readings else stray
    one_way(sheet, trial, value, "Pass TRIAL and VALUE, or --csv FILE.", stray)
    if sheet is not None:
        table = read_table(sheet, decimal)
        table = table if readings is None else plates.filled(table, read_table(readings, decimal))
        return _tell_sheet(study, table, correct, changed, by)
    assert trial is not None
    assert value is not None
    trial = numbered(study, trial, "pending")
    along, off = dict(map(_slope, slopes)) or None, None if minus is None else sheets.place_of(study.space, minus)
    told = {**reading_of(value), "exposure": exposure, "sem": sem_of(sem or "", moe or "")}
    study.tell(trial, note=note, time=spent, slopes=along, minus=off, labels=labels, by=by, **told)
    options.echo_err(options.budget_line(study))


def _tell_sheet(study: Study, table: Table, correct: bool, changed: bool, by: str | None) -> None:
    before = sheets.told_before(study)
    taken = sheets.told(study, table, correct, changed, by, watched=slowly)
    now = sheets.told_before(study) if taken.corrected else before
    for number, _ in taken.corrected:
        options.echo_err(f"{corrected(before[number][0], now[number][0])}.")
    for number, (row, how) in taken.outdated.items():
        options.echo_err(f"Row {row} was left out: trial {number} {how} after the sheet was written.")
    for number, left in taken.notes_left.items():
        warning = f"Row {left.row}: its note was left out, since trial {number} {left.how}."
        options.echo_err(f"{warning} --{left.option} keeps it.")
    mended = f", {len(taken.corrected)} corrected" if taken.corrected else ""
    repeated = f", {len(taken.repeated)} known already" if taken.repeated else ""
    noted = f", {counted(len(taken.notes), 'note')} kept" if taken.notes else ""
    old = f", {len(taken.outdated)} left out (--changed takes them too)" if taken.outdated else ""
    options.echo_err(
        f"{len(taken.new)} measured{mended}{repeated}{old}{_left_empty(taken.empty)}{noted}. "
        f"{options.budget_line(study)}"
    )


def _slope(text: str) -> tuple[str, tuple[float, float]]:
    """Return axis, slope and standard error from a text."""
    axis, _, pair = text.rpartition("=")
    value, _, sem = pair.rpartition(":")
    error = sem_of(sem)
    if not axis or not value or error is None:
        raise InvalidInput("a slope needs an axis, a value and a standard error", text, "Write x=0.3:0.1.")
    return axis, (value_of(value), error)


@options.study_command(numbers=True)
@click.argument("region", required=False)
@click.argument("value", required=False)
@click.option("--sem", help="Standard error of this one measurement.")
@margin_option
@click.option("--slope", metavar="AXIS", help="VALUE is the mean slope of the region along this axis.")
@click.option("--minus", metavar="REGION", help="VALUE is a difference: REGION minus this one.")
@exposure_option
@click.option("--note", default="", help="A note kept with the observation.")
@options.labels_option
@click.option("--study", "other", type=options.FILE, help="All averages of another study, as of a source.")
@click.option("--scale", type=float, default=1.0, help="What that study's values are multiplied by  [default: 1]")
@click.option("--csv", "sheet", type=options.FILE, help="A sheet with regions and values, one per row.")
@click.option("--again", is_flag=True, help="Also take rows that the study has already.")
@options.decimal_option
@options.by_option
def observe(
    study: Study,
    region: str | None,
    value: str | None,
    sem: str | None,
    moe: str | None,
    slope: str | None,
    minus: str | None,
    exposure: float | None,
    note: str,
    labels: dict[str, str],
    other: Path | None,
    scale: float,
    sheet: Path | None,
    again: bool,
    decimal: str | None,
    by: str | None,
) -> None:
    """Add earlier measurements, which cost no budget.

    Pass a REGION and its VALUE, or a whole sheet. A sheet is taken completely or not at all. A REGION is
    written as ATNNNNNN, "NSW > Coast", "l=0..90, sin_b=0..1", or row numbers. A sheet has a column region, or
    the columns that `zonal ask --csv` writes, and value, sem, note, and if needed slope and minus.
    """
    stray = "--again is for the rows of a sheet: pass --csv FILE." if again else ""
    if other is not None:
        if region is not None or sheet is not None or stray:
            raise click.UsageError("--study takes no REGION, and no --csv or --again.")
        taken = study.observe_study(Study.open(other), labels=labels or None, scale=scale, by=by)
        return options.echo_err(f"Added {counted(len(taken), 'earlier measurement')}.")
    one_way(sheet, region, value, "Pass REGION and VALUE, or --csv FILE.", stray)
    if sheet is not None:
        return _observe_sheet(study, sheet, again, decimal, by)
    assert region is not None
    assert value is not None
    place, seen_as = sheets.place_of(study.space, region), Slope(slope) if slope else None
    off = None if minus is None else sheets.place_of(study.space, minus)
    told = {**reading_of(value), "exposure": exposure, "sem": sem_of(sem or "", moe or "")}
    seen = study.observe(place, feedback=seen_as, minus=off, note=note, labels=labels, by=by, **told)
    options.echo_err(f"Added 1 earlier measurement: observation {seen.number}.")


def _observe_sheet(study: Study, sheet: Path, again: bool, decimal: str | None, by: str | None) -> None:
    sheet_rows, repeated = sheets.observed(study, read_table(sheet, decimal), again, by), ""
    n_taken = len(sheet_rows.new) + (len(sheet_rows.repeated) if again else 0)
    if sheet_rows.repeated and not again:
        rows = ", ".join(str(answer.row) for _, answer in sheet_rows.repeated)
        repeated = f", {len(sheet_rows.repeated)} known already (row {rows} of the sheet; --again takes them too)"
    options.echo_err(f"{counted(n_taken, 'measurement')} taken in{repeated}{_left_empty(sheet_rows.empty)}.")


def _left_empty(rows: int) -> str:
    return f", {counted(rows, 'row')} left empty" if rows else ""


@options.study_command(numbers=True)
@click.argument("trial", type=TRIAL)
@click.argument("value")
@click.option("--sem", help="Standard error of this one measurement  [default: as told]")
@exposure_option
@click.option("--note", default="", help="A note kept with the trial, for example why  [default: as told]")
@options.labels_option
@observation_option
@options.by_option
def correct(
    study: Study,
    trial: int | str,
    value: str,
    sem: str | None,
    exposure: float | None,
    note: str,
    labels: dict[str, str],
    observation: bool,
    by: str | None,
) -> None:
    """Replace a wrong value by the right VALUE.

    TRIAL is a number, or a region that has one trial with a value.

    Everything is as if the right value had been told, except that regions already split stay split. The history
    keeps the old value, and who corrected it, when and why.
    """
    number = numbered(study, trial, "measured", observation)
    was = operations.recorded(study, number, observation)
    told = {**reading_of(value), "exposure": exposure}
    study.correct(was, sem=sem_of(sem or ""), note=note, labels=labels, by=by, **told)
    now = operations.recorded(study, number, observation)
    change = corrected(was, now) if now != was else f"nothing changed: {corrected(was)}"
    options.echo_err(f"{change}. {options.budget_line(study)}")


@options.study_command()
@trials_argument
@click.option("--note", default="", help="Why.")
@observation_option
@options.by_option
def retract(study: Study, trials: tuple[int | str, ...], note: str, observation: bool, by: str | None) -> None:
    """Remove values that should never have been entered.

    Their cost is refunded. Everything is as if they had never been told, except that regions already
    split stay split. The history keeps the values, and who retracted them, when and why. A TRIAL may still be
    told.
    """
    records = _records(study, trials, "measured", observation)
    _change(study, records, "retracted", lambda draft, record: draft.retract(record, note, by=by))


@options.study_command()
@trials_argument
@click.option("--note", default="", help="Why.")
@observation_option
@options.by_option
def set_aside(study: Study, trials: tuple[int | str, ...], note: str, observation: bool, by: str | None) -> None:
    """Set readings aside as gross errors: they no longer count.

    Their trials stay paid for. Everything is as if they were not known, except that regions already split stay
    split. `zonal suspects` lists the likeliest mistakes, `zonal reinstate` undoes it.
    """
    records = _records(study, trials, "measured", observation)
    _change(study, records, "set aside", lambda draft, record: draft.set_aside(record, note, by=by))


@options.study_command()
@trials_argument
@click.option("--note", default="", help="Why.")
@observation_option
@options.by_option
def reinstate(study: Study, trials: tuple[int | str, ...], note: str, observation: bool, by: str | None) -> None:
    """Count readings again that were set aside.

    Whether Zonal or a person set them aside: from now on they are trusted.
    """
    records = _records(study, trials, "set aside", observation)
    _change(study, records, "reinstated", lambda draft, record: draft.reinstate(record, note, by=by))


def _records(study: Study, trials: tuple[int | str, ...], state: str, observation: bool) -> list[Reading]:
    """Return the readings in a state that are meant, each once."""
    numbers = dict.fromkeys(numbered(study, trial, state, observation) for trial in trials)
    return [operations.recorded(study, number, observation) for number in numbers]


def _change(study: Study, records: list[Reading], done: str, change: Callable[[Study, Reading], None]) -> None:
    """Change readings, all or none, and say so."""

    def change_all(draft: Study) -> None:
        for record in records:
            change(draft, record)

    operations.together(study, change_all)
    options.echo_err(f"{done}: {', '.join(map(corrected, records))}. {options.budget_line(study)}")


def corrected(was: Reading, now: Reading | None = None) -> str:
    """Return the value of a trial or an observation, before and after a correction."""

    def value_text(record: Reading) -> str:
        sem = "" if record.sem is None else f" (sem {record.sem:g})"
        sign = {"": "", "below": "<", "above": ">"}[record.limit]
        of = "" if record.exposure is None else f" of exposure {record.exposure:g}"
        return f"{sign}{record.value:g}{of}{sem}{f' [{record.note}]' if record.note else ''}"

    what = f"{'observation' if isinstance(was, Observation) else 'trial'} {was.number}"
    return (
        f"{what}, {value_text(was)}"
        if now is None
        else f"{what} was {value_text(was)} and is {value_text(now)} now"
    )


def one_way(sheet: Path | None, single: int | str | None, value: str | None, how: str, stray: str) -> None:
    """Raise unless a sheet is given, or a single measurement with its value and no `stray` option for sheets."""
    if (sheet is None) == (single is None):
        raise click.UsageError(how)
    if sheet is None and (stray or value is None):
        raise click.UsageError(stray or "Missing argument 'VALUE'.")


def slowly(things: list[T], what: str) -> Iterable[T]:
    """Iterate with a progress bar, if on a terminal."""
    from tqdm import tqdm

    return tqdm(things, desc=what, unit="", disable=None, leave=False)
