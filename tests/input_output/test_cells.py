"""Texts in spreadsheets: none is run as a formula, and every one comes back."""

import csv
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonal.io.files import escaped, unescaped
from zonal.io.result_table import Listing
from zonal.io.spreadsheet import csv_text
from zonal.io.tables import read_table

BEGINNINGS = ["=", "+", "-", "@", "\t", "\r", "\n", "'", "''", "'=", "＝", ""]
writable = st.text(st.characters(exclude_categories=["Cs"]))
texts = st.builds(str.__add__, st.sampled_from(BEGINNINGS), writable)


@given(texts)
def test_every_text_comes_back(text: str) -> None:
    assert unescaped(escaped(text)) == text


@given(texts)
def test_no_cell_begins_like_a_formula(text: str) -> None:
    assert not escaped(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))


@given(texts)
def test_what_was_not_escaped_stays(text: str) -> None:
    assert unescaped(text) == text or text.startswith("'")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("-0.5", "'-0.5"),  # somebody's words, even so
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("'quoted'", "''quoted'"),
        ("'=1", "''=1"),
        ("a=b", "a=b"),
        ("it's", "it's"),
        ("", ""),
    ],
)
def test_an_apostrophe_goes_before_what_would_be_run(text: str, cell: str) -> None:
    assert escaped(text) == cell


@given(st.lists(st.tuples(texts, st.floats(allow_nan=False), st.none() | st.integers()), min_size=1))
def test_a_sheet_holds_texts_numbers_and_nothing(rows: list[tuple[str, float, int | None]]) -> None:
    sheet = StringIO(csv_text([["text", "number", "perhaps"], *rows]), newline="")
    _, *back = csv.reader(sheet, strict=True)
    assert [(unescaped(text), float(number), int(own) if own else None) for text, number, own in back] == rows
    assert all(number == repr(own[1]) for (_, number, _), own in zip(back, rows, strict=True))


@given(st.lists(texts.filter(str.strip), min_size=1), texts)
def test_a_table_written_for_people_is_read_back(notes: list[str], name: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        Listing("Notes", {name: notes, f"{name} in numbers": [-0.5] * len(notes)}).to_csv(path)
        table = read_table(path)
    first, second = table.columns
    assert (unescaped(first), unescaped(second)) == (name, f"{name} in numbers")
    assert list(map(unescaped, table.texts(first))) == notes
    assert set(table.columns[second]) == {"-0.5"}
