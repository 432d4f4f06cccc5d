"""Kernels on a ring: a profile wrapped around it.

``kappa_P(r) = sum_m kappa(r + m P) / sum_m kappa(m P)``: for a stationary kernel this is a kernel again (its
Fourier coefficients are those of the straight one), and its averages are sums of averages. The nearest images of a
point are added one by one; the sum of all that are farther away is smooth and is replaced by one polynomial, so a
lengthscale longer than the ring costs no more.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial import chebyshev

from zonal._types import Flags, Floats
from zonal.errors import require
from zonal.kernels.stationary import WIDE, Profile, Variances

NEGLIGIBLE = 1e-17  # relative to a variance of 1
ROUNDING = 16 * float(np.finfo(float).eps)
LEAST = 1e-12  # relative variance of a derivative, where f is nearly constant around the ring
SHORTEST = 1e-9  # period, in lengthscales: around a shorter ring every kernel is constant to rounding
UNIFORM = 1.5  # turns: a normal distribution at least this wide is uniform around the ring
BLOCK, BLOCKS, DOUBLINGS = 64, 16, 64  # images added at a time, how often, and panels of the integral beyond
TERMS = (16, 32, 64, 128)  # of a polynomial
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


class Far(Profile):
    """The sum over all images of a point but the nearest `images` on either side, within half a period.

    It is a Chebyshev polynomial of the squared distance.
    """

    smooth = True

    def __init__(self, profile: Profile, period: float, images: int) -> None:
        self._reach = (images + 1) * period / 2
        for terms in TERMS:
            angle = np.pi * (np.arange(terms) + 0.5) / terms
            total = _beyond(profile, period, images, self._reach * np.sqrt((1 + np.cos(angle)) / 2))
            series = 2 / terms * np.cos(np.multiply.outer(np.arange(terms), angle)) @ total
            series[0] /= 2
            (large,) = (np.abs(series) > max(NEGLIGIBLE, ROUNDING * float(np.abs(total).max()))).nonzero()
            if large.max(initial=0) < terms - 2:
                break
        self._series = series[: large.max(initial=0) + 1]
        self.nothing = not large.size

    def value(self, r: Floats) -> Floats:
        """Return the sum over all far images."""
        shift = r / self._reach
        shift *= shift
        shift *= 2
        shift -= 1
        return np.asarray(chebyshev.chebval(shift, self._series))

    def derivative(self, order: int) -> float:
        """Return the second or the fourth derivative at distance 0."""
        times = {2: 2.0, 4: 12.0}[order]  # of a function of r^2
        inner = chebyshev.chebder(self._series, order // 2)
        return times * (2 / self._reach**2) ** (order // 2) * float(chebyshev.chebval(-1.0, inner))


def _beyond(profile: Profile, period: float, images: int, x: Floats) -> Floats:
    """Return the sum over all images of some points but the nearest `images` on either side."""

    def pair(turns: Floats) -> Floats:
        far = turns[:, None] * period
        return profile.value(far - x) + profile.value(far + x)

    total, first = np.zeros(len(x)), images + 1
    for start in range(first, first + BLOCK * BLOCKS, BLOCK):
        block = pair(np.arange(start, start + BLOCK, dtype=float)).sum(axis=0)
        total += block
        if np.abs(block).max() <= 0.1 * NEGLIGIBLE * max(1.0, float(np.abs(total).max())):
            return total
    # For slow decay: an integral in place of the rest of the sum (midpoint rule, with its end correction).
    last = first + BLOCK * BLOCKS
    edges = (last - 0.5) * 2.0 ** np.arange(DOUBLINGS + 1)
    half = np.diff(edges)[:, None] / 2
    inside = pair((edges[:-1, None] + half * (1 + _NODES)).ravel()).reshape(DOUBLINGS, -1, len(x))
    parts = np.einsum("ij,ijk->ik", half * _WEIGHTS, inside)
    ends = pair(np.array([last - 1.0, last]))
    total += parts.sum(axis=0) + (ends[1] - ends[0]) / 24
    gone = np.abs(parts[-1]).max() <= 1e-15 * float(np.abs(total).max())
    fix = "Use a kernel that decays faster, or an axis that is not a ring."
    require(gone, "this kernel decays too slowly to be wrapped around a ring", profile, fix)
    return total


class Wrapped(Profile):
    """A profile, the kernel along a straight line, around a ring of a length given in lengthscales."""

    def __init__(self, profile: Profile, period: float) -> None:
        self.straight, self._period = profile, max(period, SHORTEST)
        self._beyond: dict[int, Far] = {}
        distances = np.geomspace(1.0, 1e3, 400)
        (left,) = (np.abs(profile.value(distances)) > NEGLIGIBLE).nonzero()
        # Distance beyond which the profile is negligible.
        self._gone = float(distances[min(left[-1] + 1, 399)]) if left.size and left[-1] < 399 else np.inf
        self._next = int(self._period / 2 < self._gone)  # images on either side that are not negligible
        self._whole = 1 + float(self._far(0).value(np.zeros(1))[0])

    def _far(self, images: int) -> Far:
        """Return the sum over all images but the nearest `images` on either side."""
        if images not in self._beyond:
            self._beyond[images] = Far(self.straight, self._period, images)
        return self._beyond[images]

    def _folded(self, gap: Floats) -> Floats:
        """Return distances along the shorter way round, of either sign."""
        return np.asarray(gap - self._period * np.rint(gap / self._period))

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        r = self._folded(r)
        total = self.straight.value(r.copy())
        for turn in (-1, 1)[: 2 * self._next]:
            total += self.straight.value(r + turn * self._period)
        if not self._far(self._next).nothing:
            total += self._far(self._next).value(r)
        total /= self._whole
        return total

    def _sum(self, way: str, gap: Floats, reach: Floats, *more: Floats) -> Floats:
        """Return the sum over all images of an average (a method of `Profile`) within `reach` of `gap`."""
        gap, total = self._folded(gap), np.zeros(len(gap))
        images = np.ceil(2 * reach / self._period).astype(int)  # the others are twice as far as the reach

        def add(profile: Profile, cases: Flags, away: Floats) -> None:
            if cases.any():
                total[cases] += getattr(profile, way)(away[cases], *[argument[cases] for argument in more])

        for turn in range(-int(images.max(initial=0)), int(images.max(initial=0)) + 1):
            away = gap + turn * self._period
            add(self.straight, (abs(turn) <= images) & (np.abs(away) - reach < self._gone), away)
        for number in np.unique(images).tolist():
            seen = (number + 1) * self._period - np.abs(gap) - reach < self._gone
            if not self._far(number).nothing:
                add(self._far(number), (images == number) & seen, gap)
        return total / self._whole

    def mean(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
        """Return the mean over two arcs, given the distance of their centres and their widths."""
        return self._sum("mean", gap, (wide_a + wide_b) / 2, wide_a, wide_b)

    def blurred(self, gap: Floats, spread: Floats) -> Floats:
        """Return the mean when the distance is normal about `gap`."""
        spread = np.minimum(spread, UNIFORM * self._period)
        return self._sum("blurred", gap, WIDE * spread, spread)

    def softened(self, gap: Floats, wide: Floats, spread: Floats) -> Floats:
        """Return the mean between an arc and a normally distributed point."""
        spread = np.minimum(spread, UNIFORM * self._period)
        return self._sum("softened", gap, wide / 2 + WIDE * spread, wide, spread)

    def _variance(self, order: int, straight: float | None) -> float | None:
        """Return the variance of f's derivative of this order, given that on a straight line."""
        if straight is None or self._far(0).nothing:
            return straight
        spectrum = self.straight.spectrum
        if spectrum is None:
            around = (straight + (-1) ** order * self._far(0).derivative(2 * order)) / self._whole
        else:  # a sum of positive terms, accurate however little f varies around the ring
            rate: Floats = 2 * np.pi / self._period * np.arange(1.0, int(2 * self._period) + 3)
            shares = spectrum(rate)
            around = 2 * (rate ** (2 * order) * shares).sum() / (spectrum(0 * rate)[0] + 2 * shares.sum())
        return max(float(around), LEAST * straight)

    @cached_property
    def derivatives(self) -> Variances:
        """Variances of the first three derivatives of f; None if one does not exist or is not known."""
        first, second, third = self.straight.derivatives
        third_if_exact = None if self.straight.spectrum is None else third
        return self._variance(1, first), self._variance(2, second), self._variance(3, third_if_exact)


wrapped = lru_cache(256)(Wrapped)
