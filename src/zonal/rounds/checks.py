"""What may happen to a study and what cannot have happened: the checks of tell and of the other calls.

A call checks its arguments here before anything is decided. `State.apply` checks events that did not come from a
study's own file, since somebody may have changed them. This module knows a state and what is to happen to it, not
how that is stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from zonal.averages.feedback import Slope
from zonal.averages.kernels import Kernel
from zonal.beliefs.lattice import Fit, Weighted
from zonal.beliefs.mixture import Mixture
from zonal.beliefs.model import Model
from zonal.errors import (
    LARGEST_STD,
    BudgetSpent,
    InvalidInput,
    TrialError,
    ZonalError,
    finite_number,
    positive_number,
    standard_deviation,
    text,
    whole_number,
)
from zonal.rounds.events import (
    Allowed,
    Asked,
    Began,
    Corrected,
    Doubted,
    Edited,
    Ended,
    Event,
    Expanded,
    Extended,
    Fact,
    Fitted,
    Measured,
    Observed,
    Retracted,
    Split,
    Taken,
)
from zonal.rounds.outcomes import Outcome, last_outcome, outcomes
from zonal.rounds.prices import SLACK, checked_price
from zonal.rounds.settings import Problem, checked_feedback
from zonal.spaces import Region, with_feedback

if TYPE_CHECKING:
    from zonal.rounds.state import State

WEIGHTS_TOLERANCE = 1e-6  # of the sum of model weights, which is 1
RESTORE = "Restore what Zonal wrote."


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
    if minus is None and region.feedback == state.problem.feedback:
        return
    if state.seen_as(region, minus)[1] == 1:
        return
    what = region.name if minus is None else f"{region.name} minus {minus.name}"
    if state.problem.learner is None:
        fix = "Use a policy with a Gaussian belief, such as GPOO."
        raise InvalidInput("a policy with empirical means cannot use slopes and differences", what, fix)
    if sem is None:
        fix = "Pass its standard error: sem=. The study's noise is that of averages."
        raise InvalidInput("a slope or a difference needs a standard error", what, fix)


def slopes(state: State, region: Region, given: Any) -> tuple[Observed, ...]:
    """Check slopes of a region measured together with its average, by axis; return them as observations."""
    if not isinstance(given, Mapping):
        raise InvalidInput("slopes must be a mapping from axis to (slope, sem)", given, 'Pass {"x": (0.3, 0.1)}.')
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
    if isinstance(belief, Mixture) and state.problem.variance(noise, sem) == 0:
        belief.check(slot, state.problem.sign * value, (others or state).ledger)


def corrected(state: State, fact: Corrected) -> None:
    """Raise if a correction contradicts another value of the same region, as `consistent` does."""
    slot, noise, _ = state.origin(fact.observed, fact.number)
    if state.problem.variance(noise, fact.sem) == 0:
        others = state.apply((Retracted(fact.number, fact.observed, "", ""),))
        consistent(state, slot, fact.value, fact.sem, noise, others)


def counted(state: State, number: int, observed: bool) -> Outcome:
    """Return the outcome of a trial or an observation that still counts; raise if there is none."""
    last = outcomes(state.history)[True, number][-1] if observed else last_outcome(state.history, number)
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
            f"a look at {region.name} costs {cost_}, but of the budget of {budget} {state.spent:.6g} is spent "
            f"and {under_way:.6g} under way, so {left} remains. Call extend(n) for more."
        )


def fits(state: State, fact: Measured) -> bool:
    """Tell whether the budget pays for a trial that had been given up."""
    if state.problem.prices is None:
        return state.remaining > 0
    return state.spent_on(fact)[1] <= state.remaining + SLACK * state.budget


def time_spent(state: State, time: Any) -> float | None:
    """Check the time really spent on a trial, and return it."""
    if time is None:
        return None
    if not state.problem.settings.times:
        raise InvalidInput("this study has no times to choose", time, "Leave time out, or pass times= to Study.")
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
        became = last_outcome(state.history, number)
        how = became.state if became.value is None else f"told already ({became.value!r})"
        raise TrialError(f"trial {number} was {how} and can no longer be given up or withdrawn.")


# The checks below are for events only: calls cannot cause these errors.


@contextmanager
def named(state: State, event: Event) -> Iterator[None]:
    """Name the event in an error about it."""
    try:
        yield
    except ZonalError as error:
        what = type(event[0]).__name__ if isinstance(event, tuple) and event else type(event).__name__
        error.args = (f"event {state.events.size} of the history ({what}): {error}",)
        raise


def facts(event: Any) -> Event:
    """Check that an event has facts, and return it."""
    _lists(event)
    if not event:
        raise InvalidInput("an event has at least one fact", event, RESTORE)
    made: Event = event
    return made


def began(problem: Problem, fact: Began) -> None:
    """Raise if no study can have started like this."""
    _texts(fact.id, fact.policy)
    whole_number(fact.seed, "a seed", 0)
    whole_number(fact.opening, "the depth of the opening", 0, problem.checked_depth(fact.h_max) + 1)
    standard_deviation(fact.noise, "noise")
    _flags(fact.forbidden)
    checked_price(fact.cheapest, "the cost of the cheapest look")
    positive_number(fact.time, "the usual time")
    if problem.prices is None and (fact.cheapest, fact.time) != (1, 1):
        raise InvalidInput("looks have no time or cost in this study", (fact.time, fact.cheapest), RESTORE)


def happens(state: State, fact: Fact) -> None:
    """Raise if a fact cannot have happened in this state."""
    match fact:
        case Asked():
            _texts(fact.by, fact.key)
            within_budget(state)
            _placed(state, fact)
            _priced(state, fact)
        case Taken():
            _texts(fact.by)
            _ongoing(state, fact.number)
        case Measured():
            _told(state, fact)
        case Ended():
            _flags(fact.barred)
            _ongoing(state, fact.number)
            if fact.state not in ("given up", "withdrawn") or (fact.barred and fact.state != "given up"):
                raise InvalidInput("a trial is given up or withdrawn", fact.state, RESTORE)
        case Allowed():
            _lists(fact.numbers)
            for number in fact.numbers:
                _exists(state, number)
        case Observed():
            _observed(state, fact)
        case Corrected():
            _counted(state, fact)
            measured(state, fact.value, fact.sem, fact.note)
            corrected(state, fact)
        case Retracted():
            _counted(state, fact)
        case Split():
            _split(state, fact)
        case Expanded():
            _row(state, fact.row)
        case Fitted():
            if not state.ledger.total:
                raise InvalidInput("there is nothing yet to learn from", "Fitted", RESTORE)
            _flags(fact.anew)
            _learned(state, fact.fit)
        case Doubted():
            _texts(fact.doubt)
        case Edited():
            _texts(fact.why)
        case Extended():
            added(state, fact.n)


def _placed(state: State, fact: Asked) -> None:
    """Raise if a trial is not the next one, or its node is not in the tree."""
    for number in (fact.number, fact.row, fact.replicate, fact.draw):
        whole_number(number, "a number of a trial", 0)
    row, table = fact.row, state.table
    if not (
        fact.number == state.asked.size
        and row < table.size
        and (int(table.depth[row]), int(table.index[row])) == fact.node
        and fact.replicate == int(table.looks[row]) + 1
        and fact.draw in (state.draws, *state.freed)
    ):
        raise TrialError(f"trial {fact.number} of node {fact.node} is not the next one. {RESTORE}")


def _priced(state: State, fact: Asked) -> None:
    """Raise if the trial cannot have had this time or cost."""
    positive_number(fact.time, "the time of a trial")
    prices = state.problem.prices
    timed, priced = prices is not None and prices.timed, prices is not None
    if (fact.time != 1 and not timed) or (fact.cost != 1 and not priced):
        raise InvalidInput("looks have no time or cost in this study", (fact.time, fact.cost), RESTORE)
    if prices is not None:
        payable(state, checked_price(fact.cost, "the cost of a trial"), state.region(fact.row))


def _told(state: State, fact: Measured) -> None:
    _exists(state, fact.number)
    if fact.number not in state.pending:
        became = last_outcome(state.history, fact.number)
        if became.value is not None:
            raise TrialError(f"trial {fact.number} was told already ({became.value!r}). {RESTORE}")
        if not fits(state, fact):
            raise BudgetSpent(f"trial {fact.number} was told beyond the budget. {RESTORE}")
    time_spent(state, fact.time)
    measured(state, fact.value, fact.sem, fact.note)
    row = state.asked[fact.number].row
    if fact.minus is not None:
        _seen(state, state.region(row), fact, 0.0)
        return
    consistent(state, int(state.table.slot[row]), fact.value, fact.sem, float(state.table.noise[row]))


def _counted(state: State, fact: Corrected | Retracted) -> None:
    _texts(fact.note, fact.by)
    _flags(fact.observed)
    if not fact.observed:
        _exists(state, fact.number)
    elif whole_number(fact.number, "an observation", 0) >= state.observed.size:
        raise TrialError(f"there is no observation {fact.number}: there are {state.observed.size}. {RESTORE}")
    counted(state, fact.number, fact.observed)


def _observed(state: State, fact: Observed) -> None:
    checked_feedback(fact.feedback, state.problem.space)
    _of_space(state, fact.region, fact.feedback)
    measured(state, fact.value, fact.sem)
    positive_number(fact.time, "time")
    _seen(state, fact.region, fact, standard_deviation(fact.noise, "noise"))


def _seen(state: State, region: Region, fact: Measured | Observed, noise: float) -> None:
    """Raise if this cannot have been measured of a region (minus another)."""
    if fact.minus is not None:
        _of_space(state, fact.minus, region.feedback)
    seen(state, region, fact.minus, fact.sem)
    slot = state.find_slot(region, fact.minus)
    if slot is not None:
        consistent(state, slot, fact.value, fact.sem, noise)


def _of_space(state: State, region: Any, feedback: Any) -> None:
    if not isinstance(region, Region) or region.space != state.problem.space or region.feedback != feedback:
        kind = type(region).__name__
        raise InvalidInput("this is not a region of the space, as it was measured", kind, RESTORE)
    region.check()


def _row(state: State, row: Any) -> int:
    number = whole_number(row, "a row", 0)
    if number >= state.table.size:
        raise InvalidInput("there is no such node", row, RESTORE)
    return number


def _split(state: State, fact: Split) -> None:
    """Raise if nodes cannot have been split together in this state."""
    _lists(fact.rows, fact.noise, fact.forbidden)
    _flags(fact.expanded, *fact.forbidden)
    if not fact.rows or len(set(fact.rows)) < len(fact.rows):
        raise InvalidInput("a node is split only once", fact.rows, RESTORE)
    children = 0
    for row in fact.rows:
        if not state.may_split(_row(state, row)):
            raise InvalidInput("this node may not be split", row, RESTORE)
        depth, index = int(state.table.depth[row]), int(state.table.index[row])
        children += len(state.problem.space.children(depth, index, state.cells[row])[0])
    if not all(isinstance(std, float) and 0 <= std <= LARGEST_STD for std in fact.noise):
        raise InvalidInput("the noise of every child must be 0 or more", fact.noise, RESTORE)
    if len(fact.noise) not in (0, children) or len(fact.forbidden) not in (0, children):
        raise InvalidInput("noise and forbidden need one entry per child", (fact.noise, fact.forbidden), RESTORE)
    if callable(state.problem.settings.noise) and not fact.noise:
        raise InvalidInput("noise is a function, so every child needs its noise", fact.noise, RESTORE)
    if fact.checksum is not None:
        whole_number(fact.checksum, "a checksum", 0)


def _learned(state: State, fit: Fit) -> None:
    """Raise if models cannot have been learned in this study."""
    learner = state.problem.learner
    if learner is None or not learner.learns or not isinstance(fit, Fit):
        raise InvalidInput("this cannot have been learned in this study", fit, RESTORE)
    _lists(fit.members, fit.best)
    _lists(*fit.best)
    if not all(isinstance(own, Weighted) for own in fit.members):
        raise InvalidInput("every model needs a weight", fit.members, RESTORE)
    weights = [positive_number(own.weight, "the weight of a model") for own in fit.members]
    if not math.isclose(sum(weights), 1, abs_tol=WEIGHTS_TOLERANCE):
        raise InvalidInput("the weights of models must add up to 1", weights, RESTORE)
    for model in (fit.model, *(own.model for own in fit.members)):
        _model(state.problem, model)
    families = len(state.problem.frame.families(learner.unknowns.wanted)) if fit.best else 0
    axes = len(state.problem.frame.symbols)
    for cell in fit.best:
        family, steps = cell if len(cell) == 2 else (None, ())
        whole_number(family, "a family of models", 0, families - 1)
        if not isinstance(steps, tuple) or len(steps) != axes or not all(isinstance(own, int) for own in steps):
            raise InvalidInput("this is not a place in the grid of models", cell, RESTORE)


def _model(problem: Problem, model: Any) -> None:
    unknowns = problem.unknowns
    if not isinstance(model, Model) or not isinstance(model.kernel, Kernel):
        raise InvalidInput("this is not a model", model, RESTORE)
    if unknowns.given is not None and model.kernel != unknowns.given:
        raise InvalidInput("the kernel was given, so it cannot have been learned", model.kernel, RESTORE)
    if (model.noise is not None) != unknowns.noise:
        raise InvalidInput("a model has a noise exactly where noise is learned", model.noise, RESTORE)
    if model.noise is not None:
        standard_deviation(model.noise, "noise")
    finite_number(model.mean, "a prior mean")
    whole_number(model.measurements, "the number of measurements", 0)
    spread = model.spread
    if not isinstance(spread, dict) or not all(isinstance(own, float) for own in spread.values()):
        raise InvalidInput("the spread of a parameter must be a number", model.spread, RESTORE)


def _ongoing(state: State, number: Any) -> None:
    _exists(state, number)
    under_way(state, number)


def _exists(state: State, number: Any) -> None:
    if whole_number(number, "a trial", 0) >= state.asked.size:
        raise TrialError(f"trial {number} was never asked for: there are {state.asked.size}. {RESTORE}")


def _texts(*values: Any) -> None:
    for value in values:
        text(value, "this entry")


def _lists(*values: Any) -> None:
    for value in values:
        if not isinstance(value, tuple):
            raise InvalidInput("this must be a list", value, RESTORE)


def _flags(*values: Any) -> None:
    for value in values:
        if not isinstance(value, bool):
            raise InvalidInput("this must be true or false", value, RESTORE)
