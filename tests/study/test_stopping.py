"""Stopping early, and what an answer says of itself."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.gp.model_average import Mixture
from zonal.simulation.gp_samples import model_of
from zonal.study.recommend import ROUGH
from zonal.study.summary import answer_text

FINE = zn.Box([(0.0, 1.0)], smallest=1 / 256)


def searched(drawn_from: Any, space: Any, budget: int, **settings: Any) -> zn.Study:
    landscape = model_of(space, drawn_from, None, "maximize").draw(np.random.default_rng(3)).landscape
    study = zn.Study(space, budget=budget, rng=0, **settings)
    study.optimize(landscape.simulate(0.1, rng=1))
    return study


def test_an_answer_says_that_a_rough_function_has_cells_nobody_measured() -> None:
    rough = searched(zn.Matern(1.0, 0.1, nu=0.5), FINE, 40)
    best = rough.recommend()
    assert best.note == ROUGH
    assert repr(best).endswith(f"; {ROUGH})")
    assert ROUGH in best._repr_html_()
    assert ROUGH in answer_text(rough)
    assert pickle.loads(pickle.dumps(best)).note == ROUGH
    assert searched(zn.RBF(1.0, 0.1), FINE, 40).recommend().note == ""


def test_nothing_is_said_where_most_cells_were_measured_or_the_kernel_is_given() -> None:
    kernel = zn.Matern(1.0, 0.1, nu=0.5)
    coarse = zn.Box([(0.0, 1.0)], smallest=1 / 16)
    assert searched(kernel, coarse, 40).recommend().note == ""
    assert searched(kernel, FINE, 12, kernel=kernel, noise=0.1).recommend().note == ""


def test_a_search_goes_on_until_smallest_regions_were_measured() -> None:
    study = zn.Study(FINE, budget=60, rng=0)
    study.optimize(zn.simulate(lambda x: np.sin(6 * x[:, 0]), zn.Mean(), 0.1, rng=0), tolerance=100.0)
    tree = study.tree
    measured = tree.count[tree.depth == 8]
    assert study.measured < 60
    assert np.count_nonzero(measured) >= 4


def test_a_search_goes_on_while_the_models_mispredict_the_best_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = zn.simulate(lambda x: np.sin(6 * x[:, 0]), zn.Mean(), 0.1, rng=0)
    stops = zn.Study(FINE, budget=60, rng=0).optimize(measure, tolerance=100.0)
    monkeypatch.setattr(Mixture, "misfit", 1.6)
    goes_on = zn.Study(FINE, budget=60, rng=0).optimize(measure, tolerance=100.0)
    assert stops.nfev < goes_on.nfev == 60


def test_misfit_is_about_one_where_the_model_is_right_and_large_where_it_is_not() -> None:
    right = searched(zn.RBF(1.0, 0.1), FINE, 30, kernel=zn.RBF(1.0, 0.1), noise=0.1)
    wrong = searched(zn.RBF(1.0, 0.1), FINE, 30, kernel=zn.RBF(1.0, 1.0), noise=0.02)
    assert isinstance(right._state.belief, Mixture)
    assert isinstance(wrong._state.belief, Mixture)
    assert 0.3 < right._state.belief.misfit < 2
    assert wrong._state.belief.misfit > 3
