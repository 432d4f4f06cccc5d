"""The nodes of the tree under each model, for policies and answers that need more than the table's columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from zonal._types import Floats, Ints
from zonal.engine.state import State
from zonal.errors import InvalidInput
from zonal.gp.functional_index import Keys
from zonal.gp.model_average import Mixture
from zonal.gp.posterior import GaussianBelief, Overlay
from zonal.policies.base import ModelView, Rows

TYPICAL_CELLS = 8  # of the smallest, which stand for all


def views(state: State, pending: bool = True, beside: Keys | None = None) -> list[ModelView]:
    """Return the nodes under each model, with or without the pending trials.

    With `beside`, the keys of footprints outside the tree, these are further rows, and nothing is to be measured.
    """
    belief, tree = state.belief, state.posterior_table()
    if not isinstance(belief, Mixture):
        raise InvalidInput("a belief from empirical means has no covariances", "StoOO", "Use another policy.")
    size, slots, relative = tree.size, tree.slot, tree.relative
    if beside is not None:
        belief, more = belief.with_targets(state.tracked.append(beside)), np.arange(beside.shape[1])
        slots, relative = np.append(slots, state.tracked.size + more), np.append(relative, np.ones(more.size))
    of_rows: Any = slice(0, size) if state.slots_are_rows and beside is None else slots
    seen: Sequence[GaussianBelief | Overlay] = (state.overlay() if pending else belief).members
    smallest = _smallest_variances(state, belief)
    references, reference_noise = _references(state) if beside is None else (None, np.zeros(0))
    returns_other = references is not None or not (state.problem.measures_target or beside is not None)
    model_views, weights = [], partial(_weights, state)
    members = zip(belief.members, seen, belief.weights.tolist(), smallest, strict=True)
    for member, belief_seen, weight, least in members:
        noise = relative if member.model.noise is None else member.model.noise * relative
        results = None
        if references is not None:
            noise = np.where(references < 0, noise, reference_noise)
        if returns_other:
            results = MeasuredResults(belief_seen, slots, state.measured_slots, references)

        def covariance(rows: Rows, others: Rows, belief_seen: GaussianBelief | Overlay = belief_seen) -> Floats:
            return belief_seen.covariance(slots[rows], slots[others])

        model_views.append(
            ModelView(
                weight=weight,
                mean=member.mean[of_rows] + (member.model.mean - belief.zero),
                std=np.sqrt(belief_seen.variance[of_rows]),
                noise=noise,
                prior=member.prior[of_rows],
                smallest=least,
                covariance=covariance,
                weights=weights,
                results=results,
            )
        )
    return model_views


class MeasuredResults:
    """What measurements of nodes will return, where that is not what is judged of them.

    The feedback may differ from the target, and some measurements may be differences: minus a reference.
    """

    def __init__(
        self,
        belief: GaussianBelief | Overlay,
        judged: Ints,  # by row, the slot of what is judged
        measured: Ints,  # by row, the slot of what is measured
        references: Ints | None,  # by row; -1 where nothing is subtracted
    ) -> None:
        self._belief, self._judged, self._measured = belief, judged, measured
        self._references: Ints = np.full(len(judged), -1) if references is None else references

    def _of_references(self, rows: Rows, slots: Ints) -> Floats:
        """Return the covariance of the references of some rows with other footprints; 0 where there is none."""
        distinct, where = np.unique(self._references[rows], return_inverse=True)
        joint = self._belief.covariance(np.maximum(distinct, 0), slots)
        joint[distinct < 0] = 0.0
        return np.asarray(joint.take(where.ravel(), axis=0))

    def covariance(self, rows: Rows, others: Rows) -> Floats:
        """Return the posterior covariance of the results of some rows with what is judged of others."""
        judged = self._judged[others]
        return self._belief.covariance(self._measured[rows], judged) - self._of_references(rows, judged)

    def together(self, rows: Rows) -> Floats:
        """Return the posterior covariance of the results of some rows."""
        slots, references = self._measured[rows], self._references[rows]
        of_references = self._of_references(rows, np.maximum(references, 0))
        of_references[:, references < 0] = 0.0
        crossed = self._of_references(rows, slots)
        return self._belief.covariance(slots, slots) - crossed - crossed.T + of_references

    def variance(self, rows: Rows) -> Floats:
        """Return the posterior variance of the results of some rows, without the noise."""
        slots, references = self._measured[rows], self._references[rows]
        variance, differs = self._belief.variance, references >= 0
        distinct, where = np.unique(np.maximum(references, 0), return_inverse=True)
        crossed = self._belief.covariance(slots, distinct)[np.arange(len(rows)), where.ravel()]
        more = np.where(differs, variance[np.maximum(references, 0)] - 2 * crossed, 0.0)
        return np.asarray(np.maximum(variance[slots] + more, 0.0))


def _references(state: State) -> tuple[Ints | None, Floats]:
    """Return what will be subtracted from each node, by slot (-1: nothing), and the noise of the difference.

    The first is None if no measurement is expected to be a difference.
    """
    if not state.differences:
        return None, np.zeros(0)
    table = state.structure
    references, variance = np.full(table.size, -1), np.zeros(table.size)
    default, last = state.differences.get(state.last_told), state.last_differences
    if default is not None:
        references[:], variance[:] = default.reference, default.variance
        references[[row for row, stats in state.tallies.items() if stats.number]] = -1
    for row, stats in last.items():
        references[row], variance[row] = stats.reference, stats.variance
    return (references if (references >= 0).any() else None), np.sqrt(variance)


def _weights(state: State, rows: Rows) -> Floats:
    """Return how much of the space lies in some nodes; each is computed once."""
    table, kept = state.structure, state.problem.weights
    nodes = table.nodes(rows)
    for node, row in zip(nodes, rows.tolist(), strict=True):
        if node not in kept:
            kept[node] = state.region(row).weight
    return np.array([kept[node] for node in nodes])


def _smallest_variances(state: State, belief: Mixture) -> list[float]:
    """Return the prior variance of a smallest region's average under each model, computed once per fit."""
    problem = state.problem
    kept = problem.smallest
    if kept is None or kept[0] is not state.fit_state.fit:
        space, depth = problem.space, problem.bottom(state.h_max)
        cells = [space.cell(node, problem.target) for node in space.representative_cells(depth, TYPICAL_CELLS)]
        layout = problem.frame.layout
        pairs = layout.self_pairs(layout.keys(problem.target.footprints(cells), register=False))
        covariances = (problem.frame.covariance(member.model.kernel) for member in belief.members)
        kept = state.fit_state.fit, [float(np.max(covariance.of(pairs))) for covariance in covariances]
        problem.smallest = kept
    return kept[1]
