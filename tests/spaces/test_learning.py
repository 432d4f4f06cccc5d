"""Learning on every kind of space: gradients, recovery of correlations, and models of the right type."""

import math
from collections.abc import Callable
from types import UnionType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kinds
import oracle
import oracle_regions
import zonal as zn
from kinds import KINDS, Kind
from zonal.averages.feedback import Feedback
from zonal.averages.kernels import Custom, Mixed, Sum
from zonal.beliefs.fit import Posterior, Unknowns, fit
from zonal.beliefs.frames import frame_of
from zonal.beliefs.ledger import Data, Ledger
from zonal.blas import one_thread
from zonal.problems import from_table

Array = NDArray[np.float64]


def rewards(kind: Kind, feedback: Feedback, number: int, seed: int) -> tuple[Data, Any, list[Any]]:
    """Return the rewards of some regions, in the tree and not, some measured twice, some with a known noise."""
    rng = np.random.default_rng(seed)
    cells = kinds.cells(kind.space, most=60, deepest=4)
    regions = [cells[i] for i in rng.permutation(len(cells))[:number]] + kinds.off_tree(kind, 4, seed)
    ledger = Ledger()
    for slot in range(len(regions)):
        ledger = ledger.plus(slot, float(rng.normal()), 0.05 if slot % 5 == 0 else None)
        if slot % 3 == 1:
            ledger = ledger.plus(slot, float(rng.normal()), None)
    data = ledger.data()
    seen = [regions[slot] for slot in data.slots]
    return data, feedback.footprints(seen), seen


def families(kind: Kind) -> list[Any]:
    if kind.symbolic or (kind.X is None and all(kinds.symbols(kind.space))):
        return [None, zn.Categorical]
    return [None, zn.RBF]


CASES = {
    f"{name}, {family.__name__ if family else 'default'}, {feedback}": (kind, family, feedback)
    for name, kind in KINDS.items()
    for family in families(kind)
    for feedback in kinds.allowed(kind)[-2:]
}


@pytest.mark.parametrize(("kind", "family", "feedback"), CASES.values(), ids=CASES)
def test_gradients_agree_with_finite_differences(kind: Kind, family: Any, feedback: Feedback) -> None:
    data, footprints, _ = rewards(kind, feedback, 16, seed=0)
    frame = frame_of(kind.space, feedback)
    rng = np.random.default_rng(1)
    for mean in (None, 0.0):
        posterior = Posterior(data, footprints, frame, Unknowns(family, True, mean), None)
        point = rng.uniform(-1.5, 1.0, len(posterior.names))
        step, units = 1e-5, np.eye(len(point))
        with one_thread():  # as a fit does
            slopes = [
                (posterior(point + step * u)[0] - posterior(point - step * u)[0]) / (2 * step) for u in units
            ]
            gradient = posterior(point)[1]
        slack = 1e-6 * float(np.abs(gradient).max())
        assert gradient == pytest.approx(slopes, rel=1e-6, abs=slack)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_likelihood_is_that_of_the_dense_covariance(kind: Kind) -> None:
    """With log-odds of correlations and lengthscales in widths, up to a constant."""
    symbolic = [kind.symbolic] * kind.space.d if kind.X is not None else kinds.symbols(kind.space)
    family = zn.Categorical if all(symbolic) else zn.RBF
    data, footprints, seen = rewards(kind, zn.Mean(), 12, seed=2)
    blocks = [kinds.block(kind, region, zn.Mean()) for region in seen]
    posterior = Posterior(data, footprints, frame_of(kind.space, zn.Mean()), Unknowns(family, True, 0.0), None)
    if kind.X is None:
        sides = np.array([axis.high - axis.low for axis in kind.space.axes if hasattr(axis, "low")])
    else:
        sides = np.ptp(kind.X, axis=0)

    def dense(parameters: Array) -> float:
        axes, which = parameters[1 : 1 + len(symbolic)], np.array(symbolic)
        matching = oracle_regions.categorical(math.exp(parameters[0]), 1 / (1 + np.exp(-axes[which])))
        k = matching
        if not all(symbolic):
            near = oracle.rbf(1.0, np.exp(axes[~which]) * sides)
            k = oracle_regions.mixed(near, matching, symbolic)
        own = np.where(data.count > 0, math.exp(2 * parameters[-1]) / np.maximum(data.count, 1), 0.0)
        own += np.where(data.count > 0, 0.0, data.variance / posterior.scale**2)
        Q = oracle_regions.covariance(k, blocks, blocks) + np.diag(own)
        y = data.mean / posterior.scale
        value = 0.5 * y @ np.linalg.solve(Q, y) + 0.5 * np.linalg.slogdet(Q)[1]
        value += data.extra * parameters[-1] + data.scatter / posterior.scale**2 / (
            2 * math.exp(2 * parameters[-1])
        )
        off = parameters - posterior.center
        return float(value + 0.5 * off @ posterior.precision @ off)

    size = len(posterior.names)
    points = [np.full(size, -0.4), np.linspace(-1, 0.5, size), np.linspace(0.3, -0.8, size)]
    constant = dense(points[0]) - posterior(points[0])[0]
    for point in points[1:]:
        assert dense(point) - posterior(point)[0] == pytest.approx(constant, abs=1e-8)


def test_correlations_are_recovered_from_pools() -> None:
    """A position that matters, one that matters little, and one that does not matter, told apart."""
    truth = np.array([0.15, 0.5, 0.9, 0.5])
    space = zn.Sequences("ABC", 4)
    kind = Kind(space)
    pools = [*kinds.cells(space, most=81), *kinds.off_tree(kind, 60, seed=0)]
    k = oracle_regions.categorical(2.0, truth)
    X = np.array([space.cell((4, i)).center for i in range(81)])
    factor = np.linalg.cholesky(k(X, X) + 1e-10 * np.eye(81))
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        measure = from_table(space, factor @ rng.standard_normal(81)).simulate(0.1, rng)
        ledger = Ledger()
        for slot, pool in enumerate(pools):
            ledger = ledger.plus(slot, measure(pool), None)
        frame = frame_of(space, zn.Mean())
        model = fit(ledger.data(), zn.Mean().footprints(pools), frame, Unknowns(None, True, None), None, 200)
        assert isinstance(model.kernel, zn.Categorical)
        assert model.noise == pytest.approx(0.1, rel=0.5)
        correlations = model.kernel.correlations(4)
        assert correlations[0] < correlations[1] < correlations[2]
        assert list(model.spread) == ["variance", *(f"correlation {j}" for j in range(4)), "noise"]
        found.append(correlations)
    np.testing.assert_allclose(np.median(found, axis=0), truth, atol=0.2)  # the prior draws them together


def expected_type(kind: Kind) -> type | UnionType:
    """Return the type of a learned kernel; how smooth f is decides between RBF and Matern."""
    if kind.X is not None:
        return zn.Categorical if kind.symbolic else zn.RBF | zn.Matern
    which = kinds.symbols(kind.space)
    if isinstance(kind.space, zn.Sequences):
        return zn.Categorical | Sum
    return zn.Categorical if all(which) else Mixed if any(which) else zn.RBF | zn.Matern


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_study_that_learns_everything_runs_and_has_a_model_of_the_right_type(kind: Kind) -> None:
    study = zn.Study(kind.space, budget=20)
    rng = np.random.default_rng(0)
    height: dict[Any, float] = {}

    def measure(region: zn.Region) -> float:
        return height.setdefault(region.key, float(rng.normal(3.0))) + 0.1 * float(rng.normal())

    result = study.optimize(measure)
    assert result.success
    assert study.told == 20
    model = study.model
    assert isinstance(model.kernel, expected_type(kind))
    assert model.measurements == 20
    assert 1 < model.mean < 5
    assert all(0 < spread < 4 for spread in model.spread.values())
    axes = [name for name in model.spread if name not in ("variance", "noise")]
    assert len(axes) == kind.space.d
    which = [kind.symbolic] * kind.space.d if kind.X is not None else kinds.symbols(kind.space)
    assert [name.startswith("correlation") for name in axes] == which
    assert np.isfinite(study.tree.mean).all()
    assert (study.tree.std >= 0).all()


@pytest.mark.parametrize("learned", [zn.RBF, zn.Matern], ids=lambda family: family.__name__)
def test_the_class_that_is_asked_for_is_learned(learned: type) -> None:
    measure: Callable[[zn.Region], float] = lambda region: float(hash(region.key) % 100) / 10  # noqa: E731
    for name in ("line", "points", "hierarchy with features"):
        study = zn.Study(KINDS[name].space, budget=8, kernel=learned, noise=0.1)
        study.optimize(measure)
        assert type(study.model.kernel) is learned
    study = zn.Study(KINDS["mixed"].space, budget=8, kernel=learned, noise=0.1)
    study.optimize(measure)
    assert isinstance(study.model.kernel, Mixed)
    assert type(study.model.kernel.continuous) is learned
    assert study.model.kernel.categorical.variance == 1.0


def test_a_function_as_kernel_is_kept_while_noise_and_mean_are_learned() -> None:
    for name in ("points", "hierarchy"):
        function = kinds.kernels(KINDS[name])["function"].ours
        study = zn.Study(KINDS[name].space, budget=16, kernel=function)
        study.optimize(lambda region: region.weight)
        assert list(study.model.spread) == ["noise"]
        assert isinstance(study.model.kernel, Custom)
        assert study.model.kernel.function is function
