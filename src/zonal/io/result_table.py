"""Tables for people: aligned when printed, HTML in a notebook, and data frames or files for further use.

Numbers have as many digits as their uncertainty allows, and probabilities are never shown as certain. This module
formats cells. It must not know what they mean, and imports a data-frame library only when asked.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from zonal.errors import InvalidInput, require, whole_number
from zonal.io.files import file_path, library, write
from zonal.io.spreadsheet import Row, csv_text, excel_bytes

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

DIGITS = 4  # significant digits of a column's largest number
WIDEST, SHORTEST = 120, 8  # characters of a printed line, and of a text that is cut
MAX_ROWS = 60  # shown: the first and last ones if there are more
CELL = "padding:2px 8px;border:none;"


class Span(NamedTuple):
    """A part of an axis: one cell when printed, two columns in a data frame."""

    low: float
    high: float


class Probability(float):
    """A probability: printed in per cent, never as 0 or 100; a plain number in a data frame."""


Cell = float | int | str | Span | None
R = TypeVar("R")


@dataclass(frozen=True, repr=False)
class Listing:
    """A table to read and to export: columns by name, and rows as mappings of name to cell.

    Attributes
    ----------
    title : str
        What it is a table of.
    columns : mapping of str to cells
        The cells of each column; None for an empty cell.
    std_columns : mapping of str to str
        Columns that are rounded to two digits of another column, their standard deviation.

    Examples
    --------
    >>> depths = [Span(0, 12.5), Span(12.5, 30)]
    >>> Listing("Wells", {"well": ["A1", "B7"], "depth [m]": depths, "yield": [0.31, None]})
    Wells
    well  depth [m]   yield
    A1      0..12.5  0.3100
    B7     12.5..30
    >>> wells = Listing("Wells", {"well": ["A1", "B7"], "yield": [0.31, None]})
    >>> wells["well"], [row["well"] for row in wells if row["yield"]]
    (['A1', 'B7'], ['A1'])
    """

    title: str
    columns: Mapping[str, Sequence[Cell]]
    std_columns: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> Sequence[Cell]:
        """Return the cells of a column."""
        if name not in self:
            raise InvalidInput("this table has no such column", name, f"It has {', '.join(self.columns)}.")
        return self.columns[name]

    def __contains__(self, name: Hashable) -> bool:
        """Tell whether there is a column of this name."""
        return isinstance(name, str) and name in self.columns

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        """Yield the rows, each with its cells by name."""
        for cells in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, cells, strict=True))

    def __repr__(self) -> str:
        """Return the table, aligned."""
        return self.text(WIDEST, MAX_ROWS)

    def text(self, width: int, rows: int | None = None) -> str:
        """Return the table, aligned, in lines of `width` characters if texts can be cut to fit.

        At most `rows` are shown, the first and last ones if there are more; by default all.
        """
        width = whole_number(width, "width", 1)
        rows = None if rows is None else whole_number(rows, "rows", 2)
        shown = [(name, *written) for name, written in self._written(rows)]
        lines = aligned(shown, [_is_numeric(cells) for cells in self.columns.values()], width)
        if hidden := self._hidden(rows):
            lines.insert(len(lines) - (len(self) - hidden) // 2, f"... {hidden} more rows ...")
        return "\n".join([self.title, *lines] if self.title else lines)

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        from html import escape  # here, as it is seldom needed and slow to import

        sides = ["right" if _is_numeric(cells) else "left" for cells in self.columns.values()]

        def row(tag: str, cells: Sequence[str]) -> str:
            inside = (
                f'<{tag} style="{CELL}text-align:{side}">{escape(cell)}</{tag}>'
                for cell, side in zip(cells, sides, strict=True)
            )
            return f"<tr>{''.join(inside)}</tr>"

        written = (written for _, written in self._written(MAX_ROWS))
        body = [row("td", cells) for cells in zip(*written, strict=True)]
        if hidden := self._hidden(MAX_ROWS):
            between = f'<tr><td colspan="{len(sides)}" style="{CELL}">... {hidden} more rows ...</td></tr>'
            body.insert(MAX_ROWS // 2, between)
        return (
            f'<table><caption style="text-align:left">{escape(self.title)}</caption>'
            f"<thead>{row('th', list(self.columns))}</thead><tbody>{''.join(body)}</tbody></table>"
        )

    def to_dict(self) -> dict[str, list[float | int | str | None]]:
        """Return plain columns; a part of an axis as two, its lower and upper edge."""
        plain: dict[str, list[Any]] = {}
        for name, cells in self.columns.items():
            if any(isinstance(cell, Span) for cell in cells):
                word, bracket, unit = name.partition(" [")
                for side in ("low", "high"):  # of "l [deg]": "l low [deg]"
                    plain[f"{word} {side}{bracket}{unit}"] = [getattr(cell, side, None) for cell in cells]
            else:
                plain[name] = [float(cell) if isinstance(cell, Probability) else cell for cell in cells]
        return plain

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas data frame."""
        frame: pandas.DataFrame = _library("pandas").DataFrame(self.to_dict())
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Return the table as a polars data frame."""
        frame: polars.DataFrame = _library("polars").DataFrame(self.to_dict(), strict=False)
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """Return the table as an Arrow table."""
        return _library("pyarrow").table(self.to_dict())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Pass the table to libraries that use the Arrow protocol, such as ``polars.DataFrame(table)``."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_csv(self, path: str | Path) -> None:
        """Write the table to a CSV file, numbers with all digits; empty cells stay empty.

        A text that a spreadsheet would take for a formula (``=``, ``+``, ``-`` or ``@`` first) gets an apostrophe
        in front, as does a text that begins with an apostrophe.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is replaced.
        """
        write(file_path(path), csv_text(self._plain_rows(), end="\r\n").encode())

    def to_excel(self, path: str | Path) -> None:
        """Write the table to an Excel file (.xlsx); texts are written as by `to_csv`.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is replaced. This needs openpyxl, ``pip install 'zonal[excel]'``.
        """
        file = file_path(path)
        require(file.suffix.lower() == ".xlsx", "an Excel file ends in .xlsx", str(path), "Change its ending.")
        write(file, excel_bytes(self._plain_rows(), file))

    def _plain_rows(self) -> list[Row]:
        """Return the header and all rows, with plain cells."""
        plain = self.to_dict()
        return [list(plain), *zip(*plain.values(), strict=True)]

    def _hidden(self, rows: int | None) -> int:
        """Return how many rows are not shown."""
        return 0 if rows is None else max(len(self) - rows, 0)

    def _written(self, rows: int | None) -> Iterator[tuple[str, list[str]]]:
        """Yield the name of each column and the cells that are shown, as texts."""
        for name, cells in self.columns.items():
            values: Any = cells
            stds: Any = self.columns.get(self.std_columns[name]) if name in self.std_columns else None
            texts = _texts(cells) if stds is None else list(map(number, values, stds))
            if rows is not None and self._hidden(rows):
                texts = [*texts[: rows // 2], *texts[-(rows // 2) :]]
            yield name, texts


@dataclass(frozen=True, repr=False)
class Records(Listing, Generic[R]):
    """A table of objects: the rows are in ``records``; iterating, or indexing by number, gives them too."""

    records: tuple[R, ...] = ()

    def text(self, width: int, rows: int | None = None) -> str:
        """Return the table, aligned; only the title if there are no rows."""
        return super().text(width, rows) if self.records else self.title

    def __iter__(self) -> Iterator[R]:  # type: ignore[override]
        """Yield the rows, in their order."""
        return iter(self.records)

    @overload
    def __getitem__(self, at: str) -> Sequence[Cell]: ...
    @overload
    def __getitem__(self, at: int) -> R: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[R, ...]: ...
    def __getitem__(self, at: str | int | slice) -> Sequence[Cell] | R | tuple[R, ...]:
        """Return the cells of a column by its name, or rows by number."""
        return super().__getitem__(at) if isinstance(at, str) else self.records[at]


def aligned(columns: Sequence[Sequence[str]], right: Sequence[bool], width: int) -> list[str]:
    """Return the lines of a table from its columns, each with its name first.

    Columns of numbers are aligned `right`. If a line would have more than `width` characters, names are broken at
    spaces, and then the longest texts are cut.
    """
    whole = [list(column) for column in columns]
    fitted = whole if _excess(whole, width) <= 0 else _cut(_broken(whole), right, width)
    placed = [
        [cell.rjust(size) if flag else cell.ljust(size) for cell in column]
        for column, size, flag in zip(fitted, map(_size, fitted), right, strict=True)
    ]
    return ["  ".join(row).rstrip() for row in zip(*placed, strict=True)]


def _size(column: list[str]) -> int:
    return max(map(len, column))


def _excess(columns: list[list[str]], width: int) -> int:
    return sum(map(_size, columns)) + 2 * (len(columns) - 1) - width


def _broken(columns: list[list[str]]) -> list[list[str]]:
    """Return columns with their names broken at spaces, into as many lines for all."""
    words = [column[0].split() for column in columns]
    tall = max(map(len, words))
    return [
        [""] * (tall - len(name_lines)) + name_lines + column[1:]
        for name_lines, column in zip(words, columns, strict=True)
    ]


def _cut(columns: list[list[str]], right: Sequence[bool], width: int) -> list[list[str]]:
    """Return columns with the longest texts cut, as far as needed and possible."""
    texts = [at for at, flag in enumerate(right) if not flag]
    while texts and (over := _excess(columns, width)) > 0:
        widest = max(texts, key=lambda at: _size(columns[at]))
        width_left = max(_size(columns[widest]) - over, SHORTEST)
        cut = [text if len(text) <= width_left else f"{text[: width_left - 3]}..." for text in columns[widest]]
        if cut == columns[widest]:
            break
        columns[widest] = cut
    return columns


def card(title: str, facts: Mapping[str, object]) -> str:
    """Return a title and a few facts as HTML, for a notebook."""
    from html import escape

    rows = "".join(
        f'<tr><th style="{CELL}text-align:left;font-weight:normal">{escape(name)}</th>'
        f'<td style="{CELL}text-align:left"><b>{escape(short(fact))}</b></td></tr>'
        for name, fact in facts.items()
    )
    return f'<table><caption style="text-align:left">{escape(title)}</caption><tbody>{rows}</tbody></table>'


def number(value: float, doubt: float = 0.0) -> str:
    """Return a number with two digits of its uncertainty, or with six digits if there is none."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else str(value)
    if not 0 < doubt < math.inf:
        return f"{value:z.6g}"
    digits = 1 - math.floor(math.log10(doubt))
    return f"{value:z.{digits}f}" if 0 <= digits <= 12 else f"{value:z.3g}"


def give_or_take(mean: float, std: float, unit: str = "") -> str:
    """Return a mean, its standard deviation and their unit: "157.4 ± 2.9 K"."""
    return f"{number(mean, std)} ± {number(std, std)} {unit}".rstrip()


def percent(chance: float) -> str:
    """Return a probability in per cent, never as 0 or 100, since it comes from a model and from draws."""
    if math.isnan(chance):
        return ""
    return "> 99 %" if chance >= 0.995 else "< 1 %" if chance <= 0.005 else f"{chance:.0%}".replace("%", " %")


def short(value: object) -> str:
    """Return a number with a few digits, anything else as text."""
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def counted(number: int, what: str) -> str:
    """Return a number with its noun: "1 trial", "2 trials"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def labelled(name: str, unit: str) -> str:
    """Return a name with its unit, if it has one."""
    return f"{name} [{unit}]" if unit else name


def _is_numeric(cells: Sequence[Cell]) -> bool:
    return not any(isinstance(cell, str) for cell in cells)


def _texts(cells: Sequence[Cell]) -> list[str]:
    """Return cells as texts, all numbers of a column with the same number of decimals."""
    sizes = [abs(cell) for cell in cells if isinstance(cell, float) and math.isfinite(cell) and cell]
    largest = max(sizes, default=1.0)
    digits = DIGITS - 1 - math.floor(math.log10(largest))
    form = f".{min(max(digits, 0), 8)}f" if 1e-5 < largest < 1e7 else f".{DIGITS - 1}e"
    return [_text(cell, form) for cell in cells]


def _text(cell: Cell, form: str) -> str:
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, Span):
        low, high = f"{cell.low:.6g}", f"{cell.high:.6g}"
        return low if cell.low == cell.high else f"{low}..{high}"
    if isinstance(cell, Probability):
        return percent(cell)
    return format(cell, form) if isinstance(cell, float) else str(cell)


def _library(name: str) -> ModuleType:
    return library(name, "this", name, f"Run pip install {name}, or use to_dict() or to_csv(path).")
