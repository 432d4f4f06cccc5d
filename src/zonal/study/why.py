"""Why this answer, and why this measurement: see `Study.why` and `Study.worth`.

The posterior mean is a sum of weights times readings, and a measurement is worth what its reading could change.
Both are exact under the models; the sentences only repeat the numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.engine import select
from zonal.engine.apply import counted_rewards
from zonal.engine.events import Asked
from zonal.engine.results import Explanation, Observation, Trial
from zonal.engine.state import State
from zonal.errors import BudgetSpent, Exhausted, InvalidInput, UnknownTrial, require, whole_number
from zonal.gp.reading_weights import mean_shares
from zonal.io.result_table import give_or_take, number, percent
from zonal.kernels.feedback import footprints_of
from zonal.policies.base import Reason, Rows
from zonal.spaces import Region
from zonal.spaces.base import RegionLike
from zonal.study import reading_effects
from zonal.study.queries import region_of
from zonal.tree import Tree

if TYPE_CHECKING:
    from zonal.study.study import Study

UNLIKELY = 0.001  # readings that are less probable are left out of the sentences
MAX_QUESTIONS = 256  # regions whose gain a region of the user is compared with
REASONS: dict[Reason, str] = {
    "repeat": "a reading of it was far from what all others expect, and is not believed alone",
    "design": "it belongs to the initial design, which covers the space evenly",
    "gain": "its reading is expected to raise the mean of the best region most",
    "guard": "the guard asks for it: it follows the highest readings and trusts no model",
    "uncovered": "no measurement has covered this part yet",
    "window": "its reading is expected to raise the highest mean most, windows between the cells included",
    "bound": "its upper bound is the highest",
    "rule": "the rule of the policy chooses it",
}


@dataclass(frozen=True)
class ReadingWeight:
    """One reading, and how much it counts.

    Attributes
    ----------
    number : int
        Of the trial, or of the observation.
    observed : bool
        Whether it is an observation, made outside the study.
    region : Region
    value : float
        As told, or as corrected since.
    weight : float
        How much the mean rises if the value is higher by one.
    pull : float
        By how much it moves the mean, compared with a value at the prior mean.
    """

    number: int
    observed: bool
    region: Region
    value: float
    weight: float
    pull: float

    def __str__(self) -> str:
        """Return which reading it is."""
        what = "observation" if self.observed else "trial"
        return f"{what} {self.number} ({self.region.name}: {self.value:g}, weight {self.weight:.3g})"


@dataclass(frozen=True)
class Change:
    """The answer on the grid after some readings, among the regions that the tree has now.

    Attributes
    ----------
    low, high : float
        The readings: above `low` and below `high`.
    region : Region
        The best region then.
    probability : float
        Of such a reading, under the models.
    """

    low: float
    high: float
    region: Region
    probability: float


@dataclass(frozen=True)
class WhyTrial(Explanation):
    """Why a region is measured, and what its reading could change.

    Attributes
    ----------
    trial : int or None
        Its number; None for the measurement that would be asked for next.
    region : Region
    reason : {"repeat", "design", "gain", "guard", "uncovered", "bound", "rule", "window"}
    answer : Region or None
        The best region on the grid before the reading; None where the policy has another rule for its answer.
    expected, std : float
        Mean and standard deviation of the reading, its noise included; NaN without a model.
    changes : tuple of Change
        The answer after every possible reading, from the lowest one on.
    ruled_out : tuple of (low, high, probability)
        Readings after which some region is better than this answer by two standard deviations.
    gain : float
        By how much the mean of the best region is expected to rise.
    runner_up : Region or None
        The region with the next largest gain (per cost, where measurements cost).
    less : float
        The share by which the runner-up would bring less.
    unit : str
        Of readings and gain.
    """

    trial: int | None
    region: Region
    reason: Reason
    answer: Region | None = None
    expected: float = math.nan
    std: float = math.nan
    changes: tuple[Change, ...] = ()
    ruled_out: tuple[tuple[float, float, float], ...] = ()
    gain: float = math.nan
    runner_up: Region | None = None
    less: float = math.nan
    unit: str = ""

    def __str__(self) -> str:
        """Return sentences."""
        what = "The next measurement" if self.trial is None else f"Trial {self.trial}"
        lines = [f"{what} is {self.region.name}: {REASONS[self.reason]}."]
        if not math.isnan(self.expected):
            lines.append(f"Its reading is expected to be {give_or_take(self.expected, self.std, self.unit)}.")
        moved = [change for change in self.changes if self.answer is None or change.region.key != self.answer.key]
        for change in moved:
            if change.probability >= UNLIKELY:
                where = _where(change.low, change.high, self.std)
                lines.append(f"{where} the answer moves to {change.region.name}, {percent(change.probability)}.")
        if self.answer is not None and not any(change.probability >= UNLIKELY for change in moved):
            lines.append(f"No likely reading would change the best cell, {self.answer.name}.")
        for low, high, probability in self.ruled_out:
            if self.answer is not None and probability >= UNLIKELY:
                where = _where(low, high, self.std)
                lines.append(f"{where} {self.answer.name} is ruled out, {percent(probability)}.")
        if self.runner_up is not None:
            lines.append(f"The runner-up, {self.runner_up.name}, would bring {percent(self.less)} less.")
        return "\n".join(lines)


@dataclass(frozen=True)
class WhyAnswer(Explanation):
    """Why a region is the answer: its mean is `prior` plus the sum of weights times values.

    Attributes
    ----------
    region : Region
        The recommended one.
    mean, std : float
    prior : float
        The prior mean's share of the mean.
    readings : tuple of ReadingWeight
        In the order in which they came in.
    hangs_on : ReadingWeight or None
        The reading that moves the mean most.
    against : ReadingWeight or None
        The reading that counts most against the answer; None if none does.
    rival : Region or None
        The next best region, disjoint from the answer.
    rival_mean, rival_std : float
    next : WhyTrial or None
        The measurement that would be asked for next; None if nothing is left to ask for.
    unit : str
    """

    region: Region
    mean: float
    std: float
    prior: float
    readings: tuple[ReadingWeight, ...]
    hangs_on: ReadingWeight | None
    against: ReadingWeight | None
    rival: Region | None
    rival_mean: float
    rival_std: float
    next: WhyTrial | None
    unit: str = ""

    def __str__(self) -> str:
        """Return sentences."""
        lines = [f"The answer is {self.region.name}: {give_or_take(self.mean, self.std, self.unit)}."]
        if not self.readings:
            lines.append("Nothing was measured: this is the prior mean.")
        else:
            parts = f"{len(self.readings)} reading{'s' * (len(self.readings) > 1)} times their weights"
            share = number(self.prior, self.std) or "0"
            lines.append(f"Its mean is the sum of {parts}, plus {share} from the prior mean.")
        if self.hangs_on is not None:
            lines.append(f"It depends most on {self.hangs_on}.")
        if self.against is not None:
            pull = number(abs(self.against.pull), self.std)
            lines.append(f"{str(self.against).capitalize()} counts most against it, by {pull}.")
        if self.rival is not None:
            rival = give_or_take(self.rival_mean, self.rival_std, self.unit)
            lines.append(f"The next best region is {self.rival.name}: {rival}.")
        return "\n".join([*lines, *([] if self.next is None else [str(self.next)])])


@dataclass(frozen=True)
class Worth(Explanation):
    """What measuring a region would bring.

    Attributes
    ----------
    region : Region
    gain : float
        By how much the mean of the best region is expected to rise.
    relative : float
        The gain relative to that of the best region to measure.
    best : Region
        That region.
    unit : str
        Of the gain.
    """

    region: Region
    gain: float
    relative: float
    best: Region
    unit: str = ""

    def __str__(self) -> str:
        """Return a sentence."""
        rise = f"{self.gain:.3g} {self.unit}".rstrip()
        return (
            f"Measuring {self.region.name} is expected to raise the best mean by {rise}: "
            f"{percent(self.relative)} of what {self.best.name} would bring."
        )


def _where(low: float, high: float, std: float) -> str:
    """Return which readings are meant."""
    if math.isinf(low):
        return f"Below {number(high, std)}"
    return (
        f"Above {number(low, std)}" if math.isinf(high) else f"Between {number(low, std)} and {number(high, std)}"
    )


def why_answer(study: Study) -> WhyAnswer:
    """Return why the recommended region is the answer: see `Study.why`."""
    with study._lock:
        state = study._state
        best, *others = study.recommend(k=2)
        readings, prior = _readings(state, best.region)
        following = _next(study, state)
    sign, pulls = state.problem.sign, [reading.pull for reading in readings]
    most = int(np.argmax(np.abs(pulls))) if pulls else -1
    least = int(np.argmin(sign * np.array(pulls))) if pulls else -1
    rival = others[0] if others else None
    return WhyAnswer(
        region=best.region,
        mean=best.mean,
        std=best.std,
        prior=prior,
        readings=tuple(readings),
        hangs_on=readings[most] if pulls and pulls[most] else None,
        against=readings[least] if pulls and sign * pulls[least] < 0 else None,
        rival=None if rival is None else rival.region,
        rival_mean=math.nan if rival is None else rival.mean,
        rival_std=math.nan if rival is None else rival.std,
        next=following,
        unit=study.settings.value_unit,
    )


def _readings(state: State, region: Region) -> tuple[list[ReadingWeight], float]:
    """Return the weights of all readings in the mean of a region, and the prior mean's share."""
    counted, sign = counted_rewards(state, state.events), state.problem.sign
    slots, rewards = [slot for _, slot, *_ in counted], [reward for *_, reward, _ in counted]
    if state.problem.model_free:
        row = state.find(region)
        own_readings = np.array([slot == (-1 if row is None else state.measured_slot(row)) for slot in slots])
        times = own_readings * np.array([weight for *_, weight, _ in rewards])
        weights = times / max(float(times.sum()), 1e-300)
        prior, total = (0.0 if own_readings.any() else state.prior_mean), np.zeros(len(slots))
    else:
        weights, prior = mean_shares(state.belief, footprints_of([region], state.problem.target), slots, rewards)
        total = np.broadcast_to(state.tracked.totals(np.array(slots, dtype=np.intp)), len(slots))
    readings = []
    for ((observed, index), _, (reward, *_), _), weight, of in zip(counted, weights.tolist(), total, strict=True):
        where = state.observed[index][1].region if observed else state.asked_region(state.asked[index])
        pull = sign * weight * (reward - state.prior_mean * float(of))
        readings.append(ReadingWeight(index, observed, where, sign * reward, weight, pull))
    return readings, sign * prior


def _next(study: Study, state: State) -> WhyTrial | None:
    """Return why the next measurement would be asked for; None if there is none."""
    try:
        after = select.ask(state, "", free=True)
    except (BudgetSpent, Exhausted, InvalidInput):
        return None
    asked = after.asked[-1]
    return _explained(study, _before(state, after.events[-1], asked.number), asked, None)


def why_trial(study: Study, trial: Trial | int) -> WhyTrial:
    """Return why a trial was asked for: see `Study.why`."""
    of_other = isinstance(trial, Observation) or (isinstance(trial, Trial) and trial.study not in ("", study.id))
    require(not of_other, "this is not a trial of this study", trial, "Pass one of its trials, or a number.")
    index = whole_number(trial.number if isinstance(trial, Trial) else trial, "a trial", 0)
    with study._lock:
        now = study._state
        if index >= len(now.asked):
            raise UnknownTrial(f"there is no such trial; got {index}. There are {len(now.asked)}, counted from 0.")
        first, *later = now.events
        state = State.begin(now.problem, first)
        for transaction in later:
            asked = [event for event in transaction if isinstance(event, Asked) and event.number == index]
            if asked:
                return _explained(study, _before(state, transaction, index), asked[0], index)
            state = state.apply_transaction(transaction)
    raise UnknownTrial(f"there is no such trial; got {index}. Check study.trials.")


def _before(state: State, transaction: Any, index: int) -> State:
    """Return the state just before a trial was asked for in a transaction."""
    draft = state.draft()
    for event in transaction:
        if isinstance(event, Asked) and event.number == index:
            break
        draft.apply_event(event)
    return draft


def _explained(study: Study, before: State, asked: Asked, index: int | None) -> WhyTrial:
    reason, rows, table = select.reason(before, asked)
    region, unit = before.asked_region(asked), study.settings.value_unit
    if before.problem.model_free or before.has_no_posterior:
        return WhyTrial(index, region, reason, unit=unit)
    effect, sign = _effect(before, asked), before.problem.sign
    weights, means = effect.weights, effect.expected
    expected = float(weights @ means)
    is_uncertain = np.isfinite(effect.spread)
    spread = np.where(is_uncertain, effect.spread, 0.0)
    std = math.sqrt(float(weights @ (spread**2 + (means - expected) ** 2)))
    if not before.problem.policy.answers_anywhere:
        return WhyTrial(index, region, reason, expected=sign * expected, std=std, unit=unit)
    changes = [
        Change(*_ends(sign, piece), before.judged_region(piece.of), effect.probability(piece))
        for piece in effect.best_pieces()[:: 1 if sign > 0 else -1]
    ]
    out = [(*_ends(sign, piece), effect.probability(piece)) for piece in effect.ruled_out_pieces() if piece.of]
    runner_up, less = _runner_up(before, asked, rows, table)
    return WhyTrial(
        trial=index,
        region=region,
        reason=reason,
        answer=before.judged_region(effect.answer),
        expected=sign * expected,
        std=std,
        changes=tuple(changes),
        ruled_out=tuple(out[:: 1 if sign > 0 else -1]),
        gain=math.exp(effect.log_gain()),
        runner_up=None if runner_up is None else before.region(runner_up),
        less=less,
        unit=unit,
    )


def _effect(before: State, asked: Asked) -> reading_effects.ReadingEffect:
    """Return the effect of the reading of a trial."""
    if asked.window is not None:
        return reading_effects.of_region(before, asked.window, pending=False)
    return reading_effects.of_row(before, asked.row, asked.time)


def _ends(sign: float, piece: reading_effects.Piece) -> tuple[float, float]:
    """Return from where to where a piece goes, in the user's values."""
    return (piece.low, piece.high) if sign > 0 else (-piece.high, -piece.low)


def _runner_up(before: State, asked: Asked, rows: Rows, table: Tree) -> tuple[int | None, float]:
    """Return the row with the next largest gain, per cost, and the share by which it brings less."""
    others = rows[rows != asked.row]
    if not len(others) or len(others) == len(rows):
        return None, math.nan
    gains = _log_gains(before, np.append(others, asked.row), asked.time)
    if table.terms is not None:
        costs = table.terms.costs(np.append(others, asked.row), asked.time)
        gains = gains - np.log(np.maximum(costs, 1e-300))
    at = int(np.argmax(gains[:-1]))
    return int(others[at]), max(1 - math.exp(float(gains[at] - gains[-1])), 0.0)


def _log_gains(state: State, rows: Rows, time: float) -> Any:
    return np.array([reading_effects.of_row(state, row, time, pending=True).log_gain() for row in rows.tolist()])


def worth(study: Study, region: RegionLike) -> Worth:
    """Return what measuring a region would bring: see `Study.worth`."""
    with study._lock:
        state, place = study._state, region_of(study, region)
        problem, fix = "a gain needs a model", "Use a policy with a Gaussian belief."
        require(not state.problem.model_free, problem, "StoOO", fix)
        slope = place.feedback is not None and place.feedback.slope
        require(not slope, "a slope has no gain", place.feedback, "Pass the region without it.")
        table = state.policy_table()
        rows = table.askable.nonzero()[0]
        require(len(rows), "nothing is left to measure", 0, "Extend the study, or allow regions.")
        upper = table.mean[rows] + 2 * table.std[rows]
        rows = rows[np.sort(np.argsort(-upper, kind="stable")[:MAX_QUESTIONS])]
        gains = _log_gains(state, rows, state.created.time)
        log_gain = reading_effects.of_region(state, place).log_gain()
        at, top = int(np.argmax(gains)), float(gains.max())
        best = state.region(int(rows[at])) if top >= log_gain else place
        relative = math.exp(min(log_gain - top, 0.0)) if math.isfinite(max(log_gain, top)) else 0.0
    return Worth(place, math.exp(log_gain), relative, best, study.settings.value_unit)
