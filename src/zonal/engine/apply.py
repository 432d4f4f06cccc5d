"""Facts written into a state, one at a time: the only writer.

Deciding and replaying both go through `write`. It decides nothing, and of the user's own code it calls the kernel
and the space only. The state is a fork: every change puts another value in place of the old one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from zonal.engine import events
from zonal.engine.trial_history import outcomes
from zonal.errors import InvalidInput
from zonal.gp.stats import UNMEASURED
from zonal.spaces import Region, with_feedback
from zonal.tree import ASKABLE, EXPANDED

if TYPE_CHECKING:
    from zonal.engine.state import State

T = TypeVar("T")


class Difference(NamedTuple):
    """What was measured in a trial that was told as a difference."""

    slot: int  # of the difference
    minus: Region  # the region subtracted
    reference: int  # its slot
    variance: float  # of the noise of a measurement of the usual time


def write(state: State, fact: events.Event) -> None:
    """Apply one fact."""
    written = WRITES[type(fact)](state, fact)
    state.facts = (*state.facts, written or fact)


def _without(entries: dict[int, T], number: int) -> dict[int, T]:
    """Return entries without one of them."""
    others = {**entries}
    del others[number]
    return others


def _ask(state: State, asked: events.Asked) -> None:
    """Record that a trial is pending."""
    state.asked = state.asked.plus(asked)
    state.pending = {**state.pending, asked.number: asked}
    if state.problem.settings.max_replicates is not None:
        _look(state, asked.row)
    state.places = {**state.places, asked.by: asked.row, "": asked.row}
    if (asked.within or asked.avoid) and asked.row not in state.opening:
        state.aside += 1
    if asked.draw == state.draws:
        state.draws += 1
    else:
        state.freed = tuple(draw for draw in state.freed if draw != asked.draw)


def _take(state: State, fact: events.Claimed) -> None:
    """Record who measures a trial from now on."""
    asked = state.pending[fact.number]._replace(by=fact.by)
    state.pending = {**state.pending, fact.number: asked}
    state.places = {**state.places, fact.by: asked.row, "": asked.row}


def _measure(state: State, fact: events.Told) -> None:
    """Record a trial's value."""
    table, number, pending = state.table, fact.number, state.pending
    if number in pending:
        row = pending[number].row
        state.pending = _without(pending, number)
    else:  # it had been failed
        row = state.asked[number].row
    weight = 1.0
    if state.problem.prices is not None:
        time, cost = state.spent_on(fact)
        state.paid, weight = {**state.paid, number: cost}, time / state.began.time
    if row in state.failures:
        state.failures = _without(state.failures, row)
    state.measured += 1
    state.last_told = number
    if fact.minus is not None:
        slot, reference = _slot_of(state, state.region(row), fact.minus), _slot_of(state, fact.minus, None)
        own = Difference(slot, fact.minus, reference, (fact.sem or 0.0) ** 2 * weight)
        state.differences = {**state.differences, number: own}
        _count(state, row, 1)
        _reward(state, slot, fact.value, fact.sem, 0.0, weight)
    else:
        tally = state.tallies.get(row, UNMEASURED).told(state.problem.sign * fact.value, fact.sem, weight)
        state.tallies = {**state.tallies, row: tally}
        _reward(state, int(table.slot[row]), fact.value, fact.sem, table.relative.item(row), weight)
    if number not in pending:
        _look(state, row)  # it may have been the last look at this region


def _reward(state: State, slot: int, value: float, sem: float | None, noise: float, weight: float) -> None:
    """Enter a reward into the ledger; the belief is updated when it is read."""
    reward = state.problem.sign * value
    variance, weight = state.problem.weighed(noise, sem, weight)
    state.ledger = state.ledger.plus(slot, reward, variance, weight)
    state.has_sems = state.has_sems or sem is not None
    state.wait((slot, reward, variance, state.ledger, weight))


def _observe(state: State, fact: events.Observed) -> None:
    """Record a measurement made outside the study."""
    seen, minus = with_feedback(fact.region, fact.feedback), fact.minus
    slot = _slot_of(state, seen, minus and with_feedback(minus, fact.feedback))
    _reward(state, slot, fact.value, fact.sem, fact.noise, fact.time / state.began.time)
    state.observed = state.observed.plus((slot, fact))


def _recount(state: State, fact: events.Amended) -> None:
    """Recount the rewards of a footprint after a correction or retraction; splits already made stay."""
    slot, of = state.origin(fact.observed, fact.number)[0], state.problem
    rewards = _rewards_of(state, slot, (*state.events, (*state.facts, fact)))
    lines = [(reward, *of.weighed(noise, sem, time)) for _, reward, noise, sem, time in rewards]
    state.ledger = state.ledger.having(slot, lines)
    if not fact.observed:
        told = [(reward, sem, time) for observed, reward, _, sem, time in rewards if not observed]
        _retell(state, fact, told)
    state.rebase()
    state.known = state.known._replace(warned=False)  # the doubt may have been due to the mistake
    if of.learner.learns and not state.ledger.total:
        _fit(state, events.Fitted(of.learner.begin().fit, True))


def _rewards_of(
    state: State, slot: int, history: Sequence[events.Transaction]
) -> list[tuple[bool, float, float, float | None, float]]:
    """Return the rewards of a footprint that count; also note whether any reward has a sem.

    Each comes with whether it was observed, the noise, its sem and its time.
    """
    found, state.has_sems = [], False
    for (observed, number), (*_, last) in outcomes(history).items():
        if last.value is None:
            continue
        state.has_sems = state.has_sems or last.sem is not None
        place, noise, time = state.origin(observed, number)
        if place == slot:
            time = time if last.time is None else last.time / state.began.time
            found.append((observed, state.problem.sign * last.value, noise, last.sem, time))
    return found


def _retell(state: State, fact: events.Amended, rewards: list[tuple[float, float | None, float]]) -> None:
    """Count these rewards at the node of a trial that was corrected or retracted."""
    row = state.asked[fact.number].row
    difference = state.differences.get(fact.number)
    if difference is None:
        state.tallies = {**state.tallies, row: state.tally(row).retold(rewards)}
    elif isinstance(fact, events.Corrected):
        variance = (fact.sem or 0.0) ** 2 * state.origin(False, fact.number)[2]
        state.differences = {**state.differences, fact.number: difference._replace(variance=variance)}
    if isinstance(fact, events.Retracted):
        _untell(state, fact.number, row)


def _untell(state: State, number: int, row: int) -> None:
    """Count a trial as not told."""
    state.measured -= 1
    if number in state.paid:
        state.paid = _without(state.paid, number)
    if number in state.differences:
        state.differences = _without(state.differences, number)
        _count(state, row, -1)
    _look(state, row)


def _fit(state: State, fact: events.Fitted) -> None:
    """Use other models from now on; splits already made stay."""
    fit, learner = fact.fit, state.problem.learner
    state.known = learner.adopt(state.known, fit, state.ledger.total, fact.anew)
    state.rebase()
    if fit.model.noise is not None:
        state.table = state.table.in_units(fit.model.noise)


def _split(state: State, fact: events.Split) -> events.Split:
    """Split nodes in one step (line 7); return the fact with the checksum of their children."""
    table, problem, space = state.table, state.problem, state.problem.space
    families, sums = [], problem.checksum
    for row in fact.rows:
        depth = int(table.depth[row])
        indices, cells = space.children(depth, int(table.index[row]), state.cells[row])
        keys = state.tracked.layout.cells(space, depth + 1, cells)
        able = depth < state.h_max and space.splittable(depth + 1, indices)
        families.append((indices, cells, keys, able))
        sums = zlib.crc32(cells.tobytes(), sums)
    sizes = [own[0].size for own in families]
    indices, cells, keys, able = families[0] if not families[1:] else _together(families)
    number = indices.size
    if fact.checksum not in (None, sums) or (fact.noise and len(fact.noise) != number):
        raise InvalidInput(
            "this space splits the region differently than when the study was made",
            state.region(fact.rows[0]).name,
            "Open it with the space and the version of Zonal that it was made with.",
        )
    forbidden = np.array(fact.forbidden or (False,) * number)
    noise = (np.array(fact.noise) if fact.noise else problem.usual_noise) * state.scale
    size, slot, inner = table.depth.size, state.tracked.size, problem.policy.measures_internal_nodes
    state.cells = np.concatenate((state.cells, cells))
    smallest = True ^ able
    state.table = table.split(fact.rows, sizes, fact.expanded, inner, indices, slot, smallest, forbidden, noise)
    state.ruled = np.concatenate((state.ruled, forbidden))
    _track(state, size, keys)
    if state.bans:
        _mark_forbidden(state, size)
    return events.Split(*fact[:4], sums)


def _end(state: State, fact: events.Closed) -> None:
    """Record that a trial was failed or cancelled."""
    asked = state.asked[fact.number]
    if fact.blocked:
        state.blocked = {**state.blocked, asked.row: fact.number}
    if fact.state == "failed":
        state.failures = {**state.failures, asked.row: (*state.failures.get(asked.row, ()), fact.number)}
    else:
        state.freed = (*state.freed, asked.draw)
    state.pending = _without(state.pending, fact.number)
    state._overlay = None
    _look(state, asked.row)


def _allow(state: State, fact: events.Unblocked) -> None:
    """Record that failures no longer count."""
    taken_back = set(fact.numbers)
    left = {row: tuple(n for n in trials if n not in taken_back) for row, trials in state.failures.items()}
    state.failures = {row: trials for row, trials in left.items() if trials}
    for row, number in state.blocked.items():
        if number in taken_back:
            state.blocked = _without(state.blocked, row)
            _look(state, row)
    if fact.forbidden:
        state.bans = {number: region for number, region in state.bans.items() if number not in fact.forbidden}
        _mark_forbidden(state)


def _forbid(state: State, fact: events.Forbidden) -> None:
    """Record that a region is forbidden from now on."""
    state.bans = {**state.bans, state.banned_before: fact.region}
    state.banned_before += 1
    _mark_forbidden(state)


def _mark_forbidden(state: State, first: int = 0) -> None:
    """Mark which nodes from a row on are forbidden: by the user's `forbidden`, or by what was forbidden later."""
    table, bans = state.table, state.bans.values()
    forbidden = np.concatenate((table.forbidden[:first], state.ruled[first:]))
    for row in range(first, table.size):  # what overlaps has a parent that overlaps, in a row above
        parent = int(table.parent[row])
        if parent < 0 or forbidden[parent]:
            forbidden[row] |= any(ban.overlaps(state.region(row)) for ban in bans)
    changed = forbidden != table.forbidden
    able = (table.leaf | state.problem.policy.measures_internal_nodes) & ~forbidden
    able[list(state.blocked)] = False
    state.table = table.forbidding(forbidden, np.where(changed, able, table.askable))
    if state.problem.settings.max_replicates is not None:
        for row in changed.nonzero()[0].tolist():
            _look(state, row)


def _expand(state: State, fact: events.Expanded) -> None:
    """Mark a node as expanded."""
    state.table = state.table.marked(fact.row, EXPANDED, True)


def _doubt(state: State, fact: events.ModelWarned) -> None:
    """Record that the user was warned."""
    state.known = state.known._replace(warned=True)


def _extend(state: State, fact: events.Extended) -> None:
    """Raise the budget."""
    state.budget += fact.n


def _remark(state: State, fact: events.Edited | events.Noted) -> None:
    """Change nothing: a remark about the history, or a trial."""


def _begin(state: State, fact: events.Created) -> None:
    raise InvalidInput("a study begins once", fact, "Pass the events of one study, in order.")


def _count(state: State, row: int, more: int) -> None:
    """Record that `more` trials at a node were told as differences, not as its average."""
    own = state.tally(row)
    state.tallies = {**state.tallies, row: own._replace(answered=own.answered + more)}


def _look(state: State, row: int) -> None:
    """Update whether a node may be asked for."""
    table, most = state.table, state.problem.settings.max_replicates
    askable = (
        (state.problem.policy.measures_internal_nodes or table.first_child[row] < 0)
        and row not in state.blocked
        and not table.forbidden[row]
        and (most is None or state.looks_at(row) < most)
    )
    if askable != table.askable[row]:
        state.table = table.marked(row, ASKABLE, bool(askable))


def _slot_of(state: State, region: Region, minus: Region | None) -> int:
    """Return the belief's slot of a region (minus another) as it was measured, tracking it if it is new."""
    slot = state.find_slot(region, minus)
    if slot is None:
        slot = state.tracked.size
        state.outside = {**state.outside, state.name_of(region, minus): slot}
        state.in_order = False
        _follow(state, *state.seen_as(region, minus))
    return slot


def _follow(state: State, keys: NDArray[Any], total: float = 1.0) -> None:
    """Have the belief track more footprints of this total weight."""
    state.tracked = state.tracked.plus(keys, total)
    state.wait(state.tracked)


def _track(state: State, first: int, keys: NDArray[Any]) -> None:
    """Have the belief track new nodes, from row `first` on, except those observed before."""
    if state.outside:
        rows = range(first, state.table.size)
        known = [state.outside.get(state.region(row).key, -1) for row in rows]
        fresh = np.array([slot < 0 for slot in known])
        slots = np.where(fresh, state.tracked.size + fresh.cumsum() - 1, known)
        state.table, keys = state.table.at_slots(first, slots), keys[:, fresh]
        state.outside = {key: slot for key, slot in state.outside.items() if slot not in known}
    if keys.shape[1]:
        _follow(state, keys)
    state._shown = False  # the table has grown, even where nothing new is tracked


def _together(families: list[Any]) -> list[NDArray[Any]]:
    """Return indices, cells, keys and flags of all children of some nodes, concatenated."""
    indices, cells, keys, able = zip(*families, strict=True)
    flags = [np.full(own.size, flag) for own, flag in zip(indices, able, strict=True)]
    return [np.concatenate(indices), np.concatenate(cells), np.concatenate(keys, axis=1), np.concatenate(flags)]


WRITES: dict[type, Callable[[State, Any], events.Event | None]] = {
    events.Asked: _ask,
    events.Told: _measure,
    events.Split: _split,
    events.Fitted: _fit,
    events.Expanded: _expand,
    events.Closed: _end,
    events.Unblocked: _allow,
    events.Forbidden: _forbid,
    events.Observed: _observe,
    events.Corrected: _recount,
    events.Retracted: _recount,
    events.ModelWarned: _doubt,
    events.Extended: _extend,
    events.Edited: _remark,
    events.Noted: _remark,
    events.Claimed: _take,
    events.Created: _begin,
}
