"""A program as an instrument: real processes, which answer, fail, hang, shout and are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import zonal as zn
from shell import ENVIRONMENT, PROGRAM, zonal

HEADER = f"""#!{sys.executable}
import json, os, sys, time
question = json.load(sys.stdin)
trial, low = question["trial"], question["region"]["bounds"]["x"][0]
"""
WAIT = 30.0


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    words = ["--axis", "x=0..1:m", "--axis", "dye type=red,green", "--smallest", "0.1", "--noise", "0.1"]
    zonal("new", "s.db", *words, "--budget", 6, "--seed", 0)
    return tmp_path


def program(body: str, name: str = "measure") -> str:
    """Write a program that measures."""
    Path(name).write_text(HEADER + body)
    Path(name).chmod(0o755)
    return f"./{name}"


def trials() -> list[zn.TrialRecord]:
    return zn.Study.open("s.db").trials


def test_a_program_measures_until_the_budget_is_spent() -> None:
    result = zonal("run", "s.db", "--", program("print('a remark')\nprint(low)\n"))
    assert result.stderr == "6 of 6 told, 0 under way, 0 left.\n"
    assert result.stdout == ""
    assert all(one.value == one.region.bounds[0, 0] for one in trials())


def test_a_region_comes_as_json_and_in_the_environment() -> None:
    body = """
with open(f"seen-{trial}.json", "w") as file:
    json.dump([question, {name: text for name, text in os.environ.items() if name.startswith("ZONAL_")}], file)
print(sys.argv[1], 0.25)
"""
    zonal("run", "s.db", "-n", 2, "--", program(body), "-0.5")
    first, second = trials()
    assert (first.value, first.sem) == (-0.5, 0.25)
    question, variables = json.loads(Path("seen-1.json").read_text())
    (low, high), symbols = second.region.bounds[0].tolist(), second.region.symbols[1]  # type: ignore[attr-defined]
    assert question["region"]["bounds"] == {"x": [low, high]}
    assert question["region"]["symbols"] == {"dye type": list(symbols)}
    assert (question["trial"], question["look"], question["attempt"]) == (1, second.replicate, 1)
    assert Path(question["study"]).samefile("s.db")
    assert variables == {
        "ZONAL_TRIAL": "1",
        "ZONAL_LOOK": str(second.replicate),
        "ZONAL_ATTEMPT": "1",
        "ZONAL_STUDY": question["study"],
        "ZONAL_REGION": second.region.name,
        "ZONAL_X_LOW": repr(low),
        "ZONAL_X_HIGH": repr(high),
        "ZONAL_DYE_TYPE": "|".join(symbols),
    }


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("sys.exit('the lamp broke')", "it ended with exit code 1; its stderr:\n  the lamp broke"),
        ("print('hm', file=sys.stderr)", "it said nothing; its stderr:\n  hm"),
        ("print('about 0.3')", "it said 'about 0.3'. Its last line must be a value"),
        ("print('nan')", "it said 'nan'"),
        ("print('0.5 -1')", "it said '0.5 -1'"),
        ("print('1 2 3')", "it said '1 2 3'"),
        ("os.kill(os.getpid(), 9)", "it ended with signal 9"),
        ("time.sleep(60)", "it took longer than 1 s"),
    ],
)
def test_a_failing_program_gives_its_trial_up_and_does_not_stop_the_others(body: str, says: str) -> None:
    failing = f"if trial == 1:\n    {body}\n    sys.exit()\nprint(low)\n"
    result = zonal(
        "run", "s.db", "--workers", 3, "--timeout", 1 if "sleep" in body else 60, "--", program(failing)
    )
    assert f"trial 1 ({trials()[1].region.name}) was given up: {says}" in result.stderr
    assert [one.state for one in trials()].count("told") == 6
    assert trials()[1].state == "given up"


def test_a_program_is_tried_again_as_often_as_is_said() -> None:
    body = "print(low) if question['attempt'] == 3 else sys.exit(1)\n"
    assert (
        zonal("run", "s.db", "--retries", 2, "--", program(body)).stderr == "6 of 6 told, 0 under way, 0 left.\n"
    )
    zonal("extend", "s.db", 1)
    assert (
        "given up" in zonal("run", "s.db", "--retries", 1, "--max-failures", 1, "--", "./measure", code=6).stderr
    )


def test_a_program_that_keeps_failing_is_stopped() -> None:
    said = zonal("run", "s.db", "--max-failures", 2, "--", "false", code=6).stderr
    assert said.count("was given up: it ended with exit code 1") == 2
    assert "failed 2 times in a row; 0 of 6 told, 0 under way, 6 left." in said


def test_what_is_under_way_is_waited_for_when_others_keep_failing() -> None:
    body = "sys.exit(1) if trial else time.sleep(1)\nprint(low)\n"
    said = zonal("run", "s.db", "--workers", 2, "--max-failures", 2, "--", program(body), code=6).stderr
    assert "1 of 6 told" in zonal("show", "s.db").stdout
    assert "failed 2 times in a row" in said


def test_a_value_that_nobody_can_use_is_a_failure() -> None:
    said = zonal("run", "s.db", "--max-failures", 1, "--", program("print(1e200)\n"), code=6).stderr
    assert "too far from the prior mean" in said
    assert [one.state for one in trials()] == ["given up"]


@pytest.mark.parametrize("end", ["print(low)", "sys.exit(1)"])
def test_a_trial_that_somebody_told_meanwhile_is_theirs(end: str) -> None:
    body = f"open('measuring', 'w')\nwhile not os.path.exists('told'):\n    time.sleep(0.02)\n{end}\n"
    run = start("-n", "1", "--", program(body))
    zonal("tell", "s.db", 0, 0.125)
    Path("told").touch()
    _, said = run.communicate(timeout=WAIT)
    assert run.returncode == 0, said
    assert "told already" in said
    assert [one.value for one in trials()] == [0.125]


@pytest.mark.parametrize("content", [None, "print(1)"])
def test_a_program_that_cannot_be_run_costs_no_trial(content: str | None) -> None:
    if content is not None:  # it may be executed, but nobody knows how
        Path("nosuch").write_bytes(b"\x00\x01\x02")
        Path("nosuch").chmod(0o755)
    said = zonal("run", "s.db", "--", "./nosuch", code=1).stderr
    assert "nosuch" in said
    assert all(one.state == "withdrawn" for one in trials())


def test_what_a_program_leaves_running_is_stopped_with_it(folder: Path) -> None:
    body = """
import subprocess
child = subprocess.Popen(["sleep", "1000"])
open("child", "w").write(str(child.pid))
time.sleep(1000)
"""
    zonal("run", "s.db", "-n", 1, "--timeout", 1, "--", program(body))
    child = int((folder / "child").read_text())
    until = time.monotonic() + WAIT
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def start(*words: str) -> subprocess.Popen[str]:
    """Start a run and wait until its program measures."""
    run = subprocess.Popen([*PROGRAM, "run", "s.db", *words], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + WAIT
    while not Path("measuring").exists() and time.monotonic() < until:
        time.sleep(0.05)
    return run


SLOW = "open('pid', 'w').write(str(os.getpid()))\nos.rename('pid', 'measuring')\ntime.sleep(1000)\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_nothing_running_and_nothing_under_way(number: int, code: int) -> None:
    run = start("--", program(SLOW))
    run.send_signal(number)
    _, said = run.communicate(timeout=WAIT)
    assert run.returncode == code
    assert "Traceback" not in said
    assert not _runs(int(Path("measuring").read_text()))
    assert [one.state for one in trials()] == ["withdrawn"]


def test_a_killed_run_is_taken_up_where_it_was() -> None:
    run = start("--", program(SLOW))
    run.kill()
    run.communicate(timeout=WAIT)
    os.kill(int(Path("measuring").read_text()), signal.SIGKILL)
    assert [one.state for one in trials()] == ["asked"]
    zonal("run", "s.db", "--workers", 2, "--", program("print(low)\n"))
    assert [one.state for one in trials()] == ["told"] * 6


def test_what_people_are_at_is_left_to_them_unless_it_is_taken_over() -> None:
    zonal("ask", "s.db", "-n", 2)
    zonal("run", "s.db", "--", program("print(low)\n"))
    assert [one.state for one in trials()] == ["asked"] * 2 + ["told"] * 4
    zonal("run", "s.db", "--take-over", "--", "./measure")
    assert [one.state for one in trials()] == ["told"] * 6


def test_two_runs_share_a_study() -> None:
    slow = program("time.sleep(0.1)\nprint(low)\n")
    zonal("extend", "s.db", 6)
    runs = [
        subprocess.Popen([*PROGRAM, "run", "s.db", "--", slow], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for run in runs:
        _, said = run.communicate(timeout=2 * WAIT)
        assert run.returncode == 0, said
    assert [one.state for one in trials()] == ["told"] * 12


@pytest.mark.parametrize("seconds", ["1e308", "inf", "nan", "-1", "0", "long"])
def test_a_timeout_that_cannot_be_waited_is_refused(seconds: str, tmp_path: Path) -> None:
    zn.Study.create(tmp_path / "t.db", [(0, 1)], budget=2, noise=0.1)
    said = zonal("run", tmp_path / "t.db", "--timeout", seconds, "--", "true", code=2).stderr
    assert "Invalid value for '--timeout'" in said
    assert zn.Study.open(tmp_path / "t.db").trials == []
