"""What a state says about the space: which region to settle for, how sure that is, what to expect elsewhere.

Everything here reads a state and changes nothing. Means are counted from the prior mean, more is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zonal.beliefs.empirical import EmpiricalBelief
from zonal.errors import InvalidInput
from zonal.policies import Rows
from zonal.rounds import replies
from zonal.rounds.certainty import Outlook, Standing
from zonal.rounds.certainty import exceeding as chances
from zonal.rounds.certainty import outlook as expected
from zonal.rounds.certainty import standings as standing
from zonal.rounds.decisions import ask, has_scale, rules
from zonal.rounds.state import State
from zonal.rounds.views import views
from zonal.spaces import Region

Floats = NDArray[np.float64]

CLEAR = 2.0  # standard deviations


def recommend(state: State) -> int:
    """Return the row to recommend."""
    return replies.row(rules(state).recommend(state.tree), "recommend", state.tree)


def ranking(state: State, k: int) -> list[int]:
    """Return the row to recommend and the next best, `k` disjoint regions at the most."""
    first = recommend(state)
    if k == 1:
        return [first]
    tree, rows = state.tree, [first]
    leaves = (tree.leaf & ~tree.forbidden).nonzero()[0]
    wanted = tree.smallest[leaves]
    leaves = leaves[wanted] if wanted.any() else leaves
    lineage = tree.lineage(first)
    for row in leaves[np.argsort(-tree.mean[leaves], kind="stable")].tolist():
        if len(rows) == k:
            break
        if row != first and row not in lineage and first not in tree.lineage(row):
            rows.append(row)
    return rows


def standings(state: State, rows: Sequence[int], theta: float) -> list[Standing]:
    """Return how sure it is that each of `rows` is the best region; NaN on an empirical belief."""
    if isinstance(state.belief, EmpiricalBelief):
        return [Standing(math.nan, math.nan) for _ in rows]
    return standing(state.tree, views(state, pending=False), np.array(rows), theta)


def exceeding(state: State, threshold: float) -> tuple[Rows, Floats]:
    """Return the regions of the smallest size, and the probability that their averages exceed a threshold."""
    tree = state.tree
    rows = (tree.smallest & ~tree.forbidden).nonzero()[0]
    if len(rows) == 0:
        rows = (tree.leaf & ~tree.forbidden).nonzero()[0]
    return rows, chances(views(state, pending=False), rows, threshold)


def outlook(state: State, n: int) -> Outlook:
    """Return what `n` more measurements, as planned now, are expected to bring."""
    future = state
    for _ in range(n):
        future = ask(future, "")
    plan = [future.asked[number].row for number in range(state.asked.size, future.asked.size)]
    return expected(future.tree, views(future, pending=False), recommend(future), plan)


def stands_out(state: State) -> bool:
    """Tell whether the recommended region is better than the whole space, beyond chance.

    It must be so by more standard deviations than the best of as many regions as were measured would be by luck,
    sqrt(2 log n), and two at least; more while the noise, if learned, is not well known.
    """
    best, whole = recommend(state), 0
    unsure = 0.0 if state.model is None else state.model.spread.get("noise", 0.0)
    if best == whole or not has_scale(state):
        return False
    measured = int(np.count_nonzero(state.tree.count))
    luck = math.sqrt(2 * math.log(max(measured, 1)))
    return _advantage(state, best, whole) > max(CLEAR, luck) * (1 + unsure)


def _advantage(state: State, one: int, other: int) -> float:
    """Return by how many standard deviations one node's average exceeds another's."""
    tree = state.tree
    joint = state.belief.covariance(tree.slot[np.array([one, other])])
    difference = float(tree.mean[one] - tree.mean[other])
    variance = max(float(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1]), 0.0)
    if variance == 0:
        return math.inf if difference > 0 else 0.0
    return difference / math.sqrt(variance)


def predict(state: State, regions: Sequence[Region]) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of any regions' averages."""
    if isinstance(state.belief, EmpiricalBelief):  # which knows nodes of the tree only
        rows = [state.find(region) for region in regions]
        if None not in rows:
            at = np.array(rows, dtype=np.intp)
            return state.tree.mean[at], state.tree.std[at]
    mean, variance = state.belief.predict(state.problem.feedback.footprints(regions))
    return mean, np.sqrt(variance)


def joint(state: State, regions: Sequence[Region]) -> tuple[Floats, Floats]:
    """Return means and joint covariance of any regions' averages."""
    if isinstance(state.belief, EmpiricalBelief):
        raise InvalidInput(
            "the empirical belief knows no covariances", "StoOO", "Use a policy with a Gaussian belief."
        )
    return state.belief.joint(state.problem.feedback.footprints(regions))
