"""Boxes and their regions: cells tile, names are readable, regions are values."""

import doctest
import itertools
import math
import pickle
import re
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import zonal as zn
import zonal.spaces
from effort import examples
from zonal.simulation.ground_truth import from_table
from zonal.simulation.rehearsal import cut
from zonal.spaces import AxisSpace, ContinuousAxis

DNA = zn.Sequences("ACGT", 5)
PLANE = zn.Product({"x": (0, 1), "y": (0, 1)}, smallest=1 / 8)


@st.composite
def boxes(draw: st.DrawFn, most_axes: int = 4) -> zn.Box:
    """Draw boxes of any arity, near 0 or far from it, wide or narrow."""
    pairs = []
    for _ in range(draw(st.integers(1, most_axes))):
        low = draw(st.sampled_from([0.0, -1.0, -180.0, 0.1, 1e6 + 1 / 3, -1e9, 1e-12]))
        width = draw(st.sampled_from([1.0, 2.0, 0.3, 360.0, 1e-3, 1e4, math.pi]))
        pairs.append((low, low + width))
    return zn.Box(pairs, arity=draw(st.integers(2, 7)))


@st.composite
def nodes(draw: st.DrawFn, arity: int, deepest: int = 40) -> tuple[int, int]:
    depth = draw(st.integers(0, deepest))
    return depth, draw(st.integers(0, arity**depth - 1))


@examples(150)
@given(data=st.data())
def test_children_tile_their_parent(data: st.DataObject) -> None:
    space = data.draw(boxes())
    node = data.draw(nodes(space.arity))
    parent = space.cell(node)
    children = space.split(parent)
    assert [child.node for child in children] == [
        (node[0] + 1, space.arity * node[1] + j) for j in range(space.arity)
    ]
    split = node[0] % space.d
    for axis in range(space.d):
        edges = [child.along[axis][1][2] for child in children]
        if axis == split:
            assert edges[0][0] == parent.along[axis][1][2][0]
            assert edges[-1][1] == parent.along[axis][1][2][1]
            assert all(left[1] == right[0] for left, right in itertools.pairwise(edges))  # to the last bit
            assert all(low <= high for low, high in edges)
            widths = [child.widths[axis] for child in children]
            assert len(set(widths)) == 1
            assert widths[0] == pytest.approx(parent.widths[axis] / space.arity, rel=1e-15)
        else:
            assert set(edges) == {parent.along[axis][1][2]}
            assert {child.widths[axis] for child in children} == {parent.widths[axis]}
    assert sum(child.weight for child in children) == pytest.approx(parent.weight, rel=1e-14)


@examples(100)
@given(data=st.data())
def test_the_cell_of_a_node_is_what_splitting_again_and_again_gives(data: st.DataObject) -> None:
    space = data.draw(boxes())
    depth, index = node = data.draw(nodes(space.arity))
    region = space.cell((0, 0), zn.Average(3))
    for level in range(depth):
        digit = index // space.arity ** (depth - 1 - level) % space.arity
        region = space.split(region)[digit]
    assert region == space.cell(node, zn.Average(3))
    assert region.node == node


@examples(100)
@given(data=st.data())
def test_cells_lie_where_the_paper_puts_them(data: st.DataObject) -> None:
    space = data.draw(boxes())
    node = data.draw(nodes(space.arity, deepest=8))
    region = space.cell(node)
    expected = oracle.cell(space.bounds, space.arity, node)
    scale = np.abs(np.array(space.bounds)).max()
    np.testing.assert_allclose(region.bounds, expected, rtol=0, atol=4e-16 * scale)
    np.testing.assert_allclose(region.center, expected.mean(axis=1), rtol=0, atol=4e-16 * scale)
    np.testing.assert_allclose(region.widths, space.partition.widths(node[0]), rtol=0)


@examples(50)
@given(data=st.data())
def test_the_cells_of_a_depth_cover_the_space_once(data: st.DataObject) -> None:
    space = data.draw(boxes(most_axes=3))
    depth = data.draw(st.integers(0, 4 if space.arity <= 3 else 2))
    cells = [space.cell((depth, i)) for i in range(space.arity**depth)]
    assert len({cell.key for cell in cells}) == len(cells)
    volume = math.prod(high - low for low, high in space.bounds)
    assert sum(cell.weight for cell in cells) == pytest.approx(volume, rel=1e-12)
    edges = np.array([cell.bounds for cell in cells])
    np.testing.assert_array_equal(edges[:, :, 0].min(axis=0), [low for low, _ in space.bounds])
    np.testing.assert_array_equal(edges[:, :, 1].max(axis=0), [high for _, high in space.bounds])


def test_neighbours_share_their_edges_at_depth_40() -> None:
    space = zn.Box([(1 / 3, 1e3 + 1 / 7)], arity=2)
    middle = 2**39
    left, right = space.cell((40, middle - 1)), space.cell((40, middle))
    assert left.along[0][1][2][1] == right.along[0][1][2][0] == space.cell((1, 1)).along[0][1][2][0]
    assert left.widths[0] == (1e3 + 1 / 7 - 1 / 3) / 2**40
    assert left.along[0][1][0] < right.along[0][1][0]


@pytest.mark.parametrize("bounds", [(-0.8, 0.6), (-1.9, 1.8), (-3.1, -0.2)])
def test_the_last_cell_ends_where_the_space_does(bounds: tuple[float, float]) -> None:
    low, high = bounds
    assert low + (high - low) != high  # rounding would show
    for depth in (0, 1, 7):
        assert zn.Box([bounds], arity=3).cell((depth, 3**depth - 1)).along[0][1][2][1] == high


def test_a_box_far_from_0_keeps_the_digits_of_its_cells() -> None:
    near, far = zn.Box([(0, 1)]).cell((40, 12345)), zn.Box([(1e9, 1e9 + 1)]).cell((40, 12345))
    assert [part[:2] for _, part in near.along] == [part[:2] for _, part in far.along]


def test_axes_are_split_by_turns_the_first_of_equals_first() -> None:
    space = zn.Box({"a": (0, 8), "b": (0, 9), "c": (-27, 0)}, arity=3)
    assert space.cell((1, 2)).bounds.tolist() == [[8 * (2 / 3), 8], [0, 9], [-27, 0]]
    assert space.cell((2, 2 * 3 + 0)).bounds.tolist() == [[8 * (2 / 3), 8], [0, 3], [-27, 0]]
    assert space.cell((3, 6 * 3 + 1)).bounds.tolist() == [[8 * (2 / 3), 8], [0, 3], [-18, -9]]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_may_split_keeps_children_from_falling_below_smallest(d: int) -> None:
    space = zn.Box([(0, 1)] * d, smallest=0.25)
    assert [space.may_split(space.cell((depth, 0))) for depth in range(3 * d)] == [True] * (2 * d) + [False] * d


def test_a_child_may_be_smaller_than_smallest_by_rounding_only() -> None:
    third = zn.Box([(0, 1)], arity=3, smallest=1 / 3 * (1 + 1e-10))
    assert third.may_split(third.cell((0, 0)))
    assert third.smallest == (1 / 3 * (1 + 1e-10),)  # as it was given


@given(
    side=st.floats(1e-6, 1e6),
    share=st.floats(1e-12, 1),
    arity=st.integers(2, 5),
    scale=st.sampled_from(["linear", "periodic"]),
)
def test_the_smallest_width_is_the_nearest_possible_one_in_ratio(
    side: float, share: float, arity: int, scale: Any
) -> None:
    wanted = side * share
    box = zn.Box({"x": (0, side)}, arity=arity, smallest=wanted, scale=scale)
    depth = box.max_depth()
    assert depth is not None
    width = float(box.partition.widths(depth)[0])
    off = abs(math.log(width / wanted))
    for other in (side / arity ** (depth + 1), side / arity ** max(depth - 1, 0)):
        assert off <= abs(math.log(other / wanted)) + 1e-8
    assert box.smallest is not None
    assert box.smallest[0] == pytest.approx(width)
    exact = zn.Box({"x": (0, side)}, arity=arity, smallest=width, scale=scale)
    assert (exact.smallest, exact.max_depth()) == ((width,), depth)


def test_of_two_smallest_widths_as_near_the_wider_is_taken() -> None:
    assert zn.Box([(0, 1)], smallest=2**-1.5).smallest == (0.5,)
    assert zn.Box([(0, 600)], smallest=20).smallest == (18.75,)
    assert zn.Box({"p": (0.01, 10)}, scale="log", smallest=0.4).smallest == (0.375,)
    axis = ContinuousAxis("x", 0.0, 1.0, smallest=0.3)
    assert zn.Product({"t": axis, "dye": ["r", "g"]}).axes[0] == ContinuousAxis("t", 0.0, 1.0, smallest=0.25)


def test_smallest_may_be_one_number_one_an_axis_or_by_name() -> None:
    axes = {"l": (-180, 180), "sin_b": (-1, 1)}
    assert zn.Box(axes, smallest=0.5).smallest == (360 / 512, 0.5)
    assert zn.Box(axes, smallest=[11.25, 0.125]).smallest == (11.25, 0.125)
    assert zn.Box(axes, smallest={"sin_b": 0.125, "l": 11.25}).smallest == (11.25, 0.125)
    assert zn.Box(axes, smallest=2).smallest == (360 / 128, 2)  # as wide as an axis: that axis is never split
    assert zn.Box(axes).smallest is None


def test_a_wide_smallest_on_one_axis_leaves_the_splits_to_the_other() -> None:
    space = zn.Box({"l": (0, 1), "b": (0, 1)}, smallest={"l": 0.1, "b": 1})
    assert [space.may_split(space.cell((depth, 0))) for depth in range(5)] == [True] * 3 + [False] * 2
    assert space.cell((3, 0)).widths.tolist() == [0.125, 1.0]


# Names and units.


def test_a_name_says_axis_edges_and_unit() -> None:
    sky = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"})
    assert sky.cell((3, 0b110)).name == "l 0..90 deg, sin_b 0..1"
    assert sky.cell((10, 0b1001010101)).name == "l 0..11.25 deg, sin_b -0.0625..0"
    assert sky.region([(0, 11.25), (-0.0625, 0)]).name == "l 0..11.25 deg, sin_b -0.0625..0"


@pytest.mark.parametrize(
    ("bounds", "name"),
    [
        ((0, 1), "x 0..1"),
        ((0, 1 / 3), "x 0..0.3333"),
        ((-1e-9, 0), "x -0.000000001..0"),
        ((1e6, 1e6 + 0.125), "x 1000000..1000000.125"),
        ((-0.0, 0.5), "x 0..0.5"),
        ((-2.5, -2.5), "x -2.5..-2.5"),
        ((0, 12345.678), "x 0..12346"),
        ((100, 200), "x 100..200"),
    ],
)
def test_names_have_as_many_digits_as_it_takes(bounds: tuple[float, float], name: str) -> None:
    assert zn.Box([(-1e9, 1e9)]).region([bounds]).name == name


def test_axes_have_names_even_if_none_are_given() -> None:
    assert zn.Box([(0, 1)]).names == ("x",)
    assert zn.Box([(0, 1), (0, 2)]).names == ("x0", "x1")
    assert zn.Box([(0, 1), (0, 2)]).cell((1, 1)).name == "x0 0.5..1, x1 0..2"


def test_units_come_by_name_in_order_or_one_for_all() -> None:
    axes = {"a": (0, 1), "b": (0, 1)}
    assert zn.Box(axes, units={"b": "m"}).units == ("", "m")
    assert zn.Box(axes, units=["s", "m"]).units == ("s", "m")
    assert zn.Box(axes, units="m").units == ("m", "m")
    assert zn.Box(axes).units == ("", "")


@examples(100)
@given(data=st.data())
def test_no_two_neighbours_have_the_same_name(data: st.DataObject) -> None:
    space = zn.Box([(0, data.draw(st.floats(1e-6, 1e6)))], arity=data.draw(st.integers(2, 9)))
    node = data.draw(nodes(space.arity, deepest=12))
    children = space.split(space.cell(node))
    assert len({child.name for child in children}) == space.arity
    for child in children:
        shown = re.fullmatch(r"x (-?[\d.]+)\.\.(-?[\d.]+)", child.name)
        assert shown, child.name
        low, high = (float(edge) for edge in shown.groups())
        assert (low, high) == pytest.approx(child.along[0][1][2], abs=child.along[0][1][1] / 500)


# Regions of any shape.


def test_any_region_of_the_space_will_do() -> None:
    space = zn.Box({"a": (0, 1), "b": (-4, 4)})
    region = space.region([(0.1, 0.3), (2, 2)])
    assert region.node is None
    np.testing.assert_array_equal(region.bounds, [(0.1, 0.3), (2, 2)])
    np.testing.assert_allclose(region.center, [0.2, 2])
    np.testing.assert_allclose(region.widths, [0.2, 0], atol=1e-16)
    assert region.weight == 0
    assert region.bounds.shape == (2, 2)


def test_regions_may_touch_the_edges_and_exceed_them_by_rounding() -> None:
    space = zn.Box([(0, 1)])
    assert space.region([(0, 1)]).weight == 1
    assert space.region(np.array([[-1e-12, 1 + 1e-12]])).weight == pytest.approx(1)
    with pytest.raises(zn.InvalidInput):
        space.region([(-1e-6, 1)])


def test_a_region_given_by_a_cells_bounds_is_that_cell() -> None:
    space = zn.Box([(-3, 7), (0, 1)], arity=3)
    cell = space.cell((5, 77))
    same = space.region(cell.bounds)
    np.testing.assert_array_equal(same.bounds, cell.bounds)
    np.testing.assert_allclose(same.center, cell.center, rtol=0, atol=1e-15)
    np.testing.assert_allclose(same.widths, cell.widths, rtol=0, atol=1e-15)


@examples(60)
@given(data=st.data())
def test_the_weight_of_a_region_is_its_volume(data: st.DataObject) -> None:
    space = data.draw(boxes())
    region = space.cell(data.draw(nodes(space.arity, deepest=10)))
    assert region.weight == pytest.approx(float(np.prod(region.widths)), rel=1e-14)


# Representative points.


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("s", [1, 2, 5])
def test_points_are_the_papers_with_the_last_axis_fastest(d: int, s: int) -> None:
    space = zn.Box([(0, 1), (-2, 2), (10, 20)][:d], arity=3)
    for node in [(0, 0), (4, 17)]:
        region = space.cell(node, zn.Average(s))
        expected = oracle.representatives(oracle.cell(space.bounds, 3, node), s)
        assert region.points.shape == (s**d, d)
        np.testing.assert_allclose(region.points, expected, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(region.weights, np.full(s**d, 1 / s**d), rtol=1e-15)
        assert region.weights.sum() == pytest.approx(1, rel=1e-14)


def test_the_point_of_a_centre_is_the_centre() -> None:
    region = zn.Box([(0, 1), (4, 8)]).cell((3, 5), zn.Center())
    np.testing.assert_array_equal(region.points, [region.center])
    np.testing.assert_array_equal(region.weights, [1])


def test_points_lie_within_their_region() -> None:
    region = zn.Box([(0, 1), (-5, 5)], arity=3).cell((6, 500), zn.Average(7))
    low, high = region.bounds.T
    assert (low < region.points).all()
    assert (region.points < high).all()
    np.testing.assert_allclose(region.weights @ region.points, region.center)


def test_the_exact_mean_has_no_points_and_says_why() -> None:
    region = zn.Box([(0, 1)]).cell((2, 1), zn.Mean())
    for column in ("points", "weights"):
        with pytest.raises(
            zn.InvalidInput, match=r"no finite list of representative points.*Use region\.bounds, or Average\(s\)"
        ):
            getattr(region, column)


def test_points_without_a_feedback_are_refused_with_a_reason() -> None:
    region = zn.Box([(0, 1)]).cell((2, 1))
    with pytest.raises(zn.InvalidInput, match=r"without a feedback.*x 0\.25\.\.0\.5.*feedback="):
        _ = region.points


def test_nobody_is_handed_a_million_million_points() -> None:
    region = zn.Box([(0, 1)] * 6).cell((3, 1), zn.Average(100))
    for column in ("points", "weights"):
        with pytest.raises(zn.InvalidInput, match="too many representative points to list in 6 dimensions"):
            getattr(region, column)
    assert region.center.shape == (6,)


def test_a_trials_region_knows_its_points() -> None:
    study = zn.Study(
        [(0, 1)], budget=1, kernel=zn.RBF(1, 0.1), noise=0.1, feedback=zn.Average(4), policy=zn.GPOO()
    )
    np.testing.assert_allclose(study.ask().region.points[:, 0], [0.125, 0.375, 0.625, 0.875])


# Values.


def test_boxes_are_equal_by_what_they_say() -> None:
    first = zn.Box({"a": (0, 1), "b": (2, 3)}, arity=3, smallest=0.1, units={"a": "m"})
    again = zn.Box({"a": (0.0, 1.0), "b": (2.0, 3.0)}, arity=3, smallest=(0.1, 0.1), units=["m", ""])
    assert first == again
    assert hash(first) == hash(again)
    others = [
        zn.Box({"a": (0, 1), "b": (2, 3)}, arity=3, smallest=0.1),
        zn.Box({"a": (0, 1), "b": (2, 3)}, arity=3, units={"a": "m"}),
        zn.Box({"a": (0, 1), "b": (2, 3)}, smallest=0.1, units={"a": "m"}),
        zn.Box({"a": (0, 1), "c": (2, 3)}, arity=3, smallest=0.1, units={"a": "m"}),
        zn.Box({"a": (0, 1), "b": (2, 4)}, arity=3, smallest=0.1, units={"a": "m"}),
    ]
    assert len({first, again, *others}) == 1 + len(others)
    assert pickle.loads(pickle.dumps(first)) == first


def test_regions_are_equal_by_what_they_say() -> None:
    space = zn.Box([(0, 1), (0, 1)])
    region = space.cell((3, 2), zn.Average(2))
    assert region == space.cell((3, 2), zn.Average(2))
    assert hash(region) == hash(space.cell((3, 2), zn.Average(2)))
    assert region != space.cell((3, 3), zn.Average(2))
    assert region == space.cell((3, 2), zn.Average(3))
    assert region != zn.Box([(0, 1), (0, 2)]).cell((3, 2), zn.Average(2))
    assert len({space.cell((3, i)) for i in range(8)} | {space.cell((3, 0))}) == 8


def test_regions_survive_pickling() -> None:
    region = zn.Box({"l": (-180, 180)}, units="deg").cell((3, 2), zn.Average(2))
    copy = pickle.loads(pickle.dumps(region))
    assert copy == region
    assert copy.name == region.name
    np.testing.assert_array_equal(copy.points, region.points)


@pytest.mark.parametrize("name", ["bounds", "arity", "smallest"])
def test_boxes_cannot_be_changed(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(zn.Box([(0, 1)]), name, 3)


def test_what_a_region_hands_out_cannot_change_it() -> None:
    region = zn.Box([(0, 1)]).cell((1, 1))
    changed: Any
    for changed in (region.bounds, region.center, region.widths):
        changed[...] = 7
    np.testing.assert_array_equal(region.bounds, [(0.5, 1)])
    np.testing.assert_array_equal(region.center, [0.75])
    with pytest.raises(AttributeError):
        region.node = (0, 0)  # type: ignore[misc]


def test_the_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(zonal.spaces).failed == 0


# Spaces of one's own, and what a box does at its smallest width.


def test_an_axis_at_its_smallest_is_passed_over_and_the_others_go_on() -> None:
    box = zn.Box({"x": (0, 1), "y": (0, 1)}, smallest={"x": 0.5, "y": 0.015})
    assert [box.partition.level(depth).axis for depth in range(7)] == [0, 1, 1, 1, 1, 1, 1]
    assert (box.max_depth(), box.partition.count(7)) == (7, 128)
    cells = [box.cell((7, index)) for index in range(128)]
    assert {tuple(cell.widths) for cell in cells} == {(0.5, 1 / 64)}
    assert sum(cell.weight for cell in cells) == pytest.approx(1)
    assert not any(box.may_split(cell) for cell in cells)
    study = zn.Study(box, budget=30, kernel=zn.RBF(1, 0.2), noise=0.1)
    study.optimize(lambda region: -abs(float(region.center[1]) - 0.3))
    assert abs(study.recommend().region.center[1] - 0.3) < 0.05


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_box_without_a_smallest_width_is_split_by_turns(d: int) -> None:
    box = zn.Box([(0, 1)] * d, arity=3)
    assert [box.partition.level(depth).axis for depth in range(12)] == [depth % d for depth in range(12)]
    assert box.partition.count(200) == 3**200
    assert box.partition.level(7).splits == [(7 + d - 1 - j) // d for j in range(d)]


def test_deep_searches_of_small_trees_begin_at_once() -> None:
    policy = zn.GPOO(zn.GeometricDelta(1, 0.999), h_max=10_000)
    start = process_time()
    for small, kernel in [(PLANE, zn.RBF(1, 0.2)), (DNA, zn.Categorical(1, 0.2))]:
        zn.Study(small, budget=3, kernel=kernel, noise=0.1, policy=policy).ask()
    assert process_time() - start < 3


def test_points_are_parted_into_no_more_parts_than_there_are() -> None:
    X = np.random.default_rng(0).random((5000, 2))
    assert zn.Points(X, arity=5000).partition.count(1) == 5000
    with pytest.raises(
        zn.InvalidInput, match=r"arity is larger than the number of points; got 10{9}\. Pass at most"
    ):
        zn.Points(X, arity=10**9)


@dataclass(frozen=True)
class Columns(AxisSpace):
    """A plane whose columns are searched first, and then their rows: one method says so."""

    axes: tuple[ContinuousAxis, ...] = (ContinuousAxis("x", 0.0, 1.0), ContinuousAxis("y", 0.0, 1.0))
    arity: int = 2

    def _next_axis(self, splits: tuple[int, ...]) -> int | None:
        return 0 if splits[0] < 3 else 1 if splits[1] < 2 else None


class Borrowed:
    """A space that shares nothing with those of the house but what they can be asked."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __eq__(self, other: object) -> bool:
        return bool(other is self or other == self.inner)

    def __hash__(self) -> int:
        return hash(self.inner)


@pytest.mark.parametrize(
    "space", [Columns(), Borrowed(zn.Box([(0, 1), (0, 1)], smallest=1 / 8))], ids=["own", "duck"]
)
@pytest.mark.parametrize("policy", [None, zn.GPOO(zn.SpreadDelta())], ids=repr)
def test_a_space_of_ones_own_is_searched_like_any_other(space: Any, policy: Any) -> None:
    landscape = from_table(space, np.add.outer(np.sin(np.arange(32) / 6), np.zeros(32)))
    measure = landscape.simulate(0.05, rng=0)
    study = zn.Study(space, budget=20, policy=policy)
    study.optimize(measure)
    best = study.recommend()
    assert landscape.average(best.region.bounds) > 0.8
    assert landscape.best().average > 0.9
    assert len(cut(space, space.max_depth())) == space.partition.count(space.max_depth())


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (1e6, 1e6 + 1), (-3e-8, 7e-8)])
def test_no_two_cells_share_a_key_however_small_they_are(bounds: tuple[float, float]) -> None:
    space = zn.Box([bounds])
    cells = [
        space.cell((depth, 2**depth - 1 - back)) for depth in range(5, 62) for back in range(min(2**depth, 40))
    ]
    assert len({cell.key for cell in cells}) == len(cells)
    wide = space.cell((10, 1000))
    assert space.region(wide.bounds).key == wide.key


def test_two_numbers_are_an_interval_in_a_tuple_and_symbols_in_a_list() -> None:
    batch = zn.Study({"batch": [32, 64]}, budget=2).space
    assert batch == zn.Product({"batch": [32, 64]}) != zn.Product({"batch": (32, 64)})
    assert batch.cell((1, 1)).name == "batch 64"
    assert zn.Study({"batch": (32, 64)}, budget=2).space == zn.Box({"batch": (32, 64)})
    both: Any = {"batch": [32, 64], "x": (0, 1)}
    assert zn.Study(both, budget=2).space == zn.Product(both)
    assert zn.Box([[32, 64]]) == zn.Box(np.array([[32, 64]])) == zn.Box([(32, 64)])
    for unclear in (np.array([32, 64]), range(2)):
        with pytest.raises(zn.InvalidInput, match="Pass a tuple for an interval, a list for symbols"):
            zn.Product({"batch": unclear})
    assert zn.Product({"batch": np.array([32, 64, 128])}) == zn.Product({"batch": [32, 64, 128]})
