"""Certified Lipschitz constants: against simulation, against each other, and where there are none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import zonal as zn
from zonal._types import Smoothness
from zonal.errors import InvalidInput
from zonal.kernels.base import Kernel, PlainAxis
from zonal.policies import lipschitz
from zonal.policies.lipschitz import certified_constants

Floats = NDArray[np.float64]


def smooth(kernel: Kernel, *sides: float) -> Smoothness:
    d = len(sides)
    axes = [PlainAxis()] * d
    slopes = kernel.slopes(axes)
    assert slopes is not None
    return Smoothness(slopes, kernel.curvatures(axes), kernel.bends(axes), np.array(sides))


def constants(kernel: Kernel, *sides: float, failure: float = 0.1) -> Floats:
    found = certified_constants(smooth(kernel, *sides), failure)
    assert found is not None
    return found


def series(lengthscale: float, x: Floats) -> tuple[Floats, Floats]:
    """Return a Fourier basis of RBF functions on x, and its derivative; coefficients are standard normal."""
    step = 2 * math.pi / (x[-1] + 10 * lengthscale)
    w = step * np.arange(math.ceil(7 / (lengthscale * step)) + 1)
    a = np.sqrt(2 * step * lengthscale / math.sqrt(2 * math.pi) * np.exp(-0.5 * (lengthscale * w) ** 2))
    a[0] /= math.sqrt(2)
    phase = x[:, None] * w
    return np.hstack([np.cos(phase) * a, np.sin(phase) * a]), np.hstack(
        [-np.sin(phase) * a * w, np.cos(phase) * a * w]
    )


def test_the_bound_of_the_shared_notes() -> None:
    s, s2 = math.sqrt(0.1) / 0.05, math.sqrt(3 * 0.1) / 0.05**2
    assert 2 * lipschitz.crossing_bound(19.9 / s, s2 / s) == pytest.approx(0.080, abs=5e-4)


@pytest.mark.parametrize("lengthscale", [0.05, 0.3, 3.0])
@pytest.mark.parametrize("failure", [0.05, 0.2])
def test_on_one_axis_slopes_exceed_l_as_often_as_promised_at_most(lengthscale: float, failure: float) -> None:
    x, n = np.linspace(0, 1, 1001), 4000
    _, derivative = series(lengthscale, x)
    steepest = np.abs(derivative @ np.random.default_rng(0).standard_normal((derivative.shape[1], n))).max(axis=0)
    exceeded = np.mean(steepest > constants(zn.RBF(1, lengthscale), 1.0, failure=failure))
    assert exceeded <= failure + 2.5 * math.sqrt(failure / n)
    assert exceeded >= 0.7 * failure  # and the bound is no idle one


def test_slopes_of_matern_functions_exceed_l_as_often_as_promised_at_most() -> None:
    kernel, x, n, failure = zn.Matern(1, 0.3, nu=2.5), np.linspace(0, 1, 201)[:, None], 3000, 0.1
    root = np.linalg.cholesky(kernel(x, x) + 1e-10 * np.eye(len(x)))
    values = root @ np.random.default_rng(4).standard_normal((len(x), n))
    steepest = np.abs(np.diff(values, axis=0)).max(axis=0) / x[1]  # no more than the steepest slope
    exceeded = np.mean(steepest > constants(kernel, 1.0, failure=failure))
    assert 0.6 * failure <= exceeded <= failure + 2.5 * math.sqrt(failure / n)


@pytest.mark.parametrize("scales", [(0.3, 0.3), (0.2, 2.0)])
def test_on_two_axes_slopes_exceed_l_as_often_as_promised_at_most(scales: tuple[float, float]) -> None:
    rng, x, n, failure = np.random.default_rng(1), np.linspace(0, 1, 61), 1500, 0.1
    (f, df), (g, dg) = (series(scale, x) for scale in scales)
    L = constants(zn.RBF(1, scales), 1.0, 1.0, failure=failure)
    exceeded = 0
    for _ in range(n):
        c = rng.standard_normal((f.shape[1], g.shape[1]))
        exceeded += np.abs(df @ c @ g.T).max() > L[0] or np.abs(f @ c @ dg.T).max() > L[1]
    assert 0.6 * failure <= exceeded / n <= failure + 2.5 * math.sqrt(failure / n)


def test_the_maxima_of_one_axis_are_hardly_more_than_its_crossings() -> None:
    bend = zn.RBF(1, 1).bends([PlainAxis()])
    assert bend is not None
    for turns in (0.5, 5.0, 50.0):
        for z in (1.0, 2.0, 3.0, 4.0):
            crossings = lipschitz.crossing_bound(z, turns)
            maxima = lipschitz.maxima_bound(z, np.array([turns]), bend[0])
            assert crossings - 1e-9 <= maxima
            assert maxima <= 1.02 * crossings or z < 2.5


def test_the_expected_supremum_is_that_of_a_constant_or_more() -> None:
    assert lipschitz.expected_supremum(0.0) == pytest.approx(1 / math.sqrt(2 * math.pi), rel=1e-5)  # E max(Z, 0)
    x = np.linspace(0, 1, 401)
    values, _ = series(0.1, x)
    highest = (values @ np.random.default_rng(2).standard_normal((values.shape[1], 2000))).max(axis=0)
    assert highest.mean() <= lipschitz.expected_supremum(10.0) <= highest.mean() + 0.5


def test_without_third_derivatives_the_constant_is_larger_but_there() -> None:
    rbf = smooth(zn.RBF(1, 0.3), 1.0, 1.0)
    rough = certified_constants(Smoothness(rbf.slopes, rbf.curvatures, None, rbf.sides), 0.1)
    sharp = certified_constants(rbf, 0.1)
    assert rough is not None
    assert sharp is not None
    assert (sharp < rough).all()
    assert (rough < 2 * sharp).all()
    assert zn.Matern(1, 0.3, nu=2.5).bends([PlainAxis()] * 2) is None
    assert (constants(zn.Matern(1, 0.3, nu=2.5), 1.0, 1.0) > 0).all()
    assert (zn.RBF(1, 0.3) + zn.RBF(1, 0.5)).bends([PlainAxis()] * 2) is None


@pytest.mark.parametrize("kernel", [zn.RBF(0.7, [0.3, 2.0]), zn.Matern(0.7, [0.3, 2.0], nu=2.5)], ids=str)
def test_curvatures_are_the_derivatives_of_the_kernel(kernel: Kernel) -> None:
    curvatures = kernel.curvatures([PlainAxis()] * 2)
    assert curvatures is not None
    e = 1e-3
    stencil = {(0, 0): ([2, 0], [0, 0], [-2, 0]), (0, 1): None, (1, 1): ([0, 2], [0, 0], [0, -2])}
    for (i, j), points in stencil.items():
        if points is None:
            at, weights = [[e, e], [e, -e], [-e, e], [-e, -e]], np.array([1, -1, -1, 1]) / (4 * e * e)
        else:
            at, weights = (np.array(points) * e).tolist(), np.array([1, -2, 1]) / (4 * e * e)
        variance = weights @ kernel(at, at) @ weights
        assert curvatures[i, j] == pytest.approx(math.sqrt(variance), rel=0.02)


def test_a_certified_delta_is_l_times_reach_at_theta() -> None:
    study = zn.Study(
        [(0, 2), (0, 1)], budget=4, kernel=zn.RBF(0.5, [0.5, 0.3]), noise=0.1, feedback=zn.Mean(),
        policy=zn.GPOO(zn.LipschitzDelta(certified=True), theta=0.05),
    )  # fmt: skip
    L = constants(zn.RBF(0.5, [0.5, 0.3]), 2.0, 1.0, failure=0.05)
    assert study.confidence_bands().variation[0] == pytest.approx(L @ [2.0, 1.0], rel=1e-6)


@pytest.mark.parametrize(
    ("space", "given", "complaint"),
    [
        ([(0, 1)], {"kernel": zn.Matern(1, 0.2, nu=1.5)}, "second derivatives"),
        ([(0, 1)], {"kernel": zn.Matern(1, 0.2, nu=0.5)}, "second derivatives"),
        (zn.Sequences("ACGT", 3), {"kernel": zn.Categorical(1, 0.5)}, "continuous axes"),
        (zn.Points(np.linspace(0, 1, 9)[:, None]), {"kernel": zn.RBF(1, 0.2)}, "continuous axes"),
        ([(0, 1)], {}, "given kernel"),
        ([(0, 1)], {"kernel": zn.RBF(1, 0.2), "noise": None}, "noise is given"),
        (
            [(0, 1)],
            {"kernel": zn.RBF(1, 0.2), "feedback": zn.Beam(0.1), "target": zn.Beam(0.1)},
            "nothing beyond its reach",
        ),
        ([(0, 1)], {"kernel": zn.RBF(1, 0.2), "target": zn.Beam(share=0.5)}, "nothing beyond its reach"),
    ],
    ids=["Matern 3/2", "Matern 1/2", "symbols", "members", "learned", "noise", "beam", "focused beam"],
)
def test_what_cannot_be_certified_is_refused(space: Any, given: dict[str, Any], complaint: str) -> None:
    settings = {"noise": 0.1, **given}
    with pytest.raises(InvalidInput, match=complaint):
        zn.Study(space, budget=5, policy=zn.GPOO(zn.LipschitzDelta(certified=True)), **settings)
    zn.Study(space, budget=5, policy=zn.GPOO(zn.GeometricDelta(1, 0.5)), **settings)


def test_an_l_of_ones_own_is_not_certified() -> None:
    with pytest.raises(InvalidInput, match="Leave one out"):
        zn.LipschitzDelta(3.0, certified=True)
