"""Tables in files: columns of numbers and texts, from CSV, TSV, Excel, Parquet, FASTA or files of areas.

This module reads cells, and reports which one is wrong. It must not know what the columns mean.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import warnings
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, time
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zonal._types import Floats
from zonal.errors import InvalidInput, check_choice, reject, require, warn_user
from zonal.io import fasta, geo_files
from zonal.io.files import file_path, library, parsed, unescaped
from zonal.io.hints import guess

if TYPE_CHECKING:
    import pyarrow

Column = Sequence[str]

MARKS = {".": "point", ",": "comma"}
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
QUOTED = re.compile(r'"(?:[^"]|"")*"')  # in which delimiters do not count
MAX_OF_HEADER = 1 << 16  # characters
NAMED_COLUMNS = 20

MARKED = re.compile(r"\s*[+-]?\d*[.,]\d+([eE][+-]?\d+)?\s*")  # a number with one point or comma
THOUSAND = re.compile(r"\s*[+-]?[1-9]\d{0,2}[.,]\d{3}\s*")  # one in which it may separate thousands
GROUPED = re.compile(r"\s*[+-]?\d[\d.,]*[.,][\d.,]*[.,]\d+\s*")  # a number with several of them


class Numeral(str):
    """A cell that a file holds as a number: it has a decimal point, whatever mark is written in texts."""


def _is_numeral(cell: str) -> bool:
    return isinstance(cell, Numeral)


class MissingColumn(InvalidInput):
    """A column that a table needs and does not have."""

    def __init__(self, message: str) -> None:
        ValueError.__init__(self, message)


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, unchanged. Made by `read_table`.

    Rows count from 1, the first below the header. Names of columns are compared without regard to case,
    surrounding spaces, and spaces instead of underscores.
    """

    path: Path
    columns: Mapping[str, Column] = field(repr=False)
    rows: int
    lines: Sequence[int] = field(default=(), repr=False)  # at which rows begin; Parquet has none
    delimiter: str = ""  # between cells, if there is one
    decimal: str = ""  # the mark that was said to be decimal, if any

    def __post_init__(self) -> None:
        require(self.rows, "the table has columns but no rows", str(self.path), "Add rows below the header.")

    def numbers(self, column: str) -> Floats:
        """Return a column as finite numbers; raise at the first cell that is not one."""
        cells = self.cells(column)
        together = "".join(cells)
        if "," in together or ("." in together and self.decimal_commas):
            pointed = self.pointed(column)
            cells = [pointed(cell, self._place(column, row)) for row, cell in enumerate(cells)]
        values = np.array([parsed(cell) for cell in cells], dtype=float)  # NaN for None
        for row in np.flatnonzero(~np.isfinite(values)).tolist():
            raise self._wrong(column, row, cells[row])
        return values

    def texts(self, column: str) -> list[str]:
        """Return a column as non-empty texts; a whole number reads "101", not "101.0"."""
        cells = self.cells(column)
        for row, cell in enumerate(cells):
            if not cell.strip():
                raise self._wrong(column, row, cell)
        return list(cells)

    def pointed(self, column: str) -> Callable[[str, str], str]:
        """Return a function of a cell of this column, and of a name for it, that returns it with a decimal point.

        The function raises if a cell has a comma where most others have points, or the other way round. Raises if
        the mark may separate thousands in all cells.
        """
        marked = [cell for cell in self.cells(column) if MARKED.fullmatch(cell)]
        many = {mark: sum(mark in cell for cell in marked) for mark in ".,"}
        usual = ("." if many["."] > many[","] else ",") if many["."] != many[","] else self._usual_mark
        odd = {".": ",", ",": "."}[self.decimal or usual] if self.decimal or all(many.values()) else ""
        unclear, clear = "." if self.decimal_commas else ",", self.decimal or all(map(_is_numeral, marked))
        if not clear and many[unclear] == len(marked) and all(map(THOUSAND.fullmatch, marked)):
            raise self._ask(column, marked, unclear)

        def read(cell: str, what: str) -> str:
            if _is_numeral(cell):
                return cell
            if not MARKED.fullmatch(cell):
                if GROUPED.fullmatch(cell):
                    fix = "Write one decimal mark, and nothing between thousands."
                    raise InvalidInput(f"{what} has several points or commas", cell, fix)
                return cell
            mark, other, name = (",", ".", "comma") if "," in cell else (".", ",", "point")
            if mark == odd:
                fix = f"Write {cell.strip().replace(mark, other)}, with a {MARKS[other]}."
                declared = f"but the decimal mark was said to be {self.decimal!r}"
                unlike = declared if self.decimal else "unlike others in its column"
                raise InvalidInput(f"{what} has a decimal {name}, {unlike}", cell, fix)
            return cell.replace(",", ".")

        return read

    def _ask(self, column: str, marked: Sequence[str], mark: str) -> InvalidInput:
        """Return the question whether a mark in all numbers of a column is decimal."""
        first, name = marked[0].strip(), MARKS[mark]
        where = f"column {column!r} of {self.path.name}"
        problem = f"the {name} in {where} may be a decimal mark, or separate thousands"
        point, whole = first.replace(",", "."), first.replace(mark, "")
        fix = f'Pass decimal="{mark}" if {first} means {point}. If it means {whole}, take the {name}s out.'
        return InvalidInput(problem, first, fix)

    @property
    def _usual_mark(self) -> str:
        return "," if self.delimiter in (";", "\t") else "."

    @cached_property
    def decimal_commas(self) -> bool:
        """Whether some number has a comma that can only be a decimal mark, as between semicolons or tabs."""
        if self.decimal:
            return self.decimal == ","
        split = self.delimiter in (";", "\t")
        return any(
            "," in cell and MARKED.fullmatch(cell) is not None and (split or not THOUSAND.fullmatch(cell))
            for column in self.columns.values()
            for cell in column
        )

    def find(self, column: str) -> str | None:
        """Return the name of a column as the file has it, None if there is none."""
        if column in self.columns:
            return column
        names = [name for name in self.columns if _key(unescaped(name)) == _key(str(column))]
        require(len(names) < 2, f"several columns of {self.path.name} may be {column!r}", names, "Rename one.")
        return names[0] if names else None

    def cells(self, column: str) -> Column:
        """Return the cells of a column as they are in the file; raise if there is no such column."""
        name = self.find(column)
        if name is not None:
            return self.columns[name]
        names = list(self.columns)
        if len(names) == 1 and any(mark in names[0] for mark in DELIMITERS):
            fix = "Split it into columns (in Excel: Data, Text to Columns), or save the sheet anew."
            raise InvalidInput(f"the whole row is in one cell in {self.path.name}", names[0], fix)
        if len(names) == 1 and any(mark in self.columns[names[0]][0] for mark in DELIMITERS):
            raise _title(self.path, names[0])
        listed = ", ".join(map(repr, names[:NAMED_COLUMNS]))
        more = f" and {len(names) - NAMED_COLUMNS} more" if len(names) > NAMED_COLUMNS else ""
        hint = guess(column, names)
        raise MissingColumn(f"{self.path.name} needs a column {column!r}. {hint}It has {listed}{more}.")

    def _wrong(self, column: str, row: int, cell: str) -> InvalidInput:
        what, fix = "is not finite", "Correct it or remove the row."
        if not cell.strip():
            what, fix = "is empty", "Fill it in or remove the row."
        elif parsed(cell) is None:
            what, fix = "is not a number", "Write a number with a decimal point, such as 0.5."
        return InvalidInput(f"{self._place(column, row)} {what}", cell, fix)

    def _place(self, column: str, row: int) -> str:
        line = f", line {self.lines[row]}" if self.lines else ""
        return f"column {column!r} of row {row + 1} ({self.path.name}{line})"


def _key(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name).strip().casefold()


def read_table(path: str | Path, decimal: str | None = None) -> Table:
    r"""Read a table from a file, by its ending.

    Endings are .csv, .csv.gz, .tsv, .tsv.gz, .xlsx, .parquet, .gpkg, .geojson, .fasta, .fa, .fna and .faa. The
    first line of a text names the columns, with commas, semicolons or tabs between. It is UTF-8, with or without a
    byte order mark, or UTF-16 with one; anything else is read as Windows-1252, with a warning. The first sheet of
    an Excel file is read. The centroids of areas are the columns lon and lat, or x and y. In FASTA the sequences
    are the column region. Blank rows are skipped. Cells and names keep their spaces.

    Parameters
    ----------
    path : str or Path
        The file. Parquet needs ``pip install 'zonal[parquet]'``, Excel ``'zonal[excel]'``, areas ``'zonal[geo]'``.
    decimal : {".", ","}, optional
        The decimal mark; by default it is found out, column by column.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "wells.csv"
    ...     _ = file.write_text("Well;Depth\nA1;12,5\nB7;30\n")
    ...     table = read_table(file)
    >>> table.texts("well")
    ['A1', 'B7']
    >>> table.numbers("depth").tolist()
    [12.5, 30.0]
    """
    require(isinstance(path, (str, os.PathLike)), "a table must be given as a file", path, "Pass its path.")
    file = file_path(path)
    ending = next((ending for ending in ENDINGS if file.name.lower().endswith(ending)), "")
    require(ending, "the file's ending is not known", file.name, f"Pass one of {', '.join(ENDINGS)}.")
    try:
        _need_content(file.stat().st_size, file)
        table = READERS.get(ending, _read_text)(file)
        return replace(table, decimal=_checked_mark(decimal))
    except FileNotFoundError:
        raise InvalidInput("there is no such file", str(path), "Check the path.") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"the file cannot be read ({reason})", str(path), "Pass a whole file.") from None


def parse_table(text: str, name: str, decimal: str | None = None) -> Table:
    """Return the table in a text, as `read_table` reads one from a file; messages use its name."""
    table = _of_text(Path(name), text.removeprefix("\ufeff"), ",")
    return replace(table, decimal=_checked_mark(decimal))


def _checked_mark(decimal: str | None) -> str:
    if decimal is not None:
        check_choice(decimal, "decimal", tuple(MARKS))
    return decimal or ""


def _need_content(content: Sized | int, file: Path) -> None:
    require(content, "the file is empty", str(file), "Pass a file with a header and rows.")


def _read_text(file: Path) -> Table:
    content = file.read_bytes()
    if file.name.lower().endswith(".gz"):
        content = gzip.decompress(content)
    tabs = file.name.lower().removesuffix(".gz").endswith(".tsv")  # if the header is ambiguous
    return _of_text(file, _decoded(content, file), "\t" if tabs else ",")


def _decoded(content: bytes, file: Path) -> str:
    """Return the text of a table: UTF-8, UTF-16 with its mark, or as Excel on Windows saves plain CSV."""
    with suppress(UnicodeDecodeError):
        if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            return content.decode("utf-16")
        return content.decode("utf-8-sig")
    try:
        if b"\0" in content:  # no text at all
            raise UnicodeError
        text = content.decode("cp1252")
    except UnicodeError:
        fix = "Save it again, encoded in UTF-8 (in Excel: CSV UTF-8)."
        raise InvalidInput("the file is not UTF-8 text", str(file), fix) from None
    warning = "is not UTF-8 and was read as Windows-1252. Check its accents and symbols, or save it as CSV UTF-8."
    warn_user(UserWarning(f"{file.name} {warning}"))
    return text


def _of_text(file: Path, text: str, usual: str) -> Table:
    """Return the table in a text, with the delimiter that is most frequent in its header and fits every row."""
    header = QUOTED.sub("", text[:MAX_OF_HEADER].lstrip("\r\n")).partition("\n")[0]
    likely = sorted(DELIMITERS, key=lambda mark: (-header.count(mark), mark != usual))
    complaints = []
    for mark in likely:
        if mark == likely[0] or mark in header:
            try:
                return _of_rows(file, _split(file, text, mark), mark)
            except InvalidInput as complaint:
                complaints.append(complaint)
    raise complaints[0]


def _split(file: Path, text: str, delimiter: str) -> Iterable[tuple[int, list[str]]]:
    """Yield the rows of a text, each with the line at which it begins."""
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begin = 1
    try:
        for row in reader:
            yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        fix = f"Check the quotation marks from line {begin} on."
        raise InvalidInput(f"the file is not a well-formed table ({error})", str(file), fix) from None


def _of_rows(file: Path, numbered: Iterable[tuple[int, list[str]]], delimiter: str) -> Table:
    """Return a table of rows, the header first; blank rows, and blank columns without a name, are left out."""
    kept = [(line, row) for line, row in numbered if any(map(str.strip, row))]
    _need_content(kept, file)
    (_, names), *below = kept
    _check_title(file, names, below)
    _check_lengths(file, below, len(names), delimiter)
    cells = list(zip(*(row for _, row in below), strict=True)) or [()] * len(names)
    columns = [
        column for column in zip(names, cells, strict=True) if column[0].strip() or any(map(str.strip, column[1]))
    ]
    _check_names(file, [name for name, _ in columns])
    return Table(file, dict(columns), len(below), [line for line, _ in below], delimiter)


def _check_title(file: Path, names: list[str], below: list[tuple[int, list[str]]]) -> None:
    """Raise if the first row has one cell where those below have more, the next of them no number: a title."""
    title, *others = names
    widths = [sum(1 for cell in row if cell.strip()) for _, row in below]
    alone = title.strip() and not any(map(str.strip, others))
    if alone and len(below) > 1 and max(widths) > 1 and parsed(below[0][1][0]) is None:
        raise _title(file, title)


def _title(file: Path, title: str) -> InvalidInput:
    fix = "Delete what is above the names."
    return InvalidInput(f"{file.name} begins with a title, not with the names of its columns", title, fix)


def _check_lengths(file: Path, rows: list[tuple[int, list[str]]], width: int, delimiter: str) -> None:
    for line, row in rows:
        if len(row) != width:
            problem = f"line {line} of {file.name} must have {width} cells, one for each column"
            other = ", or the sheet semicolons between its cells" if delimiter == "," else ""
            fix = f"Add or remove cells; one that contains a {DELIMITERS[delimiter]} needs quotation marks{other}."
            raise InvalidInput(problem, len(row), fix)


def _read_fasta(file: Path) -> Table:
    text = _decoded(file.read_bytes(), file)
    return _of_rows(file, fasta.fasta_rows(text, file.name), "")


def _read_areas(file: Path) -> Table:
    columns = geo_files.area_columns(file)
    _check_names(file, list(columns))
    cells = {
        name: [cell if isinstance(cell, str) else Numeral(cell) for cell in column]
        for name, column in columns.items()
    }
    return Table(file, cells, len(next(iter(cells.values()))))


def _read_excel(file: Path) -> Table:
    fix = "Run pip install 'zonal[excel]', or save the table as CSV."
    openpyxl = library("openpyxl", "reading Excel", str(file), fix)
    try:
        with warnings.catch_warnings(action="ignore"):  # about other content of the file
            rows = list(openpyxl.load_workbook(file, data_only=True).worksheets[0].values)
    except OSError:
        raise
    except Exception as error:  # a damaged archive can cause any error
        problem = f"the file is not a readable Excel sheet ({error})"
        raise InvalidInput(problem, str(file), "Save it again.") from None
    return _of_rows(file, ((line, [_excel_text(cell) for cell in row]) for line, row in enumerate(rows, 1)), "")


def _excel_text(cell: float | str | date | time | None) -> str:
    """Return a cell of Excel as text: integers without a decimal point, "" for an empty cell."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    if isinstance(cell, int | float):
        return Numeral(cell)
    return "" if cell is None else str(cell)


def _read_parquet(file: Path) -> Table:
    fix = "Run pip install 'zonal[parquet]', or save the table as CSV."
    pyarrow = library("pyarrow", "reading Parquet", str(file), fix)
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file) as source:
            content = source.read()
    except pyarrow.ArrowException as error:
        raise InvalidInput(f"the file is not readable Parquet ({error})", str(file), "Save it again.") from None
    _check_names(file, content.column_names)
    columns = dict(zip(content.column_names, map(_parquet_cells, content.columns), strict=True))
    return Table(file, columns, content.num_rows)


def _parquet_cells(column: pyarrow.ChunkedArray) -> Column:
    import pyarrow

    try:
        cells = column.cast(pyarrow.string()).to_pylist()
    except pyarrow.ArrowException:
        cells = column.to_pylist()
    floating = pyarrow.types.is_floating(column.type)
    empty, kind = ((None, "nan"), Numeral) if floating else ((None,), str)
    return tuple("" if cell in empty else kind(cell) for cell in cells)


def _check_names(file: Path, names: Sequence[str]) -> None:
    unnamed = [at for at, name in enumerate(names, 1) if not name.strip()]
    fix = "Name them in its first row; a title above the names must go."
    require(len(unnamed) < 2, f"several columns of {file.name} have no name", unnamed, fix)
    twice = (name for name, times in Counter(names).items() if times > 1)
    fix = f"Give each column its own name in the header of {file.name}."
    reject(twice, "the names of columns must differ", fix)


READERS: dict[str, Callable[[Path], Table]] = {
    ".xlsx": _read_excel,
    ".parquet": _read_parquet,
    **dict.fromkeys(geo_files.DRIVERS, _read_areas),
    **dict.fromkeys(fasta.ENDINGS, _read_fasta),
}
ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", *READERS)
