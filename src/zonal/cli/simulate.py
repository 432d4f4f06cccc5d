"""Campaigns simulated before the first real measurement: rehearse, power."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from zonal.cli import options
from zonal.cli.create import described, refuse_beside
from zonal.io.recipe_text import Recipe, read_recipe
from zonal.study.recipe import where

POSITIVE = options.Finite(min=0, min_open=True)
COLUMNS = ("coords", "levels", "weight", "smallest")  # options that find the space in a table


def _simulation(picture: str, runs: int, fewest: int) -> options.Decorator:
    """Return the options of a command that simulates campaigns: those of a study, and those of the simulation."""
    return options.with_options(
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


@click.command()
@click.argument("table", type=options.FilePath())
@click.option(
    "--budget",
    "budgets",
    callback=options.numbers,
    help="Number of measurements in a campaign, or their total cost.",
)
@_simulation("zonal-rehearsal.png", 30, 1)
def rehearse(**options: Any) -> None:
    """Simulate a measuring campaign on a TABLE (.csv, .csv.gz, .tsv, .parquet) before you pay for it.

    Every row is a smallest part: a point (--coords), an area (--levels, with --coords for its position) or a
    sequence (--sequence). Or it is a place in a space of axes (--axis, each with its column), where parts without
    a row have the value of the nearest row. Zonal and three simple alternatives spend the same budget on noisy
    averages computed from the table. All settings of `zonal new` may be given, as options or in a recipe.
    """
    from zonal.cli.simulation_report import rehearsed

    _report(rehearsed, **options)


@click.command()
@click.argument("table", required=False, type=options.FilePath())
@click.option("--signal", type=POSITIVE, help="Standard deviation of f  [default: 1]")
@click.option("--variance", type=POSITIVE, help="Its square, instead of --signal.")
@click.option(
    "--lengthscale",
    callback=options.one_or_more,
    metavar=options.NUMBERS,
    help="Distance over which f changes, in units of the axes: one, or one per axis  [default: random each run]",
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    callback=options.numbers,
    metavar=options.NUMBERS,
    help="Number of measurements, or their cost; for a single number, 1/8, 1/4 and 1/2 of it are simulated too.",
)
@click.option(
    "--target", type=POSITIVE, help="A regret: also name the smallest simulated budget that stays below it."
)
@click.option(
    "--compare",
    multiple=True,
    metavar="WHAT=A,B",
    help="Compare noises (noise=0.1,0.2), beams (beam=4,8) or sizes (size=1,2: times the smallest); repeatable.",
)
@_simulation("zonal-power.png", 50, 2)
def power(**options: Any) -> None:
    """How much regret does a budget leave? Simulate whole campaigns before the first measurement.

    The campaigns are on functions drawn from the model, over axes (--axis) or sequences (--sequences), or on a
    TABLE with the columns that `zonal rehearse` takes. All settings of `zonal new` may be given, as options or in
    a recipe.
    """
    from zonal.cli.simulation_report import powered

    simulation = {name: options.pop(name) for name in ("signal", "variance", "lengthscale", "target", "compare")}
    _report(powered, simulation, **options)


def _report(
    report: Any,
    simulation: dict[str, Any] | None = None,
    *,
    recipe: Path | None,
    table: Path | None,
    budgets: tuple[float, ...],
    value: str | None,
    sequence: str | None,
    given: bool,
    runs: int,
    jobs: int | None,
    out: Path,
    **flags: Any,
) -> None:
    """Print a report line by line, as it is produced."""
    decimal = flags.pop("decimal")
    columns = {} if recipe is not None else {name: flags[name] for name in COLUMNS}
    words = _words(recipe, table, budgets, value, flags)
    settings = {"given": given, "runs": runs, "jobs": jobs, "out": out, **(simulation or {})}
    if table is not None:
        if value is None:
            raise click.UsageError("Missing option '--value': the column of the values to average.")
        read = {"table": table, "value": value, "sequence": sequence, "columns": columns}
        settings["table"] = {**read, "decimal": decimal}
    try:
        for line in report(words, budgets or (words.words.get("budget"),), **settings):
            click.echo(line)
    except KeyboardInterrupt:
        raise options.Refusal("interrupted; nothing was written.", options.INTERRUPTED) from None


def _words(
    recipe: Path | None, table: Path | None, budgets: tuple[float, ...], value: str | None, flags: dict[str, Any]
) -> Recipe:
    """Return the settings of the campaigns; without a space if that is to be found in the columns of a table."""
    refuse_beside(recipe, flags)
    if recipe is not None:
        words = read_recipe(recipe)
        return replace(words, words={**words.words, "budget": budgets[0]}) if budgets else words
    for name, ways in {"noise": ("noise", "noise_per_weight"), "budget": ()}.items():
        if not budgets if name == "budget" else all(flags[way] is None for way in ways):
            raise click.UsageError(f"Missing option '--{name}'.")
    place = {name: flags.pop(name) for name in ("axes", "sequences", *COLUMNS)}
    if table is None or place["axes"] or place["sequences"]:
        if table is not None:
            del place["weight"]  # of the rows of the table
        space = where(**place)
    else:
        space = Recipe({}, {}, "the options")
    return described(space, budget=float(budgets[0]), value=value, **flags)
