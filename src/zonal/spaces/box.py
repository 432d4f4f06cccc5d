"""Boxes, products of continuous and categorical axes, and how axes are made of what users pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from zonal.errors import (
    check_choice,
    is_listed,
    is_quantity,
    listed,
    mapped,
    named,
    reject,
    require,
    text,
    whole_number,
)
from zonal.io.hints import hinting
from zonal.spaces.axes import Axis, ContinuousAxis, Symbol
from zonal.spaces.axis_space import MOST_PARTS, AxisSpace
from zonal.spaces.base import RESTORE, PartLike, checked_ends, unnamed
from zonal.spaces.categorical import CategoricalAxis
from zonal.spaces.numeric_axes import IntegerAxis, LogAxis, PeriodicAxis

Scale = Literal["linear", "log", "integer", "periodic"]
T = TypeVar("T")
ByAxis = Sequence[T] | Mapping[str, T] | None  # one for each axis, in order or by name
# An axis as users describe it: a pair of numbers, symbols, symbols with their frequencies, or an axis.
AxisLike = PartLike | Mapping[Symbol, float] | Axis
MOST_AXES = 1000
SCALES: dict[str, type[ContinuousAxis]] = {
    kind.scale: kind for kind in (ContinuousAxis, LogAxis, IntegerAxis, PeriodicAxis)
}


@hinting()
@dataclass(frozen=True, init=False, repr=False)
class Box(AxisSpace):
    """A box in d dimensions, in native units, split into K equal parts along one axis after the other.

    Parameters
    ----------
    bounds : sequence of (low, high), or mapping of name to (low, high)
        One pair per axis.
    arity : int
        K, the number of children of a node, at least 2.
    smallest : float, sequence of float or mapping of name to float, optional
        The smallest useful width, one for all axes or one per axis: the nearest width to which splits lead is
        taken (the ratio counts; of two as near, the wider). An axis is not split further; the others are.
    units : sequence of str or mapping of name to str, optional
        The axes' units, for tables and plots.
    scale : {"linear", "log", "integer", "periodic"}, sequence or mapping of name to these, optional
        A logarithmic axis is split, averaged and modelled in decades: `smallest` and lengthscales are in decades
        there (0.3 is a factor of two). Regions are given and shown in the axis's own unit. An integer axis
        includes both ends; its regions are runs of integers, the smallest a single one. "periodic" has the same
        effect as `periodic`.
    periodic : sequence of str
        The names of axes that are rings, such as longitudes. They are cut open at their ends for the tree only:
        other regions may cross the cut, from 170 to -170, or to 190, as their bounds say.

    Examples
    --------
    >>> sky = Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"})
    >>> sky.cell((3, 5)).name
    'l 90..180 deg, sin_b -1..0'
    >>> Box({"c": (1e-6, 1e-2)}, units=["M"], scale="log").cell((2, 1)).name
    'c 1e-05..0.0001 M'
    >>> Box({"layers": (1, 12)}, scale="integer").cell((2, 1)).name
    'layers 4..6'
    >>> sky = Box({"l": (-180, 180), "sin_b": (-1, 1)}, periodic=["l"])
    >>> across = sky.region({"l": (170, -170)})
    >>> across.name, across.bounds[0].tolist()
    ('l 170..-170, sin_b -1..1', [170.0, 190.0])
    """

    axes: tuple[ContinuousAxis, ...]
    arity: int

    def __init__(
        self,
        bounds: Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]] | ArrayLike,
        arity: int = 2,
        smallest: float | Sequence[float] | Mapping[str, float] | None = None,
        units: Sequence[str] | Mapping[str, str] | None = None,
        scale: Scale | Sequence[Scale] | Mapping[str, Scale] | None = None,
        periodic: Sequence[str] = (),
    ) -> None:
        arity = whole_number(arity, "arity", 2, MOST_PARTS)
        axes = intervals(listed_axes(bounds), arity, smallest, units, scale, periodic)
        vars(self).update(axes=tuple(axes.values()), arity=arity)

    def check(self) -> None:
        """Raise if this box, read from a file, is not possible."""
        super().check()
        require(self.continuous, "a box has no categorical axes", self, RESTORE)

    def _next_axis(self, splits: tuple[int, ...]) -> int:
        """Return the axis to split next; cells below the smallest exist too, though no search uses them."""
        axis = super()._next_axis(splits)
        return min(range(self.d), key=splits.__getitem__) if axis is None else axis

    @cached_property
    def smallest(self) -> tuple[float, ...] | None:
        """The smallest useful width on each axis, None if there is none."""
        return tuple(axis.smallest for axis in self.axes if axis.smallest is not None) or None


@hinting()
@dataclass(frozen=True, init=False, repr=False)
class Product(AxisSpace):
    """Continuous and categorical axes.

    The axis with the widest part relative to its whole is split, ties going to the first: a continuous one into K
    equal parts, a categorical one into its symbols, once. Axes that cannot be split further are skipped.

    Parameters
    ----------
    axes : mapping of name to axis
        An axis is a tuple (low, high), a list of at least two symbols, or a mapping of symbol to frequency.
        Symbols are texts, numbers or booleans: ``(32, 64)`` is an interval, ``[32, 64]`` two symbols. Axis objects
        are accepted too.
    arity : int
        K, the number of parts of a continuous axis, at least 2.
    smallest : float or mapping of name to float, optional
        The smallest useful width of continuous axes, as for `Box`.
    units : mapping of name to str, optional
        The continuous axes' units, for tables and plots.
    scale : mapping of name to {"linear", "log", "integer", "periodic"}, optional
    periodic : sequence of str
        As for `Box`.

    Examples
    --------
    >>> space = Product({"x": (0, 1), "dye": ["red", "green"]})
    >>> space.cell((2, 1)).name
    'x 0..0.5, dye green'
    """

    axes: tuple[Axis, ...]
    arity: int

    def __init__(
        self,
        axes: Mapping[str, AxisLike],
        arity: int = 2,
        smallest: float | Mapping[str, float] | None = None,
        units: Mapping[str, str] | None = None,
        scale: Scale | Mapping[str, Scale] | None = None,
        periodic: Sequence[str] = (),
    ) -> None:
        fix = "Pass {'x': (0, 1), 'dye': ['red', 'green']}."
        problem = "axes must be a mapping of name to axis"
        require(isinstance(axes, Mapping) and mapped(axes, problem, fix), problem, axes, fix)
        arity = whole_number(arity, "arity", 2, MOST_PARTS)
        described, checked, numeric = dict(listed_axes(axes)), dict[str, Axis](), []
        for name, axis in described.items():
            if isinstance(axis, ContinuousAxis | CategoricalAxis):
                renamed = replace(axis, name=name)
                renamed.check()
                checked[name] = renamed.nearest(arity) if isinstance(renamed, ContinuousAxis) else renamed
            elif isinstance(axis, Mapping):
                shares = mapped(axis, f"axis {name} must be symbols", fix)
                checked[name] = CategoricalAxis.of(name, list(shares), list(shares.values()))
            elif has_symbols(axis):
                checked[name] = CategoricalAxis.of(name, list(cast("Sequence[Symbol]", axis)), None)
            else:
                numeric.append((name, axis))
        checked |= intervals(numeric, arity, smallest, units, scale, periodic) if numeric or periodic else {}
        vars(self).update(axes=tuple(checked[name] for name in described), arity=arity)


def listed_axes(bounds: Mapping[str, AxisLike] | ArrayLike) -> list[tuple[str, AxisLike]]:
    """Return names and descriptions of axes."""
    problem, fix = "a box needs at least one axis", "Pass pairs such as [(0, 1)], one per axis."
    if isinstance(bounds, Mapping):
        entries = mapped(bounds, problem, fix).items()
        axes = [(named(name, "the name of an axis"), axis) for name, axis in entries]
    else:
        pairs = listed(bounds, problem, fix)
        axes = list(zip(unnamed(len(pairs)), pairs, strict=True))
    require(axes, problem, bounds, fix)
    twice = (name for j, (name, _) in enumerate(axes) if name in dict(axes[:j]))
    reject(twice, "two axes have the same name", "Rename one; 1 and '1' are the same.")
    require(len(axes) <= MOST_AXES, f"a space has at most {MOST_AXES} axes", len(axes), "Use Points for features.")
    return axes


def intervals(
    described: Sequence[tuple[str, AxisLike]],
    arity: int,
    smallest: float | ByAxis[float],
    units: str | ByAxis[str],
    scale: Scale | ByAxis[Scale],
    periodic: Sequence[str],
) -> dict[str, ContinuousAxis]:
    """Check the continuous axes, and return them by name."""
    names = tuple(name for name, _ in described)
    scales = _per_axis(scale, "scale", "linear", names)
    for name, kind in zip(names, scales, strict=True):
        check_choice(kind, f"the scale of axis {name}", tuple(SCALES))
    kinds = [SCALES[kind] for kind in _closed(names, scales, periodic)]
    given = zip(names, _per_axis(units, "units", "", names), strict=True)
    shown = [text(unit, f"the unit of axis {name}") for name, unit in given]
    pairs = zip(described, shown, strict=True)
    ends = [checked_ends(name, cast("PartLike", pair), unit) for (name, pair), unit in pairs]
    widths = _per_axis(smallest, "smallest", None, names)
    columns = zip(kinds, names, ends, shown, widths, strict=True)
    return {name: kind.of(name, pair, unit, width).nearest(arity) for kind, name, pair, unit, width in columns}


def _closed(names: tuple[str, ...], scales: Sequence[str], periodic: Sequence[str]) -> list[str]:
    """Return the scale of each axis, with those named in `periodic` as rings, after checking."""
    rings = [periodic] if isinstance(periodic, str) else periodic
    rings = listed(rings, "periodic must name axes", "Pass a list of names.")
    unknown = (name for name in rings if not isinstance(name, str) or name not in names)
    reject(unknown, "periodic= names an unknown continuous axis", f"Axes: {names}.")
    fix = "Leave out its scale, or take it out of periodic."
    for name, scale in zip(names, scales, strict=True):
        free = name not in rings or scale in ("linear", PeriodicAxis.scale)
        require(free, f"axis {name} cannot be a ring: its scale is {scale}", name, fix)
    return [PeriodicAxis.scale if name in rings else scale for name, scale in zip(names, scales, strict=True)]


def has_symbols(axis: AxisLike) -> bool:
    """Tell a categorical axis from a continuous one: two numbers are an interval in a tuple, symbols in a list."""
    if isinstance(axis, (str, Mapping)):
        return True
    if not is_listed(axis) or is_quantity(axis):
        return False
    problem, fix = "an axis must be a pair or symbols", "Pass a tuple for an interval, a list for symbols."
    entries = axis if isinstance(axis, list | tuple) else listed(axis, problem, fix)
    if any(isinstance(entry, str | bool | np.bool_) for entry in entries):
        return True
    if len(entries) != 2 or any(map(is_quantity, entries)):
        return len(entries) > 2 and all(np.isscalar(entry) for entry in entries)
    problem = f"two numbers in a {type(axis).__name__} may be an interval or two symbols"
    require(isinstance(axis, tuple | list), problem, axis, fix)
    return isinstance(axis, list)


def _per_axis(values: T | ByAxis[T], what: str, default: T, names: tuple[str, ...]) -> list[T]:
    """Return one value per axis from a mapping, a sequence or a single value."""
    if values is None:
        return [default] * len(names)
    if isinstance(values, Mapping):
        values = mapped(values, f"{what} must be a mapping of axes", f"Axes: {names}.")
        unknown = (name for name in values if not isinstance(name, str) or name not in names)
        reject(unknown, f"{what} names an axis that is not there", f"Axes: {names}.")
        for name in names:
            require(
                default is not None or name in values, f"{what} must name every axis", values, f"Add {name!r}."
            )
        return [values.get(name, default) for name in names]
    if isinstance(values, str) or not is_listed(values):
        return [cast("T", values)] * len(names)
    problem = f"{what} must be one value, or one for each of {len(names)} axes"
    entries = listed(values, problem, "Pass as many.")
    require(len(entries) == len(names), problem, values, "Pass as many.")
    return entries
