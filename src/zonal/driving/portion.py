"""A part of a budget: what the driver sees of a study when only so many more measurements are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zonal.driving.run import Driven
from zonal.errors import BudgetSpent, InvalidInput, whole_number
from zonal.rounds.trials import Trial


class Portion:
    """A study with at most `n` more measurements; all that remain if `n` is None."""

    def __init__(self, study: Driven, n: int | None) -> None:
        self._study = study
        remaining = study.remaining  # read once: others may be at the study too
        self._left = remaining if n is None else whole_number(n, "n", 1)
        self._whole = n is None
        if self._left > remaining:
            raise BudgetSpent(
                f"n={n} measurements asked for, but only {remaining} remain. Pass fewer, or call extend()."
            )

    @property
    def budget(self) -> int:
        """Measurements that may be made in all."""
        return self._study.budget

    @property
    def remaining(self) -> int:
        """Measurements that may still be asked for."""
        return min(self._study.remaining, self._left)

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials under way."""
        return self._study.pending

    def ask(self) -> Trial:
        """Return the next trial."""
        trial = self._study.ask()
        self._left -= 1
        return trial

    def tell(self, trial: Trial, value: float, sem: float | None = None) -> None:
        """Take in a measurement."""
        self._study.tell(trial, value, sem)

    def give_up(self, trial: Trial) -> None:
        """Take back a trial that failed."""
        self._study.give_up(trial)
        self._left += 1

    def forgive(self, trials: Sequence[Trial]) -> None:
        """Hold give-ups against no region."""
        self._study.forgive(trials)

    def withdraw(self, trial: Trial) -> None:
        """Take back a trial that was not tried."""
        self._study.withdraw(trial)
        self._left += 1

    def spent(self) -> str:
        """Return what has been spent once none remain."""
        return "the budget is spent" if self._whole or not self._study.remaining else "the part asked for is spent"


def checked_executor(executor: Any) -> Any:
    """Return an executor, or complain of a number in its place."""
    if isinstance(executor, int):
        raise InvalidInput("the second argument is an executor", executor, f"Did you mean n={executor}?")
    return executor
