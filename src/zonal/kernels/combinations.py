"""Weighted sums of footprints: a difference of two regions, or a slope, which is the difference of two faces.

A sum is not a product over axes, but its covariances are sums of those of its parts. A layout numbers the sums it
meets, and their parts: several differences often share one. For pairs with sums it returns the pairs of their
parts and how to add them. This module must not know kernels, nor what a key means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats, Ints

# By axis, cases or overlaps; the keys of some footprints; and of others, or None if each is paired with itself.
Pairs = tuple[list[Any], NDArray[Any], NDArray[Any] | None]


class Beside(NamedTuple):
    """Pairs of each footprint with the one at the same place among others."""

    axes: list[Any]
    keys: NDArray[Any]
    others: NDArray[Any]


class ExpandedCombination(NamedTuple):
    """Footprints split into parts: the keys of distinct parts, and of which of them each footprint is the sum."""

    keys: Floats
    first: Ints  # the first part of each footprint, the only one if it is not a sum
    sums: Ints  # which footprints are sums
    parts: Ints  # shape (sums, parts): those of the sums; a sum of fewer parts repeats one, with weight 0
    weights: Floats  # of the same shape

    def added(self, covariances: Floats) -> Floats:
        """Return the covariances of the footprints, by row, from those of their parts."""
        if not self.sums.size:
            return covariances
        total = covariances.take(self.first, axis=0)
        # No matrix product: its last digit could depend on how many are added at once.
        added = self.weights[:, :1] * covariances.take(self.parts[:, 0], axis=0)
        for part, weight in zip(self.parts.T[1:], self.weights.T[1:], strict=True):
            added += weight[:, None] * covariances.take(part, axis=0)
        total[self.sums] = added
        return total


class CombinationPairs(NamedTuple):
    """All pairs of footprints among which there are sums: the pairs of their parts, and how to add them."""

    pairs: Pairs
    rows: ExpandedCombination
    columns: ExpandedCombination

    def of(self, covariances: Callable[[Pairs], Floats]) -> Floats:
        """Return the covariances, given a function that computes those of the parts."""
        return self.columns.added(self.rows.added(covariances(self.pairs)).T).T


class CombinationVariances(NamedTuple):
    """Footprints paired with themselves, among which there are sums."""

    pairs: Pairs  # of each footprint with itself, with another footprint in place of a sum
    at: Ints  # which ones are sums
    beside: Beside  # all pairs of the parts of each of these
    weights: Floats  # shape (sums, parts)

    def of(self, covariances: Callable[[Pairs | Beside], Floats]) -> Floats:
        """Return the variances, given a function that computes covariances of the parts."""
        variances = covariances(self.pairs)
        between = covariances(self.beside).reshape(*self.weights.shape, -1)
        weighed = between * self.weights[:, :, None] * self.weights[:, None, :]
        variances[self.at] = np.add.reduce(weighed.reshape(len(weighed), -1), 1)
        return variances


AnyPairs = Pairs | Beside | CombinationPairs | CombinationVariances  # as a layout describes them to a kernel


class CombinationTable:
    """The sums that a layout has met, numbered from 1, and their parts."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._part_numbers: dict[bytes, int] = {}
        self._keys: list[Floats] = []  # of the parts
        self.entries: tuple[tuple[Floats, list[int]], ...] = ()  # weights, and the numbers of the parts

    def register(self, weights: Floats, keys: Floats) -> Floats:
        """Return the key of a weighted sum, as a column: its first entry is minus the number of the sum."""
        number = self._numbers.setdefault(weights.tobytes() + keys.tobytes(), len(self._numbers) + 1)
        if number > len(self.entries):
            self.entries = (*self.entries, (weights, [self._part(key) for key in keys.T]))
        key = keys[:, :1].copy()
        key[0] = -number
        return key

    def _part(self, key: Floats) -> int:
        """Return the number of a part."""
        number = self._part_numbers.setdefault(key.tobytes(), len(self._part_numbers))
        if number == len(self._keys):
            self._keys.append(key)
        return number

    def parts(self, numbers: Floats) -> tuple[Floats, Ints, Floats]:
        """Return the parts of sums, by the first entries of their keys: distinct ones, which each has, weights."""
        entries = [self.entries[-int(number) - 1] for number in numbers.tolist()]
        longest = max(len(weights) for weights, _ in entries)
        weights = np.zeros((len(entries), longest))
        parts = np.array([[*numbered, *numbered[:1] * (longest - len(numbered))] for _, numbered in entries])
        for row, (entry_weights, _) in zip(weights, entries, strict=True):
            row[: len(entry_weights)] = entry_weights
        distinct, where = np.unique(parts, return_inverse=True)
        keys = np.stack([self._keys[number] for number in distinct.tolist()], axis=1)
        return keys, where.reshape(parts.shape), weights

    def expand(self, keys: Floats) -> ExpandedCombination:
        """Return footprints split into parts; what is not a sum is its own only part."""
        sums = (keys[0] < 0).nonzero()[0]
        first = np.arange(keys.shape[1])
        if not sums.size:
            return ExpandedCombination(keys, first, sums, np.zeros((0, 1), dtype=np.intp), np.zeros((0, 1)))
        plain = np.delete(first, sums)
        part_keys, parts, weights = self.parts(keys[0, sums])
        first[plain] = np.arange(plain.size)
        first[sums] = plain.size + parts[:, 0]
        return ExpandedCombination(
            np.concatenate((keys[:, plain], part_keys), axis=1), first, sums, plain.size + parts, weights
        )
