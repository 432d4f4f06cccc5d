"""Who changed a study, and requests that are done once however often they are repeated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from zonal.engine.events import Signed
from zonal.engine.trial_history import outcomes
from zonal.storage.verify import first_difference


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
