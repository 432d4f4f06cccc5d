"""The commands of a campaign, from the first recipe to the last measurement: a thin layer over `Study`."""

import click

from zonal.cli.create import extend, new, refit
from zonal.cli.explain import why, worth
from zonal.cli.inspect import above, below, plot, predict, recommend, show, suspects
from zonal.cli.readings import correct, observe, reinstate, retract, set_aside, tell
from zonal.cli.run import run
from zonal.cli.simulate import power, rehearse
from zonal.cli.transfer import export, import_, verify
from zonal.cli.trials import allow, ask, cancel, fail, forbid

CAMPAIGN: tuple[click.Command, ...] = (
    new, ask, tell, observe, fail, cancel, forbid, allow, correct, retract, set_aside, reinstate, suspects,
    recommend, show, why, worth, predict, above, below, plot, extend, refit, export, import_, verify, run,
)  # fmt: skip
BEFOREHAND: tuple[click.Command, ...] = (rehearse, power)
