"""Decide everything again, from the settings on, and report the first difference.

Opening a study decides nothing; this checks whether the same rules, on this machine and with this release, would
have made the same choices.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from zonal.errors import InvalidInput, ZonalError
from zonal.rounds import choosing, decisions
from zonal.rounds.events import (
    Allowed,
    Asked,
    Began,
    Corrected,
    Doubted,
    Edited,
    Ended,
    Event,
    Extended,
    Fitted,
    Measured,
    Observed,
    Retracted,
    Taken,
)
from zonal.rounds.settings import Settings
from zonal.rounds.state import State

CLOSE = 1e-6  # relative: BLAS libraries round differently
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def first_difference(settings: Settings, events: Iterable[Event]) -> str:
    """Return the first event that would be decided differently now, and how; "" if there is none.

    Parameters
    ----------
    settings, events
        Of a study: `study.settings` and `study.events`.
    """
    state: State | None = None
    for number, event in enumerate(events):
        try:
            what = _call(event)
            state = _decide(settings, state, what, event)
        except ZonalError as error:
            return f"event {number} ({type(event[0]).__name__}) could not be decided again: {error}"
        again = () if state is None else state.events[state.events.size - 1]
        where = _unlike(_compared(event), _compared(again))
        if where:
            return f"event {number} ({type(what).__name__}): {where}"
    return ""


def _unlike(was: dict[str, Any], now: dict[str, Any]) -> str:
    """Return where the facts of two events differ first; "" if they do not."""
    for name, fact in was.items():
        if name not in now:
            return f"there was a {name}; now there would be none"
        where = difference(fact, now[name])
        if where:
            return where
    more = next((name for name in now if name not in was), "")
    return more and f"there was no {more}; now there would be one"


def _compared(event: Event) -> dict[str, Any]:
    """Return the facts of an event that are compared.

    Not compared: doubts, which decide nothing and may differ when a study is built at once; ids, which are random;
    checksums, which early releases computed differently; addresses of the user's functions in memory.
    """
    named: dict[str, Any] = {}
    for fact in event:
        if not isinstance(fact, Doubted):
            parts = {part: own for part, own in fact._asdict().items() if part not in ("id", "checksum")}
            if isinstance(fact, Began):
                parts["policy"] = ADDRESS.sub("", fact.policy)
            name = type(fact).__name__
            named[name if name not in named else f"{name} {len(named)}"] = parts
    return named


def _call(event: Event) -> Any:
    """Return the fact that shows which call made the event."""
    calls = Began, Asked, Measured, Ended, Allowed, Observed, Corrected, Retracted, Extended, Taken, Edited
    return next((fact for fact in event if isinstance(fact, calls)), event[0] if event else None)


def _decide(settings: Settings, state: State | None, what: Any, event: Event) -> State:
    """Return the state after what would be decided now; calls that took several measurements get them all."""
    if state is None or isinstance(what, Began):
        if state is not None or not isinstance(what, Began):
            raise InvalidInput("a study begins once, with Began first", what, "Pass all of study.events.")
        return decisions.begin(settings)
    match what:
        case Asked():
            return choosing.ask(state, what.by, what.key)
        case Measured():
            return decisions.tell(state, what, [fact for fact in event if isinstance(fact, Observed)])
        case Ended():
            # `retry` is not stored; `barred` shows it, unless the region was barred before.
            return decisions.end(state, what.number, what.state == "given up", retry=not what.barred)
        case Observed():
            return decisions.observe(state, [fact for fact in event if isinstance(fact, Observed)])
        case Corrected() | Retracted():
            return decisions.correct(state, [fact for fact in event if isinstance(fact, Corrected | Retracted)])
        case Fitted():
            return decisions.refit(state, what.anew) or state
        case Edited():
            return decisions.edit(state, what.why)
        case _:
            return state.apply((what,))


def difference(one: Any, other: Any, at: str = "") -> str:
    """Return where two values differ, other than by rounding, and how; "" if they do not."""
    if one is other:  # for example the space that all regions share
        return ""
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
