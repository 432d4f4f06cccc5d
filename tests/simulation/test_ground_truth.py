"""Tables as oracles: known answers of real data, averages against numpy, the best region against brute force."""

import csv
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinds
import zonal as zn
from effort import examples
from kinds import KINDS, Kind
from zonal.plotting.style import outline
from zonal.simulation import Landscape, datasets, from_table
from zonal.spaces import CategoricalAxis, ContinuousAxis

CENSUS = Path(__file__).parents[3] / "shared" / "data" / "census_au_sa2.csv"
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def axes_of(kind: Kind) -> tuple[str, ...] | None:
    """Return the names of the axes of a box or product, for tables with any numbers of pixels."""
    space: Any = kind.space
    return None if space.axes is None or space.is_sequence else space.names


# Known answers.


@pytest.fixture(scope="module")
def sky() -> Landscape:
    box = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, smallest=[360 / 256, 2 / 128])
    return from_table(box, datasets.sky().T)


@pytest.mark.parametrize(("cells", "best"), [(16, 24.6), (256, 74.05), (4096, 160.7)])
def test_the_brightest_cells_of_the_sky_are_known(sky: Landscape, cells: int, best: float) -> None:
    depth = cells.bit_length() - 1
    assert sky.space.partition.count(depth) == cells
    assert sky.best(depth).average == pytest.approx(best, abs=0.05)


def test_the_runners_up_of_the_sky_are_known(sky: Landscape) -> None:
    for depth, second in ((8, 73.82), (12, 152.9)):
        averages = sorted(sky.average(sky.space.cell((depth, i))) for i in range(2**depth))
        assert averages[-2] == pytest.approx(second, abs=0.05)
        assert averages[-1] == pytest.approx(sky.best(depth).average)


def test_the_brightest_pixel_of_the_sky_is_the_best_smallest_region(sky: Landscape) -> None:
    assert sky.best().average == pytest.approx(float(datasets.sky().max()))
    assert sky.space.max_depth() == 15
    assert sky.best() == sky.best(15)
    row, column = np.unravel_index(datasets.sky().argmax(), (128, 256))
    low, high = sky.best().region.bounds.T
    assert low == pytest.approx([-180 + column * 360 / 256, -1 + row * 2 / 128])
    assert high == pytest.approx([-180 + (column + 1) * 360 / 256, -1 + (row + 1) * 2 / 128])
    assert sky.regret(sky.space.cell((0, 0))) == pytest.approx(float(datasets.sky().max() - datasets.sky().mean()))


def test_the_best_prefixes_of_the_binding_scores_are_known() -> None:
    table = datasets.tfbind8()
    dna = from_table(zn.Sequences("ACGT", 8), dict(zip(table.sequences, table.e_score.tolist(), strict=True)))
    known = {"T": 0.0045, "AT": 0.113, "ATA": 0.220, "TATC": 0.343, "ATATC": 0.409, "TGATAC": 0.465}
    for prefix, score in known.items():
        best = dna.best(len(prefix))
        assert best.region.name == prefix + "N" * (8 - len(prefix))
        assert best.average == pytest.approx(score, abs=0.0006)
    assert dna.best().region.name == "AGGTATCA"  # the first of two
    for sequence in ("AGGTATCA", "TGATACCT"):
        assert dna.average(dna.space.region(sequence)) == dna.best().average
        assert dna.regret(dna.space.region(sequence)) == 0
    assert dna.best().average == pytest.approx(0.491, abs=0.0006)


def test_the_order_of_a_table_of_sequences_is_that_of_the_alphabet() -> None:
    table = datasets.tfbind8()
    by_name = from_table(zn.Sequences("ACGT", 8), dict(zip(table.sequences, table.e_score.tolist(), strict=True)))
    in_order = from_table(zn.Sequences("ACGT", 8), table.e_score)
    for name in ("NNNNNNNN", "ATNNNNNN", "NNNNNNAC", "RYSWKMBD", "ACGTACGT"):
        assert in_order.average(in_order.space.region(name)) == by_name.average(by_name.space.region(name))


@pytest.mark.skipif(not CENSUS.exists(), reason="the census is not shipped")
def test_the_oldest_regions_of_the_census_are_known() -> None:
    """The best of all regions with at least 500 persons, at every level."""
    with CENSUS.open() as file:
        rows = [row for row in csv.DictReader(file) if int(row["persons"]) > 0]
    levels = {name: [row[f"{name}_code"] for row in rows] for name in ("state", "sa4", "sa3", "sa2")}
    names = {row[f"{level}_code"]: row[f"{level}_name"] for row in rows for level in levels}
    persons = [float(row["persons"]) for row in rows]
    areas = zn.Hierarchy.from_table(levels, weights=persons)
    ages = from_table(areas, [float(row["sum_age"]) / float(row["persons"]) for row in rows])
    known = [
        ("Tasmania", 41.23),
        ("Mid North Coast", 45.79),
        ("South East Coast", 49.86),
        ("Tea Gardens - Hawks Nest", 54.97),
    ]
    for depth, (name, age) in enumerate(known, start=1):
        cells = [areas.cell((depth, index)) for index in range(areas.partition.count(depth))]
        assert ages.best(depth).average == pytest.approx(max(map(ages.average, cells)))
        best = max((cell for cell in cells if cell.weight >= 500), key=ages.average)
        assert names[best.name.split(" > ")[-1]] == name
        assert ages.average(best) == pytest.approx(age, abs=0.005)
    assert names[best.name.split(" > ")[0]] == "New South Wales"  # so the greedy way through Tasmania misses it
    whole = ages.average(areas.cell((0, 0)))
    assert whole == pytest.approx(sum(float(row["sum_age"]) for row in rows) / sum(persons))


# Averages of any region.


def shape_of(space: Any, pixels: int = 8) -> tuple[int, ...]:
    return tuple(axis.places or pixels + j for j, axis in enumerate(space.axes))


def values_for(kind: Kind, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape_of(kind.space) if kind.X is None else len(kind.X))


def shares(axis: Any, edges: Any, named: Any, pixels: int) -> list[float]:
    """Return how much of each pixel or symbol lies in a region's part of an axis."""
    if isinstance(axis, ContinuousAxis):
        step = (axis.high - axis.low) / pixels
        low, high = ((edge - axis.low) / step for edge in edges)
        # An arc may go on beyond the end of a ring.
        return [sum(max(0.0, min(high, at + 1) - max(low, at)) for at in (i, i + pixels)) for i in range(pixels)]
    return [share if symbol in named else 0.0 for symbol, share in zip(axis.symbols, axis.shares, strict=True)]


def brute_average(kind: Kind, values: Any, region: Any, weights: Any = None) -> float:
    """Return a weighted average, one value at a time."""
    if kind.X is not None:
        w: Any = kind.w if weights is None else weights
        return float(sum(w[i] * values[i] for i in region.members) / sum(w[i] for i in region.members))
    parts = zip(kind.space.axes, outline(region), region.symbols, values.shape, strict=True)
    inside = [shares(*part) for part in parts]
    total = weight = 0.0
    for place in itertools.product(*map(range, values.shape)):
        own = float(np.prod([inside[axis][i] for axis, i in enumerate(place)]))
        own *= 1.0 if weights is None else weights[place]
        total += own * values[place]
        weight += own
    return total / weight


@every_kind
def test_the_average_of_any_region_is_that_of_its_values(kind: Kind) -> None:
    values = values_for(kind, seed=0)
    landscape = from_table(kind.space, values, axes=axes_of(kind))
    for region in [*kinds.cells(kind.space, most=20, deepest=3), *kinds.off_tree(kind, 6, seed=0)]:
        assert landscape.average(region) == pytest.approx(brute_average(kind, values, region), abs=1e-12)


@every_kind
def test_weights_count(kind: Kind) -> None:
    if isinstance(kind.space, (zn.Sequences, zn.Product)) and any(
        len(set(axis.shares)) > 1 for axis in kind.space.axes if isinstance(axis, CategoricalAxis)
    ):
        return
    values = values_for(kind, seed=1)
    weights = np.random.default_rng(2).uniform(0.1, 3, values.shape)
    landscape = from_table(kind.space, values, weights, axes=axes_of(kind))
    for region in [*kinds.cells(kind.space, most=20, deepest=2), *kinds.off_tree(kind, 4, seed=1)]:
        assert landscape.average(region) == pytest.approx(brute_average(kind, values, region, weights), abs=1e-12)


@every_kind
def test_the_average_of_a_parent_is_the_weighted_average_of_its_children(kind: Kind) -> None:
    landscape = from_table(kind.space, values_for(kind, seed=3), axes=axes_of(kind))
    for parent in kinds.cells(kind.space, most=60, deepest=3):
        if kind.space.may_split(parent):
            children = kind.space.split(parent)
            total = sum(child.weight * landscape.average(child) for child in children)
            assert landscape.average(parent) == pytest.approx(total / parent.weight, abs=1e-12)


def test_a_region_that_cuts_pixels_takes_its_share_of_them() -> None:
    line = from_table(zn.Box([(0, 4)]), [1.0, 2.0, 4.0, 8.0])
    assert line.average(line.space.region([(0.5, 1.5)])) == pytest.approx(1.5)
    assert line.average(line.space.region([(0.5, 2.25)])) == pytest.approx((0.5 * 1 + 2 + 0.25 * 4) / 1.75)
    assert line.average(line.space.region([(2.2, 2.3)])) == pytest.approx(4)
    assert line.average(line.space.region([(2.2, 2.2)])) == pytest.approx(4)  # a point
    assert line.average(line.space.region([(4, 4)])) == pytest.approx(8)
    assert line.average(line.space.region([(0, 0)])) == pytest.approx(1)
    image = from_table(zn.Box([(0, 2), (0, 2)]), [[0.0, 1.0], [2.0, 3.0]])
    assert image.average(image.space.region([(0.5, 2), (1, 1.5)])) == pytest.approx((0.5 * 1 + 1 * 3) / 1.5)


def test_one_pixel_is_a_constant() -> None:
    flat = from_table(zn.Box([(0, 1), (0, 1)], smallest=0.25), [[7.0]])
    assert flat.average(flat.space.region([(0.1, 0.2), (0, 0.9)])) == 7.0
    assert flat.best(3).region.node == (3, 0)
    assert flat.best().average == 7.0


def test_values_by_name_and_in_order_are_the_same() -> None:
    kind = KINDS["hierarchy of a table"]
    names = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"]
    values = np.arange(8.0) ** 2
    in_order = from_table(kind.space, values)
    by_name = from_table(kind.space, dict(zip(names, values.tolist(), strict=True)))
    for cell in kinds.cells(kind.space):
        assert by_name.average(cell) == in_order.average(cell)
        assert in_order.average(cell) == pytest.approx(brute_average(kind, values, cell))


# The best region.


def brute_best(kind: Kind, landscape: Landscape, level: list[Any], sign: float) -> tuple[Any, float]:
    averages = [landscape.average(cell) for cell in level]
    top = max(sign * average for average in averages)
    first = next(
        i for i, average in enumerate(averages) if sign * average >= top - 1e-12 * max(map(abs, averages))
    )
    return level[first].node, averages[first]


@examples(80)
@given(kind=kinds.spaces(), seed=st.integers(0, 100), direction=st.sampled_from(["maximize", "minimize"]))
def test_the_best_of_every_depth_is_that_of_brute_force(
    kind: Kind, seed: int, direction: Literal["maximize", "minimize"]
) -> None:
    values = np.round(values_for(kind, seed), 1)  # with ties
    landscape = from_table(kind.space, values, direction=direction, axes=axes_of(kind))
    sign = 1.0 if direction == "maximize" else -1.0
    levels = list(kinds.levels(kind.space, most=200, deepest=5))
    for depth, level in enumerate(levels):
        best = landscape.best(depth)
        node, average = brute_best(kind, landscape, level, sign)
        assert best.region.node == node
        assert best.average == pytest.approx(average, abs=1e-12)
    deepest = kind.space.max_depth()
    if deepest is None or deepest >= len(levels):
        return
    smallest = [cell for level in levels for cell in level if not kind.space.may_split(cell)]
    top = max(sign * landscape.average(cell) for cell in smallest)
    assert sign * landscape.best().average == pytest.approx(top, abs=1e-12)
    for cell in smallest:
        assert landscape.regret(cell) == pytest.approx(top - sign * landscape.average(cell), abs=1e-12)
        assert landscape.regret(cell) >= -1e-12


def test_lower_is_better_when_minimising() -> None:
    space = zn.Sequences("AC", 2)
    values = {"AA": 0.0, "AC": 1.0, "CA": 2.0, "CC": 5.0}
    low, high = from_table(space, values, direction="minimize"), from_table(space, values)
    assert (low.best().region.name, high.best().region.name) == ("AA", "CC")
    assert (low.best(1).region.name, high.best(1).region.name) == ("A*", "C*")
    region = space.region("C*")
    assert (low.regret(region), high.regret(region)) == (3.5, 1.5)
    assert low.average(region) == high.average(region) == 3.5


# The instrument.


@every_kind
def test_an_instrument_measures_averages_with_noise_that_a_seed_repeats(kind: Kind) -> None:
    landscape = from_table(kind.space, values_for(kind, seed=4), axes=axes_of(kind))
    region = kinds.cells(kind.space, most=20, deepest=2)[-1]
    exact, noisy = landscape.simulate(), landscape.simulate(0.5, rng=1)
    assert exact(region) == exact.average(region) == landscape.average(region)
    measured = np.array([noisy(region) for _ in range(400)])
    assert measured.mean() == pytest.approx(landscape.average(region), abs=0.1)
    assert measured.std() == pytest.approx(0.5, rel=0.15)
    assert landscape.simulate(0.5, rng=1)(region) == measured[0]
    per_weight = landscape.simulate(zn.PerWeight(0.0), rng=0)
    assert per_weight(region) == landscape.average(region)


def test_a_search_on_a_table_finds_its_best_region() -> None:
    space = zn.Sequences("ACGT", 4)
    rng = np.random.default_rng(5)
    effects = rng.normal(size=(4, 4))
    values = np.array([sum(effects[j, s] for j, s in enumerate(s)) for s in itertools.product(range(4), repeat=4)])
    landscape = from_table(space, values)
    study = zn.Study(space, budget=60, noise=0.1)
    result = study.optimize(landscape.simulate(0.1, rng=0))
    assert landscape.regret(result.region) < 0.25 * float(np.ptp(values))


# Other feedbacks.


@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(3), zn.Average(10)], ids=str)
def test_an_instrument_sees_the_pixels_in_which_the_points_of_its_feedback_lie(feedback: Any) -> None:
    box = zn.Box([(0, 2), (5, 6)], arity=3)
    values = np.random.default_rng(0).normal(size=(7, 11))
    truth = from_table(box, values)
    for node in [(0, 0), (1, 2), (3, 14), (5, 100)]:
        points = box.cell(node, feedback).points
        pixels = values[(points[:, 0] / 2 * 7).astype(int), ((points[:, 1] - 5) * 11).astype(int)]
        seen = truth.simulate(0.0, 0, feedback)(box.cell(node))
        assert seen == pytest.approx(pixels.mean())
        assert seen == truth.average(box.cell(node), feedback)


def test_symbols_are_always_seen_as_a_whole() -> None:
    space = zn.Product({"x": (0, 1), "dye": {"red": 1, "green": 3}})
    truth = from_table(space, [[0.0, 4.0], [1.0, 9.0], [2.0, 8.0]])
    assert truth.average(space.cell((0, 0)), zn.Average(2)) == pytest.approx((3 + 6.5) / 2)
    assert truth.average({"dye": "green"}, zn.Average(1)) == 9


@every_kind
def test_the_mean_as_a_feedback_changes_nothing(kind: Kind) -> None:
    truth = from_table(kind.space, values_for(kind, 1), axes=axes_of(kind))
    for cell in (kind.space.cell((0, 0)), kind.space.cell((1, 0))):
        assert truth.average(cell, zn.Mean()) == truth.average(cell)


def test_of_members_some_are_seen() -> None:
    space, values = zn.Points(np.arange(9.0)), np.arange(9.0) ** 2
    truth, whole = from_table(space, values), space.cell((0, 0))
    assert truth.average(whole, zn.Center()) == 16
    assert truth.average(whole, zn.Average(3)) == pytest.approx(np.mean([1, 16, 49]))
    assert truth.average(whole, zn.Average(20)) == pytest.approx(truth.average(whole))


# The order of an array's dimensions.

PATCHES = zn.Box(
    {"l": (-180, 180), "sin_b": (-1, 1)}, smallest=[360 / 64, 2 / 32], units={"l": "deg"}, periodic=["l"]
)
IMAGE = np.asarray(datasets.sky())


class Labelled:
    """An array with named axes, and positions along some, as xarray has them."""

    def __init__(self, values: Any, dims: tuple[str, ...], coords: dict[str, Any]) -> None:
        self.values, self.dims, self.coords, self.shape = values, dims, coords, values.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.values, dtype=dtype)


DOWN = {"sin_b": np.linspace(0.99, -0.99, 128), "l": np.linspace(-179, 179, 256)}
NAMED: dict[str, Callable[[], Landscape]] = {
    "the shipped map": lambda: from_table(PATCHES, datasets.sky()),
    "the shipped map, turned": lambda: from_table(PATCHES, datasets.sky().T),
    "twice the map, halved": lambda: from_table(PATCHES, (2 * datasets.sky()) / 2),
    "an image with axes": lambda: from_table(PATCHES, IMAGE, axes=("sin_b", "l")),
    "a mapping with axes": lambda: from_table(PATCHES, {"axes": ["sin_b", "l"], "values": IMAGE}),
    "a mapping with positions, north first": lambda: from_table(PATCHES, DOWN | {"values": IMAGE[::-1]}),
    "as of xarray": lambda: from_table(PATCHES, Labelled(IMAGE, ("sin_b", "l"), {})),
    "as of xarray, north first": lambda: from_table(PATCHES, Labelled(IMAGE[::-1], ("sin_b", "l"), DOWN)),
    "in the order of the axes": lambda: from_table(PATCHES, IMAGE.T),
    "with weights": lambda: from_table(PATCHES, IMAGE, np.ones((128, 256)), axes=("sin_b", "l")),
}


@pytest.mark.parametrize("make", NAMED.values(), ids=NAMED)
def test_a_map_with_named_axes_is_never_transposed(make: Callable[[], Landscape]) -> None:
    best = make().best()
    assert best.region.name == "l -50.625..-45 deg, sin_b -0.0625..0"
    assert best.average == pytest.approx(115.741125)


MISNAMED: dict[str, tuple[Callable[[], Landscape], str]] = {
    "fits the other way only": (lambda: from_table(PATCHES, np.ones((96, 128))), "only in another order"),
    "fits the other way better": (lambda: from_table(PATCHES, np.ones((32, 64))), "best in another order"),
    "a list that fits the other way": (lambda: from_table(PATCHES, np.ones((32, 64)).tolist()), "another order"),
    "other names": (lambda: from_table(zn.Box({"x": (0, 1), "y": (0, 1)}), datasets.sky()), "must be the axes"),
    "an axis twice": (lambda: from_table(PATCHES, IMAGE, axes=("l", "l")), "must be the axes"),
    "one axis": (lambda: from_table(PATCHES, IMAGE, axes=["l"]), "must be the axes"),
    "no values": (lambda: from_table(PATCHES, DOWN), "name its axes"),
    "too few positions": (lambda: from_table(PATCHES, DOWN | {"l": [0], "values": IMAGE}), "256 positions"),
    "uneven pixels": (
        lambda: from_table(PATCHES, DOWN | {"l": np.geomspace(1, 9, 256), "values": IMAGE}),
        "equally wide",
    ),
    "axes of members": (lambda: from_table(zn.Points([[1.0], [2.0]]), [1.0, 2.0], axes=["x"]), "Leave axes out"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "problem"), MISNAMED.values(), ids=MISNAMED)
def test_a_map_that_does_not_fit_as_it_is_named_is_refused(make: Callable[[], Landscape], problem: str) -> None:
    with pytest.raises(zn.InvalidInput, match=problem):
        make()


def test_a_named_array_keeps_its_names_as_long_as_they_are_right() -> None:
    sky: Any = datasets.sky()
    assert (sky * 2).dims == np.roll(sky, 3, axis=1).dims == ("sin_b", "l")
    assert sky.T.dims == cast(Any, np.transpose(sky)).dims == sky.transpose(1, 0).dims == ("l", "sin_b")
    assert sky[:64].dims is sky[:, :128].dims is sky.mean(axis=0).dims is sky.ravel().dims is None
    assert type(sky.max()) is np.float64
