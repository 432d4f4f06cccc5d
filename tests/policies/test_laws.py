"""Laws that every policy keeps. Each of the first four is a bug in some other library."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import zonal as zn
from zonal.policies import Policy

DELTA = zn.GeometricDelta(2, 0.5)
POLICIES: dict[str, Callable[[], Policy]] = {
    "GPOO": lambda: zn.GPOO(DELTA),
    "StoOO": lambda: zn.StoOO(DELTA),
    "GPTree": lambda: zn.GPTree(),
    "UniformGrid": lambda: zn.UniformGrid(),
    "Random": lambda: zn.Random(4),
    "UCB": lambda: zn.UCB(4),
    "Thompson": lambda: zn.Thompson(4),
}
every_policy = pytest.mark.parametrize("name", POLICIES)


def wave(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(7 * x[:, 0]) + 0.3 * x[:, 0])


def run(name: str, budget: int = 60, *, arity: int = 2, offset: float = 0.0, mean: float = 0.0) -> zn.Study:
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


@every_policy
def test_a_constant_added_to_rewards_and_prior_mean_changes_no_decision(name: str) -> None:
    here, there = run(name), run(name, offset=1000.0, mean=1000.0)
    assert [trial.node for trial in here.trials] == [trial.node for trial in there.trials]
    assert here.recommend().node == there.recommend().node
    assert here.recommend().mean + 1000 == pytest.approx(there.recommend().mean, abs=1e-6)


@every_policy
@pytest.mark.parametrize("child", [0, 1, 2])
def test_with_three_children_each_of_them_can_win(name: str, child: int) -> None:
    study = zn.Study(
        zn.Box([(0, 1)], arity=3),
        budget=60,
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
@pytest.mark.parametrize("budget", [1, 2, 7, 60])
def test_the_budget_is_spent_exactly_and_then_nothing_is_asked(name: str, budget: int) -> None:
    study = run(name, budget)
    assert (study.told, study.remaining, len(study.trials)) == (budget, 0, budget)
    with pytest.raises(zn.BudgetSpent):
        study.ask()
    study.extend(2)
    assert len(study.ask(2)) == 2


@every_policy
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
        recommended = study.recommend()
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
    assert [trial.node for trial in run(name).trials] == [trial.node for trial in run(name).trials]


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
    assert study.told == 12
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
