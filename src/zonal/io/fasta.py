"""Regions of sequences as FASTA: a pool in IUPAC codes is a record, and its description has the other cells.

``>17 trial=17 value=0.31 note="stirred by hand"`` is read back as written. This module must not know what the
columns mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from zonal.errors import InvalidInput, require

ENDINGS = (".fasta", ".fa", ".fna", ".faa")
COLUMN = "region"  # of the sequence
WIDTH = 70  # letters on a line
CODES = re.compile(r"[A-Za-z]+")
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')


def check_codes(region: str) -> None:
    """Raise unless a region can be written as FASTA: in letters, one for each position."""
    fix = "End the file's name in .csv; FASTA has letters for DNA, RNA and amino acids, and for some sets of them."
    require(CODES.fullmatch(region), "this region has no IUPAC codes", region, fix)


def fasta_text(rows: Iterable[Sequence[float | str | None]]) -> str:
    """Return rows, the header first, as records; empty cells are left out."""
    header, *below = rows
    require(COLUMN in header, "FASTA needs a column of regions", list(header), "End the file's name in .csv.")
    at, records = header.index(COLUMN), []
    for number, row in enumerate(below, 1):
        region = str(row[at])
        check_codes(region)
        named = (pair for pair in zip(header, row, strict=True) if pair[0] != COLUMN)
        cells = [f"{name}={_field(cell)}" for name, cell in named if cell not in (None, "")]
        lines = [region[start : start + WIDTH] for start in range(0, len(region), WIDTH)]
        records.append("\n".join([" ".join([f">{number}", *cells]), *lines, ""]))
    return "".join(records)


def _field(cell: float | str | None) -> str:
    plain = not isinstance(cell, str) or re.fullmatch(r'[^\s"]+', cell)
    return str(cell) if plain else json.dumps(cell)


def fasta_rows(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of records, the header first, each with the line at which it begins."""
    records: list[tuple[int, dict[str, str], list[str]]] = []
    for line, content in enumerate(re.split(r"\r?\n|\r", text), 1):
        if content.startswith(">"):
            name, _, description = content[1:].strip().partition(" ")
            fields = {key: _cell(value) for key, value in FIELD.findall(description)}
            records.append((line, {"name": name} | fields, []))
        elif content.strip() and not content.startswith(";"):
            require(
                records, f"{file} does not begin with a record", content[:60], "FASTA begins with > and a name."
            )
            records[-1][2].append("".join(content.split()))
    columns = list(dict.fromkeys(key for _, fields, _ in records for key in fields if key != COLUMN))
    yield 1, [*columns, COLUMN]
    for line, fields, sequence in records:
        yield line, [*(fields.get(key, "") for key in columns), "".join(sequence)]


def _cell(value: str) -> str:
    try:
        return str(json.loads(value)) if value.startswith('"') else value
    except ValueError:
        raise InvalidInput(
            "a description of FASTA has a value that cannot be read", value, "Correct it."
        ) from None
