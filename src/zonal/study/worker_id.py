"""Which process, or which run of `optimize` in it, is measuring a trial, and whether it is still running."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

_numbers = itertools.count(1)
_running: set[str] = set()


def worker_id() -> str:
    """Return a name for this process that no other has: host, process number and start time."""
    return _named(os.getpid())


@lru_cache(maxsize=1)
def _named(pid: int) -> str:  # kept by number: a forked process is another one
    return f"{socket.gethostname()}:{pid}:{_started(pid)}"


def person() -> str:
    """Return the person who runs this process: user and host."""
    import getpass  # only for corrections

    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may run as a number without a name
        user = str(os.getuid()) if hasattr(os, "getuid") else ""
    return f"{user}@{socket.gethostname()}"


@contextmanager
def run_id() -> Iterator[str]:
    """Return a name for one run of this process, distinct from other runs and from calls made by hand."""
    run = f"{worker_id()}:{next(_numbers)}"
    _running.add(run)
    try:
        yield run
    finally:
        _running.discard(run)


def is_running(who: str) -> bool:
    """Tell whether this is a run of this process that has not ended."""
    return who in _running


def worker_is_dead(who: str) -> bool:
    """Tell whether the worker that claimed a trial has ended: a process of this host, or a run of this process."""
    host, pid, started, run = [*who.split(":"), "", "", ""][:4]
    if host != socket.gethostname() or not pid.isdigit():
        return False  # processes on other hosts cannot be checked
    if f"{host}:{pid}:{started}" == worker_id():
        return bool(run) and who not in _running
    if os.name == "nt":
        return False  # there, os.kill would end the process
    return _is_free(int(pid)) or (bool(started) and _started(int(pid)) != started)


def _is_free(pid: int) -> bool:
    """Tell whether no process has this number."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)  # else it runs under another user
    return False


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the host did; "" if it has ended or that is unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    except (OSError, IndexError):
        return ""
