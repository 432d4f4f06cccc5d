"""Motifs: what a sequence is worth lies in the short pieces that it holds, wherever in it they are.

Under a `Motif` kernel f is a sum over the pieces of a sequence, 2, 3 and 4 symbols in a row, of one unknown
function of the piece for each of these lengths: the same function at every place. Two pieces are compared symbol
by symbol, ``1 if equal else rho``. At a pool's positions symbols are drawn independently, so the average of such a
product is the product of averages, ``rho + (1 - rho) p . q`` with p and q the frequencies at two positions. With
``p R^(1/2)`` for a position, R being that kernel of two symbols, a piece is an outer product of such vectors and a
pool the sum of its pieces: the covariance of two averages is the product of two vectors, however large the pools.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal.averages.feedback import Footprints
from zonal.averages.kernels import Along, Kernel, Match
from zonal.averages.layout import Pools, ProductLayout
from zonal.blas import one_thread
from zonal.errors import InvalidInput, finite_number, positive_number, whole_number
from zonal.spaces import Category, Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

LENGTHS = (2, 3, 4)  # of pieces, in symbols
MOST_PIECES = 1024  # different ones of a length that are learned
TOO_MANY = 10_000  # of all lengths together
MOST_KEPT = 8  # products of features that are kept: each model asks for the same ones
TOGETHER = 512  # pools whose features are computed at a time
MANY = 8192  # pools whose features are not kept unless they are entered


@dataclass(frozen=True)
class Motif(Kernel):
    """A kernel on sequences: what counts is which short pieces a sequence holds, not where.

    For `Sequences` (and products of axes that have the same symbols, in their order). To let places matter too,
    add a kernel that knows them, as in ``Motif(0.8) + Categorical(0.2, 0.5)``. Sequences that hold the same piece
    more than once vary more than others.

    Parameters
    ----------
    variance : float
        Prior variance of f from one sequence to another, nearly, in squared value units; the level that all
        sequences share has one of its own on top.
    correlation : float
        Of two different symbols at the same place of a piece, from 0 to 1.
    lengths : sequence of int
        Of the pieces, in symbols; sequences have none that are longer than themselves. A large alphabet has very
        many long ones: amino acids go with ``(2,)``.
    """

    variance: float
    correlation: float = 0.25
    lengths: Sequence[int] = LENGTHS

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive_number(self.variance, "the kernel's variance"))
        correlation = finite_number(self.correlation, "correlation")
        if not 0 <= correlation <= 1:
            raise InvalidInput("correlation must lie between 0 and 1", correlation, "Pass for example 0.25.")
        object.__setattr__(self, "correlation", correlation)
        if isinstance(self.lengths, str) or not np.iterable(self.lengths) or len(self.lengths) == 0:
            raise InvalidInput("lengths must be a list of whole numbers", self.lengths, "Pass for example (2, 3).")
        lengths = tuple(whole_number(long, "the length of a piece", 1) for long in self.lengths)
        if len(set(lengths)) < len(lengths):
            raise InvalidInput("a length of pieces is there twice", lengths, "Name each once.")
        object.__setattr__(self, "lengths", lengths)

    @property
    def terms(self) -> tuple[Motif, ...]:
        """The kernel itself: it is one term of a sum."""
        return (self,)

    def along(self, symbols: Sequence[bool]) -> list[Along | Match]:
        """Refuse: pieces are no product over axes."""
        raise _misplaced(self)

    def variation(self, symbols: Sequence[bool]) -> Floats:
        """Return the prior variance of a change of f with one symbol, by position, on average over sequences."""
        length = len(symbols)
        lengths = [long for long in self.lengths if long <= length]
        if not all(symbols) or not lengths:
            raise _misplaced(self)
        total = np.zeros(length)
        for long in lengths:
            places = length - long + 1
            holding = np.convolve(np.ones(places), np.ones(long))  # pieces that hold each position
            total += 2 * self.variance * (1 - self.correlation) * holding / places
        return total / len(lengths)

    def on_points(self, x: Floats, y: Floats) -> Floats:
        """Refuse: of a bare point nobody knows that its coordinates are symbols in a row."""
        raise InvalidInput("a kernel of pieces is for sequences, not for points", self, "Use one of features.")


class Pieces:
    """The pools of a layout as vectors whose products are the covariances of their averages, at variance one.

    Vectors are kept by a pool's number in the layout, and computed anew where another pool has that number now.

    Parameters
    ----------
    layout : ProductLayout
        Of sequences.
    kernel : Motif
        Its variance does not count.
    """

    def __init__(self, layout: ProductLayout, kernel: Motif) -> None:
        self._layout = layout
        self._lengths = lengths_of_pieces(layout.axes, kernel)
        correlation = kernel.correlation
        # The root of (1 - rho) I + rho 1 1', which has two different eigenvalues.
        axis = layout.axes[0]
        assert isinstance(axis, Category)
        size = len(axis.symbols)
        own, all_alike = math.sqrt(1 - correlation), math.sqrt(1 - correlation + size * correlation)
        self._root = own * np.eye(size) + (all_alike - own) / size
        # Of each number the pool it stood for, and its vector; replaced at once, for readers in other threads.
        width = sum(size**long for long in self._lengths)
        self._kept = np.zeros((len(layout.axes), 0), dtype=np.intp), np.zeros((0, width))
        self._products: dict[Any, Floats] = {}
        self._last: tuple[Footprints | None, Floats] = None, np.zeros((0, width))

    def own(self, some: Ints | slice) -> Floats:
        """Return the variance of each entered pool's average, by number."""
        features = self._of(some)
        return np.asarray(np.einsum("ij,ij->i", features, features))

    def row(self, one: int, size: int) -> Floats:
        """Return the covariance of one entered pool with the first `size` of them."""
        row: Floats = self.between(np.array([one]), slice(0, size))[0]
        return row

    def between(self, some: Ints | slice, others: Ints | slice) -> Floats:
        """Return the covariances of entered pools, by number."""
        ours, theirs = self._of(some), self._of(others)
        key = _key(some), _key(others)
        product = self._products.get(key)
        if product is None:
            with one_thread():
                product = ours @ theirs.T
            if len(self._products) >= MOST_KEPT:
                self._products.clear()
            self._products[key] = product
        return product.copy()

    def cross(self, some: Ints, footprints: Footprints) -> Floats:
        """Return the covariances of entered pools with others that are not, shape (others, entered)."""
        with one_thread():
            return np.asarray(self.features(footprints) @ self._of(some).T)

    def alone(self, footprints: Footprints) -> Floats:
        """Return the variance of the average of each pool that is not entered."""
        features = self.features(footprints)
        return np.asarray(np.einsum("ij,ij->i", features, features))

    def among(self, footprints: Footprints) -> Floats:
        """Return the covariances of pools that are not entered."""
        features = self.features(footprints)
        with one_thread():
            return np.asarray(features @ features.T)

    def within(self, footprints: Footprints) -> Floats:
        """Return the variance of f at a sequence about the average of its pool: what its pieces leave open.

        Pieces that have no position in common are independent; of the others the products are averaged exactly.
        """
        mixed = self._frequencies(footprints)
        rows = [own @ self._root for own in mixed]
        total = np.zeros(len(footprints))
        for long in self._lengths:
            places = len(rows) - long + 1
            for p in range(places):
                for shift in range(min(long, places - p)):
                    apart = [np.sum(rows[j] * rows[j + shift], axis=1) for j in range(p, p + long)]
                    left = self._together(mixed, p, shift, long) - np.prod(apart, axis=0)
                    total += (1 if shift == 0 else 2) * left / places
        return total / len(self._lengths)

    def _together(self, mixed: Sequence[Floats], p: int, shift: int, long: int) -> Floats:
        """Return how alike two pieces of one sequence are on average: those at p and p + shift.

        Position j is compared with j + shift, that one with j + 2 shift: chains, each a product of matrices.
        """
        if shift == 0:
            return np.ones(len(mixed[0]))
        alike, product = self._root @ self._root, np.ones(len(mixed[0]))
        for first in range(p, p + min(shift, long)):
            chain = mixed[first]
            for j in range(first + shift, p + long + shift, shift):
                chain = (chain @ alike) * mixed[j]
            product = product * np.sum(chain, axis=1)
        return product

    def features(self, footprints: Footprints) -> Floats:
        """Return pools that need not be entered as vectors; every model asks for the same ones."""
        last, features = self._last
        if last is not footprints:
            features = self._vectors(self._frequencies(footprints))
            self._last = (footprints, features) if len(footprints) <= MANY else self._last
        return features

    def _frequencies(self, footprints: Footprints) -> list[Floats]:
        parts = zip(self._layout.parts, footprints.centers.T, strict=True)
        return [part.frequencies(pools) for part, pools in parts if isinstance(part, Pools)]

    def _of(self, some: Ints | slice) -> Floats:
        """Return entered pools as vectors, by number."""
        size = some.stop if isinstance(some, slice) else int(np.max(some, initial=-1)) + 1
        numbers, (known, features) = self._layout.numbers[:, :size], self._kept
        if known.shape[1] < size:
            more = ((0, 0), (0, max(size - known.shape[1], known.shape[1])))
            self._kept = known, features = np.pad(known, more, constant_values=-1), np.pad(features, more[::-1])
        stale = (known[:, :size] != numbers).any(axis=0).nonzero()[0]
        if len(stale):
            self._products.clear()
            parts = [part for part in self._layout.parts if isinstance(part, Pools)]
            for start in range(0, len(stale), TOGETHER):
                new = stale[start : start + TOGETHER]
                mixed = [part.entered(numbers[j, new]) for j, part in enumerate(parts)]
                features[new] = self._vectors(mixed)
            known[:, stale] = numbers[:, stale]
        return features[some]

    def _vectors(self, frequencies: Sequence[Floats]) -> Floats:
        """Return what pools hold of every piece, from the symbols' frequencies in each pool, by position."""
        rows = [own @ self._root for own in frequencies]
        blocks = []
        for long in self._lengths:
            places = len(rows) - long + 1
            total: Any = 0.0
            for p in range(places):
                piece = rows[p]
                for own in rows[p + 1 : p + long]:
                    piece = (piece[:, :, None] * own[:, None, :]).reshape(len(own), -1)
                total = total + piece
            blocks.append(total / math.sqrt(places * len(self._lengths)))
        return np.concatenate(blocks, axis=1)


def lengths_of_pieces(axes: Sequence[Interval | Category], kernel: Motif) -> list[int]:
    """Return how long the pieces are that sequences of these axes are compared by, or complain of the kernel."""
    lengths = [long for long in kernel.lengths if long <= len(axes)]
    symbols = {axis.symbols if isinstance(axis, Category) else None for axis in axes}
    if not lengths or None in symbols or len(symbols) > 1:
        raise _misplaced(kernel)
    size = len(next(iter(symbols)) or ())
    if sum(size**long for long in lengths) > TOO_MANY:
        raise InvalidInput(f"{size} symbols have too many such pieces", kernel, "Pass fewer lengths, as (2,).")
    return lengths


def _misplaced(kernel: Motif) -> InvalidInput:
    fix = "Use it with zn.Sequences as long as a piece or longer."
    return InvalidInput("a kernel of pieces is for sequences", kernel, fix)


def usual_lengths(size: int) -> list[int]:
    """Return the lengths of pieces that are learned of an alphabet: those of which there are not too many."""
    return [long for long in LENGTHS if size**long <= MOST_PIECES]


def _key(some: Ints | slice) -> Any:
    return (some.start, some.stop) if isinstance(some, slice) else some.tobytes()
