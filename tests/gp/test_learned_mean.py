"""A learned prior mean: its own uncertainty is in every standard deviation, and in no difference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import oracle
import zonal as zn
from zonal.gp.kernel_families import frame_of
from zonal.gp.model_average import WithUnknownMean

SPACE = zn.Box([(0.0, 1.0)], smallest=1 / 16)
FEEDBACK = zn.Average(3)


def told(number: int, **settings: Any) -> zn.Study:
    study = zn.Study(SPACE, budget=20, feedback=FEEDBACK, rng=0, **settings)
    measure = zn.simulate(lambda x: 7 + np.sin(6 * x[:, 0]), FEEDBACK, 0.1, rng=1)
    for _ in range(number):
        trial = study.ask()
        study.tell(trial, measure(trial.region))
    return study


def same(kernel: Any) -> oracle.Kernel:
    if isinstance(kernel, zn.RBF):
        return oracle.rbf(kernel.variance, kernel.lengthscale)
    return oracle.matern(kernel.nu, kernel.variance, kernel.lengthscale)


@pytest.mark.parametrize("number", [3, 5, 12])
def test_standard_deviations_are_those_of_kriging_with_an_unknown_mean(number: int) -> None:
    study = told(number)
    regions = [SPACE.cell((0, 0)), SPACE.cell((4, 3)), SPACE.cell((4, 15))]
    seen = [*(trial.region for trial in study.trials), *regions]
    points = np.concatenate([oracle.representatives(np.asarray(region.bounds), 3) for region in seen])
    values, n = np.array([trial.value for trial in study.trials], dtype=float), len(seen)
    weights, means, variances = [], [], []
    for own in study.models:
        model = own.model
        assert model.noise is not None
        gram = same(model.kernel)(points, points).reshape(n, 3, n, 3).mean(axis=(1, 3))
        weight = np.array([region.weight for region in seen[:number]]) / SPACE.cell((0, 0)).weight
        falls = {"constant": 0.0, "falling": 1.0, "both": 0.5}[model.law]  # of the variance at a sixteenth
        ratios = (1 - falls + falls / 16 / weight) / (1 - falls + falls / 16)
        q = gram[:number, :number] + model.noise**2 * np.diag(ratios)
        k, ones = gram[:number, number:], np.ones(number)
        precision = ones @ np.linalg.solve(q, ones) + 1 / model.mean_std**2
        mean = (ones @ np.linalg.solve(q, values) + model.mean / model.mean_std**2) / precision
        unexplained = 1 - ones @ np.linalg.solve(q, k)
        simple = np.diag(gram)[number:] - np.sum(k * np.linalg.solve(q, k), axis=0)
        weights.append(own.weight)
        means.append(mean + k.T @ np.linalg.solve(q, values - mean))
        variances.append(simple + unexplained**2 / precision)
        assert (unexplained**2 / precision)[0] > 0
    mean = np.average(means, axis=0, weights=weights)
    variance = np.average(variances + (np.array(means) - mean) ** 2, axis=0, weights=weights)
    assert study.predict(regions).mean == pytest.approx(mean, abs=1e-8)
    assert study.predict(regions).std == pytest.approx(np.sqrt(variance), abs=1e-8)


def test_a_mean_that_is_given_has_no_uncertainty() -> None:
    assert {own.model.mean_std for own in told(6, mean=7.0).models} == {0.0}
    assert all(own.model.mean_std > 0 for own in told(6).models)
    assert all(own.model.mean == 7.0 for own in told(6, mean=7.0).models)


@pytest.mark.parametrize("space", [SPACE, zn.Points({"x": np.linspace(0, 1, 16)})], ids=["box", "points"])
def test_differences_do_not_know_the_mean(space: Any) -> None:
    frame = frame_of(space, zn.Mean())
    layout, plain = frame.layout, frame.covariance(zn.RBF(1.0, 0.2))
    with_mean = WithUnknownMean(plain, 4.0)
    cells = [space.cell((2, index), zn.Mean()) for index in range(3)]
    keys = layout.keys(zn.Mean().footprints(cells))
    difference = layout.summed(np.array([1.0, -1.0]), keys[:, :2])
    averages = layout.pairs(keys, keys)
    np.testing.assert_allclose(with_mean.of(averages), plain.of(averages) + 4.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(with_mean.of(layout.self_pairs(keys)), plain.of(layout.self_pairs(keys)) + 4.0)
    for pairs in (layout.pairs(difference, keys), layout.pairs(keys, difference), layout.self_pairs(difference)):
        np.testing.assert_allclose(with_mean.of(pairs), plain.of(pairs), rtol=0, atol=1e-12)


def test_the_share_of_uncertainty_left_is_of_f_about_its_mean() -> None:
    assert told(0).relative_std() == pytest.approx(1.0)
    assert told(3).relative_std().max() <= 1.0


def test_few_measurements_widen_what_is_said_and_move_no_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    from zonal.gp import fit_schedule

    def learned(share: float) -> zn.Study:
        monkeypatch.setattr(fit_schedule, "LEFT_OUT", share)
        study = zn.Study(SPACE, budget=20, feedback=FEEDBACK)
        for index, value in enumerate([6.9, 7.6, 7.2, 6.1, 6.3, 7.5, 8.0]):
            study.observe(SPACE.cell((3, index)), value)
        study.refit()
        return study

    plain, wide = learned(0.0), learned(2.0)
    cells = SPACE.partition.leaf_regions(4)
    assert wide.predict(cells).mean == pytest.approx(plain.predict(cells).mean, abs=1e-8)
    for narrow, widened in zip(plain.models, wide.models, strict=True):
        factor = math.sqrt(1 + 2.0 * 1 / 7)  # one axis, 7 measurements
        assert widened.model.noise == pytest.approx(factor * (narrow.model.noise or 0))
        assert widened.model.mean_std == pytest.approx(factor * narrow.model.mean_std)
        assert widened.model.kernel.point_variance == pytest.approx(factor**2 * narrow.model.kernel.point_variance)
    given = {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1}
    assert [own.model.kernel for own in told(6, **given).models] == [given["kernel"]]
