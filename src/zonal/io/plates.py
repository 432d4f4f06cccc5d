"""Plates of wells: where on a plate each row of an order goes, and what a plate reader read there.

Wells are filled row by row, A1, A2 and so on, and then the next plate is begun. This module must not know what is
in them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from zonal.errors import InvalidInput, reject, require
from zonal.io.spreadsheet import Row
from zonal.io.tables import Numeral, Table

SIZES = {6: (2, 3), 12: (3, 4), 24: (4, 6), 48: (6, 8), 96: (8, 12), 384: (16, 24), 1536: (32, 48)}
WELL = re.compile(r"([A-Z]{1,2})0*([1-9][0-9]?)")
EMPTY = ("", "-", "na", "n/a", "nan")

Place = tuple[str, str]  # plate, counted from 1, and well


def places(size: int, number: int) -> list[Place]:
    """Return plate and well of so many rows."""
    rows, columns = SIZES[size]
    wells = [f"{_letters(row)}{column}" for row in range(rows) for column in range(1, columns + 1)]
    return [(str(at // size + 1), wells[at % size]) for at in range(number)]


def _letters(row: int) -> str:
    return chr(65 + row) if row < 26 else f"A{chr(65 + row - 26)}"


def order(size: int, rows: Sequence[Row]) -> list[Row]:
    """Return a sheet, the header first, with the plate and the well of each row in front."""
    header, *below = rows
    taken = (name for name in header if name in ("plate", "well"))
    reject(taken, "an axis is named like a column of the order", "Leave --plate out, or rename the axis.")
    placed = [[*place, *row] for place, row in zip(places(size, len(below)), below, strict=True)]
    return [["plate", "well", *header], *placed]


def plate_map(size: int, texts: Sequence[str]) -> list[Row]:
    """Return a sheet in the form of the plates, with a text in each well that is used."""
    rows, columns = SIZES[size]
    text = dict(zip(places(size, len(texts)), texts, strict=True))
    header = ["plate", "row", *map(str, range(1, columns + 1))]
    every = [(str(plate + 1), _letters(row)) for plate in range(-(-len(texts) // size)) for row in range(rows)]
    return [
        header,
        *(
            [plate, row, *(text.get((plate, f"{row}{column}"), "") for column in range(1, columns + 1))]
            for plate, row in every
        ),
    ]


def filled(order: Table, readings: Table) -> Table:
    """Return an order with what a plate reader read as its values; wells that it does not name are left out."""
    listed = list(_readings(readings))
    read = dict(listed)
    twice = sorted(well for (_, well), times in Counter(place for place, _ in listed).items() if times > 1)
    reject(twice, f"{readings.path.name} has a well twice", "Keep one reading of each.")
    plates = order.cells("plate") if order.find("plate") else ["1"] * order.rows
    wells = [_well(cell, order) for cell in order.cells("well")]
    name = order.find("value") or "value"
    before = order.columns.get(name, [""] * order.rows)
    values = []
    for plate, well, value in zip(plates, wells, before, strict=True):
        reading = read.get((plate.strip(), well), "")
        both = reading and value.strip().casefold() not in EMPTY
        problem = f"well {well} of plate {plate} has a value in the order and a reading"
        require(not both or value == reading, problem, (value, reading), "Leave one of them empty.")
        values.append(reading or value)
    require(
        any(values), "no well of the order has a reading", readings.path.name, "Is it the reading of this order?"
    )
    return replace(order, columns={**order.columns, name: values})


def _readings(table: Table) -> Iterator[tuple[Place, str]]:
    """Yield the readings of a list of wells and values, or of a table in the form of the plate."""
    plate = table.find("plate")
    plates = ["1"] * table.rows if plate is None else [cell.strip() or "1" for cell in table.columns[plate]]
    if table.find("well") and table.find("value"):
        wells = table.cells("well")
        yield from _column(
            table, "value", [(at, _well(well, table)) for at, well in zip(plates, wells, strict=True)]
        )
        return
    rows, *columns = (name for name in table.columns if name != plate)
    fix = (
        "Its first column names the rows A, B, ... and its header the columns 1, 2, ...; or it has well and value."
    )
    for column in columns:
        require(column.strip().isdecimal(), "this is no plate", column, fix)
        wells = [_well(f"{row.strip()}{column.strip()}", table) for row in table.columns[rows]]
        yield from _column(table, column, list(zip(plates, wells, strict=True)))


def _column(table: Table, column: str, where: Sequence[Place]) -> Iterator[tuple[Place, str]]:
    """Yield the readings of a column, with decimal points whatever the order has."""
    pointed = table.pointed(column)
    for place, cell in zip(where, table.cells(column), strict=True):
        if cell.strip().casefold() not in EMPTY:
            yield place, Numeral(pointed(cell, f"well {place[1]}"))


def _well(cell: str, table: Table) -> str:
    """Return a well as A1, however it is written: a1, A01."""
    written = WELL.fullmatch(cell.strip().upper())
    if written is None:
        raise InvalidInput(f"{table.path.name} has no such well", cell, "Wells are written A1, B12 or A01.")
    return written[1] + written[2]
