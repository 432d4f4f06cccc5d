"""Prior covariance of averages over sets of members: the matrix ``A K A'`` of equation 4, without storing K.

Each footprint is a sparse row of A over the members met so far. The kernel is evaluated between members a block at
a time, and only averages are stored.

Up to `EXACT` members everything is exact. In larger spaces a region is represented by some of its members: those
within it of `WHOLE` members spread evenly over the whole space, and at least `FEW` of its own. The average of a
region is then always that of its representatives, so that covariances stay positive semi-definite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats, Ints
from zonal.kernels.base import Kernel
from zonal.kernels.callable import Custom
from zonal.kernels.combinations import Beside, Pairs
from zonal.kernels.feedback import Feedback, Subsets, spread_evenly

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from zonal.spaces import FiniteSpace


EXACT = 4096  # members of a space, up to which all are used
WHOLE = 1024  # members that represent a larger space
FEW = 32  # members that represent a small region of it
TO_LEARN_FROM = {"exact": 256, "whole": 128, "smallest": 2}  # members that represent regions while learning
BLOCK = 15_000  # kernel values at once: arrays above 128 kB would each be requested from the system
LARGE = 500_000  # values times features at once, for a user-defined function, where a call may be expensive
MOST_IN_GRAM, MANY_FEATURES = 2048, 16  # members and features of spaces whose covariances are kept: 32 MB a kernel
MOST_GRAMS = 6  # kernels
SMALL, TOGETHER = 32, 120  # members of a footprint, and in all, whose variances are computed together


Rows = NDArray[np.object_]  # of `Row`


class Representatives:
    """Which members represent a region of a large space."""

    def __init__(self, space: FiniteSpace, exact: int = EXACT, whole: int = WHOLE, smallest: int = FEW) -> None:
        self._exact = space.size <= exact
        self._smallest = smallest
        self._places, self._shares = np.zeros(0, dtype=np.intp), np.zeros(0)
        if not self._exact:
            self._places, self._shares = spread_evenly(np.arange(space.size), space.weights, whole)

    def __call__(self, members: Ints, shares: Floats) -> tuple[Ints, Floats]:
        """Return positions and shares of the members that represent a footprint."""
        if self._exact or len(members) <= self._smallest or np.minimum.reduce(shares) < 0:
            return members, shares
        at = np.minimum(np.searchsorted(members, self._places), len(members) - 1)
        within = members[at] == self._places
        if np.count_nonzero(within) >= self._smallest:
            inside = self._shares[within]
            return self._places[within], inside / inside.sum()
        return spread_evenly(members, shares, self._smallest)


class Row(NamedTuple):
    """One footprint: a sparse row of A."""

    columns: Ints  # columns of its members in A
    shares: Floats  # of these members
    total: float  # of the shares: 1 for averages
    number: int  # identifies an entered footprint; -1 for one that was not entered
    learned_from: tuple[Ints, Floats]  # members that represent it while learning, and their shares
    size: float = 0.0  # the weight of all members of the region; 0 for sums of several


class SubsetLayout:
    """Footprints that are sets of members, under any kernel: rows of the matrix A.

    The key of a footprint is its row, in an array of objects.
    """

    def __init__(self, space: FiniteSpace, feedback: Feedback) -> None:
        self._feedback = feedback
        self._stand_for = Representatives(space)
        self._to_learn_from = Representatives(space, **TO_LEARN_FROM)
        self._column = np.full(space.size, -1, dtype=np.intp)  # of each member, once met
        self.met = np.zeros(0, dtype=np.intp)  # members met so far, by column of A
        self._rows: dict[tuple[bytes, bytes], Row] = {}
        self._weights = space.weights
        self._last: tuple[Rows | None, Ints, Any] = None, np.zeros(0, dtype=np.intp), None

    def keys(self, footprints: Subsets, register: bool = True) -> Rows:
        """Return the keys of footprints, shape (1, n).

        With `register`, new ones are stored, for footprints that are used repeatedly.
        """
        keys = np.empty((1, len(footprints.members)), dtype=object)
        subsets = zip(footprints.members, footprints.shares, strict=True)
        for place, (members, shares) in enumerate(subsets):
            learned_from, seen = self._to_learn_from(members, shares), self._stand_for(members, shares)
            row = self._row(*seen, learned_from, register)
            keys[0, place] = row._replace(size=float(self._weights[members].sum()))
        return keys

    def _row(self, members: Ints, shares: Floats, learned_from: tuple[Ints, Floats], register: bool) -> Row:
        """Return the row of some members with their shares."""
        name = members.tobytes(), shares.tobytes()
        row = self._rows.get(name)
        if row is None:
            number = len(self._rows) if register else -1
            row = Row(self._columns(members), shares, float(shares.sum()), number, learned_from)
            if register:
                self._rows[name] = row
        return row

    def totals(self, footprints: Subsets) -> Floats:
        """Return the total weight of footprints: 1 for averages."""
        return np.array([shares.sum() for shares in footprints.shares])

    def sizes(self, keys: Rows) -> Floats:
        """Return the weight of the region of each footprint; 0 for sums of several."""
        return np.array([row.size for row in keys[0]])

    def summed(self, weights: Floats, keys: Rows) -> Rows:
        """Return the key of a weighted sum of footprints: also a row of A."""
        members, averaging = averaging_over((self.met[row.columns], row.shares) for row in keys[0])
        representatives, learning = averaging_over(row.learned_from for row in keys[0])
        key = np.empty((1, 1), dtype=object)
        learned_from = representatives, learning.T @ weights
        key[0, 0] = self._row(members, averaging.T @ weights, learned_from, register=True)
        return key

    def cells(self, space: FiniteSpace, depth: int, cells: Ints) -> Rows:
        """Return the keys of cells of a depth, encoded by `space` as runs of members."""
        return self.keys(self._feedback.footprints([space.seen((depth, -1), cell, None) for cell in cells]))

    def _columns(self, members: Ints) -> Ints:
        """Return the columns of members, entering those not met before."""
        fresh = members[self._column[members] < 0]
        if len(fresh):
            first = len(self.met)
            self.met = np.concatenate([self.met, fresh])  # before the next line: an extra column is harmless
            self._column[fresh] = np.arange(first, len(self.met))
        return self._column[members]

    def averaging(self, keys: Rows) -> tuple[Ints, csr_array]:
        """Return the columns of some footprints, and their rows of A over these; the last ones are kept."""
        last, columns, rows = self._last
        if last is not keys:
            columns, rows = averaging_over(row[:2] for row in keys[0])
            self._last = keys, columns, rows
        return columns, rows

    def pairs(self, keys: Rows, others: Rows) -> Pairs:
        """Return what kernels need to know about all pairs of some footprints with others."""
        return [], keys, others

    def self_pairs(self, keys: Rows) -> Pairs:
        """Return what kernels need to know about each footprint with itself."""
        return [], keys, None


class Grams:
    """The covariances of all members of a space under the last kernels used, where computing them takes long."""

    def __init__(self, features: Floats) -> None:
        self._features = features
        self._kept: dict[Kernel, Floats] = {}

    @staticmethod
    def worth_it(space: FiniteSpace) -> bool:
        """Tell whether to keep the covariances of all members: there are not too many, with many features."""
        return space.size <= MOST_IN_GRAM and space.features.shape[1] >= MANY_FEATURES

    def of(self, kernel: Kernel) -> Floats:
        """Return the covariances of all members; one half is computed."""
        if kernel not in self._kept:
            size, x = len(self._features), self._features
            gram, step = np.empty((size, size)), max(1, BLOCK // size)
            for low in range(0, size, step):
                part = slice(low, low + step)
                gram[part, low:] = kernel(x[part], x[low:])
                gram[low:, part] = gram[part, low:].T
            if len(self._kept) >= MOST_GRAMS:
                self._kept.pop(next(iter(self._kept)))
            self._kept[kernel] = gram
        return self._kept[kernel]


class SummedCovariance:
    """The prior covariance under a sum of kernels of variance one, each times its variance."""

    def __init__(self, parts: Sequence[tuple[float, SubsetCovariance]]) -> None:
        self._parts = parts

    def of(self, pairs: Pairs) -> Floats:
        """Return the covariances of pairs of footprints."""
        total = [variance * covariance.of(pairs) for variance, covariance in self._parts]
        return sum(total[1:], start=total[0])


class SubsetCovariance:
    """Prior covariance of averages over sets of members.

    The covariance of the second footprint of a pair with single members is computed first, and then averaged over
    the members of the first. For entered footprints it is cached for every member met: a search needs the regions
    it has measured, which are few, with all others. So are their variances. What is cached changes no digit.
    """

    def __init__(
        self, kernel: Kernel, space: FiniteSpace, layout: SubsetLayout, grams: Grams | None = None
    ) -> None:
        self._kernel = kernel
        self._layout = layout  # shared with the covariances of other kernels
        self._features = space.features
        self._grams = grams
        self._at_once = max(BLOCK, LARGE // self._features.shape[1]) if isinstance(kernel, Custom) else BLOCK
        self._kept: dict[int, Floats] = {}  # by number: covariance with every member met
        self._known_variances = np.zeros(0)  # by number; NaN if not computed yet

    def of(self, pairs: Pairs) -> Floats:
        """Return the covariances of pairs of footprints."""
        _, keys, others = pairs
        if others is None:
            return self._variances(keys[0])
        if not keys.size or not others.size:
            return np.zeros((keys.shape[1], others.shape[1]))
        columns, averaging = self._layout.averaging(keys)
        many = averaging.nnz >= len(self._layout.met)  # so many that computing for all members costs no more
        return np.asarray(averaging @ self._with_members(others[0], columns, keep=many).T)

    def _with_members(self, rows: Rows, columns: Ints, keep: bool) -> Floats:
        """Return the covariance of some footprints with single members, shape (footprints, members)."""
        covariances = np.empty((len(rows), len(columns)))
        fresh: list[int] = []
        for place, row in enumerate(rows):
            if row.number in self._kept:
                covariances[place] = self._cached(row).take(columns)
            else:
                fresh.append(place)
        if fresh:
            covariances[fresh] = self._new([rows[place] for place in fresh], columns, keep or len(fresh) == 1)
        return covariances

    def _cached(self, row: Row) -> Floats:
        """Return the covariance of a cached footprint with every member met."""
        kept, met = self._kept[row.number], len(self._layout.met)
        if len(kept) < met:  # members met since
            more = self._averaged([row], np.arange(len(kept), met))[0]
            kept = self._kept[row.number] = np.concatenate([kept, more])
        return kept

    def _new(self, rows: list[Row], columns: Ints, keep: bool) -> Floats:
        """Return the covariance of footprints that are not cached with single members; cache it if `keep`."""
        if not keep:
            return self._averaged(rows, columns)
        new = self._averaged(rows, np.arange(len(self._layout.met)))
        self._kept.update((row.number, values) for row, values in zip(rows, new, strict=True) if row.number >= 0)
        return new[:, columns]

    def _averaged(self, rows: list[Row], columns: Ints) -> Floats:
        """Compute the covariance of some footprints with single members."""
        row_columns, averaging = averaging_over(row[:2] for row in rows)
        if self._grams is not None:
            averages = averaging @ self._grams.of(self._kernel).take(self._layout.met[row_columns], axis=0)
            return np.asarray(averages).take(self._layout.met[columns], axis=1)
        covariances = np.empty((len(rows), len(columns)))
        x, y = self._layout.met[columns], self._layout.met[row_columns]
        step = max(1, self._at_once // max(len(row_columns), 1))
        for low in range(0, len(columns), step):
            covariances[:, low : low + step] = averaging @ self._between(y, x[low : low + step])
        return covariances

    def _between(self, members: Ints, others: Ints) -> Floats:
        """Return the covariances of single members with others."""
        if self._grams is None:
            return self._kernel(self._features[members], self._features[others])
        return self._grams.of(self._kernel).take(members, axis=0).take(others, axis=1)

    def _variances(self, rows: Rows) -> Floats:
        """Return the variance of each footprint; those of entered footprints are cached."""
        numbers = np.array([row.number for row in rows], dtype=np.intp)
        if numbers.max(initial=-1) >= len(self._known_variances):
            more = max(int(numbers.max()) + 1, 2 * len(self._known_variances)) - len(self._known_variances)
            self._known_variances = np.concatenate([self._known_variances, np.full(more, np.nan)])
        entered = numbers >= 0
        variances = np.full(len(rows), np.nan)
        variances[entered] = self._known_variances[numbers[entered]]
        fresh = np.flatnonzero(np.isnan(variances))
        variances[fresh] = self._new_variances(rows[fresh])
        self._known_variances[numbers[entered]] = variances[entered]
        return variances

    def _new_variances(self, rows: Rows) -> Floats:
        """Compute the variance of each footprint, small ones several at a time."""
        variances = np.empty(len(rows))
        batch: list[int] = []
        held = 0
        for number, (columns, shares, *_) in enumerate(rows):
            if len(columns) > SMALL:
                variances[number] = self._variance(columns, shares)
                continue
            if held + len(columns) > TOGETHER:
                variances[batch] = self._small_variances([rows[other] for other in batch])
                batch, held = [], 0
            batch.append(number)
            held += len(columns)
        if batch:
            variances[batch] = self._small_variances([rows[other] for other in batch])
        return variances

    def _small_variances(self, rows: list[Row]) -> Floats:
        x = self._layout.met[np.concatenate([row.columns for row in rows])]
        shares = np.concatenate([row.shares for row in rows])
        starts = np.cumsum([0, *(len(row.columns) for row in rows[:-1])])
        weighted = shares[:, None] * self._between(x, x) * shares
        return np.add.reduceat(np.add.reduceat(weighted, starts, 0), starts, 1).diagonal()

    def _variance(self, columns: Ints, shares: Floats) -> float:
        """Return the variance of one footprint, from one half of a symmetric matrix."""
        x, step, total = self._layout.met[columns], max(1, self._at_once // len(columns)), 0.0
        for low in range(0, len(columns), step):
            part = slice(low, low + step)
            twice = 2 * shares[low:]
            twice[:step] = shares[part]
            total += float(shares[part] @ (self._between(x[part], x[low:]) @ twice))
        return total


def totals(pairs: Pairs | Beside) -> Floats | float:
    """Return the products of the total weights of pairs of footprints; 1 for averages over products of axes."""
    axes, keys, others = pairs
    if axes:
        return 1.0
    weights = np.array([row.total for row in keys[0]])
    return weights**2 if others is None else np.outer(weights, [row.total for row in others[0]])


def averaging_over(rows: Iterable[tuple[Ints, Floats]]) -> tuple[Ints, csr_array]:
    """Return the members, or columns, of some footprints, each once, and their rows of A over these."""
    from scipy.sparse import csr_array

    columns, shares = zip(*rows, strict=True)
    members, at = np.unique(np.concatenate(columns), return_inverse=True)
    ends = np.concatenate([[0], np.cumsum([len(row) for row in columns])])
    return members, csr_array((np.concatenate(shares), at.ravel(), ends), shape=(len(columns), len(members)))
