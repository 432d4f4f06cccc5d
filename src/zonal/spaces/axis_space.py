"""Spaces of axes and their regions: products of one part of each axis.

On a logarithmic axis everything stored here is in decades, in which cells are equal and averages are taken; the
axis converts to and from the user's numbers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from zonal._types import Floats, Ints
from zonal.errors import InvalidInput, is_listed, require, whole_number
from zonal.kernels.feedback import Feedback, Footprints
from zonal.kernels.layout import ProductLayout
from zonal.spaces.axes import Axis, ContinuousAxis, Part, Symbol
from zonal.spaces.base import RESTORE, Node, PartLike, Region, RegionLike, Space, checked_node, checked_view
from zonal.spaces.categorical import CategoricalAxis
from zonal.spaces.partition import AxisPartition
from zonal.spaces.text import arranged, node_of, parts_in_text, parts_of, space_text

MOST_PARTS = 1000  # of a cell
MOST_POINTS = 10_000_000  # representative points that are listed


@dataclass(frozen=True, repr=False)
class ProductRegion(Region):
    """A product over axes.

    On a categorical axis ``bounds`` are the numbers of the first and last symbol, ``widths`` the share of the
    whole, and ``center`` is the symbol's number if there is only one, else NaN; ``symbols`` has the symbols. On a
    logarithmic axis ``widths`` are in decades, and the centre is the geometric mean of the edges.
    """

    space: AxisSpace
    _parts: tuple[Part, ...] = ()  # by axis
    _cell: tuple[int, ...] | None = None  # of a cell of the tree, the numbers of these parts

    @property
    def along(self) -> list[tuple[Axis, Part]]:
        """Each axis with its part."""
        return list(zip(self.space.axes, self._parts, strict=True))

    @property
    def key(self) -> Hashable:
        """A value that differs between regions of the same space: the edges, if rounding keeps them distinct."""
        edges = tuple([part[2] for part in self._parts])
        distinct = self._cell is None or all([axis.is_distinct(part) for axis, part in self.along])
        return edges if distinct else (edges, self.node)

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
        return np.array([size for _, size, _ in self._parts])

    @property
    def weight(self) -> float:
        """The volume in native units (decades on a logarithmic axis), times the share of the symbols."""
        return math.prod([size for _, size, _ in self._parts])

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
        return native(self.space.axes, points)

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

    def overlaps(self, other: Region) -> bool:
        """Tell whether another region of the same space overlaps this one; a shared edge does not count."""
        pairs = zip(self.along, self._neighbour(other).along, strict=True)
        return all(axis.overlap(ours, theirs) for (axis, ours), (_, theirs) in pairs)

    def contains(self, other: Region) -> bool:
        """Tell whether a region of the same space lies within this one, up to rounding."""
        pairs = zip(self.along, self._neighbour(other).along, strict=True)
        return all(axis.contains(ours, theirs) for (axis, ours), (_, theirs) in pairs)


class AxisSpace(Space):
    """Base class of spaces of axes; a space of your own defines `_next_axis`."""

    axes: tuple[Axis, ...]
    arity: int
    is_sequence: ClassVar[bool] = False  # whether a region is defined completely by its name

    def __repr__(self) -> str:
        """Return the axes, and whatever is not the default."""
        return space_text(self)

    def check(self) -> None:
        """Raise if this space, read from a file, is not possible."""
        has_axes = isinstance(self.axes, tuple) and self.axes
        require(has_axes, "a space needs at least one axis", self.axes, RESTORE)
        for axis in self.axes:
            require(isinstance(axis, Axis), "this is not an axis", axis, RESTORE)
            axis.check()
        whole_number(self.arity, "arity", 2, MOST_PARTS)

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The axes' names."""
        return tuple(axis.name for axis in self.axes)

    @property
    def units(self) -> tuple[str, ...]:
        """The axes' units."""
        return tuple(axis.unit for axis in self.axes)

    @cached_property
    def continuous_axes(self) -> tuple[int, ...]:  # type: ignore[override]
        """The numbers of the axes that have distances."""
        return tuple(j for j, axis in enumerate(self.axes) if not axis.is_categorical)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """One pair (low, high) per axis."""
        return tuple(axis.bounds(axis.cell(0, 1)) for axis in self.axes)

    # The tree.

    def _next_axis(self, splits: tuple[int, ...]) -> int | None:
        """Return the axis to split next, given how often each was: the widest relative to its whole.

        Ties go to the first; axes that cannot be split further are skipped.
        """
        by_axis = zip(self.axes, splits, strict=True)
        left = [j for j, (axis, number) in enumerate(by_axis) if axis.may_split(number, self.arity)]
        return min(left, key=splits.__getitem__, default=None)

    @cached_property
    def partition(self) -> AxisPartition:
        """The tree: which axis is split at each depth."""
        return AxisPartition(self)

    def with_smallest(self) -> Self:
        """Return the space with a smallest region: its own, or that of a search without one."""
        if self.max_depth() is not None:
            return self
        by_axis = zip(self.axes, self.partition.widths(self.partition.default_depth()).tolist(), strict=True)
        axes = tuple(
            axis.with_smallest(width) if isinstance(axis, ContinuousAxis) else axis for axis, width in by_axis
        )
        return self.with_axes(axes)

    def with_axes(self, axes: tuple[Axis, ...]) -> Self:
        """Return the same kind of space with other axes."""
        space = object.__new__(type(self))
        parts = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}  # type: ignore[arg-type]
        vars(space).update(parts, axes=axes)
        return space

    def sides(self) -> Floats:
        """Return the width of the whole space along each axis, shape (d,)."""
        return self.partition.widths(0)

    # Cells.

    def cell(self, node: Node, feedback: Feedback | None = None) -> ProductRegion:
        """Return the region of a node of the tree."""
        depth, index = checked_node(node, self)
        cell = self.seen((depth, index), np.array(self.partition.parts(depth, index)), checked_view(feedback))
        if not cell.widths.all():
            raise InvalidInput("this cell of the tree is empty", node, "Pass a cell that `split` returned.")
        return cell

    def seen(self, node: Node, cell: Ints, feedback: Feedback | None) -> ProductRegion:
        """Return the region of a node, given the numbers of its parts."""
        numbers = tuple(cell.tolist())
        by_axis = zip(self.axes, numbers, self.partition.pieces(node[0]), strict=True)
        parts = tuple([axis.cell(number, pieces) for axis, number, pieces in by_axis])
        return ProductRegion(self, node, feedback, parts, numbers)

    def split(self, region: Region) -> tuple[ProductRegion, ...]:
        """Return the children of a cell of the tree, in order of the coordinate or of the symbols."""
        if region.node is None or not isinstance(region, ProductRegion):
            raise InvalidInput("only a cell of the tree can be split", region.name, "Use cell().")
        depth, index = region.node
        into = self.partition.level(depth).children
        require(into, "this cell cannot be split", region.name, "Ask may_split() first.")
        cell = np.array(region._cell, dtype=object)  # any number of digits
        numbers, cells = self.partition.children(depth, 0, cell)
        first, children = index * into, zip(numbers.tolist(), cells, strict=True)
        return tuple(self.seen((depth + 1, first + number), parts, region.feedback) for number, parts in children)

    # From the user's description to a region.

    def region(self, what: RegionLike, feedback: Feedback | None = None) -> ProductRegion:
        """Return any region of the space, whether it is a cell of the tree or not.

        Parameters
        ----------
        what : mapping of name to part, array_like of shape (d, 2), or str
            For a continuous axis (low, high), where equal edges mean a point; for a categorical axis one symbol,
            or a list of them. Axes that are not named are whole. An array has lower and upper edges, if all axes
            are continuous. A text is the name of a region, such as ``"l 0..90 deg, sin_b -1..0"``.
        feedback : feedback, optional
            How the region is measured; needed for its representative points.
        """
        feedback = checked_view(feedback)
        if not isinstance(what, str):
            return self._of(parts_of(self, what), feedback)
        return self._cell_or(self._of(parts_of(self, self.from_text(what)), feedback))

    def _cell_or(self, region: ProductRegion) -> ProductRegion:
        """Return the cell that a region is, or else the region."""
        node = node_of(self, region)
        return region if node is None else self.cell(node, region.feedback)

    def _of(self, described: Sequence[PartLike | None], feedback: Feedback | None) -> ProductRegion:
        """Return the region given by a description of the part on each axis; None for the whole axis."""
        by_axis = zip(self.axes, described, strict=True)
        parts = [axis.cell(0, 1) if part is None else axis.parse(part, self.arity) for axis, part in by_axis]
        return self.of_parts(parts, feedback)

    def of_parts(self, parts: Iterable[Part], feedback: Feedback | None = None) -> ProductRegion:
        """Return the product of some parts, one per axis."""
        return ProductRegion(self, None, feedback, tuple(parts))

    def _lists_one(self, what: Iterable[PartLike], first: PartLike) -> bool:
        edge = next(iter(first), 0) if is_listed(first) and not isinstance(first, str) else 0
        return not isinstance(first, str) and (isinstance(edge, str) or not is_listed(edge))

    def _describe(self, region: ProductRegion) -> str:
        """Return the name of a region."""
        return ", ".join([f"{axis.name} {axis.text(part)}" for axis, part in region.along])

    def _as_dict(self, region: ProductRegion) -> dict[str, Any]:
        """Return by axis [low, high], or the symbol or symbols of a categorical one."""
        return {axis.name: axis.to_json(part) for axis, part in region.along}

    def from_text(self, text: str) -> RegionLike:
        """Return, from a text such as ``l=0..90, dye=red|green``, an argument for `region`."""
        return parts_in_text(self, text)

    def arrange(
        self, values: ArrayLike | Mapping[str, ArrayLike], what: str, axes: Sequence[str] | None = None
    ) -> ArrayLike | None:
        """Return values as an array with one dimension per axis, in the order of the axes."""
        return arranged(self, values, what, axes)

    def _point(self, values: Sequence[Symbol]) -> Mapping[str, Symbol] | str:
        """Return a point, given its value on each axis: these by name."""
        return dict(zip(self.names, values, strict=True))

    # Measures.

    def layout(self, feedback: Feedback) -> ProductLayout:
        """Return the object that finds which pairs of regions are equivalent."""
        return ProductLayout(self.axes, feedback)

    def footprints(
        self, regions: Sequence[Any], usual: Feedback, others: Sequence[Feedback] | None = None
    ) -> Footprints:
        """Return what measurements of regions average over, with the usual feedback or each with its own."""
        parts = [[part[:2] for _, part in region.along] for region in regions]
        extents = np.array(parts, dtype=float).transpose(2, 0, 1)
        return Footprints(extents, None if others is None else tuple(others))


def native(axes: Sequence[Axis], places: Floats) -> Floats:
    """Return positions, shape (..., d), in the user's numbers."""
    return np.stack([axis.native(places[..., j]) for j, axis in enumerate(axes)], axis=-1)
