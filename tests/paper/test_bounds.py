"""The paper's bounds against the inequalities they come from; d and C against functions whose d is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zonal as zn
from reproduction import bounds
from reproduction.bounds import NearOptimality, Test
from zonal.errors import InvalidInput
from zonal.policies import deltas
from zonal.policies.beta import beta_t, log_node_count
from zonal.policies.deltas import GeometricDelta

X = np.linspace(0, 1, 20_001)
near = st.builds(NearOptimality, d=st.floats(0, 3), C=st.floats(0.1, 1e3))
delta = st.builds(GeometricDelta, c=st.floats(0.5, 40), rho=st.floats(0.2, 0.9))
budget = st.integers(1, 10**6)
noise = st.floats(0.01, 2)


def beta(n: int) -> float:
    return beta_t(n, log_node_count(2, 7), 0.1)


def test_the_lipschitz_heuristic_leaves_half_of_theta_for_xi_1() -> None:
    L = float(deltas.lipschitz_constants(np.array([6.3]), 7, 0.1)[0])
    a = bounds.smoothness_failure(L, bounds.tail_rate(6.3), 7)
    assert a == pytest.approx(0.05)
    assert bounds.event_probability(a, 0.1) == pytest.approx(0.85)


def test_probabilities_stay_between_0_and_1_and_nothing_overflows() -> None:
    assert bounds.smoothness_failure(1e200, 1.0, 7) == 0
    assert bounds.smoothness_failure(1e-200, 1.0, 7) == 1
    assert bounds.event_probability(0.95, 0.1) == 0
    assert bounds.event_probability_stooo(0.1) == pytest.approx(0.8)
    assert bounds.event_probability_stooo(0.7) == 0


def test_the_tail_rate_is_right_for_two_fixed_points() -> None:
    rng = np.random.default_rng(0)
    change = 3.0 * rng.standard_normal(200_000)  # f(x) - f(x') over |x - x'|, at its steepest
    for L in (1.0, 3.0, 6.0, 9.0):
        assert np.mean(np.abs(change) >= L) <= bounds.smoothness_failure(L, bounds.tail_rate(3.0), 1)


@given(st.integers(1, 10**6), noise, st.floats(1e-3, 1e3))
def test_the_std_bound_exceeds_the_posterior_of_a_node_measured_alone(
    count: int, sigma: float, prior: float
) -> None:
    alone = math.sqrt(prior * sigma**2 / (sigma**2 + count * prior))  # in the proof of Proposition 2
    assert alone <= bounds.std_bound(count / sigma**2) * (1 + 1e-12)


def test_measurements_of_unequal_noise_count_by_their_precision() -> None:
    noises = np.array([0.1, 0.5, 2.0])
    prior, precision = 0.7, float(np.sum(noises**-2))
    joint = prior * np.ones((3, 3)) + np.diag(noises**2)
    alone = prior - prior**2 * np.linalg.solve(joint, np.ones(3)).sum()
    assert math.sqrt(alone) <= bounds.std_bound(precision)
    assert math.sqrt(alone) == pytest.approx(1 / math.sqrt(precision + 1 / prior))


def test_an_unmeasured_node_has_no_std_bound() -> None:
    assert bounds.std_bound(0) == math.inf


@given(st.floats(1, 100), noise, st.floats(0.01, 20))
def test_after_more_draws_than_the_bound_line_6_expands(beta_t: float, sigma: float, delta_h: float) -> None:
    bound = bounds.draw_bound(beta_t, sigma, delta_h)
    enough = math.floor(bound) + 1
    assert math.sqrt(beta_t) * bounds.std_bound(enough / sigma**2) <= delta_h * (1 + 1e-12)
    if bound > 2:
        assert math.sqrt(beta_t) * bounds.std_bound((math.ceil(bound) - 1) / sigma**2) > delta_h * (1 - 1e-12)


def test_stooo_draws_until_its_own_test_passes() -> None:
    assert bounds.draw_bound_stooo(80, 0.1, 0.5) == pytest.approx(2 * math.log(80**2 / 0.1) / 0.25)


@given(budget, noise, delta, st.integers(2, 5), near)
def test_h_n_is_the_smallest_integer_of_theorem_1(
    n: int, sigma: float, bound: GeometricDelta, arity: int, dim: NearOptimality
) -> None:
    h = bounds.regret_depth(n, beta(n), sigma, bound, arity, dim)
    terms = [dim.C * (3 * bound(i)) ** -dim.d * sigma**2 / bound(i) ** 2 for i in range(h + 1)]
    assert n / beta(n) <= arity * sum(terms) * (1 + 1e-9)
    assert h == 0 or n / beta(n) > arity * sum(terms[:-1]) * (1 - 1e-9)


@given(budget, delta, st.integers(2, 5), near)
def test_h_n_of_stooo_is_the_smallest_integer_of_its_theorem(
    n: int, bound: GeometricDelta, arity: int, dim: NearOptimality
) -> None:
    h = bounds.regret_depth_stooo(n, 0.1, bound, arity, dim)
    powers = [bound(i) ** -(dim.d + 2) for i in range(h + 1)]
    factor = 2 * dim.C * arity * 3**-dim.d
    goal = n / math.log(n**2 / 0.1)
    assert factor * sum(powers) >= goal * (1 - 1e-9)
    assert h == 0 or factor * sum(powers[:-1]) < goal * (1 + 1e-9)


test_of_line_6 = st.sampled_from(["after", "before"])


@given(budget, noise, delta, st.integers(2, 5), near, st.integers(0, 30), test_of_line_6)
def test_the_proved_depth_is_the_smallest_whose_count_covers_the_budget(
    n: int, sigma: float, bound: GeometricDelta, arity: int, dim: NearOptimality, h_max: int, test: Test
) -> None:
    def nodes(h: int) -> float:
        return bounds.near_optimal_nodes(bound(h), dim)

    h_n = bounds.proved_depth(n, beta(n), lambda h: sigma, bound, arity, nodes, h_max, test)
    spare = 1 if test == "before" else 0
    most = [spare + beta(n) * sigma**2 / bound(h) ** 2 for h in range(h_n + 2)]
    spent = [nodes(h) * (1 + arity * most[h + 1]) for h in range(h_n + 1)]
    assert h_n == h_max or most[0] + sum(spent) >= n * (1 - 1e-9)
    assert h_n == 0 or most[0] + sum(spent[:-1]) < n * (1 + 1e-9)
    assert h_n <= h_max


@given(budget, noise, delta, st.integers(2, 5), near, test_of_line_6)
def test_the_corollary_follows_from_the_proved_count(
    n: int, sigma: float, bound: GeometricDelta, arity: int, dim: NearOptimality, test: Test
) -> None:
    enough = NearOptimality(dim.d, max(dim.C, (3 * bound(0)) ** dim.d))  # Lemma 2 must allow the root
    h_n = bounds.proved_depth(
        n,
        beta(n),
        lambda h: sigma,
        bound,
        arity,
        lambda h: bounds.near_optimal_nodes(bound(h), enough),
        10**4,
        test,
    )
    rate = bounds.proved_rate(n, beta(n), sigma, bound.c, bound.rho, arity, enough, test)
    assert bounds.regret_bound(bound, h_n) <= rate * (1 + 1e-9)


def test_a_tree_that_ends_early_caps_the_promise() -> None:
    bound, nodes = GeometricDelta(1.0, 0.5), lambda h: 2.0
    free, capped = (bounds.proved_depth(3000, 20.0, lambda h: 0.05, bound, 2, nodes, h_max) for h_max in (30, 2))
    assert free > 2
    assert capped == 2


@pytest.mark.parametrize("budget", [30, 300])
def test_smallest_regions_cap_the_promise_too(budget: int) -> None:
    space, noise, h_max = zn.Box([(0, 1)], smallest=0.5), 0.01, 8
    policy = zn.GPOO(zn.LipschitzDelta(certified=True), h_max=h_max, test="before")
    study = zn.Study(space, budget=budget, kernel=zn.RBF(1.0, 1.0), noise=noise, mean=1.0, policy=policy)
    root = float(study.confidence_bands().variation[0])
    study.optimize(lambda region: 2 * float(region.center[0]))
    regret = 2 - 2 * float(study.recommend().region.center[0])  # the steepest that L allows, nearly

    def promised(deepest: int | None) -> float:
        numbers = budget, 20.0, lambda h: noise, lambda h: root / 2**h, 2, lambda h: 2.0**h, h_max
        depth = bounds.proved_depth(*numbers, deepest=deepest)
        return float(3 * root / 2**depth)

    assert root > 2
    assert regret == pytest.approx(0.5)
    assert promised(space.max_depth()) >= regret
    assert promised(None) < regret or budget < 100


def test_more_noise_in_deep_cells_promises_less() -> None:
    bound, nodes = GeometricDelta(1.0, 0.5), lambda h: 2.0
    even, uneven = (
        bounds.proved_depth(3000, 20.0, noise, bound, 2, nodes, 30)
        for noise in (lambda h: 0.05, lambda h: 0.05 * 2 ** (h / 2))
    )
    assert uneven < even


@pytest.mark.parametrize(
    ("test", "expanded", "more"), [("after", 0, 0), ("after", 1, 1), ("before", 0, 1), ("before", 1, 2)]
)
def test_lemma_4_counts_the_draws_that_line_6_has_not_weighed(test: Test, expanded: bool, more: int) -> None:
    assert bounds.most_draws(20.0, 0.1, 0.3, test, bool(expanded)) == pytest.approx(20 * 0.01 / 0.09 + more)


@pytest.mark.parametrize("arity", [2, 3, 5])
@pytest.mark.parametrize("h_max", [0, 3, 10])
def test_theta_pays_for_the_leaves_below_h_max_too(arity: int, h_max: int) -> None:
    counts = [arity**h for h in range(h_max + 2)]
    failure = bounds.interval_failure(counts, 0.1)
    assert failure <= 0.1 or h_max == 0  # with five children of a root that never gets grandchildren it does not
    m = sum(counts[:-1])
    rounds = np.arange(1, 2000)
    z = np.sqrt([beta_t(int(t), math.log(m), 0.1) for t in rounds])
    tails = np.array([math.erfc(one / math.sqrt(2)) / 2 for one in z])
    assert float(np.sum((2 * m + counts[-1]) * tails)) <= failure


@given(budget, noise, delta, st.integers(2, 5), near)
def test_the_corollary_with_its_constant_recomputed_follows_from_theorem_1(
    n: int, sigma: float, bound: GeometricDelta, arity: int, dim: NearOptimality
) -> None:
    h = bounds.regret_depth(n, beta(n), sigma, bound, arity, dim)
    rate = bounds.rate_constant(sigma, bound.rho, arity, dim) * bounds.regret_rate(n, beta(n), dim.d)
    assert bounds.regret_bound(bound, h) <= rate * (1 + 1e-9)


def test_tiny_and_huge_numbers_give_infinity_or_a_depth_but_no_error() -> None:
    dim = NearOptimality(3.0, 1e300)
    assert bounds.near_optimal_nodes(1e-300, dim) == math.inf
    assert bounds.draw_bound(20.0, 1.0, 1e-200) == math.inf
    assert bounds.draw_bound(20.0, 1e-200, 1.0) == 0
    assert bounds.regret_depth(10**18, 100.0, 1e-100, GeometricDelta(1e100, 0.5), 2, NearOptimality(0, 1)) > 300
    free = bounds.proved_depth(
        10**18,
        100.0,
        lambda h: 1.0,
        GeometricDelta(1e-200, 0.5),
        2,
        lambda h: bounds.near_optimal_nodes(1.0, dim),
        9,
    )
    assert free == 0
    with pytest.raises(InvalidInput, match="noise"):
        bounds.draw_bound(20.0, 0.0, 1.0)


def test_a_flat_function_is_packed_from_end_to_end() -> None:
    assert bounds.packing_number(X, np.ones_like(X), 1.0, 0.1, 0.05) == 11
    assert bounds.packing_number(X, np.ones_like(X), 1.0, 0.1, 0.051) == 10
    assert bounds.packing_number(X, np.ones_like(X), 1.0, 0.1, 2.0) == 1


def test_balls_may_reach_into_the_gap_between_two_peaks_but_not_into_each_other() -> None:
    values = np.where((X <= 0.2) | (X >= 0.3), 1.0, 0.0)
    assert bounds.packing_number(X, values, 1.0, 0.5, 0.05) == 3 + 8  # 0, .1, .2 and .3, .4, ... 1
    assert bounds.packing_number(X, values, 1.0, 0.5, 0.11) == 1 + 4  # 0 (.22 is in the gap), .3, .52, .74, .96
    assert bounds.packing_number(X, values, 1.0, 2.0, 0.05) == 11


@given(st.integers(0, 10_000), st.floats(0.05, 2), st.floats(0.01, 0.2))
def test_packing_finds_as_many_balls_as_trying_all_choices(seed: int, epsilon: float, radius: float) -> None:
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 1, 41)
    values = rng.standard_normal(len(grid))
    fine = np.linspace(0, 1, 8001)
    inside = fine[np.interp(fine, grid, values) >= values.max() - epsilon]
    best = np.ones(len(inside), dtype=int)  # most balls with the last centre here: dynamic programming
    for i, last in enumerate(inside):
        room = int(np.searchsorted(inside, last - 2 * radius + 1e-12, side="right"))
        best[i] = 1 + (best[:room].max() if room else 0)
    exact = bounds.packing_number(grid, values, float(values.max()), epsilon, radius)
    assert exact >= best.max()
    # The interpolant between the fine points can hold a little more, never as much as smaller balls would.
    assert exact <= bounds.packing_number(grid, values, float(values.max()), epsilon, radius * 0.999)


@pytest.mark.parametrize(
    ("name", "values", "d"),
    [
        ("a tent", -np.abs(X - 0.4), 0.0),
        ("a parabola", -((X - 0.4) ** 2), 0.5),
        ("a fourth power", -((X - 0.4) ** 4), 0.75),
        ("a plain", np.zeros_like(X), 1.0),
    ],
)
def test_the_near_optimality_dimension_of_known_functions_is_found(
    name: str, values: np.ndarray[tuple[int], np.dtype[np.float64]], d: float
) -> None:
    epsilons = [0.1 * 2.0**-i for i in range(7)]
    found = bounds.near_optimality(X, values, 0.0, 0.05, epsilons)
    assert found.d == pytest.approx(d, abs=0.05), name
    counts = [bounds.packing_number(X, values, 0.0, epsilon, 0.05 * epsilon) for epsilon in epsilons]
    slack = [found.C * epsilon**-found.d / count for epsilon, count in zip(epsilons, counts, strict=True)]
    assert min(slack) == pytest.approx(1)  # C is large enough, and no larger


def test_balls_of_assumption_4_fit_into_their_cells() -> None:
    nu = bounds.shape_constant(0.05, 9.5)  # Average(10) in the unit interval with delta(0) = 9.5
    assert nu * 9.5 == pytest.approx(0.05)
