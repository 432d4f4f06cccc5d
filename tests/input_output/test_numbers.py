"""Digits that people can use, and chances that are never certainty."""

import math

import pytest

from zonal.io.result_table import Listing, Probability, give_or_take, number, percent


@pytest.mark.parametrize(
    ("value", "doubt", "shown"),
    [
        (157.412, 2.93, "157.4"),
        (0.123456, 0.0034, "0.1235"),
        (1.5, 0.0, "1.5"),
        (123456.0, 4567.0, "1.23e+05"),
        (1e-9, 1e-14, "1e-09"),
        (math.nan, 0.1, ""),
        (math.inf, 0.1, "inf"),
        (2.0, math.inf, "2"),
        (-0.0, 0.0, "0"),
        (-0.0, 4567.0, "0"),
    ],
)
def test_a_number_has_two_digits_of_its_doubt(value: float, doubt: float, shown: str) -> None:
    assert number(value, doubt) == shown


def test_a_mean_comes_with_its_doubt_and_unit() -> None:
    assert give_or_take(157.412, 2.93, "K") == "157.4 ± 2.9 K"
    assert give_or_take(-0.5, 0.01) == "-0.500 ± 0.010"


@pytest.mark.parametrize(
    ("chance", "shown"),
    [
        (1.0, "> 99 %"), (0.9951, "> 99 %"), (0.99, "99 %"), (0.5, "50 %"), (0.0051, "1 %"), (0.001, "< 1 %"),
        (0.005, "< 1 %"), (0.0, "< 1 %"), (math.nan, ""),
    ],
)  # fmt: skip
def test_no_chance_reads_as_certainty(chance: float, shown: str) -> None:
    assert percent(chance) == shown


def test_chances_are_printed_in_per_cent_and_are_numbers_in_a_data_frame() -> None:
    table = Listing("Bets", {"horse": ["A", "B"], "wins": [Probability(1.0), Probability(0.25)]})
    assert str(table).splitlines() == ["Bets", "horse    wins", "A      > 99 %", "B        25 %"]
    assert "&gt; 99 %" in table._repr_html_()
    assert table.to_pandas()["wins"].dtype == float
    assert table.to_polars()["wins"].to_list() == table.to_arrow()["wins"].to_pylist() == [1.0, 0.25]
