"""Replay a study from its settings, and report the first decision that differs.

Opening a study decides nothing; this checks whether the same rules, on this machine and with this release, would
have made the same choices.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from itertools import takewhile
from typing import Any

from zonal.engine import commands, events, select
from zonal.engine.events import Transaction
from zonal.engine.expand import possible
from zonal.engine.settings import Settings
from zonal.engine.state import State
from zonal.errors import ZonalError, require
from zonal.storage.encoding import Storable

Parts = dict[str, Storable]  # of a value, by name
CLOSE = 1e-6  # relative: BLAS libraries round differently
CLOSE_ANSWER = 1e-8  # of what was recommended, relative to its size
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def first_difference(settings: Settings, history: Iterable[Transaction]) -> str:
    """Return the first event of a study that would be decided differently now, and how; "" if there is none."""
    state: State | None = None
    transactions, at = list(history), 0
    while at < len(transactions):
        batch = _in_a_row(state, transactions[at:])
        tried: dict[int, str] = {}  # how each event differs, decided alone
        state = _decided(settings, state, batch, tried)
        if state is None:
            last = max(tried)
            return f"event {at + last} ({type(_call(batch[last])).__name__}){tried[last]}"
        at += len(batch)
    return ""


def _in_a_row(state: State | None, left: list[Transaction]) -> list[Transaction]:
    """Return the next event; where travel costs, all trials asked for in a row, which may be of one call."""
    prices, first = None if state is None else state.problem.prices, _call(left[0])
    if prices is None or not prices.travel_has_cost or not isinstance(first, events.Asked):
        return left[:1]

    def same_call(event: Transaction) -> bool:
        fact = _call(event)
        return isinstance(fact, events.Asked) and (fact.by, fact.key) == (first.by, first.key)

    return list(takewhile(same_call, left))


def _decided(
    settings: Settings, state: State | None, batch: list[Transaction], tried: dict[int, str]
) -> State | None:
    """Return the state after events in a row, decided again in whatever batches make them; None if none do."""
    searches, reached = [_next_calls(settings, state, batch, 0, tried)], {0}
    while searches:
        after, at = next(searches[-1], (None, 0))
        if after is None:
            searches.pop()
        elif at == len(batch):
            return after
        elif at not in reached:
            reached.add(at)
            searches.append(_next_calls(settings, after, batch, at, tried))
    return None


def _next_calls(
    settings: Settings, state: State | None, batch: list[Transaction], at: int, tried: dict[int, str]
) -> Iterator[tuple[State, int]]:
    """Yield the states, and how many events have passed, if the next call made one event, or more of them."""
    before, after, asked = state, state, _call(batch[at])
    for stop in range(at + 1, len(batch) + 1):
        try:
            decided = after = _decide(settings, after, batch[stop - 1])
            if before is not None and isinstance(asked, events.Asked) and stop > at + 1:
                decided = select.as_route(before, after, asked.by)  # several trials are asked for in its order
        except ZonalError as error:
            tried.setdefault(at, f" could not be decided again: {error}")
            return
        now = decided.events[len(decided.events) - (stop - at) :]
        differences = map(_unlike, map(_compared, batch[at:stop]), map(_compared, now))
        first = next(filter(None, differences), "")
        tried.setdefault(at, f": {first}")
        if not first:
            yield decided, stop


def _unlike(was: Parts, now: Parts) -> str:
    """Return where the facts of two events differ first; "" if they do not."""
    for name in {**was, **now}:
        if name == events.Recommended.__name__:
            if name in was and name in now and (where := _other_answer(was[name], now[name])):
                return where
            continue  # files made before answers were kept have none
        if name not in now:
            return f"there was a {name}; now there would be none"
        if name not in was:
            return f"there was no {name}; now there would be one"
        if where := difference(was[name], now[name]):
            return where
    return ""


def _other_answer(was: Any, now: Any) -> str:
    """Return how another region would be recommended, or the same one with another mean or std; "" if neither."""
    if was["node"] != now["node"]:
        return f"the node recommended was {was['node']} and would be {now['node']}"
    (mean, std), (mean_now, std_now) = ((parts["mean"], parts["std"]) for parts in (was, now))
    close = CLOSE_ANSWER * (abs(mean) + std)
    for name, old, new in (("mean", mean, mean_now), ("std", std, std_now)):
        if not (abs(old - new) <= close or (math.isnan(old) and math.isnan(new)) or old == new):
            return f"the {name} recommended was {old!r} and would be {new!r}"
    return ""


def _compared(event: Transaction) -> Parts:
    """Return the facts of an event that are compared.

    Not compared: warnings, which decide nothing and may differ when a study is built at once; signatures; ids,
    which are random; addresses of the user's functions in memory.
    """
    named: dict[str, Any] = {}
    for fact in event:
        if not isinstance(fact, events.ModelWarned | events.Signed):
            parts = fact._asdict()
            if isinstance(fact, events.Created):
                parts |= {"id": "", "policy": ADDRESS.sub("", fact.policy)}
            name = type(fact).__name__
            named[name if name not in named else f"{name} {len(named)}"] = parts
    return named


def _call(event: Transaction) -> events.Event | None:
    """Return the fact that shows which call made the event; None if it has no facts."""
    beside: tuple[type, ...] = (events.Split, events.Expanded, events.Fitted, events.Approximated)
    beside += (events.ModelWarned, events.Signed, events.Recommended)
    return next((fact for fact in event if not isinstance(fact, beside)), event[0] if event else None)


def _decide(settings: Settings, state: State | None, event: Transaction) -> State:
    """Return the state after what would be decided now, by the fact that shows which call it was."""
    fact = _call(event)
    in_order = (state is None) == isinstance(fact, events.Created)
    require(in_order, "a study begins once, with Created first", fact, "Pass all of study.events.")
    if state is None:
        return commands.begin(settings)
    observed = [other for other in event if isinstance(other, events.Observed)]  # a call may take several
    match fact:
        case events.Asked():
            return select.ask(state, fact.by, fact.key, now=possible(fact.within, fact.avoid), labels=fact.labels)
        case events.Told():
            return commands.tell(state, fact, observed)
        case events.Observed():
            return commands.observe(state, observed)
        case events.Corrected() | events.Retracted():
            return commands.correct(state, [other for other in event if isinstance(other, events.Amended)])
        case events.SetAside() | events.Reinstated():
            return commands.doubt(state, fact)
        case events.Closed():
            # Whether a trial may be retried is not stored; `blocked` shows it, unless the region was before.
            failed, retry = fact.state == "failed", not fact.blocked
            return commands.close_trial(state, fact.number, failed, retry=retry, note=fact.note)
        case events.Forbidden():
            return commands.forbid(state, fact)
        case events.Fitted():
            return commands.refit(state, fact.from_scratch) or state
        case _:
            return state.apply_transaction(() if fact is None else (fact,))


def difference(was: Storable, now: Storable, at: str = "") -> str:
    """Return where two values differ, other than by rounding, and how; "" if they do not."""
    if was is now:  # for example the space that all regions share
        return ""
    parts, parts_now = _parts(was), _parts(now)
    if parts and type(was) is type(now) and parts.keys() == parts_now.keys():
        differences = (difference(part, parts_now[name], f"{at}.{name}") for name, part in parts.items())
        return next(filter(None, differences), "")
    return "" if _same(was, now) else f"{at[1:] or 'it'} was {was!r} and would be {now!r}"


def _same(was: Storable, now: Storable) -> bool:
    """Tell whether two values without parts are the same, up to rounding."""
    if isinstance(was, float) and isinstance(now, float):
        close = math.isclose(was, now, rel_tol=CLOSE, abs_tol=CLOSE**2)
        return close or (math.isnan(was) and math.isnan(now))
    return bool(was == now)


def _parts(value: Storable) -> Parts:
    """Return the parts of a value by name; none for a value without parts."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, tuple):
        return dict(zip(getattr(value, "_fields", range(len(value))), value, strict=True))
    return value if isinstance(value, dict) else {}
