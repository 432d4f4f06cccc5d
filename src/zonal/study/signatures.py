"""Who changed a study, and requests that are done once however often they are repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from zonal.engine.events import Claimed, Event, Forbidden, Observed, Signed, Unblocked
from zonal.engine.results import Observation, Trial
from zonal.engine.state import State
from zonal.errors import require, text
from zonal.study.history import observation_of, trial_of
from zonal.study.operations import together

if TYPE_CHECKING:
    from zonal.study.study import Study

T = TypeVar("T")


def signed(
    study: Study,
    by: str | None,
    key: str,
    kind: type[Event] | tuple[type[Event], ...],
    change: Callable[[Study], T],
    repeated: Callable[[State, int], T],
) -> T:
    """Change a study, and note who did it and what they call the request; do nothing if that was done before.

    Of a request with a key that is known, `repeated` returns the answer again, from the state and the number of
    the transaction that it made; `kind` is an event that such a request makes.
    """
    signature = Signed("" if by is None else text(by, "by"), text(key, "key"))
    if signature == Signed("", ""):
        return change(study)

    def once(draft: Study) -> T:
        before = draft._state
        at = before.keys.get(signature.key) if signature.key else None
        if at is not None:
            same = any(isinstance(event, kind) for event in before.events[at])
            require(same, "this key was used for another request", signature.key, "Use another key.")
            return repeated(before, at)
        answer = change(draft)
        if len(draft._state.events) > len(before.events):
            draft._state = draft._state.signed(signature)
        return answer

    return together(study, once)


def nothing_again(state: State, at: int) -> None:
    """Return again what an operation without a result returned."""


def observed_again(study: Study) -> Callable[[State, int], list[Observation]]:
    """Return what returns again the observations that a transaction made."""

    def again(state: State, at: int) -> list[Observation]:
        first = sum(isinstance(event, Observed) for transaction in state.events[:at] for event in transaction)
        several = [event for event in state.events[at] if isinstance(event, Observed)]
        return [observation_of(study, number, event) for number, event in enumerate(several, first)]

    return again


def allowed_again(state: State, at: int) -> int:
    """Return again how much a transaction allowed."""
    unblocked = [event for event in state.events[at] if isinstance(event, Unblocked)]
    return sum(len(event.numbers) + len(event.forbidden) for event in unblocked)


def claimed_again(state: State, at: int) -> Trial:
    """Return again the trial that a transaction took over."""
    (claim,) = (event for event in state.events[at] if isinstance(event, Claimed))
    return trial_of(state, state.asked[claim.number])


def sign_start(study: Study, by: str | None, key: str) -> None:
    """Note who starts a study that is in no file yet, and what they call the request."""
    signature = Signed("" if by is None else text(by, "by"), text(key, "key"))
    if signature != Signed("", ""):
        study._state = study._state.signed(signature)


def start_key(study: Study) -> str:
    """Return what the request that started a study was called; "" if it had no name."""
    return next((event.key for event in study.events[0] if isinstance(event, Signed)), "")


def forbidden_again(state: State, at: int) -> list[Trial]:
    """Return again the trials that are pending where a transaction forbade a region."""
    (ban,) = (event for event in state.events[at] if isinstance(event, Forbidden))
    pending = [trial_of(state, asked) for asked in state.pending.values()]
    return [trial for trial in pending if ban.region.overlaps(trial.region)]
