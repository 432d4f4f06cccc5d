"""Regenerate the table and the picture of docs/gradients.md. The prose is left alone.

    python docs/make_gradients.py --runs 100

runs that experiment. Finished runs are kept in the folder of `--out` and not computed again: delete that
folder when the library has changed. `--derived` renews only the second table, which follows from the first.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import click

from reproduction.__main__ import paper

HERE = Path(__file__).resolve().parent


PAGE = HERE / "gradients.md"
HALF, FULL = "N=40", "N=80"  # of differences, and of averages: as many looks of the instrument
DRIFTING, DIFFERENCES = "averages, zero drifting", "differences, zero drifting"


@click.command()
@click.option("--runs", default=100, show_default=True, help="Independent runs.")
@click.option("--out", default="zonal-gradients", show_default=True, type=click.Path(path_type=Path))
@click.option("--made", is_flag=True, help="Take what is in the folder, and run nothing.")
@click.option("--derived", is_flag=True, help="Renew the second table from the first, and nothing else.")
def main(runs: int, out: Path, made: bool, derived: bool) -> None:
    """Fill what is between the marks of the page."""
    if not (made or derived):
        paper(["gradients", "--runs", str(runs), "--out", str(out)], standalone_mode=False)
    if not derived:
        content = json.loads((out / "gradients.json").read_text())
        lines = [line(content["columns"]), line(["---"] * len(content["columns"]))]
        lines += [
            line(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row)
            for row in content["rows"]
        ]
        lines += ["", *(f"{note[:1].upper()}{note[1:]}.\n" for note in content["notes"])]
        shutil.copy(out / "gradients.png", HERE / "images" / "gradients.png")
        put("table", "\n".join(lines))
    put("looks", "\n".join(at_equal_looks()) + "\n")


def at_equal_looks() -> list[str]:
    """Return the lines of the table that compares differences with averages of as many looks, from the page."""
    block = re.search(r"<!-- begin table -->\n(.*?)<!-- end table -->", PAGE.read_text(), flags=re.DOTALL)
    assert block is not None
    head, _, *rows = [text.strip("| ").split(" | ") for text in block[1].splitlines() if text.startswith("|")]
    errors = {n: head.index(f"se {n.removeprefix('N=')}") for n in (HALF, FULL)}
    shown: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for kind, n in ((DRIFTING, FULL), (DIFFERENCES, HALF)):
            if row[2] == kind:
                shown.setdefault((row[0], row[1]), []).append(f"{row[head.index(n)]} ± {row[errors[n]]}")
    heads = ["f", "search", f"{DRIFTING}, {FULL}", f"{DIFFERENCES}, {HALF}"]
    return [line(heads), line(["---"] * len(heads)), *(line([*key, *cells]) for key, cells in shown.items())]


def line(cells: Iterable[str]) -> str:
    """Return a line of a table."""
    return "| " + " | ".join(cells) + " |"


def put(name: str, text: str) -> None:
    """Replace what stands between the marks of the page."""
    marks = rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)"
    PAGE.write_text(re.sub(marks, lambda found: found[1] + text + found[2], PAGE.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
