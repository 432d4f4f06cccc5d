"""A region that is a product over axes: an interval of each continuous one, a set of symbols of each other.

On a logarithmic axis everything kept here is in decades, where cells are equal and averages are taken; `Interval`
turns it into the user's numbers on the way out.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from zonal.errors import InvalidInput
from zonal.spaces.axes import Category, Interval, alike
from zonal.spaces.region import ROUNDING, Floats, Region
from zonal.tables.listings import Cell, Span, labelled

Edges = tuple[tuple[float, float], ...]

MOST_POINTS = 10_000_000  # that anyone will really want listed


@dataclass(frozen=True, repr=False)
class ProductRegion(Region):
    """A product over axes.

    On an axis of symbols ``bounds`` are the first and the last symbol's number, ``widths`` the share of the
    whole, and ``center`` is the symbol's number if there is only one, else NaN; ``symbols`` names them. On a
    logarithmic axis ``widths`` are in decades, and the centre is the geometric mean of the edges.
    """

    # On an axis of symbols: the set as a number, and its share of the whole.
    offset: tuple[float, ...] = ()  # of the centre from the space's lower corner: no digits lost far from 0
    sizes: tuple[float, ...] = ()
    edges: Edges = field(default=(), repr=False)
    parts: tuple[int, ...] | None = field(default=None, repr=False)  # which part of each axis a cell is

    @property
    def key(self) -> Hashable:
        """What tells this region from others of the same space: its edges, as long as they can."""
        return (self.edges, self.node) if self._below_spacing() else self.edges

    def check(self) -> None:
        """Complain of a region from a file if its space has none such."""
        if self.node is not None:
            there = alike(replace(self, feedback=None), self.space.cell(self.node))
        else:
            parts = zip(self.space.axes, self.offset, self.sizes, self.edges, strict=True)
            there = self.parts is None and all(_is_part(*part) for part in parts)
        if not there:
            raise InvalidInput("there is no such region in this space", self.edges, "Describe it anew.")

    def _below_spacing(self) -> bool:
        """Tell whether a cell is so small that its edges, rounded, are also those of others."""
        return self.parts is not None and any(
            abs(high - low - size) > size / 4
            for axis, (low, high), size in zip(self.space.axes, self.edges, self.sizes, strict=True)
            if isinstance(axis, Interval)
        )

    @property
    def bounds(self) -> Floats:
        """Lower and upper edge on each axis, shape (d, 2), in native units."""
        bounds = np.array(self.edges)
        for j, axis in enumerate(self.space.axes):
            if isinstance(axis, Category):
                members = axis.members(int(self.offset[j]))
                bounds[j] = members[0], members[-1]
            else:
                bounds[j] = axis.native(bounds[j])
        return bounds

    @property
    def center(self) -> Floats:
        """The centre, shape (d,)."""
        center = self.space.native(self.space.corner + self.offset)
        for j, axis in self.space.categories:
            members = axis.members(int(self.offset[j]))
            center[j] = members[0] if len(members) == 1 else math.nan
        return np.asarray(center)

    @property
    def widths(self) -> Floats:
        """The width on each axis, shape (d,); in decades on a logarithmic one."""
        return np.array(self.sizes)

    @property
    def weight(self) -> float:
        """The volume in native units (decades on a logarithmic axis), times the share of the symbols."""
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
        places = self._places()
        points = places[0][0][:, None]
        for place, _ in places[1:]:
            points = np.concatenate((points.repeat(len(place), 0), np.tile(place, len(points))[:, None]), axis=1)
        shown: Floats = self.space.native(points)
        return shown

    @property
    def weights(self) -> Floats:
        """The weights of the representative points, shape (n,); they add up to 1."""
        weights = np.ones(1)
        for _, shares in self._places():
            weights = np.multiply.outer(weights, shares).ravel()
        return weights

    @property
    def x(self) -> Any:
        """The centre; with symbols, the middle or the symbols of each axis by name; of sequences, the pool."""
        if not self.space.categories:
            return self.center
        if self.space.spelled:
            return self.name
        middle = self.center.tolist()
        return {
            name: middle[j] if isinstance(self.space.axes[j], Interval) else part
            for j, (name, part) in enumerate(self.as_dict().items())
        }

    def as_dict(self) -> dict[str, Any]:
        """Return [low, high] of each continuous axis, and the symbol or symbols of each other, by name."""
        if self.space.spelled:
            return {self.space.spelled: self.name}
        plain: dict[str, Any] = {}
        for axis, named, edges in zip(self.space.axes, self.symbols, self.bounds.tolist(), strict=True):
            plain[axis.name] = edges if named is None else named[0] if len(named) == 1 else list(named)
        return plain

    def cells(self) -> dict[str, Cell]:
        """Return the part of each axis; of sequences nothing, since the name says it all."""
        cells: dict[str, Cell] = {}
        for axis, named, edges in zip(self.space.axes, self.symbols, self.bounds.tolist(), strict=True):
            if self.space.spelled:
                continue
            if named is None:
                cells[labelled(axis.name, axis.unit)] = Span(*edges)
            else:
                cells[axis.name] = "any" if len(named) == len(axis.symbols) else "|".join(named)
        return cells

    def overlaps(self, other: Any) -> bool:
        """Tell whether a region of the same space has anything in common with this one; an edge is nothing."""
        for j, axis in enumerate(self.space.axes):
            if isinstance(axis, Category):
                if not int(self.offset[j]) & int(other.offset[j]):
                    return False
                continue
            slack = ROUNDING * (axis.high - axis.low)
            (low, high), (left, right) = self.edges[j], other.edges[j]
            if min(high, right) - max(low, left) <= (-slack if low == high or left == right else slack):
                return False
        return True

    def holds(self, other: Any) -> bool:
        """Tell whether a region of the same space lies within this one, but for rounding."""
        for axis, pool, inner, (low, high), (left, right) in zip(
            self.space.axes, self.offset, other.offset, self.edges, other.edges, strict=True
        ):
            if isinstance(axis, Category):
                if int(inner) & ~int(pool):
                    return False
                continue
            slack = ROUNDING * (right - left)
            if left < low - slack or right > high + slack:
                return False
        return True

    def _places(self) -> list[tuple[Floats, Floats]]:
        """Return where one looks along each axis, and with which weights."""
        viewer, places = self.viewer(), []
        for j, axis in enumerate(self.space.axes):
            if isinstance(axis, Category):
                pool = int(self.offset[j])
                members = axis.members(pool)
                places.append((np.array(members, dtype=float), axis.frequencies(pool)[members]))
            else:
                inside, shares = viewer.nodes(axis, self.sizes[j])
                places += [(axis.low + self.offset[j] + inside, shares)]
        if len(places) > 1 and math.prod(len(place) for place, _ in places) > MOST_POINTS:
            raise InvalidInput(
                f"too many representative points to list in {len(places)} dimensions",
                self.viewer(),
                "Use region.bounds and region.symbols, and form them piece by piece.",
            )
        return places


def _is_part(axis: Interval | Category, offset: float, size: float, edges: tuple[float, float]) -> bool:
    """Tell whether what a file says of a part of an axis belongs together, and lies on the axis."""
    low, high = edges
    if isinstance(axis, Category):
        pool = int(offset)
        return pool == low == high == offset and 0 < pool <= axis.whole and alike(size, axis.share(pool))
    slack = ROUNDING * (axis.high - axis.low)
    within = axis.low - slack <= low <= high <= axis.high + slack
    return within and abs(high - low - size) <= slack and abs((low + high) / 2 - axis.low - offset) <= slack


def span(axis: Interval, low: float, high: float) -> str:
    """Return "low..high" in the user's numbers, with as many digits as it takes to tell neighbours apart."""
    if axis.log:
        decades = high - low if high > low else 1e-3
        digits = max(3, 2 - math.floor(math.log10(decades)))
        return f"{axis.native(low):.{digits}g}..{axis.native(high):.{digits}g}"
    size = high - low if high > low else max(abs(low), 1.0) * 1e-3
    digits = max(0, 3 - math.floor(math.log10(size)))

    def show(x: float) -> str:
        text = f"{x:.{digits}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text

    return f"{show(low)}..{show(high)}"
