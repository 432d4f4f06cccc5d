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

from zonal.averages.kernels import Factor, Kernel
from zonal.averages.layout import ProductLayout
from zonal.averages.sums import Pairs
from zonal.blas import one_thread
from zonal.errors import InvalidInput, finite_number, positive_number, whole_number

Floats = NDArray[np.float64]

LENGTHS = (2, 3, 4)  # of pieces, in symbols
MOST_PIECES = 1024  # different ones of a length that are learned
TOO_MANY = 10_000  # of all lengths together
TOGETHER = 512  # pools whose features are computed at a time


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

    def along(self, symbols: Sequence[bool]) -> list[Factor]:
        """Refuse: pieces are no product over axes."""
        raise _misplaced(self)

    def variation(self, axes: Sequence[Any]) -> Floats:
        """Return the prior variance of a change of f with one symbol, by position, on average over sequences."""
        length = len(axes)
        lengths = [long for long in self.lengths if long <= length]
        if not all(axis.symbolic for axis in axes) or not lengths:
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
        size = len(layout.axes[0].symbols)
        own, all_alike = math.sqrt(1 - correlation), math.sqrt(1 - correlation + size * correlation)
        self._root = own * np.eye(size) + (all_alike - own) / size
        self._vectors = np.zeros((0, sum(size**long for long in self._lengths)))  # of entered pools, by number
        self._known = np.zeros(0, dtype=bool)
        self._last: tuple[Pairs | None, Floats] = None, np.zeros(0)

    def of(self, pairs: Pairs) -> Floats:
        """Return the covariances of pairs of pools; every model asks for the same ones in turn."""
        last, found = self._last
        if last is not pairs:
            some = self._of(pairs[1])
            if pairs[2] is None:
                found = np.asarray(np.einsum("ij,ij->i", some, some))
            else:
                with one_thread():
                    found = some @ self._of(pairs[2]).T
            self._last = pairs, found
        return found.copy()

    def within(self, own: Pairs) -> Floats:
        """Return the variance of f at a sequence about the average of its pool: what its pieces leave open.

        Pieces that have no position in common are independent; of the others the products are averaged exactly.
        """
        mixed = self._layout.frequencies(own[1])
        rows = [own @ self._root for own in mixed]
        total = np.zeros(len(mixed[0]))
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

    def _of(self, keys: Floats) -> Floats:
        """Return pools as vectors; those that were entered are kept."""
        numbers = keys[-1].astype(np.intp)
        if len(numbers) == 0 or numbers.min() < 0:
            return self._made(keys)
        size = int(numbers.max()) + 1
        if size > len(self._known):
            more = max(size, 2 * len(self._known)) - len(self._known)
            self._vectors = np.concatenate([self._vectors, np.empty((more, self._vectors.shape[1]))])
            self._known = np.concatenate([self._known, np.zeros(more, dtype=bool)])
        fresh = (~self._known[numbers]).nonzero()[0]
        for start in range(0, len(fresh), TOGETHER):
            some = fresh[start : start + TOGETHER]
            self._vectors[numbers[some]] = self._made(keys[:, some])
            self._known[numbers[some]] = True
        vectors: Floats = self._vectors[numbers]
        return vectors

    def _made(self, keys: Floats) -> Floats:
        """Return what pools hold of every piece, from the symbols' frequencies in each pool, by position."""
        # No matrix product: its last digit could depend on how many are multiplied at once.
        rows = [np.add.reduce(own[:, None, :] * self._root, -1) for own in self._layout.frequencies(keys)]
        blocks = []
        for long in self._lengths:
            places = len(rows) - long + 1
            total: Any = 0.0
            for p in range(places):
                piece = rows[p]
                for own in rows[p + 1 : p + long]:
                    piece = (piece[:, :, None] * own[:, None, :]).reshape(len(own), piece.shape[1] * own.shape[1])
                total = total + piece
            blocks.append(total / math.sqrt(places * len(self._lengths)))
        return np.concatenate(blocks, axis=1)


def lengths_of_pieces(axes: Sequence[Any], kernel: Motif) -> list[int]:
    """Return how long the pieces are that sequences of these axes are compared by, or complain of the kernel."""
    lengths = [long for long in kernel.lengths if long <= len(axes)]
    symbols = {axis.symbols if axis.symbolic else None for axis in axes}
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
