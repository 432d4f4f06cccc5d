"""Boxes, and products of continuous and categorical axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from zonal.errors import InvalidInput, whole_number
from zonal.spaces.axes import Interval
from zonal.spaces.axis_space import MOST_PARTS, AxisSpace
from zonal.spaces.making import Axis, Scale, has_symbols, intervals, listed_axes, symbols_of
from zonal.spaces.symbols import Category


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
        The smallest useful width, one for all axes or one per axis. An axis is not split if its parts would be
        narrower; the others are still split.
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

    axes: tuple[Interval, ...]
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
        axes = intervals(listed_axes(bounds), smallest, units, scale, periodic)
        vars(self).update(axes=tuple(axes.values()), arity=whole_number(arity, "arity", 2, MOST_PARTS))

    def check(self) -> None:
        """Raise if this box, read from a file, is not possible."""
        super().check()
        if not self.continuous:
            raise InvalidInput("a box has no categorical axes", self, "Restore what Zonal wrote.")

    def _next_axis(self, splits: tuple[int, ...]) -> int:
        """Return the axis to split next; cells below the smallest exist too, though no search uses them."""
        axis = super()._next_axis(splits)
        return min(range(self.d), key=splits.__getitem__) if axis is None else axis

    @cached_property
    def smallest(self) -> tuple[float, ...] | None:
        """The smallest useful width on each axis, None if there is none."""
        return tuple(axis.smallest for axis in self.axes if axis.smallest is not None) or None


@dataclass(frozen=True, init=False, repr=False)
class Product(AxisSpace):
    """Continuous and categorical axes.

    The axis with the widest part relative to its whole is split, ties going to the first: a continuous one into K
    equal parts, a categorical one into its symbols, once. Axes that cannot be split further are skipped.

    Parameters
    ----------
    axes : mapping of name to axis
        An axis is a pair (low, high), a list of at least two symbols, or a mapping of symbol to frequency. Symbols
        are texts, numbers or booleans; a pair of numbers is a continuous axis. Axis objects are accepted too.
    arity : int
        K, the number of parts of a continuous axis, at least 2.
    smallest : float or mapping of name to float, optional
        The smallest useful width of continuous axes.
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
        axes: Mapping[str, Any],
        arity: int = 2,
        smallest: float | Mapping[str, float] | None = None,
        units: Mapping[str, str] | None = None,
        scale: Scale | Mapping[str, Scale] | None = None,
        periodic: Sequence[str] = (),
    ) -> None:
        if not isinstance(axes, Mapping) or not axes:
            raise InvalidInput(
                "axes must be a mapping of name to axis", axes, "Pass {'x': (0, 1), 'dye': ['red', 'green']}."
            )
        named = dict(listed_axes(axes))
        made: dict[str, Axis] = {
            name: replace(own, name=name) for name, own in named.items() if isinstance(own, Interval | Category)
        }
        for own in made.values():
            own.check()
        others = [(name, own) for name, own in named.items() if name not in made]
        made |= {name: symbols_of(name, own) for name, own in others if has_symbols(own)}
        numeric = [(name, own) for name, own in others if name not in made]
        made |= intervals(numeric, smallest, units, scale, periodic) if numeric or periodic else {}
        arity = whole_number(arity, "arity", 2, MOST_PARTS)
        vars(self).update(axes=tuple(made[name] for name in named), arity=arity)
