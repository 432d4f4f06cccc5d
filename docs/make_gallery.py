"""Run the code of docs/gallery.md and save the picture that each block draws below it: `make gallery`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib import pyplot
from matplotlib.figure import Figure

HERE = Path(__file__).parent
PAGE = HERE / "gallery.md"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n!\[[^\]]*\]\((?P<picture>[^)]*)\))?", re.DOTALL)


def pictures(text: str) -> Iterator[tuple[str, Figure]]:
    """Yield the path and the figure of every picture of a page; each block sees the names of those before it."""
    names: dict[str, Any] = {}
    for block in BLOCK.finditer(text):
        exec(compile(block["code"], PAGE.name, "exec"), names)
        if block["picture"]:
            yield block["picture"], pyplot.gcf()
            pyplot.close("all")


if __name__ == "__main__":
    for path, figure in pictures(PAGE.read_text(encoding="utf-8")):
        figure.savefig(HERE / path, dpi=80)
        print(path)
