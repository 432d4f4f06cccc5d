"""Starting and continuing a study: new, extend, refit."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import click
from click.core import ParameterSource

from zonal.cli import options
from zonal.cli.settings import SpaceOptions, StudyOptions, recipe_option, space_options, study_options, whole
from zonal.errors import InvalidInput
from zonal.io.recipe_text import Key, Recipe, read_recipe
from zonal.study.recipe import PLAIN, arguments, template, where
from zonal.study.study import Study
from zonal.study.summary import smallest

EXAMPLES = """\b
Examples:
  zonal new --template > sky.toml
  zonal new sky.db --recipe sky.toml
  zonal new sky.db --axis l=-180..180:deg --axis sin_b=-1..1 --budget 80
  zonal new dna.db --sequences ACGT,8 --budget 60
  zonal new age.db --points areas.csv --levels state,county --budget 100
"""


@options.command(epilog=EXAMPLES)
@click.argument("path", metavar="[STUDY]", required=False, type=options.FILE)
@recipe_option
@click.option("--template", "wants_template", is_flag=True, help="Print a recipe with comments, and exit.")
@space_options
@click.option("--points", "table", type=options.FILE, help="A table with one row per point or area.")
@click.option("--budget", type=float, help="Number of measurements, or their total cost.")
@options.by_option
@study_options
def new(
    path: Path | None,
    recipe: Path | None,
    wants_template: bool,
    table: Path | None,
    budget: float | None,
    by: str | None,
    space: SpaceOptions,
    settings: StudyOptions,
) -> None:
    """Start a study in a new file, from a recipe or from options."""
    if wants_template:
        click.echo(template(), nl=False)
        return
    if path is None:
        raise click.UsageError("Missing argument 'STUDY': the file to create.")
    refuse_beside(recipe, "table", "budget")
    if recipe is not None:
        words = read_recipe(recipe)
    elif budget is not None:
        words = described(where(table=table, **space), budget, settings)
    else:
        raise InvalidInput("a study needs a budget", None, "Pass --budget, or --recipe FILE.")
    given = arguments(words)
    with words.blamed():
        study = Study.create(path, **given, by=by)
    options.echo_err(f"{path}: {options.budget_line(study)} {smallest(study)}.")


def refuse_beside(recipe: Path | None, *further: str, but: Collection[str] = ()) -> None:
    """Raise if an option of a study, or one of `further`, is given beside a recipe, which has all settings."""
    ctx = click.get_current_context()
    fixed = {*SpaceOptions.__annotations__, *StudyOptions.__annotations__, *further} - {*but}
    for param in ctx.command.params:
        on_command_line = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if recipe is not None and param.name in fixed and on_command_line:
            raise click.UsageError(f"{param.opts[0]} cannot be combined with --recipe: write it into {recipe}.")


def described(place: Recipe, budget: float, settings: StudyOptions) -> Recipe:
    """Return the recipe that options are equivalent to, given the recipe of their space."""
    noise, per_weight = settings["noise"], settings["noise_per_weight"]
    if None not in (noise, per_weight):
        raise click.UsageError("--noise and --noise-per-weight exclude each other.")
    spread = noise if per_weight is None else {"per_weight": per_weight}
    measurement = {"name": settings["value"], "unit": settings["unit"], "noise": spread}
    words = {
        "budget": whole(budget),
        "forbidden": list(settings["forbidden"]),
        "direction": "minimize" if settings["minimize"] else None,
        "measurement": {key: value for key, value in measurement.items() if value is not None},
        **{key: value for key, value in settings.items() if key in PLAIN},
        "offsets": list(settings["offsets"]),
        "drift": settings["drift"] or None,
    }
    written = {key: value for key, value in words.items() if value not in (None, (), [], {})}
    places: dict[Key, str] = {(key,): f"--{key.replace('_', '-')}" for key in words}
    places |= {
        ("offsets",): "--offset",
        ("measurement", "noise"): "--noise" if per_weight is None else "--noise-per-weight",
    }
    return Recipe({**place.words, **written}, {**place.places, **places}, "the options")


@options.study_command()
@options.by_option
def refit(study: Study, by: str | None) -> None:
    """Learn the model again from all measurements.

    Studies often do so by themselves.
    """
    nothing = "there was nothing to learn: no new measurement, or the whole model is given."
    options.echo_err("learned again." if study.refit(by=by) else nothing)


@options.study_command()
@click.argument("n", type=float)
@options.by_option
def extend(study: Study, n: float, by: str | None) -> None:
    """Add N to the budget: measurements, or units of their cost."""
    study.extend(n if study.settings.priced else whole(n), by=by)
    options.echo_err(options.budget_line(study))
