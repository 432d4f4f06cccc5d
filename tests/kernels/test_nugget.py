"""What members have for themselves: its share of averages, where it is learned, and what is said then."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.gp.kernel_families import WithNugget, frame_of, is_rough, kernel_from
from zonal.kernels.finite_covariance import EXACT

LOCAL_FAMILY = WithNugget(zn.Matern, 0.4)


def scattered(n: int, d: int = 2, seed: int = 0) -> zn.Points:
    return zn.Points(np.random.default_rng(seed).uniform(size=(n, d)))


def shares(space: Any, regions: list[Any]) -> Any:
    """Return what each member counts in the average of each region."""
    weights = np.zeros((len(regions), space.size))
    for row, region in zip(weights, regions, strict=True):
        row[region.positions] = space.weights[region.positions]
    return weights / weights.sum(axis=1, keepdims=True)


def test_averages_share_it_as_far_as_they_share_members() -> None:
    rng = np.random.default_rng(1)
    space = zn.Points(rng.uniform(size=(60, 2)), weights=rng.uniform(1, 3, 60))
    regions = [space.cell(node) for node in [(0, 0), (1, 0), (1, 1), (3, 2), (5, 9)]]
    frame = frame_of(space, zn.Mean())
    keys = frame.layout.keys(zn.Mean().footprints(regions))
    of_members = shares(space, regions)
    found = frame.covariance(zn.Nugget(2.0)).of(frame.layout.pairs(keys, keys))
    assert np.allclose(found, 2 * of_members @ of_members.T, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("copies", [1, 2])  # points at one place have it in common
def test_models_are_weighed_on_the_covariances_that_they_have(copies: int) -> None:
    features = np.repeat(np.random.default_rng(2).uniform(size=(40, 2)), copies, axis=0)
    space = zn.Points(features)
    frame = frame_of(space, zn.Mean())
    keys = frame.layout.keys(zn.Mean().footprints([space.cell(node) for node in [(0, 0), (2, 1), (4, 3), (4, 4)]]))
    axes = np.array([0.2, 0.4])
    kernel = kernel_from(LOCAL_FAMILY, 1.0, axes, frame.symbols)
    assert isinstance(kernel, type(zn.RBF(1.0, 1.0) + zn.Nugget(1.0)))
    wanted = frame.covariance(kernel).of(frame.layout.pairs(keys, keys))
    assert np.allclose(frame.correlate(keys)(LOCAL_FAMILY, axes), wanted, rtol=1e-10)


def test_where_few_members_stand_for_a_region_while_learning_all_of_them_share_its_nugget() -> None:
    space = scattered(800)
    frame, regions = frame_of(space, zn.Mean()), [space.cell(node) for node in [(0, 0), (4, 3), (6, 12)]]
    keys = frame.layout.keys(zn.Mean().footprints(regions))
    learned_from = [len(row.learned_from[0]) for row in keys[0]]
    assert max(learned_from) < len(regions[0].positions)  # the smooth part is of some of them
    correlate, axes, share = frame.correlate(keys), np.ones(2), LOCAL_FAMILY.share
    local = correlate(LOCAL_FAMILY, axes) - (1 - share) * correlate(LOCAL_FAMILY.smooth, axes)
    of_members = shares(space, regions)
    assert np.allclose(local, share * of_members @ of_members.T)


@pytest.mark.parametrize(
    ("space", "wanted", "is_learned"),
    [
        (scattered(30), None, True),
        (zn.Hierarchy.from_table({"a": [*"xxyy"], "b": [*"1234"]}, np.eye(4)[:, :2] + 0.1), None, True),
        (scattered(30), zn.Matern, False),
        (scattered(EXACT + 1), None, False),
        (scattered(30, 20), None, False),  # comparing many features takes long
        (zn.Hierarchy.from_table({"a": [*"xxyy"], "b": [*"1234"]}), None, False),
        (zn.Box([(0, 1)]), None, False),
    ],
)
def test_where_a_nugget_is_learned(space: Any, wanted: Any, is_learned: bool) -> None:
    families = frame_of(space, zn.Mean()).families(wanted)
    assert any(isinstance(family, WithNugget) for family, _ in families) == is_learned
    assert sum(math.exp(weight) for _, weight in families) == pytest.approx(1)


def weight_of_nuggets(study: zn.Study) -> float:
    terms = [(weighted.weight, weighted.model.kernel.terms) for weighted in study.models]
    return sum(weight for weight, parts in terms if any(isinstance(part, zn.Nugget) for part in parts))


def test_it_is_learned_where_members_stand_out_and_not_where_f_is_smooth() -> None:
    space, rng = scattered(64), np.random.default_rng(3)
    weights = []
    for scatter in (0.0, 0.7):
        f = np.sin(3 * space.features).sum(axis=1) + scatter * rng.normal(size=64)
        study = zn.Study(space, budget=300, rng=0)
        for position in (*range(64), *range(64)):
            study.observe(space.region([int(space.rows[position])]), f[position] + 0.05 * rng.normal())
        study.refit()
        weights.append(weight_of_nuggets(study))
    assert weights[0] < 0.3 < 0.6 < weights[1]


def test_measuring_a_member_again_does_not_average_its_own_part_away() -> None:
    space = scattered(20)
    kernel = zn.RBF(1.0, 50.0) + zn.Nugget(1.0)
    study = zn.Study(space, budget=60, kernel=kernel, noise=0.5, mean=0.0)
    for _ in range(50):
        study.observe(study.space.region([0]), 2.0)
    beside = study.predict([study.space.region([1])])
    assert study.predict([study.space.region([0])]).std[0] < 0.1
    assert beside.std[0] > 1.0


def test_a_nugget_is_rough_and_has_no_place_where_there_are_no_members_with_features() -> None:
    kernel = zn.Matern(1.0, 0.2) + zn.Nugget(0.2)
    assert is_rough(kernel)
    assert frame_of(scattered(5), zn.Mean()).smoothness(kernel) is None
    for space in (zn.Box([(0, 1)]), zn.Hierarchy({"a": ["b", "c"]})):
        with pytest.raises(zn.InvalidInput, match=r"Nugget|no distances"):
            zn.Study(space, budget=9, kernel=kernel, noise=0.1)


def test_nothing_is_said_to_be_unmeasured_where_every_member_was_observed() -> None:
    space, rng = scattered(30), np.random.default_rng(0)
    study = zn.Study(space, budget=9, rng=0)
    study.observe([(space.region([member]), float(rng.normal())) for member in range(8)])
    assert "were not measured" in study.recommend().note
    study.observe([(space.region([member]), float(rng.normal())) for member in range(8, 30)])
    assert "were not measured" not in study.recommend().note


def test_a_sum_is_shown_as_it_is_written() -> None:
    assert repr(zn.RBF(1.0, 0.5) + zn.Nugget(0.1)) == "RBF(variance=1.0, lengthscale=0.5) + Nugget(variance=0.1)"
