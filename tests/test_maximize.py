"""The one call, both ways, and what it may be given."""

import inspect
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import zonal as zn
from zonal.engine.settings import Given, Settings
from zonal.maximize import Options


def valley(x: np.ndarray) -> np.ndarray:
    return np.asarray((x[:, 0] - 0.3) ** 2)


def test_minimizing_is_maximizing_the_opposite() -> None:
    settings: Any = {"kernel": zn.RBF(0.1, 0.3), "noise": 0.01}
    low = zn.minimize(zn.simulate(valley, zn.Mean(), 0.01, rng=0), [(0, 1)], 20, **settings)
    high = zn.maximize(zn.simulate(lambda x: -valley(x), zn.Mean(), 0.01, rng=0), [(0, 1)], 20, **settings)
    assert low.study.settings.direction == "minimize"
    assert low.mean < 0.05
    assert low.region.bounds[0, 0] < 0.35
    assert high.mean == pytest.approx(-low.mean, abs=0.05)


def test_everything_a_study_takes_can_be_said_at_once() -> None:
    hints = get_type_hints(Given)
    settings = {setting.name for setting in fields(Settings)}
    assert set(hints) == settings - {"space", "budget", "direction", "seed"} | {"rng"}
    assert zn.Study.__doc__ is not None
    assert all(f"{name} : " in zn.Study.__doc__ or f"{name}, " in zn.Study.__doc__ for name in hints)
    running = set(inspect.signature(zn.Study.optimize).parameters) - {"self", "measure", "n", "take_over", "by"}
    assert set(get_type_hints(Options)) == set(hints) | running


def test_a_misspelt_setting_is_named_with_the_one_it_is_like() -> None:
    for call in (zn.maximize, zn.minimize):
        with pytest.raises(TypeError, match=r"imize takes no kernle=\. Did you mean kernel=\?"):
            call(lambda region: 0.0, [(0, 1)], 3, kernle=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Study takes no buget=\. Did you mean budget=\?"):
        zn.Study([(0, 1)], buget=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Study takes no colour=\.$"):
        zn.Study([(0, 1)], budget=3, colour=3)  # type: ignore[call-arg]


CORNER = zn.Box([(0, 1), (0, 1)], smallest=0.125)
NO_RETRY: Any = [{"x0": (0.5, 1), "x1": (0.5, 1)}, [(0, 0.125), (0, 0.125)]]


@pytest.mark.parametrize(
    "given", [NO_RETRY, [CORNER.region(own) for own in NO_RETRY]], ids=["described", "regions"]
)
def test_forbidden_regions_may_be_listed(given: Any) -> None:
    study = zn.Study(CORNER, budget=25, kernel=zn.RBF(1.0, 0.4), noise=0.1, forbidden=given)
    result = study.optimize(zn.simulate(lambda x: x.sum(axis=1), zn.Mean(), 0.1, rng=0))
    forbidden = [CORNER.region(own) for own in NO_RETRY]
    for trial in study.trials:
        assert not any(own.overlaps(trial.region) for own in forbidden)
    assert not any(own.overlaps(result.region) for own in forbidden)


def test_one_forbidden_region_needs_no_list_and_a_function_does_as_well() -> None:
    settings: Any = {"budget": 8, "kernel": zn.RBF(1.0, 0.4), "noise": 0.1}
    walks = []
    for forbidden in (NO_RETRY[0], [NO_RETRY[0]], lambda region: CORNER.region(NO_RETRY[0]).overlaps(region)):
        study = zn.Study(CORNER, forbidden=forbidden, **settings)
        study.optimize(lambda region: float(region.center.sum()))
        walks.append([trial.node for trial in study.trials])
    assert walks[0] == walks[1] == walks[2]


@pytest.mark.parametrize(
    ("forbidden", "problem"),
    [
        (3, "a region's bounds"),
        ([zn.Box([(0, 1)]).cell((0, 0))], "another space"),
        ([{"z": (0, 1)}], "axis that is not there"),
    ],
)
def test_forbidden_regions_that_cannot_be_are_refused(forbidden: Any, problem: str) -> None:
    with pytest.raises(zn.InvalidInput, match=problem):
        zn.Study(CORNER, budget=3, forbidden=forbidden)


def test_warnings_point_at_the_users_line() -> None:
    def deltas(depth: int) -> float:
        return 1.0 + depth

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        zn.maximize(lambda region: 0.0, [(0, 1)], 2, kernel=zn.RBF(1.0, 0.2), noise=0.1, policy=zn.GPOO(deltas))
        zn.maximize(
            lambda region: 40.0 * np.sin(91 * region.center[0]), [(0, 1)], 30, kernel=zn.RBF(1.0, 0.5), noise=0.1
        )
    assert {warning.category for warning in caught} == {zn.SmoothnessWarning, zn.ModelWarning}
    assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}
