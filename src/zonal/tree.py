"""The tree is a table: one row a node, one column a quantity.

The table knows nothing of spaces, kernels or policies. Rows are added and never removed; policies, plots and
exporters read the columns.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

COLUMNS: dict[str, type[np.generic]] = {
    "depth": np.int64,
    "index": np.int64,  # position within the depth, in order of the coordinate
    "parent": np.int64,  # row of the parent, -1 for the root
    "first_child": np.int64,  # row of the first child, -1 for a leaf; siblings are adjacent rows
    "count": np.int64,  # T: trials told
    "looks": np.int64,  # trials told or under way
    "mean": np.float64,  # posterior of the average, from told measurements
    "std": np.float64,
    "noise": np.float64,  # standard deviation of one measurement
    "slot": np.int64,  # which footprint of the belief
    "expanded": np.bool_,  # line 6 of Algorithm 1 passed (or the node was split by force)
    "askable": np.bool_,  # may be measured now
    "smallest": np.bool_,  # will never be split
    "forbidden": np.bool_,  # by the user: neither measured nor recommended
    "reward": np.float64,  # mean of the node's own rewards, as told; 0 without any
}


@dataclass(frozen=True)
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


class Tree:
    """A growing table of nodes.

    Every name in `COLUMNS` is an attribute, an array of at least `size` entries; entries from `size` on are
    spare, and neither askable nor expanded. Fetch columns anew after adding children: growing moves them.
    """

    def __init__(self, noise: float) -> None:
        self.size = 0
        for name, dtype in COLUMNS.items():
            setattr(self, name, np.zeros(256, dtype))
        self.parent[self._append(1)] = -1
        self.noise[0] = noise

    depth: NDArray[np.int64]
    index: NDArray[np.int64]
    parent: NDArray[np.int64]
    first_child: NDArray[np.int64]
    count: NDArray[np.int64]
    looks: NDArray[np.int64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    noise: NDArray[np.float64]
    slot: NDArray[np.int64]
    expanded: NDArray[np.bool_]
    askable: NDArray[np.bool_]
    smallest: NDArray[np.bool_]
    forbidden: NDArray[np.bool_]
    reward: NDArray[np.float64]

    @property
    def leaf(self) -> NDArray[np.bool_]:
        """Whether each node has no children."""
        return self.first_child[: self.size] < 0

    def add_children(self, node: int, indices: list[int], noise: list[float], slots: Sequence[int]) -> None:
        """Add a row for each child of `node`, adjacent and in order; `node` is no longer a leaf."""
        self.first_child[node] = self.size
        self.askable[node] = False
        new = self._append(len(indices))
        self.depth[new] = self.depth[node] + 1
        self.index[new] = indices
        self.parent[new] = node
        self.noise[new] = noise
        self.slot[new] = slots

    def with_posterior(self, mean: NDArray[np.float64], std: NDArray[np.float64]) -> Tree:
        """Return the same table with other columns of the posterior (as seen while trials are pending)."""
        seen = copy.copy(self)
        seen.mean, seen.std = mean, std
        return seen

    def snapshot(self, prior_mean: float, sign: float) -> TreeTable:
        """Return a read-only copy in the user's units: ``prior_mean + sign * mean``."""
        columns = {column.name: getattr(self, column.name)[: self.size].copy() for column in fields(TreeTable)}
        columns["mean"] = prior_mean + sign * columns["mean"]
        columns["reward"] = np.where(columns["count"] > 0, sign * columns["reward"], np.nan)
        for column in columns.values():
            column.flags.writeable = False
        return TreeTable(**columns)

    def ties(self, rows: NDArray[np.intp]) -> int:
        """Return the row of smallest depth, then smallest index, among `rows`."""
        return int(min(rows, key=lambda row: (self.depth[row], self.index[row])))

    def _append(self, number: int) -> slice:
        """Add leaves, with all else left at zero, and return their rows."""
        start, self.size = self.size, self.size + number
        if self.size > len(self.depth):
            for name in COLUMNS:
                setattr(self, name, np.pad(getattr(self, name), (0, max(number, start))))
        new = slice(start, self.size)
        self.first_child[new] = -1
        self.askable[new] = True
        return new


def reversed_digits(index: int, arity: int, digits: int) -> int:
    """Return `index` with its digits in reverse order: neighbours in that order lie far apart (van der Corput)."""
    value = 0
    for _ in range(digits):
        index, digit = divmod(index, arity)
        value = value * arity + digit
    return value
