"""The choice of c: cross-validation that never looks at the fold it judges, on paired searches."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from reproduction import delta
from reproduction.sweeps import Plan


def test_a_fold_is_judged_by_the_choice_made_without_it() -> None:
    regret = np.array([[0.0, 1.0], [0.0, 1.0], [9.0, 1.0], [0.0, 1.0]])
    choices, left_out = delta.cross_validate(regret, 4)
    # Only without the third function does the first column look better.
    assert choices.tolist() == [1, 1, 0, 1]
    assert left_out.tolist() == [1.0, 1.0, 9.0, 1.0]


def test_folds_are_dealt_in_turn_and_ties_go_to_the_smallest_c() -> None:
    regret = np.ones((7, 3))
    regret[[0, 2, 4, 6], 1] = 0  # the even functions, which are the first of two folds
    choices, left_out = delta.cross_validate(regret, 2)
    assert choices.tolist() == [0, 1]
    assert left_out.tolist() == [1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("procedure", ["authors", "text"])
def test_every_c_searches_the_same_function_from_the_same_first_measurement(procedure: str) -> None:
    answer = np.array(delta.search_run(procedure, 10, 14, [0, 3])["regret"])
    assert answer.shape == (len(delta.GRID), 14)
    assert np.ptp(answer[:, 0]) == 0  # nothing has been weighed yet
    assert np.ptp(answer[:, -1]) > 0  # and then they part
    again = np.array(delta.search_run(procedure, 10, 14, [0, 3])["regret"])
    assert np.array_equal(answer, again)
    assert not np.array_equal(answer, np.array(delta.search_run(procedure, 10, 14, [0, 4])["regret"]))


def test_the_experiment_chooses_the_lowest_mean_and_writes_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "PROCEDURES", (("authors", 1), ("text", 10)))
    monkeypatch.setattr(delta, "GRID", (7, 14, 28))
    table = delta.experiment(Plan(out=tmp_path, runs=2, budget=14, jobs=1))
    names = {"delta.csv", "delta.json", "delta.pdf", "delta.png"}
    assert {path.name for path in tmp_path.iterdir()} >= names
    content = json.loads((tmp_path / "delta.json").read_text(encoding="utf-8"))
    for whose, s in delta.PROCEDURES:
        rows = [row[2:] for row in table.rows if row[:2] == [whose, s]]
        assert [row[0] for row in rows] == list(delta.GRID)
        regret = [row[1] for row in rows]
        assert content["chosen"][f"{whose}, S = {s}"] == delta.GRID[int(np.argmin(regret))]
        assert sum(row[5] for row in rows) == 8  # as many folds as functions, when they are few
        assert min(row[3] for row in rows) == 0
