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
from zonal.policies.base import PolicyContext, RngFactory, Rows, Views, best
from zonal.policies.baselines import Leaves
from zonal.simulation.gp_samples import model_of
from zonal.tree import Tree

Floats = NDArray[np.float64]

LEAST = 0.01  # what 1 - F1 counts at least
PAPER = ("f1", "f2", "f3")


@dataclass(frozen=True)
class Straddle(Leaves):
    """Measure the smallest region of the highest 1.96 standard deviations less its distance from a threshold."""

    threshold: float = 0.0

    def pick(self, tree: Tree, rows: Rows, t: int, views: Views, context: PolicyContext, rng: RngFactory) -> int:
        limit = context.sign * self.threshold - context.zero
        return best(tree, rows, 1.96 * tree.std[rows] - np.abs(tree.mean[rows] - limit), context.tie)


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
        depth = self.space.max_depth()
        return [self.space.cell((depth, index)) for index in range(len(self.truth))]


def drawn(d: int, seed: int) -> World:
    """Return a draw: 1-D RBF .05 on 128 cells, 2-D RBF .15 on 16 x 16, of standard deviation 1."""
    cells, scale = {1: (128, 0.05), 2: (16, 0.15)}[d]
    space = zn.Box([(0, 1)] * d, smallest=1 / cells)
    kernel = zn.RBF(1.0, scale)
    landscape = model_of(space, kernel, None, "maximize").draw(np.random.default_rng([seed, d])).landscape
    exact = landscape.simulate(0.0, 0)
    depth = space.max_depth() or 0
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
    elif not isinstance(noise, float):  # that noise falls with size is said; how large it is, is learned
        settings["noise"] = zn.PerWeight()
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


# Integration time.

TIMES = (1.0, 2.0, 4.0, 8.0, 16.0)
SPEEDS = (10.0, 30.0)
OVERHEADS, RATIOS = (0.2, 1.0, 5.0), (0.3, 1.0, 3.0)  # overheads, and std of f over the noise of time 1


def regret(name: str, seed: int, noise: float, given: bool, **prices: Any) -> tuple[float, int]:
    """Return by how much the region found falls short of the best, and the measurements made."""
    here = world(name, seed)
    settings: dict[str, Any] = {"feedback": here.feedback, "rng": seed, **prices}
    if given:
        settings |= {"kernel": here.kernel, "noise": noise}
    study = zn.Study(here.space, **settings)
    study.optimize(here.instrument(noise, np.random.default_rng([seed, 9])))
    found = study.recommend(on_grid=True).region.node
    assert found is not None
    return float(here.truth.max() - here.truth[found[1]]), study.measured


@main.command()
@click.option("--problem", "problems", multiple=True, default=("1-D", "2-D", *PAPER))
@click.option("--overhead", "overheads", multiple=True, type=float, default=OVERHEADS)
@click.option("--snr", "ratios", multiple=True, type=float, default=RATIOS)
@click.option("--runs", default=5)
@click.option("--seed", default=0, help="Of the first run.")
@click.option("--given", is_flag=True, help="Kernel and noise are given.")
@click.option("--fixed", multiple=True, type=float, default=(1.0, 4.0, 16.0))
def time(problems: Any, overheads: Any, ratios: Any, runs: int, seed: int, given: bool, fixed: Any) -> None:
    """Regret with times to choose from, and with one fixed time, for the same cost."""
    every: dict[Any, list[float]] = {}
    for problem in problems:
        for overhead in overheads:
            for ratio_ in ratios:
                budget = (40 if given else 30) * (overhead + 4)
                for name, times in {"chosen": TIMES, **{own: (own,) for own in fixed}}.items():
                    prices = {"times": times, "overhead": overhead, "budget": budget}
                    runs_ = [regret(problem, seed + run, 1 / ratio_, given, **prices) for run in range(runs)]
                    own = [loss for loss, _ in runs_]
                    every.setdefault(name, []).append(float(np.mean(own)))
                    counts = np.mean([number for _, number in runs_])
                    click.echo(
                        f"{problem:4} overhead {overhead} SNR {ratio_} {name!s:6} {shown(own)} {counts:5.0f} made"
                    )
    best = np.min([every[own] for own in fixed], axis=0)
    means = {name: np.array(own) for name, own in every.items()}
    for name in fixed:
        click.echo(f"chosen over {name}: {compared(means['chosen'], means[name])} over settings")
    click.echo(f"chosen over the best fixed time in hindsight: {compared(means['chosen'], best)}")
    click.echo(f"mean regret: { {name: round(float(own.mean()), 4) for name, own in means.items()} }")


# Travel.


@main.command()
@click.option("--problem", default="1-D")
@click.option("--speed", "speeds", multiple=True, type=float, default=SPEEDS)
@click.option("--snr", "ratios", multiple=True, type=float, default=(1.0, 3.0))
@click.option("--runs", default=5)
@click.option("--seed", default=0, help="Of the first run.")
@click.option("--given", is_flag=True, help="Kernel and noise are given.")
@click.option("--batch", default=1)
def travel(problem: str, speeds: Any, ratios: Any, runs: int, seed: int, given: bool, batch: int) -> None:
    """Regret where travel costs, and of whoever ignores them but pays, for the same cost."""
    for speed in speeds:
        for ratio_ in ratios:
            budget = 40 * (1 + 0.3 * speed)
            own = [
                journey(problem, seed + run, 1 / ratio_, given, speed, budget, True, batch) for run in range(runs)
            ]
            other = [
                journey(problem, seed + run, 1 / ratio_, given, speed, budget, False, batch) for run in range(runs)
            ]
            (ours, counts), (theirs, fewer) = zip(*own, strict=True), zip(*other, strict=True)
            apart = np.array(ours) - np.array(theirs)
            click.echo(
                f"v {speed} SNR {ratio_}: {np.mean(ours):.3f} over {np.mean(theirs):.3f} is "
                f"{np.mean(ours) / np.mean(theirs):.2f}, paired {shown(apart.tolist())}; "
                f"{np.mean(counts):.0f} measurements instead of {np.mean(fewer):.0f}"
            )


def journey(
    name: str, seed: int, noise: float, given: bool, speed: float, budget: float, knows: bool, batch: int
) -> tuple[float, int]:
    """Return the regret, and the measurements, of a study that knows what travel costs, or pays for it without."""
    here = world(name, seed)
    model: dict[str, Any] = {"kernel": here.kernel, "noise": noise} if given else {}
    prices: dict[str, Any] = (
        {"budget": budget, "travel": speed} if knows else {"budget": 40}
    )  # as many as it can pay, on average
    study = zn.Study(here.space, feedback=here.feedback, rng=seed, **prices, **model)
    measure = here.instrument(noise, np.random.default_rng([seed, 9]))
    spent, place, before = 0.0, None, study.recommend(on_grid=True).region
    while True:
        try:
            trials = study.ask(batch)
        except zn.BudgetSpent:
            if not knows:
                study.extend(batch)
                continue
            if batch == 1:
                break
            batch = 1
            continue
        for trial in trials:
            spent += 1 + (0.0 if place is None else speed * float(np.linalg.norm(trial.region.center - place)))
            place = trial.region.center
            if spent <= budget * (1 + 1e-9):
                study.tell(trial, measure(trial.region))
        if spent > budget * (1 + 1e-9):
            break
        before = study.recommend(on_grid=True).region
    region = study.recommend(on_grid=True).region if knows else before
    assert region.node is not None
    return float(here.truth.max() - here.truth[region.node[1]]), study.measured


if __name__ == "__main__":
    main()
