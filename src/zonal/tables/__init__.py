"""Tables in files: columns of numbers and of texts, from CSV, TSV or Parquet.

A table is where a rehearsal takes its values from. This room reads cells, and says where one is wrong. It must
not know what the columns mean.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import math
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zonal.errors import InvalidInput
from zonal.tables.files import file_path

if TYPE_CHECKING:
    import pyarrow

Floats = NDArray[np.float64]
Column = Sequence[str] | NDArray[Any]

DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
PARQUET = ".parquet"
ENDINGS = (*DELIMITERS, PARQUET)
NAMED_COLUMNS = 20


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, as they stand there. Made by `read_table`.

    Rows count from 1, the first below the header.

    Parameters
    ----------
    path : Path
        The file.
    columns : mapping of str to texts or array
        The cells of each column: texts, or an array where the file itself holds numbers (Parquet).
    rows : int
        Number of rows.
    lines : sequence of int, optional
        The line of the file at which each row begins; empty where a file has no lines (Parquet).
    """

    path: Path
    columns: Mapping[str, Column] = field(repr=False)
    rows: int
    lines: Sequence[int] = field(default=(), repr=False)

    def numbers(self, column: str) -> Floats:
        """Return a column as finite numbers, or complain about the first cell that is none."""
        cells = self._cells(column)
        if isinstance(cells, np.ndarray):
            values = cells.astype(float)
        elif "_" in "".join(cells):  # float() would read 1_000 as 1000
            values = np.array([_number(cell) for cell in cells])
        else:
            try:
                values = np.fromiter(map(float, cells), float, self.rows)
            except ValueError:
                values = np.array([_number(cell) for cell in cells])
        finite = np.isfinite(values)
        if not finite.all():
            row = int(np.argmin(finite))
            raise self._not_a_number(column, row, cells[row])
        return values

    def texts(self, column: str) -> list[str]:
        """Return a column as texts, none of them empty; a whole number reads "101", not "101.0"."""
        cells = self._cells(column)
        if isinstance(cells, np.ndarray):
            return self._written(column, cells)
        if not all(map(str.strip, cells)):
            row = next(row for row, cell in enumerate(cells) if not cell.strip())
            raise self._empty(column, row, cells[row])
        return list(cells)

    def _written(self, column: str, cells: NDArray[Any]) -> list[str]:
        missing = np.isnan(cells)
        if missing.any():
            row = int(np.argmax(missing))
            raise self._empty(column, row, float(cells[row]))
        return [text.removesuffix(".0") for text in cells.astype(str).tolist()]

    def _cells(self, column: str) -> Column:
        if column in self.columns:
            return self.columns[column]
        names = list(self.columns)
        close = difflib.get_close_matches(str(column), names, n=1)
        guess = f"Did you mean {close[0]!r}? " if close else ""
        listed = ", ".join(map(repr, names[:NAMED_COLUMNS]))
        more = f" and {len(names) - NAMED_COLUMNS} more" if len(names) > NAMED_COLUMNS else ""
        raise InvalidInput(f"{self.path.name} has no such column", column, f"{guess}It has {listed}{more}.")

    def _not_a_number(self, column: str, row: int, cell: str | float) -> InvalidInput:
        if isinstance(cell, str):
            if not cell.strip():
                return self._empty(column, row, cell)
            if math.isnan(_number(cell)) and cell.strip().lower().lstrip("+-") != "nan":
                fix = "Write a number with a decimal point, such as 0.5."
                return InvalidInput(f"{self._place(column, row)} is not a number", cell, fix)
        value = cell if isinstance(cell, str) else float(cell)
        return InvalidInput(f"{self._place(column, row)} is not finite", value, "Correct it or remove the row.")

    def _empty(self, column: str, row: int, cell: object) -> InvalidInput:
        return InvalidInput(f"{self._place(column, row)} is empty", cell, "Fill it in or remove the row.")

    def _place(self, column: str, row: int) -> str:
        line = f", line {self.lines[row]}" if self.lines else ""
        return f"column {column!r} of row {row + 1} ({self.path.name}{line})"


def read_table(path: str | Path) -> Table:
    r"""Read a table from a file, by its ending: .csv, .csv.gz, .tsv, .tsv.gz or .parquet.

    The first line of a CSV or TSV names the columns; the text is UTF-8, with or without a byte order mark.
    Blank lines are skipped. Cells and names are kept as they stand, spaces included.

    Parameters
    ----------
    path : str or Path
        The file. Parquet needs pyarrow: ``pip install 'zonal[parquet]'``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "wells.csv"
    ...     _ = file.write_text("well,depth\nA1,12.5\nB7,30\n")
    ...     table = read_table(file)
    >>> table.texts("well")
    ['A1', 'B7']
    >>> table.numbers("depth").tolist()
    [12.5, 30.0]
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInput("a table is read from a file", path, "Pass the path of one.")
    file = file_path(path)
    ending = next((ending for ending in ENDINGS if file.name.lower().endswith(ending)), None)
    if ending is None:
        raise InvalidInput("the file's ending is not known", file.name, f"Pass one of {', '.join(ENDINGS)}.")
    try:
        if file.stat().st_size == 0:
            raise _no_content(file)
        table = _read_parquet(file) if ending == PARQUET else _read_text(file, DELIMITERS[ending])
    except FileNotFoundError:
        raise InvalidInput("there is no such file", str(path), "Check the path.") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"the file cannot be read ({reason})", str(path), "Pass a whole file.") from None
    if table.rows == 0:
        raise InvalidInput("the table has columns but no rows", str(path), "Add rows below the header.")
    return table


def _no_content(file: Path) -> InvalidInput:
    return InvalidInput("the file is empty", str(file), "Pass a file with a header and rows.")


def _read_text(file: Path, delimiter: str) -> Table:
    content = file.read_bytes()
    if file.name.lower().endswith(".gz"):
        content = gzip.decompress(content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("the file is not UTF-8 text", str(file), "Save it anew, encoded in UTF-8.") from None
    lines, rows = _split(file, text, delimiter)
    if not rows:
        raise _no_content(file)
    names = rows.pop(0)
    lines.pop(0)
    if len(names) == 1 and ";" in names[0]:
        fix = (
            "Save it with commas between columns and a decimal point, or convert it: pandas reads it with sep=';'."
        )
        raise InvalidInput(f"the columns of {file.name} are separated by semicolons", names[0], fix)
    _check_names(file, names)
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(names):
            separator = "comma" if delimiter == "," else "tab"
            problem = f"line {line} of {file.name} must have {len(names)} cells, one for each column"
            fix = f"Add or remove cells; one that contains a {separator} needs quotation marks."
            raise InvalidInput(problem, len(row), fix)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    return Table(file, columns, len(rows), lines)


def _split(file: Path, text: str, delimiter: str) -> tuple[list[int], list[list[str]]]:
    lines: list[int] = []
    rows: list[list[str]] = []
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begin = 1
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(begin)
            begin = reader.line_num + 1
    except csv.Error as error:
        fix = f"Check the quotation marks from line {begin} on."
        raise InvalidInput(f"the file is not a well-formed table ({error})", str(file), fix) from None
    return lines, rows


def _read_parquet(file: Path) -> Table:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InvalidInput(
            "reading Parquet needs pyarrow, which is not installed",
            str(file),
            "Run pip install 'zonal[parquet]', or save the table as CSV.",
        ) from None
    try:
        with parquet.ParquetFile(file) as source:
            content = source.read()
    except pyarrow.ArrowException as error:
        raise InvalidInput(f"the file is not readable Parquet ({error})", str(file), "Save it anew.") from None
    _check_names(file, content.column_names)
    columns = dict(zip(content.column_names, map(_parquet_cells, content.columns), strict=True))
    return Table(file, columns, content.num_rows)


def _parquet_cells(column: pyarrow.ChunkedArray) -> Column:
    import pyarrow

    kind = column.type
    if column.null_count == 0 and (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
        return np.asarray(column.to_numpy())
    try:
        cells = column.cast(pyarrow.string()).to_pylist()
    except pyarrow.ArrowException:
        cells = column.to_pylist()
    return tuple("" if cell is None else str(cell) for cell in cells)


def _check_names(file: Path, names: Sequence[str]) -> None:
    known: set[str] = set()
    for name in names:
        if name in known:
            fix = f"Give each column its own name in the header of {file.name}."
            raise InvalidInput("the names of columns must differ", name, fix)
        known.add(name)


def _number(cell: str) -> float:
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan
