"""GPOO's three answers on small tables, by hand."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import zonal as zn
from grown_trees import children, marked, root, shown, told
from zonal.kernels.base import Kernel
from zonal.policies.base import ModelView, PolicyContext, best
from zonal.policies.deltas import Variation
from zonal.policies.gpoo import BoundOptimistic
from zonal.tree import ASKABLE, EXPANDED, SMALLEST, Tree

TIE = 1e-9
DELTA = np.array([8.0, 4.0, 2.0, 1.0, 0.5])  # h_max = 3
FLAT = Variation(lambda: np.ones((6, 1)), lambda: None, lambda: (np.ones(6), np.zeros(6)))
SETTING = PolicyContext((1, 3, 9, 27, 81, 243), 3, 10, 4, FLAT, TIE, False, 0, 6000)


def table(
    splits: Sequence[int], mean: Sequence[float], std: Sequence[float], unmeasured: Sequence[int] = ()
) -> Tree:
    """Return a tree in which the given rows were measured and split in two, one after the other."""
    tree = root(0.1)
    for row in splits:
        index = 2 * int(tree.index[row])
        tree = tree if row in unmeasured else told(tree, row, 0.0)
        tree = children(tree, row, [index, index + 1], expanded=True)
    return shown(tree, mean=mean, std=std)


def views() -> list[ModelView]:
    raise AssertionError("GPOO needs no more than the columns")


def rng() -> np.random.Generator:
    raise AssertionError("GPOO draws no random numbers")


def bound(beta: float = 4.0, h_max: int = 3) -> BoundOptimistic:
    return BoundOptimistic(zn.GPOO(), replace(SETTING, h_max=h_max), DELTA, lambda t: beta * t)


def test_the_leaf_of_the_highest_b_value_is_chosen() -> None:
    # b = mean + 2 std + delta: leaves are rows 2 (4 + ...), 3 and 4 (2 + ...).
    tree = table([0, 1], mean=[9, 9, 0.0, 1.0, 1.5], std=[9, 9, 0.1, 0.9, 0.5])
    assert bound().choose(tree, 1, views, rng) == 3  # 4.2, 4.8, 4.5
    assert bound(beta=0.01).choose(tree, 1, views, rng) == 2  # 4.02, 3.18, 3.6
    assert bound(beta=100).choose(tree, 1, views, rng) == 3  # 6, 12, 8.5


def test_the_mean_the_uncertainty_and_the_depth_each_matter() -> None:
    mean, std = [0.0] * 5, [1.0] * 5
    assert bound().choose(table([0, 1], mean, std), 1, views, rng) == 2  # shallower
    assert bound().choose(table([0, 1], [0, 0, 0, 2.1, 0], std), 1, views, rng) == 3
    assert bound().choose(table([0, 1], mean, [1, 1, 1, 1, 2.1]), 1, views, rng) == 4


def test_beta_is_that_of_the_round() -> None:
    tree = table([0], mean=[0, 1.0, 0.0], std=[0, 0.5, 1.0])
    assert bound(beta=1).choose(tree, 1, views, rng) == 1  # 1.5 and 1
    assert bound(beta=1).choose(tree, 9, views, rng) == 2  # 2.5 and 3


def test_only_askable_rows_are_chosen() -> None:
    tree = table([0], mean=[9, 5, 1], std=[1, 1, 1])
    tree = marked(tree, 1, ASKABLE, False)
    assert bound().choose(tree, 1, views, rng) == 1  # to be split
    assert bound().choose(marked(tree, 1, SMALLEST, True), 1, views, rng) == 2


def test_equal_b_values_go_to_the_smallest_depth_then_the_smallest_index() -> None:
    tree = table([0, 2, 1], mean=[0, 0, 0, 1, 1, 1, 1], std=[1] * 7)  # rows 3, 4: (2, 2..3); 5, 6: (2, 0..1)
    assert bound().choose(tree, 1, views, rng) == 5
    tree = table([0, 2], mean=[0, 1, 0, 3, 3], std=[1] * 5)  # 1 + 4 = 3 + 2
    assert bound().choose(tree, 1, views, rng) == 1


@pytest.mark.parametrize(("ahead", "chosen"), [(0.5e-9, 5), (2e-9, 3)])
def test_values_closer_than_a_tie_are_equal(ahead: float, chosen: int) -> None:
    tree = table([0, 2, 1], mean=[0, 0, 0, 1 + ahead, 1, 1, 1], std=[1] * 7)
    assert bound().choose(tree, 1, views, rng) == chosen


def test_the_tie_is_a_share_of_the_prior_standard_deviation_of_a_point() -> None:
    seen: list[PolicyContext] = []

    class Spy(zn.GPOO):
        def bind(self, context: PolicyContext) -> BoundOptimistic:
            seen.append(context)
            return bound()

    kernel = zn.RBF(3.0, 0.1) + zn.Matern(1.0, 0.2)
    zn.Study(
        zn.Box([(0, 3)], arity=3), budget=1, kernel=kernel, noise=1, feedback=zn.Average(2), policy=Spy(h_max=3)
    )
    (context,) = seen
    assert context.tie == pytest.approx(2e-9)
    assert context.counts == (1, 3, 9, 27, 81)
    np.testing.assert_allclose(context.variation.reaches()[:, 0], [0.75 * 3 / 3**h for h in range(5)])
    smooth = context.variation.smoothness()
    assert smooth is not None
    np.testing.assert_allclose(smooth.slopes, math.sqrt(3 / 0.1**2 + 5 / 3 / 0.2**2))


def test_a_node_is_split_once_its_confidence_interval_is_within_delta() -> None:
    tree = table([0], mean=[0, 0, 0], std=[1, 2.0, 2.0])
    assert bound(beta=4).should_expand(tree, 1, 1)  # 2 * 2 <= 4
    assert not bound(beta=4.01).should_expand(tree, 1, 1)
    assert not bound(beta=4).should_expand(tree, 1, 2)  # beta has grown
    tree = shown(tree, std=[1, float(np.nextafter(2.0, 3.0)), 2])
    assert not bound(beta=4).should_expand(tree, 1, 1)


def test_no_node_below_h_max_is_split() -> None:
    tree = table([0, 1, 3], mean=[0] * 7, std=[0] * 7)  # row 5 has depth 3
    assert tree.depth[5] == 3
    assert bound(h_max=3).should_expand(tree, 5, 1)
    assert not bound(h_max=2).should_expand(tree, 5, 1)


def test_the_root_is_recommended_while_nothing_is_expanded() -> None:
    assert bound().recommend(table([], [3], [1])) == 0
    tree = table([0], [3, 9, 9], [1, 1, 1])
    tree = marked(tree, 0, EXPANDED, False)
    assert bound().recommend(tree) == 0


def test_the_best_of_the_deepest_expanded_nodes_is_recommended() -> None:
    tree = table([0, 1, 2], mean=[9, 1, 2, 7, 7, 7, 7], std=[1] * 7)
    assert bound().recommend(tree) == 2  # not the root, though better; not a leaf, though deeper
    tree = table([0, 1, 2, 3], mean=[9, 1, 2, -5, 7, 7, 7, 8, 8], std=[1] * 9)
    assert bound().recommend(tree) == 3  # the only expanded one at depth 2


def test_recommendations_tie_as_choices_do() -> None:
    tree = table([0, 2, 1, 3, 4, 6], mean=[0, 0, 0, 1 + 0.5e-9, 1, 1, 1, 0, 0, 0, 0, 0, 0], std=[1] * 13)
    assert tree.index[6] == 1  # rows 3, 4 and 6 are nodes (2, 2), (2, 3) and (2, 1)
    assert bound().recommend(tree) == 6
    tree = shown(tree, mean=[0, 0, 0, 1 + 2e-9, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    assert bound().recommend(tree) == 3


def test_a_node_split_without_a_measurement_is_not_recommended() -> None:
    mean, std = [0, 5, 1, 0, 0], [1] * 5
    assert bound().recommend(table([0, 1], mean, std)) == 1
    assert bound().recommend(table([0, 1], mean, std, unmeasured=[1])) == 0


def test_one_had_to_be_split_the_most_promising_would_be() -> None:
    tree = table([0], mean=[9, 0, 1], std=[1, 1, 1])
    tree = marked(marked(tree, 1, ASKABLE, False), 2, ASKABLE, False)
    assert not tree.askable.any()
    assert bound().fallback_expand(tree, np.array([1, 2]), 1) == 2
    assert bound().fallback_expand(tree, np.array([1]), 1) == 1


def test_best_is_the_shared_rule_for_ties() -> None:
    tree = table([0, 2, 1], mean=[0] * 7, std=[1] * 7)
    rows = np.array([3, 4, 5, 6])
    assert best(tree, rows, np.array([1.0, 2.0, 1.0, 1.0]), TIE) == 4
    assert best(tree, rows, np.array([1.0, 1.0, 1.0, 1.0]), TIE) == 5
    assert best(tree, rows, np.array([1.0, 1.0, 0.0, 1.0]), TIE) == 6
    assert best(tree, rows, np.full(4, -math.inf), TIE) == 5


def test_choices_are_made_on_fresh_values_and_leave_the_table_alone() -> None:
    tree = table([0], mean=[1, 2, 3], std=[1, 2, 3])
    bound().choose(tree, 1, views, rng)
    bound().should_expand(tree, 1, 1)
    bound().recommend(tree)
    assert tree.mean[:3].tolist() == [1, 2, 3]
    assert tree.std[:3].tolist() == [1, 2, 3]


@pytest.mark.parametrize("kernel", [zn.RBF(1, 0.3), zn.Matern(1, 0.3, nu=0.5)])
def test_a_symmetric_problem_is_walked_from_the_left(kernel: Kernel) -> None:
    policy = zn.GPOO(delta=zn.GeometricDelta(8, 0.5))
    study = zn.Study([(-1, 1)], budget=4, kernel=kernel, noise=0.1, feedback=zn.Average(3), policy=policy)
    study.optimize(lambda region: 0.0)
    nodes = [trial.node for trial in study.trials]
    assert nodes[:3] == [(0, 0), (1, 0), (1, 1)]
    assert nodes[3] in [(2, 0), (2, 1)]  # its mirror image, (2, 3) or (2, 2), is as good


def test_settings_of_gpoo_are_values() -> None:
    assert zn.GPOO() == zn.GPOO(delta=zn.LipschitzDelta(), theta=0.1, h_max=10)
    assert zn.GPOO(theta=0.2) != zn.GPOO()
    assert hash(zn.GPOO(delta=zn.GeometricDelta(14))) == hash(zn.GPOO(delta=zn.GeometricDelta(14, 0.5)))
    with pytest.raises(AttributeError):
        zn.GPOO().theta = 0.5  # type: ignore[misc]


def test_the_rules_of_gpoo_use_beta_of_lemma_1() -> None:
    bound = zn.GPOO(delta=zn.GeometricDelta(14, 0.5), theta=0.05, h_max=4).bind(SETTING)
    M = 1 + 3 + 9 + 27 + 81
    for t in (1, 7, 100):
        assert bound.beta(t) == pytest.approx(2 * math.log(M * math.pi**2 * t**2 / 6 / 0.05))
    np.testing.assert_array_equal(bound.delta, [14 * 0.5**h for h in range(6)])
    assert bound.context is SETTING


def test_ahead_of_rewards_leaves_are_split_on_the_strength_of_trials_under_way() -> None:
    settings: dict[str, Any] = {
        "budget": 24,
        "kernel": zn.RBF(0.1, 0.05),
        "noise": 0.1,
        "feedback": zn.Average(10),
    }
    delta = zn.GeometricDelta(14, 0.5)
    waiting = zn.Study([(0, 1)], policy=zn.GPOO(delta), **settings)
    ahead = zn.Study([(0, 1)], policy=zn.GPOO(delta, ahead=True), **settings)
    assert {trial.node for trial in waiting.ask(8)} == {(0, 0)}
    assert len({trial.node for trial in ahead.ask(8)}) == 8
    assert zn.Study.replay(ahead.settings, ahead.events).ask() == ahead.ask()
    for trial in ahead.pending:
        ahead.tell(trial, 0.5)
    assert ahead.recommend().region.widths[0] < 1


def test_ahead_of_rewards_a_search_alone_walks_the_same() -> None:
    walks = []
    for early in (False, True):
        policy = zn.GPOO(zn.GeometricDelta(14, 0.5), ahead=early)
        study = zn.Study([(0, 1)], budget=40, kernel=zn.RBF(0.1, 0.05), noise=0.1, policy=policy)
        study.optimize(lambda region: float(np.sin(9 * region.center[0])))
        walks.append([trial.node for trial in study.trials])
    assert walks[0] == walks[1]
    with pytest.raises(zn.InvalidInput, match="ahead must be"):
        zn.GPOO(ahead=2)  # type: ignore[arg-type]
