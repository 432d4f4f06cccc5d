"""Readings that are no plain numbers: coverage of counts, regret under detection limits, tests of pools.

    python -m benchmarks.counts cover --runs 40 --seed 70000
    python -m benchmarks.counts limits --runs 20 --seed 71000
    python -m benchmarks.counts pools --runs 200 --seed 72000

Everything is learned. Every command prints numbers of runs with its figures, and takes some minutes of one core.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import zonal as zn
from zonal.simulation import true_optimum

FUNCTIONS = ("f1", "f2", "f3")
CELLS, DEPTH = 64, 6
LOW, HIGH = 1.0, 20.0  # of the mean counts
PROBABILITY = 0.9


@click.group()
def main() -> None:
    """Measure what the manual says of counts, limits and pools."""


def waves(rng: np.random.Generator) -> Callable[[Any], Any]:
    """Return a random smooth function of points in [0, 1], between 0 and 1."""
    sizes, phases, rates = rng.standard_normal(6), rng.uniform(0, 2 * np.pi, 6), np.arange(1, 7)

    def height(x: Any) -> Any:
        return np.sum(sizes / np.sqrt(rates) * np.sin(2 * rates * np.asarray(x)[..., None] + phases), axis=-1)

    ends = height(np.linspace(0, 1, 2001))
    low, span = float(ends.min()), float(np.ptp(ends))
    return lambda points: (height(np.asarray(points)[:, 0]) - low) / span


def rates(shape: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function as rates."""
    return lambda points: LOW + (HIGH - LOW) * shape(points)


@main.command()
@click.option("--runs", default=40)
@click.option("--seed", default=70000)
@click.option("--budget", "budgets", multiple=True, type=int, default=(20, 40))
def cover(runs: int, seed: int, budgets: tuple[int, ...]) -> None:
    """Print how many 90 % intervals hold the truth, of rates whose readings are counts of 1 to 20."""
    for budget in budgets:
        held: dict[str, list[bool]] = {"smallest": [], "measured": [], "recommended": []}
        by_run, negative = [], 0
        for run in range(seed, seed + runs):
            rng = np.random.default_rng(run)
            shape = waves(rng)
            measure = zn.simulate(rates(shape), zn.Mean(), rng=rng, likelihood=zn.Counts())
            study = zn.Study(zn.Box([(0, 1)], smallest=1 / CELLS), budget=budget, likelihood=zn.Counts(), rng=run)
            study.optimize(measure)
            cells = [study.space.cell((DEPTH, at)) for at in range(CELLS)]
            places = {"smallest": cells, "measured": [trial.region for trial in study.trials]}
            for name, regions in places.items():
                low, high = study.predict(regions).interval(PROBABILITY)
                truth = np.array([measure.average(region) for region in regions])
                held[name] += ((low <= truth) & (truth <= high)).tolist()
                negative += int(np.sum(low < 0))
            by_run.append(float(np.mean(held["smallest"][-CELLS:])))
            best = study.recommend(on_grid=True)
            low, high = best.interval(PROBABILITY)
            held["recommended"].append(low <= measure.average(best.region) <= high)
            negative += low < 0
        error = np.std(by_run, ddof=1) / np.sqrt(runs)
        shares = ", ".join(f"{name} {np.mean(values):.3f}" for name, values in held.items())
        click.echo(f"N = {budget}, {runs} runs: held {shares} (± {error:.3f}); below zero: {negative}")


@main.command()
@click.option("--runs", default=20)
@click.option("--seed", default=71000)
@click.option("--budget", default=40)
@click.option("--share", default=0.6, help="Of the space, below the limit.")
@click.option("--side", type=click.Choice(["below", "above"]), default="below")
def limits(runs: int, seed: int, budget: int, share: float, side: str) -> None:
    """Print mean regrets where readings beyond a limit are only known to be so, and where they are known."""
    ratios = []
    for name in FUNCTIONS:
        regrets: dict[str, list[float]] = {"known": [], "limited": [], "limit as value": []}
        for run in range(seed, seed + runs):
            shift = float(np.random.default_rng([run, int(name[1])]).uniform(-0.04, 0.04))
            function: Any = zn.reward_function(name, "authors", shift)  # type: ignore[arg-type]
            optimum = true_optimum(function)[1]
            limit = float(np.quantile(function(np.linspace(0, 1, 1001)[:, None]), share))
            for how, values in regrets.items():
                beyond: dict[str, Any] = {} if how == "known" else {side: limit}
                measure = zn.simulate(function, zn.Average(10), 0.1, run, **beyond)

                def read(region: zn.Region, how: str = how, measure: Any = measure) -> Any:
                    value = measure(region)
                    return float(value[1:]) if how == "limit as value" and isinstance(value, str) else value

                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", zn.ModelWarning)
                    best = zn.maximize(
                        read, zn.Box([(0, 1)], smallest=1 / 256), budget=budget, feedback=zn.Average(10), rng=run
                    )
                values.append(float(optimum - measure.average(best.region)))
        means = {how: np.mean(values) for how, values in regrets.items()}
        errors = {how: np.std(values, ddof=1) / np.sqrt(runs) for how, values in regrets.items()}
        ratios.append((means["limited"], means["known"]))
        shown = ", ".join(f"{how} {means[how]:.4f} ± {errors[how]:.4f}" for how in regrets)
        click.echo(f"{name}, N = {budget}, {side} the {share:.0%} quantile, {runs} runs: {shown}")
    limited, known = np.mean(ratios, axis=0)
    click.echo(f"limited over known, mean of the functions: {limited / known:.2f}")


@main.command()
@click.option("--runs", default=100)
@click.option("--seed", default=72000)
@click.option("--members", default=500)
@click.option("--prevalence", default=0.02)
@click.option("--sensitivity", default=0.95)
@click.option("--specificity", default=0.99)
def pools(runs: int, seed: int, members: int, prevalence: float, sensitivity: float, specificity: float) -> None:
    """Print tests a member and error rates of group testing, and of Dorfman's two stages on the same members."""
    pooled = zn.Pooled(sensitivity, specificity)
    size, *_ = pooled.dorfman(prevalence)
    tests: dict[str, list[float]] = {"adaptive": [], "Dorfman": []}
    wrong = {name: np.zeros(2) for name in tests}
    totals = np.zeros(2)
    for run in range(seed, seed + runs):
        rng = np.random.default_rng(run)
        sick = rng.random(members) < prevalence

        def read(pool: Any, rng: np.random.Generator = rng, sick: Any = sick) -> bool:
            return bool(rng.random() < (sensitivity if sick[list(pool)].any() else 1 - specificity))

        testing = zn.GroupTesting(members, prevalence, pooled)
        while not testing.done:
            pool = testing.ask()
            testing.tell(pool, read(pool.members))
        called = {"adaptive": np.isin(np.arange(members), testing.positive), "Dorfman": np.zeros(members, bool)}
        number = 0
        for start in range(0, members, size):
            group = range(start, min(start + size, members))
            number += 1
            if read(group):
                number += len(group)
                called["Dorfman"][group] = [read([member]) for member in group]
        for name, spent in (("adaptive", testing.tests), ("Dorfman", number)):
            tests[name].append(spent / members)
            wrong[name] += (np.sum(sick & ~called[name]), np.sum(~sick & called[name]))
        totals += (sick.sum(), (~sick).sum())
    for name, values in tests.items():
        missed, alarms = wrong[name] / totals
        error = np.std(values, ddof=1) / np.sqrt(runs)
        spread = np.sqrt(missed * (1 - missed) / totals[0])
        click.echo(
            f"{name}, {runs} runs of {members} members, prevalence {prevalence:g}: {np.mean(values):.4f} ± "
            f"{error:.4f} tests a member, missed {missed:.4f} ± {spread:.4f} of the positives, called positive "
            f"{alarms:.5f} of the negatives"
        )


if __name__ == "__main__":
    main()
