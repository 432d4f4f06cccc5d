"""The manual as a site: every page has its place, every link leads somewhere, answers are three clicks away."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if ".ipynb_checkpoints" not in path.parts)
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
CLICKS = 3

# What newcomers want to know, and where it is answered.
QUESTIONS = {
    "How do I correct a value?": ("manual/bench.md", "a-typo"),
    "How do I correct a value in a sheet?": ("bench.md", "tuesday-a-typo"),
    "My instrument is a shell script": ("program.md", ""),
    "How sure is it?": ("manual/reading.md", "how-sure-is-it"),
    "Is it worth going on?": ("manual/reading.md", "is-more-worth-it"),
    "It takes too long": ("manual/troubleshooting.md", "it-is-slow"),
    "Can I forbid a region?": ("manual/choose.md", "where-not-to-look"),
    "A measurement failed": ("manual/failures.md", ""),
    "My instrument sees a beam": ("feedback.md", "a-beam"),
    "How many measurements do I need?": ("power.md", ""),
    "The computer crashed: what is lost?": ("files.md", "what-is-promised"),
    "What can be done to a study?": ("manual/words.md", "actions"),
}


@cache
def prose(page: Path) -> str:
    """Return a page's text without its code."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^```(?!\{toctree\}).*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the builder makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower().strip()).replace(" ", "-") for heading in headings}


@cache
def children(page: Path) -> list[Path]:
    """Return the pages that the contents of a page list."""
    found = []
    for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        names = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
        found += [(page.parent / f"{name}.md").resolve() for name in names]
    return found


def links(page: Path) -> list[tuple[Path, str]]:
    """Return where a page's links to other pages lead: the page and the anchor."""
    found = []
    for target in LINK.findall(prose(page)):
        if "://" not in target and not target.startswith("mailto:"):
            path, _, anchor = target.partition("#")
            found.append(((page.parent / path).resolve() if path else page, anchor))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    for path, anchor in links(page):
        assert path.exists(), path
        assert not anchor or path.suffix != ".md" or anchor in anchors(path), f"{path.name}#{anchor}"


def test_every_page_stands_in_the_contents_once() -> None:
    listed = [child for page in PAGES for child in children(page)]
    assert sorted(listed) == sorted(page.resolve() for page in PAGES if page != DOCS / "index.md")


def test_ten_questions_are_answered_within_three_clicks_of_the_home_page() -> None:
    home = (DOCS / "index.md").resolve()
    clicks = {home: 0}
    for distance in range(1, CLICKS + 1):
        for page in [page for page, near in clicks.items() if near == distance - 1 and page.suffix == ".md"]:
            for reached in [*children(page), *(path for path, _ in links(page))]:
                clicks.setdefault(reached, distance)
    assert len(QUESTIONS) >= 10
    for question, (name, anchor) in QUESTIONS.items():
        page = (DOCS / name).resolve()
        assert clicks.get(page, CLICKS + 1) <= CLICKS, question
        assert not anchor or anchor in anchors(page), question
    assert {page for page, _ in map(QUESTIONS.__getitem__, QUESTIONS)} <= {
        str(path.relative_to(DOCS)) for path, _ in links(DOCS / "manual/questions.md") if DOCS in path.parents
    }
