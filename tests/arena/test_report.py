"""The arena's numbers and page, on results made up so that the right answer is known."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.arena import report
from benchmarks.arena import summary as numbers
from benchmarks.arena.ours import DEFAULT, HINDSIGHT
from benchmarks.arena.play import Line, Place, place
from benchmarks.arena.problems import CASES, GROUPS
from benchmarks.arena.roster import ROSTER
from benchmarks.arena.summary import FLOOR, ratio_of_means, summarise, typical_ratio, widened
from benchmarks.arena.why import WHY

RUNS = 6


def made_up(factors: dict[str, float], groups: Iterable[str] = GROUPS) -> dict[Place, Line]:
    """Return results in which everyone's regret is a factor, 2 if none is given, with little noise."""
    rng, lines = np.random.default_rng(0), {}
    for case in (case for case in CASES.values() if case.group in groups):
        for run in range(RUNS):
            for one in ROSTER.values():
                for budget in one.budgets(case):
                    regret = factors.get(one.name, 2.0) * 0.1 * float(np.exp(rng.normal(0, 0.2)))
                    line: dict[str, Any] = {
                        "problem": case.name,
                        "contestant": one.name,
                        "budget": budget,
                        "run": run,
                        "seed": 0,
                        "zonal": "0.1.0",
                        "commit": "abc",
                        "key": "package 1.0, contestant r1",
                        "normalised": regret,
                        "seconds": 0.5,
                    }
                    lines[place(line)] = line
    return lines


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(numbers, "DRAWS", 200)  # hundreds of intervals, none of them read to its digits
        return summarise(made_up({DEFAULT: 1.0, "BoTorch": 0.5}), seed=0)


def row(rows: list[dict[str, Any]], name: str, budget: int) -> dict[str, Any]:
    return next(one for one in rows if one["contestant"] == name and one["budget"] == budget)


def test_ratios_are_found_again_with_intervals_around_them(summary: dict[str, Any]) -> None:
    for group in GROUPS:
        rows = summary["groups"][group]["rows"]
        rivals = {"time": HINDSIGHT, "travel": "Zonal, ignoring travel", "above": "Zonal, straddle"}
        named = {rivals[group]: 0.5} if group in rivals else {"random": 0.5, "BoTorch": 2.0}
        for name, expected in named.items():
            for view in ("mean_ratio", "typical_ratio"):
                found = row(rows, name, rows[-1]["budget"])[view]
                assert found["low"] < found["ratio"] < found["high"]
                assert abs(math.log(found["ratio"] / expected)) < 0.25
    ours = row(summary["groups"]["peers"]["rows"], DEFAULT, 80)
    assert ours["typical_ratio"] is None
    assert abs(ours["typical"] - 0.1) < 0.01
    assert (ours["runs"], ours["seconds"]) == (RUNS, 0.5)


def test_only_who_played_all_problems_of_a_group_stands_in_its_table(summary: dict[str, Any]) -> None:
    assert "gpCAM" not in {one["contestant"] for one in summary["groups"]["peers"]["rows"]}
    assert "gpCAM" in {one["contestant"] for one in summary["problems"]["f1"]["rows"]}


def test_runs_are_paired_and_regrets_have_a_floor() -> None:
    ours = {"p": {0: 0.1, 1: 0.4, 2: 0.2}}
    theirs = {"p": {0: 0.2, 1: 0.8, 2: 0.4, 3: 99.0}}
    for ratio in (typical_ratio, ratio_of_means):
        found = ratio(ours, theirs)
        assert found is not None
        assert all(math.isclose(value, 0.5) for value in found.values())
    found = typical_ratio({"p": {0: 0.0, 1: 0.0}}, {"p": {0: FLOOR, 1: FLOOR / 2}})
    assert found == {"ratio": 1.0, "low": 1.0, "high": 1.0}
    assert typical_ratio(ours, {"p": {0: 0.2}}) is None
    assert typical_ratio({}, theirs) is None


def test_the_page_names_who_is_better_with_the_reason_that_somebody_wrote(
    summary: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WHY, "dna", "Because of the letters.")
    monkeypatch.delitem(WHY, "f1", raising=False)
    page = report.page(summary)
    lost = page.split("## Where Zonal loses")[1].split("## Who takes part")[0]
    dna = lost.split(f"### {GROUPS['dna']}")[1].split("###")[0]
    assert "Because of the letters." in dna
    assert "| BoTorch | 205 |" in dna
    assert "| random" not in lost
    assert "No reason is known yet." in lost.split("### f1")[1].split("###")[0]
    for title in GROUPS.values():
        assert f"## {title}" in page


def test_the_page_says_so_where_nobody_is_better() -> None:
    page = report.page(summarise(made_up({DEFAULT: 0.5}, ["dna"]), seed=0))
    assert "Nowhere" in page.split("## Where Zonal loses")[1]


def test_another_seed_does_not_count() -> None:
    assert summarise(made_up({}, ["dna"]), seed=1)["groups"] == {}


def test_the_picture_is_drawn(summary: dict[str, Any], tmp_path: Path) -> None:
    report.picture(summary, tmp_path / "arena.png")
    assert (tmp_path / "arena.png").stat().st_size > 20_000


def test_ratios_without_the_problem_that_the_default_was_designed_on() -> None:
    lines = made_up({DEFAULT: 1.0, "BoTorch": 2.0}, ["peers"])
    for line in lines.values():
        if line["problem"] == "f3" and line["contestant"] == "BoTorch":
            line["normalised"] = 1e6
    own = summarise(lines, seed=0)
    peers = own["groups"]["peers"]
    for view in ("mean_ratio", "typical_ratio"):
        assert row(peers["rows"], "BoTorch", 80)[view]["ratio"] < 0.2
        assert row(peers["without"], "BoTorch", 80)[view]["ratio"] == pytest.approx(0.5, rel=0.1)
    assert row(peers["without"], "BoTorch", 80)["mean"] == pytest.approx(0.2, rel=0.1)
    page = report.page(own)
    assert page.count("Without f3, on which the default was designed:") == 1
    assert report._fair(peers)["title"] == "The eight peer problems, without f3"


def test_intervals_of_few_runs_are_wider() -> None:
    ratio = {"ratio": 2.0, "low": 1.0, "high": 4.0}
    assert widened(None, {}, {}) is None
    for runs, factor in ((4, 1.87), (1000, 1.0)):
        pairs = {"p": dict.fromkeys(range(runs), 1.0)}
        found = widened(ratio, pairs, pairs)
        assert found is not None
        assert found["ratio"] == 2.0
        assert math.log(found["high"] / found["low"]) == pytest.approx(factor * math.log(4), rel=0.01)


def test_a_row_says_its_commits_and_older_ones_that_they_are_older(summary: dict[str, Any]) -> None:
    rows = summary["groups"]["peers"]["rows"]
    assert {commit for one in rows for commit in one["commits"]} == {"abc"}
    older = [{key: value for key, value in one.items() if key != "commits"} for one in rows]
    text = report._contestants(older, [20, 40, 80], "mean")
    assert f"| {report.OLDER} |" in text
