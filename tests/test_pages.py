"""What `make pages-check` plays again is on the pages, and a page that shows something else is named."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_pages", DOCS / "check_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    sys.modules[spec.name] = module  # where its dataclasses look up their types
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = path
    return module


pages = load()


@pytest.mark.parametrize("row", pages.ROWS, ids=lambda row: f"{row.page}, {row.name}")
def test_every_row_is_on_its_page_and_a_change_of_one_number_is_noticed(row: pages.Row) -> None:  # type: ignore[name-defined]
    shown = row.shown()
    number = next(word for word in reversed(pages.words(shown)) if word[:1].isdigit())
    changed = shown.replace(number, "7.77")
    assert replace(row, again=lambda: shown).difference() == ""
    assert replace(row, again=lambda: changed).difference().startswith("shows ")


def test_a_page_that_differs_fails_with_its_name_and_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (replace(row, again=row.shown) for row in pages.ROWS if row.page == "gradients")
    monkeypatch.setattr(pages, "ROWS", (first, replace(second, again=lambda: "f1 default 1.0")))
    assert pages.main(["gradients"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert ": ok (" in lines[0]
    assert lines[1].startswith("docs/gradients.md, <!-- begin looks -->, f1 default: shows f1 default")
    monkeypatch.setattr(pages, "ROWS", (first,))
    assert pages.main(["gradients"]) == 0


@pytest.mark.parametrize("table", pages.TABLES, ids=lambda table: f"{table.page}, {table.name}")
def test_every_table_is_what_its_file_gives_and_a_change_of_a_run_is_noticed(
    table: pages.Table,  # type: ignore[name-defined]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(DOCS.parent / "examples"))
    kept = table.kept()
    same = replace(table, again=lambda page, name, runs: {who: own[:runs] for who, own in kept.items()}, runs=2)
    assert same.difference() == ""
    other = replace(same, again=lambda page, name, runs: {who: [own[0] + 1] for who, own in kept.items()})
    assert other.difference().startswith("the first regrets of ")
    monkeypatch.setattr(pages.Table, "kept", lambda self: {who: [1.0, *own] for who, own in kept.items()})
    assert same.difference().startswith("shows ")


def test_the_tables_of_the_method_are_what_their_files_give(monkeypatch: pytest.MonkeyPatch) -> None:
    half = pages.import_module("benchmarks.half")
    then: dict[tuple[str, int, int], float] = {}
    for path in (pages.RESULTS / "half.jsonl", half.part_of(pages.RESULTS / "parts", "as it is")):
        for (name, budget), runs in half.read(path).items():
            then |= {(name, budget, seed): value for seed, value in runs.items()}
    monkeypatch.setattr(half, "regret", lambda name, seed, budget, turned: then[name, budget, seed])
    assert pages.half() == ""
    monkeypatch.setattr(half, "regret", lambda *_: 7.77)
    assert "now it is 7.77" in pages.half()


def test_data_that_is_not_here_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(DOCS.parent / "examples"))
    monkeypatch.setattr(pages, "DATA", tmp_path)
    assert pages.main(["census"]) == 0
    assert "skipped: census_au_sa2.csv is not in" in capsys.readouterr().out


def test_the_arena_is_what_its_runs_give_and_the_readme_shows_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    assert pages.arena() == ""
    assert pages.front() == ""
    monkeypatch.setattr(pages.example("make_readme"), "arena", lambda: "| Zonal | 7.77 |")
    assert "it is | Zonal | 7.77 |" in pages.front()


def test_the_page_on_reliability_is_what_its_file_gives_and_a_change_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play = pages.import_module("benchmarks.reliability")
    then = {
        (line["class"], line["N"], line["run"], line["seed"]): line
        for line in play.read(pages.RESULTS / "reliability.csv")
    }
    monkeypatch.setattr(play, "campaign", lambda task: then[task])
    assert pages.reliability() == ""
    monkeypatch.setattr(play, "campaign", lambda task: {**then[task], "gap": 7.77})
    assert "now it is 7.77" in pages.reliability()
