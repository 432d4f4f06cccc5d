"""The outcome of every trial and observation, with its earlier values if it was corrected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from zonal.engine.events import (
    Asked,
    Closed,
    Corrected,
    Event,
    Labels,
    Noted,
    Observed,
    Reading,
    Reinstated,
    Retracted,
    SetAside,
    Signed,
    Told,
    Transaction,
)
from zonal.engine.results import Source, State
from zonal.gp.likelihoods import Limit

RULE = "the rule on gross errors"  # who set a reading aside, if nobody did


class Outcome(NamedTuple):
    """One outcome of a trial or an observation.

    Attributes
    ----------
    event : int
        The number of the event that caused it, from 0.
    state : {"pending", "measured", "failed", "cancelled", "observed", "retracted", "set aside"}
    value, sem : float or None
        None if there is none. A value that was set aside is kept, and does not count.
    note : str
        Kept with the value, or why the trial failed or was cancelled, or the value retracted.
    by : str
        Who asked for, told, corrected or retracted it, if they said so.
    time : float or None
        The time really spent, if it was told.
    reading : Reading or None
        What the value is, if it is a count or a limit.
    labels : tuple of (name, text)
        Of the reading; before there is one, those planned.

    Examples
    --------
    >>> import zonal as zn
    >>> zn.Outcome(event=1, state="measured", value=0.3).state
    'measured'
    """

    event: int
    state: State
    value: float | None = None
    sem: float | None = None
    note: str = ""
    by: str = ""
    time: float | None = None
    reading: Reading | None = None
    labels: Labels = ()

    @property
    def limit(self) -> Limit:
        """On which side of its value the reading lies, "" if it is no limit."""
        return self.reading.limit if self.reading else ""

    @property
    def exposure(self) -> float | None:
        """Over how much the value was counted, if it is a count."""
        return self.reading.exposure if self.reading else None


def outcomes(events: Iterable[Transaction]) -> dict[Source, list[Outcome]]:
    """Return all outcomes of each trial and observation, the latest last.

    The trials and observations are in the order in which their values first came in, whatever was corrected later.
    """
    outcomes_of: dict[Source, list[Outcome]] = {}
    observations = 0
    for at, transaction in enumerate(events):
        by = next((event.by for event in transaction if isinstance(event, Signed)), "")
        for event in transaction:
            if isinstance(event, Observed):
                seen = Outcome(at, "observed", event.value, event.sem, event.note, by)
                outcomes_of[True, observations] = [seen._replace(reading=event.reading, labels=event.labels)]
                observations += 1
            elif isinstance(event, Noted):
                *before, last = outcomes_of[False, event.number]
                outcomes_of[False, event.number] = [*before, last._replace(note=event.note)]
            elif isinstance(event, SetAside | Reinstated):
                *_, last = outcomes_of[event.observed, event.number]
                state: State = "observed" if event.observed else "measured"
                state = "set aside" if isinstance(event, SetAside) else state
                note, who = event.note or last.note, RULE if event.by_rule else event.by
                outcome = last._replace(event=at, state=state, note=note, by=who)
                outcomes_of[event.observed, event.number].append(outcome)
            elif (outcome_of := _outcome(event, at, by)) is not None:
                source, outcome = outcome_of
                before = (
                    outcomes_of.pop(source, []) if isinstance(event, Told) else outcomes_of.setdefault(source, [])
                )
                if isinstance(event, Corrected):
                    outcome = outcome._replace(time=before[-1].time)
                elif before and before[-1].state == "pending" and not outcome.note:
                    outcome = outcome._replace(note=before[-1].note)
                outcomes_of[source] = [*before, outcome]
    return outcomes_of


def _outcome(event: Event, at: int, by: str) -> tuple[Source, Outcome] | None:
    """Return which trial or observation an event is about, and its outcome; None if it is about neither."""
    match event:
        case Asked():
            return (False, event.number), Outcome(at, "pending", by=event.by, labels=event.labels)
        case Told():
            return (False, event.number), Outcome(
                at, "measured", event.value, event.sem, event.note, by, event.time, event.reading, event.labels
            )
        case Closed():
            return (False, event.number), Outcome(at, event.state, note=event.note, by=by)
        case Corrected():
            state: State = "observed" if event.observed else "measured"
            now = Outcome(at, state, *event[2:6], reading=event.reading, labels=event.labels)
            return (event.observed, event.number), now
        case Retracted():
            return (event.observed, event.number), Outcome(at, "retracted", note=event.note, by=event.by)
    return None
