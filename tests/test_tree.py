"""The node table: rows are added and never lost, and what is handed out is a snapshot."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.tree import KINDS, PLACES, Tree, TreeTable


def grow(tree: Tree, row: int, arity: int = 2) -> None:
    """Add the children of a row as a study does."""
    index = int(tree.index[row])
    children(tree, row, [arity * index + j for j in range(arity)])


def children(tree: Tree, row: int, index: list[int], **columns: Any) -> None:
    """Add children with some columns; they may be measured."""
    number = len(index)
    usual = {"noise": [0.1] * number, "slot": range(tree.size, tree.size + number), "askable": [True] * number}
    tree.write(row, askable=False)
    tree.split([row], [number], index=index, **(usual | columns))


def column(tree: Tree, name: str) -> list[float]:
    """Return the rows in use of one column."""
    values: list[float] = getattr(tree, name)[: tree.size].tolist()
    return values


def test_a_tree_starts_with_its_root() -> None:
    tree = Tree(0.3)
    assert tree.size == 1
    expected = {"depth": 0, "index": 0, "parent": -1, "first_child": -1, "count": 0, "noise": 0.3, "slot": 0}
    assert {name: column(tree, name) for name in expected} == {name: [value] for name, value in expected.items()}
    assert column(tree, "askable") == [True]
    assert column(tree, "expanded") == [False]


def test_children_are_adjacent_rows_that_know_their_parent() -> None:
    tree = Tree(0.1)
    children(tree, 0, [0, 1, 2], noise=[0.2, 0.3, 0.4], slot=range(5, 8))
    children(tree, 2, [3, 4, 5], noise=[0.5, 0.6, 0.7], slot=range(8, 11))
    assert column(tree, "depth") == [0, 1, 1, 1, 2, 2, 2]
    assert column(tree, "index") == [0, 0, 1, 2, 3, 4, 5]
    assert column(tree, "parent") == [-1, 0, 0, 0, 2, 2, 2]
    assert column(tree, "first_child") == [1, -1, 4, -1, -1, -1, -1]
    assert column(tree, "noise") == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert column(tree, "slot") == [0, 5, 6, 7, 8, 9, 10]
    assert column(tree, "askable") == [False, True, False, True, True, True, True]
    assert column(tree, "count") == [0] * 7


def test_growing_keeps_every_row() -> None:
    tree = Tree(0.1)
    rng = np.random.default_rng(0)
    for row in range(400):  # passes the first capacity more than once
        grow(tree, row)
        tree.write(row, count=row + 1, mean=rng.normal(), std=rng.random(), expanded=True)
    rng = np.random.default_rng(0)
    for row in range(400):
        assert tree.count[row] == row + 1
        assert (tree.mean[row], tree.std[row]) == (rng.normal(), rng.random())
        assert tree.expanded[row]
        assert tree.first_child[row] == 2 * row + 1
        assert not tree.askable[row]
    assert tree.size == 801
    np.testing.assert_array_equal(tree.parent[1:801], (np.arange(1, 801) - 1) // 2)
    assert tree.askable[400:801].all()
    assert not tree.expanded[400:801].any()


def test_indices_are_exact_up_to_the_last_that_fits() -> None:
    tree = Tree(0.1)
    largest = 2**63 - 1
    children(tree, 0, [largest - 1, largest])
    assert column(tree, "index")[1:] == [largest - 1, largest]


def test_rows_not_in_use_are_never_chosen() -> None:
    tree = Tree(0.1)
    grow(tree, 0)
    assert tree.askable.nonzero()[0].tolist() == [1, 2]
    assert tree.expanded.nonzero()[0].tolist() == []


def test_another_posterior_is_seen_without_touching_the_table() -> None:
    tree = Tree(0.1)
    grow(tree, 0)
    tree.fill(std=[1, 2, 3])
    seen = tree.with_posterior(np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.6, 0.7]))
    assert seen.std[:3].tolist() == [0.5, 0.6, 0.7]
    assert column(tree, "std") == [1, 2, 3]
    assert seen.mean[:3].tolist() == [1, 2, 3]
    assert column(tree, "mean") == [0, 0, 0]
    assert seen.size == 3


def test_ties_go_to_the_smallest_depth_then_the_smallest_index() -> None:
    tree = Tree(0.1)
    grow(tree, 0)  # rows 1, 2
    grow(tree, 2)  # rows 3, 4: (2, 2), (2, 3)
    grow(tree, 1)  # rows 5, 6: (2, 0), (2, 1), later rows but smaller indices
    assert tree.ties(np.array([3, 4, 5, 6])) == 5
    assert tree.ties(np.array([3, 4, 6])) == 6
    assert tree.ties(np.array([4, 3])) == 3
    assert tree.ties(np.array([5, 3, 2])) == 2
    assert tree.ties(np.array([6, 0])) == 0


def test_a_snapshot_is_in_the_users_units() -> None:
    tree = Tree(0.1)
    grow(tree, 0)
    tree.fill(mean=[1, 2, -3], std=[0.1, 0.2, 0.3])
    assert tree.snapshot(10.0, 1.0).mean.tolist() == [11, 12, 7]
    assert tree.snapshot(10.0, -1.0).mean.tolist() == [9, 8, 13]
    assert tree.snapshot(10.0, -1.0).std.tolist() == [0.1, 0.2, 0.3]
    assert column(tree, "mean") == [1, 2, -3]


def test_a_snapshot_has_one_entry_a_node_and_cannot_be_written() -> None:
    tree = Tree(0.1)
    grow(tree, 0)
    table = tree.snapshot(0.0, 1.0)
    assert len(table) == 3
    for entry in fields(TreeTable):
        values = getattr(table, entry.name)
        assert values.shape == (3,)
        assert values.dtype == KINDS[PLACES[entry.name][0]][1]
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1


def test_a_snapshot_does_not_follow_the_tree() -> None:
    tree = Tree(0.1)
    table = tree.snapshot(0.0, 1.0)
    tree.write(0, mean=5)
    tree.write(0, expanded=True)
    grow(tree, 0)
    assert len(table) == 1
    assert table.mean.tolist() == [0]
    assert table.expanded.tolist() == [False]
    assert table.first_child.tolist() == [-1]


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


def test_a_fork_is_changed_and_the_table_is_not() -> None:
    tree = Tree(0.1)
    grow(tree, 0)
    before = tree.snapshot(0.0, 1.0)
    fork = tree.fork()
    fork.write(1, count=3, mean=0.5, expanded=True)
    fork.fill(std=[7, 8, 9])
    for row in range(1, 300):
        grow(fork, row)
    assert tree.snapshot(0.0, 1.0) == before
    assert fork.snapshot(0.0, 1.0) != before
    assert (fork.count[1], fork.mean[1], fork.std[2]) == (3, 0.5, 9)


def test_what_a_policy_reads_cannot_be_written() -> None:
    tree = Tree(0.1)
    grow(tree, 0)
    for name in PLACES:
        assert len(getattr(tree, name)) == 3
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 1


def test_tables_are_compared_entry_by_entry() -> None:
    one, other = Tree(0.1), Tree(0.1)
    assert one.snapshot(0.0, 1.0) == other.snapshot(0.0, 1.0)
    assert one.snapshot(0.0, 1.0) != other.snapshot(1.0, 1.0)
    assert one.snapshot(0.0, 1.0) != "a table"
