"""Landscapes from the columns of a table: rows as members, sequences, or places in a space of axes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zonal._types import Floats, Ints
from zonal.errors import InvalidInput, ZonalError, require, whole_number
from zonal.io.recipe_text import Recipe
from zonal.io.tables import Table, read_table
from zonal.simulation.ground_truth import Direction, Landscape, from_table
from zonal.spaces import AxisSpace, CategoricalAxis, FiniteSpace, Sequences
from zonal.spaces.numeric_axes import PeriodicAxis
from zonal.study.recipe import SPACES, members, positive
from zonal.study.recipe import space as space_of

FINER = (4, 2, 1)  # pixels of a smallest region along a continuous axis: the most that are not too many in all
MAX_PIXELS = 65_536


class Columns(NamedTuple):
    """Which columns of a table say where its rows are: see `landscape_of`."""

    coords: Sequence[str] = ()
    levels: Sequence[str] = ()
    sequence: str | None = None
    weight: str | None = None
    smallest: float | tuple[float, ...] | None = None


class ValueTable(NamedTuple):
    """A file with a column of values."""

    path: Path
    value: str
    columns: Columns
    decimal: str | None = None


def landscape_for(recipe: Recipe, table: ValueTable) -> Landscape:
    """Return the landscape of a table on the space of a recipe; if that has none, on the columns named."""
    rows, direction = read_table(table.path, table.decimal), recipe.words.get("direction", "maximize")
    value, columns = table.value, table.columns
    if not any(kind in recipe.words for kind in SPACES):
        return landscape_of(rows, value, direction=direction, **columns._asdict())
    with recipe.blamed():
        space = space_of(recipe).with_smallest()
    if isinstance(space, Sequences):
        if columns.sequence is None:
            raise InvalidInput("a table of sequences needs their column", None, "Name it: --sequence.")
        return _on_sequences(space, rows, value, columns.sequence, columns.weight, direction)
    if isinstance(space, AxisSpace):
        return on_axes(space, rows, value, weight=columns.weight, direction=direction)
    assert isinstance(space, FiniteSpace)
    return from_table(space, rows.numbers(value)[_rows_of(recipe, rows)], direction=direction)


def _rows_of(recipe: Recipe, table: Table) -> list[int]:
    """Return the rows of a table in the order of the recipe's own table of points or areas.

    They are matched by the columns that the recipe names: levels, or else coordinates.
    """
    kind = "hierarchy" if "hierarchy" in recipe.words else "points"
    words = recipe.words[kind]
    listed = read_table(recipe.folder / words["table"], words.get("decimal"))
    named = words["levels"] if kind == "hierarchy" else words["coords"]

    def keys(of: Table) -> list[tuple[str | float, ...]]:
        columns = [of.texts(name) if kind == "hierarchy" else of.numbers(name).tolist() for name in named]
        return list(zip(*columns, strict=True))

    given, wanted = keys(table), keys(listed)
    if given == wanted:
        return list(range(len(given)))
    at: dict[tuple[str | float, ...], int] = {}
    what, members = ", ".join(named), set(wanted)
    for row, key in enumerate(given):
        fix = "Correct it, or leave the row out."
        require(key in members, f"row {row + 1} has {what} that {words['table']} does not have", key, fix)
        fix = f"Drop one, or keep the order of the rows of {words['table']}."
        require(key not in at, f"rows {at.get(key, 0) + 1} and {row + 1} have the same {what}", key, fix)
        at[key] = row
    for row, key in enumerate(wanted):
        require(key in at, f"row {row + 1} of {words['table']} has no row with its {what}", key, "Add it.")
    return [at[key] for key in wanted]


def _on_sequences(
    space: Sequences, table: Table, value: str, column: str, weight: str | None, direction: Direction
) -> Landscape:
    """Return the landscape of a table on a space of sequences, one in each row of a column."""
    rows = table.texts(column)
    _refuse_repeated(rows, column)
    weights = None if weight is None else dict(zip(rows, positive(table, weight).tolist(), strict=True))
    values = dict(zip(rows, table.numbers(value).tolist(), strict=True))
    return from_table(space, values, weights, direction)


def _refuse_repeated(rows: list[str], column: str) -> None:
    """Raise if a sequence occurs twice."""
    first: dict[str, int] = {}
    for row, text in enumerate(rows):
        if first.setdefault(text, row) != row:
            problem = f"column {column} has a sequence twice, in rows {first[text] + 1} and {row + 1}"
            raise InvalidInput(problem, text, "Drop one.")


def landscape_of(
    table: Table,
    value: str,
    *,
    coords: Sequence[str] = (),
    levels: Sequence[str] = (),
    sequence: str | None = None,
    weight: str | None = None,
    smallest: float | None = None,
    direction: Direction = "maximize",
) -> Landscape:
    """Return the landscape of a table's column of values.

    The space is given by coords, levels and weight as for `members`, or by a column of sequences, all possible
    ones of one length. `smallest` is the smallest weight of a region; for sequences, the fewest in a pool.
    """
    if sequence is None:
        values = table.numbers(value)
        return from_table(members(table, coords, levels, weight, smallest), values, direction=direction)
    plain = not (coords or levels)
    require(plain, "sequences have no coordinates and no levels", sequence, "Pass one kind.")
    space = _sequences(table.texts(sequence), sequence, 1 if smallest is None else smallest)
    return _on_sequences(space, table, value, sequence, weight, direction)


def _sequences(rows: list[str], column: str, smallest: float) -> Sequences:
    """Return the space of all sequences of a column."""
    fewest = int(smallest) if float(smallest).is_integer() else smallest  # the command line gives 16.0
    _refuse_repeated(rows, column)
    for row, text in enumerate(rows):
        if len(text) != len(rows[0]):
            problem = (
                f"column {column} must have sequences of one length, {len(rows[0])}, but not in row {row + 1}"
            )
            raise InvalidInput(problem, text, "Correct it.")
    times = Counter("".join(rows))
    space = Sequences("".join(sorted(times)), len(rows[0]), smallest=whole_number(fewest, "smallest", 1))
    number = space.arity**space.length
    if len(rows) < number:
        rare = min(times, key=lambda symbol: (times[symbol], symbol))
        row = next(row for row, text in enumerate(rows) if rare in text)
        present = f"{len(rows)} of all {number} sequences over {''.join(space.alphabet)}"
        problem = f"column {column} has {present}; symbol {rare!r} occurs first in row {row + 1}"
        raise InvalidInput(problem, rows[row], "Add the missing ones, or correct a wrong symbol.")
    return space


def on_axes(
    space: AxisSpace, table: Table, value: str, *, weight: str | None = None, direction: Direction = "maximize"
) -> Landscape:
    """Return the landscape of a table whose rows are places in a box or product: a column for every axis.

    The space is divided into pixels, at most as large as its smallest regions. A pixel has the mean of the rows
    within it; where there is none, the value of the nearest row, in shares of the axes.
    """
    space = space.with_smallest()
    values = table.numbers(value)
    weights = np.ones(len(values)) if weight is None else positive(table, weight)
    shares, shape = _shares(space, table), _pixels(space)
    inside = np.minimum((shares * shape).astype(int), np.array(shape) - 1)
    total, held = np.zeros(shape), np.zeros(shape)
    np.add.at(total, tuple(inside.T), weights * values)
    np.add.at(held, tuple(inside.T), weights)
    with np.errstate(invalid="ignore"):
        pixels = total / held
    return from_table(space, _filled(space, pixels, shares, inside, values), direction=direction)


def _pixels(space: AxisSpace) -> tuple[int, ...]:
    """Return the number of pixels along each axis."""
    pieces = space.partition.pieces(space.max_depth() or 0)
    for finer in FINER:
        axes = zip(space.axes, pieces, strict=True)
        shape = tuple(finer * parts if axis.places is None else axis.places for axis, parts in axes)
        if np.prod(shape, dtype=float) <= MAX_PIXELS:
            return shape
    fix = "Pass a wider smallest, or fewer axes."
    raise InvalidInput(f"a table is rehearsed on at most {MAX_PIXELS} smallest regions", shape, fix)


def _shares(space: AxisSpace, table: Table) -> Floats:
    """Return where every row lies on each axis, from 0 to 1; on a categorical axis, the middle of its symbol."""
    columns = []
    for axis in space.axes:
        is_symbol = isinstance(axis, CategoricalAxis)
        cells: list[Any] = table.texts(axis.name) if is_symbol else table.numbers(axis.name).tolist()
        places = []
        for row, cell in enumerate(cells, start=1):
            try:
                place: Any = axis.from_text(cell) if is_symbol else (cell, cell)
                part = axis.parse(place, space.arity)
            except ZonalError as error:
                error.args = (f"column {axis.name!r} of row {row}: {error}",)
                raise
            symbol = int(part[0]).bit_length() - 0.5
            places.append(symbol / len(axis.symbols) if isinstance(axis, CategoricalAxis) else part[0] / axis.side)
        columns.append(places)
    return np.array(columns).T


def _filled(space: AxisSpace, pixels: Floats, shares: Floats, inside: Ints, values: Floats) -> Floats:
    """Return the pixels, those without a row with the value of the nearest row that has the same symbols."""
    from scipy.spatial import cKDTree

    lines = np.array(space.continuous_axes, dtype=int)
    categorical = {j: axis for j, axis in enumerate(space.axes) if isinstance(axis, CategoricalAxis)}
    pools = list(categorical)
    closed = [isinstance(space.axes[j], PeriodicAxis) for j in lines]
    round_trip = np.array(closed, dtype=float)  # 0: the axis does not close
    for symbols in itertools.product(*(range(pixels.shape[j]) for j in pools)):
        rows = np.flatnonzero((inside[:, pools] == symbols).all(axis=1))
        chosen = dict(zip(pools, symbols, strict=True))
        named = {axis.name: axis.symbols[chosen[j]] for j, axis in categorical.items()}
        require(len(rows), "the table has no row with these symbols", named, "Add one, or leave the symbol out.")
        plane = pixels[tuple(chosen.get(j, slice(None)) for j in range(pixels.ndim))]  # a view
        empty = np.argwhere(np.isnan(plane))
        if len(empty):
            at = shares[np.ix_(rows, lines)]
            turned = np.where(round_trip > 0, at % 1.0, at)
            nearest = cKDTree(turned, boxsize=round_trip).query((empty + 0.5) / plane.shape)[1]
            plane[tuple(empty.T)] = values[rows[nearest]]
    return pixels
