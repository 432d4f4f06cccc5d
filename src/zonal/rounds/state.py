"""What applying events gives: the tree, the belief, the trials.

Whoever changes a state forks it first, works on the fork, and puts it in the old one's place by one assignment
once all is done. Nothing that a state knows of is ever overwritten, so an error at any line leaves the old one
whole. `State.apply` is how every change is made again from an event: it decides nothing, and of the user's own
code it calls the kernel and the space only.

Rewards are counted from 0, more is better; means in the table are counted from the prior mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zonal.averages.feedback import footprints_of
from zonal.beliefs.empirical import EmpiricalBelief, EmpiricalOverlay
from zonal.beliefs.lattice import Fit
from zonal.beliefs.learner import Knowledge
from zonal.beliefs.ledger import Data, Ledger, Line
from zonal.beliefs.mixture import Mixture, MixtureOverlay
from zonal.beliefs.model import Model
from zonal.errors import InvalidInput
from zonal.policies import scattered
from zonal.rounds import checks
from zonal.rounds.events import (
    Asked,
    Batch,
    Began,
    Edited,
    Ended,
    Event,
    Extended,
    Growth,
    Observed,
    Refitted,
    Split,
    Taken,
    Told,
    checksum,
)
from zonal.rounds.log import Log, Regions
from zonal.rounds.settings import Problem
from zonal.rounds.trials import Observation
from zonal.spaces import Region, with_feedback
from zonal.tree import Tree

Family = tuple[Region, ...]


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
    tree : Tree
        From told measurements only.
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
        self._later: list[tuple[int, float, float | None]] | None = None  # rewards that wait for `_catch_up`
        self._loaded: Data | None = None  # rewards of the last fit, which wait too
        root = problem.space.cell((0, 0), problem.feedback)
        self.regions = Regions([root])
        self.tracked: Log[Region] = Log([root])  # what is at each slot of the belief
        self.belief.track(problem.feedback.footprints([root]))
        self.tree = Tree(began.noise, began.h_max >= 0 and problem.space.may_split(root), began.forbidden)
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

    @classmethod
    def begin(cls, problem: Problem, began: Began, foreign: bool = False) -> State:
        """Return the state of a study that has just begun; what is `foreign` is checked."""
        problem.checked_depth(began.h_max)  # which says how much is made
        if foreign:
            checks.began(problem, began)
        state = cls(problem, began)
        state.grow(began.grown, foreign)
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
        twin.tree = self.tree.fork()
        twin._shares_belief = True  # until it is written
        return twin

    def _own(self) -> Mixture | EmpiricalBelief:
        """Return the belief, to be changed."""
        if self._shares_belief:
            self.belief, self._shares_belief = self.belief.fork(), False
        return self.belief

    def apply(self, event: Event, foreign: bool = False) -> State:
        """Return the state after one more event; a `foreign` one is checked: it may not be what was decided."""
        after = self.fork()
        after._apply(event, foreign)
        return after

    def blind(self) -> State:
        """Return the state with nothing known of any average: only what happened."""
        after = self.fork()
        after.tree.fill(mean=np.nan, std=np.nan)
        return after

    def apply_all(self, events: Iterable[Event], foreign: bool = False) -> State:
        """Return the state after many events; from the start on, the posterior is built once, at the end."""
        after = self.fork()
        if isinstance(after.belief, Mixture) and not after.told and not len(after.observations):
            after._later = []
        for event in events:
            after._apply(event, foreign)
        after._catch_up()
        return after

    def _apply(self, event: Event, foreign: bool) -> None:
        if foreign:
            with checks.named(self, event):
                checks.happens(self, event)
                self._enter(event, foreign)
        else:
            self._enter(event, foreign)
        self.record(event)

    def _enter(self, event: Event, foreign: bool) -> None:
        """Make the change that an event tells of."""
        match event:
            case Asked():
                self.grow(event.grown, foreign)
                if foreign:
                    checks.placed(self, event)
                self.ask(event)
            case Taken():
                asked = replace(self.pending[event.number], by=event.by)
                self.pending = {**self.pending, event.number: asked}
            case Told():
                self.measure(event.number, event.value, event.sem)
                self.tell(event.number, event.value, event.fit)
                self.grow(event.grown, foreign)
            case Ended():
                self.grow(event.grown, foreign)
                self.end(event)
            case Observed():
                self.learn_of(self.slot_of(event.region, event.feedback), event.value, event.sem, event.noise)
                self.adopt(event.fit)
                self.observe(event.region, event.value, event.sem)
                self.grow(event.grown, foreign)
            case Refitted() | Edited():
                self.adopt(event.fit)
            case Extended():
                self.budget += event.n
            case Began():
                raise InvalidInput("a study begins once", event, "Pass the events of one study, in order.")

    def record(self, event: Event) -> None:
        """Enter an event into the history."""
        self.events = self.events.plus(event)
        if self.known is not None and isinstance(event, Told | Observed) and event.warned:
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

    def seen(self) -> Tree:
        """Return the table as a policy should see it: with trials under way, std is smaller."""
        overlay = self.overlay()
        if overlay is None:
            return self.tree
        mean, variance = overlay.columns()
        if not self.in_order:
            mean, variance = mean.take(self.tree.slot), variance.take(self.tree.slot)
        return self.tree.with_posterior(mean, np.sqrt(variance))

    def overlay(self) -> MixtureOverlay | EmpiricalOverlay | None:
        """Return the belief with the trials under way; None if there are none."""
        if not self.pending:
            return None
        if self._overlay is None:
            self._overlay, self._overlaid = self.belief.overlay(), 0
        for asked in list(self.pending.values())[self._overlaid :]:
            variance = self.problem.variance(float(self.tree.noise[asked.row]), None)
            self._overlay = self._overlay.plus(int(self.tree.slot[asked.row]), variance)
            self._overlaid += 1
        return self._overlay

    def may_split(self, row: int) -> bool:
        """Tell whether a node may be split."""
        return bool(self.tree.at(row, "splittable"))

    def draw(self) -> int:
        """Return the draw of the next trial: the lowest that is free."""
        return min(self.freed, default=self.draws)

    # What follows writes, on a fork.

    def grow(self, growth: Growth, foreign: bool) -> None:
        """Split nodes, a batch after the other."""
        for batch in growth:
            if foreign:
                checks.split(self, batch)
            self.open(batch)

    def open(self, batch: Batch, families: Sequence[Family] | None = None) -> None:
        """Split nodes together (line 7); `families` are their children where they are at hand."""
        tree, space, inner = self.tree, self.problem.space, self.problem.policy.inner
        for split in batch:
            if split.expanded != tree.at(split.row, "expanded"):
                tree.write(split.row, expanded=split.expanded)
            if split.noise and not inner:
                tree.write(split.row, askable=False)
        batch = tuple(split for split in batch if split.noise)  # others are marked as if they had been split
        if not batch:
            return
        if families is None:
            families = [_children(space, self.regions[split.row], split) for split in batch]
        children = [child for family in families for child in family]
        forbidden = [never for split in batch for never in split.forbidden]
        able: list[bool] = []
        for split, family in zip(batch, families, strict=True):
            if tree.at(split.row, "depth") >= self.h_max:
                able += [False] * len(family)
            else:
                able += map(space.may_split, family)
        slots = self._track(children)
        mean, variance = self.belief.columns()
        tree.split(
            [split.row for split in batch],
            [len(family) for family in families],
            index=[child.node[1] for child in children if child.node is not None],
            noise=[noise for split in batch for noise in split.noise],
            slot=range(slots.start, slots.stop) if isinstance(slots, slice) else slots,
            mean=mean[slots],
            std=np.sqrt(variance[slots]),
            splittable=able,
            smallest=[not may for may in able],
            forbidden=forbidden,
            askable=[not never for never in forbidden],
        )
        self.regions = self.regions.plus(*children)
        self._overlay = None

    def ask(self, event: Asked) -> None:
        """Note that a trial is under way."""
        self.asked = self.asked.plus(event)
        self.pending = {**self.pending, event.number: event}
        self._look(event.row, 1)
        if event.draw == self.draws:
            self.draws += 1
        else:
            self.freed = tuple(draw for draw in self.freed if draw != event.draw)

    def measure(self, number: int, value: float, sem: float | None) -> None:
        """Take a trial's value into the belief; `tell` follows."""
        row, tree = self.asked[number].row, self.tree
        self.learn_of(tree.at(row, "slot"), value, sem, tree.at(row, "noise"))

    def learn_of(self, slot: int, value: float, sem: float | None, noise: float) -> None:
        """Take a value into the belief; `adopt` follows."""
        learner, variance = self.problem.learner, self.problem.variance(noise, sem)
        reward = self.problem.sign * value
        if self._later is None:
            belief = self._own()
            belief.check(slot, reward, variance)
            belief.observe(slot, reward, variance)
        else:
            self._later.append((slot, reward, variance))
        self.has_sems |= sem is not None
        if learner is not None and self.known is not None:
            self.known = learner.note(self.known, slot, reward, variance)

    def adopt(self, fit: Fit | None) -> None:
        """Go by other models from now on, or by the same, and show what is believed; splits made are facts."""
        if fit is not None:
            assert self.problem.learner is not None
            assert self.known is not None
            self.known = self.problem.learner.adopt(self.known, fit)
            data = self.known.ledger.data()
            if self._later is None:
                self._build(data)
            else:
                self._loaded, self._later = data, []
            if fit.model.noise is not None:
                self.tree.fill(noise=fit.model.noise)
        self.refresh()

    def _build(self, data: Data) -> None:
        """Believe what all rewards say under the models to go by now."""
        assert self.known is not None
        fit = self.known.fit
        belief = Mixture(self.problem.frame, fit.members, fit.model.mean, self.belief.size)
        belief.load(data)
        self.belief, self._shares_belief = belief, False

    def _catch_up(self) -> None:
        """Take in the rewards that waited: those of the last fit at once, later ones one by one.

        Where no model is learned all are taken in at once.
        """
        later, self._later = self._later, None
        if later is None:
            return
        if self._loaded is None and self.problem.learner is not None and not self.problem.learner.learns:
            lines: dict[tuple[int, bool], Line] = {}
            for slot, reward, variance in later:
                lines[slot, False] = lines.get((slot, False), Line()).plus(reward, variance)
            ledger, later = Ledger(len(later), lines), []
            if ledger.total:
                self._build(ledger.data())
                assert isinstance(self.belief, Mixture)
                self.belief.repeated(*ledger.scatter(None))
        elif self._loaded is not None:
            self._build(self._loaded)
            self._loaded = None
        for slot, reward, variance in later:
            self._own().observe(slot, reward, variance)
        self.belief.complaints.clear()
        self.refresh()

    def refresh(self) -> None:
        """Copy the belief into the table."""
        if self._later is not None:
            return
        mean, variance = self.belief.columns()
        if not self.in_order:
            mean, variance = mean.take(self.tree.slot), variance.take(self.tree.slot)
        self.tree.fill(mean=mean, std=np.sqrt(variance))
        self._overlay = None

    def tell(self, number: int, value: float, fit: Fit | None) -> None:
        """Note that a trial's value was taken in, and go by a fit that was made with it."""
        tree, row = self.tree, self.asked[number].row
        if number not in self.pending:  # it had been given up
            self._look(row, 1)
        self._end(number)
        if row in self.failures:
            self.failures = {other: times for other, times in self.failures.items() if other != row}
        self.told += 1
        count, reward = tree.at(row, "count") + 1, tree.at(row, "reward")
        reward += (self.problem.sign * value - reward) / count
        tree.write(row, count=count, reward=reward, std_before=tree.at(row, "std"))
        self.adopt(fit)

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
        self._look(asked.row, -1)

    def _end(self, number: int) -> None:
        self.pending = {other: asked for other, asked in self.pending.items() if other != number}
        self._overlay = None

    def slot_of(self, region: Region, feedback: Any) -> int:
        """Return the belief's slot of any region as a feedback sees it, tracking it if it is new."""
        same = feedback == self.problem.feedback
        row = self.regions.find(region) if same else None
        if row is not None:
            return int(self.tree.slot[row])
        key = region.key if same else (region.key, feedback)
        if key not in self.outside:
            seen = with_feedback(region, feedback)
            slot = self._own().track(footprints_of([seen], self.problem.feedback))
            self.tracked = self.tracked.plus(seen)
            self.outside = {**self.outside, key: slot}
            self.in_order = False
        return self.outside[key]

    def observe(self, region: Region, value: float, sem: float | None) -> None:
        """Note that a measurement from outside was taken in."""
        self.observations = self.observations.plus(Observation(region, value, sem))

    def _look(self, row: int, more: int) -> None:
        """Count one look at a node more or less, and decide whether it may be asked for."""
        tree, most = self.tree, self.problem.settings.max_looks
        looks = tree.at(row, "looks") + more
        askable = (
            (self.problem.policy.inner or tree.at(row, "first_child") < 0)
            and row not in self.barred
            and not tree.at(row, "forbidden")
            and (most is None or looks < most)
        )
        tree.write(row, looks=looks)
        if askable != tree.at(row, "askable"):
            tree.write(row, askable=askable)

    def footprints_of(self, slots: Sequence[int]) -> Any:
        """Return the footprints at some slots of the belief."""
        return footprints_of([self.tracked[slot] for slot in slots], self.problem.feedback)

    def _track(self, regions: Sequence[Region]) -> slice | list[int]:
        """Return the belief's slots of regions, tracking those that were not observed before."""
        belief, known, feedback = self._own(), self.outside, self.problem.feedback
        first = belief.size
        fresh = [region for region in regions if region.key not in known] if known else regions
        if fresh:
            belief.track(feedback.footprints(fresh))
            self.tracked = self.tracked.plus(*fresh)
        if not known:
            return slice(first, belief.size)
        new = iter(range(first, belief.size))
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
