"""A study in the hands of one run: a part of its budget, and what others left lying first."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zonal.errors import BudgetSpent, Exhausted, InvalidInput, StudyFileError, whole_number
from zonal.rounds.events import Asked
from zonal.rounds.trials import Trial
from zonal.rounds.whose import is_gone

if TYPE_CHECKING:
    from zonal.study import Study

log = logging.getLogger("zonal")

REPLY = (
    "value",
    "sem",
    "note",
    "time",
    "slopes",
    "minus",
)  # arguments of `Study.tell` that an instrument may name


def reply(said: Any) -> dict[str, Any]:
    """Return what an instrument said as arguments of `Study.tell`, or complain.

    It says a value; a value and its standard error; or a mapping of these arguments by name.
    """
    if not isinstance(said, Mapping):
        value, sem = said if isinstance(said, tuple) and len(said) == 2 else (said, None)
        return {"value": value, "sem": sem}
    unknown = [name for name in said if name not in REPLY]
    if unknown or "value" not in said:
        problem = f"an instrument says nothing called {unknown[0]!r}" if unknown else "an instrument says a value"
        raise InvalidInput(problem, dict(said), f"Name any of {', '.join(REPLY)}; value is needed.")
    return dict(said)


class Hand:
    """What a run sees of a study: it asks under its own name, first for trials whose worker has ended.

    Parameters
    ----------
    study : Study
    by : str
        The run.
    take_over : bool
        Whether all that is under way now counts as left lying.
    n : int, optional
        How many more measurements it makes at most; all that remain by default.
    """

    def __init__(self, study: Study, by: str, take_over: bool, n: int | None = None) -> None:
        self._study = study
        self._by = by
        self._unwritten: set[int] = set()
        # As of now, with whose they are: two runs that take over must not take from each other for ever.
        self._mine_now = {asked.number: asked.by for asked in study.under_way} if take_over else {}
        self._part: int | None = None
        self.paid_out = False  # whether the next look could not be paid
        if n is not None:
            remaining, part = self.remaining, whole_number(n, "n", 1)
            if part > remaining:
                raise BudgetSpent(
                    f"n={n} measurements asked for, but only {remaining} remain. Pass fewer, or call extend()."
                )
            self._part = part

    def _left(self, asked: Asked) -> bool:
        return is_gone(asked.by) or self._mine_now.get(asked.number) == asked.by

    @property
    def budget(self) -> int:
        """Measurements that may be made in all, as far as is known."""
        return self._study.told + len(self._study.pending) + self._study._looks_left

    @property
    def timed(self) -> bool:
        """Whether trials say how long to look."""
        return bool(self._study.settings.times)

    @property
    def remaining(self) -> int:
        """Measurements that may still be begun."""
        remaining = self._study._looks_left + sum(map(self._left, self._study.under_way))
        return remaining if self._part is None else min(remaining, self._part)

    @property
    def spent(self) -> str:
        """What has been spent once none remain."""
        whole = self._part is None or not self._study._looks_left
        return "the budget is spent" if whole else "the part asked for is spent"

    def is_under_way(self, trial: Trial) -> bool:
        """Tell whether a trial has neither been told nor taken back."""
        return trial in self._study.pending

    def ask(self) -> Trial:
        """Return a trial that was left lying, or else a new one."""
        trial = self._study.take_up(self._by, self._left)
        try:
            trial = self._study.ask(by=self._by) if trial is None else trial
        except BudgetSpent as error:  # by others, who are at it too; or what it would cost is more than is left
            self.paid_out = self._study.settings.priced
            raise Exhausted(str(error)) from error
        self._take(1)
        return trial

    def tell(self, trial: Trial, said: Any) -> None:
        """Take in a measurement; where the file does not take it, say what it was: it may have cost a night."""
        more = reply(said)
        value, sem = more.pop("value"), more.pop("sem", None)
        try:
            self._study.tell(trial, value, sem, **more)
        except StudyFileError as error:
            self._unwritten.add(trial.number)
            beside = "".join(f", {name} {own!r}" for name, own in more.items())
            shown = f"{value!r}, sem {sem!r}{beside}"
            log.error("trial %d was measured (%s) and not stored: %s", trial.number, shown, error)
            raise

    def give_up(self, trial: Trial) -> None:
        """Take back a trial that failed; one that was measured waits to be told."""
        if trial.number not in self._unwritten:
            self._study.give_up(trial)
        self._take(-1)

    def forgive(self, trials: Sequence[Trial]) -> None:
        """Hold give-ups against no region."""
        self._study.forgive(trials)

    def withdraw(self, trial: Trial) -> None:
        """Take back a trial that was not tried."""
        self._study.withdraw(trial)
        self._take(-1)

    def _take(self, number: int) -> None:
        """Count a measurement of the part more or less."""
        if self._part is not None:
            self._part -= number
