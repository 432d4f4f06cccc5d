"""Factors that several beliefs share: whoever extends them, each belief keeps its numbers."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import zonal as zn
from stepwise_belief import Followed, alone
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model_average import Member
from zonal.gp.posterior import GrowingArray


@pytest.fixture(params=[1, 5, 128], autouse=True)
def reserved(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let arrays begin small, so that they are enlarged often, or as large as they do."""
    monkeypatch.setattr("zonal.gp.posterior.RESERVED", request.param)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [1, 3, 4, 23])
def test_a_matrix_that_grew_is_that_matrix(size: int, order: Literal["C", "F"]) -> None:
    """It grows a row and two columns at a time."""
    plain = np.random.default_rng(size).normal(size=(size, 2 * size + 1))
    matrix = GrowingArray((0, 1), order)
    for t in range(size):
        matrix = matrix.extended((t, 2 * t + 1), (t + 1, 2 * t + 3))
        matrix.array[t, : 2 * t + 3] = plain[t, : 2 * t + 3]
        matrix.array[:t, 2 * t + 1 : 2 * t + 3] = plain[:t, 2 * t + 1 : 2 * t + 3]
    np.testing.assert_array_equal(matrix.array[:size, : 2 * size + 1], plain)
    assert np.isfortran(matrix.array) == (order == "F")


def test_a_large_matrix_reserves_little() -> None:
    assert GrowingArray((2, 9000)).array.shape[1] <= 9000 * 9 / 8
    grown = GrowingArray((40, 4000)).extended((40, 4000), (40, 6000))
    assert 6000 < grown.array.shape[1] <= 6000 * 9 / 8


@pytest.mark.parametrize("size", [1, 3, 4, 9])
def test_whoever_extends_a_part_that_another_has_extended_gets_a_copy(size: int) -> None:
    """Three write a row more each, one of them more and more; none sees what the others wrote."""
    rng = np.random.default_rng(size)
    shape, taller = (size, size + 2), (size + 1, size + 2)
    matrix = GrowingArray(shape)
    start, rows = rng.normal(size=shape), rng.normal(size=(3, size + 2))
    matrix.array[:size, : size + 2] = start

    def with_row(row: np.ndarray) -> GrowingArray:
        extended = matrix.extended(shape, taller)
        extended.array[size, : size + 2] = row
        return extended

    branches = [with_row(row) for row in rows]
    assert branches[1] is not matrix
    assert len({id(branch) for branch in branches}) == 3
    longest = branches[0].extended(taller, (size + 8, size + 9))
    longest.array[size + 1 :, :] = longest.array[:, size + 2 :] = 7.0
    late = with_row(rows[1])  # from the part that all know, long after
    for branch, row in zip([*branches, late], [*rows, rows[1]], strict=True):
        np.testing.assert_array_equal(branch.array[: size + 1, : size + 2], np.concatenate([start, row[None]]))
    np.testing.assert_array_equal(matrix.array[:size, : size + 2], start)


def test_the_first_to_extend_a_matrix_with_reserved_entries_need_not_copy() -> None:
    matrix = GrowingArray((40, 40))
    assert matrix.extended((40, 40), (80, 80)) is matrix
    assert matrix.extended((80, 80), (80, 10**3)) is not matrix


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


@pytest.mark.parametrize("kept", [0, 384])
@pytest.mark.parametrize("rounds", [1, 14, 40])
def test_a_belief_once_made_stays_true_whoever_goes_on_from_it(
    rounds: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of several goes its own way from one belief, to the last bit as if it had been alone."""
    monkeypatch.setattr("zonal.gp.posterior.KEPT", kept)
    own = followed(rounds)
    every = np.arange(own.size)
    ways = [[(0, 1.0)], [(1, -2.0), (0, 0.3)], [(own.size - 1, 0.7)] * 3, [(2, 0.1), (1, 0.1), (2, 0.4), (0, 0.9)]]

    def told(belief: Member) -> list[bytes]:
        outside = belief.predict(FEEDBACK.footprints([SPACE.cell((7, 5)), SPACE.cell((3, 2))]))
        numbers = (belief.mean, belief.variance, belief.covariance_row(1), belief.covariance(every), *outside)
        return [
            own.tobytes()
            for own in (*numbers, belief.overlay().with_pending(1, 0.01).variance, belief.residuals())
        ]

    def went(way: list[tuple[int, float]], start: Followed) -> list[Member]:
        passed, mixture, ledger, tracked = [], start.mixture, start.ledger, start.tracked
        assert tracked is not None
        for slot, reward in way:
            ledger = ledger.append(slot, reward, 0.01)
            mixture = mixture.condition_on(slot, reward, 0.01, ledger)
            fresh = start.frame.layout.keys(
                FEEDBACK.footprints([SPACE.region([(0.01 * slot, 0.01 * slot + 0.005)])])
            )
            tracked = tracked.append(fresh)
            mixture = mixture.with_targets(tracked)
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
