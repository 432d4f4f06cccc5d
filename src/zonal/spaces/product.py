"""Regions that are products over axes: an interval of a continuous axis, a set of symbols of a categorical one.

The cells of the tree lie on a lattice: a cell is kept as exact integers (how often each axis was split, and which
part it is), so that neighbours share their edges to the last bit at any depth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from zonal.errors import InvalidInput, finite_number, whole_number
from zonal.spaces.axes import (
    Axis,
    Category,
    Interval,
    Scale,
    check_axis,
    has_symbols,
    intervals,
    listed_axes,
    symbols_of,
)
from zonal.spaces.product_region import ProductRegion, span
from zonal.spaces.region import ROUNDING, Floats, Immutable, Ints, Node, Region, Viewer, checked_node

EXACT = 52  # bits of a whole number in a float
MOST_PARTS = 1000  # of a cell
PARTS = {1: 256, 2: 32, 3: 16, 4: 8}  # of a continuous axis, by the number of such axes; 8 if there are more
MOST_LEVELS = 64  # with more, a tree has more cells than can be numbered


@dataclass(frozen=True)
class _Level:
    """What all cells of a depth share: how often each axis was split, and the axis that is split next."""

    depth: int
    splits: tuple[int, ...]
    axis: int | None


@dataclass(frozen=True)
class _Plan:
    """How cells of a depth are split: along which axis, into how many; and of what parts of the axes they are."""

    axis: int
    children: int
    pieces: list[int]
    able: bool


class AxisSpace(Immutable):
    """What spaces of axes share: which axis is split at each depth, and the cells that makes.

    For a space of one's own, write `_next_axis`.
    """

    axes: tuple[Axis, ...]
    arity: int
    spelled: ClassVar[str] = ""  # what a region is called where its name says it all

    def __repr__(self) -> str:
        """Return the axes, and what else is not the usual."""
        shown = {axis.name: axis.ends if isinstance(axis, Interval) else list(axis.symbols) for axis in self.axes}
        lines = [axis for axis in self.axes if isinstance(axis, Interval)]
        unusual: dict[str, dict[str, Any]] = {
            "smallest": {axis.name: axis.smallest for axis in lines if axis.smallest},
            "scale": {axis.name: "log" for axis in lines if axis.log},
        }
        more = "".join(f", {name}={value}" for name, value in unusual.items() if value)
        return f"{type(self).__name__}({shown}, arity={self.arity}{more})"

    def check(self) -> None:
        """Complain of a space from a file if nobody could have made it."""
        if not isinstance(self.axes, tuple) or not self.axes:
            raise InvalidInput("a space needs at least one axis", self.axes, "Go back to what was written.")
        for axis in self.axes:
            check_axis(axis)
        whole_number(self.arity, "arity", 2, MOST_PARTS)

    @property
    def names(self) -> tuple[str, ...]:
        """The axes' names."""
        return tuple(axis.name for axis in self.axes)

    @property
    def units(self) -> tuple[str, ...]:
        """The axes' units."""
        return tuple(axis.unit if isinstance(axis, Interval) else "" for axis in self.axes)

    @property
    def d(self) -> int:
        """The number of axes."""
        return len(self.axes)

    @property
    def base(self) -> int:
        """The usual number of children of a node."""
        return self.arity

    @cached_property
    def categories(self) -> tuple[tuple[int, Category], ...]:
        """The axes of symbols, by number."""
        return tuple((j, axis) for j, axis in enumerate(self.axes) if isinstance(axis, Category))

    @cached_property
    def corner(self) -> Floats:
        """The lower corner, 0 on axes of symbols; in decades on logarithmic ones."""
        return np.array([axis.low if isinstance(axis, Interval) else 0.0 for axis in self.axes])

    @cached_property
    def _logs(self) -> tuple[tuple[int, Interval], ...]:
        return tuple((j, axis) for j, axis in enumerate(self.axes) if isinstance(axis, Interval) and axis.log)

    def native(self, places: Floats) -> Floats:
        """Return places, shape (..., d), in the user's numbers: out of decades on logarithmic axes."""
        if not self._logs:
            return places
        shown = np.array(places)
        for j, axis in self._logs:
            shown[..., j] = axis.native(shown[..., j])
        return shown

    def axis_at(self, depth: int) -> int | None:
        """Return the axis on which cells of a depth are split, None if they are not."""
        return self._level(depth).axis

    def splits(self, axis: int, depth: int) -> int:
        """Return how often `axis` was split on the way to `depth`."""
        return self._level(depth).splits[axis]

    def children_at(self, depth: int) -> int:
        """Return the number of children of a cell of a depth."""
        axis = self.axis_at(depth)
        return 0 if axis is None else self._pieces(axis)

    def count(self, depth: int) -> int:
        """Return the number of cells at a depth, exactly."""
        level = self._level(depth)
        if level.depth < depth:
            return 0
        return math.prod(self._pieces(j) ** number for j, number in enumerate(level.splits))

    def _pieces(self, axis: int) -> int:
        """Return into how many parts an axis is split."""
        split = self.axes[axis]
        return len(split.symbols) if isinstance(split, Category) else self.arity

    def _level(self, depth: int) -> _Level:
        """Return what all cells of a depth share; below the deepest ones, what those share."""
        levels = self._levels
        if depth >= len(levels) and levels[-1].axis is not None:
            levels = list(levels)
            while depth >= len(levels) and levels[-1].axis is not None:
                last = levels[-1]
                splits = tuple(number + (j == last.axis) for j, number in enumerate(last.splits))
                levels.append(_Level(last.depth + 1, splits, self._next_axis(splits)))
            self.__dict__["_levels"] = levels  # at once: others may be asking too
        return levels[min(depth, len(levels) - 1)]

    @cached_property
    def _levels(self) -> list[_Level]:
        """The levels of the tree, as far as they were asked for."""
        splits = (0,) * self.d
        return [_Level(0, splits, self._next_axis(splits))]

    def _next_axis(self, splits: tuple[int, ...]) -> int | None:
        """Return the axis to split next, given how often each was: the widest relative to its whole.

        The first of equals; those that cannot be split further are passed over.
        """
        left = [j for j, number in enumerate(splits) if self._may_be_split(j, number)]
        return min(left, key=splits.__getitem__, default=None)

    def _may_be_split(self, axis: int, splits: int) -> bool:
        """Tell whether an axis may be split again: symbols once, intervals into parts of at least `smallest`."""
        split = self.axes[axis]
        if isinstance(split, Category):
            return splits == 0
        if split.smallest is None:
            return True
        return bool((split.high - split.low) / self.arity ** (splits + 1) >= split.smallest * (1 - ROUNDING))

    def leaves(self, depth: int) -> int:
        """Return the number of regions if the tree ended at a depth."""
        return self.count(depth)

    def leaf(self, depth: int, number: int) -> Node:
        """Return one of the regions if the tree ended at a depth, by number."""
        return depth, number

    def typical(self, depth: int, most: int) -> list[Node]:
        """Return cells that stand for all of a depth: one, since all are alike."""
        return [(depth, 0)]

    def inside(self, depth: int, bottom: int) -> int:
        """Return the number of cells of the depth `bottom` in one of a depth."""
        return self.count(bottom) // self.count(depth)

    def arrange(self, values: Any, what: str) -> Any:
        """Return values as an array with one dimension an axis: as they are."""
        return values

    def cell(self, node: Node, feedback: Viewer | None = None) -> ProductRegion:
        """Return the region of a node of the tree."""
        depth, index = checked_node(node, self)
        parts = [0] * self.d
        scale = [1] * self.d
        digits = index
        for level in reversed(range(depth)):  # the last digit of the index was written by the last split
            axis = self.axis_at(level)
            assert axis is not None
            children = self.children_at(level)
            digits, digit = divmod(digits, children)
            parts[axis] += digit * scale[axis]
            scale[axis] *= children
        return self.seen((depth, index), np.array(parts), feedback)

    def seen(self, node: Node, cell: Any, feedback: Viewer | None) -> ProductRegion:
        """Return the region of a node that is kept as the parts of the axes which it is."""
        own = tuple(cell.tolist())
        pieces = self.pieces(node[0])
        offset, sizes, edges = zip(*map(_part, self.axes, own, pieces), strict=True)
        return ProductRegion(self, node, feedback, offset, sizes, edges, own)

    def whole(self) -> Ints:
        """Return the whole space as the part of each axis that it is, shape (1, d)."""
        return np.zeros((1, self.d), dtype=np.int64)

    def children(self, depth: int, index: int, cell: Ints) -> tuple[Ints, Ints]:
        """Return the children of a cell: their indices, and the parts of the axes which they are, a row each."""
        plan = self._plans[depth] if depth in self._plans else self._plan(depth)
        cells = cell[None].repeat(plan.children, 0)
        numbers = np.arange(plan.children)
        cells[:, plan.axis] *= plan.children
        cells[:, plan.axis] += numbers
        return plan.children * index + numbers, cells

    def pieces(self, depth: int) -> list[int]:
        """Return into how many parts each axis is split at a depth."""
        return (self._plans[depth] if depth in self._plans else self._plan(depth)).pieces

    def splittable(self, depth: int, indices: Ints) -> bool:
        """Tell whether cells of a depth have children, none of them under the smallest useful size."""
        return (self._plans[depth] if depth in self._plans else self._plan(depth)).able

    def _plan(self, depth: int) -> _Plan:
        """Work out how cells of a depth came about and are split, once."""
        axis = self.axis_at(depth)
        pieces = [self._pieces(j) ** self.splits(j, depth) for j in range(self.d)]
        plan = _Plan(-1 if axis is None else axis, self.children_at(depth), pieces, self._splits_at(depth))
        self._plans[depth] = plan
        return plan

    @cached_property
    def _plans(self) -> dict[int, _Plan]:
        return {}

    def split(self, region: ProductRegion) -> tuple[ProductRegion, ...]:
        """Return the children of a cell of the tree, in order of the coordinate or of the symbols."""
        if region.node is None or region.parts is None:
            raise InvalidInput("only a cell of the tree can be split", region.name, "Use cell().")
        depth, index = region.node
        if self.axis_at(depth) is None:
            raise InvalidInput("a single member cannot be split", region.name, "Ask may_split() first.")
        _, cells = self.children(depth, 0, np.array(region.parts, dtype=object))  # any number of digits
        first = index * len(cells)
        return tuple(self.seen((depth + 1, first + j), parts, region.feedback) for j, parts in enumerate(cells))

    def may_split(self, region: ProductRegion) -> bool:
        """Tell whether a cell has children, none of them under the smallest useful size."""
        return region.node is not None and self._splits_at(region.node[0])

    def _splits_at(self, depth: int) -> bool:
        axis = self.axis_at(depth)
        return axis is not None and self._may_be_split(axis, self.splits(axis, depth))

    def deepest(self) -> int | None:
        """Return the depth of the smallest cells, None if there is no smallest."""
        endless = any(isinstance(axis, Interval) and axis.smallest is None for axis in self.axes)
        depth = 0
        while self._splits_at(depth):
            depth += 1
            if endless and depth > MOST_LEVELS:
                return None
        return depth

    def cut(self) -> int:
        """Return the depth of the smallest regions where nobody named any: every axis has `PARTS` or just more.

        Axes of symbols are split whole.
        """
        lines = [j for j, axis in enumerate(self.axes) if isinstance(axis, Interval)]
        wanted = PARTS.get(len(lines), PARTS[max(PARTS)])
        depth = 0
        while self._splits_at(depth) and not (
            all(self.arity ** self.splits(j, depth) >= wanted for j in lines)
            and all(self.splits(j, depth) for j, _ in self.categories)
        ):
            depth += 1
        return depth

    def widths(self, depth: int) -> Floats:
        """Return the widths of a cell at `depth`, shape (d,); on an axis of symbols 1, or 0 once it is split."""
        return np.array(
            [
                (axis.high - axis.low) / self.arity ** self.splits(j, depth)
                if isinstance(axis, Interval)
                else float(self.splits(j, depth) == 0)
                for j, axis in enumerate(self.axes)
            ]
        )

    def sides(self) -> Floats:
        """Return the width of the whole space along each axis, shape (d,)."""
        return self.widths(0)

    def reach(self, depth: int, inside: Callable[[Any, float], float]) -> Floats:
        """Return how far a cell of a depth reaches along each axis from what is seen of it."""
        widths = zip(self.axes, self.widths(depth).tolist(), strict=True)
        return np.array([inside(axis, width) if isinstance(axis, Interval) else width for axis, width in widths])

    def region(self, what: Any, feedback: Viewer | None = None) -> ProductRegion:
        """Return any region of the space, on the tree's lattice or not.

        Parameters
        ----------
        what : mapping of name to part, or array_like of shape (d, 2)
            For a continuous axis (low, high), equal edges meaning a point; for an axis of symbols one symbol, or
            several in a list. Axes that are not named are whole. An array gives lower and upper edges, if all
            axes are continuous.
        feedback : feedback, optional
            How the region is measured; needed for its representative points.
        """
        if isinstance(what, Mapping):
            return self._from_parts(what, feedback)
        if self.categories:
            raise InvalidInput(
                "a region of a space with symbols is a mapping of axis to part",
                what,
                f"Pass for example {{{self.categories[0][1].name!r}: {self.categories[0][1].symbols[0]!r}}}.",
            )
        try:
            edges = np.array(what)
            if edges.dtype.kind not in "iuf":
                raise TypeError
            edges = edges.astype(float)
        except (TypeError, ValueError):
            raise InvalidInput("a region's bounds must be numbers", what, "Pass pairs.") from None
        if edges.shape != (self.d, 2):
            raise InvalidInput(
                f"a region's bounds must have shape ({self.d}, 2), one pair an axis",
                what,
                "Pass (low, high) for each axis.",
            )
        return self._between(edges, {}, feedback)

    def is_one(self, what: Any) -> bool:
        """Tell whether `what` describes one region, and not several."""
        if isinstance(what, (Region, Mapping)) or not np.iterable(what):
            return True
        first: Any = next(iter(what), [[]])
        if isinstance(first, (Region, Mapping, str)):
            return False
        edge = next(iter(first), 0) if np.iterable(first) else 0
        return isinstance(edge, str) or not np.iterable(edge)

    def describe(self, region: ProductRegion) -> str:
        """Return the name of a region."""
        parts = []
        for axis, pool, edges in zip(self.axes, region.offset, region.edges, strict=True):
            if isinstance(axis, Interval):
                parts.append(f"{axis.name} {span(axis, *edges)}{' ' + axis.unit if axis.unit else ''}")
            else:
                members = axis.members(int(pool))
                any_of = len(members) == len(axis.symbols)
                parts.append(f"{axis.name} {'any' if any_of else '|'.join(axis.symbols[s] for s in members)}")
        return ", ".join(parts)

    def _from_parts(self, what: Mapping[str, Any], feedback: Viewer | None) -> ProductRegion:
        unknown = [name for name in what if name not in self.names]
        if unknown:
            raise InvalidInput("a region names an axis that is not there", unknown[0], f"Axes: {self.names}.")
        edges = np.zeros((self.d, 2))
        pools = {}
        for j, axis in enumerate(self.axes):
            part = what.get(axis.name)
            if isinstance(axis, Category):
                pools[j] = axis.whole if part is None else axis.pool(part)
                continue
            try:
                low, high = axis.ends if part is None else part
            except (TypeError, ValueError):
                raise InvalidInput(f"a part of axis {axis.name} is a pair", part, "Pass (low, high).") from None
            edges[j] = finite_number(low, f"a bound on axis {axis.name}"), finite_number(high, "its upper bound")
        return self._between(edges, pools, feedback)

    def _between(self, edges: Floats, pools: dict[int, int], feedback: Viewer | None) -> ProductRegion:
        """Return the region between edges, with sets of symbols on axes that have them."""
        for j, axis in enumerate(self.axes):
            if not isinstance(axis, Interval):
                continue
            given = tuple(edges[j].tolist())
            edges[j] = low, high = [self._place(axis, edge) for edge in given]
            slack = ROUNDING * (axis.high - axis.low)
            if not (low <= high and axis.low - slack <= low and high <= axis.high + slack):
                first, last = axis.ends
                raise InvalidInput(
                    f"a region must lie within axis {axis.name} ({first:g} to {last:g}), low before high",
                    given,
                    "Pass finite bounds inside of the space.",
                )
        low, high = (edges - self.corner[:, None]).T
        offset, sizes = (low + high) / 2, edges[:, 1] - edges[:, 0]
        for j, axis in self.categories:
            offset[j], sizes[j], edges[j] = pools[j], axis.share(pools[j]), pools[j]
        return ProductRegion(
            self,
            None,
            feedback,
            tuple(offset.tolist()),
            tuple(sizes.tolist()),
            tuple((float(low), float(high)) for low, high in edges),
        )

    def _place(self, axis: Interval, number: float) -> float:
        """Return where one of the user's numbers is on an axis: at a cell's edge, if that is shown as this number.

        Powers and logarithms round, and a cell that is written down must be found again.
        """
        place = axis.own(number)
        if not axis.log or place in (-math.inf, axis.low, axis.high):
            return place
        whole = axis.high - axis.low
        pieces = self.arity ** np.arange(int(EXACT / math.log2(self.arity)) + 1.0)
        edges = axis.low + whole * (np.round((place - axis.low) / whole * pieces) / pieces)
        shown_alike = axis.native(edges) == number
        return float(edges[shown_alike.argmax()]) if shown_alike.any() else place


def _part(axis: Axis, part: int, pieces: int) -> tuple[float, float, tuple[float, float]]:
    """Return offset, width and edges of one part of an axis; edges are shared to the last bit."""
    if isinstance(axis, Category):
        pool = axis.whole if pieces == 1 else 1 << part
        return float(pool), axis.share(pool), (float(pool), float(pool))
    low, high = axis.low, axis.high
    whole = high - low
    upper = high if part + 1 == pieces else low + whole * ((part + 1) / pieces)
    return whole * ((2 * part + 1) / (2 * pieces)), whole / pieces, (low + whole * (part / pieces), upper)


@dataclass(frozen=True, init=False, repr=False)
class Box(AxisSpace):
    """A box in d dimensions, in native units, split into K equal parts along its axes by turns.

    Parameters
    ----------
    bounds : sequence of (low, high), or mapping of name to (low, high)
        One pair an axis.
    arity : int
        K, the number of children of a node, at least 2.
    smallest : float, sequence of float or mapping of name to float, optional
        The smallest useful width, one for all axes or one an axis. An axis is not split if its parts would be
        narrower; the others go on.
    units : sequence of str or mapping of name to str, optional
        The axes' units, for tables and pictures.
    scale : {"linear", "log"}, sequence or mapping of name to these, optional
        A logarithmic axis is split, averaged over and modelled in decades: `smallest` and lengthscales are in
        decades there (0.3 is a factor of two). Regions are given and shown in the axis's own unit.

    Examples
    --------
    >>> sky = Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"})
    >>> sky.cell((3, 5)).name
    'l 90..180 deg, sin_b -1..0'
    >>> Box({"c": (1e-6, 1e-2)}, units=["M"], scale="log").cell((2, 1)).name
    'c 1e-05..0.0001 M'
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
    ) -> None:
        named = listed_axes(bounds)
        object.__setattr__(self, "axes", intervals(named, smallest, units, scale))
        object.__setattr__(self, "arity", whole_number(arity, "arity", 2, MOST_PARTS))

    def check(self) -> None:
        """Complain of a box from a file if nobody could have made it."""
        super().check()
        if self.categories:
            raise InvalidInput("a box has no axes of symbols", self, "Go back to what was written.")

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """One pair (low, high) an axis."""
        return tuple(axis.ends for axis in self.axes)

    def _level(self, depth: int) -> _Level:
        """Return what all cells of a depth share: without a smallest width, axes are split by turns."""
        return super()._level(depth) if self.smallest else _by_turns(len(self.axes), depth)

    def _next_axis(self, splits: tuple[int, ...]) -> int:
        """Return the axis to split next; cells below the smallest are there too, though no search goes so far."""
        axis = super()._next_axis(splits)
        return min(range(self.d), key=splits.__getitem__) if axis is None else axis

    @cached_property
    def smallest(self) -> tuple[float, ...] | None:
        """The smallest useful width on each axis, None if there is none."""
        least = tuple(axis.smallest for axis in self.axes if axis.smallest is not None)
        return least or None


@lru_cache(maxsize=1024)
def _by_turns(d: int, depth: int) -> _Level:
    """Return what cells of a depth share where `d` axes are split by turns."""
    return _Level(depth, tuple((depth + d - 1 - j) // d for j in range(d)), depth % d)


@dataclass(frozen=True, init=False, repr=False)
class Product(AxisSpace):
    """Continuous axes and axes of symbols, mixed.

    The axis that is widest relative to its whole is split, the first of equals: a continuous one into K equal
    parts, one of symbols into its symbols, once. Axes that cannot be split further are passed over.

    Parameters
    ----------
    axes : mapping of name to axis
        An axis is a pair (low, high), a list of at least two symbols, or a mapping of symbol to frequency.
    arity : int
        K, the number of parts of a continuous axis, at least 2.
    smallest : float or mapping of name to float, optional
        The smallest useful width of continuous axes.
    units : mapping of name to str, optional
        The continuous axes' units, for tables and pictures.
    scale : mapping of name to {"linear", "log"}, optional
        As for `Box`: logarithmic axes are split, averaged over and modelled in decades.

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
    ) -> None:
        if not isinstance(axes, Mapping) or not axes:
            raise InvalidInput(
                "axes must be a mapping of name to axis", axes, "Pass {'x': (0, 1), 'dye': ['red', 'green']}."
            )
        symbols = {str(name): symbols_of(str(name), axis) for name, axis in axes.items() if has_symbols(axis)}
        numeric = [(str(name), axis) for name, axis in axes.items() if str(name) not in symbols]
        lines = {axis.name: axis for axis in intervals(numeric, smallest, units, scale)} if numeric else {}
        put = object.__setattr__
        put(self, "axes", tuple(symbols.get(str(name)) or lines[str(name)] for name in axes))
        put(self, "arity", whole_number(arity, "arity", 2, MOST_PARTS))
