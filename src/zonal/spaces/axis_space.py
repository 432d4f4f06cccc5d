"""Spaces of axes: which axis is split at each depth, the resulting cells, and regions the user describes.

A cell of the tree is stored as exact integers (how often each axis was split, and the number of its part), so that
neighbours share their edges exactly at any depth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from zonal._types import Flags, Floats, Ints
from zonal.errors import InvalidInput, is_listed, require, whole_number
from zonal.kernels.feedback import Feedback, Footprints
from zonal.kernels.layout import ProductLayout
from zonal.spaces.axes import Axis, Symbol
from zonal.spaces.base import (
    DEEPEST,
    RESTORE,
    Node,
    PartLike,
    Region,
    RegionLike,
    Space,
    checked_node,
    checked_view,
)
from zonal.spaces.continuous import ContinuousAxis
from zonal.spaces.grids import arranged
from zonal.spaces.product_region import MOST_LEVELS, ProductRegion, node_of, parts_of
from zonal.spaces.text import parts_in_text, space_text

MOST_PARTS = 1000  # of a cell
PARTS = {1: 256, 2: 32, 3: 16, 4: 8}  # of each continuous axis without a smallest, by their number
PROBE = np.zeros(1)


class _Level(NamedTuple):
    """What all cells of a depth have in common."""

    depth: int
    splits: list[int]  # how often each axis was split
    pieces: list[int]  # how many parts each axis has
    axis: int  # the axis that is split next
    children: int  # the number of parts it is split into; 0 if no axis is
    able: bool  # whether it can be: no part is smaller than the smallest useful size


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

    @cached_property
    def _shown(self) -> list[tuple[int, Axis]]:
        """The axes whose positions are not the user's numbers."""
        return [(j, axis) for j, axis in enumerate(self.axes) if axis.native(PROBE) is not PROBE]

    def native(self, places: Floats) -> Floats:
        """Return positions, shape (..., d), in the user's numbers."""
        shown = np.array(places) if self._shown else places
        for j, axis in self._shown:
            shown[..., j] = axis.native(shown[..., j])
        return shown

    # The tree.

    def _next_axis(self, splits: tuple[int, ...]) -> int | None:
        """Return the axis to split next, given how often each was: the widest relative to its whole.

        Ties go to the first; axes that cannot be split further are skipped.
        """
        by_axis = zip(self.axes, splits, strict=True)
        left = [j for j, (axis, number) in enumerate(by_axis) if axis.may_split(number, self.arity)]
        return min(left, key=splits.__getitem__, default=None)

    def level(self, depth: int) -> _Level:
        """Return what all cells of a depth have in common; beyond the deepest level, that of the deepest."""
        levels = self._levels
        last = levels[len(levels) - 1]
        while last.depth < depth and last.children:
            splits, pieces = list(last.splits), list(last.pieces)
            splits[last.axis] += 1
            pieces[last.axis] *= last.children
            last = self._made_level(last.depth + 1, splits, pieces)
            levels[last.depth] = last
        return levels.get(depth, last)

    @cached_property
    def _levels(self) -> dict[int, _Level]:
        """The levels of the tree, as far as they were used."""
        return {0: self._made_level(0, [0] * self.d, [1] * self.d)}

    def _made_level(self, depth: int, splits: list[int], pieces: list[int]) -> _Level:
        j = self._next_axis(tuple(splits))
        if j is None:
            return _Level(depth, splits, pieces, 0, 0, False)
        able = self.axes[j].may_split(splits[j], self.arity)
        return _Level(depth, splits, pieces, j, self.axes[j].parts(self.arity), able)

    @cached_property
    def _families(self) -> dict[tuple[int, int], tuple[Ints, Ints, Ints]]:
        """By axis and number of children: their numbers, and factor and steps from a cell's parts to theirs."""
        return {}

    def pieces(self, depth: int) -> list[int]:
        """Return into how many parts each axis is split at a depth."""
        return (self._levels[depth] if depth in self._levels else self.level(depth)).pieces

    @cached_property
    def _even(self) -> bool:
        """Whether all cells of a depth are equal, so that all or none of them can be split."""
        return all(axis.even for axis in self.axes)

    def slots(self, depth: int) -> int:
        """Return the number of possible indices at a depth; some may be empty."""
        level = self.level(depth)
        return math.prod(level.pieces) if level.depth == depth else 0

    def count(self, depth: int) -> int:
        """Return the number of cells at a depth, exactly."""
        depth = whole_number(depth, "depth", 0, DEEPEST)
        if self._even or depth == 0 or not self.slots(depth):
            return self.slots(depth)
        above = self.level(depth - 1)
        by_axis = zip(self.axes, above.pieces, above.splits, strict=True)
        return self.leaves(depth) - math.prod([axis.stuck(n, s, self.arity) for axis, n, s in by_axis])

    def indices(self, depth: int, parts: Sequence[Ints]) -> Ints:
        """Return the indices of cells of a depth, given their parts, one array per axis."""
        left, index, scale = [np.array(along) for along in parts], np.zeros(1, dtype=np.int64), 1
        for above in reversed(range(depth)):  # the last split is the last digit of the index
            level = self.level(above)
            left[level.axis], digit = np.divmod(left[level.axis], level.children)
            index = index + digit * scale
            scale *= level.children
        return index

    def existing(self, depth: int) -> list[Ints]:
        """Return the parts of each axis at a depth that are not empty."""
        by_axis = zip(self.axes, self.pieces(depth), strict=True)
        return [np.array([at for at in range(number) if axis.cell(at, number)[1]]) for axis, number in by_axis]

    def leaves(self, depth: int) -> int:
        """Return the number of leaves if the tree ended at a depth, including those above it."""
        by_axis = zip(self.axes, self.pieces(depth), strict=True)
        return math.prod([axis.count(number) for axis, number in by_axis]) if self.slots(depth) else 0

    def leaf(self, depth: int, number: int) -> Node:
        """Return one of the leaves if the tree ended at a depth, by number."""
        if self._even:
            return depth, number
        every = np.meshgrid(*self.existing(depth), indexing="ij")
        return depth, int(np.sort(self.indices(depth, [grid.ravel() for grid in every]))[number])

    def every(self, depth: int) -> list[ProductRegion]:
        """Return the leaves if the tree ended at a depth, in the order of the axes, the last one fastest."""
        parts = np.stack([grid.ravel() for grid in np.meshgrid(*self.existing(depth), indexing="ij")], axis=1)
        nodes = zip([depth] * len(parts), self.indices(depth, list(parts.T)).tolist(), strict=True)
        return [self.seen(node, cell, None) for node, cell in zip(nodes, parts, strict=True)]

    def representative_cells(self, depth: int, most: int) -> list[Node]:
        """Return cells that represent all of a depth: one, since all are equal."""
        return [(depth, 0)]

    def n_descendants(self, depth: int, bottom: int) -> int:
        """Return the number of cells of the depth `bottom` in one cell of a depth."""
        return -(-self.leaves(bottom) // self.leaves(depth))

    def max_depth(self) -> int | None:
        """Return the depth of the smallest cells, None if there is no limit."""
        endless = any(axis.places is None and axis.smallest is None for axis in self.axes)
        depth = 0
        while self.level(depth).able:
            depth += 1
            if endless and depth > MOST_LEVELS:
                return None
        return depth

    def default_depth(self) -> int:
        """Return the depth of the smallest regions if none are given: axes have `PARTS` parts, or all they can."""
        wanted, depth = PARTS.get(len(self.continuous_axes), PARTS[max(PARTS)]), 0
        while (level := self.level(depth)).able:
            by_axis = zip(self.axes, level.splits, level.pieces, strict=True)
            if not any(number < wanted and axis.may_split(splits, self.arity) for axis, splits, number in by_axis):
                break
            depth += 1
        return depth

    def with_smallest(self) -> Self:
        """Return the space with a smallest region: its own, or that of a search without one."""
        if self.max_depth() is not None:
            return self
        by_axis = zip(self.axes, self.widths(self.default_depth()).tolist(), strict=True)
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

    def widths(self, depth: int) -> Floats:
        """Return the widths of a cell at `depth`, shape (d,); on a categorical axis 1, or 0 if it is split."""
        return np.array([axis.width(number) for axis, number in zip(self.axes, self.pieces(depth), strict=True)])

    def grain(self, depth: int) -> str:
        """Return the size of the cells of a depth, axis by axis, for people."""
        return ", ".join(axis.grain(number) for axis, number in zip(self.axes, self.pieces(depth), strict=True))

    def sides(self) -> Floats:
        """Return the width of the whole space along each axis, shape (d,)."""
        return self.widths(0)

    def reach(self, depth: int, feedback: Feedback) -> Floats:
        """Return the largest distance, by axis, between a sampled point and any point of a cell of a depth."""
        widths = zip(self.axes, self.widths(depth).tolist(), strict=True)
        return np.array([axis.reach(feedback, width) for axis, width in widths])

    # Cells.

    def cell(self, node: Node, feedback: Feedback | None = None) -> ProductRegion:
        """Return the region of a node of the tree."""
        depth, index = checked_node(node, self)
        cell = self.seen((depth, index), np.array(self._parts(depth, index)), checked_view(feedback))
        if not all(cell.sizes):
            raise InvalidInput("this cell of the tree is empty", node, "Pass a cell that `split` returned.")
        return cell

    def _parts(self, depth: int, index: int) -> list[int]:
        """Return the number of a cell's part on each axis."""
        parts, scale, digits = [0] * self.d, [1] * self.d, index
        for above in reversed(range(depth)):  # the last split is the last digit of the index
            level = self.level(above)
            digits, digit = divmod(digits, level.children)
            parts[level.axis] += digit * scale[level.axis]
            scale[level.axis] *= level.children
        return parts

    def seen(self, node: Node, cell: Ints, feedback: Feedback | None) -> ProductRegion:
        """Return the region of a node, given the numbers of its parts."""
        parts = tuple(cell.tolist())
        along = zip(self.axes, parts, self.pieces(node[0]), strict=True)
        offset, sizes, edges = zip(*[axis.cell(part, number) for axis, part, number in along], strict=True)
        return ProductRegion(self, node, feedback, offset, sizes, edges, parts)

    def whole(self) -> Ints:
        """Return the whole space as numbers of parts, shape (1, d)."""
        return np.zeros((1, self.d), dtype=np.int64)

    def children(self, depth: int, index: int, cell: Ints) -> tuple[Ints, Ints]:
        """Return the children of a cell: their indices, and the numbers of their parts, one row each."""
        level = self._levels[depth] if depth in self._levels else self.level(depth)
        name = level.axis, level.children
        if name not in self._families:
            numbers, along = np.arange(level.children), np.arange(self.d) == level.axis
            self._families[name] = numbers, np.where(along, level.children, 1), np.outer(numbers, along)
        numbers, times, steps = self._families[name]
        cells = cell * times + steps
        if not self._even:  # some may be empty
            axis, pieces = self.axes[level.axis], level.pieces[level.axis] * level.children
            not_empty = [axis.cell(part, pieces)[1] > 0 for part in cells[:, level.axis].tolist()]
            cells, numbers = cells[not_empty], numbers[not_empty]
        return level.children * index + numbers, cells

    def splittable(self, depth: int, indices: Ints) -> Flags | bool:
        """Tell which cells of a depth have children, none of them smaller than the smallest useful size."""
        level = self._levels[depth] if depth in self._levels else self.level(depth)
        if self._even or not level.able:
            return level.able
        by_axis = enumerate(zip(self.axes, level.pieces, level.splits, strict=True))
        left = [(j, axis, n) for j, (axis, n, splits) in by_axis if axis.may_split(splits, self.arity)]
        cells = [self._parts(depth, index) for index in indices.tolist()]
        return np.array([any(axis.even or axis.cell(cell[j], n)[1] > 1 for j, axis, n in left) for cell in cells])

    def split(self, region: Region) -> tuple[ProductRegion, ...]:
        """Return the children of a cell of the tree, in order of the coordinate or of the symbols."""
        if region.node is None or not isinstance(region, ProductRegion):
            raise InvalidInput("only a cell of the tree can be split", region.name, "Use cell().")
        depth, index = region.node
        if not self.level(depth).children:
            raise InvalidInput("this cell cannot be split", region.name, "Ask may_split() first.")
        numbers, cells = self.children(depth, 0, np.array(region.parts, dtype=object))  # any number of digits
        first, children = index * self.level(depth).children, zip(numbers.tolist(), cells, strict=True)
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
        return ProductRegion(self, None, feedback, *zip(*parts, strict=True))

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

    def arrange(self, values: Any, what: str, axes: Any = None) -> Any:
        """Return values as an array with one dimension per axis, in the order of the axes."""
        return arranged(self, values, what, axes)

    def _point(self, values: Sequence[Symbol]) -> Mapping[str, Symbol] | str:
        """Return a point, given its value on each axis: these by name."""
        return dict(zip(self.names, values, strict=True))

    # Measures.

    def check_feedback(self, feedback: Feedback) -> None:
        """Raise if a feedback has no meaning here."""
        for axis in self.axes:
            axis.measure(feedback)

    def layout(self, feedback: Feedback) -> ProductLayout:
        """Return the object that finds which pairs of regions are equivalent."""
        return ProductLayout(self.axes, feedback)

    def footprints(
        self, regions: Sequence[Any], usual: Feedback, others: Sequence[Feedback] | None = None
    ) -> Footprints:
        """Return what measurements of regions average over, with the usual feedback or each with its own."""
        extents = np.array(
            [[region.offset for region in regions], [region.sizes for region in regions]], dtype=float
        )
        return Footprints(extents, None if others is None else tuple(others))
