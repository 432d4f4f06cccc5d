"""Areas: GeoDataFrames, GeoPackage and GeoJSON go in, and predictions come out as the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from shell import zonal
from zonal.io.tables import read_table

geopandas = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")

CODES = ["0602", "0601", "3601", "3603", "3602"]  # in no order of the tree
CRS = "EPSG:4269"


@pytest.fixture
def counties() -> Any:
    squares = [shapely.box(j, j % 2, j + 1, j % 2 + 1) for j in range(5)]
    people = [1.0, 2.5, 3.0, 4.0, 5.0]
    columns = {"GEOID": CODES, "people": people, "seats": [1, 2, 3, 4, 5], "note": ["a", None, "", "b", "c"]}
    return geopandas.GeoDataFrame(columns, geometry=squares, crs=CRS)


def of(counties: Any, **settings: Any) -> zn.Hierarchy:
    return zn.Hierarchy.from_codes(
        counties["GEOID"], [2, 4], features=counties, weights=counties["people"], **settings
    )


def member(region: Any) -> int:
    return int(region.members[0])


def told(space: Any) -> zn.Study:
    study = zn.Study(space, budget=9, noise=0.1)
    study.optimize(lambda region: float(np.mean(region.members)), n=4)
    return study


@pytest.mark.parametrize("ending", ["gpkg", "geojson"])
def test_files_of_areas_are_tables(counties: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"counties.{ending}"
    counties.to_file(path)
    table = read_table(path)
    assert table.texts("GEOID") == CODES
    assert table.numbers("people").tolist() == counties["people"].tolist()
    assert table.numbers("seats").tolist() == [1, 2, 3, 4, 5]
    assert list(table.cells("note")) == ["a", "", "", "b", "c"]
    middle = shapely.centroid(counties.geometry.to_numpy())
    np.testing.assert_allclose(table.numbers("lon"), shapely.get_x(middle))
    np.testing.assert_allclose(table.numbers("lat"), shapely.get_y(middle))


@pytest.mark.parametrize("ending", ["gpkg", "geojson"])
def test_a_study_is_made_of_a_file_and_its_predictions_are_one(counties: Any, tmp_path: Path, ending: str) -> None:
    areas, path, out = tmp_path / f"counties.{ending}", tmp_path / "areas.db", tmp_path / f"mean.{ending}"
    counties.to_file(areas)
    zonal("new", path, "--points", areas, "--coords", "lon,lat", "--weight", "people", "--budget", "9")
    zonal("ask", path)
    zonal("tell", path, "0", "3.5")
    zonal("predict", path, "--above", "3", "--out", out, "--shapes", areas)
    read = geopandas.read_file(out)
    study = zn.Study.open(path)
    prediction = study.predict()
    assert read["region"].tolist() == [region.name for region in prediction.regions]
    np.testing.assert_allclose(read["mean"], prediction.mean)
    np.testing.assert_allclose(read["std"], prediction.std)
    np.testing.assert_allclose(read["above"], study.probability(prediction.regions, above=3))
    rows = [member(region) for region in prediction.regions]
    same = counties.geometry.to_crs(read.crs).iloc[rows]
    assert read.geometry.geom_equals_exact(same.reset_index(drop=True), 1e-9).all()
    zonal("predict", path, "--csv", out)  # and back
    zonal("plot", path, "--kind", "map", "--shapes", areas, "--out", tmp_path / "map.png")


def test_a_region_is_the_union_of_its_members(counties: Any) -> None:
    study = told(of(counties))
    state = study.space.region("36")
    frame = study.predict([state, study.space.region("36 > 3602")]).to_geodataframe()
    assert frame.crs == CRS
    assert frame.geometry[0].equals(shapely.union_all(counties.geometry.iloc[2:]))
    assert frame.geometry[1].equals(counties.geometry.iloc[4])
    assert frame["mean"].tolist() == study.predict([state, study.space.region("36 > 3602")]).mean.tolist()


def test_shapes_are_passed_where_a_file_has_none(counties: Any, tmp_path: Path) -> None:
    path = tmp_path / "areas.db"
    told(of(counties)).save(path)
    prediction = zn.Study.open(path).predict()
    with pytest.raises(zn.InvalidInput, match="no shapes"):
        prediction.to_geodataframe()
    with pytest.raises(zn.InvalidInput, match="one for each"):
        prediction.to_geodataframe(list(counties.geometry[:3]))
    frame = prediction.to_geodataframe(counties)
    assert frame.crs == CRS
    for region, shape in zip(prediction.regions, frame.geometry, strict=True):
        assert shape.equals(counties.geometry.iloc[member(region)])
    with pytest.raises(zn.InvalidInput, match="no shapes"):
        zn.Study([(0, 1)], budget=9).predict().to_geodataframe()


def test_geojson_is_in_degrees(counties: Any, tmp_path: Path) -> None:
    counties.to_crs("EPSG:5070").to_file(tmp_path / "metres.gpkg")
    table = read_table(tmp_path / "metres.gpkg")
    assert table.find("x") == "x"
    assert table.find("lon") is None
    path, out = tmp_path / "areas.db", tmp_path / "mean.geojson"
    zn.Study.create(path, of(counties), budget=9)
    zonal("predict", path, "--out", out, "--shapes", tmp_path / "metres.gpkg")
    bounds = geopandas.read_file(out).total_bounds
    np.testing.assert_allclose(bounds, counties.total_bounds, atol=1e-6)


def test_bad_files_are_refused(counties: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.geojson").write_text("{}", encoding="utf-8")
    (tmp_path / "bad.gpkg").write_bytes(b"no database")
    for name in ("bad.geojson", "bad.gpkg", "none.gpkg"):
        with pytest.raises(zn.InvalidInput):
            read_table(tmp_path / name)
    path = tmp_path / "areas.db"
    zn.Study.create(path, of(counties), budget=9)
    zonal("predict", path, "--shapes", tmp_path / "bad.gpkg", code=2)
    zonal("predict", path, "--out", tmp_path / "x.gpkg", code=1)
