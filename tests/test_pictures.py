"""`study.plot`: the right picture for every space, every mark explained, nothing beyond its room."""

from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import zonal as zn
from zonal.plots import plot_function, plot_pairs

mpl.use("Agg")

RNG = np.random.default_rng(0)
SPACES: dict[str, Any] = {
    "line": zn.Box({"depth": (0, 30)}, units=["m"], smallest=1.0),
    "log": zn.Box({"c": (1e-6, 1e-2)}, scale="log", smallest=0.25),
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
def picture_of(name: str) -> Axes:
    return study_of(name).plot(ax=new_axes())


def new_axes() -> Axes:
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.subplots()


def panels(ax: Axes) -> list[Axes]:
    return [child for child in ax.child_axes if isinstance(child, Axes)]


def said(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


WANTED = {
    "line": "posterior mean of f",
    "log": "posterior mean of f",
    "points of one feature": "posterior mean of f",
    "one axis and symbols": "red",
    "plane": "measured: larger circles, larger regions",
    "points of two features": "measured: larger circles, larger regions",
    "areas with places": "measured: larger circles, larger regions",
    "cube": "measured: larger circles, larger regions",
    "two axes and symbols": "measured: larger circles, larger regions",
    "points of four features": "measured: larger circles, larger regions",
    "symbols": "region found, and the way to it",
    "dna": "region found, and the way to it",
    "areas": "region found, and the way to it",
}


@EVERY
def test_the_picture_suits_the_space_and_its_legend_names_the_region_found(name: str) -> None:
    ax = picture_of(name)
    assert WANTED[name] in said(ax)
    assert any("region found" in text for text in said(ax))
    expected = {"cube": 3, "two axes and symbols": 2, "points of four features": 6}
    assert len(panels(ax)) == expected.get(name, 0)


@EVERY
def test_every_kind_can_be_drawn_with_a_legend_and_nothing_overflows_the_figure(name: str) -> None:
    for kind in (None, "history", "tree", "model", "regions"):
        ax = study_of(name).plot(kind, new_axes()) if kind else picture_of(name)
        assert said(ax), kind
        figure = ax.figure
        assert isinstance(figure, Figure)
        figure.canvas.draw()
        box, whole = figure.get_tightbbox().transformed(figure.dpi_scale_trans), figure.bbox
        assert box.x0 >= whole.x0 - 2, kind
        assert box.x1 <= whole.x1 + 2, kind
        assert box.y0 >= whole.y0 - 2, kind
        assert box.y1 <= whole.y1 + 2, kind


@pytest.mark.parametrize("name", ["dna", "areas"])
def test_names_stay_within_their_rectangles(name: str) -> None:
    ax = study_of(name).plot("regions", new_axes())
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
    assert len(bars) == study.told
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
    stars = sum("region found" in inner.get_legend_handles_labels()[1] for inner in panels(ax))
    assert stars == (len(study.recommend().region.symbols[1]) if study.recommend() else 0)  # type: ignore[attr-defined]


def test_what_is_forbidden_is_hatched_and_said_so() -> None:
    for name, never in (("plane", [(2, 4), (11, 12)]), ("two axes and symbols", {"dye": "red", "t": (0.5, 1)})):
        study = zn.Study(SPACES[name], budget=12, noise=0.1, forbidden=[never])
        study.optimize(lambda region: 1.0)
        ax = study.plot(ax=new_axes())
        drawn = [patch for inner in (ax, *panels(ax)) for patch in inner.patches if patch.get_hatch()]
        area = sum(patch.get_width() * patch.get_height() for patch in drawn)  # type: ignore[attr-defined]
        assert area == pytest.approx(2.0 if name == "plane" else 0.5)
        assert any(text.startswith("forbidden") for text in said(ax))


def test_a_study_without_measurements_can_be_drawn() -> None:
    for name in ("line", "plane", "dna"):
        zn.Study(SPACES[name], budget=3, noise=0.1).plot(ax=new_axes())
        zn.Study(SPACES[name], budget=3, noise=0.1).plot("history", new_axes())


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
    study.give_up(study.ask())
    study.ask()
    assert {"given up", "under way", "a measured average"} <= set(said(study.plot("history", new_axes())))


def test_bright_is_good_whichever_way() -> None:
    for direction, colours in (("maximize", "cividis"), ("minimize", "cividis_r")):
        ax = study_of("dna", None, direction).plot("regions", new_axes())
        assert ax.collections[0].get_cmap().name == colours


def test_a_picture_that_is_not_there_is_refused() -> None:
    with pytest.raises(zn.InvalidInput, match=r"no such picture; got 'pie'. Choose from history, tree"):
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
