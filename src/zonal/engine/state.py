"""The state of a study after some events: the tree, the belief, the trials.

Every change makes a draft of the state, applies events to it, and then replaces the old state by one assignment.
`State.apply_event` is the only writer (`apply.py`). Everything a state holds is a value that is replaced and never
changed, so a draft is a shallow copy and a state, once made, stays valid for ever. The belief is computed when it
is first read, from the rewards and the belief before. Rewards are relative to 0, more is better; means in the
table are relative to the prior mean.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal._types import Flags, Ints
from zonal.engine import initial_design
from zonal.engine.apply import Difference, apply_event
from zonal.engine.costs import left, paid
from zonal.engine.events import Asked, Created, Event, Observed, Told, Transaction
from zonal.engine.log import Log
from zonal.engine.settings import Problem, Settings
from zonal.errors import InvalidInput
from zonal.gp.empirical import EmpiricalBelief
from zonal.gp.fit_schedule import FitState
from zonal.gp.functional_index import FunctionalIndex
from zonal.gp.model import Model
from zonal.gp.model_average import Mixture, MixtureOverlay
from zonal.gp.stats import UNMEASURED, NodeStats, ObservationStats
from zonal.kernels.feedback import Feedback, difference, footprints_of
from zonal.policies.base import RoundCosts
from zonal.spaces import Region, with_feedback
from zonal.tree import Tree

# Slot, reward, noise variance, the ledger including it, and its weight.
Reward = tuple[int, float, float | None, ObservationStats, float]

LONG = 2000  # events: a pickle of more is read as a file is, up to rounding but at once
TOTAL_TOLERANCE = 1e-9  # of the total weight of an average, which is 1


class State:
    """Everything a study knows after some events."""

    def __init__(self, problem: Problem, created: Created) -> None:
        """Start with the root alone."""
        space, layout = problem.space, problem.frame.layout
        self.problem = problem
        self.created = created
        self.events: Log[Transaction] = Log()  # the whole history, a transaction for each call
        self.draft_events: tuple[Event, ...] = (created,)  # of the transaction being written
        self.h_max = created.h_max  # the deepest depth at which nodes are expanded
        self.counts = problem.counts(created.h_max)  # the number of nodes at each depth
        self.initial_design: tuple[int, ...] = ()  # rows of the initial design, in order

        # From the noise of one unit of time to that of the default time, to which what is learned refers anyway.
        self.noise_scale = 1.0 if problem.unknowns.noise else 1 / math.sqrt(created.time)
        self.fit_state: FitState = problem.learner.begin()
        self.cells = space.whole()  # by row, the extent of the region as the space encodes it
        splittable = created.h_max >= 0 and bool(np.all(space.splittable(0, np.zeros(1, dtype=np.intp))))
        noise = (created.noise if problem.noise_by_region else problem.default_noise) * self.noise_scale
        # The nodes. Their posterior may be out of date; that of `posterior_table()` is not.
        self.structure = Tree.root(noise, splittable, created.forbidden)
        if self.model is not None and self.model.noise is not None:
            self.structure = self.structure.in_units(self.model.noise)
        self.tallies: dict[int, NodeStats] = self.structure.tallies  # what was measured at each node, by row

        # The footprints that the belief tracks, by slot: those of the nodes, and of other regions observed.
        self.tracked = FunctionalIndex(layout, layout.cells(space, 0, self.cells))
        self.off_tree_slots: dict[Hashable, int] = {}  # slots of regions not in the tree
        self.slots_are_rows = True  # slots are rows, until a region outside of the tree is observed
        self.feedback_slots: Ints | None = None  # by row, of what is measured where that is not the target
        if not problem.measures_target:
            root = space.seen((0, 0), self.cells[0], problem.feedback)
            self.feedback_slots, self.slots_are_rows = np.array([1]), False
            self.tracked = self.tracked.append(layout.keys(footprints_of([root], problem.target)))
        self.ledger = ObservationStats()  # all rewards
        self.has_sems = False  # whether any was told with a standard error
        self.posterior: Mixture | EmpiricalBelief | None = None
        self.update_base = self.tracked, self.ledger  # what a belief not computed yet is built from
        self.pending_updates: tuple[
            Reward | FunctionalIndex, ...
        ] = ()  # what came since, to be added step by step
        self.columns_current = False  # whether the table holds the current posterior
        self.has_no_posterior = False  # whether there is no posterior, for want of a kernel
        self._overlay: Any = None
        self._overlaid = 0

        self.asked: Log[Asked] = Log()  # the trials, by number
        self.pending: dict[int, Asked] = {}  # trials pending, oldest first
        self.budget = problem.settings.budget
        self.measured = 0  # trials told, as averages or differences; policies count rounds t by them
        self.last_told = -1  # the trial told last
        self.differences: dict[int, Difference] = {}  # of trials measured as differences
        self.costs_paid: dict[int, float] = {}  # what each trial told has cost, where measurements have a cost
        self.last_row_by_worker: dict[str, int] = {}  # the last row of each worker, and of any ("")
        self.observed: Log[tuple[int, Observed]] = Log()  # external observations, each with its slot
        self.blocked: dict[int, int] = {}  # rows that cannot be measured, and the trial that failed there
        self.failed_trials: dict[int, tuple[int, ...]] = {}  # trials failed in a row, by row of the table
        self.rng_streams = 0  # of random numbers, in use or free again
        self.free_streams: tuple[int, ...] = ()  # those of cancelled trials
        self.n_beside_design = 0  # trials asked for where little was possible, besides the initial design
        self.forbidden_by_user: Flags = self.structure.forbidden  # by row, whether the user's `forbidden` says so
        self.forbidden_regions: dict[int, Region] = {}  # what was forbidden later and still is, by number
        self.n_forbidden = 0  # how many times something was forbidden

    apply_event = apply_event

    @classmethod
    def begin(cls, problem: Problem, first: Transaction) -> State:
        """Return the state after the first transaction."""
        created = first[0]
        if not isinstance(created, Created):
            raise InvalidInput("a study's history begins with Created", created, "Pass all of study.events.")
        problem.checked_depth(created.h_max)  # limits how many nodes can follow
        state = cls(problem, created)
        state._append(first[1:])
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as settings and events: what follows from them is computed where it is read."""
        return _rebuild, (self.problem.settings, tuple(self.events), self.has_no_posterior)

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        """Return a copy to the last bit, with what was computed."""
        memo[id(self)] = twin = State.__new__(State)
        twin.__dict__ = copy.deepcopy(vars(self), memo)
        return twin

    def draft(self) -> State:
        """Return a copy to write into; this state stays as it is."""
        twin = State.__new__(State)
        twin.__dict__ = {**self.__dict__}
        return twin

    def apply_transaction(self, transaction: Transaction) -> State:
        """Return the state after one more transaction."""
        after = self.draft()
        after._append(transaction)
        return after

    def apply_transactions(self, transactions: Iterable[Transaction], batch: bool = False) -> State:
        """Return the state after many transactions; a `batch` builds the posterior once, when first read."""
        after, learner = self.draft(), self.problem.learner
        for transaction in transactions:
            after._append(transaction)
            if batch and not learner.learns:  # else weights change reward by reward
                after.rebase()
        return after

    def _append(self, transaction: Transaction) -> None:
        """Apply the events of a transaction, one after the other."""
        for event in transaction:
            self.apply_event(event)
        self.commit()

    def commit(self) -> State:
        """End the transaction being written, and return the state after it."""
        if not self.events.size and self.created.opening:
            self.initial_design = initial_design.spread_out(self)
        self.events = self.events.plus(self.draft_events)
        self.draft_events = ()
        return self

    def without_posterior(self) -> State:
        """Return the state without a posterior: only what happened."""
        after = self.draft()
        after.has_no_posterior = True
        nothing = np.full(self.structure.size, np.nan)
        after.structure, after.columns_current = self.structure.believed(nothing, nothing, in_order=True), True
        return after

    @property
    def history(self) -> tuple[Transaction, ...]:
        """All transactions, and the events so far of the one being written."""
        return (*self.events, self.draft_events)

    @property
    def prior_mean(self) -> float:
        """The prior mean of rewards, as given or learned."""
        return self.fit_state.fit.model.mean

    @property
    def model(self) -> Model | None:
        """The model in use; None on an empirical belief."""
        return None if self.problem.empirical else self.fit_state.fit.model

    @property
    def n_affordable(self) -> int:
        """N as used at the start of a study: how many of the cheapest measurements the budget pays for."""
        return self.problem.n_affordable(self.created.cheapest)

    @property
    def spent(self) -> float:
        """How much of the budget is spent: the number of trials measured, or their cost."""
        return self.measured if self.problem.prices is None else math.fsum(self.costs_paid.values())

    @property
    def remaining(self) -> float:
        """What remains of the budget after paying for the trials pending; 0 if it is overspent."""
        if self.problem.prices is None:
            return self.budget - self.measured - len(self.pending)
        return left(self.budget, (*self.costs_paid.values(), *(asked.cost for asked in self.pending.values())))

    @property
    def n_averages(self) -> int:
        """The number of rewards that are averages, not slopes or differences."""
        weights, lines = self.tracked.total_weights, self.ledger.lines
        others = sum(line.number for (slot, _), line in lines.items() if slot in weights) if weights else 0
        return self.ledger.total - others

    @property
    def belief(self) -> Mixture | EmpiricalBelief:
        """What the rewards say about every tracked footprint."""
        belief = self.posterior
        if belief is None:
            belief = self._build(*self.update_base)
        elif not self.pending_updates:
            return belief
        alone = not self.problem.learner.learns  # else weights change reward by reward
        for step in self.pending_updates:
            if alone and belief.fragile:
                break
            belief = belief.with_targets(step) if type(step) is FunctionalIndex else belief.condition_on(*step)  # type: ignore[misc]
        if self.pending_updates and alone and belief.fragile:  # it must be what opening the file would give
            belief = self._build(self.tracked, self.ledger)
        self.posterior, self.pending_updates = belief, ()
        return belief

    def _build(self, tracked: FunctionalIndex, ledger: ObservationStats) -> Mixture | EmpiricalBelief:
        """Return the belief from some rewards at once, under the models in use."""
        if self.problem.empirical:
            return EmpiricalBelief.built(tracked.size, self.prior_mean, ledger)
        fit = self.fit_state.fit
        return Mixture.built(self.problem.frame, fit.members, fit.model.mean, tracked, ledger)

    def rebase(self) -> None:
        """Have the belief built from scratch, from all rewards at once, when it is next read."""
        self.posterior, self.update_base, self.pending_updates = None, (self.tracked, self.ledger), ()
        self.columns_current, self._overlay = False, None

    def posterior_table(self) -> Tree:
        """The nodes with their posterior from told measurements."""
        if not self.columns_current:
            columns = self.belief.columns
            self.structure = self.structure.believed(*columns, self.slots_are_rows, self.tallies, self.pending)
            self.columns_current = True
        elif self.structure.tallies is not self.tallies or self.structure.pending is not self.pending:
            self.structure = Tree(self.structure, self.tallies, self.pending)
        return self.structure

    def policy_table(self, terms: RoundCosts | None = None) -> Tree:
        """The nodes as a policy should see them: pending trials make std smaller, and measurements may cost."""
        if self.pending:
            columns = self.overlay().columns
            tree = self.structure.believed(*columns, self.slots_are_rows, self.tallies, self.pending)
        else:
            tree = self.posterior_table()
        if terms is not None:
            tree = Tree(tree)
            tree.terms = terms
        return tree

    def overlay(self) -> MixtureOverlay | EmpiricalBelief:
        """Return the belief including the trials pending."""
        if self._overlay is None:
            self._overlay, self._overlaid = self.belief.overlay(), 0
        for asked in list(self.pending.values())[self._overlaid :]:
            weight, slot = asked.time / self.created.time, self.measured_slot(asked.row)
            expected = self.expected_difference(asked.row)
            if expected is None:
                noise = self.noise_std(asked.row)
                variance, weight = self.problem.noise_and_weight(noise, None, weight)
                self._overlay = self._overlay.with_pending(slot, variance, weight)
            else:
                noise = expected.variance / weight
                self._overlay = self._overlay.with_pending(slot, noise, weight, expected.reference)
            self._overlaid += 1
        overlay: MixtureOverlay | EmpiricalBelief = self._overlay
        return overlay

    def expected_difference(self, row: int) -> Difference | None:
        """Return the difference that the next measurement of a node is expected to be; None for an average.

        A region measured as a difference will be again, minus the same region; one not measured yet will be
        measured as the last trial was.
        """
        if not self.differences:
            return None
        last_of_row = self.last_differences.get(row)
        if last_of_row is not None or self.node_stats(row).number:
            return last_of_row
        return self.differences.get(self.last_told)

    @property
    def last_differences(self) -> dict[int, Difference]:
        """The last difference measured at each node, by row."""
        return {self.asked[number].row: difference for number, difference in self.differences.items()}

    def region(self, row: int) -> Region:
        """Return the region of a row."""
        nodes, problem = self.structure, self.problem
        node = int(nodes.depth[row]), int(nodes.index[row])
        region: Region = problem.space.seen(node, self.cells[row], problem.feedback)
        return region

    def judged_region(self, row: int) -> Region:
        """Return the region of a row as an answer: without a feedback where another one judges than measures."""
        region = self.region(row)
        return region if self.problem.measures_target else with_feedback(region, None)

    def find(self, region: Region) -> int | None:
        """Return the row of a region, None if it is not a node."""
        row = 0
        while self.region(row).key != region.key:
            children = (self.structure.parent == row).nonzero()[0].tolist()
            row = next((child for child in children if self.region(child).overlaps(region)), -1)
            if row < 0:
                return None
        return row

    def find_slot(self, region: Region, minus: Region | None = None) -> int | None:
        """Return the belief's slot of a region (minus another) as it was measured; None if it is not tracked."""
        judged = self.measured_by(region, minus, self.problem.target)
        asked = judged or self.measured_by(region, minus, self.problem.feedback)
        row = self.find(region) if asked else None
        if row is None:
            return self.off_tree_slots.get(self.functional_key(region, minus))
        return int(self.structure.slot[row]) if judged else self.measured_slot(row)

    @property
    def measured_slots(self) -> Ints:
        """The slots of what is measured of each node, by row."""
        return self.structure.slot if self.feedback_slots is None else self.feedback_slots

    def measured_slot(self, row: int) -> int:
        """Return the slot of what is measured of a node."""
        return int(self.measured_slots[row])

    def measured_by(self, region: Region, minus: Region | None, feedback: Feedback) -> bool:
        """Tell whether a region is measured alone, by this feedback."""
        return minus is None and bool(region.feedback == feedback)

    def functional_key(self, region: Region, minus: Region | None) -> Hashable:
        """Return what identifies a region as it is measured, less another."""
        if self.measured_by(region, minus, self.problem.target):
            return region.key
        return region.key, region.feedback, minus and minus.key

    def functional(self, region: Region, minus: Region | None) -> tuple[NDArray[Any], float]:
        """Return the key of the average of a region (minus another), and its total weight: 1 for an average."""
        weights, regions = zip(*difference(region, minus, self.problem.feedback), strict=True)
        layout, seen = self.tracked.layout, footprints_of(regions, self.problem.target)
        keys, total = layout.keys(seen), float(np.array(weights) @ layout.totals(seen))
        if len(weights) > 1:
            keys = layout.summed(np.array(weights), keys)
        return keys, 1.0 if abs(total - 1) <= TOTAL_TOLERANCE else total

    def next_stream(self) -> int:
        """Return the stream of random numbers of the next trial: the lowest that is free."""
        return min(self.free_streams) if self.free_streams else self.rng_streams

    def node_stats(self, row: int) -> NodeStats:
        """Return what was measured at a node."""
        return self.tallies.get(row, UNMEASURED)

    def n_measurements(self, row: int) -> int:
        """Return the number of trials measured or pending at a node."""
        n_measured = self.tallies.get(row, UNMEASURED).answered
        return n_measured + sum(asked.row == row for asked in self.pending.values())

    def may_split(self, row: int) -> bool:
        """Tell whether a node may be split."""
        return bool(self.structure.first_child[row] < 0 and not self.structure.smallest[row])

    def spent_on(self, event: Told) -> tuple[float, float]:
        """Return the time really spent on a trial, and its cost."""
        asked = self.asked[event.number]
        return asked.time if event.time is None else event.time, paid(asked, event.time)

    def noise_std(self, row: int) -> float:
        """Return the noise of a measurement of a node of the default time, in units of what is learned of it."""
        return self.structure.relative.item(row)

    def source_of(self, observed: bool, number: int) -> tuple[int, float, float]:
        """Return the slot that a trial or an observation measures, the noise if it has no sem, and its weight."""
        if observed:
            slot, event = self.observed[number]
            return slot, event.noise, event.time / self.created.time
        asked = self.asked[number]
        weight = asked.time / self.created.time
        if number in self.differences:
            return self.differences[number].slot, 0.0, weight
        return self.measured_slot(asked.row), self.noise_std(asked.row), weight

    def inside_forbidden(self) -> Flags:
        """Tell which nodes lie within what was forbidden after the study began."""
        held = np.zeros(self.structure.size, dtype=bool)
        if self.forbidden_regions:
            bans = self.forbidden_regions.values()
            for row in self.structure.forbidden.nonzero()[0].tolist():
                parent = int(self.structure.parent[row])
                held[row] = (parent >= 0 and held[parent]) or any(ban.contains(self.region(row)) for ban in bans)
        return held

    def add_update(self, step: Reward | FunctionalIndex) -> None:
        """Have the belief take in one more step when it is next read."""
        self.pending_updates = (*self.pending_updates, step)
        self.columns_current, self._overlay = False, None


def _rebuild(settings: Settings, events: Sequence[Transaction], without_posterior: bool) -> State:
    """Return the state that settings and events make: to the last bit, unless the history is long."""
    first, *later = events
    state = State.begin(Problem(settings), first).apply_transactions(later, batch=len(events) > LONG)
    return state.without_posterior() if without_posterior else state
