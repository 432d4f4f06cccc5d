"""Regions as texts, as cells of a sheet and as JSON, on every space."""

from __future__ import annotations

import json
from typing import Any

import pytest

import zonal as zn
from zonal.spaces import Region
from zonal.study.region_formats import exact_cells, exact_columns, region_in_row, region_json

AXES: dict[str, Any] = {"x": (0, 1), "dye": ["red", "green", "blue"], "solvent": {"water": 3, "ethanol": 1}}
SPACES: dict[str, Any] = {
    "box": zn.Box({"l": (-180, 180), "sin b": (-1, 1)}, arity=3, units={"l": "deg"}),
    "product": zn.Product(AXES, units={"x": "mm"}),
    "dose": zn.Box({"c": (1e-6, 1e-2), "t": (0.123456, 1)}, units={"c": "M"}, scale={"c": "log"}),
    "uneven": zn.Product({"c": (0.0123456, 0.7654321), "dye": ["red", "green"]}, arity=3, scale={"c": "log"}),
    "numbers": zn.Product({"layers": [1, 2, 4], "rate": {0.1: 1, 0.01: 2}, "shuffle": [True, False], "x": (0, 1)}),
    "any": zn.Product({"what": ["any", "none"], "x": (0, 1)}),
    "dna": zn.Sequences("ACGT", 3),
    "words": zn.Sequences(["do", "re", "mi"], 2),
    "points": zn.Points({"a": [1, 2, 3, 4], "b": [0, 0, 1, 5]}),
    "hierarchy": zn.Hierarchy(
        {"NSW": {"Coast": ["Tea Gardens", "Forster"], "Hills": ["Moss", "Berry"]}, "ACT": None}
    ),
}


def cells_of(space: Any) -> list[Region]:
    """Return the first cells of a tree, and what lies below the last of them."""
    found = [space.cell((0, 0))]
    for region in found:
        if len(found) < 12 and space.may_split(region):
            found += space.split(region)
    return found


@pytest.mark.parametrize("name", sorted(SPACES))
def test_a_region_survives_a_sheet(name: str) -> None:
    space = SPACES[name]
    for region in cells_of(space):
        row = dict(zip(exact_columns(space), map(str, exact_cells(region)), strict=True))
        back = space.region(region_in_row(space, row | {"region": region.name}))
        assert back.name == region.name
        assert back.key == region.key
        assert back.bounds == pytest.approx(region.bounds, rel=1e-15)


@pytest.mark.parametrize("name", sorted(SPACES))
def test_a_region_is_read_from_what_is_printed(name: str) -> None:
    space = SPACES[name]
    for region in cells_of(space):
        text = str(exact_cells(region)[0]) if name == "points" else region.name
        assert space.region(space.from_text(text)).name == region.name


@pytest.mark.parametrize("name", sorted(SPACES))
def test_a_region_is_json_for_programs(name: str) -> None:
    for region in cells_of(SPACES[name]):
        assert json.loads(json.dumps(region_json(region)))["name"] == region.name


def test_json_says_where_a_region_is() -> None:
    box, mixed = SPACES["box"].cell((1, 0)), SPACES["product"].cell((2, 0))
    assert region_json(box) == {
        "name": box.name,
        "node": [1, 0],
        "bounds": {"l": [-180.0, -60.0], "sin b": [-1.0, 1.0]},
        "units": {"l": "deg"},
    }
    assert region_json(mixed)["symbols"] == {"dye": ["red"], "solvent": ["water", "ethanol"]}
    assert region_json(SPACES["dna"].cell((1, 1)))["symbols"] == [["C"], [*"ACGT"], [*"ACGT"]]
    assert region_json(SPACES["points"].cell((1, 1)))["rows"] == [2, 3]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("box", "latitude=0..1", "name of an axis"),
        ("box", "l=0", "must be a span"),
        ("dose", "c", r"Write c=1e-06\.\.0\.01\."),
        ("dose", "c=-6..-2", r"within axis c \(1e-06 to 0.01\)"),
        ("dose", "t=0.1..1", r"within axis t \(0.123456 to 1\)"),
        ("uneven", "c=0.01..0.1", r"within axis c \(0.0123456 to 0.765432\)"),
        ("box", "l=a..b", "must be a number"),
        ("box", "l=0..999", "within axis l"),
        ("product", "dye=mauve", "no such symbol"),
        ("points", "1, two", "its row numbers"),
        ("points", "7", "7"),
        ("hierarchy", "NSW > Plains", "no such region"),
        ("dna", "ACGT", "3 positions"),
    ],
)
def test_a_text_that_is_no_region_is_refused(name: str, text: str, says: str) -> None:
    space = SPACES[name]
    with pytest.raises(zn.InvalidInput, match=says):
        space.region(space.from_text(text))


def test_parts_of_axes_may_be_left_out_of_a_text() -> None:
    assert SPACES["product"].region(SPACES["product"].from_text("dye = red|blue, x=0.1..0.2 mm")).name == (
        "x 0.1..0.2 mm, dye red|blue, solvent any"
    )
