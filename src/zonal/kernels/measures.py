"""What a measurement averages of an interval: a measure along one axis, centred on the interval.

From it follow the covariance of two measurements under a kernel, the reach, the points to evaluate and the pixels
of a table. A measure is a few points with weights (`PointMeasure`) or a density (`Uniform`,
`GaussianMeasure`). It must be
symmetric or antisymmetric about the centre, so that the sign of a distance does not matter.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from zonal._types import Floats, Ints
from zonal.errors import require
from zonal.kernels.stationary import WIDE, Profile

BLOCK = 15_000  # kernel values at once: larger arrays would each be requested from the system
MANY = 10_000  # pairs, from which on it is checked whether all are points
STD = 1 / (2 * math.sqrt(2 * math.log(2)))  # of a normal density, relative to its full width at half maximum
FAR = 3.0  # standard deviations that count as within reach
PANELS, ORDER = 16, 8  # of the quadrature rule for a density combined with another one
SYMMETRY = 1e-9  # tolerance for weights and positions of mirror images


class Measure(ABC):
    """The measure of an interval along one axis; distances and widths are in the axis's units."""

    finite = False  # whether it is points with weights
    ends = True  # whether it is 0 beyond its reach
    antisymmetric = False  # about the centre of the interval
    total = 1.0  # of its weights, which multiplies the prior mean: 1 for averages, 0 for slopes

    @abstractmethod
    def mean(self, profile: Profile, geometry: Floats, scale: float | Floats) -> Floats:
        """Return the mean of a function of the distance between points of two intervals.

        The geometry, shape (3, n), is the distance of the centres and the two widths; the scale is one over the
        lengthscale, or over that of each pair.
        """

    def at(self, profile: Profile, gap: Floats, width: float, scale: float) -> Floats:
        """Return the mean of a function of the distance of an interval from points `gap` away from its centre."""
        places, weights = self.rule(width, PANELS, ORDER)
        return np.asarray(profile.value(scale * (gap[:, None] - places)) @ weights)

    @abstractmethod
    def reach(self, width: float) -> float:
        """Return the largest distance between a sampled point and any point of the interval."""

    @abstractmethod
    def rule(self, width: float, panels: int, order: int) -> tuple[Floats, Floats]:
        """Return positions, relative to the centre, and weights of a quadrature rule.

        A density is cut into `panels`, with `order` positions each.
        """

    def shares(self, center: float, width: float, pixel: float, number: int) -> Floats:
        """Return the share of the measure in each of `number` pixels from 0 on; the shares add up to 1.

        A density must do better than the points of its rule.
        """
        places, weights = self.rule(width, 1, 1)
        at = np.clip((center + places) / pixel, 0, number - 1).astype(np.intp)
        return np.asarray(np.bincount(at, weights, number), dtype=np.float64)


class PointMeasure(Measure):
    """A few points with weights.

    Parameters
    ----------
    places : sequence of float
        Positions of the points, for an interval of width 1 centred at 0.
    weights : sequence of float, optional
        By default equal, with sum 1. They may be negative: differences are measures too.
    fixed : sequence of float, optional
        Added to the positions, in the axis's units, whatever the width.
    """

    finite = True

    def __init__(
        self,
        places: Sequence[float] | Floats,
        weights: Sequence[float] | Floats | None = None,
        fixed: Sequence[float] | Floats | None = None,
    ) -> None:
        self.places = np.asarray(places, dtype=float)
        size = self.places.size
        self.weights = np.full(size, 1 / size) if weights is None else np.asarray(weights, dtype=float)
        self.fixed = np.zeros(size) if fixed is None else np.asarray(fixed, dtype=float)
        complete = self.places.shape == self.weights.shape == self.fixed.shape == (size,)
        require(complete, "every point needs a weight", (self.places, self.weights), "Pass one per point.")
        self.total = float(self.weights.sum())
        self.antisymmetric = not _mirrored(self.weights, 1)
        opposite = (self.places, self.fixed, self.weights) if self.antisymmetric else (self.places, self.fixed)
        fits = all(_mirrored(values, -1) for values in opposite)
        fix = "Pass positions in order, symmetric about 0, with weights to match."
        require(fits, "a measure must be symmetric or antisymmetric", self.places.tolist(), fix)
        self._moved = bool(self.fixed.any())

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """Positions, and what is added to them, of the first and of the second of all pairs of points."""
        points = np.stack([self.places, self.fixed])
        return points.repeat(self.places.size, axis=1), np.tile(points, self.places.size)

    @cached_property
    def _pairs(self) -> Floats | float:
        """The products of the weights of all pairs of points; a number if all are the same."""
        pairs = np.multiply.outer(self.weights, self.weights).ravel()
        return float(pairs[0]) if (pairs == pairs[0]).all() else pairs

    def mean(self, profile: Profile, geometry: Floats, scale: float | Floats) -> Floats:
        """Return the mean of a function of the distance between points of two intervals.

        No matrix products: their last digit could depend on how many pairs are averaged at once.
        """
        number, step = geometry.shape[1], BLOCK // len(self.places) ** 2 + 1
        if not self._moved and _are_points(geometry):
            return np.asarray(profile.value(scale * geometry[0]) * self.weights.sum() ** 2)
        if number <= step:
            return self._mean(profile, scale * geometry, scale)
        scale = np.broadcast_to(scale, number)
        parts = [slice(start, start + step) for start in range(0, number, step)]
        means = [self._mean(profile, scale[part] * geometry[:, part], scale[part]) for part in parts]
        return np.concatenate(means)

    def _mean(self, profile: Profile, geometry: Floats, scale: float | Floats) -> Floats:
        gap, wide_a, wide_b = geometry[:, :, None]
        first, second = self._ends
        apart = wide_a * first[0]
        apart += gap
        theirs = wide_b * second[0]
        if self._moved:
            apart += np.multiply.outer(scale, first[1])
            theirs += np.multiply.outer(scale, second[1])
        apart -= theirs
        values = profile.value(apart)
        pairs = self._pairs
        if not isinstance(pairs, float):
            values *= pairs
        mean: Floats = np.add.reduce(values, 1)
        if isinstance(pairs, float):
            mean *= pairs
        return mean

    def reach(self, width: float) -> float:
        """Return the largest distance between one of the points and any point of the interval."""
        return 0.5 * width + float(np.max(np.abs(self.places * width + self.fixed)))

    def rule(self, width: float, panels: int = 1, order: int = 1) -> tuple[Floats, Floats]:
        """Return the points, relative to the centre, and their weights."""
        return self.places * width + self.fixed, self.weights


class Uniform(Measure):
    """Uniform over the interval."""

    def mean(self, profile: Profile, geometry: Floats, scale: float | Floats) -> Floats:
        """Return the mean of a function of the distance between two intervals."""
        if _are_points(geometry):
            return profile.value(scale * geometry[0])
        return profile.mean(*(scale * geometry))

    def at(self, profile: Profile, gap: Floats, width: float, scale: float) -> Floats:
        """Return the mean of a function of the distance between an interval and some points."""
        return profile.mean(scale * gap, np.zeros(len(gap)), np.full(len(gap), scale * width))

    def reach(self, width: float) -> float:
        """Return the largest distance within the interval."""
        return width

    def rule(self, width: float, panels: int, order: int) -> tuple[Floats, Floats]:
        """Return positions, relative to the centre, and weights of a Gauss rule."""
        places, weights = _gauss(panels, order)
        return width * places, weights

    def shares(self, center: float, width: float, pixel: float, number: int) -> Floats:
        """Return how much of the interval lies in each of `number` pixels from 0 on."""
        low, high = (center - width / 2) / pixel, (center + width / 2) / pixel
        edges = np.arange(number + 1)
        share = np.clip(np.minimum(high, edges[1:]) - np.maximum(low, edges[:-1]), 0.0, None)
        share[share < 1e-9 * max(high - low, 1e-300)] = 0.0  # rounding at an edge
        if share.sum() == 0:  # a point
            share[min(int(low), number - 1)] = 1.0
        return np.asarray(share / share.sum())


class GaussianMeasure(Measure):
    """A normal density about the centre of the interval, not truncated.

    Its standard deviation is `fixed`, in the axis's units, plus `relative` in widths of the interval.
    """

    ends = False

    def __init__(self, fixed: float, relative: float) -> None:
        self._fixed = fixed
        self._relative = relative

    def std(self, width: Floats | float) -> Floats | float:
        """Return the standard deviation for an interval of this width."""
        return self._fixed + self._relative * width

    def mean(self, profile: Profile, geometry: Floats, scale: float | Floats) -> Floats:
        """Return the mean of a function of the distance: the difference of two normal variables is normal too."""
        gap, wide_a, wide_b = scale * geometry
        fixed = scale * self._fixed
        spread = np.hypot(fixed + self._relative * wide_a, fixed + self._relative * wide_b)
        return profile.blurred(gap, np.asarray(spread))

    def at(self, profile: Profile, gap: Floats, width: float, scale: float) -> Floats:
        """Return the mean of a function of the distance between a normal variable and some points."""
        return profile.blurred(scale * gap, np.full(len(gap), scale * self.std(width)))

    def reach(self, width: float) -> float:
        """Return the largest distance between a point within reach and any point of the interval."""
        return 0.5 * width + FAR * float(self.std(width))

    def rule(self, width: float, panels: int, order: int) -> tuple[Floats, Floats]:
        """Return positions, relative to the centre, and weights of a Gauss rule times the density."""
        places, weights = _gauss(panels, order)
        places = 2 * WIDE * places
        weights = weights * np.exp(-0.5 * places * places)
        return self.std(width) * places, weights / weights.sum()

    def shares(self, center: float, width: float, pixel: float, number: int) -> Floats:
        """Return how much of the density lies in each of `number` pixels, relative to all of them."""
        from scipy.special import ndtr

        std = float(self.std(width))
        if std == 0:
            return PointMeasure([0.0]).shares(center, width, pixel, number)
        share = np.diff(ndtr((pixel * np.arange(number + 1) - center) / std))
        return np.asarray(share / share.sum())


def means(
    measures: Sequence[Measure],
    views: Ints,  # shape (2, n): the number of the measure of each of the two
    profile: Profile,  # as for `Measure.mean`; distances of the centres are from the second to the first
    geometry: Floats,
    scale: float,
) -> Floats:
    """Return means of a function of the distance between points of two intervals with different measures."""
    if len(measures) == 1:
        return measures[0].mean(profile, geometry, scale)
    mean = np.empty(geometry.shape[1])
    codes = len(measures) * views[0] + views[1]
    for code in np.bincount(codes).nonzero()[0].tolist():
        (where,) = (codes == code).nonzero()
        first, second = (measures[number] for number in divmod(code, len(measures)))
        mean[where] = _between(first, second, profile, geometry[:, where], scale)
    return mean


def _mirrored(values: Floats, sign: int) -> bool:
    """Tell whether values are the same, or opposite, in reverse order."""
    return np.allclose(values, sign * values[::-1], rtol=0, atol=SYMMETRY)


def _are_points(geometry: Floats) -> bool:
    """Tell whether these are many pairs of intervals of width 0, for which averaging would be wasted time."""
    return geometry.shape[1] > MANY and not geometry[1:].any()


def _between(first: Measure, second: Measure, profile: Profile, geometry: Floats, scale: float) -> Floats:
    """Return the mean between two measures."""
    if first is second:
        return first.mean(profile, geometry, scale)
    gap, ours, theirs = geometry
    normal_and_uniform = isinstance(first, GaussianMeasure) and isinstance(second, Uniform)
    if normal_and_uniform or (second.finite and not first.finite):
        first, second, gap, ours, theirs = second, first, -gap, theirs, ours
    if isinstance(second, GaussianMeasure) and isinstance(first, GaussianMeasure):
        return profile.blurred(scale * gap, scale * np.hypot(first.std(ours), second.std(theirs)))
    if isinstance(second, GaussianMeasure) and isinstance(first, Uniform):
        return profile.softened(scale * gap, scale * ours, scale * np.asarray(second.std(theirs)))
    mean = np.zeros(len(gap))
    for wide, narrow in set(zip(ours.tolist(), theirs.tolist(), strict=True)):
        where = (ours == wide) & (theirs == narrow)
        places, weights = first.rule(wide, PANELS, ORDER)
        points = gap[where][:, None] + places
        mean[where] = second.at(profile, points.ravel(), narrow, scale).reshape(points.shape) @ weights
    return mean


def _gauss(panels: int, order: int) -> tuple[Floats, Floats]:
    """Return positions and weights of a Gauss rule on [-1/2, 1/2]."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    places = (np.arange(panels)[:, None] + (nodes + 1) / 2) / panels - 0.5
    return places.ravel(), np.tile(weights, panels) / (2 * panels)
