"""Exact averages of a one-dimensional kernel over two intervals (the paper's appendix on continuous feedback).

Everything is in units of the lengthscale, and intervals are given by the distance of their centres and their
widths, never by endpoints: differences of endpoints would cost half the digits.

With K1 the integral of the profile from 0 and K2 the integral of K1, the mean over [a, b] x [c, d] is
``(K2(b-c) + K2(a-d) - K2(b-d) - K2(a-c)) / ((b-a)(d-c))``. That cancels for narrow intervals, so narrow ones
are integrated by Gauss-Legendre rules on pieces where the integrand is smooth. All three ways are accurate to
about 1e-15 on their own ground; `mean_over_intervals` chooses.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NARROW = 0.5  # widths up to here, in lengthscales, are integrated numerically
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2  # on [0, 1]


class Averaged(Protocol):
    """An even function of the distance that can be averaged; all but `value` are for r >= 0 only."""

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""

    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""

    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""

    def tail(self, r: Floats) -> Floats:
        """Return K2 less its linear part: the part that decays."""


class Profile(Averaged, Protocol):
    """A stationary kernel of one axis at lengthscale one."""

    @property
    def slope_variance(self) -> float | None:
        """Variance of the derivative of a draw, None if it has none."""

    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a polynomial (None for 1) times exp(-exponent)."""

    def stretch(self, r: Floats) -> Floats:
        """Return -r times the derivative of `value`: how it grows with the logarithm of the lengthscale."""

    def elasticity(self, r: Floats) -> Floats:
        """Return `stretch` over `value`."""


class Stretch:
    """The derivative of a profile by the logarithm of its lengthscale, itself a profile to average.

    By parts, the integral of ``stretch`` is ``K1 - r value`` and the integral of that ``2 K2 - r K1``.
    """

    def __init__(self, profile: Profile) -> None:
        self._of = profile

    def value(self, r: Floats) -> Floats:
        """Return the derivative at distance `r`, of either sign."""
        return self._of.stretch(r)

    def first(self, r: Floats) -> Floats:
        """Return the integral of `value` from 0 to `r`."""
        return self._of.first(r) - r * self._of.value(r)

    def second(self, r: Floats) -> Floats:
        """Return the integral of `first` from 0 to `r`."""
        return 2 * self._of.second(r) - r * self._of.first(r)

    def tail(self, r: Floats) -> Floats:
        """Return `second` less its linear part."""
        return 2 * self._of.tail(r) + r * self._of.decay(r)


def mean_over_intervals(profile: Averaged, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
    """Return the mean of the profile over pairs of intervals.

    Parameters
    ----------
    profile : Averaged
        The kernel along this axis, or another function of the distance.
    gap : array
        Distance between the two centres, of either sign.
    wide_a, wide_b : array
        Widths, zero for a point. All three broadcast together.
    """
    gap, wide_a, wide_b = np.broadcast_arrays(np.abs(gap), wide_a, wide_b)
    wide, narrow = np.maximum(wide_a, wide_b), np.minimum(wide_a, wide_b)
    mean = np.empty(gap.shape)
    both_narrow, both_wide = wide <= NARROW, narrow > NARROW
    for where, rule in (
        (both_narrow, _both_narrow),
        (both_wide, _both_wide),
        (~(both_narrow | both_wide), _mixed),
    ):
        if where.any():
            mean[where] = rule(profile, gap[where], wide[where], narrow[where])
    return mean


def _pieces(edges: Floats) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights on the pieces between sorted edges (last axis)."""
    start, length = edges[..., :-1, None], np.diff(edges)[..., None]
    nodes = start + length * _NODES
    weights = length * _WEIGHTS
    shape = (*edges.shape[:-1], -1)
    return nodes.reshape(shape), weights.reshape(shape)


def _both_narrow(profile: Averaged, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
    """Integrate the profile against the density of the difference of two uniforms, a trapezoid."""
    half, flat = (wide + narrow) / 2, (wide - narrow) / 2
    kink = np.clip(-gap, -half, half)  # the profile is not smooth at distance 0
    edges = np.sort(np.stack([-half, -flat, flat, half, kink], axis=-1), axis=-1)
    x, weights = _pieces(edges)
    ramp = (half[..., None] - np.abs(x)) / np.where(narrow > 0, narrow, 1.0)[..., None]
    density = np.where(narrow[..., None] > 0, np.clip(ramp, 0, 1), 1.0)
    density /= np.where(wide > 0, wide, 1.0)[..., None]
    mean = np.einsum("...i,...i->...", profile.value(gap[..., None] + x), density * weights)
    return np.where(wide > 0, mean, profile.value(gap))


def _both_wide(profile: Averaged, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
    """Evaluate the closed form; for disjoint intervals the linear parts of K2 cancel exactly."""
    half, flat = (wide + narrow) / 2, (wide - narrow) / 2
    apart = gap >= half
    mean = np.empty(gap.shape)
    for where, k2 in ((apart, profile.tail), (~apart, profile.second)):
        g, h, f = gap[where], half[where], flat[where]
        mean[where] = k2(g + h) + k2(np.abs(g - h)) - k2(g + f) - k2(np.abs(g - f))
    return mean / (wide * narrow)


def _mixed(profile: Averaged, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
    """Integrate the closed mean over the wide interval along the narrow one, broken at its ends."""
    scale = np.maximum(narrow, np.finfo(float).tiny)
    with np.errstate(over="ignore"):  # for a point any break will do
        ends = [np.clip((gap + side * wide / 2) / scale, -0.5, 0.5) for side in (-1, 1)]
    sides = np.full(gap.shape, 0.5)
    edges = np.stack([-sides, ends[0], ends[1], sides], axis=-1)
    x, weights = _pieces(edges)
    position = gap[..., None] - x * narrow[..., None]  # of the wide centre, seen from a point
    reach = wide[..., None] / 2

    def k1(r: Floats) -> Floats:
        return np.sign(r) * profile.first(np.abs(r))

    mean = (k1(position + reach) - k1(position - reach)) / wide[..., None]
    return np.asarray(np.einsum("...i,...i->...", mean, weights))
