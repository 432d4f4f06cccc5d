"""The footprints that beliefs track, by slot, and the pairs of them whose covariance is needed under any model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats, Ints
from zonal.kernels.combinations import AnyPairs

Keys = NDArray[Any]
Question = tuple[str | int | bytes | None, ...]  # which pairs: a name, slots and limits
MOST_ANSWERS = 7  # that are cached: choosing a trial asks about several sets of footprints under each model


class Layout(Protocol):
    """Finds which pairs of footprints have equal covariances; a kernel turns its answers into numbers."""

    def keys(self, footprints: Any, register: bool = True) -> Keys:
        """Return the keys of footprints, one column each; with `register` false they are not stored."""

    def cells(self, space: Any, depth: int, cells: Any) -> Keys:
        """Return the keys of cells of a depth, encoded by `space` as rows of numbers."""

    def totals(self, footprints: Any) -> Floats:
        """Return the total weight of footprints."""

    def sizes(self, keys: Keys) -> Floats:
        """Return the size of the region of each footprint, in any unit; 0 where there is none."""

    def summed(self, weights: Floats, keys: Keys) -> Keys:
        """Return the key of a weighted sum of footprints, as a column."""

    def pairs(self, keys: Keys, others: Keys) -> AnyPairs:
        """Return what a kernel needs to know about all pairs of some footprints with others."""

    def self_pairs(self, keys: Keys) -> AnyPairs:
        """Return what a kernel needs to know about each footprint with itself."""


class FunctionalIndex:
    """Footprints by slot, in order of tracking; it never changes.

    Several models need the same pairs in turn, so the last answers are cached. Keys of footprints that came in
    later are put together when they are first read: opening a file adds many and reads them once.

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
        self._answers: dict[Question, AnyPairs] = {}  # the last ones

    def append(self, keys: Keys, total: float = 1.0) -> FunctionalIndex:
        """Return these footprints and more ones of this total weight."""
        after = FunctionalIndex.__new__(FunctionalIndex)
        weights = self.total_weights
        after.layout, after.total_weights = self.layout, weights if total == 1 else {**weights, self.size: total}
        after._pieces, after.size = (*self._pieces, keys), self.size + keys.shape[1]
        after._answers = {}
        return after

    @property
    def keys(self) -> Keys:
        """The keys of the footprints, one column each."""
        if len(self._pieces) > 1:
            self._pieces = (np.concatenate(self._pieces, axis=1),)
        return self._pieces[0]

    def totals(self, slots: Ints) -> Floats | float:
        """Return the total weights of footprints; 1 if all are averages."""
        weights = self.total_weights
        return np.array([weights.get(slot, 1.0) for slot in slots.tolist()]) if weights else 1.0

    def sizes(self, slots: Ints) -> Floats:
        """Return the sizes of the regions of footprints, as shares of the first one, the whole space."""
        sizes = self.layout.sizes(self.keys.take(np.append(slots, 0), axis=1))
        return np.asarray(sizes[:-1] / sizes[-1])

    def row(self, slot: int) -> AnyPairs:
        """Return the pairs of all footprints with one, shape (size, 1)."""
        return self._answer(("row", slot), lambda: self.layout.pairs(self.keys, self.keys[:, slot : slot + 1]))

    def cross(self, start: int, slots: Ints, stop: int | None = None) -> AnyPairs:
        """Return the pairs of the footprints from `start` to `stop` with those of some slots."""
        return self._answer(
            ("cross", start, stop, slots.tobytes()),
            lambda: self.layout.pairs(self.keys[:, start:stop], self.keys.take(slots, axis=1)),
        )

    def since(self, start: int) -> AnyPairs:
        """Return the pairs of the footprints from `start` on with all."""
        return self._answer(("since", start), lambda: self.layout.pairs(self.keys[:, start:], self.keys))

    def self_pairs(self, start: int) -> AnyPairs:
        """Return the pairs of each footprint from `start` on with itself."""
        return self._answer(("self", start), lambda: self.layout.self_pairs(self.keys[:, start:]))

    def between(self, slots: Ints, others: Ints) -> AnyPairs:
        """Return the pairs of footprints of some slots with those of others."""
        return self._answer(
            ("between", slots.tobytes(), others.tobytes()),
            lambda: self.layout.pairs(self.keys.take(slots, axis=1), self.keys.take(others, axis=1)),
        )

    def _answer(self, question: Question, pairs: Callable[[], AnyPairs]) -> AnyPairs:
        """Return pairs, computed only if they are not among the last answers."""
        answer = self._answers.get(question)
        if answer is None:
            answer = pairs()
            last = [*self._answers.items()][1 - MOST_ANSWERS :]
            self._answers = dict([*last, (question, answer)])  # replaced: another thread may read it
        return answer
