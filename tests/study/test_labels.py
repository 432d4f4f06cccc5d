"""Readings with labels: offsets of plates and days, a drift, and another study as a source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from shell import zonal
from zonal.errors import InvalidInput
from zonal.io.spreadsheet import csv_text
from zonal.io.tables import parse_table
from zonal.storage.schema import DecodedSettings, settings_to_json
from zonal.study.export import exported, imported, outcomes, questions
from zonal.study.sheets import told

GIVEN: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "mean": 0.0}
SHIFTS = (0.9, -0.7, 0.0)


def height(region: zn.Region) -> float:
    return float(np.sin(5 * region.center[0]))


def shown(study: zn.Study) -> Any:
    """Return the table of offsets."""
    return study.offsets()


def campaign(n: int = 9, **settings: Any) -> zn.Study:
    """Return a study whose readings are of three plates in turn, each with its offset."""
    study = zn.Study([(0, 1)], budget=20, rng=1, **{"offsets": ["plate"], **GIVEN, **settings})
    for number in range(n):
        trial = study.ask()
        value = height(trial.region) + SHIFTS[number % 3]
        study.tell(trial, value, labels={"plate": number % 3, "who": "Ann"})
    return study


def test_offsets_are_learned_and_said_in_words() -> None:
    study = campaign(18)
    table = shown(study)
    assert list(table["label"]) == ["plate"] * 3
    known = dict(zip(table["value"], table["offset"], strict=True))
    centred = np.array([known[str(plate)] for plate in range(3)])
    np.testing.assert_allclose(centred - centred.mean(), np.array(SHIFTS) - np.mean(SHIFTS), atol=0.25)
    assert table["in words"][0].startswith("plate 0 reads ")
    assert table["in words"][0].endswith(" high")
    assert list(table["readings"]) == [6, 6, 6]


def test_offsets_do_not_move_what_is_predicted() -> None:
    study, blind = campaign(18), zn.Study([(0, 1)], budget=20, rng=1, **GIVEN)
    for record in study.trials:
        blind.observe(record.region, record.value or 0.0)
    places = [[(low, low + 0.1)] for low in np.linspace(0, 0.9, 10)]
    truth = [height(study.space.region(place)) for place in places]
    error = np.abs(study.predict(places).mean - truth)
    assert np.mean(error) < 0.5 * np.mean(np.abs(blind.predict(places).mean - truth))


@pytest.mark.parametrize("settings", [{}, {"kernel": None, "noise": None, "mean": None}, {"drift": True}])
def test_a_replay_a_file_and_an_export_have_the_same_offsets(settings: dict[str, Any], tmp_path: Path) -> None:
    study = campaign(12, **settings)
    study.correct(2, 0.1, labels={"plate": 7})
    study.retract(3)
    again = zn.Study.replay(study.settings, study.events)
    assert again.recommend() == study.recommend()
    assert shown(again).columns == shown(study).columns
    study.save(tmp_path / "labels.db")
    assert zonal("verify", str(tmp_path / "labels.db")).exit_code == 0
    for copy in (zn.Study.open(tmp_path / "labels.db"), imported(exported(study).encode())):
        assert copy.trials == study.trials
        np.testing.assert_allclose(shown(copy)["offset"], shown(study)["offset"], atol=1e-7)


def test_a_label_that_is_mended_is_as_if_it_had_been_right() -> None:
    right, wrong = campaign(0), campaign(0)
    for number in range(8):
        trial = right.ask()
        value = height(trial.region) + SHIFTS[number % 3]
        right.tell(trial, value, labels={"plate": number % 3})
        asked = trial if number < 5 else wrong.ask()
        if number < 5:
            asked = wrong.ask()
        wrong.observe(trial.region, value, labels={"plate": 0 if number == 4 else number % 3})
        wrong.cancel(asked)
    mended = wrong.observations[4]
    wrong.correct(mended, mended.value, labels={"plate": 1})
    places = [[(low, low + 0.1)] for low in np.linspace(0, 0.9, 10)]
    np.testing.assert_allclose(wrong.predict(places).mean, right.predict(places).mean, atol=1e-7)
    np.testing.assert_allclose(sorted(shown(wrong)["offset"]), sorted(shown(right)["offset"]), atol=1e-7)
    assert dict(wrong.observations[4].labels) == {"plate": "1"}


def test_a_retracted_reading_leaves_nothing_of_its_label() -> None:
    study = campaign(9)
    trial = study.ask()
    study.tell(trial, 50.0, labels={"plate": "once"})
    study.retract(trial)
    assert "once" not in shown(study)["value"]
    assert campaign(9).predict([[(0, 0.5)]]).mean == pytest.approx(study.predict([[(0, 0.5)]]).mean, abs=1e-7)


def test_planned_labels_hold_unless_others_are_told() -> None:
    study = campaign(3)
    first, second = study.ask(2, labels=[{"plate": 4}, {"plate": 5}])
    assert first.labels == (("plate", "4"),)
    study.tell(first, 0.5)
    study.tell(second, 0.6, labels={"plate": "6"})
    assert [dict(trial.labels) for trial in study.trials[3:]] == [{"plate": "4"}, {"plate": "6"}]
    again = zn.Study.replay(study.settings, study.events)
    assert again.recommend() == study.recommend()
    with pytest.raises(InvalidInput, match="2 trials need as many labels"):
        study.ask(2, labels=[{"plate": 1}])


def test_numbers_and_their_text_are_one_label() -> None:
    study = campaign(0)
    for plate in (3, "3", " 3 "):
        study.tell(study.ask(), 1.0, labels={"plate": plate})
    assert list(shown(study)["value"]) == ["3"]


def test_a_difference_has_no_offset() -> None:
    study = campaign(6)
    before = shown(study)["readings"]
    trial = study.ask()
    study.tell(trial, 0.3, sem=0.1, minus=[(0.0, 0.1)], labels={"plate": 0})
    assert zn.Study.replay(study.settings, study.events).recommend() == study.recommend()
    assert sum(shown(study)["readings"]) == sum(before) + 1
    study.correct(trial, 0.4, labels={"plate": 1})
    assert zn.Study.replay(study.settings, study.events).recommend() == study.recommend()


def test_a_drift_is_followed() -> None:
    study = zn.Study([(0, 1)], budget=20, rng=1, drift=True, **GIVEN)
    for number in range(20):
        trial = study.ask()
        study.tell(trial, height(trial.region) + 0.1 * number)
    drift = dict(zip(map(int, shown(study)["value"]), shown(study)["offset"], strict=True))
    assert set(shown(study)["label"]) == {"drift"}
    assert drift[19] - drift[0] == pytest.approx(1.9, abs=0.4)
    assert zn.Study.replay(study.settings, study.events).recommend() == study.recommend()


def test_an_earlier_study_comes_in_with_an_offset() -> None:
    earlier = zn.Study([(0, 1)], budget=16, rng=2, **GIVEN)
    earlier.optimize(lambda region: height(region) + 1.0)
    study = campaign(0, offsets=["source"])
    seen = study.observe_study(earlier, labels={"source": "2019"}, scale=1.0, key="once")
    assert study.observe_study(earlier, labels={"source": "2019"}, key="once") == seen
    assert len(study.observations) == 16
    assert {record.sem for record in seen} == {0.1}
    study.optimize(lambda region: height(region))
    (offset,), (source,) = shown(study)["offset"], shown(study)["value"]
    assert source == "2019"
    assert offset == pytest.approx(1.0, abs=0.2)
    with pytest.raises(InvalidInput, match="as a source"):
        campaign(0).observe_study(earlier)


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ({}, "offsets of 'plate', so a reading needs that label"),
        ({"plate": 1.5}, "label 'plate' must be text"),
        ({"plate": ""}, "must not be empty"),
        ({"plate": "x" * 300}, "more than 200 characters"),
        (["plate"], "labels must be a mapping"),
    ],
)
def test_wrong_labels_are_refused_and_change_nothing(labels: Any, problem: str) -> None:
    study = campaign(3)
    trial, events = study.ask(), study.events
    with pytest.raises(InvalidInput, match=problem):
        study.tell(trial, 1.0, labels=labels)
    assert study.events[: len(events)] == events
    assert study.pending == (trial,)


@pytest.mark.parametrize(
    "settings", [{"offsets": "plate"}, {"offsets": ["a", "a"]}, {"offsets": [""]}, {"drift": "yes"}]
)
def test_wrong_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        zn.Study([(0, 1)], budget=9, **settings)
    with pytest.raises(InvalidInput, match="no offsets and no drift"):
        zn.Study([(0, 1)], budget=9, offsets=["plate"], policy=zn.StoOO(zn.GeometricDelta(1, 0.5)))


def test_a_study_without_labels_is_stored_as_before() -> None:
    study = zn.Study([(0, 1)], budget=9, rng=1)
    study.optimize(height)
    write = DecodedSettings(study.settings).write
    stored = settings_to_json(study.settings) + "".join(map(write, study.events))
    assert all(f'"{name}"' not in stored for name in ("labels", "offsets", "unrelated", "drift"))


def test_labels_have_their_column_in_sheets() -> None:
    study = campaign(3)
    study.ask(2, labels={"plate": 8})
    rows = csv_text(questions(study, study.pending)).splitlines()
    assert "plate" in rows[0].split(",")
    at = rows[0].split(",").index("value")
    filled = [rows[0]]
    for row in rows[1:]:
        cells = row.split(",")
        cells[at] = "0.5"
        filled.append(",".join(cells))
    told(study, parse_table("\n".join(filled), "the sheet"))
    assert [dict(trial.labels) for trial in study.trials[3:]] == [{"plate": "8"}] * 2
    header, *lines = outcomes(study)
    assert [line[header.index("plate")] for line in lines] == ["0", "1", "2", "8", "8"]
    assert [line[header.index("who")] for line in lines] == ["Ann"] * 3 + [None] * 2


def test_the_shell_takes_labels(tmp_path: Path) -> None:
    file = str(tmp_path / "dna.db")
    zonal("new", file, "--axis", "x=0..1", "--budget", "9", "--offset", "plate", "--drift")
    zonal("ask", file, "-n", "2", "--label", "plate=1")
    zonal("tell", file, "0", "0.5")
    zonal("tell", file, "1", "0.7", "--label", "plate=2")
    zonal("correct", file, "0", "0.6", "--label", "plate=3")
    zonal("observe", file, "x=0.5..0.6", "0.4", "--label", "plate=3")
    study = zn.Study.open(file)
    assert [dict(trial.labels) for trial in study.trials] == [{"plate": "3"}, {"plate": "2"}]
    assert "plate 3" in zonal("show", file, "--offsets").output


def test_a_repeat_on_another_plate_judges_a_reading_far_off() -> None:
    study, rng = zn.Study([(0, 1)], budget=30, offsets=["plate"], rng=1), np.random.default_rng(1)
    for number in range(20):
        trial = study.ask()
        slip = 10.0 if number == 14 else 0.0
        value = height(trial.region) + SHIFTS[number % 3] + 0.05 * rng.standard_normal() + slip
        study.tell(trial, value, labels={"plate": number % 3})
    assert [record.number for record in study.trials if record.state != "measured"] == [14]
    assert zn.Study.replay(study.settings, study.events).recommend() == study.recommend()


def test_counts_on_plates_have_offsets_too() -> None:
    study = zn.Study([(0, 1)], budget=18, rng=1, offsets=["plate"], likelihood=zn.Counts(exposure=20))
    rng = np.random.default_rng(2)
    for number in range(18):
        trial = study.ask()
        rate = 3 + height(trial.region) + 2.0 * (number % 2)
        study.tell(trial, int(rng.poisson(20 * rate)), labels={"plate": number % 2})
    low, high = (dict(zip(shown(study)["value"], shown(study)["offset"], strict=True))[plate] for plate in "01")
    assert high - low == pytest.approx(2.0, abs=0.6)
    again = zn.Study.replay(study.settings, study.events)
    assert again.recommend() == study.recommend()


def labels_told(study: zn.Study) -> list[dict[str, str]]:
    return [dict(trial.labels) for trial in study.trials]


def test_optimize_labels_all_readings_alike() -> None:
    study = zn.Study([(0, 1)], budget=3, rng=1, offsets=["plate"], **GIVEN)
    study.optimize(height, labels={"plate": 3})
    assert labels_told(study) == [{"plate": "3"}] * 3


def test_optimize_asks_a_function_for_the_labels_of_each_trial_just_before_it_is_measured() -> None:
    study, steps = zn.Study([(0, 1)], budget=4, rng=1, offsets=["plate"], **GIVEN), list[str]()

    def plate(trial: zn.Trial) -> dict[str, int]:
        steps.append(f"labels {trial.number}")
        return {"plate": trial.number // 2}

    def measure(region: zn.Region) -> float:
        steps.append("measured")
        return height(region)

    study.optimize(measure, labels=plate)
    assert [labels["plate"] for labels in labels_told(study)] == ["0", "0", "1", "1"]
    assert steps[:4] == ["labels 0", "measured", "labels 1", "measured"]


def test_labels_that_the_instrument_returns_take_the_place_of_those_of_the_run() -> None:
    study = zn.Study([(0, 1)], budget=2, rng=1, offsets=["plate"], **GIVEN)

    def measure(region: zn.Region) -> dict[str, object]:
        return {"value": height(region), "labels": {"plate": 7}}

    study.optimize(measure, labels={"plate": 3, "who": "Ann"})
    assert labels_told(study) == [{"plate": "7", "who": "Ann"}] * 2


def test_a_trial_is_handed_back_if_its_labels_cannot_be_had() -> None:
    study = zn.Study([(0, 1)], budget=3, rng=1, **GIVEN)

    def broken(trial: zn.Trial) -> dict[str, str]:
        raise RuntimeError("the plate reader is off")

    with pytest.raises(RuntimeError, match="plate reader"):
        study.optimize(height, labels=broken)
    with pytest.raises(InvalidInput, match="labels must be a mapping"):
        study.optimize(height, labels=lambda trial: 3)  # type: ignore[arg-type, return-value]
    assert not study.pending
    assert study.remaining == 3


def test_labels_of_a_run_in_several_threads_are_those_of_each_trial() -> None:
    study = zn.Study([(0, 1)], budget=9, rng=1, offsets=["plate"], **GIVEN)
    study.optimize(height, workers=3, labels=lambda trial: {"plate": trial.number % 3})
    assert labels_told(study) == [{"plate": str(trial.number % 3)} for trial in study.trials]


def test_maximize_labels_readings_too() -> None:
    given: dict[str, Any] = {"offsets": ["day"], **GIVEN}
    result = zn.maximize(height, [(0, 1)], 3, labels=lambda trial: {"day": "Mon"}, **given)
    assert labels_told(result.study) == [{"day": "Mon"}] * 3


def test_a_program_s_readings_are_labelled_in_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    zonal("new", path, "--axis", "x=0..1", "--budget", 3, "--offset", "plate", "--seed", 1)
    zonal("run", path, "-n", 2, "--label", "plate=3", "--", "echo", "0.5")
    zonal("run", path, "--label", "plate=3", "--", "echo", '{"value": 0.4, "labels": {"plate": 4}}')
    assert [labels["plate"] for labels in labels_told(zn.Study.open(path))] == ["3", "3", "4"]


def test_a_window_is_counted_over_all_plates_and_measured_no_more_than_allowed() -> None:
    space = zn.Box([(0, 1)], smallest=1 / 16)
    study = zn.Study(space, budget=32, rng=0, offsets=["plate"], max_replicates=2, kernel=zn.RBF(1.0, 0.05))
    for number in range(32):
        trial = study.ask()
        value = np.exp(-0.5 * ((trial.region.center[0] - 0.625) / 0.03) ** 2)
        study.tell(trial, float(value) + 0.3 * (number % 4), labels={"plate": number % 4})
    windows = [trial for trial in study.trials if trial.node is None]
    names = [trial.region.name for trial in windows]
    assert max(map(names.count, names)) == 2
    assert [trial.replicate for trial in windows] == [names[: at + 1].count(name) for at, name in enumerate(names)]
