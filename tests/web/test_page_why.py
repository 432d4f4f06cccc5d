"""The page says why: the same sentences as everywhere, for the answer and for the question."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

from web.browser import Tab, chromium
from web.server_process import line, serving


def test_the_page_says_why_and_follows_the_study(tmp_path: Path) -> None:
    with chromium() as browser, serving(tmp_path) as server:
        study = line(tmp_path, told=6)
        trial = study.ask(by="Ada")
        with Tab(browser, server) as tab:
            page = tab.go("/studies/line")
            tab.settle()
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            assert not page.inner_text("#why-answer-sentences")
            page.click("#why-answer summary")
            tab.shows("why-answer", "The answer is")
            assert tab.text("why-answer-sentences").split("\n\n") == str(study.why()).splitlines()
            page.click("#why-question summary")
            tab.shows("why-question", f"Trial {trial.number} is")
            assert tab.text("why-question-sentences").split("\n\n") == str(study.why(trial)).splitlines()
            assert sum("/why" in url for url in asked) == 2
            tab.checked()
            study.tell(trial, 0.9)
            tab.shows("why-answer", "7 readings")
            assert tab.text("why-answer-sentences").split("\n\n") == str(study.why()).splitlines()
