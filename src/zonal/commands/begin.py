"""A study begins, and goes on: new, extend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from zonal.commands.bench import standing
from zonal.commands.frame import Command, FilePath, say, study_argument
from zonal.errors import InvalidInput
from zonal.recipe import arguments, template
from zonal.study import Study
from zonal.tables.wording import Recipe, axis_words, read_recipe, sequence_words

# The options of `new` that say where to look, and the sections of a recipe that they stand for.
FLAGS = {"axes": "--axis", "sequences": "--sequences", "points": "--points", "hierarchy": "--points"}


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    return [name.strip() for name in value.split(",")] if value else []


EXAMPLES = """\b
Examples:
  zonal new --template > sky.toml
  zonal new sky.db --recipe sky.toml
  zonal new sky.db --axis l=-180..180:deg --axis sin_b=-1..1 --budget 80
  zonal new dna.db --sequences ACGT,8 --budget 60
  zonal new age.db --points areas.csv --levels state,county --budget 100
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("path", metavar="[STUDY]", required=False, type=FilePath(dir_okay=False))
@click.option("--recipe", type=FilePath(dir_okay=False), help="A TOML file that says it all.")
@click.option("--template", "wants_template", is_flag=True, help="Print a recipe with remarks, and end.")
@click.option(
    "--axis",
    "axes",
    multiple=True,
    metavar="NAME=LOW..HIGH[:UNIT]",
    help="An axis; repeat it. dye=red,green has symbols.",
)
@click.option("--sequences", metavar="ALPHABET,LENGTH", help="All sequences of a length, such as ACGT,8.")
@click.option("--points", type=FilePath(dir_okay=False), help="A table, one row a place or area.")
@click.option("--coords", callback=_names, help="Its columns of coordinates or features, with commas between.")
@click.option("--levels", callback=_names, help="Its columns of nested areas, the coarsest first.")
@click.option("--weight", help="Its column of weights, such as persons.")
@click.option("--smallest", type=float, help="The least width, weight or number of sequences worth measuring.")
@click.option("--budget", type=click.IntRange(min=1), help="Measurements that may be made.")
@click.option("--noise", type=float, help="Standard deviation of one measurement  [default: learned]")
@click.option("--value", help="What is measured.")
@click.option("--unit", help="In which unit.")
@click.option("--max-looks", type=click.IntRange(min=1), help="The most measurements of one region.")
@click.option("--seed", type=click.IntRange(min=0), help="Of all random numbers.")
@click.option("--minimize", is_flag=True, help="Look for the lowest average.")
def new(path: Path | None, recipe: Path | None, wants_template: bool, **flags: Any) -> None:
    """Begin a study in a new file, from a recipe or from options."""
    if wants_template:
        click.echo(template(), nl=False)
        return
    if path is None:
        raise click.UsageError("Missing argument 'STUDY': the file to make.")
    named = [f"--{name.replace('_', '-')}" for name, own in flags.items() if own not in (None, False, [], ())]
    if recipe is not None and named:
        said = "--axis" if named[0] == "--axes" else named[0]
        raise click.UsageError(f"a recipe says it all: write into {recipe} what {said} says.")
    words = _from_flags(**flags) if recipe is None else read_recipe(recipe)
    given = arguments(words)
    with words.blamed():
        study = Study.create(path, **given)
    say(f"{path}: {standing(study)}")


def _from_flags(
    axes: tuple[str, ...],
    sequences: str | None,
    points: Path | None,
    coords: list[str],
    levels: list[str],
    weight: str | None,
    smallest: float | None,
    minimize: bool,
    **rest: Any,
) -> Recipe:
    """Return the recipe that options amount to."""
    words: dict[str, Any] = {}
    if axes:
        words["axes"] = axis_words(axes)
        if smallest is not None:
            for axis in words["axes"].values():
                axis |= {} if "symbols" in axis else {"smallest": smallest}
    if sequences is not None:
        words["sequences"] = sequence_words(sequences)
        if smallest is not None:
            words["sequences"]["smallest"] = int(smallest) if smallest.is_integer() else smallest
    if points is not None:
        kind = "hierarchy" if levels else "points"
        said = {"table": str(points), "coords": coords, "levels": levels, "weight": weight, "smallest": smallest}
        words[kind] = {key: own for key, own in said.items() if own not in (None, [])}
    elif coords or levels or weight:
        raise InvalidInput("columns are those of a table", None, "Pass --points FILE too.")
    if rest["budget"] is None:
        raise InvalidInput("a study needs a budget", None, "Pass --budget, or --recipe FILE.")
    measured = {"name": rest["value"], "unit": rest["unit"], "noise": rest["noise"]}
    words["measurement"] = {key: own for key, own in measured.items() if own is not None}
    words |= {key: rest[key] for key in ("budget", "max_looks", "seed") if rest[key] is not None}
    if minimize:
        words["direction"] = "minimize"
    places: dict[tuple[str, ...], str] = {(section,): flag for section, flag in FLAGS.items() if section in words}
    places |= {(key,): f"--{key.replace('_', '-')}" for key in ("budget", "max_looks", "seed")}
    places |= {("measurement", "noise"): "--noise"}
    return Recipe(words, places, "the options")


@click.command(cls=Command)
@study_argument
def refit(study: Study) -> None:
    """Learn the model anew from all measurements; studies do so by themselves, often."""
    learned = study.refit()
    say(
        "learned anew."
        if learned
        else "there was nothing to learn: no measurement came in since, or all is given."
    )


@click.command(cls=Command)
@study_argument
@click.argument("n", type=click.IntRange(min=1))
def extend(study: Study, n: int) -> None:
    """Add N measurements to the budget."""
    study.extend(n)
    say(standing(study))
