"""Profiles: stationary kernels of one axis at lengthscale one, with the integrals that averages need.

A profile is a function of the distance; that is all a new one has to define, since its averages are then computed
numerically, to about 1e-12. Integrals in closed form, if known, are faster (`Closed`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from zonal.arrays import Floats, Ints
from zonal.averages.interval_means import mean_over_intervals, mean_under

POINT = 1e-12  # lengthscales: anything narrower counts as a point
WIDE = 9.0  # standard deviations, beyond which a normal density is taken as 0
_BREAKS = np.linspace(-WIDE, WIDE, 13)


class Profile(ABC):
    """A stationary kernel of one axis at lengthscale one: an even function of the distance.

    What is computed for a profile is cached for as long as it, or an equal one, is used.
    """

    # Variances of the second and third derivative of f, None if it does not exist or is not known.
    curvature_variance: float | None = None
    third_variance: float | None = None
    spectrum: Callable[[Floats], Floats] | None = None  # density, up to a constant factor

    @abstractmethod
    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign; 1 at distance 0."""

    def mean(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
        """Return the mean over two intervals, given the distance of their centres and their widths, shape (n,)."""
        half, flat = (wide_a + wide_b) / 2, np.abs(wide_a - wide_b) / 2
        narrow, wide = half - flat, half + flat
        safe = np.maximum(narrow, POINT)

        def trapezoid(case: Ints, t: Floats) -> Floats:
            ramp = np.where(narrow[case] > POINT, (half[case] - np.abs(t)) / safe[case], 1.0)
            return np.asarray(np.clip(ramp, 0.0, 1.0) / np.maximum(wide, POINT)[case])

        breaks = np.stack([-half, -flat, flat, half], axis=1)
        mean = mean_under(self.value, gap, breaks, trapezoid)
        return np.where(wide > POINT, mean, self.value(gap))

    def blurred(self, gap: Floats, spread: Floats) -> Floats:
        """Return the mean when the distance is normal about `gap` with standard deviation `spread`, shape (n,)."""
        safe = np.maximum(spread, POINT)

        def normal(case: Ints, t: Floats) -> Floats:
            std = safe[case]
            return np.asarray(np.exp(-0.5 * (t / std) ** 2) / (math.sqrt(2 * math.pi) * std))

        mean = mean_under(self.value, gap, np.multiply.outer(safe, _BREAKS), normal)
        return np.where(spread > POINT, mean, self.value(gap))

    def softened(self, gap: Floats, wide: Floats, spread: Floats) -> Floats:
        """Return the mean between an interval and a normally distributed point `gap` away, shape (n,)."""
        from scipy.special import ndtr

        mean = np.empty(len(gap))
        sharp, point = spread == 0, wide == 0
        mean[sharp] = self.mean(gap[sharp], np.zeros(np.count_nonzero(sharp)), wide[sharp])
        mean[point] = self.blurred(gap[point], spread[point])
        soft = ~(sharp | point)
        gap, wide, spread = gap[soft], wide[soft], spread[soft]
        edge, tail = 0.5 * wide, WIDE * spread

        def density(case: Any, t: Floats) -> Floats:
            own = spread[case]
            return np.asarray((ndtr((t + edge[case]) / own) - ndtr((t - edge[case]) / own)) / wide[case])

        breaks = np.stack([side * edge + end * tail for side in (-1, 1) for end in (-1, 0, 1)], axis=1)
        breaks.sort(axis=1)
        mean[soft] = mean_under(self.value, gap, breaks, density)
        return mean

    @cached_property
    def slope_variance(self) -> float | None:
        """Variance of the derivative of f, None if it does not exist: -value''(0)."""
        steps = np.array([1e-3, 5e-4])
        coarse, fine = (2 * (1 - self.value(steps)) / steps**2).tolist()
        return None if fine > 1.5 * coarse else 2 * fine - coarse  # with a kink it diverges

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a product with exp(-exponent): the other factor (None for 1), and the exponent.

        The exponent may overwrite `r`.
        """
        return self.value(r), np.zeros(np.shape(r))


class Closed(Profile):
    """A profile with two integrals in closed form, defined for r >= 0."""

    @abstractmethod
    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""

    @abstractmethod
    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""

    @abstractmethod
    def tail(self, r: Floats) -> Floats:
        """Return K2 minus its linear part: the part that decays."""

    def mean(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
        """Return the mean over two intervals."""
        return mean_over_intervals(self, gap, wide_a, wide_b)


class RBFProfile(Closed):
    """Squared exponential at lengthscale one: exp(-r^2 / 2)."""

    _C = math.sqrt(math.pi / 2)

    slope_variance = 1.0
    curvature_variance, third_variance = 3.0, 15.0

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
        """Return K2 minus its linear part."""
        from scipy.special import erfc

        return np.asarray(self.value(r) - r * (self._C * erfc(r / math.sqrt(2))))

    def spectrum(self, w: Floats) -> Floats:
        """Return the spectral density, up to a constant factor."""
        return self.value(w)

    def blurred(self, gap: Floats, spread: Floats) -> Floats:
        """Return the mean when the distance is normal about `gap` with standard deviation `spread`."""
        variance = 1 + spread * spread
        return np.asarray(np.exp(-0.5 * gap * gap / variance) / np.sqrt(variance))

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a polynomial (None for 1) times exp(-exponent)."""
        r *= r
        r *= 0.5
        return None, r


class MaternProfile(Closed):
    """Matern at lengthscale one: a polynomial of s times exp(-s), s = sqrt(2 nu) r.

    Its integrals have the same form: with Q = P + P' + P'' + ..., the integral of P exp(-s) is -Q exp(-s).
    """

    def __init__(self, nu: float, *polynomial: float) -> None:  # its coefficients, beginning with the constant
        self._root = math.sqrt(2 * nu)
        self._value, self._first = polynomial, _summed(polynomial)
        self._second = _summed(self._first)
        self.slope_variance = nu / (nu - 1) if nu > 1 else None
        self.curvature_variance = 3 * nu**2 / ((nu - 1) * (nu - 2)) if nu > 2 else None

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        s = self._root * np.abs(r)
        return np.asarray(_at(self._value, s) * np.exp(-s))

    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""
        s = self._root * r
        return np.asarray((self._first[0] - _at(self._first, s) * np.exp(-s)) / self._root)

    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""
        s = self._root * r
        decayed = _at(self._second, s) * np.exp(-s)
        return np.asarray((self._first[0] * s - self._second[0] + decayed) / self._root**2)

    def tail(self, r: Floats) -> Floats:
        """Return K2 minus its linear part."""
        s = self._root * r
        return np.asarray(_at(self._second, s) * np.exp(-s) / self._root**2)

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a polynomial (None for 1) times exp(-exponent)."""
        s = np.abs(r, out=r)
        s *= self._root
        return None if len(self._value) == 1 else np.asarray(_at(self._value, s)), s


def _summed(polynomial: Sequence[float]) -> list[float]:
    """Return the coefficients of the sum of a polynomial and all its derivatives."""
    return [
        sum(math.factorial(m) / math.factorial(k) * own for m, own in enumerate(polynomial) if m >= k)
        for k in range(len(polynomial))
    ]


def _at(polynomial: Sequence[float], s: Floats) -> Any:
    """Evaluate a polynomial by Horner's rule."""
    total: Any = polynomial[-1]
    for own in polynomial[-2::-1]:
        total = total * s
        total += own
    return total
