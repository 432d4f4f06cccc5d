"""Do 90 % intervals cover, and do gaps hold, if the model is given? On draws whose true averages are known.

``python -m benchmarks.sure --runs 40 --page sure`` plays campaigns on functions of three lengthscales with two
sizes of noise, to the end of the budget and to the time when `tolerance` stops them; the table goes into
docs/method.md too. With nothing given: `benchmarks.reliability`.
"""

from __future__ import annotations

import warnings
from typing import Any

import click
import numpy as np

import zonal as zn
from benchmarks import marked
from zonal.simulation.gp_samples import model_of

KERNELS: dict[str, Any] = {
    "RBF": zn.RBF,
    "Matern 5/2": zn.Matern,
}
LENGTHSCALES, NOISES = (0.05, 0.1, 0.2), (0.1, 0.3)  # of the axis, of the standard deviation of f
WITHIN = 1.6449  # standard deviations either side that hold 90 %
SPACE = zn.Box([(0, 1)], smallest=1 / 256)
CASES: dict[str, dict[str, Any]] = {
    "N = 40": {"budget": 40},
    "until `tolerance=0.1` stops it, N = 80 at most": {"budget": 80, "tolerance": 0.1},
}


def campaign(name: str, run: int, budget: int, tolerance: float | None = None) -> tuple[bool, bool]:
    """Return whether the interval of the region found covers its average, and whether the gap holds."""
    seed = [list(KERNELS).index(name), budget, run]
    function, errors, search = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3))
    noise, kernel = NOISES[run % 2], KERNELS[name](1.0, LENGTHSCALES[run % 3])
    measure = model_of(SPACE, kernel, None, "maximize").draw(function).landscape.simulate(noise, errors)
    study = zn.Study(SPACE, budget=budget, rng=search, kernel=kernel, noise=noise)
    study.optimize(measure, tolerance=tolerance)
    best = study.recommend(on_grid=True)  # draws are constant within cells
    truth, average = max(map(measure.average, SPACE.partition.leaf_regions(8))), measure.average(best.region)
    return abs(average - best.mean) <= WITHIN * best.std, truth - average <= best.gap


@click.command()
@click.option("--runs", default=60, help="Of each kernel.")
@click.option("--page", help="Between which marks of docs/method.md the table goes too.")
def main(runs: int, page: str | None) -> None:
    """Count how often 90 % intervals and gaps hold."""
    lines = []
    for case, how in CASES.items():
        found = []
        for name in KERNELS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", zn.ModelWarning)
                held = np.mean([campaign(name, run, **how) for run in range(runs)], axis=0)
            found.append([f"{share:.0%}".replace("%", " %") for share in held])
            click.echo(f"{case}, {name}: intervals {found[-1][0]}, gaps {found[-1][1]} ({runs} runs)")
        covered, held_gaps = (", ".join(column) for column in zip(*found, strict=True))
        lines.append([case, ", ".join(KERNELS), str(runs), covered, held_gaps])
    if page:
        heads = ["kernel and noise given", "functions", "runs of each", "90 % intervals cover", "90 % gaps hold"]
        marked.put(page, marked.table(heads, lines))


if __name__ == "__main__":
    main()
