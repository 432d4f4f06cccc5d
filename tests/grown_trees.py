"""Tables of nodes, grown by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zonal.gp.stats import ObservationStats
from zonal.tree import Nodes, Tree

COLUMNS = (
    *("depth", "index", "parent", "first_child", "slot", "count", "trials"),
    *("mean", "std", "noise"),
    *("expanded", "askable", "splittable", "smallest", "forbidden"),
)


def root(noise: float, splittable: bool = True, forbidden: bool = False) -> Tree:
    """Return the table of a root that was not measured."""
    nodes, nothing, rewards = Nodes.root(splittable, forbidden), np.zeros(1), ObservationStats()
    return Tree(nodes, nothing, nothing + 1, np.array([noise]), rewards, nodes.slot, 0.1, {}, {})


def rebuilt(tree: Tree, nodes: Nodes, **columns: Any) -> Tree:
    """Return the table with other nodes or columns; new nodes have mean 0, std 1 and noise 0.1."""
    more = nodes.size - tree.size
    parts: dict[str, Any] = {
        "mean": np.append(tree.mean, np.zeros(more)),
        "std": np.append(tree.std, np.ones(more)),
        "noise": np.append(tree.noise, np.full(more, 0.1)),
        "rewards": tree._rewards,
        "measured_slots": nodes.slot,
        "learned_noise": tree._learned_noise,
        "counts": tree._counts,
        "pending": tree.pending,
    }
    return Tree(Nodes(nodes._ints, nodes._flags), **(parts | columns))


def children(tree: Tree, row: int, index: Sequence[int], expanded: bool = False, **columns: Any) -> Tree:
    """Return the table with children of a node, as a study makes them; the node may not be measured any more."""
    noise = np.append(tree.noise, columns.pop("noise", [0.1] * len(index)))
    default: dict[str, Any] = {"slot": tree.size, "smallest": False, "forbidden": False}
    nodes = tree.split([row], [len(index)], expanded, False, np.array(index), **(default | columns))
    return rebuilt(tree, nodes, noise=noise)


def marked(tree: Tree, row: int, name: int, flag: bool) -> Tree:
    """Return the table with another flag in one row."""
    return rebuilt(tree, tree.marked(row, name, flag))


def told(tree: Tree, row: int, reward: float) -> Tree:
    """Return the table after a reward of a node."""
    rewards: Any = tree._rewards
    counts = {**tree._counts, row: tree._counts.get(row, 0) + 1}
    return rebuilt(tree, tree, rewards=rewards.append(int(tree.slot[row]), reward, None), counts=counts)


def shown(tree: Tree, **columns: Sequence[float]) -> Tree:
    """Return the table with other columns of numbers."""
    return rebuilt(tree, tree, **{name: np.array(column, dtype=float) for name, column in columns.items()})
