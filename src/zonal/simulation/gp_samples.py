"""Functions drawn from a model: joint averages over smallest regions, or finer parts, as tables.

Windows lie between smallest regions, so these are divided where there is room: a function that is flat within them
would be another one than the model's. Kernels are sums of products over axes, so a function on a grid of cells is
a sum of products too: one root of a covariance per axis, however many cells there are. For motifs, the values of
pieces are drawn and added up along the sequence. Values of members are drawn from their features. This module must
not know studies or policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from zonal._blas import one_thread
from zonal._types import Floats
from zonal.errors import InvalidInput, positive_number, require
from zonal.gp.kernel_families import families_of, frame_of, kernel_from
from zonal.gp.model import BOUNDS, CORRELATION_PRIOR, LENGTHSCALE_PRIOR
from zonal.kernels.base import CategoricalFactor, Factor, Kernel, Matern, Term, factors
from zonal.kernels.callable import custom, is_kernel
from zonal.kernels.covariance import averages
from zonal.kernels.feedback import Mean
from zonal.kernels.spectrum import Motif, lengths_of_pieces
from zonal.simulation.ground_truth import Direction, Landscape, from_table
from zonal.spaces import Axis, AxisSpace, FiniteSpace

SearchSpace = AxisSpace | FiniteSpace
KernelLike = Kernel | Callable[[Floats, Floats], ArrayLike]  # or a function of two sets of points
# Roots of covariances that multiply noise, one per dimension; and the axes at which the product is added.
Piece = tuple[list[Floats], list[int]]

MAX_CELLS = 65_536
FINER = (4, 2)  # parts of a smallest region along each continuous axis, as many as there is room for
MAX_MEMBERS = 4096
SLACK = (1e-10, 1e-8)  # of the variance, added since rounding makes covariances of smooth functions singular
TRIED = 200  # members on which a user's kernel function is tested


class Drawn(NamedTuple):
    """A function, and the kernel it was drawn from."""

    kernel: Kernel
    landscape: Landscape


@dataclass(frozen=True)
class Prior:
    """The distribution of functions: a Gaussian process with mean zero (a constant changes no regret)."""

    space: SearchSpace  # with a smallest region
    kernel: Kernel | None  # None: a new one for every function, drawn from the priors used in learning
    std: float  # prior standard deviation of f at a point
    direction: Direction

    def draw(self, rng: np.random.Generator) -> Drawn:
        """Draw a function."""
        kernel = drawn_kernel(self.space, self.std, rng) if self.kernel is None else self.kernel
        terms = _roots(self.space, kernel) if self.kernel is None else self._roots
        with one_thread():
            values = np.sum([_sample(pieces, _parts(self.space), rng) for pieces in terms], axis=0)
        if isinstance(self.space, FiniteSpace):
            values = values[self.space.place]
        return Drawn(kernel, from_table(self.space, values, direction=self.direction))

    @cached_property
    def _roots(self) -> list[list[Piece]]:
        assert self.kernel is not None
        return _roots(self.space, self.kernel)


def model_of(space: SearchSpace, kernel: KernelLike | None, signal: float | None, direction: Direction) -> Prior:
    """Return the distribution to draw from; raise if the space is too large or does not suit the kernel.

    A space without a smallest region gets one. The kernel may be a function of features on `Points` and
    `Hierarchy`; without a kernel, `signal` is the standard deviation of f, 1 by default.
    """
    fix = "Pass a Box, Product, Sequences, Points or Hierarchy."
    require(isinstance(space, SearchSpace), "functions need a space", space, fix)
    space = space.with_smallest()
    _check_size(space)
    if kernel is None:
        return Prior(space, None, positive_number(1.0 if signal is None else signal, "signal"), direction)
    require(signal is None, "a kernel has its own variance", signal, "Leave signal out, or the kernel.")
    if isinstance(space, FiniteSpace) and callable(kernel) and not isinstance(kernel, type | Kernel):
        kernel = custom(kernel, space.features[:: -(-space.size // TRIED)])
    if not is_kernel(kernel):
        fix = "Pass for example zn.RBF(variance=0.1, lengthscale=0.05), or nothing to have a kernel drawn too."
        raise InvalidInput("kernel must be a kernel or None", kernel, fix)
    model = Prior(space, kernel, math.sqrt(kernel.point_variance), direction)
    model._roots  # noqa: B018  # raises now if the kernel does not suit the space
    return model


def _check_size(space: SearchSpace) -> None:
    most, fix = MAX_CELLS, "Give the space a wider smallest=."
    if isinstance(space, FiniteSpace):
        most, fix = MAX_MEMBERS, "Merge members into larger ones, or pass a landscape."
    elif not space.continuous_axes:
        fix = "Use fewer positions, or pass a landscape."
    number = math.prod(_cells(space))
    require(number <= most, f"functions can be drawn on at most {most} smallest parts", number, fix)


def _cells(space: SearchSpace) -> list[int]:
    """Return the number of smallest parts of each axis, or the number of members."""
    if isinstance(space, FiniteSpace):
        return [space.size]
    pieces = space.partition.pieces(space.max_depth() or 0)
    return [axis.places or number for axis, number in zip(space.axes, pieces, strict=True)]


def _parts(space: SearchSpace) -> list[int]:
    """Return into how many equal parts each axis is divided for a draw, or the number of members."""
    cells = _cells(space)
    if not isinstance(space, FiniteSpace):
        for finer in FINER:
            parts = [
                number if axis.places else finer * number for axis, number in zip(space.axes, cells, strict=True)
            ]
            if math.prod(parts) <= MAX_CELLS:
                return parts
    return cells


def drawn_kernel(space: SearchSpace, std: float, rng: np.random.Generator) -> Kernel:
    """Draw a kernel of the family that is learned by default, from the priors used in learning."""
    symbols = np.array([j not in space.continuous_axes for j in range(space.d)])
    by_symbol, shared = rng.standard_normal(len(symbols)), rng.standard_normal()
    median, spread = LENGTHSCALE_PRIOR
    scales = np.clip(median * np.exp(spread * by_symbol), *BOUNDS["lengthscale"]) * space.sides()
    odds = CORRELATION_PRIOR[0] * shared + CORRELATION_PRIOR[1] * by_symbol
    families = families_of(space) if symbols.all() else (Matern,)
    family = families[int(rng.integers(len(families)))] if len(families) > 1 else families[0]
    return kernel_from(family, std**2, np.where(symbols, 1 / (1 + np.exp(-odds)), scales), symbols.tolist())


def _roots(space: SearchSpace, kernel: Kernel) -> list[list[Piece]]:
    """Return roots of the covariance of all parts drawn, for every term of the kernel."""
    with one_thread():
        if isinstance(space, FiniteSpace):
            frame_of(space, Mean()).covariance(kernel)  # raises if it does not suit the space
            return [[([_root(kernel(space.features, space.features), kernel)], [0])]]
        return [_roots_of_term(space, kernel, term) for term in kernel.terms]


def _roots_of_term(space: AxisSpace, kernel: Kernel, term: Term) -> list[Piece]:
    if isinstance(term, Motif):
        return _roots_of_pieces(space, kernel, term)
    along = zip(space.axes, _parts(space), factors(term, space.axes), strict=True)
    roots = [_root(_covariance(axis, number, factor), kernel) for axis, number, factor in along]
    return [([math.sqrt(term.variance) * roots[0], *roots[1:]], [0])]


def _roots_of_pieces(space: AxisSpace, kernel: Kernel, term: Motif) -> list[Piece]:
    cells, lengths = _cells(space), lengths_of_pieces(space.axes, term)
    root = _root(_covariance(space.axes[0], cells[0], CategoricalFactor(term.correlation)), kernel)
    pieces = []
    for long in lengths:
        places = len(cells) - long + 1
        scale = math.sqrt(term.variance / places / len(lengths))
        pieces.append(([scale * root, *[root] * (long - 1)], list(range(places))))
    return pieces


def _covariance(axis: Axis, cells: int, factor: Factor) -> Floats:
    """Return the covariance of the averages over equal parts of an axis, or of its symbols."""
    layout: Any = axis.layout([0])  # of intervals or of symbols: each knows its own pairs
    keys = layout.cells(np.arange(cells), cells)
    measures: list[Any] = [axis.measure(Mean())]  # None of a categorical axis: all of a part
    covariance: Floats = averages(layout, measures, factor).of(layout.pairs(keys, keys))
    return covariance


def _root(covariance: Floats, kernel: Kernel) -> Floats:
    """Return the lower Cholesky factor of a covariance."""
    scale = float(np.max(np.diag(covariance)))
    for slack in SLACK:
        factor, info = lapack.dpotrf(covariance + slack * scale * np.eye(len(covariance)), lower=1, clean=1)
        if info == 0:
            return np.asarray(factor)
    raise InvalidInput("the kernel is not positive semi-definite here", kernel, "Use RBF, Matern or Categorical.")


def _sample(pieces: list[Piece], shape: list[int], rng: np.random.Generator) -> Floats:
    """Return a draw of one term: noise with one dimension per axis, multiplied by a root along each."""
    total = np.zeros(shape)
    for roots, firsts in pieces:
        noise = rng.standard_normal([len(root) for root in roots])
        for j, root in enumerate(roots):
            noise = np.moveaxis(np.tensordot(root, noise, axes=(1, j)), 0, j)
        for first in firsts:
            total += noise.reshape(noise.shape + (1,) * (len(shape) - first - noise.ndim))
    return total
