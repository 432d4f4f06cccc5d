"""What replay refuses; that all else can be replayed is tested with the state."""

from dataclasses import replace
from typing import Any

import pytest

import zonal as zn
from eventful_studies import lived, mended
from zonal.engine.events import Split, Told
from zonal.engine.settings import Settings

STUDY = mended(lived(zn.Study([(0, 1)], budget=20, rng=1)))
NO_HISTORY: dict[str, Any] = {
    "nothing": [],
    "no beginning": STUDY.events[1:],
    "two beginnings": [STUDY.events[0], STUDY.events[0]],
    "no transaction": [*STUDY.events, "Told"],
    "no event": [*STUDY.events, ("Told",)],
    "a trial that is not there": [*STUDY.events, (Told(99, 0.5, None, ""),)],
    "a split of a row that is not there": [*STUDY.events, (Split((10**6,), True, (), (), None),)],
}


@pytest.mark.parametrize("name", NO_HISTORY)
@pytest.mark.parametrize("batch", [False, True])
def test_events_that_make_no_study_are_refused_in_a_sentence(name: str, batch: bool) -> None:
    with pytest.raises(zn.InvalidInput, match=r"Pass .*events"):
        zn.Study.replay(STUDY.settings, NO_HISTORY[name], batch=batch)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"budget": 0}, "budget must be at least 1"),
        ({"direction": "up"}, "direction must be"),
        ({"noise": -1.0}, "noise must not be negative"),
        ({"noise": zn.simulation.PerWeight}, "noise must be a single number"),
        ({"max_replicates": 0}, "max_replicates must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"space": zn.Box}, "a box needs at least one axis"),
        ({"value_unit": None}, "value_unit must be text"),
    ],
)
def test_settings_that_nobody_could_have_given_are_not_replayed(parts: dict[str, Any], says: str) -> None:
    settings: Settings = replace(STUDY.settings, **parts)
    with pytest.raises(zn.InvalidInput, match=says):
        zn.Study.replay(settings, STUDY.events)


@pytest.mark.parametrize("note", [None, 3, b"bytes", "\ud800"])
def test_notes_are_text(note: Any) -> None:
    study = zn.Study([(0, 1)], budget=3)
    with pytest.raises(zn.InvalidInput, match="a note"):
        study.tell(study.ask(), 0.5, note=note)
    study.tell(0, 0.5, note="été")
    assert study.trials[0].note == "été"


@pytest.mark.parametrize("key", [None, 0, False, [], b"a"], ids=repr)
def test_keys_that_no_history_can_hold_are_refused_when_they_are_given(key: Any) -> None:
    study = zn.Study([(0, 1)], budget=5, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    with pytest.raises(zn.InvalidInput, match="key must be text"):
        study.ask(key=key)
    study.ask()
    assert zn.Study.replay(study.settings, study.events).trials == study.trials
