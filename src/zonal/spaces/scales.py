"""Continuous axes on another scale than the user's numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from zonal.errors import InvalidInput
from zonal.spaces.axes import Interval, Part, checked_ends

EXACT = 52  # bits of an integer that a float holds exactly


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
