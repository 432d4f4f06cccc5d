"""What looks cost: laws of cost, time and travel, and that a study which knows of none walks as before."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from fingerprint import fingerprint

pytestmark = pytest.mark.one_in(2)

LINE = zn.Box([(0, 1)], smallest=1 / 64)
GIVEN: dict[str, Any] = {"kernel": zn.RBF(0.5, 0.15), "noise": 0.2}
POLICIES: dict[str, dict[str, Any]] = {
    "default, given": GIVEN,
    "default, learned": {},
    "GPOO": GIVEN | {"policy": zn.GPOO(zn.GeometricDelta(2, 0.5))},
    "StoOO": {"policy": zn.StoOO(zn.GeometricDelta(2, 0.5))},
    "UCB": GIVEN | {"policy": zn.UCB()},
    "Above": GIVEN | {"policy": zn.Above(0.5)},
}
every_policy = pytest.mark.parametrize("name", POLICIES)
TIMES = [1, 2, 4, 8]


def wave(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(7 * x[:, 0]) + 0.3 * x[:, 0])


def by_size(region: zn.Region) -> float:
    return 1.0 + 4 * float(region.widths[0])


def taxicab(one: zn.Region, other: zn.Region) -> float:
    return 3 * abs(float(one.center[0] - other.center[0]))


def run(scale: float = 1.0, space: Any = LINE, **settings: Any) -> zn.Study:
    study = zn.Study(space, rng=3, **settings)
    study.optimize(zn.simulate(wave, zn.Mean(), noise=0.2 * scale, rng=1))
    return study


def nodes(study: zn.Study) -> list[Any]:
    return [trial.node for trial in study.trials]


@every_policy
def test_what_is_the_same_for_all_looks_changes_no_walk(name: str) -> None:
    usual = run(budget=16, **POLICIES[name])
    for prices in (
        {"cost": 2.5, "budget": 40.0},
        {"times": [1], "budget": 16},
        {"travel": 0, "budget": 16.0},
        {"overhead": 0.1, "budget": 17.6},
    ):
        other = run(**prices, **POLICIES[name])
        assert nodes(other) == nodes(usual)
        assert np.array_equal(other.tree.mean, usual.tree.mean)
        assert other.spent == pytest.approx(other.budget)
        assert other.remaining == pytest.approx(0, abs=1e-9)


@every_policy
def test_nothing_is_asked_for_that_cannot_be_paid(name: str) -> None:
    prices: dict[str, Any] = {"cost": by_size, "times": TIMES, "overhead": 0.5, "travel": taxicab}
    study = zn.Study(LINE, budget=90.0, rng=3, **prices, **POLICIES[name])
    measure, rng, asked = zn.simulate(wave, zn.Mean(), noise=0.2, rng=1), np.random.default_rng(5), []
    while True:
        try:
            asked.append(study.ask())
        except zn.BudgetSpent:
            if not study.pending:
                break
        assert study.spent + sum(trial.cost for trial in study.pending) <= study.budget * (1 + 1e-9)
        if len(study.pending) > 2 or (study.pending and rng.random() < 0.5):
            trial = study.pending[0]
            if rng.random() < 0.1:
                study.fail(trial)
            else:
                study.tell(trial, measure(trial.region, trial.time))
    assert len(asked) > 8
    assert study.spent == pytest.approx(sum(trial.cost for trial in study.trials if trial.state == "measured"))
    before: Any = None
    for trial in asked:
        way = 0.0 if before is None else taxicab(before.region, trial.region)
        assert trial.cost == pytest.approx(by_size(trial.region) + 0.5 + trial.time + way)
        before = trial
    if name not in ("default, given", "default, learned", "Above"):
        assert {trial.time for trial in asked} == {1.0}
    assert fingerprint(zn.Study.replay(study.settings, study.events)) == fingerprint(study)


def test_a_longer_look_is_as_good_as_several_and_one_look_all_the_same() -> None:
    long, short = (zn.Study(LINE, budget=100.0, times=[4, 1], max_replicates=2, **GIVEN) for _ in range(2))
    cell = LINE.cell((6, 20))
    trial = long.ask()
    long.tell(trial, 0.7, time=4)
    for _ in range(4):
        short.observe(trial.region, 0.7, time=1)
    assert long.predict(cell).mean == pytest.approx(short.predict(cell).mean, rel=1e-9)
    assert long.predict(cell).std == pytest.approx(short.predict(cell).std, rel=1e-9)
    assert int(long.tree.count.sum()) == long.measured == 1
    assert long.tree.noise[0] == pytest.approx(0.2)


@pytest.mark.parametrize("name", ["default, given", "default, learned", "GPOO", "Above"])
@pytest.mark.parametrize("k", [0.25, 9.0])
def test_another_unit_of_cost_changes_nothing(name: str, k: float) -> None:
    settings = POLICIES[name]

    def scaled(by: float) -> zn.Study:
        own = {**settings, **({"noise": 0.2 * math.sqrt(by)} if "noise" in settings else {})}
        return run(
            math.sqrt(by), times=[by * time for time in TIMES], overhead=0.5 * by, travel=2.0 * by, cost=0.1 * by,
            budget=50.0 * by, **own,
        )  # fmt: skip

    here, there = scaled(1.0), scaled(k)
    assert nodes(here) == nodes(there)
    assert [k * trial.time for trial in here.trials] == pytest.approx([trial.time for trial in there.trials])
    assert here.tree.mean == pytest.approx(there.tree.mean, abs=1e-7)
    assert here.tree.std == pytest.approx(there.tree.std, abs=1e-7)
    assert k * here.remaining == pytest.approx(there.remaining, abs=1e-6)
    assert here.model.noise is None or here.model.noise * math.sqrt(k) == pytest.approx(
        there.model.noise, rel=1e-6
    )


def test_a_given_model_is_opened_only_where_the_usual_look_tells_little() -> None:
    for noise, opened in ((0.2, False), (5.0, True)):
        study = zn.Study(LINE, budget=100.0, times=TIMES, kernel=zn.RBF(0.5, 0.15), noise=noise)
        first = [study.ask() for _ in range(4)]
        widths = {float(trial.region.widths[0]) for trial in first}
        assert (widths == {1 / 16} and {trial.time for trial in first} == {2.0}) is opened


def test_while_nothing_stands_out_a_learned_model_looks_for_the_usual_time() -> None:
    dull, sharp = (zn.Study(LINE, budget=100.0, times=TIMES, overhead=0.5, rng=0) for _ in range(2))
    dull.optimize(zn.simulate(wave, zn.Mean(), noise=40.0, rng=1))
    sharp.optimize(zn.simulate(wave, zn.Mean(), noise=0.05, rng=1))
    assert {trial.time for trial in dull.trials[:-1]} == {2.0}
    assert len({trial.time for trial in sharp.trials[:-1]}) > 1


def test_the_time_really_spent_counts_and_may_overrun() -> None:
    study = zn.Study(LINE, budget=20.0, times=[4], overhead=1.0, cost_unit="s", **GIVEN)
    first, second = study.ask(), study.ask()
    assert (first.time, first.cost, study.remaining) == (4.0, 5.0, 10.0)
    study.tell(first, 0.3, time=2.5)
    assert study.spent == pytest.approx(3.5)
    assert study.trials[0].time == 2.5
    assert study.trials[0].cost == pytest.approx(3.5)
    study.tell(second, 0.4, time=30.0)
    assert study.spent == pytest.approx(34.5)
    assert study.remaining == 0
    with pytest.raises(zn.BudgetSpent, match=r"costs 5 s, and .* of the budget of 20 s is left: 34.5 is spent"):
        study.ask()
    study.extend(25.5)
    assert study.remaining == pytest.approx(11.0)
    study.correct(first, 0.35)
    assert study.trials[0].time == 2.5
    study.retract(second)
    assert study.spent == pytest.approx(3.5)
    assert fingerprint(zn.Study.replay(study.settings, study.events)) == fingerprint(study)


def test_a_batch_is_paid_for_as_a_whole_or_not_asked_for() -> None:
    study = zn.Study(LINE, budget=10.0, cost=3.0, **GIVEN)
    before = fingerprint(study)
    with pytest.raises(zn.BudgetSpent):
        study.ask(4)
    assert fingerprint(study) == before
    assert len(study.ask(3)) == 3


def test_batches_come_as_a_short_tour() -> None:
    def length(trials: list[zn.Trial]) -> float:
        centres = [float(trial.region.center[0]) for trial in trials]
        return float(np.abs(np.diff(centres)).sum())

    study = zn.Study(LINE, budget=400.0, travel=2.0, **GIVEN)
    batch = study.ask(6)
    centres = sorted(float(trial.region.center[0]) for trial in batch)
    assert length(batch) <= 2 * (centres[-1] - centres[0])
    assert [trial.number for trial in batch] == list(range(6))
    ways = [abs(float(b.region.center[0] - a.region.center[0])) for a, b in pairwise(batch)]
    assert [trial.cost for trial in batch] == pytest.approx([1.0, *(1 + 2 * way for way in ways)])


def test_the_way_is_from_the_last_trial_of_the_same_worker() -> None:
    study = zn.Study(LINE, budget=400.0, travel=taxicab, **GIVEN)
    first = study.ask(by="a")
    second = study.ask(by="b")  # who was nowhere, and starts where the study was last
    third = study.ask(by="a")
    assert second.cost == pytest.approx(1 + taxicab(first.region, second.region))
    assert third.cost == pytest.approx(1 + taxicab(first.region, third.region))


def test_ways_go_round_a_ring() -> None:
    ring = zn.Box({"l": (0, 360)}, periodic=["l"])
    axis = ring.axes[0]
    assert axis.apart(np.array([350.0, 180.0, 10.0]), 10.0) == pytest.approx([20.0, 170.0, 0.0])
    study = zn.Study(ring, budget=4000.0, travel=1.0)
    trials = study.ask(4)
    for one, other in pairwise(trials):
        apart = abs(float(one.region.center[0] - other.region.center[0]))
        assert other.cost == pytest.approx(1 + min(apart, 360 - apart))


def test_files_keep_prices_and_ask_for_functions_again(tmp_path: Path) -> None:
    path = tmp_path / "night.db"
    prices: dict[str, Any] = {
        "cost": by_size,
        "travel": taxicab,
        "times": TIMES,
        "overhead": 0.5,
        "cost_unit": "s",
    }
    study = zn.Study.create(path, LINE, budget=60.0, rng=1, **prices)
    for _ in range(6):
        trial = study.ask()
        study.tell(trial, float(trial.region.center[0]), time=trial.time + 0.25)
    looked = zn.Study.open(path)
    assert looked.read_only
    assert looked.spent == pytest.approx(study.spent)
    assert looked.recommend().node == study.recommend().node
    again = zn.Study.open(path, cost=by_size, travel=taxicab)
    assert [vars(one) for one in again.trials] == [vars(one) for one in study.trials]
    assert again.ask().cost > 0
    assert "60 s" in str(again)
    assert list(again.table().columns)[5:7] == ["time [s]", "cost [s]"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"times": []} | {"overhead": -1}, {"times": [0]}, {"times": [1, 1]}, {"times": "1, 2"}, {"times": 3},
        {"cost": -1}, {"cost": "a"}, {"cost": float("nan")}, {"travel": -1.0}, {"travel": zn.Box},
        {"budget": -3.0, "cost": 1},
        {"cost": lambda region: -1.0}, {"cost": lambda region: "free"},
    ],
    ids=lambda wrong: "-".join(f"{name}={value}" for name, value in wrong.items() if not callable(value)),
)  # fmt: skip
def test_prices_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(zn.InvalidInput):
        zn.Study(LINE, **({"budget": 10} | wrong))


def test_a_number_for_travel_needs_distances() -> None:
    with pytest.raises(zn.InvalidInput, match="different units"):
        zn.Study(zn.Box({"l": (0, 9), "t": (0, 9)}, units={"l": "deg", "t": "s"}), budget=9, travel=1.0)
    with pytest.raises(zn.InvalidInput, match="no distances"):
        zn.Study(zn.Sequences("ACGT", 4), budget=9, travel=1.0)
    study = zn.Study(LINE, budget=9)
    with pytest.raises(zn.InvalidInput, match="has no times to choose"):
        study.tell(study.ask(), 0.1, time=2.0)


def test_without_prices_a_trial_takes_one_and_costs_one() -> None:
    study = zn.Study(LINE, budget=3)
    trial = study.ask()
    assert (trial.time, trial.cost, study.remaining, study.spent) == (1.0, 1.0, 2, 0)
    assert isinstance(study.remaining, int)


def test_what_measures_is_told_how_long_to_look() -> None:
    asked: list[float] = []

    def measure(region: zn.Region, time: float) -> float:
        asked.append(time)
        return 0.1

    study = zn.Study(LINE, budget=40.0, times=TIMES, overhead=0.5, rng=0)
    assert study.optimize(measure).success
    assert asked == [trial.time for trial in study.trials]
    threaded = zn.Study(LINE, budget=40.0, times=TIMES, overhead=0.5, rng=0)
    assert threaded.optimize(zn.simulate(wave, zn.Mean(), 0.1, 0), workers=2).success
    assert threaded.outlook(3).n == 3


def test_several_shorter_looks_weigh_as_their_times_where_noise_is_learned() -> None:
    one, other = (zn.Study(LINE, budget=200.0, times=[2, 1, 4], rng=0) for _ in range(2))
    rng = np.random.default_rng(0)
    for index in range(12):
        cell, value = LINE.cell((6, 5 * index)), float(rng.normal())
        for study, times in ((one, (4.0,)), (other, (1.0, 3.0))):
            for time in times:
                study.observe(cell, value, time=time)
    here, there = (study._state.ledger.data() for study in (one, other))
    assert here.count == pytest.approx(there.count)
    assert here.mean == pytest.approx(there.mean)
    assert here.scatter == pytest.approx(there.scatter, abs=1e-12)
    assert there.extra == 12


@pytest.mark.parametrize("prices", [{"cost": 0}, {"cost": 0, "travel": 1.0}, {"cost": lambda region: 0.0}])
def test_looks_that_cost_nothing_are_refused(prices: dict[str, Any]) -> None:
    with pytest.raises(zn.InvalidInput, match="the budget would never be spent"):
        zn.Study(LINE, budget=10, **prices)
    zn.Study(LINE, budget=10, times=[1, 2], **prices).ask()


def test_a_budget_that_pays_for_nothing_says_so() -> None:
    study = zn.Study(LINE, budget=3.0, cost=lambda region: 10.0, policy=zn.GPOO(), **GIVEN)
    assert study.optimize(lambda region: 1.0).message.startswith("the budget does not pay for a measurement: 0 ")


def test_a_threshold_of_zero_is_not_minus_zero() -> None:
    study = zn.Study(LINE, budget=3, direction="minimize", policy=zn.Above(0.0), **GIVEN)
    study.tell(study.ask(), 0.5)
    assert "below 0 " in study.above().title
