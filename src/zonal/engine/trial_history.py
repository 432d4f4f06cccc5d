"""The outcome of every trial and observation, with its earlier values if it was corrected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from zonal.engine.events import Asked, Closed, Corrected, Event, Noted, Observed, Retracted, Told, Transaction
from zonal.engine.results import State

Source = tuple[bool, int]  # whether it is an observation, and its number


class Outcome(NamedTuple):
    """One outcome of a trial or an observation.

    Attributes
    ----------
    event : int
        The number of the event that caused it, from 0.
    state : {"pending", "measured", "failed", "cancelled", "observed", "retracted"}
    value, sem : float or None
        None if there is none.
    note : str
        Kept with the value, or why the trial was failed or cancelled, or the value retracted.
    by : str
        Who asked for, corrected or retracted it.
    time : float or None
        The time really spent, if it was told.
    """

    event: int
    state: State
    value: float | None = None
    sem: float | None = None
    note: str = ""
    by: str = ""
    time: float | None = None


def outcomes(events: Iterable[Transaction]) -> dict[Source, list[Outcome]]:
    """Return all outcomes of each trial and observation, the latest last.

    The trials and observations are in the order in which their values first came in, whatever was corrected later.
    """
    outcomes_of: dict[Source, list[Outcome]] = {}
    observations = 0
    for at, event in enumerate(events):
        for fact in event:
            if isinstance(fact, Observed):
                outcomes_of[True, observations] = [Outcome(at, "observed", fact.value, fact.sem, fact.note)]
                observations += 1
            elif isinstance(fact, Noted):
                *before, last = outcomes_of[False, fact.number]
                outcomes_of[False, fact.number] = [*before, last._replace(note=fact.note)]
            elif (outcome_of := _outcome(fact, at)) is not None:
                source, outcome = outcome_of
                before = (
                    outcomes_of.pop(source, []) if isinstance(fact, Told) else outcomes_of.setdefault(source, [])
                )
                if isinstance(fact, Corrected):
                    outcome = outcome._replace(time=before[-1].time)
                elif before and before[-1].state == "pending" and not outcome.note:
                    outcome = outcome._replace(note=before[-1].note)
                outcomes_of[source] = [*before, outcome]
    return outcomes_of


def _outcome(fact: Event, at: int) -> tuple[Source, Outcome] | None:
    """Return which trial or observation a fact is about, and its outcome; None if it is about neither."""
    match fact:
        case Asked():
            return (False, fact.number), Outcome(at, "pending", by=fact.by)
        case Told():
            return (False, fact.number), Outcome(at, "measured", fact.value, fact.sem, fact.note, time=fact.time)
        case Closed():
            return (False, fact.number), Outcome(at, fact.state, note=fact.note)
        case Corrected():
            state: State = "observed" if fact.observed else "measured"
            return (fact.observed, fact.number), Outcome(at, state, *fact[2:])
        case Retracted():
            return (fact.observed, fact.number), Outcome(at, "retracted", note=fact.note, by=fact.by)
    return None
