"""A biologist's week by the shell alone, with the files of her spreadsheet: what went wrong leaves no trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import zonal as zn
from shell import answer, rows, spreadsheet, zonal

RECIPE = """
budget = 52
seed = 1

[sequences]
alphabet = "ACGT"
length = 6
smallest = 16

[measurement]
name = "binding"
"""
LEARNED = "noise = 0.02\n"
GIVEN = """noise = 0.02

[model]
kernel = "categorical"
variance = 0.02
correlation = 0.4
"""
# How sheets are saved: semicolons or tabs with decimal commas and a byte-order mark, quoted commas, Excel.
DAYS = {"monday": "german", "tuesday": "xlsx", "wednesday": "tabs", "thursday": "quoted", "friday": "german"}
TYPED, SPOILT = 17, 27  # trials: of the one a digit was mistyped on Tuesday, the other's pool was contaminated


class Week:
    """Five days on one study: every morning a sheet of questions, every evening the same, filled in."""

    def __init__(self, study: str, recipe: str) -> None:
        scores = zn.data.tfbind8().e_score.reshape([4] * 8).mean(axis=(6, 7))
        self._pools = zn.simulation.from_table(zn.Sequences("ACGT", 6, smallest=16), scores)
        self.study = study
        Path("pools.toml").write_text(recipe)
        zonal("new", study, "--recipe", "pools.toml")

    def ask(self, day: str) -> None:
        zonal("ask", self.study, "-n", 12, "--csv", f"{day} of {self.study}.csv")

    def tell(self, day: str, *how: str, **typed: str) -> str:
        """Fill in a day's sheet, some cells as they were typed, save it as the spreadsheet does, and tell it."""
        questions, saved = Path(f"{day} of {self.study}.csv"), Path(f"{day}.csv")
        saved.write_bytes(questions.read_bytes())
        values = [typed.get(f"trial{row['trial']}", self._measured(row)) for row in rows(str(questions))]
        said = zonal("tell", self.study, "--csv", spreadsheet(str(saved), DAYS[day], value=values), *how).stderr
        zonal("refit", self.study)
        return said

    def _measured(self, row: dict[str, str]) -> str:
        """Return the average of a pool with the noise of its trial, as a German types it."""
        average = self._pools.average(self._pools.space.region(row["region"]))
        noise = np.random.default_rng(int(row["trial"])).normal(0, 0.02)
        return f"{average + noise:.4f}".replace(".", ",")


def as_it_should(week: Week) -> None:
    """Play a week in which a contaminated pool was seen to be so, and not measured."""
    for day in DAYS:
        week.ask(day)
        week.tell(day, **{f"trial{SPOILT}": "n.d."})
        if day == "wednesday":
            zonal("cancel", week.study, SPOILT)


def with_mistakes(week: Week, late: bool) -> None:
    """Play a week with a typo and a contaminated pool, which are found before the next questions, or after."""
    for day in DAYS:
        week.ask(day)
        if day == ("wednesday" if late else ""):
            _mend(week)
        if day == ("thursday" if late else ""):
            zonal("retract", week.study, SPOILT, "--note", "contaminated")
        week.tell(day, **({f"trial{TYPED}": "3,141"} if day == "tuesday" else {}))
        if day == ("tuesday" if not late else ""):
            _mend(week)
        if day == ("wednesday" if not late else ""):
            zonal("retract", week.study, SPOILT, "--note", "contaminated")


def _mend(week: Week) -> None:
    """Mend the cell in Tuesday's sheet, and tell all of it again."""
    said = week.tell("tuesday", "--correct")
    assert said.startswith(f"trial {TYPED} was 3.141 and is 0.")
    assert "0 measured, 1 corrected, 11 known already." in said


@pytest.mark.parametrize("late", [False, True], ids=["found at once", "found later"])
@pytest.mark.parametrize(
    "model", [GIVEN, pytest.param(LEARNED, marks=pytest.mark.torture)], ids=["given", "learned"]
)
def test_a_week_with_mistakes_ends_as_the_week_without(
    model: str, late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    as_it_should(Week("right.db", RECIPE + model))
    with_mistakes(Week("wrong.db", RECIPE + model), late)
    right, wrong = (answer("recommend", name)[0] for name in ("right.db", "wrong.db"))
    assert wrong["region"] == right["region"]
    assert answer("show", "wrong.db")["measured"] == answer("show", "right.db")["measured"] == 52
    if not late:  # then even the questions are the same
        asked = [[own["region"] for own in trials(name)] for name in ("right.db", "wrong.db")]
        assert asked[0] == asked[1]
        assert (wrong["mean"], wrong["std"]) == pytest.approx((right["mean"], right["std"]), rel=1e-9)
    zonal("verify", "wrong.db")
    export = zonal("export", "wrong.db", "--format", "json").stdout
    assert "3.141" in export
    assert "contaminated" in export


def trials(study: str) -> list[dict[str, str]]:
    Path("trials.csv").unlink(missing_ok=True)
    zonal("export", study, "--out", "trials.csv")
    return [row for row in rows("trials.csv") if row["trial"]]
