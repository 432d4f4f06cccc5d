"""The state of a study after some facts: the tree, the belief, the trials.

Every change forks the state, writes facts into the fork, and then replaces the old state by one assignment.
`State.write` is the only writer (`writing.py`). Everything a state holds is a value that is replaced and never
changed, so a fork is a shallow copy and a state, once made, stays valid for ever. The belief is computed when it
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

from zonal._types import Flags
from zonal.engine import initial_design, plausible
from zonal.engine.apply import Difference, write
from zonal.engine.costs import left, paid
from zonal.engine.events import Asked, Created, Event, Observed, Told, Transaction
from zonal.engine.log import Log
from zonal.engine.settings import Problem, Settings
from zonal.errors import InvalidInput
from zonal.gp.empirical import EmpiricalBelief
from zonal.gp.fit_schedule import FitState
from zonal.gp.model import Model
from zonal.gp.model_average import Mixture, MixtureOverlay
from zonal.gp.stats import UNMEASURED, NodeStats, ObservationStats
from zonal.gp.tracked import FunctionalIndex
from zonal.kernels.feedback import difference, footprints_of
from zonal.policies.base import RoundCosts
from zonal.spaces import Region
from zonal.tree import Tree

# Slot, reward, noise variance, the ledger including it, and its weight.
Reward = tuple[int, float, float | None, ObservationStats, float]

LONG = 2000  # events: a pickle of more is read as a file is, up to rounding but at once
TOTAL_TOLERANCE = 1e-9  # of the total weight of an average, which is 1


class State:
    """Everything a study knows after some events."""

    def __init__(self, problem: Problem, began: Created) -> None:
        """Start with the root alone."""
        space, layout = problem.space, problem.frame.layout
        self.problem = problem
        self.began = began
        self.events: Log[Transaction] = Log()  # the whole history
        self.facts: tuple[Event, ...] = (began,)  # of the event being written
        self.h_max = began.h_max  # the deepest depth at which nodes are expanded
        self.counts = problem.counts(began.h_max)  # the number of nodes at each depth
        self.opening: tuple[int, ...] = ()  # rows of the initial design, in order

        # From the noise of one unit of time to that of the usual time, to which what is learned refers anyway.
        self.scale = 1.0 if problem.unknowns.noise else 1 / math.sqrt(began.time)
        self.known: FitState = problem.learner.begin()
        self.cells = space.whole()  # by row, the extent of the region as the space encodes it
        splittable = began.h_max >= 0 and bool(np.all(space.splittable(0, np.zeros(1, dtype=np.intp))))
        noise = (began.noise if problem.noise_by_region else problem.usual_noise) * self.scale
        # The nodes. Its posterior and what was measured may be out of date; those of `tree` are not.
        self.table = Tree.root(noise, splittable, began.forbidden)
        if self.model is not None and self.model.noise is not None:
            self.table = self.table.in_units(self.model.noise)
        self.tallies: dict[int, NodeStats] = self.table.tallies  # what was measured at each node, by row

        # The footprints that the belief tracks, by slot: those of the nodes, and of other regions observed.
        self.tracked = FunctionalIndex(layout, layout.cells(space, 0, self.cells))
        self.outside: dict[Hashable, int] = {}  # slots of regions not in the tree
        self.in_order = True  # slots are rows, until a region outside of the tree is observed
        self.ledger = ObservationStats()  # all rewards
        self.has_sems = False  # whether any was told with a standard error
        self.worked_out: Mixture | EmpiricalBelief | None = None
        self._base = self.tracked, self.ledger  # what a belief not computed yet is built from
        self._waiting: tuple[Reward | FunctionalIndex, ...] = ()  # what came since, to be added step by step
        self._shown = False  # whether the table holds the current posterior
        self._blind = False  # whether there is no posterior, for want of a kernel
        self._overlay: Any = None
        self._overlaid = 0

        self.asked: Log[Asked] = Log()  # the trials, by number
        self.pending: dict[int, Asked] = {}  # trials pending, oldest first
        self.budget = problem.settings.budget
        self.measured = 0  # trials told, as averages or differences; policies count rounds t by them
        self.last_told = -1  # the trial told last
        self.differences: dict[int, Difference] = {}  # of trials measured as differences
        self.paid: dict[int, float] = {}  # what each trial told has cost, where looks have a cost
        self.places: dict[str, int] = {}  # the last row of each worker, and of any ("")
        self.observed: Log[tuple[int, Observed]] = Log()  # measurements from outside, each with its slot
        self.blocked: dict[int, int] = {}  # rows that cannot be measured, and the trial that was failed there
        self.failures: dict[int, tuple[int, ...]] = {}  # trials failed in a row, by row of the table
        self.draws = 0  # in use or freed
        self.freed: tuple[int, ...] = ()  # draws of cancelled trials
        self.aside = 0  # trials asked for where little was possible, besides the initial design
        self.ruled: Flags = self.table.forbidden  # by row, whether the user's `forbidden` says so
        self.bans: dict[int, Region] = {}  # what was forbidden later and still is, by number
        self.banned_before = 0  # how many times something was forbidden

    write = write

    @classmethod
    def begin(cls, problem: Problem, first: Transaction, foreign: bool = False) -> State:
        """Return the state after the first event; a `foreign` one, not from a study's own file, is checked."""
        began = first[0]
        if not isinstance(began, Created):
            raise InvalidInput("a study's history begins with Began", began, "Pass all of study.events.")
        problem.checked_depth(began.h_max)  # limits how many nodes can follow
        if foreign:
            plausible.began(problem, began)
        state = cls(problem, began)
        state._enter(first[1:], foreign and len(first) > 1)
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as settings and events: what follows from them is computed where it is read."""
        return _again, (self.problem.settings, tuple(self.events), self._blind)

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        """Return a copy to the last bit, with what was computed."""
        memo[id(self)] = twin = State.__new__(State)
        twin.__dict__ = copy.deepcopy(vars(self), memo)
        return twin

    def fork(self) -> State:
        """Return a copy to write into; this state stays as it is."""
        twin = State.__new__(State)
        twin.__dict__ = {**self.__dict__}
        return twin

    def apply(self, event: Transaction, foreign: bool = False) -> State:
        """Return the state after one more event; a `foreign` one, not from a study's own file, is checked."""
        after = self.fork()
        after._enter(event, foreign)
        return after

    def apply_all(self, events: Iterable[Transaction], at_once: bool = False, foreign: bool = False) -> State:
        """Return the state after many events; with `at_once` the belief is built from scratch when first read."""
        after, learner = self.fork(), self.problem.learner
        for event in events:
            after._enter(event, foreign)
            if at_once and not learner.learns:  # else weights change reward by reward
                after.rebase()
        return after

    def _enter(self, event: Transaction, foreign: bool) -> None:
        """Write the facts of an event, one after the other."""
        if foreign:
            with plausible.named(self, event):
                for fact in plausible.facts(event):
                    plausible.happens(self, fact)
                    self.write(fact)
        else:
            for fact in event:
                self.write(fact)
        self.close()

    def close(self) -> State:
        """End the event being written, and return the state after it."""
        if not self.events.size and self.began.opening:
            self.opening = initial_design.spread_out(self)
        self.events = self.events.plus(self.facts)
        self.facts = ()
        return self

    def blind(self) -> State:
        """Return the state without a posterior: only what happened."""
        after = self.fork()
        after._blind = True
        nothing = np.full(self.table.size, np.nan)
        after.table, after._shown = self.table.believed(nothing, nothing, in_order=True), True
        return after

    @property
    def history(self) -> tuple[Transaction, ...]:
        """All events, and the facts so far of the one being written."""
        return (*self.events, self.facts)

    @property
    def prior_mean(self) -> float:
        """The prior mean of rewards, as given or learned."""
        return self.known.fit.model.mean

    @property
    def model(self) -> Model | None:
        """The model in use; None on an empirical belief."""
        return None if self.problem.empirical else self.known.fit.model

    @property
    def looks(self) -> int:
        """N as used at the start of a study: how many of the cheapest looks the budget pays for."""
        return self.problem.looks(self.began.cheapest)

    @property
    def spent(self) -> float:
        """How much of the budget is spent: the number of trials measured, or their cost."""
        return self.measured if self.problem.prices is None else math.fsum(self.paid.values())

    @property
    def remaining(self) -> float:
        """What remains of the budget after paying for the trials pending; 0 if it is overspent."""
        if self.problem.prices is None:
            return self.budget - self.measured - len(self.pending)
        return left(self.budget, (*self.paid.values(), *(asked.cost for asked in self.pending.values())))

    @property
    def averages(self) -> int:
        """The number of rewards that are averages, not slopes or differences."""
        odd, lines = self.tracked.odd, self.ledger.lines
        others = sum(line.number for (slot, _), line in lines.items() if slot in odd) if odd else 0
        return self.ledger.total - others

    @property
    def belief(self) -> Mixture | EmpiricalBelief:
        """What the rewards say about every tracked footprint."""
        belief = self.worked_out
        if belief is None:
            belief = self._built(*self._base)
        elif not self._waiting:
            return belief
        alone = not self.problem.learner.learns  # else weights change reward by reward
        for step in self._waiting:
            if alone and belief.fragile:
                break
            belief = belief.tracking(step) if type(step) is FunctionalIndex else belief.observing(*step)  # type: ignore[misc]
        if self._waiting and alone and belief.fragile:  # it must be what opening the file would give
            belief = self._built(self.tracked, self.ledger)
        self.worked_out, self._waiting = belief, ()
        return belief

    def _built(self, tracked: FunctionalIndex, ledger: ObservationStats) -> Mixture | EmpiricalBelief:
        """Return the belief from some rewards at once, under the models in use."""
        if self.problem.empirical:
            return EmpiricalBelief.built(tracked.size, self.prior_mean, ledger)
        fit = self.known.fit
        return Mixture.built(self.problem.frame, fit.members, fit.model.mean, tracked, ledger)

    def rebase(self) -> None:
        """Have the belief built from scratch, from all rewards at once, when it is next read."""
        self.worked_out, self._base, self._waiting = None, (self.tracked, self.ledger), ()
        self._shown, self._overlay = False, None

    @property
    def tree(self) -> Tree:
        """The nodes with their posterior from told measurements."""
        if not self._shown:
            columns = self.belief.columns
            self.table = self.table.believed(*columns, self.in_order, self.tallies, self.pending)
            self._shown = True
        elif self.table.tallies is not self.tallies or self.table.pending is not self.pending:
            self.table = Tree(self.table, self.tallies, self.pending)
        return self.table

    def seen(self, terms: RoundCosts | None = None) -> Tree:
        """Return the nodes as a policy should see them: trials pending make std smaller, and looks may cost."""
        if self.pending:
            columns = self.overlay().columns
            tree = self.table.believed(*columns, self.in_order, self.tallies, self.pending)
        else:
            tree = self.tree
        if terms is not None:
            tree = Tree(tree)
            tree.terms = terms
        return tree

    def overlay(self) -> MixtureOverlay | EmpiricalBelief:
        """Return the belief including the trials pending."""
        if self._overlay is None:
            self._overlay, self._overlaid = self.belief.overlay(), 0
        for asked in list(self.pending.values())[self._overlaid :]:
            weight, slot = asked.time / self.began.time, int(self.table.slot[asked.row])
            expected = self.expected_difference(asked.row)
            if expected is None:
                noise = self.table.relative.item(asked.row)
                variance, weight = self.problem.weighed(noise, None, weight)
                self._overlay = self._overlay.plus(slot, variance, weight)
            else:
                self._overlay = self._overlay.plus(slot, expected.variance / weight, weight, expected.reference)
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
        own = self.last_differences.get(row)
        if own is not None or self.tally(row).number:
            return own
        return self.differences.get(self.last_told)

    @property
    def last_differences(self) -> dict[int, Difference]:
        """The last difference measured at each node, by row."""
        return {self.asked[number].row: own for number, own in self.differences.items()}

    def region(self, row: int) -> Region:
        """Return the region of a row."""
        table, problem = self.table, self.problem
        node = int(table.depth[row]), int(table.index[row])
        region: Region = problem.space.seen(node, self.cells[row], problem.feedback)
        return region

    def find(self, region: Region) -> int | None:
        """Return the row of a region, None if it is not a node."""
        row = 0
        while self.region(row).key != region.key:
            children = (self.table.parent == row).nonzero()[0].tolist()
            row = next((child for child in children if self.region(child).overlaps(region)), -1)
            if row < 0:
                return None
        return row

    def find_slot(self, region: Region, minus: Region | None = None) -> int | None:
        """Return the belief's slot of a region (minus another) as it was measured; None if it is not tracked."""
        row = self.find(region) if self.is_usual(region, minus) else None
        return self.outside.get(self.name_of(region, minus)) if row is None else int(self.table.slot[row])

    def is_usual(self, region: Region, minus: Region | None) -> bool:
        """Tell whether a region is measured as those of trials are: by the study's feedback, and alone."""
        return minus is None and bool(region.feedback == self.problem.feedback)

    def name_of(self, region: Region, minus: Region | None) -> Hashable:
        """Return what identifies a region as it is measured, less another."""
        if self.is_usual(region, minus):
            return region.key
        return region.key, region.feedback, minus and minus.key

    def seen_as(self, region: Region, minus: Region | None) -> tuple[NDArray[Any], float]:
        """Return the key of the average of a region (minus another), and its total weight: 1 for an average."""
        weights, regions = zip(*difference(region, minus, self.problem.feedback), strict=True)
        layout, seen = self.tracked.layout, footprints_of(regions, self.problem.feedback)
        keys, total = layout.keys(seen), float(np.array(weights) @ layout.totals(seen))
        if len(weights) > 1:
            keys = layout.summed(np.array(weights), keys)
        return keys, 1.0 if abs(total - 1) <= TOTAL_TOLERANCE else total

    def draw(self) -> int:
        """Return the draw number of the next trial: the lowest that is free."""
        return min(self.freed) if self.freed else self.draws

    def tally(self, row: int) -> NodeStats:
        """Return what was measured at a node."""
        return self.tallies.get(row, UNMEASURED)

    def looks_at(self, row: int) -> int:
        """Return the number of trials measured or pending at a node."""
        looks = self.tallies.get(row, UNMEASURED).answered
        for number in self.pending:
            looks += self.pending[number].row == row
        return looks

    def may_split(self, row: int) -> bool:
        """Tell whether a node may be split."""
        return bool(self.table.first_child[row] < 0 and not self.table.smallest[row])

    def spent_on(self, fact: Told) -> tuple[float, float]:
        """Return the time really spent on a trial, and its cost."""
        asked = self.asked[fact.number]
        return asked.time if fact.time is None else fact.time, paid(asked, fact.time)

    def origin(self, observed: bool, number: int) -> tuple[int, float, float]:
        """Return the slot that a trial or an observation measures, the noise if it has no sem, and its weight."""
        if observed:
            slot, fact = self.observed[number]
            return slot, fact.noise, fact.time / self.began.time
        asked = self.asked[number]
        weight = asked.time / self.began.time
        if number in self.differences:
            return self.differences[number].slot, 0.0, weight
        return int(self.table.slot[asked.row]), self.table.relative.item(asked.row), weight

    def banned(self) -> Flags:
        """Tell which nodes lie within what was forbidden after the study began."""
        held = np.zeros(self.table.size, dtype=bool)
        if self.bans:
            bans = self.bans.values()
            for row in self.table.forbidden.nonzero()[0].tolist():
                parent = int(self.table.parent[row])
                held[row] = (parent >= 0 and held[parent]) or any(ban.contains(self.region(row)) for ban in bans)
        return held

    def wait(self, step: Reward | FunctionalIndex) -> None:
        """Have the belief take in one more step when it is next read."""
        self._waiting = (*self._waiting, step)
        self._shown, self._overlay = False, None


def _again(settings: Settings, events: Sequence[Transaction], blind: bool) -> State:
    """Return the state that settings and events make: to the last bit, unless the history is long."""
    first, *later = events
    state = State.begin(Problem(settings), first).apply_all(later, at_once=len(events) > LONG)
    return state.blind() if blind else state
