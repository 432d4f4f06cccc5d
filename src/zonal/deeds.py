"""What changes a study's measurements: ask, tell, observe, give up, and correct what was told by mistake.

Each is a function of a study, and a method of `Study`: it checks its arguments, computes the next state beside the
one in use, and has the study commit it, holding the locks of the study and of its file.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from zonal import looking
from zonal.averages.feedback import Feedback
from zonal.errors import InvalidInput, TrialError, need, text, whole_number
from zonal.reading import trial_of
from zonal.rounds import checks, choosing, decisions
from zonal.rounds.events import Asked, Corrected, Measured, Mended, Observed, Retracted, Taken
from zonal.rounds.outcomes import outcomes
from zonal.rounds.settings import RegionLike, checked_feedback
from zonal.rounds.trials import Observation, Trial
from zonal.rounds.whose import me, person
from zonal.spaces import Region, with_feedback

if TYPE_CHECKING:
    from zonal.study import Study

log = logging.getLogger("zonal")


@overload
def ask(study: Study, n: None = None, *, key: str = "", by: str | None = None) -> Trial: ...
@overload
def ask(study: Study, n: int, *, key: str = "", by: str | None = None) -> list[Trial]: ...
def ask(study: Study, n: int | None = None, *, key: str = "", by: str | None = None) -> Trial | list[Trial]:
    """Return the next trial, or a list of the next `n`.

    Trials under way are taken into account: they reduce the uncertainty of their regions.

    Parameters
    ----------
    n : int, optional
        Number of trials; all or none are returned. Where travel costs, they are in the order of a short tour.
    key : str
        A name for this request. Repeating the request with the same key returns the same trials, so it may be
        repeated if it is not clear whether it arrived.
    by : str, optional
        Who measures it; by default this process, after whose end the trial may be taken over (see `optimize`).
    """
    number = 1 if n is None else whole_number(n, "the number of trials to ask for", 1)
    key, by = key and text(key, "key"), me() if by is None else text(by, "by")
    with study._writing():
        batch = _repeated(study, n, key) if key else []
        batch = batch or _decided(study, number, key, by)
        trials = [trial_of(study._state, asked) for asked in batch]
    return trials[0] if n is None else trials


def _repeated(study: Study, n: int | None, key: str) -> list[Asked]:
    """Return the trials that were asked for with this key; raise if that was another number of them."""
    batch = [asked for asked in study._state.asked if asked.key == key]
    problem = f"{len(batch)} trials were asked for with this key"
    need(len(batch) in (0, n or 1), problem, n, "Use another key.")
    return batch


def _decided(study: Study, number: int, key: str, by: str) -> list[Asked]:
    """Decide on the next trials, and return them."""
    before = state = study._state
    checks.within_budget(state, number)
    for _ in range(number):
        state = choosing.ask(state, by, key)
    if number > 1:
        state = choosing.as_tour(before, state, by)
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

    Telling the same value again does nothing. A trial that had been given up or retracted counts as measured after
    all; if the budget was spent meanwhile, as an observation.

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
        adds to both cancel. Such a trial spends budget, but is not a measurement of its region's average: it is
        not in the tree's ``count``.
    """
    with study._writing():
        state = study._state
        asked = study._asked(trial)
        value, sem = checks.measured(state, value, sem, note)
        spent = None if time is None else checks.time_spent(state, time)
        fact = Measured(asked.number, value, sem, note, spent)
        beside: tuple[Observed, ...] = ()
        if slopes is not None or minus is not None:
            fact, beside = _more(study, fact, state.region(asked.row), slopes, minus)
        under_way = asked.number in state.pending
        if not under_way and _is_told(study, asked, fact, beside):
            return
        if under_way or checks.fits(state, fact):
            after = decisions.tell(state, fact, beside)
        else:
            region = state.region(asked.row)
            seen = Observed(region, value, sem, 0.0, study.feedback, spent or asked.time, fact.minus)
            after = decisions.observe(state, [seen, *beside])
        study._commit(after)
        if log.isEnabledFor(logging.INFO):  # the region is made only if it is logged
            _say(study, f"trial {asked.number}", state.region(asked.row), value)


def _more(
    study: Study, fact: Measured, region: Region, slopes: Any, minus: Any
) -> tuple[Measured, tuple[Observed, ...]]:
    """Return a measurement as a difference, if it is one, and the slopes measured with it, after checking."""
    other = None if minus is None else study._region(minus)
    checks.seen(study._state, region, other, fact.sem)
    return fact._replace(minus=other), () if slopes is None else checks.slopes(study._state, region, slopes)


def _is_told(study: Study, asked: Asked, fact: Measured, beside: tuple[Observed, ...]) -> bool:
    """Tell whether a trial was told exactly this already; raise if it was told something else."""
    state = study._state
    earlier = outcomes(state.history)[False, asked.number][-1]
    if earlier.value is None:
        return False
    event, was = _told(study, asked.number)
    slopes = tuple(own for own in state.events[event] if isinstance(own, Observed))
    same = (earlier.value, earlier.sem, was.minus, slopes) == (fact.value, fact.sem, fact.minus, beside)
    if same and fact.time in (None, earlier.time, asked.time):
        return True
    raise TrialError(
        f"trial {asked.number} was told already ({earlier.value!r}) and cannot be told {fact.value!r}. "
        "Use correct() if that was a mistake, observe() for a further measurement of its region."
    )


def _told(study: Study, number: int) -> tuple[int, Measured]:
    """Return the number of the event in which a trial was told, and what it was told."""
    told = ((at, fact) for at, event in enumerate(study.events) for fact in event if isinstance(fact, Measured))
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
    with study._writing():
        number, observed = _measurement(study, trial)
        was = checks.counted(study._state, number, observed)
        value, sem = checks.measured(study._state, value, sem, note)
        now = value, was.sem if sem is None else sem, note or was.note
        if now != (was.value, was.sem, was.note):
            _mend(study, Corrected(number, observed, *now, _who(by)), value)


def retract(study: Study, trial: Trial | Observation | int, note: str = "", *, by: str | None = None) -> None:
    """Remove a value that should never have been told or observed; the budget gets its trial back.

    The model is learned again, and the posterior is as if the value had never been told; splits already made stay.
    The history keeps the value and, in `note`, why: see `table`. The trial may still be told. Slopes told with a
    trial are retracted with it. `trial` and `by` are as for `correct`.
    """
    with study._writing():
        number, observed = _measurement(study, trial)
        was = checks.counted(study._state, number, observed)
        fact = Retracted(number, observed, text(note, "a note"), _who(by))
        told = None if observed else _told(study, number)[0]
        beside = [
            fact._replace(number=own, observed=True)
            for (outside, own), past in outcomes(study._state.events).items()
            if outside and past[0].event == told and past[-1].value is not None
        ]
        _mend(study, fact, was.value, beside)


def _mend(study: Study, fact: Mended, value: float | None, beside: Sequence[Retracted] = ()) -> None:
    """Correct or retract a measurement, and those made with it."""
    state, number = study._state, fact.number
    region = state.observed[number][1].region if fact.observed else state.region(state.asked[number].row)
    study._commit(decisions.correct(state, [fact, *beside]))
    what = f"{'observation' if fact.observed else 'trial'} {number} {type(fact).__name__.lower()}"
    _say(study, what, region, value)


def _measurement(study: Study, trial: Trial | Observation | int) -> tuple[int, bool]:
    """Return the number of a trial or an observation, and whether it is an observation, after checking."""
    if not isinstance(trial, Observation):
        return study._asked(trial).number, False
    number, seen = trial.number, study._state.observed
    if trial.study != study.id or number >= seen.size or seen[number][1].region != trial.region:
        raise TrialError(
            f"{trial!r} is not an observation of this study, which has {seen.size}. Pass what observe() "
            "returned, or one of study.observations."
        )
    return number, True


def give_up(study: Study, trial: Trial | int, retry: bool = True) -> None:
    """Give up a trial that could not be measured, given as in `tell`; the budget gets it back.

    With ``retry=False`` the region is not asked for again; its children are, if it may be split. A region given up
    three times in a row is not asked for again either, nor is a region within it that was given up once. `allow`
    takes both back.
    """
    with study._writing():
        number = _under_way(study, trial)
        before, after = study._state, decisions.end(study._state, number, given_up=True, retry=retry)
        study._commit(after)
    row = after.asked[number].row
    if retry and len(after.barred) > len(before.barred):
        region, times = after.region(row), len(after.failures[row])
        if times > 1:
            log.warning(
                "region %s was given up %d times in a row and will not be asked for again", region.name, times
            )
        else:
            log.info("region %s lies within one that could not be measured, and failed too", region.name)


def withdraw(study: Study, trial: Trial | int) -> None:
    """Withdraw a trial that was not tried; the budget gets it back, and it does not count against its region."""
    with study._writing():
        study._commit(decisions.end(study._state, _under_way(study, trial), given_up=False, retry=True))


def allow(study: Study, region: RegionLike) -> int:
    """Take back all give-ups of a region and of the regions within it: they may be asked for again.

    The region is given as in `observe`; the whole space takes back all give-ups. Splits that were made meanwhile
    stay, and so does whatever is ``forbidden``. Returns how many give-ups were taken back, at least one.
    """
    with study._writing():
        wanted = study._region(region)
        trials = decisions.given_up(study._state, wanted)
        after = decisions.forgive(study._state, trials)
        if after is None:
            fix = "study.table() lists what was given up."
            if study._state.problem.is_forbidden(wanted):
                fix = "It is forbidden; that cannot be taken back."
            raise InvalidInput("nothing was given up within this region", wanted.name, fix)
        study._commit(after)
    return len(trials)


def forgive(study: Study, trials: Iterable[Trial]) -> None:
    """Take back the give-ups of single trials that failed for other reasons than their region."""
    with study._writing():
        after = decisions.forgive(study._state, [study._asked(trial).number for trial in trials])
        if after is not None:
            study._commit(after)


def take_up(study: Study, by: str, wanted: Callable[[Asked], bool]) -> Trial | None:
    """Return a pending trial, taken over from its worker to be measured by `by`; None if none is wanted.

    `wanted` tells whether to take a trial over; it is called again with the file's lock held, if there is a file.
    """
    name = text(by, "by")
    if not any(map(wanted, study._state.pending.values())):
        return None
    with study._writing():
        state = study._state
        found = next(filter(wanted, state.pending.values()), None)
        if found is not None:
            study._commit(state.apply((Taken(found.number, name),)))
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
    """
    with study._writing():
        by = study.feedback if feedback is None else checked_feedback(feedback, study.space)
        seen = with_feedback(study._region(region), by)
        other = None if minus is None else with_feedback(study._region(minus), by)
        value, sem = checks.measured(study._state, value, sem)
        checks.seen(study._state, seen, other, sem)
        number = study._state.observed.size
        spent = checks.time_spent(study._state, time) or 1.0
        study._commit(decisions.observe(study._state, [Observed(seen, value, sem, 0.0, by, spent, other)]))
        _say(study, "observed", seen, value)
    return Observation(number, seen, value, sem, minus=other, study=study.id)


def _say(study: Study, what: str, region: Region, value: float | None) -> None:
    """Log a measurement in one line: what it was, and the best region so far."""
    if log.isEnabledFor(logging.INFO):
        measured = f"{value:.6g} {study.value_unit}".rstrip()
        log.info("%s, %s: %s; best so far %s", what, region.name, measured, looking.best_so_far(study))


def _under_way(study: Study, trial: Trial | int) -> int:
    """Return the number of a trial under way; raise if it is not."""
    number = study._asked(trial).number
    checks.under_way(study._state, number)
    return number


def _who(by: str | None) -> str:
    return person() if by is None else text(by, "by")
