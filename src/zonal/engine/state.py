"""The state of a study after some events: the tree, the belief, the trials.

Every change makes a draft of the state, applies events to it, and then replaces the old state by one assignment.
`State.apply_event` is the only writer (`apply.py`). Everything a state holds is a value that is replaced and never
changed, so a draft is a shallow copy and a state, once made, stays valid for ever. What follows from them (the
posterior, the table that policies see) is computed when it is first read, and kept with what it was computed from.
Rewards are relative to 0, more is better; means in the table are relative to the prior mean.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from operator import is_
from typing import Any, TypeVar

import numpy as np

from zonal._types import Flags, Floats, Ints
from zonal.engine import initial_design
from zonal.engine.apply import Difference, apply_event
from zonal.engine.costs import left, paid
from zonal.engine.events import Asked, Created, Event, Observed, SetAside, Signed, Told, Transaction
from zonal.engine.labels import offset_spec, planned_label
from zonal.engine.log import Log
from zonal.engine.results import Source
from zonal.engine.settings import Problem, Settings
from zonal.errors import InvalidInput, StudyFileError
from zonal.gp.empirical import empirical_columns
from zonal.gp.fit_schedule import FitState
from zonal.gp.functional_index import FunctionalIndex, Keys
from zonal.gp.hyperparameters import Fit
from zonal.gp.model import Model
from zonal.gp.model_average import LazyPosterior, Mixture, MixtureOverlay, Pending
from zonal.gp.noise_laws import CONSTANT, relative_variances
from zonal.gp.offsets import Label
from zonal.gp.stats import ObservationStats
from zonal.kernels.feedback import Feedback, difference, footprints_of
from zonal.policies.base import RoundCosts
from zonal.spaces import Region, with_feedback
from zonal.tree import Nodes, Tree

T = TypeVar("T")
Sources = tuple[Nodes | LazyPosterior | Mapping[int, int] | Model | Fit, ...]
LONG = 2000  # events: a pickle of more is read as a file is, up to rounding but at once
MANY_PENDING = 16  # trials, from which on they are added to a posterior at once
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
        self.keys: dict[str, int] = {}  # of requests that were signed, with the number of their transaction
        self.h_max = created.h_max  # the deepest depth at which nodes are expanded
        self.counts = problem.counts(created.h_max)  # the number of nodes at each depth
        self.n_affordable = problem.n_affordable(created.cheapest)  # N: how many the budget paid for at the start
        self.initial_design: tuple[int, ...] = ()  # rows of the initial design, in order

        self.fit_state: FitState = problem.learner.begin()
        self.cells = space.partition.whole()  # by row, the extent of the region as the space encodes it
        splittable = created.h_max >= 0 and bool(np.all(space.partition.splittable(0, np.zeros(1, dtype=np.intp))))
        self.structure = Nodes.root(splittable, created.forbidden)
        noise = created.noise if problem.noise.by_region else problem.noise.default
        # By row, the noise of a measurement of the default time: as given, or in units of what is learned of it.
        self.relative_noise = np.array([problem.noise.for_time(noise, created.time)])
        self.told_counts: dict[int, int] = {}  # the number of trials told at each node, by row
        self.window_counts: dict[Hashable, int] = {}  # and of each window, by its key

        # The footprints that the posterior tracks, by slot: those of the nodes, and of other regions observed.
        tracked = FunctionalIndex(
            layout, layout.cells(space, 0, self.cells), offset_spec(problem, self.n_affordable)
        )
        learns = problem.learner.learns
        self.feedback_slots: Ints | None = None  # by row, of what is measured where that is not the target
        if not problem.measures_target:
            root = space.seen((0, 0), self.cells[0], problem.feedback)
            self.feedback_slots = np.array([1])
            tracked = tracked.append(layout.keys(footprints_of([root], problem.target)))
        self.posterior = LazyPosterior(problem.frame, self.fit_state.fit, tracked, ObservationStats(), learns)
        self.off_tree_slots: dict[Hashable, int] = {}  # slots of regions not in the tree
        # Slots are rows, until a region outside of the tree is observed.
        self.slots_are_rows = problem.measures_target
        self.shifted_slots: dict[Source, int] = {}  # slots of readings with labels or a drift
        self.label_slots: dict[int, tuple[int, ...]] = {}  # slots of trials with labels, by row
        self.orders: dict[Source, int] = {}  # which reading each was, if readings drift
        # Of readings that are not Gaussian, the mean and variance that take their place, as values.
        self.sites: dict[Source, tuple[float, float | None]] = {}
        self.approximated_from = 0  # the number of rewards when they were last computed together
        self.has_sems = False  # whether any reward was told with a standard error
        self.has_no_posterior = False  # whether there is no posterior, for want of a kernel
        self._derived: dict[str, tuple[Sources, Any]] = {}  # what was computed from what, by name
        self._overlay: tuple[LazyPosterior, tuple[int, ...], MixtureOverlay] | None = None

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
        self.set_aside: dict[Source, SetAside] = {}  # readings that do not count, as they may be gross errors
        self.believed: frozenset[Source] = frozenset()  # readings that a repeat, or a person, confirmed
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

    def __reduce__(self) -> tuple[Callable[..., State], tuple[Settings, Sequence[Transaction], bool]]:
        """Pickle as settings and events: what follows from them is computed where it is read."""
        return _rebuild, (self.problem.settings, tuple(self.events), self.has_no_posterior)

    def __deepcopy__(self, memo: dict[int, State]) -> State:
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
                after.posterior = after.posterior.from_scratch()
        return after

    def _append(self, transaction: Transaction) -> None:
        """Apply the events of a transaction, one after the other."""
        for event in transaction:
            self.apply_event(event)
        self.commit()

    def commit(self) -> State:
        """End the transaction being written, and return the state after it."""
        if not self.events and self.created.opening:
            self.initial_design = initial_design.spread_out(self)
        self.events = self.events.plus(self.draft_events)
        self.draft_events = ()
        return self

    def signed(self, signature: Signed) -> State:
        """Return the state whose last transaction is signed."""
        after = self.draft()
        after.events, after.draft_events = Log(self.events[:-1]), self.events[-1]
        after.apply_event(signature)
        return after.commit()

    def without_posterior(self) -> State:
        """Return the state without a posterior: only what happened."""
        after = self.draft()
        after.has_no_posterior, after._derived = True, {}
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
        """The model in use; None if the policy has none."""
        return None if self.problem.model_free else self.fit_state.fit.model

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
    def tracked(self) -> FunctionalIndex:
        """The footprints that the posterior tracks."""
        return self.posterior.tracked

    @property
    def ledger(self) -> ObservationStats:
        """All rewards."""
        return self.posterior.ledger

    @property
    def n_averages(self) -> int:
        """The number of rewards that are averages, not slopes or differences."""
        return self.ledger.n_outside(self.tracked.total_weights)

    @property
    def belief(self) -> Mixture:
        """What the rewards say about every tracked footprint; a policy without a model has nothing of the kind."""
        if self.has_no_posterior:
            raise StudyFileError("this needs the user's own kernel, which no file holds. Open it with kernel=...")
        if self.problem.model_free:
            raise InvalidInput("empirical means have no covariances and no model", "StoOO", "Use another policy.")
        return self.posterior.mixture

    def derived(self, name: str, sources: Sources, compute: Callable[[], T]) -> T:
        """Return what is computed from some sources; it is kept as long as these are the same objects."""
        kept = self._derived.get(name)
        if kept is None or not all(map(is_, kept[0], sources)):
            kept = sources, compute()
            self._derived = {**self._derived, name: kept}
        value: T = kept[1]
        return value

    def posterior_table(self) -> Tree:
        """The nodes with their posterior from the measurements."""
        sources = self.structure, self.posterior, self.told_counts
        tree = self.derived("table", sources, lambda: self._table(()))
        return tree if tree.pending is self.pending else tree.with_pending(self.pending)

    def policy_table(self, terms: RoundCosts | None = None) -> Tree:
        """The nodes as a policy should see them: pending trials make std smaller, and measurements may cost."""
        tree = self._table(self.pending.values()) if self.pending else self.posterior_table()
        return tree if terms is None else tree.with_costs(terms)

    def _table(self, pending: Collection[Asked]) -> Tree:
        """Return the nodes with their posterior, in which some trials that are `pending` count as measured."""
        mean, variance = self._columns(pending)
        learned_noise = self._learned_noise(self.fit_state.fit.model)
        measured = self.ledger, self.measured_slots, learned_noise, self.told_counts, self.pending
        return Tree(self.structure, mean, np.sqrt(variance), self.noise_std(), *measured, self.label_slots)

    def _columns(self, pending: Collection[Asked]) -> tuple[Floats, Floats]:
        """Return mean and variance by row; what is not known is NaN."""
        slots = self.structure.slot
        if self.has_no_posterior:
            nothing = np.full(slots.size, np.nan)
            return nothing, nothing
        if self.problem.model_free:
            return empirical_columns(self.ledger, slots, self.prior_mean, [asked.row for asked in pending])
        mean, variance = self.overlay().columns if pending else self.belief.columns
        return (mean, variance) if self.slots_are_rows else (mean.take(slots), variance.take(slots))

    def overlay(self) -> MixtureOverlay:
        """Return the posterior including the trials pending; those asked for since the last time are added."""
        numbers = tuple(self.pending)
        if not numbers:  # an overlay that is kept keeps its belief, of which there may be a later one
            self._overlay = None
            return self.belief.overlay()
        kept, included, overlay = self._overlay or (None, (), None)
        if overlay is None or kept is not self.posterior or numbers[: len(included)] != included:
            included, overlay = (), self.belief.overlay()
        fresh = [self._expected(self.pending[number]) for number in numbers[len(included) :]]
        if not included and len(fresh) >= MANY_PENDING and all(minus is None for *_, minus in fresh):
            overlay = overlay.with_many_pending(fresh)
        else:
            for pending in fresh:
                overlay = overlay.with_pending(*pending)
        self._overlay = self.posterior, numbers, overlay
        return overlay

    def _expected(self, asked: Asked) -> Pending:
        """Return what a pending trial will measure, with which noise."""
        weight, slot = asked.time / self.created.time, self.asked_slot(asked)
        if label := planned_label(self, asked):
            slot = self.find_slot(self.asked_region(asked), None, label) or slot
        expected = self.expected_difference(asked.row)
        if expected is None:
            noise = self.noise_of_row(asked.row)
            return slot, *self.problem.noise.of_reward(noise, None, weight), None
        return slot, expected.variance / weight, weight, expected.reference

    def expected_difference(self, row: int) -> Difference | None:
        """Return the difference that the next measurement of a node is expected to be; None for an average.

        A region measured as a difference will be again, minus the same region; one not measured yet will be
        measured as the last trial was.
        """
        if not self.differences:
            return None
        last_of_row = self.last_differences.get(row)
        if last_of_row is not None or self.n_averages_told(row):
            return last_of_row
        return self.differences.get(self.last_told)

    @property
    def last_differences(self) -> dict[int, Difference]:
        """The last difference measured at each node, by row."""
        told = ((self.asked[number], difference) for number, difference in self.differences.items())
        return {asked.row: difference for asked, difference in told if asked.window is None}

    def region(self, row: int) -> Region:
        """Return the region of a row."""
        nodes, problem = self.structure, self.problem
        node = int(nodes.depth[row]), int(nodes.index[row])
        region: Region = problem.space.seen(node, self.cells[row], problem.feedback)
        return region

    def asked_region(self, asked: Asked) -> Region:
        """Return the region of a trial: that of its node, or a window."""
        return self.region(asked.row) if asked.window is None else asked.window

    def asked_slot(self, asked: Asked) -> int:
        """Return the slot of what is measured in a trial."""
        if asked.window is None:
            return self.measured_slot(asked.row)
        slot = self.find_slot(asked.window)
        assert slot is not None  # tracked since it was asked for
        return slot

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

    def find_slot(self, region: Region, minus: Region | None = None, label: Label | None = None) -> int | None:
        """Return the belief's slot of a region (minus another) as it was measured; None if it is not tracked."""
        if label is not None:
            return self.off_tree_slots.get(self.functional_key(region, minus, label))
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

    def functional_key(self, region: Region, minus: Region | None, label: Label | None = None) -> Hashable:
        """Return what identifies a region as it is measured, less another, with what shifts the reading."""
        if label is not None:
            return self.functional_key(region, minus), label
        if self.measured_by(region, minus, self.problem.target):
            return region.key
        return region.key, region.feedback, minus and minus.key

    def functional(self, region: Region, minus: Region | None) -> tuple[Keys, float]:
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

    @property
    def waiting_rows(self) -> set[int]:
        """The nodes with a reading that waits for a repeat."""
        return {self.asked[number].row for (_, number), doubt in self.set_aside.items() if doubt.waits}

    def n_averages_told(self, row: int) -> int:
        """Return the number of trials told as averages of a node."""
        return self.ledger.n_told(self.measured_slot(row), self.label_slots.get(row, ()))

    def n_measurements(self, row: int) -> int:
        """Return the number of trials measured or pending at a node."""
        pending = (asked for asked in self.pending.values() if asked.window is None)
        return self.told_counts.get(row, 0) + sum(asked.row == row for asked in pending)

    def may_split(self, row: int) -> bool:
        """Tell whether a node may be split."""
        return bool(self.structure.first_child[row] < 0 and not self.structure.smallest[row])

    def spent_on(self, event: Told) -> tuple[float, float]:
        """Return the time really spent on a trial, and its cost."""
        asked = self.asked[event.number]
        return asked.time if event.time is None else event.time, paid(asked, event.time)

    def noise_std(self, model: Model | None = None) -> Floats:
        """Return the noise of a measurement of the default time, by row, under a model: by default that in use."""
        if self.problem.settings.likelihood is not None:
            return self._noise_of_readings()
        used = model or self.fit_state.fit.model
        return self.relative_noise if used.noise is None else self._learned_noise(used) * self.relative_noise

    def _learned_noise(self, model: Model) -> Floats:
        """Return the noise under a model of a reward of weight 1, by row; 0 where it is not learned."""
        noise = np.full(self.structure.size, model.noise or 0.0)
        if model.law == CONSTANT.name:
            return noise
        sizes = self.derived("sizes", (self.structure,), lambda: self.tracked.sizes(self.measured_slots))
        return noise * np.sqrt(relative_variances(model.law, sizes))

    def noise_of_row(self, row: int) -> float:
        """Return the noise of the next measurement of a node, as given or in units of what is learned of it."""
        counts = self.problem.settings.likelihood is not None
        return self._noise_of_readings().item(row) if counts else self.relative_noise.item(row)

    def _noise_of_readings(self) -> Floats:
        """Return the noise that counts are expected to have, by row: it follows from their rate."""
        likelihood = self.problem.settings.likelihood
        assert likelihood is not None
        if self.has_no_posterior or self.problem.model_free:
            return self.relative_noise

        def compute() -> Floats:
            rates = self.problem.sign * (self.prior_mean + self.belief.columns[0].take(self.measured_slots))
            return likelihood.std(rates, 1 / self.relative_noise**2)

        return self.derived("noise of readings", (self.structure, self.posterior), compute)

    def source_of(self, observed: bool, number: int) -> tuple[int, float, float]:
        """Return the slot that a trial or an observation measures, the noise if it has no sem, and its weight."""
        if observed:
            slot, event = self.observed[number]
            slot = self.shifted_slots.get((True, number), slot)
            return slot, event.noise, event.time / self.created.time
        asked = self.asked[number]
        weight = asked.time / self.created.time
        if number in self.differences:
            return self.differences[number].slot, 0.0, weight
        shifted = self.shifted_slots.get((False, number))
        return self.asked_slot(asked) if shifted is None else shifted, self.relative_noise.item(asked.row), weight

    def inside_forbidden(self) -> Flags:
        """Tell which nodes lie within what was forbidden after the study began."""
        held = np.zeros(self.structure.size, dtype=bool)
        if self.forbidden_regions:
            bans = self.forbidden_regions.values()
            for row in self.structure.forbidden.nonzero()[0].tolist():
                parent = int(self.structure.parent[row])
                held[row] = (parent >= 0 and held[parent]) or any(ban.contains(self.region(row)) for ban in bans)
        return held


def _rebuild(settings: Settings, events: Sequence[Transaction], without_posterior: bool) -> State:
    """Return the state that settings and events make: to the last bit, unless the history is long."""
    first, *later = events
    state = State.begin(Problem(settings), first).apply_transactions(later, batch=len(events) > LONG)
    return state.without_posterior() if without_posterior else state
