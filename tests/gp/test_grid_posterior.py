"""All cells of a grid at once are what each of them is alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zonal as zn
from grids import SPACES, measured
from zonal.study import whole_map


@pytest.mark.parametrize("feedback", [zn.Mean(), zn.Center()], ids=["mean", "center"])
@pytest.mark.parametrize("kind", SPACES)
def test_every_cell_is_predicted_as_it_is_alone(kind: str, feedback: Any) -> None:
    symbols = kind in ("pools", "dyes")
    study = measured(kind, **({} if symbols else {"feedback": feedback}))
    every = study.predict()
    assert whole_map.smallest_grid(study._state) is not None
    alone = study.predict(list(every.regions))
    np.testing.assert_allclose(every.mean, alone.mean, atol=1e-9)
    np.testing.assert_allclose(every.std**2, alone.std**2, atol=1e-10)


def test_windows_off_the_grid_and_beams_are_among_the_rows() -> None:
    study = measured("plane", feedback=zn.Center())
    study.observe([(0.11, 0.33), (0.2, 0.9)], 1.0, sem=0.1, feedback=zn.Mean())
    every = study.predict()
    alone = study.predict(list(every.regions))
    np.testing.assert_allclose(every.mean, alone.mean, atol=1e-9)
    np.testing.assert_allclose(every.std, alone.std, atol=1e-8)


def test_slopes_and_motifs_are_predicted_as_before() -> None:
    study = measured("line")
    study.observe([(0, 0.5)], 0.2, sem=0.1, feedback=zn.Slope("x"))
    assert whole_map.smallest_grid(study._state) is None
    assert len(study.predict().mean) == 32
    motifs = zn.Study(zn.Sequences("ACGT", 4), budget=5, kernel=zn.Motif(1.0), noise=0.1)
    assert whole_map.smallest_grid(motifs._state) is None


@pytest.mark.parametrize("kind", ["line", "plane"])
def test_every_region_above_a_threshold_is_listed_whether_the_tree_has_it_or_not(kind: str) -> None:
    study = measured(kind)
    every, prediction = study.above(1.0, 0.5, every=True), study.predict()
    assert len(every.records) <= len(prediction.mean)
    chance = study.probability(list(prediction.regions), above=1.0)
    wanted = {region.name for region, p in zip(prediction.regions, chance, strict=True) if p >= 0.5 + 1e-9}
    assert wanted <= {row.region.name for row in every}
    assert all(row.probability >= 0.5 - 1e-9 for row in every)


def test_where_there_is_no_grid_the_whole_map_is_refused_with_a_fix() -> None:
    study = zn.Study(zn.Points(np.random.default_rng(0).normal(size=(20, 2))), budget=4)
    with pytest.raises(zn.InvalidInput, match=r"Leave every= out"):
        study.above(1.0, every=True)
