"""What changes a study's measurements: ask, tell, observe, give up, and correct what was told by mistake.

Each is a function of a study, and a method of `Study`: it checks its arguments, computes the next state beside the
one in use, and has the study commit it, holding the locks of the study and of its file.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from zonal.engine import checks, commands, select
from zonal.engine.events import Amended, Asked, Claimed, Corrected, Noted, Observed, Retracted, Told
from zonal.engine.possible import Possible, possible
from zonal.engine.results import Observation, Trial, TrialRecord
from zonal.engine.settings import RegionLike, RegionsLike, checked_feedback
from zonal.engine.trial_history import outcomes
from zonal.errors import TrialError, need, text, truth, whole_number
from zonal.kernels.feedback import Feedback
from zonal.spaces import Region, with_feedback
from zonal.study import summary
from zonal.study.limits import regions_of
from zonal.study.reading import trial_of
from zonal.study.worker_id import is_running, me, person

if TYPE_CHECKING:
    from zonal.study.study import Study

T = TypeVar("T")

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


@overload
def ask(
    study: Study,
    n: None = None,
    *,
    key: str = "",
    by: str | None = None,
    within: RegionsLike = None,
    avoid: RegionsLike = None,
) -> Trial: ...
@overload
def ask(
    study: Study,
    n: int,
    *,
    key: str = "",
    by: str | None = None,
    within: RegionsLike = None,
    avoid: RegionsLike = None,
) -> list[Trial]: ...
def ask(
    study: Study,
    n: int | None = None,
    *,
    key: str = "",
    by: str | None = None,
    within: RegionsLike = None,
    avoid: RegionsLike = None,
) -> Trial | list[Trial]:
    """Return the next trial, or a list of the next `n`.

    Trials pending are taken into account: they reduce the uncertainty of their regions. What is possible only
    now, such as what is above the horizon, is said by `within` and `avoid`, and kept with the trial; what is never
    possible by ``forbidden=`` and `forbid`.

    Parameters
    ----------
    n : int, optional
        Number of trials; all or none are returned (in a shell, `zonal ask -n` returns those that are left). Where
        travel costs, they are in the order of a short tour.
    key : str
        A name for this request. Repeating the request with the same key returns the same trials, so it may be
        repeated if it is not clear whether it arrived.
    by : str, optional
        Who measures it; by default this process, after whose end the trial may be taken over (see `optimize`).
    within : region or list of regions, optional
        What is possible now, given as in `observe`: the trial's region lies wholly within one of them.
    avoid : region or list of regions, optional
        What is not possible now: the trial's region overlaps none of them. Judged is the region itself, not what
        a `Beam` sees beyond it.
    """
    number = 1 if n is None else whole_number(n, "the number of trials to ask for", 1)
    key, by = text(key, "key"), me() if by is None else text(by, "by")
    now = regions_of(study, within, "within"), regions_of(study, avoid, "avoid")
    with study._writing():
        batch = _repeated(study, n, key, now) if key else []
        batch = batch or _decided(study, number, key, by, possible(*now))
        trials = [trial_of(study._state, asked) for asked in batch]
    return trials[0] if n is None else trials


def _repeated(study: Study, n: int | None, key: str, now: tuple[Any, Any]) -> list[Asked]:
    """Return the trials that were asked for with this key; raise if that was another request."""
    batch = [asked for asked in study._state.asked if asked.key == key]
    problem = f"{len(batch)} trials were asked for with this key"
    need(len(batch) in (0, n or 1), problem, n, "Use another key.")
    same = all((asked.within, asked.avoid) == now for asked in batch)
    names = [[region.name for region in regions] for regions in now]
    need(same, "this key was used with other regions in within= and avoid=", names, "Use another key.")
    return batch


def _decided(study: Study, number: int, key: str, by: str, now: Possible | None) -> list[Asked]:
    """Decide on the next trials, and return them."""
    before = state = study._state
    checks.within_budget(state, number)
    for _ in range(number):
        state = select.ask(state, by, key, now=now)
    if number > 1:
        state = select.as_route(before, state, by)
    study._commit(state)
    return state.asked.since(before.asked.size)


def tell(
    study: Study,
    trial: Trial | int,
    value: float,
    sem: float | None = None,
    note: str = "",
    *,
    time: float | None = None,
    slopes: Mapping[str, tuple[float, float]] | None = None,
    minus: RegionLike | None = None,
) -> None:
    """Record the measurement of a trial.

    Telling the same value again does nothing, and another value is refused, whatever became of the trial before. A
    trial that had been failed, cancelled or retracted counts as measured after all; if the budget was spent
    meanwhile, as an observation, which `correct` and `retract` find by the trial too.

    Parameters
    ----------
    trial : Trial or int
        The trial, or its number.
    value : float
        The measured average.
    sem : float, optional
        Standard error of this one measurement; the study's noise by default.
    note : str
        A note kept with the trial.
    time : float, optional
        The time really spent, where times are chosen; by default the time asked for.
    slopes : mapping of axis to (slope, sem), optional
        Mean slopes of f over the region, measured with its average, and their standard errors: see `Slope`.
        They become observations.
    minus : Region, or what ``space.region`` takes, optional
        The value is the difference of two averages: the trial's region minus this one. Errors that the instrument
        adds to both cancel. It counts as a measurement of its region, and `ask` expects that a repeat will be the
        same difference; only the mean of the region's rewards, ``tree.reward``, does not include it.
    """
    with study._writing(partly=True):
        state = study._state
        asked = study._asked(trial)
        value, sem = checks.measured(state, value, sem, note)
        spent = None if time is None else checks.time_spent(state, time)
        fact = Told(asked.number, value, sem, note, spent)
        beside: tuple[Observed, ...] = ()
        if slopes is not None or minus is not None:
            fact, beside = _more(study, fact, state.region(asked.row), slopes, minus)
        under_way = asked.number in state.pending
        if not under_way and _is_told(study, asked, fact, beside):
            return
        if under_way or checks.fits(state, fact):
            after = commands.tell(state, fact, beside)
        else:
            region = state.region(asked.row)
            taken = spent or asked.time
            seen = Observed(region, value, sem, 0.0, study.feedback, taken, fact.minus, asked.number, note)
            after = commands.observe(state, [seen, *beside])
        study._commit(after)
        if log.isEnabledFor(logging.INFO):  # the region is made only if it is logged
            _say(study, f"trial {asked.number}", state.region(asked.row), value)


def _more(study: Study, fact: Told, region: Region, slopes: Any, minus: Any) -> tuple[Told, tuple[Observed, ...]]:
    """Return a measurement as a difference, if it is one, and the slopes measured with it, after checking."""
    other = None if minus is None else study._region(minus)
    checks.usable(study._state, region, other, fact.sem)
    return fact._replace(minus=other), () if slopes is None else checks.slopes(study._state, region, slopes)


def _is_told(study: Study, asked: Asked, fact: Told, beside: tuple[Observed, ...]) -> bool:
    """Tell whether a trial was told exactly this already; raise if it was told something else."""
    state, late = study._state, checks.told_late(study._state, asked.number)
    earlier = outcomes(state.history)[(False, asked.number) if late is None else (True, late)][-1]
    if earlier.value is None:
        return False
    event, told = _told(study, asked.number, late)
    slopes = tuple(own for own in state.events[event] if isinstance(own, Observed) and own is not told)
    same = (earlier.value, earlier.sem, told.minus, slopes) == (fact.value, fact.sem, fact.minus, beside)
    if same and fact.time in (None, told.time, asked.time):
        return True
    raise TrialError(
        f"trial {asked.number} was told already ({earlier.value!r}) and cannot be told {fact.value!r}. "
        "Use correct() if that was a mistake, observe() for a further measurement of its region."
    )


def _told(study: Study, number: int, late: int | None = None) -> tuple[int, Told | Observed]:
    """Return the number of the event in which a trial was told last, and what it was told.

    If it was told too late to be paid, `late` is the number of the observation that it became.
    """
    if late is not None:
        return outcomes(study.events)[True, late][0].event, study._state.observed[late][1]
    told = ((at, fact) for at, event in enumerate(study.events) for fact in event if isinstance(fact, Told))
    *_, last = (own for own in told if own[1].number == number)
    return last


def correct(
    study: Study,
    trial: Trial | Observation | int,
    value: float,
    sem: float | None = None,
    note: str = "",
    *,
    by: str | None = None,
) -> None:
    """Replace a value that was told or observed by mistake.

    The model is learned again, and the posterior is as if the right value had been told; splits already made stay.
    The history keeps the earlier value: see `table`. Passing the same value again does nothing.

    Parameters
    ----------
    trial : Trial, Observation or int
        A trial that was told, or its number, or what `observe` returned.
    value : float
        The measured average.
    sem : float, optional
        Standard error of this one measurement; by default as it was told.
    note : str
        A note kept with the trial, for example why; by default as it was told.
    by : str, optional
        Who corrects it; by default the user of this process.
    """
    with study._writing(partly=True):
        number, observed = _measurement(study, trial)
        was = checks.counted(study._state, number, observed)
        by_which = study._state.observed[number][1].feedback if observed else None
        value, sem = checks.measured(study._state, value, sem, note, by_which)
        now = value, was.sem if sem is None else sem, note or was.note
        if now != (was.value, was.sem, was.note):
            _mend(study, Corrected(number, observed, *now, _who(by)), value)


def retract(study: Study, trial: Trial | Observation | int, note: str = "", *, by: str | None = None) -> None:
    """Remove a value that should never have been told or observed; the budget gets its trial back.

    The model is learned again, and the posterior is as if the value had never been told; splits already made stay.
    The history keeps the value and, in `note`, why: see `table`. The trial may still be told. Slopes told with a
    trial are retracted with it. `trial` and `by` are as for `correct`.
    """
    with study._writing(partly=True):
        number, observed = _measurement(study, trial)
        was = checks.counted(study._state, number, observed)
        fact = Retracted(number, observed, text(note, "a note"), _who(by))
        of_trial = not observed or study._state.observed[number][1].trial is not None
        told = _told(study, number, number if observed else None)[0] if of_trial else None
        beside = [
            fact._replace(number=own, observed=True)
            for (outside, own), past in outcomes(study._state.events).items()
            if outside
            and past[0].event == told
            and past[-1].value is not None
            and (observed, number) != (True, own)
        ]
        _mend(study, fact, was.value, beside)


def _mend(study: Study, fact: Amended, value: float | None, beside: Sequence[Retracted] = ()) -> None:
    """Correct or retract a measurement, and those made with it."""
    state, number = study._state, fact.number
    region = state.observed[number][1].region if fact.observed else state.region(state.asked[number].row)
    study._commit(commands.correct(state, [fact, *beside]))
    what = f"{'observation' if fact.observed else 'trial'} {number} {type(fact).__name__.lower()}"
    _say(study, what, region, value)


def _measurement(study: Study, trial: Trial | Observation | int) -> tuple[int, bool]:
    """Return the number of a trial or an observation, and whether it is an observation, after checking."""
    if not isinstance(trial, Observation):
        number = study._asked(trial).number
        late = checks.told_late(study._state, number)
        return (number, False) if late is None else (late, True)
    number, seen = trial.number, study._state.observed
    if trial.study != study.id or number >= seen.size or seen[number][1].region != trial.region:
        raise TrialError(
            f"{trial!r} is not an observation of this study, which has {seen.size}. Pass what observe() "
            "returned, or one of study.observations."
        )
    return number, True


def fail(study: Study, trial: Trial | int, retry: bool = True, note: str = "") -> None:
    """Give up a trial that could not be measured, given as in `tell`; the budget gets it back.

    A `note`, for example why, is kept with the trial.

    With ``retry=False`` the region is not asked for again; its children are, if it may be split. A region failed
    three times in a row is not asked for again either, nor is a region within it that was failed once. `allow`
    takes both back.
    """
    retry = truth(retry, "retry")
    with study._writing(partly=True):
        number, note = _under_way(study, trial), text(note, "a note")
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
            message = "region %s was failed %d times in a row and will not be asked for again"
            study._log(logging.WARNING, message, region.name, times)
        else:
            message = "region %s lies within one that could not be measured, and failed too"
            study._log(logging.INFO, message, region.name)


def cancel(study: Study, trial: Trial | int, note: str = "") -> None:
    """Cancel a trial that was not tried; the budget gets it back, and it does not count against its region.

    A `note`, for example why, is kept with the trial.
    """
    with study._writing(partly=True):
        number, note = _under_way(study, trial), text(note, "a note")
        study._commit(commands.close_trial(study._state, number, failed=False, retry=True, note=note))


def annotate(study: Study, trial: Trial | int, note: str) -> None:
    """Keep a note with a trial that has no value; one told or ended without a note has it too."""
    with study._writing(partly=True):
        number = study._asked(trial).number
        checks.valueless(study._state, number)
        study._commit(study._state.apply_transaction((Noted(number, text(note, "a note")),)))


def claim(study: Study, by: str, wanted: Callable[[Asked], bool]) -> Trial | None:
    """Return a pending trial, taken over from its worker to be measured by `by`; None if none is wanted.

    `wanted` tells whether to take a trial over; it is called again with the file's lock held, if there is a file.
    """
    name = text(by, "by")
    need(callable(wanted), "wanted must be a function of a trial asked for", wanted, "Pass a callable.")
    if not any(map(wanted, study._state.pending.values())):
        return None
    with study._writing():
        state = study._state
        found = next(filter(wanted, state.pending.values()), None)
        if found is not None:
            study._commit(state.apply_transaction((Claimed(found.number, name),)))
    return None if found is None else trial_of(state, found)


def observe(
    study: Study,
    region: RegionLike,
    value: float,
    sem: float | None = None,
    feedback: Feedback | None = None,
    *,
    time: float | None = None,
    minus: RegionLike | None = None,
    note: str = "",
) -> Observation:
    """Record an earlier or outside measurement of any region; it costs no budget.

    `correct` and `retract` accept the `Observation` that is returned.

    Parameters
    ----------
    region : Region, or what ``space.region`` takes
        A region of this space, in the tree or not: bounds of shape (d, 2) in a box, text such as
        ``"ATNNNNNN"`` for sequences, a name for a hierarchy, row numbers for points, a mapping of axes to
        parts.
    value : float
        Its measured average.
    sem : float, optional
        Standard error of this measurement; the study's noise by default.
    feedback : Center, Average, Mean, Beam or Slope, optional
        What part of its region this measurement averaged; by default as the study's own. For a slope, or anything
        that is not an average, the standard error is required.
    time : float, optional
        How long it took, where times are chosen; one unit of time by default.
    minus : Region, or what ``space.region`` takes, optional
        The value is a difference: the region minus this one. Its standard error is required.
    note : str
        A note kept with the observation.
    """
    with study._writing(partly=True):
        by = study.feedback if feedback is None else checked_feedback(feedback, study.space)
        seen = with_feedback(study._region(region), by)
        other = None if minus is None else with_feedback(study._region(minus), by)
        value, sem = checks.measured(study._state, value, sem, note, by=by)
        checks.usable(study._state, seen, other, sem)
        number = study._state.observed.size
        spent = checks.time_spent(study._state, time) or 1.0
        fact = Observed(seen, value, sem, 0.0, by, spent, other, note=note)
        study._commit(commands.observe(study._state, [fact]))
        _say(study, "observed", seen, value)
    return Observation(number, seen, value, sem, note, other, study.id)


def _say(study: Study, what: str, region: Region, value: float | None) -> None:
    """Log a measurement in one line: what it was, and the best region so far."""
    if log.isEnabledFor(logging.INFO):
        measured = f"{value:.6g} {study.value_unit}".rstrip()
        message = "%s, %s: %s; best so far %s"
        study._log(logging.INFO, message, what, region.name, measured, summary.best_so_far(study))


def _under_way(study: Study, trial: Trial | int) -> int:
    """Return the number of a trial pending; raise if it is not."""
    number = study._asked(trial).number
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
    every = [own for own in study.history() if isinstance(own[0], Observation) == observation]
    if number >= len(every):
        raise TrialError(f"there is no such {what}; got {number}. There are {len(every)}, counted from 0.")
    record, (*_, now) = every[number]
    if now.value is None:
        how = "is pending" if now.state == "pending" else f"was {now.state}"
        raise TrialError(f"nothing changed: {what} {number} {how}, and has no value. Check its number.")
    return record
