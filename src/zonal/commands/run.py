"""`zonal run`: a program measures until the budget is spent."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import click

from zonal.commands.bench import standing
from zonal.commands.frame import (
    INTERRUPTED,
    KEEPS_FAILING,
    Command,
    Refusal,
    on_terminal,
    say,
    spoken,
    study_argument,
)
from zonal.commands.programs import CannotStart, Failed, Program, Value
from zonal.driving.hand import Hand
from zonal.errors import Exhausted, InvalidInput, StudyFileError, TrialError, ZonalError, duration
from zonal.rounds.trials import Trial
from zonal.rounds.whose import run_of_mine
from zonal.study import Study

ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")  # SIGHUP: the terminal was closed


def _seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    try:
        return None if value is None else duration(value, "--timeout")
    except InvalidInput as error:
        raise click.BadParameter(str(error)) from None


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@study_argument
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGUMENT]...")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Programs at once.")
@click.option("--timeout", type=float, callback=_seconds, help="Seconds a measurement may take.")
@click.option(
    "--retries", default=0, show_default=True, type=click.IntRange(min=0), help="Further attempts after a failure."
)
@click.option("-n", "most", type=click.IntRange(min=1), help="Measurements to make  [default: all that are left]")
@click.option(
    "--max-failures",
    default=10,
    show_default=True,
    type=click.IntRange(min=1),
    help="Trials given up in a row, after which to stop; these are held against no region.",
)
@click.option("--take-over", is_flag=True, help="Measure what is under way too, whoever asked for it.")
def run(
    study: Study,
    program: tuple[str, ...],
    workers: int,
    timeout: float | None,
    retries: int,
    most: int | None,
    max_failures: int,
    take_over: bool,
) -> None:
    """Let a PROGRAM measure, until the budget is spent.

    For example: zonal run sky.db -- ./measure.sh. The region comes as JSON on its standard input, and as
    environment variables (ZONAL_TRIAL, ZONAL_REGION, ZONAL_<AXIS>_LOW and _HIGH). The last line on its standard
    output is the value, or the value and its standard error. One that fails, or says nothing, gives its trial up
    and is reported; the others go on. What it leaves running is stopped once it has ended, unless it was detached
    with setsid.
    """
    instrument = Program(program, timeout, retries)
    with run_of_mine() as name, _tidily():
        campaign = _Campaign(study, Hand(study, name, take_over), instrument, most, max_failures)
        try:
            campaign.go(workers)
        except KeyboardInterrupt:
            raise Refusal(f"interrupted; {standing(study)}", INTERRUPTED) from None
    study.refresh()
    say(standing(study))


class _Campaign:
    """What is under way, what is left to do, and why to ask for no more."""

    def __init__(self, study: Study, hand: Hand, program: Program, most: int | None, max_failures: int) -> None:
        self._study, self._hand, self._program = study, hand, program
        self._left = most
        self._max_failures = max_failures
        self._told = False
        self._in_a_row: list[Trial] = []  # given up since the last success
        self._exhausted = False
        self._stopped: Exception | None = None
        self._under_way: dict[Future[Value], Trial] = {}

    def go(self, workers: int) -> None:
        """Ask, measure and tell; whatever happens, nothing measured is lost, and nothing is left running."""
        pool = ThreadPoolExecutor(workers)
        try:
            with _bar(self._study) as step:
                while self._fill(pool, workers):
                    done, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
                    for future in sorted(done, key=lambda one: self._under_way[one].number):
                        step(self._take(future))
        finally:
            self._program.stop()
            pool.shutdown(cancel_futures=True)
            for future in list(self._under_way):
                with suppress(OSError, TrialError):  # the next run takes up what could not be withdrawn
                    self._end(future)
            if self._stopped is not None or not self._told:  # the fault is the program's
                with suppress(StudyFileError):
                    self._study.forgive(self._in_a_row)
        if self._stopped is not None:
            raise self._stopped
        if not self._told and (self._in_a_row or (self._exhausted and not self._study.told)):
            raise Refusal(f"stopped: nothing was measured; {standing(self._study)}", KEEPS_FAILING)

    def _fill(self, pool: ThreadPoolExecutor, workers: int) -> bool:
        """Begin as many measurements as there is room for, and tell whether any are under way."""
        while len(self._under_way) < workers and self._left != 0 and not self._stopped and self._hand.remaining:
            try:
                trial = self._hand.ask()
            except Exhausted as error:
                if not self._under_way and self._study.remaining:  # else others have spent the budget
                    self._exhausted = True
                    _report(spoken(str(error)))
                break
            self._left = None if self._left is None else self._left - 1
            self._under_way[pool.submit(self._program.measure, trial, self._study.path)] = trial
        return bool(self._under_way)

    def _take(self, future: Future[Value]) -> bool:
        """Take in a measurement, and tell whether it went well."""
        trial = self._under_way.pop(future)
        try:
            value, sem = future.result()
        except CannotStart as error:
            self._study.withdraw(trial)
            self._stopped = error
            return False
        except Failed as error:
            self._give_up(trial, error)
            return False
        try:
            self._study.tell(trial, value, sem)
        except StudyFileError as error:
            _report(f"trial {trial.number} ({trial.region.name}) gave {value!r}, which could not be kept")
            self._stopped = error
        except TrialError as error:  # somebody else ended it
            _report(spoken(str(error)))
        except ZonalError as error:  # a value beyond all bounds
            self._give_up(trial, error)
        else:
            self._told = True
            if self._stopped is None:
                self._in_a_row.clear()
            return True
        return False

    def _give_up(self, trial: Trial, error: ZonalError) -> None:
        try:
            self._study.give_up(trial)
        except TrialError as ended:  # by somebody else
            _report(spoken(str(ended)))
            return
        _report(f"trial {trial.number} ({trial.region.name}) was given up: {error}")
        self._in_a_row.append(trial)
        if len(self._in_a_row) == self._max_failures and self._stopped is None:
            why = f"stopped: the program failed {self._max_failures} times in a row; {standing(self._study)}"
            self._stopped = Refusal(why, KEEPS_FAILING)

    def _end(self, future: Future[Value]) -> None:
        """Take in what is measured already, and withdraw what is not."""
        if future.done() and not future.cancelled() and future.exception() is None:
            self._take(future)
        else:
            self._study.withdraw(self._under_way.pop(future))


def _report(text: str) -> None:
    """Say something, above the bar if there is one."""
    from tqdm import tqdm

    tqdm.write(text, file=sys.stderr)


@contextmanager
def _tidily() -> Iterator[None]:
    """Tidy up when this process is told to end; what `nohup` and its like keep from it stays ignored."""

    def end(number: int, frame: FrameType | None) -> None:
        for each in before:  # a second one must not disturb the tidying up
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in ENDINGS if hasattr(signal, name)]
    before: dict[int, Any] = {each: signal.getsignal(each) for each in numbers}
    before = {each: handler for each, handler in before.items() if handler is not signal.SIG_IGN}
    for each in before:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _bar(study: Study) -> Iterator[Any]:
    """Show how far it is, if somebody watches."""
    from tqdm import tqdm

    done = study.budget - study.remaining
    with tqdm(total=study.budget, initial=done, desc="measuring", unit="", disable=not on_terminal()) as bar:
        yield lambda told: bar.update(int(told))
