"""The empirical belief of StoOO: each footprint knows its own rewards and nothing else.

With ``std = 1 / sqrt(T)`` after T rewards, AVE-StoOO's index and expansion test are GPOO's (docs/fidelity.md), so
one policy serves both. A footprint without rewards has an infinite std: nothing is known, all is possible. This
room knows rewards only; it must not know kernels, regions or trees.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from zonal.averages.feedback import AnyFootprints
from zonal.errors import InvalidInput, NumericalWarning

Floats = NDArray[np.float64]


class EmpiricalBelief:
    """Mean reward and 1/T of every tracked footprint, by slot in order of tracking."""

    def __init__(self, zero: float = 0.0) -> None:
        self.zero = zero
        self.complaints: list[NumericalWarning] = []  # it never has any
        self.size = 0
        self._mean = np.zeros(256)
        self._count = np.zeros(256)

    def fork(self) -> EmpiricalBelief:
        """Return the same belief, to be changed; this one stays as it is."""
        twin = copy.copy(self)
        twin._mean, twin._count = self._mean.copy(), self._count.copy()
        return twin

    @property
    def mean(self) -> Floats:
        """Mean rewards; 0 where there is none yet."""
        return self._mean[: self.size]

    @property
    def variance(self) -> Floats:
        """1/T, infinite where there is no reward yet."""
        with np.errstate(divide="ignore"):
            return 1 / self._count[: self.size]

    def track(self, footprints: AnyFootprints) -> int:
        """Track more footprints and return the slot of the first."""
        start, self.size = self.size, self.size + len(footprints)
        if self.size > len(self._mean):
            more = max(len(footprints), start)
            self._mean, self._count = np.pad(self._mean, (0, more)), np.pad(self._count, (0, more))
        return start

    def check(self, slot: int, reward: float, variance: float | None) -> None:
        """Find nothing to complain about: no reward contradicts another."""

    def observe(self, slot: int, reward: float, variance: float | None) -> None:
        """Take in one reward; every reward counts the same, whatever its noise."""
        self._count[slot] += 1
        self._mean[slot] += (reward - self.zero - self._mean[slot]) / self._count[slot]

    def columns(self) -> tuple[Floats, Floats]:
        """Return mean, counted from `zero`, and variance of all tracked footprints."""
        return self.mean, self.variance

    def predict(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Refuse: nothing is known of footprints that are not tracked."""
        raise InvalidInput(
            "the empirical belief predicts nothing about regions outside of the tree",
            "a region outside of the tree",
            "Ask for nodes of the tree, or use a policy with a Gaussian belief, such as GPOO.",
        )

    def overlay(self) -> EmpiricalOverlay:
        """Return the belief as it would be with measurements under way."""
        return EmpiricalOverlay(self.mean, self._count[: self.size])

    def covariance(self, slots: NDArray[np.intp]) -> Floats:
        """Return the joint covariance: footprints are independent."""
        return np.diag(self.variance[slots])


class EmpiricalOverlay:
    """Counts with measurements under way: means stay, variances shrink."""

    def __init__(self, mean: Floats, count: Floats) -> None:
        self._mean = mean
        self._count = count

    def plus(self, slot: int, variance: float | None) -> EmpiricalOverlay:
        """Return the overlay with one more pending measurement."""
        count = self._count.copy()
        count[slot] += 1
        return EmpiricalOverlay(self._mean, count)

    def columns(self) -> tuple[Floats, Floats]:
        """Return mean, and 1/T with pending measurements included."""
        with np.errstate(divide="ignore"):
            return self._mean, 1 / self._count
