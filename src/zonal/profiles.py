"""Profiles: stationary kernels of one axis at lengthscale one, with what averaging and learning need of them.

See `interval_means.Profile` for what each function is.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class RBFProfile:
    """Squared exponential at lengthscale one: exp(-r^2 / 2)."""

    slope_variance: ClassVar[float | None] = 1.0
    _C = math.sqrt(math.pi / 2)

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        square = np.multiply(r, r)
        square *= -0.5
        return np.exp(square, out=square)

    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""
        from scipy.special import erf

        return np.asarray(self._C * erf(r / math.sqrt(2)))

    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""
        return r * self.first(r) + np.expm1(-0.5 * r * r)

    def tail(self, r: Floats) -> Floats:
        """Return K2 less its linear part."""
        return self.value(r) - r * self.decay(r)

    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""
        from scipy.special import erfc

        return np.asarray(self._C * erfc(r / math.sqrt(2)))

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a polynomial (None for 1) times exp(-exponent)."""
        square = np.multiply(r, r)
        square *= 0.5
        return None, square

    def stretch(self, r: Floats) -> Floats:
        """Return -r times the derivative of `value`."""
        square = np.multiply(r, r)
        return square * np.exp(-0.5 * square)

    def elasticity(self, r: Floats) -> Floats:
        """Return `stretch` over `value`."""
        return r * r


class Matern12Profile:
    """Matern 1/2 at lengthscale one: exp(-r)."""

    slope_variance: ClassVar[float | None] = None

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        return np.exp(-np.abs(r))

    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""
        return -np.expm1(-r)

    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""
        return r + np.expm1(-r)

    def tail(self, r: Floats) -> Floats:
        """Return K2 less its linear part."""
        return np.exp(-r)

    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""
        return np.exp(-r)

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a polynomial (None for 1) times exp(-exponent)."""
        return None, np.abs(r)

    def stretch(self, r: Floats) -> Floats:
        """Return -r times the derivative of `value`."""
        r = np.abs(r)
        return r * np.exp(-r)

    def elasticity(self, r: Floats) -> Floats:
        """Return `stretch` over `value`."""
        return np.abs(r)


class Matern32Profile:
    """Matern 3/2 at lengthscale one: (1 + s) exp(-s), s = sqrt(3) r."""

    slope_variance: ClassVar[float | None] = 3.0
    _ROOT = math.sqrt(3)

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        s = self._ROOT * np.abs(r)
        return (1 + s) * np.exp(-s)

    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""
        s = self._ROOT * r
        return (2 - (2 + s) * np.exp(-s)) / self._ROOT

    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""
        s = self._ROOT * r
        return (2 * s - 3 + (3 + s) * np.exp(-s)) / 3

    def tail(self, r: Floats) -> Floats:
        """Return K2 less its linear part."""
        s = self._ROOT * r
        return (3 + s) * np.exp(-s) / 3

    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""
        s = self._ROOT * r
        return (2 + s) * np.exp(-s) / self._ROOT

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a polynomial (None for 1) times exp(-exponent)."""
        s = np.abs(r)
        s *= self._ROOT
        return 1 + s, s

    def stretch(self, r: Floats) -> Floats:
        """Return -r times the derivative of `value`."""
        s = self._ROOT * np.abs(r)
        return s * s * np.exp(-s)

    def elasticity(self, r: Floats) -> Floats:
        """Return `stretch` over `value`."""
        s = self._ROOT * np.abs(r)
        return s * s / (1 + s)


class Matern52Profile:
    """Matern 5/2 at lengthscale one: (1 + s + s^2 / 3) exp(-s), s = sqrt(5) r."""

    slope_variance: ClassVar[float | None] = 5 / 3
    _ROOT = math.sqrt(5)

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        s = self._ROOT * np.abs(r)
        return (1 + s + s * s / 3) * np.exp(-s)

    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""
        s = self._ROOT * r
        return (8 - (8 + 5 * s + s * s) * np.exp(-s)) / (3 * self._ROOT)

    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""
        s = self._ROOT * r
        return (8 * s - 15 + (15 + 7 * s + s * s) * np.exp(-s)) / 15

    def tail(self, r: Floats) -> Floats:
        """Return K2 less its linear part."""
        s = self._ROOT * r
        return (15 + 7 * s + s * s) * np.exp(-s) / 15

    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""
        s = self._ROOT * r
        return (8 + 5 * s + s * s) * np.exp(-s) / (3 * self._ROOT)

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a polynomial (None for 1) times exp(-exponent)."""
        s = np.abs(r)
        s *= self._ROOT
        polynomial = s * (1 / 3)
        polynomial += 1
        polynomial *= s
        polynomial += 1
        return polynomial, s

    def stretch(self, r: Floats) -> Floats:
        """Return -r times the derivative of `value`."""
        s = self._ROOT * np.abs(r)
        return s * s * (1 + s) * np.exp(-s) / 3

    def elasticity(self, r: Floats) -> Floats:
        """Return `stretch` over `value`."""
        s = self._ROOT * np.abs(r)
        return s * s * (1 + s) / (3 + s * (3 + s))
