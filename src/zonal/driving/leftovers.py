"""Trials that nobody is at any more: a run takes them up before it asks for new ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from zonal.errors import BudgetSpent, Exhausted, StudyFileError
from zonal.rounds.events import Asked
from zonal.rounds.trials import Trial
from zonal.rounds.whose import is_gone

log = logging.getLogger("zonal")


class Hand:
    """A study in the hands of one run: it is asked under the run's name, what was left lying first.

    Parameters
    ----------
    study : Study
    by : str
        The run.
    take_over : bool
        Whether all that is under way now counts as left lying.
    """

    def __init__(self, study: Shared, by: str, take_over: bool) -> None:
        self._study = study
        self._by = by
        self._unwritten: set[int] = set()
        # As of now, with whose they are: two runs that take over must not take from each other for ever.
        self._mine_now = {asked.number: asked.by for asked in study.under_way} if take_over else {}

    def _left(self, asked: Asked) -> bool:
        return is_gone(asked.by) or self._mine_now.get(asked.number) == asked.by

    @property
    def budget(self) -> int:
        """Measurements that may be made in all."""
        return self._study.budget

    @property
    def remaining(self) -> int:
        """Measurements that may still be begun."""
        return self._study.remaining + sum(map(self._left, self._study.under_way))

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials under way."""
        return self._study.pending

    def ask(self) -> Trial:
        """Return a trial that was left lying, or else a new one."""
        trial = self._study.take_up(self._by, self._left)
        try:
            return self._study.ask(by=self._by) if trial is None else trial
        except BudgetSpent as error:  # by others, who are at it too
            raise Exhausted(str(error)) from error

    def tell(self, trial: Trial, value: float, sem: float | None = None) -> None:
        """Take in a measurement; where the file does not take it, say what it was: it may have cost a night."""
        try:
            self._study.tell(trial, value, sem)
        except StudyFileError as error:
            self._unwritten.add(trial.number)
            log.error("trial %d was measured (%r, sem %r) and not stored: %s", trial.number, value, sem, error)
            raise

    def give_up(self, trial: Trial) -> None:
        """Take back a trial that failed; one that was measured waits to be told."""
        if trial.number not in self._unwritten:
            self._study.give_up(trial)

    def forgive(self, trials: Sequence[Trial]) -> None:
        """Hold give-ups against no region."""
        self._study.forgive(trials)

    def withdraw(self, trial: Trial) -> None:
        """Take back a trial that was not tried."""
        self._study.withdraw(trial)


class Shared(Protocol):
    """What a hand needs of a study."""

    @property
    def budget(self) -> int: ...  # noqa: D102
    @property
    def remaining(self) -> int: ...  # noqa: D102
    @property
    def pending(self) -> tuple[Trial, ...]: ...  # noqa: D102
    @property
    def under_way(self) -> tuple[Asked, ...]:
        """Trials under way, with whose they are."""

    def ask(self, *, by: str) -> Trial: ...  # noqa: D102
    def take_up(self, by: str, wanted: Callable[[Asked], bool]) -> Trial | None:
        """Return a trial under way that is wanted, taken from who was at it; None if there is none."""

    def tell(self, trial: Trial, value: float, sem: float | None) -> None: ...  # noqa: D102
    def give_up(self, trial: Trial) -> None: ...  # noqa: D102
    def forgive(self, trials: Sequence[Trial]) -> None: ...  # noqa: D102
    def withdraw(self, trial: Trial) -> None: ...  # noqa: D102
