"""The tree is a table: one row a node, one column a quantity.

The table knows nothing of spaces, kernels or policies. Rows are added and never removed; policies, plots and
exporters read the columns. A table never changes: whatever happens to a node makes another table, with other
columns in place of those that changed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


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
    noise : array of float
        Standard deviation of one measurement.
    reward : array of float
        Mean of the node's own rewards, as told; 0 without any.
    expanded : array of bool
        Whether line 6 of Algorithm 1 passed, or the node was split by force.
    askable : array of bool
        Whether it may be measured now.
    smallest : array of bool
        Whether it will never be split.
    forbidden : array of bool
        Whether the user forbids to measure and to recommend it.
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
    noise: Floats
    reward: Floats
    expanded: Flags
    askable: Flags
    smallest: Flags
    forbidden: Flags
    mean: Floats
    std: Floats
    std_before: Floats

    def __init__(self, noise: float, splittable: bool = True, forbidden: bool = False) -> None:
        for name in ("depth", "index", "slot", "count", "looks"):
            setattr(self, name, np.zeros(1, dtype=np.int64))
        self.parent = self.first_child = np.full(1, -1)
        self.noise, self.reward = np.array([noise]), np.zeros(1)
        self.expanded, self.askable = np.zeros(1, dtype=bool), np.array([not forbidden])
        self.smallest, self.forbidden = np.array([not splittable]), np.array([forbidden])

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.depth)

    def having(self, **columns: NDArray[Any]) -> Tree:
        """Return the same table with other columns, which nobody may write into from now on."""
        twin = Tree.__new__(Tree)
        own = twin.__dict__
        own.update(self.__dict__, **columns)
        for column in columns:
            own[column].flags.writeable = False
        if "_contenders" in own and ("askable" in columns or "first_child" in columns):
            del own["_contenders"]
        return twin

    def put(self, row: int, **entries: Any) -> Tree:
        """Return the same table with other entries in one row."""
        columns = {}
        for name in entries:
            column = columns[name] = self.__dict__[name].copy()
            column[row] = entries[name]
        return self.having(**columns)

    def plus(
        self, rows: NDArray[np.intp], families: NDArray[np.intp], passed: bool, inner: bool, **children: Any
    ) -> Tree:
        """Return the table with the children of some leaves: adjacent rows for each, in order.

        Parameters
        ----------
        rows, families : array of int
            The leaves, and how many children each has.
        passed, inner : bool
            Whether the leaves count as expanded, and may still be measured, from now on.
        **children : array
            Columns of the children; those that are left out follow from the leaves, or are 0.
        """
        size, number = len(self.depth), len(children["index"])
        zeros = np.zeros(number, dtype=np.int64)
        own = self.__dict__
        columns = {name: np.concatenate((own[name], children[name])) for name in children}
        for name in ("count", "looks", "reward", "expanded", "first_child", "parent", "depth"):
            columns[name] = np.concatenate((own[name], zeros), dtype=own[name].dtype, casting="unsafe")
        columns["parent"][size:] = rows.repeat(families)
        columns["depth"][size:] = (own["depth"][rows] + 1).repeat(families)
        columns["first_child"][size:] = -1
        columns["first_child"][rows] = size + families.cumsum() - families
        columns["expanded"][rows] |= passed
        columns["askable"][rows] &= inner
        return self.having(**columns)

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
        rows: NDArray[np.intp] | None = self.__dict__.get("_contenders")
        if rows is None:  # kept, since most rounds change none of it
            rows = self._contenders = (self.askable | self.splittable).nonzero()[0]
        return rows

    def snapshot(self, prior_mean: float, sign: float) -> TreeTable:
        """Return the table in the user's units: ``prior_mean + sign * mean``."""
        columns = {column.name: _frozen(getattr(self, column.name).view()) for column in fields(TreeTable)}
        columns["mean"] = _frozen(prior_mean + sign * self.mean)
        columns["reward"] = _frozen(np.where(self.count > 0, sign * self.reward, np.nan))
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
        Mean of the values told of this very node; NaN without any.
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
