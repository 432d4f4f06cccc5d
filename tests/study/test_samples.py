"""Draws of maps in the user's units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn

LINE = zn.Box([(0, 1)], smallest=1 / 16)


def searched(space: Any, budget: int = 12, **given: Any) -> zn.Study:
    study, rng = zn.Study(space, budget=budget, rng=0, **given), np.random.default_rng(0)
    while study.remaining:
        study.tell(study.ask(), 3.0 + float(rng.normal()))
    return study


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_draws_have_the_predicted_means_and_deviations(direction: Any) -> None:
    study = searched(LINE, direction=direction)
    assert len(study.models) > 1
    draws, prediction = study.sample(4000, rng=1), study.predict()
    assert draws.shape == (4000, 16)
    errors = (draws.mean(axis=0) - prediction.mean) / prediction.std * np.sqrt(4000)
    assert abs(errors).max() < 5
    np.testing.assert_allclose(draws.std(axis=0), prediction.std, rtol=0.15)


def test_listed_regions_have_the_same_joint_distribution_as_the_map() -> None:
    study = searched(LINE)
    of_map, listed = study.sample(4000, rng=1), study.sample(4000, list(study.predict().regions), rng=2)
    np.testing.assert_allclose(np.corrcoef(of_map.T), np.corrcoef(listed.T), atol=0.12)


def test_members_and_motifs_are_drawn_together() -> None:
    points = searched(zn.Points(np.random.default_rng(0).normal(size=(20, 2))))
    assert points.sample(7, rng=0).shape == (7, 20)
    motifs = zn.Study(zn.Sequences("ACGT", 4), budget=5, kernel=zn.Motif(1.0), noise=0.1)
    assert motifs.sample(2, rng=0).shape == (2, 256)
    whole = [(0, 1)]
    assert searched(LINE).sample(3, whole, rng=0).shape == (3, 1)


def test_a_seed_gives_the_same_draws_again_and_changes_nothing() -> None:
    study = searched(LINE)
    before = study.events
    np.testing.assert_array_equal(study.sample(3, rng=5), study.sample(3, rng=5))
    generator = np.random.default_rng(5)
    assert (study.sample(3, rng=generator) != study.sample(3, rng=generator)).all()
    assert study.events == before


def test_rates_are_not_negative() -> None:
    study = zn.Study(LINE, budget=9, likelihood=zn.Counts(), rng=0)
    for _ in range(6):
        study.tell(study.ask(), 0)
    assert study.sample(200, rng=0).min() == 0


def test_a_study_opened_without_its_kernel_says_what_it_needs(tmp_path: Path) -> None:
    def near(x: Any, y: Any) -> Any:
        return np.exp(-((x[:, None] - y) ** 2).sum(axis=-1))

    points = zn.Points(np.random.default_rng(0).normal(size=(20, 2)))
    searched(points, budget=3, kernel=near, noise=0.1).save(tmp_path / "a.zonal")
    study = zn.Study.open(tmp_path / "a.zonal")
    for ask in (study.sample, lambda: study.probability(points.cell((1, 0)), above=1.0)):
        with pytest.raises(zn.StudyFileError, match=r"Open it with kernel="):
            ask()
    assert zn.Study.open(tmp_path / "a.zonal", kernel=near).sample(2, rng=0).shape == (2, 20)


def test_what_cannot_be_drawn_says_so() -> None:
    study = zn.Study(LINE, budget=9, policy=zn.StoOO(zn.GeometricDelta(14, 0.5)))
    with pytest.raises(zn.InvalidInput, match="no covariances and no model"):
        study.sample()
    with pytest.raises(zn.InvalidInput, match="number of draws"):
        searched(LINE).sample(0)
    with pytest.raises(zn.InvalidInput, match="one generator"):
        searched(LINE).sample(1 << 27)
    long = zn.Study(zn.Box([(0, 1)], smallest=2.0**-14), budget=3, kernel=zn.RBF(1.0, 0.1), noise=0.1)
    with pytest.raises(zn.InvalidInput, match="parts of an axis"):
        long.sample()
    points = zn.Points(np.random.default_rng(0).normal(size=(5000, 2)))
    many = zn.Study(points, budget=3, kernel=zn.RBF(1.0, 0.1), noise=0.1)
    with pytest.raises(zn.InvalidInput, match="4096 regions are drawn together"):
        many.sample()
