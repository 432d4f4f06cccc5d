"""Tiles against plain arrays: whatever their size, and however the matrix grew."""

from __future__ import annotations

import tracemalloc
from typing import Literal

import numpy as np
import pytest
from scipy.linalg import solve_triangular

import zonal as zn
from zonal.averages.covariance import ProductCovariance
from zonal.beliefs.gp import GaussianBelief
from zonal.beliefs.tiles import Tiles


def grown(size: int, tile: tuple[int, int]) -> tuple[Tiles, np.ndarray]:
    """Return a matrix that grew a row and two columns at a time, as tiles and as an array."""
    rng = np.random.default_rng(size)
    plain = rng.normal(size=(size, 2 * size + 1))
    tiles = Tiles(2, 2, tile)
    for t in range(size):
        tiles.write(t, 0, plain[t : t + 1, : 2 * t + 1])
        tiles.write(0, 2 * t + 1, plain[: t + 1, 2 * t + 1 : 2 * t + 3])
    return tiles, plain


@pytest.mark.parametrize("tile", [(4, 8), (5, 3), (16, 64)], ids=str)
@pytest.mark.parametrize("size", [1, 3, 4, 23])
def test_a_matrix_that_grew_in_tiles_is_that_matrix(size: int, tile: tuple[int, int]) -> None:
    tiles, plain = grown(size, tile)
    weights, some = np.arange(1.0, size + 1), np.array([2 * size, 0, size, size])
    np.testing.assert_allclose(tiles.times(weights, 2 * size + 1), weights @ plain, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(tiles.columns(some, size), plain[:, some])
    np.testing.assert_array_equal(tiles.column(2 * size, size), plain[:, -1])
    np.testing.assert_array_equal(tiles.columns(some, 1), plain[:1, some])


@pytest.mark.parametrize("size", [3, 4, 5, 19])
def test_a_triangle_of_tiles_is_solved(size: int) -> None:
    rng = np.random.default_rng(size)
    lower = np.tril(rng.normal(size=(size, size))) + 3 * np.eye(size)
    tiles = Tiles(1, 1, (4, 4), "F")
    for t in range(size):
        tiles.write(t, 0, lower[t : t + 1, : t + 1])
    right = rng.normal(size=(size, 2))
    before = right.copy()
    np.testing.assert_allclose(tiles.solve(right), solve_triangular(lower, right, lower=True), rtol=1e-10)
    np.testing.assert_array_equal(right, before)


def test_tiles_are_never_moved() -> None:
    tiles, _ = grown(9, (4, 8))
    first = tiles.first
    tiles.write(0, 60, np.ones((9, 1)))
    tiles.write(40, 0, np.ones((1, 60)))
    assert tiles.first is first
    assert np.count_nonzero(first == 1) == 0


def followed(rounds: int, monkeypatch: pytest.MonkeyPatch, tile: tuple[int, int] | None) -> GaussianBelief:
    """Return a belief that measured cells of a tree and split them, a round after the other."""

    def small(rows: int, columns: int, _: object = None, order: Literal["C", "F"] = "C") -> Tiles:
        assert tile is not None
        return Tiles(rows, columns, tile, order)

    if tile is not None:
        monkeypatch.setattr("zonal.beliefs.gp.Tiles", small)
    space, feedback, rng = zn.Box([(0, 1)]), zn.Center(), np.random.default_rng(0)
    belief = GaussianBelief(ProductCovariance(zn.RBF(1.0, 0.1), feedback, space.axes))
    regions = [space.cell((0, 0))]
    belief.track(feedback.footprints(regions))
    for t in range(rounds):
        belief = belief.fork()
        belief.observe(t, float(rng.normal()), 0.01)
        children = space.split(regions[t])
        belief.track(feedback.footprints(children))
        regions += children
    return belief


def test_a_belief_is_the_same_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, tiled = followed(60, monkeypatch, None), followed(60, monkeypatch, (16, 16))
    again = followed(60, monkeypatch, (16, 16))
    again._rebuild()
    every = np.arange(whole.size)
    for other in (tiled, again):
        np.testing.assert_allclose(other.mean, whole.mean, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.variance, whole.variance, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.covariance(every), whole.covariance(every), rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.residuals(), whole.residuals(), rtol=1e-8)


def test_no_round_of_a_long_search_copies_what_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    # A round at which an array of all would have been doubled asks for no more than a few tiles.
    monkeypatch.setattr("zonal.averages.layout.MOST_KEPT", 64)
    belief = followed(256, monkeypatch, (32, 32))
    space, feedback = zn.Box([(0, 1)]), zn.Center()
    held = belief._rows * belief.size * 8
    asked = []
    for t in range(256, 268):
        depth = (t + 1).bit_length() - 1
        children = feedback.footprints(space.split(space.cell((depth, t + 1 - 2**depth))))
        tracemalloc.start()
        belief = belief.fork()
        belief.observe(t, 0.0, 0.01)
        belief.track(children)
        asked.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(asked) < held / 2, (max(asked), held)
