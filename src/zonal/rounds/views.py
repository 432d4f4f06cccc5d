"""The nodes of the tree under each model, for policies and answers that need more than the table's columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from zonal.arrays import Floats
from zonal.beliefs.gp import GaussianBelief, Overlay
from zonal.beliefs.mixture import Mixture
from zonal.errors import InvalidInput
from zonal.policies.rules import Rows, View
from zonal.rounds.state import State

TYPICAL_CELLS = 8  # of the smallest, which stand for all


def views(state: State, pending: bool = True) -> list[View]:
    """Return the nodes under each model, with or without the pending trials."""
    belief, tree = state.belief, state.tree
    if not isinstance(belief, Mixture):
        raise InvalidInput("a belief from empirical means has no covariances", "StoOO", "Use another policy.")
    size, slots = tree.size, tree.slot
    of_rows: Any = slice(0, size) if state.in_order else slots
    seen: Sequence[GaussianBelief | Overlay] = (state.overlay() if pending else belief).members
    smallest = _smallest_variances(state, belief)
    made, weights = [], partial(_weights, state)
    each = zip(belief.members, seen, belief.weights.tolist(), smallest, strict=True)
    for member, own, weight, least in each:
        noise = member.model.noise

        def covariance(rows: Rows, others: Rows, own: GaussianBelief | Overlay = own) -> Floats:
            return own.covariance(slots[rows], slots[others])

        made.append(
            View(
                weight=weight,
                mean=member.mean[of_rows] + (member.model.mean - belief.zero),
                std=np.sqrt(own.variance[of_rows]),
                noise=tree.relative if noise is None else noise * tree.relative,
                prior=member.prior[of_rows],
                smallest=least,
                covariance=covariance,
                weights=weights,
            )
        )
    return made


def _weights(state: State, rows: Rows) -> Floats:
    """Return how much of the space lies in some nodes; each is computed once."""
    table, kept = state.table, state.problem.weights
    nodes = table.nodes(rows)
    for node, row in zip(nodes, rows.tolist(), strict=True):
        if node not in kept:
            kept[node] = state.region(row).weight
    return np.array([kept[node] for node in nodes])


def _smallest_variances(state: State, belief: Mixture) -> list[float]:
    """Return the prior variance of a smallest region's average under each model, computed once per fit."""
    problem = state.problem
    kept = problem.smallest
    if kept is None or kept[0] is not state.known.fit:
        space, depth = problem.space, problem.bottom(state.h_max)
        cells = [space.cell(node, problem.feedback) for node in space.typical(depth, TYPICAL_CELLS)]
        layout = problem.frame.layout
        own = layout.own(layout.keys(problem.feedback.footprints(cells), enter=False))
        covariances = (problem.frame.covariance(member.model.kernel) for member in belief.members)
        kept = state.known.fit, [float(np.max(covariance.of(own))) for covariance in covariances]
        problem.smallest = kept
    return kept[1]
