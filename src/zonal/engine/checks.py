"""What may happen to a study: the checks of tell and of the other calls.

A call checks its arguments here before anything is decided. This module knows a state and what is to happen to it,
not how that is stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, SupportsFloat, TypeVar

from zonal.engine.costs import SLACK
from zonal.engine.events import Corrected, Observed, Retracted, Told
from zonal.engine.trial_history import Outcome, outcomes
from zonal.errors import (
    LARGEST_STD,
    LARGEST_WHOLE,
    BudgetSpent,
    InvalidInput,
    TrialError,
    finite_number,
    mapped,
    positive_number,
    require,
    standard_deviation,
    text,
    whole_number,
    without_unit,
)
from zonal.kernels.feedback import Feedback, Slope
from zonal.spaces import Region, Space, with_feedback

if TYPE_CHECKING:
    from zonal.engine.settings import Settings
    from zonal.engine.state import State

Quantity = SupportsFloat  # a number, perhaps with a unit
Given = TypeVar("Given", bound=Quantity | None)
Slopes = Mapping[str, tuple[Quantity, Quantity | None]]  # by axis, each with its standard error


def bare(settings: Settings, value: Given, name: str, by: Feedback | None = None) -> Given:
    """Return a quantity as a number in the unit of the study's values; raise if `by` measures something else."""
    if by is None or not by.slope:
        number: Given = without_unit(value, settings.value_unit, name)
        return number
    axis = (settings.space.axes or ())[settings.space.names.index(by.slope)]
    per = f"{settings.value_unit or 'value'} per {axis.unit or f'unit of {by.slope}'}"
    slope: Given = without_unit(value, "", f"{name} of a slope along {by.slope}", f"as a number of {per}")
    return slope


def measured(
    state: State, value: Quantity, sem: Quantity | None, note: str = "", by: Feedback | None = None
) -> tuple[float, float | None]:
    """Check a measured value, its standard error and its note; return the first two.

    `by` is the feedback that the value was measured with, if it is not the study's own.
    """
    fix = "Tell one finite number and its standard error as sem=; if there is none, fail(trial)."
    settings = state.problem.settings
    number = finite_number(bare(settings, value, "a measured value", by), "a measured value", fix)
    if not abs(state.problem.sign * number - state.prior_mean) <= LARGEST_STD:
        raise InvalidInput("a measured value is too far from the prior mean", value, fix)
    text(note, "a note")
    return number, None if sem is None else standard_deviation(bare(settings, sem, "sem", by), "sem")


def usable(state: State, region: Region, minus: Region | None, sem: float | None) -> None:
    """Raise if a slope, a difference or a signed measure has no standard error, or the policy cannot use it.

    Both regions carry the feedback they were measured with.
    """
    if state.measured_by(region, minus, state.problem.feedback) or state.functional(region, minus)[1] == 1:
        return
    what = region.name if minus is None else f"{region.name} minus {minus.name}"
    fix = "Use a policy with a Gaussian belief, such as GPOO."
    has_covariances = not state.problem.model_free
    require(has_covariances, "a policy with empirical means cannot use slopes and differences", what, fix)
    fix = "Pass its standard error: sem=. The study's noise is that of averages."
    require(sem is not None, "a slope or a difference needs a standard error", what, fix)


def slope_pairs(space: Space, given: Slopes) -> Iterator[tuple[Slope, Quantity, Quantity | None]]:
    """Yield the feedback, the value and the standard error of each slope of a mapping by axis."""
    problem = "slopes must be a mapping from axis to (slope, sem)"
    require(isinstance(given, Mapping), problem, given, 'Pass {"x": (0.3, 0.1)}.')
    for name, pair in mapped(given, problem, 'Pass {"x": (0.3, 0.1)}.').items():
        by = Slope(name)
        by.check(space)
        try:
            value, sem = pair
        except Exception:  # whatever a user's object raises
            fix = f"Pass {{{name!r}: (slope, sem)}}; the study's noise is that of averages."
            raise InvalidInput(f"the slope along {name} needs its standard error", pair, fix) from None
        yield by, value, sem


def slopes(state: State, region: Region, given: Slopes) -> tuple[Observed, ...]:
    """Check slopes of a region measured together with its average, by axis; return them as observations."""
    observations = []
    for by, value, sem in slope_pairs(state.problem.space, given):
        slope_region = with_feedback(region, by)
        value, sem = measured(state, value, sem, by=by)
        usable(state, slope_region, None, sem)
        observations.append(Observed(slope_region, value, sem, 0.0, by))
    return tuple(observations)


def consistent(
    state: State, slot: int, value: float, sem: float | None, noise: float, others: State | None = None
) -> None:
    """Raise if a value without noise, to rounding, contradicts another of its region.

    The other values are those of `state`, or of `others`, a state in which the value was retracted.
    """
    variance, _ = state.problem.noise.of_reward(noise, sem)
    if variance is not None:
        state.belief.check(slot, state.problem.sign * value, variance, (others or state).ledger)


def corrected(state: State, event: Corrected) -> None:
    """Raise if a correction contradicts another value of the same region, as `consistent` does."""
    slot, noise, _ = state.source_of(event.observed, event.number)
    if not state.problem.shifts and state.problem.noise.of_reward(noise, event.sem)[0] == 0:
        others = state.apply_transaction((Retracted(event.number, event.observed, "", ""),))
        consistent(state, slot, event.value, event.sem, noise, others)


def told_late(state: State, number: int) -> int | None:
    """Return the observation that a trial became, told when the budget was spent; None if none counts."""
    late = [at for at, (_, event) in enumerate(state.observed) if event.trial == number]
    became = outcomes(state.history) if late else {}
    return next((at for at in late if became[True, at][-1].value is not None), None)


def counted(state: State, number: int, observed: bool) -> Outcome:
    """Return the outcome of a trial or an observation that still counts; raise if there is none."""
    last = outcomes(state.history)[observed, number][-1]
    if last.value is None:
        what = "observation" if observed else "trial"
        how = "is pending" if last.state == "pending" else f"was {last.state}"
        raise TrialError(f"{what} {number} {how}, so there is no value to correct or retract.")
    return last


def payable(state: State, cost: float, region: Region) -> None:
    """Raise if the rest of the budget does not pay for a measurement."""
    remaining = state.remaining
    if cost > remaining + SLACK * state.budget:
        unit = state.problem.settings.cost_unit
        cost_, budget, left = (f"{amount:.6g} {unit}".rstrip() for amount in (cost, state.budget, remaining))
        pending = math.fsum(asked.cost for asked in state.pending.values())
        raise BudgetSpent(
            f"a measurement of {region.name} costs {cost_}, and {left} of the budget of {budget} is left: "
            f"{state.spent:.6g} is spent, {pending:.6g} is pending or asked for in the same call. "
            "Ask for fewer, or call extend(n)."
        )


def fits(state: State, event: Told) -> bool:
    """Tell whether the budget pays for a trial that had failed."""
    return state.spent_on(event)[1] <= state.remaining + SLACK * state.budget


def time_spent(state: State, time: float | None) -> float | None:
    """Check the time really spent on a trial, and return it."""
    if time is None:
        return None
    has_times = state.problem.settings.times
    require(has_times, "this study has no times to choose", time, "Leave time out, or pass times= to Study.")
    return positive_number(time, "time")


def within_budget(state: State, number: int = 1) -> None:
    """Raise if the budget leaves fewer than `number` measurements; costs are checked later."""
    if state.problem.prices is not None:
        return
    remaining = state.budget - state.measured - len(state.pending)
    if number > remaining:
        left = f"has {remaining} left, and {number} were asked for" if remaining else "is used up"
        raise BudgetSpent(
            f"the budget of {state.budget} {left}: {state.measured} measured, {len(state.pending)} pending. "
            "Call extend(n) for more."
        )


def added(state: State, n: float) -> float:
    """Check what is to be added to the budget, and return it."""
    if state.problem.prices is None:
        return whole_number(n, "the number of measurements to add", 1, LARGEST_WHOLE - int(state.budget))
    more = positive_number(n, "what is added to the budget")
    require(math.isfinite(state.budget + more), "the budget would be infinite", n, "Add less.")
    return more


def forbidden(state: State, region: Region) -> None:
    """Raise if nothing would be left to measure without a region."""
    fix = "Forbid a part of it; if nothing can be measured any more, stop asking."
    require(not region.contains(state.region(0)), "this would forbid the whole space", region.name, fix)


def anything_left(state: State, region: Region) -> None:
    """Raise if nothing is left to measure now that a region is forbidden, with others that were before."""
    table = state.structure
    left = (table.leaf & ~table.forbidden).any() or (table.splittable & ~state.inside_forbidden()).any()
    fix = "Allow what was forbidden before, or stop asking."
    require(left, "with what is forbidden already, this would leave nothing to measure", region.name, fix)


def valueless(state: State, number: int) -> None:
    """Raise if a trial has a value: its note is kept with that."""
    value = outcomes(state.history)[False, number][-1].value
    if value is not None:
        raise TrialError(f"trial {number} has the value {value!r}. Change its note with correct().")


def pending(state: State, number: int) -> None:
    """Raise if a trial of this study is not pending."""
    if number not in state.pending:
        became = outcomes(state.history)[False, number][-1]
        how = f"was {became.state}" if became.value is None else f"already has the value {became.value!r}"
        raise TrialError(f"trial {number} {how} and can no longer be failed or cancelled.")
