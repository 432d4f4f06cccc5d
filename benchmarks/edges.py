"""Whether a search walks along the edge of what is forbidden: `python -m benchmarks.edges`.

A band of the sky below an edge is forbidden. At -0.6 the edge ends inside a smallest cell, and of the larger cells
that it cuts only slivers are allowed. On random skies the source must be found as often as with an edge on the
grid, and at most a tenth of the pointings may lie near the edge.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import zonal as zn
from zonal.simulation import from_table

Floats = NDArray[np.float64]

SKY = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, units={"l": "deg"}, periodic=["l"], smallest=[5.625, 0.0625])
SHAPE, NOISE = (64, 32), 2.0
EDGES = -0.6, -0.625, -0.5
NEAR = 0.1  # a pointing this close to the edge lies near it


def slew(start: zn.Region, end: zn.Region) -> float:
    """Return the seconds that a telescope needs from one pointing to another."""
    (l, sin_b), (other_l, other_sin_b) = start.center, end.center
    b, other_b = np.arcsin([sin_b, other_sin_b])
    cosine = np.sin(b) * np.sin(other_b) + np.cos(b) * np.cos(other_b) * np.cos(np.radians(l - other_l))
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1)))) * 0.5


KINDS: dict[str, dict[str, Any]] = {
    "plain": {"budget": 80},
    "hour": {
        "budget": 3600.0,
        "feedback": zn.Beam({"l": 8.0, "sin_b": 0.14}),
        "times": [15, 30, 60, 120],
        "overhead": 10.0,
        "travel": slew,
    },
}


@dataclass(frozen=True)
class Search:
    """How a search went."""

    total: int  # measurements
    near: int  # measurements whose centre lies near the edge
    found: float  # the true average of the region found
    best: float  # that of the best allowed region

    @property
    def hit(self) -> bool:
        """Whether the region found has at least half the average of the best one."""
        return self.found >= self.best / 2


def drawn(rng: np.random.Generator) -> Floats:
    """Return a random sky: sources of different heights and sizes, none near the edges, on a smooth background."""
    low = np.linspace(-180, 180, SHAPE[0], endpoint=False) + 2.8125, np.linspace(-1, 1, SHAPE[1] + 1)[:-1] + 1 / 32
    l, sin_b = np.meshgrid(*low, indexing="ij")
    sky = 2 * np.cos(np.radians(l) + rng.uniform(0, 6.3)) * (1 - sin_b**2)
    for height in 25 * np.array([1.0, 0.6, 0.4, 0.3, 0.2]):
        at, size = (rng.uniform(-180, 180), rng.uniform(-0.3, 0.95)), rng.uniform(4, 9)
        apart = (l - at[0] + 180) % 360 - 180
        sky += height * np.exp(-(apart**2) / (2 * size**2) - (sin_b - at[1]) ** 2 / (2 * (size / 60) ** 2))
    return np.asarray(sky)


def search(kind: str, edge: float, seed: int) -> Search:
    """Search a random sky once."""
    table, settings = drawn(np.random.default_rng([seed, 32])), {**KINDS[kind]}
    sky, feedback = from_table(SKY, table), settings.get("feedback", zn.Mean())
    instrument = sky.simulate(NOISE, seed, feedback)
    study = zn.Study(SKY, forbidden=[{"sin_b": (-1, edge)}], rng=seed, **settings)
    study.optimize(instrument, progress=False)
    near = sum(abs(trial.region.center[1] - edge) < NEAR for trial in study.trials)
    allowed = np.linspace(-1, 1, SHAPE[1] + 1)[:-1] >= edge
    return Search(
        len(study.trials), near, sky.average(study.recommend(on_grid=True).region), float(table[:, allowed].max())
    )


@click.command()
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Only these.")
@click.option("--edge", "edges", multiple=True, type=float, default=EDGES, show_default=True)
@click.option("--skies", default=12, show_default=True, help="Random skies.")
@click.option("--seed", default=0, show_default=True, help="Of the first sky.")
@click.option("--each", is_flag=True, help="Print every search.")
def main(kinds: tuple[str, ...], edges: tuple[float, ...], skies: int, seed: int, each: bool) -> None:
    """Print how many pointings lie near the edge, and how often the source is found."""
    fine = True
    for kind in kinds or KINDS:
        hits = []
        for edge in edges:
            runs = [search(kind, edge, number) for number in range(seed, seed + skies)]
            near, total = sum(run.near for run in runs), sum(run.total for run in runs)
            regret = np.mean([1 - run.found / run.best for run in runs])
            hits.append(sum(run.hit for run in runs))
            fine &= edge != EDGES[0] or 10 * near <= total
            share = f"{near} of {total} measurements near it ({near / total:.1%})"
            click.echo(f"{kind:6} edge {edge:6}: {share}, {hits[-1]} of {skies} found, regret {regret:.1%}")
            for run in runs if each else ():
                click.echo(f"    {run.near:3} of {run.total:3} near; found {run.found:5.1f} of {run.best:5.1f}")
        fine &= hits[0] >= min(hits[1:], default=0)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
