"""Averages for intervals off the grid: the same numbers to about 1e-14, in a fraction of the time.

Cells of a tree share their averages, so few are computed. Each interval off the grid needs its own with every cell
and under every model, and is worth closed forms and series. Cells keep what `stationary.py` computes, to the last
digit: searches must not change.
"""

from __future__ import annotations

import math
from copy import copy
from functools import cached_property, lru_cache

import numpy as np

from zonal._types import Floats
from zonal.kernels.periodic import Wrapped
from zonal.kernels.stationary import POINT, MaternProfile, Profile, RBFProfile

SOFT = 4.0  # standard deviations up to here, in decay lengths, lose few digits in closed form
TERMS = 10  # of a series in widths up to half a lengthscale


def _moments(wide: Floats, narrow: Floats) -> list[Floats]:
    """Return moments 0, 2, 4, ... of the difference of two uniform variables, over the factorials of 0, 2, 4, ...

    With half widths a and b, moment n is (h^(n+2) - f^(n+2)) / (h^2 - f^2) times 2 / ((n+1)(n+2)), where h = a + b
    and f = a - b. The ratio is summed up, since the difference would cancel.
    """
    half, flat = ((wide + narrow) / 2) ** 2, ((wide - narrow) / 2) ** 2
    ratio, power = np.ones(half.shape), np.ones(half.shape)
    moments = [ratio]
    for k in range(1, TERMS):
        power = power * flat
        ratio = ratio * half + power
        moments.append(ratio * (2 / math.factorial(2 * k + 2)))
    return moments


class QuickRBF(RBFProfile):
    """A squared exponential whose means over narrow intervals are Taylor series."""

    def _both_narrow(self, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
        """Sum moments times derivatives, which are Hermite polynomials times the function."""
        total, last, hermite = np.ones(gap.shape), np.ones(gap.shape), gap
        for k, moment in enumerate(_moments(wide, narrow)[1:], start=1):
            last = gap * hermite - (2 * k - 1) * last  # of degree 2 k
            hermite = gap * last - 2 * k * hermite
            total += moment * last
        return np.asarray(total * self.value(gap))


class QuickMatern(MaternProfile):
    """A Matern profile with Taylor series for narrow intervals that do not overlap, and blurred in closed form."""

    @cached_property
    def _even(self) -> list[Floats]:
        """By even order, the polynomial of s that times exp(-s) is the derivative; highest powers first."""
        polynomials = [np.array(self._value[::-1])]
        for _ in range(1, TERMS):
            last = polynomials[-1]
            polynomials.append(np.polyadd(np.polysub(last, 2 * np.polyder(last)), np.polyder(last, 2)))
        return polynomials

    def _both_narrow(self, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
        """Sum moments times derivatives, each a polynomial times exp(-s), where the distance is never 0."""
        apart = gap >= (wide + narrow) / 2
        mean = np.empty(gap.shape)
        if not apart.all():
            mean[~apart] = super()._both_narrow(gap[~apart], wide[~apart], narrow[~apart])
        gap, wide, narrow = gap[apart], wide[apart], narrow[apart]
        s, total = self._root * gap, np.zeros(len(gap))
        for moment, polynomial in zip(_moments(self._root * wide, self._root * narrow), self._even, strict=True):
            total += moment * np.polyval(polynomial, s)
        mean[apart] = total * np.exp(-s)
        return mean

    def blurred(self, gap: Floats, spread: Floats) -> Floats:
        """Return the mean when the distance is normal: moments of a distribution cut off at distance 0."""
        std = self._root * spread
        soft = (spread > POINT) & (std <= SOFT)
        if not soft.all():
            mean = np.empty(len(gap))
            mean[~soft] = super().blurred(gap[~soft], spread[~soft])
            mean[soft] = self.blurred(gap[soft], spread[soft]) if soft.any() else 0.0
            return mean
        away = gap / spread
        edge = np.exp(-0.5 * away * away) / math.sqrt(2 * math.pi)
        return self._one_side(away, std, edge) + self._one_side(-away, std, edge)

    def _one_side(self, away: Floats, std: Floats, edge: Floats) -> Floats:
        """Return the part of the mean from distances of one sign.

        The density times exp(-s) is normal again, about `away - std` standard deviations, but for a factor.
        """
        from scipy.special import erfcx, ndtr

        middle = away - std
        near = np.maximum(middle, 0.0)
        below = math.sqrt(math.pi / 2) * edge * erfcx(np.maximum(-middle, 0.0) / math.sqrt(2))
        above = np.exp(-std * (near + 0.5 * std)) * ndtr(near)
        last, moment = std * edge, np.where(middle < 0, below, above)
        total = self._value[0] * moment
        for power, coefficient in enumerate(self._value[1:]):
            # Of the first moment, what is left at the edge; of the next ones, the moment before the last.
            more = last if power == 0 else power * std * std * last
            last, moment = moment, std * middle * moment + more
            total += coefficient * moment
        return np.asarray(total)


@lru_cache(1024)
def quick(profile: Profile) -> Profile:
    """Return a profile with quicker averages if there is one, else the same."""
    if type(profile) is RBFProfile:
        return QuickRBF()
    if type(profile) is MaternProfile:
        return QuickMatern(*profile.parameters)
    if isinstance(profile, Wrapped):
        twin = copy(profile)  # with the same sum over far images
        twin.straight = quick(profile.straight)
        return twin
    return profile
