"""Offsets of readings, against their definition written densely."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

import oracle
import zonal as zn
from zonal.gp.functional_index import FunctionalIndex
from zonal.gp.hyperparameters import Evidence, GridSearch, WeightedModel
from zonal.gp.kernel_families import ModelSpace, frame_of
from zonal.gp.model import Model, ModelSpec
from zonal.gp.model_average import Mixture
from zonal.gp.offsets import SIZES, UNRELATED, Label, OffsetGrid, OffsetSpec, offsets_under
from zonal.gp.stats import ObservationStats
from zonal.kernels.feedback import footprints_of
from zonal.spaces import with_feedback

Array = NDArray[np.float64]
SPEC = OffsetSpec(("plate", "source"), lengthscale=4.0)
SIZE = (0.7, 0.4, 0.3)  # of plates, sources and the drift
NOISE, MEAN_STD = 0.1, 0.5
LABELS = [
    None,
    Label(("a", ""), 0),
    Label(("a", ""), 1),
    Label(("b", ""), 2),
    Label(("", "old")),
    Label(("", "old")),
    Label(("b", "")),
    Label(("b", ""), 5),
]
PLACES = np.array([0.1, 0.1, 0.35, 0.35, 0.6, 0.85, 0.85, 0.6])
REWARDS = np.array([0.2, 0.9, 0.4, -0.5, 1.5, 1.2, 0.1, 0.3])
ELSEWHERE = np.array([0.05, 0.35, 0.5])


def index_of(frame: ModelSpace, space: zn.Box) -> FunctionalIndex:
    """Return readings at some places, each with its label."""
    layout, tracked = frame.layout, None
    for place, label in zip(PLACES, LABELS, strict=True):
        key = layout.keys(footprints(space, [place]))
        tracked = FunctionalIndex(layout, key, SPEC) if tracked is None else tracked.append(key, 1.0, label)
    assert tracked is not None
    return tracked


def footprints(space: zn.Box, places: list[float]) -> Any:
    """Return points as regions that are seen at their centre."""
    regions = [with_feedback(space.region([(place - 0.05, place + 0.05)]), zn.Center()) for place in places]
    return footprints_of(regions, zn.Center())


def dense(unrelated: bool) -> tuple[Array, Array, Array, Array]:
    """Return covariances of the readings, of f elsewhere with them, of both plates with them, and f's prior."""
    k = oracle.rbf(1.0, 0.2)

    def between(x: Array, labels: list[Label | None], y: Array, others: list[Label | None]) -> Array:
        total = k(x[:, None], y[:, None])
        for i, one in enumerate(labels):
            for j, other in enumerate(others):
                sources = (one.values[1] if one else ""), (other.values[1] if other else "")
                if unrelated and sources[0] != sources[1]:
                    total[i, j] = 0.0
                total[i, j] += MEAN_STD**2
                if one is None or other is None:
                    continue
                for offset in range(2):
                    if one.values[offset] and one.values[offset] == other.values[offset]:
                        total[i, j] += SIZE[offset] ** 2
                if min(one.order, other.order) >= 0:
                    lag = math.sqrt(3) * abs(one.order - other.order) / SPEC.lengthscale
                    total[i, j] += SIZE[2] ** 2 * (1 + lag) * math.exp(-lag)
        return total

    nothing: list[Label | None] = [None] * len(ELSEWHERE)
    plates = np.array(
        [[SIZE[0] ** 2 * (label is not None and label.values[0] == name) for label in LABELS] for name in "ab"]
    )
    return (
        between(PLACES, LABELS, PLACES, LABELS) + NOISE**2 * np.eye(len(PLACES)),
        between(ELSEWHERE, nothing, PLACES, LABELS),
        plates,
        np.diag(between(ELSEWHERE, nothing, ELSEWHERE, nothing)),
    )


def built(unrelated: bool) -> tuple[Mixture, zn.Box]:
    """Return the belief from the readings under one model."""
    space = zn.Box([(0, 1)])
    model = Model(zn.RBF(1.0, 0.2), NOISE, 0.0, {}, 8, MEAN_STD, offsets=SIZE, unrelated=unrelated)
    ledger = ObservationStats()
    for slot, reward in enumerate(REWARDS.tolist()):
        ledger = ledger.append(slot, reward, None)
    frame = frame_of(space, zn.Center())
    return Mixture.built(frame, [WeightedModel(1.0, model)], 0.0, index_of(frame, space), ledger), space


@pytest.mark.parametrize("unrelated", [False, True])
def test_readings_with_offsets_are_exactly_gaussian(unrelated: bool) -> None:
    belief, space = built(unrelated)
    readings, elsewhere, plates, prior = dense(unrelated)
    weights = np.linalg.solve(readings, REWARDS)
    mean, variance = belief.predict(footprints(space, ELSEWHERE.tolist()))
    np.testing.assert_allclose(mean, elsewhere @ weights, atol=1e-9)
    left = prior - np.sum(elsewhere * np.linalg.solve(readings, elsewhere.T).T, axis=1)
    np.testing.assert_allclose(variance, left, atol=1e-9)
    np.testing.assert_allclose(belief.mean_of(footprints(space, ELSEWHERE.tolist())), mean, atol=1e-9)
    (member,) = belief.members
    shifts = member.tracked.shifts.take([1, 3])._replace(orders=np.array([-1, -1]))
    offset, uncertainty = offsets_under(member, SPEC, shifts, SIZE)
    np.testing.assert_allclose(offset, plates @ weights, atol=1e-9)
    reduced = SIZE[0] ** 2 - np.sum(plates * np.linalg.solve(readings, plates.T).T, axis=1)
    np.testing.assert_allclose(uncertainty, reduced, atol=1e-9)


def test_one_reading_at_a_time_gives_what_all_at_once_give() -> None:
    at_once, _ = built(unrelated=False)
    (member,) = at_once.members
    ledger = ObservationStats()
    step = Mixture([type(member)(member._covariance, member.tracked, member.model, 0.0)], 0.0)
    for slot, reward in enumerate(REWARDS.tolist()):
        ledger = ledger.append(slot, reward, None)
        step = step.condition_on(slot, reward, None, ledger)
    for ours, theirs in zip(step.columns, at_once.columns, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("levels", [(0, 0, 0), (2, 3, 1), (1, UNRELATED, 0)])
def test_the_evidence_of_each_size_is_the_likelihood_of_the_readings(levels: tuple[int, ...]) -> None:
    space, unknowns = zn.Box([(0, 1)]), ModelSpec(zn.RBF(1.0, 0.2), False, 0.0, offsets=SPEC.number)
    frame, ledger = frame_of(space, zn.Center()), ObservationStats()
    tracked = index_of(frame, space)
    for slot, reward in enumerate(REWARDS.tolist()):
        ledger = ledger.append(slot, reward, NOISE**2)
    data = ledger.data()
    k = oracle.rbf(1.0, 0.2)(PLACES[:, None], PLACES[:, None])
    grid, evidence = OffsetGrid(SPEC, tracked.shifts.take(data.slots)), Evidence(data, unknowns)
    search = GridSearch(evidence, frame, [(zn.RBF, 0.0)], lambda *_: k, grid)
    search.evaluate([(0, (0, 0, 0)), (0, levels)])
    seen = search.height[0, levels] - search.height[0, (0, 0, 0)]

    def log_likelihood(levels: tuple[int, ...]) -> float:
        sizes = [SIZES[min(level, len(SIZES) - 1)] * evidence.scale for level in levels]
        sources = np.array([label.values[1] if label else "" for label in LABELS])
        plates = np.array([label.values[0] if label else "" for label in LABELS])
        orders = np.array([label.order if label else -1 for label in LABELS])
        covariance = np.where((sources[:, None] != sources) & (levels[1] == UNRELATED), 0.0, k)
        covariance = covariance + sizes[0] ** 2 * ((plates[:, None] == plates) & (plates != ""))
        covariance += sizes[1] ** 2 * ((sources[:, None] == sources) & (sources != ""))
        lag = math.sqrt(3) * np.abs(orders[:, None] - orders) / SPEC.lengthscale
        both = (orders[:, None] >= 0) & (orders >= 0)
        covariance += sizes[2] ** 2 * np.where(both, (1 + lag) * np.exp(-lag), 0.0)
        covariance += NOISE**2 * np.eye(len(k))
        return float(multivariate_normal(np.zeros(len(k)), covariance).logpdf(REWARDS))

    expected = log_likelihood(levels) - log_likelihood((0, 0, 0))
    expected += SPEC.log_prior(levels) - SPEC.log_prior((0, 0, 0))
    assert seen == pytest.approx(expected, abs=1e-6)


def test_half_of_the_prior_weight_is_on_no_offset() -> None:
    spec = OffsetSpec(("plate",))
    weights = [math.exp(spec.log_prior((level,))) for level in range(*spec.levels)]
    assert sum(weights) == pytest.approx(1)
    assert weights[0] == pytest.approx(0.5)
