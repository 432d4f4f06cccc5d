"""Rasters: DataArrays, GeoTIFF and NetCDF as truths; predictions as a Dataset with CF bounds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from shell import zonal
from zonal.simulation import from_raster

xarray = pytest.importorskip("xarray")
HEIGHT = np.arange(32, dtype=float).reshape(4, 8)
LAT, LON = [45.0, 35.0, 25.0, 15.0], [2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 32.5, 37.5]  # north first, as in images


def raster() -> Any:
    lat, lon = ("lat", LAT, {"units": "degrees_north"}), ("lon", LON, {"units": "degrees_east"})
    return xarray.DataArray(HEIGHT, {"lat": lat, "lon": lon}, ("lat", "lon"), name="height")


def check(landscape: Any, names: tuple[str, str]) -> None:
    """Check that a landscape is the raster: its pixels at their places."""
    space = landscape.space
    assert space.names == names
    assert space.bounds == ((10, 50), (0, 40))
    best = landscape.best().region
    assert best.bounds.tolist() == [[10, 20], [35, 40]]
    assert landscape.average([(40, 50), (0, 5)]) == 0
    assert landscape.average([(10, 30), (0, 40)]) == pytest.approx(HEIGHT[2:].mean())


def test_a_data_array_is_a_landscape_on_the_box_of_its_pixels() -> None:
    landscape = from_raster(raster())
    check(landscape, ("lat", "lon"))
    space: Any = landscape.space
    assert space.units == ("deg", "deg")
    assert from_raster(raster(), smallest={"lat": 20, "lon": 10}).best().region.bounds.tolist() == [
        [10, 30],
        [30, 40],
    ]
    assert from_raster(raster(), direction="minimize").best().average == 0


def test_a_netcdf_file_is_rehearsed_on(tmp_path: Path) -> None:
    path = tmp_path / "height.nc"
    raster().to_dataset().to_netcdf(path, engine="scipy")
    landscape = from_raster(path)
    check(landscape, ("lat", "lon"))
    table = zn.rehearse(landscape, budget=6, noise=0.5, runs=2)
    assert "Zonal" in str(table)
    raster().to_dataset().assign(depth=raster()).to_netcdf(path, engine="scipy")
    check(from_raster(path, variable="depth"), ("lat", "lon"))
    with pytest.raises(zn.InvalidInput, match=r"several variables.*height.*depth"):
        from_raster(path)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of affine, within rioxarray
def test_a_geotiff_is_rehearsed_on(tmp_path: Path) -> None:
    pytest.importorskip("rioxarray")
    path, renamed = tmp_path / "height.tif", raster().rename(lat="y", lon="x")
    renamed.rio.write_crs(4326).rio.to_raster(path)
    check(from_raster(path), ("y", "x"))
    with_gap = renamed.copy()
    with_gap[1, 2] = np.nan
    with_gap.rio.write_nodata(np.nan).rio.to_raster(path)
    with pytest.raises(zn.InvalidInput, match=r"without a value; got \{'y': 1, 'x': 2\}"):
        from_raster(path)
    xarray.concat([renamed, renamed], "band").assign_coords(band=[1, 2]).rio.to_raster(path)
    with pytest.raises(zn.InvalidInput, match="one band"):
        from_raster(path)


def test_a_raster_that_is_none_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong, message in (
        (HEIGHT, "DataArray or a path"),
        (tmp_path / "missing.nc", "no such file"),
        (xarray.DataArray(HEIGHT, dims=("lat", "lon")), "dimension lat has no positions"),
        (raster().assign_coords(lat=[45.0, 35.0, 20.0, 15.0]), "equally wide"),
        (raster()[:1, :1], "more than one pixel"),
    ):
        with pytest.raises(zn.InvalidInput, match=message):
            from_raster(wrong)
    (tmp_path / "height.tif").touch()
    (tmp_path / "height.nc").touch()
    for name in ("rioxarray", "xarray"):
        monkeypatch.setitem(sys.modules, name, None)
    for ending in ("tif", "nc"):
        with pytest.raises(zn.InvalidInput, match=r"not installed.*zonal\[raster\]"):
            from_raster(tmp_path / f"height.{ending}")


def test_predictions_are_written_with_cf_bounds_and_read_back_by_xarray(tmp_path: Path) -> None:
    landscape = from_raster(raster())
    study = zn.Study(landscape.space, budget=8, kernel=zn.RBF(60.0, 10.0), noise=0.5, mean=16.0, value_unit="m")
    study.optimize(landscape.simulate(0.5, 0))
    study.predict().to_xarray().to_netcdf(tmp_path / "map.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "map.nc", decode_coords="all") as read:
        assert read["lat"].encoding["bounds"] == "lat_bounds"
        assert "lat_bounds" in read.coords  # xarray knows what it is
        assert read["lat"].attrs["units"] == "deg"
        assert read["mean"].attrs["cell_methods"] == "lat: mean lon: mean"
        assert read["mean"].attrs["units"] == "m"
        for i, j in ((0, 0), (3, 7), (2, 1)):
            part = {name: tuple(read[f"{name}_bounds"].values[at]) for name, at in (("lat", i), ("lon", j))}
            mean, std = study.predict(part)
            assert (float(read["mean"][i, j]), float(read["std"][i, j])) == pytest.approx((mean, std))
            assert float(read["lat"][i]) == pytest.approx(np.mean(part["lat"]))
        again = from_raster(read["mean"])
    assert again.space == landscape.space


def test_symbols_have_no_bounds_and_names_of_variables_are_no_axes() -> None:
    mixed = zn.Product({"dye": ["red", "green"], "x": (0, 1)}, smallest={"x": 0.5})
    dataset = zn.Study(mixed, budget=5, kernel=None).predict().to_xarray()
    assert dataset["dye"].values.tolist() == ["red", "green"]
    assert "dye_bounds" not in dataset.coords
    assert dataset["mean"].dims == ("dye", "x")
    named = zn.Study(zn.Box({"mean": (0, 1)}, smallest=0.5), budget=5)
    with pytest.raises(zn.InvalidInput, match="name of a variable"):
        named.predict().to_xarray()
    with pytest.raises(zn.InvalidInput, match="not on a grid"):
        zn.Study(zn.Points(np.eye(3)), budget=5).predict().to_xarray()


def test_the_shell_writes_a_map_that_xarray_opens(tmp_path: Path) -> None:
    study = zn.Study(zn.Box({"x": (0, 1)}, smallest=0.25), budget=5, kernel=zn.RBF(1.0, 0.3), noise=0.1)
    study.save(tmp_path / "line.db")
    zonal("export", tmp_path / "line.db", "--format", "netcdf", "--out", tmp_path / "line.nc")
    with xarray.open_dataset(tmp_path / "line.nc") as read:
        assert read.identical(study.predict().to_xarray())
