"""Events applied to a state, one at a time: the only writer.

Deciding and replaying both go through `apply_event`. It decides nothing, and of the user's code it calls the
kernel and the space only. The state is a draft: every change puts another value in place of the old one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from zonal._types import Flags, Ints
from zonal.engine import events
from zonal.engine.labels import label_of, planned_label
from zonal.engine.results import Source
from zonal.engine.trial_history import outcomes
from zonal.errors import InvalidInput, require
from zonal.gp.functional_index import Keys
from zonal.gp.offsets import SOURCE, Label
from zonal.gp.stats import Reward
from zonal.kernels.feedback import footprints_of
from zonal.spaces import Region, with_feedback
from zonal.tree import ASKABLE, EXPANDED

if TYPE_CHECKING:
    from zonal.engine.state import State

T = TypeVar("T")
Children = tuple[Ints, Ints, Keys, Flags | bool]  # children: indices, cells, keys, whether they may be split


class Difference(NamedTuple):
    """What was measured in a trial that was told as a difference."""

    slot: int  # of the difference
    minus: Region  # the region subtracted
    reference: int  # its slot
    variance: float  # of the noise of a measurement of the default time


def apply_event(state: State, event: events.Event) -> None:
    """Apply one event, and note it in the transaction being written."""
    written = APPLY[type(event)](state, event)
    state.draft_events = (*state.draft_events, written or event)


def _without(entries: dict[int, T], number: int) -> dict[int, T]:
    """Return entries without one of them."""
    others = {**entries}
    del others[number]
    return others


def _ask(state: State, asked: events.Asked) -> None:
    """Record that a trial is pending."""
    state.asked = state.asked.plus(asked)
    state.pending = {**state.pending, asked.number: asked}
    if asked.window is not None:
        _slot_of(state, asked.window, None)
    if state.problem.settings.max_replicates is not None:
        _update_askable(state, asked.row)
    state.last_row_by_worker = {**state.last_row_by_worker, asked.by: asked.row, "": asked.row}
    repeats = asked.row in state.waiting_rows
    again = asked.row not in state.initial_design or asked.replicate > 1
    if repeats or ((asked.within or asked.avoid) and again):
        state.n_beside_design += 1
    if label := planned_label(state, asked):
        _slot_of(state, state.asked_region(asked), None, label)
    if asked.draw == state.rng_streams:
        state.rng_streams += 1
    else:
        state.free_streams = tuple(draw for draw in state.free_streams if draw != asked.draw)


def _claim(state: State, event: events.Claimed) -> None:
    """Record who measures a trial from now on."""
    asked = state.pending[event.number]._replace(by=event.by)
    state.pending = {**state.pending, event.number: asked}
    state.last_row_by_worker = {**state.last_row_by_worker, event.by: asked.row, "": asked.row}


def _tell(state: State, event: events.Told) -> None:
    """Record a trial's value."""
    number, pending = event.number, state.pending
    asked = state.asked[number]
    row = asked.row
    if number in pending:  # else it had failed
        state.pending = _without(pending, number)
    weight = 1.0
    if state.problem.prices is not None:
        time, cost = state.spent_on(event)
        state.costs_paid, weight = {**state.costs_paid, number: cost}, time / state.created.time
    if row in state.failed_trials:
        state.failed_trials = _without(state.failed_trials, row)
    state.measured += 1
    state.last_told = number
    _count(state, asked, 1)
    if event.minus is not None:
        slot = _slot_of(state, state.asked_region(asked), event.minus)
        reference = _slot_of(state, event.minus, None)
        difference = Difference(slot, event.minus, reference, (event.sem or 0.0) ** 2 * weight)
        state.differences = {**state.differences, number: difference}
        _add_reward(state, (False, number), slot, event, 0.0, weight)
    else:
        _set_order(state, (False, number))
        noise, slot = state.relative_noise.item(row), _slot_of_trial(state, asked, event.labels)
        _add_reward(state, (False, number), slot, event, noise, weight)
    if number not in pending:
        _update_askable(state, row)  # it may have been the last measurement of this region


def _count(state: State, asked: events.Asked, more: int) -> None:
    """Count one more, or one fewer, trial told of a node or a window."""
    if asked.window is None:
        state.told_counts = {**state.told_counts, asked.row: state.told_counts.get(asked.row, 0) + more}
    else:
        key = asked.window.key
        state.window_counts = {**state.window_counts, key: state.window_counts.get(key, 0) + more}


def _add_reward(
    state: State,
    source: Source,
    slot: int,
    event: events.Told | events.Observed,
    noise: float,
    weight: float,
) -> None:
    """Enter a reward, or the site of a reading that is not Gaussian; the posterior follows when it is read."""
    _set_site(state, source, event.reading)
    variance, weight = state.problem.noise.of_reward(noise, event.sem, weight)
    value, variance = state.sites.get(source, (event.value, variance))
    state.posterior = state.posterior.with_reward(slot, state.problem.sign * value, variance, weight, source[0])
    state.has_sems = state.has_sems or event.sem is not None or event.reading is not None


def _set_site(state: State, source: Source, reading: events.Reading | None) -> None:
    """Note the site of a reading; forget that of an earlier one of the same trial or observation."""
    if reading is not None:
        variance = None if state.problem.model_free else reading.variance
        state.sites = {**state.sites, source: (reading.mean, variance)}
    elif source in state.sites:
        state.sites = {other: site for other, site in state.sites.items() if other != source}


def _approximate(state: State, event: events.Approximated) -> None:
    """Put other sites in the place of readings that are not Gaussian."""
    state.sites = {**state.sites, **{(site.observed, site.number): site[2:] for site in event.sites}}
    rewards: dict[int, list[Reward]] = {}
    for _, slot, reward, _ in counted_rewards(state, state.history):
        rewards.setdefault(slot, []).append(reward)
    ledger = state.ledger
    for slot in {state.source_of(site.observed, site.number)[0]: None for site in event.sites}:
        ledger = ledger.with_rewards(slot, rewards[slot])
    state.posterior = state.posterior.from_scratch(ledger=ledger)
    state.approximated_from = ledger.total


def _observe(state: State, event: events.Observed) -> None:
    """Record an external observation."""
    seen, minus = with_feedback(event.region, event.feedback), event.minus
    source = True, len(state.observed)
    if SOURCE not in dict(event.labels):
        _set_order(state, source)
    label = label_of(state, source, event.labels)
    slot = _slot_of(state, seen, minus and with_feedback(minus, event.feedback), label)
    _add_reward(state, source, slot, event, event.noise, event.time / state.created.time)
    several = bool(state.draft_events) and isinstance(state.draft_events[0], events.Observed)
    if several and not state.problem.learner.learns:  # built at once, as a file is opened
        state.posterior = state.posterior.from_scratch()
    state.observed = state.observed.plus((slot, event))


def _amend(state: State, event: events.Amended | events.Judged) -> None:
    """Recount the rewards of a footprint after its readings changed; splits already made stay."""
    problem, source = state.problem, (event.observed, event.number)
    slot, _, weight = state.source_of(event.observed, event.number)
    if isinstance(event, events.Amended):  # else the reading stays what it is
        _set_site(state, source, event.reading if isinstance(event, events.Corrected) else None)
    history, slots = (*state.events, (*state.draft_events, event)), [slot]
    if isinstance(event, events.Corrected) and problem.shifts:
        slots = list(dict.fromkeys([slot, _relabelled(state, event)]))
    ledger = state.ledger
    for place in slots:
        ledger = ledger.with_rewards(place, _rewards_of(state, place, history))
    state.posterior = state.posterior.from_scratch(ledger=ledger)
    state.believed = state.believed - {source}
    state.set_aside = {other: doubt for other, doubt in state.set_aside.items() if other != source}
    if isinstance(event, events.SetAside):
        state.set_aside = {**state.set_aside, source: event}
    elif isinstance(event, events.Reinstated):
        agreeing = set() if event.agrees is None else {(False, event.agrees)}
        state.believed = state.believed | {source} | agreeing
    elif isinstance(event, events.Retracted) and not event.observed:
        _retract_trial(state, event.number)
    elif isinstance(event, events.Corrected) and not event.observed and event.number in state.differences:
        variance = (event.sem or 0.0) ** 2 * weight
        difference = state.differences[event.number]._replace(variance=variance)
        state.differences = {**state.differences, event.number: difference}
    if not _is_doubt(event):
        state.fit_state = state.fit_state._replace(warned=False)  # the warning may have been due to the mistake
    if problem.learner.learns and not state.ledger.total:
        _fit(state, events.Fitted(problem.learner.begin().fit, True))


def _is_doubt(event: events.Amended | events.Judged) -> bool:
    """Tell whether a reading only waits for a repeat, or counts again after one."""
    waits = isinstance(event, events.SetAside) and event.waits
    return waits or (isinstance(event, events.Reinstated) and event.by_rule)


def _rewards_of(state: State, slot: int, history: Sequence[events.Transaction]) -> list[Reward]:
    """Return the rewards of a footprint that count; also note whether any reward has a sem."""
    counted = counted_rewards(state, history)
    state.has_sems = any(has_sem for *_, has_sem in counted)
    return [reward for _, place, reward, _ in counted if place == slot]


def counted_rewards(state: State, history: Sequence[events.Transaction]) -> list[tuple[Source, int, Reward, bool]]:
    """Return every reward that counts: whose it is, its slot, itself, and whether it has a standard error."""
    counted = []
    for (observed, number), (*_, last) in outcomes(history).items():
        if last.value is None or last.state == "set aside":
            continue
        slot, noise, time = state.source_of(observed, number)
        time = time if last.time is None else last.time / state.created.time
        variance, weight = state.problem.noise.of_reward(noise, last.sem, time)
        value, variance = state.sites.get((observed, number), (last.value, variance))
        reward = state.problem.sign * value, variance, weight, observed
        has_sem = last.sem is not None or last.reading is not None
        counted.append(((observed, number), slot, reward, has_sem))
    return counted


def _retract_trial(state: State, number: int) -> None:
    """Count a trial as not told."""
    asked = state.asked[number]
    row = asked.row
    state.measured -= 1
    _count(state, asked, -1)
    if number in state.costs_paid:
        state.costs_paid = _without(state.costs_paid, number)
    if number in state.differences:
        state.differences = _without(state.differences, number)
    _update_askable(state, row)


def _fit(state: State, event: events.Fitted) -> None:
    """Use other models from now on; splits already made stay."""
    fit, learner, frame = event.fit, state.problem.learner, state.problem.frame
    families = len(frame.families(learner.unknowns.wanted)) * len(learner.unknowns.laws) if fit.best else 0
    in_grid = all(0 <= family < families and len(steps) == learner.n_steps for family, steps in fit.best)
    require(in_grid, "these models are not among those of this study", fit.best, "Pass the events of this study.")
    state.fit_state = learner.adopt(state.fit_state, fit, state.ledger.total, event.from_scratch)
    state.posterior = state.posterior.from_scratch(fit)


def _split(state: State, event: events.Split) -> events.Split:
    """Split nodes in one step (line 7); return the event with the checksum of their children."""
    table, problem, space = state.structure, state.problem, state.problem.space
    families: list[Children] = []
    sums = problem.checksum
    for row in event.rows:
        depth = int(table.depth[row])
        indices, cells = space.partition.children(depth, int(table.index[row]), state.cells[row])
        keys = state.tracked.layout.cells(space, depth + 1, cells)
        able = depth < state.h_max and space.partition.splittable(depth + 1, indices)
        families.append((indices, cells, keys, able))
        sums = zlib.crc32(cells.tobytes(), sums)
    sizes = [family[0].size for family in families]
    indices, cells, keys, able = families[0] if not families[1:] else _concatenated(families)
    number = indices.size
    if event.checksum not in (None, sums) or (event.noise and len(event.noise) != number):
        raise InvalidInput(
            "this space splits the region differently than when the study was made",
            state.region(event.rows[0]).name,
            "Open it with the space and the version of Zonal that it was made with.",
        )
    forbidden = np.array(event.forbidden or (False,) * number)
    noise = np.array(event.noise) if event.noise else np.full(number, problem.noise.default)
    size, slot, inner = table.depth.size, state.tracked.size, problem.policy.measures_internal_nodes
    state.cells = np.concatenate((state.cells, cells))
    smallest = True ^ able
    state.structure = table.split(event.rows, sizes, event.expanded, inner, indices, slot, smallest, forbidden)
    noise = problem.noise.for_time(noise, state.created.time)
    state.relative_noise = np.concatenate((state.relative_noise, noise))
    state.forbidden_by_user = np.concatenate((state.forbidden_by_user, forbidden))
    _track_nodes(state, size, keys)
    if state.forbidden_regions:
        _mark_forbidden(state, size)
    return events.Split(*event[:4], sums)


def _close_trial(state: State, event: events.Closed) -> None:
    """Record that a trial failed or was cancelled."""
    asked = state.asked[event.number]
    if event.blocked:
        state.blocked = {**state.blocked, asked.row: event.number}
    if event.state == "failed":
        state.failed_trials = {
            **state.failed_trials,
            asked.row: (*state.failed_trials.get(asked.row, ()), event.number),
        }
    else:
        state.free_streams = (*state.free_streams, asked.draw)
    state.pending = _without(state.pending, event.number)
    _update_askable(state, asked.row)


def _unblock(state: State, event: events.Unblocked) -> None:
    """Record that failures no longer count."""
    taken_back = set(event.numbers)
    left = {row: tuple(n for n in trials if n not in taken_back) for row, trials in state.failed_trials.items()}
    state.failed_trials = {row: trials for row, trials in left.items() if trials}
    for row, number in state.blocked.items():
        if number in taken_back:
            state.blocked = _without(state.blocked, row)
            _update_askable(state, row)
    if event.forbidden:
        state.forbidden_regions = {
            number: region for number, region in state.forbidden_regions.items() if number not in event.forbidden
        }
        _mark_forbidden(state)


def _forbid(state: State, event: events.Forbidden) -> None:
    """Record that a region is forbidden from now on."""
    state.forbidden_regions = {**state.forbidden_regions, state.n_forbidden: event.region}
    state.n_forbidden += 1
    _mark_forbidden(state)


def _mark_forbidden(state: State, first: int = 0) -> None:
    """Mark which nodes from a row on are forbidden: by the user's `forbidden`, or by what was forbidden later."""
    table, bans = state.structure, state.forbidden_regions.values()
    forbidden = np.concatenate((table.forbidden[:first], state.forbidden_by_user[first:]))
    for row in range(first, table.size):  # what overlaps has a parent that overlaps, in a row above
        parent = int(table.parent[row])
        if parent < 0 or forbidden[parent]:
            forbidden[row] |= any(ban.overlaps(state.region(row)) for ban in bans)
    changed = forbidden != table.forbidden
    able = (table.leaf | state.problem.policy.measures_internal_nodes) & ~forbidden
    able[list(state.blocked)] = False
    state.structure = table.forbidding(forbidden, np.where(changed, able, table.askable))
    if state.problem.settings.max_replicates is not None:
        for row in changed.nonzero()[0].tolist():
            _update_askable(state, row)


def _expand(state: State, event: events.Expanded) -> None:
    """Mark a node as expanded."""
    state.structure = state.structure.marked(event.row, EXPANDED, True)


def _warn(state: State, event: events.ModelWarned) -> None:
    """Record that the user was warned."""
    state.fit_state = state.fit_state._replace(warned=True)


def _extend(state: State, event: events.Extended) -> None:
    """Raise the budget."""
    state.budget += event.n


def _ignore(state: State, event: events.Noted | events.Recommended) -> None:
    """Change nothing: the history has the note, or what was recommended."""


def _refuse_created(state: State, event: events.Created) -> None:
    raise InvalidInput("a study begins once", event, "Pass the events of one study, in order.")


def _update_askable(state: State, row: int) -> None:
    """Update whether a node may be asked for."""
    table, most = state.structure, state.problem.settings.max_replicates
    askable = (
        (state.problem.policy.measures_internal_nodes or table.first_child[row] < 0)
        and row not in state.blocked
        and not table.forbidden[row]
        and (most is None or state.n_measurements(row) < most)
    )
    if askable != table.askable[row]:
        state.structure = table.marked(row, ASKABLE, bool(askable))


def _slot_of(state: State, region: Region, minus: Region | None, label: Label | None = None) -> int:
    """Return the belief's slot of a region (minus another) as it was measured, tracking it if it is new."""
    slot = state.find_slot(region, minus, label)
    if slot is None:
        slot = state.tracked.size
        state.off_tree_slots = {**state.off_tree_slots, state.functional_key(region, minus, label): slot}
        state.slots_are_rows = False
        state.posterior = state.posterior.with_targets(*state.functional(region, minus), label)
    return slot


def _slot_of_trial(state: State, asked: events.Asked, labels: events.Labels) -> int:
    """Return the slot of the reading of a trial, tracking it if it is new."""
    slot, row, source = state.asked_slot(asked), asked.row, (False, asked.number)
    if not state.problem.shifts:
        return slot
    label = label_of(state, source, labels)
    if label is not None:
        slot = _slot_of(state, state.asked_region(asked), None, label)
    state.shifted_slots = {**state.shifted_slots, source: slot}
    if label is not None and asked.window is None and slot not in state.label_slots.get(row, ()):
        state.label_slots = {**state.label_slots, row: (*state.label_slots.get(row, ()), slot)}
    return slot


def _set_order(state: State, source: Source) -> None:
    """Remember which reading this is, if readings drift; a trial told again keeps its place."""
    if state.problem.settings.drift and source not in state.orders:
        state.orders = {**state.orders, source: len(state.orders)}


def _relabelled(state: State, event: events.Corrected) -> int:
    """Return the slot of a reading that is corrected, whose labels may be others now."""
    source = event.observed, event.number
    if not event.observed:
        if event.number in state.differences:
            return state.differences[event.number].slot
        return _slot_of_trial(state, state.asked[event.number], event.labels)
    _, observed = state.observed[event.number]
    seen, minus = with_feedback(observed.region, observed.feedback), observed.minus
    slot = _slot_of(
        state, seen, minus and with_feedback(minus, observed.feedback), label_of(state, source, event.labels)
    )
    state.shifted_slots = {**state.shifted_slots, source: slot}
    return slot


def _track_nodes(state: State, first: int, keys: Keys) -> None:
    """Have the belief track new nodes, from row `first` on, except those observed before."""
    regions = None
    if state.off_tree_slots or state.feedback_slots is not None:
        regions = [state.region(row) for row in range(first, state.structure.size)]
    if state.off_tree_slots and regions is not None:
        slots, keys = _reused_slots(state, [region.key for region in regions], keys)
        state.structure = state.structure.at_slots(first, slots)
    if keys.shape[1]:
        state.posterior = state.posterior.with_targets(keys, 1.0)
    if state.feedback_slots is not None and regions is not None:
        _track_measured(state, regions)


def _track_measured(state: State, regions: Sequence[Region]) -> None:
    """Have the posterior track what is measured of new nodes too, where that is not what is judged of them."""
    assert state.feedback_slots is not None
    keys = state.tracked.layout.keys(footprints_of(regions, state.problem.target))
    slots, keys = _reused_slots(state, [state.functional_key(region, None) for region in regions], keys)
    state.feedback_slots = np.concatenate((state.feedback_slots, slots))
    if keys.shape[1]:
        state.posterior = state.posterior.with_targets(keys, 1.0)


def _reused_slots(state: State, names: Sequence[Hashable], keys: Keys) -> tuple[Ints, Keys]:
    """Return the slots of new nodes, of those observed before the earlier ones, and the keys of the others."""
    earlier_slots = [state.off_tree_slots.get(name, -1) for name in names]
    fresh = np.array([slot < 0 for slot in earlier_slots])
    slots = np.where(fresh, state.tracked.size + fresh.cumsum() - 1, earlier_slots)
    state.off_tree_slots = {key: slot for key, slot in state.off_tree_slots.items() if slot not in earlier_slots}
    return slots, keys[:, fresh]


def _concatenated(families: list[Children]) -> tuple[Ints, Ints, Keys, Flags]:
    """Return indices, cells, keys and flags of all children of some nodes, concatenated."""
    indices, cells, keys, able = zip(*families, strict=True)
    flags = [np.full(family_indices.size, flag) for family_indices, flag in zip(indices, able, strict=True)]
    return np.concatenate(indices), np.concatenate(cells), np.concatenate(keys, axis=1), np.concatenate(flags)


def _sign(state: State, event: events.Signed) -> None:
    """Remember the request, so that repeating it does nothing."""
    if event.key:
        state.keys = {**state.keys, event.key: len(state.events)}


APPLY: dict[type, Callable[[State, Any], events.Event | None]] = {
    events.Asked: _ask,
    events.Told: _tell,
    events.Split: _split,
    events.Fitted: _fit,
    events.Approximated: _approximate,
    events.Expanded: _expand,
    events.Closed: _close_trial,
    events.Unblocked: _unblock,
    events.Forbidden: _forbid,
    events.Observed: _observe,
    events.Corrected: _amend,
    events.Retracted: _amend,
    events.SetAside: _amend,
    events.Reinstated: _amend,
    events.ModelWarned: _warn,
    events.Extended: _extend,
    events.Noted: _ignore,
    events.Recommended: _ignore,
    events.Claimed: _claim,
    events.Created: _refuse_created,
    events.Signed: _sign,
}
