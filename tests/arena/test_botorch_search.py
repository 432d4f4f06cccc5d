"""BoTorch over places, where it is installed: as the arena and the applications play it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("botorch")
from benchmarks.arena.botorch_search import FIRST, nearest, search
from benchmarks.arena.gpytorch_models import default_model, matched_model

PLACES = (np.arange(40)[:, None] + 0.5) / 40
PEAK = 27


def values() -> list[float]:
    return [float(np.exp(-(((at - PEAK) / 6) ** 2))) for at in range(len(PLACES))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [default_model, matched_model])
def test_the_peak_is_found_and_budgets_are_read_off_one_search(model: object) -> None:
    f, asked, noise = values(), list[int](), np.random.default_rng(1)

    def measure(at: int) -> float:
        asked.append(at)
        return f[at] + 0.05 * noise.standard_normal()

    budgets = (FIRST, 16)
    settled = search(measure, PLACES, budgets, np.random.default_rng(0), model)  # type: ignore[arg-type]
    assert len(asked) == 16
    assert set(settled) == set(budgets)
    assert abs(settled[16] - PEAK) <= 2


@pytest.mark.filterwarnings("ignore")
def test_where_repeats_bring_nothing_no_place_is_measured_twice() -> None:
    f, asked = values(), list[int]()

    def measure(at: int) -> float:
        asked.append(at)
        return f[at]

    noise = np.full(len(PLACES), 0.01)
    search(measure, PLACES, [14], np.random.default_rng(0), default_model, noise=noise, once=True)
    assert len(set(asked)) == len(asked) == 14


def test_the_nearest_places_are_all_different() -> None:
    assert nearest(PLACES, np.array([[0.5], [0.5], [1.0]])) in ([19, 20, 39], [20, 19, 39])
