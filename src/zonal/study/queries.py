"""Answers of a study: which region to recommend, how certain that is, what to expect elsewhere.

They are functions of a study, which `Study` calls, and of its state. Each reads one state, holding the study's
lock while a policy or a belief is used, and converts rewards relative to the prior mean to the user's values. The
mathematics is in `engine.confidence`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from zonal._types import Floats, Ints
from zonal.engine import confidence, policy, select
from zonal.engine.confidence import HELD, SURE, Outlook
from zonal.engine.policy import views
from zonal.engine.results import ConfidenceBands, RegionProbability
from zonal.engine.settings import checked_feedback
from zonal.engine.state import State
from zonal.errors import InvalidInput, finite_number, listed, require, truth, whole_number, without_unit
from zonal.errors import probability as checked_probability
from zonal.gp.empirical import empirical_columns, empirical_relative_std
from zonal.gp.hyperparameters import WeightedModel
from zonal.gp.model import Model
from zonal.gp.noise_laws import relative_variances
from zonal.io.dataframes import DataFrame
from zonal.io.result_table import Listing
from zonal.kernels.feedback import Feedback, footprints_of
from zonal.policies.base import candidates
from zonal.spaces import Region, as_region, is_one_region, with_feedback
from zonal.spaces.base import RegionLike
from zonal.study import summary
from zonal.study.listings import RegionProbabilities, likely_table
from zonal.study.predictions import Prediction
from zonal.study.region_formats import regions_in
from zonal.study.whole_map import smallest_grid, whole_grid
from zonal.tree import TreeTable

if TYPE_CHECKING:
    from zonal.study.study import Study

Values = TypeVar("Values", float, Floats)
Side = Literal["above", "below"]

NO_REGIONS = "these are not regions", "Pass a region, or a list of regions."
MAX_PLANNED = 1000  # measurements of an outlook, each of which is decided
MAX_SMALLEST = 100_000  # regions predicted at once
ALIKE = 9  # decimals of probabilities, beyond which they are equal
TINY = 1e-300
CLEAR = 2.0  # minimal number of standard deviations by which a region stands out


def _value(state: State, centred: Values) -> Values:
    """Return means in the user's units."""
    return state.problem.sign * (state.prior_mean + centred)


def outlook(study: Study, n: int) -> Outlook:
    """Return what `n` more measurements are expected to bring: see `Study.outlook`."""
    number = whole_number(n, "the number of measurements", 1, MAX_PLANNED)
    with study._lock:
        first = future = study._state
        for _ in range(number):
            future = select.ask(future, "", free=True)
        asked = future.asked[len(first.asked) :]
        ratio = np.array([trial.time for trial in asked]) / future.created.time
        models, row = views(future, pending=False), policy.recommend(future)
        return confidence.outlook(future.posterior_table(), models, row, [trial.row for trial in asked], ratio)


def beyond(
    study: Study,
    side: Side,
    threshold: float | None,
    probability: float | None,
    sigma: float | None,
    every: bool = False,
) -> RegionProbabilities:
    """Return the regions whose average is beyond a threshold: see `Study.above` and `Study.below`."""
    problem = "a region is listed by its probability or by its distance in standard deviations"
    require(probability is None or sigma is None, problem, (probability, sigma), "Pass one of the two.")
    with study._lock:
        state = study._state
        if threshold is None:
            default, (side, limit) = HELD, _searched_for(study, side)
        else:
            bare = without_unit(threshold, study.settings.value_unit, "threshold")
            default, limit = SURE, finite_number(bare, "threshold")
        wanted = checked_probability(default if probability is None else probability, "probability")
        regions_at, mean, std, models = _all_judged(state) if truth(every, "every") else _leaves_judged(state)
        chance = _chance(state, side, limit, models)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = (mean - limit) / std * (1 if side == "above" else -1)
    apart[np.isnan(apart)] = 0.0  # exactly at the threshold
    if sigma is None:  # probabilities that differ by rounding are equal
        order, listed = np.lexsort((-apart, -chance.round(ALIKE))), chance >= wanted
        how = f"with a probability of {wanted:g}"
    else:
        min_sigma = finite_number(sigma, "sigma")
        order, listed = np.argsort(-apart, kind="stable"), apart >= min_sigma
        how = f"by {min_sigma:g} standard deviations"
    number = int(np.count_nonzero(listed))
    first = order[: max(number, 1)]
    columns = (column[first].tolist() for column in (mean, std, chance, apart))
    likely = [RegionProbability(*entry) for entry in zip(regions_at(first), *columns, strict=True)]
    statement = f"is {side} {limit:g} {study.settings.value_unit}".rstrip() + f" {how}"
    wrong = summary.misclassified(study) if threshold is None else None
    return likely_table(study, statement, likely, number, (limit, side, wrong))


Judged = tuple[Callable[[Ints], Sequence[Region]], Floats, Floats, list[confidence.Under]]


def _leaves_judged(state: State) -> Judged:
    """Return the leaves of the tree by place, their means and stds, and those under each model."""
    rows, tree = candidates(state.posterior_table()), tree_of(state)
    models = [(view.weight, view.mean[rows], view.std[rows]) for view in views(state, pending=False)]

    def regions_at(places: Ints) -> list[Region]:
        return [state.judged_region(row) for row in rows[places].tolist()]

    return regions_at, tree.mean[rows], tree.std[rows], models


def _all_judged(state: State) -> Judged:
    """Return all smallest regions by place, their means and stds, and those under each model."""
    models = [(weight, mean, np.sqrt(variance)) for weight, mean, variance in whole_grid(state).under_models()]
    mean = np.sum([weight * means for weight, means, _ in models], axis=0)
    variance = np.sum([weight * (std**2 + (means - mean) ** 2) for weight, means, std in models], axis=0)
    return partial(_leaves, state), _value(state, mean), np.sqrt(variance), models


def _searched_for(study: Study, side: Side) -> tuple[Side, float]:
    """Return side and threshold of the regions the policy searches for; raise if it searches for the best."""
    limit = summary.threshold(study)
    best: Side = "above" if study.settings.direction == "maximize" else "below"
    if limit is None or side not in ("above", best):
        raise InvalidInput("a threshold is needed", None, f"Pass one, or ask a study of zn.Above for {best}().")
    return best, limit


def _chance(state: State, side: Side, limit: float, models: Iterable[confidence.Under]) -> Floats:
    """Return the probability of values on one side of a threshold."""
    sign, likelihood = state.problem.sign, state.problem.settings.likelihood
    under = list(models)

    def above(value: float) -> Floats:
        better = confidence.exceeding(under, sign * value - state.prior_mean)
        return better if sign > 0 else 1 - better

    chance = above(limit)
    if likelihood is not None:  # of what lies within the range
        low, high = likelihood.range
        beyond = above(high) if high < math.inf else np.zeros_like(chance)
        inside = np.maximum(above(low) - beyond, TINY)
        chance = np.clip((chance - beyond) / inside, 0.0, 1.0)
    return chance if side == "above" else 1 - chance


def probability(
    study: Study, regions: RegionLike | Sequence[RegionLike], above: float | None, below: float | None
) -> float | Floats:
    """Return the probability that regions are above or below a threshold: see `Study.probability`."""
    problem = "a probability is of being above or below a threshold"
    require((above is None) != (below is None), problem, (above, below), "Pass one of the two.")
    side: Side = "below" if above is None else "above"
    limit = finite_number(without_unit(below if above is None else above, study.settings.value_unit, side), side)
    several, single = listed_regions(study, regions)
    if not several:
        return np.zeros(0)
    with study._lock:
        state = study._state
        parts = state.belief.under_models(footprints_of(several, state.problem.target))
    models = [(weight, mean, np.sqrt(variance)) for weight, mean, variance in parts]
    chance = _chance(state, side, limit, models)
    return float(chance[0]) if single else chance


def stands_out(study: Study) -> bool:
    """Tell whether the recommended region is better than the space, beyond chance: see `Study.stands_out`."""
    with study._lock:
        state = study._state
        best, whole = policy.recommend(state), 0
        if best == whole or not policy.has_scale(state):
            return False
        joint = _covariance(state, [best, whole])
    unsure = 0.0 if state.model is None else state.model.spread.get("noise", 0.0)
    luck = math.sqrt(2 * math.log(max(int(np.count_nonzero(state.posterior_table().count)), 1)))
    spread = math.sqrt(max(float(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1]), 0.0))
    advantage = float(state.posterior_table().mean[best] - state.posterior_table().mean[whole])
    return advantage > 0 and advantage > max(CLEAR, luck) * (1 + unsure) * spread


def _covariance(state: State, rows: list[int]) -> Floats:
    """Return the joint covariance of some nodes; empirical means are independent."""
    if state.problem.model_free:
        return np.diag(state.posterior_table().std[rows] ** 2)
    return state.belief.covariance(state.structure.slot[rows])


def predict(
    study: Study,
    regions: RegionLike | Sequence[RegionLike] | DataFrame | Listing | None,
    feedback: Feedback | None,
) -> Prediction:
    """Return mean and std of any regions' averages: see `Study.predict`."""
    if regions is None and feedback is None:
        with study._lock:
            grid = smallest_grid(state := study._state)
            centred, variance = (None, None) if grid is None else grid.predict()
        if centred is not None and variance is not None:
            mean, std = state.problem.stated(_value(state, centred), np.sqrt(variance))
            everything, unit = partial(_leaves, state), study.settings.value_unit
            return Prediction(mean, std)._of(everything, unit, study.settings.likelihood)
    several, single = (smallest_regions(study), False) if regions is None else listed_regions(study, regions)
    if feedback is not None:
        by = checked_feedback(feedback, study.space)
        several = [_seen_by(study, region, by) for region in several]
    if not several:
        return Prediction(np.zeros(0), np.zeros(0))
    with study._lock:
        state = study._state
        centred, variance = expected(state, several)
    mean, std = state.problem.stated(_value(state, centred), np.sqrt(variance))
    likelihood = study.settings.likelihood
    if single:
        return Prediction(float(mean[0]), float(std[0]))._of((), "", likelihood)
    return Prediction(mean, std)._of(several, study.settings.value_unit, likelihood)


def smallest_regions(study: Study) -> list[Region]:
    """Return all regions of the smallest size, or raise if there are too many."""
    state = study._state
    bottom = state.problem.bottom(state.h_max)
    number = study.space.partition.leaves(bottom)
    fix = "Pass the regions, or give the space a larger smallest size."
    require(number <= MAX_SMALLEST, f"at most {MAX_SMALLEST} smallest regions are predicted at once", number, fix)
    regions: list[Region] = study.space.partition.leaf_regions(bottom)
    return regions


def _leaves(state: State, numbers: Ints | None = None) -> Sequence[Region]:
    """Return the smallest regions in order, or some of them by number."""
    regions: Sequence[Region] = state.problem.space.partition.leaf_regions(
        state.problem.bottom(state.h_max), numbers
    )
    return regions


def relative_std(study: Study, regions: Sequence[RegionLike] | None) -> Floats:
    """Return the share of the initial uncertainty that is left: see `Study.relative_std`."""
    if regions is not None:
        several = listed_regions(study, regions)[0]
        return mean_and_relative_std(study, several)[1] if several else np.zeros(0)
    with study._lock:
        state = study._state
        if state.problem.model_free:
            return empirical_relative_std(empirical_columns(state.ledger, state.structure.slot, 0.0)[1])
        return state.belief.relative_std(state.belief.columns[1])[state.posterior_table().slot]


def mean_and_relative_std(study: Study, regions: list[Region]) -> tuple[Floats, Floats]:
    """Return means of regions' averages, and the share of the initial uncertainty that is left."""
    with study._lock:
        state = study._state
        centred, variance = expected(state, regions)
        mean, _ = state.problem.stated(_value(state, centred), np.sqrt(variance))
        if state.problem.model_free:
            share = empirical_relative_std(variance)
        else:
            share = state.belief.relative_std(variance, footprints_of(regions, state.problem.target))
    return mean, share


def listed_regions(
    study: Study, regions: RegionLike | Sequence[RegionLike] | DataFrame | Listing
) -> tuple[list[Region], bool]:
    """Return regions as objects, and whether a single one was passed."""
    if isinstance(regions, Iterator):
        regions = listed(regions, *NO_REGIONS)
    described = regions_in(study.space, regions)
    if described is not None:
        return [judged_region(study, region) for region in described], False
    remaining: Any = regions
    single = is_one_region(study.space, remaining)
    several: list[Any] = [regions] if single else listed(regions, *NO_REGIONS)
    return [judged_region(study, region) for region in several], single


def confidence_bands(study: Study) -> ConfidenceBands:
    """Return the two kinds of uncertainty about each node: see `Study.confidence_bands`."""
    with study._lock:
        return ConfidenceBands(*policy.confidence_bands(study._state))


def expected(state: State, regions: Sequence[Region]) -> tuple[Floats, Floats]:
    """Return mean, relative to the prior mean, and variance of any regions' averages."""
    if state.problem.model_free:
        rows = [state.find(region) for region in regions]
        fix = "Ask for nodes of the tree, or use a policy with a Gaussian belief, such as GPOO."
        names = [region.name for region, row in zip(regions, rows, strict=True) if row is None]
        require(not names, "empirical means say nothing about regions outside the tree", names, fix)
        at = np.array(rows, dtype=np.intp)
        return state.posterior_table().mean[at], state.posterior_table().std[at] ** 2
    return state.belief.predict(footprints_of(regions, state.problem.target))


def tree_of(state: State) -> TreeTable:
    """Return the tree in the user's units."""
    sign = state.problem.sign
    tree = state.posterior_table().snapshot(sign * state.prior_mean, sign, state.created.time)
    if state.problem.settings.likelihood is None:
        return tree
    mean, std = state.problem.stated(tree.mean, tree.std)
    return replace(tree, mean=mean, std=std)


def model(state: State) -> Model:
    """Return the model in use, in the user's units."""
    if state.model is None:
        raise InvalidInput("the empirical belief has no model", "StoOO", "Use a policy such as GPOO.")
    return _outward(state, state.model)


def models(state: State) -> tuple[WeightedModel, ...]:
    """Return the weighted models of the posterior over models, in the user's units."""
    if state.problem.model_free:
        return ()
    belief = state.belief
    return tuple(
        WeightedModel(weight, _outward(state, member.model))
        for weight, member in zip(belief.weights.tolist(), belief.members, strict=True)
    )


def _outward(state: State, model: Model) -> Model:
    """Return a model in the user's units; a noise that was given as a number is included."""
    problem = state.problem
    given = problem.settings.noise
    noise: Any = given if isinstance(given, float) else None
    if model.noise is not None:
        whole = relative_variances(model.law, np.ones(1)).item()  # 1 unless it depends on size
        learned = model.noise * math.sqrt(state.created.time * whole)
        noise = problem.noise.summary(learned)
    return replace(model, mean=problem.sign * model.mean, noise=noise, spread=dict(model.spread))


def past_states(now: State, measured: Sequence[int]) -> list[State]:
    """Return the states after certain numbers of measurements."""
    wanted = [whole_number(number, "a number of measurements", 0, now.measured) for number in measured]
    first, *later = now.events
    states = accumulate(later, State.apply_transaction, initial=State.begin(now.problem, first))
    left, by_number = set(wanted), dict[int, State]()
    while left:
        state = next(states)
        if state.measured in left:
            left.remove(state.measured)
            by_number[state.measured] = state
    return [by_number[number] for number in wanted]


def region_of(study: Study, region: RegionLike) -> Region:
    """Return a region of the study's space, given as such or described, as the study's feedback sees it."""
    return with_feedback(_translated(study, region), study.settings.feedback)


def judged_region(study: Study, region: RegionLike) -> Region:
    """Return a region of the study's space as it is judged: by its own feedback, else by the study's target."""
    translated = _translated(study, region)
    by = translated.feedback
    if by is None:
        return with_feedback(translated, study.settings.judged)
    fix = "Pass the region without it; predict answers for averages."
    require(not by.slope, "a region's slope is observed, not predicted", by, fix)
    checked_feedback(by, study.space)
    return translated


def _seen_by(study: Study, region: Region, feedback: Feedback) -> Region:
    """Return a region with another feedback than the study's; raise if it has one of its own."""
    own_is_studys = region.feedback in (study.settings.feedback, study.settings.judged, feedback)
    problem = "this region has a feedback of its own"
    require(own_is_studys, problem, region.feedback, "Pass the region without it, or leave feedback= out.")
    require(
        not feedback.slope, "a slope is observed, not predicted", feedback, "Pass an average, such as zn.Mean()."
    )
    return with_feedback(region, feedback)


def _translated(study: Study, region: RegionLike) -> Region:
    """Return a region of the study's space, given as such, or of another one, or described."""
    space = study.space
    if isinstance(region, Region) and region.space != space and space.continuous and region.space.continuous:
        region = space.region(region.bounds, region.feedback)
    translated: Region = as_region(space, region)
    return translated
