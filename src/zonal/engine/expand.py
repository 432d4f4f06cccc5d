"""How the tree grows: which nodes are split before a round, and what the user says of their children."""

from __future__ import annotations

from functools import partial

import numpy as np

from zonal.engine import replies
from zonal.engine.binding import bound_policy
from zonal.engine.events import Expanded, Observed, Split
from zonal.engine.initial_design import fraction_of, of_depth, outer_child
from zonal.engine.possible import NONE, Possible
from zonal.engine.settings import is_of_user
from zonal.engine.state import State
from zonal.engine.views import views
from zonal.errors import Exhausted, StudyFileError
from zonal.spaces import with_feedback

MAX_PARTS = (
    64  # of a cell of the initial design that are tested with the user's `forbidden`, to find an allowed one
)
MAX_GROWTH = 2  # times the nodes that a policy may ask for, so that what was observed later has room too


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
    noise, forbidden = problem.noise_by_region, problem.settings.forbidden is not None
    if not (noise or forbidden):
        return Split(tuple(rows), expanded, (), (), None)
    children = [child for row in rows for child in problem.space.split(draft.region(row))]
    return Split(
        tuple(rows),
        expanded,
        tuple(problem.noise_of(child) for child in children) if noise else (),
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
        rows = replies.rows(
            bound.nodes_to_expand(draft.policy_table(), t, model_views, draft.structure.size - before),
            "nodes_to_expand",
            draft.structure,
        )
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
    wanted = _off_tree_paths(draft) if room > 0 and not draft.problem.empirical else {}
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
    cache, paths = draft.problem.paths, dict[int, tuple[int, ...]]()
    absent = {slot: key for key, slot in draft.off_tree_slots.items() if cache.get(key, ()) is not None}
    for slot, event in draft.observed if absent else ():
        if slot in absent:
            key = absent.pop(slot)
            path = cache[key] = cache[key] if key in cache else _path(draft, event)
            if path is not None:
                paths[slot] = path
    return paths


def _path(draft: State, event: Observed) -> tuple[int, ...] | None:
    """Return which child leads to an observed region at each depth, None if it is not a node as trials measure."""
    region, space = with_feedback(event.region, event.feedback), draft.problem.space
    path, node_region = list[int](), space.cell((0, 0), draft.problem.feedback)
    if not draft.measured_as_asked(region, event.minus):
        return None
    while node_region.key != region.key and len(path) <= draft.h_max and space.may_split(node_region):
        parts = space.split(node_region)
        inside = [at for at, part in enumerate(parts) if part.contains(region)]
        if not inside:
            return None
        path.append(inside[0])
        node_region = parts[inside[0]]
    return tuple(path) if node_region.key == region.key else None


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
    row = replies.row(bound_policy(draft).fallback_expand(tree, rows, t), "fallback_expand", tree)
    open_nodes(draft, [row], expanded=True)
