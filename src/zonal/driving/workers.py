"""Processes that do the same kind of work again and again, one core each, and leave Ctrl-C to their parent."""

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

from zonal.blas import libraries
from zonal.errors import InvalidInput, whole_number

T = TypeVar("T")
R = TypeVar("R")


AHEAD = 4  # tasks submitted for every process, so that none has to wait for the next


class Workers:
    """Processes that are ready to work. Made by `worker_pool`."""

    def __init__(self, pool: ProcessPoolExecutor, jobs: int) -> None:
        self._pool = pool
        self._ahead = AHEAD * jobs

    def as_done(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[tuple[int, R]]:
        """Yield the number and the answer of each task, as they come."""
        waiting = enumerate(tasks)
        under_way: dict[Future[R], int] = {}
        done: SimpleQueue[Future[R]] = SimpleQueue()
        while True:
            # An interrupt within submit() or wait() may leave a lock taken that the pool needs to come to an end;
            # waiting for such a queue is a single step, done or not.
            with _ctrl_c_held():
                for number, task in islice(waiting, self._ahead - len(under_way)):
                    future = self._pool.submit(function, task)
                    under_way[future] = number
                    future.add_done_callback(done.put)
            if not under_way:
                return
            future = done.get()
            yield under_way.pop(future), future.result()

    def in_order(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the answers in the order of the tasks."""
        early: dict[int, R] = {}
        following = 0
        for number, answer in self.as_done(function, tasks):
            early[number] = answer
            while following in early:
                yield early.pop(following)
                following += 1


@contextmanager
def worker_pool(jobs: int, settle: Callable[..., None] | None = None, *arguments: Any) -> Iterator[Workers]:
    """Start processes; on any error, Ctrl-C among them, they are ended with whatever they do.

    Parameters
    ----------
    jobs : int
        How many.
    settle : callable, optional
        Called first thing in every process, with the arguments.
    *arguments
        Sent to every process once.
    """
    # Spawned workers start clean: no lock or thread of this process is copied into them half-way.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (settle, arguments)) as pool:
        try:
            with _ctrl_c_held():
                for _ in range(jobs):
                    pool.submit(int)  # anything: each submission starts a worker, up to their number
            yield Workers(pool, jobs)
        except BrokenProcessPool as error:
            raise InvalidInput(
                "a worker process ended before its work was done",
                f"jobs={jobs}",
                "In a script, which every worker reads, call this below `if __name__ == '__main__':`; if memory "
                "is short, use fewer jobs.",
            ) from error
        except BaseException:
            with _ctrl_c_held():
                for process in list((pool._processes or {}).values()):
                    process.terminate()  # nobody waits for its answer any more
                pool.shutdown(wait=True, cancel_futures=True)
            raise


def played(play: Callable[[T], R], tasks: Sequence[T], jobs: int | None, progress: bool, unit: str) -> list[R]:
    """Return what becomes of each task, in order.

    Parameters
    ----------
    play : callable
        Task to answer; it is sent to every process once.
    tasks : sequence
    jobs : int or None
        Processes; one a core by default. They change no answer.
    progress, unit : bool, str
        Whether to show a progress bar, and what it counts.
    """
    from tqdm import tqdm

    bar = partial(tqdm, total=len(tasks), unit=unit, leave=False, disable=None if progress else True)
    jobs = min(os.cpu_count() or 1 if jobs is None else whole_number(jobs, "jobs", 1), len(tasks))
    if jobs == 1:
        return [play(task) for task in bar(tasks)]
    try:
        pickle.dumps(play)
    except Exception as error:
        fix = "Define it by name in a module, or pass jobs=1."
        raise InvalidInput(f"a function cannot be sent to other processes ({error})", play, fix) from error
    with worker_pool(jobs, _settle, play) as pool:
        return list(bar(pool.in_order(_play_here, tasks)))


_here: list[Callable[[Any], Any]] = []  # of a worker: what it plays, sent once


def _settle(play: Callable[[Any], Any]) -> None:
    _here[:] = [play]


def _play_here(task: Any) -> Any:
    return _here[0](task)


@contextmanager
def _ctrl_c_held() -> Iterator[None]:
    """Hold Ctrl-C back for a moment; processes started meanwhile never see it and leave it to their parent."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which lets signals through again when it starts
    noted: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    # The mask is for the processes; another thread of this one may still take the signal, so it is noted down too.
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


def _begin(settle: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    """Keep a worker to one core, and settle it."""
    for _, put in libraries():
        put(1)
    if settle is not None:
        settle(*arguments)
