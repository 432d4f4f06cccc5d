"""The empirical belief of StoOO: each footprint has its own rewards only, and no correlations.

With ``std = 1 / sqrt(T)`` after T rewards, AVE-StoOO's index and expansion test are GPOO's (docs/fidelity.md), so
one policy serves both. A footprint without rewards has an infinite std. Every reward counts the same, whatever its
noise. This module knows rewards only; it must not know kernels, regions or trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats
from zonal.errors import InvalidInput, NumericalWarning
from zonal.gp.functional_index import FunctionalIndex
from zonal.gp.model_average import Member
from zonal.gp.stats import ObservationStats
from zonal.kernels.feedback import AnyFootprints


class EmpiricalBelief:
    """Mean reward and 1/T of every tracked footprint, by slot in order of tracking; it never changes."""

    complaints: tuple[NumericalWarning, ...] = ()  # it never has any
    fragile = False
    members: Sequence[Member] = ()  # it has no models
    weights = np.zeros(0)

    def __init__(self, mean: Floats, count: Floats, zero: float) -> None:
        self.mean = mean
        self._count = count
        self.zero = zero

    @classmethod
    def built(cls, size: int, zero: float, ledger: ObservationStats) -> EmpiricalBelief:
        """Return the belief from all rewards so far."""
        mean, count = np.zeros(size), np.zeros(size)
        for (slot, _), line in ledger.lines.items():
            mean[slot], count[slot] = line.mean - zero, line.number
        return cls(mean, count, zero)

    def with_targets(self, tracked: FunctionalIndex) -> EmpiricalBelief:
        """Return the belief that tracks more footprints too."""
        more = np.zeros(tracked.size - len(self.mean))
        return EmpiricalBelief(np.concatenate((self.mean, more)), np.concatenate((self._count, more)), self.zero)

    def condition_on(
        self, slot: int, reward: float, variance: float | None, ledger: ObservationStats, weight: float = 1.0
    ) -> EmpiricalBelief:
        """Return the belief with one more reward; `ledger` holds all rewards including this one."""
        mean, count, line = self.mean.copy(), self._count.copy(), ledger.lines[slot, True]
        mean[slot], count[slot] = line.mean - self.zero, line.number
        return EmpiricalBelief(mean, count, self.zero)

    @property
    def variance(self) -> Floats:
        """1/T, infinite where there is no reward yet."""
        return self.columns[1]

    @cached_property
    def columns(self) -> tuple[Floats, Floats]:
        """Mean, relative to `zero`, and variance of all tracked footprints."""
        with np.errstate(divide="ignore"):
            return self.mean, 1 / self._count

    def predict(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Raise: this belief knows nothing about footprints that are not tracked."""
        raise InvalidInput(
            "the empirical belief predicts nothing about regions outside the tree",
            "a region outside the tree",
            "Ask for nodes of the tree, or use a policy with a Gaussian belief, such as GPOO.",
        )

    def under_models(self, footprints: AnyFootprints) -> list[tuple[float, Floats, Floats]]:
        """Raise: this belief has no models."""
        raise InvalidInput("the empirical belief has no probabilities", "StoOO", "Use another policy.")

    def joint(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Raise: this belief has no covariances."""
        raise InvalidInput(
            "a belief from empirical means has no covariances", "StoOO", "Use a policy with a Gaussian belief."
        )

    def relative_std(self, variance: Floats, footprints: AnyFootprints | None = None) -> Floats:
        """Return 1 / sqrt(1 + T), as if there had been one reward before the first."""
        with np.errstate(divide="ignore"):
            return np.sqrt(1 / (1 + 1 / variance))

    def overlay(self) -> EmpiricalBelief:
        """Return the belief to which pending measurements are added."""
        return self

    def with_pending(self, slot: int, variance: float | None, weight: float = 1.0) -> EmpiricalBelief:
        """Return the belief with one more pending measurement: the mean stays, the variance shrinks."""
        count = self._count.copy()
        count[slot] += 1
        return EmpiricalBelief(self.mean, count, self.zero)

    def covariance(self, slots: NDArray[np.intp]) -> Floats:
        """Return the joint covariance: footprints are independent."""
        return np.diag(self.variance[slots])
