"""The posterior of all cells of a grid at once: as many averages as cells, from a few tables by axis.

A grid's cells are all combinations of parts of the axes, and the prior covariance of a cell with a measured
footprint is a sum of products over axes. So the covariances of all cells with all rows are two thin matrices, of
the combinations of the first axes and of the others, and nothing of the size cells times rows is ever in memory.
This holds for any product kernel, cells of any width, rings, symbols, and footprints of any feedback.

Means are a matrix product. Variances need L^-1 times these covariances; where the second matrix has low rank, as
it has under smooth kernels, only its basis is solved for.

This module knows covariances and footprints; it must not know regions or trees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from zonal._blas import one_thread
from zonal._types import Floats
from zonal.gp.functional_index import Keys
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model_average import Member, Mixture
from zonal.kernels.spectrum import Motif

RANK = 1e-15  # of the largest singular value: what is smaller is rounding
AT_ONCE = 1 << 19  # numbers in one block


class GridTerm(NamedTuple):
    """One product of the covariances of all cells with the rows of a belief."""

    first: Floats  # shape (combinations of the first axes, rows)
    others: Floats  # shape (combinations of the other axes, rows), times the variance


class GridPosterior:
    """Means and variances of all cells of a grid under each model of a mixture.

    Attributes
    ----------
    mixture : Mixture
    frame : ModelSpace
    axes : sequence of Keys
        The parts of each axis.
    size : int
        The number of cells, the last axis fastest.
    """

    def __init__(self, mixture: Mixture, frame: ModelSpace, axes: Sequence[Keys]) -> None:
        """Begin with the keys of the parts of each axis."""
        self.mixture, self.frame, self.axes = mixture, frame, axes
        self._shape = [keys.shape[1] for keys in axes]
        self._split = balanced(self._shape)
        self.size = math.prod(self._shape)

    @staticmethod
    def is_possible(mixture: Mixture) -> bool:
        """Tell whether covariances with all rows are products over axes: no motifs, slopes or differences."""
        member = mixture.members[0]
        keys = member.tracked.keys
        plain = not any(isinstance(term, Motif) for other in mixture.members for term in other.model.kernel.terms)
        plain &= not any(other.model.unrelated for other in mixture.members)
        return plain and keys.dtype != object and (not keys.size or float(keys[0].min()) >= 0)

    def under_models(self) -> Iterator[tuple[float, Floats, Floats]]:
        """Yield for each model its weight, and means, relative to `mixture.zero`, and variances of all cells."""
        mixture = self.mixture
        for weight, member in zip(mixture.weights.tolist(), mixture.members, strict=True):
            yield weight, member.model.mean - mixture.zero + self._means(member), self._variances(member)

    def predict(self) -> tuple[Floats, Floats]:
        """Return mean and variance of all cells."""
        mean, square = np.zeros(self.size), np.zeros(self.size)
        models = [*self.under_models()]
        for weight, means, _ in models:
            mean += weight * means
        for weight, means, variances in models:
            square += weight * (variances + (means - mean) ** 2)
        return mean, square

    def _means(self, member: Member) -> Floats:
        weights, total = member.weights_of_rows(), np.zeros(self.size)
        with one_thread():
            for term in self._terms(member) if len(weights) else ():
                total += ((term.first * weights) @ term.others.T).ravel()
        return total

    def _variances(self, member: Member) -> Floats:
        """Return the variances of all cells under one model."""
        prior, rows = self._prior(member), member.rows
        if not rows:
            return prior
        terms = self._terms(member)
        stacked = np.concatenate([term.others for term in terms], axis=1)
        with one_thread():
            basis, sizes, parts = np.linalg.svd(stacked, full_matrices=False)
            rank = max(1, int(np.count_nonzero(sizes > RANK * sizes[0])))
            basis, parts = basis[:, :rank], (sizes[:rank, None] * parts[:rank]).T.reshape(len(terms), rows, rank)
            explained, step = np.empty((len(terms[0].first), len(basis))), max(1, AT_ONCE // (rows * rank))
            for start in range(0, len(explained), step):
                first = [term.first[start : start + step] for term in terms]
                cross = sum(
                    part[:, None] * of_term.T[:, :, None] for part, of_term in zip(parts, first, strict=True)
                )
                solved = (
                    member.solve(np.asarray(cross).reshape(rows, -1)).reshape(rows, -1, rank).transpose(1, 0, 2)
                )
                inner = solved.transpose(0, 2, 1) @ solved
                explained[start : start + step] = np.add.reduce((basis @ inner) * basis, -1)
        return np.maximum(prior - explained.ravel(), 0.0)

    def _terms(self, member: Member) -> list[GridTerm]:
        """Return the covariances of all cells with the rows of a belief."""
        rows = member.tracked.keys.take(member.slots, axis=1)
        tables = self._along_axes(member, self.frame.layout.pairs_by_axis(self.axes, rows))
        terms = [self._term(variance, factors) for variance, factors in tables]
        return [*terms, *self._of_mean(member, len(member.slots))]

    def _along_axes(self, member: Member, pairs: Sequence[Any]) -> list[tuple[float, list[Floats]]]:
        return self.frame.along_axes(member.model.kernel, pairs, member.model.beam)

    def _term(self, variance: float, factors: list[Floats]) -> GridTerm:
        rows = factors[0].shape[1]
        return GridTerm(combined(factors[: self._split], rows), variance * combined(factors[self._split :], rows))

    def _of_mean(self, member: Member, rows: int) -> list[GridTerm]:
        """Return what an unknown prior mean adds: the same for all averages."""
        if not member.model.mean_std:
            return []
        shapes = math.prod(self._shape[: self._split]), math.prod(self._shape[self._split :])
        return [GridTerm(np.ones((shapes[0], rows)), np.full((shapes[1], rows), member.model.mean_std**2))]

    def _prior(self, member: Member) -> Floats:
        """Return the prior variances of all cells."""
        tables = self._along_axes(member, self.frame.layout.self_pairs_by_axis(self.axes))
        terms = [self._term(variance, [factor[:, None] for factor in factors]) for variance, factors in tables]
        every = [*terms, *self._of_mean(member, 1)]
        return np.asarray(np.sum([(term.first @ term.others.T).ravel() for term in every], axis=0))


def balanced(shape: Sequence[int]) -> int:
    """Return how many of the first axes to combine, so that both matrices are small: at least one is left."""
    return min(range(len(shape)), key=lambda at: math.prod(shape[:at]) + math.prod(shape[at:]))


def combined(factors: Sequence[Floats], rows: int) -> Floats:
    """Return the products of all combinations of parts of some axes, for each row; the last axis fastest."""
    product: Floats = np.ones((1, rows))
    for factor in factors:
        product = (product[:, None] * factor[None]).reshape(len(product) * len(factor), rows)
    return product
