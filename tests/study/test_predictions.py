"""Predictions of all smallest regions, of a data frame of regions, as a table and as arrays by axis."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import zonal as zn

SPACES: dict[str, Any] = {
    "box": zn.Box({"x": (0, 1), "y": (2, 4)}, smallest=[0.25, 1], units={"x": "m"}),
    "mixed": zn.Product({"n": (1, 5), "p": (0.1, 10), "dye": ["red", "green"]}, scale={"n": "integer", "p": "log"},
                        smallest={"n": 1, "p": 1}),
    "ring": zn.Box({"l": (-180, 180)}, periodic=["l"], smallest=45),
    "sequences": zn.Sequences("ACGT", 2),
    "points": zn.Points([[0.0, 0.0], [1.0, 0.5], [2.0, 1.0]]),
    "areas": zn.Hierarchy({"A": ["1", "2"], "B": {"b": ["3"]}}),
}  # fmt: skip
NUMBER = {"box": 8, "mixed": 5 * 2 * 2, "ring": 8, "sequences": 16, "points": 3, "areas": 3}


def measured(name: str) -> zn.Study:
    space = SPACES[name]
    kernel = zn.Categorical if name in ("sequences", "areas") else zn.RBF
    study = zn.Study(space, budget=9, kernel=kernel, noise=0.1, rng=0, value_unit="K")
    for number in range(4):
        study.tell(study.ask(), float(number))
    return study


@pytest.mark.parametrize("name", SPACES)
def test_without_regions_all_of_the_smallest_size_are_predicted_once(name: str) -> None:
    study = measured(name)
    every = study.predict()
    assert len(every.regions) == len(every.mean) == NUMBER[name]
    assert sum(region.weight for region in every.regions) == pytest.approx(study.space.cell((0, 0)).weight)
    again = study.predict(list(every.regions))
    np.testing.assert_allclose(again.mean, every.mean, rtol=0, atol=1e-10)  # a grid is predicted in another order
    assert len(every.table()) == NUMBER[name]
    mean, std = every
    assert (mean, std) == (every.mean, every.std)
    assert pickle.loads(pickle.dumps(every)).regions == every.regions


@pytest.mark.parametrize("name", ["box", "mixed", "ring", "sequences"])
def test_a_grid_has_one_dimension_per_axis(name: str) -> None:
    study = measured(name)
    grid = study.predict().to_grid()
    assert [*grid.axes] == [*grid.bounds] == list(study.space.names)
    assert grid.mean.shape == grid.std.shape == tuple(len(places) for places in grid.axes.values())
    rng = np.random.default_rng(0)
    for _ in range(3):
        at = tuple(int(rng.integers(size)) for size in grid.mean.shape)
        if name == "sequences":
            where: Any = "".join(grid.axes[axis][i] for axis, i in zip(grid.axes, at, strict=True))
        else:
            bounds = {axis: tuple(grid.bounds[axis][i]) for axis, i in zip(grid.axes, at, strict=True)}
            where = bounds | ({"dye": grid.axes["dye"][at[2]]} if name == "mixed" else {})
        there = study.predict(where)
        assert there.mean == pytest.approx(grid.mean[at])
        assert there.std == pytest.approx(grid.std[at])


def test_a_grid_is_in_native_units() -> None:
    grid = measured("mixed").predict().to_grid()
    assert grid.axes["n"].tolist() == [1, 2, 3, 4, 5]
    assert grid.bounds["p"] == pytest.approx(np.array([[0.1, 1], [1, 10]]))
    assert grid.axes["p"] == pytest.approx([10**-0.5, 10**0.5])
    assert grid.axes["dye"].tolist() == ["red", "green"]


def test_what_is_no_grid_says_so() -> None:
    study = measured("box")
    with pytest.raises(zn.InvalidInput, match="a single number has no table and no grid"):
        study.predict([(0, 1), (2, 4)]).to_grid()
    with pytest.raises(zn.InvalidInput, match="these regions are not a grid"):
        study.predict([[(0.0, 1.0), (2.0, 4.0)], [(0.0, 0.5), (2.0, 3.0)]]).to_grid()
    with pytest.raises(zn.InvalidInput, match="points and areas are not on a grid"):
        measured("points").predict().to_grid()


def test_too_many_smallest_regions_are_counted_and_refused() -> None:
    study = zn.Study(zn.Box([(0, 1)] * 3, smallest=1 / 128), budget=3, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    with pytest.raises(
        zn.InvalidInput, match=r"at most 1048576 smallest regions .*; got 2097152. Pass the regions"
    ):
        study.predict()


FRAMES: dict[str, Any] = {
    "sheet": pd.DataFrame({"x_low": [0, 0.25], "x_high": [0.5, 0.75], "y_low": [2, 2], "y_high": [4, 3]}),
    "table": pl.DataFrame(
        {"x low [m]": [0.0, 0.25], "x high [m]": [0.5, 0.75], "y low": [2, 2], "y high": [4, 3]}
    ),
    "names": pd.DataFrame({"region": ["x 0..0.5 m, y 2..4", "x 0.25..0.75 m, y 2..3"], "other": [1, 2]}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_data_frame_has_a_region_in_each_row(name: str) -> None:
    study = measured("box")
    here = study.predict([[(0.0, 0.5), (2.0, 4.0)], [(0.25, 0.75), (2.0, 3.0)]])
    assert np.array_equal(study.predict(FRAMES[name]).mean, here.mean)
    assert np.array_equal(study.probability(FRAMES[name], above=1), study.probability(here.regions, above=1))


def test_one_column_of_an_axis_is_points_and_an_axis_without_columns_is_whole() -> None:
    study = measured("box")
    points = study.predict(pd.DataFrame({"x": [0.1, 0.2], "y": [3.0, 3.5]}))
    assert np.array_equal(points.mean, study.predict([[(0.1, 0.1), (3, 3)], [(0.2, 0.2), (3.5, 3.5)]]).mean)
    strips = study.predict(pd.DataFrame({"x_low": [0.0], "x_high": [0.5]}))
    assert strips.mean[0] == study.predict([(0, 0.5), (2, 4)]).mean


@pytest.mark.parametrize("name", ["mixed", "ring", "sequences", "points", "areas"])
def test_a_table_of_predictions_can_be_predicted_again(name: str) -> None:
    study = measured(name)
    every = study.predict()
    listing = every.table()
    if name == "points":
        frame: Any = pd.DataFrame({"rows": [" ".join(map(str, own.members)) for own in every.regions]})  # type: ignore[attr-defined]
        assert np.array_equal(study.predict(frame).mean, every.mean)
        return
    assert study.predict(listing).mean == pytest.approx(every.mean)
    assert study.predict(listing.to_pandas()).mean == pytest.approx(every.mean)


def test_a_data_frame_without_regions_says_which_columns_are_wanted() -> None:
    study = measured("box")
    with pytest.raises(zn.InvalidInput, match=r"got 'a'. Name its columns x_low, x_high, y_low, y_high, region"):
        study.predict(pd.DataFrame({"a": [1]}))
    with pytest.raises(zn.InvalidInput, match="row 1 of a data frame has no value on axis x"):
        study.predict(pd.DataFrame({"x": [1.0, np.nan], "y": [3.0, 3.0]}))
