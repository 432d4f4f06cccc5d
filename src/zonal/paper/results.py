"""What every experiment shares: its settings, its table and its picture on disk."""

from __future__ import annotations

import csv
import json
import math
import platform
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

import zonal
from zonal.tables.files import folder, write, write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Preset = Literal["authors", "paper"]

# Okabe and Ito's colours, from dark to light, each with a line style of its own for readers in grey.
STYLES = [
    ("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", "-."), ("#CC79A7", ":"),
    ("#E69F00", (0, (5, 1))), ("#56B4E9", (0, (3, 1, 1, 1))), ("#000000", (0, (1, 1))),
]  # fmt: skip

LINE = 120  # letters


@dataclass(frozen=True)
class Settings:
    """How an experiment is run.

    Attributes
    ----------
    out : Path
        The folder of pictures, tables and finished runs.
    runs : int
        Independent runs.
    budget : int
        N.
    preset : {"authors", "paper"}
        The authors' functions and procedure, or the paper's.
    rng : int
        The seed from which every run's own seed is derived.
    jobs : int
        Processes.
    """

    out: Path
    runs: int = 30
    budget: int = 80
    preset: Preset = "authors"
    rng: int = 0
    jobs: int = 2


@dataclass
class Table:
    """Rows of one kind, printed, and written as CSV and JSON.

    Attributes
    ----------
    name : str
        Of the experiment, and of its files.
    columns : sequence of str
        Names of the columns.
    rows : list
        One sequence of plain values a row.
    notes : list of str
        What a reader must know; printed below the table.
    """

    name: str
    columns: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the table as aligned text; names of columns are broken where a line would be too long."""
        body = [[_show(value) for value in row] for row in self.rows]
        cells = [list(self.columns), *body]
        if sum(_widths(cells)) + 2 * (len(self.columns) - 1) > LINE:
            words = [name.split() for name in self.columns]
            tall = max(map(len, words))
            padded = [[""] * (tall - len(own)) + own for own in words]
            cells = [*map(list, zip(*padded, strict=True)), *body]
        widths = _widths(cells)
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join([*lines, *(textwrap.fill(note, LINE) for note in self.notes)])

    def publish(self, settings: Settings, figure: Figure, **more: Any) -> Table:
        """Write CSV and JSON, which carries settings, versions and seed, and the picture; return the table."""
        out = folder(settings.out)
        lines = StringIO(newline="")
        csv.writer(lines).writerows([self.columns, *self.rows])
        write(out / f"{self.name}.csv", lines.getvalue().encode())
        content = {
            "experiment": self.name,
            "settings": {**vars(settings), "out": None},
            "versions": {"zonal": zonal.__version__, "numpy": np.__version__, "python": platform.python_version()},
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "notes": self.notes,
            **more,
        }
        write(out / f"{self.name}.json", json.dumps(content, indent=1).encode())
        save(figure, settings, self.name)
        return self


def save(figure: Figure, settings: Settings, name: str) -> None:
    """Write a picture as PDF and PNG."""
    path = folder(settings.out) / name
    undated = {"CreationDate": None}  # with a date no two files would be the same
    write_picture(figure, path.with_suffix(".pdf"), metadata=undated)
    write_picture(figure, path.with_suffix(".png"), dpi=200)


def standard_error(values: Floats) -> Floats:
    """Return the standard error of the mean over the first axis; of one run there is none."""
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else values[0] * math.nan
    return np.asarray(spread / math.sqrt(len(values)))


def _widths(rows: list[list[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _show(value: Any) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4f}"
    return str(value)
