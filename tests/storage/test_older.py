"""Files of earlier releases: read as facts, gone on with, and decided again in the same way.

``study-format1*.db`` were made by the last release in which an event was one object (commit dc04a11), with what it
recommended and would have asked for next beside them.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from fingerprint import fingerprint
from lives import close
from own import AGAIN
from zonal.engine.events import (
    Asked,
    Claimed,
    Closed,
    Created,
    Event,
    Expanded,
    Extended,
    Fitted,
    ModelWarned,
    Observed,
    Split,
    Told,
)
from zonal.gp.hyperparameters import Fit, WeightedModel
from zonal.gp.model import Model
from zonal.storage import journal
from zonal.storage.codec import DecodedSettings
from zonal.storage.encoding import encode
from zonal.storage.verify import first_difference

FOLDER = Path(__file__).parents[1] / "data" / "golden"
GOLDEN = sorted(FOLDER.glob("*.db"))
FORMAT_1 = sorted(FOLDER.glob("study-format1*.db"))
each_old = pytest.mark.parametrize("old", FORMAT_1, ids=lambda old: old.stem)


def opened(name: str, folder: Path) -> zn.Study:
    """Return the study of a copy of an old file."""
    shutil.copy(FOLDER / f"{name}.db", folder / f"{name}.db")
    return zn.Study.open(folder / f"{name}.db", **AGAIN.get(name, {}))


def facts_of(study: zn.Study, kind: type[Event]) -> list[Any]:
    return [fact for event in study.events for fact in event if isinstance(fact, kind)]


@each_old
def test_an_old_study_recommends_and_goes_on_as_it_did(old: Path, tmp_path: Path) -> None:
    study, wanted = opened(old.stem, tmp_path), json.loads(old.with_suffix(".json").read_text())
    assert [trial.number for trial in study.pending] == wanted["pending"]
    for key in ("recommended", "then"):
        best = study.recommend()
        assert [*best.node] == wanted[key][:2]
        assert [best.mean, best.std] == pytest.approx(wanted[key][2:], rel=1e-6)
        if key == "recommended":
            nodes = []
            for number in range(len(wanted["next"])):
                trial = study.ask()
                nodes.append([*trial.node])
                study.tell(trial, 0.1 * number)
            assert nodes == wanted["next"]
    assert study.path is not None
    twin = zn.Study.open(study.path)
    assert twin.events == study.events
    close(twin, study)


@pytest.mark.one_in(2)
@each_old
def test_old_and_new_events_stand_in_one_file(old: Path, tmp_path: Path) -> None:
    study, path = opened(old.stem, tmp_path), tmp_path / old.name
    before = study.events
    first, second = study.ask(2)
    study.tell(first, 0.3, sem=0.1)
    study.observe(study.space.cell((2, 0)), 0.2)
    study.fail(second, retry=False)
    study.extend(3)
    study.refit()
    study.tell(study.ask(), 0.4, note="late")
    again = zn.Study.open(path)
    assert again.events == study.events
    assert again.events[: len(before)] == before
    assert len(again.events) > len(before) + 6
    close(again, study)
    rows = sqlite3.connect(path).execute("SELECT event FROM events ORDER BY number").fetchall()
    kinds = [type(json.loads(text)) for (text,) in rows]
    assert kinds == [dict] * len(before) + [list] * (len(rows) - len(before))  # what was written stays as it was
    replays = [zn.Study.replay(study.settings, study.events) for _ in range(2)]
    assert fingerprint(replays[0]) == fingerprint(replays[1])
    close(replays[0], study)
    texts = DecodedSettings(study.settings, {})
    assert tuple(texts.read(texts.write(event)) for event in again.events) == again.events


@each_old
def test_a_file_says_that_it_is_newer_once_it_has_new_events(old: Path, tmp_path: Path) -> None:
    """Or else the release that made it would call it damaged."""
    study = opened(old.stem, tmp_path)

    def format_now() -> int:
        (number,) = sqlite3.connect(tmp_path / old.name).execute("PRAGMA user_version").fetchone()
        return int(number)

    assert format_now() == 1  # looking changes nothing
    study.ask()
    assert format_now() == journal.FORMAT > 1


def test_everything_that_an_old_event_said_is_a_fact(tmp_path: Path) -> None:
    study = opened("study-format1", tmp_path)
    counts = {kind: len(facts_of(study, kind)) for kind in (Asked, Told, Closed, Observed, Extended, Claimed)}
    assert counts == {Asked: 23, Told: 20, Closed: 3, Observed: 5, Extended: 1, Claimed: 1}
    fitted = [number for number, event in enumerate(study.events) if any(isinstance(f, Fitted) for f in event)]
    assert len(fitted) > 10
    assert [type(fact) for fact in study.events[0]] == [Created] + [Split] * (len(study.events[0]) - 1)
    for event in study.events:
        kinds = [type(fact) for fact in event]
        if Asked in kinds or Closed in kinds:  # splits come before what they were made for
            assert kinds[-1] in (Asked, Closed)
        if Told in kinds:
            assert kinds[0] is Told
            assert Fitted not in kinds or kinds.index(Fitted) == 1
    doubted = opened("study-format1-doubted", tmp_path)
    (doubt,) = facts_of(doubted, ModelWarned)
    assert "pass kernel=None" in doubt.warning
    assert doubted._state.fit_state is not None
    assert doubted._state.fit_state.warned
    assert doubted.tree.forbidden.any()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.stem)
def test_histories_of_old_are_decided_again_in_the_same_way(golden: Path, tmp_path: Path) -> None:
    study = opened(golden.stem, tmp_path)
    found = first_difference(study.settings, study.events)
    if golden.stem == "0.1.0_plane":  # GPOO has had more to say of itself since
        assert "policy was 'GPOO(" in found
    else:
        assert found == ""


@pytest.mark.one_in(2)
@each_old
def test_two_may_go_on_from_an_old_study(old: Path, tmp_path: Path) -> None:
    study = opened(old.stem, tmp_path)
    ends = []
    for value in (0.4, -0.6):
        own = zn.Study.replay(study.settings, study.events)
        for _ in range(3):
            own.tell(own.ask(), value)
        ends.append(own)
    assert ends[0].events[:-6] == ends[1].events[:-6]
    for own in ends:
        assert fingerprint(zn.Study.replay(own.settings, own.events)) == fingerprint(own)


# Each kind of event, as it was written.

SPACE = zn.Box([(0, 1)])
FIT = Fit(
    Model(zn.RBF(1.0, 0.2), 0.1, 0.5, {"noise": 0.3}, 4),
    (WeightedModel(1.0, Model(zn.RBF(1.0, 0.2), 0.1, 0.5, {}, 4)),),
    (),
)
GROWN = [
    [[0, True, [0.1, 0.2], [False, True], 77]],
    [[1, False, [0.1, 0.1], [False, False], 5], [2, True, [], [], 0]],
]
SPLITS = [
    Split((0,), True, (0.1, 0.2), (False, True), None),
    Expanded(2),
    Split((1,), False, (0.1, 0.1), (False, False), None),
]
REGION = SPACE.region([(0.1, 0.3)])
OLD: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "Began": (
        {
            "id": "a",
            "seed": 1,
            "policy": "p",
            "h_max": 3,
            "opening": 2,
            "noise": 0.1,
            "forbidden": False,
            "grown": GROWN,
        },
        [Created("a", 1, "p", 3, 2, 0.1, False), *SPLITS],
    ),
    "Asked": (
        {"number": 3, "row": 2, "node": [1, 1], "replicate": 1, "draw": 3, "by": "me", "key": "k", "grown": GROWN},
        [*SPLITS, Asked(3, 2, (1, 1), 1, 3, "me", "k")],
    ),
    "Told": (
        {"number": 3, "value": 0.5, "sem": None, "note": "n", "fit": FIT, "grown": GROWN, "warned": ["oh", "no"]},
        [Told(3, 0.5, None, "n"), Fitted(FIT), ModelWarned("oh"), ModelWarned("no"), *SPLITS],
    ),
    "Ended": (
        {"number": 3, "state": "failed", "blocked": True, "grown": GROWN},
        [*SPLITS, Closed(3, "failed", True)],
    ),
    "Observed": (
        {
            **{"region": REGION, "value": 0.5, "sem": 0.1, "noise": 0.2, "feedback": zn.Mean()},
            **{"fit": None, "grown": [], "warned": []},
        },
        [Observed(REGION, 0.5, 0.1, 0.2, zn.Mean())],
    ),
    "Refitted": ({"fit": FIT}, [Fitted(FIT)]),
    "Taken": ({"number": 3, "by": "you"}, [Claimed(3, "you")]),
    "Extended": ({"n": 4}, [Extended(4)]),
}


def written(kind: str) -> str:
    """Return an event as that release wrote it."""
    return json.dumps({"$": kind, **{name: encode(part) for name, part in OLD[kind][0].items()}})


@pytest.mark.parametrize("kind", OLD)
def test_an_event_of_old_is_read_as_its_facts(kind: str) -> None:
    """With the noise and the forbidden regions of a split where these are functions of the user's own."""
    settings = zn.Study(SPACE, budget=5, noise=lambda region: 0.1, forbidden=lambda region: False).settings
    assert list(DecodedSettings(settings, {}).read(written(kind))) == OLD[kind][1]


@pytest.mark.parametrize("kind", OLD)
def test_an_event_of_old_is_read_without_a_kernel_too(kind: str) -> None:
    settings = zn.Study(SPACE, budget=5, noise=lambda region: 0.1, forbidden=lambda region: False).settings
    blind = DecodedSettings(settings, {"kernel": "mine"}).read(written(kind))
    assert list(blind) == [fact for fact in OLD[kind][1] if not isinstance(fact, Fitted)]


def test_an_unknown_event_of_old_is_refused() -> None:
    settings = zn.Study(SPACE, budget=5).settings
    with pytest.raises(ValueError, match="Forgot is no event"):
        DecodedSettings(settings, {}).read('{"$": "Forgot", "n": 1}')


def test_old_numbers_keep_all_their_digits(tmp_path: Path) -> None:
    for old in FORMAT_1:
        study = opened(old.stem, tmp_path)
        rows = sqlite3.connect(old).execute("SELECT event FROM events ORDER BY number").fetchall()
        said = [json.loads(text) for (text,) in rows]
        told = [(event["number"], event["value"], event["sem"]) for event in said if event["$"] == "Told"]
        assert [(fact.number, fact.value, fact.sem) for fact in facts_of(study, Told)] == told
        rewards = np.array([value for _, value, _ in told])
        assert len(set(rewards.tolist())) == len(rewards)
