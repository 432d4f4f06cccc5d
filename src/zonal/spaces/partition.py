"""The trees of spaces: how many cells there are at each depth, and how a cell is split.

On axes a cell is stored as exact integers (how often each axis was split, and the number of its part), so that
neighbours share their edges exactly at any depth. Members are sorted in the order of the tree, so that every cell
is a run of consecutive members, and every level of the tree is a few arrays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zonal._types import Flags, Floats, Ints
from zonal.errors import whole_number
from zonal.kernels.feedback import Feedback
from zonal.spaces.base import DEEPEST, Node, Partition

if TYPE_CHECKING:
    from zonal.spaces.axis_space import AxisSpace, ProductRegion
    from zonal.spaces.finite import FiniteSpace, SubsetRegion

MOST_LEVELS = 64  # with more, the cells of a tree cannot be numbered
PARTS = {1: 256, 2: 32, 3: 16, 4: 8}  # of each continuous axis without a smallest, by their number


class AxisLevel(NamedTuple):
    """What all cells of a depth have in common."""

    depth: int
    splits: list[int]  # how often each axis was split
    pieces: list[int]  # how many parts each axis has
    axis: int  # the axis that is split next
    children: int  # the number of parts it is split into; 0 if no axis is
    able: bool  # whether it can be: no part is smaller than the smallest useful size


class AxisPartition(Partition):
    """The tree of a space of axes, one of which is split at each depth."""

    def __init__(self, space: AxisSpace) -> None:
        self._space, self._axes, self._arity = space, space.axes, space.arity
        self._even = all(axis.even for axis in space.axes)  # then all cells of a depth can be split, or none
        # The levels that were used, and by axis and number of children, how to get from a cell to these.
        self._levels = {0: self._made_level(0, [0] * space.d, [1] * space.d)}
        self._families: dict[tuple[int, int], tuple[Ints, Ints, Ints]] = {}

    def level(self, depth: int) -> AxisLevel:
        """Return what all cells of a depth have in common; beyond the deepest level, that of the deepest."""
        levels = self._levels
        if depth in levels:
            return levels[depth]
        last = levels[len(levels) - 1]
        while last.depth < depth and last.children:
            splits, pieces = list(last.splits), list(last.pieces)
            splits[last.axis] += 1
            pieces[last.axis] *= last.children
            last = self._made_level(last.depth + 1, splits, pieces)
            levels[last.depth] = last
        return last

    def _made_level(self, depth: int, splits: list[int], pieces: list[int]) -> AxisLevel:
        j = self._space._next_axis(tuple(splits))
        if j is None:
            return AxisLevel(depth, splits, pieces, 0, 0, False)
        able = self._axes[j].may_split(splits[j], self._arity)
        return AxisLevel(depth, splits, pieces, j, self._axes[j].parts(self._arity), able)

    def pieces(self, depth: int) -> list[int]:
        """Return into how many parts each axis is split at a depth."""
        return self.level(depth).pieces

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
        by_axis = zip(self._axes, above.pieces, above.splits, strict=True)
        return self.leaves(depth) - math.prod([axis.stuck(n, s, self._arity) for axis, n, s in by_axis])

    def indices(self, depth: int, parts: Sequence[Ints]) -> Ints:
        """Return the indices of cells of a depth, given their parts, one array per axis."""
        left, index, scale = [np.array(along) for along in parts], np.zeros(1, dtype=np.int64), 1
        for above in reversed(range(depth)):  # the last split is the last digit of the index
            level = self.level(above)
            part = left[level.axis]
            left[level.axis], index = part // level.children, index + part % level.children * scale
            scale *= level.children
        return index

    def parts(self, depth: int, index: int) -> list[int]:
        """Return the number of a cell's part on each axis."""
        parts, scale, digits = [0] * len(self._axes), [1] * len(self._axes), index
        for above in reversed(range(depth)):  # the last split is the last digit of the index
            level = self.level(above)
            digits, digit = divmod(digits, level.children)
            parts[level.axis] += digit * scale[level.axis]
            scale[level.axis] *= level.children
        return parts

    def existing(self, depth: int) -> list[Ints]:
        """Return the parts of each axis at a depth that are not empty."""
        by_axis = zip(self._axes, self.pieces(depth), strict=True)
        return [np.array([at for at in range(number) if axis.cell(at, number)[1]]) for axis, number in by_axis]

    def leaves(self, depth: int) -> int:
        """Return the number of leaves if the tree ended at a depth, including those above it."""
        by_axis = zip(self._axes, self.pieces(depth), strict=True)
        return math.prod([axis.count(number) for axis, number in by_axis]) if self.slots(depth) else 0

    def leaf(self, depth: int, number: int) -> Node:
        """Return one of the leaves if the tree ended at a depth, by number."""
        if self._even:
            return depth, number
        every = np.meshgrid(*self.existing(depth), indexing="ij")
        return depth, int(np.sort(self.indices(depth, [grid.ravel() for grid in every]))[number])

    def leaf_regions(self, depth: int, numbers: Ints | None = None) -> list[ProductRegion]:
        """Return the leaves if the tree ended at a depth, in the order of the axes, the last one fastest."""
        existing = self.existing(depth)
        shape = [len(parts_of_axis) for parts_of_axis in existing]
        at = np.unravel_index(np.arange(math.prod(shape)) if numbers is None else numbers, shape)
        parts = np.stack([every[places] for every, places in zip(existing, at, strict=True)], axis=1)
        nodes = zip([depth] * len(parts), self.indices(depth, list(parts.T)).tolist(), strict=True)
        return [self._space.seen(node, cell, None) for node, cell in zip(nodes, parts, strict=True)]

    def representative_cells(self, depth: int, most: int) -> list[Node]:
        """Return cells that represent all of a depth: one, since all are equal."""
        return [(depth, 0)]

    def n_descendants(self, depth: int, bottom: int) -> int:
        """Return the number of cells of the depth `bottom` in one cell of a depth."""
        return -(-self.leaves(bottom) // self.leaves(depth))

    def max_depth(self) -> int | None:
        """Return the depth of the smallest cells, None if there is no limit."""
        endless = any(axis.places is None and axis.smallest is None for axis in self._axes)
        depth = 0
        while self.level(depth).able:
            depth += 1
            if endless and depth > MOST_LEVELS:
                return None
        return depth

    def default_depth(self) -> int:
        """Return the depth of the smallest regions if none are given: axes have `PARTS` parts, or all they can."""
        wanted, depth = PARTS.get(len(self._space.continuous_axes), PARTS[max(PARTS)]), 0
        while (level := self.level(depth)).able:
            by_axis = zip(self._axes, level.splits, level.pieces, strict=True)
            if not any(
                number < wanted and axis.may_split(splits, self._arity) for axis, splits, number in by_axis
            ):
                break
            depth += 1
        return depth

    def widths(self, depth: int) -> Floats:
        """Return the widths of a cell at `depth`, shape (d,); on a categorical axis 1, or 0 if it is split."""
        return np.array([axis.width(number) for axis, number in zip(self._axes, self.pieces(depth), strict=True)])

    def grain(self, depth: int) -> str:
        """Return the size of the cells of a depth, axis by axis, for people."""
        return ", ".join(axis.grain(number) for axis, number in zip(self._axes, self.pieces(depth), strict=True))

    def reach(self, depth: int, feedback: Feedback) -> Floats:
        """Return the largest distance, by axis, between a sampled point and any point of a cell of a depth."""
        widths = zip(self._axes, self.widths(depth).tolist(), strict=True)
        return np.array([axis.reach(feedback, width) for axis, width in widths])

    def whole(self) -> Ints:
        """Return the whole space as numbers of parts, shape (1, d)."""
        return np.zeros((1, len(self._axes)), dtype=np.int64)

    def children(self, depth: int, index: int, cell: Ints) -> tuple[Ints, Ints]:
        """Return the children of a cell: their indices, and the numbers of their parts, one row each."""
        level = self.level(depth)
        name = level.axis, level.children
        if name not in self._families:
            numbers, along = np.arange(level.children), np.arange(len(self._axes)) == level.axis
            self._families[name] = numbers, np.where(along, level.children, 1), np.outer(numbers, along)
        numbers, times, steps = self._families[name]
        cells = cell * times + steps
        if not self._even:  # some may be empty
            axis, pieces = self._axes[level.axis], level.pieces[level.axis] * level.children
            not_empty = [axis.cell(part, pieces)[1] > 0 for part in cells[:, level.axis].tolist()]
            cells, numbers = cells[not_empty], numbers[not_empty]
        return level.children * index + numbers, cells

    def splittable(self, depth: int, indices: Ints) -> Flags | bool:
        """Tell which cells of a depth have children, none of them smaller than the smallest useful size."""
        level = self.level(depth)
        if self._even or not level.able:
            return level.able
        by_axis = enumerate(zip(self._axes, level.pieces, level.splits, strict=True))
        left = [(j, axis, n) for j, (axis, n, splits) in by_axis if axis.may_split(splits, self._arity)]
        cells = [self.parts(depth, index) for index in indices.tolist()]
        return np.array([any(axis.even or axis.cell(cell[j], n)[1] > 1 for j, axis, n in left) for cell in cells])


@dataclass(frozen=True)
class Level:
    """The cells of one depth: members `start` to `stop`; their children are `children` cells from `first` on."""

    start: Ints
    stop: Ints
    first: Ints
    children: Ints


NO_CELLS = Level(*(np.zeros(0, dtype=np.intp) for _ in range(4)))


def divides(above: Level, below: Level) -> bool:
    """Tell whether the cells of a level partition those of the level above."""
    number, children = len(below.start), above.children
    columns = (below.start, below.stop, below.first, below.children)
    if {(column.dtype.kind, column.shape) for column in columns} != {("i", (number,))}:
        return False
    counted = 0 <= children.min() <= children.max() <= number == children.sum()
    if not (number and counted):
        return not (number or children.any())
    parent = np.repeat(np.arange(len(children)), children)
    begins = np.append(True, parent[1:] != parent[:-1])
    ends = np.append(begins[1:], True)
    return bool(
        np.array_equal(above.first, np.cumsum(children) - children)
        and np.array_equal(below.start, np.where(begins, above.start[parent], np.roll(below.stop, 1)))
        and np.array_equal(below.stop[ends], above.stop[parent[ends]])
        and (below.start < below.stop).all()
    )


class FinitePartition(Partition):
    """The tree of a space of members, level by level."""

    def __init__(self, space: FiniteSpace) -> None:
        self._space = space

    def level(self, depth: int) -> Level:
        """Return the cells of a depth; none beyond the deepest level."""
        return self._space._levels[depth] if depth < len(self._space._levels) else NO_CELLS

    def count(self, depth: int) -> int:
        """Return the number of cells at a depth, exactly."""
        return len(self.level(whole_number(depth, "depth", 0)).start)

    def leaves(self, depth: int) -> int:
        """Return the number of leaves if the tree ended at a depth, including those above it."""
        return self.count(depth) + sum(map(len, self._ends[:depth]))

    def leaf(self, depth: int, number: int) -> Node:
        """Return one of the leaves if the tree ended at a depth, by number."""
        for above, ends in enumerate(self._ends[:depth]):
            if number < len(ends):
                return above, int(ends[number])
            number -= len(ends)
        return depth, number

    def leaf_regions(self, depth: int, numbers: Ints | None = None) -> list[SubsetRegion]:
        """Return the leaves if the tree ended at a depth."""
        wanted = range(self.leaves(depth)) if numbers is None else numbers.tolist()
        return [self._space.cell(self.leaf(depth, number)) for number in wanted]

    @cached_property
    def _ends(self) -> list[Ints]:
        """The cells without children, by depth."""
        return [np.flatnonzero(level.children == 0) for level in self._space._levels]

    def grain(self, depth: int) -> str:
        """Return the size of the smallest cells if the tree ended at a depth, for people."""
        above = zip(self._space._levels[:depth], self._ends, strict=False)
        cells = [*above, (self.level(depth), slice(None))]
        start, stop = (
            np.concatenate([getattr(level, edge)[at] for level, at in cells]) for edge in ("start", "stop")
        )
        if (stop - start == 1).all():
            return f"single {self._space._called}"
        weights = sums(self._space.weights, start, stop)
        return f"{self._space._called} of weight {weights.min():.4g} to {weights.max():.4g}"

    def representative_cells(self, depth: int, most: int) -> list[Node]:
        """Return cells that represent all of a depth: some of them, spread evenly."""
        number = self.count(depth)
        spread = np.unique(np.linspace(0, number - 1, min(number, most)).astype(int))
        return [(depth, index) for index in spread.tolist()]

    def n_descendants(self, depth: int, bottom: int) -> int:
        """Return the number of members in the largest cell of a depth."""
        level = self.level(depth)
        return int((level.stop - level.start).max())

    def max_depth(self) -> int:
        """Return the depth of the deepest cells."""
        return len(self._space._levels) - 1

    default_depth = max_depth  # single members are the smallest regions

    def whole(self) -> Ints:
        """Return the whole space as a run of members, shape (1, 2)."""
        return np.array([[0, self._space.size]])

    def children(self, depth: int, index: int, cell: Ints) -> tuple[Ints, Ints]:
        """Return the children of a cell: their indices, and the runs of their members, one row each."""
        level, below = self.level(depth), self.level(depth + 1)
        first = int(level.first[index])
        children = np.arange(first, first + int(level.children[index]))
        return children, np.stack([below.start[children], below.stop[children]], axis=1)

    def splittable(self, depth: int, indices: Ints) -> Flags:
        """Tell which cells of a depth have children, none of them below the smallest useful weight."""
        return np.asarray(self.level(depth).children[indices] > 0)

    def reach(self, depth: int, feedback: Feedback) -> Floats:
        """Return the largest range of each feature in a cell of a depth; for codes, 1 if there are several."""
        level = self.level(depth)
        if not len(level.start):
            return np.zeros(self._space.d)
        edges = np.stack([level.start, level.stop], axis=1).ravel()
        padded = np.concatenate([self._space.features, self._space.features[-1:]])
        high, low = (np.asarray(pick.reduceat(padded, edges, axis=0))[::2] for pick in (np.maximum, np.minimum))
        extent = (high - low).max(axis=0)
        return (extent > 0).astype(float) if self._space.is_categorical else np.asarray(extent)


def sums(values: Floats, start: Ints, stop: Ints) -> Floats:
    """Return the sum over each of some runs of members; differences of cumulative sums would lose digits."""
    edges = np.stack([start, stop], axis=1).ravel()
    return np.asarray(np.add.reduceat(np.append(values, 0.0), edges)[::2]) if len(edges) else np.zeros(0)


def nested_levels(paths: list[tuple[str, ...]], weights: Floats, least: float) -> list[Level]:
    """Return the levels of the tree of some paths, without children below the smallest weight."""
    runs: list[tuple[int, int]] = [(0, len(paths))]
    levels: list[Level] = []
    while runs:
        below: list[tuple[int, int]] = []
        cells = []
        for start, stop in runs:
            children = _children(paths, start, stop, len(levels))
            if least and any(float(weights[a:b].sum()) < least for a, b in children):
                children = []
            cells.append((start, stop, len(below), len(children)))
            below += children
        levels.append(Level(*np.array(cells, dtype=np.intp).T.copy()))
        runs = below
    return levels


def _children(paths: list[tuple[str, ...]], start: int, stop: int, depth: int) -> list[tuple[int, int]]:
    """Return the runs of leaves whose paths go on alike at a depth; none if the path ends there."""
    if len(paths[start]) <= depth:
        return []
    edges = [row for row in range(start + 1, stop) if paths[row][depth] != paths[row - 1][depth]]
    return list(itertools.pairwise([start, *edges, stop]))
