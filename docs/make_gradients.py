"""Regenerate the table and the picture of docs/gradients.md. The prose is left alone.

    python docs/make_gradients.py --runs 100

runs that experiment. Finished runs are kept in the folder of `--out` and not computed again: delete that
folder when the library has changed.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import click

from reproduction.__main__ import paper

HERE = Path(__file__).resolve().parent


@click.command()
@click.option("--runs", default=100, show_default=True, help="Independent runs.")
@click.option("--out", default="zonal-gradients", show_default=True, type=click.Path(path_type=Path))
@click.option("--made", is_flag=True, help="Take what is in the folder, and run nothing.")
def main(runs: int, out: Path, made: bool) -> None:
    """Fill what is between the marks of the page."""
    if not made:
        paper(["gradients", "--runs", str(runs), "--out", str(out)], standalone_mode=False)
    content = json.loads((out / "gradients.json").read_text())
    lines = ["| " + " | ".join(content["columns"]) + " |", "|" + " --- |" * len(content["columns"])]
    for row in content["rows"]:
        lines.append("| " + " | ".join(f"{own:.4f}" if isinstance(own, float) else str(own) for own in row) + " |")
    lines += ["", *(f"{note[:1].upper()}{note[1:]}.\n" for note in content["notes"])]
    shutil.copy(out / "gradients.png", HERE / "images" / "gradients.png")
    page = HERE / "gradients.md"
    marks = r"(<!-- begin table -->\n).*?(<!-- end table -->)"
    filled = re.sub(marks, lambda m: m[1] + "\n".join(lines) + m[2], page.read_text(), flags=re.DOTALL)
    page.write_text(filled)


if __name__ == "__main__":
    main()
