"""Campaigns simulated before the first real measurement: rehearse, power."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import click

from zonal.cli import options
from zonal.cli.create import described, refuse_beside
from zonal.io.recipe_text import Recipe, read_recipe
from zonal.study.recipe import where

POSITIVE = options.Finite(min=0, min_open=True)


class Plan(TypedDict):
    """The options of simulated campaigns."""

    recipe: Path | None
    table: Path | None
    budgets: tuple[float, ...]
    space: options.SpaceOptions
    settings: options.StudyOptions
    sequence: str | None
    given: bool
    runs: int
    jobs: int | None
    out: Path


def _simulation(
    picture: str, runs: int, fewest: int, table: options.Decorator, budget: options.Decorator
) -> options.Decorator:
    """Return the options of a command that simulates campaigns: those of a study, and those of the simulation."""
    return options.grouped(
        "plan",
        Plan,
        table,
        budget,
        options.recipe_option,
        options.space_options,
        click.option("--sequence", help="Column of sequences, all possible ones of one length."),
        options.study_options,
        click.option(
            "--given", is_flag=True, help="The search is given noise and model; by default it learns them."
        ),
        options.number_option("--runs", default=runs, minimum=fewest, help="Campaigns per method and budget."),
        options.number_option("--jobs", help="Processes  [default: one per core]"),
        options.picture_option(picture),
    )


REHEARSED = "Number of measurements in a campaign, or their total cost."
SIMULATED = "Number of measurements, or their cost; for a single number, 1/8, 1/4 and 1/2 of it are simulated too."


@click.command()
@_simulation(
    "zonal-rehearsal.png",
    30,
    1,
    click.argument("table", type=options.FilePath()),
    click.option("--budget", "budgets", callback=options.numbers, help=REHEARSED),
)
def rehearse(plan: Plan) -> None:
    """Simulate a measuring campaign on a TABLE (.csv, .csv.gz, .tsv, .parquet) before you pay for it.

    Every row is a smallest part: a point (--coords), an area (--levels, with --coords for its position) or a
    sequence (--sequence). Or it is a place in a space of axes (--axis, each with its column), where parts without
    a row have the value of the nearest row. Zonal and three simple alternatives spend the same budget on noisy
    averages computed from the table. All settings of `zonal new` may be given, as options or in a recipe.
    """
    from zonal.cli.simulation_report import rehearsed

    _echo(rehearsed(_recipe(plan), plan))


@click.command()
@_simulation(
    "zonal-power.png",
    50,
    2,
    click.argument("table", required=False, type=options.FilePath()),
    click.option(
        "--budget", "budgets", multiple=True, callback=options.numbers, metavar=options.NUMBERS, help=SIMULATED
    ),
)
@click.option("--signal", type=POSITIVE, help="Standard deviation of f  [default: 1]")
@click.option("--variance", type=POSITIVE, help="Its square, instead of --signal.")
@click.option(
    "--lengthscale",
    callback=options.one_or_more,
    metavar=options.NUMBERS,
    help="Distance over which f changes, in units of the axes: one, or one per axis  [default: random each run]",
)
@click.option(
    "--target", type=POSITIVE, help="A regret: also name the smallest simulated budget that stays below it."
)
def power(
    plan: Plan,
    signal: float | None,
    variance: float | None,
    lengthscale: options.OneOrMore,
    target: float | None,
) -> None:
    """How much regret does a budget leave? Simulate whole campaigns before the first measurement.

    The campaigns are on functions drawn from the model, over axes (--axis) or sequences (--sequences), or on a
    TABLE with the columns that `zonal rehearse` takes. All settings of `zonal new` may be given, as options or in
    a recipe.
    """
    from zonal.cli.simulation_report import powered

    _echo(powered(_recipe(plan), plan, signal, variance, lengthscale, target))


def _echo(lines: Iterator[str]) -> None:
    """Print a report line by line, as it is produced."""
    try:
        for line in lines:
            click.echo(line)
    except KeyboardInterrupt:
        raise options.Refusal("interrupted; nothing was written.", options.INTERRUPTED) from None


def _recipe(plan: Plan) -> Recipe:
    """Return the settings of the campaigns; without a space if that is to be found in the columns of a table."""
    refuse_beside(plan["recipe"], but=("value", "decimal"))
    space, settings, budgets = plan["space"], plan["settings"], plan["budgets"]
    if plan["recipe"] is not None:
        recipe = read_recipe(plan["recipe"])
        recipe = replace(recipe, words={**recipe.words, "budget": budgets[0]}) if budgets else recipe
    else:
        has_noise = settings["noise"] is not None or settings["noise_per_weight"] is not None
        for name, is_given in {"noise": has_noise, "budget": bool(budgets)}.items():
            if not is_given:
                raise click.UsageError(f"Missing option '--{name}'.")
        place = Recipe({}, {}, "the options")
        if plan["table"] is None or space["axes"] or space["sequences"]:
            weight = {"weight": space["weight"]} if plan["table"] is None else {}  # else of the rows of the table
            columns = {"coords": space["coords"], "levels": space["levels"], **weight}
            place = where(space["axes"], space["sequences"], None, space["smallest"], **columns)
        recipe = described(place, float(budgets[0]), settings)
    if plan["table"] is not None and settings["value"] is None:
        raise click.UsageError("Missing option '--value': the column of the values to average.")
    return recipe
