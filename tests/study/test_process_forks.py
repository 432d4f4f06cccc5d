"""Forks beside threads: the child has the study, and none of the threads that were at it."""

import copy
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from benchmarks.torture import forked
from small_studies import make_study
from zonal.gp.model_average import Mixture
from zonal.storage import journal

pytestmark = pytest.mark.one_in(2)


def ended(pid: int, seconds: float = 60.0) -> int | None:
    """Return how a process ended; kill one that does not."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def use(study: zn.Study) -> None:
    study.tell(study.ask(), float(study.predict([(0, 1)]).mean))


def test_a_forked_process_uses_a_study_that_another_thread_was_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, forked_now, predict = threading.Event(), threading.Event(), Mixture.predict

    def slowly(*arguments: Any) -> Any:
        reading.set()
        forked_now.wait(30)
        return predict(*arguments)

    study = make_study()
    studies = [study, copy.deepcopy(study), zn.Study.replay(study.settings, study.events)]
    for own in studies:
        reading.clear()
        forked_now.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Mixture, "predict", slowly)
            reader = threading.Thread(target=own.predict, args=([(0, 1)],))
            reader.start()
            assert reading.wait(30)
        assert ended(forked(partial(use, own))) == 0
        forked_now.set()
        reader.join(30)
        own.tell(own.ask(), 0.5)  # the parent's lock is as it was
        reading.clear()
        forked_now.clear()


@pytest.mark.parametrize("busy", ["reading", "writing"])
def test_a_forked_process_uses_a_file_that_another_thread_was_using(busy: str, tmp_path: Path) -> None:
    study = zn.Study.create(tmp_path / "s.db", [(0, 1)], budget=5000, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            study.refresh() if busy == "reading" else use(study)
            time.sleep(0.01)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(8):
            assert ended(forked(partial(use, study))) == 0
    finally:
        over.set()
        thread.join(30)
    study.refresh()
    assert len(zn.Study.open(tmp_path / "s.db").events) == len(study.events)
    assert study.measured >= 8


def test_a_fork_does_not_wait_for_ever_for_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "FORK_PATIENCE", 0.2)
    study = zn.Study.create(tmp_path / "s.db", [(0, 1)], budget=5, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    inside, over = threading.Event(), threading.Event()

    def hold() -> None:
        with study._writing():
            inside.set()
            over.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert inside.wait(30)
        assert ended(forked(lambda: study.recommend())) == 0
    finally:
        over.set()
        thread.join(30)
    with study._writing():  # by this thread itself: not waited for
        assert ended(forked(lambda: None)) == 0
    use(study)


def test_an_interrupt_while_forking_shuts_no_other_thread_out_of_its_file(tmp_path: Path) -> None:
    study = zn.Study.create(tmp_path / "a.db", [(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)

    entered: list[str] = []

    def interrupt(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename == journal.__file__ and "<" not in frame.f_code.co_name:
            entered.append(frame.f_code.co_name)
            if len(entered) > 1:  # whatever comes after what waits for others
                raise KeyboardInterrupt

    unraised = sys.unraisablehook
    sys.unraisablehook = lambda told: None  # what is raised within the hooks of a fork is said and ignored
    sys.settrace(interrupt)
    try:
        pid = os.fork()
        if not pid:
            os._exit(0)
    finally:
        sys.settrace(None)
        sys.unraisablehook = unraised
    os.waitpid(pid, 0)
    other = threading.Thread(target=use, args=(study,), daemon=True)
    other.start()
    other.join(30)
    assert not other.is_alive()
    assert study.measured == 1
