"""What is measured and what is judged are two things: the feedback, and the target."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.errors import InvalidInput
from zonal.study.queries import region_of

SPACE = zn.Box([(0, 1)], smallest=1 / 16)
BEAM, KERNEL = zn.Beam(0.15), zn.RBF(1.0, 0.1)


def peak(x: Any) -> Any:
    """Return a function with a narrow peak, which a beam blurs."""
    return np.exp(-(((x[:, 0] - 0.4) / 0.05) ** 2))


def searched(budget: int = 24, **settings: Any) -> zn.Study:
    """Return a study of the peak, seen through a beam."""
    given: dict[str, Any] = {"kernel": KERNEL, "noise": 0.02, "feedback": BEAM, "rng": 0} | settings
    study = zn.Study(SPACE, budget=budget, **given)
    study.optimize(zn.simulate(peak, given["feedback"], noise=0.02, rng=0))
    return study


def dense(study: zn.Study, region: Any, seen: Any) -> tuple[float, float]:
    """Return mean and std of what `seen` averages of a region, from points and all rewards."""
    fine = (np.arange(2000) + 0.5) / 2000

    def shares(edges: Any, by: Any) -> Any:
        low, high = edges
        if isinstance(by, zn.Mean):
            weights = ((fine >= low) & (fine < high)).astype(float)
            return fine, weights / weights.sum()
        std = by.fwhm / 2.3548200450309493
        places = (low + high) / 2 + np.linspace(-6, 6, 801) * std
        weights = np.exp(-0.5 * np.linspace(-6, 6, 801) ** 2)
        return places, weights / weights.sum()

    def covariance(one: Any, other: Any) -> float:
        (x, a), (y, b) = one, other
        return float(a @ np.exp(-0.5 * ((x[:, None] - y[None]) / 0.1) ** 2) @ b)

    rows = [shares(trial.region.bounds[0], study.settings.feedback) for trial in study.trials]
    values = np.array([trial.value for trial in study.trials])
    wanted = shares(region.bounds[0], seen)
    gram = np.array([[covariance(row, other) for other in rows] for row in rows]) + 0.02**2 * np.eye(len(rows))
    cross = np.array([covariance(row, wanted) for row in rows])
    variance = covariance(wanted, wanted) - cross @ np.linalg.solve(gram, cross)
    return float(cross @ np.linalg.solve(gram, values)), float(np.sqrt(variance))


def test_a_beam_is_judged_by_the_mean_of_the_region_unless_said_otherwise() -> None:
    assert searched(3).settings.judged == zn.Mean()
    assert searched(3, target=BEAM).settings.judged == BEAM
    assert zn.Study(SPACE, budget=3, feedback=zn.Center()).settings.judged == zn.Center()
    assert zn.Study(SPACE, budget=3, feedback=zn.Center(), target=zn.Mean()).settings.judged == zn.Mean()


def test_columns_and_answers_are_of_the_target_as_a_dense_computation_has_them() -> None:
    study = searched(12, policy=zn.UCB())
    best = study.recommend(on_grid=True)
    assert (best.mean, best.std) == pytest.approx(dense(study, best.region, zn.Mean()), abs=2e-3)
    assert tuple(study.predict(best.region)) == pytest.approx((best.mean, best.std), abs=1e-9)
    read = study.predict(best.region, feedback=BEAM)
    assert tuple(read) == pytest.approx(dense(study, best.region, BEAM), abs=2e-3)
    assert best.mean > read.mean + 0.1  # the beam blurs the peak


def test_the_stated_mean_is_that_of_the_region_and_not_what_the_beam_reads() -> None:
    study = searched(40, kernel=zn.RBF(1.0, 0.07))
    best = study.recommend(on_grid=True)
    truth = zn.simulate(peak, zn.Mean()).average(best.region)
    read = zn.simulate(peak, BEAM).average(best.region)
    assert abs(best.mean - truth) < 3 * best.std
    assert abs(best.mean - read) > 3 * best.std


def test_with_the_feedback_as_target_nothing_changes_by_a_bit() -> None:
    plain = searched(policy=zn.GPOO(), feedback=zn.Average(4))
    told = searched(policy=zn.GPOO(), feedback=zn.Average(4), target=zn.Average(4))
    assert plain.tree == told.tree
    assert plain.recommend() == told.recommend()
    assert [trial.node for trial in plain.trials] == [trial.node for trial in told.trials]


@pytest.mark.parametrize("policy", [None, zn.GPOO(), zn.UCB(), zn.Above(0.5), zn.Thompson()])
def test_replaying_and_reopening_give_the_same_answers(policy: Any, tmp_path: Path) -> None:
    study = searched(14, policy=policy)
    study.observe([(0.33, 0.41)], 0.6, sem=0.1, feedback=zn.Mean())
    study.observe(SPACE.cell((4, 3)), 0.2)
    assert zn.Study.replay(study.settings, study.events).tree == study.tree
    study.save(tmp_path / "beam.db")
    opened = zn.Study.open(tmp_path / "beam.db")
    assert opened.settings.judged == zn.Mean()
    np.testing.assert_allclose(opened.tree.mean, study.tree.mean, atol=1e-9)
    np.testing.assert_allclose(opened.tree.std, study.tree.std, atol=1e-9)


def test_a_region_observed_before_it_is_a_node_is_one_footprint() -> None:
    first, later = (
        zn.Study(SPACE, budget=9, kernel=KERNEL, noise=0.1, feedback=BEAM, policy=zn.GPOO()) for _ in "ab"
    )
    for study in (first, later):
        for seen in (None, zn.Mean()):
            study.observe([(0.0, 0.5)], 0.7, feedback=seen)
    for value in (0.4, 0.3, 0.2):
        trial = first.ask()
        first.tell(trial, value)
        later.observe(trial.region, value)
    assert (1, 0) in {*zip(first.tree.depth.tolist(), first.tree.index.tolist(), strict=True)}
    assert len(later.tree) < len(first.tree)
    first.observe(SPACE.cell((1, 0)), 0.5)
    later.observe([(0.0, 0.5)], 0.5)
    np.testing.assert_allclose(first.predict().mean, later.predict().mean, atol=1e-9)


def test_pending_trials_shrink_the_std_of_the_target_in_the_eyes_of_the_policy() -> None:
    study = searched(12)
    study.extend(4)
    nodes = {trial.node for trial in study.ask(4)}
    assert len(nodes) > 1
    state = study._state
    assert (state.policy_table().std <= state.posterior_table().std + 1e-12).all()


def test_corrections_count_what_was_measured() -> None:
    study, other = searched(8), searched(8)
    trial = study.trials[-1]
    study.correct(trial, 0.9)
    study.correct(trial, trial.value or 0.0)
    np.testing.assert_allclose(study.tree.mean, other.tree.mean, atol=1e-9)


def test_a_regions_own_feedback_is_used_or_refused() -> None:
    study = searched(10)
    region = study.space.region([(0.3, 0.4)], feedback=zn.Center())
    assert study.predict(region) == study.predict([(0.3, 0.4)], feedback=zn.Center())
    assert study.predict(region).mean != study.predict([(0.3, 0.4)]).mean
    assert study.probability(region, above=0.5) != study.probability([(0.3, 0.4)], above=0.5)
    assert study.predict(study.trials[0].region, feedback=zn.Mean()) == study.predict(
        study.trials[0].region.bounds
    )
    with pytest.raises(InvalidInput, match="a feedback of its own"):
        study.predict(region, feedback=zn.Mean())
    with pytest.raises(InvalidInput, match="slope"):
        study.predict([(0.3, 0.4)], feedback=zn.Slope("x"))
    with pytest.raises(InvalidInput, match="slope"):
        study.predict(study.space.region([(0.3, 0.4)], feedback=zn.Slope("x")))
    assert study.observe(region, 0.5).region.feedback == zn.Center()
    assert study.observe(region.bounds, 0.5).region.feedback == BEAM
    assert region_of(study, region).feedback == BEAM


def test_differences_and_slopes_are_told_beside_a_target() -> None:
    study = zn.Study(SPACE, budget=6, kernel=KERNEL, noise=0.1, feedback=BEAM)
    trial = study.ask()
    study.tell(trial, 0.4, sem=0.1, minus=[(0.9, 1.0)])
    study.tell(study.ask(), 0.2)
    study.observe([(0.3, 0.4)], 2.0, sem=0.5, feedback=zn.Slope("x"))
    study.tell(study.ask(), 0.3)
    assert zn.Study.replay(study.settings, study.events).tree == study.tree
    assert study.outlook(3).gain >= 0


def test_an_outlook_knows_that_a_wide_beam_shows_less() -> None:
    gains = []
    for width in (0.03, 0.6):
        study = zn.Study(SPACE, budget=9, kernel=zn.RBF(1.0, 0.05), noise=0.01, feedback=zn.Beam(width), rng=0)
        gains.append(study.outlook(6).gain)
    assert gains[1] < 0.7 * gains[0]


def test_empirical_means_have_no_other_target() -> None:
    assert (
        zn.Study(SPACE, budget=3, feedback=BEAM, policy=zn.StoOO(zn.GeometricDelta(1.0))).settings.judged == BEAM
    )
    with pytest.raises(InvalidInput, match="no other target"):
        zn.Study(SPACE, budget=3, feedback=BEAM, target=zn.Mean(), policy=zn.StoOO(zn.GeometricDelta(1.0)))


@pytest.mark.parametrize("target", [zn.Slope("x"), zn.Mean, "mean"])
def test_a_target_is_an_average(target: Any) -> None:
    with pytest.raises(InvalidInput):
        zn.Study(SPACE, budget=3, target=target)


def test_members_have_targets_too() -> None:
    space = zn.Points(np.linspace(0, 1, 32)[:, None], smallest=4)
    study = zn.Study(space, budget=8, kernel=KERNEL, noise=0.05, feedback=zn.Center(), target=zn.Mean())
    study.optimize(lambda region: float(region.points[0, 0]))
    best = study.recommend()
    assert tuple(study.predict(best.region)) == pytest.approx((best.mean, best.std))
    assert best.region.center[0] > 0.8
    assert study.predict(best.region, feedback=zn.Center()).std != best.std
