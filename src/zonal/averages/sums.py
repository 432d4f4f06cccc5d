"""Weighted sums of footprints: a difference of two regions, or a slope, which is the difference of two faces.

A sum is not a product over axes, but its covariances are sums of those of its parts. A layout numbers the sums it
meets; for pairs with sums it returns the pairs of their parts and how to add them. This module must not know
kernels, nor what a key means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal.arrays import Floats, Ints

# By axis, cases or overlaps; the keys of some footprints; and of others, or None if each is paired with itself.
Pairs = tuple[list[Any], NDArray[Any], NDArray[Any] | None]


class Side(NamedTuple):
    """Footprints split into parts: the keys of the parts, their weights, and where each footprint begins."""

    keys: Floats
    weights: Floats
    starts: Ints


class Sums(NamedTuple):
    """All pairs of footprints among which there are sums: the pairs of their parts, and how to add them."""

    pairs: Pairs
    some: Side
    others: Side

    def of(self, covariances: Callable[[Pairs], Floats]) -> Floats:
        """Return the covariances, given a function that computes those of the parts."""
        found = covariances(self.pairs)
        if len(self.some.starts) < len(self.some.weights):
            found = np.add.reduceat(found * self.some.weights[:, None], self.some.starts, 0)
        if len(self.others.starts) < len(self.others.weights):
            found = np.add.reduceat(found * self.others.weights, self.others.starts, 1)
        return found


class OwnSums(NamedTuple):
    """Footprints paired with themselves, among which there are sums."""

    pairs: Pairs  # of each footprint with itself, with another footprint in place of a sum
    at: Ints  # which ones are sums
    each: Sequence[tuple[Floats, Pairs]]  # for these, the weights and the pairs of their parts

    def of(self, covariances: Callable[[Pairs], Floats]) -> Floats:
        """Return the variances, given a function that computes covariances of the parts."""
        found = covariances(self.pairs)
        found[self.at] = [weights @ covariances(pairs) @ weights for weights, pairs in self.each]
        return found


class Book:
    """The sums that a layout has met, numbered from 1."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self.known: tuple[tuple[Floats, Floats], ...] = ()  # weights, and the keys of the parts

    def enter(self, weights: Floats, keys: Floats) -> Floats:
        """Return the key of a weighted sum, as a column: its first entry is minus the number of the sum."""
        number = self._numbers.setdefault(weights.tobytes() + keys.tobytes(), len(self._numbers) + 1)
        if number > len(self.known):
            self.known = (*self.known, (weights, keys))
        key = keys[:, :1].copy()
        key[0] = -number
        return key

    def of(self, number: float) -> tuple[Floats, Floats]:
        """Return the weights and keys of the parts of a sum, by the first entry of its key."""
        return self.known[int(-number) - 1]

    def apart(self, keys: Floats) -> Side:
        """Return footprints split into parts; what is not a sum is its own only part."""
        one = np.ones(1)
        sums = [self.of(key[0]) if key[0] < 0 else (one, key[:, None]) for key in keys.T]
        if not sums:
            return Side(keys, one[:0], np.zeros(0, dtype=np.intp))
        weights, parts = zip(*sums, strict=True)
        starts = np.cumsum([0, *map(len, weights)])[:-1]
        return Side(np.concatenate(parts, axis=1), np.concatenate(weights), starts)
