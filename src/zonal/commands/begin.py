"""Starting and continuing a study: new, extend, refit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from zonal.commands import frame
from zonal.commands.bench import standing
from zonal.errors import InvalidInput
from zonal.recipe import arguments, template, where
from zonal.study import Study
from zonal.tables.wording import Key, Recipe, read_recipe

PLACE = ("axes", "sequences", "table", "coords", "levels", "weight", "smallest")  # options that define the space
MEASURED = {"value": "name", "unit": "unit", "noise": "noise"}  # options, and their names in [measurement]
EXAMPLES = """\b
Examples:
  zonal new --template > sky.toml
  zonal new sky.db --recipe sky.toml
  zonal new sky.db --axis l=-180..180:deg --axis sin_b=-1..1 --budget 80
  zonal new dna.db --sequences ACGT,8 --budget 60
  zonal new age.db --points areas.csv --levels state,county --budget 100
"""


@click.command(cls=frame.Command, epilog=EXAMPLES)
@click.argument("path", metavar="[STUDY]", required=False, type=frame.FILE)
@click.option("--recipe", type=frame.FILE, help="A TOML file with all settings.")
@click.option("--template", "wants_template", is_flag=True, help="Print a recipe with comments, and exit.")
@frame.axis_options
@click.option("--points", "table", type=frame.FILE, help="A table with one row per point or area.")
@frame.column_options
@click.option("--budget", type=float, help="Number of measurements, or their total cost.")
@frame.price_options
@click.option("--cost-unit", help="Unit of costs.")
@click.option("--noise", type=float, help="Standard deviation of one measurement  [default: learned]")
@click.option("--value", help="Name of what is measured.")
@click.option("--unit", help="Its unit.")
@frame.number_option("--max-looks", help="Most measurements of one region.")
@click.option("--forbidden", multiple=True, metavar="REGION", help="A region never to measure; may be repeated.")
@frame.number_option("--seed", least=0, help="Seed of all random numbers.")
def new(path: Path | None, recipe: Path | None, wants_template: bool, **flags: Any) -> None:
    """Start a study in a new file, from a recipe or from options."""
    if wants_template:
        click.echo(template(), nl=False)
        return
    if path is None:
        raise click.UsageError("Missing argument 'STUDY': the file to create.")
    named = [name for name, own in flags.items() if own not in (None, False, ())]
    if recipe is not None and named:
        flag = {"axes": "axis", "table": "points"}.get(named[0], named[0].replace("_", "-"))
        raise click.UsageError(f"--{flag} cannot be combined with --recipe: write it into {recipe}.")
    words = _from_flags(**flags) if recipe is None else read_recipe(recipe)
    given = arguments(words)
    with words.blamed():
        study = Study.create(path, **given)
    frame.say(f"{path}: {standing(study)}")


def _from_flags(budget: float | None, minimize: bool, forbidden: tuple[str, ...], **flags: Any) -> Recipe:
    """Return the recipe that the options are equivalent to."""
    if budget is None:
        raise InvalidInput("a study needs a budget", None, "Pass --budget, or --recipe FILE.")
    recipe = where(**{name: flags.pop(name) for name in PLACE})
    measured = frame.given({key: flags.pop(name) for name, key in MEASURED.items()})
    said = {
        **flags,
        "budget": frame.whole(budget),
        "forbidden": list(forbidden) or None,
        "direction": "minimize" if minimize else None,
        "measurement": measured,
    }
    places: dict[Key, str] = {(key,): f"--{key.replace('_', '-')}" for key in said}
    places |= {("measurement", "noise"): "--noise"}
    return Recipe({**recipe.words, **frame.given(said)}, {**recipe.places, **places}, recipe.source)


@frame.study_command()
def refit(study: Study) -> None:
    """Learn the model again from all measurements; studies often do so by themselves."""
    nothing = "there was nothing to learn: no new measurement, or the whole model is given."
    frame.say("learned again." if study.refit() else nothing)


@frame.study_command()
@click.argument("n", type=float)
def extend(study: Study, n: float) -> None:
    """Add N measurements to the budget; where looks have a cost, that amount."""
    study.extend(n if study.settings.priced else frame.whole(n))
    frame.say(standing(study))
