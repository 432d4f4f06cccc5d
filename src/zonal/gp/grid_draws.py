"""Joint draws of all cells of a grid from the posterior, for any product kernel and whatever was measured.

For each term of a kernel the prior covariance of all cells is a product over axes: F_1 Z F_2' is a draw, with
F_j F_j' the covariance of the parts of axis j and Z white noise. A measured region need not be made of whole
cells: with A_j F_j' the covariances of the rows' intervals (windows, beams, points) with these parts, the rows'
averages given Z have the mean A_1[i] Z A_2[i]', and what that leaves open of the readings is
Q - (A_1 A_1') * (A_2 A_2'), with Q their covariance and noise. So cells and readings are drawn from their joint
prior, and by Matheron's rule the draw plus what Q^-1 (rewards - drawn readings) adds is one of the posterior.

Roots are of the rank that double precision has: of smooth kernels it is far below the number of parts. The means
and covariances of such draws are those of the posterior to 1e-9 of the prior's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from zonal._blas import one_thread
from zonal._types import Floats, Ints
from zonal.errors import require
from zonal.gp.functional_index import Keys
from zonal.gp.grid_posterior import GridPosterior, balanced, combined
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model_average import Member, Mixture
from zonal.kernels.feedback import AnyFootprints

RANK = 1e-14  # of the largest variance: what is smaller is rounding
MAX_PARTS = 4096  # of an axis


class WhiteTerm(NamedTuple):
    """One term of a kernel: cells and rows as combinations of independent normal numbers, a product over axes."""

    roots: list[Floats]  # F by axis, shape (parts, rank)
    ranks: list[int]
    first: Floats  # A of the first axes, shape (combinations of their ranks, rows)
    others: Floats  # A of the other axes


class GridDraws:
    """Joint draws of all cells of a grid under one model, relative to the prior mean."""

    def __init__(self, member: Member, frame: ModelSpace, axes: Sequence[Keys]) -> None:
        """Begin with the keys of the parts of each axis."""
        self._member, self._mean_std = member, member.model.mean_std
        parts_of_axis = [keys.shape[1] for keys in axes]
        self._cells = math.prod(parts_of_axis)
        fix = "Pass the regions, or give the space a larger smallest size."
        longest = max(parts_of_axis)
        require(longest <= MAX_PARTS, f"maps are drawn of at most {MAX_PARTS} parts of an axis", longest, fix)
        rows = member.tracked.keys.take(member.slots, axis=1)
        kernel, beam, layout = member.model.kernel, member.model.beam, frame.layout
        of_parts = frame.along_axes(kernel, layout.pairs_of_parts(axes), beam)
        of_rows = frame.along_axes(kernel, layout.pairs_by_axis(axes, rows), beam)
        self._terms = list[WhiteTerm]()
        with one_thread():
            left = member.covariance_of_readings() - self._mean_std**2
            tolerance = RANK * float(np.max(left.diagonal(), initial=0.0))
            for (variance, parts), (_, crosses) in zip(of_parts, of_rows, strict=True):
                roots, seen = zip(*map(_white, parts, crosses), strict=True)
                left -= variance * math.prod(of_axis.T @ of_axis for of_axis in seen)
                self._terms.append(_term(math.sqrt(variance), roots, seen))
            self._left = _root(left, tolerance)[0]  # of the readings, given the cells

    def sample(self, number: int, rng: np.random.Generator) -> Floats:
        """Return draws, shape (number, cells), the last axis fastest."""
        draws = np.empty((number, self._cells))
        with one_thread():
            for draw in draws:
                white = [rng.standard_normal((len(term.first), len(term.others))) for term in self._terms]
                mean, left = rng.standard_normal(), rng.standard_normal((self._left.shape[1],))
                draw[:] = self._conditioned(white, self._mean_std * mean, left)
        return draws

    def _conditioned(self, white: list[Floats], mean: float, left: Floats) -> Floats:
        """Return a draw of the posterior from independent normal numbers and a draw of the prior mean."""
        readings = mean + self._left @ left
        for noise, term in zip(white, self._terms, strict=True):
            readings += np.add.reduce((noise.T @ term.first) * term.others, 0)
        weights = self._member.weights_of_rows(readings)
        total = np.full(self._cells, mean + self._mean_std**2 * weights.sum())
        for noise, term in zip(white, self._terms, strict=True):
            noise += (term.first * weights) @ term.others.T
            field = noise.reshape(term.ranks)
            for root in term.roots:  # each product moves an axis to the end
                field = np.tensordot(field, root, axes=(0, 1))
            total += field.ravel()
        return total


def grid_draws(grid: GridPosterior, number: int, rng: np.random.Generator) -> Floats:
    """Return joint draws of all cells, shape (number, cells), relative to the mixture's `zero`."""

    def of_model(member: Member, size: int) -> Floats:
        return GridDraws(member, grid.frame, grid.axes).sample(size, rng)

    return _under_models(grid.mixture, number, grid.size, of_model, rng)


def dense_draws(
    mixture: Mixture, footprints: AnyFootprints, size: int, number: int, rng: np.random.Generator
) -> Floats:
    """Return joint draws of any `size` footprints, shape (number, size), relative to the mixture's `zero`."""

    def of_model(member: Member, size: int) -> Floats:
        mean, covariance = member.joint(footprints)
        with one_thread():
            root = _root(covariance, RANK * float(covariance.diagonal().max()))[0]
            return np.asarray(mean + rng.standard_normal((size, root.shape[1])) @ root.T)

    return _under_models(mixture, number, size, of_model, rng)


def _under_models(
    mixture: Mixture,
    number: int,
    size: int,
    of_model: Callable[[Member, int], Floats],
    rng: np.random.Generator,
) -> Floats:
    """Return draws of so many averages, each under a model drawn by its weight."""
    model = rng.choice(len(mixture.members), size=number, p=mixture.weights)
    draws = np.empty((number, size))
    for at in np.unique(model).tolist():
        member, (under,) = mixture.members[at], (model == at).nonzero()
        draws[under] = of_model(member, len(under)) + (member.model.mean - mixture.zero)
    return draws


def _white(covariance: Floats, cross: Floats) -> tuple[Floats, Floats]:
    """Return a root of the covariance of parts, and what has this covariance with them."""
    root, pivots = _root(covariance, RANK * float(covariance.diagonal().max()))
    if not cross.size:
        return root, np.zeros((len(pivots), 0))
    return root, np.asarray(lapack.dtrtrs(root[pivots], cross[pivots], lower=1)[0])


def _root(covariance: Floats, tolerance: float) -> tuple[Floats, Ints]:
    """Return a root of a covariance up to a tolerance, and the rows in which it is a lower triangle."""
    if not len(covariance):
        return covariance, np.zeros(0, dtype=np.intp)
    factor, order, rank, _ = lapack.dpstrf(covariance, tol=tolerance, lower=1)
    root = np.zeros((len(covariance), rank))
    root[order - 1] = np.tril(factor)[:, :rank]
    return root, order[:rank] - 1


def _term(scale: float, roots: Sequence[Floats], seen: Sequence[Floats]) -> WhiteTerm:
    ranks, rows = [root.shape[1] for root in roots], seen[0].shape[1]
    split = balanced(ranks)
    first, others = combined(seen[:split], rows), combined(seen[split:], rows)
    return WhiteTerm([scale * roots[0], *roots[1:]], ranks, scale * first, others)
