"""The values a study hands out: trials, records, recommendations, results. Dead values, no handles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    """A region, with the posterior mean and standard deviation of its average."""

    region: Region
    node: Node
    mean: float
    std: float
