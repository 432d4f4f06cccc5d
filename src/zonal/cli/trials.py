"""Which regions are measured: ask, fail, cancel, forbid, allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TypedDict

import click

from zonal.cli import options
from zonal.cli.plate_order import PlateOrder
from zonal.cli.trial_numbers import numbered, trials_argument
from zonal.engine.results import Trial
from zonal.errors import BudgetSpent, CannotWrite, Exhausted, InvalidInput, reject
from zonal.io import fasta, plates
from zonal.io.result_table import Listing, counted
from zonal.io.spreadsheet import SheetFile
from zonal.spaces import Region
from zonal.study import operations, sheets, summary
from zonal.study.export import questions
from zonal.study.history import all_asked
from zonal.study.study import Study
from zonal.study.summary import measurements_left


class Limits(TypedDict):
    """What is possible now, what is not, and labels that are known before."""

    within: list[Region] | None
    avoid: list[Region] | None
    labels: dict[str, str]


BENCH = "bench"  # not a process: a person's trial does not end with the command that asked


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


@options.study_command()
@trials_argument
@click.option("--no-retry", is_flag=True, help="The region can never be measured: do not ask for it again.")
@options.note_option
@options.by_option
def fail(study: Study, trials: tuple[int | str, ...], no_retry: bool, note: str, by: str | None) -> None:
    """Record that trials could not be measured.

    Their cost is refunded. A TRIAL may be given by its region, if that has one trial pending. A
    region that fails three times is not asked for again. For a trial that was not tried, use `zonal cancel`.
    """
    _close(study, trials, lambda draft, number: draft.fail(number, not no_retry, note, by=by))


@options.study_command()
@trials_argument
@options.note_option
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
    options.echo_err(options.budget_line(study))


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
    options.echo_err(f"{place.name} is forbidden.{still_pending} {options.budget_line(study)}")


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
    options.echo_err(f"{taken_back} taken back. {options.budget_line(study)}")
