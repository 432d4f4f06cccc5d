"""Does learning cost anything? `make arena` plays the paper's functions, shifted at random, with and without.

GPOO is given kernel, noise and c = 14 as in the paper, or nothing at all. Regret is against the refined optimum,
after 80 measurements, mean over 100 runs. Fails if learning is worse than 1.5 times on f1 and f2, or on f3, whose
lengthscale the paper's search was not told, higher than the error of the difference explains.
"""

from __future__ import annotations

import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import zonal as zn
from zonal.problems import aggregated_regret, true_optimum

RUNS, BUDGET, NOISE = 100, 80, 0.1


def regret(name: str, learned: bool, seed: int) -> float:
    """Return the aggregated regret of one run."""
    shift = float(np.random.default_rng([seed, 1]).uniform(-0.04, 0.04))
    f = zn.reward_function(name, "authors", shift)  # type: ignore[arg-type]
    feedback = zn.Average(10)
    measure = zn.simulate(f, feedback, NOISE, rng=seed)
    if learned:
        result = zn.maximize(measure, [(0, 1)], BUDGET, feedback=feedback)
    else:
        policy = zn.GPOO(zn.GeometricDelta(14, 0.5))
        kernel = zn.RBF(0.1, 0.05)
        result = zn.maximize(
            measure, [(0, 1)], BUDGET, feedback=feedback, kernel=kernel, noise=NOISE, policy=policy
        )
    return aggregated_regret(measure, result.region, true_optimum(f)[1])


def main() -> None:
    """Print the table; exit with 1 if a bound is broken."""
    broken = False
    print(f"{'function':8} {'given':>17} {'learned':>17}  ratio  bound   ({RUNS} runs, N = {BUDGET})")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in ("f1", "f2", "f3"):
            given, learned = (
                np.array(list(pool.map(regret, [name] * RUNS, [which] * RUNS, range(RUNS), chunksize=5)))
                for which in (False, True)
            )
            error = math.sqrt((given.var(ddof=1) + learned.var(ddof=1)) / RUNS)
            if name == "f3":
                fine, bound = learned.mean() - given.mean() <= 2 * error, f"given + 2 x {error:.4f}"
            else:
                fine, bound = learned.mean() <= 1.5 * given.mean(), "1.5"
            broken |= not fine
            figures = [f"{x.mean():.4f} +- {x.std(ddof=1) / math.sqrt(RUNS):.4f}" for x in (given, learned)]
            ratio = learned.mean() / given.mean()
            print(
                f"{name:8} {figures[0]:>17} {figures[1]:>17}  {ratio:5.2f}  {bound}{'' if fine else '   BROKEN'}"
            )
    sys.exit(broken)


if __name__ == "__main__":
    main()
