"""The initial design where not all of its cells may be measured."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import zonal as zn
from benchmarks import edges
from benchmarks import forbidden as sky
from effort import tries
from eventful_studies import digest, value
from kinds import KINDS
from zonal.engine import commands, expand, policy, select
from zonal.engine.initial_design import of_depth
from zonal.storage.verify import first_difference

pytestmark = pytest.mark.one_in(2)


def opening(study: zn.Study) -> list[zn.Trial]:
    """Ask for the whole initial design, and nothing else."""
    trials = []
    while select.next_of_design(study._state) is not None:
        trials.append(study.ask())
    return trials


def cell_of(node: tuple[int, int], depth: int) -> int:
    """Return which cell of a depth holds a node, on a space that is halved."""
    return node[1] >> (node[0] - depth)


def masks(number: int) -> dict[str, sky.Cells]:
    rng = np.random.default_rng(number)
    return {name: shape(rng, sky.AGREED) for name, (shape, _) in sky.SHAPES.items()}


@pytest.mark.parametrize("shape", sky.SHAPES)
def test_in_the_place_of_a_forbidden_cell_one_of_its_largest_allowed_parts_is_measured(shape: str) -> None:
    mask = sky.Mask(masks(1)[shape])
    study = zn.Study(sky.SKY, budget=80, forbidden=mask)
    trials = opening(study)
    assert policy.design_size(study._state) == len(trials) <= 32
    by_cell = {cell_of(trial.node, 5): trial for trial in trials}
    assert len(by_cell) == len(trials)
    shares: list[Any] = []
    for index in range(32):
        levels = [
            [study.space.cell((depth, (index << depth - 5) + k)) for k in range(1 << depth - 5)]
            for depth in range(5, 10)
        ]
        shares.append(np.mean([not mask(one) for one in levels[-1]]))
        largest = next(
            ([one.node for one in level if not mask(one)] for level in levels if not all(map(mask, level))), []
        )
        assert index not in by_cell or by_cell[index].node in largest
    usual = np.mean([share for share in shares if share])
    assert {index for index in range(32) if shares[index] >= usual / 2} <= by_cell.keys()


def test_slivers_along_an_edge_get_as_many_measurements_as_their_size_is_worth() -> None:
    studies = {edge: zn.Study(edges.SKY, budget=80, forbidden=[{"sin_b": (-1, edge)}]) for edge in edges.EDGES}
    near = {
        edge: sum(abs(trial.region.center[1] - edge) < edges.NEAR for trial in opening(study))
        for edge, study in studies.items()
    }
    assert near == {-0.6: 2, -0.625: 2, -0.5: 0}  # of 26 and 24; both were 8 of 32


@pytest.mark.parametrize("kind", edges.KINDS)
def test_a_search_does_not_walk_along_the_edge_of_what_is_forbidden(kind: str) -> None:
    number = tries(2, 12)
    runs = [edges.search(kind, edges.EDGES[0], seed) for seed in range(number)]
    assert 10 * sum(run.near for run in runs) <= sum(run.total for run in runs)
    if number > 2:
        on_grid = [[edges.search(kind, edge, seed).hit for seed in range(number)] for edge in edges.EDGES[1:]]
        assert sum(run.hit for run in runs) >= min(map(sum, on_grid))


def test_with_nothing_forbidden_the_opening_is_all_cells_in_their_scattered_order() -> None:
    allowed, free = (zn.Study(sky.SKY, budget=80, forbidden=never) for never in (lambda region: False, None))
    assert [trial.node for trial in opening(allowed)] == [trial.node for trial in opening(free)]
    assert len(allowed.events[0]) == 1 + 5  # Began, and a level after the other


@pytest.mark.parametrize("kind", ["line", "mixed", "dna", "points", "hierarchy"])
@pytest.mark.parametrize("policy", [None, zn.GPOO()], ids=["default", "GPOO"])
def test_what_was_split_for_the_opening_is_replayed_to_the_last_bit(kind: str, policy: Any) -> None:
    whole = KINDS[kind].space.cell((0, 0)).weight

    def large(region: zn.Region) -> bool:
        return bool(region.weight > whole / 20)

    study = zn.Study(KINDS[kind].space, budget=20, forbidden=large, policy=policy, rng=1)
    for trial in [*opening(study), study.ask(), study.ask()]:
        study.tell(trial, value(trial.node))
    again = zn.Study.replay(study.settings, study.events)
    assert digest(again) == digest(study)
    assert again._state.initial_design == study._state.initial_design
    assert again.ask().node == study.ask().node


@pytest.mark.parametrize("base", [2, 5])
def test_the_user_is_asked_about_few_parts_of_each_cell(base: int) -> None:
    asked = []

    def never(region: zn.Region) -> bool:
        asked.append(region.node)
        return True

    study = zn.Study(zn.Box([(0, 1)] * 6, arity=base, smallest=0.001), budget=160, forbidden=never)
    cells = of_depth(study._state, study._state.created.opening)
    assert len(asked) <= (expand.MAX_PARTS + base) * len(cells) + 2 * len(cells)
    assert len(asked) == len(set(asked)) == len(study.tree)
    assert opening(study) == []


def test_a_study_from_before_parts_took_the_place_of_cells_is_read_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commands, "open_to_allowed", lambda *_: [])
    old = zn.Study(sky.SKY, budget=80, forbidden=[{"b": (-5, 5)}], rng=0)
    assert len(opening(copy.deepcopy(old))) == 16
    monkeypatch.undo()
    again = zn.Study.replay(old.settings, old.events)
    assert len(opening(again)) == 16
    again.ask()


# Cells that were failed.


def test_a_cell_given_up_for_good_gets_one_replacement() -> None:
    study = zn.Study([(0, 1)], budget=20, rng=0)
    first = study.ask()
    study.fail(first, retry=False)
    part = study.ask()
    assert part.node[0] == first.node[0] + 1
    assert cell_of(part.node, first.node[0]) == first.node[1]
    study.fail(part)  # within a region that was failed once is enough
    rest = opening(study)
    assert len(rest) == 7
    assert first.node[1] not in {cell_of(trial.node, first.node[0]) for trial in rest}


# Found all the same.


@pytest.mark.parametrize("seed", [2])
def test_a_source_whose_opening_cell_is_forbidden_is_found(seed: int) -> None:
    band = sky.SHAPES["band"][0](np.random.default_rng(0), sky.AGREED)
    assert sky.found(sky.AGREED, band, 8.0, seed)


def test_while_nothing_stands_out_what_nobody_has_looked_at_comes_before_second_looks() -> None:
    mask = sky.Mask(masks(3)["random"])
    study = zn.Study(sky.SKY, budget=80, forbidden=mask, rng=0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        study.tell(study.ask(), rng.standard_normal())
    assert study.tree.count.max() == 1


@pytest.mark.parametrize(("d", "budget", "cells"), [(6, 60, 16), (6, 30, 8), (5, 20, 8)])
def test_every_axis_is_halved_and_no_two_change_together_where_few_cells_can_be_paid_for(
    d: int, budget: int, cells: int
) -> None:
    study = zn.Study(zn.Box([(0, 1)] * d, smallest=1 / 4), budget=budget, rng=0)
    state = study._state
    centres = np.array([state.region(row).center for row in state.initial_design])
    assert len(centres) == cells == len({tuple(centre) for centre in centres.tolist()})
    assert set(np.unique(centres)) == {0.125, 0.875}  # of the halves, the outer half
    np.testing.assert_allclose(np.cov(centres.T, bias=True), np.eye(d) * 0.375**2, atol=1e-12)


@pytest.mark.parametrize(("d", "budget"), [(2, 9), (3, 19), (4, 39), (5, 40), (6, 160)])
def test_where_one_axis_at_most_stays_whole_all_cells_are_measured(d: int, budget: int) -> None:
    state = zn.Study(zn.Box([(0, 1)] * d, smallest=1 / 4), budget=budget, rng=0)._state
    assert len(state.initial_design) == 2**state.created.opening <= 2 * budget / 5


@pytest.mark.parametrize("arity", [2, 3])
def test_a_fraction_of_cells_is_replayed_and_decided_again(arity: int) -> None:
    box = zn.Box([(0, 1)] * 5, smallest=1 / arity**2, arity=arity)
    study = zn.Study(box, budget=math.ceil(2.5 * arity**3), rng=0)
    assert len(study._state.initial_design) < box.partition.count(study._state.created.opening)
    assert study._state.created.opening == 5
    study.optimize(lambda region: float(region.center.sum()))
    assert np.allclose([trial.region.widths for trial in study.trials[:4]], 1 / arity**2)
    assert first_difference(study.settings, study.events) == ""
    assert zn.Study.replay(study.settings, study.events).trials == study.trials


@pytest.mark.parametrize(("budget", "cells"), [(4, 0), (9, 0), (10, 4), (19, 4), (20, 8)])
def test_on_a_line_the_initial_design_begins_with_ten_measurements(budget: int, cells: int) -> None:
    assert len(zn.Study([(0, 1)], budget=budget)._state.initial_design) == cells
    assert zn.Study([(0, 1)], budget=budget, policy=zn.Above(0.0))._state.initial_design
    assert zn.Study([(0, 1)] * 2, budget=budget)._state.initial_design
    assert zn.Study([(0, 1)], budget=budget, kernel=zn.RBF(1.0, 0.1), noise=0.1)._state.initial_design
