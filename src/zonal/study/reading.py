"""A study at one moment: its history, tree and model, and what follows from them.

Everything here reads one state and changes nothing; it converts rewards relative to the prior mean to the user's
values. `Study` adds what changes; `past` gives earlier moments.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal.engine.costs import paid
from zonal.engine.events import Asked, Edited, Transaction
from zonal.engine.noise import PerWeight
from zonal.engine.results import Observation, Trial, TrialRecord
from zonal.engine.settings import Direction, Settings
from zonal.engine.state import State
from zonal.engine.trial_history import Outcome, outcomes
from zonal.errors import InvalidInput, TrialError, whole_number
from zonal.gp.hyperparameters import WeightedModel
from zonal.gp.model import Model
from zonal.io.hints import Named, hinting, missing
from zonal.kernels.feedback import Feedback
from zonal.spaces import Region
from zonal.storage.journal import Journal
from zonal.study import queries, summary
from zonal.tree import TreeTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.plotting import Kind


def _relayed(path: str, about: str) -> Any:
    """Return a property that reads an attribute of a part of the study, given as a path."""
    return property(attrgetter(path), doc=about)


@hinting(methods=True)
class Reading(metaclass=Named):
    """A study at one moment, for reading."""

    _state: State
    _lock: threading.RLock
    _journal: Journal | None = None

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle takes along: neither the lock nor the file."""
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_journal")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy or a pickle."""
        self.__dict__.update(state)
        self._renew_lock()

    @property
    def id(self) -> str:
        """Identifies the study and its trials; copies keep it."""
        return self._state.began.id

    @property
    def settings(self) -> Settings:
        """Everything that was given."""
        return self._state.problem.settings

    @property
    def path(self) -> Path | None:
        """The file in which the study is stored; None in memory."""
        return None if self._journal is None else self._journal.path

    @property
    def _called(self) -> str:
        """The name of its file, or what it measures."""
        return self.value_name if self.path is None else self.path.stem

    @property
    def read_only(self) -> str:
        """Why the study cannot continue; "" if it can. What needs no missing function is possible all the same."""
        return "" if self._journal is None else self._journal.read_only

    @property
    def events(self) -> tuple[Transaction, ...]:
        """The whole history."""
        return tuple(self._state.events)

    @property
    def timestamps(self) -> tuple[str, ...]:
        """When each event was written, in UTC; empty in memory, where times are not kept."""
        return () if self._journal is None else tuple(row.time for row in self._journal.rows())

    @property
    def edited(self) -> tuple[str, ...]:
        """The remarks on edited exports that the history came from; empty if nobody edited it."""
        return tuple(fact.why for event in self._state.events for fact in event if isinstance(fact, Edited))

    space: Any = _relayed("settings.space", "The space that is searched.")
    feedback: Feedback = _relayed("settings.feedback", "What part of a region a measurement averages.")
    direction: Direction = _relayed("settings.direction", "Whether high or low averages are wanted.")
    value_name: str = _relayed("settings.value_name", "The name of what is measured.")
    value_unit: str = _relayed("settings.value_unit", "Its unit.")
    budget: Any = _relayed("_state.budget", "The total number of measurements, or their total cost.")
    spent: Any = _relayed("_state.spent", "The number of trials measured, or their cost.")
    measured: int = _relayed("_state.measured", "The number of trials measured.")
    remaining: Any = _relayed("_state.remaining", "What of the budget is neither spent nor pending.")
    _sign: float = _relayed("settings.sign", "1 if high averages are wanted, else -1.")

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials asked for and not yet told or failed, oldest first."""
        state = self._state
        return tuple(trial_of(state, asked) for asked in state.pending.values())

    @property
    def _looks_left(self) -> int:
        """How many of the cheapest looks may still be asked for."""
        return self._state.problem.looks(self._state.began.cheapest, self._state.remaining)

    @property
    def trials(self) -> list[TrialRecord]:
        """All trials so far with their outcomes."""
        return [one for one, _ in _trials(self._state)]

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The measurements made outside the study, except those retracted."""
        return tuple(one for one, past in _observations(self._state) if past[-1].value is not None)

    def history(self) -> list[tuple[TrialRecord | Observation, list[Outcome]]]:
        """Return every trial and observation with all its outcomes, the latest last."""
        state = self._state
        return [*_trials(state), *_observations(state)]

    @property
    def blocked(self) -> tuple[Region, ...]:
        """Regions that could not be measured and are no longer asked for; `allow` takes that back."""
        state = self._state
        return tuple(state.region(row) for row in state.blocked)

    @property
    def forbidden(self) -> tuple[Region, ...]:
        """Regions that `forbid` forbade since the study began and that were not allowed again."""
        return tuple(self._state.bans.values())

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
    def models(self) -> tuple[WeightedModel, ...]:
        """The weighted models that represent the posterior over models; one if the model was given."""
        belief = self._state.belief
        return tuple(
            WeightedModel(weight, self._outward(member.model))
            for weight, member in zip(belief.weights.tolist(), belief.members, strict=True)
        )

    def _outward(self, model: Model) -> Model:
        """Return a model in the user's units; a noise that was given as a number is included."""
        noise, problem = self.settings.noise, self._state.problem
        learned: Any = noise if isinstance(noise, float) else None
        if model.noise is not None:
            learned = model.noise * math.sqrt(self._state.began.time)
            learned = PerWeight(learned * problem.usual_root) if problem.falls else learned
        return replace(model, mean=self._sign * model.mean, noise=learned, spread=dict(model.spread))

    @property
    def tree(self) -> TreeTable:
        """The tree now, as read-only arrays; means and stds are of told measurements only."""
        return queries.tree_of(self._state)

    @property
    def under_way(self) -> tuple[Asked, ...]:
        """The pending trials as they were asked for, and by whom."""
        return tuple(self._state.pending.values())

    def _asked(self, trial: Trial | int) -> Asked:
        """Return a trial as it was asked for; raise if it never was."""
        state, own = self._state, None
        if isinstance(trial, Trial):
            number, own = trial.number, (trial.study, trial.node, trial.replicate)
        else:
            number = whole_number(trial, "a trial", 0)
        asked = state.asked[number] if number < state.asked.size else None
        if asked is None or own not in (None, (state.began.id, asked.node, asked.replicate)):
            raise TrialError(
                f"{trial!r} is not a trial of this study, which has asked for {len(state.asked)}. Pass a trial "
                "that ask() returned, or its number."
            )
        return asked

    @property
    def found(self) -> Region:
        """The recommended region; `recommend` also gives its certainty, which takes some milliseconds."""
        return self._settle()[0]

    _settle = queries.settle
    _known = queries.known
    recommend = queries.recommend
    outlook = queries.outlook
    above = queries.above
    below = queries.below
    probability = queries.probability
    threshold = property(queries.threshold)
    misclassified = property(queries.misclassified)
    stands_out = queries.stands_out
    predict = queries.predict
    relative_std = queries.relative_std
    confidence_bands = queries.confidence_bands

    def snapshot(self, *measured: int) -> list[Reading]:
        """Return the study as it was after each of some numbers of measurements, for reading only.

        Parameters
        ----------
        *measured : int
            0 for the start, and at most the number told so far.
        """
        now, moments = self._state, dict[int, Reading]()
        wanted = [whole_number(number, "a number of measurements", 0, now.measured) for number in measured]
        first, *later = now.events
        states = accumulate(later, State.apply, initial=State.begin(now.problem, first))
        left = set(wanted)
        while left:
            state = next(states)
            if state.measured in left:
                left.remove(state.measured)
                moments[state.measured] = moment = Reading()
                moment._state, moment._lock, moment._journal = state, self._lock, self._journal
        return [moments[number] for number in wanted]

    table = summary.table
    top = summary.top
    __str__ = summary.words
    _repr_html_ = summary.study_card

    def plot(self, kind: Kind | None = None, ax: Axes | None = None, **more: Any) -> Axes:
        """Plot the study, or its "history", "tree", "model" or "regions": see `zonal.plotting.plot`."""
        from zonal.plotting import plot

        return plot(self, kind, ax, **more)

    def report(self, path: str | os.PathLike[str] | None = None, *, shapes: Any = None) -> str:
        """Return one HTML page about the study, readable offline: plots, tables, settings, a methods paragraph.

        Parameters
        ----------
        path : str or path, optional
            Also write the page to this file; an existing one is replaced.
        shapes : GeoDataFrame, GeoSeries or sequence of geometries, optional
            Polygons of the members, for the map: see `zonal.plotting.plot_map`.
        """
        from zonal.web.report import report

        return report(self, path, shapes=shapes)

    def __repr__(self) -> str:
        """Return the progress."""
        how_far = summary.standing(self).rpartition(", ")[0]
        return f"<Study: {how_far}, {self._state.table.size} nodes>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError; where another library's name was used, name the one used here."""
            raise missing("a study", name)

    def _region(self, region: Any) -> Region:
        space = self.space
        if isinstance(region, Region) and region.space != space and space.continuous and region.space.continuous:
            region = region.bounds
        made: Region = space.as_region(region, self.feedback)
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
        trial, difference = trial_of(state, asked), state.differences.get(asked.number)
        minus = None if difference is None else difference.minus
        if time is not None:
            trial = replace(trial, time=time, cost=paid(asked, time))
        yield TrialRecord(**vars(trial), state=how, value=value, sem=sem, note=note, minus=minus), past


def _observations(state: State) -> Iterator[tuple[Observation, list[Outcome]]]:
    became = outcomes(state.events) if state.observed.size else {}
    for number, (_, fact) in enumerate(state.observed):
        past = became[True, number]
        value, sem = next((own.value, own.sem) for own in reversed(past) if own.value is not None)
        yield Observation(number, fact.region, value, sem, past[-1].note, fact.minus, state.began.id), past
