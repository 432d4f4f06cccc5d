"""Noise that grows with the value, as that of affinities: what it leaves open of a belief that does not know it.

Models are learned, and trials chosen, as if noise did not depend on the value. What is stated of an answer asks
whether repeats, and what the others say of each region, look as if noise were a share of the value: of that of
the whole space at least, so that it never vanishes. The means stay; their variances become those that readings of
these weights have under the larger noise.

This module knows beliefs and rewards; it must not know regions or trees.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import lapack
from scipy.special import expit, logit, logsumexp

from zonal._types import Floats, Ints
from zonal.gp.functional_index import FunctionalIndex
from zonal.gp.model_average import Member, Mixture
from zonal.gp.stats import StatsArrays
from zonal.kernels.feedback import AnyFootprints

SCALES = 2.0 ** np.linspace(-3, 3, 13)  # of the noise learned as if it were constant
PRIOR = 0.5  # probability that noise grows with the value, where all values are positive
LEAST = 0.05  # probability below which nothing changes
MOST = 512  # regions: with more of them, the readings of each count less


class Grown(NamedTuple):
    """A belief that knows of noise that grows with the value, and how probable such noise is."""

    mixture: Mixture
    probability: float


class WithMoreNoise(Member):
    """The belief under one model, some of whose rows have more noise than they were weighed by.

    With W the rows' weights and D the variances beyond those they were weighed by, covariances grow by W D W'.
    """

    _more: Floats  # roots of D

    @classmethod
    def of(cls, member: Member, more: Floats) -> WithMoreNoise:
        """Return a factorised belief whose rows have `more` noise, as variances."""
        after = object.__new__(cls)
        after.__dict__ = {**vars(member), "_more": np.sqrt(more)}
        return after

    def with_columns(self) -> Self:
        """Return a factorised belief with what it says about every tracked footprint."""
        after = super().with_columns()
        after.variance = after.variance + self._added(after._V.array[: after.rows, : after.mean.size])
        return after

    def with_targets(self, tracked: FunctionalIndex, briefly: bool = False) -> Self:
        """Return the belief that tracks more footprints too; `briefly` if it will be asked about these alone."""
        after, start = super().with_targets(tracked, briefly), self.mean.size
        after.variance[start:] += self._added(after._V.array[: after.rows, start : after.mean.size])
        return after

    def covariance(self, slots: Ints, others: Ints | None = None) -> Floats:
        """Return the posterior covariance of some tracked footprints with others, or with each other."""
        columns = self._V.array[: self.rows]
        left = self._passed_on(columns.take(slots, axis=1))
        right = left if others is None else self._passed_on(columns.take(others, axis=1))
        return super().covariance(slots, others) + left.T @ right

    def predict(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Return mean and variance of footprints that need not be tracked."""
        mean, variance = super().predict(footprints)
        return mean, variance + np.add.reduce((self._more[:, None] * self.row_weights(footprints)) ** 2, 0)

    def _added(self, columns: Floats) -> Floats:
        return np.asarray(np.add.reduce(self._passed_on(columns) ** 2, 0))

    def _passed_on(self, columns: Floats) -> Floats:
        """Return what one std of each row's further noise does to the means of some columns of V."""
        weights, info = lapack.dtrtrs(self._L.array[:, : self.rows], columns, lower=1, trans=1)
        assert info == 0, info
        return np.asarray(self._more[:, None] * weights)


def with_growing_noise(mixture: Mixture, data: StatsArrays, values: Floats) -> Grown | None:
    """Return the belief under noise that may grow with the value; None if that is improbable, or cannot be told.

    `values` are those of the tracked footprints, by slot; the first is that of the whole space, and positive.
    """
    if not (data.count > 0).all() or not 0 < len(data.slots) <= MOST:  # some noise is known
        return None
    ratios = np.maximum(values / values[0], 1.0) ** 2  # of noise variances, by slot
    members = [member.rows_from(data) for member in mixture.members]
    same, grows = np.array([_heights(member, data, ratios) for member in members]).swapaxes(0, 1)
    factors = logsumexp(grows, axis=1) - logsumexp(same, axis=1)
    probability = float(expit(logit(PRIOR) + logsumexp(factors, b=mixture.weights)))
    if probability < LEAST:
        return None
    wider = []
    for member, of_same, of_grows in zip(members, same, grows, strict=True):
        # Against constant noise of its own scale, so that far from zero, where the two are one, nothing is added.
        excess = _variance(of_grows) * ratios[member.slots] - max(_variance(of_same), 1.0)
        wider.append(WithMoreNoise.of(member, probability * np.maximum(excess, 0.0) * member.noise_of_rows))
    return Grown(Mixture(wider, mixture.zero).with_columns(), probability)


def _variance(heights: Floats) -> float:
    """Return the posterior mean of the noise variance over the scales, relative to that learned."""
    return float(np.exp(heights - logsumexp(heights)) @ SCALES**2)


def _heights(member: Member, data: StatsArrays, ratios: Floats) -> Floats:
    """Return how probable repeats and residuals are on a log scale: if noise does not grow, and if it does.

    The shape is (2, scales). Residuals are those of regions left out, with the weights that readings have now.
    """
    misses, variances = member.left_out()
    assert data.numbers is not None
    assert data.scatters is not None
    repeats, noise = data.numbers - 1, member.noise_variances(np.ones(len(data.slots)), data.slots)
    heights = np.zeros((2, len(SCALES)))
    for i, of in enumerate((np.ones(len(ratios)), ratios)):
        for j, scale in enumerate((SCALES**2).tolist()):
            expected = variances + (scale * of[member.slots] - 1) * member.noise_of_rows
            of_repeats = scale * of[data.slots] * noise
            heights[i, j] -= 0.5 * float(np.sum(np.log(expected) + misses**2 / expected))
            heights[i, j] -= 0.5 * float(np.sum(repeats * np.log(of_repeats) + data.scatters / of_repeats))
    return heights
