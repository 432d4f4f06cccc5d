"""Measures along an axis: against explicit integrals, and what follows from them for a whole study."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import erfcx

import zonal as zn
from effort import examples
from numbered_covariance import numbered
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback
from zonal.kernels.measures import GaussianMeasure, Measure, PointMeasure, Uniform
from zonal.simulation.ground_truth import from_table
from zonal.spaces import ContinuousAxis

Floats = NDArray[np.float64]

FWHM = 2 * math.sqrt(2 * math.log(2))  # of a normal density, in standard deviations
UNIT = ContinuousAxis("x", 0.0, 1.0)
HERMITE, WEIGHTS = np.polynomial.hermite_e.hermegauss(30)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
KERNELS = [zn.RBF(0.7, 0.3), zn.Matern(0.7, 0.3, nu=0.5), zn.Matern(0.7, 0.3, nu=1.5), zn.Matern(0.7, 0.3)]


def covariance(kernel: Kernel, feedback: Feedback, space: zn.Box, boxes: list[Floats]) -> Floats:
    return numbered(kernel, feedback, space.axes).add(feedback.footprints([space.region(box) for box in boxes]))


@cache
def through_a_beam(kernel: Kernel, gap: float, std: float) -> float:
    """Return the mean of a kernel over a distance that is normal, by adaptive quadrature around its kink."""

    def integrand(u: float) -> float:
        return float(kernel([[0.0]], [[u]])[0, 0]) * math.exp(-0.5 * ((u - gap) / std) ** 2)

    ends = [gap - 9 * std, gap + 9 * std]
    marks = [*ends, gap, *(x for x in (-3, -1, -0.3, 0, 0.3, 1, 3) if ends[0] < x < ends[1])]
    pieces = [
        quad(integrand, a, b, epsabs=1e-14, epsrel=1e-12)[0] for a, b in zip(*two_by_two(marks), strict=True)
    ]
    return sum(pieces) / (std * math.sqrt(2 * math.pi))


def two_by_two(marks: list[float]) -> tuple[list[float], list[float]]:
    ordered = sorted(set(marks))
    return ordered[:-1], ordered[1:]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("fwhm", [0.02, 0.4, 5.0])
def test_two_beams_go_together_as_an_integral_says(kernel: Kernel, fwhm: float) -> None:
    boxes = [np.array([[0.0, 1.0]]), np.array([[0.5, 0.6]]), np.array([[3.9, 4.0]])]
    found = covariance(kernel, zn.Beam(fwhm), zn.Box([(0, 4)]), boxes)
    std = math.sqrt(2) * fwhm / FWHM
    centers = [box.mean() for box in boxes]
    expected = [[through_a_beam(kernel, abs(a - b), std) for b in centers] for a in centers]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@examples(100)
@given(gap=st.floats(0, 50), std=st.floats(1e-3, 50))
def test_a_rough_kernel_through_a_beam_has_a_closed_form(gap: float, std: float) -> None:
    # E exp(-|D|), D normal: two tails, each as exp(-gap^2 / (2 std^2)) erfcx(...) / 2.
    kernel = zn.Matern(1.0, 1.0, nu=0.5)
    found = kernel.profile.blurred(np.array([gap]), np.array([std]))[0]

    def tail(shift: float) -> float:
        at = (std + shift / std) / math.sqrt(2)
        if at > 0:
            return 0.5 * math.exp(-0.5 * (gap / std) ** 2) * float(erfcx(at))
        return math.exp(0.5 * std**2 + shift) - 0.5 * math.exp(-0.5 * (gap / std) ** 2) * float(erfcx(-at))

    assert found == pytest.approx(tail(gap) + tail(-gap), abs=1e-11)


def test_a_beam_may_be_a_share_of_the_region_and_differ_by_axis() -> None:
    space, kernel = zn.Box({"x": (0, 1), "y": (-2, 2)}), zn.RBF(1.0, [0.3, 0.9])
    boxes = [np.array([[0.0, 0.5], [-2.0, 0.0]]), np.array([[0.25, 0.5], [0.5, 1.0]])]
    for feedback, stds in [
        (zn.Beam(share=0.6), [[0.3, 1.2], [0.15, 0.3]]),
        (zn.Beam({"x": 0.2, "y": 1.5}), [[0.2, 1.5], [0.2, 1.5]]),
    ]:
        points = [
            np.stack(np.meshgrid(*(box.mean(axis=1) + HERMITE[:, None] * np.array(own) / FWHM).T), -1).reshape(
                -1, 2
            )
            for box, own in zip(boxes, stds, strict=True)
        ]
        weights = np.multiply.outer(WEIGHTS, WEIGHTS).ravel()
        expected = [[weights @ kernel(a, b) @ weights for b in points] for a in points]
        np.testing.assert_allclose(covariance(kernel, feedback, space, boxes), expected, rtol=0, atol=1e-12)


def test_a_narrow_beam_sees_the_centre() -> None:
    boxes = [np.array([[0.1 * k, 0.1 * k + 0.3]]) for k in range(5)]
    for kernel in KERNELS[2:]:
        narrow = covariance(kernel, zn.Beam(1e-7), zn.Box([(0, 1)]), boxes)
        centres = covariance(kernel, zn.Center(), zn.Box([(0, 1)]), boxes)
        np.testing.assert_allclose(narrow, centres, rtol=0, atol=1e-11)


def test_a_study_through_a_beam_believes_what_dense_algebra_says() -> None:
    space, kernel, beam = zn.Box([(0, 1)]), zn.RBF(0.5, 0.15), zn.Beam(0.2)
    measure = zn.simulate(lambda x: np.sin(9 * x[:, 0]), beam, 0.1, rng=3)
    policy = zn.GPOO(zn.GeometricDelta(3, 0.6), h_max=6)
    study = zn.Study(space, budget=25, kernel=kernel, noise=0.1, feedback=beam, target=beam, policy=policy)
    study.optimize(measure)
    seen = [trial.region.center[0] for trial in study.trials]
    asked = [0.11, 0.5, 0.93]

    def dense(a: list[float], b: list[float]) -> Floats:
        x, y = (np.add.outer(c, HERMITE * 0.2 / FWHM).ravel() for c in (a, b))
        blocks = kernel(x[:, None], y[:, None]).reshape(len(a), 30, len(b), 30)
        return np.asarray(np.einsum("iajb,a,b->ij", blocks, WEIGHTS, WEIGHTS))

    gain = np.linalg.solve(dense(seen, seen) + 0.01 * np.eye(25), dense(seen, asked))
    mean = gain.T @ np.array([trial.value for trial in study.trials], dtype=float)
    std = np.sqrt(np.diag(dense(asked, asked) - gain.T @ dense(seen, asked)))
    found = study.predict([[(c - 0.05, c + 0.05)] for c in asked])
    np.testing.assert_allclose(found[0], mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found[1], std, rtol=0, atol=1e-9)


SPACES: dict[str, Any] = {
    "line": zn.Box([(0, 1)], smallest=1 / 16),
    "plane": zn.Box({"x": (0, 1), "y": (0, 2)}, smallest=0.25),
    "mixed": zn.Product({"x": (0, 1), "dye": ["red", "green"]}, smallest=1 / 8),
}


@pytest.mark.torture
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("beam", [zn.Beam(0.1), zn.Beam(share=0.8)], ids=repr)
def test_everything_can_be_learned_through_a_beam(name: str, beam: zn.Beam) -> None:
    measure = zn.simulate(lambda x: np.exp(-((x[:, 0] - 0.7) ** 2) / 0.02) + 0.1 * x[:, -1], beam, 0.05, rng=0)
    result = zn.maximize(measure, SPACES[name], 24, feedback=beam, rng=0)
    assert result.success
    assert abs(result.region.center[0] - 0.7) < 0.15
    assert np.isfinite([result.mean, result.std]).all()


def test_what_a_beam_sees_of_a_function_is_its_integral() -> None:
    measure = zn.simulate(lambda x: np.cos(5 * x[:, 0]) * np.cos(x[:, 1]), zn.Beam(0.4), 0.0)
    region = zn.Box([(0, 1), (0, 3)]).region([(0.2, 0.6), (1.0, 1.5)])
    std = 0.4 / FWHM
    damped = math.exp(-0.5 * (5 * std) ** 2) * math.exp(-0.5 * std**2)
    assert measure.average(region) == pytest.approx(math.cos(5 * 0.4) * math.cos(1.25) * damped, abs=1e-9)


def test_a_beam_reaches_three_standard_deviations_beyond_the_centre() -> None:
    assert UNIT.reach(zn.Beam(1.0), 0.5) == pytest.approx(0.25 + 3 / FWHM)
    assert UNIT.reach(zn.Beam(share=1.0), 0.5) == pytest.approx(0.25 + 1.5 / FWHM)
    space = zn.Box([(0, 1), (0, 8)])
    np.testing.assert_allclose(space.partition.reach(1, zn.Beam(0.5)), [0.25 + 1.5 / FWHM, 4 + 1.5 / FWHM])
    study = zn.Study(
        space, budget=3, kernel=zn.RBF(1, 1), noise=0.1, feedback=zn.Beam(0.5), policy=zn.GPOO(zn.LipschitzDelta())
    )
    study.ask()


@pytest.mark.parametrize(
    "measure", [PointMeasure([-0.4, 0.0, 0.4], [0.25, 0.5, 0.25]), Uniform(), GaussianMeasure(0.05, 0.2)]
)
def test_the_pixels_that_are_seen_share_all_of_the_weight(measure: Measure) -> None:
    for center, width in [(0.5, 1.0), (0.31, 0.2), (0.001, 0.002), (0.999, 0.0)]:
        shares = measure.shares(center, width, 1 / 64, 64)
        assert shares.sum() == pytest.approx(1)
        assert (shares >= 0).all()
    places, weights = measure.rule(0.2, 5000, 2)
    mine = np.bincount(np.clip((0.5 + places) * 64, 0, 63).astype(int), weights, 64)
    np.testing.assert_allclose(measure.shares(0.5, 0.2, 1 / 64, 64), mine, atol=0.002)


def test_a_table_is_seen_through_a_beam() -> None:
    space = zn.Box([(0, 1)], smallest=1 / 8)
    ramp = from_table(space, np.linspace(0.0, 1.0, 200))
    region = space.region([(0.4, 0.6)])
    assert ramp.average(region, zn.Beam(0.1)) == pytest.approx(0.5, abs=1e-9)
    edge = space.region([(0.0, 0.1)])
    assert ramp.average(edge, zn.Beam(0.5)) > ramp.average(edge) + 0.05  # the beam reaches beyond the region


def test_a_beam_needs_one_width_and_axes() -> None:
    with pytest.raises(zn.InvalidInput, match=r"either fwhm or share.*Pass one of them"):
        zn.Beam(fwhm=1.0, share=1.0)
    with pytest.raises(zn.InvalidInput, match=r"Beam's fwhm.*got -1"):
        zn.Beam(-1.0)
    with pytest.raises(zn.InvalidInput, match="no width on axis y"):
        zn.Study(zn.Box({"x": (0, 1), "y": (0, 1)}), budget=3, feedback=zn.Beam({"x": 1.0}))
    with pytest.raises(zn.InvalidInput, match=r"for axes, not for members.*Use Center, Average or Mean"):
        zn.Study(zn.Points(np.random.default_rng(0).random((9, 2))), budget=3, feedback=zn.Beam(1.0))
    with pytest.raises(zn.InvalidInput, match=r"no centre and no grid.*Use Mean"):
        zn.Study(zn.Sequences("AC", 3), budget=3, feedback=zn.Beam(1.0))


# A user-defined feedback.


@dataclass(frozen=True)
class Tapered(Feedback):
    """A measurement that counts the middle of a region twice as much as its edges."""

    def along(self, axis: ContinuousAxis) -> Measure:
        """Return what is seen of an interval: three points with weights."""
        return PointMeasure([-0.5, 0.0, 0.5], [0.25, 0.5, 0.25])


@pytest.mark.parametrize("name", SPACES)
def test_a_feedback_of_ones_own_runs_a_whole_study(name: str) -> None:
    measure = zn.simulate(lambda x: np.exp(-((x[:, 0] - 0.7) ** 2) / 0.02), Tapered(), 0.05, rng=0)
    result = zn.maximize(measure, SPACES[name], 16, feedback=Tapered(), rng=0)
    assert abs(result.region.center[0] - 0.7) < 0.15
    trial = result.study.trials[0]
    assert trial.region.weights.sum() == pytest.approx(1)
    by_hand = trial.region.weights @ np.exp(-((trial.region.points[:, 0] - 0.7) ** 2) / 0.02)
    assert measure.average(trial.region) == pytest.approx(by_hand)


@dataclass(frozen=True)
class Difference(Feedback):
    """How much more f is in the right half of an interval than in the left one."""

    def along(self, axis: ContinuousAxis) -> Measure:
        """Return a signed measure."""
        return PointMeasure([-0.25, 0.25], [-1.0, 1.0], fixed=[-0.01, 0.01])


def test_differences_are_measures_too() -> None:
    space, kernel = zn.Box([(0, 1)]), zn.Matern(0.7, 0.3)
    boxes = [np.array([[0.0, 1.0]]), np.array([[0.5, 0.6]]), np.array([[0.1, 0.3]])]
    points = [box.mean() + np.array([-1, 1]) * (0.25 * np.ptp(box) + 0.01) for box in boxes]
    signs = np.array([-1.0, 1.0])
    expected = [[signs @ kernel(a[:, None], b[:, None]) @ signs for b in points] for a in points]
    np.testing.assert_allclose(covariance(kernel, Difference(), space, boxes), expected, rtol=0, atol=1e-13)


def test_what_is_seen_must_be_symmetric() -> None:
    with pytest.raises(zn.InvalidInput, match="symmetric or antisymmetric"):
        PointMeasure([-0.5, 0.0], [0.5, 0.5])
    with pytest.raises(zn.InvalidInput, match="every point needs a weight"):
        PointMeasure([-0.5, 0.5], [1.0])


SKY = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"})
UNFIT: dict[str, tuple[Any, Any, str]] = {
    "units that differ": (SKY, lambda: zn.Beam(1.0), "axes of different units .deg, none. have no common width"),
    "decades and a line": (
        zn.Box({"c": (1, 100), "x": (0, 1)}, scale={"c": "log"}),
        lambda: zn.Beam(0.1),
        "different units .decades, none.",
    ),
    "wider than an axis": (
        zn.Box({"l": (0, 360), "b": (-1, 1)}),
        lambda: zn.Beam(8.0),
        "wider than axis b .2.; got 8",
    ),
    "wider than a named axis": (SKY, lambda: zn.Beam({"l": 8, "sin_b": 2.5}), "wider than axis sin_b"),
    "another axis": (SKY, lambda: zn.Beam({"l": 8, "sin_b": 0.1, "b": 1}), "names an axis that is not there"),
    "a list": (SKY, lambda: zn.Beam(cast(Any, [8, 0.14])), "or a mapping from axis to width"),
}


@pytest.mark.parametrize(("space", "make", "problem"), UNFIT.values(), ids=UNFIT)
def test_a_beam_that_cannot_be_meant_is_refused(space: zn.Box, make: Any, problem: str) -> None:
    with pytest.raises(zn.InvalidInput, match=problem):
        zn.Study(space, budget=3, feedback=make())
    study = zn.Study(space, budget=3, noise=0.1)
    with pytest.raises(zn.InvalidInput, match=problem):
        study.observe(space.cell((1, 0)), 0.5, feedback=make())


def test_a_beam_of_one_width_is_taken_where_all_axes_have_one_unit() -> None:
    space = zn.Box({"l": (0, 9), "b": (0, 9)}, units=["deg", "deg"])
    assert zn.Study(space, budget=3, noise=0.1, feedback=zn.Beam(0.5)).ask().region.feedback == zn.Beam(0.5)
    zn.Study(SKY, budget=3, feedback=zn.Beam(share=1.0))
