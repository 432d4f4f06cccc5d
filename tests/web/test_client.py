"""`zn.connect`: the same words over HTTP."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from processes import running
from shell import ENVIRONMENT
from test_quantities import LikeAstropy, LikePint
from web.server_process import Server, line, serving
from zonal.engine.events import Unblocked
from zonal.study.history import pending_asked

pytestmark = pytest.mark.one_in(2)

SPACES: dict[str, Any] = {
    "box": zn.Box({"x": (0, 1), "y": (1, 5)}),
    "mixed": zn.Product({"x": (0.001, 1), "dye": ["red", "green"]}, scale={"x": "log"}),
    "sequences": zn.Sequences("ACGT", length=4),
    "points": zn.Points(np.linspace(0, 1, 12)[:, None]),
    "hierarchy": zn.Hierarchy({"A": {"a": ["1", "2"]}, "B": {"b": ["3", "4"]}}),
}


@pytest.mark.parametrize("kind", SPACES)
def test_a_remote_study_walks_as_a_local_one(server: Server, kind: str) -> None:
    here = zn.Study(SPACES[kind], budget=8, noise=0.1, rng=3)
    zn.Study.create(server.folder / f"{kind}.db", SPACES[kind], budget=8, noise=0.1, rng=3)
    there = zn.connect(server.url(kind))
    for _ in range(5):
        one, other = here.ask(), there.ask()
        assert (one.node, one.region) == (other.node, other.region)
        value = float(one.region.name.count("1") + one.number % 3)
        here.tell(one, value)
        there.tell(other, value)
    assert there.recommend() == here.recommend()
    assert there.recommend(2) == here.recommend(2)
    region = here.recommend().region
    assert there.predict(region) == here.predict(region)
    assert there.probability([region], above=0.5) == here.probability([region], above=0.5)
    assert there.tree == here.tree
    assert there.outlook(2) == here.outlook(2)
    assert [own.region for own in there.above(0.1, 0.1)] == [own.region for own in here.above(0.1, 0.1)]
    assert there.trials == here.trials
    seen = there.observe(region, 0.5, sem=0.2)
    there.correct(seen, 0.6)
    there.retract(seen)
    there.correct(0, 0.9, note="slip")
    there.retract(1)
    trial = there.ask()
    assert there.pending == (trial,)
    there.fail(trial)
    assert there.allow(trial.region) == 1
    there.cancel(there.ask())
    part, *_, rest = SPACES[kind].split(SPACES[kind].cell((0, 0)))
    limited = there.ask(within=[part, rest], avoid=rest)
    assert part.contains(limited.region)
    assert pending_asked(there)[0].avoid == (rest,)
    assert there.forbid(part, note="a wall", by="Anna") == [limited]
    assert there.forbidden == (part,)
    there.cancel(limited)
    assert there.allow(part) == 1
    there.extend(2)
    assert (there.budget, there.measured) == (10, 4)
    assert isinstance(there.refit(), bool)


def test_optimize_measures_here_and_tells_there(server: Server) -> None:
    line(server.folder, "run", budget=12)
    there = zn.connect(server.url("run"))
    left = there.ask(by="somebody")
    found = there.optimize(lambda region: float(region.center[0]), n=6)
    assert (found.success, found.nfev) == (True, 6)
    found = there.optimize(lambda region: float(region.center[0]), take_over=True, workers=2)
    assert (found.success, found.nfev) == (True, 12)
    assert there.trials[left.number].state == "measured"
    assert found.study is there
    there.extend(30)
    found = there.optimize(lambda region: float(region.center[0]), tolerance=0.5, progress=True)
    assert "within the tolerance of 0.5" in found.message
    assert (found.success, there.measured < 42) == (True, True)
    there.optimize(lambda region: float(region.center[0]))
    with pytest.raises(zn.BudgetSpent, match="budget"):
        there.ask()


def test_what_is_only_read_is_read_here(server: Server) -> None:
    """Tables, pictures, the past: from the events, as of the file; what others write is seen at once."""
    there = zn.connect(server.url(_told(server, "read")))
    here = zn.Study.open(server.folder / "read.db")
    assert str(there.table(history=True)) == str(here.table(history=True))
    assert there.top(3).to_dict() == here.top(3).to_dict()
    assert str(there) == str(here)
    assert there.timestamps == here.timestamps
    assert there.snapshot(2)[0].recommend() == here.snapshot(2)[0].recommend()
    assert there.plot().get_title() == here.plot().get_title()
    here.tell(here.ask(), 0.9)
    assert (there.measured, there.events) == (here.measured, here.events)
    again = pickle.loads(pickle.dumps(there))
    assert again.measured == here.measured
    seen = there.observe([(0, 0.5)], 0.4, feedback=zn.Center())
    assert there.observations == (seen,)
    with pytest.raises(zn.InvalidInput, match="feedback must be"):
        there.observe([(0, 0.5)], 0.4, feedback="Center")  # type: ignore[call-overload]
    _told(server, "else", 2)
    (server.folder / "else.db").rename(server.folder / "read.db")
    with pytest.raises(zn.StudyFileError, match="no longer the same"):
        there.measured  # noqa: B018


def _told(server: Server, name: str, told: int = 5) -> str:
    study = line(server.folder, name, told=told)
    study.correct(1, 0.3, note="slip")
    return name


def test_errors_are_those_of_the_library(server: Server) -> None:
    line(server.folder, "errors", told=1)
    there = zn.connect(server.url("errors"))
    with pytest.raises(zn.TrialError, match="already"):
        there.tell(0, 9.0)
    with pytest.raises(zn.InvalidInput, match="finite"):
        there.tell(0, float("nan"))
    with pytest.raises(zn.InvalidInput, match="nothing failed"):
        there.allow([(0, 1)])
    with pytest.raises(zn.TrialError, match="does not belong to this study"):
        there.tell(line(server.folder, "other").ask(), 0.5)
    with pytest.raises(zn.StudyFileError, match="Download it from its page"):
        there.save("here.db")
    with pytest.raises(AttributeError, match=r"Did you mean recommend\(\)"):
        there.best_trial  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(zn.StudyFileError, match="no study"):
        zn.connect(server.url("nobody"))
    for wrong in ("sky.db", f"{server.address}/errors", "ftp://x/studies/y", 3):
        with pytest.raises(zn.InvalidInput, match="address of a study"):
            zn.connect(wrong)  # type: ignore[arg-type]


def test_quantities_and_numbers_of_trials_are_taken_as_by_a_local_study(server: Server) -> None:
    space = zn.Box({"l": (-180, 180)}, units={"l": "deg"})
    study = zn.Study.create(server.folder / "units.db", space, budget=8, noise=0.1, value_unit="K")
    seen = study.observe([(0, 10)], 2.0, sem=0.1, feedback=zn.Slope("l"))
    there: Any = zn.connect(server.url("units"))
    trial = there.ask()
    there.tell(trial, LikeAstropy(2000.0, "mK"), sem=LikePint(100.0, "mK"), slopes={"l": (np.float32(2), 0.5)})
    assert [there.trials[0].value, there.trials[0].sem] == pytest.approx([2, 0.1])
    assert there.observations[1].value == 2
    there.correct(trial, LikePint(3.0, "K"))
    assert there.trials[0].value == 3
    assert there.observe([(0, 10)], LikeAstropy(500.0, "mK")).value == pytest.approx(0.5)
    with pytest.raises(zn.InvalidInput, match="a measured value must be in 'K'"):
        there.observe([(0, 10)], LikeAstropy(5.0, "deg"))
    per = "slope along l must come without a unit, as a number of K per deg"
    slope = LikeAstropy(2.0, "K")
    attempts: list[Callable[[], Any]] = [
        lambda: there.observe([(0, 10)], slope, sem=0.1, feedback=zn.Slope("l")),
        lambda: there.correct(there.observations[0], slope),
        lambda: there.tell(there.ask(), 1.0, slopes={"l": (slope, 0.1)}),
    ]
    for refused in attempts:
        with pytest.raises(zn.InvalidInput, match=per):
            refused()
    (left,) = there.pending
    for word in (there.fail, there.cancel):  # an observation's number is not that of a trial
        with pytest.raises(zn.InvalidInput, match="a trial must be a whole number"):
            word(there.observations[seen.number])
    there.fail(left, retry=False)
    there._forgive([left.number])
    assert there.events[-1] == (Unblocked((left.number,)),)
    for wrong in ("01", 3):
        with pytest.raises(zn.InvalidInput, match="trials must be a list"):
            there._forgive(wrong)
    with pytest.raises(zn.InvalidInput, match="a trial must be a whole number"):
        there._forgive([there.observations[0]])


def test_a_client_goes_on_when_the_server_comes_back(server: Server) -> None:
    line(server.folder, "back", budget=20)
    with serving(server.folder) as own:
        there = zn.connect(own.url("back"))
        trial = there.ask()
        own.kill()
        reviving = threading.Timer(0.5, own.start)
        reviving.start()
        there.tell(trial, 0.4)
        reviving.join()
        assert there.measured == 1


def test_the_library_alone_loads_nothing_of_the_service() -> None:
    blocked = (
        "import sys, zonal; assert not [m for m in sys.modules if m.startswith(('zonal.web', 'starlette'))]\n"
        "sys.modules['starlette'] = sys.modules['uvicorn'] = None; zonal.connect\n"
        "from zonal.cli.main import main; main(['serve', '.'])"
    )
    said = subprocess.run([sys.executable, "-c", blocked], env=ENVIRONMENT, capture_output=True, text=True)
    assert said.returncode == 1
    assert "pip install 'zonal[web]'" in said.stderr
    assert "Traceback" not in said.stderr


PAGE = (Path(__file__).parents[2] / "docs" / "manual" / "serve.md").read_text()


def test_the_manuals_requests_do_what_it_says(server: Server) -> None:
    if not shutil.which("curl"):
        pytest.skip("there is no curl here")
    (lines,) = re.findall(r"\n\n((?:    .*\n)*    at=http.*\n(?:    .*\n)*)", PAGE)
    script = re.sub(r"\n    ", "\n", f"\n{lines}").replace("http://127.0.0.1:8321", server.address)
    said = subprocess.run(["sh", "-eu"], input=script, capture_output=True, text=True, env=ENVIRONMENT)
    assert "Refused" not in said.stdout
    study = zn.Study.open(server.folder / "ink.db")
    assert [(own.value, own.sem, own.note) for own in study.trials] == [(41.3, 0.4, "first")]
    assert json.dumps(study.recommend().region.name) in said.stdout
    (python,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    script = python.replace("http://127.0.0.1:8321", server.address).replace("token=...", 'token=""')
    script = f"import zonal as zn\nmeasure = lambda region: float(region.center[0])\n{script}"
    subprocess.run([sys.executable, "-c", script], check=True, env=ENVIRONMENT, cwd=server.folder)
    study.refresh()
    assert study.remaining == 0
    (server.folder / "ink.db").unlink()


def test_behind_a_proxy_it_is_reached_by_its_name(tmp_path: Path) -> None:
    """As the manual's nginx passes requests on: its name as Host, https as the scheme."""
    line(tmp_path, told=2)
    assert "proxy_set_header Host $host;" in PAGE
    assert "proxy_set_header X-Forwarded-Proto $scheme;" in PAGE
    token = "a-token-of-a-test-0123456789"
    passed = {"Host": "zonal.example.org", "X-Forwarded-Proto": "https", "Origin": "https://zonal.example.org"}
    with serving(tmp_path, "--name", "zonal.example.org", ZONAL_TOKEN=token) as behind:
        assert behind.get("/api/v1/studies", **passed).status == 401
        login = behind.post("/login", {"token": token}, **passed)
        assert "Secure" in login.headers["set-cookie"]
        cookie = login.headers["set-cookie"].partition(";")[0]
        assert behind.post("/api/v1/studies/line/ask", {}, Cookie=cookie, **passed).status == 200
        evil = {**passed, "Origin": "https://evil.example"}
        assert behind.post("/api/v1/studies/line/ask", {}, Cookie=cookie, **evil).status == 403
        assert zn.connect(behind.url("line"), token=token).measured == 2
        with pytest.raises(zn.ZonalError, match="requires its token"):
            zn.connect(behind.url("line"), token="wrong")


def test_the_manuals_shell_client_measures_from_two_hosts(server: Server, tmp_path: Path) -> None:
    if not shutil.which("curl"):
        pytest.skip("there is no curl here")
    (script,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "measure.sh").write_text(script)
    (tmp_path / "instrument").write_text('#!/bin/sh\nawk "BEGIN { print ($1 + $2) / 100 }"\n')
    (tmp_path / "instrument").chmod(0o755)
    zn.Study.create(server.folder / "ink.db", zn.Box({"T": (20, 80)}), budget=6, kernel=zn.RBF(1, 20), noise=0.1)
    command = ["sh", "measure.sh", f"{server.address}/api/v1/studies/ink"]
    how: dict[str, Any] = {"cwd": tmp_path, "stdout": subprocess.PIPE, "env": {**ENVIRONMENT, "ZONAL_TOKEN": ""}}
    with running(*command, **how) as one, running(*command, **how) as other:
        for host in (one, other):
            assert "Budget spent" in host.communicate(timeout=120)[0]
    study = zn.Study.open(server.folder / "ink.db")
    assert (study.measured, len(study.trials)) == (6, 6)
    assert all(trial.value == pytest.approx(2 * trial.region.center[0] / 100, abs=1e-4) for trial in study.trials)


def test_many_observations_are_one_request_and_all_or_none(server: Server) -> None:
    zn.Study.create(server.folder / "many.db", SPACES["box"], budget=8, noise=0.1, rng=3)
    there = zn.connect(server.url("many"))
    region = there.space.cell((1, 0))
    first, second = there.observe([(region, 0.5), {"region": region, "value": 0.4, "sem": 0.2, "note": "windy"}])
    assert (first.value, second.sem, second.note) == (0.5, 0.2, "windy")
    assert len(there.events) == 2
    with pytest.raises(zn.ZonalError, match="measurement 1: "):
        there.observe([(region, 0.5), (region, 0.5, -1.0)])
    assert len(there.observations) == 2
