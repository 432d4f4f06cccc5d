"""The tree is a table: one row per node, one column per quantity.

The table knows nothing about spaces, kernels or policies. Rows are added and never removed; policies, plots and
exports read the columns. A table never changes: every change makes another table that shares the columns that
stay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal._types import Flags, Floats

Ints = NDArray[np.int64]

# Columns that change together are the rows of one array.
DEPTH, INDEX, PARENT, SLOT, FIRST_CHILD = range(5)
EXPANDED, ASKABLE, SMALLEST, FORBIDDEN = range(4)


def _tallied(name: str, kind: type = float) -> Any:
    """Return a column of an attribute of the tallies, made when it is read: most rounds do not need it."""
    get = attrgetter(name)

    def column(tree: Tree) -> NDArray[Any]:
        columns = tree._tallied_columns
        if name not in columns:
            values: NDArray[Any] = np.zeros(tree.size, dtype=kind)
            values[list(tree.tallies)] = [get(tally) for tally in tree.tallies.values()]
            columns[name] = _frozen(values)
        return columns[name]

    return property(column)


class Tree:
    """A table of nodes: every column is a read-only array with one entry per node; the root comes first.

    Most columns are those of `TreeTable`, the table that users see; here means are relative to the prior mean, and
    more is better.
    """

    depth: Ints
    index: Ints
    parent: Ints
    first_child: Ints
    slot: Ints  # its footprint in the belief
    count: Ints = _tallied("answered", int)  # trials told, including those told as differences
    averaged: Ints = _tallied("number", int)  # of these, the ones told as averages
    expanded: Flags  # whether line 6 of Algorithm 1 passed, or the node was split by force
    askable: Flags
    smallest: Flags
    forbidden: Flags
    reward: Floats = _tallied("without_sem.mean")  # of trials without a standard error, by time; 0 if none
    total_time: Floats = _tallied("without_sem.weight")  # total time of these, in usual times
    n_with_sem: Ints = _tallied("with_sem.number", int)  # number of trials measured with a standard error
    precision_mean: Floats = _tallied("with_sem.mean")  # their precision-weighted mean
    precision_variance: Floats = _tallied("with_sem.variance")  # and its variance
    relative: Floats  # noise of one measurement of the usual time, in units of
    unit: float  # what is learned of it; 1 if it is given
    terms: Any = None  # what measurements cost, while a trial is chosen
    mean: Floats
    std: Floats
    std_before: Floats  # while a reward is being processed: std just before it, on Z_{1:t-1}, as in equation 6
    tallies: dict[int, Any]  # of the nodes that were measured, by row: `NodeStats`
    pending: Mapping[int, Any]  # the trials pending, each with its `row`
    _tallied_columns: dict[str, NDArray[Any]]  # columns of the tallies, as far as they were read
    _contenders: NDArray[np.intp] | None

    def __init__(
        self,
        of: Tree | None = None,
        tallies: dict[int, Any] | None = None,
        pending: Mapping[int, Any] | None = None,
    ) -> None:
        """Copy the columns of another table, with other tallies and trials pending if they are given."""
        self.__dict__ = {} if of is None else {**of.__dict__}
        if tallies is not None:
            self.tallies, self._tallied_columns = tallies, {}
        if pending is not None:
            self.pending = pending

    @classmethod
    def root(cls, noise: float, splittable: bool = True, forbidden: bool = False) -> Tree:
        """Return the table of a tree that is its root alone."""
        tree = cls(None, {}, {})
        tree.relative, tree.unit = _frozen(np.array([noise])), 1.0
        flags = np.array([[False], [not forbidden], [not splittable], [forbidden]])
        return tree._shaped(np.array([[0], [0], [-1], [0], [-1]]))._flagged(flags)

    def _shaped(self, ints: Ints) -> Tree:
        """Set another block of integer columns."""
        ints.setflags(write=False)
        self._ints, self._tallied_columns = ints, {}
        self.depth, self.index, self.parent, self.slot, self.first_child = ints
        return self

    def _flagged(self, flags: Flags) -> Tree:
        """Set another block of flags."""
        flags.setflags(write=False)
        self._flags, self._contenders = flags, None
        self.expanded, self.askable, self.smallest, self.forbidden = flags
        return self

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.depth.size

    def believed(self, mean: Floats, variance: Floats, in_order: bool, *measured: Any) -> Tree:
        """Return the table with a posterior by slot (by row if slots are `in_order`), and what was `measured`."""
        if not in_order:
            mean, variance = mean.take(self.slot), variance.take(self.slot)
        std = np.sqrt(variance)
        mean.setflags(write=False)
        std.setflags(write=False)
        twin = Tree(self, *measured)
        twin.mean, twin.std = mean, std
        return twin

    def in_units(self, unit: float) -> Tree:
        """Return the table with another unit of noise: the standard deviation that was learned."""
        twin = Tree(self)
        twin.unit = unit
        return twin

    @property
    def noise(self) -> Floats:
        """Standard deviation of one measurement of the usual time."""
        return _frozen(self.unit * self.relative)

    @property
    def trials(self) -> Ints:
        """Trials told or pending."""
        trials = self.count
        if self.pending:
            trials = trials.copy()
            for asked in self.pending.values():
                trials[asked.row] += 1
        return _frozen(trials)

    def marked(self, row: int, name: int, flag: bool) -> Tree:
        """Return the table with another flag in one row."""
        flags = self._flags.copy()
        flags[name, row] = flag
        return Tree(self)._flagged(flags)

    def forbidding(self, forbidden: Flags, askable: Flags) -> Tree:
        """Return the table with other nodes forbidden, and others that may be measured."""
        flags = self._flags.copy()
        flags[FORBIDDEN], flags[ASKABLE] = forbidden, askable
        return Tree(self)._flagged(flags)

    def restricted(self, able: Flags, never: Flags) -> Tree:
        """Return the table where only `able` rows may be measured, and leaves that are `never` are not split."""
        flags = self._flags.copy()
        flags[ASKABLE] &= able
        twin = Tree(self)._flagged(flags)
        (twin._contenders,) = (twin.askable | (twin.splittable & ~never)).nonzero()
        twin._contenders.setflags(write=False)
        return twin

    def at_slots(self, first: int, slots: Ints) -> Tree:
        """Return the table with other slots from row `first` on."""
        ints = self._ints.copy()
        ints[SLOT, first:] = slots
        return Tree(self)._shaped(ints)

    def split(
        self,
        rows: Sequence[int],
        families: Sequence[int],
        expanded: bool,
        inner: bool,
        index: Ints,
        slot: int,
        smallest: Flags | bool,
        forbidden: Flags | bool,
        noise: Floats | float,
    ) -> Tree:
        """Return the table with the children of some leaves: adjacent rows for each, as many as in `families`.

        From now on the leaves may count as `expanded`, and may still be measured if `inner`. The slots of the
        children follow each other from `slot` on; the rest are columns of theirs, where a single value holds for
        all, noise in units of `unit`.
        """
        size = self.depth.size
        total = size + index.size
        leaves: Any = rows[0]
        parent, first = leaves, size
        if len(rows) > 1:
            leaves, sizes = np.array(rows), np.array(families)
            parent, first = leaves.repeat(sizes), size + sizes.cumsum() - sizes
        ints, flags = np.empty((5, total), dtype=np.int64), np.zeros((4, total), dtype=bool)
        ints[:, :size], flags[:, :size] = self._ints, self._flags
        ints[FIRST_CHILD, leaves] = first
        new, new_flags = ints[:, size:], flags[:, size:]
        new[DEPTH] = self.depth[parent] + 1
        new[INDEX], new[PARENT], new[FIRST_CHILD] = index, parent, -1
        new[SLOT] = np.arange(slot, slot + index.size)
        new_flags[SMALLEST], new_flags[FORBIDDEN] = smallest, forbidden
        new_flags[ASKABLE] = True ^ forbidden
        if expanded:
            flags[EXPANDED, leaves] = True
        if not inner:
            flags[ASKABLE, leaves] = False
        twin = Tree(self)._shaped(ints)._flagged(flags)
        twin.relative = np.empty(total)
        twin.relative[:size], twin.relative[size:] = self.relative, noise
        return twin

    def with_windows(self, mean: Floats, std: Floats) -> Tree:
        """Return the table with regions outside the tree as further rows, to compare them with the nodes.

        They have the smallest size, and are in no node.
        """
        more = np.repeat(np.array([[-1], [-1], [-1], [-1], [-1]]), len(mean), axis=1)
        flags = np.repeat(np.array([[False], [False], [True], [False]]), len(mean), axis=1)
        twin = Tree(self)._shaped(np.concatenate((self._ints, more), axis=1))
        twin = twin._flagged(np.concatenate((self._flags, flags), axis=1))
        twin.mean, twin.std = np.append(self.mean, mean), np.append(self.std, std)
        return twin

    @property
    def leaf(self) -> Flags:
        """Whether each node has no children."""
        return self.first_child < 0

    @property
    def splittable(self) -> Flags:
        """Whether each node is a leaf that may be split."""
        return self.leaf & ~self.smallest

    @property
    def contenders(self) -> NDArray[np.intp]:
        """The rows that may be measured, and the leaves that may be split but not measured."""
        if self._contenders is None:
            (self._contenders,) = (self.askable | ((self.first_child < 0) & ~self.smallest)).nonzero()
            self._contenders.setflags(write=False)
        return self._contenders

    def own_rewards(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the precision-weighted mean of some nodes' own rewards, and its standard error."""
        weighed = self.n_with_sem[rows]
        plain = self.averaged[rows] - weighed
        timed = self.total_time[rows]
        mean, error = self.reward[rows], self.noise[rows] / np.sqrt(np.where(timed > 0, timed, 1.0))
        if not weighed.any():
            return mean, error
        variance, precision_variance = error**2, self.precision_variance[rows]
        total = variance + precision_variance
        share = np.divide(variance, total, out=np.ones_like(total), where=total > 0)
        share[weighed == 0], share[plain == 0] = 0.0, 1.0
        mean = mean + share * (self.precision_mean[rows] - mean)
        return mean, np.where(weighed == 0, error, np.sqrt(share * precision_variance))

    def snapshot(self, prior_mean: float, sign: float, time: float = 1.0) -> TreeTable:
        """Return the table in the user's units: ``prior_mean + sign * mean``, noise for one unit of time."""
        columns = {column.name: _frozen(getattr(self, column.name).view()) for column in fields(TreeTable)}
        columns["mean"] = _frozen(prior_mean + sign * self.mean)
        if time != 1:
            columns["noise"] = _frozen(self.noise * math.sqrt(time))
        reward, _ = self.own_rewards(np.arange(self.size))
        columns["reward"] = _frozen(np.where(self.averaged > 0, sign * reward, np.nan))
        return TreeTable(**columns)

    def ties(self, rows: NDArray[np.intp]) -> int:
        """Return the row of smallest depth, then smallest index, among `rows`."""
        return int(min(rows, key=lambda row: (self.depth[row], self.index[row])))

    def node(self, row: int) -> tuple[int, int]:
        """Return depth and index of a node."""
        return int(self.depth[row]), int(self.index[row])

    def nodes(self, rows: NDArray[np.intp]) -> list[tuple[int, int]]:
        """Return depth and index of some nodes."""
        return list(zip(self.depth[rows].tolist(), self.index[rows].tolist(), strict=True))

    def lineage(self, row: int) -> set[int]:
        """Return the nodes that contain a node."""
        above = set()
        while (row := int(self.parent[row])) >= 0:
            above.add(row)
        return above


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class TreeTable:
    """The tree at one moment, as read-only arrays with one entry per node; the root comes first.

    Attributes
    ----------
    depth, index : array of int
        The node, (depth, index).
    parent, first_child : array of int
        Rows of the parent (-1 for the root) and of the first child (-1 for a leaf).
    count : array of int
        Trials told, as averages or as differences.
    mean, std : array of float
        Posterior mean and standard deviation of the region's average, in the user's units.
    noise : array of float
        Standard deviation of one measurement in one unit of time.
    expanded : array of bool
        Whether the node may be recommended: it was split, or would have been if it were not smallest.
    askable : array of bool
        Whether the node may be measured next.
    smallest : array of bool
        Whether the node is of the smallest size: it will never be split.
    forbidden : array of bool
        Whether the user forbade it.
    reward : array of float
        Precision-weighted mean of the averages measured for this node itself; NaN if there is none.
    """

    depth: NDArray[np.int64]
    index: NDArray[np.int64]
    parent: NDArray[np.int64]
    first_child: NDArray[np.int64]
    count: NDArray[np.int64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    noise: NDArray[np.float64]
    expanded: NDArray[np.bool_]
    askable: NDArray[np.bool_]
    smallest: NDArray[np.bool_]
    forbidden: NDArray[np.bool_]
    reward: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.depth)

    def __eq__(self, other: object) -> bool:
        """Tell whether two tables are the same, entry by entry."""
        if not isinstance(other, TreeTable):
            return NotImplemented
        pairs = ((getattr(self, column.name), getattr(other, column.name)) for column in fields(self))
        return all(np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f") for ours, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]


def reversed_digits(index: int, arity: int, digits: int) -> int:
    """Return `index` with its digits in reverse order: neighbours in that order lie far apart (van der Corput)."""
    value = 0
    for _ in range(digits):
        index, digit = divmod(index, arity)
        value = value * arity + digit
    return value
