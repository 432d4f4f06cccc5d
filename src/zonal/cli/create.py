"""Starting and continuing a study: new, extend, refit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from zonal.cli import options
from zonal.cli.trials import budget_line
from zonal.errors import InvalidInput
from zonal.io.recipe_text import Key, Recipe, read_recipe
from zonal.study.recipe import arguments, template, where
from zonal.study.study import Study
from zonal.study.summary import smallest

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


@click.command(cls=options.Command, epilog=EXAMPLES)
@click.argument("path", metavar="[STUDY]", required=False, type=options.FILE)
@options.recipe_option
@click.option("--template", "wants_template", is_flag=True, help="Print a recipe with comments, and exit.")
@options.space_options
@click.option("--points", "table", type=options.FILE, help="A table with one row per point or area.")
@click.option("--budget", type=float, help="Number of measurements, or their total cost.")
@options.study_options
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
    options.echo_err(f"{path}: {budget_line(study)} {smallest(study)}.")


def refuse_beside(recipe: Path | None, flags: Mapping[str, Any]) -> None:
    """Raise if an option is given beside a recipe, which has all settings."""
    named = [name for name, value in flags.items() if value not in (None, False, ())]
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
        "budget": options.whole(budget),
        "forbidden": list(forbidden) or None,
        "direction": "minimize" if minimize else None,
        "measurement": options.given({"name": value, "unit": unit, "noise": spread}),
    }
    places: dict[Key, str] = {(key,): f"--{key.replace('_', '-')}" for key in words}
    places |= {("measurement", "noise"): "--noise" if noise_per_weight is None else "--noise-per-weight"}
    return Recipe({**place.words, **options.given(words)}, {**place.places, **places}, "the options")


@options.study_command()
def refit(study: Study) -> None:
    """Learn the model again from all measurements; studies often do so by themselves."""
    nothing = "there was nothing to learn: no new measurement, or the whole model is given."
    options.echo_err("learned again." if study.refit() else nothing)


@options.study_command()
@click.argument("n", type=float)
def extend(study: Study, n: float) -> None:
    """Add N measurements to the budget; where measurements have a cost, that amount."""
    study.extend(n if study.settings.priced else options.whole(n))
    options.echo_err(budget_line(study))
