"""Where travel costs, the default measures more for the same cost, and still leaves a hill for a better one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zonal as zn

LINE = zn.Box([(0, 1)], smallest=1 / 64)
SPEED, BUDGET = 12.0, 120.0
given_or_learned = pytest.mark.parametrize(
    "model", [{"kernel": zn.RBF(0.5, 0.07), "noise": 0.3}, {}], ids=["given", "learned"]
)


def hills(x: np.ndarray) -> np.ndarray:
    """A hill of 1 on the left, where a search may settle, and one of 2 on the right."""
    return np.asarray(np.exp(-(((x[:, 0] - 0.2) / 0.06) ** 2)) + 2 * np.exp(-(((x[:, 0] - 0.85) / 0.06) ** 2)))


def measure() -> Any:
    return zn.simulate(hills, zn.Mean(), noise=0.3, rng=2)


def travelled(study: zn.Study) -> float:
    return float(np.abs(np.diff([trial.region.center[0] for trial in study.trials])).sum())


@given_or_learned
def test_who_knows_what_travel_costs_measures_more_for_the_same_cost(model: dict[str, Any]) -> None:
    aware = zn.Study(LINE, budget=BUDGET, travel=SPEED, rng=3, **model)
    aware.optimize(measure())
    blind, instrument = zn.Study(LINE, budget=aware.measured, rng=3, **model), measure()
    while blind.remaining and blind.measured + SPEED * travelled(blind) < BUDGET:
        blind.tell(trial := blind.ask(), instrument(trial.region))
    assert aware.spent == pytest.approx(aware.measured + SPEED * travelled(aware))
    assert aware.measured > 1.2 * blind.measured


@given_or_learned
def test_the_better_hill_is_found_though_it_is_far(model: dict[str, Any]) -> None:
    study = zn.Study(LINE, budget=BUDGET, travel=SPEED, rng=3, **model)
    study.optimize(measure())
    assert abs(study.recommend().region.center[0] - 0.85) < 0.05


def test_of_two_regions_that_promise_the_same_the_nearer_is_measured() -> None:
    study = zn.Study(LINE, budget=BUDGET, travel=SPEED, kernel=zn.RBF(0.5, 0.05), noise=0.1)
    for place in (0.25, 0.75):
        study.observe({"x": (place - 1 / 128, place + 1 / 128)}, 1.0)
    first = study.ask()
    study.tell(first, 1.0)
    second = study.ask()
    left = first.region.center[0] < 0.5
    assert (second.region.center[0] < 0.5) == left
