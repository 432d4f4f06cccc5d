"""Motifs: the value of a sequence depends on the short pieces it contains, wherever they are.

Under a `Motif` kernel f is a sum over the pieces of a sequence, 2, 3 and 4 consecutive symbols, of one unknown
function of the piece for each length: the same function at every position. Two pieces are compared symbol by
symbol, ``1 if equal else rho``. At the positions of a pool, symbols are drawn independently, so the average of
such a product is the product of averages, ``rho + (1 - rho) p . q`` with p and q the frequencies at two positions.
Let R be the kernel of two symbols and ``p R^(1/2)`` the vector of a position. A piece is then an outer product of
such vectors and a pool the sum of its pieces, and the covariance of two averages is the product of two vectors,
however large the pools.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zonal._blas import one_thread
from zonal._types import Floats
from zonal.errors import InvalidInput, listed, positive_number, require, whole_number
from zonal.kernels.base import Factor, KernelAxis, Term, checked_correlation
from zonal.kernels.combinations import Beside, Pairs
from zonal.kernels.layout import ProductLayout

LENGTHS = (2, 3, 4)  # of pieces, in symbols
MOST_PIECES = 1024  # different ones of a length, for the length to be learned
TOO_MANY = 10_000  # of all lengths together
TOGETHER = 512  # pools whose vectors are computed at a time


@dataclass(frozen=True)
class Motif(Term):
    """A kernel on sequences: what counts is which short pieces a sequence contains, not where.

    For `Sequences` (and products of axes with the same symbols in the same order). To let positions matter too,
    add a kernel that depends on them, as in ``Motif(0.8) + Categorical(0.2, 0.5)``. Sequences that contain the
    same piece more than once vary more than others.

    Parameters
    ----------
    variance : float
        Approximate prior variance of f between sequences, in squared value units. The level shared by all
        sequences has a variance of its own in addition.
    correlation : float
        Of two different symbols at the same position of a piece, from 0 to 1.
    lengths : sequence of int
        Of the pieces, in symbols; those longer than the sequences are left out. A large alphabet has very many
        long pieces: for amino acids use ``(2,)``.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study(zn.Sequences("ACGT", 6), budget=40, kernel=zn.Motif(1.0, lengths=(2, 3)), noise=0.1)
    >>> study.ask().region.name
    'AANNNN'
    """

    variance: float
    correlation: float = 0.25
    lengths: Sequence[int] = LENGTHS

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive_number(self.variance, "the kernel's variance"))
        object.__setattr__(self, "correlation", checked_correlation(self.correlation))
        problem, fix = "lengths must be a list of whole numbers", "Pass for example (2, 3)."
        given = listed(self.lengths, problem, fix)
        require(given, problem, self.lengths, fix)
        lengths = tuple(whole_number(long, "the length of a piece", 1) for long in given)
        differ = len(set(lengths)) == len(lengths)
        require(differ, "lengths of pieces must differ from each other", lengths, "Name each once.")
        object.__setattr__(self, "lengths", lengths)

    def along(self, symbols: Sequence[bool]) -> list[Factor]:
        """Raise: this kernel is not a product over axes."""
        raise _misplaced(self)

    def variation(self, axes: Sequence[KernelAxis]) -> Floats:
        """Return the prior variance of f's change with one symbol, by position, averaged over sequences."""
        length = len(axes)
        lengths = [long for long in self.lengths if long <= length]
        if not all(axis.is_categorical for axis in axes) or not lengths:
            raise _misplaced(self)
        total = np.zeros(length)
        for long in lengths:
            places = length - long + 1
            holding = np.convolve(np.ones(places), np.ones(long))  # number of pieces that contain each position
            total += 2 * self.variance * (1 - self.correlation) * holding / places
        return total / len(lengths)

    def on_points(self, x: Floats, y: Floats) -> Floats:
        """Raise: a bare point does not show that its coordinates are consecutive symbols."""
        raise InvalidInput("a Motif kernel is for sequences, not for points", self, "Use zn.Matern or zn.RBF.")


class Pieces:
    """The pools of a layout as vectors whose products are the covariances of their averages, with variance one."""

    def __init__(self, layout: ProductLayout, kernel: Motif) -> None:
        self._layout = layout
        self._lengths = lengths_of_pieces(layout.axes, kernel)
        correlation = kernel.correlation
        # The root of (1 - rho) I + rho 1 1', which has two distinct eigenvalues.
        size = len(layout.axes[0].symbols)
        unlike, all_alike = math.sqrt(1 - correlation), math.sqrt(1 - correlation + size * correlation)
        self._root = unlike * np.eye(size) + (all_alike - unlike) / size
        # Of entered pools, by number; NaN if not computed yet.
        self._vectors = np.zeros((0, sum(size**long for long in self._lengths)))
        self._last: tuple[Pairs | Beside | None, Floats] = None, np.zeros(0)

    def of(self, pairs: Pairs | Beside) -> Floats:
        """Return the covariances of pairs of pools; the last answer is cached, as all models need the same."""
        last, covariances = self._last
        if last is not pairs:
            vectors = self._of(pairs[1])
            if pairs[2] is None or isinstance(pairs, Beside):
                others = vectors if pairs[2] is None else self._of(pairs[2])
                covariances = np.asarray(np.einsum("ij,ij->i", vectors, others))
            else:
                with one_thread():
                    covariances = vectors @ self._of(pairs[2]).T
            self._last = pairs, covariances
        return covariances.copy()

    def within(self, pairs: Pairs) -> Floats:
        """Return the variance of f at a sequence about the average of its pool.

        Pieces without a common position are independent; for the others the average of the product is exact.
        """
        mixed = self._layout.frequencies(pairs[1])
        rows = [frequencies @ self._root for frequencies in mixed]
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
        """Return how similar the pieces at p and p + shift of one sequence are on average.

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
        """Return pools as vectors; those of entered pools are cached."""
        numbers = keys[-1].astype(np.intp)
        if len(numbers) == 0 or numbers.min() < 0:
            return self._vectors_of(keys)
        size, (cached, long) = int(numbers.max()) + 1, self._vectors.shape
        if size > cached:
            more = np.full((max(size - cached, cached), long), np.nan)
            self._vectors = np.concatenate([self._vectors, more])
        (fresh,) = np.isnan(self._vectors[numbers, 0]).nonzero()
        for start in range(0, len(fresh), TOGETHER):
            batch = fresh[start : start + TOGETHER]
            self._vectors[numbers[batch]] = self._vectors_of(keys[:, batch])
        vectors: Floats = self._vectors[numbers]
        return vectors

    def _vectors_of(self, keys: Floats) -> Floats:
        """Return the vectors of pools, from the frequencies of symbols in each pool, by position."""
        # No matrix product: its last digit could depend on how many are multiplied at once.
        rows = [np.add.reduce(symbols[:, None, :] * self._root, -1) for symbols in self._layout.frequencies(keys)]
        blocks = []
        for long in self._lengths:
            places = len(rows) - long + 1
            total: Any = 0.0
            for p in range(places):
                piece = rows[p]
                for row in rows[p + 1 : p + long]:
                    size = piece.shape[1] * row.shape[1]
                    piece = (piece[:, :, None] * row[:, None, :]).reshape(len(row), size)
                total = total + piece
            blocks.append(total / math.sqrt(places * len(self._lengths)))
        return np.concatenate(blocks, axis=1)


def lengths_of_pieces(axes: Sequence[Any], kernel: Motif) -> list[int]:
    """Return the lengths of the pieces of sequences on these axes; raise if the kernel does not suit them."""
    lengths = [long for long in kernel.lengths if long <= len(axes)]
    symbols = {axis.symbols if axis.is_categorical else None for axis in axes}
    if not lengths or None in symbols or len(symbols) > 1:
        raise _misplaced(kernel)
    size = len(next(iter(symbols)) or ())
    manageable = sum(size**long for long in lengths) <= TOO_MANY
    require(manageable, f"an alphabet of {size} symbols has too many such pieces", kernel, "Pass lengths=(2,).")
    return lengths


def _misplaced(kernel: Motif) -> InvalidInput:
    fix = "Use it with zn.Sequences at least as long as a piece."
    return InvalidInput("a Motif kernel is for sequences", kernel, fix)


def default_lengths(size: int) -> list[int]:
    """Return the lengths of pieces that are learned for an alphabet: those with not too many pieces."""
    return [long for long in LENGTHS if size**long <= MOST_PIECES]
