"""Slopes, differences and signed measures of one's own: dense posteriors from their definitions, and laws."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kinds
import oracle
import oracle_regions
import zonal as zn
from effort import tries
from eventful_studies import close, digest
from fingerprint import fingerprint
from oracle import Functional, Piece
from zonal.gp.functional_index import FunctionalIndex
from zonal.gp.hyperparameters import Evidence
from zonal.gp.model import ModelSpec
from zonal.gp.posterior import GaussianBelief
from zonal.kernels.feedback import Feedback
from zonal.kernels.measures import Measure, PointMeasure
from zonal.spaces import ContinuousAxis
from zonal.storage.journal import Journal
from zonal.storage.verify import first_difference

pytestmark = pytest.mark.one_in(2)

Floats = NDArray[np.float64]
Sum = list[tuple[float, Functional]]  # what is measured: weights, and what is added with them


@dataclass(frozen=True)
class Wave(Feedback):
    """A Fourier component along one axis, by midpoints: even (cosine) or odd (sine) about the centre."""

    axis: str
    odd: bool = False
    number: int = 8

    def along(self, axis: ContinuousAxis) -> Measure:
        """Return the wave on its axis, and all of the interval on the others."""
        if axis.name != self.axis:
            return zn.Mean().along(axis)
        places = (np.arange(self.number) + 0.5) / self.number - 0.5
        wave = (np.sin if self.odd else np.cos)(2 * np.pi * places)
        return PointMeasure(places, 2 * wave / self.number)


def whole(feedback: Any, low: float, high: float, integer: bool) -> list[Piece]:
    """Return what a feedback sees of an interval of an axis, from its definition."""
    if integer:
        numbers = range(round(low), round(high) + 1)
        return [(1 / len(numbers), float(n), float(n), 0) for n in numbers]
    if isinstance(feedback, zn.Mean):
        return [(1.0, low, high, 0)]
    if isinstance(feedback, zn.Beam):
        std = feedback.fwhm / math.sqrt(8 * math.log(2))  # type: ignore[operator]
        places, weights = oracle._rule(-8.0, 8.0, (-4.0, -1.5, 1.5, 4.0), 9)
        weights = weights * np.exp(-0.5 * places**2)
        centre = (low + high) / 2
        shares = (weights / weights.sum()).tolist()
        return [(w, centre + std * x, centre + std * x, 0) for x, w in zip(places.tolist(), shares, strict=True)]
    if isinstance(feedback, Wave):
        rule = feedback.along(ContinuousAxis(feedback.axis, 0.0, 1.0)).rule(1.0, 1, 1)
        each = (
            (w, (low + high) / 2 + x * (high - low)) for x, w in zip(*(own.tolist() for own in rule), strict=True)
        )
        return [(w, x, x, 0) for w, x in each]
    s = feedback.s if isinstance(feedback, zn.Average) else 1
    points = [low + (i + 0.5) / s * (high - low) for i in range(s)]
    return [(1 / s, x, x, 0) for x in points]


def sloped(scale: str, low: float, high: float, rough: bool) -> list[Piece]:
    """Return the mean of df/dx over an interval, x in the user's numbers, from its definition."""
    if scale == "integer":  # the mean of the differences of neighbours
        steps = range(round(low), round(high))
        return [(sign / len(steps), n + up, n + up, 0) for n in steps for sign, up in ((1, 1.0), (-1, 0.0))]
    if scale == "log":  # df/dx = df/du / (x log 10), u being log10 x
        places, weights = oracle._rule(low, high, np.geomspace(low, high, 6)[1:-1].tolist(), 12)
        at = np.log10(places).tolist()
        return [(w / (x * math.log(10)), u, u, 1) for x, u, w in zip(places, at, weights.tolist(), strict=True)]
    if rough:  # where f has no derivative, the limit of mean slopes of smoother ones
        return [(1 / (high - low), high, high, 0), (-1 / (high - low), low, low, 0)]
    return [(1.0, low, high, 1)]


@dataclass(frozen=True)
class Case:
    """A space of continuous axes, a kernel twice, and what the study's own measurements see."""

    space: Any
    kernel: Any
    kind: float | str
    feedback: Feedback

    length: float = 0.4  # of each axis

    @property
    def lengths(self) -> list[float]:
        return [self.length * axis.side for axis in self.space.axes]

    def of(self, region: Any, feedback: Feedback, minus: Any = None) -> Sum:
        """Return what is measured of a region, less the same of another."""
        axes = []
        for axis, (low, high) in zip(self.space.axes, region.bounds.tolist(), strict=True):
            log, integer = axis.scale == "log", axis.scale == "integer"
            if isinstance(feedback, zn.Slope) and feedback.axis == axis.name:
                axes.append(sloped(axis.scale, low, high, self.kind == 0.5))
            else:
                usual = self.feedback if isinstance(feedback, zn.Slope) else feedback
                edges = (math.log10(low), math.log10(high)) if log else (low, high)
                if isinstance(usual, Wave) and usual.axis != axis.name:
                    usual = zn.Mean()
                axes.append(whole(usual, edges[0], edges[1], integer))
        less = [] if minus is None else [(-weight, own) for weight, own in self.of(minus, feedback)]
        return [(1.0, axes), *less]

    def covariance(self, one: Sum, other: Sum) -> float:
        return sum(
            u * v * oracle.functional_covariance(1.3, self.kind, self.lengths, ours, theirs)
            for u, ours in one
            for v, theirs in other
        )

    def gram(self, seen: Sequence[Sum]) -> Floats:
        half = np.zeros((len(seen), len(seen)))
        for (i, one), (j, other) in combinations_with_replacement(enumerate(seen), 2):
            half[i, j] = self.covariance(one, other)
        return half + np.triu(half, 1).T


def made(space: Any, kind: float | str, feedback: Feedback) -> Case:
    lengths = tuple(0.4 * axis.side for axis in space.axes)
    kernel = zn.RBF(1.3, lengths) if kind == "rbf" else zn.Matern(1.3, lengths, nu=float(kind))
    return Case(space, kernel, kind, feedback)


LINE, PLANE = zn.Box([(0, 1)]), zn.Box({"a": (0, 2), "b": (-1, 1)}, arity=3)
DOSE = zn.Box({"c": (1e-3, 1.0), "t": (0, 5)}, scale={"c": "log"})
COUNTS = zn.Product({"n": (3, 9), "x": (0, 1)}, scale={"n": "integer"}, smallest={"n": 1, "x": 0.1})
CASES = {
    "line, RBF, Mean": made(LINE, "rbf", zn.Mean()),
    "line, Matern 1/2, Mean": made(LINE, 0.5, zn.Mean()),
    "line, Matern 3/2, Average": made(LINE, 1.5, zn.Average(3)),
    "line, Matern 5/2, Center": made(LINE, 2.5, zn.Center()),
    "line, RBF, Beam": made(LINE, "rbf", zn.Beam(0.1)),
    "plane, RBF, Average": made(PLANE, "rbf", zn.Average(2)),
    "plane, Matern 3/2, Mean": made(PLANE, 1.5, zn.Mean()),
    "plane, Matern 5/2, Center": made(PLANE, 2.5, zn.Center()),
    "plane, RBF, Beam": made(PLANE, "rbf", zn.Beam(0.3)),
    "log, RBF, Mean": made(DOSE, "rbf", zn.Mean()),
    "log, RBF, Average": made(DOSE, "rbf", zn.Average(3)),
    "whole numbers, RBF, Mean": made(COUNTS, "rbf", zn.Mean()),
}


def lived(case: Case, mean: float, rounds: int = 5, sign: int = 1, **given: Any) -> tuple[zn.Study, list[Any]]:
    """Return a study told of averages, slopes, differences and waves, and all that it was told."""
    direction: Any = "maximize" if sign > 0 else "minimize"
    settings = {"kernel": case.kernel, "noise": 0.2, "policy": zn.GPOO(zn.GeometricDelta(2.0, 0.5), h_max=5)}
    study = zn.Study(
        case.space, budget=40, mean=mean, feedback=case.feedback, direction=direction, **(settings | given)
    )
    rng, told = np.random.default_rng(3), []
    regions = [case.space.region(own.bounds.tolist()) for own in kinds.off_tree(kinds.Kind(case.space), 12, 4)]
    regions = [own for own in regions if (own.bounds[:, 1] > own.bounds[:, 0]).all()]
    names = case.space.names

    def noted(region: Any, value: float, sem: float, feedback: Feedback, minus: Any = None) -> None:
        told.append((case.of(region, feedback, minus), sign * value, sem))

    for number in range(rounds):
        trial, value = study.ask(), float(mean + rng.normal())
        region, other = regions[number % len(regions)], regions[(number + 1) % len(regions)]
        name, slope = names[number % len(names)], float(rng.normal())
        if number % 3 == 0 and (trial.region.bounds[:, 1] > trial.region.bounds[:, 0]).all():
            study.tell(trial, value, slopes={own: (slope, 0.5) for own in names})
            noted(trial.region, value, 0.2, case.feedback)
            for own in names:
                noted(trial.region, slope, 0.5, zn.Slope(own))
        elif number % 3 == 1:
            study.tell(trial, value - mean, 0.3, minus=region)
            noted(trial.region, value - mean, 0.3, case.feedback, region)
        else:
            study.tell(trial, value)
            noted(trial.region, value, 0.2, case.feedback)
        study.observe(region, slope, sem=0.4, feedback=zn.Slope(name))
        noted(region, slope, 0.4, zn.Slope(name))
        if number % 2:
            study.observe(region, value - mean, sem=0.25, minus=other)
            noted(region, value - mean, 0.25, case.feedback, other)
            study.observe(region, slope / 2, sem=0.6, minus=other, feedback=zn.Slope(name))
            noted(region, slope / 2, 0.6, zn.Slope(name), other)
        elif case.space not in (COUNTS, DOSE):
            wave = Wave(name, odd=number % 4 == 2)
            study.observe(region, slope, sem=0.3, feedback=wave)
            noted(region, slope, 0.3, wave)
    return study, told


def dense(case: Case, told: list[Any], wanted: list[Sum], mean: float) -> tuple[Floats, Floats]:
    """Return the posterior of averages given all that was told, at once."""
    seen, values, sems = zip(*told, strict=True)
    cov = case.covariance
    gram = case.gram(seen) + np.diag(np.square(sems))
    cross = np.array([[cov(one, other) for other in seen] for one in wanted])
    prior = np.array([cov(one, one) for one in wanted])
    totals = np.array([sum(weight * oracle.of_a_constant(own) for weight, own in one) for one in seen])
    residual = np.array(values) - mean * totals
    solved = np.linalg.solve(gram, cross.T)
    variance = prior - np.sum(cross * solved.T, axis=1)
    return mean + solved.T @ residual, np.sqrt(np.maximum(variance, 0))


@pytest.mark.parametrize(("case", "sign"), [(own, (-1) ** n) for n, own in enumerate(CASES.values())], ids=CASES)
def test_posteriors_are_those_of_what_was_measured(case: Case, sign: int) -> None:
    mean = 2.0
    study, told = lived(case, mean, rounds=tries(3, 5), sign=sign)
    wanted = [study.space.cell((0, 0)), study.space.cell((2, 1)), *kinds.off_tree(kinds.Kind(case.space), 2, 9)]
    expected, std = dense(case, told, [case.of(region, case.feedback) for region in wanted], sign * mean)
    found = study.predict(wanted, feedback=case.feedback)
    scale = 1e-8 * math.sqrt(1.3)
    np.testing.assert_allclose(found.mean, sign * expected, rtol=0, atol=scale)
    np.testing.assert_allclose(found.std, std, rtol=0, atol=scale)
    opened = zn.Study.replay(study.settings, study.events, batch=True)
    again = opened.predict(wanted, feedback=case.feedback)
    np.testing.assert_allclose(again.mean, found.mean, rtol=0, atol=scale)


# Differences of any two regions of any space.


@pytest.mark.parametrize(
    "name", ["dna", "mixed", "whole numbers", "points", "hierarchy", "hierarchy with features"]
)
def test_differences_of_any_regions_are_those_of_their_points(name: str) -> None:
    kind = kinds.KINDS[name]
    pair = list(kinds.kernels(kind).values())[-1 if name == "dna" else 0]
    study = zn.Study(kind.space, budget=9, kernel=pair.ours, noise=0.2, mean=1.5, policy=zn.UCB(level=1))
    rng = np.random.default_rng(0)
    regions = [
        *kinds.off_tree(kind, 3, 3),
        *(own for level in list(kinds.levels(kind.space))[:2] for own in level),
    ]
    seen, values, sems, totals = [], [], [], []

    def noted(region: Any, minus: Any, value: float, sem: float) -> None:
        (points, weights), (others, theirs) = (
            kinds.block(kind, own, zn.Mean()) for own in (region, minus or region)
        )
        seen.append((np.vstack([points, others]), np.concatenate([weights, -theirs if minus else 0 * theirs])))
        values.append(value)
        sems.append(sem)
        totals.append(float(seen[-1][1].sum()))

    for number, (region, minus) in enumerate(zip(regions, [*regions[2:], *regions[:2]], strict=True)):
        value = float(rng.normal())
        study.observe(region, value, sem=0.3, minus=minus)
        noted(region, minus, value, 0.3)
        if number % 3 == 0 and study.remaining:
            trial = study.ask()
            study.tell(trial, value, sem=0.1, minus=None if number else minus)
            noted(trial.region, None if number else minus, value, 0.1)
    wanted = [kinds.block(kind, region, zn.Mean()) for region in regions]
    rewards = np.array(values) - 1.5 * np.array(totals)
    mean, std = oracle_regions.posterior(pair.oracles, seen, rewards, np.square(sems), wanted)
    found = study.predict(regions)
    np.testing.assert_allclose(found.mean, 1.5 + mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.std, std, rtol=0, atol=1e-8)
    assert fingerprint(zn.Study.replay(study.settings, study.events)) == fingerprint(study)


# Learning.


def test_models_are_weighed_by_the_likelihood_of_slopes_and_differences_too() -> None:
    case = CASES["line, RBF, Mean"]
    study, told = lived(case, 2.0)
    seen, values, sems = zip(*told, strict=True)
    totals = np.array([sum(weight * oracle.of_a_constant(own) for weight, own in one) for one in seen])
    state = study._state
    data, frame = state.ledger.data(total_weights=state.tracked.total_weights), state.problem.frame
    keys = state.tracked.keys.take(data.slots, axis=1)
    ours, theirs = [], []
    for length in (0.4, 0.2):
        kernel = zn.RBF(1.3, length)
        evidence = Evidence(data, ModelSpec(kernel, False, None))  # the mean is learned
        heights, means = evidence(frame.covariance(kernel).of(frame.layout.pairs(keys, keys))[None], [0])
        shift, spread = evidence.shift, 3 * evidence.scale
        alike = replace(case, kernel=kernel, length=length)
        gram = alike.gram(seen) + np.diag(np.square(sems))
        residual, solved = np.array(values) - shift * totals, np.linalg.solve(gram, totals)
        best = solved @ residual / (solved @ totals + spread**-2)
        assert shift + evidence.scale * float(means.ravel()[0]) == pytest.approx(shift + best, abs=1e-8)
        whole = gram + spread**2 * np.outer(totals, totals)
        ours.append(float(heights.ravel()[0]))
        theirs.append(-0.5 * residual @ np.linalg.solve(whole, residual) - 0.5 * np.linalg.slogdet(whole)[1])
    assert ours[0] - ours[1] == pytest.approx(theirs[0] - theirs[1], abs=1e-7)  # but for what is the same for all


@pytest.mark.one_in(2)
@pytest.mark.parametrize("given", [{}, {"kernel": zn.Matern}, {"kernel": zn.RBF(1.0, 0.3), "mean": 7.5}])
def test_studies_that_learn_take_slopes_and_differences(given: dict[str, Any]) -> None:
    study = zn.Study([(0, 1)], budget=8, rng=0, **given)
    rng = np.random.default_rng(0)
    offset = 7.0

    def f(x: float) -> float:
        return math.sin(5 * x)

    study.observe([(0, 0.5)], 1.0, sem=0.2, feedback=zn.Slope("x"))  # before any average
    for _ in range(7):
        trial = study.ask()
        low, high = trial.region.bounds[0].tolist()
        value = offset + f((low + high) / 2) + 0.05 * float(rng.normal())
        study.tell(trial, value, slopes={"x": ((f(high) - f(low)) / (high - low), 0.3)})
    assert abs(study.model.mean - offset) < 3
    assert study.recommend().region.bounds[0, 0] == pytest.approx(math.pi / 10, abs=0.1)
    again = zn.Study.replay(study.settings, study.events)
    assert fingerprint(again) == fingerprint(study)
    close(zn.Study.replay(study.settings, study.events, batch=True), study)
    assert first_difference(study.settings, study.events) == ""


# Laws.


@pytest.mark.parametrize("mean", [0.0, 1e3, -7.0])
def test_a_slope_of_nothing_and_a_difference_with_itself_say_nothing_of_the_level(mean: float) -> None:
    case = CASES["plane, Matern 3/2, Mean"]
    study = zn.Study(case.space, budget=5, kernel=case.kernel, noise=0.1, mean=mean)
    region = study.space.region({"a": (0.1, 0.7)})
    study.observe(region, 0.0, sem=1e-3, feedback=zn.Slope("a"))
    study.observe(region, 0.0, sem=1e-3, minus={"b": (0, 1)})
    regions = [own.bounds for own in kinds.off_tree(kinds.Kind(case.space), 6, 1)]
    before = study.predict(regions)
    np.testing.assert_allclose(study.tree.mean, mean, rtol=0, atol=1e-12 * max(1.0, abs(mean)))
    study.observe(region, 3.0, sem=0.5, minus=region)
    after = study.predict(regions)
    np.testing.assert_array_equal(after, before)


def test_a_difference_is_a_measurement_of_its_region_but_no_reward_of_it_and_a_slope_is_neither() -> None:
    study = zn.Study([(0, 1)], budget=6, kernel=zn.RBF(1.0, 0.2), noise=0.1, policy=zn.GPOO(h_max=4))
    trial = study.ask()
    study.tell(trial, 0.4, sem=0.1, minus=[(0.5, 1)])
    study.observe([(0, 0.5)], 0.2, sem=0.1, feedback=zn.Slope("x"))
    assert (study.tree.count.sum(), study.measured, study.remaining) == (1, 1, 5)
    assert np.isnan(study.tree.reward).all()
    other = study.ask()
    study.tell(other, 0.6, slopes={"x": (0.1, 0.2)})
    assert (study.tree.count.sum(), study.measured) == (2, 2)
    assert len(study.observations) == 2


@pytest.mark.parametrize(
    "policy", [None, zn.GPOO(h_max=5), zn.UCB(level=3), zn.Thompson(level=3), zn.GPTree(h_max=4)]
)
def test_studies_of_differences_alone_go_on_and_are_replayed(policy: Any) -> None:
    study = zn.Study([(0, 1)], budget=12, kernel=zn.RBF(1.0, 0.2), noise=0.1, policy=policy, rng=1)
    for _ in range(12):
        trial = study.ask()
        middle = float(trial.region.center[0])
        study.tell(trial, math.sin(5 * middle) - math.sin(0.5), 0.1, minus=[(0.08, 0.12)])
    assert study.recommend().node != (0, 0)  # which it would be if nobody had measured anything
    assert abs(float(study.recommend().region.center[0]) - math.pi / 10) < 0.26
    assert fingerprint(zn.Study.replay(study.settings, study.events)) == fingerprint(study)
    assert first_difference(study.settings, study.events) == ""


def test_what_is_corrected_and_retracted_is_as_if_it_had_been_told_so() -> None:
    case = CASES["line, RBF, Mean"]
    study, _ = lived(case, 1.0)
    other = copy.deepcopy(study)
    slope = study.observations[1]
    assert isinstance(slope.region.feedback, zn.Slope)
    study.correct(slope, slope.value + 1)
    assert digest(study)["mean"] != digest(other)["mean"]
    study.correct(study.observations[1], slope.value)
    np.testing.assert_allclose(study.tree.mean, other.tree.mean, rtol=0, atol=1e-10)
    told = next(trial for trial in study.trials if trial.minus is not None)
    assert told.value is not None
    count = study.tree.count.copy()
    study.correct(told, told.value + 2)
    np.testing.assert_array_equal(study.tree.count, count)
    number = study.measured
    study.retract(told)
    assert (study.measured, study.trials[told.number].minus) == (number - 1, None)
    assert study.tree.count.sum() == count.sum() - 1
    with_slopes = study.trials[0]
    assert with_slopes.minus is None
    before = len(study.observations)
    study.retract(with_slopes)
    assert len(study.observations) == before - 1  # the slope told with it is gone with it
    study.tell(with_slopes.number, 0.3)
    assert first_difference(study.settings, study.events) == ""


def test_a_trial_told_again_with_the_same_slopes_does_nothing_and_with_others_is_refused() -> None:
    study = zn.Study([(0, 1)], budget=6, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    trial, other = study.ask(), study.ask()
    study.tell(trial, 0.4, slopes={"x": (0.1, 0.2)})
    study.tell(other, 0.4, 0.1, minus=[(0, 0.3)])
    events = study.events
    study.tell(trial, 0.4, slopes={"x": (0.1, 0.2)})
    study.tell(other, 0.4, 0.1, minus=[(0, 0.3)])
    assert study.events == events
    for slopes in (None, {"x": (0.2, 0.2)}):
        with pytest.raises(zn.TrialError, match="already"):
            study.tell(trial, 0.4, slopes=slopes)
    with pytest.raises(zn.TrialError, match="already"):
        study.tell(other, 0.4, 0.1, minus=[(0, 0.4)])
    assert study.events == events


def test_a_study_in_a_file_comes_back(tmp_path: Path) -> None:
    case = CASES["plane, RBF, Average"]
    study, _ = lived(case, 1.0)
    study.save(tmp_path / "sky.db")
    opened = zn.Study.open(tmp_path / "sky.db", classes=[Wave])
    close(opened, study)
    assert [own.minus for own in opened.observations] == [own.minus for own in study.observations]
    assert [own.region.feedback for own in opened.observations] == [
        own.region.feedback for own in study.observations
    ]


def refused(**given: Any) -> zn.Study:
    usual: dict[str, Any] = {"space": zn.Box([(0, 1)]), "budget": 5, "kernel": zn.RBF(1.0, 0.3), "noise": 0.1}
    return zn.Study(**(usual | given))


MIXED = zn.Product({"x": (0, 1), "dye": ["red", "green"]})
POOLS: dict[str, Any] = {"space": zn.Sequences("ACGT", 3), "kernel": zn.Categorical(1.0, 0.5)}
STOOO: dict[str, Any] = {"policy": zn.StoOO(zn.GeometricDelta(1.0, 0.5)), "kernel": None, "noise": None}
SENSELESS: dict[str, tuple[dict[str, Any], Callable[[Any], object], str]] = {
    "no sem": ({}, lambda s: s.observe([(0, 1)], 1.0, feedback=zn.Slope("x")), "needs a standard error"),
    "no sem of a difference": ({}, lambda s: s.observe([(0, 1)], 1.0, minus=[(0, 0.5)]), "needs a standard error"),
    "no sem of a wave": ({}, lambda s: s.observe([(0, 1)], 1.0, feedback=Wave("x")), "needs a standard error"),
    "no such axis": ({}, lambda s: s.observe([(0, 1)], 1.0, 0.1, zn.Slope("y")), "no such axis"),
    "no width": ({}, lambda s: s.observe([(0.5, 0.5)], 1.0, 0.1, zn.Slope("x")), "no width"),
    "symbols": (
        {"space": MIXED, "kernel": None},
        lambda s: s.observe({}, 1.0, 0.1, zn.Slope("dye")),
        "categorical",
    ),
    "sequences": (POOLS, lambda s: s.observe("ANN", 1.0, 0.1, zn.Slope("1")), "no such axis|symbols"),
    "members": (
        {"space": zn.Points(np.arange(8.0)[:, None])},
        lambda s: s.observe([1, 2], 1.0, 0.1, zn.Slope("x")),
        "members",
    ),
    "empirical": (STOOO, lambda s: s.observe([(0, 1)], 1.0, 0.1, zn.Slope("x")), "empirical means"),
    "empirical, minus": (STOOO, lambda s: s.tell(s.ask(), 1.0, 0.1, minus=[(0, 1)]), "empirical means"),
    "tell, no sem": ({}, lambda s: s.tell(s.ask(), 1.0, minus=[(0, 1)]), "needs a standard error"),
    "tell, bare slope": ({}, lambda s: s.tell(s.ask(), 1.0, slopes={"x": 0.3}), "standard error"),
    "tell, a list": ({}, lambda s: s.tell(s.ask(), 1.0, slopes=[0.3]), "mapping"),
    "tell, sem None": ({}, lambda s: s.tell(s.ask(), 1.0, slopes={"x": (0.3, None)}), "needs a standard error"),
    "tell, text": ({}, lambda s: s.tell(s.ask(), 1.0, slopes={"x": ("a", 0.1)}), "measured value"),
    "minus elsewhere": ({}, lambda s: s.observe([(0, 1)], 1.0, 0.1, minus=[(3, 4)]), "within axis"),
}


@pytest.mark.one_in(1)
@pytest.mark.parametrize(("given", "call", "match"), SENSELESS.values(), ids=SENSELESS)
def test_what_makes_no_sense_is_refused_and_changes_nothing(given: Any, call: Any, match: str) -> None:
    study = refused(**given)
    with pytest.raises(zn.InvalidInput, match=match):
        call(study)
    assert (study.measured, len(study.observations)) == (0, 0)


def test_a_studys_own_measurements_are_averages() -> None:
    with pytest.raises(zn.InvalidInput, match="observe"):
        refused(feedback=zn.Slope("x"))
    with pytest.raises(zn.InvalidInput, match="must be an average"):
        refused(feedback=Wave("x"))


# From instruments.


@pytest.mark.parametrize("workers", [None, 2])
def test_instruments_may_answer_with_arguments_of_tell(workers: int | None) -> None:
    study = refused(budget=8)
    measure = zn.simulate(lambda x: np.sin(5 * x[:, 0]), zn.Mean(), 0.1, 0, slopes=True, slope_noise=0.5)
    study.optimize(measure, workers=workers)
    assert [own.region.feedback for own in study.observations] == [zn.Slope("x")] * 8
    for one, slope in zip(study.trials, study.observations, strict=True) if workers is None else ():
        assert slope.region.bounds.tolist() == one.region.bounds.tolist()
        low, high = slope.region.bounds[0].tolist()
        assert slope.value == pytest.approx((math.sin(5 * high) - math.sin(5 * low)) / (high - low), abs=2.5)
    other = refused(budget=3)
    other.optimize(lambda region: {"value": 0.1, "sem": 0.2, "minus": [(0.0, 0.5)], "note": "ON - OFF"})
    assert [(own.minus.name, own.note) for own in other.trials if own.minus] == [("x 0..0.5", "ON - OFF")] * 3


@pytest.mark.parametrize(
    "said", [{"value": 1.0, "sigma": 2.0}, {"sem": 1.0}, {"value": 1.0, "slopes": {"y": (1, 1)}}]
)
def test_answers_that_make_no_sense_are_refused(said: dict[str, Any]) -> None:
    study = refused()
    with pytest.raises(zn.InvalidInput, match=r"an instrument (must|cannot) return|no such axis"):
        study.optimize(lambda region: said)
    assert (study.measured, study.pending) == (0, ())


def test_simulated_slopes_are_those_of_the_function_in_every_space() -> None:
    def f(x: Floats) -> Floats:
        return np.asarray(x[:, 0] ** 2 * (1 + x[:, 1]))

    measure = zn.simulate(f, zn.Mean(), slopes=True)
    box = zn.Box({"a": (1, 3), "b": (0, 1)}).region({"a": (1, 2), "b": (0, 0.5)})
    assert measure.slope(box, "a") == pytest.approx((4 - 1) * 1.25)
    assert measure.slope(box, "b") == pytest.approx(7 / 3)
    dose = zn.Box({"a": (1, 100), "b": (0, 1)}, scale={"a": "log"}).region({"a": (1, 10), "b": (0, 1)})
    assert measure.slope(dose, "a") == pytest.approx((100 - 1) * 1.5 / 9)
    said = measure(box)
    assert said["slopes"]["a"] == (measure.slope(box, "a"), 0.0)


# Rings.


def test_slopes_across_the_cut_are_those_of_a_ring_cut_elsewhere() -> None:
    def made_at(shift: float) -> zn.Study:
        ring = zn.Box({"l": (-180 + shift, 180 + shift)}, periodic=["l"])
        study = zn.Study(ring, budget=5, kernel=zn.RBF(1.0, 60.0), noise=0.1, mean=2.0)
        study.observe([(150, 210)], 0.02, sem=0.005, feedback=zn.Slope("l"))
        study.observe([(170, 190)], 0.4, sem=0.1, minus=[(-20, 20)])
        return study

    here, there = made_at(0.0), made_at(90.0)
    regions = [[(100, 140)], [(190, 200)], [(-30, 10)]]
    np.testing.assert_allclose(here.predict(regions), there.predict(regions), rtol=0, atol=1e-9)
    before, after = here.predict([[(140, 160)], [(200, 220)]]).mean
    assert after - before > 0.8  # 60 degrees at a slope of 0.02, less doubt


def test_an_interruption_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, _ = lived(CASES["line, RBF, Mean"], 1.0)
    study.save(tmp_path / "sky.db")
    trial = study.ask()
    before, events = digest(study), study.events

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for room, name in ((Journal, "append"), (FunctionalIndex, "append"), (GaussianBelief, "with_targets")):
        with monkeypatch.context() as patched:
            patched.setattr(room, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                study.tell(trial, 0.4, sem=0.1, slopes={"x": (0.1, 0.2)}, minus=[(0.33, 0.41)])
        assert digest(study) == before
        assert study.events == events
    study.tell(trial, 0.4, sem=0.1, slopes={"x": (0.1, 0.2)}, minus=[(0.33, 0.41)])
    close(zn.Study.open(tmp_path / "sky.db", classes=[Wave]), study)
