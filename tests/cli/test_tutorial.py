"""The tutorials, run as they stand: a biologist's five days, programs that measure, and a cluster."""

from __future__ import annotations

import csv
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import zonal as zn
from shell import ENVIRONMENT, fill, rows, zonal
from zonal.cli.main import main
from zonal.study.region_formats import region_json

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PROGRAMS = DOCS / "bench.md", DOCS / "program.md"
TYPO = "0.O7"
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield every command of the page, and the lines that it shows as its output."""
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            yield command, shown


class Lab:
    """Measures the pools of a sheet: averages of real binding scores, with noise; and things happen."""

    def __init__(self) -> None:
        scores = zn.data.tfbind8().e_score.reshape([4] * 8).mean(axis=(6, 7))
        self._space = zn.Sequences("ACGT", 6, smallest=16)
        self._pools = zn.simulation.from_table(self._space, scores)
        self._rng = np.random.default_rng(0)

    def fill_in(self, sheet: str) -> None:
        values = []
        for row in rows(sheet):
            average = self._pools.average(self._space.region(row["region"]))
            values.append(row["value"] or f"{average + 0.02 * self._rng.standard_normal():.4f}")
        if sheet == "tuesday.csv":
            values[4] = "0.07" if values[4] == TYPO else TYPO
        if sheet == "wednesday.csv":
            values[6] = ""
        fill(sheet, value=values)


def masked(line: str) -> str:
    return " ".join(NUMBER.sub("0", line).split())


def test_the_five_days_of_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (recipe,) = blocks("toml")
    (tmp_path / "pools.toml").write_text(recipe)
    lab, told = Lab(), 0
    for command, shown in commands():
        words = shlex.split(command)[1:]
        if words[0] == "tell":
            lab.fill_in(words[words.index("--csv") + 1])
        result = CliRunner().invoke(main, words)
        output = result.output.rstrip("\n").split("\n")
        if words[0] == "recommend":  # digits depend on the machine
            output, shown = list(map(masked, output)), list(map(masked, shown))
        assert output == shown, command
        assert (result.exit_code != 0) == shown[0].startswith("Error"), command
        told += words[0] == "tell"
    assert told == 6
    with_answers = CliRunner().invoke(main, ["export", "pools.db"]).output
    states = [row["state"] for row in csv.DictReader(with_answers.splitlines())]
    assert states.count("measured") == 52
    assert states.count("failed") == 1


def test_the_programs_of_the_page_on_programs_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = PROGRAMS.read_text(encoding="utf-8")
    new, run = re.findall(r"^    zonal (.*)$", page, re.MULTILINE)
    zonal(*shlex.split(new.replace("40", "8")))
    for kind in ("sh", "python"):
        (script,) = re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)
        Path("measure.sh").write_text(script)
        Path("measure.sh").chmod(0o755)
        zonal(*shlex.split(run.replace("run sky.db", "run sky.db -n 4")))
    trials = zn.Study.open("sky.db").trials
    assert [trial.sem for trial in trials] == [0.05] * 8
    assert {trial.state for trial in trials} <= {"measured", "set aside"}  # two programs measure two functions
    shown = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])
    assert set(shown["region"]) == set(region_json(trials[0].region))


def test_the_script_of_the_page_on_clusters_runs(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    (script,) = re.findall(r"```python\n(.*?)```", (DOCS / "cluster.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "sky.py").write_text(script.replace("budget=40", "budget=8").replace("n_workers=2", "n_workers=1"))
    words = [sys.executable, "sky.py"]
    run = subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "8 of 8 measurements made" in run.stdout
    assert [one.sem for one in zn.Study.open(tmp_path / "sky.db").trials] == [0.05] * 8
