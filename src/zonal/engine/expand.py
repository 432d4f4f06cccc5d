"""How the tree grows: what is split before a round, what the user says of children, and what is possible now."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from zonal._types import Flags
from zonal.engine.events import Expanded, Split
from zonal.engine.initial_design import fraction_of, of_depth, outer_child
from zonal.engine.policy import bound_policy, views
from zonal.engine.settings import is_of_user
from zonal.engine.state import State
from zonal.errors import Exhausted, StudyFileError
from zonal.spaces import Node, Region, with_feedback
from zonal.tree import Tree

MAX_PARTS = (
    64  # of a cell of the initial design that are tested with the user's `forbidden`, to find an allowed one
)
MAX_GROWTH = 2  # times the nodes that a policy may ask for, so that what was observed later has room too

ALL, PART, NONE = 1, 0, -1  # of the regions within a node may be asked for


class Possible:
    """What is possible now: the regions that `ask` was given as `within` and `avoid`.

    A node may be asked for if it lies within one of the first and overlaps none of the second. Judged is the
    region itself, not what its feedback sees beyond it: a beam has no edge. What was computed is kept, by node:
    make one for one call.
    """

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


def open_nodes(draft: State, rows: list[int], expanded: bool) -> None:
    """Split nodes in one step; if `expanded`, mark those that may not be split as if they had been."""
    leaf, smallest = draft.structure.first_child, draft.structure.smallest
    able = [row for row in rows if leaf[row] < 0 and not smallest[row]]
    if expanded:
        for row in rows:
            if row not in able and not draft.structure.expanded[row]:
                draft.apply_event(Expanded(row))
    if able:
        draft.apply_event(_as_split(draft, able, expanded))


def open_to_allowed(draft: State, cell: int) -> None:
    """Split what is forbidden of a cell level by level, to see how much is allowed; test at most `MAX_PARTS`."""
    level, left = [cell] if draft.structure.forbidden[cell] else [], MAX_PARTS
    while level and left > 0:
        before = draft.structure.size
        open_nodes(draft, level[: max(1, left // draft.problem.space.arity)], expanded=False)
        parts = range(before, draft.structure.size)
        level = [part for part in parts if draft.structure.forbidden[part]]
        left -= len(parts)


def open_to_corners(draft: State) -> None:
    """Split the cells of the initial design towards their outer corners, if a fraction of all cells is used."""
    depth = draft.created.opening
    rows = fraction_of(draft, of_depth(draft, depth)) if depth else []
    for _ in range(depth):
        rows = [row for row in rows if draft.may_split(row) and not draft.structure.forbidden[row]]
        open_nodes(draft, rows, expanded=False)
        rows = [outer_child(draft, row) for row in rows]


def _as_split(draft: State, rows: list[int], expanded: bool) -> Split:
    """Return the event that splits nodes, with what the user's functions return for the children."""
    problem = draft.problem
    noise, forbidden = problem.noise.by_region, problem.settings.forbidden is not None
    if not (noise or forbidden):
        return Split(tuple(rows), expanded, (), (), None)
    children = [child for row in rows for child in problem.space.split(draft.region(row))]
    return Split(
        tuple(rows),
        expanded,
        tuple(problem.noise.of_region(child) for child in children) if noise else (),
        tuple(problem.is_forbidden(child) for child in children) if forbidden else (),
        None,
    )


def grow(draft: State, t: int, forgiving: bool = False) -> None:
    """Split what the policy wants split before round `t`, and what leads to regions that were observed.

    If `forgiving`, stop where the user's functions fail.
    """
    before = draft.structure.size
    bound, model_views = bound_policy(draft), partial(views, draft)
    while draft.structure.splittable.any():
        rows = bound.nodes_to_expand(draft.policy_table(), t, model_views, draft.structure.size - before)
        able = [row for row in rows if draft.may_split(row)] or _toward_observed(draft)
        if not able:
            return
        try:
            split = _as_split(draft, able, expanded=False)
        except Exception as error:
            missing = isinstance(error, StudyFileError)  # a function that no file holds: nothing may be told
            if forgiving and is_of_user(error) and not missing:
                return
            raise
        draft.apply_event(split)


def _toward_observed(draft: State) -> list[int]:
    """Return the leaves to split next on the way to nodes that were observed but are not in the tree yet.

    What was measured may be the best and must be recommended. Those of the highest mean come first while there is
    room for more nodes.
    """
    structure, room = draft.structure, MAX_GROWTH * draft.problem.frame.max_nodes - draft.structure.size
    wanted = _off_tree_paths(draft) if room > 0 and not draft.problem.model_free else {}
    if not wanted:
        return []
    mean, leaves = draft.belief.columns[0], dict[int, None]()
    for slot in sorted(wanted, key=lambda slot: (-mean[slot], slot)):
        row, path = 0, iter(wanted[slot])
        while structure.first_child[row] >= 0:
            row = int(structure.first_child[row]) + next(path)
        if draft.may_split(row):
            leaves[row] = None
    return list(leaves)[: max(1, room // draft.problem.space.arity)]


def _off_tree_paths(draft: State) -> dict[int, tuple[int, ...]]:
    """Return the path to each node that was observed as trials measure it and is not in the tree, by slot."""
    off_tree, paths = set(draft.off_tree_slots.values()), dict[int, tuple[int, ...]]()
    for slot, event in draft.observed if off_tree else ():
        region = with_feedback(event.region, event.feedback)
        if (
            slot in off_tree
            and slot not in paths
            and draft.measured_by(region, event.minus, draft.problem.feedback)
        ):
            path = draft.problem.node_path(region, draft.h_max)
            if path is not None:
                paths[slot] = path
    return paths


def prepare(draft: State) -> None:
    """Split for the next round ahead of it, so that recommendations until then are of the smallest size.

    Noise and forbidden may be the user's functions: if one fails here, the value just told is still accepted, and
    the next ask raises the error.
    """
    grow(draft, draft.measured + len(draft.pending) + 1, forgiving=True)


def split_by_force(draft: State, t: int, now: Possible | None = None) -> None:
    """Split the most promising leaf that may be split, since none may be asked for (of what is possible `now`)."""
    tree = draft.policy_table()
    able = tree.splittable & ~draft.inside_forbidden()
    rows = (able if now is None else able & (now.of_rows(draft) != NONE)).nonzero()[0]
    if len(rows) == 0 and now is not None:
        raise Exhausted(
            f"nothing {now} may be asked for: no region lies there that is not forbidden, failed or measured "
            "max_replicates times. Widen `within`, narrow `avoid`, or ask without them."
        )
    if len(rows) == 0:
        settings, leaves = draft.problem.settings, tree.leaf
        reasons = []
        if settings.max_replicates is not None:
            reasons.append(
                f"max_replicates={settings.max_replicates} measurements of each were made or are pending"
            )
        if draft.blocked:
            failed = f"{len(draft.blocked)} are impossible to measure"
            reasons.append(f"{failed} (`allow` takes that back)")
        if tree.forbidden.any():
            reasons.append(f"{int(np.count_nonzero(tree.forbidden[leaves]))} are forbidden")
        raise Exhausted(
            f"none of the {np.count_nonzero(leaves)} smallest regions may be asked for: {'; '.join(reasons)}. "
            "Raise max_replicates or the policy's h_max, lower the space's smallest, or stop here."
        )
    open_nodes(draft, [bound_policy(draft).fallback_expand(tree, rows, t)], expanded=True)
