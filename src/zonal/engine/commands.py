"""What calls decide: functions of a state that return the state after it and leave the given one as it is.

Decisions are made fact by fact, on a fork: each fact is written before the next is decided. Only this module and
those it rests on (`choosing.py`, `growing.py`, `binding.py`) call policies and fits, and the user's noise, delta
and forbidden.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence

import numpy as np

from zonal.engine import checks, events, replies
from zonal.engine.binding import bound_policy, has_scale
from zonal.engine.costs import OPENING_SHARE, SLACK
from zonal.engine.expand import open_nodes, open_to_allowed, prepare
from zonal.engine.initial_design import of_depth
from zonal.engine.settings import Problem, Settings
from zonal.engine.state import TOTAL_TOLERANCE, State
from zonal.errors import need, warn_user
from zonal.gp.hyperparameters import Fit
from zonal.spaces import Region, Space

NO_NODE = (
    "StoOO learns about a region only from measurements of that region, and this one is not a node, "
    "or was measured with another feedback"
)
MAX_FAILURES = 3  # in a row, after which a region is never asked for again


def begin(settings: Settings) -> State:
    """Return the state of a new study."""
    problem = Problem(settings)
    if not problem.empirical:
        problem.frame.check(problem.unknowns.given, problem.unknowns.wanted)
    prices, cheapest, time = problem.prices, 1.0, 1.0
    if prices is not None:
        cheapest = prices.cheapest()
        time = prices.usual(settings.budget, cheapest, problem.policy.cost_aware)
    looks = problem.looks(cheapest)
    h_max = problem.checked_depth(problem.policy.depth(problem.space, looks), "the policy's depth")
    root = problem.space.cell((0, 0), problem.feedback)
    (total,) = problem.frame.layout.totals(problem.feedback.footprints([root]))
    one = abs(total - 1) <= TOTAL_TOLERANCE
    fix = "Pass a feedback whose weights add up to 1 to the study, and this one to observe()."
    need(one, "the feedback of a study must be an average", problem.feedback, fix)
    noise = problem.noise_of(root)
    if problem.unknowns.noise and not problem.falls:
        guess = problem.learner.begin().fit.model.noise or 0.0
        noise = guess * math.sqrt(time)  # learned for the usual time
    began = events.Created(
        id=os.urandom(6).hex(),
        seed=settings.seed,
        policy=repr(problem.policy),
        h_max=h_max,
        opening=_opening(problem, h_max, cheapest, time),
        noise=noise,
        forbidden=problem.is_forbidden(root),
        cheapest=cheapest,
        time=time,
    )
    state = State(problem, began)
    for depth in range(h_max + 1 if problem.policy.expands_fully else began.opening):
        open_nodes(state, (state.table.depth == depth).nonzero()[0].tolist(), expanded=False)
    for row in of_depth(state, began.opening) if began.opening else ():
        open_to_allowed(state, row)
    state.belief  # noqa: B018  # raises now if the kernel does not fit the space
    state.close()
    bound_policy(state)  # raises now if the policy does not fit the problem
    doubt = problem.space.warning(looks) if isinstance(problem.space, Space) else ""
    if doubt:
        warn_user(UserWarning(doubt))
    return state


def _opening(problem: Problem, h_max: int, cheapest: float, time: float) -> int:
    """Return the depth of the initial design: it costs at most 2/5 of the budget, travel included."""
    prices, budget = problem.prices, problem.settings.budget
    if prices is None:
        return problem.opening(h_max, problem.looks(cheapest))
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


def tell(state: State, fact: events.Told, beside: Sequence[events.Observed] = ()) -> State:
    """Record a trial's measurement, and slopes measured with it; learn; expand its node if line 6 says so."""
    draft, number = state.fork(), fact.number
    row = (state.pending if number in state.pending else state.asked)[number].row
    if fact.minus is not None:
        _agreeing(state, state.region(row), fact)
    else:
        _consistent(state, int(state.table.slot[row]), fact.value, fact.sem, state.table.relative.item(row))
    draft.write(fact)
    for slope in beside:
        _agreeing(state, slope.region, slope)
        draft.write(slope)
    _learn(draft, state.ledger.total, telling=True)
    if draft.table.first_child[row] < 0 and has_scale(draft):
        _expand(draft, state, row)
    if state.problem.policy.measures_internal_nodes:
        prepare(draft)
    return draft.close()


def _expand(draft: State, before: State, row: int) -> None:
    """Expand a node if line 6 says so; it compares the posterior with that before the reward."""
    judged = draft.tree
    judged.std_before = before.tree.std
    if replies.truth(bound_policy(draft).should_expand(judged, row, draft.measured or 1), "should_expand"):
        open_nodes(draft, [row], expanded=True)


def _is_last(state: State) -> bool:
    """Tell whether the budget is spent: nothing is pending, and even the cheapest look cannot be paid."""
    return not state.pending and state.remaining + SLACK * state.budget < state.began.cheapest


def _consistent(state: State, slot: int, value: float, sem: float | None, noise: float) -> None:
    """Raise if a value without noise contradicts an earlier one of the same region."""
    state.belief  # noqa: B018  # computed, so that a contradiction is noticed
    checks.consistent(state, slot, value, sem, noise)


def _agreeing(state: State, region: Region, fact: events.Told | events.Observed) -> None:
    """Raise if a value without noise contradicts an earlier one of the same slope or difference."""
    slot = state.find_slot(region, fact.minus)
    if slot is not None:
        noise = fact.noise if isinstance(fact, events.Observed) else 0.0
        _consistent(state, slot, fact.value, fact.sem, noise)


def observe(state: State, facts: Sequence[events.Observed]) -> State:
    """Record measurements of any regions, made outside the study; their noise is determined here."""
    problem, draft = state.problem, state.fork()
    for fact in facts:
        region, sem = fact.region, fact.sem
        able = not problem.empirical or (state.is_usual(region, fact.minus) and state.find(region) is not None)
        need(able, NO_NODE, region.name, "Use a policy with a Gaussian belief, such as GPOO.")
        if sem is None:
            unit = 1.0 if problem.falls else state.table.unit
            fact = fact._replace(noise=problem.noise_of(region) * state.scale * unit)
        _agreeing(state, region, fact)
        draft.write(fact)
    _learn(draft, state.ledger.total)
    if problem.policy.measures_internal_nodes:
        prepare(draft)
    return draft.close()


def correct(state: State, facts: Sequence[events.Amended]) -> State:
    """Correct or retract measurements, and learn the models from scratch; no splitting rule runs."""
    draft = state.fork()
    for fact in facts:
        if isinstance(fact, events.Corrected):
            state.belief  # noqa: B018  # computed, so that a contradiction is noticed
            checks.corrected(state, fact)
        draft.write(fact)
    _learn_anew(draft)
    return draft.close()


def end(state: State, number: int, failed: bool, retry: bool, note: str = "") -> State:
    """Give up or cancel a trial; a region that fails repeatedly, or lies in one that did, is blocked."""
    draft, row = state.fork(), state.asked[number].row
    hopeless = (
        not retry
        or len(state.failures.get(row, ())) + 1 >= MAX_FAILURES
        or bool(state.table.lineage(row) & state.blocked.keys())
    )
    blocked = failed and hopeless and row not in state.blocked
    if blocked and draft.may_split(row):
        open_nodes(draft, [row], expanded=draft.tally(row).number > 0)
    draft.write(events.Closed(number, "failed" if failed else "cancelled", blocked, note))
    return draft.close()


def forbid(state: State, fact: events.Forbidden) -> State:
    """Forbid a region from now on."""
    draft = state.fork()
    draft.write(fact)
    if state.problem.policy.measures_internal_nodes:
        prepare(draft)
    return draft.close()


def banned(state: State, region: Region) -> set[int]:
    """Return what was forbidden within a region, by number; by name too, as for `failed`."""
    return {at for at, ban in state.bans.items() if region.contains(ban) or ban.name == region.name}


def failed(state: State, region: Region) -> set[int]:
    """Return the trials failed in a region and in all within it, as far as they still count."""
    name = region.name

    def inside(row: int) -> bool:
        # By name too: edges copied from printed output are rounded.
        own, *above = (state.region(at) for at in (row, *state.table.lineage(row)))
        return region.contains(own) or any(other.name == name for other in (own, *above))

    trials = [(row, number) for row, numbers in state.failures.items() for number in numbers]
    return {number for row, number in (*trials, *state.blocked.items()) if inside(row)}


def forgive(state: State, numbers: Iterable[int], bans: Iterable[int] = ()) -> State | None:
    """Take back the failures of trials, and what was forbidden, as far as they still count; None if none does."""
    counting = {*state.blocked.values(), *(number for trials in state.failures.values() for number in trials)}
    wanted, lifted = tuple(sorted(counting.intersection(numbers))), tuple(sorted(state.bans.keys() & set(bans)))
    return state.apply((events.Unblocked(wanted, lifted),)) if wanted or lifted else None


def refit(state: State, anew: bool = True) -> State | None:
    """Learn the models, from scratch if `anew`; None if nothing is to be learned or nothing changed."""
    learner, known, draft = state.problem.learner, state.known, state.fork()
    if not learner.learns or not state.ledger.total:
        return None
    stale = learner.stale(known, state.ledger.total)
    if not stale and (known.anew or not anew):
        return None
    fit = _fit(draft, anew)
    if not stale and fit == known.fit:
        return None
    draft.write(events.Fitted(fit, anew))
    return draft.close()


def edit(state: State, why: str) -> State:
    """Record that the history was edited by hand, and learn the models from what it says now."""
    draft, problem = state.fork(), state.problem
    draft.write(events.Edited(why))
    _learn_anew(draft)
    draft.close()
    # Raise now, not at the next call, if the settings do not fit the space or the model.
    bound_policy(draft)
    problem.noise_of(draft.region(0))
    problem.is_forbidden(draft.region(0))
    known = not np.isnan([draft.tree.mean, draft.tree.std]).any()
    need(known, "with these settings the posterior cannot be computed", why, "Change fewer of the settings.")
    return draft


def _learn(draft: State, before: int, telling: bool = False) -> None:
    """Learn the models if it is time, always after the last trial told; also record doubts about the given model.

    `before` is the number of rewards at the start of this call.
    """
    learner, known, total = draft.problem.learner, draft.known, draft.ledger.total
    if draft.problem.empirical:
        return
    doubt, last = "", telling and _is_last(draft)
    if known.checks(before, total):
        doubt = _doubt(draft)
    elif last and learner.learns and not known.warned:
        doubt = learner.lost(draft.ledger, draft.tracked)
    if learner.learns and (total >= known.due or (last and learner.stale(known, total))):
        draft.write(events.Fitted(_fit(draft)))
    if doubt:
        draft.write(events.ModelWarned(doubt))


def _learn_anew(draft: State) -> None:
    """Learn the models from scratch, if anything is learned: the last fit used other values."""
    if draft.problem.learner.learns and draft.ledger.total:
        draft.write(events.Fitted(_fit(draft, anew=True), anew=True))


def _fit(draft: State, anew: bool = False) -> Fit:
    return draft.problem.learner.learn(None if anew else draft.known, draft.ledger, draft.tracked)


def _doubt(draft: State) -> str:
    """Return what contradicts the model that was given; "" if nothing does."""
    learner, known, noise = draft.problem.learner, draft.known, draft.problem.settings.noise
    if learner.learns:
        if lost := learner.lost(draft.ledger, draft.tracked):
            return lost
        given = noise / math.sqrt(draft.began.time) if isinstance(noise, float) and not draft.has_sems else None
        return learner.doubt(known, draft.ledger, draft.tracked, given)
    (only,) = draft.belief.members
    return learner.check(only.residuals(), *draft.ledger.scatter(None))
