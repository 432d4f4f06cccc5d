"""Learning on every kind of space: covariances, recovery of correlations, and models of the right type."""

from collections.abc import Callable
from types import UnionType
from typing import Any

import numpy as np
import pytest

import kinds
import oracle_regions
import zonal as zn
from kinds import KINDS, Kind
from numbered_covariance import in_frame
from zonal.gp.hyperparameters import fit_posterior
from zonal.gp.kernel_families import families_of, frame_of, kernel_from
from zonal.gp.model import ModelSpec
from zonal.gp.stats import ObservationStats
from zonal.kernels.base import Mixed, Sum
from zonal.kernels.callable import Custom
from zonal.kernels.feedback import Feedback
from zonal.simulation import from_table


def families(kind: Kind) -> list[Any]:
    if kind.X is None and isinstance(kind.space, zn.Sequences):
        return list(families_of(kind.space))
    if kind.is_categorical or (kind.X is None and all(kinds.symbols(kind.space))):
        return [zn.Categorical]
    return [zn.RBF, zn.Matern]


CASES = {
    f"{name}, {getattr(family, '__name__', 'motifs')}, {feedback}": (kind, family, feedback)
    for name, kind in KINDS.items()
    for family in families(kind)
    for feedback in kinds.allowed(kind)[-2:]
}


@pytest.mark.parametrize(("kind", "family", "feedback"), CASES.values(), ids=CASES)
def test_models_are_weighed_by_the_covariance_that_they_have_as_kernels(
    kind: Kind, family: Any, feedback: Feedback
) -> None:
    """Which the oracle's double sums are held against elsewhere (`test_covariances.py`)."""
    regions = [*kinds.cells(kind.space, most=14, deepest=4), *kinds.off_tree(kind, 4, seed=1)]
    frame, footprints = frame_of(kind.space, feedback), feedback.footprints(regions)
    symbols = np.array(frame.symbols)
    axes = np.where(symbols, np.linspace(0.2, 0.8, len(symbols)), 0.3 * frame.sides)
    kernel = kernel_from(family, 1.0, axes, frame.symbols)
    found = frame.correlate(frame.layout.keys(footprints))(family, axes)
    expected = in_frame(frame_of(kind.space, feedback), kernel).among(footprints)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.torture
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
        ledger = ObservationStats()
        for slot, pool in enumerate(pools):
            ledger = ledger.append(slot, measure(pool), None)
        frame = frame_of(space, zn.Mean())
        data, unknowns = ledger.data(), ModelSpec(zn.Categorical, True, None)
        correlate, fit = frame.correlate(frame.layout.keys(zn.Mean().footprints(pools))), None
        assert data.slots.tolist() == list(range(len(pools)))
        for _ in range(6):  # each starts where the last one ended, as in a study
            fit = fit_posterior(data, frame, unknowns, correlate, None, fit, 200, 8)
        assert fit is not None
        model = fit.model
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
        return zn.Categorical if kind.is_categorical else zn.RBF | zn.Matern
    which = kinds.symbols(kind.space)
    if isinstance(kind.space, zn.Sequences):
        return zn.Categorical | Sum
    return zn.Categorical if all(which) else Mixed if any(which) else zn.RBF | zn.Matern


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_study_that_learns_everything_runs_and_has_a_model_of_the_right_type(kind: Kind) -> None:
    study = zn.Study(kind.space, budget=12)
    rng = np.random.default_rng(0)
    height: dict[Any, float] = {}

    def measure(region: zn.Region) -> float:
        return height.setdefault(region.key, float(rng.normal(3.0))) + 0.1 * float(rng.normal())

    result = study.optimize(measure)
    assert result.success
    assert study.measured == 12
    model = study.model
    assert isinstance(model.kernel, expected_type(kind))
    assert model.measurements == 12
    assert 1 < model.mean < 5
    assert all(0 < spread < 4 for spread in model.spread.values())
    axes = [name for name in model.spread if name not in ("variance", "noise")]
    assert len(axes) == kind.space.d
    which = [kind.is_categorical] * kind.space.d if kind.X is not None else kinds.symbols(kind.space)
    assert [name.startswith("correlation") for name in axes] == which
    assert np.isfinite(study.tree.mean).all()
    assert (study.tree.std >= 0).all()


@pytest.mark.parametrize("learned", [zn.RBF, zn.Matern], ids=lambda family: family.__name__)
def test_the_class_that_is_asked_for_is_learned(learned: type) -> None:
    measure: Callable[[zn.Region], float] = lambda region: float(hash(region.key) % 100) / 10  # noqa: E731
    for name in ("line", "points", "hierarchy with features"):
        study = zn.Study(KINDS[name].space, budget=5, kernel=learned, noise=0.1)
        study.optimize(measure)
        assert type(study.model.kernel) is learned
    study = zn.Study(KINDS["mixed"].space, budget=5, kernel=learned, noise=0.1)
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
