"""What can have happened: the checks of an event that did not come from a study's own file.

Somebody may have changed it. `State.apply` asks here before anything in it changes a state; what a call may do is
checked by `checks.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from zonal.engine import checks, events
from zonal.engine.costs import checked_price
from zonal.engine.possible import ALL, possible
from zonal.engine.settings import Problem, checked_feedback
from zonal.engine.trial_history import outcomes
from zonal.errors import (
    BudgetSpent,
    TrialError,
    ZonalError,
    finite_number,
    need,
    positive_number,
    standard_deviation,
    text,
    whole_number,
)
from zonal.gp.hyperparameters import Fit, WeightedModel
from zonal.gp.model import Model
from zonal.kernels.base import Kernel
from zonal.spaces import Region
from zonal.spaces.base import RESTORE

if TYPE_CHECKING:
    from zonal.engine.state import State

WEIGHTS_TOLERANCE = 1e-6  # of the sum of model weights, which is 1
_need = partial(need, fix=RESTORE)
NAMES = {"number": "a trial", "seed": "a seed", "row": "a row", "note": "a note", "value": "a measured value"}
NAMES |= {"mean": "a prior mean", "measurements": "the number of measurements", "weight": "the weight of a model"}


@contextmanager
def named(state: State, event: events.Transaction) -> Iterator[None]:
    """Name the event in an error about it."""
    try:
        yield
    except ZonalError as error:
        what = type(event[0]).__name__ if isinstance(event, tuple) and event else type(event).__name__
        error.args = (f"event {state.events.size} of the history ({what}): {error}",)
        raise


def facts(event: events.Transaction) -> events.Transaction:
    """Check that an event has facts, and return it."""
    _need(isinstance(event, tuple), "this must be a list", event)
    _need(event, "an event has at least one fact", event)
    return event


def _flag(value: Any, name: str) -> None:
    _need(isinstance(value, bool), "this must be true or false", value)


TYPES: dict[Any, Callable[[Any, str], Any]] = {
    str: text,
    bool: _flag,
    int: partial(whole_number, least=0),
    float: finite_number,
}
CLASSES = {*get_args(events.Event), Fit, WeightedModel, Model}


@cache
def _fields(kind: Any) -> list[tuple[str, Any]]:
    """Return the fields of a class with their types; a depth of -1 is possible, and checked with the space."""
    return [(name, own) for name, own in get_type_hints(kind).items() if name != "h_max"]


def _well_formed(value: Any, kind: Any, name: str = "") -> None:
    """Raise if a value is not of its type; types that are not listed here are checked where they matter."""
    if kind in TYPES:
        TYPES[kind](value, name)
    elif kind in CLASSES:
        wanted = "model with its weight" if kind is WeightedModel else kind.__name__
        _need(isinstance(value, kind), f"this must be a {wanted}", value)
        for part, own in _fields(kind):
            _well_formed(getattr(value, part), own, NAMES.get(part, "this entry"))
    elif get_args(kind)[1:] == (...,):
        _need(isinstance(value, tuple), "this must be a list", value)
        for item in value:
            _well_formed(item, get_args(kind)[0], name)


def began(problem: Problem, fact: events.Created) -> None:
    """Raise if no study can have started like this."""
    _well_formed(fact, events.Created)
    whole_number(fact.opening, "the depth of the opening", 0, problem.checked_depth(fact.h_max) + 1)
    standard_deviation(fact.noise, "noise")
    checked_price(fact.cheapest, "the cost of the cheapest look")
    positive_number(fact.time, "the usual time")
    plain = problem.prices is not None or (fact.cheapest, fact.time) == (1, 1)
    _need(plain, "looks have no time or cost in this study", (fact.time, fact.cheapest))


def happens(state: State, fact: events.Event) -> None:
    """Raise if a fact cannot have happened in this state."""
    _need(type(fact) in get_args(events.Event), "this is not a fact", fact)
    _well_formed(fact, type(fact))
    if type(fact) in HAPPENS:
        HAPPENS[type(fact)](state, fact)


def _asked(state: State, fact: events.Asked) -> None:
    """Raise if a trial is not the next one, or its node is not in the tree, or it cannot be paid."""
    checks.within_budget(state)
    row, table = fact.row, state.structure
    found = row < table.size and table.node(row) == fact.node
    following = (fact.number, fact.replicate) == (state.asked.size, state.n_measurements(row) + 1)
    drawn = fact.draw in (state.rng_streams, *state.free_streams)
    if not (found and following and drawn):
        raise TrialError(f"trial {fact.number} of node {fact.node} is not the next one. {RESTORE}")
    for region in (*fact.within, *fact.avoid):
        _of_space(state, region, None)
    now = possible(fact.within, fact.avoid)
    able = now is None or now.of_rows(state)[row] == ALL
    _need(able, "this trial was not possible as it was asked for", fact.node)
    positive_number(fact.time, "the time of a trial")
    prices = state.problem.prices
    if prices is None:
        _need((fact.time, fact.cost) == (1, 1), "looks have no time or cost in this study", (fact.time, fact.cost))
        return
    _need(fact.time == 1 or prices.time_has_cost, "looks have no time in this study", fact.time)
    checks.payable(state, checked_price(fact.cost, "the cost of a trial"), state.region(fact.row))


def _told(state: State, fact: events.Told) -> None:
    _exists(state, fact.number)
    if fact.number not in state.pending:
        _untold(state, fact.number)
        if not checks.fits(state, fact):
            raise BudgetSpent(f"trial {fact.number} was told beyond the budget. {RESTORE}")
    checks.time_spent(state, fact.time)
    checks.measured(state, fact.value, fact.sem, fact.note)
    row = state.asked[fact.number].row
    if fact.minus is not None:
        _seen(state, state.region(row), fact, 0.0)
        return
    checks.consistent(
        state, int(state.structure.slot[row]), fact.value, fact.sem, state.structure.relative.item(row)
    )


def _untold(state: State, number: int) -> None:
    """Raise if a trial has a value that counts."""
    value = outcomes(state.history)[False, number][-1].value
    if value is not None or checks.told_late(state, number) is not None:
        raise TrialError(f"trial {number} was told already ({value!r}). {RESTORE}")


def _ended(state: State, fact: events.Closed) -> None:
    _ongoing(state, fact)
    ends = ("failed",) if fact.blocked else ("failed", "cancelled")
    _need(fact.state in ends, "a trial is failed or cancelled", fact.state)


def _noted(state: State, fact: events.Noted) -> None:
    _exists(state, fact.number)
    checks.valueless(state, fact.number)


def _allowed(state: State, fact: events.Unblocked) -> None:
    for number in fact.numbers:
        _exists(state, number)
    for number in fact.forbidden:
        _need(number in state.forbidden_regions, "there is no such forbidden region", number)


def _forbade(state: State, fact: events.Forbidden) -> None:
    _of_space(state, fact.region, None)
    checks.forbidden(state, fact.region)


def _counted(state: State, fact: events.Amended) -> None:
    if not fact.observed:
        _exists(state, fact.number)
    elif fact.number >= state.observed.size:
        raise TrialError(f"there is no observation {fact.number}: there are {state.observed.size}. {RESTORE}")
    checks.counted(state, fact.number, fact.observed)


def _corrected(state: State, fact: events.Corrected) -> None:
    _counted(state, fact)
    checks.measured(state, fact.value, fact.sem, fact.note)
    checks.corrected(state, fact)


def _observed(state: State, fact: events.Observed) -> None:
    checked_feedback(fact.feedback, state.problem.space)
    _of_space(state, fact.region, fact.feedback)
    checks.measured(state, fact.value, fact.sem, fact.note)
    positive_number(fact.time, "time")
    if fact.trial is not None:
        _exists(state, whole_number(fact.trial, "a trial", 0))
        ended = fact.trial not in state.pending
        own = ended and fact.region == state.region(state.asked[fact.trial].row)
        _need(own, "this is not the value of a trial that had ended", fact.trial)
        _untold(state, fact.trial)
    _seen(state, fact.region, fact, standard_deviation(fact.noise, "noise"))


def _seen(state: State, region: Region, fact: events.Told | events.Observed, noise: float) -> None:
    """Raise if this cannot have been measured of a region (minus another)."""
    if fact.minus is not None:
        _of_space(state, fact.minus, region.feedback)
    checks.usable(state, region, fact.minus, fact.sem)
    slot = state.find_slot(region, fact.minus)
    if slot is not None:
        checks.consistent(state, slot, fact.value, fact.sem, noise)


def _of_space(state: State, region: Any, feedback: Any) -> None:
    own = isinstance(region, Region) and region.space == state.problem.space and region.feedback == feedback
    _need(own, "this is not a region of the space, as it was measured", type(region).__name__)
    region.check()


def _node(state: State, row: int) -> None:
    _need(row < state.structure.size, "there is no such node", row)


def _split(state: State, fact: events.Split) -> None:
    """Raise if nodes cannot have been split together in this state."""
    rows, noise, forbidden = fact.rows, fact.noise, fact.forbidden
    _need(rows and len(set(rows)) == len(rows), "a node is split only once", rows)
    children = 0
    for row in rows:
        _node(state, row)
        _need(state.may_split(row), "this node may not be split", row)
        children += len(state.problem.space.children(*state.structure.node(row), state.cells[row])[0])
    complete = {len(noise), len(forbidden)} <= {0, children}
    _need(complete, "noise and forbidden need one entry per child", (noise, forbidden))
    said = noise or not state.problem.noise_by_region
    _need(said, "noise is a function, so every child needs its noise", noise)
    for own in noise:
        standard_deviation(own, "noise")


def _fitted(state: State, fact: events.Fitted) -> None:
    """Raise if models cannot have been learned in this study."""
    learner, fit, problem = state.problem.learner, fact.fit, state.problem
    _need(state.ledger.total, "there is nothing yet to learn from", "Fitted")
    _need(learner.learns, "this cannot have been learned in this study", fit)
    weights = [positive_number(own.weight, "the weight of a model") for own in fit.members]
    one = math.isclose(sum(weights), 1, abs_tol=WEIGHTS_TOLERANCE)
    _need(one, "the weights of models must add up to 1", weights)
    for model in (fit.model, *(own.model for own in fit.members)):
        _model(problem, model)
    families = len(problem.frame.families(learner.unknowns.wanted)) if fit.best else 0
    for cell in fit.best:
        _cell(cell, families, axes=len(problem.frame.symbols))


def _cell(cell: Any, families: int, axes: int) -> None:
    """Raise if this is no cell of the grid of models: a family, and a whole number of steps for each axis."""
    found = isinstance(cell, tuple) and len(cell) == 2 and isinstance(cell[1], tuple) and len(cell[1]) == axes
    there = found and all(type(step) is int for step in cell[1])
    _need(there, "this is not a place in the grid of models", cell)
    whole_number(cell[0], "a family of models", 0, families - 1)


def _model(problem: Problem, model: Model) -> None:
    unknowns = problem.unknowns
    _need(isinstance(model.kernel, Kernel), "this is not a model", model)
    given = unknowns.given in (None, model.kernel)
    _need(given, "the kernel was given, so it cannot have been learned", model.kernel)
    learned = (model.noise is not None) == unknowns.noise
    _need(learned, "a model has a noise exactly where noise is learned", model.noise)
    if model.noise is not None:
        standard_deviation(model.noise, "noise")
    numbers = isinstance(model.spread, dict) and all(isinstance(own, float) for own in model.spread.values())
    _need(numbers, "the spread of a parameter must be a number", model.spread)


def _ongoing(state: State, fact: events.Claimed | events.Closed) -> None:
    _exists(state, fact.number)
    checks.pending(state, fact.number)


def _exists(state: State, number: int) -> None:
    if number >= state.asked.size:
        raise TrialError(f"trial {number} was never asked for: there are {state.asked.size}. {RESTORE}")


HAPPENS: dict[type, Callable[[State, Any], object]] = {
    events.Asked: _asked,
    events.Claimed: _ongoing,
    events.Told: _told,
    events.Closed: _ended,
    events.Noted: _noted,
    events.Unblocked: _allowed,
    events.Forbidden: _forbade,
    events.Observed: _observed,
    events.Corrected: _corrected,
    events.Retracted: _counted,
    events.Split: _split,
    events.Expanded: lambda state, fact: _node(state, fact.row),
    events.Fitted: _fitted,
    events.Extended: lambda state, fact: checks.added(state, fact.n),
}
