"""The tree is a table: one row per node, one column per quantity.

The table knows nothing of spaces, kernels or policies. Rows are added and never removed; policies, plots and
exporters read the columns. A table never changes: whatever happens to a node makes another table, with other
columns in place of those that changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Columns that change together are the rows of one array.
DEPTH, INDEX, PARENT, SLOT, FIRST_CHILD, COUNT, LOOKS, WEIGHED, ANSWERED = range(9)
EXPANDED, ASKABLE, SMALLEST, FORBIDDEN = range(4)
NOISE, REWARD, WEIGHED_REWARD, WEIGHED_VARIANCE, TIMED = range(5)


class Tree:
    """A table of nodes: every column is a read-only array with one entry per node; the root comes first.

    Attributes
    ----------
    depth, index : array of int
        The node; `index` is its position within the depth, in order of the coordinate.
    parent, first_child : array of int
        Row of the parent, -1 for the root, and of the first child, -1 for a leaf; siblings are adjacent rows.
    slot : array of int
        Which footprint of the belief.
    count, looks : array of int
        Trials told (T), and trials told or under way.
    answered : array of int
        Trials told, those told as differences included.
    expanded : array of bool
        Whether line 6 of Algorithm 1 passed, or the node was split by force.
    askable : array of bool
        Whether it may be measured now.
    smallest : array of bool
        Whether it will never be split.
    forbidden : array of bool
        Whether the user forbids to measure and to recommend it.
    noise : array of float
        Standard deviation of one measurement of the usual time.
    reward : array of float
        Mean of the node's own rewards told without a standard error, by their times; 0 without any.
    timed : array of float
        Times of these in all, in usual ones: their number, where times are not chosen.
    weighed : array of int
        Of the trials told, those with a standard error of their own.
    weighed_reward, weighed_variance : array of float
        Mean by precision of the rewards told with a standard error, and its variance.
    mean, std : array of float
        Posterior of the average.
    std_before : array of float
        While a reward is judged: std just before it, on Z_{1:t-1}, as equation 6 has it.
    """

    depth: Ints
    index: Ints
    parent: Ints
    first_child: Ints
    slot: Ints
    count: Ints
    looks: Ints
    answered: Ints
    expanded: Flags
    askable: Flags
    smallest: Flags
    forbidden: Flags
    noise: Floats
    reward: Floats
    weighed: Ints
    weighed_reward: Floats
    weighed_variance: Floats
    timed: Floats
    terms: Any = None  # what looks cost, while one is chosen
    mean: Floats
    std: Floats
    std_before: Floats
    _contenders: NDArray[np.intp] | None

    def __init__(
        self,
        of: Tree | None = None,
        ints: Ints | None = None,
        flags: Flags | None = None,
        floats: Floats | None = None,
    ) -> None:
        """Take over the columns of another table, but for blocks of columns that are given."""
        self.__dict__ = {} if of is None else {**of.__dict__}
        if ints is not None:
            ints.flags.writeable = False
            self._ints = ints
            self.depth, self.index, self.parent, self.slot, self.first_child, *counts = ints
            self.count, self.looks, self.weighed, self.answered = counts
        if flags is not None:
            flags.flags.writeable = False
            self._flags = flags
            self.expanded, self.askable, self.smallest, self.forbidden = flags
            self._contenders = None
        if floats is not None:
            floats.flags.writeable = False
            self._floats = floats
            self.noise, self.reward, self.weighed_reward, self.weighed_variance, self.timed = floats

    @classmethod
    def root(cls, noise: float, splittable: bool = True, forbidden: bool = False) -> Tree:
        """Return the table of a tree that is its root alone."""
        ints = np.array([[0], [0], [-1], [0], [-1], [0], [0], [0], [0]])
        flags = np.array([[False], [not forbidden], [not splittable], [forbidden]])
        return cls(None, ints, flags, np.array([[noise], [0.0], [0.0], [0.0], [0.0]]))

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.depth.size

    def believed(self, mean: Floats, variance: Floats, in_order: bool) -> Tree:
        """Return the table with a posterior by slot, or by row if slots are `in_order`; nobody writes into it."""
        if not in_order:
            mean, variance = mean.take(self.slot), variance.take(self.slot)
        std = np.sqrt(variance)
        mean.flags.writeable = std.flags.writeable = False
        twin = Tree(self)
        twin.mean, twin.std = mean, std
        return twin

    def as_noisy(self, noise: float) -> Tree:
        """Return the table with another standard deviation of every measurement."""
        floats = self._floats.copy()
        floats[NOISE] = noise
        return Tree(self, floats=floats)

    def looked(self, row: int, looks: int, askable: bool) -> Tree:
        """Return the table after a look at a node more, or less."""
        ints = self._ints.copy()
        ints[LOOKS, row] = looks
        twin = Tree(self, ints)
        return twin if askable == self.askable[row] else twin.marked(row, ASKABLE, askable)

    def told_otherwise(self, row: int, more: int) -> Tree:
        """Return the table after `more` trials of a node were told that say nothing of its average alone."""
        ints = self._ints.copy()
        ints[ANSWERED, row] += more
        return Tree(self, ints)

    def told(self, row: int, reward: float, sem: float | None = None, time: float = 1.0) -> Tree:
        """Return the table after a reward of a node: it counts in its mean reward, by precision with a `sem`."""
        ints, floats = self._ints.copy(), self._floats.copy()
        ints[COUNT, row] += 1
        ints[ANSWERED, row] += 1
        if sem is None:
            floats[TIMED, row] += time
            floats[REWARD, row] += (reward - floats[REWARD, row]) * time / floats[TIMED, row]
        else:
            known, mean, variance = floats.item(WEIGHED_VARIANCE, row), floats.item(WEIGHED_REWARD, row), sem**2
            if not ints[WEIGHED, row]:
                share, left = 1.0, variance
            else:
                share = known / (known + variance) if known > 0 else 0.0  # 0: it is known exactly
                left = share * variance
            floats[WEIGHED_REWARD, row] = mean + share * (reward - mean)
            floats[WEIGHED_VARIANCE, row] = left
            ints[WEIGHED, row] += 1
        return Tree(self, ints, floats=floats)

    def retold(self, row: int, rewards: Iterable[tuple[float, float | None, float]]) -> Tree:
        """Return the table with these rewards of a node, their standard errors and times, and no others."""
        ints, floats = self._ints.copy(), self._floats.copy()
        ints[ANSWERED, row] -= ints[COUNT, row]
        ints[COUNT, row] = ints[WEIGHED, row] = 0
        floats[REWARD:, row] = 0.0
        twin = Tree(self, ints, floats=floats)
        for reward, sem, time in rewards:
            twin = twin.told(row, reward, sem, time)
        return twin

    def marked(self, row: int, name: int, flag: bool) -> Tree:
        """Return the table with another flag in one row."""
        flags = self._flags.copy()
        flags[name, row] = flag
        return Tree(self, flags=flags)

    def at_slots(self, first: int, slots: Ints) -> Tree:
        """Return the table with other slots from row `first` on."""
        ints = self._ints.copy()
        ints[SLOT, first:] = slots
        return Tree(self, ints)

    def split(
        self,
        rows: NDArray[np.intp],
        families: NDArray[np.intp],
        expanded: bool,
        inner: bool,
        index: Ints,
        slot: int,
        smallest: Flags,
        forbidden: Flags | bool,
        noise: Floats | float,
    ) -> Tree:
        """Return the table with the children of some leaves: adjacent rows for each, in order.

        Parameters
        ----------
        rows, families : array of int
            The leaves, and how many children each has.
        expanded, inner : bool
            Whether the leaves count as expanded, and may still be measured, from now on.
        slot : int
            Of the first child; those of the others follow.
        index, smallest, forbidden, noise : array
            Columns of the children; one number stands for all.
        """
        size, number = self.depth.size, index.size
        ints, flags = np.zeros((9, size + number), dtype=np.int64), np.zeros((4, size + number), dtype=bool)
        floats = np.zeros((5, size + number))
        ints[:, :size], flags[:, :size], floats[:, :size] = self._ints, self._flags, self._floats
        new, new_flags = ints[:, size:], flags[:, size:]
        new[PARENT] = parent = rows.repeat(families)
        new[DEPTH], new[INDEX], new[SLOT] = self.depth.take(parent) + 1, index, range(slot, slot + number)
        new[FIRST_CHILD] = -1
        ints[FIRST_CHILD, rows] = size + families.cumsum() - families
        new_flags[SMALLEST], new_flags[FORBIDDEN] = smallest, forbidden
        new_flags[ASKABLE] = np.logical_not(forbidden)
        floats[NOISE, size:] = noise
        if expanded:
            flags[EXPANDED, rows] = True
        if not inner:
            flags[ASKABLE, rows] = False
        return Tree(self, ints, flags, floats)

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
        """The rows that may be measured, and the leaves that may be split though they may not be measured."""
        if self._contenders is None:
            (self._contenders,) = (self.askable | ((self.first_child < 0) & ~self.smallest)).nonzero()
            self._contenders.flags.writeable = False
        return self._contenders

    def own_rewards(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the mean of some nodes' own rewards, weighed by precision, and its standard error."""
        weighed = self.weighed[rows]
        plain = self.count[rows] - weighed
        timed = self.timed[rows]
        mean, error = self.reward[rows], self.noise[rows] / np.sqrt(np.where(timed > 0, timed, 1.0))
        if not weighed.any():
            return mean, error
        variance, known = error**2, self.weighed_variance[rows]
        total = variance + known
        share = np.divide(variance, total, out=np.ones_like(total), where=total > 0)
        share[weighed == 0], share[plain == 0] = 0.0, 1.0
        mean = mean + share * (self.weighed_reward[rows] - mean)
        return mean, np.where(weighed == 0, error, np.sqrt(share * known))

    def snapshot(self, prior_mean: float, sign: float, time: float = 1.0) -> TreeTable:
        """Return the table in the user's units: ``prior_mean + sign * mean``, noise that of one unit of time."""
        columns = {column.name: _frozen(getattr(self, column.name).view()) for column in fields(TreeTable)}
        columns["mean"] = _frozen(prior_mean + sign * self.mean)
        if time != 1:
            columns["noise"] = _frozen(self.noise * math.sqrt(time))
        reward, _ = self.own_rewards(np.arange(self.size))
        columns["reward"] = _frozen(np.where(self.count > 0, sign * reward, np.nan))
        return TreeTable(**columns)

    def ties(self, rows: NDArray[np.intp]) -> int:
        """Return the row of smallest depth, then smallest index, among `rows`."""
        return int(min(rows, key=lambda row: (self.depth[row], self.index[row])))

    def lineage(self, row: int) -> set[int]:
        """Return the nodes that hold a node."""
        above = set()
        while (row := int(self.parent[row])) >= 0:
            above.add(row)
        return above


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
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
        Trials told.
    mean, std : array of float
        Posterior mean and standard deviation of the region's average, in the user's units.
    noise : array of float
        Standard deviation of one measurement, of one unit of time.
    expanded : array of bool
        Whether the node may be recommended: it was split, or would have been but for `smallest`.
    askable : array of bool
        Whether the node may be measured next.
    smallest : array of bool
        Whether the node is of the smallest size: it will never be split.
    forbidden : array of bool
        Whether the user forbade it.
    reward : array of float
        Mean of the values told of this very node, weighed by their precision; NaN without any.
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
        return all(np.array_equal(one, two, equal_nan=one.dtype.kind == "f") for one, two in pairs)

    __hash__ = None  # type: ignore[assignment]


def reversed_digits(index: int, arity: int, digits: int) -> int:
    """Return `index` with its digits in reverse order: neighbours in that order lie far apart (van der Corput)."""
    value = 0
    for _ in range(digits):
        index, digit = divmod(index, arity)
        value = value * arity + digit
    return value
