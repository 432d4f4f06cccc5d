"""Prior covariance of averages over products: where kernels and footprints meet, an axis at a time.

Whoever needs an average of a kernel asks here; learning asks for the same averages at other lengthscales.

Kernels and regions are products over axes, so the covariance of two averages is the product over axes of
one-dimensional averages. The layout knows the distinct intervals of each axis and which pairs of them are alike;
a kernel is one average for each kind of pair. Grids of s^d points therefore cost d averages of s x s values,
once for each kind, and the covariances of several models share all but those. On an axis of symbols the average
over two sets is ``rho + (1 - rho) p . q``, with p and q the frequencies of the symbols within them: all
completions of a prefix cost no more than the prefix. Motifs are no product; `motifs.py` has their averages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal.averages.feedback import Feedback, Footprints
from zonal.averages.kernels import Along, Kernel, Match, Term
from zonal.averages.layout import ALONE, Cases, Intervals, Pools, ProductLayout
from zonal.averages.measures import Measure, means
from zonal.averages.motifs import Motif, Pieces
from zonal.averages.profiles import Profile
from zonal.spaces import Category, Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

CHEAP = 1 << 16  # kernel values, up to which computing anew is faster than remembering
FEW = 256  # cases that are computed whether they are asked for or not
MOST_KEPT = 256  # factors of kernels whose averages are kept


class Along1D:
    """Averages of one factor of a kernel along a continuous axis: one number for each case of the layout."""

    def __init__(
        self, intervals: Intervals, measures: Sequence[Measure], profile: Profile, lengthscale: float
    ) -> None:
        self._intervals = intervals
        self._measures = measures
        self._profile = profile
        self._scale = 1 / lengthscale
        self._values = np.zeros(0)
        self._known = 0

    def row(self, one: int, others: Ints) -> Floats:
        """Return averages between one entered interval and others, by number."""
        intervals = self._intervals
        if intervals.keeps:
            return self.of(intervals.row(one).take(others))
        row: Floats = self.between(np.array([one]), others)[0]
        return row

    def between(self, some: Ints, others: Ints) -> Floats:
        """Return averages between entered intervals, by number."""
        return self.alike(self._intervals.pairs(some, others), some, others)

    def alike(self, case: Cases, some: Ints, others: Ints) -> Floats:
        """Return averages between entered intervals whose cases are at hand."""
        intervals = self._intervals
        if intervals.keeps:
            return self.of(case)
        seen = intervals.centers, intervals.widths, intervals.feedbacks
        return self._fill(case, [own[some] for own in seen], [own[others] for own in seen])

    def own(self, some: Ints) -> Floats:
        """Return the average of each entered interval with itself, by number."""
        intervals = self._intervals
        if intervals.keeps:
            return self.of(intervals.own(some))
        return self.alone(intervals.centers[some], intervals.widths[some], intervals.feedbacks[some])

    def cross(self, centers: Floats, widths: Floats, feedbacks: Sequence[int]) -> Floats:
        """Return averages between the given intervals and all that are entered."""
        intervals = self._intervals
        size, ours = intervals.size, (centers, widths, np.array(feedbacks))
        others = [own[:size] for own in (intervals.centers, intervals.widths, intervals.feedbacks)]
        if len(centers) * size * self._measures[0].cost <= CHEAP:
            case = np.full((len(centers), size), ALONE, dtype=np.int32)
        else:
            case = intervals.around(centers, widths, feedbacks)
        return self._fill(case, ours, others)

    def alone(self, centers: Floats, widths: Floats, feedbacks: Sequence[int] | Ints) -> Floats:
        """Return the average of each given interval with itself."""
        seen = np.array(feedbacks)
        return self._compute(np.zeros(len(widths)), widths, widths, seen, seen)

    def among(self, centers: Floats, widths: Floats, feedbacks: Sequence[int]) -> Floats:
        """Return averages between all pairs of the given intervals."""
        seen = np.array(feedbacks)
        return self._compute(centers[:, None] - centers, widths[:, None], widths, seen[:, None], seen)

    def _fill(self, case: Cases, some: Sequence[Any], others: Sequence[Any]) -> Floats:
        """Return the averages of some cases; of pairs that share none, from centres, widths and feedbacks."""
        off = case == ALONE
        if not off.any():
            return self.of(case)
        row, column = off.nonzero()
        (center, wide, seen), (other, narrow, theirs) = some, others
        apart = self._compute(center[row] - other[column], wide[row], narrow[column], seen[row], theirs[column])
        if len(row) == case.size:
            return apart.reshape(case.shape)
        mean = self.of(np.where(off, np.max(case), case))
        mean[row, column] = apart
        return mean

    def _compute(self, gap: Floats, wide_a: Floats, wide_b: Floats, seen_a: Ints, seen_b: Ints) -> Floats:
        geometry = np.empty((3, *gap.shape))
        geometry[0], geometry[1], geometry[2] = gap, wide_a, wide_b
        views = np.empty((2, *gap.shape), dtype=np.int64)
        views[0], views[1] = seen_a, seen_b
        return self._of(geometry.reshape(3, -1), views.reshape(2, -1)).reshape(gap.shape)

    def _of(self, geometry: Floats, views: Ints) -> Floats:
        return means(self._measures, views, self._profile, geometry, self._scale)

    def of(self, case: Cases) -> Floats:
        """Return the averages of some cases, computing those that are new."""
        cases, intervals = self._intervals.cases, self._intervals
        if self._known < cases:
            self._compute_ahead(cases)
        mean = self._values.take(case)
        if self._known < cases:
            missing = np.isnan(mean)
            if missing.any():
                new = np.unique(case[missing])
                self._values[new] = self._of(intervals.geometry[:, new], intervals.views[:, new])
                mean = self._values.take(case)
        return mean

    def _compute_ahead(self, cases: int) -> None:
        """Make room for all cases, and compute those that are new if they are few: all will be asked for soon."""
        if cases > len(self._values):
            more = max(cases, 2 * len(self._values)) - len(self._values)
            self._values = np.concatenate([self._values, np.full(more, np.nan)])
        if cases - self._known <= FEW:
            new = slice(self._known, cases)
            self._values[new] = self._of(self._intervals.geometry[:, new], self._intervals.views[:, new])
            self._known = cases


class OfSymbols:
    """Averages of one factor of a kernel along an axis of symbols: rho + (1 - rho) times the overlap."""

    def __init__(self, pools: Pools, correlation: float) -> None:
        self._pools = pools
        self._correlation = correlation

    def row(self, one: int, others: Ints) -> Floats:
        """Return averages between one entered set and others, by number."""
        return self.of(self._pools.overlap[one].take(others))

    def between(self, some: Ints, others: Ints) -> Floats:
        """Return averages between entered sets, by number."""
        return self.of(self._pools.pairs(some, others))

    def alike(self, overlap: Floats, some: Ints, others: Ints) -> Floats:
        """Return averages between entered sets whose overlaps are at hand."""
        return self.of(overlap)

    def own(self, some: Any) -> Floats:
        """Return the average of each entered set with itself, by number."""
        return self.of(self._pools.overlap[some, some])

    def cross(self, pools: Floats, shares: Floats, feedbacks: Sequence[int]) -> Floats:
        """Return averages between the given sets and all that are entered."""
        return self.of(self._pools.cross(pools))

    def alone(self, pools: Floats, shares: Floats, feedbacks: Sequence[int]) -> Floats:
        """Return the average of each given set with itself."""
        return self.of(self._pools.own(pools))

    def among(self, pools: Floats, shares: Floats, feedbacks: Sequence[int]) -> Floats:
        """Return averages between all pairs of the given sets."""
        return self.of(self._pools.among(pools))

    def of(self, overlap: Floats) -> Floats:
        """Return the averages of sets that overlap so much."""
        return self._correlation + (1 - self._correlation) * overlap


class Products:
    """One term of a kernel: a product over axes."""

    def __init__(self, layout: ProductLayout, axes: Sequence[Along1D | OfSymbols]) -> None:
        self._layout = layout
        self._axes = axes

    def own(self, some: Ints | slice) -> Floats:
        """Return the variance of each entered footprint, by number."""
        numbers = self._layout.numbers[:, some]
        return self._over(lambda axis, j: axis.own(numbers[j]))

    def row(self, one: int, size: int) -> Floats:
        """Return the covariance of one entered footprint with the first `size` of them."""
        numbers = self._layout.numbers
        return self._over(lambda axis, j: axis.row(numbers[j, one], numbers[j, :size]))

    def between(self, some: Ints | slice, others: Ints | slice) -> Floats:
        """Return the covariances of entered footprints, by number."""
        numbers = self._layout.numbers
        return self._over(lambda axis, j: axis.between(numbers[j, some], numbers[j, others]))

    def cross(self, some: Ints, footprints: Footprints) -> Floats:
        """Return the covariances of entered footprints with others that are not, shape (others, entered)."""
        centers, widths, seen = self._seen(footprints)
        numbers = self._layout.numbers
        return self._over(lambda axis, j: axis.cross(centers[j], widths[j], seen).take(numbers[j, some], axis=1))

    def alone(self, footprints: Footprints) -> Floats:
        """Return the variance of each footprint that is not entered."""
        centers, widths, seen = self._seen(footprints)
        return self._over(lambda axis, j: axis.alone(centers[j], widths[j], seen))

    def among(self, footprints: Footprints) -> Floats:
        """Return the covariances of footprints that are not entered."""
        centers, widths, seen = self._seen(footprints)
        return self._over(lambda axis, j: axis.among(centers[j], widths[j], seen))

    def within(self, footprints: Footprints) -> Floats:
        """Return the variance of f at a point about the average of its region."""
        return 1 - self.alone(footprints)

    def _seen(self, footprints: Footprints) -> tuple[Floats, Floats, Sequence[int]]:
        return footprints.centers.T, footprints.widths.T, self._layout.feedbacks(footprints)

    def _over(self, part: Callable[[Along1D | OfSymbols, int], Floats]) -> Floats:
        product = part(self._axes[0], 0)
        for j in range(1, len(self._axes)):
            product *= part(self._axes[j], j)
        return product


class Tables:
    """Averages over the footprints of a layout, kept for every part of a kernel that was asked for.

    Parameters
    ----------
    layout : ProductLayout
        The footprints.
    """

    def __init__(self, layout: ProductLayout) -> None:
        self.layout = layout
        self._kept: dict[tuple[int, Profile, float], Along1D] = {}
        self._pieces: dict[Motif, Pieces] = {}

    def __call__(self, j: int, factor: Along | Match) -> Any:
        """Return the averages of a factor along an axis."""
        part = self.layout.parts[j]
        if isinstance(factor, Match):
            assert isinstance(part, Pools)
            return OfSymbols(part, factor.correlation)
        assert isinstance(part, Intervals)
        key = j, factor.profile, factor.lengthscale
        if key not in self._kept:
            if len(self._kept) >= MOST_KEPT:  # the oldest is the least likely to be asked for again
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = Along1D(part, self.layout.measures[j], factor.profile, factor.lengthscale)
        return self._kept[key]

    def term(self, term: Term) -> Products | Pieces:
        """Return the covariances of averages under one term of a kernel, at variance one."""
        if not isinstance(term, Motif):
            factors = term.along(self.layout.symbols)
            return Products(self.layout, [self(j, factor) for j, factor in enumerate(factors)])
        alike = replace(term, variance=1.0)
        if alike not in self._pieces:
            self._pieces[alike] = Pieces(self.layout, term)
        return self._pieces[alike]

    def pairs(self, slots: Ints) -> Callable[[Kernel], Floats]:
        """Return what turns a kernel into covariances between all pairs of some footprints."""
        numbers = self.layout.numbers[:, slots]
        alike = [part.pairs(own, own) for part, own in zip(self.layout.parts, numbers, strict=True)]

        def averages(term: Term) -> Floats:
            if isinstance(term, Motif):
                return self.term(term).between(slots, slots)
            factors = term.along(self.layout.symbols)
            product: Floats = self(0, factors[0]).alike(alike[0], numbers[0], numbers[0])
            for j in range(1, len(factors)):
                product *= self(j, factors[j]).alike(alike[j], numbers[j], numbers[j])
            return product

        return lambda kernel: _total([(term.variance, averages(term)) for term in kernel.terms])


class ProductCovariance:
    """Prior covariance of averages over regions that are products over axes.

    Footprints are entered once and then known by their number, in order of entry.

    Parameters
    ----------
    kernel : Kernel
        A sum of products over axes, and of motifs.
    feedback : Feedback
        What a measurement sees of a region.
    axes : sequence of Interval or Category
        Of the space.
    tables : Tables, optional
        To share footprints and averages with the covariances of other kernels.
    """

    def __init__(
        self, kernel: Kernel, feedback: Feedback, axes: Sequence[Interval | Category], tables: Tables | None = None
    ) -> None:
        tables = Tables(ProductLayout(axes, feedback)) if tables is None else tables
        self._layout = tables.layout
        self._terms = [(term.variance, tables.term(term)) for term in kernel.terms]

    def enter(self, at: int, footprints: Footprints) -> None:
        """Enter footprints, numbered from `at` on; what had these numbers is forgotten."""
        self._layout.enter(at, footprints)

    def apart(self) -> ProductCovariance:
        """Return itself: what it remembers is a function of the footprints, whoever asks."""
        return self

    def variances(self, start: int, stop: int) -> Floats:
        """Return the variances of the footprints of some numbers."""
        return _total([(variance, term.own(slice(start, stop))) for variance, term in self._terms])

    def row(self, one: int, size: int) -> Floats:
        """Return the covariance of one footprint with the first `size` of them."""
        return _total([(variance, term.row(one, size)) for variance, term in self._terms])

    def between(self, some: Ints | slice, others: Ints | slice) -> Floats:
        """Return the covariance matrix of entered footprints, by number."""
        return _total([(variance, term.between(some, others)) for variance, term in self._terms])

    def outside(self, some: Ints, footprints: Footprints) -> tuple[Floats, Floats]:
        """Return covariances of entered footprints with others that are not, and their variances."""
        cross = _total([(variance, term.cross(some, footprints)) for variance, term in self._terms])
        return cross.T, _total([(variance, term.alone(footprints)) for variance, term in self._terms])

    def among(self, footprints: Footprints) -> Floats:
        """Return the covariance matrix of footprints that are not entered."""
        return _total([(variance, term.among(footprints)) for variance, term in self._terms])

    def within(self, footprints: Footprints) -> Floats:
        """Return the prior variance of f at a point about the average over each footprint around it."""
        return _total([(variance, term.within(footprints)) for variance, term in self._terms])


def _total(terms: Sequence[tuple[float, Floats]]) -> Floats:
    """Return the sum of terms, each times its variance; they are written into."""
    variance, total = terms[0]
    total *= variance
    for variance, term in terms[1:]:
        term *= variance
        total += term
    return total
