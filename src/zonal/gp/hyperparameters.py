"""Posterior over models on a grid of hyperparameters, and a few models that represent it.

A single best model is not enough: a narrow peak may be noise, and with few measurements every parameter is
uncertain. Models differ in smoothness (a family of kernels), lengthscales (or correlations of symbols), noise and
variance, each on a grid of logarithms. For one family and one set of lengthscales, all noises and variances cost
one tridiagonal matrix (`tridiagonal.py`): with rows scaled by the root of their counts the covariance is
``v (R + tau I)``. Where rounding leaves such a matrix without an inverse, eigenvectors of R take its place; of
large R one at a time is in memory. The prior mean is integrated out. Lengthscales are tried from the
best outwards, as long as they have weight, starting where the last fit ended.

This module knows covariances, rewards and kernels; it must not know regions, trees or policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from zonal._blas import eigh, one_thread
from zonal._types import Floats
from zonal.gp.kernel_families import Family, ModelSpace, kernel_from
from zonal.gp.model import (
    BEAM_PRIOR,
    BOUNDS,
    CORRELATION_PRIOR,
    LENGTHSCALE_PRIOR,
    MEAN_PRIOR,
    NOISE_PRIOR,
    VARIANCE_PRIOR,
    Model,
    ModelSpec,
    standardize,
)
from zonal.gp.noise_laws import NoiseLaw, differ, relative_variances
from zonal.gp.offsets import MIDDLE, UNRELATED, OffsetGrid
from zonal.gp.stats import StatsArrays
from zonal.gp.tridiagonal import quadratic_forms

Steps = tuple[int, ...]  # lengthscales, or correlations, in grid steps from the prior's median; levels of offsets
Cell = tuple[int, Steps]  # a family under a law of the noise (counted law by law), and its steps
Correlate = Callable[..., Floats]  # (family, a parameter per axis, perhaps the width of a beam) -> correlations

STEP = 0.35  # of the logarithm of a lengthscale
STEP_OF_ODDS = 0.5
STEP_OF_BEAM = 0.2
RATIOS = np.exp(np.linspace(math.log(0.02), math.log(8.0), 14))  # of noise to the std of f
VARIANCES = np.exp(np.linspace(-3.5, 3.5, 15))  # of f, in units of the rewards' variance
NOISES = np.exp(np.linspace(math.log(0.005), math.log(4.0), 12))  # in rewards' stds, if some are known
FINE = np.exp(np.linspace(math.log(1e-3), math.log(1e2), 48))  # used where only noise or only variance is unknown
LIKELY = 0.05  # of the best cell's weight: cells above it have their neighbours tried
MOST_TRIED = 48  # cells per fit
MOST_ALONE = 32  # axes or features that each get a lengthscale of their own; of more, all have the same
MORE_TRIED = 24  # for each further law of the noise
COARSE_BEAMS = -8, -4, 0, 4  # steps
KEPT = 4  # cells from which the next fit starts
LARGE = 160  # lines from which one matrix at a time is in memory


@dataclass(frozen=True)
class WeightedModel:
    """A model and its weight."""

    weight: float
    model: Model


@dataclass(frozen=True)
class Fit:
    """The result of a fit."""

    model: Model  # summary of the posterior: the most probable family, with posterior means of the log-parameters
    members: tuple[WeightedModel, ...]  # a few models that represent the posterior; their weights add up to 1
    best: tuple[Cell, ...]  # where the next fit starts


class UnderLaw(NamedTuple):
    """Rewards whose learned noise is alike under a law of the noise, and the log of the law's weight."""

    data: StatsArrays
    log_prior: float = 0.0

    @classmethod
    def of(cls, data: StatsArrays, law: NoiseLaw, ratios: Floats) -> UnderLaw:
        """Return data as a law sees them; by line, `ratios` are its noise variances, relative to each other."""
        assert data.numbers is not None
        log_prior = math.log(law.prior) - 0.5 * float(data.numbers @ np.log(ratios))
        return cls(data.under(ratios), log_prior)


class Evidence:
    """Log posterior of every noise and variance on the grid, for cells of some families, lengthscales and laws.

    Attributes
    ----------
    shift, scale : float
        What standardises the rewards.
    laws : tuple of int
        The laws of the noise, by number.
    """

    def __init__(self, data: StatsArrays, unknowns: ModelSpec, laws: Mapping[int, UnderLaw] | None = None) -> None:
        """Prepare the data, as they are or under each of some laws."""
        under = laws or {0: UnderLaw(data)}
        self.shift, self.scale = standardize(data, unknowns.mean)
        self.unknowns, self.laws, self._data = unknowns, tuple(under), data
        given = unknowns.given is not None
        known_variance = np.maximum(data.variance / self.scale**2, 1e-10)
        open_ = data.count > 0
        # If all noise is learned, its grid is of ratios to v; if some is known, of absolute values.
        self._by_ratio = unknowns.noise and bool(open_.all())
        self._open = int(np.count_nonzero(open_)) if unknowns.noise else 0
        if self._by_ratio:
            self.tau = FINE**2 if given else RATIOS**2
            roots = [np.sqrt(by_law.data.count)[None] for by_law in under.values()]
        else:
            self.tau = NOISES**2 if unknowns.noise else np.ones(1)
            noise_variance = self.tau[:, None] if self._open else self.tau[:1, None]  # else it has no effect
            variances = [noise_variance / by_law.data.counted for by_law in under.values()]
            roots = [1 / np.sqrt(np.where(open_, variance, known_variance)) for variance in variances]
        self._roots = dict(zip(under, roots, strict=True))  # by law, shape (noises, D) or (1, D)
        self.v = np.ones(1) if given else VARIANCES if unknowns.noise else FINE
        self._residual = (data.mean - self.shift * data.total) / self.scale
        self._noise_variances: Floats = self.tau[:, None] * (self.v if self._by_ratio else np.ones(len(self.v)))
        self._priors = {law: self._prior(*by_law) for law, by_law in under.items()}

    def __call__(self, correlations: Iterable[Floats], laws: Sequence[int]) -> tuple[Floats, Floats]:
        """Return log posteriors and best prior means, shapes (cells, noises, variances), given the cells' laws.

        Correlations, each of shape (D, D), are between the lines of the data; covariances if the kernel is given.
        """
        if len(self._residual) < LARGE:
            heights, means = self._of(np.stack(list(correlations)), laws)
        else:  # one at a time in memory
            cells = [self._of(matrix[None], [law]) for matrix, law in zip(correlations, laws, strict=True)]
            heights, means = (np.concatenate(part) for part in zip(*cells, strict=True))
        heights = heights + np.stack([self._priors[law] for law in laws])
        return heights, np.broadcast_to(means, heights.shape)

    def _of(self, correlations: Floats, laws: Sequence[int]) -> tuple[Floats, Floats]:
        """Return log likelihoods and best prior means of stacked matrices."""
        by_noise = np.stack([self._roots[law] for law in laws], axis=1)
        parts = [self._likelihood(correlations, roots) for roots in by_noise]
        heights, means = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return heights, means

    def _likelihood(self, correlations: Floats, roots: Floats) -> tuple[Floats, Floats]:
        """Return log likelihoods, and best prior means, for rows scaled by `roots`, shape (cells, D)."""
        unit = 1.0 if self.unknowns.given is None else self.scale**2
        scaled = correlations * (roots[:, :, None] * roots[:, None] / unit)
        vectors = np.stack([roots * self._residual, roots * self._data.total], axis=1)
        # Rows have noise variance v tau if all noise is learned, else 1. Either way v or tau is a common factor,
        # so sums over the rows are needed for the other one only.
        logs, squares = self._sums(scaled, vectors)
        factor = self.v if self._by_ratio else np.ones(1)

        def spread(by_other: Floats) -> Floats:
            return by_other[:, :, None] / factor if self._by_ratio else by_other[:, None, :]

        log_det = logs[:, :, None] + roots.shape[1] * np.log(factor) if self._by_ratio else logs[:, None, :]
        log_likelihood = -0.5 * spread(squares[0]) - 0.5 * log_det
        mean = np.zeros(log_likelihood.shape)
        if self.unknowns.mean is None:
            ones = spread(squares[2]) + 1 / MEAN_PRIOR**2
            cross = spread(squares[1])
            mean = cross / ones
            log_likelihood += 0.5 * cross * mean - 0.5 * np.log(ones * MEAN_PRIOR**2)
        return log_likelihood, mean

    def _sums(self, scaled: Floats, vectors: Floats) -> tuple[Floats, Sequence[Floats]]:
        """Return log determinants, and y'y, y'1 and 1'1 with the inverse between.

        `vectors` are y and 1, the rewards and their total weights, shape (cells, 2, D); what is returned has shape
        (cells, noises or variances).
        """
        same = np.ones(1)
        scales, shifts = np.broadcast_arrays(*((same, self.tau) if self._by_ratio else (self.v, same)))
        sums = quadratic_forms(scaled, vectors, scales, shifts)
        if sums is not None:
            logs, forms = sums
            return logs, (forms[..., 0, 0], forms[..., 0, 1], forms[..., 1, 1])
        values, rotations = eigh(scaled)
        values = np.maximum(values, 0.0)[:, None, :]
        y, unit_mean = (vectors[:, [part]] @ rotations for part in (0, 1))
        total = values + self.tau[:, None] if self._by_ratio else self.v[:, None] * values + 1.0
        inverse = 1 / total
        squares = [np.sum(product * inverse, axis=-1) for product in (y * y, y * unit_mean, unit_mean * unit_mean)]
        return np.sum(np.log(total), axis=-1), squares

    def _prior(self, data: StatsArrays, log_prior: float) -> Floats:
        """Return log priors of noises and variances, and the likelihood of the scatter within lines."""
        v = self.v
        prior = np.full((len(self.tau), len(v)), log_prior)
        if self.unknowns.noise:
            s2, scatter = self._noise_variances, data.scatter / self.scale**2
            prior -= 0.5 * ((0.5 * np.log(s2) - math.log(NOISE_PRIOR[0])) / NOISE_PRIOR[1]) ** 2
            scaled_by_noise = 0 if self._by_ratio else self._open  # lines whose rows were divided by the noise
            prior -= 0.5 * ((data.extra + scaled_by_noise) * np.log(s2) + scatter / s2)
        if self.unknowns.given is None:
            prior -= 0.5 * ((np.log(v) - math.log(VARIANCE_PRIOR[0])) / VARIANCE_PRIOR[1]) ** 2
        return np.asarray(prior)

    @property
    def offset_unit(self) -> float:
        """The variance of an offset of size one, where correlations have variance one, or in value units."""
        return 1.0 if self.unknowns.given is None else self.scale**2

    def noises(self) -> Floats:
        """Return the standard deviation of the noise at each point of the grid, in value units."""
        return np.asarray(self.scale * np.sqrt(self._noise_variances))


class GridSearch:
    """Tries cells of the grid from the best outwards, and sums up what it found."""

    def __init__(
        self,
        evidence: Evidence,
        frame: ModelSpace,
        families: list[tuple[Family, float]],
        correlate: Correlate,
        offsets: OffsetGrid | None = None,
    ) -> None:
        self.evidence, self._frame, self._families, self._correlate = evidence, frame, families, correlate
        self._offsets = offsets  # their levels are the last steps of a cell
        self._levels = () if offsets is None else offsets.spec.levels
        self._matrices: dict[Cell, Floats] = {}  # correlations, which laws and offsets share
        unknowns = evidence.unknowns
        self._beam = BEAM_PRIOR[0] * frame.narrowest if unknowns.beam else 0.0
        self._symbols = symbols = np.array(frame.symbols if unknowns.given is None else (), dtype=bool)
        self.steps = np.where(symbols, STEP_OF_ODDS, STEP)
        ends = zip(BOUNDS["correlation"], BOUNDS["lengthscale"], strict=True)
        low, high = (np.log(np.where(symbols, odds, scale / LENGTHSCALE_PRIOR[0])) for odds, scale in ends)
        lowest, highest = np.ceil(low / self.steps - 1e-9), np.floor(high / self.steps + 1e-9)
        self._bounds = list(zip(lowest.tolist(), highest.tolist(), strict=True))
        if self._beam:  # its logarithm has the last place among the steps
            edges = [math.log(edge / BEAM_PRIOR[0]) / STEP_OF_BEAM for edge in BOUNDS["beam"]]
            self.steps = np.append(self.steps, STEP_OF_BEAM)
            self._bounds.append((math.ceil(edges[0]), math.floor(edges[1])))
        self._d = len(self.steps)  # steps that are not levels
        self._bounds += [(0.0, number - 1.0) for number in self._levels]
        self.posteriors: dict[Cell, tuple[Floats, Floats]] = {}
        self.height: dict[Cell, float] = {}

    @cached_property
    def _precision(self) -> Floats:
        """Of the prior of the logarithms; with a given kernel nobody asks for it, nor for the moves."""
        symbols = self._symbols
        covariance = np.diag(np.where(symbols, CORRELATION_PRIOR[1], LENGTHSCALE_PRIOR[1]) ** 2)
        covariance[np.ix_(symbols, symbols)] += CORRELATION_PRIOR[0] ** 2
        if self._beam:
            covariance = block_diag(covariance, np.array([[BEAM_PRIOR[1] ** 2]]))
        return np.linalg.inv(covariance)

    @cached_property
    def _moves(self) -> list[Steps]:
        """The steps to the cells next to one: along all axes together, and along each if not too many."""
        d, n, levels = len(self._symbols), self._d, len(self._levels)
        alone = np.eye(n, dtype=int)[0 if d <= MOST_ALONE else d :].tolist()
        ahead = dict.fromkeys([(1,) * d + (0,) * (n - d), *map(tuple, alone)] if d else map(tuple, alone))
        every = [move + (0,) * levels for move in ahead]
        every += [(0,) * n + tuple(level) for level in np.eye(levels, dtype=int).tolist()]
        return [tuple(sign * step for step in move) for move in every for sign in (1, -1)]

    def axes(self, steps: ArrayLike) -> Floats:
        """Return lengthscales in the units of the axes, and correlations, for some steps along the last axis."""
        logs = (self.steps * np.asarray(steps)[..., : self._d])[..., : len(self._symbols)]
        lengths = LENGTHSCALE_PRIOR[0] * np.exp(logs) * self._frame.sides[: len(self._symbols)]
        return np.asarray(np.where(self._symbols, 1 / (1 + np.exp(-logs)), lengths))

    def beam(self, steps: ArrayLike) -> float:
        """Return the width of a beam where it is learned; else 0."""
        return self._beam * math.exp(STEP_OF_BEAM * float(np.asarray(steps)[self._d - 1])) if self._beam else 0.0

    def evaluate(self, cells: Iterable[Cell]) -> None:
        """Compute the posterior of cells within bounds that were not visited yet."""
        fresh = [cell for cell in dict.fromkeys(cells) if cell not in self.posteriors and self._within(cell[1])]
        if not fresh:
            return
        steps = np.array([steps[: self._d] for _, steps in fresh], dtype=float).reshape(len(fresh), self._d)
        priors = [self._families[cell % len(self._families)][1] for cell, _ in fresh]
        if self._offsets is not None:
            levels = [cell[self._d :] for _, cell in fresh]
            priors = [prior + self._offsets.spec.log_prior(of) for prior, of in zip(priors, levels, strict=True)]
        axes = self.axes(steps) if self._symbols.size else np.zeros((len(fresh), 0))
        heights, means = self.evidence(map(self.correlations, fresh, axes), list(map(self.law, fresh)))
        logs = self.steps * steps
        heights += (np.array(priors) - 0.5 * np.add.reduce(logs @ self._precision * logs, 1))[:, None, None]
        tops = heights.max(axis=(1, 2))
        weights = np.exp(heights - tops[:, None, None]).sum(axis=(1, 2))
        self.posteriors.update(zip(fresh, zip(heights, means, strict=True), strict=True))
        self.height.update(zip(fresh, (tops + np.log(weights)).tolist(), strict=True))

    def coarse(self, law: int) -> list[Cell]:
        """Return cells all over the grid, under one law of the noise."""
        first, d = law * len(self._families), len(self._symbols)
        lengths, beams = range(-9, 7, 2) if d else (0,), COARSE_BEAMS if self._beam else (None,)
        none, middle = (0,) * len(self._levels), (MIDDLE,) * len(self._levels)
        return [
            (first + family, (k,) * d + (() if beam is None else (beam,)) + levels)
            for levels in dict.fromkeys((none, middle))
            for family in range(len(self._families))
            for k in lengths
            for beam in beams
        ]

    def law(self, cell: Cell) -> int:
        """Return which law a cell has."""
        return cell[0] // len(self._families)

    def correlations(self, cell: Cell, axes: Floats) -> Floats:
        """Return the correlations of lines, offsets included; those of a few lines are kept for other laws."""
        name = cell[0] % len(self._families), cell[1][: self._d]
        matrix = self._matrices.get(name)
        if matrix is None:
            beam = (self.beam(cell[1]),) if self._beam else ()
            matrix = self._correlate(self._families[name[0]][0], axes, *beam)
            if (len(self.evidence.laws) > 1 or self._offsets is not None) and len(matrix) < LARGE:
                self._matrices[name] = matrix
        if self._offsets is None:
            return matrix
        return self._offsets.shifted(matrix, cell[1][self._d :], self.evidence.offset_unit)

    def _within(self, steps: Steps) -> bool:
        return all(low <= step <= high for step, (low, high) in zip(steps, self._bounds, strict=True))

    def neighbours(self, cell: Cell) -> list[Cell]:
        """Return the cells next to one: all axes moved together, one axis moved, other families, other laws."""
        (family, steps), number = cell, len(self._families)
        cells = [(family, tuple(a + b for a, b in zip(steps, move, strict=True))) for move in self._moves]
        law = self.law(cell)
        cells += [(other, steps) for other in range(law * number, (law + 1) * number) if other != family]
        cells += [(other * number + family % number, steps) for other in self.evidence.laws if other != law]
        at = None if self._offsets is None else self._offsets.spec.source
        if at is not None:  # a source may measure another function whatever its offset
            at += self._d
            others = (0, MIDDLE) if steps[at] == UNRELATED else (UNRELATED,)
            cells += [(family, (*steps[:at], level, *steps[at + 1 :])) for level in others]
        return cells

    def hill_climb(self, cells: Iterable[Cell]) -> list[Cell]:
        """Climb from the best of some cells to a local maximum; return the best cells visited."""
        self.evaluate(cells)
        top, best = None, self._ranked()
        while best[0] != top:
            top = best[0]
            self.evaluate(self.neighbours(top))
            best = self._ranked()
        return best[:KEPT]

    def _ranked(self) -> list[Cell]:
        """Return the cells visited so far, the most probable first; values are rounded so that ties stay ties."""
        return sorted(self.height, key=lambda cell: (-round(self.height[cell], 6), cell))

    def expand_grid(self, starts: Iterable[Cell]) -> None:
        """Visit the starts, and then the neighbours of every cell with enough weight."""
        self.evaluate(starts)
        expanded: set[Cell] = set()
        while len(self.posteriors) < MOST_TRIED + MORE_TRIED * (len(self.evidence.laws) - 1):
            best = max(self.height.values())
            promising = [
                cell
                for cell in self._ranked()
                if self.height[cell] > best + math.log(LIKELY) and cell not in expanded
            ][:3]
            if not promising:
                break
            expanded.update(promising)
            self.evaluate(near for cell in promising for near in self.neighbours(cell))

    def fit(self, total: int, number: int, widening: float = 1.0) -> Fit:
        """Return the summary of the posterior, and models at equal steps of its cumulative weight.

        `widening` multiplies all standard deviations under these models; with learned noise it moves no mean.
        """
        evidence, cells = self.evidence, sorted(self.posteriors, key=lambda cell: (sum(cell[1]), cell))
        heights = np.stack([self.posteriors[cell][0] for cell in cells])
        offsets = np.stack([self.posteriors[cell][1] for cell in cells])
        weights = np.exp(heights - heights.max())
        weights /= weights.sum()
        noises, by_cell = evidence.noises(), weights.sum(axis=(1, 2))

        mean_std = MEAN_PRIOR * evidence.scale if evidence.unknowns.mean is None else 0.0

        def model(
            cell: tuple[int, ArrayLike], noise: float, variance: float, spread: dict[str, float], offset: float
        ) -> Model:
            kernel, mean = evidence.unknowns.given, evidence.shift + evidence.scale * offset
            if kernel is None:
                family = self._families[cell[0] % len(self._families)][0]
                variance *= evidence.scale**2
                kernel = kernel_from(family, variance, self.axes(cell[1]), self._frame.symbols)
            law = evidence.unknowns.laws[cell[0] // len(self._families)]
            learned, width = noise if evidence.unknowns.noise else None, self.beam(cell[1])
            return Model(kernel, learned, mean, spread, total, law=law.name, beam=width)

        def shifts(cell: Cell, variance: float) -> tuple[float, ...]:
            """Return the sizes of offsets; a `variance` of f in rewards' variances."""
            unit = evidence.scale * (math.sqrt(variance) if evidence.unknowns.given is None else widening)
            levels = cell[1][self._d :]
            return tuple(unit * self._offsets.spec.size(level) for level in levels) if self._offsets else ()

        places = np.searchsorted(np.cumsum(weights), (np.arange(number) + 0.5) / number)
        members = []
        for place, times in zip(*np.unique(np.minimum(places, weights.size - 1), return_counts=True), strict=True):
            i, s, v = np.unravel_index(place, weights.shape)
            noise, variance = widening * float(noises[s, v]), widening**2 * float(evidence.v[v])
            member = replace(model(cells[i], noise, variance, {}, 0.0), mean_std=widening * mean_std)
            if self._offsets is not None:
                unrelated = self._offsets.spec.unrelated(cells[i][1][self._d :])
                member = replace(member, offsets=shifts(cells[i], variance), unrelated=unrelated)
            members.append(WeightedModel(times / number, member))
        # If axes are equivalent, cells tie; rounding must not decide between them.
        ranked = sorted(range(len(cells)), key=lambda i: (-round(float(by_cell[i]), 9), cells[i]))
        first_of_law = {self.law(cells[i]): i for i in reversed(ranked)}.values()
        likeliest = dict.fromkeys([*ranked[:KEPT], *first_of_law])
        central = model(*self._middle(cells, by_cell, weights), float(np.sum(weights * offsets)))
        best = tuple(cells[i] for i in likeliest) if evidence.unknowns.given is None or self._beam else ()
        if self._offsets is not None:
            sizes = np.array([option.model.offsets for option in members]) ** 2
            shares = [option.weight for option in members]
            central = replace(central, offsets=tuple(np.sqrt(shares @ sizes).tolist()))
        return Fit(central, tuple(members), best)

    def _middle(
        self, cells: list[Cell], by_cell: Floats, weights: Floats
    ) -> tuple[tuple[int, Floats], float, float, dict[str, float]]:
        """Return the most probable family with means of its log-parameters, and their standard deviations."""
        log_noise, log_v = np.log(self.evidence.noises()), np.log(self.evidence.v)
        laws, families = np.divmod([cell[0] for cell in cells], len(self._families))
        law, family = (int(np.bincount(numbers, by_cell).argmax()) for numbers in (laws, families))
        shares = np.where(families == family, by_cell, 0.0)
        shares /= shares.sum()
        steps = np.array([cell[1][: self._d] for cell in cells], dtype=float).reshape(len(cells), -1)
        middle, spread = shares @ steps, dict[str, float]()
        if self.evidence.unknowns.given is None:
            spread["variance"] = _std(log_v, weights.sum(axis=(0, 1)))
            for j, (symbol, step) in enumerate(zip(self._frame.symbols, self.steps.tolist(), strict=False)):
                name = f"{'correlation' if symbol else 'lengthscale'} {j}"
                spread[name] = step * math.sqrt(float(shares @ (steps[:, j] - middle[j]) ** 2) + 1 / 12)
        if self._beam:
            off = steps[:, -1] - middle[-1]
            spread["beam"] = STEP_OF_BEAM * math.sqrt(float(shares @ off**2) + 1 / 12)
        by_noise = weights.sum(axis=0)
        if len(self.evidence.laws) > 1:  # of the same size under all laws, but of another meaning
            by_noise = weights[laws == law].sum(axis=0) / by_cell[laws == law].sum()
        if self.evidence.unknowns.noise:
            spread["noise"] = _std(log_noise.ravel(), by_noise.ravel())
        noise, variance = math.exp(float(np.sum(by_noise * log_noise))), math.exp(float(np.sum(weights @ log_v)))
        return (law * len(self._families) + family, middle), noise, variance, spread


def fit_posterior(
    data: StatsArrays,  # rewards, collapsed
    frame: ModelSpace,  # the space as learning sees it
    unknowns: ModelSpec,  # what to learn
    correlate: Correlate,  # family and parameters by axis to correlations between the data's lines
    covariance: Floats | None,  # shape (D, D): between the lines, if the kernel is given
    previous: Fit | None,  # where to start; without it the result follows from the data alone
    total: int,  # number of measurements in the data
    number: int,  # most models that may represent the posterior
    widening: float = 1.0,  # of all standard deviations under these models
    sizes: Floats | None = None,  # of the lines' regions, as shares of the space: for laws of the noise
    offsets: OffsetGrid | None = None,  # what offsets add to the covariances of the data's lines
) -> Fit:
    """Compute the posterior over models, and return a few models that represent it."""
    families = frame.families(unknowns.wanted)
    if unknowns.given is not None:
        families = families[:1]
    laws = _by_law(unknowns, data, sizes)
    search = GridSearch(Evidence(data, unknowns, laws), frame, families, correlate, offsets)
    starts = () if previous is None else tuple(cell for cell in previous.best if search.law(cell) in laws)
    if offsets is not None:
        covariance = None  # it has to be searched for all the same
    with one_thread():
        if covariance is None and previous is None:
            climb = GridSearch(Evidence(data, unknowns), frame, families, correlate, offsets)
            starts = tuple(climb.hill_climb(climb.coarse(0)))
        if covariance is not None:
            heights, means = search.evidence([covariance] * len(laws), list(laws))
            cells = [(law * len(families), ()) for law in laws]
            search.posteriors.update(zip(cells, zip(heights, means, strict=True), strict=True))
        elif previous is not None and (not starts or total & (total - 1) == 0):  # at doublings, from all over
            search.expand_grid([*starts, *search.coarse(search.law(starts[0]) if starts else 0)])
        else:
            search.expand_grid(starts)
    return search.fit(total, number, widening)


def _by_law(unknowns: ModelSpec, data: StatsArrays, sizes: Floats | None) -> dict[int, UnderLaw]:
    """Return the data under each law of the noise that they can tell apart, by the law's number."""
    if sizes is None or not unknowns.laws[1:] or not differ(sizes[data.count > 0]):
        return {0: UnderLaw(data)}  # as if there were no other laws
    return {
        number: UnderLaw.of(data, law, relative_variances(law.name, sizes))
        for number, law in enumerate(unknowns.laws)
    }


def _std(values: Floats, weights: Floats) -> float:
    """Return the weighted standard deviation of a logarithm, including the width of a grid step."""
    middle = float(weights @ values)
    step = float(np.min(np.diff(np.unique(values)))) if len(values) > 1 else 0.0
    return math.sqrt(float(weights @ (values - middle) ** 2) + step**2 / 12)
