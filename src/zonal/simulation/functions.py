"""Functions on an interval: the paper's three, functions drawn from a Gaussian process, and their maximum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from zonal._types import Floats
from zonal.errors import check_choice, finite_number, plain_array, random_generator, require, whole_number
from zonal.kernels.base import RBF
from zonal.simulation.simulators import Function, Simulation
from zonal.spaces import Region
from zonal.spaces.base import checked_ends

CUT = 8.5  # frequencies above CUT / lengthscale have no power
MAX_POINTS = 10_000_000  # of a grid
MAX_SCALES = 1e6  # lengthscales along an axis
PERIOD = 10.0  # lengthscales between an axis and its periodic copy, enough to be independent


@dataclass(frozen=True)
class RewardFunction:
    """One of the paper's reward functions: the posterior mean of a GP given chosen points.

    Examples
    --------
    >>> import zonal as zn
    >>> zn.reward_function("f1").kernel
    RBF(variance=0.1, lengthscale=0.1)
    """

    name: str
    preset: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    lengthscale: float  # of the function's own RBF kernel, which has variance 0.1
    noise: float  # std of the noise of its GP: the text's 0.005, which is a variance in the authors' code

    @property
    def kernel(self) -> RBF:
        """Its own kernel."""
        return RBF(0.1, self.lengthscale)

    def __call__(self, points: ArrayLike) -> Floats:
        """Return the function's values at points of shape (n, 1)."""
        x = np.array(self.x)[:, None]
        return self.kernel(np.asarray(points, dtype=float), x) @ self._weights

    @cached_property
    def _weights(self) -> Floats:
        x = np.array(self.x)[:, None]
        noisy = self.kernel(x, x) + self.noise**2 * np.eye(len(x))
        return np.asarray(np.linalg.solve(noisy, self.y), dtype=float)


def reward_function(
    name: Literal["f1", "f2", "f3"], preset: Literal["authors", "paper"] = "authors", shift: float = 0.0
) -> RewardFunction:
    """Return one of the paper's three reward functions on [0, 1].

    Parameters
    ----------
    name : {"f1", "f2", "f3"}
        f1 and f2 are the two of the regret comparison, f3 the one that shows the benefit of averages.
    preset : {"authors", "paper"}
        As the authors' code defines them, or as the text does (docs/fidelity.md, rows 8 to 11).
    shift : float
        How far the function is moved to the right. Fixed functions favour algorithms whose grid happens to contain
        the maximum; draw a shift for each run, for example from -0.04 to 0.04.

    Examples
    --------
    >>> import numpy as np
    >>> import zonal as zn
    >>> f = zn.reward_function("f1")
    >>> f(np.array([[0.3]])).round(3)
    array([0.386])
    """
    check_choice(preset, "preset", ("authors", "paper"))
    check_choice(name, "name", ("f1", "f2", "f3"))
    shift, theirs = finite_number(shift, "shift"), preset == "authors"
    regions = 9 if theirs else 10
    width = 0.9 / regions
    centers = width * (np.arange(regions) + 0.5)
    ripple = np.concatenate([centers, centers + 2 / 3 * width, [0.95]])
    heights = [*[0.1] * regions, *[0.2] * regions, 0.9]
    x, y, lengthscale = {
        "f1": ([0.05, 0.2, 0.4, 0.65, 0.9], [0.85, 0.1, 0.87, 0.05, 0.98], 0.1 if theirs else 0.05),
        "f2": (ripple, heights, 0.05),
        "f3": ([*ripple, 0.94, 0.945], [*heights, 0.1, 0.2], 0.01),
    }[name]
    noise = math.sqrt(0.005) if theirs else 0.005
    return RewardFunction(name, preset, tuple((np.array(x) + shift).tolist()), tuple(y), lengthscale, noise)


class Field:
    """A function of one or two variables drawn from a zero-mean GP with an RBF kernel, exact to rounding.

    The RBF is a product over axes and so is its spectrum, which is Gaussian: f is a random Fourier series with a
    coefficient for every combination of waves along the `d` axes of length `side`. Its period is so much longer
    than the axes that values one period apart are independent. The kernel must have one lengthscale.
    """

    def __init__(self, kernel: RBF, d: int, rng: np.random.Generator, side: float = 1.0) -> None:
        scale = float(kernel.lengthscales(1)[0])
        step = 2 * math.pi / (side + PERIOD * scale)
        self._waves = step * np.arange(math.ceil(CUT / (scale * step)) + 1)
        power = 2 * step * scale / math.sqrt(2 * math.pi) * np.exp(-0.5 * (scale * self._waves) ** 2)
        power[0] /= 2  # a frequency stands for both signs, except 0
        self._heights = np.sqrt(power)
        shape = (2 * len(self._waves),) * d
        self._coefficients = math.sqrt(kernel.variance) * rng.standard_normal(shape)

    def __call__(self, points: ArrayLike) -> Floats:
        """Return the values at points of shape (n, d)."""
        columns = np.asarray(points, dtype=float).T
        values = self._basis(columns[0]) @ self._coefficients
        return np.asarray(values if len(columns) == 1 else np.sum(values * self._basis(columns[1]), axis=1))

    def on_grid(self, x: Floats, along: int | None = None) -> Floats:
        """Return f, or its derivative along an axis, on the grid with `x` on every axis; shape (len(x),) * d."""
        values = self._coefficients
        for j in range(values.ndim):
            values = np.moveaxis(np.tensordot(self._basis(x, j == along), values, (1, j)), 0, j)
        return np.asarray(values)

    def _basis(self, x: Floats, derivative: bool = False) -> Floats:
        phase = x[:, None] * self._waves
        if derivative:
            heights = self._heights * self._waves
            return np.hstack([-np.sin(phase) * heights, np.cos(phase) * heights])
        return np.hstack([np.cos(phase) * self._heights, np.sin(phase) * self._heights])


def draw(kernel: RBF, low: float, high: float, rng: int | np.random.Generator | None = None) -> Field:
    """Draw a function of one variable, to be used from `low` to `high`, from a zero-mean GP with an RBF kernel.

    It turns points of shape (n, 1) into values of shape (n,) and is exact to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> import zonal as zn
    >>> zn.simulation.draw(zn.RBF(0.1, 0.2), 0, 1, rng=0)(np.zeros((3, 1))).shape
    (3,)
    """
    require(type(kernel) is RBF, "functions are drawn from an RBF", kernel, "Pass zn.RBF(variance, lengthscale).")
    low, high = checked_ends("x", (low, high))
    scale = float(kernel.lengthscales(1)[0])
    fix = "Use a longer lengthscale or a shorter axis."
    require((high - low) / scale <= MAX_SCALES, "the axis has too many lengthscales", (low, high, scale), fix)
    return Field(kernel, 1, random_generator(rng), high - low)


def grid_optimum(f: Function, points: int = 1000) -> tuple[float, float]:
    """Return x* and f* of a function on [0, 1] on an equally spaced grid, as the paper finds them.

    Examples
    --------
    >>> import zonal as zn
    >>> zn.simulation.grid_optimum(lambda x: 1 - (x[:, 0] - 0.25) ** 2, points=5)
    (0.25, 1.0)
    """
    require(callable(f), "f must be a function", f, "Pass a function of points, (n, 1) to (n,).")
    grid = np.linspace(0, 1, whole_number(points, "points", 2, MAX_POINTS))
    problem, fix = "f must return one number per point", "Return an array of shape (n,)."
    values = plain_array(f(grid[:, None]), problem, fix, float)
    require(values.shape == grid.shape and np.isfinite(values).all(), problem, values, fix)
    top = int(np.argmax(values))
    return float(grid[top]), float(values[top])


def true_optimum(f: Function, points: int = 20_001) -> tuple[float, float]:
    """Return x* and f* of a function on [0, 1], refined from a fine grid.

    Examples
    --------
    >>> import zonal as zn
    >>> x, value = zn.simulation.true_optimum(lambda x: 1 - (x[:, 0] - 0.3) ** 2)
    >>> round(x, 6), round(value, 6)
    (0.3, 1.0)
    """
    top = climbed(f, np.array([grid_optimum(f, points)[0]]), 1 / (points - 1))
    return float(top[0]), float(np.asarray(f(top[None, :]))[0])


def climbed(f: Function, x: Floats, step: float) -> Floats:
    """Return the maximum of a smooth function on the unit cube near the best point of a grid with this step."""
    ways = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * len(x), indexing="ij"), axis=-1).reshape(-1, len(x))
    for _ in range(40):
        around = np.clip(x + step * ways, 0.0, 1.0)
        x, step = around[np.argmax(f(around))], step / 2
    return x


def aggregated_regret(instrument: Simulation, region: Region, f_star: float) -> float:
    """Return f* minus the true average over a recommended region (Definition 2).

    Examples
    --------
    >>> import zonal as zn
    >>> line = zn.simulate(lambda x: x[:, 0], zn.Mean(), noise=0.1, rng=0)
    >>> cell = zn.Box([(0, 1)]).region([(0.5, 1)])
    >>> round(zn.simulation.aggregated_regret(line, cell, f_star=1.0), 6)
    0.25
    """
    return f_star - instrument.average(region)
