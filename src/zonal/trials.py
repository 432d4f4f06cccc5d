"""The values a study hands out (trials, records, recommendations, results: dead values) and its book of trials."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal.errors import TrialError, whole_number
from zonal.spaces import Node, Region

State = Literal["asked", "told", "given up"]


@dataclass(frozen=True)
class Trial:
    """A measurement to make.

    Attributes
    ----------
    number : int
        Counts the trials of a study from 0.
    node : (depth, index)
        Which node of the tree.
    region : Region
        What to measure.
    replicate : int
        The how-manieth look at this region this is, counted from 1.
    """

    number: int
    node: Node
    region: Region
    replicate: int


@dataclass(frozen=True)
class TrialRecord(Trial):
    """A trial and what became of it.

    Attributes
    ----------
    state : {"asked", "told", "given up"}
    value : float or None
        As told.
    sem : float or None
        The standard error told with it, None where the study's noise applies.
    note : str
        As told.
    """

    state: State = "asked"
    value: float | None = None
    sem: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Recommendation:
    """A region to settle for, and how sure that is under the model.

    Attributes
    ----------
    region : Region
    node : (depth, index)
    mean, std : float
        Posterior mean and standard deviation of its average.
    gap : float
        With probability 1 - theta (0.9 unless asked otherwise), under the model, no region of the smallest size is
        better by more than this; NaN where the belief knows no covariances (StoOO).
    probability_best : float
        The probability, under the model, that no region of the smallest size is better.
    """

    region: Region
    node: Node
    mean: float
    std: float
    gap: float
    probability_best: float


@dataclass(frozen=True)
class Likely:
    """A region whose average probably lies beyond a threshold.

    Attributes
    ----------
    region : Region
    mean, std : float
        Posterior mean and standard deviation of its average.
    probability : float
        Of its average lying beyond the threshold, under the model.
    """

    region: Region
    mean: float
    std: float
    probability: float


class Prediction(NamedTuple):
    """Posterior mean and standard deviation of averages."""

    mean: Any
    std: Any


class Bands(NamedTuple):
    """The two kinds of doubt about a node, one entry a node, in value units.

    Attributes
    ----------
    confidence : array
        CI: the node's average lies this close to its posterior mean, with high probability.
    variation : array
        delta(depth): f varies by at most this much within the node.
    """

    confidence: NDArray[np.float64]
    variation: NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """What `maximize` and `Study.optimize` return.

    Attributes
    ----------
    region : Region
        The recommended region.
    x : array, shape (d,)
        Its centre.
    mean, std : float
        Posterior mean and standard deviation of its average.
    gap, probability_best : float
        How sure that is under the model: see `Recommendation`.
    nfev : int
        Measurements told.
    success : bool
        Whether the whole budget was spent, or the tolerance reached.
    message : str
        How it ended.
    study : Study
        The study, to look at or to go on with.
    """

    region: Region
    x: NDArray[np.float64]
    mean: float
    std: float
    gap: float
    probability_best: float
    nfev: int
    success: bool
    message: str
    study: Any

    def __repr__(self) -> str:
        """Return the answer, without the whole study."""
        shown = (
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name not in ("study", "region")
        )
        return f"Result(region={self.region.name!r}, {', '.join(shown)})"


class Outcome(NamedTuple):
    """What became of a trial."""

    state: State
    value: float | None = None
    sem: float | None = None
    note: str = ""


class TrialBook:
    """All trials of a study by number, what became of them, and the row of the table each is about.

    Attributes
    ----------
    told : int
        Trials told.
    """

    def __init__(self) -> None:
        self.told = 0
        self._trials: list[Trial] = []
        self._rows: list[int] = []
        self._outcomes: dict[int, Outcome] = {}
        self._asked: dict[int, None] = {}  # numbers of trials under way, oldest first

    @property
    def begun(self) -> int:
        """Trials told or under way."""
        return self.told + len(self._asked)

    def pending(self) -> tuple[Trial, ...]:
        """Return the trials under way, oldest first."""
        return tuple(self._trials[number] for number in self._asked)

    def records(self) -> list[TrialRecord]:
        """Return all trials and what became of them."""
        waiting = Outcome("asked")
        return [
            TrialRecord(**vars(trial), **self._outcomes.get(trial.number, waiting)._asdict())
            for trial in self._trials
        ]

    def ask(self, row: int, region: Region, replicate: int) -> Trial:
        """Enter a new trial."""
        assert region.node is not None
        trial = Trial(len(self._trials), region.node, region, replicate)
        self._trials.append(trial)
        self._rows.append(row)
        self._asked[trial.number] = None
        return trial

    def forget(self, number: int) -> None:
        """Strike out the last trials, as if they had not been asked for."""
        for _ in range(number):
            self._rows.pop()
            del self._asked[self._trials.pop().number]

    def end(self, number: int, outcome: Outcome) -> None:
        """Enter what became of a trial under way."""
        del self._asked[number]
        self._outcomes[number] = outcome
        self.told += outcome.state == "told"

    def under_way(self, trial: Trial | int) -> tuple[int, int]:
        """Return number and row of a trial that is under way, or complain."""
        number = trial.number if isinstance(trial, Trial) else whole_number(trial, "a trial", 0)
        ours = self._trials[number] if number < len(self._trials) else None
        same = trial is ours or not isinstance(trial, Trial)
        if ours is None or not (same or vars(ours).items() <= vars(trial).items()):
            raise TrialError(
                f"{trial!r} is not a trial of this study, which has asked for {len(self._trials)}. Pass a trial "
                "that ask() returned, or its number."
            )
        if number not in self._asked:
            outcome = self._outcomes[number]
            became = f"told already ({outcome.value!r})" if outcome.state == "told" else "given up"
            raise TrialError(
                f"trial {number} was {became} and cannot be told or given up again. "
                "Use observe() for a further measurement of its region."
            )
        return number, self._rows[number]
