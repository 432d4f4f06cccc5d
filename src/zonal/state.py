"""What applying events gives: the tree, the belief, the trials.

Whoever changes a state forks it first, works on the fork, and puts it in the old one's place by one assignment
once all is done. Nothing that a state knows of is ever overwritten, so an error at any line leaves the old one
whole. `State.apply` is how every change is made again from an event: it decides nothing, and of the user's own
code it calls the kernel and the space only.

Rewards are counted from 0, more is better; means in the table are counted from the prior mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zonal.beliefs.empirical import EmpiricalBelief, EmpiricalOverlay
from zonal.beliefs.fit import Model
from zonal.beliefs.lattice import Fit
from zonal.beliefs.learner import Knowledge
from zonal.beliefs.mixture import Mixture, MixtureOverlay
from zonal.errors import InvalidInput
from zonal.events import (
    Asked,
    Batch,
    Began,
    Ended,
    Event,
    Extended,
    Growth,
    Observed,
    Refitted,
    Split,
    Told,
    checksum,
)
from zonal.log import Log, Regions
from zonal.policies import scattered
from zonal.settings import Problem
from zonal.spaces import Region
from zonal.tree import Growing, Tree

Family = tuple[Region, ...]


@dataclass(frozen=True)
class Observation:
    """A measurement made outside of the study.

    Attributes
    ----------
    region : Region
    value : float
        As observed.
    sem : float or None
        Its standard error, None where the study's noise applies.
    """

    region: Region
    value: float
    sem: float | None


class State:
    """All that a study knows after some events.

    Attributes
    ----------
    problem : Problem
    began : Began
    events : Log of Event
        The whole history.
    opening : tuple of int
        Rows of the opening sweep, in order.
    h_max, counts : int, tuple of int
        The deepest depth at which nodes are expanded, and the number of nodes at each depth.
    table : Growing
        The tree.
    regions : Regions
        By row.
    belief : Mixture or EmpiricalBelief
    known : Knowledge or None
        What was learned; None on an empirical belief.
    asked : Log of Asked
        The trials, by number.
    pending : dict of int to Asked
        Those under way, oldest first.
    told, budget : int
    observations : Log of Observation
    barred : frozenset of int
        Rows that cannot be measured.
    failures : dict of int to int
        Give-ups in a row, by row.
    """

    def __init__(self, problem: Problem, began: Began) -> None:
        """Begin with the root alone; `start` follows once the tree is grown."""
        self.problem = problem
        self.h_max = began.h_max
        self.counts = problem.counts(began.h_max)
        self.budget = problem.settings.budget
        self.told = 0
        self.known: Knowledge | None = None if problem.learner is None else problem.learner.begin()
        self.belief: Mixture | EmpiricalBelief
        if self.known is None:
            self.belief = EmpiricalBelief(self.prior_mean)
        else:
            self.belief = Mixture(problem.frame, self.known.fit.members, self.prior_mean)
        self._shares_belief = False
        root = problem.space.cell((0, 0), problem.feedback)
        self.regions = Regions([root])
        self.tracked: Log[Region] = Log([root])  # what is at each slot of the belief
        self.belief.track(problem.feedback.footprints([root]))
        self.table = Growing(began.noise)
        self.outside: dict[Hashable, int] = {}  # slots of regions not in the tree
        self.in_order = True  # slots are rows, until a region outside of the tree is observed
        self.has_sems = False
        self.asked: Log[Asked] = Log()
        self.pending: dict[int, Asked] = {}
        self.observations: Log[Observation] = Log()
        self.barred: frozenset[int] = frozenset()
        self.failures: dict[int, int] = {}
        self.draws = 0  # in use or freed
        self.freed: tuple[int, ...] = ()  # draws of withdrawn trials
        self._overlay: MixtureOverlay | EmpiricalOverlay | None = None
        self._overlaid = 0
        self.refresh()
        self._mark(0, began.forbidden)

    @classmethod
    def begin(cls, problem: Problem, began: Began) -> State:
        """Return the state of a study that has just begun."""
        state = cls(problem, began)
        state.grow(began.grown)
        state.start(began)
        return state

    def start(self, began: Began) -> None:
        """Open the history, once the tree is as it was at the start."""
        self.began = began
        self.opening = self._spread_out() if began.opening else ()
        self.events: Log[Event] = Log([began])

    def fork(self) -> State:
        """Return the same state, to be changed; this one stays as it is."""
        twin = State.__new__(State)
        twin.__dict__.update(self.__dict__)
        twin.table = self.table.fork()
        twin._shares_belief = True  # until it is written
        return twin

    def _own(self) -> Mixture | EmpiricalBelief:
        """Return the belief, to be changed."""
        if self._shares_belief:
            self.belief, self._shares_belief = self.belief.fork(), False
        return self.belief

    def apply(self, event: Event) -> State:
        """Return the state after one more event."""
        after = self.fork()
        match event:
            case Asked():
                after.grow(event.grown)
                after.ask(event)
            case Told():
                after.measure(event.number, event.value, event.sem)
                after.adopt(event.fit)
                after.tell(event.number, event.value)
                after.grow(event.grown)
            case Ended():
                after.grow(event.grown)
                after.end(event)
            case Observed():
                after.learn_of(after.slot_of(event.region, event.feedback), event.value, event.sem, event.noise)
                after.adopt(event.fit)
                after.observe(event.region, event.value, event.sem)
                after.grow(event.grown)
            case Refitted():
                after.adopt(event.fit)
            case Extended():
                after.budget += event.n
            case Began():
                raise InvalidInput("a study begins once", event, "Pass the events of one study, in order.")
        after.record(event)
        return after

    def record(self, event: Event) -> None:
        """Enter an event into the history."""
        self.events = self.events.plus(event)
        if self.known is not None and getattr(event, "warned", ()):
            self.known = self.known.warn()

    @property
    def prior_mean(self) -> float:
        """The prior mean of rewards, as given or learned."""
        return (self.problem.unknowns.mean or 0.0) if self.known is None else self.known.model.mean

    @property
    def model(self) -> Model | None:
        """The model in use; None on an empirical belief."""
        return None if self.known is None else self.known.model

    @property
    def begun(self) -> int:
        """Trials told or under way."""
        return self.told + len(self.pending)

    @property
    def tree(self) -> Tree:
        """The table, from told measurements only."""
        return self.table.read()

    def seen(self) -> Tree:
        """Return the table as a policy should see it: with trials under way, std is smaller."""
        overlay = self.overlay()
        if overlay is None:
            return self.tree
        mean, variance = overlay.columns()
        slots = self.table.slot[: self.table.size]
        return self.tree.with_posterior(mean.take(slots), np.sqrt(variance.take(slots)))

    def overlay(self) -> MixtureOverlay | EmpiricalOverlay | None:
        """Return the belief with the trials under way; None if there are none."""
        if not self.pending:
            return None
        if self._overlay is None:
            self._overlay, self._overlaid = self.belief.overlay(), 0
        for asked in list(self.pending.values())[self._overlaid :]:
            variance = self.problem.variance(self._noise(asked.row), None)
            self._overlay = self._overlay.plus(int(self.table.slot[asked.row]), variance)
            self._overlaid += 1
        return self._overlay

    def may_split(self, row: int) -> bool:
        """Tell whether a node may be split."""
        return bool(self.table.splittable[row])

    def draw(self) -> int:
        """Return the draw of the next trial: the lowest that is free."""
        return min(self.freed, default=self.draws)

    # What follows writes, on a fork.

    def grow(self, growth: Growth) -> None:
        """Split nodes, a batch after the other."""
        for batch in growth:
            self.open(batch)

    def open(self, batch: Batch, families: Sequence[Family] | None = None) -> None:
        """Split nodes together (line 7); `families` are their children where they are at hand."""
        table, space = self.table, self.problem.space
        for split in batch:
            table.expanded[split.row] = split.expanded
        batch = tuple(split for split in batch if split.noise)
        if not batch:
            return
        if families is None:
            families = [_children(space, self.regions[split.row], split) for split in batch]
        children = [child for family in families for child in family]
        slots = iter(self._track(children))
        start = table.size
        for split, family in zip(batch, families, strict=True):
            first = table.size
            indices = [child.node[1] for child in family if child.node is not None]
            table.add_children(split.row, indices, split.noise, [next(slots) for _ in family])
            self.regions = self.regions.plus(*family)
            for place, forbidden in enumerate(split.forbidden):
                self._mark(first + place, forbidden)
            table.splittable[split.row] = False
            self.settle(split.row)
        new = slice(start, table.size)
        mean, variance = self.belief.columns()
        table.mean[new] = mean[table.slot[new]]
        table.std[new] = np.sqrt(variance[table.slot[new]])
        self._overlay = None

    def ask(self, event: Asked) -> None:
        """Note that a trial is under way."""
        self.asked = self.asked.plus(event)
        self.pending = {**self.pending, event.number: event}
        self.table.looks[event.row] += 1
        self.settle(event.row)
        if event.draw == self.draws:
            self.draws += 1
        else:
            self.freed = tuple(draw for draw in self.freed if draw != event.draw)

    def measure(self, number: int, value: float, sem: float | None) -> None:
        """Take a trial's value into the belief; `adopt` follows."""
        row = self.asked[number].row
        self.table.std_before[row] = self.table.std[row]
        self.learn_of(int(self.table.slot[row]), value, sem, self._noise(row))

    def learn_of(self, slot: int, value: float, sem: float | None, noise: float) -> None:
        """Take a value into the belief; `adopt` follows."""
        learner, variance = self.problem.learner, self.problem.variance(noise, sem)
        reward = self.problem.sign * value
        self._own().observe(slot, reward, variance)
        self.has_sems |= sem is not None
        if learner is not None and self.known is not None:
            self.known = learner.note(self.known, slot, reward, variance)

    def adopt(self, fit: Fit | None) -> None:
        """Go by other models from now on, or by the same; splits already made are facts."""
        if fit is not None:
            assert self.problem.learner is not None
            assert self.known is not None
            self.known = self.problem.learner.adopt(self.known, fit)
            belief = Mixture(self.problem.frame, fit.members, fit.model.mean, self.belief.size)
            belief.load(self.known.ledger.data())
            self.belief, self._shares_belief = belief, False
            if fit.model.noise is not None:
                self.table.noise[: self.table.size] = fit.model.noise
        self.refresh()

    def refresh(self) -> None:
        """Copy the belief into the table."""
        table = self.table
        nodes = slice(0, table.size)
        mean, variance = self.belief.columns()
        if not self.in_order:
            mean, variance = mean.take(table.slot[nodes]), variance.take(table.slot[nodes])
        table.mean[nodes] = mean
        np.sqrt(variance, out=table.std[nodes])
        self._overlay = None

    def tell(self, number: int, value: float) -> None:
        """Note that a trial's value was taken in."""
        table, row = self.table, self.asked[number].row
        if number not in self.pending:  # it had been given up
            table.looks[row] += 1
        self._end(number)
        if row in self.failures:
            self.failures = {other: times for other, times in self.failures.items() if other != row}
        self.told += 1
        table.count[row] += 1
        reward = self.problem.sign * value
        table.reward[row] += (reward - table.reward[row]) / table.count[row]
        self.settle(row)

    def end(self, event: Ended) -> None:
        """Note that a trial was given up or withdrawn."""
        asked = self.asked[event.number]
        if event.barred:
            self.barred |= {asked.row}
        if event.state == "given up":
            self.failures = {**self.failures, asked.row: self.failures.get(asked.row, 0) + 1}
        else:
            self.freed = (*self.freed, asked.draw)
        self._end(event.number)
        self.table.looks[asked.row] -= 1
        self.settle(asked.row)

    def _end(self, number: int) -> None:
        self.pending = {other: asked for other, asked in self.pending.items() if other != number}
        self._overlay = None

    def slot_of(self, region: Region, feedback: Any) -> int:
        """Return the belief's slot of any region as a feedback sees it, tracking it if it is new."""
        same = feedback == self.problem.feedback
        row = self.regions.find(region) if same else None
        if row is not None:
            return int(self.table.slot[row])
        key = region.key if same else (region.key, feedback)
        if key not in self.outside:
            slot = self._own().track(feedback.footprints([region]))
            self.tracked = self.tracked.plus(region)
            self.outside = {**self.outside, key: slot}
            self.in_order = False
        return self.outside[key]

    def observe(self, region: Region, value: float, sem: float | None) -> None:
        """Note that a measurement from outside was taken in."""
        self.observations = self.observations.plus(Observation(region, value, sem))

    def settle(self, row: int) -> None:
        """Decide whether a node may be asked for."""
        table, most = self.table, self.problem.settings.max_looks
        table.askable[row] = (
            (self.problem.policy.inner or table.first_child[row] < 0)
            and row not in self.barred
            and not table.forbidden[row]
            and (most is None or table.looks[row] < most)
        )

    def footprints_of(self, slots: Sequence[int]) -> Any:
        """Return the footprints at some slots of the belief."""
        return self.problem.feedback.footprints([self.tracked[slot] for slot in slots])

    def _noise(self, row: int) -> float:
        return float(self.table.noise[row])

    def _mark(self, row: int, forbidden: bool) -> None:
        """Note of a new node whether it may be split, and whether it is forbidden."""
        table = self.table
        deep = table.depth[row] > self.h_max
        table.splittable[row] = not deep and self.problem.space.may_split(self.regions[row])
        table.smallest[row] = not table.splittable[row]
        table.forbidden[row] = forbidden
        self.settle(row)

    def _track(self, regions: Sequence[Region]) -> list[int]:
        """Return the belief's slots of regions, tracking those that were not observed before."""
        first, known, feedback = self.belief.size, self.outside, self.problem.feedback
        fresh = [region for region in regions if region.key not in known] if known else regions
        if fresh:
            self._own().track(feedback.footprints(fresh))
            self.tracked = self.tracked.plus(*fresh)
        new = iter(range(first, self.belief.size))
        if not known:
            return list(new)
        slots = [known[region.key] if region.key in known else next(new) for region in regions]
        inside = {region.key for region in regions}
        self.outside = {key: slot for key, slot in known.items() if key not in inside}
        return slots

    def _spread_out(self) -> tuple[int, ...]:
        """Return the leaves in an order that covers the space evenly from the start."""
        tree, base = self.tree, self.problem.space.base

        def place(row: int) -> float:
            depth = int(tree.depth[row])
            return scattered(int(tree.index[row]), depth, self.counts[depth], base)

        return tuple(sorted(tree.leaf.nonzero()[0].tolist(), key=place))


def _children(space: Any, region: Region, split: Split) -> Family:
    """Return the children of a region, or complain that they are not those of old."""
    children: Family = space.split(region)
    if checksum(children) != split.checksum or len(children) != len(split.noise):
        raise InvalidInput(
            "this space splits the region in another way than when the study was made",
            region.name,
            "Open it with the version of Zonal, and the space, that it was made with.",
        )
    return children
