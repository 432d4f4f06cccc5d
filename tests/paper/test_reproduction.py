"""The page that shows the paper reproduced: its markers, tables and pictures, and the script that fills them."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click import ClickException
from click.testing import CliRunner
from matplotlib.figure import Figure
from PIL import Image

from reproduction import delta, figure1, figure2, gradients, heatmap, searches, sweeps, theory

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "reproduction.md").read_text(encoding="utf-8")
TABLES = {  # rows and columns
    "optima": (7, 6),
    "agreement": (4, 8),
    "comparison-f1": (5, 7),
    "comparison-f2": (5, 7),
    "comparison-f3": (5, 7),
    "regret-f1": (18, 8),
    "regret-f2": (18, 8),
    "beaten": (4, 7),
    "rises": (4, 7),
    "stuck": (7, 7),
    "benefit": (12, 7),
    "heatmap-25": (6, 5),
    "heatmap-50": (6, 5),
    "heatmap-paper-25": (6, 5),
    "heatmap-paper-50": (6, 5),
    "heatmap-margins": (6, 12),
    "delta": (36, 10),
    "theory": (14, 6),
    "theory-after": (14, 5),
    "theory-remarks": (36, 3),
    "run-times": (12, 7),
    "growth": (5, 6),
    "total-times": (9, 3),
}
LISTS = {"made", "delta-notes", "theory-notes"}
COMPARED = re.compile(r"([\d.]+) ± [\d.]+<br>\**([\d.]+)\** ± [\d.]+<br>z = ([+-][\d.]+)")


def load() -> Any:
    spec = importlib.util.spec_from_file_location("make_reproduction", DOCS / "make_reproduction.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look up their types
    spec.loader.exec_module(module)
    return module


make = load()
ANCHORS = Path(os.environ.get("ZONAL_ANCHORS", make.ANCHORS))
with_anchors = pytest.mark.skipif(not ANCHORS.exists(), reason=f"the authors' numbers are not at {ANCHORS}")


def blocks(page: str) -> dict[str, str]:
    return {match[2]: match[3] for match in make.MARKER.finditer(page)}


def cells(block: str) -> list[list[str]]:
    """Return a table's header and rows; the line of dashes is left out."""
    lines = [line for line in block.splitlines() if line.startswith("|")]
    split = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert set(split[1]) == {"---"}
    return [split[0], *split[2:]]


def test_markers_come_in_pairs_and_once() -> None:
    names = re.findall(r"<!-- begin (\S+) -->", PAGE)
    assert names == re.findall(r"<!-- end (\S+) -->", PAGE)
    assert len(names) == len(set(names))
    assert set(names) == {*TABLES, *LISTS}


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_their_shape(name: str) -> None:
    header, *rows = cells(blocks(PAGE)[name])
    assert {len(row) for row in rows} == {len(header)}
    assert (len(rows), len(header)) == TABLES[name]
    assert "nan" not in blocks(PAGE)[name]


@pytest.mark.parametrize("name", sorted(LISTS))
def test_lists_are_filled(name: str) -> None:
    lines = blocks(PAGE)[name].strip().splitlines()
    assert len(lines) >= 3
    assert all(line.startswith("- ") for line in lines)


def test_the_pictures_shown_are_those_the_script_copies() -> None:
    linked = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert sorted(linked) == sorted(f"images/reproduction-{name}.png" for name in make.PICTURES)
    for path in linked:
        assert (DOCS / path).read_bytes().startswith(b"\x89PNG"), path
    assert sum((DOCS / path).stat().st_size for path in linked) < 2.5e6


def test_links_to_other_pages_lead_somewhere() -> None:
    linked = re.findall(r"(?<!!)\[[^\]]+\]\(([^)#]+)[^)]*\)", PAGE)
    assert linked
    for path in linked:
        assert (DOCS / path).exists(), path


@pytest.mark.parametrize("function", ["f1", "f2", "f3"])
def test_the_page_agrees_with_the_authors_where_it_must(function: str) -> None:
    header, *rows = cells(blocks(PAGE)[f"comparison-{function}"])
    checked = 0
    for row in rows:
        for title, cell in zip(header, row, strict=True):
            if row[0] in ("GPOO", "GPTree") and title in ("N = 20", "N = 40", "N = 80"):
                found = COMPARED.fullmatch(cell)
                assert found is not None, cell
                assert abs(float(found[3])) <= 3, (row[0], row[1], title)
                checked += 1
    assert checked == 9


def test_the_page_keeps_the_promised_times() -> None:
    _, *rows = cells(blocks(PAGE)["total-times"])
    times = {row[0]: [float(cell) for cell in row[1:]] for row in rows}
    assert max(times["together"]) < 600
    assert max(times["`python -m reproduction regret`"]) < 90


def rows_of(name: str, *columns: str) -> dict[tuple[str, ...], dict[str, str]]:
    """Return a table of the page: its rows as dictionaries, by the cells of some columns."""
    header, *rows = cells(blocks(PAGE)[name])
    named = [dict(zip(header, row, strict=True)) for row in rows]
    return {tuple(row[column] for column in columns): row for row in named}


# What the prose says of the tables, so that it cannot go stale unnoticed.


def test_stooo_beats_gpoo_on_f2_at_the_end_in_both_codes() -> None:
    table = rows_of("comparison-f2", "algorithm", "S")
    stooo, gpoo = (COMPARED.fullmatch(table[name, "1"]["N = 80"]) for name in ("StoOO", "GPOO"))
    assert stooo is not None
    assert gpoo is not None
    assert float(stooo[1]) < float(gpoo[1])
    assert "**" in stooo[0]


def test_from_20_measurements_on_no_other_rival_beats_gpoo_in_the_authors_procedure() -> None:
    bold = [
        (function, *row[:2], title)
        for function in ("f1", "f2")
        for header, *rows in [cells(blocks(PAGE)[f"comparison-{function}"])]
        for row in rows
        for title, cell in zip(header, row, strict=True)
        if "**" in cell and title != "N = 10"
    ]
    assert bold == [("f2", "StoOO", "1", "N = 80")]


def test_gp_ucb_beats_gpoo_with_averages_at_every_budget() -> None:
    for row in (row for key, row in rows_of("beaten", "function", "S").items() if key[1] == "10"):
        assert all("GP-UCB" in row[f"N = {n}"] for n in (10, 20, 40, 60, 80))
    table = rows_of("beaten", "function", "S")
    assert all("<br>" not in table[f, "1"]["N = 60"] for f in ("f1", "f2"))
    assert "<br>" not in table["f1", "1"]["N = 80"]


def test_the_proses_recommendation_is_better_where_the_page_says_so() -> None:
    better = {
        (f, n)
        for f in ("f1", "f2")
        for n in (10, 20, 40, 60, 80)
        if "**" in rows_of(f"regret-{f}", "algorithm", "S")["GPOO, highest", "1"][f"N = {n}"]
    }
    assert better == {("f1", 10), ("f1", 40), ("f2", 20), ("f2", 80)}


def test_regret_rises_where_the_page_says_so() -> None:
    table = rows_of("rises", "function", "S")
    clear = {(key, step) for key, row in table.items() for step, cell in row.items() if cell.startswith("**+")}
    assert clear == {(("f1", "1"), "N = 20 to 40"), (("f2", "1"), "N = 60 to 80")}


def test_averages_help_where_the_page_says_so() -> None:
    table = rows_of("benefit", "preset", "judged by")
    signs = {
        key: "".join(re.sub(r".*<br>(\*\*)?([+-]).*", lambda m: m[2] if m[1] else "0", cell) for cell in cells_)
        for key, cells_ in ((key, list(row.values())[2:]) for key, row in table.items())
    }
    assert {signs["authors", judge][1:3] for judge in ("its own S", "the centre", "10 points")} == {"--"}
    assert {signs["authors", judge][4] for judge in ("its own S", "the centre", "10 points")} == {"+"}
    assert {signs["paper", judge] for judge in ("its own S", "the centre", "10 points")} == {"-----"}
    assert signs["paper, 0.005 a variance", "its own S"][1:] == "---+"
    assert {signs["paper, 0.005 a variance", judge][4] for judge in ("the centre", "10 points")} == {"0"}


def test_the_best_number_of_children_depends_on_the_preset() -> None:
    table = rows_of("heatmap-margins", "N", "source")
    best = {
        key: [title for title, cell in row.items() if title.startswith("K") and "**" in cell]
        for key, row in table.items()
        if key[1].startswith("ours")
    }
    assert best["25", "ours, `authors`"] == best["50", "ours, `authors`"] == ["K = 3"]
    assert best["25", "ours, `paper`"] == ["K = 4"]
    assert best["50", "ours, `paper`"] == ["K = 5"]
    cells_25, cells_50 = (rows_of(f"heatmap-paper-{n}", "S") for n in (25, 50))
    strong = {n: [[k for k, cell in row.items() if "**" in cell] for row in own.values()]
              for n, own in ((25, cells_25), (50, cells_50))}  # fmt: skip
    assert strong[25] == [["K = 2"], *5 * [["K = 4"]]]
    assert strong[50][0] == ["K = 4"]
    assert [row for row in strong[50][1:] if row != ["K = 3", "K = 5"]] == [["K = 5"]]  # S = 30
    theirs = table["50", "the authors' code, 8 runs"]
    assert float(theirs["K = 2"]) < float(theirs["K = 3"])


def test_cross_validation_chooses_what_the_page_says() -> None:
    table = rows_of("delta", "procedure", "S", "c")
    chosen = {(whose, s): {c for w, k, c in table if (w, k) == (whose, s) and int(table[w, k, c]["folds"])}
              for whose, s, _ in table}  # fmt: skip
    assert chosen["authors", "1"] <= {"10", "14", "20", "28"}
    assert chosen["authors", "10"] == {"20"}
    assert chosen["text", "10"] <= {"28", "40"}
    fourteen = table["authors", "1", "14"]
    assert float(fourteen["minus chosen"]) <= float(fourteen["se of that"])


def test_all_that_is_proved_held_as_often_as_promised() -> None:
    for (statement,), row in rows_of("theory", "statement").items():
        if "as printed" not in statement:
            assert "**" not in "".join(row.values()), statement


def test_after_the_reward_lemma_3_and_the_theorem_fail_in_the_valley() -> None:
    table = rows_of("theory-after", "statement")
    failed = [
        key for (key,), row in table.items() if "**0.00**" in next(v for k, v in row.items() if "valley" in k)
    ]
    assert len([key for key in failed if "Lemma 3" in key or "Theorem 1, put right" in key]) == 2
    assert all("**0.00**" in "".join(row.values()) for (key,), row in table.items() if "as printed" in key
               and "Lemma 4" in key)  # fmt: skip


@with_anchors
@pytest.mark.parametrize("function", ["f1", "f2", "f3"])
def test_the_authors_numbers_on_the_page_are_theirs(function: str) -> None:
    anchors = make.read_anchors(ANCHORS)
    header, *rows = cells(blocks(PAGE)[f"comparison-{function}"])
    for name, s, *numbers in rows:
        theirs = anchors.regret[function, name.removeprefix("AVE-"), int(s)]
        for title, cell in zip(header[2:], numbers, strict=True):
            mean, error = theirs[int(title.removeprefix("N = "))]
            assert cell.startswith(f"{mean:.4f} ± {error:.4f}<br>")


def test_filling_changes_marked_places_only() -> None:
    page = "a <!-- begin x -->1<!-- end x --> b\n<!-- begin y -->\nold\n<!-- end y -->\nc"
    expected = "a <!-- begin x -->2<!-- end x --> b\n<!-- begin y -->\n\nnew\n\n<!-- end y -->\nc"
    assert make.fill(page, {"x": "2", "y": "new"}) == expected
    assert make.fill(expected, {"x": "2", "y": "new"}) == expected


@pytest.mark.parametrize("given", [{}, {"x": "", "y": ""}])
def test_a_page_without_the_right_markers_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(ClickException, match=r"disagree about [xy];"):
        make.fill("<!-- begin x --><!-- end x -->", given)


def test_missing_anchors_are_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(make.command, ["--anchors", str(tmp_path / "none.json")])
    assert result.exit_code == 1
    assert "none.json; pass the authors' numbers with --anchors" in result.output


def test_z_is_the_difference_in_standard_errors() -> None:
    ours = np.array([1.0, 2.0, 3.0, 4.0])  # standard error sqrt(5/3) / 2
    assert make.z_score(ours, 2.0, 0.0, 0.0) == pytest.approx(0.5 / np.sqrt(5 / 12))
    assert make.z_score(ours, 2.0, 1.0, 0.0) == pytest.approx(0.5 / np.sqrt(5 / 12 + 1))
    assert abs(make.z_score(np.full(4, 0.33781), 0.3378, 0.0)) < 1  # equal to rounding, and without spread


def test_lower_means_by_two_standard_errors_of_the_paired_difference() -> None:
    base, above, mixed = np.array([[0, 10, 20, 30], [0.9, 11, 21.1, 31], [-1, 12, 19, 31]])
    assert make.lower(base, above)
    assert not make.lower(above, base)
    assert not make.lower(base, mixed)
    assert not make.lower(base, base)


def small_save(figure: Figure, path: Path) -> None:
    """Save a stand-in: drawing takes longest, and tests/paper looks at the pictures."""
    Image.new("RGB", (2000, 100)).save(path.with_suffix(".png"))


@pytest.fixture
def reduced() -> Iterator[None]:
    """Make every experiment small, and its pictures too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "save", small_save)
        patch.setattr(figure1, "TRIES", 2)
        patch.setattr(searches, "LEVEL", 4)
        patch.setattr(heatmap, "POINTS", (1, 10))
        patch.setattr(heatmap, "PARTS", (2, 3))
        patch.setattr(delta, "GRID", (7, 14))
        patch.setattr(delta, "FUNCTIONS", 1)
        patch.setattr(delta, "PROCEDURES", (("authors", 1), ("text", 10)))
        patch.setattr(theory, "DRAWS", 2)
        patch.setattr(theory, "CASES", {case: 8 for case in list(theory.CASES)[:2] + list(theory.CASES)[5:6]})
        patch.setattr(gradients, "BUDGETS", (3,))
        patch.setattr(gradients, "FUNCTIONS", ("f1", "draw"))
        patch.setattr(figure2, "FEWEST", 4)
        patch.setattr(figure2, "DEPTHS", 2)
        patch.setattr(make, "TIMED", 1)
        patch.setattr(make, "ROUNDS", 8)
        patch.setattr(make, "SEEDS", 2)
        yield


@with_anchors
def test_a_part_is_renewed_and_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace(blocks(PAGE)["optima"], "\n\nold\n\n"), encoding="utf-8")
    make.make(make.Job(tmp_path / "out", page, tmp_path / "images", ANCHORS), ["optima"])
    assert page.read_text(encoding="utf-8") == PAGE
    assert not (tmp_path / "images").exists()


@pytest.mark.torture  # its parts are tried above, one by one
@with_anchors
def test_the_script_fills_the_page_and_resumes(reduced: None, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    job = make.Job(tmp_path / "out", page, tmp_path / "images", ANCHORS, runs=2, many=2, budget=20, jobs=1)
    make.make(job)

    filled = page.read_text(encoding="utf-8")
    assert make.MARKER.sub(r"\1\4", filled) == make.MARKER.sub(r"\1\4", PAGE)  # the prose is as it was
    before, after = blocks(PAGE), blocks(filled)
    for name in TABLES:
        assert after[name] != before[name] or name == "optima"
        new, *rows = cells(after[name])
        assert rows
        if name != "stuck":  # whose header names budgets
            assert set(new) <= {*cells(before[name])[0], "K = 2"}
    assert {path.name for path in job.images.iterdir()} == {f"reproduction-{name}.png" for name in make.PICTURES}
    with Image.open(job.images / "reproduction-delta.png") as picture:
        assert picture.size == (1400, 70)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "_compute", lambda *_: pytest.fail("computed again"))
        curves = make.compare(job, 0, ["GPTree"])
    assert {case: curve.shape for case, curve in curves.items()} == {
        (f, "GPTree", 1): (2, 20) for f in ("f1", "f2", "f3")
    }
    assert f"{curves['f2', 'GPTree', 1][:, 19].mean():.4f}" in cells(after["comparison-f2"])[5][3]
