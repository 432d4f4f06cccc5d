"""The law of the noise, learned from regions of different sizes, and a beam of unknown width."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import kinds
import zonal as zn
from zonal.gp.functional_index import FunctionalIndex
from zonal.gp.hyperparameters import Evidence, UnderLaw
from zonal.gp.kernel_families import frame_of
from zonal.gp.model import ModelSpec
from zonal.gp.noise_laws import LAWS, relative_variances
from zonal.gp.stats import ObservationStats
from zonal.kernels.feedback import footprints_of

SPACE = zn.Box([(0, 4)], smallest=1 / 16)
FALLS = {"constant": 0.0, "falling": 1.0, "both": 0.5}  # of the variance at a sixteenth of the space


def wave(x: np.ndarray[Any, Any]) -> Any:
    return np.sin(2 * x[:, 0]) + x[:, 0]


def told(scatter: Callable[[Any], float] | float, number: int = 40, **settings: Any) -> zn.Study:
    """Return a study of all cells of some depths, one after the other."""
    study = zn.Study(SPACE, budget=5, rng=0, **settings)
    measure = zn.simulate(wave, zn.Mean(), noise=scatter, rng=1)
    cells = [SPACE.cell((depth, index)) for depth in (1, 2, 3, 4, 5) for index in range(2**depth)]
    for region in cells[:number]:
        study.observe(region, measure(region))
    return study


def weight_of(study: zn.Study, *laws: str) -> float:
    return sum(option.weight for option in study.models if option.model.law in laws)


@given(kinds.spaces())
def test_sizes_of_footprints_are_shares_of_the_space(kind: kinds.Kind) -> None:
    regions = kinds.cells(kind.space, most=12)
    frame = frame_of(kind.space, zn.Mean())
    whole = kind.space.cell((0, 0))
    tracked = FunctionalIndex(frame.layout, frame.layout.keys(footprints_of([whole, *regions], zn.Mean())))
    shares = [region.weight / whole.weight for region in regions]
    assert tracked.sizes(np.arange(1, len(regions) + 1)) == pytest.approx(shares, rel=1e-9)


@pytest.mark.parametrize("with_known", [False, True])
def test_the_evidence_of_a_law_is_that_of_single_readings_with_its_noise(with_known: bool) -> None:
    rng = np.random.default_rng(4)
    slots, sizes = [0, 1, 1, 2, 3, 3, 3, 4], np.array([1.0, 0.5, 1 / 16, 1 / 64, 0.25])
    values, ledger = rng.normal(2.0, 1.0, 8), ObservationStats()
    known = [0.3 if with_known and slot == 4 else None for slot in slots]
    for slot, value, variance in zip(slots, values.tolist(), known, strict=True):
        ledger = ledger.append(slot, value, variance)
    root = rng.normal(size=(5, 7))
    covariance, data = root @ root.T / 7, ledger.data()
    spec, differences = ModelSpec(zn.RBF(1.0, 0.2), True, 0.0, LAWS), []
    for law in LAWS:
        ratios = relative_variances(law.name, sizes)
        assert ratios == pytest.approx(1 - FALLS[law.name] + FALLS[law.name] / 16 / sizes)
        evidence = Evidence(data, spec, {0: UnderLaw.of(data, law, ratios)})
        heights, _ = evidence([covariance], [0])
        for s, noise in list(enumerate(evidence.noises()[:, 0]))[len(evidence.tau) // 2 :: 4]:
            variances = [
                noise**2 * ratios[slot] if own is None else own for slot, own in zip(slots, known, strict=True)
            ]
            full = covariance[np.ix_(slots, slots)] + np.diag(np.array(variances, dtype=float))
            dense = -0.5 * (values @ np.linalg.solve(full, values) + np.linalg.slogdet(full)[1])
            prior = math.log(law.prior) - 0.5 * (math.log(noise / evidence.scale / 0.2) / 1.5) ** 2
            differences.append(float(heights[0, s, 0]) - dense - prior)
    assert differences == pytest.approx([differences[0]] * len(differences), abs=1e-8)


def test_noise_that_falls_with_size_is_learned_as_such() -> None:
    study = told(lambda region: 0.1 / math.sqrt(region.weight), 60)
    assert weight_of(study, "falling") > 0.5
    assert study.model.law == "falling"
    assert study.model.noise == pytest.approx(0.05, rel=0.3)  # that of the whole space
    assert study.model.noise_text() == f"{study.model.noise:.3g} at the whole space, falling as 1/sqrt(size)"
    assert study.model.noise_text() in str(study)
    noise = study.tree.noise
    assert noise[1] == pytest.approx(math.sqrt(2) * noise[0])


def test_constant_noise_stays_constant() -> None:
    study = told(0.1, 60)
    assert weight_of(study, "constant") > 0.6
    assert study.model.law == "constant"
    assert study.model.noise_text("K") == f"{study.model.noise:.3g} K"
    assert np.ptp(study.tree.noise) == 0
    assert "noise" not in str(study)


@pytest.mark.parametrize(
    "settings",
    [{"noise": 0.1}, {"noise": zn.PerWeight()}, {"feedback": zn.Center()}, {"feedback": zn.Beam(0.2)}],
    ids=["given", "said to fall", "points", "beam"],
)
def test_no_law_is_learned_where_it_is_given_or_readings_have_no_size(settings: dict[str, Any]) -> None:
    study = told(lambda region: 0.1 / math.sqrt(region.weight), **settings)
    assert {option.model.law for option in study.models} == {"constant"}


def test_regions_of_the_same_size_tell_no_laws_apart() -> None:
    study = zn.Study(SPACE, budget=5, rng=0)
    measure = zn.simulate(wave, zn.Mean(), noise=0.2, rng=1)
    for index in range(16):
        study.observe(SPACE.cell((4, index)), measure(SPACE.cell((4, index))))
    assert {option.model.law for option in study.models} == {"constant"}


def test_a_study_with_laws_is_replayed_to_the_last_bit_and_counts_what_is_pending() -> None:
    study = told(lambda region: 0.1 / math.sqrt(region.weight), 30)
    measure = zn.simulate(wave, zn.Mean(), noise=zn.PerWeight(0.1), rng=2)
    for trial in study.ask(2):
        study.tell(trial, measure(trial.region))
    before = study.worth(SPACE.cell((5, 7)))
    study.ask()
    again = zn.Study.replay(study.settings, study.events)
    assert again.models == study.models
    assert again.tree == study.tree
    assert before is not None


def test_means_under_a_law_are_sums_of_readings() -> None:
    study = told(lambda region: 0.1 / math.sqrt(region.weight), 30)
    trial = study.ask()
    study.tell(trial, 2.0)
    explanation = study.why()
    assert explanation.as_dict()


def test_a_beam_of_some_width_has_the_covariances_of_one_that_is_known() -> None:
    regions = [SPACE.cell((depth, index)) for depth in (0, 2, 3) for index in range(min(2**depth, 4))]
    learned, known = frame_of(SPACE, zn.Beam()), frame_of(SPACE, zn.Beam(0.3))
    matrices = []
    for frame, feedback, width in ((learned, zn.Beam(), 0.3), (known, zn.Beam(0.3), 0.0)):
        keys = frame.layout.keys(footprints_of(regions, feedback))
        pairs = frame.layout.pairs(keys, keys)
        matrices.append(frame.covariance(zn.Matern(1.0, 0.4), width).of(pairs))
    assert matrices[0] == pytest.approx(matrices[1], abs=1e-12)
    wider = learned.covariance(zn.Matern(1.0, 0.4), 1.0)
    keys = learned.layout.keys(footprints_of(regions, zn.Beam()))
    assert wider.of(learned.layout.self_pairs(keys)).max() < matrices[0].diagonal().min()


def through_beam(fwhm: float, feedback: zn.Beam, number: int = 20) -> zn.Study:
    """Return a study whose readings are a draw of a known kernel through a beam."""
    kernel, space = zn.RBF(1.0, 0.3), zn.Box([(0, 8)], smallest=1 / 4)
    study = zn.Study(space, budget=5, kernel=kernel, noise=0.02, feedback=feedback, rng=0)
    x = np.linspace(-2, 10, 1500)
    f = np.random.default_rng(5).multivariate_normal(np.zeros(1500), kernel(x[:, None], x[:, None]), method="eigh")
    std, rng = fwhm / 2.3548200450309493, np.random.default_rng(6)
    for index in np.random.default_rng(7).permutation(32)[:number]:
        region = space.cell((5, int(index)))
        density = np.exp(-0.5 * ((x - region.center[0]) / std) ** 2)
        study.observe(region, float(density @ f / density.sum()) + 0.02 * rng.standard_normal())
    return study


def test_the_width_of_a_beam_is_learned() -> None:
    study = through_beam(0.8, zn.Beam())
    assert study.model.beam == pytest.approx(0.8, rel=0.25)
    assert 0 < study.model.spread["beam"] < 0.5
    assert len({option.model.beam for option in study.models}) > 1
    assert "beam" in str(study)
    assert zn.Study.replay(study.settings, study.events).models == study.models
    assert through_beam(0.8, zn.Beam(0.8), 4).model.beam == 0


def test_a_beam_of_unknown_width_has_no_points_and_cannot_be_judged_or_simulated() -> None:
    study = zn.Study([(0, 1)], budget=3, feedback=zn.Beam())
    with pytest.raises(zn.InvalidInput, match=r"width of this beam is not known.*Pass it: zn.Beam\(0.5\)"):
        _ = study.ask().region.points
    with pytest.raises(zn.InvalidInput, match="what is judged must be known"):
        zn.Study([(0, 1)], budget=3, target=zn.Beam())
    with pytest.raises(zn.InvalidInput, match="different units"):
        zn.Study(zn.Box({"x": (0, 1), "t": (0, 1)}, units={"x": "m", "t": "s"}), budget=3, feedback=zn.Beam())
    with pytest.raises(zn.InvalidInput, match="width of this beam is not known"):
        zn.simulate(wave, zn.Beam())(SPACE.cell((2, 1)))


def read_once_and_again(space: Any, repeats: int, scatter: float = 0.02) -> zn.Study:
    """Return a study of small regions that stand out from the large ones they are in, some read again."""
    study, rng = zn.Study(space, budget=5, rng=0), np.random.default_rng(8)
    depth = space.max_depth()
    large = [space.cell((depth - 4, index)) for index in range(space.partition.count(depth - 4))]
    small = [space.cell((depth, index)) for index in range(0, space.partition.count(depth), 4)]
    value = {region.key: float(rng.normal(scale=1.0 if region in small else 0.05)) for region in [*large, *small]}
    again = [*small, *small][:repeats]
    for region, noise in [
        *((region, 0.02) for region in [*large, *small]),
        *((region, scatter) for region in again),
    ]:
        study.observe(region, value[region.key] + noise * float(rng.standard_normal()))
    return study


def test_of_points_that_stand_out_laws_wait_for_repeats() -> None:
    points = zn.Points(np.linspace(0, 1, 64)[:, None])
    assert weight_of(read_once_and_again(points, 3, scatter=1.0), "constant") == pytest.approx(1)
    assert weight_of(read_once_and_again(points, 32, scatter=1.0), "constant") < 0.95
    assert weight_of(read_once_and_again(SPACE, 3), "constant") < 0.95


def test_without_distances_no_law_is_learned() -> None:
    sequences = zn.Sequences("AC", 6)
    assert {option.model.law for option in read_once_and_again(sequences, 16).models} == {"constant"}
