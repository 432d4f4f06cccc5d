"""The complete state of a study as one digest, to tell whether anything at all has changed."""

import hashlib
from dataclasses import replace
from typing import Any

import zonal as zn
from zonal.beliefs.mixture import Mixture
from zonal.rounds.events import Asked, Began
from zonal.tree import FLAGS, FLOATS, INTS


def fingerprint(study: zn.Study) -> str:
    """Return a digest of all that a study holds, to the last bit: its history, trials, tree and beliefs.

    Two studies that lived through the same have the same, whoever asked.
    """
    state, digest = study._state, hashlib.sha256()
    for event in study.events:
        digest.update(repr(_anonymous(event)).encode())
    for name in (*INTS, *FLOATS, *FLAGS):
        digest.update(getattr(state.tree, name).tobytes())
    beliefs = [own.belief for own in state.belief.members] if isinstance(state.belief, Mixture) else [state.belief]
    for belief in beliefs:
        digest.update(belief.mean.tobytes() + belief.variance.tobytes())
    digest.update(repr((list(state.pending), state.told, state.budget, state.draws, state.freed)).encode())
    digest.update(repr((sorted(state.barred), state.failures, list(state.outside.values()))).encode())
    return digest.hexdigest()


def _anonymous(event: Any) -> Any:
    if isinstance(event, Began):
        return replace(event, id="", seed=0)
    return replace(event, by="") if isinstance(event, Asked) else event
