"""The tree is a table: one row a node, one column a quantity.

The table knows nothing of spaces, kernels or policies. Rows are added and never removed. Two things share its
columns: `Growing`, which a step of a study writes while it is being worked out, and `Tree`, the read-only table
that policies, plots and exporters see.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

INTS = (
    "depth",
    "index",  # position within the depth, in order of the coordinate
    "parent",  # row of the parent, -1 for the root
    "first_child",  # row of the first child, -1 for a leaf; siblings are adjacent rows
    "count",  # T: trials told
    "looks",  # trials told or under way
    "slot",  # which footprint of the belief
)
FLOATS = (
    "mean",  # posterior of the average, from told measurements
    "std",
    "std_before",  # std just before the reward told last: on Z_{1:t-1}, as equation 6 has it
    "noise",  # standard deviation of one measurement
    "reward",  # mean of the node's own rewards, as told; 0 without any
)
FLAGS = (
    "expanded",  # line 6 of Algorithm 1 passed (or the node was split by force)
    "askable",  # may be measured now
    "splittable",  # a leaf that may be split
    "smallest",  # will never be split
    "forbidden",  # by the user: neither measured nor recommended
)
CAPACITY = 256  # rows at first


class Tree:
    """A table of nodes, read-only: every name in `INTS`, `FLOATS` and `FLAGS` is an array of `size` entries."""

    depth: NDArray[np.int64]
    index: NDArray[np.int64]
    parent: NDArray[np.int64]
    first_child: NDArray[np.int64]
    count: NDArray[np.int64]
    looks: NDArray[np.int64]
    slot: NDArray[np.int64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    std_before: NDArray[np.float64]
    noise: NDArray[np.float64]
    reward: NDArray[np.float64]
    expanded: NDArray[np.bool_]
    askable: NDArray[np.bool_]
    splittable: NDArray[np.bool_]
    smallest: NDArray[np.bool_]
    forbidden: NDArray[np.bool_]

    def __init__(
        self, size: int, ints: NDArray[np.int64], floats: NDArray[np.float64], flags: NDArray[np.bool_]
    ) -> None:
        self.size = size
        for names, block in ((INTS, ints), (FLOATS, floats), (FLAGS, flags)):
            used = block[:, :size]
            used.flags.writeable = False
            self.__dict__.update(zip(names, used, strict=True))

    @property
    def leaf(self) -> NDArray[np.bool_]:
        """Whether each node has no children."""
        return self.first_child < 0

    @property
    def contender(self) -> NDArray[np.bool_]:
        """Whether each node may be measured, or is a leaf that may be split though it may not be measured."""
        return self.askable | self.splittable

    def with_posterior(self, mean: NDArray[np.float64], std: NDArray[np.float64]) -> Tree:
        """Return the same table with other columns of the posterior (as seen while trials are pending)."""
        seen = copy.copy(self)
        seen.mean, seen.std = mean, std
        return seen

    def snapshot(self, prior_mean: float, sign: float) -> TreeTable:
        """Return a copy in the user's units: ``prior_mean + sign * mean``."""
        columns = {column.name: getattr(self, column.name).copy() for column in fields(TreeTable)}
        columns["mean"] = prior_mean + sign * columns["mean"]
        columns["reward"] = np.where(columns["count"] > 0, sign * columns["reward"], np.nan)
        for column in columns.values():
            column.flags.writeable = False
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


class Growing:
    """A table of nodes that is being written.

    The columns are attributes, arrays with spare entries past `size`. Fetch them anew after adding children:
    growing moves them.
    """

    depth: NDArray[np.int64]
    index: NDArray[np.int64]
    parent: NDArray[np.int64]
    first_child: NDArray[np.int64]
    count: NDArray[np.int64]
    looks: NDArray[np.int64]
    slot: NDArray[np.int64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    std_before: NDArray[np.float64]
    noise: NDArray[np.float64]
    reward: NDArray[np.float64]
    expanded: NDArray[np.bool_]
    askable: NDArray[np.bool_]
    splittable: NDArray[np.bool_]
    smallest: NDArray[np.bool_]
    forbidden: NDArray[np.bool_]

    def __init__(self, noise: float) -> None:
        self.size = 0
        self._blocks = (
            np.zeros((len(INTS), CAPACITY), dtype=np.int64),
            np.zeros((len(FLOATS), CAPACITY)),
            np.zeros((len(FLAGS), CAPACITY), dtype=np.bool_),
        )
        self._name()
        self.parent[self._append(1)] = -1
        self.noise[0] = noise

    def fork(self) -> Growing:
        """Return a copy to write on; this one stays as it is."""
        twin = Growing.__new__(Growing)
        twin.size = self.size
        ints, floats, flags = self._blocks
        twin._blocks = ints.copy(), floats.copy(), flags.copy()
        twin._name()
        return twin

    def read(self) -> Tree:
        """Return the table read-only; it follows what is written into its rows."""
        if self._tree is None or self._tree.size != self.size:
            self._tree = Tree(self.size, *self._blocks)
        return self._tree

    def add_children(self, node: int, indices: Sequence[int], noise: Sequence[float], slots: Sequence[int]) -> None:
        """Add a row for each child of `node`, adjacent and in order; `node` is no longer a leaf."""
        self.first_child[node] = self.size
        new = self._append(len(indices))
        self.depth[new] = self.depth[node] + 1
        self.index[new] = indices
        self.parent[new] = node
        self.noise[new] = noise
        self.slot[new] = slots

    def _name(self) -> None:
        self._tree: Tree | None = None
        for names, block in zip((INTS, FLOATS, FLAGS), self._blocks, strict=True):
            self.__dict__.update(zip(names, block, strict=True))

    def _append(self, number: int) -> slice:
        """Add leaves, with all else left at zero, and return their rows."""
        start, self.size = self.size, self.size + number
        capacity = len(self.depth)
        if self.size > capacity:
            more = max(self.size, 2 * capacity) - capacity
            ints, floats, flags = self._blocks
            self._blocks = (
                np.pad(ints, ((0, 0), (0, more))),
                np.pad(floats, ((0, 0), (0, more))),
                np.pad(flags, ((0, 0), (0, more))),
            )
            self._name()
        new = slice(start, self.size)
        self.first_child[new] = -1
        return new


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
