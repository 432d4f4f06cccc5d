"""Landscapes from tables on the space of a recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

import zonal as zn
from zonal.io.recipe_text import read_recipe
from zonal.simulation.ground_truth import Landscape
from zonal.simulation.ground_truth_tables import Columns, ValueTable, landscape_for

AREAS = ["A,a,0,1", "A,b,1,2", "B,c,2,3", "B,d,3,9"]
SPACES = {
    "hierarchy": '[hierarchy]\ntable = "areas.csv"\nlevels = ["state", "town"]\nweight = "persons"\n',
    "points": '[points]\ntable = "areas.csv"\ncoords = ["x"]\nweight = "persons"\n',
    "sequences": '[sequences]\nalphabet = "AC"\nlength = 2\n',
}
VALUES = {"a": 10, "b": 20, "c": 30, "d": 40}
ROWS = [f"{area[0]},{town},{number},{VALUES[town]}" for area, town, number in ("Aa0", "Ab1", "Bc2", "Bd3")]
HEAD = "state,town,x,age"


def landscape(folder: Path, kind: str, rows: list[str], head: str = HEAD, **columns: str) -> Landscape:
    """Return the landscape of a table with these rows on the space of a recipe beside it."""
    (folder / "areas.csv").write_text("\n".join(["state,town,x,persons", *AREAS, ""]))
    (folder / "values.csv").write_text("\n".join([head, *rows, ""]))
    (folder / "r.toml").write_text(f"budget = 3\n{SPACES[kind]}")
    named = Columns(sequence=columns.get("sequence"), weight=columns.get("weight"))
    return landscape_for(read_recipe(folder / "r.toml"), ValueTable(folder / "values.csv", "age", named))


@pytest.mark.parametrize("kind", ["hierarchy", "points"])
def test_rows_in_another_order_are_those_of_the_same_areas(tmp_path: Path, kind: str) -> None:
    for rows in (ROWS, ROWS[::-1], [ROWS[at] for at in (2, 0, 3, 1)]):
        made = landscape(tmp_path, kind, rows)
        assert [made.average(made.space.region([row])) for row in range(4)] == [10, 20, 30, 40]
        assert made.average(made.space.region([2, 3])) == (30 * 3 + 40 * 9) / 12


@pytest.mark.parametrize(
    ("kind", "rows", "message"),
    [
        (
            "hierarchy",
            [*ROWS[:3], "B,e,3,40"],
            r"row 4 has state, town that areas\.csv does not have; got \('B', 'e'\)",
        ),
        ("hierarchy", [*ROWS, "C,f,4,50"], r"row 5 has state, town that areas\.csv does not have"),
        ("hierarchy", [ROWS[1], ROWS[0], ROWS[1], ROWS[3]], r"rows 1 and 3 have the same state, town"),
        ("hierarchy", ROWS[:3], r"row 4 of areas\.csv has no row with its state, town; got \('B', 'd'\)"),
        ("points", [*ROWS[:3], "B,d,3.5,40"], r"row 4 has x that areas\.csv does not have; got \(3\.5,\)"),
    ],
)
def test_rows_that_are_not_those_of_the_recipe_are_named(
    tmp_path: Path, kind: str, rows: list[str], message: str
) -> None:
    with pytest.raises(zn.InvalidInput, match=message):
        landscape(tmp_path, kind, rows)


def test_a_table_without_the_columns_of_the_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(zn.InvalidInput, match="state"):
        landscape(tmp_path, "hierarchy", ["10", "20", "30", "40"], "age")


CODES = ["AC,1,2", "AA,0,1", "CA,2,3", "CC,5,9"]


def test_a_sequence_that_is_twice_in_a_table_is_refused_with_a_recipe_too(tmp_path: Path) -> None:
    named = {"head": "code,age,copies", "sequence": "code"}
    with pytest.raises(zn.InvalidInput, match=r"column code has a sequence twice, in rows 1 and 5; got 'AC'"):
        landscape(tmp_path, "sequences", [*CODES, "AC,7,1"], **named)
    assert landscape(tmp_path, "sequences", CODES, **named).best().average == 5
    with pytest.raises(zn.InvalidInput, match="needs their column"):
        landscape(tmp_path, "sequences", CODES, "code,age,copies")


def test_sequences_of_a_recipe_are_averaged_by_the_column_of_weights(tmp_path: Path) -> None:
    named = {"head": "code,age,copies", "sequence": "code"}
    plain = landscape(tmp_path, "sequences", CODES, **named)
    weighed = landscape(tmp_path, "sequences", CODES, **named, weight="copies")
    assert plain.average(plain.space.region("C*")) == 3.5
    assert weighed.average(weighed.space.region("C*")) == (2 * 3 + 5 * 9) / 12
