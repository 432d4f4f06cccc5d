"""Over HTTP: notes of failures are kept, sheets taken completely or not at all, and nothing is left open."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import zonal as zn
from web.server_process import Server, line

SERVE = Path(__file__).parents[2] / "docs" / "manual" / "serve.md"


def test_notes_of_failures_are_kept_over_http(server: Server) -> None:
    study = line(server.folder, "notes")
    study.ask(4)
    at = "/api/v1/studies/notes/trials"
    assert server.post(f"{at}/0/fail", {"note": "the flask broke"}).status == 200
    assert server.post(f"{at}/1/cancel", {"note": "no time"}).status == 200
    far = zn.connect(server.url("notes"))
    far.fail(2, retry=False, note="too hot")
    far.cancel(3, note="not today")
    study.refresh()
    notes = ["the flask broke", "no time", "too hot", "not today"]
    assert [one.note for one in study.trials] == [one.note for one in far.trials] == notes
    assert server.get(at).json["note"] == {str(at): note for at, note in enumerate(notes)}
    assert "too hot" in server.get("/api/v1/studies/notes/export/trials.csv").content.decode()


def test_a_sheet_over_http_is_taken_completely_or_not_at_all(server: Server) -> None:
    study = line(server.folder, "sheets", budget=60, times=[1, 2], overhead=1.0)
    study.ask(3)
    before = (server.folder / "sheets.db").read_bytes()
    said = server.post("/api/v1/studies/sheets/sheet", {"csv": "trial;time;value\n0;1;0,1\n1;x;0,2\n2;1;0,3\n"})
    assert said.status == 422
    assert "nothing was recorded; wrong rows: 1 of 3.\n  row 2 (line 3): a time must be" in said.json["detail"]
    assert (server.folder / "sheets.db").read_bytes() == before


def test_a_sheet_over_http_says_which_rows_are_older_than_the_study(server: Server) -> None:
    study = line(server.folder, "old")
    study.ask(3)
    study.tell(0, 0.5)
    study.correct(0, 0.75)
    study.fail(1, retry=False)
    body = {"csv": "trial,value,note\n0,0.5,\n1,0.25,\n2,,waits\n", "correct": True}
    said = server.post("/api/v1/studies/old/sheet", body).json
    assert (said["new"], said["corrected"], said["notes"], said["empty"]) == (0, 0, 1, 1)
    assert said["outdated"] == [
        {"trial": 0, "row": 1, "how": "was corrected to 0.75"},
        {"trial": 1, "row": 2, "how": "was failed"},
    ]
    study.refresh()
    assert (study.trials[0].value, study.trials[2].note) == (0.75, "waits")
    said = server.post("/api/v1/studies/old/sheet", {**body, "changed": True}).json
    assert (said["new"], said["corrected"], said["outdated"]) == (1, 1, [])
    said = server.post("/api/v1/studies/old/sheet", {"csv": "trial,value,note\n1,,dusty\n"}).json
    assert said["notes_left"] == [{"trial": 1, "row": 1, "how": "has a value", "option": "correct"}]
    said = server.post("/api/v1/studies/old/sheet", {"csv": 'trial,value\n2,"1,125"\n'})
    assert 'Pass decimal=","' in said.json["detail"]
    assert (
        server.post("/api/v1/studies/old/sheet", {"csv": 'trial,value\n2,"1,125"\n', "decimal": ","}).status == 200
    )
    assert server.post("/api/v1/studies/old/sheet", {"csv": "trial,value\n2,1\n", "decimal": ";"}).status == 422


@pytest.mark.skipif(shutil.which("curl") is None, reason="the manual's client needs curl")
def test_the_manuals_shell_client_gives_up_what_is_refused(server: Server, tmp_path: Path) -> None:
    recipe = {"budget": 12, "axes": {"T": {"low": 20, "high": 80, "unit": "C"}}, "measurement": {"noise": 0.1}}
    assert server.post("/api/v1/studies", {"name": "ink", "recipe": recipe}).status == 201
    (script,) = re.findall(r"```sh\n(#!/bin/sh\n# measure.sh.*?)```", SERVE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "measure.sh").write_text(script)
    # Every third measurement is no number, and every seventh fails.
    instrument = """#!/bin/sh
    n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count
    [ $((n % 7)) -eq 0 ] && exit 1
    [ $((n % 3)) -eq 0 ] && echo nan || echo "0.$n"
    """
    (tmp_path / "instrument").write_text(instrument)
    (tmp_path / "instrument").chmod(0o755)
    words = ["sh", "measure.sh", f"{server.address}/api/v1/studies/ink"]
    environment = {**os.environ, "ZONAL_TOKEN": "", "no_proxy": "127.0.0.1"}
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["title"] == "Budget spent"
    study = zn.Study.open(server.folder / "ink.db")
    assert (study.measured, len(study.pending)) == (12, 0)
    failed = [one.note.partition(": ")[2] for one in study.trials if one.state == "failed"]
    assert set(failed) == {"no number was measured", "the instrument failed"}
    assert failed.count("no number was measured") == ran.stderr.count("nan was not taken. {") > 3
