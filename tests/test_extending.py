"""What the page on extending adds is kept, drawn, learned and under the laws, and no other file knows of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import kinds
import zonal as zn
from extending_page import cell_of, found, page
from kinds import Kind
from numbered_covariance import numbered
from policies import test_laws as policy_laws
from spaces import test_covariances, test_laws, test_values
from zonal.kernels.base import Factor, Kernel, StationaryFactor
from zonal.kernels.feedback import Feedback
from zonal.kernels.stationary import Profile
from zonal.policies.base import Policy
from zonal.spaces import AxisSpace, ContinuousAxis

Floats = NDArray[np.float64]
Law = Callable[..., Any]

KERNELS: list[Any] = found(Kernel)
FEEDBACKS: list[Any] = found(Feedback)
POLICIES: list[Any] = found(Policy)
AXES: list[Any] = found(ContinuousAxis)
SPACES: list[Any] = found(AxisSpace)
LINES = {Kernel: 30, Feedback: 20, Policy: 40, ContinuousAxis: 60, AxisSpace: 60}


def name_of(kind: Any) -> str:
    return str(kind.__name__)


def test_the_page_adds_one_of_each_in_a_few_lines() -> None:
    for base, most in LINES.items():
        assert found(base)
        for kind in found(base):
            assert cell_of(kind).count("\n") < most, kind


def kept(study: zn.Study, classes: list[type], folder: Path) -> zn.Study:
    """Return a study after a night in a file, which knows the classes by what they hold."""
    study.save(folder / "own.db")
    again = zn.Study.open(folder / "own.db", classes=classes)
    assert again.read_only == ""
    assert (again.settings, again.events) == (study.settings, study.events)
    np.testing.assert_allclose(again.tree.mean, study.tree.mean, atol=1e-8)
    return again


def drawn(study: zn.Study, *kinds: Literal["tree", "model", "history"]) -> None:
    """Draw the usual picture, and those in which something new could go wrong."""
    from matplotlib import pyplot

    for kind in (None, *kinds):
        study.plot(kind)
        pyplot.close("all")


def searched(space: Any, **given: Any) -> zn.Study:
    """Return a study that has measured something, and learned what it was not given."""
    study = zn.Study(space, budget=12, rng=0, **given)
    study.optimize(lambda region: float(np.sin(3 * region.center[0])))
    return study


LINE = zn.Box([(0, 1)], smallest=1 / 16)


@pytest.mark.parametrize("kernel", KERNELS, ids=name_of)
@pytest.mark.parametrize("learned", [True, False])
def test_a_kernel_is_learned_drawn_and_kept(kernel: Any, learned: bool, tmp_path: Path) -> None:
    study = searched(LINE, kernel=kernel if learned else kernel(1.0, 0.2), noise=None if learned else 0.1)
    assert isinstance(study.model.kernel, kernel)
    drawn(study, "model")
    kept(study, [kernel], tmp_path)


@pytest.mark.parametrize("feedback", FEEDBACKS, ids=name_of)
def test_a_feedback_is_learned_through_drawn_and_kept(feedback: Any, tmp_path: Path) -> None:
    study = searched(LINE, feedback=feedback())
    drawn(study, "model")
    kept(study, [feedback], tmp_path)


@pytest.mark.parametrize("policy", POLICIES, ids=name_of)
def test_a_policy_is_drawn_and_kept(policy: Any, tmp_path: Path) -> None:
    study = searched(LINE, policy=policy())
    drawn(study, "tree", "history")
    assert kept(study, [policy], tmp_path).recommend().node == study.recommend().node


@pytest.mark.parametrize("kind", [page()["disc"], *(space() for space in SPACES)], ids=repr)
def test_a_space_and_an_axis_are_learned_drawn_and_kept(kind: Any, tmp_path: Path) -> None:
    study = searched(kind)
    drawn(study, "tree", "model", "history")
    kept(study, [*AXES, *SPACES], tmp_path)


# Laws.


def double_sum(kernel: Any, feedback: Feedback, regions: list[Any]) -> Floats:
    """Return covariances of averages point by point, densities cut into many panels."""
    seen = [region.along[0][0].rule(region.along[0][1], feedback, 8, 12) for region in regions]
    return np.array(
        [[w @ kernel(x[:, None], y[:, None]) @ v for y, v in seen] for x, w in seen],
    )


@pytest.mark.parametrize("kernel", [zn.RBF, *KERNELS], ids=name_of)
@pytest.mark.parametrize("feedback", [zn.Mean(), zn.Beam(0.2), *(own() for own in FEEDBACKS)], ids=repr)
def test_covariances_are_those_of_the_points(kernel: Any, feedback: Feedback) -> None:
    space = zn.Box([(0, 2)])
    regions = [*kinds.cells(space, deepest=3), *kinds.off_tree(Kind(space), 6, seed=0)]
    matrix = numbered(kernel(0.7, 0.5), feedback, space.axes).add(feedback.footprints(regions))
    np.testing.assert_allclose(matrix, double_sum(kernel(0.7, 0.5), feedback, regions), rtol=0, atol=1e-9)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-10


@pytest.mark.parametrize("policy", POLICIES, ids=name_of)
@pytest.mark.parametrize(
    "law",
    [
        policy_laws.test_a_constant_added_to_rewards_and_prior_mean_changes_no_decision,
        policy_laws.test_the_same_seed_gives_the_same_walk,
        policy_laws.test_several_trials_may_be_pending_and_are_told_in_any_order,
        policy_laws.test_nothing_is_asked_below_smallest,
    ],
    ids=name_of,
)
def test_policies_keep_the_laws(policy: Any, law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    make = (lambda: policy(level=4)) if hasattr(policy, "level") else policy
    monkeypatch.setitem(policy_laws.POLICIES, policy.__name__, make)
    law(policy.__name__)


OWN_SPACES = {"disc": Kind(page()["disc"]), **{space.__name__: Kind(space()) for space in SPACES}}
SPACE_LAWS: list[Law] = [
    test_laws.test_children_tile_their_parent_in_a_space_of_every_kind,
    test_laws.test_nodes_are_numbered_level_by_level_in_order,
    test_laws.test_the_tree_ends_where_it_says,
    test_laws.test_a_region_holds_what_lies_within_it_and_nothing_else,
    test_laws.test_names_are_unique_within_a_level,
    test_laws.test_regions_and_spaces_are_values,
    test_laws.test_no_cell_reaches_further_than_its_depth_says,
    test_laws.test_a_region_is_the_same_however_it_is_seen,
]
VALUE_LAWS: list[Law] = [
    test_values.test_a_region_written_as_json_is_taken_back,
    test_values.test_parts_are_looked_up_by_name_and_a_wrong_name_lists_them,
    test_values.test_two_regions_overlap_if_something_lies_in_both,
    test_values.test_where_a_region_is_has_a_meaning_on_every_space,
]
COVARIANCE_LAWS: list[Law] = [
    test_covariances.test_covariances_are_double_sums_over_points_and_weights,
    test_covariances.test_covariances_are_symmetric_and_positive_semi_definite,
    test_covariances.test_all_ways_to_ask_for_a_covariance_agree,
]


@pytest.mark.parametrize("name", OWN_SPACES)
@pytest.mark.parametrize("law", SPACE_LAWS, ids=name_of)
def test_spaces_keep_the_laws(name: str, law: Law) -> None:
    getattr(getattr(law, "hypothesis", None), "inner_test", law)(OWN_SPACES[name])


@pytest.mark.parametrize("name", OWN_SPACES)
@pytest.mark.parametrize("law", VALUE_LAWS, ids=name_of)
def test_values_keep_the_laws(name: str, law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds.KINDS, name, OWN_SPACES[name])
    law(name)


@pytest.mark.parametrize("name", OWN_SPACES)
@pytest.mark.parametrize("law", COVARIANCE_LAWS, ids=name_of)
def test_covariances_keep_the_laws(name: str, law: Law) -> None:
    kind = OWN_SPACES[name]
    for feedback in kinds.allowed(kind):
        law(kind, next(iter(kinds.kernels(kind).values())), feedback)


@pytest.mark.parametrize("name", OWN_SPACES)
def test_a_parents_mean_is_that_of_its_children(name: str) -> None:
    kind = OWN_SPACES[name]
    pair = next(iter(kinds.kernels(kind).values()))
    test_covariances.test_a_parents_mean_is_the_weighted_average_of_its_childrens(kind, pair)


# An axis that closes on itself fits the same questions: hours of the day, without arcs across midnight.


@dataclass(frozen=True)
class Wrapped(Profile):
    """A kernel on a circle: the sum over all ways round."""

    line: Profile
    around: float

    def _all(self, values: Callable[[Floats], Floats], r: Floats) -> Floats:
        turns = np.asarray(self.around * np.arange(-9, 10), dtype=np.float64)
        total = np.sum([values(r + turn) for turn in turns.tolist()], axis=0)
        return np.asarray(total / np.sum(self.line.value(turns)))

    def value(self, r: Floats) -> Floats:
        return self._all(self.line.value, np.asarray(r, dtype=float))

    def mean(self, gap: Floats, wide_a: Floats, wide_b: Floats) -> Floats:
        return self._all(lambda r: self.line.mean(r, wide_a, wide_b), gap)


@dataclass(frozen=True)
class Circle(ContinuousAxis):
    """An axis whose ends are the same place."""

    def factor(self, factor: Factor) -> Factor:
        assert isinstance(factor, StationaryFactor)
        return replace(factor, profile=Wrapped(factor.profile, self.side / factor.lengthscale))


def test_an_axis_that_closes_is_one_class(tmp_path: Path) -> None:
    space = zn.Product({"hour": Circle("hour", 0.0, 24.0, unit="h", smallest=1.5)})
    cells = kinds.cells(space, deepest=4)
    kernel = zn.RBF(1.0, 3.0)
    matrix = numbered(kernel, zn.Mean(), space.axes).add(zn.Mean().footprints(cells))
    first, last, middle = (cells.index(space.cell((4, index))) for index in (0, 15, 8))
    assert matrix[first, last] == pytest.approx(matrix[first, first + 1], rel=1e-12)  # neighbours across midnight
    assert matrix[first, middle] < 0.01 * matrix[first, last]
    assert np.linalg.eigvalsh(matrix)[0] > -1e-10
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ring = Wrapped(kernel.profile, 8.0)
    x, y = (
        np.array([low, high]).mean() + 0.75 * nodes
        for low, high in (cells[first].along[0][1][2], cells[last].along[0][1][2])
    )
    mean = float(weights @ ring.value((x[:, None] - y) / 3.0) @ weights) / 4
    assert matrix[first, last] == pytest.approx(mean, rel=1e-10)
    peak = zn.simulate(lambda x: np.cos((x[:, 0] - 23.5) * math.pi / 12), zn.Mean(), 0.02, rng=0)
    study = zn.Study(space, budget=16, rng=0)
    study.optimize(peak)
    assert study.recommend().region.bounds[0, 0] in (22.5, 0.0)
    drawn(study, "model")
    kept(study, [Circle], tmp_path)
