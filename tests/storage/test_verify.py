"""Deciding everything again gives the same; where it does not, the first difference is named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from eventful_studies import POLICIES, lived, mended
from kinds import KINDS, kernels
from zonal.engine.events import Asked, Told
from zonal.storage.verify import difference, first_difference


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["line", "points", "mixed"])
def test_the_same_rules_decide_the_same(kind: str, policy: str) -> None:
    kernel = next(iter(kernels(KINDS[kind]).values())).ours
    given = {"kernel": kernel, "noise": 0.1, "policy": POLICIES[policy](), "rng": 3}
    study = mended(lived(zn.Study(KINDS[kind].space, budget=20, **given)))
    study.tell(study.ask(), 0.5)
    assert first_difference(study.settings, study.events) == ""


def test_a_learned_study_is_learned_again(tmp_path: Path) -> None:
    study = mended(lived(zn.Study(KINDS["dna"].space, budget=24, rng=3)))
    study.tell(study.ask(), 0.5)
    study.save(tmp_path / "learned.db")  # with what was recommended after each trial
    assert first_difference(study.settings, study.events) == ""


def test_the_first_difference_is_named(tmp_path: Path) -> None:
    study = lived(
        zn.Study(KINDS["line"].space, budget=20, kernel=zn.RBF(0.1, 0.1), noise=0.1, policy=zn.UCB(level=4))
    )
    study.save(tmp_path / "line.db")  # with what was recommended after each trial
    at = next(number for number, event in enumerate(study.events) if isinstance(event[0], Told))
    told, *others = study.events[at]
    assert isinstance(told, Told)
    changed = [*study.events[:at], (told._replace(value=told.value + 3), *others), *study.events[at + 1 :]]
    difference_text = first_difference(study.settings, changed)
    assert "(Told): the mean recommended was" in difference_text
    assert "would be" in difference_text
    assert "event 0 (Created): policy" in first_difference(
        replace(study.settings, policy=zn.UCB(level=3)), study.events
    )


def test_a_history_that_cannot_be_is_named() -> None:
    study = lived(zn.Study(KINDS["line"].space, budget=20, kernel=zn.RBF(0.1, 0.1), noise=0.1))
    assert "a study begins once" in first_difference(study.settings, study.events[1:])
    assert "a study begins once" in first_difference(study.settings, [study.events[0], study.events[0]])


def test_rounding_is_no_difference() -> None:
    assert difference((1.0, {"a": 0.1}), (1.0 + 1e-12, {"a": 0.1})) == ""
    assert difference(float("nan"), float("nan")) == ""
    assert difference((1, (2.0,)), (1, (2.1,))) == "1.0 was 2.0 and would be 2.1"


@pytest.mark.parametrize("policy", [None, zn.Random(level=3), zn.Above(0.3)], ids=repr)
def test_trials_asked_for_together_are_decided_again_in_the_order_of_their_route(policy: Any) -> None:
    study = zn.Study(
        {"x": (0, 1)}, budget=40.0, travel=3.0, kernel=zn.RBF(1.0, 0.1), noise=0.1, policy=policy, rng=2
    )
    for number in (3, None, 4, 2):
        asked = study.ask(number)
        for trial in asked if isinstance(asked, list) else [asked]:
            study.tell(trial, float(np.sin(9 * trial.region.center[0])))
    study.ask(2)
    study.ask()
    assert first_difference(study.settings, study.events) == ""
    wrong = list(study.events)
    *before, last = wrong[-1]
    assert isinstance(last, Asked)
    wrong[-1] = (*before, last._replace(cost=last.cost + 1))
    assert f"event {len(wrong) - 1} (Asked): cost was" in first_difference(study.settings, wrong)


@pytest.mark.parametrize("noise", [0.1, 0.0])
@pytest.mark.parametrize("policy", [None, zn.Random(level=3), zn.Above(0.3)], ids=repr)
def test_routes_within_what_is_possible_are_decided_again(policy: Any, noise: float) -> None:
    space = zn.Box({"x": (0, 1)}, smallest=1 / 16)
    given: dict[str, Any] = {"budget": 60.0, "travel": 3.0, "kernel": zn.RBF(1.0, 0.1), "noise": noise}
    study = zn.Study(space, policy=policy, rng=2, **given)
    left, right, strip = ({"x": edges} for edges in ((0, 0.5), (0.5, 1), (0.2, 0.3)))
    limits: list[dict[str, Any]] = [
        {"within": left},
        {"within": [left, right], "avoid": strip},
        {},
        {"avoid": right},
    ]
    for number, now in zip((3, 4, 2, 3), limits, strict=True):
        for trial in study.ask(number, **now):
            ((low, high),) = trial.region.bounds  # exact averages, which cannot contradict each other
            study.tell(trial, float((np.cos(9 * low) - np.cos(9 * high)) / (9 * (high - low))))
    study.forbid(strip)
    for number, now in zip((2, 3, 2), limits, strict=False):  # in a row, by calls with other limits
        study.ask(number, **now)
    assert first_difference(study.settings, study.events) == ""
    assert zn.Study.replay(study.settings, study.events).pending == study.pending
