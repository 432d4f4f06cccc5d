"""Axes, of which most spaces are made.

All that depends on the kind of an axis is a method of it: how it is split, how a part is described, written and
read, what a feedback measures of it, and how a kernel applies to it. `ContinuousAxis` is an axis of numbers,
`symbols.CategoricalAxis` one of symbols; a new kind is a subclass of one of them with what differs (as
`scales.LogAxis`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from zonal._types import Floats
from zonal.errors import InvalidInput, finite_number, need, positive_number, without_unit
from zonal.kernels.base import Factor
from zonal.kernels.feedback import Feedback
from zonal.kernels.layout import IntervalIndex
from zonal.kernels.measures import Measure
from zonal.spaces.base import RESTORE, ROUNDING

# The centre of a part of an axis, relative to the lower end so that no digits are lost far from 0, its width, and
# its edges. For symbols: the set of them as a number, its share of the whole, and the set again, twice.
Part = tuple[float, float, tuple[float, float]]

LOW, HIGH = "_low", "_high"  # columns of a sheet
MOST_PIECES = 1e200  # of an axis: far beyond any tree, and widths are still numbers
SPAN = re.compile(r"(?P<low>.+?)\.\.(?P<high>\S+)(?: .*)?")


class AxisDefaults:
    """Defaults that most axes share."""

    symbolic: ClassVar[bool] = False  # whether its values are symbols, which have no distances
    scale: ClassVar[str] = "linear"  # the name by which `Box` takes such an axis, and plots draw it
    measured_in: ClassVar[str] = ""  # the unit of widths and lengthscales, if it is not the axis's unit
    even: ClassVar[bool] = True  # whether all parts of a level are equal, so that all or none can be split

    @property
    def remark(self) -> str:
        """A note that plots add to its name."""
        return ""

    def check(self: Any) -> None:
        """Raise if this axis, read from a file, is not possible."""
        made = alike(self, self.again()) and isinstance(self.name, str)
        need(made, "this is not an axis that Zonal has made", self, RESTORE)

    def native(self, places: Any) -> Any:
        """Return positions on the axis in the user's numbers; for symbols their numbers."""
        return places

    def is_distinct(self, part: Part) -> bool:
        """Tell whether a part's edges differ from those of other parts after rounding."""
        _, size, (low, high) = part
        return self.symbolic or abs(high - low - size) <= size / 4

    def parts(self: Any, arity: int) -> int:
        """Return the number of parts it is split into: its symbols, or as many as its space splits into."""
        return int(self.places if self.symbolic else arity)

    def drawn(self: Any, part: Part) -> tuple[float, float]:
        """Return where a part begins and ends in a plot."""
        edges: tuple[float, float] = self.bounds(part)
        return edges

    def as_json(self: Any, part: Part) -> dict[str, Any]:
        """Return a part as sent to programs: bounds and their unit, or symbols."""
        if self.symbolic:
            return {"symbols": list(self.symbols_in(part))}
        return {"bounds": self.plain(part), **({"units": self.unit} if self.unit else {})}

    def share(self: Any, part: Part) -> float:
        """Return how much of the axis lies in a part."""
        return float(part[1] / self.side)

    def count(self: Any, pieces: int) -> int:
        """Return how many of `pieces` parts are not empty."""
        return int(min(pieces, self.places or pieces))

    def width(self: Any, pieces: int) -> float:
        """Return the width of the widest of `pieces` parts, the first."""
        return float(self.cell(0, pieces)[1])

    def grain(self: Any, pieces: int) -> str:
        """Return the size of one of `pieces` parts, for people."""
        if self.symbolic:
            return f"{self.name} {'any' if pieces == 1 else '1'} of {self.places}"
        return f"{self.name} {self.width(pieces):.6g} {self.measured_in or self.unit}".rstrip()

    def stuck(self: Any, pieces: int, splits: int, arity: int) -> int:
        """Return how many of `pieces` parts cannot be split again."""
        return 0 if self.may_split(splits, arity) else int(self.count(pieces))

    def factor(self, factor: Factor) -> Factor:
        """Return a kernel's factor along this axis, given that along a straight line."""
        return factor


@dataclass(frozen=True)
class ContinuousAxis(AxisDefaults):
    """A continuous axis."""

    name: str
    low: float
    high: float
    unit: str = ""  # for tables and plots
    smallest: float | None = None  # useful width

    @classmethod
    def of(cls, name: str, ends: tuple[float, float], unit: str, smallest: Any) -> Self:
        """Check the ends, in the user's numbers, and return the axis."""
        return cls(name, *ends, unit).with_smallest(smallest)

    def with_smallest(self, smallest: Any) -> Self:
        """Return the same axis with a smallest width, after checking it."""
        if smallest is None:
            return replace(self, smallest=None)
        what = f"smallest on axis {self.name}"
        width = positive_number(without_unit(smallest, "" if self.measured_in else self.unit, what), what)
        wide = f"{self.side:g} {self.measured_in}".rstrip()
        problem = f"smallest on axis {self.name} is wider than the axis ({wide})"
        need(width * (1 - ROUNDING) <= self.side, problem, width, "Pass a width within the axis.")
        return replace(self, smallest=width)

    def nearest(self, arity: int) -> Self:
        """Return the same axis with the possible smallest width that is nearest in ratio; of two, the wider."""
        if self.smallest is None:
            return self
        exact = (math.log(self.side) - math.log(self.smallest)) / math.log(arity)
        if abs(exact - round(exact)) <= ROUNDING or exact > math.log(MOST_PIECES, arity):
            return self
        return replace(self, smallest=self.side / arity ** max(math.ceil(exact - 0.5 - ROUNDING), 0))

    def apart(self, places: Floats, place: float) -> Floats:
        """Return the distances of positions on the axis from another."""
        return np.abs(places - place)

    def again(self) -> Self:
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

    # From the user's description to a part.

    def take(self, what: Any, arity: int) -> Part:
        """Return the part that a user describes."""
        try:
            low, high = what
        except Exception:  # whatever a user's object raises
            raise InvalidInput(f"a part of axis {self.name} must be a pair", what, "Pass (low, high).") from None
        what = f"a bound on axis {self.name}"
        low, high = (edge if type(edge) is float else self._checked(edge, what) for edge in (low, high))
        return self.between(self.place(low, arity), self.place(high, arity), (float(low), float(high)))

    def _checked(self, edge: Any, what: str) -> float:
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

    def overlap(self, one: Part, other: Part) -> bool:
        """Tell whether two parts overlap; a shared edge does not count."""
        slack, (low, high), (left, right) = ROUNDING * self.side, one[2], other[2]
        return min(high, right) - max(low, left) > (-slack if low == high or left == right else slack)

    def holds(self, outer: Part, inner: Part) -> bool:
        """Tell whether a part lies within another, up to rounding."""
        (low, high), (left, right) = outer[2], inner[2]
        slack = ROUNDING * (right - left)
        return low - slack <= left and right <= high + slack

    # From a part to text and back.

    def bounds(self, part: Part) -> tuple[float, float]:
        """Return the edges in the user's numbers."""
        low, high = part[2]
        return float(self.native(low)), float(self.native(high))

    def center(self, part: Part) -> float:
        """Return the centre in the user's numbers."""
        return float(self.native(self.low + part[0]))

    def plain(self, part: Part) -> Any:
        """Return a part ready for JSON, as `take` accepts it."""
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
        low, high = (self.place(self._number(span[edge]), arity) for edge in ("low", "high"))
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

    def from_text(self, text: str) -> Any:
        """Return, from a text, an argument for `take`; ends of the axis may be rounded as in names."""
        span = SPAN.fullmatch(text)
        if span is None:
            raise InvalidInput(
                f"a part of axis {self.name} must be a span low..high", text, f"Write {self.example}."
            )
        edges = self._number(span["low"]), self._number(span["high"])
        low, high = max(edges[0], self.ends[0]), min(edges[1], self.ends[1])
        if low < high and self.span(self.place(low, 2), self.place(high, 2)) == f"{span['low']}..{span['high']}":
            return low, high
        return edges

    @property
    def example(self) -> str:
        """How a part is written, as an example."""
        low, high = self.ends
        return f"{self.name}={low:g}..{high:g}"

    @property
    def columns(self) -> list[str]:
        """The columns of a sheet that define a part exactly."""
        return [self.name + LOW, self.name + HIGH]

    def cells(self, part: Part) -> list[Any]:
        """Return the cells of these columns."""
        return list(self.plain(part))

    def from_cells(self, cells: Mapping[str, str]) -> Any:
        """Return, from the cells that are filled in, an argument for `take`."""
        edges = zip(self.columns, self.ends, strict=True)
        return tuple(self._number(cells[name]) if name in cells else end for name, end in edges)

    def _number(self, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            problem = f"a bound on axis {self.name} must be a number"
            raise InvalidInput(problem, text, "Write for example 0.5.") from None

    def described(self) -> dict[str, Any]:
        """Return what makes such an axis, for people: its values under "", and what is not the default."""
        scale = {"scale": self.scale} if self.scale != "linear" else {}
        return {"": self.ends, **({"smallest": self.smallest} if self.smallest else {}), **scale}

    def as_page(self) -> dict[str, Any]:
        """Return the axis as the page draws it."""
        kind = {"log": self.scale == "log", "whole": self.scale == "integer", "remark": self.remark}
        return {"name": self.name, "unit": self.unit, "low": self.ends[0], "high": self.ends[1], **kind}

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

    def faces(self, part: Part) -> tuple[float, Part, Part]:
        """Return the distance of the ends of a part, in the user's numbers, and both ends as parts."""
        offset, size, (low, high) = part
        return size, (offset - size / 2, 0.0, (low, low)), (offset + size / 2, 0.0, (high, high))

    def seen_in(self, part: Part, feedback: Feedback, pixels: int, equal: bool) -> Floats:
        """Return the share of the measure of a part in each of `pixels` pixels; the shares add up to 1."""
        offset, size, _ = part
        return self.measure(feedback).shares(offset, size, self.side / pixels, pixels)

    def spread(self, number: int) -> Floats:
        """Return `number` values from end to end in the user's numbers, or all if there are fewer."""
        return np.asarray(self.native(np.linspace(self.low, self.high, number)), dtype=float)

    def sample(self, part: Part, number: int, rng: np.random.Generator) -> Any:
        """Return random values within a part, in the user's numbers."""
        low, high = part[2]
        return self.native(rng.uniform(low, high, number)).tolist()


def checked_ends(name: str, pair: Any, unit: str = "") -> tuple[float, float]:
    """Check the bounds of a continuous axis, and return them, in its unit."""
    try:
        low, high = pair
    except Exception:  # whatever a user's object raises
        fix = "Pass one pair per axis: [(0, 1)], not (0, 1)." if np.isscalar(pair) else "Pass for example (0, 1)."
        raise InvalidInput(f"axis {name} must be a pair (low, high)", pair, fix) from None
    fix = "Pass two finite numbers, the lower one first."
    what = f"a bound of axis {name}"
    low, high = (finite_number(without_unit(edge, unit, what), what, fix) for edge in (low, high))
    need(0 < high - low < math.inf, f"the bounds of axis {name} must increase", (low, high), fix)
    return low, high


def alike(one: Any, other: Any) -> bool:
    """Tell whether two values have the same type and are equal up to rounding."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(alike(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return math.isclose(one, other, rel_tol=ROUNDING) if isinstance(one, float) else bool(one == other)
