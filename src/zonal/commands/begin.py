"""Starting and continuing a study: new, extend, refit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from zonal.commands import frame
from zonal.commands.bench import standing
from zonal.errors import InvalidInput
from zonal.looking import smallest
from zonal.recipe import arguments, template, where
from zonal.study import Study
from zonal.tables.wording import Key, Recipe, read_recipe

# Options that define the space.
PLACE = ("axes", "sequences", "table", "decimal", "coords", "levels", "weight", "smallest")
CALLED = {"axes": "axis", "table": "points"}  # options whose values have another name
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
@frame.recipe_option
@click.option("--template", "wants_template", is_flag=True, help="Print a recipe with comments, and exit.")
@frame.space_options
@click.option("--points", "table", type=frame.FILE, help="A table with one row per point or area.")
@click.option("--budget", type=float, help="Number of measurements, or their total cost.")
@frame.study_options
def new(path: Path | None, recipe: Path | None, wants_template: bool, **flags: Any) -> None:
    """Start a study in a new file, from a recipe or from options."""
    if wants_template:
        click.echo(template(), nl=False)
        return
    if path is None:
        raise click.UsageError("Missing argument 'STUDY': the file to create.")
    refuse_beside(recipe, flags)
    if recipe is None and flags["budget"] is None:
        raise InvalidInput("a study needs a budget", None, "Pass --budget, or --recipe FILE.")
    place = {name: flags.pop(name) for name in PLACE}
    words = described(where(**place), **flags) if recipe is None else read_recipe(recipe)
    given = arguments(words)
    with words.blamed():
        study = Study.create(path, **given)
    frame.say(f"{path}: {standing(study)} {smallest(study)}.")


def refuse_beside(recipe: Path | None, flags: Mapping[str, Any]) -> None:
    """Raise if an option is given beside a recipe, which has all settings."""
    named = [name for name, own in flags.items() if own not in (None, False, ())]
    if recipe is not None and named:
        flag = CALLED.get(named[0], named[0].replace("_", "-"))
        raise click.UsageError(f"--{flag} cannot be combined with --recipe: write it into {recipe}.")


def described(
    place: Recipe,
    *,
    budget: float,
    minimize: bool,
    value: str | None,
    unit: str | None,
    noise: float | None,
    noise_per_weight: float | None,
    forbidden: tuple[str, ...],
    **plain: Any,
) -> Recipe:
    """Return the recipe that options are equivalent to, given the recipe of their space."""
    if None not in (noise, noise_per_weight):
        raise click.UsageError("--noise and --noise-per-weight exclude each other.")
    spread = noise if noise_per_weight is None else {"per_weight": noise_per_weight}
    words = {
        **plain,
        "budget": frame.whole(budget),
        "forbidden": list(forbidden) or None,
        "direction": "minimize" if minimize else None,
        "measurement": frame.given({"name": value, "unit": unit, "noise": spread}),
    }
    places: dict[Key, str] = {(key,): f"--{key.replace('_', '-')}" for key in words}
    places |= {("measurement", "noise"): "--noise" if noise_per_weight is None else "--noise-per-weight"}
    return Recipe({**place.words, **frame.given(words)}, {**place.places, **places}, "the options")


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
