"""Programs read every command: `--json` prints one JSON value, errors included, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from shell import zonal
from zonal.cli.main import main

# What is tried of each command, in this order: a whole campaign.
CALLS = {
    "new": "s.db --axis x=0..1 --smallest 0.125 --budget 6",
    "ask": "s.db",
    "tell": "s.db 0 1.5",
    "observe": "s.db x=0..0.5 1.0 --sem 0.2",
    "correct": "s.db 0 1.6",
    "retract": "s.db 0",
    "forbid": "s.db x=0.9..1",
    "allow": "s.db x=0..1",
    "recommend": "s.db",
    "show": "s.db",
    "why": "s.db",
    "worth": "s.db x=0..0.3",
    "predict": "s.db x=0..0.3",
    "above": "s.db 0.5",
    "below": "s.db 0.5",
    "plot": "s.db --out p.png",
    "extend": "s.db 2",
    "refit": "s.db",
    "export": "s.db",
    "verify": "s.db",
    "report": "s.db",
    "run": "s.db -n 1 -- echo 1.0",
    "completion": "bash",
    "demo": "--budget 4 --out d.png",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(words: str, code: int = 0) -> Any:
    before, dashes, after = words.partition(" -- ")
    return json.loads(zonal(*f"{before} --json{dashes}{after}".split(), code=code).stdout)


def test_every_command_prints_json() -> None:
    for name, words in CALLS.items():
        said(f"{name} {words}")
    for name in ("fail", "cancel"):
        number = said("ask s.db")[0]["trial"]
        assert number not in said(f"{name} s.db {number}")["pending"]
    zonal("export", "s.db", "--format", "events", "--out", "e.jsonl")
    assert said("import t.db e.jsonl")["done"] == "import"


def test_every_command_has_the_option() -> None:
    for command in main.commands.values():
        assert any("--json" in param.opts for param in command.params), command.name


def test_errors_are_json_with_a_code_that_stays() -> None:
    zonal("new", "s.db", "--axis", "x=0..1", "--budget", "1")
    zonal("ask", "s.db")
    errors = {
        "ask s.db": (3, "nothing-left"),
        "tell s.db 7 1.0": (1, "no-such-trial"),
        "tell s.db 0 high": (1, "refused"),
        "tell s.db": (2, "usage"),
        "show none.db": (4, "file"),
        "worth s.db x=5..6": (1, "refused"),
        "why s.db 9": (1, "no-such-trial"),
        "nothing s.db": (2, "usage"),
        "serve none": (2, "usage"),
        "mcp none": (2, "usage"),
    }
    for words, (exit_code, code) in errors.items():
        error = said(words, code=exit_code)["error"]
        assert (error["code"], error["exit_code"]) == (code, exit_code), words
        assert error["message"]
