"""A search on every kind of space believes what the dense equations say, and counts the nodes there really are."""

import math
from typing import Any

import numpy as np
import pytest

import kinds
import oracle_regions
import zonal as zn
from effort import tries
from kinds import KINDS, Kind, Pair
from zonal.kernels.feedback import Feedback
from zonal.policies.beta import beta_t, log_nodes

pytestmark = pytest.mark.one_in(2)

CASES: dict[str, tuple[Kind, Pair, Feedback]] = {
    f"{name}, {kernel}, {feedback}": (kind, pair, feedback)
    for name, kind in KINDS.items()
    for kernel, pair in list(kinds.kernels(kind).items())[::2]
    for feedback in kinds.allowed(kind)
    if feedback in (zn.Average(3), zn.Mean()) and (pair.smooth or feedback != zn.Mean())
}
THETA = 0.1


def make(kind: Kind, pair: Pair, feedback: Feedback, **changes: Any) -> zn.Study:
    policy = zn.GPOO(zn.GeometricDelta(4, 0.6), theta=THETA, h_max=6)
    settings: dict[str, Any] = {"budget": 40, "noise": 0.2, "policy": policy, "feedback": feedback}
    return zn.Study(kind.space, kernel=pair.ours, **{**settings, **changes})


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("kind", "pair", "feedback"), CASES.values(), ids=CASES)
def test_many_tells_one_by_one_are_one_dense_posterior(kind: Kind, pair: Pair, feedback: Feedback) -> None:
    study = make(kind, pair, feedback)
    rng = np.random.default_rng(0)
    seen, rewards, variances = [], [], []
    outside = kinds.off_tree(kind, 3, seed=5)
    for number in range(tries(14, 30)):
        trial = study.ask()
        value, sem = float(rng.normal()), 0.5 if number % 7 == 3 else None
        study.tell(trial, value, sem)
        seen.append(trial.region)
        rewards.append(value)
        variances.append(0.04 if sem is None else sem**2)
        if number in (5, 6, 11):
            region = outside[number % 3]
            study.observe(region, value, sem=0.3)
            seen.append(region)
            rewards.append(value)
            variances.append(0.09)
    tree = study.tree
    nodes = [kind.space.cell(node) for node in zip(tree.depth.tolist(), tree.index.tolist(), strict=True)]
    wanted = [*nodes, *outside]
    mean, std = oracle_regions.posterior(
        pair.oracles,
        [kinds.block(kind, region, feedback) for region in seen],
        rewards,
        variances,
        [kinds.block(kind, region, feedback) for region in wanted],
    )
    n = len(nodes)
    assert n > 1
    np.testing.assert_allclose(tree.mean, mean[:n], rtol=0, atol=1e-8)
    np.testing.assert_allclose(tree.std, std[:n], rtol=0, atol=1e-8)
    for region, its_mean, its_std in zip(outside, mean[n:], std[n:], strict=True):
        predicted = study.predict(region)
        assert predicted.mean == pytest.approx(its_mean, abs=1e-8)
        assert predicted.std == pytest.approx(its_std, abs=1e-8)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("h_max", [1, 3, 5])
def test_m_counts_the_nodes_of_the_real_tree(kind: Kind, h_max: int) -> None:
    pair = next(iter(kinds.kernels(kind).values()))
    study = make(kind, pair, zn.Mean(), policy=zn.GPOO(zn.GeometricDelta(4, 0.6), theta=THETA, h_max=h_max))
    reached = [len(level) for level in kinds.levels(kind.space, most=10**6, deepest=h_max)]
    if isinstance(kind.space, zn.Box):  # as the paper has it, smallest or not
        reached = [kind.space.arity**h for h in range(h_max + 1)]
    study.tell(study.ask(), 0.3)
    study.tell(study.ask(), 0.1)
    beta = oracle_regions.beta(3, sum(reached), THETA)
    confidence = math.sqrt(beta) * study.tree.std
    np.testing.assert_allclose(study.confidence_bands().confidence, confidence, rtol=1e-12)


def test_m_is_counted_without_overflow() -> None:
    assert log_nodes([1, 3, 5, 2, 0]) == pytest.approx(math.log(11))
    assert log_nodes([2**h for h in range(5000)]) == pytest.approx(5000 * math.log(2))
    assert beta_t(7, log_nodes([1, 3, 4]), 0.1) == pytest.approx(oracle_regions.beta(7, 8, 0.1))
