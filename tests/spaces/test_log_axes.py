"""Logarithmic axes: decades inside, the user's numbers outside."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zonal as zn

DOSE = zn.Box({"c": (1e-6, 1e-2)}, units=["M"], scale="log", smallest=0.5)
MIXED = zn.Product({"c": (3e-3, 3.0), "t": (0.0, 1.0), "dye": ["red", "green"]}, scale={"c": "log"}, smallest=0.25)


def decades(space: zn.Box) -> zn.Box:
    """Return the box that a user would make by hand, in decades."""
    return zn.Box([tuple(np.log10(space.bounds[0]).tolist())], smallest=space.smallest)


def peak(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-((np.log10(x[:, 0]) + 3.3) ** 2)))


def test_cells_are_equal_in_decades_and_shown_in_the_users_numbers() -> None:
    names = [DOSE.cell((2, j)).name for j in range(4)]
    assert names == ["c 1e-06..1e-05 M", "c 1e-05..0.0001 M", "c 0.0001..0.001 M", "c 0.001..0.01 M"]
    cell = DOSE.cell((3, 5))
    np.testing.assert_allclose(cell.bounds, [[10**-3.5, 1e-3]])
    np.testing.assert_allclose(cell.center, [10**-3.25])
    np.testing.assert_allclose(cell.widths, [0.5])
    assert DOSE.max_depth() == 3


def test_the_ends_are_the_users_own_to_the_last_bit() -> None:
    space = zn.Box({"c": (0.3, 0.7)}, scale=["log"])
    assert space.bounds == ((0.3, 0.7),)
    assert space.cell((0, 0)).bounds.tolist() == [[0.3, 0.7]]
    assert space.region([(0.3, 0.7)]).key == space.cell((0, 0)).key
    assert "scale={'c': 'log'}" in repr(space)


def test_names_of_narrow_neighbours_differ() -> None:
    space = zn.Box({"c": (1.0, 1000.0)}, scale="log")
    names = [space.cell((12, j)).name for j in range(4096)]
    assert len(set(names)) == 4096


def test_points_are_spread_over_decades() -> None:
    region = DOSE.cell((0, 0), zn.Average(4))
    np.testing.assert_allclose(region.points[:, 0], [10**-5.5, 10**-4.5, 10**-3.5, 10**-2.5])
    np.testing.assert_allclose(DOSE.cell((1, 0), zn.Center()).points, [[1e-5]])


@pytest.mark.parametrize("feedback", [zn.Mean(), zn.Average(3), zn.Center()])
def test_a_study_in_decades_and_one_on_a_logarithmic_axis_are_the_same(feedback: zn.Mean) -> None:
    by_hand = decades(DOSE)
    kernel = zn.RBF(0.5, 0.8)  # of 0.8 decades
    ours = zn.Study(DOSE, budget=15, kernel=kernel, noise=0.05, feedback=feedback)
    theirs = zn.Study(by_hand, budget=15, kernel=kernel, noise=0.05, feedback=feedback)
    measure = zn.simulate(peak, feedback, 0.05, rng=0)
    same = zn.simulate(lambda x: peak(10**x), feedback, 0.05, rng=0)
    ours.optimize(measure)
    theirs.optimize(same)
    assert [trial.node for trial in ours.trials] == [trial.node for trial in theirs.trials]
    np.testing.assert_allclose(ours.tree.mean, theirs.tree.mean, rtol=1e-6, atol=1e-9)
    a, b = ours.predict([(2e-5, 3e-4)]), theirs.predict([np.log10([2e-5, 3e-4]).tolist()])
    np.testing.assert_allclose(a, b, rtol=1e-6)


def test_learned_lengthscales_are_in_decades_and_the_peak_is_found() -> None:
    result = zn.maximize(zn.simulate(peak, zn.Mean(), 0.02, rng=0), DOSE, 30)
    low, high = result.region["c"]
    assert low <= 10**-3.3 <= high
    assert result.x[0] == pytest.approx(np.sqrt(low * high))


def test_mixed_spaces_and_rehearsals_take_logarithmic_axes() -> None:
    region = MIXED.region({"c": (0.01, 0.1), "dye": "red"})
    assert region.as_dict() == {"c": [pytest.approx(0.01), pytest.approx(0.1)], "t": [0.0, 1.0], "dye": "red"}
    assert region.widths[0] == pytest.approx(1.0)
    assert MIXED.region({"dye": "red"})["c"] == (3e-3, 3.0)
    landscape = zn.simulation.from_table(
        DOSE, [1.0, 2.0, 8.0, 3.0]
    )  # equal parts of a logarithmic axis are decades
    assert landscape.average([(1e-4, 1e-3)]) == pytest.approx(8.0)
    expected = zn.power(zn.Box([(1.0, 100.0)], scale="log"), 4, noise=0.1, runs=2, jobs=1)
    assert np.isfinite(expected.mean).all()


def test_refining_goes_on_with_points_of_the_region() -> None:
    study = zn.Study(DOSE, budget=12, kernel=zn.RBF(0.5, 0.8), noise=0.05)
    found = study.optimize(zn.simulate(peak, zn.Mean(), 0.05, rng=0))
    low, high = found.region["c"]
    point = study.refine(lambda x: float(peak(x[None])[0]), 20)
    assert low <= point.x[0] <= high


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"bounds": [(0, 1)], "scale": "log"}, "axis x is logarithmic, so its bounds must be positive"),
        (
            {"bounds": [(1, 10)], "scale": "ln"},
            "must be 'linear', 'log', 'integer' or 'periodic'; got 'ln'",
        ),
        ({"bounds": [(1, 10)], "scale": "log", "smallest": 2.0}, r"wider than the axis \(1 decades\)"),
        ({"bounds": {"c": (1, 10)}, "scale": {"d": "log"}}, "scale names an axis that is not there"),
    ],
)
def test_scales_that_cannot_be_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(zn.InvalidInput, match=problem):
        zn.Box(**settings)  # type: ignore[arg-type]
    with pytest.raises(zn.InvalidInput, match=r"within axis c \(1e-06 to 0.01\)"):
        DOSE.region([(0.0, 1e-3)])


@settings(deadline=None)
@given(st.floats(-12, 6), st.floats(0.01, 12), st.integers(2, 5), st.data())
def test_a_cell_is_found_again_by_its_bounds(low: float, decades: float, arity: int, data: st.DataObject) -> None:
    space = zn.Box({"c": (10**low, 10 ** (low + decades))}, scale="log", arity=arity)
    for depth in range(12):
        cell = space.cell((depth, data.draw(st.integers(0, arity**depth - 1))))
        found = space.region(cell.bounds)
        assert found.key == cell.key
        assert found.bounds.tolist() == cell.bounds.tolist()


def test_a_policy_that_knows_cells_alone_knows_one_by_its_bounds() -> None:
    space = zn.Box({"c": (0.3, 0.7)}, scale="log")
    study = zn.Study(space, budget=120, noise=0.001, policy=zn.StoOO(delta=zn.GeometricDelta(5.0)))
    study.optimize(lambda region: float(np.sin(40 * region.center[0])))
    for depth, index in zip(study.tree.depth.tolist(), study.tree.index.tolist(), strict=True):
        study.observe(space.cell((depth, index)).bounds, 0.5)
    assert len(study.observations) == len(study.tree.depth) > 10
