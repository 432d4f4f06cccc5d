"""From what users pass as axes to axes, with errors for what cannot be one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from zonal.errors import InvalidInput, check_choice
from zonal.spaces.axes import Interval, checked_ends
from zonal.spaces.integers import Integers
from zonal.spaces.ring import Ring
from zonal.spaces.scales import Logarithmic
from zonal.spaces.symbols import Category

Axis = Interval | Category
Scale = Literal["linear", "log", "integer", "periodic"]
SCALES: dict[str, type[Interval]] = {kind.scale: kind for kind in (Interval, Logarithmic, Integers, Ring)}


def listed_axes(bounds: Any) -> list[tuple[str, Any]]:
    """Return names and descriptions of axes."""
    listed: list[Any] = []
    if isinstance(bounds, Mapping):
        listed = [(str(name), own) for name, own in bounds.items()]
    elif isinstance(bounds, Iterable) and getattr(bounds, "ndim", 1) > 0:
        pairs = list(bounds)
        listed = [("x" if len(pairs) == 1 else f"x{j}", pair) for j, pair in enumerate(pairs)]
    if not listed:
        raise InvalidInput("a box needs at least one axis", bounds, "Pass pairs such as [(0, 1)], one per axis.")
    return listed


def intervals(
    listed: list[tuple[str, Any]], smallest: Any, units: Any, scale: Any, periodic: Any
) -> dict[str, Interval]:
    """Check the continuous axes, and return them by name."""
    names = tuple(name for name, _ in listed)
    ends = [checked_ends(name, pair) for name, pair in listed]
    scales = _per_axis(scale, "scale", "linear", names)
    for name, own in zip(names, scales, strict=True):
        check_choice(own, f"the scale of axis {name}", tuple(SCALES))
    scales = _closed(names, scales, periodic)
    shown = [str(unit) for unit in _per_axis(units, "units", "", names)]
    least = [None] * len(names) if smallest is None else _per_axis(smallest, "smallest", None, names)
    each = zip(names, ends, shown, least, scales, strict=True)
    return {name: SCALES[own].of(name, pair, unit, width) for name, pair, unit, width, own in each}


def _closed(names: tuple[str, ...], scales: list[str], periodic: Any) -> list[str]:
    """Return the scale of each axis, with those named in `periodic` as rings, after checking."""
    rings = [periodic] if isinstance(periodic, str) else periodic
    if not isinstance(rings, Iterable) or getattr(rings, "ndim", 1) == 0:
        raise InvalidInput("periodic must name axes", periodic, "Pass a list of names.")
    rings = list(rings)
    for name in rings:
        if name not in names:
            raise InvalidInput("periodic names a continuous axis that is not there", name, f"Axes: {names}.")
        own = scales[names.index(name)]
        if own not in ("linear", Ring.scale):
            fix = "Leave out its scale, or take it out of periodic."
            raise InvalidInput(f"axis {name} cannot be a ring: its scale is {own}", name, fix)
    return [Ring.scale if name in rings else own for name, own in zip(names, scales, strict=True)]


def has_symbols(axis: Any) -> bool:
    """Tell a categorical axis from a continuous one: a pair of numbers is continuous, more of them are symbols."""
    if isinstance(axis, (str, Mapping)):
        return True
    if not np.iterable(axis):
        return False
    listed = list(axis)
    return any(isinstance(own, str | bool | np.bool_) for own in listed) or (
        len(listed) > 2 and all(np.isscalar(own) for own in listed)
    )


def symbols_of(name: str, axis: Any) -> Category:
    """Check the symbols, and return the axis."""
    return Category.of(name, list(axis), list(axis.values()) if isinstance(axis, Mapping) else None)


def _per_axis(values: Any, what: str, default: Any, names: tuple[str, ...]) -> list[Any]:
    """Return one value per axis from a mapping, a sequence or a single value."""
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
