"""The next trial: from the opening sweep or chosen by the policy, and what it costs where looks have a cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from zonal.arrays import Floats
from zonal.errors import InvalidInput
from zonal.policies.rules import Rows, Terms
from zonal.rounds import checks, replies
from zonal.rounds.binding import TIE, rules
from zonal.rounds.events import Asked
from zonal.rounds.growing import grow, open_nodes, split_by_force
from zonal.rounds.prices import SLACK, Prices
from zonal.rounds.state import State
from zonal.rounds.views import views
from zonal.spaces import Node
from zonal.tree import Tree

KNOWN_SHARE = 0.25  # of the prior variance: an opening cell with less than this left is not measured
MOST_REFINED = 500  # nodes in one round: where the prior already knows every average, refining would not end


def ask(state: State, by: str, key: str = "", free: bool = False) -> State:
    """Decide on the next trial; return the state in which it is under way.

    A `free` trial may exceed the budget.
    """
    draft, draw, time, cost, prices = state.fork(), state.draw(), 1.0, 1.0, state.problem.prices
    terms = None if prices is None else _terms(draft, prices, by, free)
    row, time = _choose(draft, state.rounds + len(state.pending) + 1, draw, terms)
    if terms is not None:
        cost = float(terms.costs(np.array([row]), time)[0])
        if not free:
            checks.payable(draft, cost, draft.region(row))
    look = draft.looks_at(row) + 1
    draft.write(Asked(state.asked.size, row, draft.table.node(row), look, draw, by, key, time, cost))
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


def _terms(draft: State, prices: Prices, by: str, free: bool) -> Terms:
    """Return what looks cost now, and how much may be spent."""
    here, time = _place(draft, by), draft.began.time
    left = math.inf if free else draft.remaining + SLACK * draft.budget

    def of_rows(rows: Rows) -> Floats:
        return prices.of_nodes(draft.table.nodes(rows))

    def ways(rows: Rows) -> Floats:
        if here is None or not prices.travels:
            return np.zeros(len(rows))
        return prices.way(here, draft.table.nodes(rows))

    tour = 1
    if here is not None and prices.travels:
        tour = prices.looks_of_tour(prices.usual_price(draft.began.cheapest, time))
    return Terms(prices.times, prices.timed, time, left, of_rows, ways, tour)


def next_of_opening(state: State, terms: Terms | None = None) -> int | None:
    """Return the next row of the opening sweep, the cheapest first where looks cost; None when it is done."""
    if state.problem.empirical or state.averages >= len(state.opening):
        return None
    news = (row for row in _left_of_opening(state) if _is_news(state, row, terms))
    if terms is None:
        return next(news, None)
    left = np.array(list(news), dtype=np.intp)
    if not len(left):
        return None
    costs = terms.costs(left, terms.times.min())
    nearest = int(np.argmax(costs <= costs.min() * (1 + TIE)))  # the first of equal ones
    return int(left[nearest]) if costs[nearest] <= terms.left else None


def _left_of_opening(state: State) -> Iterator[int]:
    """Yield the cells of the opening sweep not looked at yet, in place of a barred one an allowed part of it."""
    for cell in state.opening:
        row = state.allowed_within(cell) if cell in state.barred else cell
        if row is not None and state.table.askable[row] and not state.looks_at(row):
            yield row


def _is_news(state: State, row: int, terms: Terms | None) -> bool:
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


def _choose(draft: State, t: int, draw: int, terms: Terms | None) -> tuple[int, float]:
    """Return the row to measure in round `t`, and for how long; nodes are split as needed."""
    first = next_of_opening(draft, terms) if draft.opening else None
    if first is not None:
        return first, 1.0 if terms is None else _time(draft, first, terms)
    bound, look = rules(draft), partial(views, draft)
    rng = partial(np.random.default_rng, [draft.began.seed, draw])
    for _ in range(MOST_REFINED):
        while not draft.table.askable[draft.table.askable.argmax()]:
            split_by_force(draft, t)
        if draft.problem.policy.inner:
            grow(draft, t)
        seen = draft.seen(terms)
        row, time = _checked(seen, bound.choose(seen, t, look, rng))
        if seen.askable[row] and not replies.truth(bound.refines(seen, row, t), "refines"):
            return row, time
        may_split = draft.may_split(row)
        open_nodes(draft, [row], expanded=True)
        if not may_split:
            return row, time
    seen = draft.seen(terms)
    return _checked(seen, bound.choose(seen, t, look, rng))


def _time(draft: State, row: int, terms: Terms) -> float:
    """Return how long to look at a cell of the opening: the usual time, or the nearest that can be paid."""
    if not draft.problem.policy.thrifty:
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
    able = 0 <= row < tree.depth.size and (
        tree.askable[row] or (tree.first_child[row] < 0 and not tree.smallest[row])
    )
    if not able:
        raise InvalidInput(
            "the policy chose a node that may not be measured now", row, "Choose among tree.askable."
        )
    return row, time
