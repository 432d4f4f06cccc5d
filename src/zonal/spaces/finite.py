"""Regions that are sets of weighted members: finite arms, pixels, areas.

The members are sorted in the order of the tree, so that every cell is a run of consecutive members, and every
level of the tree is a few arrays. `points.py` and `hierarchy.py` define how a cell is split.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal._types import Floats, Ints
from zonal.errors import InvalidInput, reject, require
from zonal.io.dataframes import Labels, as_label, as_series, in_order
from zonal.kernels.feedback import Feedback, Subsets
from zonal.kernels.finite_covariance import SubsetLayout
from zonal.spaces.base import (
    RESTORE,
    Node,
    Region,
    RegionLike,
    Space,
    Values,
    as_array,
    checked_node,
    checked_view,
)
from zonal.spaces.member_columns import by_name, checked_features, checked_least, checked_weights
from zonal.spaces.partition import NO_CELLS, FinitePartition, Level, divides


@dataclass(frozen=True, repr=False)
class SubsetRegion(Region):
    """A set of members.

    ``bounds`` are the minimum and maximum of each feature, ``center`` is the weighted mean of the features (for
    codes, NaN where they differ), and ``members`` are the user's row numbers.
    """

    space: FiniteSpace
    _run: tuple[int, int] = (0, 0)  # the first position, and that after the last
    _chosen: tuple[int, ...] | None = None  # the positions, if they are no run

    @property
    def key(self) -> Hashable:
        """A value that differs between regions of the same space."""
        return self._run if self._chosen is None else self._chosen

    @property
    def name(self) -> str:
        """A readable name: ``"2 points: dose 4..8"``, ``"NSW > Mid North Coast"``."""
        return self.space._describe(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the region as plain numbers and texts, ready for JSON; ``space.region`` accepts it."""
        return self.space._as_dict(self)

    @cached_property
    def positions(self) -> Ints:
        """The members' positions in the order of the tree."""
        return np.arange(*self._run) if self._chosen is None else np.array(self._chosen, dtype=np.intp)

    @property
    def members(self) -> Ints:
        """The members' row numbers, in the user's order."""
        return np.asarray(self.space.rows[self.positions])

    @property
    def bounds(self) -> Floats:
        """Minimum and maximum of each feature, shape (d, 2)."""
        inside = self.space.features[self.positions]
        return np.stack([inside.min(axis=0), inside.max(axis=0)], axis=1)

    @property
    def center(self) -> Floats:
        """The weighted mean of the features, shape (d,)."""
        at = self.positions
        inside = self.space.features[at]
        if self.space.is_categorical:
            return np.where((inside == inside[0]).all(axis=0), inside[0], np.nan)
        return np.asarray(np.average(inside, axis=0, weights=self.space.weights[at]))

    @property
    def widths(self) -> Floats:
        """The extent of each feature, shape (d,)."""
        low, high = self.bounds.T
        return np.asarray(high - low)

    @property
    def weight(self) -> float:
        """The total weight of the members."""
        # A difference of cumulative weights would lose light members behind heavy ones.
        return float(self.space.weights[self.positions].sum())

    @property
    def points(self) -> Floats:
        """The features of the members that are measured, shape (n, d)."""
        return np.asarray(self.space.features[self._viewer().seen(self)[0]])

    @property
    def weights(self) -> Floats:
        """The weights of the members that are measured, shape (n,); they add up to 1."""
        return self._viewer().seen(self)[1]

    @property
    def x(self) -> Any:
        """The centre; for leaves without features the name."""
        return self.name if self.space.is_categorical else self.center

    def overlaps(self, other: Region) -> bool:
        """Tell whether a region of the same space shares members with this one."""
        theirs = self._neighbour(other)
        if self._chosen is None and theirs._chosen is None:
            return self._run[0] < theirs._run[1] and theirs._run[0] < self._run[1]
        return bool(np.isin(self.positions, theirs.positions).any())

    def contains(self, other: Region) -> bool:
        """Tell whether all members of a region of the same space are members of this one."""
        theirs = self._neighbour(other)
        if self._chosen is None and theirs._chosen is None:
            return self._run[0] <= theirs._run[0] and theirs._run[1] <= self._run[1]
        return bool(np.isin(theirs.positions, self.positions).all())

    def _sample(self, number: int, rng: np.random.Generator) -> Any:
        weights = self.space.weights[self.positions]
        drawn = rng.choice(self.positions, number, p=weights / weights.sum())
        if self.space.is_categorical:
            distinct, of_drawn = np.unique(drawn, return_inverse=True)
            names = [self.space.region([int(self.space.rows[place])]).name for place in distinct]
            return [names[at] for at in of_drawn.tolist()]
        return np.asarray(self.space.features[drawn])


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

    @cached_property
    def partition(self) -> FinitePartition:
        """The tree, level by level."""
        return FinitePartition(self)

    def max_depth(self) -> int:
        """Return the depth of the deepest cells of the tree."""
        return self.partition.max_depth()

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
            and all(map(divides, [whole, *self._levels], [*self._levels, NO_CELLS]))
        )
        require(right, "these are not members that Zonal has sorted", self, RESTORE)
        hash(self)  # raises if labels cannot be hashed

    def arrange(self, values: Values, what: str) -> ArrayLike | None:
        """Return values in the order of the user's rows, given in order or by label."""
        if not isinstance(values, Mapping):
            column: Any = values
            ordered: ArrayLike | None = in_order(column, self.label_sets, what)
            return ordered
        problem = f"{what} by name need members with labels"
        require(self.labels is not None, problem, self, "Pass one per point, in order.")
        named: ArrayLike = by_name(values, [str(label) for label in self.label_sets[0]], what)
        return named

    def cell(self, node: Node, feedback: Feedback | None = None) -> SubsetRegion:
        """Return the region of a node of the tree."""
        depth, index = checked_node(node, self)
        level = self.partition.level(depth)
        run = int(level.start[index]), int(level.stop[index])
        return SubsetRegion(self, (depth, index), checked_view(feedback), run)

    def seen(self, node: Node, cell: Ints, feedback: Feedback | None) -> SubsetRegion:
        """Return the region of a node, given the run of its members."""
        return SubsetRegion(self, node, feedback, (int(cell[0]), int(cell[1])))

    def split(self, region: Region) -> tuple[SubsetRegion, ...]:
        """Return the children of a cell of the tree, in order."""
        if region.node is None:
            raise InvalidInput("only a cell of the tree can be split", region.name, "Use cell().")
        depth, index = region.node
        children = zip(*self.partition.children(depth, index, self.partition.whole()[0]), strict=True)
        return tuple(self.seen((depth + 1, int(child)), cell, region.feedback) for child, cell in children)

    def sides(self) -> Floats:
        """Return the range of each feature; 1 for a feature that is constant."""
        return self._sides

    @cached_property
    def _sides(self) -> Floats:
        extent = self.features.max(axis=0) - self.features.min(axis=0)
        return np.where(extent > 0, extent, 1.0) if not self.is_categorical else np.ones(self.d)

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
            return SubsetRegion(self, None, feedback, (places[0], places[-1] + 1))
        return SubsetRegion(self, None, feedback, (-1, -1), tuple(places))

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
