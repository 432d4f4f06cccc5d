"""`zonal power`, as a user types it: from axes, sequences or a table to a report and a picture."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import zonal as zn
from cli.test_cli_rehearse import TABLE, interrupted, written
from zonal.cli.main import main

PNG = b"\x89PNG"
LINE = ["--axis", "x=0..1"]
ZONAL = [sys.executable, "-c", "from zonal.cli.main import main; main()"]


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["power", *(str(word) for word in words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def played(out: Path, *words: object) -> str:
    """Return the report of a short analysis."""
    code, report = run("--noise", 0.2, "--runs", 2, "--jobs", 1, "--out", out, *words)
    assert code == 0, report
    return report


def budgets_of(report: str) -> list[str]:
    """Return the first column of the table."""
    rows = re.findall(r"^ +(none|\d+)  +(\S+)  +\S+ \.\. \S+  ", report, re.MULTILINE)
    assert all(float(mean) >= 0 for _, mean in rows)
    return [budget for budget, _ in rows]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("words", "first"),
    [
        (LINE, "256 smallest regions, f with std 1 and a kernel drawn for each run, learned"),
        ([*LINE, "--smallest", "0.25", "--given"], "4 smallest regions, f with std 1 and a kernel"),
        (
            [
                "--axis",
                "l=-180..180:deg",
                "--axis",
                "sin_b=-1..1",
                "--smallest",
                "45,0.5",
                "--lengthscale",
                "40,.3",
            ],
            "32 smallest regions, f with std 1 and lengthscale 40, 0.3, learned",
        ),
        ([*LINE, "--lengthscale", "0.2", "--variance", "4", "--given"], "std 2 and lengthscale 0.2, given"),
        ([*LINE, "--signal", "3", "--minimize"], "std 3 and a kernel"),
        (["--sequences", "ACGT,3"], "64 smallest regions"),
        (["--axis", "c=1e-4..1::log", "--smallest", "0.5"], "8 smallest regions"),
        (["--axis", "x=0..1", "--axis", "dye=red,green", "--smallest", "0.25"], "8 smallest regions"),
        (["--sequences", "ACGT,4", "--smallest", "16"], "16 smallest regions"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_space_is_played_from_words_to_a_report_and_a_picture(
    tmp_path: Path, words: list[str], first: str
) -> None:
    out = tmp_path / "picture.png"
    report = played(out, *words, "--budget", "5,3")
    assert first in report.splitlines()[0]
    assert report.splitlines()[0].endswith("noise 0.2, 2 runs")
    assert budgets_of(report) == ["none", "3", "5"]
    assert ("in std of f" in report) == ("std 1 " not in report)
    assert report.splitlines()[-1] == f"picture  {out}"
    assert out.read_bytes().startswith(PNG)
    assert out.stat().st_size > 10_000


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "words",
    [
        ["--coords", "x,y"],
        ["--coords", "x,y", "--weight", "weight", "--smallest", "20", "--minimize"],
        ["--levels", "state,town,street"],
        ["--sequence", "codon"],
        ["--sequence", "codon", "--smallest", "4"],
    ],
    ids=" ".join,
)
def test_a_table_is_played_as_rehearse_takes_it(tmp_path: Path, words: list[str]) -> None:
    out = tmp_path / "picture.svg"
    report = played(out, written(tmp_path), "--value", "value", *words, "--budget", 5)
    assert re.match(rf"{16 if '4' in words else '[0-9]+'} smallest regions, the values of ", report)
    assert budgets_of(report) == ["none", "3", "5"]
    assert "best average value" in re.sub(r"<!--|-->", "", out.read_text())


def test_chance_on_a_table_is_what_the_table_says(tmp_path: Path) -> None:
    report = played(
        tmp_path / "a.png", written(tmp_path), "--value", "value", "--sequence", "codon", "--budget", 3
    )
    (chance,) = re.findall(r"none +(\S+)", report)
    assert float(chance) == pytest.approx(max(TABLE["value"]) - np.mean(TABLE["value"]), rel=1e-2)


def test_budgets_are_repeated_or_listed_and_one_is_played_in_parts(tmp_path: Path) -> None:
    out, words = tmp_path / "a.png", ["--sequences", "ACGT,2"]
    assert budgets_of(played(out, *words, "--budget", 4, "--budget", "2,3")) == ["none", "2", "3", "4"]
    assert budgets_of(played(out, *words, "--budget", 16)) == ["none", "3", "4", "8", "16"]


@pytest.mark.torture
def test_neither_processes_nor_time_change_the_report_but_the_seed_does(tmp_path: Path) -> None:
    words = ["--sequences", "ACGT,2", "--budget", "4"]
    reports = [played(tmp_path / "a.png", *words, *more) for more in ([], ["--jobs", 2], ["--seed", 1])]
    assert reports[0] == reports[1] != reports[2]


@pytest.mark.parametrize(
    ("words", "complaints"),
    [
        ([], ["given in exactly one way", "none", "--axis"]),
        ([*LINE, "--sequences", "AC,2"], ["--axis and --sequences", "one of"]),
        ([*LINE, "table.csv"], ["Missing option '--value'"]),
        (["--axis", "x=0,1"], ["'x=0,1'", "x=0..1"]),
        (["--axis", "0..1"], ["'0..1'", "x=0..1"]),
        (["--axis", "x=a..1"], ["'x=a..1'", "x=0..1"]),
        (["--axis", "x=1..0"], ["must increase", "(1.0, 0.0)"]),
        (["--axis", "x=0..inf"], ["finite", "inf"]),
        ([*LINE, *LINE], ["named twice", "'x=0..1'"]),
        (["--sequences", "ACGT"], ["'ACGT'", "ACGT,8"]),
        (["--sequences", "A,8"], ["2 to 52 symbols", "1"]),
        (["--sequences", "ACGT,12"], ["65536", "fewer positions"]),
        (["--sequences", "AC,2", "--smallest", "1.5"], ["--sequences: smallest must be a whole number", "1.5"]),
        (["--sequences", "AC,2", "--lengthscale", "1"], ["no lengthscale", "got 1."]),
        ([*LINE, "--coords", "v"], ["--coords", "leave the option out"]),
        ([*LINE, "--noise", "-1"], ["--noise", "-1"]),
        ([*LINE, "--noise", "nan"], ["--noise", "nan is not a finite number"]),
        ([*LINE, "--signal", "0"], ["--signal", "0.0 is not in the range x>0"]),
        ([*LINE, "--signal", "1", "--variance", "2"], ["square of --signal", "2.0"]),
        ([*LINE, "--lengthscale", "-1"], ["--lengthscale", "'-1' must be positive"]),
        ([*LINE, "--lengthscale", "a"], ["--lengthscale", "'a'", "commas"]),
        ([*LINE, "--lengthscale", "1,2"], ["lengthscale", "(1.0, 2.0)"]),
        ([*LINE, "--smallest", "1e-6"], ["65536", "1048576", "wider smallest"]),
        ([*LINE, "--smallest", "2"], ["wider than the axis", "2.0"]),
        ([*LINE, "--budget", "0"], ["a budget must be at least 1", "0"]),
        ([*LINE, "--budget", "nan"], ["a budget must be", "nan"]),
        ([*LINE, "--budget", "2.5"], ["a budget must be a whole number", "2.5"]),
        ([*LINE, "--runs", "1"], ["--runs", "1"]),
        ([*LINE, "--out", "picture.doc"], ["picture.doc", ".png, .pdf or .svg"]),
        (["table.csv"], ["--value"]),
        (["table.csv", "--value", "value"], ["Name coords, levels or sequence"]),
        (["table.csv", "--value", "valeu", "--coords", "x"], ["'valeu'", "'value'"]),
        (
            ["table.csv", "--value", "value", "--coords", "x", "--smallest", "1,2"],
            ["smallest must be a single number", "(1, 2)"],
        ),
        (["table.csv", "--value", "value", "--coords", "x", "--signal", "2"], ["--signal", "Leave it out"]),
        (["tabel.csv", "--value", "value"], ["no such file", "tabel.csv"]),
    ],
    ids=lambda value: " ".join(value) if len(value) and str(value[0]).startswith("--") else "",
)
def test_a_mistake_gets_one_clear_line_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], complaints: list[str]
) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    code, output = run("--noise", "0.2", "--budget", "9", "--runs", "2", "--jobs", "1", *words)
    assert code in (1, 2)
    (line,) = re.findall(r"^Error: .*$", output, re.MULTILINE)
    assert "Traceback" not in output
    for complaint in complaints:
        assert complaint in line
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("missing", ["--noise", "--budget"])
def test_what_cannot_be_guessed_must_be_given(missing: str) -> None:
    given = {"--noise": "1", "--budget": "5"}
    words = [word for option, value in given.items() if option != missing for word in (option, value)]
    code, output = run(*LINE, *words)
    assert code == 2
    assert f"Missing option '{missing}'" in output


@pytest.mark.torture
def test_the_command_works_in_a_shell_on_several_processes(tmp_path: Path) -> None:
    words = ["power", *LINE, "--noise", "0.3", "--budget", "4", "--runs", "3", "--jobs", "2", "--out", "a.png"]
    done = subprocess.run([*ZONAL, *words], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert budgets_of(done.stdout) == ["none", "3", "4"]
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes in /proc")
def test_ctrl_c_ends_an_analysis_and_its_workers_with_a_message(tmp_path: Path) -> None:
    words = ["power", *LINE, "--noise", "1", "--budget", "40", "--runs", "1000", "--jobs", "2"]
    output = interrupted(*words, "--out", str(tmp_path / "picture.png"))
    assert "256 smallest regions" in output
    assert "mean regret" not in output
    assert list(tmp_path.iterdir()) == []


def test_looks_that_cost_time_and_ways(tmp_path: Path) -> None:
    priced = [*LINE, "--smallest", "0.0625", "--times", "1,2", "--overhead", 0.5, "--travel", 1]
    assert "20.5" in played(tmp_path / "p.png", *priced, "--budget", "20.5")
    code, words = run(*LINE, "--noise", 0.2, "--budget", "20.5")
    assert code != 0
    assert "a budget must be a whole number" in words
    code, words = run(*LINE, "--noise", 0.2, "--budget", 20, "--times", "1,x")
    assert code == 2
    assert "--times" in words


def test_a_target_names_the_smallest_budget_that_stays_below_it(tmp_path: Path) -> None:
    words = ["--sequences", "ACGT,2", "--budget", "4,16"]
    report = played(tmp_path / "a.png", *words, "--target", 100)
    assert "the first budget with its whole interval below 100: 4" in report
    assert "no budget up to 16 has its whole interval below 1e-09" in played(
        tmp_path / "a.png", *words, "--target", 1e-9
    )


def test_power_rehearse_and_new_take_the_same_settings() -> None:
    def settings(command: str) -> set[str]:
        return {own for param in main.commands[command].params for own in param.opts if own.startswith("--")}

    of_new = settings("new") - {"--template", "--points", "--debug", "--by"}  # a TABLE has the points
    assert of_new - settings("power") == set()
    assert of_new - settings("rehearse") == set()


def test_settings_of_a_study_come_as_options_or_in_a_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []
    whole = zn.Study.__init__

    def noted(self: zn.Study, *arguments: Any, **settings: Any) -> None:
        seen.append(settings)
        whole(self, *arguments, **settings)

    monkeypatch.setattr(zn.Study, "__init__", noted)
    words = [*LINE, "--smallest", "0.25", "--max-replicates", 2, "--forbidden", "x=0..0.25", "--value", "flux"]
    played(tmp_path / "a.png", *words, "--budget", "3")
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        """budget = 3
max_replicates = 2
forbidden = ["x=0..0.25"]
[axes]
x = { low = 0, high = 1, smallest = 0.25 }
[measurement]
name = "flux"
noise = 0.2
feedback = "center"
[policy]
name = "random"
"""
    )
    code, report = run("--recipe", recipe, "--runs", 2, "--jobs", 1, "--out", tmp_path / "a.png")
    assert code == 0, report
    assert "4 smallest regions" in report
    assert {own["max_replicates"] for own in seen} == {2}
    assert all(own["forbidden"] is not None and own["value_name"] == "flux" for own in seen)
    assert isinstance(seen[-1]["policy"], zn.Random)
    assert isinstance(seen[-1]["feedback"], zn.Center)
    for bad, says in {"": "a study needs a budget", "budget = 'x'": "budget", "budget = nan": "budget"}.items():
        recipe.write_text(f"{bad}\n[axes]\nx = [0, 1]\n[measurement]\nnoise = 0.2\n")
        code, report = run("--recipe", recipe, "--runs", 2, "--jobs", 1, "--out", tmp_path / "a.png")
        assert code == 1
        assert says in report
    code, report = run("--recipe", recipe, "--max-replicates", 3)
    assert code == 2
    assert "--max-replicates cannot be combined with --recipe" in report


def test_regret_where_the_best_is_forbidden_refers_to_what_may_be_measured(tmp_path: Path) -> None:
    report = played(
        tmp_path / "a.png",
        *LINE,
        "--smallest",
        "0.25",
        "--forbidden",
        "x=0.25..1",
        "--budget",
        "3",
        "--noise",
        0.01,
    )
    assert re.search(r"^ +3 +0 ", report, re.MULTILINE), report  # a single region is left, and found
