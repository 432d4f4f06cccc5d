"""A matrix that grows in both directions without being moved, shared by several users.

Growing an array by doubling copies all of it now and then: one round in a thousand would take a second and twice
the memory. Here a small matrix is one array and a large one a grid of tiles; entries are written once and stay
where they are. Two users of the same part may both extend it: the second one gets a copy. This module knows
numbers only.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.linalg import lapack

from zonal._types import Floats, Ints

TILE = 384, 2048  # rows and columns: 6 MB
SQUARE = 384, 384
FEW_ROWS = 96  # of a new tile


class Tiles:
    """A growing matrix, in tiles of this shape and memory order; entries not written yet are undefined.

    The first tile, `first`, is the whole matrix while it is small; it has the given rows and columns at the start.
    """

    def __init__(
        self, rows: int, columns: int, tile: tuple[int, int] = TILE, order: Literal["C", "F"] = "C"
    ) -> None:
        self.tile = tile
        self._order: Literal["C", "F"] = order
        self._written = (0, 0)  # rows and columns, by the last writer
        self.first = self._fresh(min(rows, tile[0]), min(columns, tile[1]))
        self._others: dict[tuple[int, int], Floats] = {}

    def _fresh(self, rows: int, columns: int) -> Floats:
        return np.empty((rows, columns), order=self._order)

    def plus(self, known: tuple[int, int], row: int, column: int, block: Floats) -> Tiles:
        """Return the matrix with one more block, from (row, column) on.

        The writer knows the rows and columns `known`. If others have written more since, the writer gets a copy.
        """
        if self._written == known:
            own = self
        else:
            own = Tiles(0, 0, self.tile, self._order)
            own.first = self.first.copy(order=self._order)
            own._others = {at: tile.copy(order=self._order) for at, tile in self._others.items()}
            own._written = known
        last_row, last_column = row + block.shape[0], column + block.shape[1]
        rows, columns = known
        own._written = last_row if last_row > rows else rows, last_column if last_column > columns else columns
        high, wide = own.first.shape
        if last_row > high or last_column > wide:
            own._enlarge(last_row, last_column)
            if not own.holds(last_row, last_column):
                own._spread(row, column, block)
                return own
        own.first[row:last_row, column:last_column] = block
        return own

    def write(self, row: int, column: int, block: Floats) -> None:
        """Write a block at (row, column) of a matrix that has no other user."""
        self.plus(self._written, row, column, block)

    def holds(self, rows: int, columns: int) -> bool:
        """Tell whether the first tile holds this number of rows and columns."""
        most = self.first.shape
        return bool(rows <= most[0] and columns <= most[1])

    def _tile(self, i: int, j: int) -> Floats:
        return self._others[i, j] if i or j else self.first

    def _spread(self, row: int, column: int, block: Floats) -> None:
        """Write a block over several tiles."""
        last_row, last_column = row + block.shape[0], column + block.shape[1]
        high, wide = self.tile
        for i in range(row // high, -(-last_row // high)):
            up, down = max(row, i * high), min(last_row, (i + 1) * high)
            for j in range(column // wide, -(-last_column // wide)):
                left, right = max(column, j * wide), min(last_column, (j + 1) * wide)
                inside = slice(up - i * high, down - i * high), slice(left - j * wide, right - j * wide)
                if i or j:
                    self._make(i, j, inside[0].stop)
                self._tile(i, j)[inside] = block[up - row : down - row, left - column : right - column]

    def _make(self, i: int, j: int, rows: int) -> None:
        """Make a tile other than the first, or enlarge it, so that it has at least `rows` rows."""
        known = self._others.get((i, j))
        if known is None or known.shape[0] < rows:
            high, wide = self.tile
            usual = FEW_ROWS if known is None else 2 * known.shape[0]
            taller = self._fresh(min(high, max(rows, usual)), wide)
            if known is not None:
                taller[: known.shape[0]] = known
            self._others[i, j] = taller

    def _enlarge(self, rows: int, columns: int) -> None:
        """Make the first tile larger, if it is not at its full size."""
        old = self.first
        wanted = zip((rows, columns), old.shape, self.tile, strict=True)
        shape = tuple(min(max(need, 2 * have), most) if need > have else have for need, have, most in wanted)
        if shape != old.shape:
            larger = self._fresh(*shape)
            larger[: old.shape[0], : old.shape[1]] = old
            self.first = larger

    def column(self, column: int, rows: int) -> Floats:
        """Return the first rows of a column."""
        high, wide = self.first.shape
        if rows <= high and column < wide:
            return self.first[:rows, column]
        return self.columns(np.array([column]), rows)[:, 0]

    def columns(self, columns: Ints, rows: int) -> Floats:
        """Return the first rows of some columns."""
        if self.holds(rows, int(columns.max(initial=0)) + 1):
            return np.asarray(self.first[:rows].take(columns, axis=1))
        high, wide = self.tile
        found = np.empty((rows, len(columns)))
        which = columns // wide
        for j in set(which.tolist()):
            own = (which == j).nonzero()[0]
            for i in range(-(-rows // high)):
                part = found[i * high : (i + 1) * high]
                part[:, own] = self._tile(i, j)[: len(part)].take(columns[own] - j * wide, axis=1)
        return found

    def times(self, weights: Floats, columns: int) -> Floats:
        """Return `weights`, one per row, times the first columns of the matrix."""
        rows = weights.size
        high, wide = self.first.shape
        if rows <= high and columns <= wide:
            return weights @ self.first[:rows, :columns]
        high, wide = self.tile
        total = np.zeros(columns)
        for j in range(-(-columns // wide)):
            part = total[j * wide : (j + 1) * wide]
            for i in range(-(-rows // high)):
                own = weights[i * high : (i + 1) * high]
                part += own @ self._tile(i, j)[: len(own), : len(part)]
        return total

    def solve(self, right: Floats) -> Floats:
        """Return L^-1 `right`, where L is the leading part of this lower triangular matrix, in square tiles."""
        rows, (high, _) = len(right), self.tile
        solution = np.array(right, order="F") if rows > high else right
        for i in range(-(-rows // high)):
            part = solution[i * high : (i + 1) * high]
            for j in range(i):
                part -= self._tile(i, j)[: len(part)] @ solution[j * high : (j + 1) * high]
            own, info = lapack.dtrtrs(self._tile(i, i)[:, : len(part)], part, lower=1)
            assert info == 0, info
            if rows <= high:
                return np.asarray(own)
            part[:] = own
        return solution
