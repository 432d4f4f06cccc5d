"""Failures that are no fault of a region, and failures that are taken back."""

import pytest

import zonal as zn
from fingerprint import fingerprint
from small_studies import make_study, wave


@pytest.mark.parametrize("workers", [None, 2])
def test_an_error_that_is_passed_on_counts_against_no_region(workers: int | None) -> None:
    def broken(region: zn.Region) -> float:
        raise OSError("a typing error")

    study = zn.Study([(0, 1)], budget=12, noise=0.1)
    asked = study.ask().node
    study.cancel(0)
    for _ in range(4):
        with pytest.raises(OSError, match="typing error"):
            study.optimize(broken, workers=workers)
        with pytest.raises(OSError, match="typing error"):
            study.optimize(broken, workers=workers, on_error="fail", max_failures=5)
    assert not study._state.blocked
    assert not study._state.failed_trials
    assert study.ask().node == asked
    assert study.optimize(wave, take_over=True).nfev == 12


def test_failures_before_the_last_success_still_count() -> None:
    failing = iter([True, True, True, False, True, True])

    def flaky(region: zn.Region) -> float:
        if next(failing):
            raise OSError("cloudy")
        return wave(region)

    study = make_study(budget=20)
    with pytest.raises(OSError, match="cloudy"):
        study.optimize(flaky, on_error="fail", max_failures=4)
    assert [trial.state for trial in study.trials] == ["failed"] * 3 + ["measured"] + ["failed"] * 2
    assert study._state.blocked == {0: 2}
    assert study._state.failed_trials == {0: (0, 1, 2)}


def test_a_search_in_which_everything_fails_counts_against_no_region() -> None:
    def never(region: zn.Region) -> float:
        raise OSError("cloudy")

    study = make_study(zn.Box([(0, 1)], smallest=0.5), budget=20)
    result = study.optimize(never, on_error="fail")
    assert "impossible to measure" in result.message
    assert not study._state.blocked
    assert study.optimize(wave).success


# Taking failures back.


def test_what_was_given_up_may_be_allowed_again() -> None:
    study = make_study()
    study.fail(study.ask(), retry=False)  # the whole, which gives way to its children
    left, right = study.ask(2)
    study.fail(left, retry=False)
    study.fail(right)
    assert study.allow(left.region) == 1
    assert study._state.blocked == {0: 0, 2: 2}  # within a region that cannot be measured one failure is enough
    assert study.tree.askable[1:3].tolist() == [False, False]  # the left half was split meanwhile
    assert study.tree.askable[3:5].all()
    assert study.allow([(0, 1)]) == 2
    assert (study._state.blocked, study._state.failed_trials) == ({}, {})
    assert [trial.state for trial in study.trials] == ["failed"] * 3  # as it was
    assert (study.tree.first_child[0], study.remaining) == (1, study.budget)


def test_three_failures_in_a_row_are_counted_anew_once_they_were_allowed() -> None:
    study = make_study()
    for _ in range(2):
        study.fail(study.ask())
    study.allow(study.trials[0].region)
    for _ in range(2):
        study.fail(study.ask())
    assert study.ask().node == (0, 0)
    study.fail(4)
    assert study.ask().node != (0, 0)


def test_a_region_around_others_allows_them_and_a_printed_name_is_as_good() -> None:
    study = make_study(zn.Box([(0, 1)], arity=3, smallest=0.01), policy=zn.UniformGrid(level=2))
    for trial in study.ask(9):
        study.fail(trial, retry=False)
    assert study.allow([(0.2, 0.5)]) == 2  # 2/9..3/9 and 3/9..4/9
    assert study.allow([(0.6667, 1)]) == 3  # as the last third is printed: its edge is 0.66666...
    with pytest.raises(zn.InvalidInput, match="nothing failed or was forbidden within"):
        study.allow([(0.6667, 1)])
    assert study.allow([(0, 1)]) == 4


def test_what_is_forbidden_is_never_allowed() -> None:
    study = make_study(zn.Box([(0, 1)], smallest=0.25), forbidden=[[(0, 0.5)]])
    study.fail(study.ask(), retry=False)
    before = fingerprint(study)
    with pytest.raises(zn.InvalidInput, match="It is forbidden; that cannot be taken back"):
        study.allow([(0, 0.5)])
    with pytest.raises(zn.InvalidInput, match="names an axis that is not there"):
        study.allow({"y": (0, 1)})
    assert fingerprint(study) == before
    study.allow([(0, 1)])
    assert not any(study.tree.askable[study.tree.forbidden])
