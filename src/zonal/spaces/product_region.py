"""A region that is a product over axes: a part of each, as the axis counts it.

On a logarithmic axis everything kept here is in decades, where cells are equal and averages are taken; the axis
turns it into the user's numbers on the way out.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from zonal.arrays import Floats
from zonal.errors import InvalidInput
from zonal.spaces.axes import Part, alike
from zonal.spaces.making import Axis
from zonal.spaces.region import Region
from zonal.tables.listings import Cell

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
    def along(self) -> list[tuple[Axis, Part]]:
        """Each axis, and its part."""
        return list(zip(self.space.axes, zip(self.offset, self.sizes, self.edges, strict=True), strict=True))

    @property
    def key(self) -> Hashable:
        """What tells this region from others of the same space: its edges, as long as they can."""
        distinct = self.parts is None or all([axis.is_distinct(part) for axis, part in self.along])
        return self.edges if distinct else (self.edges, self.node)

    def check(self) -> None:
        """Complain of a region from a file if its space has none such."""
        if self.node is not None:
            there = alike(replace(self, feedback=None), self.space.cell(self.node))
        else:
            there = self.parts is None and all(axis.is_part(part) for axis, part in self.along)
        if not there:
            raise InvalidInput("there is no such region in this space", self.edges, "Describe it anew.")

    @property
    def bounds(self) -> Floats:
        """Lower and upper edge on each axis, shape (d, 2), in native units."""
        return np.array([axis.bounds(part) for axis, part in self.along], dtype=float)

    @property
    def drawn(self) -> Floats:
        """Where it begins and ends on each axis of a picture, shape (d, 2)."""
        return np.array([axis.drawn(part) for axis, part in self.along], dtype=float)

    @property
    def center(self) -> Floats:
        """The centre, shape (d,)."""
        return np.array([axis.center(part) for axis, part in self.along], dtype=float)

    @property
    def widths(self) -> Floats:
        """The width on each axis, shape (d,); in decades on a logarithmic one."""
        return np.array(self.sizes)

    @property
    def weight(self) -> float:
        """The volume in native units (decades on a logarithmic axis), times the share of the symbols."""
        return math.prod(self.sizes)

    @property
    def symbols(self) -> tuple[tuple[Any, ...] | None, ...]:
        """The symbols on each axis, None on a continuous one."""
        return tuple(axis.symbols_in(part) for axis, part in self.along)

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

    def _places(self) -> list[tuple[Floats, Floats]]:
        """Return where one looks along each axis, and with which weights."""
        feedback: Any = self.viewer()
        places = [axis.rule(part, feedback) for axis, part in self.along]
        if len(places) > 1 and math.prod(len(place) for place, _ in places) > MOST_POINTS:
            raise InvalidInput(
                f"too many representative points to list in {len(places)} dimensions",
                feedback,
                "Use region.bounds and region.symbols, and form them piece by piece.",
            )
        return places

    def faces(self, axis: int) -> tuple[float, ProductRegion, ProductRegion]:
        """Return how far the two faces across an axis are apart, in its units, and the faces: lower, upper."""
        own = [part for _, part in self.along]
        run, *ends = self.space.axes[axis].faces(own[axis])
        low, high = (zip(*own[:axis], end, *own[axis + 1 :], strict=True) for end in ends)
        return run, ProductRegion(self.space, None, None, *low), ProductRegion(self.space, None, None, *high)

    def _sample(self, number: int, rng: np.random.Generator) -> Any:
        drawn = [axis.sample(part, number, rng) for axis, part in self.along]
        if self.space.continuous:
            return np.stack(drawn, axis=1)
        each = zip(*drawn, strict=True)
        if self.space.spelled:
            return [self.space.written(symbols) for symbols in each]
        return [dict(zip(self.space.names, values, strict=True)) for values in each]

    @property
    def x(self) -> Any:
        """The centre; with symbols, the middle or the symbols of each axis by name; of sequences, the pool."""
        if self.space.continuous:
            return self.center
        if self.space.spelled:
            return self.name
        return {axis.name: (axis.plain if axis.symbolic else axis.center)(part) for axis, part in self.along}

    def as_dict(self) -> dict[str, Any]:
        """Return [low, high] of each continuous axis, and the symbol or symbols of each other, by name."""
        if self.space.spelled:
            return {self.space.spelled: self.name}
        return {axis.name: axis.plain(part) for axis, part in self.along}

    def as_json(self) -> dict[str, Any]:
        """Return what programs are told: name, node, and bounds with their units, or symbols."""
        found = super().as_json()
        if self.space.spelled:
            return {**found, "symbols": [list(own or ()) for own in self.symbols]}
        for axis, part in self.along:
            for what, own in axis.as_json(part).items():
                found.setdefault(what, {})[axis.name] = own
        return found

    def row(self) -> list[Any]:
        """Return the cells of the columns of a sheet that say exactly where it is."""
        return [] if self.space.spelled else [cell for axis, part in self.along for cell in axis.cells(part)]

    def cells(self) -> dict[str, Cell]:
        """Return the part of each axis; of sequences nothing, since the name says it all."""
        listed: dict[str, Cell] = {}
        for axis, part in () if self.space.spelled else self.along:
            listed |= axis.listed(part)
        return listed

    @property
    def label(self) -> str:
        """The name, where it is short: of sequences."""
        return self.name if self.space.spelled else ""

    def overlaps(self, other: Any) -> bool:
        """Tell whether a region of the same space has anything in common with this one; an edge is nothing."""
        return all(axis.overlap(one, own) for (axis, one), (_, own) in zip(self.along, other.along, strict=True))

    def holds(self, other: Any) -> bool:
        """Tell whether a region of the same space lies within this one, but for rounding."""
        return all(axis.holds(one, own) for (axis, one), (_, own) in zip(self.along, other.along, strict=True))
