"""Power analysis: what is played, what it says, and that neither depends on the machine."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from click.testing import CliRunner

import zonal as zn
from shell import alone
from zonal.cli.main import main
from zonal.simulation import from_table
from zonal.simulation.gp_samples import model_of
from zonal.simulation.rehearsal import everybody, rehearse

pytestmark = pytest.mark.one_in(2)

AREAS: Any = {"North": {"Coast": ["Reef", "Bay"], "Inland": None}, "South": ["Hills", "Plain"]}
RNG = np.random.default_rng(0)
SPACES: dict[str, Any] = {
    "line": zn.Box([(0, 1)], smallest=1 / 16),
    "plane": zn.Box({"l": (-180, 180), "b": (-1, 1)}, smallest=[45, 0.25]),
    "mixed": zn.Product({"x": (0, 1), "dye": ["red", "green"]}, smallest=0.125),
    "dna": zn.Sequences("ACGT", 3),
    "pools": zn.Sequences("XYZ", 4, smallest=3),
    "points": zn.Points(RNG.uniform(size=(30, 2)), RNG.uniform(0.5, 3, 30)),
    "hierarchy": zn.Hierarchy(AREAS),
    "hierarchy on a map": zn.Hierarchy(AREAS, RNG.uniform(size=(5, 2)), RNG.uniform(1, 4, 5)),
}
EVERY_SPACE = pytest.mark.parametrize("name", SPACES)
EITHER_WAY = pytest.mark.parametrize("direction", ["maximize", "minimize"])
LINE = SPACES["line"]
SMOOTH = zn.RBF(4.0, 0.2)


def short(space: Any = LINE, budgets: Any = (3, 9), **settings: Any) -> zn.Power:
    return zn.power(space, budgets, **{"noise": 0.3, "runs": 3, "jobs": 1, **settings})


def made(regrets: Any, std: float | None = 2.0) -> zn.Power:
    """Return a power analysis with given regrets."""
    table = np.array(regrets, dtype=float)
    return zn.Power(LINE, tuple(10 * 2**j for j in range(table.shape[1])), table, np.full(len(table), 3.0), std)


# What is played.


@pytest.mark.one_in(3)
@EITHER_WAY
@EVERY_SPACE
def test_every_space_can_be_played_in_either_direction(name: str, direction: Any) -> None:
    found = short(SPACES[name], (3, 6), direction=direction)
    assert found.space is SPACES[name]
    assert (found.budgets, found.runs, found.regrets.shape) == ((3, 6), 3, (3, 2))
    assert (found.regrets >= 0).all()
    assert np.isfinite(found.regrets).all()
    assert (found.chance > 0).all()
    assert found.std == 1


def test_bounds_make_a_box_which_gets_a_smallest_region() -> None:
    found = short([(0, 2)], [3])
    assert isinstance(found.space, zn.Box)
    assert found.space.smallest == (2 / 256,)


@pytest.mark.parametrize(
    "space",
    [
        zn.Box([(0, 1)]),
        zn.Box([(0, 1)], arity=3),
        zn.Box([(0, 2), (-1, 1)], arity=3),
        zn.Box([(0, 1)] * 3, arity=5),
        zn.Product({"x": (0, 1), "dye": ["red", "green"]}, arity=3),
    ],
    ids=repr,
)
def test_power_and_maximize_agree_on_the_smallest_region(space: Any) -> None:
    played = short(space, [2]).space
    found = zn.maximize(lambda region: float(region.center[0]), space, 6).study.recommend(on_grid=True).region
    assert found.node is not None
    assert found.node[0] == played.max_depth()
    assert played.cell(found.node).name == found.name


@pytest.mark.parametrize(
    ("budgets", "played"),
    [
        (80, (10, 20, 40, 80)),
        (17, (3, 4, 8, 17)),
        (9, (3, 4, 9)),
        (3, (3,)),
        (2, (2,)),
        ([9, 4, 9], (4, 9)),
        (np.array([5, 6]), (5, 6)),
        (range(1, 4), (1, 2, 3)),
    ],
)
def test_one_budget_is_played_in_parts_and_several_as_they_are(budgets: Any, played: tuple[int, ...]) -> None:
    assert short(budgets=budgets, runs=2, kernel=SMOOTH, given=True, policy=zn.GPOO()).budgets == played


def test_the_same_seed_gives_the_same_regrets_on_any_number_of_processes() -> None:
    one, two = (short(rng=4, jobs=jobs, budgets=(3, 6)) for jobs in (1, 2))
    np.testing.assert_array_equal(one.regrets, two.regrets)
    np.testing.assert_array_equal(one.chance, two.chance)
    assert (short(rng=5, budgets=(3, 6)).regrets != one.regrets).any()


def test_a_run_does_not_depend_on_the_other_runs_and_budgets() -> None:
    many, few = short(budgets=(3, 6, 9), runs=4), short(budgets=[6], runs=2)
    np.testing.assert_array_equal(few.regrets[:, 0], many.regrets[:2, 1])
    np.testing.assert_array_equal(few.chance, many.chance[:2])
    assert len(set(many.chance.tolist())) == 4


class Recorded:
    """A noise that remembers where it was asked for; it is the same everywhere."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []

    def __call__(self, region: zn.Region) -> float:
        self.nodes.append(region.node)
        return 0.3


@pytest.mark.parametrize("feedback", [None, zn.Mean(), zn.Average(3), zn.Center()])
def test_a_campaign_is_what_maximize_would_really_do(feedback: Any) -> None:
    noise = Recorded()
    found = short(budgets=[8], runs=2, rng=7, noise=noise, kernel=SMOOTH, feedback=feedback)
    model, asked = model_of(LINE, SMOOTH, None, "maximize"), []
    for run in range(2):
        seeds = np.random.SeedSequence([7, run]).spawn(3)
        truth = model.draw(np.random.default_rng(seeds[0])).landscape
        again = Recorded()
        measure = truth.simulate(again, np.random.default_rng(seeds[1]), feedback)
        settings = {"rng": np.random.default_rng(seeds[2]), "feedback": feedback}
        result = zn.maximize(measure, LINE, 8, **settings)
        assert found.regrets[run, 0] == pytest.approx(
            truth.regret(result.study.recommend(on_grid=True).region), abs=1e-12
        )
        asked += again.nodes
    assert noise.nodes == asked


def test_a_search_that_is_given_the_model_is_told_kernel_and_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    original = zn.Study.__init__

    def spy(self: Any, space: Any, **settings: Any) -> None:
        seen.append(settings)
        original(self, space, **settings)

    monkeypatch.setattr(zn.Study, "__init__", spy)
    short(budgets=[3], kernel=SMOOTH)
    assert all("kernel" not in settings and "noise" not in settings for settings in seen)
    seen.clear()
    short(budgets=[3], kernel=SMOOTH, given=True)
    played = [settings for settings in seen if "kernel" in settings]
    assert [(settings["kernel"], settings["noise"]) for settings in played] == [(SMOOTH, 0.3)] * 3
    seen.clear()
    short(budgets=[3], given=True)  # each function has its own
    assert len({settings["kernel"] for settings in seen if "kernel" in settings}) == 3


def test_settings_reach_the_search() -> None:
    grid, kernel = zn.UniformGrid(), zn.Categorical(1.0, 0.3)
    found = short(SPACES["dna"], [64], noise=0.0, policy=grid, max_replicates=1, kernel=kernel, given=True)
    np.testing.assert_array_equal(found.regrets, 0)  # everything was measured, exactly


def test_more_measurements_leave_less_regret_and_noise_leaves_more() -> None:
    found = short(budgets=(4, 40), kernel=SMOOTH, given=True, runs=10, policy=zn.UCB())
    assert found.mean[1] < found.mean[0] < found.chance.mean()
    noisy = short(budgets=[40], kernel=SMOOTH, given=True, runs=10, policy=zn.UCB(), noise=20.0)
    assert noisy.mean[0] > found.mean[1]


def test_chance_is_the_mean_regret_of_all_smallest_regions() -> None:
    truth = from_table(SPACES["dna"], np.arange(64.0))
    assert short(truth.space, [3], landscape=truth).chance.tolist() == [31.5] * 3


# Tables.


@EITHER_WAY
def test_a_table_takes_the_place_of_functions(direction: Any) -> None:
    values = np.random.default_rng(2).normal(size=64)
    values[[5, 40]] = 20, -20
    truth = from_table(SPACES["dna"], values, direction=direction)
    found = short(truth.space, [64], landscape=truth, noise=0.0, policy=zn.UniformGrid(), max_replicates=1, runs=2)
    np.testing.assert_array_equal(found.regrets, 0)
    assert found.std is None
    assert found.relative is None
    best = values.max() if direction == "maximize" else values.min()
    np.testing.assert_allclose(found.chance, abs(best - values.mean()))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"kernel": SMOOTH}, "no functions are drawn"),
        ({"signal": 2.0}, "no functions are drawn"),
        ({"given": True}, "no functions are drawn"),
        ({"direction": "minimize"}, "its own direction, maximize"),
        ({"space": SPACES["dna"]}, "another space"),
        ({"landscape": np.arange(16.0)}, "from_table"),
        ({"space": zn.Box([(0, 1)]), "landscape": from_table(zn.Box([(0, 1)]), np.arange(16.0))}, "smallest"),
    ],
)
def test_a_table_that_does_not_go_with_the_rest_is_refused(settings: Any, complaint: str) -> None:
    with pytest.raises(zn.InvalidInput, match=complaint):
        short(**{"space": LINE, "landscape": from_table(LINE, np.arange(16.0)), **settings})


# Bad input.


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"budgets": 0}, "budget must be at least 1"),
        ({"budgets": 2.5}, "budget must be a whole number"),
        ({"budgets": []}, "there is no budget"),
        ({"budgets": [3, 0]}, "a budget must be at least 1"),
        ({"budgets": "80"}, "budget must be a whole number"),
        ({"noise": -1.0}, "noise must not be negative"),
        ({"noise": None}, "noise must be a single number"),
        ({"noise": float("nan")}, "noise must be finite"),
        ({"runs": 1}, "runs must be at least 2"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"rng": -1}, "rng must be at least 0"),
        ({"rng": None}, "rng must be a whole number"),
        ({"signal": 0.0}, "signal must be positive"),
        ({"kernel": SMOOTH, "signal": 2.0}, "Leave signal out"),
        ({"kernel": zn.RBF}, "kernel must be a kernel or None"),
        ({"direction": "up"}, "direction must be"),
        ({"policy": zn.GPOO}, "policy must be a policy"),
        ({"feedback": "mean"}, "feedback must be"),
        ({"max_replicates": 0}, "max_replicates must be at least 1"),
        ({"space": zn.Box([(0, 1)] * 6)}, "smallest="),
        ({"noise": lambda region: 0.1, "jobs": 2}, "jobs=1"),
    ],
)
def test_what_cannot_be_played_is_refused_before_anybody_plays(
    monkeypatch: pytest.MonkeyPatch, settings: Any, complaint: str
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(importlib.import_module("zonal.simulation.power"), "_regrets", never)
    with pytest.raises(zn.InvalidInput, match=complaint):
        short(**{"space": LINE, **settings})


def test_a_script_without_a_guard_is_told_what_to_do(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import zonal as zn\nzn.power([(0, 1)], 3, noise=0.1, runs=2, jobs=2)\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "if __name__ == '__main__':" in done.stderr.splitlines()[-1]


# What is said.


def test_means_standard_errors_and_intervals_are_those_of_the_columns() -> None:
    regrets = np.random.default_rng(0).exponential(size=(12, 3))
    found = made(regrets)
    error = regrets.std(axis=0, ddof=1) / np.sqrt(12)
    np.testing.assert_allclose(found.mean, regrets.mean(axis=0))
    np.testing.assert_allclose(found.sem, error)
    reach = 1.7958848187 * error  # Student's t, 11 degrees of freedom, 95 %
    np.testing.assert_allclose(found.interval, [found.mean - reach, found.mean + reach])
    np.testing.assert_allclose(found.quantile(0.5), np.median(regrets, axis=0))
    assert found.relative is not None
    np.testing.assert_allclose(found.relative, regrets / 2)


def test_about_nine_in_ten_intervals_hold_the_expected_regret_skewed_as_it_is() -> None:
    regrets = np.random.default_rng(0).exponential(size=(50, 2000))
    low, high = zn.Power(LINE, tuple(range(1, 2001)), regrets, np.ones(50), None).interval
    assert 0.85 < np.mean((low < 1) & (high > 1)) < 0.93


def test_an_interval_does_not_go_below_zero() -> None:
    assert made([[0, 0], [0, 9], [0, 0]]).interval[0].tolist() == [0, 0]
    assert made([[0, 0], [0, 9], [0, 0]]).interval[1, 0] == 0


def test_the_budget_for_a_regret_is_the_first_whose_whole_interval_is_below() -> None:
    found = made([[2.0, 1.0, 0.1], [2.2, 0.8, 0.2], [2.1, 0.9, 0.3]])
    upper = found.interval[1]
    assert found.budget_for(upper[0] + 0.01) == 10
    assert found.budget_for(upper[0]) == 20
    assert found.budget_for(upper[1] - 0.01) == 40
    assert found.mean[1] < upper[1] - 0.01
    assert found.budget_for(0.01) is None
    for wrong in (0.0, -1.0, float("nan"), "1"):
        with pytest.raises(zn.InvalidInput, match="regret"):
            found.budget_for(wrong)  # type: ignore[arg-type]


def test_the_table_has_a_line_a_budget_and_one_for_chance() -> None:
    found = made([[2.0, 0.0], [4.0, 1.0], [6.0, 0.5]])
    assert str(found) == found.table()
    assert found.table().splitlines() == [
        "measurements  mean regret   90% interval  median  90th percentile  mean in std of f",
        "        none            3         3 .. 3       3                3               1.5",
        "          10            4  0.628 .. 7.37       4              5.6                 2",
        "          20          0.5      0 .. 1.34     0.5              0.9              0.25",
        "Few runs: the means of 3 campaigns may be far off. Simulate at least 10.",
    ]
    assert "Few runs" not in made([[float(run)] for run in range(10)]).table()
    assert "std" not in made([[1.0], [2.0]], None).table()
    assert "std" not in made([[1.0], [2.0]], 1.0).table()
    assert repr(found) == "<Power: 3 runs with 10, 20 measurements>"


def test_the_picture_shows_means_bands_and_chance() -> None:
    regrets = np.random.default_rng(0).exponential(size=(20, 3))
    found = made(regrets)
    ax = plt.figure().add_subplot()
    assert found.plot(ax) is ax
    curve, chance = ax.lines
    np.testing.assert_allclose(np.asarray(curve.get_xydata()), np.stack([found.budgets, found.mean], axis=1))
    assert set(np.asarray(chance.get_ydata())) == {3.0}
    assert [label.get_text() for label in ax.get_xticklabels()] == ["10", "20", "40"]
    spread = np.stack([found.quantile(0.1), found.quantile(0.9)])
    for band, ends in zip(ax.collections[:2], (spread, found.interval), strict=True):
        heights = np.asarray(band.get_paths()[0].vertices)[:, 1]
        np.testing.assert_allclose(np.unique(heights), np.unique(ends))
    assert ax.get_ylim()[0] == 0
    plt.close(ax.figure)  # type: ignore[arg-type]


@pytest.mark.parametrize("budgets", [1, 2, 12])
def test_any_number_of_budgets_can_be_drawn_on_a_figure_of_its_own(budgets: int, tmp_path: Path) -> None:
    ax = made(np.random.default_rng(0).exponential(size=(5, budgets))).plot()
    ax.figure.savefig(tmp_path / "picture.png")  # type: ignore[union-attr]
    assert {len(line.get_xdata()) for line in ax.lines if line.get_marker() == "o"} == {budgets}  # type: ignore[arg-type]
    plt.close(ax.figure)  # type: ignore[arg-type]


# The page and its example.

ROOT = Path(__file__).parents[2]


def test_the_example_prints_both_tables_and_draws_a_picture(tmp_path: Path) -> None:
    out = tmp_path / "picture.png"
    said = alone(ROOT / "examples" / "power.py", "--budget", 6, "--runs", 2, "--out", out)
    assert len(re.findall(r"^ +(?:none|3|6)  ", said, re.MULTILINE)) == 6
    assert out.read_bytes().startswith(b"\x89PNG")


def test_the_page_shows_what_the_example_prints_and_draws() -> None:
    page = (ROOT / "docs" / "power.md").read_text()
    output = page.split("<!-- output -->")[1].split("<!-- end of output -->")[0]
    assert len(re.findall(r"^ +(?:none|10|20|40|80)  ", output, re.MULTILINE)) == 10
    assert "images/power.png" in page
    assert "examples/power.py" in page


def test_the_commands_of_the_page_are_understood(tmp_path: Path) -> None:
    commands = re.findall(
        r"^    zonal (power .*?)(?:  +#.*)?$", (ROOT / "docs" / "power.md").read_text(), re.MULTILINE
    )
    assert len(commands) == 6
    for command in commands:
        words = [*command.split(), "--budget", "x"]  # the last thing to be wrong
        result = CliRunner().invoke(main, words)
        assert "must be numbers separated by commas" in result.output, command


def test_the_code_of_the_page_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "power.md").read_text(), re.DOTALL)
    code = "\n".join(["import zonal as zn", *blocks])
    play = zn.power
    monkeypatch.setattr(zn, "power", lambda space, budget, noise: play(space, 8, noise=noise, runs=2, jobs=1))
    exec(compile(code, "power.md", "exec"), {"__name__": "__main__"})
    said = capsys.readouterr().out
    assert "90% interval" in said
    assert "greedy descent" in said
    plt.close("all")


def test_campaigns_whose_looks_cost_are_played_with_budgets_of_cost() -> None:
    space = zn.Box([(0, 1)], smallest=1 / 16)
    prices: dict[str, Any] = {"times": [1, 4], "overhead": 0.5}
    found = zn.power(space, [6.5, 26.0], noise=0.5, kernel=zn.RBF(1.0, 0.2), runs=2, jobs=1, **prices)
    assert found.budgets == (6.5, 26.0)
    assert "cost" in str(found.table())
    rehearsal = rehearse(
        from_table(space, np.sin(np.arange(16))), 26.0, 0.3, 1, everybody(space, **prices), jobs=1
    )
    assert set(rehearsal.campaigns) >= {"Zonal", "one level", "random"}
