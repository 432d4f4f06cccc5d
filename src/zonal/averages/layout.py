"""Which pairs of footprints are alike, whatever the kernel: geometry, and nothing else.

A footprint is a column of numbers, its *key*. On a continuous axis the average of a stationary kernel over two
intervals depends on their widths and the distance of their centres alone: a *case*. A tree meets few of them: a
fifth of all pairs in a short search, far fewer in a long one. Asked about pairs of footprints, a layout answers
with their cases; a kernel then is one number a case. What a layout remembers is a function of the pair alone, so
that it never matters who asked before. This room must not know kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
NEW, ALONE = -2, -1  # in place of a case: not met yet; each pair is a case of its own
KIND, PLACE, CENTER, WIDTH, VIEW = range(5)  # rows of the key of an interval


class Alike(NamedTuple):
    """Pairs of intervals.

    Attributes
    ----------
    case : array of int
        Of each pair; `ALONE` where it shares its case with no other.
    apart : array of int, or None
        Where those are, in the flattened array; None if there are none.
    geometry : array, shape (3, n), or None
        Of those: distance of the centres and the two widths, the interval of the lower view, or else the wider
        one, first.
    views : array of int, shape (2, n), or None
        Of those: by which measure each of the two is seen.
    """

    case: Cases
    apart: Ints | None = None
    geometry: Floats | None = None
    views: Ints | None = None


class Intervals:
    """The intervals of one continuous axis.

    The centre of a tree's cell is a whole number of its half widths away from the lower end of the axis: its
    *place*. A width is a whole number of narrower ones, so the distance of two centres is a whole number of half
    widths of the narrower one: their *lag*. Each pair of widths has a piece of one long table, with the case of
    every lag. Intervals that are on no such grid are of kind 0.

    Parameters
    ----------
    side : float
        The width of the whole axis.

    Attributes
    ----------
    geometry : array, shape (3, cases) at least
        Distance of the centres and the two widths of each case.
    views : array of int, shape (cases,) at least
        By which measure both intervals of a case are seen.
    cases : int
        How many there are.
    """

    rows = 5

    def __init__(self, side: float) -> None:
        self._side = side
        self._kinds: dict[tuple[float, int], int] = {}  # of widths, by view
        # Of pairs of kinds: the piece of the table, the number of lags there, and both widths in narrower ones.
        self._pairs = np.zeros((MOST_WIDTHS, 4, MOST_WIDTHS))
        self._widths = np.zeros(MOST_WIDTHS)
        self._views = np.zeros(MOST_WIDTHS, dtype=np.intp)
        self._table: Cases = np.full(1, ALONE, dtype=np.int32)
        self._scratch: Cases = np.zeros(1, dtype=np.int32)
        self.geometry = np.zeros((3, 1024))
        self.views = np.zeros(1024, dtype=np.intp)
        self.cases = 0

    def keys(self, centers: Floats, widths: Floats, views: Sequence[int], enter: bool) -> Floats:
        """Return the keys of intervals, shape (5, n); widths not met before are entered, or of kind 0."""
        key = np.empty((5, len(centers)))
        key[CENTER], key[WIDTH], key[VIEW] = centers, widths, views
        known = self._kinds
        key[KIND] = [
            known[own] if own in known else self._meet(*own) if enter else 0
            for own in zip(widths.tolist(), views, strict=True)
        ]
        half = 0.5 * widths
        safe = np.maximum(half, self._side / LARGEST_PLACE)
        place = np.rint(centers / safe, out=key[PLACE])
        off = np.abs(centers - place * half) > ROUNDING * self._side
        off |= half < safe
        if np.logical_or.reduce(off):
            key[KIND, off] = 0
        return key

    def pairs(self, some: Floats, others: Floats) -> Alike:
        """Return the cases of all pairs, shape (some, others)."""
        if others.shape[1] == 1:  # one that was measured, with all
            case = self._of_kind(int(others[KIND, 0]), others[PLACE], some).T
        else:
            case = self._by_kind(some, others)
        if not case.size or np.minimum.reduce(case, None) >= 0:
            return Alike(case)
        row, column = (case == ALONE).nonzero()
        return self._apart(case, row * case.shape[1] + column, some[:, row], others[:, column])

    def _by_kind(self, some: Floats, others: Floats) -> Cases:
        """Return the cases between intervals of any kinds."""
        kinds = some[KIND]
        distinct = set(kinds.tolist())
        if len(distinct) == 1:  # as in any split
            return self._of_kind(int(distinct.pop()), some[PLACE], others)
        case = np.empty((some.shape[1], others.shape[1]), dtype=np.int32)
        for kind in distinct:
            own = (kinds == kind).nonzero()[0]
            case[own] = self._of_kind(int(kind), some[PLACE].take(own), others)
        return case

    def own(self, keys: Floats) -> Alike:
        """Return the case of each interval with itself."""
        kinds = keys[KIND].astype(np.intp)
        at = self._pairs[kinds, 0, kinds].astype(np.intp)
        case = self._table.take(at)
        if np.minimum.reduce(case) == NEW:
            self._register(np.unique(at[case == NEW]), kinds, kinds, np.zeros(len(at)), at)
            case = self._table.take(at)
        (apart,) = (case == ALONE).nonzero()
        return self._apart(case, apart, keys[:, apart], keys[:, apart]) if len(apart) else Alike(case)

    def _of_kind(self, kind: int, places: Floats, others: Floats) -> Cases:
        """Return the cases between cells of one kind and other intervals, entering those not met before."""
        kinds = others[KIND].astype(np.intp)
        start, room, ours, theirs = self._pairs[kind].take(kinds, axis=1)
        lag = np.multiply.outer(places, ours)
        theirs *= others[PLACE]
        lag -= theirs
        np.minimum(np.abs(lag, out=lag), room, out=lag)
        at = (lag + start).astype(np.intp)
        case = self._table.take(at)
        if case.size and np.minimum.reduce(case, None) == NEW:
            new = (case.ravel() == NEW).nonzero()[0]
            where = at.take(new)
            order = np.arange(len(new), dtype=np.int32)
            self._scratch[where] = order
            new = new[self._scratch.take(where) == order]  # one of each
            other = kinds.take(new % len(kinds))
            self._register(at.take(new), np.full(len(new), kind), other, lag.take(new), None)
            case = self._table.take(at)
        return case

    def _register(self, where: Ints, kinds: Ints, others: Ints, lags: Floats, at: Ints | None) -> None:
        """Enter cases of places in the table; with `at`, of the first entries that have these places."""
        if at is not None:
            first = np.array([int(np.argmax(at == place)) for place in where], dtype=np.intp)
            kinds, others, lags = kinds[first], others[first], lags[first]
        wide, narrow = self._widths[kinds], self._widths[others]
        wide, narrow = np.maximum(wide, narrow), np.minimum(wide, narrow)
        old, cases, room = self.cases, self.cases + len(where), self.geometry.shape[1]
        if cases > room:
            more = max(cases, 2 * room) - room
            self.geometry, self.views = np.pad(self.geometry, ((0, 0), (0, more))), np.pad(self.views, (0, more))
        new = self.geometry[:, old:cases]
        # Counted in half widths of the narrower one, the distance is rid of the centres' rounding.
        new[0], new[1], new[2] = lags * (0.5 * narrow), wide, narrow
        self.views[old:cases] = self._views[kinds]
        self.cases = cases
        self._table[where] = np.arange(old, cases, dtype=np.int32)

    @staticmethod
    def _apart(case: Cases, apart: Ints, one: Floats, other: Floats) -> Alike:
        """Return pairs of which some share their case with no other."""
        swap = (one[VIEW] > other[VIEW]) | ((one[VIEW] == other[VIEW]) & (one[WIDTH] < other[WIDTH]))
        first, second = np.where(swap, other, one), np.where(swap, one, other)
        geometry = np.stack([np.abs(first[CENTER] - second[CENTER]), first[WIDTH], second[WIDTH]])
        fit = (first[KIND] > 0) & (second[KIND] > 0) & (first[VIEW] == second[VIEW])
        if fit.any():  # far apart: the distance as the table would have it
            (_, wide, narrow), safe = geometry, np.where(fit, geometry[2], 1.0)
            times = np.rint(wide / safe)
            fit &= np.abs(wide - times * narrow) <= ROUNDING * wide
            lag = np.abs(first[PLACE] * times - second[PLACE])
            geometry[0] = np.where(fit, lag * (0.5 * narrow), geometry[0])
        return Alike(case, apart, geometry, np.stack([first[VIEW], second[VIEW]]).astype(np.intp))

    def _meet(self, width: float, view: int) -> int:
        """Return the kind of a width not met before, with pieces of the table for all that fit to it."""
        kind = len(self._kinds) + 1
        if kind >= MOST_WIDTHS or 0.5 * width * LARGEST_PLACE < self._side:
            return 0
        pieces, end = [self._table], len(self._table)
        for (other, seen), number in [*self._kinds.items(), ((width, view), kind)]:
            narrow, wide = min(width, other), max(width, other)
            times = round(wide / narrow)
            if seen != view or abs(wide - times * narrow) > ROUNDING * wide:
                continue
            room = min(int(2 * self._side / narrow) + 1, max((MOST_LAGS - end) // 64, LEAST_LAGS))
            ours, theirs = (times, 1) if width > other else (1, times)
            self._pairs[kind, :, number] = end, room, ours, theirs
            self._pairs[number, :, kind] = end, room, theirs, ours
            pieces += [np.full(room, NEW, dtype=np.int32), np.full(1, ALONE, dtype=np.int32)]
            end += room + 1
        self._scratch = np.empty(end, dtype=np.int32)
        self._table = np.concatenate(pieces)
        self._widths[kind], self._views[kind] = width, view
        self._kinds[width, view] = kind
        return kind


class Pools:
    """The sets of symbols of one axis, and how often two of them draw the same symbol."""

    rows = 1

    def __init__(self, axis: Category) -> None:
        self._axis = axis
        self._numbers: dict[float, int] = {}
        self._frequencies = np.zeros((0, len(axis.symbols)))
        self._overlap = np.zeros((0, 0))

    def keys(self, pools: Floats, shares: Floats, views: Sequence[int], enter: bool) -> Floats:
        """Return the keys of sets of symbols, shape (1, n): their numbers in order of entry."""
        wanted, known = pools.tolist(), self._numbers
        fresh = [pool for pool in dict.fromkeys(wanted) if pool not in known]
        if fresh:
            more = np.array([self._axis.frequencies(int(pool)) for pool in fresh])
            every = np.concatenate([self._frequencies, more])
            overlap = np.empty((len(every), len(every)))
            old = len(self._frequencies)
            overlap[:old, :old] = self._overlap
            # No matrix product: its last digit could depend on how many are multiplied at once.
            overlap[old:] = np.add.reduce(more[:, None] * every, -1)
            overlap[:old, old:] = overlap[old:, :old].T
            self._frequencies, self._overlap = every, overlap
            self._numbers = known = {**known, **{pool: old + j for j, pool in enumerate(fresh)}}
        return np.array([[known[pool] for pool in wanted]], dtype=float)

    def pairs(self, some: Floats, others: Floats) -> Floats:
        """Return the overlaps of all pairs, shape (some, others)."""
        return self._overlap[some[0].astype(np.intp)].take(others[0].astype(np.intp), axis=1)

    def own(self, keys: Floats) -> Floats:
        """Return the overlap of each set with itself."""
        numbers = keys[0].astype(np.intp)
        return self._overlap[numbers, numbers]

    def frequencies(self, keys: Floats) -> Floats:
        """Return the frequency of every symbol within some sets, shape (n, symbols)."""
        return self._frequencies.take(keys[0].astype(np.intp), axis=0)


class Pairs(NamedTuple):
    """What kernels must know of pairs of footprints.

    Attributes
    ----------
    axes : list of Alike, or of overlaps
        An axis at a time.
    some, others : array
        Keys of the footprints; `others` is None where each is paired with itself.
    """

    axes: list[Alike | Floats]
    some: Floats
    others: Floats | None


class ProductLayout:
    """Footprints that are products over axes: one interval, or set of symbols, an axis.

    Attributes
    ----------
    axes : sequence of Interval or Category
    symbols : tuple of bool
        Which of them are axes of symbols.
    parts : list of Intervals or Pools
        By axis.
    measures : list of list of Measure
        What is seen of an interval, by axis and view; none on an axis of symbols.
    """

    def __init__(self, axes: Sequence[Interval | Category], feedback: Feedback) -> None:
        self.parts: list[Intervals | Pools] = [
            Pools(axis) if isinstance(axis, Category) else Intervals(axis.high - axis.low) for axis in axes
        ]
        self.axes = axes
        self.symbols = tuple(isinstance(axis, Category) for axis in axes)
        self.measures: list[list[Measure]] = [[] for _ in axes]
        self._views: dict[Feedback, int] = {}
        self._sequences: dict[bytes, int] = {}
        self._meet(feedback)
        ends = np.cumsum([part.rows for part in self.parts]).tolist()
        self._rows = [slice(end - part.rows, end) for part, end in zip(self.parts, ends, strict=True)]

    def keys(self, footprints: Footprints, enter: bool = True) -> Floats:
        """Return the keys of footprints, a column each.

        Those that are entered will be asked about again and again; of others nothing is remembered.
        """
        views = self._views_of(footprints)
        centers, widths = footprints.centers.T, footprints.widths.T
        if len(self.parts) == 1:
            return self.parts[0].keys(centers[0], widths[0], views, enter)
        each = zip(self.parts, centers, widths, strict=True)
        keys = [part.keys(*where, views, enter) for part, *where in each]
        if all(self.symbols):
            keys.append(self._numbers(np.concatenate(keys), enter))
        return np.concatenate(keys)

    def _numbers(self, keys: Floats, enter: bool) -> Floats:
        """Return the numbers of sequences in order of entry, shape (1, n); -1 for what is not entered."""
        known, numbers = self._sequences, []
        for key in keys.T:
            own = key.tobytes()
            numbers.append(known.setdefault(own, len(known)) if enter else known.get(own, -1))
        return np.array([numbers], dtype=float)

    def pairs(self, some: Floats, others: Floats) -> Pairs:
        """Return what kernels must know of all pairs of some footprints and others."""
        each = zip(self.parts, self._rows, strict=True)
        return Pairs([part.pairs(some[own], others[own]) for part, own in each], some, others)

    def own(self, keys: Floats) -> Pairs:
        """Return what kernels must know of each footprint with itself."""
        return Pairs([part.own(keys[own]) for part, own in zip(self.parts, self._rows, strict=True)], keys, None)

    def frequencies(self, keys: Floats) -> list[Floats]:
        """Return the frequencies of symbols at each axis that has any, shape (n, symbols) each."""
        each = zip(self.parts, self._rows, strict=True)
        return [part.frequencies(keys[own]) for part, own in each if isinstance(part, Pools)]

    def _views_of(self, footprints: Footprints) -> Sequence[int]:
        """Return the number of the feedback that sees each footprint: 0, unless they say otherwise."""
        if footprints.feedbacks is None:
            return (0,) * len(footprints)
        known = self._views
        return [known[own] if own in known else self._meet(own) for own in footprints.feedbacks]

    def _meet(self, feedback: Feedback) -> int:
        """Return the number of a feedback not met before."""
        number = len(self._views)
        for axis, measures in zip(self.axes, self.measures, strict=True):
            if isinstance(axis, Interval):
                measures[number:] = [feedback.along(axis)]
        self._views[feedback] = number
        return number
