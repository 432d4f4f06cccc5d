"""Commands in processes of their own that need not import Zonal first: they are forked from one that has.

Some tests start `python -m zonal` all the same.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection

from shell import ENVIRONMENT

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["zonal.cli.main", "zonal.study.study", "zonal.cli.trials", "zonal.web.server"])


class Forked:
    """A command at work, as `subprocess.Popen` shows one; what it prints can be read, errors among it.

    Or what `does` does instead of a command; it may start processes, which its caller ends.
    """

    def __init__(
        self, *words: object, env: Mapping[str, str] = ENVIRONMENT, does: Callable[[], None] | None = None
    ) -> None:
        ours, theirs = FORKS.Pipe(duplex=False)
        arguments = ([str(word) for word in words], dict(env), os.getcwd(), theirs, does)
        self._process = FORKS.Process(target=_work, args=arguments, daemon=does is None)
        self._process.start()
        theirs.close()
        self._ours = ours  # is closed without a word with the last reference to it, as a file would not be
        self.stdout = open(ours.fileno(), encoding="utf-8", closefd=False)  # noqa: SIM115
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):  # the server of forks has seen its end, and we have not heard of it
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def wait(self, timeout: float | None = None) -> None:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("zonal", timeout or 0)

    def end(self, timeout: float | None = None) -> str:
        """Wait until it has ended, and return what it printed; one that does not end in time is killed."""
        try:
            self.wait(timeout)
        finally:
            self.kill()
        return self.stdout.read()


def _work(
    words: list[str], env: dict[str, str], folder: str, out: Connection, does: Callable[[], None] | None
) -> None:
    """Be the command."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    for standard in (1, 2):
        os.dup2(out.fileno(), standard)
    out.close()
    sys.argv = ["zonal", *words]
    if does is not None:
        return does()

    from zonal.cli.main import main

    main(prog_name="zonal")
