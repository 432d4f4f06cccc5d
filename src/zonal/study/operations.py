"""What changes a study: ask, tell, observe, fail, correct what was told by mistake; forbid and allow regions.

Each is a function of a study, which the method of `Study` calls: it checks its arguments, computes the next state
beside the one in use, and has the study commit it, holding the locks of the study and of its file.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from zonal.engine import checks, commands, readings, select
from zonal.engine.events import (
    Amended,
    Asked,
    Claimed,
    Corrected,
    Extended,
    Forbidden,
    Labels,
    Noted,
    Observed,
    Reinstated,
    Retracted,
    SetAside,
    Told,
)
from zonal.engine.expand import Possible, possible
from zonal.engine.labels import LabelsLike, checked_labels, merged, needed, planned_labels
from zonal.engine.readings import RawReading
from zonal.engine.results import Observation, Trial, TrialRecord
from zonal.engine.settings import RegionsLike
from zonal.engine.trial_history import outcomes
from zonal.errors import InvalidInput, TrialError, UnknownTrial, listed, require, text, truth, whole_number
from zonal.spaces import Region, is_one_region, with_feedback
from zonal.spaces.base import RegionLike
from zonal.study import summary
from zonal.study.history import asked_trial, history, trial_of
from zonal.study.queries import region_of
from zonal.study.worker_id import is_running, person, worker_id

if TYPE_CHECKING:
    from zonal.study.study import Study

T = TypeVar("T")
Regions = tuple[Region, ...]
Slopes = Mapping[str, tuple[float, float]]

log = logging.getLogger("zonal")


def together(study: Study, change: Callable[[Study], T]) -> T:
    """Change a study several times, or, if `change` raises, not at all; return what `change` returns.

    `change` is called with a draft of the study. The file's lock is held meanwhile only if another process changed
    the study since, in which case `change` is called again: models may be learned for a minute. What `change` logs
    appears once it is committed.
    """
    with study._lock:  # since states share what they can
        with study._writing(partly=True):
            draft = study._draft()
        before, answer = study._state, change(draft)
        with study._writing(partly=True):
            if study._state is not before:
                draft = study._draft()
                answer = change(draft)
            if draft._state is not study._state:
                study._commit(draft._state)
    for level, message, parts in draft._unlogged:
        study._log(level, message, *parts)
    return answer


def ask(
    study: Study,
    n: int | None,
    key: str,
    by: str | None,
    within: RegionsLike,
    avoid: RegionsLike,
    labels: LabelsLike | Sequence[LabelsLike],
) -> list[Trial]:
    """Return the next trials: see `Study.ask`."""
    number = 1 if n is None else whole_number(n, "the number of trials to ask for", 1)
    planned = planned_labels(labels, number)
    key, by = text(key, "key"), worker_id() if by is None else text(by, "by")
    now = regions_of(study, within, "within"), regions_of(study, avoid, "avoid")
    with study._writing():
        batch = _repeated(study, n, key, now) if key else []
        others = [asked.labels for asked in batch]
        fix = "Use another key, or leave labels= out."
        require(not batch or labels is None or others == planned, "this key had other labels", others, fix)
        batch = batch or _decided(study, number, key, by, possible(*now), planned)
        return [trial_of(study._state, asked) for asked in batch]


def _repeated(study: Study, n: int | None, key: str, now: tuple[Regions, Regions]) -> list[Asked]:
    """Return the trials that were asked for with this key; raise if that was another request."""
    batch = [asked for asked in study._state.asked if asked.key == key]
    problem = f"{len(batch)} trials were asked for with this key"
    require(len(batch) in (0, n or 1), problem, n, "Use another key.")
    same = all((asked.within, asked.avoid) == now for asked in batch)
    names = [[region.name for region in regions] for regions in now]
    require(same, "this key was used with other regions in within= and avoid=", names, "Use another key.")
    return batch


def _decided(
    study: Study, number: int, key: str, by: str, now: Possible | None, planned: Sequence[Labels]
) -> list[Asked]:
    """Decide on the next trials, and return them."""
    before = state = study._state
    checks.within_budget(state, number)
    for labels in planned:
        state = select.ask(state, by, key, now=now, labels=labels)
    if number > 1:
        state = select.as_route(before, state, by)
    study._commit(state)
    return list(state.asked[len(before.asked) :])


def tell(
    study: Study,
    trial: Trial | int,
    given: RawReading,
    sem: float | None,
    note: str,
    time: float | None,
    slopes: Slopes | None,
    minus: RegionLike | None,
    labels: LabelsLike = None,
) -> None:
    """Record the measurement of a trial: see `Study.tell`."""
    with study._writing(partly=True):
        state = study._state
        asked = asked_trial(study, trial)
        spent = None if time is None else checks.time_spent(state, time)
        region_asked = partial(state.region, asked.row)
        took, differs = spent or asked.time, minus is not None
        value, sem, reading = readings.checked(state, given, sem, note, region_asked, took, minus=differs)
        fact = Told(asked.number, value, sem, note, spent, reading=reading)
        fact = fact._replace(labels=merged(asked.labels, checked_labels(labels)))
        needed(state, fact.labels, "a reading")
        beside: tuple[Observed, ...] = ()
        if slopes is not None or minus is not None:
            fact, beside = _more(study, fact, state.asked_region(asked), slopes, minus)
        pending = asked.number in state.pending
        if not pending and _is_told(study, asked, fact, beside):
            return
        if pending or checks.fits(state, fact):
            after = commands.tell(state, fact, beside, study._keeps_answers)
        else:
            seen = Observed(state.asked_region(asked), value, sem, 0.0, study.settings.feedback, took, fact.minus)
            seen = seen._replace(trial=asked.number, note=note, reading=reading, labels=fact.labels)
            after = commands.observe(state, [seen, *beside])
        study._commit(after)
        if log.isEnabledFor(logging.INFO):  # the region is made only if it is logged
            log_measurement(study, f"trial {asked.number}", state.asked_region(asked), value)


def _more(
    study: Study, fact: Told, region: Region, slopes: Slopes | None, minus: RegionLike | None
) -> tuple[Told, tuple[Observed, ...]]:
    """Return a measurement as a difference, if it is one, and the slopes measured with it, after checking."""
    other = None if minus is None else region_of(study, minus)
    checks.usable(study._state, region, other, fact.sem)
    return fact._replace(minus=other), () if slopes is None else checks.slopes(study._state, region, slopes)


def _is_told(study: Study, asked: Asked, fact: Told, beside: tuple[Observed, ...]) -> bool:
    """Tell whether a trial was told exactly this already; raise if it was told something else."""
    state, late = study._state, checks.told_late(study._state, asked.number)
    earlier = outcomes(state.history)[(False, asked.number) if late is None else (True, late)][-1]
    if earlier.value is None:
        return False
    event, told = _told(study, asked.number, late)
    slopes = tuple(part for part in state.events[event] if isinstance(part, Observed) and part is not told)
    same = (earlier.value, earlier.sem, told.minus, slopes) == (fact.value, fact.sem, fact.minus, beside)
    same = same and readings.alike(earlier.reading, fact.reading) and earlier.labels == fact.labels
    if same and fact.time in (None, told.time, asked.time):
        return True
    raise TrialError(
        f"trial {asked.number} already has the value {readings.shown(earlier.value, earlier.reading)}; "
        f"got {readings.shown(fact.value, fact.reading)}. "
        "Use correct() if that was a mistake, observe() for a further measurement of its region."
    )


def _told(study: Study, number: int, late: int | None = None) -> tuple[int, Told | Observed]:
    """Return the number of the event in which a trial was told last, and what it was told.

    If it was told too late to be paid, `late` is the number of the observation that it became.
    """
    if late is not None:
        return outcomes(study.events)[True, late][0].event, study._state.observed[late][1]
    told = ((at, fact) for at, event in enumerate(study.events) for fact in event if isinstance(fact, Told))
    *_, last = ((at, fact) for at, fact in told if fact.number == number)
    return last


def correct(
    study: Study,
    trial: Trial | Observation | int,
    given: RawReading,
    sem: float | None,
    note: str,
    by: str | None,
    labels: LabelsLike = None,
) -> None:
    """Replace a value that was told or observed by mistake: see `Study.correct`."""
    with study._writing(partly=True):
        number, observed = _measurement(study, trial)
        was = checks.counted(study._state, number, observed)
        state, before = study._state, was.reading
        seen = state.observed[number][1] if observed else None
        region_read = partial(state.region, state.asked[number].row) if seen is None else lambda: seen.region
        took = (was.time or state.asked[number].time) if seen is None else seen.time
        differs = number in state.differences if seen is None else seen.minus is not None
        if given.exposure is None and before is not None and before.exposure is not None and sem is None:
            given = given._replace(exposure=before.exposure)
        error = was.sem if sem is None else sem
        by_which = None if seen is None else seen.feedback
        value, error, reading = readings.checked(state, given, error, note, region_read, took, by_which, differs)
        now = value, error, note or was.note
        mended = merged(was.labels, checked_labels(labels))
        same = now == (was.value, was.sem, was.note) and mended == was.labels
        if not same or not readings.alike(before, reading):
            _amend(study, Corrected(number, observed, *now, _who(by), reading, mended), value)


def retract(study: Study, trial: Trial | Observation | int, note: str, by: str | None) -> None:
    """Remove a value that should never have been told or observed: see `Study.retract`."""
    with study._writing(partly=True):
        number, observed = _measurement(study, trial)
        was = checks.counted(study._state, number, observed)
        fact = Retracted(number, observed, text(note, "a note"), _who(by))
        of_trial = not observed or study._state.observed[number][1].trial is not None
        told = _told(study, number, number if observed else None)[0] if of_trial else None
        beside = [
            fact._replace(number=other, observed=True)
            for (is_observation, other), past in outcomes(study._state.events).items()
            if is_observation
            and past[0].event == told
            and past[-1].value is not None
            and (observed, number) != (True, other)
        ]
        _amend(study, fact, was.value, beside)


def set_aside(study: Study, trial: Trial | Observation | int, note: str, by: str | None) -> None:
    """Let a reading no longer count: see `Study.set_aside`."""
    with study._writing(partly=True):
        number, observed = _measurement(study, trial)
        checks.counted(study._state, number, observed)
        doubt = study._state.set_aside.get((observed, number))
        if doubt is None or doubt.waits:
            fact = SetAside(number, observed, False, False, None, None, text(note, "a note"), _who(by))
            study._commit(commands.doubt(study._state, fact))


def reinstate(study: Study, trial: Trial | Observation | int, note: str, by: str | None) -> None:
    """Let a reading that was set aside count again: see `Study.reinstate`."""
    with study._writing(partly=True):
        number, observed = _measurement(study, trial)
        checks.counted(study._state, number, observed)
        if (observed, number) in study._state.set_aside:
            fact = Reinstated(number, observed, False, None, text(note, "a note"), _who(by))
            study._commit(commands.doubt(study._state, fact))


def _amend(study: Study, fact: Amended, value: float | None, beside: Sequence[Retracted] = ()) -> None:
    """Correct or retract a measurement, and those made with it."""
    state, number = study._state, fact.number
    asked_region = state.asked_region
    region = state.observed[number][1].region if fact.observed else asked_region(state.asked[number])
    study._commit(commands.correct(state, [fact, *beside]))
    what = f"{'observation' if fact.observed else 'trial'} {number} {type(fact).__name__.lower()}"
    log_measurement(study, what, region, value)


def _measurement(study: Study, trial: Trial | Observation | int) -> tuple[int, bool]:
    """Return the number of a trial or an observation, and whether it is an observation, after checking."""
    if not isinstance(trial, Observation):
        number = asked_trial(study, trial).number
        late = checks.told_late(study._state, number)
        return (number, False) if late is None else (late, True)
    number, seen = trial.number, study._state.observed
    if trial.study != study.id or not 0 <= number < len(seen) or seen[number][1].region != trial.region:
        raise TrialError(
            f"{trial!r} is not an observation of this study, which has {len(seen)}. Pass what observe() "
            "returned, or one of study.observations."
        )
    return number, True


def fail(study: Study, trial: Trial | int, retry: bool, note: str) -> None:
    """Record that a trial could not be measured: see `Study.fail`."""
    retry = truth(retry, "retry")
    with study._writing(partly=True):
        number, note = _pending_number(study, trial), text(note, "a note")
        before, after = (
            study._state,
            commands.close_trial(study._state, number, failed=True, retry=retry, note=note),
        )
        study._commit(after)
    row, by = after.asked[number].row, after.asked[number].by
    certain = not is_running(by)  # at its end a run may take its failures back
    if certain and retry and len(after.blocked) > len(before.blocked):
        region, times = after.region(row), len(after.failed_trials[row])
        if times > 1:
            message = "region %s failed %d times in a row and will not be asked for again"
            study._log(logging.WARNING, message, region.name, times)
        else:
            message = "region %s lies within one that could not be measured, and failed too"
            study._log(logging.INFO, message, region.name)


def cancel(study: Study, trial: Trial | int, note: str) -> None:
    """Cancel a trial that was not tried: see `Study.cancel`."""
    with study._writing(partly=True):
        number, note = _pending_number(study, trial), text(note, "a note")
        study._commit(commands.close_trial(study._state, number, failed=False, retry=True, note=note))


def annotate(study: Study, trial: Trial | int, note: str) -> None:
    """Keep a note with a trial that has no value; one told or ended without a note has it too."""
    with study._writing(partly=True):
        number = asked_trial(study, trial).number
        checks.valueless(study._state, number)
        study._commit(study._state.apply_transaction((Noted(number, text(note, "a note")),)))


def claim(study: Study, trial: Trial | int, by: str | None, key: str) -> Trial:
    """Take a pending trial over: see `Study.claim`."""
    study.refresh()
    name = worker_id() if by is None else text(by, "by")
    state = study._state
    if text(key, "key") in state.keys:  # it may have ended since
        number, worker = asked_trial(study, trial).number, ""
    else:
        number = _pending_number(study, trial)
        worker = state.pending[number].by
    claimed = study._claim(number, name, worker, key)
    if claimed is None:
        raise TrialError(f"trial {number} was taken over, or ended, at the same moment. Look at study.pending.")
    return claimed


def claim_from(study: Study, number: int, by: str, worker: str) -> Trial | None:
    """Take a pending trial over from a worker; return None if that worker no longer measures it."""
    with study._writing():
        asked = study._state.pending.get(number)
        if asked is None or asked.by != worker:
            return None
        study._commit(study._state.apply_transaction((Claimed(number, by),)))
        return trial_of(study._state, asked)


def log_measurement(study: Study, what: str, region: Region, value: float | None) -> None:
    """Log a measurement in one line: what it was, and the best region so far."""
    if log.isEnabledFor(logging.INFO):
        measured = f"{value:.6g} {study.settings.value_unit}".rstrip()
        message = "%s, %s: %s; best so far %s"
        study._log(logging.INFO, message, what, region.name, measured, summary.best_so_far(study))


def _pending_number(study: Study, trial: Trial | int) -> int:
    """Return the number of a pending trial; raise if it is not pending."""
    number = asked_trial(study, trial).number
    checks.pending(study._state, number)
    return number


def _who(by: str | None) -> str:
    return person() if by is None else text(by, "by")


def recorded(study: Study, number: int, observation: bool) -> TrialRecord | Observation:
    """Return a trial that was told, or an observation, by number; raise if there is none."""
    late = None if observation else checks.told_late(study._state, number)
    if late is not None:
        number, observation = late, True
    what = "observation" if observation else "trial"
    every = [entry for entry in history(study) if isinstance(entry[0], Observation) == observation]
    if number >= len(every):
        raise UnknownTrial(f"there is no such {what}; got {number}. There are {len(every)}, counted from 0.")
    record, (*_, now) = every[number]
    if now.value is None:
        how = "is pending" if now.state == "pending" else f"was {now.state}"
        raise TrialError(f"nothing changed: {what} {number} {how}, and has no value. Check its number.")
    return record


def regions_of(study: Study, given: RegionsLike, name: str) -> tuple[Region, ...]:
    """Return regions that the user gave, one or several; none if there is nothing."""
    if given is None:
        return ()
    problem, fix = f"{name} must be a region, or a list of regions", "Pass what observe() takes."
    several = listed(given, problem, fix) if isinstance(given, Iterator) else given
    every: list[Any] = [several] if is_one_region(study.space, several) else listed(several, problem, fix)
    fix = f"Pass at least one region, or leave {name}= out."
    require(every or name == "avoid", "within= is empty, so nothing is possible", given, fix)
    return tuple(with_feedback(region_of(study, region), None) for region in every)


def forbid(study: Study, region: RegionLike, note: str, by: str | None) -> list[Trial]:
    """Forbid a region; return the pending trials that overlap it: see `Study.forbid`."""
    with study._writing(partly=True):
        state, banned = study._state, with_feedback(region_of(study, region), None)
        checks.forbidden(state, banned)
        fact = Forbidden(banned, text(note, "a note"), _who(by))
        if all(banned.key != ban.key for ban in state.forbidden_regions.values()):
            after = commands.forbid(state, fact)
            checks.anything_left(after, banned)
            study._commit(after)
        pending = [trial_of(state, asked) for asked in state.pending.values()]
    study._log(logging.INFO, "forbidden: %s", banned.name)
    return [trial for trial in pending if banned.overlaps(trial.region)]


def allow(study: Study, region: RegionLike) -> int:
    """Take back failures and what was forbidden within a region: see `Study.allow`."""
    with study._writing(partly=True):
        state, wanted = study._state, region_of(study, region)
        trials, bans = commands.failed_within(state, wanted), commands.forbidden_within(state, wanted)
        after = commands.unblock(state, trials, bans)
        if after is None:
            fix = "study.table() lists what failed."
            larger = [ban.name for ban in state.forbidden_regions.values() if ban.overlaps(wanted)]
            if state.problem.is_forbidden(wanted):
                fix = "It is forbidden; that cannot be taken back."
            elif larger:
                fix = f"What was forbidden is allowed as a whole: {'; '.join(larger)}."
            raise InvalidInput("nothing failed or was forbidden within this region", wanted.name, fix)
        study._commit(after)
    return len(trials) + len(bans)


def forgive(study: Study, trials: Iterable[Trial | int]) -> None:
    """Take back the failures of single trials that failed for other reasons than their region."""
    with study._writing(partly=True):
        several = listed(trials, "trials must be a list", "Pass [trial], even for one.")
        after = commands.unblock(study._state, [asked_trial(study, trial).number for trial in several])
        if after is not None:
            study._commit(after)


def refit(study: Study, from_scratch: bool) -> bool:
    """Learn the model again: see `Study.refit`."""
    with study._writing():
        after = commands.refit(study._state, from_scratch)
        if after is not None:
            study._commit(after)
    return after is not None


def extend(study: Study, n: float) -> None:
    """Add to the budget: see `Study.extend`."""
    more = checks.added(study._state, n)
    with study._writing(partly=True):
        study._commit(study._state.apply_transaction((Extended(more),)))
