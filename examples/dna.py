"""Find the DNA motif that a protein binds best, by measuring pools of sequences that share a prefix.

    python examples/dna.py --runs 30 --out dna.png

A pool such as TGATACNN holds all 16 sequences that begin with TGATAC; its score is their average, with noise.
Pools of 16 are the smallest worth ordering. Correlations of positions and the noise are learned.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

import zonal as zn
from zonal import data
from zonal.plots import column_width, plot_regions, plot_regrets
from zonal.problems import Landscape, from_table
from zonal.rehearsal import everybody, rehearse

NOISE = 0.05  # the scores range from -0.5 to 0.5


def motifs(study: zn.Study, landscape: Landscape, number: int = 8) -> str:
    """Return the pools with the highest posterior means, each with its true average."""
    tree = study.tree
    smallest = np.flatnonzero(tree.depth == tree.depth.max())
    lines = ["motif      estimate  std    truth  measured"]
    for row in smallest[np.argsort(-tree.mean[smallest])][:number]:
        pool = study.space.cell((int(tree.depth[row]), int(tree.index[row])))
        known = f"{tree.mean[row]:8.3f}  {tree.std[row]:.3f}  {landscape.average(pool):5.3f}"
        lines.append(f"{pool.name}   {known}  {tree.count[row]:8d}")
    return "\n".join(lines)


def main(runs: int, share: float, out: str) -> None:
    """Compare Zonal with three ways to do without it, draw a tree of prefixes, and list the best motifs."""
    space = zn.Sequences("ACGT", 8, smallest=16)
    landscape = from_table(space, data.tfbind8().e_score)
    best, pools = landscape.best(), space.count(space.deepest())
    budget = round(share * pools)
    players = everybody(space, value_name="binding score")
    rehearsal = rehearse(landscape, budget, NOISE, runs, players)
    print(f"{budget} measurements for {pools} pools of 16, {runs} runs")
    print(f"best pool: {best.average:.3f}, {best.region.name}\n{rehearsal.table()}\n")
    studies = {}
    for name in ("Zonal, UCB", "Zonal, GPOO"):
        rng = np.random.default_rng(0)
        studies[name] = players[name].study(landscape, landscape.simulate(NOISE, rng), budget, rng)
    print(motifs(studies["Zonal, UCB"], landscape))
    print("\ncorrelation by position:", *np.round(studies["Zonal, UCB"].model.kernel.correlations(8), 2))
    with column_width():
        figure, (tree, regrets) = plt.subplots(
            2, 1, figsize=(10, 7.6), height_ratios=[1.6, 1], layout="constrained"
        )
        plot_regions(studies["Zonal, GPOO"], tree)
        tree.set_title("the tree of prefixes that GPOO grew: pools measured (dots) and the pool found (green)")
        plot_regrets(rehearsal, regrets).set_title(f"{budget} measurements, {runs} runs")
        figure.savefig(out, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--out", default="dna.png")
    main(**vars(parser.parse_args()))
