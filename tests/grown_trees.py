"""Tables of nodes, grown by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zonal.gp.stats import UNMEASURED
from zonal.tree import Tree

COLUMNS = (
    *("depth", "index", "parent", "first_child", "slot", "count", "trials"),
    *("mean", "std", "noise", "reward"),
    *("expanded", "askable", "splittable", "smallest", "forbidden"),
)


def children(tree: Tree, row: int, index: Sequence[int], expanded: bool = False, **columns: Any) -> Tree:
    """Return the table with children of a node, as a study makes them; the node may not be measured any more."""
    number = len(index)
    usual: dict[str, Any] = {
        "slot": tree.size,
        "smallest": np.zeros(number, dtype=bool),
        "forbidden": np.zeros(number, dtype=bool),
        "noise": np.full(number, 0.1),
    }
    given = usual | columns
    given["noise"] = np.array(given["noise"])
    return tree.split([row], [number], expanded, False, np.array(index), **given)


def told(tree: Tree, row: int, reward: float) -> Tree:
    """Return the table after a reward of a node."""
    own = tree.tallies.get(row, UNMEASURED)
    return Tree(tree, {**tree.tallies, row: own.append(reward, None, 1.0)})


def shown(tree: Tree, **columns: Sequence[float]) -> Tree:
    """Return the table with other columns of numbers."""
    twin = Tree(tree)
    for name, column in columns.items():
        own = np.array(column, dtype=float)
        own.flags.writeable = False
        setattr(twin, "relative" if name == "noise" else name, own)
    return twin
