"""What a measurement averages: a linear functional of f for each region.

A feedback knows regions; it must not know kernels. For regions that are products over axes it gives a measure
along each continuous axis (`measures.py`); on a categorical axis the whole set of symbols is measured. For a set
of members it gives the members measured and their shares. To add a feedback, write a class with `along`; the rest
follows from the measure. A slope is not a product over axes, but a difference of two (`Slope`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, cast

import numpy as np

from zonal._types import Floats, Ints
from zonal.errors import InvalidInput, is_listed, mapped, named, positive_number, reject, require, whole_number
from zonal.kernels.measures import STD, GaussianMeasure, Measure, PointMeasure, Uniform

if TYPE_CHECKING:
    from zonal.spaces import ContinuousAxis, Region, Space, SubsetRegion

    AnySpace: TypeAlias = Space


MOST_POINTS = 10_000_000  # of a grid along an axis, or members chosen from a set
MOST_STUDIED = 5000  # the same where covariances are computed point by point


class Footprints(NamedTuple):
    """What n measurements average over, for regions that are products over axes."""

    # Shape (2, n, d): centres, relative to the lower corner of the space, and widths of the regions; on a
    # categorical axis the set of symbols as a number, and its share of the whole.
    extents: Floats
    feedbacks: tuple[Feedback, ...] | None = None  # the feedback of each; None if all have the study's own


class Subsets(NamedTuple):
    """What n measurements average over, for regions that are sets of members."""

    members: list[Ints]  # positions of the members in the order of the tree
    shares: list[Floats]  # their weights, which add up to 1: rows of the matrix A of equation 4


AnyFootprints = Footprints | Subsets
Term = tuple[float, Any]  # a weight, and a region with its feedback


def spread_evenly(positions: Ints, weights: Floats, number: int) -> tuple[Ints, Floats]:
    """Return some of the members, spread evenly over the weight, and their shares.

    Members next to each other in the order of the tree are similar, so every part of a cell is represented.
    """
    cumulative = np.cumsum(weights)
    at = np.searchsorted(cumulative, (np.arange(number) + 0.5) / number * cumulative[-1])
    chosen, times = np.unique(np.minimum(at, len(positions) - 1), return_counts=True)
    return positions[chosen], times / number


def nearest_member(region: SubsetRegion) -> Ints:
    """Return the position of the member of a region nearest to its centre, as an array."""
    space, positions = region.space, region.positions
    if space.is_categorical:
        return positions[:1]
    far = (space.features[positions] - region.center) / space.sides()
    return positions[[int(np.argmin((far**2).sum(axis=1)))]]


def sampled_members(region: SubsetRegion, number: int) -> tuple[Ints, Floats]:
    """Return positions and shares of `number` members of a region, spread evenly over the weight, or of all."""
    weights = region.space.weights[region.positions]
    if number >= len(weights):
        return region.positions, weights / weights.sum()
    return spread_evenly(region.positions, weights, number)


class Feedback(ABC):
    """Base class of all feedbacks.

    Attributes
    ----------
    slope : str
        The axis along which a slope is measured; "" for averages.

    Examples
    --------
    >>> import zonal as zn
    >>> [isinstance(feedback, zn.Feedback) for feedback in (zn.Mean(), zn.Average(4), zn.Beam(0.1))]
    [True, True, True]
    """

    slope: ClassVar[str] = ""

    @abstractmethod
    def along(self, axis: ContinuousAxis) -> Measure:
        """Return the measure of an interval of a continuous axis."""

    def seen(self, region: SubsetRegion) -> tuple[Ints, Floats]:
        """Return the positions of the members that are measured, and their shares."""
        raise InvalidInput("this feedback is for axes, not for members", self, "Use Center, Average or Mean.")

    def footprints(self, regions: Sequence[Region]) -> Any:
        """Return what measurements of `regions`, all of one space, average over."""
        return regions[0].space.footprints(regions, self)

    def terms(self, region: Region, default: Feedback) -> list[Term]:
        """Return what it measures of a region as a weighted sum of others; `default` is that of the study."""
        return [(1.0, region)]

    def check(self, space: AnySpace) -> None:
        """Raise if a measurement of this kind has no meaning on a space."""
        if space.axes is not None and not space.continuous_axes:
            self._refuse_symbols(space)
        whole = space.cell((0, 0))
        if space.axes is None:
            self.seen(cast("SubsetRegion", whole))
        for axis in space.axes or ():
            axis.measure(self)

    def _refuse_symbols(self, space: AnySpace) -> None:
        for axis in space.axes or ():
            problem = f"a set of symbols ({axis.name}) has no centre and no grid of points"
            require(not axis.is_categorical, problem, self, "Use Mean(), which measures the whole pool.")


def footprints_of(regions: Sequence[Region], default: Feedback) -> Any:
    """Return what measurements of `regions` average over, each with its own feedback, or the default one."""
    seen = [region.feedback if isinstance(region.feedback, Feedback) else default for region in regions]
    all_default = all(feedback == default for feedback in seen)
    return regions[0].space.footprints(regions, default, None if all_default else seen)


def difference(region: Region, minus: Region | None, default: Feedback) -> list[Term]:
    """Return what is measured of a region, minus the same of another if there is one, as a weighted sum."""
    terms = (region.feedback or default).terms(region, default)
    if minus is not None:
        terms = terms + [(-weight, part) for weight, part in (minus.feedback or default).terms(minus, default)]
    return terms


@dataclass(frozen=True)
class Center(Feedback):
    """A measurement is of the centre of the region: the paper's single point feedback, S = 1.

    Examples
    --------
    >>> import zonal as zn
    >>> region = zn.Study([(0, 1)], budget=1, feedback=zn.Center()).ask().region
    >>> region.points.ravel()
    array([0.00195312])
    """

    def along(self, axis: ContinuousAxis) -> Measure:
        """Return the measure of an interval: its centre."""
        return _CENTER

    def seen(self, region: SubsetRegion) -> tuple[Ints, Floats]:
        """Return the position of the member nearest to the centre."""
        return nearest_member(region), np.ones(1)

    def check(self, space: AnySpace) -> None:
        """Raise if the space has a categorical axis."""
        self._refuse_symbols(space)


@dataclass(frozen=True)
class Average(Feedback):
    """A measurement is the average over a grid of representative points (equation 1 of the paper).

    Parameters
    ----------
    s : int
        Points per axis, at the centres of s equal sub-cells; S = s^d in all. For a set of members, s of them
        spread evenly over the weight.

    Examples
    --------
    >>> import zonal as zn
    >>> region = zn.Study([(0, 1)], budget=1, feedback=zn.Average(4)).ask().region
    >>> region.points.ravel()
    array([0.00048828, 0.00146484, 0.00244141, 0.00341797])
    """

    s: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "s", whole_number(self.s, "Average's s", 1, MOST_POINTS))

    def along(self, axis: ContinuousAxis) -> Measure:
        """Return the measure of an interval: the centres of equal parts."""
        return _grid(self.s)

    def seen(self, region: SubsetRegion) -> tuple[Ints, Floats]:
        """Return the positions of s members, spread evenly, and their shares."""
        return (nearest_member(region), np.ones(1)) if self.s == 1 else sampled_members(region, self.s)

    def check(self, space: AnySpace) -> None:
        """Raise if all axes are categorical, or one is and s = 1, or there are too many points."""
        super().check(space)
        if space.axes is not None:
            whole_number(self.s, "Average's s", 1, MOST_STUDIED)
        if self.s == 1:
            self._refuse_symbols(space)


@dataclass(frozen=True)
class Mean(Feedback):
    """A measurement is the exact mean over the whole region (the paper's appendix on continuous feedback).

    Examples
    --------
    >>> import zonal as zn
    >>> telescope = zn.simulate(lambda x: x[:, 0] ** 2, zn.Mean(), noise=0.0)
    >>> round(telescope(zn.Box([(0, 3)]).region([(0, 3)])), 6)
    3.0
    """

    def along(self, axis: ContinuousAxis) -> Measure:
        """Return the measure of an interval: uniform."""
        return _ALL

    def seen(self, region: SubsetRegion) -> tuple[Ints, Floats]:
        """Return the positions of all members, and their shares."""
        return sampled_members(region, len(region.positions))

    def check(self, space: AnySpace) -> None:
        """Accept every space: any region has a mean."""


@dataclass(frozen=True)
class Beam(Feedback):
    """A measurement is an average weighted by a normal density about the centre of the region, not truncated.

    This describes a telescope's beam, a laser spot or a slit of finite sharpness: it also includes a little of
    what lies outside the region.

    Parameters
    ----------
    fwhm : float or mapping of axis name to float, optional
        Full width of the beam at half its maximum, in the axis's own units: one for all axes, or one per axis.
    share : float, optional
        The same as a share of the region's width, if the beam is focused for each region. Pass one of the two.

    Examples
    --------
    >>> Beam(0.5), Beam(share=1.0)
    (Beam(fwhm=0.5), Beam(share=1.0))
    """

    fwhm: float | Mapping[str, float] | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        either = (self.fwhm is None) != (self.share is None)
        fix = "Pass one of them: Beam(0.5) or Beam(share=0.5)."
        require(either, "a beam needs either fwhm or share", (self.fwhm, self.share), fix)
        fwhm = self.fwhm
        if isinstance(fwhm, Mapping):
            given = mapped(fwhm, "Beam's fwhm must be a mapping from axis to width", fix)
            widths = {named(axis, "an axis"): width for axis, width in given.items()}
            widths = {axis: positive_number(width, f"Beam's fwhm on {axis}") for axis, width in widths.items()}
            object.__setattr__(self, "fwhm", _Frozen(widths))
        elif fwhm is not None:
            problem = "Beam's fwhm must be one number, or a mapping from axis to width"
            fix = "Pass for example Beam({'l': 8.0, 'sin_b': 0.14})."
            require(not is_listed(fwhm), problem, fwhm, fix)
            object.__setattr__(self, "fwhm", positive_number(fwhm, "Beam's fwhm"))
        if self.share is not None:
            object.__setattr__(self, "share", positive_number(self.share, "Beam's share"))

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"Beam(share={self.share})" if self.fwhm is None else f"Beam(fwhm={self.fwhm})"

    def check(self, space: AnySpace) -> None:
        """Raise if the axes have no common width, or the beam is wider than one of them, or names another."""
        super().check(space)
        lines = [axis for axis in space.axes or () if not axis.is_categorical]
        fwhm = self.fwhm
        units = [axis.measured_in or axis.unit for axis in lines]
        if isinstance(fwhm, float):
            shown = ", ".join(unit or "none" for unit in units)
            problem = f"axes of different units ({shown}) have no common width of a beam"
            widths = ", ".join(f"{axis.name!r}: ..." for axis in lines)
            require(len(set(units)) <= 1, problem, fwhm, f"Pass one width per axis: Beam({{{widths}}}).")
        elif isinstance(fwhm, Mapping):
            unknown = (name for name in fwhm if name not in space.names)
            reject(unknown, "the beam names an axis that is not there", f"Axes: {', '.join(space.names)}.")
        for axis, unit in zip(lines, units, strict=True):
            width = fwhm[axis.name] if isinstance(fwhm, Mapping) else fwhm
            wide = f"{axis.side:g} {unit}".rstrip()
            problem = f"the beam is wider than axis {axis.name} ({wide})"
            require(
                width is None or width <= axis.side, problem, width, "Pass a full width at half maximum within it."
            )

    def along(self, axis: ContinuousAxis) -> Measure:
        """Return the measure of an interval: a normal density about its centre."""
        if self.share is not None:
            return GaussianMeasure(0.0, STD * self.share)
        fwhm = self.fwhm
        if isinstance(fwhm, Mapping):
            require(axis.name in fwhm, f"the beam has no width on axis {axis.name}", fwhm, "Name every axis.")
            fwhm = fwhm[axis.name]
        assert fwhm is not None
        return GaussianMeasure(STD * fwhm, 0.0)


@dataclass(frozen=True)
class Slope(Feedback):
    """A measurement is the mean slope of f over the region along one axis: for `observe`.

    It is the difference of f between the two faces of the region across that axis, divided by their distance in
    the axis's own units (also on a logarithmic axis). Along the other axes it averages as the study's own
    measurements do.

    Parameters
    ----------
    axis : str
        The name of the axis.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> study.observe([(0, 0.5)], 2.0, sem=0.1, feedback=zn.Slope("x"))
    Observation(number=0, region=<Region 'x 0..0.5'>, value=2.0, sem=0.1, note='', minus=None)
    >>> low, high = study.predict([[(0, 0.1)], [(0.4, 0.5)]]).mean
    >>> bool(low < high)
    True
    """

    axis: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", named(self.axis, "the axis of a slope"))

    @property
    def slope(self) -> str:  # type: ignore[override]
        """The axis along which the slope is measured."""
        return self.axis

    def along(self, axis: ContinuousAxis) -> Measure:
        """Raise: along the other axes the measure depends on the study."""
        raise InvalidInput("a slope cannot be the feedback of a study", self, "Pass it to observe().")

    def terms(self, region: Any, default: Feedback) -> list[Term]:
        """Return the upper face minus the lower one, divided by their distance."""
        j, parts = region.space.names.index(self.axis), [part for _, part in region.along]
        axis = region.space.axes[j]
        run, *ends = axis.end_points(parts[j])
        problem = f"this region has no width along axis {self.axis}"
        require(run > 0, problem, region.name, "Give it a width above 0.")
        sharp = np.ptp(axis.rule(ends[0], default, 1, 2)[0]) == 0  # the default measure of a point is that point
        feedback = default if sharp else _Face(self.axis, default)
        low, high = (region.space.of_parts([*parts[:j], end, *parts[j + 1 :]], feedback) for end in ends)
        return [(1 / run, high), (-1 / run, low)]

    def check(self, space: AnySpace) -> None:
        """Raise if there is no such axis, or it has no slopes."""
        if space.axes is None:
            raise InvalidInput("a set of members has no slopes", self, "Observe averages, or differences: minus=.")
        require(self.axis in space.names, "there is no such axis", self.axis, f"Axes: {', '.join(space.names)}.")
        axis = space.axes[space.names.index(self.axis)]
        axis.end_points(axis.cell(0, 1))


@dataclass(frozen=True)
class _Face(Feedback):
    """The feedback on a face across an axis: a point on that axis; on the others, that of another feedback."""

    axis: str
    of: Feedback

    def along(self, axis: ContinuousAxis) -> Measure:
        """Return the measure of an interval."""
        return _CENTER if axis.name == self.axis else self.of.along(axis)


@lru_cache(maxsize=64)
def _grid(s: int) -> PointMeasure:
    """Return the centres of equal parts, each with the same weight."""
    return PointMeasure((np.arange(s) + 0.5) / s - 0.5)


class _Frozen(dict[str, float]):
    """A mapping that can be hashed, so that feedbacks can be."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


_CENTER, _ALL = PointMeasure([0.0]), Uniform()
