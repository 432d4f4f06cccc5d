"""Tables in files: what is read, and what is said about a file that cannot be."""

from __future__ import annotations

import csv
import doctest
import gzip
import subprocess
import sys
import timeit
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from zonal.errors import InvalidInput
from zonal.io import tables
from zonal.io.tables import Table, read_table

WELLS = "well,depth,zone\nA1,12.5,north\nB7,30,south\n"


def written(folder: Path, text: str | bytes, name: str = "wells.csv") -> Path:
    content = text if isinstance(text, bytes) else text.encode()
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def in_parquet(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "wells.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    return path


def complaint(path: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        read_table(path)
    return str(caught.value)


def complaint_about_numbers(table: Table, column: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        table.numbers(column)
    return str(caught.value)


def complaint_about_texts(table: Table, column: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        table.texts(column)
    return str(caught.value)


@pytest.mark.parametrize("name", ["wells.csv", "wells.csv.gz", "wells.tsv", "wells.tsv.gz", "WELLS.CSV"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_text_is_read_by_the_ending_of_its_file(tmp_path: Path, name: str, mark: str, end: str) -> None:
    text = mark + WELLS.replace(",", "\t" if "tsv" in name else ",").replace("\n", end)
    table = read_table(written(tmp_path, text, name))
    assert list(table.columns) == ["well", "depth", "zone"]
    assert table.rows == 2
    assert table.path.name == name
    assert table.texts("well") == ["A1", "B7"]
    assert table.texts("depth") == ["12.5", "30"]
    assert table.numbers("depth").tolist() == [12.5, 30.0]


def test_a_path_may_be_a_text(tmp_path: Path) -> None:
    assert read_table(str(written(tmp_path, WELLS))).rows == 2


def test_quoted_cells_may_hold_commas_and_line_ends_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, 'well,depth\n"A,\n1",1\n\nB7,2\n\n'))
    assert table.texts("well") == ["A,\n1", "B7"]
    assert table.lines == [2, 5]


def test_cells_keep_their_leading_zeros_and_spaces(tmp_path: Path) -> None:
    assert read_table(written(tmp_path, "county\n01001\n B \n")).texts("county") == ["01001", " B "]


@settings(deadline=None)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, values: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    text = "x\n" + "".join(f"{value!r}\n" for value in values)
    assert read_table(written(folder, text)).numbers("x").tolist() == values
    assert read_table(in_parquet(folder, {"x": values})).numbers("x").tolist() == values


def test_what_a_table_hands_out_may_be_changed(tmp_path: Path) -> None:
    for path in (written(tmp_path, "x\n1\n2\n"), in_parquet(tmp_path, {"x": [1.0, 2.0]})):
        table = read_table(path)
        table.numbers("x")[0] = 7
        table.texts("x")[0] = "7"
        assert table.numbers("x").tolist() == [1, 2]
        assert table.texts("x") == ["1", "2"]


def test_parquet_holds_numbers_and_texts(tmp_path: Path) -> None:
    columns = {"well": ["A1", "B7"], "depth": [12.5, 30.0], "number": [101, 102]}
    table = read_table(in_parquet(tmp_path, columns))
    assert table.rows == 2
    assert table.texts("well") == ["A1", "B7"]
    assert table.numbers("depth").tolist() == [12.5, 30.0]
    assert table.texts("number") == ["101", "102"]
    assert table.numbers("number").tolist() == [101.0, 102.0]


@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        (pyarrow.array([101, 2**63 + 1], pyarrow.uint64()), ["101", "9223372036854775809"]),
        (pyarrow.array([101.0, 0.5]), ["101", "0.5"]),
        (pyarrow.array([0.1, 7.0], pyarrow.float32()), ["0.1", "7"]),
        (pyarrow.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pyarrow.array([b"ACGT"]), ["ACGT"]),
        (pyarrow.array([True, False]), ["true", "false"]),
        (pyarrow.array([date(2016, 8, 9)]), ["2016-08-09"]),
        (pyarrow.array([Decimal("1.50")]), ["1.50"]),
    ],
)
def test_every_plain_kind_of_parquet_column_has_texts(tmp_path: Path, cells: Any, texts: list[str]) -> None:
    assert read_table(in_parquet(tmp_path, {"x": cells})).texts("x") == texts


def test_a_nested_parquet_column_does_not_spoil_the_others(tmp_path: Path) -> None:
    table = read_table(in_parquet(tmp_path, {"x": [1, 2], "list": [[1], [2, 3]], "map": [{"a": 1}, {"a": 2}]}))
    assert table.numbers("x").tolist() == [1, 2]


def test_whole_numbers_stay_whole_beside_a_missing_one(tmp_path: Path) -> None:
    table = read_table(in_parquet(tmp_path, {"x": [101, None]}))
    assert table.columns["x"] == ("101", "")
    expected = "column 'x' of row 2 (wells.parquet) is empty; got ''. Fill it in or remove the row."
    assert complaint_about_numbers(table, "x") == expected
    assert complaint_about_texts(table, "x") == expected


def test_parquet_numbers_must_be_finite(tmp_path: Path) -> None:
    table = read_table(
        in_parquet(tmp_path, {"x": [1.0, float("nan")], "y": [1.0, -float("inf")], "t": ["1", "b"]})
    )
    assert "column 'x' of row 2 (wells.parquet) is empty; got ''." in complaint_about_numbers(table, "x")
    assert "column 'y' of row 2 (wells.parquet) is not finite; got '-inf'." in complaint_about_numbers(table, "y")
    assert "column 't' of row 2 (wells.parquet) is not a number; got 'b'." in complaint_about_numbers(table, "t")
    assert "column 'x' of row 2 (wells.parquet) is empty; got ''." in complaint_about_texts(table, "x")


def test_folders_with_an_equals_sign_add_no_columns(tmp_path: Path) -> None:
    folder = tmp_path / "state=Texas"
    folder.mkdir()
    assert list(read_table(in_parquet(folder, {"x": [1]})).columns) == ["x"]


def test_parquet_without_pyarrow_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = in_parquet(tmp_path, {"x": [1]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "Run pip install 'zonal[parquet]'" in complaint(path)


def test_pyarrow_is_loaded_only_for_parquet(tmp_path: Path) -> None:
    code = "import sys, zonal.io.tables as t\nt.read_table(sys.argv[1]); print('pyarrow' in sys.modules)"
    path = written(tmp_path, WELLS)
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", ["wells.xls", "wells", "wells.parquet.gz", "csv"])
def test_another_ending_is_refused_by_name(tmp_path: Path, name: str) -> None:
    message = complaint(tmp_path / name)
    assert f"got '{name}'" in message
    assert "Pass one of .csv, .csv.gz, .tsv, .tsv.gz, .xlsx, .parquet, .gpkg" in message


@pytest.mark.parametrize("path", [None, 3, b"wells.csv", ["wells.csv"]])
def test_what_is_not_a_path_is_refused(path: Any) -> None:
    assert "a table must be given as a file" in complaint(path)


@pytest.mark.parametrize("ending", tables.ENDINGS)
def test_a_file_that_is_not_there_is_named(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"nowhere{ending}"
    assert complaint(path) == f"there is no such file; got {str(path)!r}. Check the path."


@pytest.mark.parametrize("ending", tables.ENDINGS)
def test_an_empty_file_is_refused(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"wells{ending}").touch()
    assert "the file is empty" in complaint(tmp_path / f"wells{ending}")


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_a_file_without_a_header_is_refused(tmp_path: Path, text: str) -> None:
    assert "the file is empty" in complaint(written(tmp_path, text, "wells.csv.gz"))


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    assert "the table has columns but no rows" in complaint(written(tmp_path, "well,depth\n"))
    assert "the table has columns but no rows" in complaint(
        in_parquet(tmp_path, {"x": pyarrow.array([], "int64")})
    )


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "wells.csv").mkdir()
    assert "the file cannot be read" in complaint(tmp_path / "wells.csv")


@pytest.mark.parametrize(
    "content",
    [WELLS.encode(), gzip.compress(WELLS.encode())[:-12], gzip.compress(WELLS.encode())[:12] + b"?" * 40],
    ids=["no archive", "cut short", "spoilt"],  # an archive holds the time, and workers must name tests alike
)
def test_a_broken_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "wells.csv.gz"
    path.write_bytes(content)
    assert "the file cannot be read" in complaint(path)


def test_a_broken_parquet_file_is_refused(tmp_path: Path) -> None:
    assert "the file is not readable Parquet" in complaint(written(tmp_path, WELLS, "wells.parquet"))
    whole = in_parquet(tmp_path, {"x": [1]})
    whole.write_bytes(whole.read_bytes()[:-20])
    assert "the file is not readable Parquet" in complaint(whole)


def test_encodings_of_excel_are_read_and_a_guess_is_said(tmp_path: Path) -> None:
    text = "well\tdepth [µm]\nBühl – €\t1,5\n"
    assert read_table(written(tmp_path, text.encode("utf-16"))).texts("well") == ["Bühl – €"]
    path = written(tmp_path, text.encode("cp1252"))
    with pytest.warns(UserWarning, match=r"wells.csv is not UTF-8 and was read as Windows-1252. Check"):
        table = read_table(path)
    assert (table.texts("well"), table.numbers("depth [µm]").tolist()) == (["Bühl – €"], [1.5])


@pytest.mark.parametrize("content", [b"a,b\n\x81,1\n", b"\xff\x00\xfe,1\n", b"\xff\xfe\x00"])
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "the file is not UTF-8 text" in complaint(written(tmp_path, content))


def test_columns_must_have_different_names(tmp_path: Path) -> None:
    expected = "the names of columns must differ; got 'a'. Give each column its own name in the header of "
    assert complaint(written(tmp_path, "a,b,a\n1,2,3\n")) == expected + "wells.csv."
    twice = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"])
    parquet.write_table(twice, tmp_path / "wells.parquet")
    assert complaint(tmp_path / "wells.parquet") == expected + "wells.parquet."


@pytest.mark.parametrize(("row", "cells"), [("B7", 1), ("B7,3,south,more", 4)])
def test_a_row_of_the_wrong_length_is_named_by_its_line(tmp_path: Path, row: str, cells: int) -> None:
    message = complaint(written(tmp_path, f'well,depth,zone\n"A\n1",12.5,north\n{row}\n'))
    assert f"line 4 of wells.csv must have 3 cells, one for each column; got {cells}." in message
    assert "contains a comma needs quotation marks" in message


def test_rows_that_all_have_the_wrong_length_are_refused_too(tmp_path: Path) -> None:
    message = complaint(written(tmp_path, "well\tdepth\nA\t1\t2\nB\t1\t2\n", "wells.tsv"))
    assert "line 2 of wells.tsv must have 2 cells, one for each column; got 3." in message
    assert "contains a tab needs quotation marks" in message


def test_an_open_quotation_mark_is_named_by_its_line(tmp_path: Path) -> None:
    message = complaint(written(tmp_path, 'well,depth\nA1,1\n"B7,2\nC3,3\n'))
    assert "not a well-formed table" in message
    assert "from line 3 on" in message


def test_a_missing_column_is_named_with_the_closest_and_the_others(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, WELLS))
    expected = "wells.csv needs a column 'dpeth'. Did you mean 'depth'? It has 'well', 'depth', 'zone'."
    assert complaint_about_numbers(table, "dpeth") == expected
    assert complaint_about_texts(table, "dpeth") == expected
    message = complaint_about_texts(table, "qqq")
    assert message == "wells.csv needs a column 'qqq'. It has 'well', 'depth', 'zone'."


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_row_in_one_cell_is_said_to_be_one(tmp_path: Path, mark: str) -> None:
    path = in_excel(tmp_path, [[f"trial{mark}value"], [f"0{mark}1"]])
    said = complaint_about_numbers(read_table(path), "value")
    assert said.startswith(f"the whole row is in one cell in wells.xlsx; got {f'trial{mark}value'!r}. Split it")


def test_a_title_above_the_header_is_named(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["Plate 3, Monday", None, None], ["trial", "value", "note"], [0, 1.5, None]]
    said = complaint(in_excel(tmp_path, rows))
    expected = "begins with a title, not with the names of its columns; got 'Plate 3, Monday'. Delete what"
    assert said.startswith(f"wells.xlsx {expected}")
    title, expected = "Plate 3", expected.replace(", Monday", "")
    said = complaint(written(tmp_path, f"{title}\ntrial;value\n0;1,5\n"))
    assert said.startswith(f"wells.csv {expected}")
    said = complaint_about_numbers(read_table(written(tmp_path, f"{title}\ntrial;value\n0;1.5\n")), "trial")
    assert said.startswith(f"wells.csv {expected}")
    assert "several columns of wells.csv have no name; got [2, 3]" in complaint(written(tmp_path, "a,,\n1,2,3\n"))


def test_of_very_many_columns_the_first_are_listed(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(100)]
    table = read_table(written(tmp_path, ",".join(names) + "\n" + ",".join("0" * 100) + "\n"))
    assert complaint_about_numbers(table, "?").endswith("'c18', 'c19' and 80 more.")


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("", "is empty; got ''. Fill it in or remove the row."),
        ("  ", "is empty; got '  '."),
        ("n/a", "is not a number; got 'n/a'. Write a number with a decimal point, such as 0.5."),
        ('"0,5,1"', "has several points or commas; got '0,5,1'."),
        ("1_000", "is not a number; got '1_000'."),
        ("nan", "is not finite; got 'nan'. Correct it or remove the row."),
        ("-NaN", "is not finite; got '-NaN'."),
        ("inf", "is not finite; got 'inf'."),
        ("1e999", "is not finite; got '1e999'."),
    ],
)
def test_a_cell_that_is_no_number_is_named_by_row_line_and_column(tmp_path: Path, cell: str, problem: str) -> None:
    table = read_table(written(tmp_path, f'well,depth\n"A\n1",1\n\nB7,{cell}\nC2,x\n'))
    assert f"column 'depth' of row 2 (wells.csv, line 5) {problem}" in complaint_about_numbers(table, "depth")
    assert table.texts("well") == ["A\n1", "B7", "C2"]


@pytest.mark.parametrize("cell", ["", " "])
def test_an_empty_text_is_named_by_row_line_and_column(tmp_path: Path, cell: str) -> None:
    table = read_table(written(tmp_path, f"well,depth\nA1,1\n{cell},2\n"))
    expected = f"column 'well' of row 2 (wells.csv, line 3) is empty; got {cell!r}. Fill it in or remove the row."
    assert complaint_about_texts(table, "well") == expected
    assert table.numbers("depth").tolist() == [1, 2]


def test_reading_a_long_table_takes_little_longer_than_splitting_its_lines(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).standard_normal((65_536, 2)).round(5).tolist()
    text = "name,x,y\n" + "".join(f"N{i:07d},{x},{y}\n" for i, (x, y) in enumerate(numbers))
    path = written(tmp_path, text, "long.csv.gz")

    def split() -> None:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            assert len(list(csv.reader(lines))) == 65_537

    def read() -> None:
        table = read_table(path)
        assert len(table.texts("name")) == len(table.numbers("x")) == len(table.numbers("y")) == 65_536

    assert least_seconds(read) < 8 * least_seconds(split)


def least_seconds(work: Callable[[], None]) -> float:
    return min(timeit.repeat(work, number=1, repeat=3))


def test_the_examples_in_docstrings_are_true() -> None:
    found = doctest.testmod(tables)
    assert found.failed == 0
    assert found.attempted > 0


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_cells_are_apart_as_the_header_says_whatever_the_ending(tmp_path: Path, ending: str, mark: str) -> None:
    text = WELLS.replace("A1", f'"A{mark}1"').replace(",", "\0").replace("A\0", "A,").replace("\0", mark)
    table = read_table(written(tmp_path, text, f"wells{ending}"))
    assert table.texts("well") == [f"A{mark}1", "B7"]
    assert table.numbers("depth").tolist() == [12.5, 30.0]
    assert table.delimiter == mark


def test_other_marks_within_cells_and_names_do_not_matter(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "place, town;x;y\nAyr, N;1;2\n"))
    assert table.texts("place, town") == ["Ayr, N"]
    table = read_table(written(tmp_path, "place;town,x\nAyr;N,1\n"))  # of equals, the one of the ending
    assert list(table.columns) == ["place;town", "x"]
    table = read_table(written(tmp_path, '"a,b";c\n"1,5";"2"\n'))  # which does not fit
    assert list(table.columns) == ["a,b", "c"]
    table = read_table(written(tmp_path, "x\n1\n2\n"))
    assert table.numbers("x").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("x;y\n1,5;a\n2;b\n-3,25e-1;c\n", [1.5, 2, -0.325]),
        ("x\ty\n1,234\ta\n2\tb\n", [1.234, 2]),
        ("x;y\n1.5;a\n2;b\n", [1.5, 2]),  # a program wrote it
        ("x;y\n1.234;a\n2.345;b\n", [1.234, 2.345]),
        ("x;y\n11.25;0,5\n1.125;0,25\n", [11.25, 1.125]),  # a sheet of ours, in which somebody typed commas
        ('x,y\n"1,5",a\n2,b\n"1,234",c\n', [1.5, 2, 1.234]),
        ('x,y\n"1,234",a\n2,"0,5"\n', [1.234, 2]),  # another column shows what a comma is
        ("x,y\n1.234,a\n2.345,b\n", [1.234, 2.345]),
        ("x;y\n ,5 ;a\n.5;b\n", None),
    ],
)
def test_decimal_commas_are_recognised_for_the_whole_sheet(
    tmp_path: Path, text: str, values: list[float] | None
) -> None:
    table = read_table(written(tmp_path, text))
    if values is not None:
        assert table.numbers("x").tolist() == values
    else:
        said = complaint_about_numbers(table, "x")
        assert "has a decimal point, unlike others in its column; got '.5'. Write ,5, with a comma." in said


@pytest.mark.parametrize(
    ("text", "row", "says"),
    [
        ("x;y\n1,5;a\n2.5;b\n", 2, "unlike others in its column; got '2.5'. Write 2,5, with a comma."),
        ('x,y\n1.5,a\n"2,5",b\n', 2, "unlike others in its column; got '2,5'. Write 2.5, with a point."),
        ("x;y\n1.5;a\n2.5;b\n3,5;c\n", 3, "has a decimal comma, unlike others in its column; got '3,5'."),
        ('x,y\n"1,5",a\n"2,5",b\n3.5,c\n', 3, "has a decimal point, unlike others in its column; got '3.5'."),
        ("x;y\n1.234,5;a\n", 1, "has several points or commas; got '1.234,5'."),
        ("x;y\n1.234.567;0,5\n", 1, "has several points or commas"),
    ],
)
def test_a_number_that_can_be_read_in_two_ways_is_refused(tmp_path: Path, text: str, row: int, says: str) -> None:
    said = complaint_about_numbers(read_table(written(tmp_path, text)), "x")
    assert f"column 'x' of row {row} (wells.csv, line {row + 1})" in said
    assert says in said


@pytest.mark.parametrize(
    ("text", "mark", "name", "cell"),
    [
        ("x;y\n1.234;0,5\n", ".", "point", "1.234"),
        ('x,y\n7,a\n"1,234",b\n' + '"2,345",c\n' * 2000, ",", "comma", "1,234"),
    ],
)
def test_a_mark_that_may_be_decimal_or_not_is_asked_about_once(
    tmp_path: Path, text: str, mark: str, name: str, cell: str
) -> None:
    path = written(tmp_path, text)
    assert complaint_about_numbers(read_table(path), "x") == (
        f"the {name} in column 'x' of wells.csv may be a decimal mark, or separate thousands; got '{cell}'. "
        f'Pass decimal="{mark}" if {cell} means 1.234. If it means 1234, take the {name}s out.'
    )
    assert 1.234 in read_table(path, decimal=mark).numbers("x")


def test_the_decimal_mark_can_be_said(tmp_path: Path) -> None:
    path = written(tmp_path, "x;y\n1,5;a\n2.5;b\n")
    said = complaint_about_numbers(read_table(path, ","), "x")
    assert "row 2 (wells.csv, line 3) has a decimal point, but the decimal mark was said to be ','; got" in said
    assert "row 1" in complaint_about_numbers(read_table(path, "."), "x")
    with pytest.raises(InvalidInput, match=r"decimal must be '.' or ','; got 'comma'"):
        read_table(path, "comma")


def test_the_decimal_mark_that_was_said_is_that_of_texts_not_of_numbers(tmp_path: Path) -> None:
    """In Excel a column may be text, with commas, beside columns of real numbers."""
    path = in_excel(tmp_path, [["age", "lon", "n"], ["37,777", 150.125, 3.0], ["41,250", 1.5, 7.0]])
    assert "may be a decimal mark" in complaint_about_numbers(read_table(path), "age")
    table = read_table(path, decimal=",")
    assert [table.numbers(name).tolist() for name in table.columns] == [[37.777, 41.25], [150.125, 1.5], [3, 7]]
    path = in_excel(tmp_path, [["age", "lon"], ["37,5", 1.125]])
    assert read_table(path).numbers("lon").tolist() == [1.125]  # no question
    table = read_table(in_parquet(tmp_path, {"age": ["37,777"], "lon": [1.125]}), decimal=",")
    assert [table.numbers(name).tolist() for name in table.columns] == [[37.777], [1.125]]


def test_a_column_is_found_by_its_name_in_any_case_and_with_spaces(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, " Well ,DEPTH (m),l  low,'=dye\nA1,1,2,red\n"))
    assert table.texts("well") == ["A1"]
    assert table.numbers("depth (M)").tolist() == [1]
    assert table.numbers("l_low").tolist() == [2]
    assert table.texts("=dye") == ["red"]
    assert table.find("depth") is None
    table = read_table(written(tmp_path, "T,t,Well,WELL\n1,2,3,4\n"))
    assert (table.numbers("T").tolist(), table.numbers("t").tolist()) == ([1], [2])
    assert "several columns of wells.csv may be 'well'; got ['Well', 'WELL']" in complaint_about_texts(
        table, "well"
    )


def test_blank_rows_and_blank_columns_at_the_edge_of_a_sheet_are_left_out(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "well,depth,,\nA1,1,,\n,,,\n , ,,\nB7,2,,\n,,,\n"))
    assert list(table.columns) == ["well", "depth"]
    assert (table.numbers("depth").tolist(), table.lines) == ([1, 2], [2, 5])
    assert read_table(written(tmp_path, ",x\n0,1\n")).numbers("").tolist() == [0]  # as pandas writes its index
    assert read_table(written(tmp_path, ",x\na,1\nb,2\n")).texts("") == ["a", "b"]


def in_excel(folder: Path, rows: list[list[Any]]) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    book.create_sheet("notes").append(["not", "this", "one"])
    book.active = 1
    book.save(folder / "wells.xlsx")
    return folder / "wells.xlsx"


def test_the_first_sheet_of_an_excel_file_is_read(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["Well", "depth", "n", None],
        ["A1", 12.5, 3.0, None],
        [None] * 4,
        ["B7", "30,25", 1e300, None],
    ]
    table = read_table(in_excel(tmp_path, [*rows, ["C", None, date(2016, 8, 9), None]]))
    assert list(table.columns) == ["Well", "depth", "n"]
    assert table.lines == [2, 4, 5]
    assert table.texts("well") == ["A1", "B7", "C"]
    assert [table.columns["n"][0], float(table.columns["n"][1])] == ["3", 1e300]
    assert "2016-08-09" in table.columns["n"][2]
    said = complaint_about_numbers(table, "depth")
    assert "column 'depth' of row 2 (wells.xlsx, line 4) has a decimal comma, unlike others" in said


def test_an_excel_file_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not a readable Excel sheet" in complaint(written(tmp_path, WELLS, "wells.xlsx"))
    path = in_excel(tmp_path, [["x"], [1]])
    path.write_bytes(path.read_bytes()[:-40])
    assert "not a readable Excel sheet" in complaint(path)
    assert "the file is empty" in complaint(in_excel(tmp_path, []))
    assert "columns but no rows" in complaint(in_excel(tmp_path, [["x"]]))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert "needs openpyxl, which is not installed" in complaint(path)
    assert "Run pip install 'zonal[excel]', or save the table as CSV." in complaint(path)


@settings(deadline=None)
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    mark=st.sampled_from(";\t"),
)
def test_numbers_with_decimal_commas_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], mark: str
) -> None:
    text = f"n{mark}x\n" + "".join(f"{n}{mark}{value!r}\n".replace(".", ",") for n, value in enumerate(values))
    assert read_table(written(tmp_path_factory.mktemp("tables"), text)).numbers("x").tolist() == values
