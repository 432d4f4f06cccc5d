"""What a profile need not write: everything that follows from its function, against the closed forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ive

import zonal as zn
from zonal.kernels.base import _MATERN, ProductKernel
from zonal.kernels.stationary import Profile, RBFProfile

Floats = NDArray[np.float64]

CLOSED: list[Profile] = [RBFProfile(), *_MATERN.values()]
each_profile = pytest.mark.parametrize("closed", CLOSED, ids=lambda profile: type(profile).__name__)


@dataclass(frozen=True)
class Bare(Profile):
    """A kernel of which nothing is known but its function."""

    of: Profile

    def value(self, r: Floats) -> Floats:
        """Return the correlation at a distance."""
        return self.of.value(r)


@dataclass(frozen=True)
class Periodic(Profile):
    """A periodic profile: averages over whole periods are known."""

    period: float
    sharpness: float = 1.0

    def value(self, r: Floats) -> Floats:
        """Return the correlation at a distance."""
        return np.asarray(np.exp(-2 * self.sharpness * np.sin(np.pi * r / self.period) ** 2))


@dataclass(frozen=True)
class PeriodicKernel(ProductKernel):
    """A periodic kernel."""

    period: float = 0.1

    @property
    def profile(self) -> Profile:
        """Its profile."""
        return Periodic(self.period)


@dataclass(frozen=True)
class Tent(Profile):
    """A profile that ends with a kink."""

    end: float

    def value(self, r: Floats) -> Floats:
        """Return the correlation at a distance."""
        return np.maximum(1 - np.abs(r) / self.end, 0.0)


def geometry(number: int) -> tuple[Floats, Floats, Floats]:
    """Return distances and pairs of widths over seven orders of magnitude, points among them."""
    rng = np.random.default_rng(0)
    gap = np.abs(rng.normal(size=number)) * 10 ** rng.uniform(-3, 2, number)
    wide_a, wide_b = 10 ** rng.uniform(-4, 2.5, (2, number))
    wide_a[: number // 10] = 0.0
    wide_b[: number // 20] = 0.0
    return gap, wide_a, wide_b


@each_profile
def test_means_over_intervals_follow_from_the_function(closed: Profile) -> None:
    cases = geometry(300)
    np.testing.assert_allclose(Bare(closed).mean(*cases), closed.mean(*cases), rtol=0, atol=2e-12)


@each_profile
def test_what_a_beam_sees_follows_from_the_function(closed: Profile) -> None:
    gap, spread, _ = geometry(300)
    np.testing.assert_allclose(Bare(closed).blurred(gap, spread), closed.blurred(gap, spread), rtol=0, atol=2e-12)


@each_profile
def test_factors_and_slopes_follow_from_the_function(closed: Profile) -> None:
    r, bare = np.concatenate([[0.0], np.geomspace(1e-4, 30, 200)]), Bare(closed)
    polynomial, power = bare.factor(r)
    assert polynomial is not None
    np.testing.assert_allclose(polynomial * np.exp(-power), closed.value(r), rtol=1e-14)
    if closed.derivatives[0] is None:
        assert bare.derivatives[0] is None
    else:
        assert bare.derivatives[0] == pytest.approx(closed.derivatives[0], rel=1e-5)


# A user-defined kernel: its function, and a class that returns it.


@dataclass(frozen=True)
class RationalProfile(Profile):
    """A scale mixture of RBF kernels: (1 + r^2 / 4)^-2."""

    def value(self, r: Floats) -> Floats:
        """Return the correlation at a distance."""
        return np.asarray((1 + r * r / 4) ** -2.0)


class Rational(ProductKernel):
    """A rational quadratic kernel."""

    @property
    def profile(self) -> Profile:
        """The kernel along one axis at lengthscale one."""
        return RationalProfile()


@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(3), zn.Mean(), zn.Beam(0.05)], ids=repr)
def test_a_kernel_of_ones_own_runs_a_whole_study(feedback: zn.Feedback) -> None:
    measure = zn.simulate(lambda x: np.exp(-((x[:, 0] - 0.7) ** 2) / 0.02), feedback, 0.05, rng=0)
    space = zn.Box([(0, 1)], smallest=1 / 16)
    for kernel in (Rational(0.2, 0.2), Rational):  # given, and learned
        result = zn.maximize(measure, space, 14, kernel=kernel, feedback=feedback, rng=0)
        assert abs(result.region.center[0] - 0.7) < 0.1
    assert isinstance(result.study.model.kernel, Rational)


def test_a_kernel_of_ones_own_averages_as_its_points_do() -> None:
    space, kernel = zn.Box([(0, 1)]), Rational(0.7, 0.3)
    study = zn.Study(space, budget=1, kernel=kernel, noise=0.1, feedback=zn.Mean())
    nodes, weights = np.polynomial.legendre.leggauss(40)
    points = 0.25 + 0.25 * nodes
    expected = weights @ kernel(points[:, None], points[:, None]) @ weights / 4
    assert study.predict([(0.0, 0.5)])[1] == pytest.approx(np.sqrt(expected), rel=1e-11)


@pytest.mark.parametrize("sharpness", [1.0, 30.0])
@pytest.mark.parametrize("period", [0.003, 0.1, 1.0, 7.0])
def test_means_of_a_periodic_profile_are_those_over_its_period(period: float, sharpness: float) -> None:
    profile, gaps = Periodic(period, sharpness), np.array([0.0, 0.3, 2.0, 5.0])
    mean_over_period = float(np.asarray(ive(0, sharpness)))
    for periods in (1, 10, 33):
        widths = np.full(4, periods * period)
        for other in (0 * widths, widths, widths / 7):
            means = profile.mean(gaps, widths, other)
            np.testing.assert_allclose(means, mean_over_period, rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        profile.blurred(gaps, np.full(4, 20 * period)), mean_over_period, rtol=0, atol=1e-11
    )


def test_means_of_a_periodic_profile_over_parts_of_its_period_are_right() -> None:
    rng = np.random.default_rng(1)
    gap, wide, narrow = rng.uniform(0, 1, (3, 12)) * np.array([[2.0], [1.0], [0.05]])
    nodes, weights = np.polynomial.legendre.leggauss(16)
    places = np.add.outer((np.arange(64) + 0.5) / 64, nodes / 128).ravel() - 0.5
    shares = np.tile(weights / 128, 64)
    dense = [
        shares @ Periodic(0.1).value(own + a * places[:, None] - b * places) @ shares
        for own, a, b in zip(gap, wide, narrow, strict=True)
    ]
    np.testing.assert_allclose(Periodic(0.1).mean(gap, wide, narrow), dense, rtol=0, atol=1e-11)


@pytest.mark.parametrize("end", [0.3, 0.9, 17.3])
def test_a_kink_away_from_distance_0_is_resolved(end: float) -> None:
    whole = np.array([2 * end])
    np.testing.assert_allclose(Tent(end).mean(0 * whole, 0 * whole, whole), 0.5, rtol=0, atol=1e-11)
    np.testing.assert_allclose(Tent(end).mean(whole / 2, 0 * whole, 3 * whole), 1 / 6, rtol=0, atol=1e-11)


def test_a_mean_does_not_depend_on_what_is_computed_with_it() -> None:
    gap, wide, narrow = geometry(60) / np.array([[100.0], [300.0], [300.0]])
    together = Periodic(0.01).mean(gap, wide, narrow)
    alone = [Periodic(0.01).mean(*case[:, None])[0] for case in np.stack([gap, wide, narrow], axis=1)]
    assert together.tolist() == alone


def test_a_profile_that_changes_too_often_is_refused() -> None:
    kernel = PeriodicKernel(1.0, 1.0, 1e-6)
    with pytest.raises(zn.InvalidInput, match="the profile of the kernel changes too often within"):
        zn.Study([(0, 1)], budget=10, kernel=kernel, noise=0.1, feedback=zn.Mean())


def wave(x: Floats) -> Floats:
    """Return a function with ten crests."""
    return np.asarray(np.sin(20 * np.pi * x[:, 0]))


@pytest.mark.parametrize("lengthscale", [1.0, 0.5, 0.1])
def test_a_study_with_a_periodic_kernel_finds_a_crest(lengthscale: float) -> None:
    kernel = PeriodicKernel(1.0, lengthscale, 0.1 / lengthscale)
    study = zn.Study([(0, 1)], budget=30, kernel=kernel, noise=0.1, feedback=zn.Mean(), rng=0)
    study.optimize(zn.simulate(wave, zn.Mean(), noise=0.01, rng=0))
    assert abs(study.recommend().region.center[0] % 0.1 - 0.025) < 0.02


def test_the_lengthscale_of_a_periodic_kernel_is_learned() -> None:
    study = zn.Study([(0, 1)], budget=4, kernel=PeriodicKernel, noise=0.1, feedback=zn.Mean(), rng=0)
    study.optimize(zn.simulate(wave, zn.Mean(), noise=0.01, rng=0))
    assert isinstance(study.model.kernel, PeriodicKernel)
