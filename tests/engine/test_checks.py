"""Whatever a call would refuse, replay refuses too; that all else can be replayed is tested with the state."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import zonal as zn
from kinds import KINDS
from lives import lived, mended
from zonal.engine.events import (
    Asked,
    Claimed,
    Closed,
    Corrected,
    Created,
    Extended,
    Fitted,
    ModelWarned,
    Observed,
    Retracted,
    Split,
    Told,
    Transaction,
)
from zonal.engine.settings import Settings

STUDY = mended(lived(zn.Study([(0, 1)], budget=20, rng=1)))
EXACT = lived(zn.Study(KINDS["points"].space, budget=20, kernel=zn.RBF(1, 0.5), noise=0.1, rng=1))


def changed(study: zn.Study, kind: Any, **parts: Any) -> list[Transaction]:
    """Return a history in which something else is said by the first fact of a kind."""
    events = list(study.events)
    at, fact = next((at, fact) for at, event in enumerate(events) for fact in event if isinstance(fact, kind))
    events[at] = tuple(fact._replace(**parts) if own is fact else own for own in events[at])
    return events


REFITTED = (next(fact for event in STUDY.events for fact in event if isinstance(fact, Fitted)),)
ONE: Any = 1
REGION = replace(EXACT.space.region([1, 2]), feedback=zn.Mean())
WRONG: dict[str, tuple[Callable[[], list[Any]], type[zn.ZonalError], str]] = {
    "a value": (lambda: changed(STUDY, Told, value=np.inf), zn.InvalidInput, "event 2 of the history"),
    "a sem": (lambda: changed(STUDY, Told, sem=np.nan), zn.InvalidInput, "sem must be finite"),
    "a note": (lambda: changed(STUDY, Told, note=None), zn.InvalidInput, "a note must be text"),
    "a trial": (lambda: changed(STUDY, Told, number=8), zn.TrialError, "trial 8 was never asked for"),
    "a number": (lambda: changed(STUDY, Told, number=0.0), zn.InvalidInput, "a trial must be a whole number"),
    "an asker": (lambda: changed(STUDY, Asked, by=7), zn.InvalidInput, "this entry must be text"),
    "a look": (lambda: changed(STUDY, Asked, replicate=2), zn.TrialError, "is not the next one"),
    "a doubt": (lambda: [*STUDY.events, (ModelWarned(ONE),)], zn.InvalidInput, "this entry must be text"),
    "an end": (lambda: changed(STUDY, Closed, number=0), zn.TrialError, "trial 0 was told already"),
    "an extension": (lambda: changed(STUDY, Extended, n=0), zn.InvalidInput, "must be at least 1"),
    "a seed": (lambda: changed(STUDY, Created, seed=-1), zn.InvalidInput, "a seed must be at least 0"),
    "a feedback": (lambda: changed(STUDY, Observed, feedback=zn.Center()), zn.InvalidInput, "not a region of the"),
    "a noise": (lambda: changed(STUDY, Observed, noise=-0.1), zn.InvalidInput, "noise must not be negative"),
    "a region": (
        lambda: changed(EXACT, Observed, region=replace(REGION, start=3, stop=99, chosen=None)),
        zn.InvalidInput,
        "there is no such region",
    ),
    "members": (
        lambda: changed(EXACT, Observed, region=replace(REGION, chosen=(2, 1))),
        zn.InvalidInput,
        "there is no such region",
    ),
    "a fit where nothing is learned": (
        lambda: [*EXACT.events, REFITTED],
        zn.InvalidInput,
        "cannot have been learned in this study",
    ),
    "a fit from nothing": (
        lambda: [STUDY.events[0], REFITTED],
        zn.InvalidInput,
        "nothing yet to learn from",
    ),
    "a split": (lambda: changed(STUDY, Split, rows=(10**6,)), zn.InvalidInput, "there is no such node"),
    "a split of nothing": (lambda: changed(STUDY, Split, rows=()), zn.InvalidInput, "a node is split only once"),
    "an event of nothing": (lambda: [*STUDY.events, ()], zn.InvalidInput, "at least one fact"),
    "no event": (lambda: [*STUDY.events, "Measured"], zn.InvalidInput, "must be a list"),
    "a correction": (lambda: changed(STUDY, Corrected, value=np.nan), zn.InvalidInput, "value must be finite"),
    "a correction of nothing": (lambda: changed(STUDY, Corrected, number=99), zn.TrialError, "never asked for"),
    "of what failed": (lambda: changed(STUDY, Corrected, number=9), zn.TrialError, "trial 9 was failed, so"),
    "a corrector": (lambda: changed(STUDY, Corrected, by=None), zn.InvalidInput, "this entry must be text"),
    "a kind": (lambda: changed(STUDY, Retracted, observed=0), zn.InvalidInput, "must be true or false"),
    "no observation": (
        lambda: changed(STUDY, Retracted, observed=True, number=2),
        zn.TrialError,
        "there is no observation 2: there are 2",
    ),
    "retracted twice": (
        lambda: [*STUDY.events, (Retracted(1, True, "", ""),)],
        zn.TrialError,
        "observation 1 was retracted",
    ),
    "retracted twice in one event": (
        lambda: [*STUDY.events, (Retracted(0, False, "", ""), Retracted(0, False, "", ""))],
        zn.TrialError,
        "trial 0 was retracted",
    ),
    "a way to learn": (
        lambda: changed(STUDY, Fitted, from_scratch=None),
        zn.InvalidInput,
        "must be true or false",
    ),
    "a trial taken twice over": (lambda: [*STUDY.events, (Claimed(0, "me"),)], zn.TrialError, "told already"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("at_once", [False, True])
def test_what_cannot_have_happened_is_not_replayed(name: str, at_once: bool) -> None:
    make, kind, says = WRONG[name]
    events = make()
    study = EXACT if events[0] == EXACT.events[0] else STUDY
    with pytest.raises(kind, match=says):
        zn.Study.replay(study.settings, events, batch=at_once)


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
def test_keys_and_remarks_that_no_history_can_hold_are_refused_when_they_are_given(key: Any) -> None:
    study = zn.Study([(0, 1)], budget=5, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    with pytest.raises(zn.InvalidInput, match="key must be text"):
        study.ask(key=key)
    study.ask()
    with pytest.raises(zn.InvalidInput, match="edited must be text"):
        zn.Study.replay(study.settings, study.events, edited=key)
    assert zn.Study.replay(study.settings, study.events).trials == study.trials
