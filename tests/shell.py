"""The command line as a user types it, in this process."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from zonal.cli.main import main

SOURCE = str(Path(__file__).parents[1] / "src")
PROGRAM = [sys.executable, "-m", "zonal"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE, "OPENBLAS_NUM_THREADS": "1"}


def alone(script: Path, *options: object) -> str:
    """Run a script as a program, but here, on one core as it seems; return what it prints."""
    import matplotlib.pyplot as plt  # not above: every forked command imports this module
    import pytest

    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.setattr(os, "cpu_count", lambda: 1)
        patch.setattr(sys, "argv", [str(script), *map(str, options)])
        patch.setattr(sys, "path", [str(script.parent), *sys.path])
        runpy.run_path(str(script), run_name="__main__")
    plt.close("all")
    return said.getvalue()


def zonal(*words: object, code: int = 0, **env: str) -> Result:
    """Run a command and check how it ended."""
    result = CliRunner().invoke(main, [str(word) for word in words], env=env)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def answer(*words: object) -> Any:
    """Run a command and read its answer for programs."""
    return json.loads(zonal(*words, "--json").stdout)


def rows(path: str) -> list[dict[str, str]]:
    """Return the rows of a sheet."""
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def fill(path: str, **cells: list[str]) -> None:
    """Fill in columns of a sheet."""
    sheet = rows(path)
    for name, column in cells.items():
        for row, cell in zip(sheet, column, strict=True):
            row[name] = cell
    with Path(path).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(sheet[0]))
        writer.writeheader()
        writer.writerows(sheet)


def spreadsheet(path: str, kind: str, **cells: list[str]) -> str:
    """Save a sheet of ours as other people's spreadsheets do, with columns filled in, and return its name."""
    sheet = rows(path)
    for name, column in cells.items():
        for row, cell in zip(sheet, column, strict=True):
            row[name] = cell
    table = [list(sheet[0]), *(list(row.values()) for row in sheet)]
    if kind == "xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        for line in table:
            typed = [
                float(cell.replace(",", ".")) if re.fullmatch(r"-?\d+(,\d+)?", cell) else cell for cell in line
            ]
            book.worksheets[0].append(typed)
        book.save(path := path.replace(".csv", ".xlsx"))
        return path
    mark = {"german": ";", "tabs": "\t", "quoted": ","}[kind]
    with Path(path).open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=mark, lineterminator="\r\n").writerows(table)
    return path
