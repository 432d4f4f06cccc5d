"""Prior covariance of averages over products of intervals and sets of symbols.

Kernels and regions are products over axes, so the covariance of two averages is the product over axes of
one-dimensional averages. The layout knows which pairs of intervals are equivalent; a kernel needs one average for
each such case. Grids of s^d points therefore cost d averages of s x s values per case, and covariances of several
models share everything else. On a categorical axis the average over two sets is ``rho + (1 - rho) p . q``, with p
and q the frequencies of the symbols in them: all completions of a prefix cost no more than the prefix. Motifs are
not products; their averages are in `spectrum.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats
from zonal.kernels.base import CategoricalFactor, Factor, Kernel, Term
from zonal.kernels.categorical import CategoryCovariance, CategoryIndex
from zonal.kernels.combinations import AnyPairs, Beside, CombinationPairs, CombinationVariances, Pairs
from zonal.kernels.integrals import quick
from zonal.kernels.layout import IntervalIndex, PairCases, ProductLayout, RepeatedPairs, Uncached
from zonal.kernels.measures import Measure, means
from zonal.kernels.spectrum import Motif, Pieces
from zonal.kernels.stationary import Profile

TOGETHER = 1 << 16  # pairs without a shared case that are averaged at a time
FEW = 64  # most cases that are computed without removing duplicates
MOST_KEPT = 1024  # factors of kernels whose averages are cached
MOST_TOGETHER = 16  # lengthscales for which a few cases are computed together


class AxisCovariance:
    """Averages of one factor of a kernel along a continuous axis: one number for each case of the layout.

    `same_profile` are others that differ in the lengthscale only, the last ones used: if a few cases are needed,
    they are computed for all.
    """

    def __init__(
        self,
        intervals: IntervalIndex,
        measures: Sequence[Measure],
        profile: Profile,
        lengthscale: float,
        same_profile: deque[AxisCovariance],
    ) -> None:
        self._intervals = intervals
        self._measures = measures
        self._profile = profile
        self._scale = 1 / lengthscale
        self._same_profile = same_profile
        self._values = np.zeros(0)  # NaN if not computed yet, or for pairs without a shared case

    def of(self, alike: PairCases | RepeatedPairs) -> Floats:
        """Return the averages of pairs of intervals, computing those that are new."""
        if isinstance(alike, RepeatedPairs):
            return self.of(alike.alike).take(alike.columns, axis=1).take(alike.rows, axis=0)
        case = alike.case
        if self._values.size < self._intervals.cases:
            self._grow()
        mean = self._values.take(case)
        if not mean.size or mean.item(mean.argmax()) < np.inf:  # false for NaN
            return mean
        all_shared = self._obtain(case[mean != mean])  # NaN
        mean = self._values.take(case)
        if not all_shared:
            self._compute_uncached(mean, alike)
        return mean

    def _compute_uncached(self, mean: Floats, alike: PairCases) -> None:
        """Compute the averages of pairs without a shared case, some rows at a time."""
        for rows, pairs in alike.steps(TOGETHER):
            uncached = self._intervals.uncached(pairs)
            if self not in pairs.averages:
                pairs.averages[self] = [self._average(part) for part in uncached]
            for part, averages in zip(uncached, pairs.averages[self], strict=True):
                mean[rows].reshape(-1)[part.at] = averages

    def _average(self, part: Uncached) -> Floats:
        """Return the averages of pairs without a shared case."""
        profile = quick(self._profile) if part.off_grid else self._profile
        averages = means(self._measures, part.views, profile, part.geometry, self._scale)
        return averages if part.repeated is None else averages[part.repeated]

    def _grow(self) -> None:
        """Reserve a value for all cases of the layout."""
        more = max(self._intervals.cases - self._values.size, self._values.size)
        self._values = np.concatenate((self._values, np.full(more, np.nan)))

    def _obtain(self, cases: NDArray[np.intp]) -> bool:
        """Compute or copy the averages of some cases; return whether all of them are cases of the list."""
        alike = self._intervals.first(cases)
        if alike is None:
            return self._compute(cases, self._profile)
        off_grid = alike == alike  # no NaN
        first = np.where(off_grid, alike, cases).astype(np.intp)
        values = self._values.take(first)
        on_grid, missing = first[~off_grid], first[off_grid & (values != values)]
        if missing.size:
            self._compute(missing, quick(self._profile))
        all_shared = self._compute(on_grid, self._profile) if on_grid.size else True
        self._values[cases] = self._values.take(first)
        return all_shared

    def _compute(self, cases: NDArray[np.intp], profile: Profile) -> bool:
        """Compute the averages of some cases; return whether all of them are cases of the list."""
        if cases.size > FEW:  # many of them more than once
            wanted = np.zeros(self._values.size, dtype=bool)
            wanted[cases] = True
            (cases,) = wanted.nonzero()
        geometry, view = self._intervals.geometry(cases)
        all_shared = bool(geometry[0, geometry[0].argmax()] < np.inf)  # false for NaN
        if not all_shared:  # pairs without a shared case stay NaN
            shared = geometry[0] >= 0
            cases, geometry, view = cases[shared], geometry[:, shared], view[shared]
        if self not in self._same_profile:
            self._same_profile.append(self)
        if len(self._measures) == 1:
            self._fill(self._measures[0], profile, cases, geometry)
            return all_shared
        for number, measure in enumerate(self._measures):
            seen_alike = view == number
            self._fill(measure, profile, cases[seen_alike], geometry[:, seen_alike])
        return all_shared

    def _fill(self, measure: Measure, profile: Profile, cases: NDArray[np.intp], geometry: Floats) -> None:
        """Compute cases of one measure; a few of them for all lengthscales in use, which will need them too."""
        number = len(self._same_profile)
        if number == 1 or cases.size > FEW:
            self._values[cases] = measure.mean(profile, geometry, self._scale)
            return
        scales = np.array([covariance._scale for covariance in self._same_profile]).repeat(cases.size)
        every = measure.mean(profile, np.tile(geometry, number), scales).reshape(number, cases.size)
        for covariance, values in zip(self._same_profile, every, strict=True):
            if covariance._values.size < self._intervals.cases:
                covariance._grow()
            covariance._values[cases] = values


def averages(
    layout: IntervalIndex | CategoryIndex,
    measures: Sequence[Measure],
    factor: Factor,
    same_profile: deque[AxisCovariance] | None = None,
) -> AxisCovariance | CategoryCovariance:
    """Return the averages of a factor of a kernel along an axis with this layout."""
    if isinstance(factor, CategoricalFactor):
        return CategoryCovariance(factor.correlation)
    assert isinstance(layout, IntervalIndex)
    return AxisCovariance(
        layout, measures, factor.profile, factor.lengthscale, deque() if same_profile is None else same_profile
    )


class ProductTerm:
    """One term of a kernel: a product over axes, with variance one."""

    def __init__(self, factors: Sequence[AxisCovariance | CategoryCovariance]) -> None:
        self._factors = factors

    def of(self, pairs: Pairs | Beside) -> Floats:
        """Return the covariances of pairs of footprints."""
        axes = pairs[0]
        product: Floats = self._factors[0].of(axes[0])
        for factor, axis in zip(self._factors[1:], axes[1:], strict=True):
            product *= factor.of(axis)
        return product

    def along_axes(self, pairs: Sequence[Any]) -> list[Floats]:
        """Return the covariances along each axis, of pairs by axis."""
        return [factor.of(axis) for factor, axis in zip(self._factors, pairs, strict=True)]

    def within(self, pairs: Pairs) -> Floats:
        """Return the variance of f at a point about the average of its region."""
        return 1 - self.of(pairs)


class CovarianceCache:
    """Averages over the footprints of a layout, cached for every part of a kernel that was used.

    Where the width of a beam is unknown, each width has its own.
    """

    def __init__(self, layout: ProductLayout, fwhm: float | None = None) -> None:
        self.layout = layout
        self._fwhm = fwhm
        self._kept: dict[tuple[int, Factor], AxisCovariance] = {}
        self._same_profile: dict[tuple[int, Profile], deque[AxisCovariance]] = {}
        self._pieces: dict[Motif, Pieces] = {}

    def _factor(self, j: int, factor: Factor) -> AxisCovariance | CategoryCovariance:
        """Return the averages of a factor along an axis."""
        if (j, factor) in self._kept:
            return self._kept[j, factor]
        axis_factor = self.layout.axes[j].factor(factor)
        same_profile = (
            None
            if isinstance(axis_factor, CategoricalFactor)
            else self._same_profile.setdefault((j, axis_factor.profile), deque(maxlen=MOST_TOGETHER))
        )
        measures = self.layout.measures if self._fwhm is None else self.layout.measures_at(self._fwhm)
        covariance = averages(self.layout.parts[j], measures[j], axis_factor, same_profile)
        if isinstance(covariance, AxisCovariance):  # these cache what they have computed
            if len(self._kept) >= MOST_KEPT:  # the oldest is the least likely to be used again
                self._kept.pop(next(iter(self._kept)))
            self._kept[j, factor] = covariance
        return covariance

    def term(self, term: Term) -> ProductTerm | Pieces:
        """Return the covariances of averages under one term of a kernel, with variance one."""
        if not isinstance(term, Motif):
            factors = term.along(self.layout.symbols)
            return ProductTerm([self._factor(j, factor) for j, factor in enumerate(factors)])
        alike = replace(term, variance=1.0)
        if alike not in self._pieces:
            self._pieces[alike] = Pieces(self.layout, term)
        return self._pieces[alike]


class ProductCovariance:
    """Prior covariance of averages over regions that are products over axes.

    The kernel is a sum of products over axes, and of motifs; the tables are shared with those of other kernels.
    """

    def __init__(self, kernel: Kernel, tables: CovarianceCache) -> None:
        self._terms = [(term.variance, tables.term(term)) for term in kernel.terms]

    def of(self, pairs: AnyPairs) -> Floats:
        """Return the covariances of pairs of footprints, some of which may be sums of others."""
        if isinstance(pairs, CombinationPairs | CombinationVariances):
            return pairs.of(self.of)
        variance, first = self._terms[0]
        total = first.of(pairs)
        total *= variance
        for variance, term in self._terms[1:]:
            total += variance * term.of(pairs)
        return total

    def along_axes(self, pairs: Sequence[Any]) -> list[tuple[float, list[Floats]]]:
        """Return for each term, none of them a motif, its variance and its covariances along each axis."""
        terms = ((variance, term) for variance, term in self._terms if isinstance(term, ProductTerm))
        return [(variance, term.along_axes(pairs)) for variance, term in terms]

    def within(self, pairs: Pairs) -> Floats:
        """Return the prior variance of f at a point about the average over each footprint around it."""
        return np.asarray(np.sum([variance * term.within(pairs) for variance, term in self._terms], axis=0))
