"""Statistics of rewards: trials and observations, known and learned noise, each in a line of its own."""

import numpy as np
import pytest

from zonal.gp.empirical import empirical_columns, empirical_relative_std
from zonal.gp.stats import ObservationStats, pooled

REWARDS = ((0.5, None, 1.0, False), (0.9, 0.04, 1.0, False), (0.1, None, 2.0, True), (0.7, 0.01, 1.0, True))


def recorded() -> ObservationStats:
    """Return rewards of every kind of one footprint, and one of another."""
    stats = ObservationStats().append(7, 3.0, 0.25)
    for reward in REWARDS:
        stats = stats.append(2, *reward)
    return stats


def test_estimates_are_pooled_by_precision() -> None:
    means, variances = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.25, 1.0])
    mean, variance = pooled([*zip(means.tolist(), variances.tolist(), strict=True)])
    assert mean == pytest.approx(np.average(means, weights=1 / variances), rel=1e-15)
    assert variance == pytest.approx(1 / np.sum(1 / variances), rel=1e-15)


def test_what_was_told_of_a_footprint_leaves_out_what_was_observed() -> None:
    stats, noise = recorded(), 0.3
    assert (stats.total, stats.distinct, stats.number(2), stats.n_told(2)) == (5, 2, 4, 2)
    mean, variance = stats.told_mean(2, noise)
    precisions = [1 / noise**2, 1 / 0.04]
    assert mean == pytest.approx(np.average([0.5, 0.9], weights=precisions), rel=1e-15)
    assert variance == pytest.approx(1 / sum(precisions), rel=1e-15)


def test_the_likelihood_has_all_rewards_of_a_footprint() -> None:
    stats, noise = recorded(), 0.3
    precisions = [1 / noise**2, 1 / 0.04, 2 / noise**2, 1 / 0.01]
    slots, means, variances = stats.data().by_slot(noise)
    assert slots.tolist() == [7, 2]
    assert means[1] == pytest.approx(np.average([0.5, 0.9, 0.1, 0.7], weights=precisions), rel=1e-14)
    assert variances[1] == pytest.approx(1 / sum(precisions), rel=1e-14)
    assert stats.variance(2, noise) == pytest.approx(variances[1], rel=1e-14)


def test_rewards_of_a_footprint_are_replaced_and_others_stay() -> None:
    stats = recorded()
    fewer = stats.with_rewards(2, REWARDS[:1])
    assert (fewer.total, fewer.n_told(2), fewer.lines[7]) == (2, 1, stats.lines[7])
    assert stats.with_rewards(2, ()).lines.keys() == {7}
    assert stats.with_rewards(2, REWARDS) == stats


def test_empirical_means_count_every_reward_the_same() -> None:
    stats = ObservationStats()
    for reward, observed in ((1.0, False), (2.0, False), (6.0, True)):
        stats = stats.append(1, reward, None, 1.0, observed)
    mean, variance = empirical_columns(stats, np.arange(3), 1.0, pending=[0, 1, 1])
    assert mean.tolist() == pytest.approx([0.0, 2.0, 0.0])
    assert variance.tolist() == [1.0, 1 / 5, np.inf]
    assert empirical_relative_std(variance).tolist() == pytest.approx([2**-0.5, 6**-0.5, 1.0])
