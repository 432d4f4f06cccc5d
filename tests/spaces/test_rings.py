"""Axes that close on themselves: kernels wrapped, averages over arcs, regions across the cut."""

import itertools
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr

import oracle
import zonal as zn
from effort import examples
from fingerprint import fingerprint
from numbered_covariance import in_frame
from zonal.gp.kernel_families import frame_of
from zonal.kernels.base import Kernel, ProductKernel
from zonal.kernels.feedback import Feedback, footprints_of
from zonal.kernels.measures import STD
from zonal.kernels.periodic import Wrapped
from zonal.kernels.stationary import Profile
from zonal.spaces import ContinuousAxis, PeriodicAxis, with_feedback
from zonal.study.region_formats import exact_cells, exact_columns, region_in_row

pytestmark = pytest.mark.one_in(2)

Array = NDArray[np.float64]
Kappa = Callable[[Array], Array]

SKY = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"}, periodic=["l"])
CLOCK = zn.Box({"hour": (0, 24)}, periodic=["hour"], smallest=1.5)
ROUND = 24.0
ROOT = zn.GPOO(zn.GeometricDelta(1.0))  # which begins with nothing else


@dataclass(frozen=True)
class RationalProfile(Profile):
    def value(self, r: Array) -> Array:
        return np.asarray((1 + r * r / 4) ** -2.0)


@dataclass(frozen=True)
class Rational(ProductKernel):
    """A kernel that falls off slowly, of which nothing but its values is known."""

    @property
    def profile(self) -> Profile:
        return RationalProfile()


def _matern(nu: float) -> Kappa:
    def kappa(r: Array) -> Array:
        s = math.sqrt(2 * nu) * np.abs(r)
        return np.asarray({0.5: 1.0, 1.5: 1 + s, 2.5: 1 + s + s**2 / 3}[nu] * np.exp(-s))

    return kappa


# A kernel of lengthscale l, and the function of the distance that it is.
FAMILIES: dict[str, tuple[Callable[[float], Kernel], Kappa]] = {
    "RBF": (lambda l: zn.RBF(1.0, l), lambda r: np.exp(-0.5 * r**2)),
    "Matern 1/2": (lambda l: zn.Matern(1.0, l, nu=0.5), _matern(0.5)),
    "Matern 3/2": (lambda l: zn.Matern(1.0, l, nu=1.5), _matern(1.5)),
    "Matern 5/2": (lambda l: zn.Matern(1.0, l, nu=2.5), _matern(2.5)),
}
VIEWS: list[Feedback] = [zn.Mean(), zn.Center(), zn.Average(3), zn.Beam(1.0), zn.Beam(share=0.5)]
ARCS = [(0.0, 12.0), (3.0, 4.5), (22.0, 26.0), (23.5, 23.9), (21.0, 2.5), (7.0, 7.0), (0.0, 24.0)]
# What learning may try, in rings: from 2 thousandths to 5.
SCALES = [0.002, 0.02, 0.15, 0.4, 1.0, 5.0]


def covariance(kappa: Kappa, scale: float, one: tuple[Any, Feedback], other: tuple[Any, Feedback]) -> float:
    """Return the covariance of what is seen of two arcs, from the definitions: at variance one."""
    (a, own), (b, theirs) = one, other
    apart = (a.along[0][1][0] - b.along[0][1][0]) / scale
    shapes = [
        _shape(own, a.along[0][1][1] / scale, 1 / scale),
        _shape(theirs, b.along[0][1][1] / scale, 1 / scale),
    ]
    points = [shape for shape in shapes if isinstance(shape, list)] + [[0.0], [0.0]]
    others = [shape for shape in shapes if not isinstance(shape, list)]
    places = [apart + x - y for x in points[0] for y in points[1]]
    if not others:
        return float(oracle.wrapped(kappa, np.array(places), ROUND / scale).mean())
    wide = math.fsum(width for width, _ in others)
    width = max(width for width, _ in others)
    narrow = wide - width if len(others) > 1 else 0.0
    spread = math.hypot(*(std for _, std in others))
    breaks, density = _difference(width, narrow, spread)
    return float(np.mean([oracle.mean_around(kappa, ROUND / scale, gap, breaks, density) for gap in places]))


def _shape(feedback: Feedback, width: float, unit: float) -> Any:
    """Return places that are seen, or the width and the std of what is evenly or normally spread."""
    if isinstance(feedback, zn.Center) or (isinstance(feedback, zn.Average) and width == 0):
        return [0.0]
    if isinstance(feedback, zn.Average):
        return [width * ((i + 0.5) / feedback.s - 0.5) for i in range(feedback.s)]
    if isinstance(feedback, zn.Beam):
        full = float(feedback.fwhm) * unit if feedback.fwhm is not None else feedback.share * width  # type: ignore[arg-type, operator]
        return (0.0, STD * full) if full else [0.0]
    return (width, 0.0) if width else [0.0]


def _difference(wide: float, narrow: float, spread: float) -> tuple[list[float], Callable[[Array], Array]]:
    """Return breaks and density of the sum of two evenly spread places and a normal one, where one is missing."""
    half, flat = (wide + narrow) / 2, (wide - narrow) / 2
    if spread == 0:
        if narrow == 0:
            return [-wide / 2, wide / 2], lambda t: np.full(t.shape, 1 / wide)
        return [-half, -flat, flat, half], lambda t: np.clip((half - np.abs(t)) / narrow, 0, 1) / wide
    far = 9 * spread
    if wide == 0:
        steps = [k * spread for k in range(-9, 10)]
        return steps, lambda t: np.exp(-0.5 * (t / spread) ** 2) / (math.sqrt(2 * math.pi) * spread)
    steps = [side * wide / 2 + k * spread for side in (-1, 1) for k in range(-9, 10)]
    assert far > 0
    return sorted(steps), lambda t: (ndtr((t + wide / 2) / spread) - ndtr((t - wide / 2) / spread)) / wide


@pytest.mark.one_in(5)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("family", FAMILIES)
def test_arcs_covary_as_integrals_of_the_wrapped_kernel_say(family: str, scale: float) -> None:
    make, kappa = FAMILIES[family]
    length = scale * ROUND
    arcs = [CLOCK.region({"hour": arc}) for arc in ARCS]
    shift = SCALES.index(scale)
    seen = [(arc, VIEWS[(i + shift) % len(VIEWS)]) for i, arc in enumerate([*arcs, *arcs[:3]])]
    covariances = in_frame(frame_of(CLOCK, zn.Mean()), make(length))
    covariances.enter(footprints_of([with_feedback(region, view) for region, view in seen], zn.Mean()))
    every = np.arange(len(seen))
    found = covariances.between(every, every)
    for one, other in itertools.combinations_with_replacement(range(len(seen)), 2):
        expected = covariance(kappa, length, seen[one], seen[other])
        assert found[one, other] == pytest.approx(expected, abs=1e-10)
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(found)[0] > -1e-10


@pytest.mark.parametrize("scale", SCALES)
def test_a_kernel_of_which_only_values_are_known_is_wrapped_too(scale: float) -> None:
    period = 1 / scale
    profile, r = Wrapped(RationalProfile(), period), np.array([-1.4, -0.7, -0.2, 0.0, 0.3, 0.5, 1.1]) / scale
    turns: Array = period * np.arange(-200_000.0, 200_001.0)
    straight = RationalProfile()
    expected = [straight.value(own + turns).sum() for own in r] / straight.value(turns).sum()
    np.testing.assert_allclose(profile.value(r), expected, rtol=0, atol=1e-12)
    gap, wide, narrow = np.array([[0.4, -0.1, 0.5], [0.3, 1.0, 0.01], [0.01] * 3]) / scale
    for own in range(3):
        breaks, density = _difference(float(wide[own]), float(narrow[own]), 0.0)
        nodes, weights = np.polynomial.legendre.leggauss(16)
        mean = 0.0
        for low, high in itertools.pairwise(breaks):
            fine = np.linspace(low, high, math.ceil(4 * (high - low)) + 16)
            half = np.diff(fine)[:, None] / 2
            t = fine[:-1, None] + half * (1 + nodes)
            mean += float((half * weights * profile.value(gap[own] + t) * density(t)).sum())
        assert profile.mean(gap, wide, narrow)[own] == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("period", [1e-30, 1e-6, 1e-3, 0.04, 2.0, 1e9])
def test_a_lengthscale_may_be_as_long_or_short_as_it_likes(period: float) -> None:
    around = Wrapped(zn.Matern(1.0, 1.0, nu=0.5).profile, period)
    r = np.linspace(0, period, 7)
    away = -2 * np.sinh(np.minimum(r, 700) / 2) * np.sinh(np.minimum(period - r, 700) / 2)
    exact = 1 + away / np.cosh(period / 2) if period < 700 else np.exp(-np.minimum(r, period - r))
    np.testing.assert_allclose(around.value(r), exact, rtol=0, atol=2e-14)
    np.testing.assert_allclose(around.mean(r, r, r)[0], 1.0, rtol=0, atol=2e-14)
    again = pickle.loads(pickle.dumps(around))
    np.testing.assert_array_equal(again.value(r), around.value(r))
    for nu in (None, 1.5, 2.5):
        kernel = zn.RBF(1.0, 1.0) if nu is None else zn.Matern(1.0, 1.0, nu=nu)
        assert 0 < (Wrapped(kernel.profile, period).derivatives[0] or 0) <= 3.1


def test_a_kernel_that_falls_off_too_slowly_is_refused() -> None:
    @dataclass(frozen=True)
    class Slow(Profile):
        def value(self, r: Array) -> Array:
            return np.asarray(1 / np.sqrt(1 + r * r))

    with pytest.raises(zn.InvalidInput, match="decays too slowly to be wrapped around a ring"):
        Wrapped(Slow(), 1.0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("period", [0.2, 1.0, 3.0, 50.0])
def test_variances_of_derivatives_are_those_of_the_wrapped_kernel(family: str, period: float) -> None:
    profile = FAMILIES[family][0](1.0).profile  # type: ignore[attr-defined]
    around, h = Wrapped(profile, period), 2e-3 * min(period, 1.0)
    if profile.derivatives[0] is None:
        assert around.derivatives[0] is None
        return
    value = oracle.wrapped(FAMILIES[family][1], np.array([0.0, h, 2 * h, 3 * h]), period)
    slope = 2 * (value[0] - value[1]) / h**2
    rough = 0.01 if family == "Matern 3/2" else 1e-4
    assert around.derivatives[0] == pytest.approx(slope, rel=rough, abs=1e-8)
    if profile.derivatives[1] is not None and period > 0.5:
        curved = (6 * value[0] - 8 * value[1] + 2 * value[2]) / h**4
        assert around.derivatives[1] == pytest.approx(curved, rel=0.05, abs=1e-3)


# The posterior.


def told(space: Any, kernel: Any, turn: float, feedback: Feedback) -> zn.Study:
    """Return a study that was told of arcs, all moved around the ring by a turn."""
    study = zn.Study(space, budget=9, kernel=kernel, noise=0.1, feedback=feedback, policy=ROOT)
    name, rng = space.axes[0].name, np.random.default_rng(1)
    side = space.axes[0].side
    for low, width in ((0.1, 0.2), (0.3, 0.05), (0.85, 0.3), (0.55, 0.0)):
        start = space.axes[0].low + low * side + turn
        study.observe({name: (start, start + width * side)}, float(rng.normal()), sem=0.2)
    return study


@examples(20)
@given(turn=st.floats(-1000, 1000), family=st.sampled_from([*FAMILIES, "slow"]), view=st.sampled_from(VIEWS))
@example(turn=849.9999999999999, family="RBF", view=VIEWS[0])  # a point, rounded to before itself in another turn
def test_moving_all_observations_around_a_ring_moves_the_posterior_with_them(
    turn: float, family: str, view: Feedback
) -> None:
    kernel = Rational(1.0, 60.0) if family == "slow" else FAMILIES[family][0](60.0)
    sky = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, periodic=["l"])  # in one unit, as one width of a beam needs
    still, moved = (told(sky, kernel, by, view) for by in (0.0, turn))
    arcs = [(-180.0, -170.0), (170.0, 190.0), (-20.0, 100.0), (50.0, 50.0), (10.0, 11.0)]
    a = still.predict([{"l": arc} for arc in arcs])
    b = moved.predict([{"l": (low + turn, high + turn)} for low, high in arcs])
    np.testing.assert_allclose(a.mean, b.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.std, b.std, rtol=0, atol=1e-9)


def test_slopes_and_differences_turn_too() -> None:
    answers = []
    for turn in (0.0, 7.3):
        study = zn.Study(CLOCK, budget=9, kernel=zn.RBF(1.0, 3.0), noise=0.1, policy=ROOT)
        study.observe({"hour": (22 + turn, 26 + turn)}, 0.5, sem=0.01, feedback=zn.Slope("hour"))
        study.observe({"hour": (10 + turn, 11 + turn)}, 0.5, sem=0.1, minus={"hour": (23 + turn, 25 + turn)})
        answers.append(
            study.predict([{"hour": (low + turn, high + turn)} for low, high in ((22, 22), (26, 26), (9, 14))])
        )
    np.testing.assert_allclose(answers[0], answers[1], rtol=0, atol=1e-9)
    assert (answers[0].mean[1] - answers[0].mean[0]) / 4 == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("steps", [1, 5, 15])
def test_the_recommendation_turns_with_the_observations(steps: int) -> None:
    found = []
    for turn in (0, steps):
        study = zn.Study(CLOCK, budget=16, kernel=zn.Matern(1.0, 2.0), noise=0.3, policy=zn.UniformGrid())
        values = np.random.default_rng(3).normal(size=16)
        for _ in range(16):  # all of the smallest cells
            trial = study.ask()
            study.tell(trial, float(values[(round(trial.region.center[0] / 1.5 - 0.5) - turn) % 16]))
        found.append((study.recommend(), study))
    (still, before), (moved, after) = found
    assert moved.region.bounds[0, 0] == (still.region.bounds[0, 0] + 1.5 * steps) % 24
    assert moved.mean == pytest.approx(still.mean, abs=1e-9)
    assert after.probability(moved.region, above=0.2) == pytest.approx(before.probability(still.region, above=0.2))


def test_what_the_default_recommends_turns_with_what_was_observed() -> None:
    found = set()
    for steps in (0, 1, 7, 15):  # sixteen cells, all of which the opening has made
        study = zn.Study(CLOCK, budget=40, kernel=zn.Matern(1.0, 2.5), noise=0.1)
        for low, high, value in ((0.7, 3.0, 1.0), (7.0, 9.0, 0.2), (20.0, 27.0, 0.7), (1.4, 1.7, 1.4)):
            study.observe({"hour": (low + 1.5 * steps, high + 1.5 * steps)}, value, sem=0.1)
        best = study.recommend()
        found.add((float(best.region.bounds[0, 0] - 1.5 * steps) % 24, best.region.weight, round(best.mean, 9)))
    assert len(found) == 1


@pytest.mark.parametrize("view", VIEWS, ids=repr)
def test_a_ring_cut_open_far_from_the_data_is_an_interval(view: Feedback) -> None:
    line = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"})
    kernel = zn.RBF(1.0, (4.0, 0.5)) + zn.Matern(0.3, (3.0, 0.7))
    answers = []
    for space in (SKY, line):
        study = zn.Study(space, budget=5, kernel=kernel, noise=0.1, feedback=view, policy=ROOT)
        for k, arc in enumerate([(-30.0, 0.0), (-10.0, 20.0), (5.0, 5.0), (12.0, 13.0)]):
            study.observe({"l": arc, "sin_b": (-0.5, 0.2)}, k / 3, sem=0.1)
        answers.append(study.predict([{"l": (-20.0, 10.0)}, {"l": (0.0, 2.0), "sin_b": (0, 0.1)}]))
    np.testing.assert_allclose(answers[0], answers[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", [0.05, 0.6])
def test_a_search_on_a_ring_walks_as_the_dense_one_does(scale: float) -> None:
    space, rng = zn.Box([(0, 1)], periodic="x"), np.random.default_rng(5)
    study = zn.Study(
        space, budget=30, kernel=zn.RBF(0.1, scale), noise=0.1, feedback=zn.Average(4),
        policy=zn.GPOO(zn.GeometricDelta(1.5, 0.5), theta=0.1, h_max=6),
    )  # fmt: skip
    values: dict[tuple[int, int], float] = {}

    def measure(node: tuple[int, int], box: Array) -> float:
        return values.setdefault(node, float(0.3 * rng.normal()))

    run = oracle.gpoo(
        [(0, 1)], 2, 4, oracle.rbf(0.1, scale, [1.0]), 0.1, measure, 30, lambda h: 1.5 * 0.5**h, h_max=6
    )
    for step in run.rounds:
        trial = study.ask()
        assert trial.node == step.node
        study.tell(trial, step.reward)
        assert study.recommend().region.node == step.recommended
    tree = study.tree
    nodes = list(zip(tree.depth.tolist(), tree.index.tolist(), strict=True))
    np.testing.assert_allclose(tree.mean, [run.rounds[-1].means[node] for node in nodes], rtol=0, atol=1e-8)
    np.testing.assert_allclose(tree.std, [run.rounds[-1].stds[node] for node in nodes], rtol=0, atol=1e-8)


def test_learning_and_replay_on_a_ring() -> None:
    def bump(x: Array) -> Array:
        return np.asarray(np.exp(-(((x[:, 0] - 23.5 + 12) % 24 - 12) ** 2) / 8))

    study = zn.Study(CLOCK, budget=9, rng=0)
    study.observe({"hour": (22.0, 26.0)}, 0.7, sem=0.05)
    study.optimize(zn.simulate(bump, zn.Mean(), 0.02, rng=0))
    assert study.recommend(on_grid=True).region.name in ("hour 22.5..24", "hour 0..1.5")
    assert abs(study.recommend().region.center[0] - 23.5) < 0.75
    assert fingerprint(zn.Study.replay(study.settings, study.events)) == fingerprint(study)
    models = [(own.weight, own.model) for own in study.models]
    seen = [(trial.region, study.settings.feedback) for trial in study.trials]
    arcs = [(CLOCK.region({"hour": arc}), study.settings.feedback) for arc in ((22.0, 26.0), (23, 1))]
    means = []
    for _, model in models:
        kernel: Any = model.kernel
        kappa = _matern(kernel.nu) if isinstance(kernel, zn.Matern) else FAMILIES["RBF"][1]
        every = [*seen, *arcs]
        gram = np.zeros((len(every), len(every)))
        for i, j in itertools.combinations_with_replacement(range(len(every)), 2):
            gram[i, j] = gram[j, i] = kernel.variance * covariance(kappa, kernel.lengthscale, every[i], every[j])
        gram += model.mean_std**2
        noise = np.array([*[model.noise] * len(seen), 0.05], dtype=float)
        values = np.array([*[trial.value for trial in study.trials], 0.7], dtype=float)
        weights = np.linalg.solve(gram[:-1, :-1] + np.diag(noise**2), values - model.mean)
        means.append(model.mean + gram[-1, :-1] @ weights)
    expected = sum(weight * mean for (weight, _), mean in zip(models, means, strict=True))
    assert study.predict({"hour": (23, 1)}).mean == pytest.approx(expected, abs=1e-8)


# Regions.


@pytest.mark.parametrize(
    ("given", "bounds", "name"),
    [
        ((170, -170), (170, 190), "170..-170"),
        ((170, 190), (170, 190), "170..-170"),
        ((-190, -170), (170, 190), "170..-170"),
        ((180, 190), (-180, -170), "-180..-170"),
        ((170, 180), (170, 180), "170..180"),
        ((350, 10), (-10, 10), "-10..10"),
        ((-180, 180), (-180, 180), "-180..180"),
        ((90, 450), (90, 450), "90..450"),
        ((180, 180), (-180, -180), "-180..-180"),
    ],
)
def test_an_arc_is_given_and_shown(given: Any, bounds: Any, name: str) -> None:
    region = SKY.region({"l": given})
    assert tuple(region.bounds[0]) == bounds
    assert region.name == f"l {name} deg, sin_b -1..1"
    row = dict(zip(exact_columns(SKY), map(str, exact_cells(region)), strict=True))
    for again in (SKY.from_text(region.name), region_in_row(SKY, row)):
        assert SKY.region(again).key == region.key
    assert -180 <= region.center[0] < 180
    assert (abs(region.sample(50, 0)[:, 0]) <= 180).all()


@pytest.mark.parametrize("given", [(180, -180), (0, 361), (math.nan, 3), (0, math.inf)])
def test_what_is_no_arc_is_refused(given: Any) -> None:
    with pytest.raises(zn.InvalidInput, match=r"a region of axis l, a ring from -180 to 180, must go around"):
        SKY.region({"l": given})


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"periodic": ["m"]}, "periodic= names an unknown continuous axis; got 'm'"),
        ({"periodic": True}, "periodic must name axes"),
        ({"periodic": ["l"], "scale": {"l": "log"}}, "axis l cannot be a ring: its scale is log"),
        ({"periodic": "l", "scale": {"l": "integer"}}, "axis l cannot be a ring: its scale is integer"),
    ],
)
def test_rings_that_cannot_be_are_refused(settings: dict[str, Any], problem: str) -> None:
    for make in (zn.Box, zn.Product):
        with pytest.raises(zn.InvalidInput, match=problem):
            make({"l": (1, 180), "b": (0, 1)}, **settings)
    with pytest.raises(zn.InvalidInput, match="unknown continuous axis; got 'dye'"):
        zn.Product({"dye": ["red", "green"], "x": (0, 1)}, periodic=["dye"])


def test_a_ring_is_made_in_one_way_and_says_so() -> None:
    assert isinstance(SKY.axes[0], PeriodicAxis)
    assert eval(repr(CLOCK), {"Box": zn.Box}) == CLOCK
    assert zn.Box({"x": (0, 1)}, scale="periodic") == zn.Box([(0, 1)], periodic="x")
    own = zn.Product({"x": PeriodicAxis("x", 0.0, 1.0), "dye": ["red", "green"]})
    assert own == zn.Product({"x": (0, 1), "dye": ["red", "green"]}, periodic=["x"])


@settings(deadline=None)
@given(st.floats(-1, 2), st.floats(0, 1), st.floats(-1, 2), st.floats(0, 1))
def test_arcs_hold_and_overlap_as_their_points_do(start: float, wide: float, other: float, narrow: float) -> None:
    space = zn.Box([(0, 1)], periodic="x")
    one, two = space.region([(start, start + wide)]), space.region([(other, other + narrow)])
    shares = np.linspace(0, 1, 201)[1:-1]
    inside = (((other + narrow * shares) - start) % 1.0) < wide
    away = np.abs((((other + narrow * shares) - start) % 1.0)[:, None] - np.array([0, wide, 1])).min()
    if away < 1e-6 or min(wide, narrow) < 0.02:
        return
    assert one.overlaps(two) == two.overlaps(one)
    if inside.any():
        assert one.overlaps(two)
    if not inside.all():
        assert not one.contains(two)
    if one.contains(two):
        assert one.overlaps(two)


# The rest of the house.


def test_what_is_forbidden_across_the_cut_is_forbidden_on_both_sides() -> None:
    study = zn.Study(CLOCK, budget=20, kernel=zn.RBF(1.0, 3.0), noise=0.1, forbidden=[{"hour": (23, 1)}], rng=0)
    study.optimize(lambda region: float(np.cos(region.center[0] * np.pi / 12)))
    for trial in study.trials:
        low, high = trial.region["hour"]
        assert low >= 1 - 1e-9
        assert high <= 23 + 1e-9


def test_give_ups_are_taken_back_by_a_region_across_the_cut() -> None:
    study = zn.Study(CLOCK, budget=40, kernel=zn.RBF(1.0, 3.0), noise=0.1, policy=zn.UniformGrid())
    trials = study.ask(16)
    for trial in trials:
        study.fail(trial, retry=trial.region["hour"][0] not in (0.0, 22.5))
    assert len(study.blocked) == 2
    assert study.allow({"hour": (22.0, 2.0)}) == 2


def test_tables_and_instruments_look_across_the_cut() -> None:
    landscape = zn.simulation.from_table(CLOCK, np.arange(16.0))
    assert landscape.average({"hour": (22.5, 1.5)}) == pytest.approx(7.5)
    assert landscape.average({"hour": (-1.5, 24.0 - 1.5)}) == pytest.approx(7.5)
    seen = zn.simulate(lambda x: x[:, 0], zn.Average(2)).average(CLOCK.region({"hour": (22, 26)}))
    assert seen == pytest.approx((23 + 1) / 2)
    arc = CLOCK.region({"hour": (23, 1)}).along[0][1]
    blurred = CLOCK.axes[0].pixel_weights(arc, zn.Beam(3.0), 16, equal=False)
    np.testing.assert_allclose(blurred, blurred[::-1], atol=1e-12)
    assert blurred.sum() == pytest.approx(1)
    assert blurred[0] == blurred.max()
    wide = CLOCK.axes[0].pixel_weights(CLOCK.region({"hour": (3, 4)}).along[0][1], zn.Beam(1e6), 16, equal=False)
    np.testing.assert_allclose(wide, 1 / 16, atol=1e-3)


def test_distances_go_the_short_way_round() -> None:
    axis = CLOCK.axes[0]
    assert [axis.reach(zn.Mean(), width) for width in (24.0, 12.0, 3.0)] == [12.0, 12.0, 3.0]
    kernel = zn.Matern(1.0, 40.0)
    deltas = []
    for space in (CLOCK, zn.Box({"hour": (0, 24)}, smallest=1.5)):
        study = zn.Study(space, budget=4, kernel=kernel, noise=0.1, policy=zn.GPOO(zn.LipschitzDelta()))
        study.tell(study.ask(), 0.1)
        deltas.append(study.confidence_bands().variation[0])
    around, straight = deltas
    assert 0 < around < straight / 2  # as the ring is short, f varies less around it
    certified = zn.GPOO(zn.LipschitzDelta(certified=True))
    zn.Study(CLOCK, budget=4, kernel=zn.RBF(1.0, 100.0), noise=0.1, policy=certified).ask()


def test_drawn_functions_close_and_power_is_known() -> None:
    from zonal.simulation.gp_samples import model_of

    space = zn.Box([(0, 1)], periodic="x", smallest=1 / 64)
    model, rng = model_of(space, zn.RBF(1.0, 0.1), None, "maximize"), np.random.default_rng(0)
    values = np.array(
        [
            [model_draw.average([(k / 64, (k + 1) / 64)]) for k in (0, 1, 63)]
            for model_draw in (model.draw(rng).landscape for _ in range(300))
        ]
    )
    apart = np.abs(np.diff(values[:, [1, 0, 2]], axis=1)).mean(axis=0)
    assert apart[0] == pytest.approx(apart[1], rel=0.3)  # across the cut as elsewhere
    assert np.isfinite(zn.power(space, 4, noise=0.1, runs=2, jobs=1).mean).all()


def test_recipes_files_and_pictures_know_rings(tmp_path: Path) -> None:
    from zonal.io.recipe_text import Recipe
    from zonal.study.recipe import space, where

    ring = zn.Box({"l": (-180, 180), "b": (0, 1)}, units={"l": "deg"}, periodic=["l"])
    assert space(where(["l=-180..180:deg:periodic", "b=0..1"])) == ring
    words = where(["l=-180..180:deg", "b=0..1"]).words
    words["axes"]["l"]["periodic"] = True
    assert space(Recipe(words, {}, "a recipe")) == ring
    words["axes"]["l"]["periodic"] = "yes"
    with pytest.raises(zn.InvalidInput, match="periodic of axis l must be True or False; got 'yes'"):
        space(Recipe(words, {}, "a recipe"))
    study = zn.Study.create(tmp_path / "a.db", ring, budget=5, noise=0.1, forbidden=[{"l": (170, -170)}])
    study.observe({"l": (160, 200)}, 0.4, sem=0.1)
    study.tell(study.ask(), 1.0)
    again = zn.Study.open(tmp_path / "a.db")
    assert again.settings == study.settings
    assert again.observations[0].region.bounds[0].tolist() == [160, 200]
    assert again.predict({"l": (170, 190)}) == study.predict({"l": (170, -170)})
    assert study.plot().get_xlabel() == "l [deg], periodic"
    assert CLOCK.axes[0].linspace(3).tolist() == [0, 12, 24]
    line = zn.Study(CLOCK, budget=4, kernel=zn.RBF(1.0, 3.0), noise=0.1)
    line.observe({"hour": (22, 25)}, 1.0, sem=0.1)
    line.tell(line.ask(), 0.2)
    ax = line.plot()
    assert ax.get_xlabel() == "hour, periodic"
    mean: Any = ax.lines[0].get_ydata()
    assert mean[0] == pytest.approx(mean[-1], abs=1e-9)  # the curve closes


def test_an_interval_is_no_ring() -> None:
    with pytest.raises(zn.InvalidInput, match="must lie within axis l"):
        zn.Box({"l": (-180, 180)}).region({"l": (170, 190)})
    assert not isinstance(zn.Box({"l": (-180, 180)}).axes[0], PeriodicAxis)
    assert issubclass(PeriodicAxis, ContinuousAxis)
