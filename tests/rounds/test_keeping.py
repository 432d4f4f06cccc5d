"""Labels, levels, logarithmic axes and lists of forbidden regions are kept in files with all else."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import zonal as zn

PLACES = pd.DataFrame({"lon": [1.0, 2.0, 4.0], "lat": [0.0, 5.0, 1.0]}, index=["Perth", "Hobart", "Cairns"])
AREAS = pd.DataFrame({"state": ["WA", "TAS", "QLD"], "town": ["Perth", "Hobart", "Cairns"]}, index=[7, 8, 9])
STUDIES: dict[str, tuple[Any, Any]] = {
    "labels": (zn.Points(PLACES), ["Hobart"]),
    "levels": (zn.Hierarchy.from_table(AREAS), [("TAS",), "Cairns"]),
    "decades": (zn.Box({"c": (3e-6, 1e-2)}, scale="log", smallest=0.25), [{"c": (1e-5, 1e-4)}]),
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
