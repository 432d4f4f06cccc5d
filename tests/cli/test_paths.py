"""Paths that no system can have, in every command that takes one."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

import zonal as zn
from shell import zonal
from zonal.cli.main import main
from zonal.cli.options import FilePath

LINES = [
    "new PATH --axis x=0..1 --budget 5",
    "new n.db --recipe PATH",
    "new n.db --points PATH.csv --coords x --budget 5",
    "ask PATH",
    "ask a.db --csv PATH",
    "tell PATH 0 1",
    "tell a.db --csv PATH.csv",
    "observe PATH x=0..1 1",
    "observe a.db --csv PATH.csv",
    "fail PATH 0",
    "recommend PATH",
    "show PATH",
    "predict PATH x=0..1",
    "predict a.db --csv PATH.csv",
    "plot PATH",
    "plot a.db --out PATH.png",
    "export PATH",
    "export a.db --out PATH",
    "import PATH a.jsonl",
    "import n.db PATH",
    "verify PATH",
    "extend PATH 3",
    "run PATH -- true",
    "rehearse PATH.csv --value v --coords x --budget 3 --noise 0.1",
    "rehearse t.csv --value v --coords x --budget 3 --noise 0.1 --out PATH.png",
    "power PATH.csv --value v --coords x --budget 3 --noise 0.1",
    "power t.csv --value v --coords x --budget 3 --noise 0.1 --out PATH.png",
    "demo --out PATH.png",
]


@pytest.mark.parametrize("path", ["a\0b", "x" * 300], ids=["NUL", "long"])
@pytest.mark.parametrize("line", LINES)
def test_a_path_that_cannot_be_is_refused_in_one_line(
    line: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    zn.Study.create("a.db", [(0, 1)], budget=5, noise=0.1)
    said = zonal(*(word.replace("PATH", path) for word in line.split()), code=1).stderr
    assert said.startswith("Error: a path ")
    assert said.count("\n") == 1
    assert os.listdir() == ["a.db"]
    assert zn.Study.open("a.db").measured == 0


def test_no_command_takes_a_path_that_is_not_checked() -> None:
    def every(command: click.Command) -> list[click.Parameter]:
        own = list(command.params)
        return own + [param for sub in getattr(command, "commands", {}).values() for param in every(sub)]

    taken = [param.type for param in every(main) if isinstance(param.type, click.Path)]
    assert len(taken) > 20
    assert all(isinstance(kind, FilePath) for kind in taken)


@pytest.mark.parametrize("table", ["a\\u0000b.csv", "x" * 300 + ".csv"])
def test_a_recipe_that_names_such_a_path_is_told_the_key(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.toml").write_text(f'budget = 9\n[points]\ntable = "{table}"\ncoords = ["x"]\n')
    assert "Error: a.toml, points.table: a path " in zonal("new", "a.db", "--recipe", "a.toml", code=1).stderr


@pytest.mark.parametrize("path", [None, 3, b"a.db", ["a"], "a\0b", "\ud800", "a" * 300, "a" * 250])
def test_a_study_cannot_live_there(path: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = zn.Study([(0, 1)], budget=5, noise=0.1)
    with pytest.raises(zn.InvalidInput, match="path"):
        study.save(path)  # type: ignore[arg-type]
    with pytest.raises(zn.InvalidInput, match="path"):
        zn.Study.create(path, [(0, 1)], budget=5)  # type: ignore[arg-type]
    with pytest.raises(zn.ZonalError):
        zn.Study.open(path)  # type: ignore[arg-type]
    assert os.listdir() == []
    study.save("a" * 220)
    assert zn.Study.open("a" * 220).ask().number == 0
