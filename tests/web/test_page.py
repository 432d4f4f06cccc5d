"""The page, in a real Chromium: every state, by keyboard, live, on a phone, in the dark."""

from __future__ import annotations

import os
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from effort import EVERYTHING
from web.browser import Tab
from web.server_process import Server, line, serving
from zonal.study.history import pending_asked

KEEP = Path(os.environ["ZONAL_PICTURES"]) if "ZONAL_PICTURES" in os.environ else None
LONG = "A" * 100
NASTY = '<img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def shared(browser: Any, server: Server) -> Iterator[Tab]:
    with Tab(browser, server) as made:
        yield made


@pytest.fixture
def tab(shared: Tab) -> Iterator[Tab]:
    """A tab that was used before, which takes less time than a new one."""
    shared.forgiven = 0
    yield shared
    shared.page.goto("about:blank")
    wrong, shared.wrong = shared.wrong, []
    assert not wrong, wrong


def keep(tab: Tab, name: str) -> None:
    if KEEP is not None:
        tab.keep(KEEP, name)


def tell(tab: Tab, value: str) -> None:
    """Type a value and press Enter, as a person does; the field has the focus."""
    page = tab.page
    page.locator("#field-value:focus").wait_for()
    page.keyboard.type(value)
    page.keyboard.press("Enter")
    page.locator("#ask:focus, #refused").first.wait_for()
    if page.locator("#refused").count():
        page.keyboard.press("Enter")  # it is unlikely, and right
        page.locator("#ask:focus").wait_for()


def test_somebody_who_never_saw_it_measures_and_says_how_sure(browser: Any, tmp_path: Path) -> None:
    """The script of clicks: from the address alone to what to measure, telling it, and how sure the answer is."""
    with serving(tmp_path) as server, Tab(browser, server) as tab:
        the_script(tab)


def the_script(tab: Tab) -> None:
    page = tab.go("/")
    assert "No studies here yet" in tab.text("list")
    keep(tab, "empty-folder")
    tab.checked()
    page.get_by_role("button", name="New study").click()
    page.get_by_label("name of the study").fill("ink 3")
    page.locator("[name=axis-0-name]").fill("temperature")
    page.locator("[name=axis-0-low]").fill("20,0")
    page.locator("[name=axis-0-high]").fill("80")
    page.locator("[name=axis-0-unit]").fill("C")
    page.get_by_label("number of measurements").fill("14")
    page.get_by_label("what is measured").fill("yield")
    page.get_by_label("its unit").fill("%")
    tab.shows("understood", "highest average yield [%], with 14 measurements")
    tab.shows("understood", "temperature from 20 to 80\u202fC, split down to about 0.23\u202fC")
    keep(tab, "new-study")
    tab.checked()
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/studies/ink%203")
    page.wait_for_selector("html[data-ready]", state="attached")
    tab.shows("answer", "Nothing is known yet.")
    keep(tab, "new")
    tab.checked()
    page.get_by_role("button", name="Ask the first question").click()
    tab.shows("question", "Measure temperature from")
    assert "of the space; first measurement" in tab.text("question")
    keep(tab, "first-question")
    for _ in range(5):
        low, high = map(float, re.findall(r"[\d.]+", tab.text("question").split("temperature from")[1])[:2])
        tell(tab, f"{50 - abs((low + high) / 2 - 62):.2f}")
        page.keyboard.press("Enter")
        tab.shows("question", "Measure temperature from")
    tab.shows("progress", "5 of 14")
    tab.settle()
    answer = tab.text("answer")
    assert re.search(r"\d\s±\s\d", answer)
    assert "under the model" in answer
    assert "With 90 % probability" in answer
    keep(tab, "five-told")
    tab.checked()
    before, drawn = page.locator("#history svg").inner_html(), page.locator("#picture svg").inner_html()
    page.get_by_role("button", name="correct trial 3", exact=True).click()
    page.get_by_role("dialog").get_by_label("yield").fill("95")
    page.get_by_role("dialog").get_by_label("why").fill("slip of the pen")
    keep(tab, "correct-dialog")
    tab.checked()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    tab.shows("trial-3", "corrected")
    tab.settle()
    assert tab.text("answer") != answer
    assert page.locator("#history svg").inner_html() != before
    assert page.locator("#picture svg").inner_html() != drawn
    page.get_by_role("button", name="retract trial 3", exact=True).click()
    page.get_by_role("button", name="Retract it").click()
    tab.shows("trial-3", "retracted")
    tab.shows("progress", "4 of 14")


def test_many_tabs_of_one_browser_all_stay_live(tab: Tab, server: Server) -> None:
    """Browsers open six connections to a server: a tab that nobody looks at closes its stream.

    It comes before tests that fill the folder, whose list each of the tabs shows.
    """
    study = line(server.folder, "tabs", told=2)
    tab.go("/studies/tabs")
    others = [tab.context.new_page() for _ in range(6)]
    for other in others:
        # What a browser says of tabs behind others; a headless one shows all.
        other.add_init_script("Object.defineProperty(Document.prototype, 'hidden', { get: () => true })")
        other.goto(server.address)
        other.wait_for_selector("html[data-ready]", state="attached")
    study.tell(study.ask(), 0.5)
    tab.shows("progress", "3 of 30")
    assert tab.page.evaluate("fetch('/api/v1/studies').then((answer) => answer.status)") == 200
    shown = others[-1]
    shown.evaluate("""() => {
        Object.defineProperty(document, 'hidden', { get: () => false });
        document.dispatchEvent(new Event('visibilitychange'));
    }""")
    shown.locator("#live", has_text="live").wait_for()
    shown.get_by_role("link", name="tabs").get_by_text("3 of 30 measured").wait_for()
    for other in others:
        other.close()


def test_another_process_tells_and_it_shows(tab: Tab, server: Server) -> None:
    study = line(server.folder, "shared", told=6)
    tab.go("/studies/shared")
    tab.shows("live", "live")
    took = []
    for _ in range(3):  # a busy machine may be late once
        trial = study.ask(by="the other")
        wrote = time.monotonic()
        tab.shows("waiting", f"#{trial.number}")
        took.append(time.monotonic() - wrote)
        study.tell(trial, 0.4)
        tab.shows("question", "Nothing is pending")
    assert min(took) < 3
    trial = study.ask(by="Ada")
    tab.page.locator("#field-value").fill("0.123")
    study.tell(trial, 0.5)
    study.ask(by="Ada")
    tab.shows("question", "was ended by somebody else meanwhile")
    assert "0.123" in tab.text("question")
    assert tab.page.input_value("#field-value") == ""
    keep(tab, "ended-by-another")
    tab.shows("trials", "0.5")


def test_values_are_refused_at_their_fields_and_unlikely_ones_asked_about_once(tab: Tab, server: Server) -> None:
    study = line(server.folder, "refused", told=8)
    study.ask(by="Ada")
    page = tab.go("/studies/refused")
    for field, text, words in (
        ("value", "", "Write the measured value"),
        ("value", "1,234", "Is it 1.234 or 1234?"),
        ("value", "abc", "must be a number"),
        ("sem", "-1", "must be positive"),
    ):
        page.fill("#field-value", "0.5" if field == "sem" else "")
        page.fill(f"#field-{field}", text)
        page.keyboard.press("Enter")
        tab.shows("refused", words)
        assert page.get_attribute(f"#field-{field}", "aria-invalid") == "true"
        assert page.get_attribute(f"#field-{field}", "aria-describedby") == "refused"
    keep(tab, "refused")
    tab.checked()
    page.fill("#field-sem", "")
    page.fill("#field-value", "500")
    page.keyboard.press("Enter")
    tab.shows("refused", "from what the measurements so far make likely")
    keep(tab, "unlikely")
    page.keyboard.press("Enter")
    tab.shows("progress", "9 of 30")
    study.refresh()
    assert study.trials[-1].value == 500


def test_a_limit_is_typed_with_its_sign_and_a_count_with_its_exposure(tab: Tab, server: Server) -> None:
    study = line(server.folder, "limits", told=4)
    study.ask(by="Ada")
    page = tab.go("/studies/limits")
    page.fill("#field-value", "< 0,5")
    page.keyboard.press("Enter")
    tab.shows("progress", "5 of 30")
    tab.shows("trials", "<\u202f0.5")
    study.refresh()
    assert (study.trials[-1].value, study.trials[-1].limit) == (0.5, "below")
    counts = zn.Study.create(
        server.folder / "counts.db", [(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), likelihood=zn.Counts(2)
    )
    counts.ask(by="Ada")
    page = tab.go("/studies/counts")
    page.fill("#field-value", "7")
    page.fill("#field-exposure", "3")
    page.keyboard.press("Enter")
    tab.shows("progress", "1 of 9")
    counts.refresh()
    assert (counts.trials[-1].value, counts.trials[-1].exposure) == (7, 3)


def test_a_batch_is_typed_or_told_as_a_sheet(tab: Tab, server: Server) -> None:
    study = line(server.folder, "batch", told=2)
    tab.forgiven = 1
    page = tab.go("/studies/batch")
    page.get_by_text("Ask for several at once").click()
    page.get_by_label("how many").fill("5")
    page.get_by_role("button", name="Ask", exact=True).click()
    tab.shows("waiting", "Pending: 5 trials")
    tab.shows("question", "Measurement 1 of 5 · trial 2")
    page.locator("#field-value:focus").wait_for()
    page.keyboard.type("0.4")
    page.keyboard.press("Enter")
    tab.shows("question", "Measurement 1 of 4 · trial 3")
    with page.expect_download() as taken:
        page.get_by_role("link", name="As a sheet to fill in").click()
    sheet = Path(taken.value.path()).read_text()
    assert sheet.startswith("trial,region")
    keep(tab, "batch")
    page.get_by_role("button", name="Upload a filled-in sheet").click()
    bad = sheet.replace(",,,\n", ",abc,,\n", 1)
    page.get_by_label("the sheet").set_input_files(
        {"name": "filled.csv", "mimeType": "text/csv", "buffer": bad.encode()}
    )
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    tab.shows("dialog-refused", "nothing was recorded; wrong rows: 1 of 4")
    keep(tab, "sheet-refused")
    tab.checked()
    good = sheet.replace(",,,\n", ",0.7,0.1,from a sheet\n", 3)
    page.get_by_label("the sheet").set_input_files(
        {"name": "filled.csv", "mimeType": "text/csv", "buffer": good.encode()}
    )
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    tab.shows("taken", "3 measured, 1 left empty")
    tab.shows("progress", "6 of 30")
    tab.shows("trials", "from a sheet")
    study.refresh()
    assert [own.value for own in study.trials[2:6]] == [0.4, 0.7, 0.7, 0.7]


def test_notes_of_failures_and_of_sheets_from_windows_are_kept(tab: Tab, server: Server) -> None:
    study = line(server.folder, "noted", told=2, value_unit="a.u.", rng=1)
    study.ask(2, by="Ada")
    page = tab.go("/studies/noted")
    page.locator("#field-note").fill("the lamp broke")
    page.get_by_role("button", name="It failed").click()
    tab.shows("trials", "the lamp broke")
    tab.shows("answer", "a.u.")
    assert "a.u.." not in tab.text("answer")
    page.get_by_role("button", name="Upload a filled-in sheet").click()
    sheet = "trial;value;note\n2;0,5;\n3;0,7;größer\n"
    page.get_by_label("the sheet").set_input_files(
        {"name": "filled.csv", "mimeType": "text/csv", "buffer": sheet.encode("cp1252")}
    )
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    tab.shows("taken", "1 measured, 1 left out. Row 1 was left out: trial 2 was failed (the lamp broke) after")
    study.refresh()
    assert [own.note for own in study.trials[2:]] == ["the lamp broke", "größer"]


def test_looks_that_cost_time_say_so(tab: Tab, server: Server) -> None:
    given: dict[str, Any] = {"times": [1, 2, 4], "overhead": 3.0, "cost_unit": "s", "kernel": zn.RBF(1.0, 0.2)}
    given["noise"] = zn.PerWeight(0.1)
    study = zn.Study.create(server.folder / "time.db", zn.Box({"x": (0, 1)}), budget=1160.5, **given)
    page = tab.go("/studies/time")
    tab.shows("progress", "0\u202fs of 1160.5\u202fs spent")
    page.locator("#ask").click()
    tab.shows("question", ", for ")
    tab.shows("question", "It costs ")
    page.fill("#field-value", "0.4")
    page.fill("#field-time", "soon")
    page.keyboard.press("Enter")
    tab.shows("refused", "A time must be a number")
    keep(tab, "costs")
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        tab.checked()
    page.fill("#field-time", "2.5")
    page.keyboard.press("Enter")
    tab.shows("progress", "5.5\u202fs of 1160.5\u202fs spent, 1 measured")
    study.refresh()
    assert study.spent == 5.5
    tab.shows("model", "0.1 / √weight of the region")
    study.tell(study.ask(), 0.3, time=2.123456789)
    tab.shows("trials", "5.1235")
    study.observe([(0.2, 0.4)], 1 / 3, 0.1, feedback=zn.Slope("x"))
    study.observe([(0.5, 0.6)], 0.3, 0.1, minus=[(0.7, 0.8)])
    tab.shows("observed", ": slope along x")
    tab.shows("observed", "0.3333333")
    tab.shows("observed", " less x 0.7..0.8")
    tab.shows("trials", "time [s]")
    tab.go("/")
    tab.shows("list", "10.623\u202fs of 1160.5\u202fs spent, 2 measured")


def test_what_lies_above_a_threshold_is_drawn_with_what_is_still_unsure(tab: Tab, server: Server) -> None:
    kernel, rng = zn.RBF(1.0, 0.2), np.random.default_rng(0)
    spaces: dict[str, Any] = {
        "line": (zn.Box({"x": (0, 1)}, smallest=1 / 16), kernel),
        "map": (zn.Box({"x": (0, 1), "y": (0, 1)}, smallest=1 / 8), kernel),
        "pairs": (zn.Box({"x": (0, 1), "y": (0, 1), "z": (0, 1)}, smallest=1 / 4), kernel),
        "sequences": (zn.Sequences("ACGT", length=3), zn.Categorical(1.0, 0.5)),
        "points": (zn.Points(rng.uniform(size=(30, 2))), kernel),
    }
    for kind, (space, model) in spaces.items():
        if kind in ("pairs", "points") and KEEP is None and not EVERYTHING:  # drawn as maps are
            continue
        given: dict[str, Any] = {"kernel": model, "noise": 0.1, "policy": zn.Above(0.5), "rng": 0}
        study = zn.Study.create(server.folder / f"set-{kind}.db", space, budget=40, value_unit="K", **given)
        study.optimize(lambda region: 2.0 * (zlib.crc32(region.name.encode()) % 2), n=10)
        page = tab.go(f"/studies/set-{kind}")
        tab.settle()
        sure = [own.probability >= 0.9 for own in study.above(probability=0.1)]
        drawn = [page.locator(f"#picture path.{name}").count() > 0 for name in ("held", "perhaps")]
        assert drawn == [any(sure), not all(sure)], kind
        assert any(drawn), kind
        assert ("perhaps above 0.5\u202fK" in tab.text("legend")) == drawn[1], kind
        assert "classified as above 0.5 K" in tab.text("answer"), kind
        keep(tab, f"above-{kind}")
        tab.checked()


def test_whole_numbers_are_called_by_their_names(tab: Tab, server: Server) -> None:
    study = zn.Study.create(server.folder / "whole.db", zn.Box({"n": (0, 9)}, scale="integer"), budget=40, rng=0)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, float(trial.region.center[0]))
    study.observe({"n": (9, 9)}, 9.0)
    page = tab.go("/studies/whole")
    tab.settle()
    tab.shows("observed", "n 9")
    page.locator("#picture .field").focus()
    page.keyboard.press("b")
    tab.shows("readout", "±")
    assert re.match(r"n (from )?\d( to \d)? ", tab.text("readout"))
    assert "." not in page.inner_text("#trials td.where")
    keep(tab, "whole-numbers")


def test_what_failed_is_given_up_and_allowed_again(tab: Tab, server: Server) -> None:
    study = line(server.folder, "failed", told=3)
    study.ask(by="Ada")
    page = tab.go("/studies/failed")
    page.get_by_role("button", name="Impossible").click()
    tab.shows("trial-3", "failed for good")
    keep(tab, "given-up")
    tab.checked()
    page.get_by_role("button", name="allow again what failed: trial 3").click()
    tab.checked()
    page.get_by_role("button", name="Allow it").click()
    page.locator("#trial-3 button").wait_for(state="detached")
    study.refresh()
    assert study.blocked == ()
    page.get_by_role("button", name="Ask what to measure next").click()
    page.get_by_role("button", name="Cancel this trial").click()
    tab.shows("trial-4", "cancelled")
    page.get_by_role("button", name="Add an earlier measurement").click()
    page.get_by_role("dialog").get_by_label("region").fill("x=0..0.5")
    page.get_by_role("dialog").get_by_label("value").fill("zero")
    page.get_by_role("button", name="Add it").click()
    tab.shows("dialog-refused", "must be a number")
    page.get_by_role("dialog").get_by_label("value").fill("0.3")
    page.get_by_role("dialog").get_by_label("note").fill("of last year")
    page.get_by_role("button", name="Add it").click()
    tab.shows("observed", "of last year")
    page.get_by_role("button", name="retract observation 0").click()
    page.get_by_role("button", name="Retract it").click()
    tab.shows("observed", "retracted")


def test_what_is_possible_now_and_what_is_forbidden_is_said_on_the_page(tab: Tab, server: Server) -> None:
    study = line(server.folder, "limited", told=3)
    page = tab.go("/studies/limited")
    page.get_by_text("Only what is possible now").click()
    page.get_by_label("only within").fill("x=0.5..0.75; x=0.75..1")
    page.locator("#ask-avoid").fill("x=2..3")
    tab.forgiven = 1
    page.get_by_role("button", name="Ask what to measure next").click()
    tab.shows("question", "must lie within axis x")  # refused, and still there to be put right
    page.locator("#ask-avoid").fill("x=0.5..0.6")
    keep(tab, "possible-now")
    tab.checked()
    page.get_by_role("button", name="Ask what to measure next").click()
    page.locator("#field-value").wait_for()
    study.refresh()
    (asked,) = pending_asked(study)
    assert [region.name for region in asked.within] == ["x 0.5..0.75", "x 0.75..1"]
    assert study.pending[0].region.bounds[0, 0] >= 0.6
    page.get_by_role("button", name="Cancel this trial").click()
    assert page.locator("#ask-within").input_value() == "x=0.5..0.75; x=0.75..1"

    page.get_by_role("button", name="Forbid a region").click()
    page.get_by_role("dialog").get_by_label("region").fill("x=0.1..0.3")
    page.get_by_role("dialog").get_by_label("why").fill("a wall")
    tab.checked()
    page.get_by_role("button", name="Forbid it").click()
    tab.shows("forbidden", "a wall")
    tab.settle()
    tab.shows("legend", "forbidden")
    keep(tab, "forbidden-later")
    tab.checked()
    study.refresh()
    assert [region.name for region in study.forbidden] == ["x 0.1..0.3"]
    page.get_by_role("button", name="allow x 0.1..0.3 again").click()
    page.locator("#forbidden table").wait_for(state="detached")
    study.refresh()
    assert study.forbidden == ()


def test_a_killed_server_is_found_again(browser: Any, tmp_path: Path) -> None:
    study = line(tmp_path, told=3)
    study.ask(by="Ada")
    with serving(tmp_path) as server, Tab(browser, server) as tab:
        tab.forgiven = 1
        tab.go("/studies/line")
        tab.shows("live", "live")
        tab.page.fill("#field-value", "0.77")
        server.kill()
        tab.shows("live", "connection lost")
        for _ in range(3):  # what a busy browser lost is typed again
            tab.page.fill("#field-value", "0.77")
            tab.page.locator("#field-value").press("Enter")
            with suppress(Exception):
                tab.shows("refused", "cannot be reached", seconds=15)
                break
        assert "cannot be reached" in tab.text("question")
        assert tab.page.input_value("#field-value") == "0.77"
        keep(tab, "connection-lost")
        server.start()
        tab.shows("live", "live")
        tab.page.locator("#field-value").press("Enter")
        tab.shows("progress", "4 of 30")
    study.refresh()
    assert study.measured == 4


@pytest.mark.parametrize("last", ["history", "picture", "shape", "trials"])
def test_a_server_that_ends_while_the_page_loads_is_found_again(last: str, browser: Any, tmp_path: Path) -> None:
    """Killed just when it is asked for a document: nothing that is shown goes away, and the rest follows."""
    line(tmp_path, told=3)
    with serving(tmp_path) as server, Tab(browser, server) as tab:
        tab.forgiven = 1
        page, killed = tab.page, list[str]()

        def kill(route: Any) -> None:
            if not killed:
                killed.append(route.request.url)
                server.kill()
            route.abort()

        document = re.compile(rf"/api/v1/studies/line/{last}(\?|$)")
        page.route(document, kill)
        page.goto(f"{server.address}/studies/line")
        tab.shows("live", "connection lost")
        assert killed
        page.unroute(document)
        assert not page.locator("#failure").is_visible()
        server.start()
        tab.shows("live", "live")
        tab.shows("progress", "3 of 30")
        tab.settle()
        page.locator("#history svg path.bestline").wait_for()
        page.locator("#picture svg .star").first.wait_for()


def test_a_page_whose_study_is_archived_says_so(browser: Any, tmp_path: Path) -> None:
    line(tmp_path, told=2)
    with serving(tmp_path) as server, Tab(browser, server) as tab:
        tab.forgiven = 1
        page = tab.go("/studies/line")
        assert server.post("/api/v1/studies/line/archive").status == 200
        tab.shows("failure", "There is no such study")
        assert not page.locator("#live").is_visible()


def test_spent_read_only_and_missing_studies(tab: Tab, server: Server) -> None:
    line(server.folder, "spent", budget=5, told=5)
    page = tab.go("/studies/spent")
    tab.shows("question", "The budget is spent")
    keep(tab, "spent")
    tab.checked()
    page.get_by_label("measurements to add").fill("4")
    page.get_by_role("button", name="Extend the budget").click()
    tab.shows("progress", "5 of 9")
    points = zn.Points([[0.0], [0.5], [1.0]])
    own = zn.Study.create(server.folder / "own.db", points, budget=3, kernel=lambda a, b: a @ b.T + 1, noise=0.1)
    own.tell(own.ask(), 0.5)
    tab.go("/studies/own")
    tab.shows("notice", "is read-only")
    assert not page.locator("#question").is_visible()
    tab.shows("picture", "Nothing can be drawn without")
    keep(tab, "read-only")
    tab.checked()
    tab.forgiven = 1
    page.goto(f"{server.address}/studies/nobody")
    tab.shows("failure", "There is no such study")
    (server.folder / "bad.db").write_text("nonsense")
    page.goto(f"{server.address}/studies/bad")
    tab.shows("failure", "damaged")
    tab.go("/")
    tab.shows("list", "cannot be opened")
    tab.shows("list", "5 of 9 measured")
    line(server.folder, "spring", told=2)
    tab.shows("list", "spring")  # live
    keep(tab, "overview")
    tab.checked()


def a_study_of_each_kind(folder: Path) -> list[str]:
    rng = np.random.default_rng(0)
    spaces: dict[str, Any] = {
        "map": zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"}),
        "pairs": zn.Box({"T": (20, 80), "pH": (4, 9), "c": (0.001, 1)}, scale={"c": "log"}),
        "symbols": zn.Product({"T": (20, 80), "c": (1, 5), "dye": ["red", "green"]}),
        "one-and-symbols": zn.Product({"T": (20, 80), "dye": ["red", "green"]}),
        "sequences": zn.Sequences("ACGT", length=4),
        "hierarchy": zn.Hierarchy({NASTY: {"a": ["1", "2"], LONG: ["5", "6"]}, "B": {"b": ["3", "4"]}}),
        "points": zn.Points(rng.uniform(size=(30, 3))),
        "doses": zn.Points({"dose": np.linspace(0, 9, 12)}),
    }
    if KEEP is None and not EVERYTHING:  # another test draws sequences, and "symbols" are panels as "pairs" are
        del spaces["symbols"], spaces["sequences"]
    models: dict[str, dict[str, Any]] = {  # of others it is learned
        "map": {"kernel": zn.RBF(1.0, 40.0), "noise": 0.3, "policy": zn.GPOO()},
        "pairs": {"kernel": zn.RBF(1.0, (20.0, 2.0, 1.0)), "noise": 0.3},
        "symbols": {"kernel": zn.RBF(1.0, (20.0, 2.0)) * zn.Categorical(1.0, 0.5), "noise": 0.3},
        "one-and-symbols": {"kernel": zn.RBF(1.0, 20.0) * zn.Categorical(1.0, 0.5), "noise": 0.3},
        "points": {"kernel": zn.RBF(1.0, 0.3), "noise": 0.3},
        "doses": {"kernel": zn.RBF(1.0, 2.0), "noise": 0.3, "policy": zn.GPOO()},
        "sequences": {"kernel": zn.Categorical(1.0, 0.5), "noise": 0.3},
    }
    for name, space in spaces.items():
        forbidden = [[(90, 146), (-1, 1)]] if name == "map" else None
        nasty = name == "hierarchy"
        given: dict[str, Any] = {
            "value_name": NASTY if nasty else "yield",
            "value_unit": "%",
            "forbidden": forbidden,
        }
        direction: Any = "minimize" if name == "pairs" else "maximize"
        given |= models.get(name, {"noise": 0.3})
        study = zn.Study.create(folder / f"{name}.db", space, budget=40, rng=0, direction=direction, **given)
        for _ in range(14 if name == "map" or KEEP else 8):
            trial = study.ask(by=NASTY)
            note = f"{NASTY}{LONG}" if nasty else "" if trial.number % 5 else "lamp was cold"
            study.tell(trial, round(float(rng.normal() + trial.region.name.count("1")), 2), note=note)
        study.ask(3, by="bench")
    return list(spaces)


@pytest.mark.tries
def test_every_space_is_drawn_and_read_by_pointer_and_keyboard(browser: Any, server: Server) -> None:
    names = a_study_of_each_kind(server.folder)
    with Tab(browser, server) as desk, Tab(browser, server, 390, True) as phone:
        read_by_pointer_and_keyboard(names, desk, phone)


def read_by_pointer_and_keyboard(names: list[str], desk: Tab, phone: Tab) -> None:
    for name in names:
        page = desk.go(f"/studies/{name}")
        desk.settle()
        field = page.locator("#picture .field").first
        field.hover()
        desk.shows("readout", "±")
        field.focus()
        for key in ("ArrowRight", "ArrowDown", "b", "ArrowLeft", "ArrowUp", "p"):
            page.keyboard.press(key)
        desk.shows("readout", "±")
        drawn = [desk.drawn()]
        for mode in ("std", "chance"):
            page.locator(f"#switches input[value={mode}]").check(force=True)
            drawn.append(desk.drawn(*drawn))
        page.get_by_label("threshold").press("End")
        desk.drawn(*drawn)
        page.locator("#switches input[value=mean]").check(force=True)
        keep(desk, f"{name}-desktop")
        page.locator("#regions summary").click()
        page.locator("#regions tbody tr").first.wait_for()
        desk.checked()
        assert page.locator("img[src=x]").count() == 0
        if KEEP is None and not EVERYTHING and name not in ("map", "hierarchy"):
            continue
        phone.go(f"/studies/{name}")
        phone.settle()
        phone.page.locator("#picture .field").first.focus()
        phone.page.keyboard.press("ArrowDown")
        phone.checked()
        keep(phone, f"{name}-phone-dark")
        if name == "hierarchy":
            phone.page.set_viewport_size({"width": 320, "height": 700})
            phone.checked()
            phone.page.set_viewport_size({"width": 390, "height": 900})
        assert not desk.wrong + phone.wrong, name


def test_a_branch_is_looked_into_and_a_grown_tree_is_drawn(tab: Tab, server: Server) -> None:
    given: dict[str, Any] = {"kernel": zn.Categorical(1.0, 0.5), "noise": 0.2, "rng": 0}
    study = zn.Study.create(server.folder / "dna.db", zn.Sequences("ACGT", length=5), budget=60, **given)
    study.optimize(lambda region: float(region.name.count("A")), n=6)
    page = tab.go("/studies/dna")
    tab.settle()
    page.locator("#picture .field").focus()
    for key in ("Escape", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.get_by_role("button", name="all sequences").click()
    page.locator("#picture .way b", has_text="all sequences").wait_for()
    before = tab.drawn()
    study.optimize(lambda region: float(region.name.count("A")), n=12)
    tab.shows("progress", "18 of 60")
    tab.settle()
    tab.drawn(before)
    page.locator("#picture .field").focus()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    tab.shows("readout", "±")


def test_forced_colours_and_print(browser: Any, server: Server) -> None:
    line(server.folder, "paper", told=8)
    with Tab(browser, server, forced_colors="active") as tab:
        in_forced_colours_and_print(tab)


def in_forced_colours_and_print(tab: Tab) -> None:
    page = tab.go("/studies/paper")
    tab.settle()
    label = "document.querySelector(`#switches label:has(input[value=${mode}])`)"  # looked up and read at once
    styles = f"['mean', 'std'].map((mode) => getComputedStyle({label}).outlineStyle)"
    checked, other = page.evaluate(styles)
    assert (checked, other) == ("solid", "none")  # the choice is seen without its colour
    keep(tab, "forced-colours")
    page.emulate_media(media="print", forced_colors="none")
    assert not page.locator("#question").is_visible()
    assert not page.get_by_role("button", name="correct trial 3").is_visible()
    for part in ("answer", "picture", "history", "trials", "model"):
        assert page.locator(f"#{part}").is_visible(), part
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    keep(tab, "print")


def test_html_in_every_text_is_shown_as_text(tab: Tab, server: Server) -> None:
    """Names, units, notes, who asked, what is refused: on the page as they are, and nothing of it runs."""
    space = zn.Product({NASTY: (0, 1), "dye": [NASTY, "green"]}, units={NASTY: NASTY})
    given: dict[str, Any] = {"value_name": NASTY, "value_unit": NASTY, "noise": 0.1, "kernel": None}
    study = zn.Study.create(server.folder / "<b>nasty.db", space, budget=9, **given)
    study.tell(study.ask(by=NASTY), 0.5, note=NASTY)
    study.correct(0, 0.6, note=NASTY)
    study.observe({NASTY: (0, 0.5)}, 0.3)
    study.ask(1, by=NASTY)
    study.ask(1, by="Ada")
    page = tab.go("/studies/%3Cb%3Enasty")
    tab.settle()
    assert NASTY in page.inner_text("body")
    page.fill("#field-value", f"a {NASTY}")  # what begins with "<" is a limit
    page.keyboard.press("Enter")
    tab.shows("refused", NASTY)
    tab.go("/")
    tab.shows("list", "<b>nasty")
    assert NASTY in page.inner_text("body")
    assert page.locator("img[src=x], #list b:text-is('nasty')").count() == 0
    assert page.title() != "1"
    study.path.unlink() if study.path else None


def test_the_form_asks_for_the_token_once(browser: Any, tmp_path: Path) -> None:
    line(tmp_path, told=3)
    with serving(tmp_path, ZONAL_TOKEN="a-token-of-a-test-0123456789") as server, Tab(browser, server) as tab:
        tab.forgiven = 1
        tab.page.goto(server.url("line"))
        tab.page.get_by_label("token").fill("wrong")
        tab.page.keyboard.press("Enter")
        tab.shows("refused", "not the token")
        keep(tab, "token")
        tab.checked()
        tab.page.get_by_label("token").fill("a-token-of-a-test-0123456789")
        tab.page.keyboard.press("Enter")
        tab.shows("progress", "3 of 30")  # the link that was asked for
        assert tab.page.evaluate("document.cookie") == ""


def test_the_first_load_is_small(browser: Any, server: Server) -> None:
    line(server.folder, "small", told=5)
    with Tab(browser, server) as tab:
        tab.go("/studies/small")
        tab.settle()
        assert 10_000 < tab.loaded() < 300_000
