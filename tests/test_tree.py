"""The node table: rows are added and never lost, a table never changes, and what is handed out is a snapshot."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

import zonal as zn
from grown_trees import COLUMNS, children, marked, rebuilt, root, shown, told
from zonal.tree import ASKABLE, EXPANDED, Tree, TreeTable


def grow(tree: Tree, row: int, arity: int = 2) -> Tree:
    """Return the table with the children of a row as a study adds them."""
    index = int(tree.index[row])
    return children(tree, row, [arity * index + j for j in range(arity)])


def column(tree: Tree, name: str) -> list[float]:
    """Return one column."""
    values: list[float] = getattr(tree, name).tolist()
    return values


def test_a_tree_starts_with_its_root() -> None:
    tree = root(0.3)
    assert tree.size == 1
    expected = {"depth": 0, "index": 0, "parent": -1, "first_child": -1, "count": 0, "noise": 0.3, "slot": 0}
    assert {name: column(tree, name) for name in expected} == {name: [value] for name, value in expected.items()}
    assert column(tree, "askable") == column(tree, "splittable") == [True]
    assert column(tree, "expanded") == column(tree, "smallest") == column(tree, "forbidden") == [False]
    other = root(0.3, splittable=False, forbidden=True)
    assert column(other, "askable") == column(other, "splittable") == [False]
    assert column(other, "smallest") == column(other, "forbidden") == [True]


def test_children_are_adjacent_rows_that_know_their_parent() -> None:
    tree = children(root(0.1), 0, [0, 1, 2], noise=[0.2, 0.3, 0.4], slot=5)
    tree = children(tree, 2, [3, 4, 5], noise=[0.5, 0.6, 0.7], slot=8)
    assert column(tree, "depth") == [0, 1, 1, 1, 2, 2, 2]
    assert column(tree, "index") == [0, 0, 1, 2, 3, 4, 5]
    assert column(tree, "parent") == [-1, 0, 0, 0, 2, 2, 2]
    assert column(tree, "first_child") == [1, -1, 4, -1, -1, -1, -1]
    assert column(tree, "noise") == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert column(tree, "slot") == [0, 5, 6, 7, 8, 9, 10]
    assert column(tree, "askable") == [False, True, False, True, True, True, True]
    assert column(tree, "splittable") == [False, True, False, True, True, True, True]
    assert column(tree, "count") == column(tree, "trials") == [0] * 7


def test_families_of_several_sizes_are_split_together_as_one_after_the_other() -> None:
    start = grow(root(0.1), 0, 3)
    apart = children(start, 3, [6, 7, 8], expanded=True, noise=[0.3] * 3)
    apart = children(apart, 1, [0, 1], expanded=True, noise=[0.4] * 2, forbidden=np.array([True, False]))
    nodes = start.split(
        [3, 1],
        [3, 2],
        True,
        False,
        np.array([6, 7, 8, 0, 1]),
        start.size,
        np.zeros(5, dtype=bool),
        np.array([False, False, False, True, False]),
    )
    together = rebuilt(start, nodes, noise=np.append(start.noise, [0.3, 0.3, 0.3, 0.4, 0.4]))
    for name in COLUMNS:
        assert column(together, name) == column(apart, name), name
    assert column(together, "askable")[-2:] == [False, True]  # what is forbidden is not measured


def test_nodes_that_may_still_be_measured_stay_askable() -> None:
    tree, none = root(0.1), np.zeros(2, dtype=bool)
    tree = rebuilt(tree, tree.split([0], [2], True, True, np.array([0, 1]), 1, ~none, none))
    assert column(tree, "askable") == [True, True, True]
    assert column(tree, "expanded") == [True, False, False]
    assert column(tree, "splittable") == [False, False, False]


def test_growing_keeps_every_row() -> None:
    tree = root(0.1)
    rng = np.random.default_rng(0)
    for row in range(400):
        tree = marked(grow(tree, row), row, EXPANDED, True)
        for _ in range(row % 3):
            tree = told(tree, row, float(rng.normal()))
    rng = np.random.default_rng(0)
    for row in range(400):
        assert tree.count[row] == row % 3
        rewards = [rng.normal() for _ in range(row % 3)]
        if rewards:
            mean, error = tree.own_rewards(np.array([row]))
            assert mean[0] == pytest.approx(np.mean(rewards), abs=1e-15)
            assert error[0] == pytest.approx(0.1 / np.sqrt(len(rewards)))
        assert tree.expanded[row]
        assert tree.first_child[row] == 2 * row + 1
        assert not tree.askable[row]
    assert tree.size == 801
    np.testing.assert_array_equal(tree.parent[1:801], (np.arange(1, 801) - 1) // 2)
    assert tree.askable[400:801].all()
    assert not tree.expanded[400:801].any()


def test_indices_are_exact_up_to_the_last_that_fits() -> None:
    largest = 2**63 - 1
    tree = children(root(0.1), 0, [largest - 1, largest])
    assert column(tree, "index")[1:] == [largest - 1, largest]


def test_what_may_be_measured_or_split_is_in_contention() -> None:
    tree = grow(root(0.1), 0)
    assert tree.askable.nonzero()[0].tolist() == tree.contenders.tolist() == [1, 2]
    assert tree.expanded.nonzero()[0].tolist() == []
    blocked = marked(tree, 1, ASKABLE, False)
    assert blocked.contenders.tolist() == [1, 2]  # it may be split
    assert grow(blocked, 1).contenders.tolist() == [2, 3, 4]
    smallest = marked(children(tree, 1, [0, 1], smallest=True), 3, ASKABLE, False)
    assert smallest.contenders.tolist() == [2, 4]
    assert tree.contenders.tolist() == [1, 2]


def test_another_posterior_is_seen_without_touching_the_table() -> None:
    tree = shown(grow(root(0.1), 0), mean=[0, 0, 0], std=[1, 2, 3])
    seen = shown(tree, mean=[1.0, 2.0, 3.0], std=[0.5, 0.6, 0.7])
    assert seen.std.tolist() == [0.5, 0.6, 0.7]
    assert column(tree, "std") == [1, 2, 3]
    assert seen.mean.tolist() == [1, 2, 3]
    assert column(tree, "mean") == [0, 0, 0]
    assert seen.size == 3


def test_ties_go_to_the_smallest_depth_then_the_smallest_index() -> None:
    tree = grow(root(0.1), 0)  # rows 1, 2
    tree = grow(tree, 2)  # rows 3, 4: (2, 2), (2, 3)
    tree = grow(tree, 1)  # rows 5, 6: (2, 0), (2, 1), later rows but smaller indices
    assert tree.ties(np.array([3, 4, 5, 6])) == 5
    assert tree.ties(np.array([3, 4, 6])) == 6
    assert tree.ties(np.array([4, 3])) == 3
    assert tree.ties(np.array([5, 3, 2])) == 2
    assert tree.ties(np.array([6, 0])) == 0


def test_a_snapshot_is_in_the_users_units() -> None:
    tree = shown(grow(root(0.1), 0), mean=[1, 2, -3], std=[0.1, 0.2, 0.3])
    assert tree.snapshot(10.0, 1.0).mean.tolist() == [11, 12, 7]
    assert tree.snapshot(10.0, -1.0).mean.tolist() == [9, 8, 13]
    assert tree.snapshot(10.0, -1.0).std.tolist() == [0.1, 0.2, 0.3]
    assert told(tree, 1, 4.0).snapshot(10.0, -1.0).reward.tolist() == pytest.approx(
        [np.nan, -4, np.nan], nan_ok=True
    )
    assert column(tree, "mean") == [1, 2, -3]


def test_a_snapshot_has_one_entry_a_node_and_cannot_be_written() -> None:
    tree = told(grow(root(0.1), 0), 0, 1.0)
    table, before = tree.snapshot(0.0, 1.0), {name: column(tree, name) for name in COLUMNS}
    assert len(table) == 3
    kinds = {
        **dict.fromkeys(("depth", "index", "parent", "first_child", "count"), np.int64),
        **dict.fromkeys(("mean", "std", "noise", "reward"), np.float64),
        **dict.fromkeys(("expanded", "askable", "smallest", "forbidden"), np.bool_),
    }
    assert kinds.keys() == {entry.name for entry in fields(TreeTable)}
    for name, kind in kinds.items():
        values = getattr(table, name)
        assert values.shape == (3,)
        assert values.dtype == kind
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1
        with suppress(ValueError):  # whoever insists changes no more than the copy
            values.flags.writeable = True
            values[:] = 1
    assert {name: column(tree, name) for name in COLUMNS} == before


def test_a_snapshot_does_not_follow_the_tree() -> None:
    tree = root(0.1)
    table = tree.snapshot(0.0, 1.0)
    other = told(marked(shown(tree, mean=[5.0]), 0, EXPANDED, True), 0, 3.0)
    assert grow(other, 0).size == 3
    assert len(table) == 1
    assert table.mean.tolist() == [0]
    assert table.expanded.tolist() == [False]
    assert table.first_child.tolist() == [-1]
    assert table.count.tolist() == [0]


@pytest.mark.parametrize("arity", [2, 3, 5])
def test_the_table_of_a_study_is_a_tree(arity: int) -> None:
    study = zn.Study(
        zn.Box([(0, 1)], arity=arity),
        budget=130,
        kernel=zn.RBF(0.1, 0.1),
        noise=0.05,
        policy=zn.GPOO(delta=zn.GeometricDelta(30, 0.9), h_max=8),
    )
    study.optimize(lambda region: float(np.sin(9 * region.center[0])))
    tree = study.tree
    assert len(tree) > 256  # has grown
    assert (tree.depth[0], tree.index[0], tree.parent[0]) == (0, 0, -1)
    parents = tree.parent[1:]
    np.testing.assert_array_equal(tree.depth[1:], tree.depth[parents] + 1)
    np.testing.assert_array_equal(tree.index[1:] // arity, tree.index[parents])
    inner = np.flatnonzero(tree.first_child >= 0)
    for j in range(arity):  # no child is forgotten
        np.testing.assert_array_equal(tree.index[tree.first_child[inner] + j], arity * tree.index[inner] + j)
        np.testing.assert_array_equal(tree.parent[tree.first_child[inner] + j], inner)
    assert 1 + arity * len(inner) == len(tree)
    assert len(set(zip(tree.depth.tolist(), tree.index.tolist(), strict=True))) == len(tree)
    np.testing.assert_array_equal(tree.askable, tree.first_child < 0)
    np.testing.assert_array_equal(tree.expanded, tree.first_child >= 0)
    counts = {(int(h), int(i)): int(n) for h, i, n in zip(tree.depth, tree.index, tree.count, strict=True) if n}
    told = [trial.node for trial in study.trials]
    assert counts == {node: told.count(node) for node in told}
    assert (tree.std >= 0).all()
    assert (tree.noise == 0.05).all()


CHANGES: dict[str, Callable[[Tree], Tree]] = {
    "measured": lambda tree: told(tree, 1, 0.5),
    "looked": lambda tree: tree.with_pending({0: SimpleNamespace(row=1, window=None)}),
    "marked": lambda tree: marked(tree, 1, EXPANDED, True),
    "having": lambda tree: shown(tree, mean=[7, 8, 9], std=[7, 8, 9], noise=[1, 2, 3]),
    "at slots": lambda tree: rebuilt(tree, tree.at_slots(1, np.array([9, 8]))),
    "split": lambda tree: grow(tree, 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_happens_makes_another_table_and_leaves_this_one_as_it_was(change: str) -> None:
    tree = told(grow(root(0.1), 0), 0, 0.2)
    assert tree.contenders.tolist() == [1, 2]
    before, columns = tree.snapshot(0.0, 1.0), {name: column(tree, name) for name in COLUMNS}
    other = CHANGES[change](tree)
    for row in range(1, 300) if change != "split" else range(2, 300):  # and on and on
        other = grow(CHANGES["measured"](other), row)
    assert tree.snapshot(0.0, 1.0) == before
    assert {name: column(tree, name) for name in COLUMNS} == columns
    assert tree.contenders.tolist() == [1, 2]
    assert other.size > 500
    again = CHANGES[change](tree)
    assert {name: column(again, name) for name in COLUMNS} != columns


def test_what_a_policy_reads_cannot_be_written() -> None:
    grown = grow(root(0.1), 0)
    for tree in (grown, *(change(grown) for name, change in CHANGES.items() if name != "split")):
        for name in (*COLUMNS, "contenders"):
            values = getattr(tree, name)
            if name in ("splittable",):  # computed when asked for
                continue
            assert len(values) == (2 if name == "contenders" else 3)
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1


def test_tables_are_compared_entry_by_entry() -> None:
    one, other = root(0.1), root(0.1)
    assert one.snapshot(0.0, 1.0) == other.snapshot(0.0, 1.0)
    assert one.snapshot(0.0, 1.0) != other.snapshot(1.0, 1.0)
    assert one.snapshot(0.0, 1.0) != "a table"
