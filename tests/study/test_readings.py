"""Counts, proportions and limits: told, kept, corrected, replayed and stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import zonal as zn
from zonal.engine.events import Approximated, Told
from zonal.io.tables import parse_table
from zonal.storage.verify import first_difference
from zonal.study.export import exported, imported
from zonal.study.operations import together
from zonal.study.sheets import told

KERNEL = zn.RBF(9.0, 0.3)
BOX = zn.Box([(0, 1)], smallest=1 / 16)


def rate(x: np.ndarray) -> np.ndarray:
    return np.asarray(4 + 3 * np.sin(6 * x[:, 0]))


def counted(n: int = 8, **settings: Any) -> zn.Study:
    """Return a study of counts with everything learned, after some of its measurements."""
    likelihood = zn.Counts(exposure=2)
    measure = zn.simulate(rate, zn.Mean(), rng=1, likelihood=likelihood)
    study = zn.Study(BOX, budget=12, likelihood=likelihood, rng=0, **settings)
    study.optimize(measure, n=n)
    return study


def limited(**settings: Any) -> zn.Study:
    """Return a study with limits on both sides and numbers between."""
    study = zn.Study(BOX, budget=12, rng=0, **{"kernel": KERNEL, "noise": 0.3, "mean": 4.0, **settings})
    measure = zn.simulate(rate, zn.Mean(), 0.3, rng=2, below=3.5, above=6.0)
    for _ in range(9):
        trial = study.ask()
        study.tell(trial, measure(trial.region))
    return study


STUDIES = {
    "counts": counted,
    "counts, model given": lambda: counted(kernel=KERNEL, mean=4.0),
    "counts, minimized": lambda: counted(direction="minimize"),
    "limits": limited,
    "limits, all learned": lambda: limited(kernel=None, noise=None, mean=None),
    "limits, minimized": lambda: limited(direction="minimize"),
}


@pytest.fixture(scope="module", params=STUDIES)
def study(request: pytest.FixtureRequest) -> zn.Study:
    made: zn.Study = STUDIES[request.param]()  # type: ignore[no-untyped-call]
    made.correct(1, 5)
    made.retract(2)
    made.observe([(0.5, 0.75)], 3, exposure=1.5 if made.settings.likelihood else None)
    return made


def test_a_study_with_such_readings_is_replayed_to_the_last_bit(study: zn.Study) -> None:
    again = zn.Study.replay(study.settings, study.events)
    assert again.recommend() == study.recommend()
    assert np.array_equal(again.tree.mean, study.tree.mean)
    assert np.array_equal(again.tree.std, study.tree.std)
    assert any(isinstance(event, Approximated) for transaction in study.events for event in transaction)


def test_it_is_decided_again_alike(study: zn.Study) -> None:
    assert first_difference(study.settings, study.events) == ""


def test_a_file_and_an_export_hold_it(study: zn.Study, tmp_path: Path) -> None:
    copy = zn.Study.replay(study.settings, study.events)
    copy.save(tmp_path / "a.db")
    stored = zn.Study.open(tmp_path / "a.db"), copy.events  # a file says what was recommended after each trial
    carried = imported(exported(study).encode()), study.events
    for other, events in (stored, carried):
        assert other.trials == study.trials
        assert other.events == events
        np.testing.assert_allclose(other.tree.mean, study.tree.mean, rtol=1e-8)


def test_the_history_keeps_what_was_read() -> None:
    study = counted()
    assert all(trial.value == int(trial.value or 0) and trial.exposure == 2 for trial in study.trials)
    assert [name for name in ("limit", "exposure") if name in study.table().columns] == ["exposure"]
    limits = {trial.limit for trial in limited().trials}
    assert limits == {"", "below", "above"}


def test_a_study_without_such_readings_writes_its_events_as_before() -> None:
    study = zn.Study(BOX, budget=3, kernel=KERNEL, noise=0.1)
    study.tell(study.ask(), 0.7)
    text = exported(study)
    assert "reading" not in text
    assert "likelihood" not in text
    assert "Approximated" not in text


def test_no_statement_about_a_rate_is_negative() -> None:
    study = zn.Study(BOX, budget=8, likelihood=zn.Counts(), rng=0)
    study.optimize(lambda region: 1.0 if region.center[0] > 0.8 else 0.0)
    predicted = study.predict()
    low, high = predicted.interval(0.9)
    assert (predicted.mean > 0).all()
    assert (study.tree.mean > 0).all()
    assert (low >= 0).all()
    assert (high > low).all()
    assert study.recommend().interval()[0] >= 0
    assert study.probability(BOX.cell((4, 0)), above=0.0) == 1
    assert study.probability(BOX.cell((4, 0)), below=-1.0) == 0


def test_one_count_gives_the_moments_that_integration_gives() -> None:
    study = zn.Study([(0, 1)], budget=3, kernel=zn.RBF(4.0, 1e3), mean=3.0, likelihood=zn.Counts(), rng=0)
    study.tell(study.ask(), 7, exposure=2)  # the function is constant, so every average is the same number
    rates = np.linspace(0, 20, 400_001)
    weights = stats.poisson.pmf(7, 2 * rates) * stats.norm.pdf(rates, 3, 2)
    mean = float(np.average(rates, weights=weights))
    std = float(np.sqrt(np.average((rates - mean) ** 2, weights=weights)))
    assert study.predict([(0, 1)]) == pytest.approx((mean, std), rel=5e-3)  # cut at 0


def test_several_counts_agree_with_their_sum() -> None:
    apart, joint = (
        zn.Study([(0, 1)], budget=9, kernel=zn.RBF(4.0, 1e3), mean=3.0, likelihood=zn.Counts(), rng=0)
        for _ in range(2)
    )
    for count in (3, 0, 5, 2, 4):
        apart.tell(apart.ask(), count)
    joint.tell(joint.ask(), 14, exposure=5)
    (mean, std), (wanted, spread) = apart.predict([(0, 1)]), joint.predict([(0, 1)])
    assert mean == pytest.approx(wanted, rel=0.01)
    assert std == pytest.approx(spread, rel=0.08)


def test_a_limit_is_known_to_be_one() -> None:
    def stated(**reading: float) -> tuple[float, float]:
        study = zn.Study([(0, 1)], budget=3, kernel=zn.RBF(1.0, 1e3), noise=0.1, mean=0.0)
        study.tell(study.ask(), **reading)  # type: ignore[arg-type]
        return study.predict([(0, 1)])

    mean, std = stated(below=0.0)
    assert (mean, std) == pytest.approx((-np.sqrt(2 / np.pi / 1.01), np.sqrt(1 - 2 / np.pi / 1.01)), rel=1e-3)
    assert stated(above=0.0) == pytest.approx((-mean, std), rel=1e-3)
    assert stated(below=9.0) == pytest.approx((0.0, 1.0), abs=1e-6)  # it says nothing


def test_a_limit_may_be_written_as_text_and_told_again() -> None:
    study = zn.Study(BOX, budget=3, kernel=KERNEL, noise=0.1)
    for text, limit in (("<0.5", "below"), (">= 7", "above"), ("≤ 2", "below")):
        trial = study.ask()
        study.tell(trial, text)
        before = len(study.events)
        study.tell(trial, text)
        assert len(study.events) == before
        assert study.trials[-1].limit == limit
    with pytest.raises(zn.TrialError, match=r"already has the value <0\.5"):
        study.tell(0, 0.5)
    study.correct(0, 0.31)
    assert (study.trials[0].value, study.trials[0].limit) == (0.31, "")
    study.correct(0, below=0.5)
    assert study.trials[0].limit == "below"


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ({}, "a measured value must be"),
        ({"value": 1.0, "below": 2.0}, "one value or one limit"),
        ({"value": "<"}, "a limit must be a number"),
        ({"value": 1.0, "exposure": 2.0}, "this reading has no exposure"),
        ({"below": 1.0, "minus": [(0.5, 1)], "sem": 0.1}, "not of a slope or a difference"),
        ({"below": float("nan")}, "must be finite"),
    ],
)
def test_a_reading_that_cannot_be_is_refused(reading: dict[str, Any], message: str) -> None:
    study = zn.Study(BOX, budget=3, kernel=KERNEL, noise=0.1)
    trial, before = study.ask(), len(study.events)
    with pytest.raises(zn.InvalidInput, match=message):
        study.tell(trial, **reading)
    assert len(study.events) == before


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ({"value": 1.5}, "a count must be a whole number"),
        ({"value": -1}, "a count must be a whole number"),
        ({"below": 2.0}, "have no limits"),
        ({"value": 3, "exposure": 0.0}, "exposure must be positive"),
        ({"value": 3, "sem": 0.3, "exposure": 2.0}, "this reading has no exposure"),
    ],
)
def test_a_count_that_cannot_be_is_refused(reading: dict[str, Any], message: str) -> None:
    study = zn.Study(BOX, budget=3, likelihood=zn.Counts())
    with pytest.raises(zn.InvalidInput, match=message):
        study.tell(study.ask(), **reading)
    with pytest.raises(zn.InvalidInput, match="Leave noise= out"):
        zn.Study(BOX, budget=3, likelihood=zn.Counts(), noise=0.1)
    with pytest.raises(zn.InvalidInput, match="no likelihood"):
        zn.Study(BOX, budget=3, likelihood=3)  # type: ignore[arg-type]


def test_an_estimate_of_the_rate_comes_in_with_its_standard_error() -> None:
    study = zn.Study(BOX, budget=3, likelihood=zn.Counts(), kernel=KERNEL, mean=4.0)
    study.observe([(0.2, 0.3)], 2.13, sem=0.01)
    assert study.predict([(0.2, 0.3)]).mean == pytest.approx(2.13, abs=0.01)


def test_exposures_grow_with_weight_and_time() -> None:
    study = zn.Study(
        BOX, budget=9.0, times=[1, 2], likelihood=zn.Counts(10, per_weight=True), kernel=KERNEL, mean=4.0
    )
    trial = study.ask()
    study.tell(trial, 3, time=2)
    assert study.trials[0].exposure == pytest.approx(20 * trial.region.weight)


def test_a_policy_without_a_model_averages_rates() -> None:
    study = zn.Study([(0, 1)], budget=3, likelihood=zn.Counts(2), policy=zn.StoOO(zn.GeometricDelta(1.0)))
    study.tell(study.ask(), 7)
    assert float(study.tree.reward[0]) == 3.5
    other = zn.Study([(0, 1)], budget=3, policy=zn.StoOO(zn.GeometricDelta(1.0)))
    trial = other.ask()
    with pytest.raises(zn.InvalidInput, match="empirical means cannot use a limit"):
        other.tell(trial, below=3)


def test_sheets_hold_limits_and_exposures() -> None:
    study = zn.Study(BOX, budget=4, kernel=KERNEL, noise=0.1)
    study.ask(3)
    table = parse_table("trial;value\n0;<0,5\n1;> 10\n2;0,7\n", "sheet", ",")
    told(study, table)
    assert [(trial.value, trial.limit) for trial in study.trials] == [(0.5, "below"), (10, "above"), (0.7, "")]
    assert len(told(study, table).repeated) == 3
    counts = zn.Study(BOX, budget=4, likelihood=zn.Counts(2))
    counts.ask(2)
    told(counts, parse_table("trial,value,exposure\n0,3,\n1,4,5\n", "sheet"))
    assert [trial.exposure for trial in counts.trials] == [2, 5]


def test_simulated_limits_and_counts_are_as_their_instrument_reads() -> None:
    low = zn.simulate(lambda x: 0 * x[:, 0], zn.Mean(), below=0.5)
    assert low(BOX.cell((0, 0))) == "<0.5"  # type: ignore[comparison-overlap]
    high = zn.simulate(lambda x: 0 * x[:, 0] + 9, zn.Mean(), below=0.5, above=7.0)
    assert high(BOX.cell((0, 0))) == ">7.0"  # type: ignore[comparison-overlap]
    counts = zn.simulate(rate, zn.Mean(), rng=0, likelihood=zn.Counts(50))
    values = [counts(BOX.cell((0, 0))) for _ in range(300)]
    assert np.mean(values) / 50 == pytest.approx(counts.average(BOX.cell((0, 0))), rel=0.02)
    with pytest.raises(zn.InvalidInput, match="a rate must be 0 or more"):
        zn.simulate(lambda x: -x[:, 0], zn.Mean(), likelihood=zn.Counts())(BOX.cell((0, 0)))


@pytest.mark.parametrize("how", [{"likelihood": zn.Counts(4), "noise": 0.0}, {"below": 2.0, "noise": 0.3}])
def test_a_rehearsal_makes_such_readings(how: dict[str, Any]) -> None:
    values = [1, 1, 1, 2, 5, 9, 4, 1]
    landscape = zn.simulation.from_table(zn.Box([(0, 1)], smallest=1 / 8), values)
    result = zn.rehearse(landscape, 6, runs=2, jobs=1, **how)
    assert all(len(campaigns.regrets) == 2 for campaigns in result.campaigns.values())


def test_several_are_told_together_or_none() -> None:
    study = zn.Study(BOX, budget=4, likelihood=zn.Counts())
    study.ask(2)

    def both(draft: zn.Study) -> None:
        draft.tell(0, 3)
        draft.tell(1, 2.5)

    with pytest.raises(zn.InvalidInput):
        together(study, both)
    assert study.measured == 0
    assert not any(isinstance(event, Told) for transaction in study.events for event in transaction)
