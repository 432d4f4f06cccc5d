"""What the user holds: a search with numbered trials, a budget and the user's units.

The study is the boundary: it checks what comes in and passes it on as it is, in the user's units and direction.
Each call works out a new state next to the one in use, and commits it by one assignment.
"""

from __future__ import annotations

import copy
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self, TypeGuard, Unpack, overload
from weakref import WeakSet

from zonal import looking, measuring
from zonal.averages.feedback import Feedback
from zonal.errors import (
    InvalidInput,
    ModelWarning,
    StudyFileError,
    TrialError,
    text,
    warn_user,
    whole_number,
)
from zonal.reading import Reading, trial_of
from zonal.rounds import checks, decisions
from zonal.rounds.codec import same_settings, users_own
from zonal.rounds.events import Allowed, Asked, Corrected, Doubted, Event, Fact, Measured, Observed, Retracted
from zonal.rounds.journal import Journal, Writer
from zonal.rounds.outcomes import last_outcome, outcomes
from zonal.rounds.settings import (
    Direction,
    Given,
    Problem,
    RegionLike,
    Settings,
    SpaceLike,
    checked,
    checked_again,
    checked_feedback,
)
from zonal.rounds.state import State
from zonal.rounds.trials import Observation, Trial
from zonal.rounds.whose import me, person
from zonal.spaces import Region, with_feedback
from zonal.tables.files import file_path
from zonal.tables.habits import answering

log = logging.getLogger("zonal")
_studies: WeakSet[Study] = WeakSet()


class Study(Reading):
    """A search for the region of the highest average: in memory, or in a file by `create`, `open` and `save`.

    Parameters
    ----------
    space : Box, Sequences, Product, Points or Hierarchy, or bounds for a box
        Where to look.
    budget : int or float
        How many measurements may be made; where looks have a cost, what they may cost in all.
    kernel : Kernel, kernel class, callable or None
        The covariance of f at two points. A class has its parameters learned; None learns the smoothness
        too (for symbols `Categorical`). On `Points` and `Hierarchy` also any positive semi-definite function of
        features, (n, d) and (m, d) to (n, m).
    noise : float, callable or None
        Standard deviation of one measurement, or a function of the region (see `PerWeight`); None to learn it.
    mean : float, optional
        Prior mean of f; by default 0 if a kernel is given, else learned.
    feedback : Center, Average, Mean or Beam
        What a measurement sees of a region; by default its exact mean.
    policy : Policy, optional
        Which region to measure next; by default `KnowledgeGradient`.
    rng : int or Generator, optional
        For policies that draw random numbers; GPOO draws none.
    direction : {"maximize", "minimize"}
        Whether high or low averages are wanted.
    max_looks : int, optional
        The most measurements of one region.
    forbidden : callable, or region or list of regions, optional
        Where not to look: a function of a region, or what ``space.region`` takes, one or several. A region for
        which the function returns True, or which overlaps one of the list, is neither measured nor recommended,
        and its children are tried.
    value_name, value_unit : str
        What is measured, for tables and pictures.
    cost : float or callable, optional
        What a look costs, or a function of the region; 1 by default, and 0 where `times` are given. With it,
        `times`, `overhead` or `travel` the budget is in units of cost.
    times : sequence of float, optional
        How long a look may take. It costs its time; the noise is that of one unit of time over sqrt(time). The
        default chooses region and time together, by gain for cost.
    overhead : float
        What every look costs besides.
    travel : float or callable, optional
        What the way from the last region costs: a function of two regions, or in a box a number, the cost of one
        unit of distance between centres. The last region is that of the last trial of the same ``by``, else of the
        study.
    cost_unit : str
        Of costs, for tables and messages.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=3, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> trial = study.ask()
    >>> trial.region.name
    'x 0..0.5'
    >>> study.tell(trial, 0.7)
    >>> float(study.recommend().region.widths[0])  # the smallest size: 256 of them to an axis
    0.00390625
    """

    @answering(Given)
    def __init__(
        self, space: SpaceLike, *, budget: float, direction: Direction = "maximize", **settings: Unpack[Given]
    ) -> None:
        self._renew_lock()
        self._state = decisions.begin(checked(space, budget=budget, direction=direction, **settings))

    _writer: Writer | None = None  # while the file's lock is held

    def _renew_lock(self) -> None:
        """Take a lock that nobody holds; processes forked from this one will take another."""
        self._lock = threading.RLock()
        _studies.add(self)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        space: SpaceLike,
        *,
        budget: float,
        direction: Direction = "maximize",
        exist_ok: bool = False,
        **settings: Unpack[Given],
    ) -> Self:
        """Begin a study that lives in a file: whatever it returned or took in is on the disk.

        Any number of processes may ask and tell the same study, each having opened the file. What this one knows
        of the others' trials is as of its last own call that changes the study, or of `refresh`.

        Parameters
        ----------
        path : str or path
            Where to; there must be no such file yet.
        space, budget, direction, **settings
            As of `Study`. Functions and classes of your own (a noise, a delta, a kernel, a cost, a policy) are
            not stored; `open` takes them again.
        exist_ok : bool
            Open the file if it is there, as when two workers begin at once: the first makes it, the other joins.
            It must be a study with these settings; its budget may have been extended since, and without `rng` its
            seed is whatever the first one drew.
        """
        study = cls(space, budget=budget, direction=direction, **settings)
        try:
            study.save(path)
        except StudyFileError:
            if not exist_ok or not file_path(path).exists():
                raise
            there, seeded = cls.open(path, **users_own(study.settings)), settings.get("rng") is not None
            same_settings(there.settings, study.settings, file_path(path).name, seeded)
            return there
        return study

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        space: Any = None,
        kernel: Any = None,
        noise: Any = None,
        feedback: Any = None,
        policy: Any = None,
        delta: Any = None,
        forbidden: Any = None,
        cost: Any = None,
        travel: Any = None,
        classes: Sequence[type] = (),
    ) -> Self:
        """Return the study that lives in a file.

        Nothing is decided again. Without what it needs the study opens all the same, to be looked at: see
        ``read_only``.

        Parameters
        ----------
        path : str or path
            The file.
        space, kernel, noise, feedback, policy, delta, forbidden, cost, travel
            Those that were functions of your own when the study was made, or of classes of your own.
        classes : sequence of class
            Your own frozen dataclasses, of which anything in the study is made: a kernel, a feedback, a policy, an
            axis. What they hold is in the file; giving the class is enough.
        """
        named = {"space": space, "kernel": kernel, "noise": noise, "feedback": feedback, "policy": policy}
        named |= {"delta": delta, "forbidden": forbidden, "cost": cost, "travel": travel}
        given = {name: value for name, value in named.items() if value is not None}
        journal, events = Journal.open(path, given, {kind.__name__: kind for kind in classes})
        study = cls._of(journal.opened.settings, events)
        study._journal = journal
        study._take_in([])
        return study

    def save(self, path: str | os.PathLike[str]) -> None:
        """Give a study in memory a file to live in from now on.

        Parameters
        ----------
        path : str or path
            Where to; there must be no such file yet.
        """
        with self._lock:
            if self._journal is not None:
                raise StudyFileError(
                    f"this study lives in {self._journal.path.name} already. Copy that file instead."
                )
            self._journal = Journal.create(path, self.settings, self.events)

    def refresh(self) -> None:
        """Take in what other processes have done to the study; `ask`, `tell` and the like do so by themselves."""
        with self._lock:
            if self._journal is not None:
                self._take_in(self._journal.unseen(len(self._state.events)))

    def _writing(self) -> AbstractContextManager[Any]:
        """Hold the lock, and of a study in a file that file's lock too, up to date with what others did."""
        return self._lock if self._journal is None else self._writing_to(self._journal)

    @contextmanager
    def _writing_to(self, journal: Journal) -> Iterator[None]:
        with self._lock, journal.writing(len(self._state.events)) as writer:
            self._take_in(writer.unseen)
            self._writer = writer
            try:
                yield
            finally:
                self._writer = None

    def _take_in(self, events: list[Event]) -> None:
        """Go on from what the file says; without the kernel nothing is known but what happened."""
        state = self._state.apply_all(events) if events else self._state
        if self._journal is not None and not self._journal.opened.knows:
            state = state.blind()
        self._state = state

    @classmethod
    def replay(
        cls, settings: Settings, events: Iterable[Event], *, at_once: bool = False, edited: str = ""
    ) -> Self:
        """Return the study that these settings and events make, without deciding anything again.

        What cannot have happened is refused, as `tell` refuses it.

        Parameters
        ----------
        settings : Settings
            Of a study, as its ``settings`` gives them.
        events : iterable of Event
            Its history, as its ``events`` gives it.
        at_once : bool
            Build the posterior once, at the end: much faster, and the same to within rounding. Whether exact
            measurements contradict each other is not asked.
        edited : str
            How the history was changed by hand, if it was. It becomes part of it, and models are learned anew from
            what it says.
        """
        study = cls._of(checked_again(settings), events, at_once, foreign=True)
        if edited:
            study._state = decisions.edit(study._state, edited)
        return study

    @classmethod
    def _of(cls, settings: Settings, events: Iterable[Event], at_once: bool = True, foreign: bool = False) -> Self:
        """Return a study of what Zonal wrote, or, if it is `foreign`, of what may have been changed since."""
        study = cls.__new__(cls)
        study._renew_lock()
        history = iter(events)
        first = next(history, None)
        if not first:
            raise InvalidInput("a study's history begins with Began", first, "Pass all of study.events.")
        state = State.begin(Problem(settings), first, foreign)
        if at_once:
            state = state.apply_all(history, at_once=True, foreign=foreign)
        else:
            for event in history:
                state = state.apply(event, foreign)
                state.belief  # noqa: B018  # worked out step by step, as it was
        study._state = state
        return study

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle takes along: not the lock, nor the file, as it goes its own way."""
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_journal", "_writer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take in what a copy or a pickle brought."""
        self.__dict__.update(state)
        self._renew_lock()

    def __copy__(self) -> Self:
        """Return a study of its own: two that share memory would get in each other's way."""
        return copy.deepcopy(self)

    @overload
    def ask(self, n: None = None, *, key: str = "", by: str | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, key: str = "", by: str | None = None) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, key: str = "", by: str | None = None) -> Trial | list[Trial]:
        """Return the next trial, or a list of the next `n`.

        Trials under way are taken into account: they narrow the uncertainty where they look.

        Parameters
        ----------
        n : int, optional
            How many; all or none are given. Where ways cost something, in the order of a short tour.
        key : str
            What you call this request. Asked for again with the same key, the same trials come back: who does not
            know whether a request arrived may repeat it.
        by : str, optional
            Who measures it; this process by default, once it has ended the trial is anybody's (see `optimize`).
        """
        number = 1 if n is None else whole_number(n, "the number of trials to ask for", 1)
        key, by = key and text(key, "key"), me() if by is None else text(by, "by")
        with self._writing():
            state = self._state
            batch = [asked for asked in state.asked if asked.key == key] if key else []
            if batch and len(batch) != number:
                raise InvalidInput(f"{len(batch)} trials were asked for with this key", n, "Use another key.")
            if not batch:
                checks.within_budget(state, number)
                first = state.asked.size
                for _ in range(number):
                    state = decisions.ask(state, by, key)
                    batch += [state.pending[state.asked.size - 1]]
                if number > 1 and self.settings.travel is not None:
                    state = decisions.as_tour(self._state, state, by)
                    batch = [state.asked[at] for at in range(first, state.asked.size)]
                self._commit(state)
            trials = [trial_of(state, asked) for asked in batch]
        return trials[0] if n is None else trials

    def tell(
        self,
        trial: Trial | int,
        value: float,
        sem: float | None = None,
        note: str = "",
        *,
        time: float | None = None,
        slopes: Mapping[str, tuple[float, float]] | None = None,
        minus: RegionLike | None = None,
    ) -> None:
        """Take in the measurement of a trial.

        The same value told again does nothing. A trial that had been given up, or retracted, counts as measured
        after all; with the budget spent meanwhile, as an observation.

        Parameters
        ----------
        trial : Trial or int
            The trial, or its number.
        value : float
            The measured average.
        sem : float, optional
            Standard error of this one measurement; the study's noise by default.
        note : str
            Kept with the trial.
        time : float, optional
            The time really spent, where times are chosen; by default that asked for.
        slopes : mapping of axis to (slope, sem), optional
            Mean slopes of f over the region, measured with its average, and their standard errors: see `Slope`.
            They become observations.
        minus : Region, or what ``space.region`` takes, optional
            The value is the difference of two averages: the trial's region less this one. What the instrument adds
            to both cancels in it. Such a trial spends budget, but is no measurement of its region's average: it is
            not in the tree's ``count``.
        """
        with self._writing():
            state = self._state
            asked = self._asked(trial)
            value, sem = checks.measured(state, value, sem, note)
            spent = None if time is None else checks.time_spent(state, time)
            fact = Measured(asked.number, value, sem, note, spent)
            beside: tuple[Observed, ...] = ()
            if slopes is not None or minus is not None:
                fact, beside = self._more(fact, state.region(asked.row), slopes, minus)
            if asked.number in state.pending:
                after = decisions.tell(state, fact, beside)
            elif (earlier := last_outcome(state.history, asked.number)).value is not None:
                same = (earlier.value, earlier.sem) == (value, sem) and spent in (None, earlier.time, asked.time)
                if same and self._told_with(fact) == beside:
                    return
                raise TrialError(
                    f"trial {asked.number} was told already ({earlier.value!r}) and cannot be told {value!r}. "
                    "Use correct() if that was a mistake, observe() for a further measurement of its region."
                )
            elif checks.fits(state, fact):
                after = decisions.tell(state, fact, beside)
            else:
                region = state.region(asked.row)
                seen = Observed(region, value, sem, 0.0, self.feedback, spent or asked.time, fact.minus)
                after = decisions.observe(state, [seen, *beside])
            self._commit(after)
            if log.isEnabledFor(logging.INFO):  # a region is made only if somebody listens
                self._say(f"trial {asked.number}", state.region(asked.row), value)

    def _more(
        self, fact: Measured, region: Region, slopes: Any, minus: Any
    ) -> tuple[Measured, tuple[Observed, ...]]:
        """Return a measurement as a difference, if it is one, and the slopes that came with it; or complain."""
        other = None if minus is None else self._region(minus)
        checks.seen(self._state, region, other, fact.sem)
        return fact._replace(minus=other), () if slopes is None else checks.slopes(self._state, region, slopes)

    def _told_with(self, fact: Measured) -> tuple[Observed, ...] | None:
        """Return the slopes that were told with a trial; None if it was told less another region than this."""
        event = next(own for own in reversed(self._state.history) if any(_tells(was, fact.number) for was in own))
        same = any(_tells(was, fact.number) and was.minus == fact.minus for was in event)
        return tuple(was for was in event if isinstance(was, Observed)) if same else None

    def correct(
        self,
        trial: Trial | Observation | int,
        value: float,
        sem: float | None = None,
        note: str = "",
        *,
        by: str | None = None,
    ) -> None:
        """Put another value in the place of one that was told, or observed, by mistake.

        The model is learned anew, and all that is believed is as if the right value had been told; splits made
        stay made. The history keeps what was told before: see `table`. The same value again does nothing.

        Parameters
        ----------
        trial : Trial, Observation or int
            A trial that was told, or its number, or what `observe` returned.
        value : float
            The measured average.
        sem : float, optional
            Standard error of this one measurement; by default as it was told.
        note : str
            Kept with the trial, such as why; by default as it was told.
        by : str, optional
            Who corrects it; by default the user of this process.
        """
        with self._writing():
            number, observed = self._measurement(trial)
            was = checks.counted(self._state, number, observed)
            value, sem = checks.measured(self._state, value, sem, note)
            now = value, was.sem if sem is None else sem, note or was.note
            if now != (was.value, was.sem, was.note):
                self._mend(Corrected(number, observed, *now, _who(by)), value)

    def retract(self, trial: Trial | Observation | int, note: str = "", *, by: str | None = None) -> None:
        """Take back a value that should never have been told, or observed; the budget gets its trial back.

        The model is learned anew, and all that is believed is as if it never had been told. Splits that were made
        stay made. The history keeps the value: see `table`. A trial may still be told. Slopes that were told with
        a trial are retracted with it.

        Parameters
        ----------
        trial : Trial, Observation or int
            A trial that was told, or its number, or what `observe` returned.
        note : str
            Why.
        by : str, optional
            Who retracts it; by default the user of this process.
        """
        with self._writing():
            number, observed = self._measurement(trial)
            was = checks.counted(self._state, number, observed)
            fact = Retracted(number, observed, text(note, "a note"), _who(by))
            beside = () if observed else self._beside(number)
            self._mend(fact, was.value, [fact._replace(number=own, observed=True) for own in beside])

    def _beside(self, number: int) -> list[int]:
        """Return the numbers of the slopes that were last told with a trial and still count."""
        found: list[int] = []
        observations = 0
        for event in self._state.events:
            seen = sum(isinstance(fact, Observed) for fact in event)
            if any(_tells(fact, number) for fact in event):
                found = list(range(observations, observations + seen))
            observations += seen
        became = outcomes(self._state.events) if found else {}
        return [own for own in found if became[True, own][-1].value is not None]

    def _mend(self, fact: Corrected | Retracted, value: float | None, beside: Sequence[Retracted] = ()) -> None:
        """Take in that a measurement was another, or none, and so were those made with it."""
        state, number = self._state, fact.number
        region = state.observed[number][1].region if fact.observed else state.region(state.asked[number].row)
        self._commit(decisions.correct(state, [fact, *beside]))
        what = f"{'observation' if fact.observed else 'trial'} {number} {type(fact).__name__.lower()}"
        self._say(what, region, value)

    def _measurement(self, trial: Trial | Observation | int) -> tuple[int, bool]:
        """Return the number of a trial or of an observation, and whether it is one; or complain of another's."""
        if not isinstance(trial, Observation):
            return self._asked(trial).number, False
        number, seen = trial.number, self._state.observed
        if trial.study != self.id or number >= seen.size or seen[number][1].region != trial.region:
            raise TrialError(
                f"{trial!r} is not an observation of this study, which has {seen.size}. Pass what observe() "
                "returned, or one of study.observations."
            )
        return number, True

    def give_up(self, trial: Trial | int, retry: bool = True) -> None:
        """Take back a trial that could not be measured; the budget gets it back.

        Parameters
        ----------
        trial : Trial or int
            The trial, or its number.
        retry : bool
            Whether the region may be asked for again. With False it never is; its children are, if it may be
            split. A region given up three times in a row counts as impossible to measure all the same, and so
            does one within such a region, given up once. `allow` takes either back.
        """
        with self._writing():
            number = self._under_way(trial)
            before, after = self._state, decisions.end(self._state, number, given_up=True, retry=retry)
            self._commit(after)
        row = after.asked[number].row
        if retry and len(after.barred) > len(before.barred):
            region, times = after.region(row), len(after.failures[row])
            if times > 1:
                log.warning(
                    "region %s was given up %d times in a row and will not be asked for again", region.name, times
                )
            else:
                log.info("region %s lies within one that cannot be measured, and failed too", region.name)

    def withdraw(self, trial: Trial | int) -> None:
        """Take back a trial that was not tried; the budget gets it back and nothing is held against its region.

        Parameters
        ----------
        trial : Trial or int
            The trial, or its number.
        """
        with self._writing():
            self._commit(decisions.end(self._state, self._under_way(trial), given_up=False, retry=True))

    def allow(self, region: RegionLike) -> int:
        """Take back all give-ups of a region and of the regions within it: they may be asked for again.

        Splits that were made meanwhile stay, and so does whatever is ``forbidden``.

        Parameters
        ----------
        region : Region, or what ``space.region`` takes
            Of this study or around it; the whole space takes back all give-ups.

        Returns
        -------
        int
            How many give-ups were taken back, one at least.
        """
        with self._writing():
            wanted = self._region(region)
            after = decisions.allow(self._state, wanted)
            if after is None:
                fix = "study.table() says what was given up."
                if self._state.problem.is_forbidden(wanted):
                    fix = "It is forbidden, and stays so."
                raise InvalidInput("nothing that was given up lies within this region", wanted.name, fix)
            self._commit(after)
        (allowed,) = after.events[after.events.size - 1]
        assert isinstance(allowed, Allowed)
        return len(allowed.numbers)

    def forgive(self, trials: Iterable[Trial]) -> None:
        """Take back the give-ups of single trials, where it was no fault of their regions; others count on.

        Parameters
        ----------
        trials : iterable of Trial
            Trials that were given up; others are left as they are.
        """
        with self._writing():
            after = decisions.forgive(self._state, [self._asked(trial).number for trial in trials])
            if after is not None:
                self._commit(after)

    def take_up(self, by: str, wanted: Callable[[Asked], bool]) -> Trial | None:
        """Return a pending trial, taken from whoever was at it; None if none is wanted.

        Parameters
        ----------
        by : str
            Who is at it from now on.
        wanted : callable
            Tells whether a trial is to be taken; called again with the file's lock held, if the study has one.
        """
        name = text(by, "by")
        if not any(map(wanted, self._state.pending.values())):
            return None
        with self._writing():
            state = self._state
            found = next(filter(wanted, state.pending.values()), None)
            if found is not None:
                self._commit(decisions.take_up(state, found.number, name))
        return None if found is None else trial_of(state, found)

    def observe(
        self,
        region: RegionLike,
        value: float,
        sem: float | None = None,
        feedback: Feedback | None = None,
        *,
        time: float | None = None,
        minus: RegionLike | None = None,
    ) -> Observation:
        """Take in an earlier or outside measurement of any region; it costs no budget.

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
            What this measurement saw of its region; by default what the study's own see. Of a slope, or whatever
            is no average, the standard error is needed.
        time : float, optional
            How long it looked, where times are chosen; one unit of time by default.
        minus : Region, or what ``space.region`` takes, optional
            The value is a difference: of the region, less the same of this one. Its standard error is needed.

        Returns
        -------
        Observation
            Its number among the observations, and what `correct` and `retract` take.
        """
        with self._writing():
            by = self.feedback if feedback is None else checked_feedback(feedback, self.space)
            seen = with_feedback(self._region(region), by)
            other = None if minus is None else with_feedback(self._region(minus), by)
            value, sem = checks.measured(self._state, value, sem)
            checks.seen(self._state, seen, other, sem)
            number = self._state.observed.size
            spent = checks.time_spent(self._state, time) or 1.0
            self._commit(decisions.observe(self._state, [Observed(seen, value, sem, 0.0, by, spent, other)]))
            self._say("observed", seen, value)
        return Observation(number, seen, value, sem, minus=other, study=self.id)

    def _say(self, what: str, region: Region, value: float | None) -> None:
        """Tell who listens of a measurement, in a line: what it was, and where the search stands."""
        if log.isEnabledFor(logging.INFO):
            measured = f"{value:.6g} {self.value_unit}".rstrip()
            log.info("%s, %s: %s; best so far %s", what, region.name, measured, looking.best_so_far(self))

    def _under_way(self, trial: Trial | int) -> int:
        """Return the number of a trial under way, or complain."""
        number = self._asked(trial).number
        checks.under_way(self._state, number)
        return number

    def refit(self) -> bool:
        """Learn the model anew from all measurements, whatever was learned before, if anything is learned.

        Studies learn by themselves, often, and always when the budget is spent, but from where the last fit ended;
        after this, what is known does not depend on the order in which measurements came. Returns whether anything
        was learned.
        """
        return self._refit()

    def _refit(self, anew: bool = True) -> bool:
        with self._writing():
            after = decisions.refit(self._state, anew)
            if after is not None:
                self._commit(after)
        return after is not None

    def extend(self, n: float) -> None:
        """Add `n` measurements to the budget; where looks have a cost, so much of it."""
        more = checks.added(self._state, n)
        with self._writing():
            self._commit(decisions.extend(self._state, more))

    optimize = measuring.optimize
    refine = measuring.refine

    def _commit(self, state: State) -> None:
        """Go by another state from now on: the one place where a study changes; its file first, if it has one."""
        before = self._state
        if self._journal is not None:
            assert self._writer is not None, "a study in a file changes within _writing only"
            self._writer.append(state.events[at] for at in range(before.events.size, state.events.size))
        self._state = state
        # Warnings come after it: turned into errors, they must not undo what was told.
        if state.ledger is not before.ledger:
            state.belief  # noqa: B018  # worked out now, so that a warning comes with what it is about
        if state.worked_out is not before.worked_out:
            for complaint in state.complaints:
                if complaint not in before.complaints:
                    warn_user(complaint)
        if state.known is not before.known and state.known is not None and state.known.warned:
            for fact in state.events[state.events.size - 1]:
                if isinstance(fact, Doubted):
                    warn_user(ModelWarning(fact.doubt))


def _tells(fact: Fact, number: int) -> TypeGuard[Measured]:
    """Tell whether a fact is the measurement of a trial."""
    return isinstance(fact, Measured) and fact.number == number


def _who(by: str | None) -> str:
    return person() if by is None else text(by, "by")


def _renew_locks() -> None:
    """Free the studies of a forked process: whatever thread held their locks was left behind."""
    for study in list(_studies):
        study._renew_lock()


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_renew_locks)
