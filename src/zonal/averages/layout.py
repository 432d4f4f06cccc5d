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

from zonal.averages.feedback import Footprints
from zonal.spaces import Category, Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Cases = NDArray[np.int32]

ROUNDING = 4 * float(np.finfo(float).eps)
LARGEST_PLACE = 1 << 43  # beyond it, centres are no longer exact to a small part of a half width
MOST_WIDTHS = 1 << 7  # of one axis
MOST_LAGS = 1 << 22  # of all pairs of widths together
LEAST_LAGS = 1 << 8  # of one pair of widths that fit each other
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
        self._kinds: dict[float, int] = {}  # of widths; kind 0 is on no lattice
        # Of pairs of kinds: the piece of the table, the number of lags there, and both widths in narrower ones.
        self._pairs = np.zeros((MOST_WIDTHS, 4, MOST_WIDTHS), dtype=np.int64)
        self.cases: Cases = np.full(1, ALONE, dtype=np.int32)
        self._scratch: Cases = np.zeros(1, dtype=np.int32)

    def cell(self, center: float, width: float) -> tuple[int, int]:
        """Return kind and place of an interval."""
        half = 0.5 * width
        if half * LARGEST_PLACE < self._side:
            return 0, 0
        place = round(center / half)
        if abs(center - place * half) > ROUNDING * self._side:
            return 0, 0
        return self._kinds.get(width) or self._enter(width), place

    def lags(self, kind: int, places: Sequence[int], kinds: Ints, others: Ints) -> tuple[Ints, Ints]:
        """Return the lags between cells of one kind and others of several, and where in the table they are."""
        start, room, ours, theirs = self._pairs[kind].take(kinds, axis=1)
        lag = np.array(places)[:, None] * ours
        lag -= theirs * others
        lag = np.minimum(np.abs(lag, out=lag), room, out=lag)
        return lag.ravel(), (lag + start).ravel()

    def first_of_equals(self, at: Ints) -> Ints:
        """Return one position for each distinct entry of `at`, places in the table."""
        order = np.arange(len(at), dtype=np.int32)
        self._scratch[at] = order
        return np.flatnonzero(self._scratch.take(at) == order)

    def _enter(self, width: float) -> int:
        """Return the kind of a width not met before, with pieces of the table for all that fit to it."""
        kind = len(self._kinds) + 1
        if kind == MOST_WIDTHS:
            return 0
        pieces, end = [self.cases], len(self.cases)
        for other, number in [*self._kinds.items(), (width, kind)]:
            narrow, wide = min(width, other), max(width, other)
            times = round(wide / narrow)
            if abs(wide - times * narrow) > ROUNDING * wide:
                continue
            room = min(int(2 * self._side / narrow) + 1, max((MOST_LAGS - end) // 64, LEAST_LAGS))
            ours, theirs = (times, 1) if width > other else (1, times)
            self._pairs[kind, :, number] = end, room, ours, theirs
            self._pairs[number, :, kind] = end, room, theirs, ours
            pieces += [np.full(room, NEW, dtype=np.int32), np.full(1, ALONE, dtype=np.int32)]
            end += room + 1
        self._scratch = np.empty(end, dtype=np.int32)
        self.cases = np.concatenate(pieces)
        self._kinds[width] = kind
        return kind


class Intervals:
    """The distinct intervals of one continuous axis, and the case of every pair of them.

    Parameters
    ----------
    side : float
        The width of the whole axis.

    Attributes
    ----------
    case : array of int, shape (n, n) at least
        The case of each pair; past the entered intervals: junk.
    own : array of int, shape (n,) at least
        The case of each interval with itself.
    geometry : array, shape (3, cases) at least
        Distance of the centres and the two widths of each case.
    cases : int
        How many there are.
    """

    def __init__(self, side: float) -> None:
        self._numbers: dict[tuple[float, float], int] = {}
        self._lattice = Lattice(side)
        self._kinds = np.zeros(128, dtype=np.int64)
        self._places = np.zeros(128, dtype=np.int64)
        self.centers = np.zeros(128)
        self.widths = np.zeros(128)
        self.case: Cases = np.zeros((128, 128), dtype=np.int32)
        self.geometry = np.zeros((3, 1024))
        self.cases = 0

    @property
    def own(self) -> Cases:
        """The case of each interval with itself."""
        return self.case.diagonal()

    @property
    def size(self) -> int:
        """The number of intervals."""
        return len(self._numbers)

    def add(self, centers: Floats, widths: Floats) -> list[int]:
        """Return the number of each interval, entering those not seen before."""
        intervals = list(zip(centers.tolist(), widths.tolist(), strict=True))
        fresh = [interval for interval in dict.fromkeys(intervals) if interval not in self._numbers]
        if fresh:
            old = len(self._numbers)
            size = old + len(fresh)
            if size > len(self.case):
                self._grow(max(size, 2 * len(self.case)))
            cells = [self._lattice.cell(*interval) for interval in fresh]
            for number, interval, cell in zip(range(old, size), fresh, cells, strict=True):
                self.centers[number], self.widths[number] = interval
                self._kinds[number], self._places[number] = cell
            block = self._between(cells, [width for _, width in fresh], size)
            if np.minimum.reduce(block, None) < 0:
                row, column = (block == ALONE).nonzero()
                gap = np.abs(self.centers[old + row] - self.centers[column])
                block[row, column] = self._register(gap, self.widths[old + row], self.widths[column])
            self.case[old:size, :size] = block
            self.case[:size, old:size] = block.T
            self._numbers.update(zip(fresh, range(old, size), strict=True))  # none of them is entered before
        return [self._numbers[interval] for interval in intervals]

    def pairs(self, centers: Floats, widths: Floats) -> Cases:
        """Return the cases between some intervals and all that are entered, `ALONE` for pairs on no lattice."""
        cells = [self._lattice.cell(*interval) for interval in zip(centers.tolist(), widths.tolist(), strict=True)]
        return self._between(cells, widths.tolist(), self.size)

    def alike(self, numbers: Ints) -> Cases:
        """Return the cases of all pairs of some intervals."""
        return self.case[numbers].take(numbers, axis=1)

    def _between(self, cells: Sequence[tuple[int, int]], widths: Sequence[float], size: int) -> Cases:
        """Return the cases between some intervals and the first `size`, entering those not met before."""
        kinds = [kind for kind, _ in cells]
        if kinds.count(kinds[0]) == len(kinds):  # as in any split
            return self._of_kind(kinds[0], [place for _, place in cells], widths[0], size)
        cases: Cases = np.empty((len(cells), size), dtype=np.int32)
        for kind in set(kinds):
            own = [row for row, other in enumerate(kinds) if other == kind]
            cases[own] = self._of_kind(kind, [cells[row][1] for row in own], widths[own[0]], size)
        return cases

    def _of_kind(self, kind: int, places: Sequence[int], width: float, size: int) -> Cases:
        """Return the cases between cells of one kind and the first `size` intervals."""
        lattice = self._lattice
        lag, at = lattice.lags(kind, places, self._kinds[:size], self._places[:size])
        case = lattice.cases.take(at)
        new = (case == NEW).nonzero()[0]
        if len(new):
            where = at[new]
            first = lattice.first_of_equals(where)
            new = new[first]
            others = self.widths.take(new % size)
            gap = lag[new] * np.minimum(0.5 * width, 0.5 * others)  # rid of the centres' rounding
            lattice.cases[where[first]] = self._register(gap, width, others)
            case = lattice.cases.take(at)
        return case.reshape(-1, size)

    def _register(self, gap: Floats, wide_a: Floats | float, wide_b: Floats) -> Cases:
        """Enter new cases and return their numbers."""
        old, cases, room = self.cases, self.cases + len(gap), self.geometry.shape[1]
        if cases > room:
            self.geometry = np.pad(self.geometry, ((0, 0), (0, max(cases, 2 * room) - room)))
        new = self.geometry[:, old:cases]
        new[0], new[1], new[2] = gap, wide_a, wide_b
        self.cases = cases
        return np.arange(old, cases, dtype=np.int32)

    def _grow(self, capacity: int) -> None:
        more = capacity - len(self.case)
        self.centers = np.pad(self.centers, (0, more))
        self.widths = np.pad(self.widths, (0, more))
        self._kinds = np.pad(self._kinds, (0, more))
        self._places = np.pad(self._places, (0, more))
        self.case = np.pad(self.case, (0, more))


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

    def add(self, pools: Floats, shares: Floats) -> list[int]:
        """Return the number of each set, entering those not seen before."""
        old, wanted = len(self._numbers), pools.tolist()
        fresh = [pool for pool in dict.fromkeys(wanted) if pool not in self._numbers]
        if fresh:
            more = np.concatenate([self._frequencies[:old], frequencies(self._axis, np.array(fresh))])
            self._frequencies, self.overlap = more, more @ more.T
            self._numbers.update(zip(fresh, range(old, old + len(fresh)), strict=True))
        return [self._numbers[pool] for pool in wanted]

    def alike(self, numbers: Ints) -> Floats:
        """Return the overlaps of all pairs of some sets."""
        return self.overlap[numbers].take(numbers, axis=1)

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
    numbers : array of int, shape (d, size) at least
        Which interval, or set, of each axis a footprint is.
    """

    def __init__(self, axes: Sequence[Interval | Category]) -> None:
        self.parts = [
            Pools(axis) if isinstance(axis, Category) else Intervals(axis.high - axis.low) for axis in axes
        ]
        self.axes = axes
        self.symbols = tuple(isinstance(axis, Category) for axis in axes)
        self.numbers = np.zeros((len(axes), 128), dtype=np.intp)

    def enter(self, at: int, footprints: Footprints) -> None:
        """Enter footprints, numbered from `at` on; what had these numbers is forgotten."""
        stop, capacity = at + len(footprints), self.numbers.shape[1]
        if stop > capacity:
            self.numbers = np.pad(self.numbers, ((0, 0), (0, max(stop - capacity, capacity))))
        for j, part in enumerate(self.parts):
            self.numbers[j, at:stop] = part.add(footprints.centers[:, j], footprints.widths[:, j])
