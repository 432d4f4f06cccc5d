"""Sheets as files for any spreadsheet: CSV with commas or semicolons, tabs, or Excel; pools also as FASTA.

Whatever is written here, `read_table` reads back the same. This module must not know what the cells mean.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

from zonal.errors import CannotWrite, require
from zonal.io import fasta
from zonal.io.files import escaped, library

PlainCell = float | str | None
Row = Sequence[PlainCell]

ENDINGS = {
    ".csv": ",",
    ".tsv": "\t",
    ".xlsx": "",
    **dict.fromkeys(fasta.ENDINGS, ""),
}  # and what stands between the cells
SEPARATORS = {",": ",", ";": ";", "tab": "\t"}  # as people name them
LONGEST_CELL = 32767  # characters, in Excel
NOT_IN_EXCEL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]|_x[0-9A-Fa-f]{4}_")  # the last is Excel's own escape


def csv_text(rows: Iterable[Row], end: str = "\n", delimiter: str = ",", decimal: str = ".") -> str:
    """Return rows, the header first, as CSV: texts escaped, numbers in full, None as an empty cell."""
    lines: list[str] = []
    # With this line ending, which is removed again, the writer quotes every cell that a reader could split,
    # whatever delimiter it expects; the header decides which it expects.
    ending = ",;\t\r\n"
    out = SimpleNamespace(write=lambda line: lines.append(line.removesuffix(ending) + end))
    for row in rows:
        cells = [escaped(cell) if isinstance(cell, str) else _numeral(cell, decimal) for cell in row]
        csv.writer(out, delimiter=delimiter, lineterminator=ending).writerow(cells)
        ending = (";\t" if decimal == "." else "\t") + "\r\n"
    return "".join(lines)


def _numeral(cell: float | None, decimal: str) -> float | str | None:
    return cell if decimal == "." or cell is None else str(cell).replace(".", decimal)


class SheetFile:
    """A new file for a sheet: its format by its ending (.csv, .tsv, .xlsx or .fasta), or by `separator` in a .csv.

    Between semicolons numbers have a decimal comma unless `decimal` says otherwise, as spreadsheets that write
    semicolons expect. Raises at once if the file cannot be made like that, or exists already.
    """

    def __init__(
        self, path: Path, separator: str | None = None, decimal: str | None = None, new: bool = True
    ) -> None:
        name = path.name.lower()
        ending = next((ending for ending in ENDINGS if name.endswith(ending)), None)
        fix = "End it in .csv, .tsv, .xlsx or, for pools of sequences, .fasta."
        require(ending is not None, "a sheet is written as CSV, with tabs, for Excel or as FASTA", path.name, fix)
        free = not (new and path.exists())
        require(free, "this file exists already, and may hold values", str(path), "Choose another name.")
        usual = ENDINGS[ending or ".csv"]
        self.path, self.delimiter = path, SEPARATORS[separator] if separator else usual
        fits = ending == ".csv" or self.delimiter == usual
        require(fits, f"a {ending} has its own separator", separator, "Leave it out, or end the name in .csv.")
        self.decimal = decimal or ("," if self.delimiter == ";" else ".")
        self.is_fasta = ending in fasta.ENDINGS
        if not usual:
            self.decimal = "."  # of numbers, which Excel shows as its user wants them
        if ending == ".xlsx":
            needs_excel(path)

    def text(self, rows: Iterable[Row]) -> str:
        """Return rows, the header first, as text, if this is no Excel file."""
        return csv_text(rows, "\n", self.delimiter, self.decimal)

    def content(self, rows: Iterable[Row]) -> bytes:
        """Return rows, the header first, as the file will hold them."""
        if self.is_fasta:
            return fasta.fasta_text(rows).encode()
        if not self.delimiter:
            return excel_bytes(rows, self.path)
        text = self.text(rows)
        # With a byte order mark if needed: some spreadsheets guess the encoding wrongly.
        return text.encode("utf-8" if text.isascii() else "utf-8-sig")

    def write(self, rows: Iterable[Row]) -> None:
        """Write the file, which must not exist."""
        content, created = self.content(rows), False
        try:
            with self.path.open("xb") as out:
                created = True
                out.write(content)
        except OSError as error:
            if created:  # a part of a sheet is none
                self.path.unlink(missing_ok=True)
            raise CannotWrite(self.path, error) from error


def needs_excel(path: Path) -> None:
    """Raise if Excel files cannot be written here."""
    fix = "Run pip install 'zonal[excel]', or end the name in .csv."
    library("openpyxl", "writing Excel", str(path), fix)


def excel_bytes(rows: Iterable[Row], path: Path) -> bytes:
    """Return rows, the header first, as an Excel file: texts escaped as in CSV, numbers as numbers."""
    needs_excel(path)
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    checked = [[_excel_cell(cell) for cell in row] for row in rows]
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Zonal")
    for row in checked:
        cells = [WriteOnlyCell(sheet, value) for value in row]
        for cell, value in zip(cells, row, strict=True):
            if isinstance(value, str):
                cell.data_type = "s"  # never a formula, nor an error
        sheet.append(cells)
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def _excel_cell(cell: PlainCell) -> PlainCell:
    """Return a cell as Excel gets it; raise if it cannot hold the text."""
    if not isinstance(cell, str):
        return cell
    text = escaped(cell)
    fits = len(text) <= LONGEST_CELL and not NOT_IN_EXCEL.search(text)
    require(fits, "Excel cannot hold this text", cell, "End the file's name in .csv.")
    return text
