"""A study in the hands of a run: trials that nobody is at any more are measured first; parts of a budget."""

import copy
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from benchmarks.torture import forked
from zonal.engine.events import Claimed
from zonal.storage.journal import Journal
from zonal.study import worker_id
from zonal.study.optimize import RunSession

GIVEN: dict[str, Any] = {"budget": 12, "kernel": zn.RBF(0.1, 0.1), "noise": 0.1, "policy": zn.UCB(level=3)}
LINE = zn.Box([(0, 1)])


def measure(region: zn.Region) -> float:
    return float(region.center[0])


def asked_by_another(study: zn.Study, number: int) -> list[zn.Trial]:
    """Ask for trials as a process would that has ended since."""
    read, write = os.pipe()
    os.waitpid(forked(lambda: os.write(write, worker_id.worker_id().encode())), 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        return study.ask(number, by=pipe.read())


def taken(study: zn.Study) -> list[int]:
    return [fact.number for event in study.events for fact in event if isinstance(fact, Claimed)]


def test_a_copied_study_measures_what_was_under_way() -> None:
    study, copies = zn.Study(LINE, **GIVEN), list[zn.Study]()

    def keep(held: zn.Study, trial: zn.Trial) -> None:
        if len(held.trials) >= 6 and held.pending and not copies:  # threads may end several at once
            copies.append(copy.deepcopy(held))

    with ThreadPoolExecutor(3) as pool:
        study.optimize(measure, pool, callback=keep)
    left = len(copies[0].pending)
    assert left > 0
    result = copies[0].optimize(measure)
    assert result.success
    assert result.nfev == 12
    assert len(taken(copies[0])) == left


def test_what_a_dead_process_asked_for_is_measured_first() -> None:
    study = zn.Study(LINE, **GIVEN)
    asked_by_another(study, 3)
    order: list[int] = []
    result = study.optimize(measure, callback=lambda _, trial: order.append(trial.number))
    assert order[:3] == [0, 1, 2]
    assert result.success
    assert taken(study) == [0, 1, 2]


def test_what_was_asked_for_by_hand_or_elsewhere_is_left_alone_unless_taken_over() -> None:
    study = zn.Study(LINE, **GIVEN)
    study.ask()
    study.ask(by="bench")
    study.ask(by="elsewhere:1:2")
    result = study.optimize(measure)
    assert not result.success
    assert [trial.number for trial in study.pending] == [0, 1, 2]
    assert study.optimize(measure, take_over=True).success


def test_two_runs_that_take_over_do_not_take_from_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, both = RunSession.__init__, threading.Barrier(2, timeout=60)

    def begin_together(hand: RunSession, study: Any, by: str, take_over: bool, *rest: Any) -> None:
        begin(hand, study, by, take_over)
        both.wait()  # who begins later may well take from who began before

    monkeypatch.setattr(RunSession, "__init__", begin_together)
    study = zn.Study(LINE, **GIVEN)
    study.ask(4, by="elsewhere:1:2")
    threads = [
        threading.Thread(target=study.optimize, args=(measure,), kwargs={"take_over": True}) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert study.measured == 12
    assert sorted(taken(study)) == [0, 1, 2, 3]


def test_two_processes_never_take_up_the_same_trial(tmp_path: Path) -> None:
    path = tmp_path / "sky.db"
    study = zn.Study.create(path, LINE, **GIVEN)
    asked_by_another(study, 8)
    children = [forked(lambda: zn.Study.open(path).optimize(measure)) for _ in range(2)]
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0]
    study.refresh()
    assert sorted(taken(study)) == list(range(8))
    assert study.measured == 12


def test_who_is_gone() -> None:
    host = socket.gethostname()
    assert not worker_id.worker_is_dead(worker_id.worker_id())
    assert not worker_id.worker_is_dead("")
    assert not worker_id.worker_is_dead("bench")
    assert not worker_id.worker_is_dead("elsewhere:1:2")
    assert worker_id.worker_is_dead(f"{host}:{os.getpid()}:1")  # another process had this number
    with worker_id.run_id() as run:
        assert not worker_id.worker_is_dead(run)
    assert worker_id.worker_is_dead(run)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_dead_process_that_nobody_has_buried_is_gone() -> None:
    read, write = os.pipe()
    pid = forked(lambda: os.write(write, worker_id.worker_id().encode()))
    os.close(write)
    with os.fdopen(read) as pipe:
        who = pipe.read()
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert worker_id.worker_is_dead(who)
    os.waitpid(pid, 0)


def test_a_measurement_that_the_file_does_not_take_is_said_and_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    study = zn.Study.create(tmp_path / "a? #%20.db", LINE, **GIVEN)

    def full(*_: object) -> None:
        raise zn.StudyFileError("the disk is full")

    def measured(region: zn.Region) -> float:
        monkeypatch.setattr(Journal, "append", full)
        return 0.625

    with monkeypatch.context(), pytest.raises(zn.StudyFileError, match="the disk is full"):
        study.optimize(measured)
    monkeypatch.undo()
    assert "trial 0 was measured (0.625, sem None) and not stored" in caplog.text
    again = zn.Study.open(tmp_path / "a? #%20.db")
    assert [trial.number for trial in again.pending] == [0]
    again.tell(0, 0.625)
    assert again.optimize(measure).success


# A part of a budget.


def part_of(budget: int = 10) -> zn.Study:
    return zn.Study([(0, 1)], budget=budget, kernel=zn.RBF(1.0, 0.2), noise=0.1)


@pytest.mark.parametrize("workers", [None, 3])
def test_a_part_is_measured_and_the_rest_remains(workers: int | None) -> None:
    parts = part_of()
    with ThreadPoolExecutor(workers) as pool:
        executor = None if workers is None else pool
        result = parts.optimize(measure, executor, n=4)
        assert (result.nfev, result.success, parts.remaining) == (4, True, 6)
        assert result.message.startswith("the measurements asked for are made: 4 of 10")
        result = parts.optimize(measure, executor, n=6)
    assert (result.nfev, result.success, parts.remaining) == (10, True, 0)
    assert result.message.startswith("the budget is spent: 10 of 10")


def test_parts_measure_what_the_whole_would_have() -> None:
    whole, parts = part_of(), part_of()
    whole.optimize(measure)
    for _ in range(5):
        parts.optimize(measure, n=2)
    assert [trial.node for trial in parts.trials] == [trial.node for trial in whole.trials]


def test_trials_given_up_do_not_count() -> None:
    parts, calls = part_of(), []

    def fails_once(region: zn.Region) -> float:
        calls.append(region)
        if len(calls) == 2:
            raise OSError("no signal")
        return 1.0

    with pytest.raises(OSError, match="no signal"):
        parts.optimize(fails_once, n=4)
    assert parts.measured == 1
    parts.optimize(fails_once, n=3)
    assert (parts.measured, parts.remaining) == (4, 6)


def test_callbacks_see_the_study_itself() -> None:
    parts, seen = part_of(), []
    parts.optimize(measure, n=2, callback=lambda own, trial: seen.append((own, trial.number)))
    assert seen == [(parts, 0), (parts, 1)]


def test_more_than_remains_is_refused_before_anything_is_measured() -> None:
    parts = part_of(3)
    with pytest.raises(zn.BudgetSpent, match="n=5 measurements asked for, but only 3 remain"):
        parts.optimize(measure, n=5)
    assert parts.trials == []
    with pytest.raises(zn.InvalidInput, match="n must be at least 1"):
        parts.optimize(measure, n=0)


def test_a_number_where_an_executor_belongs_is_answered_with_what_was_meant() -> None:
    with pytest.raises(
        zn.InvalidInput, match=r"the second argument must be an executor; got 30. Did you mean n=30\?"
    ):
        part_of().optimize(measure, 30)  # type: ignore[arg-type]
