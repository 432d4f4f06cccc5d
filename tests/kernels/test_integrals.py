"""Averages for intervals off the grid: as exact as those of cells, and computed once for each geometry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.gp.kernel_families import ModelSpace
from zonal.kernels.covariance import AxisCovariance
from zonal.kernels.integrals import quick
from zonal.kernels.periodic import Wrapped
from zonal.kernels.stationary import MaternProfile, Profile, RBFProfile

MATERN = [MaternProfile(0.5, 1.0), MaternProfile(1.5, 1.0, 1.0), MaternProfile(2.5, 1.0, 1.0, 1 / 3)]
PROFILES: list[Profile] = [RBFProfile(), *MATERN, Wrapped(MATERN[2], 3.0), Wrapped(RBFProfile(), 5.0)]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda own: type(own).__name__)
def test_quick_averages_are_the_usual_ones_to_rounding(profile: Profile) -> None:
    rng, number = np.random.default_rng(0), 400
    gap = np.concatenate([rng.uniform(-8, 8, number), rng.uniform(-1, 1, number), np.zeros(20)])
    wide, narrow, spread = 10 ** rng.uniform(-6, [[0.5], [0.5], [1.0]], (3, len(gap)))
    wide[:100] = narrow[:100]
    same = quick(profile)
    assert same is not profile
    np.testing.assert_allclose(same.mean(gap, wide, narrow), profile.mean(gap, wide, narrow), rtol=0, atol=1e-14)
    np.testing.assert_allclose(same.blurred(gap, spread), profile.blurred(gap, spread), rtol=0, atol=1e-14)


def test_a_profile_of_ones_own_has_its_own_averages() -> None:
    class Steeper(RBFProfile):
        pass

    own = Steeper()
    assert quick(own) is own


@pytest.mark.parametrize("feedback", [zn.Mean(), zn.Beam(0.02)], ids=str)
def test_pairs_at_equal_distances_off_the_grid_are_averaged_once(
    feedback: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[int] = []
    usual = AxisCovariance._fill

    def counted(self: Any, measure: Any, profile: Any, cases: Any, geometry: Any) -> None:
        computed.append(len(set(cases.tolist())))
        usual(self, measure, profile, cases, geometry)

    monkeypatch.setattr(AxisCovariance, "_fill", counted)
    space = zn.Box([(0, 1)], smallest=1 / 64)
    frame = ModelSpace(space, feedback)
    cells = [space.region([(k / 64, (k + 1) / 64)]) for k in range(60)]
    moved = [space.region([(k / 64 + 0.0371, (k + 1) / 64 + 0.0371)]) for k in range(60)]
    keys = frame.layout.keys(feedback.footprints([*cells, *moved]))
    covariance = frame.covariance(zn.Matern(1.0, 0.2)).of(frame.layout.pairs(keys, keys))
    assert sum(computed) <= 60 + 60 + 119 + 60  # 3,660 if each pair off the grid were a case
    np.testing.assert_allclose(covariance[60:, 60:], covariance[:60, :60], rtol=0, atol=1e-14)
