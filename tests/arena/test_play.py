"""Runs of the arena: kept as they finish, resumed, and forgotten when what they depend on has changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.arena import play as module
from benchmarks.arena.__main__ import KEPT, main, make_report
from benchmarks.arena.contestants import Pick
from benchmarks.arena.kept import joined, keep, kept
from benchmarks.arena.ours import DEFAULT, FIXED, HINDSIGHT
from benchmarks.arena.play import Task, attempt, of_budgets, place, play, play_all, read, tasks_for, valid
from benchmarks.arena.problems import ACTING, CASES
from benchmarks.arena.roster import ROSTER, key
from benchmarks.arena.summary import renewed, summarise

TASKS = [Task("f1", "random", (20, 40), run, 0) for run in range(3)]


def test_a_line_says_everything_about_a_run() -> None:
    (line,) = play(Task("f1", "Zonal, UCB", (20,), 0, 0))
    assert {"problem", "contestant", "budget", "run", "seed", "zonal", "commit", "key", "seconds"} <= set(line)
    assert line["spent"] == 20
    assert 0 <= line["regret"] < 1
    (again,) = play(Task("f1", "Zonal, UCB", (20,), 0, 0))
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


def test_tasks_go_run_by_run_and_everybody_has_the_runs_of_the_problem() -> None:
    who = [ROSTER[DEFAULT], ROSTER["BoTorch"]]
    tasks = tasks_for([CASES["f1"]], who, runs=3, seed=5)
    assert [task.run for task in tasks] == sorted(task.run for task in tasks)
    assert [task.budgets for task in tasks if task.contestant == "BoTorch"] == [(20, 40, 80)] * 3
    assert [task.budgets for task in tasks if task.contestant == DEFAULT] == [(20,), (40,), (80,)] * 3
    assert {task.seed for task in tasks} == {5}
    few = [CASES["f1"], CASES["linear 6-D"]]
    usual = tasks_for(few, [ROSTER["random"]], runs=None, seed=0)
    assert [sum(task.problem == case.name for task in usual) for case in few] == [20, 60]


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


def test_groups_stay_as_they_were_until_runs_of_the_default_are_kept() -> None:
    def summary(commit: str, *groups: str, who: str = DEFAULT) -> dict[str, Any]:
        rows = [{"contestant": who, "commits": [commit]}]
        return {
            "groups": {name: {"problems": [f"one of {name}"], "rows": rows} for name in groups},
            "problems": {f"one of {name}": {"rows": rows} for name in groups},
            "contestants": {who: {}},
            **{"seed": 0, "zonal": [], "commits": [commit], "versions": []},
        }

    def shown(own: dict[str, Any]) -> dict[str, str]:
        for name, group in own["groups"].items():
            assert own["problems"][f"one of {name}"]["rows"] == group["rows"]
        return {name: group["rows"][0]["commits"][0] for name, group in own["groups"].items()}

    both = renewed(summary("a", "peers", "time"), summary("b", "time", "dna"))
    assert shown(both) == {"peers": "a", "dna": "b", "time": "b"}
    assert both["commits"] == ["a", "b"]
    others = renewed(summary("a", "peers"), summary("b", "peers", who="random"))
    assert shown(others) == {"peers": "a"}
    assert list(others["contestants"]) == [DEFAULT]
    assert renewed(summary("a", "peers"), summary("b", "peers"))["commits"] == ["b"]


def test_runs_are_kept_and_come_back_with_five_digits_while_the_game_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line for task in TASKS for line in play(task)]
    path = tmp_path / "runs.jsonl"
    keep(path, lines)
    back = kept(path)
    assert {place(line) for line in back} == {place(line) for line in lines}
    assert valid(back).keys() == valid(lines).keys()
    for line in lines:
        (own,) = (one for one in back if place(one) == place(line))
        assert own["normalised"] == pytest.approx(line["normalised"], rel=1e-4)
    assert kept(tmp_path / "none.jsonl") == []
    monkeypatch.setitem(ROSTER, "random", replace(ROSTER["random"], revision=99))
    assert kept(path) == []


def test_who_played_anew_by_other_code_has_no_older_runs_and_the_rest_keeps_its_own() -> None:
    def line(problem: str, contestant: str, key: str, run: int) -> dict[str, Any]:
        return {"problem": problem, "contestant": contestant, "key": key, "budget": 20, "run": run, "seed": 0}

    old = [
        line(problem, who, "a", run) for problem in ("f1", "f2") for who in (DEFAULT, "random") for run in (0, 1)
    ]
    new = [line("f1", DEFAULT, "b", 0), line("f1", "random", "a", 2)]
    lines = joined(old, new)
    assert [one for one in lines if (one["problem"], one["contestant"]) == ("f1", DEFAULT)] == new[:1]
    assert sum((one["problem"], one["contestant"]) == ("f1", "random") for one in lines) == 3
    assert sum(one["problem"] == "f2" for one in lines) == 4


def test_new_runs_of_zonal_are_compared_with_peers_that_were_kept_and_are_kept_themselves(tmp_path: Path) -> None:
    docs, results = tmp_path / "docs", tmp_path / "runs.jsonl"
    (docs / "images").mkdir(parents=True)
    theirs = [line for task in TASKS for line in play(task)]
    keep(docs / KEPT, theirs)
    own = [{**line, "contestant": DEFAULT, "key": key(ROSTER[DEFAULT], CASES["f1"])} for line in theirs]
    results.write_text("".join(json.dumps(line) + "\n" for line in own))
    make_report(results, docs, 0, False)
    page = (docs / "arena.json").read_text()
    rows = json.loads(page)["problems"]["f1"]["rows"]
    assert {row["contestant"]: row["runs"] for row in rows} == {DEFAULT: 3, "random": 3}
    ratios = [row["typical_ratio"]["ratio"] for row in rows if row["contestant"] == "random"]
    assert ratios == pytest.approx([1, 1], rel=1e-4)
    runs = (docs / KEPT).read_text()
    make_report(results, docs, 0, False)
    results.unlink()
    make_report(results, docs, 0, False)
    assert (docs / "arena.json").read_text() == page
    assert (docs / KEPT).read_text() == runs


def test_what_is_kept_beside_the_page_is_not_played_again(tmp_path: Path) -> None:
    path, lines = tmp_path / "runs.jsonl", play(TASKS[0])
    assert play_all(TASKS[:2], path, 1, kept=lines) == []
    assert {line["run"] for line in read(path)} == {TASKS[1].run}


def test_only_the_budgets_that_are_named_are_played() -> None:
    tasks = [Task("f1", "Zonal", (20,), 0, 0), Task("f1", "random", (20, 40, 80), 0, 0)]
    assert of_budgets(tasks, ()) == tasks
    assert of_budgets(tasks, (40, 80)) == [Task("f1", "random", (40, 80), 0, 0)]
