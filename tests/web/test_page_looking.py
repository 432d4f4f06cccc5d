"""Looking at a study: what the pointer reads, slices, links to a view, pictures to take away; paper; forms."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from web.browser import AXE, Tab
from web.server_process import Server, line

KERNEL: dict[str, Any] = {"noise": 0.1, "rng": 0}
A4 = 703  # pixels of an A4 page between its margins


def test_axe_is_here_to_check_the_pages() -> None:
    if not AXE.exists():
        pytest.skip("axe is not installed, so no page is checked by it: run `npm install`, as `make test` does")


def spaces() -> dict[str, tuple[Any, dict[str, Any]]]:
    rng, rbf = np.random.default_rng(0), zn.RBF
    mixed = rbf(1.0, 20.0) * zn.Categorical(1.0, 0.5)
    nested = {"north": {"a": ["1", "2"], "b": ["5", "6"]}, "south": {"c": ["3", "4"]}}
    return {
        "line": (zn.Box({"x": (0, 1)}), {"kernel": rbf(1.0, 0.2)}),
        "cells": (zn.Box({"x": (0, 1)}), {"kernel": rbf(1.0, 0.2), "policy": zn.GPOO()}),
        "map": (zn.Box({"x": (0, 1), "y": (0, 1)}), {"kernel": rbf(1.0, 0.2)}),
        "pairs": (zn.Box({"x": (0, 1), "y": (0, 1), "z": (0, 1)}), {"kernel": rbf(1.0, 0.3)}),
        "mixed": (zn.Product({"T": (20, 80), "solvent": ["water", "ethanol", "toluene"]}), {"kernel": mixed}),
        "mixed-cells": (
            zn.Product({"T": (20, 80), "solvent": ["water", "ethanol"]}), {"kernel": mixed, "policy": zn.GPOO()}
        ),
        "symbols": (zn.Product({"a": (0, 60), "b": (0, 60), "dye": ["red", "green"]}), {"kernel": mixed}),
        "sequences": (zn.Sequences("ACGT", length=4), {"kernel": zn.Categorical(1.0, 0.5)}),
        "hierarchy": (zn.Hierarchy(nested), {"kernel": None}),
        "points": (zn.Points(rng.uniform(size=(30, 3))), {"kernel": rbf(1.0, 0.3)}),
        "doses": (zn.Points({"dose": np.linspace(0, 9, 12)}), {"kernel": rbf(1.0, 2.0)}),
    }  # fmt: skip


def begun(server: Server, name: str, kind: str, n: int) -> zn.Study:
    """Return a study of one of these spaces in the folder of a server, after some measurements."""
    space, given = spaces()[kind]
    study = zn.Study.create(server.folder / f"{name}.db", space, budget=60, **KERNEL, **given)
    study.optimize(value, n=n)
    return study


def value(region: Any) -> float:
    """Return a value that is high in one part of each space."""
    name = region.name
    high = name.count("ethanol") - name.count(" or ") + name.count("A") + name.count("green") + name.count("north")
    bounds = getattr(region, "bounds", None)
    if bounds is None or not len(bounds) or not np.isfinite(bounds[0]).all():
        return float(high)
    return float(high - abs(bounds[0].mean() - 55) / 40)


def test_the_readout_at_the_star_names_the_best_region_of_every_kind_of_space(
    browser: Any, server: Server
) -> None:
    with Tab(browser, server) as tab:
        for name, (space, given) in spaces().items():
            study = zn.Study.create(server.folder / f"star-{name}.db", space, budget=60, **KERNEL, **given)
            study.optimize(value, n=12)
            page = tab.go(f"/studies/star-{name}")
            tab.settle()
            star = page.locator("#picture .star.under").first.bounding_box()
            page.mouse.move(star["x"] + star["width"] / 2, star["y"] + star["height"] / 2)
            tab.shows("readout", "the best region so far")
            best = page.inner_text("#answer .found-name")
            named = page.inner_text("#readout b").splitlines()[0]
            off_grid = study.recommend().node is None  # what is read is then a cell, and the region lies there
            assert ("is here, off the grid" in tab.text("readout")) == off_grid
            assert off_grid or named == best or best == "the whole space, so far", (name, named, best)
            page.mouse.click(star["x"] + star["width"] / 2, star["y"] + star["height"] / 2)
            assert "the best region so far" in tab.text("readout"), name


def test_a_measured_window_is_listed_and_drawn_where_it_was_measured(browser: Any, server: Server) -> None:
    space = zn.Box({"x": (0, 1)}, smallest=1 / 16)
    study = zn.Study.create(server.folder / "off grid.db", space, budget=24, kernel=zn.RBF(1.0, 0.15), **KERNEL)
    study.optimize(lambda region: float(np.exp(-(((region.center[0] - 0.43) / 0.15) ** 2))), n=22)
    study.ask()
    asked = [trial for trial in study.trials if trial.region.node is None]
    assert asked  # late in a campaign windows are measured too
    assert asked[-1].state == "pending"
    with Tab(browser, server) as tab:
        page = tab.go("/studies/off%20grid")
        tab.settle()
        low, high = (round(float(edge), 4) for edge in asked[-1].region.bounds[0])
        for place in ("#trials", "#waiting"):
            named = re.search(r"([\d.]+) to ([\d.]+)", page.inner_text(place))
            assert named is not None
            assert [float(edge) for edge in named.groups()] == pytest.approx([low, high], abs=1e-4)
        edges = page.locator("#picture .pendingband").bounding_box()
        star = page.locator("#picture .foundband").bounding_box()
        wide = study.recommend().region.bounds[0]
        scale = star["width"] / float(wide[1] - wide[0])
        expected = star["x"] + scale * float(asked[-1].region.bounds[0, 0] - wide[0])
        assert edges["x"] == pytest.approx(expected, abs=1.5)


def test_every_symbol_has_a_strip_of_its_own_and_is_read_there(browser: Any, server: Server) -> None:
    begun(server, "strips", "mixed", 18)
    with Tab(browser, server) as tab:
        page = tab.go("/studies/strips")
        tab.settle()
        field = page.locator("#picture .field").bounding_box()
        colours = {}
        for symbol in ("water", "ethanol", "toluene"):
            label = page.locator("#picture text", has_text=re.compile(f"^{symbol}$")).bounding_box()
            y = label["y"] + label["height"] / 2
            for x in np.linspace(field["x"] + 120, field["x"] + field["width"] - 20, 6):
                page.mouse.move(float(x), y)
                assert f"solvent {symbol}" in tab.text("readout"), (symbol, x)
            colours[symbol] = page.evaluate(
                """([x, y]) => {
                  const canvas = document.querySelector("#picture canvas"), box = canvas.getBoundingClientRect();
                  const ratio = canvas.width / box.width, copy = document.createElement("canvas");
                  const context = copy.getContext("2d", { willReadFrequently: true });
                  context.drawImage(canvas, (box.left - x) * ratio, (box.top - y) * ratio);
                  return [...context.getImageData(0, 0, 1, 1).data];
                }""",
                [field["x"] + field["width"] * 0.6, y - 6],
            )
        assert colours["ethanol"] != colours["water"]
        bars = page.locator("#picture path.bars.own").count()
        assert bars == 3  # one path of measurements a symbol, in its colour
        page.locator("#picture .field").focus()
        page.keyboard.press("b")
        tab.shows("readout", "solvent ethanol")
        page.keyboard.press("ArrowDown")
        tab.shows("readout", "solvent toluene")


def test_the_slice_moves_by_click_slider_and_key_and_stays_in_the_address(browser: Any, server: Server) -> None:
    begun(server, "slices", "pairs", 10)
    with Tab(browser, server, has_touch=True) as tab:
        page = tab.go("/studies/slices")
        tab.settle()
        captions = page.locator("#picture figcaption")
        before = captions.all_inner_texts()
        page.locator("#picture .field").first.click(position={"x": 100, "y": 80})
        page.get_by_role("button", name="Back to the best").wait_for()
        tab.shows("readout", "±")
        moved = captions.all_inner_texts()
        assert moved[0] == before[0]  # its own axes are not held
        assert moved[1] != before[1]
        page.get_by_label("z of the slice").press("End")
        page.locator("#picture figcaption", has_text=re.compile("x and y at z .* to 1$")).wait_for()
        tab.checked()
        address = page.url
        assert "slice=" in address
        page.goto("about:blank")
        page.goto(address)
        page.locator("#picture figcaption", has_text=re.compile("x and y at z .* to 1$")).wait_for()
        page.get_by_role("button", name="Back to the best").click()
        page.locator("#picture figcaption", has_text=before[0]).wait_for()
        page.locator("#picture .field").nth(1).tap(position={"x": 90, "y": 90})
        tab.shows("readout", "±")
        page.keyboard.press("b")
        page.get_by_role("button", name="Back to the best").wait_for(state="detached")
        page.goto(f"{server.address}/studies/slices#slice=%7B%22nobody%22%3A%5B0%2C1%5D%7D")
        page.reload()
        tab.forgiven = 1
        tab.settle()


def test_readouts_lead_to_their_measurements(browser: Any, server: Server) -> None:
    study = line(server.folder, "linked", budget=90, told=40)
    with Tab(browser, server) as tab:
        page = tab.go("/studies/linked")
        tab.settle()
        assert page.locator("#trial-0").count() == 0  # too old for the first page of the table
        page.locator("#picture .field").focus()
        page.keyboard.press("b")
        for _ in range(12):
            page.keyboard.press("p")
        tab.shows("readout", "(all)")
        field = page.locator("#picture .field").bounding_box()
        page.mouse.click(field["x"] + field["width"] / 4, field["y"] + 60)
        row = study.trials[0].region
        page.goto(f"{server.address}/studies/linked#trial-0")
        page.locator("#trial-0:focus").wait_for()
        assert row.name
        number = study.trials[-1].number
        page.evaluate("scrollTo(0, 0)")
        bounds = study.trials[-1].region.bounds[0]
        left, right = 60, field["width"] - 12
        page.mouse.move(field["x"] + left + (right - left) * float(bounds.mean()), field["y"] + 60)
        page.mouse.click(field["x"] + left + (right - left) * float(bounds.mean()), field["y"] + 60)
        assert "measured" in tab.text("readout")
        if page.locator(f"#readout a[href='#trial-{number}']").count():
            page.locator(f"#readout a[href='#trial-{number}']").click()
            page.locator(f"#trial-{number}:focus").wait_for()


def test_the_question_in_hand_is_marked_and_trials_of_the_history_are_read(browser: Any, server: Server) -> None:
    study = begun(server, "hand", "map", 6)
    first, second = study.ask(2, by="Ada")
    study.ask(by="dish-1")
    with Tab(browser, server) as tab:
        page = tab.go("/studies/hand")
        tab.settle()
        frame = page.locator("#picture .pending.now")
        assert frame.count() == 1
        before = frame.bounding_box()
        page.get_by_role("button", name=f"enter the value of trial {second.number}").first.click()
        tab.shows("question", f"trial {second.number}")
        page.wait_for_timeout(100)
        assert frame.count() == 1
        assert frame.bounding_box() != before
        tab.shows("legend", "asked now")
        page.locator("#history").scroll_into_view_if_needed()
        dots = page.locator("#history .dots.history").bounding_box()
        page.mouse.move(dots["x"] + 3, dots["y"] + dots["height"] / 2)
        tab.shows("history-readout", "#0")
        tab.shows("history-readout", "The region recommended then averaged")
        page.mouse.click(dots["x"] + 3, dots["y"] + dots["height"] / 2)
        page.mouse.move(0, 0)
        page.locator("#history-readout a").click()
        page.locator("#trial-0:focus").wait_for()
    assert first.number != second.number


def test_mode_threshold_and_zoom_are_in_the_address(browser: Any, server: Server) -> None:
    begun(server, "address", "sequences", 8)
    with Tab(browser, server) as tab:
        page = tab.go("/studies/address")
        tab.settle()
        page.locator("#switches input[value=chance]").check(force=True)
        page.get_by_label("threshold").press("End")
        page.locator("#picture .field").focus()
        for key in ("Escape", "ArrowDown", "Enter"):
            page.keyboard.press(key)
        assert re.search(r"#view=chance&threshold=[-\d.]+&zoom=\d+$", page.url)
        shown = tab.text("switches"), page.inner_text("#picture .way")
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        tab.settle()
        assert (tab.text("switches"), page.inner_text("#picture .way")) == shown


def test_pictures_are_taken_away_as_svg_and_png(browser: Any, server: Server) -> None:
    begun(server, "taken", "mixed", 8)
    with Tab(browser, server) as tab:
        page = tab.go("/studies/taken")
        tab.settle()
        for place, wanted in (("#save", "ethanol"), ("#history-save", "trial")):
            with page.expect_download() as taken:
                page.locator(place).get_by_role("button", name="SVG").click()
            text = Path(taken.value.path()).read_text()
            assert text.startswith("<svg")
            assert wanted in text
            assert "taken: " in text
            assert "class=" not in text  # it carries its styles itself
            with page.expect_download() as taken:
                page.locator(place).get_by_role("button", name="PNG").click()
            content = Path(taken.value.path()).read_bytes()
            assert content.startswith(b"\x89PNG")
            width, height = struct.unpack(">II", content[16:24])
            assert width > 800
            assert height > 400
            assert taken.value.suggested_filename.endswith(".png")


def test_a_study_of_a_set_says_its_aim_and_lists_and_exports_the_set(browser: Any, server: Server) -> None:
    space = zn.Box({"x": (0, 1), "y": (0, 1)}, smallest=1 / 8)
    given: dict[str, Any] = {
        "kernel": zn.RBF(1.0, 0.2),
        "policy": zn.Above(0.5),
        "value_name": "dose",
        "value_unit": "%",
    }
    study = zn.Study.create(server.folder / "set.db", space, budget=60, **KERNEL, **given)
    study.optimize(lambda region: 2.0 * (region.bounds[0].mean() > 0.6), n=20)
    with Tab(browser, server) as tab:
        page = tab.go("/studies/set")
        tab.settle()
        tab.shows("goal", "All regions whose average dose is above 0.5\u202f%, over x and y")
        assert page.locator("#switches input[value=chance]").is_checked()
        page.locator("#level-set summary").click()
        listed = study.above(probability=0.1)
        assert page.locator("#level-set tbody tr").count() == min(len(listed), 100)
        tab.checked()
        with page.expect_download() as taken:
            page.get_by_role("button", name="Save the list").click()
        lines = Path(taken.value.path()).read_text().splitlines()
        assert lines[0] == "x from,x to,y from,y to,mean,std,probability,above"
        assert len(lines) == len(listed) + 1
        tab.go("/")
        tab.shows("list", "All regions whose average dose is above 0.5")


CUT = """() => {
  const width = document.documentElement.clientWidth, wrong = [];
  for (const cell of document.querySelectorAll("th, td")) {
    const box = cell.getBoundingClientRect();
    if (!box.width || getComputedStyle(cell).display === "none") continue;
    if (box.right > width + 1 || box.left < -1) wrong.push(cell.textContent);
    for (let node = cell.parentElement; node; node = node.parentElement) {
      const clips = getComputedStyle(node).overflowX !== "visible" && node !== document.documentElement;
      if (clips && box.right > node.getBoundingClientRect().right + 1) wrong.push(`clipped: ${cell.textContent}`);
    }
  }
  return wrong;
}"""


def test_no_column_is_cut_on_paper(browser: Any, server: Server) -> None:
    axes = {name: (0.0, 1000.0) for name in ("temperature", "concentration", "pressure", "flow rate")}
    with Tab(browser, server, A4) as tab:
        for n in range(1, 5):
            some = dict(list(axes.items())[:n])
            given: dict[str, Any] = {
                "times": [1, 2],
                "overhead": 1.0,
                "cost_unit": "s",
                "value_name": "brightness",
            }
            given |= {"value_unit": "mK", "kernel": zn.RBF(1.0, 300.0)}
            space = zn.Box(some, units=dict.fromkeys(some, "mbar"))
            study = zn.Study.create(server.folder / f"paper-{n}.db", space, budget=100.0, **KERNEL, **given)
            for _ in range(6):
                study.tell(study.ask(by="somebody with a name"), 0.123456789, 0.0123, note="a note of some length")
            page = tab.go(f"/studies/paper-{n}")
            tab.settle()
            page.emulate_media(media="print")
            titles = [text for text in page.locator("#trials th").all_inner_texts() if text and text != "actions"]
            assert len(titles) == n + 10, titles
            assert page.evaluate(CUT) == [], n
            assert len(page.pdf(format="A4")) > 10_000
            page.emulate_media(media="screen")


def test_a_new_study_is_described_field_by_field(browser: Any, server: Server) -> None:
    with Tab(browser, server) as tab:
        tab.forgiven = 1
        page = tab.go("/")
        page.get_by_role("button", name="New study").click()
        page.get_by_role("button", name="Create").click()
        tab.shows("dialog-refused", "Give the study a name")
        assert page.locator("[name=name]").get_attribute("aria-invalid") == "true"
        page.locator("[name=name]").fill("described")
        page.locator("[name=axis-0-name]").fill("mixing speed")
        page.locator("[name=axis-0-low]").fill("20,5")
        page.locator("[name=axis-0-high]").fill("abc")
        page.get_by_role("button", name="Create").click()
        tab.shows("dialog-refused", "must be a number")
        assert page.locator("[name=axis-0-high]").get_attribute("aria-invalid") == "true"
        assert page.locator("[name=name]").get_attribute("aria-invalid") is None
        page.locator("[name=axis-0-high]").fill("80,5")
        page.locator("[name=axis-0-smallest]").fill("5")
        page.get_by_role("button", name="Add an axis").click()
        page.locator("[name=axis-1-name]").fill("solvent")
        page.locator("[name=axis-1-kind]").select_option("symbols")
        page.locator("[name=axis-1-symbols]").fill("20,5 80,5 C")
        page.get_by_role("button", name="Create").click()
        tab.shows("dialog-refused", "decimal commas")
        page.locator("[name=axis-1-symbols]").fill("water, ethanol")
        page.get_by_role("button", name="Add an axis").click()
        page.locator("[name=axis-2-name]").fill("phase")
        page.locator("[name=axis-2-kind]").select_option("ring")
        page.locator("[name=axis-2-low]").fill("0")
        page.locator("[name=axis-2-high]").fill("360")
        assert page.locator("[name=axis-0-name]").input_value() == "mixing speed"
        tab.shows(
            "understood", "mixing speed from 20.5 to 80.5, split down to about 5; solvent is water or ethanol"
        )
        tab.shows("understood", "phase from 0 to 360, a ring")
        tab.checked()
        page.get_by_role("button", name="Create").click()
        page.wait_for_url("**/studies/described")
        study = zn.Study.open(server.folder / "described.db")
        assert study.space.names == ("mixing speed", "solvent", "phase")
        page = tab.new_study("letters", "sequences")
        page.locator("[name=alphabet]").fill("ACGU")
        page.locator("[name=length]").fill("5")
        tab.shows("understood", "all sequences of 5 letters of ACGU")
        page.get_by_role("button", name="Create").click()
        page.wait_for_url("**/studies/letters")


def test_a_study_is_archived_from_its_page_and_comes_back(browser: Any, server: Server) -> None:
    line(server.folder, "aside", told=2)
    with Tab(browser, server) as tab:
        page = tab.go("/studies/aside")
        page.get_by_role("button", name="Archive this study").click()
        tab.checked()
        page.get_by_role("button", name="Archive", exact=True).click()
        page.wait_for_url(f"{server.address}/")
        tab.shows("archive", "Archived: 1 study")
        assert page.get_by_role("link", name="aside").count() == 0
        page.locator("#archive summary").click()
        tab.checked()
        page.get_by_role("button", name="restore aside").click()
        page.get_by_role("link", name="aside").wait_for()
        page.locator("#archive").wait_for(state="hidden")
