"""A program as an instrument: real processes, which answer, fail, hang, shout and are killed."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import zonal as zn
from forked_commands import Forked
from processes import running, wait_for
from shell import ENVIRONMENT, PROGRAM, zonal
from zonal.cli.program import GRACE, Failed, Program

pytestmark = pytest.mark.one_in(2)

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
    assert result.stderr.splitlines()[-1] == "6 of 6 measured, 0 pending, 0 left."
    assert result.stdout == ""
    assert all(one.value == one.region.bounds[0, 0] for one in trials())


def test_a_run_without_a_terminal_logs_every_measurement_with_time_region_value_and_best_so_far() -> None:
    body = "sys.exit('no light') if trial == 1 else print(0.25)\n"
    *lines, last = zonal("run", "s.db", "-n", 2, "--", program(body)).stderr.splitlines()
    assert last == "2 of 6 measured, 0 pending, 4 left."
    told = [one for one in trials() if one.state == "measured"]
    time_of = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  "
    said = [line for line in lines if re.match(time_of, line)]
    assert len(said) == 3
    for one, line in zip(told, [said[0], said[2]], strict=True):
        best = r"best so far x .+: [-\d.]+ ± [\d.]+$"
        assert re.match(rf"{time_of}trial {one.number}, {re.escape(one.region.name)}: 0.25; {best}", line), line
    assert "failed: it ended with exit code 1" in said[1]
    assert not logging.getLogger("zonal").handlers


def test_a_number_of_measurements_is_not_used_up_by_failures() -> None:
    body = "sys.exit(1) if trial % 2 else print(low)\n"
    said = zonal("run", "s.db", "-n", 3, "--", program(body)).stderr
    assert [one.state for one in trials()] == ["measured", "failed"] * 2 + ["measured"]
    assert "3 of 6 measured" in said


def test_a_run_stops_when_the_answer_is_within_the_tolerance() -> None:
    model = ["--axis", "x=0..1", "--smallest", "0.25", "--noise", "0.01", "--budget", 200, "--seed", 0]
    zonal("new", "sure.db", *model)
    said = zonal("run", "sure.db", "--tolerance", 0.1, "--", program("print(low)\n")).stderr
    study = zn.Study.open("sure.db")
    assert study.recommend().gap <= 0.1
    assert 10 <= study.measured < 100
    assert re.search(r"^stopped: the gap is [\d.e-]+, within the tolerance of 0.1$", said, re.MULTILINE)
    assert "--tolerance" in zonal("run", "sure.db", "--tolerance", 0, "--", "true", code=2).stderr


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
    assert (question["trial"], question["replicate"], question["attempt"]) == (1, second.replicate, 1)
    assert Path(question["study"]).samefile("s.db")
    assert {name: text for name, text in variables.items() if name not in os.environ} == {
        "ZONAL_TRIAL": "1",
        "ZONAL_REPLICATE": str(second.replicate),
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
        ("print('0,5')", "it said '0,5'. Its last line must be a value, or a value and a standard error, with"),
        ("print('1,5 0,25')", "decimal points, not commas (LC_ALL=C often helps); nothing on stderr"),
        ("print('0,5 apples')", "or a value and a standard error; nothing on stderr"),
        ("print('9' * 100_000)", "it said '...9999"),  # too long to be kept whole, and so no value
        ("sys.stdout.write('0.5' + ' ' * 100_000)", "it said '...'"),
        ("print('nan')", "it said 'nan'"),
        ("print('0.5 -1')", "it said '0.5 -1'"),
        ("print('1 2 3')", "it said '1 2 3'"),
        ("os.kill(os.getpid(), 9)", "it ended with signal 9"),
        ("time.sleep(60)", "it took longer than 3 s"),
    ],
)
def test_a_failing_program_gives_its_trial_up_and_does_not_stop_the_others(body: str, says: str) -> None:
    failing = f"if trial == 1:\n    {body}\n    sys.exit()\nprint(low)\n"
    result = zonal(
        "run", "s.db", "-n", 4, "--workers", 3, "--timeout", 3 if "sleep" in body else 60, "--", program(failing)
    )
    assert f"trial 1 ({trials()[1].region.name}) failed: " in result.stderr
    assert says in result.stderr
    assert [one.state for one in trials()] == ["measured", "failed", "measured", "measured", "measured"]


def test_a_line_is_read_in_a_time_that_grows_with_its_length_alone() -> None:
    trial = zn.Study.open("s.db").ask()
    began = time.monotonic()
    with pytest.raises(Failed, match="it said '9999"):
        Program([sys.executable, "-c", "print('9' * 60_000 + 'x')"], None, 0).measure(trial, None)
    assert time.monotonic() - began < 20


def test_a_program_is_tried_again_as_often_as_is_said() -> None:
    body = "print(low) if question['attempt'] == 3 else sys.exit(1)\n"
    assert (
        "6 of 6 measured, 0 pending, 0 left.\n" in zonal("run", "s.db", "--retries", 2, "--", program(body)).stderr
    )
    zonal("extend", "s.db", 1)
    assert "failed" in zonal("run", "s.db", "--retries", 1, "--max-failures", 1, "--", "./measure", code=6).stderr


def test_a_program_that_keeps_failing_is_stopped() -> None:
    said = zonal("run", "s.db", "--max-failures", 2, "--", "false", code=6).stderr
    assert said.count("failed: it ended with exit code 1") == 2
    assert "failed 2 times in a row; 0 of 6 measured, 0 pending, 6 left." in said


def test_a_region_is_called_barred_only_if_its_failures_count() -> None:
    blocked = "will not be asked for again"
    said = zonal("run", "s.db", "--max-failures", 5, "--", "false", code=6).stderr
    assert blocked not in said  # they were the program's fault, and are forgiven
    assert zn.Study.open("s.db").blocked == ()
    body = "sys.exit(1) if low < 0.5 else print(low)\n"
    said = zonal("run", "s.db", "-n", 1, "--", program(body)).stderr
    (region,) = zn.Study.open("s.db").blocked[:1]
    assert f"region {region.name} failed too often and {blocked}" in said


def test_a_broken_program_bars_no_region_however_often_it_is_run() -> None:
    for _ in range(4):
        zonal("run", "s.db", "--max-failures", 10, "--", "false", code=6)
    study = zn.Study.open("s.db")
    assert not study._state.blocked
    assert not study._state.failed_trials
    assert [one.state for one in trials()] == ["failed"] * 40
    zonal("run", "s.db", "--", program("print(low)\n"))
    assert zn.Study.open("s.db").measured == 6
    zonal("verify", "s.db")


def test_only_the_last_failures_in_a_row_are_taken_back() -> None:
    body = "sys.exit(1) if low < 0.5 or trial > 4 else print(low)\n"
    zonal("run", "s.db", "--max-failures", 5, "--", program(body), code=6)
    # A cell three times, the part that took its place once, and then another cell.
    assert [one.state for one in trials()] == ["failed"] * 4 + ["measured"] + ["failed"] * 5
    state = zn.Study.open("s.db")._state
    assert list(state.failed_trials.values()) == [(0, 1, 2), (3,)]
    assert list(state.blocked.values()) == [2, 3]


def test_a_run_that_measured_nothing_says_so_by_its_exit_code() -> None:
    coarse = ["--axis", "x=0..1", "--smallest", "0.5", "--noise", "0.1", "--budget", 6]
    zonal("new", "few.db", *coarse)
    said = zonal("run", "few.db", "--max-failures", 100, "--", "false", code=6).stderr
    assert "impossible to measure" in said
    assert "nothing was measured; 0 of 6 measured" in said
    assert not zn.Study.open("few.db")._state.blocked
    for trial in zn.Study.open("few.db").ask(3, by="bench"):
        zonal("fail", "few.db", trial.number, "--no-retry")  # by people, who know
    zonal("run", "few.db", "--", "false", code=6)
    zonal("allow", "few.db", "x=0..1")
    zonal("run", "few.db", "-n", 1, "--", program("print(low)\n"))


def test_what_is_under_way_is_waited_for_when_others_keep_failing() -> None:
    body = "sys.exit(1) if trial else time.sleep(1)\nprint(low)\n"
    said = zonal("run", "s.db", "--workers", 2, "--max-failures", 2, "--", program(body), code=6).stderr
    assert "1 of 6 measured" in zonal("show", "s.db").stdout
    assert not zn.Study.open("s.db")._state.failed_trials
    assert "failed 2 times in a row" in said


def test_a_value_that_nobody_can_use_is_a_failure() -> None:
    said = zonal("run", "s.db", "--max-failures", 1, "--", program("print(1e200)\n"), code=6).stderr
    assert "too far from the prior mean" in said
    assert [one.state for one in trials()] == ["failed"]


@pytest.mark.parametrize("end", ["print(low)", "sys.exit(1)"])
def test_a_trial_that_somebody_told_meanwhile_is_theirs(end: str) -> None:
    body = f"open('measuring', 'w')\nwhile not os.path.exists('measured'):\n    time.sleep(0.02)\n{end}\n"
    run = start("-n", "1", "--", program(body))
    zonal("tell", "s.db", 0, 0.125)
    Path("measured").touch()
    said = run.end(WAIT)
    assert run.returncode == 0, said
    assert "already" in said
    assert [one.value for one in trials()] == [0.125]


@pytest.mark.parametrize("content", [None, "print(1)"])
def test_a_program_that_cannot_be_run_costs_no_trial(content: str | None) -> None:
    if content is not None:  # it may be executed, but nobody knows how
        Path("nosuch").write_bytes(b"\x00\x01\x02")
        Path("nosuch").chmod(0o755)
    said = zonal("run", "s.db", "--", "./nosuch", code=1).stderr
    assert "nosuch" in said
    assert all(one.state == "cancelled" for one in trials())


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def members(group: int) -> list[int]:
    """Return who still runs in a process group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, own = stat.read_text().rpartition(")")[2].split()[:3]
            if int(own) == group and state != "Z":
                found.append(int(stat.parent.name))
    return found


def shell(body: str) -> str:
    """Write a shell script that measures, and notes its process group."""
    Path("measure.sh").write_text(f"#!/bin/sh\necho $$ > pid.new\nmv pid.new measuring\n{body}\n")
    Path("measure.sh").chmod(0o755)
    return "./measure.sh"


ONCE = ["-n", 1, "--max-failures", 1]
LATE = "it took longer than 2 s"
HOLDER = "setsid sh -c 'echo $$ > holder; exec sleep 300' &"  # has left the group, and holds standard output


@pytest.fixture
def holder(folder: Path) -> Iterator[Path]:
    path = folder / "holder"
    yield path
    if path.exists():
        with suppress(ProcessLookupError):
            os.kill(int(path.read_text()), signal.SIGKILL)


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        ("sleep 300 & echo 0.5", 0, "1 of 6 measured"),
        ("sleep 300 & exit 3", 6, "it ended with exit code 3"),
        ("sleep 300 & sleep 300", 6, LATE),
        ("(trap '' TERM; sleep 300; sleep 300) & trap '' TERM; while :; do sleep 300; done", 6, LATE),
        ("kill -STOP $$", 6, LATE),
        (f"{HOLDER} while [ ! -s holder ]; do sleep 0.05; done; echo 0.5", 0, "1 of 6 measured"),
        (f"{HOLDER} sleep 300", 6, LATE),
        ("yes", 6, LATE),
        ("yes >&2", 6, LATE),
        ("setsid timeout 20 yes & sleep 300", 6, LATE),
    ],
)
def test_what_a_program_started_ends_with_it_and_nobody_waits_for_what_it_detached(
    body: str, code: int, says: str, holder: Path
) -> None:
    began = time.monotonic()
    patience = 2 if says == LATE else WAIT
    said = zonal("run", "s.db", *ONCE, "--timeout", patience, "--", shell(body), code=code).stderr
    assert says in said
    assert time.monotonic() - began < WAIT
    wait_for(lambda: members(int(Path("measuring").read_text())) == [])  # who is killed takes a moment to die
    assert _runs(int(holder.read_text())) if HOLDER in body else not holder.exists()


def test_of_a_program_that_does_not_stop_talking_only_the_end_is_kept() -> None:
    trial = zn.Study.open("s.db").ask()
    flood = Program(["sh", "-c", "yes | head -c 200000000; yes x | head -c 50000000 >&2; echo 0.25"], None, 0)
    tracemalloc.start()
    try:
        assert flood.measure(trial, None) == (0.25, None)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_a_program_may_make_its_output_one_that_does_not_wait() -> None:
    body = """
import fcntl
fcntl.fcntl(1, fcntl.F_SETFL, fcntl.fcntl(1, fcntl.F_GETFL) | os.O_NONBLOCK)
try:
    while True:
        os.write(1, b"0.5\\n" * 10_000)
except BlockingIOError:
    pass
"""
    zonal("run", "s.db", "-n", 3, "--", program(body))
    assert [one.state for one in trials()] == ["measured"] * 3


def test_what_a_program_says_does_not_move_the_terminal() -> None:
    body = r"sys.stderr.write('\x1b[2J\x1b]0;mine\x07\x9b1A\u202ecafé\t20 %\r30 %\n'); sys.exit(1)"
    said = zonal("run", "s.db", *ONCE, "--", program(body), code=6).stderr
    assert "its stderr:\n  \\x1b[2J\\x1b]0;mine\\x07\\x9b1A\\u202ecafé\t20 %\n  30 %" in said
    assert not any(letter in said for letter in "\x1b\x07\x9b\u202e\r")


def start(*words: str) -> Forked:
    """Start a run and wait until its program measures."""
    run = Forked("run", "s.db", *words)
    wait_for(Path("measuring").exists)
    return run


SLOW = "open('pid', 'w').write(str(os.getpid()))\nos.rename('pid', 'measuring')\ntime.sleep(1000)\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_an_interrupted_run_leaves_nothing_running_and_nothing_under_way(number: int, holder: Path) -> None:
    run = start("--", shell(f"{HOLDER} sleep 300 & sleep 300"))
    began = time.monotonic()
    run.send_signal(number)
    said = run.end(WAIT)
    assert time.monotonic() - began < WAIT
    assert run.returncode == 128 + number
    assert "Traceback" not in said
    wait_for(lambda: members(int(Path("measuring").read_text())) == [])
    assert [one.state for one in trials()] == ["cancelled"]


def test_programs_that_will_not_end_are_killed_all_at_once_and_a_second_signal_disturbs_nothing() -> None:
    body = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(f"pid-{trial}", "w").write(str(os.getpid()))
open("measuring", "w")
time.sleep(1000)
"""
    run = start("--workers", "6", "--", program(body))
    wait_for(lambda: sum(bool(path.read_text()) for path in Path().glob("pid-*")) == 6)
    pids = [int(path.read_text()) for path in Path().glob("pid-*")]
    began = time.monotonic()
    for _ in range(3):
        run.send_signal(signal.SIGINT)
        time.sleep(0.2)
    said = run.end(WAIT)
    assert time.monotonic() - began < 6 * GRACE
    assert run.returncode == 130, said
    wait_for(lambda: not any(map(_runs, pids)))
    assert [one.state for one in trials()] == ["cancelled"] * 6


def test_a_run_goes_on_if_it_was_told_to_ignore_that_its_terminal_is_closed() -> None:
    measure = program("open('measuring', 'w')\ntime.sleep(0.2)\nprint(low)\n")
    with running("nohup", *PROGRAM, "run", "s.db", "-n", "2", "--", measure, env=ENVIRONMENT) as run:
        wait_for(Path("measuring").exists)
        run.send_signal(signal.SIGHUP)
        run.wait(WAIT)
    assert run.returncode == 0
    assert [one.state for one in trials()] == ["measured"] * 2


def test_a_killed_run_is_taken_up_where_it_was() -> None:
    run = start("--", program(SLOW))
    run.kill()
    run.end(WAIT)
    os.kill(int(Path("measuring").read_text()), signal.SIGKILL)
    assert [one.state for one in trials()] == ["pending"]
    zonal("run", "s.db", "--workers", 2, "--", program("print(low)\n"))
    assert [one.state for one in trials()] == ["measured"] * 6


def test_what_people_are_at_is_left_to_them_unless_it_is_taken_over() -> None:
    zonal("ask", "s.db", "-n", 2)
    zonal("run", "s.db", "--", program("print(low)\n"))
    assert [one.state for one in trials()] == ["pending"] * 2 + ["measured"] * 4
    zonal("run", "s.db", "--take-over", "--", "./measure")
    assert [one.state for one in trials()] == ["measured"] * 6


def test_two_runs_share_a_study() -> None:
    slow = program("time.sleep(0.1)\nprint(low)\n")
    zonal("extend", "s.db", 6)
    for run in [Forked("run", "s.db", "--", slow) for _ in range(2)]:
        said = run.end(2 * WAIT)
        assert run.returncode == 0, said
    assert [one.state for one in trials()] == ["measured"] * 12


@pytest.mark.parametrize("seconds", ["1e308", "inf", "nan", "-1", "0", "long"])
def test_a_timeout_that_cannot_be_waited_is_refused(seconds: str, tmp_path: Path) -> None:
    zn.Study.create(tmp_path / "t.db", [(0, 1)], budget=2, noise=0.1)
    said = zonal("run", tmp_path / "t.db", "--timeout", seconds, "--", "true", code=2).stderr
    assert "Invalid value for '--timeout'" in said
    assert zn.Study.open(tmp_path / "t.db").trials == []
