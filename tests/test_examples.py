"""The applications run from end to end, print their tables and draw their pictures."""

from __future__ import annotations

import importlib
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from shell import alone
from zonal.simulation import from_table
from zonal.simulation.rehearsal import StudyPlayer

ROOT = Path(__file__).parent.parent
CENSUS = ROOT.parent / "shared" / "data" / "census_au_sa2.csv"
PEOPLE = ["one level", "greedy descent", "random"]
PLAYERS = ["Zonal", "Zonal, UCB", "Zonal, GPOO", *PEOPLE]
IN_THE_SKY = 3 * [*PLAYERS, "halving"]
AMONG_TRANSMITTERS = ["Zonal", "believing every reading", "no transmitters"]
ON_PLATES = ["Zonal, told the plates", "Zonal, not told", "no background"]
NAMES = {
    "radio_telescope": [*IN_THE_SKY, *AMONG_TRANSMITTERS, "cost-aware", "cost-unaware", "tour"],
    "census": [*PLAYERS, "Zonal", *PEOPLE],
    "dna": [*PLAYERS, "Zonal", *PEOPLE, *ON_PLATES],
}
RIVALS = {  # in the second block of a page, with fewer runs
    "radio_telescope": ["BoTorch", "BoTorch, matched prior"],
    "census": ["Zonal, UCB", "Zonal, GPOO", "halving", "BoTorch"],
    "dna": ["halving", "BoTorch"],
}
PLAYED = re.compile(r"^(.+?)  +\S+  +\S+  +\d+ of (\d+) runs(?:  +\S+)?$", re.MULTILINE)
EXAMPLES = pytest.mark.parametrize("name", NAMES)
WITHOUT_CENSUS = pytest.mark.skipif(not CENSUS.exists(), reason="the census table is not here")


@EXAMPLES
def test_an_example_fits_on_a_few_screens(name: str) -> None:
    assert len((ROOT / "examples" / f"{name}.py").read_text().splitlines()) < 140


@EXAMPLES
def test_the_page_of_an_example_shows_many_runs_of_every_player_and_the_picture(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text()
    rows = PLAYED.findall(page.split("<!-- output -->")[1].split("<!-- end of output -->")[0])
    assert [player for player, _ in rows] == NAMES[name]
    assert {int(runs) for _, runs in rows} == {30}
    assert f"images/{name}.png" in page
    assert f"examples/{name}.py" in page


@pytest.mark.parametrize("name", RIVALS)
def test_the_page_of_an_example_shows_rivals_with_their_number_of_runs(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text()
    rows = PLAYED.findall(page.split("<!-- rivals -->")[1].split("<!-- end of rivals -->")[0])
    assert [player for player, _ in rows] == RIVALS[name]
    assert {int(runs) for _, runs in rows} == {10}


def test_rivals_say_so_where_botorch_is_not_installed_and_their_rows_stay(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rivals, pages = load("rivals"), load("make_applications", "docs")
    monkeypatch.setattr(rivals, "find_spec", lambda name: None)
    assert rivals.main("dna", 1, CENSUS) == rivals.ABSENT == pages.ABSENT
    assert "BoTorch is not installed: pip install 'zonal[arena]'" in capsys.readouterr().err
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    monkeypatch.setattr(pages, "code", lambda: "abc1234")
    page = tmp_path / "dna.md"
    page.write_text("above\n<!-- rivals -->\nold\n<!-- end of rivals -->\nbelow\n")
    for printed, kept in ((None, "old"), ("new", "```text\nnew\n```\n\nMade with the code of commit abc1234.")):
        monkeypatch.setattr(pages, "run", lambda *words, own=printed: own)
        pages.main(["rivals:dna"])
        assert page.read_text().split("-->")[1].split("<!--")[0].strip() == kept
    assert re.fullmatch(r"above\n.*\nbelow\n", page.read_text(), re.DOTALL)


PROTEINS = CENSUS.with_name("dna_tfbind8_proteins.csv.gz")


def test_the_page_of_other_proteins_shows_thirty_runs_of_all_of_them() -> None:
    proteins, page = load("proteins"), ROOT / "docs" / "proteins.md"
    assert list(proteins.read(page)) == [
        (one, signal) for signal in ("strong", "weak") for one in proteins.PROTEINS
    ]
    assert "pools of 16, 30 runs" in page.read_text()


def test_rows_of_other_proteins_are_read_as_they_were_printed(tmp_path: Path) -> None:
    proteins = load("proteins")
    row = proteins.Row(
        "EGR2", "weak", 1.0, 12.2, ((2.96, 0.76), (6.88, 0.99), (6.51, 0.92), (10.48, 0.48), (0.0, 0.0))
    )
    kept = tmp_path / "kept.txt"
    kept.write_text(f"41 measurements\n\nweak signal\n{row}\n")
    assert proteins.read(kept) == {("EGR2", "weak"): row}
    assert row.apart(1) == pytest.approx(3.92 / 1.248, rel=1e-3)


@pytest.mark.skipif(not PROTEINS.exists(), reason="the table of proteins is not here")
def test_the_arrays_of_other_proteins_become_pools_with_the_noise_they_show() -> None:
    found = load("proteins").landscapes(PROTEINS)
    best = {protein: landscape.best().region.name for protein, (landscape, _) in found.items()}
    assert best["HOXB7"] == "TAATTANN"
    assert best["NR1H4"] == "TGACCTNN"
    assert {protein for protein, (_, noise) in found.items() if noise is None} == {"EGR2", "NR1H4", "POU3F4"}
    assert found["HOXB7"][1] < 0.2 < 0.9 < found["KLF1"][1]  # two arrays that agree, and two that do not


@pytest.mark.parametrize(
    ("name", "share", "titles"),
    [
        (
            "radio_telescope",
            0.0005,
            ["box: 2 pointings for 4096 patches", "a synthetic sky: 2 pointings", "HEALPix: 1 pointings"],
        ),
        pytest.param(
            "census",
            0.001,
            ["official areas: 2 questions about 2167 areas", "bisection: 2 questions about 2167 areas"],
            marks=WITHOUT_CENSUS,
        ),
        ("dna", 0.0005, ["by prefix: 2 measurements for 4096 pools of 16", "by k-mers: 2 measurements"]),
    ],
    ids=NAMES,
)
def test_an_example_prints_the_regret_of_every_player_and_draws_a_picture(
    tmp_path: Path, name: str, share: float, titles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script, out = ROOT / "examples" / f"{name}.py", tmp_path / "picture.png"
    said = alone(script, "--runs", 1, "--share", share, "--out", out)
    rows = re.findall(r"^(.+?)  +(\S+)  +\S+  +[01] of 1 runs(?:  +\S+)?$", said, re.MULTILINE)
    assert [player for player, _ in rows] == NAMES[name]
    assert all(float(regret) >= 0 for _, regret in rows)
    assert all(title in said for title in titles)
    assert out.read_bytes().startswith(b"\x89PNG")
    assert out.stat().st_size > 20_000
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]
    assert 'if __name__ == "__main__":' in script.read_text()  # without which processes cannot be started


@pytest.mark.parametrize("budget", [1, 5, 40])
def test_sequential_halving_finds_the_best_of_what_it_drew_within_its_budget(budget: int) -> None:
    space = zn.Box([(0, 1)], smallest=1 / 16)
    landscape, seen = from_table(space, np.arange(16.0)), []

    def look(region: zn.Region) -> float:
        seen.append(landscape.average(region))
        return seen[-1]

    found = load("campaigns").halving(landscape, look, budget, np.random.default_rng(0))
    assert len(seen) <= budget
    assert landscape.average(found) == max(seen)
    assert not space.may_split(found)


def test_slewing_takes_the_short_way_over_the_sky() -> None:
    time, sky = load("telescope_time"), load("skies").box(np.ones((128, 256)))
    here, there = (sky.space.region([(low, low + 2), (-0.01, 0.01)]) for low in (177, -179))
    assert time.slewing(here, there) == pytest.approx(4 / time.SLEW)
    assert time.slewing(here, here) == pytest.approx(0, abs=1e-4)


def load(name: str, folder: str = "examples") -> Any:
    sys.path.insert(0, str(ROOT / folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


def test_the_office_answers_a_repeated_question_with_the_same_number() -> None:
    census, space = load("census"), zn.Points({"x": np.arange(8.0)}, np.full(8, 600.0), smallest=500)
    landscape = from_table(space, np.arange(8.0))
    one, other = (landscape.simulate(census.perturbation, np.random.default_rng(seed)) for seed in (0, 1))
    area, whole = space.region([0]), space.cell((0, 0))
    answers = [census.office(one, area), census.office(one, whole), census.office(one, area)]
    assert answers[0] == answers[2] != landscape.average(area)
    assert census.office(other, area) != answers[0]  # another census
    assert census.perturbation(whole) == census.perturbation(area) / 8  # more persons, less noise


def test_the_office_adds_laplace_noise_of_the_size_it_publishes() -> None:
    census, space = load("census"), zn.Points({"x": np.arange(4000.0)}, np.full(4000, 600.0), smallest=500)
    instrument = from_table(space, np.zeros(4000)).simulate(census.perturbation, np.random.default_rng(0))
    areas = [space.region([row]) for row in range(4000)]
    added = np.array([census.office(instrument, area) for area in areas]) * 600 / census.YEARS
    assert np.sqrt(np.mean(added**2)) == pytest.approx(1, rel=0.06)
    assert np.mean(np.abs(added)) == pytest.approx(1 / np.sqrt(2), rel=0.05)  # 0.80 if it were normal


def test_noise_of_the_radiometer_grows_with_the_sky() -> None:
    radio, space = load("skies"), zn.Box([(0, 1)], smallest=0.5)
    landscape = from_table(space, [0.0, 150.0])
    spread = []
    for index in (0, 1):
        instrument = landscape.simulate(0.02, np.random.default_rng(0))
        spread.append(np.std([radio.radiometer(instrument, space.cell((1, index))) for _ in range(2000)]))
    assert spread == pytest.approx([0.02 * radio.SYSTEM, 0.02 * (radio.SYSTEM + 150)], rel=0.05)


def test_a_pool_and_its_kmers_average_the_same_affinities() -> None:
    dna = load("dna")
    by_prefix, by_kmers = dna.by_prefix(), dna.by_kmers()
    for prefix in ("TGATAC", "AAAAAA", "CGTGCA"):
        pool = by_kmers.space.region([int("".join(str("ACGT".index(c)) for c in prefix), 4)])
        assert by_kmers.average(pool) == pytest.approx(by_prefix.average(f"{prefix}NN"))
    assert by_prefix.average("TGATACNN") != pytest.approx(
        np.mean([by_prefix.average(f"TGATAC{a}{b}") for a in "ACGT" for b in "ACGT"])
    )


def test_pools_that_share_a_motif_are_alike_wherever_it_lies_and_on_whichever_strand() -> None:
    dna = load("dna")
    motif, shifted, turned, other = (
        np.array([[float(int("".join(str("ACGT".index(c)) for c in prefix), 4))]])
        for prefix in ("GATACC", "TGATAC", "GGTATC", "CGCGAA")
    )
    far = dna.alike(motif, other).item()
    assert dna.alike(motif, motif).item() == pytest.approx(dna.STD**2)
    assert dna.alike(motif, turned).item() > dna.alike(motif, shifted).item() > far + 2


def test_whoever_ends_with_a_large_region_names_a_smallest_one() -> None:
    campaigns, space = load("campaigns"), zn.Box([(0, 1)], smallest=1 / 16)
    landscape = from_table(space, np.arange(16.0))

    def coarse(*_: object) -> zn.Region:
        return space.cell((1, 1))

    player = StudyPlayer((("policy", zn.GPOO(zn.GeometricDelta(30))),))
    settled = campaigns.settled({"coarse": coarse, "Zonal": player},
                                lambda instrument, region: instrument(region))  # fmt: skip
    for player in settled.values():
        for seed in range(3):
            rng = np.random.default_rng(seed)
            region = player(landscape, landscape.simulate(0.1, rng), 20, rng)
            assert not space.may_split(region)
            assert region.center[0] > 0.5


SEWER = ["Zonal", "bisection", "tracing upstream", "random"]
WITHOUT_PIPES = pytest.mark.skipif(
    find_spec("wntr") is None, reason="wntr, which ships the network, is not installed"
)


def test_the_page_of_the_sewer_shows_thirty_towns_of_both_kinds_for_everybody() -> None:
    page = (ROOT / "docs" / "sewer.md").read_text()
    rows = PLAYED.findall(page.split("<!-- output -->")[1].split("<!-- end of output -->")[0])
    assert rows == 2 * [(player, "30") for player in SEWER]


@WITHOUT_PIPES
def test_the_sewer_prints_the_regret_of_every_player_and_draws_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = alone(
        ROOT / "examples" / "sewer.py", "--runs", 1, "--share", 0.07, "--out", tmp_path / "picture.png"
    )
    assert [player for player, _ in PLAYED.findall(printed)] == 2 * SEWER
    assert (tmp_path / "picture.png").stat().st_size > 20_000


@WITHOUT_PIPES
def test_a_thinned_sewer_has_the_same_junctions_with_the_same_flow() -> None:
    sewer = load("sewer")
    every, fewer = sewer.sewer(), sewer.sewer(thin=0.5)
    assert (every.max_depth(), fewer.max_depth()) == (96, 9)
    names = [[network.paths[place][-1] for place in network.place] for network in (every, fewer)]
    assert [name.strip("()").removeprefix("at ") for name in names[0]] == [
        name.strip("()").removeprefix("at ") for name in names[1]
    ]
    assert every.weights[every.place].tolist() == fewer.weights[fewer.place].tolist()


@pytest.mark.parametrize("way", ["bisection", "tracing"])
def test_without_noise_a_single_source_is_found_by_those_who_go_upstream(way: str) -> None:
    network = zn.Hierarchy.from_edges([(f"n{child}", f"n{(child - 1) // 2}") for child in range(1, 63)])
    for at in (0, 17, 40, network.size - 1):
        landscape, samples = from_table(network, np.eye(network.size)[at] + 1), list[str]()

        def sample(region: zn.Region, landscape: Any = landscape, samples: list[str] = samples) -> float:
            samples.append(region.name)
            return float(landscape.average(region))

        budget = 26 if way == "bisection" else 200
        found = getattr(load("sewer"), way)(landscape, sample, budget, np.random.default_rng(0))
        assert landscape.regret(found) == 0
        assert len(samples) <= budget
