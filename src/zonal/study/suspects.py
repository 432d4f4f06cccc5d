"""Which readings may be mistakes, and whether the answer hangs on one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zonal.engine.apply import counted_rewards
from zonal.engine.gross_errors import deviations, expected
from zonal.engine.results import Observation, Source, TrialRecord
from zonal.engine.state import State
from zonal.engine.trial_history import outcomes
from zonal.errors import InvalidInput
from zonal.gp.stats import Reward
from zonal.io.result_table import Cell, Listing, counted, labelled
from zonal.spaces import ContinuousAxis, ProductRegion, Region, SubsetRegion
from zonal.study.history import history
from zonal.study.listings import joined

if TYPE_CHECKING:
    from zonal.study.study import Study

HALF = 0.5 * (1 - 1e-9)  # of the answer: if another one overlaps it by less, the answer has moved
WAITS, CONFIRMED = "waits for a repeat", "confirmed"


class Reading(NamedTuple):
    """A reading that counts: whose it is, and where it is."""

    source: Source
    slot: int
    reward: Reward


def readings(state: State) -> list[Reading]:
    """Return all readings that count."""
    counted_ones = counted_rewards(state, state.history)
    return [Reading(source, slot, reward) for source, slot, reward, _ in counted_ones]


def suspects(study: Study) -> Listing:
    """Return every reading with its deviation from what the others expect: see `Study.suspects`."""
    with study._lock:
        state = study._state
        if state.problem.model_free:
            fix = "Use a policy with a Gaussian belief, such as GPOO."
            raise InvalidInput("empirical means cannot say what to expect of a reading", "StoOO", fix)
        rows = _judged(state)
    records = {_source(record): (record, past[-1].note) for record, past in history(study)}
    rows.sort(key=lambda row: (-round(abs(row[3]), 9), row[0]))
    unit, shown = study.settings.value_unit, [records[source] for source, *_ in rows]
    columns: dict[str, list[Cell]] = {
        "number": [number if not observed else None for (observed, number), *_ in rows],
        "region": [record.region.name for record, _ in shown],
        labelled(study.settings.value_name, unit): [record.value for record, _ in shown],
        labelled("expected", unit): [mean for _, mean, _, _ in rows],
        labelled("std", unit): [std for _, _, std, _ in rows],
        "sigmas": [sigmas for *_, sigmas in rows],
        "state": [state_of(state, source) for source, *_ in rows],
        "observation": [number if observed else None for (observed, number), *_ in rows],
        "note": [note for _, note in shown],
    }
    empty = [name for name, cells in columns.items() if not set(cells) - {None, ""} and name != "number"]
    columns = {name: cells for name, cells in columns.items() if name not in empty or not rows}
    title = f"{counted(len(rows), 'reading')}, the likeliest mistakes first"
    return Listing(title, joined(columns, [record.region for record, _ in shown], "reading"))


def _source(record: TrialRecord | Observation) -> Source:
    return isinstance(record, Observation), record.number


def _judged(state: State) -> list[tuple[Source, float, float, float]]:
    """Return every reading, set aside or not: what is expected of it, the std, and by how many it is above."""
    every, sign = readings(state), state.problem.sign
    rows: list[tuple[Source, float, float, float]] = []
    if every:
        sources, slots, rewards = zip(*every, strict=True)
        off = deviations(state.belief, state.ledger, slots, rewards)
        columns = (sign * off.expected).tolist(), off.std.tolist(), (sign * off.sigmas).tolist()
        rows = list(zip(sources, *columns, strict=True))
    for source in state.set_aside:
        slot, noise, time = state.source_of(*source)
        last = outcomes(state.history)[source][-1]
        variance, weight = state.problem.noise.of_reward(noise, last.sem, time)
        mean, std = expected(state, slot, variance, weight)
        mean, value = sign * mean, last.value or 0.0
        rows.append((source, mean, std, (value - mean) / std if std > 0 else 0.0))
    return rows


def state_of(state: State, source: Source) -> str:
    """Return what holds of a reading, in words."""
    doubt = state.set_aside.get(source)
    if doubt is not None:
        return WAITS if doubt.waits else "set aside"
    return CONFIRMED if source in state.believed else "observed" if source[0] else "measured"


def set_aside_line(study: Study) -> str:
    """Return a line on the readings that do not count; "" if all do."""
    state = study._state
    parts = []
    for (observed, number), doubt in state.set_aside.items():
        what = f"{'observation' if observed else 'trial'} {number}"
        who = "" if doubt.by_rule else f", by {doubt.by}" if doubt.by else ", by hand"
        parts.append(f"{what} ({WAITS if doubt.waits else 'set aside'}{who})")
    return f"not counted: {'; '.join(parts)}\n" if parts else ""


def hanging(hangs_on: Sequence[str]) -> str:
    """Return whether the answer hangs on single readings, as a sentence."""
    if not hangs_on:
        return "The answer survives the deletion of any one reading."
    names = ", ".join(hangs_on)
    return f"Without any one of these readings the answer would move by more than half of itself: {names}."


# Whether the answer survives the deletion of any one reading.

Answers = Callable[[State], list[Region]]  # the first answers in a state


def hangs_on(state: State, answers: Answers) -> list[Source]:
    """Return the readings without any one of which the last of some answers would be none of them.

    Models and their weights are kept. Another answer is the same if it overlaps at least half of it.
    """
    *_, answer = answers(state)
    every = readings(state)
    return [
        reading.source
        for at, reading in enumerate(every)
        if not any(overlap(answer, other) >= HALF for other in answers(without(state, every, at)))
    ]


def without(state: State, every: Sequence[Reading], at: int) -> State:
    """Return the state without one of its readings, under the same models with the same weights."""
    slot = every[at].slot
    kept = [other.reward for place, other in enumerate(every) if other.slot == slot and place != at]
    after, ledger = state.draft(), state.ledger.with_rewards(slot, kept)
    after.posterior = state.posterior.under_same_weights(ledger)
    return after


def overlap(region: Region, other: Region) -> float:
    """Return which share of a region another one covers."""
    if isinstance(region, ProductRegion) and isinstance(other, ProductRegion):
        share = 1.0
        for (axis, ours), (_, theirs) in zip(region.along, other.along, strict=True):
            if isinstance(axis, ContinuousAxis):
                apart = float(axis.apart(np.array(ours[0]), np.array(theirs[0])))
                shared = min((ours[1] + theirs[1]) / 2 - apart, ours[1], theirs[1])
                share *= max(shared, 0.0) / ours[1]
            else:
                mask = int(ours[0])
                share *= (mask & int(theirs[0])).bit_count() / mask.bit_count()
        return share
    if isinstance(region, SubsetRegion) and isinstance(other, SubsetRegion):
        inside = np.isin(region.members, other.members)
        weights = np.asarray(region.weights)
        return float(weights[inside].sum() / weights.sum())
    return float(region.key == other.key)
