"""Prior covariances of averages on every kind of space, against double sums written out, and themselves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kinds
import oracle_regions
import zonal as zn
from kinds import KINDS, Kind, Pair
from numbered_covariance import in_frame
from zonal.gp.kernel_families import frame_of
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback
from zonal.kernels.finite_covariance import EXACT

Array = NDArray[np.float64]
Case = tuple[Kind, Pair, Feedback]

CASES: dict[str, Case] = {
    f"{name}, {kernel}, {feedback}": (kind, pair, feedback)
    for name, kind in KINDS.items()
    for kernel, pair in kinds.kernels(kind).items()
    for feedback in kinds.allowed(kind)
}
every_case = pytest.mark.parametrize(("kind", "pair", "feedback"), CASES.values(), ids=CASES)


def some_regions(kind: Kind, number: int = 12) -> list[Any]:
    """Return cells of several depths, the root first, and regions that are none."""
    cells = kinds.cells(kind.space, most=60, deepest=4)
    rng = np.random.default_rng(0)
    chosen = [cells[i] for i in rng.permutation(len(cells))[: number - 5]]
    return [cells[0], *chosen, *kinds.off_tree(kind, 4, seed=1)]


def matrix(kind: Kind, kernel: Kernel, feedback: Feedback, regions: Sequence[Any]) -> Array:
    """Return the covariance matrix of regions, entered at once."""
    covariance = in_frame(frame_of(kind.space, feedback), kernel)
    covariance.enter(feedback.footprints(regions))
    made: Array = covariance.between(slice(0, len(regions)), slice(0, len(regions)))
    return made


def exactly_listed(kind: Kind, pair: Pair, feedback: Feedback) -> bool:
    """Tell whether points and weights give averages to rounding: not with a kink within an exact mean."""
    return pair.smooth or kinds.per_axis(feedback) is not None or all(kinds.symbols(kind.space))


LISTED = {name: case for name, case in CASES.items() if exactly_listed(*case)}


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("kind", "pair", "feedback"), LISTED.values(), ids=LISTED)
def test_covariances_are_double_sums_over_points_and_weights(kind: Kind, pair: Pair, feedback: Feedback) -> None:
    regions = some_regions(kind)
    blocks = [kinds.block(kind, region, feedback) for region in regions]
    expected = oracle_regions.covariance(pair.oracles, blocks, blocks)
    found = matrix(kind, kinds.as_kernel(kind, pair.ours), feedback, regions)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * expected.max())


@pytest.mark.one_in(3)
@every_case
def test_covariances_are_symmetric_and_positive_semi_definite(kind: Kind, pair: Pair, feedback: Feedback) -> None:
    kernel = kinds.as_kernel(kind, pair.ours)
    found = matrix(kind, kernel, feedback, some_regions(kind, 40) + kinds.off_tree(kind, 10, seed=2))
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-14 * found.max())
    values = np.linalg.eigvalsh(found)
    assert values[0] >= -1e-10 * values[-1]
    assert np.all(np.diag(found) > 0)
    if not any(isinstance(term, zn.Motif) for term in getattr(kernel, "parts", ())):  # AAAA is all the same
        assert np.all(np.diag(found) <= kernel.point_variance * (1 + 1e-12))


@pytest.mark.one_in(5)
@every_case
def test_all_ways_to_ask_for_a_covariance_agree(kind: Kind, pair: Pair, feedback: Feedback) -> None:
    kernel = kinds.as_kernel(kind, pair.ours)
    inside, apart = some_regions(kind), kinds.off_tree(kind, 6, seed=3)
    whole = matrix(kind, kernel, feedback, [*inside, *apart])
    n, near = len(inside), {"rtol": 0, "atol": 1e-13 * whole.max()}

    covariance = in_frame(frame_of(kind.space, feedback), kernel)
    variances = [
        covariance.enter(feedback.footprints(part)).copy() for part in (inside[:1], inside[1:4], inside[4:])
    ]
    np.testing.assert_allclose(np.concatenate(variances), np.diag(whole)[:n], **near)
    gram = covariance.between(slice(0, n), slice(0, n))
    np.testing.assert_allclose(gram, whole[:n, :n], **near)
    for one in range(n):
        np.testing.assert_allclose(covariance.row(one), gram[one], **near)
    some, others = np.array([3, 0, 3]), np.array([1, n - 1])
    np.testing.assert_allclose(covariance.between(some, others), gram[np.ix_(some, others)], **near)
    np.testing.assert_allclose(covariance.between(some, slice(0, 4)), gram[some, :4], **near)
    np.testing.assert_allclose(covariance.between(slice(1, 3), others), gram[1:3][:, others], **near)

    for some in (np.arange(n), np.array([2, 0]), np.zeros(0, dtype=np.intp)):
        cross, own = covariance.outside(some, feedback.footprints(apart))
        np.testing.assert_allclose(cross, whole[some, n:], **near)
        np.testing.assert_allclose(own, np.diag(whole)[n:], **near)
    np.testing.assert_allclose(covariance.among(feedback.footprints(apart)), whole[n:, n:], **near)
    again = covariance.between(slice(0, n), slice(0, n))
    np.testing.assert_allclose(again, gram, **near)  # asking enters nothing
    assert len(covariance.row(0)) == n


MEANS = {
    f"{name}, {kernel}": (kind, pair)
    for name, kind in KINDS.items()
    for kernel, pair in kinds.kernels(kind).items()
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("kind", "pair"), MEANS.values(), ids=MEANS)
def test_a_parents_mean_is_the_weighted_average_of_its_childrens(kind: Kind, pair: Pair) -> None:
    space, kernel, others = kind.space, kinds.as_kernel(kind, pair.ours), some_regions(kind)
    parents = [cell for cell in kinds.cells(space, most=60, deepest=3) if space.may_split(cell)]
    for parent in parents[:: max(1, len(parents) // 8)]:
        children = space.split(parent)
        found = matrix(kind, kernel, zn.Mean(), [parent, *children, *others])
        share = np.array([child.weight for child in children]) / parent.weight
        family = slice(1, 1 + len(children))
        np.testing.assert_allclose(found[0], share @ found[family], rtol=0, atol=1e-12 * found.max())
        assert found[0, 0] == pytest.approx(share @ found[family, family] @ share, rel=1e-10)


@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(3), zn.Average(50), zn.Mean()], ids=repr)
def test_a_space_of_many_members_is_seen_through_some_of_them_for_every_purpose_alike(feedback: Feedback) -> None:
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(EXACT + 500, 2)), rng.uniform(0.5, 2, EXACT + 500)
    kind, kernel = Kind(zn.Points(X, w), X, w), zn.Matern(1.0, 1.0)
    cells = kinds.cells(kind.space, most=600, deepest=12)
    inside = [cells[i] for i in rng.permutation(len(cells))[:15]] + cells[:3]
    apart = [*kinds.off_tree(kind, 2, seed=0), *cells[3:7]]
    whole = matrix(kind, kernel, feedback, [*inside, *apart])
    n = len(inside)
    covariance = in_frame(frame_of(kind.space, feedback), kernel)
    for region in inside:
        covariance.enter(feedback.footprints([region]))
    cross, own = covariance.outside(np.arange(n), feedback.footprints(apart))
    np.testing.assert_allclose(covariance.between(slice(0, n), slice(0, n)), whole[:n, :n], rtol=0, atol=1e-13)
    np.testing.assert_allclose(cross, whole[:n, n:], rtol=0, atol=1e-13)
    np.testing.assert_allclose(own, np.diag(whole)[n:], rtol=0, atol=1e-13)
    np.testing.assert_allclose(covariance.among(feedback.footprints(apart)), whole[n:, n:], rtol=0, atol=1e-13)
    assert np.linalg.eigvalsh(whole)[0] >= -1e-10
    if kinds.per_axis(feedback) is None:  # and that is nearly the whole truth
        blocks = [kinds.block(kind, region, feedback) for region in cells[1:3]]
        expected = oracle_regions.covariance(kernel, blocks[:1], blocks)
        np.testing.assert_allclose(whole[n - 2, n - 2 : n], expected[0], rtol=0, atol=0.01)


def test_hundreds_of_sets_leave_earlier_ones_as_they_were() -> None:
    for kind in (KINDS["points"], KINDS["dna"], KINDS["mixed"]):
        pair = next(iter(kinds.kernels(kind).values()))
        regions = kinds.off_tree(kind, 300, seed=4)
        covariance = in_frame(frame_of(kind.space, zn.Mean()), pair.ours)
        for start in range(0, 300, 50):
            covariance.enter(zn.Mean().footprints(regions[start : start + 50]))
        picked = np.arange(0, 300, 37)
        blocks = [kinds.block(kind, regions[i], zn.Mean()) for i in picked]
        expected = oracle_regions.covariance(pair.oracles, blocks, blocks)
        np.testing.assert_allclose(covariance.between(picked, picked), expected, rtol=0, atol=1e-12)
