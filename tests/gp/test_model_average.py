"""A belief under several models, against dense computations model by model, mixed by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
import zonal as zn
from effort import examples
from stepwise_belief import Followed
from zonal.gp.hyperparameters import WeightedModel
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model import Model
from zonal.gp.model_average import Mixture
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import AnyFootprints

Floats = NDArray[np.float64]

FEEDBACK = zn.Average(3)
BOX = zn.Box([(0.0, 1.0)])
CELLS = [BOX.cell((depth, index), FEEDBACK) for depth in range(5) for index in range(2**depth)]
OTHERS = [BOX.region([(0.13, 0.21)]), BOX.region([(0.5, 0.5)]), BOX.region([(0.3, 0.9)])]
ZERO = 2.0


@dataclass(frozen=True)
class Own:
    """A model, said for the library and for the oracle."""

    weight: float
    kernel: Kernel
    k: oracle.Kernel
    noise: float
    mean: float
    mean_std: float = 0.0  # of a learned mean


MODELS = [
    Own(0.5, zn.RBF(0.5, 0.2), oracle.rbf(0.5, 0.2), 0.1, 2.0),
    Own(0.3, zn.Matern(0.8, 0.1, nu=1.5), oracle.matern(1.5, 0.8, 0.1), 0.3, 1.5),
    Own(0.2, zn.RBF(2.0, 0.5), oracle.rbf(2.0, 0.5), 0.05, 2.6, 0.7),
]
rewards = st.lists(
    st.tuples(st.integers(0, len(CELLS) - 1), st.floats(-1, 4), st.sampled_from([None, None, 0.04, 0.5])),
    max_size=14,
)
Reward = tuple[int, float, float | None]  # cell, value, known noise variance


def followed(models: list[Own] = MODELS) -> Followed:
    frame = ModelSpace(BOX, FEEDBACK)
    weighted = [
        WeightedModel(own.weight, Model(own.kernel, own.noise, own.mean, {}, 0, own.mean_std)) for own in models
    ]
    return Followed(frame, weighted, ZERO)


def mixture(told: list[Reward], models: list[Own] = MODELS) -> Followed:
    """Return what is believed after some rewards, one by one, with all cells tracked from the start."""
    made = followed(models)
    assert made.track(footprints(CELLS)) == 0
    for cell, value, variance in told:
        made.observe(cell, value, variance)
    return made


def footprints(regions: list[zn.spaces.ProductRegion]) -> AnyFootprints:
    made: AnyFootprints = FEEDBACK.footprints(regions)
    return made


def points(regions: list[zn.spaces.ProductRegion]) -> list[Floats]:
    return [oracle.representatives(np.asarray(region.bounds), FEEDBACK.s) for region in regions]


def variances(own: Own, told: list[Reward]) -> list[float]:
    return [own.noise**2 if variance is None else variance for _, _, variance in told]


def dense(own: Own, told: list[Reward], regions: list[zn.spaces.ProductRegion]) -> tuple[Floats, Floats]:
    """Return mean and joint covariance of averages under one model."""
    seen, asked = points([CELLS[cell] for cell, _, _ in told]), points(regions)
    everything = np.concatenate([*seen, *asked])
    n = len(seen) + len(asked)
    gram = own.k(everything, everything).reshape(n, FEEDBACK.s, n, FEEDBACK.s).mean(axis=(1, 3))
    gram += own.mean_std**2  # an unknown constant is added to f
    t = len(told)
    Q = gram[:t, :t] + np.diag(variances(own, told))
    gain = np.linalg.solve(Q, gram[:t, t:]).T
    values = np.array([value for _, value, _ in told]) - own.mean
    return own.mean + gain @ values, gram[t:, t:] - gain @ gram[:t, t:]


def log_evidence(own: Own, told: list[Reward]) -> float:
    """Return the log density of all rewards together."""
    if not told:
        return 0.0
    mean, covariance = dense(own, [], [CELLS[cell] for cell, _, _ in told])
    covariance += np.diag(variances(own, told))
    residual = np.array([value for _, value, _ in told]) - mean
    return -0.5 * float(residual @ np.linalg.solve(covariance, residual)) - 0.5 * float(
        np.linalg.slogdet(covariance)[1]
    )


def weights(told: list[Reward]) -> Floats:
    """Return the weights after some rewards, by Bayes' rule."""
    logs = np.array([math.log(own.weight) + log_evidence(own, told) for own in MODELS])
    logs = np.maximum(logs - logs.max(), -600)
    return np.asarray(np.exp(logs) / np.exp(logs).sum())


def mixed(weight: Floats, told: list[Reward], regions: list[zn.spaces.ProductRegion]) -> tuple[Floats, Floats]:
    """Return mean and joint covariance of the mixture, from its definition."""
    parts = [dense(own, told, regions) for own in MODELS]
    mean = np.average([part[0] for part in parts], axis=0, weights=weight)
    covariance = sum(
        w * (part[1] + np.outer(part[0] - mean, part[0] - mean)) for w, part in zip(weight, parts, strict=True)
    )
    return mean, np.asarray(covariance)


def observed(told: list[Reward]) -> Mixture:
    return mixture(told).mixture


@examples(60)
@given(told=rewards)
def test_weights_follow_the_product_of_predictive_densities(told: list[Reward]) -> None:
    np.testing.assert_allclose(observed(told).weights, weights(told), rtol=1e-6, atol=1e-9)


@examples(60)
@given(told=rewards)
def test_mean_and_variance_are_those_of_the_models_mixed_by_hand(told: list[Reward]) -> None:
    belief = observed(told)
    mean, covariance = mixed(belief.weights, told, CELLS)
    columns = belief.columns
    np.testing.assert_allclose(columns[0] + ZERO, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(columns[1], np.diag(covariance), rtol=0, atol=1e-9)
    mean, covariance = mixed(belief.weights, told, OTHERS)
    for found in (belief.predict(footprints(OTHERS)), belief.joint(footprints(OTHERS))):
        np.testing.assert_allclose(found[0] + ZERO, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(belief.predict(footprints(OTHERS))[1], np.diag(covariance), rtol=0, atol=1e-9)
    np.testing.assert_allclose(belief.joint(footprints(OTHERS))[1], covariance, rtol=0, atol=1e-9)


@examples(40)
@given(told=rewards, some=st.lists(st.integers(0, len(CELLS) - 1), min_size=1, max_size=12, unique=True))
def test_joint_covariances_are_positive_and_agree_with_the_columns(told: list[Reward], some: list[int]) -> None:
    belief = observed(told)
    covariance = belief.covariance(np.array(some))
    np.testing.assert_allclose(covariance, covariance.T, rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9
    np.testing.assert_allclose(np.diag(covariance), belief.columns[1][some], rtol=0, atol=1e-9)
    joint = belief.joint(footprints([CELLS[cell] for cell in some]))
    np.testing.assert_allclose(joint[1], covariance, rtol=0, atol=1e-9)
    np.testing.assert_allclose(joint[0], belief.columns[0][some], rtol=0, atol=1e-9)


@examples(40)
@given(told=rewards, pending=st.lists(st.integers(0, len(CELLS) - 1), min_size=1, max_size=6))
def test_measurements_under_way_leave_the_means_and_shrink_the_rest(
    told: list[Reward], pending: list[int]
) -> None:
    belief = observed(told)
    before_mean, before_variance = (column.copy() for column in belief.columns)
    overlay = belief.overlay()
    for cell in pending:
        overlay = overlay.with_pending(cell, None)
    mean, variance = overlay.columns
    np.testing.assert_array_equal(mean, before_mean)
    assert (variance <= before_variance + 1e-12).all()
    # Under each model the variance is that of a reward equal to its own mean: what it was, told or not.
    fantasies: list[Reward] = [(cell, 0.0, None) for cell in pending]
    weight = belief.weights
    by_model = [np.diag(dense(own, told + fantasies, CELLS)[1]) for own in MODELS]
    means = np.stack([dense(own, told, CELLS)[0] for own in MODELS])
    expected = weight @ (np.stack(by_model) + (means - weight @ means) ** 2)
    np.testing.assert_allclose(variance, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(belief.columns[1], before_variance)  # an overlay changes nothing below it


@examples(40)
@given(told=rewards)
def test_loading_all_rewards_at_once_gives_the_posteriors_of_one_by_one(told: list[Reward]) -> None:
    made = mixture(told)
    assert made.tracked is not None
    one_by_one = made.mixture
    at_once = Mixture.built(made.frame, made.models, ZERO, made.tracked, made.ledger)
    for one, other in zip(one_by_one.members, at_once.members, strict=True):
        np.testing.assert_allclose(one.mean, other.mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(one.variance, other.variance, rtol=0, atol=1e-9)
    # Whoever loads brings the weights along: those of a fit have seen the rewards already.
    np.testing.assert_allclose(at_once.weights, [own.weight for own in MODELS])


def test_cells_tracked_late_know_what_was_told() -> None:
    late = followed()
    late.track(footprints(CELLS[:8]))
    told: list[Reward] = [(3, 2.5, None), (5, 1.0, 0.04), (3, 2.2, None)]
    for cell, value, variance in told:
        late.observe(cell, value, variance)
    assert late.track(footprints(CELLS[8:])) == 8
    for one, other in zip(late.mixture.columns, observed(told).columns, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_one_model_is_that_models_belief() -> None:
    belief = mixture([(4, 2.7, None)], MODELS[:1]).mixture
    assert len(belief.members) == 1
    assert belief.weights.tolist() == [1.0]
    mean, covariance = dense(MODELS[0], [(4, 2.7, None)], CELLS)
    np.testing.assert_allclose(belief.columns[0] + ZERO, mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(belief.columns[1], np.diag(covariance), rtol=0, atol=1e-12)


@examples(30)
@given(told=rewards, ways=st.lists(rewards, min_size=2, max_size=3))
def test_a_mixture_once_made_stays_true_whoever_goes_on_from_it(
    told: list[Reward], ways: list[list[Reward]]
) -> None:
    """Each goes its own way, to the last bit as if it had been alone."""

    def said(belief: Mixture) -> list[bytes]:
        parts = [*belief.columns, *belief.predict(footprints(OTHERS)), *belief.joint(footprints(OTHERS))]
        parts += [
            belief.weights,
            belief.covariance(np.array([0, 3, 30])),
            belief.overlay().with_pending(2, None).columns[1],
        ]
        return [part.tobytes() for part in parts]

    def gone(start: Followed, way: list[Reward]) -> Mixture:
        belief, ledger = start.mixture, start.ledger
        for cell, value, variance in way:
            ledger = ledger.append(cell, value, variance)
            belief = belief.condition_on(cell, value, variance, ledger)
        return belief

    start = mixture(told)
    before = said(start.mixture)
    ends = [gone(start, way) for way in ways]
    first = [said(end) for end in ends]
    assert said(start.mixture) == before
    assert [said(end) for end in ends] == first
    assert [said(gone(mixture(told), way)) for way in ways] == first


def test_a_model_that_was_ruled_out_may_come_back() -> None:
    made = mixture([])
    for _ in range(200):
        made.observe(0, 5.0, 1e-4)  # none foresaw this, the first one least of all
        made.observe(0, 5.3, 1e-4)
    belief = made.mixture
    assert np.isfinite(belief.weights).all()
    assert belief.weights.sum() == pytest.approx(1)
    assert all(math.isfinite(member.log_weight) for member in belief.members)


def test_a_belief_of_its_rows_alone_says_the_same_of_each_footprint() -> None:
    made = mixture([(3, 2.5, None), (5, 1.0, 0.04), (3, 2.2, None)])
    assert made.tracked is not None
    every = Mixture.built(made.frame, made.models, ZERO, made.tracked, made.ledger)
    rows = Mixture.factorised(made.frame, made.models, ZERO, made.tracked, made.ledger)
    for member, known in zip(rows.members, every.members, strict=True):
        parts = np.array([member.at(slot) for slot in range(made.tracked.size)]).T
        np.testing.assert_allclose(parts, [known.mean, known.variance], rtol=1e-10, atol=1e-13)
        np.testing.assert_array_equal(member.left_out(), known.left_out())
    np.testing.assert_array_equal(rows.with_columns().columns, every.columns)


def test_footprints_beside_the_others_are_predicted_as_if_they_were_tracked() -> None:
    made, regions = mixture([(3, 2.5, None), (5, 1.0, 0.04)]), CELLS[:4]
    assert made.tracked is not None
    tracked = made.tracked.append(made.tracked.layout.keys(footprints(regions)))
    briefly, slots = made.mixture.with_targets(tracked, briefly=True), made.tracked.size + np.arange(len(regions))
    for belief, member in zip(briefly.members, made.mixture.with_targets(tracked).members, strict=True):
        np.testing.assert_allclose(belief.mean, member.mean, rtol=1e-12)
        np.testing.assert_allclose(belief.covariance(slots), member.covariance(slots), rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(
            belief.overlay().with_pending(2, 0.1).covariance(slots),
            member.overlay().with_pending(2, 0.1).covariance(slots),
            rtol=1e-10,
            atol=1e-14,
        )
