"""Find the DNA motif that a protein binds best, by measuring pools: by their prefix, and by the k-mers in them.

    python examples/dna.py --runs 30 --out dna.png

A pool such as TGATACNN holds all sequences that begin with TGATAC, mixed as the synthesiser mixes an N. What it
shows is the average affinity, with noise that grows with it.
"""

import argparse
import math
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from campaigns import Plan, keep, settled
from plates import by_plates, on_plates

import zonal as zn
from zonal.plotting import column_width, plot_regrets, plot_tree
from zonal.simulation import Landscape, datasets, from_table
from zonal.simulation.rehearsal import everybody

SCALE = 0.3  # of the logarithm of the intensity: z-scores count its standard deviations
MIXED = np.array([0.3, 0.2, 0.2, 0.3])  # of A, C, G and T in an N
SHARE = 0.02  # measurements a pool
RELATIVE = 0.15  # noise of a measurement, relative to what is measured
K, FIXED = 4, 6  # letters of a k-mer, and of a pool's prefix
STD = 3.0  # of the affinity of a pool: an affinity of 10 would be no wonder


def affinities() -> np.ndarray:
    """Return the affinity of all 8-mers, relative to a typical one: what a pool averages, unlike a score."""
    return np.exp(SCALE * datasets.tfbind8().z_score)


def by_prefix() -> Landscape:
    """Return pools by their first letters."""
    return from_table(zn.Sequences("ACGT", 8, frequencies=MIXED, smallest=4 ** (8 - FIXED)), affinities())


def by_kmers() -> Landscape:
    """Return the same pools by number; `alike` tells how much two of them have in common."""
    names = [text[:FIXED] for text in datasets.tfbind8().sequences[:: 4 ** (8 - FIXED)]]
    levels = {f"{h} letters": [name[:h].ljust(8, "N") for name in names] for h in range(1, FIXED + 1)}
    numbers = np.arange(len(names), dtype=float)[:, None]
    space = zn.Hierarchy.from_table(levels, numbers, feature_names=("pool",))
    return from_table(space, _pooled(affinities()[:, None])[:, 0])


def alike(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the covariance of pools by number: a kernel on k-mers."""
    return _covariance()[np.ix_(x[:, 0].astype(int), y[:, 0].astype(int))]


@cache
def _covariance() -> np.ndarray:
    """Return the covariance of all pools: RBF in the k-mers to expect in them, as wide as pools lie apart."""
    letters = _letters()
    windows = np.stack([letters[:, j : j + K] for j in range(8 - K + 1)])
    powers = 4 ** np.arange(K)
    code = np.minimum(windows @ powers, (3 - windows[:, :, ::-1]) @ powers)  # a k-mer or its reverse complement
    counts = _pooled(np.stack([(code == one).sum(axis=0) for one in np.unique(code)], axis=1))
    squares = np.sum(counts**2, axis=1)
    distance = np.maximum(squares[:, None] + squares - 2 * counts @ counts.T, 0.0)  # squared
    return STD**2 * np.exp(-distance / (2 * np.median(distance)))


@cache
def _letters() -> np.ndarray:
    return np.array([["ACGT".index(letter) for letter in text] for text in datasets.tfbind8().sequences])


def _pooled(values: np.ndarray) -> np.ndarray:
    """Return what sequences have on average over each pool."""
    shares = MIXED[_letters()[:, FIXED:]].prod(axis=1)[:, None]  # of a sequence in its pool
    return (values * shares).reshape(4**FIXED, -1, values.shape[1]).sum(axis=1)


def assay(instrument, region: zn.Region) -> float:
    """Return an affinity with multiplicative noise: of twice the signal, twice the noise."""
    average = instrument.average(region)
    return average * math.exp(instrument(region) - average - RELATIVE**2 / 2)


def plans(share: float = SHARE) -> dict[str, Plan]:
    """Return what is compared on each tree."""
    made = {}
    for name, landscape in (("prefix", by_prefix()), ("k-mers", by_kmers())):
        known = {"kernel": alike, "mean": 1.0} if name == "k-mers" else {}  # a typical affinity is 1
        players = settled(everybody(landscape.space, value_name="affinity", **known), assay)
        if name == "k-mers":  # a costly space: the default alone, against people without a model
            players = {who: one for who, one in players.items() if not who.startswith("Zonal,")}
        made[name] = Plan(landscape, round(share * 4**FIXED), RELATIVE, players)
    return made


def plate_plan(share: float = SHARE) -> Plan:
    """Return what is compared on plates, by prefix."""
    return on_plates(by_prefix(), round(share * 4**FIXED), RELATIVE, assay)


def main(runs: int, share: float, out: str, results: Path | None) -> None:
    """Compare Zonal with three ways to do without it, and draw a campaign by prefix."""
    with column_width():
        figure, axes = plt.subplots(3, 1, figsize=(10, 10.5), height_ratios=[1.6, 1, 1], layout="constrained")
        for (name, plan), ax in zip(plans(share).items(), axes[1:], strict=True):
            budget, best, number, rehearsal = plan.budget, plan.landscape.best(), 4**FIXED, plan.play(runs)
            keep(results, name, rehearsal)
            print(f"by {name}: {budget} measurements for {number} pools of 16, {runs} runs")
            print(f"best pool: {best.average:.2f}, {best.region.name.split(' > ')[-1]}\n{rehearsal.table()}\n")
            plot_regrets(rehearsal, ax).set_title(f"by {name}: {budget} measurements, {runs} runs")
            if name == "prefix":
                plot_tree(plan.first("Zonal"), axes[0])
                axes[0].set_title("the tree of prefixes that Zonal grew: measured (dots), found (green)", pad=22)
        figure.savefig(out, dpi=110)
    by_plates(plate_plan(share), runs, results)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--share", type=float, default=SHARE)
    parser.add_argument("--out", default="dna.png")
    parser.add_argument("--results", type=Path, help="where the regret of every run is kept")
    main(**vars(parser.parse_args()))
