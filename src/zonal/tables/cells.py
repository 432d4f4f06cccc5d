"""Cells of CSV files for spreadsheets, which must not take a text for a formula.

A spreadsheet runs a cell that begins with certain characters as a formula. Such a text gets an apostrophe in
front, as does a text that begins with one, so that every text can be read back exactly.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from types import SimpleNamespace

APOSTROPHE = "'"
SIGNS = (APOSTROPHE, *"=+-@\t\r\n", *"＝＋－＠")  # East Asian editions also treat the wide forms as formulas


def escaped(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula."""
    return APOSTROPHE + text if text.startswith(SIGNS) else text


def unescaped(cell: str) -> str:
    """Return the text that `escaped` turned into this cell; other cells are unchanged."""
    return cell[1:] if cell.startswith(APOSTROPHE) and cell[1:].startswith(SIGNS) else cell


def csv_text(rows: Iterable[Sequence[float | str | None]], end: str = "\n") -> str:
    """Return rows, the header first, as CSV: texts escaped, numbers in full, None as an empty cell."""
    lines: list[str] = []
    # With this line ending, which is removed again, the writer quotes every cell that a reader could split,
    # whatever delimiter it expects.
    ending = ";\t\r\n"
    out = SimpleNamespace(write=lambda line: lines.append(line.removesuffix(ending) + end))
    writer = csv.writer(out, lineterminator=ending)
    writer.writerows([escaped(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return "".join(lines)
