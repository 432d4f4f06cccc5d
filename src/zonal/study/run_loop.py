"""The loop of a run: ask, measure, tell, until the budget is spent; on any executor.

It knows that a study can be asked and told, and nothing about how the study decides. Ctrl-C takes effect between
two steps of the study or during a measurement, never in the middle of an update.
"""

from __future__ import annotations

import logging
import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Literal

from zonal.engine.results import Trial
from zonal.errors import Exhausted, StudyFileError, TrialError, check_choice, duration, whole_number
from zonal.study.executors import Anywhere, InlineExecutor, Measure, Reading, Task, executor_for, shared_death
from zonal.study.summary import measurements_left

if TYPE_CHECKING:
    from zonal.study.optimize import RunSession
    from zonal.study.study import Study

Callback = Callable[["Study", Trial], object]
OnError = Literal["raise", "fail"]
Step = Callable[[], None]

log = logging.getLogger("zonal")

INTERRUPTED = "interrupted by Ctrl-C"
STOPPED = "stopped by the callback"
ENOUGH = "good enough"
FAILED_TRIAL = "trial %d (%s) failed: %r"
READABLE = 0.5  # seconds for which the text of a progress bar stays
WORKER_CHECK = 5.0  # seconds after which a silent cluster is asked whether it has any worker
WARN_AFTER = 60.0  # seconds without a worker after which that is said
NO_WORKER = 600.0  # and after which the run ends


def run_loop(
    session: RunSession,
    measure: Measure | InlineExecutor,
    *,
    executor: Anywhere = None,
    workers: int | None = None,
    callback: Callback | None = None,
    progress: Callable[[], str] | None = None,
    enough: Callable[[], bool] | None = None,
    on_error: OnError = "raise",
    max_failures: int | None = None,
    in_a_row: bool = False,
    timeout: float | None = None,
) -> str:
    """Measure until the budget is spent or no region is left; return why it ended, "" if the budget is spent.

    With several workers, a new trial is asked for as soon as any measurement is done. If an error is raised, or
    nothing was recorded at all, the failures since the last success do not count against any region.

    The parameters are those of `Study.optimize`, except: `measure` may be an engine; `progress` returns the text
    beside a progress bar; `enough`, called after each measurement, tells whether the answer is good enough;
    `in_a_row` counts only failures since the last success, and logs each.
    """
    check_choice(on_error, "on_error", ("raise", "fail"))
    limit = session.remaining if max_failures is None else whole_number(max_failures, "max_failures", 0)
    seconds = math.inf if timeout is None else duration(timeout, "timeout")
    engine = measure
    if not isinstance(engine, InlineExecutor):
        engine = executor_for(engine, executor, workers, timeout, bool(session.study.settings.times))
    allowed = limit if on_error == "fail" else 0
    with _progress(session, progress) as step, _CtrlC() as ctrl_c:
        return _Run(session, engine, step, ctrl_c, callback, enough, allowed, in_a_row, seconds)()


@dataclass
class _Run:
    """The pending measurements, and why the run ends."""

    _session: RunSession
    _engine: InlineExecutor
    _step: Step
    _ctrl_c: _CtrlC
    _callback: Callback | None
    _enough: Callable[[], bool] | None
    _max_failures: int
    _counts_in_a_row: bool
    _timeout: float
    _pending: dict[Task, Trial] = field(default_factory=dict)
    _hanging: list[Task] = field(default_factory=list)
    _suspects: list[Trial] = field(default_factory=list)  # their worker died; each is measured again alone
    _deserted: float = math.inf  # since when there is no worker, by the monotonic clock
    _warned: bool = False  # that there is no worker
    _failures: int = 0
    _in_a_row: list[Trial] = field(default_factory=list)  # failed since the last success
    _told: bool = False
    _failure: BaseException | None = None
    _why: str = ""

    def __call__(self) -> str:
        """Ask, wait and tell; in the end no trial is left pending."""
        try:
            while self._submit():
                with self._ctrl_c.may_interrupt():
                    self._engine.wait(tuple(self._pending), self._patience())
                    self._check_workers()
                for task in self._engine.done(tuple(self._pending)):
                    self._collect(task)
                self._drop_late()
                if self._failure is not None and self._deserted < math.inf:
                    break
        except KeyboardInterrupt:
            self._why = INTERRUPTED
        finally:
            self._close()
        if self._failure is not None:
            raise self._failure
        return self._why or (INTERRUPTED if self._ctrl_c.pressed else "")

    def _submit(self) -> bool:
        """Start as many measurements as possible; return whether any are pending."""
        if self._suspects and not self._pending and not self._ended():
            self._begin(self._suspects.pop(0), alone=True)
        while self._may_begin():
            try:
                trial = self._session.ask()
            except Exhausted as error:
                if not self._pending and not self._session.paid_out:  # else results may allow new regions
                    self._why = str(error)
                break
            except Exception as error:
                self._failure = error
                break
            self._begin(trial)
        return bool(self._pending)

    def _may_begin(self) -> bool:
        busy = len(self._pending) + self._lost() >= self._engine.workers
        alone = bool(self._suspects) or any(task.alone for task in self._pending)
        return not busy and not alone and not self._ended() and self._session.remaining > 0

    def _ended(self) -> bool:
        return bool(self._why or self._failure or self._ctrl_c.pressed)

    def _begin(self, trial: Trial, alone: bool = False) -> None:
        try:
            task = self._engine.begin(trial)
        except BaseException:
            self._session.cancel(trial)
            raise
        task.due, task.alone = monotonic() + self._timeout, alone
        self._pending[task] = trial

    def _collect(self, task: Task) -> None:
        """Process a finished measurement, successful or not."""
        trial = self._pending.pop(task)
        value, error = task.outcome()
        if error is None:
            self._tell(trial, value)
        elif isinstance(error, KeyboardInterrupt):
            self._session.cancel(trial)
            raise KeyboardInterrupt
        elif shared_death(error) and not task.alone and not self._ended():
            self._suspects.append(trial)
        elif task.broke(error):  # not the region's fault
            self._session.cancel(trial)
            if not self._engine.recovers(task.executor):
                self._failure = self._failure or error
        else:
            self._fail(trial, error)

    def _tell(self, trial: Trial, value: Reading) -> None:
        try:
            self._session.tell(trial, value)
        except TrialError as error:  # another process ended it
            log.warning("%s", error)
            return
        except Exception as error:
            self._fail(trial, error)
            return
        self._told = True
        if self._failure is None:
            self._log_blocked()
            self._in_a_row.clear()
        self._step()
        self._why = self._stop(trial) or self._why

    def _stop(self, trial: Trial) -> str:
        """Return why to stop after a measurement: "" to go on."""
        try:
            if self._callback is not None:
                self._callback(self._session.study, trial)
        except StopIteration:
            return STOPPED
        return ENOUGH if self._enough is not None and self._enough() else ""

    def _fail(self, trial: Trial, error: BaseException) -> None:
        """Fail a trial. Those pending are still waited for, so that no measurement is lost."""
        told = trial not in self._session.study.pending  # then a warning was turned into an error after telling
        if not told:
            try:
                self._session.fail(trial, error)
            except TrialError as ended:  # another process ended it
                log.warning("%s", ended)
                return
            self._in_a_row.append(trial)
        self._failures += 1
        number = len(self._in_a_row) if self._counts_in_a_row else self._failures
        over = told or not isinstance(error, Exception) or number > self._max_failures
        if over:
            self._failure = self._failure or error
        if not over or self._counts_in_a_row:
            log.warning(FAILED_TRIAL, trial.number, trial.region.name, error)

    def _log_blocked(self) -> None:
        """Log the regions that the last failures have blocked, as soon as these are certain to count."""
        failed = {trial.region.name for trial in self._in_a_row}
        for region in self._session.study.blocked if failed else ():
            if region.name in failed:
                log.warning("region %s failed too often and will not be asked for again", region.name)

    def _patience(self) -> float | None:
        """Return the seconds until the next measurement is late, or the workers are counted."""
        first = min(task.due for task in self._pending)
        seconds = math.inf if first == math.inf else max(0.0, first - monotonic())
        if self._engine.counted:
            seconds = min(seconds, WORKER_CHECK)
        return None if seconds == math.inf else seconds

    def _check_workers(self) -> None:
        """Say it if there has been no worker for a while, and end the run after a longer one."""
        if not self._engine.counted or self._engine.news or self._engine.staffed():
            self._deserted, self._warned = math.inf, False
            return
        now = monotonic()
        self._deserted = min(self._deserted, now)
        waited, trials = now - self._deserted, len(self._pending)
        if waited >= NO_WORKER:
            self._failure = self._failure or TimeoutError(
                f"the cluster has had no worker for {waited:.0f} s, and {trials} trials waited for one; they were "
                "handed back. Start workers, and call optimize again."
            )
        elif waited >= WARN_AFTER and not self._warned:
            self._warned = True
            log.warning(
                "the cluster has had no worker for %.0f s, and %d trials wait for one; the run ends after %.0f s",
                waited, trials, NO_WORKER,
            )  # fmt: skip

    def _drop_late(self) -> None:
        """Count measurements that take too long as failed."""
        now = monotonic()
        for task in [task for task in self._pending if task.due <= now and not task.future.done()]:
            trial = self._pending.pop(task)
            if not task.future.cancel():
                self._hanging.append(task)
            self._fail(trial, TimeoutError(f"trial {trial.number} took longer than {self._timeout:g} s"))
        if self._lost() == self._engine.workers and not self._failure:
            self._failure = TimeoutError(f"all workers ({self._lost()}) hang in measurements that take too long")

    def _lost(self) -> int:
        """Return how many workers are still busy with abandoned measurements."""
        self._hanging = [task for task in self._hanging if not task.future.done()]
        return len(self._hanging)

    def _close(self) -> None:
        """Tell what is done, cancel the rest; an error here must not hide an earlier one."""
        for task, trial in self._pending.items():
            self._finish(task, trial)
        for trial in self._suspects:
            with suppress(StudyFileError, TrialError):
                self._session.cancel(trial)
        if self._in_a_row and (self._failure is not None or not self._told):  # then it is the instrument's fault
            with suppress(StudyFileError):  # then the file caused the failure
                self._session.study._forgive(self._in_a_row)
        else:
            self._log_blocked()
        self._engine.close(unfinished=any(not task.future.done() for task in [*self._pending, *self._hanging]))

    def _finish(self, task: Task, trial: Trial) -> None:
        """Tell a trial, if it is done; else cancel it."""
        if not task.future.done() or task.outcome()[1] is not None:
            task.future.cancel()
            with suppress(StudyFileError, TrialError):  # the next run takes over what could not be cancelled
                self._session.cancel(trial)
            return
        try:
            self._session.tell(trial, task.outcome()[0])
        except Exception as error:
            log.warning(FAILED_TRIAL, trial.number, trial.region.name, error)
            if trial in self._session.study.pending:
                self._session.fail(trial, error)


@contextmanager
def _progress(session: RunSession, text: Callable[[], str] | None) -> Iterator[Step]:
    """Show a progress bar on a terminal or in a notebook, with a text on the search; yield what moves it on."""
    if text is None or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield lambda: None
        return
    from tqdm.auto import tqdm

    total = session.study.measured + len(session.study.pending) + measurements_left(session.study)
    done, due = total - session.remaining, 0.0  # a continued study does not start at 0

    def step() -> None:
        nonlocal due
        bar.update()
        if monotonic() >= due:  # the text takes some milliseconds: not more often than people can read
            bar.set_postfix_str(text())
            due = monotonic() + READABLE

    with tqdm(total=total, initial=done, desc="measuring", unit="") as bar:
        yield step
        bar.set_postfix_str(text())


class _CtrlC:
    """Keeps Ctrl-C from interrupting an update: it takes effect only while measuring, else it is noted."""

    def __init__(self) -> None:
        self.pressed = self._open = False

    def __enter__(self) -> _CtrlC:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        if self._open:
            self._open = False  # a second press must not disturb the clean-up
            raise KeyboardInterrupt

    @contextmanager
    def may_interrupt(self) -> Iterator[None]:
        """Let Ctrl-C take effect while a measurement is made, or if it was pressed before."""
        try:
            self._open = True
            if self.pressed:
                raise KeyboardInterrupt
            yield
        finally:
            self._open = False
