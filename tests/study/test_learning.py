"""Whole studies that are given nothing, or too little, or the wrong thing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import zonal as zn
from effort import tries
from zonal.simulation import Simulation, draw, true_optimum

pytestmark = pytest.mark.one_in(2)


def bump(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-(((x[:, 0] - 0.7) / 0.1) ** 2)))


def transformed(measure: Simulation, scale: float, offset: float) -> Callable[[zn.Region], float]:
    return lambda region: scale * measure(region) + offset


def noise_of(rng: np.random.Generator) -> Callable[[zn.Region], float]:
    return lambda region: float(rng.standard_normal())


def test_nothing_needs_to_be_given_but_the_bounds_and_the_budget() -> None:
    measure = zn.simulate(bump, zn.Mean(), noise=0.1, rng=0)
    result = zn.maximize(measure, [(0, 1)], budget=80)
    assert abs(float(result.x[0]) - 0.7) < 0.05
    model = result.study.model
    assert isinstance(model.kernel, zn.RBF | zn.Matern)
    assert model.noise == pytest.approx(0.1, rel=0.4)
    assert model.measurements == 80
    assert set(model.spread) == {"variance", "lengthscale 0", "noise"}


@pytest.mark.parametrize(("scale", "offset"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 300.0)])
def test_scale_and_offset_of_the_rewards_change_nothing(scale: float, offset: float) -> None:
    assert learned_walk(scale, offset) == learned_walk(1.0, 0.0)


@cache
def learned_walk(scale: float, offset: float) -> list[tuple[int, int]]:
    measure = zn.simulate(bump, zn.Mean(), noise=0.1, rng=0)
    study = zn.Study([(0, 1)], budget=20)
    study.optimize(transformed(measure, scale, offset))
    return [trial.node for trial in study.trials]


def test_minimising_learns_the_mirrored_model() -> None:
    studies = []
    for sign, direction in ((1, "maximize"), (-1, "minimize")):
        measure = zn.simulate(bump, zn.Mean(), noise=0.1, rng=0)
        study = zn.Study([(0, 1)], budget=16, direction=direction)  # type: ignore[arg-type]
        study.optimize(transformed(measure, sign, 0.0))
        studies.append(study)
    up, down = studies
    assert [t.node for t in up.trials] == [t.node for t in down.trials]
    assert up.model.mean == pytest.approx(-down.model.mean)
    assert up.recommend().mean == pytest.approx(-down.recommend().mean)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kernel", [None, zn.RBF, zn.Matern, zn.RBF(0.2, 0.1)])
@pytest.mark.parametrize("noise", [None, 0.1])
@pytest.mark.parametrize("mean", [None, 0.3])
def test_each_part_can_be_given_alone(kernel: object, noise: float | None, mean: float | None) -> None:
    study = zn.Study([(0, 1)], budget=14, kernel=kernel, noise=noise, mean=mean)  # type: ignore[arg-type]
    study.optimize(zn.simulate(bump, zn.Mean(), noise=0.1, rng=0))
    model = study.model
    if isinstance(kernel, zn.RBF):
        assert model.kernel == kernel
    elif kernel is zn.RBF:
        assert type(model.kernel) is zn.RBF
    if mean is not None:
        assert study.model.mean == mean
    assert model.noise is not None
    assert noise is None or model.noise == noise
    assert abs(float(study.recommend().region.center[0]) - 0.7) < 0.2


def test_the_opening_sweep_covers_the_space_evenly() -> None:
    study = zn.Study([(0, 1)], budget=80)
    measure = zn.simulate(bump, zn.Mean(), noise=0.1, rng=0)
    opening = []
    for _ in range(32):
        trial = study.ask()
        opening.append(trial.node)
        study.tell(trial, measure(trial.region))
    assert sorted(opening) == [(5, i) for i in range(32)]
    assert {index // 16 for _, index in opening[:2]} == {0, 1}
    assert {index // 4 for _, index in opening[:8]} == set(range(8))


def test_the_posterior_is_the_mixture_of_studies_given_each_of_the_models() -> None:
    measure = zn.simulate(bump, zn.Average(5), noise=0.1, rng=0)
    study = zn.Study([(0, 1)], budget=30, feedback=zn.Average(5))
    study.optimize(measure)
    regions = [trial.region for trial in study.trials] + [study.space.region([(0.11, 0.13)])]
    assert len(study.models) > 1
    weights, means, variances = [], [], []
    for own in study.models:
        model = own.model
        level = zn.RBF(model.mean_std**2, 1e7)  # a learned mean is a constant of unknown height
        kernel: Any = model.kernel
        given = zn.Study(
            [(0, 1)], budget=1, kernel=kernel + level, noise=model.noise, mean=model.mean, feedback=zn.Average(5)
        )
        for trial in study.trials:
            assert trial.value is not None
            given.observe(trial.region, trial.value)
        mean, std = given.predict(regions)
        weights.append(own.weight)
        means.append(mean)
        variances.append(np.square(std))
    assert sum(weights) == pytest.approx(1)
    mean = np.average(means, axis=0, weights=weights)
    variance = np.average(variances + (np.array(means) - mean) ** 2, axis=0, weights=weights)
    assert study.predict(regions).mean == pytest.approx(mean, abs=1e-9)
    assert study.predict(regions).std == pytest.approx(np.sqrt(variance), abs=1e-9)


def test_a_refit_keeps_the_tree() -> None:
    measure = zn.simulate(bump, zn.Mean(), noise=0.1, rng=0)
    study = zn.Study([(0, 1)], budget=60)
    for _ in range(25):
        trial = study.ask()
        study.tell(trial, measure(trial.region))
    assert 20 <= study.model.measurements < 25  # from some number on, not every measurement leads to a fit
    before = study.tree
    assert study.refit()
    after = study.tree
    assert study.model.measurements == 25
    for column in ("depth", "index", "parent", "first_child", "count", "reward", "smallest", "askable"):
        np.testing.assert_array_equal(getattr(after, column), getattr(before, column))
    assert (after.mean != before.mean).any()
    assert not study.refit()


def test_known_standard_errors_are_respected() -> None:
    study = zn.Study([(0, 1)], budget=40)
    rng = np.random.default_rng(0)
    for k in range(40):
        trial = study.ask()
        spread = 0.02 if k % 2 else 0.5
        value = float(bump(trial.region.center[None, :])[0]) + spread * float(rng.standard_normal())
        study.tell(trial, value, sem=spread)
    assert study.model.measurements == 40
    assert study.model.noise is not None
    assert "noise" in study.model.spread  # nothing informs it but its prior
    assert study.model.spread["noise"] > 1


def test_standard_errors_that_are_told_are_worth_the_noise_when_it_is_known() -> None:
    told, known = (zn.Study([(0, 1)], budget=24, noise=noise, policy=zn.GPOO()) for noise in (None, 0.1))
    measure = zn.simulate(bump, zn.Mean(), noise=0.1, rng=0)
    cells = [told.space.cell((4, i)) for i in range(16)] * 2
    for cell in cells:
        value = measure(cell)
        told.observe(cell, value, sem=0.1)
        known.observe(cell, value)
    one, other = told.model.kernel, known.model.kernel
    assert isinstance(one, zn.RBF | zn.Matern)
    assert isinstance(other, type(one))
    assert one.lengthscale == pytest.approx(other.lengthscale, rel=0.05)
    assert one.variance == pytest.approx(other.variance, rel=0.25)
    np.testing.assert_allclose(told.predict(cells).mean, known.predict(cells).mean, rtol=0, atol=0.02)
    np.testing.assert_allclose(told.predict(cells).std, known.predict(cells).std, rtol=0.1)


@pytest.mark.torture
def test_intervals_for_unmeasured_regions_cover_what_they_promise() -> None:
    rng = np.random.default_rng(5)
    covered = total = 0
    for _ in range(14):
        lengthscale = float(np.exp(rng.uniform(np.log(0.02), np.log(0.1))))
        measure = zn.simulate(draw(zn.RBF(0.1, lengthscale), 0, 1, rng), zn.Average(10), 0.1, rng=rng)
        study = zn.Study([(0, 1)], budget=1, kernel=zn.RBF, feedback=zn.Average(10))
        seen = set()
        for _ in range(60):
            depth = int(rng.integers(3, 8))
            region = study.space.cell((depth, int(rng.integers(2**depth))))
            seen.add(region.node)
            study.observe(region, measure(region))
        fresh = [study.space.cell((6, i)) for i in range(64) if (6, i) not in seen]
        mean, std = study.predict(fresh)
        truth = np.array([measure.average(region) for region in fresh])
        covered += int(np.sum(np.abs(truth - mean) <= 1.6449 * std))
        total += len(fresh)
    assert 0.86 <= covered / total <= 0.94


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["equal", "single", "noise", "clusters", "outlier", "constant"])
def test_bad_data_gives_no_nonsense(name: str) -> None:
    rng = np.random.default_rng(0)
    kinds: dict[str, Callable[[float], float]] = {
        "equal": lambda x: 3.0,
        "single": lambda x: 3.0,
        "constant": lambda x: 5.0 + 0.1 * rng.standard_normal(),
        "noise": lambda x: float(rng.standard_normal()),
        "clusters": lambda x: float(1e6 if x > 0.5 else 1e-3) * (1 + 0.01 * float(rng.standard_normal())),
        "outlier": lambda x: float(rng.standard_normal()) + (100.0 if rng.random() < 0.03 else 0.0),
    }
    values = kinds[name]
    study = zn.Study([(0, 1)], budget=1 if name == "single" else tries(20, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = study.optimize(lambda region: values(float(region.center[0])))
    table = study.tree
    assert np.isfinite(table.mean).all()
    assert np.isfinite(table.std).all()
    assert (table.std >= 0).all()
    if name in ("equal", "single", "constant", "noise"):
        assert "no region stands out" in result.message
    if name == "clusters":
        assert "no region stands out" not in result.message
        assert float(result.x[0]) > 0.5


def test_a_wrong_noise_is_noticed_once_and_the_fix_named() -> None:
    study = zn.Study([(0, 1)], budget=96, kernel=zn.RBF(1.0, 0.3), noise=0.01, max_replicates=6)
    rng = np.random.default_rng(0)
    with pytest.warns(zn.ModelWarning, match="noise=None") as caught:
        study.optimize(lambda region: float(rng.standard_normal()))
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("kernel", "noise", "truth"), [(zn.RBF(0.1, 0.05), 0.025, 0.1), (zn.RBF(0.1, 0.5), 0.02, 0.02)]
)
def test_a_noise_or_a_lengthscale_that_is_badly_off_is_noticed(kernel: zn.RBF, noise: float, truth: float) -> None:
    noticed, seeds = 0, tries(2, 4)
    for seed in range(seeds):
        f = draw(zn.RBF(0.1, 0.05), 0, 1, seed)
        study = zn.Study([(0, 1)], budget=100, kernel=kernel, noise=noise)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            study.optimize(zn.simulate(f, zn.Mean(), truth, rng=seed))
        noticed += any(issubclass(warning.category, zn.ModelWarning) for warning in caught)
    assert noticed >= seeds - 1


def test_a_right_model_raises_no_warning() -> None:
    for seed in range(tries(2, 3)):
        f = draw(zn.RBF(0.1, 0.05), 0, 1, seed)
        study = zn.Study([(0, 1)], budget=100, kernel=zn.RBF(0.1, 0.05), noise=0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            study.optimize(zn.simulate(f, zn.Mean(), 0.1, rng=seed))


@pytest.mark.torture
def test_learning_finds_the_optimum_of_the_papers_functions() -> None:
    regrets = []
    for seed in range(4):
        f = zn.reward_function("f2", shift=float(np.random.default_rng(seed).uniform(-0.04, 0.04)))
        measure = zn.simulate(f, zn.Average(10), 0.1, rng=seed)
        study = zn.Study([(0, 1)], budget=80, feedback=zn.Average(10))
        study.optimize(measure)
        regrets.append(true_optimum(f)[1] - measure.average(study.recommend().region))
    assert np.mean(regrets) < 0.06


@pytest.mark.parametrize(("arity", "h_max", "budget"), [(2, 3, 80), (3, 1, 80), (2, 0, 10), (5, 2, 200)])
def test_the_opening_sweep_goes_no_deeper_than_the_policy(arity: int, h_max: int, budget: int) -> None:
    study = zn.Study(zn.Box([(0, 1)], arity=arity), budget=budget, policy=zn.GPOO(h_max=h_max))
    study.optimize(zn.simulate(bump, zn.Mean(), noise=0.1, rng=0))
    assert study.measured == budget
    assert study.tree.depth.max() <= h_max + 1


def test_the_opening_sweep_does_not_grow_with_the_budget_for_ever() -> None:
    assert len(zn.Study([(0, 1)], budget=100_000).tree) == 127


@pytest.mark.torture
@pytest.mark.parametrize("arity", [2, 3, 4])
@pytest.mark.parametrize("budget", [20, 60])
def test_offset_changes_nothing_with_a_given_delta_either(arity: int, budget: int) -> None:
    walks = []
    for offset in (0.0, -1000.0):
        measure = zn.simulate(bump, zn.Average(4), noise=0.1, rng=0)
        policy = zn.GPOO(zn.GeometricDelta(14, 0.5))
        study = zn.Study(zn.Box([(0, 1)], arity=arity), budget=budget, feedback=zn.Average(4), policy=policy)
        study.optimize(transformed(measure, 1.0, offset))
        walks.append([trial.node for trial in study.trials])
    assert walks[0] == walks[1]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("budget", [5, 10, 20, 40, 2, 3])
def test_pure_noise_rarely_stands_out_at_any_budget(budget: int) -> None:
    claims, runs = 0, 8 if budget <= 10 else 4
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        study = zn.Study([(0, 1)], budget=budget)
        study.optimize(noise_of(rng))
        claims += study.stands_out()
    assert claims <= runs // 4


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ({"noise": 0.01}, "noise=None"),
        ({"noise": 2.0}, "noise=None"),
    ],
)
def test_whatever_was_given_badly_is_noticed(given: dict[str, Any], fix: str) -> None:
    noticed, seeds = 0, tries(2, 3)
    for seed in range(seeds):
        measure = zn.simulate(zn.reward_function("f1"), zn.Average(4), 0.1, rng=seed)
        study = zn.Study([(0, 1)], budget=48, feedback=zn.Average(4), **given)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            study.optimize(measure)
        words = [str(one.message) for one in caught if issubclass(one.category, zn.ModelWarning)]
        assert len(words) <= 1
        noticed += any(fix in word for word in words)
    assert noticed >= seeds - 1


@pytest.mark.torture
def test_a_right_noise_or_kernel_alone_raises_no_warning() -> None:
    for seed in range(3):
        measure = zn.simulate(draw(zn.RBF(0.1, 0.05), 0, 1, seed), zn.Average(4), 0.1, rng=seed)
        givens: list[dict[str, Any]] = [{"noise": 0.1}, {"kernel": zn.RBF(0.1, 0.05)}]
        for given in givens:
            study = zn.Study([(0, 1)], budget=80, feedback=zn.Average(4), **given)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                study.optimize(measure)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("noise", [0.02, 0.004, 0.001, 0.0])
@pytest.mark.parametrize("bounds", [[(0, 1)], [(0, 1), (0, 1)]], ids=["line", "plane"])
def test_a_small_noise_that_is_right_raises_no_warning(bounds: list[tuple[int, int]], noise: float) -> None:
    """The lattice of models knows no noise below a fiftieth of f, and that must not speak against smaller ones."""
    rng = np.random.default_rng(0)
    study = zn.Study(bounds, budget=30, noise=noise, feedback=zn.Center())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zn.NumericalWarning)  # of exact values of a smooth function there are many
        warnings.simplefilter("error", zn.ModelWarning)
        study.optimize(lambda region: float(np.sin(5 * region.center).sum() + noise * rng.standard_normal()))
    assert study.measured == 30  # and not one of them raised an alarm


def test_exact_measurements_stay_exact_across_a_refit() -> None:
    study = zn.Study([(0, 1)], budget=200)
    study.observe([(0.2, 0.3)], 0.5, sem=0)
    for k in range(8):
        study.observe([(0.1 * k, 0.1 * k + 0.05)], 0.1 * k)
    with pytest.raises(zn.InvalidInput, match="contradicts"):
        study.observe([(0.2, 0.3)], 0.9, sem=0)
    study.observe([(0.2, 0.3)], 0.5, sem=0)


def test_a_huge_value_is_refused_and_changes_nothing() -> None:
    study = zn.Study([(0, 1)], budget=10)
    study.tell(study.ask(), 1.0)
    trial = study.ask()
    with pytest.raises(zn.InvalidInput, match=r"1e\+200"):
        study.tell(trial, 1e200)
    study.tell(trial, 1.0)
    assert study.measured == 2


def test_a_kernel_that_is_neither_is_refused() -> None:
    with pytest.raises(zn.InvalidInput, match="kernel class"):
        zn.Study([(0, 1)], budget=5, kernel="rbf")  # type: ignore[arg-type]


FALLING: dict[str, dict[str, Any]] = {
    "a box": {"space": zn.Box([(0, 4)])},
    "minimised": {"space": zn.Box([(0, 4)]), "direction": "minimize"},
    "points": {"space": zn.Points(np.random.default_rng(0).uniform(size=(60, 2)), weights=np.arange(1, 61))},
    "times": {"space": zn.Box([(0, 4)]), "times": [1, 2, 8], "overhead": 1.0},
}


@pytest.mark.parametrize("case", FALLING)
def test_noise_that_falls_with_weight_weighs_rewards_as_if_its_size_were_given(case: str) -> None:
    given: dict[str, Any] = {"budget": 60, "kernel": zn.RBF(1.0, 0.5), "mean": 0.2, **FALLING[case]}
    learns = zn.Study(noise=zn.PerWeight(), **given)
    seen = [learns.ask() for _ in range(2)]  # with two rewards there is one model, a first guess
    for trial, value in zip(seen, (0.3, 1.1), strict=True):
        learns.tell(trial, value)
    learned = learns.model.noise
    assert isinstance(learned, zn.PerWeight)
    assert learned.std is not None
    told = zn.Study(noise=learned, **given)
    for trial, value in zip(seen, (0.3, 1.1), strict=True):
        told.observe(trial.region, value, **({"time": trial.time} if "times" in given else {}))
    regions = [learns.space.cell((0, 0)), *learns.space.split(learns.space.cell((0, 0)))]
    for ours, theirs in zip(learns.predict(regions), told.predict(regions), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    noise, root = learns.tree.noise, learns.space.cell((0, 0))
    assert noise[0] == pytest.approx(learned(root))
    np.testing.assert_allclose(noise[: len(told.tree.noise)], told.tree.noise[: len(noise)], rtol=1e-12)


@pytest.mark.tries
def test_how_large_noise_is_that_falls_with_weight_is_learned() -> None:
    found: list[float] = []
    for seed in range(tries(1, 6)):
        measure = zn.simulate(lambda x: np.sin(9 * x[:, 0]), zn.Mean(), noise=zn.PerWeight(0.05), rng=seed)
        study = zn.maximize(measure, [(0, 1)], budget=30, noise=zn.PerWeight(), rng=seed).study
        learned = study.model.noise
        assert isinstance(learned, zn.PerWeight)
        found.append(learned.std or 0.0)
    assert 0.03 < np.median(found) < 0.08


def test_who_needs_no_noise_may_be_told_that_it_falls() -> None:
    study = zn.Study([(0, 1)], budget=9, noise=zn.PerWeight(), policy=zn.StoOO(zn.GeometricDelta(2, 0.5)))
    study.optimize(lambda region: float(region.center[0]))
    assert study.measured == 9


def test_many_features_share_a_lengthscale_in_units_of_their_widths() -> None:
    rng = np.random.default_rng(0)
    space = zn.Points(rng.random((30, 40)) * np.arange(1, 41))
    study = zn.Study(space, budget=14, rng=0)
    study.optimize(lambda region: float(region.center[0] / 2 + rng.normal()))
    kernel: Any = study.model.kernel
    shares = kernel.lengthscales(40) / space.sides()
    np.testing.assert_allclose(shares, shares[0], rtol=1e-9)
