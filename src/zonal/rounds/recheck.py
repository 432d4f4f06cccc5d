"""Decide everything again, from the settings on, and say where that first comes out differently.

Opening a study decides nothing; this is for whoever wants to know whether the same rules, on this machine, with
this release, would have walked the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from zonal.errors import InvalidInput, ZonalError
from zonal.rounds import decisions
from zonal.rounds.events import Asked, Began, Edited, Ended, Event, Extended, Observed, Refitted, Taken, Told
from zonal.rounds.settings import Settings
from zonal.rounds.state import State

CLOSE = 1e-6  # relative: another BLAS rounds in another way


def first_difference(settings: Settings, events: Iterable[Event]) -> str:
    """Return the first event that would be decided differently now, and in what; "" if there is none.

    Parameters
    ----------
    settings, events
        Of a study, as its ``settings`` and ``events`` give them.
    """
    state: State | None = None
    for number, event in enumerate(events):
        try:
            again, state = _decide(settings, state, event)
        except ZonalError as error:
            return f"event {number} ({type(event).__name__}) could not be decided again: {error}"
        where = difference(_unwarned(event), _unwarned(again))
        if where:
            return f"event {number} ({type(event).__name__}): {where}"
    return ""


def _unwarned(event: Event | None) -> Event | None:
    """Return an event without its doubts: they decide nothing, and a study built at once may have others."""
    return replace(event, warned=()) if isinstance(event, Told | Observed) else event


def _decide(settings: Settings, state: State | None, event: Event) -> tuple[Event | None, State]:
    """Return what would be decided now where `event` was, and the state after it."""
    if state is None or isinstance(event, Began):
        if state is not None or not isinstance(event, Began):
            raise InvalidInput("a study begins once, and first", event, "Pass all of study.events.")
        state = decisions.begin(settings)
        state.start(replace(state.began, id=event.id))
        return state.began, state
    match event:
        case Asked():
            return decisions.ask(state, event.by, event.key)
        case Told():
            return decisions.tell(state, event.number, event.value, event.sem, event.note)
        case Ended():
            # Whether it was to be tried again is not kept: only a region not barred before can tell.
            return decisions.end(state, event.number, event.state == "given up", retry=not event.barred)
        case Observed():
            return decisions.observe(state, event.region, event.value, event.sem, event.feedback)
        case Refitted():
            found = decisions.refit(state)
            return (None, state) if found is None else found
        case Edited():
            return decisions.edit(state, event.why)
        case Extended() | Taken():
            return event, state.apply(event)


def difference(one: Any, other: Any, at: str = "") -> str:
    """Return where two values differ, and how; "" if they do not, but for rounding."""
    if isinstance(one, float) and isinstance(other, float):
        same = math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE**2) or (math.isnan(one) and math.isnan(other))
    elif is_dataclass(one) and type(one) is type(other) and not isinstance(one, type):
        parts = ((field.name, getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
        return _first(parts, at)
    elif isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        names = getattr(one, "_fields", range(len(one)))
        return _first(zip(names, one, other, strict=True), at)
    elif isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return _first(((key, one[key], other[key]) for key in one), at)
    else:
        same = bool(one == other)
    return "" if same else f"{at or 'it'} was {one!r} and would be {other!r}"


def _first(parts: Iterable[tuple[Any, Any, Any]], at: str) -> str:
    """Return the first difference among named parts."""
    found = (difference(one, other, f"{at}.{name}" if at else str(name)) for name, one, other in parts)
    return next(filter(None, found), "")
