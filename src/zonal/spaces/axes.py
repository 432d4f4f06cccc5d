"""Axes: what spaces of axes are made of. An axis answers for itself, and nobody asks which kind it is.

It says how it is split and which part is which, what part somebody means, how a part is written, what a feedback
sees of it and what a kernel is along it. `Interval` is an axis of numbers, `symbols.Category` one of symbols; a
new kind is a subclass of one of them that says what is new (`scales.Logarithmic` is one).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from zonal.arrays import Floats
from zonal.averages.layout import Intervals
from zonal.errors import InvalidInput, finite_number, positive_number
from zonal.spaces.region import ROUNDING
from zonal.tables.listings import Cell, Span, labelled

if TYPE_CHECKING:
    from zonal.averages.feedback import Feedback
    from zonal.averages.kernels import Factor
    from zonal.averages.measures import Measure

# The centre of a part of an axis, counted from the lower end so that no digits are lost far from 0, its width, and
# its edges. Of symbols: the set of them as a number, its share of the whole, and the set again, twice.
Part = tuple[float, float, tuple[float, float]]

LOW, HIGH = "_low", "_high"  # columns of a sheet
SPAN = re.compile(r"(?P<low>.+?)\.\.(?P<high>\S+)(?: .*)?")


class Answers:
    """What most axes answer.

    Attributes
    ----------
    symbolic : bool
        Whether its places are equal or not, instead of having distances.
    scale : str
        By which `Box` takes such an axis, and pictures draw it.
    measured_in : str
        What widths and lengthscales are in, if not in the unit.
    even : bool
        Whether all parts of a level are alike, so that all or none of them can be split.
    """

    symbolic: ClassVar[bool] = False
    scale: ClassVar[str] = "linear"
    measured_in: ClassVar[str] = ""
    even: ClassVar[bool] = True

    @property
    def remark(self) -> str:
        """What pictures say of it beside its name."""
        return ""

    def check(self: Any) -> None:
        """Complain of an axis from a file if nobody could have made it."""
        if not alike(self, self.again()) or not isinstance(self.name, str):
            raise InvalidInput("this is no axis that Zonal has made", self, "Go back to what was written.")

    def native(self, places: Any) -> Any:
        """Return places on the axis in the user's numbers; symbols are their numbers."""
        return places

    def is_distinct(self, part: Part) -> bool:
        """Tell whether a part's edges, rounded, are its own."""
        return True

    def drawn(self: Any, part: Part) -> tuple[float, float]:
        """Return where a part begins and ends in a picture."""
        edges: tuple[float, float] = self.bounds(part)
        return edges

    def listed(self: Any, part: Part) -> dict[str, Cell]:
        """Return a part as a cell of a table for people."""
        return {labelled(self.name, self.unit): self.text(part) if self.symbolic else Span(*self.bounds(part))}

    def as_json(self: Any, part: Part) -> dict[str, Any]:
        """Return a part for programs: bounds and their unit, or symbols."""
        if self.symbolic:
            return {"symbols": list(self.symbols_in(part))}
        return {"bounds": self.plain(part), **({"units": self.unit} if self.unit else {})}

    def count(self, pieces: int) -> int:
        """Return how many of `pieces` parts are not empty."""
        return pieces

    def stuck(self: Any, pieces: int, splits: int, arity: int) -> int:
        """Return how many of `pieces` parts cannot be split again."""
        return 0 if self.may_split(splits, arity) else int(self.count(pieces))

    def factor(self, factor: Factor) -> Factor:
        """Return the factor that a kernel has along this axis, of the one along a straight line."""
        return factor


@dataclass(frozen=True)
class Interval(Answers):
    """A continuous axis.

    Parameters
    ----------
    name : str
    low, high : float
        Its ends.
    unit : str
        For tables and pictures.
    smallest : float, optional
        The smallest useful width.
    """

    name: str
    low: float
    high: float
    unit: str = ""
    smallest: float | None = None

    @classmethod
    def of(cls, name: str, ends: tuple[float, float], unit: str, smallest: Any) -> Self:
        """Return the axis between two of the user's numbers, or complain."""
        return cls(name, *ends, unit).with_smallest(smallest)

    def with_smallest(self, smallest: Any) -> Self:
        """Return the same axis with a smallest width, or complain of it."""
        if smallest is None:
            return replace(self, smallest=None)
        width = positive_number(smallest, f"smallest on axis {self.name}")
        if width * (1 - ROUNDING) > self.side:
            wide = f"{self.side:g} {self.measured_in}".rstrip()
            problem = f"smallest on axis {self.name} is wider than the axis ({wide})"
            raise InvalidInput(problem, width, "Pass a width within the axis.")
        return replace(self, smallest=width)

    def apart(self, places: Floats, place: float) -> Floats:
        """Return how far places on the axis are from another."""
        return np.abs(places - place)

    def again(self) -> Self:
        """Return the axis as it would be made today."""
        low, high = checked_ends(self.name, (self.low, self.high))
        return replace(self, low=low, high=high, unit=str(self.unit)).with_smallest(self.smallest)

    @property
    def side(self) -> float:
        """The width of the whole."""
        return self.high - self.low

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end in the user's numbers."""
        return float(self.native(self.low)), float(self.native(self.high))

    def place(self, number: float, arity: int) -> float:
        """Return the place on the axis of one of the user's numbers; minus infinity where there is none."""
        return number

    # How it is split.

    @property
    def endless(self) -> bool:
        """Whether it may be split without end."""
        return self.smallest is None

    def parts(self, arity: int) -> int:
        """Return into how many parts it is split, in a space that splits into `arity`."""
        return arity

    def may_split(self, splits: int, arity: int) -> bool:
        """Tell whether it may be split again, having been split so often."""
        if self.smallest is None:
            return True
        width: float = self.side / arity ** (splits + 1)
        return bool(width >= self.smallest * (1 - ROUNDING))

    def is_fine(self, splits: int, arity: int, wanted: int) -> bool:
        """Tell whether it has as many parts as anybody wants where there is no smallest width."""
        return bool(arity**splits >= wanted)

    def width(self, pieces: int) -> float:
        """Return the width of one of `pieces` parts."""
        return self.side / pieces

    @property
    def places(self) -> int | None:
        """How many places there are, None for a continuum."""
        return None

    def cell(self, part: int, pieces: int) -> Part:
        """Return one of `pieces` parts, by its number; neighbours share their edges to the last bit."""
        low, high = self.low, self.high
        whole = high - low
        upper = high if part + 1 == pieces else low + whole * ((part + 1) / pieces)
        return whole * ((2 * part + 1) / (2 * pieces)), whole / pieces, (low + whole * (part / pieces), upper)

    # What somebody means.

    def take(self, what: Any, arity: int) -> Part:
        """Return the part that a user describes; the whole for None."""
        if what is None:
            return self.cell(0, 1)
        try:
            low, high = what
        except (TypeError, ValueError):
            raise InvalidInput(f"a part of axis {self.name} is a pair", what, "Pass (low, high).") from None
        what = f"a bound on axis {self.name}"
        low, high = (edge if isinstance(edge, float) else finite_number(edge, what) for edge in (low, high))
        return self.between(self.place(low, arity), self.place(high, arity), (float(low), float(high)))

    def between(self, low: float, high: float, given: tuple[float, float]) -> Part:
        """Return the part between two places, or complain of what was given."""
        slack = ROUNDING * self.side
        if not (low <= high and self.low - slack <= low and high <= self.high + slack):
            first, last = self.ends
            raise InvalidInput(
                f"a region must lie within axis {self.name} ({first:g} to {last:g}), low before high",
                given,
                "Pass finite bounds inside of the space.",
            )
        return ((low - self.low) + (high - self.low)) / 2, high - low, (low, high)

    def is_part(self, part: Part) -> bool:
        """Tell whether what a file says of a part belongs together, and lies on the axis."""
        offset, size, (low, high) = part
        slack = ROUNDING * self.side
        within = self.low - slack <= low <= high <= self.high + slack
        return within and abs(high - low - size) <= slack and abs((low + high) / 2 - self.low - offset) <= slack

    def overlap(self, one: Part, other: Part) -> bool:
        """Tell whether two parts have anything in common; an edge is nothing."""
        slack, (low, high), (left, right) = ROUNDING * self.side, one[2], other[2]
        return min(high, right) - max(low, left) > (-slack if low == high or left == right else slack)

    def holds(self, outer: Part, inner: Part) -> bool:
        """Tell whether a part lies within another, but for rounding."""
        (low, high), (left, right) = outer[2], inner[2]
        slack = ROUNDING * (right - left)
        return low - slack <= left and right <= high + slack

    def is_distinct(self, part: Part) -> bool:
        """Tell whether a part's edges, rounded, are its own."""
        _, size, (low, high) = part
        return abs(high - low - size) <= size / 4

    # How a part is written.

    def bounds(self, part: Part) -> tuple[float, float]:
        """Return the edges in the user's numbers."""
        low, high = part[2]
        return float(self.native(low)), float(self.native(high))

    def center(self, part: Part) -> float:
        """Return the centre in the user's numbers."""
        return float(self.native(self.low + part[0]))

    def symbols_in(self, part: Part) -> tuple[Any, ...] | None:
        """Return None: there are no symbols."""
        return None

    def plain(self, part: Part) -> Any:
        """Return a part ready for JSON, which `take` takes back."""
        return list(self.bounds(part))

    def text(self, part: Part) -> str:
        """Return what a person reads, but for the name of the axis."""
        return f"{self.span(*part[2])} {self.unit}".rstrip()

    def span(self, low: float, high: float) -> str:
        """Return "low..high" in the user's numbers, with as many digits as it takes to tell neighbours apart."""
        low, high = self.bounds((0.0, high - low, (low, high)))
        size = high - low if high > low else max(abs(low), 1.0) * 1e-3
        digits = max(0, 3 - math.floor(math.log10(size)))
        shown = [f"{edge:.{digits}f}" for edge in (low, high)]
        shown = [edge.rstrip("0").rstrip(".") if "." in edge else edge for edge in shown]
        return "..".join("0" if edge == "-0" else edge for edge in shown)

    def from_text(self, text: str) -> Any:
        """Return what `take` takes from what a person wrote; ends of the axis may be rounded as in names."""
        span = SPAN.fullmatch(text)
        if span is None:
            raise InvalidInput(f"a part of axis {self.name} is a span", text, f"Write {self.example}.")
        edges = self._number(span["low"]), self._number(span["high"])
        low, high = max(edges[0], self.ends[0]), min(edges[1], self.ends[1])
        if low < high and self.span(self.place(low, 2), self.place(high, 2)) == f"{span['low']}..{span['high']}":
            return low, high
        return edges

    @property
    def example(self) -> str:
        """How a part is written."""
        low, high = self.ends
        return f"{self.name}={low:g}..{high:g}"

    @property
    def columns(self) -> list[str]:
        """The columns of a sheet that say exactly which part is meant."""
        return [self.name + LOW, self.name + HIGH]

    def cells(self, part: Part) -> list[Any]:
        """Return the cells of these columns."""
        return list(self.plain(part))

    def from_cells(self, cells: Mapping[str, str]) -> Any:
        """Return what `take` takes from those of these cells that are filled in."""
        edges = zip(self.columns, self.ends, strict=True)
        return tuple(self._number(cells[name]) if name in cells else end for name, end in edges)

    def _number(self, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            problem = f"a bound on axis {self.name} must be a number"
            raise InvalidInput(problem, text, "Write for example 0.5.") from None

    def described(self) -> dict[str, Any]:
        """Return what makes such an axis, for people: what it is under "", and whatever is not the usual."""
        scale = {"scale": self.scale} if self.scale != "linear" else {}
        return {"": self.ends, **({"smallest": self.smallest} if self.smallest else {}), **scale}

    # What is seen of it, and what a kernel is along it.

    def layout(self, ranks: list[int]) -> Intervals:
        """Return what says which pairs of parts are alike."""
        return Intervals(self.side, ranks)

    def measure(self, feedback: Feedback) -> Measure:
        """Return what a feedback sees of a part."""
        return feedback.along(self)

    def reach(self, feedback: Feedback, width: float) -> float:
        """Return the largest distance between a sampled point and any point of a part of this width."""
        return self.measure(feedback).reach(width)

    def rule(self, part: Part, feedback: Feedback, panels: int = 0, order: int = 0) -> tuple[Floats, Floats]:
        """Return places on the axis, and weights that average over what is seen of a part.

        A density is cut into `panels`, with `order` places each; without any there must be points to list.
        """
        measure, (offset, size, _) = self.measure(feedback), part
        if not (panels or measure.finite):
            raise InvalidInput(
                "what is seen of a region is no list of representative points",
                feedback,
                "Use region.bounds, or Average(s) for a grid of points.",
            )
        places, weights = measure.rule(size, panels, order)
        return self.low + offset + places, weights

    def faces(self, part: Part) -> tuple[float, Part, Part]:
        """Return how far the ends of a part are apart, in the user's numbers, and both ends as parts."""
        offset, size, (low, high) = part
        return size, (offset - size / 2, 0.0, (low, low)), (offset + size / 2, 0.0, (high, high))

    def seen_in(self, part: Part, feedback: Feedback, pixels: int, equal: bool) -> Floats:
        """Return the share of the measure of a part in each of `pixels` pixels; the shares add up to 1."""
        offset, size, _ = part
        return self.measure(feedback).shares(offset, size, self.side / pixels, pixels)

    def spread(self, number: int) -> Floats:
        """Return `number` places from end to end, as the user has them, or all if there are fewer."""
        return np.asarray(self.native(np.linspace(self.low, self.high, number)), dtype=float)

    def sample(self, part: Part, number: int, rng: np.random.Generator) -> Any:
        """Return places within a part, drawn at random, as the user has them."""
        low, high = part[2]
        return self.native(rng.uniform(low, high, number)).tolist()


def checked_ends(name: str, pair: Any) -> tuple[float, float]:
    """Return the checked bounds of a continuous axis."""
    try:
        low, high = pair
    except (TypeError, ValueError):
        fix = "Pass one pair per axis: [(0, 1)], not (0, 1)." if np.isscalar(pair) else "Pass for example (0, 1)."
        raise InvalidInput(f"axis {name} must be a pair (low, high)", pair, fix) from None
    fix = "Pass two finite numbers, the lower one first."
    low, high = (finite_number(edge, f"a bound of axis {name}", fix) for edge in (low, high))
    if not low < high or not math.isfinite(high - low):
        raise InvalidInput(f"the bounds of axis {name} must increase", (low, high), fix)
    return low, high


def alike(one: Any, other: Any) -> bool:
    """Tell whether two values are of the same kind and the same, but for rounding."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(alike(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return math.isclose(one, other, rel_tol=ROUNDING) if isinstance(one, float) else bool(one == other)
