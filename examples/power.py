"""How many measurements does it take? The regret to expect of a budget, before the first measurement.

python examples/power.py --runs 50 --out power.png
"""

import argparse

import matplotlib.pyplot as plt

import zonal as zn
from zonal.plotting import column_width

STRIP = zn.Box({"x": (0, 1)}, units={"x": "m"})
NOISES = {"a quiet instrument": 0.1, "a noisy one": 1.0}  # beside f with standard deviation 1


def main(budget: int, runs: int, out: str) -> None:
    """Play up to a budget with two instruments, print both tables and draw both curves."""
    with column_width():
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
        for ax, (name, noise) in zip(axes, NOISES.items(), strict=True):
            expected = zn.power(STRIP, budget, noise=noise, runs=runs)
            print(f"{name}: noise {noise:g}, {runs} runs\n{expected}")
            print(f"first budget with its whole interval below 0.25: {expected.budget_for(0.25)}\n")
            expected.plot(ax).set_title(f"{name}: noise {noise:g}", y=1.17)
        axes[1].set_ylabel("")
        figure.savefig(out, dpi=130)


if __name__ == "__main__":  # below it, because every worker process reads this file
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=int, default=80)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--out", default="power.png")
    main(**vars(parser.parse_args()))
