"""What the user holds: a search with numbered trials, a budget and the user's units.

Here is how a study lives: it begins, or is opened from its file or replayed from its history, and changes by one
assignment, once the event is on disk. What is done to it is in `deeds` and `measuring`, what is read in `reading`.
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self, Unpack
from weakref import WeakSet

from zonal import deeds, measuring
from zonal.errors import InvalidInput, ModelWarning, StudyFileError, warn_user
from zonal.reading import Reading
from zonal.rounds import checks, decisions
from zonal.rounds.codec import same_settings, users_own
from zonal.rounds.events import Doubted, Event
from zonal.rounds.journal import Journal, Writer
from zonal.rounds.settings import Direction, Given, Problem, Settings, SpaceLike, checked, checked_again
from zonal.rounds.state import State
from zonal.tables.files import file_path
from zonal.tables.habits import answering

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

    ask = deeds.ask
    tell = deeds.tell
    correct = deeds.correct
    retract = deeds.retract
    give_up = deeds.give_up
    withdraw = deeds.withdraw
    allow = deeds.allow
    forgive = deeds.forgive
    take_up = deeds.take_up
    observe = deeds.observe
    optimize = measuring.optimize
    refine = measuring.refine

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


def _renew_locks() -> None:
    """Free the studies of a forked process: whatever thread held their locks was left behind."""
    for study in list(_studies):
        study._renew_lock()


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_renew_locks)
