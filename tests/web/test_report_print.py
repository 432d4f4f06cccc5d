"""The report on paper, in a real Chromium: no column is cut, whatever the number of axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn

LANDSCAPE = 1032  # pixels of an A4 page on its side, between its margins
CUT = """() => [...document.querySelectorAll("th, td")].filter((cell) => {
  const box = cell.getBoundingClientRect();
  if (box.right > document.documentElement.clientWidth + 1) return true;
  for (let node = cell.parentElement; node; node = node.parentElement) {
    const clips = getComputedStyle(node).overflowX !== "visible" && node !== document.documentElement;
    if (clips && box.right > node.getBoundingClientRect().right + 1) return true;
  }
  return false;
}).map((cell) => cell.textContent)"""


def studied(n: int, told: int = 6) -> zn.Study:
    names = ("temperature", "concentration", "pressure", "flow rate")[:n]
    space = zn.Box(dict.fromkeys(names, (0.0, 1000.0)), units=dict.fromkeys(names, "mbar"))
    given: dict[str, Any] = {"times": [1, 2], "overhead": 1.0, "cost_unit": "s", "value_name": "brightness"}
    given |= {"value_unit": "mK", "kernel": zn.RBF(1.0, 300.0), "noise": 0.1, "rng": 0}
    study = zn.Study(space, budget=100.0 + 3 * told, **given)
    for _ in range(told):
        study.tell(study.ask(by="somebody with a name"), 0.123456789, 0.0123, note="a note of some length")
    return study


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_column_of_the_report_is_cut_on_paper(n: int, browser: Any, tmp_path: Path) -> None:
    studied(n).report(tmp_path / "report.html")
    page = browser.new_page(viewport={"width": LANDSCAPE, "height": 700})
    try:
        page.goto((tmp_path / "report.html").as_uri())
        page.emulate_media(media="print")
        assert page.locator("th").count() > 10
        assert page.evaluate(CUT) == []
        assert len(page.pdf(prefer_css_page_size=True)) > 10_000
    finally:
        page.close()
