"""Tables that commands put between marks of a page, ``<!-- begin NAME -->`` and ``<!-- end NAME -->``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "method.md"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    heads = list(heads)
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *rows))


def put(name: str, text: str, page: Path = PAGE) -> None:
    """Replace what stands between the marks of a page."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def between(name: str, page: Path = PAGE) -> str:
    """Return what stands between the marks of a page."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    return page.read_text(encoding="utf-8").split(begin)[1].split(end)[0].strip()
