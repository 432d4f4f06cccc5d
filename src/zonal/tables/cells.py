"""Cells of CSV files, which people open in spreadsheets: what is text goes out, and comes back, as text.

A spreadsheet runs a cell that begins with one of a few signs as a formula, whoever wrote it. An apostrophe goes
before such a text, and another before a text that begins with one, so that every text is known when it comes back.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from types import SimpleNamespace

APOSTROPHE = "'"
SIGNS = (APOSTROPHE, *"=+-@\t\r\n", *"＝＋－＠")  # the wide ones count in East Asian editions


def escaped(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula."""
    return APOSTROPHE + text if text.startswith(SIGNS) else text


def unescaped(cell: str) -> str:
    """Return the text of which `escaped` made this cell; what it would not have made stays as it is."""
    return cell[1:] if cell.startswith(APOSTROPHE) and cell[1:].startswith(SIGNS) else cell


def csv_text(rows: Iterable[Sequence[float | str | None]], end: str = "\n") -> str:
    """Return rows as CSV: texts escaped, numbers in full, None as an empty cell.

    Parameters
    ----------
    rows : iterable of sequences
        The header first.
    end : str
        Of each line.
    """
    lines: list[str] = []
    # With this ending, which is cut off again, the writer puts quotation marks around whatever a reader could take
    # for the end of a line or, in sheets of other people, of a cell.
    ending = ";\t\r\n"
    out = SimpleNamespace(write=lambda line: lines.append(line.removesuffix(ending) + end))
    writer = csv.writer(out, lineterminator=ending)
    writer.writerows([escaped(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return "".join(lines)
