"""Laws that every policy keeps. Each of the first four is a bug in some other library."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.policies.base import Policy

DELTA = zn.GeometricDelta(2, 0.5)
POLICIES: dict[str, Callable[[], Policy]] = {
    "GPOO": lambda: zn.GPOO(DELTA),
    "StoOO": lambda: zn.StoOO(DELTA),
    "GPTree": lambda: zn.GPTree(),
    "UniformGrid": lambda: zn.UniformGrid(),
    "Random": lambda: zn.Random(4),
    "UCB": lambda: zn.UCB(4),
    "Thompson": lambda: zn.Thompson(4),
    "KnowledgeGradient": lambda: zn.KnowledgeGradient(),
    "KnowledgeGradient, smallest": lambda: zn.KnowledgeGradient(depths="smallest"),
}
every_policy = pytest.mark.parametrize("name", POLICIES)
# Knowledge gradients recommend what the posterior mean says, measured or not: see the laws at the end.
every_policy_that_recommends_what_was_measured = pytest.mark.parametrize(
    "name", [name for name in POLICIES if not name.startswith("KnowledgeGradient")]
)
every_knowledge_gradient = pytest.mark.parametrize("depths", ["any", "smallest"])


def wave(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(7 * x[:, 0]) + 0.3 * x[:, 0])


def run(name: str, budget: int = 40, *, arity: int = 2, offset: float = 0.0, mean: float = 0.0) -> zn.Study:
    measure = zn.simulate(lambda x: wave(x) + offset, zn.Average(4), noise=0.1, rng=1)
    study = zn.Study(
        zn.Box([(0, 1)], arity=arity),
        budget=budget,
        kernel=zn.RBF(0.5, 0.15),
        noise=0.1,
        mean=mean,
        feedback=zn.Average(4),
        policy=POLICIES[name](),
        rng=7,
    )
    study.optimize(measure)
    return study


@cache
def usual(name: str) -> zn.Study:
    """Return a run that others are compared with, not to be changed."""
    return run(name)


@every_policy
def test_a_constant_added_to_rewards_and_prior_mean_changes_no_decision(name: str) -> None:
    here, there = usual(name), run(name, offset=1000.0, mean=1000.0)
    assert [trial.node for trial in here.trials] == [trial.node for trial in there.trials]
    assert here.recommend().node == there.recommend().node
    assert here.recommend().mean + 1000 == pytest.approx(there.recommend().mean, abs=1e-6)


@pytest.mark.one_in(2)
@every_policy
@pytest.mark.parametrize("child", [0, 1, 2])
def test_with_three_children_each_of_them_can_win(name: str, child: int) -> None:
    study = zn.Study(
        zn.Box([(0, 1)], arity=3),
        budget=40,
        kernel=zn.RBF(0.5, 0.15),
        noise=0.05,
        policy=zn.GPTree(rho=1 / 3) if name == "GPTree" else POLICIES[name](),
        rng=7,
    )
    peak = (child + 0.5) / 3
    study.optimize(zn.simulate(lambda x: np.exp(-(((x[:, 0] - peak) / 0.15) ** 2)), zn.Mean(), 0.05, rng=1))
    visited = {trial.node for trial in study.trials}
    assert any(depth >= 1 and index // 3 ** (depth - 1) == child for depth, index in visited)
    assert child / 3 <= float(study.recommend().region.center[0]) <= (child + 1) / 3


@every_policy
@pytest.mark.parametrize("budget", [1, 2, 7, 40])
def test_the_budget_is_spent_exactly_and_then_nothing_is_asked(name: str, budget: int) -> None:
    study = run(name, budget)
    assert (study.measured, study.remaining, len(study.trials)) == (budget, 0, budget)
    with pytest.raises(zn.BudgetSpent):
        study.ask()
    study.extend(2)
    assert len(study.ask(2)) == 2


@every_policy_that_recommends_what_was_measured
def test_negative_rewards_never_lead_to_a_region_nothing_is_known_about(name: str) -> None:
    study = zn.Study(
        [(0, 1)],
        budget=40,
        kernel=zn.RBF(0.5, 0.05),
        noise=0.1,
        feedback=zn.Average(4),
        policy=POLICIES[name](),
        rng=0,
    )
    measure = zn.simulate(lambda x: wave(x) - 50, zn.Average(4), noise=0.1, rng=0)
    for told in range(40):
        recommended = study.recommend(on_grid=True)
        measured = [trial.node for trial in study.trials]
        within = [
            (h, i)
            for h, i in measured
            if h >= recommended.node[0] and i >> (h - recommended.node[0]) == recommended.node[1]
        ]
        assert within or told == 0 or recommended.node == (0, 0)
        trial = study.ask()
        study.tell(trial, measure(trial.region))


@every_policy
def test_the_same_seed_gives_the_same_walk(name: str) -> None:
    assert [trial.node for trial in run(name).trials] == [trial.node for trial in usual(name).trials]


@every_policy
def test_several_trials_may_be_pending_and_are_told_in_any_order(name: str) -> None:
    study = zn.Study(
        [(0, 1)],
        budget=12,
        kernel=zn.RBF(0.5, 0.15),
        noise=0.1,
        feedback=zn.Average(4),
        policy=POLICIES[name](),
        rng=0,
    )
    for _ in range(3):
        batch = study.ask(4)
        for trial in reversed(batch):
            study.tell(trial, 0.5)
    assert study.measured == 12
    assert np.isfinite(study.recommend().mean)


@every_policy
def test_nothing_is_asked_below_smallest(name: str) -> None:
    space = zn.Box([(0, 1)], smallest=0.1)
    study = zn.Study(space, budget=40, kernel=zn.RBF(0.5, 0.15), noise=0.1, policy=POLICIES[name](), rng=0)
    study.optimize(zn.simulate(wave, zn.Mean(), noise=0.1, rng=0))
    assert min(float(trial.region.widths[0]) for trial in study.trials) >= 0.1


@pytest.mark.parametrize("policy", [zn.Random(), zn.UCB(), zn.Thompson()])
def test_baselines_ask_how_small_a_region_is_wanted(policy: Policy) -> None:
    with pytest.raises(zn.InvalidInput, match="smallest"):
        zn.Study([(0, 1)], budget=5, kernel=zn.RBF(1, 0.1), noise=0.1, policy=policy)
    space = zn.Box([(0, 1)], smallest=0.1)
    study = zn.Study(space, budget=5, kernel=zn.RBF(1, 0.1), noise=0.1, policy=policy, rng=0)
    assert study.ask().node[0] == 3


def test_baselines_refuse_more_leaves_than_they_can_hold() -> None:
    with pytest.raises(zn.InvalidInput, match="4096"):
        zn.Study([(0, 1)], budget=5, kernel=zn.RBF(1, 0.1), noise=0.1, policy=zn.UCB(13))


def test_the_uniform_grid_spreads_out_and_then_repeats() -> None:
    study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1, 0.1), noise=0.1, policy=zn.UniformGrid())
    indices = []
    for _ in range(9):
        trial = study.ask()
        indices.append(trial.node[1])
        study.tell(trial, 0.0)
    assert sorted(indices[:8]) == list(range(8))
    assert sorted(index // 4 for index in indices[:2]) == [0, 1]
    assert indices[8] == indices[0]


def test_thompson_samples_where_it_is_promising_and_differs_between_seeds() -> None:
    walks = []
    for rng in (0, 1):
        study = zn.Study([(0, 1)], budget=40, kernel=zn.RBF(0.5, 0.15), noise=0.1, policy=zn.Thompson(5), rng=rng)
        study.optimize(zn.simulate(wave, zn.Mean(), noise=0.1, rng=0))
        walks.append([trial.node for trial in study.trials])
        assert abs(float(study.recommend().region.center[0]) - 0.23) < 0.1
    assert walks[0] != walks[1]


# Knowledge gradients that learn their models: the same laws, with nothing given.

Told = Callable[[zn.Region], float]


def learn(measure: Told, budget: int = 18, *, depths: str = "any", **settings: Any) -> zn.Study:
    policy = zn.KnowledgeGradient(depths=depths)  # type: ignore[arg-type]
    study = zn.Study([(0, 1)], budget=budget, feedback=zn.Average(4), policy=policy, **settings)
    study.optimize(measure)
    return study


def waves(factor: float = 1.0, offset: float = 0.0, noise: float = 0.1) -> Told:
    measure = zn.simulate(wave, zn.Average(4), noise=noise, rng=1)
    return lambda region: factor * measure(region) + offset


@cache
def learned(depths: str) -> zn.Study:
    """Return a study that others are compared with, not to be changed."""
    return learn(waves(), depths=depths)


def constant(value: float) -> Told:
    return lambda region: value


def walk(study: zn.Study) -> list[tuple[int, int]]:
    return [trial.node for trial in study.trials] + [study.recommend().node]


@pytest.mark.one_in(3)
@every_knowledge_gradient
@pytest.mark.parametrize(("factor", "offset"), [(1.0, 1000.0), (1e-4, 0.0), (1e5, -3e6), (1.0, -50.0)])
def test_whatever_the_unit_and_the_zero_of_the_rewards_the_walk_is_the_same(
    depths: str, factor: float, offset: float
) -> None:
    here, there = learned(depths), learn(waves(factor, offset), depths=depths)
    assert walk(here) == walk(there)
    expected = factor * here.recommend().mean + offset
    assert there.recommend().mean == pytest.approx(expected, rel=1e-6, abs=1e-5 * factor)
    assert there.recommend().std == pytest.approx(factor * here.recommend().std, rel=1e-4)
    assert there.recommend().gap == pytest.approx(factor * here.recommend().gap, rel=1e-3, abs=1e-5 * factor)


@every_knowledge_gradient
def test_minimising_is_maximising_the_opposite(depths: str) -> None:
    up, down = learned(depths), learn(waves(-1.0), depths=depths, direction="minimize")
    assert walk(up) == walk(down)
    one, other = up.recommend(), down.recommend()
    assert (one.mean, one.std) == pytest.approx((-other.mean, other.std))
    assert (one.gap, one.probability_best) == pytest.approx((other.gap, other.probability_best))
    np.testing.assert_allclose(up.tree.reward, -down.tree.reward)


@every_knowledge_gradient
@pytest.mark.parametrize("kernel", [None, zn.RBF(0.5, 0.15)], ids=["learned", "given"])
def test_studies_of_the_same_rewards_are_the_same(depths: str, kernel: Any) -> None:
    one, other = (learn(waves(), 12, depths=depths, kernel=kernel, rng=seed) for seed in (0, 1))
    assert walk(one) == walk(other)  # no random number decides anything
    np.testing.assert_array_equal(one.tree.mean, other.tree.mean)


@every_knowledge_gradient
@pytest.mark.parametrize("given", [{}, {"kernel": zn.RBF(0.5, 0.15), "noise": 0.1}], ids=["learned", "given"])
def test_where_all_rewards_are_equal_rounding_decides_nothing(depths: str, given: dict[str, Any]) -> None:
    # Whole levels are tied, and rewards of 0.3 round where rewards of 0 do not.
    walks = []
    for value in (0.0, 0.1 + 0.2):
        mean = {"mean": value} if given else {}
        walks.append(walk(learn(constant(value), 12, depths=depths, **given, **mean)))
    assert walks[0] == walks[1]


def test_a_prior_mean_that_is_learned_leads_to_nothing_that_is_unknown() -> None:
    # With a prior mean of 0 and rewards about -50 whatever was not measured would look best.
    measure = waves(offset=-50.0)
    study = zn.Study([(0, 1)], budget=30, feedback=zn.Average(4))
    for told in range(30):
        if told:
            assert study.recommend().mean < -45
        trial = study.ask()
        study.tell(trial, measure(trial.region))
    assert float(study.recommend().region.center[0]) == pytest.approx(0.23, abs=0.1)
