"""The complete state of a study as one digest, to tell whether anything at all has changed."""

import hashlib
from typing import Any

import zonal as zn
from zonal.engine.events import Asked, Created
from zonal.engine.state import State

COLUMNS = (
    *("depth", "index", "parent", "first_child", "slot", "count", "trials"),
    *("mean", "std", "noise"),
    *("expanded", "askable", "splittable", "smallest", "forbidden"),
)


def fingerprint(study: zn.Study) -> str:
    """Return a digest of all that a study holds, to the last bit: its history, trials, tree and beliefs.

    Two studies that lived through the same have the same, whoever asked.
    """
    return print_of(study._state)


def print_of(state: State) -> str:
    """Return a digest of all that a state holds."""
    digest = hashlib.sha256()
    for event in state.events:
        digest.update(repr(tuple(map(_anonymous, event))).encode())
    for name in COLUMNS:
        digest.update(getattr(state.posterior_table(), name).tobytes())
    digest.update(repr(state.ledger).encode())
    if not state.problem.model_free:
        for belief in state.belief.members:
            digest.update(belief.mean.tobytes() + belief.variance.tobytes())
        digest.update(state.belief.weights.tobytes())
    digest.update(
        repr((list(state.pending), state.measured, state.budget, state.rng_streams, state.free_streams)).encode()
    )
    digest.update(repr((sorted(state.blocked), state.failed_trials, list(state.off_tree_slots.values()))).encode())
    return digest.hexdigest()


def _anonymous(fact: Any) -> Any:
    if isinstance(fact, Created):
        return fact._replace(id="", seed=0)
    return fact._replace(by="") if isinstance(fact, Asked) else fact
