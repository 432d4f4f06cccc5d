"""Processes for many tasks: answers in order, and Ctrl-C at any moment ends them."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from operator import neg
from pathlib import Path

import pytest

from processes import running
from zonal.simulation.process_pool import Workers, run_all, worker_pool

# Run as a program: Ctrl-C again and again, in the middle of handing out work. Unheld, one in fifty would hang.
PRESSED = """
import random, signal, sys
from zonal.simulation import process_pool as workers

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    workers.get_context = lambda _: __import__("multiprocessing").get_context("fork")  # fast to start
    workers.AHEAD = 3000
    random.seed(0)
    for _ in range(10):
        try:
            with workers.worker_pool(1) as pool:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(0.002, 0.04))
                for _ in pool.as_done(abs, range(100_000)):
                    pass
        except KeyboardInterrupt:
            continue
    print("came to an end")
"""


def test_answers_come_in_order_whatever_their_number() -> None:
    assert run_all(neg, range(50), 2, False, "number") == [-number for number in range(50)]
    with worker_pool(2) as pool:
        assert sorted(pool.as_done(neg, range(20))) == [(number, -number) for number in range(20)]
        assert list(pool.as_done(neg, [])) == []


def test_ctrl_c_is_not_taken_while_tasks_are_submitted() -> None:
    reached = []

    def tasks() -> Iterator[int]:
        yield 1
        signal.raise_signal(signal.SIGINT)
        reached.append("the next task")
        yield 2

    with pytest.raises(KeyboardInterrupt), worker_pool(1) as pool:
        list(pool.as_done(neg, tasks()))
    assert reached == ["the next task"]


def test_ctrl_c_does_not_wait_for_what_is_under_way() -> None:
    def press_after_the_first(pool: Workers) -> None:
        for _, _ in pool.as_done(time.sleep, [0, 60]):
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), worker_pool(1) as pool:
        press_after_the_first(pool)
    assert time.monotonic() - start < 30


def test_ctrl_c_again_and_again_never_hangs(tmp_path: Path) -> None:
    program = tmp_path / "pressed.py"
    program.write_text(PRESSED)
    with running(sys.executable, program, stdout=subprocess.PIPE) as process:
        assert process.communicate(timeout=120)[0] == "came to an end\n"
