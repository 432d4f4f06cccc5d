"""Regions beyond a threshold: by standard deviations, and joined where they touch."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.io.result_table import Span
from zonal.study.listings import RegionProbabilities


def beyond(space: Any, regions: Any, threshold: float = 1.0, side: str = "above") -> RegionProbabilities:
    """Return a table of regions of a space with their means; the first is the highest."""
    likely = [zn.RegionProbability(space.region(where), mean, 0.1, 0.99, 3.0) for where, mean in regions]
    return RegionProbabilities("Regions", {}, {}, tuple(likely), None, threshold, side)


SQUARE = zn.Box({"x": (0, 4), "y": (0, 4)}, smallest=1)


def cells(*corners: tuple[int, int], mean: float = 2.0) -> list[Any]:
    return [([(x, x + 1), (y, y + 1)], mean) for x, y in corners]


def test_regions_that_share_a_side_are_one_patch_and_those_that_share_a_corner_are_not() -> None:
    joined = beyond(SQUARE, cells((0, 0), (1, 0), (1, 1), (2, 2), (3, 0))).patches()
    assert [len(patch.regions) for patch in joined] == [3, 1, 1]
    assert len(joined) == 3
    assert joined[0].size == 3.0
    assert joined[0].extent.tolist() == [[0, 2], [0, 2]]
    assert joined["regions"] == [3, 1, 1]


def test_a_patch_has_its_peak_and_a_centroid_drawn_to_what_is_high() -> None:
    joined = beyond(
        SQUARE, [*cells((0, 0), mean=1.5), *cells((1, 0), mean=3.0), *cells((2, 0), mean=1.5)]
    ).patches()
    (patch,) = joined
    assert patch.peak.region.name == "x 1..2, y 0..1"
    assert patch.mean == 2.0
    assert patch.centroid.tolist() == [1.5, 0.5]
    (patch,) = beyond(SQUARE, [*cells((0, 0), mean=1.0), *cells((1, 0), mean=3.0)]).patches()
    assert patch.centroid.tolist() == [1.5, 0.5]  # what is at the threshold has no say
    (patch,) = beyond(SQUARE, [*cells((0, 0), mean=-3.0), *cells((1, 0), mean=0.0)], side="below").patches()
    assert patch.peak.mean == -3.0
    assert patch.centroid.tolist() == [(0.5 * 4 + 1.5 * 1) / 5, 0.5]


def test_the_highest_peak_comes_first() -> None:
    joined = beyond(SQUARE, [*cells((0, 0), mean=2.0), *cells((3, 3), mean=5.0)]).patches()
    assert [patch.peak.mean for patch in joined] == [5.0, 2.0]
    assert joined["patch"] == [1, 2]


def test_patches_go_across_the_cut_of_a_ring() -> None:
    ring = zn.Box({"l": (-180, 180), "b": (0, 1)}, periodic=["l"], units={"l": "deg"}, smallest=[45, 0.5])
    arcs = [({"l": (low, low + 45), "b": (0, 0.5)}, 2.0) for low in (-180, 135, 90)]
    (patch,) = beyond(ring, arcs).patches()
    assert patch.extent.tolist() == [[90, 225], [0, 0.5]]
    assert patch.centroid.tolist() == [157.5, 0.25]
    (two,) = beyond(ring, arcs[:2]).patches()
    assert abs(two.centroid[0]) == 180
    (whole,) = beyond(
        ring, [({"l": (low, low + 45), "b": (0, 0.5)}, 2.0) for low in range(-180, 180, 45)]
    ).patches()
    assert whole.extent[0].tolist() == [-180, 180]
    assert "l low [deg]" in beyond(ring, arcs).patches().to_dict()


def test_a_patch_that_goes_most_of_the_way_around_a_ring_ends_at_its_gap() -> None:
    ring = zn.Box({"l": (0, 360)}, periodic=["l"], smallest=45)
    (patch,) = beyond(ring, [([(low, low + 45)], 2.0) for low in (0, 45, 90, 135, 180, 270, 315)]).patches()
    assert patch.extent.tolist() == [[270, 585]]


def test_runs_of_integers_touch_and_logarithms_are_averaged_in_decades() -> None:
    mixed = zn.Product({"n": (1, 8), "p": (0.01, 100)}, scale={"n": "integer", "p": "log"})
    runs = [
        ({"n": (1, 2), "p": (1, 10)}, 2.0),
        ({"n": (3, 4), "p": (1, 10)}, 2.0),
        ({"n": (6, 7), "p": (1, 10)}, 2.0),
    ]
    first, second = sorted(beyond(mixed, runs).patches(), key=lambda patch: -patch.size)
    assert (len(first.regions), len(second.regions)) == (2, 1)
    assert first.extent.tolist() == [[1, 4], [1, 10]]
    assert first.centroid == pytest.approx([2.5, 10**0.5])


def test_different_symbols_do_not_touch() -> None:
    mixed = zn.Product({"x": (0, 1), "dye": ["red", "green"]})
    rows = [({"x": (0, 0.5), "dye": dye}, 2.0) for dye in ("red", "green")] + [
        ({"x": (0.5, 1), "dye": "red"}, 2.0)
    ]
    assert sorted(len(patch.regions) for patch in beyond(mixed, rows).patches()) == [1, 2]
    assert np.isnan(beyond(mixed, rows).patches()[0].centroid[1])
    with pytest.raises(zn.InvalidInput, match="regions of symbols alone do not touch"):
        beyond(zn.Sequences("AC", 3), [("AAA", 2.0), ("AAC", 2.0)]).patches()


def test_patches_are_those_of_a_search_through_all_pairs() -> None:
    rng = np.random.default_rng(0)
    there = rng.random((8, 8)) < 0.5
    space = zn.Box([(0, 8), (0, 8)], smallest=1)
    rows = [([(x, x + 1), (y, y + 1)], 2.0) for x, y in np.argwhere(there).tolist()]
    groups = [{tuple(place)} for place in np.argwhere(there).tolist()]
    for one, other in itertools.combinations(np.argwhere(there).tolist(), 2):
        if abs(one[0] - other[0]) + abs(one[1] - other[1]) == 1:
            mine, yours = (next(g for g in groups if tuple(place) in g) for place in (one, other))
            if mine is not yours:
                mine |= yours
                groups.remove(yours)
    assert sorted(len(patch.regions) for patch in beyond(space, rows).patches()) == sorted(map(len, groups))


def test_points_touch_within_a_distance_that_is_asked_for() -> None:
    points = zn.Points([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]])
    rows: list[Any] = [([0], 2.0), ([1], 3.0), ([2], 2.0)]
    with pytest.raises(zn.InvalidInput, match=r"have no sides by which they touch; got None. Pass within="):
        beyond(points, rows).patches()
    first, second = beyond(points, rows).patches(within=1.5)
    assert first.extent.tolist() == [[0, 1], [0, 0]]
    assert first.centroid == pytest.approx([2 / 3, 0])
    assert second.size == 1
    with pytest.raises(zn.InvalidInput, match="areas without coordinates do not touch"):
        beyond(zn.Hierarchy({"A": ["1", "2"]}), [("A", 2.0)]).patches(1.0)
    with pytest.raises(zn.InvalidInput, match="Leave within= out"):
        beyond(SQUARE, cells((0, 0))).patches(within=1.0)


def test_nothing_beyond_the_threshold_has_no_patches() -> None:
    joined = beyond(SQUARE, []).patches()
    assert len(joined) == 0
    assert list(joined) == []


def measured(**settings: Any) -> zn.Study:
    space = zn.Box({"x": (0, 1)}, smallest=1 / 8)
    study = zn.Study(space, budget=20, kernel=zn.RBF(1.0, 0.05), noise=0.1, **settings)
    for number in range(8):
        study.observe([(number / 8, (number + 1) / 8)], [0, 1, 5, 9, 9, 0, 6, 0][number])
    return study


def test_regions_are_listed_by_standard_deviations() -> None:
    study = measured()
    found = study.above(4, sigma=20)
    assert [row.region.name for row in found] == [row.region.name for row in study.above(4) if row.sigma >= 20]
    assert 0 < len(found) < len(study.above(4))
    for row in found:
        assert row.sigma == (row.mean - 4) / row.std
    assert found["sigma"] == sorted(found["sigma"], reverse=True)  # type: ignore[type-var]
    assert "is above 4 by 20 standard deviations" in found.title
    low = study.below(4, sigma=20)
    assert all(row.sigma == (4 - row.mean) / row.std >= 20 for row in low)
    assert len(low) == 4
    with pytest.raises(zn.InvalidInput, match="Pass one of the two"):
        study.above(4, 0.9, sigma=5)
    with pytest.raises(zn.InvalidInput, match="sigma must be"):
        study.above(4, sigma=float("nan"))
    exact: Any = Fraction(20)
    assert study.above(4, sigma=exact).title == found.title


def test_equally_certain_regions_are_in_the_order_of_sigma() -> None:
    found = measured().above(1.5)
    assert {row.probability for row in found} == {1.0}
    assert found["sigma"] == sorted(found["sigma"], reverse=True)  # type: ignore[type-var]


def test_a_study_joins_what_it_lists() -> None:
    first, second = measured().above(4).patches()
    assert (len(first.regions), len(second.regions)) == (3, 1)
    assert first.extent.tolist() == [[0.25, 0.625]]


def test_axes_keep_their_names_in_a_table_of_patches_and_ours_yield() -> None:
    space = zn.Box({"size": (0, 1), "size centroid": (0, 1)}, smallest=1 / 4)
    study = zn.Study(space, budget=20, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    study.observe([(0.5, 0.75), (0, 0.25)], 9.0, sem=0.01)
    joined = study.above(4).patches()
    assert isinstance(joined["size"][0], Span)
    assert isinstance(joined["size centroid"][0], Span)
    assert joined["patch size"] == [patch.size for patch in joined]
    assert joined["patch size centroid"] == [patch.centroid[0] for patch in joined]
    assert "size (axis)" not in joined.columns
    extents = [space.region(patch.extent) for patch in joined]
    assert study.predict(joined).mean.tolist() == study.predict(extents).mean.tolist()


def test_a_column_of_patches_is_not_read_as_a_categorical_axis() -> None:
    space = zn.Product({"x": (0, 1), "regions": ["1", "2"]}, smallest={"x": 1 / 4})
    study = zn.Study(space, budget=20, kernel=zn.RBF(1.0, 0.2) * zn.Categorical(1.0, 0.5), noise=0.1)
    study.observe({"x": (0, 0.25), "regions": ["2"]}, 9.0, sem=0.01)
    joined = study.above(4).patches()
    assert joined["patch regions"] == [len(patch.regions) for patch in joined]
    assert "regions" not in joined.columns
