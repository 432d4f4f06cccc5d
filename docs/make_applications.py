"""Run applications and power analysis, and put what they print and draw into their pages: `make applications`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter

DOCS = Path(__file__).parent
PAGES = ("radio_telescope", "census", "dna", "power")


def main() -> None:
    """Renew the pages of the applications."""
    for name in PAGES:
        started = perf_counter()
        script, picture = DOCS.parent / "examples" / f"{name}.py", DOCS / "images" / f"{name}.png"
        done = subprocess.run(
            [sys.executable, str(script), "--out", str(picture)], check=True, capture_output=True, text=True
        )
        page = DOCS / f"{name}.md"
        above, rest = page.read_text().split("<!-- output -->")
        below = rest.split("<!-- end of output -->")[1]
        text = f"{above}<!-- output -->\n\n```text\n{done.stdout.strip()}\n```\n\n<!-- end of output -->{below}"
        page.write_text(text)
        print(f"{name}: {perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
