"""Draws of whole maps have the posterior's means and covariances, whatever was measured: without sampling error.

A draw is linear in independent normal numbers, so its mean and covariance are computed from unit vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zonal as zn
from grids import SPACES, measured
from zonal._types import Floats
from zonal.gp.grid_draws import GridDraws
from zonal.gp.model_average import Member
from zonal.kernels.feedback import footprints_of
from zonal.study.whole_map import smallest_grid


def moments(cells: GridDraws) -> tuple[Floats, Floats]:
    """Return mean and covariance of draws."""
    sizes = [(len(term.first), len(term.others)) for term in cells._terms]
    ends = np.cumsum([rows * columns for rows, columns in sizes]).tolist()

    def draw(numbers: Floats) -> Floats:
        white = [
            numbers[end - rows * columns : end].reshape(rows, columns).copy()
            for end, (rows, columns) in zip(ends, sizes, strict=True)
        ]
        return cells._conditioned(white, cells._mean_std * numbers.item(ends[-1]), numbers[ends[-1] + 1 :])

    total = ends[-1] + 1 + cells._left.shape[1]
    mean = draw(np.zeros(total))
    root = np.stack([draw(unit) - mean for unit in np.eye(total)], axis=1)
    return mean, root @ root.T


def check(study: zn.Study, tolerance: float = 1e-9) -> None:
    """Compare the draws of all cells under every model with the dense posterior, in prior standard deviations."""
    grid, regions = smallest_grid(study._state), list(study.predict().regions)
    assert grid is not None
    for member in grid.mixture.members:
        mean, covariance = moments(GridDraws(member, grid.frame, grid.axes))
        dense_mean, dense = member.joint(footprints_of(regions, study._state.problem.target))
        scale = float(dense.diagonal().max() + _largest(member))
        np.testing.assert_allclose(mean, dense_mean, rtol=0, atol=tolerance * np.sqrt(scale))
        np.testing.assert_allclose(covariance, dense, rtol=0, atol=tolerance * scale)


def _largest(member: Member) -> float:
    return float(member.prior.max())


@pytest.mark.parametrize("kind", SPACES)
def test_cells_are_drawn_from_their_joint_posterior(kind: str) -> None:
    check(measured(kind))


@pytest.mark.parametrize("noise", [0.3, 1e-3, 0.0])
@pytest.mark.parametrize(
    "kernel", [zn.RBF(1.0, 0.3), zn.Matern(1.0, 0.3, nu=0.5), zn.Matern(2.0, 0.2) + zn.RBF(1.0, 2.0)]
)
def test_windows_between_the_cells_may_be_measured(kernel: Any, noise: float) -> None:
    study, rng = (
        zn.Study(zn.Box([(0, 1)] * 2, smallest=1 / 8), budget=2, kernel=kernel, noise=noise),
        np.random.default_rng(1),
    )
    for low, width in zip(rng.uniform(0, 0.7, (12, 2)), rng.uniform(0.01, 0.3, (12, 2)), strict=True):
        study.observe([*zip(low, low + width, strict=True)], float(np.sin(5 * low).sum()))
    check(study)


def test_readings_of_other_feedbacks_labels_and_repeats_count() -> None:
    space, kernel = SPACES["plane"]
    study = zn.Study(space, budget=3, kernel=kernel, noise=0.2, feedback=zn.Center(), offsets=["day"])
    study.observe([(0.11, 0.33), (0.2, 0.9)], 1.0, sem=0.1, feedback=zn.Mean(), labels={"day": "a"})
    for day in ("a", "b", "b"):
        study.observe([(0.25, 0.5), (0, 1)], 1.0, labels={"day": day})
    check(study)


def test_a_beam_of_unknown_width_is_drawn_and_predicted_with_the_width_of_each_model() -> None:
    study, rng = (
        zn.Study(zn.Box([(0, 1)], smallest=1 / 16), budget=14, feedback=zn.Beam(), rng=0),
        np.random.default_rng(0),
    )
    while study.remaining:
        trial = study.ask()
        study.tell(trial, float(np.sin(6 * trial.region.center[0]) + rng.normal(0, 0.1)))
    assert study.model.beam > 0
    check(study)
    every = study.predict()
    alone = study.predict(list(every.regions))
    np.testing.assert_allclose(every.mean, alone.mean, atol=1e-9)
    np.testing.assert_allclose(every.std, alone.std, atol=1e-8)


def test_the_whole_prior_is_drawn_before_the_first_measurement() -> None:
    check(zn.Study(zn.Box([(0, 1)] * 2, smallest=1 / 4), budget=3, kernel=zn.RBF(1.0, 0.3), noise=0.1))
