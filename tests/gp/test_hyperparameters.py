"""The posterior over models, against dense likelihoods of the uncollapsed rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import oracle
import zonal as zn
from zonal.gp import fit_schedule
from zonal.gp.fit_schedule import spread_over
from zonal.gp.hyperparameters import Evidence, Fit, GridSearch, fit_posterior
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model import LENGTHSCALE_PRIOR, MEAN_PRIOR, NOISE_PRIOR, VARIANCE_PRIOR, ModelSpec
from zonal.gp.stats import ObservationStats
from zonal.kernels.base import Kernel

Floats = NDArray[np.float64]

FEEDBACK = zn.Average(3)
STRIP = zn.Box([(-2.0, 3.0)])


@dataclass(frozen=True)
class Rewards:
    """Rewards one by one, each of a region, with the variance of its noise if that is known."""

    regions: list[zn.Region]
    values: Floats
    variances: list[float | None]

    def moved(self, factor: float, offset: float) -> Rewards:
        return Rewards(self.regions, factor * self.values + offset, self.variances)

    def first(self, number: int) -> Rewards:
        return Rewards(self.regions[:number], self.values[:number], self.variances[:number])


def rewards(number: int, seed: int, known: str = "none", repeats: bool = True) -> Rewards:
    """Return noisy averages over cells of several depths, with the noise of none, some or all of them known."""
    rng = np.random.default_rng(seed)
    regions, values, variances = list[zn.Region](), list[float](), list[float | None]()
    for k in range(number):
        depth = int(rng.integers(2, 4 if repeats else 7))
        region = STRIP.cell((depth, int(rng.integers(2**depth))), FEEDBACK)
        spread = float(rng.choice([0.1, 0.3])) if known == "all" or (known == "some" and k % 3 == 0) else None
        regions.append(region)
        values.append(4 + np.sin(2 * region.center[0]) + (spread or 0.2) * rng.standard_normal())
        variances.append(None if spread is None else spread**2)
    return Rewards(regions, np.array(values), variances)


class Prepared:
    """What a fit is made of: a frame that knows the regions, and the ledger of the rewards."""

    def __init__(self, told: Rewards) -> None:
        self.frame = ModelSpace(STRIP, FEEDBACK)
        distinct = list(dict.fromkeys(region.node for region in told.regions))
        cells = {region.node: region for region in told.regions}
        layout = self.frame.layout
        layout.keys(FEEDBACK.footprints([cells[node] for node in distinct]))
        ledger = ObservationStats()
        for region, value, variance in zip(told.regions, told.values.tolist(), told.variances, strict=True):
            ledger = ledger.append(distinct.index(region.node), value, variance)
        self.data = ledger.data()
        self.keys = layout.keys(FEEDBACK.footprints([cells[distinct[slot]] for slot in self.data.slots]))
        self.correlate = self.frame.correlate(self.keys)
        self.total = ledger.total

    def covariance(self, kernel: Kernel) -> Floats:
        return self.frame.covariance(kernel).of(self.frame.layout.pairs(self.keys, self.keys))

    def fit(self, unknowns: ModelSpec, previous: Fit | None = None, number: int = 8) -> Fit:
        given = unknowns.given
        covariance = None if given is None else self.covariance(given)
        return fit_posterior(
            self.data, self.frame, unknowns, self.correlate, covariance, previous, self.total, number
        )


def gram(k: oracle.Kernel, regions: list[zn.Region]) -> Floats:
    """Return the covariance of averages, from explicit points."""
    points = [oracle.representatives(np.asarray(region.bounds), FEEDBACK.s) for region in regions]
    everything = np.concatenate(points)
    blocks = k(everything, everything).reshape(len(points), FEEDBACK.s, len(points), FEEDBACK.s)
    return np.asarray(blocks.mean(axis=(1, 3)))


def same(kernel: Kernel) -> oracle.Kernel:
    """Return a kernel of the library as the oracle has it."""
    if isinstance(kernel, zn.RBF):
        return oracle.rbf(kernel.variance, kernel.lengthscale)
    assert isinstance(kernel, zn.Matern)
    return oracle.matern(kernel.nu, kernel.variance, kernel.lengthscale)


def log_normal_density(x: Floats, covariance: Floats) -> float:
    _, log_det = np.linalg.slogdet(2 * math.pi * covariance)
    return -0.5 * float(x @ np.linalg.solve(covariance, x)) - 0.5 * float(log_det)


def log_prior(value: float, prior: tuple[float, float]) -> float:
    return -0.5 * (math.log(value / prior[0]) / prior[1]) ** 2


def log_posterior(
    told: Rewards, evidence: Evidence, k: oracle.Kernel, mean: float | None, noise: float | None
) -> float:
    """Return the log likelihood of all rewards, one by one, with the prior mean integrated out."""
    variances = [noise**2 if own is None and noise is not None else own for own in told.variances]
    covariance = gram(k, told.regions) + np.diag(np.array(variances, dtype=float))
    if mean is None:
        covariance += (MEAN_PRIOR * evidence.scale) ** 2
    return log_normal_density(told.values - (evidence.shift if mean is None else mean), covariance)


def assert_equal_but_for_a_constant(pairs: list[tuple[float, float]]) -> None:
    """Compare logarithms; where noise is small they are large, and so is their rounding."""
    found, expected = np.array(pairs).T
    constant = float(np.median(found - expected))
    assert (np.abs(found - expected - constant) <= 1e-7 + 1e-9 * np.abs(expected)).all()
    assert np.ptp(expected) > 1 or len(set(expected)) == 1


@pytest.mark.parametrize("mean", [None, 3.5], ids=["mean learned", "mean given"])
@pytest.mark.parametrize("known", ["none", "some", "all", "given"])
def test_the_evidence_is_the_dense_likelihood_of_all_rewards_and_the_priors(
    known: str, mean: float | None
) -> None:
    told = rewards(24, seed=0, known="all" if known == "given" else known)
    unknowns = ModelSpec(None, known != "given", mean)
    prepared = Prepared(told)
    evidence = Evidence(prepared.data, unknowns)
    families = prepared.frame.families(None)
    search = GridSearch(evidence, prepared.frame, families, prepared.correlate)
    cells = [(family, (step,)) for family in range(len(families)) for step in (-3, 0, 4)]
    search.evaluate(cells)
    both = []
    for cell in cells:
        family, (step,) = cell
        (lengthscale,) = search.axes((step,))
        ratio = float(lengthscale) / 5.0  # of the width of the strip
        for s, v in ((0, 3), (len(evidence.tau) // 2, 5), (-1, -2)):
            variance = float(evidence.v[v]) * evidence.scale**2
            k = same(families[family][0](variance, float(lengthscale)))
            noise = float(evidence.noises()[s, v])
            expected = log_posterior(told, evidence, k, mean, noise)
            expected += families[family][1] + log_prior(ratio, LENGTHSCALE_PRIOR)
            expected += log_prior(float(evidence.v[v]), VARIANCE_PRIOR)
            if unknowns.noise:
                expected += log_prior(noise / evidence.scale, NOISE_PRIOR)
            both.append((float(search.posteriors[cell][0][s, v]), expected))
    assert_equal_but_for_a_constant(both)


@pytest.mark.parametrize("mean", [None, 3.5], ids=["mean learned", "mean given"])
@pytest.mark.parametrize("known", ["none", "some", "all"])
def test_with_a_given_kernel_the_evidence_of_noises_is_the_dense_likelihood_too(
    known: str, mean: float | None
) -> None:
    told = rewards(24, seed=1, known=known)
    prepared = Prepared(told)
    unknowns = ModelSpec(zn.RBF(0.6, 0.8), True, mean)
    evidence = Evidence(prepared.data, unknowns)
    covariance = prepared.covariance(zn.RBF(0.6, 0.8))
    heights, _ = evidence(covariance[None], [0])
    noises = evidence.noises()
    both = []
    for s in range(0, len(noises), 3):
        expected = log_posterior(told, evidence, oracle.rbf(0.6, 0.8), mean, float(noises[s, 0]))
        expected += log_prior(float(noises[s, 0]) / evidence.scale, NOISE_PRIOR)
        both.append((float(heights[0, s, 0]), expected))
    assert_equal_but_for_a_constant(both)


def test_the_best_prior_mean_is_that_of_generalised_least_squares() -> None:
    told = rewards(20, seed=2)
    prepared = Prepared(told)
    evidence = Evidence(prepared.data, ModelSpec(zn.RBF(0.6, 0.8), True, None))
    covariance = prepared.covariance(zn.RBF(0.6, 0.8))
    _, means = evidence(covariance[None], [0])
    for s in (0, 20, 40):
        noise = float(evidence.noises()[s, 0])
        inverse = np.linalg.inv(gram(oracle.rbf(0.6, 0.8), told.regions) + noise**2 * np.eye(20))
        precision = inverse.sum() + 1 / (MEAN_PRIOR * evidence.scale) ** 2
        expected = (inverse @ (told.values - evidence.shift)).sum() / precision
        assert evidence.scale * means[0, s, 0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    "unknowns",
    [
        ModelSpec(None, True, None),
        ModelSpec(zn.Matern, True, 4.0),
        ModelSpec(None, False, None),
        ModelSpec(zn.RBF(0.6, 0.8), True, None),
        ModelSpec(zn.RBF(0.6, 0.8), False, None),
    ],
    ids=["nothing given", "class and mean", "noise", "kernel", "kernel and noise"],
)
def test_the_weights_of_the_members_add_up_to_one(unknowns: ModelSpec) -> None:
    for number in (3, 7, 30):
        prepared = Prepared(rewards(number, seed=3, known="none" if unknowns.noise else "all"))
        for most in (1, 4, 8):
            found = prepared.fit(unknowns, number=most)
            assert sum(own.weight for own in found.members) == pytest.approx(1)
            assert 1 <= len(found.members) <= most
            assert found.model.measurements == number
            learned = ["variance", "lengthscale 0"] * (unknowns.given is None) + ["noise"] * unknowns.noise
            assert list(found.model.spread) == learned
            for own in found.members:
                assert (own.model.noise is None) == (not unknowns.noise)
                assert unknowns.given is None or own.model.kernel == unknowns.given
                assert unknowns.mean is None or own.model.mean == unknowns.mean


@pytest.mark.parametrize(("factor", "offset"), [(1e-6, 0.0), (1e5, 0.0), (3.0, -1e4)])
def test_models_scale_and_shift_with_the_rewards(factor: float, offset: float) -> None:
    told = rewards(25, seed=4)
    here = Prepared(told).fit(ModelSpec(None, True, None))
    there = Prepared(told.moved(factor, offset)).fit(ModelSpec(None, True, None))
    assert len(here.members) == len(there.members)
    for one, other in [(here.model, there.model)] + [
        (a.model, b.model) for a, b in zip(here.members, there.members, strict=True)
    ]:
        assert type(one.kernel) is type(other.kernel)
        assert other.kernel.point_variance == pytest.approx(factor**2 * one.kernel.point_variance, rel=1e-5)
        assert scale_of(other.kernel) == pytest.approx(scale_of(one.kernel), rel=1e-5)
        assert one.noise is not None
        assert other.noise == pytest.approx(factor * one.noise, rel=1e-5)
        assert other.mean == pytest.approx(factor * one.mean + offset, rel=1e-5, abs=1e-5 * factor)
    assert [own.weight for own in here.members] == [own.weight for own in there.members]
    assert here.best == there.best


def scale_of(kernel: Kernel) -> float:
    assert isinstance(kernel, zn.RBF | zn.Matern)
    assert isinstance(kernel.lengthscale, float)
    return kernel.lengthscale


def drawn(k: oracle.Kernel, number: int, noise: float, seed: int) -> Rewards:
    """Return noisy averages, over cells of several depths, of a function drawn from a kernel."""
    rng = np.random.default_rng(seed)
    nodes = [(depth, int(rng.integers(2**depth))) for depth in rng.integers(4, 8, size=number).tolist()]
    regions: list[zn.Region] = [STRIP.cell(node, FEEDBACK) for node in nodes]
    distinct = list(dict.fromkeys(nodes))
    listed: list[zn.Region] = [STRIP.cell(node, FEEDBACK) for node in distinct]
    factor = np.linalg.cholesky(gram(k, listed) + 1e-10 * np.eye(len(listed)))
    truth = dict(zip(distinct, factor @ rng.standard_normal(len(listed)), strict=True))
    values = np.array([truth[node] for node in nodes]) + noise * rng.standard_normal(number)
    return Rewards(regions, values, [None] * number)


def test_lengthscale_and_noise_are_recovered() -> None:
    scales, noises, coverage = [], [], []
    for seed in range(8):
        found = Prepared(drawn(oracle.rbf(1.0, 0.4), 70, 0.2, seed)).fit(ModelSpec(zn.RBF, True, None))
        assert found.model.noise is not None
        scales.append(scale_of(found.model.kernel))
        noises.append(found.model.noise)
        coverage.append(abs(math.log(scales[-1] / 0.4)) <= 2 * found.model.spread["lengthscale 0"])
    assert np.median(scales) == pytest.approx(0.4, rel=0.15)
    assert np.median(noises) == pytest.approx(0.2, rel=0.15)
    assert sum(coverage) >= 6


def test_how_rough_a_function_is_decides_between_kernels() -> None:
    def roughness(found: Fit) -> float:
        """Return the weight of kernels whose functions have no second derivative."""
        rough = [own.weight for own in found.members if getattr(own.model.kernel, "nu", math.inf) < 2]
        return float(sum(rough))

    rough, smooth = [], []
    for seed in range(5):
        learned = ModelSpec(None, True, None)
        rough.append(roughness(Prepared(drawn(oracle.matern(0.5, 1.0, 0.5), 90, 0.05, seed)).fit(learned)))
        smooth.append(roughness(Prepared(drawn(oracle.rbf(1.0, 0.5), 90, 0.05, seed)).fit(learned)))
    assert np.mean(rough) > 0.7
    assert np.mean(smooth) < 0.1


def test_a_fit_that_starts_from_the_last_one_ends_where_one_from_scratch_does() -> None:
    told = drawn(oracle.rbf(1.0, 0.4), 60, 0.2, seed=11)
    learned = ModelSpec(None, True, None)
    previous = None
    for number in (10, 20, 30, 45, 60):
        previous = Prepared(told.first(number)).fit(learned, previous)
    scratch = Prepared(told).fit(learned)
    assert previous is not None
    assert type(previous.model.kernel) is type(scratch.model.kernel)
    assert previous.model.noise == pytest.approx(scratch.model.noise, rel=0.02)
    assert scale_of(previous.model.kernel) == pytest.approx(scale_of(scratch.model.kernel), rel=0.03)
    for name, spread in previous.model.spread.items():
        assert spread == pytest.approx(scratch.model.spread[name], rel=0.1)


@pytest.mark.parametrize("number", [6, 15, 40])
def test_the_members_stand_for_the_posterior(number: int) -> None:
    # The whole posterior of lengthscale, noise and variance, densely and on another grid.
    told = drawn(oracle.rbf(1.0, 0.6), number, 0.3, seed=5)
    prepared = Prepared(told)
    evidence = Evidence(prepared.data, ModelSpec(zn.RBF, True, None))
    logs, heights = [], []
    for log_scale in np.linspace(math.log(0.05), math.log(12.0), 20):
        correlation = gram(oracle.rbf(1.0, math.exp(log_scale)), told.regions)
        for variance in np.exp(np.linspace(-3, 3, 9)):
            for noise in np.exp(np.linspace(-4, 1, 12)):
                covariance = variance * correlation + noise**2 * np.eye(number) + MEAN_PRIOR**2
                height = log_normal_density((told.values - evidence.shift) / evidence.scale, covariance)
                height += log_prior(math.exp(log_scale) / 5.0, LENGTHSCALE_PRIOR)
                logs.append(log_scale)
                heights.append(height + log_prior(noise, NOISE_PRIOR) + log_prior(variance, VARIANCE_PRIOR))
    weights = np.exp(np.array(heights) - max(heights))
    middle = float(np.average(logs, weights=weights))
    spread = math.sqrt(float(np.average((np.array(logs) - middle) ** 2, weights=weights)))
    found = prepared.fit(ModelSpec(zn.RBF, True, None))
    own = np.average(
        [math.log(scale_of(m.model.kernel)) for m in found.members], weights=[m.weight for m in found.members]
    )
    assert own == pytest.approx(middle, abs=0.1 + 0.2 * spread)
    assert math.log(scale_of(found.model.kernel)) == pytest.approx(middle, abs=0.05 + 0.1 * spread)
    assert found.model.spread["lengthscale 0"] == pytest.approx(spread, rel=0.25)


def test_a_spread_of_positions_does_not_depend_on_their_order() -> None:
    rng = np.random.default_rng(4)
    positions, values = rng.uniform(size=(700, 3)), rng.normal(size=700)
    chosen = spread_over(positions, values, 90)
    assert len(set(chosen.tolist())) == 90
    order = rng.permutation(700)
    again = spread_over(positions[order], values[order], 90)
    assert {*order[again].tolist()} == {*chosen.tolist()}
    octants = (positions[chosen] > 0.5) @ [1, 2, 4]
    assert np.bincount(octants, minlength=8).min() >= 8  # nowhere is left out: 11.25 of each are expected


def test_above_a_limit_models_are_weighed_on_a_spread_and_the_posterior_is_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fit_schedule, "MOST_WEIGHED", 40)
    space, rng = zn.Box([(0, 1)] * 2), np.random.default_rng(0)
    cells = [space.cell((7, index)) for index in range(128)]
    study = zn.Study(space, budget=9, rng=0)
    study.observe([(cell, float(np.sin(5 * cell.center).sum() + rng.normal(0, 0.1))) for cell in cells])
    assert study.model.weighed_on == 40
    assert study.model.measurements == 128
    assert "40 regions spread over the space" in study.model._repr_html_()
    assert all(member.rows == 128 for member in study._state.belief.members)
    assert zn.Study.replay(study.settings, study.events).model == study.model
