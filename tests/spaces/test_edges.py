"""Corners of spaces where something once went wrong."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import process_time
from typing import Any

import numpy as np
import pytest

import zonal as zn
from effort import tries
from zonal.simulation import Landscape, from_table
from zonal.simulation.rehearsal import one_level
from zonal.spaces import ContinuousAxis

SUM = zn.Categorical(1, 0.5) + zn.Categorical(0.5, 0.1)


@pytest.mark.parametrize("space", [zn.Hierarchy({"a": ["x", "y"], "b": None}), zn.Points([1.0, 2.0, 3.0])])
def test_a_sum_of_kernels_that_know_no_distance_serves_members(space: zn.Points | zn.Hierarchy) -> None:
    study = zn.Study(space, budget=3, noise=0.1, kernel=SUM)
    study.tell(study.ask(), 1.0)
    assert study.predict(space.cell((0, 0))).mean > 0.5


def test_symbols_and_distances_may_be_added_on_points() -> None:
    kernel = zn.Categorical(1, 0.5) + zn.RBF(1, 1.0)
    study = zn.Study(zn.Points([1.0, 2.0, 3.0]), budget=3, noise=0.1, kernel=kernel)
    assert study.predict([0]).std == pytest.approx(np.sqrt(2))


@pytest.mark.parametrize("space", [zn.Points([0.0, 1.0, 2.0, 3.0]), zn.Hierarchy(["a", "b"], features=[1.0, 2.0])])
def test_several_regions_or_none_are_predicted(space: zn.Points | zn.Hierarchy) -> None:
    study = zn.Study(space, budget=9, kernel=zn.RBF(1, 1.0), noise=0.1)
    assert study.predict([space.cell((1, 0)), space.cell((1, 1))]).mean.shape == (2,)
    assert study.predict([]).mean.shape == (0,)


def test_weights_and_features_by_name_find_their_leaf_whatever_the_order_of_rows() -> None:
    table = {"state": ["a", "b", "a"], "town": ["1", "2", "3"]}
    areas = zn.Hierarchy.from_table(
        table, features={"1": [10.0], "3": [30.0], "2": [20.0]}, weights={"3": 3.0, "1": 1.0, "2": 2.0}
    )
    assert [areas.region(name).weight for name in ("a > 1", "b", "a > 3")] == [1.0, 2.0, 3.0]
    assert [float(areas.region(name).center[0]) for name in ("a > 1", "b", "a > 3")] == [10.0, 20.0, 30.0]


@pytest.mark.filterwarnings("ignore:there are 20:UserWarning")
def test_refining_without_measuring_comes_to_an_end() -> None:
    proteins = zn.Sequences("ACDEFGHIKLMNPQRSTVWY", 30)
    study = zn.Study(proteins, budget=5, kernel=zn.Categorical(1, 0.5), noise=0.1, policy=zn.GPTree())
    study.tell(study.ask(), 0.5)
    assert len(study.tree) < 21_000


def test_a_star_among_the_symbols_is_told_from_any_symbol() -> None:
    stops = zn.Sequences("A*", 2)
    names = [stops.cell((1, 0)).name, stops.cell((2, 1)).name]
    assert names == ["A?", "A*"]
    assert [stops.region(name).key for name in names] == [stops.cell((1, 0)).key, stops.cell((2, 1)).key]


@pytest.mark.parametrize("symbol", ["[", "]", "heat up"])
def test_symbols_that_could_not_be_read_back_are_refused(symbol: str) -> None:
    with pytest.raises(zn.InvalidInput, match="a bracket or a blank"):
        zn.Sequences(["A", symbol], 2)


def test_names_of_long_symbols_read_back() -> None:
    peptides = zn.Sequences(["Ala", "Gly", "Trp"], 2)
    pool = peptides.region([["Ala", "Gly"], "Trp"])
    assert pool.name == "[Ala Gly] Trp"
    assert peptides.region(pool.name).key == pool.key
    pairs = [f"{a} {b}" for a in peptides.alphabet for b in peptides.alphabet]
    values = {pair: float(k) for k, pair in enumerate(pairs)}
    assert from_table(peptides, values).best().region.name == "Trp Trp"


def test_leaves_above_the_deepest_level_count_as_leaves() -> None:
    points = zn.Points(np.random.default_rng(0).random((4600, 1)))
    assert points.partition.leaves(points.max_depth()) == 4600
    with pytest.raises(zn.InvalidInput, match="4600 regions"):
        zn.Study(points, budget=2, kernel=zn.RBF(1, 0.2), noise=0.1, policy=zn.Thompson())


def test_thompson_goes_on_where_everything_is_known() -> None:
    study = zn.Study([(0, 1)], budget=40, kernel=zn.RBF(1, 0.3), noise=0.0, policy=zn.Thompson(2), rng=0)
    assert study.optimize(lambda region: float(np.sin(region.center[0]))).success


def test_thompson_draws_where_rounding_outweighs_what_is_unknown() -> None:
    study = zn.Study(
        zn.Box([(0, 1)], smallest=1 / 256),
        budget=4,
        kernel=zn.RBF(1.0, 1e4),
        noise=1e-9,
        policy=zn.Thompson(),
        rng=0,
    )
    assert study.optimize(lambda region: 0.0).nfev == 4


def test_the_best_smallest_region_has_no_children() -> None:
    chain = zn.Hierarchy({"a": {"b": ["z"]}, "c": None})
    assert from_table(chain, [1.0, 1.0]).best().region.name in ("c", "a > b > z")
    assert from_table(chain, [2.0, 1.0]).best().region.name == "a > b > z"


def test_weights_of_a_table_take_the_place_of_frequencies() -> None:
    unequal = zn.Sequences("AC", 1, frequencies=[1, 3])
    assert from_table(unequal, [0.0, 1.0]).average(unequal.cell((0, 0))) == 0.75
    assert from_table(unequal, [0.0, 1.0], weights=[1.0, 1.0]).average(unequal.cell((0, 0))) == 0.5
    assert from_table(unequal, [0.0, 1.0], weights=[1.0, 1.0]).best(0).average == 0.5


def test_values_by_name_must_fit_the_leaves() -> None:
    areas = zn.Hierarchy({"a": ["x", "y"]})
    with pytest.raises(zn.InvalidInput, match="not a leaf; got 'w'"):
        from_table(areas, {"x": 1.0, "y": 2.0, "w": 3.0})
    with pytest.raises(zn.InvalidInput, match="different names; got 'x'"):
        from_table(zn.Hierarchy({"a": ["x"], "b": ["x"]}), {"x": 1.0})
    with pytest.raises(zn.InvalidInput, match="values of leaf 'x' must be finite numbers; got 'hm'"):
        from_table(areas, {"x": "hm", "y": 2.0})


def test_names_may_hold_what_joins_them() -> None:
    areas = zn.Hierarchy({"a > b": ["c", "d"], "all": None})
    assert areas.region("a > b > c").members.tolist() == [0]
    assert areas.region("all").members.tolist() == [2]
    assert areas.region(("a > b",)).members.tolist() == [0, 1]


@pytest.mark.parametrize("empty", [None, float("nan")])
def test_a_level_without_a_name_is_refused(empty: object) -> None:
    with pytest.raises(zn.InvalidInput, match="column town is empty in row 1"):
        zn.Hierarchy.from_table({"state": ["a", "a"], "town": ["x", empty]})


def test_a_light_member_behind_a_heavy_one_keeps_its_weight() -> None:
    assert zn.Points([0.0, 1.0], weights=[1e17, 1.0]).cell((1, 1)).weight == 1.0


def test_a_column_of_features_is_one_number_a_row() -> None:
    with pytest.raises(zn.InvalidInput, match="column a must hold one number per row"):
        zn.Points({"a": [[1, 2], [3, 4]]})


@pytest.mark.parametrize("space", [zn.Box([(0, 1)]), zn.Sequences("ACGT", 3)])
def test_a_kernel_of_mixed_axes_is_refused_where_axes_are_of_one_kind(space: zn.Box | zn.Sequences) -> None:
    with pytest.raises(zn.InvalidInput, match="both kinds of axes"):
        zn.Study(space, budget=3, noise=0.1, kernel=zn.RBF(1, 1) * zn.Categorical(1, 0.5))


def test_a_region_of_another_space_is_refused() -> None:
    study = zn.Study(zn.Sequences("ACGT", 3), budget=3, noise=0.1, kernel=zn.Categorical(1, 0.5))
    with pytest.raises(zn.InvalidInput, match="another space"):
        study.observe(zn.Sequences("ACGT", 4).cell((1, 0)), 1.0)


def test_one_level_stops_at_the_smallest_regions_of_a_box() -> None:
    landscape = from_table(zn.Box([(0, 1)], smallest=1 / 4), np.arange(8.0))
    found = one_level(landscape, landscape.simulate(0), 8, np.random.default_rng(0))
    assert found.node == (2, 3)
    assert landscape.regret(found) == 0


def test_a_large_region_outside_of_the_tree_is_seen_through_many_members() -> None:
    points = zn.Points(np.random.default_rng(0).random((20_000, 2)))
    study = zn.Study(points, budget=3, kernel=zn.RBF(1, 0.1), noise=0.1)
    whole, nearly = study.predict([points.cell((0, 0)), points.region(np.delete(np.arange(20_000), 77))]).std
    assert nearly == pytest.approx(whole, rel=0.01)


def noise_of(study: zn.Study, landscape: Landscape) -> list[float]:
    return [float(trial.value or 0) - landscape.average(trial.region) for trial in study.trials]


def test_a_table_draws_new_noise_for_every_trial_on_any_number_of_processes() -> None:
    points = zn.Points(np.random.default_rng(0).random((40, 2)))
    landscape = from_table(points, np.arange(40.0))
    draws = []
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for others in ((), (pool,)):  # in this process, and in two others
            study = zn.Study(points, budget=6, kernel=zn.RBF(1, 0.3), noise=0.1, policy=zn.UniformGrid())
            study.optimize(landscape.simulate(0.5, rng=0), *others, workers=1)
            draws.append(noise_of(study, landscape))
    assert len({round(draw, 9) for draw in draws[0]}) == 6
    assert draws[0] == pytest.approx(draws[1], abs=1e-12)


def test_weights_of_any_size_do_not_hide_each_other() -> None:
    weights = np.full(64, 1e-6)
    weights[0] = 1e12
    tree = {"big": ["0"], "small": [str(i) for i in range(1, 64)]}
    areas = zn.Hierarchy(tree, weights=weights, smallest=5e-7)
    assert areas.max_depth() == 2
    assert from_table(areas, np.arange(64.0)).best().region.name == "small > 63"
    points = zn.Points(np.arange(64.0), weights=weights, smallest=5e-7)
    assert points.partition.leaves(points.max_depth()) == 64
    assert from_table(points, np.arange(64.0)).best().average == 63


def test_a_name_that_means_two_regions_is_refused_and_a_tuple_is_clear() -> None:
    areas = zn.Hierarchy({"A": {"B": ["x", "y"]}, "A > B": ["z"]})
    with pytest.raises(zn.InvalidInput, match="several regions"):
        areas.region("A > B")
    assert areas.region(("A", "B")).members.tolist() == [0, 1]
    assert areas.region(("A > B",)).members.tolist() == [2]


def test_names_that_read_the_same_are_refused_among_parent_links() -> None:
    with pytest.raises(zn.InvalidInput, match="same name; got '1'"):
        zn.Hierarchy.from_parents({"r": None, 1: "r", "1": "r"})  # type: ignore[dict-item]


def test_values_of_long_symbols_may_come_by_tuple() -> None:
    space = zn.Sequences(["A1", "B2"], 2)
    pairs = [(a, b) for a in space.alphabet for b in space.alphabet]
    values: Any = {pair: float(k) for k, pair in enumerate(pairs)}
    assert from_table(space, values).best().region.name == "B2 B2"


def test_weights_of_a_table_may_come_by_name() -> None:
    areas = zn.Hierarchy({"a": ["x", "y"]})
    landscape = from_table(areas, {"x": 0.0, "y": 1.0}, weights={"y": 3.0, "x": 1.0})
    assert landscape.average(areas.cell((0, 0))) == 0.75


def test_numbers_in_an_array_of_objects_are_numbers() -> None:
    assert zn.Points(np.array([[1, 2], [3, 4.5]], dtype=object)).features.max() == 4.5


def test_features_by_name_do_not_take_the_square_of_their_number() -> None:
    def seconds(number: int) -> float:
        names = [str(i) for i in range(number)]
        start = process_time()
        zn.Hierarchy(names, features={name: [float(name)] for name in names})
        return process_time() - start

    assert min(seconds(8000) for _ in range(3)) < 8 * max(min(seconds(2000) for _ in range(3)), 0.005)


RAGGED = {"NSW": {"Syd": ["a", "b", "c"], "Hun": ["d", "e"]}, "VIC": {"Mel": ["f", "g", "h"]}, "ACT": ["j", "k"]}


@pytest.mark.tries
@pytest.mark.parametrize("policy", [None, zn.GPTree()], ids=["GPOO", "GPTree"])
def test_a_smallest_region_high_up_in_a_ragged_tree_can_be_recommended(policy: zn.GPTree | None) -> None:
    features = {name: (float(i), float(i**2 % 7)) for i, name in enumerate("abcdefghjk")}
    areas = zn.Hierarchy(RAGGED, features)
    landscape = from_table(areas, np.arange(10) ** 1.5)
    for rng in range(tries(1, 2)):
        study = zn.Study(areas, budget=80, rng=rng, policy=policy)
        assert study.optimize(landscape.simulate(0.05, rng=rng)).region.name == "ACT > k"


def test_what_is_no_list_of_rows_is_refused() -> None:
    points = zn.Points([[1.0], [2.0], [3.0]])
    with pytest.raises(zn.InvalidInput, match="row numbers"):
        points.region([[1, 2], [0]])
    with pytest.raises(zn.InvalidInput, match="the region's name, or a tuple of names"):
        zn.Hierarchy({"N": ["a"], "V": ["b"]}).region(["N", "V"])


def test_an_order_that_is_no_list_is_refused() -> None:
    with pytest.raises(zn.InvalidInput, match="list of positions; got 5"):
        zn.Sequences("ACGT", 3, order=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("depth", [1.5, -1])
def test_a_depth_is_a_whole_number(depth: Any) -> None:
    landscape = from_table(zn.Points([1.0, 2.0]), [1.0, 2.0])
    landscape.best()
    with pytest.raises(zn.InvalidInput, match="depth"):
        landscape.best(depth)


def test_tables_need_a_space_and_keys_that_are_sequences() -> None:
    broken: Any = "x"
    with pytest.raises(zn.InvalidInput, match="needs a space; got 'x'"):
        from_table(broken, [1.0])
    keys: Any = {1: 1.0, 2: 2.0}
    with pytest.raises(zn.InvalidInput, match="row 0"):
        from_table(zn.Sequences("AC", 1), keys)


def test_averages_may_be_asked_for_by_name() -> None:
    areas = zn.Hierarchy({"N": ["a", "b"], "V": ["c"]})
    assert from_table(areas, [1.0, 2.0, 5.0]).average("N") == 1.5


@pytest.mark.parametrize(
    ("weights", "message"),
    [([None, 1], "the weight of row 0"), ([1, "a"], "the weight of row 1"), ([1e308, 1e308], "too large")],
)
def test_weights_that_are_no_numbers_are_named_by_row(weights: Any, message: str) -> None:
    with pytest.raises(zn.InvalidInput, match=message):
        zn.Points([[1.0], [2.0]], weights)


def test_ragged_features_by_name_are_named_by_leaf() -> None:
    with pytest.raises(zn.InvalidInput, match="features of leaf 'y' are 2 numbers, not 1"):
        zn.Hierarchy({"A": ["x", "y"]}, {"x": (1,), "y": (2, 1)})


def test_an_axis_at_its_smallest_does_not_keep_the_search_from_beginning() -> None:
    space = zn.Product({"a": ContinuousAxis("a", 0.0, 1.0, smallest=0.5), "b": (0, 1)})
    assert space.partition.default_depth() == 6  # two parts of a, 32 of b
    assert zn.Study(space, budget=3, kernel=zn.RBF(1.0, 0.2), noise=0.1).ask().region.name == "a 0..0.5, b 0..1"
