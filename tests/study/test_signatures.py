"""Who changed a study, and requests that are done once however often they are repeated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from zonal.engine.events import Signed
from zonal.engine.trial_history import outcomes
from zonal.io.tables import parse_table
from zonal.storage.verify import first_difference
from zonal.study import sheets
from zonal.study.signatures import start_key


def begun(path: Path | None = None) -> zn.Study:
    given: dict[str, Any] = {"budget": 9, "kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "rng": 0}
    space = zn.Box({"x": (0, 1)})
    return zn.Study(space, **given) if path is None else zn.Study.create(path, space, **given)


Change = Callable[[zn.Study], Any]
CHANGES: dict[str, Change] = {
    "tell": lambda study: study.tell(0, 0.5, by="Ada", key="k"),
    "observe": lambda study: study.observe([(0.2, 0.4)], 0.3, by="Ada", key="k"),
    "fail": lambda study: study.fail(1, by="Ada", key="k"),
    "cancel": lambda study: study.cancel(1, by="Ada", key="k"),
    "extend": lambda study: study.extend(5, by="Ada", key="k"),
    "correct": lambda study: study.correct(2, 0.7, by="Ada", key="k"),
    "retract": lambda study: study.retract(2, by="Ada", key="k"),
    "forbid": lambda study: study.forbid([(0.9, 1.0)], by="Ada", key="k"),
    "allow": lambda study: study.allow([(0, 1)], by="Ada", key="k"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_request_with_a_key_is_done_once_also_after_opening_the_file_again(name: str, tmp_path: Path) -> None:
    study = begun(tmp_path / "a.db")
    study.ask(4, by="robot")
    study.tell(2, 0.4)
    study.fail(3)
    first = CHANGES[name](study)
    after = study.events
    assert any(isinstance(event, Signed) and event.key == "k" for event in after[-1])
    assert CHANGES[name](study) == first
    again = zn.Study.open(tmp_path / "a.db")
    assert CHANGES[name](again) == first
    assert again.events == after
    assert first_difference(again.settings, again.events) == ""
    other = next(change for word, change in CHANGES.items() if word not in (name, "fail", "cancel"))
    if name not in ("tell",):
        with pytest.raises(zn.InvalidInput, match="used for another request"):
            other(study)


def test_every_value_has_the_name_of_who_told_it() -> None:
    study = begun()
    study.ask(3, by="robot")
    study.tell(0, 0.5, by="Ada")
    study.tell(1, 0.4)
    study.fail(2, note="broke", by="Grace")
    study.observe([(0, 0.5)], 0.3, by="Ben")
    told = {source: past[-1].by for source, past in outcomes(study.events).items()}
    assert told == {(False, 0): "Ada", (False, 1): "", (False, 2): "Grace", (True, 0): "Ben"}


def test_an_unsigned_study_is_as_it_was() -> None:
    study = begun()
    study.tell(study.ask(), 0.5)
    study.extend(2)
    assert not any(isinstance(event, Signed) for transaction in study.events for event in transaction)


def test_a_refused_request_may_be_sent_again_with_its_key() -> None:
    study = begun()
    with pytest.raises(zn.InvalidInput):
        study.observe([(0, 2)], 0.3, key="k")
    assert study.observe([(0, 1)], 0.3, key="k").number == 0


@pytest.fixture
def started(tmp_path: Path) -> zn.Study:
    return zn.Study.create(tmp_path / "signed.db", zn.Box({"x": (0, 1)}), budget=20, rng=0, by="Ada", key="begin")


def test_who_started_a_study_and_by_which_request_is_in_its_history(started: zn.Study) -> None:
    assert started.events[0][-1] == Signed("Ada", "begin")
    assert started.path is not None
    opened = zn.Study.open(started.path)
    assert start_key(opened) == "begin"
    assert opened.ask().number == 0  # it goes on as any other


def test_a_trial_is_taken_over_once_for_each_key_and_as_often_as_people_wish(started: zn.Study) -> None:
    trial = started.ask(by="dish-1")
    assert started.claim(trial, by="Ada", key="mine") == started.claim(trial, by="Ada", key="mine") == trial
    events = len(started.events)
    assert started.claim(trial, by="Grace") == trial  # from Ada, who had taken it over herself
    assert len(started.events) == events + 1
    started.tell(trial, 0.3)
    assert started.claim(trial, by="Ada", key="mine") == trial  # though it has ended
    with pytest.raises(zn.TrialError):
        started.claim(trial, by="Ada", key="another")
    with pytest.raises(zn.InvalidInput, match="another request"):
        started.extend(3, key="mine")


def test_learning_again_is_signed_and_done_once(started: zn.Study) -> None:
    for value in (0.1, 0.5, 0.3):
        started.tell(started.ask(), value)
    assert started.refit(by="Ada", key="again")
    events = len(started.events)
    assert started.events[-1][-1] == Signed("Ada", "again")
    assert started.refit(key="again")
    assert len(started.events) == events


def test_a_sheet_is_signed_and_its_repetition_undoes_no_later_correction(started: zn.Study) -> None:
    started.ask(3)
    table = parse_table("trial,value,note\n0,0.5,\n1,0.6,\n2,,later\n", "sheet")
    assert len(sheets.told(started, table, by="Eve", key="sheet 1").new) == 2
    assert [record.value for record in started.trials] == [0.5, 0.6, None]
    started.correct(0, 0.9)
    events = len(started.events)
    again = sheets.told(started, table, correct=True, by="Eve", key="sheet 1")
    assert (again.new, again.corrected) == ([], [])
    assert len(started.events) == events
    assert started.trials[0].value == 0.9
    by = [event.by for transaction in started.events for event in transaction if isinstance(event, Signed)]
    assert by.count("Eve") == 2


def test_what_is_signed_is_decided_again(started: zn.Study) -> None:
    trial = started.ask(by="dish-1")
    started.claim(trial, by="Ada", key="mine")
    started.tell(trial, 0.3, by="Ada")
    started.refit(by="Ada", key="again")
    assert first_difference(started.settings, started.events) == ""
