"""Who is at a trial: a process, and in it perhaps one run of `optimize`; and whether anybody still is."""

from __future__ import annotations

import getpass
import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

_numbers = itertools.count(1)
_running: set[str] = set()


def me() -> str:
    """Return what tells this process from others: its host, its number, and when it started."""
    return _named(os.getpid())


@lru_cache(maxsize=1)
def _named(pid: int) -> str:  # kept by number: a forked process is another one
    return f"{socket.gethostname()}:{pid}:{_started(pid)}"


def person() -> str:
    """Return who is at the keyboard: a user and a host."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may run as a number without a name
        user = str(os.getuid()) if hasattr(os, "getuid") else ""
    return f"{user}@{socket.gethostname()}"


@contextmanager
def run_of_mine() -> Iterator[str]:
    """Return what tells one run of this process from its others, and from what is asked for by hand."""
    run = f"{me()}:{next(_numbers)}"
    _running.add(run)
    try:
        yield run
    finally:
        _running.discard(run)


def is_gone(who: str) -> bool:
    """Tell whether the worker that claimed a trial has ended: a process of this host, or a run of this process."""
    host, pid, started, run = [*who.split(":"), "", "", ""][:4]
    if host != socket.gethostname() or not pid.isdigit():
        return False  # of other hosts nothing is known
    if f"{host}:{pid}:{started}" == me():
        return bool(run) and who not in _running
    if os.name == "nt":
        return False  # where asking a process would end it
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it runs, and is not ours
    return bool(started) and _started(int(pid)) != started


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the host did; nothing of the dead, or where nobody says."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    except (OSError, IndexError):
        return ""
