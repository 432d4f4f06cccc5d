"""Pictures of studies on every kind of space, and of regrets, checked by what was drawn."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from numpy.typing import NDArray

import zonal as zn
from zonal.plotting import ESTIMATE, FOUND, FUNCTION, plot_map, plot_regrets, plot_tree
from zonal.plotting.style import found_label
from zonal.simulation.ground_truth import from_table
from zonal.simulation.rehearsal import Campaigns, Rehearsal

NESTED: Any = {
    "North": {"Coast": ["Reef", "Bay", "Cape"], "Inland": None},
    "South": {"Hills": {"Top": ["Peak"]}, "Plain": ["East", "West"]},
    "Isle": None,
}


def places(n: int, d: int) -> NDArray[np.float64]:
    return np.random.default_rng(d).uniform(0, 10, (n, d))


MAPS: dict[str, tuple[Any, Any]] = {
    "plane": (zn.Box({"l": (0, 4), "b": (10, 12)}, units=["deg", "m"], smallest=[0.5, 0.25]), (8, 8)),
    "points": (zn.Points({"lon": places(40, 2)[:, 0], "lat": places(40, 2)[:, 1]}), 40),
    "points in five dimensions": (zn.Points(places(40, 5)), 40),
    "areas": (zn.Hierarchy(NESTED, places(8, 2), feature_names=("lon", "lat")), 8),
}
OTHERS: dict[str, tuple[Any, Any]] = {
    "line": (zn.Box([(0, 1)], smallest=1 / 16), 16),
    "cube": (zn.Box([(0, 1)] * 3, smallest=1 / 2), (4, 4, 4)),
    "mixed": (zn.Product({"x": (0, 1), "dye": ["red", "green", "blue"]}, smallest=0.25), (4, 3)),
    "dna": (zn.Sequences("ACGT", 3), 64),
    "points on a line": (zn.Points(places(20, 1)), 20),
    "hierarchy": (zn.Hierarchy(NESTED), 8),
}
SPACES = MAPS | OTHERS
EVERY_SPACE = pytest.mark.parametrize("name", SPACES)
EVERY_MAP = pytest.mark.parametrize("name", MAPS)


def truth_of(name: str) -> NDArray[np.float64]:
    return np.asarray(np.random.default_rng(1).normal(3, 1, SPACES[name][1]))


@cache
def study_of(name: str) -> zn.Study:
    """Return a finished study that has measured small and large regions."""
    space = SPACES[name][0]
    study = zn.Study(
        space, budget=12, rng=0, noise=0.1, policy=zn.GPOO(), value_name="density", value_unit="kg/m3"
    )
    study.optimize(from_table(space, truth_of(name)).simulate(0.1, 0))
    return study


def axes() -> Axes:
    return Figure().subplots()


def boxes(paths: Any) -> NDArray[np.float64]:
    """Return left, top, right and bottom of rectangles, shape (n, 4)."""
    return np.array([path.get_extents().extents for path in paths])


def box(patch: Any) -> list[float]:
    return [float(edge) for edge in patch.get_path().get_extents().extents]


def nodes(study: zn.Study) -> list[tuple[int, int]]:
    return list(zip(study.tree.depth.tolist(), study.tree.index.tolist(), strict=True))


def offsets(collection: Any) -> NDArray[np.float64]:
    assert isinstance(collection, PathCollection)
    return np.asarray(collection.get_offsets())


# Shelves.


@EVERY_SPACE
def test_every_node_of_the_tree_has_a_rectangle_at_its_depth_coloured_by_its_mean(name: str) -> None:
    study, ax = study_of(name), axes()
    assert plot_tree(study, ax) is ax
    shelves = ax.collections[0]
    drawn = boxes(shelves.get_paths())
    assert len(drawn) == len(study.tree) > 2
    np.testing.assert_allclose(drawn[:, 1], study.tree.depth)
    np.testing.assert_allclose(drawn[:, 3], study.tree.depth + 1)
    np.testing.assert_array_equal(np.asarray(shelves.get_array()), study.tree.mean)
    assert ax.get_xlim() == (0, 1)  # the line's own edges too
    assert ax.get_ylim() == (study.tree.depth.max() + 1, 0)


@EVERY_SPACE
def test_regions_are_as_wide_as_their_share_and_children_fill_their_parent_in_order(
    name: str,
) -> None:
    study = study_of(name)
    drawn = boxes(plot_tree(study, axes()).collections[0].get_paths())
    tree = study.tree
    leaves = tree.first_child < 0
    weight = np.array([study.space.cell(node).weight for node in nodes(study)])
    np.testing.assert_allclose(drawn[:, 2] - drawn[:, 0], weight / weight[0])
    np.testing.assert_allclose(drawn[0, [0, 2]], [0, 1])
    for row in np.flatnonzero(~leaves):
        children = drawn[tree.parent == row]
        np.testing.assert_allclose(children[0, 0], drawn[row, 0], atol=1e-12)
        np.testing.assert_allclose(children[1:, 0], children[:-1, 2], atol=1e-12)
        np.testing.assert_allclose(children[-1, 2], drawn[row, 2], atol=1e-12)


@EVERY_SPACE
def test_the_region_found_and_the_way_to_it_are_framed(name: str) -> None:
    study = study_of(name)
    ax = plot_tree(study, axes())
    drawn, found = boxes(ax.collections[0].get_paths()), study.recommend()
    rows = [nodes(study).index(found.node)]
    while study.tree.parent[rows[-1]] >= 0:
        rows.append(int(study.tree.parent[rows[-1]]))
    assert len(rows) == found.node[0] + 1
    (frame,), way = ax.patches, ax.collections[-1]
    np.testing.assert_allclose(box(frame), drawn[rows[0]])
    assert to_hex(frame.get_edgecolor()).upper() == FOUND
    np.testing.assert_allclose(boxes(way.get_paths()), drawn[rows])
    assert to_hex(np.asarray(way.get_edgecolor())[0]).upper() == FOUND
    assert ax.get_xlabel().endswith(f"best: {found.region.name}") or name == "line"


@EVERY_SPACE
def test_every_region_measured_has_a_dot(name: str) -> None:
    study = study_of(name)
    ax = plot_tree(study, axes())
    drawn, measured = boxes(ax.collections[0].get_paths()), np.flatnonzero(study.tree.count)
    dots = offsets(ax.collections[1])
    np.testing.assert_allclose(dots[:, 0], drawn[measured][:, [0, 2]].mean(axis=1))
    np.testing.assert_allclose(np.floor(dots[:, 1]), study.tree.depth[measured])


@pytest.mark.parametrize(("name", "expected"), [("dna", "NNN"), ("hierarchy", "North"), ("areas", "South")])
def test_names_of_sequences_and_areas_stand_in_their_rectangles(name: str, expected: str) -> None:
    study = study_of(name)
    ax = plot_tree(study, axes())
    drawn = boxes(ax.collections[0].get_paths())
    known = {node: study.space.cell(node).name.split(" > ")[-1] for node in nodes(study)}
    assert expected in [text.get_text() for text in ax.texts]
    for text in (text for text in ax.texts if text.get_text()):
        x, y = text.get_position()
        (inside,) = np.flatnonzero(
            (drawn[:, 0] < x) & (x < drawn[:, 2]) & (drawn[:, 1] < y) & (y < drawn[:, 3])
        ).tolist()
        assert text.get_text() == known[nodes(study)[inside]]


@pytest.mark.parametrize("name", [name for name in SPACES if name not in ("dna", "hierarchy", "areas")])
def test_long_names_of_other_regions_are_left_out(name: str) -> None:
    ax = plot_tree(study_of(name), axes())
    assert [text.get_text() for text in ax.texts if text.get_text()] == []


@EVERY_SPACE
def test_the_colour_bar_says_what_is_shown(name: str) -> None:
    ax = plot_tree(study_of(name), axes())
    assert [other.get_ylabel() for other in ax.figure.axes if other is not ax] == [
        "posterior mean of density [kg/m3]"
    ]


def test_a_study_that_has_measured_nothing_can_be_drawn() -> None:
    study = zn.Study(zn.Sequences("ACGT", 3), budget=5)
    ax = plot_tree(study, axes())
    assert len(ax.collections[0].get_paths()) == len(study.tree)
    assert ax.get_legend() is None


# Maps.


def test_a_map_of_a_box_shows_the_means_of_its_leaves_and_the_region_found() -> None:
    study = study_of("plane")
    ax = plot_map(study, axes())
    leaves = np.flatnonzero(study.tree.first_child < 0)
    shown, star = ax.collections
    assert isinstance(shown, PolyCollection)
    cells = [study.space.cell(nodes(study)[row]) for row in leaves]
    np.testing.assert_allclose(
        boxes(shown.get_paths()), [cell.bounds.T.ravel() for cell in cells], rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(np.asarray(shown.get_array()), study.tree.mean[leaves])
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 4), (10, 12))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("l [deg]", "b [m]")
    found = study.recommend().region
    drawn = {str(patch.get_label()): patch for patch in ax.patches}
    np.testing.assert_allclose(box(drawn[found_label(study)]), found.bounds.T.ravel())
    np.testing.assert_allclose(offsets(star), [[found.center[0], found.bounds[1, 0]]])  # beside it, not over it
    measured = {trial.node: trial.region.bounds.T.ravel().tolist() for trial in study.trials}
    rings = map(np.asarray, drawn["measured"].get_path().to_polygons())
    framed = [[*ring.min(axis=0), *ring.max(axis=0)] for ring in rings]
    np.testing.assert_allclose(sorted(framed), sorted(measured.values()))


def test_a_map_of_a_box_shows_the_truth_the_right_way_round() -> None:
    study, truth = study_of("plane"), np.zeros((8, 8))
    truth[7, 0] = 5.0  # at the right end of the first axis and the lower end of the second
    ax = plot_map(study, axes(), truth)
    (image,) = ax.images
    assert list(image.get_extent()) == [0, 4, 10, 12]
    assert image.origin == "lower"
    pixels = np.asarray(image.get_array())
    assert pixels[0, 7] == 5  # row along the second axis, column along the first
    assert pixels.sum() == 5


@pytest.mark.parametrize("name", ["points", "points in five dimensions", "areas"])
def test_a_map_of_members_shows_each_where_it_is_and_the_ones_found(name: str) -> None:
    study = study_of(name)
    ax = plot_map(study, axes())
    shown, _rings, stars = ax.collections
    np.testing.assert_array_equal(offsets(shown), study.space.features[:, :2])
    colour = np.asarray(shown.get_array())
    for node, mean, first in zip(nodes(study), study.tree.mean, study.tree.first_child, strict=True):
        if first < 0:
            np.testing.assert_array_equal(colour[study.space.cell(node).positions], mean)
    found: Any = study.recommend().region
    (frame,) = ax.patches
    inside = study.space.features[found.positions, :2]
    low, high = np.array(box(frame)).reshape(2, 2)
    ((x, y),) = offsets(stars)
    assert x == pytest.approx((low + high)[0] / 2)
    assert y == pytest.approx(low[1]) or y == pytest.approx(high[1])  # beside the region, not over it
    assert ((inside > low) & (inside < high)).all()
    assert [ax.get_xlabel(), ax.get_ylabel()] == list(study.space.names[:2])


@pytest.mark.parametrize("name", ["points", "areas"])
def test_a_map_of_members_shows_true_values_in_the_order_they_were_given(name: str) -> None:
    study, truth = study_of(name), truth_of(name)
    ax = plot_map(study, axes(), truth)
    colour = np.asarray(ax.collections[0].get_array())
    for row in range(study.space.size):
        (place,) = np.flatnonzero(study.space.rows == row)
        assert colour[place] == truth[row]


@pytest.mark.parametrize("name", [name for name in MAPS if name != "plane"])
def test_every_set_of_members_measured_has_a_ring_larger_for_larger_sets(name: str) -> None:
    study = study_of(name)
    rings = plot_map(study, axes()).collections[1]
    regions: dict[Any, Any] = {trial.node: trial.region for trial in study.trials}
    assert len(regions) == int(np.sum(study.tree.count > 0))
    np.testing.assert_allclose(offsets(rings), [region.center[:2] for region in regions.values()])
    weights = np.array([region.weight for region in regions.values()])
    assert len(set(weights.tolist())) > 1
    sizes = np.asarray(rings.get_sizes())  # type: ignore[attr-defined]
    order = np.argsort(weights)
    assert (np.diff(sizes[order])[np.diff(weights[order]) > 1e-9] > 0).all()


@EVERY_MAP
@pytest.mark.parametrize("given", [False, True])
def test_the_colour_bar_of_a_map_tells_means_from_truth(name: str, given: bool) -> None:
    ax = plot_map(study_of(name), axes(), truth_of(name) if given else None)
    (bar,) = (other for other in ax.figure.axes if other is not ax)
    assert bar.get_ylabel() == ("density [kg/m3]" if given else "posterior mean of density [kg/m3]")


@pytest.mark.parametrize("name", OTHERS)
def test_spaces_without_two_coordinates_have_no_map(name: str) -> None:
    ax = axes()
    with pytest.raises(zn.InvalidInput, match=r"two coordinates.*Use plot_tree"):
        plot_map(study_of(name), ax)
    assert not ax.has_data()


@pytest.mark.filterwarnings("ignore:there are 4:UserWarning")
def test_long_sequences_are_refused_a_map_at_once() -> None:
    study = zn.Study(zn.Sequences("ACGT", 100), budget=3, kernel=zn.Categorical(1.0, 0.5), noise=0.1)
    with pytest.raises(zn.InvalidInput, match="two coordinates"):
        study.plot("map")


# Regrets.


def rehearsal(runs: int) -> Rehearsal:
    space = zn.Box([(0, 1)], smallest=0.25)
    rng, cell = np.random.default_rng(0), space.cell((2, 0))
    regrets = {name: rng.uniform(0.5, 4, runs) for name in ("Zonal, UCB", "one level", "random")}
    return Rehearsal(
        from_table(space, np.arange(4.0)),
        5,
        {name: Campaigns((cell,) * runs, own) for name, own in regrets.items()},
    )


def whiskers(ax: Axes) -> list[NDArray[np.float64]]:
    """Return both ends of every error bar."""
    ends = []
    for container in ax.containers:
        assert isinstance(container, ErrorbarContainer)
        ((segment,),) = (collection.get_segments() for collection in container.lines[2])
        ends.append(np.asarray(segment))
    return ends


@pytest.mark.parametrize("runs", [1, 2, 7])
def test_every_run_is_a_point_on_the_line_of_its_player(runs: int) -> None:
    played, ax = rehearsal(runs), axes()
    assert plot_regrets(played, ax) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == list(played.campaigns)
    assert ax.get_ylim() == (2.5, -0.5)
    assert ax.get_xlim()[0] <= 0
    points = [drawn for drawn in ax.collections if isinstance(drawn, PathCollection)]
    for place, (drawn, own) in enumerate(zip(points, played.campaigns.values(), strict=True)):
        np.testing.assert_array_equal(offsets(drawn)[:, 0], own.regrets)
        assert (np.abs(offsets(drawn)[:, 1] - place) < 0.3).all()


def test_means_have_their_standard_errors() -> None:
    played = rehearsal(7)
    for place, (ends, own) in enumerate(
        zip(whiskers(plot_regrets(played, axes())), played.campaigns.values(), strict=True)
    ):
        error = own.regrets.std(ddof=1) / np.sqrt(7)
        np.testing.assert_allclose(ends, [[own.mean - error, place], [own.mean + error, place]])


def test_one_run_has_no_standard_error() -> None:
    played = rehearsal(1)
    for ends, own in zip(whiskers(plot_regrets(played, axes())), played.campaigns.values(), strict=True):
        np.testing.assert_array_equal(ends[:, 0], own.regrets[0])


def test_zonal_is_told_from_the_others_by_colour() -> None:
    ax = plot_regrets(rehearsal(3), axes())
    colours = [container.lines[0].get_color() for container in ax.containers]  # type: ignore[attr-defined]
    assert colours == [ESTIMATE, FUNCTION, FUNCTION]
