"""What may happen to a study, and what cannot have happened: the checks of tell, and of all that is beside it.

A call asks here before anything is decided. `State.apply` asks before an event that did not come from a study's
own file changes anything: somebody may have changed it. This room knows a state and what is to happen to it, never
how that was written down.
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
    plain_text,
    positive_number,
    standard_deviation,
    whole_number,
)
from zonal.rounds.events import (
    Asked,
    Batch,
    Began,
    Edited,
    Ended,
    Event,
    Extended,
    Observed,
    Refitted,
    Taken,
    Told,
)
from zonal.rounds.settings import Problem, checked_feedback
from zonal.spaces import Region

if TYPE_CHECKING:
    from zonal.rounds.state import State

ONE = 1e-6  # by which weights that add up to 1 may miss it
ANEW = "Go back to what was written."


def measured(state: State, value: Any, sem: Any, note: Any = "") -> tuple[float, float | None]:
    """Return a measured value and its standard error, or complain of them or of what was noted beside."""
    fix = "Tell one finite number, its standard error as sem=, or give the trial up."
    number = finite_number(value, "a measured value", fix)
    if not abs(state.problem.sign * number - state.prior_mean) <= LARGEST_STD:
        raise InvalidInput("a measured value is too far from the prior mean", value, fix)
    plain_text(note, "a note")
    return number, None if sem is None else standard_deviation(sem, "sem")


def within_budget(state: State, number: int = 1) -> None:
    """Complain if fewer measurements than so many may still be asked for."""
    remaining = state.budget - state.begun
    if number > remaining:
        raise BudgetSpent(
            f"{number} more asked for, but of the budget of {state.budget} {state.told} are told and "
            f"{len(state.pending)} under way, so {remaining} remain. Call extend(n) for more."
        )


def outcome(state: State, number: int) -> Told | Ended:
    """Return what became of a trial that is not under way any more."""
    ends = (event for event in reversed(tuple(state.events)) if isinstance(event, Told | Ended))
    return next(event for event in ends if event.number == number)


def under_way(state: State, number: int) -> None:
    """Complain of a trial of this study that is not under way."""
    if number not in state.pending:
        became = outcome(state, number)
        how = f"told already ({became.value!r})" if isinstance(became, Told) else became.state
        raise TrialError(f"trial {number} was {how} and cannot be given up or withdrawn any more.")


# What follows is of events only: calls cannot bring it about.


@contextmanager
def named(state: State, event: Event) -> Iterator[None]:
    """Say in a complaint of which event it is."""
    try:
        yield
    except ZonalError as error:
        error.args = (f"event {len(state.events)} of the history ({type(event).__name__}): {error}",)
        raise


def began(problem: Problem, event: Began) -> None:
    """Complain of a beginning that no study has."""
    _texts(event.id, event.policy)
    _lists(event.grown)
    whole_number(event.seed, "a seed", 0)
    whole_number(event.opening, "the depth of the opening", 0, problem.checked_depth(event.h_max) + 1)
    standard_deviation(event.noise, "noise")
    _flags(event.forbidden)


def happens(state: State, event: Event) -> None:
    """Complain of an event that cannot have happened in this state."""
    match event:
        case Asked():
            _texts(event.by, event.key)
            _lists(event.grown)
            within_budget(state)
        case Taken():
            _texts(event.by)
            _ongoing(state, event.number)
        case Told():
            _lists(event.grown)
            _told(state, event)
        case Ended():
            _lists(event.grown)
            _flags(event.barred)
            _ongoing(state, event.number)
            if event.state not in ("given up", "withdrawn") or (event.barred and event.state != "given up"):
                raise InvalidInput("a trial is given up or withdrawn", event.state, ANEW)
        case Observed():
            _lists(event.grown)
            _observed(state, event)
        case Refitted() | Edited():
            if event.fit is not None and (state.known is None or not state.known.total):
                raise InvalidInput("there is nothing yet to learn from", type(event).__name__, ANEW)
            _learned(state, event.fit, (event.why,) if isinstance(event, Edited) else ())
        case Extended():
            whole_number(event.n, "the number of measurements to add", 1)


def placed(state: State, event: Asked) -> None:
    """Complain of a trial that is not the next one, or of no node of the tree, once that is grown."""
    row = event.row
    for number in (event.number, row, event.replicate, event.draw):
        whole_number(number, "a number of a trial", 0)
    if not (
        event.number == len(state.asked)
        and row < len(state.regions)
        and state.regions[row].node == event.node
        and event.replicate == state.tree.at(row, "looks") + 1
        and event.draw in (state.draws, *state.freed)
    ):
        raise TrialError(f"trial {event.number} of node {event.node} is not the next one. {ANEW}")


def _told(state: State, event: Told) -> None:
    _exists(state, event.number)
    if event.number not in state.pending:
        became = outcome(state, event.number)
        if isinstance(became, Told):
            raise TrialError(f"trial {event.number} was told already ({became.value!r}). {ANEW}")
        within_budget(state)
    measured(state, event.value, event.sem, event.note)
    _learned(state, event.fit, event.warned)


def _observed(state: State, event: Observed) -> None:
    region, space = event.region, state.problem.space
    if not isinstance(region, Region) or region.space != space or region.feedback != event.feedback:
        kind = type(region).__name__
        raise InvalidInput("this is no region of the space, seen as it was measured", kind, ANEW)
    checked_feedback(event.feedback, space)
    region.check()
    measured(state, event.value, event.sem)
    standard_deviation(event.noise, "noise")
    _learned(state, event.fit, event.warned)


def split(state: State, batch: Batch) -> None:
    """Complain of nodes that cannot have been split together in this state."""
    tree, rows = state.tree, set()
    _lists(batch)
    for row, expanded, noise, forbidden, _ in batch:
        _lists(noise, forbidden)
        if not 0 <= whole_number(row, "a row", 0) < tree.size or row in rows:
            raise InvalidInput("there is no such node to split", row, ANEW)
        if noise and not tree.at(row, "splittable"):
            raise InvalidInput("this node may not be split", row, ANEW)
        rows.add(row)
        _flags(expanded, *forbidden)
        right = all(isinstance(std, float) and 0 <= std <= LARGEST_STD for std in noise)
        if not right or len(noise) != len(forbidden):
            raise InvalidInput("every child has a noise, and may be forbidden", (noise, forbidden), ANEW)


def _learned(state: State, fit: Fit | None, said: tuple[str, ...]) -> None:
    """Complain of models that cannot have been learned in this study, or of what was said with them."""
    _lists(said)
    _texts(*said)
    if fit is None:
        return
    learner = state.problem.learner
    if learner is None or not learner.learns or not isinstance(fit, Fit):
        raise InvalidInput("this cannot have been learned here", fit, ANEW)
    _lists(fit.members, fit.best)
    _lists(*fit.best)
    if not all(isinstance(own, Weighted) for own in fit.members):
        raise InvalidInput("a model that stands for others has a weight", fit.members, ANEW)
    weights = [positive_number(own.weight, "the weight of a model") for own in fit.members]
    if not math.isclose(sum(weights), 1, abs_tol=ONE):
        raise InvalidInput("the weights of models add up to 1", weights, ANEW)
    for model in (fit.model, *(own.model for own in fit.members)):
        _model(state.problem, model)
    families = len(state.problem.frame.families(learner.unknowns.wanted)) if fit.best else 0
    axes = len(state.problem.frame.symbols)
    for cell in fit.best:
        family, steps = cell if len(cell) == 2 else (None, ())
        whole_number(family, "a family of models", 0, families - 1)
        if not isinstance(steps, tuple) or len(steps) != axes or not all(isinstance(own, int) for own in steps):
            raise InvalidInput("this is no place among the models", cell, ANEW)


def _model(problem: Problem, model: Any) -> None:
    unknowns = problem.unknowns
    if not isinstance(model, Model) or not isinstance(model.kernel, Kernel):
        raise InvalidInput("this is no model", model, ANEW)
    if unknowns.given is not None and model.kernel != unknowns.given:
        raise InvalidInput("the kernel was given, and cannot have been learned", model.kernel, ANEW)
    if (model.noise is not None) != unknowns.noise:
        raise InvalidInput("a model has a noise where noise is learned, and nowhere else", model.noise, ANEW)
    if model.noise is not None:
        standard_deviation(model.noise, "noise")
    finite_number(model.mean, "a prior mean")
    whole_number(model.measurements, "the number of measurements", 0)
    spread = model.spread
    if not isinstance(spread, dict) or not all(isinstance(own, float) for own in spread.values()):
        raise InvalidInput("the spread of a parameter is a number", model.spread, ANEW)


def _ongoing(state: State, number: Any) -> None:
    _exists(state, number)
    under_way(state, number)


def _exists(state: State, number: Any) -> None:
    if whole_number(number, "a trial", 0) >= len(state.asked):
        raise TrialError(f"trial {number} was never asked for: there are {len(state.asked)}. {ANEW}")


def _texts(*values: Any) -> None:
    for value in values:
        plain_text(value, "what is said in words")


def _lists(*values: Any) -> None:
    for value in values:
        if not isinstance(value, tuple):
            raise InvalidInput("this must be a list", value, ANEW)


def _flags(*values: Any) -> None:
    for value in values:
        if not isinstance(value, bool):
            raise InvalidInput("this must be true or false", value, ANEW)
