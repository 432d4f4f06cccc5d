"""Options for the space and for costs, which `new`, `power` and `rehearse` share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from zonal.commands.frame import Decorator

NUMBERS = "NUMBER[,NUMBER...]"


def names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return names from a comma-separated list."""
    found = tuple(name.strip() for name in (value or "").split(",") if value)
    if "" in found:
        raise click.BadParameter(f"{value!r} has an empty name between commas.")
    if len(set(found)) < len(found):
        raise click.BadParameter(f"{value!r} names a column twice.")
    return found


def positive_numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    """Return a positive number, several from a comma-separated list, or None."""
    if value is None:
        return None
    try:
        found = tuple(int(part) if part.strip().isdecimal() else float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a number, or numbers separated by commas.") from None
    if not all(0 < number < math.inf for number in found):
        raise click.BadParameter(f"{value!r} must be positive and finite.")
    return found if len(found) > 1 else found[0]


def _times(ctx: click.Context, param: click.Parameter, value: str | None) -> list[Any] | None:
    found = positive_numbers(ctx, param, value)
    return [*found] if isinstance(found, tuple) else None if found is None else [found]


def with_options(*options: Decorator) -> Decorator:
    """Return a decorator that adds options to a command, in the order listed."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


axis_options = with_options(
    click.option(
        "--axis",
        "axes",
        multiple=True,
        metavar="NAME=LOW..HIGH[:UNIT[:SCALE]]",
        help="An axis; may be repeated. dye=red,green is categorical. SCALE: log, integer or periodic.",
    ),
    click.option("--sequences", metavar="ALPHABET,LENGTH", help="All sequences of a length, such as ACGT,8."),
)
column_options = with_options(
    click.option("--coords", callback=names, help="Columns of coordinates or features, separated by commas."),
    click.option("--levels", callback=names, help="Columns of nested areas, the coarsest first."),
    click.option("--weight", help="Column of weights, such as populations  [default: 1 each]"),
    click.option(
        "--smallest",
        callback=positive_numbers,
        metavar=NUMBERS,
        help="Smallest width, weight or number of sequences worth measuring: one, or one per axis.",
    ),
    click.option("--minimize", is_flag=True, help="Find the lowest average."),
)
price_options = with_options(
    click.option("--cost", type=float, help="Cost of a look  [default: 1; with --times its time]"),
    click.option("--times", callback=_times, metavar=NUMBERS, help="Possible times of a look, such as 1,2,4,8."),
    click.option("--overhead", type=float, help="Further cost of every look."),
    click.option("--travel", type=float, help="Cost of a unit of distance to the next region."),
)
