"""One way for state to change: events say all that happened, and nothing is ever torn."""

import copy
import linecache
import os
import pickle
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import cycle, pairwise, product
from types import FrameType
from typing import Any

import numpy as np
import pytest

import zonal as zn
from effort import tries
from eventful_studies import POLICIES, PRICES, close, digest, lived, mended, value
from kinds import KINDS, allowed, kernels
from zonal.engine import commands
from zonal.engine.events import (
    Asked,
    Closed,
    Corrected,
    Created,
    Extended,
    Fitted,
    Observed,
    Retracted,
    Split,
    Told,
    Unblocked,
)
from zonal.policies.base import Policy

pytestmark = pytest.mark.one_in(2)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_replayed_study_is_the_same(kind: str, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    space, feedback = KINDS[kind].space, allowed(KINDS[kind])[-1]
    kernel = next(iter(kernels(KINDS[kind]).values())).ours
    study = zn.Study(
        space,
        budget=20,
        kernel=kernel,
        noise=lambda region: 0.1,
        feedback=feedback,
        policy=POLICIES[policy](),
        rng=3,
    )
    mended(lived(study))
    settings, events = study.settings, study.events

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("nothing is decided in a replay")

    with monkeypatch.context() as patch:
        patch.setattr(commands, "bound_policy", never)
        patch.setattr(commands, "_fit", never)
        again = zn.Study.replay(settings, events)
    assert digest(again) == digest(study)
    assert again.events == events
    close(zn.Study.replay(settings, events, batch=True), study)
    assert again.ask() == study.ask()
    one, two = again.recommend(), study.recommend()
    assert (one.node, one.mean, one.std) == (two.node, two.mean, two.std)
    assert one.gap == pytest.approx(two.gap, abs=1e-9, nan_ok=True)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["line", "costs on a line", "mixed", "dna", "points", "hierarchy"])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_learned_study_is_replayed_without_learning_again(
    kind: str, direction: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = PRICES if kind.startswith("costs") else {"budget": 24}
    space = KINDS[kind.removeprefix("costs on a ")].space
    study = mended(lived(zn.Study(space, direction=direction, rng=1, **given)))
    monkeypatch.setattr(commands, "_fit", lambda *_: pytest.fail("learned again"))
    again = zn.Study.replay(study.settings, study.events)
    assert digest(again) == digest(study)
    assert again.models == study.models
    close(zn.Study.replay(study.settings, study.events, batch=True), study)


def test_every_event_alone_leads_from_the_state_before_to_the_state_after() -> None:
    study = zn.Study(KINDS["line"].space, budget=30, rng=2)
    states, commit = [study._state], study._commit

    def watch(state: Any, *rest: Any) -> None:
        states.append(state)
        commit(state, *rest)

    study._commit = watch  # type: ignore[method-assign]
    mended(lived(study, 12))
    kinds = set()
    for before, after in pairwise(states):
        (event,) = list(after.events)[len(before.events) :]
        made = before.apply_transaction(event)
        kinds |= {type(fact) for fact in event}
        for name in ("mean", "std", "noise", "count", "trials", "askable", "expanded", "parent"):
            assert np.array_equal(getattr(made.posterior_table(), name), getattr(after.posterior_table(), name)), (
                event,
                name,
            )
        assert made.ledger == after.ledger
        assert list(made.pending) == list(after.pending)
        assert (made.blocked, made.failed_trials) == (after.blocked, after.failed_trials)
        assert list(made.events) == list(after.events)
    everything = {Unblocked, Asked, Corrected, Closed, Extended, Fitted, Told, Observed, Retracted, Split}
    assert kinds >= everything
    assert isinstance(study.events[0][0], Created)


# Torn never.


class Stop(BaseException):
    """Raised at any line, as Ctrl-C is."""


Line = tuple[str, int]


def interrupted(
    study: zn.Study,
    step: Callable[[zn.Study], object],
    place: int | Line | None,
    error: type[BaseException] = Stop,
) -> list[Line]:
    """Take a step, stopped before one of the library's lines; return the lines that were come to."""
    passed: list[Line] = []

    def trace(frame: FrameType, what: str, _: Any) -> Any:
        if "zonal" not in frame.f_code.co_filename:
            return None
        if what == "line":
            passed.append((frame.f_code.co_filename, frame.f_lineno))
            if place in (len(passed), passed[-1]):
                raise error
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        step(study)
    except Stop:
        pass
    finally:
        sys.settrace(before)
    return passed


STEPS: dict[str, Callable[[zn.Study], object]] = {
    "ask": lambda study: study.ask(),
    "ask three": lambda study: study.ask(3),
    "tell": lambda study: study.tell(study.pending[0], 0.7),
    "observe": lambda study: study.observe(study.space.cell((1, 0)), 0.4),
    "give up": lambda study: study.fail(study.pending[0], retry=False),
    "cancel": lambda study: study.cancel(study.pending[0]),
    "allow": lambda study: study.allow(study.space.cell((0, 0))),
    "extend": lambda study: study.extend(3),
    "correct": lambda study: study.correct(1, 7.3),
    "retract": lambda study: study.retract(1, "spilled"),
}
TORN = {
    "GPOO on a line": lambda: zn.Study(
        KINDS["line"].space,
        budget=30,
        kernel=zn.RBF(1.0, 0.2),
        noise=0.1,
        policy=zn.GPOO(zn.GeometricDelta(2.0, 0.6)),
    ),
    "learned on a line": lambda: zn.Study(KINDS["line"].space, budget=30, rng=0),
    "learned on points": lambda: zn.Study(KINDS["points"].space, budget=30, rng=0),
    "mixed": lambda: zn.Study(KINDS["mixed"].space, budget=30, rng=0),
    "costs on a line": lambda: zn.Study(KINDS["line"].space, rng=0, **PRICES),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("made", TORN)
def test_an_interrupted_step_happened_or_did_not(made: str, step: str) -> None:
    check_torn(begun(made), STEPS[step])


@cache
def begun(made: str) -> zn.Study:
    """Return a study that has begun, not to be changed."""
    study = TORN[made]()
    for number in range(6):
        trial = study.ask()
        if number < 4:
            study.tell(trial, value(trial.node))
    study.fail(study.ask(), retry=False)
    return study


def check_torn(study: zn.Study, step: Callable[[zn.Study], object]) -> None:
    """Stop a step at some of its lines, evenly spread, or at every line once, and look at what is left."""
    done = copy.deepcopy(study)
    passed = interrupted(done, step, None)
    before, after = digest(study), digest(done)
    tried = copy.deepcopy(study)
    first = {line: number for number, line in reversed(list(enumerate(passed, start=1)))}
    some = {1 + len(passed) * place // 8 for place in range(8)}
    every = bool(os.environ.get("ZONAL_EVERY_LINE"))
    errors: tuple[type[BaseException], ...] = (Stop, MemoryError)
    for number, error in product(sorted(first.values()), errors) if every else zip(sorted(some), cycle(errors)):
        with suppress(MemoryError, zn.InvalidInput):  # a check calls whatever a value raises its fault
            interrupted(tried, step, number, error)
        left = digest(tried)
        assert left in (before, after), number
        if left == after:
            tried = copy.deepcopy(study)
    if digest(tried) == before:
        step(tried)
    assert digest(tried) == after


@pytest.mark.parametrize("error", [MemoryError, RuntimeError])
def test_nothing_is_forgiven_but_what_the_users_own_functions_raise(error: type[Exception]) -> None:
    space = zn.Box([(0, 1)], smallest=1 / 16)
    study = zn.Study(space, budget=9, noise=lambda region: 0.1, forbidden=lambda region: False)
    trial = study.ask()

    def step(study: zn.Study) -> None:
        study.tell(trial, 0.5)

    rooms = [f"{os.sep}{room}{os.sep}" for room in ("engine", "spaces", "policies")]
    interrupted(copy.deepcopy(study), step, None)  # what is remembered is not computed again
    lines = [
        line
        for line in dict.fromkeys(interrupted(copy.deepcopy(study), step, None))
        if any(room in line[0] for room in rooms) and "return function(region)" not in linecache.getline(*line)
    ]
    assert len(lines) > 100
    for line in lines[:: tries(2, 1)]:
        with pytest.raises(error):
            interrupted(copy.deepcopy(study), step, line, error)


@pytest.mark.parametrize("function", ["noise", "forbidden"])
def test_users_functions_that_fail_hold_nothing_told_up_unless_memory_ran_out(function: str) -> None:
    answers: dict[str, Any] = {"noise": 0.1, "forbidden": False}
    failing: list[Any] = []

    def asked(region: zn.Region) -> Any:
        if not failing:
            return answers[function]
        if isinstance(failing[0], Exception):
            raise failing[0]
        return failing[0]

    own: dict[str, Any] = {function: asked}
    study = zn.Study(zn.Box([(0, 1)], smallest=1 / 64), budget=40, **own)
    trial = study.ask()
    failing.append(MemoryError())
    with pytest.raises(MemoryError):
        study.tell(trial, 0.5)
    assert study.measured == 0
    for answer in (LookupError("no such calibration"), "much"):
        failing[:] = [answer]
        twin = copy.deepcopy(study)
        twin.tell(trial, 0.5)
        assert twin.measured == 1
        for _ in range(15):  # the rest of the opening: nothing is split for it
            twin.tell(twin.ask(), 0.5)
        with pytest.raises((LookupError, zn.InvalidInput), match=r"no such calibration|much"):
            twin.ask()
    failing.clear()
    study.tell(trial, 0.5)


def test_a_kernel_that_fails_once_leaves_nothing_behind() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (40, 2))
    left = [10**9]

    def kernel(A: Any, B: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError("the cluster is down")
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / 0.1)

    study = zn.Study(zn.Points(X), budget=30, kernel=kernel, noise=0.1)
    healthy = zn.Study(zn.Points(X), budget=30, kernel=kernel, noise=0.1)
    for number in range(20):
        for one, fails in ((healthy, 10**9), (study, 1 + number % 7)):
            left[0] = fails
            try:
                trial = one.ask()
            except RuntimeError:
                left[0] = 10**9
                trial = one.ask()
            left[0] = fails
            try:
                one.tell(trial, value(trial.node))
            except RuntimeError:
                left[0] = 10**9
                one.tell(trial, value(trial.node))
    np.testing.assert_allclose(study.tree.mean, healthy.tree.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(study.tree.std, healthy.tree.std, rtol=0, atol=1e-12)


# Threads.


def test_eight_threads_lose_double_and_tear_nothing() -> None:
    study = zn.Study(
        zn.Box([(0, 1)], smallest=1 / 16), budget=2000, kernel=zn.RBF(1.0, 0.2), noise=0.1, policy=zn.UCB()
    )
    told: list[int] = []

    def work() -> None:
        while True:
            try:
                trial = study.ask()
            except zn.BudgetSpent:
                return
            study.tell(trial, value(trial.node))
            told.append(trial.number)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == list(range(2000))
    assert study.measured == 2000
    assert int(study.tree.count.sum()) == 2000
    assert digest(zn.Study.replay(study.settings, study.events)) == digest(study)


# Trials, draws and telling twice.


def small(**settings: Any) -> zn.Study:
    usual: dict[str, Any] = {"budget": 8, "kernel": zn.RBF(1.0, 0.2), "noise": 0.1}
    return zn.Study([(0, 1)], **(usual | settings))


def test_another_studys_trial_is_refused() -> None:
    one, other = small(), small()
    trial = one.ask()
    other.ask()
    with pytest.raises(zn.TrialError, match="not a trial of this study"):
        other.tell(trial, 1.0)


def test_copies_and_pickles_keep_the_id_and_go_their_own_way() -> None:
    study = small()
    trial = study.ask()
    for twin in (copy.copy(study), copy.deepcopy(study), pickle.loads(pickle.dumps(study))):
        assert twin.id == study.id
        twin.tell(trial, 0.5)
        twin.ask()
    assert study.measured == 0
    study.tell(trial, 0.5)


def test_the_same_value_told_again_does_nothing_and_another_is_an_error() -> None:
    study = small()
    trial = study.ask()
    study.tell(trial, 0.5)
    before = digest(study)
    study.tell(trial, 0.5)
    assert digest(study) == before
    with pytest.raises(zn.TrialError, match="already"):
        study.tell(trial, 0.6)


def test_a_late_tell_counts_as_a_measurement_and_with_the_budget_spent_as_an_observation() -> None:
    study = small(budget=2)
    first, second = study.ask(2)
    study.fail(first)
    study.tell(first, 0.5)
    assert study.measured == 1
    study.fail(second)
    study.tell(study.ask(), 0.1)
    assert study.remaining == 0
    study.tell(second, 0.7)
    assert study.measured == 2
    assert [one.value for one in study.observations] == [0.7]


@pytest.mark.parametrize("policy", [zn.Random(level=4), zn.Thompson(level=4), None])
def test_ask_withdraw_ask_gives_the_same_trial(policy: Policy | None) -> None:
    study = small(policy=policy, rng=5)
    study.tell(study.ask(), 0.3)
    first = study.ask()
    study.cancel(first)
    again = study.ask()
    assert again.node == first.node
    assert study.ask(2) != [first, again]


def test_a_generator_is_drawn_from_once() -> None:
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    small(rng=one).ask(4)
    small(rng=other)
    assert one.random() == other.random()


def test_a_request_with_the_same_key_is_the_same_request() -> None:
    study = small()
    batch = study.ask(3, key="monday")
    assert study.ask(3, key="monday") == batch
    assert study.remaining == 5
    with pytest.raises(zn.InvalidInput, match="another key"):
        study.ask(2, key="monday")


def test_a_refused_batch_leaves_everything_as_it_was() -> None:
    study = zn.Study(
        zn.Box([(0, 1)], smallest=0.25),
        budget=20,
        kernel=zn.RBF(1.0, 0.2),
        noise=0.1,
        max_replicates=1,
        policy=zn.UCB(),
    )
    study.ask(2)
    before = digest(study)
    with pytest.raises(zn.Exhausted):
        study.ask(3)
    assert digest(study) == before


def test_history_must_begin_with_its_beginning() -> None:
    study = lived(small(budget=20))
    with pytest.raises(zn.InvalidInput, match="begins with Created"):
        zn.Study.replay(study.settings, study.events[1:])
    with pytest.raises(zn.InvalidInput, match="begins once"):
        zn.Study.replay(study.settings, study.events * 2)


def test_another_space_than_the_one_of_old_is_noticed() -> None:
    study = lived(small(budget=20))
    other = small(budget=20).settings
    events = study.events
    changed = zn.Study([(0, 2)], budget=20, kernel=zn.RBF(1.0, 0.2), noise=0.1).settings
    zn.Study.replay(other, events)
    with pytest.raises(zn.InvalidInput, match="splits the region differently"):
        zn.Study.replay(changed, events)


# What a study hands out is its own.


def test_what_a_study_hands_out_cannot_change_it() -> None:
    study = zn.Study([(0, 1)], budget=20, rng=0)
    for _ in range(8):
        trial = study.ask()
        study.tell(trial, value(trial.node))
    study.model.spread["noise"] = 99.0
    assert study.model.spread["noise"] != 99.0
    for name in ("budget", "space", "settings", "remaining"):
        with pytest.raises(AttributeError):
            setattr(study, name, "minimize")
    with pytest.raises(AttributeError):
        study.settings.direction = "minimize"  # type: ignore[misc]
    assert study.tree == study.tree


def test_a_noise_that_was_given_is_part_of_the_model() -> None:
    assert small(noise=0.3).model.noise == 0.3
    assert small(noise=lambda region: 0.3).model.noise is None


@pytest.mark.parametrize("noise", [1e-9, 1e-12, 0.0])
@pytest.mark.parametrize("policy", [zn.GPOO(zn.GeometricDelta(1.0, 0.5)), zn.UCB(level=3), None])
def test_many_trials_under_way_at_tiny_noise_leave_finite_numbers(noise: float, policy: Policy | None) -> None:
    study = small(budget=60, noise=noise, policy=policy)
    study.tell(study.ask(), 0.3)
    study.tell(study.ask(), 0.1)
    study.ask(20)
    seen = study._state.policy_table()
    assert np.isfinite(seen.std).all()
    assert np.isfinite(seen.mean).all()
    told = study.tree.std
    looked = seen.trials > seen.count
    assert (seen.std <= told + 1e-9).all()
    apart = ~looked & (told > 1e-3) & (seen.depth >= 3)  # what nobody looks at is not known
    assert not apart.any() or (seen.std[apart] > 0).mean() > 0.9


def test_settings_can_be_read_back_and_used_again() -> None:
    study = small(policy=zn.UCB(level=3), direction="minimize", max_replicates=2, mean=0.5, rng=7)
    given = study.settings
    assert (given.budget, given.noise, given.mean, given.seed) == (8, 0.1, 0.5, 7)
    assert (given.direction, given.max_replicates, given.policy) == ("minimize", 2, zn.UCB(level=3))
    assert given.kernel == zn.RBF(1.0, 0.2)
    assert zn.Study.replay(given, study.events).ask() == study.ask()


@pytest.mark.parametrize("policy", [None, zn.GPTree(h_max=8)], ids=repr)
def test_halves_observed_before_their_region_is_split_are_columns_of_the_tree(policy: Policy | None) -> None:
    """In a space too large to be grown whole the table grows, but nothing new is tracked."""
    space: Any = zn.Box({"x": (0, 1), "y": (0, 1)}, smallest=1 / 64)
    study = zn.Study(space, budget=20, kernel=zn.RBF(1.0, 0.2), noise=0.1, policy=policy)
    trial = study.ask()
    for half, average in zip(space.split(trial.region), (0.4, 0.6), strict=True):
        study.observe(half, average)
    study.tell(trial, 0.5)
    for _ in range(3):
        assert len(study.tree.mean) == len(study.tree.depth)
        study.tell(study.ask(), 0.5)
    assert study.recommend().mean == pytest.approx(0.6, abs=0.2)


@pytest.mark.parametrize(
    "space", [zn.Box({"layers": (1, 12)}, scale="integer"), zn.Box([(0, 1)] * 2)], ids=["integers", "plane"]
)
def test_pickles_leave_at_home_what_can_be_computed(space: zn.Box) -> None:
    found = zn.maximize(lambda region: float(region.center[0]), space, budget=6, rng=0)
    (before,) = found.study.snapshot(3)
    for own in (found, found.study, before):
        assert len(pickle.dumps(own)) < 40_000
    again, then = pickle.loads(pickle.dumps((found, before)))
    assert again.region == found.region
    np.testing.assert_array_equal(again.study.tree.mean, found.study.tree.mean)
    assert then.recommend() == before.recommend()
