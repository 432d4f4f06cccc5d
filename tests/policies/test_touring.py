"""Looks as tours: where ways cost, the whole space is seen, and less is spent on ways than on looks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.engine.costs import MAX_ROUTE_LENGTH

LINE = zn.Box([(0, 1)], smallest=1 / 64)
HILLS = zn.simulate(lambda x: np.cos(25 * x[:, 0]), zn.Mean(), noise=1.0, rng=2)


def played(**given: Any) -> zn.Study:
    study = zn.Study(LINE, budget=80.0, rng=3, **given)
    study.optimize(HILLS)
    return study


@pytest.mark.parametrize("given", [{"kernel": zn.RBF(0.5, 0.07), "noise": 1.0}, {}], ids=["given", "learned"])
def test_tours_go_everywhere_and_most_is_spent_on_looks(given: dict[str, Any]) -> None:
    study = played(travel=6.0, **given)
    told = [trial for trial in study.trials if trial.state == "measured"]
    ways = study.spent - len(told)
    assert 0.1 * study.spent < ways < 0.55 * study.spent
    later = np.array([trial.region.center[0] for trial in told[len(told) // 2 :]])
    assert np.ptp(later) > 0.5


def test_a_tour_has_so_many_looks_that_they_cost_twice_what_its_ways_do() -> None:
    def looks(**prices: Any) -> int:
        study = zn.Study(LINE, budget=80.0, **prices)
        own = study._state.problem.prices
        assert own is not None
        return own.route_length(1.0)

    assert looks(travel=0) == 1
    assert looks(travel=8.0) == round(2 * 8.0 * 15 / 16)
    assert looks(travel=1e6) == MAX_ROUTE_LENGTH
    assert looks(travel=lambda one, other: 1.0) == 30
