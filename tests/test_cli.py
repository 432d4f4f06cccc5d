"""The command line, as a user types it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from processes import running, wait_for
from shell import ENVIRONMENT, PROGRAM, SOURCE
from zonal.cli import main
from zonal.commands.frame import plain_warnings
from zonal.paper import regret, searches, sweeps


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(words))
    return result.exit_code, result.output


def test_the_demo_prints_what_it_found_and_writes_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "found.png"
    code, output = run("demo", "--out", str(picture))
    assert code == 0
    for word in ("region found", "true best average", "aggregated regret", "time of the search", str(picture)):
        assert word in output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000


def test_the_demo_is_reproducible_and_its_regret_small(tmp_path: Path) -> None:
    words = ["demo", "--out", str(tmp_path / "a.svg"), "--rng", "3"]
    texts = [CliRunner().invoke(main, words).stdout for _ in range(2)]
    kept = [[line for line in text.splitlines() if "region found" in line or "regret" in line] for text in texts]
    assert kept[0] == kept[1]
    assert float(kept[0][1].split()[2]) < 0.1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["dmeo"], "demo"),
        (["demo", "--budget", "0"], "0"),
        (["demo", "--out", "picture.doc"], ".png"),
        (["demo", "--out", "nowhere/a.png"], "nowhere"),
        (["paper", "regert"], "regret"),
        (["paper", "regret", "--preset", "theirs"], "authors"),
    ],
)
def test_a_typo_gets_a_clear_error(words: list[str], complaint: str) -> None:
    code, output = run(*words)
    assert code == 2
    assert complaint in output
    assert "Traceback" not in output


def test_commands_are_listed_in_the_order_a_person_meets_them() -> None:
    shown = run("--help")[1].split("Commands:")[1]
    shown = shown.split("Exit codes:")[0]
    campaign = """new ask tell observe give-up forbid allow correct retract recommend show predict above below plot
        extend refit export import verify run report serve"""
    listed = [line.split()[0] for line in shown.strip().splitlines()]
    assert listed == ["demo", *campaign.split(), "completion", "rehearse", "power", "paper"]


def test_the_names_of_the_package_are_those_it_is_for() -> None:
    import zonal as zn

    assert {name for name in dir(zn) if not name.startswith("__")} == set(zn.__all__)
    assert all(hasattr(zn, name) for name in dir(zn))


def test_experiments_name_their_figure() -> None:
    said = " ".join(run("paper", "--help")[1].split())
    for number in range(1, 7):
        assert f"(Figure {number})" in said
    assert "measured values" not in said  # of a picture in which nothing is computed


def test_help_and_version_are_there() -> None:
    assert "demo" in run("--help")[1]
    assert "theory" in run("paper", "--help")[1]
    assert "0.1.0" in run("--version")[1]


@pytest.mark.parametrize("preset", ["authors", "paper"])
def test_an_experiment_prints_its_table_and_writes_pictures_and_tables(
    tmp_path: Path, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "LEVEL", 4)  # 16 smallest regions take much less time than 256
    options = ["--runs", "2", "--budget", "12", "--jobs", "1", "--out", str(tmp_path)]
    code, output = run("paper", "regret", "--preset", preset, *options)
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
    base = ["paper", "regret", "--runs", "2", "--budget", "10", "--preset", "paper", "--out", str(folder)]
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
    assert numbers(tmp_path / "other", "--jobs", "1", "--rng", "1") != rows(played)


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
    words = ["paper", "regret", "--budget", "20", "--preset", "authors", "--out", str(tmp_path)]
    kept = tmp_path / "runs.jsonl"
    with running(
        sys.executable, "-c", "from zonal.cli import main; main()", *words, "--jobs", 2, "--runs", 1000,
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
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


@pytest.mark.parametrize("command", ["show", "verify", "new", "export"])
def test_ctrl_c_ends_any_command_with_130_and_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("zonal.commands.frame.Study.open", pressed)
    monkeypatch.setattr("zonal.commands.begin.Study.create", pressed)
    more = ["--axis", "x=0..1", "--budget", "3"] if command == "new" else []
    code, output = run(command, str(tmp_path / "a.db"), *more)
    assert (code, output) == (130, "Error: interrupted.\n")


def test_ctrl_c_while_a_command_is_imported_shows_no_traceback(tmp_path: Path) -> None:
    """A scipy whose import is interrupted stands for Ctrl-C in that moment."""
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy" / "__init__.py").write_text("raise KeyboardInterrupt\n")
    script = tmp_path / "zonal"
    script.write_text("import sys\nfrom zonal.cli import main\nsys.exit(main())\n")
    env = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(tmp_path), SOURCE])}
    for words in ([*PROGRAM, "--version"], [sys.executable, str(script), "--version"]):
        done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=60)
        assert (done.returncode, done.stderr) == (130, "Error: interrupted.\n"), words
    library = subprocess.run([sys.executable, "-c", "import zonal"], capture_output=True, text=True, env=env)
    assert "Traceback" in library.stderr  # it is not ours to hide


def test_what_a_library_has_deprecated_is_no_business_of_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    class Both(UserWarning, DeprecationWarning):
        """As pyparsing's, which matplotlib calls forth."""

    with plain_warnings():
        warnings.warn("one_of", Both, stacklevel=1)
        warnings.warn("the noise is odd", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: the noise is odd\n"
