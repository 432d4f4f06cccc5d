"""The initial design: which cells are measured first, spread over the space, where some of it is forbidden too.

This module reads a state and decides nothing that is not decided when a study begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal.policies.base import scattered

if TYPE_CHECKING:
    from zonal.engine.state import State

SLIVER = 0.5  # of the usual allowed share: a cell with less of it allowed is a sliver
SLIVERS = 1 / 16  # of the cells of the sweep: so many slivers are measured, whatever their size


def spread_out(state: State) -> tuple[int, ...]:
    """Return the cells of the initial design in an order that covers the space evenly from the start.

    A forbidden cell is replaced by one of its largest allowed parts. Slivers get as many measurements together as
    their size is worth, or a few. Where only leaves may be measured, every cell is replaced by one of its leaves.
    Of a fraction of all cells the outer corners are measured.
    """
    table, base = state.structure, state.problem.space.arity

    def place(row: int) -> float:
        depth = int(table.depth[row])
        return scattered(int(table.index[row]), depth, state.counts[depth], base)

    cells = sorted(of_depth(state, state.created.opening), key=place)
    fraction = fraction_of(state, cells)
    cells = fraction or cells
    parts = [allowed_within(state, row) if table.forbidden[row] else row for row in cells]
    chosen = [
        part for part, wanted in zip(parts, _wanted(state, cells), strict=True) if wanted and part is not None
    ]
    if state.problem.policy.measures_internal_nodes:
        return tuple(_corner(state, row) for row in chosen) if fraction else tuple(chosen)
    leaves = (row if table.leaf[row] else _leaf_within(state, row) for row in chosen)
    return tuple(row for row in leaves if row is not None)


def fraction_of(state: State, cells: list[int]) -> list[int]:
    """Return a regular fraction of the cells of the initial design; none if all of them can be paid for.

    It is a fractional factorial design. Splits down to the depth that can be paid for are combined freely; which
    part is taken at each later split is a sum of those before, modulo the number of parts. So every axis is seen
    at all its parts, and no two axes change together if that can be avoided.
    """
    table, depth, base = state.structure, state.created.opening, state.problem.space.arity
    free = min(depth, state.problem.affordable_depth(state.h_max, state.n_affordable))
    if free == depth or len(cells) != base**depth or state.problem.prices is not None:
        return []
    sums = [[at for at in range(free) if at != left_out] for left_out in range(free)]

    def belongs(row: int) -> bool:
        digits = [int(table.index[row]) // base ** (depth - 1 - at) % base for at in range(depth)]
        later = enumerate(digits[free:])
        return all(digit == sum(digits[j] for j in sums[at % len(sums)]) % base for at, digit in later)

    return [row for row in cells if belongs(row)]


def _corner(state: State, cell: int) -> int:
    """Return the outer corner of a cell: half of it along every axis. Few measurements tell most far out."""
    table, row = state.structure, cell
    while table.depth[row] < 2 * state.created.opening and not table.leaf[row]:
        row = outer_child(state, row)
    return cell if table.forbidden[row] else row


def outer_child(state: State, row: int) -> int:
    """Return the child that is farthest from the middle of the space."""
    children: list[int] = (state.structure.parent == row).nonzero()[0].tolist()
    bounds = np.array(state.problem.space.cell((0, 0)).bounds)
    middle, side = bounds.mean(axis=1), np.ptp(bounds, axis=1)
    return max(children, key=lambda child: float((np.abs(state.region(child).center - middle) / side).sum()))


def _wanted(state: State, cells: list[int]) -> list[bool]:
    """Tell which cells are measured: all allowed ones, and of slivers, evenly, as many as they are worth."""
    shares = [allowed_share(state, row) if state.structure.forbidden[row] else 1.0 for row in cells]
    usual = sum(shares) / max(sum(share > 0 for share in shares), 1)
    slivers = [share / usual for share in shares if 0 < share < SLIVER * usual]
    worth = min(max(sum(slivers), SLIVERS * len(cells)) / max(len(slivers), 1), 1.0)  # measurements a sliver
    wanted, due = [], 0.0
    for share in shares:
        due += 0.0 if share == 0 else worth if share < SLIVER * usual else 1.0
        wanted.append(share > 0 and due >= 0.5)
        due -= wanted[-1]
    return wanted


def of_depth(state: State, depth: int) -> list[int]:
    """Return the nodes of a depth, and the leaves above it."""
    table = state.structure
    rows: list[int] = ((table.depth == depth) | (table.leaf & (table.depth < depth))).nonzero()[0].tolist()
    return rows


def allowed_within(state: State, row: int) -> int | None:
    """Return one of the largest allowed regions within a node; None if the tree has none yet."""
    table, level = state.structure, np.array([row])
    while len(level := np.isin(table.parent, level).nonzero()[0]):
        allowed = level[~table.forbidden[level]]
        if len(allowed):
            return int(allowed[len(allowed) // 2])
    return None


def allowed_share(state: State, row: int) -> float:
    """Return how much of a forbidden node is allowed, as far as the tree shows."""
    table, level, allowed = state.structure, np.array([row]), 0.0
    while len(level := np.isin(table.parent, level).nonzero()[0]):
        forbidden = table.forbidden[level]
        allowed += sum(state.region(part).weight for part in level[~forbidden].tolist())
        level = level[forbidden]
    return allowed / state.region(row).weight


def _leaf_within(state: State, row: int) -> int | None:
    """Return an allowed leaf in the middle of a node; None if there is none."""
    table, level = state.structure, np.array([row])
    while not table.leaf[level].all():
        level = np.concatenate((level[table.leaf[level]], np.isin(table.parent, level).nonzero()[0]))
    allowed = level[~table.forbidden[level]]
    return int(allowed[len(allowed) // 2]) if len(allowed) else None
