"""What to do next: functions of a state that return the state after the decision and leave the given one as it is.

Decisions are made fact by fact, on a fork: each fact is written before the next is decided. Only this module calls
policies and fits, and the user's noise, delta and forbidden.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from zonal.arrays import Floats
from zonal.beliefs.lattice import Fit
from zonal.beliefs.mixture import Mixture
from zonal.errors import Exhausted, InvalidInput
from zonal.policies.rules import Rows, Rules, Setting, Terms
from zonal.rounds import checks, replies
from zonal.rounds.events import (
    Allowed,
    Asked,
    Began,
    Corrected,
    Doubted,
    Edited,
    Ended,
    Expanded,
    Extended,
    Fitted,
    Measured,
    Observed,
    Retracted,
    Split,
    Taken,
)
from zonal.rounds.prices import OPENING_SHARE, SLACK
from zonal.rounds.settings import Problem, Settings, is_of_user
from zonal.rounds.state import TOTAL_TOLERANCE, State
from zonal.rounds.variation import spread_by_depth
from zonal.rounds.views import views
from zonal.spaces import Node, Region
from zonal.theory import Variation
from zonal.tree import Tree

TIE = 1e-9  # of the prior standard deviation of a point
KNOWN_SHARE = 0.25  # of the prior variance: an opening cell with less than this left is not measured
MOST_REFINED = 500  # nodes in one round: where the prior already knows every average, refining would not end
MOST_PARTS = 64  # of an opening cell that are tested with the user's `forbidden`, to find an allowed one
GIVE_UPS = 3  # in a row, after which a region is never asked for again


def begin(settings: Settings) -> State:
    """Return the state of a new study."""
    problem = Problem(settings)
    prices, cheapest, time = problem.prices, 1.0, 1.0
    looks = problem.looks(cheapest)
    if prices is not None:
        cheapest = prices.cheapest()
        time, looks = prices.usual(settings.budget, cheapest, problem.policy.thrifty), problem.looks(cheapest)
    h_max = problem.depth(looks)
    root = problem.space.cell((0, 0), problem.feedback)
    if abs(problem.frame.layout.totals(problem.feedback.footprints([root]))[0] - 1) > TOTAL_TOLERANCE:
        fix = "Pass a feedback whose weights add up to 1 to the study, and this one to observe()."
        raise InvalidInput("the feedback of a study must be an average", problem.feedback, fix)
    noise = settings.noise
    if noise is None:
        noise = problem.learner.begin().model.noise or 0.0 if problem.learner is not None else 0.0
        noise *= math.sqrt(time)  # learned noise refers to the usual time
    began = Began(
        id=uuid.uuid4().hex[:12],
        seed=settings.seed,
        policy=repr(problem.policy),
        h_max=h_max,
        opening=problem.opening(h_max, looks) if prices is None else _opening(problem, h_max, cheapest, time),
        noise=problem.noise_of(root) if callable(noise) else noise,
        forbidden=problem.is_forbidden(root),
        cheapest=cheapest,
        time=time,
    )
    state = State(problem, began)
    for depth in range(h_max + 1 if problem.policy.whole else began.opening):
        _open(state, (state.table.depth == depth).nonzero()[0].tolist(), expanded=False)
    for row in state.of_depth(began.opening) if began.opening else ():
        _open_to_allowed(state, row)
    state.belief  # noqa: B018  # raises now if the kernel does not fit the space
    state.close()
    rules(state)  # raises now if the policy does not fit the problem
    return state


def ask(state: State, by: str, key: str = "", free: bool = False) -> State:
    """Decide on the next trial; return the state in which it is under way.

    A `free` trial may exceed the budget.
    """
    draft, draw, time, cost = state.fork(), state.draw(), 1.0, 1.0
    terms = None if state.problem.prices is None else _terms(draft, by, free)
    row, time = _choose(draft, state.rounds + len(state.pending) + 1, draw, terms)
    if terms is not None:
        cost = float(terms.costs(np.array([row]), time)[0])
        if not free:
            checks.payable(draft, cost, draft.region(row))
    table = draft.table
    node = int(table.depth[row]), int(table.index[row])
    look = table.tally(row).looks + 1
    draft.write(Asked(state.asked.size, row, node, look, draw, by, key, time, cost))
    return draft.close()


def as_tour(state: State, after: State, by: str) -> State:
    """Return the state with the trials asked for since `state` reordered to a short tour, if that is cheaper."""
    prices, draft = state.problem.prices, state.fork()
    assert prices is not None
    asked = [after.asked[at] for at in range(state.asked.size, after.asked.size)]
    for event in (after.events[at] for at in range(state.events.size, after.events.size)):
        for fact in event:
            if not isinstance(fact, Asked):
                draft.write(fact)
    order, _ = prices.tour(_place(state, by), [own.node for own in asked])
    for at in order:
        own, table, number = asked[at], draft.table, draft.asked.size
        cost = float(_terms(draft, by, free=True).costs(np.array([own.row]), own.time)[0])
        look = table.tally(own.row).looks + 1
        draft.write(own._replace(number=number, replicate=look, draw=draft.draw(), cost=cost))
        draft = draft.close().fork()
    return draft if draft.remaining >= after.remaining else after


def _place(state: State, by: str) -> Node | None:
    """Return where this worker was last, or else any worker; None if there was none."""
    row = state.places.get(by, state.places.get("", -1))
    return None if row < 0 else (int(state.table.depth[row]), int(state.table.index[row]))


def _terms(draft: State, by: str, free: bool) -> Terms:
    """Return what looks cost now, and how much may be spent."""
    prices, here = draft.problem.prices, _place(draft, by)
    assert prices is not None

    def nodes(rows: Rows) -> list[Node]:
        table = draft.table
        return list(zip(table.depth[rows].tolist(), table.index[rows].tolist(), strict=True))

    def of_rows(rows: Rows) -> Floats:
        return prices.of_rows(rows, nodes(rows), draft.region)

    def ways(rows: Rows) -> Floats:
        assert here is not None
        return prices.way(here, nodes(rows))

    left = math.inf if free else draft.remaining + SLACK * draft.budget
    goes = prices.travels and here is not None
    time, tour = draft.began.time, 1
    if goes:
        tour = prices.looks_of_tour(prices.usual_price(draft.began.cheapest, time))
    return Terms(prices.times, prices.timed, time, left, of_rows, ways if goes else None, tour)


def _opening(problem: Problem, h_max: int, cheapest: float, time: float) -> int:
    """Return the depth of the opening sweep where looks have a cost: at most 2/5 of it, travel included."""
    prices, budget = problem.prices, problem.settings.budget
    assert prices is not None
    each = prices.usual_price(cheapest, time)
    level = problem.opening(h_max, problem.looks(each))
    while level > 1 and prices.travels:
        cells = [problem.space.leaf(level, number) for number in range(problem.space.leaves(level))]
        ways = prices.tour(None, cells)[1]
        if ways > 0 and not problem.learned:
            return 0  # gain per cost does well without an opening
        if each * len(cells) + ways <= OPENING_SHARE * budget:
            break
        level -= 1
    return level


def tell(state: State, fact: Measured, beside: Sequence[Observed] = ()) -> State:
    """Record a trial's measurement, and slopes measured with it; learn; expand its node if line 6 says so."""
    draft, number = state.fork(), fact.number
    row = (state.pending if number in state.pending else state.asked)[number].row
    if fact.minus is not None:
        _agreeing(state, state.region(row), fact)
    elif fact.sem is not None or not state.table.noise[row]:
        _consistent(state, int(state.table.slot[row]), fact.value, fact.sem, float(state.table.noise[row]))
    draft.write(fact)
    for slope in beside:
        _agreeing(state, slope.region, slope)
        draft.write(slope)
    last = draft.told == state.budget if state.problem.prices is None else _is_last(draft)
    _learn(draft, state.ledger.total, last)
    if draft.table.first_child[row] < 0 and has_scale(draft):
        judged = draft.tree
        judged.std_before = state.tree.std
        if replies.truth(rules(draft).splits(judged, row, draft.rounds or 1), "splits"):
            _open(draft, [row], expanded=True)
    if state.problem.policy.inner:
        _prepare(draft)
    return draft.close()


def _is_last(state: State) -> bool:
    """Tell whether the budget is spent: nothing is under way, and even the cheapest look cannot be paid."""
    return not state.pending and state.remaining + SLACK * state.budget < state.began.cheapest


def _consistent(state: State, slot: int, value: float, sem: float | None, noise: float) -> None:
    """Raise if a value without noise contradicts an earlier one of the same region."""
    state.belief  # noqa: B018  # computed, so that a contradiction is noticed
    checks.consistent(state, slot, value, sem, noise)


def _agreeing(state: State, region: Region, fact: Measured | Observed) -> None:
    """Raise if a value without noise contradicts an earlier one of the same slope or difference."""
    slot = state.find_slot(region, fact.minus)
    if slot is not None:
        _consistent(state, slot, fact.value, fact.sem, fact.noise if isinstance(fact, Observed) else 0.0)


def observe(state: State, facts: Sequence[Observed]) -> State:
    """Record measurements of any regions, made outside the study; their noise is determined here."""
    problem, draft = state.problem, state.fork()
    for fact in facts:
        region, sem = fact.region, fact.sem
        plain = fact.minus is None and fact.feedback == problem.feedback
        if problem.learner is None and not (plain and state.find(region) is not None):
            raise InvalidInput(
                "StoOO learns about a region only from measurements of that region, and this one is not a node, "
                "or was measured with another feedback",
                region.name,
                "Use a policy with a Gaussian belief, such as GPOO.",
            )
        noise = 0.0 if sem is not None else state.usual_noise()
        if problem.noise_by_region and sem is None:
            noise = problem.noise_of(region) / math.sqrt(state.began.time)
        fact = fact._replace(noise=noise)
        _agreeing(state, region, fact)
        draft.write(fact)
    _learn(draft, state.ledger.total)
    if problem.policy.inner:
        _prepare(draft)
    return draft.close()


def correct(state: State, facts: Sequence[Corrected | Retracted]) -> State:
    """Correct or retract measurements, and learn the models from scratch; no splitting rule runs."""
    draft = state.fork()
    for fact in facts:
        if isinstance(fact, Corrected):
            state.belief  # noqa: B018  # computed, so that a contradiction is noticed
            checks.corrected(state, fact)
        draft.write(fact)
    _learn_anew(draft)
    return draft.close()


def end(state: State, number: int, given_up: bool, retry: bool) -> State:
    """Give up or withdraw a trial; a region that fails repeatedly, or lies in one that did, is barred."""
    draft, row = state.fork(), state.asked[number].row
    hopeless = (
        not retry
        or len(state.failures.get(row, ())) + 1 >= GIVE_UPS
        or bool(state.table.lineage(row) & state.barred.keys())
    )
    barred = given_up and hopeless and row not in state.barred
    if barred and draft.may_split(row):
        _open(draft, [row], expanded=draft.table.tally(row).number > 0)
    draft.write(Ended(number, "given up" if given_up else "withdrawn", barred))
    return draft.close()


def allow(state: State, region: Region) -> State | None:
    """Take back the give-ups of a region and of all within it; None if there are none."""
    name = region.name

    def inside(row: int) -> bool:
        # By name too: edges copied from printed output are rounded.
        own, *above = (state.region(at) for at in (row, *state.table.lineage(row)))
        return region.holds(own) or any(other.name == name for other in (own, *above))

    trials = [(row, number) for row, numbers in state.failures.items() for number in numbers]
    return forgive(state, [number for row, number in (*trials, *state.barred.items()) if inside(row)])


def forgive(state: State, numbers: Iterable[int]) -> State | None:
    """Take back the give-ups of trials, as far as they still count; None if none does."""
    counting = {*state.barred.values(), *(number for trials in state.failures.values() for number in trials)}
    wanted = tuple(sorted(counting.intersection(numbers)))
    return state.apply((Allowed(wanted),)) if wanted else None


def refit(state: State, anew: bool = True) -> State | None:
    """Learn the models, from scratch if `anew`; None if nothing is to be learned or nothing changed."""
    learner, known, draft = state.problem.learner, state.known, state.fork()
    if learner is None or known is None or not learner.learns or not state.ledger.total:
        return None
    stale = learner.stale(known, state.ledger.total)
    if not stale and (known.anew or not anew):
        return None
    fit = _fit(draft, anew)
    if not stale and fit == known.fit:
        return None
    draft.write(Fitted(fit, anew))
    return draft.close()


def edit(state: State, why: str) -> State:
    """Record that the history was edited by hand, and learn the models from what it says now."""
    draft, problem = state.fork(), state.problem
    draft.write(Edited(why))
    _learn_anew(draft)
    draft.close()
    # Raise now, not at the next call, if the settings do not fit the space or the model.
    rules(draft)
    if problem.noise_by_region:
        problem.noise_of(draft.region(0))
    problem.is_forbidden(draft.region(0))
    if np.isnan([draft.tree.mean, draft.tree.std]).any():
        fix = "Change fewer of the settings."
        raise InvalidInput("with these settings the posterior cannot be computed", why, fix)
    return draft


def extend(state: State, n: float) -> State:
    """Raise the budget."""
    return state.apply((Extended(n),))


def take_up(state: State, number: int, by: str) -> State:
    """Have another process, or the same one again, measure a trial whose worker has ended."""
    return state.apply((Taken(number, by),))


def rules(state: State) -> Rules:
    """Return the policy bound to the model in use; delta and ties depend on it."""
    problem, known = state.problem, state.known
    model = None if known is None else known.fit.model
    if problem.bound is None or problem.bound[0] is not model:
        problem.bound = model, _bind(problem, state)
    return problem.bound[1]


def recommend(state: State) -> int:
    """Return the row to recommend."""
    return replies.row(rules(state).recommend(state.tree), "recommend", state.tree)


def limit(state: State) -> float | None:
    """Return the threshold the policy searches above, relative to the prior mean; None if it seeks the best."""
    return rules(state).limit(state.tree, partial(views, state, False))


def bands(state: State) -> tuple[Floats, Floats]:
    """Return confidence and variation of every node, as used to choose the next trial."""
    return replies.bands(rules(state).bands(state.tree, state.rounds + 1), state.tree)


def _bind(problem: Problem, state: State) -> Rules:
    space, feedback, h_max, model = problem.space, problem.feedback, state.h_max, state.model
    kernel = problem.unknowns.given if model is None else model.kernel
    noisy = problem.learner is not None and problem.unknowns.noise
    lines = [space.axes[j] for j in space.lines] if space.axes else []
    endless = not all(axis.measure(feedback).ends for axis in lines)
    bound = problem.policy.bind(
        Setting(
            counts=state.counts,
            base=space.base,
            budget=state.looks,
            h_max=h_max,
            variation=Variation(
                reaches=lambda: np.array([space.reach(depth, feedback) for depth in range(h_max + 2)]),
                smoothness=lambda: None if kernel is None else problem.frame.smoothness(kernel),
                spread=partial(spread_by_depth, space, kernel, feedback, problem.frame, h_max),
                learned=problem.learned,
                noise_learned=noisy,
                endless=endless,
            ),
            tie=TIE * (1.0 if kernel is None else float(np.sqrt(kernel.point_variance))),
            learned=problem.learned,
            opening=opening_size(state),
            room=problem.frame.room,
            sign=problem.sign,
            zero=state.prior_mean,
        )
    )
    if not hasattr(bound, "choose"):
        raise InvalidInput("the policy's bind must return its rules", bound, "Correct the policy.")
    return bound


def opening_size(state: State) -> int:
    """Return the number of cells of the opening sweep, without leaves above its depth."""
    return sum(int(state.table.depth[row]) >= state.began.opening for row in state.opening)


def has_scale(state: State) -> bool:
    """Tell whether rewards can be compared with delta: not before their scale was learned."""
    return not state.problem.learned or (state.known is not None and state.known.fit.model.measurements > 0)


def next_of_opening(state: State, terms: Terms | None = None) -> int | None:
    """Return the next row of the opening sweep, the cheapest first where looks cost; None when it is done."""
    if not state.opening or state.known is None or state.averages >= len(state.opening):
        return None
    table = state.table
    rows = (state.allowed_within(row) if row in state.barred else row for row in state.opening)
    able = (row for row in rows if row is not None and table.askable[row] and not table.tally(row).looks)
    news = (row for row in able if _is_news(state, row, terms))
    if terms is None:
        return next(news, None)
    left = np.array(list(news), dtype=np.intp)
    if not len(left):
        return None
    costs = terms.costs(left, terms.times.min())
    nearest = int(np.argmax(costs <= costs.min() * (1 + TIE)))  # the first of equal ones
    return int(left[nearest]) if costs[nearest] <= terms.left else None


def _is_news(state: State, row: int, terms: Terms | None) -> bool:
    """Tell whether a cell of the opening is worth a look: under a given model, if it is not well known already.

    Where the time of a look is chosen too, only if a look of the usual time shows little. Only then is the gain
    per cost too small everywhere to tell cells apart; otherwise the policy does well without an opening.
    """
    if state.problem.unknowns.given is None:
        return True
    assert isinstance(state.belief, Mixture)
    prior = state.belief.members[0].belief.prior[state.table.slot[row]]
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
        while not np.logical_or.reduce(draft.table.askable):
            _split_by_force(draft, t)
        if draft.problem.policy.inner:
            _grow(draft, t)
        seen = draft.seen() if terms is None else _offered(draft.seen(), terms)
        row, time = _checked(seen, bound.choose(seen, t, look, rng))
        if seen.askable[row] and not replies.truth(bound.refines(seen, row, t), "refines"):
            return row, time
        may_split = draft.may_split(row)
        _open(draft, [row], expanded=True)
        if not may_split and seen.askable[row]:
            return row, time
    seen = draft.seen() if terms is None else _offered(draft.seen(), terms)
    return _checked(seen, bound.choose(seen, t, look, rng))


def _offered(tree: Tree, terms: Terms) -> Tree:
    """Return the table with what looks cost added."""
    twin = Tree(tree)
    twin.terms = terms
    return twin


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
        pair = isinstance(answer, tuple) and len(answer) == 2
        answer, time = (
            (answer[0], replies.time(answer[1], tree.terms)) if pair else (answer, tree.terms.times.item(0))
        )
    row = answer if type(answer) is int else replies.number(answer, "choose")
    able = 0 <= row < tree.depth.size and (
        tree.askable[row] or (tree.first_child[row] < 0 and not tree.smallest[row])
    )
    if not able:
        raise InvalidInput(
            "the policy chose a node that may not be measured now", row, "Choose among tree.askable."
        )
    return row, time


def _grow(draft: State, t: int, forgiving: bool = False) -> None:
    """Split what the policy wants split before round `t`; if `forgiving`, stop where the user's functions fail."""
    before = draft.table.size
    bound, look = rules(draft), partial(views, draft)
    while draft.table.splittable.any():
        rows = replies.rows(bound.grows(draft.seen(), t, look, draft.table.size - before), "grows", draft.table)
        able = [row for row in rows if draft.may_split(row)]
        if not able:
            return
        try:
            split = _as_split(draft, able, expanded=False)
        except Exception as error:
            if forgiving and is_of_user(error):
                return
            raise
        draft.write(split)


def _prepare(draft: State) -> None:
    """Split for the next round ahead of it, so that recommendations until then are of the smallest size.

    Noise and forbidden may be the user's functions: if one fails here, the value just told is still accepted, and
    the next ask raises the error.
    """
    _grow(draft, draft.rounds + len(draft.pending) + 1, forgiving=True)


def _split_by_force(draft: State, t: int) -> None:
    """Split the most promising leaf that may be split, since none may be asked for."""
    tree = draft.seen()
    rows = tree.splittable.nonzero()[0]
    if len(rows) == 0:
        settings, leaves = draft.problem.settings, tree.leaf
        reasons = []
        if settings.max_looks is not None:
            reasons.append(f"max_looks={settings.max_looks} measurements of each were made or are under way")
        if draft.barred:
            given_up = f"{len(draft.barred)} were given up as impossible to measure"
            reasons.append(f"{given_up} (`allow` takes that back)")
        if settings.forbidden is not None:
            reasons.append(f"{int(np.count_nonzero(tree.forbidden[leaves]))} are forbidden")
        raise Exhausted(
            f"none of the {np.count_nonzero(leaves)} smallest regions may be asked for: {'; '.join(reasons)}. "
            "Raise max_looks or the policy's h_max, lower the space's smallest, or stop here."
        )
    _open(draft, [replies.row(rules(draft).urgent(tree, rows, t), "urgent", tree)], expanded=True)


def _open(draft: State, rows: list[int], expanded: bool) -> None:
    """Split nodes in one step; if `expanded`, mark those that may not be split as if they had been."""
    leaf, smallest = draft.table.first_child, draft.table.smallest
    able = [row for row in rows if leaf[row] < 0 and not smallest[row]]
    if expanded:
        for row in rows:
            if row not in able and not draft.table.expanded[row]:
                draft.write(Expanded(row))
    if able:
        draft.write(_as_split(draft, able, expanded))


def _open_to_allowed(draft: State, cell: int) -> None:
    """Split a forbidden cell level by level until a part of it is allowed, testing at most `MOST_PARTS`."""
    level, left = [cell], MOST_PARTS
    while level and left > 0 and draft.table.forbidden[level].all():
        before = draft.table.size
        _open(draft, level[: max(1, left // draft.problem.space.base)], expanded=False)
        level = list(range(before, draft.table.size))
        left -= len(level)


def _as_split(draft: State, rows: list[int], expanded: bool) -> Split:
    """Return the fact that splits nodes, with what the user's functions return for the children."""
    problem = draft.problem
    noise, forbidden = problem.noise_by_region, problem.settings.forbidden is not None
    if not (noise or forbidden):
        return Split(tuple(rows), expanded, (), (), None)
    children = [child for row in rows for child in problem.space.split(draft.region(row))]
    return Split(
        tuple(rows),
        expanded,
        tuple(problem.noise_of(child) for child in children) if noise else (),
        tuple(problem.is_forbidden(child) for child in children) if forbidden else (),
        None,
    )


def _learn(draft: State, before: int, last: bool = False) -> None:
    """Learn the models if it is time, always after the `last` reward; also record doubts about the given model.

    `before` is the number of rewards at the start of this call.
    """
    learner, known, total = draft.problem.learner, draft.known, draft.ledger.total
    if learner is None or known is None:
        return
    doubt = _doubt(draft) if known.checks(before, total) else ""
    if learner.learns and (total >= known.due or (last and learner.stale(known, total))):
        draft.write(Fitted(_fit(draft)))
    if doubt:
        draft.write(Doubted(doubt))


def _learn_anew(draft: State) -> None:
    """Learn the models from scratch, if anything is learned: the last fit used other values."""
    learner = draft.problem.learner
    if learner is not None and learner.learns and draft.ledger.total:
        draft.write(Fitted(_fit(draft, anew=True), anew=True))


def _fit(draft: State, anew: bool = False) -> Fit:
    learner = draft.problem.learner
    assert learner is not None
    return learner.learn(None if anew else draft.known, draft.ledger, draft.tracked)


def _doubt(draft: State) -> str:
    """Return what contradicts the model that was given; "" if nothing does."""
    learner, known, noise = draft.problem.learner, draft.known, draft.problem.settings.noise
    assert learner is not None
    assert known is not None
    if learner.learns:
        given = noise / math.sqrt(draft.began.time) if isinstance(noise, float) and not draft.has_sems else None
        return learner.doubt(known, draft.ledger, draft.tracked, given)
    assert isinstance(draft.belief, Mixture)
    only = draft.belief.only
    return "" if only is None else learner.check(only.residuals(), *draft.ledger.scatter(None))
