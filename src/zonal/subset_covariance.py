"""Prior covariance of averages over sets of members: the matrix ``A K A'`` of equation 4, kept without K.

Each footprint is a sparse row of A over the members met so far. New footprints bring their members, the kernel is
evaluated between those and all members met, a block at a time, and only averages are kept.

Up to `EXACT` members all of it is exact. In larger spaces a region is seen through some of its members: those of
`WHOLE` members spread evenly over the whole space that lie within it, and at least `FEW` of its own. The average
of a region then is that of its representatives, for every purpose alike, so that covariances stay positive
semi-definite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zonal.feedback import Subsets
from zonal.kernels import Kernel
from zonal.spaces import MemberSpace
from zonal.spaces.members import spread_evenly

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

EXACT = 4096  # members of a space, up to which nothing is left out
WHOLE = 2048  # members that stand for a larger space
FEW = 32  # members that stand for a small region of it
BLOCK = 1 << 16  # kernel values at once: more would not fit the processor's cache
GROUP = 1 << 22  # averages at once


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
        if int(members[-1]) - int(members[0]) + 1 == len(members):  # all members of a cell
            low, high = np.searchsorted(self._places, [members[0], members[-1] + 1])
            if high - low >= self._few:
                inside = self._shares[low:high]
                return self._places[low:high], inside / inside.sum()
        return spread_evenly(members, shares, self._few)


class SubsetCovariance:
    """Prior covariance of averages over sets of members.

    Footprints are entered once and then known by their number, in order of entry.

    Parameters
    ----------
    kernel : Kernel
        On features.
    space : MemberSpace
        Whose members these are.
    """

    def __init__(self, kernel: Kernel, space: MemberSpace) -> None:
        self._kernel = kernel
        self._features = space.features
        self._stand_for = Representatives(space)
        self._column = np.full(space.size, -1, dtype=np.intp)  # of each member, once met
        self._met = np.zeros(256, dtype=np.intp)  # members, by column
        self._columns = 0
        # A as a growing sparse matrix, a row a footprint.
        self._ends = np.zeros(129, dtype=np.intp)
        self._indices = np.zeros(1024, dtype=np.intp)
        self._shares = np.zeros(1024)
        self._gram = np.zeros((128, 128))
        self.size = 0

    def enter(self, footprints: Subsets) -> Floats:
        """Enter footprints, which get the next numbers; return their variances."""
        start, rows = self.size, self._rows(footprints)
        for members, shares in rows:
            self._enter(members, shares)
        if self.size > len(self._gram):
            self._gram = np.pad(self._gram, (0, max(self.size, 2 * len(self._gram)) - len(self._gram)))
        averaging = self._averaging()
        step = max(1, GROUP // max(self._columns, 1))
        for low in range(start, self.size, step):
            new = slice(low, min(low + step, self.size))
            self._gram[: self.size, new] = averaging @ self._embed(rows[low - start : new.stop - start])
            self._gram[new, : self.size] = self._gram[: self.size, new].T
        new = slice(start, self.size)
        self._gram[new, new] = (self._gram[new, new] + self._gram[new, new].T) / 2
        return self._gram.diagonal()[new]

    def row(self, one: int) -> Floats:
        """Return the covariance of one footprint with all that are entered; not to be changed."""
        return self._gram[one, : self.size]

    def between(self, some: Ints | slice, others: Ints | slice) -> Floats:
        """Return the covariance matrix of entered footprints, by number."""
        if isinstance(others, slice):
            others = np.arange(*others.indices(self.size))
        return self._gram[some].take(others, axis=1)

    def outside(self, some: Ints, footprints: Subsets) -> tuple[Floats, Floats]:
        """Return covariances of entered footprints with others that are not, and their variances."""
        rows = self._rows(footprints)
        cross = self._averaging()[some] @ self._embed(rows) if len(some) else np.zeros((0, len(rows)))
        return cross, np.array([self._variance(members, shares) for members, shares in rows])

    def among(self, footprints: Subsets) -> Floats:
        """Return the covariance matrix of footprints that are not entered."""
        rows = self._rows(footprints)
        members, averaging = _sparse(rows)
        total = np.zeros((len(rows), len(rows)))
        for part, block in self._blocks(members, members):
            total += averaging[:, part] @ (averaging @ block.T).T
        return (total + total.T) / 2

    def _rows(self, footprints: Subsets) -> list[tuple[Ints, Floats]]:
        return [
            self._stand_for(members, shares)
            for members, shares in zip(footprints.members, footprints.shares, strict=True)
        ]

    def _enter(self, members: Ints, shares: Floats) -> None:
        """Add a row to A, and columns for members not met before."""
        fresh = members[self._column[members] < 0]
        columns, self._columns = self._columns, self._columns + len(fresh)
        if self._columns > len(self._met):
            self._met = np.pad(self._met, (0, max(self._columns, 2 * len(self._met)) - len(self._met)))
        self._met[columns : self._columns] = fresh
        self._column[fresh] = np.arange(columns, self._columns)
        start = int(self._ends[self.size])
        stop = start + len(members)
        if stop > len(self._indices):
            more = max(stop, 2 * len(self._indices)) - len(self._indices)
            self._indices, self._shares = np.pad(self._indices, (0, more)), np.pad(self._shares, (0, more))
        self._indices[start:stop] = self._column[members]
        self._shares[start:stop] = shares
        self.size += 1
        if self.size + 1 > len(self._ends):
            self._ends = np.pad(self._ends, (0, len(self._ends)))
        self._ends[self.size] = stop

    def _averaging(self) -> csr_array:
        """Return A: a row a footprint, a column a member met."""
        from scipy.sparse import csr_array

        stop = int(self._ends[self.size])
        return csr_array(
            (self._shares[:stop], self._indices[:stop], self._ends[: self.size + 1]),
            shape=(self.size, self._columns),
        )

    def _embed(self, rows: list[tuple[Ints, Floats]]) -> Floats:
        """Return the covariance of every member met with the averages of some footprints."""
        members, averaging = _sparse(rows)
        met = self._met[: self._columns]
        covariance = np.empty((len(met), len(rows)))
        dense = averaging.toarray().T.copy() if len(rows) <= 8 else None
        for part, block in self._blocks(met, members):
            covariance[part] = block @ dense if dense is not None else (averaging @ block.T).T
        return covariance

    def _blocks(self, some: Ints, others: Ints) -> Iterator[tuple[slice, Floats]]:
        """Yield the kernel between members, some rows at a time."""
        y = self._features[others]
        step = max(1, BLOCK // max(len(others), 1))
        for low in range(0, len(some), step):
            part = slice(low, min(low + step, len(some)))
            yield part, self._kernel(self._features[some[part]], y)

    def _variance(self, members: Ints, shares: Floats) -> float:
        return float(sum(shares[part] @ (block @ shares) for part, block in self._blocks(members, members)))


def _sparse(rows: list[tuple[Ints, Floats]]) -> tuple[Ints, csr_array]:
    """Return the members of some footprints, and their rows of A over these members alone."""
    from scipy.sparse import csr_array

    members, columns = np.unique(np.concatenate([own for own, _ in rows]), return_inverse=True)
    ends = np.concatenate([[0], np.cumsum([len(own) for own, _ in rows])])
    shares = np.concatenate([own for _, own in rows])
    return members, csr_array((shares, columns.ravel(), ends), shape=(len(rows), len(members)))
