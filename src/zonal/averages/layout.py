"""Which footprints there are, whatever the kernel: entered once, and shared by the covariances of all models.

On a continuous axis the average of a stationary kernel over two intervals depends on their widths and the
distance of their centres alone: a *case*. A tree meets few of them: a fifth of all pairs in a short search, far
fewer in a long one. The layout keeps the case of every pair of intervals; a kernel then is one number a case.
This room knows geometry; it must not know kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zonal.averages.feedback import Feedback, Footprints
from zonal.averages.measures import Measure
from zonal.spaces import Category, Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Cases = NDArray[np.int32]

ROUNDING = 4 * float(np.finfo(float).eps)
LARGEST_PLACE = 1 << 43  # beyond it, centres are no longer exact to a small part of a half width
MOST_WIDTHS = 1 << 7  # of one axis
MOST_LAGS = 1 << 22  # of all pairs of widths together
LEAST_LAGS = 1 << 8  # of one pair of widths that fit each other
MOST_KEPT = 1 << 9  # intervals of one axis
NEW, ALONE = -2, -1  # in place of a case: not met yet; each pair is a case of its own


class Lattice:
    """The cells of a tree along one axis, as whole numbers.

    The centre of a cell is a whole number of its half widths away from the lower end of the axis: its *place*.
    A width is a whole number of narrower ones, so the distance of two centres is a whole number of half widths of
    the narrower one: their *lag*. Each pair of widths has a piece of one long table, with the case of every lag.

    Parameters
    ----------
    side : float
        The width of the whole axis.

    Attributes
    ----------
    cases : array of int
        The long table: a case, `NEW`, or `ALONE` past the end of each piece and for whatever is on no lattice.
    """

    def __init__(self, side: float) -> None:
        self._side = side
        self._kinds: dict[tuple[float, int], int] = {}  # of widths, by feedback; kind 0 is on no lattice
        # Of pairs of kinds: the piece of the table, the number of lags there, and both widths in narrower ones.
        self._pairs = np.zeros((MOST_WIDTHS, 4, MOST_WIDTHS), dtype=np.int64)
        self.feedbacks = [0]  # of kinds
        self.cases: Cases = np.full(1, ALONE, dtype=np.int32)
        self._scratch: Cases = np.zeros(1, dtype=np.int32)

    def cell(self, center: float, width: float, feedback: int) -> tuple[int, int]:
        """Return kind and place of an interval."""
        half = 0.5 * width
        if half * LARGEST_PLACE < self._side:
            return 0, 0
        place = round(center / half)
        if abs(center - place * half) > ROUNDING * self._side:
            return 0, 0
        return self._kinds.get((width, feedback)) or self._enter(width, feedback), place

    def lags(self, kind: int, places: Ints, kinds: Ints, others: Ints) -> tuple[Ints, Ints]:
        """Return the lags between cells of one kind and others of several, and where in the table they are."""
        start, room, ours, theirs = self._pairs[kind].take(kinds, axis=1)
        lag = places[:, None] * ours
        theirs *= others
        lag -= theirs
        np.minimum(np.abs(lag, out=lag), room, out=lag)
        return lag, lag + start

    def first_of_equals(self, at: Ints) -> Ints:
        """Return one position for each distinct entry of `at`, places in the table."""
        order = np.arange(len(at), dtype=np.int32)
        self._scratch[at] = order
        first: Ints = (self._scratch.take(at) == order).nonzero()[0]
        return first

    def _enter(self, width: float, feedback: int) -> int:
        """Return the kind of a width not met before, with pieces of the table for all that fit to it."""
        kind = len(self._kinds) + 1
        if kind == MOST_WIDTHS:
            return 0
        pieces, end = [self.cases], len(self.cases)
        for (other, seen), number in [*self._kinds.items(), ((width, feedback), kind)]:
            narrow, wide = min(width, other), max(width, other)
            times = round(wide / narrow)
            if seen != feedback or abs(wide - times * narrow) > ROUNDING * wide:
                continue
            room = min(int(2 * self._side / narrow) + 1, max((MOST_LAGS - end) // 64, LEAST_LAGS))
            ours, theirs = (times, 1) if width > other else (1, times)
            self._pairs[kind, :, number] = end, room, ours, theirs
            self._pairs[number, :, kind] = end, room, theirs, ours
            pieces += [np.full(room, NEW, dtype=np.int32), np.full(1, ALONE, dtype=np.int32)]
            end += room + 1
        self._scratch = np.empty(end, dtype=np.int32)
        self.cases = np.concatenate(pieces)
        self.feedbacks[kind:] = [feedback]
        self._kinds[width, feedback] = kind
        return kind


class Intervals:
    """The distinct intervals of one continuous axis, each as a feedback sees it, and the case of every pair.

    The cases of the first `MOST_KEPT` intervals are kept. With more they are worked out whenever they are asked
    for: a table of all pairs would be the largest part of a long search.

    Parameters
    ----------
    side : float
        The width of the whole axis.

    Attributes
    ----------
    centers, widths, feedbacks : array, shape (n,) at least
        Of the intervals; feedbacks by number.
    geometry : array, shape (3, cases) at least
        Distance of the centres and the two widths of each case.
    views : array of int, shape (2, cases) at least
        By which feedback each interval of a case is seen.
    cases : int
        How many there are.
    """

    def __init__(self, side: float) -> None:
        self._numbers: dict[tuple[float, float, int], int] = {}
        self._lattice = Lattice(side)
        self._kinds = np.zeros(128, dtype=np.int64)
        self._places = np.zeros(128, dtype=np.int64)
        self.centers = np.zeros(128)
        self.widths = np.zeros(128)
        self.feedbacks = np.zeros(128, dtype=np.int64)
        self._case: Cases = np.zeros((128, 128), dtype=np.int32)
        self.geometry = np.zeros((3, 1024))
        self.views = np.zeros((2, 1024), dtype=np.int64)
        self.mixed = False  # whether there are feedbacks other than the first
        self.cases = 0

    @property
    def size(self) -> int:
        """The number of intervals."""
        return len(self._numbers)

    @property
    def keeps(self) -> bool:
        """Whether the case of every pair is kept."""
        return len(self._numbers) <= MOST_KEPT

    def add(self, centers: Floats, widths: Floats, feedbacks: Sequence[int]) -> list[int]:
        """Return the number of each interval, entering those not seen before."""
        known, numbers = self._numbers, []
        old = size = len(known)
        fresh: dict[tuple[float, float, int], int] = {}
        for interval in zip(centers.tolist(), widths.tolist(), feedbacks, strict=True):
            number = known.get(interval)
            if number is None:
                number = fresh.setdefault(interval, size)
                if number == size:
                    size += 1
                    if size > len(self.centers):
                        self._grow(2 * len(self.centers))
                    self.centers[number], self.widths[number], self.feedbacks[number] = interval
                    self._kinds[number], self._places[number] = self._lattice.cell(*interval)
            numbers.append(number)
        if fresh:
            self.mixed = self.mixed or any(feedbacks)
            if size <= MOST_KEPT:
                self._keep(old, size)
            known.update(fresh)  # none of them is entered before
        return numbers

    def _keep(self, old: int, size: int) -> None:
        """Keep the cases of all pairs up to a size, those of the first `old` intervals being there already."""
        some, every = slice(old, size), slice(0, size)
        block = self._between(self._kinds[some], self._places[some], self.widths[some], every)
        if np.minimum.reduce(block, None) < 0:
            row, column = (block == ALONE).nonzero()
            row += old
            block[row - old, column] = self._register(
                self.centers[row] - self.centers[column],
                self.widths[row],
                self.widths[column],
                self.feedbacks[row],
                self.feedbacks[column],
            )
        self._case[some, :size] = block
        self._case[:old, some] = block[:, :old].T

    def pairs(self, some: Ints, others: Ints) -> Cases:
        """Return the cases of pairs of intervals; where they are not kept, `ALONE` for those that share none."""
        if self.keeps:
            return self._case[some].take(others, axis=-1)
        return self._between(self._kinds[some], self._places[some], self.widths[some], others)

    def row(self, one: int) -> Cases:
        """Return the cases of one interval with all, as long as they are kept."""
        row: Cases = self._case[one]
        return row

    def own(self, some: Ints) -> Cases:
        """Return the case of each interval with itself, as long as they are kept."""
        return self._case[some, some]

    def around(self, centers: Floats, widths: Floats, feedbacks: Sequence[int]) -> Cases:
        """Return the cases between intervals that need not be entered and all that are, `ALONE` for any other."""
        intervals = zip(centers.tolist(), widths.tolist(), feedbacks, strict=True)
        kinds, places = np.array([self._lattice.cell(*interval) for interval in intervals]).T
        return self._between(kinds, places, widths, slice(0, self.size))

    def _between(self, kinds: Ints, places: Ints, widths: Floats, others: Ints | slice) -> Cases:
        """Return the cases between some cells and entered intervals, entering cases not met before."""
        distinct = set(kinds.tolist())
        if len(distinct) == 1:  # as in any split
            return self._of_kind(distinct.pop(), places, widths[0], others)
        other = self._kinds[others]
        cases: Cases = np.empty((len(kinds), len(other)), dtype=np.int32)
        for kind in distinct:
            own = (kinds == kind).nonzero()[0]
            cases[own] = self._of_kind(kind, places[own], widths[own[0]], others)
        return cases

    def _of_kind(self, kind: int, places: Ints, width: float, others: Ints | slice) -> Cases:
        """Return the cases between cells of one kind and entered intervals."""
        lattice = self._lattice
        lag, at = lattice.lags(kind, places, self._kinds[others], self._places[others])
        case: Cases = lattice.cases.take(at)
        if np.minimum.reduce(case, None) == NEW:
            new = (case.ravel() == NEW).nonzero()[0]
            where = at.take(new)
            first = lattice.first_of_equals(where)
            new, where = new[first], where[first]
            wide = self.widths[others].take(new % case.shape[1])
            gap = lag.take(new)
            feedback = lattice.feedbacks[kind]
            # Counted in half widths of the narrower one, the distance is rid of the centres' rounding.
            lattice.cases[where] = self._register(
                gap * np.minimum(0.5 * width, 0.5 * wide), width, wide, feedback, feedback
            )
            case = lattice.cases.take(at)
        return case

    def _register(
        self, gap: Floats, wide_a: Floats | float, wide_b: Floats, feedback_a: Ints | int, feedback_b: Ints | int
    ) -> Cases:
        """Enter new cases and return their numbers."""
        old, cases, room = self.cases, self.cases + len(gap), self.geometry.shape[1]
        if cases > room:
            more = ((0, 0), (0, max(cases, 2 * room) - room))
            self.geometry, self.views = np.pad(self.geometry, more), np.pad(self.views, more)
        new, views = self.geometry[:, old:cases], self.views[:, old:cases]
        new[0], new[1], new[2] = gap, wide_a, wide_b
        if self.mixed:
            views[0], views[1] = feedback_a, feedback_b
        self.cases = cases
        return np.arange(old, cases, dtype=np.int32)

    def _grow(self, capacity: int) -> None:
        more = (0, capacity - len(self.centers))
        self.centers, self.widths = np.pad(self.centers, more), np.pad(self.widths, more)
        self.feedbacks = np.pad(self.feedbacks, more)
        self._kinds, self._places = np.pad(self._kinds, more), np.pad(self._places, more)
        if capacity <= MOST_KEPT:
            self._case = np.pad(self._case, more)


class Pools:
    """The distinct sets of symbols of one axis, and how often two of them draw the same symbol."""

    def __init__(self, axis: Category) -> None:
        self._axis = axis
        self._numbers: dict[float, int] = {}
        self._frequencies = np.zeros((0, len(axis.symbols)))
        self.overlap = np.zeros((0, 0))

    @property
    def size(self) -> int:
        """The number of sets."""
        return len(self._numbers)

    def add(self, pools: Floats, shares: Floats, feedbacks: Sequence[int]) -> list[int]:
        """Return the number of each set, entering those not seen before."""
        old, wanted = len(self._numbers), pools.tolist()
        fresh = [pool for pool in dict.fromkeys(wanted) if pool not in self._numbers]
        if fresh:
            more = np.concatenate([self._frequencies[:old], frequencies(self._axis, np.array(fresh))])
            self._frequencies, self.overlap = more, more @ more.T
            self._numbers.update(zip(fresh, range(old, old + len(fresh)), strict=True))
        return [self._numbers[pool] for pool in wanted]

    def entered(self, some: Ints) -> Floats:
        """Return the frequency of every symbol within entered sets, by number."""
        return np.asarray(self._frequencies[some])

    def frequencies(self, pools: Floats) -> Floats:
        """Return the frequency of every symbol within the given sets."""
        return frequencies(self._axis, pools)

    def pairs(self, some: Ints, others: Ints) -> Floats:
        """Return the overlaps of pairs of sets."""
        return self.overlap[some].take(others, axis=1)

    def cross(self, pools: Floats) -> Floats:
        """Return overlaps between the given sets and all that are entered."""
        return np.asarray(frequencies(self._axis, pools) @ self._frequencies.T)

    def own(self, pools: Floats) -> Floats:
        """Return the overlap of each given set with itself."""
        inside = frequencies(self._axis, pools)
        return np.asarray(np.add.reduce(inside * inside, 1))

    def among(self, pools: Floats) -> Floats:
        """Return overlaps between all pairs of the given sets."""
        inside = frequencies(self._axis, pools)
        return np.asarray(inside @ inside.T)


def frequencies(axis: Category, pools: Floats) -> Floats:
    """Return the frequency of every symbol within sets of symbols, shape (sets, symbols)."""
    distinct, where = np.unique(pools, return_inverse=True)
    return np.array([axis.frequencies(int(pool)) for pool in distinct])[where]


class ProductLayout:
    """Footprints that are products over axes: one interval, or set of symbols, an axis.

    Attributes
    ----------
    axes : sequence of Interval or Category
    parts : list of Intervals or Pools
        By axis.
    measures : list of list of Measure
        What is seen of an interval, by axis and feedback; none on an axis of symbols.
    numbers : array of int, shape (d, size) at least
        Which interval, or set, of each axis a footprint is.
    """

    def __init__(self, axes: Sequence[Interval | Category], feedback: Feedback) -> None:
        self.parts = [
            Pools(axis) if isinstance(axis, Category) else Intervals(axis.high - axis.low) for axis in axes
        ]
        self.axes = axes
        self.symbols = tuple(isinstance(axis, Category) for axis in axes)
        self.measures: list[list[Measure]] = [[] for _ in axes]
        self.numbers = np.zeros((len(axes), 128), dtype=np.intp)
        self._feedbacks: dict[Feedback, int] = {}
        self._meet(feedback)

    def enter(self, at: int, footprints: Footprints) -> None:
        """Enter footprints, numbered from `at` on; what had these numbers is forgotten."""
        stop, capacity = at + len(footprints), self.numbers.shape[1]
        if stop > capacity:
            self.numbers = np.pad(self.numbers, ((0, 0), (0, max(stop - capacity, capacity))))
        feedbacks = self.feedbacks(footprints)
        for j, part in enumerate(self.parts):
            self.numbers[j, at:stop] = part.add(footprints.centers[:, j], footprints.widths[:, j], feedbacks)

    def feedbacks(self, footprints: Footprints) -> Sequence[int]:
        """Return the number of the feedback that sees each footprint: 0, unless they say otherwise."""
        if footprints.feedbacks is None:
            return (0,) * len(footprints)
        known = self._feedbacks
        return [known[own] if own in known else self._meet(own) for own in footprints.feedbacks]

    def _meet(self, feedback: Feedback) -> int:
        """Return the number of a feedback not met before."""
        number = len(self._feedbacks)
        for axis, measures in zip(self.axes, self.measures, strict=True):
            if isinstance(axis, Interval):
                measures[number:] = [feedback.along(axis)]
        self._feedbacks[feedback] = number
        return number
