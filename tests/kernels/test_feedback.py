"""What a measurement sees of a region: the centre, an average of points, or the mean of all of it."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zonal as zn
from effort import examples
from zonal.kernels.feedback import Feedback
from zonal.spaces import ContinuousAxis

UNIT = ContinuousAxis("x", 0.0, 1.0)


def test_a_centre_sees_the_middle_only() -> None:
    places, weights = zn.Center().along(UNIT).rule(3.0, 1, 1)
    assert (places.tolist(), weights.tolist()) == ([0], [1])
    assert UNIT.reach(zn.Center(), 1.0) == 0.5


@pytest.mark.parametrize("s", [1, 2, 3, 10, 101])
def test_an_average_sees_the_middles_of_equal_parts(s: int) -> None:
    places, weights = zn.Average(s).along(UNIT).rule(1.0, 1, 1)
    np.testing.assert_allclose(places, [(2 * i + 1) / (2 * s) - 0.5 for i in range(s)], rtol=0, atol=1e-16)
    np.testing.assert_allclose(places, -places[::-1], rtol=0, atol=1e-16)
    np.testing.assert_allclose(weights, 1 / s, rtol=1e-15)
    assert UNIT.reach(zn.Average(s), 1.0) == pytest.approx(1 - 1 / (2 * s), rel=1e-15)


def test_a_mean_reaches_across_the_region() -> None:
    assert UNIT.reach(zn.Mean(), 0.3) == 0.3


@examples(50)
@given(s=st.integers(1, 20), width=st.floats(1e-3, 1e3), low=st.floats(-1e3, 1e3))
def test_no_point_of_a_region_is_farther_from_a_seen_point_than_the_reach(
    s: int, width: float, low: float
) -> None:
    for feedback in (zn.Center(), zn.Average(s)):
        region = zn.Box([(low, low + width)]).cell((0, 0), feedback)
        farthest = max(abs(edge - point) for edge in region.along[0][1][2] for point in region.points[:, 0])
        assert farthest == pytest.approx(region.space.axes[0].reach(feedback, region.along[0][1][1]), rel=1e-9)


@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(4), zn.Mean()])
def test_footprints_are_centres_and_widths_counted_from_the_lower_corner(feedback: Feedback) -> None:
    space = zn.Box([(1e9, 1e9 + 1), (-8, 0)])
    regions = [space.cell((3, 5)), space.region([(1e9 + 0.25, 1e9 + 0.5), (-4, -4)])]
    footprints = feedback.footprints(regions)
    centers, widths = footprints.extents
    np.testing.assert_array_equal(centers, [(0.875, 2), (0.375, 4)])
    np.testing.assert_array_equal(widths, [(0.25, 4), (0.25, 0)])
    assert footprints.feedbacks is None


def test_points_have_the_last_axis_fastest() -> None:
    region = zn.Box([(-2, 2), (9, 11)]).cell((0, 0), zn.Average(2))
    np.testing.assert_array_equal(region.points, [(-1, 9.5), (-1, 10.5), (1, 9.5), (1, 10.5)])
    np.testing.assert_array_equal(region.weights, [0.25] * 4)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(3), zn.Average(10)])
def test_weights_add_up_to_1(feedback: Feedback, d: int) -> None:
    region = zn.Box([(0, 1)] * d).cell((0, 0), feedback)
    assert region.weights.sum() == pytest.approx(1, rel=1e-13)
    assert len(region.weights) == len(region.points)


@pytest.mark.parametrize("feedback", [zn.Mean(), zn.Beam(0.5)], ids=repr)
def test_a_density_refuses_to_list_points(feedback: Feedback) -> None:
    region = zn.Box([(0, 1)]).cell((0, 0), feedback)
    with pytest.raises(
        zn.InvalidInput, match=r"no finite list of.*got (Mean|Beam).*Use region\.bounds, or Average"
    ):
        _ = region.points
    with pytest.raises(
        zn.InvalidInput, match=r"no finite list of.*got (Mean|Beam).*Use region\.bounds, or Average"
    ):
        _ = region.weights


def test_a_feedback_must_say_what_it_sees() -> None:
    with pytest.raises(TypeError, match="along"):
        Feedback()  # type: ignore[abstract]


def test_feedbacks_are_values() -> None:
    assert zn.Average(3) == zn.Average(3)
    assert zn.Average(3) != zn.Average(4)
    assert len({zn.Average(1), zn.Average(1), zn.Center(), zn.Center(), zn.Mean(), zn.Mean()}) == 3
    assert len({zn.Beam(1), zn.Beam(1.0), zn.Beam(share=1), zn.Beam({"x": 1}), zn.Beam({"x": 1.0})}) == 3
    for feedback in (zn.Average(3), zn.Center(), zn.Mean(), zn.Beam(0.5), zn.Beam({"x": 1.0}), zn.Beam(share=2)):
        assert pickle.loads(pickle.dumps(feedback)) == feedback
    with pytest.raises(AttributeError):
        zn.Average(3).s = 4  # type: ignore[misc]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("arity", [2, 3])
def test_an_average_of_one_point_is_the_centre(d: int, arity: int) -> None:
    walks = []
    for feedback in (zn.Center(), zn.Average(1)):
        study = zn.Study(
            zn.Box([(0, 1)] * d, arity=arity),
            budget=40,
            kernel=zn.Matern(0.1, 0.2),
            noise=0.05,
            feedback=feedback,
            policy=zn.GPOO(delta=zn.GeometricDelta(3, 0.6), h_max=6),
        )
        result = study.optimize(lambda region: math.cos(3 * region.center.sum()))
        walks.append(([trial.node for trial in study.trials], study.tree.mean, study.tree.std, result.mean))
    assert walks[0][0] == walks[1][0]
    assert len(set(walks[0][0])) > 5
    np.testing.assert_allclose(walks[0][1], walks[1][1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(walks[0][2], walks[1][2], rtol=0, atol=1e-13)


def test_an_average_of_many_points_tends_to_the_mean() -> None:
    predictions = []
    for feedback in (zn.Average(4), zn.Average(8), zn.Average(16), zn.Mean()):
        study = zn.Study([(0, 1)], budget=1, kernel=zn.RBF(1, 0.2), noise=0.1, feedback=feedback)
        study.observe([(0.0, 0.5)], 1.0)
        study.observe([(0.3, 0.9)], -1.0)
        predictions.append(np.array(study.predict([(0.4, 0.8)])))
    errors = [float(np.abs(coarse - predictions[-1]).max()) for coarse in predictions[:-1]]
    assert errors[0] > 1e-5
    for coarse, fine in itertools.pairwise(errors):
        assert coarse / fine == pytest.approx(4, rel=0.1)  # the midpoint rule is of second order
