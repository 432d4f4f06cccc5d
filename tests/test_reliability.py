"""The benchmark behind docs/reliability.md: what it plays, and how it judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import marked, reliability
from benchmarks.reliability_problems import CENSUS, CLASSES, numbers, problem


def line(name: str, number: int, run: int, **said: Any) -> dict[str, Any]:
    told = {"error": 0.0, "std": 1.0, "gap": 1.0, "regret": 0.0, "probability": 0.95, "best": True}
    outlook = {"promised": 0.1, "came": 0.1}
    return {"class": name, "N": number, "run": run, "seed": 1, **told, **outlook, **said}


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "census" or CENSUS.exists()])
def test_a_problem_knows_its_best_region_and_is_the_same_again(name: str) -> None:
    case, again = (problem(name, 1, 5)[0] for _ in range(2))
    whole = case.space.cell((0, 0))
    assert case.average(whole) == again.average(whole) < case.best == again.best
    assert case.measure(whole) == again.measure(whole)
    assert problem(name, 2, 5)[0].measure(whole) != case.measure(whole)


def test_a_campaign_says_something_of_a_region_and_knows_the_truth() -> None:
    said = reliability.campaign(("Matern 1/2, 16 cells", 12, 0, 1))
    assert said.keys() == line("", 0, 0).keys()
    assert said["std"] > 0
    assert said["regret"] >= 0
    assert said["best"] == (said["regret"] == pytest.approx(0, abs=1e-9))
    assert said == reliability.campaign(("Matern 1/2, 16 cells", 12, 0, 1))


def test_what_comes_true_too_seldom_is_named() -> None:
    lines = [line(name, number, run) for name in ("f1", "steps") for number in numbers(name) for run in range(20)]
    assert reliability.shortfalls(lines) == {}
    for at in range(20):  # of f1 at N = 12: half of the intervals miss, which two standard errors do not excuse
        lines[at]["error"] = 2.0 if at % 2 else 0.0
    assert reliability.shortfalls(lines) == {"f1": ["50% of intervals at N = 12"]}
    for at in range(60):
        lines[at]["regret"] = 2.0 if at % 2 else 0.0
    assert "62% of gaps" in reliability.shortfalls(lines)["f1"]


def test_a_file_of_campaigns_is_read_as_it_was_written(tmp_path: Path) -> None:
    lines = [line("f1", 12, run, error=1 / 3, best=run % 2 == 0) for run in range(3)]
    path = tmp_path / "campaigns.csv"
    rows = [reliability.row_of(one) for one in reversed(lines)]
    path.write_text("\n".join(map(",".join, [rows[0], *(row.values() for row in rows)])) + "\n", encoding="utf-8")
    back = reliability.in_order(reliability.read(path))
    assert back == [{**one, "error": 0.333333, "best": float(one["best"])} for one in lines]
    assert reliability.blocks(back) == reliability.blocks(lines)


def test_a_file_that_has_only_its_header_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "campaigns.csv"
    few = ["--class", "Matern 1/2, 16 cells", "--number", "12", "--processes", "1"]
    for runs in (0, 1):
        done = CliRunner().invoke(reliability.main, ["play", str(path), *few, "--runs", str(runs)])
        assert done.exception is None
    assert len(reliability.read(path)) == 1


def test_the_page_is_made_from_the_campaigns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "reliability.md"
    page.write_text(reliability.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "images").mkdir()
    monkeypatch.setattr(reliability, "PAGE", page)
    lines = [line("f1", number, run, best=run % 2 == 0) for number in numbers("f1") for run in range(10)]
    reliability.draw(lines, tmp_path / "images" / "reliability.png")
    marked.put("P(best)", reliability.blocks(lines)["P(best)"], page)
    assert "| 0.95 | 0.50 ± 0.08 | 40 |" in page.read_text(encoding="utf-8")
    assert (tmp_path / "images" / "reliability.png").stat().st_size > 10_000
