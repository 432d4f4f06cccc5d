"""ON minus OFF: searches whose trials are measured as differences, with a learned model."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

import zonal as zn
from fingerprint import fingerprint
from zonal.engine.policy import views
from zonal.policies.knowledge_gradient import BoundKnowledgeGradient
from zonal.spaces import with_feedback
from zonal.storage.verify import first_difference

BUDGET = 70
SKY = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"}, periodic=["l"], smallest=[5.625, 0.0625])
LINE = zn.Box({"x": (0, 1)}, smallest=1 / 128)
BEAMS = {"sky": zn.Beam({"l": 8.0, "sin_b": 0.14}), "line": zn.Beam(0.02)}
NOISE = {"sky": 0.6, "line": 0.1}


def brightness(points: Any) -> Any:
    """Return a sky with a bright source, a wide one, and a band."""
    l, b = points[..., 0], points[..., 1]
    away = (l + 50 + 180) % 360 - 180
    source = 20 * np.exp(-0.5 * (away / 12) ** 2 - 0.5 * ((b + 0.05) / 0.08) ** 2)
    wide = 8 * np.exp(-0.5 * ((l - 70) / 30) ** 2 - 0.5 * ((b - 0.1) / 0.2) ** 2)
    return source + wide + 3 * np.exp(-0.5 * (b / 0.3) ** 2)


def height(points: Any) -> Any:
    """Return a peak on a wave."""
    x = points[..., 0]
    return np.exp(-0.5 * ((x - 0.63) / 0.03) ** 2) + 0.5 * np.sin(9 * x)


FIXED, BESIDE, APART, ANYWHERE = range(4)  # what is subtracted


def reference(study: zn.Study, region: Any, where: int, rng: Any = None) -> Any:
    """Return what is subtracted: the same everywhere, or something as wide beside the region.

    `APART`, it is a fixed distance farther away, off the grid; `ANYWHERE`, another distance each time.
    """
    (low, high), *others = region.bounds.tolist()
    width = high - low
    farther = {APART: 0.0371, ANYWHERE: 0.1 * rng.uniform() if rng else 0.0}.get(where, 0.0)
    if study.space is LINE:
        if where == FIXED or width > 0.4:
            return study.space.region([(0.0, 0.1)])
        shift = width + farther
        start = low + shift if high + shift <= 1 else low - shift
        return study.space.region([(start, start + width)])
    if where == FIXED or width > 160:
        return study.space.region({"l": (-180, -90), "sin_b": (0.75, 1.0)})
    shift = max(width, 20) + 100 * farther
    return study.space.region({"l": (low + shift, high + shift), "sin_b": tuple(others[0])})


def searched(case: str, feedback: Any, seed: int, where: int | None) -> tuple[zn.Study, float]:
    """Return a study after its budget, told averages if `where` is None, and the CPU time of ask and tell."""
    space, truth, noise = (SKY, brightness, NOISE["sky"]) if case == "sky" else (LINE, height, NOISE["line"])
    measure, rng, spent = zn.simulate(truth, feedback, 0.0, rng=0), np.random.default_rng(seed), 0.0
    study = zn.Study(space, budget=BUDGET, noise=noise, feedback=feedback, rng=seed)
    for _ in range(BUDGET):
        started = time.process_time()
        trial = study.ask()
        spent += time.process_time() - started
        told: dict[str, Any] = {}
        value = measure(trial.region) + noise * rng.standard_normal()
        if where is not None:
            off = reference(study, trial.region, where, rng)
            value -= measure(with_feedback(off, feedback)) + noise * rng.standard_normal()
            told = {"sem": noise * 2**0.5, "minus": off}
        started = time.process_time()
        study.tell(trial, float(value), **told)
        spent += time.process_time() - started
    return study, spent


def most_measured(study: zn.Study) -> int:
    """Return how often the region measured most was measured before the last quarter of the budget."""
    early = Counter(trial.node for trial in study.trials[: BUDGET * 3 // 4])
    return max(early.values())


EACH = [(case, beam, where, seed) for case in BEAMS for beam in (0, 1) for where in range(4) for seed in range(5)]


@pytest.mark.parametrize(
    ("case", "beam", "where", "seed"),
    [pytest.param(*own, marks=[] if own == ("line", 1, APART, 0) else pytest.mark.torture) for own in EACH],
)
def test_differences_cost_at_most_three_times_what_averages_do_and_no_region_takes_an_eighth_of_the_budget(
    case: str, beam: int, where: int, seed: int
) -> None:
    feedback = BEAMS[case] if beam else zn.Mean()
    _, usual = searched(case, feedback, seed, None)
    study, spent = searched(case, feedback, seed, where)
    assert most_measured(study) <= BUDGET / 8
    assert spent <= 3 * usual
    assert study.tree.count.sum() == BUDGET


def test_the_guard_has_its_turns_if_all_is_told_as_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    guarded: list[bool] = []
    usual = BoundKnowledgeGradient._guarded

    def counted(self: BoundKnowledgeGradient, *arguments: Any) -> Any:
        look = usual(self, *arguments)
        guarded.append(look is not None)
        return look

    monkeypatch.setattr(BoundKnowledgeGradient, "_guarded", counted)
    study = zn.Study(LINE, budget=24, noise=0.1, rng=0)
    for _ in range(24):
        trial = study.ask()
        study.tell(trial, float(height(trial.region.center)), sem=0.1, minus=reference(study, trial.region, FIXED))
    assert guarded
    assert all(guarded)


def measured_once(minus: Any = None, n: int = 1) -> tuple[zn.Study, Any]:
    """Return a study in which one region was measured some times as a difference, and its row."""
    study = zn.Study(LINE, budget=40, kernel=zn.RBF(1.0, 0.2), noise=0.05, policy=zn.KnowledgeGradient(), rng=0)
    number = study.ask().number
    study.tell(number, 0.1, sem=0.05, minus=minus)
    row = study._state.asked[number].row
    for _ in range(n - 1):
        study.observe(study.trials[0].region, 0.1, sem=0.05, minus=minus)
    return study, row


def test_what_a_repeat_will_show_is_the_difference_again_as_an_exact_posterior_says() -> None:
    study, row = measured_once([(0.3, 0.41)])
    state = study._state
    (view,) = views(state)
    own = state.differences[0]
    member = state.belief.members[0]
    rows, others = np.array([row]), np.array([0, 3, 9])
    slots = state.structure.slot
    expected = member.covariance(np.array([own.slot]), slots[others])
    np.testing.assert_allclose(view.seen(rows, others), expected, rtol=0, atol=1e-12)
    assert view.spread(rows, 1.0)[0] ** 2 == pytest.approx(member.variance[own.slot] + 0.05**2, abs=1e-12)
    np.testing.assert_allclose(view.seen_together(rows), [[member.variance[own.slot]]], rtol=0, atol=1e-12)


def test_a_pending_trial_is_expected_to_be_a_difference_too() -> None:
    study, _ = measured_once([(0.3, 0.41)])
    trial = study.ask()
    before = study._state.overlay().columns[1]
    study.tell(trial, 0.2, sem=0.05, minus=[(0.3, 0.41)])
    after = study._state.belief.columns[1]
    np.testing.assert_allclose(before, after[: len(before)], rtol=0, atol=1e-12)


def test_after_an_average_an_unmeasured_region_is_expected_to_be_measured_as_one() -> None:
    study, row = measured_once([(0.3, 0.41)])
    other = study.ask()
    study.tell(other, 0.4)
    state = study._state
    assert state.expected_difference(row) is state.differences[0]
    assert state.expected_difference(state.asked[other.number].row) is None
    free = next(at for at in range(state.structure.size) if at not in state.told_counts)
    assert state.expected_difference(free) is None


def test_a_region_told_as_differences_is_asked_for_no_more_often_than_allowed() -> None:
    study = zn.Study(zn.Box([(0, 1)], smallest=0.25), budget=7, noise=0.1, max_replicates=1, rng=0)
    for _ in range(7):
        trial = study.ask()
        assert trial.replicate == 1
        study.tell(trial, float(trial.region.center[0]), sem=0.1, minus=[(0.0, 0.1)])
    np.testing.assert_array_equal(study.tree.count, 1)


def test_a_study_of_differences_is_replayed_and_opened_as_it_was(tmp_path: Any) -> None:
    study = zn.Study(LINE, budget=14, noise=0.1, rng=1)
    for number in range(14):
        trial = study.ask()
        off = reference(study, trial.region, BESIDE if number % 2 == 0 else FIXED)
        study.tell(trial, float(height(trial.region.center)), sem=0.1, minus=off)
    assert fingerprint(zn.Study.replay(study.settings, study.events)) == fingerprint(study)
    assert first_difference(study.settings, study.events) == ""
    study.save(tmp_path / "line.db")
    np.testing.assert_allclose(zn.Study.open(tmp_path / "line.db").tree.mean, study.tree.mean, rtol=0, atol=1e-9)


def test_pictures_name_differences_and_mark_what_was_subtracted() -> None:
    line, _ = measured_once([(0.3, 0.41)])
    sky = zn.Study(SKY, budget=4, kernel=zn.RBF(1.0, [20.0, 0.2]), noise=0.1)
    sky.tell(sky.ask(), 0.5, sem=0.1, minus=[(-30, 20), (0.5, 0.7)])

    def labels(study: zn.Study, kind: Any = None) -> set[str]:
        return set(study.plot(kind).get_legend_handles_labels()[1])

    assert "a measured difference" in labels(line, "history")
    assert "a measured average" not in labels(line, "history")
    assert {"measured as a difference", "subtracted from it"} <= labels(line)
    assert "measured averages" not in labels(line)
    assert "subtracted in differences" in labels(sky, "map")


def test_a_corrected_difference_is_expected_with_its_new_error() -> None:
    study = zn.Study({"x": (0, 1)}, budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    trial = study.ask()
    study.tell(trial, 0.3, 0.01, minus=[(0, 0.1)])
    study.correct(trial, 0.3, 3.0)
    assert study._state.differences[0].variance == pytest.approx(9.0)
