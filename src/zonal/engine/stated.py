"""The state as answers state it: with noise that grows with the value, if readings look like it.

Trials are chosen, and the answer is, as if noise did not depend on the value.
"""

from __future__ import annotations

from typing import NamedTuple

from zonal.engine.state import State
from zonal.gp.growing_noise import Grown, with_growing_noise


class Stated(NamedTuple):
    """A state with the means of another one and perhaps larger variances."""

    state: State
    noise_grows: float  # the probability that noise grows with the value


def stated(state: State) -> Stated:
    """Return the state whose variances are stated, computed once for each posterior."""
    grown = state.derived("growing noise", (state.posterior,), lambda: _grown(state))
    if grown is None:
        return Stated(state, 0.0)
    after = state.draft()
    after.posterior = state.derived("stated", (state.posterior,), lambda: state.posterior.under(grown.mixture))
    return Stated(after, grown.probability)


def _grown(state: State) -> Grown | None:
    """Return the belief under noise that may grow with the value, where it is learned and values are positive."""
    problem, data = state.problem, state.ledger.data(total_weights=state.tracked.total_weights)
    if problem.model_free or not problem.noise.learned or problem.settings.likelihood is not None:
        return None
    if not len(data.slots) or not data.averages.all() or (problem.sign * data.mean).min() <= 0:
        return None
    belief = state.belief
    values = problem.sign * (belief.zero + belief.columns[0])
    return with_growing_noise(belief, data, values) if values[0] > 0 else None
