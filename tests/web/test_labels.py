"""Labels of readings over HTTP, and on the page."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from web.browser import Tab, chromium
from web.server_process import Server

GIVEN: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "offsets": ["plate", "source"]}


def test_a_remote_study_takes_labels_as_a_local_one(server: Server) -> None:
    here = zn.Study([(0, 1)], budget=8, rng=3, **GIVEN)
    zn.Study.create(server.folder / "plates.db", [(0, 1)], budget=8, rng=3, **GIVEN)
    there = zn.connect(server.url("plates"))
    earlier = zn.Study([(0, 1)], budget=3, rng=1, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    earlier.optimize(lambda region: float(region.center[0]))
    for study in (here, there):
        study.observe_study(earlier, labels={"source": "2019"}, key="once")
        study.observe([(0.2, 0.3)], 0.4, labels={"plate": 2})
        for number, trial in enumerate(study.ask(4, labels=[{"plate": number // 2} for number in range(4)])):
            study.tell(trial, float(number), labels={"plate": 5} if number == 3 else None)
        study.correct(1, 0.7, labels={"plate": 3})
    assert [trial.labels for trial in there.trials] == [trial.labels for trial in here.trials]
    assert [seen.labels for seen in there.observations] == [seen.labels for seen in here.observations]
    assert there.offsets().columns == here.offsets().columns
    assert there.recommend() == here.recommend()
    with pytest.raises(zn.InvalidInput, match="plate"):
        there.tell(there.ask(), 1.0)


def test_the_page_asks_for_the_plate_and_keeps_it_for_the_next_reading(server: Server) -> None:
    zn.Study.create(server.folder / "wells.db", [(0, 1)], budget=8, rng=3, **GIVEN)
    with chromium() as browser, Tab(browser, server) as tab:
        page = tab.go("/studies/wells")
        page.locator("#ask").click()
        page.locator("#field-value:focus").wait_for()
        page.keyboard.type("0.5")
        page.keyboard.press("Enter")
        tab.shows("refused", "Write the plate of this reading.")
        page.locator("#field-label-0").fill("A 7")
        page.keyboard.press("Enter")
        page.locator("#ask:focus").wait_for()
        page.keyboard.press("Enter")
        page.locator("#field-value:focus").wait_for()
        assert page.locator("#field-label-0").input_value() == "A 7"
    study = zn.Study.open(server.folder / "wells.db")
    assert dict(study.trials[0].labels) == {"plate": "A 7"}
