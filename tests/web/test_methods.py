"""The methods paragraph of a report: every sentence is true of the settings and of what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import zonal as zn
from zonal.web.methods_section import methods

KERNEL = zn.RBF(1.0, 0.2)
LINE = zn.Box({"x": (0, 1)}, smallest=1 / 32)


def written(told: int = 5, each: int = 1, **settings: Any) -> str:
    """Return the paragraph of a study after some measurements, asked for `each` at a time, with its references."""
    study = begun(**settings)
    for _ in range(told // each):
        for trial in study.ask(each):
            study.tell(trial, float(trial.region.center[0]))
    return "\n".join(methods(study))


def begun(**settings: Any) -> zn.Study:
    given = {"budget": 20, "kernel": KERNEL, "noise": 0.1, "rng": 0, **settings}
    return zn.Study(given.pop("space", LINE), **given)


def halved(region: zn.Region) -> float:
    return float(0.1 / region.weight)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (0.5, "The standard deviation of one measurement was given as 0.5 K."),
        (zn.PerWeight(0.25), "given as 0.25 K over the square root of a region's weight."),
        (zn.PerWeight(), "was learned, as falling with the square root of a region's weight"),
        (halved, "was given by a function of its region, halved."),
        (None, "The standard deviation of one measurement was learned"),
    ],
)
def test_noise_is_given_or_learned_as_it_was(noise: Any, words: str) -> None:
    text = written(noise=noise, value_unit="K")
    assert words in text
    assert ("measurement was learned" in text) == (noise is None or noise == zn.PerWeight())


def test_a_unit_that_ends_in_a_dot_ends_its_sentence() -> None:
    text = written(value_unit="a.u.", noise=0.5, mean=2.0)
    assert "given as 0.5 a.u. The prior mean was given as 2 a.u. The region" in text


def test_a_given_kernel_is_named_and_the_default_mean_is_not_called_given() -> None:
    text = written()
    assert "Its kernel was given: RBF(variance=1.0, lengthscale=0.2)." in text
    assert "The prior mean was 0, the default with a given kernel." in text
    assert "The prior mean was given as 0.3 K." in written(mean=0.3, value_unit="K")


def test_learned_models_are_counted() -> None:
    study = begun(kernel=None, noise=0.1)
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, float(trial.region.center[0]))
    text = methods(study)[0]
    assert len(study.models) > 1
    assert f"Its kernel was learned from the measurements: {len(study.models)} models" in text
    assert "The prior mean was learned (" in text
    assert "every few rounds by a guard" in text
    assert "after a sweep of 8 regions" in text
    assert "The parameters of its kernel, Matern, were learned" in written(kernel=zn.Matern)


@pytest.mark.parametrize(
    ("policy", "words", "author"),
    [
        (None, "by the knowledge gradient [1]", "Frazier"),
        (zn.GPOO(), "by GPOO, optimistic optimisation on a tree of regions [1]", "Zhang"),
        (zn.StoOO(zn.GeometricDelta(1.0, 0.5)), "by StoOO", "Munos"),
        (zn.GPTree(), "by GPTree", "Shekhar"),
        (zn.Above(0.5), "by stepwise uncertainty reduction [1]", "Bect"),
        (zn.UCB(), "by the highest upper confidence bound [1]", "Srinivas"),
        (zn.Thompson(), "by Thompson sampling [1]", "Thompson"),
        (zn.Random(), "chosen one after the other at random.", ""),
        (zn.UniformGrid(), "chosen one after the other on a uniform grid.", ""),
    ],
)
def test_each_policy_has_its_own_words_and_paper(policy: Any, words: str, author: str) -> None:
    text, *references = written(policy=policy).splitlines()
    assert words in text
    assert not author or references[0].startswith(f"[1] {author}")
    for number, reference in enumerate(references, 1):
        assert reference.startswith(f"[{number}] ")
        assert any(f"{before}{number}{after}" in text for before in ("[", ", ") for after in ("]", ", "))


def test_a_search_for_a_set_is_not_called_a_search_for_the_best() -> None:
    text = written(policy=zn.Above(0.5), value_unit="K")
    assert "We sought all regions of the smallest size whose average value is above 0.5 K within x 0..1" in text
    assert "classified as above 0.5 K" in text
    assert "is below 0.5" in written(policy=zn.Above(0.5), direction="minimize")
    top = written(policy=zn.Above(top=0.2), direction="minimize")
    assert "the regions that make up the 0.2 of the space with the lowest average value" in top
    assert "the region of the lowest average value within" in written(direction="minimize")


def test_a_policy_without_a_model_has_no_model() -> None:
    text = written(policy=zn.StoOO(zn.GeometricDelta(1.0, 0.5)), kernel=None, noise=None)
    assert "No model was used" in text
    assert "Gaussian process [" not in text
    assert "posterior" not in text


def in_turn(study: zn.Study) -> None:
    for _ in range(4):
        study.tell(study.ask(), 0.5)


def in_batches(*sizes: int) -> Callable[[zn.Study], None]:
    def measured(study: zn.Study) -> None:
        for size in sizes:
            for trial in study.ask(size):
                study.tell(trial, 0.5)

    return measured


def with_two_workers(study: zn.Study) -> None:
    before = study.ask()
    for _ in range(4):
        after = study.ask()
        study.tell(before, 0.5)
        before = after


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (in_turn, "chosen one after the other by"),
        (in_batches(4, 4, 4), "chosen in batches of 4 by"),
        (in_batches(4, 4, 2), "chosen in batches of 4 by"),
        (in_batches(2, 4, 3), "chosen in batches of 2 to 4 by"),
        (in_batches(5), "chosen in one batch of 5 by"),
        (with_two_workers, "chosen with up to 2 pending at a time by"),
    ],
)
def test_batches_are_those_of_the_events(measured: Callable[[zn.Study], None], words: str) -> None:
    study = begun()
    measured(study)
    assert words in methods(study)[0]


def test_what_was_forbidden_and_how_often_a_region_was_measured_are_named() -> None:
    assert "Regions that overlap x 0..0.25 were neither measured" in written(forbidden=[[(0, 0.25)]])
    assert "our rule far" in written(forbidden=far)
    assert "No region was measured more than 1 time." in written(max_replicates=1)
    assert "neither measured" not in written()


def far(region: zn.Region) -> bool:
    return bool(region.center[0] > 0.9)


def test_costs_are_named() -> None:
    text = written(budget=60.0, times=[1, 2, 4], overhead=0.5, travel=0.3, cost_unit="s")
    assert "A measurement cost its time (one of 1, 2, 4 s) plus an overhead of 0.5 s" in text
    assert "plus travel from the region before (0.3 s per unit of distance)." in text
    assert "of a budget of 60 s)" in text
    assert "in one unit of time, falling with the square root of the time, was given as 0.1." in text
    assert "A measurement cost 3." in written(budget=60.0, cost=3.0)
    assert "an amount that depends on its region" in written(budget=60.0, cost=lambda region: 1 + region.weight)
    assert "cost" not in written()


def test_what_was_changed_lost_or_came_from_elsewhere_is_counted() -> None:
    study = begun()
    trials = study.ask(6)
    for trial in trials[:4]:
        study.tell(trial, 0.5, sem=0.1 if trial.number else None)
    study.fail(trials[4])
    study.cancel(trials[5])
    study.correct(trials[0], 0.4)
    study.retract(trials[1])
    study.observe([(0, 0.5)], 0.3, sem=0.1)
    text = methods(study)[0]
    assert "Each of 3 measurements (of a budget of 20) returned a noisy average over a region" in text
    assert "2 of them came with their own standard error" in text
    assert "1 measurement made outside the study was included." in text
    assert "1 value was corrected and 1 value was retracted afterwards." in text
    assert "Of 6 trials 1 was failed and 1 was cancelled." in text


@pytest.mark.parametrize(
    ("feedback", "words"),
    [
        (zn.Center(), "a noisy value at the centre of a region"),
        (zn.Average(10), "a noisy average over 10 representative points per axis of a region"),
        (zn.Beam(0.2), "weighted by a normal density about the centre of a region (Beam(fwhm=0.2))"),
    ],
)
def test_the_feedback_is_described(feedback: zn.Feedback, words: str) -> None:
    assert words in written(feedback=feedback)


def test_the_gap_has_its_unit_and_a_gap_of_nothing_is_said_as_such() -> None:
    study = begun(value_unit="K", noise=0.5)
    study.tell(study.ask(), 1.0)
    gap = study.recommend().gap
    assert gap > 0
    assert f"is better by more than {gap:.2f} K, and" in methods(study)[0]
    space = zn.Product({"dye": ["red", "green"]})  # with axes of numbers a shifted region may be better
    sure = begun(space=space, kernel=zn.Categorical(1.0, 0.3), noise=0.01)
    sure.observe({"dye": "red"}, 5.0)
    sure.observe({"dye": "green"}, 0.0)
    assert sure.recommend().gap == 0
    assert "no region of the smallest size is better at all, and" in methods(sure)[0]


def test_a_study_without_measurements_claims_none() -> None:
    text = methods(begun())[0]
    assert "No measurement of the budget of 20 was made." in text
    assert text.endswith("Nothing was measured yet.")
