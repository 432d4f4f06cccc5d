"""The tree is a table: one row a node, one column a quantity.

The table knows nothing of spaces, kernels or policies. Rows are added and never removed; policies, plots and
exporters read the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

INTS = (
    "depth",
    "index",  # position within the depth, in order of the coordinate
    "parent",  # row of the parent, -1 for the root
    "first_child",  # row of the first child, -1 for a leaf; siblings are adjacent rows
    "slot",  # which footprint of the belief
)
COUNTS = (
    "count",  # T: trials told
    "looks",  # trials told or under way
    "weighed",  # of the trials told, those with a standard error of their own
)
FLOATS = (
    "mean",  # posterior of the average, from told measurements
    "std",
    "std_before",  # std just before the reward told last: on Z_{1:t-1}, as equation 6 has it
    "noise",  # standard deviation of one measurement
    "reward",  # mean of the node's own rewards told without a standard error; 0 without any
    "weighed_reward",  # mean by precision of those told with one, and its variance
    "weighed_variance",
)
FLAGS = (
    "expanded",  # line 6 of Algorithm 1 passed (or the node was split by force)
    "askable",  # may be measured now
    "splittable",  # a leaf that may be split
    "smallest",  # will never be split
    "forbidden",  # by the user: neither measured nor recommended
)
KINDS: tuple[tuple[tuple[str, ...], type[Any]], ...] = (
    (INTS, np.int64),
    (COUNTS, np.int64),
    (FLOATS, np.float64),
    (FLAGS, np.bool_),
)
PLACES = {name: (kind, at) for kind, (names, _) in enumerate(KINDS) for at, name in enumerate(names)}
DEPTH, PARENT, FIRST_CHILD = (PLACES[name][1] for name in ("depth", "parent", "first_child"))
FLAG, SPLITTABLE = PLACES["splittable"]
CAPACITY = 256  # rows at first


class Tree:
    """A table of nodes: every name in `KINDS` is a read-only array of `size` entries.

    Whoever changes a table forks it first: what others have read of it stays true.
    """

    depth: NDArray[np.int64]
    index: NDArray[np.int64]
    parent: NDArray[np.int64]
    first_child: NDArray[np.int64]
    count: NDArray[np.int64]
    looks: NDArray[np.int64]
    weighed: NDArray[np.int64]
    slot: NDArray[np.int64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    std_before: NDArray[np.float64]
    noise: NDArray[np.float64]
    reward: NDArray[np.float64]
    weighed_reward: NDArray[np.float64]
    weighed_variance: NDArray[np.float64]
    expanded: NDArray[np.bool_]
    askable: NDArray[np.bool_]
    splittable: NDArray[np.bool_]
    smallest: NDArray[np.bool_]
    forbidden: NDArray[np.bool_]

    def __init__(self, noise: float, splittable: bool = True, forbidden: bool = False) -> None:
        self.size = 1
        self._blocks = [np.zeros((len(names), CAPACITY), dtype) for names, dtype in KINDS]
        self._ours = [True] * len(KINDS)  # whether a block may be written
        self.write(0, parent=-1, first_child=-1, noise=noise, splittable=splittable, smallest=not splittable)
        self.write(0, forbidden=forbidden, askable=not forbidden)

    def __getattr__(self, name: str) -> NDArray[Any]:
        """Show the rows in use of a column that was not asked for since it was written."""
        place = PLACES.get(name)
        if place is None:
            raise AttributeError(name)
        kind, at = place
        column = self.__dict__[name] = self._blocks[kind][at, : self.size]
        column.flags.writeable = False
        return column

    def fork(self) -> Tree:
        """Return the same table, to be changed; this one stays as it is."""
        twin = Tree.__new__(Tree)
        twin.__dict__.update(self.__dict__)
        twin._blocks = self._blocks.copy()
        twin._ours = [False] * len(KINDS)  # copied when first written
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in PLACES and name != "_contenders"}

    def _block(self, kind: int) -> NDArray[Any]:
        """Return a block to write into."""
        if not self._ours[kind]:
            self._blocks[kind] = self._blocks[kind].copy()
            self._ours[kind] = True
            self._forget(KINDS[kind][0])
        if kind == FLAG:
            self._forget(("_contenders",))
        return self._blocks[kind]

    def with_posterior(self, mean: NDArray[np.float64], std: NDArray[np.float64]) -> Tree:
        """Return the same table with other columns of the posterior, to be read only."""
        seen = Tree.__new__(Tree)
        seen.__dict__.update(self.__dict__, mean=_frozen(mean.view()), std=_frozen(std))
        return seen

    @property
    def leaf(self) -> NDArray[np.bool_]:
        """Whether each node has no children."""
        return self.first_child < 0

    @property
    def contenders(self) -> NDArray[np.intp]:
        """The rows that may be measured, and the leaves that may be split though they may not be measured."""
        rows: NDArray[np.intp] | None = self.__dict__.get("_contenders")
        if rows is None:  # kept, since most rounds change none of it
            rows = self._contenders = _frozen((self.askable | self.splittable).nonzero()[0])
        return rows

    def own_rewards(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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

    def at(self, row: int, name: str) -> Any:
        """Return one entry, as told whatever `with_posterior` shows: cheaper than to show its column first."""
        kind, place = PLACES[name]
        return self._blocks[kind].item(place, row)

    def write(self, row: int, **entries: Any) -> None:
        """Write into one row."""
        for name, entry in entries.items():
            kind, at = PLACES[name]
            self._block(kind)[at, row] = entry

    def fill(self, **columns: Any) -> None:
        """Write whole columns."""
        for name, column in columns.items():
            kind, at = PLACES[name]
            self._block(kind)[at, : self.size] = column

    def split(self, rows: Sequence[int], families: Sequence[int], **children: Any) -> None:
        """Add children of some leaves: adjacent rows for each, in order.

        Parameters
        ----------
        rows : sequence of int
            The leaves.
        families : sequence of int
            How many children each has.
        **children : sequence
            Columns of the children, one entry a child.
        """
        old, size = self.size, self.size + sum(families)
        capacity = self._blocks[0].shape[1]
        if size > capacity:
            more = max(size, 2 * capacity) - capacity
            self._blocks = [np.pad(block, ((0, 0), (0, more))) for block in self._blocks]
            self._ours = [True] * len(KINDS)
        blocks = [self._block(kind) for kind in range(len(KINDS))]
        ints, *_, flags = blocks
        first = old
        for row, number in zip(rows, families, strict=True):
            last = first + number
            ints[DEPTH, first:last] = ints[DEPTH, row] + 1
            ints[PARENT, first:last] = row
            ints[FIRST_CHILD, row] = first
            flags[SPLITTABLE, row] = False
            first = last
        ints[FIRST_CHILD, old:size] = -1
        for name, column in children.items():
            kind, at = PLACES[name]
            blocks[kind][at, old:size] = column
        self.size = size
        self._forget(PLACES)

    def _forget(self, names: Iterable[str]) -> None:
        """Show columns anew when they are asked for next."""
        shown = self.__dict__
        for name in names:
            if name in shown:
                del shown[name]

    def snapshot(self, prior_mean: float, sign: float) -> TreeTable:
        """Return the table in the user's units: ``prior_mean + sign * mean``."""
        columns = {column.name: _frozen(getattr(self, column.name).copy()) for column in fields(TreeTable)}
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
