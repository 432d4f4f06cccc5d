"""What one reading could change: how the means of the smallest regions move with it, under every model.

Under one model they move along straight lines, so the answer changes exactly at the corners of the upper envelope.
Under several models the reading also changes the weights of these; there the corners are searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from zonal._types import Floats, Ints
from zonal.engine.policy import tie, views
from zonal.engine.state import State
from zonal.gp.posterior import GaussianBelief, Overlay
from zonal.kernels.feedback import footprints_of
from zonal.policies.base import ModelView, Rows, best, candidates
from zonal.policies.gain import log_gains
from zonal.policies.knowledge_gradient import compared
from zonal.spaces import Region
from zonal.tree import Tree

REACH, STEPS, HALVINGS = 5.0, 256, 60  # of a search: standard deviations, readings tried, and halvings between two
RULED_OUT = 2.0  # standard deviations of the difference from the best

Parts = list[tuple[float, int]]  # what a reading is of: slots with their factors


@dataclass(frozen=True)
class Piece:
    """Readings, as rewards, from `low` to `high`, for which something is the same: the best row, or a truth."""

    low: float
    high: float
    of: int


@dataclass(frozen=True)
class ReadingEffect:
    """A reading and some smallest regions under each of K models; rewards, absolute."""

    tree: Tree
    rows: Rows  # of the n regions
    tie: float
    weights: Floats  # (K,) of the models
    expected: Floats  # (K,) mean of the reading
    spread: Floats  # (K,) its standard deviation, noise included
    means: Floats  # (K, n) of the regions
    covariances: Floats  # (K, n) with the reading
    variances: Floats  # (K, n) of the regions
    answer: int  # the row with the highest mean now
    with_answer: Floats  # (K, n) covariances of the regions with the answer

    @property
    def moves(self) -> Floats:
        """How much the means move with a reading one unit higher, by model and region."""
        return np.asarray(self.covariances / self.spread[:, None] ** 2)

    def after(self, reading: float) -> tuple[Floats, Floats]:
        """Return the weights of the models and the means of the regions after a reading."""
        off = reading - self.expected
        with np.errstate(divide="ignore", invalid="ignore"):
            surprise = np.where(np.isfinite(self.spread), off / self.spread, 0.0)
            spread = np.where(np.isfinite(self.spread), self.spread, 1.0)
            logs = np.log(self.weights) - 0.5 * surprise**2 - np.log(spread)
        weights = np.exp(logs - logs.max())
        return weights / weights.sum(), self.means + self.moves * off[:, None]

    def best_after(self, reading: float) -> int:
        """Return the row with the highest mean after a reading."""
        weights, means = self.after(reading)
        return best(self.tree, self.rows, weights @ means, self.tie)

    def best_pieces(self) -> list[Piece]:
        """Return which row is the best after which readings, from the lowest reading on."""
        if len(self.weights) > 1:
            return self._searched(self.best_after)
        corners = self._corners()
        edges = [-math.inf, *corners, math.inf]
        pieces = []
        for low, high in pairwise(edges):
            pieces.append(Piece(low, high, self.best_after(_between(low, high, float(self.spread[0])))))
        return _joined(pieces)

    def _corners(self) -> list[float]:
        """Return where the upper envelope of the lines of one model has its corners."""
        slopes, heights, corners = self.moves[0], self.means[0], list[float]()
        if not np.isfinite(self.spread[0]):
            return corners
        flat = 1e-14 * float(np.abs(slopes).max())  # slopes that differ by less are the same but for rounding
        at = int(np.where(slopes <= slopes.min() + flat, heights, -np.inf).argmax())
        while True:
            steeper = slopes - slopes[at]
            later = steeper > flat
            if not later.any():
                return corners
            cross = np.where(later, (heights[at] - heights) / np.where(later, steeper, 1.0), np.inf)
            near = float(cross.min())
            at = int(np.where(cross <= near, slopes, -np.inf).argmax())  # of several at one point the steepest
            corners.append(near + float(self.expected[0]))

    def ruled_out_pieces(self) -> list[Piece]:
        """Return after which readings some region beats the answer by two standard deviations (1) or not (0)."""
        at = int((self.rows == self.answer).nonzero()[0][0])
        moved = self.covariances / self.spread[:, None]
        left = self.variances - moved**2
        shared = self.with_answer - moved * moved[:, [at]]

        def ruled_out(reading: float) -> int:
            weights, means = self.after(reading)
            apart = means - means[:, [at]]
            ahead = weights @ apart
            variance = weights @ (left + left[:, [at]] - 2 * shared + (apart - ahead) ** 2)
            return int((ahead > RULED_OUT * np.sqrt(np.maximum(variance, 0.0)) + self.tie).any())

        return self._searched(ruled_out)

    def _searched(self, of: Callable[[float], int]) -> list[Piece]:
        """Return the pieces of a function of the reading, found on a grid and by halving."""
        is_uncertain = np.isfinite(self.spread)
        if not is_uncertain.any():
            return [Piece(-math.inf, math.inf, of(float(self.expected[0])))]
        low = float((self.expected - REACH * self.spread)[is_uncertain].min())
        high = float((self.expected + REACH * self.spread)[is_uncertain].max())
        grid = np.linspace(low, high, STEPS + 1).tolist()
        truths = [of(reading) for reading in grid]
        pieces, start = [], -math.inf
        for left, right, first, second in zip(grid, grid[1:], truths, truths[1:], strict=False):
            if first == second:
                continue
            for _ in range(HALVINGS):
                middle = (left + right) / 2
                left, right = (middle, right) if of(middle) == first else (left, middle)
            pieces.append(Piece(start, right, first))
            start = right
        return _joined([*pieces, Piece(start, math.inf, truths[-1])])

    def probability(self, piece: Piece) -> float:
        """Return the probability of a reading in a piece."""
        from scipy.special import ndtr

        with np.errstate(invalid="ignore"):
            high, low = ((edge - self.expected) / self.spread for edge in (piece.high, piece.low))
        chance = np.where(np.isfinite(self.spread), ndtr(high) - ndtr(low), piece.low == -math.inf)
        return float(self.weights @ chance)

    def log_gain(self) -> float:
        """Return the log of the gain: by how much the best mean is expected to rise."""
        logs = log_gains(self.means, self.covariances / self.spread[:, None])
        return float(np.logaddexp.reduce(logs + np.log(self.weights)))


def _between(low: float, high: float, spread: float) -> float:
    step = spread if math.isfinite(spread) else 1.0
    if math.isinf(low) and math.isinf(high):
        return 0.0
    if math.isinf(low) or math.isinf(high):
        return high - step if math.isinf(low) else low + step
    return (low + high) / 2


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Return pieces of which neighbours differ."""
    joined = pieces[:1]
    for piece in pieces[1:]:
        if piece.of == joined[-1].of:
            joined[-1] = Piece(joined[-1].low, piece.high, piece.of)
        else:
            joined.append(piece)
    return joined


def of_row(state: State, row: int, time: float = 1.0, pending: bool = False) -> ReadingEffect:
    """Return the effect of the next reading of a node; `pending` if trials pending count as measured."""
    expected, slot = state.expected_difference(row), state.measured_slot(row)
    weight = time / state.created.time
    if expected is not None:
        parts = [(1.0, slot), (-1.0, expected.reference)]
        return _effect(state, parts, expected.variance / weight, weight, pending)
    variance, weight = state.problem.noise.of_reward(state.noise_of_row(row), None, weight)
    return _effect(state, [(1.0, slot)], variance, weight, pending)


def of_region(state: State, region: Region, pending: bool = True) -> ReadingEffect:
    """Return the effect of a reading of any region, as the study's feedback sees it."""
    slot, seen, noise = state.find_slot(region), state, state.problem.noise
    variance, weight = noise.of_reward(noise.for_time(noise.of_region(region), state.created.time), None)
    likelihood = state.problem.settings.likelihood
    if likelihood is not None and variance is not None:  # its noise follows from its rate
        centred, _ = state.belief.predict(footprints_of([region], state.problem.target))
        rate = state.problem.sign * (state.prior_mean + centred)
        variance = float(likelihood.std(rate, np.array([1 / variance]))[0]) ** 2
    if slot is None:
        slot, seen = state.tracked.size, state.draft()
        keys = state.tracked.layout.keys(footprints_of([region], state.problem.target), register=False)
        seen.posterior = state.posterior.with_targets(keys, 1.0)
    return _effect(seen, [(1.0, slot)], variance, weight, pending)


def _effect(state: State, parts: Parts, variance: float | None, weight: float, pending: bool) -> ReadingEffect:
    belief, zero = state.belief, state.belief.zero
    models: list[ModelView] = views(state, pending=pending)
    members: Sequence[GaussianBelief | Overlay] = state.overlay().members if pending else belief.members
    tree, close = state.policy_table() if pending else state.posterior_table(), tie(state)
    rows = compared(tree, models, close) if pending else candidates(tree)
    slots: Ints = state.structure.slot[rows]
    factors, of_parts = np.array([factor for factor, _ in parts]), np.array([slot for _, slot in parts])
    mixed = np.sum([view.weight * view.mean[rows] for view in models], axis=0)
    answer = best(tree, rows, mixed, close)
    expected, spread, means, covariances, with_answer = [], [], [], [], []
    for member, seen, view in zip(belief.members, members, models, strict=True):
        total = float(factors @ np.broadcast_to(member.tracked.totals(of_parts), factors.shape))
        expected.append(float(factors @ member.mean[of_parts]) + member.model.mean * total)
        between = seen.variance[of_parts] if len(parts) == 1 else seen.covariance(of_parts)
        variance_of_f = float(between[0]) if len(parts) == 1 else float(factors @ between @ factors)
        whole = max(variance_of_f, 0.0) + member.noise_variance(variance, weight)
        is_known = whole <= 1e-12 * float(member.prior[of_parts].max())
        spread.append(math.inf if is_known else math.sqrt(whole))
        means.append(view.mean[rows] + zero)
        covariances.append(factors @ seen.covariance(of_parts, slots))
        with_answer.append(seen.covariance(state.structure.slot[[answer]], slots)[0])
    return ReadingEffect(
        tree=tree,
        rows=rows,
        tie=close,
        weights=belief.weights,
        expected=np.array(expected),
        spread=np.array(spread),
        means=np.stack(means),
        covariances=np.stack(covariances),
        variances=np.stack([view.std[rows] ** 2 for view in models]),
        answer=answer,
        with_answer=np.stack(with_answer),
    )
