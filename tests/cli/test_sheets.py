"""Sheets and the spreadsheets they go through: formulas, long numbers, logarithmic axes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zonal as zn
from shell import fill, rows, spreadsheet, zonal
from zonal.io.spreadsheet import csv_text
from zonal.io.tables import parse_table, read_table
from zonal.study import sheets
from zonal.study.export import outcomes

FORMULA = '=HYPERLINK("http://example.org";"click")'
AREAS = zn.Hierarchy({"=A1": ["+b", "-c"], "@d": ["'e", "f"]})
DYES = zn.Product({"-t": (-0.5, 0.5), "=dye": ["+red", "-green", "'blue"]}, smallest=0.25)
notes = st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: text.rstrip())


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def cells(path: str) -> list[str]:
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        return [cell for row in csv.reader(file) for cell in row]


@pytest.mark.parametrize("space", [AREAS, DYES], ids=["hierarchy", "product"])
def test_names_and_notes_go_out_as_text_and_come_back(space: Any) -> None:
    study = zn.Study.create("a.db", space, budget=9, noise=0.1, value_name="=value")
    zonal("ask", "a.db", "-n", 3, "--csv", "a.csv")
    fill("a.csv", value=["-0.5", "0.25", "1"], note=[f"'{FORMULA}", "''quoted", "plain"])
    zonal("tell", "a.db", "--csv", "a.csv")
    study.refresh()
    assert [trial.note for trial in study.trials] == [FORMULA, "'quoted", "plain"]
    zonal("export", "a.db", "--out", "b.csv")
    study.table().to_csv("c.csv")
    for sheet in ("a.csv", "b.csv", "c.csv"):
        texts = [cell for cell in cells(sheet) if cell.startswith(("=", "+", "-", "@"))]
        assert all(float(cell) < 0 for cell in texts)  # a number stays a number
    assert {"-0.5"} <= set(cells("b.csv"))
    assert [row["note"] for row in rows("b.csv")] == [f"'{FORMULA}", "''quoted", "plain"]
    said = zonal("observe", "a.db", "--csv", "b.csv").stderr
    assert said == "0 measurements taken in, 3 known already (row 1, 2, 3 of the sheet; --again takes them too).\n"
    assert "3 measurements taken in.\n" in zonal("observe", "a.db", "--csv", "b.csv", "--again").stderr
    assert "0 measured, 3 known already" in zonal("tell", "a.db", "--csv", "b.csv").stderr
    zonal("predict", "a.db", "--csv", "b.csv")
    study.refresh()
    assert [one.region.name for one in study.observations] == [one.region.name for one in study.trials]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(notes, min_size=3, max_size=3))
def test_a_note_survives_export_and_import_in_a_sheet(written: list[str]) -> None:
    first, second = (zn.Study(AREAS, budget=3, noise=0.1, rng=0) for _ in range(2))
    for note in written:
        first.tell(first.ask(), 0.5, note=note)
        second.ask()
    found = sheets.answers(parse_table(csv_text(outcomes(first)), "a.csv"), second)
    # Blanks at the ends of a cell were never kept; what is escaped begins with no blank.
    assert [answer.note for _, answer in found.new] == [
        note if note.startswith(("\t", "\r", "\n")) else note.strip() for note in written
    ]
    assert (found.repeated, found.empty) == ([], 0)


def test_a_number_of_thousands_of_digits_is_no_trial_and_no_row() -> None:
    zn.Study.create("a.db", zn.Points([[1.0], [2.0], [3.0]]), budget=3, noise=0.1)
    zonal("ask", "a.db", "--csv", "a.csv")
    for digits in ("9" * 5000, "1" + "0" * 18, "0" * 5000):
        fill("a.csv", trial=[digits], value=["0.5"])
        said = zonal("tell", "a.db", "--csv", "a.csv", code=1).stderr
        assert "there is no such trial: the study has 1" in said
        assert len(said) < 500
        fill("a.csv", rows=[digits], value=["0.5"])
        assert "row 1 (line 2)" in zonal("observe", "a.db", "--csv", "a.csv", code=1).stderr
        zonal("observe", "a.db", digits, "0.5", code=1)
        zonal("tell", "a.db", digits, "0.5", code=1)


LOG = {
    "decades": zn.Box({"c": (1e-6, 1e-2)}, units=["M"], scale="log", smallest=0.25),
    "uneven": zn.Box({"c": (0.0123456, 0.7654321), "t": (0.123456, 1.0)}, scale={"c": "log"}, smallest=0.1),
    "mixed": zn.Product({"c": (0.0123456, 0.7654321), "dye": ["r", "g"]}, scale={"c": "log"}, smallest=0.1),
}


@pytest.mark.parametrize("name", LOG)
def test_on_logarithmic_axes_the_shell_speaks_the_users_numbers(name: str) -> None:
    study = zn.Study.create("a.db", LOG[name], budget=9, noise=0.1)
    low, high = LOG[name].axes[0].ends  # type: ignore[attr-defined]
    said = zonal("observe", "a.db", "nonsense", "0.5", code=1).stderr
    assert f"Write c={low:g}..{high:g}." in said
    zonal("observe", "a.db", f"c={low!r}..{high!r}", "0.5")
    zonal("ask", "a.db", "-n", 4, "--csv", "a.csv")
    assert all(low <= float(row["c_low"]) < float(row["c_high"]) <= high for row in rows("a.csv"))
    fill("a.csv", value=["0.5"] * 4)
    zonal("tell", "a.db", "--csv", "a.csv")
    zonal("observe", "a.db", "--csv", "a.csv", "--again")
    study.refresh()
    assert [one.region.key for one in study.observations[1:]] == [one.region.key for one in study.trials]
    for trial in study.trials:  # what is printed can be typed
        assert trial.region.name in zonal("predict", "a.db", trial.region.name).stdout


def test_sheets_and_the_shell_go_across_the_cut_of_a_ring() -> None:
    zonal("new", "a.db", "--axis", "l=-180..180:deg:periodic", "--axis", "b=0..1", "--budget", 9, "--noise", 0.1)
    zonal("observe", "a.db", "l=170..-170, b=0..0.5", "0.5")
    Path("a.csv").write_text("l_low,l_high,b_low,b_high,value\n170,190,0,0.5,0.5\n-190,-170,0,0.5,0.4\n")
    zonal("observe", "a.db", "--csv", "a.csv")
    study = zn.Study.open("a.db")
    assert {one.region.key for one in study.observations} == {((170.0, 190.0), (0.0, 0.5))}
    assert "l 170..-170 deg, b 0..0.5" in zonal("predict", "a.db", "l=170..-170, b=0..0.5").stdout
    zonal("export", "a.db", "--format", "events", "--out", "a.jsonl")
    zonal("import", "b.db", "a.jsonl")
    assert zn.Study.open("b.db").observations[0].region.bounds[0].tolist() == [170, 190]


@pytest.mark.parametrize("side", ["c_low", "c_high"])
def test_a_sheet_may_name_one_edge_of_a_logarithmic_axis(side: str) -> None:
    study = zn.Study.create("a.db", LOG["decades"], budget=9, noise=0.1)
    Path("a.csv").write_text(f"{side},value\n1e-4,0.5\n")
    zonal("observe", "a.db", "--csv", "a.csv")
    study.refresh()
    expected = [1e-4, 1e-2] if side == "c_low" else [1e-6, 1e-4]
    assert study.observations[0].region["c"] == pytest.approx(expected)


KINDS = ["german", "tabs", "quoted", "xlsx"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sheet_comes_back_as_people_write_them(kind: str) -> None:
    study = zn.Study.create("a.db", DYES, budget=9, noise=0.1)
    zonal("ask", "a.db", "-n", 6, "--csv", "a.csv")
    sheet = spreadsheet(
        "a.csv",
        kind,
        value=["0,5", "1,25", "n.d.", "NA", "-", "-3"],
        sem=["0,01", "-", "", "", "", "na"],
        note=["1,5 h", "", "", "", "", "-"],
    )
    said = zonal("tell", "a.db", "--csv", sheet).stderr
    assert said == "3 measured, 3 rows left empty. 3 of 9 measured, 3 pending, 3 left.\n"
    study.refresh()
    told = {one.number: (one.value, one.sem, one.note) for one in study.trials if one.state == "measured"}
    assert told == {0: (0.5, 0.01, "1,5 h"), 1: (1.25, None, ""), 5: (-3.0, None, "-")}
    assert "0 measured, 3 known already, 3 rows left empty." in zonal("tell", "a.db", "--csv", sheet).stderr
    said = zonal("observe", "a.db", "--csv", sheet).stderr
    assert "0 measurements taken in, 3 known already (row 1, 2, 6 of the sheet; --again" in said
    zonal("observe", "a.db", "--csv", sheet, "--again")
    study.refresh()
    assert [one.region.key for one in study.observations] == [study.trials[at].region.key for at in (0, 1, 5)]
    zonal("predict", "a.db", "--csv", sheet)


def test_names_of_columns_are_found_in_any_case_and_with_spaces() -> None:
    study = zn.Study.create("a.db", zn.Box({"T": (0, 8)}, smallest=1), budget=9, noise=0.1)
    zonal("ask", "a.db", "--csv", "a.csv")
    Path("b.csv").write_text(" TRIAL ;Value; SEM\n0;0,5;0,1\n")
    zonal("tell", "a.db", "--csv", "b.csv")
    Path("c.csv").write_text("t low;t High;VALUE\n2;4;1,5\n4,5;5;2,5\n")
    zonal("observe", "a.db", "--csv", "c.csv")
    study.refresh()
    assert (study.trials[0].value, study.trials[0].sem) == (0.5, 0.1)
    assert [tuple(one.region["T"]) for one in study.observations] == [(2, 4), (4.5, 5)]
    Path("d.csv").write_text("T_low,T_high,value\n2,4,\n4.5,6,7.5\n")
    said = zonal("observe", "a.db", "--csv", "d.csv").stderr
    assert said == "1 measurement taken in, 1 row left empty.\n"


def test_a_row_may_stand_twice_if_both_are_equal() -> None:
    study = zn.Study.create("a.db", AREAS, budget=9, noise=0.1)
    zonal("ask", "a.db", "-n", 2)
    Path("a.csv").write_text("trial,value,sem,note\n0,0.5,,x\n0,0.50,,x\n1,,,\n1,NA,,\n")
    assert "1 measured, 1 row left empty." in zonal("tell", "a.db", "--csv", "a.csv").stderr
    for second in ("1,0.7,,", "1,0.6,0.1,", "1,0.6,,other", "1,,,"):
        Path("a.csv").write_text(f"trial,value,sem,note\n1,0.6,,\n{second}\n")
        said = zonal("tell", "a.db", "--csv", "a.csv", code=1).stderr
        assert "row 2 (line 3): a row above has this trial already, with other values; got 1." in said
    study.refresh()
    assert study.measured == 1
    name = study.trials[0].region.name
    Path("b.csv").write_text(f"region,value\n{name},0.5\n{name},0.7\n{name},0.7\n")
    said = zonal("observe", "a.db", "--csv", "b.csv").stderr
    assert "1 measurement taken in, 2 known already (row 1, 3 of the sheet; --again" in said
    assert "--csv" in zonal("observe", "a.db", name, "0.5", "--again", code=2).stderr


@pytest.mark.parametrize(
    ("told", "cell", "same"),
    [
        (0.123456, "0.1235", True),
        (0.123456, "0.12", True),
        (0.123456, "0.1234", False),
        (0.125, "0.12", True),  # either way
        (0.125, "0.13", True),
        (-1234.5, "-1.2345e3", True),
        (12.3, "12", True),
        (12.3, "13", False),
        (1e-7, "1E-07", True),
        (1e-7, "0", True),
        (0.1, "0.1000000000000000055511151231257827", True),
    ],
)
def test_a_value_that_a_spreadsheet_rounded_is_known(told: float, cell: str, same: bool) -> None:
    study = zn.Study.create("a.db", AREAS, budget=9, noise=0.1)
    study.tell(study.ask(), told, sem=0.25)
    for sem in ("", "0.25", "0.3"):
        Path("a.csv").write_text(f"trial,value,sem\n0,{cell},{sem}\n")
        said = zonal("tell", "a.db", "--csv", "a.csv", code=0 if same else 1).stderr
        assert ("0 measured, 1 known already" if same else f"trial 0 already has the value {told!r}") in said
    study.refresh()
    assert study.trials[0].value == told


def test_a_sheet_that_no_spreadsheet_opens_is_refused_before_anything_is_asked() -> None:
    zn.Study.create("a.db", AREAS, budget=9, noise=0.1)
    for name in ("a.csv.gz", "A.PARQUET", "a.txt", "a"):
        assert "End it in .csv, .tsv, .xlsx or" in zonal("ask", "a.db", "--csv", name, code=1).stderr
    for name, separator in (("a.xlsx", ";"), ("a.tsv", ",")):
        said = zonal("ask", "a.db", "--csv", name, "--sep", separator, code=1).stderr
        assert f"a {name[1:]} has its own separator; got '{separator}'" in said
    assert not zn.Study.open("a.db").trials


DELIMITERS = {"tsv": "\t", "csv": ",", "xlsx": ""}
SHAPES = {
    "a.csv": [],
    "a.tsv": [],
    "a.xlsx": [],
    "b.csv": ["--sep", ";"],
    "c.csv": ["--sep", ";", "--decimal", "."],
    "d.csv": ["--sep", "tab"],
    "e.csv": ["--decimal", ","],
}


@pytest.mark.parametrize("name", SHAPES)
def test_sheets_go_out_as_any_spreadsheet_opens_them_and_come_back_the_same(name: str) -> None:
    study = zn.Study.create("a.db", DYES, budget=9, noise=0.1)
    said = zonal("ask", "a.db", "-n", 3, "--csv", name, *SHAPES[name]).stderr
    assert "3 questions in" in said
    table = read_table(name)
    assert table.delimiter == {"b": ";", "c": ";", "d": "\t", "e": ","}.get(name[0], DELIMITERS[name[2:]])
    assert list(table.columns)[:3] == ["trial", "region", "replicate"]
    study.refresh()
    for one, value in zip(study.trials, (0.125, -1.5, 1 / 3), strict=True):
        study.tell(one.number, value, note="=1+1; ö, \ttab")
    out = f"out-{name}"
    zonal("export", "a.db", "--out", out, *SHAPES[name])
    raw = Path(out).read_bytes()
    assert (b"0,125" in raw) == (name in ("b.csv", "e.csv"))
    assert raw.startswith(b"PK") == (name == "a.xlsx")
    assert raw.startswith(b"\xef\xbb\xbf") == (name != "a.xlsx")
    again = read_table(out)
    assert again.numbers("value").tolist() == [one.value for one in study.trials]
    assert again.numbers("-t_low").tolist() == [float(one.region["-t"][0]) for one in study.trials]
    assert "0 measured, 3 known already" in zonal("tell", "a.db", "--csv", out).stderr
    assert "0 measured, 3 known already" in zonal("tell", "a.db", "--csv", out, "--correct").stderr  # notes too
    assert "3 known already" in zonal("observe", "a.db", "--csv", out).stderr
    before = Path(out).read_bytes()
    for command in (("ask", "a.db", "--csv", out), ("export", "a.db", "--out", out)):
        assert "this file exists already, and may hold values" in zonal(*command, *SHAPES[name], code=1).stderr
    assert Path(out).read_bytes() == before


def test_excel_files_hold_numbers_as_numbers_and_texts_as_texts() -> None:
    import openpyxl

    study = zn.Study.create("a.db", DYES, budget=9, noise=0.1)
    study.tell(study.ask(), 0.1, note=FORMULA)
    zonal("export", "a.db", "--out", "a.xlsx")
    header, row = openpyxl.load_workbook("a.xlsx").worksheets[0].iter_rows()
    cells = {name.value: cell for name, cell in zip(header, row, strict=True)}
    assert (cells["value"].value, cells["trial"].value) == (0.1, 0)
    assert (cells["note"].data_type, cells["note"].value) == ("s", f"'{FORMULA}")
    study.tell(study.ask(), 0.2, note="a bell \a")
    said = zonal("export", "a.db", "--out", "b.xlsx", code=1).stderr
    assert "Excel cannot hold this text; got 'a bell \\x07'. End the file's name in .csv." in said
    assert not Path("b.xlsx").exists()


def test_options_of_sheets_are_refused_for_other_exports() -> None:
    zn.Study.create("a.db", AREAS, budget=9, noise=0.1)
    assert "are for a sheet" in zonal("export", "a.db", "--format", "json", "--sep", ";", code=2).stderr
    assert (
        "--format json is no sheet"
        in zonal("export", "a.db", "--format", "json", "--out", "a.xlsx", code=1).stderr
    )
    assert zonal("export", "a.db", "--sep", ";").stdout.startswith("trial;region;replicate")
