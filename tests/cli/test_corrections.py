"""Correct and retract, from a shell, with sheets and without."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

import zonal as zn
from effort import tries
from forked_commands import Forked
from shell import fill, rows, zonal
from zonal.engine.events import Corrected, Retracted


@pytest.fixture
def dna(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of four questions, the second of them answered wrongly, the last not yet."""
    monkeypatch.chdir(tmp_path)
    zonal("new", "dna.db", "--sequences", "ACGT,3", "--budget", 10, "--noise", 0.1, "--seed", 0)
    zonal("ask", "dna.db", "-n", 4, "--csv", "a.csv")
    fill("a.csv", value=["0.51234", "7.3", "-0.2", ""], sem=["", "", "0.05", ""], note=["", "", "late", ""])
    zonal("tell", "dna.db", "--csv", "a.csv")
    return tmp_path / "dna.db"


def told(path: Path) -> list[tuple[str, float | None, float | None, str]]:
    return [(one.state, one.value, one.sem, one.note) for one in zn.Study.open(path).trials]


def test_a_sheet_told_before_is_told_again_with_what_changed(dna: Path) -> None:
    fill("a.csv", value=["0.51", "0.73", "", "0.4"], sem=["", "", "", ""], note=["", "a comma", "", ""])
    before = dna.read_bytes()
    said = zonal("tell", dna, "--csv", "a.csv", code=1).stderr
    assert "row 2 (line 3): trial 1 already has the value 7.3; got 0.73. Leave the cell as it was." in said
    assert dna.read_bytes() == before
    said = zonal("tell", dna, "--csv", "a.csv", "--correct").stderr
    assert said.splitlines() == [
        "trial 1 was 7.3 and is 0.73 [a comma] now.",
        "1 measured, 1 corrected, 1 known already, 1 row left empty. 4 of 10 measured, 0 pending, 6 left.",
    ]
    assert told(dna) == [
        ("measured", 0.51234, None, ""),  # a spreadsheet rounds
        ("measured", 0.73, None, "a comma"),
        ("measured", -0.2, 0.05, "late"),  # an empty cell changes nothing
        ("measured", 0.4, None, ""),
    ]
    before = dna.read_bytes()
    assert (
        "0 measured, 3 known already, 1 row left empty" in zonal("tell", dna, "--csv", "a.csv", "--correct").stderr
    )
    assert dna.read_bytes() == before
    assert "every decision matches" in zonal("verify", dna).stderr


def test_one_cell_of_a_row_changes_and_the_others_stay(dna: Path) -> None:
    fill("a.csv", value=["0.5", "7.30", "-0.2", ""], sem=["0.1", "", "0.07", ""], note=["", "", "", ""])
    said = zonal("tell", dna, "--csv", "a.csv", "--correct").stderr
    assert "trial 0 was 0.51234 and is 0.51234 (sem 0.1) now" in said
    assert "trial 2 was -0.2 (sem 0.05) [late] and is -0.2 (sem 0.07) [late] now" in said
    assert "0 measured, 2 corrected, 1 known already" in said
    assert told(dna)[0] == ("measured", 0.51234, 0.1, "")


def test_a_wrong_row_keeps_all_others_from_being_corrected(dna: Path) -> None:
    fill("a.csv", value=["0.6", "0.73", "x", ""])
    before = dna.read_bytes()
    assert (
        "nothing was recorded; wrong rows: 1 of 4"
        in zonal("tell", dna, "--csv", "a.csv", "--correct", code=1).stderr
    )
    assert dna.read_bytes() == before
    assert "`zonal correct` takes one TRIAL" in zonal("tell", dna, 0, "0.5", "--correct", code=2).stderr


def test_single_trials_are_corrected_and_retracted_by_number(dna: Path) -> None:
    said = zonal("correct", dna, 1, "-0.73", "--note", "a comma").stderr
    assert said == "trial 1 was 7.3 and is -0.73 [a comma] now. 3 of 10 measured, 1 pending, 6 left.\n"
    before = dna.read_bytes()
    assert "nothing changed: trial 1, -0.73 [a comma]." in zonal("correct", dna, 1, "-0.73").stderr
    assert "trial 3 is pending, and has no value" in zonal("correct", dna, 3, "0.1", code=1).stderr
    assert "there is no such trial; got 4. There are 4" in zonal("correct", dna, 4, "0.1", code=1).stderr
    assert "a value must be a number" in zonal("correct", dna, 1, "0.7O", code=1).stderr
    assert "trial 3 is pending" in zonal("retract", dna, 0, 3, code=1).stderr
    assert "VALUE" in zonal("correct", dna, 1, code=2).stderr
    assert dna.read_bytes() == before
    said = zonal("retract", dna, 0, 2, 0, "--note", "spilled").stderr
    assert said.startswith(
        "retracted: trial 0, 0.51234, trial 2, -0.2 (sem 0.05) [late]. 1 of 10 measured, 1 pending"
    )
    assert told(dna)[::2] == [("retracted", None, None, "spilled")] * 2
    assert "trial 0 was retracted" in zonal("retract", dna, 0, code=1).stderr
    zonal("tell", dna, 0, "0.5")
    assert told(dna)[0] == ("measured", 0.5, None, "")
    assert "every decision matches" in zonal("verify", dna).stderr


def test_observations_have_numbers_of_their_own(dna: Path) -> None:
    assert "Added 1 earlier measurement: observation 0." in zonal("observe", dna, "NAN", "3.0").stderr
    assert "Added 1 earlier measurement: observation 1." in zonal("observe", dna, "NNA", "4.0", "--sem", 1).stderr
    assert "observation 0 was 3 and is 0.3 now." in zonal("correct", dna, 0, "0.3", "--observation").stderr
    assert "retracted: observation 1, 4 (sem 1)." in zonal("retract", dna, 1, "--observation").stderr
    assert "observation 1 was retracted" in zonal("correct", dna, 1, "0.3", "--observation", code=1).stderr
    assert [(one.number, one.value) for one in zn.Study.open(dna).observations] == [(0, 0.3)]
    zonal("export", dna, "--out", "b.csv")
    sheet = rows("b.csv")
    assert [row["observation"] for row in sheet] == ["", "", "", "", "0", "1"]
    assert [(row["state"], row["value"], row["earlier"]) for row in sheet[4:]] == [
        ("observed", "0.3", "3.0"),
        ("retracted", "", "4.0"),
    ]


def test_exports_keep_what_was_told_before(dna: Path) -> None:
    plain = list(rows("a.csv")[0])
    zonal("export", dna, "--out", "b.csv")
    assert [*plain[:3], "state", *plain[3:]] == list(rows("b.csv")[0])
    zonal("correct", dna, 1, "0.73", "--note", "a comma")
    zonal("correct", dna, 1, "0.7")
    zonal("retract", dna, 2)
    zonal("export", dna, "--out", "c.csv")
    assert [row["earlier"] for row in rows("c.csv")] == ["", "7.3; 0.73", "-0.2", ""]
    assert "0 measured, 2 known already, 2 rows left empty" in zonal("tell", dna, "--csv", "c.csv").stderr
    trials = json.loads(zonal("export", dna, "--format", "json").stdout)["trials"]
    times = zn.Study.open(dna).timestamps
    first, second = trials[1]["earlier"]
    assert (first["value"], first["by"], first["when"]) == (7.3, "", times[6])
    assert (second["value"], second["note"], second["when"]) == (0.73, "a comma", times[8])
    assert second["by"] == trials[1]["by"] == trials[2]["by"] != ""
    assert (trials[1]["value"], trials[2]["value"], trials[2]["state"]) == (0.7, None, "retracted")
    zonal("export", dna, "--format", "events", "--out", "e.jsonl")
    zonal("import", "copy.db", "e.jsonl")
    assert zn.Study.open("copy.db").events == zn.Study.open(dna).events
    assert "was measured" in str(zn.Study.open("copy.db").table(history=True))


@pytest.mark.tries
def test_a_correction_that_is_killed_is_made_once_or_not_at_all(dna: Path) -> None:
    fill("a.csv", value=["0.1", "0.2", "0.3", "0.4"])
    tell, retract = ["tell", "dna.db", "--csv", "a.csv", "--correct", "--changed"], ["retract", "dna.db", "1"]
    for number, delay in enumerate(np.random.default_rng(0).uniform(0.0, 0.3, tries(5, 8))):
        written = dna.stat().st_mtime_ns
        words = retract if number % 2 and told(dna)[1][0] == "measured" else tell
        run = Forked(*words)
        if number > 2:  # in the middle of writing
            while run.poll() is None and dna.stat().st_mtime_ns == written:
                time.sleep(0.002)
        else:
            time.sleep(delay)
        run.kill()
        run.end()
        assert "every decision matches" in zonal("verify", dna).stderr
    zonal(*tell)
    assert [value for _, value, *_ in told(dna)] == [0.1, 0.2, 0.3, 0.4]
    facts = [fact for event in zn.Study.open(dna).events for fact in event]
    for wanted in (0.1, 0.3):
        assert sum(isinstance(fact, Corrected) and fact.value == wanted for fact in facts) == 1
    again = sum(isinstance(fact, Retracted) for fact in facts)
    assert sum(isinstance(fact, Corrected) and fact.number == 1 for fact in facts) <= 1 + again
