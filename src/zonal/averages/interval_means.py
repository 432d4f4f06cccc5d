"""Averages of a one-dimensional kernel over two intervals (the paper's appendix on continuous feedback).

Everything is in units of the lengthscale, and intervals are given by the distance of their centres and their
widths, not by endpoints: differences of endpoints would lose half the digits.

With K1 the integral of the profile from 0 and K2 the integral of K1, the mean over [a, b] x [c, d] is
``(K2(b-c) + K2(a-d) - K2(b-d) - K2(a-c)) / ((b-a)(d-c))``. That cancels for narrow intervals, so narrow ones
are integrated by Gauss-Legendre rules on pieces where the integrand is smooth. Every method is accurate to
about 1e-15 where it is used; `mean_over_intervals` chooses.

If K1 and K2 are not known, or the density is not that of the difference of two uniform points,
`mean_under` integrates numerically, to about 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.arrays import Floats

if TYPE_CHECKING:
    from zonal.averages.profiles import Closed

NARROW = 0.5  # widths up to here, in lengthscales, are integrated numerically
EDGE = 0.5 - 1e-12  # from the centre, in widths: farther out counts as outside
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2  # on [0, 1]


def mean_over_intervals(
    profile: Closed,  # the kernel along this axis, with its integrals
    gap: Floats,  # distance between the two centres, of either sign
    wide_a: Floats,  # widths, zero for a point; all three broadcast together
    wide_b: Floats,
) -> Floats:
    """Return the mean of the profile over pairs of intervals."""
    gap, wide_a, wide_b = np.broadcast_arrays(np.abs(gap), wide_a, wide_b)
    wide, narrow = np.maximum(wide_a, wide_b), np.minimum(wide_a, wide_b)
    mean = np.empty(gap.shape)
    point, small = narrow == 0, wide <= NARROW
    both_wide = narrow > NARROW
    for where, rule in (
        (point & small, _narrow_and_point),
        (point & ~small, _wide_and_point),
        (~point & small, _both_narrow),
        (both_wide, _both_wide),
        (~(point | small | both_wide), _mixed),
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


def _both_narrow(profile: Closed, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
    """Integrate the profile against the density of the difference of two uniforms, a trapezoid."""
    half, flat = (wide + narrow) / 2, (wide - narrow) / 2
    kink = np.clip(-gap, -half, half)  # the profile is not smooth at distance 0
    mean = np.empty(gap.shape)
    apart, same = gap >= half, flat == 0
    for where, breaks in (
        (apart & same, (-half, flat, half)),
        (apart & ~same, (-half, -flat, flat, half)),
        (~apart, (-half, -flat, flat, half, kink)),
    ):
        if where.any():
            edges = np.sort(np.stack([edge[where] for edge in breaks], axis=-1), axis=-1)
            x, weights = _pieces(edges)
            ramp = (half[where, None] - np.abs(x)) / narrow[where, None]
            density = np.clip(ramp, 0, 1) / wide[where, None]
            values = profile.value(gap[where, None] + x)
            mean[where] = np.einsum("...i,...i->...", values, density * weights)
    return mean


def _narrow_and_point(profile: Closed, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
    """Integrate the profile along the interval, in two pieces if it contains the point."""
    side = np.full(gap.shape, 0.5)
    with np.errstate(over="ignore", invalid="ignore"):  # for two points the break does not matter
        kink = np.clip(-gap / np.maximum(wide, np.finfo(float).tiny), -side, side)
    x, weights = _pieces(np.stack([-side, kink, side], axis=-1))
    mean = np.einsum("...i,...i->...", profile.value(gap[..., None] + x * wide[..., None]), weights)
    return np.where(wide > 0, mean, profile.value(gap))


def _wide_and_point(profile: Closed, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
    """Return the difference of K1 at the interval's ends, relative to the point."""
    low, high = gap - wide / 2, gap + wide / 2
    return np.asarray((profile.first(high) - np.sign(low) * profile.first(np.abs(low))) / wide)


def _both_wide(profile: Closed, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
    """Evaluate the closed form; for disjoint intervals the linear parts of K2 cancel exactly."""
    half, flat = (wide + narrow) / 2, (wide - narrow) / 2
    apart = gap >= half
    mean = np.empty(gap.shape)
    for where, k2 in ((apart, profile.tail), (~apart, profile.second)):
        g, h, f = gap[where], half[where], flat[where]
        mean[where] = k2(g + h) + k2(np.abs(g - h)) - k2(g + f) - k2(np.abs(g - f))
    return mean / (wide * narrow)


def _mixed(profile: Closed, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
    """Integrate the closed mean over the wide interval along the narrow one, broken at its ends."""
    with np.errstate(over="ignore"):  # for nearly a point the break does not matter
        low, high = (np.clip((gap + side * wide / 2) / narrow, -0.5, 0.5) for side in (-1, 1))
    sides = np.full(gap.shape, 0.5)
    mean = np.empty(gap.shape)
    whole = (low > EDGE) | ((low < -EDGE) & (high > EDGE))  # no end of the wide one is inside the narrow one
    for where, breaks in ((whole, (-sides, sides)), (~whole, (-sides, low, high, sides))):
        if where.any():
            x, weights = _pieces(np.stack([edge[where] for edge in breaks], axis=-1))
            # Of the wide interval's centre, relative to a point of the narrow one.
            position = gap[where, None] - x * narrow[where, None]
            reach = wide[where, None] / 2
            high_end, low_end = position + reach, position - reach
            means = _odd(profile.first, high_end) - _odd(profile.first, low_end)
            mean[where] = np.einsum("...i,...i->...", means / wide[where, None], weights)
    return mean


def _odd(function: Callable[[Floats], Floats], r: Floats) -> Floats:
    """Return an odd function that is known for r >= 0."""
    return np.asarray(np.sign(r) * function(np.abs(r)))


_FINE_NODES, _FINE_WEIGHTS = np.polynomial.legendre.leggauss(16)
_FIRST = 1 / 16  # lengthscales from distance 0, where kernels may have a kink, to the next break
CASES = 1 << 11  # integrated at once


def mean_under(
    value: Callable[[Floats], Floats],  # smooth but for a kink at 0, on a scale of about 1, and larger far away
    gap: Floats,  # shape (n,): the value that distances are relative to
    breaks: Floats,  # shape (n, b): where the density is not smooth, sorted, relative to `gap`; 0 beyond them
    density: Callable[[Any, Floats], Floats],  # of case numbers (m, 1) and distances from `gap` (m, k)
) -> Floats:
    """Return the mean of an even function of the distance when the distance is random."""
    mean = np.empty(len(gap))
    farthest = np.abs(gap) + np.abs(breaks).max(axis=1)
    # The number of panels of a case must not depend on which others are computed with it.
    panels = np.ceil(np.log2(np.maximum(farthest / _FIRST, 1))).astype(int) + 1
    for number in np.unique(panels).tolist():
        (own,) = (panels == number).nonzero()
        doubling = _FIRST * 2.0 ** np.arange(number)
        grading = np.concatenate([-doubling[::-1], [0.0], doubling])
        for some in np.split(own, range(CASES, len(own), CASES)):
            graded = np.clip(grading - gap[some, None], breaks[some, :1], breaks[some, -1:])
            edges = np.sort(np.concatenate([breaks[some], graded], axis=1), axis=1)
            half = np.diff(edges)[..., None] / 2
            away = ((edges[:, :-1, None] + half) + half * _FINE_NODES).reshape(len(some), -1)  # from the gap
            weights = (half * _FINE_WEIGHTS).reshape(len(some), -1)
            values = value(gap[some, None] + away) * density(some[:, None], away) * weights
            mean[some] = np.add.reduce(values, 1)
    return mean
