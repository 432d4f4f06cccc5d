"""What can have happened: the checks of an event that did not come from a study's own file.

Somebody may have changed it. `State.apply` asks here before anything in it changes a state; what a call may do is
checked by `checks.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from zonal.averages.kernels import Kernel
from zonal.beliefs.lattice import Fit, Weighted
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
from zonal.rounds import checks, events
from zonal.rounds.outcomes import last_outcome
from zonal.rounds.prices import checked_price
from zonal.rounds.settings import Problem, checked_feedback
from zonal.spaces import Region

if TYPE_CHECKING:
    from zonal.rounds.state import State

WEIGHTS_TOLERANCE = 1e-6  # of the sum of model weights, which is 1
RESTORE = "Restore what Zonal wrote."


@contextmanager
def named(state: State, event: events.Event) -> Iterator[None]:
    """Name the event in an error about it."""
    try:
        yield
    except ZonalError as error:
        what = type(event[0]).__name__ if isinstance(event, tuple) and event else type(event).__name__
        error.args = (f"event {state.events.size} of the history ({what}): {error}",)
        raise


def facts(event: Any) -> events.Event:
    """Check that an event has facts, and return it."""
    _lists(event)
    if not event:
        raise InvalidInput("an event has at least one fact", event, RESTORE)
    made: events.Event = event
    return made


def began(problem: Problem, fact: events.Began) -> None:
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


def happens(state: State, fact: events.Fact) -> None:
    """Raise if a fact cannot have happened in this state."""
    match fact:
        case events.Asked():
            _texts(fact.by, fact.key)
            checks.within_budget(state)
            _placed(state, fact)
            _priced(state, fact)
        case events.Taken():
            _texts(fact.by)
            _ongoing(state, fact.number)
        case events.Measured():
            _told(state, fact)
        case events.Ended():
            _flags(fact.barred)
            _ongoing(state, fact.number)
            if fact.state not in ("given up", "withdrawn") or (fact.barred and fact.state != "given up"):
                raise InvalidInput("a trial is given up or withdrawn", fact.state, RESTORE)
        case events.Allowed():
            _lists(fact.numbers)
            for number in fact.numbers:
                _exists(state, number)
        case events.Observed():
            _observed(state, fact)
        case events.Corrected():
            _counted(state, fact)
            checks.measured(state, fact.value, fact.sem, fact.note)
            checks.corrected(state, fact)
        case events.Retracted():
            _counted(state, fact)
        case events.Split():
            _split(state, fact)
        case events.Expanded():
            _row(state, fact.row)
        case events.Fitted():
            if not state.ledger.total:
                raise InvalidInput("there is nothing yet to learn from", "Fitted", RESTORE)
            _flags(fact.anew)
            _learned(state, fact.fit)
        case events.Doubted():
            _texts(fact.doubt)
        case events.Edited():
            _texts(fact.why)
        case events.Extended():
            checks.added(state, fact.n)


def _placed(state: State, fact: events.Asked) -> None:
    """Raise if a trial is not the next one, or its node is not in the tree."""
    for number in (fact.number, fact.row, fact.replicate, fact.draw):
        whole_number(number, "a number of a trial", 0)
    row, table = fact.row, state.table
    if not (
        fact.number == state.asked.size
        and row < table.size
        and (int(table.depth[row]), int(table.index[row])) == fact.node
        and fact.replicate == state.looks_at(row) + 1
        and fact.draw in (state.draws, *state.freed)
    ):
        raise TrialError(f"trial {fact.number} of node {fact.node} is not the next one. {RESTORE}")


def _priced(state: State, fact: events.Asked) -> None:
    """Raise if the trial cannot have had this time or cost."""
    positive_number(fact.time, "the time of a trial")
    prices = state.problem.prices
    timed, priced = prices is not None and prices.timed, prices is not None
    if (fact.time != 1 and not timed) or (fact.cost != 1 and not priced):
        raise InvalidInput("looks have no time or cost in this study", (fact.time, fact.cost), RESTORE)
    if prices is not None:
        checks.payable(state, checked_price(fact.cost, "the cost of a trial"), state.region(fact.row))


def _told(state: State, fact: events.Measured) -> None:
    _exists(state, fact.number)
    if fact.number not in state.pending:
        became = last_outcome(state.history, fact.number)
        if became.value is not None:
            raise TrialError(f"trial {fact.number} was told already ({became.value!r}). {RESTORE}")
        if not checks.fits(state, fact):
            raise BudgetSpent(f"trial {fact.number} was told beyond the budget. {RESTORE}")
    checks.time_spent(state, fact.time)
    checks.measured(state, fact.value, fact.sem, fact.note)
    row = state.asked[fact.number].row
    if fact.minus is not None:
        _seen(state, state.region(row), fact, 0.0)
        return
    checks.consistent(state, int(state.table.slot[row]), fact.value, fact.sem, state.table.noise_of(row))


def _counted(state: State, fact: events.Corrected | events.Retracted) -> None:
    _texts(fact.note, fact.by)
    _flags(fact.observed)
    if not fact.observed:
        _exists(state, fact.number)
    elif whole_number(fact.number, "an observation", 0) >= state.observed.size:
        raise TrialError(f"there is no observation {fact.number}: there are {state.observed.size}. {RESTORE}")
    checks.counted(state, fact.number, fact.observed)


def _observed(state: State, fact: events.Observed) -> None:
    checked_feedback(fact.feedback, state.problem.space)
    _of_space(state, fact.region, fact.feedback)
    checks.measured(state, fact.value, fact.sem)
    positive_number(fact.time, "time")
    _seen(state, fact.region, fact, standard_deviation(fact.noise, "noise"))


def _seen(state: State, region: Region, fact: events.Measured | events.Observed, noise: float) -> None:
    """Raise if this cannot have been measured of a region (minus another)."""
    if fact.minus is not None:
        _of_space(state, fact.minus, region.feedback)
    checks.seen(state, region, fact.minus, fact.sem)
    slot = state.find_slot(region, fact.minus)
    if slot is not None:
        checks.consistent(state, slot, fact.value, fact.sem, noise)


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


def _split(state: State, fact: events.Split) -> None:
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
    if state.problem.noise_by_region and not fact.noise:
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
    checks.under_way(state, number)


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
