"""Numbers for people: as many digits as their uncertainty allows, and probabilities never shown as certain."""

from __future__ import annotations

import math


def parsed(text: str) -> float | None:
    """Return the number in a text, None if there is none; 1_000, which Python reads, is not accepted."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def number(value: float, doubt: float = 0.0) -> str:
    """Return a number with two digits of its uncertainty, or with six digits if there is none."""
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
    """Return a probability in per cent, never as 0 or 100, since it comes from a model and from draws."""
    if math.isnan(chance):
        return ""
    return "> 99 %" if chance >= 0.995 else "< 1 %" if chance < 0.005 else f"{chance:.0%}".replace("%", " %")
