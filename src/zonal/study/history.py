"""What a study knows, for other packages too: trials, observations, what became of them, and its problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from zonal.engine.costs import paid
from zonal.engine.events import Asked, Observed, Reading, Recommended, Told, Transaction
from zonal.engine.off_grid import home_of
from zonal.engine.results import Observation, Trial, TrialRecord
from zonal.engine.settings import Problem
from zonal.engine.state import State
from zonal.engine.trial_history import Outcome, outcomes
from zonal.errors import UnknownTrial, whole_number
from zonal.gp.likelihoods import Limit
from zonal.spaces import Node, ProductRegion, Region

if TYPE_CHECKING:
    from zonal.study.study import Study


def asked_trial(study: Study, trial: Trial | int) -> Asked:
    """Return a trial as it was asked for; raise if it never was."""
    state, identity = study._state, None
    if isinstance(trial, Trial):
        number, identity = trial.number, (trial.study, trial.node, trial.replicate)
    else:
        number = whole_number(trial, "a trial", 0)
    asked = state.asked[number] if 0 <= number < len(state.asked) else None
    if asked is None or identity not in (None, (state.created.id, _node(asked), asked.replicate)):
        raise UnknownTrial(
            f"{trial!r} is not a trial of this study, which has asked for {len(state.asked)}. Pass a trial "
            "that ask() returned, or its number."
        )
    return asked


def trial_of(state: State, asked: Asked) -> Trial:
    """Return a trial as the user gets it."""
    region, replicate = state.asked_region(asked), asked.replicate
    return Trial(asked.number, _node(asked), region, replicate, state.created.id, asked.time, asked.cost)


def _node(asked: Asked) -> Node | None:
    """Return the node that a trial measures; None for a window."""
    return asked.node if asked.window is None else None


def problem_of(study: Study) -> Problem:
    """Return what follows from the settings alone: the policy, what is learned, the model that was given."""
    return study._state.problem


def policy_of(study: Study) -> str:
    """Return the policy in use, given or by default, as text."""
    return study._state.created.policy


def leaf_at(study: Study, region: ProductRegion) -> int:
    """Return the leaf of the tree at the centre of a region outside of it."""
    return home_of(study._state, region)


def n_events(study: Study) -> int:
    """Return the number of events so far."""
    return len(study._state.events)


def last_digest(study: Study) -> str:
    """Return the digest of the study's file after its last event, "" if it has no file."""
    return "" if study._journal is None else study._journal.digest(len(study._state.events))


def region_of_row(study: Study, row: int) -> Region:
    """Return the region of a row of the tree."""
    return study._state.region(row)


def failed_rows(study: Study) -> dict[int, bool]:
    """Return the rows of the tree that failed, and whether they are blocked since."""
    state = study._state
    return {row: row in state.blocked for row in {*state.failed_trials, *state.blocked}}


def all_asked(study: Study) -> tuple[Asked, ...]:
    """Return all trials as they were asked for: by whom, and what was possible then."""
    return tuple(study._state.asked)


def n_of_initial_design(study: Study) -> int:
    """Return how many of the first trials were of the initial design."""
    design = study._state.initial_design
    return sum(1 for _ in takewhile(lambda asked: asked.row in design and asked.replicate == 1, all_asked(study)))


def told_late(study: Study) -> dict[int, int]:
    """Return the trials whose value came after the budget was spent, with the observation that it became."""
    observed = enumerate(study._state.observed)
    return {event.trial: number for number, (_, event) in observed if event.trial is not None}


def pending_asked(study: Study) -> tuple[Asked, ...]:
    """Return the pending trials as they were asked for: by whom, and what was possible then."""
    return tuple(study._state.pending.values())


def recommended_after(events: Iterable[Transaction]) -> list[tuple[int, Recommended | None]]:
    """Return every trial told, in order, with what was recommended then; None where the file did not keep it."""
    answers: list[tuple[int, Recommended | None]] = []
    for transaction in events:
        answer = next((event for event in transaction if isinstance(event, Recommended)), None)
        answers += [(event.number, answer) for event in transaction if isinstance(event, Told)]
    return answers


def history(study: Study) -> list[tuple[TrialRecord | Observation, list[Outcome]]]:
    """Return every trial and observation with all its outcomes, the latest last."""
    state = study._state
    return [*trial_outcomes(state), *observation_outcomes(state)]


def trial_outcomes(state: State) -> Iterator[tuple[TrialRecord, list[Outcome]]]:
    """Yield every trial with all its outcomes, the latest last."""
    became = outcomes(state.events)
    for asked in state.asked:
        past = became[False, asked.number]
        _, how, value, sem, note, _, time, reading = past[-1]
        trial, difference = trial_of(state, asked), state.differences.get(asked.number)
        minus = None if difference is None else difference.minus
        if time is not None:
            trial = replace(trial, time=time, cost=paid(asked, time))
        limit, exposure = qualities(reading)
        told = {"value": value, "sem": sem, "note": note, "minus": minus, "limit": limit, "exposure": exposure}
        yield TrialRecord(**vars(trial), state=how, **told), past  # type: ignore[arg-type]


def observation_outcomes(state: State) -> Iterator[tuple[Observation, list[Outcome]]]:
    """Yield every observation with all its outcomes, the latest last."""
    became = outcomes(state.events) if state.observed else {}
    for number, (_, observed) in enumerate(state.observed):
        past = became[True, number]
        value, sem, reading = next(
            (outcome.value, outcome.sem, outcome.reading)
            for outcome in reversed(past)
            if outcome.value is not None
        )
        note, minus = past[-1].note, observed.minus
        yield (
            Observation(number, observed.region, value, sem, note, minus, state.created.id, *qualities(reading)),
            past,
        )


def observation_of(study: Study, number: int, event: Observed) -> Observation:
    """Return an observation as the user gets it when it came in."""
    seen = event.region, event.value, event.sem, event.note, event.minus
    return Observation(number, *seen, study.id, *qualities(event.reading))


def qualities(reading: Reading | None) -> tuple[Limit, float | None]:
    """Return on which side of its value a reading lies, if it is a limit, and its exposure, if it is a count."""
    return ("", None) if reading is None else (reading.limit, reading.exposure)
