"""Orders on plates: a map of the wells, an order sheet, and what the plate reader read."""

from __future__ import annotations

from pathlib import Path

import pytest

import zonal as zn
from shell import rows, zonal
from zonal.io import plates
from zonal.io.tables import read_table


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "pools.db"
    zn.Study.create(path, zn.Sequences("ACGT", 4), budget=60, noise=0.1)
    return path


@pytest.mark.parametrize("ending", ["csv", "xlsx", "fasta"])
def test_an_order_names_the_wells_and_a_map_shows_them(study: Path, tmp_path: Path, ending: str) -> None:
    order = tmp_path / f"order.{ending}"
    zonal("ask", study, "-n", "24", "--plate", "96", "--csv", order)
    table = read_table(order)
    assert table.texts("well") == [f"A{j}" for j in range(1, 13)] + [f"B{j}" for j in range(1, 13)]
    seen = read_table(tmp_path / f"order-plate.{'csv' if ending == 'fasta' else ending}")
    assert seen.rows == 8
    assert [*seen.columns] == ["plate", "row", *map(str, range(1, 13))]
    assert [seen.cells("row")[0], seen.cells("row")[7], seen.cells("1")[2]] == ["A", "H", ""]
    trial = zn.Study.open(study).pending[13]
    assert seen.cells("2")[1] == f"13: {trial.region.name}"


def test_a_filled_order_is_told(study: Path, tmp_path: Path) -> None:
    order = tmp_path / "order.csv"
    zonal("ask", study, "-n", "3", "--plate", "24", "--csv", order)
    text = order.read_text(encoding="utf-8")
    order.write_text(text.replace(",,,\n", ",0.5,,\n"), encoding="utf-8")
    zonal("tell", study, "--csv", order)
    assert [trial.value for trial in zn.Study.open(study).trials] == [0.5] * 3


FORMS = {
    "grid": ";1;2;3\nA;0,1;0,2;\nB;;;9,5\n",
    "grid of a plate": "plate,row,01,02,03\n1,A,0.1,0.2,\n1,B,,,9.5\n",
    "list": "Well,Value\nA01,0.1\na2,0.2\nH12,7\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_plate_reader_read_is_told(study: Path, tmp_path: Path, form: str) -> None:
    order, read = tmp_path / "order.csv", tmp_path / "read.csv"
    zonal("ask", study, "-n", "4", "--plate", "96", "--csv", order)
    read.write_text(FORMS[form], encoding="utf-8")
    zonal("tell", study, "--csv", order, "--plate", read)
    assert [trial.value for trial in zn.Study.open(study).trials] == [0.1, 0.2, None, None]


def test_an_order_may_need_several_plates(study: Path, tmp_path: Path) -> None:
    order, read = tmp_path / "order.csv", tmp_path / "read.csv"
    zonal("ask", study, "-n", "14", "--plate", "12", "--csv", order)
    assert [(row["plate"], row["well"]) for row in rows(str(order))][11:13] == [("1", "C4"), ("2", "A1")]
    read.write_text("plate,row,1,2,3,4\n2,A,5,6,,\n", encoding="utf-8")
    zonal("tell", study, "--csv", order, "--plate", read)
    assert [trial.value for trial in zn.Study.open(study).trials] == [*[None] * 12, 5.0, 6.0]


def test_plates_have_the_usual_wells() -> None:
    for size, last in {6: "B3", 12: "C4", 24: "D6", 48: "F8", 96: "H12", 384: "P24", 1536: "AF48"}.items():
        assert plates.places(size, size)[-1] == ("1", last)
        assert len(set(plates.places(size, 2 * size))) == 2 * size


def test_what_does_not_fit_is_refused_and_nothing_is_asked_or_told(study: Path, tmp_path: Path) -> None:
    order, read = tmp_path / "order.csv", tmp_path / "read.csv"
    zonal("ask", study, "--plate", "96", code=2)
    (tmp_path / "order-plate.csv").touch()
    assert "exists already" in zonal("ask", study, "--plate", "96", "--csv", order, code=1).output
    other = tmp_path / "wells.db"
    zn.Study.create(other, zn.Product({"well": ["left", "right"], "x": (0, 1)}, smallest={"x": 0.5}), budget=9)
    refused = zonal("ask", other, "--plate", "96", "--csv", tmp_path / "w.csv", code=1).output
    assert "like a column of the order" in refused
    assert not zn.Study.open(study).pending
    assert not zn.Study.open(other).pending
    (tmp_path / "order-plate.csv").unlink()
    zonal("ask", study, "--plate", "96", "--csv", order)
    for text in (
        "well,value\nZZZ,1\n",
        "x,y\n1,2\n",
        "well,value\nB1,3\n",
        "well,value\nA1,low\n",
        "well,value\nA1,1\nA01,2\n",
    ):
        read.write_text(text, encoding="utf-8")
        zonal("tell", study, "--csv", order, "--plate", read, code=1)
    zonal("tell", study, "0", "1.5", "--plate", read, code=2)
    order.write_text(order.read_text(encoding="utf-8").replace(",,,\n", ",0.5,,\n"), encoding="utf-8")
    read.write_text("well,value\nA1,0.7\n", encoding="utf-8")
    assert "Leave one of them empty" in zonal("tell", study, "--csv", order, "--plate", read, code=1).output
    assert zn.Study.open(study).measured == 0
