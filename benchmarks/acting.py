"""What acting is worth: the set above a threshold, integration time, travel: `python -m benchmarks.acting --help`.

Every run has a function and noise of its own, the same for everybody. Rivals are honest: the default's own data, a
grid, random and straddle for the set; the best fixed time in hindsight; ignoring travel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import zonal as zn
from zonal.policies.baselines import Leaves
from zonal.policies.rules import Draw, Rows, Setting, Views, best
from zonal.problems.draws import model_of
from zonal.tree import Tree

Floats = NDArray[np.float64]

LEAST = 0.01  # what 1 - F1 counts at least
PAPER = ("f1", "f2", "f3")


@dataclass(frozen=True)
class Straddle(Leaves):
    """Measure the smallest region of the highest 1.96 standard deviations less its distance from a threshold."""

    threshold: float = 0.0

    def pick(self, tree: Tree, rows: Rows, t: int, views: Views, setting: Setting, rng: Draw) -> int:
        limit = setting.sign * self.threshold - setting.zero
        return best(tree, rows, 1.96 * tree.std[rows] - np.abs(tree.mean[rows] - limit), setting.tie)


@dataclass(frozen=True, eq=False)
class World:
    """A function on a space: true averages of its smallest cells, and what measures."""

    space: Any
    truth: Floats  # by index of the smallest cells
    instrument: Callable[..., Any]  # noise, random numbers -> instrument
    kernel: Any
    feedback: Any = None

    @property
    def cells(self) -> list[Any]:
        depth = self.space.deepest()
        return [self.space.cell((depth, index)) for index in range(len(self.truth))]


def drawn(d: int, seed: int) -> World:
    """Return a draw: 1-D RBF .05 on 128 cells, 2-D RBF .15 on 16 x 16, of standard deviation 1."""
    cells, scale = {1: (128, 0.05), 2: (16, 0.15)}[d]
    space = zn.Box([(0, 1)] * d, smallest=1 / cells)
    kernel = zn.RBF(1.0, scale)
    landscape = model_of(space, kernel, None, "maximize").draw(np.random.default_rng([seed, d])).landscape
    exact = landscape.simulate(0.0, 0)
    depth = space.deepest() or 0
    truth = np.array([exact.average(space.cell((depth, index))) for index in range(cells**d)])
    return World(space, truth, landscape.simulate, kernel)


def paper(name: Any, seed: int) -> World:
    """Return one of the paper's functions, shifted, half of them reflected, over its standard deviation."""
    rng = np.random.default_rng([seed, int(name[1])])
    own = zn.reward_function(name, "authors", float(rng.uniform(-0.04, 0.04)))
    x = (np.arange(2560) + 0.5)[:, None] / 2560
    std, turned = float(np.std(own(x))), bool(rng.integers(2))

    def f(points: Floats) -> Floats:
        return np.asarray(own(1 - points if turned else points)) / std

    space, feedback = zn.Box([(0, 1)], smallest=1 / 128), zn.Average(10)
    exact = zn.simulate(f, feedback)
    truth = np.array([exact.average(space.cell((7, index))) for index in range(128)])
    return World(space, truth, lambda noise, rng: zn.simulate(f, feedback, noise, rng), None, feedback)


def world(name: str, seed: int) -> World:
    """Return a problem by its name: "1-D", "2-D" or a function of the paper's."""
    return paper(name, seed) if name in PAPER else drawn(int(name[0]), seed)


def ratio(ours: Iterable[float], theirs: Iterable[float]) -> tuple[float, float, float]:
    """Return the geometric mean of paired ratios, and its 95 % interval."""
    logs = np.log(list(ours)) - np.log(list(theirs))
    middle, error = float(logs.mean()), float(logs.std(ddof=1) / math.sqrt(len(logs)))
    return math.exp(middle), math.exp(middle - 1.96 * error), math.exp(middle + 1.96 * error)


def compared(ours: Iterable[float], theirs: Iterable[float]) -> str:
    """Return a ratio with its interval, to be read."""
    return "{:.2f} ({:.2f} to {:.2f})".format(*ratio(ours, theirs))


def shown(losses: list[float]) -> str:
    """Return a mean with its standard error, to be read."""
    return f"{np.mean(losses):.3f} +- {np.std(losses, ddof=1) / math.sqrt(len(losses)):.3f}"


# The set above a threshold.

SHARE = 0.2  # of the cells that lie above
SETS: dict[str, Callable[[float], zn.Policy]] = {
    "Above": lambda limit: zn.Above(limit),
    "Above(top)": lambda limit: zn.Above(top=SHARE),
    "the default": lambda limit: zn.KnowledgeGradient(),
    "random": lambda limit: zn.Random(),
    "grid": lambda limit: zn.UniformGrid(),
    "straddle": lambda limit: Straddle(threshold=limit),
}


def missed(name: str, seed: int, budget: int, noise: Any, policy: str, given: bool) -> float:
    """Return 1 - F1 of the cells that are held to lie above, after so many measurements."""
    here = world(name, seed)
    limit = float(np.quantile(here.truth, 1 - SHARE))
    settings: dict[str, Any] = {"feedback": here.feedback, "policy": SETS[policy](limit), "rng": seed}
    if given:
        settings |= {"kernel": here.kernel, "noise": noise}
    study = zn.Study(here.space, budget=budget, **settings)
    study.optimize(here.instrument(noise, np.random.default_rng([seed, 9])))
    found = np.array(study.probability(here.cells, above=limit)) >= 0.5
    true = here.truth > limit
    return 1 - 2 * float(np.sum(found & true)) / float(np.sum(found) + np.sum(true))


@click.group()
def main() -> None:
    """Play what acting is worth."""


@main.command()
@click.option("--problem", "problems", multiple=True, default=("1-D", "2-D", *PAPER))
@click.option("--policy", "policies", multiple=True, default=tuple(SETS))
@click.option("--budget", "budgets", multiple=True, type=int, default=(40, 80, 160))
@click.option("--noise", default="0.333", help="Of one measurement, f having standard deviation 1; 'falling'.")
@click.option("--runs", default=5)
@click.option("--seed", default=0, help="Of the first run.")
@click.option("--given", is_flag=True, help="Kernel and noise are given.")
def above(problems: Any, policies: Any, budgets: Any, noise: str, runs: int, seed: int, given: bool) -> None:
    """1 - F1 of the cells above a threshold, which has a fifth of them above it."""
    losses: dict[str, list[float]] = {policy: [] for policy in policies}
    for problem in problems:
        for budget in budgets:
            for policy in policies:
                std: Any = zn.PerWeight(2 / math.sqrt(128)) if noise == "falling" else float(noise)
                own = [missed(problem, seed + run, budget, std, policy, given) for run in range(runs)]
                losses[policy] += [max(loss, LEAST) for loss in own]
                click.echo(f"{problem:4} N {budget:3} {policy:12} {shown(own)}")
    for policy in policies[1:]:
        click.echo(f"{policies[0]} over {policy}: {compared(losses[policies[0]], losses[policy])}")


if __name__ == "__main__":
    main()
