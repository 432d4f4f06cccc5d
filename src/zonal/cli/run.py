"""`zonal run`: a program measures until the budget is spent."""

from __future__ import annotations

import logging
import math
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click

from zonal.cli.options import (
    INTERRUPTED,
    KEEPS_FAILING,
    Finite,
    Refusal,
    budget_line,
    echo_err,
    for_shell,
    labels_option,
    number_option,
    study_command,
)
from zonal.cli.program import Failed, Program
from zonal.engine.results import Trial
from zonal.errors import InvalidInput, TrialError, duration
from zonal.study.executors import FutureExecutor, Reading, Task, Threads
from zonal.study.optimize import RunSession, reached, twice
from zonal.study.region_formats import check_variables
from zonal.study.run_loop import ENOUGH, run_loop
from zonal.study.run_loop import INTERRUPTED as STOPPED
from zonal.study.study import Study
from zonal.study.summary import progress_text
from zonal.study.worker_id import run_id

ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")  # SIGHUP: the terminal was closed


def _seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    try:
        return None if value is None else duration(value, "--timeout")
    except InvalidInput as error:
        raise click.BadParameter(str(error)) from None


@study_command(numbers=True)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGUMENT]...")
@number_option("--workers", default=1, help="Programs to run at once.")
@click.option("--timeout", type=float, callback=_seconds, help="Seconds a measurement may take.")
@number_option("--retries", default=0, minimum=0, help="Further attempts after a failure.")
@number_option("-n", "most", help="Number of measurements  [default: all that are left]")
@number_option(
    "--max-failures",
    default=10,
    help="Stop after this many failures in a row; these do not count against any region.",
)
@click.option("--take-over", is_flag=True, help="Also measure trials pending, whoever asked for them.")
@click.option(
    "--tolerance",
    type=Finite(min=0, min_open=True),
    help="Stop early when the gap is no larger than this, twice in a row, and smallest regions were measured.",
)
@labels_option
@click.option("--stdin-only", is_flag=True, help="Pass axes as JSON on standard input only, not as variables.")
def run(
    study: Study,
    program: tuple[str, ...],
    workers: int,
    timeout: float | None,
    retries: int,
    most: int | None,
    max_failures: int,
    take_over: bool,
    tolerance: float | None,
    labels: dict[str, str],
    stdin_only: bool,
) -> None:
    """Let a PROGRAM measure, until the budget is spent.

    For example: zonal run sky.db -- ./measure.sh. The region is passed as JSON on standard input, and as
    environment variables (ZONAL_TRIAL, ZONAL_REGION, ZONAL_<AXIS>_LOW and _HIGH). The last line of the program's
    standard output is the value, or the value and its standard error, or JSON with the arguments of tell by name.
    With --label plate=3 all readings have that label, unless the program's JSON has another one. If the program
    fails or prints nothing, its trial is marked as failed and reported, and the run continues. What the program
    leaves running is stopped when it ends, unless it was detached with setsid. If standard error is not a
    terminal, every measurement is a line there.
    """
    if not stdin_only:
        check_variables(study.space, "Let the program read the JSON on its standard input, and pass --stdin-only.")
    words = Program(program, timeout, retries, study.settings.priced, stdin_only)
    instrument = _Programs(words, study.path, workers)
    enough = None if tolerance is None else twice(study, tolerance)
    with run_id() as name, _tidily(), _logged():
        hand = _Shift(study, name, take_over, most, labels)
        try:
            limits: dict[str, Any] = {"max_failures": max_failures - 1, "in_a_row": True, "enough": enough}
            why = run_loop(hand, instrument, progress=lambda: progress_text(study), on_error="fail", **limits)
        except KeyboardInterrupt:
            why = STOPPED
        except (Failed, InvalidInput):
            why = f"stopped: the program failed {max_failures} times in a row; {budget_line(study)}"
            raise Refusal(why, KEEPS_FAILING) from None
    if why == STOPPED:
        raise Refusal(f"interrupted; {budget_line(study)}", INTERRUPTED)
    if why == ENOUGH:
        why = f"stopped: {reached(study, tolerance)}"
    exhausted = bool(why and study.remaining)  # else other processes have spent the budget
    if exhausted:
        echo_err(for_shell(why))
    if not hand.measured and (hand.failed or (exhausted and not study.measured)):
        raise Refusal(f"stopped: nothing was measured; {budget_line(study)}", KEEPS_FAILING)
    study.refresh()
    echo_err(budget_line(study))


class _Shift(RunSession):
    """A study measured by programs, as far as the budget goes."""

    def __init__(self, study: Study, by: str, take_over: bool, most: int | None, labels: dict[str, str]) -> None:
        super().__init__(study, by, take_over, labels=labels)
        self._part = math.inf if most is None else most
        self.measured = self.failed = False  # whether anything was measured, and whether anything failed

    def tell(self, trial: Trial, value: Reading) -> None:
        """Record a measurement."""
        try:
            super().tell(trial, value)
        except TrialError as error:
            raise TrialError(for_shell(str(error))) from error
        self.measured = True

    def fail(self, trial: Trial, error: BaseException) -> None:
        """Fail a trial that could not be measured."""
        super().fail(trial, error)
        self.failed = True


class _Programs(FutureExecutor):
    """Measures by running programs, which are stopped at the end."""

    def __init__(self, program: Program, study: Path | None, workers: int) -> None:
        super().__init__(lambda region: math.nan, Threads, workers, owned=False)
        self._program, self._study = program, study

    def begin(self, trial: Trial) -> Task:
        """Start the measurement of a trial."""
        future = self._executor.submit(self._program.measure, trial, self._study)
        future.add_done_callback(lambda _: self._news.put(None))
        return Task(trial.region, future, self._executor)

    def close(self, unfinished: bool) -> None:
        """Stop everything that runs."""
        self._program.stop()
        super().close(unfinished)


@contextmanager
def _logged() -> Iterator[None]:
    """Log beside the progress bar; where there is none, every measurement and failure, with the time."""
    log = logging.getLogger("zonal")
    if sys.stderr.isatty():
        from tqdm.contrib.logging import logging_redirect_tqdm

        with logging_redirect_tqdm([log]):
            yield
        return
    handler, level = logging.StreamHandler(sys.stderr), log.level
    handler.setFormatter(logging.Formatter("%(asctime)s  %(message)s", "%Y-%m-%d %H:%M:%S"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@contextmanager
def _tidily() -> Iterator[None]:
    """Clean up when this process is told to end; signals that `nohup` and the like ignore stay ignored."""

    def end(received: int, frame: FrameType | None) -> None:
        for signal_number in before:  # a second one must not disturb the clean-up
            signal.signal(signal_number, signal.SIG_IGN)
        raise KeyboardInterrupt if received == signal.SIGINT else SystemExit(128 + received)

    numbers = [getattr(signal, name) for name in ENDINGS if hasattr(signal, name)]
    before: dict[int, Any] = {signal_number: signal.getsignal(signal_number) for signal_number in numbers}
    before = {signal_number: handler for signal_number, handler in before.items() if handler is not signal.SIG_IGN}
    for signal_number in before:
        signal.signal(signal_number, end)
    try:
        yield
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)
