"""Outside measurements that see their region otherwise than the study does: against dense posteriors."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import zonal as zn
from fingerprint import fingerprint
from numbered_covariance import in_frame
from zonal.gp.kernel_families import ModelSpace
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback, footprints_of
from zonal.kernels.measures import Measure, PointMeasure
from zonal.spaces import ContinuousAxis, with_feedback

pytestmark = pytest.mark.one_in(2)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Slope(Feedback):
    """The difference between the ends of an interval: minus symmetric or antisymmetric."""

    def along(self, axis: ContinuousAxis) -> Measure:
        return PointMeasure([-0.5, 0.5], [-1.0, 1.0])


VIEWS: list[Feedback] = [zn.Mean(), zn.Center(), zn.Average(3), zn.Beam(0.2), zn.Beam(share=0.5), Slope()]
KERNELS: list[Kernel] = [zn.RBF(1.0, 0.3), zn.Matern(1.0, 0.3), zn.Matern(1.0, 0.3, nu=0.5)]
BOXES = [[(0.0, 0.5)], [(0.125, 0.25)], [(0.31, 0.42)], [(0.6, 0.6)], [(0.0, 1.0)]]


def points(region: Any, feedback: Feedback, panels: int = 48) -> tuple[Floats, Floats]:
    """Return points and weights that average over what is seen of a region, by brute force."""
    each = []
    for axis, center, width in zip(region.space.axes, region.center, region.widths, strict=True):
        places, weights = feedback.along(axis).rule(float(width), panels, 4)
        each.append([(center + place, weight) for place, weight in zip(places, weights, strict=True)])
    grid = list(itertools.product(*each))
    return np.array([[x for x, _ in own] for own in grid]), np.array(
        [np.prod([w for _, w in own]) for own in grid]
    )


def covariance(kernel: Kernel, seen: list[tuple[Any, Feedback]], panels: int = 48) -> Floats:
    """Return the covariance of what is seen of regions, by brute force."""
    rules = [points(region, feedback, panels) for region, feedback in seen]
    return np.array([[a @ kernel(x, y) @ b for y, b in rules] for x, a in rules])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("own", [zn.Mean(), zn.Average(3)], ids=repr)
def test_pairs_seen_differently_covary_as_explicit_points_do(kernel: Kernel, own: Feedback) -> None:
    space = zn.Box([(0, 1)])
    seen = [(space.region(box), view) for box in BOXES[1:4] for view in VIEWS]
    footprints = footprints_of([with_feedback(region, view) for region, view in seen], own)
    covariances = in_frame(ModelSpace(space, own), kernel)
    covariances.enter(footprints)
    every = np.arange(len(seen))
    dense = covariance(kernel, seen)
    rough = 1e-9 if isinstance(kernel, zn.RBF) else 1e-3  # of the points, about the kernel's kink
    np.testing.assert_allclose(covariances.between(every, every), dense, rtol=0, atol=rough)
    np.testing.assert_allclose(covariances.among(footprints), covariances.between(every, every), atol=1e-12)
    np.testing.assert_allclose(covariances.variances(0, len(seen)), dense.diagonal(), rtol=0, atol=rough)
    cross, _ = covariances.outside(every, footprints)
    np.testing.assert_allclose(cross, covariances.between(every, every), rtol=0, atol=1e-12)


def observed(own: Feedback, **given: Any) -> tuple[zn.Study, list[tuple[Any, Feedback]], Floats]:
    """Return a study that measured a little and was told of regions seen in every way, and what it was told."""
    space = zn.Box([(0, 1)])
    study = zn.Study(space, budget=8, feedback=own, policy=zn.GPOO(zn.GeometricDelta(2.0, 0.5), h_max=5), **given)
    rng = np.random.default_rng(0)
    seen: list[tuple[Any, Feedback]] = []
    values = []
    for number, (box, view) in enumerate(itertools.product(BOXES[:4], VIEWS[:5])):
        if number % 3 == 0 and study.remaining:
            trial = study.ask()
            values.append(float(rng.normal()))
            study.tell(trial, values[-1])
            seen.append((trial.region, own))
        values.append(float(rng.normal()))
        study.observe(box, values[-1], feedback=view)
        seen.append((space.region(box), view))
    return study, seen, np.array(values)


@pytest.mark.parametrize("own", VIEWS[:4], ids=repr)
def test_the_posterior_is_that_of_what_each_measurement_saw(own: Feedback) -> None:
    kernel = zn.RBF(1.0, 0.3)
    study, seen, values = observed(own, kernel=kernel, noise=0.2, mean=0.1)
    asked = [study.space.cell(node) for node in ((0, 0), (2, 1), (4, 9))]
    joint = covariance(kernel, [*seen, *((region, own) for region in asked)])
    gram, cross = joint[: len(seen), : len(seen)] + 0.04 * np.eye(len(seen)), joint[: len(seen), len(seen) :]
    solved = np.linalg.solve(gram, cross)
    mean, std = study.predict(asked)
    np.testing.assert_allclose(mean, 0.1 + solved.T @ (values - 0.1), rtol=0, atol=1e-7)
    variance = joint[len(seen) :, len(seen) :].diagonal() - np.sum(solved * cross, axis=0)
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=0, atol=1e-6)


def test_such_observations_are_in_the_history_and_replayed() -> None:
    study, _, _ = observed(zn.Mean(), kernel=zn.RBF(1.0, 0.3), noise=0.2)
    assert [own.region.feedback for own in study.observations] == [view for _ in BOXES[:4] for view in VIEWS[:5]]
    again = zn.Study.replay(study.settings, study.events)
    assert fingerprint(again) == fingerprint(study)
    np.testing.assert_array_equal(again.tree.mean, study.tree.mean)


def test_learning_knows_what_each_measurement_saw() -> None:
    space, own = zn.Box([(0, 1)]), zn.Mean()
    seen = [(space.region(box), view) for box in BOXES[:3] for view in VIEWS[:4]]
    frame = ModelSpace(space, own)
    footprints = footprints_of([with_feedback(region, view) for region, view in seen], own)
    found = frame.correlate(frame.layout.keys(footprints))(zn.RBF, np.array([0.3]))
    np.testing.assert_allclose(found, covariance(zn.RBF(1.0, 0.3), seen), rtol=0, atol=1e-9)


def test_models_are_learned_from_measurements_seen_in_several_ways() -> None:
    study = zn.Study([(0, 1)], budget=12, rng=0)
    rng = np.random.default_rng(1)
    for box, view in zip([*BOXES[:4], BOXES[0]], VIEWS[:5], strict=True):
        study.observe(box, float(np.sin(9 * np.mean(box)) + 0.05 * rng.normal()), feedback=view)
    trial = study.ask()
    study.tell(trial, 0.3)
    assert study.model.measurements == 6
    assert np.isfinite(study.tree.mean).all()


def test_members_are_seen_in_several_ways_too() -> None:
    X = np.random.default_rng(0).uniform(size=(40, 2))
    space, kernel = zn.Points(X), zn.RBF(1.0, 0.5)
    study = zn.Study(space, budget=5, kernel=kernel, noise=0.1, feedback=zn.Mean())
    region = space.cell((2, 1))
    study.observe(region, 1.0, feedback=zn.Center())
    study.observe(region, -1.0, feedback=zn.Average(3))
    study.observe(region, 0.5)
    weights = []
    for view in (zn.Center(), zn.Average(3), zn.Mean()):
        members, shares = view.seen(region)
        weights.append(np.bincount(members, shares, len(X)))
    averaging = np.array(weights)
    features = space.features
    prior = averaging @ kernel(features, features) @ averaging.T
    solved = np.linalg.solve(prior + 0.01 * np.eye(3), prior[:, 2])
    assert study.predict([region]).mean[0] == pytest.approx(solved @ [1.0, -1.0, 0.5], abs=1e-9)


def test_what_makes_no_sense_is_refused() -> None:
    study = zn.Study([(0, 1)], budget=5, kernel=zn.RBF(1.0, 0.3), noise=0.1)
    with pytest.raises(zn.InvalidInput, match="feedback must be"):
        study.observe([(0, 0.5)], 1.0, feedback=zn.Mean)  # type: ignore[call-overload]
    pools = zn.Study(zn.Sequences("ACGT", 3), budget=5, kernel=zn.Categorical(1.0, 0.5), noise=0.1)
    with pytest.raises(zn.InvalidInput, match="symbols"):
        pools.observe("ANN", 1.0, feedback=zn.Center())
    own = zn.Study([(0, 1)], budget=5, policy=zn.StoOO(zn.GeometricDelta(1.0, 0.5)))
    with pytest.raises(zn.InvalidInput, match="with another feedback"):
        own.observe([(0, 1)], 0.5, feedback=zn.Center())
    assert (len(study.observations), len(pools.observations), len(own.observations)) == (0, 0, 0)
