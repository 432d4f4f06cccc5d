"""Evidence from a tridiagonal matrix agrees with that from eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest

import zonal as zn
from zonal._types import Floats
from zonal.gp import hyperparameters
from zonal.gp.hyperparameters import Evidence
from zonal.gp.model import ModelSpec
from zonal.gp.stats import StatsArrays
from zonal.gp.tridiagonal import quadratic_forms

LINES = 200
WITH_WEIGHT = 30.0  # of the log posterior below the best: a weight of 1e-13


def data(some_known: bool, rewards: Floats) -> StatsArrays:
    """Return rewards of distinct regions, some with a known noise if wanted."""
    rng = np.random.default_rng(0)
    count = rng.integers(1, 5, LINES).astype(float)
    known = np.arange(LINES) % 3 == 0 if some_known else np.zeros(LINES, dtype=bool)
    variance = np.where(known, 0.04, 0.0)
    return StatsArrays(np.arange(LINES), rewards, np.where(known, 0.0, count), variance, 3.0, 40)


@pytest.mark.parametrize("some_known", [False, True])
@pytest.mark.parametrize(
    "spec", [ModelSpec(None, True, None), ModelSpec(None, True, 0.0), ModelSpec(None, False, None)]
)
@pytest.mark.parametrize("signal", [1.0, 0.0])
def test_evidence_agrees_with_eigenvectors(
    signal: float, spec: ModelSpec, some_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To 1e-11 where models have weight; nearly singular matrices, which have none, cost eigenvectors digits."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(size=(LINES, 1)), axis=0)
    rewards = signal * np.sin(9 * x[:, 0]) + (0.1 if signal else 1.0) * rng.normal(size=LINES)
    matrices = [zn.Matern(1.0, scale, nu=2.5)(x, x) for scale in (0.02, 0.3)]
    evidence = Evidence(data(some_known, rewards), spec)
    heights, means = evidence(matrices, [0] * len(matrices))
    monkeypatch.setattr(hyperparameters, "quadratic_forms", lambda *given: None)
    by_vectors, their_means = evidence(matrices, [0] * len(matrices))
    assert heights.shape == by_vectors.shape
    likely = by_vectors > by_vectors.max() - WITH_WEIGHT
    np.testing.assert_allclose(heights[likely], by_vectors[likely], rtol=1e-11)
    np.testing.assert_allclose(means[likely], their_means[likely], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(heights, by_vectors, rtol=1e-8)


@pytest.mark.parametrize("size", [1, 2, 9])
def test_forms_are_those_of_dense_matrices(size: int) -> None:
    rng = np.random.default_rng(2)
    roots, vectors = rng.normal(size=(3, size, size)), rng.normal(size=(3, 2, size))
    matrices, scales, shifts = roots @ roots.swapaxes(1, 2), np.array([1.0, 3.0]), np.array([0.5, 1.0])
    before = matrices.copy(), vectors.copy()
    found = quadratic_forms(matrices, vectors, scales, shifts)
    assert found is not None
    logs, forms = found
    totals = scales[:, None, None] * matrices[:, None] + shifts[:, None, None] * np.eye(size)
    solved = np.linalg.solve(totals, vectors.swapaxes(1, 2)[:, None])
    np.testing.assert_allclose(logs, np.linalg.slogdet(totals)[1], rtol=1e-12)
    np.testing.assert_allclose(forms, vectors[:, None] @ solved, rtol=1e-10)
    assert (matrices == before[0]).all()
    assert (vectors == before[1]).all()


def test_a_matrix_without_inverse_is_left_to_eigenvectors() -> None:
    matrices = np.stack([np.eye(4), -np.eye(4)])
    assert quadratic_forms(matrices, np.ones((2, 1, 4)), np.ones(1), np.array([0.5])) is None
