"""The commands of a campaign, from the first recipe to the last measurement: a thin layer over `Study`."""

import click

from zonal.commands.beforehand import power, rehearse
from zonal.commands.begin import extend, new, refit
from zonal.commands.bench import allow, ask, correct, forbid, give_up, observe, retract, tell
from zonal.commands.carry import export, import_, verify
from zonal.commands.look import above, below, plot, predict, recommend, show
from zonal.commands.run import run

CAMPAIGN: tuple[click.Command, ...] = (
    new, ask, tell, observe, give_up, forbid, allow, correct, retract, recommend, show, predict, above, below,
    plot, extend, refit, export, import_, verify, run,
)  # fmt: skip
BEFOREHAND: tuple[click.Command, ...] = (rehearse, power)
