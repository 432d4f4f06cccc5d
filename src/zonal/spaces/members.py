"""Regions that are sets of weighted members: finite arms, pixels, areas.

The members are put in the order of the tree, so that every cell is a run of consecutive members, and every level
of the tree is a few arrays. How a cell is split is the business of `points.py` and `hierarchy.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal.errors import LARGEST_STD, InvalidInput, positive_number
from zonal.spaces.region import ROUNDING, Floats, Immutable, Node, Region, Viewer, checked_node

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Level:
    """The cells of one depth: members `start` to `stop`; in the next level `children` cells from `first` on."""

    start: Ints
    stop: Ints
    first: Ints
    children: Ints


NO_CELLS = Level(*(np.zeros(0, dtype=np.intp) for _ in range(4)))


@dataclass(frozen=True, repr=False)
class MemberRegion(Region):
    """A set of members.

    ``bounds`` are the least and the largest of each feature, ``center`` is the weighted mean of the features (of
    codes, NaN where they differ), and ``members`` are row numbers as the user gave them.
    """

    start: int = 0
    stop: int = 0
    chosen: tuple[int, ...] | None = field(default=None, repr=False)  # of a region outside of the tree

    @property
    def key(self) -> Hashable:
        """What tells this region from others of the same space."""
        return (self.start, self.stop) if self.chosen is None else self.chosen

    @cached_property
    def positions(self) -> Ints:
        """The members' places in the order of the tree."""
        if self.chosen is not None:
            return np.array(self.chosen, dtype=np.intp)
        return np.arange(self.start, self.stop)

    @property
    def members(self) -> Ints:
        """The members' row numbers, as the user gave them."""
        return np.asarray(self.space.rows[self.positions])

    @property
    def bounds(self) -> Floats:
        """The least and the largest of each feature, shape (d, 2)."""
        inside = self.space.features[self.positions]
        return np.stack([inside.min(axis=0), inside.max(axis=0)], axis=1)

    @property
    def center(self) -> Floats:
        """The weighted mean of the features, shape (d,)."""
        at = self.positions
        inside = self.space.features[at]
        if self.space.symbolic:
            return np.where((inside == inside[0]).all(axis=0), inside[0], np.nan)
        return np.asarray(np.average(inside, axis=0, weights=self.space.weights[at]))

    @property
    def widths(self) -> Floats:
        """The extent of each feature, shape (d,)."""
        low, high = self.bounds.T
        return np.asarray(high - low)

    @property
    def weight(self) -> float:
        """The members' weight in all."""
        # A difference of cumulative weights would lose light members behind heavy ones.
        inside = slice(self.start, self.stop) if self.chosen is None else self.positions
        return float(self.space.weights[inside].sum())

    @property
    def points(self) -> Floats:
        """The features of the members that are looked at, shape (n, d)."""
        return np.asarray(self.space.features[self.viewer().seen(self)[0]])

    @property
    def weights(self) -> Floats:
        """The weights of the members that are looked at, shape (n,); they add up to 1."""
        return self.viewer().seen(self)[1]

    def nearest(self) -> Ints:
        """Return the place of the member nearest to the centre, in an array."""
        if self.space.symbolic:
            return self.positions[:1]
        far = (self.space.features[self.positions] - self.center) / self.space.sides()
        return self.positions[[int(np.argmin((far**2).sum(axis=1)))]]

    def some(self, number: int) -> tuple[Ints, Floats]:
        """Return the places and shares of members spread evenly over the weight; of all if they are no more."""
        weights = self.space.weights[self.positions]
        if number >= len(weights):
            return self.positions, weights / weights.sum()
        return spread_evenly(self.positions, weights, number)


class MemberSpace(Immutable, ABC):
    """What spaces of weighted members share.

    Attributes
    ----------
    features : array, shape (n, d)
        In the order of the tree.
    weights : array, shape (n,)
        In the order of the tree.
    rows : array, shape (n,)
        The user's row number of each.
    names : tuple of str
        Of the features.
    symbolic : bool
        Whether features are codes that are equal or not, instead of numbers with a distance.
    """

    features: Floats
    weights: Floats
    rows: Ints
    names: tuple[str, ...]
    symbolic: bool
    axes: None = None  # it has none
    _levels: list[Level]
    _or_else = ""  # what else describes a region, for messages

    @abstractmethod
    def _identity(self) -> tuple[Hashable, ...]:
        """Return what tells this space from others, but for the members themselves."""

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, MemberSpace)
            and (type(self), self._identity()) == (type(other), other._identity())
            and np.array_equal(self.features, other.features)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.rows, other.rows)
        )

    def __hash__(self) -> int:
        return hash(self._identity())

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.features.shape[1])

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self.weights)

    @property
    def base(self) -> int:
        """The usual number of children of a node."""
        return 2

    @cached_property
    def place(self) -> Ints:
        """The place in the order of the tree of each of the user's rows."""
        place = np.empty(self.size, dtype=np.intp)
        place[self.rows] = np.arange(self.size)
        return place

    def level(self, depth: int) -> Level:
        """Return the cells of a depth; without cells where the tree has ended."""
        return self._levels[depth] if depth < len(self._levels) else NO_CELLS

    def count(self, depth: int) -> int:
        """Return the number of cells at a depth, exactly."""
        return len(self.level(depth).start)

    def leaves(self, depth: int) -> int:
        """Return the number of regions if the tree ended at a depth: leaves above it count too."""
        above = sum(int(np.sum(self.level(level).children == 0)) for level in range(depth))
        return self.count(depth) + above

    def leaf(self, depth: int, number: int) -> Node:
        """Return one of the regions if the tree ended at a depth, by number."""
        for above, ends in enumerate(self._ends[:depth]):
            if number < len(ends):
                return above, int(ends[number])
            number -= len(ends)
        return depth, number

    @cached_property
    def _ends(self) -> list[Ints]:
        """The cells without children, by depth."""
        return [np.flatnonzero(level.children == 0) for level in self._levels]

    def typical(self, depth: int, most: int) -> list[Node]:
        """Return cells that stand for all of a depth: some of them, spread evenly."""
        number = self.count(depth)
        if number <= most:
            return [(depth, index) for index in range(number)]
        return [(depth, index) for index in np.unique(np.linspace(0, number - 1, most).astype(int)).tolist()]

    def inside(self, depth: int, bottom: int) -> int:
        """Return the number of members in the largest cell of a depth."""
        level = self.level(depth)
        return int((level.stop - level.start).max())

    def arrange(self, values: Any, what: str) -> Any:
        """Return values as the user gave them: one a member, in order."""
        if isinstance(values, Mapping):
            raise InvalidInput(f"{what} by name are for a hierarchy", self, "Pass one a point, in order.")
        return values

    def deepest(self) -> int:
        """Return the depth of the deepest cells."""
        depth = 0
        while self.count(depth + 1):
            depth += 1
        return depth

    def cut(self, parts: Mapping[int, int]) -> int:
        """Return the depth of the deepest cells: members are parts enough."""
        return self.deepest()

    def cell(self, node: Node, feedback: Viewer | None = None) -> MemberRegion:
        """Return the region of a node of the tree."""
        depth, index = checked_node(node, self)
        level = self.level(depth)
        return MemberRegion(self, (depth, index), feedback, int(level.start[index]), int(level.stop[index]))

    def split(self, region: MemberRegion) -> tuple[MemberRegion, ...]:
        """Return the children of a cell of the tree, in order."""
        if region.node is None:
            raise InvalidInput("only a cell of the tree can be split", region.name, "Use cell().")
        depth, index = region.node
        level, below = self.level(depth), self.level(depth + 1)
        first = int(level.first[index])
        return tuple(
            MemberRegion(
                self, (depth + 1, child), region.feedback, int(below.start[child]), int(below.stop[child])
            )
            for child in range(first, first + int(level.children[index]))
        )

    def may_split(self, region: MemberRegion) -> bool:
        """Tell whether a cell has children, none of them under the smallest useful weight."""
        return region.node is not None and bool(self.level(region.node[0]).children[region.node[1]])

    def sides(self) -> Floats:
        """Return the extent of each feature; 1 for a feature that is the same everywhere."""
        return self._sides

    @cached_property
    def _sides(self) -> Floats:
        extent = self.features.max(axis=0) - self.features.min(axis=0)
        return np.where(extent > 0, extent, 1.0) if not self.symbolic else np.ones(self.d)

    def reach(self, depth: int, inside: Callable[[Any, float], float]) -> Floats:
        """Return the largest extent of each feature in a cell of a depth; of codes, whether there are several."""
        level = self.level(depth)
        if not len(level.start):
            return np.zeros(self.d)
        edges = np.stack([level.start, level.stop], axis=1).ravel()
        padded = np.concatenate([self.features, self.features[-1:]])
        high, low = (np.asarray(pick.reduceat(padded, edges, axis=0))[::2] for pick in (np.maximum, np.minimum))
        extent = (high - low).max(axis=0)
        return (extent > 0).astype(float) if self.symbolic else np.asarray(extent)

    def subset(self, rows: Any, feedback: Viewer | None) -> MemberRegion:
        """Return the region of some members, by row number or as a mask."""
        try:
            listed = np.asarray(rows)
        except ValueError:
            listed = np.empty(0)
        if listed.dtype == bool and listed.shape == (self.size,):
            listed = np.flatnonzero(listed)
        if listed.ndim != 1 or listed.size == 0 or listed.dtype.kind not in "iu":
            raise InvalidInput("a region is a list of row numbers", rows, f"Pass at least one{self._or_else}.")
        if listed.min() < 0 or listed.max() >= self.size:
            wrong = listed[(listed < 0) | (listed >= self.size)][0]
            raise InvalidInput(f"a row number must lie between 0 and {self.size - 1}", int(wrong), "Mend it.")
        places = np.unique(self.place[listed])
        if places[-1] - places[0] + 1 == len(places):  # a run of members: perhaps a cell of the tree
            return MemberRegion(self, None, feedback, int(places[0]), int(places[-1]) + 1)
        return MemberRegion(self, None, feedback, -1, -1, tuple(places.tolist()))


def sums(values: Floats, start: Ints, stop: Ints) -> Floats:
    """Return the sum over each of some runs of members, by itself: differences of running sums would cancel."""
    edges = np.stack([start, stop], axis=1).ravel()
    return np.asarray(np.add.reduceat(np.append(values, 0.0), edges)[::2]) if len(edges) else np.zeros(0)


def spread_evenly(positions: Ints, weights: Floats, number: int) -> tuple[Ints, Floats]:
    """Return some of the members, spread evenly over the weight, and their shares.

    Members in the order of the tree that are close together are alike, so every part of a cell gets its share.
    """
    cumulative = np.cumsum(weights)
    at = np.searchsorted(cumulative, (np.arange(number) + 0.5) / number * cumulative[-1])
    chosen, times = np.unique(np.minimum(at, len(positions) - 1), return_counts=True)
    return positions[chosen], times / number


def checked_features(features: Any, size: int | None, what: str) -> Floats:
    """Return features as an array of shape (n, d), or complain of the row that is wrong."""
    try:
        table = np.asarray(features)
    except ValueError:
        table = np.empty(0, dtype=object)
    if table.dtype == object and table.ndim == 2 and all(isinstance(value, Real) for value in table.flat):
        table = table.astype(float)
    if table.dtype.kind in "iuf" and table.ndim == 1:
        table = table[:, None]
    if table.dtype.kind not in "iuf" or table.ndim != 2:
        _complain_of_rows(features, what)
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise InvalidInput(f"{what} must have a row and a column at least", table.shape, "Pass shape (n, d).")
    if size is not None and len(table) != size:
        raise InvalidInput(f"{what} must have {size} rows, one a member", len(table), "Pass as many.")
    table = table.astype(float)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InvalidInput(
            f"{what} must be finite, but row {row}, column {column} is not", float(table[row, column]), "Mend it."
        )
    return table


def checked_column(column: Any, name: str) -> Floats:
    """Return one feature of all members, shape (n,)."""
    table = checked_features(column, None, f"column {name}")
    if table.shape[1] != 1:
        raise InvalidInput(
            f"column {name} must hold one number a row", table.shape, "Pass several columns instead."
        )
    return table[:, 0]


def _complain_of_rows(features: Any, what: str) -> None:
    fix = "Pass as many numbers in each row."
    if not np.iterable(features):
        raise InvalidInput(f"{what} must be an array of shape (n, d)", features, fix)
    width: int | None = None
    for number, row in enumerate(features):
        numbers = [row] if not isinstance(row, Iterable) or isinstance(row, str) else list(row)
        width = len(numbers) if width is None else width
        if len(numbers) != width:
            raise InvalidInput(f"row {number} of {what} has {len(numbers)} numbers, not {width}", row, fix)
        for value in numbers:
            try:
                float(value)
            except (TypeError, ValueError):
                raise InvalidInput(f"row {number} of {what} has something that is no number", value, fix) from None
    raise InvalidInput(f"{what} must be numbers of shape (n, d)", type(features).__name__, fix)


def checked_weights(weights: Any, size: int) -> Floats:
    """Return weights as an array, or complain of the row that is wrong; 1 each by default."""
    if weights is None:
        return np.ones(size)
    try:
        table = np.asarray(weights)
        table = table.astype(float) if table.dtype.kind in "iuf" else np.empty(0)
    except ValueError:
        table = np.empty(0)
    if table.shape != (size,):
        for row, value in enumerate(weights if isinstance(weights, Sequence) and len(weights) == size else []):
            positive_number(value, f"the weight of row {row}")
        raise InvalidInput(f"weights must be {size} numbers, one a member", weights, "Pass as many.")
    if not (np.isfinite(table) & (table > 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(table) & (table > 0)))[0])
        raise InvalidInput(
            f"the weight of row {row} must be positive and finite",
            float(table[row]),
            "Leave out members without weight.",
        )
    if table.max() > LARGEST_STD:
        raise InvalidInput("weights are too large to add up", float(table.max()), "Use a larger unit.")
    return table


def checked_least(smallest: Any, total: float) -> float:
    """Return the least weight of a region; 0 if none was given."""
    if smallest is None:
        return 0.0
    least = positive_number(smallest, "smallest")
    if least * (1 - ROUNDING) > total:
        raise InvalidInput("smallest is more than all members weigh", least, f"Pass less than {total:g}.")
    return least
