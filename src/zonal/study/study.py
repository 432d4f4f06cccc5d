"""The study: a search with numbered trials, a budget and the user's units.

This module is about the life of a study: it is started, opened from its file or replayed from its history, and
changes by one assignment after the event is on disk. Its methods are in `deeds`, `limits` and `measuring`
(changes) and in `reading` (queries).
"""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self, Unpack
from weakref import WeakSet

from zonal.engine import checks, commands
from zonal.engine.events import Extended, ModelWarned, Transaction
from zonal.engine.settings import Direction, Given, Problem, Settings, SpaceLike, checked, checked_again
from zonal.engine.state import State
from zonal.errors import (
    InvalidInput,
    ModelWarning,
    StudyFileError,
    listed,
    need,
    refuse,
    truth,
    warn_user,
)
from zonal.io.files import file_path
from zonal.io.hints import hinting
from zonal.storage.journal import Journal, applying
from zonal.storage.schema import same_settings, users_own
from zonal.study import limits, operations, optimization
from zonal.study.reading import Reading

_studies: WeakSet[Study] = WeakSet()
log = logging.getLogger("zonal")


@hinting(Given, methods=True)
class Study(Reading):
    """A search for the region with the highest average: in memory, or in a file (`create`, `open`, `save`).

    Parameters
    ----------
    space : Box, Sequences, Product, Points or Hierarchy, or bounds for a box
        The space to search.
    budget : int or float
        The number of measurements; where looks have a cost, their total cost.
    kernel : Kernel, kernel class, callable or None
        The covariance of f at two points. For a class its parameters are learned; None learns the smoothness
        too (for symbols `Categorical`). On `Points` and `Hierarchy` also any positive semi-definite function of
        features, (n, d) and (m, d) to (n, m).
    noise : float, callable or None
        Standard deviation of one measurement, or a function of the region (see `PerWeight`); None to learn it.
    mean : float, optional
        Prior mean of f; by default 0 if a kernel is given, else learned.
    feedback : Center, Average, Mean or Beam
        What part of a region a measurement averages; by default all of it (`Mean`).
    policy : Policy, optional
        Which region to measure next; by default `KnowledgeGradient`.
    rng : int or Generator, optional
        Seed or generator for policies that use random numbers; GPOO uses none.
    direction : {"maximize", "minimize"}
        Whether high or low averages are wanted.
    max_replicates : int, optional
        Most measurements of one region.
    forbidden : callable, or region or list of regions, optional
        Regions not to measure: a function of a region, or one or several regions as ``space.region`` takes them. A
        region for which the function returns True, or which overlaps one of the list, is neither measured nor
        recommended, but its children may be. The function is called once for each region, when its parent is
        split, and never again: what changes with time is for `ask` (``within=``, ``avoid=``), what turns out
        later for `forbid`.
    value_name, value_unit : str
        Name and unit of what is measured, for tables and plots.
    cost : float or callable, optional
        The cost of a look, or a function of the region; 1 by default, and 0 if `times` are given. With cost,
        `times`, `overhead` or `travel` the budget is in units of cost.
    times : sequence of float, optional
        Possible times of a look. A look costs its time; `noise` refers to one unit of time and falls as
        1 / sqrt(time). The default policy chooses region and time together, by gain per cost.
    overhead : float
        A further cost of every look.
    travel : float or callable, optional
        The cost of the way from the last region: a function of two regions, or in a box a number, the cost per
        unit of distance between centres. The last region is that of the last trial of the same ``by``, or else of
        any.
    cost_unit : str
        The unit of costs, for tables and messages.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=3, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> trial = study.ask()
    >>> trial.region.name
    'x 0..0.5'
    >>> study.tell(trial, 0.7)
    >>> float(study.recommend().region.widths[0])  # the smallest size: 1/256 of the axis
    0.00390625
    """

    def __init__(
        self, space: SpaceLike, *, budget: float, direction: Direction = "maximize", **settings: Unpack[Given]
    ) -> None:
        self._renew_lock()
        self._state = commands.begin(checked(space, budget=budget, direction=direction, **settings))

    _complaints: frozenset[str] = frozenset()  # that were passed on

    def _renew_lock(self) -> None:
        """Make a new lock; processes forked from this one will make their own."""
        super()._renew_lock()
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
        """Start a study in a file: whatever it returned or recorded is on disk.

        Any number of processes may open the file, and ask and tell. What this process knows about the others'
        trials is as of its last call that changed the study, or of `refresh`.

        Parameters
        ----------
        path : str or path
            The file to create; it must not exist yet.
        space, budget, direction, **settings
            As for `Study`. Functions and classes of your own (a noise, delta, kernel, cost or policy) are not
            stored; pass them again to `open`.
        exist_ok : bool
            Open the file if it exists, as when two workers start at once: the first creates it, the other joins.
            It must hold a study with these settings; its budget may have been extended since, and without `rng`
            its seed is the one drawn by the first.
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
        """Open the study in a file.

        Nothing is decided again. If functions of your own are missing, the study opens for reading, and for what
        needs none of them, such as corrections: see ``read_only``.

        Parameters
        ----------
        path : str or path
            The file.
        space, kernel, noise, feedback, policy, delta, forbidden, cost, travel
            Those that were your own functions, or objects of your own classes, when the study was made.
        classes : sequence of class
            Your own frozen dataclasses that the study uses: a kernel, a feedback, a policy, an axis. Their fields
            are in the file; passing the class is enough.
        """
        named = {"space": space, "kernel": kernel, "noise": noise, "feedback": feedback, "policy": policy}
        named |= {"delta": delta, "forbidden": forbidden, "cost": cost, "travel": travel}
        given = {name: value for name, value in named.items() if value is not None}
        problem, fix = "classes must be classes", "Pass [MyKernel], the class itself."
        kinds = listed(classes, problem, fix)
        refuse((kind for kind in kinds if not isinstance(kind, type)), problem, fix)
        journal, events = Journal.open(path, given, {kind.__name__: kind for kind in kinds})
        with journal.applying():
            study = cls._of(journal.opened.settings, events)
        study._journal = journal
        study._take_in(journal, [])
        return study

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store a study from memory in a file, which must not exist yet; it stays there from now on."""
        with self._lock:
            if self._journal is not None:
                raise StudyFileError(
                    f"this study is stored in {self._journal.path.name} already. Copy that file instead."
                )
            self._journal = Journal.create(path, self.settings, self.events)

    def refresh(self) -> None:
        """Read what other processes have done to the study; `ask`, `tell` and other changes do so too."""
        with self._lock:
            if self._journal is not None:
                self._take_in(self._journal, self._journal.unseen(len(self._state.events)))

    def _writing(self, partly: bool = False) -> AbstractContextManager[Any]:
        """Hold the lock, and that of the file if there is one, after reading what other processes did.

        If `partly`, a study may do it whose own functions are missing: where one is needed, it raises.
        """
        return self._lock if self._journal is None else self._writing_to(self._journal, partly)

    @contextmanager
    def _writing_to(self, journal: Journal, partly: bool) -> Iterator[None]:
        with self._lock, journal.writing(len(self._state.events), partly) as unseen:
            self._take_in(journal, unseen)
            yield

    def _take_in(self, journal: Journal, events: list[Transaction]) -> None:
        """Continue from what the file says; without the kernel there is no posterior."""
        state = self._state
        if events:
            with journal.applying():
                state = state.apply_all(events)
        self._state = state if journal.opened.has_kernel else state.blind()

    @classmethod
    def replay(cls, settings: Settings, events: Iterable[Transaction], *, at_once: bool = False) -> Self:
        """Return the study that another's ``settings`` and ``events`` make, without deciding anything again.

        The events are not checked: they are to come from a study. Events that do not fit together raise an
        `InvalidInput`.

        Parameters
        ----------
        settings, events
            Those of a study.
        at_once : bool
            Build the posterior once, at the end: much faster, and the same up to rounding.
        """
        fix = "Pass study.settings and study.events."
        need(isinstance(settings, Settings), "settings must be those of a study", settings, fix)
        lazily = isinstance(events, Iterator)
        history = events if lazily else listed(events, "events must be those of a study", fix)
        settings, at_once = checked_again(settings), truth(at_once, "at_once")
        problem = "these events do not make a study ({})"
        with applying(InvalidInput, lambda error: InvalidInput(problem.format(error), events, fix)):
            return cls._of(settings, history, at_once)

    @classmethod
    def _of(cls, settings: Settings, events: Iterable[Transaction], at_once: bool = True) -> Self:
        """Return the study that the events of another make."""
        study = cls.__new__(cls)
        study._renew_lock()
        history = iter(events)
        first = next(history, None)
        if not first:
            raise InvalidInput("a study's history begins with Created", first, "Pass all of study.events.")
        state = State.begin(Problem(settings), first)
        if at_once:
            state = state.apply_all(history, at_once=True)
        else:
            for event in history:
                state = state.apply(event)
                state.belief  # noqa: B018  # computed step by step, as it was originally
        study._state = state
        return study

    def __copy__(self) -> Self:
        """Return an independent study."""
        return copy.deepcopy(self)

    ask = operations.ask
    tell = operations.tell
    correct = operations.correct
    retract = operations.retract
    fail = operations.fail
    cancel = operations.cancel
    forbid = limits.forbid
    allow = limits.allow
    forgive = limits.forgive
    claim = operations.claim
    observe = operations.observe
    optimize = optimization.optimize
    refine = optimization.refine

    def refit(self) -> bool:
        """Learn the model again from all measurements, independently of earlier fits, if anything is learned.

        Studies learn by themselves, and always when the budget is spent, but starting from the last fit. After
        this call the model does not depend on the order of the measurements. Returns whether anything was learned.
        """
        return self._refit()

    def _refit(self, anew: bool = True) -> bool:
        with self._writing():
            after = commands.refit(self._state, anew)
            if after is not None:
                self._commit(after)
        return after is not None

    def extend(self, n: float) -> None:
        """Add `n` measurements to the budget; where looks have a cost, that amount."""
        more = checks.added(self._state, n)
        with self._writing(partly=True):
            self._commit(self._state.apply((Extended(more),)))

    def _commit(self, state: State) -> None:
        """Switch to another state, the only place where a study changes; its file, if any, comes first."""
        before = self._state
        if self._journal is not None:
            self._journal.append(state.events.since(before.events.size))
        self._switch(state)
        # Warnings come last: if they are turned into errors, what was told must stay.
        if state.worked_out is not None:
            complaints = {str(own): own for own in state.worked_out.complaints}
            heard, self._complaints = self._complaints, self._complaints | complaints.keys()
            for text_, complaint in complaints.items():
                if text_ not in heard:
                    warn_user(complaint)
        if state.known is not before.known:
            for event in state.events.since(before.events.size):
                _pass_on_doubts(event)

    def _switch(self, state: State) -> None:
        before, self._state = self._state, state
        wanted = state.worked_out is not None or not state.remaining  # else the next fit may come first
        if wanted and state.ledger is not before.ledger:
            state.belief  # noqa: B018  # computed now, so that warnings come with their cause

    def _log(self, level: int, message: str, *parts: object) -> None:
        """Log what happened."""
        log.log(level, message, *parts)

    def _draft(self) -> _Draft:
        """Return a study in memory, as this one is now, that can be changed in its place: see `deeds.together`."""
        draft = _Draft.__new__(_Draft)
        draft._unlogged = []
        draft._renew_lock()
        draft._state = self._state
        return draft


class _Draft(Study):
    """Several changes that are not committed yet: it warns and logs nothing, since they may never happen."""

    _unlogged: list[tuple[int, str, tuple[object, ...]]]  # what to log once they are: level, message and its parts

    def _commit(self, state: State) -> None:
        self._switch(state)

    def _log(self, level: int, message: str, *parts: object) -> None:
        self._unlogged.append((level, message, parts))


def _pass_on_doubts(event: Transaction) -> None:
    """Warn of what contradicts the model that was given."""
    for fact in event:
        if isinstance(fact, ModelWarned):
            warn_user(ModelWarning(fact.doubt))


def _renew_locks() -> None:
    """Renew the locks of studies in a forked process: the threads that held them do not exist there."""
    for study in list(_studies):
        study._renew_lock()


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_renew_locks)
