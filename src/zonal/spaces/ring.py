"""An axis that closes on itself: longitudes, hours of the day, directions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zonal.arrays import Floats
from zonal.averages.kernels import Along
from zonal.averages.wrapped import wrapped
from zonal.errors import InvalidInput
from zonal.spaces.axes import Interval, Part
from zonal.spaces.region import ROUNDING

if TYPE_CHECKING:
    from zonal.averages.feedback import Feedback
    from zonal.averages.kernels import Factor

MOST_TURNS = 16  # a measure that covers more turns is uniform


@dataclass(frozen=True)
class Ring(Interval):
    """A continuous axis whose upper end is its lower end.

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
