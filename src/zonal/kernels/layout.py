"""Which pairs of footprints have the same covariance under any stationary kernel: geometry only.

A footprint is a column of numbers, its *key*. On a continuous axis the average of a stationary kernel over two
intervals depends only on their widths and the distance of their centres: a *case*. A tree has few of them: a fifth
of all pairs in a short search, far fewer in a long one. A layout turns pairs of footprints into cases; a kernel
then needs one number per case. What a layout caches depends on the pair alone, so the order of queries does not
matter. This module must not know kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats, Ints
from zonal.kernels.categorical import CategoryIndex
from zonal.kernels.combinations import Beside, CombinationPairs, CombinationTable, CombinationVariances, Pairs
from zonal.kernels.feedback import Feedback, Footprints
from zonal.kernels.measures import Measure

if TYPE_CHECKING:
    from zonal.spaces import AxisSpace

ROUNDING = 4 * float(np.finfo(float).eps)
LARGEST_PLACE = 1 << 43  # beyond it, rounding of centres is not small against a half width
FINEST = 1 << 47  # cells of the finest level whose half widths are the unit: beyond it, centres are rounded
NARROWEST = 2.0**-20  # of the axis: narrower intervals off the grid are averaged like cells
MOST_CASES = 1 << 18  # of one axis
MANY = 1 << 14  # pairs, from which on it is checked whether many are the same
MOST_SORTED = 1 << 20  # pairs of which it is still found out which are the same
KINDS = 1 << 24  # more than there are on any axis
KIND, PLACE, REGISTERED = range(3)  # rows of the key of an interval
WIDTH, VIEW, ON_GRID = range(3)  # what intervals of a kind have in common
GAP, WIDE, NARROW, FIRST, SECOND, OFF_GRID = range(6)  # rows of the geometry of a case


class PairCases(NamedTuple):
    """The case of each pair of intervals: its number in the list, or `listed` plus its place in `others`."""

    case: Ints
    listed: int  # the length of the list
    others: Floats | None  # the geometry of cases that are not in the list


class RepeatedPairs(NamedTuple):
    """Pairs among which many repeat: the pairs of distinct intervals, and the interval of each row and column."""

    alike: PairCases
    rows: Ints
    columns: Ints


class IntervalIndex:
    """The intervals of one continuous axis, and the cases of their pairs.

    Centres are counted in half widths of the cells of a very deep level, so the distance of two of them is an
    integer: their *lag*. Intervals of equal width and feedback are of one *kind*. Lag and kinds are the name of a
    case. The cases met are a list, in the order of meeting them; their sorted names find them. Only pairs of
    registered intervals enter the list.

    `side` is the width of the whole axis, and `half` the unit if it is not that, but half a step of an axis of
    integers. By view, `ranks` depend on the feedback and not on when it was first used; there is one by default.
    """

    rows = 3

    def __init__(
        self, side: float, ranks: list[int] | None = None, arity: int = 2, half: float | None = None
    ) -> None:
        self._side, self._half = side, half
        self._unit = 0.5 * side / arity ** int(math.log(FINEST, arity) + ROUNDING) if half is None else half
        self._ranks = [0] if ranks is None else ranks
        self._kinds: list[tuple[float, int, bool]] = []  # width, view, and whether they are on the grid
        self._kind_of: dict[tuple[float, int, bool], int] = {}
        self._kind_table = np.empty((3, 0))
        # Sorted names and their cases, replaced together: another thread may read them.
        self._names = np.array([np.inf + 0j]), np.zeros(1, dtype=np.intp)
        self._list = np.empty((6, 1 << 8))  # the geometry of cases
        self.cases = 0  # their number

    def keys(self, centers: Floats, widths: Floats, views: Sequence[int], register: bool) -> Floats:
        """Return the keys of intervals, shape (3, n); cases of pairs are cached for those to `register`."""
        half = 0.5 * widths if self._half is None else np.full(len(widths), self._half)
        safe = np.maximum(half, self._side / LARGEST_PLACE)
        place = np.rint(centers / safe)
        # A cell of a tree is at an integer number of half widths: the same one, however its centre was computed.
        on_grid = (np.abs(centers - place * half) <= ROUNDING * self._side) & (half == safe)
        widths = np.where(on_grid, widths, np.rint(widths / self._unit) * self._unit)
        kinds = zip(widths.tolist(), views, on_grid.tolist(), strict=True)
        key = np.empty((3, len(centers)))
        key[KIND] = [self._kind(kind) for kind in kinds]
        key[PLACE] = np.rint(np.where(on_grid, place * half, centers) / self._unit)
        key[REGISTERED] = register
        return key

    def cells(self, parts: NDArray[np.int64], pieces: int) -> Floats:
        """Return the keys of some of `pieces` equal parts of the axis, with the study's own feedback."""
        width, places = self._side / pieces, 2.0 * parts.astype(float) + 1.0
        if 0.5 * width * LARGEST_PLACE < self._side:
            return self.keys(places * (0.5 * width), np.full(len(parts), width), [0] * len(parts), register=True)
        key = np.ones((3, len(parts)))
        key[KIND], key[PLACE] = self._kind((width, 0, True)), places * round(0.5 * width / self._unit)
        return key

    def _kind(self, kind: tuple[float, int, bool]) -> int:
        """Return the number of a kind of interval."""
        if kind not in self._kind_of:
            self._kinds.append(kind)
            self._kind_of[kind] = self._kinds.index(kind)  # of two threads, both get the first
        return self._kind_of[kind]

    def pairs(self, keys: Floats, others: Floats) -> PairCases:
        """Return the cases of all pairs, shape (some, others)."""
        return self._cases(keys[:, :, None], others[:, None, :])

    def self_pairs(self, keys: Floats, others: Floats | None = None) -> PairCases:
        """Return the case of each interval with itself, or with the one at the same place among others."""
        return self._cases(keys, keys if others is None else others)

    def repeated(self, keys: Floats, others: Floats) -> PairCases | RepeatedPairs:
        """Return the cases of all pairs; most cells of a tree share their interval with others."""
        if keys.shape[1] * others.shape[1] < MANY:
            return self.pairs(keys, others)
        # A kind and a place are an interval.
        _, ours, rows = np.unique(keys[KIND] + 1j * keys[PLACE], return_index=True, return_inverse=True)
        _, theirs, columns = np.unique(others[KIND] + 1j * others[PLACE], return_index=True, return_inverse=True)
        return RepeatedPairs(self.pairs(keys[:, ours], others[:, theirs]), rows, columns)

    def geometry(self, cases: Ints) -> Floats:
        """Return, for some cases, distance of the centres, both widths, both views, and whether off the grid."""
        return self._list.take(cases, axis=1)

    def _cases(self, keys: Floats, others: Floats) -> PairCases:
        """Return the cases of pairs of keys, which are broadcast; new ones are listed if all are registered."""
        names = self._named(keys, others)
        known, numbers = self._names
        at = known.searchsorted(names)
        cases, is_new, listed = numbers.take(at), known.take(at) != names, self.cases
        if not is_new.any():
            return PairCases(cases, listed, None)
        new = names[is_new]
        if new.size > MOST_SORTED:
            cases[is_new] = listed + np.arange(new.size)
            return PairCases(cases, listed, self._geometry(new))
        new, at = np.unique(new, return_inverse=True)
        cases[is_new] = listed + at
        geometry = self._geometry(new)
        if listed + new.size > MOST_CASES or not (keys[REGISTERED].all() and others[REGISTERED].all()):
            return PairCases(cases, listed, geometry)
        self._register(new, geometry)
        return PairCases(cases, self.cases, None)

    def _named(self, keys: Floats, others: Floats) -> NDArray[np.complex128]:
        """Return the names of cases: the lag, and both kinds."""
        lag, ours, theirs = keys[PLACE] - others[PLACE], keys[KIND], others[KIND]
        if len(self._ranks) == 1:
            np.abs(lag, out=lag)
        else:  # with equal feedback the sign does not matter
            order = self._order(ours.astype(np.intp), theirs.astype(np.intp))
            lag = np.where(order == 0, np.abs(lag), np.where(order > 0, -lag, lag))
        names = np.empty(lag.shape, dtype=np.complex128)
        names.real, names.imag = lag, np.maximum(ours, theirs) * KINDS + np.minimum(ours, theirs)
        return names

    def _register(self, names: NDArray[np.complex128], geometry: Floats) -> None:
        """Add cases, with sorted names, to the list."""
        known, cases = self._names
        start, end = self.cases, self.cases + len(names)
        if end > self._list.shape[1]:
            self._list = np.concatenate((self._list, np.empty((6, end))), axis=1)
        self._list[:, start:end] = geometry
        both = np.concatenate((known, names))
        order = both.argsort(kind="stable")  # two sorted parts are merged
        self._names = both.take(order), np.concatenate((cases, np.arange(start, end))).take(order)
        self.cases = end

    def _geometry(self, names: NDArray[np.complex128]) -> Floats:
        """Return the geometry of cases: with equal feedback the wider first, else in the order of feedbacks."""
        table, above = self._table(), names.imag // KINDS
        first, second = above.astype(np.intp), (names.imag - above * KINDS).astype(np.intp)
        order = self._order(first, second)
        swap = (order > 0) | ((order == 0) & (table[WIDTH].take(first) < table[WIDTH].take(second)))
        first, second = np.where(swap, second, first), np.where(swap, first, second)
        (wide, view, on_grid), (narrow, other_view, also) = table[:, first], table[:, second]
        geometry = np.empty((6, names.size))
        geometry[GAP], geometry[WIDE], geometry[NARROW] = names.real * self._unit, wide, narrow
        geometry[FIRST], geometry[SECOND] = view, other_view
        off_grid = (on_grid * also == 0) & (np.minimum(wide, narrow) > NARROWEST * self._side)
        geometry[OFF_GRID] = off_grid & (order == 0)
        return geometry

    def _order(self, kinds: Ints, others: Ints) -> Ints | int:
        """Return by how much the ranks of the feedbacks of kinds differ from those of others."""
        if len(self._ranks) == 1:
            return 0
        ranks = np.array(self._ranks).take(self._table()[VIEW].astype(np.intp))
        return np.asarray(ranks.take(kinds) - ranks.take(others))

    def _table(self) -> Floats:
        """Return what the intervals of each kind have in common, by column."""
        if self._kind_table.shape[1] != len(self._kinds):
            self._kind_table = np.array(self._kinds, dtype=float).T
        return self._kind_table


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

    def __init__(self, axes: Sequence[Any], feedback: Feedback, arity: int = 2) -> None:
        self._ranks: list[int] = []  # of feedbacks, by view
        self.parts: list[IntervalIndex | CategoryIndex] = [axis.layout(self._ranks, arity) for axis in axes]
        self.axes = axes
        self.symbols = tuple(axis.is_categorical for axis in axes)
        self.measures: list[list[Measure]] = [[] for _ in axes]
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

    def frequencies(self, keys: Floats) -> list[Floats]:
        """Return the frequencies of symbols on each axis, shape (n, symbols) each."""
        by_axis = zip(self.parts, self._rows, strict=True)
        return [part.frequencies(keys[rows]) for part, rows in by_axis if isinstance(part, CategoryIndex)]

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
        for axis, measures in zip(self.axes, self.measures, strict=True):
            measures[number:] = [axis.measure(feedback)]
        self._views[feedback] = number
        order = sorted(self._views, key=repr)
        self._ranks[:] = [order.index(other) for other in self._views]
        return number
