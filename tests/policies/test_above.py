"""The set above a threshold: the gain against quadrature, what is listed, what is expected to be wrong, laws."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from scipy.integrate import quad
from scipy.stats import norm

import zonal as zn
from kinds import KINDS, kernels
from zonal.policies.level_set import log_cleared, log_rough
from zonal.study import summary

pytestmark = pytest.mark.one_in(2)

GIVEN: dict[str, Any] = {"kernel": zn.RBF(0.5, 0.15), "noise": 0.1}


def wave(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(7 * x[:, 0]) + 0.3 * x[:, 0])


def _scaled(scale: float, x: np.ndarray) -> np.ndarray:
    return scale * wave(x)


def run(budget: int = 30, *, policy: Any = None, **given: Any) -> zn.Study:
    measure = zn.simulate(wave, zn.Mean(), noise=0.1, rng=1)
    study = zn.Study(
        zn.Box([(0, 1)], smallest=1 / 64), budget=budget, policy=policy or zn.Above(0.5), rng=7, **(GIVEN | given)
    )
    study.optimize(measure)
    return study


@pytest.mark.parametrize("z", [0.0, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("rho", [0.02, 0.4, 0.8, 0.999])
def test_what_a_measurement_clears_is_the_mean_over_what_it_may_say(z: float, rho: float) -> None:
    # With Z standard normal, the region is off by (z + rho Z) / sqrt(1 - rho^2) of its new standard deviations.
    def wrong(value: float) -> float:
        after = abs(z + rho * value) / np.sqrt(1 - rho**2)
        return float(norm.pdf(value) * norm.cdf(-after))

    left = quad(wrong, -12, -z / rho, epsabs=1e-13)[0] + quad(wrong, -z / rho, 12, epsabs=1e-13)[0]
    if z / rho > 12:
        left = quad(wrong, -12, 12, epsabs=1e-13)[0]
    a = np.array([[np.sqrt(1 / rho**2 - 1)]])
    found = float(np.exp(log_cleared(np.array([z]), a))[0, 0])
    assert found == pytest.approx(norm.cdf(-z) - left, rel=2e-4, abs=2e-9)
    assert found == pytest.approx(float(np.exp(log_rough(np.array([z]), a))[0, 0]), rel=0.5)


@pytest.mark.parametrize(
    "given",
    [(), (None, None), (0.5, 0.2), (None, 0.0), (None, 1.0), (None, "a"), (float("nan"),), ("x",), (True,)],
    ids=repr,
)
def test_a_threshold_or_a_share_is_needed(given: tuple[Any, ...]) -> None:
    with pytest.raises(zn.InvalidInput):
        zn.Above(*given)


def test_the_set_is_found_and_listed() -> None:
    study = run()
    cells = [study.space.cell((6, index)) for index in range(64)]
    truth = np.array([zn.simulate(wave, zn.Mean()).average(cell) for cell in cells]) > 0.5
    listed = {likely.region.node for likely in study.above()}
    chance = study.probability(cells, above=0.5)
    assert listed == {cell.node for cell, own in zip(cells, chance, strict=True) if own >= 0.5}
    assert sum((cell.node in listed) != own for cell, own in zip(cells, truth, strict=True)) <= 3
    assert study.above().misclassified == pytest.approx(
        float(np.sum(np.minimum(chance, 1 - chance)) / 64), abs=1e-9
    )
    assert study.above().threshold == pytest.approx(0.5)
    assert study.recommend().mean == pytest.approx(study.predict(cells).mean.max(), abs=1e-8)


def test_it_clears_more_than_the_default_does() -> None:
    def doubtful(study: zn.Study) -> float:
        chance = study.probability([study.space.cell((6, index)) for index in range(64)], above=0.5)
        return float(np.sum(np.minimum(chance, 1 - chance)))

    assert doubtful(run(40)) < doubtful(run(40, policy=zn.KnowledgeGradient()))


def test_a_share_of_the_space_is_that_share_of_its_means() -> None:
    study = run(policy=zn.Above(top=0.25))
    means = study.predict([study.space.cell((6, index)) for index in range(64)]).mean
    assert np.count_nonzero(means > study.above().threshold) == 16
    assert len(study.above()) == pytest.approx(16, abs=1)


def test_those_below_are_the_mirror_image() -> None:
    up = run()
    measure = zn.simulate(lambda x: -wave(x), zn.Mean())
    noise = np.random.default_rng(1).standard_normal(30)
    down = zn.Study(up.space, budget=30, policy=zn.Above(-0.5), direction="minimize", rng=7, **GIVEN)
    for own in noise:
        trial = down.ask()
        down.tell(trial, measure.average(trial.region) - 0.1 * float(own))
    assert [trial.node for trial in down.trials] == [trial.node for trial in up.trials]
    assert [own.region.node for own in down.above()] == [own.region.node for own in up.above()]
    assert down.above().title == down.below().title
    assert down.above().misclassified == pytest.approx(up.above().misclassified)
    with pytest.raises(zn.InvalidInput, match="a threshold is needed"):
        up.below()


def test_a_tolerance_is_of_what_is_misclassified() -> None:
    measure = zn.simulate(wave, zn.Mean(), noise=0.1, rng=1)
    study = zn.Study(zn.Box([(0, 1)], smallest=1 / 64), budget=200, policy=zn.Above(0.5), **GIVEN)
    result = study.optimize(measure, tolerance=0.02)
    assert result.success
    assert study.measured < 200
    wrong = study.above().misclassified
    assert wrong is not None
    assert wrong <= 0.02
    assert "misclassified" in result.message


def test_other_policies_look_for_no_set() -> None:
    study = run(3, policy=zn.GPOO(zn.GeometricDelta(2, 0.5)))
    assert summary.threshold(study) is None
    assert summary.misclassified(study) is None
    with pytest.raises(zn.InvalidInput, match="a threshold is needed"):
        study.above()


def test_a_scale_of_the_values_changes_nothing() -> None:
    nodes = []
    for scale in (1.0, 37.0):
        measure = zn.simulate(partial(_scaled, scale), zn.Mean(), noise=0.1 * scale, rng=1)
        study = zn.Study(
            [(0, 1)],
            budget=25,
            policy=zn.Above(0.5 * scale),
            kernel=zn.RBF(0.5 * scale**2, 0.15),
            noise=0.1 * scale,
        )
        study.optimize(measure)
        nodes.append([trial.node for trial in study.trials])
    assert nodes[0] == nodes[1]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", KINDS)
def test_every_space_has_a_set_above(name: str) -> None:
    kernel = next(iter(kernels(KINDS[name]).values())).ours
    study = zn.Study(KINDS[name].space, budget=8, policy=zn.Above(top=0.3), kernel=kernel, noise=0.1, rng=0)
    for number in range(8):
        study.tell(study.ask(), float(np.sin(3 * number)))
    wrong = study.above().misclassified
    assert wrong is not None
    assert 0 <= wrong <= study.space.cell((0, 0)).weight / 2 * (1 + 1e-9)
    assert all(own.probability >= 0.5 for own in study.above())
    again = zn.Study.replay(study.settings, study.events)
    assert again.above().misclassified == wrong
    study.plot()
    pyplot.close("all")


def test_what_is_forbidden_is_neither_asked_for_nor_listed() -> None:
    study = zn.Study(
        zn.Box([(0, 1)], smallest=1 / 64), budget=20, policy=zn.Above(0.0), forbidden=[[(0.2, 0.6)]], rng=0
    )
    study.optimize(zn.simulate(wave, zn.Mean(), noise=0.1, rng=1))
    away = [own.region for own in study.above(probability=0.01)] + [trial.region for trial in study.trials]
    assert all(region.bounds[0, 0] >= 0.6 - 1e-9 or region.bounds[0, 1] <= 0.2 + 1e-9 for region in away)


def test_it_is_stored_by_its_fields(tmp_path: Any) -> None:
    for policy in (zn.Above(0.5), zn.Above(top=0.2)):
        path = tmp_path / f"{policy.top}.db"
        study = zn.Study.create(path, [(0, 1)], budget=6, policy=policy, rng=1)
        for value in (0.1, 0.9, 0.4):
            study.tell(study.ask(), value)
        again = zn.Study.open(path)
        assert again.settings.policy == policy
        assert again.above().misclassified == pytest.approx(study.above().misclassified, rel=1e-6)


@pytest.mark.parametrize("policy", [zn.Above(0.3), zn.Above(top=0.3), zn.KnowledgeGradient()])
def test_without_noise_what_is_known_is_not_measured_again_live_or_replayed(policy: Any) -> None:
    study = zn.Study(zn.Box({"x": (0, 1)}), budget=6, kernel=zn.RBF(1.0, 0.2), noise=0.0, policy=policy, rng=83)
    for value in (0.511, 0.026, 0.3, 0.8):
        again = zn.Study.replay(study.settings, study.events, batch=True)
        trial = study.ask()
        assert again.ask().node == trial.node
        assert trial.replicate == 1
        study.tell(trial, value)


@pytest.mark.parametrize("policy", [zn.Above(0.3), zn.KnowledgeGradient()])
@pytest.mark.parametrize("more", [{}, {"budget": 30.0, "travel": 0.7}])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_where_everything_is_known_any_region_may_be_next(policy: Any, more: dict[str, Any]) -> None:
    given: dict[str, Any] = {"budget": 8, "kernel": zn.RBF(1.0, 0.2), "noise": 0.0} | more
    study = zn.Study(zn.Box({"x": (0, 1)}, smallest=1 / 4), policy=policy, rng=1, **given)
    asked = []
    for _ in range(7):
        again = zn.Study.replay(study.settings, study.events, batch=True)
        trial = study.ask()
        assert again.ask().node == trial.node
        asked.append(trial.node)
        study.tell(trial, 0.3)  # exactly at the threshold
    assert len(set(asked[:4])) == 4
