"""The default policy on every kind of space, at small budgets, in batches, and where not all may be asked for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import zonal as zn
from kinds import KINDS
from zonal.policies.base import PolicyContext, RngFactory, Views
from zonal.policies.knowledge_gradient import BoundKnowledgeGradient
from zonal.tree import Tree

pytestmark = pytest.mark.one_in(2)

GIVEN: dict[str, Any] = {"kernel": zn.RBF(0.5, 0.15), "noise": 0.1}
given_or_learned = pytest.mark.parametrize("model", [GIVEN, {}], ids=["given", "learned"])


def wave(region: zn.Region) -> float:
    return math.sin(7 * float(region.center.sum())) + 0.3 * float(region.center[0])


def tell(study: zn.Study, number: int, measure: Callable[[zn.Region], float] = wave) -> list[zn.Trial]:
    asked = []
    for _ in range(number):
        trial = study.ask()
        asked.append(trial)
        study.tell(trial, measure(trial.region))
    return asked


def smallest_nodes(study: zn.Study) -> set[tuple[int, int]]:
    tree = study.tree
    return set(zip(tree.depth[tree.smallest].tolist(), tree.index[tree.smallest].tolist(), strict=True))


def test_it_is_the_default() -> None:
    by_name, by_default = (
        zn.Study([(0, 1)], budget=12, policy=policy) for policy in (zn.KnowledgeGradient(), None)
    )
    assert [t.node for t in tell(by_name, 12)] == [t.node for t in tell(by_default, 12)]


@pytest.mark.parametrize("depths", ["deepest", "Any", None, 3, ""], ids=repr)
def test_depths_that_mean_nothing_are_refused(depths: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="depths must be 'any' or 'smallest'"):
        zn.KnowledgeGradient(depths=depths)


def test_after_the_opening_only_smallest_regions_are_asked_for_if_that_is_wanted() -> None:
    study = zn.Study([(0, 1)], budget=30, policy=zn.KnowledgeGradient(depths="smallest"))
    nodes = [trial.node for trial in tell(study, 30)]
    opening = next(k for k, node in enumerate(nodes) if node[0] != nodes[0][0])
    assert opening <= 12
    # The guard, which follows rewards down the tree, may look at what lies between.
    assert sum(node in smallest_nodes(study) for node in nodes[opening:]) >= 2 * (30 - opening) // 3
    given = zn.Study([(0, 1)], budget=30, policy=zn.KnowledgeGradient(depths="smallest"), **GIVEN)
    nodes = [trial.node for trial in tell(given, 30)]
    opening = next(k for k, node in enumerate(nodes) if node[0] != nodes[0][0])
    assert all(node in smallest_nodes(given) for node in nodes[opening:])


def flat(region: zn.Region) -> float:
    return 0.1 * float(np.random.default_rng(region.node).normal())


def test_while_nothing_stands_out_regions_are_measured_after_their_parents() -> None:
    nodes = [trial.node for trial in tell(zn.Study([(0, 1)], budget=30), 30, flat)]
    steps = [(depth - 1, index // 2) in nodes[:k] for k, (depth, index) in enumerate(nodes) if k >= 8]
    assert sum(steps) >= 18  # of 22; a run of luck may stand out for a while
    assert all(steps[:4])


# Sizes.


@pytest.mark.one_in(3)
@given_or_learned
@pytest.mark.parametrize(("d", "parts"), [(1, 256), (2, 32), (3, 16), (4, 8)])
def test_from_the_first_reward_on_what_is_recommended_is_of_the_smallest_size(
    d: int, parts: int, model: dict[str, Any]
) -> None:
    study = zn.Study([(0, 1)] * d, budget=8, feedback=zn.Average(2), **model)
    for _ in range(4):
        tell(study, 1)
        assert study.recommend(on_grid=True).region.widths == pytest.approx(np.full(d, 1 / parts))
        assert study.recommend(on_grid=True).node in smallest_nodes(study)


def test_a_smallest_size_of_ones_own_is_kept() -> None:
    study = zn.Study(zn.Box([(0, 1), (0, 9)], smallest=[0.1, 2.0]), budget=10)
    for trial in tell(study, 10):
        assert (trial.region.widths >= [0.1, 2.0]).all()
    assert study.recommend(on_grid=True).region.widths == pytest.approx([0.125, 2.25])


def test_what_is_recommended_has_the_highest_mean_of_all_smallest_regions() -> None:
    study = zn.Study([(0, 1)], budget=20, **GIVEN)
    tell(study, 20)
    cells = [study.space.cell((8, index)) for index in range(256)]
    assert study.recommend(on_grid=True).mean == pytest.approx(study.predict(cells).mean.max(), abs=1e-8)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5, 10])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
def test_boxes_of_one_to_six_axes_are_searched_with_any_budget(d: int, budget: int) -> None:
    result = zn.maximize(wave, [(0, 1)] * d, budget)
    assert result.success
    assert result.nfev == budget
    assert np.isfinite([result.mean, result.std, result.gap, result.probability_best]).all()
    assert result.gap >= 0
    assert 0 <= result.probability_best <= 1


@pytest.mark.one_in(7)
@pytest.mark.parametrize("budget", [3, 4, 5, 10])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_space_is_searched_with_any_budget(name: str, budget: int) -> None:
    heights: dict[Any, float] = {}
    rng = np.random.default_rng(0)
    study = zn.Study(KINDS[name].space, budget=budget)
    result = study.optimize(lambda region: heights.setdefault(region.key, float(rng.normal())))
    assert study.measured == budget
    assert np.isfinite([result.mean, result.std, result.gap]).all()
    assert study.recommend(on_grid=True).node in smallest_nodes(study)
    assert Counter(trial.node for trial in study.trials).most_common(1)[0][1] <= max(3, budget - 2)


# Batches.


@pytest.mark.one_in(3)
@given_or_learned
@pytest.mark.parametrize("told", [0, 1, 4, 17])
@pytest.mark.parametrize("d", [1, 2])
def test_a_batch_looks_at_different_regions_and_never_at_the_whole_space(
    d: int, told: int, model: dict[str, Any]
) -> None:
    study = zn.Study([(0, 1)] * d, budget=60, **model)
    tell(study, told)
    batch = study.ask(12)
    looks = Counter(trial.node for trial in batch)
    assert len(looks) == 12 if told == 0 else max(looks.values()) <= 2  # later a second look may pay
    assert (0, 0) not in looks
    for trial in reversed(batch):
        study.tell(trial, wave(trial.region))
    assert study.measured == told + 12


@given_or_learned
def test_the_order_in_which_a_batch_is_told_changes_nothing(model: dict[str, Any]) -> None:
    studies = [zn.Study([(0, 1)], budget=40, **model) for _ in range(2)]
    for study, step in zip(studies, (1, -1), strict=True):
        batch = study.ask(8)
        for trial in batch[::step]:
            study.tell(trial, wave(trial.region))
    one, other = (study.predict([study.space.cell((5, i)) for i in range(32)]) for study in studies)
    np.testing.assert_allclose(one.mean, other.mean, rtol=0, atol=1e-6)


# Regions that may not be asked for.


@given_or_learned
def test_no_region_is_asked_for_more_often_than_allowed_until_none_is_left(model: dict[str, Any]) -> None:
    study = zn.Study(zn.Box([(0, 1)], smallest=0.2), budget=100, max_replicates=2, **model)  # 7 regions
    result = study.optimize(wave)
    looks = Counter(trial.node for trial in study.trials)
    assert set(looks.values()) == {2}
    assert len(looks) == study.measured / 2 == 7
    assert not result.success
    assert "max_replicates=2" in result.message
    with pytest.raises(zn.Exhausted, match="Raise max_replicates"):
        study.ask()


@given_or_learned
def test_what_was_given_up_is_never_asked_for_again_and_its_parts_may_be(model: dict[str, Any]) -> None:
    study = zn.Study(zn.Box([(0, 1)], smallest=0.05), budget=60, **model)
    first = study.ask()
    study.fail(first, retry=False)
    later = tell(study, 59)
    assert first.node not in {trial.node for trial in later}
    low, high = first.region.bounds[0]
    assert any(low <= trial.region.center[0] <= high for trial in later)
    assert study.measured == 59


def middle(region: zn.Region) -> bool:
    low, high = region.bounds[0]
    return bool(low < 0.6 and high > 0.4)


@given_or_learned
def test_what_is_forbidden_is_neither_asked_for_nor_recommended_and_its_parts_are_tried(
    model: dict[str, Any],
) -> None:
    study = zn.Study([(0, 1)], budget=30, forbidden=middle, **model)
    for _ in range(30):
        (trial,) = tell(study, 1, lambda region: -abs(float(region.center[0]) - 0.5))  # the best is forbidden
        assert not middle(trial.region)
        assert not middle(study.recommend(on_grid=True).region)
    tree = study.tree
    assert tree.forbidden[0]
    assert not (tree.forbidden & tree.askable).any()
    assert not (tree.forbidden & (tree.count > 0)).any()
    assert abs(float(study.recommend(on_grid=True).region.center[0]) - 0.5) < 0.2
    for found in study.recommend(5):
        assert not middle(found.region)
    assert not any(middle(found.region) for found in study.above(-10.0, 0.01))


@given_or_learned
def test_where_everything_is_forbidden_the_error_says_so(model: dict[str, Any]) -> None:
    study = zn.Study(zn.Box([(0, 1)], smallest=0.1), budget=5, forbidden=lambda region: True, **model)
    with pytest.raises(zn.Exhausted, match="8 are forbidden"):
        study.ask()
    result = study.optimize(wave)
    assert not result.success
    assert result.nfev == 0


@pytest.mark.parametrize("answer", [None, 1, "no", 0.0, np.array([True])], ids=repr)
def test_forbidden_must_answer_true_or_false(answer: Any) -> None:
    with pytest.raises(zn.InvalidInput, match=r"forbidden\(x 0..1\) must be True or False"):
        zn.Study([(0, 1)], budget=5, forbidden=lambda region: answer)


def test_what_is_allowed_runs_out_clearly() -> None:
    allowed = zn.Study(
        zn.Box([(0, 1)], smallest=0.1),
        budget=40,
        forbidden=lambda r: r.widths[0] > 0.2 or r.center[0] < 0.8,
        max_replicates=3,
    )
    result = allowed.optimize(wave)
    assert result.nfev == 6
    assert "max_replicates=3" in result.message
    assert "forbidden" in result.message
    assert {trial.node for trial in allowed.trials} == {(3, 6), (3, 7)}


# Noise.


def test_where_coarse_regions_are_measured_better_they_are_measured() -> None:
    f = zn.simulation.draw(zn.RBF(1.0, 0.2), 0, 1, 3)
    budget, rng = 40, np.random.default_rng(0)
    sizes = {}
    noises: dict[str, Any] = {"the same": 0.5, "by size": zn.PerWeight(0.05)}
    for name, noise in noises.items():
        study = zn.Study([(0, 1)], budget=budget, kernel=zn.RBF(1.0, 0.2), noise=noise)
        exact = zn.simulate(f, zn.Mean(), 0.0)
        for _ in range(budget):
            trial = study.ask()
            spread = noise(trial.region) if callable(noise) else noise
            study.tell(trial, exact(trial.region) + spread * float(rng.standard_normal()))
        late = [float(trial.region.widths[0]) for trial in study.trials[budget // 2 :]]
        sizes[name] = float(np.median(late))
    assert sizes["by size"] > 4 / 256
    assert sizes["by size"] > sizes["the same"]


# Standard errors of one's own.


def test_the_guard_weighs_what_was_told_with_a_standard_error_by_it() -> None:
    study = zn.Study([(0, 1)], budget=20)
    opening = study.ask(8)
    unsure, sure = opening[2], opening[5]
    for trial in opening:
        value, sem = {unsure: (5.0, 10.0), sure: (3.0, 0.01)}.get(trial, (0.0, 0.01))
        study.tell(trial, value, sem=sem)
    low, high = sure.region.bounds[0]
    assert low < float(study.ask().region.center[0]) < high  # the guard's round


@pytest.mark.parametrize("noise", [0.3, None], ids=["given", "learned"])
def test_own_rewards_are_weighed_by_precision_as_the_noise_is_known_now(noise: float | None) -> None:
    policy = zn.UniformGrid(level=1)
    study = zn.Study([(0, 1)], budget=12, noise=noise, policy=policy, direction="minimize")
    told: dict[int, list[tuple[float, float | None]]] = {0: [], 1: []}
    for number in range(12):
        trial = study.ask()
        value, sem = math.sin(number), (None, 0.2, 0.7)[(number // 2) % 3]
        told[trial.node[1]].append((value, sem))
        study.tell(trial, value, sem=sem)
        table, tree = study.tree, study._state.posterior_table()
        for row in range(1, 3):
            own = told[int(table.index[row])]
            if not own:
                assert math.isnan(table.reward[row])
                continue
            weights = np.array([(table.noise[row] if sem is None else sem) ** -2 for _, sem in own])
            assert table.reward[row] == pytest.approx(np.average([value for value, _ in own], weights=weights))
            assert tree.own_rewards(np.array([row]))[1][0] == pytest.approx(weights.sum() ** -0.5)


def test_rewards_without_noise_outweigh_all_others() -> None:
    study = zn.Study([(0, 1)], budget=4, noise=0.1, kernel=zn.RBF(1.0, 0.2), policy=zn.UniformGrid(level=0))
    for value, sem in ((3.0, 0.5), (1.0, 0.0), (4.0, None), (3.0, 0.2)):
        study.tell(study.ask(), value, sem=sem)
    assert study.tree.reward[0] == 1.0


# Policies that choose badly.


@dataclass(frozen=True)
class BadBoundPolicy(BoundKnowledgeGradient):
    row: int = 0

    def choose(self, tree: Tree, t: int, views: Views, rng: RngFactory) -> int:
        return self.row


@dataclass(frozen=True)
class Bad(zn.KnowledgeGradient):
    row: int = 0

    def bind(self, context: PolicyContext) -> BadBoundPolicy:
        return BadBoundPolicy(self, context, self.row)


@pytest.mark.parametrize("row", [-1, 10**6, 0])
def test_a_policy_that_chooses_what_may_not_be_measured_gets_a_clear_error(row: int) -> None:
    study = zn.Study(
        [(0, 1)], budget=9, policy=Bad(row=row), forbidden=lambda region: bool(region.widths[0] > 0.9), **GIVEN
    )
    tell(study, 2)  # of the opening
    with pytest.raises(
        zn.InvalidInput, match=rf"chose a node that may not be measured now; got {row}\. Choose among"
    ):
        tell(study, 7)
    assert len(study.pending) == 0


def test_on_a_line_with_few_measurements_it_measures_as_ucb_does() -> None:
    line = zn.Box([(0, 1)], smallest=1 / 64)
    nodes = []
    for policy in (zn.KnowledgeGradient(), zn.UCB()):
        study = zn.Study(line, budget=9, policy=policy, rng=3)
        tell(study, 9)
        nodes.append([trial.node for trial in study.trials])
    assert nodes[0] == nodes[1]
    assert {depth for depth, _ in nodes[0]} == {6}


@pytest.mark.parametrize("settings", [{"times": [1, 2], "overhead": 1.0}, {"max_replicates": 1}, {"cost": 2.0}])
def test_few_measurements_on_a_line_keep_to_what_they_cost_and_may_be(settings: dict[str, Any]) -> None:
    study = zn.Study(
        zn.Box([(0, 1)], smallest=1 / 8), budget=8.0 if "max_replicates" not in settings else 8, **settings
    )
    study.optimize(wave)
    assert 0 < study.spent <= 8
