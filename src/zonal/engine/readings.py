"""Readings that are not numbers with Gaussian noise: what they are, and the Gaussians that take their place.

A count, a number of positives or a limit stays in its event as it was read. The posterior has a site in its place
(`gp/sites.py`): computed when the reading comes in, from what else is known then, and again with all others after
every fit; where nothing is learned, as often as models would be. Events hold the sites, so that replaying computes
none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from zonal.engine import checks, events
from zonal.engine.apply import counted_rewards
from zonal.engine.events import Reading
from zonal.engine.results import Source
from zonal.engine.trial_history import outcomes
from zonal.errors import InvalidInput, positive_number, require
from zonal.gp import sites
from zonal.gp.fit_schedule import EVERY
from zonal.gp.likelihoods import Limit
from zonal.gp.sites import Factor, Moments
from zonal.kernels.feedback import Feedback, footprints_of
from zonal.spaces import Region, with_feedback

if TYPE_CHECKING:
    from zonal.engine.state import State

GROWTH = 8  # after the first readings, sites are computed again whenever there are an eighth more
OTHER_SIDE: Mapping[Limit, Limit] = {"": "", "below": "above", "above": "below"}
SIGNS: Mapping[str, Limit] = {"<": "below", "≤": "below", ">": "above", "≥": "above"}
Event = TypeVar("Event", events.Told, events.Observed, events.Corrected)


class RawReading(NamedTuple):
    """What was read, as a user gives it."""

    value: checks.Quantity | str | None  # "<0.5" is below 0.5
    below: checks.Quantity | None = None
    above: checks.Quantity | None = None
    exposure: float | None = None

    def number(self) -> tuple[checks.Quantity, Limit]:
        """Return the value, and on which side of it the reading lies if it is a limit."""
        value, limit = self.value, ""
        if isinstance(value, str) and (sign := value.strip()[:1]) in SIGNS:
            value, limit = value.strip()[1:].removeprefix("=").strip(), SIGNS[sign]
        ways = (("below", self.below), ("above", self.above), (limit, value))
        told = [(number, side) for side, number in ways if number is not None]
        fix = "Tell a value, or below= or above= if it lies beyond what can be read."
        require(len(told) < 2, "a reading is one value or one limit", self[:3], fix)
        number, side = told[0] if told else (None, "")  # refused as any value that is no number
        if isinstance(number, str) and side:
            try:
                return float(number), side  # type: ignore[return-value]
            except ValueError:
                raise InvalidInput("a limit must be a number", self.value, 'Write "<0.5" or ">10".') from None
        return number, side  # type: ignore[return-value]  # a text that is no limit is refused as any other


def checked(
    state: State,
    given: RawReading,
    sem: checks.Quantity | None,
    note: str,
    region: Callable[[], Region],
    time: float,
    by: Feedback | None = None,
    minus: bool = False,
) -> tuple[float, float | None, Reading | None]:
    """Check what was read of a region; return the value, its standard error, and what it is if not a number.

    `by` is the feedback it was measured with, if it is not the study's own; `minus` whether it is a difference.
    """
    number, limit = given.number()
    value, error = checks.measured(state, number, sem, note, by)
    likelihood = state.problem.settings.likelihood
    counted = likelihood is not None and error is None
    fix = "Leave it out: it is for counts and proportions, told without sem=."
    require(given.exposure is None or counted, "this reading has no exposure", given.exposure, fix)
    average = not minus and (by is None or not by.slope)
    if limit:
        fix = "Tell a number."
        require(average, "a limit must be of an average, not of a slope or a difference", value, fix)
        require(
            likelihood is None, "counts and proportions have no limits", value, "Tell the count, which may be 0."
        )
        require(not state.problem.model_free, "empirical means cannot use a limit", value, fix)
        return value, error, Reading(limit, None, value, 0.0)
    if not counted or likelihood is None:
        return value, error, None
    fix = "Pass its standard error: sem=."
    require(average, "a count must be of an average; a slope or a difference needs a standard error", value, fix)
    exposure = given.exposure
    if exposure is None:
        exposure = likelihood.exposure * (region().weight if likelihood.per_weight else 1.0) * time
    exposure = positive_number(exposure, "exposure")
    likelihood.check(value, exposure)
    if state.problem.model_free:
        return value, None, Reading("", exposure, likelihood.estimate(value, exposure), 0.0)
    return value, None, Reading("", exposure, *likelihood.start(value, exposure))


def alike(before: Reading | None, now: Reading | None) -> bool:
    """Tell whether two readings are of the same kind, whatever their sites."""
    return (before and before[:2]) == (now and now[:2])


def shown(value: float, reading: Reading | None) -> str:
    """Return a reading as people write it."""
    if reading is None:
        return repr(value)
    sign = {"": "", "below": "<", "above": ">"}[reading.limit]
    return f"{sign}{value!r}" if reading.exposure is None else f"{value:g} of exposure {reading.exposure:g}"


def placed(state: State, event: Event, region: Region, noise: float, weight: float) -> Event:
    """Return an event whose reading, if it has one, has its site: given what `state` knows of the region."""
    reading, problem = event.reading, state.problem
    if reading is None or problem.model_free:
        return event
    factor = _factor(state, 0, event.value, reading, event.sem, noise, weight)
    if problem.unknowns.given is None and not state.ledger.total:  # not even the scale is known
        mean, variance = reading.mean, reading.variance
        if reading.limit:
            variance = max(abs(event.value), factor.spread**0.5) ** 2 or 1.0
    else:
        parts = state.belief.under_models(footprints_of([region], problem.target))
        means = np.array([state.prior_mean + float(centred[0]) for _, centred, _ in parts])
        shares, left = (np.array([float(np.ravel(part[at])[0]) for part in parts]) for at in (0, 2))
        middle = float(shares @ means)
        spread = max(float(shares @ (left + (means - middle) ** 2)), sites.NEARLY_EXACT)
        cavity = Moments(np.array([middle]), np.array([spread]))
        site = sites.sites([factor], cavity, problem.settings.likelihood, problem.sign)
        mean, variance = problem.sign * float(site.mean[0]), float(site.variance[0])
    placed_event: Event = event._replace(reading=reading._replace(mean=mean, variance=variance))
    return placed_event


def placed_correction(state: State, event: events.Corrected) -> events.Corrected:
    """Return a correction with its site, given all but the value that it replaces."""
    if event.reading is None or state.problem.model_free:
        return event
    others = state.apply_transaction((events.Retracted(event.number, event.observed, "", ""),))
    _, noise, weight = state.source_of(event.observed, event.number)
    if event.observed:
        seen = state.observed[event.number][1]
        region = with_feedback(seen.region, seen.feedback)
    else:
        region = state.region(state.asked[event.number].row)
    return placed(others, event, region, noise, weight)


def _factor(
    state: State,
    slot: int,
    value: float,
    reading: Reading,
    sem: float | None,
    noise: float,
    weight: float,
) -> Factor:
    """Return the likelihood of a reading."""
    if not reading.limit:
        return Factor(slot, value, "", reading.exposure or 1.0)
    problem = state.problem
    variance, weight = problem.noise.of_reward(noise, sem, weight)
    if variance is None:
        variance = (state.fit_state.fit.model.noise or 0.0) ** 2 / weight
    side = reading.limit if problem.sign > 0 else OTHER_SIDE[reading.limit]
    return Factor(slot, problem.sign * value, side, variance)


def due(state: State) -> bool:
    """Tell whether sites are to be computed again where no fit says when."""
    total, last = state.ledger.total, state.approximated_from
    return total <= EVERY or total >= last + max(1, last // GROWTH)


def approximated(state: State) -> events.Approximated | None:
    """Return the sites of all readings that are not Gaussian, given each other; None if there are none."""
    if not state.sites or state.problem.model_free:
        return None
    last = outcomes(state.history)
    sources: list[Source] = []
    factors: list[Factor] = []
    rewards, slots, starts = [], [], []
    for source, slot, reward, _ in counted_rewards(state, state.history):
        outcome = last[source][-1]
        if outcome.reading is None or outcome.value is None:
            slots.append(slot)
            rewards.append(reward)
            continue
        _, noise, weight = state.source_of(*source)
        weight = weight if outcome.time is None else outcome.time / state.created.time
        sources.append(source)
        factors.append(_factor(state, slot, outcome.value, outcome.reading, outcome.sem, noise, weight))
        starts.append(reward[:2])
    if not sources:
        return None
    problem = state.problem
    start = Moments(*np.array(starts, dtype=float).T)
    data = sites.Rewards(slots, rewards, factors, start)
    models, likelihood = state.fit_state.fit.members, problem.settings.likelihood
    refreshed = sites.refreshed(problem.frame, models, state.tracked, data, likelihood, problem.sign)
    values = zip(sources, (problem.sign * refreshed.mean).tolist(), refreshed.variance.tolist(), strict=True)
    return events.Approximated(tuple(events.Site(*source, mean, left) for source, mean, left in values))
