"""A region that is a product over axes: one part of each axis.

On a logarithmic axis everything stored here is in decades, in which cells are equal and averages are taken; the
axis converts to and from the user's numbers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from zonal._types import Floats
from zonal.errors import InvalidInput, is_quantity, mapped, reject, require
from zonal.spaces.axes import Axis, Part, Symbol
from zonal.spaces.base import PartLike, Region, RegionLike, as_array
from zonal.spaces.categorical import CategoricalAxis

if TYPE_CHECKING:
    from zonal.spaces.axis_space import AxisSpace

MOST_POINTS = 10_000_000  # representative points that are listed
MOST_LEVELS = 64  # with more, the cells of a tree cannot be numbered


@dataclass(frozen=True, repr=False)
class ProductRegion(Region):
    """A product over axes.

    On a categorical axis ``bounds`` are the numbers of the first and last symbol, ``widths`` the share of the
    whole, and ``center`` is the symbol's number if there is only one, else NaN; ``symbols`` has the symbols. On a
    logarithmic axis ``widths`` are in decades, and the centre is the geometric mean of the edges.
    """

    space: AxisSpace
    # On a categorical axis: the set as a number, and its share of the whole.
    offset: tuple[float, ...] = ()  # of the centre from the lower corner, so that no digits are lost
    sizes: tuple[float, ...] = ()
    edges: tuple[tuple[float, float], ...] = ()
    parts: tuple[int, ...] | None = None  # of a cell, by axis

    @property
    def along(self) -> list[tuple[Axis, Part]]:
        """Each axis with its part."""
        return list(zip(self.space.axes, zip(self.offset, self.sizes, self.edges, strict=True), strict=True))

    @property
    def key(self) -> Hashable:
        """A value that differs between regions of the same space: the edges, if rounding keeps them distinct."""
        distinct = self.parts is None or all([axis.is_distinct(part) for axis, part in self.along])
        return self.edges if distinct else (self.edges, self.node)

    @property
    def name(self) -> str:
        """A readable name: ``"l 0..11 deg, sin_b -0.06..0"``, ``"ATNNNNNN"``."""
        return self.space._describe(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the region as plain numbers and texts, ready for JSON; ``space.region`` accepts it."""
        return self.space._as_dict(self)

    @property
    def bounds(self) -> Floats:
        """Lower and upper edge on each axis, shape (d, 2), in native units."""
        return np.array([axis.bounds(part) for axis, part in self.along], dtype=float)

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
    def symbols(self) -> tuple[tuple[Symbol, ...] | None, ...]:
        """The symbols on each axis, None on a continuous one."""
        return tuple(
            axis.symbols_in(part) if isinstance(axis, CategoricalAxis) else None for axis, part in self.along
        )

    @property
    def points(self) -> Floats:
        """The representative points, shape (n, d), last axis fastest; symbols as numbers."""
        places = self._places()
        points = places[0][0][:, None]
        for place, _ in places[1:]:
            points = np.concatenate((points.repeat(len(place), 0), np.tile(place, len(points))[:, None]), axis=1)
        return self.space.native(points)

    @property
    def weights(self) -> Floats:
        """The weights of the representative points, shape (n,); they add up to 1."""
        weights = np.ones(1)
        for _, shares in self._places():
            weights = np.multiply.outer(weights, shares).ravel()
        return weights

    def _places(self) -> list[tuple[Floats, Floats]]:
        """Return positions and weights of the representative points along each axis."""
        feedback = self._viewer()
        places = [axis.rule(part, feedback) for axis, part in self.along]
        if len(places) > 1 and math.prod(len(place) for place, _ in places) > MOST_POINTS:
            raise InvalidInput(
                f"too many representative points to list in {len(places)} dimensions",
                feedback,
                "Use region.bounds and region.symbols, and generate the points in parts.",
            )
        return places

    def faces(self, axis: int) -> tuple[float, ProductRegion, ProductRegion]:
        """Return the distance of the two faces across an axis, in its units, and the faces: lower, upper."""
        parts = [part for _, part in self.along]
        run, *ends = self.space.axes[axis].end_points(parts[axis])
        low, high = (zip(*parts[:axis], end, *parts[axis + 1 :], strict=True) for end in ends)
        return run, ProductRegion(self.space, None, None, *low), ProductRegion(self.space, None, None, *high)

    def _sample(self, number: int, rng: np.random.Generator) -> Any:
        drawn = [axis.sample(part, number, rng) for axis, part in self.along]
        if self.space.continuous:
            return np.stack(drawn, axis=1)
        return [self.space._point(values) for values in zip(*drawn, strict=True)]

    @property
    def x(self) -> Any:
        """The centre; with symbols, the centre or the symbols of each axis by name; for sequences, the pool."""
        if self.space.continuous:
            return self.center
        if self.space.is_sequence:
            return self.name
        return {
            axis.name: (axis.to_json if axis.is_categorical else axis.center)(part) for axis, part in self.along
        }

    @property
    def share(self) -> float:
        """How much of the space lies in the region; every symbol counts as one."""
        return math.prod(axis.share(part) for axis, part in self.along)

    def overlaps(self, other: Region) -> bool:
        """Tell whether another region of the same space overlaps this one; a shared edge does not count."""
        pairs = zip(self.along, self._neighbour(other).along, strict=True)
        return all(axis.overlap(ours, theirs) for (axis, ours), (_, theirs) in pairs)

    def contains(self, other: Region) -> bool:
        """Tell whether a region of the same space lies within this one, up to rounding."""
        pairs = zip(self.along, self._neighbour(other).along, strict=True)
        return all(axis.contains(ours, theirs) for (axis, ours), (_, theirs) in pairs)


def parts_of(space: AxisSpace, what: RegionLike) -> list[PartLike | None]:
    """Return, from the user's description of a region, that of the part on each axis; None where it is whole."""
    if isinstance(what, Mapping):
        what = mapped(what, "a region must be a mapping from axis to part", f"Axes: {space.names}.")
        unknown = (name for name in what if not isinstance(name, str) or name not in space.names)
        reject(unknown, "a region names an axis that is not there", f"Axes: {space.names}.")
        return [what.get(name) for name in space.names]
    if not space.continuous:
        axis = next(axis for axis in space.axes if axis.is_categorical)
        raise InvalidInput(
            "a region of a space with symbols must be a mapping from axis to part",
            what,
            f"Pass for example {{{axis.name!r}: {axis.to_json(axis.cell(0, 2))!r}}}.",
        )
    if _has_units(what) and len(what) == space.d:
        return list(what)  # each axis has its own unit
    edges = as_array(what)
    require(edges.dtype.kind in "iuf", "a region's bounds must be numbers", what, "Pass pairs.")
    problem = f"a region's bounds must have shape ({space.d}, 2), one pair per axis"
    require(edges.shape == (space.d, 2), problem, what, "Pass (low, high) for each axis.")
    return list(edges.tolist())


def _has_units(what: RegionLike) -> TypeGuard[Sequence[PartLike]]:
    """Tell whether an array, one of the pairs in a list, or an edge of one has a unit."""
    pairs = what if isinstance(what, list | tuple) else ()
    edges = (edge for pair in pairs if isinstance(pair, list | tuple) for edge in pair)
    return any(map(is_quantity, (what, *pairs, *edges)))


def node_of(space: AxisSpace, region: ProductRegion) -> tuple[int, int] | None:
    """Return the node of the tree whose cell a region is; None if there is none."""
    split = sum(axis.is_categorical and axis.number_of(part, 1) is None for axis, part in region.along)
    bottom = space.max_depth()
    depths = range(split, MOST_LEVELS if bottom is None else bottom + 1) if space.continuous_axes else [split]
    for depth in depths:
        by_axis = zip(region.along, space.pieces(depth), strict=True)
        numbers = [axis.number_of(part, pieces) for (axis, part), pieces in by_axis]
        left = [number for number in numbers if number is not None]
        if space.slots(depth) and len(left) == len(numbers):
            index, scale = 0, 1
            for above in reversed(range(depth)):  # the last split is the last digit of the index
                level = space.level(above)
                left[level.axis], digit = divmod(left[level.axis], level.children)
                index, scale = index + digit * scale, scale * level.children
            return depth, index
    return None
