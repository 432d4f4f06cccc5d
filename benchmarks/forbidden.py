"""How often a source in the sky is found where parts may not be measured: `python -m benchmarks.forbidden`.

A source of height 20 (noise 1) on 32 x 16 smallest cells, 80 measurements by the default with nothing given. It
counts as found if the recommended region has at least half the average of the best allowed one. A run takes a
second or two; every run has a place, a mask and noise of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import click
import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

import zonal as zn
from zonal.simulation import from_table

Floats = NDArray[np.float64]
Cells = NDArray[np.bool_]
Place = tuple[float, float]

SIDE = 11.25  # degrees
SKY = zn.Box({"l": (-180, 180), "b": (-90, 90)}, smallest=SIDE)
EDGES = np.arange(-180, 180 + SIDE, SIDE), np.arange(-90, 90 + SIDE, SIDE)
LOW_L, LOW_B = np.meshgrid(EDGES[0][:-1], EDGES[1][:-1], indexing="ij")
AGREED: Place = (-75.0, 30.0)
BUDGET, HEIGHT, NOISE = 80, 20.0, 1.0


@dataclass(frozen=True, eq=False)
class Mask:
    """Forbids every region that touches a forbidden cell."""

    cells: Cells

    def __call__(self, region: zn.Region) -> bool:
        (left, right), (low, high) = np.rint((region.bounds - [[-180], [-90]]) / SIDE).astype(int)
        return bool(self.cells[left:right, low:high].any())


def touched(low: Floats, start: float, width: float) -> Cells:
    """Return the cells along one axis that a band touches."""
    return (low < start + width) & (low + SIDE > start)


def ring(rng: np.random.Generator, place: Place) -> Cells:
    inner = rng.uniform(15, 30)
    distance = np.hypot(LOW_L + SIDE / 2 - place[0], LOW_B + SIDE / 2 - place[1])
    return np.asarray((distance > inner) & (distance < inner + rng.uniform(12, 25)))


def checkerboard(rng: np.random.Generator, place: Place) -> Cells:
    side = rng.choice([1, 2])
    return np.asarray(np.add.outer(np.arange(32) // side, np.arange(16) // side) % 2 == rng.integers(2))


def stripes(rng: np.random.Generator, place: Place) -> Cells:
    low = LOW_L if rng.integers(2) else LOW_B
    starts = np.arange(-180, 180, rng.uniform(25, 45)) + rng.uniform(0, 25)
    return np.asarray(np.any([touched(low, start, 5.0) for start in starts], axis=0))


def random(rng: np.random.Generator, place: Place) -> Cells:
    return rng.permutation(512).reshape(32, 16) < 0.6 * 512


def cross(rng: np.random.Generator, place: Place) -> Cells:
    return touched(LOW_B, -5, 10) | touched(LOW_L, -5, 10)


SHAPES: dict[
    str, tuple[Callable[[np.random.Generator, Place], Cells], int]
] = {  # and how many of 20 are to be found
    "nothing": (lambda rng, place: np.zeros((32, 16), dtype=bool), 17),
    "band": (lambda rng, place: touched(LOW_B, -5, 10), 14),
    "cross": (cross, 16),
    "ring": (ring, 16),
    "checkerboard": (checkerboard, 16),
    "stripes": (stripes, 14),
    "random": (random, 14),
}
AT_AGREED = {"band": 19, "cross": 19, "random": 19}  # of 20, the source at the agreed place


def drawn(shape: str, agreed: bool, rng: np.random.Generator) -> tuple[Place, Cells]:
    """Return a place of the source, and forbidden cells of which it is none."""
    while True:
        place = AGREED if agreed else (rng.uniform(-180, 180), rng.uniform(-90, 90))
        cells = SHAPES[shape][0](rng, place)
        if not cells[int((place[0] + 180) // SIDE), int((place[1] + 90) // SIDE)]:
            return place, cells


def found(place: Place, cells: Cells, width: float, seed: int) -> bool:
    """Search once; tell whether the source was found."""
    profiles = [
        np.diff(erf((edges - at) / width / np.sqrt(2))) * width * np.sqrt(np.pi / 2) / SIDE
        for edges, at in zip(EDGES, place, strict=True)
    ]
    table = HEIGHT * np.outer(*profiles)
    sky = from_table(SKY, table)
    forbidden = Mask(cells) if cells.any() else None
    result = zn.maximize(sky.simulate(NOISE, seed), SKY, BUDGET, rng=seed, forbidden=forbidden)
    return bool(sky.average(result.region) >= table[~cells].max() / 2)


@click.command()
@click.option("--shape", "shapes", multiple=True, type=click.Choice(list(SHAPES)), help="Only these.")
@click.option("--runs", default=20, show_default=True, help="Runs of each line.")
@click.option("--seed", default=0, show_default=True, help="Of the first run.")
@click.option("--width", default=8.0, show_default=True, help="Standard deviation of the source, in degrees.")
def main(shapes: tuple[str, ...], runs: int, seed: int, width: float) -> None:
    """Print how often the source is found; fail where that is less than it is to be."""
    lines = [(shape, False, least) for shape, (_, least) in SHAPES.items()]
    lines += [(shape, True, least) for shape, least in AT_AGREED.items()]
    enough = True
    for shape, agreed, least in lines:
        if shapes and shape not in shapes:
            continue
        rngs = ((number, np.random.default_rng([number, agreed])) for number in range(seed, seed + runs))
        hits = sum(found(*drawn(shape, agreed, rng), width, number) for number, rng in rngs)
        enough &= 20 * hits >= least * runs
        where = "at (-75, 30)" if agreed else "anywhere"
        click.echo(f"{shape:12}  {where:12}  {hits:3} of {runs}, to be {least} of 20")
    sys.exit(not enough)


if __name__ == "__main__":
    main()
