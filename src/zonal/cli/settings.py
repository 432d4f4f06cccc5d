"""The settings of a study as options of `new`, `power` and `rehearse`: where to search, noise, costs, labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypedDict

import click

from zonal.cli.options import FILE, Decorator, Finite, decimal_option, number_option

OneOrMore = float | tuple[float, ...] | None

NUMBERS = "NUMBER[,NUMBER...]"


class SpaceOptions(TypedDict):
    """Where to search, as options give it."""

    axes: tuple[str, ...]
    sequences: str | None
    decimal: str | None
    coords: tuple[str, ...]
    levels: tuple[str, ...]
    weight: str | None
    smallest: OneOrMore


class StudyOptions(TypedDict):
    """What else may be set of a study, as options give it."""

    minimize: bool
    value: str | None
    unit: str | None
    noise: float | None
    noise_per_weight: float | None
    max_replicates: int | None
    forbidden: tuple[str, ...]
    cost: float | None
    times: tuple[float, ...]
    overhead: float | None
    travel: float | None
    cost_unit: str | None
    offsets: tuple[str, ...]
    drift: bool
    seed: int | None


def names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return names from a comma-separated list."""
    listed = tuple(name.strip() for name in (value or "").split(",") if value)
    if "" in listed:
        raise click.BadParameter(f"{value!r} has an empty name between commas.")
    if len(set(listed)) < len(listed):
        raise click.BadParameter(f"{value!r} names a column twice.")
    return listed


def numbers(ctx: click.Context, param: click.Parameter, value: str | tuple[str, ...] | None) -> tuple[float, ...]:
    """Return numbers from comma-separated lists."""
    texts = ",".join(value) if isinstance(value, tuple) else value
    try:
        return tuple(whole(float(part)) for part in texts.split(",")) if texts else ()
    except ValueError:
        raise click.BadParameter(f"{texts!r} must be numbers separated by commas.") from None


def one_or_more(ctx: click.Context, param: click.Parameter, value: str | None) -> OneOrMore:
    """Return a positive number, several from a comma-separated list, or None."""
    listed = numbers(ctx, param, value)
    if not all(0 < number < math.inf for number in listed):
        raise click.BadParameter(f"{value!r} must be positive and finite.")
    return listed if len(listed) > 1 else next(iter(listed), None)


def whole(number: float) -> float:
    """Return a whole number as an integer, as it would be written in Python."""
    return int(number) if number.is_integer() else number


def grouped(name: str, group: type, *options: Decorator) -> Decorator:
    """Return a decorator that adds options to a command, which gets those of a `group` as one argument."""
    fields = group.__annotations__

    def add(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def call(**values: Any) -> None:
            function(**{name: {field: values.pop(field) for field in fields}}, **values)

        grown: Callable[..., None] = call
        for option in reversed(options):
            grown = option(grown)
        return grown

    return add


space_options = grouped(
    "space",
    SpaceOptions,
    click.option(
        "--axis",
        "axes",
        multiple=True,
        metavar="NAME=LOW..HIGH[:UNIT][:SCALE]",
        help="An axis; may be repeated. dye=red,green is categorical. SCALE: linear, log, integer or periodic.",
    ),
    click.option("--sequences", metavar="ALPHABET,LENGTH", help="All sequences of a length, such as ACGT,8."),
    decimal_option,
    click.option("--coords", callback=names, help="Columns of coordinates or features, separated by commas."),
    click.option("--levels", callback=names, help="Columns of nested areas, the coarsest first."),
    click.option("--weight", help="Column of weights, such as populations  [default: 1 each]"),
    click.option(
        "--smallest",
        callback=one_or_more,
        metavar=NUMBERS,
        help="Smallest width, weight or number of sequences worth measuring: one, or one per axis.",
    ),
)
study_options = grouped(
    "settings",
    StudyOptions,
    click.option("--minimize", is_flag=True, help="Find the lowest average."),
    click.option("--value", help="Name of what is measured; in a table of values, their column."),
    click.option("--unit", help="Its unit."),
    click.option("--noise", type=Finite(), help="Standard deviation of one measurement."),
    click.option(
        "--noise-per-weight",
        type=Finite(),
        help="The same for a region of weight 1; for others it is divided by the root of their weight.",
    ),
    number_option("--max-replicates", help="Most measurements of one region."),
    click.option(
        "--forbidden", multiple=True, metavar="REGION", help="A region never to measure; may be repeated."
    ),
    click.option("--cost", type=float, help="Cost of a measurement  [default: 1; with --times its time]"),
    click.option(
        "--times", callback=numbers, metavar=NUMBERS, help="Possible times of a measurement, such as 1,2,4,8."
    ),
    click.option("--overhead", type=float, help="Further cost of every measurement."),
    click.option("--travel", type=float, help="Cost of a unit of distance to the next region."),
    click.option("--cost-unit", help="Unit of costs."),
    click.option(
        "--offset", "offsets", multiple=True, metavar="LABEL", help="A label with an offset, as plate; repeatable."
    ),
    click.option("--drift", is_flag=True, help="Readings may drift slowly, in their order."),
    click.option("--seed", type=click.IntRange(min=0), help="Seed of all random numbers."),
)
recipe_option = click.option("--recipe", type=FILE, help="A TOML file with all settings.")
