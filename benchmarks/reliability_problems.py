"""Problems of many kinds whose true averages are known, on which stated confidence is compared with what came.

A problem is a function, an instrument and the settings of a study that is told no more than a user would know. The
same class and seed make the same problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import zonal as zn
from zonal.io.tables import read_table
from zonal.simulation import Landscape, datasets, from_table
from zonal.simulation.gp_samples import model_of

Rng = np.random.Generator
NUMBERS = 12, 20, 40, 80
CENSUS = Path(__file__).resolve().parents[2] / "shared" / "data" / "census_au_sa2.csv"  # it is not shipped
LENGTHSCALES, NOISES = (0.05, 0.1, 0.2), (0.1, 0.3)  # of the axis, of the standard deviation of f
KERNELS: dict[str, Any] = {
    "RBF": zn.RBF,
    "Matern 5/2": zn.Matern,
    "Matern 3/2": partial(zn.Matern, nu=1.5),
    "Matern 1/2": partial(zn.Matern, nu=0.5),
}


@dataclass(frozen=True)
class Problem:
    """One problem."""

    space: Any
    measure: Callable[[Any], float]  # a noisy average of a region
    average: Callable[[Any], float]  # the true one
    best: float  # the highest true average of a smallest region
    scale: float  # the standard deviation of f over the smallest regions
    settings: dict[str, Any] = field(default_factory=dict)


def on_table(
    landscape: Landscape, noise_std: Callable[[Any], float], rng: Rng, scale: float, **settings: Any
) -> Problem:
    """Return a problem with independent normal noise."""

    def measure(region: Any) -> float:
        return landscape.average(region) + noise_std(region) * float(rng.standard_normal())

    return Problem(landscape.space, measure, landscape.average, landscape.best().average, scale, settings)


def cells(axes: int, parts: int) -> Any:
    """Return the unit box of this many axes, each divided into equal parts."""
    return zn.Box([(0, 1)] * axes, smallest=[1 / parts] * axes)


def draw(name: str, axes: int, parts: int, run: int, rng: Rng) -> Problem:
    """Return a draw: three lengthscales and two sizes of noise in turn."""
    function, errors = rng.spawn(2)
    kernel = KERNELS[name](1.0, axes * LENGTHSCALES[run % 3])  # a tenth of each of four axes: 10,000 hills
    landscape = model_of(cells(axes, parts), kernel, None, "maximize").draw(function).landscape
    return on_table(landscape, lambda _: NOISES[run % 2], errors, 1.0)


def steps(run: int, rng: Rng) -> Problem:
    """Return a function of eight plateaus."""
    edges, heights = np.sort(rng.uniform(size=7)), rng.standard_normal(8)
    values = heights[np.searchsorted(edges, (np.arange(1024) + 0.5) / 1024)]
    return on_table(from_table(cells(1, 256), values), lambda _: NOISES[run % 2], rng, 1.0)


def paper(name: Any, run: int, rng: Rng) -> Problem:
    """Return a function of the paper, shifted, every other one reflected, in other units."""
    f = zn.reward_function(name, "authors", float(rng.uniform(-0.04, 0.04)))
    x = (np.arange(2560) + 0.5) / 2560
    values = np.asarray(f((1 - x if run % 2 else x)[:, None]))
    landscape = from_table(cells(1, 256), 1000 + 37 * values)
    return on_table(landscape, lambda _: 3.7, rng, 37 * float(np.std(values)))


def uneven(run: int, rng: Rng) -> Problem:
    """Return a draw whose noise grows tenfold from one end to the other."""
    function, errors = rng.spawn(2)
    kernel = zn.Matern(1.0, LENGTHSCALES[run % 3])
    landscape = model_of(cells(1, 256), kernel, None, "maximize").draw(function).landscape
    return on_table(landscape, lambda region: 0.05 * 10 ** float(np.mean(region.bounds)), errors, 1.0)


def relative(run: int, rng: Rng) -> Problem:
    """Return a positive draw whose noise is a share of the value."""
    function, errors = rng.spawn(2)
    fine = cells(1, 1024)
    normal = model_of(fine, zn.Matern(1.0, LENGTHSCALES[run % 3]), None, "maximize").draw(function).landscape
    values = np.exp([0.7 * normal.average(cell) for cell in fine.partition.leaf_regions(10)])
    landscape = from_table(cells(1, 256), values)
    return on_table(landscape, lambda region: 0.15 * landscape.average(region), errors, float(np.std(values)))


@cache
def _dna() -> Any:
    return np.exp(0.3 * datasets.tfbind8().z_score)


def dna(smallest: int, run: int, rng: Rng) -> Problem:
    """Return the shipped affinities of 8-mers, in pools by prefix, with multiplicative noise of 15 %."""
    landscape = from_table(zn.Sequences("ACGT", 8, smallest=smallest), _dna())
    values = _dna().reshape(-1, smallest).mean(axis=1)
    return on_table(landscape, lambda region: 0.15 * landscape.average(region), rng, float(np.std(values)))


def _turned(rng: Rng) -> Any:
    """Return the hydrogen sky rolled in longitude and perhaps mirrored."""
    sky = np.roll(np.asarray(datasets.sky()), int(rng.integers(256)), axis=1)
    return sky[:: int(rng.choice([-1, 1])), :: int(rng.choice([-1, 1]))]


def sky(run: int, rng: Rng) -> Problem:
    """Return the hydrogen sky turned, as a box of 64 x 32 patches."""
    axes = {"l": (-180, 180), "sin_b": (-1, 1)}
    space, values = zn.Box(axes, smallest=[360 / 64, 2 / 32], periodic=["l"]), _turned(rng)
    return on_table(from_table(space, values, axes=("sin_b", "l")), lambda _: 2.0, rng, float(np.std(values)))


def points(run: int, rng: Rng) -> Problem:
    """Return the same as 512 points with coordinates."""
    values = _turned(rng).reshape(16, 8, 32, 8).mean(axis=(1, 3)).ravel()
    sin_b, l = np.meshgrid(np.linspace(-0.9375, 0.9375, 16), np.arange(32) * 11.25, indexing="ij")
    space = zn.Points({"l": l.ravel(), "sin_b": sin_b.ravel()})
    return on_table(from_table(space, values), lambda _: 2.0, rng, float(np.std(values)))


def counties(run: int, rng: Rng) -> Problem:
    """Return the unemployment of counties, by states and groups of ten counties."""
    table = datasets.counties()
    groups = [f"{state} {int(code[2:]) // 20}" for state, code in zip(table.state, table.county, strict=True)]
    space = zn.Hierarchy.from_table({"state": table.state, "group": groups, "county": table.county})
    return on_table(from_table(space, table.rate), lambda _: 0.005, rng, float(np.std(table.rate)))


@cache
def _census() -> Landscape:
    table = read_table(CENSUS)
    persons = table.numbers("persons")
    kept = np.flatnonzero(persons >= 500)
    places = np.stack([table.numbers("lon")[kept], table.numbers("lat")[kept]], axis=1)
    names = ("state_name", "sa4_name", "sa3_name", "sa2_name")
    levels = {name: np.array(table.texts(name))[kept].tolist() for name in names}
    space = zn.Hierarchy.from_table(levels, places, persons[kept], 500, ("lon", "lat"))
    return from_table(space, table.numbers("mean_age")[kept])


def census(run: int, rng: Rng) -> Problem:
    """Return the mean age of Australia's areas with their coordinates; the office says how much it perturbs."""

    def noise(region: Any) -> float:
        return 283.0 / float(region.weight)

    return on_table(_census(), noise, rng, 4.5, noise=noise, max_replicates=1)


Make = Callable[[int, Rng], Problem]
CLASSES: dict[str, Make] = {
    **{f"{name}, 1-D": partial(draw, name, 1, 256) for name in KERNELS},
    **{f"{name}, 2-D": partial(draw, name, 2, 16) for name in KERNELS},
    **{f"{name}, 4-D": partial(draw, name, 4, 4) for name in KERNELS},
    "Matern 1/2, 16 cells": partial(draw, "Matern 1/2", 1, 16),
    "steps": steps,
    **{name: partial(paper, name) for name in ("f1", "f2", "f3")},
    "uneven noise": uneven,
    "relative noise": relative,
    "DNA pools": partial(dna, 16),
    "DNA sequences": partial(dna, 1),
    "sky turned": sky,
    "points of the sky": points,
    "counties": counties,
    "census": census,
}
ROUGH = ("Matern 1/2, 1-D", "f3", "steps")  # classes whose bound is 80 % instead of 85 %
PLATES = {"DNA sequences": 24}  # regions asked for at once


def numbers(name: str) -> tuple[int, ...]:
    """Return the budgets at which a class is judged: multiples of a plate where there are plates."""
    return (24, 48, 96) if name in PLATES else NUMBERS


def problem(name: str, run: int, seed: int) -> tuple[Problem, Rng]:
    """Return a problem, and the generator of the search."""
    sequence = np.random.SeedSequence([seed, list(CLASSES).index(name), run])
    function, search = (np.random.default_rng(child) for child in sequence.spawn(2))
    return CLASSES[name](run, function), search


def standard_error(share: float, number: int) -> float:
    """Return the standard error of a share of `number` campaigns."""
    return math.sqrt(max(share * (1 - share), 1e-12) / number)
