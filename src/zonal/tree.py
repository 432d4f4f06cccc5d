"""The tree is a table: one row per node, one column per quantity.

The table knows nothing about spaces, kernels or policies. Rows are added and never removed; policies, plots and
exports read the columns. A table never changes: every change makes another table that shares the columns that
stay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from zonal._types import Flags, Floats

if TYPE_CHECKING:
    from zonal.policies.base import RoundCosts

Ints = NDArray[np.int64]

# Columns that change together are the rows of one array.
DEPTH, INDEX, PARENT, SLOT, FIRST_CHILD = range(5)
EXPANDED, ASKABLE, SMALLEST, FORBIDDEN = range(4)


class Nodes:
    """The nodes of a tree and where they stand: every column is a read-only array; the root comes first.

    Nothing here depends on what was measured. A study holds one table of nodes; `Tree` adds what is known of them.
    """

    depth: Ints
    index: Ints
    parent: Ints
    first_child: Ints
    slot: Ints  # its footprint in the belief
    expanded: Flags  # whether line 6 of Algorithm 1 passed, or the node was split by force
    askable: Flags
    smallest: Flags
    forbidden: Flags

    @staticmethod
    def root(splittable: bool = True, forbidden: bool = False) -> Nodes:
        """Return the table of a tree that is its root alone."""
        flags = np.array([[False], [not forbidden], [not splittable], [forbidden]])
        return Nodes(np.array([[0], [0], [-1], [0], [-1]]), flags)

    def __init__(self, ints: Ints, flags: Flags) -> None:
        """Take columns that change together as the rows of one array."""
        self._ints, self._flags = _frozen(ints), _frozen(flags)
        self.depth, self.index, self.parent, self.slot, self.first_child = ints
        self.expanded, self.askable, self.smallest, self.forbidden = flags

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.depth.size

    def marked(self, row: int, name: int, flag: bool) -> Nodes:
        """Return the table with another flag in one row."""
        flags = self._flags.copy()
        flags[name, row] = flag
        return Nodes(self._ints, flags)

    def forbidding(self, forbidden: Flags, askable: Flags) -> Nodes:
        """Return the table with other nodes forbidden, and others that may be measured."""
        flags = self._flags.copy()
        flags[FORBIDDEN], flags[ASKABLE] = forbidden, askable
        return Nodes(self._ints, flags)

    def at_slots(self, first: int, slots: Ints) -> Nodes:
        """Return the table with other slots from row `first` on."""
        ints = self._ints.copy()
        ints[SLOT, first:] = slots
        return Nodes(ints, self._flags)

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
    ) -> Nodes:
        """Return the table with the children of some leaves: adjacent rows for each, as many as in `families`.

        From now on the leaves may count as `expanded`, and may still be measured if `inner`. The slots of the
        children follow each other from `slot` on; the rest are columns of theirs, where a single value holds for
        all.
        """
        size = self.depth.size
        total = size + index.size
        leaves: int | Ints = rows[0]
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
        return Nodes(ints, flags)

    @property
    def leaf(self) -> Flags:
        """Whether each node has no children."""
        return self.first_child < 0

    @property
    def splittable(self) -> Flags:
        """Whether each node is a leaf that may be split."""
        return self.leaf & ~self.smallest

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


class Rewards(Protocol):
    """The rewards told of each footprint, by slot."""

    def n_told(self, slot: int, more: Sequence[int] = ()) -> int:
        """Return how many trials were told as averages of a footprint."""

    def told_mean(self, slot: int, noise: float, more: Sequence[int] = ()) -> tuple[float, float]:
        """Return the precision-weighted mean of these, and its noise variance."""


class Pending(Protocol):
    """A trial that is pending."""

    @property
    def row(self) -> int:
        """The row that it measures."""

    @property
    def window(self) -> object:
        """The region off the grid that it measures instead; None for the row itself."""


class Tree(Nodes):
    """The nodes with what was measured and what is believed, as policies see them.

    Most columns are those of `TreeTable`, the table that users see; here means are relative to the prior mean, and
    more is better.
    """

    mean: Floats
    std: Floats
    noise: Floats  # standard deviation of one measurement of the default time
    std_before: Floats  # while a reward is being processed: std just before it, on Z_{1:t-1}, as in equation 6
    terms: Any = None  # `RoundCosts`: what measurements cost, while a trial is chosen; None if they cost nothing

    def __init__(
        self,
        nodes: Nodes,
        mean: Floats,
        std: Floats,
        noise: Floats,
        rewards: Rewards,
        measured_slots: Ints,
        learned_noise: Floats | float,
        counts: Mapping[int, int],
        pending: Mapping[int, Pending],
        label_slots: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        """Add columns to a table of nodes.

        `measured_slots` has the footprint that is measured of each node; `learned_noise`, by row if it differs, is
        the noise of a reward of weight 1 where it is learned; `counts` has the number of trials told, as averages
        or differences, by row; `label_slots` has further footprints, those measured with labels, by row.
        """
        self.__dict__ = {**vars(nodes)}  # its columns
        self.mean, self.std, self.noise = _frozen(mean), _frozen(std), _frozen(noise)
        self._rewards, self._measured_slots, self._learned_noise = rewards, measured_slots, learned_noise
        self._counts, self.pending, self._label_slots = counts, pending, label_slots or {}

    def _twin(self) -> Tree:
        """Return a copy that shares all columns."""
        twin = object.__new__(Tree)
        twin.__dict__ = {**vars(self)}
        return twin

    def with_pending(self, pending: Mapping[int, Pending]) -> Tree:
        """Return the table with other trials pending."""
        twin = self._twin()
        twin.pending = pending
        return twin

    def with_std_before(self, std: Floats) -> Tree:
        """Return the table with what `std` was before the last reward."""
        twin = self._twin()
        twin.std_before = std
        return twin

    def with_costs(self, terms: RoundCosts) -> Tree:
        """Return the table with what measurements cost in this round."""
        twin = self._twin()
        twin.terms = terms
        return twin

    def with_windows(self, mean: Floats, std: Floats) -> Tree:
        """Return the table with regions outside the tree as further rows, to compare them with the nodes.

        They have the smallest size, and are in no node.
        """
        ints, unknown = np.full((5, len(mean)), -1), np.full(len(mean), np.nan)
        flags = np.repeat(np.array([[False], [False], [True], [False]]), len(mean), axis=1)
        return Tree(
            Nodes(np.concatenate((self._ints, ints), axis=1), np.concatenate((self._flags, flags), axis=1)),
            np.append(self.mean, mean),
            np.append(self.std, std),
            np.append(self.noise, unknown),
            self._rewards,
            self._measured_slots,
            self._learned_noise,
            self._counts,
            self.pending,
            self._label_slots,
        )

    def without(self, left_out: Flags) -> Tree:
        """Return the table where some rows count as forbidden too."""
        twin = self._twin()
        twin.forbidden = _frozen(self.forbidden | left_out)
        return twin

    def restricted(self, able: Flags, never: Flags) -> Tree:
        """Return the table where only `able` rows may be measured, and leaves that are `never` are not split."""
        flags = self._flags.copy()
        flags[ASKABLE] &= able
        twin = self._twin()
        twin.askable, twin.contenders = flags[ASKABLE], _contenders(flags[ASKABLE], self.splittable & ~never)
        return twin

    @cached_property
    def contenders(self) -> NDArray[np.intp]:
        """The rows that may be measured, and the leaves that may be split but not measured."""
        return _contenders(self.askable, self.splittable)

    @cached_property
    def count(self) -> Ints:
        """Trials told, including those told as differences."""
        counts = np.zeros(self.size, dtype=np.int64)
        counts[list(self._counts)] = list(self._counts.values())
        return _frozen(counts)

    @property
    def averaged(self) -> Ints:
        """Trials told as averages."""
        numbers = np.zeros(self.size, dtype=np.int64)
        for row in self._counts:
            numbers[row] = self._rewards.n_told(self._measured_slots.item(row), self._label_slots.get(row, ()))
        return _frozen(numbers)

    @property
    def trials(self) -> Ints:
        """Trials told or pending."""
        trials = self.count.copy()
        for trial in self.pending.values():
            trials[trial.row] += trial.window is None
        return _frozen(trials)

    def own_rewards(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the precision-weighted mean of the rewards told of some nodes, and its standard error."""
        slots, more = (
            self._measured_slots[rows].tolist(),
            [self._label_slots.get(row, ()) for row in rows.tolist()],
        )
        noise = np.broadcast_to(self._learned_noise, self.size)[rows].tolist()
        every = zip(slots, noise, more, strict=True)
        told = [self._rewards.told_mean(slot, of_row, others) for slot, of_row, others in every]
        mean, variance = np.array(told, dtype=float).reshape(-1, 2).T
        return mean, np.sqrt(variance)

    def snapshot(self, prior_mean: float, sign: float, time: float = 1.0) -> TreeTable:
        """Return the table in the user's units: ``prior_mean + sign * mean``, noise for one unit of time."""
        reward, rows = np.full(self.size, np.nan), self.averaged.nonzero()[0]
        reward[rows] = sign * self.own_rewards(rows)[0]
        columns = {
            "mean": prior_mean + sign * self.mean,
            "noise": self.noise if time == 1 else self.noise * math.sqrt(time),
            "reward": reward,
        }
        names = (column.name for column in fields(TreeTable))
        return TreeTable(
            **{name: _frozen(columns.get(name, getattr(self, name, reward)).view()) for name in names}
        )


def _contenders(askable: Flags, splittable: Flags) -> NDArray[np.intp]:
    """Return the rows that may be measured or split."""
    rows: NDArray[np.intp] = (askable | splittable).nonzero()[0]
    return _frozen(rows)


Number = TypeVar("Number", bound=np.generic)


def _frozen(array: NDArray[Number]) -> NDArray[Number]:
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

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(3):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> tree = study.tree
    >>> tree.depth[:3], tree.count[:3]
    (array([0, 1, 1]), array([0, 1, 1]))
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
