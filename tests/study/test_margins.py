"""Published margins of error: 1.645 standard errors, in Python, sheets and the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

import zonal as zn
from shell import zonal
from zonal.io.tables import parse_table
from zonal.study.sheet_rows import BadSheet
from zonal.study.sheets import observed, told

AREAS = {"NSW": ["Sydney", "Coast"], "ACT": None}


def study() -> zn.Study:
    return zn.Study(zn.Hierarchy(AREAS), budget=9, noise=1.0)


def test_a_margin_is_a_standard_error_at_90_percent() -> None:
    areas = study()
    seen = areas.observe("Sydney", 80.0, moe=3.29)
    assert seen.sem == pytest.approx(2.0)
    trial = areas.ask()
    areas.tell(trial, 70.0, moe=1.645)
    assert areas.trials[0].sem == pytest.approx(1.0)
    for sem, moe in ((1.0, 1.0), (None, -1.0), (None, float("nan"))):
        with pytest.raises(zn.InvalidInput):
            areas.observe("Coast", 1.0, sem, moe=moe)


def test_a_column_of_margins_is_read() -> None:
    areas = study()
    trial = areas.ask()
    sheet = "region,value,moe\nSydney,80,3.29\nCoast,60,\nNSW,70,*\n".replace("*", "n/a")
    observed(areas, parse_table(sheet, "acs.csv"), again=False)
    assert [own.sem for own in areas.observations] == [pytest.approx(2.0), None, None]
    assert len(observed(areas, parse_table(sheet, "acs.csv"), again=False).repeated) == 3
    told(areas, parse_table(f"trial,value,moe\n{trial.number},5,0.329\n", "back.csv"))
    assert areas.trials[0].sem == pytest.approx(0.2)
    for cell in ("-555555555", "0.5,1", "wide"):
        with pytest.raises(BadSheet, match="margin"):
            observed(areas, parse_table(f"region;value;moe\nACT;80;{cell}\n", "acs.csv"), again=False)
    with pytest.raises(BadSheet, match="or a margin"):
        observed(areas, parse_table("region,value,sem,moe\nACT,80,1,2\n", "acs.csv"), again=False)


def test_an_axis_may_be_called_moe() -> None:
    box = zn.Study(zn.Product({"moe": ["low", "high"], "x": (0, 1)}, smallest={"x": 0.25}), budget=9)
    observed(box, parse_table("moe,x_low,x_high,value\nlow,0,0.5,3\n", "old.csv"), again=False)
    assert box.observations[0].sem is None


def test_a_study_on_a_server_takes_margins(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    from web.server_process import serving

    study().save(tmp_path / "areas.db")
    with serving(tmp_path) as server:
        remote = zn.connect(server.url("areas"))
        assert remote.observe("Sydney", 80.0, moe=3.29).sem == pytest.approx(2.0)
        remote.tell(remote.ask(), 3.0, moe=1.645)
        assert remote.trials[0].sem == pytest.approx(1.0)
        with pytest.raises(zn.InvalidInput):
            remote.observe("Coast", 1.0, sem=1.0, moe=1.0)


def test_the_shell_takes_margins(tmp_path: Path) -> None:
    path = tmp_path / "areas.db"
    study().save(path)
    zonal("observe", path, "Sydney", "80", "--moe", "3.29")
    zonal("ask", path)
    zonal("tell", path, "0", "7", "--moe", "1.645")
    kept = zn.Study.open(path)
    assert [kept.observations[0].sem, kept.trials[0].sem] == [pytest.approx(2.0), pytest.approx(1.0)]
