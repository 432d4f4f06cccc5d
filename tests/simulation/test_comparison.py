"""Campaigns with several settings, compared; and the best window of a landscape."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from click.testing import CliRunner

import zonal as zn
from zonal.cli.main import main
from zonal.errors import InvalidInput
from zonal.simulation import from_table
from zonal.simulation.comparison import compare_power
from zonal.simulation.rehearsal import depth_of_smallest

SPACE = zn.Box([(0, 1)], smallest=1 / 16)
PLAYED: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.1), "given": True, "runs": 4, "jobs": 1}


def test_every_combination_is_a_case_and_equals_its_own_power() -> None:
    beams, noises = [1 / 16, 0.3], [0.05, 0.5]
    found = compare_power(SPACE, [4, 12], compare={"beam": beams, "noise": noises}, **PLAYED)
    assert list(found.cases) == [f"beam {beam:g}, noise {noise:g}" for beam in beams for noise in noises]
    alone = zn.power(SPACE, [4, 12], noise=0.5, feedback=zn.Beam(0.3), **PLAYED)
    np.testing.assert_array_equal(found.cases["beam 0.3, noise 0.5"].regrets, alone.regrets)
    lines = str(found).splitlines()
    assert len(lines) == 5
    assert f"{alone.mean[1]:.3g} +- {alone.sem[1]:.2g}" in lines[-1]
    ax = found.plot()
    assert len(ax.containers) == 4
    plt.close("all")


def test_sizes_are_multiples_of_the_smallest() -> None:
    found = compare_power(SPACE, [4], compare={"size": [1, 2, 4]}, noise=0.1, **PLAYED)
    assert [case.space.partition.leaves(depth_of_smallest(case.space)) for case in found.cases.values()] == [
        16,
        8,
        4,
    ]
    feedbacks = compare_power(SPACE, [4], compare={"feedback": [zn.Mean(), zn.Center()]}, noise=0.1, **PLAYED)
    assert list(feedbacks.cases) == ["Mean()", "Center()"]


@pytest.mark.parametrize(
    "compare", [{}, {"policy": [1]}, {"noise": []}, {"noise": [0.1], "beam": [1], "feedback": [2]}]
)
def test_what_cannot_be_compared_is_refused(compare: Any) -> None:
    with pytest.raises(InvalidInput):
        compare_power(SPACE, [4], compare=compare, noise=0.1, **PLAYED)


def test_the_shell_compares_too(tmp_path: Path) -> None:
    words = [
        "power",
        "--axis",
        "x=0..1",
        "--smallest",
        "0.25",
        "--budget",
        "4",
        "--runs",
        "2",
        "--jobs",
        "1",
        "--noise",
    ]
    out = str(tmp_path / "power.png")
    run = CliRunner().invoke(
        main, [*words, "0.1", "--out", out, "--compare", "noise=0.1,1", "--compare", "size=1,2"]
    )
    assert run.exit_code == 0, run.output
    assert "noise 1, size 2" in run.output
    assert (tmp_path / "power.png").exists()
    wrong = CliRunner().invoke(main, [*words, "--compare", "noise"])
    assert wrong.exit_code != 0


@pytest.mark.parametrize("periodic", [[], ["x"]])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_best_window_is_the_best_of_all_shifts(periodic: list[str], direction: Any) -> None:
    values = np.random.default_rng(1).normal(size=80)
    space = zn.Box({"x": (0, 1)}, smallest=1 / 8, periodic=periodic)
    landscape = from_table(space, values, direction=direction)
    lows = np.linspace(0, 1 if periodic else 7 / 8, 561)[: 560 if periodic else None]
    averages = [landscape.average([(low, low + 1 / 8)]) for low in lows]
    best = landscape.best_window()
    sign = 1 if direction == "maximize" else -1
    assert sign * best.average >= np.max(sign * np.array(averages)) - 1e-12
    assert landscape.average(best.region) == pytest.approx(best.average)
    assert landscape.window_regret(best.region) == 0
    assert landscape.window_regret(landscape.best().region) > 0


def test_the_best_window_is_clear_of_what_is_forbidden() -> None:
    values = np.exp(-(((np.arange(64) - 29.7) / 6) ** 2))
    space = zn.Box({"x": (0, 1)}, smallest=1 / 8)
    banned = space.region([(0.45, 0.47)])
    result = zn.rehearse(from_table(space, values), 12, noise=0.05, runs=2, jobs=1, forbidden=[banned])
    best = result.landscape.best_window()
    assert not best.region.overlaps(banned)
    assert best.average > result.landscape.best().average
    zonal = result.campaigns["Zonal"]
    assert zonal.window_regrets is not None
    assert (zonal.window_regrets >= 0).all()
    assert all(not window.overlaps(banned) for window in zonal.windows)
    assert "off the grid" in str(result)
    analysis = zn.power(space, 8, noise=0.05, landscape=from_table(space, values), runs=2, jobs=1)
    assert analysis.window_regrets is not None
    assert "off the grid" in str(analysis)


def test_a_table_of_cells_has_no_better_window() -> None:
    landscape = from_table(zn.Box([(0, 1)], smallest=1 / 8), np.arange(8.0))
    assert landscape.best_window() == landscape.best()
    assert "off the grid" not in str(zn.rehearse(landscape, 6, noise=0.1, runs=1, jobs=1))
