"""Where measurements are made: in this thread, in other threads, or on an executor.

What is the same for every trial, the measuring function and the space, is sent to a worker process once and kept
there under a token; a trial carries only the token and its region without the space. This module must not know
studies.
"""

from __future__ import annotations

import inspect
import math
import os
import threading
import warnings
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, Protocol, SupportsFloat, TypeAlias, TypeVar, runtime_checkable

from zonal.engine.results import Trial
from zonal.errors import LARGEST_WHOLE, InvalidInput, attribute, require, whole_number
from zonal.spaces import Region, Space


class DaskClient(Protocol):
    """A client of a Dask cluster, whose library need not be installed."""

    def get_executor(self, *, pure: bool) -> Executor:
        """Return an executor on the cluster."""
        ...


# What an instrument returns: a value; with its standard error; or arguments of `Study.tell` by name.
Told: TypeAlias = Mapping[str, object]
Reading: TypeAlias = "SupportsFloat | tuple[SupportsFloat, SupportsFloat | None] | Told"
Measure: TypeAlias = "Callable[..., Reading]"  # of a region, and perhaps its time
Anywhere = Executor | Callable[[], Executor] | DaskClient | None

Answer: TypeAlias = "Reading | ContextMissing"  # of a worker
P = ParamSpec("P")
T = TypeVar("T")

KEPT = 8  # contexts that a process keeps
DIED = 3  # executors that broke in a row, without a measurement in between


@runtime_checkable
class SimulatedInstrument(Protocol):
    """An instrument that draws its noise here and is read elsewhere, so that no worker changes a simulation."""

    def draw(self) -> float:
        """Return the next draw of the noise."""
        ...

    def reading(self, region: Region, draw: float, time: float = 1.0) -> float:
        """Return the measurement of a region with a draw of the noise."""
        ...


@dataclass(eq=False)
class Task:
    """A measurement pending."""

    region: Region
    future: Future[Any]  # of a reading; a worker may also answer that it lacks its context
    executor: Executor | None = None
    sent: bool = True  # the executor accepted it
    due: float = math.inf  # when it counts as late, by the monotonic clock
    time: float | None = None  # how long to measure, if `measure` takes a time
    draw: float | None = None  # of a simulated instrument's noise, drawn in the process with the seed
    alone: bool = False  # nothing else is measured meanwhile: if its worker dies, that is its own fault

    def outcome(self) -> tuple[Any, BaseException | None]:
        """Return the value, or the error, of a finished measurement."""
        if self.future.cancelled() or self.lacks_context():
            return None, CancelledError("the measurement was cancelled before it began")
        error = self.future.exception()
        return (None, error) if error is not None else (self.future.result(), None)

    def let_go(self) -> None:
        """Keep the outcome and release the executor's future: a cluster need not store its result any longer."""
        kept: Future[Answer] = Future()
        value, error = self.outcome()
        if error is None:
            kept.set_result(value)
        else:
            kept.set_exception(error)
        self.future = kept

    def broke(self, error: BaseException) -> bool:
        """Tell whether its error is the executor's, not the measurement's."""
        return not self.sent or isinstance(error, BrokenExecutor | CancelledError)

    def lacks_context(self) -> bool:
        """Tell whether a worker has answered that it lacks the context."""
        done = self.future.done() and not self.future.cancelled() and self.future.exception() is None
        return done and self.future.result() is ContextMissing.SEND_IT


class InlineExecutor:
    """Measures in this thread, during `wait`. If `timed`, trials have a time."""

    workers = 1
    counted = False  # whether it may be without workers, which `staffed` tells
    news = False  # whether the last `wait` ended because a measurement did

    def __init__(self, measure: Measure, timed: bool) -> None:
        self._measure = measure
        self._timed = timed and takes_time(measure)

    def begin(self, trial: Trial) -> Task:
        """Record what to measure."""
        return Task(trial.region, Future(), time=trial.time if self._timed else None)

    def wait(self, jobs: Collection[Task], seconds: float | None) -> None:
        """Measure. Ctrl-C may interrupt only here, and is passed on."""
        for job in jobs:
            try:
                job.future.set_result(measured(self._measure, job.region, job.time))
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                job.future.set_exception(error)

    def done(self, jobs: Collection[Task]) -> list[Task]:
        """Return all: they were measured."""
        return list(jobs)

    def recovers(self, executor: Executor | None) -> bool:
        """Return False: there is no executor."""
        return False

    def staffed(self) -> bool:
        """Return True: this thread is there."""
        return True

    def close(self, unfinished: bool) -> None:
        """Do nothing: nothing was started."""


class FutureExecutor(InlineExecutor):
    """Measures on the executor that `start` returns, with as many at once as it has workers, or as given.

    If it is `owned`, it is ended here and may be started again.
    """

    def __init__(
        self,
        measure: Measure,
        start: Callable[[], Executor],
        workers: int | None,
        owned: bool,
        timed: bool = False,
    ) -> None:
        super().__init__(measure, timed)
        self._start = start
        self._owned = owned
        self._executor = _started(start)
        self._token = os.urandom(16).hex()
        self._sent = 0
        self._news: SimpleQueue[None] = SimpleQueue()
        self._died = 0
        self.counted = hasattr(self._executor, "_client")  # Dask's, whose workers come and go
        number = _workers(self._executor) if workers is None else workers
        fix = "Start some, client.wait_for_workers(1) waits for them; or pass workers= to have optimize wait."
        require(workers is not None or number > 0, "the executor has no workers yet", self._executor, fix)
        self.workers = whole_number(number, "workers", 1)

    def begin(self, trial: Trial) -> Task:
        """Send a region to be measured, without its space."""
        job = super().begin(trial)
        if self._token not in _contexts:  # workers that share or inherit this memory find it there
            _keep(self._token, WorkerContext(self._measure, job.region.space))
        if isinstance(self._measure, SimulatedInstrument):
            job.draw = self._measure.draw()
        self._send(job, None)
        return job

    def _send(self, job: Task, context: WorkerContext | None) -> None:
        light = replace(job.region, space=None)  # type: ignore[arg-type]
        self._sent += 1
        call = self._token, self._sent  # calls differ, so that a cluster cannot answer a repeat from its cache
        job.executor = self._executor
        with warnings.catch_warnings():
            if context is not None:  # Dask warns about large arguments; this one is sent once per worker
                warnings.simplefilter("ignore")
            try:
                job.future = self._executor.submit(_measure_there, call, light, job.draw, context, job.time)
            except Exception as error:
                job.sent, job.future = False, Future()
                job.future.set_exception(error)
        is_future = hasattr(job.future, "add_done_callback")
        require(is_future, "an executor's submit must return a future", job.future, "Pass another executor.")
        job.future.add_done_callback(lambda _: self._news.put(None))

    def wait(self, jobs: Collection[Task], seconds: float | None) -> None:
        """Wait for news: in one step, since an interrupt in between could leave a lock held for ever."""
        self.news = False
        with suppress(Empty):
            self._news.get(timeout=seconds)
            self.news = True

    def done(self, jobs: Collection[Task]) -> list[Task]:
        """Return those that are done; a worker that lacks the context gets it, with the same job."""
        done = [job for job in jobs if job.future.done()]  # asked once: others may end meanwhile
        unknowing = [job for job in done if job.lacks_context()]
        for job in unknowing:
            self._send(job, WorkerContext(self._measure, job.region.space))
        done = [job for job in done if job not in unknowing]
        for job in done:
            job.let_go()
        if any(job.outcome()[1] is None for job in done):
            self._died = 0
        return done

    def recovers(self, executor: Executor | None) -> bool:
        """Start a new executor in place of a broken one, if the user passed a function for that."""
        if executor is not self._executor:
            return True  # it was replaced already
        self._died += 1
        if not self._owned or self._died > DIED:
            return False
        self._executor.shutdown(wait=False)
        self._executor = _started(self._start)
        return True

    def staffed(self) -> bool:
        """Tell whether a Dask cluster has any worker."""
        try:
            return bool(self._executor._client.nthreads())  # type: ignore[attr-defined]
        except Exception:  # its scheduler cannot be reached
            return False

    def close(self, unfinished: bool) -> None:
        """Forget the context, and end what was started here."""
        _contexts.pop(self._token, None)
        if self._owned:
            self._executor.shutdown(wait=not unfinished)


def shared_death(error: BaseException) -> bool:
    """Tell whether a measurement failed because its worker died, perhaps of another one: as Dask reports it."""
    return type(error).__name__ == "KilledWorker"


def takes_time(measure: Measure) -> bool:
    """Tell whether `measure` takes the time of a measurement: it has an argument `time`."""
    try:
        return "time" in inspect.signature(measure).parameters
    except (TypeError, ValueError):  # its signature is unknown
        return False


def measured(measure: Measure, region: Region, time: float | None) -> Reading:
    """Return the measurement of a region, with a time if there is one."""
    return measure(region) if time is None else measure(region, time=time)


def executor_for(
    measure: Measure, where: Anywhere, workers: int | None, timeout: float | None, timed: bool = False
) -> InlineExecutor:
    """Return the engine for what the user passed: nothing, a number of threads, an executor, or a function."""
    require(callable(measure), "measure must be a function of a region", measure, "Pass a callable.")
    if isinstance(where, int):
        meant = f"Did you mean n={where}?" if abs(where) <= LARGEST_WHOLE else "Pass one, or nothing."
        raise InvalidInput("the second argument must be an executor", where, meant)
    if where is None:
        if workers is None and timeout is None:
            return InlineExecutor(measure, timed)
        return FutureExecutor(measure, Threads, 1 if workers is None else workers, True, timed)
    if attribute(where, "get_executor"):  # a Dask client; calls with equal arguments would be made only once
        client: Any = where
        return FutureExecutor(measure, lambda: client.get_executor(pure=False), workers, False, timed)
    start: Any = where
    if callable(where):
        return FutureExecutor(measure, start, workers, True, timed)
    return FutureExecutor(measure, lambda: start, workers, False, timed)


def _started(start: Callable[[], Executor]) -> Executor:
    """Return an executor; raise if the function needs arguments, or returns something else."""
    try:
        inspect.signature(start).bind()
    except Exception:  # it needs arguments, or its signature is unknown
        executor: Any = start
    else:
        executor = start()
    what = "executor must be a concurrent.futures executor, a Dask client, or a function that starts one"
    require(callable(attribute(executor, "submit")), what, executor, "Pass for example workers=4.")
    started: Executor = executor
    return started


def _workers(executor: Executor) -> int:
    """Return the number of workers of an executor, as far as it is known."""
    number = getattr(executor, "_max_workers", None)
    if number is None and hasattr(executor, "_client"):  # Dask's
        number = sum(executor._client.nthreads().values())
    if number is None:
        raise InvalidInput("the number of workers of this executor is not known", executor, "Pass workers=.")
    return int(number)


class Threads(Executor):
    """A thread for each measurement; they do not keep the program from ending."""

    def submit(self, function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> Future[T]:
        """Call a function in a thread of its own."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()

        def run() -> None:
            try:
                future.set_result(function(*arguments, **named))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future


@dataclass(frozen=True)
class WorkerContext:
    """What every measurement of a run needs: the function and the space."""

    measure: Measure
    space: Space


class ContextMissing(Enum):
    """What a worker may answer instead of a value."""

    SEND_IT = "send the context too"


_contexts: dict[str, WorkerContext] = {}  # in this process, by token, the latest last


def _keep(token: str, context: WorkerContext) -> None:
    _contexts[token] = context
    for old in list(_contexts)[:-KEPT]:
        _contexts.pop(old, None)


def _measure_there(
    call: tuple[str, int],
    region: Region,
    draw: float | None,
    context: WorkerContext | None,
    time: float | None = None,
) -> Answer:
    """Measure, on a worker, a region that came without its space; `call` names the context that it needs."""
    token, _ = call
    if context is not None:
        _keep(token, context)
    context = context or _contexts.get(token)
    if context is None:
        return ContextMissing.SEND_IT
    whole = replace(region, space=context.space)
    if isinstance(context.measure, SimulatedInstrument) and draw is not None:
        return context.measure.reading(whole, draw, 1.0 if time is None else time)
    return measured(context.measure, whole, time)
