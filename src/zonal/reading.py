"""A study as it stands at one moment: its history, its tree, its model, and what follows from them.

Everything here reads one state and changes nothing; it turns rewards counted from the prior mean back into the
user's values. `Study` adds what changes; `past` gives the moments before.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal import answers, looking
from zonal.averages.feedback import Feedback
from zonal.beliefs.lattice import Weighted
from zonal.beliefs.mixture import Mixture
from zonal.beliefs.model import Model
from zonal.errors import InvalidInput, TrialError, whole_number
from zonal.rounds.events import Asked, Edited, Event
from zonal.rounds.journal import Journal
from zonal.rounds.outcomes import Outcome, outcomes
from zonal.rounds.settings import Direction, Settings
from zonal.rounds.state import State
from zonal.rounds.trials import Observation, Trial, TrialRecord
from zonal.spaces import Region, with_feedback
from zonal.tables.habits import missing
from zonal.tree import TreeTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.plots import Kind


def _relayed(path: str, about: str) -> Any:
    """Return a property that is what a part of the study has at a path."""
    return property(attrgetter(path), doc=about)


class Reading:
    """A study at one moment, to be read."""

    _state: State
    _lock: threading.RLock
    _journal: Journal | None = None

    @property
    def id(self) -> str:
        """What tells this study's trials from those of others; copies keep it."""
        return self._state.began.id

    @property
    def path(self) -> Path | None:
        """The file in which the study lives; None in memory."""
        return None if self._journal is None else self._journal.path

    @property
    def _called(self) -> str:
        """What people call it: its file's name, or what it measures."""
        return self.value_name if self.path is None else self.path.stem

    @property
    def read_only(self) -> str:
        """Why the study can only be looked at; "" if it can go on."""
        return "" if self._journal is None else self._journal.read_only

    @property
    def settings(self) -> Settings:
        """Everything that was given."""
        return self._state.problem.settings

    @property
    def events(self) -> tuple[Event, ...]:
        """The whole history: what was decided and what happened."""
        return tuple(self._state.events)

    @property
    def times(self) -> tuple[str, ...]:
        """When each event was written, in UTC; nothing in memory, where that is not kept."""
        return () if self._journal is None else tuple(row.time for row in self._journal.rows())

    @property
    def edited(self) -> tuple[str, ...]:
        """What was said of each edited export that the history came from: empty if nobody changed it."""
        return tuple(fact.why for event in self._state.events for fact in event if isinstance(fact, Edited))

    space: Any = _relayed("settings.space", "Where the study looks.")
    feedback: Feedback = _relayed("settings.feedback", "What a measurement sees of a region.")
    direction: Direction = _relayed("settings.direction", "Whether high or low averages are wanted.")
    value_name: str = _relayed("settings.value_name", "What is measured.")
    value_unit: str = _relayed("settings.value_unit", "In which unit.")
    budget: Any = _relayed("_state.budget", "Measurements that may be made in all, or what they may cost.")
    spent: Any = _relayed("_state.spent", "Trials told, or what they cost.")
    told: int = _relayed("_state.told", "Trials told.")
    remaining: Any = _relayed(
        "_state.remaining",
        "Measurements that may still be asked for, or what they may cost; what is under way is taken off.",
    )

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials asked for and not yet told or given up, oldest first."""
        state = self._state
        return tuple(trial_of(state, asked) for asked in state.pending.values())

    @property
    def _looks_left(self) -> int:
        """How many looks may still be asked for, if each is of the cheapest."""
        state = self._state
        if state.problem.prices is None:
            return int(state.remaining)
        return state.problem.looks(state.began.cheapest, state.remaining)

    @property
    def trials(self) -> list[TrialRecord]:
        """All trials so far and what became of them."""
        return [one for one, _ in _trials(self._state)]

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The measurements that were made outside of the study, but for those retracted."""
        return tuple(one for one, past in _observations(self._state) if past[-1].value is not None)

    def history(self) -> list[tuple[TrialRecord | Observation, list[Outcome]]]:
        """Return every trial and every observation, each with all that became of it, the last thing last."""
        state = self._state
        return [*_trials(state), *_observations(state)]

    @property
    def barred(self) -> tuple[Region, ...]:
        """Regions that could not be measured and are not asked for any more; `allow` takes that back."""
        state = self._state
        return tuple(state.region(row) for row in state.barred)

    @property
    def prior_mean(self) -> float:
        """The prior mean of f, as given or learned."""
        return self._sign * self._state.prior_mean

    @property
    def model(self) -> Model:
        """The kernel, noise and prior mean in use, as given or learned, and how well they are known."""
        model = self._state.model
        if model is None:
            raise InvalidInput("the empirical belief has no model", "StoOO", "Use a policy such as GPOO.")
        return self._outward(model)

    @property
    def models(self) -> tuple[Weighted, ...]:
        """The weighted models that stand for all the measurements allow; one if the model was given."""
        belief = self._state.belief
        if not isinstance(belief, Mixture):
            return ()
        return tuple(
            Weighted(weight, self._outward(member.model))
            for weight, member in zip(belief.weights.tolist(), belief.members, strict=True)
        )

    def _outward(self, model: Model) -> Model:
        """Return a model in the user's units; a noise that was given as a number is part of it."""
        noise = self.settings.noise
        given = noise if isinstance(noise, float) else None
        return replace(
            model,
            mean=self._sign * model.mean,
            noise=given if model.noise is None else model.noise * math.sqrt(self._state.began.time),
            spread=dict(model.spread),
        )

    @property
    def _sign(self) -> float:
        return self.settings.sign

    @property
    def tree(self) -> TreeTable:
        """The tree now, as read-only arrays; means and stds are of told measurements only."""
        return answers.tree_of(self._state)

    @property
    def under_way(self) -> tuple[Asked, ...]:
        """The pending trials as they were asked for, and by whom."""
        return tuple(self._state.pending.values())

    def _asked(self, trial: Trial | int) -> Asked:
        """Return a trial as it was asked for, or complain that it never was."""
        state = self._state
        known = trial if isinstance(trial, Trial) else None
        number = whole_number(trial, "a trial", 0) if known is None else known.number
        asked = state.asked[number] if number < state.asked.size else None
        if asked is None or (
            known is not None
            and (known.study != state.began.id or known.node != asked.node or known.replicate != asked.replicate)
        ):
            raise TrialError(
                f"{trial!r} is not a trial of this study, which has asked for {len(state.asked)}. Pass a trial "
                "that ask() returned, or its number."
            )
        return asked

    @property
    def found(self) -> Region:
        """The region to settle for now; `recommend` also says how sure that is, which takes some milliseconds."""
        return self._settle()[0]

    _settle = answers.settle
    _known = answers.known
    recommend = answers.recommend
    outlook = answers.outlook
    above = answers.above
    below = answers.below
    probability = answers.probability
    threshold = property(answers.threshold)
    misclassified = property(answers.misclassified)
    stands_out = answers.stands_out
    predict = answers.predict
    doubt = answers.doubt
    bands = answers.bands

    def past(self, *told: int) -> list[Reading]:
        """Return the study as it was after each of some numbers of measurements: to be read, not to go on with.

        Parameters
        ----------
        *told : int
            0 for the beginning, and no more than were told since.
        """
        now, moments = self._state, dict[int, Reading]()
        wanted = [whole_number(number, "a number of measurements", 0, now.told) for number in told]
        history = iter(now.events)
        state = State.begin(now.problem, next(history))
        while True:
            if state.told in wanted and state.told not in moments:
                moments[state.told] = moment = Reading()
                moment._state, moment._lock, moment._journal = state, self._lock, self._journal
            if len(moments) == len(set(wanted)):
                return [moments[number] for number in wanted]
            state = state.apply(next(history))

    table = looking.table
    top = looking.top
    __str__ = looking.words
    _repr_html_ = looking.study_card

    def plot(self, kind: Kind | None = None, ax: Axes | None = None, **more: Any) -> Axes:
        """Draw the study, or its "history", "tree", "model" or "regions": see `zonal.plots.plot`."""
        from zonal.plots import plot

        return plot(self, kind, ax, **more)

    def __repr__(self) -> str:
        """Return how far it is."""
        how_far = looking.standing(self).rpartition(", ")[0]
        return f"<Study: {how_far}, {self._state.table.size} nodes>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Complain of a name that is not there, with the one it has here."""
            raise missing("a study", name)

    def _region(self, region: Any) -> Region:
        if isinstance(region, Region) and region.space == self.space:
            return with_feedback(region, self.feedback)
        if isinstance(region, Region):
            if not (self.space.continuous and region.space.continuous):
                raise InvalidInput("this region is of another space", region.name, "Describe it in this one.")
            region = region.bounds
        made: Region = self.space.region(region, self.feedback)
        return made


def trial_of(state: State, asked: Asked) -> Trial:
    """Return a trial as the user gets it."""
    look = asked.replicate, state.began.id, asked.time, asked.cost
    return Trial(asked.number, asked.node, state.region(asked.row), *look)


def _trials(state: State) -> Iterator[tuple[TrialRecord, list[Outcome]]]:
    became = outcomes(state.events)
    for asked in state.asked:
        past = became[False, asked.number]
        _, how, value, sem, note, _, time = past[-1]
        trial, minus = trial_of(state, asked), state.differences.get(asked.number, (0, None))[1]
        if time is not None:
            trial = replace(trial, time=time, cost=asked.cost - asked.time + time)
        yield TrialRecord(**vars(trial), state=how, value=value, sem=sem, note=note, minus=minus), past


def _observations(state: State) -> Iterator[tuple[Observation, list[Outcome]]]:
    became = outcomes(state.events) if state.observed.size else {}
    for number, (_, fact) in enumerate(state.observed):
        past = became[True, number]
        value, sem = next((own.value, own.sem) for own in reversed(past) if own.value is not None)
        yield Observation(number, fact.region, value, sem, past[-1].note, fact.minus, state.began.id), past
