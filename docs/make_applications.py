"""Run applications and power analysis, and put what they print and draw into their pages: `make applications`.

`python docs/make_applications.py dna rivals:radio_telescope` renews only these.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter

DOCS = Path(__file__).parent
PAGES = ("radio_telescope", "census", "dna", "proteins", "sewer", "power")
RIVALS = ("radio_telescope", "census", "dna")
ABSENT = 3  # exit code of the rivals where BoTorch is not installed


def main(wanted: list[str]) -> None:
    """Renew the pages of the applications, or some of them; who is not installed keeps the old rows."""
    for name in wanted or [*PAGES, *(f"rivals:{page}" for page in RIVALS)]:
        started, page = perf_counter(), name.removeprefix("rivals:")
        if page == name:
            block, printed = "output", run(f"{page}.py", "--out", str(DOCS / "images" / f"{page}.png"))
        else:
            block, printed = "rivals", run("rivals.py", page)
        if printed is not None:
            put(page, block, printed)
        print(f"{name}: {perf_counter() - started:.0f} s")


def run(script: str, *options: str) -> str | None:
    """Return what an example prints; None if it says that somebody is not installed."""
    done = subprocess.run(
        [sys.executable, str(DOCS.parent / "examples" / script), *options], stdout=subprocess.PIPE, text=True
    )
    if done.returncode == ABSENT:
        return None
    done.check_returncode()
    return done.stdout


def put(page: str, block: str, text: str) -> None:
    """Put a text between the marks of its block."""
    path = DOCS / f"{page}.md"
    above, rest = path.read_text().split(f"<!-- {block} -->")
    below = rest.split(f"<!-- end of {block} -->")[1]
    path.write_text(f"{above}<!-- {block} -->\n\n```text\n{text.strip()}\n```\n\n<!-- end of {block} -->{below}")


if __name__ == "__main__":
    main(sys.argv[1:])
