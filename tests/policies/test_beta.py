"""The paper's quantities against their definitions."""

import doctest
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import zonal as zn
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback
from zonal.policies import beta, deltas
from zonal.policies.base import BoundPolicy, PolicyContext, Shape


@pytest.mark.parametrize("arity", [2, 3, 4, 5, 10, 1000])
@pytest.mark.parametrize("h_max", [0, 1, 2, 10, 61, 500])
def test_the_number_of_nodes_is_that_of_exact_integers(arity: int, h_max: int) -> None:
    exact = sum(arity**h for h in range(h_max + 1))
    assert beta.log_node_count(arity, h_max) == pytest.approx(math.log(exact), rel=1e-14, abs=1e-15)


def test_no_depth_is_too_deep_to_count() -> None:
    assert beta.log_node_count(5, 500) > math.log(1e308)  # M itself is no float
    assert beta.log_node_count(2, 10**6) == pytest.approx((10**6 + 1) * math.log(2))


@given(t=st.integers(1, 10**9))
def test_pi_t_is_that_of_lemma_1(t: int) -> None:
    assert beta.log_pi_t(t) == pytest.approx(math.log(math.pi**2 * t**2 / 6), rel=1e-12, abs=1e-12)


def test_pi_t_makes_the_failures_of_all_rounds_add_up_to_theta() -> None:
    total = sum(math.exp(-beta.log_pi_t(t)) for t in range(1, 20_000))
    assert total == pytest.approx(1, abs=1e-4)


@settings(deadline=None)
@given(t=st.integers(1, 10**6), arity=st.integers(2, 9), h_max=st.integers(0, 60), theta=st.floats(1e-6, 1 - 1e-6))
def test_beta_t_is_that_of_lemma_1(t: int, arity: int, h_max: int, theta: float) -> None:
    value = beta.beta_t(t, beta.log_node_count(arity, h_max), theta)
    assert value == pytest.approx(oracle.beta(t, arity, h_max, theta), rel=1e-13)


def test_beta_t_by_hand() -> None:
    log_m = beta.log_node_count(2, 10)  # M = 2047
    assert beta.beta_t(1, log_m, 0.1) == pytest.approx(2 * math.log(2047 * math.pi**2 / 6 / 0.1))
    assert beta.beta_t(80, log_m, 0.1) == pytest.approx(2 * math.log(2047 * math.pi**2 * 6400 / 6 / 0.1))


def test_beta_t_grows_with_time() -> None:
    values = [beta.beta_t(t, beta.log_node_count(3, 5), 0.1) for t in range(1, 50)]
    assert (np.diff(values) > 0).all()


def test_a_geometric_delta_falls_by_rho() -> None:
    delta = zn.GeometricDelta(14, 0.5)
    assert [delta(h) for h in range(4)] == [14, 7, 3.5, 1.75]
    assert zn.GeometricDelta(14) == delta
    assert zn.GeometricDelta(2, 0.25)(2) == 0.125
    assert hash(zn.GeometricDelta(14)) == hash(delta)


# LipschitzDelta, through a study: kernel, space and feedback must reach it unharmed.


@dataclass
class Spy(zn.Policy):
    """A policy that keeps what it is told about the problem."""

    h_max: int
    seen: list[PolicyContext] = field(default_factory=list)

    def depth(self, shape: Shape, budget: int) -> int:
        return self.h_max

    def bind(self, context: PolicyContext) -> BoundPolicy:
        self.seen.append(context)
        return zn.GPOO(delta=zn.GeometricDelta(1), h_max=self.h_max).bind(context)


def delta_of(
    L: float | Sequence[float] | None,
    space: zn.Box,
    kernel: Kernel,
    feedback: Feedback,
    h_max: int = 7,
    theta: float = 0.1,
) -> list[float]:
    """Return delta at depths 0 .. h_max + 1 as a study of this problem would use it."""
    spy = Spy(h_max)
    zn.Study(space, budget=1, kernel=kernel, noise=0.1, feedback=feedback, policy=spy)
    (context,) = spy.seen
    delta = deltas.delta_by_depth(zn.LipschitzDelta(L), context.variation, h_max, theta)
    return [float(value) for value in delta]


def by_the_formula(L: Sequence[float], space: zn.Box, share: float, depths: int) -> list[float]:
    """Return sum_j L_j r_j(h), with r_j a share of the width of axis j at depth h."""
    values = []
    for h in range(depths):
        low, high = oracle.cell(space.bounds, space.arity, (h, 0)).T
        values.append(float(np.dot(L, share * (high - low))))
    return values


SPACES = [zn.Box([(0, 1)]), zn.Box([(-180, 180), (-1, 1)], arity=3), zn.Box([(0, 2), (1, 2), (5, 9)])]
FEEDBACKS: list[tuple[Feedback, float]] = [
    (zn.Center(), 0.5),
    (zn.Average(1), 0.5),
    (zn.Average(10), 1 - 1 / 20),
    (zn.Mean(), 1.0),
]


@pytest.mark.parametrize(
    ("kernel", "slope"),
    [
        (lambda v, l: zn.RBF(v, l), 1.0),
        (lambda v, l: zn.Matern(v, l, nu=1.5), 3.0),
        (lambda v, l: zn.Matern(v, l, nu=2.5), 5 / 3),
    ],
    ids=["RBF", "Matern 3/2", "Matern 5/2"],
)
@pytest.mark.parametrize(("feedback", "share"), FEEDBACKS)
@pytest.mark.parametrize("space", SPACES)
def test_a_lipschitz_delta_is_slope_times_reach(
    kernel: Callable[[float, Sequence[float]], Kernel],
    slope: float,
    feedback: Feedback,
    share: float,
    space: zn.Box,
) -> None:
    v, theta, h_max, d = 0.3, 0.05, 7, space.d
    lengthscales = [0.1, 0.5, 2.0][:d]
    factor = math.sqrt(2 * math.log(2 * d * h_max / theta))
    L = [math.sqrt(slope * v) / l * factor for l in lengthscales]
    value = delta_of(None, space, kernel(v, lengthscales), feedback, h_max, theta)
    assert len(value) == h_max + 2
    assert value == pytest.approx(by_the_formula(L, space, share, h_max + 2), rel=1e-12)


def test_slopes_of_a_sum_of_kernels_add_up_as_variances() -> None:
    kernel = zn.RBF(0.3, 0.1) + zn.Matern(0.2, 0.5, nu=1.5)
    s = math.sqrt(0.3 / 0.1**2 + 3 * 0.2 / 0.5**2)
    L = s * math.sqrt(2 * math.log(2 * 7 / 0.1))
    value = delta_of(None, SPACES[0], kernel, zn.Mean())
    assert value == pytest.approx(by_the_formula([L], SPACES[0], 1.0, 9), rel=1e-12)


@pytest.mark.parametrize(("feedback", "share"), FEEDBACKS)
def test_a_given_lipschitz_constant_is_used_as_it_is(feedback: Feedback, share: float) -> None:
    space = SPACES[1]
    rough = zn.Matern(0.1, 0.2, nu=0.5)  # has no slope, and needs none
    assert delta_of(3.0, space, rough, feedback) == pytest.approx(by_the_formula([3, 3], space, share, 9))
    assert delta_of([0.5, 3.0], space, rough, feedback) == pytest.approx(by_the_formula([0.5, 3], space, share, 9))


def test_a_tree_of_the_root_alone_has_a_lipschitz_delta_too() -> None:
    value = delta_of(None, SPACES[0], zn.RBF(1, 0.1), zn.Mean(), h_max=0)
    assert len(value) == 2
    assert all(math.isfinite(x) and x > 0 for x in value)


def test_the_default_delta_of_gpoo_is_a_lipschitz_delta() -> None:
    walks = []
    for policy in (zn.GPOO(), zn.GPOO(delta=zn.LipschitzDelta(), theta=0.1, h_max=10)):
        study = zn.Study([(0, 1)], budget=30, kernel=zn.RBF(0.1, 0.2), noise=0.1, policy=policy)
        study.optimize(lambda region: math.sin(7 * region.center[0]))
        walks.append([trial.node for trial in study.trials])
    assert walks[0] == walks[1]
    assert len(set(walks[0])) > 3


def test_a_learned_kernel_without_a_derivative_gets_a_delta_all_the_same() -> None:
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=256)) / 16  # Brownian: no derivative anywhere
    study = zn.Study([(0, 1)], budget=40, policy=zn.GPOO(h_max=6))
    study.optimize(lambda region: float(walk[int(256 * region.center[0])]))
    assert isinstance(study.model.kernel, zn.Matern)
    assert study.model.kernel.nu == 0.5
    assert study.measured == 40
    delta = study.confidence_bands().variation
    assert np.isfinite(delta).all()
    assert (delta > 0).all()


# A delta that grows.


@pytest.mark.parametrize(
    "delta", [lambda h: 1.0 + h, lambda h: 2.0 if h == 6 else 1.0], ids=["at once", "at last"]
)
def test_a_delta_that_grows_gets_a_warning(delta: Callable[[int], float]) -> None:
    with pytest.warns(zn.SmoothnessWarning, match=r"delta grows with depth.*Assumption 3"):
        zn.Study([(0, 1)], budget=1, kernel=zn.RBF(1, 1), noise=1, policy=zn.GPOO(delta=delta, h_max=5))


@pytest.mark.parametrize("delta", [lambda h: 1.0, zn.GeometricDelta(14, 0.5), zn.LipschitzDelta()])
def test_a_delta_that_does_not_grow_gets_none(delta: Callable[[int], float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zn.Study([(0, 1)], budget=1, kernel=zn.RBF(1, 1), noise=1, policy=zn.GPOO(delta=delta, h_max=5))


def test_delta_is_evaluated_once_a_depth_when_the_study_is_built() -> None:
    depths: list[int] = []

    def delta(h: int) -> float:
        depths.append(h)
        return 0.5**h

    study = zn.Study([(0, 1)], budget=20, kernel=zn.RBF(1, 1), noise=0.1, policy=zn.GPOO(delta=delta, h_max=5))
    study.optimize(lambda region: 0.0)
    assert depths == list(range(7))


def test_the_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(deltas).failed == 0
