"""The arena's contestants: everyone pays exactly the budget and settles for a smallest cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.arena import roster
from benchmarks.arena.contestants import Contestant, Meter, Readings, Spent
from benchmarks.arena.ours import DEFAULT
from benchmarks.arena.problems import CASES, Case, Problem
from benchmarks.arena.roster import ROSTER

FEW = 12  # measurements; more than BoTorch's first ones and Optuna's start


def metered(case: Case, budget: int) -> tuple[Problem, Meter]:
    problem = case.draw(0, np.random.default_rng(0))
    return problem, Meter(problem.instrument(np.random.default_rng(1)), budget)


@pytest.mark.one_in(5)
@pytest.mark.filterwarnings("ignore")  # of the peers
@pytest.mark.parametrize("name", ["f2", "smooth draw 2-D", "TFBind8"])
@pytest.mark.parametrize("one", ROSTER.values(), ids=lambda one: one.name)
def test_everyone_pays_exactly_the_budget_and_settles_for_a_smallest_cell(one: Contestant, name: str) -> None:
    case = CASES[name]
    if one.versions() is None:
        pytest.skip(f"{one.packages} are not here")
    if not one.budgets(case):
        pytest.skip("sits out")
    budgets = (9, FEW) if one.anytime else (FEW,)
    problem, meter = metered(case, FEW)
    picks = one.play(problem, meter, budgets, np.random.default_rng(2))
    assert set(picks) == set(budgets)
    for pick in picks.values():
        assert problem.regret(pick.cell) >= 0
    assert meter.spent == FEW or (one.name == "greedy descent" and meter.spent < FEW)
    assert all(meter.seconds(n) >= 0 for n in budgets)
    if not one.ours or name == "f2":  # ours take their random numbers from one place, whatever the space
        problem, meter = metered(case, FEW)
        assert one.play(problem, meter, budgets, np.random.default_rng(2)) == picks


def test_the_meter_refuses_what_is_over_the_budget() -> None:
    problem, meter = metered(CASES["f1"], 2)
    for _ in range(2):
        meter(problem.cell((3,)))
    with pytest.raises(Spent):
        meter(problem.cell((3,)))
    assert meter.spent == 2


def test_the_nth_measurement_has_the_same_noise_whoever_makes_it() -> None:
    problem, meter = metered(CASES["rough draw 1-D"], 3)
    other = Meter(problem.instrument(np.random.default_rng(1)), 3)
    for cell in (3, 90, 200):
        ours = meter(problem.cell((cell,))) - problem.averages[cell]
        theirs = other(problem.cell((cell + 1,))) - problem.averages[cell + 1]
        assert abs(ours - theirs) < 1e-12


def test_readings_average_repeats_and_are_read_off_at_smaller_budgets() -> None:
    problem, _ = metered(CASES["f1"], 1)
    values = iter([1.0, 0.9, 0.0, 0.8])

    def instrument(region: object) -> float:
        return next(values)

    readings = Readings(problem, Meter(instrument, 4))  # type: ignore[arg-type]
    for cell in (1, 2, 1, 2):
        readings.measure((cell,))
    assert readings.best(1).cell == (1,)
    assert readings.best(4).cell == (2,)


def test_the_default_comes_first_and_who_decides_as_it_does_is_marked() -> None:
    assert next(iter(ROSTER)) == DEFAULT
    marked = {name for name, one in ROSTER.items() if one.default}
    assert {DEFAULT, "Zonal, smallest regions only", "Zonal, noise given", "Zonal, straddle"} <= marked
    assert marked.isdisjoint({"Zonal, UCB", "Zonal, GPOO", "Zonal, StoOO", "BoTorch", "random"})


def test_a_key_changes_with_the_source_of_a_search_and_with_nothing_else(tmp_path: Path) -> None:
    def written(name: str, text: str) -> str:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        roster.source_hash.cache_clear()
        return roster.source_hash(tmp_path)

    first = written("search.py", "a = 1")
    assert written("plotting/maps.py", "b = 1") == first
    assert written("search.py", "a = 2") != first


def test_a_contestant_whose_package_is_missing_has_no_key() -> None:
    absent = Contestant("absent", "", ROSTER[DEFAULT].play, ("no-such-package",))
    assert absent.versions() is None
    assert roster.key(absent, CASES["f1"]) is None
