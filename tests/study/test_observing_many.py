"""Many measurements observed at once: one transaction and one fit, all or none, as one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.engine.events import Fitted, Observed
from zonal.storage.verify import first_difference

GIVEN: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.3), "noise": 0.1}
BOX = zn.Box([(0, 1)] * 2, smallest=1 / 16)
SOME: list[tuple[Any, float]] = [
    ([(0, 0.25), (0, 0.5)], 0.3),
    ([(0.5, 1), (0, 0.5)], 1.2),
    ([(0.1, 0.2), (0.3, 0.6)], -0.4),
]


def begun(**settings: Any) -> zn.Study:
    return zn.Study(BOX, budget=20, rng=1, **(GIVEN | settings))


@pytest.mark.parametrize("entries", [
    SOME,
    [(region, value, None) for region, value in SOME],
    [{"region": region, "value": value} for region, value in SOME],
], ids=["pairs", "triples", "mappings"])  # fmt: skip
def test_many_say_what_they_say_one_after_the_other(entries: list[Any]) -> None:
    one, many = begun(), begun()
    for region, value in SOME:
        one.observe(region, value)
    assert many.observe(entries) == list(one.observations)
    np.testing.assert_allclose(many.predict(), one.predict(), atol=1e-10)
    assert many.ask().node == one.ask().node


def test_many_are_one_transaction_with_one_fit_at_the_end() -> None:
    study = zn.Study(BOX, budget=20, rng=1)
    study.observe(SOME)
    _, transaction = study.events
    kinds = [type(event) for event in transaction]
    assert kinds.count(Observed) == 3
    assert kinds.count(Fitted) == 1
    assert kinds.index(Fitted) > 2
    assert study.model.measurements == 3


def test_all_are_taken_or_none_and_every_wrong_one_is_named() -> None:
    study = begun()
    wrong = [SOME[0], ([(0, 2), (0, 1)], 1.0), SOME[1], (SOME[2][0], float("nan"))]
    with pytest.raises(zn.ZonalError, match=r"(?s)2 of 4.*measurement 1: .*measurement 3: "):
        study.observe(wrong)
    with pytest.raises(zn.ZonalError, match=r"measurement 1: this is not a region and its value"):
        study.observe([SOME[0], 3])  # type: ignore[list-item]
    with pytest.raises(zn.ZonalError, match="no such part"):
        study.observe([{"region": SOME[0][0], "worth": 1.0}])
    with pytest.raises(zn.InvalidInput, match="each have their own sem"):
        study.observe(SOME, sem=0.1)  # type: ignore[call-overload]
    assert len(study.events) == 1


def test_exact_values_that_contradict_each_other_are_found_within_one_call() -> None:
    study = begun(noise=0.0)
    with pytest.raises(zn.ZonalError, match=r"measurement 1: .*contradicts"):
        study.observe([SOME[0], (SOME[0][0], 0.5)])
    assert not study.observations


def test_a_data_frame_a_table_and_observations_of_another_study_are_taken() -> None:
    pandas = pytest.importorskip("pandas")
    first_axis, other_axis = BOX.names
    bounds = {f"{first_axis}_low": [0, 0.5], f"{first_axis}_high": [0.25, 1]}
    bounds |= {f"{other_axis}_low": [0.0, 0], f"{other_axis}_high": [0.5, 0.5]}
    frame = pandas.DataFrame({**bounds, "value": [0.3, 1.2], "sem": [0.1, np.nan], "note": ["windy", None]})
    study = begun()
    first, second = study.observe(frame)
    assert (first.sem, first.note, second.sem, second.note) == (0.1, "windy", None, "")
    other = begun()
    assert [seen.region for seen in other.observe(study.observations)] == [first.region, second.region]
    with pytest.raises(zn.InvalidInput, match="no column of values"):
        study.observe(frame.drop(columns="value"))


def test_a_sheet_is_taken_once(tmp_path: Path) -> None:
    sheet = tmp_path / "earlier.csv"
    study = zn.Study(zn.Sequences("ACGT", 2), budget=5)
    sheet.write_text("region,value\nAN,0.3\nCN,0.5\n")
    assert [seen.value for seen in study.observe(sheet)] == [0.3, 0.5]
    assert study.observe(str(sheet)) == []
    assert len(study.events) == 2


def test_a_repeated_request_returns_the_same_observations() -> None:
    study = begun()
    first = study.observe(SOME, key="archive", by="Ada")
    assert study.observe(SOME, key="archive", by="Ada") == first
    assert len(study.observations) == 3


@pytest.mark.parametrize("settings", [GIVEN, {"kernel": None, "noise": None}], ids=["given", "learned"])
def test_files_replays_and_verify_agree(settings: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    study = zn.Study.create(path, BOX, budget=20, rng=1, **settings)
    study.observe(SOME)
    study.tell(study.ask(), 0.7)
    again = zn.Study.replay(study.settings, study.events)
    assert (again.tree.mean == study.tree.mean).all()
    np.testing.assert_allclose(zn.Study.open(path).tree.mean, study.tree.mean, atol=1e-9)
    assert not first_difference(study.settings, study.events)


def test_one_of_many_can_be_corrected_and_retracted() -> None:
    study = begun()
    seen = study.observe(SOME)
    study.correct(seen[1], 0.9)
    study.retract(seen[0])
    assert [observation.value for observation in study.observations] == [0.9, -0.4]
