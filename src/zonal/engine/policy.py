"""The policy of a study, bound to the models in use: what it is shown, and what it answers.

Every answer is checked, since a policy may be user-defined. A policy that needs more than the table's columns is
shown the nodes under each model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from zonal._types import Floats, Ints
from zonal.engine.settings import Problem
from zonal.engine.state import State
from zonal.errors import InvalidInput, require
from zonal.gp.functional_index import Keys
from zonal.gp.model_average import Mixture
from zonal.gp.posterior import GaussianBelief, Overlay
from zonal.kernels.base import Kernel
from zonal.policies.base import (
    BoundPolicy,
    Choice,
    ModelView,
    PolicyContext,
    Reason,
    RngFactory,
    RoundCosts,
    Rows,
    Views,
)
from zonal.policies.deltas import Variation
from zonal.tree import Nodes, Tree

TIE = 1e-9  # of the prior standard deviation of a point
CELLS_PER_DEPTH = 16  # over which the maximum of the variation within is taken
SMALLEST_CELLS = 8  # which stand for all of the smallest
Answer = Choice | float | Rows | tuple[Floats, Floats]  # of a policy


class CheckedPolicy:
    """A bound policy whose answers are checked: see `BoundPolicy` for the questions."""

    def __init__(self, bound: BoundPolicy) -> None:
        self._bound = bound

    def choose(self, tree: Tree, t: int, views: Views, rng: RngFactory) -> tuple[int, float]:
        """Return the row to measure in round `t`, or to split instead, and for how long to measure it."""
        answer, time = self._bound.choose(tree, t, views, rng), 1.0
        if tree.terms is not None:
            answer, time = _timed(answer, tree.terms)
        row = answer if type(answer) is int else _whole(answer, "choose")
        fix = "Choose among tree.askable."
        require((tree.contenders == row).any(), "the policy chose a node that may not be measured now", row, fix)
        return row, time

    def reason(self, tree: Tree, t: int, views: Views) -> tuple[Reason, Rows]:
        """Return why `choose` chooses as it does, and the rows it compares by their gain."""
        return self._bound.reason(tree, t, views)

    def nodes_to_expand(self, tree: Tree, t: int, views: Views, grown: int) -> list[int]:
        """Return leaves to split before round `t`, each once."""
        answer = self._bound.nodes_to_expand(tree, t, views, grown)
        try:
            rows = np.asarray(answer)
        except ValueError:  # lists of different lengths
            rows = np.empty((0, 0), dtype=np.intp)
        whole = rows.ndim == 1 and (rows.size == 0 or rows.dtype.kind in "iu")
        if not whole or (rows.size and not 0 <= rows.min() <= rows.max() < tree.size):
            raise _wrong("nodes_to_expand", f"an array of rows of nodes, from 0 to {tree.size - 1}", answer)
        return list(dict.fromkeys(rows.tolist()))

    def fallback_expand(self, tree: Tree, rows: Rows, t: int) -> int:
        """Return which of `rows` to split if one has to be."""
        return _row(self._bound.fallback_expand(tree, rows, t), "fallback_expand", tree)

    def expand_unmeasured(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether `node`, just chosen, should be split without being measured."""
        return _truth(self._bound.expand_unmeasured(tree, node, t), "expand_unmeasured")

    @property
    def expands_measured(self) -> bool:
        """Whether `should_expand` may tell anything but no."""
        return getattr(type(self._bound), "should_expand", None) is not BoundPolicy.should_expand

    def should_expand(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether `node`, just measured in round `t`, should be split."""
        return _truth(self._bound.should_expand(tree, node, t), "should_expand")

    def recommend(self, tree: Tree) -> int:
        """Return the row to recommend."""
        return _row(self._bound.recommend(tree), "recommend", tree)

    def threshold(self, tree: Tree, views: Views) -> float | None:
        """Return the threshold above which regions are sought, relative to the prior mean; None for the best."""
        return self._bound.threshold(tree, views)

    def confidence_bands(self, tree: Tree, t: int) -> tuple[Floats, Floats]:
        """Return confidence and variation of every node."""
        answer = self._bound.confidence_bands(tree, t)
        try:
            confidence, variation = (np.asarray(band, dtype=float) for band in answer)
        except (TypeError, ValueError):
            confidence = variation = np.empty((0, 0))
        if not confidence.shape == variation.shape == (tree.size,):
            raise _wrong("confidence_bands", f"two arrays of {tree.size} numbers, one per node", answer)
        return confidence, variation


def _whole(answer: Answer, question: str) -> int:
    """Return a whole number."""
    try:
        if isinstance(answer, str | bytes | bool):
            raise TypeError
        return int(answer)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise _wrong(question, "the row of a node", answer) from None


def _row(answer: int, question: str, tree: Nodes) -> int:
    """Return the row of a node."""
    row = _whole(answer, question)
    if not 0 <= row < tree.size:
        raise _wrong(question, f"the row of a node, from 0 to {tree.size - 1}", answer)
    return row


def _timed(answer: Choice, terms: RoundCosts) -> tuple[Choice, float]:
    """Return the answer without its time, and one of the times that may be chosen: the first if it has none."""
    row, time = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, terms.times.item(0))
    if time not in terms.times:
        raise _wrong("choose", "a row, or a row and one of the study's times", time)
    return row, float(time)


def _truth(answer: bool, question: str) -> bool:
    """Return True or False."""
    if answer is not True and answer is not False and not isinstance(answer, np.bool_):
        raise _wrong(question, "True or False", answer)
    return bool(answer)


def _wrong(question: str, wanted: str, answer: Answer) -> InvalidInput:
    return InvalidInput(f"the policy's {question} must return {wanted}", answer, "Correct the policy.")


def bound_policy(state: State) -> CheckedPolicy:
    """Return the policy bound to the model in use; delta and ties depend on it."""
    return state.derived("bound policy", (state.fit_state.fit.model,), lambda: _bound(state.problem, state))


def _bound(problem: Problem, state: State) -> CheckedPolicy:
    space, target, h_max, kernel = problem.space, problem.target, state.h_max, _kernel(state)
    measures = [axis.measure(target) for axis in space.axes or () if not axis.is_categorical]
    bound = problem.policy.bind(
        PolicyContext(
            counts=state.counts,
            base=space.arity,
            budget=state.n_affordable,
            h_max=h_max,
            variation=Variation(
                reaches=lambda: np.array([space.partition.reach(depth, target) for depth in range(h_max + 2)]),
                smoothness=lambda: None if kernel is None else problem.frame.smoothness(kernel),
                spread=partial(_spread_by_depth, problem, kernel, h_max),
                learned=problem.learned,
                noise_learned=problem.unknowns.noise,
                endless=not all(measure.ends for measure in measures if measure is not None),
            ),
            tie=tie(state),
            learned=problem.learned,
            opening=design_size(state),
            room=problem.frame.max_nodes,
            sign=problem.sign,
            zero=state.prior_mean,
            line=problem.line,
        )
    )
    require(hasattr(bound, "choose"), "the policy's bind must return a bound policy", bound, "Correct the policy.")
    return CheckedPolicy(bound)


def _kernel(state: State) -> Kernel | None:
    """Return the kernel in use, None if there is none."""
    return state.problem.unknowns.given if state.model is None else state.model.kernel


def tie(state: State) -> float:
    """Return the difference up to which two means are equal."""
    kernel = _kernel(state)
    return TIE * (1.0 if kernel is None else float(np.sqrt(kernel.point_variance)))


def _spread_by_depth(problem: Problem, kernel: Kernel | None, h_max: int) -> tuple[Floats, Floats]:
    """Return, by depth, the prior std of f about a cell's average, and log the number of smallest regions.

    `SpreadDelta` uses it: how much f varies within the cells of a depth, from the prior alone.
    """
    if kernel is None:
        raise InvalidInput("SpreadDelta needs a kernel", None, "Pass kernel=, or another delta.")
    space, (variance, log_members) = problem.space, np.zeros((2, h_max + 2))
    bottom = problem.bottom(h_max)
    for depth in range(bottom + 1):
        cells = [
            space.cell(node, problem.target)
            for node in space.partition.representative_cells(depth, CELLS_PER_DEPTH)
        ]
        variance[depth] = max(problem.frame.within(kernel, cell) for cell in cells)
        log_members[depth] = math.log(space.partition.n_descendants(depth, bottom))
    tiny = 1e-12 * kernel.point_variance  # less is rounding
    return np.sqrt(np.where(variance > tiny, variance, 0.0)), log_members


def design_size(state: State) -> int:
    """Return the number of cells of the initial design, without leaves above its depth."""
    return sum(int(state.structure.depth[row]) >= state.created.opening for row in state.initial_design)


def has_scale(state: State) -> bool:
    """Tell whether rewards can be compared with delta: not before their scale was learned."""
    return not state.problem.learned or state.fit_state.fit.model.measurements > 0


def recommend(state: State) -> int:
    """Return the row to recommend."""
    return bound_policy(state).recommend(state.posterior_table())


def threshold(state: State) -> float | None:
    """Return the threshold the policy searches above, relative to the prior mean; None if it seeks the best."""
    return bound_policy(state).threshold(state.posterior_table(), partial(views, state, False))


def confidence_bands(state: State) -> tuple[Floats, Floats]:
    """Return confidence and variation of every node, as used to choose the next trial."""
    return bound_policy(state).confidence_bands(state.posterior_table(), state.measured + 1)


def views(state: State, pending: bool = True, beside: Keys | None = None) -> list[ModelView]:
    """Return the nodes under each model, with or without the pending trials.

    With `beside`, the keys of footprints outside the tree, these are further rows, and nothing is to be measured.
    """
    belief, slots, n_beside = state.belief, state.structure.slot, 0
    if beside is not None:
        belief, n_beside = belief.with_targets(state.tracked.append(beside)), beside.shape[1]
        slots = np.append(slots, state.tracked.size + np.arange(n_beside))
    of_rows = slice(0, slots.size) if state.slots_are_rows and beside is None else slots
    seen: Sequence[GaussianBelief | Overlay] = (state.overlay() if pending else belief).members
    fit = state.fit_state.fit
    smallest = state.derived("smallest variances", (fit,), lambda: _smallest_variances(state, belief))
    references, reference_noise = _references(state) if beside is None else (None, np.zeros(0))
    returns_other = references is not None or not (state.problem.measures_target or beside is not None)
    model_views, weights = [], partial(_weights, state)
    members = zip(belief.members, seen, belief.weights.tolist(), smallest, strict=True)
    for member, belief_seen, weight, least in members:
        noise, results = state.noise_std(member.model), None
        if beside is not None:
            noise = np.append(noise, np.full(n_beside, member.model.noise or 1.0))
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
                prior=member.prior_of_f()[of_rows],
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
        return joint.take(where.ravel(), axis=0)

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
        references[[row for row in state.told_counts if state.n_averages_told(row)]] = -1
    for row, difference in last.items():
        references[row], variance[row] = difference.reference, difference.variance
    return (references if (references >= 0).any() else None), np.sqrt(variance)


def _weights(state: State, rows: Rows) -> Floats:
    """Return how much of the space lies in some nodes."""
    return np.array([state.problem.node_weight(node) for node in state.structure.nodes(rows)])


def _smallest_variances(state: State, belief: Mixture) -> list[float]:
    """Return the prior variance of a smallest region's average under each model."""
    problem = state.problem
    space, depth, layout = problem.space, problem.bottom(state.h_max), problem.frame.layout
    cells = [
        space.cell(node, problem.target) for node in space.partition.representative_cells(depth, SMALLEST_CELLS)
    ]
    pairs = layout.self_pairs(layout.keys(problem.target.footprints(cells), register=False))
    covariances = (problem.frame.covariance(member.model.kernel) for member in belief.members)
    return [float(np.max(covariance.of(pairs))) for covariance in covariances]
