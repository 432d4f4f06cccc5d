"""Continuous axes that differ from a plain line: in decades, or closed on themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from zonal.arrays import Floats
from zonal.averages.kernels import Along
from zonal.averages.wrapped import wrapped
from zonal.errors import InvalidInput
from zonal.spaces.axes import Interval, Part, checked_ends
from zonal.spaces.region import ROUNDING

if TYPE_CHECKING:
    from zonal.averages.feedback import Feedback
    from zonal.averages.kernels import Factor

EXACT = 52  # bits of an integer that a float holds exactly
MOST_TURNS = 16  # a measure that covers more turns is uniform


@dataclass(frozen=True)
class Logarithmic(Interval):
    """A continuous axis that is split, averaged and modelled in decades.

    `low`, `high` and `smallest` are in decades; users see and pass their own numbers.
    """

    scale: ClassVar[str] = "log"
    measured_in: ClassVar[str] = "decades"

    given: tuple[float, float] = (1.0, 10.0)  # the ends in the user's numbers, without rounding

    @classmethod
    def of(cls, name: str, ends: tuple[float, float], unit: str, smallest: Any) -> Self:
        """Check the ends, in the user's numbers, and return the axis."""
        if ends[0] <= 0:
            problem = f"axis {name} is logarithmic, so its bounds must be positive"
            raise InvalidInput(problem, ends, "Start above 0, or drop the scale.")
        low, high = map(math.log10, ends)
        return replace(super().of(name, (low, high), unit, smallest), given=ends)

    def again(self) -> Self:
        """Return the axis made again from its own values, to compare with it."""
        return self.of(self.name, checked_ends(self.name, self.given), self.unit, self.smallest)

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end in the user's numbers."""
        return self.given

    def native(self, places: Any) -> Any:
        """Return positions on the axis in the user's numbers."""
        low, high = self.ends
        shown = 10.0 ** np.asarray(places, dtype=float)
        return np.where(places == self.low, low, np.where(places == self.high, high, shown))[()]

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

    def is_part(self, part: Part) -> bool:
        """Tell whether a part, read from a file, is consistent: one of an axis of decades."""
        return Interval(self.name, self.low, self.high).is_part(part)

    def faces(self, part: Part) -> tuple[float, Part, Part]:
        """Return the distance of the ends of a part, in the user's numbers, and both ends as parts."""
        low, high = self.bounds(part)
        return high - low, *super().faces(part)[1:]

    def span(self, low: float, high: float) -> str:
        """Return "low..high" in the user's numbers, with enough digits to distinguish neighbours."""
        decades = high - low if high > low else 1e-3
        digits = max(3, 2 - math.floor(math.log10(decades)))
        return f"{self.native(low):.{digits}g}..{self.native(high):.{digits}g}"


@dataclass(frozen=True)
class Ring(Interval):
    """A continuous axis whose upper end is its lower end: longitudes, hours of the day, directions.

    It is cut open there for the tree only: no cell crosses the cut, but other regions may. An arc is stored as its
    start, on the axis, and its width; its upper edge may lie beyond the end of the axis.
    """

    scale: ClassVar[str] = "periodic"

    @property
    def remark(self) -> str:
        """A note that plots add to its name: where it closes."""
        return f"ring: {self.high:g} is {self.low:g}"

    def native(self, places: Any) -> Any:
        """Return positions on the axis, from whichever turn."""
        turned = np.mod(np.asarray(places, dtype=float) - self.low, self.side)
        return (self.low + turned * (turned < self.side))[()]

    def apart(self, places: Floats, place: float) -> Floats:
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
            low = float(self.native(low))
            high = low + width
        if width < 0:
            high += side
        return ((low - self.low) + (high - self.low)) / 2, high - low, (low, high)

    def _turned(self, part: Part) -> Iterator[Part]:
        """Yield an arc shifted by -1, 0 and 1 turns."""
        offset, size, (low, high) = part
        for turn in (-self.side, 0.0, self.side):
            yield offset + turn, size, (low + turn, high + turn)

    def overlap(self, one: Part, other: Part) -> bool:
        """Tell whether two arcs overlap; a shared edge does not count."""
        return any(super(Ring, self).overlap(one, turned) for turned in self._turned(other))

    def holds(self, outer: Part, inner: Part) -> bool:
        """Tell whether an arc lies within another, up to rounding."""
        whole = outer[1] >= self.side * (1 - ROUNDING)
        return whole or any(super(Ring, self).holds(outer, turned) for turned in self._turned(inner))

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
        assert isinstance(factor, Along)
        return replace(factor, profile=wrapped(factor.profile, self.side / factor.lengthscale))

    def seen_in(self, part: Part, feedback: Feedback, pixels: int, equal: bool) -> Floats:
        """Return the share of the measure of an arc in each of `pixels` pixels; the shares add up to 1."""
        measure, (offset, size, _) = self.measure(feedback), part
        turns = 1 + min(math.ceil(3 * measure.reach(size) / self.side), MOST_TURNS)
        shares = measure.shares(offset + turns * self.side, size, self.side / pixels, (2 * turns + 2) * pixels)
        return np.asarray(shares.reshape(-1, pixels).sum(axis=0))

    def spread(self, number: int) -> Floats:
        """Return `number` values once around; the point where it closes comes twice."""
        return np.linspace(self.low, self.high, number)
