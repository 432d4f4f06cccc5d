"""The driver: ask, measure, tell, until the budget is spent; alone or on any `concurrent.futures` executor.

It knows that a study can be asked and told, and nothing about how the study decides. Ctrl-C is taken between
two steps of the study or during a measurement, never in the middle of an update.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from types import FrameType, TracebackType
from typing import Any, Protocol

from zonal.errors import Exhausted, InvalidInput, whole_number
from zonal.instruments import Instrument
from zonal.spaces import Region
from zonal.trials import Trial

Measure = Callable[[Region], float]
Callback = Callable[[Any, Trial], object]


class Driven(Protocol):
    """What the driver needs of a study."""

    @property
    def remaining(self) -> int:
        """Measurements that may still be asked for."""

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials under way."""

    def ask(self) -> Trial:
        """Return the next trial."""

    def tell(self, trial: Trial, value: float) -> None:
        """Take in a measurement."""

    def give_up(self, trial: Trial) -> None:
        """Take back a trial that failed."""

    def withdraw(self, trial: Trial) -> None:
        """Take back a trial that was not tried."""


def drive(
    study: Driven,
    measure: Measure,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    enough: Callable[[], bool] | None = None,
) -> str:
    """Measure until the budget is spent or no region is left, and return why it ended: "" for the budget.

    Parameters
    ----------
    study : Study
        What is asked and told.
    measure : callable
        Region to value. If it raises, its trial is given up and the error goes on to the caller.
    executor : concurrent.futures.Executor, optional
        Where to measure; without one, measurements are made here, one after the other.
    workers : int, optional
        Measurements under way at once on the executor; by default its number of workers.
    callback : callable, optional
        Called with the study and the trial after each measurement; raise StopIteration to stop.
    progress : bool
        Show a progress bar.
    enough : callable, optional
        Called after each measurement: whether to stop, because the answer is good enough.
    """
    if not callable(measure):
        raise InvalidInput("measure must be a function of a region", measure, "Pass a callable.")
    if executor is None:
        if workers is not None:
            raise InvalidInput("workers need an executor", workers, "Pass executor= too, or leave workers out.")
        workers = 1
    elif workers is None:
        workers = getattr(executor, "_max_workers", None)
        if workers is None:
            raise InvalidInput("this executor does not tell how many workers it has", executor, "Pass workers=.")
    workers = whole_number(workers, "workers", 1)
    with _Bar(study.remaining if progress else None) as bar, _CtrlC() as ctrl_c:
        if executor is None:
            return _alone(study, measure, _Stop(callback, enough), bar, ctrl_c)
        return _shared(study, measure, executor, workers, _Stop(callback, enough), bar, ctrl_c)


def _alone(study: Driven, measure: Measure, stop: _Stop, bar: _Bar, ctrl_c: _CtrlC) -> str:
    while study.remaining and not ctrl_c.pressed:
        try:
            trial = study.ask()
        except Exhausted as error:
            return str(error)
        try:
            with ctrl_c.may_interrupt:
                value = measure(trial.region)
            study.tell(trial, value)
        except KeyboardInterrupt:
            study.withdraw(trial)
            return INTERRUPTED
        except BaseException:
            _give_up(study, trial)
            raise
        bar.step()
        if why := stop(study, trial):
            return why
    return INTERRUPTED if ctrl_c.pressed else ""


def _shared(
    study: Driven,
    measure: Measure,
    executor: Executor,
    workers: int,
    stop: _Stop,
    bar: _Bar,
    ctrl_c: _CtrlC,
) -> str:
    under_way: dict[Future[float], Trial] = {}
    why = ""
    failure: Exception | None = None
    try:
        while under_way or (study.remaining and not why):
            try:
                while study.remaining and len(under_way) < workers and not why:
                    _submit(study, measure, executor, under_way)
            except Exhausted as error:
                why = str(error)
                continue
            except Exception as error:  # as below
                failure, why = failure or error, STOPPED
                continue
            with ctrl_c.may_interrupt:
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda one: under_way[one].number):
                trial = under_way.pop(future)
                try:
                    study.tell(trial, future.result())
                except Exception as error:  # what is under way is waited for first: nothing measured is lost
                    _give_up(study, trial)
                    failure, why = failure or error, STOPPED
                    continue
                bar.step()
                why = stop(study, trial) or why
    except KeyboardInterrupt:
        why = INTERRUPTED
    finally:
        for future, trial in under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                study.tell(trial, future.result())
            else:
                future.cancel()
                study.withdraw(trial)
    if failure:
        raise failure
    return why


def _give_up(study: Driven, trial: Trial) -> None:
    """Give up a trial that failed, unless it was told and only a warning turned into an error came after."""
    if trial in study.pending:
        study.give_up(trial)


def _submit(study: Driven, measure: Measure, executor: Executor, under_way: dict[Future[float], Trial]) -> None:
    """Ask for one more trial and have it measured."""
    trial = study.ask()
    try:
        under_way[executor.submit(_measure, measure, trial)] = trial
    except BaseException:
        study.withdraw(trial)
        raise


INTERRUPTED = "interrupted by Ctrl-C"
STOPPED = "stopped by the callback"
ENOUGH = "good enough"


def _measure(measure: Measure, trial: Trial) -> float:
    """Measure a trial on a worker. The trial is passed whole, so that no two calls are alike."""
    if isinstance(measure, Instrument):
        return measure.at(trial.region, trial.number)
    return measure(trial.region)


class _Stop:
    """Tells, after a measurement, why to stop: "" to go on."""

    def __init__(self, callback: Callback | None, enough: Callable[[], bool] | None) -> None:
        self._callback = callback
        self._enough = enough

    def __call__(self, study: Driven, trial: Trial) -> str:
        try:
            if self._callback is not None:
                self._callback(study, trial)
        except StopIteration:
            return STOPPED
        return ENOUGH if self._enough is not None and self._enough() else ""


class _Bar:
    """A progress bar, or none."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._bar: Any = None

    def __enter__(self) -> _Bar:
        if self._total is not None:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self._total, desc="measuring", unit="")
        return self

    def step(self) -> None:
        if self._bar is not None:
            self._bar.update()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


class _CtrlC:
    """Keeps Ctrl-C from tearing an update apart: it is taken only while measuring, else noted."""

    def __init__(self) -> None:
        self.pressed = False
        self.may_interrupt = _Open(self)
        self._installed = False

    def __enter__(self) -> _CtrlC:
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            signal.signal(signal.SIGINT, self._note)
            self._installed = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        if self.may_interrupt.is_open:
            self.may_interrupt.is_open = False  # a second press must not disturb the tidying up
            raise KeyboardInterrupt


class _Open:
    """Open while a measurement is made."""

    def __init__(self, ctrl_c: _CtrlC) -> None:
        self._ctrl_c = ctrl_c
        self.is_open = False

    def __enter__(self) -> None:
        self.is_open = True
        if self._ctrl_c.pressed:  # before the measurement began
            self.is_open = False
            raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_open = False
