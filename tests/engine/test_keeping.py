"""Labels, levels, logarithmic axes and lists of forbidden regions are kept in files with all else."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import zonal as zn
from processes import running, wait_for
from shell import zonal

pytestmark = pytest.mark.one_in(2)

PLACES = pd.DataFrame({"lon": [1.0, 2.0, 4.0], "lat": [0.0, 5.0, 1.0]}, index=["Perth", "Hobart", "Cairns"])
AREAS = pd.DataFrame({"state": ["WA", "TAS", "QLD"], "town": ["Perth", "Hobart", "Cairns"]}, index=[7, 8, 9])
STUDIES: dict[str, tuple[Any, Any]] = {
    "labels": (zn.Points(PLACES), ["Hobart"]),
    "levels": (zn.Hierarchy.from_table(AREAS), [("TAS",), "Cairns"]),
    "decades": (zn.Box({"c": (3e-6, 1e-2)}, scale="log", smallest=0.25), [{"c": (1e-5, 1e-4)}]),
    "ring": (zn.Box({"l": (-180, 180), "b": (0, 1)}, periodic=["l"]), [{"l": (170, -170)}]),
    "symbols": (zn.Product({"c": (1, 100), "dye": ["red", "green"]}, scale={"c": "log"}), {"dye": "red"}),
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_read_back_is_the_one_that_was_kept(name: str, tmp_path: Path) -> None:
    space, forbidden = STUDIES[name]
    study = zn.Study.create(tmp_path / "a.db", space, budget=6, noise=0.1, forbidden=forbidden)
    study.tell(study.ask(), 1.0)
    again = zn.Study.open(tmp_path / "a.db")
    assert again.settings == study.settings
    assert again.table().to_dict() == study.table().to_dict()
    np.testing.assert_array_equal(again.tree.forbidden, study.tree.forbidden)
    assert again.space.cell((1, 0)).as_dict() == study.space.cell((1, 0)).as_dict()


SETTINGS: Any = {"budget": 6, "noise": 0.1, "value_name": "age"}
WORKER = """
import os, sys, time
import zonal as zn
open(f"ready-{os.getpid()}", "w").close()
while not os.path.exists("start"):
    time.sleep(0.001)
study = zn.Study.create("race.db", [(0, 1)], budget=40, noise=lambda region: 0.1, exist_ok=True)
for _ in range(5):
    study.tell(study.ask(), 0.5)
print(study.id, study.measured)
"""


def test_workers_that_begin_at_once_share_one_study(tmp_path: Path) -> None:
    how: dict[str, Any] = {"cwd": tmp_path, "stdout": subprocess.PIPE}
    command = sys.executable, "-c", WORKER
    with running(*command, **how) as one, running(*command, **how) as other:
        wait_for(lambda: len([*tmp_path.glob("ready-*")]) == 2)
        (tmp_path / "start").touch()
        said = [worker.communicate(timeout=120)[0].split() for worker in (one, other)]
    assert (one.returncode, other.returncode) == (0, 0)
    assert len({name for name, _ in said}) == 1
    study = zn.Study.open(tmp_path / "race.db", noise=lambda region: 0.1)
    assert study.measured == 10
    assert {trial.number for trial in study.trials} == set(range(10))
    names = {file.name.partition("-")[0] for file in tmp_path.iterdir()}
    assert names == {"ready", "start", "race.db"}  # no draft is left


def test_who_joins_a_study_goes_on_with_it(tmp_path: Path) -> None:
    first = zn.Study.create(tmp_path / "a.db", [(0, 1)], **SETTINGS, exist_ok=True)
    first.tell(first.ask(), 1.0)
    first.extend(2)
    second = zn.Study.create(tmp_path / "a.db", [(0, 1)], **SETTINGS, exist_ok=True)
    assert (second.id, second.measured, second.budget) == (first.id, 1, 8)
    assert second.settings.seed == first.settings.seed
    with pytest.raises(zn.StudyFileError, match="already"):
        zn.Study.create(tmp_path / "a.db", [(0, 1)], **SETTINGS)


@pytest.mark.parametrize(
    ("name", "other"),
    [("budget", 7), ("noise", 0.2), ("value_name", "height"), ("policy", zn.UCB(3)), ("seed", 5), ("space", None)],
)
def test_another_study_is_not_joined(name: str, other: Any, tmp_path: Path) -> None:
    zn.Study.create(tmp_path / "a.db", [(0, 1)], **SETTINGS)
    given = SETTINGS if name == "space" else SETTINGS | {"rng" if name == "seed" else name: other}
    with pytest.raises(zn.StudyFileError, match=f"a.db has a study with another {name}: .* Open it"):
        zn.Study.create(tmp_path / "a.db", [(0, 2 if name == "space" else 1)], **given, exist_ok=True)


def test_functions_of_the_users_own_are_passed_on_to_the_study_that_is_there(tmp_path: Path) -> None:
    policy = zn.GPOO(delta=lambda depth: 0.5**depth)
    own: Any = {"budget": 6, "noise": lambda region: 0.1, "forbidden": lambda region: False, "policy": policy}
    for told in range(2):
        study = zn.Study.create(tmp_path / "a.db", [(0, 1)], kernel=zn.RBF(1.0, 0.2), exist_ok=True, **own)
        assert (study.measured, study.read_only) == (told, "")
        study.tell(study.ask(), 1.0)


def test_a_file_that_is_no_study_is_not_joined(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("mine")
    with pytest.raises(zn.StudyFileError, match="not a Zonal study"):
        zn.Study.create(tmp_path / "a.db", [(0, 1)], **SETTINGS, exist_ok=True)
    assert (tmp_path / "a.db").read_text() == "mine"


def test_points_named_by_dates_are_opened_by_their_text(tmp_path: Path) -> None:
    """Whoever opens the file, a shell too, need not pass the space again."""
    dates = pd.date_range("2026-01-01", periods=8, freq="D")
    weights = pd.Series(np.arange(1.0, 9.0), index=dates[::-1])
    space = zn.Points(pd.DataFrame({"depth": np.arange(8.0)}, index=dates), weights=weights)
    assert space.region(dates[2]) == space.region(str(dates[2])) == space.region([2])
    assert space.region([2]).weight == 6.0  # by date, not by order
    path = tmp_path / "dates.db"
    study = zn.Study.create(path, space, budget=4, kernel=zn.RBF(1.0, 2.0), noise=0.1)
    study.observe(space.region(dates[3]), 0.4)
    assert zn.Study.open(path).observations == study.observations
    zonal("observe", path, str(dates[5]), "0.2")
    study.refresh()
    assert study.observations[1].region == space.region([5])
    told = zn.Points([[0.0], [1.0]], labels=[np.datetime64("2026-01-01"), (dates[0], 3)])
    assert told.labels == ("2026-01-01", (str(dates[0]), 3))
