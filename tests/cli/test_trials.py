"""Ask, tell, observe and give up, from a shell, with sheets and without."""

from __future__ import annotations

import json
import os
import subprocess
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zonal as zn
from effort import examples
from forked_commands import Forked
from shell import ENVIRONMENT, PROGRAM, answer, fill, rows, zonal
from zonal.engine.events import Asked, Forbidden, Signed, Told
from zonal.io.tables import read_table
from zonal.study import sheets


@pytest.fixture
def dna(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zonal("new", "dna.db", "--sequences", "ACGT,3", "--budget", 10, "--noise", 0.1, "--seed", 0)
    return tmp_path / "dna.db"


def test_a_sheet_goes_out_with_questions_and_comes_back_with_answers(dna: Path) -> None:
    zonal("ask", dna, "-n", 3, "--csv", "a.csv")
    assert list(rows("a.csv")[0]) == ["trial", "region", "replicate", "value", "sem", "note"]
    fill("a.csv", value=["0.5", "", "-1e-1"], sem=["", "", "0.2"], note=["", "", "late, clouds"])
    assert (
        "2 measured, 1 row left empty. 2 of 10 measured, 1 pending, 7 left."
        in zonal("tell", dna, "--csv", "a.csv").stderr
    )
    told = zn.Study.open(dna).trials
    assert [(one.state, one.value, one.sem, one.note) for one in told] == [
        ("measured", 0.5, None, ""),
        ("pending", None, None, ""),
        ("measured", -0.1, 0.2, "late, clouds"),
    ]
    before = dna.read_bytes()
    assert "0 measured, 2 known already, 1 row left empty" in zonal("tell", dna, "--csv", "a.csv").stderr
    assert dna.read_bytes() == before


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ({"value": "0.5O"}, "a value must be a number; got '0.5O'"),
        ({"value": "0,51"}, "a decimal comma, unlike others in its column; got '0,51'. Write 0.51, with a point."),
        ({"value": "nan"}, "a value must be finite"),
        ({"value": "1e999"}, "a value must be finite"),
        ({"value": "1_0"}, "a value must be a number"),
        ({"value": "1e200"}, "a value is too large"),
        ({"sem": "-0.1"}, "a standard error must not be negative"),
        ({"sem": "x"}, "a standard error must be a number; got 'x'"),
        ({"trial": "one"}, "a trial must be a whole number; got 'one'"),
        ({"trial": "9"}, "the study has 3; got 9"),
        ({"trial": "0"}, "trial 0 is ANN, not this region; got 'CNN'"),
        ({"trial": "0", "region": ""}, "a row above has this trial already, with other values; got 0"),
    ],
)
def test_one_wrong_cell_and_nothing_is_told(dna: Path, cell: dict[str, str], says: str) -> None:
    zonal("ask", dna, "-n", 3, "--csv", "a.csv")
    fill("a.csv", value=["0.5", "0.6", "0.7"])
    for name, wrong in cell.items():
        fill("a.csv", **{name: [rows("a.csv")[0][name], wrong, rows("a.csv")[2][name]]})
    before = dna.read_bytes()
    said = zonal("tell", dna, "--csv", "a.csv", code=1).stderr
    assert "a.csv: nothing was recorded; wrong rows: 1 of 3.\n  row 2 (line 3): " in said
    assert says in said
    assert dna.read_bytes() == before


def test_every_wrong_row_is_listed_and_blank_ones_are_passed_over(dna: Path) -> None:
    zonal("ask", dna, "-n", 3, "--csv", "a.csv")
    fill("a.csv", value=["x", "0.5", "y"])
    said = zonal("tell", dna, "--csv", "a.csv", code=1).stderr
    assert "row 1 (line 2)" in said
    assert "row 3 (line 4)" in said
    assert "row 2" not in said
    fill("a.csv", value=["0.1", "0.5", "0.2"])
    with Path("a.csv").open("a") as file:
        file.write("\n,,,,,\n , ,,,,\n")
    zonal("tell", dna, "--csv", "a.csv")
    assert zn.Study.open(dna).measured == 3


def test_a_sheet_of_another_kind_is_refused(dna: Path) -> None:
    Path("s.txt").write_text("trial,value\n0,0.5\n")
    assert "ending is not known" in zonal("tell", dna, "--csv", "s.txt", code=1).stderr
    Path("t.csv").write_text("trail,value\n0,0.5\n")
    assert "Did you mean 'trail'?" in zonal("tell", dna, "--csv", "t.csv", code=1).stderr
    assert "no such file" in zonal("tell", dna, "--csv", "nosuch.csv", code=1).stderr


def test_asking_never_overwrites_a_sheet_and_can_be_repeated(dna: Path) -> None:
    zonal("ask", dna, "-n", 2, "--csv", "a.csv")
    assert "may hold values" in zonal("ask", dna, "-n", 2, "--csv", "a.csv", code=1).stderr
    assert len(zn.Study.open(dna).trials) == 2
    zonal("ask", dna, "--pending", "--csv", "b.csv")
    assert rows("a.csv") == rows("b.csv")
    first = answer("ask", dna, "-n", 2, "--key", "monday")
    assert answer("ask", dna, "-n", 2, "--key", "monday") == first
    assert "elsewhere" in zonal("ask", dna, "--csv", "nowhere/a.csv", code=1).stderr.lower()


def test_fewer_left_than_wanted_are_given_and_it_is_said(dna: Path) -> None:
    zonal("ask", dna, "-n", 8)
    for _ in range(2):  # the second time by its key: the budget is spent then
        result = zonal("ask", dna, "-n", 5, "--key", "friday", "--json")
        assert [one["trial"] for one in json.loads(result.stdout)] == [8, 9]
        assert result.stderr == "2 of 5: the budget leaves no more.\n"
    assert "the budget of 10 is spent, 10 of them are pending" in zonal("ask", dna, code=3).stderr
    zonal("extend", dna, 1)
    assert len(answer("ask", dna, "-n", 5)) == 1


def test_regions_may_run_out_before_the_budget_does(dna: Path) -> None:
    zonal("new", "two.db", "--sequences", "AC,1", "--budget", 9, "--max-replicates", 1, "--noise", 0.1)
    result = zonal("ask", "two.db", "-n", 7)
    assert "of 7: no other region can be measured" in result.stderr
    assert zonal("ask", "two.db", code=3).stderr.startswith("Error: ")


def test_single_trials_are_told_and_given_up_by_number(dna: Path) -> None:
    zonal("ask", dna, "-n", 5)
    zonal("tell", dna, 0, "-0.25", "--sem", "0.5", "--note", "clouds")
    zonal("tell", dna, 0, "-0.25", "--sem", "0.5")
    assert "already has the value" in zonal("tell", dna, 0, "0.3", code=1).stderr
    assert "a value must be a number" in zonal("tell", dna, 1, "abc", code=1).stderr
    assert "asked for 5" in zonal("tell", dna, 77, 1, code=1).stderr
    assert "VALUE" in zonal("tell", dna, 1, code=2).stderr
    assert "--csv" in zonal("tell", dna, code=2).stderr
    before = dna.read_bytes()
    assert "got 0. Pending: 1, 2, 3, 4." in zonal("fail", dna, 2, 0, code=1).stderr
    assert dna.read_bytes() == before
    zonal("fail", dna, 1, 1)
    zonal("fail", dna, 2, "--no-retry")
    zonal("cancel", dna, 3)
    study = zn.Study.open(dna)
    assert [one.state for one in study.trials] == ["measured", "failed", "failed", "cancelled", "pending"]
    assert study.trials[0].note == "clouds"
    assert study.remaining == 8


def test_only_what_is_possible_now_is_asked_for(dna: Path) -> None:
    asked = zonal("ask", dna, "-n", 3, "--within", "ANN", "--within", "CNN", "--avoid", "CAN", "--json").stdout
    names = [trial["region"]["name"] for trial in json.loads(asked)]
    assert all(name[0] in "AC" and not name.startswith(("CA", "CN")) for name in names)
    assert (
        "nothing within AAA and outside of ANN may be asked for"
        in zonal("ask", dna, "--within", "AAA", "--avoid", "ANN", code=3).stderr
    )
    assert "--pending asks for nothing" in zonal("ask", dna, "--pending", "--avoid", "ANN", code=2).stderr
    zonal("ask", dna, "--key", "monday", "--avoid", "ANN")
    assert "used with other regions" in zonal("ask", dna, "--key", "monday", code=1).stderr
    zonal("verify", dna)


def test_a_region_is_forbidden_and_allowed_again(dna: Path) -> None:
    zonal("ask", dna, "-n", 4)
    there = [str(trial.number) for trial in zn.Study.open(dna).pending if trial.region.name[0] in "AN"]
    said = zonal("forbid", dna, "ANN", "--note", "toxic").stderr
    assert f"ANN is forbidden. Still pending there: {', '.join(there)}; tell them or cancel them." in said
    assert "whole space" in zonal("forbid", dna, "NNN", code=1).stderr
    assert "forbidden since the study began: ANN" in zonal("show", dna).stdout
    assert json.loads(zonal("show", dna, "--json").stdout)["forbidden"] == ["ANN"]
    zonal("fail", dna, 3, "--no-retry")
    zonal("verify", dna)
    zonal("export", dna, "--format", "events", "--out", "dna.events")
    zonal("import", "again.db", "dna.events")
    assert zn.Study.open("again.db").events == zn.Study.open(dna).events
    assert "allowed as a whole: ANN" in zonal("allow", dna, "AAN", code=1).stderr
    assert "1 failure and 1 forbidden region taken back" in zonal("allow", dna, "NNN").stderr
    assert zn.Study.open(dna).forbidden == ()


def test_a_region_that_was_given_up_is_allowed_by_its_name(dna: Path) -> None:
    zonal("ask", dna, "-n", 4)
    zonal("fail", dna, 0, 1, 2, "--no-retry")
    names = [one.region.name for one in zn.Study.open(dna).trials]
    before = dna.read_bytes()
    assert "nothing failed or was forbidden within this region" in zonal("allow", dna, names[3], code=1).stderr
    assert "REGION" in zonal("allow", dna, code=2).stderr
    assert dna.read_bytes() == before
    assert "1 failure taken back. 0 of 10 measured, 1 pending, 9 left." in zonal("allow", dna, names[1]).stderr
    assert sorted(zn.Study.open(dna)._state.blocked.values()) == [0, 2]
    assert "2 failures taken back" in zonal("allow", dna, "NNN").stderr
    zonal("verify", dna)
    zonal("export", dna, "--format", "events", "--out", "dna.events")
    zonal("import", "again.db", "dna.events")
    assert zn.Study.open("again.db").events == zn.Study.open(dna).events


@pytest.mark.parametrize(
    "words",
    [
        ["--axis", "x=0..1", "--axis", "dye=red,green", "--smallest", "0.2"],
        ["--axis", "l=-180..180:deg", "--axis", "sin b=-1..1", "--smallest", "0.2"],
    ],
)
def test_what_is_printed_of_a_region_is_enough_to_allow_it(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    zonal("new", "s.db", *words, "--budget", 20, "--noise", 0.1)
    zonal("ask", "s.db", "-n", 8)
    zonal("fail", "s.db", *range(8), "--no-retry")
    for trial in zn.Study.open("s.db").trials:
        if trial.number in zn.Study.open("s.db")._state.blocked.values():
            zonal("allow", "s.db", trial.region.name)
    assert not zn.Study.open("s.db")._state.blocked


def test_earlier_measurements_cost_no_budget(dna: Path) -> None:
    zonal("observe", dna, "ATN", "-0.5", "--sem", "0.1")
    Path("e.csv").write_text("region,value,sem\nNNA,0.25,\nCGT,0.5,0.01\n")
    assert "2 measurements taken in." in zonal("observe", dna, "--csv", "e.csv").stderr
    seen = zn.Study.open(dna).observations
    assert [(one.region.name, one.value, one.sem) for one in seen] == [
        ("ATN", -0.5, 0.1),
        ("NNA", 0.25, None),
        ("CGT", 0.5, 0.01),
    ]
    assert zn.Study.open(dna).remaining == 10
    Path("e.csv").write_text("region,value\nNNA,0.25\nAXN,0.5\n,1\n")
    said = zonal("observe", dna, "--csv", "e.csv", code=1).stderr
    assert "row 2 (line 3): 'AXN' has a symbol outside the alphabet" in said
    assert "row 3 (line 4): a row must say which region" in said
    assert len(zn.Study.open(dna).observations) == 3


def test_a_bar_is_shown_on_a_terminal_and_nowhere_else(dna: Path) -> None:
    zonal("ask", dna, "-n", 2, "--csv", "a.csv")
    fill("a.csv", value=["0.5", "0.25"])
    words = ["tell", str(dna), "--csv", "a.csv"]
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    subprocess.run([*PROGRAM, *words], env=ENVIRONMENT, stderr=theirs, check=True)
    os.close(theirs)
    parts: list[bytes] = []
    with suppress(OSError):  # so a terminal ends; it hands on what it got piece by piece
        while part := os.read(ours, 1 << 16):
            parts.append(part)
    os.close(ours)
    said = b"".join(parts).decode()
    assert "telling: " in said
    assert "2 measured. 2 of 10 measured" in said
    again = Forked(*words)
    assert again.end(60) == "0 measured, 2 known already. 2 of 10 measured, 0 pending, 8 left.\n"
    assert again.returncode == 0


def test_what_people_are_at_is_not_taken_up_by_a_program(dna: Path) -> None:
    zonal("ask", dna, "-n", 2)
    study = zn.Study.open(dna)
    study.optimize(lambda region: region.weight)
    assert [trial.number for trial in study.pending] == [0, 1]
    assert study.measured == 8


ROUNDS = int(os.environ.get("ZONAL_ROUNDS", "3"))  # `make torture` plays more


def test_a_campaign_whose_commands_are_killed_walks_as_one_whose_are_not(dna: Path) -> None:
    delays = np.random.default_rng(0).uniform(0.0, 0.2, size=(ROUNDS, 2))
    zonal("new", "twin.db", "--sequences", "ACGT,3", "--budget", ROUNDS, "--noise", 0.1, "--seed", 0)
    zonal("new", "killed.db", "--sequences", "ACGT,3", "--budget", ROUNDS, "--noise", 0.1, "--seed", 0)
    for number in range(ROUNDS):
        ask, tell = ["ask", "killed.db", "--key", str(number)], ["tell", "killed.db", str(number), str(number / 7)]
        for words, delay in zip((ask, tell), delays[number], strict=True):
            run = Forked(*words)
            time.sleep(delay)
            run.kill()
            run.end()
            zonal(*words)
        zonal("ask", "twin.db")
        zonal("tell", "twin.db", number, number / 7)
    assert zonal("export", "killed.db").stdout == zonal("export", "twin.db").stdout


SHEET = "trial,region,replicate,value,sem,note\n0,ANN,1,0.5,,\n1,CNN,1,-1e-3,0.1,late\n2,GNN,1,,,\n"


@examples(100)
@given(
    at=st.integers(0, len(SHEET)),
    size=st.integers(0, 5),
    put=st.text("\r\n\t ,;\"'.-+e0123AN\x00é\ufeff", max_size=4),
)
def test_a_mutated_sheet_is_read_or_refused(
    asked: zn.Study, tmp_path_factory: Any, at: int, size: int, put: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "mutated.csv"
    file.write_bytes((SHEET[:at] + put + SHEET[at + size :]).encode())
    try:
        found = sheets.answers(read_table(file), asked)
    except zn.ZonalError:
        return
    assert {number for number, _ in found.new} <= {0, 1, 2}
    assert not found.repeated


@pytest.fixture(scope="module")
def asked() -> zn.Study:
    study = zn.Study(zn.Sequences("ACGT", 3), budget=10, noise=0.1, rng=0)
    study.ask(3)
    return study


def test_a_sheet_whose_telling_was_killed_is_told_again_and_nothing_twice(dna: Path) -> None:
    zonal("ask", dna, "-n", 10, "--csv", "a.csv")
    values = [str(at / 10) for at in range(10)]
    fill("a.csv", value=values)
    told = 0
    for patience in (0.0, 0.1):
        written = dna.stat().st_mtime_ns
        run = Forked("tell", dna, "--csv", "a.csv")
        while run.poll() is None and dna.stat().st_mtime_ns == written:
            time.sleep(0.005)
        time.sleep(patience)
        run.kill()
        run.end()
        before, told = told, zn.Study.open(dna).measured
        assert told >= before
    zonal("tell", dna, "--csv", "a.csv")
    assert [str(one.value) for one in zn.Study.open(dna).trials] == values
    assert sum(isinstance(fact, Told) for event in zn.Study.open(dna).events for fact in event) == 10


def test_looks_that_cost_are_asked_for_told_and_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    zonal(
        "new", "n.db", "--axis", "x=0..1", "--budget", 60, "--times", "1,2,4", "--overhead", 1, "--cost-unit", "s"
    )
    shown = zonal("ask", "n.db").stdout
    assert "time" in shown
    assert "cost" in shown
    (question,) = json.loads(zonal("ask", "n.db", "--json").stdout)
    assert question["cost"] == question["time"] + 1
    assert "0 measured for 0 of 60 s, 2 pending" in zonal("show", "n.db").stdout
    zonal("tell", "n.db", 0, 0.3, "--time", 7.5)
    assert zn.Study.open("n.db").spent == 8.5
    zonal("extend", "n.db", 12.5)
    assert zn.Study.open("n.db").budget == 72.5
    zonal("ask", "n.db", "-n", 2, "--csv", "q.csv")
    asked = read_table(Path("q.csv"))
    assert asked.numbers("cost").tolist() == (asked.numbers("time") + 1).tolist()
    fill("q.csv", value=["0.5", "0.25"], time=["3", ""])
    zonal("tell", "n.db", "--csv", "q.csv")
    told = zn.Study.open("n.db").trials
    assert [one.value for one in told[2:]] == [0.5, 0.25]
    assert (told[2].time, told[2].cost) == (3.0, 4.0)
    zonal("export", "n.db", "--out", "all.csv")
    sheet = read_table(Path("all.csv"))
    assert (sheet.numbers("time")[0], sheet.numbers("cost")[0]) == (7.5, 8.5)
    first = json.loads(zonal("export", "n.db", "--format", "json").stdout)["trials"][0]
    assert (first["time"], first["cost"]) == (7.5, 8.5)
    assert first["when"].startswith("20")


def test_columns_of_time_and_cost_are_there_even_if_all_are_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    zonal("new", "n.db", "--axis", "x=0..1", "--budget", 20, "--times", "1")
    assert "time" in zonal("ask", "n.db").stdout
    zonal("ask", "n.db", "--csv", "q.csv")
    assert read_table(Path("q.csv")).numbers("time").tolist() == [1.0]


def test_slopes_and_differences_come_from_the_shell_and_go_through_sheets_and_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.db", "b.db"):
        zonal("new", name, "--axis", "x=0..1", "--smallest", "0.1", "--budget", "6", "--noise", "0.1")
    zonal("observe", "a.db", "x=0.2..0.4", "1.8", "--sem", "0.3", "--slope", "x")
    zonal("observe", "a.db", "x=0.5..0.75", "-0.4", "--sem", "0.1", "--minus", "x=0..0.1")
    zonal("ask", "a.db", "-n", "2")
    zonal("tell", "a.db", "0", "5.3", "--slope", "x=-0.9:0.3")
    zonal("tell", "a.db", "1", "-0.3", "--sem", "0.1", "--minus", '{"x": [0.123456789, 0.2]}')
    study = zn.Study.open("a.db")
    assert [own.region.feedback for own in study.observations] == [zn.Slope("x"), zn.Mean(), zn.Slope("x")]
    assert study.trials[1].minus == study.space.region([(0.123456789, 0.2)])
    zonal("export", "a.db", "--format", "csv", "--out", "a.csv")
    taken = zonal("observe", "b.db", "--csv", "a.csv").output
    assert "5 measurements taken in" in taken
    assert "0 measurements taken in, 5 known already" in zonal("observe", "b.db", "--csv", "a.csv").output
    again = zn.Study.open("b.db")
    assert sorted(own.value for own in again.observations) == sorted([1.8, -0.4, 5.3, -0.9, -0.3])
    minus = {own.value: own.minus and own.minus.bounds.tolist() for own in again.observations}
    assert minus == {5.3: None, -0.3: [[0.123456789, 0.2]], 1.8: None, -0.4: [[0.0, 0.1]], -0.9: None}
    zonal("export", "a.db", "--format", "events", "--out", "a.jsonl")
    zonal("import", "c.db", "a.jsonl")
    assert "every decision matches" in zonal("verify", "c.db").output
    assert '"slope": "x"' in zonal("export", "a.db", "--format", "json").output
    for words, said in (
        (("observe", "a.db", "x=0..1", "1", "--slope", "x"), "needs a standard error"),
        (("tell", "a.db", "1", "1", "--slope", "x=3"), "a value and a standard error"),
        (("observe", "a.db", "x=0..1", "1", "--sem", "1", "--minus", "{"), "cannot be read"),
    ):
        assert said in zonal(*words, code=1).output


def test_whatever_changes_a_study_takes_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    zonal("new", "named.db", "--axis", "x=0..1", "--budget", 20, "--seed", 0, "--by", "Ada")
    zonal("ask", "named.db", "-n", 2, "--by", "dish-1")
    zonal("forbid", "named.db", "x=0.9..1", "--by", "Bo")
    Path("sheet.csv").write_text("trial,value\n0,0.5\n1,0.6\n")
    zonal("tell", "named.db", "--csv", "sheet.csv", "--by", "Cy")
    Path("earlier.csv").write_text("region,value\nx=0..0.5,0.4\n")
    zonal("observe", "named.db", "--csv", "earlier.csv", "--by", "Di")
    zonal("refit", "named.db", "--by", "Eve")
    study = zn.Study.open("named.db")
    signed = [event.by for events in study.events for event in events if isinstance(event, Signed)]
    assert signed == ["Ada", "Cy", "Cy", "Di", "Eve"]
    every = [event for events in study.events for event in events]
    by = {type(event): event.by for event in every if isinstance(event, Asked | Forbidden)}
    assert by == {Asked: "dish-1", Forbidden: "Bo"}
