"""What gross errors cost, with and without the rule that asks again: mean regrets of simulated campaigns.

    python -m benchmarks.gross_errors --runs 40 --budget 40 --group paper

Everything is learned. The problems are the paper's three functions and five smooth or rugged ones in the plane; if
`ioh` is there, they are BBOB's, as in the arena, else functions of the same kinds written here. A run plays one
problem with clean readings, with one and two slipped decimal points, with 5 % of readings off by ten standard
deviations, and with one value of 1e6, the same readings otherwise.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import zonal as zn
from benchmarks.arena import problems
from zonal.engine.events import SetAside
from zonal.simulation import from_table

Floats = NDArray[np.float64]
Spoil = Callable[[np.random.Generator, int, float], Callable[[int, float], float]]
SEED = 36_000  # of the first run; --first moves on to fresh ones
HALF = problems.WINDOW


def _rastrigin(x: Floats) -> Floats:
    return np.asarray(-np.sum(x**2 - 10 * np.cos(2 * np.pi * x / 3) + 10, axis=-1))


def _steps(x: Floats) -> Floats:
    return np.asarray(-np.round(np.abs(x[..., 0]) * 2) - 3 * np.round(np.abs(x[..., 1] + 0.4 * x[..., 0]) * 2))


def _schaffers(x: Floats) -> Floats:
    s = np.hypot(x[..., 0], 2 * x[..., 1])
    return np.asarray(-((np.sqrt(s) + np.sqrt(s) * np.sin(3 * s**0.4) ** 2) ** 2))


def _sphere(x: Floats) -> Floats:
    return np.asarray(-np.sum(x**2, axis=-1))


def _peaks(x: Floats) -> Floats:
    rng = np.random.default_rng(101)
    centers, widths = rng.uniform(-4, 4, (20, 2)), rng.uniform(0.5, 1.5, 20)
    centers[0], heights = 0.0, np.append(10.0, rng.uniform(1, 8, 19))
    square = np.sum((x[..., None, :] - centers) ** 2, axis=-1)
    return np.asarray((heights * np.exp(-square / (2 * widths**2))).max(axis=-1))


KINDS = {
    "sphere": _sphere,
    "step-ellipsoid": _steps,
    "Schaffers": _schaffers,
    "Gallagher 101": _peaks,
    "Rastrigin": _rastrigin,
}


def stand_in(name: str, rng: np.random.Generator) -> problems.Problem:
    """Return a function of the kind of one of BBOB's, turned and moved at random: a table of 32 x 32 averages."""
    cells, angle, shift = problems.CELLS[2], rng.uniform(0, 2 * np.pi), rng.uniform(-3, 3, 2)
    fine = (np.arange(4 * cells) + 0.5) / (4 * cells) * 2 * HALF - HALF
    x = np.stack(np.meshgrid(fine, fine, indexing="ij"), axis=-1) - shift
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    values = KINDS[name](x @ turn)
    averages = values.reshape(cells, 4, cells, 4).mean(axis=(1, 3))
    space = zn.Box([(-HALF, HALF)] * 2, smallest=2 * HALF / cells)
    noise = 0.1 * float(averages.std())
    landscape = from_table(space, values)
    return problems.Problem(space, averages, lambda noises: landscape.simulate(noise, noises), noise)


def drawn(name: str, run: int, rng: np.random.Generator) -> problems.Problem:
    """Return a problem of one run."""
    if name in ("f1", "f2", "f3"):
        return problems.paper(name).draw(run, rng)
    if importlib.util.find_spec("ioh"):
        return problems.bbob(name, 2).draw(run, rng)
    return stand_in(name, rng)


def slips(number: int) -> Spoil:
    """Return what moves the decimal point of some readings by one place to the right."""

    def spoil(rng: np.random.Generator, budget: int, noise: float) -> Callable[[int, float], float]:
        at = set(rng.choice(budget, number, replace=False).tolist())
        return lambda k, value: value * 10 if k in at else value

    return spoil


def tens(rng: np.random.Generator, budget: int, noise: float) -> Callable[[int, float], float]:
    """Add ten standard deviations of the noise, up or down, to 5 % of the readings, each at random."""
    off = np.where(rng.random(budget) < 0.05, 10 * noise * rng.choice([-1.0, 1.0], budget), 0.0)
    return lambda k, value: value + float(off[k])


def spread(rng: np.random.Generator, budget: int, noise: float) -> Callable[[int, float], float]:
    """Add errors with a standard deviation of ten times the noise to 5 % of the readings."""
    off = np.where(rng.random(budget) < 0.05, 10 * noise * rng.standard_normal(budget), 0.0)
    return lambda k, value: value + float(off[k])


def million(rng: np.random.Generator, budget: int, noise: float) -> Callable[[int, float], float]:
    """Return one value of 1e6, or -1e6."""
    at, value_then = int(rng.integers(budget)), float(rng.choice([-1e6, 1e6]))
    return lambda k, value: value_then if k == at else value


def clean(rng: np.random.Generator, budget: int, noise: float) -> Callable[[int, float], float]:
    """Leave readings as they are."""
    return lambda k, value: value


ERRORS: dict[str, Spoil] = {
    "clean": clean,
    "one slip": slips(1),
    "two slips": slips(2),
    "5 % at 10 sd": tens,
    "5 % N(0, 10 sd)": spread,
    "one of 1e6": million,
}


@dataclasses.dataclass(frozen=True)
class Played:
    """What came of one campaign."""

    regret: float  # as a share of the range of the averages
    repeats: int  # readings that were not believed alone
    aside: int  # readings set aside at the end
    wrong: int  # of these, readings that were right
    seconds: float


def play(name: str, error: str, budget: int, seed: int, rule: bool, given: bool = False) -> Played:
    """Play one campaign."""
    problem = drawn(name, seed % 1000, np.random.default_rng([seed, 1]))
    measure = problem.instrument(np.random.default_rng([seed, 2]))
    noise: Any = problem.noise
    spoil = ERRORS[error](np.random.default_rng([seed, 3]), budget, noise)
    told: dict[str, Any] = {}
    if given:
        told = {"kernel": zn.RBF(float(problem.averages.var()), 0.05), "noise": noise}
    start, spoilt = time.process_time(), set[int]()
    study = zn.Study(
        problem.space,
        budget=budget,
        feedback=problem.feedback,
        rng=seed,
        gross_errors=None if rule else False,
        **told,
    )
    for k in range(budget):
        trial = study.ask()
        value = float(measure(trial.region))
        given_value = spoil(k, value)
        if given_value != value:
            spoilt.add(trial.number)
        study.tell(trial, given_value)
    aside = {trial.number for trial in study.trials if trial.state == "set aside"}
    doubts = [event for events in study.events for event in events if isinstance(event, SetAside) and event.waits]
    repeats = len({event.number for event in doubts})
    best = study.recommend(on_grid=True).region
    regret = problem.averages.max() - np.mean([problem.averages[parts] for parts in problem.within(best)])
    scale = 1.0 if name in ("f1", "f2", "f3") else float(np.ptp(problem.averages))
    return Played(float(regret) / scale, repeats, len(aside), len(aside - spoilt), time.process_time() - start)


GROUPS = {"paper": ("f1", "f2", "f3"), "plane": tuple(KINDS)}


def main() -> None:
    """Play what was asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--names", nargs="*", default=[*GROUPS["paper"], *GROUPS["plane"]])
    parser.add_argument("--errors", nargs="*", default=list(ERRORS))
    parser.add_argument("--off", action="store_true", help="the same without the rule")
    parser.add_argument("--given", action="store_true", help="kernel and noise given")
    parser.add_argument("--json", help="a file for all results")
    options = parser.parse_args()
    every: list[dict[str, Any]] = []
    print(f"{'problem':15} {'errors':16} rule  regret (error)   repeats  aside  wrong  s")
    for name in options.names:
        for error in options.errors:
            for rule in (True, False) if options.off else (True,):
                seeds = range(SEED + options.first, SEED + options.first + options.runs)
                runs = [play(name, error, options.budget, seed, rule, options.given) for seed in seeds]
                every += [{"name": name, "error": error, "rule": rule, **dataclasses.asdict(run)} for run in runs]
                table = np.array([dataclasses.astuple(run) for run in runs], dtype=float)
                mean, error_of_mean = table.mean(axis=0), table[:, 0].std(ddof=1) / math.sqrt(len(runs))
                print(
                    f"{name:15} {error:16} {'on ' if rule else 'off'}  {mean[0]:.4f} ({error_of_mean:.4f})  "
                    f"{mean[1]:6.2f}  {mean[2]:5.2f}  {mean[3]:5.2f}  {mean[4]:.2f}",
                    flush=True,
                )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(every, file)


if __name__ == "__main__":
    main()
