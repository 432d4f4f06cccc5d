"""Functions drawn from a model: they have its covariance, and every space gets smallest regions it can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import oracle_regions
import zonal as zn
from zonal.gp.model import BOUNDS, CORRELATION_PRIOR, LENGTHSCALE_PRIOR
from zonal.simulation.gp_samples import drawn_kernel, model_of

Array = NDArray[np.float64]

AREAS: Any = {"North": {"Coast": ["Reef", "Bay"], "Inland": None}, "South": ["Hills", "Plain"]}
POINTS = np.random.default_rng(1).uniform(size=(9, 2))


def gaussian(x: Array, y: Array, lengthscale: Array) -> Array:
    """Return the RBF kernel of variance 1, written out."""
    gap = (x[:, None, :] - y[None, :, :]) / lengthscale
    return np.asarray(np.exp(-0.5 * (gap**2).sum(axis=2)))


def cells_of_line(lengthscale: float) -> Array:
    """Return the covariance of the averages over 8 parts of (0, 2), by midpoint sums."""
    x = ((np.arange(8 * 40) + 0.5) * 2 / (8 * 40))[:, None]
    return np.asarray(gaussian(x, x, np.array([lengthscale])).reshape(8, 40, 8, 40).mean(axis=(1, 3)))


def matches(symbols: int, correlation: float) -> Array:
    return np.where(np.eye(symbols) > 0, 1.0, correlation)


def hierarchy() -> Array:
    """Return the covariance of the five areas: 0.5 for every level on which two differ."""
    paths = [("N", "C", "R"), ("N", "C", "B"), ("N", "I", ""), ("S", "H", ""), ("S", "P", "")]
    differ = [[sum(ours[: j + 1] != theirs[: j + 1] for j in range(3)) for theirs in paths] for ours in paths]
    return np.asarray(0.5 ** np.array(differ, dtype=float))


def motifs() -> Array:
    """Return the covariance of all sequences of three letters out of three, in order."""
    sequences = np.array(list(np.ndindex(3, 3, 3)), dtype=float)
    return oracle_regions.motif(2.0, 0.3, [2, 3])(sequences, sequences)


LINE = zn.Box([(0, 2)], smallest=0.25)
CASES: dict[str, tuple[Any, Any, Any]] = {
    "line": (LINE, zn.RBF(4.0, 0.4), 4 * cells_of_line(0.4)),
    "sum": (LINE, zn.RBF(1.0, 0.4) + zn.RBF(2.0, 3.0), cells_of_line(0.4) + 2 * cells_of_line(3.0)),
    "plane": (
        zn.Box([(0, 2), (0, 2)], smallest=0.25),
        zn.RBF(1.0, (0.4, 1.5)),
        np.kron(cells_of_line(0.4), cells_of_line(1.5)),
    ),
    "mixed": (
        zn.Product({"x": (0, 2), "dye": ["red", "green", "blue"]}, smallest=0.25),
        zn.RBF(3.0, 0.4) * zn.Categorical(1.0, 0.3),
        3 * np.kron(cells_of_line(0.4), matches(3, 0.3)),
    ),
    "dna": (
        zn.Sequences("ACGT", 2),
        zn.Categorical(2.0, (0.2, 0.7)),
        2 * np.kron(matches(4, 0.2), matches(4, 0.7)),
    ),
    "motifs": (zn.Sequences("ABC", 3), zn.Motif(2.0, 0.3), motifs()),
    "points": (zn.Points(POINTS), zn.RBF(1.0, 0.3), gaussian(POINTS, POINTS, np.array([0.3, 0.3]))),
    "a function of points": (zn.Points(POINTS), lambda x, y: 1 + x @ y.T, 1 + POINTS @ POINTS.T),
    "hierarchy": (zn.Hierarchy(AREAS), zn.Categorical(1.0, 0.5), hierarchy()),
}
DRAWS = 3000
MOST = 5.0  # standard errors that an entry may be off


def values_of(model: Any, draws: int = DRAWS) -> Array:
    """Return the averages of all smallest parts, in the order of the user's rows, axes or symbols."""
    space, rng, rows = model.space, np.random.default_rng(0), []
    if isinstance(space, zn.Points | zn.Hierarchy):
        parts = [space.region([row]) for row in range(space.size)]
    else:
        cells = [space.cell((space.max_depth(), i)) for i in range(space.partition.count(space.max_depth()))]
        parts = sorted(cells, key=lambda cell: tuple(cell.center))
    for _ in range(draws):
        landscape = model.draw(rng).landscape
        rows.append([landscape.average(part) for part in parts])
    return np.array(rows)


def surprise(values: Array, covariance: Array) -> Array:
    """Return how many standard errors every entry of the sample covariance is off."""
    variance = np.diag(covariance)
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / len(values))
    return np.asarray((values.T @ values / len(values) - covariance) / error)


@pytest.mark.torture
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CASES)
def test_draws_have_mean_zero_and_the_covariance_of_the_prior(name: str) -> None:
    space, kernel, covariance = CASES[name]
    draws = 1000 if name in ("plane", "mixed", "dna", "motifs") else DRAWS  # of many parts, and so many entries
    values = values_of(model_of(space, kernel, None, "maximize"), draws)
    z = surprise(values, covariance)
    assert np.abs(z).max() < MOST
    assert 0.3 < np.mean(z**2) < 2.5
    center = values.mean(axis=0) / np.sqrt(np.diag(covariance) / len(values))
    assert np.abs(center).max() < 4.5


@pytest.mark.torture  # as what is checked
def test_the_check_of_the_covariance_can_fail() -> None:
    values = values_of(model_of(LINE, zn.RBF(4.0, 0.5), None, "maximize"))
    assert np.abs(surprise(values, 4 * cells_of_line(0.4))).max() > MOST
    values = values_of(model_of(LINE, zn.RBF(4.6, 0.4), None, "maximize"))
    assert np.abs(surprise(values, 4 * cells_of_line(0.4))).max() > MOST


def test_very_smooth_functions_can_be_drawn() -> None:
    for kernel in (zn.RBF(1.0, 100.0), zn.Matern(1.0, 1e4)):
        landscape = model_of(zn.Box([(0, 1)]), kernel, None, "maximize").draw(np.random.default_rng(0)).landscape
        assert abs(landscape.regret(landscape.space.cell((0, 0)))) < 0.05
    flat = model_of(zn.Sequences("AB", 3), zn.Categorical(1.0, 1.0), None, "maximize")
    assert flat.draw(np.random.default_rng(0)).landscape.best().average == pytest.approx(
        flat.draw(np.random.default_rng(0)).landscape.average("***"), abs=1e-3
    )


def test_coarse_averages_are_those_of_their_parts() -> None:
    landscape = model_of(CASES["mixed"][0], None, None, "maximize").draw(np.random.default_rng(3)).landscape
    root = landscape.space.cell((0, 0))
    parts = [landscape.average(cell) for cell in landscape.space.split(root)]
    assert landscape.average(root) == pytest.approx(np.mean(parts))


# Kernels drawn.


def test_lengthscales_are_drawn_from_the_prior_of_learning_in_widths_of_the_axis() -> None:
    space, rng = zn.Box([(0, 1), (0, 100)]), np.random.default_rng(0)
    kernels = [drawn_kernel(space, 2.0, rng) for _ in range(4000)]
    assert all(isinstance(kernel, zn.Matern) and kernel.variance == 4 for kernel in kernels)
    scales = np.log(np.array([kernel.lengthscale for kernel in kernels]) / [1, 100])  # type: ignore[attr-defined]
    low, high = np.log(BOUNDS["lengthscale"])
    assert low - 1e-9 <= scales.min() < scales.max() <= high + 1e-9
    np.testing.assert_allclose(np.median(scales, axis=0), math.log(LENGTHSCALE_PRIOR[0]), atol=0.1)
    np.testing.assert_allclose(scales.std(axis=0), LENGTHSCALE_PRIOR[1], rtol=0.06)
    assert abs(np.corrcoef(scales.T)[0, 1]) < 0.06


def test_correlations_of_symbols_have_a_part_in_common() -> None:
    rng = np.random.default_rng(0)
    kernels = [drawn_kernel(zn.Sequences("ACGT", 3), 1.0, rng) for _ in range(6000)]
    of_places = [kernel for kernel in kernels if isinstance(kernel, zn.Categorical)]
    assert len(of_places) == pytest.approx(3000, abs=200)  # the others have motifs
    drawn = np.array([kernel.correlation for kernel in of_places])
    odds = np.log(drawn / (1 - drawn))
    shared, own = CORRELATION_PRIOR
    np.testing.assert_allclose(np.cov(odds.T), shared**2 + own**2 * np.eye(3), rtol=0.1)
    np.testing.assert_allclose(odds.mean(axis=0), 0, atol=0.1)


def test_without_a_kernel_every_function_has_its_own() -> None:
    model, rng = model_of(zn.Points(POINTS), None, 3.0, "maximize"), np.random.default_rng(0)
    kernels = [model.draw(rng).kernel for _ in range(3)]
    assert len(set(kernels)) == 3
    assert {kernel.point_variance for kernel in kernels} == {9.0}


# Smallest regions.


@pytest.mark.parametrize(
    ("space", "cells"),
    [
        (zn.Box([(0, 1)]), 256),
        (zn.Box([(0, 1)], arity=3), 729),
        (zn.Box({"l": (-180, 180), "b": (-1, 1)}, units={"l": "deg"}), 32**2),
        (zn.Box([(0, 1)] * 3), 16**3),
        (zn.Box([(0, 1)] * 4), 8**4),
        (zn.Product({"x": (0, 1), "dye": {"red": 1, "green": 3}}), 256 * 2),
        (zn.Box([(0, 1)], smallest=0.1), 8),
        (zn.Box([(0, 1)], arity=300), 300),
    ],
)
def test_a_space_without_a_smallest_region_gets_one(space: Any, cells: int) -> None:
    cut = space.with_smallest()
    assert cut.partition.leaves(cut.max_depth()) == cells
    assert (type(cut), cut.names, cut.units, cut.arity) == (type(space), space.names, space.units, space.arity)
    assert cut.cell((1, 1)).name == space.cell((1, 1)).name
    assert cut.cell((1, 1)).weight == space.cell((1, 1)).weight


@pytest.mark.parametrize("space", [zn.Sequences("ACGT", 3), zn.Points(POINTS), zn.Hierarchy(AREAS), LINE])
def test_a_space_that_has_a_smallest_region_stays_as_it_is(space: Any) -> None:
    assert space.with_smallest() is space


@pytest.mark.parametrize(
    ("space", "kernel", "complaint"),
    [
        (zn.Box([(0, 1)] * 6), None, r"65536 smallest parts; got 262144.*smallest="),
        (zn.Box([(0, 1)], smallest=1e-6), None, r"smallest parts; got 1048576.*smallest="),
        (zn.Sequences("ACGT", 9), None, "smallest parts; got 262144.*fewer positions"),
        (zn.Points(np.arange(5000.0)), None, "4096 smallest parts; got 5000"),
        (LINE, zn.RBF, "kernel must be a kernel or None"),
        (LINE, zn.Categorical(1.0, 0.5), "continuous axis"),
        (LINE, zn.RBF(1.0, (1.0, 2.0)), "lengthscale"),
        (LINE, lambda x, y: x @ y.T, "kernel must be a kernel or None"),
        (zn.Sequences("ACGT", 2), zn.RBF(1.0, 1.0), "symbols have none"),
        (zn.Hierarchy(AREAS), zn.RBF(1.0, 1.0), "no distances"),
        (zn.Points(POINTS), lambda x, y: -(x @ y.T), "kernel is not"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_fix(space: Any, kernel: Any, complaint: str) -> None:
    with pytest.raises(zn.InvalidInput, match=complaint):
        model_of(space, kernel, None, "maximize")


# Between the cells.


def test_windows_between_the_cells_of_a_draw_have_their_own_averages() -> None:
    space, kernel = zn.Box([(0, 1)] * 2, smallest=1 / 8), zn.RBF(1.0, 0.1)
    model, rng = model_of(space, kernel, None, "maximize"), np.random.default_rng(0)
    region = space.region([(3 / 16, 5 / 16), (1 / 4, 3 / 8)])  # half a cell off the grid, of one cell's size
    averages = [model.draw(rng).landscape.average(region) for _ in range(2000)]
    exact = zn.Study(space, budget=1, kernel=kernel, noise=0.1).predict([region]).std[0] ** 2
    assert np.var(averages) == pytest.approx(exact, rel=0.1)  # of two halves of flat cells it would be 0.8 of it


def test_smallest_regions_of_large_spaces_are_not_divided() -> None:
    space = zn.Box([(0, 1)] * 4, smallest=1 / 16)
    values = model_of(space, zn.RBF(1.0, 0.3), None, "maximize").draw(np.random.default_rng(0)).landscape
    corner = space.cell((space.max_depth() or 0, 0))
    halves = [space.region([(0, width), *[(0, 1 / 16)] * 3]) for width in (1 / 32, 1 / 16)]
    assert values.average(halves[0]) == pytest.approx(values.average(corner))
