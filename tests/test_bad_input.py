"""Bad input: a clear error that names the offending value and the fix, and a study unchanged bit for bit."""

import copy
import math
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import zonal as zn
from fingerprint import fingerprint
from zonal.kernels.base import Kernel

KERNEL = zn.RBF(0.1, 0.2)
POLICY = zn.GPOO(delta=zn.GeometricDelta(2, 0.5), h_max=5)
NOT_FINITE = [math.nan, math.inf, -math.inf]
NOT_ONE_NUMBER: list[Any] = [
    "0.5",
    b"0.5",
    None,
    True,
    [0.5],
    (0.5,),
    np.array([0.5]),
    np.array([0.5, 0.6]),
    1j,
    ...,
]
NOT_WHOLE: list[Any] = [2.5, 2.0, "2", None, True, math.nan, [2], np.float64(2)]


def make_study(space: Any = ((0.0, 1.0),), **changes: Any) -> zn.Study:
    settings: dict[str, Any] = {
        "budget": 20,
        "kernel": KERNEL,
        "noise": 0.1,
        "feedback": zn.Average(3),
        "policy": POLICY,
    }
    return zn.Study(space, **{**settings, **changes})


def grown(**changes: Any) -> zn.Study:
    """Return a study with told, given-up, pending and outside measurements."""
    study = make_study(**changes)
    for _ in range(6):
        trial = study.ask()
        study.tell(trial, math.sin(5 * trial.region.center[0]))
    study.fail(study.ask())
    study.observe([(0.2, 0.3)], 0.4, sem=0.2)
    study.ask(3)
    return study


@contextmanager
def unchanged(study: zn.Study) -> Iterator[None]:
    before = fingerprint(study)
    yield
    assert fingerprint(study) == before


@contextmanager
def refused(value: object, problem: str = "") -> Iterator[None]:
    """Expect an error of Zonal's that gives the problem, the value and a fix."""
    with pytest.raises(zn.ZonalError) as caught:
        yield
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    what, _, fix = message.partition(f"; got {value!r}. ")
    assert re.search(problem, what), message
    assert re.fullmatch(r"[A-Z].*\.", fix), message


# The fingerprint itself must notice everything, or the tests below prove nothing.


@pytest.mark.parametrize(
    "step",
    [
        lambda study: study.ask(),
        lambda study: study.tell(study.pending[0], 0.5),
        lambda study: study.tell(study.pending[0], 0.5, note="cloudy"),
        lambda study: study.fail(study.pending[-1]),
        lambda study: study.observe([(0.5, 0.6)], 0.1),
        lambda study: study.extend(1),
        lambda study: study.cancel(study.pending[-1]),
    ],
)
def test_the_fingerprint_notices_every_change(step: Callable[[zn.Study], object]) -> None:
    study = grown()
    before = fingerprint(study)
    assert fingerprint(study) == before
    step(study)
    assert fingerprint(study) != before


def test_the_fingerprint_notices_a_last_bit_in_the_belief() -> None:
    study = grown()
    before = fingerprint(study)
    member = study._state.belief.members[0]
    member.mean = member.mean.copy()
    member.mean[2] = np.nextafter(member.mean[2], np.inf)
    assert fingerprint(study) != before


def test_reading_changes_nothing() -> None:
    study = grown()
    with unchanged(study):
        study.recommend()
        study.predict([study.space.cell((3, 2)), study.space.region([(0.1, 0.77)])])
        assert study.tree is not None
        assert study.trials
        assert study.pending
        assert study.remaining
        repr(study)


# Spaces and their regions.


@pytest.mark.parametrize(
    ("pair", "shown"),
    [
        ((1, 0), (1.0, 0.0)),
        ((0.5, 0.5), (0.5, 0.5)),
        ((0, math.nan), math.nan),
        ((math.nan, 1), math.nan),
        ((0, math.inf), math.inf),
        ((-math.inf, 0), -math.inf),
        ((0, "1"), "1"),
        (("a", "b"), "a"),
        ((0, None), None),
        ((False, 2), False),
        ((-1.7e308, 1.7e308), (-1.7e308, 1.7e308)),
        ((0, 1, 2), (0, 1, 2)),
        ((0,), (0,)),
        (5, 5),
        ("01", "0"),
    ],
)
def test_bounds_must_be_pairs_of_finite_numbers_that_increase(pair: Any, shown: object) -> None:
    with refused(shown, problem="axis x1"):
        zn.Box([(0, 1), pair])
    with refused(shown, problem="axis angle"):
        zn.Box({"x": (0, 1), "angle": pair})


@pytest.mark.parametrize("bounds", [[], (), {}, None, 5, ""])
def test_a_box_needs_axes(bounds: Any) -> None:
    with refused(bounds, problem="at least one axis"):
        zn.Box(bounds)


def test_a_number_in_an_array_is_no_box() -> None:
    with refused(np.array(5.0), problem="axis"):
        zn.Box(np.array(5.0))


def test_text_is_no_box() -> None:
    with refused("unit", problem="a box needs at least one axis"):
        zn.Box("unit")


@pytest.mark.parametrize("arity", [*NOT_WHOLE, 1, 0, -2], ids=repr)
def test_arity_must_be_whole_and_at_least_2(arity: Any) -> None:
    with refused(arity, problem="arity"):
        zn.Box([(0, 1)], arity=arity)


@pytest.mark.parametrize("smallest", [0, -0.1, math.nan, math.inf, "small", True, 1.01], ids=repr)
def test_smallest_must_be_a_width_within_the_axis(smallest: Any) -> None:
    with refused(smallest, problem="smallest on axis"):
        zn.Box([(0, 1), (0, 1)], smallest=smallest)
    with refused(smallest, problem="smallest on axis x1"):
        zn.Box([(0, 1), (0, 1)], smallest=[0.1, smallest])
    with refused(smallest, problem="smallest on axis b"):
        zn.Box({"a": (0, 1), "b": (0, 1)}, smallest={"a": 0.1, "b": smallest})


def test_smallest_may_be_a_number_in_an_array() -> None:
    space = zn.Box([(0, 1), (0, 1)], smallest=np.array(0.25))  # type: ignore[arg-type]
    assert space.smallest == (0.25, 0.25)


def test_smallest_and_units_must_fit_the_axes() -> None:
    with refused([0.1], problem="smallest must be one value, or one for each of 2 axes"):
        zn.Box([(0, 1), (0, 1)], smallest=[0.1])
    with refused("c", problem="smallest names an axis that is not there"):
        zn.Box({"a": (0, 1), "b": (0, 1)}, smallest={"a": 0.1, "c": 0.1})
    with refused({"a": 0.1}, problem="smallest must name every axis"):
        zn.Box({"a": (0, 1), "b": (0, 1)}, smallest={"a": 0.1})
    with refused(["m"], problem="units"):
        zn.Box([(0, 1), (0, 1)], units=["m"])
    with refused("c", problem="units names an axis that is not there"):
        zn.Box({"a": (0, 1)}, units={"c": "m"})


BAD_REGIONS: list[tuple[Any, object]] = [
    ([(-0.1, 0.5), (0, 1)], (-0.1, 0.5)),
    ([(0, 1), (0.5, 1.1)], (0.5, 1.1)),
    ([(0, 1), (2, 3)], (2.0, 3.0)),
    ([(0.6, 0.5), (0, 1)], (0.6, 0.5)),
    ([(0, math.nan), (0, 1)], (0.0, math.nan)),
    ([(0, math.inf), (0, 1)], (0.0, math.inf)),
    ([(0, 1)], [(0, 1)]),
    ([(0, 1), (0, 1), (0, 1)], [(0, 1), (0, 1), (0, 1)]),
    ([(0, 1, 2), (0, 1, 2)], [(0, 1, 2), (0, 1, 2)]),
    ([("a", "b"), (0, 1)], [("a", "b"), (0, 1)]),
]


@pytest.mark.parametrize(("bounds", "shown"), BAD_REGIONS, ids=repr)
def test_a_region_must_lie_in_the_space(bounds: Any, shown: object) -> None:
    space = zn.Box([(0, 1), (0, 1)])
    with refused(shown, problem="region"):
        space.region(bounds)
    study = make_study(space)
    with unchanged(study), refused(shown, problem="region"):
        study.observe(bounds, 0.5)
    with unchanged(study), refused(shown, problem="region"):
        study.predict(bounds)
    with unchanged(study), refused(shown, problem="region"):
        study.predict([bounds, [(0, 1), (0, 1)]])


@pytest.mark.parametrize("regions", [5, 0.5, "all", [[(0, 1), (0,)]]], ids=repr)
def test_predict_refuses_what_is_no_region(regions: Any) -> None:
    with pytest.raises(zn.InvalidInput):
        make_study().predict(regions)


def test_numerals_are_no_bounds_of_a_region() -> None:
    bounds: Any = [("0", "1")]
    with refused(bounds, problem="must be numbers"):
        zn.Box([(0, 1)]).region(bounds)


def test_a_region_of_a_space_with_other_axes_is_refused() -> None:
    study = make_study([(0, 1), (0, 1)])
    line = zn.Box([(0, 1)]).cell((1, 0))
    with unchanged(study), pytest.raises(zn.InvalidInput, match=r"shape \(2, 2\)"):
        study.observe(line, 0.5)
    with unchanged(study), pytest.raises(zn.InvalidInput, match=r"shape \(2, 2\)"):
        study.predict(line)


@pytest.mark.parametrize("node", [(1, 2), (2, -1), (-1, 0), (0, 1)])
def test_a_node_must_be_one_of_the_tree(node: tuple[int, int]) -> None:
    with refused(node):
        zn.Box([(0, 1)]).cell(node)


def test_only_a_cell_of_the_tree_can_be_split() -> None:
    space = zn.Box([(0, 1)])
    with refused("x 0.1..0.3", problem="only a cell of the tree can be split"):
        space.split(space.region([(0.1, 0.3)]))


# Feedbacks, kernels and policies.


@pytest.mark.parametrize("s", [*NOT_WHOLE, 0, -1], ids=repr)
def test_an_average_needs_a_whole_number_of_points(s: Any) -> None:
    with refused(s, problem="Average's s"):
        zn.Average(s)


@pytest.mark.parametrize("kernel", [zn.RBF, zn.Matern])
@pytest.mark.parametrize("value", [0, -0.1, *NOT_FINITE, "1", None, True], ids=repr)
def test_variances_and_lengthscales_must_be_positive(kernel: Callable[..., Kernel], value: Any) -> None:
    with refused(value, problem="variance"):
        kernel(value, 0.1)
    with refused(value, problem="lengthscale"):
        kernel(0.1, value)
    with refused(value, problem="lengthscale"):
        kernel(0.1, [0.1, value])


@pytest.mark.parametrize("lengthscale", [[], [[0.1, 0.2]]], ids=repr)
def test_lengthscales_come_one_an_axis(lengthscale: Any) -> None:
    with refused(lengthscale, problem="lengthscale"):
        zn.RBF(0.1, lengthscale)


@pytest.mark.parametrize("nu", [1, 2, 0.0, -0.5, math.nan, "2.5", None], ids=repr)
def test_nu_is_one_of_three(nu: Any) -> None:
    with refused(nu, problem="nu must be 0.5, 1.5 or 2.5"):
        zn.Matern(0.1, 0.1, nu=nu)


@pytest.mark.parametrize(("d", "lengthscale"), [(1, (0.1, 0.2)), (2, (0.1, 0.2, 0.3)), (3, (0.1, 0.2))])
def test_there_must_be_as_many_lengthscales_as_axes(d: int, lengthscale: tuple[float, ...]) -> None:
    with refused(lengthscale, problem=f"one for each of {d} axes"):
        make_study([(0, 1)] * d, kernel=zn.RBF(0.1, lengthscale))
    with refused(lengthscale, problem=f"one for each of {d} axes"):
        make_study([(0, 1)] * d, kernel=zn.RBF(0.1, 0.1) + zn.Matern(0.1, lengthscale))
    with refused(lengthscale, problem=f"one for each of {d} axes"):
        zn.RBF(0.1, lengthscale)(np.zeros((2, d)), np.zeros((2, d)))


@pytest.mark.parametrize("c", [0, -1, *NOT_FINITE, "14", None, True], ids=repr)
def test_the_c_of_a_geometric_delta_must_be_positive(c: Any) -> None:
    with refused(c, problem="GeometricDelta's c"):
        zn.GeometricDelta(c)


@pytest.mark.parametrize("rho", [0, 1, 1.5, -0.5, *NOT_FINITE, "0.5", None], ids=repr)
def test_the_rho_of_a_geometric_delta_lies_between_0_and_1(rho: Any) -> None:
    with refused(rho, problem="GeometricDelta's rho"):
        zn.GeometricDelta(14, rho)


@pytest.mark.parametrize("L", [0, -1, *NOT_FINITE, "1", True], ids=repr)
def test_a_lipschitz_constant_must_be_positive(L: Any) -> None:
    with refused(L, problem="LipschitzDelta's L"):
        zn.LipschitzDelta(L)
    with refused(L, problem="LipschitzDelta's L"):
        zn.LipschitzDelta([1.0, L])


@pytest.mark.parametrize("L", [(1.0, 2.0, 3.0), ()], ids=repr)
def test_there_must_be_as_many_lipschitz_constants_as_axes(L: tuple[float, ...]) -> None:
    with refused(L, problem="one for each of 2 axes|one number per axis"):
        make_study([(0, 1), (0, 1)], policy=zn.GPOO(delta=zn.LipschitzDelta(L)))


@pytest.mark.parametrize(
    "kernel", [zn.Matern(0.1, 0.2, nu=0.5), zn.RBF(0.1, 0.2) + zn.Matern(0.1, 0.2, nu=0.5)], ids=repr
)
def test_a_lipschitz_delta_needs_functions_with_a_derivative(kernel: Kernel) -> None:
    with refused(
        "one without, such as Matern with nu=0.5",
        problem="a kernel whose functions have a derivative",
    ):
        make_study(kernel=kernel, policy=zn.GPOO())
    study = make_study(kernel=kernel, policy=zn.GPOO(delta=zn.LipschitzDelta(3.0)))
    study.tell(study.ask(), 0.5)


def test_a_lipschitz_delta_alone_has_no_values() -> None:
    with pytest.raises(zn.InvalidInput, match="Pass it to a policy"):
        zn.LipschitzDelta()(3)


@pytest.mark.parametrize("theta", [0, 1, -0.1, 1.1, *NOT_FINITE, "0.1", None, True], ids=repr)
def test_theta_lies_strictly_between_0_and_1(theta: Any) -> None:
    with refused(theta, problem="theta"):
        zn.GPOO(theta=theta)


@pytest.mark.parametrize("h_max", [*NOT_WHOLE, -1], ids=repr)
def test_h_max_must_be_whole_and_not_negative(h_max: Any) -> None:
    with refused(h_max, problem="h_max"):
        zn.GPOO(h_max=h_max)


@pytest.mark.parametrize("delta", [14, "lipschitz", None, [1, 0.5]], ids=repr)
def test_delta_must_be_a_function(delta: Any) -> None:
    with refused(delta, problem="delta must be a function of the depth"):
        zn.GPOO(delta=delta)


@pytest.mark.parametrize("depth", [0, 3, 6])  # h_max + 1 = 6 is the deepest that counts
@pytest.mark.parametrize("value", [0, -1.0, *NOT_FINITE, "1", None], ids=repr)
def test_delta_must_be_positive_at_every_depth(depth: int, value: Any) -> None:
    policy = zn.GPOO(delta=lambda h: value if h == depth else 0.5**h, h_max=5)
    with refused(value, problem=re.escape(f"delta({depth}) must be")):
        make_study(policy=policy)


@pytest.mark.parametrize(("arity", "h_max"), [(2, 61), (3, 38), (5, 26), (1000, 5)])
def test_nodes_are_numbered_exactly_or_refused(arity: int, h_max: int) -> None:
    delta = zn.GeometricDelta(2, 0.99)
    assert arity ** (h_max + 1) < 2**63 <= arity ** (h_max + 2)
    make_study(zn.Box([(0, 1)], arity=arity), policy=zn.GPOO(delta=delta, h_max=h_max))
    with refused(h_max + 1, problem=f"arity {arity} has too many nodes"):
        make_study(zn.Box([(0, 1)], arity=arity), policy=zn.GPOO(delta=delta, h_max=h_max + 1))


def test_numpys_integers_do_not_slip_past_the_limit_on_nodes() -> None:
    with pytest.raises(zn.InvalidInput, match="too many nodes"):
        make_study(policy=zn.GPOO(delta=zn.GeometricDelta(2, 0.99), h_max=np.int64(63)))  # type: ignore[arg-type]


# Building a study.


@pytest.mark.parametrize("budget", [*NOT_WHOLE, 0, -1], ids=repr)
def test_a_budget_is_whole_and_at_least_1(budget: Any) -> None:
    with refused(budget, problem="budget"):
        make_study(budget=budget)
    with refused(budget, problem="budget"):
        zn.maximize(lambda region: 0.0, [(0, 1)], budget, kernel=KERNEL, noise=0.1)


@pytest.mark.parametrize("noise", [-0.1, *NOT_FINITE, "0.1", True, [0.1], np.array([0.1])], ids=repr)
def test_noise_must_be_a_standard_deviation(noise: Any) -> None:
    with refused(noise, problem="noise"):
        make_study(noise=noise)
    with refused(noise, problem=re.escape("noise(x 0..1)")):
        make_study(noise=lambda region: noise)


def test_noise_too_large_to_be_squared_is_refused() -> None:
    with refused(1e200, problem="noise"):
        study = make_study(noise=1e200)
        study.tell(study.ask(), 0.5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "rbf"),
        ("kernel", zn.Box),
        ("feedback", "mean"),
        ("feedback", zn.Mean),
        ("feedback", 10),
        ("policy", "gpoo"),
        ("policy", 3),
        ("policy", zn.GPOO),
        ("direction", "max"),
        ("direction", None),
        ("direction", 1),
        ("max_replicates", 0),
        ("max_replicates", -1),
        ("max_replicates", 1.5),
        ("max_replicates", True),
        ("max_replicates", "2"),
        ("mean", math.nan),
        ("mean", math.inf),
        ("mean", "0"),
        ("mean", True),
        ("mean", [0.0]),
    ],
)
def test_settings_of_a_study_are_checked(name: str, value: Any) -> None:
    with refused(value, problem=name):
        make_study(**{name: value})


@pytest.mark.parametrize("space", [None, 5, "box", [], [(1, 0)], {"x": (0, 0)}], ids=repr)
def test_a_study_needs_a_space(space: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="axis"):
        make_study(space)


@pytest.mark.parametrize("std", [-0.1, *NOT_FINITE, "0.1", True], ids=repr)
def test_noise_per_weight_must_be_a_standard_deviation(std: Any) -> None:
    with refused(std, problem="PerWeight's std"):
        zn.PerWeight(std)


def test_noise_of_unknown_size_cannot_be_simulated() -> None:
    measure = zn.simulate(lambda x: x[:, 0], zn.Mean(), noise=zn.PerWeight())
    with pytest.raises(zn.InvalidInput, match="for a study to learn"):
        measure(zn.Box([(0, 1)]).cell((1, 0)))


@pytest.mark.parametrize("std", [0.1, None])
def test_noise_per_weight_of_a_point_is_refused_with_a_reason(std: float | None) -> None:
    study = make_study(noise=zn.PerWeight(std))
    with unchanged(study), pytest.raises(zn.InvalidInput, match=r"0\.5\.\.0\.5"):
        study.observe([(0.5, 0.5)], 0.3)
    study.observe([(0.5, 0.5)], 0.3, sem=0.1)


# Telling.


@pytest.mark.parametrize("value", [*NOT_FINITE, *NOT_ONE_NUMBER], ids=repr)
@pytest.mark.parametrize("make", [make_study, grown])
def test_a_value_must_be_one_finite_number(make: Callable[[], zn.Study], value: Any) -> None:
    study = make()
    trial = study.ask()
    with unchanged(study), refused(value, problem="a measured value must be"):
        study.tell(trial, value)
    with unchanged(study), refused(value, problem="a measured value must be"):
        study.tell(trial.number, value)
    with unchanged(study), refused(value, problem="a measured value must be"):
        study.observe([(0.5, 0.7)], value, sem=0.1)
    study.tell(trial, 0.5)


@pytest.mark.parametrize("value", [np.True_, np.array("0.5")], ids=repr)
def test_numpys_booleans_and_text_are_no_values(value: Any) -> None:
    study = make_study()
    study.ask()
    with unchanged(study), refused(value, problem="a measured value must be"):
        study.tell(0, value)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_value_too_far_from_the_prior_mean_to_be_a_number_is_refused(direction: str) -> None:
    study = make_study(mean=-1.7e308, direction=direction)
    study.ask()
    with unchanged(study), pytest.raises(zn.InvalidInput, match=r"1\.7e\+308"):
        study.tell(0, 1.7e308)


@pytest.mark.parametrize("sem", [-0.1, *NOT_FINITE, "0.1", True, [0.1], np.array([0.1]), 1j], ids=repr)
@pytest.mark.parametrize("make", [make_study, grown])
def test_a_sem_must_be_a_standard_deviation(make: Callable[[], zn.Study], sem: Any) -> None:
    study = make()
    trial = study.ask()
    with unchanged(study), refused(sem, problem="sem must"):
        study.tell(trial, 0.5, sem=sem)
    with unchanged(study), refused(sem, problem="sem must"):
        study.observe(trial.region, 0.5, sem=sem)
    with unchanged(study), refused(sem, problem="sem must"):
        study.observe([(0.5, 0.7)], 0.5, sem=sem)


def test_a_sem_too_large_to_be_squared_is_refused() -> None:
    study = make_study()
    trial = study.ask()
    with unchanged(study), refused(1e200, problem="sem"):
        study.tell(trial, 0.5, sem=1e200)


@pytest.mark.parametrize("number", [-1, 10, 10**30], ids=repr)
def test_an_unknown_trial_is_refused(number: int) -> None:
    study = grown()  # ten trials
    assert len(study.trials) == 10
    with unchanged(study), pytest.raises(zn.ZonalError, match=re.escape(str(number))) as caught:
        study.tell(number, 0.5)
    assert isinstance(caught.value, ValueError)
    with unchanged(study), pytest.raises(zn.ZonalError, match=re.escape(str(number))):
        study.fail(number)


@pytest.mark.parametrize("trial", ["0", None, 0.0, True, math.nan, [0]], ids=repr)
def test_what_is_no_trial_is_refused(trial: Any) -> None:
    study = make_study()
    study.ask()
    with unchanged(study), refused(trial, problem="a trial must be"):
        study.tell(trial, 0.5)
    with unchanged(study), refused(trial, problem="a trial must be"):
        study.fail(trial)


def test_a_trial_of_another_study_is_refused() -> None:
    study = make_study()
    study.ask()
    others = [make_study(zn.Box([(0, 2)])), make_study(zn.Box([(0, 1)], arity=3)), make_study(feedback=zn.Mean())]
    deep = grown()
    strangers = [other.ask() for other in others] + [deep.ask()]
    strangers.append(zn.Trial(0, (1, 0), study.space.cell((1, 0), study.settings.feedback), 1))
    strangers.append(zn.Trial(0, (0, 0), study.space.cell((0, 0), study.settings.feedback), 2))
    for stranger in strangers:
        with unchanged(study), pytest.raises(zn.TrialError, match="not a trial of this study") as caught:
            study.tell(stranger, 0.5)
        assert repr(stranger) in str(caught.value)
        with unchanged(study), pytest.raises(zn.TrialError, match="not a trial of this study"):
            study.fail(stranger)


def test_a_told_trial_cannot_be_told_or_given_up_again() -> None:
    study = grown()
    first, told = study.trials[0], study.pending[0]
    study.tell(told, 0.25)
    for trial in (told, told.number):
        with (
            unchanged(study),
            pytest.raises(zn.TrialError, match=rf"trial {told.number} already has the value 0\.25"),
        ):
            study.tell(trial, 0.5)
        with unchanged(study), pytest.raises(zn.TrialError, match="already"):
            study.fail(trial)
        with unchanged(study), pytest.raises(zn.TrialError, match="already"):
            study.fail(trial, retry=False)
    with unchanged(study), pytest.raises(zn.TrialError, match="trial 0 already has the value"):
        study.tell(first.number, 0.25)


def test_a_trial_given_up_cannot_be_given_up_again() -> None:
    study = grown()
    lost = study.pending[0]
    study.fail(lost)
    for trial in (lost, lost.number):
        with unchanged(study), pytest.raises(zn.TrialError, match=f"trial {lost.number} was failed"):
            study.fail(trial)


def test_exact_measurements_that_contradict_each_other_are_refused() -> None:
    study = make_study(noise=0.0)
    study.tell(study.ask(), 0.5)
    root = study.space.cell((0, 0))
    study.observe([(0.2, 0.4)], 0.1)
    for region in (root, root.bounds, [(0.2, 0.4)]):
        with (
            unchanged(study),
            pytest.raises(zn.InvalidInput, match=r"contradicts.*got 0\.9\. Pass a noise or sem"),
        ):
            study.observe(region, 0.9)


def test_an_exact_tell_that_contradicts_what_was_observed_is_refused() -> None:
    study = make_study(noise=0.0)
    study.observe([(0, 1)], 0.5)
    trial = study.ask()
    with unchanged(study), pytest.raises(zn.InvalidInput, match=r"contradicts.*got 0\.9\. Pass a noise or sem"):
        study.tell(trial, 0.9)
    study.tell(trial, 0.5)


# Asking and the budget.


@pytest.mark.parametrize("n", [*[n for n in NOT_WHOLE if n is not None], 0, -1], ids=repr)
def test_the_number_of_trials_to_ask_for_is_whole_and_at_least_1(n: Any) -> None:
    study = grown()
    with unchanged(study), refused(n, problem="number of trials to ask for"):
        study.ask(n)


@pytest.mark.parametrize("n", [*NOT_WHOLE, 0, -1], ids=repr)
def test_the_budget_grows_by_a_whole_number(n: Any) -> None:
    study = grown()
    with unchanged(study), refused(n, problem="number of measurements to add"):
        study.extend(n)


def test_asking_past_the_budget_is_refused() -> None:
    study = make_study(budget=3)
    with (
        unchanged(study),
        pytest.raises(zn.BudgetSpent, match=r"budget of 3 has 3 left, and 4 were asked for: 0 measured.*extend"),
    ):
        study.ask(4)
    study.ask(2)
    with unchanged(study), pytest.raises(zn.BudgetSpent, match=r"has 1 left, and 2 were asked for: 0 measured, 2"):
        study.ask(2)
    study.ask()
    with unchanged(study), pytest.raises(zn.BudgetSpent, match=r"extend") as caught:
        study.ask()
    assert isinstance(caught.value, RuntimeError)
    study.tell(0, 0.5)
    with unchanged(study), pytest.raises(zn.BudgetSpent, match=r"budget of 3 is used up: 1 measured, 2 pending"):
        study.ask()


def test_asking_for_more_than_there_is_leaves_the_tree_as_it_was() -> None:
    study = make_study(max_replicates=1, policy=zn.GPOO(delta=zn.GeometricDelta(2, 0.5), h_max=0))
    with unchanged(study), pytest.raises(zn.Exhausted):
        study.ask(4)  # there are only the root and its two children
    assert len(study.ask(3)) == 3


def test_asking_for_more_than_there_is_leaves_pending_trials_as_they_were() -> None:
    policy = zn.GPOO(delta=zn.GeometricDelta(2, 0.5), h_max=0)
    noise = {(0, 0): 0.1, (1, 0): 0.05, (1, 1): 0.5}
    study = make_study(max_replicates=2, policy=policy, noise=lambda region: noise[region.node])
    study.tell(study.ask(), 0.5)
    study.observe(study.space.cell((1, 0)), 0.8, sem=1.0)
    assert [trial.node for trial in study.ask(2)] == [(1, 0), (1, 1)]
    assert [trial.node for trial in copy.deepcopy(study).ask(2)] == [(1, 1), (1, 0)]  # the other way round
    with unchanged(study), pytest.raises(zn.Exhausted):
        study.ask(3)


# Functions of the user's that fail.


class Flaky:
    """A noise function that fails for some regions until it is mended."""

    def __init__(self, bad: set[tuple[int, int] | None], answer: object) -> None:
        self.bad = bad
        self.answer = answer

    def __call__(self, region: zn.Region) -> Any:
        if region.node in self.bad:
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer
        return 0.1


FLAKY_ANSWERS: list[object] = [math.nan, -1.0, math.inf, "much", None, LookupError("no such calibration")]


@pytest.mark.parametrize("answer", FLAKY_ANSWERS, ids=repr)
def test_noise_that_fails_for_a_child_in_the_middle_of_a_tell_changes_nothing(answer: object) -> None:
    noise = Flaky({(1, 1)}, answer)
    study, healthy = make_study(noise=noise), make_study()
    trial = study.ask()
    error = LookupError if isinstance(answer, Exception) else zn.InvalidInput
    for _ in range(2):
        with unchanged(study), pytest.raises(error, match="calibration|" + re.escape("noise(x 0.5..1)")):
            study.tell(trial, 0.5)
    noise.bad.clear()
    study.tell(trial, 0.5)
    healthy.tell(healthy.ask(), 0.5)
    for column in ("depth", "index", "count", "mean", "std", "noise", "expanded"):
        np.testing.assert_array_equal(getattr(study.tree, column), getattr(healthy.tree, column))


@pytest.mark.parametrize("answer", FLAKY_ANSWERS, ids=repr)
def test_noise_that_fails_elsewhere_changes_nothing_either(answer: object) -> None:
    error = LookupError if isinstance(answer, Exception) else zn.InvalidInput
    with pytest.raises(error):
        make_study(noise=Flaky({(0, 0)}, answer))
    study = make_study(noise=Flaky({(1, 0)}, answer), max_replicates=1)
    trial = study.ask()
    with unchanged(study), pytest.raises(error):
        study.fail(trial, retry=False)  # wants to split
    with unchanged(study), pytest.raises(error):
        study.ask()  # is forced to split
    study = make_study(noise=Flaky({None}, answer))
    with unchanged(study), pytest.raises(error):
        study.observe([(0.2, 0.3)], 0.5)
    study.observe([(0.2, 0.3)], 0.5, sem=0.1)


def failing(region: zn.Region) -> float:
    raise OSError("detector offline")


def nan_at_last(study: zn.Study) -> Callable[[zn.Region], float]:
    return lambda region: math.nan if study.measured == 2 else 0.5


@pytest.mark.parametrize("measure", [None, "measure", 0.5], ids=repr)
def test_a_measuring_function_must_be_one(measure: Any) -> None:
    study = grown()
    with unchanged(study), refused(measure, problem="measure must be a function of a region"):
        study.optimize(measure)


def test_workers_are_a_whole_number() -> None:
    study = grown()

    class Unknown(Executor):
        """An executor that does not tell number of workers it has."""

    with unchanged(study), pytest.raises(zn.InvalidInput, match="Pass workers="):
        study.optimize(failing, Unknown())
    with ThreadPoolExecutor(1) as executor, unchanged(study), refused(0, problem="workers"):
        study.optimize(failing, executor, workers=0)


def test_a_measuring_function_that_raises_gives_its_trial_up() -> None:
    study = make_study(budget=5)
    with pytest.raises(OSError, match="detector offline"):
        study.optimize(failing)
    assert [trial.state for trial in study.trials] == ["failed"]
    assert (study.measured, study.pending, study.remaining) == (0, (), 5)
    result = study.optimize(lambda region: 0.5)
    assert result.success
    assert result.nfev == 5


def test_a_measuring_function_that_returns_nonsense_gives_its_trial_up() -> None:
    study = make_study(budget=5)
    with refused(math.nan, problem="a measured value must be finite"):
        study.optimize(nan_at_last(study))
    assert [trial.state for trial in study.trials] == ["measured", "measured", "failed"]
    assert (study.measured, study.pending, study.remaining) == (2, (), 3)
    assert study.optimize(lambda region: 0.5).nfev == 5


def test_a_failed_search_hands_over_its_study() -> None:
    calls: list[zn.Region] = []

    def measure(region: zn.Region) -> float:
        calls.append(region)
        if len(calls) == 4:
            raise OSError("detector offline")
        return 0.5

    with pytest.raises(OSError, match="detector offline") as caught:
        zn.maximize(measure, [(0, 1)], 10, kernel=KERNEL, noise=0.1)
    study: zn.Study = caught.value.study  # type: ignore[attr-defined]
    assert study.measured == 3
    assert "3 measurements" in caught.value.__notes__[0]
    assert study.optimize(measure).nfev == 10


# Simulated instruments.


def test_a_simulation_needs_a_function_a_feedback_and_noise() -> None:
    anything: Any
    for anything in (3, "f", None):
        with refused(anything, problem="f must be a function of points"):
            zn.simulate(anything, zn.Mean())
        with refused(anything, problem="feedback"):
            zn.simulate(lambda x: x[:, 0], anything)
    for anything in (-0.1, math.nan, math.inf, "0.1", True):
        with refused(anything, problem="noise"):
            zn.simulate(lambda x: x[:, 0], zn.Mean(), noise=anything)
        measure = zn.simulate(lambda x: x[:, 0], zn.Mean(), noise=Flaky({(0, 0)}, anything))
        with refused(anything, problem="noise"):
            measure(zn.Box([(0, 1)]).cell((0, 0)))


def test_the_papers_functions_have_names() -> None:
    name: Any = "f4"
    with refused("f4", problem="name must be 'f1', 'f2' or 'f3'"):
        zn.reward_function(name)
    for name in ("f1", "f2", "f3"):
        with refused("mine", problem="preset must be 'authors' or 'paper'"):
            zn.reward_function(name, preset="mine")  # type: ignore[arg-type]
