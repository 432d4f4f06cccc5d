"""How the tree grows: which nodes are split before a round, and what the user says of their children."""

from __future__ import annotations

from functools import partial

import numpy as np

from zonal.errors import Exhausted
from zonal.rounds import replies
from zonal.rounds.binding import rules
from zonal.rounds.events import Expanded, Split
from zonal.rounds.settings import is_of_user
from zonal.rounds.state import State
from zonal.rounds.views import views

MOST_PARTS = 64  # of an opening cell that are tested with the user's `forbidden`, to find an allowed one


def open_nodes(draft: State, rows: list[int], expanded: bool) -> None:
    """Split nodes in one step; if `expanded`, mark those that may not be split as if they had been."""
    leaf, smallest = draft.table.first_child, draft.table.smallest
    able = [row for row in rows if leaf[row] < 0 and not smallest[row]]
    if expanded:
        for row in rows:
            if row not in able and not draft.table.expanded[row]:
                draft.write(Expanded(row))
    if able:
        draft.write(_as_split(draft, able, expanded))


def open_to_allowed(draft: State, cell: int) -> None:
    """Split a forbidden cell level by level until a part of it is allowed, testing at most `MOST_PARTS`."""
    level, left = [cell], MOST_PARTS
    while level and left > 0 and draft.table.forbidden[level].all():
        before = draft.table.size
        open_nodes(draft, level[: max(1, left // draft.problem.space.arity)], expanded=False)
        level = list(range(before, draft.table.size))
        left -= len(level)


def _as_split(draft: State, rows: list[int], expanded: bool) -> Split:
    """Return the fact that splits nodes, with what the user's functions return for the children."""
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
    """Split what the policy wants split before round `t`; if `forgiving`, stop where the user's functions fail."""
    before = draft.table.size
    bound, look = rules(draft), partial(views, draft)
    while draft.table.splittable.any():
        rows = replies.rows(bound.grows(draft.seen(), t, look, draft.table.size - before), "grows", draft.table)
        able = [row for row in rows if draft.may_split(row)]
        if not able:
            return
        try:
            split = _as_split(draft, able, expanded=False)
        except Exception as error:
            if forgiving and is_of_user(error):
                return
            raise
        draft.write(split)


def prepare(draft: State) -> None:
    """Split for the next round ahead of it, so that recommendations until then are of the smallest size.

    Noise and forbidden may be the user's functions: if one fails here, the value just told is still accepted, and
    the next ask raises the error.
    """
    grow(draft, draft.rounds + len(draft.pending) + 1, forgiving=True)


def split_by_force(draft: State, t: int) -> None:
    """Split the most promising leaf that may be split, since none may be asked for."""
    tree = draft.seen()
    rows = tree.splittable.nonzero()[0]
    if len(rows) == 0:
        settings, leaves = draft.problem.settings, tree.leaf
        reasons = []
        if settings.max_looks is not None:
            reasons.append(f"max_looks={settings.max_looks} measurements of each were made or are under way")
        if draft.barred:
            given_up = f"{len(draft.barred)} were given up as impossible to measure"
            reasons.append(f"{given_up} (`allow` takes that back)")
        if settings.forbidden is not None:
            reasons.append(f"{int(np.count_nonzero(tree.forbidden[leaves]))} are forbidden")
        raise Exhausted(
            f"none of the {np.count_nonzero(leaves)} smallest regions may be asked for: {'; '.join(reasons)}. "
            "Raise max_looks or the policy's h_max, lower the space's smallest, or stop here."
        )
    open_nodes(draft, [replies.row(rules(draft).urgent(tree, rows, t), "urgent", tree)], expanded=True)
