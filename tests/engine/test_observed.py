"""The tree of the default grows to every region that was observed, so that the best of them can be the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from fingerprint import fingerprint
from zonal.engine import expand
from zonal.storage.verify import first_difference

EIGHT = zn.Sequences("ACGT", 8)
GIVEN: dict[str, Any] = {"kernel": zn.Categorical(1.0, 0.5), "noise": 0.1}
HIGH = "CATATCAT"


def readings(number: int = 24) -> list[tuple[str, float]]:
    """Return readings of single sequences, the last one the best by far, read twice."""
    rng = np.random.default_rng(3)
    others = ["".join(rng.choice(list("ACGT"), 8)) for _ in range(number - 2)]
    return [*((name, float(rng.normal(0, 0.3))) for name in others), (HIGH, 4.0), (HIGH, 3.8)]


def observed(**settings: Any) -> zn.Study:
    study = zn.Study(EIGHT, budget=20, rng=1, **(GIVEN | settings))
    for name, value in readings():
        study.observe(name, value)
    return study


def names(study: zn.Study) -> set[str]:
    return {
        study.space.cell((int(h), int(i))).name for h, i in zip(study.tree.depth, study.tree.index, strict=True)
    }


@pytest.mark.parametrize("model", [GIVEN, {"kernel": None, "noise": None}], ids=["given", "learned"])
def test_the_answer_is_no_worse_than_any_region_observed(model: dict[str, Any]) -> None:
    study = observed(**model)
    answer = study.recommend()
    means = [study.predict(name).mean for name, _ in readings()]
    assert answer.mean >= max(means) - 1e-9
    assert study.tree.depth[study.tree.smallest].max() == 8


@pytest.mark.parametrize("policy", [zn.KnowledgeGradient(), zn.Above(1.0)], ids=["default", "Above"])
def test_every_region_observed_is_a_node(policy: Any) -> None:
    assert {name for name, _ in readings()} <= names(observed(policy=policy))


def test_the_policies_of_the_paper_keep_their_tree() -> None:
    policy = zn.GPOO(zn.SpreadDelta())
    alone = zn.Study(EIGHT, budget=20, rng=1, policy=policy, **GIVEN)
    assert names(observed(policy=policy)) == names(alone)


def test_regions_that_are_no_nodes_are_not_split_towards() -> None:
    box = zn.Box([(0, 1)] * 4, smallest=1 / 16)
    model: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.3), "noise": 0.1}
    first, other = (zn.Study(box, budget=20, rng=1, **model) for _ in range(2))
    first.observe([(0.1, 0.3)] * 4, 1.0)
    assert first._state.off_tree_slots
    assert expand._off_tree_paths(first._state) == {}
    other.observe([(0.25, 0.3125)] * 4, -9.0)  # a smallest cell, of little promise
    assert not other._state.off_tree_slots


def test_where_there_is_no_room_for_all_the_best_are_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "MAX_GROWTH", 0.05)
    study = observed()
    assert HIGH in names(study)
    assert not {name for name, _ in readings()} <= names(study)


def test_files_and_replays_have_the_same_tree_and_verify(tmp_path: Path) -> None:
    path = tmp_path / "pools.db"
    study = zn.Study.create(path, EIGHT, budget=20, rng=1, **GIVEN)
    for name, value in readings():
        study.observe(name, value)
    study.tell(study.ask(), 0.2)
    again = zn.Study.replay(study.settings, study.events)
    assert fingerprint(again) == fingerprint(study)
    assert first_difference(study.settings, study.events) == ""
    opened = zn.Study.open(path)
    assert names(opened) == names(study)
    assert opened.recommend().region.name == HIGH
