"""The state of a study after some facts: the tree, the belief, the trials.

Every change forks the state, writes facts into the fork, and then replaces the old state by one assignment.
`State.write` is the only writer: deciding and replaying both use it. It decides nothing, and of the user's code it
calls only the kernel and the space. Everything a state holds is a value that is replaced and never changed, so a
fork is a shallow copy and a state, once made, stays valid for ever. The belief is computed when it is first read,
from the rewards and the belief before. Rewards are relative to 0, more is better; means in the table are relative
to the prior mean.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal.averages.feedback import difference, footprints_of
from zonal.beliefs.empirical import EmpiricalBelief
from zonal.beliefs.learner import Knowledge
from zonal.beliefs.ledger import Ledger
from zonal.beliefs.mixture import Mixture, MixtureOverlay
from zonal.beliefs.model import Model
from zonal.beliefs.tracked import Tracked
from zonal.errors import InvalidInput, NumericalWarning
from zonal.policies.rules import scattered
from zonal.rounds import checks
from zonal.rounds.events import (
    Allowed,
    Asked,
    Began,
    Corrected,
    Doubted,
    Edited,
    Ended,
    Event,
    Expanded,
    Extended,
    Fact,
    Fitted,
    Measured,
    Observed,
    Retracted,
    Split,
    Taken,
)
from zonal.rounds.log import Log
from zonal.rounds.outcomes import outcomes
from zonal.rounds.settings import Problem
from zonal.spaces import Region, with_feedback
from zonal.tree import EXPANDED, Tree

# Slot, reward, noise variance, the ledger including it, and its weight.
Reward = tuple[int, float, float | None, Ledger, float]

TOTAL_TOLERANCE = 1e-9  # of the total weight of an average, which is 1


class State:
    """Everything a study knows after some events.

    Attributes
    ----------
    problem : Problem
    began : Began
    events : Log of Event
        The whole history.
    facts : tuple of Fact
        Of the event being written.
    opening : tuple of int
        Rows of the opening sweep, in order.
    h_max, counts : int, tuple of int
        The deepest depth at which nodes are expanded; the number of nodes at each depth.
    table : Tree
        The nodes. Its posterior columns may be out of date; those of `tree` are not.
    cells : array of int
        By row, the extent of the region as the space encodes it.
    tracked : Tracked
        The footprints that the belief tracks, by slot: those of the nodes, and of other regions observed.
    ledger : Ledger
        All rewards.
    known : Knowledge or None
        What was learned; None on an empirical belief.
    asked : Log of Asked
        The trials, by number.
    pending : dict of int to Asked
        Trials under way, oldest first.
    told, budget : int, float
    rounds : int
        Trials told as averages; policies count rounds t by them.
    differences : dict of int to (int, Region)
        Trials told as differences: the slot of the difference and the region subtracted.
    paid : dict of int to float
        What each trial told has cost, by number, where looks have a cost.
    places : dict of str to int
        Rows of the last trial of each worker, and of any ("" as key), where travel has a cost.
    observed : Log of (int, Observed)
        Measurements made outside the study, by number, each with its slot.
    barred : dict of int to int
        Rows that cannot be measured, and the trial whose give-up barred them.
    failures : dict of int to tuple of int
        Trials given up in a row, by row of the table.
    """

    def __init__(self, problem: Problem, began: Began) -> None:
        """Start with the root alone."""
        space = problem.space
        self.problem = problem
        self.began = began
        self._scale = 1 / math.sqrt(began.time)  # from the noise of one unit of time to that of the usual time
        self.h_max = began.h_max
        self.counts = problem.counts(began.h_max)
        self.budget = problem.settings.budget
        self.told = self.rounds = 0
        self.differences: dict[int, tuple[int, Region]] = {}
        self.paid: dict[int, float] = {}
        self.places: dict[str, int] = {}
        self.events: Log[Event] = Log()
        self.facts: tuple[Fact, ...] = (began,)
        self.opening: tuple[int, ...] = ()
        self.cells = space.whole()
        splittable = began.h_max >= 0 and bool(np.all(space.splittable(0, np.zeros(1, dtype=np.intp))))
        self.table = Tree.root(began.noise * self._scale, splittable, began.forbidden)
        layout = problem.frame.layout
        self.tracked = Tracked(layout, layout.cells(space, 0, self.cells))
        self.outside: dict[Hashable, int] = {}  # slots of regions not in the tree
        self.in_order = True  # slots are rows, until a region outside of the tree is observed
        self.ledger = Ledger()
        self.has_sems = False
        self.known: Knowledge | None = None if problem.learner is None else problem.learner.begin()
        self.worked_out: Mixture | EmpiricalBelief | None = None
        self._base = self.tracked, self.ledger  # what a belief not computed yet is built from
        self._waiting: tuple[Reward | Tracked, ...] = ()  # what came since, to be added step by step
        self._shown = False  # whether the table holds the current posterior
        self._overlay: Any = None
        self._overlaid = 0
        self.asked: Log[Asked] = Log()
        self.pending: dict[int, Asked] = {}
        self.observed: Log[tuple[int, Observed]] = Log()
        self.barred: dict[int, int] = {}
        self.failures: dict[int, tuple[int, ...]] = {}
        self.draws = 0  # in use or freed
        self.freed: tuple[int, ...] = ()  # draws of withdrawn trials

    @classmethod
    def begin(cls, problem: Problem, first: Event, foreign: bool = False) -> State:
        """Return the state after the first event; a `foreign` one, not from a study's own file, is checked."""
        began = first[0]
        if not isinstance(began, Began):
            raise InvalidInput("a study's history begins with Began", began, "Pass all of study.events.")
        problem.checked_depth(began.h_max)  # limits how many nodes can follow
        if foreign:
            checks.began(problem, began)
        state = cls(problem, began)
        state._enter(first[1:], foreign and len(first) > 1)
        return state

    def fork(self) -> State:
        """Return a copy to write into; this state stays as it is."""
        twin = State.__new__(State)
        twin.__dict__ = {**self.__dict__}
        return twin

    def apply(self, event: Event, foreign: bool = False) -> State:
        """Return the state after one more event; a `foreign` one, not from a study's own file, is checked."""
        after = self.fork()
        after._enter(event, foreign)
        return after

    def apply_all(self, events: Iterable[Event], at_once: bool = False, foreign: bool = False) -> State:
        """Return the state after many events; with `at_once` the belief is built from scratch when first read."""
        after, learner = self.fork(), self.problem.learner
        for event in events:
            after._enter(event, foreign)
            if at_once and (learner is None or not learner.learns):  # else weights change reward by reward
                after._rebase()
        return after

    def _enter(self, event: Event, foreign: bool) -> None:
        """Write the facts of an event, one after the other."""
        if foreign:
            with checks.named(self, event):
                for fact in checks.facts(event):
                    checks.happens(self, fact)
                    self.write(fact)
        else:
            for fact in event:
                self.write(fact)
        self.close()

    def close(self) -> State:
        """End the event being written, and return the state after it."""
        if not self.events.size and self.began.opening:
            self.opening = self._spread_out()
        self.events = self.events.plus(self.facts)
        self.facts = ()
        return self

    def blind(self) -> State:
        """Return the state without a posterior: only what happened."""
        after = self.fork()
        nothing = np.full(self.table.size, np.nan)
        after.table, after._shown = self.table.believed(nothing, nothing, in_order=True), True
        return after

    @property
    def history(self) -> tuple[Event, ...]:
        """All events, and the facts so far of the one being written."""
        return (*self.events, self.facts)

    @property
    def prior_mean(self) -> float:
        """The prior mean of rewards, as given or learned."""
        return (self.problem.unknowns.mean or 0.0) if self.known is None else self.known.fit.model.mean

    @property
    def model(self) -> Model | None:
        """The model in use; None on an empirical belief."""
        return None if self.known is None else self.known.fit.model

    @property
    def looks(self) -> int:
        """N as used at the start of a study: how many of the cheapest looks the budget pays for."""
        return self.problem.looks(self.began.cheapest)

    @property
    def spent(self) -> float:
        """How much of the budget is spent: the number of trials told, or their cost."""
        return self.told if self.problem.prices is None else math.fsum(self.paid.values())

    @property
    def remaining(self) -> float:
        """What remains of the budget after paying for the trials under way; 0 if it is overspent."""
        if self.problem.prices is None:
            return self.budget - self.told - len(self.pending)
        bound = (asked.cost for asked in self.pending.values())
        return max(0.0, math.fsum((self.budget, *(-cost for cost in (*self.paid.values(), *bound)))))

    @property
    def begun(self) -> int:
        """Trials told or under way."""
        return self.told + len(self.pending)

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
        for step in self._waiting:
            belief = belief.tracking(step) if type(step) is Tracked else belief.observing(*step)  # type: ignore[misc]
        self.worked_out, self._waiting = belief, ()
        return belief

    def _built(self, tracked: Tracked, ledger: Ledger) -> Mixture | EmpiricalBelief:
        """Return the belief from some rewards at once, under the models in use."""
        if self.known is None:
            return EmpiricalBelief.built(tracked.size, self.prior_mean, ledger)
        fit = self.known.fit
        return Mixture.built(self.problem.frame, fit.members, fit.model.mean, tracked, ledger)

    def _rebase(self) -> None:
        """Have the belief built from scratch, from all rewards at once, when it is next read."""
        self.worked_out, self._base, self._waiting = None, (self.tracked, self.ledger), ()
        self._shown, self._overlay = False, None

    @property
    def complaints(self) -> tuple[NumericalWarning, ...]:
        """Warnings of the belief, as far as it was computed."""
        return () if self.worked_out is None else self.worked_out.complaints

    @property
    def tree(self) -> Tree:
        """The nodes with their posterior from told measurements."""
        if not self._shown:
            self.table = self.table.believed(*self.belief.columns, self.in_order)
            self._shown = True
        return self.table

    def seen(self) -> Tree:
        """Return the nodes as a policy should see them: trials under way make std smaller."""
        if not self.pending:
            return self.tree
        overlay = self.overlay()
        assert overlay is not None
        return self.table.believed(*overlay.columns, self.in_order)

    def overlay(self) -> MixtureOverlay | EmpiricalBelief | None:
        """Return the belief including the trials under way; None if there are none."""
        if not self.pending:
            return None
        if self._overlay is None:
            self._overlay, self._overlaid = self.belief.overlay(), 0
        for asked in list(self.pending.values())[self._overlaid :]:
            weight = asked.time / self.began.time
            variance = self.problem.variance(float(self.table.noise[asked.row]), None, weight)
            self._overlay = self._overlay.plus(int(self.table.slot[asked.row]), variance, weight)
            self._overlaid += 1
        overlay: MixtureOverlay | EmpiricalBelief = self._overlay
        return overlay

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
        plain = minus is None and region.feedback == self.problem.feedback
        row = self.find(region) if plain else None
        return self.outside.get(self._name(region, minus)) if row is None else int(self.table.slot[row])

    def _name(self, region: Region, minus: Region | None) -> Hashable:
        if minus is None and region.feedback == self.problem.feedback:
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

    def may_split(self, row: int) -> bool:
        """Tell whether a node may be split."""
        return bool(self.table.first_child[row] < 0 and not self.table.smallest[row])

    # The methods below write, on a fork.

    def write(self, fact: Fact) -> None:
        """Apply one fact."""
        match fact:
            case Asked():
                self._ask(fact)
            case Measured():
                self._measure(fact)
            case Split():
                fact = Split(*fact[:4], self._split(fact))
            case Fitted():
                self._fit(fact)
            case Expanded():
                self.table = self.table.marked(fact.row, EXPANDED, True)
            case Ended():
                self._end(fact)
            case Allowed():
                self._allow(fact)
            case Observed():
                seen, minus = with_feedback(fact.region, fact.feedback), fact.minus
                slot = self._slot_of(seen, minus and with_feedback(minus, fact.feedback))
                self._reward(slot, fact.value, fact.sem, fact.noise, fact.time / self.began.time)
                self.observed = self.observed.plus((slot, fact))
            case Corrected() | Retracted():
                self._recount(fact)
            case Doubted():
                self.known = self.known and self.known._replace(warned=True)
            case Extended():
                self.budget += fact.n
            case Edited():
                pass  # a remark about the history; it changes nothing itself
            case Taken():
                asked = self.pending[fact.number]._replace(by=fact.by)
                self.pending = {**self.pending, fact.number: asked}
                if self.problem.prices is not None:
                    self._go(asked)
            case Began():
                raise InvalidInput("a study begins once", fact, "Pass the events of one study, in order.")
        self.facts = (*self.facts, fact)

    def _ask(self, asked: Asked) -> None:
        """Record that a trial is under way."""
        self.asked = self.asked.plus(asked)
        self.pending = {**self.pending, asked.number: asked}
        if self.problem.prices is not None:
            self._go(asked)
        self._look(asked.row, 1)
        if asked.draw == self.draws:
            self.draws += 1
        else:
            self.freed = tuple(draw for draw in self.freed if draw != asked.draw)

    def _go(self, asked: Asked) -> None:
        """Record where a worker is."""
        if self.problem.settings.travel is not None:
            self.places = {**self.places, asked.by: asked.row, "": asked.row}

    def _measure(self, fact: Measured) -> None:
        """Record a trial's value."""
        table, number, pending = self.table, fact.number, self.pending
        if number in pending:
            row = pending[number].row
            self.pending = {other: pending[other] for other in pending if other != number}
        else:  # it had been given up
            row = self.asked[number].row
            self._look(row, 1)
        weight = 1.0
        if self.problem.prices is not None:
            time, cost = self.spent_on(fact)
            self.paid, weight = {**self.paid, number: cost}, time / self.began.time
        if row in self.failures:
            self.failures = {other: trials for other, trials in self.failures.items() if other != row}
        self.told += 1
        if fact.minus is not None:
            slot = self._slot_of(self.region(row), fact.minus)
            self.differences = {**self.differences, number: (slot, fact.minus)}
            self.table = self.table.told_otherwise(row, 1)
            self._reward(slot, fact.value, fact.sem, 0.0, weight)
            return
        self.rounds += 1
        self.table = self.table.told(row, self.problem.sign * fact.value, fact.sem, weight)
        self._reward(int(table.slot[row]), fact.value, fact.sem, float(table.noise[row]), weight)

    def spent_on(self, fact: Measured) -> tuple[float, float]:
        """Return the time really spent on a trial, and its cost."""
        asked = self.asked[fact.number]
        if fact.time is None:
            return asked.time, asked.cost
        return fact.time, asked.cost - asked.time + fact.time

    def _reward(self, slot: int, value: float, sem: float | None, noise: float, weight: float) -> None:
        """Enter a reward into the ledger; the belief is updated when it is read."""
        reward, variance = self.problem.sign * value, self.problem.variance(noise, sem, weight)
        self.ledger = self.ledger.plus(slot, reward, variance, weight)
        self.has_sems = self.has_sems or sem is not None
        self._wait((slot, reward, variance, self.ledger, weight))

    def _recount(self, fact: Corrected | Retracted) -> None:
        """Recount the rewards of a footprint after a correction or retraction; splits already made stay."""
        slot, problem = self.origin(fact.observed, fact.number)[0], self.problem
        rewards, own, self.has_sems = [], [], False
        for (observed, number), (*_, last) in outcomes((*self.events, (*self.facts, fact))).items():
            if last.value is None:
                continue
            self.has_sems = self.has_sems or last.sem is not None
            place, noise, weight = self.origin(observed, number)
            if place == slot:
                reward = problem.sign * last.value
                weight = weight if last.time is None else last.time / self.began.time
                rewards.append((reward, problem.variance(noise, last.sem, weight), weight))
                own += [] if observed else [(reward, last.sem, weight)]
        self.ledger = self.ledger.having(slot, rewards)
        if not fact.observed:
            row = self.asked[fact.number].row
            average, left = fact.number not in self.differences, self.differences.items()
            if average:
                self.table = self.table.retold(row, own)
            if isinstance(fact, Retracted):
                self.told -= 1
                self.paid = {number: cost for number, cost in self.paid.items() if number != fact.number}
                self.rounds -= average
                self.table = self.table if average else self.table.told_otherwise(row, -1)
                self.differences = {number: own for number, own in left if number != fact.number}
                self._look(row, -1)
        self._rebase()
        if self.known is not None:
            self.known = self.known._replace(warned=False)  # the doubt may have been due to the mistake
        learner = problem.learner
        if learner is not None and learner.learns and not self.ledger.total:
            self._fit(Fitted(learner.begin().fit, True))

    def origin(self, observed: bool, number: int) -> tuple[int, float, float]:
        """Return the slot that a trial or an observation measures, the noise if it has no sem, and its weight."""
        if observed:
            slot, fact = self.observed[number]
            return slot, fact.noise, fact.time / self.began.time
        asked = self.asked[number]
        weight = asked.time / self.began.time
        if number in self.differences:
            return self.differences[number][0], 0.0, weight
        return int(self.table.slot[asked.row]), float(self.table.noise[asked.row]), weight

    def _wait(self, step: Reward | Tracked) -> None:
        self._waiting = (*self._waiting, step)
        self._shown, self._overlay = False, None

    def _fit(self, fact: Fitted) -> None:
        """Use other models from now on; splits already made stay."""
        fit, learner = fact.fit, self.problem.learner
        assert learner is not None
        assert self.known is not None
        self.known = learner.adopt(self.known, fit, self.ledger.total, fact.anew)
        self._rebase()
        if fit.model.noise is not None:
            self.table = self.table.as_noisy(fit.model.noise)

    def _split(self, fact: Split) -> int:
        """Split nodes in one step (line 7); return the checksum of their children."""
        table, problem, space = self.table, self.problem, self.problem.space
        families, sums = [], problem.checksum
        for row in fact.rows:
            depth = int(table.depth[row])
            indices, cells = space.children(depth, int(table.index[row]), self.cells[row])
            keys = self.tracked.layout.cells(space, depth + 1, cells)
            able = depth < self.h_max and space.splittable(depth + 1, indices)
            families.append((indices, cells, keys, able))
            sums = zlib.crc32(cells.tobytes(), sums)
        sizes = [own[0].size for own in families]
        indices, cells, keys, able = families[0] if not families[1:] else _together(families)
        number = indices.size
        if fact.checksum not in (None, sums) or (fact.noise and len(fact.noise) != number):
            raise InvalidInput(
                "this space splits the region differently than when the study was made",
                self.region(fact.rows[0]).name,
                "Open it with the space and the version of Zonal that it was made with.",
            )
        forbidden = np.array(fact.forbidden) if fact.forbidden else False
        noise = np.array(fact.noise) * self._scale if fact.noise else self.usual_noise()
        size, slot, inner = table.depth.size, self.tracked.size, problem.policy.inner
        self.cells = np.concatenate((self.cells, cells))
        smallest = np.logical_not(able)
        self.table = table.split(fact.rows, sizes, fact.expanded, inner, indices, slot, smallest, forbidden, noise)
        self._track(size, keys)
        return sums

    def usual_noise(self) -> float:
        """Return the standard deviation of one measurement of the usual time, where it is the same everywhere."""
        noise = self.problem.settings.noise
        if noise is None:
            model = self.model
            return 0.0 if model is None or model.noise is None else model.noise
        return 0.0 if self.problem.noise_by_region else noise * self._scale  # type: ignore[operator]

    def _end(self, fact: Ended) -> None:
        """Record that a trial was given up or withdrawn."""
        asked = self.asked[fact.number]
        if fact.barred:
            self.barred = {**self.barred, asked.row: fact.number}
        if fact.state == "given up":
            self.failures = {**self.failures, asked.row: (*self.failures.get(asked.row, ()), fact.number)}
        else:
            self.freed = (*self.freed, asked.draw)
        self.pending = {other: own for other, own in self.pending.items() if other != fact.number}
        self._overlay = None
        self._look(asked.row, -1)

    def _allow(self, fact: Allowed) -> None:
        """Record that give-ups no longer count."""
        taken_back = set(fact.numbers)
        left = {row: tuple(n for n in trials if n not in taken_back) for row, trials in self.failures.items()}
        self.failures = {row: trials for row, trials in left.items() if trials}
        free = [row for row, number in self.barred.items() if number in taken_back]
        self.barred = {row: number for row, number in self.barred.items() if row not in free}
        for row in free:
            self._look(row, 0)

    def _look(self, row: int, more: int) -> None:
        """Change the number of looks at a node by `more`, and update whether it may be asked for."""
        table, most = self.table, self.problem.settings.max_looks
        looks = table.tally(row).looks + more
        askable = (
            (self.problem.policy.inner or table.first_child[row] < 0)
            and row not in self.barred
            and not table.forbidden[row]
            and (most is None or looks < most)
        )
        self.table = table.looked(row, looks, bool(askable))

    def _slot_of(self, region: Region, minus: Region | None) -> int:
        """Return the belief's slot of a region (minus another) as it was measured, tracking it if it is new."""
        slot = self.find_slot(region, minus)
        if slot is None:
            slot = self.tracked.size
            self.outside = {**self.outside, self._name(region, minus): slot}
            self.in_order = False
            self._follow(*self.seen_as(region, minus))
        return slot

    def _follow(self, keys: NDArray[Any], total: float = 1.0) -> None:
        """Have the belief track more footprints of this total weight."""
        self.tracked = self.tracked.plus(keys, total)
        self._wait(self.tracked)

    def _track(self, first: int, keys: NDArray[Any]) -> None:
        """Have the belief track new nodes, from row `first` on, except those observed before."""
        if self.outside:
            rows = range(first, self.table.size)
            known = [self.outside.get(self.region(row).key, -1) for row in rows]
            fresh = np.array([slot < 0 for slot in known])
            slots = np.where(fresh, self.tracked.size + fresh.cumsum() - 1, known)
            self.table, keys = self.table.at_slots(first, slots), keys[:, fresh]
            self.outside = {key: slot for key, slot in self.outside.items() if slot not in known}
        if keys.shape[1]:
            self._follow(keys)

    def of_depth(self, depth: int) -> list[int]:
        """Return the nodes of a depth, and the leaves above it."""
        table = self.table
        rows: list[int] = ((table.depth == depth) | (table.leaf & (table.depth < depth))).nonzero()[0].tolist()
        return rows

    def allowed_within(self, row: int) -> int | None:
        """Return one of the largest allowed regions within a node; None if the tree has none yet."""
        table, level = self.table, np.array([row])
        while len(level := np.isin(table.parent, level).nonzero()[0]):
            allowed = level[~table.forbidden[level]]
            if len(allowed):
                return int(allowed[len(allowed) // 2])
        return None

    def _spread_out(self) -> tuple[int, ...]:
        """Return the cells of the opening sweep in an order that covers the space evenly from the start.

        A forbidden cell is replaced by one of its largest allowed parts.
        """
        table, base = self.table, self.problem.space.base

        def place(row: int) -> float:
            depth = int(table.depth[row])
            return scattered(int(table.index[row]), depth, self.counts[depth], base)

        cells = sorted(self.of_depth(self.began.opening), key=place)
        parts = (self.allowed_within(row) if table.forbidden[row] else row for row in cells)
        return tuple(row for row in parts if row is not None)


def _together(families: list[Any]) -> list[NDArray[Any]]:
    """Return indices, cells, keys and flags of all children of some nodes, concatenated."""
    indices, cells, keys, able = zip(*families, strict=True)
    flags = [np.full(own.size, flag) for own, flag in zip(indices, able, strict=True)]
    return [np.concatenate(indices), np.concatenate(cells), np.concatenate(keys, axis=1), np.concatenate(flags)]
