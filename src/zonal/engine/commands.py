"""What calls decide: functions of a state that return the state after it and leave the given one as it is.

Decisions are made event by event, on a draft: each event is applied before the next is decided. Only this module
and those it rests on (`select.py`, `expand.py`, `policy.py`) call policies and fits, and the user's noise, delta
and forbidden.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Sequence

from zonal.engine import checks, events, gross_errors, readings
from zonal.engine.costs import INITIAL_SHARE, SLACK
from zonal.engine.expand import open_nodes, open_to_allowed, open_to_corners, prepare
from zonal.engine.initial_design import of_depth
from zonal.engine.policy import bound_policy, has_scale, recommend
from zonal.engine.settings import Problem, Settings
from zonal.engine.state import TOTAL_TOLERANCE, State
from zonal.errors import SeveralWrong, ZonalError, require, warn_user
from zonal.gp.hyperparameters import Fit
from zonal.kernels.feedback import footprints_of
from zonal.spaces import Region, Space, with_feedback

NO_NODE = (
    "StoOO learns about a region only from measurements of that region, and this one is not a node, "
    "or was measured with another feedback"
)
REVIEWED = 24  # readings up to which all are judged again after each, if nothing is learned
MAX_FAILURES = 3  # in a row, after which a region is never asked for again


def begin(settings: Settings) -> State:
    """Return the state of a new study."""
    problem = Problem(settings)
    if not problem.model_free:
        problem.frame.check(problem.unknowns.given, problem.unknowns.wanted)
    prices, cheapest, time = problem.prices, 1.0, 1.0
    if prices is not None:
        cheapest = prices.cheapest()
        time = prices.default_time(settings.budget, cheapest, problem.policy.cost_aware)
    n_affordable = problem.n_affordable(cheapest)
    h_max = problem.checked_depth(
        problem.policy.depth(problem.space.partition, n_affordable), "the policy's depth"
    )
    root = problem.space.cell((0, 0), problem.feedback)
    _check_averages(problem, root)
    noise = problem.noise.of_region(root)
    if problem.noise.learned and not problem.noise.falls_with_weight:
        guess = problem.learner.begin().fit.model.noise or 0.0
        noise = guess * math.sqrt(time)  # learned for the usual time
    created = events.Created(
        id=os.urandom(6).hex(),
        seed=settings.seed,
        policy=repr(problem.policy),
        h_max=h_max,
        opening=_initial_depth(problem, h_max, cheapest, time),
        noise=noise,
        forbidden=problem.is_forbidden(root),
        cheapest=cheapest,
        time=time,
    )
    state = State(problem, created)
    for depth in range(h_max + 1 if problem.policy.expands_fully else created.opening):
        open_nodes(state, (state.structure.depth == depth).nonzero()[0].tolist(), expanded=False)
    for row in of_depth(state, created.opening) if created.opening else ():
        open_to_allowed(state, row)
    if problem.policy.measures_internal_nodes:
        open_to_corners(state)
    state.commit()
    _check_fit(state)
    warning = problem.space.partition.warning(n_affordable) if isinstance(problem.space, Space) else ""
    if warning:
        warn_user(UserWarning(warning))
    return state


def _check_averages(problem: Problem, root: Region) -> None:
    """Raise if the feedback or the target is no average, or the belief knows only what was measured."""
    fix = "Pass a feedback whose weights add up to 1 to the study, and this one to observe()."
    for name, by in {"feedback": problem.feedback, "target": problem.target}.items():
        (total,) = problem.frame.layout.totals(footprints_of([with_feedback(root, by)], problem.target))
        is_average = abs(total - 1) <= TOTAL_TOLERANCE
        require(is_average, f"the {name} of a study must be an average", by, fix)
    judged = problem.measures_target or not problem.model_free
    fix = "Leave target= out, or use a policy with a Gaussian belief, such as GPOO."
    require(judged, "empirical means are of what is measured, and of no other target", problem.target, fix)


def _check_fit(state: State) -> None:
    """Raise if the kernel does not fit the space, or the policy the problem."""
    state.posterior_table()
    bound_policy(state)


def _initial_depth(problem: Problem, h_max: int, cheapest: float, time: float) -> int:
    """Return the depth of the initial design: it costs at most 2/5 of the budget, travel included."""
    prices, budget = problem.prices, problem.settings.budget
    if prices is None:
        return problem.initial_depth(h_max, problem.n_affordable(cheapest))
    default_cost = prices.default_cost(cheapest, time)
    level = problem.initial_depth(h_max, problem.n_affordable(default_cost))
    while level > 1 and prices.travel_has_cost:
        cells = [
            problem.space.partition.leaf(level, number) for number in range(problem.space.partition.leaves(level))
        ]
        travel = prices.route(None, cells)[1]
        if travel > 0 and not problem.learned:
            return 0  # gain per cost does well without an initial design
        if default_cost * len(cells) + travel <= INITIAL_SHARE * budget:
            break
        level -= 1
    return level


def tell(state: State, event: events.Told, beside: Sequence[events.Observed] = (), noted: bool = True) -> State:
    """Record a trial's measurement, and slopes measured with it; learn; expand its node if line 6 says so.

    If `noted`, what is recommended then is recorded too.
    """
    draft, asked = state.draft(), state.asked[event.number]
    row = asked.row
    if event.minus is not None:
        _check_functional(state, state.asked_region(asked), event)
    elif event.reading is not None:
        noise, weight = state.relative_noise.item(row), state.spent_on(event)[0] / state.created.time
        event = readings.placed(state, event, state.asked_region(asked), noise, weight)
    elif not state.problem.shifts:
        noise = state.relative_noise.item(row)
        checks.consistent(state, state.asked_slot(asked), event.value, event.sem, noise)
    draft.apply_event(event)
    for slope in beside:
        _check_functional(state, slope.region, slope)
        draft.apply_event(slope)
    if not _judged(draft, state, event):
        _learn(draft, state.ledger.total, telling=True)
    may = bound_policy(draft).expands_measured and asked.window is None
    if may and draft.structure.first_child[row] < 0 and has_scale(draft):
        _expand(draft, state, row)
    if state.problem.policy.measures_internal_nodes:
        prepare(draft)
    if noted:
        _note_recommended(draft)
    return draft.commit()


def with_answers(state: State) -> State:
    """Return the state whose events say, for each trial told, what was recommended then."""

    def has(kind: type[events.Event], transaction: events.Transaction) -> bool:
        return any(isinstance(event, kind) for event in transaction)

    def lacks_answer(transaction: events.Transaction) -> bool:
        return has(events.Told, transaction) and not has(events.Recommended, transaction)

    if not any(map(lacks_answer, state.events)):
        return state
    after = State.begin(state.problem, state.events[0])
    for transaction in state.events[1:]:
        after = after.draft()
        for event in transaction:
            after.apply_event(event)
        if lacks_answer(transaction):
            _note_recommended(after)
        after.commit()
    return after


def _judged(draft: State, before: State, event: events.Told) -> bool:
    """Judge a reading, and, after a fit, all others; return whether this was done, and models were learned."""
    if not draft.problem.doubts_readings:
        return False
    changed = gross_errors.judge(draft, before, event)
    if changed:
        _learn_from_scratch(draft)
    else:
        _learn(draft, before.ledger.total, telling=True)
    _review(draft, before)
    return True


def _review(draft: State, before: State) -> None:
    """Judge all readings after a fit; where nothing is learned, at the first ones, doublings and the last."""
    total, fitted = draft.ledger.total, draft.fit_state.fit is not before.fit_state.fit
    due = total <= REVIEWED or total & (total - 1) == 0 or _is_last(draft)
    if (fitted or (due and not draft.problem.learner.learns)) and gross_errors.review(draft):
        _learn_from_scratch(draft)


def _note_recommended(draft: State) -> None:
    """Record which node is recommended now; its posterior is the one that the next trial needs."""
    if draft.has_no_posterior:
        return
    with contextlib.suppress(ZonalError):  # a user-defined policy may have nothing to recommend yet
        table, row = draft.posterior_table(), recommend(draft)
        mean = draft.problem.sign * (draft.prior_mean + table.mean.item(row))
        mean, std = draft.problem.stated_as_numbers(mean, table.std.item(row))
        draft.apply_event(events.Recommended(row, table.node(row), mean, std))


def _expand(draft: State, before: State, row: int) -> None:
    """Expand a node if line 6 says so; it compares the posterior with that before the reward."""
    judged = draft.posterior_table().with_std_before(before.posterior_table().std)
    if bound_policy(draft).should_expand(judged, row, draft.measured or 1):
        open_nodes(draft, [row], expanded=True)


def _is_last(state: State) -> bool:
    """Tell whether the budget is spent: nothing is pending, and even the cheapest measurement cannot be paid."""
    return not state.pending and state.remaining + SLACK * state.budget < state.created.cheapest


def _check_functional(
    state: State, region: Region, event: events.Told | events.Observed, draft: State | None = None
) -> None:
    """Raise if a value without noise contradicts an earlier one of the same slope or difference.

    Earlier ones are those of `state`, and of a draft that has more rewards.
    """
    slot = (draft or state).find_slot(region, event.minus)
    if slot is not None:
        noise = event.noise if isinstance(event, events.Observed) else 0.0
        checks.consistent(state, slot, event.value, event.sem, noise, draft)


def observe(state: State, observations: Sequence[events.Observed]) -> State:
    """Record external observations of any regions; their noise is determined here."""
    problem, draft, wrong = state.problem, state.draft(), list[tuple[int, ZonalError]]()
    for at, event in enumerate(observations):
        try:
            draft.apply_event(_with_noise(state, draft, event))
        except ZonalError as error:
            wrong.append((at, error))
    if wrong:
        raise wrong[0][1] if len(observations) == 1 else SeveralWrong(wrong, len(observations))
    _learn(draft, state.ledger.total)
    if problem.policy.measures_internal_nodes:
        prepare(draft)
    return draft.commit()


def _with_noise(state: State, draft: State, event: events.Observed) -> events.Observed:
    """Return an observation with its noise, if it does not contradict those before or in the draft."""
    problem, region = state.problem, event.region
    able = not problem.model_free or (
        state.measured_by(region, event.minus, problem.feedback) and state.find(region) is not None
    )
    require(able, NO_NODE, region.name, "Use a policy with a Gaussian belief, such as GPOO.")
    if event.sem is None:
        noise = problem.noise.for_time(problem.noise.of_region(region), state.created.time)
        if not problem.noise.falls_with_weight:
            noise *= state.fit_state.fit.model.noise or 1.0
        event = event._replace(noise=noise)
    if event.reading is not None:
        seen, weight = with_feedback(region, event.feedback), event.time / state.created.time
        return readings.placed(draft, event, seen, event.noise, weight)
    if not problem.shifts:
        _check_functional(state, region, event, draft)
    return event


def correct(state: State, amendments: Sequence[events.Amended]) -> State:
    """Correct or retract measurements, and learn the models from scratch; no splitting rule runs."""
    draft = state.draft()
    for event in amendments:
        if isinstance(event, events.Corrected) and event.reading is not None:
            event = readings.placed_correction(state, event)
        elif isinstance(event, events.Corrected):
            checks.corrected(state, event)
        draft.apply_event(event)
    _learn_from_scratch(draft)
    if draft.problem.doubts_readings:
        _review(draft, state)
    return draft.commit()


def doubt(state: State, event: events.Judged) -> State:
    """Set a reading aside, or reinstate it, as a person says; learn the models from scratch."""
    draft = state.draft()
    draft.apply_event(event)
    _learn_from_scratch(draft)
    return draft.commit()


def close_trial(state: State, number: int, failed: bool, retry: bool, note: str = "") -> State:
    """Fail or cancel a trial; a region that fails repeatedly, or lies in one that did, is blocked."""
    draft, row = state.draft(), state.asked[number].row
    hopeless = (
        not retry
        or len(state.failed_trials.get(row, ())) + 1 >= MAX_FAILURES
        or bool(state.structure.lineage(row) & state.blocked.keys())
    )
    blocked = failed and hopeless and row not in state.blocked
    if blocked and draft.may_split(row):
        open_nodes(draft, [row], expanded=draft.n_averages_told(row) > 0)
    draft.apply_event(events.Closed(number, "failed" if failed else "cancelled", blocked, note))
    if gross_errors.release(draft):
        _learn_from_scratch(draft)
    return draft.commit()


def forbid(state: State, event: events.Forbidden) -> State:
    """Forbid a region from now on."""
    draft = state.draft()
    draft.apply_event(event)
    if gross_errors.release(draft):
        _learn_from_scratch(draft)
    if state.problem.policy.measures_internal_nodes:
        prepare(draft)
    return draft.commit()


def forbidden_within(state: State, region: Region) -> set[int]:
    """Return what was forbidden within a region, by number; by name too, as for `failed_within`."""
    return {at for at, ban in state.forbidden_regions.items() if region.contains(ban) or ban.name == region.name}


def failed_within(state: State, region: Region) -> set[int]:
    """Return the trials failed in a region and in all within it, as far as they still count."""
    name = region.name

    def inside(row: int) -> bool:
        # By name too: edges copied from printed output are rounded.
        node_region, *above = (state.region(at) for at in (row, *state.structure.lineage(row)))
        return region.contains(node_region) or any(other.name == name for other in (node_region, *above))

    trials = [(row, number) for row, numbers in state.failed_trials.items() for number in numbers]
    return {number for row, number in (*trials, *state.blocked.items()) if inside(row)}


def unblock(state: State, numbers: Iterable[int], bans: Iterable[int] = ()) -> State | None:
    """Take back the failures of trials, and what was forbidden, as far as they still count; None if none does."""
    counting = {*state.blocked.values(), *(number for trials in state.failed_trials.values() for number in trials)}
    wanted, lifted = (
        tuple(sorted(counting.intersection(numbers))),
        tuple(sorted(state.forbidden_regions.keys() & set(bans))),
    )
    return state.apply_transaction((events.Unblocked(wanted, lifted),)) if wanted or lifted else None


def refit(state: State, from_scratch: bool = True) -> State | None:
    """Learn the models, if wanted `from_scratch`; None if nothing is to be learned or nothing changed."""
    learner, fit_state, draft = state.problem.learner, state.fit_state, state.draft()
    if not learner.learns or not state.ledger.total:
        return None
    stale = learner.stale(fit_state, state.ledger.total)
    if not stale and (fit_state.anew or not from_scratch):
        return None
    fit = _fit(draft, from_scratch)
    if not stale and fit == fit_state.fit:
        return None
    draft.apply_event(events.Fitted(fit, from_scratch))
    _approximate(draft)
    return draft.commit()


def _learn(draft: State, before: int, telling: bool = False) -> None:
    """Learn the models if it is time, always after the last trial; record what contradicts the given model.

    `before` is the number of rewards at the start of this call.
    """
    learner, fit_state, total = draft.problem.learner, draft.fit_state, draft.ledger.total
    if draft.problem.model_free:
        return
    warning, last = "", telling and _is_last(draft)
    if fit_state.checks(before, total) and not draft.sites:  # what sites miss says nothing of the model
        warning = _model_warning(draft)
    elif last and learner.learns and not fit_state.warned:
        warning = learner.lost(draft.ledger, draft.tracked)
    if learner.learns and (total >= fit_state.due or (last and learner.stale(fit_state, total))):
        draft.apply_event(events.Fitted(_fit(draft)))
        _approximate(draft)
    elif draft.sites and not learner.learns and (last or readings.due(draft)):
        _approximate(draft)
    if warning:
        draft.apply_event(events.ModelWarned(warning))


def _learn_from_scratch(draft: State) -> None:
    """Learn the models from scratch, if anything is learned: the last fit used other values."""
    if draft.problem.learner.learns and draft.ledger.total:
        draft.apply_event(events.Fitted(_fit(draft, from_scratch=True), from_scratch=True))
    _approximate(draft)


def _approximate(draft: State) -> None:
    """Compute the sites of readings that are not Gaussian again, if there are any."""
    if draft.sites and (event := readings.approximated(draft)) is not None:
        draft.apply_event(event)


def _fit(draft: State, from_scratch: bool = False) -> Fit:
    return draft.problem.learner.learn(None if from_scratch else draft.fit_state, draft.ledger, draft.tracked)


def _model_warning(draft: State) -> str:
    """Return what contradicts the model that was given; "" if nothing does."""
    learner, fit_state, noise = draft.problem.learner, draft.fit_state, draft.problem.settings.noise
    if learner.learns:
        if lost := learner.lost(draft.ledger, draft.tracked):
            return lost
        given = noise / math.sqrt(draft.created.time) if isinstance(noise, float) and not draft.has_sems else None
        return learner.model_warning(fit_state, draft.ledger, draft.tracked, given)
    (only,) = draft.belief.members
    return learner.check(only.residuals(), *draft.ledger.scatter(None))
