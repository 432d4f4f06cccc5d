"""The arena's problems: averages are those an instrument measures, and the best cell is where it should be."""

from __future__ import annotations

import math

import numpy as np
import pytest

import zonal as zn
from benchmarks.arena.problems import CASES, CELLS, WINDOW, Case, Problem, averages_of_draw, bbob
from zonal.simulation import datasets


def drawn(case: Case, run: int = 0) -> Problem:
    if "BBOB" in case.about:
        pytest.importorskip("ioh")
    return case.draw(run, np.random.default_rng(run))


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_averages_are_those_an_instrument_measures_and_cells_are_found_again(case: Case) -> None:
    problem, rng = drawn(case), np.random.default_rng(1)
    assert problem.shape == case.shape
    exact = problem.instrument(rng)
    for _ in range(5):
        cell = tuple(int(rng.integers(n)) for n in problem.shape)
        region = problem.cell(cell)
        assert math.isclose(exact.average(region), problem.averages[cell], rel_tol=1e-9, abs_tol=1e-12)
        assert problem.within(region) == [cell]
        assert problem.middle(region) == cell
        assert not problem.space.may_split(region)


@pytest.mark.parametrize("name", ["sphere 2-D", "rough draw 4-D", "HI4PI", "TFBind8"])
def test_the_average_of_a_region_is_the_mean_of_its_cells(name: str) -> None:
    problem = drawn(CASES[name])
    exact = problem.instrument(np.random.default_rng(0))
    for depth in (0, 2, 3):
        region = problem.space.cell((depth, 1 if depth else 0))
        cells = problem.within(region)
        assert len(cells) * problem.space.partition.count(depth) == problem.averages.size
        assert math.isclose(
            exact.average(region), np.mean([problem.averages[cell] for cell in cells]), rel_tol=1e-9, abs_tol=1e-12
        )


@pytest.mark.parametrize("name", ["f1", "smooth draw 2-D", "HI4PI", "TFBind8", "sphere 2-D"])
def test_runs_differ_and_a_run_is_the_same_again(name: str) -> None:
    first, again, other = drawn(CASES[name], 0), drawn(CASES[name], 0), drawn(CASES[name], 1)
    assert (first.averages == again.averages).all()
    assert not np.array_equal(first.averages, other.averages)


def test_the_best_cell_of_a_sphere_contains_its_optimum() -> None:
    ioh = pytest.importorskip("ioh")
    for run in range(3):
        rng = np.random.default_rng(run)
        problem = bbob("sphere", 2).draw(run, np.random.default_rng(run))
        shift, sign = rng.uniform(WINDOW - 5, 5 - WINDOW, 2), rng.choice([-1.0, 1.0], 2)
        optimum = ioh.get_problem(1, run + 1, 2, ioh.ProblemClass.BBOB).optimum.x
        expected = problem.at((sign * (optimum - shift) / WINDOW + 1) / 2)
        best = np.unravel_index(int(problem.averages.argmax()), problem.shape)
        assert tuple(int(part) for part in best) == expected
        assert problem.regret(expected) == 0


def test_real_data_are_moved_and_renamed_but_the_same() -> None:
    sky, dna = drawn(CASES["HI4PI"]), drawn(CASES["TFBind8"])
    assert math.isclose(sky.averages.mean(), datasets.sky().mean())
    assert datasets.sky().max() > sky.averages.max() > 0.7 * datasets.sky().max()
    assert math.isclose(dna.averages.max(), datasets.tfbind8().e_score.reshape(-1, 16).mean(axis=1).max())


@pytest.mark.torture
@pytest.mark.parametrize("nu", [0.5, math.inf])
def test_draws_have_the_variance_and_correlation_of_their_kernel(nu: float) -> None:
    rng = np.random.default_rng(0)
    draws = np.stack([averages_of_draw(1, nu, rng) for _ in range(100)])
    lag = CELLS[1] // 10  # one lengthscale, all but a half of a cell
    expected = math.exp(-lag / CELLS[1] / 0.1) if nu == 0.5 else math.exp(-0.5 * (lag / CELLS[1] / 0.1) ** 2)
    assert abs(np.mean(draws**2) - 1) < 0.12
    assert abs(np.mean(draws[:, lag:] * draws[:, :-lag]) - expected) < 0.12


def test_falling_noise_is_one_standard_deviation_for_a_smallest_cell() -> None:
    problem = drawn(CASES["smooth draw, falling noise"])
    assert callable(problem.noise)
    assert math.isclose(problem.noise(problem.cell((3,))), problem.std)
    assert math.isclose(problem.noise(problem.space.cell((0, 0))), problem.std / 16)


def test_a_region_smaller_than_a_cell_lies_in_that_cell() -> None:
    problem = drawn(CASES["f1"])
    assert problem.within(zn.Box([(0, 1)]).cell((10, 7))) == [(1,)]


def test_scaled_averages_lie_between_0_and_1() -> None:
    problem = drawn(CASES["rough draw 1-D"])
    assert problem.scaled(float(problem.averages.min())) == 0
    assert problem.scaled(float(problem.averages.max())) == 1
