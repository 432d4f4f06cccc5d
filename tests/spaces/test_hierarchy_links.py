"""Hierarchies from codes and from the edges of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.simulation import from_table

TRACTS = ["06037101110", "36061000100", "06037101122", "06001400100"]
SEWER = [("a", "c"), ("b", "c"), ("c", "plant"), ("d", "plant")]


def test_the_first_characters_of_a_code_name_the_larger_areas() -> None:
    tracts = zn.Hierarchy.from_codes(TRACTS, [2, 5, 11], weights=[1, 2, 4, 8], levels=["state", "county", "tract"])
    assert tracts.level_names == ("state", "county", "tract")
    assert tracts.region("06").weight == 13
    assert tracts.region("06 > 06037").members.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("codes", "lengths", "problem"),
    [
        ([6037101110], [2, 11], "lost its leading zeros"),
        (["0603"], [2, 5], "has 4 characters, not 5"),
        (["06037"], [5, 2], "rising"),
        (["06037"], [], "rising"),
        (["06037", "06037"], [2, 5], "the same leaf"),
    ],
)
def test_wrong_codes_are_refused(codes: Any, lengths: list[int], problem: str) -> None:
    with pytest.raises(zn.InvalidInput, match=problem):
        zn.Hierarchy.from_codes(codes, lengths)


def test_a_node_measures_the_weighted_average_of_everything_upstream() -> None:
    amounts = {"a": 30.0, "b": 10.0, "c": 2.0, "d": 8.0}
    sewer = zn.Hierarchy.from_edges(SEWER, amounts)
    loads = {"a": 1.0, "b": 5.0, "(at c)": 7.0, "d": 2.0}
    landscape = from_table(sewer, loads)
    assert landscape.average(sewer.region("plant > c")) == pytest.approx((30 * 1 + 10 * 5 + 2 * 7) / 42)
    assert landscape.average(sewer.region("plant")) == pytest.approx((30 * 1 + 10 * 5 + 2 * 7 + 8 * 2) / 50)


def test_edges_may_be_columns_and_every_node_adds_the_same_by_default() -> None:
    sewer = zn.Hierarchy.from_edges({"from": [1, 2, 3], "to": [3, 3, 4]})
    assert sewer.region("4").weight == 4
    assert sewer.region("3").weight == 3


def test_a_frame_of_edges_is_read() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(SEWER, columns=["from", "to"])
    assert zn.Hierarchy.from_edges(frame) == zn.Hierarchy.from_edges(SEWER)


def test_nodes_of_a_network_may_have_places() -> None:
    places = {node: (float(at), -1.0) for at, node in enumerate("abcd")}
    flow, names = dict.fromkeys("abcd", 1.0), ["x", "y"]
    sewer = zn.Hierarchy.from_edges(SEWER, flow, features=places, feature_names=names)
    assert sewer.names == ("x", "y")
    assert sewer.region("(at c)").center.tolist() == [2, -1]
    assert sewer.region("d").center.tolist() == [3, -1]
    for wrong, problem in (({"a": (0.0,)}, "lack a node"), ([(0.0,)], "by node")):
        with pytest.raises(zn.InvalidInput, match=problem):
            zn.Hierarchy.from_edges(SEWER, features=wrong)  # type: ignore[arg-type]


def test_a_thinned_network_measures_fewer_nodes_and_the_same_averages_there() -> None:
    row = [(f"n{at}", f"n{at - 1}") for at in range(1, 64)]
    whole, thinned = zn.Hierarchy.from_edges(row), zn.Hierarchy.from_edges(row, thin=0.5)
    assert (whole.max_depth(), thinned.max_depth()) == (64, 7)
    loads = {f"(at n{at})" if at < 63 else "n63": float(at) for at in range(64)}
    every, some = from_table(whole, loads), from_table(thinned, loads)
    for name in ("n0", "n32", "n48"):
        assert some.average(thinned.region(name)) == pytest.approx(every.average(whole.region(name)))
    weights = [thinned.region(name).weight for name in ("n0", "n32", "n48", "n56")]
    assert weights == [64, 32, 16, 8]
    for wrong in (0.0, 1.5):
        with pytest.raises(zn.InvalidInput, match="thin"):
            zn.Hierarchy.from_edges(row, thin=wrong)


@pytest.mark.parametrize(
    ("edges", "weights", "problem"),
    [
        ([("a", "b"), ("b", "a")], None, "cycle"),
        ([("a", "b"), ("b", "c"), ("c", "b"), ("x", "y")], None, "b > c > b"),
        ([("a", "b"), ("c", "d")], None, "one outlet"),
        ([("a", "a")], None, "to itself"),
        ([("a", "b"), ("a", "c")], None, "drains into 'b' and"),
        ([], None, "two columns"),
        ([("a",)], None, "row 0"),
        ([("a", "b")], {"q": 1}, "no edge has"),
        ([("a", "b")], {"a": -1}, "negative"),
        ([("a", "b")], {"b": 1}, "a source must have a weight"),
        ([("a", "b")], [1.0], "by node"),
    ],
)
def test_wrong_networks_are_refused(edges: Any, weights: Any, problem: str) -> None:
    with pytest.raises(zn.InvalidInput, match=problem):
        zn.Hierarchy.from_edges(edges, weights)


def test_a_campaign_on_a_network_finds_the_source() -> None:
    rng = np.random.default_rng(3)
    edges = [(f"n{child}", f"n{int(rng.integers(child))}") for child in range(1, 40)]
    network = zn.Hierarchy.from_edges(edges)
    names = [path[-1] for path in network.paths]
    landscape = from_table(network, {name: float(name == names[7]) for name in names})
    study = zn.Study(network, budget=60, noise=0.01)
    assert study.optimize(landscape.average).region.name.endswith(names[7])
