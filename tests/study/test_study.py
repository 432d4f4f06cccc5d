"""The rules of the game: asking, telling, observing, failing, budgets, units and directions."""

import copy
import doctest
import logging
import math
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import zonal as zn
import zonal.study.study
import zonal.study.summary
from effort import examples
from fingerprint import fingerprint
from small_studies import (
    LENGTHSCALE,
    NOISE,
    POLICY,
    VARIANCE,
    Array,
    Node,
    dense,
    make_study,
    play,
    table_of,
    wave,
)
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback
from zonal.policies.base import Choice, PolicyContext, RngFactory, Shape, Views
from zonal.policies.gpoo import BoundOptimistic
from zonal.tree import Tree


@dataclass(frozen=True)
class Recording(BoundOptimistic):
    """GPOO that notes the round of each question, and the table it was shown."""

    log: list[tuple[str, int, Array, Array]] = field(default_factory=list)

    def choose(self, tree: Tree, t: int, views: Views, rng: RngFactory) -> Choice:
        self.log.append(("ask", t, tree.mean[: tree.size].copy(), tree.std[: tree.size].copy()))
        return super().choose(tree, t, views, rng)

    def should_expand(self, tree: Tree, node: int, t: int) -> bool:
        self.log.append(("tell", t, tree.mean[: tree.size].copy(), tree.std[: tree.size].copy()))
        return super().should_expand(tree, node, t)


@dataclass
class Recorder:
    """The policy of that name."""

    gpoo: zn.GPOO = POLICY
    log: list[tuple[str, int, Array, Array]] = field(default_factory=list)

    model_free: ClassVar[bool] = False
    expands_fully: ClassVar[bool] = False
    measures_internal_nodes: ClassVar[bool] = False

    def depth(self, shape: Shape, budget: int) -> int:
        return self.gpoo.depth(shape, budget)

    def bind(self, context: PolicyContext) -> Recording:
        return Recording(**vars(self.gpoo.bind(context)), log=self.log)

    @property
    def rounds(self) -> list[tuple[str, int]]:
        return [(question, t) for question, t, _, _ in self.log]


# Rounds.


def test_a_round_counts_what_is_told_and_under_way() -> None:
    recorder = Recorder()
    study = make_study(policy=recorder)
    first, second = study.ask(), study.ask()
    study.tell(second, 0.5)
    third = study.ask()
    study.fail(third)
    study.ask()
    study.tell(first, 0.5)
    assert recorder.rounds[:5] == [("ask", 1), ("ask", 2), ("tell", 1), ("ask", 3), ("ask", 3)]
    study.ask(2)
    assert [t for question, t in recorder.rounds if question == "ask"] == [1, 2, 3, 3, 4, 5]


def test_line_6_counts_this_tell_and_no_pending_trials() -> None:
    recorder = Recorder()
    study = make_study(policy=recorder)
    trials = study.ask(3)  # all of the root
    recorder.log.clear()
    study.tell(trials[1], 0.5)
    ((question, t, _, std),) = recorder.log
    assert (question, t) == ("tell", 1)
    _, expected = dense([(trials[1].region, 0.5, NOISE)], [trials[1].region])
    assert std[0] == pytest.approx(expected[0], abs=1e-12)  # of the measured one only


def test_observations_do_not_advance_the_round() -> None:
    recorder = Recorder()
    study = make_study(policy=recorder)
    study.observe([(0, 1)], 0.5)
    study.observe([(0.2, 0.4)], 0.5)
    study.tell(study.ask(), 0.5)
    study.observe([(0.2, 0.4)], 0.5)
    study.ask()
    assert recorder.rounds == [("ask", 1), ("tell", 1), ("ask", 2)]


def test_a_tell_of_a_node_split_meanwhile_updates_the_belief_and_no_more() -> None:
    recorder = Recorder()
    study = make_study(policy=recorder)
    first, second = study.ask(2)
    study.tell(first, 0.5)
    assert len(study.tree) == 3
    recorder.log.clear()
    before = study.tree
    study.tell(second, 0.9)
    assert recorder.log == []  # line 6 is not asked again
    after = study.tree
    assert len(after) == 3
    np.testing.assert_array_equal(after.expanded, before.expanded)
    np.testing.assert_array_equal(after.askable, before.askable)
    assert after.count.tolist() == [2, 0, 0]
    mean, std = dense([(first.region, 0.5, NOISE), (first.region, 0.9, NOISE)], [first.region])
    assert after.mean[0] == pytest.approx(mean[0], abs=1e-12)
    assert after.std[0] == pytest.approx(std[0], abs=1e-12)


# Pending trials.


def test_pending_trials_do_not_show_in_the_table() -> None:
    study = make_study()
    play(study, 8)
    before, predicted = study.tree, study.predict([(0.1, 0.3)])
    study.ask(4)
    np.testing.assert_array_equal(study.tree.mean, before.mean)
    np.testing.assert_array_equal(study.tree.std, before.std)
    np.testing.assert_array_equal(study.tree.count, before.count)
    assert study.predict([(0.1, 0.3)]) == predicted


def test_the_policy_sees_pending_trials_as_if_they_came_back_as_predicted() -> None:
    recorder = Recorder()
    study = make_study(policy=recorder)
    told = []
    for _ in range(10):
        trial = study.ask()
        study.tell(trial, wave(trial.region))
        told.append((trial.region, wave(trial.region), NOISE))
    study.observe([(0.15, 0.45)], 0.3, sem=0.05)
    told.append((study.space.region([(0.15, 0.45)]), 0.3, 0.05))
    pending: list[tuple[zn.Region, float, float]] = []
    for _ in range(5):
        recorder.log.clear()
        trial = study.ask()
        ((_, t, mean, std),) = recorder.log
        assert t == 10 + len(pending) + 1
        nodes = [study.space.cell(node) for node in table_of(study)]
        expected_mean, _ = dense(told, nodes)
        _, expected_std = dense(told + pending, nodes)
        np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=1e-11)
        np.testing.assert_allclose(std, expected_std, rtol=0, atol=1e-11)
        pending.append((trial.region, 0.0, NOISE))


@examples(25)
@given(order=st.permutations(range(6)), sems=st.lists(st.floats(0.05, 2), min_size=6, max_size=6))
def test_the_posterior_does_not_depend_on_the_order_of_tells(order: list[int], sems: list[float]) -> None:
    studies = [make_study(), make_study()]
    for study in studies:
        play(study, 6)
        study.ask(6)
    one, two = studies
    for number in range(6, 12):
        one.tell(number, float(number % 4), sem=sems[number - 6])
    for place in order:
        two.tell(6 + place, float((6 + place) % 4), sem=sems[place])
    regions = [one.space.cell((4, i)) for i in range(16)] + [one.space.region([(0.1, 0.77)])]
    for mine, others in zip(one.predict(regions), two.predict(regions), strict=True):
        np.testing.assert_allclose(mine, others, rtol=0, atol=1e-11)
    nodes = table_of(one).keys() & table_of(two).keys()
    for node in nodes:
        assert table_of(one)[node] == pytest.approx(table_of(two)[node], abs=1e-11)


def test_trials_under_way_do_not_linger_once_told() -> None:
    recorder = Recorder()
    study = make_study(policy=recorder)
    study.tell(study.ask(), 0.1)
    trials = study.ask(4)
    for trial in trials:
        study.tell(trial, 0.2)
    recorder.log.clear()
    study.ask()
    ((_, t, _, std),) = recorder.log
    assert t == 6
    np.testing.assert_array_equal(std, study.tree.std)


# Asking for several.


def test_several_looks_at_one_region_are_numbered() -> None:
    study = make_study()
    trials = study.ask(3)
    assert [(trial.number, trial.node, trial.replicate) for trial in trials] == [
        (0, (0, 0), 1),
        (1, (0, 0), 2),
        (2, (0, 0), 3),
    ]


@examples(25)
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=8), held=st.integers(0, 3))
def test_no_two_trials_are_alike(sizes: list[int], held: int) -> None:
    study = make_study()
    for size in sizes:
        study.ask(size)
        for trial in study.pending[: -held or None]:
            study.tell(trial, wave(trial.region))
    trials = study.trials
    assert [trial.number for trial in trials] == list(range(sum(sizes)))
    looks: Counter[Node] = Counter()
    for trial in trials:
        looks[trial.node] += 1
        assert trial.replicate == looks[trial.node]


def test_asking_for_several_is_asking_one_after_the_other() -> None:
    one, many = make_study(), make_study()
    play(one, 7)
    play(many, 7)
    singles = [one.ask() for _ in range(5)]
    assert many.ask(5) == singles
    assert len({trial.region for trial in singles}) > 1  # they spread
    assert fingerprint(one) == fingerprint(many)


def test_asking_for_one_in_a_list_is_a_list() -> None:
    study = make_study()
    (trial,) = study.ask(1)
    assert isinstance(trial, zn.Trial)
    assert isinstance(study.ask(), zn.Trial)


# Observing.


def test_an_observation_of_a_node_counts_for_the_belief_only() -> None:
    study = make_study()
    play(study, 3)
    before = study.tree
    child = study.space.cell((1, 1))
    study.observe(child, 0.8, sem=0.05)
    after = study.tree
    np.testing.assert_array_equal(after.count, before.count)
    np.testing.assert_array_equal(after.expanded, before.expanded)
    assert len(after) == len(before)
    assert (study.measured, study.remaining, len(study.trials), study.pending) == (3, 57, 3, ())
    told = [(trial.region, float(trial.value or 0), NOISE) for trial in study.trials]
    regions = [study.space.cell(node) for node in table_of(study)]
    mean, std = dense([*told, (child, 0.8, 0.05)], regions)
    np.testing.assert_allclose(after.mean, mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(after.std, std, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "bounds",
    [[(0.1, 0.35)], [(0.5, 0.5)], [(0.0, 1.0)], [(0.25, 0.5)]],
    ids=["any", "point", "root", "later a node"],
)
def test_any_region_may_be_observed(bounds: list[tuple[float, float]]) -> None:
    study = make_study()
    region = study.space.region(bounds)
    study.observe(bounds, 0.8, sem=0.2)
    study.observe(region, 0.6, sem=0.1)
    play(study, 12)
    study.observe(bounds, 0.7)
    measured = [(trial.region, float(trial.value or 0), NOISE) for trial in study.trials]
    measured += [(region, 0.8, 0.2), (region, 0.6, 0.1), (region, 0.7, NOISE)]
    regions = [study.space.cell(node) for node in table_of(study)]
    assert len(regions) > 10
    mean, std = dense(measured, regions)
    np.testing.assert_allclose(study.tree.mean, mean, rtol=0, atol=1e-11)
    np.testing.assert_allclose(study.tree.std, std, rtol=0, atol=1e-11)
    mean, std = dense(measured, [region])
    assert study.predict(region) == pytest.approx((mean[0], std[0]), abs=1e-11)


def test_a_node_may_be_observed_by_its_bounds_or_as_a_region() -> None:
    by_bounds, by_region = make_study(), make_study()
    for study in (by_bounds, by_region):
        play(study, 5)
    cell = by_bounds.space.cell((1, 0))
    by_bounds.observe(cell.bounds, 0.4)
    by_region.observe(cell, 0.4)
    np.testing.assert_allclose(by_bounds.tree.mean, by_region.tree.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_bounds.tree.std, by_region.tree.std, rtol=0, atol=1e-12)


def test_observations_make_the_search_avoid_what_is_known() -> None:
    study = make_study()
    study.tell(study.ask(), 0.0)
    for _ in range(30):
        study.observe(study.space.cell((1, 0)), -1.0)
    assert study.ask().node == (1, 1)


def test_an_observation_uses_the_noise_of_its_region_unless_told_otherwise() -> None:
    study = make_study(noise=lambda region: 0.5 - 0.4 * float(region.widths[0]))
    region = study.space.region([(0.0, 0.5)])
    study.observe(region, 1.0)
    mean, std = dense([(region, 1.0, 0.3)], [region])
    assert study.predict(region) == pytest.approx((mean[0], std[0]), abs=1e-12)


# Telling.


def test_a_trial_may_be_told_by_its_number() -> None:
    one, other = make_study(), make_study()
    for study in (one, other):
        study.ask(3)
    for number in (2, 0, 1):
        one.tell(number, 0.1 * number)
        other.tell(other.trials[number].number, 0.1 * number)
    assert fingerprint(one) == fingerprint(other)
    one.ask()
    one.tell(np.int64(3), 0.5)  # type: ignore[arg-type]
    assert one.measured == 4


def test_a_trial_that_has_travelled_may_be_told() -> None:
    study = make_study()
    trial = pickle.loads(pickle.dumps(study.ask()))
    study.tell(trial, 0.5)
    assert study.measured == 1


def test_a_record_from_the_list_of_trials_may_be_told_and_given_up() -> None:
    study = make_study()
    study.ask(2)
    study.tell(study.trials[0], 0.5)
    study.fail(study.trials[1])
    assert [trial.state for trial in study.trials] == ["measured", "failed"]


@examples(30)
@given(
    looks=st.lists(
        st.tuples(st.floats(-3, 3), st.none() | st.floats(0.02, 3)),
        min_size=1,
        max_size=25,
    )
)
def test_looks_with_different_noise_combine_by_precision(looks: list[tuple[float, float | None]]) -> None:
    study = make_study(policy=zn.GPOO(delta=zn.GeometricDelta(1e-3), h_max=3))  # never splits
    measured = []
    for value, sem in looks:
        trial = study.ask()
        study.tell(trial, value, sem=sem)
        measured.append((trial.region, value, NOISE if sem is None else sem))
    regions = [study.space.cell((0, 0)), study.space.region([(0.6, 0.7)])]
    mean, std = dense(measured, regions)
    predicted = study.predict(regions)
    np.testing.assert_allclose(predicted.mean, mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(predicted.std, std, rtol=0, atol=1e-10)
    precision = sum(sem**-2 for _, _, sem in measured)
    assert study.tree.std[0] <= (1 + 1e-12) / math.sqrt(precision)


@examples(20)
@given(seed=st.integers(0, 10**6), variance=st.sampled_from([VARIANCE, 1e4]))
def test_no_node_is_less_certain_than_its_own_measurements_make_it(seed: int, variance: float) -> None:
    rng = np.random.default_rng(seed)
    study = make_study(
        kernel=zn.RBF(variance, float(rng.uniform(0.05, 2))),
        policy=zn.GPOO(delta=zn.GeometricDelta(6 * math.sqrt(variance)), h_max=5),
    )
    precision: Counter[Node] = Counter()
    for _ in range(25):
        trial = study.ask()
        sem = float(10 ** rng.uniform(-3, 1))
        study.tell(trial, float(rng.normal()), sem=sem)
        precision[trial.node] += sem**-2  # type: ignore[assignment]
        if rng.random() < 0.3:
            study.observe(study.space.cell(trial.node), float(rng.normal()))
            precision[trial.node] += NOISE**-2  # type: ignore[assignment]
        table = table_of(study)
        assert all(table[node][1] <= (1 + 1e-12) / math.sqrt(p) for node, p in precision.items())


def test_values_may_be_any_kind_of_number() -> None:
    study = make_study()
    for value in (1, np.float32(0.5), np.int64(2), np.array(0.25)):
        study.tell(study.ask(), value)  # type: ignore[arg-type]
    assert [trial.value for trial in study.trials] == [1, 0.5, 2, 0.25]
    assert all(type(trial.value) is float for trial in study.trials)


# The budget.


@examples(60)
@given(
    steps=st.lists(
        st.sampled_from(["ask", "ask 2", "tell", "give up", "impossible", "extend", "observe"]), max_size=40
    )
)
def test_the_budget_is_exact(steps: list[str]) -> None:
    study = make_study(budget=5, policy=zn.GPOO(delta=zn.GeometricDelta(2, 0.5), h_max=2))
    asked = told = lost = 0
    budget = 5
    for step in steps:
        pending = study.pending
        if step.startswith("ask"):
            n = 2 if step == "ask 2" else 1
            try:
                study.ask(n)
                asked += n
            except zn.BudgetSpent:
                assert asked - lost + n > budget
            except zn.Exhausted:
                assert asked - lost + n <= budget
        elif step == "extend":
            study.extend(3)
            budget += 3
        elif step == "observe":
            study.observe([(0.3, 0.6)], 0.5)
        elif pending:
            if step == "tell":
                study.tell(pending[0], 0.5)
                told += 1
            else:
                study.fail(pending[-1], retry=step == "give up")
                lost += 1
        assert study.measured == told
        assert len(study.pending) == asked - told - lost
        assert study.budget == budget
        assert study.remaining == budget - (asked - lost)
        assert 0 <= asked - lost <= budget
        assert study.tree.count.sum() == told
        states = Counter(trial.state for trial in study.trials)
        assert states == Counter({"measured": told, "failed": lost, "pending": asked - told - lost})


def test_giving_up_refunds_and_extending_adds() -> None:
    study = make_study(budget=2)
    trials = study.ask(2)
    assert study.remaining == 0
    study.fail(trials[0])
    assert study.remaining == 1
    study.tell(study.ask(), 0.1)
    with pytest.raises(zn.BudgetSpent):
        study.ask()
    study.extend(2)
    assert (study.budget, study.remaining) == (4, 2)
    assert len(study.ask(2)) == 2


# Looks.


@examples(25)
@given(max_replicates=st.integers(1, 3), batch=st.integers(1, 4), arity=st.integers(2, 3), d=st.integers(1, 2))
def test_no_region_is_looked_at_more_than_max_looks(max_replicates: int, batch: int, arity: int, d: int) -> None:
    policy = zn.GPOO(delta=zn.GeometricDelta(0.05, 0.5), h_max=4)  # would look often
    study = make_study(zn.Box([(0, 1)] * d, arity=arity), max_replicates=max_replicates, policy=policy)
    for _ in range(40 // batch):
        study.ask(batch)
        looks = Counter(trial.node for trial in study.trials)
        assert max(looks.values()) <= max_replicates
        for trial in study.pending[::2]:  # some stay pending
            study.tell(trial, wave(trial.region))
    assert study.tree.count.max() == max_replicates


def test_a_region_with_its_looks_used_up_is_split_when_it_would_win() -> None:
    never = zn.GPOO(delta=zn.GeometricDelta(1e-6), h_max=3)
    study = make_study(max_replicates=2, policy=never)
    nodes = play(study, 10, lambda region: float(region.center[0] < 0.5))
    assert nodes[:2] == [(0, 0)] * 2
    assert nodes[2:5] == [(1, 0), (1, 0), (2, 0)]  # not (1, 1), though it was never looked at
    without = make_study(policy=never)
    assert set(play(without, 10)) == {(0, 0)}  # without a limit it is never split


def test_looks_under_way_count_as_looks() -> None:
    study = make_study(max_replicates=1, policy=zn.GPOO(delta=zn.GeometricDelta(1e-6), h_max=3))
    assert [trial.node for trial in study.ask(3)] == [(0, 0), (1, 0), (1, 1)]
    study.fail(1)
    assert study.ask().node == (1, 0)  # may be looked at again


def test_a_region_split_by_force_may_be_recommended_once_told() -> None:
    study = make_study(max_replicates=1, policy=zn.GPOO(delta=zn.GeometricDelta(1e-6), h_max=1))
    root, left, right = study.ask(3)
    study.tell(left, 0.1)
    study.tell(root, 0.2)
    study.tell(right, 0.9)
    study.ask()  # splits the better child
    assert study.recommend().node == (1, 1)


def test_exhaustion_says_why() -> None:
    study = make_study(max_replicates=1, policy=zn.GPOO(delta=zn.GeometricDelta(2), h_max=0))
    assert play(study, 3) == [(0, 0), (1, 0), (1, 1)]
    before = fingerprint(study)
    with pytest.raises(zn.Exhausted, match=r"max_replicates=1.*Raise max_replicates") as caught:
        study.ask()
    assert "failed" not in str(caught.value)
    assert fingerprint(study) == before
    assert study.recommend().node == (0, 0)

    study = make_study(zn.Box([(0, 1)], smallest=0.5), max_replicates=2)
    for trial in study.ask(2):
        study.tell(trial, 0.1)
    study.fail(study.ask(), retry=False)
    study.tell(study.ask(), 0.1)
    study.tell(study.ask(), 0.1)
    with pytest.raises(zn.Exhausted, match=r"max_replicates=2.*1 are impossible.*smallest"):
        study.ask()


# Giving up.


def test_a_region_given_up_may_be_asked_for_again() -> None:
    study = make_study()
    trial = study.ask()
    study.fail(trial)
    again = study.ask()
    assert (again.number, again.node, again.replicate) == (1, (0, 0), 1)


def test_a_region_that_cannot_be_measured_is_never_asked_for_again_but_its_children_are() -> None:
    study = make_study()
    study.fail(study.ask(), retry=False)
    nodes = play(study, 20)
    assert (0, 0) not in nodes
    assert set(nodes[:2]) == {(1, 0), (1, 1)}
    assert study.remaining == 40
    bad = study.ask()
    study.fail(bad, retry=False)
    assert bad.node not in play(study, 20)


def test_a_region_that_cannot_be_measured_is_not_recommended_unless_it_was() -> None:
    study = make_study()
    study.fail(study.ask(), retry=False)
    assert study.tree.first_child[0] == 1
    assert not study.tree.expanded[0]
    study.fail(study.ask(), retry=False)
    assert study.recommend().node == (0, 0)  # for want of anything measured
    study = make_study()
    one, two, three = study.ask(3)
    study.tell(one, 0.5)
    study.fail(two, retry=False)
    study.tell(three, 0.7)  # still pending when the other was failed
    assert study.recommend().node == (0, 0)
    assert study.tree.count[0] == 2


def test_three_give_ups_in_a_row_mean_that_a_region_cannot_be_measured(caplog: pytest.LogCaptureFixture) -> None:
    study = make_study()
    for _ in range(2):
        trial = study.ask()
        assert trial.node == (0, 0)
        study.fail(trial)
    with caplog.at_level(logging.WARNING, logger="zonal"):
        study.fail(study.ask())
    assert "x 0..1 failed 3 times in a row" in caplog.text
    assert study.ask().node == (1, 0)
    assert not study.tree.askable[0]


def test_who_listens_hears_one_line_a_measurement(caplog: pytest.LogCaptureFixture) -> None:
    study = make_study(value_unit="K")
    with caplog.at_level(logging.WARNING, logger="zonal"):
        play(study, 2)
    assert caplog.records == []
    with caplog.at_level(logging.INFO, logger="zonal"):
        trial = study.ask()
        study.tell(trial, 0.123456789)
        study.tell(trial, 0.123456789)  # which changes nothing
        study.observe([(0, 0.25)], 2.0)
    first, second = [record.getMessage() for record in caplog.records]
    assert first.startswith(f"trial 2, {trial.region.name}: 0.123457 K; best so far x ")
    assert second.startswith("observed, x 0..0.25: 2 K; best so far x ")
    assert second.endswith(f"{zonal.study.summary.best_so_far(study)}")
    assert " ± " in second
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_a_measurement_in_between_forgives_give_ups() -> None:
    study = make_study(policy=zn.GPOO(delta=zn.GeometricDelta(1e-6), h_max=3))  # stays at the root
    for _ in range(4):
        study.fail(study.ask())
        study.fail(study.ask())
        trial = study.ask()
        assert trial.node == (0, 0)
        study.tell(trial, 0.5)


@pytest.mark.parametrize("retry", [True, False])
def test_a_root_that_always_fails_gives_way_to_its_children(retry: bool) -> None:
    study = make_study(budget=10)
    steps = 0
    while study.remaining:
        trial = study.ask()
        if trial.node == (0, 0):
            study.fail(trial, retry=retry)
        else:
            study.tell(trial, wave(trial.region))
        steps += 1
        assert steps <= 13
    assert study.measured == 10


def test_a_smallest_region_that_always_fails_does_not_hold_up_the_others() -> None:
    study = make_study(zn.Box([(0, 1)], smallest=0.25), budget=30)
    failures = 0
    while study.remaining:
        trial = study.ask()
        if trial.node == (2, 1):
            study.fail(trial)
            failures += 1
        else:
            study.tell(trial, 1.0 if trial.region.bounds[0, 0] <= 0.3 <= trial.region.bounds[0, 1] else 0.0)
    assert failures == 3
    assert study.recommend().node != (2, 1)


@pytest.mark.parametrize("retry", [True, False])
@pytest.mark.parametrize("space", [zn.Box([(0, 1)]), zn.Box([(0, 1), (0, 1)], arity=3, smallest=0.3)])
def test_if_everything_fails_the_search_ends(retry: bool, space: zn.Box) -> None:
    study = make_study(space, policy=zn.GPOO(delta=zn.GeometricDelta(2), h_max=2))
    regions = 15 if space.arity == 2 else 13
    looks: Counter[Node] = Counter()

    def fail_always() -> None:
        while sum(looks.values()) < 1000:
            trial = study.ask()
            looks[trial.node] += 1
            study.fail(trial, retry=retry)

    with pytest.raises(zn.Exhausted, match=f"{regions} are impossible"):
        fail_always()
    assert len(looks) == regions
    assert looks.pop((0, 0)) == (3 if retry else 1)
    assert set(looks.values()) == {1}  # within a region that cannot be measured one failure is enough
    assert study.remaining == study.budget
    assert study.recommend().node == (0, 0)


# Directions, shifts and scales.


@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(3), zn.Mean()])
@pytest.mark.parametrize("prior_mean", [0.0, 2.5])
def test_minimising_f_is_maximising_minus_f(feedback: Feedback, prior_mean: float) -> None:
    up = make_study([(0, 1), (0, 1)], feedback=feedback, mean=-prior_mean)
    down = make_study([(0, 1), (0, 1)], feedback=feedback, mean=prior_mean, direction="minimize")
    for study, sign in ((up, 1), (down, -1)):
        study.observe([(0.2, 0.4), (0, 1)], sign * 0.4)
        play(study, 30, lambda region, sign=sign: sign * wave(region))  # type: ignore[misc]
        study.ask(3)
    assert [trial.node for trial in up.trials] == [trial.node for trial in down.trials]
    np.testing.assert_array_equal(up.tree.mean, -down.tree.mean)
    np.testing.assert_array_equal(up.tree.std, down.tree.std)
    high, low = up.recommend(), down.recommend()
    assert (high.node, high.mean, high.std) == (low.node, -low.mean, low.std)
    region = up.space.region([(0.1, 0.2), (0.3, 0.5)])
    assert up.predict(region).mean == -down.predict(region).mean
    assert [trial.value for trial in down.trials[:30]] == [-(trial.value or 0) for trial in up.trials[:30]]


def test_minimising_finds_the_low_region() -> None:
    study = make_study(zn.Box([(0, 1)], smallest=1 / 16), direction="minimize", mean=1.0)
    assert study.recommend().mean == 1.0  # the prior mean, in the user's units
    result = study.optimize(lambda region: 1 + (float(region.center[0]) - 0.7) ** 2)
    assert 0.6 < result.x[0] < 0.8
    assert result.mean == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("shift", [1e6, -1e6, 3.7, 1e-3])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_shifting_the_prior_mean_and_the_rewards_together_changes_nothing(shift: float, direction: str) -> None:
    here, there = make_study(direction=direction), make_study(direction=direction, mean=shift)
    here.observe([(0.2, 0.3)], 0.5)
    there.observe([(0.2, 0.3)], 0.5 + shift)
    nodes = play(here, 60)
    assert play(there, 60, lambda region: wave(region) + shift) == nodes
    assert len(set(nodes)) > 10
    np.testing.assert_allclose(there.tree.mean - shift, here.tree.mean, rtol=0, atol=1e-9 + 1e-15 * abs(shift))
    np.testing.assert_allclose(there.tree.std, here.tree.std, rtol=1e-12)
    assert there.recommend().node == here.recommend().node


@pytest.mark.parametrize("scale", [1e-6, 0.3, 7.0, 1e6])
@pytest.mark.parametrize("delta", [None, zn.GeometricDelta(2, 0.5)])
def test_scaling_all_values_together_changes_nothing(scale: float, delta: Callable[[int], float] | None) -> None:
    def study(scale: float) -> zn.Study:
        return make_study(
            kernel=zn.RBF(VARIANCE * scale**2, LENGTHSCALE),
            noise=NOISE * scale,
            mean=0.2 * scale,
            policy=zn.GPOO(delta=zn.LipschitzDelta() if delta is None else lambda h: scale * delta(h), h_max=5),
        )

    one, other = study(1.0), study(scale)
    nodes = play(one, 60)
    assert play(other, 60, lambda region: scale * wave(region)) == nodes
    assert len(set(nodes)) > 10
    np.testing.assert_allclose(other.tree.mean / scale, one.tree.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(other.tree.std / scale, one.tree.std, rtol=0, atol=1e-10)
    assert other.recommend().node == one.recommend().node


def test_native_units_change_nothing() -> None:
    unit = make_study([(0, 1), (0, 1)], kernel=zn.RBF(VARIANCE, [0.2, 0.4]))
    sky = make_study({"l": (-180, 180), "sin_b": (-1, 1)}, kernel=zn.RBF(VARIANCE, [72, 0.8]))

    def f(region: zn.Region) -> float:
        assert isinstance(region.space, zn.Box)
        low, high = np.array(region.space.bounds).T
        return math.sin(7 * float(((region.center - low) / (high - low)).sum()))

    assert play(unit, 40, f) == play(sky, 40, f)
    np.testing.assert_allclose(sky.tree.mean, unit.tree.mean, rtol=0, atol=1e-11)


# The smallest region.


@examples(40)
@given(data=st.data())
def test_nothing_is_asked_split_or_recommended_below_smallest(data: st.DataObject) -> None:
    d = data.draw(st.integers(1, 3))
    arity = data.draw(st.integers(2, 4))
    names = ["a", "b", "c"][:d]
    sides = [1.0, 360.0, 0.1][:d]
    axes = {name: (0.0, side) for name, side in zip(names, sides, strict=True)}
    shares = data.draw(st.lists(st.floats(0.01, 1), min_size=d, max_size=d))
    least = [share * side for share, side in zip(shares, sides, strict=True)]
    form = data.draw(st.sampled_from(["number", "list", "names"]))
    smallest: Any = least if form == "list" else dict(zip(names, least, strict=True))
    if form == "number":
        least = [min(least)] * d
        smallest = least[0]
        if smallest > min(sides):
            least = [min(sides)] * d
            smallest = least[0]
    space = zn.Box(axes, arity=arity, smallest=smallest)
    study = make_study(
        space,
        kernel=zn.RBF(VARIANCE, [0.3 * side for side in sides]),
        feedback=zn.Center(),
        max_replicates=data.draw(st.sampled_from([None, 2])),
        policy=zn.GPOO(delta=zn.GeometricDelta(data.draw(st.sampled_from([0.05, 5])), 0.7), h_max=6),
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    regions = []
    for _ in range(40):
        try:
            trial = study.ask()
        except zn.Exhausted:
            break
        if rng.random() < 0.1:
            study.fail(trial, retry=False)
        else:
            study.tell(trial, float(rng.normal()))
        regions += [trial.region, study.recommend().region]
    regions += [space.cell(node) for node in table_of(study)]
    assert space.smallest is not None
    for region in regions:
        assert (region.widths >= np.array(space.smallest) * (1 - 1e-9)).all()


def test_a_smallest_region_that_passes_line_6_counts_as_expanded_and_stays_askable() -> None:
    study = make_study(zn.Box([(0, 1)], smallest=0.5), budget=30)
    assert play(study, 3, lambda region: 0.5) == [(0, 0), (1, 0), (1, 1)]
    tree = study.tree
    assert len(tree) == 3
    assert tree.expanded.tolist() == [True, True, True]
    assert tree.askable.tolist() == [False, True, True]
    assert tree.first_child.tolist() == [1, -1, -1]
    best = study.recommend()
    assert (best.node, best.mean) == ((1, 0), tree.mean[1])
    assert Counter(play(study, 27, lambda region: 0.5)) == {(1, 0): 14, (1, 1): 13}


def test_a_space_that_may_not_be_split_at_all_is_measured_as_one() -> None:
    study = make_study(zn.Box([(0, 1)], smallest=1), budget=5)
    assert play(study, 5) == [(0, 0)] * 5
    assert study.tree.expanded.tolist() == [True]
    assert study.recommend().node == (0, 0)


def test_the_search_ends_in_smallest_regions() -> None:
    study = make_study(zn.Box([(0, 1)], smallest=1 / 8), budget=60)
    study.optimize(lambda region: -((float(region.center[0]) - 0.3) ** 2))
    best = study.recommend()
    assert best.node == (3, 2)
    assert best.region.widths[0] == 1 / 8


# Recommending.


# Predicting.


# Noise as a function of the region.


def test_noise_may_be_a_function_of_the_region() -> None:
    study = make_study(noise=zn.PerWeight(0.1))
    play(study, 10)
    tree = study.tree
    np.testing.assert_allclose(tree.noise, 0.1 / np.sqrt(0.5**tree.depth))
    measured = [
        (trial.region, float(trial.value or 0), 0.1 / math.sqrt(trial.region.weight)) for trial in study.trials
    ]
    mean, std = dense(measured, [study.space.cell(node) for node in table_of(study)])
    np.testing.assert_allclose(tree.mean, mean, rtol=0, atol=1e-11)
    np.testing.assert_allclose(tree.std, std, rtol=0, atol=1e-11)


def test_the_noise_of_a_region_is_asked_for_once() -> None:
    asked: Counter[Node | None] = Counter()

    def noise(region: zn.Region) -> float:
        asked[region.node] += 1
        return 0.1

    study = make_study(noise=noise)
    play(study, 30)
    assert set(asked.values()) == {1}
    assert set(table_of(study)) <= set(asked)


def test_a_warning_turned_into_an_error_leaves_the_study_whole() -> None:
    flat = zn.RBF(1.0, 1e9)  # one exact value fixes all others
    study = make_study(kernel=flat, noise=1e-12, feedback=zn.Center())
    study.tell(study.ask(), 0.0)
    trial = study.ask()
    with pytest.raises(zn.NumericalWarning):  # warnings are errors here, as they may be for users
        study.tell(trial, 5.0)
    if trial in study.pending:
        study.fail(trial)
    assert study.tree.count.sum() == study.measured
    play(study, 2, lambda region: 0.0)


def test_a_warning_comes_with_the_measurement_that_it_is_about() -> None:
    flat = zn.RBF(1.0, 1e9)  # one exact value fixes all others
    study = make_study(kernel=flat, noise=1e-12, feedback=zn.Center())
    study.tell(study.ask(), 0.0)
    with pytest.warns(zn.NumericalWarning, match="5 from the prior mean was ignored"):
        study.observe([(0.3, 0.4)], 5.0)
    study.recommend()
    study.ask()  # and never again


def test_a_repeat_that_contradicts_one_nearly_without_noise_is_refused() -> None:
    study = make_study(noise=1e-12)
    first, second = study.ask(2)
    assert first.node == second.node
    study.tell(first, 0.0)
    with pytest.raises(zn.InvalidInput, match="contradicts an earlier one of the same region, which was 0"):
        study.tell(second, 5.0)
    study.tell(second, 0.0)


def test_measurements_without_noise_are_believed() -> None:
    study = make_study(noise=0.0, kernel=zn.Matern(VARIANCE, LENGTHSCALE))
    play(study, 25)
    table = table_of(study)
    for trial in study.trials:
        mean, std = table[trial.node]
        assert mean == pytest.approx(trial.value, abs=1e-6)
        assert std <= 1e-6


# All together.


@examples(40)
@given(seed=st.integers(0, 10**9))
def test_after_any_history_the_table_and_the_next_choice_are_those_of_a_dense_computation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, arity, h_max = int(rng.integers(1, 3)), int(rng.integers(2, 4)), int(rng.integers(1, 5))
    c, rho, theta = float(10 ** rng.uniform(-1, 1)), float(rng.uniform(0.4, 0.9)), float(rng.uniform(0.01, 0.9))
    sign, mean = float(rng.choice([-1, 1])), float(rng.normal())
    sides = rng.uniform(0.5, 2, d)
    study = make_study(
        zn.Box([(-1, side - 1) for side in sides], arity=arity, smallest=0.2 if rng.random() < 0.5 else None),
        noise=lambda region: 0.05 + 0.1 * float(region.widths[0]),
        mean=mean,
        direction="maximize" if sign > 0 else "minimize",
        max_replicates=2 if rng.random() < 0.5 else None,
        policy=zn.GPOO(delta=lambda h: c * rho**h, theta=theta, h_max=h_max),
    )
    measured: list[tuple[zn.Region, float, float]] = []

    def looked(region: zn.Region, value: float = 0.0) -> tuple[zn.Region, float, float]:
        return region, value, 0.05 + 0.1 * float(region.widths[0])

    def believed(pending: list[tuple[zn.Region, float, float]]) -> tuple[Array, Array]:
        return dense(measured + pending, [study.space.cell(node) for node in table_of(study)], mean)

    for _ in range(25):
        step, value = (
            rng.choice(["ask", "tell", "give up", "observe"], p=[0.45, 0.4, 0.05, 0.1]),
            float(rng.normal()),
        )
        pending = study.pending
        tree = study.tree
        if step == "ask" and tree.askable.any():
            chosen = study.ask().node
            tree = study.tree  # grown by leaves that won with their looks used up
            means, _ = believed([])
            _, stds = believed([looked(trial.region) for trial in pending])
            beta = oracle.beta(study.measured + len(pending) + 1, arity, h_max, theta)
            row = list(table_of(study)).index(chosen)
            able = tree.askable.copy()
            able[row] = True
            b = np.where(able, sign * means + math.sqrt(beta) * stds + c * rho**tree.depth, -np.inf)
            assert b[row] == pytest.approx(b.max(), abs=1e-8)
        elif step == "tell" and pending:
            trial = pending[int(rng.integers(len(pending)))]
            study.tell(trial, value)
            measured.append(looked(trial.region, value))
        elif step == "give up" and pending:
            study.fail(pending[0], retry=bool(rng.random() < 0.5))
        elif step == "observe":
            low = rng.uniform(0, sides) - 1
            region = study.space.region(np.stack([low, rng.uniform(low, sides - 1)], axis=1))
            study.observe(region, value)
            measured.append(looked(region, value))
        means, stds = believed([])
        np.testing.assert_allclose(study.tree.mean, means, rtol=0, atol=1e-9)
        np.testing.assert_allclose(study.tree.std, stds, rtol=0, atol=1e-9)


# The study as a thing.


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda study: pickle.loads(pickle.dumps(study))])
@pytest.mark.parametrize("feedback", [zn.Average(3), zn.Mean(), zn.Average(20)])
def test_a_copy_goes_on_as_the_original_does(
    duplicate: Callable[[zn.Study], zn.Study], feedback: Feedback
) -> None:
    study = make_study(feedback=feedback, max_replicates=3, budget=200)
    play(study, 25)
    study.observe([(0.1, 0.2)], 0.5)
    study.fail(study.ask())
    study.ask(3)
    twin = duplicate(study)
    assert fingerprint(twin) == fingerprint(study)
    untouched = fingerprint(study)
    twin.tell(twin.pending[0], 0.3)
    nodes = play(twin, 60)
    assert fingerprint(study) == untouched  # nothing is shared
    study.tell(study.pending[0], 0.3)
    assert play(study, 60) == nodes
    assert fingerprint(study) == fingerprint(twin)


def test_the_same_study_walks_the_same_way_twice() -> None:
    one, two = make_study(), make_study()
    assert play(one, 60) == play(two, 60)
    assert fingerprint(one) == fingerprint(two)


def test_no_child_is_forgotten_whatever_the_arity() -> None:
    for arity in (2, 3, 4, 5):
        study = make_study(
            zn.Box([(0, 1)], arity=arity), policy=zn.GPOO(delta=zn.GeometricDelta(50, 0.9), h_max=3)
        )
        nodes = play(study, 1 + arity)
        assert set(nodes[1:]) == {(1, i) for i in range(arity)}


@pytest.mark.parametrize("kernel", [zn.RBF(1, 0.2), zn.Matern(1, 0.2, nu=0.5), zn.RBF(1, 2) + zn.Matern(0.1, 0.1)])
@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(4), zn.Mean()])
def test_a_search_goes_all_the_way_with_any_kernel_and_feedback(kernel: Kernel, feedback: Feedback) -> None:
    study = make_study([(0, 1), (0, 1)], kernel=kernel, feedback=feedback, budget=40)
    result = study.optimize(wave)
    assert result.nfev == 40
    assert np.isfinite(study.tree.mean).all()
    assert (study.tree.std > 0).all()


def test_the_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(zonal.study).failed == 0


def test_a_region_observed_before_it_is_a_node_is_the_same_region() -> None:
    study = make_study(noise=0.0, feedback=zn.Center())
    half = [tuple(edge) for edge in study.space.cell((1, 0)).bounds.tolist()]
    study.observe(half, 0.5)
    study.tell(study.ask(), 0.2)
    assert (study.tree.depth == 1).sum() == study.space.arity
    assert study.predict(half).mean == pytest.approx(0.5)
    assert study.tree.mean[1] == pytest.approx(0.5)
    trial = study.ask()
    while trial.node != (1, 0):
        study.tell(trial, 0.1)
        trial = study.ask()
    with pytest.raises(zn.InvalidInput, match="contradicts"):
        study.tell(trial, 0.9)
    study.tell(trial, 0.5)
    study.observe(half, 0.5)


def test_a_noise_that_fails_while_a_batch_is_asked_for_leaves_no_trial_behind() -> None:
    allowed = [True]

    def noise(region: zn.Region) -> float:
        if not allowed[0]:
            raise RuntimeError("too small")
        return 0.1

    study = zn.Study([(0, 1)], budget=40, kernel=zn.RBF(0.1, 0.05), noise=noise, policy=zn.GPTree())
    allowed[0] = False  # GPTree splits nodes as it is asked
    with pytest.raises(RuntimeError, match="too small"):
        study.ask(3)
    assert study.pending == ()
    assert study.trials == []
    allowed[0] = True
    assert len(study.ask(3)) == 3
