"""States are values: whatever is decided from one leaves it, and all others, as they were, to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import zonal as zn
from effort import EVERYTHING
from eventful_studies import POLICIES, lived, value
from fingerprint import print_of
from kinds import KINDS, Kind, allowed, kernels, off_tree
from zonal.engine import checks, commands, confidence, policy, select
from zonal.engine.events import Corrected, Extended, Observed, Retracted, Told, Transaction
from zonal.engine.policy import views
from zonal.engine.settings import Problem
from zonal.engine.state import State
from zonal.engine.trial_history import outcomes
from zonal.kernels.feedback import Feedback
from zonal.kernels.finite_covariance import Representatives
from zonal.study.queries import expected

# Every kind of space with some of the policies, every policy with some kinds of spaces, and what is learned.
PAIRS = [
    (kind, policy)
    for place, kind in enumerate(KINDS)
    for number, policy in enumerate(POLICIES)
    if (place + number) % 3 == 0
]
# To learn takes its time: a third of the kinds each time, and all of them in `make torture`.
LEARNED = [kind for place, kind in enumerate(KINDS) if place % 3 == 0 or EVERYTHING]
CASES = [*PAIRS, *((kind, "learned") for kind in LEARNED)]

# What a memory that all share could get wrong: averages worked out by quadrature, sides that are no powers of two,
# regions of a large space seen through some members, pieces of sequences, and what the user has to say.
SIDES = zn.Box({"x": (0.0, 0.7), "t": (-180.0, 180.0)}, arity=3)
MANY = zn.Points(np.random.default_rng(0).uniform(size=(400, 2)))
OTHERS: dict[str, dict[str, Any]] = {
    "beam": {"space": SIDES, "kernel": zn.Matern(1.0, (0.2, 90.0)), "noise": 0.2, "feedback": zn.Beam(share=0.5)},
    "grid": {
        "space": SIDES,
        "kernel": zn.Matern(1.0, (0.2, 90.0), nu=0.5),
        "noise": 0.2,
        "feedback": zn.Average(3),
    },
    "many points": {"space": MANY, "kernel": zn.RBF(1.0, 0.3) + zn.Matern(0.2, 0.1), "noise": 0.2},
    "many points learned": {"space": MANY},
    "noise that falls": {"space": MANY, "kernel": zn.RBF(1.0, 0.3), "noise": zn.PerWeight()},
    "motifs": {"space": zn.Sequences("ACGT", 4), "kernel": zn.Motif(0.9) + zn.Categorical(0.4, 0.5), "noise": 0.2},
    "own functions": {
        "space": SIDES,
        "kernel": zn.RBF(1.0, (0.2, 90.0)),
        "noise": lambda region: 0.1 + 0.1 * float(region.widths[0]),
        "forbidden": lambda region: bool(region.center[1] > 150),
        "max_replicates": 2,
        "policy": zn.GPOO(zn.GeometricDelta(2.0, 0.6), h_max=4),
    },
    "little noise": {"space": SIDES, "kernel": zn.RBF(1.0, (0.2, 90.0)), "noise": 1e-5, "policy": zn.UCB(level=2)},
}
CASES += [(name, "own") for name in OTHERS]
each_case = pytest.mark.parametrize(("kind", "policy"), CASES, ids=repr)


@pytest.fixture(autouse=True)
def many_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let some hundred members count as many, so that regions are seen through some of them, in less time."""
    monkeypatch.setattr(Representatives.__init__, "__defaults__", (256, 128, 8))


def made(kind: str, policy: str) -> State:
    """Return a study's state after all kinds of things have happened, some trials pending."""
    if policy == "own":
        given = OTHERS[kind]
    else:
        own = KINDS[kind]
        given = {"space": own.space, "feedback": allowed(own)[-1]}
        if policy != "learned":
            given |= {"kernel": next(iter(kernels(own).values())).ours, "policy": POLICIES[policy](), "noise": 0.2}
    study = zn.Study(budget=24, rng=3, **given)
    lived(study, 5)
    study.ask(2)
    return study._state


# What may be done next; all of it changes what is believed, or what is known to be pending.


def ask(state: State) -> State:
    return select.ask(state, "me")


def tell(reward: float, sem: float | None = None, last: bool = False) -> Callable[[State], State]:
    """Return what tells the oldest trial pending, or the one asked for last, after asking if there is none."""

    def told(state: State) -> State:
        state = state if state.pending else ask(state)
        return commands.tell(state, Told(list(state.pending)[-1 if last else 0], reward, sem, ""))

    return told


def end(failed: bool, retry: bool) -> Callable[[State], State]:
    def ended(state: State) -> State:
        state = state if state.pending else ask(state)
        return commands.close_trial(state, next(iter(state.pending)), failed, retry)

    return ended


def observe(node: tuple[int, int] | None, reward: float) -> Callable[[State], State]:
    """Return what observes a node of the tree, or a region that is none."""

    def observed(state: State) -> State:
        space, feedback = state.problem.space, state.problem.feedback
        if state.problem.policy.model_free:
            return commands.observe(state, [Observed(space.cell((0, 0), feedback), reward, None, 0.0, feedback)])
        region = space.cell(node, feedback) if node else off_tree(Kind(space, *_members(space)), 1, 5)[0]
        return commands.observe(state, [Observed(region, reward, None, 0.0, feedback)])

    return observed


def observe_otherwise(*views: Feedback) -> Callable[[State], State]:
    """Return what observes regions as others see them, one after the other, where that has a meaning."""

    def observed(state: State) -> State:
        space = state.problem.space
        if state.problem.policy.model_free:
            return observe((0, 0), 0.3)(state)
        for view in views:
            with suppress(zn.InvalidInput):
                view.check(space)
                for node in ((0, 0), (1, 0)):
                    state = commands.observe(state, [Observed(space.cell(node, view), 0.1, 0.2, 0.0, view)])
        return state

    return observed


def difference(reward: float, told: bool = False) -> Callable[[State], State]:
    """Return what observes, or tells, the difference of two regions; what is told has slopes too, if it can."""

    def differed(state: State) -> State:
        space, feedback = state.problem.space, state.problem.feedback
        if state.problem.policy.model_free:
            return tell(reward)(state)
        one, other = (space.cell(node, feedback) for node in ((0, 0), (1, 0)))
        if not told:
            return commands.observe(state, [Observed(other, reward, 0.3, 0.0, feedback, minus=one)])
        state = state if state.pending else ask(state)
        number, slopes = next(iter(state.pending)), []
        with suppress(zn.InvalidInput):
            (name, *_) = space.names
            slopes = list(checks.slopes(state, state.region(state.asked[number].row), {name: (0.7, 0.4)}))
        return commands.tell(state, Told(number, reward, 0.2, "", minus=other), slopes)

    return differed


def _members(space: Any) -> tuple[Any, ...]:
    return () if space.axes is not None else (space.features, space.weights)


def mend(how: type[Corrected | Retracted], last: bool = False) -> Callable[[State], State]:
    """Return what corrects or retracts the first thing told, or the last."""

    def mended(state: State) -> State:
        past = outcomes(state.events)
        counted = [source for source, own in past.items() if own[-1].value is not None]
        if not counted:
            return tell(0.2)(state)
        observed, number = counted[-1 if last else 0]
        right, gone = Corrected(number, observed, -0.6, 0.3, "", "me"), Retracted(number, observed, "", "me")
        return commands.correct(state, [right if how is Corrected else gone])

    return mended


def refit(state: State) -> State:
    return commands.refit(state) or state


STEPS: dict[str, Callable[[State], State]] = {
    "tell": tell(0.7),
    "tell another": tell(-0.4, sem=0.1),
    "tell the last": tell(1.9, last=True),
    "ask": ask,
    "observe": observe((1, 0), 0.4),
    "observe elsewhere": observe(None, -0.8),
    "observe slopes": observe_otherwise(zn.Slope("x"), zn.Slope("l"), zn.Slope("n")),
    "observe a difference": difference(0.3),
    "tell a difference and slopes": difference(-0.2, told=True),
    "observe otherwise": observe_otherwise(zn.Center(), zn.Average(5)),
    "observe otherwise, in another order": observe_otherwise(zn.Average(5), zn.Center(), zn.Mean()),
    "give up": end(failed=True, retry=True),
    "bar": end(failed=True, retry=False),
    "cancel": end(failed=False, retry=True),
    "extend": lambda state: state.apply_transaction((Extended(3),)),
    "refit": refit,
    "correct": mend(Corrected),
    "correct the last": mend(Corrected, last=True),
    "retract": mend(Retracted),
    "retract the last": mend(Retracted, last=True),
}


# Averages between what is seen in different ways are integrals, one for each pair and model: learned once only.


def steps(kind: str, policy: str) -> dict[str, Callable[[State], State]]:
    """Return what may be done next: some of it, other things with other cases, but for `make torture`."""
    slow = "learned" in f"{kind} {policy}" or kind in ("beam", "grid")
    return STEPS if EVERYTHING else dict(list(STEPS.items())[len(kind) % 2 :: 3 if slow else 2])


def replayed(problem: Problem, events: Iterable[Transaction], read: bool) -> State:
    """Return the state that events make, its belief read after every one of them or not before the end."""
    first, *others = events
    state = State.begin(problem, first)
    for event in others:
        state = state.apply_transaction(event)
        if read:
            assert state.posterior_table().size
    return state


def further(state: State, rounds: int) -> State:
    """Return the state after some more rounds."""
    for _ in range(rounds):
        state = ask(state)
        number = list(state.pending)[-1]
        state = commands.tell(state, Told(number, value(state.asked[number].node), None, ""))
    return state


@pytest.mark.one_in(7)
@each_case
def test_two_decisions_from_one_state_each_equal_their_own_replay_to_the_last_bit(kind: str, policy: str) -> None:
    state = made(kind, policy)
    whole = print_of(state)
    ends, first = [], {}
    for number, step in enumerate(steps(kind, policy).values()):
        after = step(state)
        if number % 2:  # of the others nothing is read before all is done
            first[number] = print_of(after)
        ends.append(after)
    for number in (0, 3, 6):  # some go on, and are replayed in between in the memory that all share
        later = further(ends[number], 2)
        again = replayed(state.problem, later.events, read=bool(number % 2))
        assert print_of(again) == print_of(later), number
        ends.append(later)
    assert print_of(state) == whole
    for number, after in enumerate(ends):
        found = print_of(after)
        assert first.get(number, found) == found, number
        fresh = replayed(Problem(state.problem.settings), after.events, read=bool(number % 2))
        assert print_of(fresh) == found, number


@pytest.mark.one_in(7)
@each_case
def test_what_a_state_answers_stays_the_same_whatever_others_ask(kind: str, policy: str) -> None:
    """Predictions, rankings and certainties of one state, before and after others have grown from it."""
    state = made(kind, policy)
    before = answered(state)
    others = [step(state) for step in steps(kind, policy).values()]
    deep = further(others[0], 3)
    for other in (*others, deep):
        answered(other)
    assert answered(state) == before
    fresh = replayed(Problem(state.problem.settings), state.events, read=False)
    assert answered(fresh) == before
    assert answered(replayed(state.problem, deep.events, read=True)) == answered(deep)


def answered(state: State) -> tuple[Any, ...]:
    """Return what a state says of its best regions, and of some that are not in its tree."""
    space, feedback = state.problem.space, state.problem.feedback
    best = confidence.ranking(state.posterior_table(), policy.recommend(state), 3)
    said: list[Any] = [best, state.posterior_table().std.tobytes()]
    if not state.problem.policy.model_free:
        said += [state.belief.relative_std(state.belief.columns[1]).tobytes()]
        nodes = space.partition.representative_cells(3 if space.max_depth() is None else 2, 4)
        cells = [space.cell(node, feedback) for node in nodes]
        regions = cells + off_tree(Kind(space, *_members(space)), 3, 8)
        said += [confidence.standings(state.posterior_table(), views(state, pending=False), np.array(best), 0.05)]
        joint = state.belief.joint(feedback.footprints(regions))
        said += [numbers.tobytes() for numbers in (*expected(state, regions), *joint)]
    return tuple(map(repr, said))


@pytest.mark.one_in(7)
@pytest.mark.parametrize("policy", ["default", "GPOO", "StoOO", "learned"])
@pytest.mark.parametrize("kind", ["line", "plane with a smallest", "dna", "mixed", "points", "hierarchy"])
@pytest.mark.parametrize("seed", range(2))
def test_a_state_once_returned_stays_true(kind: str, policy: str, seed: int) -> None:
    """Whoever goes on from any of many states, in any order, changes none of them."""
    rng = np.random.default_rng(seed)
    state = made(kind, policy)
    pool, prints = [state], {0: print_of(state)}
    for number in range(1, 25):
        deep = rng.random() < 0.6  # mostly from one of the last, so that forks grow deep
        place = max(0, len(pool) - 1 - int(rng.integers(3))) if deep else int(rng.integers(len(pool)))
        step = rng.choice(list(steps(kind, policy)))
        pool.append(STEPS[step](pool[place]))
        if rng.random() < 0.5:
            prints[number] = print_of(pool[number])
    for number, own in enumerate(pool):
        found = print_of(own)
        assert prints.setdefault(number, found) == found
    for number in rng.permutation(25)[:5].tolist():
        fresh = replayed(Problem(state.problem.settings), pool[number].events, read=bool(number % 2))
        assert print_of(fresh) == prints[number], number
    assert [print_of(own) for own in pool] == list(map(prints.get, range(25)))


def test_events_of_a_state_are_its_own_though_the_list_is_shared() -> None:
    state = made("line", "GPOO")
    one, other = tell(0.1)(state), tell(0.9)(state)
    more = further(one, 3)
    assert list(one.events)[:-1] == list(other.events)[:-1] == list(state.events)
    assert one.events[len(one.events) - 1] != other.events[len(other.events) - 1]
    assert list(more.events)[: len(one.events)] == list(one.events)
    with pytest.raises(IndexError):
        state.events[len(state.events)]


def test_what_was_refused_leaves_the_state_and_its_forks_as_they_were() -> None:
    study = zn.Study([(0, 1)], budget=20, kernel=zn.RBF(1.0, 0.2), noise=0.0, policy=zn.UCB(level=3))
    trials = study.ask(3)
    study.tell(trials[0], 0.5)
    state = study._state
    feedback = state.problem.feedback
    before = print_of(state)
    with pytest.raises(zn.InvalidInput, match="contradicts"):
        commands.observe(state, [Observed(trials[0].region, 0.7, None, 0.0, feedback)])
    assert print_of(state) == before
    after = commands.tell(state, Told(trials[1].number, 0.3, None, ""))
    assert print_of(replayed(Problem(state.problem.settings), after.events, read=True)) == print_of(after)
