"""`zonal rehearse`, as a user types it: from a table in a file to a report and a picture."""

from __future__ import annotations

import csv
import gzip
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import zonal as zn
from processes import running, wait_for
from zonal.cli.main import main

pytestmark = pytest.mark.one_in(2)

CENSUS = Path(__file__).parents[3] / "shared" / "data" / "census_au_sa2.csv"
PNG = b"\x89PNG"


def columns() -> dict[str, list[Any]]:
    """Return a table that serves every kind of space: 64 rows with values, weights, places, areas and codons."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 10, 64), rng.uniform(0, 5, 64)
    return {
        "x": [round(float(value), 4) for value in x],
        "y": [round(float(value), 4) for value in y],
        "state": [f"s{row // 16}" for row in range(64)],
        "town": [f"t{row // 4}" for row in range(64)],
        "street": [f"r{row}" for row in range(64)],
        "codon": ["".join(symbols) for symbols in itertools.product("GACT", repeat=3)],
        "value": [round(float(value), 4) for value in np.sin(x) + y + rng.normal(size=64)],
        "weight": [round(float(value), 4) for value in rng.uniform(1, 9, 64)],
    }


TABLE = columns()


def written(folder: Path, ending: str = ".csv", changed: dict[str, list[Any]] | None = None) -> Path:
    """Write the table, some of its columns changed, in a format."""
    table, path = {**TABLE, **(changed or {})}, folder / f"table{ending}"
    if ending == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(table), path)
        return path
    with gzip.open(path, "wt", newline="") if ending.endswith(".gz") else path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if ".tsv" in ending else ",")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["rehearse", *(str(word) for word in words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def rehearsed(table: Path, out: Path, *words: object) -> str:
    """Return the report of a short rehearsal."""
    small = ["--value", "value", "--noise", 0.2, "--budget", 6, "--runs", 2, "--jobs", 1, "--out", out]
    code, report = run(table, *small, *words)
    assert code == 0, report
    return report


def line(report: str, start: str) -> tuple[float, str]:
    """Return average and name of the region on one line of the report."""
    (found,) = re.findall(rf"^{start} +(\S+)  (.+)$", report, re.MULTILINE)
    return float(found[0]), found[1]


def average(name: str, weighted: bool = False) -> float:
    """Return the average over a region of the table, from its name alone."""
    if name.startswith("point "):
        rows = [int(name.split(":")[0].split()[1])]
    elif " > " in name or name in TABLE["state"]:
        rows = [row for row in range(64) if f"{' > '.join(way_of(row))} > ".startswith(f"{name} > ")]
    else:
        pattern = re.compile(name.replace("N", "."))
        rows = [row for row, codon in enumerate(TABLE["codon"]) if pattern.fullmatch(codon)]
    assert rows, name
    weights = [TABLE["weight"][row] if weighted else 1.0 for row in rows]
    return float(np.average([TABLE["value"][row] for row in rows], weights=weights))


def way_of(row: int) -> tuple[str, str, str]:
    return TABLE["state"][row], TABLE["town"][row], TABLE["street"][row]


EVERY_KIND = pytest.mark.parametrize(
    ("ending", "words"),
    [
        (".csv", ["--coords", "x,y"]),
        (".csv.gz", ["--coords", "x, y", "--weight", "weight"]),
        (".parquet", ["--coords", "x,y", "--minimize"]),
        (".tsv", ["--coords", "x"]),
        (".csv", ["--levels", "state,town,street"]),
        (".csv.gz", ["--levels", "state,town,street", "--minimize", "--weight", "weight"]),
        (".parquet", ["--levels", "state,town,street", "--coords", "x,y"]),
        (".csv", ["--sequence", "codon"]),
        (".parquet", ["--sequence", "codon", "--weight", "weight"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)


@pytest.mark.one_in(4)
@EVERY_KIND
def test_a_table_is_rehearsed_from_a_file_to_a_report_and_a_picture(
    tmp_path: Path, ending: str, words: list[str]
) -> None:
    out = tmp_path / "picture.png"
    report = rehearsed(written(tmp_path, ending), out, *words)
    assert "64 smallest regions, a budget of 6 (9.4%), noise 0.2" in report
    top, name = line(report, "true best")
    assert top == pytest.approx(min(TABLE["value"]) if "--minimize" in words else max(TABLE["value"]), abs=1e-4)
    assert average(name) == pytest.approx(top, abs=1e-4)
    for player in ("Zonal", "Zonal, UCB", "Zonal, GPOO"):
        found, where = line(report, f"{player} found")
        if " points: " not in where and where != "all":
            assert average(where, "--weight" in words) == pytest.approx(found, rel=1e-5), where
        assert found <= top or "--minimize" in words
    assert "regret over 2 runs" in report
    regrets = dict(re.findall(r"^(.+?)  +(\S+)  +\S+  +\d of 2 runs$", report, re.MULTILINE))
    assert list(regrets) == ["Zonal", "Zonal, UCB", "Zonal, GPOO", "one level", "greedy descent", "random"]
    assert all(float(regret) >= 0 for regret in regrets.values())
    assert str(out) in report
    assert out.read_bytes().startswith(PNG)
    assert out.stat().st_size > 20_000


@pytest.mark.parametrize("ending", [".pdf", ".SVG"])
def test_the_picture_is_of_the_kind_its_ending_says(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"picture{ending}"
    rehearsed(written(tmp_path), out, "--sequence", "codon")
    assert out.read_bytes()[:5] == (b"%PDF-" if ending == ".pdf" else b"<?xml")


def test_a_region_is_not_split_below_the_least_weight(tmp_path: Path) -> None:
    table, words = written(tmp_path), ["--coords", "x,y", "--weight", "weight", "--smallest", 20, "--budget", 5]
    report = rehearsed(table, tmp_path / "a.png", *words)
    (number,) = re.findall(r"(\d+) smallest regions", report)
    assert 6 <= int(number) <= sum(TABLE["weight"]) / 20
    assert re.match(r"\d+ points: x", line(report, "true best")[1])


def test_the_picture_shows_the_default_campaign_even_if_another_policy_did_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[zn.Study] = []
    monkeypatch.setattr("zonal.cli.simulate.draw", lambda rehearsal, study, out: drawn.append(study))
    report = rehearsed(written(tmp_path), tmp_path / "a.png", "--coords", "x,y")
    (study,) = drawn
    assert study.recommend().region.name == line(report, "Zonal found")[1]
    assert study.measured == 6


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the picture, where the report is what matters."""
    monkeypatch.setattr("zonal.cli.simulate.draw", lambda *_: None)


@pytest.mark.usefixtures("undrawn")
def test_the_same_seed_gives_the_same_report_and_another_seed_another(tmp_path: Path) -> None:
    table, words = written(tmp_path), ["--sequence", "codon", "--noise", 2]
    reports = [rehearsed(table, tmp_path / "a.png", *words, "--seed", seed) for seed in (3, 3, 4)]
    assert reports[0] == reports[1] != reports[2]


@pytest.mark.torture
@pytest.mark.usefixtures("undrawn")
def test_several_processes_change_no_number(tmp_path: Path) -> None:
    table, words = written(tmp_path), ["--levels", "state,town,street", "--noise", 2]
    alone = rehearsed(table, tmp_path / "a.png", *words)
    assert rehearsed(table, tmp_path / "a.png", *words, "--jobs", 2) == alone


@pytest.mark.torture  # tests/test_examples.py plays on it each time
@pytest.mark.skipif(not CENSUS.exists(), reason="the census table is not here")
def test_the_census_is_rehearsed(tmp_path: Path) -> None:
    out = tmp_path / "census.png"
    levels = "state_name,sa4_name,sa3_name,sa2_name"
    words = ["--value", "mean_age", "--levels", levels, "--coords", "lon,lat", "--weight", "persons"]
    numbers = ["--noise", 0.5, "--budget", 3, "--runs", 1, "--jobs", 1, "--out", out]
    with CENSUS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    code, report = run(CENSUS, *words, *numbers)
    assert code == 0, report
    assert f"{len(rows)} smallest regions" in report
    oldest = max(rows, key=lambda row: float(row["mean_age"]))
    way = " > ".join(oldest[level] for level in levels.split(","))
    top, name = line(report, "true best")
    assert name == way
    assert top == pytest.approx(float(oldest["mean_age"]), rel=1e-5)
    assert "regret over 1 runs" in report
    assert out.read_bytes().startswith(PNG)


HERE = ["--coords", "x,y"]


@pytest.mark.parametrize(
    ("words", "complaints"),
    [
        (["--coords", "x,z"], ["needs a column", "'z'", "'x'", "'town'"]),
        (["--coords", "x", "--value", "valeu"], ["'valeu'", "Did you mean 'value'?"]),
        (["--levels", "state,twon"], ["'twon'", "'town'"]),
        (["--sequence", "codons"], ["'codons'", "'codon'"]),
        ([*HERE, "--weight", "persons"], ["'persons'", "'weight'"]),
        ([*HERE, "--out", "picture.doc"], ["picture.doc", ".png, .pdf or .svg"]),
        ([*HERE, "--out", "nowhere/picture.png"], ["nowhere", "no folder"]),
        ([*HERE, "--noise", "-1"], ["--noise", "-1"]),
        ([*HERE, "--noise", "nan"], ["nan is not a finite number"]),
        (["--coords", "x,,y"], ["'x,,y'", "empty name between commas"]),
        (["--levels", "state,"], ["'state,'", "empty name between commas"]),
        ([*HERE, "--budget", "64"], ["covers all 64 smallest regions", "64"]),
        ([*HERE, "--budget", "0"], ["budget must be at least 1; got 0"]),
        ([*HERE, "--runs", "0"], ["--runs", "0"]),
        ([*HERE, "--smallest", "0"], ["--smallest", "0"]),
        ([*HERE, "--smallest", "65"], ["smallest", "65"]),
        ([], ["Name coords, levels or sequence"]),
        (["--sequence", "codon", *HERE], ["Pass one kind"]),
        (["--levels", "street,town"], ["not nested", "'t0'"]),
        (["--sequence", "town"], ["twice", "'t0'"]),
        (["--sequence", "street"], ["one length", "'r10'"]),
        (["--coords", "x,town"], ["'town'", "row 1", "is not a number", "'t0'"]),
    ],
    ids=lambda value: " ".join(value) if len(value) and str(value[0]).startswith("--") else "",
)
def test_a_mistake_gets_a_message_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], complaints: list[str]
) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    small = ["--value", "value", "--noise", "0.2", "--budget", "9", "--runs", "1", "--jobs", "1"]
    code, output = run("table.csv", *small, *words)
    assert code in (1, 2)
    assert "Error" in output
    assert "Traceback" not in output
    for complaint in complaints:
        assert complaint in output
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize(
    ("column", "cell", "words", "complaints"),
    [
        ("value", "nan", HERE, ["column 'value' of row 6", "line 7", "not finite", "'nan'"]),
        ("value", "", HERE, ["column 'value' of row 6", "line 7", "empty"]),
        ("x", "inf", HERE, ["column 'x' of row 6", "line 7", "not finite"]),
        ("town", " ", ["--levels", "state,town,street"], ["column 'town' of row 6", "empty"]),
        ("weight", "0", [*HERE, "--weight", "weight"], ["weight", "positive", "0"]),
        ("weight", "0", ["--levels", "state,town", "--weight", "weight"], ["weight", "positive", "0"]),
        ("weight", "-1", ["--sequence", "codon", "--weight", "weight"], ["weight", "positive", "-1"]),
    ],
)
def test_a_wrong_cell_is_named_and_nothing_is_written(
    tmp_path: Path, column: str, cell: str, words: list[str], complaints: list[str]
) -> None:
    cells = [*TABLE[column][:5], cell, *TABLE[column][6:]]
    changed = {column: cells}
    if words[0] == "--levels" and column == "weight":
        changed["town"] = TABLE["street"]
    small = ["--value", "value", "--noise", 0.2, "--budget", 9, "--out", tmp_path / "picture.png", "--jobs", 1]
    code, output = run(written(tmp_path, changed=changed), *small, *words)
    assert code == 1
    assert output.startswith("Error: ")
    for complaint in complaints:
        assert complaint in output
    assert not (tmp_path / "picture.png").exists()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    code, output = run(
        tmp_path / "tabel.csv", "--value", "value", *HERE, "--noise", 1, "--budget", 2, "--out", tmp_path / "a.png"
    )
    assert code == 1
    assert "there is no such file" in output
    assert "tabel.csv" in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["--value", "--noise", "--budget"])
def test_what_cannot_be_guessed_must_be_given(tmp_path: Path, missing: str) -> None:
    given = {"--value": "value", "--noise": "1", "--budget": "5"}
    words = [word for option, value in given.items() if option != missing for word in (option, value)]
    code, output = run(written(tmp_path), *HERE, *words)
    assert code == 2
    assert f"Missing option '{missing}'" in output


def test_the_help_names_every_option() -> None:
    code, output = run("--help")
    assert code == 0
    for option in ("coords", "levels", "sequence", "weight", "noise", "budget", "runs", "smallest", "minimize"):
        assert f"--{option}" in output


# Ctrl-C, pressed in a terminal: every process of the group gets it.


def workers_of(session: int) -> list[Path]:
    """Return the spawned workers of a session, by their folders in /proc."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            own = folder.name.isdigit() and os.getsid(int(folder.name)) == session
            if own and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.append(folder)
        except OSError:  # it has ended meanwhile
            continue
    return found


def leaves_ctrl_c_alone(process: Path) -> bool:
    """Tell whether a process ignores or blocks SIGINT."""
    try:
        masks = re.findall(r"Sig(?:Ign|Blk):\s*(\w+)", (process / "status").read_text())
    except OSError:
        return False
    return any(int(mask, 16) >> (signal.SIGINT - 1) & 1 for mask in masks)


def interrupted(*words: str) -> str:
    """Press Ctrl-C in the middle of a command's campaigns; return what it had printed, after its workers' end."""
    with running(
        sys.executable, "-c", "from zonal.cli.main import main; main()", *words,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        wait_for(lambda: sum(map(leaves_ctrl_c_alone, workers_of(process.pid))) == 2)
        time.sleep(0.3)  # in the middle of a campaign
        assert process.poll() is None
        pressed = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        output, error = process.communicate(timeout=120)
        took = time.monotonic() - pressed
    assert process.returncode == 130
    assert error == "Error: interrupted; nothing was written.\n"
    assert took < 40
    wait_for(lambda: workers_of(process.pid) == [])
    return str(output)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes in /proc")
def test_ctrl_c_ends_a_rehearsal_and_its_workers_with_a_message(tmp_path: Path) -> None:
    words = ["rehearse", str(written(tmp_path)), "--value", "value", *HERE, "--noise", "1", "--budget", "40"]
    more = ["--runs", "1000", "--jobs", "2", "--out", str(tmp_path / "picture.png")]
    output = interrupted(*words, *more)
    assert "true best" in output
    assert "regret over" not in output
    assert not (tmp_path / "picture.png").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_rehearsal_whose_looks_cost_time(tmp_path: Path) -> None:
    words = [
        "--value",
        "value",
        "--coords",
        "x,y",
        "--smallest",
        "4",
        "--noise",
        "0.1",
        "--runs",
        "1",
        "--jobs",
        "1",
    ]
    priced = ["--budget", "40.5", "--times", "1,4", "--overhead", "0.5", "--out", str(tmp_path / "p.png")]
    result = CliRunner().invoke(main, ["rehearse", str(written(tmp_path)), *words, *priced])
    assert result.exit_code == 0, result.output
    assert "a budget of 40.5, noise 0.1" in result.output


@pytest.mark.usefixtures("undrawn")
def test_a_table_is_rehearsed_on_axes_with_every_setting(tmp_path: Path) -> None:
    table = written(tmp_path, changed={"x": [10 ** (row % 8 / 4 - 1) for row in range(64)]})
    words = ["--axis", "x=0.1..10:bar:log", "--axis", "y=0..5", "--smallest", "0.25,1.25", "--max-replicates", 1]
    report = rehearsed(table, tmp_path / "a.png", *words, "--forbidden", "y=0..1.25")
    assert "32 smallest regions" in report
    assert "y 0.." not in line(report, "true best")[1]
    assert "0..1.25" not in line(report, "Zonal found")[1]
    assert "Few runs" in report


@pytest.mark.usefixtures("undrawn")
def test_noise_may_fall_with_the_weight_of_a_region(tmp_path: Path) -> None:
    small = ["--value", "value", "--budget", 6, "--runs", 1, "--jobs", 1, "--out", tmp_path / "a.png"]
    words = [written(tmp_path), "--coords", "x,y", "--weight", "weight", *small]
    code, report = run(*words, "--noise-per-weight", 40)
    assert code == 0, report
    assert "noise 40 / sqrt(weight)" in report
    code, report = run(*words, "--noise-per-weight", 40, "--noise", 1)
    assert code == 2
    assert "exclude each other" in report
    code, report = run(*words)
    assert code == 2
    assert "Missing option '--noise'" in report
