"""Does `outlook` keep its promises? The rise promised against the rise that came, over campaigns on draws.

``python -m benchmarks.outlook [RUNS]`` plays RUNS campaigns (200) of each kernel and budget, everything learned,
on functions of three lengthscales with two sizes of noise. At the end of a budget it asks for the outlook, goes
on, and looks at the true average of the region found then. It fails if the mean rise promised is more than 1.3
times or less than half of the mean rise that came, by more than two standard errors. With 200 runs it takes half
an hour of one core.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

import zonal as zn
from zonal.simulation.gp_samples import Prior, model_of

Floats = NDArray[np.float64]

KERNELS = {"RBF": zn.RBF, "Matern 5/2": zn.Matern}
BUDGETS = (12, 20, 40)
AHEAD = (1, 5, 20)
LENGTHSCALES, NOISES = (0.05, 0.1, 0.2), (0.1, 0.3)  # of the axis, of the standard deviation of f
LEAST, MOST = 0.5, 1.3  # of the rise that came


def campaign(model: Prior, noise: float, budget: int, seed: list[int]) -> Floats:
    """Return the rises promised after a budget and those that came, one row a number of measurements ahead."""
    function, errors, search = np.random.SeedSequence(seed).spawn(3)
    landscape = model.draw(np.random.default_rng(function)).landscape
    measure = landscape.simulate(noise, np.random.default_rng(errors))
    study = zn.Study(landscape.space, budget=budget, rng=np.random.default_rng(search))
    study.optimize(measure)
    regret = landscape.regret(study.recommend(on_grid=True).region)
    promised = [study.outlook(n).gain for n in AHEAD]
    came = []
    for n in AHEAD:
        study.extend(budget + n - study.budget)
        study.optimize(measure)
        came.append(regret - landscape.regret(study.recommend(on_grid=True).region))
    return np.column_stack([promised, came])


def cell(name: str, budget: int, runs: int) -> Floats:
    """Return what campaigns of one kernel and budget promised and reached, shape (runs, ahead, 2)."""
    space = zn.Box([(0, 1)])
    models = [model_of(space, KERNELS[name](1.0, scale), None, "maximize") for scale in LENGTHSCALES]
    kinds = [(model, noise) for noise in NOISES for model in models]
    number = list(KERNELS).index(name)
    return np.array([campaign(*kinds[run % len(kinds)], budget, [number, budget, run]) for run in range(runs)])


def kept(gains: Floats) -> bool:
    """Tell whether rises promised and reached, shape (runs, 2), agree within two standard errors."""
    promised, came = gains.T
    over = [promised - MOST * came, LEAST * came - promised]
    return all(miss.mean() <= 2 * miss.std(ddof=1) / np.sqrt(len(miss)) for miss in over)


def report(name: str, gains: Floats) -> None:
    """Print a line for each number of measurements ahead: both means with their standard errors."""
    means, errors = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    for n, mean, error in zip(AHEAD, means, errors, strict=True):
        shown = f"promised {mean[0]:.4f} +- {error[0]:.4f}, came {mean[1]:.4f} +- {error[1]:.4f}"
        print(f"{name:18} n = {n:<2}  {shown}  ({len(gains)} campaigns)", flush=True)


def main(runs: int) -> int:
    """Play all cells, print each as it ends, and return how many promises of a kernel were not kept."""
    everything = []
    for name in KERNELS:
        cells = []
        for budget in BUDGETS:
            cells.append(cell(name, budget, runs))
            report(f"{name}, N = {budget}", cells[-1])
        everything.append(np.concatenate(cells))
        report(name, everything[-1])
    report("all", np.concatenate(everything))
    broken = [n for gains in everything for j, n in enumerate(AHEAD) if not kept(gains[:, j])]
    print(f"not kept: n = {', '.join(map(str, broken))}" if broken else "all promises are kept")
    return len(broken)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
