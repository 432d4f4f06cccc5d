"""Regions that are products over axes: an interval of a continuous axis, a set of symbols of a categorical one.

The cells of the tree lie on a lattice: a cell is kept as exact integers (how often each axis was split, and which
part it is), so that neighbours share their edges to the last bit at any depth.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.errors import InvalidInput, finite_number, positive_number, whole_number
from zonal.spaces.region import Floats, Immutable, Node, Region, Viewer, checked_node

Edges = tuple[tuple[float, float], ...]
T = TypeVar("T")

ROUNDING = 1e-9  # of a width: differences below it are rounding, not intent
MOST_SYMBOLS = 52  # of one axis: a set of them is a number, exact in a float
MOST_POINTS = 10_000_000  # that anyone will really want listed


@dataclass(frozen=True)
class Interval:
    """A continuous axis."""

    name: str
    low: float
    high: float
    unit: str = ""
    smallest: float | None = None


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

    def pool(self, symbols: Iterable[str]) -> int:
        """Return a set of symbols as a number."""
        pool = 0
        for symbol in symbols:
            if symbol not in self.symbols:
                raise InvalidInput(
                    f"axis {self.name} has no such symbol", symbol, f"Choose from {', '.join(self.symbols)}."
                )
            pool |= 1 << self.symbols.index(symbol)
        if not pool:
            raise InvalidInput(f"a region needs a symbol on axis {self.name}", list(symbols), "Name at least one.")
        return pool


Axis = Interval | Category


@dataclass(frozen=True, repr=False)
class ProductRegion(Region):
    """A product over axes.

    On an axis of symbols ``bounds`` are the first and the last symbol's number, ``widths`` the share of the
    whole, and ``center`` is the symbol's number if there is only one, else NaN; ``symbols`` names them.
    """

    # On an axis of symbols: the set as a number, and its share of the whole.
    offset: tuple[float, ...] = ()  # of the centre from the space's lower corner: no digits lost far from 0
    sizes: tuple[float, ...] = ()
    edges: Edges = field(default=(), repr=False)
    parts: tuple[int, ...] | None = field(default=None, repr=False)  # which part of each axis a cell is

    @property
    def key(self) -> Hashable:
        """What tells this region from others of the same space."""
        return self.edges

    @property
    def bounds(self) -> Floats:
        """Lower and upper edge on each axis, shape (d, 2), in native units."""
        bounds = np.array(self.edges)
        for j, axis in self.space.categories:
            members = axis.members(int(self.offset[j]))
            bounds[j] = members[0], members[-1]
        return bounds

    @property
    def center(self) -> Floats:
        """The centre, shape (d,)."""
        center = self.space.corner + self.offset
        for j, axis in self.space.categories:
            members = axis.members(int(self.offset[j]))
            center[j] = members[0] if len(members) == 1 else math.nan
        return np.asarray(center)

    @property
    def widths(self) -> Floats:
        """The width on each axis, shape (d,)."""
        return np.array(self.sizes)

    @property
    def weight(self) -> float:
        """The volume in native units, times the share of the symbols."""
        return math.prod(self.sizes)

    @property
    def symbols(self) -> tuple[tuple[str, ...] | None, ...]:
        """The symbols on each axis, None on a continuous one."""
        return tuple(
            tuple(axis.symbols[s] for s in axis.members(int(pool))) if isinstance(axis, Category) else None
            for axis, pool in zip(self.space.axes, self.offset, strict=True)
        )

    @property
    def points(self) -> Floats:
        """The representative points, shape (n, d), the last axis fastest; symbols by their numbers."""
        if not self.space.categories:
            return self.viewer().points(self.center, self.widths)
        axes = np.meshgrid(*(place for place, _ in self._places()), indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=-1)

    @property
    def weights(self) -> Floats:
        """The weights of the representative points, shape (n,); they add up to 1."""
        if not self.space.categories:
            return self.viewer().weights(len(self.sizes))
        weights = np.ones(1)
        for _, shares in self._places():
            weights = np.multiply.outer(weights, shares).ravel()
        return weights

    def _places(self) -> list[tuple[Floats, Floats]]:
        """Return where one looks along each axis, and with which weights."""
        viewer, places = self.viewer(), []
        for j, axis in enumerate(self.space.axes):
            if isinstance(axis, Category):
                pool = int(self.offset[j])
                members = axis.members(pool)
                places.append((np.array(members, dtype=float), axis.frequencies(pool)[members]))
            else:
                low, width = axis.low + self.offset[j], self.sizes[j]
                places.append((viewer.points(np.array([low]), np.array([width]))[:, 0], viewer.weights(1)))
        if math.prod(len(place) for place, _ in places) > MOST_POINTS:
            raise InvalidInput(
                f"too many representative points to list in {len(places)} dimensions",
                self.name,
                "Use region.symbols and form them piece by piece.",
            )
        return places


def _span(low: float, high: float) -> str:
    """Return "low..high" with as many digits as it takes to tell neighbours apart."""
    size = high - low if high > low else max(abs(low), 1.0) * 1e-3
    digits = max(0, 3 - math.floor(math.log10(size)))

    def show(x: float) -> str:
        text = f"{x:.{digits}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text

    return f"{show(low)}..{show(high)}"


class AxisSpace(Immutable):
    """What spaces of axes share: a recipe that says which axis is split at each depth, and the cells it makes."""

    axes: tuple[Axis, ...]
    arity: int

    def __repr__(self) -> str:
        """Return the axes, and what else is not the usual."""
        shown = {
            axis.name: (axis.low, axis.high) if isinstance(axis, Interval) else list(axis.symbols)
            for axis in self.axes
        }
        least = {axis.name: axis.smallest for axis in self.axes if isinstance(axis, Interval) and axis.smallest}
        return f"{type(self).__name__}({shown}, arity={self.arity}{f', smallest={least}' if least else ''})"

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
        """The lower corner, 0 on axes of symbols."""
        return np.array([axis.low if isinstance(axis, Interval) else 0.0 for axis in self.axes])

    def axis_at(self, depth: int) -> int | None:
        """Return the axis on which cells of a depth are split, None if they are not."""
        raise NotImplementedError

    def splits(self, axis: int, depth: int) -> int:
        """Return how often `axis` was split on the way to `depth`."""
        return sum(self.axis_at(level) == axis for level in range(depth))

    def children_at(self, depth: int) -> int:
        """Return the number of children of a cell of a depth."""
        axis = self.axis_at(depth)
        if axis is None:
            return 0
        split = self.axes[axis]
        return len(split.symbols) if isinstance(split, Category) else self.arity

    def count(self, depth: int) -> int:
        """Return the number of cells at a depth, exactly."""
        return math.prod(self.children_at(level) for level in range(depth))

    def cell(self, node: Node, feedback: Viewer | None = None) -> ProductRegion:
        """Return the region of a node of the tree."""
        depth, index = checked_node(node, self, f"{self.arity}^depth")
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
        intervals = [
            self._part(axis, part, pieces) for axis, (part, pieces) in enumerate(zip(parts, scale, strict=True))
        ]
        offset, sizes, edges = zip(*intervals, strict=True)
        return ProductRegion(self, (depth, index), feedback, offset, sizes, edges, tuple(parts))

    def split(self, region: ProductRegion) -> tuple[ProductRegion, ...]:
        """Return the children of a cell of the tree, in order of the coordinate or of the symbols."""
        if region.node is None or region.parts is None:
            raise InvalidInput("only a cell of the tree can be split", region.name, "Use cell().")
        depth, index = region.node
        axis, number = self.axis_at(depth), self.children_at(depth)
        if axis is None:
            raise InvalidInput("a single member cannot be split", region.name, "Ask may_split() first.")
        pieces = number ** self.splits(axis, depth + 1)

        def put(values: tuple[T, ...], value: T) -> tuple[T, ...]:
            return (value,) if len(values) == 1 else (*values[:axis], value, *values[axis + 1 :])

        children = []
        for j in range(number):
            part = number * region.parts[axis] + j
            offset, size, edges = self._part(axis, part, pieces)
            children.append(
                ProductRegion(
                    self,
                    (depth + 1, number * index + j),
                    region.feedback,
                    put(region.offset, offset),
                    put(region.sizes, size),
                    put(region.edges, edges),
                    put(region.parts, part),
                )
            )
        return tuple(children)

    def may_split(self, region: ProductRegion) -> bool:
        """Tell whether a cell has children, none of them under the smallest useful size."""
        return region.node is not None and self._splits_at(region.node[0])

    def _splits_at(self, depth: int) -> bool:
        axis = self.axis_at(depth)
        return axis is not None and self._wide_enough(axis, self.splits(axis, depth + 1))

    def _wide_enough(self, axis: int, splits: int) -> bool:
        """Tell whether the parts of an axis split that often are at least `smallest`."""
        split = self.axes[axis]
        if isinstance(split, Category) or split.smallest is None:
            return True
        return bool((split.high - split.low) / self.arity**splits >= split.smallest * (1 - ROUNDING))

    def deepest(self) -> int | None:
        """Return the depth of the smallest cells, None if there is no smallest."""
        if any(isinstance(axis, Interval) and axis.smallest is None for axis in self.axes):
            return None
        depth = 0
        while self._splits_at(depth):
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

    def reach(self, depth: int, inside: float) -> Floats:
        """Return how far a cell of a depth reaches along each axis from what is looked at, `inside` widths."""
        continuous = np.array([isinstance(axis, Interval) for axis in self.axes])
        return self.widths(depth) * np.where(continuous, inside, 1.0)

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
                parts.append(f"{axis.name} {_span(*edges)}{' ' + axis.unit if axis.unit else ''}")
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
                symbols = axis.symbols if part is None else [part] if isinstance(part, str) else list(part)
                pools[j] = axis.pool(symbols)
                continue
            try:
                low, high = (axis.low, axis.high) if part is None else part
            except (TypeError, ValueError):
                raise InvalidInput(f"a part of axis {axis.name} is a pair", part, "Pass (low, high).") from None
            edges[j] = finite_number(low, f"a bound on axis {axis.name}"), finite_number(high, "its upper bound")
        return self._between(edges, pools, feedback)

    def _between(self, edges: Floats, pools: dict[int, int], feedback: Viewer | None) -> ProductRegion:
        """Return the region between edges, with sets of symbols on axes that have them."""
        for j, axis in enumerate(self.axes):
            if not isinstance(axis, Interval):
                continue
            low, high = edges[j]
            slack = ROUNDING * (axis.high - axis.low)
            if not (low <= high and axis.low - slack <= low and high <= axis.high + slack):
                raise InvalidInput(
                    f"a region must lie within axis {axis.name} ({axis.low:g} to {axis.high:g}), low before high",
                    (float(low), float(high)),
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

    def _part(self, axis: int, part: int, pieces: int) -> tuple[float, float, tuple[float, float]]:
        """Return offset, width and edges of one part of an axis; edges are shared to the last bit."""
        whole_axis = self.axes[axis]
        if isinstance(whole_axis, Category):
            pool = whole_axis.whole if pieces == 1 else 1 << part
            return float(pool), whole_axis.share(pool), (float(pool), float(pool))
        low, high = whole_axis.low, whole_axis.high
        whole = high - low
        upper = high if part + 1 == pieces else low + whole * ((part + 1) / pieces)
        return (
            whole * ((2 * part + 1) / (2 * pieces)),
            whole / pieces,
            (low + whole * (part / pieces), upper),
        )


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
        The smallest useful width, one for all axes or one an axis. A node is not split if a child would be
        narrower.
    units : sequence of str or mapping of name to str, optional
        The axes' units, for tables and pictures.

    Examples
    --------
    >>> sky = Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"})
    >>> sky.cell((3, 5)).name
    'l 90..180 deg, sin_b -1..0'
    """

    axes: tuple[Interval, ...]
    arity: int

    def __init__(
        self,
        bounds: Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]] | ArrayLike,
        arity: int = 2,
        smallest: float | Sequence[float] | Mapping[str, float] | None = None,
        units: Sequence[str] | Mapping[str, str] | None = None,
    ) -> None:
        named = _listed(bounds)
        object.__setattr__(self, "axes", _intervals(named, smallest, units))
        object.__setattr__(self, "arity", whole_number(arity, "arity", 2))

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """One pair (low, high) an axis."""
        return tuple((axis.low, axis.high) for axis in self.axes)

    @property
    def smallest(self) -> tuple[float, ...] | None:
        """The smallest useful width on each axis, None if there is none."""
        least = tuple(axis.smallest for axis in self.axes if axis.smallest is not None)
        return least or None

    def axis_at(self, depth: int) -> int:
        """Return the axis on which cells of a depth are split: by turns."""
        return depth % len(self.axes)

    def splits(self, axis: int, depth: int) -> int:
        """Return how often `axis` was split on the way to `depth`."""
        d = len(self.axes)
        return (depth + d - 1 - axis) // d

    def count(self, depth: int) -> int:
        """Return the number of cells at a depth, exactly."""
        return int(self.arity**depth)


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
    ) -> None:
        if not isinstance(axes, Mapping) or not axes:
            raise InvalidInput(
                "axes must be a mapping of name to axis", axes, "Pass {'x': (0, 1), 'dye': ['red', 'green']}."
            )
        symbols = {str(name): _category(str(name), axis) for name, axis in axes.items() if _has_symbols(axis)}
        numeric = [(str(name), axis) for name, axis in axes.items() if str(name) not in symbols]
        lines = {axis.name: axis for axis in _intervals(numeric, smallest, units)} if numeric else {}
        put = object.__setattr__
        put(self, "axes", tuple(symbols.get(str(name)) or lines[str(name)] for name in axes))
        put(self, "arity", whole_number(arity, "arity", 2))

    @cached_property
    def _recipe(self) -> list[int | None]:
        """The axis split at each depth, as far as it was asked for."""
        return []

    @cached_property
    def _splits_so_far(self) -> list[int]:
        return [0] * self.d

    def axis_at(self, depth: int) -> int | None:
        """Return the axis on which cells of a depth are split: the widest relative to its whole."""
        while len(self._recipe) <= depth:
            done = self._splits_so_far
            left = [
                j
                for j, axis in enumerate(self.axes)
                if (done[j] == 0 if isinstance(axis, Category) else self._wide_enough(j, done[j] + 1))
            ]
            widest = min(left, key=lambda j: done[j], default=None)
            self._recipe.append(widest)
            if widest is not None:
                done[widest] += 1
        return self._recipe[depth]


def _listed(bounds: Any) -> list[tuple[str, Any]]:
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


def _intervals(listed: list[tuple[str, Any]], smallest: Any, units: Any) -> tuple[Interval, ...]:
    """Return checked continuous axes."""
    names = tuple(name for name, _ in listed)
    pairs = [_pair(name, pair) for name, pair in listed]
    shown = [str(unit) for unit in _per_axis(units, "units", "", names)]
    least: list[float | None] = [None] * len(names)
    if smallest is not None:
        for j, width in enumerate(_per_axis(smallest, "smallest", None, names)):
            least[j] = width = positive_number(width, f"smallest on axis {names[j]}")
            low, high = pairs[j]
            if width * (1 - ROUNDING) > high - low:
                raise InvalidInput(
                    f"smallest on axis {names[j]} is wider than the axis ({high - low:g})",
                    width,
                    "Pass a width within the axis.",
                )
    return tuple(
        Interval(name, *pair, unit, width)
        for name, pair, unit, width in zip(names, pairs, shown, least, strict=True)
    )


def _pair(name: str, pair: Any) -> tuple[float, float]:
    """Return the checked bounds of a continuous axis."""
    try:
        low, high = pair
    except (TypeError, ValueError):
        raise InvalidInput(f"axis {name} must be a pair (low, high)", pair, "Pass for example (0, 1).") from None
    fix = "Pass two finite numbers, the lower one first."
    low, high = (finite_number(edge, f"a bound of axis {name}", fix) for edge in (low, high))
    if not low < high or not math.isfinite(high - low):
        raise InvalidInput(f"the bounds of axis {name} must increase", (low, high), fix)
    return low, high


def _has_symbols(axis: Any) -> bool:
    """Tell an axis of symbols from a continuous one."""
    if isinstance(axis, (str, Mapping)):
        return True
    return isinstance(axis, Iterable) and any(isinstance(symbol, str) for symbol in axis)


def _category(name: str, axis: Any) -> Category:
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
