"""Axes: intervals of numbers, and symbols with their shares, made of what users pass or refused with a reason."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zonal.errors import InvalidInput, finite_number, positive_number
from zonal.spaces.region import ROUNDING, Floats

MOST_SYMBOLS = 52  # of one axis: a set of them is a number, exact in a float


Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Interval:
    """A continuous axis.

    `low`, `high` and `smallest` are as the axis is split and modelled: in decades if it is logarithmic. `native`
    and `own` turn places on it into the user's numbers and back.
    """

    name: str
    low: float
    high: float
    unit: str = ""
    smallest: float | None = None
    log: bool = False
    given: tuple[float, float] | None = None  # the ends of a logarithmic axis, which powers of ten might miss

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end in the user's numbers."""
        return self.given or (self.low, self.high)

    def native(self, place: Any) -> Any:
        """Return a place on the axis, or an array of them, in the user's numbers."""
        if not self.log:
            return place
        low, high = self.ends
        shown = 10.0 ** np.asarray(place, dtype=float)
        return np.where(place == self.low, low, np.where(place == self.high, high, shown))[()]

    def own(self, number: float) -> float:
        """Return the place on the axis of one of the user's numbers; minus infinity where there is none."""
        if not self.log:
            return number
        if number in self.ends:
            return self.low if number == self.ends[0] else self.high
        return math.log10(number) if number > 0 else -math.inf


@dataclass(frozen=True)
class Category:
    """An axis of symbols, each with its share of the whole. A set of symbols is a number, one bit a symbol."""

    name: str
    symbols: tuple[str, ...]
    shares: tuple[float, ...]

    @property
    def whole(self) -> int:
        """The set of all symbols."""
        return (1 << len(self.symbols)) - 1

    def share(self, pool: int) -> float:
        """Return the share of a set of symbols in the whole."""
        return 1.0 if pool == self.whole else sum(p for s, p in enumerate(self.shares) if pool >> s & 1)

    def members(self, pool: int) -> list[int]:
        """Return the numbers of the symbols of a set."""
        return [s for s in range(len(self.symbols)) if pool >> s & 1]

    def frequencies(self, pool: int) -> Floats:
        """Return the frequency of every symbol within a set, shape (symbols,); they add up to 1."""
        inside = np.array([p if pool >> s & 1 else 0.0 for s, p in enumerate(self.shares)])
        return np.asarray(inside / inside.sum())

    def pool(self, symbols: Any) -> int:
        """Return one symbol, or several, as a number."""
        listed = [symbols] if isinstance(symbols, str) or not isinstance(symbols, Iterable) else list(symbols)
        pool = 0
        for symbol in listed:
            if symbol not in self.symbols:
                raise InvalidInput(
                    f"axis {self.name} has no such symbol", symbol, f"Choose from {', '.join(self.symbols)}."
                )
            pool |= 1 << self.symbols.index(symbol)
        if not pool:
            raise InvalidInput(f"a region needs a symbol on axis {self.name}", symbols, "Name at least one.")
        return pool


Axis = Interval | Category


def check_axis(axis: Any) -> None:
    """Complain of an axis from a file if nobody could have made it."""
    again: Axis | None = None
    if isinstance(axis, Category):
        again = category(axis.name, axis.symbols, axis.shares)
    elif isinstance(axis, Interval):
        scale = "log" if axis.log else "linear"
        (again,) = intervals([(axis.name, axis.ends)], axis.smallest, [axis.unit], [scale])
    if again is None or not alike(axis, again) or not isinstance(axis.name, str):
        raise InvalidInput("this is no axis that Zonal has made", axis, "Go back to what was written.")


def alike(one: Any, other: Any) -> bool:
    """Tell whether two values are of the same kind and the same, but for rounding."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(alike(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return math.isclose(one, other, rel_tol=ROUNDING) if isinstance(one, float) else bool(one == other)


def listed_axes(bounds: Any) -> list[tuple[str, Any]]:
    """Return names and pairs of a box's axes."""
    listed: list[Any] = []
    if isinstance(bounds, Mapping):
        listed = [(str(name), pair) for name, pair in bounds.items()]
    elif isinstance(bounds, Iterable) and getattr(bounds, "ndim", 1) > 0:
        pairs = list(bounds)
        listed = [("x" if len(pairs) == 1 else f"x{j}", pair) for j, pair in enumerate(pairs)]
    if not listed:
        raise InvalidInput("a box needs at least one axis", bounds, "Pass pairs such as [(0, 1)], one an axis.")
    return listed


def intervals(listed: list[tuple[str, Any]], smallest: Any, units: Any, scale: Any) -> tuple[Interval, ...]:
    """Return checked continuous axes."""
    names = tuple(name for name, _ in listed)
    ends = [_pair(name, pair) for name, pair in listed]
    logs = [
        _is_log(name, kind) for name, kind in zip(names, _per_axis(scale, "scale", "linear", names), strict=True)
    ]
    pairs = [_decades(name, pair) if log else pair for name, pair, log in zip(names, ends, logs, strict=True)]
    shown = [str(unit) for unit in _per_axis(units, "units", "", names)]
    least: list[float | None] = [None] * len(names)
    if smallest is not None:
        for j, width in enumerate(_per_axis(smallest, "smallest", None, names)):
            least[j] = width = positive_number(width, f"smallest on axis {names[j]}")
            low, high = pairs[j]
            if width * (1 - ROUNDING) > high - low:
                raise InvalidInput(
                    f"smallest on axis {names[j]} is wider than the axis ({high - low:g}{' decades' * logs[j]})",
                    width,
                    "Pass a width within the axis.",
                )
    return tuple(
        Interval(name, pair[0], pair[1], unit, width, log, given if log else None)
        for name, pair, unit, width, log, given in zip(names, pairs, shown, least, logs, ends, strict=True)
    )


def _is_log(name: str, scale: Any) -> bool:
    """Tell whether an axis is logarithmic."""
    if scale not in ("linear", "log"):
        raise InvalidInput(f"the scale of axis {name} must be 'linear' or 'log'", scale, "Choose one of the two.")
    return bool(scale == "log")


def _decades(name: str, ends: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis in decades."""
    if ends[0] <= 0:
        raise InvalidInput(
            f"axis {name} is logarithmic, so its bounds must be positive",
            ends,
            "Start above 0, or drop the scale.",
        )
    return math.log10(ends[0]), math.log10(ends[1])


def _pair(name: str, pair: Any) -> tuple[float, float]:
    """Return the checked bounds of a continuous axis."""
    try:
        low, high = pair
    except (TypeError, ValueError):
        fix = "Pass one pair an axis: [(0, 1)], not (0, 1)." if np.isscalar(pair) else "Pass for example (0, 1)."
        raise InvalidInput(f"axis {name} must be a pair (low, high)", pair, fix) from None
    fix = "Pass two finite numbers, the lower one first."
    low, high = (finite_number(edge, f"a bound of axis {name}", fix) for edge in (low, high))
    if not low < high or not math.isfinite(high - low):
        raise InvalidInput(f"the bounds of axis {name} must increase", (low, high), fix)
    return low, high


def has_symbols(axis: Any) -> bool:
    """Tell an axis of symbols from a continuous one."""
    if isinstance(axis, (str, Mapping)):
        return True
    return np.iterable(axis) and any(isinstance(symbol, str) for symbol in axis)


def symbols_of(name: str, axis: Any) -> Category:
    """Return a checked axis of symbols."""
    listed = list(axis)
    frequencies = list(axis.values()) if isinstance(axis, Mapping) else None
    return category(name, listed, frequencies)


def category(name: str, symbols: Sequence[Any], frequencies: Sequence[Any] | NDArray[Any] | None) -> Category:
    """Return a checked axis of symbols, equally frequent unless said otherwise."""
    wrong = [symbol for symbol in symbols if not isinstance(symbol, str) or not symbol]
    if wrong:
        raise InvalidInput(f"axis {name} has a symbol that is not text", wrong[0], "Pass symbols as text.")
    if not 2 <= len(symbols) <= MOST_SYMBOLS:
        raise InvalidInput(
            f"axis {name} must have from 2 to {MOST_SYMBOLS} symbols",
            len(symbols),
            "For more kinds of things use Hierarchy or Points.",
        )
    twice = [symbol for j, symbol in enumerate(symbols) if symbol in symbols[:j]]
    if twice:
        raise InvalidInput(f"axis {name} has a symbol twice", twice[0], "Name each symbol once.")
    if frequencies is None:
        return Category(name, tuple(symbols), (1 / len(symbols),) * len(symbols))
    if len(frequencies) != len(symbols):
        raise InvalidInput(
            f"axis {name} needs a frequency for each of {len(symbols)} symbols", list(frequencies), "Pass as many."
        )
    shares = [
        positive_number(share, f"the frequency of {symbol} on axis {name}")
        for symbol, share in zip(symbols, frequencies, strict=True)
    ]
    return Category(name, tuple(symbols), tuple(share / sum(shares) for share in shares))


def _per_axis(values: Any, what: str, default: Any, names: tuple[str, ...]) -> list[Any]:
    """Return one value an axis from a mapping, a sequence or a single value."""
    d = len(names)
    if values is None:
        return [default] * d
    if isinstance(values, Mapping):
        unknown = set(values) - set(names)
        if unknown:
            raise InvalidInput(f"{what} names an axis that is not there", sorted(unknown)[0], f"Axes: {names}.")
        if default is None and len(values) < d:
            missing = [name for name in names if name not in values]
            raise InvalidInput(f"{what} must name every axis", values, f"Add {missing[0]!r}.")
        return [values.get(name, default) for name in names]
    if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        return [values] * d
    listed = list(values)
    if len(listed) != d:
        raise InvalidInput(f"{what} must be one value, or one for each of {d} axes", values, "Pass as many.")
    return listed
