"""Tiles against plain arrays: whatever their size, and however the matrix grew."""

from __future__ import annotations

import tracemalloc
from typing import Literal

import numpy as np
import pytest
from scipy.linalg import solve_triangular

import zonal as zn
from followed import Followed, alone
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model_average import Member
from zonal.gp.tiles import Tiles


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


@pytest.mark.parametrize("tile", [(4, 8), (5, 3), (16, 64)], ids=str)
@pytest.mark.parametrize("size", [1, 3, 4, 9])
def test_whoever_goes_on_from_a_part_that_another_went_on_from_gets_a_copy(
    size: int, tile: tuple[int, int]
) -> None:
    """Two write a row more each, and one of them more and more; neither sees what the other wrote."""
    rng = np.random.default_rng(size)
    start, known = rng.normal(size=(size, size + 2)), (size, size + 2)
    tiles = Tiles(2, 2, tile)
    tiles.write(0, 0, start)
    rows = rng.normal(size=(3, 1, size + 2))
    grown = [tiles.plus(known, size, 0, row) for row in rows]
    assert grown[0] is tiles  # the first one need not copy
    assert grown[1] is not tiles
    more = grown[0].plus((size + 1, size + 2), 0, size + 2, np.ones((size + 1, 7)))
    more = more.plus((size + 1, size + 9), size + 1, 0, np.ones((1, size + 9)))
    assert more is tiles
    every = np.arange(size + 2)
    for own, row in zip(grown, rows, strict=True):
        np.testing.assert_array_equal(own.columns(every, size + 1), np.concatenate([start, row]))
        np.testing.assert_array_equal(own.columns(every, size), start)
        np.testing.assert_array_equal(own.column(1, size), start[:, 1])
        weights = np.arange(1.0, size + 1)
        np.testing.assert_allclose(own.times(weights, size + 2), weights @ start, rtol=1e-12, atol=1e-12)
    late = tiles.plus(known, size, 0, rows[1])  # from the part that all know, long after
    wide = tiles.plus(known, 0, size + 2, 2 * np.ones((size, 3)))
    np.testing.assert_array_equal(late.columns(every, size + 1), np.concatenate([start, rows[1]]))
    np.testing.assert_array_equal(wide.columns(size + 2 + np.arange(3), size), np.full((size, 3), 2.0))
    np.testing.assert_array_equal(tiles.columns(size + 2 + np.arange(7), size + 2), np.ones((size + 2, 7)))


def in_small_tiles(monkeypatch: pytest.MonkeyPatch, tile: tuple[int, int]) -> None:
    """Have beliefs keep their factors in small tiles."""

    def small(rows: int, columns: int, _: object = None, order: Literal["C", "F"] = "C") -> Tiles:
        return Tiles(rows, columns, tile, order)

    monkeypatch.setattr("zonal.gp.posterior.Tiles", small)
    monkeypatch.setattr("zonal.gp.posterior.KEPT", 0)


SPACE, FEEDBACK = zn.Box([(0, 1)]), zn.Center()


def followed(rounds: int) -> Followed:
    """Return a belief that measured cells of a tree and split them, a round after the other."""
    rng = np.random.default_rng(0)
    own = alone(ModelSpace(SPACE, FEEDBACK), zn.RBF(1.0, 0.1))
    regions = [SPACE.cell((0, 0))]
    own.track(FEEDBACK.footprints(regions))
    for t in range(rounds):
        own.observe(t, float(rng.normal()), 0.01)
        children = SPACE.split(regions[t])
        own.track(FEEDBACK.footprints(children))
        regions += children
    return own


def only(own: Followed) -> Member:
    """Return the belief as it is now."""
    (belief,) = own.mixture.members
    return belief


def test_a_belief_is_the_same_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = only(followed(60))
    in_small_tiles(monkeypatch, (16, 16))
    tiled, again = followed(60), followed(60)
    again.rebuild()
    every = np.arange(whole.tracked.size)
    for other in (only(tiled), only(again)):
        np.testing.assert_allclose(other.mean, whole.mean, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.variance, whole.variance, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.covariance(every), whole.covariance(every), rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.residuals(), whole.residuals(), rtol=1e-8)


@pytest.mark.parametrize("tile", [None, (16, 16)], ids=["one", "many"])
@pytest.mark.parametrize("rounds", [1, 14, 40])
def test_a_belief_once_made_stays_true_whoever_goes_on_from_it(
    rounds: int, tile: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of several goes its own way from one belief, to the last bit as if it had been alone."""
    if tile is not None:
        in_small_tiles(monkeypatch, tile)
    own = followed(rounds)
    every = np.arange(own.size)
    ways = [[(0, 1.0)], [(1, -2.0), (0, 0.3)], [(own.size - 1, 0.7)] * 3, [(2, 0.1), (1, 0.1), (2, 0.4), (0, 0.9)]]

    def told(belief: Member) -> list[bytes]:
        outside = belief.predict(FEEDBACK.footprints([SPACE.cell((7, 5)), SPACE.cell((3, 2))]))
        numbers = (belief.mean, belief.variance, belief.covariance_row(1), belief.covariance(every), *outside)
        return [own.tobytes() for own in (*numbers, belief.overlay().plus(1, 0.01).variance, belief.residuals())]

    def went(way: list[tuple[int, float]], start: Followed) -> list[Member]:
        passed, mixture, ledger, tracked = [], start.mixture, start.ledger, start.tracked
        assert tracked is not None
        for slot, reward in way:
            ledger = ledger.plus(slot, reward, 0.01)
            mixture = mixture.observing(slot, reward, 0.01, ledger)
            fresh = start.frame.layout.keys(
                FEEDBACK.footprints([SPACE.region([(0.01 * slot, 0.01 * slot + 0.005)])])
            )
            tracked = tracked.plus(fresh)
            mixture = mixture.tracking(tracked)
            (only,) = mixture.members
            passed.append(only)
        return passed

    before = told(only(own))
    together = [went(way, own) for way in ways]
    first = [[told(belief) for belief in passed] for passed in together]
    assert told(only(own)) == before
    for passed, seen, way in zip(together, first, ways, strict=True):
        assert [told(belief) for belief in passed] == seen
        assert [told(belief) for belief in went(way, followed(rounds))] == seen  # alone


def test_no_round_of_a_long_search_copies_what_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    # A round at which an array of all would have been doubled asks for no more than a few tiles.
    in_small_tiles(monkeypatch, (32, 32))
    own = followed(256)
    held = only(own).rows * own.size * 8
    asked = []
    for t in range(256, 268):
        depth = (t + 1).bit_length() - 1
        children = FEEDBACK.footprints(SPACE.split(SPACE.cell((depth, t + 1 - 2**depth))))
        tracemalloc.start()
        own.observe(t, 0.0, 0.01)
        own.track(children)
        asked.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(asked) < held / 2, (max(asked), held)
