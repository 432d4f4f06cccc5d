"""A sheet is taken completely or not at all, keeps every note, and does not undo what happened since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from shell import answer, fill, rows, zonal
from zonal.io.tables import parse_table
from zonal.study import operations, sheets


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def begun(**more: Any) -> zn.Study:
    settings: dict[str, Any] = {"budget": 20, "kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "rng": 0, **more}
    return zn.Study.create("a.db", {"x": (0, 1)}, **settings)


WRONG_TIMES = {
    "8,5,1": "a time has several points or commas; got '8,5,1'",
    "-2": "a time must be positive; got -2.0",
    "soon": "a time must be a number; got 'soon'. Write a number above 0, or leave the cell empty.",
}


@pytest.mark.parametrize("cell", WRONG_TIMES)
def test_a_wrong_time_leaves_nothing_told(cell: str) -> None:
    study = begun(budget=60.0, times=[1, 2, 4])
    study.ask(3)
    before = Path("a.db").read_bytes()
    Path("a.csv").write_text(f"trial;time;value\n0;1;0,1\n1;{cell};0,2\n2;1;0,3\n")
    said = zonal("tell", "a.db", "--csv", "a.csv", code=1).stderr
    assert "a.csv: nothing was recorded; wrong rows: 1 of 3.\n  row 2 (line 3): " + WRONG_TIMES[cell] in said
    assert Path("a.db").read_bytes() == before


def test_a_time_may_have_a_decimal_comma_as_all_numbers_may() -> None:
    study = begun(budget=60.0, times=[1, 2, 4])
    study.ask(3)
    Path("a.csv").write_text("trial;time;value\n0;1;0,1\n1;8,5;0,2\n2;-;0,3\n")
    assert "3 measured" in zonal("tell", "a.db", "--csv", "a.csv").stderr
    study.refresh()
    assert study.trials[1].time == 8.5


@pytest.mark.parametrize("command", ["tell", "observe"])
def test_rows_that_contradict_each_other_without_noise_leave_nothing_told(command: str) -> None:
    study = zn.Study.create("a.db", zn.Box([(0, 1)], smallest=1), budget=5, kernel=zn.RBF(1.0, 0.2), noise=0.0)
    study.ask(3)
    Path("a.csv").write_text("trial,x_low,x_high,value\n0,0,1,0.5\n1,0,1,0.5\n2,0,1,0.75\n")
    before = Path("a.db").read_bytes()
    said = zonal(command, "a.db", "--csv", "a.csv", code=1).stderr
    done = {"tell": "recorded", "observe": "taken in"}[command]
    assert f"a.csv: nothing was {done}; wrong rows: 1 of 3.\n  row 3 (line 4): " in said
    assert Path("a.db").read_bytes() == before


def test_a_value_too_far_from_the_mean_leaves_nothing_told() -> None:
    begun(mean=-1e150).ask(2)
    before = Path("a.db").read_bytes()
    Path("a.csv").write_text("trial,value\n0,0.5\n1,1e149\n")
    said = zonal("tell", "a.db", "--csv", "a.csv", code=1).stderr
    assert "row 2 (line 3): a measured value is too far from the prior mean; got 1e+149" in said
    assert Path("a.db").read_bytes() == before


def test_changes_made_together_are_made_completely_or_not_at_all() -> None:
    study, lines = begun(), []
    trials = study.ask(3)

    def change(draft: zn.Study) -> int:
        draft.tell(0, 0.5)
        draft.fail(1, note="dropped")
        lines.append((study.measured, draft.measured))
        if len(lines) < 2:
            zn.Study.open("a.db").tell(2, 0.7)  # another process is faster: once more, holding its lock
        return draft.measured

    assert operations.together(study, change) == 2
    assert lines == [(0, 1), (1, 2)]
    assert [one.state for one in study.trials] == ["measured", "failed", "measured"]
    before, events = Path("a.db").read_bytes(), study.events

    def fails(draft: zn.Study) -> None:
        draft.observe(trials[0].region, 0.4)
        draft.ask(2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        operations.together(study, fails)
    assert (study.events, Path("a.db").read_bytes()) == (events, before)
    assert study.recommend().region == zn.Study.open("a.db").recommend().region


def test_a_sheet_says_what_single_tells_say() -> None:
    one, many = (zn.Study({"x": (0, 1)}, budget=12, rng=0) for _ in range(2))
    numbers = [trial.number for trial in one.ask(8)]
    many.ask(8)
    for number in numbers:
        one.tell(number, number % 3)
    table = "trial,value\n" + "".join(f"{number},{number % 3}\n" for number in numbers)
    sheets.told(many, parse_table(table, "a.csv"))
    assert [event[0] for event in many.events[1:]] == [event[0] for event in one.events[1:]]
    assert many.recommend() == one.recommend()


def test_warnings_of_a_sheet_come_once_and_after_it_is_told() -> None:
    study = begun(noise=0.001, kernel=zn.RBF(0.01, 5.0))
    table = "trial,value\n" + "".join(f"{trial.number},{(-1) ** trial.number * 9}\n" for trial in study.ask(20))
    with pytest.warns(zn.ModelWarning) as caught:
        sheets.told(study, parse_table(table, "a.csv"))
    assert len([own for own in caught if issubclass(own.category, zn.ModelWarning)]) == 1
    assert study.measured == 20


def test_a_note_is_kept_wherever_a_trial_ends() -> None:
    study = begun()
    study.ask(5)
    zonal("fail", "a.db", 0, "--note", "the flask broke")
    zonal("fail", "a.db", 1, "--no-retry", "--note", "too hot")
    zonal("cancel", "a.db", 2, "--note", "no time")
    zonal("tell", "a.db", 3, "0.5", "--note", "clouds")
    study.refresh()
    notes = ["the flask broke", "too hot", "no time", "clouds", ""]
    assert [one.note for one in study.trials] == notes
    zonal("export", "a.db", "--out", "all.csv")
    assert [row["note"] for row in rows("all.csv")] == notes
    assert study.table()["note"] == notes
    assert "too hot" in zonal("export", "a.db", "--format", "json").stdout
    again = zn.Study.replay(study.settings, study.events)
    assert again.trials == study.trials
    assert "every decision matches" in zonal("verify", "a.db").stderr
    zonal("export", "a.db", "--format", "events", "--out", "e.jsonl")
    zonal("import", "copy.db", "e.jsonl")
    assert [one.note for one in zn.Study.open("copy.db").trials] == notes
    for note in (3, None, "\ud800"):
        with pytest.raises(zn.InvalidInput, match="a note"):
            study.fail(4, note=note)  # type: ignore[arg-type]
    assert len(study.pending) == 1


def test_a_note_in_a_row_without_a_value_is_kept_and_stays_until_another_comes() -> None:
    study = begun()
    zonal("ask", "a.db", "-n", 4, "--csv", "a.csv")
    fill("a.csv", value=["0.5", "", "", "-"], note=["", "waits for the lamp", "leaked", "cracked"])
    said = zonal("tell", "a.db", "--csv", "a.csv").stderr
    assert said == "1 measured, 3 rows left empty, 3 notes kept. 1 of 20 measured, 3 pending, 16 left.\n"
    assert "1 known already, 3 rows left empty. 1 of" in zonal("tell", "a.db", "--csv", "a.csv").stderr
    zonal("fail", "a.db", 2)
    zonal("fail", "a.db", 3, "--note", "no, lost")
    zonal("tell", "a.db", 1, "0.25")
    assert "note" not in zonal("tell", "a.db", "--csv", "a.csv").stderr  # older than what was said since
    study.refresh()
    assert [one.note for one in study.trials] == ["", "waits for the lamp", "leaked", "no, lost"]
    assert zn.Study.replay(study.settings, study.events).trials == study.trials
    assert "every decision matches" in zonal("verify", "a.db").stderr
    with pytest.raises(zn.TrialError, match=r"trial 1 has the value 0.25. Change its note with correct"):
        operations.annotate(study, 1, "late")


def test_no_note_of_a_sheet_is_dropped_without_a_word() -> None:
    study = begun()
    zonal("ask", "a.db", "-n", 5, "--csv", "a.csv")
    fill("a.csv", value=["0.1", "0.2", "", "", "0.5"], note=["", "clouds", "", "", ""])
    zonal("tell", "a.db", "--csv", "a.csv")
    zonal("fail", "a.db", 2, "--note", "too hot")
    zonal("fail", "a.db", 3)
    zonal("retract", "a.db", 4, "--note", "toluene")
    notes = ["dusty", "stirred", "leaked", "cracked", "spilled"]
    fill("a.csv", value=["", "0.20", "", "", ""], note=notes)
    told = zonal("tell", "a.db", "--csv", "a.csv").stderr
    assert told.splitlines() == [
        "Row 1: its note was left out, since trial 0 has a value. --correct keeps it.",
        "Row 2: its note was left out, since trial 1 has a value. --correct keeps it.",
        "Row 3: its note was left out, since trial 2 was failed (too hot). --changed keeps it.",
        "Row 5: its note was left out, since trial 4 was retracted (toluene). --changed keeps it.",
        "0 measured, 1 known already, 4 rows left empty, 1 note kept. 2 of 20 measured, 0 pending, 18 left.",
    ]
    study.refresh()
    assert [one.note for one in study.trials] == ["", "clouds", "too hot", "cracked", "toluene"]
    said = zonal("tell", "a.db", "--csv", "a.csv", "--correct", "--changed").stderr
    assert said.splitlines() == [
        "trial 0 was 0.1 and is 0.1 [dusty] now.",
        "trial 1 was 0.2 [clouds] and is 0.2 [stirred] now.",
        "0 measured, 2 corrected, 3 rows left empty, 2 notes kept. 2 of 20 measured, 0 pending, 18 left.",
    ]
    study.refresh()
    assert [one.note for one in study.trials] == notes
    assert "note" not in zonal("tell", "a.db", "--csv", "a.csv").stderr
    assert "every decision matches" in zonal("verify", "a.db").stderr
    fill("a.csv", trial=["0", "0", "", "", ""], value=[""] * 5, note=["wet", "dry", "", "", ""], region=[""] * 5)
    assert "a row above has this trial already" in zonal("tell", "a.db", "--csv", "a.csv", code=1).stderr


def test_a_note_of_an_earlier_measurement_is_kept() -> None:
    study = begun()
    Path("b.csv").write_text("x_low,x_high,value,note\n0,0.5,0.3,of last year\n")
    zonal("observe", "a.db", "--csv", "b.csv")
    zonal("observe", "a.db", "x=0.5..1", "0.4", "--note", "of this year")
    study.refresh()
    assert [own.note for own in study.observations] == ["of last year", "of this year"]


def test_what_is_changed_together_is_logged_once_and_only_if_it_happens(caplog: pytest.LogCaptureFixture) -> None:
    study = begun(policy=zn.GPOO(delta=zn.GeometricDelta(1e-6), h_max=3))  # stays at the root
    study.fail(study.ask())
    study.fail(study.ask())
    study.ask(2)
    assert {trial.region for trial in study.pending} == {study.trials[0].region}

    def change(draft: zn.Study) -> None:
        draft.fail(2)
        draft.tell(3, 0.5)
        draft.observe([(0, 0.5)], 0.25)
        draft.forbid([(0, 0.25)])

    def refused(draft: zn.Study) -> None:
        change(draft)
        raise InterruptedError

    def overtaken(draft: zn.Study) -> None:
        if study.budget == 20:
            zn.Study.open("a.db").extend(1)
        assert not caplog.records
        change(draft)

    with caplog.at_level("INFO", logger="zonal"):
        with pytest.raises(InterruptedError):
            operations.together(study, refused)
        assert not caplog.records
        operations.together(study, overtaken)
    said = [record.getMessage().split(",")[0] for record in caplog.records]
    where = study.trials[0].region.name
    again = f"region {where} failed 3 times in a row and will not be asked for again"
    assert said == [again, "trial 3", "observed", "forbidden: x 0..0.25"]


def test_why_a_program_failed_is_kept_as_the_note() -> None:
    study = begun()
    zonal(
        "run", "a.db", "-n", 1, "--max-failures", 1, "--", "sh", "-c", "echo the lamp is out >&2; exit 3", code=6
    )
    study.refresh()
    (failed,) = study.trials
    assert failed.state == "failed"
    assert "the lamp is out" in failed.note

    def broken(region: zn.Region) -> float:
        raise OSError("no\nlight")

    with pytest.raises(OSError, match="light"):
        study.optimize(broken)
    assert study.trials[-1].note == "no light"


def test_an_old_sheet_does_not_undo_newer_corrections() -> None:
    study = begun()
    zonal("ask", "a.db", "-n", 5, "--csv", "monday.csv")
    fill("monday.csv", value=["0.1", "0.2", "0.3", "0.4", ""])
    zonal("tell", "a.db", "--csv", "monday.csv")
    zonal("correct", "a.db", 1, "0.27", "--note", "read off the wrong line")
    zonal("retract", "a.db", 2)
    fill("monday.csv", value=["0.1", "0.2", "0.3", "0.45", "0.5"])
    said = zonal("tell", "a.db", "--csv", "monday.csv", code=1).stderr  # row 4 is new, and not to be corrected
    assert "row 4 (line 5): trial 3 already has the value 0.4; got 0.45." in said
    assert "row 2" not in said
    said = zonal("tell", "a.db", "--csv", "monday.csv", "--correct").stderr
    assert said.splitlines() == [
        "trial 3 was 0.4 and is 0.45 now.",
        "Row 2 was left out: trial 1 was corrected to 0.27 after the sheet was written.",
        "Row 3 was left out: trial 2 was retracted after the sheet was written.",
        "1 measured, 1 corrected, 1 known already, 2 left out (--changed takes them too). 4 of 20 measured, "
        "0 pending, "
        "16 left.",
    ]
    study.refresh()
    assert [one.value for one in study.trials] == [0.1, 0.27, None, 0.45, 0.5]
    zonal("tell", "a.db", "--csv", "monday.csv", "--correct", "--changed")
    study.refresh()
    assert [one.value for one in study.trials] == [0.1, 0.2, 0.3, 0.45, 0.5]
    assert "--csv" in zonal("tell", "a.db", 1, "0.2", "--changed", code=2).stderr


def test_a_sheet_tells_trials_that_ended_since_only_on_request() -> None:
    study = begun()
    zonal("ask", "a.db", "-n", 3, "--csv", "a.csv")
    zonal("fail", "a.db", 0, "--no-retry", "--note", "too hot")
    zonal("cancel", "a.db", 1)
    fill("a.csv", value=["0.1", "0.2", "0.3"])
    said = zonal("tell", "a.db", "--csv", "a.csv").stderr
    assert "Row 1 was left out: trial 0 was failed (too hot) after the sheet was written.\n" in said
    assert "Row 2 was left out: trial 1 was cancelled after the sheet was written.\n" in said
    assert "1 measured, 2 left out (--changed takes them too)." in said
    assert "2 measured, 1 known already." in zonal("tell", "a.db", "--csv", "a.csv", "--changed").stderr
    study.refresh()
    assert [one.value for one in study.trials] == [0.1, 0.2, 0.3]


def test_an_old_sheet_of_observations_adds_no_corrected_value_again() -> None:
    study = begun()
    Path("old.csv").write_text("x_low,x_high,value\n0,0.5,1\n0.5,1,2\n")
    zonal("observe", "a.db", "--csv", "old.csv")
    zonal("correct", "a.db", 0, "0.1", "--observation")
    assert "0 measurements taken in, 2 known already" in zonal("observe", "a.db", "--csv", "old.csv").stderr
    study.refresh()
    assert [one.value for one in study.observations] == [0.1, 2]


def test_a_sheet_in_the_place_of_a_number_is_recognised() -> None:
    begun().ask(2)
    for name in ("sheet.csv", "Sheet.XLSX", "a.tsv"):
        assert f"{name!r} is not a trial. Did you mean --csv {name}?" in zonal("tell", "a.db", name, code=2).stderr
        said = zonal("correct", "a.db", name, "1", code=2).stderr
        assert f"Did you mean `zonal tell STUDY --csv {name} --correct`?" in said
        assert f"Did you mean `zonal tell STUDY --csv {name}`?" in zonal("fail", "a.db", name, code=2).stderr


def test_a_region_with_one_trial_names_it() -> None:
    zonal("new", "a.db", "--sequences", "ACGT,3", "--budget", 20, "--noise", 0.1, "--seed", 0)
    regions = [one["region"]["name"] for one in answer("ask", "a.db", "-n", 4)]
    zonal("tell", "a.db", regions[0], "0.5")
    zonal("tell", "a.db", regions[1], "0.6")
    zonal("correct", "a.db", regions[0], "0.75")
    zonal("retract", "a.db", regions[1])
    zonal("fail", "a.db", regions[2])
    study = zn.Study.open("a.db")
    assert [(one.state, one.value) for one in study.trials] == [
        ("measured", 0.75), ("retracted", None), ("failed", None), ("pending", None)
    ]  # fmt: skip
    said = zonal("fail", "a.db", regions[0], code=1).stderr
    assert f"this region has no trial pending; got '{regions[0]}'. Pass its number" in said
    study.observe(regions[3], 0.5)
    zonal("correct", "a.db", regions[3], "0.625", "--observation")
    study.refresh()
    assert study.observations[0].value == 0.625
    zn.Study.create("b.db", zn.Box([(0, 1)], smallest=1), budget=5).ask(2)
    said = zonal("tell", "b.db", "x 0..1", "0.5", code=1).stderr
    assert "this region has 2 trials pending (0, 1); got 'x 0..1'. Pass its number" in said
    said = zonal("correct", "a.db", "nonsense", "0.5", code=1).stderr
    assert "this is neither a number nor a region (" in said
    assert len(study.events) == len(zn.Study.open("a.db").events)


def test_a_decimal_comma_is_a_point_everywhere_and_what_may_be_thousands_is_asked_about() -> None:
    study = begun()
    study.ask(2)
    study.tell(0, 0.5)
    for command, thing in (("tell", 1), ("correct", 0), ("observe", "x=0..1")):
        said = zonal(command, "a.db", thing, "1,250", code=1).stderr
        assert said == "Error: a value must be a number; got '1,250'. Is it 1.250 or 1250? Write one of these.\n"
        zonal(command, "a.db", thing, "1,25")
    study.refresh()
    assert [study.trials[0].value, study.trials[1].value, study.observations[0].value] == [1.25, 1.25, 1.25]
    page = (Path(zn.__file__).parent / "web" / "page" / "static" / "words.js").read_text(encoding="utf-8")
    assert "Is it ${point} or ${none}? Write one of these." in page


def test_a_sheet_asks_once_what_its_commas_mean() -> None:
    study = begun()
    study.ask(12)
    Path("a.csv").write_text("trial,value\n" + "".join(f'{at},"1,{at + 100}"\n' for at in range(12)))
    said = zonal("tell", "a.db", "--csv", "a.csv", code=1).stderr
    assert said == (
        "Error: the comma in column 'value' of a.csv may be a decimal mark, or separate thousands; got '1,100'. "
        "Pass --decimal , if 1,100 means 1.100. If it means 1100, take the commas out.\n"
    )
    assert "12 measured" in zonal("tell", "a.db", "--csv", "a.csv", "--decimal", ",").stderr
    study.refresh()
    assert study.trials[11].value == 1.111


def test_in_excel_the_mark_of_texts_is_not_that_of_numbers() -> None:
    import openpyxl

    study = begun()
    study.ask(2)
    book = openpyxl.Workbook()
    for row in (["trial", "value", "sem"], [0, "1,125", 0.5], [1, "2,250", 0.25]):
        book.worksheets[0].append(row)
    book.save("a.xlsx")
    assert "Pass --decimal ," in zonal("tell", "a.db", "--csv", "a.xlsx", code=1).stderr
    zonal("tell", "a.db", "--csv", "a.xlsx", "--decimal", ",")
    study.refresh()
    assert [(one.value, one.sem) for one in study.trials] == [(1.125, 0.5), (2.25, 0.25)]


def test_in_a_mixed_sheet_the_odd_row_is_named() -> None:
    begun().ask(12)
    cells = ["1.5"] * 11 + ["1,5"]
    Path("a.csv").write_text("trial;value\n" + "".join(f"{at};{cell}\n" for at, cell in enumerate(cells)))
    said = zonal("tell", "a.db", "--csv", "a.csv", code=1).stderr
    assert "wrong rows: 1 of 12.\n  row 12 (line 13): a value has a decimal comma, unlike others in its" in said


def test_the_decimal_mark_of_a_table_can_be_said_to_all_commands() -> None:
    rows_ = "".join(f'"{at},125","{at % 7 + 1},250",s{at % 4}\n' for at in range(1, 65))
    Path("t.csv").write_text("x,y,s\n" + rows_)
    place = ["--points", "t.csv", "--coords", "x"]
    assert "Pass --decimal ," in zonal("new", "b.db", *place, "--budget", 9, code=1).stderr
    zonal("new", "b.db", *place, "--decimal", ",", "--budget", 9)
    assert float(zn.Study.open("b.db").space.features.max()) == 64.125
    Path("r.csv").write_text('x_low,x_high\n"0,125","0,250"\n')
    begun()
    assert "x 0.125..0.25" in zonal("predict", "a.db", "--csv", "r.csv", "--decimal", ",").stdout
    common = ["t.csv", "--value", "y", "--coords", "x", "--noise", 0.1, "--runs", 2, "--decimal", ","]
    assert "picture" in zonal("rehearse", *common, "--budget", 4, "--jobs", 1, "--out", "r.png").stdout
