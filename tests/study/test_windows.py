"""Windows: the best region of a size at any position, against brute force over fine shifts."""

import copy
import itertools
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.errors import InvalidInput
from zonal.study.summary import to_json


def bump(center: Any, width: float = 0.08) -> Any:
    """Return a function with one peak."""
    return lambda x: np.exp(-0.5 * (((x - np.array(center)) / width) ** 2).sum(axis=1))


def searched(space: Any, f: Any, budget: int = 30, noise: float = 0.01, **settings: Any) -> zn.Study:
    """Return a study after its budget is spent."""
    given: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.1), "noise": noise, "rng": 0}
    study = zn.Study(space, budget=budget, **(given | settings))
    study.optimize(zn.simulate(f, zn.Mean(), noise=noise, rng=0))
    return study


def brute(study: zn.Study, lows: Any, widths: Any) -> float:
    """Return the highest posterior mean of all windows that begin at some numbers."""
    regions = [
        [(low, low + width) for low, width in zip(corner, widths, strict=True)]
        for corner in itertools.product(*lows)
    ]
    means = study.predict(regions).mean
    return float(np.max(means) if study.settings.direction == "maximize" else np.min(means))


LINE = zn.Box([(0, 1)], smallest=1 / 16)


@pytest.mark.parametrize("center", [0.31, 0.5, 0.93, 0.015])
def test_on_a_line_the_window_is_the_best_of_all_shifts(center: float) -> None:
    study = searched(LINE, bump([center]))
    best, cell = study.recommend(), study.recommend(on_grid=True)
    highest = brute(study, [np.linspace(0, 15 / 16, 481)], [1 / 16])
    assert best.mean >= highest - 1e-3 * abs(highest)
    assert best.mean <= highest + 1e-6
    assert best.mean >= cell.mean
    assert best.region.widths[0] == pytest.approx(1 / 16)
    assert best.region.bounds[0, 0] >= 0
    assert best.region.bounds[0, 1] <= 1
    assert cell.node is not None
    mean, std = study.predict(best.region)
    assert (best.mean, best.std) == pytest.approx((mean, std), abs=1e-12)


def test_in_a_plane_too() -> None:
    study = searched(
        zn.Box([(0, 1), (0, 2)], smallest=[1 / 8, 1 / 4]), bump([0.37, 1.12], 0.15), kernel=zn.RBF(1.0, 0.2)
    )
    best = study.recommend()
    highest = brute(study, [np.linspace(0, 7 / 8, 57), np.linspace(0, 7 / 4, 57)], [1 / 8, 1 / 4])
    assert best.node is None
    assert best.mean >= highest - 2e-3 * abs(highest)


def test_minimising_finds_the_lowest() -> None:
    study = searched(LINE, lambda x: -bump([0.44])(x), direction="minimize")
    best = study.recommend()
    assert best.mean <= brute(study, [np.linspace(0, 15 / 16, 481)], [1 / 16]) + 1e-3
    assert best.mean < study.recommend(on_grid=True).mean
    assert best.gap >= 0


def test_a_window_may_lie_across_the_cut_of_a_ring() -> None:
    ring = zn.Box({"l": (-180, 180)}, smallest=22.5, periodic=["l"])

    def f(x: Any) -> Any:
        return np.exp(-0.5 * ((np.abs(x[:, 0]) - 180) / 20) ** 2)

    study = searched(ring, f, kernel=zn.RBF(1.0, 30.0))
    best = study.recommend()
    low, high = best.region.bounds[0]
    assert low < 180 < high
    assert abs((low + high) / 2 - 180) < 3
    again = ring.region(best.region.as_dict())
    assert study.predict(again).mean == pytest.approx(best.mean)


def test_a_window_has_equal_ratios_on_a_logarithmic_axis_and_whole_numbers_on_an_integer_one() -> None:
    space = zn.Box(
        {"c": (1e-3, 1.0), "n": (1, 24)}, scale={"c": "log", "n": "integer"}, smallest={"c": 0.25, "n": 3}
    )

    def value(region: Any) -> float:
        c, n = region.center
        return float(np.exp(-(((np.log10(c) + 1.3) / 0.3) ** 2) - ((n - 10) / 4) ** 2))

    study = zn.Study(space, budget=40, rng=0)
    study.optimize(value)
    best, cell = study.recommend(), study.recommend(on_grid=True)
    (low, high), (first, last) = best.region.bounds
    assert np.log10(high / low) == pytest.approx(cell.region.widths[0])
    assert first == int(first)
    assert last == int(last)
    assert last - first + 1 == cell.region.widths[1]
    assert best.mean > cell.mean
    assert value(best.region) > value(cell.region)


def test_symbols_stay_and_numbers_move() -> None:
    space = zn.Product({"x": (0, 1), "dye": ["red", "green"]}, smallest={"x": 1 / 8})

    def value(region: Any) -> float:
        low, high = region["x"]
        return float(("red" in region["dye"]) + np.exp(-((((low + high) / 2 - 0.37) / 0.2) ** 2)))

    study = zn.Study(space, budget=24, rng=0)
    study.optimize(value)
    best = study.recommend()
    assert best.region["dye"] == ("red",)
    assert best.node is None
    assert abs(float(np.mean(best.region["x"])) - 0.37) < 0.05
    assert study.recommend(size={"x": 0.5}).region["dye"] == ("red",)


def test_sequences_and_members_have_no_windows() -> None:
    study = zn.Study(zn.Sequences("AC", 4), budget=6, rng=0)
    study.optimize(lambda region: float(region.name.count("A")))
    assert study.recommend().node is not None
    with pytest.raises(InvalidInput, match="continuous axes"):
        study.recommend(size={"x": 1})


@pytest.mark.parametrize("policy", [zn.GPOO(), zn.GPTree(), zn.StoOO(zn.GeometricDelta(1.0)), zn.Above(0.5)])
def test_policies_that_answer_on_the_grid(policy: Any) -> None:
    study = searched(LINE, bump([0.31]), policy=policy)
    assert study.recommend().node is not None
    assert to_json(study.recommend()) == to_json(study.recommend(on_grid=True))


@pytest.mark.parametrize("policy", [zn.UCB(), zn.Thompson(), zn.Random(), zn.UniformGrid()])
def test_policies_that_answer_anywhere(policy: Any) -> None:
    study = searched(LINE, bump([0.3125]), policy=policy)
    assert study.recommend().node is None
    assert study.recommend().mean > study.recommend(on_grid=True).mean


def test_before_the_first_measurement_the_answer_is_a_node() -> None:
    study = zn.Study(LINE, budget=9, kernel=zn.RBF(1.0, 0.1), noise=0.1)
    assert study.recommend().node is not None


def test_windows_touch_nothing_forbidden_or_blocked() -> None:
    free = searched(LINE, bump([0.31]))
    low, _high = free.recommend().region.bounds[0]
    banned = free.space.region([(low + 0.01, low + 0.02)])
    listed = searched(LINE, bump([0.31]), forbidden=[banned])
    assert not listed.recommend().region.overlaps(banned)
    free.forbid(banned)
    later = free.recommend()
    assert not later.region.overlaps(banned)
    assert later.mean > 0.5
    free.allow(banned)
    assert free.recommend().region.overlaps(banned)
    free.extend(3)
    trial = free.ask(within=[(0.3125, 0.375)])
    assert trial.node[0] == 4
    free.fail(trial, retry=False)
    blocked = free.recommend()
    assert blocked.node is not None or not blocked.region.overlaps(trial.region)


def test_a_function_that_forbids_is_obeyed_and_called_at_most_256_times() -> None:
    calls: list[Any] = []

    def forbidden(region: Any) -> bool:
        calls.append(region)
        low, high = region.bounds[0]
        return bool(low < 0.32 < high)

    study = searched(LINE, bump([0.31]), forbidden=forbidden)
    calls.clear()
    best = copy.deepcopy(study).recommend()  # the study itself has been asked already
    assert 0 < len(calls) <= 256
    assert not best.region.bounds[0, 0] < 0.32 < best.region.bounds[0, 1]
    assert best.mean > 0.5
    assert len([region for region in calls if region.node is None]) == len(calls)


def test_the_best_ones_are_disjoint_and_the_first_is_the_answer() -> None:
    study = searched(LINE, bump([0.31]))
    several = study.recommend(k=5)
    assert several[0] == study.recommend()
    means = [answer.mean for answer in several]
    assert means == sorted(means, reverse=True)
    for one, other in itertools.combinations(several, 2):
        assert not one.region.overlaps(other.region)
    table = study.top(5)
    assert table["region"] == [answer.region.name for answer in several]
    assert sum(answer.probability_best for answer in several) <= 1 + 1e-9


def test_gap_and_probability_compare_windows_and_cells_together() -> None:
    study = searched(LINE, bump([0.31]), budget=8, noise=0.3)
    best, cell = study.recommend(), study.recommend(on_grid=True)
    assert best.gap > 0
    assert 0 < best.probability_best < 1
    assert best.probability_best != cell.probability_best
    assert study.recommend(theta=0.5).gap < best.gap


def test_any_size_and_no_smaller_one() -> None:
    study = searched(LINE, bump([0.31]))
    wide = study.recommend(size={"x": 0.2})
    assert wide.region.widths[0] == pytest.approx(0.2)
    assert wide.node is None
    assert wide.mean >= brute(study, [np.linspace(0, 0.8, 401)], [0.2]) - 1e-3
    assert study.recommend(size=0.2) == wide
    assert study.recommend(size=1 / 16).mean == pytest.approx(study.recommend().mean, abs=1e-4)
    assert study.recommend(size=1.0).region.bounds[0].tolist() == [0, 1]
    with pytest.raises(InvalidInput, match="under the smallest"):
        study.recommend(size=0.05)
    with pytest.raises(InvalidInput, match="wider than the axis"):
        study.recommend(size=1.5)
    with pytest.raises(InvalidInput, match="not there"):
        study.recommend(size={"y": 0.2})
    with pytest.raises(InvalidInput, match="different questions"):
        study.recommend(size=0.2, on_grid=True)
    first, second = study.recommend(k=2, size=0.2)
    assert not first.region.overlaps(second.region)


def test_policies_on_the_grid_answer_for_a_size_too() -> None:
    study = searched(LINE, bump([0.31]), policy=zn.GPOO())
    assert study.recommend(size=0.1).region.widths[0] == pytest.approx(0.1)


def test_among_the_users_own() -> None:
    study = searched(LINE, bump([0.31]))
    regions = [[(0.0, 0.2)], [(0.25, 0.4)], [(0.28, 0.6)], study.space.cell((4, 15))]
    best, second = study.recommend(k=2, among=regions)
    assert best.region.bounds.tolist() == [[0.25, 0.4]]
    assert second.region.bounds.tolist() != [[0.28, 0.6]]  # which overlaps the first
    assert best.mean == pytest.approx(study.predict([(0.25, 0.4)]).mean)
    assert best.probability_best > 0.9
    assert best.gap == 0
    with pytest.raises(InvalidInput, match="no regions"):
        study.recommend(among=[])
    study.forbid([(0.26, 0.27)])
    assert study.recommend(among=regions).region.bounds.tolist() == [[0.28, 0.6]]
    with pytest.raises(InvalidInput, match="forbidden"):
        study.recommend(among=[[(0.25, 0.4)]])


def test_among_members_of_a_hierarchy() -> None:
    space = zn.Points(np.linspace(0, 1, 20)[:, None], smallest=2)
    study = zn.Study(space, budget=12, kernel=zn.RBF(1.0, 0.2), noise=0.05)
    study.optimize(lambda region: float(region.center[0]))
    assert study.recommend(among=[[0, 1, 2], [17, 18, 19], [8, 9]]).region.members.tolist() == [17, 18, 19]  # type: ignore[attr-defined]


def test_answers_survive_copies_pickles_files_and_replays(tmp_path: Path) -> None:
    study = searched(LINE, bump([0.31]))
    best = study.recommend()
    assert copy.deepcopy(study).recommend() == best
    assert pickle.loads(pickle.dumps(best)) == best
    assert zn.Study.replay(study.settings, study.events).recommend() == best
    study.save(tmp_path / "line.db")
    opened = zn.Study.open(tmp_path / "line.db").recommend()
    assert opened.region.bounds == pytest.approx(best.region.bounds, abs=1e-6)
    assert opened.mean == pytest.approx(best.mean, abs=1e-9)


def test_asking_for_the_answer_changes_nothing() -> None:
    study, other = (zn.Study(LINE, budget=20, rng=0) for _ in "ab")
    rng = [np.random.default_rng(1), np.random.default_rng(1)]
    for _ in range(20):
        for which, searching in enumerate((study, other)):
            trial = searching.ask()
            searching.tell(trial, float(bump([0.31])(trial.region.center[None])[0] + 0.1 * rng[which].normal()))
            if which == 0:
                study.recommend(k=2)[1].gap  # noqa: B018
    assert study.tree == other.tree


def test_what_a_target_judges_is_what_windows_are_chosen_by() -> None:
    beam = zn.Beam(0.15)
    study = zn.Study(LINE, budget=30, kernel=zn.RBF(1.0, 0.1), noise=0.01, feedback=beam, rng=0)
    study.optimize(zn.simulate(bump([0.3125], 0.05), beam, noise=0.01, rng=0))
    best = study.recommend()
    assert best.node is None
    assert abs(best.region.center[0] - 0.3125) < 0.01
    assert best.mean == pytest.approx(study.predict(best.region, feedback=zn.Mean()).mean)


def test_at_2000_nodes_it_takes_a_few_times_as_long_as_predicting_one_window() -> None:
    study = searched(
        zn.Box([(0, 1)] * 2, smallest=1 / 32), bump([0.4, 0.6], 0.1), budget=60, kernel=None, noise=0.05
    )
    assert len(study.tree) > 2000

    def fastest(question: Any) -> float:
        took = []
        for _ in range(5):
            fresh = copy.deepcopy(study)
            fresh.tree  # noqa: B018
            start = time.process_time()
            question(fresh)
            took.append(time.process_time() - start)
        return min(took)

    window = [(0.4012, 0.4012 + 1 / 32), (0.6034, 0.6034 + 1 / 32)]
    assert fastest(lambda fresh: fresh.recommend()) < 10 * fastest(lambda fresh: fresh.predict(window))


def test_the_shell_and_the_service_know_windows(tmp_path: Path) -> None:
    import json

    from click.testing import CliRunner

    from zonal.cli.main import main
    from zonal.web.handlers import READ, call_study
    from zonal.web.page_data import answer
    from zonal.web.routes import ROUTES

    study = searched(LINE, bump([0.31]))
    study.save(tmp_path / "line.db")

    def shell(*options: str) -> Any:
        return json.loads(
            CliRunner().invoke(main, ["recommend", str(tmp_path / "line.db"), "--json", *options]).stdout
        )

    assert shell()[0]["region"]["node"] is None
    assert shell("--on-grid")[0]["region"]["node"] == list(study.recommend(on_grid=True).node)
    assert shell("--size", "x=0.2")[0]["region"]["bounds"]["x"] == pytest.approx(
        study.recommend(size=0.2).region.bounds[0].tolist(), abs=1e-6
    )
    assert shell("--among", "x=0..0.2", "--among", "x=0.25..0.4")[0]["region"]["bounds"]["x"] == [0.25, 0.4]
    route = next(route for route in ROUTES if route.path == "/recommend")

    def call(**fields: Any) -> Any:
        return call_study(route, study, k=1, **fields)

    (served,) = call(size="x=0.2")
    assert served == study.recommend(size=0.2)
    assert call(on_grid=True)[0].node is not None
    assert call(among="x=0..0.2; x=0.25..0.4")[0].region["x"] == (0.25, 0.4)
    assert {"size", "among"} <= READ.keys()
    with pytest.raises(InvalidInput, match="width for each axis"):
        call(size="wide")
    first: Any = answer(study)["best"][0]  # type: ignore[index]
    assert first["region"]["window"] == [study.recommend().region.bounds.tolist()]
    cell = study._state.region(first["region"]["row"])
    assert cell.overlaps(study.recommend().region)
