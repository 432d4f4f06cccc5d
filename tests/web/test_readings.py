"""A reading that may be a mistake: the same over HTTP, to a client, on the page, in the report and in a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from shell import answer, zonal
from web.browser import Tab
from web.server_process import serving

WILD = 7


def campaign(folder: Path, rounds: int = 12) -> zn.Study:
    """Return a study in a file with a wild reading, and its repeat."""
    space = zn.Box({"x": (0, 1)}, smallest=1 / 16)
    study = zn.Study.create(
        folder / "line.db", space, budget=20, kernel=zn.RBF(1.0, 0.2), noise=0.1, value_unit="K", rng=0
    )
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        trial = study.ask()
        study.tell(trial, 60.0 if trial.number == WILD else 0.1 * float(rng.standard_normal()))
    return study


def test_what_is_set_aside_is_the_same_everywhere(tmp_path: Path) -> None:
    study = campaign(tmp_path)
    assert study.trials[WILD].state == "set aside"
    with serving(tmp_path) as server:
        path = "/api/v1/studies/line"
        said = server.get(f"{path}/suspects").json
        assert said["columns"]["region"] == list(study.suspects()["region"])
        assert said["columns"]["sigmas"] == pytest.approx(study.suspects()["sigmas"])
        assert said["columns"]["number"][0] == WILD
        assert said["hangs_on"] == list(study.recommend().hangs_on)
        remote = zn.connect(server.url("line"))
        assert str(remote.suspects()) == str(study.suspects())
        remote.reinstate(WILD, note="it was right", by="Anna")
        remote.set_aside(remote.trials[2], by="Anna")
        study.refresh()
        assert [study.trials[number].state for number in (2, WILD)] == ["set aside", "measured"]
        trials = server.get(f"{path}/trials").json
        assert (trials["state"][2], trials["value"][2]) == ("set aside", study.trials[2].value)
        assert not trials["earlier"]
        assert server.get(path).json["measured"] == 12
        assert remote.recommend() == study.recommend()


def test_the_report_and_a_shell_say_it(tmp_path: Path) -> None:
    study, file = campaign(tmp_path), tmp_path / "line.db"
    page = study.report()
    assert f"not counted: trial {WILD} (set aside)" in page
    assert "The readings" in page
    assert "1 reading (60) was set aside as gross errors" in page or "1 reading (60) was set aside" in page
    assert f"trial {WILD} (set aside)" in zonal("show", file).stdout
    listed = answer("suspects", file, "--json")
    assert listed["columns"]["number"][0] == WILD
    assert "60" in zonal("suspects", file, "-k", 1).stdout
    assert f"reinstated: trial {WILD}, 60" in zonal("reinstate", file, WILD, "--by", "Anna").stderr
    assert f"set aside: trial {WILD}, 60" in zonal("set-aside", file, WILD, "--note", "lamp").stderr
    assert "every decision matches" in zonal("verify", file).stderr
    zonal("export", file, "--format", "events", "--out", tmp_path / "events.jsonl")
    zonal("import", tmp_path / "again.db", tmp_path / "events.jsonl")
    assert zn.Study.open(tmp_path / "again.db").trials[WILD].state == "set aside"
    study.plot("history")


def test_the_page_lists_suspects_and_reinstates(browser: Any, tmp_path: Path) -> None:
    study = campaign(tmp_path)
    with serving(tmp_path) as server:
        tab = Tab(browser, server)
        page = tab.go("/studies/line")
        page.click("#check")
        page.wait_for_selector("#suspects table")
        row = page.inner_text("#suspects tbody tr")
        assert f"#{WILD}" in row
        assert "set aside" in row
        page.click(f"#trial-{WILD} button[aria-label='reinstate trial {WILD}']")
        page.click("text=Reinstate it")
        page.wait_for_selector(f"#trial-{WILD} button[aria-label='set aside trial {WILD}']")
        study.refresh()
        assert study.trials[WILD].state == "measured"
        tab.checked()
        assert not tab.wrong
