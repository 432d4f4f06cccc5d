"""The main states of the page by axe, in light, dark and forced colours, on a desk, a laptop and a phone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from web.browser import Tab
from web.server_process import Server, line, serving

KEEP = Path(os.environ["ZONAL_PICTURES"]) if "ZONAL_PICTURES" in os.environ else None
WIDTHS = (1440, 1024, 390)
SCHEMES: dict[str, dict[str, str]] = {
    "light": {"color_scheme": "light", "forced_colors": "none"},
    "dark": {"color_scheme": "dark", "forced_colors": "none"},
    "forced": {"color_scheme": "dark", "forced_colors": "active"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studies")
    given: dict[str, Any] = {"noise": 0.1, "rng": 0, "value_name": "yield", "value_unit": "%"}
    for name in ("oven", "oven 2"):
        space = zn.Box({"temperature": (20, 80), "time": (0, 60)}, units={"temperature": "C", "time": "min"})
        study = zn.Study.create(folder / f"{name}.db", space, budget=30, kernel=zn.RBF(1.0, 15.0), **given)
        study.optimize(lambda region: 2 - abs(float(region.bounds[0].mean()) - 55) / 40, n=12)
    study.observe({"temperature": (20, 50)}, 0.4, note="from last year")
    study.forbid({"temperature": (70, 80)}, note="too hot")
    study.fail(study.ask(by="Ada"), note="it broke")
    study.ask(2, by="Ada")
    study.ask(by="dish-1")
    mixed = zn.Product({"T": (20, 80), "p": (1, 9), "solvent": ["water", "ethanol"]})
    kernel = zn.RBF(1.0, (20.0, 3.0)) * zn.Categorical(1.0, 0.5)
    of_set = zn.Study.create(folder / "set.db", mixed, budget=30, kernel=kernel, policy=zn.Above(0.5), **given)
    of_set.optimize(lambda region: float(region.bounds[0].mean()) / 60, n=10)
    line(folder, "spent", budget=4, told=4)
    line(folder, "new")
    with serving(folder) as made:
        yield made


def states(tab: Tab) -> Iterator[str]:
    """Bring the page into its main states, one after the other."""
    page = tab.go("/")
    yield "overview"
    page.get_by_role("button", name="New study").click()
    yield "new-study"
    page.get_by_label("the space").select_option("points")
    content = b"name,lon,lat\na,1,2\nb,2,3\n"
    page.locator("input[name=table]").set_input_files(
        [{"name": "sites.csv", "mimeType": "text/csv", "buffer": content}]
    )
    tab.shows("understood", "2 points")
    yield "new-study-points"
    tab.go("/studies/oven%202")
    tab.settle()
    page.locator("#picture .field").first.focus()
    page.keyboard.press("b")
    yield "question-and-map"
    page.get_by_role("button", name="correct trial 3", exact=True).click()
    yield "correct-dialog"
    tab.go("/studies/set")
    tab.settle()
    page.locator("#level-set summary").click()
    yield "set-and-panels"
    for name in ("spent", "new"):
        tab.go(f"/studies/{name}")
        yield name
    tab.go("/compare/oven/oven%202")
    yield "compare"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_has_nothing_to_say(width: int, scheme: str, browser: Any, server: Server) -> None:
    with Tab(browser, server, width) as tab:
        tab.page.emulate_media(reduced_motion="reduce", **SCHEMES[scheme])
        for state in states(tab):
            tab.checked()
            if KEEP is not None:
                tab.keep(KEEP, f"{state}-{scheme}-{width}")
