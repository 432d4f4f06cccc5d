"""Runs of the arena: kept as they finish, resumed, and forgotten when what they depend on has changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.arena import play as module
from benchmarks.arena.__main__ import PEERS, main, make_report
from benchmarks.arena.contestants import Pick
from benchmarks.arena.ours import DEFAULT, FIXED, HINDSIGHT, PAPER
from benchmarks.arena.peers import keep, kept
from benchmarks.arena.play import Task, attempt, of_budgets, place, play, play_all, read, tasks_for, valid
from benchmarks.arena.problems import ACTING, CASES
from benchmarks.arena.roster import ROSTER, key
from benchmarks.arena.summary import renewed, summarise

TASKS = [Task("f1", "random", (20, 40), run, 0) for run in range(3)]


def test_a_line_says_everything_about_a_run() -> None:
    lines = play(Task("f1", PAPER, (80,), 0, 0))
    (line,) = lines
    assert {"problem", "contestant", "budget", "run", "seed", "zonal", "commit", "key", "seconds"} <= set(line)
    assert line["spent"] == 80
    assert 0 <= line["regret"] < 1
    assert line["aggregated"] > line["regret"] - 0.1
    again = play(Task("f1", PAPER, (80,), 0, 0))[0]
    assert {**again, "seconds": 0} == {**line, "seconds": 0}


def test_a_second_call_plays_only_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, played = tmp_path / "runs.jsonl", list[Task]()

    def noted(task: Task) -> object:
        played.append(task)
        return attempt(task)

    monkeypatch.setattr(module, "attempt", noted)
    assert play_all(TASKS[:2], path, 1) == []
    with path.open("a") as file:
        file.write('{"torn')
    assert play_all(TASKS, path, 1) == []
    assert played == TASKS
    assert len(read(path)) == 6


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(task: Task) -> object:
        if task.run == 1:
            raise KeyboardInterrupt
        return attempt(task)

    monkeypatch.setattr(module, "attempt", pressed)
    with pytest.raises(KeyboardInterrupt):
        play_all(TASKS, tmp_path / "runs.jsonl", 1)
    assert [line["run"] for line in read(tmp_path / "runs.jsonl")] == [0, 0]


def test_a_changed_contestant_is_played_again_unless_stale_results_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.jsonl"
    play_all(TASKS, path, 1)
    monkeypatch.setitem(ROSTER, "random", replace(ROSTER["random"], revision=99))
    assert valid(read(path)) == {}
    assert len(valid(read(path), stale=True)) == 6
    play_all(TASKS[:1], path, 1, stale=True)
    assert len(read(path)) == 6
    play_all(TASKS[:1], path, 1)
    assert len(valid(read(path))) == 2


def test_who_fails_is_named_and_costs_nobody_elses_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> dict[int, Pick]:
        raise ValueError("out of order")

    monkeypatch.setitem(ROSTER, "one level", replace(ROSTER["one level"], play=broken))
    failures = play_all([Task("f1", "one level", (20,), 0, 0), *TASKS], tmp_path / "runs.jsonl", 1)
    assert len(failures) == 1
    assert "one level on f1" in failures[0]
    assert "out of order" in failures[0]
    assert len(read(tmp_path / "runs.jsonl")) == 6


def test_tasks_go_run_by_run_and_costly_contestants_have_fewer() -> None:
    who = [ROSTER[DEFAULT], ROSTER["BoTorch"]]
    tasks = tasks_for([CASES["f1"]], who, runs=3, costly_runs=1, seed=5)
    assert [task.run for task in tasks] == sorted(task.run for task in tasks)
    assert [task.budgets for task in tasks if task.contestant == "BoTorch"] == [(20, 40, 80)]
    assert [task.budgets for task in tasks if task.contestant == DEFAULT] == [(20,), (40,), (80,)] * 3
    assert {task.seed for task in tasks} == {5}


def test_the_command_plays_and_makes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CASES, "f1", replace(CASES["f1"], budgets=(20,)))
    (tmp_path / "images").mkdir()
    options = ["--problem", "f1", "--contestant", "random", "--contestant", DEFAULT, "--runs", "2", "--jobs", "1"]
    places = ["--results", str(tmp_path / "runs.jsonl"), "--docs", str(tmp_path)]
    done = CliRunner().invoke(main, [*options, *places])
    assert done.exit_code == 0, done.output
    summary = json.loads((tmp_path / "arena.json").read_text())
    assert set(summary["contestants"]) == {DEFAULT, "random"}
    assert "| random | 2 |" in (tmp_path / "arena.md").read_text()
    assert (tmp_path / "images" / "arena.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "arena.md").unlink()
    (tmp_path / "runs.jsonl").unlink()
    done = CliRunner().invoke(main, ["--report-only", *places])  # from the summary that was kept
    assert done.exit_code == 0, done.output
    assert "| random | 2 |" in (tmp_path / "arena.md").read_text()


@pytest.mark.parametrize("group", ACTING)
def test_on_acting_only_the_default_and_its_rivals_play_and_what_is_lost_counts(group: str) -> None:
    case = CASES[f"{group}, 1-D"]
    who = [one.name for one in ROSTER.values() if one.budgets(case)]
    assert who[0] == DEFAULT
    assert len(who) > 1
    assert all(name.startswith("Zonal") for name in who)
    lines = [play(Task(case.name, name, (8,), 0, 0))[0] for name in who[:2]]
    for line in lines:
        assert line["normalised"] == line["regret"] >= 0
        assert line["spent"] >= 2


def test_the_best_fixed_time_in_hindsight_is_that_of_the_lowest_mean() -> None:
    fixed = {name: float(at) for at, name in enumerate(FIXED)}
    lines = {}
    for name in (DEFAULT, *FIXED):
        for run in range(3):
            line = {"problem": "time, 1-D", "contestant": name, "budget": 30, "run": run, "seed": 0, "key": ""}
            line |= {"normalised": fixed.get(name, 0.5) + run, "seconds": 1.0, "zonal": "", "commit": ""}
            lines["time, 1-D", name, 30, run, 0] = line
    rows = summarise(lines, 0)["groups"]["time"]["rows"]
    means = {row["contestant"]: row["mean"] for row in rows}
    assert means[HINDSIGHT] == means[next(iter(FIXED))] == 1.0


def test_a_part_of_the_arena_is_played_anew_and_the_rest_stays() -> None:
    def summary(group: str, commit: str) -> dict[str, Any]:
        own = {"groups": {group: commit}, "problems": {}, "contestants": {DEFAULT: commit}}
        return {**own, "seed": 0, "zonal": [], "commits": [commit], "versions": [], "half": []}

    both = renewed(summary("peers", "a"), summary("time", "b"))
    assert both["groups"] == {"peers": "a", "time": "b"}
    assert both["commits"] == ["a", "b"]
    assert renewed(summary("peers", "a"), summary("peers", "b"))["commits"] == ["b"]


def test_who_played_anew_takes_the_place_of_older_rows_and_the_rest_loses_its_ratios() -> None:
    def summary(problems: list[str], runs: dict[str, int], *others: str) -> dict[str, Any]:
        rows = [
            {"budget": 20, "contestant": name, "runs": number, "mean_ratio": number, "typical_ratio": number}
            for name, number in runs.items()
        ]
        groups = {name: {"problems": problems, "rows": rows} for name in ("peers", *others)}
        own = {"groups": groups, "problems": {"f1": {"rows": rows}}, "contestants": {}, "half": []}
        return {**own, "seed": 0, "zonal": [], "commits": [], "versions": []}

    def listed(own: dict[str, Any]) -> list[tuple[str, int, int | None]]:
        return [(row["contestant"], row["runs"], row["mean_ratio"]) for row in own["rows"]]

    old = summary(["f1", "f2"], {DEFAULT: 20, "random": 5}, "time")
    some, added = {"gpCAM": 10, DEFAULT: 10}, [(DEFAULT, 10, 10), ("gpCAM", 10, 10), ("random", 5, None)]
    both = renewed(old, summary(["f1"], some))
    assert listed(both["problems"]["f1"]) == added
    assert both["groups"] == old["groups"]  # rows over other problems are not to be compared
    assert listed(renewed(old, summary(["f1", "f2"], some))["groups"]["peers"]) == added
    alone = renewed(old, summary(["f1", "f2"], {"gpCAM": 10}))
    assert listed(alone["groups"]["peers"]) == [(DEFAULT, 20, 20), ("gpCAM", 10, 10), ("random", 5, 5)]
    everybody = renewed(old, summary(["f1", "f2"], {**some, "random": 3}))
    assert [name for name, _, _ in listed(everybody["groups"]["peers"])] == [*some, "random"]


def test_runs_of_peers_are_kept_and_come_back_with_five_digits(tmp_path: Path) -> None:
    lines = [line for task in TASKS for line in play(task)]
    path = tmp_path / "peers.jsonl"
    keep(path, [*lines, {**lines[0], "contestant": DEFAULT}])
    back = kept(path)
    assert {place(line) for line in back} == {place(line) for line in lines}
    assert valid(back).keys() == valid(lines).keys()
    for line in lines:
        (own,) = (one for one in back if place(one) == place(line))
        assert own["normalised"] == pytest.approx(line["normalised"], rel=1e-4)
    assert kept(tmp_path / "none.jsonl") == []


def test_new_runs_of_zonal_are_compared_with_peers_that_were_kept(tmp_path: Path) -> None:
    docs, results = tmp_path / "docs", tmp_path / "runs.jsonl"
    (docs / "images").mkdir(parents=True)
    theirs = [line for task in TASKS for line in play(task)]
    keep(docs / PEERS, theirs)
    own = [{**line, "contestant": DEFAULT, "key": key(ROSTER[DEFAULT], CASES["f1"])} for line in theirs]
    results.write_text("".join(json.dumps(line) + "\n" for line in own))
    make_report(results, docs, 0, False)
    rows = json.loads((docs / "arena.json").read_text())["problems"]["f1"]["rows"]
    assert {row["contestant"]: row["runs"] for row in rows} == {DEFAULT: 3, "random": 3}
    ratios = [row["typical_ratio"]["ratio"] for row in rows if row["contestant"] == "random"]
    assert ratios == pytest.approx([1, 1], rel=1e-4)


def test_only_the_budgets_that_are_named_are_played() -> None:
    tasks = [Task("f1", "Zonal", (20,), 0, 0), Task("f1", "random", (20, 40, 80), 0, 0)]
    assert of_budgets(tasks, ()) == tasks
    assert of_budgets(tasks, (40, 80)) == [Task("f1", "random", (40, 80), 0, 0)]
