"""Laws that every space keeps: children tile their parent, nodes are numbered in order, regions are values."""

import copy
import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kinds
import zonal as zn
from effort import examples
from kinds import KINDS, Kind
from zonal.spaces import FiniteSpace, SubsetRegion

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
drawn = examples(80)


def parts(region: Any) -> dict[str, list[Any]]:
    """Return what a region consists of on each axis: symbols, or edges; of a set its members."""
    if isinstance(region, SubsetRegion):
        return {"members": region.members.tolist()}
    edges = [part[2] for _, part in region.along]
    named = zip(region.space.names, region.symbols, edges, strict=True)
    return {name: list(edges) if symbols is None else list(symbols) for name, symbols, edges in named}


def check_that_children_tile(space: Any, parent: Any) -> None:
    children = space.split(parent)
    assert len(children) >= 1
    assert sum(child.weight for child in children) == pytest.approx(parent.weight, rel=1e-9)
    assert all(child.weight > 0 for child in children)
    whole, pieces = parts(parent), [parts(child) for child in children]
    changed = [name for name in whole if any(piece[name] != whole[name] for piece in pieces)]
    assert len(changed) <= 1  # none where a node has a single child
    for name in changed:
        if name in space.names and isinstance(whole[name][0], float):
            edges = [piece[name] for piece in pieces]
            assert (edges[0][0], edges[-1][1]) == tuple(whole[name])
            assert all(left[1] == right[0] for left, right in itertools.pairwise(edges))  # to the last bit
            assert all(low < high for low, high in edges)
        else:
            together = [part for piece in pieces for part in piece[name]]
            assert sorted(together) == sorted(whole[name])
            assert len(set(together)) == len(together)
            assert all(piece[name] for piece in pieces)


@drawn
@given(kind=kinds.spaces())
def test_a_region_holds_what_lies_within_it_and_nothing_else(kind: Kind) -> None:
    space = kind.space
    root = space.cell((0, 0))
    for cell in kinds.cells(space, most=60, deepest=4):
        assert root.contains(cell)
        assert cell.contains(cell)
        again = space.region(cell.as_dict() if not isinstance(cell, SubsetRegion) else cell.members)
        assert again.contains(cell)
        assert cell.contains(again)
        if not space.may_split(cell):
            continue
        children = space.split(cell)
        for one in children:
            assert cell.contains(one)
            assert one.contains(cell) == (len(children) == 1)
            assert not any(one.contains(other) for other in children if other is not one)


@drawn
@given(kind=kinds.spaces())
def test_children_tile_their_parent(kind: Kind) -> None:
    for cell in kinds.cells(kind.space, most=100, deepest=4):
        if kind.space.may_split(cell):
            check_that_children_tile(kind.space, cell)


@every_kind
def test_children_tile_their_parent_in_a_space_of_every_kind(kind: Kind) -> None:
    for cell in kinds.cells(kind.space):
        if kind.space.may_split(cell):
            check_that_children_tile(kind.space, cell)


@drawn
@given(kind=kinds.spaces())
def test_nodes_are_numbered_level_by_level_in_order(kind: Kind) -> None:
    space = kind.space
    for depth, level in enumerate(kinds.levels(space, most=150)):
        assert [cell.node for cell in level] == [(depth, index) for index in range(len(level))]
        assert space.partition.count(depth) == len(level)
        for cell in level:
            assert space.cell(cell.node) == cell
            assert space.cell(cell.node).key == cell.key
        assert space.cell((depth, 0), zn.Mean()).feedback == zn.Mean()


@drawn
@given(kind=kinds.spaces())
def test_the_tree_ends_where_it_says(kind: Kind) -> None:
    space = kind.space
    reached = list(kinds.levels(space, most=300, deepest=12))
    deepest = space.max_depth()
    if deepest is None:
        assert all(space.may_split(cell) for cell in reached[-1])
        return
    if len(reached) <= deepest:  # more than fits the test
        return
    assert len(reached) == deepest + 1
    assert not any(space.may_split(cell) for cell in reached[-1])
    if not isinstance(space, zn.Box):  # whose nodes are numbered as the paper's, smallest or not
        assert space.partition.count(deepest + 1) == 0
        with pytest.raises(zn.InvalidInput, match="a node is"):
            space.cell((deepest + 1, 0))
    with pytest.raises(zn.InvalidInput, match="a node is"):
        space.cell((deepest, len(reached[-1])))


@drawn
@given(kind=st.one_of(kinds.points(), kinds.hierarchies()))
def test_no_set_of_members_is_lighter_than_smallest(kind: Kind) -> None:
    space, least = kind.space, kind.space.smallest or 0.0
    assert kind.X is not None
    for cell in kinds.cells(space, deepest=40):
        assert cell.node == (0, 0) or cell.weight >= least * (1 - 1e-6)
        if least == 0 and not space.may_split(cell):  # nothing keeps the tree from telling members apart
            different = len({tuple(row) for row in kind.X[cell.members].tolist()})
            assert different == 1 if isinstance(space, zn.Points) else len(cell.members) == 1


@drawn
@given(kind=st.one_of(kinds.boxes(), kinds.products()))
def test_no_interval_is_narrower_than_smallest(kind: Kind) -> None:
    for cell in kinds.cells(kind.space, deepest=12):
        for axis, width in zip(kind.space.axes, cell.widths, strict=True):
            least = getattr(axis, "smallest", None)
            assert least is None or width >= least * (1 - 1e-6)


@drawn
@given(kind=kinds.sequences())
def test_no_pool_has_fewer_sequences_than_smallest(kind: Kind) -> None:
    space = kind.space
    for cell in kinds.cells(space):
        number = math.prod(len(named) for named in cell.symbols)
        assert number >= space.smallest
        assert space.may_split(cell) == (number > 1 and number / space.arity >= space.smallest)


@drawn
@given(kind=kinds.products())
def test_a_product_stops_only_when_no_axis_can_be_split(kind: Kind) -> None:
    space = kind.space
    for cell in kinds.cells(space, most=200, deepest=12):
        if space.may_split(cell):
            continue
        for axis, named, width in zip(space.axes, cell.symbols, cell.widths, strict=True):
            if named is None:
                assert width / space.arity < axis.smallest
            else:
                assert len(named) == 1


@drawn
@given(kind=st.one_of(kinds.boxes(), kinds.products()))
def test_the_axis_split_is_among_the_least_split_so_far(kind: Kind) -> None:
    space = kind.space
    for depth, level in enumerate(kinds.levels(space, most=100, deepest=8)):
        assert len({tuple(cell.widths) for cell in level if space.continuous}) <= 1
        if not space.may_split(level[0]):
            break
        splits, chosen = space.partition.level(depth).splits, space.partition.level(depth).axis
        assert space.partition.level(depth + 1).splits == [
            number + (axis == chosen) for axis, number in enumerate(splits)
        ]
        if isinstance(space, zn.Box):
            able = [
                splits[j]
                for j, axis in enumerate(space.axes)
                if (axis.high - axis.low) / space.arity ** (splits[j] + 1) >= (axis.smallest or 0) * (1 - 1e-9)
            ]
            assert splits[chosen] == min(able)


@drawn
@given(kind=kinds.points())
def test_points_are_parted_into_as_many_as_arity_says_and_never_torn_apart(kind: Kind) -> None:
    space = kind.space
    assert kind.X is not None
    for cell in kinds.cells(space, deepest=40):
        if not space.may_split(cell):
            continue
        children = space.split(cell)
        assert 2 <= len(children) <= space.arity
        rows = [{tuple(row) for row in kind.X[child.members].tolist()} for child in children]
        assert all(not one & other for one, other in itertools.combinations(rows, 2))


def test_a_balanced_tree_of_distinct_points_is_as_shallow_as_can_be() -> None:
    X = np.random.default_rng(0).normal(size=(1000, 2))
    space = zn.Points(X)
    assert space.max_depth() == 10
    assert [space.partition.count(depth) for depth in range(11)] == [2**depth for depth in range(10)] + [
        1000 * 2 - 1024
    ]
    assert zn.Points(X, arity=10).max_depth() == 3


def test_points_are_split_where_they_spread_widest_relative_to_the_whole() -> None:
    space = zn.Points([[0, 0], [1, 0], [0, 1000], [1, 1000], [0, 1001], [1, 1002]])
    first, second = space.split(space.cell((0, 0)))
    assert (first.members.tolist(), second.members.tolist()) == ([0, 2, 4], [1, 3, 5])  # equal spread: the first
    assert [child.members.tolist() for child in space.split(first)] == [[0], [2, 4]]
    weighed = zn.Points([0.0, 1.0, 2.0, 3.0], weights=[5, 1, 1, 1])
    assert [child.members.tolist() for child in weighed.split(weighed.cell((0, 0)))] == [[0], [1, 2, 3]]


def test_lists_without_names_are_known_by_their_number() -> None:
    space = zn.Hierarchy([["x", "y"], {"b": ["z", "w"]}, ("c", ["v"]), "u"])
    assert [cell.name for cell in space.split(space.cell((0, 0)))] == ["0", "b", "c", "u"]
    assert [space.cell((2, i)).name for i in range(5)] == ["0 > x", "0 > y", "b > z", "b > w", "c > v"]
    assert space.region("b").members.tolist() == [2, 3]


def test_a_table_and_links_give_the_same_tree_as_nested_mappings() -> None:
    nested = zn.Hierarchy({"b": {"q": ["3", "1"]}, "a": {"p": ["2"], "r": ["4"]}}, weights=[3, 1, 2, 4])
    table = zn.Hierarchy.from_table(
        [["b", "a", "b", "a"], ["q", "p", "q", "r"], ["3", "2", "1", "4"]], weights=[3, 2, 1, 4]
    )
    parents = {"3": "q", "2": "p", "1": "q", "4": "r", "q": "b", "p": "a", "r": "a", "b": None, "a": None}
    links = zn.Hierarchy.from_parents(parents, weights={"1": 1, "2": 2, "3": 3, "4": 4})
    for other in (table, links):
        assert other.paths == nested.paths
        assert other.weights.tolist() == nested.weights.tolist()
        for cell in kinds.cells(nested):
            assert other.cell(cell.node).name == cell.name
            assert other.cell(cell.node).weight == cell.weight
        assert other.region("a").members.tolist() == [1, 3]  # rows as they were given
    assert nested.region("a").members.tolist() == [2, 3]


# Regions.


@drawn
@given(kind=st.one_of(kinds.sequences(), kinds.products(), kinds.hierarchies(), kinds.boxes()))
def test_names_are_unique_within_a_level(kind: Kind) -> None:
    for level in kinds.levels(kind.space, most=150, deepest=5):
        assert len({cell.name for cell in level}) == len(level)


@drawn
@given(kind=st.one_of(kinds.sequences(), kinds.hierarchies()))
def test_a_cell_is_found_by_its_name(kind: Kind) -> None:
    for cell in kinds.cells(kind.space, most=150):
        found = kind.space.region(cell.name)
        assert found.key == cell.key
        assert found.weight == pytest.approx(cell.weight)


@drawn
@given(kind=kinds.spaces())
def test_a_cell_is_found_by_its_description(kind: Kind) -> None:
    space = kind.space
    for cell in kinds.cells(space, most=60, deepest=4):
        if kind.X is not None:
            found = space.region(cell.members)
            mask = np.isin(np.arange(len(kind.X)), cell.members)
            assert not isinstance(space, zn.Points) or space.region(mask) == found
        elif isinstance(space, zn.Sequences):
            found = space.region(cell.symbols)
        else:
            edges = [part[2] for _, part in cell.along]
            described = zip(space.names, cell.symbols, edges, strict=True)
            found = space.region({name: edges if named is None else named for name, named, edges in described})
        assert found.key == cell.key
        assert found.node is None
        assert found.weight == pytest.approx(cell.weight, rel=1e-9)
        np.testing.assert_allclose(found.center, cell.center, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(found.bounds, cell.bounds)
        with pytest.raises(zn.InvalidInput, match="only a cell of the tree can be split"):
            space.split(found)
        assert not space.may_split(found)


@drawn
@given(kind=kinds.sequences(), seed=st.integers(0, 1000))
def test_a_pool_of_single_letters_is_found_by_its_name(kind: Kind, seed: int) -> None:
    assume(max(map(len, kind.space.alphabet)) == 1)
    for pool in kinds.off_tree(kind, 5, seed):
        assert kind.space.region(pool.name).key == pool.key


@every_kind
def test_regions_and_spaces_are_values(kind: Kind) -> None:
    space = kind.space
    assert copy.deepcopy(space) is space
    assert copy.copy(space) is space
    again = pickle.loads(pickle.dumps(space))
    assert again == space
    assert hash(again) == hash(space)
    for region in [*kinds.cells(space, most=30, deepest=3), *kinds.off_tree(kind, 5, seed=0)]:
        assert region.name  # what is computed when asked for must not matter
        back = pickle.loads(pickle.dumps(region))
        assert back == region
        assert hash(back) == hash(region)
        assert (back.name, back.key, back.weight) == (region.name, region.key, region.weight)
        assert copy.deepcopy(region) == region


def test_spaces_that_differ_are_not_equal() -> None:
    different = [kind.space for kind in KINDS.values()]
    different += [zn.Points([0.0, 1.0]), zn.Points([0.0, 2.0]), zn.Points([0.0, 1.0], weights=[1, 2])]
    different += [zn.Points([1.0, 0.0]), zn.Points({"y": [0.0, 1.0]}), zn.Points([0.0, 1.0], arity=3)]
    different += [zn.Hierarchy(["a", "b"]), zn.Hierarchy(["b", "a"]), zn.Hierarchy(["a", "b"], weights=[1, 2])]
    different += [zn.Sequences("AC", 2), zn.Sequences("CA", 2), zn.Sequences("AC", 2, order=[1, 0])]
    different += [zn.Sequences("AC", 2, frequencies=[1, 2]), zn.Product({"y": (0, 1)}), zn.Box({"y": (0, 1)})]
    for one, other in itertools.combinations(different, 2):
        assert one != other
        assert not one == other  # noqa: SIM201


@drawn
@given(kind=st.one_of(kinds.points(), kinds.hierarchies()), seed=st.integers(0, 1000))
def test_members_are_known_by_the_users_row_numbers(kind: Kind, seed: int) -> None:
    assert kind.X is not None
    assert kind.w is not None
    for region in [*kinds.cells(kind.space, most=60), *kinds.off_tree(kind, 5, seed)]:
        X, w = kind.X[region.members], kind.w[region.members]
        assert region.weight == pytest.approx(w.sum(), rel=1e-9)
        if not kind.is_categorical:
            np.testing.assert_array_equal(region.bounds, np.stack([X.min(axis=0), X.max(axis=0)], axis=1))
            np.testing.assert_array_equal(region.widths, X.max(axis=0) - X.min(axis=0))
            np.testing.assert_allclose(region.center, (w / w.sum()) @ X, rtol=1e-9, atol=1e-9)


@drawn
@given(kind=kinds.hierarchies())
def test_without_features_leaves_are_alike_where_they_share_ancestors(kind: Kind) -> None:
    assume(kind.is_categorical)
    assert kind.X is not None
    theirs, ours = kind.X, kind.space.features[kind.space.place]
    np.testing.assert_array_equal(ours[:, None] == ours[None], theirs[:, None] == theirs[None])


@drawn
@given(kind=kinds.spaces())
def test_no_cell_reaches_further_than_its_depth_says(kind: Kind) -> None:
    space = kind.space
    for depth, level in enumerate(kinds.levels(space, most=100, deepest=4)):
        reach = space.partition.reach(depth, zn.Center())
        if isinstance(space, FiniteSpace):
            assert kind.X is not None
            widest = np.max([np.ptp(kind.X[cell.members], axis=0) for cell in level], axis=0)
            np.testing.assert_allclose(reach, widest > 0 if kind.is_categorical else widest, rtol=1e-12)
        else:
            for axis, named, width, own in zip(space.axes, level[0].symbols, level[0].widths, reach, strict=True):
                assert own == (width / 2 if named is None else float(len(named) == len(axis.symbols)))


# Representative points.


@every_kind
def test_representative_points_are_those_of_what_the_user_gave(kind: Kind) -> None:
    for feedback in kinds.allowed(kind):
        if kinds.per_axis(feedback) is None and not all(kinds.symbols(kind.space)):
            continue  # an exact mean along a continuous axis has none
        for plain in [*kinds.cells(kind.space, most=40, deepest=3), *kinds.off_tree(kind, 4, seed=1)]:
            region = zn.spaces.with_feedback(plain, feedback)
            X, w = kinds.block(kind, plain, feedback)
            order, expected = np.lexsort(region.points.T), np.lexsort(X.T)
            if not kind.is_categorical:  # whose codes are the library's own
                np.testing.assert_allclose(region.points[order], X[expected], rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(region.weights[order], w[expected], rtol=1e-12)
            assert region.weights.sum() == pytest.approx(1)
            assert np.all(region.weights > 0)


@drawn
@given(kind=st.one_of(kinds.points(), kinds.hierarchies()), s=st.integers(1, 12))
def test_some_members_stand_for_all_evenly_by_weight(kind: Kind, s: int) -> None:
    assert kind.w is not None
    for cell in kinds.cells(kind.space, most=30, deepest=3):
        seen, shares = zn.Average(s).seen(cell)
        assert set(kind.space.rows[seen]) <= set(cell.members)
        assert shares.sum() == pytest.approx(1)
        if s >= len(cell.members):
            own = kind.w[kind.space.rows[seen]]
            np.testing.assert_allclose(shares, own / own.sum())
        elif s > 1:
            np.testing.assert_allclose(np.round(shares * s), shares * s)
            # So much of the weight lies before the middle of each stand-in's share, in the order of the tree.
            before = np.cumsum(kind.w[cell.members]) / kind.w[cell.members].sum()
            middles = (np.repeat(seen, np.round(shares * s).astype(int)) - cell.positions[0]).astype(int)
            wanted = (np.arange(s) + 0.5) / s
            assert np.all(before[middles] >= wanted - 1e-9)
            assert np.all(np.concatenate([[0], before])[middles] <= wanted + 1e-9)
        else:
            assert len(seen) == 1


def test_the_centre_of_points_is_the_one_nearest_to_their_mean() -> None:
    space = zn.Points([[0, 0], [2, 100], [1, 52], [1, 45]], weights=[1, 1, 2, 1])
    region = space.region([0, 1, 2, 3], zn.Center())
    assert region.points.tolist() == [[1, 52]]
    assert region.weights.tolist() == [1]


@every_kind
def test_a_region_is_the_same_however_it_is_seen(kind: Kind) -> None:
    for cell in kinds.cells(kind.space, most=5, deepest=2):
        seen = kind.space.cell(cell.node, zn.Mean())
        assert seen == cell
        assert hash(seen) == hash(cell)
        assert seen.feedback != cell.feedback
