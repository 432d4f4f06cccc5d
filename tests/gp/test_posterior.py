"""The incremental belief, against dense and extended-precision computations of the same posterior."""

import copy
import math
import warnings
from collections.abc import Callable, Sequence

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
import zonal as zn
from effort import examples
from numbered_covariance import numbered
from stepwise_belief import alone
from zonal.gp import model_average
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model_average import Member
from zonal.gp.stats import ObservationStats
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback
from zonal.spaces import ContinuousAxis, ProductRegion

pytestmark = pytest.mark.one_in(2)

Array = NDArray[np.float64]

LINE = zn.Box([(0.0, 1.0)])
PLANE = zn.Box([(0.0, 1.0), (-2.0, 2.0)], arity=3)
SMOOTH = zn.RBF(1.0, 0.3)
FEEDBACKS: list[Feedback] = [zn.Center(), zn.Average(3), zn.Mean()]
each_feedback = pytest.mark.parametrize("feedback", FEEDBACKS, ids=repr)


class Recorded:
    """A belief, and beside it all that a dense computation of the same posterior needs."""

    def __init__(self, kernel: Kernel, feedback: Feedback, space: zn.Box = LINE) -> None:
        self.kernel, self.feedback, self.space = kernel, feedback, space
        self.followed = alone(ModelSpace(space, feedback), kernel)
        self.regions: list[ProductRegion] = []
        self.history: list[tuple[int, float, float]] = []  # slot, reward, noise variance

    @property
    def belief(self) -> Member:
        """The belief as it is now: a value, which no later step changes."""
        (belief,) = self.followed.mixture.members
        return belief

    def track(self, *regions: ProductRegion) -> int:
        self.regions += regions
        return self.followed.track(self.feedback.footprints(regions))

    def observe(self, slot: int, reward: float, variance: float) -> None:
        self.history.append((slot, reward, variance))
        self.followed.check(slot, reward, variance)
        self.followed.observe(slot, reward, variance)

    def as_if_exact(self) -> None:
        """Take in all rewards again, at once, as if none had had any noise."""
        ledger = ObservationStats()
        for slot, reward, _ in self.history:
            ledger = ledger.append(slot, reward, 0.0)
        self.followed.ledger = ledger
        self.followed.rebuild()

    def prior(self, *more: ProductRegion) -> Array:
        """Return the prior covariance of all tracked regions and some more, computed anew."""
        footprints = self.feedback.footprints([*self.regions, *more])
        return numbered(self.kernel, self.feedback, self.space.axes).add(footprints)

    def dense(self, *more: ProductRegion, pending: Sequence[tuple[int, float]] = ()) -> tuple[Array, Array]:
        """Return means and variances of all tracked regions and some more: no repeats collapsed, solved once."""
        prior = self.prior(*more)
        if not self.history and not pending:
            return np.zeros(len(prior)), np.diag(prior).copy()
        rewards = [reward for _, reward, _ in self.history]
        if pending:  # observed at their own mean
            means, _ = self.dense()
            rewards += [float(means[slot]) for slot, _ in pending]
        slots = [slot for slot, _, _ in self.history] + [slot for slot, _ in pending]
        noise = [variance for _, _, variance in self.history] + [variance for _, variance in pending]
        cross = prior[slots]
        solved = np.linalg.solve(cross[:, slots] + np.diag(noise), np.column_stack([rewards, cross]))
        return cross.T @ solved[:, 0], np.diag(prior) - (cross * solved[:, 1:]).sum(axis=0)

    def assert_dense(self, tolerance: float) -> None:
        means, variances = self.dense()
        scale = max([1.0, *(abs(reward) for _, reward, _ in self.history)])
        np.testing.assert_allclose(self.belief.mean, means, rtol=0, atol=tolerance * scale)
        np.testing.assert_allclose(self.belief.variance, variances, rtol=0, atol=tolerance)

    def assert_no_std_above_its_own_measurements(self) -> None:
        """Check std <= 1 / sqrt(p), p the precision of a region's own measurements, with no slack but p's ulps."""
        precision: dict[int, float] = {}
        for slot, _, variance in self.history:
            precision[slot] = precision.get(slot, 0.0) + 1 / variance
        for slot, p in precision.items():
            assert self.belief.variance[slot] <= 1 / p * (1 + 1e-12)


def wave(region: ProductRegion, feedback: Feedback) -> float:
    """Return what a feedback sees of sin(6 x) without noise."""
    ((_, (center, width, _)),) = region.along
    if feedback == zn.Mean():
        return math.sin(6 * center) * float(np.sinc(3 * width / math.pi))
    axis = region.space.axes[0]
    assert isinstance(axis, ContinuousAxis)
    places, weights = feedback.along(axis).rule(width, 1, 1)
    return float(weights @ np.sin(6 * (center + places)))


def path_down(depth: int, space: zn.Box = LINE, seed: int = 0) -> list[ProductRegion]:
    """Return a cell of each depth, each within the one before, and every fourth one's neighbour."""
    rng = np.random.default_rng(seed)
    cells, index = [space.cell((0, 0))], 0
    for h in range(1, depth + 1):
        index = space.arity * index + int(rng.integers(space.arity))
        cells.append(space.cell((h, index)))
        if h % 4 == 0:
            cells.append(space.cell((h, index + 1 if index % space.arity == 0 else index - 1)))
    return cells


# Any history.

depths = st.integers(0, 5)
cells = st.tuples(depths, st.floats(0, 1, exclude_max=True))
edges = st.lists(st.floats(0, 1).map(lambda x: round(x, 9)), min_size=4, max_size=4)  # widths 0 or above 1e-9
actions = st.lists(
    st.one_of(
        st.tuples(st.just("cell"), cells),
        st.tuples(st.just("apart"), edges),
        st.tuples(
            st.just("observe"),
            st.tuples(st.floats(0, 1, exclude_max=True), st.floats(-3, 3), st.floats(0.05, 3)),
        ),
        st.tuples(
            st.just("repeat"),
            st.tuples(st.integers(0, 2), st.floats(-3, 3), st.floats(0.05, 3)),
        ),
    ),
    max_size=60,
)


def replay(recorded: Recorded, history: list[tuple[str, tuple[float, ...] | list[float]]]) -> None:
    """Do to a belief what hypothesis thought of."""
    space = recorded.space
    for what, numbers in history:
        if what == "cell":
            depth, where = int(numbers[0]), numbers[1]
            recorded.track(space.cell((depth, int(where * space.arity**depth))))
        elif what == "apart":
            low, high = np.array(space.bounds).T
            a, b = np.sort(np.array(numbers).reshape(2, 2), axis=0)[:, : space.d]
            recorded.track(space.region(np.stack([low + (high - low) * a, low + (high - low) * b], axis=1)))
        else:
            tracked = recorded.followed.size
            slot = int(numbers[0] * tracked) if what == "observe" else int(numbers[0]) % tracked
            recorded.observe(slot, numbers[1], numbers[2] ** 2)


@each_feedback
@pytest.mark.parametrize("space", [LINE, PLANE], ids=["line", "plane"])
@examples(40)
@given(history=actions)
def test_any_history_gives_the_dense_posterior(
    space: zn.Box, feedback: Feedback, history: list[tuple[str, tuple[float, ...]]]
) -> None:
    kernel = zn.RBF(1.0, 0.3) if space.d == 1 else zn.RBF(0.6, (0.3, 0.8)) + zn.Matern(0.4, (0.2, 2.0), nu=1.5)
    recorded = Recorded(kernel, feedback, space)
    recorded.track(space.cell((0, 0)))
    replay(recorded, list(history))
    recorded.assert_dense(1e-11)
    recorded.assert_no_std_above_its_own_measurements()
    assert np.all(recorded.belief.variance >= 0)
    assert recorded.belief.clamped == 0


@pytest.mark.parametrize("s", [1, 4])
def test_the_posterior_is_that_of_the_papers_equation_4(s: int) -> None:
    rng = np.random.default_rng(0)
    recorded = Recorded(zn.RBF(0.4, (0.3, 0.9)), zn.Average(s), PLANE)
    recorded.track(*(PLANE.cell((h, int(rng.integers(3**h)))) for h in (0, 1, 2, 2, 3, 4, 4, 5)))
    for _ in range(40):
        recorded.observe(int(rng.integers(6)), float(rng.normal()), float(rng.uniform(0.01, 0.3)))
    blocks = [oracle.representatives(region.bounds, s) for region in recorded.regions]
    means, stds = oracle.posterior(
        oracle.rbf(0.4, (0.3, 0.9)),
        [blocks[slot] for slot, _, _ in recorded.history],
        [reward for _, reward, _ in recorded.history],
        [variance for _, _, variance in recorded.history],
        blocks,
    )
    np.testing.assert_allclose(recorded.belief.mean, means, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.sqrt(recorded.belief.variance), stds, rtol=0, atol=1e-12)


def test_hundreds_of_regions_and_rows_give_the_dense_posterior() -> None:
    """More of both than any buffer starts with."""
    rng = np.random.default_rng(1)
    recorded = Recorded(zn.Matern(1.0, 0.1, nu=1.5), zn.Mean())
    for number in range(300):
        a, b = np.sort(rng.uniform(size=2))
        slot = recorded.track(LINE.region([(a, b)]))
        assert slot == number
        for _ in range(int(rng.integers(3))):
            recorded.observe(int(rng.integers(number + 1)), float(rng.normal()), 0.04)
    assert len({slot for slot, _, _ in recorded.history}) > 128
    recorded.assert_dense(1e-11)


# Repeats.


@pytest.mark.parametrize("spare", [0, 16, 10**9], ids=["collapsed at once", "as shipped", "never collapsed"])
def test_repeats_are_collapsed_without_a_trace(spare: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_average, "SPARE_ROWS", spare)
    rng = np.random.default_rng(2)
    recorded = Recorded(SMOOTH, zn.Mean(), LINE)
    recorded.track(LINE.cell((0, 0)), *LINE.split(LINE.cell((0, 0))), LINE.cell((3, 2)), LINE.region([(0.1, 0.7)]))
    recorded.track(LINE.cell((5, 3)), LINE.cell((5, 30)))  # tracked and never observed
    for number in range(1, 501):
        recorded.observe(int(rng.integers(5)), float(rng.normal()), float(rng.uniform(0.05, 2) ** 2))
        if number in (1, 16, 25, 26, 27, 28, 60, 500):
            recorded.assert_dense(2e-12)
        recorded.assert_no_std_above_its_own_measurements()
    assert (recorded.belief.rows <= 2 * 5 + 16) == (spare < 10**9)


def test_ten_thousand_repeats_of_one_region_are_one_precise_measurement() -> None:
    rng = np.random.default_rng(3)
    noise = 0.3**2
    recorded = Recorded(SMOOTH, zn.Mean())
    recorded.track(LINE.cell((0, 0)), LINE.cell((2, 1)))
    rewards = 0.4 + 0.3 * rng.normal(size=10_000)
    for number, reward in enumerate(rewards.tolist(), start=1):
        recorded.observe(1, reward, noise)
        assert recorded.belief.variance[1] <= noise / number * (1 + 1e-12)
    prior = recorded.prior()
    gain = prior[:, 1] / (prior[1, 1] + noise / 10_000)
    np.testing.assert_allclose(recorded.belief.mean, gain * math.fsum(rewards) / 10_000, rtol=1e-12)
    np.testing.assert_allclose(recorded.belief.variance, np.diag(prior) - gain * prior[1], rtol=1e-9, atol=1e-15)
    assert recorded.belief.rows <= 18


def test_repeats_with_different_noise_combine_by_precision() -> None:
    many, one = Recorded(SMOOTH, zn.Mean()), Recorded(SMOOTH, zn.Mean())
    rewards, sems = [0.1, 0.9, -0.4, 0.35], [0.5, 0.1, 2.0, 0.03]
    weights = [1 / sem**2 for sem in sems]
    for recorded in (many, one):
        recorded.track(LINE.cell((0, 0)), LINE.cell((1, 0)))
    for reward, sem in zip(rewards, sems, strict=True):
        many.observe(1, reward, sem**2)
    combined = sum(w * r for w, r in zip(weights, rewards, strict=True)) / sum(weights)
    one.observe(1, combined, 1 / sum(weights))
    np.testing.assert_allclose(many.belief.mean, one.belief.mean, rtol=0, atol=1e-14)
    np.testing.assert_allclose(many.belief.variance, one.belief.variance, rtol=0, atol=1e-15)


@each_feedback
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_observations_does_not_matter(seed: int, feedback: Feedback) -> None:
    rng = np.random.default_rng(seed)
    regions = path_down(6, seed=seed)
    history = [(int(rng.integers(6)), float(rng.normal()), float(rng.uniform(0.1, 1) ** 2)) for _ in range(60)]
    orders = [history, history[::-1], [history[i] for i in rng.permutation(60)]]
    beliefs = []
    for order in orders:
        recorded = Recorded(SMOOTH, feedback)
        recorded.track(*regions)
        for slot, reward, variance in order:
            recorded.observe(slot, reward, variance)
        beliefs.append(recorded.belief)
    for belief in beliefs[1:]:
        np.testing.assert_allclose(belief.mean, beliefs[0].mean, rtol=0, atol=1e-12)
        np.testing.assert_allclose(belief.variance, beliefs[0].variance, rtol=0, atol=1e-14)


def test_tracking_before_or_after_observing_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    regions = path_down(8)
    history = [(int(rng.integers(4)), float(rng.normal()), 0.09) for _ in range(50)]
    early, late = Recorded(SMOOTH, zn.Mean()), Recorded(SMOOTH, zn.Mean())
    early.track(*regions)
    late.track(*regions[:4])
    for slot, reward, variance in history:
        early.observe(slot, reward, variance)
        late.observe(slot, reward, variance)
    late.track(*regions[4:])
    np.testing.assert_allclose(late.belief.mean, early.belief.mean, rtol=0, atol=1e-13)
    np.testing.assert_allclose(late.belief.variance, early.belief.variance, rtol=0, atol=1e-15)


# Rounding.


def exact_posterior(regions: list[ProductRegion], recorded: Recorded, lengthscale: float) -> tuple[Array, Array]:
    """Return means and variances with 60 digits, for values at centres under an RBF kernel of variance 1.

    Repeats are collapsed by precision, which is exact and keeps the matrices small.
    """
    with mp.workdps(60):
        where = [mp.mpf(region.along[0][1][0]) for region in regions]
        prior = [[mp.exp(-(((a - b) / mp.mpf(lengthscale)) ** 2) / 2) for b in where] for a in where]
        measured = list(dict.fromkeys(slot for slot, _, _ in recorded.history))
        rewards, noise = [], []
        for slot in measured:
            own = [(mp.mpf(r), 1 / mp.mpf(v)) for s, r, v in recorded.history if s == slot]
            noise.append(1 / mp.fsum(p for _, p in own))
            rewards.append(noise[-1] * mp.fsum(p * r for r, p in own))
        Q = mp.matrix(len(measured))
        for i, a in enumerate(measured):
            for j, b in enumerate(measured):
                Q[i, j] = prior[a][b] + (noise[i] if i == j else 0)
        L = mp.cholesky(Q)

        def forward(column: list[mp.mpf]) -> list[mp.mpf]:
            solved: list[mp.mpf] = []
            for i, value in enumerate(column):
                solved.append((value - mp.fsum(L[i, j] * solved[j] for j in range(i))) / L[i, i])
            return solved

        w = forward(rewards)
        V = [forward([prior[a][b] for a in measured]) for b in range(len(regions))]
        means = [float(mp.fsum(x * y for x, y in zip(v, w, strict=True))) for v in V]
        variances = [float(prior[b][b] - mp.fsum(x * x for x in v)) for b, v in enumerate(V)]
    return np.array(means), np.array(variances)


@pytest.mark.parametrize("repeats", [1, 5])
@pytest.mark.parametrize("noise", [1e-1, 1e-3, 1e-6])
def test_nearly_identical_regions_agree_with_extended_precision(noise: float, repeats: int) -> None:
    """The mean's error grows as 1 / noise std, as that of a dense solution does.

    Measured, in prior standard deviations: 2e-14 at noise std 1e-1, 2e-12 at 1e-3, 1.4e-9 at 1e-6, and up to
    five times as much with repeats (a dense solution: 2e-14, 2e-12, 1.7e-9, and up to five times as much).
    Variances are right to 5e-16 everywhere (a dense solution: 1.3e-15).
    """
    rng = np.random.default_rng(0)
    regions = path_down(40)
    recorded = Recorded(zn.RBF(1.0, 0.2), zn.Center())
    recorded.track(*regions)
    for slot in rng.permutation(np.repeat(np.arange(len(regions)), repeats)).tolist():
        truth = wave(regions[slot], zn.Center())
        recorded.observe(slot, truth + noise * float(rng.normal()), noise**2)
    belief = recorded.belief
    means, variances = exact_posterior(regions, recorded, 0.2)
    error = np.max(np.abs(belief.mean - means))
    assert error <= 3e-14 / noise
    np.testing.assert_allclose(belief.variance, variances, rtol=0, atol=3e-15)
    np.testing.assert_allclose(np.sqrt(belief.variance), np.sqrt(variances), rtol=0, atol=1e-14 / noise)
    dense_means, _ = recorded.dense()
    assert error <= 10 * np.max(np.abs(dense_means - means)) + 1e-14
    recorded.assert_no_std_above_its_own_measurements()
    assert belief.clamped == 0


@pytest.mark.parametrize("feedback", [zn.Average(10), zn.Mean()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_noise_of_a_millionth_leaves_no_nan_and_no_negative_variance(feedback: Feedback, seed: int) -> None:
    rng = np.random.default_rng(seed)
    recorded = Recorded(SMOOTH, feedback)
    recorded.track(*path_down(40, seed=seed))
    for _ in range(300):
        slot = int(rng.integers(recorded.followed.size))
        truth = wave(recorded.regions[slot], feedback)
        recorded.observe(slot, truth + 1e-6 * float(rng.normal()), 1e-12)
        assert np.all(np.isfinite(recorded.belief.mean))
        assert np.all(recorded.belief.variance >= 0)
        assert np.all(recorded.belief.variance <= 1)
    recorded.assert_no_std_above_its_own_measurements()
    assert recorded.belief.clamped == 0
    found, _ = recorded.belief.predict(feedback.footprints(recorded.regions))
    np.testing.assert_allclose(found, recorded.belief.mean, rtol=0, atol=1e-7)


@examples(30)
@given(
    noise=st.floats(1e-6, 1e-2),
    slots=st.lists(st.integers(0, 9), min_size=1, max_size=60),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_std_exceeds_that_of_a_regions_own_measurements(noise: float, slots: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    recorded = Recorded(SMOOTH, zn.Mean())
    recorded.track(*path_down(8))
    for slot in slots:
        recorded.observe(slot, noise * float(rng.normal()), noise**2 * float(rng.uniform(1, 4)))
        recorded.assert_no_std_above_its_own_measurements()
    assert np.all(recorded.belief.variance >= 0)


def test_rewards_a_million_away_from_the_prior_mean_keep_their_digits() -> None:
    """Measured: 5e-16 of the offset."""
    rng = np.random.default_rng(5)
    regions = path_down(12)
    recorded = Recorded(zn.RBF(1.0, 0.2), zn.Center())
    recorded.track(*regions)
    for _ in range(300):
        slot = int(rng.integers(len(regions)))
        recorded.observe(slot, 1e6 + float(rng.normal()), 0.01)
    means, variances = exact_posterior(regions, recorded, 0.2)
    np.testing.assert_allclose(recorded.belief.mean, means, rtol=0, atol=1e6 * 1e-14)
    np.testing.assert_allclose(recorded.belief.variance, variances, rtol=0, atol=1e-14)


def test_an_offset_of_rewards_and_prior_mean_together_changes_nothing_but_rounding() -> None:
    rng = np.random.default_rng(6)
    studies = [
        zn.Study([(0, 1)], budget=120, kernel=zn.RBF(0.1, 0.05), noise=0.1, mean=mean) for mean in (0.0, 1e6)
    ]
    for _ in range(120):
        plain, shifted = (study.ask() for study in studies)
        assert plain.node == shifted.node
        value = math.sin(9 * float(plain.region.center[0])) + 0.1 * float(rng.normal())
        for study, trial in zip(studies, (plain, shifted), strict=True):
            study.tell(trial, study.model.mean + value)
    plain_tree, shifted_tree = (study.tree for study in studies)
    np.testing.assert_allclose(shifted_tree.mean - 1e6, plain_tree.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(shifted_tree.std, plain_tree.std, rtol=0, atol=1e-14)


# Measurements without noise.


def snapshot(recorded: Recorded) -> tuple[list[float], list[float], int]:
    belief = recorded.belief
    return belief.mean.tolist(), belief.variance.tolist(), belief.rows


@each_feedback
def test_an_exact_measurement_is_known_exactly_and_its_repeat_changes_nothing(feedback: Feedback) -> None:
    recorded = Recorded(SMOOTH, feedback)
    recorded.track(LINE.cell((0, 0)), LINE.cell((1, 0)), LINE.cell((2, 3)))
    recorded.observe(1, 0.25, 0.0)
    assert recorded.belief.mean[1] == pytest.approx(0.25, rel=1e-15)
    assert recorded.belief.variance[1] == 0
    recorded.assert_dense(1e-14)
    before = snapshot(recorded)
    for _ in range(50):
        recorded.observe(1, 0.25, 0.0)
    assert snapshot(recorded) == before


@each_feedback
def test_a_contradicting_exact_repeat_is_refused_and_changes_nothing(feedback: Feedback) -> None:
    recorded = Recorded(SMOOTH, feedback)
    recorded.track(LINE.cell((0, 0)), LINE.cell((1, 0)))
    recorded.observe(1, 0.25, 0.0)
    before = snapshot(recorded)
    with pytest.raises(zn.InvalidInput, match=r"contradicts.*0\.25.*got 0\.26"):
        recorded.followed.check(1, 0.26, 0.0)
    assert snapshot(recorded) == before
    recorded.followed.check(1, 0.26, 0.01)  # a noisy repeat may differ
    recorded.followed.check(0, 0.26, 0.0)  # so may another region


def test_a_study_refuses_contradicting_exact_measurements_and_stays_as_it_was() -> None:
    study = zn.Study([(0, 1)], budget=9, kernel=SMOOTH, noise=0.0, policy=zn.GPOO(delta=zn.GeometricDelta(0.01)))
    first = study.ask()
    study.tell(first, 0.5)
    study.observe([(0.2, 0.3)], 0.7)
    again = study.ask()
    told = [study.tree.mean.tolist(), study.tree.std.tolist(), study.measured, study.pending]
    with pytest.raises(zn.InvalidInput, match="contradicts"):
        study.observe(first.region, 0.6)
    with pytest.raises(zn.InvalidInput, match="contradicts"):
        study.observe([(0.2, 0.3)], 0.8)
    if again.node == first.node:
        with pytest.raises(zn.InvalidInput, match="contradicts"):
            study.tell(again, 0.6)
    assert [study.tree.mean.tolist(), study.tree.std.tolist(), study.measured, study.pending] == told
    study.observe(first.region, 0.5)
    study.observe([(0.2, 0.3)], 0.7)
    assert [study.tree.mean.tolist(), study.tree.std.tolist(), study.measured, study.pending] == told


def test_noisy_measurements_of_an_exactly_known_region_change_nothing() -> None:
    recorded = Recorded(SMOOTH, zn.Mean())
    recorded.track(LINE.cell((0, 0)), LINE.cell((1, 0)), LINE.cell((2, 3)))
    recorded.observe(1, 0.25, 0.0)
    means, variances = recorded.belief.mean.copy(), recorded.belief.variance.copy()
    for _ in range(40):  # across a rebuild
        recorded.observe(1, 0.9, 0.04)
    np.testing.assert_allclose(recorded.belief.mean, means, rtol=0, atol=1e-13)
    np.testing.assert_allclose(recorded.belief.variance, variances, rtol=0, atol=1e-14)


@pytest.mark.parametrize("arity", [2, 3])
def test_exact_means_of_a_parent_and_its_children_depend_linearly_without_harm(arity: int) -> None:
    space = zn.Box([(0.0, 1.0)], arity=arity)
    parent = space.cell((0, 0))
    children = space.split(parent)
    recorded = Recorded(SMOOTH, zn.Mean(), space)
    recorded.track(parent, *children, space.cell((3, 1)))
    values = [0.3 * j - 0.1 for j in range(arity)]
    for j, value in enumerate(values):
        recorded.observe(1 + j, value, 0.0)
    implied = sum(values) / arity
    assert recorded.belief.mean[0] == pytest.approx(implied, rel=0, abs=1e-12)
    assert recorded.belief.variance[0] <= 1e-14
    before = snapshot(recorded)
    recorded.observe(0, implied, 0.0)  # nothing new
    assert snapshot(recorded) == before
    for j, value in enumerate(values):
        recorded.observe(1 + j, value, 0.0)
    assert np.all(np.isfinite(recorded.belief.mean))
    assert np.all(recorded.belief.variance >= 0)
    np.testing.assert_allclose(recorded.belief.mean[1 : 1 + arity], values, rtol=0, atol=1e-12)
    assert recorded.belief.clamped == 0


@pytest.mark.parametrize("exact", [True, False], ids=["without noise", "with little"])
def test_what_was_ignored_stays_ignored(exact: bool) -> None:
    """It does not fit what is known; once it is reported, no rebuild may let it in after all."""
    ignored, never = Recorded(SMOOTH, zn.Mean()), Recorded(SMOOTH, zn.Mean())
    parent, apart = LINE.cell((0, 0)), LINE.cell((4, 3))
    for recorded in (ignored, never):
        recorded.track(parent, *LINE.split(parent), apart)
        recorded.observe(1, 0.25, 0.0)
        recorded.observe(2, 0.45, 0.0)
    ignored.observe(0, 0.85, 0.0 if exact else 1e-20)  # the mean of the two is 0.35
    assert "was ignored" in str(ignored.belief.complaints[-1])
    rng = np.random.default_rng(0)
    for _ in range(60):  # across some rebuilds
        reward = float(rng.normal())
        for recorded in (ignored, never):
            recorded.observe(3, reward, 0.04)
    np.testing.assert_allclose(ignored.belief.mean, never.belief.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ignored.belief.variance, never.belief.variance, rtol=0, atol=1e-13)
    assert len(ignored.belief.complaints) == 1


@pytest.mark.parametrize(
    ("kernel", "f"),
    [
        (zn.RBF(0.1, 0.05), zn.reward_function("f1")),
        (zn.RBF(1.0, 0.1), lambda X: np.sin(12 * X[:, 0])),
    ],
    ids=["f1", "wave"],
)
@each_feedback
def test_a_deterministic_function_is_searched_without_noise(
    feedback: Feedback, kernel: Kernel, f: Callable[[Array], Array]
) -> None:
    """Narrow cells get values that the kernel knew to rounding; that is no contradiction."""
    measure = zn.simulate(f, feedback)
    study = zn.Study(
        LINE, budget=80, kernel=kernel, noise=0.0, feedback=feedback, policy=zn.GPOO(zn.GeometricDelta(14))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zn.NumericalWarning)  # a word about rounding is welcome
        for _ in range(80):
            trial = study.ask()
            study.tell(trial, measure(trial.region))
            assert np.all(np.isfinite(study.tree.mean))
            assert np.all(study.tree.std >= 0)
    best = study.recommend()
    assert best.mean == pytest.approx(measure.average(best.region), abs=1e-5)


# Repairs are counted and reported.


def test_of_two_equal_regions_without_noise_one_is_a_row_and_nothing_is_said() -> None:
    recorded = Recorded(SMOOTH, zn.Center())
    recorded.track(LINE.cell((1, 0)), LINE.region([(0.0, 0.5)]), LINE.cell((2, 3)))  # the first two are the same
    for slot in range(3):
        recorded.observe(slot, 0.5, 0.01)
    recorded.followed.rebuild()
    assert not recorded.belief.fragile
    recorded.assert_dense(1e-13)
    recorded.as_if_exact()
    assert recorded.belief.fragile
    assert recorded.belief.rows == 2
    assert recorded.belief.complaints == ()
    np.testing.assert_allclose(recorded.belief.mean, 0.5, rtol=0, atol=1e-12)
    np.testing.assert_allclose(recorded.belief.variance, 0, rtol=0, atol=1e-15)


def test_exact_values_that_contradict_each_other_are_ignored_in_their_order_and_that_is_said() -> None:
    recorded = Recorded(SMOOTH, zn.Mean())
    recorded.track(LINE.cell((2, 0)), LINE.cell((2, 1)), LINE.cell((1, 0)), LINE.cell((3, 7)))
    for slot, reward in enumerate((1.6, -1.0, 2.2, 0.4)):  # the third is the mean of the first two
        recorded.observe(slot, reward, 0.01)
    recorded.as_if_exact()
    np.testing.assert_allclose(recorded.belief.mean, [1.6, -1.0, 0.3, 0.4], rtol=0, atol=1e-9)
    assert recorded.belief.ignored == 1
    (complaint,) = recorded.belief.complaints
    assert "2.2 from the prior mean was ignored" in str(complaint)


def test_measurements_of_regions_that_imply_each_other_stay_sane() -> None:
    """The factor and the variances must tell the same story, or errors grow without bound."""
    recorded = Recorded(SMOOTH, zn.Center())
    recorded.track(*path_down(30))
    for slot in range(recorded.followed.size):
        recorded.observe(slot, wave(recorded.regions[slot], zn.Center()), 1e-4)
    recorded.as_if_exact()
    assert recorded.belief.complaints == ()
    assert recorded.belief.rows < recorded.followed.size
    rng = np.random.default_rng(11)
    truth = [wave(region, zn.Center()) for region in recorded.regions]
    np.testing.assert_allclose(recorded.belief.mean, truth, rtol=0, atol=1e-6)
    for _ in range(30):
        slot = int(rng.integers(recorded.followed.size))
        recorded.followed.observe(slot, truth[slot] + 2e-7 * float(rng.normal()), 4e-14)
    np.testing.assert_allclose(recorded.belief.mean, truth, rtol=0, atol=1e-4)
    assert recorded.belief.clamped == 0


def test_a_matrix_that_is_not_positive_definite_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(SMOOTH, zn.Center())
    recorded.track(LINE.cell((1, 0)), LINE.cell((1, 1)))
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    monkeypatch.setattr(recorded.belief._covariance, "of", lambda pairs: indefinite.copy())
    before = snapshot(recorded)
    with pytest.raises(zn.InvalidInput, match="not positive definite"):
        recorded.belief.factorised(np.arange(2), np.zeros(2), np.zeros(2))
    assert snapshot(recorded) == before


def test_negative_variances_are_raised_to_zero_counted_and_reported_once() -> None:
    recorded = Recorded(zn.RBF(1.0, 1e-3), zn.Mean())  # so short that regions tell nothing of each other
    recorded.track(LINE.cell((3, 0)), LINE.cell((3, 2)), LINE.cell((3, 4)), LINE.cell((3, 6)))

    def spoil(slots: list[int], variance: float) -> None:
        spoiled = copy.copy(recorded.belief)
        spoiled.variance = recorded.belief.variance.copy()
        spoiled.variance[slots] = variance
        recorded.followed.replace(spoiled)

    spoil([1, 2], -1e-3)
    recorded.observe(0, 0.1, 0.01)
    (complaint,) = recorded.belief.complaints
    assert "posterior variances came out negative" in str(complaint)
    assert recorded.belief.clamped == 2
    assert np.all(recorded.belief.variance >= 0)
    spoil([3], -1e-3)
    recorded.observe(0, 0.1, 0.01)
    assert recorded.belief.complaints == (complaint,)
    assert recorded.belief.clamped == 3
    spoil([3], -1e-18)  # rounding, not worth a word
    recorded.observe(0, 0.1, 0.01)
    assert recorded.belief.clamped == 3
    assert recorded.belief.variance[3] == 0


# Looking ahead, and elsewhere.


@each_feedback
@pytest.mark.parametrize("observed", [0, 7, 60])
def test_pending_measurements_leave_means_and_shrink_stds_as_if_observed_at_their_mean(
    feedback: Feedback, observed: int
) -> None:
    rng = np.random.default_rng(7)
    recorded = Recorded(SMOOTH, feedback)
    recorded.track(*path_down(6))
    for _ in range(observed):
        recorded.observe(int(rng.integers(5)), float(rng.normal()), 0.04)
    before = snapshot(recorded)
    overlay = recorded.belief.overlay()
    np.testing.assert_array_equal(overlay.variance, recorded.belief.variance)
    pending: list[tuple[int, float]] = []
    for slot in (3, 0, 3, 6, 3):
        pending.append((slot, float(rng.uniform(0.01, 0.3))))
        overlay = overlay.with_pending(*pending[-1])
        means, variances = recorded.dense(pending=pending)
        np.testing.assert_allclose(recorded.belief.mean, means, rtol=0, atol=1e-12)
        np.testing.assert_allclose(overlay.variance, variances, rtol=0, atol=1e-13)
    assert snapshot(recorded) == before  # nothing of it enters the belief


def test_a_pending_exact_measurement_leaves_nothing_to_learn_there() -> None:
    recorded = Recorded(SMOOTH, zn.Mean())
    recorded.track(*path_down(4))
    overlay = recorded.belief.overlay()
    for _ in range(3):
        overlay = overlay.with_pending(2, 0.0)
    assert overlay.variance[2] == pytest.approx(0, abs=1e-15)
    assert np.all(np.isfinite(overlay.variance))
    assert np.all(overlay.variance >= 0)


@each_feedback
@pytest.mark.parametrize("observed", [0, 7, 60])
def test_predictions_equal_the_values_of_tracked_regions(feedback: Feedback, observed: int) -> None:
    rng = np.random.default_rng(8)
    recorded = Recorded(SMOOTH, feedback)
    recorded.track(*path_down(6))
    for _ in range(observed):
        recorded.observe(int(rng.integers(recorded.followed.size)), float(rng.normal()), 0.04)
    means, variances = recorded.belief.predict(feedback.footprints(recorded.regions))
    np.testing.assert_allclose(means, recorded.belief.mean, rtol=0, atol=1e-13)
    np.testing.assert_allclose(variances, recorded.belief.variance, rtol=0, atol=1e-14)


@each_feedback
def test_predictions_of_regions_elsewhere_are_dense_ones(feedback: Feedback) -> None:
    rng = np.random.default_rng(9)
    recorded = Recorded(SMOOTH, feedback)
    recorded.track(*path_down(6))
    for _ in range(40):
        recorded.observe(int(rng.integers(recorded.followed.size)), float(rng.normal()), 0.04)
    apart = [LINE.region([edges]) for edges in [(0.1, 0.9), (0.35, 0.36), (0.7, 0.7), (0.0, 0.0)]]
    before = snapshot(recorded)
    means, variances = recorded.belief.predict(feedback.footprints(apart))
    expected = recorded.dense(*apart)
    np.testing.assert_allclose(means, expected[0][-4:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(variances, expected[1][-4:], rtol=0, atol=1e-13)
    assert snapshot(recorded) == before


@each_feedback
def test_posterior_covariances_are_dense_ones(feedback: Feedback) -> None:
    rng = np.random.default_rng(10)
    recorded = Recorded(SMOOTH, feedback)
    recorded.track(*path_down(6))
    prior = recorded.prior()
    np.testing.assert_allclose(recorded.belief.covariance_row(2), prior[2], rtol=0, atol=1e-15)
    for _ in range(40):
        recorded.observe(int(rng.integers(5)), float(rng.normal()), 0.04)
    slots = [slot for slot, _, _ in recorded.history]
    cross = prior[slots]
    expected = prior - cross.T @ np.linalg.solve(cross[:, slots] + 0.04 * np.eye(40), cross)
    for slot in range(recorded.followed.size):
        np.testing.assert_allclose(recorded.belief.covariance_row(slot), expected[slot], rtol=0, atol=1e-13)


@each_feedback
@pytest.mark.parametrize("observed", [0, 7])
@pytest.mark.parametrize("noise", [0.1, 0.0])
def test_many_pending_measurements_at_once_are_what_they_are_one_by_one(
    feedback: Feedback, observed: int, noise: float
) -> None:
    rng = np.random.default_rng(9)
    recorded = Recorded(SMOOTH, feedback)
    recorded.track(*path_down(6))
    for _ in range(observed):
        recorded.observe(int(rng.integers(5)), float(rng.normal()), 0.04)
    slots, one_by_one = np.array([3, 0, 3, 6, 3]), recorded.belief.overlay()
    for slot in slots.tolist():
        one_by_one = one_by_one.with_pending(slot, noise)
    at_once = recorded.belief.overlay().with_many_pending(slots, np.full(5, noise))
    np.testing.assert_allclose(at_once.variance, one_by_one.variance, rtol=0, atol=1e-12)
    every = np.arange(recorded.followed.size)
    np.testing.assert_allclose(at_once.covariance(every), one_by_one.covariance(every), rtol=0, atol=1e-12)
    more = at_once.with_pending(1, 0.1).variance
    np.testing.assert_allclose(more, one_by_one.with_pending(1, 0.1).variance, rtol=0, atol=1e-12)
