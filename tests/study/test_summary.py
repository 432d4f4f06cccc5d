"""What studies, results and trials show: every number is one the study says itself."""

import re
from typing import Any

import numpy as np
import pytest

import zonal as zn
from kinds import KINDS
from zonal.io.result_table import Span
from zonal.study.summary import LUCK

BOX = zn.Box({"l": (0, 4), "b": (10, 12)}, units={"l": "deg"}, smallest=[0.5, 0.25])


def bump(x: np.ndarray) -> np.ndarray:
    return np.asarray(5 + np.exp(-((x[:, 0] - 3) ** 2) - (x[:, 1] - 11) ** 2))


@pytest.fixture(scope="module")
def study() -> zn.Study:
    study = zn.Study(
        BOX, budget=12, kernel=zn.RBF(1.0, 1.0), noise=0.1, mean=5.0, value_name="flux", value_unit="Jy"
    )
    study.optimize(zn.simulate(bump, zn.Mean(), 0.1, rng=0), n=9)
    study.tell(study.ask(), 5.5, sem=0.05, note="cloudy")
    study.fail(study.ask())
    study.ask()
    return study


def test_the_table_has_every_trial_with_what_became_of_it(study: zn.Study) -> None:
    table = study.table()
    assert list(table.columns) == [
        "number", "region", "l [deg]", "b", "flux [Jy]", "sem [Jy]", "replicate", "mean [Jy]", "std [Jy]", "state",
        "note",
    ]  # fmt: skip
    trials = study.trials
    assert table["number"] == [trial.number for trial in trials] == list(range(12))
    assert table["region"] == [trial.region.name for trial in trials]
    assert table["l [deg]"] == [Span(*trial.region["l"]) for trial in trials]
    assert table["flux [Jy]"] == [trial.value for trial in trials]
    assert table["state"] == ["measured"] * 10 + ["failed", "pending"]
    assert table["sem [Jy]"][9] == 0.05
    assert table["note"][9] == "cloudy"
    mean, std = study.predict([trial.region for trial in trials])
    np.testing.assert_allclose(table["mean [Jy]"], mean)  # type: ignore[arg-type]
    np.testing.assert_allclose(table["std [Jy]"], std)  # type: ignore[arg-type]


def test_observations_follow_the_trials_without_a_number() -> None:
    study = zn.Study(BOX, budget=2, kernel=zn.RBF(1.0, 1.0), noise=0.1)
    study.tell(study.ask(), 1.0)
    study.observe([(0, 1), (10, 11)], 0.7, sem=0.2)
    table = study.table()
    assert table.title == "1 trial and 1 observation"
    assert table["number"] == [0, None]
    assert table["state"] == ["measured", "observed"]
    assert table["value"] == [1.0, 0.7]
    assert table["sem"] == [None, 0.2]
    assert table["l [deg]"][1] == Span(0.0, 1.0)


def test_an_axis_called_like_a_column_of_ours_keeps_its_name() -> None:
    levels = {"state": ["A", "B"], "region": ["a", "b"], "trial region": ["c", "d"], "mean": ["e", "f"]}
    study = zn.Study(zn.Hierarchy.from_table(levels), budget=2, noise=0.1, kernel=zn.Categorical(1.0, 0.5))
    study.tell(study.ask(), 1.0)
    study.observe("A > a > c > e", 0.5)
    table = study.table()
    assert list(table.columns)[:6] == ["number", "trial trial region", "state", "region", "trial region", "mean"]
    assert table["trial state"] == ["measured", "observed"]
    assert [table[name][1] for name in levels] == ["A", "a", "c", "e"]
    assert table["trial trial region"][1] == "A > a > c > e"
    for listing in (study.top(1), study.above(-9.0)):
        assert listing["study region"][0].split(" > ")[1] == listing["region"][0]  # type: ignore[union-attr]
        assert listing["mean"][0] in ("e", "f")
        assert isinstance(listing["study mean"][0], float)


def test_a_value_called_like_an_axis_loses_neither() -> None:
    box = zn.Box({"T": (0, 1)}, units=["K"])
    study = zn.Study(box, budget=2, kernel=zn.RBF(1.0, 1.0), noise=0.1, value_name="T", value_unit="K")
    study.observe([(0, 0.5)], 3.0)
    assert study.table()["T [K]"] == [Span(0.0, 0.5)]
    assert study.table()["trial T [K]"] == [3.0]


def test_columns_that_say_nothing_are_left_out() -> None:
    study = zn.Study(BOX, budget=2, kernel=zn.RBF(1.0, 1.0), noise=0.1)
    assert str(study.table()).startswith("0 trials")
    study.tell(study.ask(), 1.0)
    assert not {"sem", "note"} & set(study.table().columns)


def test_the_best_regions_are_those_recommended(study: zn.Study) -> None:
    top, best = study.top(3), study.recommend(k=3)
    assert top["region"] == [own.region.name for own in best]
    assert top["mean [Jy]"] == [own.mean for own in best]
    assert top["P(best)"] == [own.probability_best for own in best]
    nodes = [trial.node for trial in study.trials if trial.state == "measured"]
    assert top["measurements"] == [nodes.count(own.node) for own in best]
    assert len(study.top()) == 5
    with pytest.raises(zn.InvalidInput, match="the number of regions must be at least 1"):
        study.top(0)


@pytest.mark.parametrize("name", KINDS)
def test_every_space_has_tables_and_cards(name: str) -> None:
    space: Any = KINDS[name].space
    study = zn.Study(space, budget=3, noise=0.1, value_unit="kg")
    trial = study.ask()
    study.tell(trial, 1.0)
    assert trial.region.name in study.table()["region"]
    assert len(study.top(2).to_pandas()) == len(study.top(2)) <= 2
    best = study.recommend()
    for shown in (study, trial, study.trials[0], best, study.model):
        assert shown._repr_html_().startswith("<table>")
    assert f"region={best.region.name!r}" in repr(best)


def test_a_result_shows_the_answer_and_holds_its_study() -> None:
    result = zn.maximize(zn.simulate(bump, zn.Mean(), 0.1, rng=0), BOX, 6, kernel=zn.RBF(1.0, 1.0), noise=0.1)
    assert result.study.measured == 6
    assert result.region.name in result._repr_html_()
    assert "6 of 6 measurements made" in result._repr_html_()
    assert "± " in result._repr_html_()
    np.testing.assert_array_equal(result.x, result.region.center)


def test_a_study_in_words_names_its_best_region_with_unit_and_sensible_digits(study: zn.Study) -> None:
    best, (first, pending, sizes, second, *rest) = study.recommend(), str(study).splitlines()
    assert first == "flux: 10 of 12 measured, 1 pending"
    assert pending == f"pending: trial {study.pending[0].number}, {study.pending[0].region.name}"
    assert sizes == "64 smallest regions: l 0.5 deg, b 0.25"
    assert second.startswith(f"best so far {best.region.name}: ")
    assert re.search(
        r": 5\.\d+ ± 0\.\d\d+ Jy; the best of all with probability (> )?\d+ %, under the model$", second
    )
    assert rest == ([] if study.stands_out() else [LUCK])
    card = study._repr_html_()
    assert f"{second.split('; ')[0].removeprefix('best so far ').split(': ')[1]}" in card
    assert "best region so far" in card


def test_a_study_without_measurements_claims_nothing() -> None:
    study = zn.Study(BOX, budget=12, noise=0.1)
    assert str(study) == "value: 0 of 12 measured\n64 smallest regions: l 0.5 deg, b 0.25\nnothing measured yet"
    assert "nothing measured yet" in study._repr_html_()


def test_what_does_not_stand_out_is_said_to_be_luck() -> None:
    study = zn.Study(BOX, budget=12, kernel=zn.RBF(1e-4, 1.0), noise=1.0, value_unit="Jy")
    for value in (1.0, -1.0, 0.5):
        study.tell(study.ask(), value)
    assert str(study).endswith(LUCK)
    assert LUCK in study._repr_html_()


def test_a_certain_answer_does_not_read_as_certain() -> None:
    study = zn.Study(zn.Product({"dye": ["red", "green"]}), budget=9, kernel=zn.Categorical(1.0, 0.3), noise=1e-3)
    study.optimize(lambda region: float("red" in region["dye"]))
    assert study.recommend().probability_best == 1.0
    for shown in (str(study), repr(study.recommend()), str(study.top())):
        assert "> 99 %" in shown
    assert "&gt; 99 %" in study._repr_html_()


def test_names_of_other_libraries_are_answered_with_ours(study: zn.Study) -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'best_params'. Did you mean recommend\(\).region\?"):
        study.best_params  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"a study has no attribute 'colour'\.$"):
        study.colour  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(study, "best_value")


SIZES = {
    "1536 smallest regions: T 18.75 K, p 0.375 decades, layers 3 or 4, dye 1 of 3": zn.Product(
        {"T": (0, 600), "p": (0.01, 10), "layers": (1, 7), "dye": ["a", "b", "c"]},
        units={"T": "K"},
        scale={"p": "log", "layers": "integer"},
        smallest={"T": 20, "p": 0.4, "layers": 2},
    ),
    "256 smallest regions: x 0.00390625": zn.Box([(0, 1)]),
    "1 smallest region: x 1": zn.Box([(0, 1)], smallest=0.9),
    "4096 smallest regions: pools of 16 sequences": zn.Sequences("ACGT", 8, smallest=16),
    "64 smallest regions: single sequences": zn.Sequences("ACGT", 3),
    "3 smallest regions: single points": zn.Points([1.0, 2.0, 4.0]),
    "2 smallest regions: points of weight 2 to 3": zn.Points([1.0, 2.0, 4.0, 5.0, 7.0], smallest=2.0),
    "3 smallest regions: single leaves": zn.Hierarchy({"a": ["b", "c"], "d": None}),
    "2 smallest regions: leaves of weight 2 to 3": zn.Hierarchy({"a": ["b", "c"], "d": None}, None, [1, 1, 3], 2),
}


@pytest.mark.parametrize("says", SIZES)
def test_a_study_says_how_many_smallest_regions_of_which_size_there_are(says: str) -> None:
    space: Any = SIZES[says]
    assert says in str(zn.Study(space, budget=3, noise=0.1)).splitlines()
