"""Posterior over models on a grid of hyperparameters, and a few models that represent it.

A single best model is not enough: a narrow peak may be noise, and with few measurements every parameter is
uncertain. Models differ in smoothness (a family of kernels), lengthscales (or correlations of symbols), noise and
variance, each on a grid of logarithms. For one family and one set of lengthscales, all noises and variances cost
one eigendecomposition: with rows scaled by the root of their counts the covariance is ``v (R + tau I)``, and every
v and tau is a sum over the eigenvalues of R. For large R a tridiagonal matrix takes their place, and one R at a
time is in memory. The prior mean is integrated out. Lengthscales are tried from the
best outwards, as long as they have weight, starting where the last fit ended.

This module knows covariances, rewards and kernels; it must not know regions, trees or policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from zonal._blas import eigh, one_thread
from zonal._types import Floats
from zonal.gp.kernel_families import Family, ModelSpace, kernel_from
from zonal.gp.model import (
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
from zonal.gp.offsets import MIDDLE, UNRELATED, OffsetGrid
from zonal.gp.stats import StatsArrays
from zonal.gp.tridiagonal import quadratic_forms

Steps = tuple[int, ...]  # lengthscales, or correlations, in grid steps from the prior's median; levels of offsets
Cell = tuple[int, Steps]  # a family and its steps
Correlate = Callable[[Family, Floats], Floats]  # (family, a lengthscale or correlation per axis) -> correlations

STEP = 0.35  # of the logarithm of a lengthscale
STEP_OF_ODDS = 0.5
RATIOS = np.exp(np.linspace(math.log(0.02), math.log(8.0), 14))  # of noise to the std of f
VARIANCES = np.exp(np.linspace(-3.5, 3.5, 15))  # of f, in units of the rewards' variance
NOISES = np.exp(np.linspace(math.log(0.005), math.log(4.0), 12))  # in rewards' stds, if some are known
FINE = np.exp(np.linspace(math.log(1e-3), math.log(1e2), 48))  # used where only noise or only variance is unknown
LIKELY = 0.05  # of the best cell's weight: cells above it have their neighbours tried
MOST_TRIED = 48  # cells per fit
MOST_ALONE = 32  # axes or features that each get a lengthscale of their own; of more, all have the same
KEPT = 4  # cells from which the next fit starts
TRIDIAGONAL = 160  # lines from which eigenvectors take longer than a tridiagonal matrix


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


class Evidence:
    """Log posterior of every noise and variance on the grid, for one family and set of lengthscales at a time."""

    def __init__(self, data: StatsArrays, unknowns: ModelSpec) -> None:
        self.shift, self.scale = standardize(data, unknowns.mean)
        self.unknowns, self._data = unknowns, data
        given = unknowns.given is not None
        known_variance = np.maximum(data.variance / self.scale**2, 1e-10)
        open_ = data.count > 0
        # If all noise is learned, its grid is of ratios to v; if some is known, of absolute values.
        self._by_ratio = unknowns.noise and bool(open_.all())
        self._open = int(np.count_nonzero(open_)) if unknowns.noise else 0
        if self._by_ratio:
            self._roots = np.sqrt(data.count)[None]
            self.tau = FINE**2 if given else RATIOS**2
        else:
            self.tau = NOISES**2 if unknowns.noise else np.ones(1)
            noise_variance = self.tau[:, None] if self._open else self.tau[:1, None]  # else it has no effect
            self._roots = 1 / np.sqrt(np.where(open_, noise_variance / data.counted, known_variance))
        self.v = np.ones(1) if given else VARIANCES if unknowns.noise else FINE
        self._residual = (data.mean - self.shift * data.total) / self.scale
        self._noise_variances: Floats = self.tau[:, None] * (self.v if self._by_ratio else np.ones(len(self.v)))

    def __call__(self, correlations: Iterable[Floats]) -> tuple[Floats, Floats]:
        """Return log posteriors and best prior means, shapes (cells, noises, variances).

        Correlations, each of shape (D, D), are between the lines of the data; covariances if the kernel is given.
        """
        if len(self._residual) < TRIDIAGONAL:
            heights, means = self._of(np.stack(list(correlations)))
        else:  # one at a time in memory
            cells = [self._of(matrix[None]) for matrix in correlations]
            heights, means = (np.concatenate(part) for part in zip(*cells, strict=True))
        heights = heights + self._prior()
        return heights, np.broadcast_to(means, heights.shape)

    def _of(self, correlations: Floats) -> tuple[Floats, Floats]:
        """Return log likelihoods and best prior means of stacked matrices."""
        parts = [self._likelihood(correlations, roots) for roots in self._roots]
        heights, means = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return heights, means

    def _likelihood(self, correlations: Floats, roots: Floats) -> tuple[Floats, Floats]:
        """Return log likelihoods, and best prior means, for rows scaled by `roots`."""
        unit = 1.0 if self.unknowns.given is None else self.scale**2
        scaled = correlations * (roots[:, None] * roots / unit)
        vectors = np.stack([roots * self._residual, roots * self._data.total])
        # Rows have noise variance v tau if all noise is learned, else 1. Either way v or tau is a common factor,
        # so sums over the rows are needed for the other one only.
        logs, squares = self._sums(scaled, vectors)
        factor = self.v if self._by_ratio else np.ones(1)

        def spread(by_other: Floats) -> Floats:
            return by_other[:, :, None] / factor if self._by_ratio else by_other[:, None, :]

        log_det = logs[:, :, None] + len(roots) * np.log(factor) if self._by_ratio else logs[:, None, :]
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

        `vectors` are y and 1, the rewards and their total weights; shapes are (cells, noises or variances).
        """
        if len(self._residual) >= TRIDIAGONAL:
            others = self.tau if self._by_ratio else self.v
            same = np.ones(len(others))
            scales, shifts = (same, others) if self._by_ratio else (others, same)
            (matrix,) = scaled
            by_rows = quadratic_forms(matrix, vectors.T, scales.tolist(), shifts.tolist())
            if by_rows is not None:
                logs, forms = by_rows
                return logs[None], (forms[None, :, 0, 0], forms[None, :, 0, 1], forms[None, :, 1, 1])
        values, rotations = eigh(scaled)
        values = np.maximum(values, 0.0)[:, None, :]
        y, unit_mean = ((part @ rotations)[:, None, :] for part in vectors)
        total = values + self.tau[:, None] if self._by_ratio else self.v[:, None] * values + 1.0
        inverse = 1 / total
        squares = [np.sum(product * inverse, axis=-1) for product in (y * y, y * unit_mean, unit_mean * unit_mean)]
        return np.sum(np.log(total), axis=-1), squares

    def _prior(self) -> Floats:
        """Return log priors of noises and variances, and the likelihood of the scatter within lines."""
        v = self.v
        log_prior = np.zeros((len(self.tau), len(v)))
        if self.unknowns.noise:
            s2, scatter = self._noise_variances, self._data.scatter / self.scale**2
            log_prior -= 0.5 * ((0.5 * np.log(s2) - math.log(NOISE_PRIOR[0])) / NOISE_PRIOR[1]) ** 2
            scaled_by_noise = 0 if self._by_ratio else self._open  # lines whose rows were divided by the noise
            log_prior -= 0.5 * ((self._data.extra + scaled_by_noise) * np.log(s2) + scatter / s2)
        if self.unknowns.given is None:
            log_prior -= 0.5 * ((np.log(v) - math.log(VARIANCE_PRIOR[0])) / VARIANCE_PRIOR[1]) ** 2
        return np.asarray(log_prior)

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
        self._evidence, self._frame, self._families, self._correlate = evidence, frame, families, correlate
        self._offsets = offsets  # their levels are the last steps of a cell
        self._levels = () if offsets is None else offsets.spec.levels
        self._d = len(frame.symbols) if evidence.unknowns.given is None else 0  # steps that are not levels
        self._plain: dict[tuple[int, Steps], Floats] = {}  # correlations without offsets
        self._symbols = symbols = np.array(frame.symbols[: self._d], dtype=bool)
        self.steps = np.where(symbols, STEP_OF_ODDS, STEP)
        ends = zip(BOUNDS["correlation"], BOUNDS["lengthscale"], strict=True)
        low, high = (np.log(np.where(symbols, odds, scale / LENGTHSCALE_PRIOR[0])) for odds, scale in ends)
        lowest, highest = np.ceil(low / self.steps - 1e-9), np.floor(high / self.steps + 1e-9)
        self._bounds = list(zip(lowest.tolist(), highest.tolist(), strict=True))
        self._bounds += [(0.0, number - 1.0) for number in self._levels]
        self.posteriors: dict[Cell, tuple[Floats, Floats]] = {}
        self.height: dict[Cell, float] = {}

    @cached_property
    def _precision(self) -> Floats:
        """Of the prior of the logarithms; with a given kernel nobody asks for it, nor for the moves."""
        symbols = self._symbols
        covariance = np.diag(np.where(symbols, CORRELATION_PRIOR[1], LENGTHSCALE_PRIOR[1]) ** 2)
        covariance[np.ix_(symbols, symbols)] += CORRELATION_PRIOR[0] ** 2
        return np.linalg.inv(covariance)

    @cached_property
    def _moves(self) -> list[Steps]:
        """The steps to the cells next to one: along all axes together, and along each if not too many."""
        d = len(self._symbols)
        alone = np.eye(d, dtype=int).tolist() if d <= MOST_ALONE else ()
        ahead = dict.fromkeys([(1,) * d, *map(tuple, alone)] if d else [])
        none, levels = (0,) * len(self._levels), np.eye(len(self._levels), dtype=int).tolist()
        every = [*(move + none for move in ahead), *((0,) * d + tuple(level) for level in levels)]
        return [tuple(sign * step for step in move) for move in every for sign in (1, -1)]

    def axes(self, steps: ArrayLike) -> Floats:
        """Return lengthscales in the units of the axes, and correlations, for some steps along the last axis."""
        logs = self.steps * np.asarray(steps)[..., : self._d]
        lengths = LENGTHSCALE_PRIOR[0] * np.exp(logs) * self._frame.sides[: self._d]
        return np.asarray(np.where(self._symbols, 1 / (1 + np.exp(-logs)), lengths))

    def evaluate(self, cells: Iterable[Cell]) -> None:
        """Compute the posterior of cells within bounds that were not visited yet."""
        fresh = [cell for cell in dict.fromkeys(cells) if cell not in self.posteriors and self._within(cell[1])]
        if not fresh:
            return
        steps = np.array([steps for _, steps in fresh])[:, : self._d]
        families, priors = zip(*[self._families[family] for family, _ in fresh], strict=True)
        parameters = zip(families, self.axes(steps), strict=True)
        if self._offsets is None:
            heights, means = self._evidence(self._correlate(family, axes) for family, axes in parameters)
        else:
            heights, means = self._evidence(map(self._shifted, fresh, families, self.axes(steps)))
            priors = tuple(
                prior + self._offsets.spec.log_prior(cell[self._d :])
                for prior, (_, cell) in zip(priors, fresh, strict=True)
            )
        logs = self.steps * steps
        heights += (np.array(priors) - 0.5 * np.add.reduce(logs @ self._precision * logs, 1))[:, None, None]
        tops = heights.max(axis=(1, 2))
        weights = np.exp(heights - tops[:, None, None]).sum(axis=(1, 2))
        self.posteriors.update(zip(fresh, zip(heights, means, strict=True), strict=True))
        self.height.update(zip(fresh, (tops + np.log(weights)).tolist(), strict=True))

    def _shifted(self, cell: Cell, family: Family, axes: Floats) -> Floats:
        """Return the correlations of a cell with its offsets; those without are kept if there are few lines."""
        assert self._offsets is not None
        name = cell[0], cell[1][: self._d]
        plain = self._plain.get(name)
        if plain is None:
            plain = self._correlate(family, axes)
            if len(plain) < TRIDIAGONAL:
                self._plain[name] = plain
        return self._offsets.shifted(plain, cell[1][self._d :], self._evidence.offset_unit)

    def _within(self, steps: Steps) -> bool:
        return all(low <= step <= high for step, (low, high) in zip(steps, self._bounds, strict=True))

    def neighbours(self, cell: Cell) -> list[Cell]:
        """Return the cells next to one: all axes moved together, one axis moved, and the other families."""
        family, steps = cell
        cells = [(family, tuple(a + b for a, b in zip(steps, move, strict=True))) for move in self._moves]
        cells += [(other, steps) for other in range(len(self._families)) if other != family]
        at = None if self._offsets is None else self._offsets.spec.source
        if at is not None:  # a source may measure another function whatever its offset
            at += self._d
            others = (0, MIDDLE) if steps[at] == UNRELATED else (UNRELATED,)
            cells += [(family, (*steps[:at], level, *steps[at + 1 :])) for level in others]
        return cells

    def hill_climb(self, cells: Iterable[Cell]) -> list[Cell]:
        """Climb from the best of some cells to a local maximum; return only the best cells visited."""
        self.evaluate(cells)
        top, best = None, self._ranked()
        while best[0] != top:
            top = best[0]
            self.evaluate(self.neighbours(top))
            best = self._ranked()
        self.posteriors, self.height = {}, {}
        return best[:KEPT]

    def _ranked(self) -> list[Cell]:
        """Return the cells visited so far, the most probable first; values are rounded so that ties stay ties."""
        return sorted(self.height, key=lambda cell: (-round(self.height[cell], 6), cell))

    def expand_grid(self, starts: Iterable[Cell]) -> None:
        """Visit the starts, and then the neighbours of every cell with enough weight."""
        self.evaluate(starts)
        expanded: set[Cell] = set()
        while len(self.posteriors) < MOST_TRIED:
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
        evidence, cells = self._evidence, sorted(self.posteriors, key=lambda cell: (sum(cell[1]), cell))
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
                family, variance = self._families[cell[0]][0], variance * evidence.scale**2
                kernel = kernel_from(family, variance, self.axes(cell[1]), self._frame.symbols)
            return Model(kernel, noise if evidence.unknowns.noise else None, mean, spread, total)

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
        likeliest = sorted(range(len(cells)), key=lambda i: (-round(float(by_cell[i]), 9), cells[i]))[:KEPT]
        central = model(*self._middle(cells, by_cell, weights), float(np.sum(weights * offsets)))
        best = tuple(cells[i] for i in likeliest) if evidence.unknowns.given is None else ()
        if self._offsets is not None:
            sizes = np.array([option.model.offsets for option in members]) ** 2
            shares = [option.weight for option in members]
            central = replace(central, offsets=tuple(np.sqrt(shares @ sizes).tolist()))
        return Fit(central, tuple(members), best)

    def _middle(
        self, cells: list[Cell], by_cell: Floats, weights: Floats
    ) -> tuple[tuple[int, Floats], float, float, dict[str, float]]:
        """Return the most probable family with means of its log-parameters, and their standard deviations."""
        log_noise, log_v = np.log(self._evidence.noises()), np.log(self._evidence.v)
        families = np.array([cell[0] for cell in cells])
        family = int(np.bincount(families, by_cell).argmax())
        shares = np.where(families == family, by_cell, 0.0)
        shares /= shares.sum()
        steps = np.array([cell[1][: self._d] for cell in cells], dtype=float).reshape(len(cells), -1)
        middle, spread = shares @ steps, dict[str, float]()
        if self._evidence.unknowns.given is None:
            spread["variance"] = _std(log_v, weights.sum(axis=(0, 1)))
            for j, (symbol, step) in enumerate(zip(self._frame.symbols, self.steps.tolist(), strict=True)):
                name = f"{'correlation' if symbol else 'lengthscale'} {j}"
                spread[name] = step * math.sqrt(float(shares @ (steps[:, j] - middle[j]) ** 2) + 1 / 12)
        by_noise = weights.sum(axis=0)
        if self._evidence.unknowns.noise:
            spread["noise"] = _std(log_noise.ravel(), by_noise.ravel())
        noise, variance = math.exp(float(np.sum(by_noise * log_noise))), math.exp(float(np.sum(weights @ log_v)))
        return (family, middle), noise, variance, spread


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
    offsets: OffsetGrid | None = None,  # what offsets add to the covariances of the data's lines
) -> Fit:
    """Compute the posterior over models, and return a few models that represent it."""
    evidence, families = Evidence(data, unknowns), frame.families(unknowns.wanted)
    search = GridSearch(evidence, frame, families, correlate, offsets)
    everywhere = [(family, (k,) * len(frame.symbols)) for family in range(len(families)) for k in range(-9, 7, 2)]
    if offsets is not None:
        starts = [(level,) * offsets.spec.number for level in (0, MIDDLE)]
        plain = [(0, ())] if covariance is not None else everywhere
        everywhere = [(family, steps + levels) for levels in starts for family, steps in plain]
    with one_thread():
        if covariance is not None and offsets is None:
            heights, means = evidence([covariance])
            search.posteriors[0, ()] = heights[0], means[0]
        elif previous is None:
            search.expand_grid(search.hill_climb(everywhere))
        else:
            again = not previous.best or total & (total - 1) == 0  # at doublings, restart from the coarse grid
            search.expand_grid([*previous.best, *everywhere] if again else previous.best)
    return search.fit(total, number, widening)


def _std(values: Floats, weights: Floats) -> float:
    """Return the weighted standard deviation of a logarithm, including the width of a grid step."""
    middle = float(weights @ values)
    step = float(np.min(np.diff(np.unique(values)))) if len(values) > 1 else 0.0
    return math.sqrt(float(weights @ (values - middle) ** 2) + step**2 / 12)
