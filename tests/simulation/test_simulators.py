"""Simulated instruments against averages known in closed form, and the paper's reward functions."""

import copy
import doctest
import itertools
import math
import pickle
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import cubature

import oracle
import zonal as zn
import zonal.simulation.simulators
from effort import examples
from zonal.kernels.feedback import Feedback
from zonal.simulation import grid_optimum

Array = NDArray[np.float64]
Name = Literal["f1", "f2", "f3"]
Preset = Literal["authors", "paper"]

NAMES: tuple[Name, ...] = get_args(Name)
PRESETS: tuple[Preset, ...] = get_args(Preset)


def cells(d: int) -> list[zn.Region]:
    """Return regions of all sizes, one of them not a node."""
    space = zn.Box([(-1, 2), (0, 0.5), (10, 11)][:d], arity=3)
    odd = space.region([(-0.3, 1.1), (0.1, 0.45), (10.2, 10.21)][:d])
    return [space.cell((0, 0)), space.cell((d, 0)), space.cell((7, 1000)), space.cell((12, 3**12 - 1)), odd]


# One axis of a function of x and y: values, and the exact mean over [a, b].
AXES: dict[str, tuple[Callable[[Array], Array], Callable[[float, float], float]]] = {
    "1": (lambda x: np.ones(len(x)), lambda a, b: 1.0),
    "x": (lambda x: x, lambda a, b: (a + b) / 2),
    "x^5": (lambda x: x**5, lambda a, b: sum(a**i * b ** (5 - i) for i in range(6)) / 6),
    "sin": (np.sin, lambda a, b: math.sin((a + b) / 2) * math.sin((b - a) / 2) / ((b - a) / 2)),
    "exp": (np.exp, lambda a, b: math.exp(a) * math.expm1(b - a) / (b - a)),
}


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(
    "parts", [("x", "x^5", "1"), ("x^5", "sin", "x"), ("sin", "exp", "sin"), ("exp", "x", "x")]
)
def test_exact_means_are_those_of_the_calculus(d: int, parts: tuple[str, ...]) -> None:
    def f(points: Array) -> Array:
        assert points.shape[1] == d
        product = np.ones(len(points))
        for axis, part in zip(points.T, parts, strict=False):
            product *= AXES[part][0](axis)
        return product

    measure = zn.simulate(f, zn.Mean())
    for region in cells(d):
        exact = math.prod(AXES[part][1](a, b) for part, (a, b) in zip(parts, region.bounds.tolist(), strict=False))
        corners = np.array(list(itertools.product(*region.bounds.tolist())))
        scale = float(np.abs(f(corners)).max())
        assert measure.average(region) == pytest.approx(exact, rel=1e-9, abs=1e-9 * scale)
        assert measure(region) == measure.average(region)  # no noise


@pytest.mark.parametrize("s", [1, 2, 7])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_averages_are_those_over_the_representative_points(d: int, s: int) -> None:
    def f(points: Array) -> Array:
        return np.asarray(np.sin(points).prod(axis=1) + points[:, 0] ** 2)

    measure = zn.simulate(f, zn.Average(s))
    for region in cells(d):
        expected = float(f(oracle.representatives(region.bounds, s)).mean())
        assert measure.average(region) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_centre_is_measured_where_it_is(d: int) -> None:
    def f(points: Array) -> Array:
        return np.asarray((points * [1, 10, 100][:d]).sum(axis=1))

    measure = zn.simulate(f, zn.Center())
    for region in cells(d):
        assert measure.average(region) == pytest.approx(float(f(region.center[None, :])[0]), rel=1e-14)


@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(5), zn.Mean()])
def test_a_flat_axis_is_held_fixed(feedback: Feedback) -> None:
    space = zn.Box([(0, 1), (0, 1)])
    measure = zn.simulate(lambda x: x[:, 0] * x[:, 1] ** 2, feedback)
    assert measure.average(space.region([(0.2, 0.6), (0.5, 0.5)])) == pytest.approx(0.4 * 0.25)
    assert measure.average(space.region([(0.2, 0.2), (0.5, 0.5)])) == pytest.approx(0.05)


def test_exact_means_cope_with_corners() -> None:
    measure = zn.simulate(lambda x: np.abs(x[:, 0] - 0.3), zn.Mean())
    assert measure.average(zn.Box([(0, 1)]).cell((0, 0))) == pytest.approx((0.09 + 0.49) / 2, rel=1e-9)


def test_a_mean_of_zero_is_found_too() -> None:
    measure = zn.simulate(lambda x: np.sin(2 * np.pi * x[:, 0]), zn.Mean())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert measure.average(zn.Box([(0, 1)]).cell((0, 0))) == pytest.approx(0, abs=1e-12)
        nothing = zn.simulate(lambda x: np.zeros(len(x)), zn.Mean())
        assert nothing.average(zn.Box([(0, 1), (0, 1)]).cell((0, 0))) == 0


def test_a_mean_that_cannot_be_found_is_said_to_be_inaccurate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.integrate.cubature", partial(cubature, max_subdivisions=20))  # give up soon
    rng = np.random.default_rng(0)
    measure = zn.simulate(lambda x: rng.normal(size=len(x)), zn.Mean())
    with pytest.warns(zn.NumericalWarning, match=r"mean of f over x 0\.\.1 is only accurate to about"):
        measure.average(zn.Box([(0, 1)]).cell((0, 0)))


def test_averages_of_children_average_to_their_parents_mean() -> None:
    space = zn.Box([(0, 1), (0, 2)], arity=3)
    measure = zn.simulate(lambda x: np.exp(x[:, 0]) * np.cos(3 * x[:, 1]), zn.Mean())
    for node in [(0, 0), (1, 2), (2, 5)]:
        parent = space.cell(node)
        children = [measure.average(child) for child in space.split(parent)]
        assert np.mean(children) == pytest.approx(measure.average(parent), rel=1e-9, abs=1e-10)


# Functions that are not as they should be.


@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(5), zn.Mean()])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: 1.0,
        lambda x: x,
        lambda x: x[:1, 0],
        lambda x: x[:, :1],
        lambda x: np.zeros((len(x), 2)),
        lambda x: None,
    ],
    ids=["number", "(n, 2)", "too few", "(n, 1)", "(n, 2) zeros", "None"],
)
def test_a_function_of_the_wrong_shape_is_refused(f: Callable[[Array], Any], feedback: Feedback) -> None:
    measure = zn.simulate(f, feedback)
    region = zn.Box([(0, 1), (0, 1)]).cell((0, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if feedback == zn.Center() and np.shape(f(np.zeros((1, 2)))) == (1,):
            return  # one point: nothing to tell apart
        with pytest.raises(zn.InvalidInput, match=r"f must turn points of shape \(\d+, 2\) into values of shape"):
            measure(region)


@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(5), zn.Mean()])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_function_that_is_not_finite_is_refused(value: float, feedback: Feedback) -> None:
    measure = zn.simulate(lambda x: np.where(x[:, 0] > 0.4, value, 0.0), feedback)
    with pytest.raises(zn.InvalidInput, match=r"f is not finite; got array\(\[0\.\d+") as caught:
        measure(zn.Box([(0, 1)]).cell((0, 0)))
    where = float(str(caught.value).split("array([")[1].split("]")[0])
    assert where > 0.4
    assert measure(zn.Box([(0, 1)]).cell((2, 0))) == 0.0  # elsewhere it is


def test_a_function_that_returns_text_is_refused() -> None:
    measure = zn.simulate(lambda x: ["a"] * len(x), zn.Average(3))
    with pytest.raises(zn.InvalidInput, match="f must"):
        measure(zn.Box([(0, 1)]).cell((0, 0)))


def test_an_error_in_the_function_reaches_the_user() -> None:
    def f(x: Array) -> Array:
        raise ZeroDivisionError("f itself")

    with pytest.raises(ZeroDivisionError, match="f itself"):
        zn.simulate(f, zn.Mean())(zn.Box([(0, 1)]).cell((0, 0)))


# Noise.


def test_noise_has_the_given_standard_deviation() -> None:
    measure = zn.simulate(lambda x: 3 + 0 * x[:, 0], zn.Average(2), noise=0.2, rng=0)
    region = zn.Box([(0, 1)]).cell((0, 0))
    values = np.array([measure(region) for _ in range(4000)])
    assert values.mean() == pytest.approx(3, abs=0.02)
    assert values.std() == pytest.approx(0.2, rel=0.05)
    assert len(set(values)) == 4000
    assert measure.average(region) == 3


def test_noise_may_be_a_function_of_the_region() -> None:
    space = zn.Box([(0, 1)])
    measure = zn.simulate(lambda x: 0 * x[:, 0], zn.Center(), noise=lambda region: float(region.widths[0]), rng=0)
    for node in [(0, 0), (5, 3)]:
        values = [measure(space.cell(node)) for _ in range(2000)]
        assert np.std(values) == pytest.approx(0.5 ** node[0], rel=0.1)


def test_noise_per_weight_averages_out() -> None:
    noise = zn.PerWeight(0.1)
    space = zn.Box([(0, 4), (0, 2)])
    assert noise(space.cell((0, 0))) == pytest.approx(0.1 / math.sqrt(8))
    assert noise(space.cell((4, 3))) == pytest.approx(0.1 / math.sqrt(0.5))
    parent = space.cell((2, 1))
    children = space.split(parent)
    # The mean of measurements of all children is as good as one of the parent.
    assert math.sqrt(sum(noise(child) ** 2 for child in children)) / len(children) == pytest.approx(noise(parent))
    assert zn.PerWeight(0.1) == zn.PerWeight(0.1)
    assert hash(zn.PerWeight(0.1)) == hash(zn.PerWeight(0.1))
    assert pickle.loads(pickle.dumps(noise)) == noise


def test_the_same_seed_gives_the_same_noise() -> None:
    region = zn.Box([(0, 1)]).cell((0, 0))

    def values(rng: Any) -> list[float]:
        measure = zn.simulate(lambda x: x[:, 0], zn.Center(), noise=1.0, rng=rng)
        return [measure(region) for _ in range(5)]

    assert values(7) == values(7) == values(np.random.default_rng(7))
    assert values(7) != values(8)
    assert values(None) != values(None)


@examples(30)
@given(order=st.permutations(range(8)), seed=st.integers(0, 1000))
def test_noise_drawn_here_may_be_used_elsewhere_in_any_order(order: list[int], seed: int) -> None:
    cells = [zn.Box([(0, 1)]).cell((3, number)) for number in range(8)]
    measure = zn.simulate(flat, zn.Center(), noise=1.0, rng=seed)
    values = [measure(cell) for cell in cells]
    assert len(set(values)) == 8
    again = zn.simulate(flat, zn.Center(), noise=1.0, rng=seed)
    draws = [again.draw() for _ in range(8)]
    travelled = pickle.loads(pickle.dumps(again))
    for other in (again, travelled, copy.deepcopy(again)):
        readings = {number: other.reading(cells[number], draws[number]) for number in order}
        assert [readings[number] for number in range(8)] == values
        assert other(cells[0]) not in values


def test_the_truth_of_one_space_is_not_that_of_another() -> None:
    measure = zn.simulate(lambda x: x[:, 0], zn.Mean())
    assert measure.average(zn.Points([[1.0], [2.0]]).cell((0, 0))) == 1.5
    assert measure.average(zn.Points([[11.0], [12.0]]).cell((0, 0))) == 11.5


def flat(x: Array) -> Array:
    """Return zeros, from a place that pickle can find."""
    return np.zeros(len(x))


def test_the_function_is_evaluated_once_for_each_region() -> None:
    calls = []

    def f(x: Array) -> Array:
        calls.append(len(x))
        return x[:, 0]

    measure = zn.simulate(f, zn.Average(4), noise=0.1, rng=0)
    space = zn.Box([(0, 1)])
    for _ in range(5):
        measure(space.cell((1, 0)))
        measure(space.cell((1, 1)))
    assert calls == [4, 4]


# The paper's functions.


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", NAMES)
def test_reward_functions_are_the_papers(name: Name, preset: Preset) -> None:
    x = np.linspace(0, 1, 501)[:, None]
    ours, theirs = zn.reward_function(name, preset), oracle.reward_function(name, preset)
    np.testing.assert_allclose(ours(x), theirs(x), rtol=0, atol=1e-10)
    assert ours(x).shape == (501,)


# Of the authors' code, as run: x* and f* on its grid of 1,000 points.
OPTIMA: list[tuple[Name, float, float]] = [("f1", 0.8999, 0.9333), ("f2", 0.973, 0.9594), ("f3", 0.956, 0.9828)]


@pytest.mark.parametrize(("name", "x_best", "f_best"), OPTIMA)
def test_reward_functions_have_the_optima_of_the_authors_code(name: Name, x_best: float, f_best: float) -> None:
    x, f = grid_optimum(zn.reward_function(name, "authors"))
    assert x == pytest.approx(x_best, abs=1e-3)
    assert f == pytest.approx(f_best, abs=1e-4)


def test_the_noise_of_the_text_makes_the_third_function_overshoot() -> None:
    assert grid_optimum(zn.reward_function("f3", "paper"))[1] == pytest.approx(1.705, abs=5e-4)


def test_the_authors_preset_is_the_default() -> None:
    for name in NAMES:
        assert zn.reward_function(name).preset == "authors"
    x = np.linspace(0, 1, 50)[:, None]
    assert np.abs(zn.reward_function("f1", "paper")(x) - zn.reward_function("f1")(x)).max() > 0.1


def test_a_finer_grid_finds_a_higher_optimum() -> None:
    function = zn.reward_function("f3")
    _, coarse = grid_optimum(function)
    _, fine = grid_optimum(function, 100_001)
    assert 0.0003 < fine - coarse < 0.0007  # docs/fidelity.md, row 15


def test_reward_functions_can_be_compared_and_sent_about() -> None:
    function = zn.reward_function("f2")
    travelled = pickle.loads(pickle.dumps(function))
    x = np.linspace(0, 1, 7)[:, None]
    np.testing.assert_array_equal(travelled(x), function(x))
    assert zn.reward_function("f2") == function
    assert zn.reward_function("f1") != function


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("node", [(0, 0), (2, 3), (7, 121)])
def test_a_reward_function_can_be_measured(name: Name, node: tuple[int, int]) -> None:
    function = zn.reward_function(name)
    region = zn.Box([(0, 1)]).cell(node)
    exact = zn.simulate(function, zn.Mean()).average(region)
    nearly = zn.simulate(function, zn.Average(50_000)).average(region)
    assert exact == pytest.approx(nearly, abs=1e-7)


def test_the_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(zonal.simulation.simulators) == (0, 6)


@pytest.mark.parametrize(("d", "width"), [(1, 0.002), (2, 0.02), (2, 0.2), (3, 0.2), (4, 0.5), (6, 0.5)])
def test_the_mean_of_a_bump_is_exact_and_quick_in_any_dimension(d: int, width: float) -> None:
    measure = zn.simulate(lambda x: np.exp(-np.sum(((x - 0.4) / width) ** 2, axis=1)), zn.Mean())
    start = time.process_time()
    found = measure.average(zn.Box([(0, 1)] * d).cell((0, 0)))
    one = width * math.sqrt(math.pi) / 2 * (math.erf(0.6 / width) + math.erf(0.4 / width))
    assert found == pytest.approx(one**d, rel=1e-6)
    assert time.process_time() - start < 5
