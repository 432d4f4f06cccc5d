"""Correcting mistakes: correct, retract."""

from __future__ import annotations

from typing import Any

import click

from zonal.commands import sheets
from zonal.commands.bench import NUMBERS, corrected, standing
from zonal.commands.frame import say, study_command
from zonal.errors import InvalidInput
from zonal.rounds.trials import Observation, TrialRecord
from zonal.study import Study

NUMBER = click.IntRange(min=0)
OBSERVATION: dict[str, Any] = {
    "is_flag": True,
    "help": "TRIAL is the number of an observation, as in `zonal export`.",
}


@study_command(context_settings=NUMBERS)
@click.argument("trial", type=NUMBER)
@click.argument("value")
@click.option("--sem", help="Standard error of this one measurement  [default: as told]")
@click.option("--note", default="", help="A note kept with the trial, for example why  [default: as told]")
@click.option("--observation", **OBSERVATION)
def correct(study: Study, trial: int, value: str, sem: str | None, note: str, observation: bool) -> None:
    """Replace a value that was told by mistake by another VALUE.

    Everything is as if the right value had been told, except that regions already split stay split. The history
    keeps the old value, and who corrected it, when and why.
    """
    was = _counted(study, trial, observation)
    study.correct(was, sheets.value_of(value), sheets.sem_of(sem or ""), note)
    now = _counted(study, trial, observation)
    told = corrected(was, now) if now != was else f"nothing changed: {corrected(was)}"
    say(f"{told}. {standing(study)}")


@study_command()
@click.argument("trials", nargs=-1, required=True, type=NUMBER, metavar="TRIAL...")
@click.option("--note", default="", help="Why.")
@click.option("--observation", **OBSERVATION)
def retract(study: Study, trials: tuple[int, ...], note: str, observation: bool) -> None:
    """Remove values that should never have been told; the budget gets their trials back.

    Everything is as if they had never been told, except that regions already split stay split. The history keeps
    the values, and who retracted them, when and why. A TRIAL may still be told.
    """
    records = [_counted(study, number, observation) for number in dict.fromkeys(trials)]
    for record in records:
        study.retract(record, note)
    say(f"retracted: {', '.join(map(corrected, records))}. {standing(study)}")


def _counted(study: Study, number: int, observation: bool) -> TrialRecord | Observation:
    """Return a trial that was told, or an observation, by number; raise if there is none."""
    what = "observation" if observation else "trial"
    every = [own for own in study.history() if isinstance(own[0], Observation) == observation]
    if number >= len(every):
        raise InvalidInput(f"there is no such {what}", number, f"There are {len(every)}, counted from 0.")
    record, past = every[number]
    if past[-1].value is None:
        how = "is under way" if past[-1].state == "asked" else f"was {past[-1].state}"
        raise InvalidInput(
            f"nothing changed: {what} {number} {how}, and has no value", number, "Check its number."
        )
    return record
