"""What is possible now: `ask` with `within` and `avoid`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from eventful_studies import POLICIES, PRICES, digest, value
from kinds import KINDS
from zonal.storage.verify import first_difference
from zonal.study.history import pending_asked

HALVES = [(0.0, 0.5)], [(0.5, 1.0)]


def told(study: zn.Study, rounds: int, **now: Any) -> list[zn.Region]:
    """Ask and tell a few times, and return what was asked for."""
    asked = []
    for _ in range(rounds):
        trial = study.ask(**now)
        study.tell(trial, value(trial.node))
        asked.append(trial.region)
    return asked


@pytest.mark.one_in(2)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_asks_only_for_what_is_possible_now(policy: str) -> None:
    study = zn.Study([(0, 1)], budget=40, kernel=zn.RBF(1.0, 0.2), noise=0.1, policy=POLICIES[policy](), rng=1)
    within, avoid = study.space.region([(0.2, 0.9)]), study.space.region([(0.5, 0.6)])
    for region in told(study, 6, within=within, avoid=avoid):
        assert within.contains(region)
        assert not avoid.overlaps(region)
    told(study, 2)
    again = zn.Study.replay(study.settings, study.events)
    assert digest(again) == digest(study)
    assert again.ask(avoid=HALVES[0]).region.bounds[0, 0] >= 0.5
    assert first_difference(study.settings, study.events) == ""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
def test_in_every_space_a_trial_lies_within_one_region_and_overlaps_no_other(kind: str, tmp_path: Path) -> None:
    space = KINDS[kind].space
    study = zn.Study.create(tmp_path / "now.db", space, budget=30, noise=0.1, rng=1)
    first, *_, last = space.split(space.cell((0, 0)))
    parts = space.split(last) if space.may_split(last) else (last,)
    within = [first, parts[0]]
    for trial in study.ask(5, within=within, avoid=last):
        assert first.contains(trial.region)
    if len(parts) > 1:
        (only,) = told(study, 1, within=within, avoid=first)
        assert parts[0].contains(only)
    opened = zn.Study.open(tmp_path / "now.db")
    assert digest(opened) == digest(study)
    assert pending_asked(opened)[0].within == tuple(within)
    assert [region.key for region in pending_asked(opened)[0].avoid] == [last.key]


def test_without_limits_nothing_is_kept_and_nothing_changes() -> None:
    studies = [zn.Study([(0, 1)], budget=20, rng=3) for _ in range(2)]
    for _ in range(8):
        plain, other = studies[0].ask(), studies[1].ask(within=None, avoid=[])
        assert plain.node == other.node
        for study in studies:
            study.tell(plain.number, value(plain.node))
    assert {(asked.within, asked.avoid) for asked in studies[1]._state.asked} == {((), ())}


def test_the_opening_comes_back_to_what_was_not_possible() -> None:
    study = zn.Study([(0, 1)], budget=40, rng=0, gross_errors=False)
    assert all(region.bounds[0, 1] <= 0.5 for region in told(study, 20, within=HALVES[0]))
    cells = {region.node for region in told(study, 8) if region.node is not None and region.node[0] == 4}
    assert cells == {(4, index) for index in range(8, 16)}  # the other half of the sixteen


def test_where_the_tree_has_nothing_it_is_split_until_something_lies_within() -> None:
    narrow = [(0.30001, 0.30001 + 2.5 / 4096)]
    for policy in (None, zn.GPOO(zn.GeometricDelta(2.0, 0.6), h_max=12)):
        study = zn.Study(zn.Box([(0, 1)], smallest=1 / 4096), budget=9, kernel=zn.RBF(1, 0.2), policy=policy)
        (region,) = told(study, 1, within=narrow)
        assert 0.30001 <= region.bounds[0, 0] < region.bounds[0, 1] <= 0.30001 + 2.5 / 4096
    plane = zn.Study(zn.Box([(0, 1)] * 4, smallest=1 / 64), budget=40, rng=0)
    sizes = {region.weight for region in told(plane, 12, within=[(0, 0.25)] * 4)}
    assert len(sizes) > 1  # far too large a space to be grown whole, and still there is a choice


def test_what_cannot_be_asked_for_is_said_and_changes_nothing() -> None:
    study = zn.Study(zn.Box([(0, 1)], smallest=0.1), budget=9, kernel=zn.RBF(1, 0.2), noise=0.1)
    before = len(study.events)
    with pytest.raises(zn.Exhausted, match=r"nothing within x 0\.3\.\.0\.35 may be asked for.*Widen `within`"):
        study.ask(within=[(0.3, 0.35)])
    with pytest.raises(zn.Exhausted, match=r"nothing within x 0\.\.0\.5 and outside of x 0\.\.0\.9 may"):
        study.ask(3, within=HALVES[0], avoid=[(0, 0.9)])
    with pytest.raises(zn.InvalidInput, match="within= is empty"):
        study.ask(within=[])
    with pytest.raises(zn.InvalidInput, match="must lie within axis x"):
        study.ask(avoid=[(3, 4)])
    with pytest.raises(zn.InvalidInput, match="another space"):
        study.ask(avoid=zn.Sequences("AC", 2).region("A*"))
    assert len(study.events) == before


def test_a_key_stands_for_one_request_with_its_limits() -> None:
    study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1, 0.2), noise=0.1)
    trial = study.ask(key="night 1", within=HALVES[0])
    assert study.ask(key="night 1", within=HALVES[0]) == trial
    for other in ({}, {"within": HALVES[1]}, {"within": HALVES[0], "avoid": [(0, 0.1)]}):
        with pytest.raises(zn.InvalidInput, match="this key was used with other regions"):
            study.ask(key="night 1", **other)
    assert len(study.trials) == 1


def test_costs_and_travel_are_those_of_what_is_possible() -> None:
    study = zn.Study([(0, 1)], kernel=zn.RBF(1.0, 0.2), noise=0.1, rng=1, **PRICES)
    for trial in study.ask(4, avoid=HALVES[1]):
        assert trial.region.bounds[0, 1] <= 0.5
        study.tell(trial, value(trial.node))
    assert study.remaining == pytest.approx(PRICES["budget"] - study.spent)
    assert zn.Study.replay(study.settings, study.events).ask(avoid=HALVES[0]).region.bounds[0, 0] >= 0.5


def test_a_name_as_it_is_printed_is_as_good() -> None:
    study = zn.Study(zn.Box([(0, 1)], arity=3, smallest=0.01), budget=9, kernel=zn.RBF(1, 0.2), noise=0.1)
    third = study.space.split(study.space.cell((0, 0)))[1]
    assert third.name == "x 0.3333..0.6667"
    assert third.contains(study.ask(within=[(0.3333, 0.6667)]).region)
    last = study.space.split(study.space.cell((0, 0)))[2]
    for trial in study.ask(4, within=[(0.6667, 1)]):  # rounded inwards
        assert last.contains(trial.region)
    assert len({trial.node for trial in study.pending[1:]}) > 1
    assert digest(zn.Study.replay(study.settings, study.events)) == digest(study)
