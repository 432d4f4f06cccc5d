"""Which process asked for a trial, and whether it still runs."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from pathlib import Path


def me() -> str:
    """Return what tells this process from others: its host, its number, and when it started."""
    return _named(os.getpid())


@lru_cache(maxsize=1)
def _named(pid: int) -> str:  # kept by number: a forked process is another one
    return f"{socket.gethostname()}:{pid}:{_started(pid)}"


def is_gone(who: str) -> bool:
    """Tell whether a process ran on this host and does no more; of other hosts nothing is known."""
    host, pid, started = [*who.rsplit(":", 2), "", ""][:3]
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it runs, and is not ours
    return bool(started) and _started(int(pid)) != started


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the host did; nothing where the system does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
