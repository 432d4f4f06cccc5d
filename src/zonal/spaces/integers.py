"""An axis of integers: regions are runs of them, and an average is over the integers of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from zonal.arrays import Floats
from zonal.averages.layout import Intervals
from zonal.averages.measures import BLOCK, Measure
from zonal.errors import InvalidInput, whole_number
from zonal.spaces.axes import Interval, Part, checked_ends

if TYPE_CHECKING:
    from zonal.averages.feedback import Feedback
    from zonal.averages.profiles import Profile

MOST_NUMBERS = 10_000  # of an axis: averages are sums over them


@dataclass(frozen=True)
class Integers(Interval):
    """An axis of the integers from one to another, both included.

    `low` and `high` lie half a step beyond them, so that the width of a run is the number of integers in it. Runs
    are split into parts that differ by at most one integer, down to `smallest` integers, 1 by default.
    """

    scale: ClassVar[str] = "integer"
    measured_in: ClassVar[str] = "numbers"

    @classmethod
    def of(cls, name: str, ends: tuple[float, float], unit: str, smallest: Any) -> Self:
        """Check the ends, and return the axis of the integers between them."""
        first, last = (_whole(end, f"a bound of axis {name}") for end in ends)
        if last - first >= MOST_NUMBERS:
            problem = f"axis {name} has more than {MOST_NUMBERS} numbers"
            raise InvalidInput(problem, ends, "Leave the scale out: a continuous axis serves as well.")
        return cls(name, first - 0.5, last + 0.5, unit).with_smallest(smallest)

    def with_smallest(self, smallest: Any) -> Self:
        """Return the same axis with `smallest` integers in its smallest runs, after checking it."""
        if smallest is None:
            return replace(self, smallest=None)
        most, what = int(self.side), f"smallest on axis {self.name}"
        return replace(self, smallest=whole_number(_whole(smallest, what), what, 1, most))

    def again(self) -> Self:
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

    # From the user's description to a part, and back.

    def take(self, what: Any, arity: int) -> Part:
        """Return the part that a user describes: first and last integer, or one; the whole axis for None."""
        if what is None:
            return self.cell(0, 1)
        try:
            first, last = what if np.iterable(what) and not isinstance(what, str) else (what, what)
        except (TypeError, ValueError):
            fix = "Pass (first, last), or one number."
            raise InvalidInput(f"a part of axis {self.name} must be a pair", what, fix) from None
        first, last = (_whole(edge, f"a bound on axis {self.name}") for edge in (first, last))
        return self.between(first - 0.5, last + 0.5, (first, last))

    def bounds(self, part: Part) -> tuple[float, float]:
        """Return the first and the last number."""
        low, high = part[2]
        return low + 0.5, high - 0.5

    def drawn(self, part: Part) -> tuple[float, float]:
        """Return where a part begins and ends in a plot: half a step beyond its integers."""
        return part[2]

    def spread(self, number: int) -> Floats:
        """Return `number` integers from the first to the last, or all if there are fewer."""
        return np.unique(np.linspace(*self.ends, min(number, self.places)).round())

    def plain(self, part: Part) -> Any:
        """Return the first and the last number, ready for JSON."""
        return [int(edge) for edge in self.bounds(part)]

    def span(self, low: float, high: float) -> str:
        """Return "first..last", or the only number."""
        first, last = int(low + 0.5), int(high - 0.5)
        return f"{first}" if first == last else f"{first}..{last}"

    def from_text(self, text: str) -> Any:
        """Return, from a text (a span or one number), an argument for `take`."""
        word = text.split(" ")[0]
        return (self._number(word),) * 2 if ".." not in word else super().from_text(text)

    # Measures along the axis.

    def layout(self, ranks: list[int]) -> Intervals:
        """Return the object that finds which pairs of parts are equivalent."""
        return Runs(self, ranks)

    def measure(self, feedback: Feedback) -> Measure:
        """Return what a feedback measures of a part: its measure, moved to the nearest integers."""
        return _lumped(feedback.along(self))

    def faces(self, part: Part) -> tuple[float, Part, Part]:
        """Return the distance of the first and last integer, and both of them as parts."""
        offset, size, (low, high) = part
        off = (size - 1) / 2
        return size - 1, (offset - off, 1.0, (low, low + 1)), (offset + off, 1.0, (high - 1, high))

    def sample(self, part: Part, number: int, rng: np.random.Generator) -> Any:
        """Return random integers of a part."""
        first, last = self.plain(part)
        return rng.integers(first, last + 1, number).tolist()


def _whole(number: Any, what: str) -> int:
    """Check that a number is an integer, of either sign and any type, and return it."""
    if isinstance(number, float) and number.is_integer():
        return int(number)
    return whole_number(number, what, -(2**52), 2**52)


class Runs(Intervals):
    """The runs of an axis of integers: centres are multiples of half steps, whatever the widths."""

    def __init__(self, axis: Integers, ranks: list[int]) -> None:
        super().__init__(axis.side, ranks, half=0.5)
        self._axis = axis

    def cells(self, parts: NDArray[np.int64], pieces: int) -> Floats:
        """Return the keys of some of `pieces` parts, with the study's own feedback."""
        centers, widths, _ = zip(*[self._axis.cell(part, pieces) for part in parts.tolist()], strict=True)
        return self.keys(np.array(centers), np.array(widths), (0,) * len(centers), enter=True)


class Lumped(Measure):
    """A measure on the integers of a run: each has the weight that another measure has within half a step."""

    finite = True

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self.ends, self.odd, self.total = measure.ends, measure.odd, measure.total
        self._row = lru_cache(256)(self._made)

    def _made(self, number: int) -> tuple[Floats, Floats]:
        """Return consecutive integers, relative to the centre of a run, and the weight of each."""
        more = 0 if self.ends else math.ceil(self._measure.reach(number) - number / 2)  # beyond the run
        every = number + 2 * more
        shares = self._measure.shares(every / 2, float(number), 1.0, every)
        mirrored = -shares[::-1] if self.odd else shares[::-1]
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
            (own,) = (geometry[1:] == pair[:, None]).all(axis=0).nonzero()
            step = BLOCK // len(lags) + 1
            for start in range(0, len(own), step):
                some = own[start : start + step]
                values = profile.value(scale[some, None] * np.add.outer(geometry[0, some], lags))
                values *= weights
                mean[some] = np.add.reduce(values, 1)
        return mean

    def _lags(self, wide: float, narrow: float) -> tuple[Floats, Floats]:
        """Return the differences of integers of two runs, and their weights."""
        (ours, own), (theirs, other) = self._row(round(wide)), self._row(round(narrow))
        weights = np.convolve(own, other[::-1])
        lags = ours[0] - theirs[-1] + np.arange(len(weights))
        return lags[weights != 0], weights[weights != 0]

    def reach(self, width: float) -> float:
        """Return the largest distance between a sampled number and any number of the run."""
        return (round(width) - 1) / 2 + float(np.max(np.abs(self.rule(width)[0])))


_lumped = lru_cache(64)(Lumped)
