"""Deciding everything again gives the same; where it does not, the first difference is named."""

from dataclasses import replace

import pytest

import zonal as zn
from kinds import KINDS, kernels
from lives import POLICIES, lived, mended
from zonal.rounds.events import Measured
from zonal.rounds.recheck import difference, first_difference


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["line", "points", "mixed"])
def test_the_same_rules_decide_the_same(kind: str, policy: str) -> None:
    kernel = next(iter(kernels(KINDS[kind]).values())).ours
    given = {"kernel": kernel, "noise": 0.1, "policy": POLICIES[policy](), "rng": 3}
    study = mended(lived(zn.Study(KINDS[kind].space, budget=20, **given)))
    study.tell(study.ask(), 0.5)
    assert first_difference(study.settings, study.events) == ""


def test_a_learned_study_is_learned_again() -> None:
    study = mended(lived(zn.Study(KINDS["dna"].space, budget=24, rng=3)))
    study.tell(study.ask(), 0.5)
    assert first_difference(study.settings, study.events) == ""


def test_the_first_difference_is_named() -> None:
    study = lived(
        zn.Study(KINDS["line"].space, budget=20, kernel=zn.RBF(0.1, 0.1), noise=0.1, policy=zn.UCB(level=4))
    )
    at = next(number for number, event in enumerate(study.events) if isinstance(event[0], Measured))
    told, *others = study.events[at]
    assert isinstance(told, Measured)
    changed = [*study.events[:at], (told._replace(value=told.value + 3), *others), *study.events[at + 1 :]]
    found = first_difference(study.settings, changed)
    assert "(Asked)" in found
    assert "would be" in found
    assert "event 0 (Began): policy" in first_difference(
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
