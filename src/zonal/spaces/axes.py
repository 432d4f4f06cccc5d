"""Axes, of which most spaces are made.

All that depends on the kind of an axis is a method of it: how it is split, how a part is described, written and
read, what a feedback measures of it, and how a kernel applies to it. `Axis` lists it.
`ContinuousAxis` is an axis of numbers, `CategoricalAxis` one of symbols; a new kind is a subclass of one of them
with what differs (as `LogAxis`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import ClassVar, Self, TypeVar

import numpy as np

from zonal._types import Floats
from zonal.errors import require
from zonal.kernels.base import Factor
from zonal.kernels.categorical import CategoryIndex
from zonal.kernels.feedback import Feedback
from zonal.kernels.layout import IntervalIndex
from zonal.kernels.measures import Measure
from zonal.spaces.base import RESTORE, ROUNDING, PartLike

# The centre of a part of an axis, relative to the lower end so that no digits are lost far from 0, its width, and
# its edges. For symbols: the set of them as a number, its share of the whole, and the set again, twice.
Part = tuple[float, float, tuple[float, float]]

Symbol = str | int | float  # a value of an axis, as users pass it

T = TypeVar("T")


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


def alike(value: T, other: T) -> bool:
    """Tell whether two values have the same type and are equal up to rounding."""
    if type(value) is not type(other):
        return False
    if is_dataclass(value):
        return all(alike(getattr(value, field.name), getattr(other, field.name)) for field in fields(value))
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(alike, value, other))
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=ROUNDING)
    return bool(value == other)
