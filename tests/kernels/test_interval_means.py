"""Exact means over intervals, against high-precision values made by `make_exact_means.py`."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import zonal as zn
from effort import examples
from numbered_covariance import numbered
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Footprints
from zonal.kernels.stationary import Closed

Array = NDArray[np.float64]

TABLE = json.loads((Path(__file__).parents[1] / "data" / "exact_means.json").read_text())
KERNELS: dict[str, zn.RBF | zn.Matern] = {
    "rbf": zn.RBF(1.0, 1.0),
    "matern12": zn.Matern(1.0, 1.0, nu=0.5),
    "matern32": zn.Matern(1.0, 1.0, nu=1.5),
    "matern52": zn.Matern(1.0, 1.0, nu=2.5),
}
each_kernel = pytest.mark.parametrize("name", list(KERNELS))
widths = st.floats(1e-8, 20) | st.sampled_from([1e-8, 1e-3, 0.25, 0.499999, 0.5, 0.500001, 1.0, 1.000001])
gaps = st.floats(0, 25)


def column(name: str) -> Array:
    at = TABLE["columns"].index(name)
    return np.array([row[at] for row in TABLE["rows"]], dtype=float)


def profile(name: str) -> Closed:
    own = KERNELS[name].profile
    assert isinstance(own, Closed)
    return own


def mean(name: str, gap: float, wide_a: float, wide_b: float) -> float:
    return float(profile(name).mean(*(np.array([x]) for x in (gap, wide_a, wide_b)))[0])


def of_table(name: str) -> Array:
    gap = column("c1") - column("c2")
    return profile(name).mean(gap, column("w1"), column("w2"))


def test_the_table_covers_points_and_widths_from_1e_8_to_20_lengthscales() -> None:
    assert len(TABLE["rows"]) > 1000
    assert set(column("w1")) >= {0.0, 1e-8, 1e-4, 0.5, 0.7, 20.0}
    assert set(column("w1")) == set(column("w2"))


@each_kernel
def test_means_over_intervals_are_within_1e_14_of_high_precision_values(name: str) -> None:
    error = np.abs(of_table(name) - column(name))
    worst = int(error.argmax())
    assert error[worst] <= 2e-15, TABLE["rows"][worst]  # 1e-14 is promised


@each_kernel
def test_the_covariance_of_exact_means_is_within_1e_14_of_high_precision_values(name: str) -> None:
    """As a user gets it: through a box in native units, with a lengthscale and a variance of its own."""
    lengthscale, variance = 3.7, 2.5
    kernel: Kernel = zn.RBF(variance, lengthscale)
    if name != "rbf":
        kernel = zn.Matern(variance, lengthscale, nu={"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[name])
    centers = np.stack([column("c1"), column("c2")]) * lengthscale
    spans = np.stack([column("w1"), column("w2")]) * lengthscale
    for some in np.array_split(np.arange(len(TABLE["rows"])), len(TABLE["rows"]) // 40):
        covariance = numbered(kernel, zn.Mean(), zn.Box([(0, 1)]).axes)
        footprints = Footprints(np.stack([centers[:, some].reshape(-1, 1), spans[:, some].reshape(-1, 1)]))
        covariance.enter(footprints)
        found = np.diagonal(covariance.between(slice(len(some)), slice(len(some), None))) / variance
        np.testing.assert_allclose(found, column(name)[some], rtol=0, atol=1e-14)


@each_kernel
def test_no_mean_leaves_the_range_of_a_correlation(name: str) -> None:
    assert np.max(of_table(name)) <= 1 + 1e-15
    assert np.min(of_table(name)) >= -1e-15


@each_kernel
def test_two_points_have_the_kernels_own_value(name: str) -> None:
    gap = np.array([0.0, 1e-12, 1e-3, 0.3, -0.3, 2.0, -17.0])
    np.testing.assert_array_equal(profile(name).mean(gap, np.zeros(7), np.zeros(7)), profile(name).value(gap))


@each_kernel
@examples(60)
@given(gap=gaps, wide=widths)
def test_a_point_is_the_limit_of_narrow_intervals(name: str, gap: float, wide: float) -> None:
    tiny = 1e-14
    assert mean(name, gap, wide, 0.0) == pytest.approx(mean(name, gap, wide, tiny), rel=0, abs=3e-14)
    assert mean(name, gap, 0.0, 0.0) == pytest.approx(mean(name, gap, tiny, tiny), rel=0, abs=3e-14)
    assert mean(name, gap, 0.0, 0.0) == pytest.approx(mean(name, gap, tiny, 0.0), rel=0, abs=3e-14)


@each_kernel
@examples(60)
@given(gap=gaps, wide_a=widths | st.just(0.0), wide_b=widths | st.just(0.0))
def test_neither_order_nor_direction_matters(name: str, gap: float, wide_a: float, wide_b: float) -> None:
    found = mean(name, gap, wide_a, wide_b)
    assert found == mean(name, -gap, wide_a, wide_b) == mean(name, gap, wide_b, wide_a)


@each_kernel
@examples(100)
@given(gap=gaps, wide_a=widths, wide_b=widths | st.just(0.0), parts=st.integers(2, 5))
def test_an_interval_is_the_average_of_its_parts(
    name: str, gap: float, wide_a: float, wide_b: float, parts: int
) -> None:
    """So the rules for narrow, wide and mixed pairs agree where they meet."""
    part = wide_a / parts
    centers = [gap + part * (i - (parts - 1) / 2) for i in range(parts)]
    pieces = [mean(name, center, part, wide_b) for center in centers]
    assert mean(name, gap, wide_a, wide_b) == pytest.approx(sum(pieces) / parts, rel=0, abs=5e-15)


@each_kernel
def test_pairs_broadcast_together(name: str) -> None:
    gap, wide_a, wide_b = np.array([[0.1], [2.0]]), np.array([0.2, 0.9, 0.0]), np.array(0.6)
    found = profile(name).mean(gap, wide_a, wide_b)
    assert found.shape == (2, 3)
    expected = [[mean(name, g, a, 0.6) for a in wide_a.tolist()] for g in gap[:, 0].tolist()]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


@each_kernel
@pytest.mark.parametrize("shift", [-3.0, 0.1, 180.0, 1e6, -1e9])
def test_translating_a_space_changes_no_covariance(name: str, shift: float) -> None:
    kernel, nodes = KERNELS[name], [(0, 0), (1, 1), (4, 3), (4, 11), (9, 500)]
    here, there = (zn.Box([(low, low + 4.0)], arity=3) for low in (0.0, shift))
    matrices = []
    for space in (here, there):
        footprints = zn.Mean().footprints([space.cell(node) for node in nodes])
        matrices.append(numbered(kernel, zn.Mean(), zn.Box([(0, 1)]).axes).add(footprints))
    assert there.bounds[0][0] == shift
    # The width of the space itself may be rounded when its edges are far from 0.
    rounding = abs(there.bounds[0][1] - there.bounds[0][0] - 4.0)
    np.testing.assert_allclose(matrices[1], matrices[0], rtol=0, atol=4e-16 + 2 * rounding)
