"""Engines: threads, processes, loky and Dask, with workers that fail, hang and die."""

import logging
import math
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from forked_commands import FORKS
from processes import wait_for
from worker_functions import MEMBERS, die, die_once, first_member, leave, process_and_time, throw_at, wave
from zonal.study import executors

pytestmark = pytest.mark.one_in(2)


def make_study(space: Any = ((0.0, 1.0),), budget: int = 12, **settings: Any) -> zn.Study:
    """Return a study that measures 16 regions by turns, so that no two pending are the same."""
    policy = zn.UniformGrid(level=4)
    usual: dict[str, Any] = {"budget": budget, "kernel": zn.RBF(0.1, 0.2), "noise": 0.1, "policy": policy}
    return zn.Study(space, **usual | settings)


def states(study: zn.Study) -> list[str]:
    return [trial.state for trial in study.trials]


class Alike:
    """Waits until several measurements are pending, then lets the first of them go wrong."""

    def __init__(self, several: int, wrong: Callable[[], float]) -> None:
        self._started = threading.Barrier(several, timeout=60)
        self._calls = iter(range(1000))
        self._several, self._wrong = several, wrong

    def __call__(self, region: zn.Region) -> float:
        call = next(self._calls)
        if call < self._several:
            self._started.wait()
            if call == 0:
                return self._wrong()
        return wave(region)


def throw(error: BaseException) -> float:
    raise error


# Whatever happens, no trial is left pending, and the first error is the one that is seen.


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), OSError("cloudy"), GeneratorExit()])
def test_whatever_a_worker_raises_leaves_no_trial_under_way(error: BaseException) -> None:
    study = make_study()
    measure = Alike(3, partial(throw, error))
    with ThreadPoolExecutor(3) as executor:
        if isinstance(error, KeyboardInterrupt):
            assert "interrupted" in study.optimize(measure, executor).message
        else:
            with pytest.raises(type(error)):
                study.optimize(measure, executor)
    assert study.pending == ()
    assert study.remaining == 12 - study.measured
    assert study.optimize(wave).nfev == 12


def test_a_worker_process_that_exits_in_good_order_leaves_no_trial_under_way() -> None:
    study = make_study()
    with ProcessPoolExecutor(1, mp_context=FORKS) as executor, pytest.raises(SystemExit):
        study.optimize(leave, executor)
    assert study.pending == ()


def later(event: threading.Event, value: float) -> float:
    assert event.wait(60)
    return value


def test_nonsense_from_others_does_not_hide_the_callbacks_error() -> None:
    told = threading.Event()

    def measure(region: zn.Region) -> float:
        return wave(region) if region.node == (4, 0) else later(told, math.nan)

    def callback(study: zn.Study, trial: zn.Trial) -> None:
        told.set()
        time.sleep(0.2)  # the other is done now
        raise RuntimeError("disk full")

    study = make_study()
    with ThreadPoolExecutor(2) as executor, pytest.raises(RuntimeError, match="disk full"):
        study.optimize(measure, executor, callback=callback)
    assert study.pending == ()
    assert sorted(states(study)) == ["failed", "measured"]


def test_nonsense_after_a_stop_is_given_up_and_said(caplog: pytest.LogCaptureFixture) -> None:
    told = threading.Event()

    def measure(region: zn.Region) -> float:
        return wave(region) if region.node == (4, 0) else later(told, math.nan)

    def callback(study: zn.Study, trial: zn.Trial) -> None:
        told.set()
        time.sleep(0.2)
        raise KeyboardInterrupt

    study = make_study()
    result = study.optimize(measure, workers=2, callback=callback)
    assert (result.nfev, study.pending) == (1, ())
    assert "trial 1" in caplog.text


def test_what_is_under_way_may_open_regions_for_a_search_that_has_run_out() -> None:
    def measure(region: zn.Region) -> float:
        time.sleep(0.02)
        return wave(region)

    study = make_study(budget=5, max_replicates=1, policy=zn.GPOO(delta=zn.GeometricDelta(2, 0.5), h_max=3))
    result = study.optimize(measure, workers=3)
    assert result.success
    assert result.nfev == 5


# Failures that are only failed.


def flaky(region: zn.Region) -> float:
    if region.node is not None and region.node[1] % 4 == 1:
        raise OSError("cloudy")
    return wave(region)


@pytest.mark.parametrize("workers", [None, 3])
def test_failures_may_be_given_up_and_measuring_goes_on(
    workers: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    study = make_study()
    result = study.optimize(flaky, workers=workers, on_error="fail")
    assert result.success
    assert result.nfev == 12
    assert states(study).count("failed") >= 1
    assert study.pending == ()
    assert "failed: OSError('cloudy')" in caplog.text


@pytest.mark.parametrize("workers", [None, 2])
def test_too_many_failures_are_raised(workers: int | None) -> None:
    study = make_study()
    with pytest.raises(OSError, match="cloudy"):
        study.optimize(partial(throw_at, OSError("cloudy")), workers=workers, on_error="fail", max_failures=4)
    assert 5 <= states(study).count("failed") <= 6  # one more may have been pending
    assert study.pending == ()
    with pytest.raises(OSError, match="cloudy"):  # by default as many as measurements remain
        study.optimize(partial(throw_at, OSError("cloudy")), workers=workers, on_error="fail")
    assert len(study.trials) < 30


def test_leaving_the_program_is_no_failure_to_be_given_up() -> None:
    study = make_study()
    with pytest.raises(SystemExit):
        study.optimize(leave, workers=2, on_error="fail")
    assert study.pending == ()


def test_a_warning_turned_into_an_error_is_raised_even_where_failures_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def tell(study: zn.Study, *arguments: Any) -> None:
        real(study, *arguments)
        raise zn.ModelWarning("does not fit")

    real = zn.Study.tell
    monkeypatch.setattr(zn.Study, "tell", tell)
    study = make_study()
    with pytest.raises(zn.ModelWarning):
        study.optimize(wave, on_error="fail")
    assert (study.measured, study.pending) == (1, ())


@pytest.mark.parametrize("workers", [None, 2])
def test_a_measurement_may_come_with_its_standard_error(workers: int | None) -> None:
    study = make_study()
    study.optimize(lambda region: (wave(region), 0.25), workers=workers)
    assert {trial.sem for trial in study.trials} == {0.25}
    assert [trial.value for trial in study.trials] == [wave(trial.region) for trial in study.trials]


# Measurements that take too long.


def test_a_measurement_that_hangs_costs_its_trial_and_its_worker() -> None:
    hangs, first = threading.Event(), iter([True])

    def measure(region: zn.Region) -> float:
        if next(first, False):
            hangs.wait(90)
        return wave(region)

    study = make_study()
    start = time.monotonic()
    result = study.optimize(measure, workers=2, timeout=1.5, on_error="fail", max_failures=1)
    assert time.monotonic() - start < 60
    hangs.set()
    assert result.nfev == 12
    assert states(study).count("failed") == 1
    assert study.pending == ()


def test_a_measurement_that_hangs_is_an_error_unless_it_is_to_be_given_up() -> None:
    hangs = threading.Event()
    study = make_study()
    with pytest.raises(TimeoutError, match=r"trial 0 took longer than 0\.2 s"):
        study.optimize(lambda region: hangs.wait(20), timeout=0.2)  # alone: a thread of its own
    hangs.set()
    assert states(study) == ["failed"]


def test_when_all_workers_hang_it_ends() -> None:
    hangs = threading.Event()
    study = make_study()
    with pytest.raises(TimeoutError, match="all workers"):
        study.optimize(lambda region: hangs.wait(20), workers=2, timeout=0.2, on_error="fail")
    hangs.set()
    assert states(study) == ["failed"] * 2


# Which engine.


def test_a_number_of_workers_alone_starts_threads() -> None:
    threads = set()
    started = threading.Barrier(4, timeout=60)

    def measure(region: zn.Region) -> float:
        threads.add(threading.get_ident())
        started.wait()  # four at once, or this breaks
        return wave(region)

    assert make_study().optimize(measure, workers=4).nfev == 12
    assert threading.get_ident() not in threads
    assert zn.maximize(wave, [(0, 1)], 5, kernel=zn.RBF(0.1, 0.2), noise=0.1, workers=2).nfev == 5


def test_a_new_trial_is_asked_for_as_soon_as_any_one_returns() -> None:
    slow = threading.Event()

    def measure(region: zn.Region) -> float:
        if region.node == (4, 0):
            assert slow.wait(20)  # all the others are measured meanwhile
        return wave(region)

    def callback(study: zn.Study, trial: zn.Trial) -> None:
        if study.measured == 11:
            slow.set()

    study = make_study()
    assert study.optimize(measure, workers=2, callback=callback).nfev == 12
    assert study.trials[0].node == (4, 0)


class Parallel:
    """As joblib's: called with all there is to do."""

    def __call__(self, iterable: Any) -> list[Any]:
        return [function(*arguments) for function, arguments in iterable]


class AtOnce:
    """Returns a value where a future belongs."""

    def submit(self, function: Any, /, *arguments: Any) -> Any:
        return 0.5


NO_EXECUTORS: dict[str, Any] = {
    "text": "threads",
    "an object": object(),
    "a call for all at once": Parallel(),
    "its class": Parallel,
    "the measurement": wave,
    "a builtin": map,
    "a function that starts nothing": lambda: None,
    "a function that wants to know more": lambda workers: ThreadPoolExecutor(workers),
}


@pytest.mark.parametrize("executor", NO_EXECUTORS.values(), ids=NO_EXECUTORS)
def test_what_is_no_executor_is_refused(executor: Any) -> None:
    study = make_study()
    with pytest.raises(zn.InvalidInput, match="executor must be"):
        study.optimize(wave, executor)
    assert study.trials == []


@pytest.mark.parametrize(
    "wrong",
    [
        *({"on_error": "ignore"}, {"max_failures": -1}, {"timeout": 0}, {"timeout": "1"}, {"workers": 0}),
        *({"timeout": 1e308}, {"timeout": math.inf}, {"timeout": math.nan}, {"timeout": -1}, {"callback": 3}),
    ],
)
def test_nonsense_settings_are_refused_before_anything_is_asked(wrong: dict[str, Any]) -> None:
    study = make_study()
    with pytest.raises(zn.InvalidInput, match=next(iter(wrong))):
        study.optimize(wave, **wrong)
    assert study.trials == []


def test_an_executor_without_futures_is_refused_and_leaves_no_trial_under_way() -> None:
    study = make_study()
    with pytest.raises(zn.InvalidInput, match="submit must return a future; got "):
        study.optimize(wave, AtOnce(), workers=2)  # type: ignore[arg-type]
    assert states(study) == ["cancelled"]


def test_an_executor_that_does_not_tell_its_size_needs_a_number() -> None:
    class Silent(Executor):
        def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(function(*arguments))
            return future

    with pytest.raises(zn.InvalidInput, match="number of workers"):
        make_study().optimize(wave, Silent())
    assert make_study().optimize(wave, Silent(), workers=2).nfev == 12


# Real worker processes.


def test_a_killed_worker_costs_its_trial_and_no_more(tmp_path: Path) -> None:
    study = make_study()
    result = study.optimize(partial(die_once, tmp_path), partial(ProcessPoolExecutor, 2, mp_context=FORKS))
    assert (tmp_path / "died").exists()
    assert result.success
    assert result.nfev == 12
    assert 1 <= states(study).count("cancelled") <= 2  # whatever was pending in the pool that broke
    assert study.tree.askable[study.tree.depth == 4].all()


def test_a_broken_pool_of_the_users_is_an_error_that_loses_nothing(tmp_path: Path) -> None:
    study = make_study()
    with ProcessPoolExecutor(2, mp_context=FORKS) as executor, pytest.raises(BrokenExecutor):
        study.optimize(partial(die_once, tmp_path), executor)
    assert study.pending == ()
    assert study.optimize(wave).nfev == 12


def test_workers_that_always_die_end_the_search() -> None:
    study = make_study()
    with pytest.raises(BrokenExecutor):
        study.optimize(die, partial(ProcessPoolExecutor, 1, mp_context=FORKS))
    assert (study.measured, study.pending) == (0, ())


class Weighing(Executor):
    """Hands work to processes, and notes how heavy it is."""

    def __init__(self, workers: int) -> None:
        self._processes = ProcessPoolExecutor(workers, mp_context=FORKS)
        self._max_workers = workers
        self.bytes: list[int] = []

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        self.bytes.append(len(pickle.dumps((function, arguments, named))))
        return self._processes.submit(function, *arguments, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._processes.shutdown(wait, cancel_futures=cancel_futures)


def test_many_members_go_to_a_worker_once_and_not_with_every_trial() -> None:
    places = np.random.default_rng(0).uniform(size=(MEMBERS, 2))
    study = make_study(zn.Points(places), budget=20, kernel=zn.RBF(1.0, 0.3), feedback=zn.Average(4))
    with Weighing(2) as executor:
        study.optimize(first_member, executor)
    assert [trial.value for trial in study.trials] == [first_member(trial.region) for trial in study.trials]
    heavy = [size for size in executor.bytes if size > 1000]
    assert 1 <= len(heavy) <= 4  # one per worker, and perhaps one more that was on its way
    assert len(executor.bytes) - len(heavy) >= 20
    assert not executors._contexts  # nothing stays behind


def test_a_worker_remembers_only_the_latest_kits() -> None:
    space = zn.Box([(0, 1)])

    def ask(run: int, context: executors.WorkerContext | None) -> Any:
        return executors._measure_there((f"run {run}", 0), space.cell((0, 0)), None, context)

    try:
        for run in range(20):
            ask(run, executors.WorkerContext(wave, space))
        assert len(executors._contexts) == executors.KEPT
        assert ask(0, None) is executors.ContextMissing.SEND_IT
        assert ask(19, None) == wave(space.cell((0, 0)))
    finally:
        executors._contexts.clear()


def test_loky_measures_functions_without_a_name_and_survives_a_dead_worker(tmp_path: Path) -> None:
    loky = pytest.importorskip("loky")
    start = partial(loky.get_reusable_executor, max_workers=1, timeout=30)
    kill, wave_, folder = signal.SIGKILL, wave, tmp_path

    def measure(region: zn.Region) -> float:
        if region.node == (4, 0) and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), kill)
        return math.sin(7 * float(region.center.sum()))

    study = make_study()
    result = study.optimize(measure, start)
    assert result.success
    assert [t.value for t in study.trials if t.state == "measured"] == [
        wave_(t.region) for t in study.trials if t.state == "measured"
    ]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def test_a_dask_client_is_taken_as_it_is(cluster: Any) -> None:
    study = make_study()
    result = study.optimize(lambda region: math.sin(7 * float(region.center.sum())), cluster)
    assert result.success
    assert [trial.value for trial in study.trials] == [wave(trial.region) for trial in study.trials]


@pytest.mark.parametrize("pure", [None, True])
def test_dask_measures_a_region_again_when_it_is_asked_again(cluster: Any, pure: bool | None) -> None:
    """Pure tasks with the same arguments are answered from memory; two looks at a region must not be."""
    study = make_study(policy=zn.UniformGrid(level=0), budget=8)
    client, others = cluster if pure is None else cluster.get_executor(pure=pure), list[int]()
    study.optimize(process_and_time, client, callback=lambda own, _: others.append(len(own.pending)))
    values = [trial.value for trial in study.trials]
    assert len(set(values)) == 8
    assert others[0] == 1  # two at once; whether both workers have their part is for Dask to decide


def test_dask_workers_draw_the_noise_of_the_seed(cluster: Any) -> None:
    def instrument() -> zn.simulation.Simulation:
        return zn.simulate(zn.reward_function("f1"), zn.Average(3), noise=0.5, rng=3)

    study, again = make_study(), instrument()
    study.optimize(instrument(), cluster)
    assert [trial.value for trial in study.trials] == [again(trial.region) for trial in study.trials]


def test_a_dask_worker_that_is_killed_costs_one_trial_at_most(cluster: Any, tmp_path: Path) -> None:
    study = make_study()
    result = study.optimize(partial(die_once, tmp_path), cluster, on_error="fail")
    assert (tmp_path / "died").exists()
    assert result.success
    assert result.nfev == 12
    assert states(study).count("failed") <= 1


class Late(Future[Any]):
    """Asks for the context just after somebody looked whether it was done."""

    def done(self) -> bool:
        was = super().done()
        if not was:
            self.set_result(executors.ContextMissing.SEND_IT)
        return was


class Asking(Executor):
    """Two workers, each of which first asks for the context: one at once, one a moment too late."""

    _max_workers = 2

    def __init__(self) -> None:
        self._futures = iter([Future[Any](), Late()])

    def submit(self, function: Any, /, *call: Any, **more: Any) -> Future[Any]:
        future = next(self._futures, None)
        if future is None:
            future = Future()
            future.set_result(function(*call, **more))
        elif not isinstance(future, Late):
            future.set_result(executors.ContextMissing.SEND_IT)
        return future


def test_a_worker_that_asks_for_its_kit_while_others_are_looked_at_gets_it() -> None:
    study = make_study(budget=4)
    study.optimize(wave, Asking())
    assert states(study) == ["measured"] * 4


class Killed(Executor):
    """Two workers; a region that kills its worker takes along whatever else was on it, as Dask reports it."""

    _max_workers = 2

    def __init__(self, lethal: float, deaths: int) -> None:
        self._lethal, self._left, self._waiting = lethal, deaths, list[tuple[Future[Any], Any, Any]]()
        self._lock = threading.Lock()

    def submit(self, function: Any, /, *call: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            self._waiting.append((future, function, call))
        threading.Timer(0.0 if len(self._waiting) == 2 else 0.05, self._run).start()
        return future

    def _run(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        lethal = any(call[1]._parts[0][2][0] == self._lethal for _, _, call in waiting) and self._left > 0
        self._left -= lethal
        for future, function, call in waiting:
            if lethal:
                future.set_exception(KilledWorker("several workers died"))
            else:
                future.set_result(function(*call))


class KilledWorker(Exception):
    """What Dask raises when a task was on workers that died."""


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_trial_is_given_up_only_if_its_worker_dies_of_it_alone(deaths: int) -> None:
    study = make_study(budget=6, policy=zn.UniformGrid(level=2))
    study.optimize(wave, Killed(0.25, deaths), on_error="fail", max_failures=20)
    failed = [trial for trial in study.trials if trial.state == "failed"]
    assert all(float(trial.region.center[0]) == 0.375 for trial in failed)
    assert bool(failed) == (deaths > 1)
    assert "cancelled" not in states(study)
    assert study.measured == 6


def test_dask_without_workers_is_said_and_ends_with_the_trials_handed_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    distributed = pytest.importorskip("distributed")
    for name, seconds in (("WORKER_CHECK", 0.02), ("WARN_AFTER", 0.05), ("NO_WORKER", 0.3)):
        monkeypatch.setattr(f"zonal.study.run_loop.{name}", seconds)
    quiet: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "processes": False}
    with distributed.LocalCluster(n_workers=0, **quiet) as local, distributed.Client(local) as client:
        study = make_study()
        with pytest.raises(TimeoutError, match=r"no worker for .* 2 trials waited for one; they were handed back"):
            study.optimize(wave, client, workers=2)
        assert [record.message for record in caplog.records if "no worker" in record.message]
        assert (study.pending, study.measured) == ((), 0)
        with pytest.raises(zn.InvalidInput, match="no workers yet"):
            study.optimize(wave, client)


def test_results_are_released_as_soon_as_they_are_read(cluster: Any) -> None:
    held = []

    def count(own: Any, trial: Any) -> None:
        wait_for(lambda: len(cluster.futures) == 0)
        held.append(trial.number)

    study = make_study(budget=4)
    study.optimize(wave, cluster, workers=1, callback=count)
    assert len(held) == 4
