"""Tables for people: aligned, escaped, cut only on paper, and whole in data frames and files."""

import csv
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import zonal as zn
from zonal.io.result_table import MAX_ROWS, WIDEST, Listing, Probability, Span, card
from zonal.io.tables import read_table

TABLE = Listing(
    "Wells & more",
    {
        "well": ["A1", "<b>", "C3"],
        "depth [m]": [Span(0.0, 12.5), Span(12.5, 12.5), Span(20.0, 30.0)],
        "yield": [0.25, None, 12.0],
        "looks": [3, None, 1],
    },
)


def test_columns_are_aligned_and_numbers_of_a_column_have_the_same_digits() -> None:
    assert str(TABLE).splitlines() == [
        "Wells & more",
        "well  depth [m]  yield  looks",
        "A1      0..12.5   0.25      3",
        "<b>        12.5",
        "C3       20..30  12.00      1",
    ]


def test_html_is_escaped_and_has_every_cell() -> None:
    html = TABLE._repr_html_()
    assert "Wells &amp; more" in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert html.count("<td") == 12
    assert html.count("<th") - html.count("<thead") == 4


def test_a_card_shows_few_digits_and_escapes() -> None:
    html = card("Study <1>", {"mean": 0.123456789, "name": "a > b"})
    assert "0.1235" in html
    assert "a &gt; b" in html
    assert "Study &lt;1&gt;" in html


def test_data_frames_and_files_hold_numbers_in_full_and_edges_apart(tmp_path: Path) -> None:
    columns = {
        "well": ["A1", "<b>", "C3"],
        "depth low [m]": [0.0, 12.5, 20.0],
        "depth high [m]": [12.5, 12.5, 30.0],
        "yield": [0.25, None, 12.0],
        "looks": [3, None, 1],
    }
    assert TABLE.to_dict() == columns
    assert TABLE.to_polars().to_dict(as_series=False) == columns
    assert TABLE.to_arrow().to_pydict() == columns
    frame = TABLE.to_pandas()
    assert list(frame.columns) == list(columns)
    assert frame["yield"].tolist()[::2] == [0.25, 12.0]
    assert frame["yield"].isna().tolist() == [False, True, False]
    TABLE.to_csv(tmp_path / "wells.csv")
    with (tmp_path / "wells.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == list(columns)
    assert rows[2] == ["<b>", "12.5", "12.5", "", ""]


def test_who_speaks_arrow_takes_a_table_as_it_is() -> None:
    assert pl.DataFrame(TABLE).shape == (3, 5)
    assert pa.table(TABLE).num_rows == 3


def test_long_tables_show_their_first_and_last_rows_and_say_how_many_are_left_out() -> None:
    long = Listing("Numbers", {"n": list(range(1000))})
    lines = str(long).splitlines()
    assert lines[2].strip() == "0"
    assert lines[-1].strip() == "999"
    assert f"... {1000 - MAX_ROWS} more rows ..." in lines
    assert f"{1000 - MAX_ROWS} more rows" in long._repr_html_()
    assert len(long) == len(long.to_dict()["n"]) == 1000


def test_a_printed_row_fits_its_line_and_texts_are_whole_elsewhere() -> None:
    name = "temperature 57.5..65 C, " * 8
    wide = Listing("Wide", {"region": [name], **{f"column {j}": [float(j)] for j in range(5)}})
    assert all(len(line) <= WIDEST for line in str(wide).splitlines())
    assert "..." in str(wide)
    assert wide.to_dict()["region"] == [name]


@pytest.mark.parametrize(
    ("values", "shown"),
    [([1e-9, 2e-9], "1.000e-09"), ([12345.678, 1.0], "12346"), ([float("nan"), 1.0], ""), ([0.0, 0.0], "0.000")],
)
def test_numbers_of_any_size_are_readable(values: list[float], shown: str) -> None:
    assert str(Listing("t", {"v": values})).splitlines()[2].strip() == shown


def test_an_empty_table_prints_its_columns() -> None:
    assert str(Listing("Nothing yet", {"number": [], "region": []})) == "Nothing yet\nnumber  region"


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(zn.InvalidInput, match=r"no such column; got 'value'. It has well, depth"):
        TABLE["value"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_missing_is_named_with_a_way_out(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    method = {"pandas": TABLE.to_pandas, "polars": TABLE.to_polars, "pyarrow": TABLE.to_arrow}[library]
    with pytest.raises(zn.InvalidInput, match=f"pip install {library}"):
        method()


def test_rows_are_gone_through_with_their_cells_by_name() -> None:
    assert [row["well"] for row in TABLE] == TABLE["well"]
    assert list(TABLE)[1] == {"well": "<b>", "depth [m]": Span(12.5, 12.5), "yield": None, "looks": None}
    assert "yield" in TABLE
    assert "cost" not in TABLE
    study = zn.Study([(0, 1)], budget=3, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    assert list(study.table()) == []
    study.optimize(lambda region: 0.5)
    assert [row["rank"] for row in study.top(3)] == [1, 2, 3]
    assert [row["region"] for row in study.top(3)] == study.top(3)["region"]


@pytest.mark.parametrize("path", [None, 3, "nowhere/a.csv", "a\0.csv", "a" * 300, "."])
def test_a_table_that_cannot_be_written_says_why(path: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(zn.ZonalError):
        TABLE.to_csv(path)
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_is_too_long_has_its_names_broken_and_then_its_texts_cut() -> None:
    names = Listing("", {"name": ["a long name indeed", "b"], "number of it": [12345, -1]})
    assert names.text(40).splitlines()[1] == "a long name indeed         12345"
    assert names.text(27).splitlines() == [
        "                    number",
        "                        of",
        "name                    it",
        "a long name indeed   12345",
        "b                       -1",
    ]
    assert names.text(18).splitlines()[3:] == ["a long ...   12345", "b               -1"]
    assert names.text(1).splitlines()[3:] == ["a lon...   12345", "b             -1"]  # there are limits


def test_a_number_is_shown_with_two_digits_of_its_doubt() -> None:
    nan, inf = float("nan"), float("inf")
    columns = {"mean": [0.123456, 1234.5, 2.5, nan, inf, 1e-20], "std": [0.011, 300.0, 0.0, 1.0, 1.0, 1e-21]}
    shown = Listing("", columns, {"mean": "std"}).text(80).splitlines()[1:]
    assert [line.split()[0] for line in shown] == ["0.123", "1.23e+03", "2.5", "1.0", "inf", "1e-20"]


def test_no_probability_reads_as_certainty() -> None:
    chances = [Probability(p) for p in (0.0, 0.004, 0.5, 0.989, 0.9951, 1.0, float("nan"))]
    table = Listing("", {"p": chances, "n": range(7)})
    assert [line[:-1].strip() for line in table.text(80).splitlines()[1:]] == [
        "< 1 %", "< 1 %", "50 %", "99 %", "> 99 %", "> 99 %", "",
    ]  # fmt: skip
    assert [type(p) for p in table.to_dict()["p"]] == [float] * 7


def test_a_table_goes_to_excel_and_comes_back(tmp_path: Path) -> None:
    depths = [Span(0, 12.5), Span(12.5, 30)]
    table = Listing("", {"well": ["=A1", "B7"], "depth [m]": depths, "yield": [1 / 3, None]})
    table.to_excel(tmp_path / "a.xlsx")
    again = read_table(tmp_path / "a.xlsx")
    assert again.columns["well"] == ("'=A1", "B7")  # never a formula
    assert again.numbers("depth high [m]").tolist() == [12.5, 30]
    assert again.columns["yield"] == (repr(1 / 3), "")
    with pytest.raises(zn.InvalidInput, match=r"an Excel file ends in .xlsx; got '.*a.csv'"):
        table.to_excel(tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
