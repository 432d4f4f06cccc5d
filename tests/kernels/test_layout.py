"""The layout against geometry: alike pairs share a case, a case is what its pairs are, and nobody is disturbed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
import zonal as zn
from numbered_covariance import Numbered, numbered
from zonal.kernels.base import Kernel
from zonal.kernels.covariance import CovarianceCache, ProductCovariance
from zonal.kernels.feedback import Feedback, Footprints, footprints_of
from zonal.kernels.layout import KIND, MOST_CASES, MOST_KINDS, MOST_WIDTHS, IntervalIndex, ProductLayout
from zonal.spaces import with_feedback

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Node = tuple[int, int]

BOUNDS = [(0.0, 1.0), (-180.0, 180.0), (-7.0, -2.0), (1e6, 1e6 + 3), (0.1, 0.7)]
each_axis = pytest.mark.parametrize("bounds", BOUNDS, ids=repr)


def cells(number: int, arity: int, seed: int, deepest: int = 6) -> list[Node]:
    """Return distinct cells of a tree."""
    rng = np.random.default_rng(seed)
    depths = rng.integers(0, deepest + 1, size=number).tolist()
    return list(dict.fromkeys((depth, int(rng.integers(arity**depth))) for depth in depths))


def extents(bounds: tuple[float, float], arity: int, nodes: list[Node]) -> Floats:
    """Return centres and widths of cells, shape (2, n)."""
    space = zn.Box([bounds], arity=arity)
    made = zn.Mean().footprints([space.cell(node) for node in nodes])
    assert isinstance(made, Footprints)
    return made.extents[:, :, 0]


def entered(bounds: tuple[float, float], arity: int, nodes: list[Node]) -> tuple[IntervalIndex, Floats]:
    """Return an axis, and the keys of cells that were entered in batches, as a tree grows."""
    seen, intervals = extents(bounds, arity, nodes), IntervalIndex(bounds[1] - bounds[0], [0])
    parts = [add(intervals, *seen[:, k : k + 7]) for k in range(0, len(nodes), 7)]
    return intervals, np.concatenate(parts, axis=1)


def add(intervals: IntervalIndex, centers: Floats | list[float], widths: Floats | list[float]) -> Floats:
    """Enter intervals, all seen by the same feedback."""
    return intervals.keys(np.array(centers), np.array(widths), [0] * len(centers), register=True)


def geometry_of(intervals: IntervalIndex, keys: Floats) -> tuple[Ints, Floats]:
    """Return the cases of all pairs, and their geometry: that of the case, or their own where they share none."""
    alike = intervals.pairs(keys, keys)
    case = alike.case
    geometry, _ = intervals.geometry(case.ravel())
    alone = intervals.uncached(alike)
    at = np.concatenate([part.at for part in alone]) if alone else np.zeros(0)
    assert np.array_equal(np.sort(at), np.isnan(geometry[0]).nonzero()[0])
    for part in alone:
        geometry[:, part.at] = part.geometry
    return case, geometry.reshape(3, *case.shape)


def geometry(one: Node, other: Node, arity: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return both widths, the smaller one first, and the distance of the centres of two cells, in widths."""
    (h, i), (k, j) = one, other
    wide, narrow = sorted([Fraction(1, arity**h), Fraction(1, arity**k)])
    gap = (i + Fraction(1, 2)) / arity**h - (j + Fraction(1, 2)) / arity**k
    return wide, narrow, abs(gap)


@each_axis
@pytest.mark.parametrize("arity", [2, 3, 5])
def test_pairs_share_a_case_if_and_only_if_they_are_alike(bounds: tuple[float, float], arity: int) -> None:
    nodes = cells(60, arity, seed=0, deepest=5)
    intervals, keys = entered(bounds, arity, nodes)
    every = intervals.pairs(keys, keys).case
    assert not np.isnan(intervals.geometry(every.ravel())[0]).any()  # all have one
    by_geometry: dict[object, set[int]] = {}
    by_case: dict[int, set[object]] = {}
    for a, one in enumerate(nodes):
        for b, other in enumerate(nodes):
            case, alike = int(every[a, b]), geometry(one, other, arity)
            by_geometry.setdefault(alike, set()).add(case)
            by_case.setdefault(case, set()).add(alike)
    assert all(len(alike) == 1 for alike in by_case.values())
    assert all(len(some) == 1 for some in by_geometry.values())
    assert max(by_case) < intervals.cases


@each_axis
@pytest.mark.parametrize("arity", [2, 3])
def test_a_case_has_the_widths_and_the_distance_of_its_pairs(bounds: tuple[float, float], arity: int) -> None:
    nodes = cells(200, arity, seed=1, deepest=9)
    intervals, keys = entered(bounds, arity, nodes)
    assert keys.shape[1] == len(nodes)
    case, found = geometry_of(intervals, keys)
    np.testing.assert_array_equal(case, case.T)
    centers, widths = extents(bounds, arity, nodes)
    rounding = 8 * np.finfo(float).eps * np.abs(bounds).max()
    np.testing.assert_allclose(np.abs(found[0]), np.abs(centers[:, None] - centers), rtol=0, atol=rounding)
    pair = np.sort([np.broadcast_to(widths, case.shape), np.broadcast_to(widths[:, None], case.shape)], axis=0)
    np.testing.assert_allclose(np.sort(found[1:], axis=0), pair, rtol=1e-12)


@pytest.mark.parametrize("bounds", BOUNDS, ids=repr)
@pytest.mark.parametrize("arity", [2, 3, 5])
def test_a_cell_has_the_key_of_its_centre_and_width(bounds: tuple[float, float], arity: int) -> None:
    space = zn.Box([bounds], arity=arity)
    layout, other = ProductLayout(space.axes, zn.Mean()), ProductLayout(space.axes, zn.Mean())
    for depth in (0, 1, 4, 9):
        parts = np.unique(np.linspace(0, arity**depth - 1, 40).astype(np.intp))
        straight = layout.cells(space, depth, parts[:, None])
        regions = [space.cell((depth, int(part))) for part in parts]
        around = other.keys(zn.Mean().footprints(regions))
        np.testing.assert_array_equal(straight, around)
        np.testing.assert_array_equal(layout.keys(zn.Mean().footprints(regions), register=False), around)


@settings(deadline=None)
@example(ends=[(0.0, 2.2250738585072014e-308)], kernel=zn.RBF(0.7, 0.4))
@given(
    ends=st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 2)), min_size=1, max_size=12),
    kernel=st.sampled_from([zn.RBF(0.7, 0.4), zn.Matern(0.7, 0.4, nu=0.5), zn.Matern(0.7, 0.4)]),
)
def test_intervals_off_the_grid_are_averaged_like_any_other(
    ends: list[tuple[float, float]], kernel: Kernel
) -> None:
    # Cells of the tree come first, then any intervals, points among them; all against explicit points.
    space, feedback = zn.Box([(-3.0, 5.0)]), zn.Average(4)
    regions = [space.cell(node) for node in cells(20, 2, seed=2)]
    regions += [space.region([(low, low + width)]) for low, width in ends]
    covariance = numbered(kernel, feedback, space.axes)
    for region in regions:
        covariance.add(feedback.footprints([region]))
    points = [oracle.representatives(np.asarray(region.bounds), 4) for region in regions]
    everything = np.concatenate(points)
    gram = kernel(everything, everything).reshape(len(regions), 4, len(regions), 4).mean(axis=(1, 3))
    every = np.arange(len(regions))
    np.testing.assert_allclose(covariance.between(every, every), gram, rtol=0, atol=1e-12)


def test_pairs_off_the_grid_share_no_case_and_leave_no_trace() -> None:
    intervals = IntervalIndex(1.0, [0])
    known = add(intervals, [0.5, 0.25, 0.75], [1.0, 0.5, 0.5])
    before = intervals.cases
    seen = np.array([0.5, 0.3001, 0.5]), np.array([0.5, 0.01, 0.0])
    keys = intervals.keys(*seen, [0, 0, 0], register=False)
    case = intervals.pairs(keys, known).case
    alone = np.isnan(intervals.geometry(case.ravel())[0][0]).reshape(case.shape)
    assert not alone[0].any()  # half an axis, at a whole number of half widths
    assert alone[1:].all()  # an interval somewhere, and a point
    assert intervals.cases == before
    add(intervals, [0.3001, 0.5], [0.01, 0.0])
    case = intervals.pairs(keys, known).case
    assert np.isnan(intervals.geometry(case.ravel())[0][0]).reshape(case.shape)[1:].all()


def test_an_interval_met_twice_is_the_same() -> None:
    intervals = IntervalIndex(1.0, [0])
    first = add(intervals, [0.5, 0.25], [1.0, 0.5])
    before = intervals.cases
    again = add(intervals, [0.25, 0.75, 0.25, 0.75], [0.5, 0.5, 0.5, 0.5])
    assert intervals.cases == before
    np.testing.assert_array_equal(again[:, 0], first[:, 1])
    np.testing.assert_array_equal(again[:, [0, 1]], again[:, [2, 3]])


def test_a_whole_tree_meets_few_cases() -> None:
    nodes = [(depth, index) for depth in range(9) for index in range(2**depth)]
    intervals, keys = entered((0.0, 1.0), 2, nodes)
    case = intervals.pairs(keys, keys).case
    assert keys.shape[1] == 511
    assert len(np.unique(case)) < 511 * 512 / 2 / 20
    assert intervals.cases < 511 * 512 / 2 / 10  # those that nobody asks about included


@pytest.mark.parametrize("feedback", [zn.Average(3), zn.Mean()], ids=str)
def test_models_that_share_a_layout_do_not_disturb_each_other(feedback: zn.Feedback) -> None:
    space = zn.Box([(0.0, 1.0), (-2.0, 2.0)])
    kernels = [zn.RBF(1.0, [0.2, 0.5]), zn.Matern(0.5, [0.1, 0.5], nu=1.5), zn.RBF(2.0, [0.2, 0.7])]
    layout = ProductLayout(space.axes, feedback)
    shared = CovarianceCache(layout)
    together = [Numbered(layout, ProductCovariance(kernel, shared)) for kernel in kernels]
    apart = [numbered(kernel, feedback, space.axes) for kernel in kernels]
    regions = [space.cell(node) for node in cells(150, 2, seed=3)]
    for k in range(0, len(regions), 10):
        seen = feedback.footprints(regions[k : k + 10])
        for number in range(3):
            together[(k // 10 + number) % 3].enter(seen)
        for own in apart:
            own.enter(seen)
    every = np.arange(len(regions))
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one.between(every, every), other.between(every, every))
        np.testing.assert_array_equal(one.variances(0, len(regions)), other.variances(0, len(regions)))


@each_axis
def test_deep_cells_far_apart_are_told_apart_too(bounds: tuple[float, float]) -> None:
    # The list of lags has its limits; what is beyond them is a case of its own, not another's.
    nodes = [(depth, index) for depth in (20, 39, 44) for index in (0, 1, 2, 2**depth // 3, 2**depth - 1)]
    intervals, keys = entered(bounds, 2, nodes)
    case, found = geometry_of(intervals, keys)
    centers, widths = extents(bounds, 2, nodes)
    rounding = 8 * np.finfo(float).eps * (bounds[1] - bounds[0])
    np.testing.assert_allclose(np.abs(found[0]), np.abs(centers[:, None] - centers), rtol=0, atol=rounding)
    wide = np.maximum.outer(widths, widths)
    np.testing.assert_allclose(found[1:].max(axis=0), wide, rtol=1e-12)
    assert case[0, 1] == case[1, 2]  # near ones are still alike
    assert case[5, 6] == case[6, 7]
    assert not np.isnan(intervals.geometry(case[[0, 5], [1, 6]])[0]).any()
    assert intervals.cases <= MOST_CASES


@pytest.mark.parametrize("most", [16, MOST_KINDS])
def test_widths_that_fit_no_grid_are_kinds_of_their_own_as_long_as_there_is_room(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zonal.kernels.layout.MOST_KINDS", most)
    intervals = IntervalIndex(1.0, [0])
    widths = np.array([1 / (k + 1) for k in range(133)])
    keys = add(intervals, widths / 2, widths)
    kinds = keys[KIND][keys[KIND] > 0].tolist()
    assert len(kinds) == len(set(kinds)) == 15 if most == 16 else len(set(kinds)) > 100
    case, found = geometry_of(intervals, keys)
    assert case.min() >= 0
    np.testing.assert_allclose(found[1:].max(axis=0), np.maximum.outer(widths, widths), rtol=1e-12)
    np.testing.assert_allclose(found[0], np.abs(widths[:, None] - widths) / 2, rtol=0, atol=1e-15)


SQUARE = zn.Box([(0.0, 0.7), (-180.0, 180.0)], arity=3)
ROUGH = zn.Matern(0.5, [0.1, 90.0], nu=1.5)
VIEWS: list[Feedback] = [zn.Center(), zn.Average(3), zn.Average(5), zn.Mean(), zn.Beam(0.2), zn.Beam(share=0.5)]
each_view = pytest.mark.parametrize("feedback", [zn.Average(3), zn.Mean(), zn.Beam(share=0.5)], ids=str)


def some_regions() -> list[zn.Region]:
    """Return cells of two axes whose sides are no powers of two, intervals that are no cells, and a point."""
    regions: list[zn.Region] = [SQUARE.cell(node) for node in cells(80, 3, seed=4, deepest=9)]
    regions += [SQUARE.region([(0.21, 0.47), (-1.3, 0.4)]), SQUARE.region([(0.3, 0.3), (0.1, 0.1)])]
    return regions


def everything(covariance: Numbered, regions: list[zn.Region], feedback: Feedback) -> list[Floats]:
    """Enter regions in batches; return all that may be asked about them."""
    for k in range(0, len(regions), 11):
        covariance.enter(feedback.footprints(regions[k : k + 11]))
    every = np.arange(len(regions))
    rows = [covariance.row(one) for one in (0, 30, len(regions) - 2, len(regions) - 1)]
    return [covariance.between(every, every), covariance.variances(0, len(regions)), np.stack(rows)]


@each_view
@pytest.mark.parametrize("number", [-2, None], ids=["cells", "and others"])
def test_intervals_that_many_cells_share_go_together_to_the_same_last_bit(
    feedback: Feedback, number: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    regions, found = some_regions()[:number], []
    for many in (1, 1 << 60):
        monkeypatch.setattr("zonal.kernels.layout.MANY", many)
        found.append(everything(numbered(ROUGH, feedback, SQUARE.axes), regions, feedback))
    for shared, apart in zip(*found, strict=True):
        np.testing.assert_array_equal(shared, apart)


@each_view
@pytest.mark.parametrize("most", [8, 2000])
def test_pairs_beyond_the_list_are_worked_out_alone_to_the_same_last_bit(
    feedback: Feedback, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = everything(numbered(ROUGH, feedback, SQUARE.axes), some_regions(), feedback)
    monkeypatch.setattr("zonal.kernels.layout.MOST_CASES", most)
    short = everything(numbered(ROUGH, feedback, SQUARE.axes), some_regions(), feedback)
    for listed, alone in zip(found, short, strict=True):
        np.testing.assert_array_equal(listed, alone)


@each_view
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_entry_changes_no_digit(feedback: Feedback, seed: int) -> None:
    regions = some_regions()
    first = numbered(ROUGH, feedback, SQUARE.axes)
    first.enter(feedback.footprints(regions))
    every = np.arange(len(regions))
    expected, order = first.between(every, every), np.random.default_rng(seed).permutation(len(regions))
    second = numbered(ROUGH, feedback, SQUARE.axes)
    for part in np.array_split(order, 9):
        second.add(feedback.footprints([regions[k] for k in part]))
    back = np.argsort(order)
    np.testing.assert_array_equal(second.between(back, back), expected)


@each_view
@pytest.mark.parametrize("most", [2, MOST_WIDTHS])
def test_what_others_entered_changes_no_digit(
    feedback: Feedback, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks about regions gets the same answer whether others have met their widths, or all there are."""
    monkeypatch.setattr("zonal.kernels.layout.MOST_WIDTHS", most)
    regions = some_regions()
    seen, others = feedback.footprints(regions[::2]), feedback.footprints(regions[1::2])
    covariance = numbered(ROUGH, feedback, SQUARE.axes)
    covariance.enter(seen)
    every = np.arange(covariance.size)
    before = [*covariance.outside(every, others), covariance.among(others), covariance.between(every, every)]
    covariance.enter(others)
    deep = [SQUARE.cell((depth, 0)) for depth in range(1, 20)]
    covariance.enter(feedback.footprints(deep))
    after = [*covariance.outside(every, others), covariance.among(others), covariance.between(every, every)]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    size = covariance.size
    again = numbered(ROUGH, feedback, SQUARE.axes)  # the others, and what is deep, first
    for part in (deep, regions[1::2], regions[::2]):
        again.enter(feedback.footprints(part))
    back = np.array([*range(size - len(regions[::2]), size)])
    np.testing.assert_array_equal(again.between(back, back), before[-1])


@pytest.mark.parametrize("kernel", [zn.RBF(1.0, 0.3), zn.Matern(1.0, 0.3, nu=1.5)], ids=str)
def test_the_order_in_which_feedbacks_are_met_changes_no_digit(kernel: Kernel) -> None:
    space, own = zn.Box([(0.0, 0.7)]), zn.Mean()
    boxes = [[(0.0, 0.35)], [(0.125, 0.25)], [(0.31, 0.42)], [(0.6, 0.6)]]
    seen = [with_feedback(space.region(box), view) for box in boxes for view in VIEWS]
    found = []
    for order in (np.arange(24), np.arange(24)[::-1], np.random.default_rng(0).permutation(24)):
        covariance = numbered(kernel, own, space.axes)
        for k in order:
            covariance.enter(footprints_of([seen[k]], own))
        back = np.argsort(order)
        found.append(covariance.between(back, back))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("alphabet", ["ACGT", "ACDEFGHIKLMNPQRSTVWY"])
def test_pools_that_others_entered_change_no_digit(alphabet: str) -> None:
    space, feedback = zn.Sequences(alphabet, 4, frequencies=np.arange(1.0, len(alphabet) + 1)), zn.Mean()
    rng = np.random.default_rng(0)
    pools = [
        space.region(
            [rng.permutation(list(alphabet))[: int(rng.integers(1, len(alphabet) + 1))].tolist() for _ in "1234"]
        )
        for _ in range(30)
    ]
    kernel = zn.Categorical(0.7, 0.3) + zn.Motif(0.4, 0.2, lengths=(2,))
    own, others = feedback.footprints(pools[:12]), feedback.footprints(pools[12:])
    covariance = numbered(kernel, feedback, space.axes)
    covariance.enter(own)
    every = np.arange(12)
    before = [covariance.between(every, every), *covariance.outside(every, others), covariance.among(others)]
    covariance.enter(others)
    after = [covariance.between(every, every), *covariance.outside(every, others), covariance.among(others)]
    again = numbered(kernel, feedback, space.axes)
    again.enter(others)
    again.enter(own)
    after.append(again.between(18 + every, 18 + every))
    for one, other in zip([*before, before[0]], after, strict=True):
        np.testing.assert_array_equal(one, other)
