"""Kernels: their integrals, slopes and matrices, and what they refuse."""

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

import oracle
import zonal as zn
from zonal.kernels.base import Kernel, PlainAxis, ProductKernel
from zonal.kernels.stationary import Closed, Profile

Array = NDArray[np.float64]

KERNELS: dict[str, zn.RBF | zn.Matern] = {
    "rbf": zn.RBF(1.0, 1.0),
    "matern12": zn.Matern(1.0, 1.0, nu=0.5),
    "matern32": zn.Matern(1.0, 1.0, nu=1.5),
    "matern52": zn.Matern(1.0, 1.0, nu=2.5),
}
DISTANCES = [0.0, 1e-9, 1e-4, 0.03, 0.5, 1.0, 2.7, 6.0, 19.0, 40.0]
each_kernel = pytest.mark.parametrize("name", list(KERNELS))


def kappa(name: str, r: mp.mpf) -> mp.mpf:
    """Return the correlation at distance r >= 0, written out once more."""
    if name == "rbf":
        return mp.exp(-r * r / 2)
    s = mp.sqrt({"matern12": 1, "matern32": 3, "matern52": 5}[name]) * r
    return {"matern12": 1, "matern32": 1 + s, "matern52": 1 + s + s * s / 3}[name] * mp.exp(-s)


def integral(g: Callable[[mp.mpf], mp.mpf], low: float, high: float) -> float:
    """Return an integral to 25 digits, in pieces that do not outgrow the kernel."""
    with mp.workdps(25):
        whole = min(mp.mpf(high), mp.mpf(low) + 120)  # beyond, nothing is left
        pieces = [low + (whole - low) * i / 20 for i in range(21)]
        return float(mp.quad(g, pieces))


def profile(name: str) -> Closed:
    own = KERNELS[name].profile
    assert isinstance(own, Closed)
    return own


@each_kernel
@pytest.mark.parametrize("r", DISTANCES)
def test_a_profiles_value_is_the_same_to_both_sides_and_one_at_zero(name: str, r: float) -> None:
    found = profile(name).value(np.array([r, -r, 0.0]))
    assert found[0] == found[1] == pytest.approx(float(kappa(name, mp.mpf(r))), rel=1e-13, abs=1e-300)
    assert found[2] == 1


@pytest.mark.one_in(3)
@each_kernel
@pytest.mark.parametrize("r", DISTANCES)
def test_first_is_the_integral_of_the_profile_from_zero(name: str, r: float) -> None:
    expected = integral(lambda x: kappa(name, x), 0.0, r)
    assert profile(name).first(np.array([r]))[0] == pytest.approx(expected, rel=0, abs=1e-15)


@pytest.mark.one_in(3)
@each_kernel
@pytest.mark.parametrize("r", DISTANCES)
def test_second_is_the_integral_of_first_from_zero(name: str, r: float) -> None:
    expected = integral(lambda x: (r - x) * kappa(name, x), 0.0, r)
    assert profile(name).second(np.array([r]))[0] == pytest.approx(expected, rel=1e-15, abs=1e-15)


@pytest.mark.one_in(3)
@each_kernel
@pytest.mark.parametrize("r", DISTANCES)
def test_tail_is_second_less_its_linear_part(name: str, r: float) -> None:
    """What second tends to is a line; the rest is the double integral from r to infinity."""
    expected = integral(lambda x: (x - r) * kappa(name, x), r, math.inf)
    assert profile(name).tail(np.array([r]))[0] == pytest.approx(expected, rel=0, abs=1e-15)


@each_kernel
def test_tails_decay_to_nothing(name: str) -> None:
    tail = profile(name).tail(np.array([0.0, 1.0, 5.0, 50.0, 1e3]))
    assert np.all(np.diff(tail) <= 0)
    assert abs(tail[-1]) < 1e-300


@each_kernel
@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_kernels_matrix_is_a_product_over_axes(name: str, d: int) -> None:
    rng = np.random.default_rng(d)
    x, y = rng.normal(size=(5, d)), rng.normal(size=(4, d))
    scales = [0.3, 1.7, 40.0][:d]
    if name == "rbf":
        kernel: Kernel = zn.RBF(0.7, scales)
        k = oracle.rbf(0.7, scales)
    else:
        nu = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[name]
        kernel = zn.Matern(0.7, scales, nu=nu)
        k = oracle.matern(nu, 0.7, scales)
    np.testing.assert_allclose(kernel(x, y), k(x, y), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(kernel(y, x), kernel(x, y).T)
    np.testing.assert_array_equal(np.diag(kernel(x, x)), 0.7)


def test_one_lengthscale_serves_all_axes() -> None:
    x = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_array_equal(zn.RBF(2, 0.5)(x, x), zn.RBF(2, [0.5, 0.5, 0.5])(x, x))
    assert zn.Matern(1, 0.5).lengthscales(3).tolist() == [0.5, 0.5, 0.5]


def test_only_rbf_is_radial() -> None:
    """The product of Matern kernels is not the Matern kernel of the distance, as its documentation says."""
    apart, origin = np.array([[0.3, 0.4]]), np.zeros((1, 2))
    distance = np.array([[0.5]])
    rbf, matern = zn.RBF(1.0, 1.0), zn.Matern(1.0, 1.0, nu=1.5)
    assert rbf(apart, origin) == pytest.approx(rbf(distance, np.zeros((1, 1))), rel=1e-15)
    assert matern(apart, origin) != pytest.approx(matern(distance, np.zeros((1, 1))), rel=1e-3)


SMOOTH: list[Kernel] = [
    zn.RBF(0.3, 0.2),
    zn.Matern(0.3, 0.2, nu=1.5),
    zn.Matern(2.0, 4.0, nu=2.5),
    zn.RBF(1.0, 0.5) + zn.Matern(0.2, 0.1, nu=2.5),
]


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_slopes_are_the_stds_of_difference_quotients(kernel: Kernel) -> None:
    h = 1e-5
    k = kernel(np.array([[0.0], [h]]), np.array([[0.0], [h]]))
    quotient = math.sqrt((k[0, 0] - 2 * k[0, 1] + k[1, 1]) / h**2)
    assert kernel.slopes([PlainAxis()]) == pytest.approx(quotient, rel=1e-3)


def test_each_axis_has_a_slope_of_its_own() -> None:
    kernel = zn.RBF(0.3, (0.2, 30.0)) + zn.Matern(0.1, (1.0, 2.0), nu=1.5)
    slopes = kernel.slopes([PlainAxis()] * 2)
    assert slopes is not None
    for axis, slope in enumerate(slopes.tolist()):
        ends = np.zeros((2, 2))
        ends[1, axis] = h = 1e-5
        k = kernel(ends, ends)
        assert slope == pytest.approx(math.sqrt((k[0, 0] - 2 * k[0, 1] + k[1, 1]) / h**2), rel=1e-3)


def test_functions_without_a_derivative_have_no_slope() -> None:
    assert zn.Matern(1.0, 1.0, nu=0.5).slopes([PlainAxis()] * 2) is None
    assert (zn.RBF(1.0, 1.0) + zn.Matern(0.1, 1.0, nu=0.5)).slopes([PlainAxis()]) is None


def test_a_sum_of_kernels_is_the_sum_of_their_matrices() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    a, b, c = zn.RBF(0.3, 0.5), zn.Matern(0.2, (0.1, 2.0), nu=0.5), zn.RBF(0.1, 3.0)
    total = a + b + c
    np.testing.assert_allclose(total(x, y), a(x, y) + b(x, y) + c(x, y), rtol=0, atol=1e-16)
    assert total.point_variance == pytest.approx(0.6)
    assert total.terms == (a, b, c)
    assert total == a + (b + c)
    assert total != a + c + b  # a sum is the list of its terms
    assert hash(total) == hash(a + (b + c))


def test_only_kernels_can_be_added_to_kernels() -> None:
    with pytest.raises(TypeError):
        zn.RBF(1.0, 1.0) + 3  # type: ignore[operator]


@pytest.mark.parametrize("kernel", [*SMOOTH, zn.RBF(1.0, (0.1, 0.2))], ids=repr)
def test_kernels_are_values(kernel: Kernel) -> None:
    twin = pickle.loads(pickle.dumps(kernel))
    assert twin == kernel == copy.deepcopy(kernel)
    assert hash(twin) == hash(kernel)
    assert len({twin, kernel}) == 1
    x = np.array([[0.1, 0.2], [0.3, 0.9]])
    np.testing.assert_array_equal(twin(x, x), kernel(x, x))


def test_kernels_equal_what_they_were_made_of_in_any_type() -> None:
    scales: Any = np.array([0.1, 0.2])
    assert zn.RBF(1, [0.1, 0.2]) == zn.RBF(1.0, (0.1, 0.2)) == zn.RBF(np.float64(1), scales)
    assert hash(zn.RBF(1, [0.1, 0.2])) == hash(zn.RBF(1.0, scales))
    assert zn.RBF(1.0, 0.1) != zn.RBF(1.0, 0.2)
    assert zn.RBF(1.0, 0.1) != zn.RBF(2.0, 0.1)
    assert zn.Matern(1.0, 0.1, nu=1.5) != zn.Matern(1.0, 0.1, nu=2.5)
    assert zn.Matern(1.0, 0.1) == zn.Matern(1.0, 0.1, nu=2.5)
    assert len({zn.RBF(1.0, 0.1), zn.Matern(1.0, 0.1)}) == 2


@pytest.mark.parametrize("field", ["variance", "lengthscale", "nu"])
def test_kernels_cannot_be_changed(field: str) -> None:
    kernel = zn.Matern(1.0, 0.1)
    with pytest.raises(FrozenInstanceError):
        setattr(kernel, field, 0.5)


def test_a_list_of_lengthscales_may_be_changed_without_changing_the_kernel() -> None:
    scales: Any = np.array([0.1, 0.2])
    kernel = zn.RBF(1.0, scales)
    scales[0] = 9.0
    assert kernel.lengthscale == (0.1, 0.2)


@pytest.mark.parametrize("make", [zn.RBF, zn.Matern])
@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (0.0, "0.0"),
        (-0.5, "-0.5"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        ("0.3", "'0.3'"),
        (None, "None"),
        (True, "True"),
        (1j, "1j"),
    ],
    ids=str,
)
def test_a_variance_or_lengthscale_that_is_no_positive_number_is_refused_by_name(
    make: Callable[..., Kernel], bad: Any, named: str
) -> None:
    with pytest.raises(zn.InvalidInput, match=f"variance must be .*{named}"):
        make(bad, 1.0)
    with pytest.raises(zn.InvalidInput, match=f"lengthscale must be .*{named}"):
        make(1.0, bad)
    with pytest.raises(zn.InvalidInput, match=f"lengthscale must be .*{named}"):
        make(1.0, [0.5, bad])


@pytest.mark.parametrize("bad", [[], [[0.1, 0.2]], np.ones((2, 2))], ids=["empty", "nested", "matrix"])
def test_lengthscales_come_one_an_axis(bad: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="one number per axis"):
        zn.RBF(1.0, bad)


def test_a_variance_an_axis_is_refused() -> None:
    with pytest.raises(zn.InvalidInput, match="variance must be a single number"):
        zn.RBF([1.0, 2.0], 1.0)  # type: ignore[arg-type]


def test_a_wrong_number_of_lengthscales_is_refused_where_the_axes_are_known() -> None:
    kernel = zn.RBF(1.0, (0.1, 0.2))
    message = r"one lengthscale, or one for each of 3 axes; got \(0\.1, 0\.2\)\. Pass 1 or 3"
    with pytest.raises(zn.InvalidInput, match=message):
        kernel.lengthscales(3)
    with pytest.raises(zn.InvalidInput, match=message):
        kernel(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(zn.InvalidInput, match=message):
        zn.Study([(0, 1)] * 3, budget=5, kernel=kernel, noise=0.1)


@pytest.mark.parametrize("nu", [1.0, 0, -0.5, math.inf, math.nan, "2.5", None, [2.5], (1.5,)], ids=str)
def test_an_unknown_smoothness_is_refused_by_name(nu: Any) -> None:
    with pytest.raises(zn.InvalidInput, match=r"nu must be 0\.5, 1\.5 or 2\.5") as caught:
        zn.Matern(1.0, 1.0, nu=nu)
    assert repr(nu) in str(caught.value)


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_a_matern_kernel_of_hundreds_of_features_is_a_number_everywhere(nu: float) -> None:
    kernel, rng = zn.Matern(2.0, 0.01, nu=nu), np.random.default_rng(0)
    x, y = rng.random((4, 500)), rng.random((3, 500))
    assert np.all(kernel(x, y) == 0)  # the polynomials alone exceed any float
    near = x[:, None] + 1e-4 * rng.random((4, 3, 500))
    logs = np.log(
        [[kernel(x[i, j : j + 1, None], near[i, 0, j : j + 1, None]) / 2 for j in range(500)] for i in range(4)]
    )
    own = [kernel(x[i : i + 1], near[i, :1])[0, 0] for i in range(4)]
    assert own == pytest.approx(2 * np.exp(logs.sum(axis=(1, 2, 3))), rel=1e-10)


class CosineProfile(Profile):
    """Turns negative, and has no exponent."""

    def value(self, r: Array) -> Array:
        return np.cos(r)


class Cosine(ProductKernel):
    profile = CosineProfile()


def test_profiles_of_ones_own_may_be_zero_or_negative_on_many_axes() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 3, 40))
    y[0] = x[0]
    y[1, 0] = x[1, 0] + np.pi / 2
    expected = 2 * np.prod(np.cos((x[:, None] - y) / 1.5), axis=2)
    np.testing.assert_allclose(Cosine(2.0, 1.5)(x, y), expected, rtol=1e-9, atol=1e-300)
