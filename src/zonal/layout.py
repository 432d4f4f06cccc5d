"""Which footprints there are, whatever the kernel: entered once, and shared by the covariances of all models.

On a continuous axis the average of a stationary kernel over two intervals depends on their widths and the
distance of their centres alone: a *case*. A tree meets few of them: a fifth of all pairs in a short search, far
fewer in a long one. The layout keeps the case of every pair of intervals; a kernel then is one number a case.
This room knows geometry; it must not know kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal.feedback import Footprints
from zonal.spaces import Category, Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Cases = NDArray[np.int32]

LARGEST_LAG, LARGEST_CLASS = 1 << 43, 1 << 10  # that fit into one 63-bit key together


class Intervals:
    """The distinct intervals of one continuous axis, and the case of every pair of them.

    Attributes
    ----------
    case : array of int, shape (n, n) at least
        The case of each pair; past the entered intervals: junk.
    gap, wide_a, wide_b : array, one entry a case at least
        Distance of the centres and the two widths.
    cases : int
        How many there are.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[float, float], int] = {}
        self.centers = np.zeros(128)
        self.widths = np.zeros(128)
        self.case: Cases = np.zeros((128, 128), dtype=np.int32)
        self.cases = 0
        self.gap, self.wide_a, self.wide_b = np.zeros(1024), np.zeros(1024), np.zeros(1024)
        self._classes = Dictionary(np.float64)  # of widths, to a number for each
        self._known = Dictionary(np.int64)  # of keys, to cases

    @property
    def size(self) -> int:
        """The number of intervals."""
        return len(self._numbers)

    def add(self, centers: Floats, widths: Floats) -> list[int]:
        """Return the number of each interval, entering those not seen before."""
        old = len(self._numbers)
        numbers = [
            self._numbers.setdefault(interval, len(self._numbers))
            for interval in zip(centers.tolist(), widths.tolist(), strict=True)
        ]
        size = len(self._numbers)
        if size > old:
            if size > len(self.centers):
                self._grow(max(size, 2 * len(self.centers)))
            where = slice(old, size) if size - old == len(numbers) else numbers
            self.centers[where] = centers
            self.widths[where] = widths
            block = self.pairs(self.centers[old:size], self.widths[old:size], self._enter_single)
            self.case[old:size, :size] = block
            self.case[:size, old:size] = block.T
        return numbers

    def pairs(self, centers: Floats, widths: Floats, single: Callable[..., Cases] | None = None) -> Cases:
        """Return the cases between some intervals and all that are entered, -1 for pairs off the lattice.

        Cells of a tree lie on a lattice: the distance of two centres is a whole number of half widths of the
        narrower one. `single` enters pairs off the lattice, each a case of its own.
        """
        others, other_widths = self.centers[: self.size], self.widths[: self.size]
        shape = (len(centers), len(others))
        gap = np.abs(centers[:, None] - others).ravel()
        wide_a, wide_b = (np.broadcast_to(w, shape).ravel() for w in (widths[:, None], other_widths))
        unit = 0.5 * np.minimum(wide_a, wide_b)
        rounding = 4 * np.finfo(float).eps * float(max(others.max(), centers.max()))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            lag = np.rint(gap / unit)
            fits = (np.abs(gap - lag * unit) <= rounding) & (lag < LARGEST_LAG)  # no points: their unit is 0
        numbers = [self._classes.get(w, self._number) for w in (widths, other_widths)]
        first, second = (np.broadcast_to(number, shape).ravel() for number in (numbers[0][:, None], numbers[1]))
        if self._classes.size > LARGEST_CLASS:
            fits[:] = False
        pair = np.minimum(first, second) * LARGEST_CLASS + np.maximum(first, second)
        cases: Cases = np.full(gap.size, -1, dtype=np.int32)
        if fits.all():  # the usual case, without copies
            keys = pair * LARGEST_LAG + lag.astype(np.int64)
            on = lag * unit, wide_a, wide_b  # rid of the centres' rounding
            cases = self._known.get(keys, lambda at: self._register(*(part[at] for part in on))).astype(np.int32)
        else:
            keys = pair[fits] * LARGEST_LAG + lag[fits].astype(np.int64)
            on = lag[fits] * unit[fits], wide_a[fits], wide_b[fits]
            cases[fits] = self._known.get(keys, lambda at: self._register(*(part[at] for part in on)))
            if single is not None:
                cases[~fits] = single(gap[~fits], wide_a[~fits], wide_b[~fits])
        return cases.reshape(shape)

    def alike(self, numbers: Ints) -> Cases:
        """Return the cases of all pairs of some intervals."""
        return self.case[numbers].take(numbers, axis=1)

    def _enter_single(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> Cases:
        return self._register(gap, wide_a, wide_b).astype(np.int32)

    def _register(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> NDArray[np.int64]:
        """Enter new cases and return their numbers."""
        old, self.cases = self.cases, self.cases + len(gap)
        if self.cases > len(self.gap):
            more = max(self.cases, 2 * len(self.gap)) - len(self.gap)
            self.gap, self.wide_a, self.wide_b = (
                np.pad(part, (0, more)) for part in (self.gap, self.wide_a, self.wide_b)
            )
        new = slice(old, self.cases)
        self.gap[new], self.wide_a[new], self.wide_b[new] = gap, wide_a, wide_b
        return np.arange(old, self.cases)

    def _number(self, at: Ints) -> NDArray[np.int64]:
        """Return numbers for widths not met before."""
        return self._classes.size + np.arange(len(at))

    def _grow(self, capacity: int) -> None:
        more = capacity - len(self.centers)
        self.centers = np.pad(self.centers, (0, more))
        self.widths = np.pad(self.widths, (0, more))
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
        old = len(self._numbers)
        numbers = [self._numbers.setdefault(pool, len(self._numbers)) for pool in pools.tolist()]
        if len(self._numbers) > old:
            fresh = np.array(list(self._numbers)[old:])
            self._frequencies = np.concatenate([self._frequencies, frequencies(self._axis, fresh)])
            self.overlap = self._frequencies @ self._frequencies.T
        return numbers

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
    parts : list of Intervals or Pools
        By axis.
    numbers : array of int, shape (d, size) at least
        Which interval, or set, of each axis a footprint is.
    size : int
        Footprints entered.
    """

    def __init__(self, axes: Sequence[Interval | Category]) -> None:
        self.parts = [Pools(axis) if isinstance(axis, Category) else Intervals() for axis in axes]
        self.symbols = tuple(isinstance(axis, Category) for axis in axes)
        self.numbers = np.zeros((len(axes), 128), dtype=np.intp)
        self.size = 0

    def enter(self, footprints: Footprints) -> None:
        """Enter footprints, which get the next numbers."""
        start, self.size = self.size, self.size + len(footprints)
        capacity = self.numbers.shape[1]
        if self.size > capacity:
            self.numbers = np.pad(self.numbers, ((0, 0), (0, max(self.size - capacity, capacity))))
        for j, part in enumerate(self.parts):
            self.numbers[j, start : self.size] = part.add(footprints.centers[:, j], footprints.widths[:, j])


class Dictionary:
    """Whole numbers by key, for whole arrays of keys at once."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._keys: NDArray[Any] = np.zeros(0, dtype)  # sorted
        self._values = np.zeros(0, dtype=np.int64)

    @property
    def size(self) -> int:
        """The number of keys."""
        return len(self._values)

    def get(self, keys: NDArray[Any], compute: Callable[[Ints], NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the values of `keys`; `compute` gets the positions of those that are new."""
        at = np.searchsorted(self._keys, keys)
        known = at < len(self._keys)
        known[known] = self._keys[at[known]] == keys[known]
        if not known.all():
            unknown = np.flatnonzero(~known)
            fresh, where = np.unique(keys[unknown], return_index=True)
            values = compute(unknown[where])
            place = np.searchsorted(self._keys, fresh)
            self._keys = np.insert(self._keys, place, fresh)
            self._values = np.insert(self._values, place, values)
            at = np.searchsorted(self._keys, keys)
        return self._values[at]
