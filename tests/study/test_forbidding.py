"""What turns out to be forbidden while a study runs, and what is allowed again."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from eventful_studies import POLICIES, digest, value
from kinds import KINDS
from zonal.engine.events import Forbidden
from zonal.storage.verify import first_difference
from zonal.web.methods_section import methods


def begun(rounds: int = 6, **more: Any) -> zn.Study:
    """Return a study on a line of which the left end is best."""
    given: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "rng": 1}
    study = zn.Study(zn.Box([(0, 1)], smallest=1 / 64), budget=60, **(given | more))
    for _ in range(rounds):
        trial = study.ask()
        study.tell(trial, float(1 - trial.region.center[0]))
    return study


def untouched(study: zn.Study, region: zn.Region, rounds: int = 5) -> None:
    """Check that a region is neither asked for nor recommended, in any part."""
    for best in study.recommend(3):
        assert not region.overlaps(best.region) or best.node == (0, 0)  # the root stands for "nothing yet"
    for _ in range(rounds):
        trial = study.ask()
        assert not region.overlaps(trial.region)
        study.tell(trial, value(trial.node))
    assert not region.overlaps(study.recommend().region) or study.recommend().region.node == (0, 0)
    tree = study.tree
    for row in range(len(tree)):
        cell = study.space.cell((int(tree.depth[row]), int(tree.index[row])))
        assert tree.forbidden[row] == region.overlaps(cell)
    assert not (tree.askable & tree.forbidden).any()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_asks_for_or_recommends_what_was_forbidden(policy: str) -> None:
    study = begun(policy=POLICIES[policy]())
    wall = study.space.region([(0.05, 0.3)])
    assert study.forbid(wall, "a wall", by="Anna") == []
    untouched(study, wall)
    assert study.forbidden == (wall,)
    (fact,) = (own for event in study.events for own in event if isinstance(own, Forbidden))
    assert (fact.region, fact.note, fact.by) == (wall, "a wall", "Anna")
    assert digest(zn.Study.replay(study.settings, study.events)) == digest(study)
    assert first_difference(study.settings, study.events) == ""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
def test_in_every_space_a_part_can_be_forbidden_and_allowed_again(kind: str, tmp_path: Path) -> None:
    space = KINDS[kind].space
    study = zn.Study.create(tmp_path / "wall.db", space, budget=40, noise=0.1, rng=1)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, value(trial.node))
    part = space.split(space.cell((0, 0)))[0]
    study.forbid(part)
    untouched(study, part, rounds=3)
    opened = zn.Study.open(tmp_path / "wall.db")
    assert digest(opened) == digest(study)
    assert digest(copy.copy(study)) == digest(study)
    assert opened.allow(part) == 1
    assert opened.forbidden == ()
    assert not opened.tree.forbidden.any()
    assert opened.tree.askable.all()


def test_values_measured_there_stay_in_the_model_and_allowing_brings_everything_back() -> None:
    study = begun()
    places: Any = [[(0, 0.1)], [(0.5, 0.6)]]
    before, best = study.predict(places), study.recommend().region
    study.forbid([(0, 0.2)])
    assert digest(pickle.loads(pickle.dumps(study))) == digest(study)
    assert study.recommend().region != best
    after = study.predict(places)
    assert np.array_equal(before.mean, after.mean)
    assert np.array_equal(before.std, after.std)
    assert study.allow([(0, 0.25)]) == 1
    assert study.recommend().region == best


def test_forbidding_later_is_forbidding_from_the_start_for_what_comes_then() -> None:
    wall = [{"x": (0.1, 0.35)}]
    first = zn.Study(
        zn.Box([(0, 1)], smallest=1 / 64), budget=20, kernel=zn.RBF(1, 0.2), noise=0.1, forbidden=wall
    )
    later = zn.Study(zn.Box([(0, 1)], smallest=1 / 64), budget=20, kernel=zn.RBF(1, 0.2), noise=0.1)
    later.forbid(wall[0])
    for study in (first, later):
        study.observe([(0.5, 0.75)], 0.4)
    assert np.array_equal(np.sort(first.tree.forbidden), np.sort(later.tree.forbidden))
    assert first.recommend().region == later.recommend().region


def test_what_forbidden_said_at_the_start_stays_and_give_ups_are_counted_with_it() -> None:
    study = begun(forbidden=[{"x": (0.8, 1)}], max_replicates=2)
    study.forbid([(0.7, 0.9)])
    study.forbid([(0.1, 0.2)])
    study.forbid([(0.1, 0.2)])  # does nothing
    study.fail(study.ask(), retry=False)
    assert len(study.forbidden) == 2
    with pytest.raises(zn.InvalidInput, match=r"allowed as a whole: x 0\.7\.\.0\.9"):
        study.allow([(0.72, 0.74)])
    assert study.allow([(0, 1)]) == 3
    with pytest.raises(zn.InvalidInput, match="nothing failed or was forbidden within"):
        study.allow([(0, 0.5)])
    cells = [study.space.cell((6, index)) for index in range(64)]
    tree = study.tree
    bottom = {int(tree.index[row]): bool(tree.forbidden[row]) for row in range(len(tree)) if tree.depth[row] == 6}
    assert bottom == {index: cell.bounds[0, 1] > 0.8 for index, cell in enumerate(cells)}
    measured = tree.count >= 2
    assert np.array_equal(tree.askable, ~tree.forbidden & ~measured)


def test_trials_under_way_there_are_named_and_stay_under_way() -> None:
    study = begun()
    trials = study.ask(3)
    there = study.forbid(trials[1].region)
    assert trials[1] in there
    assert len(study.pending) == 3
    study.tell(trials[1], 0.5)
    assert study.trials[trials[1].number].state == "measured"


def test_the_past_is_as_it_was_before() -> None:
    study = begun()
    best = study.recommend().region
    study.forbid([(0, 0.2)])
    trial = study.ask()
    study.tell(trial, 0.1)
    then, now = study.snapshot(6, 7)
    assert now.forbidden
    assert then.recommend().region == best or then.forbidden  # before or after it was forbidden
    assert now.tree.forbidden.any()


def test_neither_the_whole_space_nor_its_two_halves_are_forbidden() -> None:
    study = begun()
    before = len(study.events)
    with pytest.raises(zn.InvalidInput, match="this would forbid the whole space"):
        study.forbid([(0, 1)])
    with pytest.raises(zn.InvalidInput, match="a note"):
        study.forbid([(0, 0.5)], note=3)  # type: ignore[arg-type]
    assert len(study.events) == before
    large = zn.Study(zn.Box([(0, 1)] * 3, smallest=1 / 64), budget=30, kernel=zn.RBF(1, 0.2), noise=0.1)
    large.forbid({"x0": (0, 0.5)})
    with pytest.raises(zn.InvalidInput, match="would leave nothing to measure"):
        large.forbid({"x0": (0.5, 1)})
    assert large.ask().region.bounds[0, 0] >= 0.5


def test_of_an_opening_cell_that_was_forbidden_later_a_large_part_is_measured_and_a_sliver_is_not() -> None:
    for wall, wanted in (((0.0, 0.02), 4), ((0.0, 0.06), 3)):
        study = zn.Study(zn.Box([(0, 1)], smallest=1 / 64), budget=10, rng=0)
        study.forbid([wall])
        asked = [study.ask().node for _ in range(4)]
        assert sum(node[0] >= 2 and node[1] >> (node[0] - 2) in range(4) for node in asked[:wanted]) == wanted


def test_it_is_hatched_in_pictures_as_what_was_forbidden_from_the_start() -> None:
    study = begun()
    study.forbid([(0.25, 0.5)])
    legend: Any = study.plot().figure.axes[0].get_legend()
    assert "forbidden" in [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("policy", [zn.UCB(), zn.GPOO(zn.SpreadDelta()), zn.Random(), None], ids=repr)
def test_what_was_forbidden_is_not_recommended_even_if_only_that_was_measured(policy: Any) -> None:
    space = zn.Box({"x": (0, 1)}, smallest=1 / 16)
    study = zn.Study(space, budget=9, noise=0.1, kernel=zn.RBF(1, 0.2), policy=policy)
    for _ in range(3):
        study.tell(study.ask(within=[(0, 0.5)]), 0.5)
    study.forbid([(0, 0.5)])
    assert study.recommend().region.bounds[0, 0] >= 0.5
    with pytest.raises(zn.InvalidInput, match="would leave nothing to measure"):
        study.forbid([(0.5, 1)])
    assert len(study.forbidden) == 1


def test_an_endless_list_of_regions_is_refused() -> None:
    study = zn.Study({"x": (0, 1)}, budget=9, noise=0.1, kernel=zn.RBF(1, 0.2))
    with pytest.raises(zn.InvalidInput, match="avoid must be a region, or a list"):
        study.ask(avoid=iter(int, 1))  # type: ignore[call-overload]


def test_methods_name_what_was_forbidden_later_and_trials_that_were_limited() -> None:
    study = zn.Study({"x": (0, 1)}, budget=9, noise=0.1, kernel=zn.RBF(1, 0.2))
    study.tell(study.ask(avoid=[(0.5, 1)]), 0.5)
    study.forbid([(0.25, 0.5)])
    text = methods(study)[0]
    assert "Later x 0.25..0.5 was forbidden too." in text
    assert "1 trial was limited to what was possible when asked for." in text
