"""What can be read of a study."""

import copy
import math
import pickle
import threading
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import oracle
import zonal as zn
from fingerprint import fingerprint
from small_studies import LENGTHSCALE, NOISE, VARIANCE, S, dense, make_study, play, table_of, wave
from zonal.engine import confidence
from zonal.study.recommend import _unseen
from zonal.study.summary import to_json


def test_the_root_is_recommended_until_something_is_expanded() -> None:
    study = make_study(mean=0.4, policy=zn.GPOO(delta=zn.GeometricDelta(1e-6), h_max=3))
    best = study.recommend()
    assert (best.node, best.mean) == ((0, 0), 0.4)
    assert best.std == pytest.approx(study.tree.std[0])
    play(study, 5)
    assert not study.tree.expanded.any()
    assert study.recommend().node == (0, 0)
    assert study.recommend().mean == study.tree.mean[0]


def test_recommending_follows_the_papers_rule() -> None:
    study = make_study()
    for _ in range(40):
        play(study, 1)
        tree, best = study.tree, study.recommend()
        expanded = np.flatnonzero(tree.expanded)
        deepest = expanded[tree.depth[expanded] == tree.depth[expanded].max()]
        assert best.mean == tree.mean[deepest].max()
        assert best.region == study.space.cell(best.node, study.settings.feedback)
        assert best.node[0] == tree.depth[deepest[0]]


def test_the_best_is_a_posterior_mean_and_not_the_luckiest_value() -> None:
    study = make_study(kernel=zn.RBF(VARIANCE, LENGTHSCALE), noise=0.5)
    rng = np.random.default_rng(0)
    study.optimize(lambda region: float(rng.normal(0, 0.5)))
    luckiest = max(trial.value or 0 for trial in study.trials)
    assert luckiest > 0.8
    assert study.recommend().mean < 0.5 * luckiest


@pytest.mark.parametrize("shift", [0.0, -100.0])
def test_what_is_recommended_was_measured_even_if_all_values_are_negative(shift: float) -> None:
    study = make_study(mean=shift)
    for _ in range(30):
        play(study, 1, lambda region: shift - abs(wave(region)))
        node = study.recommend().node
        assert node in {trial.node for trial in study.trials}


def test_recommending_costs_nothing() -> None:
    study = make_study()
    play(study, 9)
    before = fingerprint(study)
    assert study.recommend() == study.recommend()
    assert fingerprint(study) == before


def test_any_regions_average_can_be_predicted() -> None:
    study = make_study([(0, 1), (0, 1)])
    play(study, 15)
    space = study.space
    regions = [space.cell((5, 9)), space.region([(0.1, 0.2), (0.5, 0.5)]), space.cell((0, 0))]
    told = [(trial.region, float(trial.value or 0), NOISE) for trial in study.trials]
    mean, std = dense(told, regions)
    predicted = study.predict(regions)
    np.testing.assert_allclose(predicted.mean, mean, rtol=0, atol=1e-11)
    np.testing.assert_allclose(predicted.std, std, rtol=0, atol=1e-11)


def test_predict_takes_one_or_many_regions_or_bounds() -> None:
    study = make_study([(0, 1), (0, 1)])
    play(study, 5)
    region = study.space.region([(0.1, 0.2), (0.5, 0.7)])
    one = study.predict(region)
    assert isinstance(one.mean, float)
    assert isinstance(one.std, float)
    for same in (region.bounds, region.bounds.tolist(), ((0.1, 0.2), (0.5, 0.7))):
        assert study.predict(same) == pytest.approx(one)
    many: Any
    for many in ([region], [region.bounds], region.bounds[None], iter([region]), (region,)):
        predicted = study.predict(many)
        assert predicted.mean.shape == predicted.std.shape == (1,)
        assert (predicted.mean[0], predicted.std[0]) == pytest.approx(one)
    many = [region, region.bounds, study.space.cell((3, 3))]
    mixed = study.predict(many)
    assert mixed.mean.shape == (3,)
    nothing = study.predict([])
    assert nothing.mean.shape == nothing.std.shape == (0,)


def test_the_prediction_of_a_node_is_its_row_of_the_table() -> None:
    study = make_study(mean=3.0, direction="minimize")
    play(study, 20)
    tree = study.tree
    regions = [study.space.cell(node) for node in table_of(study)]
    np.testing.assert_allclose(study.predict(regions).mean, tree.mean, rtol=0, atol=1e-11)
    np.testing.assert_allclose(study.predict(regions).std, tree.std, rtol=0, atol=1e-11)


def test_before_any_measurement_the_prior_is_predicted() -> None:
    study = make_study(mean=-2.0, feedback=zn.Center())
    assert study.predict([(0.2, 0.3)]) == pytest.approx((-2.0, math.sqrt(VARIANCE)))


def test_the_table_is_a_snapshot_that_cannot_be_written() -> None:
    study = make_study()
    before = study.tree
    play(study, 5)
    assert len(before) == 1
    assert len(study.tree) > 1
    with pytest.raises(ValueError, match="read-only"):
        study.tree.mean[0] = 1.0


def test_the_bands_are_those_of_the_next_round() -> None:
    study = make_study()
    play(study, 7)
    study.ask(2)
    tree, confidence_bands = study.tree, study.confidence_bands()
    beta = oracle.beta(8, 2, 5, 0.1)
    np.testing.assert_allclose(confidence_bands.confidence, math.sqrt(beta) * tree.std, rtol=1e-12)
    np.testing.assert_allclose(confidence_bands.variation, 2 * 0.5**tree.depth, rtol=1e-12)


def test_trials_are_listed_with_what_became_of_them() -> None:
    study = make_study()
    told, lost, open_ = study.ask(3)
    study.tell(told, 0.5, sem=0.2, note="first light")
    study.fail(lost)
    first, second, third = study.trials
    assert (first.state, first.value, first.sem, first.note) == ("measured", 0.5, 0.2, "first light")
    assert (second.state, second.value, second.sem, second.note) == ("failed", None, None, "")
    assert (third.state, third.value) == ("pending", None)
    assert [(trial.number, trial.node, trial.replicate) for trial in study.trials] == [
        (0, (0, 0), 1),
        (1, (0, 0), 2),
        (2, (0, 0), 3),
    ]
    assert study.pending == (open_,)
    study.trials.clear()  # a list of one's own
    assert len(study.trials) == 3


def test_trials_are_values() -> None:
    trial = make_study().ask()
    assert trial == make_study().ask()
    assert hash(trial) == hash(make_study().ask())
    with pytest.raises(AttributeError):
        trial.number = 3  # type: ignore[misc]


def test_a_study_tells_how_far_it_is() -> None:
    study = make_study(budget=7)
    study.ask(3)
    study.tell(1, 0.5)
    assert repr(study) == "<Study: 1 of 7 measured, 2 pending, 3 nodes>"


def test_a_study_knows_what_it_was_given() -> None:
    study = make_study({"l": (0, 1)}, value_name="flux", value_unit="mJy", mean=3, direction="minimize")
    assert (study.settings.value_name, study.settings.value_unit, study.settings.direction, study.model.mean) == (
        "flux",
        "mJy",
        "minimize",
        3.0,
    )
    assert study.space == zn.Box({"l": (0, 1)})
    assert study.settings.feedback == zn.Average(S)
    assert make_study(feedback=None).settings.feedback == zn.Mean()


def test_what_is_read_is_of_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    play(study, 12)
    before, ranked = study.recommend(), confidence.standings

    def slowly(*given: Any) -> Any:
        found = ranked(*given)
        study.tell(study.ask(), 50.0)  # as another thread would, between the choice and the numbers
        return found

    monkeypatch.setattr(confidence, "standings", slowly)
    assert study.recommend() == before


def test_the_recommended_region_does_not_depend_on_how_many_are_asked_for() -> None:
    study = make_study()
    for _ in range(12):
        assert study.recommend(k=3)[0].region == study.recommend().region
        play(study, 1)


def test_bands_are_asked_for_while_nothing_can_change() -> None:
    waiting: list[bool] = []

    class Curious(zn.GPOO):
        def bind(self, context: Any) -> Any:
            bound = super().bind(context)
            usual = bound.confidence_bands

            def confidence_bands(tree: Any, t: int) -> Any:
                other = threading.Thread(target=study.recommend, daemon=True)
                other.start()
                other.join(0.2)
                waiting.append(other.is_alive())
                return usual(tree, t)

            object.__setattr__(bound, "confidence_bands", confidence_bands)
            return bound

    study = make_study(policy=Curious())
    play(study, 3)
    waiting.clear()
    study.confidence_bands()
    assert waiting == [True]


def test_a_study_as_it_was_says_what_it_said_then() -> None:
    study, said = make_study(policy=zn.KnowledgeGradient(), noise=None, kernel=None), []
    for _ in range(10):
        said.append((study.recommend(), study.predict([(0.1, 0.4)]), str(study), study.tree))
        play(study, 1)
    numbers = [0, 5, 9, 3, 5]
    before = fingerprint(study)
    for number, moment in zip(numbers, study.snapshot(*numbers), strict=True):
        best, expected, words, tree = said[number]
        assert (moment.measured, moment.recommend(), str(moment)) == (number, best, words)
        assert moment.predict([(0.1, 0.4)]) == expected
        assert moment.tree == tree
        assert moment.path == study.path
        for change in (moment.ask, moment.refit, lambda moment=moment: moment.save("a.db")):
            with pytest.raises(zn.StudyFileError, match="for reading only"):
                change()
        moment.refresh()
        assert moment.measured == number
    assert fingerprint(study) == before
    assert study.snapshot() == []
    with pytest.raises(zn.InvalidInput, match="a number of measurements"):
        study.snapshot(15)


@pytest.mark.parametrize(
    "settings", [{}, {"kernel": None, "noise": None, "policy": None}], ids=["given", "learned"]
)
def test_doubt_is_what_is_left_of_the_prior_standard_deviation(settings: Any) -> None:
    study = make_study([(0, 1), (0, 1)], **settings)
    np.testing.assert_allclose(study.relative_std(), 1.0)
    play(study, 12)
    doubt, tree = study.relative_std(), study.tree
    assert ((doubt >= 0) & (doubt <= 1)).all()
    assert doubt[tree.count > 0].max() < 1
    regions = [study.space.cell(node) for node in table_of(study)]
    np.testing.assert_allclose(study.relative_std(regions), doubt, atol=1e-9)
    if not settings:
        prior = make_study([(0, 1), (0, 1)]).predict(regions).std
        np.testing.assert_allclose(doubt, tree.std / prior, atol=1e-9)
    far = study.relative_std([[(0.99, 1.0), (0.99, 1.0)], trial_region(study)])
    assert far[0] > far[1]


def trial_region(study: zn.Study) -> zn.Region:
    return max(study.trials, key=lambda trial: trial.node).region


def test_counting_beliefs_doubt_what_was_seldom_measured() -> None:
    study = make_study(policy=zn.StoOO(zn.GeometricDelta(2.0)), kernel=None)
    play(study, 20)
    np.testing.assert_allclose(study.relative_std(), 1 / np.sqrt(1 + study.tree.count))


def test_regions_that_could_not_be_measured_are_listed_until_allowed() -> None:
    study = make_study()
    trial = study.ask()
    study.fail(trial, retry=False)
    assert list(study.blocked) == [trial.region]
    study.allow(trial.region)
    assert list(study.blocked) == []


def test_certainty_is_drawn_when_it_is_read_from_what_was_known_then(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    play(study, 9)
    eager = study.recommend(k=2)
    assert all(0 <= best.probability_best <= 1 for best in eager)
    standings = Mock(wraps=confidence.standings)
    monkeypatch.setattr(confidence, "standings", standings)
    best, second = study.recommend(k=2)
    play(study, 9)
    assert best.region == eager[0].region
    standings.assert_not_called()
    assert [best, second] == eager
    standings.assert_called_once()
    assert pickle.loads(pickle.dumps(best)) == copy.copy(best) == best
    assert len({best, eager[0]}) == 1
    assert repr(best) == repr(eager[0])
    assert to_json(best) == to_json(eager[0])
    assert best != study.recommend()


def test_where_members_were_hardly_measured_the_answer_says_that_some_may_stand_out() -> None:
    spaces = {12: zn.Points(np.linspace(0, 1, 12)[:, None]), 400: zn.Points(np.linspace(0, 1, 400)[:, None])}
    notes = {}
    for size, space in spaces.items():
        study = zn.Study(space, budget=24, noise=0.1, rng=0)
        study.optimize(lambda region: float(region.weight == 1))
        notes[size] = study.recommend().note
    assert notes == {12: "", 400: "regions that were not measured may stand out: trust the gap less"}
    line = zn.Study([(0, 1)], budget=24, rng=0)
    line.observe([(0, 1)], 0.0)
    assert line.recommend().note == ""


def test_members_and_pools_may_stand_out_and_members_without_distances_most() -> None:
    counties = zn.Hierarchy({"state": [f"county {number}" for number in range(9)]})
    spaces: list[Any] = [counties, zn.Sequences("ACGT", 3), zn.Points(np.arange(9.0)[:, None]), zn.Box([(0, 1)])]
    tails = [_unseen(zn.Study(space, budget=9)._state)[1] for space in spaces]
    assert tails[0] < tails[1] == tails[2] < tails[3] == math.inf
