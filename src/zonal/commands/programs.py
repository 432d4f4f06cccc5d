"""A program as an instrument: a region on its standard input, a value on its standard output.

A program runs as a process group of its own, so that it and all it started can be stopped. This room must not know
studies.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from zonal.commands import regions
from zonal.errors import InvalidInput, ZonalError
from zonal.rounds.trials import Trial
from zonal.spaces import Interval

GRACE = 2.0  # seconds to end after SIGTERM
SHOWN_ERROR = 2000  # characters of what a program said on standard error
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

Value = tuple[float, float | None]


class Failed(ZonalError):
    """A program that gave no value."""


class CannotStart(ZonalError):
    """A program that cannot be run at all, wherever one points it."""


class Program:
    """A program that measures.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.
    timeout : float, optional
        Seconds after which it has failed.
    retries : int
        How often it is tried again after it has failed.
    """

    def __init__(self, words: Sequence[str], timeout: float | None, retries: int) -> None:
        found = shutil.which(words[0])
        if found is None:
            fix = "Check its path, and whether it may be executed (chmod +x); ./ is needed for one in this folder."
            raise InvalidInput("there is no such program", words[0], fix)
        self._words = [found, *words[1:]]
        self._timeout = timeout
        self._retries = retries
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def measure(self, trial: Trial, study: Path | None) -> Value:
        """Return the value of a trial and its standard error, if it gives one; tried as often as is allowed."""
        for attempt in range(self._retries + 1):
            try:
                return self._run(trial, study, attempt)
            except Failed:
                if attempt == self._retries or self._stopped:
                    raise
        raise AssertionError("unreachable")

    def _run(self, trial: Trial, study: Path | None, attempt: int) -> Value:
        question = {
            "trial": trial.number,
            "look": trial.replicate,
            "attempt": attempt + 1,
            "study": None if study is None else str(study),
            "region": regions.as_json(trial.region),
        }
        process = self._start(environment(question, trial))
        try:
            out, err = process.communicate(json.dumps(question) + "\n", self._timeout)
        except subprocess.TimeoutExpired:
            stop(process)
            _, err = process.communicate()
            raise Failed(f"it took longer than {self._timeout:g} s{_said(err)}") from None
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode:
            how = f"exit code {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
            raise Failed(f"it ended with {how}{_said(err)}")
        return _value(out, err)

    def _start(self, variables: Mapping[str, str]) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise Failed("it was stopped")
            try:
                process = subprocess.Popen(
                    self._words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={**os.environ, **variables},
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,
                )
            except OSError as error:
                raise CannotStart(f"{self._words[0]} cannot be run: {error.strerror}.") from error
            self._running.add(process)
            return process

    def stop(self) -> None:
        """Stop all that runs, and start no more."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            stop(process)


def stop(process: subprocess.Popen[Any]) -> None:
    """End a program and all that it started."""
    if not hasattr(os, "killpg"):  # a system without process groups
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def environment(question: Mapping[str, Any], trial: Trial) -> dict[str, str]:
    """Return what a program finds in its environment; names of axes in capitals, other signs as underscores."""
    variables = {
        "ZONAL_TRIAL": str(question["trial"]),
        "ZONAL_LOOK": str(question["look"]),
        "ZONAL_ATTEMPT": str(question["attempt"]),
        "ZONAL_STUDY": question["study"] or "",
        "ZONAL_REGION": trial.region.name,
    }
    bounds: Mapping[str, Any] = question["region"].get("bounds", {})
    for name, (low, high) in bounds.items():
        variables |= {f"{_variable(name)}_LOW": repr(low), f"{_variable(name)}_HIGH": repr(high)}
    space = trial.region.space
    for axis in getattr(space, "axes", ()):
        if not isinstance(axis, Interval) and isinstance(question["region"]["symbols"], dict):
            variables[_variable(axis.name)] = "|".join(question["region"]["symbols"][axis.name])
    return {name: text.replace("\0", "") for name, text in variables.items()}


def _variable(name: str) -> str:
    return "ZONAL_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


def _value(out: str, err: str) -> Value:
    """Return what the last line says that is not blank: a value, or a value and its standard error."""
    line = next((line for line in reversed(out.splitlines()) if line.strip()), "")
    words = line.split()
    if not words:
        raise Failed(f"it said nothing{_said(err)}")
    numbers = [float(word) if NUMBER.fullmatch(word) else math.nan for word in words]
    if len(numbers) > 2 or not all(map(math.isfinite, numbers)) or min(numbers[1:], default=0) < 0:
        fix = "Its last line must be a value, or a value and a standard error."
        raise Failed(f"it said {line.strip()[:80]!r}. {fix}{_said(err)}")
    return numbers[0], numbers[1] if len(numbers) == 2 else None


def _said(err: str) -> str:
    """Return what a program said on standard error, its end if it is long."""
    text = err.strip()
    text = text if len(text) <= SHOWN_ERROR else "..." + text[-SHOWN_ERROR:]
    return "; its stderr:\n  " + text.replace("\n", "\n  ") if text else "; its stderr is empty"
