"""Two studies of one space side by side; and what a new study is made of: tables, and errors at their fields."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from web.browser import Tab
from web.server_process import Server, line, serving
from zonal.engine.events import Signed

TOKEN = "a-token-of-a-test-0123456789"


def mapped(folder: Path, name: str, height: float, **given: Any) -> zn.Study:
    """Measure a square, high on one side."""
    space = zn.Box({"x": (0, 1), "y": (0, 1)})
    settings: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.3), "noise": 0.1, "rng": 0, **given}
    study = zn.Study.create(folder / f"{name}.db", space, budget=40, **settings)
    study.optimize(lambda region: height * float(region.bounds[0].mean()), n=10)
    return study


def test_two_studies_of_one_space_are_compared_in_the_same_colours(browser: Any, server: Server) -> None:
    one, other = mapped(server.folder, "low", 1.0), mapped(server.folder, "high", 3.0)
    line(server.folder, "other space", told=2)
    with Tab(browser, server) as tab:
        page = tab.go("/studies/low")
        page.get_by_text("Compare with another study").click()
        page.locator("#comparable").get_by_role("link", name="high").wait_for()
        assert page.locator("#comparable a").count() == 1
        page.locator("#comparable a").click()
        page.wait_for_url("**/compare/low/high")
        page.wait_for_selector("html[data-ready]", state="attached")
        tab.shows("title", "low and high")
        ends = [page.locator(f"#legend-{at} .ends").inner_text() for at in (0, 1)]
        assert ends[0] == ends[1]  # one scale
        low, high = one.tree.mean.min(), other.tree.mean.max()
        assert re.findall(r"[\d.]+", ends[0])[-1] == f"{high:.3g}", (ends, low, high)
        row = page.locator("tr", has_text="the other’s best region has here").locator("td").all_inner_texts()
        there = one.predict([other.recommend().region])
        assert row[0].startswith(f"{there.mean[0]:.2f}"[:4]), (row, there)
        tab.checked()
        page.locator("#picture-0 .field").focus()
        page.keyboard.press("b")
        tab.shows("readout-0", "±")
        page.locator("#switches input[value=std]").check(force=True)
        assert page.url.endswith("#view=std")
        other.tell(other.ask(), 2.0)
        tab.shows("table", "11 of 40 measured")
        page.goto(f"{server.address}/compare/low/other%20space")
        tab.shows("failure", "have different spaces")
        tab.forgiven = 1
        page.goto(f"{server.address}/compare/low/nobody")
        tab.shows("failure", "There is no such study")


def test_slices_of_two_studies_move_together(browser: Any, server: Server) -> None:
    space = zn.Box({"x": (0, 1), "y": (0, 1), "z": (0, 1)})
    for name in ("cube-1", "cube-2"):
        study = zn.Study.create(server.folder / f"{name}.db", space, budget=40, kernel=zn.RBF(1.0, 0.3), noise=0.1)
        study.optimize(lambda region: float(region.bounds[0].mean()), n=6)
    with Tab(browser, server) as tab:
        page = tab.go("/compare/cube-1/cube-2")
        page.locator("#picture-0").get_by_label("z of the slice").press("End")
        for at in (0, 1):
            page.locator(f"#picture-{at} figcaption", has_text=re.compile("x and y at z .* to 1$")).wait_for()


POINTS = "id;lon;lat;people\na;1,5;2;10\nb;2,5;3;20\nc;3,5;1;5\nd;0,5;2,5;8\n"
AREAS = "state,county,people\nNSW,Coast,10\nNSW,Hills,20\nVIC,Bay,5\nVIC,Plain,8\n"


def upload(page: Any, name: str, content: str) -> None:
    file = {"name": name, "mimeType": "text/csv", "buffer": content.encode()}
    page.locator("input[name=table]").set_input_files([file])


def test_a_study_begins_from_an_uploaded_table_of_points(browser: Any, server: Server) -> None:
    with Tab(browser, server) as tab:
        tab.forgiven = 1
        page = tab.new_study("sites", "points")
        page.get_by_role("button", name="Create").click()
        tab.shows("dialog-refused", "Choose the table")
        upload(page, "sites.csv", POINTS)
        page.get_by_text("4 rows; columns id, lon, lat, people").wait_for()
        assert page.locator("[name=coords]:checked").evaluate_all("(boxes) => boxes.map((box) => box.value)") == [
            "lon", "lat",
        ]  # fmt: skip
        tab.shows("understood", "the 4 points of sites.csv, placed by lon and lat, weighed by people")
        tab.checked()
        page.locator("[name=decimal]").select_option(".")
        page.get_by_role("button", name="Create").click()
        page.locator("[name=coords][aria-invalid=true]").wait_for()  # at the field that the server named
        page.locator("[name=decimal]").select_option(",")
        page.get_by_role("button", name="Create").click()
        page.wait_for_url("**/studies/sites")
        study = zn.Study.open(server.folder / "sites.db")
        assert study.space.size == 4
        assert study.space.names == ("lon", "lat")
        assert study.space.weights.sum() == 43


def test_a_study_begins_from_an_uploaded_table_of_areas_and_says_what_is_wrong(
    browser: Any, server: Server
) -> None:
    with Tab(browser, server) as tab:
        tab.forgiven = 1
        page = tab.new_study("counties", "hierarchy")
        upload(page, "areas.csv", AREAS)
        tab.shows("understood", "the 4 areas of areas.csv, nested as state > county, weighed by people")
        page.locator("[name=levels]").fill("state, town")
        page.get_by_role("button", name="Create").click()
        tab.shows("dialog-refused", "no column town")
        assert page.locator("[name=levels]").get_attribute("aria-invalid") == "true"
        page.locator("[name=levels]").fill("county, state, county")
        page.get_by_role("button", name="Create").click()
        page.locator("[name=levels][aria-invalid=true]").wait_for()
        page.locator("[name=levels]").fill("state, county")
        page.locator("summary", has_text="A threshold").click()
        page.locator("[name=forbidden]").fill("Atlantis")
        page.get_by_role("button", name="Create").click()
        page.locator("[name=forbidden][aria-invalid=true]").wait_for()
        tab.shows("dialog-refused", "Atlantis")
        page.locator("[name=forbidden]").fill("VIC > Bay")
        page.get_by_role("button", name="Create").click()
        page.wait_for_url("**/studies/counties")
        study = zn.Study.open(server.folder / "counties.db")
        assert study.space.size == 4
        signature = study.events[0][-1]
        assert isinstance(signature, Signed)
        assert signature.by == "Ada"


def test_a_pasted_recipe_is_blamed_where_it_is_wrong(browser: Any, server: Server) -> None:
    with Tab(browser, server) as tab:
        tab.forgiven = 1
        page = tab.new_study("pasted", "recipe")
        page.locator("[name=recipe]").fill("budget = 9\n[axes]\nx = { low = 1, high = 0 }\n")
        page.get_by_role("button", name="Create").click()
        page.locator("[name=recipe][aria-invalid=true]").wait_for()
        tab.shows("dialog-refused", "axes.x")
        page.locator("[name=recipe]").fill("budget = 9\n[axes]\nx = { low = 0, high = 1 }\n")
        page.get_by_role("button", name="Create").click()
        page.wait_for_url("**/studies/pasted")


def test_errors_of_axes_are_shown_at_their_fields(browser: Any, server: Server) -> None:
    with Tab(browser, server) as tab:
        tab.forgiven = 1
        page = tab.new_study("fine")
        for field, text in {"name": "mixing speed", "low": "0", "high": "1", "smallest": "5"}.items():
            page.locator(f"[name=axis-0-{field}]").fill(text)
        page.get_by_role("button", name="Create").click()
        page.locator("[name=axis-0-smallest][aria-invalid=true]").wait_for()
        tab.shows("dialog-refused", "smallest")


def test_signing_out_locks_the_browser_out(browser: Any, tmp_path: Path) -> None:
    line(tmp_path, told=1)
    with serving(tmp_path, ZONAL_TOKEN=TOKEN) as server, Tab(browser, server) as tab:
        tab.forgiven = 1
        page = tab.page
        page.goto(f"{server.address}/studies/line")
        page.get_by_label("token").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/studies/line")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/login")
        page.goto(f"{server.address}/studies/line")
        page.wait_for_url("**/login?next=/studies/line")
    with serving(tmp_path) as server, Tab(browser, server) as tab:
        assert tab.go("/studies/line").locator("#sign-out").count() == 0  # there is nothing to sign out of
