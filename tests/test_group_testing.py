"""Group testing against Bayes by enumeration, and against Dorfman's two stages."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import zonal as zn


def played(
    members: int, sick: set[int], pooled: zn.Pooled, seed: int, prevalence: float = 0.02
) -> zn.GroupTesting:
    """Return a group test after every member is classified."""
    rng = np.random.default_rng(seed)
    testing = zn.GroupTesting(members, prevalence, pooled)
    while not testing.done:
        pool = testing.ask()
        chance = pooled.sensitivity if sick.intersection(pool.members) else 1 - pooled.specificity
        testing.tell(pool, bool(rng.random() < chance))
    return testing


@pytest.mark.parametrize("sick", [set(), {0}, {3, 4}, {1, 17, 18, 39}, set(range(0, 40, 5))])
def test_tests_that_never_err_find_exactly_who_is_positive(sick: set[int]) -> None:
    testing = played(40, sick, zn.Pooled(), 0)
    assert set(testing.positive) == sick
    assert set(testing.negative) == set(range(40)) - sick


def test_probabilities_are_those_of_bayes_by_enumeration() -> None:
    prior, pooled = np.array([0.05, 0.2, 0.1, 0.3, 0.15]), zn.Pooled(0.9, 0.8)
    testing = zn.GroupTesting(5, prior, pooled, miss=1e-9, false_alarm=1e-9)
    answers = np.random.default_rng(1)
    block: list[tuple[tuple[int, ...], bool]] = []
    for _ in range(6):
        pool = testing.ask()
        answer = bool(answers.random() < 0.5)
        testing.tell(pool, answer)
        block.append((pool.members, answer))
        members = sorted({member for pool_members, _ in block for member in pool_members})
        total, marginal = 0.0, np.zeros(5)
        for state in product((0, 1), repeat=5):
            weight = float(np.prod(np.where(state, prior, 1 - prior)))
            for pool_members, positive in block:
                without, with_any = pooled.likelihoods(positive)
                weight *= with_any if any(state[member] for member in pool_members) else without
            total += weight
            marginal += weight * np.array(state)
        np.testing.assert_allclose(testing.probabilities[members], (marginal / total)[members], rtol=0.05)


def test_fewer_tests_than_dorfman_at_his_error_rates() -> None:
    pooled, prevalence = zn.Pooled(0.95, 0.99), 0.02
    _, theirs, miss, alarm = pooled.dorfman(prevalence)
    tests, missed, alarms, positives = 0, 0, 0, 0
    for seed in range(12):
        sick = set(np.flatnonzero(np.random.default_rng(1000 + seed).random(300) < prevalence).tolist())
        testing = played(300, sick, pooled, seed)
        tests += testing.tests
        missed += len(sick - set(testing.positive))
        alarms += len(set(testing.positive) - sick)
        positives += len(sick)
    assert tests / 3600 < 0.75 * theirs
    assert missed / positives < miss + 3 * np.sqrt(miss * (1 - miss) / positives)
    assert alarms / (3600 - positives) < alarm + 3 * np.sqrt(alarm / 3600)


def test_dorfmans_plan_is_the_one_of_the_textbook() -> None:
    size, tests, miss, alarm = zn.Pooled().dorfman(0.02)
    assert (size, miss, alarm) == (8, 0, 0)
    assert tests == pytest.approx(1 / 8 + 1 - 0.98**8)


def test_several_pools_may_be_pending_and_share_nobody() -> None:
    testing = zn.GroupTesting([f"sample {at}" for at in range(100)], 0.02)
    pools = [testing.ask() for _ in range(3)]
    assert len({member for pool in pools for member in pool.members}) == sum(len(pool.members) for pool in pools)
    assert pools[0].names[0] == f"sample {pools[0].members[0]}"
    for pool in reversed(pools):
        testing.tell(pool, False)
    assert testing.tests == 3
    with pytest.raises(zn.InvalidInput, match="not pending"):
        testing.tell(pools[0], False)


def test_members_may_be_points_and_nobody_is_left_when_done() -> None:
    testing = zn.GroupTesting(zn.Points(np.arange(6.0)[:, None]), 0.3)
    while not testing.done:
        testing.tell(testing.ask(), False)
    assert testing.negative == tuple(range(6))
    with pytest.raises(zn.BudgetSpent, match="every member is classified"):
        testing.ask()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"members": 0, "prevalence": 0.1}, "members must be"),
        ({"members": 5, "prevalence": 0.0}, "between 0 and 1"),
        ({"members": 5, "prevalence": [0.1, 0.2]}, "another length"),
        ({"members": 5, "prevalence": 0.1, "pooled": 0.9}, "pooled must be"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(zn.InvalidInput, match=message):
        zn.GroupTesting(**settings)  # type: ignore[arg-type]
    with pytest.raises(zn.InvalidInput, match="sensitivity must be"):
        zn.Pooled(0.4)
