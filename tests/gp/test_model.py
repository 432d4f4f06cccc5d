"""Models before learning, the scale of rewards, and rewards collapsed by region."""

from __future__ import annotations

import math

import numpy as np
import pytest

import zonal as zn
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model import ModelSpec, default_model, standardize
from zonal.gp.stats import ObservationStats, StatsArrays
from zonal.kernels.feedback import Feedback


def unit(feedback: Feedback) -> ModelSpace:
    """Return the unit interval as learning sees it."""
    return ModelSpace(zn.Box([(0, 1)]), feedback)


def test_the_first_guess_is_on_the_scale_of_the_rewards() -> None:
    for scale in (1e-6, 1.0, 1e6):
        model = default_model(ModelSpec(None, True, None), unit(zn.Mean()), [scale * r for r in (1.0, 2.0, 3.0)])
        assert model.mean == pytest.approx(2 * scale)
        assert model.kernel.point_variance == pytest.approx(scale**2 * 2 / 3)


def test_repeats_survive_large_offsets_in_the_ledger() -> None:
    ledger = ObservationStats()
    values = 1e9 + np.array([0.1, 0.2, 0.4])
    for value in values:
        ledger = ledger.append(0, float(value), None)
    data = ledger.data()
    assert data.scatter == pytest.approx(float(np.sum((values - values.mean()) ** 2)), rel=1e-5)
    assert (data.extra, data.count[0]) == (2, 3)


def test_known_noise_combines_by_precision_in_the_ledger() -> None:
    ledger = ObservationStats()
    for value, variance in ((1.0, 1.0), (3.0, 0.5), (2.0, 0.25)):
        ledger = ledger.append(0, value, variance)
    data = ledger.data()
    mean = (1 + 6 + 8) / 7
    assert data.variance[0] == pytest.approx(1 / (1 + 2 + 4))
    assert data.mean[0] == pytest.approx(mean)
    repeats, chi2 = ledger.scatter(None)
    assert repeats == 2
    assert chi2 == pytest.approx((1 - mean) ** 2 + 2 * (3 - mean) ** 2 + 4 * (2 - mean) ** 2)


@pytest.mark.parametrize(("offset", "size"), [(0.0, 1.0), (1e9, 5e-4), (-1e9, 1.0), (0.0, 1e-100), (3e-20, 1e-30)])
def test_the_scale_of_rewards_is_found_far_from_zero_and_close_to_it(offset: float, size: float) -> None:
    rng = np.random.default_rng(0)
    study = zn.Study([(0, 1)], budget=20, rng=0)
    study.optimize(lambda region: offset + size * (math.sin(6 * region.center[0]) + 0.1 * rng.standard_normal()))
    model = study.model
    assert model.noise is not None
    assert 0.03 * size < model.noise < 0.3 * size
    assert 0.1 * size < math.sqrt(model.kernel.point_variance) < 10 * size


@pytest.mark.parametrize("value", [1e-26, -7e8, 0.0])
def test_what_is_constant_has_the_scale_of_its_size(value: float) -> None:
    data = StatsArrays(np.arange(3), np.full(3, value), np.ones(3), np.zeros(3), 0.0, 0)
    assert standardize(data, None) == (value, abs(value) or 1.0)


def test_a_scatter_whose_square_is_too_small_for_a_float_is_not_taken_for_one() -> None:
    data = StatsArrays(np.arange(3), np.array([0.0, 1e-200, 2e-200]), np.ones(3), np.zeros(3), 0.0, 0)
    assert 0 < standardize(data, None)[1] <= 1e-150
