"""Kernels of one axis that closes on itself: a profile wrapped around a ring.

``kappa_P(r) = sum_m kappa(r + m P) / sum_m kappa(m P)``: of a stationary kernel that is a kernel again (its
Fourier coefficients are those of the straight one), and averages of it are sums of averages. The next images of a
place are added one by one, as the profile itself averages over them; all that are farther away together are smooth
as seen from here, and one polynomial stands for them. So it takes no more where the lengthscale is longer than the
ring.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from zonal.averages.profiles import WIDE, Profile
from zonal.errors import InvalidInput

Floats = NDArray[np.float64]

NOTHING = 1e-17  # of a variance of 1
ROUNDING = 16 * float(np.finfo(float).eps)
LEAST = 1e-12  # of the variance of a derivative, where f is as good as constant around the ring
SHORTEST = 1e-9  # period, in lengthscales: around a shorter ring every kernel is constant, to all digits
EVEN = 1.5  # turns: a normal place that is spread so far is as good as anywhere
BLOCK, BLOCKS, DOUBLINGS = 64, 16, 64  # images that are added at a time, and how far
TERMS = (16, 32, 64, 128)  # of a polynomial
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


class Far(Profile):
    """All images of a place but the nearest `images` on either side, seen from within half a period.

    A polynomial of the squared distance, in Chebyshev's form.
    """

    def __init__(self, profile: Profile, period: float, images: int) -> None:
        self._reach = (images + 1) * period / 2
        for terms in TERMS:
            angle = np.pi * (np.arange(terms) + 0.5) / terms
            total = _beyond(profile, period, images, self._reach * np.sqrt((1 + np.cos(angle)) / 2))
            series = 2 / terms * np.cos(np.multiply.outer(np.arange(terms), angle)) @ total
            series[0] /= 2
            (large,) = (np.abs(series) > max(NOTHING, ROUNDING * float(np.abs(total).max()))).nonzero()
            if large.max(initial=0) < terms - 2:
                break
        self._series = series[: large.max(initial=0) + 1]
        self.nothing = not large.size

    def value(self, r: Floats) -> Floats:
        """Return the sum of all that is far away."""
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
    """Return the sum over all images of some places but the nearest `images` on either side."""

    def pair(turns: Floats) -> Floats:
        far = turns[:, None] * period
        return profile.value(far - x) + profile.value(far + x)

    total, first = np.zeros(len(x)), images + 1
    for start in range(first, first + BLOCK * BLOCKS, BLOCK):
        block = pair(np.arange(start, start + BLOCK, dtype=float)).sum(axis=0)
        total += block
        if np.abs(block).max() <= 0.1 * NOTHING * max(1.0, float(np.abs(total).max())):
            return total
    # What falls off slowly: an integral in place of the sum (by midpoints, so with a slope at its end).
    last = first + BLOCK * BLOCKS
    edges = (last - 0.5) * 2.0 ** np.arange(DOUBLINGS + 1)
    half = np.diff(edges)[:, None] / 2
    inside = pair((edges[:-1, None] + half * (1 + _NODES)).ravel()).reshape(DOUBLINGS, -1, len(x))
    parts = np.einsum("ij,ijk->ik", half * _WEIGHTS, inside)
    ends = pair(np.array([last - 1.0, last]))
    total += parts.sum(axis=0) + (ends[1] - ends[0]) / 24
    if not np.abs(parts[-1]).max() <= 1e-15 * float(np.abs(total).max()):
        fix = "Use a kernel that falls off faster, or an axis that is no ring."
        raise InvalidInput("this kernel falls off too slowly to be wrapped around a ring", profile, fix)
    return total


class Wrapped(Profile):
    """A profile around a ring.

    Parameters
    ----------
    profile : Profile
        Along a straight line.
    period : float
        Once around, in lengthscales.
    """

    def __init__(self, profile: Profile, period: float) -> None:
        self._profile, self._period = profile, max(period, SHORTEST)
        self._beyond: dict[int, Far] = {}
        self._next = int(self._period / 2 < self._gone)  # images that a place sees of another
        self._whole = 1 + float(self._far(0).value(np.zeros(1))[0])

    def _far(self, images: int) -> Far:
        """Return the sum over all images but the nearest `images` on either side."""
        if images not in self._beyond:
            self._beyond[images] = Far(self._profile, self._period, images)
        return self._beyond[images]

    @cached_property
    def _gone(self) -> float:
        """Distance at which nothing is left of the profile."""
        distances = np.geomspace(1.0, 1e3, 400)
        (left,) = (np.abs(self._profile.value(distances)) > NOTHING).nonzero()
        return float(distances[min(left[-1] + 1, 399)]) if left.size and left[-1] < 399 else np.inf

    def _folded(self, gap: Floats) -> Floats:
        """Return distances the short way round, of either sign."""
        return np.asarray(gap - self._period * np.rint(gap / self._period))

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        r = self._folded(r)
        total = self._profile.value(r.copy())
        for turn in (-1, 1)[: 2 * self._next]:
            total += self._profile.value(r + turn * self._period)
        if not self._far(self._next).nothing:
            total += self._far(self._next).value(r)
        total /= self._whole
        return total

    def _sum(self, way: str, gap: Floats, reach: Floats, *more: Floats) -> Floats:
        """Return the sum over all images of what one way to average makes of each, shape (n,).

        Parameters
        ----------
        way : {"mean", "blurred", "softened"}
        gap, reach : array, shape (n,)
            About which distance, and how far from there, the places that are averaged over lie.
        """
        gap, total = self._folded(gap), np.zeros(len(gap))
        images = np.ceil(2 * reach / self._period).astype(int)  # they see a far image from half its distance

        def add(profile: Profile, own: NDArray[np.bool_], away: Floats) -> None:
            if own.any():
                total[own] += getattr(profile, way)(away[own], *[one[own] for one in more])

        for turn in range(-int(images.max(initial=0)), int(images.max(initial=0)) + 1):
            away = gap + turn * self._period
            add(self._profile, (abs(turn) <= images) & (np.abs(away) - reach < self._gone), away)
        for number in np.unique(images).tolist():
            seen = (number + 1) * self._period - np.abs(gap) - reach < self._gone
            if not self._far(number).nothing:
                add(self._far(number), (images == number) & seen, gap)
        return total / self._whole

    def mean(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
        """Return the mean over two arcs, by the distance of their centres and their widths."""
        return self._sum("mean", gap, (wide_a + wide_b) / 2, wide_a, wide_b)

    def blurred(self, gap: Floats, spread: Floats) -> Floats:
        """Return the mean when the distance is normal about `gap`."""
        spread = np.minimum(spread, EVEN * self._period)
        return self._sum("blurred", gap, WIDE * spread, spread)

    def softened(self, gap: Floats, wide: Floats, spread: Floats) -> Floats:
        """Return the mean between an arc and a normal place."""
        spread = np.minimum(spread, EVEN * self._period)
        return self._sum("softened", gap, wide / 2 + WIDE * spread, wide, spread)

    def _variance(self, order: int, straight: float | None) -> float | None:
        """Return the variance of a derivative, of which the kernel's is of twice the order."""
        if straight is None or self._far(0).nothing:
            return straight
        spectrum = self._profile.spectrum
        if spectrum is None:
            around = (straight + (-1) ** order * self._far(0).derivative(2 * order)) / self._whole
        else:  # a sum of positive numbers, however little f varies around the ring
            rate: Floats = 2 * np.pi / self._period * np.arange(1.0, int(2 * self._period) + 3)
            shares = spectrum(rate)
            around = 2 * (rate ** (2 * order) * shares).sum() / (spectrum(0 * rate)[0] + 2 * shares.sum())
        return max(float(around), LEAST * straight)

    @cached_property
    def slope_variance(self) -> float | None:
        """Variance of the derivative of a draw, None if it has none."""
        return self._variance(1, self._profile.slope_variance)

    @cached_property
    def curvature_variance(self) -> float | None:  # type: ignore[override]
        """Variance of the second derivative, None if there is none."""
        return self._variance(2, self._profile.curvature_variance)

    @cached_property
    def third_variance(self) -> float | None:  # type: ignore[override]
        """Variance of the third derivative, None where it is not known."""
        return None if self._profile.spectrum is None else self._variance(3, self._profile.third_variance)


wrapped = lru_cache(256)(Wrapped)
