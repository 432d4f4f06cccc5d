"""The knowledge gradient against quadrature and extended precision."""

from __future__ import annotations

import itertools
import math
import random

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from effort import examples
from zonal.policies.gain import log_f, log_gains, log_pairs

Floats = NDArray[np.float64]

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
FAR = 38.0  # standard deviations: the density underflows there
number = st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5).map(lambda x: round(x, 6)))
lines = st.integers(1, 8).flatmap(
    lambda n: st.tuples(st.lists(number, min_size=n, max_size=n), st.lists(number, min_size=n, max_size=n))
)


def gain(means: Floats, slopes: Floats) -> float:
    """Return E max_i (m_i + b_i Z) - max_i m_i, by a Gauss rule between all places where two lines cross.

    The leader's line is taken off first: what is left is nowhere negative, and nothing cancels.
    """
    leader = int(means.argmax())
    ends = {-FAR, FAR, *np.arange(-37.0, 38.0)}
    for i, j in itertools.combinations(range(len(means)), 2):
        if slopes[i] != slopes[j]:
            crossing = (means[i] - means[j]) / (slopes[j] - slopes[i])
            ends |= {crossing} if abs(crossing) < FAR else set()
    edges = np.sort(list(ends))
    z = (edges[:-1, None] + edges[1:, None] + np.diff(edges)[:, None] * NODES) / 2
    above = means[:, None, None] - means[leader] + (slopes - slopes[leader])[:, None, None] * z
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return float(np.sum(above.max(axis=0) * density * WEIGHTS * np.diff(edges)[:, None] / 2))


def log_gain(means: Floats, slopes: Floats) -> float:
    return float(log_gains(means[None], slopes[None])[0])


def exact_log_f(z: float) -> float:
    """Return log(phi(z) - z Phi(-z))."""
    with mpmath.workdps(60):
        x = mpmath.mpf(z)
        return float(mpmath.log(mpmath.npdf(x) - x * mpmath.erfc(x / mpmath.sqrt(2)) / 2))


@examples(300)
@given(lines=lines)
def test_the_gain_is_that_of_quadrature(lines: tuple[list[float], list[float]]) -> None:
    means, slopes = np.array(lines[0]), np.array(lines[1])
    expected, found = gain(means, slopes), math.exp(log_gain(means, slopes))
    assert found == pytest.approx(expected, abs=1e-8)
    if expected > 1e-200:
        assert found == pytest.approx(expected, rel=1e-8)


def test_many_lines_of_many_questions_are_those_of_quadrature() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(20, 60))
    slopes = rng.normal(size=(20, 60)) * np.exp(rng.uniform(-6, 1, size=(20, 1)))
    expected = np.array([gain(m, b) for m, b in zip(means, slopes, strict=True)])
    np.testing.assert_allclose(np.exp(log_gains(means, slopes)), expected, rtol=1e-9, atol=1e-300)


@settings(deadline=None)
@given(lines=lines, shift=st.floats(-100, 100), tilt=st.floats(-3, 3), scale=st.floats(1e-3, 1e3))
def test_a_plane_added_to_all_lines_changes_no_gain_and_a_unit_scales_it(
    lines: tuple[list[float], list[float]], shift: float, tilt: float, scale: float
) -> None:
    means, slopes = np.array(lines[0]), np.array(lines[1])
    here = math.exp(log_gain(means, slopes))
    assert math.exp(log_gain(means + shift, slopes + tilt)) == pytest.approx(here, rel=1e-7, abs=1e-11)
    assert math.exp(log_gain(scale * means, scale * slopes)) == pytest.approx(scale * here, rel=1e-9)


@settings(deadline=None)
@given(lines=lines, order=st.randoms(use_true_random=False), extra=st.integers(0, 7))
def test_neither_order_nor_duplicates_of_the_candidates_matter(
    lines: tuple[list[float], list[float]], order: random.Random, extra: int
) -> None:
    pairs = list(zip(*lines, strict=True))
    shuffled = [*pairs, pairs[extra % len(pairs)]]
    order.shuffle(shuffled)
    means, slopes = np.array(shuffled).T
    here = log_gain(np.array(lines[0]), np.array(lines[1]))
    assert math.exp(log_gain(means, slopes)) == pytest.approx(math.exp(here), rel=1e-9)


@pytest.mark.parametrize("slopes", [[0.0], [3.0], [1.0, 1.0, 1.0], [0.0, 0.0]], ids=repr)
def test_there_is_nothing_to_gain_where_all_move_together(slopes: list[float]) -> None:
    means = np.arange(len(slopes), dtype=float)
    assert log_gain(means, np.array(slopes)) == -math.inf
    assert log_pairs(means, np.array([slopes]))[0] < -600


def test_equal_means_gain_from_the_first_difference_on() -> None:
    # Of two equal candidates with slopes b and -b: E |b Z| = b sqrt(2 / pi).
    assert math.exp(log_gain(np.zeros(2), np.array([0.7, -0.7]))) == pytest.approx(0.7 * math.sqrt(2 / math.pi))


def test_gains_too_small_for_a_number_are_finite_and_in_order() -> None:
    means = np.array([0.0, -10.0, -20.0])
    slopes = np.array([[0.0, b, b] for b in (1e-3, 2e-3, 5e-3, 1e-2, 2e-2)])
    logs = log_gains(np.tile(means, (5, 1)), slopes)
    assert np.isfinite(logs).all()
    assert (np.exp(logs) == 0).all()
    assert (np.diff(logs) > 1).all()
    expected = [math.log(b) - 0.5 * (10 / b) ** 2 for b in (1e-3, 2e-3, 5e-3, 1e-2, 2e-2)]
    np.testing.assert_allclose(logs, expected, rtol=0.01)


@settings(deadline=None)
@given(gap=st.floats(0, 1e3), slope=st.floats(0.01, 10))
def test_the_gain_of_two_lines_is_exact_however_small(gap: float, slope: float) -> None:
    z = gap / slope
    found = log_gain(np.array([gap, 0.0]), np.array([0.0, slope]))
    assert found == pytest.approx(math.log(slope) + exact_log_f(z), rel=1e-12, abs=2e-6 if z > 50 else 1e-9)


@pytest.mark.parametrize("z", [0.0, 1e-8, 0.1, 1.0, 5.0, 20.0, 49.99, 50.0, 60.0, 150.0, 1e4])
def test_log_f_is_that_of_extended_precision(z: float) -> None:
    assert float(log_f(np.array([z]))[0]) == pytest.approx(exact_log_f(z), rel=1e-12, abs=1e-10)


def test_log_f_falls_all_the_way() -> None:
    z = np.concatenate([np.linspace(0, 100, 4001), np.geomspace(101, 1e150, 200)])
    values = log_f(z)
    assert np.isfinite(values).all()
    assert (np.diff(values) < 0).all()


@examples(300)
@given(lines=lines)
def test_the_best_pair_is_a_lower_bound(lines: tuple[list[float], list[float]]) -> None:
    means, slopes = np.array(lines[0]), np.array([lines[1]])
    (bound,), (exact,) = log_pairs(means, slopes), log_gains(means[None], slopes)
    assert bound <= exact + 1e-9 or bound < -600  # which is nothing


@pytest.mark.parametrize("slope", [1e-310, 5e-324, 1e-300, 1e-160])
def test_lines_that_are_all_but_parallel_gain_nothing_and_warn_of_nothing(slope: float) -> None:
    far = log_gain(np.array([1.0, 0.0]), np.array([0.0, slope]))
    assert far < -1e300 or far == -np.inf
    tied = log_gain(np.array([1.0, 1.0]), np.array([0.0, slope]))
    assert tied == pytest.approx(math.log(slope) - 0.5 * math.log(2 * math.pi))
