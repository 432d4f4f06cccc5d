"""Finite arms with features: a balanced k-d tree."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal._types import Floats, Ints
from zonal.errors import is_listed, reject, require, text, whole_number
from zonal.io.dataframes import DataFrame, DataSeries, in_order, shapes_of
from zonal.io.hints import hinting
from zonal.kernels.feedback import Feedback
from zonal.spaces.base import ROUNDING, Node, PartLike, RegionLike, as_array
from zonal.spaces.finite import FiniteSpace, SubsetRegion
from zonal.spaces.member_columns import checked_least, checked_weights, taken_features, told_labels
from zonal.spaces.partition import Level, sums


@hinting()
@dataclass(frozen=True, init=False, repr=False, eq=False)
class Points(FiniteSpace):
    """Finitely many points with features and weights; regions are subsets.

    A region is split along the feature with the largest range, relative to the range of all points, into K parts
    of about equal weight. Points with the same value there stay together, so a region may have fewer children than
    K, and points with equal features are never separated.

    Parameters
    ----------
    X : array_like of shape (n, d), data frame, or mapping of name to column
        The features. Columns of a data frame name them, and a pandas index names the points; for a GeoDataFrame
        the features are the centroids.
    weights : array_like or series of shape (n,), optional
        How much each point counts in an average; 1 each by default. A pandas index is used.
    arity : int
        K, the largest number of children of a node, at least 2.
    smallest : float, optional
        The smallest useful weight of a region: a region is not split if a child would weigh less.
    labels : sequence, optional
        A name for each point, instead of its row number; a pandas index by default.

    Examples
    --------
    >>> arms = Points({"dose": [1, 2, 4, 8], "hours": [1, 1, 2, 2]}, labels=["a", "b", "c", "d"])
    >>> arms.cell((1, 1)).name, arms.region("c").name
    ('2 points: dose 4..8, hours 2', 'c: dose 4, hours 2')
    """

    arity: int = 2
    _called = "points"

    def __init__(
        self,
        X: ArrayLike | Mapping[str, ArrayLike] | DataFrame,
        weights: ArrayLike | DataSeries | None = None,
        arity: int = 2,
        smallest: float | None = None,
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        features, names, row_labels = taken_features(X, "X")
        if labels is not None:
            row_labels = told_labels(labels, len(features))
        fits = whole_number(arity, "arity", 2) <= max(len(features), FEW_PARTS)
        require(fits, "arity is larger than the number of points", arity, f"Pass at most {len(features)}.")
        label_sets = [range(len(features)) if row_labels is None else row_labels]
        checked = checked_weights(in_order(weights, label_sets, "weights"), len(features))
        rows, levels = _kd_tree(features, checked, int(arity), checked_least(smallest, float(checked.sum())))
        members = {"features": features[rows], "weights": checked[rows], "rows": rows, "labels": row_labels}
        more = {"smallest": smallest, "arity": int(arity), "shapes": shapes_of(X)}
        self._keep(names, levels, is_categorical=False, **members, **more)

    def check(self) -> None:
        """Raise if these points, read from a file, are not possible."""
        super().check()
        whole_number(self.arity, "arity", 2, max(self.size, FEW_PARTS))

    def _identity(self) -> tuple[Hashable, ...]:
        return self.names, self.labels, self.arity, self.smallest, self.features.shape

    def __repr__(self) -> str:
        return f"Points({self.size} points, {', '.join(self.names)}, arity={self.arity}, smallest={self.smallest})"

    def region(self, what: RegionLike, feedback: Feedback | None = None) -> SubsetRegion:
        """Return any set of points, whether it is a node of the tree or not.

        Parameters
        ----------
        what : sequence of int, of labels, or of n bool, or str
            Row numbers in the order in which the points were given, labels if there are any (one, or a list), or a
            mask. The name of a region of the tree and what ``region.as_dict()`` returns are accepted too.
        """
        if isinstance(what, str):
            what = text(what, "the name of a region")
            if what not in self._row_of and NAME.match(what):
                return self.cell(self._node_named(what), feedback)
        if not isinstance(what, Mapping):
            return self.subset(what, feedback)
        keys = ("members", *self.names)
        unknown = (key for key in what if not (isinstance(key, str) and str(key) in keys))
        reject(unknown, "a region of points has no such key", "Pass the rows under 'members'.")
        region = self.subset(what.get("members"), feedback)
        for name, (low, high) in zip(self.names, region.bounds.tolist(), strict=True):
            given = what.get(name, (low, high))
            edges = as_array(given)
            fits = edges.shape == (2,) and np.allclose(edges, (low, high), ROUNDING, 0)
            require(fits, f"these members have {name} from {low:g} to {high:g}", given, "Leave it out.")
        return region

    def _lists_one(self, what: Iterable[PartLike], first: PartLike) -> bool:
        return not is_listed(first)  # a list of texts is a list of regions

    def _as_dict(self, region: SubsetRegion) -> dict[str, Any]:
        """Return the members by label or row number, and [minimum, maximum] of each feature."""
        return {"members": self.member_names(region)} | dict(zip(self.names, region.bounds.tolist(), strict=True))

    def from_text(self, text: str) -> RegionLike:
        """Return row numbers, separated by blanks or commas, or the name of a point."""
        if text in self._row_of or NAME.match(text):
            return text
        words = text.replace(",", " ").split()
        numbers = words and all(word.isdecimal() for word in words)
        require(numbers, "a region of points must be its row numbers", text, "Write 0 3 17; the first row is 0.")
        return [int(word) if len(word) <= MOST_DIGITS else 10**MOST_DIGITS for word in words]

    def _node_named(self, name: str) -> Node:
        """Return the node whose cell has this name; raise if there is none, or several that differ."""
        head = NAME.match(name)
        number = int(head["many"]) if head and head["many"] and len(head["many"]) <= MOST_DIGITS else 1
        nodes = [
            (depth, index)
            for depth, level in enumerate(self._levels)
            for index in np.flatnonzero(level.stop - level.start == number).tolist()
            if self._describe(self.cell((depth, index))) == name
        ]
        fix = "Pass row numbers or labels, or the name of a region of the tree."
        require(nodes, "there is no such region of points", name, fix)
        require(len(nodes) == 1, "this name fits several regions", name, fix)
        return nodes[0]

    def _describe(self, region: SubsetRegion) -> str:
        """Return the number of points, and the range of their features."""
        number = len(region.positions)
        spans = ", ".join(
            f"{name} {low:.4g}" if low == high else f"{name} {low:.4g}..{high:.4g}"
            for name, (low, high) in zip(self.names, region.bounds, strict=True)
        )
        if number > 1:
            return f"{number} points: {spans}"
        member = self.member_names(region)[0]
        return f"{member if isinstance(member, str) else f'point {member}'}: {spans}"


NAME = re.compile(r"(?:(?P<many>\d+) points|.*): .+", re.DOTALL)  # of a region
AT_ONCE = 1 << 20  # cuts of cells computed together
MOST_DIGITS = 18  # of a row number
FEW_PARTS = 64  # largest arity allowed whatever the number of points


def _kd_tree(features: Floats, weights: Floats, arity: int, least: float) -> tuple[Ints, list[Level]]:
    """Return the order of the members and the levels of a balanced k-d tree, built level by level."""
    size = len(features)
    extent = features.max(axis=0) - features.min(axis=0)
    relative = features / np.where(extent > 0, extent, 1.0)
    order = np.arange(size)
    start, stop = np.array([0]), np.array([size])
    levels = []
    while len(start):
        children, pieces = np.zeros(len(start), dtype=np.intp), [start[:0]]
        several = np.flatnonzero(stop - start > 1)
        for block in np.split(several, range(AT_ONCE // arity + 1, len(several), AT_ONCE // arity + 1)):
            if len(block):
                cuts, used = _sort_and_cut(relative, weights, order, start[block], stop[block], arity, least)
                children[block] = used.sum(axis=1) + used.any(axis=1)
                pieces.append(np.column_stack([start[block], cuts])[np.column_stack([children[block] > 0, used])])
        levels.append(Level(start, stop, np.cumsum(children) - children, children))
        edges = np.concatenate(pieces)
        last = np.cumsum(children[children > 0]) - 1
        ends = np.append(edges[1:], 0)
        ends[last] = stop[children > 0]
        start, stop = edges, ends[: len(edges)]
    return order, levels


def _sort_and_cut(
    relative: Floats, weights: Floats, order: Ints, start: Ints, stop: Ints, arity: int, least: float
) -> tuple[Ints, NDArray[np.bool_]]:
    """Sort the members of each cell, in place, along its widest feature; return where each is cut.

    That is the first members of all parts but the first, and whether each cut is made, by cell.
    """
    sizes = stop - start
    ends = np.cumsum(sizes)
    first = ends - sizes
    cell = np.repeat(np.arange(len(start)), sizes)
    at = (start - first)[cell] + np.arange(len(cell))
    inside = relative[order[at]]
    spread = np.maximum.reduceat(inside, first) - np.minimum.reduceat(inside, first)
    along = inside[np.arange(len(at)), spread.argmax(axis=1)[cell]]
    placed = np.lexsort((order[at], along, cell))
    order[at], along = order[at][placed], along[placed]
    before = np.concatenate([[0.0], np.cumsum(weights[order[at]])])
    # A cut is only possible before a member that differs from the previous one in the same cell.
    possible = np.flatnonzero((along[1:] != along[:-1]) & (cell[1:] == cell[:-1])) + 1
    low, high = np.searchsorted(possible, first, "right"), np.searchsorted(possible, ends)
    if len(possible) == 0:
        return np.zeros((len(start), arity - 1), dtype=np.intp), np.zeros((len(start), arity - 1), dtype=bool)
    targets = before[first][:, None] + np.arange(1, arity) / arity * (before[ends] - before[first])[:, None]
    above = np.searchsorted(before[possible], targets)
    right, left = (np.clip(near, low[:, None], high[:, None] - 1) for near in (above, above - 1))
    nearer = np.abs(before[possible[left]] - targets) <= np.abs(before[possible[right]] - targets)
    cuts = possible[np.where(nearer, left, right)]
    edges = np.column_stack([first, cuts, ends])
    used = np.diff(edges[:, :-1], axis=1) > 0
    # Equal cuts count once; parts without members do not exist.
    parts = sums(weights[order[at]], edges[:, :-1].ravel(), edges[:, 1:].ravel()).reshape(len(start), arity)
    lightest = np.where(np.diff(edges, axis=1) > 0, parts, np.inf).min(axis=1)
    used &= ((low < high) & (lightest >= least))[:, None]
    return cuts + (start - first)[:, None], used
