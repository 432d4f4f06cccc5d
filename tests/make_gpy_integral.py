"""Write data/gpy_integral.json: covariances of integrals by GPy's integral kernels.

GPy is needed here only, so it has an environment of its own::

    python3.11 -m venv .venv-gpy
    .venv-gpy/bin/pip install GPy==1.15.0 mpmath
    .venv-gpy/bin/python tests/make_gpy_integral.py

GPy's conventions, each of which is checked below against mpmath's quadrature:

- The latent kernel is ``variance * prod_j exp(-r_j^2 / l_j^2)``, without the usual 2: GPy's
  lengthscale l is sqrt(2) times the lengthscale of ``exp(-r^2 / (2 l^2))``.
- A row of the inputs holds, for each axis, first the upper and then the lower limit.
- ``K(X)`` is the covariance of integrals over regions; ``K(X, X2)`` is that of integrals over
  the regions of X with values of f at points, read from the "upper" columns of X2.
- Both are integrals, not means: divide by the volume of each region.

The file holds the values as GPy returned them, with the limits as (lower, upper).
"""

import json
from collections.abc import Sequence
from pathlib import Path

import GPy  # type: ignore[import-not-found]
import mpmath as mp
import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]  # (lower, upper)

VARIANCE = 0.7
OUTPUT = Path(__file__).parent / "data" / "gpy_integral.json"
TOLERANCE = 1e-12  # relative; GPy subtracts nearly equal numbers

LENGTHSCALES = {1: [0.6], 2: [0.6, 0.9]}
# Nested, overlapping, touching and apart; widths from 0.3 to 4.2 of GPy's lengthscales.
REGIONS: dict[int, list[list[Interval]]] = {
    1: [
        [(0.0, 0.5)],
        [(0.5, 1.5)],
        [(0.1, 0.3)],
        [(-1.0, 1.5)],
        [(1.2, 2.0)],
        [(-0.4, 0.2)],
        [(0.9, 1.1)],
    ],
    2: [
        [(0.0, 0.5), (0.0, 1.0)],
        [(0.5, 1.0), (0.0, 1.0)],
        [(0.1, 0.3), (0.2, 0.5)],
        [(-1.0, 1.0), (-1.5, 2.0)],
        [(0.2, 1.4), (0.6, 0.9)],
        [(1.0, 1.5), (-1.0, -0.2)],
        [(-0.5, -0.2), (1.1, 1.9)],
    ],
}
POINTS: dict[int, list[list[float]]] = {
    1: [[0.2], [0.5], [1.7]],
    2: [[0.2, 0.3], [0.5, 1.0], [1.3, -0.4]],
}


def gpy_values(dimension: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return GPy's covariances of integrals (n, n), and of integrals with values (n, p)."""
    lengthscales = np.array(LENGTHSCALES[dimension])
    kernels = {1: GPy.kern.Integral_Limits, 2: GPy.kern.Multidimensional_Integral_Limits}
    kernel = kernels[dimension](2 * dimension, variances=VARIANCE, lengthscale=lengthscales)
    upper_first = [[end for axis in region for end in axis[::-1]] for region in REGIONS[dimension]]
    points = [[end for x in point for end in (x, 0.0)] for point in POINTS[dimension]]
    X = np.array(upper_first)
    return kernel.K(X), kernel.K(X, np.array(points))


def by_quadrature(dimension: int, region: Sequence[Interval], other: Sequence[Interval | float]) -> mp.mpf:
    """Return what GPy should: the latent kernel integrated over a region and another or a point."""
    product = mp.mpf(VARIANCE)
    for l, first, second in zip(LENGTHSCALES[dimension], region, other, strict=True):
        if isinstance(second, float):
            product *= mp.quad(lambda x, l=l, y=second: mp.exp(-(((x - y) / l) ** 2)), first)
        else:
            product *= mp.quad(lambda x, y, l=l: mp.exp(-(((x - y) / l) ** 2)), first, second)
    return product


def worst_difference(dimension: int, integrals: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return the largest relative difference of GPy's numbers from mpmath's quadrature."""
    others: list[Sequence[Interval | float]] = [*REGIONS[dimension], *POINTS[dimension]]
    exact = [[by_quadrature(dimension, a, b) for b in others] for a in REGIONS[dimension]]
    found = np.hstack([integrals, values])
    return float(np.max(np.abs(found / np.array(exact) - 1)))


def main() -> None:
    """Ask GPy, check the conventions, and write the file."""
    tables = []
    for dimension in (1, 2):
        integrals, values = gpy_values(dimension)
        worst = worst_difference(dimension, integrals, values)
        if worst > TOLERANCE:
            raise ArithmeticError(f"GPy and quadrature differ by {worst:.1e} in {dimension}-D")
        tables.append(
            {
                "dimension": dimension,
                "variance": VARIANCE,
                "gpy lengthscales": LENGTHSCALES[dimension],
                "regions": REGIONS[dimension],
                "points": POINTS[dimension],
                "integral with integral": integrals.tolist(),
                "integral with value": values.tolist(),
                "largest relative difference from mpmath": worst,
            }
        )
    content = {
        "about": "Covariances of integrals of f over boxes, as returned by GPy's Integral_Limits "
        "(1-D) and Multidimensional_Integral_Limits (2-D).",
        "made by": "tests/make_gpy_integral.py",
        "versions": {"GPy": GPy.__version__, "numpy": np.__version__, "mpmath": mp.__version__},
        "latent kernel": "variance * prod_j exp(-r_j^2 / l_j^2): the lengthscale of "
        "exp(-r^2 / (2 l^2)) is GPy's divided by sqrt(2)",
        "normalisation": "none: divide by the volumes of the regions to get means",
        "tables": tables,
    }
    OUTPUT.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
