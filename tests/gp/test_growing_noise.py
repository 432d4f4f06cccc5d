"""Noise that grows with the value: means stay, variances are those of such readings, and answers know it."""

import numpy as np
import pytest

import zonal as zn
from zonal.engine.stated import stated
from zonal.gp.growing_noise import WithMoreNoise
from zonal.kernels.feedback import footprints_of

SPACE = zn.Box([(0, 1)], smallest=1 / 32)
REGIONS = [SPACE.cell((5, index)) for index in range(32)]


def hill(center: float) -> float:
    return 1 + 9 * float(np.exp(-0.5 * ((center - 0.6) / 0.15) ** 2))


def told(share: float, same: float, lift: float = 0.0, seed: int = 1) -> zn.Study:
    """Return a study of every smallest region, read three times; noise is a share of the value, or not."""
    study, rng = zn.Study(SPACE, budget=5, rng=0), np.random.default_rng(seed)
    for region in REGIONS:
        value = hill(float(region.center[0]))
        for _ in range(3):
            noise = np.hypot(share * value, same) * rng.standard_normal()
            study.observe(region, lift + value + float(noise))
    return study


def believed(study: zn.Study) -> tuple[float, float]:
    """Return mean and standard deviation that the search has of the answer."""
    row = int(np.argmax(np.where(study.tree.depth == study.tree.depth.max(), study.tree.mean, -np.inf)))
    return float(study.tree.mean[row]), float(study.tree.std[row])


def test_what_is_stated_of_the_answer_knows_that_noise_grows_with_the_value() -> None:
    study = told(share=0.2, same=0.0)
    answer = study.recommend(on_grid=True)
    mean, std = believed(study)
    assert stated(study._state).noise_grows > 0.9
    assert answer.mean == pytest.approx(mean, rel=1e-9)
    assert answer.std > 1.15 * std
    assert "noise may grow with the value" in answer.note
    assert "noise may grow with the value" in repr(answer)
    window = study.recommend()
    prediction = study.predict(window.region)
    assert window.mean == pytest.approx(prediction.mean, rel=1e-9)
    assert window.std > 1.15 * prediction.std
    assert window.note == answer.note
    assert window.gap > 0


@pytest.mark.parametrize("lift", [0.0, -20.0])
def test_constant_noise_widens_nothing(lift: float) -> None:
    study = told(share=0.0, same=0.7, lift=lift)
    answer = study.recommend(on_grid=True)
    assert answer.std == pytest.approx(believed(study)[1], rel=0.05)
    assert answer.note == ""


@pytest.mark.parametrize("readings", [2, 3, 12])
def test_far_from_zero_the_same_is_stated_as_below_it(readings: int) -> None:
    """The noise of 1000.3 is that of 1000.1: a constant that is added to all readings widens nothing."""
    answers = []
    for lift in (-20.0, 1e6):
        study, rng = zn.Study(SPACE, budget=5, rng=0), np.random.default_rng(2)
        for region in REGIONS[:: len(REGIONS) // readings][:readings]:
            study.observe(region, lift + hill(float(region.center[0])) + float(rng.normal(0, 0.7)))
        answers.append(study.recommend(on_grid=True))
    below, far = answers
    assert far.std == pytest.approx(below.std, rel=1e-3)
    assert far.gap == pytest.approx(below.gap, rel=1e-2)
    assert far.note == below.note


def test_however_plain_it_is_that_noise_grows_the_answer_is_a_number() -> None:
    """The odds may be larger than the largest number there is."""
    study, rng = zn.Study(zn.Box([(0, 1)], smallest=1 / 8), budget=5, rng=0), np.random.default_rng(3)
    regions = [study.space.cell((3, index)) for index in range(8)]
    values = np.repeat(2.0 ** np.arange(8), 400)
    readings = values * np.exp(0.2 * rng.standard_normal(values.size))
    study.observe(list(zip(np.repeat(regions, 400).tolist(), readings.tolist(), strict=True)))
    assert stated(study._state).noise_grows == pytest.approx(1.0)
    assert study.recommend(on_grid=True).std > believed(study)[1]


def test_variances_are_those_of_means_of_readings_with_that_noise() -> None:
    """Of weights W, what readings of other noise leave: prior - 2 W cross + W (K + noise) W'."""
    study = told(share=0.2, same=0.0)
    state, wider = study._state, stated(study._state).state
    for member, grown in zip(state.belief.members, wider.belief.members, strict=True):
        assert isinstance(grown, WithMoreNoise)
        slots = grown.slots
        everything = np.arange(wider.tracked.size)
        prior = grown._covariance.of(wider.tracked.between(everything, everything))
        weights = np.linalg.solve(prior[np.ix_(slots, slots)] + np.diag(grown.noise_of_rows), prior[slots])
        noise = np.diag(grown.noise_of_rows + grown._more**2)
        together = prior[np.ix_(slots, slots)] + noise
        cross = weights.T @ prior[slots]
        expected = prior - cross - cross.T + weights.T @ together @ weights
        assert grown.mean == pytest.approx(member.mean, abs=1e-8)
        assert grown.variance == pytest.approx(np.diag(expected), abs=1e-7)
        assert grown.covariance(everything) == pytest.approx(expected, abs=1e-7)
    footprints = footprints_of([state.region(0), *REGIONS], zn.Mean())
    slots = np.array([0, *state.ledger.data().slots])
    assert wider.belief.predict(footprints)[1] == pytest.approx(wider.belief.columns[1][slots], abs=1e-7)


def test_readings_of_known_noise_or_below_zero_stay_as_they_are() -> None:
    study = told(share=0.2, same=0.0)
    below = told(share=0.2, same=0.0, lift=-20.0)
    study.observe(REGIONS[0], 1.0, sem=0.1)
    for other in (study, below):
        assert stated(other._state) == (other._state, 0.0)
