"""Answers of a study: which region to recommend, how certain that is, what to expect elsewhere.

Each answer is a function of a study at one moment, and a method of `Reading`. It reads one state, holding the
study's lock while a policy or a belief is used, and converts rewards relative to the prior mean to the user's
values. The mathematics is in `rounds.certainty`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from zonal._types import Floats
from zonal.engine import binding, confidence, select
from zonal.engine.confidence import HELD, SURE, Outlook, Standing
from zonal.engine.results import ConfidenceBands, Recommendation, RegionProbability
from zonal.engine.settings import RegionLike
from zonal.engine.state import State
from zonal.engine.views import views
from zonal.errors import InvalidInput, finite_number, listed, need, whole_number, without_unit
from zonal.errors import probability as checked_probability
from zonal.gp.empirical import EmpiricalBelief
from zonal.io.dataframes import DataFrame
from zonal.io.result_table import Listing
from zonal.policies.base import candidates
from zonal.spaces import Region
from zonal.study.predictions import Prediction
from zonal.study.region_frames import regions_in
from zonal.study.summary import RegionProbabilities, likely_table
from zonal.tree import TreeTable

if TYPE_CHECKING:
    from zonal.study.reading import Reading

Side = Literal["above", "below"]

NO_REGIONS = "these are not regions", "Pass a region, or a list of regions."
MOST_PLANNED = 1000  # measurements of an outlook, each of which is decided
MOST_SMALLEST = 100_000  # regions predicted at once
ALIKE = 9  # decimals of probabilities, beyond which they are equal
CLEAR = 2.0  # least number of standard deviations by which a region stands out


def settle(study: Reading) -> tuple[Region, float, float]:
    """Return the recommended region, and mean and standard deviation of its average."""
    with study._lock:
        state = study._state
        row = binding.recommend(state)
    tree = state.tree
    return state.region(row), _value(state, tree.mean.item(row)), tree.std.item(row)


def _value(state: State, centred: Any) -> Any:
    """Return means in the user's units."""
    return state.problem.sign * (state.prior_mean + centred)


@overload
def recommend(study: Reading, k: None = None, *, theta: float = 0.1) -> Recommendation: ...
@overload
def recommend(study: Reading, k: int, *, theta: float = 0.1) -> list[Recommendation]: ...
def recommend(
    study: Reading, k: int | None = None, *, theta: float = 0.1
) -> Recommendation | list[Recommendation]:
    """Return the recommended region, or a list of the `k` best, and how certain that is.

    Parameters
    ----------
    k : int, optional
        Number of disjoint regions; fewer are returned if no more are known.
    theta : float
        ``gap`` holds with probability 1 - theta, under the model.
    """
    number = 1 if k is None else whole_number(k, "the number of regions to recommend", 1)
    theta = checked_probability(theta, "theta")
    with study._lock:
        state = study._state
        rows = confidence.ranking(state.tree, binding.recommend(state), number)
        if isinstance(state.belief, EmpiricalBelief):
            sure = [Standing(math.nan, math.nan)] * len(rows)
        else:
            sure = confidence.standings(state.tree, views(state, pending=False), np.array(rows), theta)
    tree, found = tree_of(state), []
    for row, standing in zip(rows, sure, strict=True):
        where = state.region(row), state.tree.node(row)
        mean, std = float(tree.mean[row]), float(tree.std[row])
        found.append(Recommendation(*where, mean, std, *standing, unit=study.value_unit))
    return found[0] if k is None else found


def outlook(study: Reading, n: int) -> Outlook:
    """Return by how much `n` more measurements are expected to improve the recommended region's true average.

    The measurements are planned in advance and simulated on draws from the posterior, where they also update the
    weights of the models. A real search adapts and does at least as well, so for many measurements this is a
    cautious estimate; it holds under the models. The budget does not matter.
    """
    number = whole_number(n, "the number of measurements", 1, MOST_PLANNED)
    with study._lock:
        first = future = study._state
        for _ in range(number):
            future = select.ask(future, "", free=True)
        asked = future.asked.since(first.asked.size)
        ratio = np.array([own.time for own in asked]) / future.began.time
        known, row = views(future, pending=False), binding.recommend(future)
        return confidence.outlook(future.tree, known, row, [own.row for own in asked], ratio)


def above(
    study: Reading,
    threshold: float | None = None,
    probability: float | None = None,
    *,
    sigma: float | None = None,
) -> RegionProbabilities:
    """Return the regions of the smallest size whose average exceeds a threshold, the most probable first.

    They are a table of `RegionProbability`; ``.patches()`` joins those that touch. If no region is probable enough
    it has no rows, and its title says so and names the most probable one.

    Parameters
    ----------
    threshold : float, optional
        In value units. With the policy `Above` it may be left out: then the regions are those that the policy
        searches for, which are below its threshold when minimising.
    probability : float, optional
        Least probability, under the model: by default 0.9, or 0.5 without a threshold.
    sigma : float, optional
        Instead of a probability: by how many standard deviations the mean must lie beyond the threshold. The
        regions are then in this order.
    """
    return _beyond(study, "above", threshold, probability, sigma)


def below(
    study: Reading,
    threshold: float | None = None,
    probability: float | None = None,
    *,
    sigma: float | None = None,
) -> RegionProbabilities:
    """Return the regions of the smallest size whose average is below a threshold, as `above` does."""
    return _beyond(study, "below", threshold, probability, sigma)


def _beyond(
    study: Reading, side: Side, threshold: float | None, probability: float | None, sigma: float | None
) -> RegionProbabilities:
    problem = "a region is listed by its probability or by its distance in standard deviations"
    need(probability is None or sigma is None, problem, (probability, sigma), "Pass one of the two.")
    with study._lock:
        state = study._state
        if threshold is None:
            usual, (side, limit) = HELD, _looked_for(study, side)
        else:
            usual, limit = SURE, finite_number(without_unit(threshold, study.value_unit, "threshold"), "threshold")
        wanted = checked_probability(usual if probability is None else probability, "probability")
        rows = candidates(state.tree)
        models = ((own.weight, own.mean[rows], own.std[rows]) for own in views(state, pending=False))
        chance = _chance(state, side, limit, models)
    tree = tree_of(state)
    mean, std = tree.mean[rows], tree.std[rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = (mean - limit) / std * (1 if side == "above" else -1)
    apart[np.isnan(apart)] = 0.0  # exactly at the threshold
    if sigma is None:  # probabilities that differ by rounding are equal
        order, listed = np.lexsort((-apart, -chance.round(ALIKE))), chance >= wanted
        how = f"with a probability of {wanted:g}"
    else:
        least = finite_number(sigma, "sigma")
        order, listed = np.argsort(-apart, kind="stable"), apart >= least
        how = f"by {least:g} standard deviations"
    number = int(np.count_nonzero(listed))
    likely = [
        RegionProbability(
            state.region(int(rows[at])), float(mean[at]), float(std[at]), float(chance[at]), float(apart[at])
        )
        for at in order[: max(number, 1)].tolist()
    ]
    beyond = f"is {side} {limit:g} {study.value_unit}".rstrip() + f" {how}"
    return likely_table(study, beyond, likely, number, (limit, side))


def _looked_for(study: Reading, side: Side) -> tuple[Side, float]:
    """Return side and threshold of the regions the policy searches for; raise if it searches for the best."""
    limit = study.threshold
    best: Side = "above" if study.direction == "maximize" else "below"
    if limit is None or side not in ("above", best):
        raise InvalidInput("a threshold is needed", None, f"Pass one, or ask a study of zn.Above for {best}().")
    return best, limit


def threshold(study: Reading) -> float | None:
    """Return the threshold of the policy's search for a set of regions; None if it searches for the best one."""
    with study._lock:
        state = study._state
        limit = binding.threshold(state)
    return None if limit is None else float(_value(state, limit)) + 0.0  # 0, not -0


def misclassified(study: Reading) -> float | None:
    """Return the expected weight of smallest regions that are classified on the wrong side of the threshold.

    It is in the units of ``region.weight`` (volume, for a box), under the model; None if the policy does not
    search for all regions beyond a threshold.
    """
    with study._lock:
        state = study._state
        limit = binding.threshold(state)
        return None if limit is None else confidence.misclassified(state.tree, views(state, pending=False), limit)


def _chance(state: State, side: Side, limit: float, models: Iterable[confidence.Under]) -> Floats:
    """Return the probability of values on one side of a threshold."""
    better = confidence.exceeding(models, state.problem.sign * limit - state.prior_mean)
    return better if (side == "above") == (state.problem.sign > 0) else 1 - better


def probability(
    study: Reading,
    regions: RegionLike | Sequence[RegionLike],
    *,
    above: float | None = None,
    below: float | None = None,
) -> Any:
    """Return the probability, under the model, that any region's average is above or below a threshold.

    Regions are given, and answered, as for `predict`; the threshold, one of the two, is in value units.
    """
    problem = "a probability is of being above or below a threshold"
    need((above is None) != (below is None), problem, (above, below), "Pass one of the two.")
    side: Side = "below" if above is None else "above"
    limit = finite_number(without_unit(below if above is None else above, study.value_unit, side), side)
    several, one = _listed(study, regions)
    if not several:
        return np.zeros(0)
    with study._lock:
        state = study._state
        parts = state.belief.under_models(state.problem.feedback.footprints(several))
    models = [(weight, mean, np.sqrt(variance)) for weight, mean, variance in parts]
    chance = _chance(state, side, limit, models)
    return float(chance[0]) if one else chance


def stands_out(study: Reading) -> bool:
    """Tell whether the recommended region is better than the average of the space, beyond chance.

    Its average must exceed that of the whole space by more standard deviations than the best of as many regions as
    were measured would by chance: sqrt(2 log n), and at least two; more while a learned noise is uncertain.
    """
    with study._lock:
        state = study._state
        best, whole = binding.recommend(state), 0
        if best == whole or not binding.has_scale(state):
            return False
        joint = state.belief.covariance(state.tree.slot[[best, whole]])
    unsure = 0.0 if state.model is None else state.model.spread.get("noise", 0.0)
    luck = math.sqrt(2 * math.log(max(int(np.count_nonzero(state.tree.count)), 1)))
    spread = math.sqrt(max(float(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1]), 0.0))
    advantage = float(state.tree.mean[best] - state.tree.mean[whole])
    return advantage > 0 and advantage > max(CLEAR, luck) * (1 + unsure) * spread


def predict(
    study: Reading, regions: RegionLike | Sequence[RegionLike] | DataFrame | Listing | None = None
) -> Prediction:
    """Return posterior ``mean`` and ``std`` of any regions' averages: numbers for one region, arrays for several.

    For several regions, ``.table()`` is a table with the regions, and ``.to_grid()`` has one dimension per axis.

    Parameters
    ----------
    regions : Region, what ``space.region`` takes (see `observe`), or several of these, optional
        Nodes of the tree or other regions; by default all regions of the smallest size. Equal edges mean a point
        on that axis; a list of texts means several regions. A data frame has a region in each row: columns such
        as "x_low" and "x_high", or those of Zonal's tables; "x" alone for points on that axis and for symbols; or
        "region" with names.
    """
    several, one = (_smallest(study), False) if regions is None else _listed(study, regions)
    if not several:
        return Prediction(np.zeros(0), np.zeros(0))
    with study._lock:
        state = study._state
        centred, variance = expected(state, several)
    mean, std = _value(state, centred), np.sqrt(variance)
    if one:
        return Prediction(float(mean[0]), float(std[0]))
    return Prediction(mean, std)._of(several, study.value_unit)


def _smallest(study: Reading) -> list[Region]:
    """Return all regions of the smallest size, or raise if there are too many."""
    state = study._state
    bottom = state.problem.bottom(state.h_max)
    number = study.space.leaves(bottom)
    fix = "Pass the regions, or give the space a larger smallest size."
    need(number <= MOST_SMALLEST, f"at most {MOST_SMALLEST} smallest regions are predicted at once", number, fix)
    regions: list[Region] = study.space.every(bottom)
    return regions


def relative_std(study: Reading, regions: Sequence[RegionLike] | None = None) -> Floats:
    """Return the share of the initial uncertainty that is left: 1 for all of it, 0 for none.

    It is the posterior over the prior standard deviation of a region's average, under the models in use; on an
    empirical belief 1 / sqrt(1 + T) after T measurements of the region. The regions are as for `predict`; by
    default the nodes of ``tree``, in its order.
    """
    if regions is not None:
        several = _listed(study, regions)[0]
        return known(study, several)[1] if several else np.zeros(0)
    with study._lock:
        state = study._state
        return state.belief.doubt(state.belief.columns[1])[state.tree.slot]


def known(study: Reading, regions: list[Region]) -> tuple[Floats, Floats]:
    """Return means of some regions' averages, and the share of the initial uncertainty that is left."""
    with study._lock:
        state = study._state
        centred, variance = expected(state, regions)
        doubt = state.belief.doubt(variance, state.problem.feedback.footprints(regions))
    return _value(state, centred), doubt


def _listed(study: Reading, regions: Any) -> tuple[list[Region], bool]:
    """Return regions as objects, and whether a single one was passed."""
    if isinstance(regions, Iterator):
        regions = listed(regions, *NO_REGIONS)
    described = regions_in(study.space, regions)
    if described is not None:
        return [study._region(region) for region in described], False
    one = study.space.is_one(regions)
    return [study._region(region) for region in ([regions] if one else listed(regions, *NO_REGIONS))], one


def confidence_bands(study: Reading) -> ConfidenceBands:
    """Return how far each node's average, and f within the node, may lie from the posterior mean.

    The next trial is chosen by the b-value, ``mean + confidence + variation`` (equation 5 of the
    paper).
    """
    with study._lock:
        return ConfidenceBands(*binding.confidence_bands(study._state))


def expected(state: State, regions: Sequence[Region]) -> tuple[Floats, Floats]:
    """Return mean, relative to the prior mean, and variance of any regions' averages."""
    if isinstance(state.belief, EmpiricalBelief):  # it is limited to nodes of the tree
        rows = [state.find(region) for region in regions]
        if None not in rows:
            at = np.array(rows, dtype=np.intp)
            return state.tree.mean[at], state.tree.std[at] ** 2
    return state.belief.predict(state.problem.feedback.footprints(regions))


def tree_of(state: State) -> TreeTable:
    """Return the tree in the user's units."""
    sign = state.problem.sign
    return state.tree.snapshot(sign * state.prior_mean, sign, state.began.time)
