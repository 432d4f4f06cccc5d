from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import zonal as zn
from zonal.simulation import RewardFunction
from zonal.study.point_search import sequential_halving


def found(direction: str = "maximize") -> tuple[zn.Study, RewardFunction]:
    f = zn.reward_function("f1")
    sign = 1 if direction == "maximize" else -1
    study = zn.Study(
        [(0, 1)],
        budget=60,
        kernel=zn.RBF(0.1, 0.05),
        noise=0.1,
        feedback=zn.Average(8),
        policy=zn.GPOO(zn.GeometricDelta(14, 0.5)),
        direction=direction,  # type: ignore[arg-type]
    )
    measure = zn.simulate(f, zn.Average(8), noise=0.1, rng=0)
    study.optimize(lambda region: sign * measure(region))
    return study, f


def test_a_point_of_the_recommended_region_is_found_with_mean_and_std() -> None:
    study, f = found()
    before = study.tree.mean.copy()
    result = study.refine(lambda x: float(f(x[None, :])[0]), budget=40, noise=0.01)
    region = study.recommend().region
    assert result.x.tolist() in region.points.tolist()
    assert result.nfev <= 40
    values = f(region.points)
    assert float(f(result.x[None, :])[0]) == pytest.approx(values.max(), abs=2e-3)
    assert abs(result.mean - float(f(result.x[None, :])[0])) < 5 * result.std + 1e-3
    assert (study.tree.mean == before).all()


def test_minimising_refines_to_the_lowest_point() -> None:
    (up, f), (down, _) = found(), found("minimize")
    high = up.refine(lambda x: float(f(x[None, :])[0]), 24, noise=0.05)
    low = down.refine(lambda x: -float(f(x[None, :])[0]), 24, noise=0.05)
    assert high.x == pytest.approx(low.x)
    assert high.mean == pytest.approx(-low.mean)


def test_halving_spends_its_budget_on_the_better_half() -> None:
    visits: list[int] = []
    points = np.arange(8.0)[:, None]

    def measure(x: np.ndarray) -> float:
        visits.append(int(x[0]))
        return float(x[0])

    result = sequential_halving(points, np.zeros(8), np.eye(8), 0.1, measure, 48)
    assert result.x == [7.0]
    assert len(visits) == result.nfev == 48
    # A third of the budget for eight, for the better four and for the better two.
    assert np.bincount(visits).tolist() == [2, 2, 2, 2, 6, 6, 14, 14]


def test_the_posterior_it_starts_from_matters() -> None:
    points = np.arange(4.0)[:, None]
    sure = sequential_halving(points, np.array([0.0, 0.0, 5.0, 0.0]), 1e-6 * np.eye(4), 1.0, lambda x: 0.0, 4)
    assert sure.x == [2.0]


def test_with_a_small_budget_the_most_promising_points_are_measured() -> None:
    visits: list[int] = []
    points, mean = np.arange(8.0)[:, None], np.arange(8.0)

    def measure(x: np.ndarray) -> float:
        visits.append(int(x[0]))
        return float(x[0])

    result = sequential_halving(points, mean, np.eye(8), 0.1, measure, 3)
    assert result.nfev == 3
    assert set(visits) <= {5, 6, 7}
    assert result.x == [7.0]


def test_values_and_points_that_make_no_sense_are_refused() -> None:
    study, _ = found()
    with pytest.raises(zn.InvalidInput, match="nan"):
        study.refine(lambda x: float("nan"), budget=10)
    for points in ("abc", [0.1, 0.2], [[0.1, 0.2]], []):
        with pytest.raises(zn.InvalidInput, match=r"points must have shape \(n, 1\)"):
            study.refine(lambda x: 0.0, budget=10, points=points)


def test_an_exact_mean_is_refined_over_a_grid_or_given_candidates() -> None:
    study = zn.Study([(0, 1)], budget=5, kernel=zn.RBF(1, 0.2), noise=0.1, policy=zn.GPOO())
    study.tell(study.ask(), 1.0)
    found = study.refine(lambda x: float(x[0]), budget=60)
    assert found.x == pytest.approx([0.95])
    assert study.refine(lambda x: float(x[0]), 30, points=[[0.1], [0.5], [0.9]]).x == [0.9]


def test_noise_that_depends_on_the_region_must_be_told_for_points() -> None:
    study = zn.Study([(0, 1)], budget=5, kernel=zn.RBF(1, 0.2), noise=zn.PerWeight(0.1), policy=zn.GPOO())
    study.tell(study.ask(), 1.0)
    with pytest.raises(zn.InvalidInput, match="noise="):
        study.refine(lambda x: 0.0, 10)
    assert study.refine(lambda x: float(x[0]), 40, noise=0.1).x[0] > 0.8


@pytest.mark.parametrize(("budget", "most"), [(5, 50e6), (500, 150e6)])
def test_measurements_in_three_dimensions_need_little_memory(budget: int, most: float) -> None:
    study = zn.Study([(0, 1)] * 3, budget=6, kernel=zn.RBF(1.0, 0.3), noise=0.1)
    study.optimize(lambda region: float(np.sin(3 * region.center).sum()))
    tracemalloc.start()
    try:
        result = study.refine(lambda x: float(np.sin(3 * x).sum()), budget)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
    assert result.nfev == budget
