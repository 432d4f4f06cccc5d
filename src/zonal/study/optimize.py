"""Measuring with a function: what `Study.optimize` does, and the study as one run uses it."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from zonal.engine import policy, select
from zonal.engine.events import Asked, Labels
from zonal.engine.labels import LabelsLike, checked_labels, merged
from zonal.engine.results import Result, Trial
from zonal.engine.state import State
from zonal.errors import BudgetSpent, Exhausted, StudyFileError, positive_number, require, text, whole_number
from zonal.policies.knowledge_gradient import KnowledgeGradient
from zonal.policies.level_set import Above
from zonal.study import summary
from zonal.study.executors import Anywhere, Measure, Reading, Told
from zonal.study.history import pending_asked
from zonal.study.run_loop import ENOUGH, Callback, OnError, run_loop
from zonal.study.summary import measurements_left
from zonal.study.worker_id import run_id, worker_is_dead

if TYPE_CHECKING:
    from zonal.study.study import Study

JUDGE = 10  # measurements after the initial design before a learned model may stop the search
FEWEST = 4  # smallest regions measured before it may
MISFIT = 1.5  # residuals of the best measured regions, in what the models say: above it they may not
# Of `Study.tell`, which an instrument may return.
REPLY = ("value", "sem", "note", "time", "slopes", "minus", "below", "above", "exposure", "labels")
LONGEST_NOTE = 500  # characters of what is kept of an error

LabelsOfTrial: TypeAlias = LabelsLike | Callable[[Trial], LabelsLike]

log = logging.getLogger("zonal")


def optimize(
    study: Study,
    measure: Measure,
    executor: Anywhere,
    *,
    n: int | None,
    workers: int | None,
    callback: Callback | None,
    progress: bool,
    tolerance: float | None,
    on_error: OnError,
    max_failures: int | None,
    timeout: float | None,
    take_over: bool,
    by: str | None,
    labels: LabelsOfTrial,
) -> Result:
    """Ask, measure and tell until the budget is spent, or the answer is good enough: see `Study.optimize`."""
    name = None if by is None else text(by, "by")
    able = callback is None or callable(callback)
    require(able, "callback must be a function of a study and a trial", callback, "Pass a callable.")
    enough = None if tolerance is None else twice(study, positive_number(tolerance, "tolerance"))
    with run_id() as run:
        session = RunSession(study, name or run, take_over, n, labels)
        why = run_loop(
            session,
            measure,
            executor=executor,
            workers=workers,
            callback=callback,
            progress=(lambda: summary.progress_text(study)) if progress else None,
            enough=enough,
            on_error=on_error,
            max_failures=max_failures,
            timeout=timeout,
        )
    good = why == ENOUGH
    if good:
        why = reached(study, tolerance)
    best, spent = study.recommend(), session.paid_out or not summary.measurements_left(study)
    ended = f"{why};" if why else f"{session.spent}:"
    return Result(
        region=best.region,
        x=best.region.x,
        mean=best.mean,
        std=best.std,
        nfev=study.measured,
        success=good or (not why and (n is not None or (spent and not study.pending))),
        message=f"{ended} {summary.progress(study, 'made', 'measurement')}{_notes(study)}",
        study=study,
        _answer=best,
    )


def reached(study: Study, tolerance: float | None) -> str:
    """Learn the model from all measurements, as at the end of a budget; return how good the answer is."""
    study._refit(from_scratch=False)
    wrong = summary.misclassified(study)
    if wrong is None:
        good = f"the gap is {study.recommend().gap:.3g}"
    else:
        good = f"{wrong:.3g} is expected to be misclassified"
    return f"{good}, within the tolerance of {tolerance:g}"


def twice(study: Study, tolerance: float) -> Callable[[], bool]:
    """Return a function that tells whether the answer was good enough twice in a row."""
    latest = deque([False], maxlen=2)

    def enough() -> bool:
        latest.append(_is_enough(study, tolerance))
        return all(latest)

    return enough


def _is_enough(study: Study, tolerance: float) -> bool:
    """Tell whether a study's answer is good enough; a learned model needs some more."""
    state = study._state
    judged = state.measured >= policy.design_size(state) + JUDGE or not state.problem.learned
    if not judged or select.next_of_design(state) is not None:
        return False
    wrong = summary.misclassified(study)
    good = (study.recommend().gap if wrong is None else wrong) <= tolerance
    return good and (not state.problem.learned or _is_checked(state))


def _is_checked(state: State) -> bool:
    """Tell whether smallest regions were measured, and the models predict the best of what was measured."""
    tree = state.posterior_table()
    smallest = int(np.count_nonzero(tree.smallest & (tree.count > 0)))
    fewest = min(FEWEST, int(np.count_nonzero(tree.smallest & tree.askable)))
    return smallest >= fewest and state.belief.misfit <= MISFIT


def _notes(study: Study) -> str:
    """Return notes on an answer that may be luck, and on a smallest size that the policy chose."""
    notes = "" if study.stands_out() else "; no region stands out"
    note = study.recommend().note
    notes = f"{notes}; {note}" if note else notes
    state, space = study._state, study.space
    if not isinstance(state.problem.policy, KnowledgeGradient | Above) or space.max_depth() is not None:
        return notes
    parts = {space.partition.pieces(state.h_max + 1)[j] for j in space.continuous_axes}
    shown = " or ".join(map(str, sorted(parts)))
    return f"{notes}; the space has no smallest region, so each axis was divided into {shown} parts"


def reply(answer: Reading) -> Told:
    """Return what an instrument returned as arguments of `Study.tell`, after checking.

    It may be a value; a value and its standard error; or a mapping of these arguments by name.
    """
    if not isinstance(answer, Mapping):
        value, sem = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
        return {"value": value, "sem": sem}  # `Study.tell` checks them
    arguments, fix = dict(answer), f"Name any of {', '.join(REPLY)}; value is needed."
    for name in arguments:
        require(name in REPLY, f"an instrument cannot return {name!r}", arguments, fix)
    has_value = {"value", "below", "above"} & arguments.keys()
    require(has_value, "an instrument must return a value", arguments, fix)
    return arguments


def reason(error: BaseException) -> str:
    """Return an error as a note: one line of text that any file can hold."""
    message = ""
    with suppress(Exception):  # of a user-defined class, any may come
        message = " ".join(str(error).split()).encode(errors="replace").decode()
    return (message or type(error).__name__)[:LONGEST_NOTE]


class RunSession:
    """A study as one run uses it: it asks under its own name, first for trials whose worker has ended.

    If `take_over`, all trials pending count as abandoned; else those under the same name, which a user may have
    given to a run that has ended, perhaps on another host. At most `n` measurements are made, by default all that
    remain. `labels`, or what they say of a trial just before it is measured, are those of its reading, as far as
    the instrument does not return others.
    """

    def __init__(
        self, study: Study, by: str, take_over: bool, n: int | None = None, labels: LabelsOfTrial = None
    ) -> None:
        self.study = study
        self._by = by
        self._labels_of = labels if callable(labels) else None
        self._labels = () if callable(labels) else checked_labels(labels)  # of every reading
        self._labels_by_trial: dict[int, Labels] = {}  # of those pending, as the function said
        self._unwritten: set[int] = set()
        # With their present workers: two runs that take over must not take from each other for ever.
        self._abandoned = {asked.number: asked.by for asked in pending_asked(study) if take_over or asked.by == by}
        self.paid_out = False  # whether the next measurement was too expensive
        self._part = math.inf if n is None else whole_number(n, "n", 1)  # measurements that it may still make
        if n is not None and self.remaining < n:
            raise BudgetSpent(
                f"n={n} measurements asked for, but only {self.remaining} remain. Pass fewer, or call extend()."
            )

    def _may_claim(self, asked: Asked) -> bool:
        return worker_is_dead(asked.by) or self._abandoned.get(asked.number) == asked.by

    @property
    def remaining(self) -> int:
        """The number of measurements that may still be started."""
        remaining = measurements_left(self.study) + sum(map(self._may_claim, pending_asked(self.study)))
        return int(min(remaining, self._part))

    @property
    def spent(self) -> str:
        """What is spent when none remain."""
        if not self.study.spent and not measurements_left(self.study):
            return "the budget does not pay for a measurement"
        whole = self._part == math.inf or not measurements_left(self.study)
        return "the budget is spent" if whole else "the measurements asked for are made"

    def ask(self) -> Trial:
        """Return an abandoned trial, or else a new one."""
        try:
            trial = self._claim() or self.study.ask(by=self._by, labels=dict(self._labels))
        except BudgetSpent as error:  # other runs spent it, or the measurement costs more than is left
            self.paid_out = self.study.settings.priced
            raise Exhausted(str(error)) from error
        self._part -= 1
        if self._labels_of is not None:
            try:
                self._labels_by_trial[trial.number] = checked_labels(self._labels_of(trial))
            except BaseException:
                self.cancel(trial)
                raise
        return trial

    def _claim(self) -> Trial | None:
        """Return an abandoned trial, taken over; None if there is none."""
        for asked in filter(self._may_claim, pending_asked(self.study)):
            trial = self.study._claim(asked.number, self._by, asked.by)
            if trial is not None:
                self._abandoned.pop(trial.number, None)
                return trial
        return None

    def tell(self, trial: Trial, answer: Reading) -> None:
        """Record a measurement; if the file cannot store it, log the value, which may have been expensive."""
        more: dict[str, Any] = dict(reply(answer))
        value, sem = more.pop("value", None), more.pop("sem", None)
        planned = self._labels_by_trial.pop(trial.number, self._labels)
        if planned:
            more["labels"] = dict(merged(planned, checked_labels(more.get("labels"))))
        try:
            self.study.tell(trial, value, sem, **more)
        except StudyFileError as error:
            self._unwritten.add(trial.number)
            beside = "".join(f", {name} {argument!r}" for name, argument in more.items())
            shown = f"{value!r}, sem {sem!r}{beside}"
            log.error("trial %d was measured (%s) and not stored: %s", trial.number, shown, error)
            raise

    def fail(self, trial: Trial, error: BaseException) -> None:
        """Fail a trial, unless it was measured and waits to be told; its note says why."""
        if trial.number not in self._unwritten:
            self.study.fail(trial, note=reason(error))
        self._part += 1

    def cancel(self, trial: Trial) -> None:
        """Cancel a trial that was not tried."""
        self.study.cancel(trial)
        self._part += 1
