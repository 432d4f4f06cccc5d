"""Every policy on every kind of space: budgets, nodes that exist, several trials at once."""

from typing import Any

import numpy as np
import pytest

import kinds
import zonal as zn
from kinds import KINDS, Kind
from policies.test_laws import POLICIES

pytestmark = pytest.mark.one_in(2)

every_policy = pytest.mark.parametrize("name", POLICIES)
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def make(kind: Kind, name: str, budget: int, **changes: Any) -> zn.Study:
    pair = next(iter(kinds.kernels(kind).values()))
    settings: dict[str, Any] = {"noise": 0.1, "policy": POLICIES[name](), "rng": 3}
    return zn.Study(kind.space, budget=budget, kernel=pair.ours, **{**settings, **changes})


def height(region: zn.Region) -> float:
    """Return something that differs between regions, the same in every process."""
    return 0.5 + 0.4 * float(np.sin(len(region.name) + 3 * region.weight))


def check_nodes(kind: Kind, study: zn.Study) -> None:
    """Check that every node asked for, and every row of the tree, is one of the space's."""
    existing = {cell.node: cell for cell in kinds.cells(kind.space, most=3000, deepest=40)}
    deepest = max(depth for depth, _ in existing)
    for record in study.trials:
        if record.node is None:  # a window
            continue
        depth, _ = record.node
        assert study.space.cell(record.node, study.settings.feedback) == record.region
        assert depth > deepest or record.node in existing
    tree = study.tree
    nodes = list(zip(tree.depth.tolist(), tree.index.tolist(), strict=True))
    assert len(set(nodes)) == len(nodes)
    for row, node in enumerate(nodes):
        region = study.space.cell(node)
        assert (tree.parent[row] < 0) == (node == (0, 0))
        if tree.first_child[row] >= 0:
            children = [child.node for child in study.space.split(region)]
            first = int(tree.first_child[row])
            assert nodes[first : first + len(children)] == children
            assert set(tree.parent[first : first + len(children)].tolist()) == {row}


@pytest.mark.one_in(7)
@every_kind
@every_policy
def test_the_budget_is_spent_exactly_on_nodes_that_exist(name: str, kind: Kind) -> None:
    study = make(kind, name, budget=15)
    result = study.optimize(height)
    assert (study.measured, study.remaining, len(study.trials), result.nfev) == (15, 0, 15, 15)
    with pytest.raises(zn.BudgetSpent):
        study.ask()
    check_nodes(kind, study)
    assert np.isfinite(result.mean)
    best = study.recommend(on_grid=True)
    assert study.space.cell(best.node, study.settings.feedback) == best.region
    assert result.region == study.recommend().region
    study.extend(2)
    assert len(study.ask(2)) == 2


@pytest.mark.one_in(7)
@every_kind
@every_policy
def test_several_trials_may_be_pending_and_are_told_in_any_order(name: str, kind: Kind) -> None:
    study = make(kind, name, budget=12)
    for _ in range(3):
        batch = study.ask(4)
        assert len({trial.number for trial in batch}) == 4
        for trial in reversed(batch):
            study.tell(trial, height(trial.region))
    assert study.measured == 12
    assert np.isfinite(study.recommend().mean)
    check_nodes(kind, study)


@every_kind
def test_gpoo_goes_down_to_the_smallest_regions_where_they_can_be_reached(kind: Kind) -> None:
    pair = next(iter(kinds.kernels(kind).values()))
    study = zn.Study(kind.space, budget=30, kernel=pair.ours, noise=0.01)
    study.optimize(height)
    check_nodes(kind, study)
    deepest, reached = kind.space.max_depth(), int(study.tree.depth.max())
    assert reached >= (1 if deepest is None else min(deepest, 2))
    assert deepest is None or reached <= deepest


@every_kind
def test_each_region_is_measured_at_most_as_often_as_allowed_until_none_is_left(kind: Kind) -> None:
    pair = next(iter(kinds.kernels(kind).values()))
    policy = zn.GPOO(zn.GeometricDelta(2, 0.5), h_max=2)
    study = zn.Study(kind.space, budget=500, kernel=pair.ours, noise=0.1, max_replicates=1, policy=policy)
    assert not study.optimize(height).success
    with pytest.raises(zn.Exhausted):
        study.ask()
    asked = [record.node for record in study.trials]
    assert len(set(asked)) == len(asked)
    levels = list(kinds.levels(kind.space, most=500, deepest=3))
    # Every leaf of the tree down to depth 3 was measured; those above may have been passed over.
    leaves = {c.node for level in levels for c in level if c.node[0] == 3 or not kind.space.may_split(c)}
    assert leaves <= set(asked)


def test_regions_that_cannot_be_measured_are_left_out_on_a_ragged_tree() -> None:
    kind = KINDS["hierarchy"]
    study = make(kind, "GPOO", budget=10)
    study.fail(study.ask(), retry=False)  # the whole: its children are asked for instead
    trials = study.ask(3)
    assert {trial.region.name for trial in trials} == {"North", "South", "Isle"}
    isle = next(trial for trial in trials if trial.region.name == "Isle")
    study.fail(isle, retry=False)
    for trial in trials:
        if trial is not isle:
            study.tell(trial, 0.5)
    while study.remaining:
        trial = study.ask()
        assert trial.region.name not in ("all", "Isle")
        study.tell(trial, 0.5)
