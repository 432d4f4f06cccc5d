"""Processes that do the same kind of work again and again, one core each, and leave Ctrl-C to their parent."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, resource_tracker
from typing import Any

from zonal.blas import libraries
from zonal.errors import InvalidInput


@contextmanager
def worker_pool(
    jobs: int, settle: Callable[..., None] | None = None, *arguments: Any
) -> Iterator[ProcessPoolExecutor]:
    """Start processes; on any error, Ctrl-C among them, what has not begun is dropped.

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
            yield pool
        except BrokenProcessPool as error:
            raise InvalidInput(
                "a worker process ended before its work was done",
                f"jobs={jobs}",
                "In a script, which every worker reads, call this below `if __name__ == '__main__':`; if memory "
                "is short, use fewer jobs.",
            ) from error
        except BaseException:
            # Waiting keeps the pool alive until its thread has seen that the rest is dropped; else it does it all.
            pool.shutdown(wait=True, cancel_futures=True)
            raise


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
