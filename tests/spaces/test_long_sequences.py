"""Thirty positions: more sequences than can be listed, so everything must be exact without listing them."""

import itertools
import math

import numpy as np
import pytest

import zonal as zn
from numbered_covariance import in_frame
from zonal.gp.kernel_families import frame_of
from zonal.kernels.base import PlainAxis

pytestmark = pytest.mark.filterwarnings("ignore:there are 4:UserWarning")  # that this is seldom any use

LENGTH = 30
RHO = [0.1 + 0.8 * j / LENGTH for j in range(LENGTH)]
SPACE = zn.Sequences("ACGT", LENGTH)
SKEWED = zn.Sequences("ACGT", LENGTH, frequencies=[[1 + j % 3, 2, 1, 4] for j in range(LENGTH)])
KERNEL = zn.Categorical(2.0, RHO)


def pools(space: zn.Sequences) -> list[zn.Region]:
    """Return pools inside and outside the tree, down to a single sequence."""
    named = ["N" * LENGTH, "A" + "N" * 29, "AC" * 15, "RYN" * 10, "N" * 29 + "T", "ACGTN" * 6, "B" * LENGTH]
    return [*map(space.region, named), space.cell((30, 4**30 - 1)), space.cell((7, 4**6 + 5))]


def closed_form(space: zn.Sequences, one: zn.Region, other: zn.Region) -> float:
    """Return the variance times, for every position, 1 if two symbols drawn from the pools are equal, else rho."""
    product = 2.0
    for axis, rho, ours, theirs in zip(space.axes, RHO, one.symbols, other.symbols, strict=True):  # type: ignore[attr-defined]
        p = {symbol: axis.shares[axis.symbols.index(symbol)] for symbol in ours}
        q = {symbol: axis.shares[axis.symbols.index(symbol)] for symbol in theirs}
        pairs = itertools.product(p.items(), q.items())
        total = sum(x * y * (1.0 if a == b else rho) for (a, x), (b, y) in pairs)
        product *= total / (sum(p.values()) * sum(q.values()))
    return product


@pytest.mark.parametrize("space", [SPACE, SKEWED], ids=["equal frequencies", "unequal frequencies"])
def test_the_mean_of_a_pool_is_a_product_over_positions(space: zn.Sequences) -> None:
    regions = pools(space)
    covariance = in_frame(frame_of(space, zn.Mean()), KERNEL)
    covariance.enter(zn.Mean().footprints(regions))
    expected = np.array([[closed_form(space, one, other) for other in regions] for one in regions])
    found = covariance.between(slice(0, len(regions)), slice(0, len(regions)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[2, 2] == pytest.approx(2.0, rel=1e-14)  # one sequence: nothing is averaged away


def test_nodes_are_exact_integers_down_to_the_last_position() -> None:
    last = 4**30 - 1
    assert SPACE.partition.count(30) == 4**30
    assert SPACE.partition.count(31) == 0
    assert SPACE.max_depth() == 30
    cell = SPACE.cell((30, last))
    assert cell.name == "T" * 30
    assert not SPACE.may_split(cell)
    for index in (0, 1, 2**53 + 1, 4**29 + 12345678901, last - 1):
        digits = "".join("ACGT"[index // 4**k % 4] for k in reversed(range(30)))
        assert SPACE.cell((30, index)).name == digits
        parent = SPACE.cell((29, index // 4))
        child = SPACE.split(parent)[index % 4]
        assert child.node == (30, index)
        assert type(child.node[1]) is int
        assert child.weight == pytest.approx(4.0**-30, rel=1e-12)
    with pytest.raises(zn.InvalidInput, match="a node is"):
        SPACE.cell((30, 4**30))


def test_a_study_of_thirty_rounds_finds_a_motif() -> None:
    """GPOO, down to pools of single sequences if it likes: 4^30 of them, numbered in 64 bits."""
    motif = "ACGTAC"
    policy = zn.GPOO(zn.GeometricDelta(2, 0.7), h_max=29)
    study = zn.Study(SPACE, budget=30, kernel=KERNEL, noise=0.05, policy=policy)

    def measure(region: zn.Region) -> float:
        pairs = zip(region.symbols, motif, strict=False)  # type: ignore[attr-defined]
        return sum(float(letter in pool) / len(pool) for pool, letter in pairs) / len(motif)

    result = study.optimize(measure)
    assert result.success
    assert study.tree.index.dtype == np.int64
    assert result.region.name[0] == "A"
    t, told = 31, study.tree
    log_m = math.log((4**30 - 1) / 3)
    beta = 2 * (log_m + math.log(math.pi**2 * t**2 / 6) - math.log(0.1))
    np.testing.assert_allclose(study.confidence_bands().confidence, math.sqrt(beta) * told.std, rtol=1e-12)


@pytest.mark.torture
def test_a_study_that_learns_everything_works_too() -> None:
    study = zn.Study(SPACE, budget=16, rng=0)
    rng = np.random.default_rng(0)
    result = study.optimize(lambda region: float(region.name.startswith("A")) + 0.01 * float(rng.normal()))
    assert result.success
    assert result.region.name.startswith("A")
    slopes = study.model.kernel.slopes([PlainAxis(is_categorical=True)] * LENGTH)
    assert slopes is not None
    assert len(slopes) == LENGTH
    assert study.predict("ACGTN" * 6).std > 0
    assert study.predict(["A" + "N" * 29, "C" + "N" * 29]).mean.argmax() == 0


def test_a_measurement_deep_down_says_the_right_thing_about_the_whole() -> None:
    study = zn.Study(SPACE, budget=3, kernel=KERNEL, noise=0.1)
    deep = SPACE.region("ACGTAC" * 5)
    study.observe(deep, 1.0)
    whole = SPACE.cell((0, 0))
    cross, own = closed_form(SPACE, whole, deep), 2.0
    predicted = study.predict(whole)
    assert predicted.mean == pytest.approx(cross / (own + 0.01), rel=1e-12)
    variance = closed_form(SPACE, whole, whole) - cross**2 / (own + 0.01)
    assert predicted.std == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_what_cannot_be_listed_says_so() -> None:
    region = SPACE.cell((0, 0), zn.Mean())
    with pytest.raises(zn.InvalidInput, match="too many representative points to list in 30 dimensions"):
        _ = region.points
    one = SPACE.region("ACGTAC" * 5, zn.Mean())
    assert one.points.shape == (1, 30)
    assert one.weights.tolist() == [1.0]
