"""Find the best pool for eight other proteins, which were not used to choose how Zonal models sequences.

    python examples/proteins.py --table dna_tfbind8_proteins.csv.gz --runs 30 --out proteins.png

A pool of 16 sequences shows the average of their median intensities on an array. Where there are two arrays, the
noise of a strong signal is what they differ by.
"""

import argparse
import math
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from campaigns import Plan, halving, keep, settled

import zonal as zn
from zonal.io.tables import read_table
from zonal.plotting import column_width
from zonal.simulation import Landscape, from_table
from zonal.simulation.rehearsal import StudyPlayer, at_random, greedy_descent

TABLE = Path(__file__).resolve().parents[2] / "shared" / "data" / "dna_tfbind8_proteins.csv.gz"
PROTEINS = ("EGR2", "GFI1B", "HOXB7", "KLF1", "NR1H4", "PAX6", "POU3F4", "ZNF655")
SHARE = 0.01  # of all pools that are measured
FIXED = 6  # letters of a pool's prefix
ALONE = 0.2  # noise of a strong signal measured once, in standard deviations of the pools
WEAK = 1.0  # noise of a weak signal
PLAYERS = {
    "Zonal": StudyPlayer(),
    "places": StudyPlayer((("kernel", zn.Categorical),)),
    "greedy": greedy_descent,
    "halving": halving,
    "random": at_random,
}
COLOURS, MARKERS = ("#0072B2", "#56B4E9", "#009E73", "#D55E00", "#7F7F7F"), "o^sDx"  # of the players, in order


def landscapes(path: Path) -> dict[str, tuple[Landscape, float | None]]:
    """Return the pools of each protein in standard deviations, and the noise by two arrays, if there are two."""
    table = read_table(path)
    row = {text: number for number, text in enumerate(table.texts("sequence"))}
    pairs = dict(zip("ACGT", "TGCA", strict=True))
    texts = ["".join(letters) for letters in product("ACGT", repeat=8)]
    turned = ["".join(pairs[letter] for letter in reversed(text)) for text in texts]
    rows = [row[text] if text in row else row[other] for text, other in zip(texts, turned, strict=True)]
    space = zn.Sequences("ACGT", 8, smallest=4 ** (8 - FIXED))
    found = {}
    for protein in PROTEINS:
        arrays = [f"{protein}_{replicate}_median" for replicate in ("R1", "R2")]
        values = [table.numbers(name)[rows] for name in arrays if table.find(name)]
        pools = [own.reshape(4**FIXED, -1).mean(axis=1) for own in values]
        # Two arrays of one truth, each with its own noise: a correlation r leaves 1 - r of the variance to noise.
        noise = float(np.sqrt(1 - np.corrcoef(*pools)[0, 1])) if len(pools) == 2 else None
        found[protein] = from_table(space, (values[0] - pools[0].mean()) / pools[0].std()), noise
    return found


def assay(instrument, region: zn.Region) -> float:
    """Return what a pool shows: its average and normal noise."""
    return instrument(region)


def plan_of(landscape: Landscape, honest: float | None, signal: str, share: float = SHARE) -> Plan:
    """Return what is compared on a protein with a strong or a weak signal."""
    noise = WEAK if signal == "weak" else ALONE if honest is None else honest
    return Plan(landscape, round(share * 4**FIXED), noise, settled(PLAYERS, assay))


@dataclass(frozen=True)
class Row:
    """A protein with one signal: mean regrets of all players and their standard errors."""

    protein: str
    signal: str
    noise: float
    best: float
    regrets: tuple[tuple[float, float], ...]

    def apart(self, number: int) -> float:
        """Return by how many standard errors of the difference Zonal is ahead of a player."""
        (ours, error), (theirs, other) = self.regrets[0], self.regrets[number]
        return (theirs - ours) / max(math.hypot(error, other), 0.01)

    def __str__(self) -> str:
        """Return the row as it is printed, which `read` takes back."""
        errors = (f"{own:.2f}".lstrip("0") if own < 1 else f"{own:.1f}" for _, own in self.regrets)
        own = "".join(
            f"{f'{mean:.2f}±{error}':>10}" for (mean, _), error in zip(self.regrets, errors, strict=True)
        )
        return f"{self.protein:7}{self.noise:5.2f}{self.best:6.2f}{own}"


def read(path: Path) -> dict[tuple[str, str], Row]:
    """Return the rows of an earlier output."""
    line = re.compile(r"(\w+) +([\d.]+) +([\d.]+)" + len(PLAYERS) * r" +([\d.]+)±([\d.]+)")
    rows, signal = {}, ""
    for text in path.read_text().splitlines():
        if found := line.fullmatch(text):
            protein, noise, best, *values = found.groups()
            pairs = zip(map(float, values[::2]), map(float, values[1::2]), strict=True)
            rows[protein, signal] = Row(protein, signal, float(noise), float(best), tuple(pairs))
        elif text.endswith(" signal"):
            signal = text.removesuffix(" signal")
    return rows


def main(table: Path, runs: int, share: float, out: str, kept: list[Path], results: Path | None) -> None:
    """Print and draw the regret of everybody on every protein, with a strong and with a weak signal."""
    budget, rows = round(share * 4**FIXED), {}
    for path in kept:
        rows |= read(path)
    print(f"{budget} measurements for {4**FIXED} pools of 16, {runs} runs")
    print("mean regret ± its standard error, in standard deviations of the pools")
    known = landscapes(table)
    for signal in ("strong", "weak"):
        print(f"\n{signal} signal\n{'':7}noise  best" + "".join(f"{who:>10}" for who in PLAYERS))
        for protein, (landscape, honest) in known.items():
            if (protein, signal) not in rows:
                plan = plan_of(landscape, honest, signal, share)
                noise, played = plan.noise, plan.play(runs)
                keep(results, f"{protein}, {signal}", played)
                regrets = tuple((round(one.mean, 2), round(one.sem, 2)) for one in played.campaigns.values())
                rows[protein, signal] = Row(protein, signal, noise, landscape.best().average, regrets)
            print(rows[protein, signal], flush=True)
        for number, other in list(enumerate(PLAYERS))[1:]:
            apart = [rows[protein, signal].apart(number) for protein in PROTEINS]
            for word, side in (("ahead of", 1), ("behind", -1)):
                if any(side * z > 2 for z in apart):
                    print(f"Zonal {word} {other}: {named([side * z > 2 for z in apart])}")
    draw(rows, f"{budget} measurements, {runs} runs", out)


def named(which: list[bool]) -> str:
    """Return the proteins of a list, to be read."""
    return ", ".join(name for name, own in zip(PROTEINS, which, strict=True) if own)


def draw(rows: dict[tuple[str, str], Row], title: str, out: str) -> None:
    """Draw mean regrets with two standard errors."""
    with column_width():
        figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
        for ax, signal in zip(axes, ("strong", "weak"), strict=True):
            for number, who in enumerate(PLAYERS):
                means, errors = np.array([rows[protein, signal].regrets[number] for protein in PROTEINS]).T
                places = np.arange(len(PROTEINS)) + 0.12 * (number - 2)
                ax.errorbar(places, means, 2 * errors, fmt=MARKERS[number], c=COLOURS[number], ms=4.5, label=who)
            ax.set_xticks(range(len(PROTEINS)), PROTEINS, rotation=30)
            ax.set_title(f"{signal} signal: {title}")
        axes[0].set_ylabel("mean regret [std of the pools]")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(PLAYERS))
        figure.savefig(out, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--share", type=float, default=SHARE)
    parser.add_argument("--out", default="proteins.png")
    parser.add_argument("--kept", type=Path, action="append", default=[], help="output whose rows count as played")
    parser.add_argument("--results", type=Path, help="where the regret of every run is kept")
    main(**vars(parser.parse_args()))
