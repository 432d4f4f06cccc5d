"""All cells of a grid at once are what each of them is alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.study import whole_map

SPACES: dict[str, tuple[Any, Any]] = {
    "line": (zn.Box([(0, 1)], smallest=1 / 32), zn.RBF(1.0, 0.2)),
    "plane": (zn.Box([(0, 1), (0, 2)], smallest=(1 / 8, 1 / 4)), zn.Matern(1.0, 0.3, nu=1.5)),
    "sum": (zn.Box([(0, 1)] * 2, smallest=1 / 8), zn.RBF(1.0, 0.5) + zn.Matern(0.3, 0.1, nu=0.5)),
    "cube": (zn.Box([(0, 1)] * 3, smallest=1 / 4), zn.RBF(1.0, 0.4)),
    "ring": (zn.Box({"l": (0, 360), "b": (-1, 1)}, periodic=["l"], smallest=(45, 0.5)), zn.RBF(1.0, (60, 0.5))),
    "dyes": (zn.Product({"x": (0, 1), "dye": ["red", "green", "blue"]}).with_smallest(), None),
    "uneven": (zn.Box([(1, 12)], scale="integer"), None),
    "pools": (zn.Sequences("ACGT", 4), zn.Categorical(1.0, 0.4)),
}


def measured(kind: str, **settings: Any) -> zn.Study:
    space, kernel = SPACES[kind]
    study = zn.Study(space, budget=14, kernel=kernel, rng=2, **settings)
    rng = np.random.default_rng(5)
    while study.remaining:
        trial = study.ask()
        study.tell(trial, float(len(trial.region.name) % 3 + rng.normal(0, 0.3)))
    return study


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
