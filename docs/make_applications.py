"""Run applications and power analysis, and put what they print and draw into their pages: `make applications`.

`python docs/make_applications.py dna rivals:radio_telescope` renews only these, so that the work can be spread
over days; `--runs 10` plays fewer runs than usual. The regret of every run is kept in docs/results, from which
`make pages-check` checks the page.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from time import perf_counter

DOCS = Path(__file__).parent
PAGES = ("radio_telescope", "census", "dna", "proteins", "sewer", "power")
RIVALS = ("radio_telescope", "census", "dna")
KEPT = ("radio_telescope", "census", "dna", "proteins", "sewer")  # whose runs are kept
CODE = (
    "src",
    "examples",
    "benchmarks/arena/botorch_search.py",
    "benchmarks/arena/gpytorch_models.py",
)  # what the tables depend on
ABSENT = 3  # exit code of the rivals where BoTorch is not installed


def main(wanted: list[str], runs: int | None = None) -> None:
    """Renew the pages of the applications, or some of them; who is not installed keeps the old rows."""
    fewer = [] if runs is None else ["--runs", str(runs)]
    for name in wanted or [*PAGES, *(f"rivals:{page}" for page in RIVALS)]:
        started, page = perf_counter(), name.removeprefix("rivals:")
        if page == name:
            kept = []
            if page in KEPT:
                results = DOCS / "results" / f"{page}.json"
                results.unlink(missing_ok=True)
                kept = ["--results", str(results)]
            picture = str(DOCS / "images" / f"{page}.png")
            block, printed = "output", run(f"{page}.py", "--out", picture, *kept, *fewer)
        else:
            results = DOCS / "results" / f"rivals_{page}.json"
            block, printed = "rivals", run("rivals.py", page, "--results", str(results), *fewer)
        if printed is not None:
            put(page, block, printed)
        print(f"{name}: {perf_counter() - started:.0f} s")


def code() -> str:
    """Return the last commit that changed what the examples do, with a plus if files have changed since."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words, "--", *CODE], cwd=DOCS.parent, capture_output=True, text=True)
        return done.stdout.strip()

    return git("log", "-1", "--format=%h") + ("+" if git("status", "--porcelain") else "")


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
    made = f"```text\n{text.strip()}\n```\n\nMade with the code of commit {code()}."
    path.write_text(f"{above}<!-- {block} -->\n\n{made}\n\n<!-- end of {block} -->{below}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="a page, or rivals:PAGE; by default all")
    parser.add_argument("--runs", type=int, help="of everybody; by default what the examples do")
    chosen = parser.parse_args()
    main(chosen.pages, chosen.runs)
