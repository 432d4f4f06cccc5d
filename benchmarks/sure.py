"""Do 90 % intervals cover, and do gaps hold? On draws whose true averages are known.

``python -m benchmarks.sure --runs 40 --page sure`` plays campaigns on functions of three lengthscales with two
sizes of noise, with and without a given model, to the end of the budget and to the time when `tolerance` stops
them, and on steps; the table goes into docs/method.md too.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import click
import numpy as np

import zonal as zn
from benchmarks import marked
from zonal.simulation.gp_samples import model_of

KERNELS: dict[str, Any] = {
    "RBF": zn.RBF,
    "Matern 5/2": zn.Matern,
    "Matern 1/2": partial(zn.Matern, nu=0.5),
}
LENGTHSCALES, NOISES = (0.05, 0.1, 0.2), (0.1, 0.3)  # of the axis, of the standard deviation of f
WITHIN = 1.6449  # standard deviations either side that hold 90 %
SPACE = zn.Box([(0, 1)], smallest=1 / 256)
CASES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "kernel and noise given, N = 40": (("RBF", "Matern 5/2"), {"budget": 40, "given": True}),
    "the same until `tolerance=0.1` stops it, N = 80 at most": (
        ("RBF", "Matern 5/2"),
        {"budget": 80, "given": True, "tolerance": 0.1},
    ),
    "nothing given, N = 80": (("RBF", "Matern 5/2", "Matern 1/2", "steps"), {"budget": 80}),
    "the same until `tolerance=0.1` stops it": (("RBF", "Matern 5/2"), {"budget": 80, "tolerance": 0.1}),
}


def steps(rng: np.random.Generator) -> Any:
    """Return a function of eight plateaus, of standard deviation 1."""
    edges, heights = np.sort(rng.uniform(size=7)), rng.standard_normal(8)
    return lambda x: heights[np.searchsorted(edges, x[:, 0])]


def campaign(
    name: str, run: int, budget: int, given: bool = False, tolerance: float | None = None
) -> tuple[bool, bool]:
    """Return whether the interval of the region found covers its average, and whether the gap holds."""
    seed = [list(KERNELS).index(name) if name in KERNELS else 9, budget, run]
    function, errors, search = (np.random.default_rng(own) for own in np.random.SeedSequence(seed).spawn(3))
    noise, scale = NOISES[run % 2], LENGTHSCALES[run % 3]
    measure: Any
    settings: dict[str, Any] = {}
    if name in KERNELS:
        kernel = KERNELS[name](1.0, scale)
        measure = model_of(SPACE, kernel, None, "maximize").draw(function).landscape.simulate(noise, errors)
        settings = {"kernel": kernel, "noise": noise} if given else {}
    else:
        measure = zn.simulate(steps(function), zn.Mean(), noise, errors)
    study = zn.Study(SPACE, budget=budget, rng=search, **settings)
    study.optimize(measure, tolerance=tolerance)
    found = study.recommend(on_grid=True)  # draws are constant within cells
    depth = SPACE.max_depth() or 0
    truth = [measure.average(SPACE.cell((depth, index))) for index in range(256)]
    own = measure.average(found.region)
    return abs(own - found.mean) <= WITHIN * found.std, max(truth) - own <= found.gap


@click.command()
@click.option("--runs", default=60, help="Of each kernel.")
@click.option("--page", help="Between which marks of docs/method.md the table goes too.")
def main(runs: int, page: str | None) -> None:
    """Count how often 90 % intervals and gaps hold."""
    lines = []
    for case, (names, how) in CASES.items():
        found = []
        for name in names:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", zn.ModelWarning)
                held = np.mean([campaign(name, run, **how) for run in range(runs)], axis=0)
            found.append([f"{share:.0%}".replace("%", " %") for share in held])
            click.echo(f"{case}, {name}: intervals {found[-1][0]}, gaps {found[-1][1]} ({runs} runs)")
        covered, held_gaps = (", ".join(column) for column in zip(*found, strict=True))
        lines.append([case, ", ".join(names), str(runs), covered, held_gaps])
    if page:
        heads = ["", "functions", "runs of each", "90 % intervals cover", "90 % gaps hold"]
        marked.put(page, marked.table(heads, lines))


if __name__ == "__main__":
    main()
