"""What to do next: functions of a state that change nothing and return an event, and the state after it.

The state after is worked out on the way, by the same steps by which `State.apply` would make it from the event
alone. Only this room calls policies and fits, and the user's noise, delta and forbidden.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from zonal.beliefs.empirical import EmpiricalBelief
from zonal.beliefs.lattice import Fit
from zonal.beliefs.mixture import Mixture
from zonal.errors import Exhausted, InvalidInput
from zonal.policies import Rules, Setting
from zonal.rounds.events import (
    Asked,
    Batch,
    Began,
    Edited,
    Ended,
    Extended,
    Observed,
    Refitted,
    Split,
    Told,
    checksum,
)
from zonal.rounds.settings import Problem, Settings
from zonal.rounds.state import Family, State
from zonal.rounds.variation import spread_by_depth
from zonal.rounds.views import views
from zonal.spaces import Region
from zonal.theory import Variation
from zonal.tree import Tree

TIE = 1e-9  # of the point prior's standard deviation
NEWS = 0.25  # of the prior variance: what is known better is no news
MOST_REFINED = 500  # nodes in one round: where a prior knows every pool's average, refining would not end
GIVE_UPS = 3  # in a row, after which a region counts as impossible to measure


def begin(settings: Settings) -> State:
    """Return the state of a new study."""
    problem = Problem(settings)
    h_max = problem.depth()
    root = problem.space.cell((0, 0), problem.feedback)
    guess = None if problem.learner is None else problem.learner.begin().model
    began = Began(
        id=uuid.uuid4().hex[:12],
        seed=settings.seed,
        policy=repr(problem.policy),
        h_max=h_max,
        opening=problem.opening(h_max),
        noise=problem.noise_of(root, guess),
        forbidden=problem.is_forbidden(root),
        grown=(),
    )
    state = State(problem, began)
    state.began = began
    rules(state)  # complains now if the policy does not fit the problem
    grown: list[Batch] = []
    for depth in range(h_max + 1 if problem.policy.whole else began.opening):
        level = (state.tree.depth == depth).nonzero()[0].tolist()
        grown += _open(state, level, expanded=False)
    state.start(replace(began, grown=tuple(grown)))
    return state


def ask(state: State, by: str, key: str = "") -> tuple[Asked, State]:
    """Decide on the next trial."""
    draft, draw = state.fork(), state.draw()
    row, grown = _choose(draft, state.begun + 1, draw)
    region = draft.regions[row]
    assert region.node is not None
    event = Asked(
        number=len(state.asked),
        row=row,
        node=region.node,
        replicate=draft.tree.at(row, "looks") + 1,
        draw=draw,
        by=by,
        key=key,
        grown=tuple(grown),
    )
    draft.ask(event)
    draft.record(event)
    return event, draft


def tell(state: State, number: int, value: float, sem: float | None, note: str) -> tuple[Told, State]:
    """Take in a trial's measurement: learn from it, expand its node if line 6 says so."""
    draft, row = state.fork(), state.asked[number].row
    draft.measure(number, value, sem)
    fit, warned = _learn(draft, last=state.told + 1 == state.budget)
    draft.tell(number, value, fit)
    grown: list[Batch] = []
    if (
        draft.tree.at(row, "first_child") < 0
        and has_scale(draft)
        and rules(draft).splits(draft.tree, row, draft.told)
    ):
        grown += _open(draft, [row], expanded=True)
    grown += _prepare(draft)
    event = Told(number, value, sem, note, fit, tuple(grown), warned)
    draft.record(event)
    return event, draft


def observe(
    state: State, region: Region, value: float, sem: float | None, feedback: Any
) -> tuple[Observed, State]:
    """Take in a measurement of any region, made outside of the study."""
    problem, draft = state.problem, state.fork()
    unlike = feedback != problem.feedback or state.regions.find(region) is None
    if isinstance(state.belief, EmpiricalBelief) and unlike:
        raise InvalidInput(
            "StoOO learns of a region from its own measurements only, and this one is no node, or seen otherwise",
            region.name,
            "Use a policy with a Gaussian belief, such as GPOO.",
        )
    noise = problem.noise_of(region, state.model) if sem is None else 0.0
    draft.learn_of(draft.slot_of(region, feedback), value, sem, noise)
    fit, warned = _learn(draft)
    draft.adopt(fit)
    draft.observe(region, value, sem)
    event = Observed(region, value, sem, noise, feedback, fit, tuple(_prepare(draft)), warned)
    draft.record(event)
    return event, draft


def end(state: State, number: int, given_up: bool, retry: bool) -> tuple[Ended, State]:
    """Take back a trial; a region that fails again and again, or within one that did, is never asked for again."""
    draft, row = state.fork(), state.asked[number].row
    hopeless = (
        not retry or state.failures.get(row, 0) + 1 >= GIVE_UPS or bool(state.tree.lineage(row) & state.barred)
    )
    barred = given_up and hopeless and row not in state.barred
    grown: list[Batch] = []
    if barred and draft.may_split(row):
        grown += _open(draft, [row], expanded=bool(draft.tree.count[row] > 0))
    event = Ended(number, "given up" if given_up else "withdrawn", barred, tuple(grown))
    draft.end(event)
    draft.record(event)
    return event, draft


def refit(state: State) -> tuple[Refitted, State] | None:
    """Learn the models anew if anything is learned and rewards came in since."""
    learner = state.problem.learner
    if learner is None or state.known is None or not learner.stale(state.known):
        return None
    draft = state.fork()
    fit = _fit(draft)
    draft.adopt(fit)
    event = Refitted(fit)
    draft.record(event)
    return event, draft


def edit(state: State, why: str) -> tuple[Edited, State]:
    """Note that the history was changed by hand, and learn the models from what it says now."""
    draft = state.fork()
    learner, known = state.problem.learner, state.known
    learns = learner is not None and learner.learns and known is not None and known.ledger.total > 0
    event = Edited(why, _fit(draft) if learns else None)
    draft.adopt(event.fit)
    draft.record(event)
    # Complain now, and not at the next call, if what was given does not fit the space or the model.
    rules(draft)
    state.problem.noise_of(state.regions[0], draft.model)
    state.problem.is_forbidden(state.regions[0])
    if np.isnan([draft.tree.mean, draft.tree.std]).any():
        fix = "Change less of it."
        raise InvalidInput("with these settings nothing can be computed of what is known", why, fix)
    return event, draft


def extend(state: State, n: int) -> tuple[Extended, State]:
    """Raise the budget."""
    event = Extended(n)
    return event, state.apply(event)


def rules(state: State) -> Rules:
    """Return the policy bound to the model: delta and ties follow it."""
    problem = state.problem
    bound = problem.kept.get("rules")
    if bound is None or bound[0] is not state.model:
        bound = problem.kept["rules"] = state.model, _bind(problem, state)
    rules: Rules = bound[1]
    return rules


def _bind(problem: Problem, state: State) -> Rules:
    space, feedback, h_max, model = problem.space, problem.feedback, state.h_max, state.model
    kernel = problem.unknowns.given if model is None else model.kernel
    reach = np.array([space.reach(depth, feedback.reach) for depth in range(h_max + 2)])
    spread = partial(spread_by_depth, space, kernel, feedback, problem.frame, h_max)
    smooth = None if kernel is None else problem.frame.smoothness(kernel)
    return problem.policy.bind(
        Setting(
            counts=state.counts,
            base=space.base,
            budget=problem.settings.budget,
            h_max=h_max,
            variation=Variation(reach, smooth, spread, problem.learned),
            tie=TIE * (1.0 if kernel is None else float(np.sqrt(kernel.point_variance))),
            learned=problem.learned,
            opening=opening_size(state),
            room=problem.frame.room,
        )
    )


def opening_size(state: State) -> int:
    """Return the number of cells of the opening sweep."""
    return state.counts[state.began.opening] if state.began.opening else 0


def has_scale(state: State) -> bool:
    """Tell whether rewards can be compared with delta: not while even their scale is a guess."""
    return state.known is None or state.problem.unknowns.given is not None or state.known.model.measurements > 0


def next_of_opening(state: State) -> int | None:
    """Return the next row of the opening sweep, None once it is over."""
    if state.known is None or state.known.total >= len(state.opening):
        return None
    tree = state.tree
    able = (row for row in state.opening if tree.askable[row] and tree.looks[row] == 0)
    return next((row for row in able if _is_news(state, row)), None)


def _is_news(state: State, row: int) -> bool:
    """Tell whether a cell of the opening is worth a look: under a given model, if it is not known already."""
    if state.problem.unknowns.given is None:
        return True
    assert isinstance(state.belief, Mixture)
    prior = state.belief.members[0].belief.prior[state.tree.slot[row]]
    return bool(state.seen().std[row] ** 2 > NEWS * prior)


def _choose(draft: State, t: int, draw: int) -> tuple[int, list[Batch]]:
    """Return the row to measure in round `t`, and what was split for it."""
    first = next_of_opening(draft)
    if first is not None:
        return first, []
    grown: list[Batch] = []
    bound = rules(draft)
    rng = partial(np.random.default_rng, [draft.began.seed, draw])
    look = partial(views, draft)
    for _ in range(MOST_REFINED):
        while not np.count_nonzero(draft.tree.askable):
            grown += _split_by_force(draft, t)
        grown += _grow(draft, t)
        seen = draft.seen()
        row = _checked(seen, bound.choose(seen, t, look, rng))
        if not seen.at(row, "askable"):  # its looks are used up
            grown += _open(draft, [row], expanded=True)
        elif bound.refines(seen, row, t):
            grown += _open(draft, [row], expanded=True)
            if not draft.tree.splittable[row] and draft.tree.first_child[row] < 0:
                return row, grown
        else:
            return row, grown
    seen = draft.seen()
    return _checked(seen, bound.choose(seen, t, look, rng)), grown


def _checked(tree: Tree, row: Any) -> int:
    """Return a row that a policy chose, if it may be chosen."""
    number = int(row)
    if not (0 <= number < tree.size and (tree.at(number, "askable") or tree.at(number, "splittable"))):
        raise InvalidInput(
            "the policy chose a node that may not be measured now", row, "Choose among tree.askable."
        )
    return number


def _grow(draft: State, t: int, forgiving: bool = False) -> list[Batch]:
    """Split what the policy wants split before round `t`, as far as the user's functions allow if `forgiving`."""
    grown: list[Batch] = []
    if not draft.problem.policy.inner:
        return grown
    before = draft.tree.size
    bound, look = rules(draft), partial(views, draft)
    while True:
        rows = bound.grows(draft.seen(), t, look, draft.tree.size - before)
        able = [row for row in dict.fromkeys(rows.tolist()) if draft.may_split(row)]
        if not able:
            return grown
        try:
            batch, families = _splits(draft, able, expanded=False)
        except Exception:
            if forgiving:
                return grown
            raise
        draft.open(batch, families)
        grown.append(batch)


def _prepare(draft: State) -> list[Batch]:
    """Grow for the next round ahead of it, so that what is recommended until then is of the smallest size.

    Noise and forbidden regions are the user's functions: if one fails, the next ask says so, and nothing told is
    held up by it.
    """
    return _grow(draft, draft.begun + 1, forgiving=True)


def _split_by_force(draft: State, t: int) -> list[Batch]:
    """Split the most promising leaf that may be split, since none may be asked for."""
    tree = draft.seen()
    rows = tree.splittable.nonzero()[0]
    if len(rows) == 0:
        settings, leaves = draft.problem.settings, tree.leaf
        reasons = []
        if settings.max_looks is not None:
            reasons.append(f"max_looks={settings.max_looks} measurements of each were made or are under way")
        if draft.barred:
            reasons.append(f"{len(draft.barred)} were given up as impossible to measure")
        if settings.forbidden is not None:
            reasons.append(f"{int(np.count_nonzero(tree.forbidden[leaves]))} are forbidden")
        raise Exhausted(
            f"none of the {np.count_nonzero(leaves)} smallest regions may be asked for: {'; '.join(reasons)}. "
            "Raise max_looks or the policy's h_max, lower the space's smallest, or stop here."
        )
    return _open(draft, [rules(draft).urgent(tree, rows, t)], expanded=True)


def _open(draft: State, rows: Iterable[int], expanded: bool) -> list[Batch]:
    """Split nodes together; those that may not be split are marked as if they had been, if they are to be."""
    batch, families = _splits(draft, rows, expanded)
    if not batch:
        return []
    draft.open(batch, families)
    return [batch]


def _splits(draft: State, rows: Iterable[int], expanded: bool) -> tuple[Batch, list[Family]]:
    """Return nodes as they are to be split, and their children; the user's functions are asked about these."""
    problem, batch, families = draft.problem, [], []
    for row in rows:
        if not draft.may_split(row):
            if expanded and not draft.tree.expanded[row]:
                batch.append(Split(row, True))
            continue
        children = problem.space.split(draft.regions[row])
        noise = tuple(problem.noise_of(child, draft.model) for child in children)
        forbidden = tuple(problem.is_forbidden(child) for child in children)
        families.append(children)
        batch.append(Split(row, expanded, noise, forbidden, checksum(children)))
    return tuple(batch), families


def _learn(draft: State, last: bool = False) -> tuple[Fit | None, tuple[str, ...]]:
    """Learn the models if it is time, always with the `last` reward; also return doubts about what was given."""
    learner, known = draft.problem.learner, draft.known
    if learner is None or known is None:
        return None, ()
    doubt = _doubt(draft) if known.checks else ""
    fit = _fit(draft) if learner.due(known) or (last and learner.stale(known)) else None
    return fit, (doubt,) if doubt else ()


def _fit(draft: State) -> Fit:
    learner, known = draft.problem.learner, draft.known
    assert learner is not None
    assert known is not None
    return learner.learn(known, draft.footprints_of([slot for slot, _ in known.ledger.lines]))


def _doubt(draft: State) -> str:
    """Return what speaks against the model that was given, if anything does."""
    learner, known, noise = draft.problem.learner, draft.known, draft.problem.settings.noise
    assert learner is not None
    assert known is not None
    assert isinstance(draft.belief, Mixture)
    if learner.learns:
        given = noise if isinstance(noise, float) and not draft.has_sems else None
        return learner.doubt(known, draft.footprints_of([slot for slot, _ in known.ledger.lines]), given)
    only = draft.belief.only
    return "" if only is None else learner.check(only.residuals(), only.repeats, only.scatter)
