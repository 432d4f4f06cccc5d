"""Programs that tests start, and waiting for what they do."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def running(*words: object, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a program in a process group of its own, of which nothing is left when a test is over or has failed."""
    with subprocess.Popen([str(word) for word in words], text=True, start_new_session=True, **how) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def wait_for(happens: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something has happened, however busy the machine."""
    until = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)
