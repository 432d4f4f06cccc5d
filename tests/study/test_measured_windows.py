"""Late in a campaign windows between the cells are measured: what that changes, and what it leaves as it is."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from fingerprint import fingerprint
from zonal.storage.verify import first_difference

LINE = zn.Box([(0, 1)], smallest=1 / 16)


def between(x: Any) -> Any:
    """Return a narrow peak that an edge of the cells divides."""
    return np.exp(-0.5 * ((x[:, 0] - 0.625) / 0.03) ** 2)


def instrument(noise: float = 0.05) -> Any:
    return zn.simulate(between, zn.Mean(), noise=noise, rng=0)


def late(space: Any = LINE, budget: int = 32, left: int = 8, **settings: Any) -> tuple[zn.Study, Any]:
    """Return a study that has so many measurements left, and its instrument."""
    study, measure = zn.Study(space, budget=budget, rng=0, **settings), instrument()
    for _ in range(budget - left):
        trial = study.ask()
        study.tell(trial, measure(trial.region))
    return study, measure


def windows(study: zn.Study) -> list[zn.TrialRecord]:
    return [trial for trial in study.trials if trial.node is None]


def finish(study: zn.Study, measure: Any) -> zn.Study:
    study.optimize(measure)
    return study


def test_windows_are_asked_for_once_three_quarters_are_spent_and_have_the_smallest_size() -> None:
    study, measure = late()
    assert windows(study) == []
    tree = study.tree
    finish(study, measure)
    asked = windows(study)
    assert asked
    assert all(trial.number >= 24 for trial in asked)
    for trial in asked:
        assert trial.region.widths[0] == pytest.approx(1 / 16)
        assert trial.region.bounds.min() >= 0
        assert trial.region.bounds.max() <= 1
    assert len(study.tree.depth) == len(tree.depth)  # the tree does not grow by them
    assert study.measured == 32
    assert study.tree.count.sum() == 32 - len(asked)  # nor do they count at a cell


def test_a_peak_on_an_edge_is_found_more_exactly_than_from_cells_alone() -> None:
    regrets = {}
    for off_grid in (False, True):
        found = []
        for seed in range(8):
            measure = zn.simulate(between, zn.Mean(), noise=0.2, rng=seed)
            policy = zn.KnowledgeGradient(off_grid=off_grid)
            study = finish(zn.Study(LINE, budget=32, rng=seed, policy=policy), measure)
            found.append(abs(float(study.recommend().region.center[0]) - 0.625))
        regrets[off_grid] = np.mean(found)
    assert regrets[True] < regrets[False]


@pytest.mark.parametrize(
    "settings",
    [
        {"policy": zn.KnowledgeGradient(off_grid=False)},
        {"policy": zn.GPOO(), "kernel": zn.RBF(1.0, 0.1), "noise": 0.05},
        {"policy": zn.UCB()},
        {"policy": zn.Above(0.5)},
        {"times": [1, 2]},
        {"noise": lambda region: 0.05},
        {"feedback": zn.Beam(0.1)},
    ],
    ids=["off", "GPOO", "UCB", "Above", "times", "noise by region", "beam"],
)
def test_only_the_default_asks_for_windows_where_all_measurements_are_alike(settings: dict[str, Any]) -> None:
    study = zn.Study(LINE, budget=20, rng=0, **settings)
    study.optimize(instrument())
    assert windows(study) == []


def test_few_measurements_and_spaces_without_positions_keep_to_the_tree() -> None:
    assert windows(finish(zn.Study(LINE, budget=15, rng=0), instrument())) == []
    study = zn.Study(zn.Sequences("AC", 5), budget=20, rng=0)
    study.optimize(lambda region: float(region.name.count("C")))
    assert windows(study) == []


def test_what_is_told_replays_verifies_and_lies_in_files_and_exports_as_it_was(tmp_path: Path) -> None:
    study, measure = late(kernel=zn.RBF(1.0, 0.05), noise=0.05)
    finish(study, measure)
    assert windows(study)
    again = zn.Study.replay(study.settings, study.events)
    assert fingerprint(again) == fingerprint(study)
    assert first_difference(study.settings, study.events) == ""
    study.save(tmp_path / "a.db")
    opened = zn.Study.open(tmp_path / "a.db")
    assert [trial.region for trial in windows(opened)] == [trial.region for trial in windows(study)]
    np.testing.assert_allclose(opened.tree.mean, study.tree.mean, atol=1e-9)


def test_windows_are_corrected_retracted_told_late_and_explained_like_other_trials() -> None:
    study, measure = late()
    trial = study.ask()
    assert trial.node is None
    study.tell(trial, 0.5)
    study.correct(trial, 0.6)
    assert study.trials[trial.number].value == 0.6
    assert "windows between the cells" in str(study.why(trial))
    measured = study.measured
    study.retract(trial)
    assert study.measured == measured - 1
    study.tell(trial, 0.55)
    assert study.measured == measured
    finish(study, measure)
    assert study.remaining == 0


def test_failures_of_windows_count_at_the_cell_at_their_centre() -> None:
    study, _ = late()
    trial = study.ask()
    study.cancel(trial)
    assert study.remaining == 8
    trial = study.ask()
    study.fail(trial, retry=False)
    assert study.remaining == 8
    (blocked,) = study.blocked
    assert blocked.overlaps(trial.region)
    for other in study.ask(4):
        assert not blocked.overlaps(other.region)
    study.allow(blocked)
    assert study.blocked == ()


def test_a_batch_has_different_regions_and_a_window_knows_its_replicate() -> None:
    study, measure = late()
    batch = study.ask(4)
    assert any(trial.node is None for trial in batch)
    assert len({trial.region.name for trial in batch}) >= 3
    for trial in batch:
        study.tell(trial, measure(trial.region))
    finish(study, measure)
    asked = windows(study)
    for trial in asked:
        before = [one for one in asked if one.number < trial.number and one.region == trial.region]
        assert trial.replicate == len(before) + 1


def test_max_replicates_forbidden_regions_and_what_is_possible_now_hold_for_windows_too() -> None:
    assert late()[0].ask(within=[(0, 0.25)]).node is not None
    study, measure = late(max_replicates=1, forbidden=[(0.63, 0.7)])
    finish(study, measure)
    regions = [trial.region for trial in windows(study)]
    assert len(set(regions)) == len(regions)
    assert not any(region.overlaps(study.space.region([(0.63, 0.7)])) for region in regions)


def test_minimising_mirrors_maximising() -> None:
    def names(direction: Any, sign: float) -> list[str]:
        study, measure = zn.Study(LINE, budget=24, rng=0, direction=direction), instrument()
        for _ in range(24):
            trial = study.ask()
            study.tell(trial, sign * measure(trial.region))
        return [trial.region.name for trial in study.trials]

    assert names("maximize", 1.0) == names("minimize", -1.0)
