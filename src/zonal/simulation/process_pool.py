"""Worker processes for repeated tasks, one core each, which leave Ctrl-C to their parent."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import islice
from multiprocessing import get_context, resource_tracker
from queue import SimpleQueue
from typing import Any, TypeVar

from zonal._blas import libraries
from zonal.errors import InvalidInput, whole_number
from zonal.gp.kernel_families import shared_tables

T = TypeVar("T")
R = TypeVar("R")


AHEAD = 4  # tasks submitted per process, so that none is idle


class Workers:
    """Processes that are ready to work. Made by `worker_pool`."""

    def __init__(self, pool: ProcessPoolExecutor, jobs: int) -> None:
        self._pool = pool
        self._ahead = AHEAD * jobs

    def as_done(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[tuple[int, R]]:
        """Yield the number and the answer of each task, as they are done."""
        waiting = enumerate(tasks)
        pending: dict[Future[R], int] = {}
        done: SimpleQueue[Future[R]] = SimpleQueue()
        while True:
            # An interrupt within submit() or wait() may leave a lock held that the pool needs to shut down;
            # waiting for such a queue is a single step, done or not.
            with _ctrl_c_held():
                for number, task in islice(waiting, self._ahead - len(pending)):
                    future = self._pool.submit(function, task)
                    pending[future] = number
                    future.add_done_callback(done.put)
            if not pending:
                return
            future = done.get()
            yield pending.pop(future), future.result()


@contextmanager
def worker_pool(jobs: int, function: Callable[[T], R] | None = None) -> Iterator[Workers]:
    """Start processes; on any error, including Ctrl-C, they are terminated.

    `function`, if given, is sent to every process once.
    """
    # Spawned workers start clean: no lock of this process is copied into them while it is held.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (function,)) as pool:
        try:
            with _ctrl_c_held():
                for _ in range(jobs):
                    pool.submit(int)  # any task: each submission starts a worker, up to their number
            yield Workers(pool, jobs)
        except BrokenProcessPool as error:
            fix = "In a script, which every worker reads, call this below `if __name__ == '__main__':`"
            fix += "; if memory is short, use fewer jobs."
            raise InvalidInput("a worker process ended before its work was done", f"jobs={jobs}", fix) from error
        except BaseException:
            with _ctrl_c_held():
                for process in list((pool._processes or {}).values()):
                    process.terminate()  # its answer is no longer needed
                pool.shutdown(wait=True, cancel_futures=True)
            raise


def run_all(
    function: Callable[[T], R], tasks: Sequence[T], jobs: int | None, progress: bool, unit: str
) -> list[R]:
    """Return the answer of each task, in order, whatever the number of processes (one per core by default).

    `function` turns a task into an answer. A progress bar, if there is one, counts in `unit`.
    """
    from tqdm import tqdm

    bar = partial(tqdm, total=len(tasks), unit=unit, leave=False, disable=None if progress else True)
    jobs = min(os.cpu_count() or 1 if jobs is None else whole_number(jobs, "jobs", 1), len(tasks))
    if jobs == 1:
        with shared_tables():
            return [function(task) for task in bar(tasks)]
    try:
        pickle.dumps(function)
    except Exception as error:
        fix = "Define it by name in a module, or pass jobs=1."
        raise InvalidInput(f"a function cannot be sent to other processes ({error})", function, fix) from error
    with worker_pool(jobs, function) as pool:
        answers = dict(bar(pool.as_done(_run_task, tasks)))
    return [answers[number] for number in range(len(tasks))]


_function: list[Any] = []  # in a worker: its function, sent once


def _run_task(task: Any) -> Any:
    return _function[0](task)


@contextmanager
def _ctrl_c_held() -> Iterator[None]:
    """Delay Ctrl-C for a moment; processes started meanwhile never receive it and leave it to their parent."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it unblocks signals when it starts
    noted: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    # The mask is for the processes; another thread of this one may still get the signal, so it is recorded too.
    usual = signal.signal(signal.SIGINT, lambda *_: noted.append(1)) if main else None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if main:
            signal.signal(signal.SIGINT, usual)
        if noted:
            signal.raise_signal(signal.SIGINT)


def _begin(function: Callable[[T], R] | None) -> None:
    """Limit a worker to one core, let its studies share tables for as long as it lives, and keep its function."""
    shared_tables().__enter__()
    for _, put in libraries():
        put(1)
    _function[:] = [function]
