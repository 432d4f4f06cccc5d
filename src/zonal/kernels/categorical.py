"""Averages over sets of symbols of a categorical axis: which sets there are, and their covariances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats, Ints

if TYPE_CHECKING:
    from zonal.spaces import CategoricalAxis


class OverlapPairs(NamedTuple):
    """Pairs of sets: a table of all overlaps, and the set of each row and column.

    A sequence has an axis for each position, and an array of all pairs on each of them would fill the memory.
    """

    table: Floats
    rows: Ints
    columns: Ints


class CategoryIndex:
    """The sets of symbols of one axis, and the probability that two of them draw the same symbol."""

    rows = 1

    def __init__(self, axis: CategoricalAxis) -> None:
        self._axis = axis
        self._numbers: dict[float, int] = {}
        self._frequencies = np.zeros((0, len(axis.symbols)))
        self._overlap = np.zeros((0, 0))

    def keys(self, pools: Floats, shares: Floats, views: Sequence[int], register: bool) -> Floats:
        """Return the keys of sets of symbols, shape (1, n): their numbers in order of entry."""
        wanted, numbers = pools.tolist(), self._numbers
        fresh = [pool for pool in dict.fromkeys(wanted) if pool not in numbers]
        if fresh:
            self._register(fresh)
            numbers = self._numbers
        return np.array([[numbers[pool] for pool in wanted]], dtype=float)

    def _register(self, fresh: list[float]) -> None:
        """Number new sets, and compute their overlaps with all."""
        more = np.array([self._axis.frequencies(int(pool)) for pool in fresh])
        every = np.concatenate([self._frequencies, more])
        overlap = np.empty((len(every), len(every)))
        old = len(self._frequencies)
        overlap[:old, :old] = self._overlap
        # No matrix product: its last digit could depend on how many are multiplied at once.
        overlap[old:] = np.add.reduce(more[:, None] * every, -1)
        overlap[:old, old:] = overlap[old:, :old].T
        self._frequencies, self._overlap = every, overlap
        self._numbers = {**self._numbers, **{pool: old + j for j, pool in enumerate(fresh)}}

    def cells(self, parts: NDArray[np.int64], pieces: int) -> Floats:
        """Return the keys of parts of the axis: all symbols together, or single symbols."""
        pools = np.array([self._axis.cell(int(part), pieces)[0] for part in parts])
        return self.keys(pools, pools, (), register=True)

    def pairs(self, keys: Floats, others: Floats) -> OverlapPairs:
        """Return the overlaps of all pairs, shape (some, others)."""
        return OverlapPairs(self._overlap, keys[0].astype(np.intp), others[0].astype(np.intp))

    repeated = pairs

    def self_pairs(self, keys: Floats, others: Floats | None = None) -> Floats:
        """Return the overlap of each set with itself, or with the one at the same place among others."""
        theirs = keys if others is None else others
        overlap: Floats = self._overlap[keys[0].astype(np.intp), theirs[0].astype(np.intp)]
        return overlap

    def positions(self, keys: Floats) -> Floats:
        """Return the mean places of the symbols of sets, from 0 to 1."""
        frequencies = self._frequencies.take(np.maximum(keys[0], 0).astype(np.intp), axis=0)
        return np.asarray(frequencies @ np.linspace(0, 1, frequencies.shape[1]))

    def frequencies(self, keys: Floats) -> Floats:
        """Return the frequency of every symbol within some sets, shape (n, symbols)."""
        frequencies: Floats = self._frequencies.take(keys[0].astype(np.intp), axis=0)
        return frequencies


class CategoryCovariance:
    """Averages of one factor of a kernel along a categorical axis: rho + (1 - rho) times the overlap."""

    def __init__(self, correlation: float) -> None:
        self._correlation = correlation

    def of(self, overlap: Floats | OverlapPairs) -> Floats:
        """Return the averages of sets with these overlaps."""
        if isinstance(overlap, OverlapPairs):
            return self.of(overlap.table).take(overlap.rows, axis=0).take(overlap.columns, axis=1)
        return self._correlation + (1 - self._correlation) * overlap
