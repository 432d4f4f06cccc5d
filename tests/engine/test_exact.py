"""Measurements without noise: opened, replayed or copied, a study believes and asks what it did before."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from effort import tries
from zonal.engine import select

pytestmark = pytest.mark.filterwarnings("ignore::zonal.ModelWarning")

LINE = {"x": (0, 1)}
PARTS: list[Any] = [[(0, 0.25)], [(0.25, 0.5)], [(0, 0.5)]]
DIGITS = [0.0, 1e-8]  # of the averages


def twins(study: zn.Study) -> dict[str, zn.Study]:
    """Return the same study, taken out of everything it can be put into."""
    assert study.path is not None
    return {
        "opened": zn.Study.open(study.path),
        "replayed": zn.Study.replay(study.settings, study.events),
        "at once": zn.Study.replay(study.settings, study.events, batch=True),
        "pickled": pickle.loads(pickle.dumps(study)),
        "copied": copy.deepcopy(study),
    }


def alike(study: zn.Study, tolerance: float) -> None:
    for name, twin in twins(study).items():
        for own in ("mean", "std"):
            there, here = getattr(twin.tree, own), getattr(study.tree, own)
            np.testing.assert_allclose(there, here, rtol=0, atol=tolerance, err_msg=name)
        predicted, before = twin.predict(PARTS), study.predict(PARTS)
        np.testing.assert_allclose(predicted.mean, before.mean, rtol=0, atol=tolerance, err_msg=name)
        assert twin.recommend().region == study.recommend().region, name


def test_of_exact_values_that_contradict_each_other_the_earlier_hold(tmp_path: Path) -> None:
    study = zn.Study.create(tmp_path / "c.db", LINE, budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.0)
    first = study.observe(PARTS[0], 1.617)
    study.observe(PARTS[1], -1.044)
    with pytest.warns(zn.NumericalWarning, match="was ignored"):
        last = study.observe(PARTS[2], 2.208)
    np.testing.assert_allclose(study.predict(PARTS).mean, [1.617, -1.044, 0.2865], rtol=0, atol=1e-9)
    alike(study, 1e-12)
    study.observe([(0.75, 1)], 0.3)  # nothing more is said of it
    study.correct(last, 0.2865)
    alike(study, 1e-12)
    study.retract(first)  # now the last one holds
    study.correct(last, 1.0)
    np.testing.assert_allclose(study.predict(PARTS).mean, [3.044, -1.044, 1.0], rtol=0, atol=1e-9)
    alike(study, 1e-12)
    study.tell(study.ask(), 0.5)
    alike(study, 1e-12)
    assert study.snapshot(1)[0].predict(PARTS).mean == pytest.approx(study.predict(PARTS).mean, abs=1e-12)


@pytest.mark.parametrize("scale", [0.1, 0.2])
@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("seed", range(tries(1, 6)))
def test_a_file_asks_as_its_study_does_without_noise(
    scale: float, digits: float, seed: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    waves = rng.normal(size=3), rng.uniform(0.5, 6, 3), rng.uniform(0, 6, 3)
    path = tmp_path / "exact.db"
    study = zn.Study.create(path, LINE, budget=30, kernel=zn.RBF(1.0, scale), noise=0.0)
    for _ in range(30):
        opened = zn.Study.open(path)
        assert_close(opened, study)
        trial = study.ask()
        asked = select.ask(opened._state, "somebody").asked
        assert (asked[-1].window or asked[-1]).node == trial.node
        study.tell(trial, average(trial.region, *waves) + digits * float(rng.normal()))
    alike(study, 1e-7)


def assert_close(one: zn.Study, other: zn.Study) -> None:
    np.testing.assert_allclose(one.tree.mean, other.tree.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.tree.std, other.tree.std, rtol=0, atol=1e-7)


def average(region: Any, heights: Any, rates: Any, phases: Any) -> float:
    """Return the mean of a sum of sines over an interval."""
    ((low, high),) = region.bounds
    parts = heights * (np.cos(rates * low + phases) - np.cos(rates * high + phases)) / rates
    return float(parts.sum() / (high - low))


def test_without_noise_an_opened_study_believes_and_asks_the_same_to_the_last_bit() -> None:
    study = zn.Study(
        zn.Box({"layers": (1, 12)}, scale="integer"), budget=24, kernel=zn.RBF(1.0, 4.0), noise=0.0, rng=29
    )
    for number, value in enumerate((0.031, 2.089, -0.025, -1.071)):
        trial, *_ = study.ask(3)  # the others stay pending, until little is left to learn
        study.tell(trial, value)
        again = zn.Study.replay(study.settings, study.events, batch=True)
        assert np.array_equal(again.tree.mean, study.tree.mean), number
        assert np.array_equal(again.tree.std, study.tree.std), number
        assert [trial.node for trial in again.ask(2)] == [trial.node for trial in study.ask(2)]
