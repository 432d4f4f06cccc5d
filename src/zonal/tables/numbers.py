"""Numbers for people: as many digits as their doubt leaves, and chances that never read as certainty."""

from __future__ import annotations

import math


def parsed(text: str) -> float | None:
    """Return the number that a text is, None if it is none; 1_000 is none, though Python would read it."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def number(value: float, doubt: float = 0.0) -> str:
    """Return a number with two digits of its doubt, or six digits where there is none."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else str(value)
    if not 0 < doubt < math.inf:
        return f"{value:.6g}"
    digits = 1 - math.floor(math.log10(doubt))
    return f"{value:.{digits}f}" if 0 <= digits <= 12 else f"{value:.3g}"


def give_or_take(mean: float, std: float, unit: str = "") -> str:
    """Return a mean, its standard deviation and their unit: "157.4 ± 2.9 K"."""
    return f"{number(mean, std)} ± {number(std, std)} {unit}".rstrip()


def percent(chance: float) -> str:
    """Return a probability in per cent; it comes from a model and from draws, so it is never 0 or 100."""
    if math.isnan(chance):
        return ""
    return "> 99 %" if chance >= 0.995 else "< 1 %" if chance < 0.005 else f"{chance:.0%}".replace("%", " %")
