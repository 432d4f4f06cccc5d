"""`zonal report`: one file that shows a study."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from shell import zonal
from web.served import line
from zonal.web.report import methods, report

SPACES: dict[str, Any] = {
    "map": zn.Box({"x": (0, 1), "y": (0, 1)}),
    "mixed": zn.Product({"x": (0, 1), "y": (0, 1), "dye": ["red", "green"]}),
    "sequences": zn.Sequences("ACGT", length=4),
    "hierarchy": zn.Hierarchy({"A": {"a": ["1", "2"]}, "B": {"b": ["3", "4"]}}),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", SPACES)
def test_every_space_has_a_report_without_a_network(kind: str) -> None:
    study = zn.Study(SPACES[kind], budget=12, rng=0, value_name="<b>yield</b>")
    for _ in range(9):
        trial = study.ask()
        study.tell(trial, float(trial.number % 4), note="</script><script>alert(1)</script>")
    page = report(study)
    assert len(page) < 1_000_000
    assert "<script" not in page
    assert "<b>yield" not in page
    assert page.count("<svg") >= 2
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", page.replace("xlink:href", "href"))
    assert len(set(re.findall(r'\bid="([^"]+)"', page))) == len(re.findall(r'\bid="', page))


def test_a_report_has_corrections_settings_versions_and_methods(tmp_path: Path) -> None:
    study = line(tmp_path, told=5)
    study.correct(1, 0.123, note="slip of the pen")
    study.retract(2, note="wrong lamp")
    out = tmp_path / "report.html"
    zonal("report", tmp_path / "line.db", "-o", out)
    page = out.read_text()
    for words in ("slip of the pen", "wrong lamp", "was told", "RBF(variance=1.0", zn.__version__, "Methods"):
        assert words in page
    text, *references = methods(study)
    assert "4 measurements (of a budget of 30)" in text
    assert "1 were retracted" in text
    for number, reference in enumerate(references, 1):
        assert reference.startswith(f"[{number}]")
        assert f"[{number}]" in text


def test_an_empty_or_blind_study_has_one_too(tmp_path: Path) -> None:
    assert "nothing measured yet" in report(line(tmp_path))
    points = zn.Points([[0.0], [0.5], [1.0]])
    study = zn.Study.create(tmp_path / "own.db", points, budget=3, kernel=lambda a, b: a @ b.T + 1, noise=0.1)
    study.tell(study.ask(), 0.5)
    assert "kernel" in report(zn.Study.open(tmp_path / "own.db"))


def test_a_large_map_stays_small() -> None:
    study = zn.Study([(0, 1), (0, 1)], budget=400, kernel=zn.RBF(1.0, 0.05), noise=0.1, policy=zn.GPOO(), rng=0)
    study.optimize(lambda region: float(region.center.sum()), n=200)
    assert len(report(study)) < 1_000_000
