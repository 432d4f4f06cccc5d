"""Profiles: stationary kernels of one axis at lengthscale one, with the averages that follow from them.

A profile is a function of the distance; that is all a new one has to define, since its averages are then computed
numerically (`mean_under`), to about 1e-12, on pieces that are halved until they resolve it (`Resolution`).
Integrals in closed form, if known, are faster (`Closed`).

Everything is in units of the lengthscale, and intervals are given by the distance of their centres and their
widths, not by endpoints: differences of endpoints would lose half the digits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from zonal._blas import one_thread
from zonal._types import Floats, Ints
from zonal.errors import InvalidInput

Variances = tuple[float | None, float | None, float | None]

POINT = 1e-12  # lengthscales: anything narrower counts as a point
WIDE = 9.0  # standard deviations, beyond which a normal density is taken as 0
NARROW = 0.5  # widths up to here, in lengthscales, are integrated numerically
EDGE = 0.5 - 1e-12  # from the centre, in widths: farther out counts as outside
AT_ONCE = 1 << 18  # values of a profile computed at once
RESOLVED = 1e-9  # error of interpolation on a piece; integrals of smooth functions are then right to rounding
SHORTEST_PIECE = 1e-12  # of the distance from 0: a piece that holds a jump
MOST_PIECES = 1 << 15  # of a profile
_FIRST = 1 / 16  # lengthscales from distance 0, where kernels may have a kink, to the next break
_BREAKS = np.linspace(-WIDE, WIDE, 13)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2  # on [0, 1]
_FINE_NODES, _FINE_WEIGHTS = np.polynomial.legendre.leggauss(16)
_CHECKED = 2 * np.append((0.5 + (math.sqrt(5) - 1) / 2 * np.arange(48)) % 1, [0.0, 1.0]) - 1  # spread over a piece
_INTERPOLATION = np.linalg.solve(
    np.polynomial.legendre.legvander(_FINE_NODES, 15).T, np.polynomial.legendre.legvander(_CHECKED, 15).T
)  # from values at the nodes to values at the checked places


class Profile(ABC):
    """A stationary kernel of one axis at lengthscale one: an even function of the distance.

    What is computed for a profile is cached for as long as it, or an equal one, is used.
    """

    spectrum: Callable[[Floats], Floats] | None = None  # density, up to a constant factor
    smooth = False  # whether it is known to need no pieces shorter than their distance from 0

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
        mean = mean_under(self, gap, breaks, trapezoid)
        return np.where(wide > POINT, mean, self.value(gap))

    def blurred(self, gap: Floats, spread: Floats) -> Floats:
        """Return the mean when the distance is normal about `gap` with standard deviation `spread`, shape (n,)."""
        safe = np.maximum(spread, POINT)

        def normal(case: Ints, t: Floats) -> Floats:
            std = safe[case]
            return np.asarray(np.exp(-0.5 * (t / std) ** 2) / (math.sqrt(2 * math.pi) * std))

        mean = mean_under(self, gap, np.multiply.outer(safe, _BREAKS), normal)
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

        def density(case: Ints, t: Floats) -> Floats:
            std = spread[case]
            return np.asarray((ndtr((t + edge[case]) / std) - ndtr((t - edge[case]) / std)) / wide[case])

        breaks = np.stack([side * edge + end * tail for side in (-1, 1) for end in (-1, 0, 1)], axis=1)
        breaks.sort(axis=1)
        mean[soft] = mean_under(self, gap, breaks, density)
        return mean

    @cached_property
    def derivatives(self) -> Variances:
        """Variances of the first three derivatives of f; None if one does not exist or is not known.

        By default the first is -value''(0), and the others are not known.
        """
        steps = np.array([1e-3, 5e-4])
        coarse, fine = (2 * (1 - self.value(steps)) / steps**2).tolist()
        slope = None if fine > 1.5 * coarse else 2 * fine - coarse  # with a kink it diverges
        return slope, None, None

    def exponent(self, x: Floats, y: Floats) -> Floats | None:
        """Return minus the log of the product of `value` over the features of two sets of points, in lengthscales.

        None where that takes a pass for each feature: see `factor`.
        """
        return None

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a product with exp(-exponent): the other factor (None for 1), and the exponent.

        The exponent may overwrite `r`.
        """
        return self.value(r), np.zeros(np.shape(r))


class Closed(Profile):
    """A profile with two integrals in closed form (the paper's appendix on continuous feedback).

    The mean over [a, b] x [c, d] is ``(K2(b-c) + K2(a-d) - K2(b-d) - K2(a-c)) / ((b-a)(d-c))``. That cancels for
    narrow intervals, so narrow ones are integrated by Gauss-Legendre rules on pieces where the integrand is
    smooth. Every method is accurate to about 1e-15 where it is used; `mean` chooses.
    """

    smooth = True

    @abstractmethod
    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`, which is not negative here and below."""

    @abstractmethod
    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""

    @abstractmethod
    def tail(self, r: Floats) -> Floats:
        """Return K2 minus its linear part: the part that decays."""

    def mean(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
        """Return the mean over two intervals."""
        gap, wide_a, wide_b = np.broadcast_arrays(np.abs(gap), wide_a, wide_b)
        wide, narrow = np.maximum(wide_a, wide_b), np.minimum(wide_a, wide_b)
        mean = np.empty(gap.shape)
        point, small = narrow == 0, wide <= NARROW
        both_wide = narrow > NARROW
        for where, rule in (
            (point & small, self._narrow_and_point),
            (point & ~small, self._wide_and_point),
            (~point & small, self._both_narrow),
            (both_wide, self._both_wide),
            (~(point | small | both_wide), self._mixed),
        ):
            if where.any():
                mean[where] = rule(gap[where], wide[where], narrow[where])
        return mean

    def _both_narrow(self, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
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
                values = self.value(gap[where, None] + x)
                mean[where] = np.einsum("...i,...i->...", values, density * weights)
        return mean

    def _narrow_and_point(self, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
        """Integrate the profile along the interval, in two pieces if it contains the point."""
        side = np.full(gap.shape, 0.5)
        with np.errstate(over="ignore", invalid="ignore"):  # for two points the break does not matter
            kink = np.clip(-gap / np.maximum(wide, np.finfo(float).tiny), -side, side)
        x, weights = _pieces(np.stack([-side, kink, side], axis=-1))
        mean = np.einsum("...i,...i->...", self.value(gap[..., None] + x * wide[..., None]), weights)
        return np.where(wide > 0, mean, self.value(gap))

    def _wide_and_point(self, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
        """Return the difference of K1, an odd function, at the interval's ends, relative to the point."""
        low, high = gap - wide / 2, gap + wide / 2
        at_high = np.sign(high) * self.first(np.abs(high))
        return np.asarray((at_high - np.sign(low) * self.first(np.abs(low))) / wide)

    def _both_wide(self, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
        """Evaluate the closed form; for disjoint intervals the linear parts of K2 cancel exactly."""
        half, flat = (wide + narrow) / 2, (wide - narrow) / 2
        apart = gap >= half
        mean = np.empty(gap.shape)
        for where, k2 in ((apart, self.tail), (~apart, self.second)):
            g, h, f = gap[where], half[where], flat[where]
            mean[where] = k2(g + h) + k2(np.abs(g - h)) - k2(g + f) - k2(np.abs(g - f))
        return mean / (wide * narrow)

    def _mixed(self, gap: Floats, wide: Floats, narrow: Floats) -> Floats:
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
                means = self._wide_and_point(position, wide[where, None], x)
                mean[where] = np.einsum("...i,...i->...", means, weights)
        return mean


class RBFProfile(Closed):
    """Squared exponential at lengthscale one: exp(-r^2 / 2)."""

    _C = math.sqrt(math.pi / 2)

    derivatives = 1.0, 3.0, 15.0

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

    def exponent(self, x: Floats, y: Floats) -> Floats:
        """Return minus the log of the product over features: half the squared distance."""
        from scipy.spatial.distance import cdist

        squared: Floats = cdist(x, y, "sqeuclidean")
        squared *= 0.5
        return squared

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
        self.parameters = nu, *polynomial
        slope = nu / (nu - 1) if nu > 1 else None
        curvature = 3 * nu**2 / ((nu - 1) * (nu - 2)) if nu > 2 else None
        self.derivatives = slope, curvature, None

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

    def exponent(self, x: Floats, y: Floats) -> Floats | None:
        """Return minus the log of the product over features, if there is no polynomial: the sum of distances."""
        if len(self._value) > 1:
            return None
        from scipy.spatial.distance import cdist

        return self._root * np.asarray(cdist(x, y, "cityblock"))

    def factor(self, r: Floats) -> tuple[Floats | None, Floats]:
        """Return `value` as a polynomial (None for 1) times exp(-exponent)."""
        s = np.abs(r, out=r)
        s *= self._root
        return None if len(self._value) == 1 else np.asarray(_at(self._value, s)), s


def _summed(polynomial: Sequence[float]) -> list[float]:
    """Return the coefficients of the sum of a polynomial and all its derivatives."""
    return [
        sum(math.factorial(m) / math.factorial(k) * polynomial[m] for m in range(k, len(polynomial)))
        for k in range(len(polynomial))
    ]


def _at(polynomial: Sequence[float], s: Floats) -> Floats | float:
    """Evaluate a polynomial by Horner's rule."""
    *rest, last = polynomial
    if not rest:
        return last
    total = last * s if last != 1 else s.copy()
    for coefficient in rest[:0:-1]:
        total += coefficient
        total *= s
    total += rest[0]
    return total


def _pieces(edges: Floats) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights on the pieces between sorted edges (last axis)."""
    start, length = edges[..., :-1, None], np.diff(edges)[..., None]
    nodes = start + length * _NODES
    weights = length * _WEIGHTS
    shape = (*edges.shape[:-1], -1)
    return nodes.reshape(shape), weights.reshape(shape)


class Resolution:
    """Pieces of the distance on each of which 16 points resolve a profile, for integrals over it.

    They begin at distance 0, where kernels may have a kink, and their lengths double with the distance unless the
    profile needs shorter ones, as a periodic one does. The error of interpolation on a piece decides. Which pieces
    there are follows from the profile alone.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._edges = np.zeros(1)  # from 0 on
        self._longest = _FIRST  # piece of those between the last two doublings
        self._reach = _FIRST  # to which the next pieces go

    def edges(self, reach: float) -> Floats:
        """Return the edges of the pieces from minus to plus some distance, or a little farther."""
        while self._edges[-1] < reach:
            start, stop = float(self._edges[-1]), self._reach
            pieces = np.array([start, stop])
            if not self._profile.smooth:
                number = math.ceil((stop - start) / (2 * self._longest))
                pieces = self._refined(np.linspace(start, stop, number + 1))
            self._longest = float(np.diff(pieces).max())
            self._edges, self._reach = np.concatenate((self._edges, pieces[1:])), 2 * stop
        return np.concatenate((-self._edges[:0:-1], self._edges))

    def _refined(self, edges: Floats) -> Floats:
        """Return edges with more of them between: a piece is halved if interpolation on it shows an error."""
        starts, lengths = edges[:-1], np.diff(edges)
        refined, number = [edges[-1:]], len(self._edges)
        while starts.size:
            if number + starts.size > MOST_PIECES:
                problem = f"the profile of the kernel changes too often within {edges[-1]:.3g} lengthscales"
                raise InvalidInput(problem, self._profile, "Pass a longer lengthscale, or a longer period.")
            coarse = (self._error(starts, lengths) > RESOLVED) & (lengths > SHORTEST_PIECE * edges[-1])
            refined.append(starts[~coarse])
            number += len(refined[-1])
            half = lengths[coarse] / 2
            starts, lengths = np.concatenate((starts[coarse], starts[coarse] + half)), np.tile(half, 2)
        return np.sort(np.concatenate(refined))

    def _error(self, starts: Floats, lengths: Floats) -> Floats:
        """Return by how much the profile differs on pieces from a polynomial through 16 points."""
        places = starts[:, None] + lengths[:, None] / 2 * (1 + np.concatenate((_FINE_NODES, _CHECKED)))
        values = np.asarray(self._profile.value(places.ravel()), dtype=float).reshape(places.shape)
        nodes, checked = np.split(values, [len(_FINE_NODES)], axis=1)
        with one_thread():
            return np.asarray(np.abs(checked - nodes @ _INTERPOLATION).max(axis=1))


_resolution = lru_cache(1024)(Resolution)


def mean_under(
    profile: Profile,
    gap: Floats,  # shape (n,): the value that distances are relative to
    breaks: Floats,  # shape (n, b): where the density is not smooth, sorted, relative to `gap`; 0 beyond them
    density: Callable[[Ints, Floats], Floats],  # of case numbers (m, 1) and distances from `gap` (m, k)
) -> Floats:
    """Return the mean of a profile when the distance is random."""
    mean = np.empty(len(gap))
    low, high = gap + breaks[:, 0], gap + breaks[:, -1]
    pieces = _resolution(profile).edges(float(np.maximum(-low, high).max(initial=0.0)))
    first = np.searchsorted(pieces, low, side="right")
    inside = np.searchsorted(pieces, high, side="left") - first
    # The number of pieces of a case must not depend on which others are computed with it.
    numbers = 2 ** np.ceil(np.log2(np.maximum(inside, 1))).astype(int)
    for number in np.unique(numbers).tolist():
        (alike,) = (numbers == number).nonzero()
        step = AT_ONCE // (len(_FINE_NODES) * (number + breaks.shape[1])) + 1
        for start in range(0, len(alike), step):
            cases = alike[start : start + step]
            at = np.minimum(first[cases, None] + np.arange(number), len(pieces) - 1)
            within = np.clip(pieces[at] - gap[cases, None], breaks[cases, :1], breaks[cases, -1:])
            edges = np.concatenate([breaks[cases], within], axis=1)
            edges.sort(axis=1)
            half = np.diff(edges)[..., None] / 2
            away = ((edges[:, :-1, None] + half) + half * _FINE_NODES).reshape(len(cases), -1)  # from the gap
            weights = (half * _FINE_WEIGHTS).reshape(len(cases), -1)
            values = profile.value(gap[cases, None] + away) * density(cases[:, None], away) * weights
            mean[cases] = np.add.reduce(values, 1)
    return mean
