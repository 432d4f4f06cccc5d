"""Regions as plain values: what they say of themselves can be read, written down and taken back."""

import json

import numpy as np
import pytest

import zonal as zn
from kinds import KINDS, cells, off_tree
from zonal.plotting.style import outline
from zonal.spaces import PeriodicAxis, is_one_region

EVERY_KIND = pytest.mark.parametrize("name", KINDS)


def regions(name: str) -> list[zn.Region]:
    kind = KINDS[name]
    return [*cells(kind.space, most=60, deepest=4), *off_tree(kind, 6, seed=3)]


@EVERY_KIND
def test_a_region_written_as_json_is_taken_back(name: str) -> None:
    space = KINDS[name].space
    for region in regions(name):
        again = space.region(json.loads(json.dumps(region.as_dict())))
        assert again.key == region.key or np.allclose(again.bounds, region.bounds, rtol=1e-12)
        assert is_one_region(space, region.as_dict())


@EVERY_KIND
def test_parts_are_looked_up_by_name_and_a_wrong_name_lists_them(name: str) -> None:
    region = regions(name)[-1]
    for axis, part in region.as_dict().items():
        assert region[axis] == (tuple(part) if isinstance(part, list) else (part,))
    with pytest.raises(zn.InvalidInput, match="no such axis; got 'colour'"):
        region["colour"]
    with pytest.raises(TypeError):
        iter(region)  # type: ignore[call-overload]


@EVERY_KIND
def test_two_regions_overlap_if_something_lies_in_both(name: str) -> None:
    kind = KINDS[name]
    some = regions(name)[::3][:25]
    for a in some:
        for b in some:
            if kind.X is not None:
                shared = bool(set(a.members.tolist()) & set(b.members.tolist()))  # type: ignore[attr-defined]
            else:
                shared = True
                for j, axis in enumerate(kind.space.axes):
                    named, others = a.symbols[j], b.symbols[j]  # type: ignore[attr-defined]
                    if named is not None:
                        shared &= bool(set(named) & set(others))
                    else:
                        (left, right), (start, stop) = outline(a)[j], outline(b)[j]
                        side = axis.high - axis.low
                        turns = (-side, 0, side) if isinstance(axis, PeriodicAxis) else (0,)
                        common = [min(right, stop + turn) - max(left, start + turn) for turn in turns]
                        shared &= max(common) > 1e-9 * side
            assert a.overlaps(b) == shared == b.overlaps(a), (a, b)


@EVERY_KIND
def test_where_a_region_is_has_a_meaning_on_every_space(name: str) -> None:
    space = KINDS[name].space
    for region in regions(name):
        x = region.x
        if isinstance(x, np.ndarray):
            assert np.isfinite(x).all()
            assert x.shape == (space.d,)
        elif isinstance(x, dict):
            assert set(x) == set(space.names)
            assert all(part == part for part in x.values())
        else:
            assert x == region.name


@EVERY_KIND
def test_regions_show_their_name_in_a_notebook(name: str) -> None:
    region = regions(name)[0]
    assert "Region" in region._repr_html_()
    assert "name" in region._repr_html_()


def test_small_letters_are_taken_where_the_alphabet_has_only_large_ones() -> None:
    dna = zn.Sequences("ACGT", 4)
    assert dna.region("atrn").name == "ATRN"
    assert zn.Sequences("ab", 2).region("ab").name == "ab"


def test_a_region_at_an_edge_does_not_overlap_its_neighbour_but_a_point_inside_does() -> None:
    line = zn.Box([(0, 1)])
    left, right = line.cell((1, 0)), line.cell((1, 1))
    assert not left.overlaps(right)
    assert left.overlaps(line.region([(0.2, 0.2)]))
    assert not right.overlaps(line.region([(0.2, 0.2)]))
