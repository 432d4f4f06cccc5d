"""Plates, labels that mean nothing, drift and an old survey: what they cost, and what saying so brings back.

``python -m benchmarks.labels [RUNS]`` plays RUNS campaigns (30) of 40 measurements of f1, f2 and f3, each shifted
at random, everything learned. Rewards have noise .1. It compares clean readings, readings of eight plates with
offsets of standard deviation .3 (one plate after the other, or at random), said and not said, labels without
meaning, a drift of .5, and an old survey of 40 regions that reads .3 too high, or is of another function. A
campaign takes about half a second. Regrets are means with their standard errors; "within" is how often the truth
lies within two stated standard deviations.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

import zonal as zn
from zonal.simulation import aggregated_regret
from zonal.simulation.functions import true_optimum

BUDGET, FEWER, PLATES, NOISE, SPREAD, DRIFT, BIAS, SURVEY = 40, 30, 8, 0.1, 0.3, 0.5, 0.3, 40
FUNCTIONS: tuple[Literal["f1", "f2", "f3"], ...] = ("f1", "f2", "f3")
FEEDBACK = zn.Average(10)
FIRST_SEED = 36_000
Shift = Callable[[int], float]  # of a reading, by its number


class Outcome(NamedTuple):
    """How one campaign ended."""

    regret: float
    inside: bool  # the truth within two stated standard deviations
    seconds: float  # of CPU


class Run:
    """One function with its random numbers; every campaign on it has the same."""

    def __init__(self, name: Literal["f1", "f2", "f3"], seed: int) -> None:
        rng = np.random.default_rng([FIRST_SEED, seed])
        self.seed = seed
        self.f = zn.reward_function(name, shift=rng.uniform(-0.04, 0.04))
        self.other = zn.reward_function("f1" if name != "f1" else "f2", shift=rng.uniform(-0.04, 0.04))
        self.best = true_optimum(self.f)[1]
        self.plates = rng.normal(0, SPREAD, PLATES)
        self.random_plates = rng.integers(PLATES, size=BUDGET)
        self.exact = zn.simulate(self.f, FEEDBACK, noise=0.0)

    def play(
        self,
        shift: Shift = lambda number: 0.0,
        label: Callable[[int], dict[str, Any]] = lambda number: {},
        budget: int = BUDGET,
        before: Callable[[zn.Study], object] = lambda study: None,
        **settings: Any,
    ) -> Outcome:
        """Play a campaign whose readings are shifted and labelled by their numbers."""
        start = time.process_time()
        study = zn.Study([(0, 1)], budget=budget, feedback=FEEDBACK, rng=self.seed, **settings)
        measure = zn.simulate(self.f, FEEDBACK, noise=NOISE, rng=self.seed)
        before(study)
        for number in range(budget):
            trial = study.ask()
            study.tell(trial, float(measure(trial.region)) + shift(number), labels=label(number))
        best = study.recommend()
        seconds = time.process_time() - start
        truth = float(self.exact(best.region))
        regret = aggregated_regret(self.exact, best.region, self.best)
        return Outcome(regret, abs(truth - best.mean) <= 2 * best.std, seconds)

    def survey(self, study: zn.Study, f: Callable[[Any], Any]) -> None:
        """Observe an old survey: equal parts of the axis, all biased."""
        measure = zn.simulate(f, FEEDBACK, noise=NOISE, rng=self.seed + 1)
        for part in range(SURVEY):
            region = study.space.region([(part / SURVEY, (part + 1) / SURVEY)])
            study.observe(region, float(measure(region)) + BIAS, labels={"source": "old"})

    def plate(self, number: int) -> int:
        """Return the plate of a reading: all of a plate come one after the other."""
        return number * PLATES // BUDGET


def cases(run: Run) -> dict[str, Outcome]:
    """Play every case on one function."""

    def drift(number: int) -> float:
        return DRIFT * number / BUDGET

    def on_plate(number: int) -> float:
        return float(run.plates[run.plate(number)])

    def mixed(number: int) -> float:
        return float(run.plates[run.random_plates[number]])

    def said(number: int) -> dict[str, Any]:
        return {"plate": run.plate(number)}

    def said_mixed(number: int) -> dict[str, Any]:
        return {"plate": int(run.random_plates[number])}

    plate: dict[str, Any] = {"offsets": ["plate"]}
    source: dict[str, Any] = {"offsets": ["source"]}
    return {
        "clean": run.play(),
        "plates, not said": run.play(on_plate),
        "plates": run.play(on_plate, said, **plate),
        "plates at random, not said": run.play(mixed),
        "plates at random": run.play(mixed, said_mixed, **plate),
        "labels without meaning": run.play(label=said_mixed, **plate),
        "plates without meaning": run.play(label=said, **plate),
        "drift, not said": run.play(drift),
        "drift": run.play(drift, drift=True),
        "no drift, expected": run.play(drift=True),
        f"clean, {FEWER}": run.play(budget=FEWER),
        f"survey, {FEWER}": run.play(budget=FEWER, before=lambda study: run.survey(study, run.f), **source),
        "survey": run.play(before=lambda study: run.survey(study, run.f), **source),
        "useless survey": run.play(before=lambda study: run.survey(study, run.other), **source),
    }


def main(runs: int) -> None:
    """Play all campaigns, and print a line for each function and case."""
    for name in FUNCTIONS:
        rows = [cases(Run(name, seed)) for seed in range(runs)]
        clean = np.array([row["clean"].regret for row in rows])
        for case in rows[0]:
            regret, inside, seconds = np.array([row[case] for row in rows]).T
            error = regret.std(ddof=1) / np.sqrt(runs)
            paired = (regret - clean).std(ddof=1) / np.sqrt(runs)
            print(
                f"{name} {case:27} regret {regret.mean():.4f} +- {error:.4f}, against clean "
                f"{regret.mean() - clean.mean():+.4f} +- {paired:.4f}, median {np.median(regret):.4f}, "
                f"within {inside.mean():4.0%}, {seconds.mean():.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 30)
