"""Rehearsals: what every player spends and where it goes, and landscapes from the columns of a table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.io.tables import Table
from zonal.policies.baselines import MOST_LEAVES
from zonal.simulation.ground_truth import Landscape, from_table
from zonal.simulation.ground_truth_tables import landscape_of, on_axes
from zonal.simulation.rehearsal import (
    Campaigns,
    Rehearsal,
    StudyPlayer,
    at_random,
    cut,
    everybody,
    greedy_descent,
    one_level,
    rehearse,
)
from zonal.simulation.simulators import Instrument

pytestmark = pytest.mark.one_in(2)

RAGGED: Any = {
    "North": {"Coast": ["Reef", "Bay", "Cape"], "Inland": None},
    "South": {"Hills": {"Top": ["Peak"]}, "Plain": ["East", "West"]},
    "Isle": None,
}


def spaces() -> dict[str, tuple[Any, Any]]:
    """Return a space of every kind, with the shape of its values."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 5, (30, 2))  # some of them the same
    return {
        "line": (zn.Box([(0, 1)], smallest=1 / 16), 32),
        "plane": (zn.Box([(0, 2), (5, 6)], smallest=[0.5, 0.25]), (7, 9)),
        "mixed": (zn.Product({"x": (0, 1), "dye": {"red": 1, "green": 2, "blue": 1}}, smallest=0.25), (8, 3)),
        "dna": (zn.Sequences("ACGT", 3), 64),
        "pools": (zn.Sequences("XYZ", 4, smallest=3), 81),
        "points": (zn.Points(rng.uniform(size=(23, 2)), rng.uniform(0.5, 3, 23)), 23),
        "same points": (zn.Points(coarse, arity=3), 30),
        "heavy points": (zn.Points(rng.uniform(size=(40, 3)), rng.uniform(0.5, 3, 40), smallest=5.0), 40),
        "hierarchy": (zn.Hierarchy(RAGGED), 8),
        "hierarchy on a map": (
            zn.Hierarchy(RAGGED, rng.uniform(size=(8, 2)), rng.uniform(1, 4, 8), smallest=1.5),
            8,
        ),
    }


SPACES = spaces()
EITHER_WAY = pytest.mark.parametrize("direction", ["maximize", "minimize"])
EVERY_SPACE = pytest.mark.parametrize("name", SPACES)


def landscape(name: str, direction: Any = "maximize", seed: int = 0) -> Landscape:
    space, shape = SPACES[name]
    return from_table(space, np.random.default_rng(seed).normal(size=shape), direction=direction)


class Counted(Instrument):
    """An instrument that remembers what it measured."""

    def __init__(self, landscape: Landscape, noise: float = 0.0) -> None:
        super().__init__(noise, np.random.default_rng(0))
        self.landscape = landscape
        self.nodes: list[Any] = []

    def average(self, region: zn.Region) -> float:
        self.nodes.append(region.node)
        return self.landscape.average(region)


def leaves(space: Any, region: Any = None) -> list[Any]:
    """Return the smallest regions by splitting."""
    region = space.cell((0, 0)) if region is None else region
    if not space.may_split(region):
        return [region]
    return [leaf for child in space.split(region) for leaf in leaves(space, child)]


def best_of(regions: list[Any], truth: Landscape) -> Any:
    sign = 1 if truth.direction == "maximize" else -1
    return max(regions, key=lambda region: sign * truth.average(region))


# What is spent.


@pytest.mark.one_in(7)
@pytest.mark.parametrize("budget", [1, 6, 14])
@EVERY_SPACE
def test_nobody_measures_more_often_than_the_budget_allows(name: str, budget: int) -> None:
    truth = landscape(name)
    number = len(leaves(truth.space))
    for player, play in everybody(truth.space).items():
        instrument = Counted(truth, 0.1)
        found = play(truth, instrument, budget, np.random.default_rng(0))
        spent = len(instrument.nodes)
        assert spent <= budget, player
        if player == "one level":
            assert spent == budget
        elif player == "random":
            assert spent == min(budget, number)
        elif player.startswith("Zonal"):
            assert spent == budget or budget > number, player
        assert found.node is not None
        assert truth.space.cell(found.node).key == found.key, player


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 9, 12, 13, 16])
@EVERY_SPACE
def test_one_level_measures_the_deepest_level_that_fits_and_spreads_what_is_left(name: str, budget: int) -> None:
    truth = landscape(name)
    space = truth.space
    deepest = max(leaf.node[0] for leaf in leaves(space))
    tilings = [_tiling(space, depth) for depth in range(deepest + 1)]
    fitting = [tiling for tiling in tilings if len(tiling) <= budget][-1]
    instrument = Counted(truth)
    found = one_level(truth, instrument, budget, np.random.default_rng(0))
    assert set(instrument.nodes) == {region.node for region in fitting}
    times = [instrument.nodes.count(region.node) for region in fitting]
    assert max(times) - min(times) <= 1
    assert found.node == best_of(fitting, truth).node


def _tiling(space: Any, depth: int) -> list[Any]:
    """Return the regions of a depth and the leaves above it, by splitting."""
    level = [space.cell((0, 0))]
    for _ in range(depth):
        level = [child for own in level for child in (space.split(own) if space.may_split(own) else [own])]
    return level


@EITHER_WAY
def test_one_level_averages_its_repeats(direction: Any) -> None:
    truth = from_table(zn.Hierarchy(["low", "high"]), [0.0, 1.0], direction=direction)
    found = {
        one_level(truth, truth.simulate(3.0, seed), 2000, np.random.default_rng(0)).name for seed in range(10)
    }
    assert found == {"high" if direction == "maximize" else "low"}


@EITHER_WAY
@EVERY_SPACE
def test_greedy_descent_goes_to_the_best_child_all_the_way_down(name: str, direction: Any) -> None:
    truth = landscape(name, direction)
    space, way = truth.space, [truth.space.cell((0, 0))]
    asked = []
    while space.may_split(way[-1]):
        children = list(space.split(way[-1]))
        asked += [child.node for child in children]
        way.append(best_of(children, truth))
    instrument = Counted(truth)
    assert greedy_descent(truth, instrument, len(asked), np.random.default_rng(0)).node == way[-1].node
    assert set(instrument.nodes) == set(asked)


def test_greedy_descent_stops_where_the_budget_ends() -> None:
    truth = landscape("dna")
    for budget in (1, 3):
        instrument = Counted(truth)
        assert greedy_descent(truth, instrument, budget, np.random.default_rng(0)).node == (0, 0)
        assert instrument.nodes == []
    instrument = Counted(truth)
    children = list(truth.space.split(truth.space.cell((0, 0))))
    assert greedy_descent(truth, instrument, 7, np.random.default_rng(0)).node == best_of(children, truth).node
    assert len(instrument.nodes) == 4


def test_greedy_descent_spreads_a_large_budget_over_all_levels() -> None:
    truth = landscape("dna")
    instrument = Counted(truth)
    greedy_descent(truth, instrument, 3 * 4 * 5, np.random.default_rng(0))
    assert [sum(depth == node[0] for node in instrument.nodes) for depth in (1, 2, 3)] == [20, 20, 20]


@EITHER_WAY
@EVERY_SPACE
def test_random_measures_distinct_smallest_regions_and_keeps_the_best_of_them(name: str, direction: Any) -> None:
    truth = landscape(name, direction)
    smallest = {leaf.node: leaf for leaf in leaves(truth.space)}
    instrument = Counted(truth)
    budget = len(smallest) // 2
    found = at_random(truth, instrument, budget, np.random.default_rng(0))
    assert len(set(instrument.nodes)) == len(instrument.nodes) == budget
    assert set(instrument.nodes) <= set(smallest)
    assert found.node == best_of([smallest[node] for node in instrument.nodes], truth).node


def test_random_draws_anew_for_another_generator() -> None:
    truth, drawn = landscape("dna"), []
    for seed in range(2):
        instrument = Counted(truth)
        at_random(truth, instrument, 10, np.random.default_rng(seed))
        drawn.append(set(instrument.nodes))
    assert drawn[0] != drawn[1]


@EVERY_SPACE
def test_random_finds_the_best_if_the_budget_covers_everything(name: str) -> None:
    truth = landscape(name)
    instrument = Counted(truth)
    found = at_random(truth, instrument, 1000, np.random.default_rng(0))
    assert len(instrument.nodes) == len(leaves(truth.space))
    assert truth.regret(found) == pytest.approx(0, abs=1e-12)


@EITHER_WAY
@pytest.mark.parametrize("policy", ["Zonal, UCB", "Zonal, GPOO"])
def test_zonal_finds_the_better_end_of_a_slope(policy: str, direction: Any) -> None:
    truth = from_table(SPACES["line"][0], np.linspace(-1, 2, 32), direction=direction)
    player = everybody(truth.space, kernel=zn.RBF(4.0, 0.5), noise=0.01)[policy]
    found = player(truth, Counted(truth), 40, np.random.default_rng(0))
    assert found.node == (4, 15 if direction == "maximize" else 0)


def test_the_settings_of_a_player_reach_its_study() -> None:
    truth = landscape("points")
    player = StudyPlayer((("value_name", "age"), ("value_unit", "years"), ("noise", 0.25)))
    study = player.study(truth, Counted(truth, 0.25), 5, np.random.default_rng(0))
    assert (study.settings.value_name, study.settings.value_unit, study.measured) == ("age", "years", 5)
    assert study.settings.direction == truth.direction


# Cuts through the tree.


@EVERY_SPACE
def test_a_cut_tiles_the_space_and_is_as_long_as_it_says(name: str) -> None:
    space = SPACES[name][0]
    for depth in range(space.max_depth() + 1):
        regions = cut(space, depth)
        assert len(regions) == space.partition.leaves(depth)
        assert {region.node for region in regions} == {region.node for region in _tiling(space, depth)}
        assert sum(region.weight for region in regions) == pytest.approx(space.cell((0, 0)).weight)
        if isinstance(space, (zn.Points, zn.Hierarchy)):
            members = np.concatenate([region.members for region in regions])  # type: ignore[attr-defined]
            assert sorted(members.tolist()) == list(range(space.size))


@EVERY_SPACE
def test_some_regions_of_a_cut_are_picked_by_number(name: str) -> None:
    space = SPACES[name][0]
    everything = cut(space, space.max_depth())
    chosen = [len(everything) - 1, 0, 2]
    some_nodes = [region.node for region in cut(space, space.max_depth(), chosen)]
    assert some_nodes == [everything[i].node for i in chosen]


@pytest.mark.parametrize("name", ["points", "same points", "heavy points", "hierarchy", "hierarchy on a map"])
def test_below_a_ragged_tree_there_are_only_its_leaves(name: str) -> None:
    space = SPACES[name][0]
    smallest = {leaf.node for leaf in leaves(space)}
    assert len({depth for depth, _ in smallest}) > 1 or name == "heavy points"
    for depth in (space.max_depth(), space.max_depth() + 3):
        assert space.partition.leaves(depth) == len(smallest)
        assert {region.node for region in cut(space, depth)} == smallest


# Everybody.


@pytest.mark.parametrize(
    ("few", "many"),
    [
        (zn.Box([(0, 1)], smallest=1 / 4096), zn.Box([(0, 1)], smallest=1 / 8192)),
        (zn.Sequences("ACGT", 6), zn.Sequences("ACGT", 7)),
        (zn.Points(np.arange(4096.0)), zn.Points(np.arange(4097.0))),
    ],
    ids=["box", "sequences", "points"],
)
def test_ucb_plays_only_where_it_can_hold_all_smallest_regions(few: Any, many: Any) -> None:
    others = ["Zonal, GPOO", "one level", "greedy descent", "random"]
    assert MOST_LEAVES == 4096
    assert list(everybody(few)) == ["Zonal", "Zonal, UCB", *others]
    assert list(everybody(many)) == ["Zonal", *others]
    assert list(everybody(zn.Box([(0, 1)]))) == ["Zonal", *others]


@EITHER_WAY
@pytest.mark.parametrize("name", ["line", "mixed", "dna", "heavy points", "hierarchy"])
def test_the_first_player_does_what_maximize_would_really_do(name: str, direction: Any) -> None:
    truth = landscape(name, direction)
    player = everybody(truth.space)["Zonal"]
    assert player == StudyPlayer()  # nothing is given, the policy least of all
    instruments = [Counted(truth, 0.3) for _ in range(2)]
    found = player(truth, instruments[0], 8, np.random.default_rng(5))
    result = zn.maximize(instruments[1], truth.space, 8, rng=np.random.default_rng(5), direction=direction)
    assert instruments[0].nodes == instruments[1].nodes
    assert found.node == result.study.recommend(on_grid=True).node


# Rehearsals.


def nodes_and_regrets(rehearsal: Rehearsal) -> dict[str, Any]:
    return {
        name: ([region.node for region in own.regions], own.regrets.tolist())
        for name, own in rehearsal.campaigns.items()
    }


@pytest.mark.torture
def test_the_same_seed_gives_the_same_rehearsal_on_any_number_of_processes() -> None:
    truth = landscape("points")
    one, two = (rehearse(truth, 6, 0.5, runs=2, rng=4, jobs=jobs) for jobs in (1, 2))
    assert nodes_and_regrets(one) == nodes_and_regrets(two)
    other = rehearse(truth, 6, 0.5, runs=2, rng=5, jobs=1)
    assert nodes_and_regrets(one) != nodes_and_regrets(other)


def test_a_run_does_not_depend_on_how_many_there_are_nor_on_who_else_plays() -> None:
    truth = landscape("dna")
    many = rehearse(truth, 8, 0.5, 4, {"random": at_random, "one level": one_level}, jobs=1)
    few = rehearse(truth, 8, 0.5, 2, {"random": at_random}, jobs=1)
    assert few.campaigns["random"].regrets.tolist() == many.campaigns["random"].regrets[:2].tolist()
    assert len(set(many.campaigns["random"].regrets.tolist())) > 1


@EITHER_WAY
@EVERY_SPACE
def test_regrets_are_never_negative_and_are_what_the_found_regions_fall_short_of(
    name: str, direction: Any
) -> None:
    truth = landscape(name, direction, seed=1)
    averages = [truth.average(leaf) for leaf in leaves(truth.space)]
    top = max(averages) if direction == "maximize" else min(averages)
    players = {"one level": one_level, "greedy descent": greedy_descent, "random": at_random}
    rehearsal = rehearse(truth, 7, 0.3, 5, players, jobs=1)
    for own in rehearsal.campaigns.values():
        assert (own.regrets >= -1e-12).all()
        short = [abs(top - truth.average(region)) for region in own.regions]
        np.testing.assert_allclose(own.regrets, short, rtol=0, atol=1e-12)
    for region in leaves(truth.space) + cut(truth.space, 1):
        assert truth.regret(region) >= -1e-12


@EITHER_WAY
@pytest.mark.parametrize("name", ["plane", "dna", "heavy points", "hierarchy on a map"])
def test_everybody_can_play_in_either_direction(name: str, direction: Any) -> None:
    truth = landscape(name, direction)
    rehearsal = rehearse(truth, 5, 0.1, 1, jobs=1)
    assert set(rehearsal.campaigns) == set(everybody(truth.space))
    assert all((own.regrets >= -1e-12).all() for own in rehearsal.campaigns.values())


def test_noise_may_depend_on_the_region() -> None:
    truth = landscape("line")
    exact = rehearse(truth, 16, lambda region: 0.0, 2, {"one level": one_level}, jobs=1)
    assert exact.campaigns["one level"].regrets.tolist() == [0, 0]
    loud = rehearse(truth, 16, lambda region: 1e3 * region.weight, 5, {"one level": one_level}, jobs=1)
    assert loud.campaigns["one level"].mean > 0


def test_the_table_has_means_standard_errors_and_how_often_the_best_was_found() -> None:
    truth = landscape("line")
    cell = truth.space.cell((4, 0))
    campaigns = {
        "Zonal": Campaigns((cell,) * 4, np.array([0.0, 0.0, 2.0, 4.0])),
        "one": Campaigns((cell,), np.array([0.125])),
    }
    assert Rehearsal(truth, 5, campaigns).table().splitlines() == [
        "       mean regret  std. error  best found",
        "Zonal          1.5        0.96      2 of 4 runs",
        "one          0.125           -      0 of 1 runs",
        "Few runs: the means of 4 campaigns may be far off. Simulate at least 10.",
    ]
    assert campaigns["Zonal"].sem == pytest.approx(np.std([0, 0, 2, 4], ddof=1) / 2)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"methods": {}}, "there must be at least one method"),
        ({"budget": 0}, "budget must be at least 1"),
        ({"budget": 2.5}, "budget must be a whole number"),
        ({"runs": 0}, "runs must be at least 1"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"noise": -1.0}, "noise must not be negative"),
    ],
)
def test_a_rehearsal_nobody_can_play_is_refused(settings: Any, complaint: str) -> None:
    valid = {"budget": 3, "noise": 0.1, "runs": 1, "jobs": 1}
    with pytest.raises(zn.InvalidInput, match=complaint):
        rehearse(landscape("line"), **{**valid, **settings})


def test_a_space_without_a_smallest_region_is_refused_before_anybody_plays() -> None:
    def never(landscape: Landscape, instrument: Instrument, budget: int, rng: np.random.Generator) -> zn.Region:
        raise AssertionError

    endless = from_table(zn.Box([(0, 1)]), np.arange(8.0))
    with pytest.raises(zn.InvalidInput, match="smallest"):
        rehearse(endless, 3, 0.1, 1, {"never": never}, jobs=1)
    with pytest.raises(zn.InvalidInput, match="smallest"):
        rehearse(endless, 3, 0.1, 1, jobs=1)


# Landscapes of tables.


def table(**columns: Any) -> Table:
    cells = {name: [str(cell) for cell in own] for name, own in columns.items()}
    return Table(Path("table.csv"), cells, len(next(iter(columns.values()))))


AREAS = table(
    lon=[3.0, 1.0, 2.0, 0.0],
    lat=[0.0, 0.0, 1.0, 1.0],
    state=["b", "a", "b", "a"],
    town=["b1", "a1", "b2", "a2"],
    age=[40.0, 30.0, 20.0, 10.0],
    persons=[1.0, 2.0, 3.0, 4.0],
)


def test_coordinates_make_points() -> None:
    truth = landscape_of(AREAS, "age", coords=["lon", "lat"])
    assert isinstance(truth.space, zn.Points)
    assert truth.space.names == ("lon", "lat")
    assert truth.average(truth.space.cell((0, 0))) == 25
    assert [truth.average(truth.space.region([row])) for row in range(4)] == [40, 30, 20, 10]
    assert truth.best().average == 40


def test_levels_make_a_hierarchy() -> None:
    truth = landscape_of(AREAS, "age", levels=["state", "town"])
    assert isinstance(truth.space, zn.Hierarchy)
    assert truth.space.is_categorical
    assert {name: truth.average(truth.space.region(name)) for name in ("a", "b", "a > a2", "b > b1")} == {
        "a": 20, "b": 30, "a > a2": 10, "b > b1": 40,
    }  # fmt: skip
    assert truth.best(1).region.name == "b"


def test_levels_with_coordinates_make_a_hierarchy_on_a_map() -> None:
    truth = landscape_of(AREAS, "age", levels=["state", "town"], coords=["lon", "lat"])
    assert isinstance(truth.space, zn.Hierarchy)
    assert not truth.space.is_categorical
    assert truth.space.names == ("lon", "lat")
    np.testing.assert_allclose(truth.space.region("b > b2").center, [2, 1])
    np.testing.assert_allclose(truth.space.region("a").center, [0.5, 0.5])


@pytest.mark.parametrize("kind", [{"coords": ["lon", "lat"]}, {"levels": ["state", "town"]}])
def test_weights_count_in_averages_and_the_least_weight_of_a_region_in_its_size(kind: Any) -> None:
    truth = landscape_of(AREAS, "age", weight="persons", **kind)
    assert truth.average(truth.space.cell((0, 0))) == pytest.approx((40 + 60 + 60 + 40) / 10)
    assert truth.space.cell((0, 0)).weight == 10
    whole = landscape_of(AREAS, "age", weight="persons", smallest=7, **kind)
    assert len(leaves(whole.space)) == 1
    assert len(leaves(truth.space)) == 4


def test_all_sequences_of_a_length_make_sequences() -> None:
    rows = {"dna": ["TA", "AA", "AT", "TT"], "score": [1.0, 2.0, 5.0, 7.0], "reads": [1.0, 3.0, 1.0, 1.0]}
    truth = landscape_of(table(**rows), "score", sequence="dna")
    assert isinstance(truth.space, zn.Sequences)
    assert "".join(truth.space.alphabet) == "AT"
    assert (truth.best().region.name, truth.best().average) == ("TT", 7)
    assert truth.average(truth.space.region("A*")) == 3.5
    weighted = landscape_of(table(**rows), "score", sequence="dna", weight="reads")
    assert weighted.average(weighted.space.region("A*")) == pytest.approx((3 * 2 + 5) / 4)


@pytest.mark.parametrize("kind", [{"coords": ["lon"]}, {"levels": ["state", "town"]}])
def test_the_lowest_is_the_best_of_a_table_that_is_minimized(kind: Any) -> None:
    truth = landscape_of(AREAS, "age", direction="minimize", **kind)
    assert truth.best().average == 10
    assert truth.regret(truth.space.region([0])) == 30


@pytest.mark.parametrize(
    ("columns", "settings", "complaint"),
    [
        ({}, {}, "Name coords, levels or sequence"),
        ({"s": ["AA", "AT", "AA", "TT"]}, {"sequence": "s"}, "twice.*'AA'"),
        ({"s": ["AA", "AT", "TAA", "TT"]}, {"sequence": "s"}, "one length, 2.*'TAA'"),
        (
            {"s": ["AA", "AT", "TC", "TT"]},
            {"sequence": "s"},
            "symbol 'C' occurs first in row 3; got 'TC'",
        ),
        ({"s": ["AA", "AT", "TA", "TT"]}, {"sequence": "s", "coords": ["lon"]}, "Pass one kind"),
        ({"s": ["AA", "AT", "TA", "TT"]}, {"sequence": "s", "levels": ["state"]}, "Pass one kind"),
        ({"s": ["AA", "AT", "TA", "TT"]}, {"sequence": "s", "smallest": 0.5}, "smallest must be a whole number"),
        ({}, {"coords": ["lon", "long"]}, "'long'"),
        ({}, {"levels": ["town", "state"]}, "not nested"),
        ({"w": [1.0, 0.0, 1.0, 1.0]}, {"coords": ["lon"], "weight": "w"}, "positive.*0"),
        ({"w": [1.0, 0.0, 1.0, 1.0]}, {"levels": ["town"], "weight": "w"}, "positive.*0"),
        (
            {"s": ["AA", "AT", "TA", "TT"], "w": [1.0, 0.0, 1.0, 1.0]},
            {"sequence": "s", "weight": "w"},
            "positive.*0",
        ),
        ({}, {"coords": ["lon"], "weight": "persons", "smallest": 11}, "more than all members together"),
    ],
)
def test_columns_that_make_no_landscape_are_refused(columns: Any, settings: Any, complaint: str) -> None:
    texts = {name: [str(cell) for cell in own] for name, own in columns.items()}
    whole = Table(AREAS.path, {**AREAS.columns, **texts}, 4)
    with pytest.raises(zn.InvalidInput, match=complaint):
        landscape_of(whole, "age", **settings)


# Settings of a study.


def line_of(values: list[float], **more: Any) -> Landscape:
    return from_table(zn.Box({"x": (0, 1)}, smallest=1 / len(values)), values, **more)


HILL = [0.0, 1, 0, 2, 5, 9, 4, 1, 0, 0, 3, 1, 0, 2, 0, 1]


class Watched:
    """Lets a player play, and keeps what it measured."""

    def __init__(self, player: Any) -> None:
        self.player, self.nodes = player, Counted(line_of(HILL))

    def __call__(self, landscape: Landscape, instrument: Any, budget: Any, rng: Any) -> Any:
        return self.player(landscape, self.nodes, budget, rng)


@pytest.mark.parametrize("forbidden", [{"x": (0.25, 0.5)}, lambda region: region.bounds[0, 0] >= 0.5])
def test_everybody_heeds_how_often_and_where_a_study_may_look(forbidden: Any) -> None:
    truth = line_of(HILL)
    rule = zn.Study(truth.space, budget=3, forbidden=forbidden).settings.forbidden
    assert rule is not None
    for name, player in everybody(truth.space, max_replicates=2, forbidden=forbidden).items():
        watched = Watched(player)
        found = watched(truth, None, 11, np.random.default_rng(0))
        nodes = watched.nodes.nodes
        assert nodes, name
        assert max(map(nodes.count, nodes)) <= 2, name
        assert not any(rule(truth.space.cell(node)) for node in nodes), name
        assert not rule(found), name


def test_regret_refers_to_the_best_region_that_may_be_measured() -> None:
    truth = line_of(HILL)
    played = zn.rehearse(truth, 12, 0.1, 2, jobs=1, forbidden={"x": (0.25, 0.5)})
    assert played.landscape.best().average == 3.0
    assert truth.best().average == 9.0
    assert played.campaigns["Zonal"].regrets.min() >= 0
    assert played.campaigns["Zonal"].mean < 2
    with pytest.raises(zn.InvalidInput, match="no region may be measured"):
        zn.rehearse(truth, 12, 0.1, 2, jobs=1, forbidden=[{"x": (0, 0.5)}, {"x": (0.5, 1)}])


def test_a_rehearsal_takes_every_setting_and_is_printed_and_drawn() -> None:
    truth = line_of(HILL)
    settings: Any = {"policy": zn.UCB(), "feedback": zn.Center(), "kernel": zn.RBF(9.0, 0.1), "times": [1.0, 2.0]}
    played = zn.rehearse(
        truth, 12.5, noise=zn.PerWeight(0.1), runs=2, jobs=1, given=True, overhead=0.5, **settings
    )
    assert list(played.campaigns) == ["Zonal", "one level", "greedy descent", "random"]
    assert repr(played) == "<Rehearsal: 2 runs of 4 methods with a budget of 12.5>"
    assert str(played).splitlines()[:2] == [
        "16 smallest regions, a budget of 12.5, 2 runs",
        "the best is x 0.3125..0.375: 9",
    ]
    assert str(played).endswith("Few runs: the means of 2 campaigns may be far off. Simulate at least 10.")
    assert [label.get_text() for label in played.plot().get_yticklabels()] == list(played.campaigns)
    with pytest.raises(TypeError, match=r"rehearse takes no max_replicate=\. Did you mean max_replicates="):
        zn.rehearse(truth, 12, 0.1, max_replicate=2)
    with pytest.raises(zn.InvalidInput, match="max_replicates must be at least 1"):
        zn.rehearse(truth, 12, 0.1, max_replicates=0)
    with pytest.raises(zn.InvalidInput, match="methods have their own settings"):
        zn.rehearse(truth, 12, 0.1, methods={"mine": at_random}, max_replicates=1)


def test_given_hands_the_noise_to_the_searches() -> None:
    seen = []
    truth = line_of(HILL)
    for given in (False, True):
        settings = {"noise": 0.25} if given else {}
        player = everybody(truth.space, **settings)["Zonal"]
        assert isinstance(player, StudyPlayer)
        seen.append(player.study(truth, Counted(truth, 0.25), 4, np.random.default_rng(0)).settings.noise)
    assert seen == [None, 0.25]


# Tables on axes.


def test_a_table_of_places_is_rehearsed_on_axes_of_any_scale() -> None:
    """On a full grid of pixels the landscape is the grid; rows are in no order."""
    space = zn.Product(
        {"T": (300, 600), "p": (0.01, 100), "layers": (1, 4), "dye": ["red", "green"]},
        smallest={"T": 150, "p": 2, "layers": 1},
        scale={"p": "log", "layers": "integer"},
    )
    rng = np.random.default_rng(0)
    rows = [
        (300 + 37.5 * (i + 0.5), 10 ** (-2 + 0.5 * (j + 0.5)), layers, dye, float(rng.normal()))
        for i in range(8)
        for j in range(8)
        for layers in (1, 2, 3, 4)
        for dye in ("red", "green")
    ]
    order = rng.permutation(len(rows)).tolist()
    names = ["T", "p", "layers", "dye", "yield"]
    columns = {name: [str(rows[at][k]) for at in order] for k, name in enumerate(names)}
    truth = on_axes(space, table(**columns), "yield")
    region = {"T": (300, 450), "p": (0.01, 1), "layers": (2, 2), "dye": "green"}
    inside = [own[4] for own in rows if own[0] < 450 and own[1] < 1 and own[2:4] == (2, "green")]
    assert len(inside) == 16
    assert truth.average(region) == pytest.approx(np.mean(inside))


def test_a_pixel_without_a_row_has_the_value_of_the_nearest_also_around_a_ring() -> None:
    space = zn.Box({"l": (-180, 180)}, periodic=["l"], smallest=45)
    truth = on_axes(space, table(l=["-170", "0"], T=["5", "1"]), "T")
    assert truth.average({"l": (135, 180)}) == pytest.approx(5.0)
    assert truth.average({"l": (-45, 45)}) == pytest.approx(1.0)
    flat = on_axes(zn.Box({"l": (-180, 180)}, smallest=45), table(l=["-170", "0"], T=["5", "1"]), "T")
    assert flat.average({"l": (135, 180)}) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"x": ["0.1", "2"]}, "column 'x' of row 2: a region must lie within axis x"),
        ({"x": ["0.1", "0.2"], "dye": ["red", "blue"]}, "column 'dye' of row 2: axis dye has no such symbol"),
        ({"x": ["0.1", "0.2"], "dye": ["red", "red"]}, "no row with these symbols; got {'dye': 'green'}"),
        ({"y": ["0.1", "0.2"]}, "'x'"),
    ],
)
def test_rows_that_lie_nowhere_are_named(columns: dict[str, list[str]], says: str) -> None:
    axes: dict[str, Any] = {"x": (0, 1), **({"dye": ["red", "green"]} if "dye" in columns else {})}
    space = zn.Product(axes, smallest={"x": 0.25}) if "dye" in columns else zn.Box(axes, smallest=0.25)
    with pytest.raises(zn.InvalidInput, match=re.escape(says)):
        on_axes(space, table(v=["1", "2"], **columns), "v")
