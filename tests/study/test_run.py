"""The driver: results, callbacks, progress, executors, and Ctrl-C in a real process.

Scenes are played in processes of their own, which print what became of them as JSON: that is how interrupts are
tested, which must not reach the process that runs the tests.
"""

import doctest
import json
import math
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import zonal as zn
import zonal.maximize
from effort import EVERYTHING, tries
from fingerprint import fingerprint
from forked_commands import Forked
from processes import wait_for
from zonal.policies.base import Choice, PolicyContext, RngFactory, Views
from zonal.policies.gpoo import BoundOptimistic
from zonal.tree import Tree

POLICY = zn.GPOO(delta=zn.GeometricDelta(2, 0.5), h_max=5)
SPAWN = multiprocessing.get_context("spawn")


def make_study(space: Any = ((0.0, 1.0),), **changes: Any) -> zn.Study:
    settings: dict[str, Any] = {
        "budget": 12,
        "kernel": zn.RBF(0.1, 0.2),
        "noise": 0.1,
        "feedback": zn.Average(3),
        "policy": POLICY,
        "rng": 0,
    }
    return zn.Study(space, **{**settings, **changes})


def wave(region: zn.Region) -> float:
    return math.sin(7 * float(region.center.sum()))


def assert_consistent(study: zn.Study) -> None:
    """Check that all counts agree and that no trial is left pending."""
    states = [trial.state for trial in study.trials]
    assert study.pending == ()
    assert set(states) <= {"measured", "failed", "cancelled"}
    assert states.count("measured") == study.measured == study.tree.count.sum()
    assert study.remaining == study.budget - study.measured


# Results.


def test_maximize_finds_the_best_region_and_says_how_it_went() -> None:
    f = zn.reward_function("f1")
    result = zn.maximize(
        zn.simulate(f, zn.Average(10), noise=0.1, rng=0),
        [(0, 1)],
        80,
        kernel=zn.RBF(0.1, 0.05),
        noise=0.1,
        feedback=zn.Average(10),
        policy=zn.GPOO(delta=zn.GeometricDelta(14, 0.5)),
    )
    best = result.study.recommend()
    assert (result.region, result.mean, result.std) == (best.region, best.mean, best.std)
    np.testing.assert_array_equal(result.x, best.region.center)
    assert result.x.shape == (1,)
    assert result.nfev == 80 == result.study.measured
    assert result.success
    assert result.message == "the budget is spent: 80 of 80 measurements made"
    assert f(result.x[None, :])[0] > 0.85
    assert_consistent(result.study)


def test_a_result_can_be_read() -> None:
    result = make_study().optimize(wave)
    shown = repr(result)
    assert shown.startswith(f"Result(region={result.region.name!r}, x=array([")
    assert "nfev=12, success=True, message='the budget is spent" in shown
    assert "Study" not in shown


def test_maximize_is_a_study_optimised() -> None:
    result = zn.maximize(wave, [(0, 1)], 12, kernel=zn.RBF(0.1, 0.2), noise=0.1, mean=0.3, direction="minimize")
    study = zn.Study([(0, 1)], budget=12, kernel=zn.RBF(0.1, 0.2), noise=0.1, mean=0.3, direction="minimize")
    again = study.optimize(wave)
    assert [trial.node for trial in result.study.trials] == [trial.node for trial in study.trials]
    assert (result.mean, result.std) == (again.mean, again.std)


def test_the_budget_is_never_overrun() -> None:
    for budget in (1, 2, 7, 40):
        calls: list[zn.Region] = []

        def measure(region: zn.Region, calls: list[zn.Region] = calls) -> float:
            calls.append(region)
            return wave(region)

        result = make_study(budget=budget).optimize(measure)
        assert len(calls) == result.nfev == budget


def test_a_study_can_be_optimised_further() -> None:
    study, whole = make_study(), make_study(budget=30)
    study.optimize(wave)
    study.extend(18)
    result = study.optimize(wave)
    assert result.nfev == 30
    assert [trial.node for trial in study.trials] == [trial.node for trial in whole.optimize(wave).study.trials]
    spent = study.optimize(wave)  # nothing left to do
    assert spent.nfev == 30


def test_trials_asked_for_by_hand_stay_under_way() -> None:
    study = make_study()
    mine = study.ask()
    result = study.optimize(wave)
    assert result.nfev == 11
    assert study.pending == (mine,)
    study.tell(mine, 0.5)
    assert study.measured == 12


# Callbacks and progress.


def test_the_callback_sees_every_measurement() -> None:
    seen: list[tuple[int, int]] = []

    def callback(study: zn.Study, trial: zn.Trial) -> None:
        assert study.trials[trial.number].state == "measured"
        seen.append((trial.number, study.measured))

    make_study().optimize(wave, callback=callback)
    assert seen == [(i, i + 1) for i in range(12)]


@pytest.mark.parametrize("workers", [None, 2])
def test_the_callback_may_stop_the_search(workers: int | None) -> None:
    def callback(study: zn.Study, trial: zn.Trial) -> None:
        if study.measured == 5:
            raise StopIteration

    study = make_study()
    with executor_of(workers) as executor:
        result = study.optimize(wave, executor, callback=callback)
    assert not result.success
    assert result.message.startswith("stopped by the callback; ")
    assert f"{result.nfev} of 12 measurements made" in result.message
    assert result.nfev == study.measured
    assert 5 <= result.nfev <= 6  # one may have been pending
    assert_consistent(study)
    assert study.optimize(wave).nfev == 12


def test_a_callback_that_fails_leaves_the_study_usable() -> None:
    def callback(study: zn.Study, trial: zn.Trial) -> None:
        if study.measured == 3:
            raise RuntimeError("disk full")

    study = make_study()
    with pytest.raises(RuntimeError, match="disk full"):
        study.optimize(wave, callback=callback)
    assert study.measured == 3
    assert_consistent(study)
    with executor_of(2) as executor, pytest.raises(RuntimeError, match="disk full"):
        make_study().optimize(wave, executor, callback=callback)


def test_progress_is_shown_on_stderr(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    make_study().optimize(wave, progress=True)
    shown = capsys.readouterr()
    assert "measuring" in shown.err
    assert "12/12" in shown.err
    last = shown.err.splitlines()[-1].split("\r")[-1]  # cut to the width of a terminal
    assert re.search(r"best \d\.\d+ ± \d\.\d+, gap \d\.\d+", last)
    assert shown.out == ""
    make_study().optimize(wave)
    assert capsys.readouterr() == ("", "")


def test_progress_of_a_study_that_goes_on_does_not_start_at_zero(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    study = make_study()
    for _ in range(2):
        study.tell(study.ask(), 0.5)
    with executor_of(2) as executor:
        study.optimize(wave, executor, progress=True)
    shown = capsys.readouterr().err
    assert "2/12" in shown
    assert "12/12" in shown
    assert "0/12" not in shown


def test_progress_is_not_shown_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    make_study().optimize(wave, progress=True)
    assert capsys.readouterr() == ("", "")


# Errors.


def test_an_error_in_a_measurement_hands_over_the_study() -> None:
    def measure(region: zn.Region) -> float:
        if 0.5 < region.center[0] < 0.8:
            raise OSError("cloudy")
        return wave(region)

    with pytest.raises(OSError, match="cloudy") as caught:
        zn.maximize(measure, [(0, 1)], 12, kernel=zn.RBF(0.1, 0.2), noise=0.1)
    study: zn.Study = caught.value.study  # type: ignore[attr-defined]
    assert study.measured >= 1
    assert f"{study.measured} measurements were told before" in caught.value.__notes__[0]
    assert_consistent(study)
    assert study.optimize(wave).nfev == 12


def test_an_error_before_any_measurement_hands_over_the_study_too() -> None:
    def measure(region: zn.Region) -> float:
        raise OSError("cloudy")

    with pytest.raises(OSError, match="cloudy") as caught:
        zn.maximize(measure, [(0, 1)], 12, kernel=zn.RBF(0.1, 0.2), noise=0.1)
    assert caught.value.study.measured == 0  # type: ignore[attr-defined]


def test_an_exhausted_search_keeps_what_it_knows() -> None:
    study = make_study(max_replicates=1, policy=zn.GPOO(delta=zn.GeometricDelta(2), h_max=0))
    result = study.optimize(wave)
    assert not result.success
    assert "max_replicates=1" in result.message
    assert result.nfev == study.measured == 3
    assert_consistent(study)


def test_a_warning_turned_into_an_error_is_what_the_user_sees() -> None:
    study = zn.Study([(0, 1)], budget=40, kernel=zn.RBF(1, 0.2), noise=0.001)
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", zn.ModelWarning)
        with pytest.raises(zn.ModelWarning):
            study.optimize(lambda region: float(rng.standard_normal()))
    assert_consistent(study)
    assert study.measured > 0


# Executors.


@contextmanager
def executor_of(workers: int | None) -> Iterator[Executor | None]:
    """Give an executor of so many threads, or none."""
    if workers is None:
        yield None
    else:
        with ThreadPoolExecutor(workers) as executor:
            yield executor


@pytest.mark.parametrize("workers", [1, 2, 5, 20])
def test_threads_spend_the_whole_budget_and_no_more(workers: int) -> None:
    lock, now, most, calls = threading.Lock(), 0, 0, 0
    several = threading.Barrier(min(workers, 2), timeout=60)

    def measure(region: zn.Region) -> float:
        nonlocal now, most, calls
        with lock:
            now, calls = now + 1, calls + 1
            most, first = max(most, now), calls <= 2
        if first:
            several.wait()
        time.sleep(0.002)
        with lock:
            now -= 1
        return wave(region)

    study = make_study(budget=30)
    with ThreadPoolExecutor(workers) as executor:
        result = study.optimize(measure, executor)
    assert result.success
    assert result.nfev == calls == 30
    assert len(study.trials) == 30
    assert most <= min(workers, 30)
    assert workers == 1 or most > 1
    assert_consistent(study)


def test_one_worker_walks_as_none_does() -> None:
    alone, one = make_study(), make_study()
    alone.optimize(wave)
    with ThreadPoolExecutor(1) as executor:
        one.optimize(wave, executor)
    assert fingerprint(one) == fingerprint(alone)


def test_fewer_workers_than_the_executor_has_may_be_used() -> None:
    now = threading.Semaphore(2)

    def measure(region: zn.Region) -> float:
        assert now.acquire(blocking=False), "more than two at once"
        time.sleep(0.002)
        now.release()
        return wave(region)

    with ThreadPoolExecutor(4) as executor:
        assert make_study().optimize(measure, executor, workers=2).nfev == 12


def test_the_posterior_of_a_parallel_run_is_that_of_its_measurements() -> None:
    def measure(region: zn.Region) -> float:
        time.sleep(0.003 * (hash(region.node) % 3))  # answers come back in another order
        return wave(region)

    study = make_study(budget=25)
    with ThreadPoolExecutor(4) as executor:
        study.optimize(measure, executor)
    again = make_study()
    for trial in study.trials:
        again.observe(trial.region, trial.value or 0.0)
    regions = [study.space.cell((4, i)) for i in range(16)]
    for one, other in zip(study.predict(regions), again.predict(regions), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-11)


def simulated(seed: int = 3) -> zn.simulation.Simulation:
    return zn.simulate(zn.reward_function("f1"), zn.Average(3), noise=0.5, rng=seed)


def assert_noise_is_of_the_seed(study: zn.Study) -> None:
    """Check that the k-th trial has the k-th draw of the noise."""
    again = simulated()
    assert [trial.value for trial in study.trials] == [again(trial.region) for trial in study.trials]
    assert len({trial.value for trial in study.trials}) == len(study.trials)


@pytest.mark.parametrize("workers", [None, 1, 4])
def test_simulated_noise_is_of_the_seed_alone_and_on_an_executor(workers: int | None) -> None:
    study = make_study(budget=30)
    with executor_of(workers) as executor:
        study.optimize(simulated(), executor)
    assert_noise_is_of_the_seed(study)


def test_runs_with_one_instrument_have_noise_of_their_own() -> None:
    measure = simulated()
    one, other = make_study(), make_study()
    one.optimize(measure, workers=2)
    other.optimize(measure, workers=2)
    assert not {trial.value for trial in one.trials} & {trial.value for trial in other.trials}


def test_processes_measure_too() -> None:
    study = make_study(budget=15)
    with ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
        result = study.optimize(simulated(), executor)
    assert result.success
    assert result.nfev == 15
    assert_consistent(study)
    assert_noise_is_of_the_seed(study)


def test_an_error_in_one_worker_does_not_lose_the_others_measurements() -> None:
    started = threading.Barrier(3, timeout=60)
    calls = iter(range(100))

    def measure(region: zn.Region) -> float:
        number = next(calls)
        if number < 3:
            started.wait()
            if number == 1:
                raise OSError("cloudy")
            wait_for(lambda: "failed" in {trial.state for trial in study.trials})  # the other has failed
        return wave(region)

    study = make_study()
    with ThreadPoolExecutor(3) as executor, pytest.raises(OSError, match="cloudy"):
        study.optimize(measure, executor)
    assert sorted(trial.state for trial in study.trials) == ["failed", "measured", "measured"]
    assert_consistent(study)
    with ThreadPoolExecutor(3) as executor:
        assert study.optimize(measure, executor).nfev == 12


def test_nonsense_from_one_worker_does_not_lose_the_others_measurements() -> None:
    started = threading.Barrier(3, timeout=60)
    calls = iter(range(100))

    def measure(region: zn.Region) -> float:
        number = next(calls)
        if number < 3:
            started.wait()
            return math.nan if number == 0 else wave(region)
        return wave(region)

    study = make_study()
    with ThreadPoolExecutor(3) as executor, pytest.raises(zn.InvalidInput, match="got nan"):
        study.optimize(measure, executor)
    assert sorted(trial.state for trial in study.trials).count("failed") == 1
    assert study.measured >= 2
    assert_consistent(study)


def test_exhaustion_does_not_lose_measurements_under_way() -> None:
    def measure(region: zn.Region) -> float:
        time.sleep(0.2 if region.node == (1, 1) else 0.01)
        return wave(region)

    study = make_study(max_replicates=1, policy=zn.GPOO(delta=zn.GeometricDelta(2), h_max=0))
    with ThreadPoolExecutor(2) as executor:
        result = study.optimize(measure, executor)
    assert not result.success
    assert [trial.state for trial in study.trials] == ["measured"] * 3
    assert_consistent(study)


def test_an_executor_that_takes_no_more_work_leaves_no_trial_under_way() -> None:
    executor = ThreadPoolExecutor(2)
    executor.shutdown()
    study = make_study()
    with pytest.raises(RuntimeError, match="shutdown"):
        study.optimize(wave, executor)
    assert_consistent(study)
    assert study.remaining == 12


# Ctrl-C.


def test_a_keyboard_interrupt_from_the_measurement_returns_the_best_so_far() -> None:
    def measure(region: zn.Region) -> float:
        if study.measured == 4:
            raise KeyboardInterrupt
        return wave(region)

    study = make_study()
    result = study.optimize(measure)
    assert not result.success
    assert result.message == "interrupted by Ctrl-C; 4 of 12 measurements made"
    assert (result.mean, result.nfev) == (study.recommend().mean, 4)
    assert_consistent(study)
    assert study.optimize(wave).nfev == 12


def test_being_interrupted_is_no_fault_of_the_region() -> None:
    def measure(region: zn.Region) -> float:
        raise KeyboardInterrupt

    study = make_study()
    for _ in range(4):
        assert not study.optimize(measure).success
    assert study.tree.askable[0]
    assert len(study.tree) == 1
    with ThreadPoolExecutor(4) as executor:  # four looks at the root are pending
        assert not study.optimize(measure, executor).success
    assert study.tree.askable[0]
    assert len(study.tree) == 1


def test_a_search_may_run_in_another_thread() -> None:
    with ThreadPoolExecutor(1) as executor:
        assert executor.submit(make_study().optimize, wave).result().nfev == 12


def report(result: zn.Result | None, study: zn.Study, **more: Any) -> None:
    """Print what became of a scene."""
    assert_consistent(study)
    told = {
        "success": result.success if result else None,
        "message": result.message if result else "",
        "nfev": result.nfev if result else None,
        "measured": study.measured,
        "failed": sum(trial.state in ("failed", "cancelled") for trial in study.trials),
        "root askable": bool(study.tree.askable[0]),
        "restored": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    }
    if study.remaining:
        assert study.optimize(wave).nfev == study.budget  # still usable
    print(json.dumps({**told, **more}), flush=True)


def announce() -> None:
    """Say that a measurement has begun, in one piece even if several do at once."""
    os.write(1, b"measuring\n")


def slow_wave(region: zn.Region) -> float:
    """Measure slowly from the third region on, and say so."""
    if region.node not in ((0, 0), (1, 0)):
        announce()
        time.sleep(120)
    return wave(region)


def sleepy_wave(region: zn.Region, over: threading.Event | None = None) -> float:
    """Take a while over every region, and say so."""
    announce()
    (over or threading.Event()).wait(120)
    return wave(region)


def play_slow() -> None:
    study = make_study()
    report(study.optimize(slow_wave), study)


def play_threads() -> None:
    study = make_study()
    over = threading.Event()
    with ThreadPoolExecutor(4) as executor:
        result = study.optimize(partial(sleepy_wave, over=over), executor)
        over.set()
    report(result, study)


def play_processes() -> None:
    study = make_study()
    with ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
        result = study.optimize(sleepy_wave, executor)
    report(result, study)


def play_own_handler() -> None:
    """Ctrl-C belongs to whoever has taken it."""
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))

    def measure(region: zn.Region) -> float:
        if study.measured == 3:
            signal.raise_signal(signal.SIGINT)
        return wave(region)

    study = make_study()
    report(study.optimize(measure), study, pressed=len(pressed))


@dataclass(frozen=True)
class Pressing(BoundOptimistic):
    """GPOO during whose third choice Ctrl-C is pressed, once."""

    asked: list[int] = field(default_factory=list)

    def choose(self, tree: Tree, t: int, views: Views, rng: RngFactory) -> Choice:
        self.asked.append(t)
        if t == 3 and self.asked.count(3) == 1:
            signal.raise_signal(signal.SIGINT)
        return super().choose(tree, t, views, rng)


class PressingPolicy(zn.GPOO):
    """The policy of that name."""

    def bind(self, context: PolicyContext) -> Pressing:
        return Pressing(**vars(POLICY.bind(context)))


def play_while_choosing() -> None:
    """Press Ctrl-C while the search is choosing a region that it would take long to measure."""
    calls: list[zn.Region] = []

    def measure(region: zn.Region) -> float:
        calls.append(region)
        return wave(region)

    study = make_study(policy=PressingPolicy())
    result = study.optimize(measure)
    report(result, study, calls=len(calls))


def press_at_line(k: int, twice: bool, run: Callable[[], zn.Result]) -> tuple[zn.Result | None, int]:
    """Press Ctrl-C before the k-th line that the library runs, and perhaps again when it next calls a function.

    Returns the result, None if the interrupt came through, and the number of lines run.
    """
    package = str(Path(zonal.__file__).parent)
    lines, again = 0, False

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal lines, again
        if not frame.f_code.co_filename.startswith(package):
            return None
        if event == "line":
            lines += 1
            if lines == k:
                again = twice
                signal.raise_signal(signal.SIGINT)
        return trace

    def profile(frame: FrameType, event: str, arg: object) -> None:  # lives on when an interrupt ends `trace`
        nonlocal again
        code = frame.f_code
        if again and event == "call" and code.co_filename.startswith(package) and code.co_name != "_note":
            again = False
            signal.raise_signal(signal.SIGINT)

    if twice:
        sys.setprofile(profile)
    sys.settrace(trace)
    try:
        return run(), lines
    except KeyboardInterrupt:
        return None, lines
    finally:
        sys.settrace(None)
        sys.setprofile(None)


def play_lines(every: int, budget: int = 2, **settings: Any) -> None:
    """Press Ctrl-C at lines of a search, once and twice, and compare with a search left alone."""
    alone = zn.Study([(0, 1)], budget=budget, **settings)
    _, lines = press_at_line(0, False, lambda: alone.optimize(wave))
    torn, escaped, returned = [], 0, 0
    for k in range(1, lines + 1, every):
        for twice in (False, True) if k // every % 3 == 0 else (False,):
            study = zn.Study([(0, 1)], budget=budget, **settings)
            result, _ = press_at_line(k, twice, lambda study=study: study.optimize(wave))  # type: ignore[misc]
            returned += result is not None
            escaped += result is None
            try:
                assert_consistent(study)
                # Only before the first round and after the last does an interrupt come through.
                assert result is not None or not study.trials or study.measured == budget
                if study.remaining:
                    assert result is None or (not result.success and "interrupted" in result.message)
                    study.optimize(wave)
                assert [t.node for t in study.trials if t.state == "measured"] == [t.node for t in alone.trials]
                np.testing.assert_array_equal(study.tree.mean, alone.tree.mean)
                np.testing.assert_array_equal(study.tree.std, alone.tree.std)
            except Exception as error:
                torn.append((k, twice, f"{type(error).__name__}: {error}"[:200]))
    print(json.dumps({"lines": lines, "torn": torn, "escaped": escaped, "returned": returned}), flush=True)


def play_lines_of_gpoo() -> None:
    play_lines(tries(97, 1), budget=5, kernel=zn.RBF(0.1, 0.2), noise=0.1, feedback=zn.Center(), policy=POLICY)


def play_lines_of_the_default() -> None:
    play_lines(tries(9973, 499), budget=9)


def play_hammer() -> None:
    """Run fast rounds while Ctrl-C is pressed again and again from outside."""
    torn, returned, rounds = [], 0, 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    announce()
    until = time.monotonic() + tries(1, 2)
    while time.monotonic() < until or returned < 12:
        study, result = make_study(budget=300), None
        try:
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                result = study.optimize(wave)
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:  # pressed before the search began or after it ended
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            except KeyboardInterrupt:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        rounds += study.measured
        returned += result is not None and not result.success
        try:
            assert_consistent(study)
            assert result is None or result.nfev == study.measured
        except AssertionError as error:
            torn.append(str(error)[:200])
    print(json.dumps({"torn": torn, "returned": returned, "rounds": rounds}), flush=True)


SCENES: dict[str, Callable[[], None]] = {
    "slow": play_slow,
    "threads": play_threads,
    "processes": play_processes,
    "own handler": play_own_handler,
    "while choosing": play_while_choosing,
    "lines of GPOO": play_lines_of_gpoo,
    "lines of the default": play_lines_of_the_default,
    "hammer": play_hammer,
}


def play(name: str) -> None:
    """Play a scene in a process group of its own."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    SCENES[name]()


@contextmanager
def scene(name: str) -> Iterator[Forked]:
    """Play a scene in a process of its own, of which nothing is left when a test is over or has failed."""
    process = Forked(does=partial(play, name))
    try:
        yield process
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):  # it has no group yet
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()


def outcome(process: Forked) -> dict[str, Any]:
    """Wait for the end of a scene and return its report."""
    out = process.end(600 if EVERYTHING else 120)
    assert process.returncode == 0, out
    told: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return told


def wait_for_measurements(process: Forked, number: int) -> None:
    for _ in range(number):
        assert process.stdout.readline() == "measuring\n", process.end(60)


def test_ctrl_c_during_a_slow_measurement_returns_the_best_so_far() -> None:
    with scene("slow") as process:
        wait_for_measurements(process, 1)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        told = outcome(process)
    assert time.monotonic() - start < 60  # not the two minutes of the measurement
    assert not told["success"]
    assert told["message"] == "interrupted by Ctrl-C; 2 of 12 measurements made"
    assert (told["nfev"], told["measured"], told["failed"]) == (2, 2, 1)
    assert told["restored"]


def test_ctrl_c_while_threads_measure_returns_the_best_so_far_and_bars_no_region() -> None:
    with scene("threads") as process:
        wait_for_measurements(process, 4)
        process.send_signal(signal.SIGINT)
        told = outcome(process)
    assert not told["success"]
    assert "interrupted by Ctrl-C" in told["message"]
    assert (told["nfev"], told["measured"], told["failed"]) == (0, 0, 4)
    assert told["restored"]
    assert told["root askable"]  # which all four were measuring


def test_ctrl_c_in_a_terminal_reaches_worker_processes_too() -> None:
    with scene("processes") as process:
        wait_for_measurements(process, 2)
        os.killpg(process.pid, signal.SIGINT)
        told = outcome(process)
    assert not told["success"]
    assert "interrupted by Ctrl-C" in told["message"]
    assert (told["nfev"], told["measured"], told["failed"]) == (0, 0, 2)


def test_ctrl_c_is_left_to_a_program_that_handles_it() -> None:
    with scene("own handler") as process:
        told = outcome(process)
    assert told["success"]
    assert told["nfev"] == 12
    assert told["pressed"] == 1


def test_ctrl_c_while_a_region_is_chosen_does_not_wait_for_its_measurement() -> None:
    with scene("while choosing") as process:
        told = outcome(process)
    assert not told["success"]
    assert (told["measured"], told["failed"]) == (2, 1)
    assert told["calls"] == 2


@pytest.mark.parametrize("name", ["lines of GPOO", "lines of the default"])
def test_ctrl_c_at_any_line_tears_nothing_apart(name: str) -> None:
    with scene(name) as process:
        told = outcome(process)
    assert told["lines"] > 100
    assert told["torn"] == []
    assert told["returned"] > told["escaped"]


def test_ctrl_c_again_and_again_tears_nothing_apart() -> None:
    with scene("hammer") as process:
        wait_for_measurements(process, 1)
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.003)
        told = outcome(process)
    assert told["torn"] == []
    assert told["returned"] > 10
    assert told["rounds"] > 10


def test_the_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(sys.modules["zonal.maximize"]).failed == 0
