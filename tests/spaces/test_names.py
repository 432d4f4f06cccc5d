"""Which region a name or a mapping means, on every space, and what is refused because it means none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import kinds
import zonal as zn
from effort import examples
from kinds import Kind

TREE = {"NSW": {"Coast": ["Tea Gardens", "Forster"], "Hills": ["Moss", "Berry"]}, "ACT": {"City": ["Civic"]}}
COLUMNS = {
    "state": ["NSW", "NSW", "NSW", "ACT"],
    "county": ["Coast", "Coast", "Hills", "City"],
    "town": ["Tea Gardens", "Forster", "Moss", "Civic"],
}
OF_TREE, OF_TABLE = zn.Hierarchy(TREE), zn.Hierarchy.from_table(COLUMNS)


@pytest.mark.parametrize(
    ("space", "what", "says"),
    [
        (OF_TREE, {"name": "ACT"}, "a level that is not there; got 'name'. Levels: level 1, level 2, level 3."),
        (OF_TREE, {"state": "NSW", "county": "Coast"}, "a level that is not there; got 'state'"),
        (OF_TABLE, {"state": "NSW", "cuonty": "Coast"}, "got 'cuonty'. Did you mean 'county'?"),
        (OF_TABLE, {"state": "NSW", "county": "Caost"}, "no such region; got .*Did you mean 'Coast'?"),
        (OF_TABLE, {"members": [0], "state": "NSW"}, "a list of members needs no other key; got 'state'"),
        (OF_TABLE, {}, "a region needs a name; got {}. Pass 'all' for all leaves."),
        (OF_TABLE, {"state": None}, "a region needs a name"),
        (OF_TABLE, (), "a region needs a name"),
        (OF_TABLE, "NSW > Caost", "no such region; got 'NSW > Caost'. Did you mean 'NSW > Coast'?"),
        (zn.Points({"a": [1.0, 2.0, 3.0]}), {"members": [0], "b": [1, 2]}, "has no such key; got 'b'"),
        (zn.Points({"a": [1.0, 2.0, 3.0]}), {"members": [0], "a": [1, 2]}, "these members have a from 1 to 1"),
        (zn.Sequences("ACGT", 3), {"sequence": "ACN", "state": 1}, "has no such key; got 'state'"),
        (zn.Sequences("ACGT", 3), {"sequenze": "ACN"}, "has no such key; got 'sequenze'"),
        (zn.Box({"x": (0, 1)}), {"y": (0, 1)}, "names an axis that is not there; got 'y'"),
        (zn.Product({"x": (0, 1), "dye": ["r", "g"]}), {"dy": "r"}, "names an axis that is not there; got 'dy'"),
    ],
)
def test_a_mapping_with_an_unknown_key_is_no_region(space: Any, what: Any, says: str) -> None:
    with pytest.raises(zn.InvalidInput, match=says.replace("?", r"\?").replace("{}", r"\{\}")):
        space.region(what)


def test_an_unknown_level_measures_nothing_and_forbids_nothing() -> None:
    study = zn.Study(OF_TABLE, budget=4, noise=0.1)
    wrong: Any = {"cuonty": "Coast"}
    trial = study.ask()
    calls: list[Any] = [
        lambda: study.observe(wrong, 0.5),
        lambda: study.predict(wrong),
        lambda: study.tell(trial, 0.1, minus=wrong),
        lambda: study.allow(wrong),
        lambda: zn.Study(OF_TABLE, budget=4, forbidden=wrong),
    ]
    for call in calls:
        with pytest.raises(zn.InvalidInput, match="Did you mean 'county'"):
            call()
    assert len(study.events) == 2
    assert not study.observations


def test_levels_above_a_unique_name_may_be_left_out() -> None:
    coast = OF_TABLE.region(("NSW", "Coast"))
    assert OF_TABLE.region({"county": "Coast"}) == OF_TABLE.region("Coast") == coast
    assert OF_TABLE.region({"state": "NSW", "county": "Coast", "town": None}) == coast
    assert OF_TABLE.region({"state": "NSW", "town": "Moss"}).name == "NSW > Hills > Moss"
    twice = zn.Hierarchy({"N": {"Coast": ["a", "b"]}, "S": {"Coast": ["c"]}})
    for what in ("Coast", {"level 2": "Coast"}):
        with pytest.raises(zn.InvalidInput, match="fits several regions"):
            twice.region(what)
    assert twice.region("S > Coast").members.tolist() == [2]


def test_an_area_and_another_leaf_of_the_same_name_are_not_confused() -> None:
    areas = zn.Hierarchy({"N": {"Sydney": ["Sydney", "Manly"]}, "S": {"Perth": ["Perth"]}})
    with pytest.raises(zn.InvalidInput, match="fits several regions"):
        areas.region("Sydney")
    assert areas.region("Perth").members.tolist() == [2]  # the area has no other leaf


def test_the_description_of_all_areas_is_taken_back() -> None:
    for space in (OF_TREE, OF_TABLE):
        whole = space.cell((0, 0))
        assert space.region(whole.as_dict()).key == whole.key
        assert space.region("all") == whole


@examples(60)
@given(kind=kinds.spaces())
def test_the_printed_name_of_a_cell_is_taken_back(kind: Kind) -> None:
    space = kind.space
    names = [cell.name for cell in kinds.cells(space, most=80, deepest=5)]
    for cell in kinds.cells(space, most=80, deepest=5):
        if names.count(cell.name) == 1:
            found = space.region(cell.name)
            assert found == cell
            assert space.region(space.from_text(cell.name)).key == cell.key


DECADES = zn.Box(
    {"c": (0.0123456, 0.7654321), "t": (0.123456, 1.0)}, arity=3, units={"c": "M"}, scale={"c": "log"}
)
EXACT: dict[str, Any] = {
    "decades": DECADES,
    "thirds": zn.Box({"x": (0, 1), "y": (1e6, 1e6 + 1)}, arity=3),
    "ring": zn.Box({"l": (-180, 180), "sin b": (-1, 1)}, periodic=["l"], units={"l": "deg"}),
    "prefixes": zn.Product({"T": (0, 1), "T low": (0, 2), "T low dye": ["a, b", "=b", "c|d"]}),
    "integers": zn.Box({"n": (1, 100), "x": (0, 1)}, scale={"n": "integer"}, smallest={"n": 1, "x": 0.01}),
    "sequences": zn.Sequences("ACGT", 40, order=[*range(39, -1, -1)]),
    "points": zn.Points(np.random.default_rng(0).uniform(size=(300, 2)), labels=[f"p{row}" for row in range(300)]),
    "any": zn.Product({"what": ["any", "none"], "x": (0, 1)}),
    "areas": zn.Hierarchy({"A > B": ["x", "y"], "C": {"C": {"C": ["z"]}}}),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_rounded_name_leads_to_the_exact_cell(name: str) -> None:
    space, rng = EXACT[name], np.random.default_rng(1)
    cell = space.cell((0, 0))
    for _ in range(24):
        assert space.region(cell.name).key == cell.key
        assert space.region(cell.name).name == cell.name
        if not space.may_split(cell):
            break
        children = space.split(cell)
        cell = children[int(rng.integers(len(children)))]


def test_a_study_takes_printed_names() -> None:
    study = zn.Study(DECADES, budget=9, kernel=zn.RBF(1.0, [0.5, 0.3]), noise=0.1)
    region = study.ask().region
    assert study.observe(region.name, 1.0).region.key == region.key
    assert study.predict(region.name).mean == study.predict(region).mean
    with pytest.raises(zn.InvalidInput, match="must be numbers"):
        DECADES.region(itertools.count())  # type: ignore[arg-type]
    assert DECADES.region("t 0.5..0.5000000001").widths[1] == pytest.approx(1e-10)
    assert zn.Box([(0, 1)]).region("x 0..1e-300").widths[0] == 1e-300
    with pytest.raises(zn.InvalidInput, match="must begin with the name of an axis"):
        study.predict("d 0..1")
    points = EXACT["points"]
    with pytest.raises(zn.InvalidInput, match="there is no such region of points"):
        points.region("3 points: x0 7..8, x1 1..2")


AMINO = "ACDEFGHIKLMNPQRSTVWY"


def test_x_stands_for_any_amino_acid() -> None:
    proteins = zn.Sequences(AMINO, 4)
    assert proteins.cell((1, 0)).name == "AXXX"
    assert proteins.region("AXXX") == proteins.region("A***") == proteins.region("axx*") == proteins.cell((1, 0))
    assert proteins.region("BJXZ").symbols == (("D", "N"), ("I", "L"), tuple(AMINO), ("E", "Q"))
    assert proteins.region("BJXZ").name == "BJXZ"
    stops = zn.Sequences(AMINO + "*", 2)
    assert stops.region("X*").symbols == (tuple(AMINO), ("*",))
    assert stops.cell((1, 0)).name == "A?"
    assert zn.Sequences("XY", 2).cell((1, 0)).name == "X*"  # a letter of this alphabet


def test_positions_are_counted_from_1() -> None:
    dna = zn.Sequences("ACGT", 3)
    assert dna.names == ("position 1", "position 2", "position 3")
    with pytest.raises(zn.InvalidInput, match="'AZC' has a symbol outside the alphabet at position 2; got 'Z'"):
        dna.region("AZC")


@pytest.mark.parametrize(
    ("space", "budget", "hopeless"),
    [
        (zn.Sequences("ACGT", 40), 100_000, True),
        (zn.Sequences(AMINO, 12), 100, True),
        (zn.Sequences(AMINO, 12), 240, False),
        (zn.Sequences("ACGT", 40, smallest=4**31), 10, False),
        (zn.Sequences("ACGT", 8), 3, False),
    ],
)
def test_a_search_by_first_symbols_that_has_no_prospect_is_warned_of(
    space: zn.Sequences, budget: int, hopeless: bool
) -> None:
    assert bool(space.partition.warning(budget)) == hopeless
    if hopeless:
        with pytest.warns(UserWarning, match=r"smallest pools, and the tree fixes one position at a time"):
            zn.Study(space, budget=budget, kernel=zn.Categorical(1.0, 0.5), noise=0.1)
