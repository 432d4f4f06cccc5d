"""How sure an answer is, against draws from a dense posterior, and what more measurements would bring."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import multivariate_normal, norm

import oracle
import zonal as zn
from benchmarks import outlook as benchmark
from effort import tries
from fingerprint import fingerprint
from zonal.engine.confidence import MAX_RIVALS, outlook, standings
from zonal.gp.stats import ObservationStats
from zonal.kernels.base import Kernel
from zonal.policies.base import ModelView
from zonal.simulation.gp_samples import model_of
from zonal.tree import Nodes, Tree

pytestmark = pytest.mark.one_in(2)

Floats = NDArray[np.float64]

SPACE = zn.Box([(0.0, 1.0)], smallest=0.05)  # 16 smallest regions
FEEDBACK = zn.Average(3)
CELLS = [SPACE.cell((4, index), FEEDBACK) for index in range(16)]
GIVEN: dict[str, Any] = {"kernel": zn.RBF(0.5, 0.2), "noise": 0.3}
given_or_learned = pytest.mark.parametrize("model", [GIVEN, {}], ids=["given", "learned"])


def prior_covariance(study: zn.Study, cells: list[Any]) -> Floats:
    return study._state.belief.joint(study.settings.feedback.footprints(cells))[1]


def wave(region: zn.Region) -> float:
    return math.sin(7 * float(region.center[0])) + 0.3 * math.cos(40 * float(region.center[0]))


def studied(told: int = 9, space: zn.Box = SPACE, **settings: Any) -> zn.Study:
    study = zn.Study(space, **{"budget": 60, "feedback": FEEDBACK, **settings})
    for _ in range(told):
        trial = study.ask()
        study.tell(trial, wave(trial.region) if study.settings.direction == "maximize" else -wave(trial.region))
    return study


def same(kernel: Kernel) -> oracle.Kernel:
    if isinstance(kernel, zn.RBF):
        return oracle.rbf(kernel.variance, kernel.lengthscale)
    assert isinstance(kernel, zn.Matern)
    return oracle.matern(kernel.nu, kernel.variance, kernel.lengthscale)


def posteriors(study: zn.Study, *others: zn.Region) -> list[tuple[float, Floats, Floats]]:
    """Return the weight of each model, and mean and covariance of all smallest regions under it, densely.

    Other regions come after them.
    """
    found = []
    regions = [*(trial.region for trial in study.trials), *CELLS, *others]
    points = np.concatenate([oracle.representatives(np.asarray(region.bounds), 3) for region in regions])
    values = np.array([trial.value for trial in study.trials], dtype=float)
    t, n = len(values), len(regions)
    for own in study.models:
        gram = same(own.model.kernel)(points, points).reshape(n, 3, n, 3).mean(axis=(1, 3))
        gram += own.model.mean_std**2  # a learned mean is unknown too
        noise = GIVEN["noise"] if own.model.noise is None else own.model.noise
        gain = np.linalg.solve(gram[:t, :t] + noise**2 * np.eye(t), gram[:t, t:]).T
        mean = own.model.mean + gain @ (values - own.model.mean)
        found.append((own.weight, mean, gram[t:, t:] - gain @ gram[:t, t:]))
    return found


def draws(study: zn.Study, number: int = 100_000) -> Floats:
    """Return joint draws of the averages of all smallest regions."""
    rng = np.random.default_rng(5)
    parts = []
    for weight, mean, covariance in posteriors(study):
        values, vectors = np.linalg.eigh(covariance)
        normal = rng.standard_normal((round(weight * number), len(mean)))
        parts.append(mean + normal @ (vectors * np.sqrt(np.maximum(values, 0.0))).T)
    return np.concatenate(parts)


# Gap and probability.


@cache
def drawn_from(told: int, given: bool) -> tuple[zn.Study, Floats]:
    study = studied(told, **(GIVEN if given else {}))
    return study, draws(study)


@given_or_learned
@pytest.mark.parametrize("told", [1, 4, 9, 30])
@pytest.mark.parametrize("theta", [0.05, 0.1, 0.5])
def test_gap_and_probability_are_those_of_draws_from_the_dense_posterior(
    told: int, theta: float, model: dict[str, Any]
) -> None:
    study, drawn = drawn_from(told, bool(model))
    for found in study.recommend(3, theta=theta, on_grid=True):
        short = drawn.max(axis=1) - drawn[:, found.node[1]]
        low, high = np.quantile(short, [max(1 - theta - 0.03, 0), min(1 - theta + 0.03, 1)])
        assert low - 1e-3 <= found.gap <= high + 1e-3
        assert found.probability_best == pytest.approx(float(np.mean(short <= 0)), abs=0.05)


def test_whoever_wants_to_be_surer_gets_a_larger_gap() -> None:
    study = studied()
    gaps = [study.recommend(theta=theta, on_grid=True).gap for theta in (0.01, 0.05, 0.2, 0.5, 0.9)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > gaps[-1] >= 0


@pytest.mark.parametrize("theta", [0, 1, -0.1, 1.5, math.nan, "a", None], ids=repr)
def test_a_theta_that_is_no_probability_is_refused(theta: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="theta"):
        studied(1).recommend(theta=theta)


@pytest.mark.tries
def test_gaps_hold_as_often_as_they_say_where_the_model_is_right() -> None:
    kernel, noise, runs = zn.RBF(1.0, 0.15), 0.3, tries(80, 150)
    rng = np.random.default_rng(0)
    cells = [SPACE.cell((4, index)) for index in range(16)]
    prior = prior_covariance(zn.Study(SPACE, budget=1, kernel=kernel, noise=noise), cells)
    factor = np.linalg.cholesky(prior + 1e-12 * np.eye(16))
    held, best, claimed = 0, 0, []
    for _ in range(runs):
        truth = factor @ rng.standard_normal(16)
        study = zn.Study(SPACE, budget=1, kernel=kernel, noise=noise)
        for depth in (2, 3, 3, 4, 4, 4):
            index = int(rng.integers(2**depth))
            inside = truth.reshape(2**depth, -1)[index]  # an exact mean is that of its parts
            study.observe(SPACE.cell((depth, index)), float(inside.mean() + noise * rng.standard_normal()))
        found = study.recommend(on_grid=True)
        gap = float(truth.max() - truth[found.node[1]])
        held += gap <= found.gap + 1e-12
        best += gap == 0
        claimed.append(found.probability_best)
    assert 0.84 <= held / runs <= 0.97
    assert best / runs == pytest.approx(np.mean(claimed), abs=0.1)


def test_certainty_comes_with_measurements() -> None:
    study = zn.Study(SPACE, budget=400, feedback=FEEDBACK, kernel=zn.RBF(0.5, 0.2), noise=0.01)
    gaps = []
    for _ in range(60):
        trial = study.ask()
        study.tell(trial, wave(trial.region))
        gaps.append(study.recommend(on_grid=True).gap)
    assert gaps[-1] < 0.05 < gaps[0]
    assert study.recommend(on_grid=True).probability_best > 0.9


def test_a_belief_without_covariances_claims_nothing() -> None:
    study = zn.Study(SPACE, budget=9, policy=zn.StoOO(zn.GeometricDelta(1, 0.5)))
    study.tell(study.ask(), 0.5)
    found = study.recommend(on_grid=True)
    assert math.isnan(found.gap)
    assert math.isnan(found.probability_best)
    for ask in (lambda: study.outlook(3), lambda: study.above(0.3)):
        with pytest.raises(zn.InvalidInput, match="empirical means have no covariances"):
            ask()


def test_what_is_forbidden_is_no_rival() -> None:
    free = studied(9, **GIVEN)
    best = free.recommend(on_grid=True).node

    def never(region: zn.Region) -> bool:
        return bool(region.node == best)

    bound = zn.Study(SPACE, budget=60, feedback=FEEDBACK, forbidden=never, **GIVEN)
    for trial in free.trials:
        assert trial.value is not None
        bound.observe(trial.region, trial.value)
    drawn = draws(free)
    found = bound.recommend(on_grid=True)
    others = np.delete(drawn, best[1], axis=1)
    expected = np.mean(drawn[:, found.node[1]] >= others.max(axis=1))
    assert found.probability_best == pytest.approx(float(expected), abs=0.05)


# Several regions.


@given_or_learned
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("policy", [None, zn.GPOO(zn.GeometricDelta(1, 0.5), h_max=4)], ids=["default", "GPOO"])
def test_the_best_regions_are_disjoint_and_in_order(
    policy: Any, direction: Literal["maximize", "minimize"], model: dict[str, Any]
) -> None:
    study = studied(20, policy=policy, direction=direction, **model)
    best = study.recommend(6, on_grid=True)
    first = study.recommend(on_grid=True)
    assert (best[0].region, best[0].mean, best[0].std) == (first.region, first.mean, first.std)
    assert best[0].gap == pytest.approx(first.gap, abs=0.1)
    assert 1 < len(best) <= 6
    spans = sorted(tuple(found.region.bounds[0]) for found in best)
    assert all(one[1] <= other[0] + 1e-12 for one, other in itertools.pairwise(spans))
    sign = 1 if direction == "maximize" else -1
    means = [sign * found.mean for found in best[1:]]  # GPOO's first is its own choice
    assert means == sorted(means, reverse=True)
    assert policy is not None or sign * best[0].mean >= means[0] - 1e-9
    gaps = [found.gap for found in best]
    assert policy is not None or gaps[0] <= min(gaps) + 0.05


def test_more_regions_than_there_are_gives_all_of_them() -> None:
    found = studied(3).recommend(1000, on_grid=True)
    assert len(found) == 16
    assert sum(one.probability_best for one in found) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", True], ids=repr)
def test_a_number_of_regions_that_is_none_is_refused(k: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="the number of regions to recommend"):
        studied(1).recommend(k)


# Thresholds.


@pytest.mark.one_in(5)
@given_or_learned
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("wanted", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("side", ["above", "below"])
def test_regions_beyond_a_threshold_are_those_of_exact_normal_probabilities(
    side: str, wanted: float, direction: Literal["maximize", "minimize"], model: dict[str, Any]
) -> None:
    study = studied(12, direction=direction, **model)
    for threshold in (-0.8, 0.0, 0.5):
        chance = np.zeros(16)
        for weight, mean, covariance in posteriors(study):
            z = (mean - threshold) / np.sqrt(np.diag(covariance))
            chance += weight * norm.cdf(z if side == "above" else -z)
        found = study.above(threshold, wanted) if side == "above" else study.below(threshold, wanted)
        indices = [one.region.node[1] for one in found if one.region.node is not None]
        assert set(indices) == set(np.flatnonzero(chance >= wanted).tolist())
        assert [one.probability for one in found] == pytest.approx(chance[indices], abs=1e-6)
        for one in found:
            assert (one.mean, one.std) == pytest.approx(study.predict(one.region))
        likely = [round(one.probability, 9) for one in found]  # beyond that, sigma decides
        assert likely == sorted(likely, reverse=True)


def test_where_no_region_is_probable_enough_the_table_names_the_likeliest() -> None:
    study = studied(12, value_name="grade", value_unit="g/t", **GIVEN)
    found = study.above(50.0)
    assert (len(found), list(found), bool(found)) == (0, [], False)
    best = found.likeliest
    assert best is not None
    chances = study.probability([study.space.cell((4, j)) for j in range(16)], above=50.0)
    assert best.probability == pytest.approx(chances.max())
    assert str(found) == (
        "There is no region whose average grade is above 50 g/t with a probability of 0.9, after 12 "
        f"measurements. The most probable is {best.region.name}: < 1 %."
    )
    assert found.to_dict() == {
        "region": [],
        "x": [],
        "mean [g/t]": [],
        "std [g/t]": [],
        "probability": [],
        "sigma": [],
    }


def test_regions_beyond_a_threshold_are_rows_by_name_by_number_and_one_by_one() -> None:
    study = studied(12, **GIVEN)
    found = study.above(0.0, 0.5)
    assert len(found) == len(list(found)) > 1
    assert found[0] == next(iter(found)) == found.likeliest
    assert found[:2] == tuple(found)[:2]
    assert found["probability"] == [one.probability for one in found]
    assert found.to_pandas()["mean"].tolist() == [one.mean for one in found]
    lines = str(found).splitlines()
    assert lines[0] == "Regions whose average value is above 0 with a probability of 0.5, after 12 measurements"
    assert len(lines) == 2 + len(found)
    with pytest.raises(zn.InvalidInput, match="no such column"):
        found["chance"]


@given_or_learned
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_probability_of_any_region_is_that_of_all_models(
    direction: Literal["maximize", "minimize"], model: dict[str, Any]
) -> None:
    study = studied(12, direction=direction, **model)
    for threshold in (-0.8, 0.0, 0.5):
        cells = [study.space.cell((4, j)) for j in range(16)]
        chance = study.probability(cells, above=threshold)
        likely = {one.region.node: one.probability for one in study.above(threshold, 1e-12)}
        assert [likely.get(cell.node, 0.0) for cell in cells] == pytest.approx(chance, abs=1e-9)
        assert study.probability(cells, below=threshold) == pytest.approx(1 - chance)
        anywhere = study.probability([(0.1, 0.37)], above=threshold)
        assert isinstance(anywhere, float)
        assert study.probability([[(0.1, 0.37)]], above=threshold).tolist() == [anywhere]
        parts = [
            weight * norm.sf(threshold, mean[-1], math.sqrt(covariance[-1, -1]))
            for weight, mean, covariance in posteriors(study, SPACE.region([(0.1, 0.37)], FEEDBACK))
        ]
        assert anywhere == pytest.approx(sum(parts), abs=1e-6)
    assert study.probability([], above=0.0).shape == (0,)


def test_a_probability_needs_one_threshold_and_a_model() -> None:
    study = studied(3, **GIVEN)
    for sides in ({}, {"above": 0.1, "below": 0.2}):
        with pytest.raises(zn.InvalidInput, match="above or below a threshold"):
            study.probability([(0, 1)], **sides)
    with pytest.raises(zn.InvalidInput, match="above must be finite"):
        study.probability([(0, 1)], above=math.inf)
    empirical = zn.Study(SPACE, budget=9, policy=zn.StoOO(zn.GeometricDelta(1.0)), noise=0.1)
    with pytest.raises(zn.InvalidInput, match="empirical means have no"):
        empirical.probability([(0, 1)], above=0.1)
    assert empirical.models == ()


@pytest.mark.parametrize(("threshold", "wanted"), [(math.nan, 0.9), ("a", 0.9), (0.0, 1.0), (0.0, 0.0), (0.0, 7)])
def test_thresholds_and_probabilities_that_are_none_are_refused(threshold: Any, wanted: Any) -> None:
    study = studied(1)
    for ask in (study.above, study.below):
        with pytest.raises(zn.InvalidInput, match=r"threshold|probability"):
            ask(threshold, wanted)


# Outlook.


@given_or_learned
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_more_measurements_are_expected_to_help_and_many_no_less_than_few(
    direction: Literal["maximize", "minimize"], model: dict[str, Any]
) -> None:
    study = studied(4, direction=direction, **model)
    few, more, many = (study.outlook(n) for n in (1, 5, 20))
    assert [one.n for one in (few, more, many)] == [1, 5, 20]
    spread = many.high - many.low
    assert spread > 0
    error = 4 * spread / math.sqrt(2000)
    assert few.gain >= -error
    assert more.gain >= few.gain - error
    assert many.gain >= more.gain - error
    assert many.gain > error
    assert many.low <= many.gain <= many.high


def test_the_rise_to_expect_is_the_rise_that_comes_where_the_model_is_right() -> None:
    kernel, noise, runs = zn.RBF(1.0, 0.15), 0.5, 60
    rng = np.random.default_rng(1)
    cells = [SPACE.cell((4, index)) for index in range(16)]
    prior = prior_covariance(zn.Study(SPACE, budget=1, kernel=kernel, noise=noise), cells)
    factor = np.linalg.cholesky(prior + 1e-12 * np.eye(16))
    came, expected = [], []
    for _ in range(runs):
        truth = factor @ rng.standard_normal(16)
        study = zn.Study(SPACE, budget=12, kernel=kernel, noise=noise)

        def tell(study: zn.Study, number: int, truth: Floats = truth) -> float:
            for trial in study.ask(number):
                depth, index = trial.node
                inside = truth.reshape(2**depth, -1)[index]
                study.tell(trial, float(inside.mean() + noise * rng.standard_normal()))
            return float(truth[study.recommend(on_grid=True).node[1]])

        before = tell(study, 4)
        expected.append(study.outlook(8).gain)
        came.append(tell(study, 8) - before)
    error = float(np.std(came)) / math.sqrt(runs)
    assert np.mean(came) == pytest.approx(np.mean(expected), abs=3 * error)
    assert np.mean(expected) > 3 * error > 0


def gains(study: zn.Study, n: int, number: int = 40_000) -> Floats:
    """Return draws of what `n` more measurements bring to whoever goes by the mean of all models, densely."""
    plan = [trial.region for trial in zn.Study.replay(study.settings, study.events).ask(n)]
    noises = [GIVEN["noise"] if own.model.noise is None else own.model.noise for own in study.models]
    models = posteriors(study, *plan)
    held = int(np.argmax(np.sum([weight * mean[:16] for weight, mean, _ in models], axis=0)))
    rng, found = np.random.default_rng(6), []
    for (weight, mean, covariance), noise in zip(models, noises, strict=True):
        truth = rng.multivariate_normal(mean, covariance, round(weight * number), method="eigh")
        values = truth[:, 16:] + noise * rng.standard_normal((len(truth), n))
        logs, means = [], []
        for (own, middle, joint_), error in zip(models, noises, strict=True):
            spread = joint_[16:, 16:] + error**2 * np.eye(n)
            logs.append(np.log(own) + multivariate_normal(middle[16:], spread).logpdf(values))
            means.append(middle[:16] + (values - middle[16:]) @ np.linalg.solve(spread, joint_[16:, :16]))
        after = (softmax(np.array(logs), axis=0)[:, :, None] * np.array(means)).sum(axis=0)
        found.append(truth[np.arange(len(truth)), after.argmax(axis=1)] - truth[:, held])
    return np.concatenate(found)


@given_or_learned
@pytest.mark.parametrize("told", [3, 6, 12])
@pytest.mark.parametrize("n", [2, 8])
def test_the_rise_to_expect_is_that_of_the_mean_of_all_models_weighed_anew(
    n: int, told: int, model: dict[str, Any]
) -> None:
    study = studied(told, **model)
    look, drawn = study.outlook(n), gains(study, n)
    assert look.gain == pytest.approx(drawn.mean(), abs=4 * float(drawn.std()) / math.sqrt(2000) + 1e-4)
    for end, quantile in ((look.low, 0.05), (look.high, 0.95)):
        low, high = np.quantile(drawn, [max(quantile - 0.02, 0), min(quantile + 0.02, 1)])
        assert low - 1e-3 <= end <= high + 1e-3


@pytest.mark.parametrize("policy", [None, zn.GPOO(zn.GeometricDelta(1, 0.5), h_max=4)], ids=["default", "GPOO"])
@pytest.mark.parametrize("n", [1, 20])
def test_a_useless_measurement_shows_no_rise(n: int, policy: Any) -> None:
    study = zn.Study(SPACE, budget=60, feedback=FEEDBACK, noise=1e5, policy=policy)
    for _ in range(9):
        trial = study.ask()
        study.tell(trial, wave(trial.region), sem=0.3)
    assert len(study.models) > 1
    look = study.outlook(n)
    assert look.gain == pytest.approx(0, abs=1e-6)
    assert (look.low, look.high) == pytest.approx((0, 0), abs=1e-6)


def test_a_measurement_sees_the_average_of_a_region_and_not_the_best_within() -> None:
    nodes = Nodes.root().split([0], [2], False, True, np.arange(2), 1, False, False)
    tree = Tree(nodes, np.zeros(3), np.zeros(3), np.zeros(3), ObservationStats(), nodes.slot, 0.0, {}, {})
    rows = np.arange(3)
    view = ModelView(
        weight=1.0,
        mean=np.zeros(3),
        std=np.ones(3),
        noise=np.zeros(3),
        prior=np.ones(3),
        smallest=100.0,  # so much more may be within
        covariance=lambda one, other: np.eye(3)[np.ix_(one, other)],
    )
    look = outlook(tree, [view], 1, [2])
    assert look.gain == pytest.approx(1 / math.sqrt(2 * math.pi), rel=0.05)  # of the larger of a variable and 0
    assert standings(tree, [view], rows[1:], 0.1)[0].gap > 10


def test_the_benchmark_plays_campaigns_and_holds_promises_against_what_came() -> None:
    model = model_of(zn.Box([(0, 1)], smallest=1 / 16), zn.RBF(1.0, 0.1), None, "maximize")
    gains = benchmark.campaign(model, 0.3, 5, [0])
    assert gains.shape == (len(benchmark.AHEAD), 2)
    assert (gains[:, 0] >= 0).all()
    came = np.random.default_rng(0).exponential(size=400)
    assert [benchmark.kept(np.stack([share * came, came], 1)) for share in (0.3, 0.6, 1.2, 1.6)] == [0, 1, 1, 0]


def test_where_all_is_known_there_is_nothing_to_expect() -> None:
    study = zn.Study(SPACE, budget=60, feedback=FEEDBACK, kernel=zn.RBF(0.5, 0.2), noise=1e-6)
    for cell in CELLS:
        study.observe(cell, wave(cell))
    look = study.outlook(5)
    assert look.gain == pytest.approx(0, abs=1e-3)
    assert look.high - look.low < 1e-3
    assert study.recommend(on_grid=True).gap < 1e-3


@pytest.mark.parametrize("n", [0, -3, 2.5, "many", None], ids=repr)
def test_an_outlook_on_no_number_of_measurements_is_refused(n: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="the number of measurements"):
        studied(1).outlook(n)


def test_an_outlook_needs_no_budget() -> None:
    study = studied(12, budget=12, **GIVEN)
    assert study.remaining == 0
    assert study.outlook(3).n == 3


# Looking changes nothing.


@given_or_learned
def test_whoever_looks_changes_nothing_and_sees_the_same_again(model: dict[str, Any]) -> None:
    study = studied(11, **model)
    study.ask(2)
    before = fingerprint(study)
    seen = [
        (study.recommend(on_grid=True), study.recommend(3, on_grid=True), study.outlook(4), study.above(0.0, 0.5))
        for _ in range(2)
    ]
    assert seen[0] == seen[1]
    assert fingerprint(study) == before


def test_a_search_goes_on_as_if_nobody_had_looked_where_looking_opens_regions() -> None:
    space = zn.Box([(0, 1), (0, 1)], smallest=1 / 128)  # too many regions to open all

    def walk(looks: bool) -> list[tuple[int, int]]:
        study = zn.Study(space, budget=10, rng=3, **GIVEN)
        while study.remaining:
            trial = study.ask()
            study.tell(trial, wave(trial.region))
            if looks:
                study.outlook(4)
        return [trial.node for trial in study.trials]

    assert walk(looks=True) == walk(looks=False)


def test_trials_under_way_are_no_knowledge() -> None:
    study = studied(9, **GIVEN)
    before = study.recommend(3, on_grid=True)
    study.ask(6)
    assert study.recommend(3, on_grid=True) == before


# Learning anew.


def test_a_refit_learns_from_what_came_in_since() -> None:
    assert not studied(2).refit()  # a first guess has seen all there is
    study = studied(3, gross_errors=False)
    while study.model.measurements == study.measured:
        trial = study.ask()
        study.tell(trial, wave(trial.region))
    assert study.refit()
    assert study.model.measurements == study.measured
    before = fingerprint(study)
    assert not study.refit()
    assert fingerprint(study) == before


def test_what_was_given_is_not_learned_anew() -> None:
    study = studied(5, **GIVEN)
    before = fingerprint(study)
    assert not study.refit()
    assert fingerprint(study) == before
    assert not zn.Study(SPACE, budget=3).refit()
    assert not zn.Study(SPACE, budget=3, policy=zn.StoOO(zn.GeometricDelta(1, 0.5))).refit()


def test_the_last_reward_of_a_budget_is_learned_from() -> None:
    study = zn.Study(SPACE, budget=37, feedback=FEEDBACK)
    study.optimize(wave)
    assert study.model.measurements == 37


# Good enough.


def opening(study: zn.Study) -> int:
    """Return how many cells of one depth a study asks for before anything else."""
    depths = [trial.node[0] for trial in study.trials]
    return next((k for k, depth in enumerate(depths) if depth != depths[0]), len(depths))


@given_or_learned
def test_a_search_that_is_good_enough_stops_and_says_so(model: dict[str, Any]) -> None:
    result = zn.maximize(wave, SPACE, 60, feedback=FEEDBACK, tolerance=0.3, **model)
    assert result.success
    assert result.nfev < 60
    assert result.gap <= 0.3
    assert result.message.startswith(
        f"the gap is {result.gap:.3g}, within the tolerance of 0.3; {result.nfev} of 60"
    )
    assert result.study.model.measurements in (0, result.nfev)


@given_or_learned
def test_the_opening_is_measured_to_its_end_however_large_the_tolerance(model: dict[str, Any]) -> None:
    study = zn.Study([(0, 1)], budget=40, **model)
    result = study.optimize(wave, tolerance=1e9)
    whole = zn.Study([(0, 1)], budget=40, **model)
    whole.optimize(wave)
    assert result.success
    assert opening(whole) <= result.nfev < 40


def test_a_tolerance_that_is_never_reached_changes_nothing() -> None:
    one, other = (zn.Study(SPACE, budget=15, feedback=FEEDBACK, rng=0, **GIVEN) for _ in range(2))
    assert one.optimize(wave, tolerance=1e-12).message == other.optimize(wave).message
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize("tolerance", [0, -1, math.nan, math.inf, "a"], ids=repr)
def test_a_tolerance_that_is_none_is_refused_before_anything_is_measured(tolerance: Any) -> None:
    study = zn.Study(SPACE, budget=5, **GIVEN)
    with pytest.raises(zn.InvalidInput, match="tolerance"):
        study.optimize(wave, tolerance=tolerance)
    assert not study.trials


def _independent(leaves: int, smallest: bool = True, weight: float = 1.0) -> tuple[Tree, ModelView]:
    """Return a root with independent leaves of mean 0 and deviation 1, and a view of them."""
    nodes = Nodes.root().split([0], [leaves], smallest, True, np.arange(leaves), 1, False, False)
    size = leaves + 1
    columns = np.zeros(size), np.ones(size), np.zeros(size)
    tree = Tree(nodes, *columns, ObservationStats(), nodes.slot, 0.0, {}, {})
    view = ModelView(
        weight=weight,
        mean=np.zeros(size),
        std=np.ones(size),
        noise=np.zeros(size),
        prior=np.ones(size),
        smallest=1.0 if smallest else 2.0,  # within a leaf, regions vary as much as leaves do
        covariance=lambda one, other: np.eye(size)[np.ix_(one, other)],
        weights=lambda rows: np.where(rows, 1 / leaves, 1.0),
    )
    return tree, view


def test_the_gap_is_about_every_region_however_many_there_are() -> None:
    tree, view = _independent(3000)
    best = norm.ppf(0.5 ** (1 / 3000))  # the median of the largest of all
    standing = standings(tree, [view], np.array([1]), 0.5)[0]
    assert standing.gap == pytest.approx(best, abs=0.15)
    assert standing.probability_best < 0.005


def test_of_a_leaf_that_can_be_split_the_best_region_within_counts() -> None:
    tree, view = _independent(2, smallest=False)
    alone, many = (standings(tree, [view], np.array([1]), 0.5, None, number)[0].gap for number in (2, 2000))
    above = norm.ppf(0.5 ** (1 / 1000))  # of a thousand regions in the other leaf
    assert many - alone == pytest.approx(above, abs=0.3)


def test_of_leaves_that_can_be_split_each_answer_is_one_region() -> None:
    tree, view = _independent(6, smallest=False)
    first, *others = standings(tree, [view], np.array([1, 2, 3]), 0.1, None, 600)
    for other in others:
        assert other.gap == pytest.approx(first.gap, rel=0.15)
        assert other.probability_best == pytest.approx(first.probability_best, abs=0.02)


def test_what_is_said_of_an_answer_does_not_depend_on_hopeless_ones_after_it() -> None:
    tree, view = _independent(6, smallest=False)
    mean = np.where(np.arange(7) > 4, -20.0, 0.0)
    tree.mean, view = mean, replace(view, mean=mean)
    alone = standings(tree, [view], np.array([1, 2]), 0.1, None, 600)
    assert standings(tree, [view], np.array([1, 2, 5, 6]), 0.1, None, 600)[:2] == alone


def test_where_regions_have_no_distances_those_not_measured_have_heavier_tails() -> None:
    tree, view = _independent(1000)
    normal, heavy = (standings(tree, [view], np.array([1]), 0.1, tails=tails)[0].gap for tails in (math.inf, 6.0))
    assert normal < heavy < 4 * normal


@pytest.mark.parametrize("leaves", [8, 400])
def test_where_only_the_prior_mean_is_uncertain_all_regions_rise_and_fall_together(leaves: int) -> None:
    tree, view = _independent(leaves)
    nothing = np.zeros(leaves + 1)
    together = {"covariance": lambda one, other: np.ones((len(one), len(other)))}
    alike = replace(view, prior=nothing, smallest=0.0, **together)  # type: ignore[arg-type]
    standing = standings(tree, [alike], np.array([1, 2, 3]), 0.1, tails=math.inf)[-1]
    assert standing.gap < 1e-4


@pytest.mark.parametrize("leaves", [4, 400])
def test_no_region_is_its_own_rival(leaves: int) -> None:
    tree, view = _independent(leaves)
    rows = np.arange(1, leaves + 1)
    listed = standings(tree, [view], rows, 0.1, tails=math.inf if leaves > MAX_RIVALS else 6.0)
    assert sum(standing.probability_best for standing in listed) == pytest.approx(1)  # one of them is the best


def test_beyond_the_most_promising_regions_what_is_drawn_agrees_with_joint_draws(monkeypatch: Any) -> None:
    study = studied(12)
    answer = study.recommend(on_grid=True)
    monkeypatch.setattr("zonal.engine.confidence.MAX_RIVALS", 4)
    fewer = study.recommend(on_grid=True)
    assert fewer.gap == pytest.approx(answer.gap, rel=0.2)
    assert fewer.probability_best == pytest.approx(answer.probability_best, abs=0.05)


def test_beyond_the_most_promising_leaves_it_is_their_averages_that_are_given(monkeypatch: Any) -> None:
    tree, view = _independent(300, smallest=False)
    together = {"covariance": lambda one, other: np.where(np.equal.outer(one, other), 1.0, 0.9)}
    view, rows = replace(view, **together), np.array([1])  # type: ignore[arg-type]
    partly = standings(tree, [view], rows, 0.1, None, 10**9)[0]
    monkeypatch.setattr("zonal.engine.confidence.MAX_RIVALS", 300)
    assert partly.gap == pytest.approx(standings(tree, [view], rows, 0.1, None, 10**9)[0].gap, rel=0.1)
