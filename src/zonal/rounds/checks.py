"""What may happen to a study: the checks of tell and of the other calls.

A call checks its arguments here before anything is decided; so does `plausible.py` what an event says. This module
knows a state and what is to happen to it, not how that is stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zonal.averages.feedback import Slope
from zonal.beliefs.mixture import Mixture
from zonal.errors import (
    LARGEST_STD,
    BudgetSpent,
    InvalidInput,
    TrialError,
    finite_number,
    need,
    positive_number,
    standard_deviation,
    text,
    whole_number,
)
from zonal.rounds.events import Corrected, Measured, Observed, Retracted
from zonal.rounds.outcomes import Outcome, outcomes
from zonal.rounds.prices import SLACK
from zonal.rounds.settings import checked_feedback
from zonal.spaces import Region, with_feedback

if TYPE_CHECKING:
    from zonal.rounds.state import State


def measured(state: State, value: Any, sem: Any, note: Any = "") -> tuple[float, float | None]:
    """Check a measured value, its standard error and its note; return the first two."""
    fix = "Tell one finite number, its standard error as sem=, or give the trial up."
    number = finite_number(value, "a measured value", fix)
    if not abs(state.problem.sign * number - state.prior_mean) <= LARGEST_STD:
        raise InvalidInput("a measured value is too far from the prior mean", value, fix)
    if note != "":
        text(note, "a note")
    return number, None if sem is None else standard_deviation(sem, "sem")


def seen(state: State, region: Region, minus: Region | None, sem: float | None) -> None:
    """Raise if a slope, a difference or a signed measure has no standard error, or the policy cannot use it.

    Both regions carry the feedback they were measured with.
    """
    if state.is_usual(region, minus) or state.seen_as(region, minus)[1] == 1:
        return
    what = region.name if minus is None else f"{region.name} minus {minus.name}"
    fix = "Use a policy with a Gaussian belief, such as GPOO."
    known = not state.problem.empirical
    need(known, "a policy with empirical means cannot use slopes and differences", what, fix)
    fix = "Pass its standard error: sem=. The study's noise is that of averages."
    need(sem is not None, "a slope or a difference needs a standard error", what, fix)


def slopes(state: State, region: Region, given: Any) -> tuple[Observed, ...]:
    """Check slopes of a region measured together with its average, by axis; return them as observations."""
    problem = "slopes must be a mapping from axis to (slope, sem)"
    need(isinstance(given, Mapping), problem, given, 'Pass {"x": (0.3, 0.1)}.')
    found = []
    for name, pair in given.items():
        by = checked_feedback(Slope(name), state.problem.space)
        try:
            value, sem = pair
        except (TypeError, ValueError):
            fix = f"Pass {{{name!r}: (slope, sem)}}; the study's noise is that of averages."
            raise InvalidInput(f"the slope along {name} needs its standard error", pair, fix) from None
        own = with_feedback(region, by)
        value, sem = measured(state, value, sem)
        seen(state, own, None, sem)
        found.append(Observed(own, value, sem, 0.0, by))
    return tuple(found)


def consistent(
    state: State, slot: int, value: float, sem: float | None, noise: float, others: State | None = None
) -> None:
    """Raise if a value without noise contradicts another of the same region, if the belief is computed.

    The other values are those of `state`, or of `others`, a state in which the value was retracted.
    """
    belief = state.worked_out
    if isinstance(belief, Mixture) and state.problem.weighed(noise, sem)[0] == 0:
        belief.check(slot, state.problem.sign * value, (others or state).ledger)


def corrected(state: State, fact: Corrected) -> None:
    """Raise if a correction contradicts another value of the same region, as `consistent` does."""
    slot, noise, _ = state.origin(fact.observed, fact.number)
    if state.problem.weighed(noise, fact.sem)[0] == 0:
        others = state.apply((Retracted(fact.number, fact.observed, "", ""),))
        consistent(state, slot, fact.value, fact.sem, noise, others)


def counted(state: State, number: int, observed: bool) -> Outcome:
    """Return the outcome of a trial or an observation that still counts; raise if there is none."""
    last = outcomes(state.history)[observed, number][-1]
    if last.value is None:
        what = "observation" if observed else "trial"
        how = "is under way" if last.state == "asked" else f"was {last.state}"
        raise TrialError(f"{what} {number} {how}, so there is no value to correct or retract.")
    return last


def payable(state: State, cost: float, region: Region) -> None:
    """Raise if the rest of the budget does not pay for a look."""
    remaining = state.remaining
    if cost > remaining + SLACK * state.budget:
        unit = state.problem.settings.cost_unit
        cost_, budget, left = (f"{own:.6g} {unit}".rstrip() for own in (cost, state.budget, remaining))
        under_way = math.fsum(asked.cost for asked in state.pending.values())
        raise BudgetSpent(
            f"a look at {region.name} costs {cost_}, and {left} of the budget of {budget} is left: "
            f"{state.spent:.6g} is spent, {under_way:.6g} is under way or asked for in the same call. "
            "Ask for fewer, or call extend(n)."
        )


def fits(state: State, fact: Measured) -> bool:
    """Tell whether the budget pays for a trial that had been given up."""
    return state.spent_on(fact)[1] <= state.remaining + SLACK * state.budget


def time_spent(state: State, time: Any) -> float | None:
    """Check the time really spent on a trial, and return it."""
    if time is None:
        return None
    timed = state.problem.settings.times
    need(timed, "this study has no times to choose", time, "Leave time out, or pass times= to Study.")
    return positive_number(time, "time")


def within_budget(state: State, number: int = 1) -> None:
    """Raise if the budget leaves fewer than `number` measurements; costs are checked later."""
    if state.problem.prices is not None:
        return
    remaining = state.budget - state.told - len(state.pending)
    if number > remaining:
        raise BudgetSpent(
            f"{number} more asked for, but of the budget of {state.budget} {state.told} are told and "
            f"{len(state.pending)} under way, so {remaining} remain. Call extend(n) for more."
        )


def added(state: State, n: Any) -> float:
    """Check what is to be added to the budget, and return it."""
    if state.problem.prices is not None:
        return positive_number(n, "what is added to the budget")
    return whole_number(n, "the number of measurements to add", 1)


def under_way(state: State, number: int) -> None:
    """Raise if a trial of this study is not under way."""
    if number not in state.pending:
        became = outcomes(state.history)[False, number][-1]
        how = became.state if became.value is None else f"told already ({became.value!r})"
        raise TrialError(f"trial {number} was {how} and can no longer be given up or withdrawn.")
