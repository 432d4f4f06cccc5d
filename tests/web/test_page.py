"""The page, in a real Chromium: every state, by keyboard, live, on a phone, in the dark."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from web.browsing import CHECKS, Tab, chromium
from web.served import Server, line, serving

KEEP = Path(os.environ["ZONAL_PICTURES"]) if "ZONAL_PICTURES" in os.environ else None
LONG = "A" * 100
NASTY = '<img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as made:
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as made:
        yield made


@pytest.fixture
def tab(browser: Any, server: Server) -> Iterator[Tab]:
    made = Tab(browser, server)
    yield made
    made.close()


def keep(tab: Tab, name: str) -> None:
    if KEEP is not None:
        tab.keep(KEEP, name)


def checked(tab: Tab) -> None:
    assert tab.page.evaluate(CHECKS) == []


def tell(tab: Tab, value: str) -> None:
    """Type a value and press Enter, as a person does; the field has the focus."""
    page = tab.page
    number = page.inner_text("#question-title")
    page.locator("#field-value:focus").wait_for(timeout=30_000)
    page.keyboard.type(value)
    page.keyboard.press("Enter")
    for _ in range(100):
        if page.locator("#field-value").count() == 0 or page.inner_text("#question-title") != number:
            return
        if page.locator("#refused").count():
            page.keyboard.press("Enter")  # it is unlikely, and right
        page.wait_for_timeout(50)
    raise AssertionError("the value was not taken")


def test_somebody_who_never_saw_it_measures_and_says_how_sure(tab: Tab) -> None:
    """The script of clicks: from the address alone to what to measure, telling it, and how sure the answer is."""
    page = tab.go("/")
    assert "No studies here yet" in tab.text("list")
    keep(tab, "empty-folder")
    checked(tab)
    page.get_by_role("button", name="New study").click()
    page.get_by_label("name of the study").fill("ink 3")
    page.get_by_label("where to look").fill("temperature 20 80 C")
    page.get_by_label("how many measurements").fill("14")
    page.get_by_label("what is measured").fill("yield")
    page.get_by_label("in which unit").fill("%")
    keep(tab, "new-study")
    checked(tab)
    page.get_by_role("button", name="Begin it").click()
    page.wait_for_url("**/studies/ink%203")
    page.wait_for_selector("html[data-ready]", state="attached")
    tab.shows("answer", "Nothing is known yet.")
    keep(tab, "new")
    checked(tab)
    page.get_by_role("button", name="Ask the first question").click()
    tab.shows("question", "Measure temperature from")
    assert "of the space; first look" in tab.text("question")
    keep(tab, "first-question")
    for _ in range(10):
        low, high = map(float, re.findall(r"[\d.]+", tab.text("question").split("temperature from")[1])[:2])
        tell(tab, f"{50 - abs((low + high) / 2 - 62):.2f}")
        page.locator("#ask:focus").wait_for(timeout=30_000)
        page.keyboard.press("Enter")
        tab.shows("question", "Measure temperature from")
    tab.shows("progress", "10 of 14")
    tab.settle()
    answer = tab.text("answer")
    assert re.search(r"\d\s±\s\d", answer)
    assert "under the model" in answer
    assert "With nine chances in ten" in answer
    keep(tab, "ten-told")
    checked(tab)
    before = page.locator("#history svg").inner_html()
    page.get_by_role("button", name="correct trial 3", exact=True).click()
    page.get_by_role("dialog").get_by_label("yield").fill("95")
    page.get_by_role("dialog").get_by_label("why").fill("slip of the pen")
    keep(tab, "correct-dialog")
    checked(tab)
    page.get_by_role("button", name="Correct it").click()
    tab.shows("trial-3", "corrected")
    tab.settle()
    assert tab.text("answer") != answer
    assert page.locator("#history svg").inner_html() != before
    page.get_by_role("button", name="retract trial 3", exact=True).click()
    page.get_by_role("button", name="Retract it").click()
    tab.shows("trial-3", "retracted")
    tab.shows("progress", "9 of 14")


def test_another_process_tells_and_it_shows(tab: Tab, server: Server) -> None:
    study = line(server.folder, told=6)
    tab.go("/studies/line")
    tab.shows("live", "live")
    trial = study.ask(by="the other")
    tab.shows("question", f"trial {trial.number}", 3)
    tab.page.locator("#field-value").fill("0.123")
    study.tell(trial, 0.5)
    study.ask()
    tab.shows("question", "was ended by somebody else meanwhile", 3)
    assert "0.123" in tab.text("question")
    assert tab.page.input_value("#field-value") == ""
    keep(tab, "ended-by-another")
    tab.shows("trials", "0.5")


def test_values_are_refused_at_their_fields_and_unlikely_ones_asked_about_once(tab: Tab, server: Server) -> None:
    study = line(server.folder, told=8)
    study.ask()
    page = tab.go("/studies/line")
    for field, text, words in (
        ("value", "", "Write the measured value"),
        ("value", "1,5", "Write 1.5, with a point"),
        ("value", "abc", "must be a number"),
        ("sem", "-1", "must be positive"),
    ):
        page.fill("#field-value", "0.5" if field == "sem" else "")
        page.fill(f"#field-{field}", text)
        page.keyboard.press("Enter")
        tab.shows("refused", words)
        assert page.get_attribute(f"#field-{field}", "aria-invalid") == "true"
    keep(tab, "refused")
    checked(tab)
    page.fill("#field-sem", "")
    page.fill("#field-value", "500")
    page.keyboard.press("Enter")
    tab.shows("refused", "from what the measurements so far make likely")
    keep(tab, "unlikely")
    page.keyboard.press("Enter")
    tab.shows("progress", "9 of 30")
    study.refresh()
    assert study.trials[-1].value == 500


def test_a_killed_server_is_found_again(browser: Any, tmp_path: Path) -> None:
    study = line(tmp_path, told=3)
    study.ask()
    server = Server(tmp_path)
    tab = Tab(browser, server)
    tab.forgiven = 1
    tab.go("/studies/line")
    tab.shows("live", "live")
    tab.page.fill("#field-value", "0.77")
    server.kill()
    tab.shows("live", "connection lost")
    tab.page.locator("#field-value").press("Enter")
    tab.shows("refused", "cannot be reached")
    assert tab.page.input_value("#field-value") == "0.77"
    keep(tab, "connection-lost")
    server = Server(tmp_path, port=server.port)
    tab.shows("live", "live", 15)
    tab.page.locator("#field-value").press("Enter")
    tab.shows("progress", "4 of 30")
    tab.close()
    server.end()
    study.refresh()
    assert study.told == 4


def test_spent_read_only_and_missing_studies(tab: Tab, server: Server) -> None:
    line(server.folder, "spent", budget=5, told=5)
    page = tab.go("/studies/spent")
    tab.shows("question", "The budget is spent")
    keep(tab, "spent")
    checked(tab)
    page.get_by_label("measurements to add").fill("4")
    page.get_by_role("button", name="Extend the budget").click()
    tab.shows("progress", "5 of 9")
    points = zn.Points([[0.0], [0.5], [1.0]])
    own = zn.Study.create(server.folder / "own.db", points, budget=3, kernel=lambda a, b: a @ b.T + 1, noise=0.1)
    own.tell(own.ask(), 0.5)
    tab.go("/studies/own")
    tab.shows("notice", "can only be looked at")
    assert not page.locator("#question").is_visible()
    keep(tab, "read-only")
    checked(tab)
    tab.forgiven = 1
    page.goto(f"{server.address}/studies/nobody")
    tab.shows("failure", "There is no such study")
    (server.folder / "bad.db").write_text("nonsense")
    page.goto(f"{server.address}/studies/bad")
    tab.shows("failure", "damaged")
    tab.go("/")
    tab.shows("list", "cannot be opened")
    keep(tab, "overview")
    checked(tab)


def a_study_of_each_kind(folder: Path) -> list[str]:
    rng = np.random.default_rng(0)
    spaces: dict[str, Any] = {
        "map": zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"}),
        "pairs": zn.Box({"T": (20, 80), "pH": (4, 9), "c": (0.001, 1)}, scale={"c": "log"}),
        "symbols": zn.Product({"T": (20, 80), "c": (1, 5), "dye": ["red", "green"]}),
        "one-and-symbols": zn.Product({"T": (20, 80), "dye": ["red", "green"]}),
        "sequences": zn.Sequences("ACGT", length=4),
        "hierarchy": zn.Hierarchy({NASTY: {"a": ["1", "2"], LONG: ["5", "6"]}, "B": {"b": ["3", "4"]}}),
        "points": zn.Points(rng.uniform(size=(30, 2))),
    }
    for name, space in spaces.items():
        forbidden = [[(90, 146), (-1, 1)]] if name == "map" else None
        given: dict[str, Any] = {"value_name": NASTY, "value_unit": "%", "forbidden": forbidden}
        direction: Any = "minimize" if name == "pairs" else "maximize"
        study = zn.Study.create(folder / f"{name}.db", space, budget=40, rng=0, direction=direction, **given)
        for _ in range(14):
            trial = study.ask(by=NASTY)
            study.tell(trial, round(float(rng.normal() + trial.region.name.count("1")), 2), note=f"{NASTY}{LONG}")
        study.ask(3, by="bench")
    return list(spaces)


def test_every_space_is_drawn_and_read_by_keyboard(browser: Any, server: Server) -> None:
    for name in a_study_of_each_kind(server.folder):
        sizes = [(1400, False), (390, True), *([(320, False)] if name == "hierarchy" else [])]
        for width, dark in sizes:
            tab = Tab(browser, server, width, dark)
            page = tab.go(f"/studies/{name}")
            tab.settle()
            field = page.locator("#picture .field").first
            field.focus()
            for key in ("ArrowRight", "ArrowDown", "b", "ArrowLeft", "p"):
                page.keyboard.press(key)
            assert "±" in tab.text("readout"), name
            for mode in ("std", "chance", "mean"):
                page.locator(f"#switches input[value={mode}]").focus()
                page.keyboard.press("Space")
                if mode == "chance":
                    page.get_by_label("threshold").press("ArrowRight")
            page.locator("#regions summary").click()
            page.locator("#regions tbody tr").first.wait_for()
            checked(tab)
            assert page.locator("img[src=x]").count() == 0
            if width != 320:
                page.locator("#regions summary").click()
                keep(tab, f"{name}-{'phone-dark' if dark else 'desktop'}")
            assert not tab.wrong, (name, width)
            tab.close()


def test_the_form_asks_for_the_token_once(browser: Any, tmp_path: Path) -> None:
    line(tmp_path, told=3)
    with serving(tmp_path, ZONAL_TOKEN="a-token-of-a-test-0123456789") as server:
        tab = Tab(browser, server)
        tab.forgiven = 1
        tab.page.goto(server.url("line"))
        tab.page.get_by_label("token").fill("wrong")
        tab.page.keyboard.press("Enter")
        tab.shows("refused", "not the token")
        keep(tab, "token")
        checked(tab)
        tab.page.get_by_label("token").fill("a-token-of-a-test-0123456789")
        tab.page.keyboard.press("Enter")
        tab.shows("list", "3 of 30 told")
        assert tab.page.evaluate("document.cookie") == ""
        tab.close()


def test_the_first_load_is_small(tab: Tab, server: Server) -> None:
    line(server.folder, told=5)
    sizes: list[int] = []
    tab.page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    tab.go("/studies/line")
    tab.settle()
    assert 10_000 < sum(sizes) < 300_000
