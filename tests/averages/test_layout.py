"""The layout against geometry: alike pairs share a case, and a case is what its pairs are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
import zonal as zn
from numbered import Numbered
from zonal.averages.covariance import ProductCovariance, Tables
from zonal.averages.feedback import Footprints
from zonal.averages.kernels import Kernel
from zonal.averages.layout import MOST_KEPT, MOST_WIDTHS, Intervals, Lattice, ProductLayout

Floats = NDArray[np.float64]
Node = tuple[int, int]

BOUNDS = [(0.0, 1.0), (-180.0, 180.0), (-7.0, -2.0), (1e6, 1e6 + 3), (0.1, 0.7)]
each_axis = pytest.mark.parametrize("bounds", BOUNDS, ids=repr)


def cells(number: int, arity: int, seed: int, deepest: int = 6) -> list[Node]:
    """Return distinct cells of a tree."""
    rng = np.random.default_rng(seed)
    depths = rng.integers(0, deepest + 1, size=number).tolist()
    return list(dict.fromkeys((depth, int(rng.integers(arity**depth))) for depth in depths))


def footprints(bounds: tuple[float, float], arity: int, nodes: list[Node]) -> Footprints:
    space = zn.Box([bounds], arity=arity)
    made = zn.Mean().footprints([space.cell(node) for node in nodes])
    assert isinstance(made, Footprints)
    return made


def entered(bounds: tuple[float, float], arity: int, nodes: list[Node]) -> Intervals:
    seen = footprints(bounds, arity, nodes)
    intervals = Intervals(bounds[1] - bounds[0])
    for k in range(0, len(nodes), 7):  # in batches, as a tree grows
        add(intervals, seen.centers[k : k + 7, 0].tolist(), seen.widths[k : k + 7, 0].tolist())
    return intervals


def add(intervals: Intervals, centers: list[float], widths: list[float]) -> list[int]:
    """Enter intervals, all seen by the same feedback."""
    return intervals.add(np.array(centers), np.array(widths), [0] * len(centers))


def cases(intervals: Intervals) -> NDArray[np.int32]:
    """Return the cases of all pairs."""
    every = np.arange(intervals.size)
    return intervals.pairs(every, every)


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
    intervals = entered(bounds, arity, nodes)
    every = cases(intervals)
    by_geometry: dict[object, set[int]] = {}
    by_case: dict[int, set[object]] = {}
    for a, one in enumerate(nodes):
        for b, other in enumerate(nodes):
            case, alike = int(every[a, b]), geometry(one, other, arity)
            by_geometry.setdefault(alike, set()).add(case)
            by_case.setdefault(case, set()).add(alike)
    assert all(len(alike) == 1 for alike in by_case.values())
    assert all(len(some) == 1 for some in by_geometry.values())
    assert intervals.cases == len(by_case)


@each_axis
@pytest.mark.parametrize("arity", [2, 3])
def test_a_case_has_the_widths_and_the_distance_of_its_pairs(bounds: tuple[float, float], arity: int) -> None:
    nodes = cells(200, arity, seed=1, deepest=9)
    seen, intervals = footprints(bounds, arity, nodes), entered(bounds, arity, nodes)
    size = intervals.size
    assert size == len(nodes)
    case = cases(intervals)
    np.testing.assert_array_equal(case, case.T)
    centers, widths = seen.centers[:, 0], seen.widths[:, 0]
    rounding = 8 * np.finfo(float).eps * np.abs(bounds).max()
    np.testing.assert_allclose(
        np.abs(intervals.geometry[0, case]), np.abs(centers[:, None] - centers), rtol=0, atol=rounding
    )
    pair = np.sort([np.broadcast_to(widths, case.shape), np.broadcast_to(widths[:, None], case.shape)], axis=0)
    np.testing.assert_allclose(np.sort(intervals.geometry[1:, case], axis=0), pair, rtol=1e-12)


@settings(deadline=None)
@given(
    ends=st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 2)), min_size=1, max_size=12),
    kernel=st.sampled_from([zn.RBF(0.7, 0.4), zn.Matern(0.7, 0.4, nu=0.5), zn.Matern(0.7, 0.4)]),
)
def test_intervals_off_the_lattice_are_averaged_like_any_other(
    ends: list[tuple[float, float]], kernel: Kernel
) -> None:
    # Cells of the tree come first, then any intervals, points among them; all against explicit points.
    space, feedback = zn.Box([(-3.0, 5.0)]), zn.Average(4)
    regions = [space.cell(node) for node in cells(20, 2, seed=2)]
    regions += [space.region([(low, low + width)]) for low, width in ends]
    covariance = Numbered(ProductCovariance(kernel, feedback, space.axes))
    for region in regions:
        covariance.add(feedback.footprints([region]))
    points = [oracle.representatives(np.asarray(region.bounds), 4) for region in regions]
    everything = np.concatenate(points)
    gram = kernel(everything, everything).reshape(len(regions), 4, len(regions), 4).mean(axis=(1, 3))
    every = np.arange(len(regions))
    np.testing.assert_allclose(covariance.between(every, every), gram, rtol=0, atol=1e-12)


def test_pairs_off_the_lattice_are_told_apart_unless_they_are_entered() -> None:
    intervals = Intervals(1.0)
    add(intervals, [0.5, 0.25, 0.75], [1.0, 0.5, 0.5])
    before = intervals.cases
    case = intervals.around(np.array([0.125, 0.3001, 0.5]), np.array([0.25, 0.01, 0.0]), [0, 0, 0])
    assert (case[0] >= 0).all()  # a cell
    assert (case[1:] < 0).all()  # an interval somewhere, and a point
    assert intervals.cases - before <= 3
    add(intervals, [0.3001, 0.5], [0.01, 0.0])
    assert (cases(intervals) >= 0).all()


def test_an_interval_met_twice_keeps_its_number() -> None:
    intervals = Intervals(1.0)
    first = add(intervals, [0.5, 0.25], [1.0, 0.5])
    again = add(intervals, [0.25, 0.75, 0.25, 0.75], [0.5, 0.5, 0.5, 0.5])
    assert (first, again, intervals.size) == ([0, 1], [1, 2, 1, 2], 3)
    np.testing.assert_array_equal(intervals.centers[:3], [0.5, 0.25, 0.75])


def test_a_whole_tree_meets_few_cases() -> None:
    nodes = [(depth, index) for depth in range(9) for index in range(2**depth)]
    intervals = entered((0.0, 1.0), 2, nodes)
    assert intervals.size == 511
    assert intervals.cases < 511 * 512 / 2 / 20


@pytest.mark.parametrize("feedback", [zn.Average(3), zn.Mean()], ids=str)
def test_models_that_share_a_layout_do_not_disturb_each_other(feedback: zn.Feedback) -> None:
    space = zn.Box([(0.0, 1.0), (-2.0, 2.0)])
    kernels = [zn.RBF(1.0, [0.2, 0.5]), zn.Matern(0.5, [0.1, 0.5], nu=1.5), zn.RBF(2.0, [0.2, 0.7])]
    shared = Tables(ProductLayout(space.axes, feedback))
    together = [Numbered(ProductCovariance(kernel, feedback, space.axes, shared)) for kernel in kernels]
    apart = [Numbered(ProductCovariance(kernel, feedback, space.axes)) for kernel in kernels]
    regions = [space.cell(node) for node in cells(150, 2, seed=3)]
    for k in range(0, len(regions), 10):
        seen = feedback.footprints(regions[k : k + 10])
        together[k // 10 % 3].covariance.enter(k, seen)
        for own in apart:
            own.enter(seen)
    every = np.arange(len(regions))
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_allclose(one.between(every, every), other.between(every, every), rtol=1e-13)
        np.testing.assert_allclose(one.variances(0, len(regions)), other.variances(0, len(regions)), rtol=1e-13)


@each_axis
def test_deep_cells_far_apart_are_told_apart_too(bounds: tuple[float, float]) -> None:
    # The table of lags has its limits; what is beyond them is a case of its own, not another's.
    nodes = [(depth, index) for depth in (20, 39, 44) for index in (0, 1, 2, 2**depth // 3, 2**depth - 1)]
    seen, intervals = footprints(bounds, 2, nodes), entered(bounds, 2, nodes)
    case = cases(intervals)
    centers, widths = seen.centers[:, 0], seen.widths[:, 0]
    rounding = 8 * np.finfo(float).eps * (bounds[1] - bounds[0])
    np.testing.assert_allclose(
        np.abs(intervals.geometry[0, case]), np.abs(centers[:, None] - centers), rtol=0, atol=rounding
    )
    wide = np.maximum.outer(widths, widths)
    np.testing.assert_allclose(intervals.geometry[1:, case].max(axis=0), wide, rtol=1e-12)
    assert case[0, 1] == case[1, 2]  # near ones are still alike
    assert case[5, 6] == case[6, 7]


def test_more_widths_than_the_lattice_numbers_are_cases_of_their_own() -> None:
    lattice = Lattice(1.0)
    widths = [1 / (k + 1) for k in range(MOST_WIDTHS + 5)]
    kinds = [lattice.cell(width / 2, width, 0)[0] for width in widths]
    assert kinds == [*range(1, MOST_WIDTHS), *[0] * 6]
    intervals = Intervals(1.0)
    add(intervals, [width / 2 for width in widths], widths)
    case = cases(intervals)
    assert case.min() >= 0
    np.testing.assert_allclose(
        intervals.geometry[1:, case].max(axis=0), np.maximum.outer(widths, widths), rtol=1e-12
    )


@pytest.mark.parametrize("feedback", [zn.Average(3), zn.Mean(), zn.Beam(share=0.5)], ids=str)
def test_cases_worked_out_when_asked_for_are_those_that_would_be_kept(
    feedback: zn.Feedback, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Cells of two axes, an interval that is no cell and a point; nothing is kept in the second round.
    space, kernel = zn.Box([(0.0, 1.0), (-2.0, 2.0)]), zn.Matern(0.5, [0.1, 0.5], nu=1.5)
    regions = [space.cell(node) for node in cells(150, 2, seed=4)]
    regions += [space.region([(0.21, 0.47), (-1.3, 0.4)]), space.region([(0.3, 0.3), (0.1, 0.1)])]
    found = []
    for most in (MOST_KEPT, 8):
        monkeypatch.setattr("zonal.averages.layout.MOST_KEPT", most)
        covariance = Numbered(ProductCovariance(kernel, feedback, space.axes))
        for k in range(0, len(regions), 11):
            covariance.enter(feedback.footprints(regions[k : k + 11]))
        every = np.arange(len(regions))
        rows = [covariance.row(one) for one in (0, 70, len(regions) - 2, len(regions) - 1)]
        found.append([covariance.between(every, every), covariance.variances(0, len(regions)), np.stack(rows)])
    for kept, worked_out in zip(*found, strict=True):
        np.testing.assert_allclose(worked_out, kept, rtol=0, atol=1e-15)
