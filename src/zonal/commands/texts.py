"""Answers for people: aligned tables that fit the terminal, numbers with as many digits as their doubt leaves."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence

from zonal.tables.numbers import number as number

CUT = "…"
NARROWEST = 8
NUMBER = re.compile(r"[-+]?[\d.]*(e[-+]?\d+)?%?|inf|nan")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Return rows below a header, numbers to the right; the widest column of texts is cut to fit.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        The cells.
    width : int, optional
        Characters in a line; by default those of the terminal, and no limit where nobody watches.
    """
    width = line_width() if width is None else width
    columns = list(zip(header, *rows, strict=True))
    sizes = [max(map(len, column)) for column in columns]
    numeric = [all(_is_number(cell) for cell in column[1:]) for column in columns]
    texts = [at for at, right in enumerate(numeric) if not right]
    while texts and sum(sizes) + 2 * (len(sizes) - 1) > width:
        widest = max(texts, key=lambda at: sizes[at])
        over = sum(sizes) + 2 * (len(sizes) - 1) - width
        smaller = max(sizes[widest] - over, len(header[widest]), NARROWEST)
        if smaller >= sizes[widest]:
            break
        sizes[widest] = smaller
    lines = []
    for row in zip(*columns, strict=True):
        cells = [_fit(cell, size, right) for cell, size, right in zip(row, sizes, numeric, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def line_width() -> int:
    """Return how many characters a line may have."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return 1 << 30


def _is_number(cell: str) -> bool:
    return NUMBER.fullmatch(cell) is not None


def _fit(cell: str, size: int, right: bool) -> str:
    cut = cell if len(cell) <= size else cell[: size - 1] + CUT
    return cut.rjust(size) if right else cut.ljust(size)


def with_unit(name: str, unit: str) -> str:
    """Return a name and its unit."""
    return f"{name} [{unit}]" if unit else name


def count(number: int, what: str) -> str:
    """Return a number of things."""
    return f"{number} {what}{'' if number == 1 else 's'}"
