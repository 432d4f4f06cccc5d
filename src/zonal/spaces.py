"""Where can we look? A space, its regions, and how a region is split.

A region is a product over axes of intervals. The cells of a box's tree lie on a lattice: a cell is kept as
exact integers (how often each axis was split, and which part it is), so that neighbours share their edges to
the last bit at any depth. This room must not know kernels, measurements or policies; a region only carries the
feedback it will be measured with, so that it can list its representative points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.errors import InvalidInput, finite_number, positive_number, whole_number

Floats = NDArray[np.float64]
Node = tuple[int, int]
Edges = tuple[tuple[float, float], ...]
T = TypeVar("T")

ROUNDING = 1e-9  # of a width: differences below it are rounding, not intent


class Viewer(Protocol):
    """What a region must know of a feedback: where it looks, and with which weights."""

    def points(self, center: Floats, widths: Floats) -> Floats:
        """Return the representative points, shape (n, d)."""

    def weights(self, d: int) -> Floats:
        """Return their weights, shape (n,)."""


@dataclass(frozen=True)
class Region:
    """A part of a space, as a value: made by a space, never changed.

    Attributes
    ----------
    bounds : array, shape (d, 2)
        Lower and upper edge on each axis, in native units.
    center : array, shape (d,)
        The centre.
    widths : array, shape (d,)
        The width on each axis.
    node : (depth, index) or None
        Its place in the tree; None for a region outside of it.
    name : str
        What a person reads, for example ``"l 0..11.25 deg, sin_b -0.0625..0"``.
    points, weights : array, shapes (n, d) and (n,)
        The representative points and their weights, made when asked for, the last axis fastest.
    weight : float
        The volume, in native units.
    """

    space: Box = field(repr=False)
    offset: tuple[float, ...]  # of the centre from the space's lower corner: no digits lost far from 0
    sizes: tuple[float, ...]
    edges: Edges = field(repr=False)
    node: Node | None = None
    feedback: Viewer | None = field(default=None, repr=False)
    parts: tuple[int, ...] | None = field(default=None, repr=False)  # which part of each axis a cell is

    @property
    def bounds(self) -> Floats:
        """Lower and upper edge on each axis, shape (d, 2), in native units."""
        return np.array(self.edges)

    @property
    def center(self) -> Floats:
        """The centre, shape (d,)."""
        return np.array([low for low, _ in self.space.bounds]) + self.offset

    @property
    def widths(self) -> Floats:
        """The width on each axis, shape (d,)."""
        return np.array(self.sizes)

    @property
    def weight(self) -> float:
        """The volume, in native units."""
        return math.prod(self.sizes)

    @property
    def points(self) -> Floats:
        """The representative points, shape (n, d), the last axis fastest."""
        return self._viewer().points(self.center, self.widths)

    @property
    def weights(self) -> Floats:
        """The weights of the representative points, shape (n,); they add up to 1."""
        return self._viewer().weights(len(self.sizes))

    @property
    def name(self) -> str:
        """What a person reads."""
        parts = []
        for axis, unit, (low, high) in zip(self.space.names, self.space.units, self.edges, strict=True):
            parts.append(f"{axis} {_span(low, high)}{' ' + unit if unit else ''}")
        return ", ".join(parts)

    def _viewer(self) -> Viewer:
        if self.feedback is None:
            raise InvalidInput(
                "this region was made without a feedback, so it has no representative points",
                self.name,
                "Take a trial's region, or pass space.region(bounds, feedback=...).",
            )
        return self.feedback


def _span(low: float, high: float) -> str:
    """Return "low..high" with as many digits as it takes to tell neighbours apart."""
    size = high - low if high > low else max(abs(low), 1.0) * 1e-3
    digits = max(0, 3 - math.floor(math.log10(size)))

    def show(x: float) -> str:
        text = f"{x:.{digits}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text

    return f"{show(low)}..{show(high)}"


@dataclass(frozen=True)
class Box:
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

    bounds: tuple[tuple[float, float], ...]
    arity: int = 2
    smallest: tuple[float, ...] | None = None
    units: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __init__(
        self,
        bounds: Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]] | ArrayLike,
        arity: int = 2,
        smallest: float | Sequence[float] | Mapping[str, float] | None = None,
        units: Sequence[str] | Mapping[str, str] | None = None,
    ) -> None:
        names, pairs = _axes(bounds)
        put = object.__setattr__
        put(self, "names", names)
        put(self, "bounds", pairs)
        put(self, "arity", whole_number(arity, "arity", 2))
        put(self, "units", tuple(str(unit) for unit in self._per_axis(units, "units", "")))
        put(self, "smallest", None)
        if smallest is not None:
            least = tuple(
                positive_number(width, f"smallest on axis {name}")
                for name, width in zip(names, self._per_axis(smallest, "smallest", None), strict=True)
            )
            for name, (low, high), width in zip(names, pairs, least, strict=True):
                if width * (1 - ROUNDING) > high - low:
                    raise InvalidInput(
                        f"smallest on axis {name} is wider than the axis ({high - low:g})",
                        width,
                        "Pass a width within the axis.",
                    )
            put(self, "smallest", least)

    @property
    def d(self) -> int:
        """The number of axes."""
        return len(self.names)

    def cell(self, node: Node, feedback: Viewer | None = None) -> Region:
        """Return the region of a node of the tree."""
        try:
            depth, index = (whole_number(number, "a node's depth and index", 0) for number in node)
        except (TypeError, ValueError):
            depth, index = -1, 0
        if depth < 0 or index >= self.arity**depth:
            raise InvalidInput(
                f"a node is (depth, index) with index below {self.arity}^depth", node, "Pass for example (0, 0)."
            )
        parts = [0] * self.d
        for level in reversed(range(depth)):  # the last digit of the index was written by the last split
            index, digit = divmod(index, self.arity)
            axis = level % self.d
            parts[axis] += digit * self.arity ** (self._splits(axis, depth) - self._splits(axis, level + 1))
        intervals = [self._interval(axis, part, self._splits(axis, depth)) for axis, part in enumerate(parts)]
        offset, sizes, edges = zip(*intervals, strict=True)
        return Region(self, offset, sizes, edges, (int(node[0]), int(node[1])), feedback, tuple(parts))

    def split(self, region: Region) -> tuple[Region, ...]:
        """Return the K children of a cell of the tree, in order of the coordinate."""
        if region.node is None or region.parts is None:
            raise InvalidInput("only a cell of the tree can be split", region.name, "Use cell().")
        depth, index = region.node
        axis = depth % self.d
        splits = self._splits(axis, depth + 1)

        def put(values: tuple[T, ...], value: T) -> tuple[T, ...]:
            return (value,) if len(values) == 1 else (*values[:axis], value, *values[axis + 1 :])

        children = []
        for j in range(self.arity):
            part = self.arity * region.parts[axis] + j
            offset, size, edges = self._interval(axis, part, splits)
            children.append(
                Region(
                    self,
                    put(region.offset, offset),
                    put(region.sizes, size),
                    put(region.edges, edges),
                    (depth + 1, self.arity * index + j),
                    region.feedback,
                    put(region.parts, part),
                )
            )
        return tuple(children)

    def may_split(self, depth: int) -> bool:
        """Tell whether the children of a cell at `depth` are at least `smallest`."""
        if self.smallest is None:
            return True
        axis = depth % self.d
        width = self.widths(depth + 1)[axis]
        return bool(width >= self.smallest[axis] * (1 - ROUNDING))

    def deepest(self) -> int | None:
        """Return the depth of the smallest cells, None if there is no smallest."""
        if self.smallest is None:
            return None
        depth = 0
        while self.may_split(depth):
            depth += 1
        return depth

    def widths(self, depth: int) -> Floats:
        """Return the widths of a cell at `depth`, shape (d,)."""
        return np.array(
            [
                (high - low) / self.arity ** self._splits(axis, depth)
                for axis, (low, high) in enumerate(self.bounds)
            ]
        )

    def region(self, bounds: ArrayLike, feedback: Viewer | None = None) -> Region:
        """Return any region of the space, on the tree's lattice or not.

        Parameters
        ----------
        bounds : array_like, shape (d, 2)
            Lower and upper edges; equal edges mean a point on that axis.
        feedback : feedback, optional
            How the region is measured; needed for its representative points.
        """
        try:
            edges = np.array(bounds)
            if edges.dtype.kind not in "iuf":
                raise TypeError
            edges = edges.astype(float)
        except (TypeError, ValueError):
            raise InvalidInput("a region's bounds must be numbers", bounds, "Pass pairs.") from None
        if edges.shape != (self.d, 2):
            raise InvalidInput(
                f"a region's bounds must have shape ({self.d}, 2), one pair an axis",
                bounds,
                "Pass (low, high) for each axis.",
            )
        for name, (low, high), (least, most) in zip(self.names, edges, self.bounds, strict=True):
            slack = ROUNDING * (most - least)
            if not (low <= high and least - slack <= low and high <= most + slack):
                raise InvalidInput(
                    f"a region must lie within axis {name} ({least:g} to {most:g}), low before high",
                    (float(low), float(high)),
                    "Pass finite bounds inside of the space.",
                )
        lower = np.array(self.bounds)[:, 0]
        offset = ((edges[:, 0] - lower) + (edges[:, 1] - lower)) / 2
        return Region(
            self,
            tuple(offset.tolist()),
            tuple((edges[:, 1] - edges[:, 0]).tolist()),
            tuple((float(low), float(high)) for low, high in edges),
            None,
            feedback,
        )

    def _splits(self, axis: int, depth: int) -> int:
        """Return how often `axis` was split on the way to `depth` (axis h mod d at depth h)."""
        return (depth + self.d - 1 - axis) // self.d

    def _interval(self, axis: int, part: int, splits: int) -> tuple[float, float, tuple[float, float]]:
        """Return offset, width and edges of one part of an axis; edges are shared to the last bit."""
        low, high = self.bounds[axis]
        pieces = self.arity**splits
        whole = high - low
        upper = high if part + 1 == pieces else low + whole * ((part + 1) / pieces)
        return (
            whole * ((2 * part + 1) / (2 * pieces)),
            whole / pieces,
            (low + whole * (part / pieces), upper),
        )

    def _per_axis(self, values: Any, what: str, default: Any) -> list[Any]:
        """Return one value an axis from a mapping, a sequence or a single value."""
        if values is None:
            return [default] * self.d
        if isinstance(values, Mapping):
            unknown = set(values) - set(self.names)
            if unknown:
                raise InvalidInput(
                    f"{what} names an axis that is not there", sorted(unknown)[0], f"Axes: {self.names}."
                )
            if default is None and len(values) < self.d:
                missing = [name for name in self.names if name not in values]
                raise InvalidInput(f"{what} must name every axis", values, f"Add {missing[0]!r}.")
            return [values.get(name, default) for name in self.names]
        if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
            return [values] * self.d
        listed = list(values)
        if len(listed) != self.d:
            raise InvalidInput(
                f"{what} must be one value, or one for each of {self.d} axes", values, "Pass as many."
            )
        return listed


def _axes(bounds: Any) -> tuple[tuple[str, ...], tuple[tuple[float, float], ...]]:
    """Return the axes' names and checked bounds."""
    named = isinstance(bounds, Mapping)
    listed: list[Any] = []
    if isinstance(bounds, Mapping):
        listed = list(bounds.items())
    elif isinstance(bounds, Iterable) and getattr(bounds, "ndim", 1) > 0:
        listed = list(enumerate(bounds))
    if not listed:
        raise InvalidInput("a box needs at least one axis", bounds, "Pass pairs such as [(0, 1)], one an axis.")
    pairs = []
    for name, pair in listed:
        try:
            low, high = pair
        except (TypeError, ValueError):
            raise InvalidInput(
                f"axis {name} must be a pair (low, high)", pair, "Pass for example (0, 1)."
            ) from None
        fix = "Pass two finite numbers, the lower one first."
        low, high = (finite_number(edge, f"a bound of axis {name}", fix) for edge in (low, high))
        if not low < high or not math.isfinite(high - low):
            raise InvalidInput(f"the bounds of axis {name} must increase", (low, high), fix)
        pairs.append((low, high))
    if named:
        names = tuple(str(name) for name, _ in listed)
    else:
        names = ("x",) if len(pairs) == 1 else tuple(f"x{j}" for j in range(len(pairs)))
    return names, tuple(pairs)


def with_feedback(region: Region, feedback: Viewer) -> Region:
    """Return the same region as seen by another feedback."""
    return replace(region, feedback=feedback)
