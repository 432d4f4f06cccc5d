"""What errors are, and the checks of single numbers that all constructors share."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.errors import (
    finite_number,
    positive_number,
    probability,
    standard_deviation,
    whole_number,
)

NOT_NUMBERS: list[Any] = [
    "1",
    "one",
    b"1",
    None,
    True,
    False,
    [1.0],
    (1.0,),
    {},
    1j,
    ...,
    np.array([1.0]),
    np.ones((2, 2)),
]


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (zn.InvalidInput, ValueError),
        (zn.TrialError, ValueError),
        (zn.BudgetSpent, RuntimeError),
        (zn.Exhausted, RuntimeError),
    ],
)
def test_every_error_is_a_zonal_error_and_one_that_python_users_expect(
    kind: type[Exception], builtin: type[Exception]
) -> None:
    assert issubclass(kind, zn.ZonalError)
    assert issubclass(kind, builtin)


@pytest.mark.parametrize("kind", [zn.NumericalWarning, zn.SmoothnessWarning])
def test_warnings_can_be_filtered_as_user_warnings(kind: type[Warning]) -> None:
    assert issubclass(kind, UserWarning)


def test_a_message_gives_the_problem_the_value_and_the_fix() -> None:
    error = zn.InvalidInput("lengthscale must be positive", -0.1, "Pass a number above 0.")
    assert str(error) == "lengthscale must be positive; got -0.1. Pass a number above 0."


def test_the_value_is_shown_so_that_text_can_be_told_from_a_number() -> None:
    assert "got '3'." in str(zn.InvalidInput("s must be a number", "3", "Pass a number."))


@pytest.mark.parametrize(
    "value", [0, 1.5, -3, np.float32(0.5), np.int64(7), np.array(2.5), Fraction(1, 4), Decimal("0.5")]
)
def test_anything_that_is_one_finite_number_passes_as_a_float(value: Any) -> None:
    number = finite_number(value, "x")
    assert type(number) is float
    assert number == float(value)


@pytest.mark.parametrize("check", [finite_number, positive_number, standard_deviation, probability])
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_what_is_not_a_single_number_is_refused(check: Callable[[Any, str], float], value: Any) -> None:
    with pytest.raises(zn.InvalidInput, match=r"^the thing must be a single number; got ") as caught:
        check(value, "the thing")
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [np.True_, np.array("0.5"), np.array(True)], ids=repr)
def test_numpys_own_booleans_and_text_are_no_numbers_either(value: Any) -> None:
    with pytest.raises(zn.InvalidInput, match=r"^the thing must be a single number; got "):
        finite_number(value, "the thing")


@pytest.mark.parametrize("check", [finite_number, positive_number, standard_deviation, probability])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan"), np.array(np.inf)], ids=repr)
def test_what_is_not_finite_is_refused(check: Callable[[Any, str], float], value: Any) -> None:
    with pytest.raises(zn.InvalidInput, match=r"^the thing must be finite; got ") as caught:
        check(value, "the thing")
    assert repr(value) in str(caught.value)


def test_a_whole_number_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(zn.InvalidInput, match=r"^x must be"):
        finite_number(10**400, "x")


@pytest.mark.parametrize("value", [0, 0.0, -0.0, -1e-300, -5])
def test_a_positive_number_is_above_zero(value: float) -> None:
    with pytest.raises(zn.InvalidInput, match=r"x must be positive; got .*\. Pass a number above 0\."):
        positive_number(value, "x")


def test_a_standard_deviation_may_be_zero_but_not_negative() -> None:
    assert standard_deviation(0, "noise") == 0.0
    with pytest.raises(
        zn.InvalidInput, match=r"noise must not be negative; got -0\.1\. Pass a standard deviation"
    ):
        standard_deviation(-0.1, "noise")


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.1, 0.0, 1.0])
def test_a_probability_lies_strictly_between_zero_and_one(value: float) -> None:
    with pytest.raises(
        zn.InvalidInput, match=re.escape(f"got {value!r}. Pass a number strictly between 0 and 1.")
    ):
        probability(value, "theta")


@pytest.mark.parametrize("value", [2.0, 2.5, "2", None, True, math.nan, [2], np.float64(2), np.True_], ids=repr)
def test_a_whole_number_is_no_float_text_or_boolean(value: Any) -> None:
    with pytest.raises(zn.InvalidInput, match=r"^n must be a whole number; got ") as caught:
        whole_number(value, "n", 2)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [1, 0, -3, np.int64(-1)], ids=repr)
def test_a_whole_number_has_a_least_value(value: Any) -> None:
    with pytest.raises(
        zn.InvalidInput, match=r"^n must be at least 2; got .* Pass a whole number of 2 or more\.$"
    ):
        whole_number(value, "n", 2)


@pytest.mark.parametrize("value", [2, np.int64(2), np.uint8(2), np.array(2)], ids=repr)
def test_a_whole_number_comes_back_as_pythons_own(value: Any) -> None:
    number = whole_number(value, "n", 2)
    assert type(number) is int
    assert number == 2
