"""Why this answer and this measurement, and what another would bring: why, worth. Nothing here changes a study."""

from __future__ import annotations

import click

from zonal.cli import options
from zonal.cli.trial_numbers import TRIAL, numbered
from zonal.study import sheets
from zonal.study.study import Study


@options.study_command()
@click.argument("trial", type=TRIAL, required=False)
@options.json_option
def why(study: Study, trial: int | str | None, as_json: bool) -> None:
    """Why this is the answer, or why a TRIAL was asked for.

    Without a TRIAL also what comes next. The mean of the answer is the sum of weights times readings, and the
    prior mean's share; --json lists them all. TRIAL is a number, or a region that has one trial pending.
    """
    reasons = study.why() if trial is None else study.why(numbered(study, trial, "pending"))
    options.echo_json(reasons) if as_json else click.echo(str(reasons))


@options.study_command()
@click.argument("region")
@options.json_option
def worth(study: Study, region: str, as_json: bool) -> None:
    """What measuring a REGION of your own would bring.

    The answer is relative to the best region to measure.
    A REGION is written as in `zonal observe`.
    """
    gain = study.worth(sheets.place_of(study.space, region))
    options.echo_json(gain) if as_json else click.echo(str(gain))
