"""Hostile calls of every public constructor and method: refused in a sentence, at once, and without a crash."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import zonal as zn
from effort import tries
from hostile import VALUES, attack
from zonal import errors


@pytest.mark.tries
def test_no_hostile_call_ends_in_a_raw_error_a_hang_or_a_crash() -> None:
    assert attack(tries(200, 40_000), seed=32) == {}


CHECKS: dict[str, Any] = {
    "a number": lambda value: errors.finite_number(value, "it"),
    "a whole number": lambda value: errors.whole_number(value, "it", 0),
    "text": lambda value: errors.text(value, "it"),
    "a name": lambda value: errors.named(value, "it"),
    "True or False": lambda value: errors.truth(value, "it"),
    "a choice": lambda value: errors.check_choice(value, "it", ("a", "b")),
    "a list": lambda value: errors.listed(value, "it", "Pass one."),
    "an array": lambda value: errors.plain_array(value, "it", "Pass one.", float),
    "a seed": errors.random_generator,
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_a_check_never_raises_what_a_users_object_raises(check: Any) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for make in VALUES.values():
            try:
                check(make())
            except zn.InvalidInput as error:
                assert ". " in str(error)  # noqa: PT017


LOOSE: Any = zn  # what is passed here is of the wrong type on purpose
MASKED = np.ma.array([0.25, 0.5], mask=[False, True])
NONSENSE: dict[str, Any] = {
    "two names that are one": lambda: LOOSE.Box({1: (0, 1), "1": (0, 2)}),
    "an axis without a name": lambda: LOOSE.Box({"": (0, 1)}),
    "an axis called None": lambda: LOOSE.Box({None: (0, 1)}),
    "an axis called NaN": lambda: LOOSE.Box({math.nan: (0, 1)}),
    "half a letter as a name": lambda: LOOSE.Box({"a\ud800": (0, 1)}),
    "half a letter in a product": lambda: LOOSE.Product({"a\ud800": (0, 1)}),
    "a unit that is NaN": lambda: LOOSE.Box([(0, 1)], units=[math.nan]),
    "a unit that is None": lambda: LOOSE.Box({"x": (0, 1)}, units={"x": None}),
    "a unit that is half a letter": lambda: LOOSE.Box([(0, 1)], units=["\udcff"]),
    "true as a unit": lambda: LOOSE.Box([(0, 1)], units=True),
    "bytes as a number": lambda: LOOSE.GeometricDelta(bytearray(b"12")),
    "a view of bytes as a number": lambda: LOOSE.PerWeight(memoryview(b"12")),
    "a masked correlation": lambda: LOOSE.Categorical(1.0, np.ma.masked),
    "masked lengthscales": lambda: LOOSE.RBF(1.0, MASKED),
    "masked points": lambda: LOOSE.Points(MASKED),
    "masked rows of points": lambda: LOOSE.Points([MASKED, MASKED]),
    "masked weights": lambda: LOOSE.Points([[1.0], [2.0]], weights=MASKED),
    "masked bounds": lambda: LOOSE.Box(MASKED.reshape(1, 2)),
    "masked frequencies": lambda: LOOSE.Sequences("AC", 2, frequencies=MASKED),
    "masked features": lambda: LOOSE.Hierarchy({"a": ["b", "c"]}, MASKED),
    "a masked table": lambda: LOOSE.simulation.from_table(LOOSE.Box([(0, 1)]), MASKED),
    "a masked time": lambda: LOOSE.Study([(0, 1)], budget=3, times=MASKED),
    "a matrix as a seed": lambda: LOOSE.Study([(0, 1)], budget=3, rng=np.matrix([[1, 2]])),
    "travel beyond all bounds": lambda: LOOSE.Study([(0, 1)], budget=3.0, travel=1e308),
    "a time too short to be compared": lambda: LOOSE.Study([(0, 1)], budget=3, times=[1e-320, 1.0]),
    "two columns that are one": lambda: LOOSE.Points({1: [1.0, 2.0], "1": [3.0, 4.0]}),
    "two columns of a frame that are one": lambda: LOOSE.Points(pd.DataFrame({1: [1.0, 2.0], "1": [3.0, 4.0]})),
    "two levels that are one": lambda: LOOSE.Hierarchy.from_table({1: ["a", "b"], "1": ["c", "d"]}),
    "a column without a name": lambda: LOOSE.Points({"": [1.0, 2.0]}),
    "a column called None": lambda: LOOSE.Points({None: [1.0, 2.0]}),
    "half a letter as a column": lambda: LOOSE.Points({"a\ud800": [1.0, 2.0]}),
    "half a letter as a label": lambda: LOOSE.Points([[1.0], [2.0]], labels=["a", "\ud800"]),
    "a column of too many digits": lambda: LOOSE.Points({10**5000: [1.0, 2.0]}),
    "a leaf of too many digits": lambda: LOOSE.Hierarchy({"a": ["b", "c"]}, weights={10**5000: 1.0, "c": 1.0}),
    "a leaf named twice": lambda: LOOSE.Hierarchy({"a": ["1", "2"]}, weights={1: 1.0, "1": 2.0, "2": 1.0}),
    "a column that cannot be printed": lambda: LOOSE.Points({VALUES["raises in repr"](): [1.0, 2.0]}),
    "a key that compares with nothing": lambda: LOOSE.Points([[1.0], [2.0]]).region({pd.NA: [0]}),
    "a key of sequences that does not either": lambda: LOOSE.Sequences("AC", 2).region({pd.NA: "AN"}),
    "an alpha beyond all bounds": lambda: LOOSE.GPTree(alpha=1e-320),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("make", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_refused(make: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="; got "):
        make()


def made(**settings: Any) -> Any:
    return LOOSE.Study([(0, 1)], kernel=LOOSE.RBF(1.0, 0.2), noise=0.1, **{"budget": 9} | settings)


def test_a_study_refuses_nonsense_and_stays_as_it_is() -> None:
    study = made(budget=1e308, cost=1.0)
    study.extend(1e307)
    trial = study.ask()
    before = study._state
    attempts: list[Callable[[], object]] = [
        lambda: study.extend(1.7e308),
        lambda: study.fail(trial, retry="no"),
        lambda: study.tell(trial, bytearray(b"12")),
        lambda: study.tell(trial, 0.5, note=np.array(["a", "b"])),
        lambda: study.ask(key=np.array(["a", "b"])),
        lambda: study._forgive(trial),
        lambda: study.outlook(10**6),
        lambda: study.refine(lambda x: 0.5, 2, points="text"),
        lambda: trial.region.overlaps(None),
        lambda: study.recommend(theta=np.array([0.1, 0.2])),
        lambda: LOOSE.Study.open("a.db", classes=["X"]),
    ]
    for attempt in attempts:
        with pytest.raises(zn.InvalidInput, match="; got "):
            attempt()
    assert study._state is before
    assert study.budget < math.inf


def test_what_predict_takes_doubt_takes_too() -> None:
    from decimal import Decimal

    study = made()
    region = study.space.cell((1, 0))
    assert study.relative_std(region).tolist() == study.relative_std([region]).tolist() == [1.0]
    assert study.relative_std([]).size == 0
    assert study.recommend(theta=Decimal("0.1")) == study.recommend()
    assert LOOSE.GPTree(alpha=Decimal("0.5")) == LOOSE.GPTree()
    assert type(LOOSE.PerWeight(Decimal("0.5")).std) is float


@pytest.mark.parametrize("budget", [8, 14])
def test_values_too_small_to_be_squared_are_named(budget: int) -> None:
    study = LOOSE.Study([(0, 1)], budget=budget, rng=0)
    with pytest.warns(zn.ModelWarning, match=r"differ by .*e-161 at most, too little to be squared"):
        study.optimize(lambda region: 1e-160 * float(region.center[0]))


def test_a_warning_has_no_eighty_digits() -> None:
    study = made(budget=14)
    with pytest.warns(zn.ModelWarning) as caught:
        study.optimize(lambda region: 1e80 * float(np.sin(40 * region.center[0])))
    assert all(len(str(warning.message)) < 300 for warning in caught)
