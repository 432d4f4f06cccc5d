"""The page while others measure: no click, no step of the keyboard and nothing that somebody opened is lost."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from web.browser import Tab
from web.server_process import Server, line, serving

STEPS = 100
PAUSE = 0.2  # seconds between two events
HOLD = 60  # milliseconds that a finger rests on a button


NEXT = re.compile(r"The next \d best")  # as many as there are disjoint ones yet


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studies")
    for name in ("alpha", "beta", "busy", "gamma"):
        line(folder, name, budget=3000, told=4, policy=zn.GPOO())
    with serving(folder) as made:
        yield made


@contextmanager
def measuring(path: Path) -> Iterator[list[int]]:
    """Ask and tell in a thread, an event every fifth of a second; the list has what was told."""
    ended, told = threading.Event(), list[int]()

    def measure() -> None:
        study = zn.Study.open(path)
        while not ended.is_set():
            trial = study.ask(by="robot")
            ended.wait(PAUSE)
            study.tell(trial, float(trial.number % 7) / 7)
            told.append(trial.number)
            ended.wait(PAUSE)

    thread = threading.Thread(target=measure)
    thread.start()
    try:
        yield told
    finally:
        ended.set()
        thread.join(30)


def press(page: Any, target: Any) -> None:
    """Press the mouse on something, hold it as people do, and let go."""
    box = target.bounding_box()
    target.hover(position={"x": box["width"] / 2, "y": min(box["height"] / 2, 20)})
    page.mouse.down()
    page.wait_for_timeout(HOLD)
    page.mouse.up()


COUNT = """() => {
  globalThis.clicks = 0;
  document.addEventListener("click", (event) => {
    const card = event.target.closest("a.study, summary, button");
    if (card) globalThis.clicks += 1;
    if (card?.matches("a")) event.preventDefault();
  }, true);
}"""


def test_no_click_on_the_overview_is_lost_while_others_measure(browser: Any, server: Server) -> None:
    with Tab(browser, server) as tab, measuring(server.folder / "busy.db") as told:
        page = tab.go("/")
        tab.shows("live", "live")
        page.evaluate(COUNT)
        cards = page.locator("a.study")
        for step in range(STEPS):
            press(page, cards.nth(step % 4))
        assert page.evaluate("clicks") == STEPS
        assert len(told) >= 10


def test_no_step_of_the_keyboard_on_the_overview_is_lost_while_others_measure(
    browser: Any, server: Server
) -> None:
    with Tab(browser, server) as tab, measuring(server.folder / "busy.db"):
        page = tab.go("/")
        page.evaluate("document.querySelector('.mark').focus()")
        round_trip = list[str]()
        for _ in range(8):  # me, new study, find, order, four cards
            page.keyboard.press("Tab")
            round_trip.append(page.evaluate("document.activeElement.tagName"))
        assert round_trip == ["BUTTON", "BUTTON", "INPUT", "SELECT", *["A"] * 4]
        for step in range(STEPS):
            forth = step // 3 % 2 == 0
            page.keyboard.press("Shift+Tab" if forth else "Tab")
            page.wait_for_timeout(HOLD)
            at = page.evaluate("[...document.querySelectorAll('a.study')].indexOf(document.activeElement)")
            expected = 2 - step % 3 if forth else 1 + step % 3
            assert at == expected, f"step {step}: {at} instead of {expected}"


def test_a_study_page_keeps_clicks_focus_and_open_details_while_others_measure(
    browser: Any, server: Server
) -> None:
    with Tab(browser, server) as tab:
        page = tab.go("/studies/busy")
        tab.settle()
        page.get_by_text(NEXT).click()
        page.evaluate(COUNT)
        with measuring(server.folder / "busy.db") as told:
            several = page.locator("summary", has_text="Ask for several at once")
            radio = page.locator("#switches label", has_text="uncertainty")
            for step in range(STEPS):
                press(page, several)
                press(page, radio) if step % 10 == 0 else None
            assert page.evaluate("clicks") == STEPS
            assert len(told) >= 10
            links = page.locator("#trials button", has_text="correct")
            links.last.focus()
            label = page.evaluate("document.activeElement.getAttribute('aria-label')")
            for step in range(STEPS):
                page.keyboard.press("Tab" if step % 2 == 0 else "Shift+Tab")
                page.wait_for_timeout(HOLD)
                now = page.evaluate("document.activeElement.getAttribute('aria-label')")
                assert now == (label.replace("correct", "retract") if step % 2 == 0 else label), step
        assert page.locator("details", has_text=NEXT).first.evaluate("(node) => node.open")
        assert page.locator("#switches input[value=std]").is_checked()


def test_focus_comes_back_after_a_dialog_though_the_table_was_drawn_meanwhile(
    browser: Any, server: Server
) -> None:
    study = line(server.folder, "dialog", told=5)
    with Tab(browser, server) as tab:
        page = tab.go("/studies/dialog")
        for key in ("Escape", "Enter"):
            page.get_by_role("button", name="correct trial 2", exact=True).click()
            page.get_by_role("dialog").get_by_label("value").fill("0.5")
            study.tell(study.ask(by="robot"), 0.4)
            tab.shows("progress", f"{study.measured} of 30")
            page.keyboard.press(key)
            page.get_by_role("dialog").wait_for(state="detached")
            page.locator("#trial-2 button:focus", has_text="correct").wait_for()


def test_a_double_click_records_once(browser: Any, server: Server) -> None:
    study = line(server.folder, "twice", told=2)
    with Tab(browser, server) as tab:
        page = tab.go("/studies/twice")
        page.get_by_role("button", name="Add an earlier measurement").click()
        page.get_by_role("dialog").get_by_label("region").fill("x=0..0.5")
        page.get_by_role("dialog").get_by_label("value").fill("0,3")
        page.get_by_role("button", name="Add it").dblclick()
        tab.shows("observed", "0.3")
        page.get_by_role("dialog").wait_for(state="detached")
        page.get_by_role("button", name="Ask what to measure next").dblclick()
        page.locator("#field-value").wait_for()
        study.refresh()
        assert len(study.observations) == 1
        assert study.observations[0].value == 0.3
        assert len(study.pending) == 1


def test_a_name_is_asked_for_once_and_questions_of_others_are_apart(browser: Any, server: Server) -> None:
    study = line(server.folder, "people", told=3)
    robot = study.ask(by="dish-1")
    with Tab(browser, server, name="") as tab:
        page = tab.go("/studies/people")
        tab.shows("question", "1 trial is pending with others")
        assert page.locator("#field-value").count() == 0  # the robot's trial is not mine to fill in
        page.locator("#ask").click()
        page.get_by_role("dialog").get_by_label("name").fill("Grace")
        tab.checked()
        page.get_by_role("button", name="Continue").click()
        page.locator("#field-value:focus").wait_for()
        tab.shows("question", "by you")
        page.get_by_role("button", name="Ask for another").click()
        tab.shows("question", "Measurement 1 of 2")
        page.get_by_role("button", name=f"take over trial {robot.number} from dish-1").click()
        tab.shows("question", f"Measurement 1 of 3 · trial {robot.number}")
        tab.checked()
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        tab.shows("person", "Grace")
        tab.shows("question", "Measurement 1 of 3")
        tab.shows("trials", "Grace")


def measured_by(tab: Tab, value: str, killed: Server | None = None) -> None:
    """Ask for a trial at a page and tell its value; a server that is given is killed between typing and Enter."""
    page = tab.page
    page.locator("#ask:not([disabled])").click()
    page.locator("#field-value").wait_for()
    page.locator("#field-value").fill(value)
    if killed is not None:
        killed.kill()
        page.locator("#field-value").press("Enter")
        tab.shows("refused", "cannot be reached")
        killed.start()
        tab.shows("live", "live")
        assert page.input_value("#field-value") == value
    page.locator("#field-value").press("Enter")
    page.locator("#question h2", has_text="Next measurement").wait_for()


def test_two_people_measure_one_study_and_the_server_is_killed(browser: Any, tmp_path: Path) -> None:
    study = line(tmp_path, "both", budget=60, told=2)
    with (
        serving(tmp_path) as server,
        Tab(browser, server, name="Ada") as ada,
        Tab(browser, server, name="Grace") as grace,
    ):
        people = {"Ada": ada, "Grace": grace}
        for tab in people.values():
            tab.forgiven = 1
            tab.go("/studies/both")
        for step in range(20):
            for name, tab in people.items():
                kill = server if (step, name) == (10, "Ada") else None
                measured_by(tab, f"0.{5 if name == 'Ada' else 4}{step:02}", kill)
        tells = server.get("/api/v1/studies/both/trials").json
    study.refresh()
    assert study.measured == 42
    assert not study.pending
    assert len({trial.number for trial in study.trials}) == 42
    for name, digit in (("Ada", "5"), ("Grace", "4")):
        own = [value for value, by in zip(tells["value"], tells["told_by"], strict=True) if by == name]
        assert own == [float(f"0.{digit}{step:02}") for step in range(20)]
        assert tells["by"].count(name) == 20
