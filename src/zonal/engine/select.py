"""The next trial: from the initial design or chosen by the policy, and what it costs where looks have a cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from zonal._types import Flags, Floats
from zonal.engine import checks, replies
from zonal.engine.binding import TIE, bound_policy
from zonal.engine.costs import SLACK, Prices
from zonal.engine.events import Asked
from zonal.engine.expand import grow, open_nodes, split_by_force
from zonal.engine.initial_design import allowed_share, allowed_within
from zonal.engine.possible import ALL, Possible
from zonal.engine.state import State
from zonal.engine.views import views
from zonal.errors import InvalidInput
from zonal.policies.base import RoundCosts, Rows
from zonal.spaces import Node
from zonal.tree import Tree

KNOWN_SHARE = 0.25  # of the prior variance: an opening cell with less than this left is not measured
LEAST_SHARE = 0.5  # of an opening cell that was forbidden later: if less is allowed, none of it is measured
FEWEST_INSIDE = 32  # nodes to choose from where only a part of the space is possible
MOST_REFINED = 500  # nodes in one round: where the prior already knows every average, refining would not end


def ask(state: State, by: str, key: str = "", free: bool = False, now: Possible | None = None) -> State:
    """Decide on the next trial, of what is possible `now`; return the state in which it is pending.

    A `free` trial may exceed the budget.
    """
    draft, draw, time, cost, prices = state.fork(), state.draw(), 1.0, 1.0, state.problem.prices
    terms = None if prices is None else _terms(draft, prices, by, free)
    row, time = _choose(draft, state.measured + len(state.pending) + 1, draw, terms, now)
    if terms is not None:
        cost = float(terms.costs(np.array([row]), time)[0])
        if not free:
            checks.payable(draft, cost, draft.region(row))
    look = draft.looks_at(row) + 1
    node, limits = draft.table.node(row), ((), ()) if now is None else (now.within, now.avoid)
    draft.write(Asked(state.asked.size, row, node, look, draw, by, key, time, cost, *limits))
    return draft.close()


def as_tour(state: State, after: State, by: str) -> State:
    """Return the state with the trials asked for since `state` reordered to a short tour, if that is cheaper."""
    prices, draft = state.problem.prices, state.fork()
    if prices is None or not prices.travels:
        return after
    asked = after.asked.since(state.asked.size)
    for fact in chain.from_iterable(after.events.since(state.events.size)):
        if not isinstance(fact, Asked):
            draft.write(fact)
    order, _ = prices.tour(_place(state, by), [own.node for own in asked])
    for at in order:
        own, number = asked[at], draft.asked.size
        terms = _terms(draft, prices, by, free=True)
        cost = float(terms.costs(np.array([own.row]), own.time)[0])
        look = draft.looks_at(own.row) + 1
        draft.write(own._replace(number=number, replicate=look, draw=draft.draw(), cost=cost))
        draft = draft.close().fork()
    return draft if draft.remaining >= after.remaining else after


def _place(state: State, by: str) -> Node | None:
    """Return where this worker was last, or else any worker; None if there was none."""
    row = state.places.get(by, state.places.get("", -1))
    return None if row < 0 else state.table.node(row)


def _terms(draft: State, prices: Prices, by: str, free: bool) -> RoundCosts:
    """Return what looks cost now, and how much may be spent."""
    here, time = _place(draft, by), draft.began.time
    left = math.inf if free else draft.remaining + SLACK * draft.budget

    def of_rows(rows: Rows) -> Floats:
        return prices.of_nodes(draft.table.nodes(rows))

    def travel_costs(rows: Rows) -> Floats:
        if here is None or not prices.travels:
            return np.zeros(len(rows))
        return prices.travel_cost(here, draft.table.nodes(rows))

    tour = 1
    if here is not None and prices.travels:
        tour = prices.looks_of_tour(prices.usual_price(draft.began.cheapest, time))
    return RoundCosts(prices.times, prices.timed, time, left, of_rows, travel_costs, tour)


def next_of_opening(state: State, terms: RoundCosts | None = None, now: Possible | None = None) -> int | None:
    """Return the next row of the initial design, the cheapest first where looks cost; None when it is done.

    What is not possible `now` is left for later: trials that were limited do not count as part of the sweep.
    """
    if state.problem.empirical or state.averages >= len(state.opening) + state.aside:
        return None
    news = (row for row in _left_of_opening(state) if _is_news(state, row, terms))
    if now is not None:
        codes = now.of_rows(state)
        news = (row for row in news if codes[row] == ALL)
    if terms is None:
        return next(news, None)
    left = np.array(list(news), dtype=np.intp)
    if not len(left):
        return None
    costs = terms.costs(left, terms.times.min())
    nearest = int(np.argmax(costs <= costs.min() * (1 + TIE)))  # the first of equal ones
    return int(left[nearest]) if costs[nearest] <= terms.left else None


def _left_of_opening(state: State) -> Iterator[int]:
    """Yield the cells of the initial design not looked at yet, in place of a blocked one an allowed part of it."""
    for cell in state.opening:
        cut = state.table.forbidden[cell]  # since the study began
        row = allowed_within(state, cell) if cut or cell in state.blocked else cell
        if cut and allowed_share(state, cell) < LEAST_SHARE:
            continue
        if row is not None and state.table.askable[row] and not state.looks_at(row):
            yield row


def _is_news(state: State, row: int, terms: RoundCosts | None) -> bool:
    """Tell whether a cell of the opening is worth a look: under a given model, if it is not well known already.

    Where the time of a look is chosen too, only if a look of the usual time shows little. Only then is the gain
    per cost too small everywhere to tell cells apart; otherwise the policy does well without an opening.
    """
    if state.problem.unknowns.given is None:
        return True
    prior = state.belief.members[0].prior[state.table.slot[row]]
    chosen = terms is not None and terms.times.size > 1 and not state.problem.learned
    if chosen and views(state)[0].noise[row] ** 2 < prior:
        return False
    return bool(state.seen().std[row] ** 2 > KNOWN_SHARE * prior)


def _choose(draft: State, t: int, draw: int, terms: RoundCosts | None, now: Possible | None) -> tuple[int, float]:
    """Return the row to measure in round `t`, and for how long; nodes are split as needed."""
    first = next_of_opening(draft, terms, now) if draft.opening else None
    if first is not None:
        return first, 1.0 if terms is None else _time(draft, first, terms)
    bound, look = bound_policy(draft), partial(views, draft)
    rng = partial(np.random.default_rng, [draft.began.seed, draw])
    for _ in range(MOST_REFINED):
        while not _askable(draft, now).any():
            split_by_force(draft, t, now)
        if draft.problem.policy.measures_internal_nodes:
            grow(draft, t)
            if now is not None:
                _open_inside(draft, t, now)
        seen = _seen(draft, terms, now)
        row, time = _checked(seen, bound.choose(seen, t, look, rng))
        if seen.askable[row] and not replies.truth(bound.expand_unmeasured(seen, row, t), "expand_unmeasured"):
            return row, time
        may_split = draft.may_split(row)
        open_nodes(draft, [row], expanded=True)
        if not may_split:
            return row, time
    seen = _seen(draft, terms, now)
    row, time = _checked(seen, bound.choose(seen, t, look, rng))
    if now is not None and not seen.askable[row]:
        row = replies.row(bound.fallback_expand(seen, seen.askable.nonzero()[0], t), "fallback_expand", seen)
    return row, time


def _askable(draft: State, now: Possible | None) -> Flags:
    """Tell which nodes may be asked for."""
    return draft.table.askable if now is None else now.askable(draft)


def _seen(draft: State, terms: RoundCosts | None, now: Possible | None) -> Tree:
    """Return the nodes as a policy should see them."""
    seen = draft.seen(terms)
    return seen if now is None else now.seen(draft, seen)


def _open_inside(draft: State, t: int, now: Possible) -> None:
    """Split nodes of what is possible until there are some to choose from: the tree may have grown elsewhere."""
    while _askable(draft, now).sum() < FEWEST_INSIDE:
        rows = (draft.table.splittable & ~draft.table.forbidden & (now.of_rows(draft) == ALL)).nonzero()[0]
        if not len(rows):
            return
        wanted = bound_policy(draft).fallback_expand(draft.seen(), rows, t)
        row = replies.row(wanted, "fallback_expand", draft.table)
        open_nodes(draft, [row], expanded=False)


def _time(draft: State, row: int, terms: RoundCosts) -> float:
    """Return how long to look at a cell of the opening: the usual time, or the nearest that can be paid."""
    if not draft.problem.policy.cost_aware:
        return float(terms.times[0])
    able = terms.times[terms.costs(np.full(terms.times.size, row), terms.times) <= terms.left]
    shorter = able[able <= terms.usual]
    return float(shorter.max() if shorter.size else able.min(initial=terms.times.max()))


def _checked(tree: Tree, answer: Any) -> tuple[int, float]:
    """Check the row, and the time, that a policy chose; return them."""
    time = 1.0
    if tree.terms is not None:
        answer, time = replies.timed(answer, tree.terms)
    row = answer if type(answer) is int else replies.number(answer, "choose")
    if not (tree.contenders == row).any():
        raise InvalidInput(
            "the policy chose a node that may not be measured now", row, "Choose among tree.askable."
        )
    return row, time
