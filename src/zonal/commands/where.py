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


def numbers(ctx: click.Context, param: click.Parameter, value: str | tuple[str, ...] | None) -> tuple[float, ...]:
    """Return numbers from comma-separated lists."""
    texts = ",".join(value) if isinstance(value, tuple) else value
    try:
        found = tuple(whole(float(part)) for part in texts.split(",")) if texts else ()
    except ValueError:
        raise click.BadParameter(f"{texts!r} must be numbers separated by commas.") from None
    return found


def one_or_more(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    """Return a positive number, several from a comma-separated list, or None."""
    found = numbers(ctx, param, value)
    if not all(0 < number < math.inf for number in found):
        raise click.BadParameter(f"{value!r} must be positive and finite.")
    return found if len(found) > 1 else next(iter(found), None)


def whole(number: float) -> float:
    """Return a whole number as an integer, as it would be written in Python."""
    return int(number) if number.is_integer() else number


class Finite(click.FloatRange):
    """A finite number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; raise if it is not finite."""
        number = super().convert(value, param, ctx)
        return number if math.isfinite(number) else self.fail(f"{number} is not a finite number.", param, ctx)


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
        callback=one_or_more,
        metavar=NUMBERS,
        help="Smallest width, weight or number of sequences worth measuring: one, or one per axis.",
    ),
    click.option("--minimize", is_flag=True, help="Find the lowest average."),
)
price_options = with_options(
    click.option("--cost", type=float, help="Cost of a look  [default: 1; with --times its time]"),
    click.option("--times", callback=numbers, metavar=NUMBERS, help="Possible times of a look, such as 1,2,4,8."),
    click.option("--overhead", type=float, help="Further cost of every look."),
    click.option("--travel", type=float, help="Cost of a unit of distance to the next region."),
)
