"""What a profile need not write: everything that follows from its function, against the closed forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

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


# A kernel of one's own: its function, and a class that returns it.


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
