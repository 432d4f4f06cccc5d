"""The tree is a table: one row a node, one column a quantity.

The table knows nothing of spaces, kernels or policies. Rows are added and never removed; policies, plots and
exporters read the columns. A table never changes: whatever happens to a node makes another table, with other
columns in place of those that changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

DEPTH, INDEX, PARENT, SLOT, FIRST_CHILD = range(5)
EXPANDED, ASKABLE, SMALLEST, FORBIDDEN = range(4)


class Tree:
    """A table of nodes: every column is a read-only array with one entry a node; the root comes first.

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
    expanded : array of bool
        Whether line 6 of Algorithm 1 passed, or the node was split by force.
    askable : array of bool
        Whether it may be measured now.
    smallest : array of bool
        Whether it will never be split.
    forbidden : array of bool
        Whether the user forbids to measure and to recommend it.
    noise : array of float
        Standard deviation of one measurement.
    reward : array of float
        Mean of the node's own rewards told without a standard error; 0 without any.
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
    expanded: Flags
    askable: Flags
    smallest: Flags
    forbidden: Flags
    noise: Floats
    reward: Floats
    weighed: Ints
    weighed_reward: Floats
    weighed_variance: Floats
    mean: Floats
    std: Floats
    std_before: Floats
    _contenders: NDArray[np.intp] | None

    def __init__(self, of: Tree | None = None) -> None:
        self.__dict__ = {} if of is None else {**of.__dict__}

    @classmethod
    def root(cls, noise: float, splittable: bool = True, forbidden: bool = False) -> Tree:
        """Return the table of a tree that is its root alone."""
        tree = cls()
        tree._of_ints(np.array([[0], [0], [-1], [0], [-1]]))
        tree._of_flags(np.array([[False], [not forbidden], [not splittable], [forbidden]]))
        none, zero = np.zeros(1, dtype=np.int64), np.zeros(1)
        return tree.having(
            count=none,
            looks=none,
            weighed=none,
            noise=np.array([noise]),
            reward=zero,
            weighed_reward=zero,
            weighed_variance=zero,
        )

    def _of_ints(self, ints: Ints) -> None:
        ints.flags.writeable = False
        self._ints = ints
        self.depth, self.index, self.parent, self.slot, self.first_child = ints
        self._contenders = None

    def _of_flags(self, flags: Flags) -> None:
        flags.flags.writeable = False
        self._flags = flags
        self.expanded, self.askable, self.smallest, self.forbidden = flags
        self._contenders = None

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.depth.size

    def having(self, **columns: NDArray[Any]) -> Tree:
        """Return the same table with other columns, which nobody may write into from now on."""
        twin = Tree(self)
        for name in columns:
            columns[name].flags.writeable = False
        twin.__dict__ |= columns
        return twin

    def looked(self, row: int, looks: int, askable: bool) -> Tree:
        """Return the table after a look at a node more, or less."""
        column = self.looks.copy()
        column[row] = looks
        twin = self.having(looks=column)
        return twin if askable == self.askable[row] else twin.marked(row, ASKABLE, askable)

    def told(self, row: int, reward: float, sem: float | None = None) -> Tree:
        """Return the table after a reward of a node: it counts in its mean reward, by precision with a `sem`."""
        count = self.count.copy()
        count[row] += 1
        if sem is None:
            rewards = self.reward.copy()
            rewards[row] += (reward - rewards[row]) / (count[row] - self.weighed[row])
            return self.having(count=count, reward=rewards)
        known, variance = self.weighed_variance[row], sem**2
        share = known / (known + variance) if self.weighed[row] and known + variance > 0 else 1.0
        if self.weighed[row] and known == 0:
            share = 0.0  # known exactly
        weighed, mean, left = self.weighed.copy(), self.weighed_reward.copy(), self.weighed_variance.copy()
        left[row] = share * variance if weighed[row] else variance
        mean[row] += share * (reward - mean[row])
        weighed[row] += 1
        return self.having(count=count, weighed=weighed, weighed_reward=mean, weighed_variance=left)

    def retold(self, row: int, rewards: Iterable[tuple[float, float | None]]) -> Tree:
        """Return the table with these rewards of a node, and their standard errors, in place of those so far."""
        twin = self
        for name in ("count", "reward", "weighed", "weighed_reward", "weighed_variance"):
            column = getattr(self, name).copy()
            column[row] = 0
            twin = twin.having(**{name: column})
        for reward, sem in rewards:
            twin = twin.told(row, reward, sem)
        return twin

    def marked(self, row: int, name: int, flag: bool) -> Tree:
        """Return the table with another flag in one row."""
        twin, flags = Tree(self), self._flags.copy()
        flags[name, row] = flag
        twin._of_flags(flags)
        return twin

    def at_slots(self, first: int, slots: Ints) -> Tree:
        """Return the table with other slots from row `first` on."""
        twin, ints = Tree(self), self._ints.copy()
        ints[SLOT, first:] = slots
        twin._of_ints(ints)
        return twin

    def split(
        self,
        rows: NDArray[np.intp],
        families: NDArray[np.intp],
        expanded: bool,
        inner: bool,
        index: Ints,
        slot: int,
        smallest: Flags,
        forbidden: Flags,
        noise: Floats,
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
            Columns of the children.
        """
        size, number = self.depth.size, index.size
        parent, none = rows.repeat(families), np.zeros(number, dtype=np.int64)
        ints, flags = np.empty((5, size + number), dtype=np.int64), np.zeros((4, size + number), dtype=bool)
        ints[:, :size], flags[:, :size] = self._ints, self._flags
        ints[DEPTH, size:], ints[INDEX, size:], ints[PARENT, size:] = self.depth[parent] + 1, index, parent
        ints[SLOT, size:], ints[FIRST_CHILD, size:] = np.arange(slot, slot + number), -1
        ints[FIRST_CHILD, rows] = size + families.cumsum() - families
        flags[SMALLEST, size:], flags[FORBIDDEN, size:], flags[ASKABLE, size:] = smallest, forbidden, ~forbidden
        if expanded:
            flags[EXPANDED, rows] = True
        if not inner:
            flags[ASKABLE, rows] = False
        twin = Tree(self)
        twin._of_ints(ints)
        twin._of_flags(flags)
        return twin.having(
            count=np.concatenate((self.count, none)),
            looks=np.concatenate((self.looks, none)),
            weighed=np.concatenate((self.weighed, none)),
            noise=np.concatenate((self.noise, noise)),
            reward=np.concatenate((self.reward, none)),
            weighed_reward=np.concatenate((self.weighed_reward, none)),
            weighed_variance=np.concatenate((self.weighed_variance, none)),
        )

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
        mean, error = self.reward[rows], self.noise[rows] / np.sqrt(np.maximum(plain, 1))
        if not weighed.any():
            return mean, error
        variance, known = error**2, self.weighed_variance[rows]
        total = variance + known
        share = np.divide(variance, total, out=np.ones_like(total), where=total > 0)
        share[weighed == 0], share[plain == 0] = 0.0, 1.0
        mean = mean + share * (self.weighed_reward[rows] - mean)
        return mean, np.where(weighed == 0, error, np.sqrt(share * known))

    def snapshot(self, prior_mean: float, sign: float) -> TreeTable:
        """Return the table in the user's units: ``prior_mean + sign * mean``."""
        columns = {column.name: _frozen(getattr(self, column.name).view()) for column in fields(TreeTable)}
        columns["mean"] = _frozen(prior_mean + sign * self.mean)
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
    """The tree at one moment, as read-only arrays with one entry a node; the root comes first.

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
        Standard deviation of one measurement.
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
