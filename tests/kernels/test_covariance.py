"""Prior covariances of averages, against double sums over explicit points, GPy, and themselves."""

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import oracle
import zonal as zn
from effort import tries
from numbered_covariance import numbered
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback, Footprints
from zonal.kernels.measures import Uniform
from zonal.kernels.stationary import Profile
from zonal.spaces import ProductRegion

pytestmark = pytest.mark.one_in(2)

Array = NDArray[np.float64]

GPY = json.loads((Path(__file__).parents[1] / "data" / "gpy_integral.json").read_text())
SPACES = [
    zn.Box([(0.0, 1.0)]),
    zn.Box([(-180.0, 180.0), (-1.0, 1.0)], arity=3),
    zn.Box([(0.0, 40.0), (-1.0, 1.0), (5.0, 6.0)]),
]
KERNELS = ["rbf", "matern12", "matern32", "matern52", "sum"]
each_space = pytest.mark.parametrize("space", SPACES, ids=lambda space: f"d={space.d}")
each_kernel = pytest.mark.parametrize("name", KERNELS)


def kernel_of(name: str, space: zn.Box) -> tuple[Kernel, oracle.Kernel]:
    """Return a kernel with a lengthscale an axis, as the library and as the oracle have it."""
    wide = [0.3 * (high - low) * (1 + 0.2 * axis) for axis, (low, high) in enumerate(space.bounds)]
    narrow = [0.2 * scale for scale in wide]
    if name == "sum":
        total = zn.RBF(0.7, wide) + zn.Matern(0.2, narrow, nu=1.5) + zn.Matern(0.1, wide, nu=0.5)
        parts = [oracle.rbf(0.7, wide), oracle.matern(1.5, 0.2, narrow), oracle.matern(0.5, 0.1, wide)]
        return total, lambda X, Y: np.asarray(sum(part(X, Y) for part in parts))
    if name == "rbf":
        return zn.RBF(0.7, wide), oracle.rbf(0.7, wide)
    nu = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[name]
    return zn.Matern(0.7, wide, nu=nu), oracle.matern(nu, 0.7, wide)


def some_cells(space: zn.Box, number: int, seed: int, deepest: int = 7) -> list[ProductRegion]:
    """Return cells of the tree, the root first."""
    rng = np.random.default_rng(seed)
    cells = [space.cell((0, 0))]
    for _ in range(number - 1):
        depth = int(rng.integers(1, deepest + 1))
        cells.append(space.cell((depth, int(rng.integers(space.arity**depth)))))
    return cells


def some_regions(space: zn.Box, number: int, seed: int) -> list[ProductRegion]:
    """Return regions that are no cells of the tree, some of them points on some axes."""
    rng = np.random.default_rng(seed)
    low, high = np.array(space.bounds).T
    regions = []
    for _ in range(number):
        edges = np.sort(rng.uniform(size=(2, space.d)), axis=0)
        edges[1] = np.where(rng.uniform(size=space.d) < 0.2, edges[0], edges[1])
        regions.append(space.region((low + (high - low) * edges).T))
    return regions


def mixture(space: zn.Box) -> list[ProductRegion]:
    return some_cells(space, 7, seed=1) + some_regions(space, 5, seed=2)


def matrix(kernel: Kernel, feedback: Feedback, regions: Sequence[ProductRegion]) -> Array:
    """Return the covariance matrix of regions, entered at once."""
    return numbered(kernel, feedback, regions[0].space.axes).add(feedback.footprints(regions))


def double_sums(k: oracle.Kernel, regions: Sequence[ProductRegion], s: int) -> Array:
    blocks = [oracle.representatives(region.bounds, s) for region in regions]
    return np.array([[k(a, b).mean() for b in blocks] for a in blocks])


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("space", "s"),  # from s = 11 on, averages are remembered
    [(space, s) for space in SPACES for s in (1, 2, 3, 11) if s**space.d < 200],
    ids=lambda value: f"d={value.d}" if isinstance(value, zn.Box) else f"s={value}",
)
@each_kernel
def test_averages_are_double_sums_over_representative_points(name: str, space: zn.Box, s: int) -> None:
    kernel, k = kernel_of(name, space)
    expected = double_sums(k, mixture(space), s)
    np.testing.assert_allclose(matrix(kernel, zn.Average(s), mixture(space)), expected, rtol=0, atol=1e-14)


@each_space
@each_kernel
def test_a_center_is_a_single_point(name: str, space: zn.Box) -> None:
    kernel, k = kernel_of(name, space)
    centers = np.array([region.center for region in mixture(space)])
    found = matrix(kernel, zn.Center(), mixture(space))
    np.testing.assert_allclose(found, k(centers, centers), rtol=0, atol=1e-14)


@each_space
@each_kernel
def test_an_average_of_one_point_equals_the_center(name: str, space: zn.Box) -> None:
    kernel, _ = kernel_of(name, space)
    found = matrix(kernel, zn.Average(1), mixture(space))
    np.testing.assert_array_equal(found, matrix(kernel, zn.Center(), mixture(space)))


@pytest.mark.parametrize("table", GPY["tables"], ids=lambda table: f"d={table['dimension']}")
def test_exact_means_agree_with_gpys_integral_kernels(table: dict[str, list[float]]) -> None:
    lengthscales = np.array(table["gpy lengthscales"]) / math.sqrt(2)  # GPy's has no 2 in the exponent
    boxes, points = np.array(table["regions"]), np.array(table["points"])
    centers = np.vstack([boxes.mean(axis=2), points])
    widths = np.vstack([np.diff(boxes, axis=2)[:, :, 0], np.zeros(points.shape)])
    kernel = zn.RBF(table["variance"], lengthscales)  # type: ignore[arg-type]
    covariance = numbered(kernel, zn.Mean(), zn.Box([(0, 1)] * boxes.shape[1]).axes)
    found = covariance.add(Footprints(np.stack([centers - centers.min(), widths])))
    n, volume = len(boxes), widths[: len(boxes)].prod(axis=1)
    integrals = np.array(table["integral with integral"])
    values = np.array(table["integral with value"])
    np.testing.assert_allclose(found[:n, :n] * np.outer(volume, volume), integrals, rtol=2e-12, atol=0)
    np.testing.assert_allclose(found[:n, n:] * volume[:, None], values, rtol=2e-12, atol=0)


@each_space
@each_kernel
def test_averages_tend_to_exact_means_as_points_grow(name: str, space: zn.Box) -> None:
    kernel, _ = kernel_of(name, space)
    regions = some_cells(space, 8, seed=3) + some_regions(space, 4, seed=4)
    exact = matrix(kernel, zn.Mean(), regions)
    errors = [float(np.abs(matrix(kernel, zn.Average(s), regions) - exact).max()) for s in (32, 64, 128)]
    assert 0 < errors[2] < 1e-3
    for error, finer in itertools.pairwise(errors):
        assert error / finer == pytest.approx(4, rel=0.1)  # twice the points, a quarter of the error


@each_space
@each_kernel
@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(3), zn.Average(12), zn.Mean()], ids=repr)
def test_covariances_are_symmetric_and_positive_semi_definite(
    feedback: Feedback, name: str, space: zn.Box
) -> None:
    kernel, _ = kernel_of(name, space)
    found = matrix(kernel, feedback, some_cells(space, 40, seed=5) + some_regions(space, 20, seed=6))
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-15)
    assert np.linalg.eigvalsh(found)[0] >= -1e-14 * np.trace(found)
    assert np.all(np.diag(found) > 0)
    assert np.all(np.diag(found) <= kernel.point_variance * (1 + 1e-15))


@each_space
@each_kernel
def test_a_parents_exact_mean_is_the_average_of_its_childrens(name: str, space: zn.Box) -> None:
    kernel, _ = kernel_of(name, space)
    for parent in some_cells(space, 6, seed=7):
        others = mixture(space)
        children = space.split(parent)
        found = matrix(kernel, zn.Mean(), [parent, *children, *others])
        family = slice(1, 1 + len(children))
        np.testing.assert_allclose(found[0], found[family].mean(axis=0), rtol=0, atol=3e-15)
        assert found[0, 0] == pytest.approx(found[family, family].mean(), rel=0, abs=3e-15)


@pytest.mark.one_in(7)
@each_space
@each_kernel
@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(3), zn.Average(12), zn.Mean()], ids=repr)
def test_all_ways_to_ask_for_a_covariance_agree(feedback: Feedback, name: str, space: zn.Box) -> None:
    kernel, _ = kernel_of(name, space)
    inside, apart = mixture(space), some_cells(space, 6, seed=8) + some_regions(space, 6, seed=9)
    whole = matrix(kernel, feedback, [*inside, *apart])
    n = len(inside)

    covariance = numbered(kernel, feedback, space.axes)
    np.testing.assert_allclose(covariance.add(feedback.footprints(inside[:4])), whole[:4, :4], rtol=0, atol=2e-15)
    np.testing.assert_allclose(covariance.add(feedback.footprints(inside[4:])), whole[4:n, :n], rtol=0, atol=2e-15)
    assert covariance.size == n
    every = np.arange(n)
    gram = covariance.between(slice(0, n), slice(0, n))
    np.testing.assert_allclose(gram, whole[:n, :n], rtol=0, atol=2e-15)
    for one in range(n):
        np.testing.assert_array_equal(covariance.row(one), gram[one])
    some, others = np.array([3, 0, 3]), np.array([1, 9])
    np.testing.assert_array_equal(covariance.between(some, others), gram[np.ix_(some, others)])
    np.testing.assert_array_equal(covariance.between(some, slice(0, 5)), gram[some, :5])

    cross, variances = covariance.outside(every, feedback.footprints(apart))
    np.testing.assert_allclose(cross, whole[:n, n:], rtol=0, atol=2e-15)
    np.testing.assert_allclose(variances, np.diag(whole)[n:], rtol=0, atol=2e-15)
    cross, variances = covariance.outside(every, feedback.footprints(inside))
    np.testing.assert_allclose(cross, gram, rtol=0, atol=2e-15)
    np.testing.assert_allclose(variances, np.diag(gram), rtol=0, atol=2e-15)
    some_rows, _ = covariance.outside(some, feedback.footprints(apart))
    np.testing.assert_allclose(some_rows, whole[some, n:], rtol=0, atol=2e-15)
    assert covariance.size == n  # asking from outside enters nothing


LATTICES = [
    zn.Box([(0.0, 1.0)]),
    zn.Box([(1e6, 1e6 + 1)]),
    zn.Box([(1e6, 1e6 + 1)], arity=3),
    zn.Box([(-1.0, 0.7)], arity=5),
    zn.Box([(1e6, 1e6 + 1), (-7.3, 0.1)], arity=5),
    zn.Box([(0.1, 0.3), (-1e4, 1e4), (2.0, 2.5)], arity=3),
]
each_lattice = pytest.mark.parametrize("space", LATTICES, ids=lambda space: f"{space.bounds} by {space.arity}")


@pytest.mark.one_in(5)
@each_lattice
@pytest.mark.parametrize("name", ["rbf", "matern12", "sum"])
@pytest.mark.parametrize("feedback", [zn.Average(12), zn.Mean()], ids=repr)
def test_remembered_averages_equal_those_computed_anew(feedback: Feedback, name: str, space: zn.Box) -> None:
    """What was asked before changes no digit: neither what is entered nor what is asked from outside."""
    kernel, _ = kernel_of(name, space)
    regions = [*some_cells(space, 50, seed=10, deepest=9), *some_regions(space, 5, seed=11)]
    covariance = numbered(kernel, feedback, space.axes)
    for start in range(0, 50, 5):  # bit by bit, first cells only, as a tree grows
        covariance.add(feedback.footprints(regions[start : start + 5]))
    outside = regions[::3]
    cross, own = covariance.outside(np.arange(50), feedback.footprints(outside))
    covariance.add(feedback.footprints(regions[50:]))
    remembered = covariance.between(slice(0, 55), slice(0, 55))
    for number in range(0, 55, tries(13, 4)):  # each with a memory of its own
        anew = numbered(kernel, feedback, space.axes)
        anew.enter(feedback.footprints([regions[number], *regions]))
        np.testing.assert_array_equal(anew.between(slice(0, 1), slice(1, 56))[0], remembered[number])
        np.testing.assert_array_equal(anew.row(0)[1:], remembered[number])
        if number < 50:
            found, variances = anew.outside(slice(0, 1), feedback.footprints(outside))
            np.testing.assert_array_equal(found[0], cross[number])
            np.testing.assert_array_equal(variances, own)
    np.testing.assert_array_equal(remembered, remembered.T)


@pytest.mark.parametrize("arity", [2, 3, 5])
@pytest.mark.parametrize("nu", [0.5, 2.5])
def test_thousands_of_lengthscales_cost_no_more_than_the_rounding_of_positions(nu: float, arity: int) -> None:
    """Cells far from the space's corner and near each other: differences of large numbers."""
    across = 4096.0
    space = zn.Box([(0.0, across)], arity=arity)
    corner, away = [], []
    depth = {2: 13, 3: 8, 5: 5}[arity]
    last = arity**depth - 1
    for i in range(12):
        corner.append(space.cell((depth, i)))
        away.append(space.cell((depth, last - i)))
    kernel = zn.Matern(1.0, 1.0, nu=nu)
    found = matrix(kernel, zn.Mean(), [*away, space.cell((0, 0)), *corner])
    expected = matrix(kernel, zn.Mean(), corner)
    np.testing.assert_allclose(found[13:, 13:], expected, rtol=0, atol=4e-16 * across)
    np.testing.assert_allclose(found[:12, :12], expected, rtol=0, atol=4e-16 * across)


@pytest.mark.parametrize("space", LATTICES[:4], ids=lambda space: f"{space.bounds} by {space.arity}")
def test_averages_on_the_lattice_are_computed_once(space: zn.Box, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = 0
    original = Uniform.mean

    def counting(self: Uniform, profile: Profile, geometry: Array, scale: float) -> Array:
        nonlocal computed
        computed += geometry.shape[1]
        return original(self, profile, geometry, scale)

    monkeypatch.setattr(Uniform, "mean", counting)
    monkeypatch.setattr("zonal.kernels.covariance.FEW", 0)  # so few may be computed twice
    kernel, _ = kernel_of("rbf", space)
    covariance = numbered(kernel, zn.Mean(), space.axes)
    row = [space.cell((3, index)) for index in range(space.arity**3)]
    covariance.add(zn.Mean().footprints(row))
    assert computed == len(row)  # one a distance, not one a pair
    covariance.add(zn.Mean().footprints([child for cell in row[:4] for child in space.split(cell)]))
    covariance.outside(np.arange(2), zn.Mean().footprints(row))
    before = computed
    covariance.outside(np.arange(2), zn.Mean().footprints(row))
    covariance.between(slice(0, covariance.size), slice(0, covariance.size))
    covariance.row(3)
    assert computed == before


@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(3), zn.Average(12), zn.Mean()], ids=repr)
@each_lattice
def test_the_order_of_entering_does_not_matter(space: zn.Box, feedback: Feedback) -> None:
    kernel, _ = kernel_of("sum", space)
    regions = [*some_cells(space, 30, seed=12), *some_regions(space, 10, seed=13)]
    expected = matrix(kernel, feedback, regions)
    rng = np.random.default_rng(14)
    for _ in range(tries(1, 3)):
        order = rng.permutation(len(regions))
        covariance = numbered(kernel, feedback, space.axes)
        for part in np.array_split(order, 7):
            covariance.add(feedback.footprints([regions[i] for i in part]))
        found = covariance.between(np.argsort(order), np.argsort(order))
        np.testing.assert_allclose(found, expected, rtol=0, atol=5e-15)


def test_a_region_entered_twice_is_itself() -> None:
    space = SPACES[1]
    kernel, _ = kernel_of("sum", space)
    found = matrix(kernel, zn.Mean(), mixture(space) * 2)
    n = len(mixture(space))
    np.testing.assert_array_equal(found[:n], found[n:])
    np.testing.assert_array_equal(found[:, :n], found[:, n:])


@pytest.mark.parametrize("space", SPACES[:2], ids=lambda space: f"d={space.d}")
def test_hundreds_of_intervals_leave_earlier_ones_as_they_were(space: zn.Box) -> None:
    kernel, k = kernel_of("rbf", space)
    regions = some_regions(space, 300, seed=15)
    covariance = numbered(kernel, zn.Average(2), space.axes)
    for start in range(0, 300, 50):
        covariance.add(zn.Average(2).footprints(regions[start : start + 50]))
    picked = np.arange(0, 300, 23)
    expected = double_sums(k, [regions[i] for i in picked], 2)
    np.testing.assert_allclose(covariance.between(picked, picked), expected, rtol=0, atol=1e-14)


def test_large_grids_are_summed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, k = kernel_of("matern52", SPACES[0])
    regions = mixture(SPACES[0])
    monkeypatch.setattr("zonal.kernels.measures.BLOCK", 1000)
    found = matrix(kernel, zn.Average(25), regions)
    np.testing.assert_allclose(found, double_sums(k, regions, 25), rtol=0, atol=1e-14)


def test_a_wrong_number_of_lengthscales_is_refused() -> None:
    with pytest.raises(zn.InvalidInput, match=r"one lengthscale, or one for each of 3 axes.*\(1\.0, 2\.0\)"):
        numbered(zn.RBF(1.0, (1.0, 2.0)), zn.Mean(), zn.Box([(0, 1)] * 3).axes)
