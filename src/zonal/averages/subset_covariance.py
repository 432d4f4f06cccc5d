"""Prior covariance of averages over sets of members: the matrix ``A K A'`` of equation 4, kept without K.

Each footprint is a sparse row of A over the members met so far. The kernel is evaluated between members a block at
a time, and only averages are kept.

Up to `EXACT` members all of it is exact. In larger spaces a region is seen through some of its members: those of
`WHOLE` members spread evenly over the whole space that lie within it, and at least `FEW` of its own. The average
of a region then is that of its representatives, for every purpose alike, so that covariances stay positive
semi-definite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zonal.averages.custom import Custom
from zonal.averages.feedback import Subsets
from zonal.averages.kernels import Kernel
from zonal.spaces import MemberSpace
from zonal.spaces.members import spread_evenly

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

EXACT = 4096  # members of a space, up to which nothing is left out
WHOLE = 1024  # members that stand for a larger space
FEW = 32  # members that stand for a small region of it
BLOCK = 15_000  # kernel values at once: from 128 kB on, every array would be fetched from the system anew
LARGE = 500_000  # values times features, of the user's own function: a call may cost more than its values
DENSE = 8  # footprints, up to which their rows of A are multiplied densely
SMALL, TOGETHER = 32, 120  # members of a footprint, and in all, whose variances are computed together


class Representatives:
    """Which members stand for a region of a large space."""

    def __init__(self, space: MemberSpace, exact: int = EXACT, whole: int = WHOLE, few: int = FEW) -> None:
        self._exact = space.size <= exact
        self._few = few
        self._places, self._shares = np.zeros(0, dtype=np.intp), np.zeros(0)
        if not self._exact:
            self._places, self._shares = spread_evenly(np.arange(space.size), space.weights, whole)

    def __call__(self, members: Ints, shares: Floats) -> tuple[Ints, Floats]:
        """Return places and shares of those that stand for a footprint."""
        if self._exact or len(members) <= self._few:
            return members, shares
        at = np.minimum(np.searchsorted(members, self._places), len(members) - 1)
        within = members[at] == self._places
        if np.count_nonzero(within) >= self._few:
            inside = self._shares[within]
            return self._places[within], inside / inside.sum()
        return spread_evenly(members, shares, self._few)


class SubsetLayout:
    """Footprints that are sets of members, whatever the kernel: the matrix A, sparse, a row a footprint.

    Attributes
    ----------
    met : array of int
        Members met so far, by column of A; `columns` of them.
    """

    def __init__(self, space: MemberSpace) -> None:
        self._stand_for = Representatives(space)
        self._column = np.full(space.size, -1, dtype=np.intp)  # of each member, once met
        self.met = np.zeros(256, dtype=np.intp)
        self.columns = 0
        self._ends = np.zeros(129, dtype=np.intp)
        self._indices = np.zeros(1024, dtype=np.intp)
        self._shares = np.zeros(1024)
        self._averaging: csr_array | None = None
        self._serials = np.zeros(128, dtype=np.intp)
        self._entered = 0  # footprints, in all

    def rows(self, footprints: Subsets) -> list[tuple[Ints, Floats]]:
        """Return members and shares that stand for footprints."""
        return [
            self._stand_for(members, shares)
            for members, shares in zip(footprints.members, footprints.shares, strict=True)
        ]

    def row(self, number: int) -> tuple[Ints, Floats]:
        """Return members and shares of an entered footprint."""
        inside = slice(int(self._ends[number]), int(self._ends[number + 1]))
        return self.met[self._indices[inside]], self._shares[inside]

    def enter(self, at: int, footprints: Subsets) -> None:
        """Enter footprints, numbered from `at` on; what had these numbers is forgotten."""
        rows = self.rows(footprints)
        members = np.concatenate([own for own, _ in rows])
        fresh = np.unique(members[self._column[members] < 0])
        columns = self.columns + len(fresh)
        self.met = _roomy(self.met, columns)
        self.met[self.columns : columns] = fresh
        start, size = int(self._ends[at]), at + len(rows)
        ends = start + np.cumsum([len(own) for own, _ in rows])
        inside = slice(start, int(ends[-1]))
        self._indices, self._shares = _roomy(self._indices, inside.stop), _roomy(self._shares, inside.stop)
        self._ends = _roomy(self._ends, size + 1)
        self._serials = _roomy(self._serials, size)
        self._averaging = None
        first, self.columns = self.columns, columns  # before they are found: a column too many does no harm
        self._column[fresh] = np.arange(first, columns)
        self._indices[inside] = self._column[members]
        self._shares[inside] = np.concatenate([own for _, own in rows])
        self._ends[at + 1 : size + 1] = ends
        self._serials[at:size] = np.arange(self._entered, self._entered + len(rows))
        self._entered += len(rows)

    def serials(self, numbers: Ints | list[int]) -> list[int]:
        """Return what tells footprints from others that have, or had, the same numbers."""
        serials: list[int] = self._serials[numbers].tolist()
        return serials

    def sizes(self, numbers: Ints | list[int]) -> int:
        """Return how many members some footprints have together."""
        at = np.asarray(numbers, dtype=np.intp)
        return int(np.sum(self._ends[at + 1] - self._ends[at]))

    def averaging(self, size: int) -> csr_array:
        """Return A for the first `size` footprints: a row a footprint, a column a member met."""
        if self._averaging is None or self._averaging.shape != (size, self.columns):
            from scipy.sparse import csr_array

            stop = int(self._ends[size])
            self._averaging = csr_array(
                (self._shares[:stop], self._indices[:stop], self._ends[: size + 1]), shape=(size, self.columns)
            )
        return self._averaging


class SubsetCovariance:
    """Prior covariance of averages over sets of members.

    Footprints are entered once and then known by their number, in order of entry. Of those that are asked for
    by number the covariance with every member met is kept, so that covariances with any other footprint are
    averages of it: a search asks for the regions it has measured, which are few.

    Parameters
    ----------
    kernel : Kernel
        On features.
    space : MemberSpace
        Whose members these are.
    layout : SubsetLayout, optional
        To share footprints with the covariances of other kernels.
    """

    def __init__(self, kernel: Kernel, space: MemberSpace, layout: SubsetLayout | None = None) -> None:
        self._kernel = kernel
        self._space = space
        self._features = space.features
        self._at_once = max(BLOCK, LARGE // self._features.shape[1]) if isinstance(kernel, Custom) else BLOCK
        self._layout = SubsetLayout(space) if layout is None else layout
        # K A' for footprints asked for, a row each, up to a number of columns: by serial, its place and row of A.
        self._kept: dict[int, tuple[int, tuple[Ints, Floats]]] = {}
        self._embedded = np.zeros((64, 256))
        self._done = 0

    def enter(self, at: int, footprints: Subsets) -> None:
        """Enter footprints, numbered from `at` on; what had these numbers is forgotten."""
        self._layout.enter(at, footprints)

    def apart(self) -> SubsetCovariance:
        """Return the same with a memory of its own: a sum depends on it in its last digit."""
        return SubsetCovariance(self._kernel, self._space, self._layout)

    def variances(self, start: int, stop: int) -> Floats:
        """Return the variances of the footprints of some numbers."""
        return self._variances([self._layout.row(number) for number in range(start, stop)])

    def row(self, one: int, size: int) -> Floats:
        """Return the covariance of one footprint with the first `size` of them."""
        return np.asarray(self._layout.averaging(size) @ self._embed([one])[0])

    def between(self, some: Ints | slice, others: Ints | slice) -> Floats:
        """Return the covariance matrix of entered footprints, by number."""
        some, others = (
            np.arange(numbers.start, numbers.stop) if isinstance(numbers, slice) else numbers
            for numbers in (some, others)
        )
        if len(some) < len(others):
            return np.ascontiguousarray(self.between(others, some).T)
        listed = others.tolist()
        pairs = zip(listed, self._layout.serials(listed), strict=True)
        fresh = [number for number, serial in pairs if serial not in self._kept]
        sizes = self._layout.sizes
        if fresh and sizes(some) * sizes(others) < self._layout.columns * sizes(fresh):
            return self._apart(some, others)
        size = int(some.max()) + 1 if len(some) else 0
        return np.asarray(self._layout.averaging(size)[some] @ self._embed(listed).T)

    def _apart(self, some: Ints, others: Ints) -> Floats:
        """Return covariances between footprints whose own members are few, keeping nothing."""
        rows, averaging = _sparse([self._layout.row(int(number)) for number in some])
        columns, own = _sparse([self._layout.row(int(number)) for number in others])
        cross = np.zeros((len(some), len(others)))
        for part, block in self._blocks(rows, columns):
            cross += averaging[:, part] @ (own @ block).T
        return cross

    def outside(self, some: Ints, footprints: Subsets) -> tuple[Floats, Floats]:
        """Return covariances of entered footprints with others that are not, and their variances."""
        rows = self._layout.rows(footprints)
        members, averaging = _sparse(rows)
        cross = np.zeros((len(some), len(rows)))
        if len(some):
            known, own = _sparse([self._layout.row(int(number)) for number in some])
            for part, block in self._blocks(known, members):
                cross += own[:, part] @ (averaging @ block).T
        return cross, self._variances(rows)

    def among(self, footprints: Subsets) -> Floats:
        """Return the covariance matrix of footprints that are not entered."""
        rows = self._layout.rows(footprints)
        members, averaging = _sparse(rows)
        total = np.zeros((len(rows), len(rows)))
        for part, block in self._blocks(members, members):
            total += averaging[:, part] @ (averaging @ block).T
        return (total + total.T) / 2

    def _embed(self, numbers: list[int]) -> Floats:
        """Return the covariance of some entered footprints with every member met, a row each."""
        columns, kept = self._layout.columns, self._kept
        serials = self._layout.serials(numbers)
        fresh = {
            serial: self._layout.row(number)
            for serial, number in zip(serials, numbers, strict=True)
            if serial not in kept
        }
        first, last = len(kept), len(kept) + len(fresh)
        self._widen(last, columns)
        if self._done < columns and kept:  # members met since
            self._fill([row for _, row in kept.values()], slice(0, first), slice(self._done, columns))
        self._done = columns
        if fresh:
            self._fill(list(fresh.values()), slice(first, last), slice(0, columns))
            kept.update({serial: (first + place, row) for place, (serial, row) in enumerate(fresh.items())})
        return self._embedded[[kept[serial][0] for serial in serials], :columns]

    def _widen(self, footprints: int, members: int) -> None:
        """Make room for more footprints and columns."""
        rows, columns = self._embedded.shape
        more_rows = max(footprints, 2 * rows) - rows if footprints > rows else 0
        more_columns = max(members, 2 * columns) - columns if members > columns else 0
        if more_rows or more_columns:
            self._embedded = np.pad(self._embedded, ((0, more_rows), (0, more_columns)))

    def _fill(self, rows: list[tuple[Ints, Floats]], places: slice, columns: slice) -> None:
        """Compute covariances of footprints with some of the members met."""
        members, averaging = _sparse(rows)
        dense = averaging.toarray() if len(rows) <= DENSE else averaging
        target = self._embedded[places, columns]
        for part, block in self._blocks(self._layout.met[columns], members):
            target[:, part] = dense @ block

    def _blocks(self, some: Ints, others: Ints) -> Iterator[tuple[slice, Floats]]:
        """Yield the kernel between `others` and a few of `some` at a time."""
        y = self._features[others]
        step = max(1, self._at_once // max(len(others), 1))
        for low in range(0, len(some), step):
            part = slice(low, min(low + step, len(some)))
            yield part, self._kernel(y, self._features[some[part]])

    def _variances(self, rows: list[tuple[Ints, Floats]]) -> Floats:
        """Return the variance of each footprint, small ones several at a time."""
        variances = np.empty(len(rows))
        batch: list[int] = []
        held = 0
        for number, (members, shares) in enumerate(rows):
            if len(members) > SMALL:
                variances[number] = self._variance(members, shares)
                continue
            if held + len(members) > TOGETHER:
                variances[batch] = self._small_variances([rows[other] for other in batch])
                batch, held = [], 0
            batch.append(number)
            held += len(members)
        if batch:
            variances[batch] = self._small_variances([rows[other] for other in batch])
        return variances

    def _small_variances(self, rows: list[tuple[Ints, Floats]]) -> Floats:
        x = self._features[np.concatenate([own for own, _ in rows])]
        shares = np.concatenate([own for _, own in rows])
        starts = np.cumsum([0, *(len(own) for own, _ in rows[:-1])])
        weighted = shares[:, None] * self._kernel(x, x) * shares
        return np.add.reduceat(np.add.reduceat(weighted, starts, 0), starts, 1).diagonal()

    def _variance(self, members: Ints, shares: Floats) -> float:
        """Return the variance of one footprint, from one half of a symmetric matrix."""
        x, step, total = self._features[members], max(1, self._at_once // len(members)), 0.0
        for low in range(0, len(members), step):
            part = slice(low, low + step)
            twice = 2 * shares[low:]
            twice[:step] = shares[part]
            total += float(shares[part] @ (self._kernel(x[part], x[low:]) @ twice))
        return total


def _roomy(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return an array with room for as many entries, doubled if it has to grow."""
    return array if size <= len(array) else np.pad(array, (0, max(size, 2 * len(array)) - len(array)))


def _sparse(rows: list[tuple[Ints, Floats]]) -> tuple[Ints, csr_array]:
    """Return the members of some footprints, and their rows of A over these members alone."""
    from scipy.sparse import csr_array

    members, columns = np.unique(np.concatenate([own for own, _ in rows]), return_inverse=True)
    ends = np.concatenate([[0], np.cumsum([len(own) for own, _ in rows])])
    shares = np.concatenate([own for _, own in rows])
    return members, csr_array((shares, columns.ravel(), ends), shape=(len(rows), len(members)))
