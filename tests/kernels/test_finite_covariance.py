"""Averages over sets of members against double sums over all of them, in spaces too large to see every member."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import zonal as zn
from numbered_covariance import Numbered, numbered_members
from zonal.gp.kernel_families import frame_of
from zonal.kernels.base import Factor, Kernel, Term
from zonal.kernels.callable import custom
from zonal.kernels.feedback import Subsets
from zonal.kernels.finite_covariance import EXACT, FEW, LARGE, WHOLE, Representatives

pytestmark = pytest.mark.one_in(2)

Array = NDArray[np.float64]

KERNEL = zn.RBF(1.0, 0.3)


def cloud(kind: str, n: int, d: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        return rng.uniform(size=(n, d))
    centers = rng.uniform(size=(8, d))
    return np.asarray(centers[rng.integers(0, 8, n)] + rng.normal(size=(n, d)) * 0.03)


def regions_of(space: Any, depths: tuple[int, ...] = (0, 1, 2, 4, 6, 8, 10)) -> list[Any]:
    """Return the first, a middle and the last cell of several depths."""
    nodes = [
        (depth, index)
        for depth in depths
        for index in sorted({0, space.partition.count(depth) // 2, space.partition.count(depth) - 1})
    ]
    return [space.cell(node) for node in nodes]


def double_sums(kernel: Any, space: Any, regions: list[Any], step: int = 500) -> Array:
    """Return covariances of regions over all their members, a block of the kernel at a time."""
    averaging = np.zeros((len(regions), space.size))
    for own, region in zip(averaging, regions, strict=True):
        own[region.positions] = space.weights[region.positions]
    averaging /= averaging.sum(axis=1, keepdims=True)
    total = np.zeros((len(regions), len(regions)))
    for low in range(0, space.size, step):
        part = slice(low, low + step)
        total += averaging[:, part] @ (kernel(space.features[part], space.features) @ averaging.T)
    return total


def footprints(regions: list[Any]) -> Subsets:
    footprints = zn.Mean().footprints(regions)
    assert isinstance(footprints, Subsets)
    return footprints


@pytest.mark.one_in(3)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("d", "error"), [(2, 0.025), (5, 0.045)])  # of the point variance; seen: 0.015 and 0.035
@pytest.mark.parametrize("kind", ["uniform", "clustered"])
def test_covariances_in_a_large_space_are_close_to_double_sums(
    kind: str, d: int, error: float, weighted: bool
) -> None:
    weights = np.random.default_rng(1).uniform(0.5, 3, 4500) if weighted else None
    space = zn.Points(cloud(kind, 4500, d), weights)
    regions = regions_of(space)
    truth = double_sums(KERNEL, space, regions)
    covariance = numbered_members(KERNEL, space)
    variances = covariance.enter(footprints(regions))
    matrix = covariance.between(slice(0, covariance.size), slice(0, covariance.size))
    np.testing.assert_allclose(variances, truth.diagonal(), rtol=0, atol=error)
    np.testing.assert_allclose(matrix, truth, rtol=0, atol=error)
    large = [row for row, region in enumerate(regions) if len(region.positions) >= 1000]
    assert len(large) >= 5
    np.testing.assert_allclose(matrix[np.ix_(large, large)], truth[np.ix_(large, large)], rtol=0, atol=0.01)
    few = [row for row, region in enumerate(regions) if len(region.positions) <= FEW]
    assert len(few) >= 4
    np.testing.assert_allclose(matrix[np.ix_(few, few)], truth[np.ix_(few, few)], rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("kernel", [zn.RBF(1.0, 0.3), zn.Matern(1.0, 0.2, nu=0.5)], ids=["rbf", "matern"])
def test_covariances_in_a_large_space_stay_positive_semi_definite_and_agree_with_each_other(
    kernel: Kernel, d: int
) -> None:
    space = zn.Points(cloud("clustered", 6000, d), np.random.default_rng(1).lognormal(0, 1, 6000))
    rng = np.random.default_rng(2)
    tree = [space.cell((depth, index)) for depth in range(7) for index in range(space.partition.count(depth))]
    off_tree = [space.region(rng.permutation(6000)[:size].tolist()) for size in (2, 33, 500, 3000, 5999)]
    regions = tree + off_tree
    covariance = numbered_members(kernel, space)
    variances = covariance.enter(footprints(regions))
    matrix = covariance.between(slice(0, covariance.size), slice(0, covariance.size))
    assert float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0]) > -1e-12 * len(regions)
    np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(variances, matrix.diagonal(), rtol=0, atol=1e-13)
    np.testing.assert_allclose(covariance.row(70), matrix[70], rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        covariance.among(footprints(off_tree)), matrix[len(tree) :, len(tree) :], rtol=0, atol=1e-13
    )
    cross, own = covariance.outside(np.arange(40), footprints(off_tree))
    np.testing.assert_allclose(cross, matrix[:40, len(tree) :], rtol=0, atol=1e-13)
    np.testing.assert_allclose(own, variances[len(tree) :], rtol=0, atol=1e-13)


def test_the_order_of_entry_changes_no_covariance() -> None:
    space = zn.Points(cloud("uniform", 5000, 2))
    regions = regions_of(space)
    at_once, one_by_one = numbered_members(KERNEL, space), numbered_members(KERNEL, space)
    at_once.enter(footprints(regions))
    for number, region in enumerate(regions):
        one_by_one.enter(footprints([region]))
        one_by_one.row(number // 2)  # what is kept must be widened as members are met
    one, other = (own.between(slice(0, own.size), slice(0, own.size)) for own in (one_by_one, at_once))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


@pytest.mark.parametrize("d", [1, 3])
def test_up_to_the_limit_covariances_are_exact(d: int) -> None:
    space = zn.Points(cloud("clustered", EXACT, d), np.random.default_rng(1).uniform(0.5, 3, EXACT))
    regions = [*regions_of(space), space.region(np.arange(0, EXACT, 3).tolist())]
    truth = double_sums(KERNEL, space, regions)
    covariance = numbered_members(KERNEL, space)
    np.testing.assert_allclose(covariance.enter(footprints(regions)), truth.diagonal(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        covariance.between(slice(0, covariance.size), slice(0, covariance.size)), truth, rtol=0, atol=1e-12
    )


def test_beyond_the_limit_a_region_is_seen_through_a_few_of_its_own_members() -> None:
    space = zn.Points(cloud("uniform", EXACT + 1, 2))
    stand_for = Representatives(space)
    for region in [*regions_of(space), space.region(np.arange(0, EXACT, 3).tolist())]:
        (members,), (shares,) = footprints([region]).members, footprints([region]).shares
        places, weights = stand_for(members, shares)
        assert set(places.tolist()) <= set(members.tolist())
        assert min(FEW, len(members)) <= len(places) <= min(WHOLE, len(members))
        assert weights.sum() == pytest.approx(1, abs=1e-12)


def test_points_that_are_all_the_same_vary_as_one() -> None:
    space = zn.Points(np.full((6000, 2), 0.5))
    covariance = numbered_members(KERNEL, space)
    assert covariance.enter(footprints([space.cell((0, 0))])) == pytest.approx([1.0], abs=1e-12)


def test_copies_of_one_point_are_averaged_with_the_others_by_their_number() -> None:
    copies, others = np.full((5000, 2), 0.5), cloud("uniform", 1000, 2)
    space = zn.Points(np.concatenate([copies, others]))
    regions = [space.region(np.arange(5000)), space.region([0, 4999]), space.cell((0, 0)), space.region([5500])]
    truth = double_sums(KERNEL, space, regions)
    covariance = numbered_members(KERNEL, space)
    variances = covariance.enter(footprints(regions))
    matrix = covariance.between(slice(0, covariance.size), slice(0, covariance.size))
    np.testing.assert_allclose(matrix, truth, rtol=0, atol=0.005)
    np.testing.assert_allclose(variances[:2], 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(matrix[:2, :2], 1, rtol=0, atol=1e-12)


def test_a_region_of_a_hundred_thousand_members_takes_little_memory() -> None:
    space = zn.Points(cloud("uniform", 100_000, 5))
    regions = [space.cell((0, 0)), space.region(np.arange(99_999)), space.cell((1, 1))]
    tracemalloc.start()
    try:
        covariance = numbered_members(KERNEL, space)
        covariance.enter(footprints(regions))
        covariance.row(0)
        covariance.outside(np.arange(3), footprints(regions))
        covariance.among(footprints(regions))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50e6  # a kernel between all members would take 80 GB


@pytest.mark.parametrize("size", [EXACT, 6000])
def test_a_kernel_is_never_asked_for_more_than_a_block(size: int) -> None:
    asked: list[int] = []

    def kernel(x: Array, y: Array) -> Array:
        asked.append(len(x) * len(y))
        return np.asarray(1 + x @ y.T)

    space = zn.Points(cloud("uniform", size, 2))
    regions = [*regions_of(space, (1, 3, 6)), space.region(np.arange(0, size, 2))]
    others = [space.region(np.arange(start, size, 3)) for start in range(3)]
    covariance = numbered_members(custom(kernel, space.features[:20]), space)
    calls: list[Callable[[], object]] = [
        lambda: covariance.enter(footprints(regions)),
        lambda: covariance.row(3),
        lambda: covariance.between(slice(0, 4), slice(0, covariance.size)),
        lambda: covariance.outside(np.arange(3), footprints(others)),
        lambda: covariance.among(footprints(others[1:])),
    ]
    for call in calls:
        asked.clear()
        call()
        assert asked
        assert max(asked) <= LARGE // 2


@pytest.mark.parametrize("size", [900, EXACT + 900])
@pytest.mark.parametrize("kernel", [KERNEL, zn.Matern(1.0, 0.2, nu=1.5), KERNEL + zn.Matern(0.3, 0.1)], ids=str)
def test_what_others_entered_and_asked_changes_no_digit(kernel: Kernel, size: int) -> None:
    space = zn.Points(cloud("clustered", size, 2), np.random.default_rng(1).uniform(0.5, 3, size))
    rng = np.random.default_rng(2)
    mine = regions_of(space, (0, 1, 3, 6, 9))
    others = [*regions_of(space, (2, 5, 8)), *(space.region(rng.permutation(size)[:40]) for _ in range(4))]
    outside = [space.region(rng.permutation(size)[:number]) for number in (1, 30, 600)]
    every = np.arange(len(mine))

    def asked(own: Numbered) -> list[Array]:
        found = [own.between(every, every), own.row(2)[: len(mine)], own.variances(0, len(mine))]
        return [*found, *own.outside(every, footprints(outside)), own.among(footprints(outside))]

    alone, crowded = numbered_members(kernel, space), numbered_members(kernel, space)
    alone.enter(footprints(mine))
    expected = asked(alone)
    visitor = Numbered(crowded.layout, crowded.covariance)
    visitor.enter(footprints(others))
    visitor.between(slice(0, 3), slice(0, len(others)))
    for number, region in enumerate(mine):  # one at a time, others asking in between
        crowded.enter(footprints([region]))
        visitor.row(number % len(others))
        visitor.outside(slice(0, 2), footprints(outside))
        visitor.enter(footprints([region]))
    for one, other in zip(asked(crowded), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(asked(alone), expected, strict=True):  # and asked again
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "kernel", [zn.RBF(2.5, 0.3), zn.Matern(0.2, (0.3, 0.5), nu=1.5), zn.Matern(0.7, 0.3) + zn.Nugget(0.4)]
)
def test_averages_kept_for_other_variances_change_no_digit(kernel: Any) -> None:
    space = zn.Points(cloud("clusters", 300, 2))
    regions = regions_of(space, (0, 2, 4, 8))
    answers = []
    for earlier in ([], [replace(kernel.terms[0], variance=1.0)], [kernel]):
        frame = frame_of(space, zn.Mean())
        keys = frame.layout.keys(footprints(regions))
        pairs, own = frame.layout.pairs(keys, keys), frame.layout.self_pairs(keys)
        for other in earlier:
            frame.covariance(other).of(pairs)
            frame.covariance(other).of(frame.layout.self_pairs(keys[:, ::2]))
        covariance = frame.covariance(kernel)
        answers.append(np.vstack([covariance.of(pairs), covariance.of(own)]))
    assert (answers[0] == answers[1]).all()
    assert (answers[0] == answers[2]).all()
    assert answers[0][:-1] == pytest.approx(double_sums(kernel, space, regions), abs=1e-12)


class Undecorated(Term):
    """A user's kernel, which is no dataclass."""

    variance = 1.0

    def along(self, symbols: Sequence[bool]) -> list[Factor]:
        return KERNEL.along(symbols)

    def on_points(self, x: Array, y: Array) -> Array:
        return KERNEL.on_points(x, y)


@dataclass
class Unhashable:
    """A user's function of features, which may be changed and so has no hash."""

    scale: float

    def __call__(self, x: Array, y: Array) -> Array:
        return self.scale * KERNEL.on_points(x, y)


@pytest.mark.parametrize("d", [2, 20])  # few features and many
@pytest.mark.parametrize("kernel", [Undecorated(), Unhashable(1.0)])
def test_kernels_of_users_need_be_no_frozen_dataclasses(kernel: Any, d: int) -> None:
    space = zn.Points(cloud("uniform", 40, d))
    own = zn.Study(space, budget=9, kernel=kernel, noise=0.1)
    same = zn.Study(space, budget=9, kernel=KERNEL, noise=0.1)
    for study in (own, same):
        study.observe(space.cell((1, 0)), 2.0)
    np.testing.assert_allclose(own.predict().mean, same.predict().mean, rtol=1e-9)
    np.testing.assert_allclose(own.predict().std, same.predict().std, rtol=1e-9)
