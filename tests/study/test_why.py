"""Why: weights times readings are the mean, and the answer moves where it was said to."""

import json
import math
from typing import Any

import numpy as np
import pytest

import zonal as zn
from kinds import KINDS, Kind, allowed, kernels, off_tree
from zonal.study.why import WhyAnswer


def told(study: zn.Study, n: int, seed: int = 0) -> zn.Study:
    rng = np.random.default_rng(seed)
    for _ in range(n):
        trial = study.ask()
        study.tell(trial, float(rng.normal(3.0)), sem=0.2 if trial.number % 3 == 1 else None)
    return study


def off(why: WhyAnswer) -> float:
    total = why.prior + math.fsum(reading.weight * reading.value for reading in why.readings)
    return abs(total - why.mean) / max(1.0, abs(why.mean))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_weights_times_readings_are_the_mean_on_every_space(name: str, direction: Any) -> None:
    study = told(zn.Study(KINDS[name].space, budget=40, direction=direction), 12)
    assert off(study.why()) < 1e-10


BELIEFS: dict[str, dict[str, Any]] = {
    "given": {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "mean": 2.0},
    "mean unknown": {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "mean": None},
    "noise learned": {"kernel": zn.Matern(1.0, 0.2)},
    "without noise": {"kernel": zn.Matern(1.0, 0.2, nu=0.5), "noise": 0.0},
    "beam": {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "feedback": zn.Beam(0.05)},
    "gpoo": {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "policy": zn.GPOO()},
    "learned": {},
}


@pytest.mark.parametrize("belief", BELIEFS)
def test_weights_times_readings_are_the_mean_under_every_belief(belief: str) -> None:
    study = zn.Study(zn.Box([(0, 1)], smallest=1 / 32), budget=40, **BELIEFS[belief])
    if belief != "without noise":
        told(study, 14)
        study.observe([(0.3, 0.41)], 2.5)
        study.observe([(0.3, 0.41)], 2.7, sem=0.4)
        study.observe([(0.1, 0.2)], 0.3, sem=0.1, minus=[(0.6, 0.7)])
        study.correct(study.trials[3], 2.0)
        study.retract(study.trials[5])
    else:
        study.optimize(lambda region: float(np.sin(5 * region.center[0])), n=12)
    assert off(study.why()) < 1e-10
    assert study.why().readings


LAWS = [
    pytest.param(kind, pair.ours, feedback, noise, id=f"{name}, {kernel}, {feedback}, {noise}")
    for name, kind in KINDS.items()
    for kernel, pair in kernels(kind).items()
    for feedback in allowed(kind)
    for noise in (0.3, None)
]


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("kind", "kernel", "feedback", "noise"), LAWS)
def test_weights_times_readings_are_the_mean_with_every_kernel_and_feedback(
    kind: Kind, kernel: Any, feedback: Any, noise: float | None
) -> None:
    seed = len(repr(kernel)) + len(repr(feedback))
    settings: dict[str, Any] = {"kernel": kernel, "feedback": feedback, "noise": noise}
    study = told(zn.Study(kind.space, budget=30, mean=[None, 1.0][seed % 2], **settings), 6, seed)
    for region in off_tree(kind, 3, seed):
        study.observe(region, 2.5, sem=0.3)
    assert off(study.why()) < 1e-10


def test_empirical_means_are_explained_too() -> None:
    study = zn.Study([(0, 1)], budget=30, policy=zn.StoOO(zn.GeometricDelta(1, 0.5)))
    told(study, 12)
    assert off(study.why()) < 1e-10


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_answer_moves_exactly_where_why_said(direction: Any) -> None:
    rng, moved = np.random.default_rng(1), 0
    for seed in range(25):
        space = zn.Box([(0, 1)], smallest=1 / 32)
        given: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.15), "noise": 0.3, "gross_errors": False}
        study = zn.Study(space, budget=60, direction=direction, rng=seed, **given)
        truth = rng.normal(size=4)
        n = 4 + seed
        for _ in range(n):
            trial = study.ask()
            study.tell(trial, float(np.polyval(truth, region_center(trial))) + 0.3 * rng.normal())
        trial = study.ask()
        why = study.why(trial)
        assert why.changes[0].low == -math.inf
        assert why.changes[-1].high == math.inf
        assert sum(change.probability for change in why.changes) == pytest.approx(1)
        before = study.recommend(on_grid=True).region
        assert why.answer is not None
        assert why.answer.key == before.key
        for value in rng.normal(why.expected, 2 * why.std, size=20).tolist():
            edges = [change.low for change in why.changes[1:]]
            if edges and min(abs(value - edge) for edge in edges) < 1e-6:
                continue
            (said,) = (change.region for change in why.changes if change.low < value < change.high)
            draft = zn.Study.replay(study.settings, study.events)
            draft.tell(trial.number, value)
            after = draft.recommend(on_grid=True).region
            assert after.key == said.key
            moved += after.key != before.key
    assert moved > 20


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_answer_moves_where_why_said_on_every_space(seed: int) -> None:
    rng, moved, tried = np.random.default_rng(seed), 0, 0
    for name, kind in KINDS.items():
        pairs = [*kernels(kind).values()]
        direction: Any = ["maximize", "minimize"][seed % 2]
        settings: dict[str, Any] = {
            "kernel": pairs[seed % len(pairs)].ours,
            "noise": 0.3,
            "rng": seed,
            "gross_errors": False,
        }
        study = zn.Study(kind.space, budget=40, direction=direction, **settings)
        for _ in range(4 + 2 * seed):
            study.tell(study.ask(), float(rng.normal()))
        trial = study.ask(2)[1] if seed == 2 else study.ask()
        why = study.why(trial)
        assert why.answer is not None
        edges = [change.low for change in why.changes[1:]]
        for value in rng.normal(why.expected, 2 * why.std, size=8).tolist():
            draft = zn.Study.replay(study.settings, study.events)
            draft.tell(trial.number, value)
            near = bool(edges) and min(abs(value - edge) for edge in edges) < 1e-6
            if near or len(draft.tree.depth) > len(study.tree.depth):
                continue  # the answer may be a region that the tell made
            (expected,) = (change.region for change in why.changes if change.low < value < change.high)
            after = draft.recommend(on_grid=True).region
            assert after.key == expected.key, f"{name}: {value}"
            moved, tried = moved + (after.key != why.answer.key), tried + 1
    assert moved > 30
    assert tried > 100


def region_center(trial: zn.Trial) -> float:
    return float(np.asarray(trial.region.center)[0])


def test_reasons_are_those_of_the_policy() -> None:
    study = zn.Study(zn.Box([(0, 1), (0, 1)], smallest=1 / 16), budget=40)
    study.optimize(lambda region: float(np.sin(7 * region.center[0]) + region.center[1]), n=26)
    reasons = [study.why(trial).reason for trial in study.trials]
    assert reasons[:4] == ["design"] * 4
    assert {"gain", "guard"} <= set(reasons)
    assert study.why().next is not None


def test_worth_is_relative_to_the_best() -> None:
    study = zn.Study(zn.Box([(0, 1)], smallest=1 / 16), budget=30, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    study.optimize(lambda region: float(np.sin(7 * region.center[0])), n=6)
    following = study.why().next
    assert following is not None
    assert study.worth(following.region).relative == pytest.approx(1.0)
    assert study.worth([(0.5, 0.61)]).relative < 1
    with pytest.raises(zn.ZonalError, match="no such trial"):
        study.why(99)


def test_the_text_is_json_too() -> None:
    from zonal.study.summary import to_json

    study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    study.tell(study.ask(), 1.0)
    answer = json.loads(to_json(study.why().as_dict()))
    assert answer["sentences"][0].startswith("The answer is")
    assert answer["next"]["changes"][0]["low"] is None
