"""Profiles: stationary kernels of one axis at lengthscale one, with what averaging needs of them.

A profile is a function of the distance, and a new one need not write more: its averages are integrated
numerically, to about 1e-12. Who knows the integrals in closed form writes those too (`Closed`), which is faster.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from zonal.averages.interval_means import mean_over_intervals, mean_under

Floats = NDArray[np.float64]

POINT = 1e-12  # lengthscales: whatever is narrower is a point
WIDE = 9.0  # standard deviations, beyond which a normal density is nothing
_BREAKS = np.linspace(-WIDE, WIDE, 13)


class Profile(ABC):
    """A stationary kernel of one axis at lengthscale one: an even function of the distance.

    What is computed for a profile is kept for as long as the same one, or an equal one, is asked for.
    """

    @abstractmethod
    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign; 1 at distance 0."""

    def mean(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
        """Return the mean over two intervals, by the distance of their centres and their widths, shape (n,)."""
        half, flat = (wide_a + wide_b) / 2, np.abs(wide_a - wide_b) / 2
        narrow, wide = half - flat, half + flat
        safe = np.maximum(narrow, POINT)

        def trapezoid(case: NDArray[np.intp], t: Floats) -> Floats:
            ramp = np.where(narrow[case] > POINT, (half[case] - np.abs(t)) / safe[case], 1.0)
            return np.asarray(np.clip(ramp, 0.0, 1.0) / np.maximum(wide, POINT)[case])

        breaks = np.stack([-half, -flat, flat, half], axis=1)
        mean = mean_under(self.value, gap, breaks, trapezoid)
        return np.where(wide > POINT, mean, self.value(gap))

    def blurred(self, gap: Floats, spread: Floats) -> Floats:
        """Return the mean when the distance is normal about `gap` with standard deviation `spread`, shape (n,)."""
        safe = np.maximum(spread, POINT)

        def normal(case: NDArray[np.intp], t: Floats) -> Floats:
            std = safe[case]
            return np.asarray(np.exp(-0.5 * (t / std) ** 2) / (math.sqrt(2 * math.pi) * std))

        mean = mean_under(self.value, gap, np.multiply.outer(safe, _BREAKS), normal)
        return np.where(spread > POINT, mean, self.value(gap))

    @property
    def slope_variance(self) -> float | None:
        """Variance of the derivative of a draw, None if it has none: -value''(0)."""
        steps = np.array([1e-3, 5e-4])
        coarse, fine = (2 * (1 - self.value(steps)) / steps**2).tolist()
        return None if fine > 1.5 * coarse else 2 * fine - coarse  # with a kink, it grows without end

    @property
    def curvature_variance(self) -> float | None:
        """Variance of the second derivative of a draw, None if it has none or if it is not known."""
        return None

    @property
    def third_variance(self) -> float | None:
        """Variance of the third derivative of a draw, None if it has none or if it is not known."""
        return None

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a product with exp(-exponent): its other factor (None for 1), and the exponent.

        The exponent may be written over `r`.
        """
        return self.value(r), np.zeros(np.shape(r))


class Closed(Profile):
    """A profile with two integrals in closed form; those are for r >= 0 only."""

    @abstractmethod
    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""

    @abstractmethod
    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""

    @abstractmethod
    def tail(self, r: Floats) -> Floats:
        """Return K2 less its linear part: the part that decays."""

    @abstractmethod
    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""

    def mean(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
        """Return the mean over two intervals."""
        return mean_over_intervals(self, gap, wide_a, wide_b)


class RBFProfile(Closed):
    """Squared exponential at lengthscale one: exp(-r^2 / 2)."""

    _C = math.sqrt(math.pi / 2)

    @property
    def slope_variance(self) -> float | None:
        """Variance of the derivative of a draw, None if it has none."""
        return 1.0

    @property
    def curvature_variance(self) -> float:
        """Variance of the second derivative of a draw."""
        return 3.0

    @property
    def third_variance(self) -> float:
        """Variance of the third derivative of a draw."""
        return 15.0

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

    def blurred(self, gap: Floats, spread: Floats) -> Floats:
        """Return the mean when the distance is normal about `gap` with standard deviation `spread`."""
        variance = 1 + spread * spread
        return np.asarray(np.exp(-0.5 * gap * gap / variance) / np.sqrt(variance))

    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""
        from scipy.special import erfc

        return np.asarray(self._C * erfc(r / math.sqrt(2)))

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a polynomial (None for 1) times exp(-exponent)."""
        r *= r
        r *= 0.5
        return None, r


class Matern12Profile(Closed):
    """Matern 1/2 at lengthscale one: exp(-r)."""

    @property
    def slope_variance(self) -> float | None:
        """Variance of the derivative of a draw, None if it has none."""
        return None

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
        return None, np.abs(r, out=r)


class Matern32Profile(Closed):
    """Matern 3/2 at lengthscale one: (1 + s) exp(-s), s = sqrt(3) r."""

    _ROOT = math.sqrt(3)

    @property
    def slope_variance(self) -> float | None:
        """Variance of the derivative of a draw, None if it has none."""
        return 3.0

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
        s = np.abs(r, out=r)
        s *= self._ROOT
        return 1 + s, s


class Matern52Profile(Closed):
    """Matern 5/2 at lengthscale one: (1 + s + s^2 / 3) exp(-s), s = sqrt(5) r."""

    _ROOT = math.sqrt(5)

    @property
    def slope_variance(self) -> float | None:
        """Variance of the derivative of a draw, None if it has none."""
        return 5 / 3

    @property
    def curvature_variance(self) -> float:
        """Variance of the second derivative of a draw; a third there is none."""
        return 25.0

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
        s = np.abs(r, out=r)
        s *= self._ROOT
        polynomial = s * (1 / 3)
        polynomial += 1
        polynomial *= s
        polynomial += 1
        return polynomial, s
