"""Pictures are checked by what was drawn: the numbers of every artist against the study's own."""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import zonal as zn
from zonal.plotting import column_width, plot_cells, plot_tree, rim
from zonal.policies.beta import beta_t, log_node_count


def wave(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(9 * x[:, 0]) + 4)


@pytest.fixture(scope="module")
def study() -> zn.Study:
    study = zn.Study(
        zn.Box({"depth": (10, 12)}, units=["m"]),
        budget=25,
        kernel=zn.RBF(1.0, 0.2),
        noise=0.1,
        mean=4.0,
        feedback=zn.Average(3),
        policy=zn.GPOO(zn.GeometricDelta(4)),
        value_name="density",
        value_unit="kg/m3",
    )
    study.optimize(zn.simulate(wave, zn.Average(3), 0.1, rng=0))
    return study


def axes() -> Axes:
    return Figure().subplots()


def bars(ax: Axes) -> list[list[tuple[float, float, float, float]]]:
    """Return left, bottom, right and top of the bars of each call of `bar`."""
    containers = []
    for container in ax.containers:
        boxes = [patch.get_bbox() for patch in container if isinstance(patch, Rectangle)]
        containers.append([(box.x0, box.y0, box.x1, box.y1) for box in boxes])
    return containers


def test_every_leaf_has_its_confidence_and_variation_drawn_around_its_mean(study: zn.Study) -> None:
    ax = plot_cells(study, axes(), wave)
    tree = study.tree
    leaves = np.flatnonzero(tree.first_child < 0)
    beta = beta_t(study.measured + 1, log_node_count(2, 10), 0.1)
    confidence = math.sqrt(beta) * tree.std[leaves]
    variation = 4 * 0.5 ** tree.depth[leaves]
    light, dark = (np.array(drawn) for drawn in bars(ax))
    for drawn, half in ((dark, confidence), (light, confidence + variation)):
        np.testing.assert_allclose(drawn[:, 1], tree.mean[leaves] - half)
        np.testing.assert_allclose(drawn[:, 3], tree.mean[leaves] + half)
    order = np.argsort(dark[:, 0])
    edges = np.append(dark[order, 0], dark[order[-1], 2])
    assert (edges[0], edges[-1]) == (10, 12)
    np.testing.assert_allclose(edges[1:], dark[order, 2])  # no gap between cells


def test_the_function_is_drawn_only_when_it_is_given(study: zn.Study) -> None:
    without, given = plot_cells(study, axes()), plot_cells(study, axes(), wave)
    assert len(without.lines) == 0
    x, y = given.lines[0].get_data()
    np.testing.assert_array_equal(y, wave(np.asarray(x)[:, None]))


def test_axes_carry_names_and_units(study: zn.Study) -> None:
    assert plot_cells(study, axes()).get_ylabel() == "density [kg/m3]"
    assert plot_tree(study, axes()).get_xlabel() == "depth [m]"


def test_every_node_is_as_wide_as_its_cell_and_stands_above_it(study: zn.Study) -> None:
    ax = plot_tree(study, axes())
    tree = study.tree
    extents = np.array([path.get_extents().extents for path in ax.collections[0].get_paths()])
    np.testing.assert_allclose(extents[:, 0], 10 + 2 * tree.index / 2.0**tree.depth)
    np.testing.assert_allclose(extents[:, 2], 10 + 2 * (tree.index + 1) / 2.0**tree.depth)
    np.testing.assert_allclose(extents[:, 1], tree.depth)
    np.testing.assert_array_equal(np.asarray(ax.collections[0].get_array()), tree.mean)
    measured = np.flatnonzero(tree.count)
    dots: Any = ax.collections[1]
    np.testing.assert_allclose(np.asarray(dots.get_offsets())[:, 0], extents[measured][:, [0, 2]].mean(axis=1))
    assert (np.diff(dots.get_sizes()[np.argsort(tree.count[measured])]) >= 0).all()


def test_the_recommended_node_is_framed(study: zn.Study) -> None:
    ax = plot_tree(study, axes())
    (frame,) = ax.patches
    found, extent = study.recommend(), frame.get_path().get_extents()
    np.testing.assert_allclose(extent.intervalx, found.region.bounds[0])
    np.testing.assert_allclose(extent.intervaly, [found.node[0], found.node[0] + 1])


def test_spaces_of_two_axes_are_refused() -> None:
    flat = zn.Study([(0, 1), (0, 1)], budget=1, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    with pytest.raises(zn.InvalidInput, match="one axis"):
        plot_cells(flat, axes())


def test_fonts_are_small_within_a_column_and_as_before_after_it() -> None:
    before = mpl.rcParams["font.size"], mpl.rcParams["xtick.labelsize"]
    with column_width():
        assert (mpl.rcParams["font.size"], mpl.rcParams["xtick.labelsize"]) == (8, 7.5)
    assert (mpl.rcParams["font.size"], mpl.rcParams["xtick.labelsize"]) == before


def test_a_rimmed_line_is_drawn_over_a_wider_white_one() -> None:
    ax = axes()
    (line,) = ax.plot([0, 1], [0, 1], lw=1)
    rim(line, 5)
    (effect,) = line.get_path_effects()
    assert effect._gc == {"linewidth": 5, "foreground": "white"}  # type: ignore[attr-defined]


def test_the_set_above_a_threshold_is_marked_and_what_is_still_unsure() -> None:
    given: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.2), "noise": 0.3, "policy": zn.Above(0.5)}
    study = zn.Study(zn.Box([(0, 1)], smallest=1 / 32), budget=20, rng=0, **given)
    study.optimize(zn.simulate(lambda x: np.sin(9 * x[:, 0]), zn.Mean(), noise=0.3, rng=1), n=8)
    legend = study.plot().get_legend()
    assert legend is not None
    assert {"above 0.5", "perhaps above 0.5"} <= {text.get_text() for text in legend.get_texts()}
