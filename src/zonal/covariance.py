"""Prior covariance of averages over products: where kernels and footprints meet, an axis at a time.

Whoever needs an average of a kernel asks here; learning asks for the same averages at other lengthscales.

Kernels and regions are products over axes, so the covariance of two averages is the product over axes of
one-dimensional averages. Each axis keeps a table of the distinct intervals seen so far with all their pairwise
averages; a footprint is one interval number an axis. Grids of s^d points therefore cost d averages of s x s
values, once for each new pair of intervals. On an axis of symbols the average over two sets is
``rho + (1 - rho) p . q``, with p and q the frequencies of the symbols within them: all completions of a prefix
cost no more than the prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal.blas import SHARED_FROM, one_thread
from zonal.feedback import Feedback, Footprints
from zonal.interval_means import Averaged, mean_over_intervals
from zonal.kernels import Along, Kernel, Match
from zonal.spaces import Category, Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

BLOCK = 1 << 20  # kernel values in memory at once
CHEAP = 1 << 16  # kernel values, up to which computing anew is faster than remembering
EXACT_COST = 1000  # what an exact mean costs, in kernel values
GEMM_SHARES_LATER = 28  # times later than a matrix-vector product, in multiplications, does BLAS use threads
LARGEST_LAG, LARGEST_CLASS = 1 << 43, 1 << 10  # that fit into one 63-bit key together


class Averages:
    """Averages of a kernel along one axis over pairs of footprints, all in lengthscales.

    Parameters
    ----------
    profile : Averaged
        The kernel along the axis, at lengthscale one.
    variance : float
        The factor for all values.
    grid : array, shape (s,), or None
        Where a footprint looks within its interval; None for all of it.
    """

    def __init__(self, profile: Averaged, variance: float, grid: Floats | None) -> None:
        self._profile = profile
        self._variance = variance
        self._exact = grid is None
        points = np.zeros(1) if grid is None else grid
        ours, theirs = np.repeat(points, len(points)), np.tile(points, len(points))
        # Distance of two points = (distance of centres, width, other width) . (1, ours, -theirs)
        self._pairs = np.stack([np.ones(ours.size), ours, -theirs])
        self._weight = variance / ours.size
        self._ones = np.ones(ours.size)
        self.cost = EXACT_COST if grid is None else ours.size

    def __call__(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
        """Return averages for distances of the centres and pairs of widths, which broadcast together."""
        if self._exact:
            return self._variance * mean_over_intervals(self._profile, gap, wide_a, wide_b)
        geometry = np.empty((3, *gap.shape))
        geometry[0], geometry[1], geometry[2] = gap, wide_a, wide_b
        geometry = geometry.reshape(3, -1).T
        step = max(1, BLOCK // gap.size)
        if step >= self._pairs.shape[1]:
            return (self._weight * self._sum(geometry, self._pairs)).reshape(gap.shape)
        total = np.zeros(gap.size)
        for start in range(0, self._pairs.shape[1], step):
            total += self._sum(geometry, self._pairs[:, start : start + step])
        return self._weight * total.reshape(gap.shape)

    def _sum(self, geometry: Floats, pairs: Floats) -> Floats:
        """Add up the kernel over some of the pairs of points."""
        with one_thread(geometry.size * pairs.shape[1] // GEMM_SHARES_LATER):
            values = self._profile.value(geometry @ pairs)
        if values.size < SHARED_FROM:
            return np.asarray(values @ self._ones[: values.shape[1]])
        return np.asarray(np.add.reduce(values, 1))  # BLAS would hand a sum of this size to several threads


class Remembered:
    """Averages on a lattice, each computed once.

    The average over two cells of a tree depends on their widths and on the distance of their centres, a whole
    number of half widths of the narrower one. A tree meets few distinct cases: a fifth of all pairs in a short
    search, far fewer in a long one.
    """

    def __init__(self, averages: Averages) -> None:
        self._averages = averages
        self._widths = Dictionary(np.float64)  # of widths, to a number for each
        self._values = Dictionary(np.int64)  # of keys, to averages

    def __call__(self, centers: Floats, widths: Floats, others: Floats, other_widths: Floats) -> Floats:
        """Return the averages between some intervals and others, shape (some, others)."""
        shape = (len(centers), len(others))
        gap = np.abs(centers[:, None] - others).ravel()
        wide_a, wide_b = (np.broadcast_to(w, shape).ravel() for w in (widths[:, None], other_widths))
        unit = 0.5 * np.minimum(wide_a, wide_b)
        rounding = 4 * np.finfo(float).eps * float(others.max())
        with np.errstate(divide="ignore", invalid="ignore"):
            lag = np.rint(gap / unit)
            fits = (np.abs(gap - lag * unit) <= rounding) & (lag < LARGEST_LAG)  # no points: their unit is 0
        numbers = [self._widths.get(w, self._number) for w in (widths, other_widths)]
        first, second = (np.broadcast_to(number, shape).ravel() for number in (numbers[0][:, None], numbers[1]))
        if self._widths.size > LARGEST_CLASS:
            fits[:] = False
        mean = np.empty(gap.size)
        if not fits.all():
            mean[~fits] = self._averages(gap[~fits], wide_a[~fits], wide_b[~fits])
        pair = np.minimum(first, second) * LARGEST_CLASS + np.maximum(first, second)
        keys = pair[fits].astype(np.int64) * LARGEST_LAG + lag[fits].astype(np.int64)
        gap, wide_a, wide_b = lag[fits] * unit[fits], wide_a[fits], wide_b[fits]  # rid of the centres' rounding
        mean[fits] = self._values.get(keys, lambda at: self._averages(gap[at], wide_a[at], wide_b[at]))
        return mean.reshape(shape)

    def _number(self, at: Ints) -> Floats:
        """Return numbers for widths not met before."""
        return self._widths.size + np.arange(len(at), dtype=float)


class Dictionary:
    """Numbers by key, for whole arrays of keys at once."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._keys: NDArray[Any] = np.zeros(0, dtype)  # sorted
        self._values = np.zeros(0)

    @property
    def size(self) -> int:
        """The number of keys."""
        return len(self._values)

    def get(self, keys: NDArray[Any], compute: Callable[[Ints], Floats]) -> Floats:
        """Return the values of `keys`; `compute` gets the positions of those that are new."""
        at = np.searchsorted(self._keys, keys)
        known = at < len(self._keys)
        known[known] = self._keys[at[known]] == keys[known]
        if not known.all():
            unknown = np.flatnonzero(~known)
            fresh, where = np.unique(keys[unknown], return_index=True)
            values = compute(unknown[where])
            place = np.searchsorted(self._keys, fresh)
            self._keys = np.insert(self._keys, place, fresh)
            self._values = np.insert(self._values, place, values)
            at = np.searchsorted(self._keys, keys)
        return self._values[at]


class _Axis:
    """The distinct intervals of one axis and their pairwise averages, for one term of the kernel."""

    def __init__(self, averages: Averages, lengthscale: float) -> None:
        self._averages = averages
        self._remembered = Remembered(averages)
        self._scale = 1 / lengthscale
        self._numbers: dict[tuple[float, float], int] = {}
        self._centers = np.zeros(128)  # in lengthscales
        self._widths = np.zeros(128)
        self.gram = np.zeros((128, 128))  # past the entered intervals: junk

    @property
    def size(self) -> int:
        """The number of intervals."""
        return len(self._numbers)

    def add(self, centers: Floats, widths: Floats) -> list[int]:
        """Return the number of each interval, entering those not seen before."""
        old = len(self._numbers)
        numbers = [
            self._numbers.setdefault(interval, len(self._numbers))
            for interval in zip(centers.tolist(), widths.tolist(), strict=True)
        ]
        size = len(self._numbers)
        if size > old:
            if size > len(self._centers):
                self._grow(max(size, 2 * len(self._centers)))
            where = slice(old, size) if size - old == len(numbers) else numbers
            self._centers[where] = centers * self._scale
            self._widths[where] = widths * self._scale
            block = self._cross(self._centers[old:size], self._widths[old:size])
            self.gram[old:size, :size] = block
            self.gram[:size, old:size] = block.T
        return numbers

    def cross(self, centers: Floats, widths: Floats) -> Floats:
        """Return averages between the given intervals and all that are entered."""
        return self._cross(centers * self._scale, widths * self._scale)

    def own(self, centers: Floats, widths: Floats) -> Floats:
        """Return the average of each given interval with itself."""
        scaled = widths * self._scale
        return self._averages(np.zeros(len(widths)), scaled, scaled)

    def among(self, centers: Floats, widths: Floats) -> Floats:
        """Return averages between all pairs of the given intervals."""
        center, width = centers * self._scale, widths * self._scale
        return self._averages(center[:, None] - center, width[:, None], width)

    def _cross(self, centers: Floats, widths: Floats) -> Floats:
        size = len(self._numbers)
        others, other_widths = self._centers[:size], self._widths[:size]
        if len(centers) * size * self._averages.cost > CHEAP:
            return self._remembered(centers, widths, others, other_widths)
        return self._averages(centers[:, None] - others, widths[:, None], other_widths)

    def _grow(self, capacity: int) -> None:
        more = capacity - len(self._centers)
        self._centers = np.pad(self._centers, (0, more))
        self._widths = np.pad(self._widths, (0, more))
        self.gram = np.pad(self.gram, (0, more))


class _Symbols:
    """The distinct sets of symbols of one axis and their pairwise averages, for one term of the kernel."""

    def __init__(self, axis: Category, correlation: float, variance: float) -> None:
        self._axis = axis
        self._correlation = correlation
        self._variance = variance
        self._numbers: dict[float, int] = {}
        self._frequencies = np.zeros((0, len(axis.symbols)))
        self.gram = np.zeros((0, 0))

    @property
    def size(self) -> int:
        """The number of sets."""
        return len(self._numbers)

    def add(self, pools: Floats, shares: Floats) -> list[int]:
        """Return the number of each set, entering those not seen before."""
        old = len(self._numbers)
        numbers = [self._numbers.setdefault(pool, len(self._numbers)) for pool in pools.tolist()]
        if len(self._numbers) > old:
            fresh = np.array(list(self._numbers)[old:])
            self._frequencies = np.concatenate([self._frequencies, frequencies(self._axis, fresh)])
            self.gram = self._average(self._frequencies @ self._frequencies.T)
        return numbers

    def cross(self, pools: Floats, shares: Floats) -> Floats:
        """Return averages between the given sets and all that are entered."""
        return self._average(frequencies(self._axis, pools) @ self._frequencies.T)

    def own(self, pools: Floats, shares: Floats) -> Floats:
        """Return the average of each given set with itself."""
        inside = frequencies(self._axis, pools)
        return self._average(np.add.reduce(inside * inside, 1))

    def among(self, pools: Floats, shares: Floats) -> Floats:
        """Return averages between all pairs of the given sets."""
        inside = frequencies(self._axis, pools)
        return self._average(inside @ inside.T)

    def _average(self, overlap: Floats) -> Floats:
        return self._variance * (self._correlation + (1 - self._correlation) * overlap)


def frequencies(axis: Category, pools: Floats) -> Floats:
    """Return the frequency of every symbol within sets of symbols, shape (sets, symbols)."""
    distinct, where = np.unique(pools, return_inverse=True)
    return np.array([axis.frequencies(int(pool)) for pool in distinct])[where]


def _axis(
    axis: Interval | Category, factor: Along | Match, variance: float, feedback: Feedback
) -> _Axis | _Symbols:
    if isinstance(factor, Match):
        assert isinstance(axis, Category)
        return _Symbols(axis, factor.correlation, variance)
    return _Axis(Averages(factor.profile, variance, feedback.grid), factor.lengthscale)


class ProductCovariance:
    """Prior covariance of averages over regions that are products over axes.

    Footprints are entered once and then known by their number, in order of entry.

    Parameters
    ----------
    kernel : Kernel
        A sum of products over axes.
    feedback : Feedback
        What a measurement sees of a region.
    axes : sequence of Interval or Category
        Of the space.
    """

    def __init__(self, kernel: Kernel, feedback: Feedback, axes: Sequence[Interval | Category]) -> None:
        d = len(axes)
        symbols = [isinstance(axis, Category) for axis in axes]
        # The first axis carries each term's variance.
        self._terms = [
            [
                _axis(axes[j], factor, 1.0 if j else term.variance, feedback)
                for j, factor in enumerate(term.along(symbols))
            ]
            for term in kernel.terms
        ]
        self._numbers = np.zeros((d, 128), dtype=np.intp)
        self.size = 0
        self._plain = False  # one term, one axis, no repeats: a footprint's number is its interval's

    def add(self, footprints: Footprints) -> Floats:
        """Enter footprints; return their covariances with all entered."""
        start = self.size
        self.enter(footprints)
        return self.between(slice(start, self.size), slice(0, self.size))

    def enter(self, footprints: Footprints) -> Floats:
        """Enter footprints, which get the next numbers; return their variances."""
        start, self.size = self.size, self.size + len(footprints)
        capacity = self._numbers.shape[1]
        if self.size > capacity:
            self._numbers = np.pad(self._numbers, ((0, 0), (0, max(self.size - capacity, capacity))))
        for axes in self._terms:  # every term numbers the intervals alike
            for j, axis in enumerate(axes):
                self._numbers[j, start : self.size] = axis.add(footprints.centers[:, j], footprints.widths[:, j])
        only = self._terms[0][0]
        self._plain = len(self._terms) == len(self._numbers) == 1 and only.size == self.size
        if self._plain:
            return only.gram.diagonal()[start : self.size]
        new = self._numbers[:, start : self.size]
        return self._combine(lambda axis, j: axis.gram[new[j], new[j]])

    def row(self, one: int) -> Floats:
        """Return the covariance of one footprint with all that are entered; not to be changed."""
        if self._plain:
            return self._terms[0][0].gram[one, : self.size]
        return self._combine(lambda axis, j: axis.gram[self._numbers[j, one]].take(self._numbers[j, : self.size]))

    def between(self, some: Ints | slice, others: Ints | slice) -> Floats:
        """Return the covariance matrix of entered footprints, by number; not to be changed."""
        if self._plain and isinstance(some, slice) and isinstance(others, slice):
            return self._terms[0][0].gram[some, others]
        if self._plain:
            gram = self._terms[0][0].gram[some]
            return gram[:, others] if isinstance(others, slice) else gram.take(others, axis=1)
        return self._combine(
            lambda axis, j: axis.gram[self._numbers[j, some]].take(self._numbers[j, others], axis=1)
        )

    def outside(self, some: Ints, footprints: Footprints) -> tuple[Floats, Floats]:
        """Return covariances of entered footprints with others that are not, and their variances."""
        centers, widths = footprints.centers.T, footprints.widths.T
        cross = self._combine(
            lambda axis, j: axis.cross(centers[j], widths[j]).take(self._numbers[j, some], axis=1)
        )
        return cross.T, self._combine(lambda axis, j: axis.own(centers[j], widths[j]))

    def among(self, footprints: Footprints) -> Floats:
        """Return the covariance matrix of footprints that are not entered."""
        centers, widths = footprints.centers.T, footprints.widths.T
        return self._combine(lambda axis, j: axis.among(centers[j], widths[j]))

    def _combine(self, part: Callable[[_Axis | _Symbols, int], Floats]) -> Floats:
        """Multiply over axes and add over terms."""
        total: Floats | None = None
        for axes in self._terms:
            product = part(axes[0], 0)
            for j in range(1, len(axes)):
                product *= part(axes[j], j)
            total = product if total is None else total + product
        assert total is not None
        return total
