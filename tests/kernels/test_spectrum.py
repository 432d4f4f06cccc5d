"""Kernels of pieces: what follows from them, checked by going through all sequences."""

import math
from typing import Any

import numpy as np
import pytest

import oracle_regions
import zonal as zn
from numbered_covariance import Numbered, numbered
from zonal.gp.kernel_families import families_of, frame_of
from zonal.kernels.base import Kernel, PlainAxis, Sum
from zonal.kernels.spectrum import lengths_of_pieces
from zonal.simulation import from_table

pytestmark = pytest.mark.one_in(2)

RHO = 0.3
SPACE = zn.Sequences("ABC", 4)
EVERY = np.array(list(np.ndindex(3, 3, 3, 3)), dtype=float)
ALIKE = oracle_regions.motif(2.0, RHO, [2, 3, 4])


def covariance(kernel: Kernel) -> Numbered:
    return numbered(kernel, zn.Mean(), SPACE.axes)


POOLS = [SPACE.region(name) for name in ("A***", "AB**", "ABCA", "*[AB]C*", "CCCC", "BB**")]


def test_pools_that_were_entered_and_given_up_change_nothing_for_others() -> None:
    """A search that was interrupted leaves pools behind, and the next one enters others."""
    own, fresh = covariance(zn.Motif(2.0, RHO)), covariance(zn.Motif(2.0, RHO))
    own.enter(zn.Mean().footprints(POOLS[:4]))
    before = own.between(np.arange(4), np.arange(4))
    left = Numbered(own.layout, own.covariance)  # two of the four were never taken in
    now = [POOLS[0], POOLS[1], *POOLS[4:]]
    left.enter(zn.Mean().footprints(now))
    fresh.enter(zn.Mean().footprints(now))
    every = np.arange(4)
    for one, other in ((left, fresh), (fresh, left)):
        np.testing.assert_array_equal(one.between(every, slice(0, 4)), other.between(every, every))
        np.testing.assert_allclose(one.between(every, every), one.among(zn.Mean().footprints(now)), rtol=1e-12)
        np.testing.assert_allclose(one.row(3), one.between(np.array([3]), every)[0], rtol=1e-12)
        np.testing.assert_allclose(one.variances(0, 4), np.diag(one.between(every, every)), rtol=1e-12)
    assert not np.allclose(before, left.between(every, every))
    np.testing.assert_array_equal(own.between(every, every), before)


def test_what_is_returned_may_be_written_into() -> None:
    own = covariance(zn.Motif(2.0, RHO))
    own.enter(zn.Mean().footprints([SPACE.region("AB**"), SPACE.region("BBA*")]))
    pairs = own.layout.pairs(own.keys, own.keys)  # the same question, of which the answer is kept
    first = own.covariance.of(pairs)
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(own.covariance.of(pairs), kept)


def test_a_change_of_one_symbol_changes_f_by_what_the_kernel_says_on_average() -> None:
    K = ALIKE(EVERY, EVERY)
    slopes = (zn.Motif(2.0, RHO) + zn.Categorical(0.5, 0.2)).slopes([PlainAxis(is_categorical=True)] * 4)
    assert slopes is not None
    for position, slope in enumerate(slopes):
        other = EVERY.copy()
        other[:, position] = (other[:, position] + 1) % 3
        numbers = other @ 3 ** np.arange(3, -1, -1)
        pair = numbers.astype(int)
        squares = np.diag(K) + np.diag(K)[pair] - 2 * K[np.arange(81), pair]
        assert slope**2 == pytest.approx(float(squares.mean()) + 2 * 0.5 * 0.8, rel=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["****", "A***", "CB**", "BBB*", "BBBA", "*B*B", "A**A", "[AB]*C[BC]"])
@pytest.mark.parametrize("frequent", [None, [0.5, 0.3, 0.2]], ids=["equal", "unequal"])
def test_f_varies_within_a_pool_as_much_as_among_its_sequences(name: str, frequent: list[float] | None) -> None:
    space = zn.Sequences("ABC", 4, frequencies=frequent)
    K, region = ALIKE(EVERY, EVERY), space.region(name)
    shares = np.ones(1)
    for axis, (_, (pool, *_)) in zip(space.axes, region.along, strict=True):
        shares = np.multiply.outer(shares, axis.frequencies(int(pool))).ravel()
    within = frame_of(space, zn.Mean()).within(zn.Motif(2.0, RHO), region)
    assert within == pytest.approx(float(shares @ np.diag(K) - shares @ K @ shares), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("alphabet", "length", "lengths"),
    [("AB", 3, [2, 3]), ("AB", 9, [2, 3, 4]), ("ACGT", 3, [2, 3]), ("ACDEFGHIKLMNPQRSTVWY", 9, [2])],
)
def test_pieces_are_as_long_as_there_are_not_too_many_of_them(
    alphabet: str, length: int, lengths: list[int]
) -> None:
    space = zn.Sequences(alphabet, length)
    _, family = families_of(space)
    motif = next(term for term in family(1.0, 0.5).terms if isinstance(term, zn.Motif))
    assert lengths_of_pieces(space.axes, motif) == lengths


def test_more_pieces_than_a_computer_can_hold_are_refused() -> None:
    acids = zn.Sequences("ACDEFGHIKLMNPQRSTVWY", 6)
    with pytest.raises(zn.InvalidInput, match=r"20 symbols has too many such pieces.*Pass lengths"):
        zn.Study(acids, budget=5, kernel=zn.Motif(1.0), noise=0.1)
    study = zn.Study(acids, budget=5, kernel=zn.Motif(1.0, lengths=[2]), noise=0.1)
    assert study.ask().region.space is acids


@pytest.mark.parametrize("lengths", [(), 3, (2, 2), (0,), (2.5,), "23", None], ids=repr)
def test_lengths_of_pieces_are_different_whole_numbers(lengths: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="length"):
        zn.Motif(1.0, lengths=lengths)


def test_an_alphabet_with_too_many_pieces_is_learned_by_places() -> None:
    letters = [chr(ord("A") + k) for k in range(26)] + [chr(ord("a") + k) for k in range(12)]
    for alphabet, number in ((letters, 1), (letters[:8], 2)):
        families = frame_of(zn.Sequences(alphabet, 4), zn.Mean()).families(None)
        assert len(families) == number
        assert sum(math.exp(weight) for _, weight in families) == pytest.approx(1)


@pytest.mark.torture
@pytest.mark.parametrize("motifs", [True, False], ids=["motifs", "places"])
def test_whether_motifs_or_places_count_is_learned(motifs: bool) -> None:
    """What three letters in a row are worth, the same wherever they are or not."""
    space, rng = zn.Sequences("ACGT", 6), np.random.default_rng(0)
    tables = [rng.standard_normal((4, 4, 4)) for _ in range(4)]
    letters = np.indices((4,) * 6)
    values = sum(tables[0 if motifs else p][tuple(letters[p : p + 3])] for p in range(4))
    landscape = from_table(space, np.asarray(values))
    study = zn.Study(space, budget=80, rng=0)
    result = study.optimize(landscape.simulate(0.1, rng=1))
    share = sum(own.weight for own in study.models if isinstance(own.model.kernel, Sum))
    assert share > 0.9 if motifs else share < 0.1
    assert isinstance(study.model.kernel, Sum) == motifs
    assert landscape.regret(result.region) < np.std(values)


def test_motifs_are_learned_alone_where_they_are_asked_for() -> None:
    study = zn.Study(zn.Sequences("AB", 4), budget=8, kernel=zn.Motif)
    study.optimize(lambda region: float("AB" in region.name))
    assert all(isinstance(own.model.kernel, Sum) for own in study.models)
    assert [type(term) for term in study.model.kernel.terms] == [zn.Motif, zn.Categorical]
