"""The next trial: from the initial design or chosen by the policy, and what it costs where measurements cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import chain

import numpy as np

from zonal._types import Flags, Floats
from zonal.engine import checks
from zonal.engine.costs import SLACK, Prices
from zonal.engine.events import Asked, Labels
from zonal.engine.expand import ALL, Possible, grow, open_nodes, split_by_force
from zonal.engine.gross_errors import next_repeat, same_region
from zonal.engine.initial_design import allowed_share, allowed_within
from zonal.engine.off_grid import chosen_window, home_of, n_asked
from zonal.engine.policy import TIE, bound_policy, views
from zonal.engine.state import State
from zonal.policies.base import NONE, Reason, RoundCosts, Rows
from zonal.spaces import Node
from zonal.tree import Tree

WELL_KNOWN_SHARE = (
    0.25  # of the prior variance: a cell of the initial design with less than this left is not measured
)
MIN_ALLOWED_SHARE = (
    0.5  # of a cell of the initial design that was forbidden later: if less is allowed, none of it is measured
)
MIN_CANDIDATES = 32  # nodes to choose from where only a part of the space is possible
MAX_REFINED = 500  # nodes in one round: where the prior already knows every average, refining would not end


def ask(
    state: State, by: str, key: str = "", free: bool = False, now: Possible | None = None, labels: Labels = ()
) -> State:
    """Decide on the next trial, of what is possible `now`; return the state in which it is pending.

    A `free` trial may exceed the budget. `labels` are planned for its reading.
    """
    draft, draw, time, cost, prices = state.draft(), state.next_stream(), 1.0, 1.0, state.problem.prices
    terms = None if prices is None else _round_costs(draft, prices, by, free)
    again = next_repeat(draft, terms, now)
    window = chosen_window(draft) if again is None and terms is None and now is None else None
    if again is not None:
        row, window, time = again.row, again.window, again.time
    elif window is not None:
        row = home_of(draft, window)
    else:
        row, time = _choose(draft, state.measured + len(state.pending) + 1, draw, terms, now)
    if terms is not None:
        cost = float(terms.costs(np.array([row]), time)[0])
        if not free:
            checks.payable(draft, cost, draft.region(row))
    replicate = draft.n_measurements(row) + 1 if window is None else n_asked(draft, window) + 1
    node, limits = draft.structure.node(row), ((), ()) if now is None else (now.within, now.avoid)
    asked = Asked(len(state.asked), row, node, replicate, draw, by, key, time, cost, *limits, window, labels)
    draft.apply_event(asked)
    return draft.commit()


def as_route(state: State, after: State, by: str) -> State:
    """Return the state with the trials asked for since `state` reordered to a short route, if that is cheaper."""
    prices, draft = state.problem.prices, state.draft()
    if prices is None or not prices.travel_has_cost:
        return after
    asked = after.asked[len(state.asked) :]
    for event in chain.from_iterable(after.events[len(state.events) :]):
        if not isinstance(event, Asked):
            draft.apply_event(event)
    order, _ = prices.route(_location(state, by), [trial.node for trial in asked])
    for at in order:
        trial, number = asked[at], len(draft.asked)
        terms = _round_costs(draft, prices, by, free=True)
        cost = float(terms.costs(np.array([trial.row]), trial.time)[0])
        replicate = draft.n_measurements(trial.row) + 1
        draft.apply_event(trial._replace(number=number, replicate=replicate, draw=draft.next_stream(), cost=cost))
        draft = draft.commit().draft()
    return draft if draft.remaining >= after.remaining else after


def _location(state: State, by: str) -> Node | None:
    """Return where this worker was last, or else any worker; None if there was none."""
    row = state.last_row_by_worker.get(by, state.last_row_by_worker.get("", -1))
    return None if row < 0 else state.structure.node(row)


def _round_costs(draft: State, prices: Prices, by: str, free: bool) -> RoundCosts:
    """Return what measurements cost now, and how much may be spent."""
    location, time = _location(draft, by), draft.created.time
    left = math.inf if free else draft.remaining + SLACK * draft.budget

    def of_rows(rows: Rows) -> Floats:
        return prices.node_costs(draft.structure.nodes(rows))

    def travel(rows: Rows) -> Floats:
        if location is None or not prices.travel_has_cost:
            return np.zeros(len(rows))
        return prices.travel_costs(location, draft.structure.nodes(rows))

    return RoundCosts(prices.times, prices.time_has_cost, time, left, of_rows, travel)


def next_of_design(state: State, terms: RoundCosts | None = None, now: Possible | None = None) -> int | None:
    """Return the next row of the initial design, the cheapest first where measurements cost; None when it is done.

    What is not possible `now` is left for later: trials that were limited do not count as part of the sweep.
    """
    if state.problem.model_free or state.n_averages >= len(state.initial_design) + state.n_beside_design:
        return None
    news = (row for row in _left_of_design(state) if _is_informative(state, row, terms))
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


def reason(before: State, asked: Asked) -> tuple[Reason, Rows, Tree]:
    """Return why a trial was asked for, what its gain was compared with, and the nodes as the policy saw them.

    `before` is the state just before it, with all splits made.
    """
    prices, now = before.problem.prices, None
    if asked.within or asked.avoid:
        now = Possible(asked.within, asked.avoid)
    terms = None if prices is None else _round_costs(before, prices, asked.by, free=True)
    table, repeat = _policy_table(before, terms, now), next_repeat(before, terms, now)
    if asked.window is not None and (repeat is None or repeat.window is None):
        return "window", NONE, table
    if repeat is not None and same_region(repeat, asked):
        return "repeat", NONE, table
    if before.initial_design and next_of_design(before, terms, now) == asked.row:
        return "design", NONE, table
    t = before.measured + len(before.pending) + 1
    why, rows = bound_policy(before).reason(table, t, partial(views, before))
    return why, rows, table


def _left_of_design(state: State) -> Iterator[int]:
    """Yield the cells of the initial design not looked at yet, in place of a blocked one an allowed part of it."""
    for cell in state.initial_design:
        cut = state.structure.forbidden[cell]  # since the study began
        row = allowed_within(state, cell) if cut or cell in state.blocked else cell
        if cut and allowed_share(state, cell) < MIN_ALLOWED_SHARE:
            continue
        if row is not None and state.structure.askable[row] and not state.n_measurements(row):
            yield row


def _is_informative(state: State, row: int, terms: RoundCosts | None) -> bool:
    """Whether a cell of the initial design is worth measuring: under a given model, if not well known already.

    Where the time of a measurement is chosen too, only if a measurement of the usual time shows little. Only then
    is the gain per cost too small everywhere to tell cells apart; otherwise the policy does well without an
    initial design.
    """
    if state.problem.unknowns.given is None:
        return True
    prior = state.belief.members[0].prior[state.structure.slot[row]]
    chosen = terms is not None and terms.times.size > 1 and not state.problem.learned
    if chosen and views(state)[0].noise[row] ** 2 < prior:
        return False
    return bool(state.policy_table().std[row] ** 2 > WELL_KNOWN_SHARE * prior)


def _choose(draft: State, t: int, draw: int, terms: RoundCosts | None, now: Possible | None) -> tuple[int, float]:
    """Return the row to measure in round `t`, and for how long; nodes are split as needed."""
    first = next_of_design(draft, terms, now) if draft.initial_design else None
    if first is not None:
        return first, 1.0 if terms is None else _time(draft, first, terms)
    bound, model_views = bound_policy(draft), partial(views, draft)
    rng = partial(np.random.default_rng, [draft.created.seed, draw])
    for _ in range(MAX_REFINED):
        while not _askable(draft, now).any():
            split_by_force(draft, t, now)
        if draft.problem.policy.measures_internal_nodes:
            grow(draft, t)
            if now is not None:
                _open_inside(draft, t, now)
        table = _policy_table(draft, terms, now)
        row, time = bound.choose(table, t, model_views, rng)
        if table.askable[row] and not bound.expand_unmeasured(table, row, t):
            return row, time
        may_split = draft.may_split(row)
        open_nodes(draft, [row], expanded=True)
        if not may_split:
            return row, time
    table = _policy_table(draft, terms, now)
    row, time = bound.choose(table, t, model_views, rng)
    if now is not None and not table.askable[row]:
        row = bound.fallback_expand(table, table.askable.nonzero()[0], t)
    return row, time


def _askable(draft: State, now: Possible | None) -> Flags:
    """Tell which nodes may be asked for."""
    return draft.structure.askable if now is None else now.askable(draft)


def _policy_table(draft: State, terms: RoundCosts | None, now: Possible | None) -> Tree:
    """Return the nodes as a policy should see them."""
    table = draft.policy_table(terms)
    return table if now is None else now.seen(draft, table)


def _open_inside(draft: State, t: int, now: Possible) -> None:
    """Split nodes of what is possible until there are some to choose from: the tree may have grown elsewhere."""
    while _askable(draft, now).sum() < MIN_CANDIDATES:
        rows = (draft.structure.splittable & ~draft.structure.forbidden & (now.of_rows(draft) == ALL)).nonzero()[0]
        if not len(rows):
            return
        open_nodes(draft, [bound_policy(draft).fallback_expand(draft.policy_table(), rows, t)], expanded=False)


def _time(draft: State, row: int, terms: RoundCosts) -> float:
    """Return how long to measure a cell of the initial design: the usual time, or the nearest that can be paid."""
    if not draft.problem.policy.cost_aware:
        return float(terms.times[0])
    able = terms.times[terms.costs(np.full(terms.times.size, row), terms.times) <= terms.left]
    shorter = able[able <= terms.usual]
    return float(shorter.max() if shorter.size else able.min(initial=terms.times.max()))
