"""Numbers and limits as people write them in the cells of a sheet, or in a shell: with a decimal comma, "<0.5"."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from zonal.engine.readings import SIGNS
from zonal.errors import (
    LARGEST_STD,
    InvalidInput,
    finite_number,
    from_margin,
    positive_number,
    require,
    standard_deviation,
)
from zonal.gp.likelihoods import Limit
from zonal.io.files import parsed

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
NOT_YET = ("", "-", "–", "—", "na", "n/a", "#n/a", "n.a.", "nd", "n.d.")  # no value; in any case


def bare_limit(cell: str) -> tuple[str, Limit]:
    """Return the number of a cell such as "<0.5", and on which side of it the reading lies; "" if no limit."""
    limit = SIGNS.get(cell.strip()[:1], "")
    return (cell.strip()[1:].removeprefix("=").strip() if limit else cell), limit


def reading_of(text: str) -> dict[str, Any]:
    """Return a measured value, or a limit such as "<0.5", as arguments of `Study.tell`."""
    bare, limit = bare_limit(text)
    return {limit or "value": value_of(bare)}


def exposure_of(cell: str) -> float | None:
    """Return the exposure of a count from its text, None if it is empty."""
    if cell.strip().casefold() in NOT_YET:
        return None
    fix = "Write a number above 0, or leave the cell empty."
    return positive_number(_number(cell, "an exposure", fix), "an exposure")


def value_of(cell: str) -> float:
    """Return a measured value from its text."""
    fix = "Write a number such as 0.73, a limit such as <0.5, or leave the cell empty if there is none yet."
    value = finite_number(_number(cell, "a value", fix), "a value", fix)
    require(abs(value) <= LARGEST_STD, "a value is too large", cell, fix)
    return value


def sem_of(cell: str, margin: str = "") -> float | None:
    """Return a standard error from its text, or from that of a margin of error; None if both are empty."""
    if margin.strip().casefold() not in NOT_YET:
        fix = "Write a number of 0 or more; codes such as -555555555 are no margins, so leave them empty."
        moe = _number(margin, "a margin of error", fix)
        require(moe >= 0, "a margin of error must not be negative", margin, fix)
        return float(from_margin(sem_of(cell), moe))
    if cell.strip().casefold() in NOT_YET:
        return None
    fix = "Write a number of 0 or more, or leave the cell empty."
    return standard_deviation(_number(cell, "a standard error", fix), "a standard error")


def time_of(cell: str) -> float | None:
    """Return the time really spent on a trial from its text, None if it is empty."""
    if cell.strip().casefold() in NOT_YET:
        return None
    fix = "Write a number above 0, or leave the cell empty."
    return positive_number(_number(cell, "a time", fix), "a time")


def _number(cell: str, what: str, fix: str) -> float:
    """Return the number that a text means; a decimal comma is as good as a point, unless it may mark thousands."""
    plain = cell.strip()
    if THOUSANDS.fullmatch(plain):
        fix = f"Is it {plain.replace(',', '.')} or {plain.replace(',', '')}? Write one of these."
    number = parsed(plain.replace(",", ".") if DECIMAL_COMMA.fullmatch(plain) else plain)
    if number is None or THOUSANDS.fullmatch(plain):
        raise InvalidInput(f"{what} must be a number", cell, fix)
    return number


def agrees(cell: str, value: float | None) -> bool:
    """Tell whether a cell equals a value, exactly or rounded to the digits of the cell."""
    if value is None:
        return False
    shown = Decimal(cell.strip())
    _, _, exponent = shown.as_tuple()
    assert isinstance(exponent, int)
    return float(shown) == value or abs(shown - Decimal(repr(value))) <= Decimal(5).scaleb(exponent - 1)


def pointed_number(cell: str, pointed: Callable[[str, str], str], what: str) -> str:
    """Return a number, or a limit, with a decimal point."""
    bare, limit = bare_limit(cell)
    return {"": "", "below": "<", "above": ">"}[limit] + pointed(bare, what)
