"""Every example of the manual runs, page by page, as it does when the site is built."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import pytest

from docs import make_gallery
from effort import EVERYTHING

DOCS = Path(__file__).parent.parent / "docs"
NEEDS = {"bluesky": ("bluesky_adaptive", "ophyd"), "gest": ("gest_api", "libensemble")}  # the page's engine
PAGES = sorted(path for path in DOCS.rglob("*.md") if "```{code-cell}" in path.read_text(encoding="utf-8"))


def cells(page: Path) -> list[str]:
    return re.findall(r"```\{code-cell\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def shorter(code: str, share: int) -> str:
    """Return an example with smaller budgets, but for `make torture`: it is about what can be said, not found."""
    return (
        code
        if EVERYTHING
        else re.sub(r"\b(budget|n)=(\d\d+)", lambda found: f"{found[1]}={int(found[2]) // share}", code)
    )


@pytest.mark.tries
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDS.get(page.stem, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    from matplotlib import pyplot

    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where dataclasses look up their types
    names = vars(module)
    try:
        for number, code in enumerate(cells(page)):
            code = shorter(code, 2 if page.stem == "batches" else 3)
            exec(compile(code, f"{page.name}, cell {number}", "exec"), names)
    finally:
        pyplot.close("all")


def test_the_code_of_the_gallery_draws_its_pictures() -> None:
    pytest.importorskip("geopandas")
    text = make_gallery.PAGE.read_text(encoding="utf-8")
    drawn = [path for path, _ in make_gallery.pictures(shorter(text, 3).replace("runs=10", "runs=2"))]
    assert len(drawn) == 12
    kept = list((DOCS / "images" / "gallery").iterdir())
    assert sorted(drawn) == sorted(picture.relative_to(DOCS).as_posix() for picture in kept)
    assert sum(picture.stat().st_size for picture in kept) < 1_000_000
