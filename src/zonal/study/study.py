"""The study: a search with numbered trials, a budget and the user's units.

A study is started, opened from its file or replayed from its history, and changes by one assignment after the
transaction is on disk. What its methods do is in plain functions of a study: `operations` (changes),
`optimize` and `point_search` (measuring with a function), `queries`, `listings` and `summary` (answers).
"""

from __future__ import annotations

import copy
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack, overload
from weakref import WeakSet

from numpy.typing import ArrayLike

from zonal._blas import one_thread
from zonal._types import Floats
from zonal.engine import commands
from zonal.engine.confidence import Outlook
from zonal.engine.events import (
    Claimed,
    Closed,
    Corrected,
    Extended,
    Fitted,
    Forbidden,
    ModelWarned,
    Observed,
    Reinstated,
    Retracted,
    SetAside,
    Told,
    Transaction,
    Unblocked,
)
from zonal.engine.labels import LabelsLike
from zonal.engine.readings import RawReading
from zonal.engine.results import ConfidenceBands, Observation, Recommendation, Result, Trial, TrialRecord
from zonal.engine.settings import (
    Direction,
    Given,
    Problem,
    RegionsLike,
    Settings,
    SpaceLike,
    checked,
    checked_again,
)
from zonal.engine.state import State
from zonal.errors import (
    InvalidInput,
    ModelWarning,
    StudyFileError,
    from_margin,
    listed,
    reject,
    require,
    truth,
    warn_user,
)
from zonal.gp.hyperparameters import WeightedModel
from zonal.gp.model import Model
from zonal.io.dataframes import DataFrame
from zonal.io.files import file_path
from zonal.io.hints import Named, hinting, missing
from zonal.io.result_table import Listing
from zonal.io.tables import read_table
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback
from zonal.policies.base import Policy
from zonal.policies.deltas import Delta
from zonal.spaces import Region, Space
from zonal.spaces.base import RegionLike
from zonal.storage.journal import Journal, applying
from zonal.storage.schema import same_settings, users_own
from zonal.study import (
    listings,
    observations,
    offsets,
    operations,
    optimize,
    point_search,
    queries,
    recommend,
    samples,
    signatures,
    sizes,
    summary,
    suspects,
)
from zonal.study.executors import Anywhere, Measure
from zonal.study.history import observation_outcomes, trial_of, trial_outcomes
from zonal.study.listings import RegionProbabilities
from zonal.study.observations import NO_VALUE, Many, Measurement
from zonal.study.optimize import LabelsOfTrial
from zonal.study.point_search import MeasurePoint, PointResult
from zonal.study.predictions import Prediction
from zonal.study.recommend import Size
from zonal.study.run_loop import Callback, OnError
from zonal.study.summary import TOP
from zonal.study.why import WhyAnswer, WhyTrial, Worth, why_answer, why_trial, worth
from zonal.tree import TreeTable

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes

    from zonal.plotting import Kind

NOT_COPIED = "_lock", "_journal", "_keeps_answers"  # with a study
_studies: WeakSet[Study] = WeakSet()
log = logging.getLogger("zonal")


@hinting(Given, methods=True)
class Study(metaclass=Named):
    """A search for the region with the highest average: in memory, or in a file (`create`, `open`, `save`).

    Parameters
    ----------
    space : Box, Sequences, Product, Points or Hierarchy, or bounds for a box
        The space to search.
    budget : int or float
        The number of measurements; where measurements have a cost, their total cost.
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
    target : Center, Average, Mean or Beam, optional
        What part of a region is judged: means, gaps and recommendations are of it. By default the whole region
        (`Mean`) if it is measured with a `Beam`, else what the feedback averages.
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
        The cost of a measurement, or a function of the region; 1 by default, and 0 if `times` are given. With
        cost, `times`, `overhead` or `travel` the budget is in units of cost.
    times : sequence of float, optional
        Possible times of a measurement, which costs its time; `noise` refers to one unit of time and falls as
        1 / sqrt(time). The default policy chooses region and time together, by gain per cost.
    overhead : float
        A further cost of every measurement.
    travel : float or callable, optional
        The cost of the way from the last region: a function of two regions, or in a box a number, the cost per
        unit of distance between centres. The last region is that of the last trial of the same ``by``, or else of
        any.
    offsets : sequence of str, optional
        The labels of readings that have an offset of their own, such as ``["plate", "day"]``: see `tell`. Each
        offset is an unknown number of mean zero; their size is learned, and may be zero. What is predicted is at
        offset zero. "source" is for observations from elsewhere: see `observe_study`.
    drift : bool
        Whether readings may drift slowly, in the order in which they come in.
    cost_unit : str
        The unit of costs, for tables and messages.
    gross_errors : bool, optional
        Whether a reading far from what the models and the other readings expect is measured again before it is
        believed; see `suspects`. By default for the default policy, unless noise is 0. False for instruments that
        never err.
    likelihood : Counts or Proportion, optional
        What is read, if not numbers with Gaussian noise: f is a rate or a share then, and `noise` is left out.

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

    _state: State
    _lock: threading.RLock
    _journal: Journal | None = None
    _keeps_answers: bool = False  # whether what is recommended after each trial is stored: files have it
    _complaints: frozenset[str] = frozenset()  # that were passed on

    def __init__(
        self, space: SpaceLike, *, budget: float, direction: Direction = "maximize", **settings: Unpack[Given]
    ) -> None:
        self._renew_lock()
        with one_thread():
            self._state = commands.begin(checked(space, budget=budget, direction=direction, **settings))

    def _renew_lock(self) -> None:
        """Make a new lock; processes forked from this one will make their own."""
        self._lock = threading.RLock()
        _studies.add(self)

    def __getstate__(self) -> dict[str, State | frozenset[str]]:
        """Return what a copy or a pickle takes along: neither the lock nor the file."""
        return {name: value for name, value in vars(self).items() if name not in NOT_COPIED}

    def __setstate__(self, state: dict[str, State | frozenset[str]]) -> None:
        """Restore a copy or a pickle."""
        self.__dict__.update(state)
        self._renew_lock()

    def __copy__(self) -> Self:
        """Return an independent study."""
        return copy.deepcopy(self)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        space: SpaceLike,
        *,
        budget: float,
        direction: Direction = "maximize",
        exist_ok: bool = False,
        by: str | None = None,
        key: str = "",
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
        by : str, optional
            Who starts it, kept in the history.
        key : str
            The caller's name for this request, kept in the history.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study.create("pools.db", [(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.path.name
        'pools.db'
        """
        study = cls(space, budget=budget, direction=direction, **settings)
        signatures.sign_start(study, by, key)
        try:
            study.save(path)
        except StudyFileError:
            if not exist_ok or not file_path(path).exists():
                raise
            passed_again: Any = users_own(study.settings)
            existing = cls.open(path, **passed_again)
            seeded = settings.get("rng") is not None
            same_settings(existing.settings, study.settings, file_path(path).name, seeded)
            return existing
        return study

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        space: Space | None = None,
        kernel: Kernel | Callable[..., Kernel | ArrayLike] | None = None,
        noise: Callable[[Region], float] | None = None,
        feedback: Feedback | Callable[..., Feedback] | None = None,
        target: Feedback | Callable[..., Feedback] | None = None,
        policy: Policy | Callable[..., Policy] | None = None,
        delta: Delta | Callable[..., Delta] | None = None,
        forbidden: Callable[[Region], bool] | None = None,
        cost: Callable[[Region], float] | None = None,
        travel: Callable[[Region, Region], float] | None = None,
        classes: Sequence[type] = (),
    ) -> Self:
        """Open the study in a file.

        Nothing is decided again. If functions of your own are missing, the study opens for reading, and for what
        needs none of them, such as corrections: see ``read_only``.

        Parameters
        ----------
        path : str or path
            The file.
        space, kernel, noise, feedback, target, policy, delta, forbidden, cost, travel
            Those that were your own functions, or objects of your own classes, when the study was made.
        classes : sequence of class
            Your own frozen dataclasses that the study uses: a kernel, a feedback, a policy, an axis. Their fields
            are in the file; passing the class is enough.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study.create("sky.db", [(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 0.7)
        >>> zn.Study.open("sky.db").measured
        1
        """
        named: dict[str, Any] = {"space": space, "kernel": kernel, "noise": noise, "feedback": feedback}
        named |= {"target": target, "policy": policy, "delta": delta, "forbidden": forbidden}
        named |= {"cost": cost, "travel": travel}
        given = {name: value for name, value in named.items() if value is not None}
        problem, fix = "classes must be classes", "Pass [MyKernel], the class itself."
        kinds = listed(classes, problem, fix)
        reject((kind for kind in kinds if not isinstance(kind, type)), problem, fix)
        journal, events = Journal.open(path, given, {kind.__name__: kind for kind in kinds})
        with journal.applying():
            study = cls._of(journal.opened.settings, events)
        study._journal, study._keeps_answers = journal, True
        study._take_in(journal, [])
        return study

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store a study from memory in a file, and from now on whatever changes it.

        Parameters
        ----------
        path : str or path
            The file to create; it must not exist yet.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.save("later.db")
        >>> zn.Study.open("later.db").budget
        9
        """
        with self._lock:
            if self._journal is not None:
                raise StudyFileError(
                    f"this study is stored in {self._journal.path.name} already. Copy that file instead."
                )
            state = commands.with_answers(self._state)
            self._journal = Journal.create(path, self.settings, state.events)
            self._state, self._keeps_answers = state, True

    def refresh(self) -> None:
        """Read what other processes have done to the study; `ask`, `tell` and other changes do so too.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study.create("shared.db", [(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> zn.Study.open("shared.db").ask().number  # as another process would
        0
        >>> study.refresh()
        >>> len(study.pending)
        1
        """
        with self._lock:
            if self._journal is not None:
                self._take_in(self._journal, self._journal.unseen(len(self._state.events)))

    @contextmanager
    def _writing(self, partly: bool = False) -> Iterator[None]:
        """Hold the lock, and that of the file if there is one, after reading what other processes did.

        If `partly`, a study may do it whose own functions are missing: where one is needed, it raises.
        """
        with self._lock, one_thread():  # for the whole call, since each change of the number wakes the threads
            if self._journal is None:
                yield
            else:
                with self._journal.writing(len(self._state.events), partly) as unseen:
                    self._take_in(self._journal, unseen)
                    yield

    def _take_in(self, journal: Journal, events: list[Transaction]) -> None:
        """Continue from what the file says; without the kernel there is no posterior."""
        state = self._state
        if events:
            with journal.applying():
                state = state.apply_transactions(events)
        self._state = state if journal.opened.has_kernel else state.without_posterior()

    @classmethod
    def replay(cls, settings: Settings, events: Iterable[Transaction], *, batch: bool = False) -> Self:
        """Return the study that another's ``settings`` and ``events`` make, without deciding anything again.

        The events are not checked: they are to come from a study. Events that do not fit together raise an
        `InvalidInput`.

        Parameters
        ----------
        settings, events
            Those of a study.
        batch : bool
            Build the posterior once, at the end: much faster, and the same up to rounding.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 0.7)
        >>> zn.Study.replay(study.settings, study.events).recommend() == study.recommend()
        True
        """
        fix = "Pass study.settings and study.events."
        require(isinstance(settings, Settings), "settings must be those of a study", settings, fix)
        lazily = isinstance(events, Iterator)
        history = events if lazily else listed(events, "events must be those of a study", fix)
        settings, batch = checked_again(settings), truth(batch, "batch")
        problem = "these events do not make a study ({})"
        with applying(InvalidInput, lambda error: InvalidInput(problem.format(error), events, fix)):
            return cls._of(settings, history, batch)

    @classmethod
    def _of(cls, settings: Settings, events: Iterable[Transaction], batch: bool = True) -> Self:
        """Return the study that the events of another make."""
        study = cls.__new__(cls)
        study._renew_lock()
        history = iter(events)
        first = next(history, None)
        if not first:
            raise InvalidInput("a study's history begins with Created", first, "Pass all of study.events.")
        state = State.begin(Problem(settings), first)
        if batch:
            state = state.apply_transactions(history, batch=True)
        else:
            for event in history:
                state = state.apply_transaction(event)
                state.posterior_table()  # computed step by step, as it was originally
        study._state = state
        return study

    @property
    def id(self) -> str:
        """Identifies the study and its trials; copies keep it.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9)
        >>> study.ask().study == study.id
        True
        """
        return self._state.created.id

    @property
    def settings(self) -> Settings:
        """Everything that was given.

        Examples
        --------
        >>> import zonal as zn
        >>> zn.Study([(0, 1)], budget=9, noise=0.1).settings.noise
        0.1
        """
        return self._state.problem.settings

    @property
    def space(self) -> Any:
        """The space that is searched.

        Examples
        --------
        >>> import zonal as zn
        >>> zn.Study([(0, 1)], budget=9).space.names
        ('x',)
        """
        return self.settings.space

    @property
    def path(self) -> Path | None:
        """The file in which the study is stored; None in memory.

        Examples
        --------
        >>> import zonal as zn
        >>> zn.Study([(0, 1)], budget=9).path is None
        True
        >>> zn.Study.create("core.db", [(0, 1)], budget=9).path.name
        'core.db'
        """
        return None if self._journal is None else self._journal.path

    @property
    def _called(self) -> str:
        """The name of its file, or what it measures."""
        return self.settings.value_name if self.path is None else self.path.stem

    @property
    def read_only(self) -> str:
        """Why the study cannot continue; "" if it can. What needs no missing function is possible all the same.

        Examples
        --------
        >>> import zonal as zn
        >>> zn.Study([(0, 1)], budget=9).read_only
        ''
        """
        return "" if self._journal is None else self._journal.read_only

    @property
    def events(self) -> tuple[Transaction, ...]:
        """The whole history.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9)
        >>> trial = study.ask()
        >>> type(study.events[-1][-1]).__name__
        'Asked'
        """
        return tuple(self._state.events)

    @property
    def timestamps(self) -> tuple[str, ...]:
        """When each event was written, in UTC; empty in memory, where times are not kept.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study.create("depth.db", [(0, 1)], budget=9)
        >>> len(study.timestamps) == len(study.events)
        True
        """
        return () if self._journal is None else tuple(row.time for row in self._journal.rows())

    @property
    def budget(self) -> Any:  # int where measurements have no cost
        """The total number of measurements, or their total cost.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9)
        >>> study.extend(3)
        >>> study.budget
        12
        """
        return self._state.budget

    @property
    def spent(self) -> float:
        """The number of trials measured, or their cost.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 0.7)
        >>> study.spent
        1
        """
        return self._state.spent

    @property
    def measured(self) -> int:
        """The number of trials measured.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 0.7)
        >>> study.measured
        1
        """
        return self._state.measured

    @property
    def remaining(self) -> Any:  # int where measurements have no cost
        """What of the budget is neither spent nor pending.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> trial = study.ask()
        >>> study.remaining
        8
        """
        return self._state.remaining

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials asked for and not yet told, failed or cancelled, oldest first.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> trial = study.ask()
        >>> study.pending == (trial,)
        True
        """
        state = self._state
        return tuple(trial_of(state, asked) for asked in state.pending.values())

    @property
    def trials(self) -> list[TrialRecord]:
        """All trials so far with their outcomes.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 0.7, note="first")
        >>> [(record.number, record.value, record.note) for record in study.trials]
        [(0, 0.7, 'first')]
        """
        return [record for record, _ in trial_outcomes(self._state)]

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The measurements made outside the study, except those retracted.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> record = study.observe([(0.2, 0.4)], 0.3)
        >>> [(seen.region.name, seen.value) for seen in study.observations]
        [('x 0.2..0.4', 0.3)]
        """
        outcomes = observation_outcomes(self._state)
        return tuple(observation for observation, past in outcomes if past[-1].value is not None)

    @property
    def blocked(self) -> tuple[Region, ...]:
        """Regions that could not be measured and are no longer asked for; `allow` takes that back.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.fail(study.ask(), retry=False)
        >>> [region.name for region in study.blocked]
        ['x 0..0.5']
        """
        state = self._state
        return tuple(state.region(row) for row in state.blocked)

    @property
    def forbidden(self) -> tuple[Region, ...]:
        """Regions that `forbid` forbade since the study began and that were not allowed again.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> pending_there = study.forbid([(0.8, 1)])
        >>> [region.name for region in study.forbidden]
        ['x 0.8..1']
        """
        return tuple(self._state.forbidden_regions.values())

    @property
    def model(self) -> Model:
        """The kernel, noise and prior mean in use, as given or learned, and how well they are known.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.model.kernel, study.model.noise
        (RBF(variance=1.0, lengthscale=0.2), 0.1)
        """
        return queries.model(self._state)

    @property
    def models(self) -> tuple[WeightedModel, ...]:
        """The weighted models that represent the posterior over models; one if the model was given.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9)
        >>> for trial in study.ask(4):
        ...     study.tell(trial, trial.region.center[0])
        >>> bool(abs(sum(model.weight for model in study.models) - 1) < 1e-9)
        True
        """
        return queries.models(self._state)

    @property
    def tree(self) -> TreeTable:
        """The tree now, as read-only arrays; means and stds are of measured values only.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 0.7)
        >>> int(study.tree.count.sum())
        1
        """
        return queries.tree_of(self._state)

    @overload
    def ask(
        self,
        n: None = None,
        *,
        key: str = "",
        by: str | None = None,
        within: RegionsLike = None,
        avoid: RegionsLike = None,
        labels: LabelsLike = None,
    ) -> Trial: ...
    @overload
    def ask(
        self,
        n: int,
        *,
        key: str = "",
        by: str | None = None,
        within: RegionsLike = None,
        avoid: RegionsLike = None,
        labels: LabelsLike | Sequence[LabelsLike] = None,
    ) -> list[Trial]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        key: str = "",
        by: str | None = None,
        within: RegionsLike = None,
        avoid: RegionsLike = None,
        labels: LabelsLike | Sequence[LabelsLike] = None,
    ) -> Trial | list[Trial]:
        """Return the next trial, or a list of the next `n`.

        Pending trials are taken into account: they reduce the uncertainty of their regions. What is possible only
        now, such as what is above the horizon, is said by `within` and `avoid`, and kept with the trial; what is
        never possible by ``forbidden=`` and `forbid`.

        Parameters
        ----------
        n : int, optional
            Number of trials; all or none are returned (in a shell, `zonal ask -n` returns those that are left).
            Where travel costs, they are in the order of a short route.
        key : str
            A name for this request. Repeating the request with the same key returns the same trials, so it may be
            repeated if it is not clear whether it arrived.
        by : str, optional
            Who measures it; by default this process, after whose end the trial may be taken over (see
            `optimize`).
        within : region or list of regions, optional
            What is possible now, given as in `observe`: the trial's region lies wholly within one of them.
        avoid : region or list of regions, optional
            What is not possible now: the trial's region overlaps none of them. Judged is the region itself, not
            what a `Beam` sees beyond it.
        labels : mapping, or list of mappings, optional
            Labels of the readings to come, as far as they are known before, such as the plate: one mapping for all
            trials, or one for each. `tell` may add to them and replace them.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> [trial.region.name for trial in study.ask(2)]
        ['x 0..0.5', 'x 0.5..1']
        >>> study.ask(within=[(0.2, 0.6)]).region.name
        'x 0.25..0.5'
        """
        trials = self._ask(n, key, by, within, avoid, labels)
        return trials[0] if n is None else trials

    def _ask(
        self,
        n: int | None,
        key: str,
        by: str | None,
        within: RegionsLike,
        avoid: RegionsLike,
        labels: LabelsLike | Sequence[LabelsLike] = None,
    ) -> list[Trial]:
        return operations.ask(self, n, key, by, within, avoid, labels)

    def tell(
        self,
        trial: Trial | int,
        value: float | str | None = None,
        sem: float | None = None,
        note: str = "",
        *,
        time: float | None = None,
        slopes: Mapping[str, tuple[float, float]] | None = None,
        minus: RegionLike | None = None,
        labels: LabelsLike = None,
        moe: float | None = None,
        below: float | None = None,
        above: float | None = None,
        exposure: float | None = None,
        by: str | None = None,
        key: str = "",
    ) -> None:
        """Record the measurement of a trial.

        Telling the same value again does nothing, and another value is refused, whatever became of the trial
        before. A trial that had failed, or was cancelled or retracted, counts as measured after all; if the budget
        was spent meanwhile, as an observation, which `correct` and `retract` find by the trial too.

        Parameters
        ----------
        trial : Trial or int
            The trial, or its number.
        value : float
            The measured average; in a study with a `likelihood`, the count.
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
            The value is the difference of two averages: the trial's region minus this one. Errors that the
            instrument adds to both cancel. It counts as a measurement of its region, and `ask` expects that a
            replicate will be the same difference; only the mean of the region's rewards, ``tree.reward``, does
            not include it.
        labels : mapping, optional
            Labels of the reading, such as ``{"plate": 3, "day": "Mon"}``: text, or whole numbers, which become
            text. Those that the study's ``offsets`` name are required, here or in `ask`. A difference has no
            offset.
        moe : float, optional
            In place of `sem`, a margin of error as census offices publish it: for 90 %, 1.645 standard errors.
        below, above : float, optional
            In the place of a value: the reading lies below, or above, this limit of what can be read. As text,
            "<0.5" is a value below 0.5.
        exposure : float, optional
            Of a count, over how much it was made; of a proportion, of how many cases. By default as the study's
            `likelihood` says.
        by : str, optional
            Who measured it, kept in the history.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> trial = study.ask()
        >>> study.tell(trial, 0.7, sem=0.05, note="windy")
        >>> study.trials[0].value
        0.7
        >>> study.tell(study.ask(), below=0.5)
        >>> study.trials[1].limit
        'below'
        """
        given = RawReading(value, below, above, exposure)
        signatures.signed(
            self,
            by,
            key,
            Told,
            lambda study: operations.tell(
                study, trial, given, from_margin(sem, moe), note, time, slopes, minus, labels
            ),
            signatures.nothing_again,
        )

    def correct(
        self,
        trial: Trial | Observation | int,
        value: float | str | None = None,
        sem: float | None = None,
        note: str = "",
        *,
        below: float | None = None,
        above: float | None = None,
        exposure: float | None = None,
        labels: LabelsLike = None,
        by: str | None = None,
        key: str = "",
    ) -> None:
        """Replace a value that was told or observed by mistake.

        The model is learned again, and the posterior is as if the right value had been told; splits already made
        stay. The history keeps the earlier value: see `table`. Passing the same value again does nothing.

        Parameters
        ----------
        trial : Trial, Observation or int
            A trial that was measured, or its number, or what `observe` returned.
        value : float
            The measured average.
        sem : float, optional
            Standard error of this one measurement; by default as it was told.
        note : str
            A note kept with the trial, for example why; by default as it was told.
        below, above, exposure : float, optional
            As in `tell`.
        labels : mapping, optional
            Labels that were wrong; the others stay.
        by : str, optional
            Who corrects it; by default the user of this process.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 7.0)
        >>> study.correct(0, 0.7, note="a slip of the pen")
        >>> study.trials[0].value
        0.7
        """
        signatures.signed(
            self,
            None,
            key,
            Corrected,
            lambda study: operations.correct(
                study, trial, RawReading(value, below, above, exposure), sem, note, by, labels
            ),
            signatures.nothing_again,
        )

    def retract(
        self, trial: Trial | Observation | int, note: str = "", *, by: str | None = None, key: str = ""
    ) -> None:
        """Remove a value that should never have been told or observed; the budget gets its trial back.

        The model is learned again, and the posterior is as if the value had never been told; splits already made
        stay. The history keeps the value: see `table`. The trial may still be told. Slopes told with a trial are
        retracted with it.

        Parameters
        ----------
        trial : Trial, Observation or int
            A trial that was measured, or its number, or what `observe` returned.
        note : str
            Why; kept in the history.
        by : str, optional
            Who retracts it; by default the user of this process.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 0.7)
        >>> study.retract(0, note="the lamp was off")
        >>> study.trials[0].state, study.remaining
        ('retracted', 9)
        """
        signatures.signed(
            self,
            None,
            key,
            Retracted,
            lambda study: operations.retract(study, trial, note, by),
            signatures.nothing_again,
        )

    def set_aside(
        self, trial: Trial | Observation | int, note: str = "", *, by: str | None = None, key: str = ""
    ) -> None:
        """Let a reading no longer count, as a gross error; its trial stays paid for, and `reinstate` undoes it.

        The model is learned again from the other readings. The reading is not deleted: tables and the history keep
        it. One that should never have been told is retracted instead.

        Parameters
        ----------
        trial : Trial, Observation or int
            A trial that was measured, or its number, or what `observe` returned.
        note : str
            Why; kept in the history.
        by : str, optional
            Who does it; by default the user of this process.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 7.0)
        >>> study.set_aside(0, note="the lamp flickered")
        >>> study.trials[0].state, study.trials[0].value, study.remaining
        ('set aside', 7.0, 8)
        """
        signatures.signed(
            self,
            None,
            key,
            SetAside,
            lambda study: operations.set_aside(study, trial, note, by),
            signatures.nothing_again,
        )

    def reinstate(
        self, trial: Trial | Observation | int, note: str = "", *, by: str | None = None, key: str = ""
    ) -> None:
        """Let a reading that was set aside, by the rule or by a person, count again.

        From then on the rule believes it, until it is corrected.

        Parameters
        ----------
        trial : Trial, Observation or int
            A trial whose reading was set aside, or its number, or what `observe` returned.
        note : str
            Why; kept in the history.
        by : str, optional
            Who does it; by default the user of this process.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 7.0)
        >>> study.set_aside(0)
        >>> study.reinstate(0, note="it was right")
        >>> study.trials[0].state
        'measured'
        """
        signatures.signed(
            self,
            None,
            key,
            Reinstated,
            lambda study: operations.reinstate(study, trial, note, by),
            signatures.nothing_again,
        )

    def fail(
        self, trial: Trial | int, retry: bool = True, note: str = "", *, by: str | None = None, key: str = ""
    ) -> None:
        """Record that a trial could not be measured; its cost is refunded.

        A region that failed three times in a row is not asked for again, nor is a region within it that failed
        once. `allow` takes that back.

        Parameters
        ----------
        trial : Trial or int
            A pending trial, or its number.
        retry : bool
            Whether the region may be asked for again; if not, its children are, if it may be split.
        note : str
            A note kept with the trial, for example why.
        by : str, optional
            Who tried it, kept in the history.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.fail(study.ask(), retry=False, note="out of reach")
        >>> [region.name for region in study.blocked]
        ['x 0..0.5']
        """
        signatures.signed(
            self,
            by,
            key,
            Closed,
            lambda study: operations.fail(study, trial, retry, note),
            signatures.nothing_again,
        )

    def cancel(self, trial: Trial | int, note: str = "", *, by: str | None = None, key: str = "") -> None:
        """Cancel a trial that was not tried; its cost is refunded, and it does not count against its region.

        Parameters
        ----------
        trial : Trial or int
            A pending trial, or its number.
        note : str
            A note kept with the trial, for example why.
        by : str, optional
            Who cancels it, kept in the history.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.cancel(study.ask(), note="no time today")
        >>> study.remaining
        9
        """
        signatures.signed(
            self, by, key, Closed, lambda study: operations.cancel(study, trial, note), signatures.nothing_again
        )

    def claim(self, trial: Trial | int, *, by: str | None = None, key: str = "") -> Trial:
        """Take a pending trial over from whoever was measuring it, and return it.

        Parameters
        ----------
        trial : Trial or int
            A pending trial, or its number.
        by : str, optional
            Who measures it from now on; by default this process.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> trial = study.ask(by="receiver 1")
        >>> study.claim(trial, by="receiver 2") == trial
        True
        """
        return operations.claim(self, trial, by, key)

    def _claim(self, number: int, by: str, worker: str, key: str = "") -> Trial | None:
        """Take a pending trial over from a worker; return None if that worker no longer measures it."""
        return signatures.signed(
            self,
            None,
            key,
            Claimed,
            lambda study: operations.claim_from(study, number, by, worker),
            signatures.claimed_again,
        )

    @overload
    def observe(
        self,
        region: RegionLike,
        *,
        below: float,
        sem: float | None = None,
        feedback: Feedback | None = None,
        time: float | None = None,
        note: str = "",
        labels: LabelsLike = None,
        by: str | None = None,
        key: str = "",
    ) -> Observation: ...
    @overload
    def observe(
        self,
        region: RegionLike,
        *,
        above: float,
        sem: float | None = None,
        feedback: Feedback | None = None,
        time: float | None = None,
        note: str = "",
        labels: LabelsLike = None,
        by: str | None = None,
        key: str = "",
    ) -> Observation: ...
    @overload
    def observe(
        self,
        region: RegionLike,
        value: float | str,
        sem: float | None = None,
        feedback: Feedback | None = None,
        *,
        time: float | None = None,
        minus: RegionLike | None = None,
        moe: float | None = None,
        below: float | None = None,
        above: float | None = None,
        exposure: float | None = None,
        note: str = "",
        labels: LabelsLike = None,
        by: str | None = None,
        key: str = "",
    ) -> Observation: ...
    @overload
    def observe(
        self, region: Many | str | os.PathLike[str], *, by: str | None = None, key: str = ""
    ) -> list[Observation]: ...
    def observe(
        self,
        region: Any,
        value: Any = NO_VALUE,
        sem: float | None = None,
        feedback: Feedback | None = None,
        *,
        time: float | None = None,
        minus: RegionLike | None = None,
        moe: float | None = None,
        below: float | None = None,
        above: float | None = None,
        exposure: float | None = None,
        note: str = "",
        labels: LabelsLike = None,
        by: str | None = None,
        key: str = "",
    ) -> Observation | list[Observation]:
        """Record earlier or external measurements of any regions, one or many; they cost no budget.

        `correct` and `retract` accept the `Observation` that is returned. Many are taken together, all or none,
        and the model is learned once, after the last.

        Parameters
        ----------
        region : Region, or what ``space.region`` takes; without `value` many measurements
            A region of this space, in the tree or not: bounds of shape (d, 2) in a box, text such as
            ``"ATNNNNNN"`` for sequences, a name for a hierarchy, row numbers for points, a mapping of axes to
            parts. Many measurements are a list of (region, value) or (region, value, sem), of mappings with these
            parameters' names, or of another study's observations; a data frame or table with the columns of a
            sheet; or the name of a file with a sheet, whose rows that the study has already are left out.
        value : float
            Its measured average.
        sem : float, optional
            Standard error of this measurement; the study's noise by default.
        feedback : Center, Average, Mean, Beam or Slope, optional
            What part of its region this measurement averaged; by default as the study's. For a slope, or anything
            that is not an average, the standard error is required.
        time : float, optional
            How long it took, where times are chosen; one unit of time by default.
        minus : Region, or what ``space.region`` takes, optional
            The value is a difference: the region minus this one. Its standard error is required.
        moe : float, optional
            In place of `sem`, a margin of error as census offices publish it: for 90 %, 1.645 standard errors.
        below, above, exposure : float, optional
            As in `tell`.
        note : str
            A note kept with the observation.
        labels : mapping, optional
            As for `tell`. With ``{"source": "2019"}``, and "source" among the study's ``offsets``, it came from
            elsewhere, with an offset of its own, and needs no other label.
        by : str, optional
            Who measured it, kept in the history.
        key : str
            The caller's name for this request; repeating it returns the same observations.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.observe([(0.2, 0.3)], 1.4, sem=0.05).number
        0
        >>> round(study.predict([(0.2, 0.3)]).mean, 2)
        1.4
        >>> len(study.observe([([(0.5, 0.6)], 0.3), {"region": [(0.7, 0.8)], "value": 0.1, "sem": 0.05}]))
        2
        """
        if value is not NO_VALUE or below is not None or above is not None:
            value = None if value is NO_VALUE else value
            parts = sem, feedback, time, minus, note, below, above, exposure, moe, labels
            return self._observe([Measurement(region, value, *parts)], by, key)[0]
        observations.check_alone(sem, feedback, time, minus, note, exposure, moe, labels)
        if isinstance(region, str | os.PathLike):
            from zonal.study import sheets

            return sheets.observed(self, read_table(Path(region)), again=False, by=by, key=key).taken
        return self._observe(observations.measurements_in(self, region), by, key)

    def _observe(self, measurements: Sequence[Measurement], by: str | None, key: str) -> list[Observation]:
        return signatures.signed(
            self,
            by,
            key,
            Observed,
            lambda study: observations.observe(study, measurements),
            signatures.observed_again(self),
        )

    def observe_study(
        self, other: Study, *, labels: LabelsLike = None, scale: float = 1.0, by: str | None = None, key: str = ""
    ) -> list[Observation]:
        """Record all averages of another study on the same space, such as last year's, as of a source.

        The source has an offset of learned size; among the models is one in which it measured another function, so
        that a source that is of no use does little harm. Standard errors, or the noise of the other study, come
        along. Differences and slopes do not. Until this study has readings of its own, nothing tells the offset.

        Parameters
        ----------
        other : Study
            Of a space in which regions have the same coordinates.
        labels : mapping, optional
            Labels of all its readings; by default ``{"source": <its name>}``. The study's ``offsets`` must name
            "source".
        scale : float
            What its values are multiplied by, for other units.
        by : str, optional
            Who brought them in, kept in the history.
        key : str
            The caller's name for this request; repeating it returns the same observations.

        Examples
        --------
        >>> import zonal as zn
        >>> given = dict(budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> earlier, study = zn.Study([(0, 1)], **given), zn.Study([(0, 1)], offsets=["source"], **given)
        >>> earlier.tell(earlier.ask(), 0.7)
        >>> [seen.value for seen in study.observe_study(earlier, labels={"source": "2019"})]
        [0.7]
        """
        return self._observe(offsets.measurements_of(self, other, labels, scale), by, key)

    def forbid(self, region: RegionLike, note: str = "", *, by: str | None = None, key: str = "") -> list[Trial]:
        """Forbid a region that turned out not to be measurable, or not to be wanted.

        From now on it is treated as in ``forbidden=``: no region that overlaps it is measured or recommended.
        Values measured there stay in the model. `allow` takes it back. Returns the pending trials that overlap it;
        they stay pending, and may be told, failed or cancelled. Forbidding the same region again does nothing.

        Parameters
        ----------
        region : Region, or what ``space.region`` takes
            A region of this space, in the tree or not, given as in `observe`.
        note : str
            Why; kept in the history.
        by : str, optional
            Who forbids it; by default the user of this process.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.forbid([(0, 0.5)], note="a river")
        []
        >>> study.ask().region.name
        'x 0.5..1'
        """
        return signatures.signed(
            self,
            None,
            key,
            Forbidden,
            lambda study: operations.forbid(study, region, note, by),
            signatures.forbidden_again,
        )

    def allow(self, region: RegionLike, *, by: str | None = None, key: str = "") -> int:
        """Take back all failures of a region and of the regions within it, and what `forbid` forbade there.

        They may be asked for again. Splits that were made meanwhile stay, and so does whatever ``forbidden=``
        says. Returns how many failures and forbidden regions were taken back, at least one.

        Parameters
        ----------
        region : Region, or what ``space.region`` takes
            A region of this space, given as in `observe`; the whole space takes back everything.
        by : str, optional
            Who allows it, kept in the history.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.fail(study.ask(), retry=False)
        >>> study.allow([(0, 1)])
        1
        >>> study.blocked
        ()
        """
        return signatures.signed(
            self, by, key, Unblocked, lambda study: operations.allow(study, region), signatures.allowed_again
        )

    def _forgive(self, trials: Iterable[Trial | int]) -> None:
        """Take back the failures of single trials that failed for other reasons than their region."""
        operations.forgive(self, trials)

    def optimize(
        self,
        measure: Measure,
        executor: Anywhere = None,
        *,
        n: int | None = None,
        workers: int | None = None,
        callback: Callback | None = None,
        progress: bool = False,
        tolerance: float | None = None,
        on_error: OnError = "raise",
        max_failures: int | None = None,
        timeout: float | None = None,
        take_over: bool = False,
        by: str | None = None,
        labels: LabelsOfTrial = None,
    ) -> Result:
        """Ask, measure and tell until the budget, or part of it, is spent, or the answer is good enough.

        Pending trials whose worker has ended are measured first: those of an earlier run in this process, or of a
        process on this machine that has ended. After Ctrl-C, or a stop by the callback, the result has
        ``success=False``.

        Parameters
        ----------
        measure : callable
            Turns a region into a value, a pair (value, standard error), or a mapping with arguments of `tell`:
            value, sem, note, time, slopes, minus, labels, below, above, exposure. Where times are chosen and it
            has an argument `time`, that is how long to measure. If it raises, its trial is failed, which does not
            count against its region, and the error is passed on; the study can continue afterwards.
        executor : concurrent.futures.Executor, dask.distributed.Client or callable, optional
            Where to measure several regions at once. A function that returns an executor is called again if a
            worker process dies.
        n : int, optional
            Number of measurements to make now; by default all that remain.
        workers : int, optional
            How many at once; by default the executor's number of workers. Without an executor, the number of
            threads.
        callback : callable, optional
            Called with the study and the trial after each measurement; raise StopIteration to stop.
        progress : bool
            Show a progress bar.
        tolerance : float, optional
            In value units: stop early when the gap of the recommended region is no larger, twice in a row; while
            a model is learned, not before the initial design, ten more measurements and four smallest regions, nor
            while the models mispredict the best of what was measured. With the policy `Above` it applies to the
            expected weight of misclassified regions.
        on_error : {"raise", "fail"}
            Whether a failed measurement ends the search, or only its trial.
        max_failures : int, optional
            With ``on_error="fail"``: one more failure is raised, and the failures since the last success do not
            count against any region; by default the number of remaining measurements.
        timeout : float, optional
            Seconds after which a measurement counts as failed.
        take_over : bool
            Also measure all trials that are pending, whoever asked for them: only if nobody else will.
        by : str, optional
            A name for whoever measures, such as ``"receiver 1"``. Trials pending under the same name are measured
            first, even if they were asked for on another host, as after a restart in another container. Only one
            run at a time may use a name. By default the name of this process, which another host cannot check.
        labels : mapping or callable, optional
            Labels of the readings, such as the plate or the day, as for `tell`: one mapping for all, or a function
            that turns a trial into its labels, called just before it is measured. What `measure` returns as labels
            takes their place.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[0]), n=5)
        >>> result.nfev, study.remaining
        (5, 4)
        """
        return optimize.optimize(
            self,
            measure,
            executor,
            n=n,
            workers=workers,
            callback=callback,
            progress=progress,
            tolerance=tolerance,
            on_error=on_error,
            max_failures=max_failures,
            timeout=timeout,
            take_over=take_over,
            by=by,
            labels=labels,
        )

    def refine(
        self,
        measure_point: MeasurePoint,
        budget: int,
        *,
        noise: float | None = None,
        points: ArrayLike | None = None,
    ) -> PointResult:
        """Find a good point within the recommended region, and mean and std of f there, by measuring points.

        This is sequential halving over the region's representative points, starting from the study's posterior
        (the remark under Definition 2 of the paper). The study itself does not change.

        Parameters
        ----------
        measure_point : callable
            Turns a point, shape (d,), into a value.
        budget : int
            Number of point measurements; if there are more points, those with the lowest posterior means are
            dropped.
        noise : float, optional
            Standard deviation of one point measurement; the study's noise by default, if it is a number.
        points : array_like, shape (n, d), optional
            Candidates; by default the region's representative points, for an exact `Mean` a grid of points.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[0]))
        >>> point = study.refine(lambda x: float(x[0]), budget=20)
        >>> bool(abs(point.x[0] - result.x[0]) < 0.01)
        True
        """
        return point_search.refine(self, measure_point, budget, noise, points)

    def refit(self, *, by: str | None = None, key: str = "") -> bool:
        """Learn the model again from all measurements, independently of earlier fits, if anything is learned.

        Studies learn by themselves, and always when the budget is spent, but starting from the last fit. After
        this call the model does not depend on the order of the measurements. Returns whether anything was learned.

        Parameters
        ----------
        by : str, optional
            Who has it learned, kept in the history.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.refit()  # the model was given
        False
        """
        return self._refit(by=by, key=key)

    def _refit(self, from_scratch: bool = True, by: str | None = None, key: str = "") -> bool:
        return signatures.signed(
            self, by, key, Fitted, lambda study: operations.refit(study, from_scratch), lambda state, at: True
        )

    def extend(self, n: float, *, by: str | None = None, key: str = "") -> None:
        """Add to the budget.

        Parameters
        ----------
        n : float
            How many measurements; where measurements have a cost, that amount.
        by : str, optional
            Who adds it, kept in the history.
        key : str
            The caller's name for this request; repeating it does nothing.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.extend(3)
        >>> study.budget
        12
        """
        signatures.signed(
            self, by, key, Extended, lambda study: operations.extend(study, n), signatures.nothing_again
        )

    @overload
    def recommend(
        self,
        k: None = None,
        *,
        theta: float = 0.1,
        on_grid: bool = False,
        size: Size | None = None,
        among: Sequence[RegionLike] | None = None,
        disc: bool = False,
    ) -> Recommendation: ...
    @overload
    def recommend(
        self,
        k: int,
        *,
        theta: float = 0.1,
        on_grid: bool = False,
        size: Size | None = None,
        among: Sequence[RegionLike] | None = None,
        disc: bool = False,
    ) -> list[Recommendation]: ...
    def recommend(
        self,
        k: int | None = None,
        *,
        theta: float = 0.1,
        on_grid: bool = False,
        size: Size | None = None,
        among: Sequence[RegionLike] | None = None,
        disc: bool = False,
    ) -> Recommendation | list[Recommendation]:
        """Return the recommended region, or a list of the `k` best, and how certain that is.

        Where the space has continuous axes it is a window: of the smallest size, at any position, with the highest
        posterior mean. It touches nothing that is forbidden or blocked. The policies GPOO, StoOO, GPTree and
        Above, and your own, recommend a node of the tree.

        Parameters
        ----------
        k : int, optional
            Number of disjoint regions; fewer are returned if there are no more.
        theta : float
            ``gap`` holds with probability 1 - theta, under the model.
        on_grid : bool
            Recommend the best node of the tree.
        size : float or mapping of axis name to float, optional
            The size of the window, in the units of ``smallest``; on axes not named it is the smallest.
        among : sequence of regions, optional
            The regions to choose from, as ``space.region`` takes them.
        disc : bool
            For members with coordinates: the best disc of at least the smallest weight around any member, over
            whatever areas it reaches; ``region.members`` lists them.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[0]))
        >>> best, second = study.recommend(k=2)
        >>> best.region == study.recommend().region, best.mean > second.mean
        (True, True)
        """
        best = recommend.recommend(self, k, theta, on_grid, size, among, disc)
        return best[0] if k is None else best

    def outlook(self, n: int) -> Outlook:
        """Return by how much `n` more measurements are expected to improve the recommended region's true average.

        The measurements are planned in advance and simulated on draws from the posterior, where they also update
        the weights of the models. A real search adapts and does at least as well, so for many measurements this is
        a cautious estimate; it holds under the models. The budget does not matter.

        Parameters
        ----------
        n : int
            How many more measurements.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.outlook(5).gain > 0
        True
        """
        return queries.outlook(self, n)

    def above(
        self,
        threshold: float | None = None,
        probability: float | None = None,
        *,
        sigma: float | None = None,
        every: bool = False,
    ) -> RegionProbabilities:
        """Return the regions of the smallest size whose average exceeds a threshold, the most probable first.

        They are a table of `RegionProbability`; ``.patches()`` joins those that touch. If no region is probable
        enough it has no rows, and its title says so and names the most probable one.

        Parameters
        ----------
        threshold : float, optional
            In value units. With the policy `Above` it may be left out: then the regions are those that the policy
            searches for, which are below its threshold when minimising.
        probability : float, optional
            Least probability, under the model: by default 0.9, or 0.5 without a threshold.
        sigma : float, optional
            Instead of a probability: by how many standard deviations the mean must lie beyond the threshold. The
            regions are then in this order.
        every : bool
            Judge all regions of the smallest size, also those that the tree was never split into: a whole map.
            Where regions are products over axes.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study(zn.Box([(0, 1)], smallest=0.25), budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[0]))
        >>> [row.region.name for row in study.above(0.7)]
        ['x 0.75..1']
        """
        return queries.beyond(self, "above", threshold, probability, sigma, every)

    def below(
        self,
        threshold: float | None = None,
        probability: float | None = None,
        *,
        sigma: float | None = None,
        every: bool = False,
    ) -> RegionProbabilities:
        """Return the regions of the smallest size whose average is below a threshold, the most probable first.

        Parameters
        ----------
        threshold, probability, sigma, every
            As for `above`.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study(zn.Box([(0, 1)], smallest=0.25), budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[0]))
        >>> [row.region.name for row in study.below(0.3)]
        ['x 0..0.25']
        """
        return queries.beyond(self, "below", threshold, probability, sigma, every)

    def probability(
        self, regions: RegionLike | Sequence[RegionLike], *, above: float | None = None, below: float | None = None
    ) -> Any:
        """Return the probability, under the model, that any region's average is above or below a threshold.

        Parameters
        ----------
        regions : Region, what ``space.region`` takes (see `observe`), or several of these
            One region has a number as its answer, several have an array.
        above, below : float
            The threshold, in value units: one of the two.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.probability([(0.2, 0.3)], above=0.0)
        0.5
        """
        return queries.probability(self, regions, above, below)

    def stands_out(self) -> bool:
        """Tell whether the recommended region is better than the average of the space, beyond chance.

        Its average must exceed that of the whole space by more standard deviations than the best of as many
        regions as were measured would by chance: sqrt(2 log n), and at least two; more while a learned noise is
        uncertain.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.stands_out()
        False
        """
        return queries.stands_out(self)

    @overload
    def why(self, trial: None = None) -> WhyAnswer: ...
    @overload
    def why(self, trial: Trial | int) -> WhyTrial: ...
    def why(self, trial: Trial | int | None = None) -> WhyAnswer | WhyTrial:
        """Return why the recommended region is the answer, or why a trial was asked for; its text is sentences.

        Of the answer: the weights of all readings in its mean, which it hangs on most, what speaks against it, and
        why the next measurement would be asked for. Of a trial: the reason, what its reading could change, and the
        runner-up. All of it holds under the models as they were; a later fit may change them.

        Parameters
        ----------
        trial : Trial or int, optional
            A trial, pending or past; by default the answer is explained.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[0]))
        >>> why = study.why()
        >>> total = why.prior + sum(reading.weight * reading.value for reading in why.readings)
        >>> abs(total - why.mean) < 1e-10
        True
        >>> study.why(8).reason
        'gain'
        """
        return why_answer(self) if trial is None else why_trial(self, trial)

    def worth(self, region: RegionLike) -> Worth:
        """Return what measuring a region of your own would bring, relative to the best region to measure.

        Parameters
        ----------
        region : Region, or what ``space.region`` takes
            Given as in `observe`.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[0]), n=5)
        >>> 0 <= study.worth([(0.2, 0.3)]).relative <= 1
        True
        """
        return worth(self, region)

    def predict(
        self,
        regions: RegionLike | Sequence[RegionLike] | DataFrame | Listing | None = None,
        *,
        feedback: Feedback | None = None,
    ) -> Prediction:
        """Return posterior ``mean`` and ``std`` of any regions' averages: numbers for one, arrays for several.

        For several regions, ``.table()`` is a table with the regions, and ``.to_grid()`` has one dimension per
        axis.

        Parameters
        ----------
        regions : Region, what ``space.region`` takes (see `observe`), or several of these, optional
            Nodes of the tree or other regions; by default all regions of the smallest size. Equal edges mean a
            point on that axis; a list of texts means several regions. A data frame has a region in each row:
            columns such as "x_low" and "x_high", or those of Zonal's tables; "x" alone for points on that axis and
            for symbols; or "region" with names. A region with a feedback of its own is predicted as that sees it.
        feedback : Center, Average, Mean or Beam, optional
            What part of the regions to predict; by default the study's target.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1, mean=2.0)
        >>> mean, std = study.predict([(0.2, 0.3)])
        >>> mean, round(std, 2)
        (2.0, 0.99)
        """
        return queries.predict(self, regions, feedback)

    def sample(
        self,
        n: int = 1,
        regions: RegionLike | Sequence[RegionLike] | DataFrame | Listing | None = None,
        *,
        rng: int | np.random.Generator | None = None,
    ) -> Floats:
        """Return joint draws of regions' averages from the posterior, an array of shape (n, regions).

        What the averages have in common is in every draw, so that each is a map as it may be: use them for
        whatever `predict` does not say, such as how large a share of the space lies above a threshold, or which
        region is the best. Each is drawn under a model that is drawn by its weight. Where nothing below 0 or above
        1 is possible, as of rates and shares, draws end there.

        Parameters
        ----------
        n : int
            The number of draws.
        regions : Region, what ``space.region`` takes (see `observe`), or several of these, optional
            As for `predict`; by default all regions of the smallest size, in the order of ``predict().regions``.
            On axes and under product kernels these may be a million; elsewhere, 4096 regions are drawn together.
        rng : int or Generator, optional
            The seed; without one, draws are others each time.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study(zn.Box([(0, 1)], smallest=0.25), budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> _ = study.observe([(0, 0.25)], 2.0)
        >>> maps = study.sample(1000, rng=0)
        >>> maps.shape, bool((maps.argmax(axis=1) == 0).mean() > 0.8)
        ((1000, 4), True)
        """
        return samples.sample(self, n, regions, rng)

    def relative_std(self, regions: Sequence[RegionLike] | None = None) -> Floats:
        """Return the share of the initial uncertainty that is left: 1 for all of it, 0 for none.

        It is the posterior over the prior standard deviation of a region's average, under the models in use; on an
        empirical belief 1 / sqrt(1 + T) after T measurements of the region.

        Parameters
        ----------
        regions : sequence of regions, optional
            As for `predict`; by default the nodes of ``tree``, in its order.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.relative_std([[(0.2, 0.3)]]).tolist()
        [1.0]
        """
        return queries.relative_std(self, regions)

    def confidence_bands(self) -> ConfidenceBands:
        """Return how far each node's average, and f within the node, may lie from the posterior mean.

        The next trial is chosen by the b-value, ``mean + confidence + variation`` (equation 5 of the paper).

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1, policy=zn.GPOO())
        >>> bands = study.confidence_bands()
        >>> len(bands.confidence) == len(study.tree)
        True
        """
        return queries.confidence_bands(self)

    def snapshot(self, *measured: int) -> list[Study]:
        """Return the study as it was after certain numbers of measurements, for reading only.

        Parameters
        ----------
        *measured : int
            0 for the start, and at most the number of measurements so far.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[0]))
        >>> [past.measured for past in study.snapshot(2, 8)]
        [2, 8]
        """
        states = queries.past_states(self._state, measured)
        return [_Snapshot(state, self._lock, self._journal) for state in states]

    def table(self, history: bool = False) -> Listing:
        """Return all trials and observations as a table, to print or to export (``.to_pandas()``).

        The columns are number, region, one per axis, feature or level with its unit, value, standard error,
        replicate, posterior mean and standard deviation of the region's average, state and note. Observations
        have numbers of their own. An axis, feature or level keeps its name: a column of ours with that name is
        called "trial ..." then.

        Parameters
        ----------
        history : bool
            Add above each row the values that it replaced, as "was measured" and so on, with columns for who
            corrected or retracted it and, for a study in a file, when.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.tell(study.ask(), 0.7)
        >>> study.table()["value"]
        [0.7]
        """
        return listings.table(self, history)

    def suspects(self) -> Listing:
        """Return every reading beside what the models and the others expect of it, the likeliest mistakes first.

        The columns are number, region, one per axis, feature or level, value, what is expected without this
        reading with its standard deviation (noise included), by how many standard deviations the value is above
        that, and the state. A reading that "waits for a repeat" does not count until its region was measured
        again; one that is "set aside" does not count at all.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: 7.0 if region.bounds[0, 0] == 0.5 else 0.0)
        >>> study.suspects()["sigmas"][0] > 4
        True
        """
        return suspects.suspects(self)

    def top(self, k: int = TOP) -> Listing:
        """Return the `k` best regions as a table: disjoint, of the smallest size, the best first.

        The columns are rank, region, one per axis, feature or level, posterior mean and standard deviation of its
        average, how often it was measured, and the probability, under the model, that no region is better.

        Parameters
        ----------
        k : int
            Number of regions.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[0]))
        >>> study.top(3)["rank"]
        [1, 2, 3]
        """
        return listings.top(self, k)

    def sizes(self) -> Listing:
        """Return the best region of every size as a table: how much is lost if the patch must be larger.

        The sizes go from the smallest to the whole space in equal ratios, on all continuous axes together. The
        columns are the size on each axis, the region, posterior mean and standard deviation of its average, and
        what is lost against the smallest size.

        Examples
        --------
        >>> import zonal as zn
        >>> space = zn.Box([(0, 1)], smallest=0.25)
        >>> study = zn.Study(space, budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[0]))
        >>> [round(size, 2) for size in study.sizes()["size x"]]
        [0.25, 0.35, 0.5, 0.71, 1.0]
        """
        return sizes.sizes(self)

    def offsets(self) -> Listing:
        """Return what is known of the offset of each label as a table, largest first.

        The columns are the label, its value, the posterior mean and standard deviation of its offset, how many
        readings have it, and the same in words. Of a drift there are up to five rows, for readings from the first
        to the last.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1, offsets=["plate"])
        >>> for _ in range(8):
        ...     trial = study.ask()
        ...     study.tell(trial, -1.0 + 2 * (trial.number % 2), labels={"plate": trial.number % 2})
        >>> study.offsets()["in words"][0]
        'plate 0 reads 0.98 +- 0.49 low'
        """
        return offsets.offsets(self)

    def plot(self, kind: Kind | None = None, ax: Axes | None = None, **options: Any) -> Axes:
        """Plot the study: see `zonal.plotting.plot`.

        Parameters
        ----------
        kind : {"history", "tree", "model", "map", "cells", "sizes", "pools"}, optional
            What to draw; by default what suits the space.
        ax : matplotlib Axes, optional
            Where to draw it.
        **options
            Of the kind of plot, such as the true function ``f``.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.plot("tree").get_xlabel()
        'x'
        """
        from zonal.plotting import plot

        return plot(self, kind, ax, **options)

    def to_moc(self, probability: float = 0.9) -> Any:
        """Return the smallest set of pixels that contains the best one with a probability, as a MOC of mocpy.

        The space is a sky, `Hierarchy.healpix`, in ICRS. It holds under the models, by 8,000 joint draws of all
        pixels that may be the best. Needs the extra ``sky``.

        Parameters
        ----------
        probability : float
            That the best pixel is in the set.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study(zn.Hierarchy.healpix(1), budget=20, kernel=zn.RBF(1.0, 0.5), noise=0.1)
        >>> result = study.optimize(lambda region: float(region.center[2]))
        >>> study.to_moc(0.9).sky_fraction < 0.5
        True
        """
        from zonal.adapters.sky import moc

        return moc(self, probability)

    def to_skymap(self) -> Any:
        """Return a multi-order sky map as a table of astropy, to be written as FITS (``.write("map.fits")``).

        One row per smallest pixel of a sky, `Hierarchy.healpix`: its number UNIQ, PROBDENSITY of being the best
        pixel (per steradian, by 8,000 joint draws), MEAN and STD of its average. Needs the extra ``sky``.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study(zn.Hierarchy.healpix(1), budget=9, kernel=zn.RBF(1.0, 0.5), noise=0.1)
        >>> study.to_skymap().colnames
        ['UNIQ', 'PROBDENSITY', 'MEAN', 'STD']
        """
        from zonal.adapters.sky import skymap

        return skymap(self)

    def report(self, path: str | os.PathLike[str] | None = None, *, shapes: Any = None) -> str:
        """Return one HTML page about the study, readable offline: plots, tables, settings, a methods paragraph.

        Parameters
        ----------
        path : str or path, optional
            Also write the page to this file; an existing one is replaced.
        shapes : GeoDataFrame, GeoSeries or sequence of geometries, optional
            Polygons of the members, for the map: see `zonal.plotting.plot_map`.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.report()[:15]
        '<!doctype html>'
        """
        from zonal.web.report import report

        return report(self, path, shapes=shapes)

    def __str__(self) -> str:
        """Return the progress, what is pending, the size of the smallest regions and the answer so far."""
        return summary.study_text(self)

    def _repr_html_(self) -> str:
        """Return the main facts, for a notebook."""
        return summary.study_card(self)

    def __repr__(self) -> str:
        """Return the progress."""
        progress = summary.budget_line(self).rpartition(", ")[0]
        return f"<Study: {progress}, {self._state.structure.size} nodes>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError; where another library's name was used, name the one used here."""
            raise missing("a study", name)

    def _commit(self, state: State) -> None:
        """Switch to another state, the only place where a study changes; its file, if any, comes first."""
        before = self._state
        if self._journal is not None:
            self._journal.append(state.events[len(before.events) :])
        self._switch(state)
        # Warnings come last: if they are turned into errors, what was told must stay.
        if state.posterior.is_built:
            complaints = {str(complaint): complaint for complaint in state.belief.complaints}
            heard, self._complaints = self._complaints, self._complaints | complaints.keys()
            for text_, complaint in complaints.items():
                if text_ not in heard:
                    warn_user(complaint)
        if state.fit_state is not before.fit_state:
            for event in state.events[len(before.events) :]:
                _pass_on_doubts(event)

    def _switch(self, state: State) -> None:
        before, self._state = self._state, state
        wanted = state.posterior.is_built or not state.remaining  # else the next fit may come first
        if wanted and state.ledger is not before.ledger:
            state.posterior_table()  # computed now, so that warnings come with their cause

    def _log(self, level: int, message: str, *parts: str | int) -> None:
        """Log what happened."""
        log.log(level, message, *parts)

    def _draft(self) -> _Draft:
        """Return a copy in memory, to be changed in this study's place: see `operations.together`."""
        draft = _Draft.__new__(_Draft)
        draft._unlogged = []
        draft._renew_lock()
        draft._state, draft._keeps_answers = self._state, self._keeps_answers
        return draft


class _Snapshot(Study):
    """A study as it was after a number of measurements: it can be read, and whatever changes it raises."""

    def __init__(self, state: State, lock: threading.RLock, journal: Journal | None) -> None:
        self._state, self._lock, self._journal = state, lock, journal

    @property
    def read_only(self) -> str:
        """Why the study cannot continue."""
        return f"this is a study as it was after {self.measured} measurements, for reading only"

    def refresh(self) -> None:
        """Do nothing: it stays as it was."""

    def save(self, path: str | os.PathLike[str]) -> NoReturn:
        """Raise: the study itself is what is stored."""
        raise StudyFileError(f"{self.read_only}. Save the study itself.")

    def _writing(self, partly: bool = False) -> NoReturn:
        raise StudyFileError(f"{self.read_only}. Change the study itself.")


class _Draft(Study):
    """Several changes that are not committed yet: it warns and logs nothing, since they may never happen."""

    _unlogged: list[tuple[int, str, tuple[str | int, ...]]]  # what to log once they are committed

    def _commit(self, state: State) -> None:
        self._switch(state)

    def _log(self, level: int, message: str, *parts: str | int) -> None:
        self._unlogged.append((level, message, parts))


def _pass_on_doubts(event: Transaction) -> None:
    """Warn of what contradicts the model that was given."""
    for fact in event:
        if isinstance(fact, ModelWarned):
            warn_user(ModelWarning(fact.warning))


def _renew_locks() -> None:
    """Renew the locks of studies in a forked process: the threads that held them do not exist there."""
    for study in list(_studies):
        study._renew_lock()


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_renew_locks)
