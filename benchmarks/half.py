"""Half the measurements: the default, nothing given, against the paper's GPOO at N = 80, given kernel, noise, c.

The paper's functions shifted, every other one reflected, times 37, plus 1000. Runs are kept in a file, a line
each, and compared by seed, also with those of another checkout:

    python -m benchmarks.half play new.jsonl --runs 200 --seed 40000
    PYTHONPATH=other/src python -m benchmarks.half play old.jsonl --runs 200 --seed 40000
    python -m benchmarks.half compare new.jsonl old.jsonl   # --page half: also into docs/method.md

What each part of the default is worth, the other parts being as they are: runs are kept in a folder, a file each:

    python -m benchmarks.half parts FOLDER --runs 40 --seed 50000 --page parts

Fairer bars than GPOO at N = 80, on seeds of their own:

    python -m benchmarks.half bars --runs 40 --seed 95000 --page bars
"""

from __future__ import annotations

import json
import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import numpy as np

import zonal as zn
from benchmarks import marked
from zonal.engine import settings as rounds
from zonal.policies import cost_aware, knowledge_gradient
from zonal.policies.base import best
from zonal.simulation import true_optimum

FUNCTIONS = ("f1", "f2", "f3")
SCALE, OFFSET, NOISE = 37.0, 1000.0, 0.1
PAPER = 80  # measurements of the paper's search
LOST = 0.05  # by which more is lost where another hill than the best is taken


CELLS = 256  # smallest cells of the default and of GP-UCB


@dataclass(frozen=True)
class Searched:
    """What a search on one of the paper's functions found, and the truth."""

    result: zn.Result
    measure: Any
    optimum: float

    def regret(self, region: zn.Region | None = None) -> float:
        """Return f* less the true average over a region, that found by default, in units of the functions."""
        return float(self.optimum - self.measure.average(region or self.result.region)) / SCALE

    def best_part(self) -> float:
        """Return the regret of the best 1/256 of the space within the region found: what is not its size."""
        ((low, high),) = self.result.region.bounds
        box = zn.Box([(0, 1)], smallest=1 / CELLS)
        first, last = round(low * CELLS), max(round(low * CELLS) + 1, round(high * CELLS))
        return min(self.regret(box.cell((8, at))) for at in range(first, last))


def search(name: Any, seed: int, budget: int, turned: bool, who: str) -> Searched:
    """Play the default, GP-UCB or the paper's GPOO; the latter two are given kernel, noise and mean."""
    rng = np.random.default_rng([seed, int(name[1])])
    function = zn.reward_function(name, "authors", float(rng.uniform(-0.04, 0.04)))

    def f(points: Any) -> Any:
        return OFFSET + SCALE * np.asarray(function(1 - points if turned else points))

    feedback = zn.Average(10)
    measure = zn.simulate(f, feedback, SCALE * NOISE, rng)
    settings: dict[str, Any] = {"space": zn.Box([(0, 1)], smallest=1 / CELLS)}
    if who != "default":
        settings |= {"kernel": zn.RBF(0.1 * SCALE**2, 0.05), "noise": SCALE * NOISE, "mean": OFFSET}
        settings |= {"policy": zn.UCB()} if who == "UCB" else {}
    if who == "GPOO":
        settings |= {"space": [(0, 1)], "policy": zn.GPOO(zn.GeometricDelta(14 * SCALE, 0.5))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zn.ModelWarning)
        result = zn.maximize(measure, budget=budget, feedback=feedback, rng=seed, **settings)
    return Searched(result, measure, OFFSET + SCALE * true_optimum(function)[1])


def regret(name: Any, seed: int, budget: int, turned: bool) -> float:
    """Return f* less the true average over the region found, in units of the paper's functions."""
    return search(name, seed, budget, turned, "GPOO" if budget == PAPER else "default").regret()


@click.group()
def main() -> None:
    """Play what half the measurements buy, and compare."""


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--function", "functions", multiple=True, default=FUNCTIONS)
@click.option("--budget", "budgets", multiple=True, type=int, default=(20, 40, PAPER))
@click.option("--runs", default=10)
@click.option("--seed", default=0, help="Of the first run.")
@click.option("--turned", type=click.Choice(["half", "never", "always"]), default="half")
def play(path: Path, functions: Any, budgets: Any, runs: int, seed: int, turned: str) -> None:
    """Play runs that are not in the file yet."""
    play_all(path, functions, budgets, runs, seed, turned)


def play_all(path: Path, functions: Any, budgets: Any, runs: int, seed: int, turned: str = "half") -> None:
    """Play runs that are not in the file yet."""
    known = read(path)
    with path.open("a", encoding="utf-8") as file:
        for own in range(seed, seed + runs):
            for name in functions:
                for budget in budgets:
                    if own in known.get((name, budget), {}):
                        continue
                    value = regret(name, own, budget, turned == "always" or (turned == "half" and own % 2 == 1))
                    file.write(json.dumps([name, budget, own, value]) + "\n")
                    file.flush()


def read(path: Path) -> dict[tuple[str, int], dict[int, float]]:
    """Return regrets by function and budget, and by seed."""
    found: dict[tuple[str, int], dict[int, float]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        name, budget, seed, value = json.loads(line)
        found.setdefault((name, budget), {})[seed] = value
    return found


@main.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.argument("other", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--page", help="Between which marks of docs/method.md the table goes too.")
def compare(path: Path, other: Path | None, page: str | None) -> None:
    """Print mean regrets, and ratios of means with 95 % intervals of the bootstrap over seeds."""
    shown = comparison(path, other)
    click.echo(shown)
    if page:
        marked.put(page, shown)


def comparison(path: Path, other: Path | None = None) -> str:
    """Return the table of the runs of a file, beside those of another."""
    from benchmarks.arena.summary import ratio_of_means

    new, old = read(path), read(other or path)

    def against(budget: int, whose: dict[Any, Any], theirs: int, functions: Any) -> str:
        ours, others = (
            {name: own.get((name, at), {}) for name in functions} for own, at in ((new, budget), (whose, theirs))
        )
        found = ratio_of_means(ours, others, floor=0.0)
        return "" if found is None else f"{found['ratio']:.2f} ({found['low']:.2f} to {found['high']:.2f})"

    lines = []
    for budget in sorted({budget for _, budget in new}):
        there = [name for name in FUNCTIONS if (name, budget) in new]
        for functions in [*([name] for name in there), *([there] if len(there) == len(FUNCTIONS) else [])]:
            own = list(new.get((functions[0], budget), {}).values())
            who = f"{budget}, the paper's GPOO" if budget == PAPER else str(budget)
            texts = [who, ", ".join(functions), str(len(own))]
            alone = len(functions) == 1
            texts.append(f"{np.mean(own):.4f} ± {np.std(own) / np.sqrt(len(own)):.4f}" if alone else "")
            texts.append(f"{np.mean(np.array(own) > LOST):.1%}" if alone else "")
            texts.append(against(budget, new, PAPER, functions))
            lines.append([*texts, against(budget, old, budget, functions)] if other else texts)
    heads = ["N", "function", "runs", "mean regret", f"lose more than {LOST}"]
    heads += [f"over the paper's GPOO at N = {PAPER}", "over the other"]
    filled = [at for at in range(len(lines[0])) if any(line[at] for line in lines)]
    return marked.table([heads[at] for at in filled], ([line[at] for at in filled] for line in lines))


def several_measurements(
    tree: Any, questions: Any, prepared: Any, rough: Any, exact: Any, few: int, *_: Any
) -> Any:
    """Return the question of the largest gain for each of 1, 2, 4, 8 or 16 measurements, whatever is best."""
    repeats = np.tile([1.0, 2.0, 4.0, 8.0, 16.0], len(questions))
    at = np.repeat(np.arange(len(questions)), 5)
    ready = prepared(at, repeats)
    some = cost_aware.highest(rough(ready) - np.log(repeats), 3 * few, cost_aware.TIE)
    values = exact([own[some] for own in ready]) - np.log(repeats[some])
    return best(tree, questions[at[some]], values, cost_aware.TIE)


def any_step(
    self: Any, tree: Any, views: Any, number: int = knowledge_gradient.QUESTIONS, by_steps: bool = False
) -> Any:
    """Return the questions, whether their parents were measured or not."""
    return QUESTIONS(self, tree, views, number)


QUESTIONS = knowledge_gradient.BoundKnowledgeGradient.questions
NO_RETRY = 1 << 30
PARTS: dict[str, list[tuple[Any, str, Any]]] = {
    "as it is": [],
    "an opening of 4 cells": [(rounds, "MAX_DESIGN_CELLS", 4)],
    "an opening of 8 cells": [(rounds, "MAX_DESIGN_CELLS", 8)],
    "the guard never": [(knowledge_gradient, "OFTEN", NO_RETRY), (knowledge_gradient, "SELDOM", NO_RETRY)],
    "the guard every second round": [(knowledge_gradient, "SELDOM", 2)],
    "not step by step": [(knowledge_gradient.BoundKnowledgeGradient, "questions", any_step)],
    "a gain of several measurements": [(knowledge_gradient, "largest", several_measurements)],
}


@main.command()
@click.option("--runs", default=40)
@click.option("--seed", default=95000, help="Of the first run.")
@click.option("--page", help="Between which marks of docs/method.md the table goes too.")
def bars(runs: int, seed: int, page: str | None) -> None:
    """Play against GP-UCB over the same cells, given the kernel; say how much of GPOO's regret is cell size."""
    regrets: dict[str, list[list[float]]] = {}
    for name in FUNCTIONS:
        columns: dict[str, list[float]] = {}
        for at in range(seed, seed + runs):
            paper = search(name, at, PAPER, at % 2 == 1, "GPOO")
            for who, value in {
                "40, the default, nothing given": regret(name, at, PAPER // 2, at % 2 == 1),
                "40, GP-UCB over 256 cells, given kernel and noise": search(
                    name, at, PAPER // 2, at % 2 == 1, "UCB"
                ).regret(),
                f"{PAPER}, the paper's GPOO, given kernel, noise and c": paper.regret(),
                "the best 1/256 of the space within GPOO's cell": paper.best_part(),
            }.items():
                columns.setdefault(who, []).append(value)
        for who, values in columns.items():
            regrets.setdefault(who, []).append(values)
    lines = [
        [who, *(f"{np.mean(values):.4f} ± {np.std(values) / np.sqrt(runs):.4f}" for values in by_function)]
        for who, by_function in regrets.items()
    ]
    shown = marked.table([f"N, {runs} runs, seeds {seed} on", *FUNCTIONS], lines)
    click.echo(shown)
    if page:
        marked.put(page, shown)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--budget", default=PAPER // 2)
@click.option("--runs", default=10)
@click.option("--seed", default=50000, help="Of the first run.")
@click.option("--page", help="Between which marks of docs/method.md the table goes too.")
def parts(folder: Path, budget: int, runs: int, seed: int, page: str | None) -> None:
    """Play the default with one part of it changed at a time."""
    folder.mkdir(exist_ok=True, parents=True)
    for name, changes in PARTS.items():
        with ExitStack() as stack:
            for owner, attribute, value in changes:
                stack.enter_context(patch.object(owner, attribute, value))
            play_all(part_of(folder, name), FUNCTIONS, [budget], runs, seed)
    shown = parts_table(folder, budget)
    click.echo(shown)
    if page:
        marked.put(page, shown)


def part_of(folder: Path, name: str) -> Path:
    """Return the file of the runs of the default with a part changed."""
    return folder / f"{name.replace(' ', '-')}.jsonl"


def parts_table(folder: Path, budget: int = PAPER // 2) -> str:
    """Return the table of the runs of a folder."""
    from benchmarks.arena.summary import ratio_of_means

    lines: list[list[str]] = []
    usual: dict[str, dict[int, float]] = {}
    for name, changes in PARTS.items():
        known = read(part_of(folder, name))
        found = {function: known[function, budget] for function in FUNCTIONS}
        usual = usual or found
        means = [list(own.values()) for own in found.values()]
        texts = [f"{np.mean(own):.4f} ± {np.std(own) / np.sqrt(len(own)):.4f}" for own in means]
        ratio = ratio_of_means(found, usual, floor=0.0) if changes else None
        over = "" if ratio is None else f"{ratio['ratio']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
        lines.append([name, *texts, over])
    seeds = usual[FUNCTIONS[0]]
    heads = [f"N = {budget}, {len(seeds)} runs, seeds {min(seeds)} on", *FUNCTIONS, "over the default as it is"]
    return marked.table(heads, lines)


if __name__ == "__main__":
    main()
