"""The footprints that beliefs track, by slot, and the pairs of them whose covariance is needed under any model."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zonal._types import Ints

Keys = NDArray[Any]
BETWEEN = 3  # answers that are cached: choosing a trial asks about several sets of footprints under each model


class Layout(Protocol):
    """Finds which pairs of footprints have equal covariances; a kernel turns its answers into numbers."""

    def keys(self, footprints: Any, register: bool = True) -> Keys:
        """Return the keys of footprints, one column each; with `register` false they are not stored."""

    def cells(self, space: Any, depth: int, cells: Any) -> Keys:
        """Return the keys of cells of a depth, encoded by `space` as rows of numbers."""

    def totals(self, footprints: Any) -> NDArray[np.float64]:
        """Return the total weight of footprints."""

    def summed(self, weights: NDArray[np.float64], keys: Keys) -> Keys:
        """Return the key of a weighted sum of footprints, as a column."""

    def pairs(self, some: Keys, others: Keys) -> Any:
        """Return what a kernel needs to know about all pairs of some footprints with others."""

    def own(self, keys: Keys) -> Any:
        """Return what a kernel needs to know about each footprint with itself."""


class FunctionalIndex:
    """Footprints by slot, in order of tracking; it never changes.

    Several models need the same pairs in turn, so the last answer of each kind is cached. Keys of footprints that
    came in later are put together when they are first read: opening a file adds many and reads them once.

    Attributes
    ----------
    layout : Layout
    size : int
        The number of footprints.
    total_weights : dict of int to float
        Total weights of footprints that are not averages, by slot; they multiply the prior mean.
    """

    def __init__(self, layout: Layout, keys: Keys) -> None:
        self.layout = layout
        self._pieces: tuple[Keys, ...] = (keys,)
        self.total_weights: dict[int, float] = {}
        self.size: int = keys.shape[1]

    # The last answer of each kind, with what was asked.
    _row: tuple[Any, Any] = None, None
    _own: tuple[Any, Any] = None, None
    _since: tuple[Any, Any] = None, None
    _cross: tuple[Any, Any] = None, None
    _between: tuple[tuple[Any, Any], ...] = ()  # the last few answers

    def append(self, keys: Keys, total: float = 1.0) -> FunctionalIndex:
        """Return these footprints and more ones of this total weight."""
        after = FunctionalIndex.__new__(FunctionalIndex)
        after.layout, after.total_weights = (
            self.layout,
            self.total_weights if total == 1 else {**self.total_weights, self.size: total},
        )
        after._pieces, after.size = (*self._pieces, keys), self.size + keys.shape[1]
        return after

    @property
    def keys(self) -> Keys:
        """The keys of the footprints, one column each."""
        if len(self._pieces) > 1:
            self._pieces = (np.concatenate(self._pieces, axis=1),)
        return self._pieces[0]

    def totals(self, slots: Ints) -> NDArray[np.float64] | float:
        """Return the total weights of footprints; 1 if all are averages."""
        return (
            np.array([self.total_weights.get(slot, 1.0) for slot in slots.tolist()]) if self.total_weights else 1.0
        )

    def row(self, slot: int) -> Any:
        """Return the pairs of all footprints with one, shape (size, 1)."""
        if self._row[0] != slot:
            self._row = slot, self.layout.pairs(self.keys, self.keys[:, slot : slot + 1])
        return self._row[1]

    def cross(self, start: int, slots: Ints, stop: int | None = None) -> Any:
        """Return the pairs of the footprints from `start` to `stop` with those of some slots."""
        name = start, stop, slots.tobytes()
        if self._cross[0] != name:
            pairs = self.layout.pairs(self.keys[:, start:stop], self.keys.take(slots, axis=1))
            self._cross = name, pairs
        return self._cross[1]

    def since(self, start: int) -> Any:
        """Return the pairs of the footprints from `start` on with all."""
        if self._since[0] != start:
            keys = self.keys
            self._since = start, self.layout.pairs(keys[:, start:], keys)
        return self._since[1]

    def own(self, start: int) -> Any:
        """Return the pairs of each footprint from `start` on with itself."""
        if self._own[0] != start:
            self._own = start, self.layout.own(self.keys[:, start:])
        return self._own[1]

    def between(self, slots: Ints, others: Ints) -> Any:
        """Return the pairs of footprints of some slots with those of others."""
        name, last = (slots.tobytes(), others.tobytes()), self._between
        for asked, pairs in last:
            if asked == name:
                return pairs
        pairs = self.layout.pairs(self.keys.take(slots, axis=1), self.keys.take(others, axis=1))
        self._between = (*last[1 - BETWEEN :], (name, pairs))
        return pairs
