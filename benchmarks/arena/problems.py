"""What is played on: cells of one size whose true averages are known, new in every run.

A `Case` is a kind of problem; drawn with a run's number and random numbers it gives a `Problem`. Contestants that
think in points or indexes see the smallest cells by their part along each axis; Zonal sees the space.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

import zonal as zn
from benchmarks import acting
from zonal.simulation import datasets, from_table
from zonal.simulation.simulators import Instrument, Noise
from zonal.spaces import CategoricalAxis, Region

Floats = NDArray[np.float64]
Parts = tuple[int, ...]  # which part of each axis a smallest cell is

GROUPS = {
    "peers": "The eight peer problems",
    "draws": "Draws from Gaussian processes",
    "bbob5": "BBOB in five dimensions",
    "sky": "The hydrogen sky (HI4PI)",
    "dna": "DNA (TFBind8)",
    "noise": "Noise that falls with the size of a region",
    "sparse": "Sparse signals, where region sensing comes from",
    "privacy": "Averages with noise added for privacy",
    "axes": "Linear functions of six axes",
    "few": "Eight measurements",
    "time": "How long to look",
    "travel": "Travel",
    "above": "The set above a threshold",
}
ACTING = (
    "time",
    "travel",
    "above",
)  # groups in which a look is more than a region, or not the best one is looked for
BBOB = {"sphere": 1, "step-ellipsoid": 7, "Schaffers": 17, "Gallagher 101": 21, "Rastrigin": 3}
LENGTHSCALES = {1: 0.1, 2: 0.2, 4: 0.4}  # of draws, in widths of the space
DESIGNED_ON = "f3"  # the problem for whose sake a part of the default is as it is
RUNS, RUNS_OF_ONE = 20, 60  # of a contestant on a problem; where a group has but one, and runs are quick
CELLS = {1: 256, 2: 32, 4: 8, 5: 8}  # along each axis
FEATURES = 2048  # waves of a draw
SPARSE_NOISE = 0.1  # of a smallest cell, relative to a signal
PRIVATE_NOISE = 2.0  # of a smallest cell, in standard deviations of the averages
WINDOW = (
    4.5  # half the width of what is seen of BBOB's [-5, 5]: optima lie in [-4, 4], and none is lost by a shift
)


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem of one run.

    Attributes
    ----------
    space : Box or Sequences
        With smallest cells.
    averages : array
        The true averages of all smallest cells, one dimension an axis.
    instrument : callable
        Random numbers to an instrument that measures averages over regions with noise.
    noise : float or callable
        Its standard deviation, for those who are measured.
    feedback : Feedback, optional
        What a measurement sees, where it is not the exact mean.
    acts : callable, optional
        In the groups on acting: how a contestant plays and a budget to what it loses, and its looks.
    group : str
        That group.
    """

    space: Any
    averages: Floats
    instrument: Callable[[np.random.Generator], Instrument]
    noise: Noise
    feedback: zn.Average | None = None
    acts: Callable[[Any, int], tuple[float, int]] | None = None
    group: str = ""
    direction: Literal["maximize"] = "maximize"

    @property
    def shape(self) -> tuple[int, ...]:
        """Smallest cells along each axis."""
        return self.averages.shape

    @cached_property
    def depth(self) -> int:
        """The depth of the smallest cells."""
        return int(self.space.max_depth())

    @cached_property
    def std(self) -> float:
        """The standard deviation of the averages of all smallest cells."""
        return float(self.averages.std())

    def cell(self, parts: Parts) -> Region:
        """Return a smallest cell by its part along each axis."""
        found: Region = self.space.cell((self.depth, int(self.space.partition.indices(self.depth, parts)[0])))
        return found

    def at(self, point: Any) -> Parts:
        """Return the smallest cell that contains a point of the unit cube."""
        return tuple(min(int(x * n), n - 1) for x, n in zip(point, self.shape, strict=True))

    def sides(self, region: Region) -> list[list[int]]:
        """Return the parts of each axis that a region touches; a region smaller than a cell touches one."""
        sides = []
        for j, n in enumerate(self.shape):
            axis = self.space.axes[j]
            if isinstance(axis, CategoricalAxis):
                sides.append([int(s) for s in axis.members(int(region.along[j][1][0]))])  # type: ignore[attr-defined]
                continue
            low, high = (region.bounds[j] - axis.low) / (axis.high - axis.low) * n
            first = min(math.floor(low + 1e-9), n - 1)
            sides.append(list(range(first, max(first + 1, math.ceil(high - 1e-9)))))
        return sides

    def within(self, region: Region) -> list[Parts]:
        """Return the smallest cells of a region."""
        return list(itertools.product(*self.sides(region)))

    def middle(self, region: Region) -> Parts:
        """Return the smallest cell in the middle of a region."""
        return tuple(side[len(side) // 2] for side in self.sides(region))

    def regret(self, parts: Parts) -> float:
        """Return by how much a smallest cell falls short of the best one."""
        return float(self.averages.max() - self.averages[parts])

    def scaled(self, value: float) -> float:
        """Return a value such that true averages lie between 0 and 1."""
        low, high = float(self.averages.min()), float(self.averages.max())
        return (value - low) / (high - low)


@dataclass(frozen=True)
class Case:
    """A kind of problem.

    Attributes
    ----------
    name, group, about : str
        What it is called, where it belongs, and one line for the page.
    budgets : tuple of int
        Measurements.
    shape : tuple of int
        Smallest cells along each axis.
    draw : callable
        Number of the run and random numbers to a problem.
    symbols : bool
        Whether axes are symbols without an order.
    runs : int
        Of every contestant.
    revision : int
        Raised when the case changes, so that older results do not count.
    """

    name: str
    group: str
    about: str
    budgets: tuple[int, ...]
    shape: tuple[int, ...]
    draw: Callable[[int, np.random.Generator], Problem]
    symbols: bool = False
    runs: int = RUNS
    revision: int = 1

    @property
    def cells(self) -> int:
        """The number of smallest cells."""
        return math.prod(self.shape)


def _tabled(space: Any, averages: Floats, noise: Noise, finer: Floats | None = None) -> Problem:
    """Return the problem of a table of the averages of all smallest cells, or of finer ones within these."""
    landscape = from_table(space, averages if finer is None else finer)
    return Problem(space, averages, lambda rng: landscape.simulate(noise, rng), noise)


def paper(name: str) -> Case:
    """Return one of the paper's functions, shifted, seen through averages of ten points."""

    def draw(run: int, rng: np.random.Generator) -> Problem:
        f = zn.reward_function(name, "authors", float(rng.uniform(-0.04, 0.04)))  # type: ignore[arg-type]
        feedback, cells = zn.Average(10), CELLS[1]
        space = zn.Box([(0, 1)], smallest=1 / cells)
        exact = zn.simulate(f, feedback)
        averages = np.array([exact.average(space.cell((space.max_depth() or 0, k))) for k in range(cells)])

        def instrument(noises: np.random.Generator) -> Instrument:
            return zn.simulate(f, feedback, 0.1, noises)

        return Problem(space, averages, instrument, 0.1, feedback)

    about = f"the paper's {name}, moved by up to 0.04; 256 cells, averages of 10 points, noise 0.1"
    about += "; the default's prior of lengthscales was kept wide for its sake" if name == "f3" else ""
    return Case(name, "peers", about, (20, 40, 80), (CELLS[1],), draw)


def bbob(name: str, d: int) -> Case:
    """Return a BBOB function, negated; each run sees a new instance, reflected, through a window at random."""
    cells = CELLS[d]

    def draw(run: int, rng: np.random.Generator) -> Problem:
        import ioh

        f = ioh.get_problem(BBOB[name], run + 1, d, ioh.ProblemClass.BBOB)
        shift = rng.uniform(WINDOW - 5, 5 - WINDOW, d)
        sign = rng.choice([-1.0, 1.0], d)
        corners = np.stack(np.meshgrid(*[np.arange(cells)] * d, indexing="ij"), axis=-1).reshape(-1, d)
        points = [sign * WINDOW * (2 * (corners + inside) / cells - 1) + shift for inside in _design(d)]
        values = -np.stack([np.array(f(own)) for own in points], axis=-1)
        averages = values.mean(axis=-1).reshape((cells,) * d)
        space = zn.Box([(-WINDOW, WINDOW)] * d, smallest=2 * WINDOW / cells)
        finer = values.reshape(cells, cells, 4, 4).swapaxes(1, 2).reshape(4 * cells, -1) if d == 2 else None
        return _tabled(space, averages, 0.1 * float(averages.std()), finer)

    seen = "4 x 4 points" if d == 2 else "8 points"
    about = f"BBOB F{BBOB[name]}, {cells}^{d} cells, averages of {seen} a cell, noise 0.1 std of the averages"
    budgets, group = ((20, 40, 80), "peers") if d == 2 else ((40, 80), "bbob5")
    revision = 2 if d == 2 else 1  # windows between the cells see the finer table
    return Case(f"{name} {d}-D", group, about, budgets, (cells,) * d, draw, revision=revision)


def _design(d: int) -> Floats:
    """Return where a cell is looked at: 4 x 4 points in the plane, else 8 points of a Sobol sequence.

    In five dimensions even 2 points per axis would be 32 for each of 32,768 cells. What matters is that one table
    is the truth for everybody; the points only decide how much of a function's finest ripples it keeps.
    """
    if d > 2:
        return np.asarray(qmc.Sobol(d, rng=0).random(8), dtype=float)
    places = (np.arange(4) + 0.5) / 4
    return np.stack(np.meshgrid(*[places] * d, indexing="ij"), axis=-1).reshape(-1, d)


def averages_of_draw(d: int, nu: float, rng: np.random.Generator, lengthscale: float | None = None) -> Floats:
    """Return exact cell averages of a sum of random waves whose covariance is a Matern kernel's (nu = inf: RBF's).

    Random Fourier features: the mean of a wave over a box is the wave at its centre times a sinc an axis.
    """
    cells, w = CELLS[d], rng.standard_normal((FEATURES, d)) / (lengthscale or LENGTHSCALES[d])
    if math.isfinite(nu):
        w *= np.sqrt(2 * nu / rng.chisquare(2 * nu, FEATURES))[:, None]
    centers = (np.arange(cells) + 0.5) / cells
    waves = np.exp(1j * rng.uniform(0, 2 * np.pi, FEATURES))[None, :] * math.sqrt(2 / FEATURES)
    for j in range(d - 1):
        waves = (waves[:, None, :] * _along(centers, w[:, j], 1 / cells)).reshape(-1, FEATURES)
    return np.asarray((waves @ _along(centers, w[:, -1], 1 / cells).T).real.reshape((cells,) * d))


def _along(centers: Floats, w: Floats, width: float) -> NDArray[np.complex128]:
    """Return the averages of exp(i w x) over intervals of one width, shape (centres, waves)."""
    return np.asarray(np.exp(1j * centers[:, None] * w) * np.sinc(w * width / (2 * np.pi)))


def gaussian(d: int, smooth: bool, falling: bool = False) -> Case:
    """Return draws of a Gaussian process: RBF if smooth, else Matern 1/2; noise may fall with the size."""

    def draw(run: int, rng: np.random.Generator) -> Problem:
        averages = averages_of_draw(d, math.inf if smooth else 0.5, rng)
        space = zn.Box([(0, 1)] * d, smallest=1 / CELLS[d])
        std = float(averages.std())
        return _tabled(space, averages, zn.PerWeight(std / math.sqrt(averages.size)) if falling else 0.3 * std)

    kind, kernel = ("smooth", "RBF") if smooth else ("rough", "Matern 1/2")
    noise = "1 std of the averages for a smallest cell, 1 / sqrt(size) of it for larger ones"
    about = f"{kernel}, lengthscale {LENGTHSCALES[d]}, {CELLS[d]}^{d} cells, noise "
    about += noise if falling else "0.3 std of the averages"
    name, group = (f"{kind} draw, falling noise", "noise") if falling else (f"{kind} draw {d}-D", "draws")
    return Case(name, group, about, (40, 80) if d == 4 else (20, 40, 80), (CELLS[d],) * d, draw)


def linear() -> Case:
    """Return functions that are linear in six axes, with slopes at random: the best cell is a corner."""
    d, cells = 6, 4

    def draw(run: int, rng: np.random.Generator) -> Problem:
        centers = np.stack(np.meshgrid(*[(np.arange(cells) + 0.5) / cells] * d, indexing="ij"), axis=-1)
        averages = np.asarray(centers @ rng.standard_normal(d))
        space = zn.Box([(0, 1)] * d, smallest=1 / cells)
        return _tabled(space, averages, 0.3 * float(averages.std()))

    about = f"linear, slopes drawn from a normal distribution, {cells}^{d} cells, noise 0.3 std of the averages"
    return Case("linear 6-D", "axes", about, (60,), (cells,) * d, draw, runs=RUNS_OF_ONE)


def very_few() -> Case:
    """Return draws on a line of which eight averages are seen."""

    def draw(run: int, rng: np.random.Generator) -> Problem:
        averages = averages_of_draw(1, 2.5, rng, 0.15)
        return _tabled(zn.Box([(0, 1)], smallest=1 / CELLS[1]), averages, 0.3 * float(averages.std()))

    about = f"Matern 5/2, lengthscale 0.15, {CELLS[1]} cells, noise 0.3 std of the averages"
    return Case("smooth 1-D, eight", "few", about, (8,), (CELLS[1],), draw, runs=RUNS_OF_ONE)


def sparse(signals: int) -> Case:
    """Return a few cells of height 1 among many of 0; noise falls as one over the root of the size."""

    def draw(run: int, rng: np.random.Generator) -> Problem:
        averages = np.zeros(CELLS[1])
        averages[rng.choice(CELLS[1], signals, replace=False)] = 1.0
        space = zn.Box([(0, 1)], smallest=1 / CELLS[1])
        return _tabled(space, averages, zn.PerWeight(SPARSE_NOISE / math.sqrt(CELLS[1])))

    name = "one signal" if signals == 1 else f"{signals} signals"
    about = f"{name} of height 1 in {CELLS[1]} cells that are 0, noise {SPARSE_NOISE} for a smallest cell, "
    return Case(name, "sparse", about + "1 / sqrt(size) of it for larger ones", (20, 40, 80), (CELLS[1],), draw)


@dataclass(frozen=True)
class Private:
    """Noise that hides what one person adds to an average: it falls as one over the number of persons."""

    smallest: float  # its standard deviation for a smallest cell
    cells: int

    def __call__(self, region: Region) -> float:
        """Return the standard deviation for a region."""
        return self.smallest / (region.weight * self.cells)


def privacy(smooth: bool) -> Case:
    """Return draws whose averages are released with noise for privacy, one over the number of persons in them."""

    def draw(run: int, rng: np.random.Generator) -> Problem:
        averages = averages_of_draw(1, math.inf if smooth else 0.5, rng)
        space = zn.Box([(0, 1)], smallest=1 / CELLS[1])
        return _tabled(space, averages, Private(PRIVATE_NOISE * float(averages.std()), CELLS[1]))

    kind, kernel = ("smooth", "RBF") if smooth else ("rough", "Matern 1/2")
    about = (
        f"{kernel}, lengthscale {LENGTHSCALES[1]}, {CELLS[1]} cells, noise {PRIVATE_NOISE:g} std of the averages "
    )
    about += "for a smallest cell, 1 / size of it for larger ones"
    return Case(f"{kind} draw, privacy", "privacy", about, (20, 40, 80), (CELLS[1],), draw)


def sky() -> Case:
    """Return the hydrogen sky as a box, turned by a random longitude."""

    def draw(run: int, rng: np.random.Generator) -> Problem:
        values = np.roll(datasets.sky(), int(rng.integers(256)), axis=1).T
        space = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, smallest=[360 / 64, 2 / 64], units={"l": "deg"})
        landscape = from_table(space, values)
        averages = values.reshape(64, 4, 64, 2).mean(axis=(1, 3))
        return Problem(space, averages, lambda rng: landscape.simulate(2.0, rng), 2.0)

    about = "column density of hydrogen, 64 x 64 patches, turned by a random longitude, noise 2 (0.10 std)"
    return Case("HI4PI", "sky", about, (80, 205), (64, 64), draw)


def dna() -> Case:
    """Return the pools of 16 of TFBind8, their letters renamed at random."""

    def draw(run: int, rng: np.random.Generator) -> Problem:
        letters = rng.permutation(4)
        values = datasets.tfbind8().e_score.reshape((4,) * 8)[np.ix_(*[letters] * 8)]
        space = zn.Sequences("ACGT", 8, smallest=16)
        landscape = from_table(space, values)
        return Problem(space, values.mean(axis=(6, 7)), lambda rng: landscape.simulate(0.05, rng), 0.05)

    about = "binding scores of 4,096 pools of 16 sequences, letters renamed at random, noise 0.05 (0.41 std)"
    return Case("TFBind8", "dna", about, (80, 205), (4,) * 6, draw, symbols=True)


def acted(group: str, name: str) -> Case:
    """Return a problem on acting, as `benchmarks.acting` plays it: everything is learned."""

    def draw(run: int, rng: np.random.Generator) -> Problem:
        seed, ratio = int(rng.integers(1 << 31)), 3.0 if group == "above" else float(rng.choice(acting.RATIOS))
        overhead, speed = float(rng.choice(acting.OVERHEADS)), float(rng.choice(acting.SPEEDS))
        here = acting.world(name, seed)

        def acts(how: Any, n: int) -> tuple[float, int]:
            if group == "above":
                return acting.missed(name, seed, n, 1 / ratio, how, False), n
            if group == "travel":
                return acting.journey(name, seed, 1 / ratio, False, speed, n * (1 + 0.3 * speed), how, 1)
            prices = {"times": how, "overhead": overhead, "budget": n * (overhead + 4)}
            return acting.regret(name, seed, 1 / ratio, False, **prices)

        def instrument(noises: np.random.Generator) -> Any:
            return here.instrument(1 / ratio, noises)

        averages = np.empty(shape)
        for cell, average in zip(here.cells, here.truth, strict=True):
            averages[tuple((cell.center * shape).astype(int))] = average
        return Problem(here.space, averages, instrument, 1 / ratio, here.feedback, acts=acts, group=group)

    drawn = {"1-D": "RBF .05 on 128 cells", "2-D": "RBF .15 on 16 x 16 cells"}
    about = {
        "time": "overhead .2, 1 or 5, noise of time 1 a third, 1 or 3 std of f; the cost of N looks of time 4",
        "travel": "a look costs 1, the way from end to end 10 or 30, noise a third, 1 or 3 std of f; the cost of "
        "N looks that are .3 apart",
        "above": "the highest fifth of the cells; what is lost is 1 - F1, not regret; noise 1/3 std of f",
    }[group]
    shape = (16, 16) if name == "2-D" else (128,)
    budgets = {"time": (30,), "travel": (40,), "above": (40, 80)}[group]
    return Case(f"{group}, {name}", group, f"{drawn.get(name, name)}: {about}", budgets, shape, draw)


CASES: dict[str, Case] = {
    case.name: case
    for case in [
        *(paper(name) for name in ("f1", "f2", "f3")),
        *(bbob(name, 2) for name in BBOB),
        *(gaussian(d, smooth) for d in LENGTHSCALES for smooth in (True, False)),
        *(bbob(name, 5) for name in BBOB),
        sky(),
        dna(),
        *(gaussian(1, smooth, falling=True) for smooth in (True, False)),
        *(sparse(signals) for signals in (1, 3)),
        *(privacy(smooth) for smooth in (True, False)),
        linear(),
        very_few(),
        *(acted(group, name) for group in ACTING for name in ("1-D", "2-D", *acting.PAPER)),
    ]
}
