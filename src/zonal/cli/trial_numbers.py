"""Trials as people name them in a shell: by number, or by a region that has only one."""

from __future__ import annotations

from typing import Any

import click

from zonal.engine.results import Observation
from zonal.errors import InvalidInput, ZonalError, require
from zonal.io.tables import ENDINGS
from zonal.study import sheets
from zonal.study.history import history
from zonal.study.queries import region_of
from zonal.study.study import Study

MEANT = {"tell": "--csv {}", "correct": "`zonal tell STUDY --csv {} --correct`"}  # by a sheet in a number's place
USE_NUMBER = "Pass its number, as `zonal export` lists it."


class TrialNumber(click.types.StringParamType):
    """The number of a trial, or, as text, the region of the only trial that can be meant: see `numbered`."""

    name = "trial"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a number, or a text that is none; a sheet's name is refused."""
        if value.lower().endswith(ENDINGS):
            meant = MEANT.get(ctx.command.name or "" if ctx else "", "`zonal tell STUDY --csv {}`").format(value)
            self.fail(f"{value!r} is not a trial. Did you mean {meant}?", param, ctx)
        if value.isdecimal():
            return int(value) if len(value) <= sheets.MOST_DIGITS else 10**sheets.MOST_DIGITS
        return value


TRIAL = TrialNumber()
trials_argument = click.argument("trials", nargs=-1, required=True, type=TRIAL, metavar="TRIAL...")


def numbered(study: Study, trial: int | str, state: str, observation: bool = False) -> int:
    """Return the number of a trial; of a region, that of its only trial (or observation) in a state."""
    if isinstance(trial, int):
        return trial
    what = "observation" if observation else "trial"
    state = "observed" if observation and state == "measured" else state
    how = {"pending": "pending", "measured": "with a value", "set aside": "set aside"}.get(state, "that counts")
    try:
        region = region_of(study, sheets.place_of(study.space, trial))
    except ZonalError as error:
        raise InvalidInput(f"this is neither a number nor a region ({error})", trial, USE_NUMBER) from None
    same = ((record, past[-1].state) for record, past in history(study) if record.region.key == region.key)
    numbers = [
        record.number for record, now in same if now == state and isinstance(record, Observation) == observation
    ]
    many = f"{len(numbers)} {what}s {how} ({', '.join(map(str, numbers))})" if numbers else f"no {what} {how}"
    require(len(numbers) == 1, f"this region has {many}", trial, USE_NUMBER)
    return numbers[0]
