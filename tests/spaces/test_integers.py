"""Axes of whole numbers, symbols that are numbers or booleans, and points drawn within a region."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinds
import zonal as zn
from effort import examples
from kinds import KINDS, Kind
from numbered_covariance import numbered
from zonal.spaces import IntegerAxis
from zonal.study.region_formats import exact_cells, region_in_row, region_json

LAYERS = zn.Box({"layers": (1, 12)}, scale="integer", units=["pcs"])


def runs(space: Any, cell: Any) -> list[tuple[int, int]]:
    """Return the smallest regions within a cell, by splitting."""
    if not space.may_split(cell):
        return [tuple(cell["layers"])]
    return [run for child in space.split(cell) for run in runs(space, child)]


@examples(60)
@given(first=st.integers(-50, 50), more=st.integers(1, 60), arity=st.integers(2, 5))
def test_runs_are_split_down_to_single_numbers_each_once(first: int, more: int, arity: int) -> None:
    space = zn.Box({"layers": (first, first + more)}, arity=arity, scale="integer")
    assert runs(space, space.cell((0, 0))) == [(n, n) for n in range(first, first + more + 1)]
    depth = space.max_depth()
    assert depth == math.ceil(math.log(more + 1, arity) - 1e-12)
    for level in kinds.levels(space, deepest=depth):
        sizes = {cell.weight for cell in level}
        assert max(sizes) - min(sizes) <= 1 or min(sizes) == 1
    assert [space.partition.count(h) for h in range(depth + 1)] == [
        len(level) for level in kinds.levels(space, deepest=depth)
    ]
    assert space.partition.leaves(depth) == more + 1
    leaves = [space.cell(space.partition.leaf(depth, number))["layers"] for number in range(more + 1)]
    assert leaves == [(n, n) for n in range(first, first + more + 1)]


def test_a_smallest_run_has_about_so_many_numbers() -> None:
    space = zn.Box({"layers": (1, 100)}, scale="integer", smallest=7)
    found = runs(space, space.cell((0, 0)))
    assert {last - first + 1 for first, last in found} == {6, 7}
    assert [first for first, _ in found[1:]] == [last + 1 for _, last in found[:-1]]


def test_other_axes_go_on_where_a_number_stands_alone() -> None:
    space = zn.Product({"n": (1, 3), "x": (0, 1)}, scale={"n": "integer"}, smallest={"n": 1, "x": 0.25})
    smallest = [cell for cell in kinds.cells(space, deepest=8) if not space.may_split(cell)]
    assert {(cell["n"], cell["x"]) for cell in smallest} == {
        ((n, n), (k / 4, (k + 1) / 4)) for n in (1, 2, 3) for k in range(4)
    }
    assert len(smallest) == 12


def test_empty_cells_are_not_there() -> None:
    space = zn.Box({"layers": (1, 5)}, scale="integer")
    with pytest.raises(zn.InvalidInput, match="this cell of the tree is empty"):
        space.cell((3, 2))
    with pytest.raises(zn.InvalidInput, match="index below the number of cells"):
        space.cell((3, 8))


def test_a_part_is_a_first_and_a_last_number_or_one() -> None:
    assert LAYERS.region({"layers": (3, 5)}).name == "layers 3..5 pcs"
    one = LAYERS.region({"layers": 4})
    assert (one.name, one.as_dict(), one["layers"], one.weight) == (
        "layers 4 pcs",
        {"layers": [4, 4]},
        (4, 4),
        1.0,
    )
    assert one == LAYERS.region([(4.0, 4.0)]) == LAYERS.region(LAYERS.from_text("layers=4"))
    assert exact_cells(LAYERS.region(LAYERS.from_text("layers 3..5 pcs"))) == [3, 5]
    assert LAYERS.region(region_in_row(LAYERS, {"layers_low": "3", "layers_high": "5"})).bounds.tolist() == [
        [3, 5]
    ]
    assert region_json(one)["bounds"] == {"layers": [4, 4]}
    assert LAYERS.region({"layers": (1, 4)}).contains(one)
    assert not LAYERS.region({"layers": (1, 3)}).overlaps(one)
    assert LAYERS.region({"layers": (3, 4)}).center.tolist() == [3.5]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: zn.Box([(0.5, 3)], scale="integer"), "a bound of axis x must be a whole number"),
        (lambda: zn.Box([(0, 10**6)], scale="integer"), "more than 10000 numbers"),
        (lambda: zn.Box([(0, 9)], scale="integer", smallest=0.5), "smallest on axis x must be a whole number"),
        (
            lambda: zn.Box([(0, 9)], scale="integer", smallest=11),
            "smallest on axis x is too large; got 11",
        ),
        (lambda: LAYERS.region({"layers": (1.5, 3)}), "a bound on axis layers must be a whole number"),
        (lambda: LAYERS.region({"layers": (0, 3)}), r"within axis layers \(1 to 12\)"),
        (lambda: LAYERS.region({"layers": (5, 3)}), "low before high"),
        (lambda: LAYERS.region({"layers": "many"}), "a bound on axis layers"),
        (lambda: LAYERS.region({"layers": (1, 2, 3)}), "must be a pair"),
        (lambda: LAYERS.region(LAYERS.from_text("layers=few")), "must be a number"),
    ],
)
def test_what_is_no_run_of_numbers_is_refused(make: Any, problem: str) -> None:
    with pytest.raises(zn.InvalidInput, match=problem):
        make()


@pytest.mark.parametrize("kernel", [zn.RBF(0.7, 3.0), zn.Matern(0.7, 2.0, nu=0.5)], ids=repr)
@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(3), zn.Mean(), zn.Beam(2.5)], ids=repr)
def test_an_average_is_over_the_numbers_of_a_run(kernel: Any, feedback: Any) -> None:
    space = zn.Box({"n": (-3, 20)}, scale="integer")
    regions = [*kinds.cells(space, deepest=6), *kinds.off_tree(Kind(space), 8, seed=0)]
    found = numbered(kernel, feedback, space.axes).add(feedback.footprints(regions))
    seen = [(own.points, own.weights) for own in (space.region(region.as_dict(), feedback) for region in regions)]
    expected = np.array([[w @ kernel(x, y) @ v for y, v in seen] for x, w in seen])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    assert all((points % 1 == 0).all() and weights.sum() == pytest.approx(1) for points, weights in seen)


def test_the_mean_of_a_function_over_numbers_is_exact() -> None:
    measure = zn.simulate(lambda x: x[:, 0] ** 2, zn.Mean())
    assert measure.average(LAYERS.region({"layers": (2, 4)})) == pytest.approx((4 + 9 + 16) / 3, rel=1e-15)
    table = zn.simulation.from_table(LAYERS, np.arange(1.0, 13))
    assert table.average({"layers": (2, 4)}) == pytest.approx(3.0)
    assert table.best().region["layers"] == (12, 12)
    with pytest.raises(zn.InvalidInput, match=r"values must have shape \(12\)"):
        zn.simulation.from_table(LAYERS, np.arange(7.0))


def test_the_best_number_is_found_kept_and_drawn(tmp_path: Path) -> None:
    space = zn.Product({"n": (0, 100), "rate": [0.1, 0.01, 0.001], "bias": [True, False]}, scale={"n": "integer"})
    study = zn.Study(space, budget=40, rng=0)

    def measure(region: zn.Region) -> float:
        values = [
            -(((one["n"] - 37) / 30) ** 2) - abs(math.log10(one["rate"]) + 2) + 0.2 * one["bias"]
            for one in region.sample(64, 0)
        ]
        return float(np.mean(values))

    study.optimize(measure)
    best = study.recommend().region
    assert (best["rate"], best["bias"]) == ((0.01,), (True,))
    assert 30 <= best["n"][0] <= best["n"][1] <= 44
    study.save(tmp_path / "n.db")
    again = zn.Study.open(tmp_path / "n.db")
    assert again.settings == study.settings
    assert isinstance(again.space.axes[0], IntegerAxis)
    assert again.events == study.events
    for kind in (None, "model", "history"):
        study.plot(kind)


@pytest.mark.parametrize("name", [*KINDS, "log"])
def test_points_drawn_in_a_region_lie_in_it(name: str) -> None:
    space: Any = zn.Box([(1e-3, 10.0)], scale="log") if name == "log" else KINDS[name].space
    for region in [*kinds.cells(space, most=20, deepest=2)][:6]:
        drawn = region.sample(20, rng=1)
        assert len(drawn) == 20
        assert np.array_equal(np.array(drawn, dtype=object), np.array(region.sample(20, 1), dtype=object))
        for one in drawn:
            if isinstance(drawn, list):
                inside = space.region(one if isinstance(one, str) else {k: at(v) for k, v in one.items()})
                assert region.contains(inside), one
            else:
                low, high = region.bounds.T
                assert ((low - 1e-12 <= one) & (one <= high + 1e-12)).all()


def at(value: Any) -> Any:
    """Return a place on an axis as a part of it: numbers as points."""
    return (value, value) if isinstance(value, float) else value


def test_points_are_drawn_by_weight_and_by_decade() -> None:
    points = zn.Points({"x": [0.0, 1.0]}, weights=[1, 9])
    assert points.region([0, 1]).sample(2000, 0).mean() == pytest.approx(0.9, abs=0.03)
    decades = zn.Box([(1e-3, 1e3)], scale="log").cell((0, 0)).sample(2000, 0)
    assert np.median(np.log10(decades)) == pytest.approx(0, abs=0.2)
    with pytest.raises(zn.InvalidInput, match="n must be at least 0"):
        points.region([0]).sample(-1)


def test_symbols_may_be_numbers_and_booleans() -> None:
    space = zn.Product({"layers": [1, 2, 4], "shuffle": [True, False], "rate": {0.1: 1, 0.5: 3}, "x": (1, 2)})
    assert space.continuous_axes == (3,)
    region = space.region({"layers": [2, 4], "shuffle": True})
    assert region.name == "layers 2|4, shuffle True, rate any, x 1..2"
    assert (region["layers"], region["shuffle"], region["rate"]) == ((2, 4), (True,), (0.1, 0.5))
    assert space.region(space.from_text(region.name)) == region
    assert space.region(region.as_dict()) == region
    assert space.region({"layers": np.int64(2)})["layers"] == (2,)
    with pytest.raises(zn.InvalidInput, match="axis layers has no such symbol"):
        space.region({"layers": 3})
