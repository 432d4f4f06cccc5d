"""Policies of one's own may have the initial design of the default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.policies import BoundPolicy, PolicyContext, RngFactory, Rows, Views, best
from zonal.policies.baselines import Leaves
from zonal.storage.verify import first_difference
from zonal.tree import Tree

PLANE = zn.Box([(0, 1), (0, 1)], smallest=1 / 16)


@dataclass(frozen=True)
class Greedy(Leaves):
    """Measure the region with the highest upper bound."""

    initial_design: bool = False

    def pick(self, tree: Tree, rows: Rows, t: int, views: Views, context: PolicyContext, rng: RngFactory) -> int:
        """Return the row with the highest upper bound."""
        return best(tree, rows, tree.mean[rows] + 0.5 * tree.std[rows], context.tie)


@dataclass(frozen=True)
class Halving(zn.Policy):
    """The inherited methods, with the initial design."""

    initial_design: bool = True


def hill(x: Any) -> Any:
    return np.exp(-0.5 * (((x - np.array([0.7, 0.3])) / 0.08) ** 2).sum(axis=1))


def searched(policy: zn.Policy, **given: Any) -> zn.Study:
    study = zn.Study(PLANE, budget=50, noise=0.05, policy=policy, rng=0, **given)
    study.optimize(zn.simulate(hill, zn.Mean(), noise=0.05, rng=0), n=40)
    return study


def truth(study: zn.Study) -> float:
    return float(zn.simulate(hill, zn.Mean(), noise=0.0)(study.recommend().region))


def test_a_policy_of_leaves_that_starts_blind_finds_the_hill_with_the_initial_design() -> None:
    blind, sighted = searched(Greedy()), searched(Greedy(initial_design=True))
    assert truth(blind) < 0.3
    assert truth(sighted) > 0.8
    assert all(trial.region.weight == pytest.approx(1 / 256) for trial in sighted.trials)


def test_the_initial_design_of_leaves_has_one_in_every_cell() -> None:
    study = searched(Greedy(initial_design=True), kernel=zn.RBF(1.0, 0.05))
    opening = study._state.initial_design
    first = [trial.node for trial in study.trials[: len(opening)]]
    assert sorted(first) == sorted(study._state.structure.node(row) for row in opening)
    cells = {tuple((4 * trial.region.center).astype(int)) for trial in study.trials[: len(opening)]}
    assert len(cells) == len(opening) == 16
    assert first_difference(study.settings, study.events) == ""


def test_policies_without_the_flag_choose_from_the_first_trial_on_and_others_split_to_it() -> None:
    assert zn.Study(PLANE, budget=50, policy=zn.UCB())._state.initial_design == ()
    assert zn.Study(PLANE, budget=50, policy=zn.GPOO(h_max=3), kernel=zn.RBF(1.0, 0.1))._state.initial_design == ()
    study = zn.Study(PLANE, budget=50, kernel=zn.RBF(1.0, 0.1), noise=0.1, policy=Halving())
    assert len(study._state.initial_design) == 16
    assert study.ask().node[0] == 4


def test_a_forbidden_cell_of_the_initial_design_is_left_out_and_another_has_an_allowed_leaf() -> None:
    study = zn.Study(PLANE, budget=50, policy=Greedy(initial_design=True), forbidden=[[(0, 0.3), (0, 1)]])
    regions = [study._state.region(row) for row in study._state.initial_design]
    assert len(regions) == 12
    assert all(region.bounds[0, 0] >= 0.3 for region in regions)


def test_what_a_policy_gets_is_explained_where_people_look() -> None:
    for part in (Views, RngFactory, PolicyContext, BoundPolicy, zn.Policy):
        assert part.__doc__
        assert len(part.__doc__) > 60
    assert "initial_design" in str(zn.Policy.__doc__)
