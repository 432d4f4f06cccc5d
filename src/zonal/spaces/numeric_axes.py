"""The axes of numbers that are not a plain line: in decades, closed on themselves, or of integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats
from zonal.errors import InvalidInput, is_listed, require, whole_number, without_unit
from zonal.kernels.base import Factor, StationaryFactor
from zonal.kernels.feedback import Feedback
from zonal.kernels.layout import IntervalIndex
from zonal.kernels.measures import BLOCK, Measure
from zonal.kernels.periodic import wrapped
from zonal.kernels.stationary import Profile
from zonal.spaces.axes import ContinuousAxis, Part, Symbol
from zonal.spaces.base import ROUNDING, PartLike, checked_ends

EXACT = 52  # bits of an integer that a float holds exactly
MOST_TURNS = 16  # around a ring: a measure that covers more is uniform
MOST_NUMBERS = 10_000  # of an axis of integers: averages are sums over them


@dataclass(frozen=True)
class LogAxis(ContinuousAxis):
    """A continuous axis that is split, averaged and modelled in decades.

    `low`, `high` and `smallest` are in decades; users see and pass their own numbers.
    """

    scale: ClassVar[str] = "log"
    measured_in: ClassVar[str] = "decades"

    given: tuple[float, float] = (1.0, 10.0)  # the ends in the user's numbers, without rounding

    @classmethod
    def of(cls, name: str, ends: tuple[float, float], unit: str, smallest: float | None) -> Self:
        """Check the ends, in the user's numbers, and return the axis."""
        problem = f"axis {name} is logarithmic, so its bounds must be positive"
        require(ends[0] > 0, problem, ends, "Start above 0, or drop the scale.")
        low, high = map(math.log10, ends)
        return replace(super().of(name, (low, high), unit, smallest), given=ends)

    def revalidated(self) -> Self:
        """Return the axis made again from its own values, to compare with it."""
        return self.of(self.name, checked_ends(self.name, self.given), self.unit, self.smallest)

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end in the user's numbers."""
        return self.given

    def native(self, places: Floats) -> Floats:
        """Return positions on the axis in the user's numbers."""
        low, high = self.ends
        return np.where(places == self.low, low, np.where(places == self.high, high, 10.0**places))

    def place(self, number: float, arity: int) -> float:
        """Return the position of one of the user's numbers: a cell's edge, if that is shown as this number.

        Powers and logarithms round, and a cell must be found again from its written edges.
        """
        if number in self.ends:
            return self.low if number == self.ends[0] else self.high
        if number <= 0:
            return -math.inf
        place = math.log10(number)
        pieces = arity ** np.arange(int(EXACT / math.log2(arity)) + 1.0)
        edges = self.low + self.side * (np.round((place - self.low) / self.side * pieces) / pieces)
        shown_alike = self.native(edges) == number
        return float(edges[shown_alike.argmax()]) if shown_alike.any() else place

    def end_points(self, part: Part) -> tuple[float, Part, Part]:
        """Return the distance of the ends of a part, in the user's numbers, and both ends as parts."""
        low, high = self.bounds(part)
        return high - low, *super().end_points(part)[1:]

    def span(self, low: float, high: float) -> str:
        """Return "low..high" in the user's numbers, with enough digits to distinguish neighbours."""
        decades = high - low if high > low else 1e-3
        digits = max(3, 2 - math.floor(math.log10(decades)))
        first, last = self.bounds((0.0, high - low, (low, high)))
        return f"{first:.{digits}g}..{last:.{digits}g}"


@dataclass(frozen=True)
class PeriodicAxis(ContinuousAxis):
    """A continuous axis whose upper end is its lower end: longitudes, hours of the day, directions.

    It is cut open there for the tree only: no cell crosses the cut, but other regions may. An arc is stored as its
    start, on the axis, and its width; its upper edge may lie beyond the end of the axis.
    """

    scale: ClassVar[str] = "periodic"

    def native(self, places: Floats) -> Floats:
        """Return positions on the axis, from whichever turn."""
        turned = np.mod(places - self.low, self.side)
        return np.asarray(self.low + turned * (turned < self.side))

    def apart(self, places: Floats, place: float | Floats) -> Floats:
        """Return the distances of positions on the ring from another, the shorter way round."""
        turned = np.mod(places - place, self.side)
        return np.minimum(turned, self.side - turned)

    def between(self, low: float, high: float, given: tuple[float, float]) -> Part:
        """Return the arc from one position to another; raise if it is longer than the ring."""
        width, side = high - low, self.side
        slack = ROUNDING * side
        if not (math.isfinite(width) and -side + slack < width <= side + slack):
            first, last = self.ends
            raise InvalidInput(
                f"a region of axis {self.name}, a ring from {first:g} to {last:g}, must go around at most once",
                given,
                "Pass where it begins and where it ends; leave the axis out for the whole ring.",
            )
        if not self.low <= low < self.high:
            low = float(self.native(np.array(low)))
            high = low + width
        if width < 0:
            high += side
        return ((low - self.low) + (high - self.low)) / 2, high - low, (low, high)

    def within_ends(self, centers: Floats, width: float) -> Floats:
        """Return centres on the ring, from whichever turn: a part lies anywhere on it."""
        return (
            np.mod(centers, self.side) if width < self.side * (1 - ROUNDING) else np.full_like(centers, width / 2)
        )

    def window(self, center: float, width: float) -> Part:
        """Return the arc of a width about a centre; it may cross the cut."""
        low = float(self.native(np.array(self.low + center - width / 2)))
        return low - self.low + width / 2, width, (low, low + width)

    def _turned(self, part: Part) -> Iterator[Part]:
        """Yield an arc shifted by -1, 0 and 1 turns."""
        offset, size, (low, high) = part
        for turn in (-self.side, 0.0, self.side):
            yield offset + turn, size, (low + turn, high + turn)

    def overlap(self, part: Part, other: Part) -> bool:
        """Tell whether two arcs overlap; a shared edge does not count."""
        return any(super(PeriodicAxis, self).overlap(part, turned) for turned in self._turned(other))

    def contains(self, outer: Part, inner: Part) -> bool:
        """Tell whether an arc lies within another, up to rounding."""
        whole = outer[1] >= self.side * (1 - ROUNDING)
        return whole or any(super(PeriodicAxis, self).contains(outer, turned) for turned in self._turned(inner))

    def bounds(self, part: Part) -> tuple[float, float]:
        """Return where an arc begins and ends; the end may lie beyond the end of the axis."""
        return part[2]

    def span(self, low: float, high: float) -> str:
        """Return "low..high", both on the axis; for a whole turn not from the cut, high lies beyond it."""
        first, last = super().span(low, high).split("..")
        if self.high < high < low + self.side * (1 - ROUNDING):
            last = super().span(low - self.side, high - self.side).split("..")[1]
        return f"{first}..{last}"

    def reach(self, feedback: Feedback, width: float) -> float:
        """Return the largest distance, the shorter way round, between a sampled point and any point of the arc."""
        return min(super().reach(feedback, width), self.side / 2)

    def factor(self, factor: Factor) -> Factor:
        """Return the factor of a kernel, wrapped around the ring."""
        assert isinstance(factor, StationaryFactor)
        return replace(factor, profile=wrapped(factor.profile, self.side / factor.lengthscale))

    def pixel_weights(self, part: Part, feedback: Feedback, pixels: int, equal: bool) -> Floats:
        """Return the share of the measure of an arc in each of `pixels` pixels; the shares add up to 1."""
        measure, (offset, size, _) = self.measure(feedback), part
        turns = 1 + min(math.ceil(3 * measure.reach(size) / self.side), MOST_TURNS)
        shares = measure.shares(offset + turns * self.side, size, self.side / pixels, (2 * turns + 2) * pixels)
        return np.asarray(shares.reshape(-1, pixels).sum(axis=0))

    def linspace(self, number: int) -> Floats:
        """Return `number` values once around; the point where it closes comes twice."""
        return np.linspace(self.low, self.high, number)


@dataclass(frozen=True)
class IntegerAxis(ContinuousAxis):
    """An axis of the integers from one to another, both included.

    `low` and `high` lie half a step beyond them, so that the width of a run is the number of integers in it. Runs
    are split into parts that differ by at most one integer, down to `smallest` integers, 1 by default.
    """

    scale: ClassVar[str] = "integer"
    measured_in: ClassVar[str] = "numbers"

    @classmethod
    def of(cls, name: str, ends: tuple[float, float], unit: str, smallest: float | None) -> Self:
        """Check the ends, and return the axis of the integers between them."""
        first, last = (_whole(end, f"a bound of axis {name}") for end in ends)
        fix = "Leave the scale out: a continuous axis serves as well."
        require(last - first < MOST_NUMBERS, f"axis {name} has more than {MOST_NUMBERS} numbers", ends, fix)
        return cls(name, first - 0.5, last + 0.5, unit).with_smallest(smallest)

    def with_smallest(self, smallest: float | None) -> Self:
        """Return the same axis with `smallest` integers in its smallest runs, after checking it."""
        if smallest is None:
            return replace(self, smallest=None)
        most, what = int(self.side), f"smallest on axis {self.name}"
        number = _whole(without_unit(smallest, self.unit, what), what)
        return replace(self, smallest=whole_number(number, what, 1, most))

    def nearest(self, arity: int) -> Self:
        """Return the same axis with the possible smallest number of integers that is nearest in ratio."""
        if self.smallest is None:
            return self
        sizes = [self.places]
        while sizes[-1] > 1:
            sizes.append(max(self.places // arity ** len(sizes), 1))
        least = self.smallest
        return replace(self, smallest=min(sizes, key=lambda size: (max(size / least, least / size), -size)))

    def revalidated(self) -> Self:
        """Return the axis made again from its own values, to compare with it."""
        return self.of(self.name, checked_ends(self.name, self.ends), self.unit, self.smallest)

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last number."""
        return int(self.low + 0.5), int(self.high - 0.5)

    # The k-th of n parts begins at k/n of all numbers, rounded up, so that the first is the largest.

    even: ClassVar[bool] = False

    @property
    def places(self) -> int:
        """The number of integers."""
        return int(self.side)

    def may_split(self, splits: int, arity: int) -> bool:
        """Tell whether it can be split again: some part has two integers, or all have enough for several parts."""
        pieces, least = arity**splits, self.smallest or 1.0
        return bool(pieces < self.places if least == 1 else self.places // (pieces * arity) >= least)

    def stuck(self, pieces: int, splits: int, arity: int) -> int:
        """Return how many of `pieces` parts cannot be split again: all, or those with a single integer."""
        single = max(2 * pieces - self.places, 0) if (self.smallest or 1) == 1 else 0
        return min(single, self.places) if self.may_split(splits, arity) else self.count(pieces)

    def cell(self, part: int, pieces: int) -> Part:
        """Return one of `pieces` parts, by its number."""
        first, last = -(-part * self.places // pieces), -(-(part + 1) * self.places // pieces)
        return (first + last) / 2, float(last - first), (self.low + first, self.low + last)

    def grain(self, pieces: int) -> str:
        """Return how many integers the parts have, for people."""
        fewest, most = max(self.places // pieces, 1), -(-self.places // pieces)
        return f"{self.name} {fewest}" + (f" or {most}" if most > fewest else "")

    def narrowest(self, pieces: int) -> float:
        """Return the number of integers in the shortest of `pieces` parts."""
        return float(max(self.places // pieces, 1))

    def within_ends(self, centers: Floats, width: float) -> Floats:
        """Return the centres nearest to some at which a run of so many integers lies on the axis."""
        return np.clip(np.rint(centers - width / 2), 0, max(self.places - width, 0)) + width / 2

    # From the user's description to a part, and back.

    def parse(self, what: PartLike, arity: int) -> Part:
        """Return the part that a user describes: first and last integer, or one."""
        several = is_listed(what) and not isinstance(what, str)
        try:
            first, last = cast("tuple[int, int]", what if several else (what, what))
        except Exception:  # whatever a user's object raises
            fix = "Pass (first, last), or one number."
            raise InvalidInput(f"a part of axis {self.name} must be a pair", what, fix) from None
        bound = f"a bound on axis {self.name}"
        first, last = (_whole(without_unit(edge, self.unit, bound), bound) for edge in (first, last))
        return self.between(first - 0.5, last + 0.5, (first, last))

    def bounds(self, part: Part) -> tuple[float, float]:
        """Return the first and the last number."""
        low, high = part[2]
        return low + 0.5, high - 0.5

    def linspace(self, number: int) -> Floats:
        """Return `number` integers from the first to the last, or all if there are fewer."""
        return np.unique(np.linspace(*self.ends, min(number, self.places)).round())

    def to_json(self, part: Part) -> list[Symbol]:
        """Return the first and the last number, ready for JSON."""
        return [int(edge) for edge in self.bounds(part)]

    def span(self, low: float, high: float) -> str:
        """Return "first..last", or the only number."""
        first, last = int(low + 0.5), int(high - 0.5)
        return f"{first}" if first == last else f"{first}..{last}"

    def named(self, text: str, arity: int) -> None:
        """Return None: what is printed of integers is exact."""

    def number_of(self, part: Part, pieces: int) -> int | None:
        """Return which of `pieces` parts this is; None if it is none of them."""
        number = int(part[2][0] - self.low) * pieces // self.places
        return number if self.cell(number, pieces)[2] == part[2] else None

    def from_text(self, text: str) -> tuple[float, float]:
        """Return, from a text (a span or one number), an argument for `parse`."""
        word = text.split(" ")[0]
        return (self.number(word), self.number(word)) if ".." not in word else super().from_text(text)

    # Measures along the axis.

    def layout(self, ranks: list[int]) -> IntervalIndex:
        """Return the object that finds which pairs of parts are equivalent."""
        return IntegerIndex(self, ranks)

    def measure(self, feedback: Feedback) -> Measure:
        """Return what a feedback measures of a part: its measure, moved to the nearest integers."""
        return _lumped(feedback.along(self))

    def end_points(self, part: Part) -> tuple[float, Part, Part]:
        """Return the distance of the first and last integer, and both of them as parts."""
        offset, size, (low, high) = part
        off = (size - 1) / 2
        return size - 1, (offset - off, 1.0, (low, low + 1)), (offset + off, 1.0, (high - 1, high))

    def sample(self, part: Part, number: int, rng: np.random.Generator) -> Sequence[int]:
        """Return random integers of a part."""
        first, last = map(int, self.bounds(part))
        numbers: list[int] = rng.integers(first, last + 1, number).tolist()
        return numbers


def _whole(number: float, what: str) -> int:
    """Check that a number is an integer, of either sign and any type, and return it."""
    if isinstance(number, float) and number.is_integer():
        return int(number)
    return whole_number(number, what, -(2**52), 2**52)


class IntegerIndex(IntervalIndex):
    """The runs of an axis of integers: centres are multiples of half steps, whatever the widths."""

    def __init__(self, axis: IntegerAxis, ranks: list[int]) -> None:
        super().__init__(axis.side, ranks, half=0.5)
        self._axis = axis

    def cells(self, parts: NDArray[np.int64], pieces: int) -> Floats:
        """Return the keys of some of `pieces` parts, with the study's own feedback."""
        centers, widths, _ = zip(*[self._axis.cell(part, pieces) for part in parts.tolist()], strict=True)
        return self.keys(np.array(centers), np.array(widths), (0,) * len(centers), register=True)


class DiscretizedMeasure(Measure):
    """A measure on the integers of a run: each has the weight that another measure has within half a step."""

    finite = True

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self.ends, self.antisymmetric, self.total = measure.ends, measure.antisymmetric, measure.total
        self._row = lru_cache(256)(self._points_and_weights)

    def __reduce__(self) -> tuple[Callable[[Measure], DiscretizedMeasure], tuple[Measure]]:
        """Return how a pickle makes it: from its measure, without the cache."""
        return _lumped, (self._measure,)

    def _points_and_weights(self, number: int) -> tuple[Floats, Floats]:
        """Return consecutive integers, relative to the centre of a run, and the weight of each."""
        more = 0 if self.ends else math.ceil(self._measure.reach(number) - number / 2)  # beyond the run
        every = number + 2 * more
        shares = self._measure.shares(every / 2, float(number), 1.0, every)
        mirrored = -shares[::-1] if self.antisymmetric else shares[::-1]
        shares = (shares + mirrored) / 2  # what lies between two integers is shared by both
        return np.asarray(np.arange(every) - (every - 1) / 2, dtype=np.float64), shares

    def rule(self, width: float, panels: int = 1, order: int = 1) -> tuple[Floats, Floats]:
        """Return the integers with a weight, relative to the centre, and their weights."""
        places, shares = self._row(round(width))
        return places[shares != 0], shares[shares != 0]

    def mean(self, profile: Profile, geometry: Floats, scale: float | Floats) -> Floats:
        """Return the mean of a function of the distance between integers of two runs."""
        mean, scale = np.empty(geometry.shape[1]), np.broadcast_to(scale, geometry.shape[1])
        for pair in np.unique(geometry[1:], axis=1).T:
            lags, weights = self._lags(*pair.tolist())
            (alike,) = (geometry[1:] == pair[:, None]).all(axis=0).nonzero()
            step = BLOCK // len(lags) + 1
            for start in range(0, len(alike), step):
                block = alike[start : start + step]
                values = profile.value(scale[block, None] * np.add.outer(geometry[0, block], lags))
                values *= weights
                mean[block] = np.add.reduce(values, 1)
        return mean

    def _lags(self, wide: float, narrow: float) -> tuple[Floats, Floats]:
        """Return the differences of integers of two runs, and their weights."""
        (ours, shares), (theirs, other_shares) = self._row(round(wide)), self._row(round(narrow))
        weights = np.convolve(shares, other_shares[::-1])
        lags = ours[0] - theirs[-1] + np.arange(len(weights))
        return lags[weights != 0], weights[weights != 0]

    def reach(self, width: float) -> float:
        """Return the largest distance between a sampled number and any number of the run."""
        return (round(width) - 1) / 2 + float(np.max(np.abs(self.rule(width)[0])))


_lumped = lru_cache(64)(DiscretizedMeasure)
