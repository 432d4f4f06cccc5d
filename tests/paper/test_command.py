"""The paper's experiments, run as a user types them: `python -m reproduction`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from processes import running, wait_for
from reproduction import regret, searches, sweeps
from reproduction.__main__ import paper
from zonal.cli.options import FilePath

ROOT = Path(__file__).parents[2]


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(paper, list(words))
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["regert"], "regret"),
        (["regret", "--preset", "theirs"], "authors"),
        (["regret", "--out", "/proc/nowhere"], "/proc/nowhere cannot be written"),
    ],
)
def test_a_mistake_gets_a_clear_error(words: list[str], complaint: str) -> None:
    code, output = run(*words)
    assert code
    assert complaint in output
    assert "Traceback" not in output


@pytest.mark.parametrize("path", ["a\0b", "x" * 300], ids=["NUL", "long"])
def test_a_path_that_cannot_be_is_refused_in_one_line(path: str) -> None:
    code, output = run("figure1", "--out", path)
    assert code == 1
    assert output.startswith("Error: a path ")
    assert output.count("\n") == 1
    assert all(isinstance(own.params[-1].type, FilePath) for own in paper.commands.values())


def test_experiments_name_their_figure() -> None:
    said = " ".join(run("--help")[1].split())
    for number in range(1, 7):
        assert f"(Figure {number})" in said
    assert "measured values" not in said  # of a picture in which nothing is computed


@pytest.mark.parametrize("preset", ["authors", "paper"])
def test_an_experiment_prints_its_table_and_writes_pictures_and_tables(
    tmp_path: Path, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "LEVEL", 4)  # 16 smallest regions take much less time than 256
    options = ["--runs", "2", "--budget", "12", "--jobs", "1", "--out", str(tmp_path)]
    code, output = run("regret", "--preset", preset, *options)
    assert code == 0, output
    names = list(searches.policies()) if preset == "paper" else ["GPOO", "StoOO", "GPTree"]
    assert all(name in output for name in names)
    assert {path.name for path in tmp_path.iterdir()} == {
        "regret.pdf", "regret.png", "regret.csv", "regret.json", "runs.jsonl",
    }  # fmt: skip
    content = json.loads((tmp_path / "regret.json").read_text())
    assert content["settings"]["preset"] == preset
    assert content["settings"]["rng"] == 0
    assert set(content["versions"]) == {"zonal", "numpy", "python"}


def rows(folder: Path) -> object:
    return json.loads((folder / "regret.json").read_text())["rows"]


def numbers(folder: Path, *words: str) -> object:
    base = ["regret", "--runs", "2", "--budget", "10", "--preset", "paper", "--out", str(folder)]
    assert run(*base, *words)[0] == 0
    return rows(folder)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The comparison by four of its nine algorithms, one of which draws random numbers; without its picture."""
    some = {name: searches.policies()[name] for name in ("GPOO", "StoOO", "GPTree", "Thompson")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regret, "policies", lambda: some)
        patch.setattr(regret, "_figure", lambda *_: None)
        patch.setattr(sweeps, "save", lambda *_: None)
        folder = tmp_path_factory.mktemp("played")
        numbers(folder, "--jobs", "1")
        yield folder


@pytest.mark.torture
def test_the_number_of_processes_changes_no_number(tmp_path: Path, played: Path) -> None:
    assert numbers(tmp_path / "two", "--jobs", "2") == rows(played)
    assert numbers(tmp_path / "other", "--jobs", "1", "--seed", "1") != rows(played)


def test_a_finished_run_is_not_computed_again(tmp_path: Path, played: Path) -> None:
    again = shutil.copytree(played, tmp_path / "again")
    kept = (again / "runs.jsonl").read_text()
    start = time.monotonic()
    numbers(again, "--jobs", "1")
    assert (again / "runs.jsonl").read_text() == kept
    assert time.monotonic() - start < 60


def test_a_torn_last_line_is_computed_again(tmp_path: Path, played: Path) -> None:
    path = shutil.copytree(played, tmp_path / "torn") / "runs.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    assert numbers(path.parent, "--jobs", "1") == rows(played)
    assert path.read_bytes().endswith(b"\n")


def test_ctrl_c_keeps_finished_runs_and_the_same_command_goes_on(tmp_path: Path) -> None:
    words = ["regret", "--budget", "20", "--preset", "authors", "--out", str(tmp_path)]
    kept = tmp_path / "runs.jsonl"
    with running(
        sys.executable, "-m", "reproduction", *words, "--jobs", 2, "--runs", 1000,
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        wait_for(lambda: kept.exists() and kept.read_text().count("\n") >= 10)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
        _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "goes on from there" in error
    assert "Traceback" not in error
    finished = kept.read_text()
    code, output = run(*words, "--jobs", "1", "--runs", "2")
    assert code == 0, output
    assert kept.read_text().startswith(finished)
    again = [json.loads(line)[0] for line in kept.read_text().splitlines()]
    assert len(again) == len(set(again))
