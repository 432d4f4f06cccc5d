"""Gaussian sites: what readings that are not Gaussian say of their averages, by expectation propagation.

A site is a Gaussian factor that takes the place of a likelihood: with what all other readings say of the average
(the cavity) it gives the mean and the variance that the likelihood itself gives. Sites depend on each other
through the posterior, so they are computed in turns until they hold. All likelihoods here are log-concave, so that
every site has a positive variance.

This module knows covariances, rewards and likelihoods; it must not know regions, trees or events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from zonal._blas import one_thread
from zonal._types import Floats
from zonal.gp.functional_index import FunctionalIndex
from zonal.gp.hyperparameters import WeightedModel
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.likelihoods import Likelihood, Limit
from zonal.gp.offsets import WithOffsets
from zonal.gp.posterior import Covariance
from zonal.gp.stats import Reward

GRID, ZOOMS = 65, 6  # points of a grid that is narrowed, and how often, until it covers what has weight
NODES = 64  # at which a likelihood times a Gaussian is integrated there
NEGLIGIBLE = -34.0  # of the logarithm of the highest density: nothing beyond has weight
VAGUE = 1e8  # times what is known without the reading: the variance of a site that says nothing
LEAST_SHARE = 0.5  # of the information that a count is expected to have: what it has at least
TURNS, DAMPING, STEADY = 40, 0.7, 1e-7  # of expectation propagation: how often, how far, and when it is done
NEARLY_EXACT = 1e-10  # of the prior variance: the least noise of a reward
ROOT = np.sqrt(2 / np.pi)


class Factor(NamedTuple):
    """The likelihood of a reading of one slot, in the direction of rewards."""

    slot: int
    value: float  # the count as read; or the limit, as a reward
    limit: Limit  # on which side of it the reward lies; "" for counts
    spread: float  # exposure of a count; of a limit, the variance of the noise


class Moments(NamedTuple):
    """Means and variances."""

    mean: Floats
    variance: Floats


def sites(readings: Sequence[Factor], cavity: Moments, likelihood: Likelihood | None, sign: float) -> Moments:
    """Return the sites of readings, given what else is known of their averages.

    `sign` is -1 where rewards are the negatives of what is read.
    """
    mean, variance = np.array(cavity.mean, dtype=float), np.array(cavity.variance, dtype=float)
    found_mean, found_variance = np.empty_like(mean), np.empty_like(variance)
    limited = np.array([bool(reading.limit) for reading in readings])
    values, spreads = np.array([(reading.value, reading.spread) for reading in readings]).reshape(-1, 2).T
    if limited.any():
        below = np.array([1.0 if reading.limit == "below" else -1.0 for reading in readings])[limited]
        part = Moments(mean[limited], variance[limited])
        found_mean[limited], found_variance[limited] = _beyond(values[limited], below, spreads[limited], part)
    if not limited.all():
        assert likelihood is not None
        counted = ~limited
        part = Moments(sign * mean[counted], variance[counted])
        tilted = _tilted(likelihood, values[counted], spreads[counted], part)
        noise = likelihood.std(tilted.mean, spreads[counted])
        of_rate = _divided(tilted, part, noise)
        found_mean[counted], found_variance[counted] = sign * of_rate.mean, of_rate.variance
    return Moments(found_mean, found_variance)


def _beyond(limit: Floats, below: Floats, noise: Floats, cavity: Moments) -> Moments:
    """Return the sites of readings below (1) or above (-1) a limit, with noise of some variance."""
    total = np.sqrt(cavity.variance + noise)
    z = below * (limit - cavity.mean) / total
    hazard = ROOT / special.erfcx(-z / np.sqrt(2))  # phi(z) / Phi(z)
    slope = hazard * (hazard + z)  # 0 to 1: how much of the variance of the reading the limit takes away
    left = np.maximum(slope, 1 / VAGUE)
    # What is left is total^2 / slope - cavity variance, both about the average.
    variance = np.maximum(total**2 / left - cavity.variance, cavity.variance * NEARLY_EXACT)
    return Moments(cavity.mean - below * total / (hazard + z), variance)


def _divided(tilted: Moments, cavity: Moments, noise: Floats) -> Moments:
    """Return the Gaussians that turn cavities into other moments, given the noise expected of the readings.

    A count far below its rate says hardly more than "lower": its own Gaussian would lie anywhere. So a reading has
    at least a share of the information that it is expected to have, and its Gaussian lies near what was read.
    """
    precision = np.maximum(1 / tilted.variance - 1 / cavity.variance, LEAST_SHARE / noise**2)
    return Moments(tilted.mean + (tilted.mean - cavity.mean) / (cavity.variance * precision), 1 / precision)


def _tilted(likelihood: Likelihood, values: Floats, exposures: Floats, cavity: Moments) -> Moments:
    """Return the moments of a Gaussian times the likelihoods of readings, by quadrature where it has weight."""
    estimates = np.array([likelihood.start(*pair) for pair in zip(values, exposures, strict=True)]).T
    reach = 12 * np.sqrt(cavity.variance)
    low, high = likelihood.range
    start = np.clip(np.minimum(cavity.mean - reach, estimates[0]), low, high)
    wide = np.maximum(cavity.mean + reach, estimates[0] + 40 * np.sqrt(estimates[1]) + 40 / exposures)
    end = np.clip(wide, low, high)
    steps, rows = np.linspace(0.0, 1.0, GRID), np.arange(len(values))
    for _ in range(ZOOMS):
        grid = start[:, None] + (end - start)[:, None] * steps
        log = _log_density(likelihood, values, exposures, cavity, grid)
        inside = log > log.max(axis=1, keepdims=True) + NEGLIGIBLE
        first = np.maximum(inside.argmax(axis=1) - 1, 0)
        last = np.minimum(GRID - inside[:, ::-1].argmax(axis=1), GRID - 1)
        start, end = grid[rows, first], grid[rows, last]
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    grid = start[:, None] + (end - start)[:, None] * (nodes + 1) / 2
    log = _log_density(likelihood, values, exposures, cavity, grid)
    weights = shares * np.exp(log - log.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = (weights * grid).sum(axis=1)
    return Moments(mean, (weights * (grid - mean[:, None]) ** 2).sum(axis=1))


def _log_density(
    likelihood: Likelihood, values: Floats, exposures: Floats, cavity: Moments, rates: Floats
) -> Floats:
    """Return the log of Gaussians times likelihoods, up to constants, at rates of shape (readings, points)."""
    off = rates - cavity.mean[:, None]
    return (
        likelihood.log_density(values[:, None], exposures[:, None], rates)
        - 0.5 * off**2 / cavity.variance[:, None]
    )


class Rewards(NamedTuple):
    """Everything that is known of some averages: rewards with Gaussian noise, and readings with their sites."""

    slots: Sequence[int]  # of the rewards
    rewards: Sequence[Reward]
    readings: Sequence[Factor]
    sites: Moments  # to start from


def refreshed(
    frame: ModelSpace,
    models: Sequence[WeightedModel],
    tracked: FunctionalIndex,
    data: Rewards,
    likelihood: Likelihood | None,
    sign: float,
) -> Moments:
    """Return the sites of all readings under some weighted models, given all other rewards."""
    slots = sorted({*data.slots, *(reading.slot for reading in data.readings)})
    row_of = {slot: row for row, slot in enumerate(slots)}
    at = np.array([row_of[reading.slot] for reading in data.readings])
    keys = tracked.keys.take(slots, axis=1)
    totals = tracked.totals(np.array(slots)) * np.ones(len(slots))
    pairs = tracked.between(np.array(slots), np.array(slots)) if tracked.labels else frame.layout.pairs(keys, keys)
    posteriors = [_Posterior(frame, weighted, pairs, totals, row_of, data) for weighted in models]
    weights = np.array([weighted.weight for weighted in models])
    mean, precision = data.sites.mean, 1 / data.sites.variance
    with one_thread():
        for _ in range(TURNS):
            cavity = _mixed(weights, [posterior.cavities(at, mean, precision) for posterior in posteriors])
            wanted = sites(data.readings, cavity, likelihood, sign)
            shift = precision * mean + DAMPING * (wanted.mean / wanted.variance - precision * mean)
            step = DAMPING * (1 / wanted.variance - precision)
            precision = precision + step
            moved = np.abs(shift / precision - mean) * np.sqrt(1 / (cavity.variance + wanted.variance))
            mean = shift / precision
            if max(moved.max(), np.max(np.abs(step) / precision)) < STEADY:
                break
    return Moments(mean, 1 / precision)


class _Posterior:
    """What rewards with Gaussian noise and sites say of the averages they are of, under one model."""

    def __init__(
        self,
        frame: ModelSpace,
        weighted: WeightedModel,
        pairs: object,
        totals: Floats,
        row_of: dict[int, int],
        data: Rewards,
    ) -> None:
        model = weighted.model
        covariance: Covariance = frame.covariance(model.kernel)
        if model.offsets:
            covariance = WithOffsets(covariance, covariance, model.offsets, model.unrelated)
        prior = covariance.of(pairs)
        prior = (prior + prior.T) / 2 + model.mean_std**2 * np.outer(totals, totals)
        self._prior, self._mean = prior, model.mean * totals
        least = NEARLY_EXACT * prior.diagonal()
        self._precision, self._shift = np.zeros(len(prior)), np.zeros(len(prior))
        for slot, (reward, variance, weight, _) in zip(data.slots, data.rewards, strict=True):
            row = row_of[slot]
            noise = (model.noise or 0.0) ** 2 / weight if variance is None else variance
            self._precision[row] += 1 / max(noise, least[row])
            self._shift[row] += (reward - self._mean[row]) / max(noise, least[row])

    def cavities(self, at: np.ndarray, mean: Floats, precision: Floats) -> Moments:
        """Return what is known of the average of each reading without that reading's site."""
        total, shift = self._precision.copy(), self._shift.copy()
        np.add.at(total, at, precision)
        np.add.at(shift, at, precision * (mean - self._mean[at]))
        # Covariance K - K S (1 + S K S)^-1 S K, S the roots of the precisions: stable for any of them.
        roots = np.sqrt(total)
        factor = np.linalg.cholesky(np.eye(len(roots)) + roots[:, None] * self._prior * roots)
        solved = np.linalg.solve(factor, roots[:, None] * self._prior)
        covariance = self._prior - solved.T @ solved
        centred = covariance @ shift
        variance = np.maximum(covariance.diagonal()[at], NEARLY_EXACT * self._prior.diagonal()[at])
        left = np.maximum(1 / variance - precision, 1 / (VAGUE * self._prior.diagonal()[at]))
        moved = centred[at] / variance - precision * (mean - self._mean[at])
        return Moments(self._mean[at] + moved / left, 1 / left)


def _mixed(weights: Floats, parts: Sequence[Moments]) -> Moments:
    """Return mean and variance of mixtures."""
    means = np.stack([part.mean for part in parts])
    mean = weights @ means
    return Moments(mean, weights @ (np.stack([part.variance for part in parts]) + (means - mean) ** 2))
