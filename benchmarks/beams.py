"""How well a beam's width is learned, and what not knowing it costs.

    python -m benchmarks.beams --runs 20 --seed 73000

Functions are random waves on a line, everything else is learned too. The same campaign is played by a study that
is told the width of the beam and by one that is not; regret is that of the recommended region as the true beam
sees it, in standard deviations of the function.
"""

from __future__ import annotations

import warnings
from typing import Any

import click
import numpy as np

import zonal as zn

CELLS = 64
WIDTHS = (0.05, 0.1, 0.2)  # of the beam, in turn
NOISE = 0.05  # of the standard deviation of the function
CLOSE = 0.2  # a width this near to the true one is counted as found


def waves(rng: np.random.Generator) -> Any:
    """Return a random function of points on a line with hills as narrow as a thirtieth of it."""
    rates = np.arange(1, 16)
    sizes, phases = rng.standard_normal(15), rng.uniform(0, 2 * np.pi, 15)
    sizes *= np.exp(-((rates / 10) ** 2))
    sizes /= np.sqrt(np.sum(sizes**2) / 2)

    def height(points: Any) -> Any:
        return np.sum(sizes * np.sin(2 * np.pi * rates * np.asarray(points)[:, :1] + phases), axis=-1)

    return height


def campaign(run: int, budget: int, told: bool) -> tuple[float, float]:
    """Return the regret of a campaign, and the width of the beam that was learned over the true one."""
    width, rng = WIDTHS[run % len(WIDTHS)], np.random.default_rng(run)
    measure = zn.simulate(waves(rng), zn.Beam(width), noise=NOISE, rng=rng)
    space = zn.Box([(0, 1)], smallest=1 / CELLS)
    study = zn.Study(space, budget=budget, feedback=zn.Beam(width) if told else zn.Beam(), rng=run)
    study.optimize(measure)
    truths = [measure.average(region) for region in study.space.partition.leaf_regions(study.space.max_depth())]
    regret = max(truths) - measure.average(study.recommend(on_grid=True).region)
    return regret, 1.0 if told else study.model.beam / width


@click.command()
@click.option("--runs", default=20)
@click.option("--seed", default=73000, help="Of the first run.")
@click.option("--budget", default=60)
def main(runs: int, seed: int, budget: int) -> None:
    """Print how often the width was found, and regrets with and without knowing it."""
    warnings.simplefilter("ignore", zn.ModelWarning)
    regrets: dict[bool, list[float]] = {True: [], False: []}
    ratios = []
    for run in range(seed, seed + runs):
        for told, of_runs in regrets.items():
            regret, ratio = campaign(run, budget, told)
            of_runs.append(regret)
            if not told:
                ratios.append(ratio)
    near = np.mean(np.abs(np.array(ratios) - 1) <= CLOSE)
    low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
    click.echo(f"N = {budget}, {runs} runs, seeds {seed} on: width within {CLOSE:.0%} in {near:.0%} of the runs")
    click.echo(f"learned over true width: median {middle:.2f}, from {low:.2f} to {high:.2f} in 80 % of the runs")
    for told, of_runs in regrets.items():
        error = np.std(of_runs, ddof=1) / np.sqrt(runs)
        click.echo(f"{'told' if told else 'not told'}: mean regret {np.mean(of_runs):.4f} ± {error:.4f}")


if __name__ == "__main__":
    main()
