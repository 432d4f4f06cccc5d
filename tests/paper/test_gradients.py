"""The study of slopes and differences: its runs are paired, and its report has every case."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reproduction import authors, gradients
from reproduction.sweeps import Plan


def test_a_report_has_every_case_and_what_each_way_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "FUNCTIONS", ("f1", "draw"))
    report = gradients.experiment(Plan(out=tmp_path, runs=2, budget=3, jobs=1))
    assert [row[:3] for row in report.rows] == [
        [function, policy, way]
        for function in ("f1", "draw")
        for policy in gradients.POLICIES
        for way in gradients.WAYS
    ]
    assert report.columns == ["f", "search", "with", "N=3", "se 3", "less 3"]
    assert all((row[-1] == "") == (row[2] in ("averages", "averages, zero drifting")) for row in report.rows)
    assert (tmp_path / "gradients.png").exists()
    again = gradients.run("authors", "f1", "GPOO", "averages", 3, [0, 1])
    assert again == gradients.run("authors", "f1", "GPOO", "averages", 3, [0, 1])


def test_drawn_functions_have_the_spread_and_smoothness_of_the_process() -> None:
    rng, x = np.random.default_rng(0), np.linspace(0, 1, 401)[:, None]
    drawn = np.array([gradients.drawn(authors.KERNEL, rng)(x) for _ in range(200)])
    assert drawn.std() == pytest.approx(np.sqrt(0.1), rel=0.1)
    assert np.gradient(drawn, x[:, 0], axis=1).std() == pytest.approx(np.sqrt(0.1) / 0.05, rel=0.1)
