"""Prior covariance of averages: the only room where kernels and footprints meet.

Kernels and regions are products over axes, so the covariance of two averages is the product over axes of
one-dimensional averages. Each axis keeps a table of the distinct intervals seen so far with all their pairwise
averages; a footprint is one interval number an axis. Grids of s^d points therefore cost d averages of s x s
values, once for each new pair of intervals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zonal.feedback import Feedback, Footprints
from zonal.interval_means import Profile, mean_over_intervals
from zonal.kernels import Kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

BLOCK = 1 << 20  # kernel values in memory at once


def average(
    profile: Profile, grid: Floats | None, gap: Floats, wide_a: Floats, wide_b: Floats
) -> Floats:
    """Return the averages of a one-axis kernel over pairs of footprints.

    Parameters
    ----------
    profile : Profile
        The kernel along the axis, at lengthscale one.
    grid : array, shape (s,), or None
        Where a footprint looks within its interval; None for all of it.
    gap, wide_a, wide_b : array
        Distance of the centres and the two widths, in lengthscales; they broadcast together.
    """
    if grid is None:
        return mean_over_intervals(profile, gap, wide_a, wide_b)
    s = len(grid)
    total = np.zeros(np.broadcast_shapes(gap.shape, wide_a.shape, wide_b.shape))
    rows = max(1, BLOCK // (total.size * s + 1))
    for start in range(0, s, rows):
        part = grid[start : start + rows, None]
        distance = gap[..., None, None] + (
            wide_a[..., None, None] * part - wide_b[..., None, None] * grid
        )
        np.abs(distance, out=distance)
        values = profile.value(distance).reshape(-1, part.size * s)
        total += (values @ np.full(part.size * s, 1 / s**2)).reshape(total.shape)
    return total


class _Axis:
    """The distinct intervals of one axis and, for each term of the kernel, their pairwise averages."""

    def __init__(self, profiles: list[Profile], lengthscales: list[float], grid: Floats | None):
        self._profiles = profiles
        self._lengthscales = lengthscales
        self._grid = grid
        self._numbers: dict[tuple[float, float], int] = {}
        self._centers = np.zeros(8)
        self._widths = np.zeros(8)
        self._grams = [np.zeros((8, 8)) for _ in profiles]

    def add(self, centers: Floats, widths: Floats) -> list[int]:
        """Return the number of each interval, entering those not seen before."""
        old = len(self._numbers)
        numbers = [
            self._numbers.setdefault(interval, len(self._numbers))
            for interval in zip(centers.tolist(), widths.tolist(), strict=True)
        ]
        size = len(self._numbers)
        if size > old:
            self._grow(size)
            for number, center, width in zip(numbers, centers, widths, strict=True):
                self._centers[number], self._widths[number] = center, width
            new = slice(old, size)
            for term, gram in enumerate(self._grams):
                block = self.cross(term, self._centers[new], self._widths[new])
                gram[new, :size] = block
                gram[:size, new] = block.T
        return numbers

    def cross(self, term: int, centers: Floats, widths: Floats) -> Floats:
        """Return averages between the given intervals and all that are entered."""
        size = len(self._numbers)
        # Siblings share a width; one row of offsets then serves them all.
        shared = widths[:1] if (widths == widths[:1]).all() else widths
        return self._average(
            term,
            centers[:, None] - self._centers[:size],
            shared[:, None],
            self._widths[None, :size],
        )

    def own(self, term: int, widths: Floats) -> Floats:
        """Return the average of each given interval with itself."""
        return self._average(term, np.zeros(len(widths)), widths, widths)

    def gram(self, term: int) -> Floats:
        """Return the averages between entered intervals; rows and columns past them are junk."""
        return self._grams[term]

    def _average(self, term: int, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
        scale = 1 / self._lengthscales[term]
        return average(
            self._profiles[term], self._grid, gap * scale, wide_a * scale, wide_b * scale
        )

    def _grow(self, size: int) -> None:
        capacity = len(self._centers)
        if size > capacity:
            more = max(size, 2 * capacity) - capacity
            self._centers = np.pad(self._centers, (0, more))
            self._widths = np.pad(self._widths, (0, more))
            self._grams = [np.pad(gram, (0, more)) for gram in self._grams]


class ProductCovariance:
    """Prior covariance of averages over regions that are products over axes.

    Footprints are entered once and then known by their number, in order of entry.

    Parameters
    ----------
    kernel : Kernel
        A sum of products over axes.
    feedback : Feedback
        What a measurement sees of a region.
    d : int
        The number of axes.
    """

    def __init__(self, kernel: Kernel, feedback: Feedback, d: int) -> None:
        self._variances = [term.variance for term in kernel.terms]
        scales = [term.lengthscales(d) for term in kernel.terms]
        self._axes = [
            _Axis(
                [term.profile for term in kernel.terms],
                [float(scale[j]) for scale in scales],
                feedback.grid,
            )
            for j in range(d)
        ]
        self._numbers = np.zeros((d, 16), dtype=np.intp)
        self.size = 0

    def add(self, footprints: Footprints) -> None:
        """Enter footprints; they get the next numbers."""
        start, self.size = self.size, self.size + len(footprints.centers)
        capacity = self._numbers.shape[1]
        if self.size > capacity:
            self._numbers = np.pad(self._numbers, ((0, 0), (0, max(self.size - capacity, capacity))))
        for j, axis in enumerate(self._axes):
            self._numbers[j, start : self.size] = axis.add(
                footprints.centers[:, j], footprints.widths[:, j]
            )

    def row(self, one: int) -> Floats:
        """Return the covariance of one footprint with all that are entered."""
        total: Floats | None = None
        for term, variance in enumerate(self._variances):
            product: Floats | None = None
            for axis, numbers in zip(self._axes, self._numbers, strict=True):
                part = axis.gram(term)[numbers[one]].take(numbers[: self.size])
                product = part if product is None else np.multiply(product, part, out=product)
            assert product is not None
            product *= variance
            total = product if total is None else total + product
        assert total is not None
        return total

    def between(self, some: Ints, others: Ints | slice) -> Floats:
        """Return the covariance matrix of entered footprints, by number."""
        total = 0.0
        for term, variance in enumerate(self._variances):
            product = variance
            for axis, numbers in zip(self._axes, self._numbers, strict=True):
                product = product * axis.gram(term)[numbers[some][:, None], numbers[others]]
            total = total + product
        return np.asarray(total)

    def variance(self, some: slice) -> Floats:
        """Return the prior variance of entered footprints."""
        total = 0.0
        for term, variance in enumerate(self._variances):
            product = variance
            for axis, numbers in zip(self._axes, self._numbers, strict=True):
                product = product * axis.gram(term)[numbers[some], numbers[some]]
            total = total + product
        return np.asarray(total)

    def outside(self, some: Ints, footprints: Footprints) -> tuple[Floats, Floats]:
        """Return covariances of entered footprints with others that are not, and their variances."""
        cross, own = 0.0, 0.0
        for term, variance in enumerate(self._variances):
            cross_product, own_product = variance, variance
            for j, (axis, numbers) in enumerate(zip(self._axes, self._numbers, strict=True)):
                centers, widths = footprints.centers[:, j], footprints.widths[:, j]
                cross_product = cross_product * axis.cross(term, centers, widths)[:, numbers[some]].T
                own_product = own_product * axis.own(term, widths)
            cross, own = cross + cross_product, own + own_product
        return np.asarray(cross), np.asarray(own)
