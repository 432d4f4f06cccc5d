"""What a study's file says without its posterior: progress, trials, trials pending; available at once."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TypeVar

from zonal._types import Json
from zonal.engine.costs import left, paid
from zonal.engine.events import (
    Asked,
    Claimed,
    Closed,
    Corrected,
    Created,
    Extended,
    Forbidden,
    Noted,
    Observed,
    Reinstated,
    Retracted,
    SetAside,
    Told,
    Unblocked,
)
from zonal.engine.trial_history import Outcome, outcomes
from zonal.gp.offsets import SOURCE
from zonal.spaces import Region, SubsetRegion
from zonal.storage.journal import Journal
from zonal.study.history import recommended_after
from zonal.web.space_data import picture_kind, region_data, space_data, window_outlines

T = TypeVar("T")
Stamp = tuple[int, int, int]  # of a file: its number, time of change and size

SHORT_TIME = len("2026-11-16T00:05:51")
SHOWN = 200  # trials whose regions are named before the tree is available
SPARKS = 400  # measurements in the small plot of the overview
HAPPENED = {  # what an event says to people
    Created: "begun",
    Asked: "trial {0.number} asked for",
    Told: "trial {0.number} measured",
    Closed: "trial {0.number} {0.state}",
    Noted: "a note to trial {0.number}",
    Corrected: "trial {0.number} corrected",
    Retracted: "trial {0.number} retracted",
    SetAside: "trial {0.number} set aside",
    Reinstated: "trial {0.number} reinstated",
    Observed: "an earlier measurement added",
    Forbidden: "{0.region.name} forbidden",
    Extended: "budget extended by {0.n}",
}
# What changes the answer besides a trial's value; its page computes the new one.
CHANGES_THE_ANSWER = (Corrected, Retracted, SetAside, Reinstated, Observed, Forbidden, Unblocked)


def stamp_of(path: Path) -> Stamp:
    """Return a value that changes when a file does."""
    stat = os.stat(path)
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


class StudyOverview:
    """A study as its file was at one moment: what follows from its events alone."""

    def __init__(self, path: Path, before: StudyOverview | None = None) -> None:
        self.stamp = stamp_of(path)
        self.times: list[str] = []  # when each event was written
        if before is None:
            self.journal, self.events = Journal.open(path, {})
        else:
            self.journal, self.times = before.journal, before.times
            self.events = [*before.events, *self.journal.unseen(len(before.events))]
        self.event = len(self.events)  # the number of events
        fresh = self.journal.rows(len(self.times))
        self.times = [*self.times, *(row.time for row in fresh)][: self.event]
        self.settings = self.journal.opened.settings
        self.asked = self._events(Asked)
        self._outcomes = outcomes(self.events)
        taken = {event.number: event.by for event in self._events(Claimed)}
        pending = [trial for trial in self.asked if self._last(trial).state == "pending"]
        self.pending = [trial._replace(by=taken.get(trial.number, trial.by)) for trial in pending]
        costs = [
            paid(trial, self._last(trial).time)
            for trial in self.asked
            if self._last(trial).state in ("measured", "set aside")
        ]
        self.measured = len(costs)
        self.budget = self.settings.budget + sum(event.n for event in self._events(Extended))
        self.spent: float = self.measured
        self.remaining: float = int(self.budget - self.measured - len(pending))
        if self.settings.priced:
            self.spent = math.fsum(costs)
            self.remaining = left(self.budget, (*costs, *(trial.cost for trial in pending)))

    def _events(self, kind: type[T]) -> list[T]:
        return [event for transaction in self.events for event in transaction if isinstance(event, kind)]

    def _last(self, asked: Asked) -> Outcome:
        """Return what became of a trial."""
        return self._outcomes[False, asked.number][-1]

    @property
    def last(self) -> str:
        """What happened last."""
        events = (event for transaction in reversed(self.events) for event in reversed(transaction))
        happened = (event for event in events if type(event) in HAPPENED and not getattr(event, "observed", False))
        return next(HAPPENED[type(event)].format(event) for event in happened)

    @property
    def state(self) -> str:
        """The state of the study, in one word."""
        if self.journal.read_only:
            return "read-only"
        if self.pending:
            return "waiting"
        return "spent" if self.remaining <= 0 else "ready" if self.measured else "new"

    def place(self, asked: Asked) -> Mapping[str, Json]:
        """Return where a trial measures, for the page."""
        return place(self._region(asked), asked.row)

    def _region(self, asked: Asked) -> Region:
        """Return the region of a trial."""
        return self.settings.space.cell(asked.node) if asked.window is None else asked.window

    def news(self, number: int) -> Mapping[str, Json]:
        """Return a transaction as the page hears of it: when it was written, and the kinds of its events."""
        kinds = [type(event).__name__ for event in self.events[number]]
        return {"number": number, "time": self.times[number], "events": kinds}

    def head(self, name: str) -> dict[str, Json]:
        """Return the main facts: progress, and pending trials."""
        settings = self.settings
        pending = [
            {
                "trial": asked.number,
                "replicate": asked.replicate,
                "asked": self.times[self._outcomes[False, asked.number][0].event],
                "by": asked.by,
                "region": self.place(asked),
                "time": asked.time,
                "cost": asked.cost,
                "labels": dict(asked.labels),
            }
            for asked in self.pending
        ]
        return {
            "name": name,
            "event": self.event,
            "created": self.times[0],
            "changed": self.times[-1],
            "last": self.last,
            "space": space_data(settings.space),
            "picture": picture_kind(settings.space),
            "value": {"name": settings.value_name, "unit": settings.value_unit},
            "direction": settings.direction,
            **{name: getattr(self, name) for name in ("budget", "measured", "remaining", "spent")},
            "observed": sum(observation["state"] == "observed" for observation in self._observed()),
            "cost": {"unit": settings.cost_unit, "times": list(settings.times)} if settings.priced else None,
            "state": self.state,
            "read_only": self.journal.read_only,
            "policy": self._events(Created)[0].policy,
            "feedback": repr(settings.feedback),
            "target": repr(settings.judged),
            "likelihood": None if settings.likelihood is None else repr(settings.likelihood),
            "pending": pending,
            "forbidden": self._forbidden(),
            "labels": list(settings.offsets),
            "offsets": [name for name in settings.offsets if name != SOURCE],  # that every trial needs
        }

    def _forbidden(self) -> Sequence[Mapping[str, Json]]:
        """Return what was forbidden since the study began, and still is."""
        lifted = {number for event in self._events(Unblocked) for number in event.forbidden}
        return [
            {"text": event.region.name, "region": described(event.region), "note": event.note, "by": event.by}
            for number, event in enumerate(self._events(Forbidden))
            if number not in lifted
        ]

    def best(self) -> Mapping[str, Json] | None:
        """Return what was recommended when the last trial was told; None if unknown, or if more came in."""
        answers = recommended_after(self.events)
        answer = answers[-1][1] if answers else None
        since = takewhile(lambda events: Told not in map(type, events), reversed(self.events))
        if answer is None or any(isinstance(event, CHANGES_THE_ANSWER) for events in since for event in events):
            return None
        where = place(self.settings.space.cell(answer.node), answer.row)
        return {"region": where, "mean": answer.mean, "std": answer.std}

    def line(self, name: str) -> Mapping[str, Json]:
        """Return the study's line in the overview, without the answer."""
        last = [self._last(asked) for asked in self.asked]
        told = [outcome.value for outcome in last if outcome.value is not None and outcome.state != "set aside"]
        return {**self.head(name), "pending": len(self.pending), "spark": told[-SPARKS:]}

    def trials(self, first: int = 0, named: bool = False) -> Mapping[str, Json]:
        """Return all trials from a number on, as columns; if `named`, with the names of the last ones' regions."""
        asked = self.asked[first:]
        pasts = [self._outcomes[False, trial.number] for trial in asked]
        subtracted = {event.number: event.minus for event in self._events(Told)}  # as told last
        minus = {number: region.name for number, region in subtracted.items() if region is not None}
        columns: dict[str, Json] = {
            "event": self.event,
            **_columns(asked, "number", "row", "replicate"),
            **_spent(asked, [past[-1].time for past in pasts]),
            **_columns([past[-1] for past in pasts], "state", "value", "sem"),
            **_columns([past[0] for past in pasts], "by"),
            "told_by": [past[-1].by if past[1:] else "" for past in pasts],
            "asked": [self.times[past[0].event][:SHORT_TIME] for past in pasts],
            "ended": [self.times[past[-1].event][:SHORT_TIME] if past[1:] else "" for past in pasts],
            "note": {str(at): past[-1].note for at, past in enumerate(pasts, first) if past[-1].note},
            "window": {str(trial.number): self.place(trial) for trial in asked if trial.window is not None},
            "minus": {str(trial.number): minus[trial.number] for trial in asked if trial.number in minus},
            **_qualities([past[-1] for past in pasts], first),
            "earlier": {
                str(at): values for at, past in enumerate(pasts, first) if (values := self._earlier(past))
            },
            "observed": self._observed(),
        }
        columns |= {} if self.settings.times else {"time": None}
        columns |= {} if self.settings.priced else {"cost": None}
        if named:
            old = max(len(asked) - SHOWN, 0)
            columns["where"] = [""] * old + [self._region(trial).name for trial in asked[old:]]
        return columns

    def _earlier(self, past: list[Outcome]) -> Sequence[Mapping[str, Json]]:
        """Return the values that were replaced."""
        replaced = [
            outcome
            for outcome, after in pairwise(past)
            if outcome.value is not None and outcome[2:4] != after[2:4]  # else it was set aside, or reinstated
        ]
        return [{**_outcome(outcome), "ended": self.times[outcome.event]} for outcome in replaced]

    def _observed(self) -> Sequence[Mapping[str, Json]]:
        """Return all observations, with their last values also if they were retracted."""
        observations: list[Mapping[str, Json]] = []
        for number, event in enumerate(self._events(Observed)):
            past = self._outcomes[True, number]
            valued = next(outcome for outcome in reversed(past) if outcome.value is not None)
            last = _outcome(past[-1]._replace(value=valued.value, sem=valued.sem, reading=valued.reading))
            place_of: dict[str, Json] = {"region": place(event.region, -1), "slope": event.feedback.slope}
            minus = "" if event.minus is None else event.minus.name
            observations.append({**last, "ended": self.times[past[0].event], **place_of, "minus": minus})
        return observations


def _columns(rows: Sequence[Asked] | Sequence[Outcome], *names: str) -> dict[str, list[Json]]:
    """Return columns of some attributes."""
    return {name: [getattr(row, name) for row in rows] for name in names}


def _spent(asked: list[Asked], times: list[float | None]) -> dict[str, list[float]]:
    """Return how long trials took, and what that cost: as told, or else as asked for."""
    timed = list(zip(asked, times, strict=True))
    took = [trial.time if time is None else time for trial, time in timed]
    return {"time": took, "cost": [paid(trial, time) for trial, time in timed]}


def _outcome(outcome: Outcome) -> Mapping[str, Json]:
    parts = {"state": outcome.state, "value": outcome.value, "sem": outcome.sem, "note": outcome.note}
    return parts | {name: part for name in ("limit", "exposure") if (part := getattr(outcome, name))}


def _qualities(last: list[Outcome], first: int) -> Mapping[str, Mapping[str, Json]]:
    """Return on which side readings that are limits lie, and the exposures of counts, by trial."""
    columns = {
        name: {str(at): part for at, outcome in enumerate(last, first) if (part := getattr(outcome, name))}
        for name in ("limit", "exposure")
    }
    return {name: column for name, column in columns.items() if column}


def described(region: Region) -> Json:
    """Return a region as the service reads it."""
    if region.node is not None:
        return {"node": region.node}
    members: list[int] = region.members.tolist() if isinstance(region, SubsetRegion) else []
    return members or region.as_dict()


def place(region: Region, row: int) -> Mapping[str, Json]:
    """Return where a region is, for the page: in which row of the tree, and its outlines if it is a window."""
    return {"row": row, "text": region.name, "window": window_outlines(region), **region_data(region)}
