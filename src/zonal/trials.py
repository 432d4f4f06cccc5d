"""The values a study hands out: trials, records, recommendations, results: dead values, no handle to it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal.spaces import Node, Region

State = Literal["asked", "told", "given up", "withdrawn"]


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
    study : str
        The study it belongs to.
    """

    number: int
    node: Node
    region: Region
    replicate: int
    study: str = field(default="", compare=False)


@dataclass(frozen=True)
class TrialRecord(Trial):
    """A trial and what became of it.

    Attributes
    ----------
    state : {"asked", "told", "given up", "withdrawn"}
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
