"""`study.plot`: the right picture for every space, every mark explained, nothing beyond its room."""

from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PatchCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import zonal as zn
from effort import EVERYTHING
from zonal.engine.events import Recommended
from zonal.plotting import plot_function, plot_pairs
from zonal.plotting.style import found_label, strength

pytestmark = pytest.mark.one_in(2)

mpl.use("Agg")

RNG = np.random.default_rng(0)
SPACES: dict[str, Any] = {
    "line": zn.Box({"depth": (0, 30)}, units=["m"], smallest=1.0),
    "log": zn.Box({"c": (1e-6, 1e-2)}, scale="log", smallest=0.25),
    "ring": zn.Box({"hour": (0, 24)}, periodic=["hour"], smallest=1.5),
    "plane": zn.Box({"l": (0, 4), "b": (10, 12)}, smallest=[0.5, 0.25]),
    "cube": zn.Box({"T": (20, 80), "pH": (4, 9), "c": (1e-3, 1)}, scale={"c": "log"}, smallest=[15, 1.25, 0.75]),
    "one axis and symbols": zn.Product({"t": (0, 1), "dye": ["red", "green", "blue"]}, smallest=0.125),
    "two axes and symbols": zn.Product({"t": (0, 1), "dye": ["red", "green"], "u": (0, 1)}, smallest=0.25),
    "symbols": zn.Product({"dye": ["red", "green"], "size": ["S", "M", "L"]}),
    "dna": zn.Sequences("ACGT", 3),
    "points of one feature": zn.Points({"age": RNG.random(30)}),
    "points of two features": zn.Points(RNG.random((30, 2))),
    "points of four features": zn.Points(RNG.random((30, 4))),
    "areas": zn.Hierarchy({"Northern Territory of the far north": ["Katherine", "Darwin"], "South": ["Hobart"]}),
    "areas with places": zn.Hierarchy({"N": ["a", "b"], "S": ["c", "d"]}, RNG.random((4, 2))),
}  # fmt: skip
COUNTING = zn.StoOO(zn.GeometricDelta(2.0))
EVERY = pytest.mark.parametrize("name", SPACES)


@cache
def study_of(name: str, policy: Any = None, direction: Any = "maximize") -> zn.Study:
    study = zn.Study(
        SPACES[name], budget=10, noise=0.1, rng=0, policy=policy, direction=direction,
        value_name="density", value_unit="kg/m3",
    )  # fmt: skip
    values = np.random.default_rng(1)
    study.optimize(lambda region: float(values.normal()) + region.weight)
    return study


@cache
def picture_of(name: str, kind: Any = None) -> Axes:
    return study_of(name).plot(kind, new_axes())


def new_axes() -> Axes:
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.subplots()


def panels(ax: Axes) -> list[Axes]:
    return [child for child in ax.child_axes if isinstance(child, Axes) and child.get_label() != "<legend>"]


def said(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


WANTED = {
    "line": "posterior mean of f",
    "log": "posterior mean of f",
    "ring": "posterior mean of f",
    "points of one feature": "posterior mean of f",
    "one axis and symbols": "red",
    "plane": "measured",
    "points of two features": "measured (circle size = region size)",
    "areas with places": "measured (circle size = region size)",
    "cube": "measured",
    "two axes and symbols": "measured",
    "points of four features": "measured (circle size = region size)",
    "symbols": "measured (larger dot: more often)",
    "dna": "",
    "areas": "measured (larger dot: more often)",
}


@EVERY
def test_the_picture_suits_the_space_and_its_legend_names_the_region_found(name: str) -> None:
    ax = picture_of(name)
    assert WANTED[name] in ["", *said(ax)]
    (found,) = [
        text for text in said(ax) if text.startswith(("region found", "best so far, but", "best region, but"))
    ]
    assert found.startswith("region found") == study_of(name).stands_out()
    expected = {"cube": 3, "two axes and symbols": 2, "points of four features": 6, "dna": 2}
    assert len(panels(ax)) == expected.get(name, 0)


@pytest.mark.tries
@pytest.mark.one_in(2)
@EVERY
def test_every_kind_can_be_drawn_with_a_legend_and_nothing_overflows_the_figure(name: str) -> None:
    every = (None, "tree", "history", "model")
    place = list(SPACES).index(name)
    for kind in every if EVERYTHING else (None, every[1 + place % 3], every[1 + (place + 1) % 3]):
        ax = picture_of(name, kind)
        assert said(ax), kind
        figure = ax.figure
        assert isinstance(figure, Figure)
        figure.draw_without_rendering()
        box, whole = figure.get_tightbbox().transformed(figure.dpi_scale_trans), figure.bbox
        assert box.x0 >= whole.x0 - 2, kind
        assert box.x1 <= whole.x1 + 3, kind
        assert box.y0 >= whole.y0 - 2, kind
        assert box.y1 <= whole.y1 + 2, kind
        title_is_clear(ax)


@pytest.mark.parametrize("name", ["dna", "areas"])
def test_names_stay_within_their_rectangles(name: str) -> None:
    ax = study_of(name).plot("tree", new_axes())
    ax.figure.canvas.draw()
    shelves = [path.get_extents() for path in ax.collections[0].get_paths()]
    texts = [text for text in ax.texts if text.get_text()]
    assert texts
    for text in texts:
        extent = text.get_window_extent().transformed(ax.transData.inverted())
        x, y = text.get_position()
        (inside,) = [own for own in shelves if own.x0 < x < own.x1 and own.y0 < y < own.y1]
        assert extent.x0 >= inside.x0 - 1e-3
        assert extent.x1 <= inside.x1 + 1e-3


def test_the_function_is_that_of_the_study_and_every_measurement_is_a_bar() -> None:
    study = study_of("line")
    ax = plot_function(study, new_axes(), lambda x: np.asarray(x[:, 0] / 30))
    x, mean = (np.asarray(part) for part in ax.lines[0].get_data())
    np.testing.assert_allclose(mean, study.predict([[(place, place)] for place in x]).mean)
    bars = ax.collections[1].get_segments()  # type: ignore[attr-defined]
    assert len(bars) == study.measured
    np.testing.assert_allclose(bars[3][:, 0], study.trials[3].region.bounds[0])
    assert bars[3][0, 1] == study.trials[3].value
    assert "reward function f" in said(ax)


def test_logarithmic_axes_are_drawn_so() -> None:
    assert picture_of("log").get_xscale() == "log"
    assert study_of("log").plot("tree", ax=new_axes()).get_xscale() == "log"
    scales = [(inner.get_xlabel(), inner.get_yscale()) for inner in panels(picture_of("cube"))]
    assert scales == [("T", "linear"), ("T", "log"), ("pH", "log")]


def test_panels_are_titled_by_their_symbols_and_show_the_cells_means() -> None:
    study = study_of("two axes and symbols")
    ax = plot_pairs(study, new_axes())
    assert [inner.get_title() for inner in panels(ax)] == ["red", "green"]
    mesh = panels(ax)[1].collections[0]
    cell = study.space.region({"t": (0, 1 / 24), "u": (0, 1 / 24), "dye": "green"})
    assert np.asarray(mesh.get_array()).ravel()[0] == pytest.approx(study.predict(cell).mean)
    assert np.asarray(mesh.get_alpha()).ravel()[0] == pytest.approx(strength(study.relative_std([cell]))[0])
    frames = sum(found_label(study) in inner.get_legend_handles_labels()[1] for inner in panels(ax))
    assert frames == len(study.recommend().region.symbols[1])  # type: ignore[attr-defined]


def test_what_is_forbidden_is_hatched_and_said_so() -> None:
    for name, never in (("plane", [(2, 4), (11, 12)]), ("two axes and symbols", {"dye": "red", "t": (0.5, 1)})):
        study = zn.Study(SPACES[name], budget=12, noise=0.1, forbidden=[never])
        study.optimize(lambda region: 1.0)
        ax = study.plot(ax=new_axes())
        drawn = [patch for inner in (ax, *panels(ax)) for patch in inner.patches if patch.get_hatch() == "////"]
        rings = [ring for patch in drawn for ring in patch.get_path().to_polygons()]
        area = sum(float(np.prod(np.ptp(ring, axis=0))) for ring in rings)
        assert area == pytest.approx(2.0 if name == "plane" else 0.5)
        assert any(text.startswith("forbidden") for text in said(ax))


@pytest.mark.one_in(3)
@EVERY
@pytest.mark.parametrize("kind", [None, "history", "tree"])
def test_a_picture_of_a_study_without_measurements_says_so_and_claims_nothing(name: str, kind: Any) -> None:
    ax = zn.Study(SPACES[name], budget=3, noise=0.1, value_name="age").plot(kind, new_axes())
    assert "nothing measured yet" in [text.get_text() for text in ax.texts]
    assert ax.get_title() == "age: 0 of 3 measured"
    assert not any("found" in text or "best" in text for text in said(ax))
    assert "best" not in ax.get_xlabel()


def marked_study(name: str) -> zn.Study:
    """Return a study with a region that cannot be measured and one pending."""
    study = zn.Study(SPACES[name], budget=12, noise=0.1, kernel=None, rng=0)
    values = np.random.default_rng(2)
    study.optimize(lambda region: float(values.normal()), n=7)
    study.fail(study.ask(), retry=False)
    study.ask()
    return study


@pytest.mark.one_in(5)
@EVERY
@pytest.mark.parametrize("kind", [None, "tree"])
def test_what_is_under_way_or_cannot_be_measured_is_marked_wherever_regions_are(name: str, kind: Any) -> None:
    ax = marked_study(name).plot(kind, new_axes())
    assert {"pending", "cannot be measured"} <= set(said(ax))
    tags = [text.get_text() for inner in (ax, *panels(ax)) for text in inner.texts]
    assert any(tag.startswith("#8") for tag in tags)
    assert ax.get_title() == "value: 7 of 12 measured, 1 pending"


def test_marks_are_where_their_regions_are() -> None:
    study = marked_study("plane")
    ax = study.plot(ax=new_axes())
    drawn = {str(patch.get_label()): patch for patch in ax.patches}
    (blocked,), (trial,) = study.blocked, study.pending
    for label, region in (
        ("cannot be measured", blocked), ("pending", trial.region), (found_label(study), study.recommend().region),
    ):  # fmt: skip
        extent = drawn[label].get_path().get_extents().extents
        np.testing.assert_allclose(extent, region.bounds.T.ravel())
    assert drawn["cannot be measured"].get_hatch()
    assert drawn["pending"].get_linestyle() != "solid"


def test_regions_that_do_not_touch_a_panel_are_not_marked_in_it() -> None:
    study = marked_study("two axes and symbols")
    marked = []
    for inner, dye in zip(panels(study.plot(ax=new_axes())), ("red", "green"), strict=True):
        shown = [trial for trial in study.pending if dye in trial.region.symbols[1]]  # type: ignore[attr-defined]
        marked.append("pending" in inner.get_legend_handles_labels()[1])
        assert marked[-1] == bool(shown)
    assert sorted(marked) == [False, True]


def test_colours_fade_where_little_is_known() -> None:
    study = study_of("plane")
    ax = study.plot(ax=new_axes())
    leaves = np.flatnonzero(study.tree.first_child < 0)
    alpha, doubt = np.asarray(ax.collections[0].get_alpha()), study.relative_std()[leaves]
    np.testing.assert_allclose(alpha, 1 - 0.88 * doubt**2)
    assert 0.12 <= alpha.min() < alpha.max() < 1
    (bar,) = [other for other in ax.figure.axes if other is not ax]
    assert bar.get_ylabel() == "posterior mean of density [kg/m3]"
    assert "paler where\nuncertain" in [text.get_text() for text in bar.texts]
    shelves = study.plot("tree", new_axes()).collections[0]
    np.testing.assert_allclose(np.asarray(shelves.get_alpha()), 1 - 0.88 * study.relative_std() ** 2)


def test_what_does_not_stand_out_is_dotted_and_said_so() -> None:
    study = zn.Study(SPACES["plane"], budget=12, kernel=zn.RBF(1e-4, 1.0), noise=1.0)
    for value in (1.0, -1.0, 0.5):
        study.tell(study.ask(), value)
    for ax in (study.plot(ax=new_axes()), study.plot("tree", new_axes())):
        assert "best so far, but it does not stand out" in said(ax)
        (frame,) = [patch for patch in ax.patches if str(patch.get_label()).startswith("best so far")]
        assert frame.get_linestyle() in (":", "dotted")


@pytest.mark.one_in(3)
@EVERY
def test_a_title_of_ones_own_keeps_clear_of_the_legend_too(name: str) -> None:
    ax = picture_of(name)
    ax.set_title("mine")
    assert isinstance(ax.figure, Figure)
    ax.figure.draw_without_rendering()
    title_is_clear(ax)


def title_is_clear(ax: Axes) -> None:
    legend = ax.get_legend()
    assert legend is not None
    assert ax.title.get_window_extent().y0 >= legend.get_window_extent().y1 - 1


def test_a_title_that_is_there_stays() -> None:
    ax = new_axes()
    ax.set_title("mine")
    assert study_of("line").plot(ax=ax).get_title() == "mine"


def test_a_study_in_a_file_is_called_by_its_name(tmp_path: Path) -> None:
    study = zn.Study.create(tmp_path / "sky of May.db", SPACES["line"], budget=3, noise=0.1)
    study.tell(study.ask(), 1.0)
    assert study.plot(ax=new_axes()).get_title() == "sky of May: 1 of 3 measured"


@pytest.mark.parametrize("name", ["line", "dna", "areas with places"])
def test_the_history_shows_what_was_the_best_after_each_measurement(name: str) -> None:
    study = study_of(name)
    ax = study.plot("history", new_axes())
    (line,) = [own for own in ax.lines if str(own.get_label()).startswith("best region so far")]
    x, mean = (np.asarray(part) for part in line.get_data())
    np.testing.assert_array_equal(x, range(10))
    np.testing.assert_allclose(mean, [then.recommend(on_grid=True).mean for then in study.snapshot(*range(1, 11))])
    best = study.recommend(on_grid=True)
    assert mean[-1] == pytest.approx(best.mean)
    (band,) = [own for own in ax.collections if own.get_label() == "two standard deviations"]
    edges = np.asarray(band.get_paths()[0].vertices)
    last = edges[edges[:, 0] == 9][:, 1]
    assert (last.min(), last.max()) == pytest.approx((best.mean - 2 * best.std, best.mean + 2 * best.std))


def test_without_kept_answers_the_history_is_computed_at_some_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zonal.plotting.history.WORK", 1.0)
    study = study_of("line")
    older = [tuple(event for event in call if not isinstance(event, Recommended)) for call in study.events]
    ax = zn.Study.replay(study.settings, older).plot("history", new_axes())
    (line,) = [own for own in ax.lines if str(own.get_label()).startswith("best region so far")]
    assert list(np.asarray(line.get_data()[0])) == [0, 9]


def test_measured_averages_have_the_colour_of_their_symbol() -> None:
    study = study_of("one axis and symbols")
    ax = plot_function(study, new_axes())
    curves = {str(line.get_label()): to_hex(line.get_color()) for line in ax.lines}
    bars = next(own for own in ax.collections if own.get_label() == "measured averages")
    for trial, colour in zip(study.trials, bars.get_color(), strict=True):  # type: ignore[attr-defined]
        dyes: Any = trial.region.symbols[1]  # type: ignore[attr-defined]
        expected = curves[dyes[0]] if len(dyes) == 1 else "#222222"
        assert to_hex(colour) == expected.lower()


def test_what_is_forbidden_of_some_symbols_is_hatched_on_their_curves_alone() -> None:
    never = {"dye": "red", "t": (0.5, 1)}
    study = zn.Study(SPACES["one axis and symbols"], budget=14, noise=0.1, forbidden=[never])
    study.optimize(lambda region: 1.0)
    ax = study.plot(ax=new_axes())
    hatched = [own for own in ax.collections if own.get_hatch()]
    assert len(hatched) == 1
    left, right = hatched[0].get_paths()[0].get_extents().intervalx
    assert 0.49 < left < 0.52
    assert right == 1.0
    assert not [patch for patch in ax.patches if patch.get_hatch()]
    assert any(text.startswith("forbidden") for text in said(ax))


# Polygons.


def country() -> Any:
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    squares = [shapely.box(x, 50 + y, x + 1, 51 + y) for x in range(4) for y in range(3)]
    squares[0] = squares[0].difference(shapely.box(0.25, 50.25, 0.75, 50.75))
    squares[5] = shapely.MultiPolygon([squares[5], shapely.box(5, 50, 6, 51)])
    names = [f"area {number}" for number in range(12)]
    return geopandas.GeoDataFrame({"people": range(12)}, geometry=squares, crs="EPSG:4326", index=names)


def surveyed(space: Any, **settings: Any) -> zn.Study:
    study = zn.Study(space, budget=8, noise=0.1, kernel=zn.RBF(1.0, 1.0), **settings)
    study.optimize(lambda region: float(region.center[0]), n=7)
    study.ask()
    return study


def areas_of(collection: Any) -> list[float]:
    return [sum(_signed(ring) for ring in path.to_polygons()) for path in collection.get_paths()]


def _signed(ring: Any) -> float:
    x, y = np.asarray(ring).T
    return float(x[:-1] @ y[1:] - x[1:] @ y[:-1]) / 2


def test_areas_of_a_geodataframe_are_drawn_as_they_are(tmp_path: Path) -> None:
    frame = country()
    study = surveyed(zn.Points(frame, weights=frame["people"] + 1.0))
    ax = study.plot(ax=new_axes())
    drawn = ax.collections[0]
    order = frame.geometry.iloc[study.space.rows]
    np.testing.assert_allclose(areas_of(drawn), [shape.area for shape in order])  # holes and islands included
    assert "pending" in said(ax)
    (frame_found,) = [patch for patch in ax.patches if str(patch.get_label()) == found_label(study)]
    members: Any = study.recommend().region
    assert areas_of_patch(frame_found) == pytest.approx(sum(order.iloc[at].area for at in members.positions))
    assert ax.get_aspect() == pytest.approx(1 / np.cos(np.radians(51.5)), rel=0.01)
    study.save(tmp_path / "areas.db")  # no file has polygons: they are passed again
    again = zn.Study.open(tmp_path / "areas.db")
    assert not isinstance(again.plot(ax=new_axes()).collections[0], PatchCollection)
    for shapes in (frame, frame.geometry, frame.sample(frac=1.0, random_state=0), list(frame.geometry)):
        shown = again.plot(ax=new_axes(), shapes=shapes).collections[0]
        np.testing.assert_allclose(areas_of(shown), areas_of(drawn))


def areas_of_patch(patch: Any) -> float:
    return sum(_signed(ring) for ring in patch.get_path().to_polygons())


def test_a_hierarchy_of_areas_is_drawn_as_they_are_and_forbidden_ones_are_hatched() -> None:
    frame = country()
    states = {"west": list(frame.index[:6]), "east": list(frame.index[6:])}
    space = zn.Hierarchy(states, features=frame.sample(frac=1.0, random_state=1))
    study = surveyed(space, forbidden=["area 3"])
    ax = study.plot(ax=new_axes())
    by_name = [frame.geometry.loc[path[-1]] for path in space.paths]
    np.testing.assert_allclose(areas_of(ax.collections[0]), [shape.area for shape in by_name])
    (hatched,) = [patch for patch in ax.patches if str(patch.get_label()) == "forbidden"]
    assert areas_of_patch(hatched) == pytest.approx(frame.geometry.loc["area 3"].area)


def test_anything_with_a_geo_interface_is_a_shape_and_points_are_dots() -> None:
    class Triangle:
        def __init__(self, x: float) -> None:
            corners = [[(x, 0), (x, 1), (x + 1, 0), (x, 0)]]
            self.__geo_interface__ = {"type": "Polygon", "coordinates": corners}

    space = zn.Points({"x": np.arange(4.0), "y": np.zeros(4)})
    study = surveyed(space)
    ax = study.plot(ax=new_axes(), shapes=[Triangle(x) for x in range(4)])
    np.testing.assert_allclose(areas_of(ax.collections[0]), 0.5)
    assert ax.get_aspect() == 1.0
    dots = study.plot(ax=new_axes(), shapes=[None] * 4).collections[0]
    assert not isinstance(dots, PatchCollection)
    with pytest.raises(zn.InvalidInput, match="one for each of 4 members; got 3"):
        study.plot(ax=new_axes(), shapes=[Triangle(x) for x in range(3)])


def test_beliefs_without_a_model_are_drawn_by_their_cells() -> None:
    assert (
        "confidence in the cell's average"
        in study_of("line", COUNTING).plot(ax=new_axes()).get_legend_handles_labels()[1]
    )
    study_of("plane", COUNTING).plot(ax=new_axes())
    with pytest.raises(zn.InvalidInput, match="no kernel over axes"):
        study_of("line", COUNTING).plot("model")


def test_trials_under_way_and_given_up_are_marked() -> None:
    study = zn.Study(SPACES["line"], budget=5, kernel=zn.RBF(1.0, 5.0), noise=0.1)
    study.tell(study.ask(), 1.0, sem=0.1)
    study.fail(study.ask())
    study.ask()
    assert {"failed", "pending", "a measured average"} <= set(said(study.plot("history", new_axes())))


def test_the_best_pools_are_listed_and_every_symbol_is_coloured_by_position() -> None:
    study = study_of("dna")
    listed, by_position = panels(study.plot("pools", new_axes()))
    best = study.recommend(k=20, on_grid=True)
    assert [text.get_text() for text in listed.get_yticklabels()] == [pool.region.name for pool in best]
    values = np.asarray(by_position.images[0].get_array())
    assert values.shape == (4, 3)
    assert values[2, 1] == pytest.approx(study.predict(study.space.region("NGN")).mean)
    with pytest.raises(zn.InvalidInput, match="pools are regions of Sequences; got 'Box'"):
        study_of("line").plot("pools", new_axes())


def test_bright_is_good_whichever_way() -> None:
    for direction, colours in (("maximize", "viridis"), ("minimize", "viridis_r")):
        ax = study_of("dna", None, direction).plot("tree", new_axes())
        assert ax.collections[0].get_cmap().name == colours


@pytest.mark.parametrize(("space", "kind"), [("plane", "map"), ("cube", "map"), ("dna", "tree")])
def test_colours_and_their_ends_can_be_chosen(space: str, kind: Any) -> None:
    study = study_of(space)
    axes = study.plot(kind, new_axes(), cmap="magma", limits=(-3, 4))
    coloured = next(artist for artist in axes.findobj(PolyCollection) if artist.get_array() is not None)
    assert (coloured.get_cmap().name, coloured.get_clim()) == ("magma", (-3.0, 4.0))
    for wrong in [(1, 0), (0, 1, 2), 3, (0, np.nan)]:
        with pytest.raises(zn.InvalidInput, match="two ascending numbers"):
            study.plot(kind, new_axes(), limits=wrong)


def test_where_hardly_anything_is_known_there_are_dots() -> None:
    study = zn.Study(SPACES["plane"], budget=5, kernel=zn.RBF(1.0, 0.1), noise=0.1)
    study.observe([(0, 0.5), (10, 10.25)], 1.0, sem=0.1)
    assert "hardly anything known" in said(study.plot(ax=new_axes()))


def test_a_picture_that_is_not_there_is_refused() -> None:
    with pytest.raises(zn.InvalidInput, match=r"no such plot; got 'pie'. Choose from history, tree"):
        study_of("line").plot("pie")  # type: ignore[arg-type]
    with pytest.raises(zn.InvalidInput, match="one continuous axis"):
        plot_function(study_of("dna"))
    with pytest.raises(zn.InvalidInput, match="two coordinates"):
        plot_pairs(study_of("line"))


def test_new_axes_are_made_where_none_are_given() -> None:
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    ax = study_of("line").plot()
    assert len(pyplot.get_fignums()) == len(before) + 1
    assert isinstance(ax.figure, Figure)
    pyplot.close(ax.figure)
