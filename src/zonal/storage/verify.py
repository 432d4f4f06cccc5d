"""Decide everything again, from the settings on, and report the first difference.

Opening a study decides nothing; this checks whether the same rules, on this machine and with this release, would
have made the same choices.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from itertools import takewhile
from typing import Any, get_args

from zonal.engine import commands, events, select
from zonal.engine.events import Transaction
from zonal.engine.possible import possible
from zonal.engine.settings import Settings
from zonal.engine.state import State
from zonal.errors import ZonalError, need

CLOSE = 1e-6  # relative: BLAS libraries round differently
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def first_difference(settings: Settings, history: Iterable[Transaction]) -> str:
    """Return the first event of a study that would be decided differently now, and how; "" if there is none."""
    state: State | None = None
    whole, at = list(history), 0
    while at < len(whole):
        row = _in_a_row(state, whole[at:])
        tried: dict[int, str] = {}  # how each event differs, decided alone
        state = _decided(settings, state, row, tried)
        if state is None:
            last = max(tried)
            return f"event {at + last} ({type(_call(row[last])).__name__}){tried[last]}"
        at += len(row)
    return ""


def _in_a_row(state: State | None, left: list[Transaction]) -> list[Transaction]:
    """Return the next event; where travel costs, all trials asked for in a row, which may be of one call."""
    prices, first = None if state is None else state.problem.prices, _call(left[0])
    if prices is None or not prices.travel_has_cost or not isinstance(first, events.Asked):
        return left[:1]

    def alike(event: Transaction) -> bool:
        fact = _call(event)
        return isinstance(fact, events.Asked) and (fact.by, fact.key) == (first.by, first.key)

    return list(takewhile(alike, left))


def _decided(
    settings: Settings, state: State | None, row: list[Transaction], tried: dict[int, str]
) -> State | None:
    """Return the state after events in a row, decided again in whatever batches make them; None if none do."""
    ways, reached = [_ways(settings, state, row, 0, tried)], {0}
    while ways:
        after, at = next(ways[-1], (None, 0))
        if after is None:
            ways.pop()
        elif at == len(row):
            return after
        elif at not in reached:
            reached.add(at)
            ways.append(_ways(settings, after, row, at, tried))
    return None


def _ways(
    settings: Settings, state: State | None, row: list[Transaction], at: int, tried: dict[int, str]
) -> Iterator[tuple[State, int]]:
    """Yield the states, and how many events have passed, if the next call made one event, or more of them."""
    before, after = state, state
    for stop in range(at + 1, len(row) + 1):
        try:
            decided = after = _decide(settings, after, _call(row[stop - 1]), row[stop - 1])
            if before is not None and stop > at + 1:  # several trials are asked for in the order of a tour
                decided = select.as_route(before, after, _call(row[at]).by)
        except ZonalError as error:
            tried.setdefault(at, f" could not be decided again: {error}")
            return
        now = decided.events.since(decided.events.size - (stop - at))
        found = map(_unlike, map(_compared, row[at:stop]), map(_compared, now))
        where = next(filter(None, found), "")
        tried.setdefault(at, f": {where}")
        if not where:
            yield decided, stop


def _unlike(was: dict[str, Any], now: dict[str, Any]) -> str:
    """Return where the facts of two events differ first; "" if they do not."""
    for name in {**was, **now}:
        if name not in now:
            return f"there was a {name}; now there would be none"
        if name not in was:
            return f"there was no {name}; now there would be one"
        if where := difference(was[name], now[name]):
            return where
    return ""


def _compared(event: Transaction) -> dict[str, Any]:
    """Return the facts of an event that are compared.

    Not compared: doubts, which decide nothing and may differ when a study is built at once; ids, which are random;
    checksums, which early releases computed differently; addresses of the user's functions in memory.
    """
    named: dict[str, Any] = {}
    for fact in event:
        if not isinstance(fact, events.ModelWarned):
            parts = {part: own for part, own in fact._asdict().items() if part not in ("id", "checksum")}
            if isinstance(fact, events.Created):
                parts["policy"] = ADDRESS.sub("", fact.policy)
            name = type(fact).__name__
            named[name if name not in named else f"{name} {len(named)}"] = parts
    return named


def _call(event: Transaction) -> Any:
    """Return the fact that shows which call made the event."""
    beside = events.Split, events.Expanded, events.Fitted, events.ModelWarned
    return next((fact for fact in event if not isinstance(fact, beside)), event[0] if event else None)


def _of(event: Transaction, kind: Any) -> list[Any]:
    """Return the facts of a kind: a call may have taken several measurements."""
    return [fact for fact in event if isinstance(fact, kind)]


# What each call decides, by the fact that shows it. Whether a trial may be retried is not stored; `blocked` shows
# it, unless the region was blocked before.
DECIDED: dict[Any, Callable[[State, Any, Transaction], State]] = {
    events.Asked: lambda state, fact, event: select.ask(
        state, fact.by, fact.key, now=possible(fact.within, fact.avoid)
    ),
    events.Told: lambda state, fact, event: commands.tell(state, fact, _of(event, events.Observed)),
    events.Closed: lambda state, fact, event: commands.close_trial(
        state, fact.number, fact.state == "failed", retry=not fact.blocked, note=fact.note
    ),
    events.Forbidden: lambda state, fact, event: commands.forbid(state, fact),
    events.Observed: lambda state, fact, event: commands.observe(state, _of(event, events.Observed)),
    **dict.fromkeys(
        get_args(events.Amended), lambda state, fact, event: commands.correct(state, _of(event, events.Amended))
    ),
    events.Fitted: lambda state, fact, event: commands.refit(state, fact.anew) or state,
    events.Edited: lambda state, fact, event: commands.edit(state, fact.why),
}


def _decide(settings: Settings, state: State | None, what: Any, event: Transaction) -> State:
    """Return the state after what would be decided now."""
    first = (state is None) == isinstance(what, events.Created)
    need(first, "a study begins once, with Began first", what, "Pass all of study.events.")
    if state is None:
        return commands.begin(settings)
    decided = DECIDED.get(type(what))
    return state.apply_transaction((what,)) if decided is None else decided(state, what, event)


def difference(one: Any, other: Any, at: str = "") -> str:
    """Return where two values differ, other than by rounding, and how; "" if they do not."""
    if one is other:  # for example the space that all regions share
        return ""
    parts, others = _parts(one), _parts(other)
    if parts and type(one) is type(other) and parts.keys() == others.keys():
        found = (difference(own, others[name], f"{at}.{name}") for name, own in parts.items())
        return next(filter(None, found), "")
    return "" if _same(one, other) else f"{at[1:] or 'it'} was {one!r} and would be {other!r}"


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values without parts are the same, up to rounding."""
    if isinstance(one, float) and isinstance(other, float):
        close = math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE**2)
        return close or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def _parts(value: Any) -> dict[Any, Any]:
    """Return the parts of a value by name; none for a value without parts."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, tuple):
        return dict(zip(getattr(value, "_fields", range(len(value))), value, strict=True))
    return value if isinstance(value, dict) else {}
