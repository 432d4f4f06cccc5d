"""Data frames of every library: columns name features, labels decide which value belongs to which row."""

from typing import Any

import geopandas as gpd
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from shapely.geometry import Point, Polygon

import zonal as zn
from zonal.io.dataframes import as_frame, as_series

CITIES = ["Perth", "Hobart", "Cairns", "Darwin", "Sydney"]
COLUMNS = {"lon": [116.0, 147.0, 146.0, 131.0, 151.0], "lat": [-32.0, -43.0, -17.0, -12.0, -34.0]}
PERSONS = [2.0, 0.2, 0.15, 0.14, 5.3]
AGES = [38.0, 41.0, 37.0, 34.0, 36.0]


def frames() -> dict[str, Any]:
    plain = pd.DataFrame(COLUMNS)
    return {
        "pandas": plain,
        "polars": pl.DataFrame(COLUMNS),
        "Arrow": pa.table(COLUMNS),
        "a batch of Arrow": pa.record_batch(COLUMNS),
        "narwhals on pandas": nw.from_native(plain),
        "narwhals on polars": nw.from_native(pl.DataFrame(COLUMNS)),
        "anything of Arrow's protocol": OnlyArrow(pa.table(COLUMNS)),
    }


class OnlyArrow:
    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("name", frames())
def test_a_frame_of_any_library_gives_points_and_the_names_of_their_features(name: str) -> None:
    space = zn.Points(frames()[name], weights=PERSONS)
    assert space == zn.Points(COLUMNS, weights=PERSONS)
    assert space.names == ("lon", "lat")


@pytest.mark.parametrize(
    "series", [pl.Series, pd.Series, pa.array, lambda values: nw.from_native(pl.Series(values), series_only=True)]
)
def test_a_column_of_any_library_gives_weights_and_values(series: Any) -> None:
    space = zn.Points(COLUMNS, weights=series(PERSONS))
    assert space == zn.Points(COLUMNS, weights=PERSONS)
    assert zn.simulation.from_table(space, series(AGES)).best().average == 41.0


def by_city(values: Any, order: list[int]) -> pd.Series:
    return pd.Series([values[row] for row in order], index=[CITIES[row] for row in order])


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 2, 0, 1, 3]])
def test_a_shuffled_series_goes_by_its_index(order: list[int]) -> None:
    space = zn.Points(pd.DataFrame(COLUMNS, index=CITIES), weights=by_city(PERSONS, order))
    expected = zn.Points(COLUMNS, weights=PERSONS, labels=CITIES)
    assert space == expected
    best = zn.simulation.from_table(space, by_city(AGES, order)).best()
    assert (best.region.as_dict()["members"], best.average) == (["Hobart"], 41.0)


@pytest.mark.parametrize("shuffled", ["frame", "series"])
def test_row_numbers_as_an_index_are_labels_too(shuffled: str) -> None:
    order = [3, 0, 4, 1, 2]
    frame, weights = pd.DataFrame(COLUMNS), pd.Series(PERSONS)
    if shuffled == "frame":
        frame = frame.loc[order]
        by_hand = zn.Points(frame.to_numpy(), [PERSONS[row] for row in order])
    else:
        weights = weights.loc[order]
        by_hand = zn.Points(frame.to_numpy(), PERSONS)
    space = zn.Points(frame, weights)
    np.testing.assert_array_equal(space.weights, by_hand.weights)
    np.testing.assert_array_equal(space.features, by_hand.features)


def test_columns_of_series_are_put_in_the_order_of_the_first() -> None:
    lon = pd.Series(COLUMNS["lon"], index=CITIES)
    lat = pd.Series(COLUMNS["lat"], index=CITIES)[::-1]
    assert zn.Points({"lon": lon, "lat": lat}) == zn.Points(COLUMNS, labels=CITIES)


@pytest.mark.parametrize(
    ("weights", "named"),
    [
        (pd.Series(PERSONS, index=["Perth", "Hobart", "Cairns", "Darwin", "Sidney"]), "Sidney"),
        (pd.Series(PERSONS, index=["Perth", "Perth", "Cairns", "Darwin", "Sydney"]), "Perth"),
        (pd.Series([*PERSONS, 1.0], index=[*CITIES, "Broome"]), "Broome"),
    ],
    ids=["a name misspelt", "a name twice", "a name too many"],
)
def test_an_index_that_does_not_fit_is_refused_with_the_label(weights: Any, named: str) -> None:
    with pytest.raises(zn.InvalidInput, match=f"the index of weights .*got '{named}'.*to_numpy"):
        zn.Points(pd.DataFrame(COLUMNS, index=CITIES), weights=weights)


def test_labels_against_rows_without_labels_are_refused_never_ignored() -> None:
    with pytest.raises(zn.InvalidInput, match="the index of weights"):
        zn.Points(np.array(list(COLUMNS.values())).T, weights=pd.Series(PERSONS, index=CITIES))
    with pytest.raises(zn.InvalidInput, match="values of pixels have no index"):
        zn.simulation.from_table(zn.Box([(0, 1)]), pd.Series(AGES, index=CITIES))


def test_labels_are_names_wherever_regions_are_taken() -> None:
    space = zn.Points(pd.DataFrame(COLUMNS, index=CITIES))
    assert space.region("Darwin").name == "Darwin: lon 131, lat -12"
    assert space.region(["Perth", "Sydney"]).members.tolist() == space.region([0, 4]).members.tolist()
    mask = pd.Series([True, False, True], index=["Perth", "Hobart", "Cairns"]).reindex(
        CITIES[::-1], fill_value=False
    )
    assert sorted(space.region(mask).as_dict()["members"]) == ["Cairns", "Perth"]
    study = zn.Study(space, budget=4, kernel=zn.RBF(1.0, 10.0), noise=0.1)
    study.observe("Darwin", 34.0)
    assert len(study.predict(["Darwin", "Perth"]).mean) == 2
    assert isinstance(study.predict("Darwin").mean, float)
    with pytest.raises(zn.InvalidInput, match=r"no such member.*got 'Darwen'. Pass names such as 'Perth'"):
        space.region("Darwen")


def test_an_index_of_numbers_means_labels_not_rows() -> None:
    space = zn.Points(pd.DataFrame(COLUMNS, index=[10, 20, 30, 40, 0]))
    assert (
        space.region([0, 10]).members.tolist()
        == space.region(np.array([True, False, False, False, True])).members.tolist()
    )
    assert space.region([0, 10]).as_dict()["members"] == [0, 10]  # in the order of the tree


AREAS = {
    "state": ["WA", "TAS", "QLD", "NT", "NSW"],
    "city": CITIES,
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
def test_a_hierarchy_of_a_frame_has_one_level_a_column(make: Any) -> None:
    space = zn.Hierarchy.from_table(make(AREAS), features=make(COLUMNS), weights=make({"p": PERSONS})["p"])
    assert space == zn.Hierarchy.from_table(
        AREAS, np.array(list(COLUMNS.values())).T, PERSONS, feature_names=["lon", "lat"]
    )
    assert space.levels == ("state", "city")
    assert space.region("WA > Perth").as_dict() == {"state": "WA", "city": "Perth"}


def test_features_and_weights_of_a_hierarchy_go_by_the_index_of_its_table_or_by_leaf() -> None:
    codes = [11, 12, 13, 14, 15]
    table = pd.DataFrame(AREAS, index=codes)
    expected = zn.Hierarchy.from_table(table, pd.DataFrame(COLUMNS, index=codes), PERSONS)
    shuffled = [2, 4, 0, 1, 3]
    by_code = pd.DataFrame(COLUMNS, index=codes).iloc[shuffled]
    by_leaf = pd.DataFrame(COLUMNS, index=CITIES).iloc[shuffled]
    by_path = by_leaf.set_axis(pd.MultiIndex.from_tuples([(AREAS["state"][row], CITIES[row]) for row in shuffled]))
    for features in (by_code, by_leaf, by_path):
        assert zn.Hierarchy.from_table(table, features, by_city(PERSONS, shuffled)) == expected
    nested = {state: [city] for state, city in zip(*AREAS.values(), strict=True)}
    np.testing.assert_array_equal(zn.Hierarchy(nested, by_leaf).features, np.array(list(COLUMNS.values())).T)


def test_leaf_names_work_wherever_regions_do() -> None:
    space = zn.Hierarchy.from_table(pd.DataFrame(AREAS), weights=PERSONS)
    assert space.region("Perth").weight == 2.0
    assert space.region(["Perth", "Sydney"]).weight == 7.3
    study = zn.Study(space, budget=3, noise=0.1)
    study.observe("Perth", 38.0)
    with pytest.raises(zn.InvalidInput, match="no such member"):
        space.region(["Perth", "Sidney"])


def test_centroids_of_a_geodataframe_are_its_places() -> None:
    shapes = [Polygon([(x, 0), (x + 2, 0), (x + 2, 2), (x, 2)]) for x in (0.0, 4.0)]
    frame = gpd.GeoDataFrame({"persons": [3.0, 5.0]}, geometry=shapes, index=["west", "east"], crs=4326)
    space = zn.Points(frame, weights=frame["persons"][::-1])
    assert space == zn.Points({"lon": [1.0, 5.0], "lat": [1.0, 1.0]}, [3.0, 5.0], labels=["west", "east"])
    assert zn.Points(frame.to_crs(3857)).names == ("x", "y")
    with pytest.raises(zn.InvalidInput, match="a row has no geometry; got 'east'"):
        zn.Points(gpd.GeoDataFrame(geometry=[Point(0, 0), None], index=["west", "east"]))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_column_that_holds_no_numbers_is_named(make: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="column city"):
        zn.Points(make({"city": CITIES, **COLUMNS}))
    with pytest.raises(zn.InvalidInput, match="column lat must be finite, but row 1"):
        zn.Points(make({"lon": [1.0, 2.0], "lat": [1.0, None]}))


def test_what_cannot_be_read_is_refused_with_a_way_out() -> None:
    with pytest.raises(zn.InvalidInput, match=r"collect\(\)"):
        zn.Points(pl.LazyFrame(COLUMNS))
    twice: list[Any] = [pd.DataFrame(np.eye(3), columns=["b", "a", "a"])]
    twice.append(pa.Table.from_arrays([pa.array([1.0])] * 3, names=["b", "a", "a"]))
    for frame in twice:
        with pytest.raises(zn.InvalidInput, match="two columns have the same name; got 'a'"):
            zn.Points(frame)


def test_values_of_sequences_go_by_their_index() -> None:
    space = zn.Sequences("AC", 2)
    values = pd.Series([4.0, 1.0, 3.0, 2.0], index=["cc", "AA", "CA", "AC"])
    landscape = zn.simulation.from_table(space, values)
    assert [landscape.average(name) for name in ("AA", "AC", "CA", "CC")] == [1.0, 2.0, 3.0, 4.0]


def test_frequencies_of_symbols_go_by_the_names_of_columns_or_by_the_index() -> None:
    rows = [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]]
    expected = zn.Sequences("ACGT", 2, frequencies=rows)
    named = pd.DataFrame(rows, columns=list("ACGT"))
    assert zn.Sequences("ACGT", 2, frequencies=named[list("TGCA")].iloc[::-1]) == expected
    assert zn.Sequences("ACGT", 2, frequencies=pl.DataFrame(named[list("GACT")].to_dict("list"))) == expected
    every = pd.Series({"T": 0.4, "G": 0.3, "C": 0.2, "A": 0.1})
    assert zn.Sequences("ACGT", 2, frequencies=every) == zn.Sequences("ACGT", 2, frequencies=rows[0])
    with pytest.raises(zn.InvalidInput, match=r"the index of frequencies .*got 'U'"):
        zn.Sequences("ACGT", 2, frequencies=pd.DataFrame(rows, columns=list("ACGU")))


def test_a_frame_in_place_of_a_tree_is_answered_with_what_takes_it() -> None:
    with pytest.raises(zn.InvalidInput, match=r"Use Hierarchy\.from_table"):
        zn.Hierarchy(pd.DataFrame(AREAS))  # type: ignore[arg-type]


def test_a_truth_drawn_underneath_goes_by_its_index() -> None:
    from matplotlib.figure import Figure

    from zonal.plotting import plot_map

    space = zn.Points(pd.DataFrame(COLUMNS, index=CITIES))
    study = zn.Study(space, budget=2, noise=0.1)
    colours: list[Any] = [
        plot_map(study, Figure().subplots(), truth=truth).collections[0].get_array()
        for truth in (np.array(AGES), by_city(AGES, [4, 2, 0, 1, 3]))
    ]
    np.testing.assert_array_equal(colours[0], colours[1])


def test_what_is_no_frame_is_left_alone() -> None:
    for thing in ([1, 2], {"a": [1]}, np.eye(2), "text", 3, pd.DataFrame):
        assert as_frame(thing) is None
        assert as_series(thing) is None


def test_the_geometry_of_a_table_of_areas_is_no_level() -> None:
    corners = [[(0, 0), (2, 0), (2, 2)], [(2, 0), (4, 0), (4, 2)], [(0, 2), (2, 2), (2, 4)]]
    table = {"state": ["N", "S", "N"], "town": ["a", "b", "c"], "persons": [1.0, 2.0, 5.0]}
    areas = gpd.GeoDataFrame(table, geometry=[Polygon(own) for own in corners], crs="EPSG:4326")
    space = zn.Hierarchy.from_table(areas, weights="persons")
    assert [space.cell((1, j)).name for j in range(space.partition.count(1))] == ["N", "S"]
    assert space.level_names == ("state", "town")
    assert space.region("N > c").weight == 5
    assert space.names == ("lon", "lat")
    assert space.region("S > b").center == pytest.approx([10 / 3, 2 / 3])
    assert space.shapes.tolist() == areas.geometry.tolist()
    given = zn.Hierarchy.from_table(areas[["state", "town", "geometry"]], features=[[1.0], [2.0], [3.0]])
    assert given.names == ("x",)
    assert given.shapes is not None
    shuffled = areas.set_index(pd.Index([7, 8, 9])).iloc[[2, 0, 1]]
    assert zn.Hierarchy.from_table(shuffled, weights="persons").region("S").weight == 2
    plt = pytest.importorskip("matplotlib.pyplot")
    zn.Study(space, budget=3, kernel=zn.RBF(1.0, 1.0), noise=0.1).plot()
    plt.close("all")


def test_weights_may_be_a_column_of_the_table() -> None:
    table: Any = {"state": ["N", "S"], "town": ["a", "b"], "persons": [1.0, 3.0]}
    for form in (table, pd.DataFrame(table), pl.DataFrame(table)):
        areas = zn.Hierarchy.from_table(form, weights="persons")
        assert areas.level_names == ("state", "town")
        assert areas.region("S").weight == 3
    with pytest.raises(zn.InvalidInput, match=r"no such column of weights; got 'person'. Did you mean 'persons'"):
        zn.Hierarchy.from_table(table, weights="person")


def test_shapes_outside_a_geodataframe_are_no_names_of_areas() -> None:
    columns = {"state": ["a", "a", "b"], "town": ["1", "2", "3"], "outline": [Point(0, n) for n in range(3)]}
    for table in (columns, pd.DataFrame(columns), pd.DataFrame(columns).rename(columns={"outline": "geometry"})):
        with pytest.raises(zn.InvalidInput, match=r"has shapes, not names .*GeoDataFrame\(table, geometry='"):
            zn.Hierarchy.from_table(table)
    wrapped = nw.from_native(gpd.GeoDataFrame(columns, geometry="outline"))
    assert zn.Hierarchy.from_table(wrapped).paths == (("a", "1"), ("a", "2"), ("b", "3"))


def test_a_column_that_is_only_called_geometry_is_a_column() -> None:
    table = pd.DataFrame({"kind": ["a", "a", "b"], "geometry": ["round", "flat", "long"]})
    assert zn.Hierarchy.from_table(table).paths == (("a", "round"), ("a", "flat"), ("b", "long"))
    assert zn.Points(pd.DataFrame({"geometry": [1.0, 2.0, 4.0]})).names == ("geometry",)
