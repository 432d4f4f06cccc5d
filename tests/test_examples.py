"""The applications run from end to end, print their tables and draw their pictures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CENSUS = ROOT.parent / "shared" / "data" / "census_au_sa2.csv"
PLAYERS = ["Zonal", "Zonal, UCB", "Zonal, GPOO", "one level", "greedy descent", "random"]
WITHOUT_CENSUS = pytest.mark.skipif(not CENSUS.exists(), reason="the census table is not here")


@pytest.mark.parametrize("name", ["radio_telescope", "census", "dna"])
def test_an_example_fits_on_two_screens(name: str) -> None:
    assert len((ROOT / "examples" / f"{name}.py").read_text().splitlines()) < 80


def players_of(name: str) -> list[str]:
    """Return who plays in an example, in order."""
    second = {
        "radio_telescope": PLAYERS,
        "census": [PLAYERS[0], *PLAYERS[2:]],
        "dna": [],
    }  # UCB plays once on the census
    return PLAYERS + second[name]


@pytest.mark.parametrize("name", ["radio_telescope", "census", "dna"])
def test_the_page_of_an_example_shows_thirty_runs_of_every_player_and_the_picture(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text()
    output = page.split("<!-- output -->")[1].split("<!-- end of output -->")[0]
    rows = re.findall(r"^(.+?)  +\S+  +\S+  +\d+ of 30 runs$", output, re.MULTILINE)
    assert rows == players_of(name)
    assert f"images/{name}.png" in page
    assert f"examples/{name}.py" in page


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("radio_telescope", ["box: 8 pointings for 4096 patches", "HEALPix: 2 pointings for 768 patches"]),
        pytest.param(
            "census",
            ["official areas: 4 questions about 2167 areas", "bisection: 4 questions about 2167 areas"],
            marks=WITHOUT_CENSUS,
        ),
        ("dna", ["8 measurements for 4096 pools of 16"]),
    ],
)
def test_an_example_prints_the_regret_of_every_player_and_draws_a_picture(
    tmp_path: Path, name: str, titles: list[str]
) -> None:
    out = tmp_path / "picture.png"
    script = ROOT / "examples" / f"{name}.py"
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error::RuntimeWarning",
            str(script),
            "--runs",
            "1",
            "--share",
            "0.002",
            "--out",
            str(out),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(.+?)  +(\S+)  +\S+  +[01] of 1 runs$", done.stdout, re.MULTILINE)
    assert [player for player, _ in rows] == players_of(name)
    assert all(float(regret) >= 0 for _, regret in rows)
    for title in titles:
        assert f"{title}, 1 runs" in done.stdout
    assert out.read_bytes().startswith(b"\x89PNG")
    assert out.stat().st_size > 20_000
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]
