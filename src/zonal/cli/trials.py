"""Commands at the bench: ask, tell, observe, fail, cancel, forbid, allow, correct, retract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TypedDict, TypeVar

import click

from zonal.cli import options
from zonal.cli.plate_order import PlateOrder
from zonal.cli.trial_numbers import TRIAL, numbered
from zonal.engine.results import Observation, Trial, TrialRecord
from zonal.errors import BudgetSpent, CannotWrite, Exhausted, InvalidInput, reject
from zonal.io import fasta, plates
from zonal.io.result_table import Listing, counted
from zonal.io.spreadsheet import SheetFile
from zonal.io.tables import Table, read_table
from zonal.kernels.feedback import Slope
from zonal.spaces import Region
from zonal.study import operations, sheets, summary
from zonal.study.export import questions
from zonal.study.history import all_asked
from zonal.study.study import Study
from zonal.study.summary import measurements_left

T = TypeVar("T")


class Limits(TypedDict):
    """What is possible now, what is not, and labels that are known before."""

    within: list[Region] | None
    avoid: list[Region] | None
    labels: dict[str, str]


BENCH = "bench"  # not a process: a person's trial does not end with the command that asked
note_option = click.option("--note", default="", help="A note kept with the trial, for example why.")
margin_option = click.option(
    "--moe", help="In place of --sem: a published 90 % margin of error, 1.645 standard errors."
)
exposure_option = click.option("--exposure", type=float, help="For a count: how much it covers, such as seconds.")
observation_option = click.option(
    "--observation", is_flag=True, help="TRIAL is the number of an observation, as in `zonal export`."
)


@options.study_command()
@options.number_option("-n", "wanted", default=1, help="Number of trials.")
@click.option("--csv", "sheet", type=options.FILE, help="Write a new sheet with an empty column for the values.")
@click.option(
    "--plate",
    type=click.Choice(list(map(str, plates.SIZES))),
    help="Order on plates of so many wells: the sheet names them, and a map of the plates is written beside it.",
)
@click.option("--pending", is_flag=True, help="List the pending trials; ask for no new ones.")
@click.option("--key", default="", help="A name for this request: repeating it returns the same trials.")
@options.separator_option
@options.decimal_option
@click.option("--within", multiple=True, metavar="REGION", help="What is possible now; may be repeated.")
@click.option("--avoid", multiple=True, metavar="REGION", help="What is not possible now; may be repeated.")
@options.labels_option
@options.by_option
@options.json_option
def ask(
    study: Study,
    wanted: int,
    sheet: Path | None,
    plate: str | None,
    pending: bool,
    key: str,
    separator: str | None,
    decimal: str | None,
    within: tuple[str, ...],
    avoid: tuple[str, ...],
    labels: dict[str, str],
    by: str | None,
    as_json: bool,
) -> None:
    """Which regions to measure next.

    If fewer than the wanted number are left, returns those and says so. A sheet is written for Excel (.xlsx), with
    tabs (.tsv), as CSV or as FASTA (.fasta), by its ending. A REGION is written as in `zonal observe`: what is
    asked for lies within one of --within, and overlaps none of --avoid.
    """
    if pending and (within or avoid):
        raise click.UsageError("--pending asks for nothing, so --within and --avoid have no meaning there.")
    if plate and sheet is None:
        raise click.UsageError("--plate orders by a sheet: pass --csv FILE.")
    now = Limits(within=_places(study, within), avoid=_places(study, avoid), labels=labels)
    file = None if sheet is None else SheetFile(sheet, separator, decimal)
    wells = None if file is None or plate is None else PlateOrder(file, int(plate), study)
    if file is not None and file.is_fasta:
        fasta.check_codes(study.space.cell((0, 0)).name)  # before anything is asked for
    trials = list(study.pending) if pending else _ask(study, wanted, key, by or BENCH, now)
    if file is not None:
        _write_questions(file, study, trials, wells)
        options.echo_err(
            f"{counted(len(trials), 'question')} in {sheet}. Fill in its values, then `zonal tell` them."
        )
    if as_json:
        options.echo_json(trials)
    elif sheet is None:
        echo_trials(study, trials)


def _places(study: Study, regions: tuple[str, ...]) -> list[Region] | None:
    """Return regions written in a shell; None if there are none."""
    return [study.space.region(sheets.place_of(study.space, region)) for region in regions] or None


def _ask(study: Study, wanted: int, key: str, by: str, now: Limits) -> list[Trial]:
    """Return as many trials as wanted, or as many as are left."""
    asked_before = sum(asked.key == key for asked in all_asked(study)) if key else 0
    number = min(wanted, asked_before or measurements_left(study))
    if number == 0:
        raise _spent(study)
    try:
        trials = study.ask(number, key=key, by=by, **now)
    except (Exhausted, BudgetSpent):
        trials = _one_by_one(study, number, key, by, now)
    if len(trials) < wanted:
        fewer = len(trials) == number or study.settings.priced
        spent = "the budget leaves no more" if fewer else "no other region can be measured"
        options.echo_err(f"{len(trials)} of {wanted}: {spent}.")
    return trials


def _one_by_one(study: Study, number: int, key: str, by: str, now: Limits) -> list[Trial]:
    """Return the trials that are left, at least one."""
    trials: list[Trial] = []
    for at in range(number):
        try:
            trials.append(study.ask(key=key and f"{key}, {at + 1} of {number}", by=by, **now))
        except (Exhausted, BudgetSpent) as error:
            if not trials:
                raise _spent(study) if isinstance(error, BudgetSpent) else error from None
            break
    return trials


def _spent(study: Study) -> options.Refusal:
    budget = summary.amount(study, study.budget)
    besides = f", {len(study.pending)} of them are pending" if study.pending else ""
    if study.settings.priced:
        besides = f" but for {summary.amount(study, study.remaining)}, which pay for no measurement"
    what = "to it" if study.settings.priced else "measurements"
    spent = f"the budget of {budget} is spent{besides}. `zonal extend` adds {what}."
    return options.Refusal(spent, options.NOTHING_LEFT)


def _write_questions(
    file: SheetFile, study: Study, trials: Sequence[Trial], wells: PlateOrder | None = None
) -> None:
    try:
        file.write(questions(study, trials) if wells is None else wells.rows(study, trials))
    except CannotWrite as error:
        problem = f"the sheet cannot be written ({error.reason}), and the trials are pending"
        fix = "Write them elsewhere: zonal ask STUDY --pending --csv FILE."
        raise InvalidInput(problem, str(file.path), fix) from None


def echo_trials(study: Study, trials: Sequence[Trial]) -> None:
    """Print trials for people."""
    if not trials:
        click.echo("nothing is pending")
        return
    shown = {"trial": "number", "region": "region.name", "replicate": "replicate"}
    shown |= {name: name for name in study.settings.spends}
    options.echo_table(
        Listing("", {name: list(map(attrgetter(attribute), trials)) for name, attribute in shown.items()})
    )


@options.study_command(numbers=True)
@click.argument("trial", required=False, type=TRIAL)
@click.argument("value", required=False)
@click.option("--sem", help="Standard error of this one measurement.")
@margin_option
@note_option
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
    told = {**sheets.reading_of(value), "exposure": exposure, "sem": sheets.sem_of(sem or "", moe or "")}
    study.tell(trial, note=note, time=spent, slopes=along, minus=off, labels=labels, by=by, **told)
    options.echo_err(budget_line(study))


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
        f"{len(taken.new)} measured{mended}{repeated}{old}{_left_empty(taken.empty)}{noted}. {budget_line(study)}"
    )


def _slope(text: str) -> tuple[str, tuple[float, float]]:
    """Return axis, slope and standard error from a text."""
    axis, _, pair = text.rpartition("=")
    value, _, sem = pair.rpartition(":")
    error = sheets.sem_of(sem)
    if not axis or not value or error is None:
        raise InvalidInput("a slope needs an axis, a value and a standard error", text, "Write x=0.3:0.1.")
    return axis, (sheets.value_of(value), error)


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
    told = {**sheets.reading_of(value), "exposure": exposure, "sem": sheets.sem_of(sem or "", moe or "")}
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


trials_argument = click.argument("trials", nargs=-1, required=True, type=TRIAL, metavar="TRIAL...")


@options.study_command()
@trials_argument
@click.option("--no-retry", is_flag=True, help="The region can never be measured: do not ask for it again.")
@note_option
@options.by_option
def fail(study: Study, trials: tuple[int | str, ...], no_retry: bool, note: str, by: str | None) -> None:
    """Record that trials could not be measured.

    Their cost is refunded. A TRIAL may be given by its region, if that has one trial pending. A
    region that fails three times is not asked for again. For a trial that was not tried, use `zonal cancel`.
    """
    _close(study, trials, lambda draft, number: draft.fail(number, not no_retry, note, by=by))


@options.study_command()
@trials_argument
@note_option
@options.by_option
def cancel(study: Study, trials: tuple[int | str, ...], note: str, by: str | None) -> None:
    """Cancel trials that were not tried.

    Their cost is refunded, and nothing counts against their regions. A TRIAL may be given by its
    region, if that has one trial pending.
    """
    _close(study, trials, lambda draft, number: draft.cancel(number, note, by=by))


def _close(study: Study, trials: tuple[int | str, ...], close: Callable[[Study, int], None]) -> None:
    """Close pending trials, all or none."""
    pending = {trial.number for trial in study.pending}
    numbers = dict.fromkeys(numbered(study, trial, "pending") for trial in trials)
    stray = [number for number in numbers if number not in pending]
    shown = ", ".join(map(str, sorted(pending))) or "none"
    reject(stray, "nothing was changed: this trial is not pending", f"Pending: {shown}.")

    def close_all(draft: Study) -> None:
        for number in numbers:
            close(draft, number)

    operations.together(study, close_all)
    options.echo_err(budget_line(study))


@options.study_command()
@click.argument("region")
@click.option("--note", default="", help="Why; kept in the history.")
@options.by_option
def forbid(study: Study, region: str, note: str, by: str | None) -> None:
    """Forbid a REGION from now on.

    Nothing that overlaps it is asked for or recommended. A REGION is written as in `zonal observe`. What was
    measured there still counts. `zonal allow` takes it back.
    """
    place = study.space.region(sheets.place_of(study.space, region))
    pending = [str(trial.number) for trial in study.forbid(place, note, by=by)]
    still_pending = f" Still pending there: {', '.join(pending)}; tell them or cancel them." if pending else ""
    options.echo_err(f"{place.name} is forbidden.{still_pending} {budget_line(study)}")


@options.study_command()
@click.argument("region")
@options.by_option
def allow(study: Study, region: str, by: str | None) -> None:
    """Allow a REGION again that failed or was forbidden.

    Failures within it, and what `zonal forbid` forbade there, are taken back. A REGION is written as in `zonal
    observe`; the whole space takes back everything. Regions forbidden when the study began stay so.
    """
    study.refresh()
    before = len(study.forbidden)
    number = study.allow(sheets.place_of(study.space, region), by=by)
    lifted = before - len(study.forbidden)
    parts = (number - lifted, "failure"), (lifted, "forbidden region")
    taken_back = " and ".join(counted(count, what) for count, what in parts if count)
    options.echo_err(f"{taken_back} taken back. {budget_line(study)}")


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
    told = {**sheets.reading_of(value), "exposure": exposure}
    study.correct(was, sem=sheets.sem_of(sem or ""), note=note, labels=labels, by=by, **told)
    now = operations.recorded(study, number, observation)
    change = corrected(was, now) if now != was else f"nothing changed: {corrected(was)}"
    options.echo_err(f"{change}. {budget_line(study)}")


@options.study_command()
@click.argument("trials", nargs=-1, required=True, type=TRIAL, metavar="TRIAL...")
@click.option("--note", default="", help="Why.")
@observation_option
@options.by_option
def retract(study: Study, trials: tuple[int | str, ...], note: str, observation: bool, by: str | None) -> None:
    """Remove values that should never have been entered.

    Their cost is refunded. Everything is as if they had never been told, except that regions already
    split stay split. The history keeps the values, and who retracted them, when and why. A TRIAL may still be
    told.
    """
    numbers = dict.fromkeys(numbered(study, trial, "measured", observation) for trial in trials)
    records = [operations.recorded(study, number, observation) for number in numbers]

    def remove(draft: Study) -> None:
        for record in records:
            draft.retract(record, note, by=by)

    operations.together(study, remove)
    options.echo_err(f"retracted: {', '.join(map(corrected, records))}. {budget_line(study)}")


@options.study_command()
@click.argument("trials", nargs=-1, required=True, type=TRIAL, metavar="TRIAL...")
@click.option("--note", default="", help="Why.")
@observation_option
@options.by_option
def set_aside(study: Study, trials: tuple[int | str, ...], note: str, observation: bool, by: str | None) -> None:
    """Set readings aside as gross errors: they no longer count.

    Their trials stay paid for. Everything is as if they were not known, except that regions already split stay
    split. `zonal suspects` lists the likeliest mistakes, `zonal reinstate` undoes it.
    """
    numbers = dict.fromkeys(numbered(study, trial, "measured", observation) for trial in trials)
    records = [operations.recorded(study, number, observation) for number in numbers]

    def change(draft: Study) -> None:
        for record in records:
            draft.set_aside(record, note, by=by)

    operations.together(study, change)
    options.echo_err(f"set aside: {', '.join(map(corrected, records))}. {budget_line(study)}")


@options.study_command()
@click.argument("trials", nargs=-1, required=True, type=TRIAL, metavar="TRIAL...")
@click.option("--note", default="", help="Why.")
@observation_option
@options.by_option
def reinstate(study: Study, trials: tuple[int | str, ...], note: str, observation: bool, by: str | None) -> None:
    """Count readings again that were set aside.

    Whether Zonal or a person set them aside: from now on they are trusted.
    """
    numbers = dict.fromkeys(numbered(study, trial, "set aside", observation) for trial in trials)
    records = [operations.recorded(study, number, observation) for number in numbers]

    def change(draft: Study) -> None:
        for record in records:
            draft.reinstate(record, note, by=by)

    operations.together(study, change)
    options.echo_err(f"reinstated: {', '.join(map(corrected, records))}. {budget_line(study)}")


def corrected(was: TrialRecord | Observation, now: TrialRecord | Observation | None = None) -> str:
    """Return the value of a trial or an observation, before and after a correction."""

    def value_text(record: TrialRecord | Observation) -> str:
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


def budget_line(study: Study) -> str:
    """Return how much of the budget is used, and by what."""
    return f"{summary.budget_line(study)}."


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
