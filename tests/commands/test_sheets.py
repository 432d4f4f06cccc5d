"""Sheets and the spreadsheets they go through: formulas, long numbers, logarithmic axes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zonal as zn
from shell import fill, rows, zonal
from zonal.commands import sheets

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
    assert "3 measurements taken in" in zonal("observe", "a.db", "--csv", "b.csv").stderr
    assert "0 told, 3 known already" in zonal("tell", "a.db", "--csv", "b.csv").stderr
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
    Path("a.csv").write_bytes(sheets.outcomes(first).encode())
    answers, empty = sheets.answers(Path("a.csv"), second)
    # Blanks at the ends of a cell were never kept; what is escaped begins with no blank.
    assert [answer.note for answer in answers] == [
        note if note.startswith(("\t", "\r", "\n")) else note.strip() for note in written
    ]
    assert empty == 0


def test_a_number_of_thousands_of_digits_is_no_trial_and_no_row() -> None:
    zn.Study.create("a.db", zn.Points([[1.0], [2.0], [3.0]]), budget=3, noise=0.1)
    zonal("ask", "a.db", "--csv", "a.csv")
    for digits in ("9" * 5000, "1" + "0" * 18, "0" * 5000):
        fill("a.csv", trial=[digits], value=["0.5"])
        said = zonal("tell", "a.db", "--csv", "a.csv", code=1).stderr
        assert "there is no such trial: the study has asked for 1" in said
        assert len(said) < 500
        fill("a.csv", rows=[digits], value=["0.5"])
        assert "row 1 (line 2)" in zonal("observe", "a.db", "--csv", "a.csv", code=1).stderr
        zonal("observe", "a.db", digits, "0.5", code=1)
        zonal("tell", "a.db", digits, "0.5", code=2 if len(digits) > 4300 else 1)


LOG = {
    "decades": zn.Box({"c": (1e-6, 1e-2)}, units=["M"], scale="log", smallest=0.25),
    "uneven": zn.Box({"c": (0.0123456, 0.7654321), "t": (0.123456, 1.0)}, scale={"c": "log"}, smallest=0.1),
    "mixed": zn.Product({"c": (0.0123456, 0.7654321), "dye": ["r", "g"]}, scale={"c": "log"}, smallest=0.1),
}


@pytest.mark.parametrize("name", LOG)
def test_on_logarithmic_axes_the_shell_speaks_the_users_numbers(name: str) -> None:
    study = zn.Study.create("a.db", LOG[name], budget=9, noise=0.1)
    low, high = LOG[name].axes[0].ends  # type: ignore[union-attr]
    said = zonal("observe", "a.db", "nonsense", "0.5", code=1).stderr
    assert f"Write c={low:g}..{high:g}." in said
    zonal("observe", "a.db", f"c={low!r}..{high!r}", "0.5")
    zonal("ask", "a.db", "-n", 4, "--csv", "a.csv")
    assert all(low <= float(row["c_low"]) < float(row["c_high"]) <= high for row in rows("a.csv"))
    fill("a.csv", value=["0.5"] * 4)
    zonal("tell", "a.db", "--csv", "a.csv")
    zonal("observe", "a.db", "--csv", "a.csv")
    study.refresh()
    assert [one.region.key for one in study.observations[1:]] == [one.region.key for one in study.trials]
    for trial in study.trials:  # what is printed can be typed
        assert trial.region.name in zonal("predict", "a.db", trial.region.name).stdout


@pytest.mark.parametrize("side", ["c_low", "c_high"])
def test_a_sheet_may_name_one_edge_of_a_logarithmic_axis(side: str) -> None:
    study = zn.Study.create("a.db", LOG["decades"], budget=9, noise=0.1)
    Path("a.csv").write_text(f"{side},value\n1e-4,0.5\n")
    zonal("observe", "a.db", "--csv", "a.csv")
    study.refresh()
    expected = [1e-4, 1e-2] if side == "c_low" else [1e-6, 1e-4]
    assert study.observations[0].region["c"] == pytest.approx(expected)
