"""Mistakes are mended: whatever was corrected or retracted is as if it had been told rightly, or never."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from benchmarks.torture import forked
from eventful_studies import POLICIES, digest, lived, mended
from fingerprint import fingerprint, print_of
from kinds import KINDS, allowed, kernels
from small_studies import make_study
from zonal.engine import commands, select
from zonal.engine.events import Closed, Corrected, Fitted, ModelWarned, Observed, Retracted, Told, Unblocked
from zonal.engine.settings import Problem
from zonal.engine.state import State
from zonal.storage.verify import first_difference
from zonal.study.export import exported, imported

pytestmark = pytest.mark.one_in(2)

WRONG = 73.0


def mistaken(study: zn.Study) -> zn.Study:
    """Return a study with mistakes of every kind, all of them mended, some before other things happened."""
    mended(lived(study, 7))
    late = study.ask()
    study.tell(late, WRONG)
    study.ask()
    study.correct(late, -0.2, sem=0.4, note="a comma")
    study.tell(study.ask(), 0.1)
    study.correct(late, 0.2)
    if not isinstance(study.settings.policy, zn.StoOO):
        seen = study.observe(study.space.cell((1, 1)), WRONG)
        study.retract(study.observe(study.space.cell((2, 0)), WRONG, sem=0.3))
        study.correct(seen, 0.1)
    study.tell(study.ask(), WRONG)
    study.correct(study.trials[-1], 0.4)
    return study


def told_rightly(study: zn.Study) -> State:
    """Return what a study of the same asks and splits knows in which every value was told as it now is.

    What was retracted was pending until then.
    """
    now = {one.number: one for one in study.trials if one.value is not None}
    seen = {one.number: one for one in study.observations}
    first, *others = study.events
    state, observed = State.begin(Problem(study.settings), first), 0
    for event in others:
        state = state.draft()
        for fact in event:
            match fact:
                case Told():
                    if fact.number in now:
                        one: Any = now[fact.number]
                        state.apply_event(fact._replace(value=one.value, sem=one.sem, note=one.note))
                        commands._learn(state, state.ledger.total - 1)
                case Observed():
                    if observed in seen:
                        one = seen[observed]
                        state.apply_event(fact._replace(value=one.value, sem=one.sem))
                        commands._learn(state, state.ledger.total - 1)
                    observed += 1
                case Retracted() if not fact.observed:
                    state.apply_event(Closed(fact.number, "failed", False))
                    state.apply_event(Unblocked((fact.number,)))
                case Fitted() | ModelWarned() | Corrected() | Retracted():
                    pass
                case _:
                    state.apply_event(fact)
        state.commit()
    return state


def the_same(study: zn.Study, wanted: State, near: float) -> None:
    """Check that a study knows, counts and asks what a state does."""
    state = study._state
    for name in ("count", "trials", "averaged", "expanded", "askable", "first_child", "forbidden"):
        assert np.array_equal(getattr(state.posterior_table(), name), getattr(wanted.posterior_table(), name)), (
            name
        )
    known = np.isfinite(wanted.posterior_table().std)
    assert np.array_equal(known, np.isfinite(state.posterior_table().std))
    for name in ("mean", "std", "noise"):
        one, two = getattr(state.posterior_table(), name)[known], getattr(wanted.posterior_table(), name)[known]
        np.testing.assert_allclose(one, two, rtol=near, atol=near, err_msg=name)
    rows = wanted.posterior_table().averaged.nonzero()[0]
    ours, theirs = state.posterior_table().own_rewards(rows), wanted.posterior_table().own_rewards(rows)
    np.testing.assert_allclose(ours, theirs, rtol=near, atol=near)
    assert (state.measured, state.budget, state.next_stream()) == (
        wanted.measured,
        wanted.budget,
        wanted.next_stream(),
    )
    assert (list(state.pending), state.has_sems) == (list(wanted.pending), wanted.has_sems)
    assert (state.blocked, state.failed_trials) == (wanted.blocked, wanted.failed_trials)
    after, then = select.ask(state, ""), select.ask(wanted, "")
    assert after.asked[-1] == then.asked[-1]
    assert after.structure.size == then.structure.size


@pytest.mark.one_in(11)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_mended_is_as_if_it_had_been_told_rightly(kind: str, policy: str) -> None:
    own = KINDS[kind]
    given: dict[str, Any] = {"feedback": allowed(own)[-1], "policy": POLICIES[policy](), "noise": 0.2, "rng": 3}
    kernel = next(iter(kernels(own).values())).ours
    given["gross_errors"] = False  # what is set aside depends on what was known then
    study = mistaken(zn.Study(own.space, budget=24, kernel=kernel, **given))
    wanted = told_rightly(study)
    the_same(study, wanted, 1e-9)
    again = zn.Study.replay(study.settings, study.events)
    assert fingerprint(again) == fingerprint(study)
    for other in (zn.Study.replay(study.settings, study.events, batch=True), imported(exported(study).encode())):
        the_same(other, wanted, 1e-9)
        assert (other.trials, other.observations) == (study.trials, study.observations)
    assert first_difference(study.settings, study.events) == ""


@pytest.mark.one_in(9)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_mended_is_learned_as_if_it_had_been_told_rightly(kind: str, tmp_path: Path) -> None:
    study = zn.Study(KINDS[kind].space, budget=24, rng=3, gross_errors=False)
    study.save(tmp_path / "a.db")
    mistaken(study)
    assert not study.refit()  # a correction has learned all there is
    wanted = told_rightly(study)
    wanted = commands.refit(wanted) or wanted
    for own in (study, zn.Study.open(tmp_path / "a.db"), zn.Study.replay(study.settings, study.events)):
        the_same(own, wanted, 1e-7)
        assert (own.trials, own.observations) == (study.trials, study.observations)
    assert first_difference(study.settings, study.events) == ""


@pytest.mark.parametrize("given", [{}, {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1}, {"noise": 0.1, "mean": 0.0}])
def test_with_everything_retracted_a_study_knows_what_it_knew_at_first(given: dict[str, Any]) -> None:
    study, fresh = (zn.Study([(0, 1)], budget=9, rng=0, **given) for _ in range(2))
    for value in (0.3, 40.0, 0.1, 0.2):
        study.tell(study.ask(), value)
    study.retract(study.observe([(0.1, 0.2)], 5.0))
    for number in (1, 0, 3, 2):
        study.retract(number)
    assert (study.measured, study.remaining, study.model) == (0, 9, fresh.model)
    size = len(fresh.tree)
    np.testing.assert_array_equal(study.tree.mean[:size], fresh.tree.mean)
    np.testing.assert_array_equal(study.tree.std[:size], fresh.tree.std)
    np.testing.assert_array_equal(study.tree.noise[:size], fresh.tree.noise)
    assert study.ask().node == fresh.ask().node
    for _ in range(4):
        study.tell(study.ask(), 0.2)
    assert first_difference(study.settings, study.events) == ""


# What a correction is.


def test_what_is_left_out_stays_and_the_same_again_does_nothing() -> None:
    study = make_study()
    study.tell(study.ask(), 7.3, sem=0.2, note="plate 3")
    study.correct(0, 0.73)
    (record,) = study.trials
    assert (record.state, record.value, record.sem, record.note) == ("measured", 0.73, 0.2, "plate 3")
    before = digest(study)
    study.correct(record, 0.73)
    study.correct(0, 0.73, sem=0.2, note="plate 3")
    study.tell(0, 0.73, sem=0.2)
    assert digest(study) == before
    study.correct(0, 0.73, note="plate 4")
    study.correct(0, 0.73, sem=0.1, by="Anna")
    (record,) = study.trials
    assert (record.value, record.sem, record.note) == (0.73, 0.1, "plate 4")
    last = study.events[-1][0]
    assert isinstance(last, Corrected)
    assert last.by == "Anna"


def test_splits_counts_looks_and_rounds_stay_at_a_correction() -> None:
    study = make_study(policy=zn.GPOO(zn.GeometricDelta(2.0, 0.6), h_max=5))
    for _ in range(6):
        trial = study.ask()
        study.tell(trial, float(trial.region.center[0]))
    before, pending = study.tree, study.ask()
    study.correct(0, -50.0)
    for name in ("depth", "index", "count", "expanded", "askable"):
        np.testing.assert_array_equal(getattr(study.tree, name), getattr(before, name))
    assert (study.measured, study.pending) == (6, (pending,))
    assert [type(fact) for fact in study.events[-1]] == [Corrected]


def test_a_retracted_trial_gives_back_its_look_and_its_budget_and_may_still_be_told() -> None:
    study = make_study(max_replicates=1, budget=2, policy=zn.UniformGrid(level=1))
    first, second = study.ask(2)
    study.tell(first, 0.4)
    study.tell(second, 0.6)
    row = int(np.flatnonzero(study.tree.index[1:] == first.node[1])[0]) + 1
    assert not study.tree.askable[row]
    draw = study._state.next_stream()
    study.retract(first, "spilled")
    record = study.trials[0]
    assert (record.state, record.value, record.sem, record.note) == ("retracted", None, None, "spilled")
    assert (study.measured, study.remaining, int(study.tree.count[row])) == (1, 1, 0)
    assert study.tree.askable[row]
    assert np.isnan(study.tree.reward[row])
    assert study._state.next_stream() == draw
    again = study.ask()
    assert (again.node, again.replicate, again.number) == (first.node, 1, 2)
    study.cancel(again)
    study.tell(first, 0.5)
    assert (study.measured, study.trials[0].value) == (2, 0.5)
    study.retract(first)
    study.tell(study.ask(), 0.1)
    study.tell(first, 0.6)  # with the budget spent
    assert study.trials[0].state == "retracted"
    assert [one.value for one in study.observations] == [0.6]


def test_look_numbers_stay_and_a_node_split_on_a_retracted_trial_is_not_recommended() -> None:
    study = make_study(policy=zn.GPOO(zn.GeometricDelta(2.0, 0.6), h_max=5))
    study.tell(study.ask(), 0.5)
    assert study.tree.first_child[0] == 1
    study.tell(study.ask(), 0.9)
    deeper = study.recommend().node
    study.retract(1)
    assert deeper == (1, 0)
    assert study.recommend().node == (0, 0)
    grid = make_study(policy=zn.UniformGrid(level=0), noise=1.0)
    trials = grid.ask(3)
    for trial in trials:
        grid.tell(trial, 0.1)
    grid.retract(trials[0])
    assert [trial.replicate for trial in grid.trials] == [1, 2, 3]
    assert grid.ask().replicate == 3


def test_an_observation_is_corrected_and_retracted_by_its_record() -> None:
    study = make_study()
    first = study.observe([(0.1, 0.3)], 7.0, sem=0.1)
    second = study.observe([(0.1, 0.3)], 0.5, feedback=zn.Center())
    assert (first.number, second.number, second.region.feedback) == (0, 1, zn.Center())
    assert study.observations == (first, second)
    study.correct(first, 0.7, note="a comma")
    one, other = study.observations
    assert (one.number, one.value, one.sem, one.note, other) == (0, 0.7, 0.1, "a comma", second)
    study.retract(other)
    assert [seen.number for seen in study.observations] == [0]
    third = study.observe([(0.5, 0.6)], 0.2)
    assert third.number == 2
    alone = make_study()
    alone.observe([(0.1, 0.3)], 0.7, sem=0.1)
    alone.observe([(0.5, 0.6)], 0.2)
    spots = [[(0.1, 0.3)], [(0.4, 0.8)]]
    np.testing.assert_allclose(study.predict(spots).mean, alone.predict(spots).mean, rtol=0, atol=1e-12)
    assert study.measured == study.tree.count.sum() == 0


def refused() -> zn.Study:
    study = make_study()
    told, lost, *_ = study.ask(4)
    study.tell(told, 0.5)
    study.fail(lost)
    study.cancel(2)
    study.retract(study.observe([(0, 0.5)], 0.3))
    return study


SEEN = zn.Study([(0, 1)], budget=3, noise=0.1).observe([(0, 0.5)], 0.3)
REFUSED: dict[str, tuple[Callable[[zn.Study], object], type[Exception], str]] = {
    "failed": (lambda study: study.correct(1, 0.1), zn.TrialError, "trial 1 was failed, so there is no value"),
    "cancelled": (lambda study: study.retract(2), zn.TrialError, "trial 2 was cancelled"),
    "pending": (lambda study: study.correct(3, 0.1), zn.TrialError, "trial 3 is pending"),
    "never asked": (lambda study: study.correct(9, 0.1), zn.TrialError, "is not a trial of this study"),
    "another's": (lambda study: study.correct(SEEN, 0.1), zn.TrialError, "is not an observation of this study"),
    "a value": (lambda study: study.correct(0, np.nan), zn.InvalidInput, "a measured value must be finite"),
    "a sem": (lambda study: study.correct(0, 0.5, sem=-1.0), zn.InvalidInput, "sem must not be negative"),
    "a note": (lambda study: study.correct(0, 0.4, note=None), zn.InvalidInput, "a note must be text"),  # type: ignore[arg-type]
    "a reason": (lambda study: study.retract(0, 7), zn.InvalidInput, "a note must be text"),  # type: ignore[arg-type]
    "a name": (lambda study: study.retract(0, by=7), zn.InvalidInput, "by must be text"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_value_is_not_corrected(name: str) -> None:
    study = refused()
    before = fingerprint(study)
    call, error, says = REFUSED[name]
    with pytest.raises(error, match=says):
        call(study)
    assert fingerprint(study) == before


def test_what_was_retracted_is_not_retracted_again() -> None:
    study = make_study()
    study.tell(study.ask(), 0.5)
    seen = study.observe([(0, 0.5)], 0.3)
    for what, says in ((0, "trial 0 was retracted"), (seen, "observation 0 was retracted")):
        study.retract(what)
        before = fingerprint(study)
        for call in (lambda own: study.correct(own, 0.1), study.retract):
            with pytest.raises(zn.TrialError, match=says):
                call(what)
        assert fingerprint(study) == before
    with pytest.raises(zn.TrialError, match="was retracted and can no longer be failed"):
        study.fail(0)


def test_a_correction_without_noise_may_contradict_itself_only() -> None:
    study = make_study(noise=0.0, policy=zn.UniformGrid(level=0))
    first, second, third = study.ask(3)
    study.tell(first, 7.0)
    study.correct(first, 0.7)
    study.tell(second, 0.7)
    before = fingerprint(study)
    with pytest.raises(zn.InvalidInput, match="contradicts"):
        study.correct(first, 0.8)
    assert fingerprint(study) == before
    study.correct(first, 0.8, sem=0.1)
    study.retract(second)
    study.tell(third, 0.9)
    assert study.predict([(0, 1)]).mean == pytest.approx(0.9)


def test_a_doubt_that_a_mistake_raised_may_be_raised_again() -> None:
    study = make_study(policy=zn.UniformGrid(level=0))
    for number in range(11):
        study.tell(study.ask(), 0.1 * (number % 2))
    with pytest.warns(zn.ModelWarning, match="scatter"):
        study.tell(study.ask(), 9.0)
    study.correct(11, 0.1)
    for number in range(12, 23):
        study.tell(study.ask(), 0.1 * (number % 2))
    with pytest.warns(zn.ModelWarning, match="scatter"):
        study.tell(study.ask(), 9.0)


# What is kept of it.


def test_the_history_shows_what_was_said_before_and_by_whom(tmp_path: Path) -> None:
    study = zn.Study.create(tmp_path / "a.db", [(0, 1)], budget=9, noise=0.1, value_unit="Jy")
    for value in (7.3, 0.4):
        study.tell(study.ask(), value)
    seen = study.observe([(0.2, 0.3)], 5.0)
    gone = study.observe([(0.2, 0.3)], 6.0)
    study.correct(0, 0.73, note="a comma", by="Anna")
    study.retract(1, note="spilled", by="Ben")
    study.correct(seen, 0.5, by="Anna")
    study.retract(gone)
    study.ask()
    table = study.table(history=True)
    assert table.title == "3 trials and 2 observations"
    assert table["number"] == [0, 0, 1, 1, 2, None, None, None, None]
    assert table["observation"] == [None] * 5 + [0, 0, 1, 1]
    assert table["value [Jy]"] == [7.3, 0.73, 0.4, None, None, 5.0, 0.5, 6.0, None]
    states = [
        "was measured",
        "measured",
        "was measured",
        "retracted",
        "pending",
        "was observed",
        "observed",
        "was observed",
    ]
    assert table["state"] == [*states, "retracted"]
    assert table["note"] == ["", "a comma", "", "spilled", "", "", "", "", ""]
    assert table["who"][1:4:2] == ["Anna", "Ben"]
    assert str(table["who"][8]).endswith(os.uname().nodename)
    times = [row.time for row in study._journal.rows()]  # type: ignore[union-attr]
    assert table["when"][1] == times[7][:19].replace("T", " ")
    now = study.table()
    assert now["value [Jy]"] == [0.73, None, None, 0.5]
    assert now["observation"] == [None, None, None, 0]
    assert not {"who", "when"} & set(now.columns)
    assert "when" not in zn.Study.replay(study.settings, study.events).table(history=True).columns


@pytest.mark.parametrize("policy", [None, zn.StoOO(zn.GeometricDelta(1.0, 0.6))])
def test_what_is_corrected_while_others_are_at_it_is_taken_in(tmp_path: Path, policy: Any) -> None:
    path = tmp_path / "a.db"
    study = zn.Study.create(path, [(0, 1)], budget=9, policy=policy)
    for _ in range(4):
        study.tell(study.ask(), 7.3)

    def elsewhere() -> None:
        other = zn.Study.open(path)
        other.correct(1, 0.73)
        other.retract(2)

    assert os.waitpid(forked(elsewhere), 0)[1] == 0
    study.ask()
    assert [one.value for one in study.trials] == [7.3, 0.73, None, 7.3, None]
    fresh = zn.Study.replay(study.settings, study.events)
    assert print_of(fresh._state) == print_of(study._state)


def test_a_corrected_value_told_again_with_its_time_changes_nothing() -> None:
    study = zn.Study([(0, 1)], budget=20.0, times=[1, 2], kernel=zn.RBF(1.0, 0.2), noise=0.1)
    trial = study.ask()
    study.tell(trial, 1.0, time=1.5)
    study.correct(trial, 2.0)
    events = study.events
    study.tell(trial, 2.0, time=1.5)
    assert study.events == events
    with pytest.raises(zn.TrialError, match="already"):
        study.tell(trial, 2.0, time=1.75)
