"""Which pairs of footprints have the same covariance under any stationary kernel: geometry only.

A footprint is a column of numbers, its *key*. On a continuous axis the average of a stationary kernel over two
intervals depends only on their widths and the distance of their centres: a *case*. A tree has few of them: a fifth
of all pairs in a short search, far fewer in a long one. A layout turns pairs of footprints into cases; a kernel
then needs one number per case. What a layout caches depends on the pair alone, so the order of queries does not
matter. This module must not know kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal._types import Flags, Floats, Ints
from zonal.kernels.categorical import CategoryIndex
from zonal.kernels.combinations import Beside, CombinationPairs, CombinationTable, CombinationVariances, Pairs
from zonal.kernels.feedback import Feedback, Footprints
from zonal.kernels.measures import Measure

if TYPE_CHECKING:
    from zonal.spaces import AxisSpace


class Uncached(NamedTuple):
    """Pairs of intervals that share their case with no other: each is averaged by itself."""

    at: Ints  # which they are, in the flattened array of all pairs
    geometry: Floats  # shape (3, n): the distance of the centres and both widths
    views: Ints  # shape (2, n)
    repeated: Ints | None  # if those of two feedbacks are distinct ones, the pair that each of `at` is
    off_grid: bool


class PairCases:
    """The case of each pair of intervals, and both keys; what kernels have in common is computed once."""

    __slots__ = "averages", "case", "kept", "keys", "others"

    def __init__(self, case: Ints, keys: Floats, others: Floats) -> None:
        self.case, self.keys, self.others = case, keys, others
        self.kept: list[Uncached] | None = None
        self.averages: dict[object, list[Floats]] = {}  # of those kept, by who computed them: models share factors

    def steps(self, pairs: int) -> Iterator[tuple[slice, PairCases]]:
        """Yield some rows at a time, with at most so many pairs or one row; all of them if they are few."""
        case, keys, others = self.case, self.keys, self.others
        number = len(case) if case.ndim == 1 else pairs // case.shape[1] + 1
        if number >= len(case):
            yield slice(None), self
            return
        for start in range(0, len(case), number):
            rows = slice(start, start + number)
            yield rows, PairCases(case[rows], keys[:, rows], others if case.ndim > 1 else others[:, rows])


class RepeatedPairs(NamedTuple):
    """Pairs among which many repeat: the pairs of distinct intervals, and the interval of each row and column."""

    alike: PairCases
    rows: Ints
    columns: Ints


ROUNDING = 4 * float(np.finfo(float).eps)
LARGEST_PLACE = 1 << 43  # beyond it, rounding of centres is not small against a half width
MOST_WIDTHS = 1 << 7  # of one axis
MOST_KINDS = 1 << 9  # of one axis: widths, and single intervals
MOST_CASES = 1 << 18  # of one axis
MOST_SINGLE = 1 << 16  # of these, for single intervals
MOST_PLACES = 1 << 11  # of a width, with a single interval
FINEST = 2.0**-48  # of the axis: off the grid, distances are multiples of it, so that equal ones are found equal
NARROWEST = 2.0**-20  # of the axis: geometry with narrower intervals keeps the last digit
MANY = 1 << 14  # pairs, from which on it is checked whether many are the same
KIND, PLACE, CENTER, WIDTH, VIEW, ON_GRID = range(6)  # rows of the key of an interval


def _distinct_intervals(keys: Floats) -> tuple[Ints, Ints]:
    """Return the first key of each distinct interval, and which of these every interval is."""
    # A kind is a width and a view, or one interval: with the centre it determines the interval.
    if keys[KIND].all():
        _, first, which = np.unique(keys[KIND] + 1j * keys[CENTER], return_index=True, return_inverse=True)
    else:
        _, first, which = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    return first, which.reshape(-1)


def _distinct(geometry: Floats, views: Ints) -> tuple[Floats, Ints, Ints | None]:
    """Return the distinct ones of pairs with two feedbacks, which are slow to average, and where each pair is."""
    if (views[0] == views[1]).all():
        return geometry, views, None
    pairs, repeated = np.unique(np.concatenate([geometry, views]), axis=1, return_inverse=True)
    return pairs[:3], pairs[3:].astype(np.intp), repeated.ravel()


class IntervalIndex:
    """The intervals of one continuous axis.

    The centre of a tree's cell is an integer number of its half widths from the lower end of the axis: its
    *place*. A width is a multiple of any narrower one, so the distance of two centres is an integer number of half
    widths of the narrower one: their *lag*. Each pair of widths has a section of one long list of cases, ordered
    by lag. The last entry of each section, and the first of the list, is for pairs without a shared case: those
    with a lag too long for the list. An interval that is not on such a grid is a kind of its own, with a section
    for each width, ordered by place; if it is not entered, or there are too many of them, it is of kind 0.
    Several of these sections may have entries with the same geometry: each names the first one, so that its
    average is computed once.

    `side` is the width of the whole axis, and `half` the unit of places if it is not the half width of each
    interval. By view, `ranks` depend on the feedback and not on when it was first used; there is one by default.
    """

    rows = 6

    def __init__(self, side: float, ranks: list[int] | None = None, half: float | None = None) -> None:
        self._side, self._half = side, half
        self._ranks = [0] if ranks is None else ranks
        self._kinds: dict[tuple[float, int], int] = {}  # of widths, by view
        self._single: dict[tuple[float, float, int], Floats] = {}  # keys of intervals that are a kind of their own
        self._single_cases = 0  # the number of their cases
        # By pair of kinds: start of the section, number of lags, and both widths in units of the narrower.
        self._pairs = np.zeros((MOST_WIDTHS, 4, MOST_WIDTHS))
        # By case: distance of the centres, wider and narrower width, view; NaN at the end of a section. The last
        # entry is the first case with the same geometry, NaN unless an interval off the grid is involved.
        self._list = np.full((5, 1 << 8), np.nan)
        self._met: dict[tuple[float, ...], int] = {}  # that first case by geometry and view, of single intervals
        self.cases = 1  # their number

    def keys(self, centers: Floats, widths: Floats, views: Sequence[int], register: bool) -> Floats:
        """Return the keys of intervals, shape (6, n); new widths are entered if `register`, else of kind 0."""
        key = np.ones((6, len(centers)))
        key[CENTER], key[WIDTH], key[VIEW] = centers, widths, views
        widths_and_views = [*zip(widths.tolist(), views, strict=True)]
        if register:
            for width, view in dict.fromkeys(widths_and_views):
                if (width, view) not in self._kinds:
                    self._register(width, view, only_if_fits=True)
        key[KIND] = [self._kinds.get(name, 0) for name in widths_and_views]
        half = 0.5 * widths if self._half is None else self._half
        safe = np.maximum(half, self._side / LARGEST_PLACE)
        place = np.rint(centers / safe, out=key[PLACE])
        off = np.abs(centers - place * half) > ROUNDING * self._side
        off |= half < safe
        # The same cell has the same centre, however it was computed.
        key[CENTER] = np.where(off, centers, place * half)
        if np.logical_or.reduce(off):
            key[KIND, off] = key[ON_GRID, off] = 0
            wide = off & (widths > NARROWEST * self._side)
            key[WIDTH, wide] = self._rounded(key[WIDTH, wide])
        key[KIND, place < 0] = 0  # sections by place begin at 0
        if not key[KIND].all():
            for at in (key[KIND] == 0).nonzero()[0].tolist():
                key[:, at] = self._register_single(key[:, at], register)
        return key

    def cells(self, parts: NDArray[np.int64], pieces: int) -> Floats:
        """Return the keys of some of `pieces` equal parts of the axis, with the study's own feedback."""
        side, width, kinds = self._side, self._side / pieces, self._kinds
        kind = kinds[width, 0] if (width, 0) in kinds else self._register(width, 0)
        key = np.zeros((6, len(parts)))
        key[KIND], key[WIDTH], key[ON_GRID] = kind, width, 0.5 * width * LARGEST_PLACE >= side
        key[PLACE] = place = 2.0 * parts + 1.0
        key[CENTER] = place * (0.5 * width)
        return key

    def sizes(self, keys: Floats) -> Floats:
        """Return the widths of intervals."""
        return np.asarray(keys[WIDTH])

    def pairs(self, keys: Floats, others: Floats) -> PairCases:
        """Return the cases of all pairs, shape (some, others)."""
        if others.shape[1] == 1:  # as for a new measurement
            return PairCases(self._of_kind(int(others[KIND, 0]), others[PLACE], keys).T, keys, others)
        distinct, theirs = set(keys[KIND].tolist()), set(others[KIND].tolist())
        if len(theirs) < len(distinct):
            return PairCases(self._by_kind(theirs, others, keys).T, keys, others)
        return PairCases(self._by_kind(distinct, keys, others), keys, others)

    def _by_kind(self, distinct: set[float], keys: Floats, others: Floats) -> Ints:
        """Return the cases of all pairs, one kind of `keys` after the other."""
        first, *more = distinct or {0.0}
        if not more:  # as in any split
            return self._of_kind(int(first), keys[PLACE], others)
        kinds, case = keys[KIND], np.empty((keys.shape[1], others.shape[1]), dtype=np.intp)
        for kind in distinct:
            rows = (kinds == kind).nonzero()[0]
            case[rows] = self._of_kind(int(kind), keys[PLACE].take(rows), others)
        return case

    def repeated(self, keys: Floats, others: Floats) -> PairCases | RepeatedPairs:
        """Return the cases of all pairs; most cells of a tree share their interval with others.

        So do windows, of which a few are worth it: intervals of kind 0 share no cases, and each pair is averaged.
        """
        if keys[KIND].all() and others[KIND].all() and keys.shape[1] * others.shape[1] < MANY:
            return self.pairs(keys, others)
        (ours, rows), (theirs, columns) = _distinct_intervals(keys), _distinct_intervals(others)
        return RepeatedPairs(self.pairs(keys[:, ours], others[:, theirs]), rows, columns)

    def self_pairs(self, keys: Floats, others: Floats | None = None) -> PairCases:
        """Return the case of each interval with itself, or with the one at the same place among others."""
        if others is None:
            others = keys
        kinds, their_kinds = keys[KIND].astype(np.intp), others[KIND].astype(np.intp)
        start, lags, ours, theirs = self._pairs[kinds, :, their_kinds].T
        lag = np.minimum(np.abs(keys[PLACE] * ours - others[PLACE] * theirs), lags)
        return PairCases((start + lag).astype(np.intp), keys, others)

    def _of_kind(self, kind: int, places: Floats, others: Floats) -> Ints:
        """Return the cases between cells of one kind and other intervals."""
        start, lags, ours, theirs = self._pairs[kind].take(others[KIND].astype(np.intp), axis=1)
        lag = places[:, None] * ours
        theirs *= others[PLACE]
        lag -= theirs
        np.minimum(np.abs(lag, out=lag), lags, out=lag)
        lag += start
        cases: Ints = lag.astype(np.intp)
        return cases

    def positions(self, keys: Floats) -> Floats:
        """Return the centres of intervals, in widths of the axis."""
        return np.asarray(keys[CENTER] / self._side)

    def geometry(self, cases: Ints) -> tuple[Floats, Floats]:
        """Return the distance of the centres and both widths of some cases, the wider first, and their view.

        NaN where pairs share no case. Counted in half widths, distances do not have the rounding of the centres.
        """
        listed = self._list.take(cases, axis=1)
        return listed[:3], listed[3]

    def first(self, cases: Ints) -> Floats | None:
        """Return the first case with the same geometry, NaN for intervals on the grid; None if all are on it."""
        return self._list[4].take(cases) if self._met else None

    def uncached(self, alike: PairCases) -> list[Uncached]:
        """Return which pairs share their case with no other: on the grid, and off it."""
        if alike.kept is None:
            case = alike.case
            (at,) = np.isnan(self._list[0].take(case.ravel())).nonzero()
            row, column = divmod(at, case.shape[1]) if case.ndim > 1 else (at, at)
            geometry, views, off_grid = self._geometry_of(alike.keys[:, row], alike.others[:, column])
            parts = [(which, bool(which is off_grid)) for which in (~off_grid, off_grid) if which.any()]
            alike.kept = [
                Uncached(at[which], *_distinct(geometry[:, which], views[:, which]), is_off)
                for which, is_off in parts
            ]
        return alike.kept

    def _geometry_of(self, keys: Floats, others: Floats) -> tuple[Floats, Ints, Flags]:
        """Return the geometry of pairs of intervals, their views, and whether it is that of some off the grid."""
        ranks = np.array(self._ranks)
        ours, theirs = ranks[keys[VIEW].astype(np.intp)], ranks[others[VIEW].astype(np.intp)]
        alike_seen = ours == theirs
        swap = (ours > theirs) | (alike_seen & (keys[WIDTH] < others[WIDTH]))
        first, second = np.where(swap, others, keys), np.where(swap, keys, others)
        gap, wide, narrow = first[CENTER] - second[CENTER], first[WIDTH], second[WIDTH]
        gap = np.where(alike_seen, np.abs(gap), gap)  # with equal feedback the sign does not matter
        fit = (first[ON_GRID] > 0) & (second[ON_GRID] > 0) & alike_seen
        off_grid = alike_seen & ~fit & (np.minimum(wide, narrow) > NARROWEST * self._side)
        half, times = self._half or 0.5 * narrow, 1.0
        if self._half is None:
            times = np.rint(wide / np.where(fit, narrow, np.inf))
            fit &= np.abs(wide - times * narrow) <= ROUNDING * wide
        far = np.abs(first[PLACE] * times - second[PLACE]) * half  # computed as for the list
        gap = np.where(off_grid, self._rounded(gap), gap)
        geometry = np.stack([np.where(fit, far, gap), wide, narrow])
        return geometry, np.stack([first[VIEW], second[VIEW]]).astype(np.intp), off_grid

    def _rounded(self, lengths: Floats) -> Floats:
        """Return lengths without the last digits, in which equal ones may differ by how they were computed."""
        return np.asarray(np.rint(lengths / (FINEST * self._side)) * (FINEST * self._side))

    def _fits(self, width: float, other: float) -> bool:
        """Tell whether the wider of two widths is a multiple of the narrower, so that lags are integers."""
        narrow, wide = min(width, other), max(width, other)
        return self._half is not None or abs(wide - round(wide / narrow) * narrow) <= ROUNDING * wide

    def _can_hold(self, kind: int) -> bool:
        """Tell whether there may be one more kind, after enlarging the table for it."""
        if kind >= MOST_KINDS:
            return False
        size = self._pairs.shape[0]
        if kind >= size:
            grown = np.zeros((2 * size, 4, 2 * size))
            grown[:size, :, :size] = self._pairs
            self._pairs = grown
        return True

    def _register(self, width: float, view: int, only_if_fits: bool = False) -> int:
        """Return the kind of a new width, and make sections of the list for all widths that it fits.

        With `only_if_fits`, a width that does not fit all others gets none: 0 is returned.
        """
        if len(self._kinds) + 1 >= MOST_WIDTHS or 0.5 * width * LARGEST_PLACE < self._side:
            return 0
        if only_if_fits and not all(self._fits(width, other) for other, seen in self._kinds if seen == view):
            return 0
        kind = len(self._kinds) + len(self._single) + 1
        if not self._can_hold(kind):
            return 0
        pieces, end = [], self.cases
        for (other, seen), number in [*self._kinds.items(), ((width, view), kind)]:
            narrow, wide = min(width, other), max(width, other)
            half, times = (0.5 * narrow, round(wide / narrow)) if self._half is None else (self._half, 1)
            if seen != view or not self._fits(width, other):
                continue
            lags = min(int(self._side / half) + 1, max((MOST_CASES - end) // 16, 1))
            ours, theirs = (times, 1) if width > other else (1, times)
            self._pairs[kind, :, number] = end, lags, ours, theirs
            self._pairs[number, :, kind] = end, lags, theirs, ours
            pieces.append((end, lags, half, wide, narrow))
            end += lags + 1
        self._write_sections(pieces, end, view)
        self._kinds[width, view], self.cases = kind, end
        for single in self._single.values():
            if single[VIEW] == view:
                self._beside(single, [self._places(width, view, kind)])
        return kind

    def _write_sections(self, pieces: list[tuple[int, int, float, float, float]], end: int, view: int) -> None:
        """Write the cases of new sections into the list, which then has `end` entries."""
        self._reserve(end)
        for first, lags, half, wide, narrow in pieces:
            section = self._list[:, first : first + lags]
            section[0] = half * np.arange(lags)
            section[1], section[2], section[3] = wide, narrow, view

    def _reserve(self, end: int) -> None:
        """Reserve `end` entries of the list."""
        if end > self._list.shape[1]:
            self._list = np.concatenate((self._list, np.full((5, max(end, self.cases)), np.nan)), axis=1)

    def _register_single(self, key: Floats, register: bool) -> Floats:
        """Return the key of an interval off the grid as a kind of its own, or unchanged if there are too many."""
        name = key.item(CENTER), key.item(WIDTH), int(key[VIEW])
        if name in self._single:
            return self._single[name]
        kind = len(self._kinds) + len(self._single) + 1
        if not register or self._single_cases > MOST_SINGLE or not self._can_hold(kind):
            return key
        self._single[name] = single = key.copy()
        single[KIND] = kind
        singles = [entry[:, None] for entry in self._single.values() if entry[VIEW] == name[2]]
        widths = [self._places(*entry, number) for entry, number in self._kinds.items() if entry[1] == name[2]]
        self._beside(single, [*singles, *widths])
        return single

    def _places(self, width: float, view: int, kind: int) -> Floats:
        """Return the keys of intervals of a kind at all places on the axis."""
        half = 0.5 * width if self._half is None else self._half
        key = np.ones((6, min(int(self._side / half) + 1, MOST_PLACES)))
        key[KIND], key[WIDTH], key[VIEW], key[PLACE] = kind, width, view, np.arange(key.shape[1])
        key[CENTER] = key[PLACE] * half
        return key

    def _beside(self, single: Floats, kinds: list[Floats]) -> None:
        """Make sections for an interval that is a kind of its own with the intervals of other kinds, by place."""
        sizes = np.array([others.shape[1] for others in kinds])
        starts, end = self.cases + np.cumsum(sizes + 1) - sizes - 1, self.cases + int(sizes.sum()) + len(kinds)
        self._reserve(end)
        others = np.concatenate(kinds, axis=1)
        at = np.arange(others.shape[1]) + (starts - np.cumsum(sizes) + sizes).repeat(sizes)
        pairs = np.broadcast_to(single[:, None], others.shape), others
        geometry, _, off_grid = self._geometry_of(*pairs)
        self._list[:3, at], self._list[3, at] = geometry, single[VIEW]
        at, view, met = at[off_grid], single.item(VIEW), self._met
        entries = zip(*geometry[:, off_grid].tolist(), at.tolist(), strict=True)
        self._list[4, at] = [met.setdefault((*lengths, view), case) for *lengths, case in entries]
        kind, numbers = int(single[KIND]), [int(keys[KIND, 0]) for keys in kinds]
        by_place = np.where(sizes > 1, 1.0, 0.0)  # a single interval has one place
        self._pairs[kind][:, numbers] = starts, sizes, 0 * by_place, by_place
        self._pairs[numbers, :, kind] = np.stack([starts, sizes, by_place, 0 * by_place], axis=1)
        self._single_cases += end - self.cases
        self.cases = end


class ProductLayout:
    """Footprints that are products over axes: one interval, or set of symbols, per axis.

    Attributes
    ----------
    axes : sequence of Axis
    symbols : tuple of bool
        Which of them are categorical.
    parts : list
        By axis, the layout of its intervals or sets of symbols.
    measures : list of list of Measure
        By axis and view, the measure of an interval; None on a categorical axis.
    """

    def __init__(self, axes: Sequence[Any], feedback: Feedback) -> None:
        self._ranks: list[int] = []  # of feedbacks, by view
        self.parts: list[IntervalIndex | CategoryIndex] = [axis.layout(self._ranks) for axis in axes]
        self.axes = axes
        self.symbols = tuple(axis.is_categorical for axis in axes)
        # A beam of unknown width has some width here; which pairs are alike does not depend on it.
        self._narrowest = min((axis.side for axis in axes if not axis.is_categorical), default=1.0)
        self._by_width: dict[float, list[list[Measure]]] = {self._narrowest: [[] for _ in axes]}
        self.measures = self._by_width[self._narrowest]
        self._views: dict[Feedback, int] = {}
        self._sequences: dict[bytes, int] = {}
        self.sums = CombinationTable()
        self._register(feedback)
        ends = np.cumsum([part.rows for part in self.parts]).tolist()
        self._rows = [slice(end - part.rows, end) for part, end in zip(self.parts, ends, strict=True)]

    def keys(self, footprints: Footprints, register: bool = True) -> Floats:
        """Return the keys of footprints, one column each.

        With `register`, new ones are stored, for footprints that are used repeatedly.
        """
        (centers, widths), views = footprints.extents, self._views_of(footprints)
        if len(self.parts) == 1:
            return self.parts[0].keys(centers[:, 0], widths[:, 0], views, register)
        by_axis = zip(self.parts, centers.T, widths.T, strict=True)
        return self._together(
            [part.keys(center, width, views, register) for part, center, width in by_axis], register
        )

    def cells(self, space: AxisSpace, depth: int, cells: NDArray[np.int64]) -> Floats:
        """Return the keys of cells of a depth, encoded by `space` as rows of parts of the axes."""
        pieces = space.partition.pieces(depth)
        if not pieces[1:]:
            return self.parts[0].cells(cells[:, 0], pieces[0])
        by_axis = zip(self.parts, cells.T, pieces, strict=True)
        return self._together([part.cells(column, number) for part, column, number in by_axis], register=True)

    def _together(self, keys: list[Floats], register: bool) -> Floats:
        if all(self.symbols):
            keys.append(self._numbers(np.concatenate(keys), register))
        return np.concatenate(keys)

    def _numbers(self, keys: Floats, register: bool) -> Floats:
        """Return the numbers of sequences in order of entry, shape (1, n); -1 for those not entered."""
        sequences, numbers = self._sequences, []
        for key in keys.T:
            name = key.tobytes()
            numbers.append(sequences.setdefault(name, len(sequences)) if register else sequences.get(name, -1))
        return np.array([numbers], dtype=float)

    def totals(self, footprints: Footprints) -> Floats:
        """Return the total weight of footprints: 1 for averages."""
        views = self._views_of(footprints)
        by_view = [[measures[view] for measures in self.measures] for view in views]
        totals = [[measure.total for measure in by_axis if measure is not None] for by_axis in by_view]
        return np.array([math.prod(numbers) for numbers in totals])

    def sizes(self, keys: Floats) -> Floats:
        """Return the size of the region of each footprint, in any unit; 0 for sums of several."""
        sizes = np.where(keys[0] < 0, 0.0, 1.0)
        for part, rows in zip(self.parts, self._rows, strict=True):
            sizes *= part.sizes(keys[rows])
        return sizes

    def summed(self, weights: Floats, keys: Floats) -> Floats:
        """Return the key of a weighted sum of footprints, as a column."""
        return self.sums.register(weights, keys)

    def pairs(self, keys: Floats, others: Floats) -> Pairs | CombinationPairs:
        """Return what kernels need to know about all pairs of some footprints with others."""
        if self.sums.entries and (keys[0].min(initial=0) < 0 or others[0].min(initial=0) < 0):
            sides = self.sums.expand(keys), self.sums.expand(others)
            return CombinationPairs(self.pairs(sides[0].keys, sides[1].keys), *sides)  # type: ignore[arg-type]  # parts are no sums
        if not self.parts[1:]:
            return [self.parts[0].pairs(keys, others)], keys, others
        by_axis = zip(self.parts, self._rows, strict=True)
        return [part.repeated(keys[rows], others[rows]) for part, rows in by_axis], keys, others

    def self_pairs(self, keys: Floats) -> Pairs | CombinationVariances:
        """Return what kernels need to know about each footprint with itself."""
        if self.sums.entries and keys[0].min(initial=0) < 0:
            (at,) = (keys[0] < 0).nonzero()
            distinct, parts, weights = self.sums.parts(keys[0, at])
            plain, number = keys.copy(), parts.shape[1]
            plain[:, at] = distinct[:, parts[:, 0]]
            first, second = distinct[:, parts.repeat(number)], distinct[:, np.tile(parts, number).ravel()]
            by_axis = zip(self.parts, self._rows, strict=True)
            beside = Beside([part.self_pairs(first[rows], second[rows]) for part, rows in by_axis], first, second)
            return CombinationVariances(self.self_pairs(plain), at, beside, weights)  # type: ignore[arg-type]  # these are no sums
        return [part.self_pairs(keys[rows]) for part, rows in zip(self.parts, self._rows, strict=True)], keys, None

    def grid(self, space: AxisSpace, depth: int) -> list[Floats]:
        """Return the keys of the parts of each axis whose combinations are all cells of a depth."""
        by_axis = zip(self.parts, space.partition.existing(depth), space.partition.pieces(depth), strict=True)
        return [part.cells(places, pieces) for part, places, pieces in by_axis]

    def pairs_by_axis(self, grid: Sequence[Floats], keys: Floats) -> list[Any]:
        """Return what kernels need to know, by axis, about all pairs of parts of an axis with some footprints."""
        by_axis = zip(self.parts, grid, self._rows, strict=True)
        return [part.repeated(parts, keys[rows]) for part, parts, rows in by_axis]

    def pairs_of_parts(self, grid: Sequence[Floats]) -> list[Any]:
        """Return what kernels need to know, by axis, about all pairs of parts of an axis."""
        return [part.repeated(parts, parts) for part, parts in zip(self.parts, grid, strict=True)]

    def self_pairs_by_axis(self, grid: Sequence[Floats]) -> list[Any]:
        """Return what kernels need to know, by axis, about parts of an axis with themselves."""
        return [part.self_pairs(parts) for part, parts in zip(self.parts, grid, strict=True)]

    def positions(self, keys: Floats) -> Floats:
        """Return the centres of footprints, of sums of their first part, in widths of the axes, shape (n, d)."""
        by_axis = zip(self.parts, self._rows, strict=True)
        return np.stack([part.positions(keys[rows]) for part, rows in by_axis], axis=1)

    def frequencies(self, keys: Floats) -> list[Floats]:
        """Return the frequencies of symbols on each axis, shape (n, symbols) each."""
        by_axis = zip(self.parts, self._rows, strict=True)
        return [part.frequencies(keys[rows]) for part, rows in by_axis if isinstance(part, CategoryIndex)]

    def measures_at(self, fwhm: float) -> list[list[Measure]]:
        """Return the measures where a beam of unknown width has this one; further feedbacks are added to them."""
        if fwhm not in self._by_width:
            views = [feedback.of_width(fwhm) for feedback in self._views]
            self._by_width[fwhm] = [[axis.measure(feedback) for feedback in views] for axis in self.axes]
        return self._by_width[fwhm]

    def _views_of(self, footprints: Footprints) -> Sequence[int]:
        """Return the number of the feedback of each footprint: 0 for the study's own."""
        if footprints.feedbacks is None:
            return (0,) * int(footprints.extents.shape[1])
        views = self._views
        return [
            views[feedback] if feedback in views else self._register(feedback) for feedback in footprints.feedbacks
        ]

    def _register(self, feedback: Feedback) -> int:
        """Return the number of a new feedback."""
        number = len(self._views)
        for fwhm, by_axis in self._by_width.items():
            for axis, measures in zip(self.axes, by_axis, strict=True):
                measures[number:] = [axis.measure(feedback.of_width(fwhm))]
        self._views[feedback] = number
        order = sorted(self._views, key=repr)
        self._ranks[:] = [order.index(other) for other in self._views]
        return number
