"""Gaussian sites against integrals by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import zonal as zn
from zonal.gp.likelihoods import Likelihood, ends, within_range
from zonal.gp.sites import Factor, Moments, sites

COUNTS = [
    (0, 1.0, 0.0, 1.0),
    (0, 10.0, -3.0, 0.5),
    (5, 10.0, 0.4, 0.1),
    (18, 1.0, 3.0, 100.0),
    (1000, 10.0, 90.0, 4.0),
]


def tilted(site: Moments, cavity: Moments) -> tuple[float, float]:
    """Return the moments of a cavity times a site."""
    precision = 1 / site.variance[0] + 1 / cavity.variance[0]
    mean = (site.mean[0] / site.variance[0] + cavity.mean[0] / cavity.variance[0]) / precision
    return float(mean), float(1 / precision)


def by_brute_force(log_density: np.ndarray, points: np.ndarray) -> tuple[float, float]:
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    mean = float(weights @ points)
    return mean, float(weights @ (points - mean) ** 2)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("count", "exposure", "mean", "variance"), COUNTS)
def test_a_count_moves_the_cavity_as_its_likelihood_does(
    count: int, exposure: float, mean: float, variance: float, sign: float
) -> None:
    cavity = Moments(np.array([sign * mean]), np.array([variance]))
    site = sites([Factor(0, count, "", exposure)], cavity, zn.Counts(), sign)
    middle, spread = tilted(site, cavity)
    rates = np.linspace(0, max(abs(sign * middle) + 40 * np.sqrt(spread), 1e-3), 2_000_001)[1:]
    density = stats.poisson.logpmf(count, exposure * rates) + stats.norm.logpdf(rates, mean, variance**0.5)
    expected, left = by_brute_force(density, rates)
    assert sign * middle == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert spread == pytest.approx(left, rel=1e-3)


@pytest.mark.parametrize("count", [0, 1, 30])
def test_the_site_of_an_unlikely_count_lies_near_what_was_read(count: int) -> None:
    cavity = Moments(np.array([9.0]), np.array([0.01]))
    site = sites([Factor(0, count, "", 1.0)], cavity, zn.Counts(), 1.0)
    middle, _ = tilted(site, cavity)
    assert abs(site.mean[0] - count) < 2.5 * abs(9 - count)
    assert middle == pytest.approx(9 + 0.01 * (count / 9 - 1), abs=1e-4)  # the slope of the log likelihood


@pytest.mark.parametrize("positives", [0, 3, 20])
def test_positives_move_the_cavity_as_their_likelihood_does(positives: int) -> None:
    cavity = Moments(np.array([0.4]), np.array([0.09]))
    site = sites([Factor(0, positives, "", 20.0)], cavity, zn.Proportion(20), 1.0)
    shares = np.linspace(0, 1, 2_000_001)
    density = stats.binom.logpmf(positives, 20, shares) + stats.norm.logpdf(shares, 0.4, 0.3)
    expected, left = by_brute_force(density, shares)
    middle, spread = tilted(site, cavity)
    assert middle == pytest.approx(expected, rel=1e-4)
    assert spread == pytest.approx(left, rel=1e-3)


@pytest.mark.parametrize(("limit", "noise"), [(0.5, 0.1), (0.5, 0.0), (-5.0, 0.3), (50.0, 0.1)])
@pytest.mark.parametrize("side", ["below", "above"])
def test_a_limit_moves_the_cavity_as_its_likelihood_does(limit: float, noise: float, side: str) -> None:
    cavity = Moments(np.array([0.2]), np.array([1.0]))
    site = sites([Factor(0, limit, side, noise**2)], cavity, None, 1.0)  # type: ignore[arg-type]
    values = np.linspace(-60, 60, 4_000_001)
    toward = (limit - values) * (1 if side == "below" else -1)
    with np.errstate(divide="ignore"):
        held = stats.norm.logcdf(toward / noise) if noise else np.where(toward > 0, 0.0, -np.inf)
    expected, left = by_brute_force(held + stats.norm.logpdf(values, 0.2, 1.0), values)
    middle, spread = tilted(site, cavity)
    assert middle == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert spread == pytest.approx(left, rel=1e-3)


@pytest.mark.parametrize("mean", [-60.0, -5.0, -0.3, 0.2, 0.5, 3.0, 60.0])
def test_a_statement_cut_at_a_range_is_the_truncated_normal(mean: float) -> None:
    for low, high in ((0.0, np.inf), (0.0, 1.0)):
        middle, std = within_range(mean, 1.0, (low, high))
        assert low < middle < high
        if abs(mean) < 10:
            expected, variance = stats.truncnorm.stats(low - mean, high - mean, mean, 1.0)
            assert float(middle) == pytest.approx(float(expected), rel=1e-6)
            assert float(std) == pytest.approx(float(np.sqrt(variance)), rel=1e-4)


@pytest.mark.parametrize("likelihood", [zn.Counts(), zn.Proportion()])
def test_intervals_stay_in_the_range_and_hold_their_probability(likelihood: Likelihood) -> None:
    top = likelihood.range[1]
    for mean, std in ((0.3, 0.1), (0.3, 0.25), (0.9, 0.05), (0.05, 0.05)):
        low, high = ends(likelihood, mean, std, 0.9)
        assert 0 <= low < mean < high <= top
        law: Any
        if top == 1:
            total = mean * (1 - mean) / std**2 - 1
            law = stats.beta(mean * total, (1 - mean) * total)
        else:
            law = stats.gamma((mean / std) ** 2, scale=std**2 / mean)
        assert law.cdf(high) - law.cdf(low) == pytest.approx(0.9)
        assert (law.mean(), law.std()) == pytest.approx((mean, std))


def test_an_interval_of_plain_numbers_is_normal() -> None:
    low, high = ends(None, 1.0, 0.5, 0.9)
    assert (float(low), float(high)) == pytest.approx(stats.norm.interval(0.9, 1.0, 0.5))
