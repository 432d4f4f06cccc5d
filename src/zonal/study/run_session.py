"""A study as one run uses it: part of its budget, beginning with trials that others have abandoned."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from zonal.engine.events import Asked
from zonal.engine.results import Trial
from zonal.errors import BudgetSpent, Exhausted, StudyFileError, require, whole_number
from zonal.study.history import pending_asked
from zonal.study.summary import measurements_left
from zonal.study.worker_id import worker_is_dead

if TYPE_CHECKING:
    from zonal.study.study import Study

log = logging.getLogger("zonal")

LONGEST_NOTE = 500  # characters of what is kept of an error
REPLY = ("value", "sem", "note", "time", "slopes", "minus")  # of `Study.tell`, which an instrument may return


def reply(answer: Any) -> dict[str, Any]:
    """Return what an instrument returned as arguments of `Study.tell`, after checking.

    It may be a value; a value and its standard error; or a mapping of these arguments by name.
    """
    if not isinstance(answer, Mapping):
        value, sem = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
        return {"value": value, "sem": sem}
    arguments, fix = dict(answer), f"Name any of {', '.join(REPLY)}; value is needed."
    for name in arguments:
        require(name in REPLY, f"an instrument cannot return {name!r}", arguments, fix)
    require("value" in arguments, "an instrument must return a value", arguments, fix)
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
    remain.
    """

    def __init__(self, study: Study, by: str, take_over: bool, n: int | None = None) -> None:
        self.study = study
        self._by = by
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
        return "the budget is spent" if whole else "the part asked for is spent"

    def ask(self) -> Trial:
        """Return an abandoned trial, or else a new one."""
        try:
            trial = self._claim() or self.study.ask(by=self._by)
        except BudgetSpent as error:  # other runs spent it, or the measurement costs more than is left
            self.paid_out = self.study.settings.priced
            raise Exhausted(str(error)) from error
        self._part -= 1
        return trial

    def _claim(self) -> Trial | None:
        """Return an abandoned trial, taken over; None if there is none."""
        for asked in filter(self._may_claim, pending_asked(self.study)):
            trial = self.study._claim(asked.number, self._by, asked.by)
            if trial is not None:
                self._abandoned.pop(trial.number, None)
                return trial
        return None

    def tell(self, trial: Trial, answer: Any) -> None:
        """Record a measurement; if the file cannot store it, log the value, which may have been expensive."""
        more = reply(answer)
        value, sem = more.pop("value"), more.pop("sem", None)
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
