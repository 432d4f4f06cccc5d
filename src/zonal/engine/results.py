"""The values a study returns: trials, records, recommendations, results. None of them refers back to the study."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Never

import numpy as np
from numpy.typing import NDArray

from zonal.errors import probability as checked_probability
from zonal.gp.likelihoods import Likelihood, Limit, ends
from zonal.io.hints import missing
from zonal.io.result_table import card, give_or_take, number, percent
from zonal.spaces import Region

if TYPE_CHECKING:
    from zonal.study.study import Study

Source = tuple[bool, int]  # of a reading: whether it is an observation, and its number
Certainty = Callable[[], tuple[float, float]]  # returns gap and probability_best
State = Literal["pending", "measured", "failed", "cancelled", "observed", "retracted", "set aside"]


@dataclass(frozen=True)
class Trial:
    """A measurement to make.

    Attributes
    ----------
    number : int
        Counts the trials of a study from 0.
    node : (depth, index) or None
        Which node of the tree; None for a window, which is none.
    region : Region
        What to measure.
    replicate : int
        Which measurement of this region this is, counted from 1.
    study : str
        The study it belongs to.
    time : float
        How long to measure; 1 where times are not chosen.
    cost : float
        Of the measurement, including its time and the way to its region; 1 where measurements have no cost.
    labels : tuple of (name, text)
        Planned for its reading, or told with it.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> trial = study.ask()
    >>> trial.number, trial.node, trial.region.name, trial.replicate
    (0, (1, 0), 'x 0..0.5', 1)
    """

    number: int
    node: Any  # (depth, index); None for a window
    region: Region
    replicate: int
    study: str = field(default="", compare=False)
    time: float = 1.0
    cost: float = 1.0
    labels: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            """Raise AttributeError; where another library's name was used, name the one used here."""
            raise missing("a trial", name)

    def _repr_html_(self) -> str:
        """Return the main facts, for a notebook."""
        facts: dict[str, object] = {"region": self.region.name, "replicate": self.replicate}
        if (self.time, self.cost) != (1, 1):
            facts |= {"time": self.time, "cost": self.cost}
        facts |= dict(self.labels)
        return card(f"Trial {self.number}", facts)


@dataclass(frozen=True)
class TrialRecord(Trial):
    """A trial and its outcome.

    Attributes
    ----------
    state : {"pending", "measured", "failed", "cancelled", "retracted", "set aside"}
    value : float or None
        As told, or as corrected since.
    sem : float or None
        The standard error told with it, None where the study's noise applies.
    note : str
        As told or corrected, or why the value was retracted.
    minus : Region or None
        The region whose average was subtracted, if the value is a difference.
    limit : {"", "below", "above"}
        Whether the reading lies below or above the value, which is a limit then.
    exposure : float or None
        Over how much the value was counted, if it is a count.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(1):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> (record,) = study.trials
    >>> record.state, record.value
    ('measured', 1.0)
    """

    state: State = "pending"
    value: float | None = None
    sem: float | None = None
    note: str = ""
    minus: Region | None = None
    limit: Limit = ""
    exposure: float | None = None

    def _repr_html_(self) -> str:
        """Return the trial and its outcome, for a notebook."""
        facts: dict[str, object] = {"region": self.region.name, "replicate": self.replicate, "state": self.state}
        return card(f"Trial {self.number}", facts if self.value is None else facts | {"value": self.value})


@dataclass(frozen=True)
class Observation:
    """A measurement made outside the study.

    Attributes
    ----------
    number : int
        Counts the observations of a study from 0.
    region : Region
        As the measurement saw it.
    value : float
        As observed, or as corrected since.
    sem : float or None
        Its standard error, None where the study's noise applies.
    note : str
        As observed, or as corrected since; why, if it was retracted.
    minus : Region or None
        The region whose average (or slope) was subtracted, if the value is a difference.
    study : str
        The study it belongs to.
    limit, exposure
        As of a `TrialRecord`.
    labels : tuple of (name, text)
        Such as its source.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> study.observe([(0, 0.5)], 0.34, sem=0.1, note="last year")
    Observation(number=0, region=<Region 'x 0..0.5'>, value=0.34, sem=0.1, note='last year', minus=None)
    >>> (observation,) = study.observations
    >>> observation.value, observation.note
    (0.34, 'last year')
    """

    number: int
    region: Region
    value: float
    sem: float | None
    note: str = ""
    minus: Region | None = None
    study: str = field(default="", compare=False, repr=False)
    limit: Limit = field(default="", repr=False)
    exposure: float | None = field(default=None, repr=False)
    labels: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation:
    """The recommended region, and how certain the recommendation is under the model.

    Attributes
    ----------
    region : Region
    node : (depth, index) or None
        None for a window, which is not a node of the tree.
    mean, std : float
        Posterior mean and standard deviation of its average.
    gap : float
        With probability 1 - theta (0.9 unless asked otherwise), under the model, no region of the smallest size is
        better by more than this; NaN where the belief knows no covariances (StoOO).
    probability_best : float
        The probability, under the model, that no region of the smallest size is better, but for those that overlap
        it by more than half along every axis.
    unit : str
        Of mean, std and gap.
    note : str
        A reason to trust gap and probability less, or "".
    stable : bool
        Whether the answer survives the deletion of any one reading: models and their weights are kept, and it has
        moved when the new answer overlaps less than half of it.
    hangs_on : tuple of str
        The readings without which it moves, such as ``("trial 17",)``; none if it is stable.
    likelihood : Counts, Proportion or None
        What was read.

    ``gap`` and ``probability_best`` take draws from the posterior, of some milliseconds: they are made when one of
    the two is first read, from what was known when the region was recommended. So is ``stable``, which may take a
    second.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(3):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> best = study.recommend()
    >>> best.node is None  # a window
    True
    >>> best.gap >= 0
    True
    """

    region: Region
    node: Any  # (depth, index); None for a window
    mean: float
    std: float
    _draw: Certainty
    unit: str = ""
    note: str = ""
    _hang: Callable[[], tuple[Source, ...]] = tuple
    likelihood: Likelihood | None = None

    @cached_property
    def hangs_on(self) -> tuple[str, ...]:
        """The readings that the answer hangs on, such as "trial 17"."""
        return tuple(f"{'observation' if observed else 'trial'} {number}" for observed, number in self._hang())

    @property
    def stable(self) -> bool:
        """Whether the answer survives the deletion of any one reading."""
        return not self.hangs_on

    def interval(self, probability: float = 0.9) -> tuple[float, float]:
        """Return the ends of the central interval that holds the average: see `Prediction.interval`."""
        low, high = ends(self.likelihood, self.mean, self.std, checked_probability(probability, "probability"))
        return float(low), float(high)

    @cached_property
    def _certainty(self) -> tuple[float, float]:
        return self._draw()

    @property
    def gap(self) -> float:
        """By how much another region may be better."""
        return self._certainty[0]

    @property
    def probability_best(self) -> float:
        """The probability that no region is better."""
        return self._certainty[1]

    def as_dict(self) -> dict[str, Any]:
        """Return all attributes by their names."""
        names = ("region", "node", "mean", "std", "gap", "probability_best", "unit")
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other: object) -> bool:
        """Tell whether all attributes are equal."""
        return isinstance(other, Recommendation) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        """Return a hash that needs no draws."""
        return hash((self.region, self.mean, self.std))

    def __reduce__(self) -> tuple[type[Recommendation], tuple[Any, ...]]:
        """Pickle, or copy, with the certainty as numbers."""
        certainty, hang = partial(tuple, self._certainty), partial(tuple, self._hang())
        parts = self.region, self.node, self.mean, self.std, certainty, self.unit, self.note, hang, self.likelihood
        return Recommendation, parts

    def __repr__(self) -> str:
        """Return the answer in one line."""
        note = f"; {self.note}" if self.note else ""
        return f"Recommendation(region={self.region.name!r}, {_sure(self)}{note})"

    def _repr_html_(self) -> str:
        """Return the answer for a notebook."""
        return card("Recommendation", answer(self) | ({"but": self.note} if self.note else {}))


@dataclass(frozen=True)
class RegionProbability:
    """A region whose average probably lies beyond a threshold.

    Attributes
    ----------
    region : Region
    mean, std : float
        Posterior mean and standard deviation of its average.
    probability : float
        That its average lies beyond the threshold, under the model.
    sigma : float
        By how many standard deviations the mean lies beyond the threshold.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(3):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> first = study.above(0.5)[0]
    >>> first.probability > 0.9
    True
    """

    region: Region
    mean: float
    std: float
    probability: float
    sigma: float = math.nan


class Explanation:
    """Numbers whose text is sentences."""

    def as_dict(self) -> dict[str, Any]:
        """Return all attributes by their names, and the sentences."""
        return {"sentences": str(self).splitlines(), **vars(self)}


class ConfidenceBands(NamedTuple):
    """The two kinds of uncertainty about a node, one entry per node, in the unit of the values.

    Attributes
    ----------
    confidence : array
        CI: with high probability the node's average lies within this distance of its posterior mean.
    variation : array
        delta(depth): f varies by at most this much within the node.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.5), noise=0.1, policy=zn.GPOO())
    >>> bands = study.confidence_bands()
    >>> bands.confidence.shape == bands.variation.shape
    True
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
    x : array of shape (d,), text or mapping
        Where it is: its centre; on categorical axes the symbols or the name (see `Region.x`).
    mean, std : float
        Posterior mean and standard deviation of its average.
    gap, probability_best : float
        How certain that is under the model: see `Recommendation`. They take draws, made when one of them is read.
    nfev : int
        Measurements told.
    success : bool
        Whether the whole budget was spent, or the tolerance reached.
    message : str
        Why it stopped.
    study : Study
        The study, to inspect or to continue.

    Examples
    --------
    >>> import zonal as zn
    >>> result = zn.maximize(lambda region: -abs(region.center[0] - 0.3), [(0, 1)], budget=9, noise=0.1, rng=0)
    >>> result.nfev, result.success
    (9, True)
    """

    region: Region
    x: Any
    mean: float
    std: float
    nfev: int
    success: bool
    message: str
    study: Study
    _answer: Recommendation

    @property
    def gap(self) -> float:
        """By how much another region may be better."""
        return self._answer.gap

    @property
    def probability_best(self) -> float:
        """The probability that no region is better."""
        return self._answer.probability_best

    @property
    def unit(self) -> str:
        """The unit of mean, std and gap."""
        return self._answer.unit

    def __repr__(self) -> str:
        """Return the answer, without the whole study."""
        return (
            f"Result(region={self.region.name!r}, x={self.x!r}, {_sure(self)}, nfev={self.nfev}, "
            f"success={self.success}, message={self.message!r})"
        )

    def _repr_html_(self) -> str:
        """Return the answer for a notebook."""
        return card("Result", answer(self) | {"measurements": self.nfev, "how it ended": self.message})


def _sure(answer: Recommendation | Result) -> str:
    """Return mean, std, gap and probability of an answer in one line."""
    shown = {name: number(getattr(answer, name), answer.std) or "nan" for name in ("mean", "std", "gap")}
    return ", ".join(f"{name}={value}" for name, value in shown.items()) + (
        f", probability_best={percent(answer.probability_best) or 'nan'}"
    )


def answer(recommended: Recommendation | Result) -> dict[str, str]:
    """Return an answer as labelled facts, for people."""
    gap = f"{number(recommended.gap, recommended.std)} {recommended.unit}".rstrip()
    sure = "9 in 10, under the model"
    better = (
        {"no region better by more than": f"{gap} ({sure})"}
        if recommended.gap != 0
        else {"no region better": sure}
    )
    return {
        "region": recommended.region.name,
        "its average": give_or_take(recommended.mean, recommended.std, recommended.unit),
        **better,
        "probability of being the best": percent(recommended.probability_best),
    }
