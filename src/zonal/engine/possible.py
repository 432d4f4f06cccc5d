"""What is possible now: the regions that `ask` was given as `within` and `avoid`.

A node may be asked for if it lies within one of the first and overlaps none of the second. Judged is the region
itself, not what its feedback sees beyond it: a beam has no edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zonal._types import Flags
from zonal.spaces import Node, Region
from zonal.tree import Tree

if TYPE_CHECKING:
    from zonal.engine.state import State

ALL, PART, NONE = 1, 0, -1  # of the regions within a node may be asked for


class Possible:
    """What is possible now. What was computed is kept, by node: make one for one call."""

    def __init__(self, within: Sequence[Region], avoid: Sequence[Region]) -> None:
        self.within, self.avoid = tuple(within), tuple(avoid)
        self._kept: dict[Node, int] = {}

    def __str__(self) -> str:
        """Return where it is possible to measure."""
        inside = " or ".join(region.name for region in self.within)
        outside = " and ".join(region.name for region in self.avoid)
        return " and ".join(filter(None, (inside and f"within {inside}", outside and f"outside of {outside}")))

    def of_region(self, region: Region) -> int:
        """Tell how much of a region is possible."""
        held = any(region_given.contains(region) for region_given in self.avoid)
        if held or (self.within and not any(region_given.overlaps(region) for region_given in self.within)):
            return NONE
        if any(region_given.overlaps(region) for region_given in self.avoid):
            return PART
        # By name too: edges copied from printed output are rounded.
        inside = any(
            region_given.contains(region) or region_given.name == region.name for region_given in self.within
        )
        return ALL if inside or not self.within else PART

    def of_rows(self, state: State) -> NDArray[np.int8]:
        """Tell how much of every node is possible, as an array; it follows from the parent, unless that is cut."""
        table = state.structure
        codes = np.zeros(table.size, dtype=np.int8)
        for depth in range(int(table.depth.max()) + 1):
            rows = (table.depth == depth).nonzero()[0]
            if depth:
                codes[rows] = codes[table.parent[rows]]
            for row in rows[codes[rows] == PART].tolist():
                node = table.node(row)
                if node not in self._kept:
                    self._kept[node] = self.of_region(state.region(row))
                codes[row] = self._kept[node]
        return codes

    def askable(self, state: State) -> Flags:
        """Tell which nodes may be asked for now."""
        return np.asarray(state.structure.askable & (self.of_rows(state) == ALL))

    def seen(self, state: State, tree: Tree) -> Tree:
        """Return the nodes as a policy should see them: askable where that is possible now."""
        codes = self.of_rows(state)
        return tree.restricted(codes == ALL, codes == NONE)


def possible(within: Sequence[Region], avoid: Sequence[Region]) -> Possible | None:
    """Return what is possible; None if everything is."""
    return Possible(within, avoid) if within or avoid else None
