"""A part of a budget, and what is said to a number where an executor belongs."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import zonal as zn


def study(budget: int = 10) -> zn.Study:
    return zn.Study([(0, 1)], budget=budget, kernel=zn.RBF(1.0, 0.2), noise=0.1)


def measure(region: zn.Region) -> float:
    return float(region.center[0])


@pytest.mark.parametrize("workers", [None, 3])
def test_a_part_is_measured_and_the_rest_remains(workers: int | None) -> None:
    parts = study()
    with ThreadPoolExecutor(workers) as pool:
        executor = None if workers is None else pool
        result = parts.optimize(measure, executor, n=4)
        assert (result.nfev, result.success, parts.remaining) == (4, True, 6)
        assert result.message.startswith("the part asked for is spent: 4 of 10")
        result = parts.optimize(measure, executor, n=6)
    assert (result.nfev, result.success, parts.remaining) == (10, True, 0)
    assert result.message.startswith("the budget is spent: 10 of 10")


def test_parts_measure_what_the_whole_would_have() -> None:
    whole, parts = study(), study()
    whole.optimize(measure)
    for _ in range(5):
        parts.optimize(measure, n=2)
    assert [trial.node for trial in parts.trials] == [trial.node for trial in whole.trials]


def test_trials_given_up_do_not_count() -> None:
    parts, calls = study(), []

    def fails_once(region: zn.Region) -> float:
        calls.append(region)
        if len(calls) == 2:
            raise OSError("no signal")
        return 1.0

    with pytest.raises(OSError, match="no signal"):
        parts.optimize(fails_once, n=4)
    assert parts.told == 1
    parts.optimize(fails_once, n=3)
    assert (parts.told, parts.remaining) == (4, 6)


def test_callbacks_see_the_study_itself() -> None:
    parts, seen = study(), []
    parts.optimize(measure, n=2, callback=lambda own, trial: seen.append((own, trial.number)))
    assert seen == [(parts, 0), (parts, 1)]


def test_more_than_remains_is_refused_before_anything_is_measured() -> None:
    parts = study(3)
    with pytest.raises(zn.BudgetSpent, match="n=5 measurements asked for, but only 3 remain"):
        parts.optimize(measure, n=5)
    assert parts.trials == []
    with pytest.raises(zn.InvalidInput, match="n must be at least 1"):
        parts.optimize(measure, n=0)


def test_a_number_where_an_executor_belongs_is_answered_with_what_was_meant() -> None:
    with pytest.raises(zn.InvalidInput, match=r"the second argument is an executor; got 30. Did you mean n=30\?"):
        study().optimize(measure, 30)
