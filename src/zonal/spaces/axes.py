"""Axes, of which most spaces are made.

All that depends on the kind of an axis is a method of it: how it is split, how a part is described, written and
read, what a feedback measures of it, and how a kernel applies to it. `Axis` lists it.
`ContinuousAxis` is an axis of numbers, `CategoricalAxis` one of symbols; a new kind is a subclass of one of them
with what differs (as `LogAxis`).
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, cast

import numpy as np

from zonal._types import Floats
from zonal.errors import InvalidInput, finite_number, positive_number, require, without_unit
from zonal.kernels.base import Factor
from zonal.kernels.categorical import CategoryIndex
from zonal.kernels.feedback import Feedback
from zonal.kernels.layout import IntervalIndex
from zonal.kernels.measures import Measure
from zonal.spaces.base import RESTORE, ROUNDING, PartLike, alike, checked_ends

# The centre of a part of an axis, relative to the lower end so that no digits are lost far from 0, its width, and
# its edges. For symbols: the set of them as a number, its share of the whole, and the set again, twice.
Part = tuple[float, float, tuple[float, float]]

Symbol = str | int | float  # a value of an axis, as users pass it

MOST_PIECES = 1e200  # of an axis: far beyond any tree, and widths are still numbers
SPAN = re.compile(r"(?P<low>.+?)\.\.(?P<high>\S+)(?: .*)?")


class Axis(ABC):
    """What every axis answers; most defaults are those of an axis of numbers."""

    is_categorical: ClassVar[bool] = False  # whether its values are symbols, which have no distances
    scale: ClassVar[str] = "linear"  # the name by which `Box` takes such an axis, and plots draw it
    measured_in: ClassVar[str] = ""  # the unit of widths and lengthscales, if it is not the axis's unit
    even: ClassVar[bool] = True  # whether all parts of a level are equal, so that all or none can be split

    name: str
    unit: str
    low: float
    smallest: float | None = None  # useful width

    @property
    @abstractmethod
    def side(self) -> float:
        """The width of the whole axis."""

    @property
    @abstractmethod
    def places(self) -> int | None:
        """The number of values, None if it is continuous."""

    @abstractmethod
    def revalidated(self) -> Self:
        """Return the axis made again from its own values, to compare with it."""

    def check(self) -> None:
        """Raise if this axis, read from a file, is not possible."""
        possible = alike(self, self.revalidated()) and isinstance(self.name, str)
        require(possible, "this is not an axis that Zonal has made", self, RESTORE)

    # How it is split.

    @abstractmethod
    def may_split(self, splits: int, arity: int) -> bool:
        """Tell whether it can be split again after `splits` splits."""

    @abstractmethod
    def cell(self, part: int, pieces: int) -> Part:
        """Return one of `pieces` parts, by its number."""

    @abstractmethod
    def number_of(self, part: Part, pieces: int) -> int | None:
        """Return which of `pieces` parts this is; None if it is none of them."""

    def parts(self, arity: int) -> int:
        """Return the number of parts it is split into: its symbols, or as many as its space splits into."""
        return arity

    def count(self, pieces: int) -> int:
        """Return how many of `pieces` parts are not empty."""
        return min(pieces, self.places or pieces)

    def stuck(self, pieces: int, splits: int, arity: int) -> int:
        """Return how many of `pieces` parts cannot be split again."""
        return 0 if self.may_split(splits, arity) else self.count(pieces)

    def width(self, pieces: int) -> float:
        """Return the width of the widest of `pieces` parts, the first."""
        return float(self.cell(0, pieces)[1])

    def grain(self, pieces: int) -> str:
        """Return the size of one of `pieces` parts, for people."""
        return f"{self.name} {self.width(pieces):.6g} {self.measured_in or self.unit}".rstrip()

    # Its parts.

    @abstractmethod
    def overlap(self, part: Part, other: Part) -> bool:
        """Tell whether two parts overlap; a shared edge does not count."""

    @abstractmethod
    def contains(self, outer: Part, inner: Part) -> bool:
        """Tell whether a part lies within another, up to rounding."""

    def is_distinct(self, part: Part) -> bool:
        """Tell whether a part's edges differ from those of other parts after rounding."""
        _, size, (low, high) = part
        return self.is_categorical or abs(high - low - size) <= size / 4

    def share(self, part: Part) -> float:
        """Return how much of the axis lies in a part."""
        return float(part[1] / self.side)

    @abstractmethod
    def bounds(self, part: Part) -> tuple[float, float]:
        """Return the edges in the user's numbers; of symbols the numbers of the first and the last."""

    @abstractmethod
    def center(self, part: Part) -> float:
        """Return the centre in the user's numbers; of several symbols NaN."""

    def native(self, places: Floats) -> Floats:
        """Return positions on the axis in the user's numbers; for symbols their numbers."""
        return places

    @abstractmethod
    def end_points(self, part: Part) -> tuple[float, Part, Part]:
        """Return the distance of the ends of a part, in the user's numbers, and both ends as parts."""

    @abstractmethod
    def sample(self, part: Part, number: int, rng: np.random.Generator) -> Sequence[Symbol]:
        """Return random values within a part, in the user's numbers."""

    # From the user's description to a part, and back.

    @abstractmethod
    def parse(self, what: PartLike, arity: int) -> Part:
        """Return the part that a user describes."""

    @abstractmethod
    def to_json(self, part: Part) -> Symbol | list[Symbol]:
        """Return a part ready for JSON, as `parse` accepts it."""

    @abstractmethod
    def text(self, part: Part) -> str:
        """Return a part as readable text, without the name of the axis."""

    @abstractmethod
    def from_text(self, text: str) -> PartLike | None:
        """Return, from a text, an argument for `parse`; None for the whole axis."""

    def named(self, text: str, arity: int) -> tuple[float, float] | None:
        """Return the exact edges of the cell that is printed as this text; None if what is printed is exact."""
        return None

    @property
    @abstractmethod
    def example(self) -> str:
        """How a part is written, as an example."""

    # Measures and kernels along the axis.

    @abstractmethod
    def layout(self, ranks: list[int]) -> IntervalIndex | CategoryIndex:
        """Return the object that finds which pairs of parts are equivalent."""

    @abstractmethod
    def measure(self, feedback: Feedback) -> Measure | None:
        """Return what a feedback measures of a part; None if that is all of it."""

    @abstractmethod
    def reach(self, feedback: Feedback, width: float) -> float:
        """Return the largest distance between a sampled point and any point of a part of this width."""

    @abstractmethod
    def rule(self, part: Part, feedback: Feedback, panels: int = 0, order: int = 0) -> tuple[Floats, Floats]:
        """Return positions on the axis, and weights, that average over what a feedback measures of a part."""

    @abstractmethod
    def pixel_weights(self, part: Part, feedback: Feedback, pixels: int, equal: bool) -> Floats:
        """Return the share of the measure of a part in each of `pixels` pixels; the shares add up to 1."""

    def factor(self, factor: Factor) -> Factor:
        """Return a kernel's factor along this axis, given that along a straight line."""
        return factor


@dataclass(frozen=True)
class ContinuousAxis(Axis):
    """A continuous axis."""

    name: str
    low: float
    high: float
    unit: str = ""  # for tables and plots
    smallest: float | None = None  # useful width

    @classmethod
    def of(cls, name: str, ends: tuple[float, float], unit: str, smallest: float | None) -> Self:
        """Check the ends, in the user's numbers, and return the axis."""
        return cls(name, *ends, unit).with_smallest(smallest)

    def with_smallest(self, smallest: float | None) -> Self:
        """Return the same axis with a smallest width, after checking it."""
        if smallest is None:
            return replace(self, smallest=None)
        what = f"smallest on axis {self.name}"
        width = positive_number(without_unit(smallest, "" if self.measured_in else self.unit, what), what)
        wide = f"{self.side:g} {self.measured_in}".rstrip()
        problem = f"smallest on axis {self.name} is wider than the axis ({wide})"
        require(width * (1 - ROUNDING) <= self.side, problem, width, "Pass a width within the axis.")
        return replace(self, smallest=width)

    def nearest(self, arity: int) -> Self:
        """Return the same axis with the possible smallest width that is nearest in ratio; of two, the wider."""
        if self.smallest is None:
            return self
        exact = (math.log(self.side) - math.log(self.smallest)) / math.log(arity)
        if abs(exact - round(exact)) <= ROUNDING or exact > math.log(MOST_PIECES, arity):
            return self
        return replace(self, smallest=self.side / arity ** max(math.ceil(exact - 0.5 - ROUNDING), 0))

    def apart(self, places: Floats, place: float | Floats) -> Floats:
        """Return the distances of positions on the axis from another."""
        return np.abs(places - place)

    def revalidated(self) -> Self:
        """Return the axis made again from its own values, to compare with it."""
        low, high = checked_ends(self.name, (self.low, self.high))
        return replace(self, low=low, high=high, unit=str(self.unit)).with_smallest(self.smallest)

    @property
    def side(self) -> float:
        """The width of the whole axis."""
        return self.high - self.low

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end in the user's numbers."""
        return self.bounds(self.cell(0, 1))

    def place(self, number: float, arity: int) -> float:
        """Return the position on the axis of one of the user's numbers; minus infinity if there is none."""
        return number

    # How it is split.

    def may_split(self, splits: int, arity: int) -> bool:
        """Tell whether it can be split again after `splits` splits."""
        if self.smallest is None:
            return True
        return bool(self.side / arity ** (splits + 1) >= self.smallest * (1 - ROUNDING))

    @property
    def places(self) -> int | None:
        """The number of values, None if it is continuous."""
        return None

    def cell(self, part: int, pieces: int) -> Part:
        """Return one of `pieces` parts, by its number; neighbours share their edges exactly."""
        low, high = self.low, self.high
        whole = high - low
        upper = high if part + 1 == pieces else low + whole * ((part + 1) / pieces)
        return whole * ((2 * part + 1) / (2 * pieces)), whole / pieces, (low + whole * (part / pieces), upper)

    # Windows: parts of any position.

    def narrowest(self, pieces: int) -> float:
        """Return the width of the narrowest of `pieces` parts."""
        return self.width(pieces)

    def within_ends(self, centers: Floats, width: float) -> Floats:
        """Return the centres nearest to some, from the lower end, at which a part of a width lies on the axis."""
        return np.clip(centers, width / 2, max(self.side - width / 2, width / 2))

    def window(self, center: float, width: float) -> Part:
        """Return the part of a width about a centre, which `within_ends` has returned."""
        low = max(self.low + center - width / 2, self.low)
        return center, width, (low, min(low + width, self.high))

    # From the user's description to a part.

    def parse(self, what: PartLike, arity: int) -> Part:
        """Return the part that a user describes."""
        try:
            low, high = cast("tuple[float, float]", what)
        except Exception:  # whatever a user's object raises
            raise InvalidInput(f"a part of axis {self.name} must be a pair", what, "Pass (low, high).") from None
        low, high = (edge if type(edge) is float else self._checked(edge) for edge in (low, high))
        return self.between(self.place(low, arity), self.place(high, arity), (float(low), float(high)))

    def _checked(self, edge: float) -> float:
        what = f"a bound on axis {self.name}"
        return finite_number(without_unit(edge, self.unit, what), what)

    def between(self, low: float, high: float, given: tuple[float, float]) -> Part:
        """Return the part between two positions; raise if it is not within the axis."""
        slack = ROUNDING * self.side
        if not (low <= high and self.low - slack <= low and high <= self.high + slack):
            first, last = self.ends
            raise InvalidInput(
                f"a region must lie within axis {self.name} ({first:g} to {last:g}), low before high",
                given,
                "Pass finite bounds inside the space.",
            )
        return ((low - self.low) + (high - self.low)) / 2, high - low, (low, high)

    def overlap(self, part: Part, other: Part) -> bool:
        """Tell whether two parts overlap; a shared edge does not count."""
        slack, (low, high), (left, right) = ROUNDING * self.side, part[2], other[2]
        return min(high, right) - max(low, left) > (-slack if low == high or left == right else slack)

    def contains(self, outer: Part, inner: Part) -> bool:
        """Tell whether a part lies within another, up to rounding."""
        (low, high), (left, right) = outer[2], inner[2]
        slack = ROUNDING * (right - left)
        return low - slack <= left and right <= high + slack

    # From a part to text and back.

    def bounds(self, part: Part) -> tuple[float, float]:
        """Return the edges in the user's numbers."""
        low, high = self.native(np.array(part[2])).tolist()
        return low, high

    def center(self, part: Part) -> float:
        """Return the centre in the user's numbers."""
        return float(self.native(np.array(self.low + part[0])))

    def to_json(self, part: Part) -> list[Symbol]:
        """Return a part ready for JSON, as `parse` accepts it."""
        return list(self.bounds(part))

    def text(self, part: Part) -> str:
        """Return a part as readable text, without the name of the axis."""
        return f"{self.span(*part[2])} {self.unit}".rstrip()

    def span(self, low: float, high: float) -> str:
        """Return "low..high" in the user's numbers, with enough digits to distinguish neighbours."""
        low, high = self.bounds((0.0, high - low, (low, high)))
        size = high - low if high > low else max(abs(low), 1.0) * 1e-3
        digits = max(0, 3 - math.floor(math.log10(size)))
        shown = [f"{edge:z.{digits}f}" for edge in (low, high)]  # z: never -0
        return "..".join(edge.rstrip("0").rstrip(".") if "." in edge else edge for edge in shown)

    def named(self, text: str, arity: int) -> tuple[float, float] | None:
        """Return the exact edges of the cell that is printed as this text; None if there is none."""
        span = SPAN.fullmatch(text)
        if span is None:
            return None
        low, high = (self.place(self.number(span[edge]), arity) for edge in ("low", "high"))
        width = high - low if high > low else high - low + self.side  # across the cut of a ring
        if not (math.isfinite(low) and 0 < width < math.inf and self.side / width < MOST_PIECES):
            return None
        pieces = arity ** max(round(math.log(self.side / width) / math.log(arity)), 0)
        part = self.cell(min(max(round((low - self.low) / self.side * pieces), 0), pieces - 1), pieces)
        return self.bounds(part) if self.span(*part[2]) == f"{span['low']}..{span['high']}" else None

    def number_of(self, part: Part, pieces: int) -> int | None:
        """Return which of `pieces` parts this is; None if it is none of them."""
        number = min(max(round((part[2][0] - self.low) / self.side * pieces), 0), pieces - 1)
        return number if self.cell(number, pieces)[2] == part[2] else None

    def from_text(self, text: str) -> tuple[float, float]:
        """Return, from a text, an argument for `parse`; ends of the axis may be rounded as in names."""
        span = SPAN.fullmatch(text)
        if span is None:
            raise InvalidInput(
                f"a part of axis {self.name} must be a span low..high", text, f"Write {self.example}."
            )
        edges = self.number(span["low"]), self.number(span["high"])
        low, high = max(edges[0], self.ends[0]), min(edges[1], self.ends[1])
        if low < high and self.span(self.place(low, 2), self.place(high, 2)) == f"{span['low']}..{span['high']}":
            return low, high
        return edges

    @property
    def example(self) -> str:
        """How a part is written, as an example."""
        low, high = self.ends
        return f"{self.name}={low:g}..{high:g}"

    def number(self, text: str) -> float:
        """Return an edge in the user's numbers from a text."""
        try:
            return float(text)
        except ValueError:
            problem = f"a bound on axis {self.name} must be a number"
            raise InvalidInput(problem, text, "Write for example 0.5.") from None

    # Measures and kernels along the axis.

    def layout(self, ranks: list[int]) -> IntervalIndex:
        """Return the object that finds which pairs of parts are equivalent."""
        return IntervalIndex(self.side, ranks)

    def measure(self, feedback: Feedback) -> Measure:
        """Return what a feedback measures of a part."""
        return feedback.along(self)

    def reach(self, feedback: Feedback, width: float) -> float:
        """Return the largest distance between a sampled point and any point of a part of this width."""
        return self.measure(feedback).reach(width)

    def rule(self, part: Part, feedback: Feedback, panels: int = 0, order: int = 0) -> tuple[Floats, Floats]:
        """Return positions on the axis, and weights, that average over what a feedback measures of a part.

        A density is cut into `panels`, with `order` positions each; if `panels` is 0 it must be a list of points.
        """
        measure, (offset, size, _) = self.measure(feedback), part
        if not (panels or measure.finite):
            raise InvalidInput(
                "this feedback has no finite list of representative points",
                feedback,
                "Use region.bounds, or Average(s) for a grid of points.",
            )
        places, weights = measure.rule(size, panels, order)
        return self.low + offset + places, weights

    def end_points(self, part: Part) -> tuple[float, Part, Part]:
        """Return the distance of the ends of a part, in the user's numbers, and both ends as parts."""
        offset, size, (low, high) = part
        return size, (offset - size / 2, 0.0, (low, low)), (offset + size / 2, 0.0, (high, high))

    def pixel_weights(self, part: Part, feedback: Feedback, pixels: int, equal: bool) -> Floats:
        """Return the share of the measure of a part in each of `pixels` pixels; the shares add up to 1."""
        offset, size, _ = part
        return self.measure(feedback).shares(offset, size, self.side / pixels, pixels)

    def linspace(self, number: int) -> Floats:
        """Return `number` values from end to end in the user's numbers, or all if there are fewer."""
        return np.asarray(self.native(np.linspace(self.low, self.high, number)), dtype=float)

    def sample(self, part: Part, number: int, rng: np.random.Generator) -> Sequence[float]:
        """Return random values within a part, in the user's numbers."""
        low, high = part[2]
        values: list[float] = self.native(rng.uniform(low, high, number)).tolist()
        return values
