"""One bad reading cannot ruin a campaign: it is measured again before it is believed."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import zonal as zn
from effort import tries
from zonal.engine.events import Reinstated, SetAside
from zonal.engine.gross_errors import _caution
from zonal.errors import BudgetSpent, InvalidInput, TrialError
from zonal.gp.hyperparameters import WeightedModel
from zonal.gp.model_average import Mixture
from zonal.storage.verify import first_difference
from zonal.study import recommend, suspects

NOISE = 0.1
EMPIRICAL = zn.StoOO(zn.GeometricDelta(1.0, 0.6))


def hill(region: zn.Region) -> float:
    return float(np.exp(-(((np.atleast_1d(region.center)[0] - 0.63) / 0.15) ** 2)))


def spike(region: zn.Region) -> float:
    """A true peak, narrower than anything that large regions show."""
    low, high = region.bounds[0]
    return float(max(min(high, 0.32) - max(low, 0.3), 0.0) / (high - low))


def made(budget: float = 40, learned: bool = False, **changes: Any) -> zn.Study:
    given: dict[str, Any] = {} if learned else {"kernel": zn.RBF(1.0, 0.15), "noise": NOISE}
    return zn.Study(zn.Box([(0, 1)], smallest=1 / 64), budget=budget, rng=1, **(given | changes))


def play(
    study: zn.Study, rounds: int, errors: dict[int, float], f: Callable[[zn.Region], float] = hill, seed: int = 0
) -> zn.Study:
    """Tell noisy values; of the trials in `errors`, by number, those given there."""
    for _ in range(rounds):
        trial = study.ask()
        noise = NOISE * float(np.random.default_rng([seed, trial.number]).standard_normal())
        study.tell(trial, errors.get(trial.number, f(trial.region) + noise))
    return study


def doubts(study: zn.Study) -> list[SetAside | Reinstated]:
    return [event for events in study.events for event in events if isinstance(event, SetAside | Reinstated)]


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("value", [6.0, -4.0, 1e6, -1e6])
@pytest.mark.parametrize("at", [2, 9, 25])
def test_a_wild_reading_is_measured_again_and_set_aside(learned: bool, value: float, at: int) -> None:
    study = play(made(learned=learned), 40, {at: value})
    assert study.trials[at].state == "set aside"
    assert study.trials[at].value == value
    again = [trial for trial in study.trials if trial.region == study.trials[at].region and trial.number > at]
    assert again
    assert study.measured == 40
    assert study.remaining == 0
    assert abs(study.recommend().region.center[0] - 0.63) < 0.1


def test_without_it_everything_is_as_if_it_had_never_been_known() -> None:
    study = play(made(), 14, {9: 6.0})
    assert [trial.number for trial in study.trials if trial.state == "set aside"] == [9]
    other = made()
    for trial in study.trials:
        if trial.number != 9:
            assert trial.value is not None
            other.observe(trial.region, trial.value)
    regions = [(0.1, 0.2), (0.6, 0.65), (0.0, 1.0)]
    seen, expected = study.predict([[r] for r in regions]), other.predict([[r] for r in regions])
    assert np.allclose(seen.mean, expected.mean, atol=1e-9)
    assert np.allclose(seen.std, expected.std, atol=1e-9)


@pytest.mark.parametrize("learned", [False, True])
def test_a_true_narrow_peak_agrees_with_itself_and_is_believed(learned: bool) -> None:
    study = made(learned=learned, gross_errors=True)
    held = play(study, 14, {}, lambda region: 0.0)
    peak = study.space.region([(0.296875, 0.3125)])
    trial = held.ask(within=peak)
    study.tell(trial, 2.0)
    assert study.trials[trial.number].state == "set aside"
    repeat = study.ask()
    assert repeat.region == trial.region
    assert study.why(repeat).reason == "repeat"
    study.tell(repeat, 1.9)
    assert {study.trials[number].state for number in (trial.number, repeat.number)} == {"measured"}
    assert study.predict(peak).mean > 0.5
    further = play(study, 3, {}, lambda region: 1.95 if region == trial.region else 0.0)
    assert {further.trials[number].state for number in (trial.number, repeat.number)} == {"measured"}


def test_while_it_waits_it_changes_nothing() -> None:
    study = play(made(), 12, {})
    trial, before = study.ask(), None
    before = study.predict([[(0.2, 0.3)], [(0.6, 0.7)]])
    answer = study.recommend()
    study.tell(trial, 9.0)
    after = study.predict([[(0.2, 0.3)], [(0.6, 0.7)]])
    assert np.allclose(before.mean, after.mean, atol=1e-9)
    assert np.allclose(before.std, after.std, atol=1e-9)
    assert study.recommend().region == answer.region
    assert "waits for a repeat" in str(study)


def test_a_batch_has_one_repeat_and_other_regions() -> None:
    study = play(made(), 12, {11: 9.0})
    batch = study.ask(4)
    assert batch[0].region == study.trials[11].region
    assert all(trial.region != batch[0].region for trial in batch[1:])
    for trial in reversed(batch):
        study.tell(trial, hill(trial.region))
    assert study.trials[11].state == "set aside"
    assert not study._state.waiting_rows


def test_the_last_reading_of_the_budget_waits_for_more() -> None:
    study = play(made(budget=20), 20, {19: 9.0})
    assert study.trials[19].state == "set aside"
    assert abs(study.recommend().region.center[0] - 0.63) < 0.1
    with pytest.raises(BudgetSpent):
        study.ask()
    study.extend(1)
    assert study.ask().region == study.trials[19].region


def test_first_readings_are_not_judged_before_there_are_others() -> None:
    study = play(made(learned=True), 5, {0: 40.0})
    assert not doubts(study)
    play(study, 15, {})
    assert study.trials[0].state == "set aside"


@pytest.mark.parametrize("changes", [{"max_replicates": 1}, {"gross_errors": False}, {"policy": zn.GPOO()}])
def test_where_nothing_is_asked_again_the_reading_is_listed(changes: dict[str, Any]) -> None:
    study = play(made(**changes), 20, {11: 6.0})
    assert not doubts(study)
    assert study.trials[11].state == "measured"
    assert study.suspects()["number"][0] == 11


def test_what_is_possible_now_goes_before_a_repeat() -> None:
    study = play(made(), 12, {11: 9.0})
    where = study.trials[11].region
    far = [(0.0, 0.25)] if where.center[0] > 0.5 else [(0.75, 1.0)]
    assert not study.ask(within=far).region.overlaps(where)
    assert not study.ask(avoid=where).region.overlaps(where)
    assert study.ask().region == where


def test_a_reading_whose_region_cannot_be_measured_again_counts() -> None:
    forbidden, failed = play(made(), 12, {11: 9.0}), play(made(), 12, {11: 9.0})
    forbidden.forbid(forbidden.trials[11].region)
    failed.fail(failed.ask(), retry=False)
    for study in (forbidden, failed):
        assert study.trials[11].state == "measured"
        assert isinstance(doubts(study)[-1], Reinstated)
        assert first_difference(study.settings, study.events) == ""


def test_a_repeat_that_cannot_be_paid_is_not_asked_for() -> None:
    def cost(region: zn.Region) -> float:
        return 50.0 if region.bounds[0, 0] < 0.5 else 1.0

    study = made(budget=90.0, cost=cost)
    for _ in range(12):
        trial = study.ask(within=[(0.5, 1.0)])
        study.tell(trial, hill(trial.region))
    trial = study.ask(within=[(0.0, 0.5)])
    study.tell(trial, 99.0)
    assert study.trials[trial.number].state == "set aside"
    assert not study.ask().region.overlaps(trial.region)
    study.extend(50)
    assert study.ask().region == trial.region


def test_of_two_wild_ones_the_one_further_off_goes_and_a_third_decides() -> None:
    study = play(made(), 13, {11: 6.0, 12: -20.0})
    assert [study.trials[number].state for number in (11, 12)] == ["set aside", "set aside"]
    assert study.ask().region == study.trials[11].region
    study = play(made(), 14, {11: 6.0, 12: -20.0, 13: 6.1})
    assert [study.trials[number].state for number in (11, 12, 13)] == ["measured", "set aside", "measured"]


def told_again(study: zn.Study, value: float) -> zn.Trial:
    """Tell the next trial, which repeats the last one, a value."""
    trial = study.ask()
    assert trial.region == study.trials[trial.number - 1].region
    study.tell(trial, value)
    return trial


@pytest.mark.parametrize(("learned", "most", "rounds"), [(False, 2, 14), (True, 2, 14), (False, 3, 11)])
def test_a_repeat_further_off_does_not_count_where_none_may_follow(learned: bool, most: int, rounds: int) -> None:
    study = play(made(learned=learned, max_replicates=most), rounds, {})
    study.tell(study.ask(), 6.0)
    last = told_again(study, -20.0)
    assert last.replicate == most
    assert [trial.state for trial in study.trials[-2:]] == ["set aside", "set aside"]
    assert first_difference(study.settings, study.events) == ""


def test_what_is_far_is_known_however_many_errors_were_found() -> None:
    errors = {(False, at): SetAside(at, False, True, False, 0.0, 1.0) for at in range(60)}
    state: Any = SimpleNamespace(set_aside=errors, ledger=SimpleNamespace(total=6))
    assert _caution(state) == 1.0


def test_a_high_reading_is_not_lost_to_a_repeat_that_is_wrong_itself() -> None:
    study = play(made(), 14, {}, lambda region: 0.0)
    first = study.ask(within=study.space.region([(0.296875, 0.3125)]))
    study.tell(first, 1.0)
    second = told_again(study, -0.7)
    assert study.trials[first.number].state == "set aside"  # and waits: a second repeat is asked for
    third = told_again(study, 1.1)
    assert study.trials[first.number].state == "measured"
    assert study.trials[third.number].state == "measured"
    assert study.trials[second.number].state == "set aside"


def test_a_repeat_as_expected_decides_alone() -> None:
    study = play(made(), 14, {}, lambda region: 0.0)
    first = study.ask(within=study.space.region([(0.296875, 0.3125)]))
    study.tell(first, 1.0)
    told_again(study, 0.0)
    assert not [doubt for doubt in study._state.set_aside.values() if doubt.waits]
    assert study.trials[first.number].state == "set aside"


def test_a_repeat_that_may_still_agree_does_not_decide_alone() -> None:
    study = play(made(), 14, {}, lambda region: 0.0)
    first = study.ask(within=study.space.region([(0.296875, 0.3125)]))
    study.tell(first, 0.7)
    told_again(study, 0.1)
    told_again(study, 0.5)
    assert study.trials[first.number].state == "measured"


@pytest.mark.parametrize("errors", [{}, {8: 6.0}])
def test_smaller_deviations_are_doubted_where_errors_were_found(errors: dict[int, float]) -> None:
    study = play(made(), 20, errors, lambda region: 0.0)
    trial = study.ask()
    predicted = study.predict(trial.region)
    value = predicted.mean + 4.0 * float(np.hypot(predicted.std, NOISE))
    study.tell(trial, value)
    assert study.trials[trial.number].state == ("set aside" if errors else "measured")


def test_models_too_sure_of_little_noise_do_not_doubt_what_is_as_far_off_as_other_readings() -> None:
    study = made(noise=0.005, gross_errors=True)
    for number in range(24):
        trial = study.ask()
        study.tell(trial, 0.1 * (-1) ** number)
    assert not doubts(study)


def test_a_person_may_set_aside_and_reinstate() -> None:
    study = play(made(), 12, {})
    before = study.predict([(0.6, 0.7)])
    study.set_aside(3, note="the lamp flickered", by="Anna")
    assert (study.trials[3].state, study.trials[3].note) == ("set aside", "the lamp flickered")
    assert (study.measured, study.remaining, int(study.tree.count.sum())) == (12, 28, 12)
    changed = len(study.events)
    study.set_aside(3)
    assert len(study.events) == changed
    study.reinstate(3, by="Anna")
    study.reinstate(3)
    assert len(study.events) == changed + 1
    assert study.predict([(0.6, 0.7)]) == pytest.approx(before)
    assert [row for row in study.table(history=True)["who"] if row == "Anna"]
    seen = study.observe([(0.5, 0.6)], 7.0)
    study.set_aside(seen)
    assert study.predict([(0.6, 0.7)]) == pytest.approx(before)
    assert study.suspects()["state"].count("set aside") == 1
    with pytest.raises(TrialError):
        study.set_aside(study.ask())


def test_a_reinstated_reading_is_believed_until_it_is_corrected() -> None:
    study = play(made(), 14, {9: 6.0})
    study.reinstate(9)
    play(study, 8, {})
    assert study.trials[9].state == "measured"
    states = []
    for value in (6.5, hill(study.trials[9].region)):
        study.correct(9, value)
        states.append(study.trials[9].state)
    assert states == ["set aside", "measured"]


def test_a_reading_that_was_set_aside_may_be_retracted_and_told_again() -> None:
    study = play(made(), 14, {9: 6.0})
    study.retract(9)
    assert (study.measured, study.trials[9].state) == (13, "retracted")
    study.tell(9, hill(study.trials[9].region))
    assert (study.measured, study.trials[9].state) == (14, "measured")
    assert not study._state.set_aside


def test_if_all_is_set_aside_nothing_is_known() -> None:
    study = play(made(learned=True), 3, {})
    for number in range(3):
        study.set_aside(number)
    assert study._state.ledger.total == 0
    assert study.ask().number == 3
    study.reinstate(1)
    assert study._state.ledger.total == 1


@pytest.mark.parametrize("learned", [False, True])
def test_files_replays_and_copies_agree_and_verify_decides_it_again(learned: bool, tmp_path: Path) -> None:
    study = play(made(learned=learned), 24, {5: -3.0, 9: 6.0, 20: 9.0})
    study.set_aside(3)
    study.save(tmp_path / "a.db")
    kept = study._state.set_aside
    assert len(kept) >= 3
    again = zn.Study.replay(study.settings, study.events)
    assert again.recommend() == study.recommend()
    opened, pickled = zn.Study.open(tmp_path / "a.db"), pickle.loads(pickle.dumps(study))
    first = copy.deepcopy(study)
    for other in (again, opened, pickled):
        study = copy.deepcopy(first)
        assert other._state.set_aside == kept
        assert other._state.believed == study._state.believed
        assert other.ask().region == study.ask().region
        assert other.predict([(0.6, 0.7)]) == pytest.approx(study.predict([(0.6, 0.7)]))
    assert first_difference(study.settings, study.events) == ""
    forged = [
        tuple(event for event in events if not (isinstance(event, SetAside) and event.by_rule))
        for events in study.events
    ]
    assert first_difference(study.settings, forged) != ""


def test_clean_campaigns_walk_as_they_did() -> None:
    for seed in range(3):
        on, off = (play(made(gross_errors=rule), 30, {}, seed=seed) for rule in (None, False))
        if not doubts(on):
            assert on.events[1:] == off.events[1:]


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(InvalidInput, match="empirical means"):
        made(policy=EMPIRICAL, gross_errors=True)
    with pytest.raises(InvalidInput, match="gross_errors must be True or False"):
        made(gross_errors="yes")
    with pytest.raises(InvalidInput, match="empirical means"):
        made(policy=EMPIRICAL, kernel=None).suspects()
    assert not made(noise=0.0)._state.problem.doubts_readings


def test_another_policy_may_ask_again_too() -> None:
    study = play(made(policy=zn.GPOO(), gross_errors=True), 30, {20: 9.0})
    assert study.trials[20].state == "set aside"


def test_deviations_are_those_of_a_posterior_without_the_reading() -> None:
    study = made(gross_errors=False)
    play(study, 10, {})
    for value, sem in ((0.3, None), (0.5, 0.3), (0.1, 0.05)):
        study.observe(study.trials[4].region, value, sem=sem)
    table: dict[str, Any] = {**study.suspects().columns}
    readings: list[Any] = [*study.trials, *study.observations]
    for number, seen, mean, std, sigmas in zip(
        table["number"], table["observation"], table["expected"], table["std"], table["sigmas"], strict=True
    ):
        reading = readings[number if seen is None else len(study.trials) + seen]
        without = made(gross_errors=False)
        for other in readings:
            if other is not reading:
                without.observe(other.region, other.value, sem=other.sem)
        predicted = without.predict(reading.region)
        spread = np.hypot(predicted.std, NOISE if reading.sem is None else reading.sem)
        assert mean == pytest.approx(predicted.mean, abs=1e-8)
        assert std == pytest.approx(spread, rel=1e-8)
        assert sigmas == pytest.approx((reading.value - predicted.mean) / spread, rel=1e-6)
    distances = [abs(sigmas) for sigmas in table["sigmas"]]
    assert distances == sorted(distances, reverse=True)


SPACES: dict[str, Any] = {
    "line": zn.Box([(0, 1)], smallest=1 / 16),
    "plane": zn.Box([(0, 1), (0, 1)], smallest=1 / 8),
    "ring": zn.Box({"a": (0, 1)}, periodic=["a"], smallest=1 / 12),
    "mixed": zn.Product({"x": (0, 1), "dye": ["red", "green", "blue"]}),
    "points": zn.Points(np.linspace(0, 1, 24)[:, None]),
}


@pytest.mark.tries
@pytest.mark.parametrize("space", list(SPACES))
def test_stable_is_never_wrong_about_a_deletion_made_by_hand(space: str) -> None:
    deletions = tries(24, 250)
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        given: dict[str, Any] = {} if seed % 2 == 0 else {"noise": 0.3}
        study = zn.Study(SPACES[space], budget=20, rng=seed, gross_errors=False, **given)
        for _ in range(12):
            trial = study.ask()
            study.tell(trial, float(rng.standard_normal()) * 0.4 + (trial.node[1] % 3 == 0))
        question: dict[str, Any] = {"on_grid": True} if seed % 3 == 0 else {}
        best = study.recommend(**question)
        hanging = set(best.hangs_on)
        assert best.stable == (not hanging)
        for number in range(12):
            other = _without(study, number).recommend(**question)
            assert (suspects.overlap(best.region, other.region) < suspects.HALF) == (f"trial {number}" in hanging)
            deletions -= 1
        if deletions <= 0:
            return


def _without(study: zn.Study, number: int) -> zn.Study:
    """Return the study without a reading, under the same models with the same weights, built anew."""
    state = study._state
    slot = state.measured_slot(state.asked[number].row)
    kept = [
        (trial.value, state.problem.noise.of_reward(state.relative_noise[state.asked[trial.number].row], None))
        for trial in study.trials
        if trial.number != number and state.measured_slot(state.asked[trial.number].row) == slot
    ]
    ledger = state.ledger.with_rewards(slot, [(value or 0.0, *noise, False) for value, noise in kept])
    after, belief = state.draft(), state.belief
    models = [
        WeightedModel(weight, member.model)
        for weight, member in zip(belief.weights.tolist(), belief.members, strict=True)
    ]
    after.posterior = state.posterior.from_scratch(None, ledger)
    after.posterior._progress = (
        Mixture.built(state.problem.frame, models, belief.zero, state.tracked, ledger),
        (),
    )
    twin = made()
    twin._state = after
    return twin


def test_an_answer_made_by_one_reading_hangs_on_it() -> None:
    study = play(made(gross_errors=False), 16, {12: 9.0})
    best = study.recommend()
    assert not best.stable
    assert "trial 12" in best.hangs_on
    assert pickle.loads(pickle.dumps(best)).hangs_on == best.hangs_on
    assert recommend.recommend(made(policy=EMPIRICAL, kernel=None), None, 0.1)[0].stable


@pytest.mark.parametrize("space", list(SPACES))
def test_the_rule_works_on_every_kind_of_space(space: str) -> None:
    study = zn.Study(SPACES[space], budget=30, rng=2)
    rng = np.random.default_rng(4)
    for _ in range(30):
        trial = study.ask()
        noisy = 0.05 * float(rng.standard_normal()) + float(trial.region.weight)
        study.tell(trial, 300.0 if trial.number == 14 else noisy)
    assert study.trials[14].state == "set aside"
    assert first_difference(study.settings, study.events) == ""
