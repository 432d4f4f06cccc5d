"""A program as an instrument: a region on its standard input, a value on its standard output.

A program runs in its own process group, so that it and everything it started can be stopped, unless that has left
the group. Its value is complete when the program itself has ended. This module must not know studies.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

from zonal._types import Json
from zonal.engine.results import Trial
from zonal.errors import InvalidInput, ZonalError
from zonal.spaces import Region
from zonal.study.executors import Reading
from zonal.study.optimize import reply
from zonal.study.region_formats import HIGH, LOW, region_json, variable

GRACE = 2.0  # seconds to end after SIGTERM
KILLED = 0.5  # seconds after SIGKILL, which takes a moment
PAUSE = 0.01  # seconds between two checks whether it has ended
KEPT = 1 << 16  # bytes kept of the end of each output
SHOWN_ERROR = 2000  # characters of what a program said on standard error
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")  # linear: no digit can be matched in two ways


class Failed(ZonalError):
    """A program that gave no value."""

    def __repr__(self) -> str:
        """Return what happened, for people."""
        return str(self)


class CannotStart(ZonalError, BrokenExecutor):
    """A program that cannot be run at all, for any region."""


class Program:
    """A program that measures, given as words: its name and its arguments.

    It counts as failed after `timeout` seconds, and is tried again `retries` times. If `priced`, it is told how
    long to measure, and what that costs. If `plain`, axes have no environment variables.
    """

    def __init__(
        self, words: Sequence[str], timeout: float | None, retries: int, priced: bool = False, plain: bool = False
    ) -> None:
        self._priced = priced
        self._plain = plain
        executable = shutil.which(words[0])
        if executable is None:
            fix = "Check its path, and whether it may be executed (chmod +x); ./ is needed for one in this folder."
            raise InvalidInput("there is no such program", words[0], fix)
        self._words = [executable, *words[1:]]
        self._timeout = timeout
        self._retries = retries
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def measure(self, trial: Trial, study: Path | None, attempt: int = 0) -> Reading:
        """Return the value of a trial, and its standard error if there is one; retry as often as allowed."""
        try:
            return self._run(trial, study, attempt)
        except Failed:
            if attempt == self._retries or self._stopped:
                raise
        return self.measure(trial, study, attempt + 1)

    def _run(self, trial: Trial, study: Path | None, attempt: int) -> Reading:
        question: dict[str, Json] = {
            "trial": trial.number,
            "replicate": trial.replicate,
            "attempt": attempt + 1,
            "study": None if study is None else str(study),
            "region": region_json(trial.region),
        }
        if self._priced:
            question |= {"time": trial.time, "cost": trial.cost}
        with tempfile.TemporaryFile() as asked, closing(_Output()) as out, closing(_Output()) as err:
            asked.write(json.dumps(question).encode() + b"\n")
            asked.seek(0)
            process = self._start(environment(question, trial.region, self._plain), asked, out, err)
            try:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(self._timeout)
                late = process.returncode is None
                if late:
                    stop([process])
                output, complaint = out.close(), err.close()
                stop([process])  # what it left running
            finally:
                with self._lock:
                    self._running.discard(process)
        if late:
            raise Failed(f"it took longer than {self._timeout:g} s{_stderr_text(complaint)}")
        if process.returncode:
            how = f"exit code {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
            raise Failed(f"it ended with {how}{_stderr_text(complaint)}")
        return _value(output, complaint)

    def _start(
        self, variables: Mapping[str, str], asked: IO[bytes], out: _Output, err: _Output
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise Failed("it was stopped")
            try:
                process = subprocess.Popen(
                    self._words,
                    stdin=asked,
                    stdout=out.inlet,
                    stderr=err.inlet,
                    env={**os.environ, **variables},
                    start_new_session=True,
                )
            except OSError as error:
                raise CannotStart(f"{self._words[0]} cannot be run: {error.strerror}.") from error
            self._running.add(process)
            return process

    def stop(self) -> None:
        """Stop everything that runs, and start no more."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        stop(running)


class _Output:
    """The end of a program's output, read while it runs.

    Processes that the program started may keep the pipe open for ever, so its closing is not waited for: when the
    program has ended, a random marker is written into the pipe, and everything before the marker is its output.
    """

    def __init__(self) -> None:
        self._outlet, self.inlet = os.pipe()
        self._mark = os.urandom(16)
        self._kept = bytearray()
        self._cut = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        kept, mark = self._kept, self._mark
        while True:
            fresh = max(0, len(kept) - len(mark))
            kept += os.read(self._outlet, KEPT)
            at = kept.find(mark, fresh)
            if at >= 0:
                del kept[at:]
            if len(kept) > KEPT:
                self._cut = True
                del kept[:-KEPT]
            if at >= 0:
                return

    def close(self) -> str:
        """Stop reading, and return the output up to now."""
        if self._reader.is_alive():
            while not self._marked():
                time.sleep(PAUSE)
            self._reader.join()
            os.close(self.inlet)
            os.close(self._outlet)
        text = self._kept.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        return "..." + text if self._cut else text

    def _marked(self) -> bool:
        try:
            return os.write(self.inlet, self._mark) > 0
        except BlockingIOError:  # the program made the pipe non-blocking, and it is full
            return False


def stop(processes: Collection[subprocess.Popen[bytes]]) -> None:
    """Stop programs and everything they started that is still in their process groups."""
    if not hasattr(os, "killpg"):  # a system without process groups
        for process in processes:
            process.kill()
        return
    left = [process for process in processes if _signal(process, signal.SIGTERM)]
    try:
        left = _left_after(GRACE, left)
    finally:
        _left_after(KILLED, [process for process in left if _signal(process, signal.SIGKILL)])


def _left_after(seconds: float, processes: list[subprocess.Popen[bytes]]) -> list[subprocess.Popen[bytes]]:
    """Wait at most this long until the process groups of programs have ended; return those that have not."""
    until = time.monotonic() + seconds
    while processes and time.monotonic() < until:
        time.sleep(PAUSE)
        processes = [process for process in processes if _signal(process, 0) and _lives(process.pid)]
    return processes


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
    """Send a signal to a program's process group; return whether anything in it can be signalled."""
    process.poll()  # an ended process stays in its group until it is polled
    try:
        os.killpg(process.pid, number)
    except OSError:
        return False
    return True


def _lives(group: int) -> bool:
    """Tell whether anything in a process group still runs; zombies may stay in it if nothing reaps them."""
    stats = list(Path("/proc").glob("[0-9]*/stat"))
    states = set()
    for stat in stats:
        with suppress(OSError):  # it has just ended
            state, _, group_id = stat.read_text(errors="replace").rpartition(")")[2].split()[:3]
            states |= {state} if int(group_id) == group else set()
    return not stats or bool(states - {"Z", "X"})


def environment(question: Mapping[str, Json], region: Region, plain: bool = False) -> dict[str, str]:
    """Return the environment variables for a program; without those of the axes if `plain`."""
    values = {**question, "study": question["study"] or "", "region": region.name}
    variables = {variable(name): str(value) for name, value in values.items()}
    parts: Any = {} if plain else region_json(region)
    for name, (low, high) in parts.get("bounds", {}).items():
        variables |= {variable(name + LOW): repr(low), variable(name + HIGH): repr(high)}
    symbols = parts.get("symbols", {})
    if isinstance(symbols, dict):
        variables |= {variable(name): "|".join(map(str, value)) for name, value in symbols.items()}
    return {name: text.replace("\0", "") for name, text in variables.items()}


def _value(out: str, err: str) -> Reading:
    """Return the value in the last non-blank line: a number, a number and its standard error, or JSON."""
    line = next((line for line in reversed(out.splitlines()) if line.strip()), "")
    if not line:
        raise Failed(f"it said nothing{_stderr_text(err)}")
    if line.lstrip().startswith("{"):
        try:
            return reply(json.loads(line))
        except (ValueError, RecursionError) as error:  # the error says what is wrong
            raise Failed(f"it said {line.strip()[:80]!r}: {error}{_stderr_text(err)}") from None
    numbers = _numbers(line)
    if numbers is None:
        fix = "Its last line must be a value, or a value and a standard error"
        if _numbers(line.replace(",", ".")) is not None:
            fix += ", with decimal points, not commas (LC_ALL=C often helps)"
        raise Failed(f"it said {line.strip()[:80]!r}. {fix}{_stderr_text(err)}")
    return numbers


def _numbers(line: str) -> Reading | None:
    """Return a value, and perhaps a standard error, from a line with nothing else."""
    words = line.split()
    if len(words) > 2 or not all(map(NUMBER.fullmatch, words)):
        return None
    value, *sem = map(float, words)
    if not all(map(math.isfinite, (value, *sem))) or min(sem, default=0.0) < 0:
        return None
    return value, sem[0] if sem else None


def _stderr_text(err: str) -> str:
    """Return a program's standard error, or its end if it is long, without control characters."""
    text = err.strip()
    text = text if len(text) <= SHOWN_ERROR else "..." + text[-SHOWN_ERROR:]
    harmful = {character for character in set(text) - {*"\n\t"} if unicodedata.category(character).startswith("C")}
    shown = text.translate({ord(character): character.encode("unicode_escape").decode() for character in harmful})
    return "; its stderr:\n  " + shown.replace("\n", "\n  ") if text else "; nothing on stderr"
