"""Regions that are sets of weighted members: finite arms, pixels, areas.

The members are sorted in the order of the tree, so that every cell is a run of consecutive members, and every
level of the tree is a few arrays. `points.py` and `hierarchy.py` define how a cell is split.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from zonal._types import Flags, Floats, Ints
from zonal.errors import InvalidInput, reject, require, whole_number
from zonal.io.dataframes import Labels, as_label, as_series, in_order
from zonal.kernels.feedback import Feedback, Subsets
from zonal.kernels.finite_covariance import SubsetLayout
from zonal.spaces.base import RESTORE, Node, Region, RegionLike, Space, as_array, checked_node, checked_view
from zonal.spaces.member_columns import by_name, checked_features, checked_least, checked_weights
from zonal.spaces.subset_region import SubsetRegion


@dataclass(frozen=True)
class Level:
    """The cells of one depth: members `start` to `stop`; their children are `children` cells from `first` on."""

    start: Ints
    stop: Ints
    first: Ints
    children: Ints


NO_CELLS = Level(*(np.zeros(0, dtype=np.intp) for _ in range(4)))


def _part(above: Level, below: Level) -> bool:
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


@dataclass(frozen=True, init=False, repr=False, eq=False)
class FiniteSpace(Space):
    """Base class of spaces of weighted members."""

    features: Floats  # shape (n, d), in the order of the tree
    weights: Floats  # shape (n,), in the order of the tree
    rows: Ints  # the user's row number of each member
    names: tuple[str, ...]  # of the features
    is_categorical: bool  # whether features are codes, which have no distances
    smallest: float | None  # useful weight of a region
    _levels: tuple[Level, ...]
    labels: Labels | None = None  # the user's name of each row, in the user's order; None if rows are numbered
    shapes: ClassVar[Any] = None  # polygons of the GeoDataFrame it was made from, for plots; not stored in files
    axes = None  # it has members instead
    _called = "members"
    _or_else = ""  # other descriptions of a region, for messages

    @abstractmethod
    def _identity(self) -> tuple[Hashable, ...]:
        """Return what distinguishes this space from others, except the members themselves."""

    def _keep(self, names: Iterable[str], levels: Iterable[Level], **attributes: Any) -> None:
        """Set all attributes, once."""
        for column in ("features", "weights", "rows"):
            attributes[column].flags.writeable = False
        vars(self).update(attributes, names=tuple(names), _levels=tuple(levels))

    @abstractmethod
    def _describe(self, region: SubsetRegion) -> str:
        """Return the name of a region."""

    @abstractmethod
    def _as_dict(self, region: SubsetRegion) -> dict[str, Any]:
        """Return a region as plain numbers and texts."""

    @property
    def label_sets(self) -> list[Sequence[Hashable]]:
        """The possible names of rows, each in the user's order: labels, or else numbers."""
        return [range(len(self.rows)) if self.labels is None else self.labels]

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, FiniteSpace)
            and (type(self), self._identity()) == (type(other), other._identity())
            and np.array_equal(self.features, other.features)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.rows, other.rows)
        )

    def __hash__(self) -> int:
        return hash(self._identity())

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self.weights)

    @cached_property
    def continuous_axes(self) -> tuple[int, ...]:  # type: ignore[override]
        """The numbers of the features that have distances."""
        return () if self.is_categorical else tuple(range(self.d))

    def with_smallest(self) -> Self:
        """Return the space itself: its members are its smallest regions."""
        return self

    @cached_property
    def place(self) -> Ints:
        """The position in the order of the tree of each of the user's rows."""
        return np.argsort(self.rows)

    def check(self) -> None:
        """Raise if this space, read from a file, is not possible."""
        size = len(checked_features(self.features, "features"))
        checked_least(self.smallest, float(checked_weights(self.weights, size).sum()))
        whole = Level(*(np.array([number]) for number in (0, size, 0, 1)))
        right = (
            list(map(type, self.names)) == [str] * self.features.shape[1]
            and isinstance(self.is_categorical, bool)
            and (self.labels is None or len(self.labels) == size)
            and self.features.dtype.kind == "f"
            and self.rows.dtype.kind == "i"
            and self.rows.shape == (size,)
            and np.array_equal(np.sort(self.rows), np.arange(size))
            and all(map(_part, [whole, *self._levels], [*self._levels, NO_CELLS]))
        )
        require(right, "these are not members that Zonal has sorted", self, RESTORE)
        hash(self)  # raises if labels cannot be hashed

    def level(self, depth: int) -> Level:
        """Return the cells of a depth; none beyond the deepest level."""
        return self._levels[depth] if depth < len(self._levels) else NO_CELLS

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

    def every(self, depth: int) -> list[SubsetRegion]:
        """Return the leaves if the tree ended at a depth."""
        return [self.cell(self.leaf(depth, number)) for number in range(self.leaves(depth))]

    @cached_property
    def _ends(self) -> list[Ints]:
        """The cells without children, by depth."""
        return [np.flatnonzero(level.children == 0) for level in self._levels]

    def grain(self, depth: int) -> str:
        """Return the size of the smallest cells if the tree ended at a depth, for people."""
        above = zip(self._levels[:depth], self._ends, strict=False)
        cells = [*above, (self.level(depth), slice(None))]
        start, stop = (
            np.concatenate([getattr(level, edge)[at] for level, at in cells]) for edge in ("start", "stop")
        )
        if (stop - start == 1).all():
            return f"single {self._called}"
        weights = sums(self.weights, start, stop)
        return f"{self._called} of weight {weights.min():.4g} to {weights.max():.4g}"

    def representative_cells(self, depth: int, most: int) -> list[Node]:
        """Return cells that represent all of a depth: some of them, spread evenly."""
        number = self.count(depth)
        spread = np.unique(np.linspace(0, number - 1, min(number, most)).astype(int))
        return [(depth, index) for index in spread.tolist()]

    def n_descendants(self, depth: int, bottom: int) -> int:
        """Return the number of members in the largest cell of a depth."""
        level = self.level(depth)
        return int((level.stop - level.start).max())

    def arrange(self, values: Any, what: str) -> Any:
        """Return values in the order of the user's rows, given in order or by label."""
        if not isinstance(values, Mapping):
            return in_order(values, self.label_sets, what)
        problem = f"{what} by name need members with labels"
        require(self.labels is not None, problem, self, "Pass one per point, in order.")
        return by_name(values, [str(label) for label in self.label_sets[0]], what)

    def max_depth(self) -> int:
        """Return the depth of the deepest cells."""
        return len(self._levels) - 1

    default_depth = max_depth  # single members are the smallest regions

    def cell(self, node: Node, feedback: Feedback | None = None) -> SubsetRegion:
        """Return the region of a node of the tree."""
        depth, index = checked_node(node, self)
        level = self.level(depth)
        start, stop = int(level.start[index]), int(level.stop[index])
        return SubsetRegion(self, (depth, index), checked_view(feedback), start, stop)

    def seen(self, node: Node, cell: Ints, feedback: Feedback | None) -> SubsetRegion:
        """Return the region of a node, given the run of its members."""
        return SubsetRegion(self, node, feedback, int(cell[0]), int(cell[1]))

    def whole(self) -> Ints:
        """Return the whole space as a run of members, shape (1, 2)."""
        return np.array([[0, self.size]])

    def children(self, depth: int, index: int, cell: Ints) -> tuple[Ints, Ints]:
        """Return the children of a cell: their indices, and the runs of their members, one row each."""
        level, below = self.level(depth), self.level(depth + 1)
        first = int(level.first[index])
        children = np.arange(first, first + int(level.children[index]))
        return children, np.stack([below.start[children], below.stop[children]], axis=1)

    def splittable(self, depth: int, indices: Ints) -> Flags:
        """Tell which cells of a depth have children, none of them below the smallest useful weight."""
        return np.asarray(self.level(depth).children[indices] > 0)

    def split(self, region: Region) -> tuple[SubsetRegion, ...]:
        """Return the children of a cell of the tree, in order."""
        if region.node is None:
            raise InvalidInput("only a cell of the tree can be split", region.name, "Use cell().")
        depth, index = region.node
        children = zip(*self.children(depth, index, self.whole()[0]), strict=True)
        return tuple(self.seen((depth + 1, int(child)), cell, region.feedback) for child, cell in children)

    def sides(self) -> Floats:
        """Return the range of each feature; 1 for a feature that is constant."""
        return self._sides

    @cached_property
    def _sides(self) -> Floats:
        extent = self.features.max(axis=0) - self.features.min(axis=0)
        return np.where(extent > 0, extent, 1.0) if not self.is_categorical else np.ones(self.d)

    def reach(self, depth: int, feedback: Feedback) -> Floats:
        """Return the largest range of each feature in a cell of a depth; for codes, 1 if there are several."""
        level = self.level(depth)
        if not len(level.start):
            return np.zeros(self.d)
        edges = np.stack([level.start, level.stop], axis=1).ravel()
        padded = np.concatenate([self.features, self.features[-1:]])
        high, low = (np.asarray(pick.reduceat(padded, edges, axis=0))[::2] for pick in (np.maximum, np.minimum))
        extent = (high - low).max(axis=0)
        return (extent > 0).astype(float) if self.is_categorical else np.asarray(extent)

    def check_feedback(self, feedback: Feedback) -> None:
        """Raise if a feedback has no meaning here."""
        feedback.seen(self.cell((0, 0)))

    def layout(self, feedback: Feedback) -> SubsetLayout:
        """Return the layout of the footprints."""
        return SubsetLayout(self, feedback)

    def footprints(
        self, regions: Sequence[Any], usual: Feedback, others: Sequence[Feedback] | None = None
    ) -> Subsets:
        """Return what measurements of regions average over, with the usual feedback or each with its own."""
        feedbacks = [usual] * len(regions) if others is None else others
        measured = [feedback.seen(region) for region, feedback in zip(regions, feedbacks, strict=True)]
        return Subsets([members for members, _ in measured], [shares for _, shares in measured])

    def member_names(self, region: SubsetRegion) -> list[Hashable]:
        """Return the members by label, or by row number if they have none."""
        rows = region.members.tolist()
        return rows if self.labels is None else [self.labels[row] for row in rows]

    @cached_property
    def _row_of(self) -> dict[Hashable, int]:
        """The row of each name; names of several rows are left out."""
        rows: dict[Hashable, int] = {}
        for labels in self.label_sets[self.labels is None :]:
            times = Counter(labels)
            rows = {name: row for row, name in enumerate(labels) if times[name] == 1} | rows
        return rows

    def subset(self, what: RegionLike | None, feedback: Feedback | None) -> SubsetRegion:
        """Return the region of some members, given names, row numbers or a mask."""
        checked_view(feedback)
        series = as_series(what)
        mask = series is not None and series.values.dtype == bool
        listed = self._listed(in_order(what, self.label_sets, "a mask") if mask else what)
        numbers = listed.ndim == 1 and listed.size and listed.dtype.kind in "iu"
        require(numbers, "a region needs a list of row numbers", what, f"Pass at least one{self._or_else}.")
        wrong = listed[(listed < 0) | (listed >= self.size)].tolist()
        reject(wrong, f"a row number must lie between 0 and {self.size - 1}", "Correct it.")
        return self._at(np.unique(self.place[listed]).tolist(), feedback)

    def _at(self, places: list[int], feedback: Feedback | None) -> SubsetRegion:
        """Return the region of the members at some positions, in order."""
        if places[-1] - places[0] + 1 == len(places):  # a run of members: perhaps a cell of the tree
            return SubsetRegion(self, None, feedback, places[0], places[-1] + 1)
        return SubsetRegion(self, None, feedback, -1, -1, tuple(places))

    def _listed(self, what: RegionLike | None) -> NDArray[Any]:
        """Return row numbers for names, row numbers or a mask; anything else as an array that is not valid."""
        row = self._row(what)
        if row is not None:
            return np.array([row])
        listed = as_array(what)
        if listed.dtype == bool and listed.shape == (self.size,):
            return np.flatnonzero(listed)
        if not self._row_of or listed.ndim == 0 or listed.size == 0:
            return listed
        rows = [self._row(name) for name in cast("Iterable[Hashable]", what)]
        return listed if None in rows else np.array(rows, dtype=np.intp)

    def _row(self, name: Any) -> int | None:
        """Return the row of a name, None for what is not a name; raise for a text that is none."""
        row = None
        with suppress(Exception):  # a list is no name, nor is an object that raises
            hash(name)
            row = self._row_of.get(as_label(name))
        if row is None and isinstance(name, str) and self._row_of:
            fix = f"Pass names such as {next(iter(self.label_sets[self.labels is None]))!r}{self._or_else}."
            raise InvalidInput("there is no such member, or several", name, fix)
        return row


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
