"""Numbers with units, of astropy and of pint: taken where a unit is declared, else refused by name.

Neither library is needed: the stand-ins have what Zonal uses of them. The real ones are tried where they are
installed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import zonal as zn

SIZES = {
    "deg": ("angle", np.pi / 180),
    "rad": ("angle", 1.0),
    "K": ("heat", 1.0),
    "mK": ("heat", 1e-3),
    "": ("", 1.0),
    "K/deg": ("slope", 1.0),
}


def converted(number: float, unit: str, wanted: str) -> float:
    (kind, size), (other, step) = SIZES[unit], SIZES[wanted]
    if kind != other:
        raise TypeError(f"{unit} is not {wanted}")
    return number * size / step


@dataclass
class LikeAstropy:
    number: float
    unit: str = ""  # also of the class, by which quantities are known

    def to_value(self, unit: str) -> float:
        return converted(self.number, self.unit, unit)


@dataclass
class LikePint:
    magnitude: float = 0.0
    units: str = ""

    def to(self, unit: str) -> LikePint:
        return LikePint(converted(self.magnitude, self.units, unit), unit)


def of_astropy(number: float, unit: str) -> Any:
    return number * pytest.importorskip("astropy.units").Unit(unit)


def of_pint(number: float, unit: str) -> Any:
    return pytest.importorskip("pint").UnitRegistry().Quantity(number, unit)


MAKERS: dict[str, Callable[[float, str], Any]] = {
    "like astropy": LikeAstropy,
    "like pint": LikePint,
    "astropy": of_astropy,
    "pint": of_pint,
}
libraries = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
BOX = zn.Box({"l": (-180, 180), "z": (0, 1)}, units={"l": "deg"})


@libraries
def test_bounds_and_smallest_sizes_are_taken_in_the_unit_of_their_axis(make: Callable[..., Any]) -> None:
    ends = make(-np.pi, "rad"), make(180.0, "deg")
    box = zn.Box({"l": ends}, units={"l": "deg"}, smallest=make(11.25, "deg"))
    assert box.bounds[0] == pytest.approx((-180, 180))
    assert box.smallest == (11.25,)
    assert BOX.region({"l": (make(0.0, "deg"), make(np.pi / 2, "rad"))}).name == "l 0..90 deg, z 0..1"
    assert BOX.region([(make(0.0, "rad"), make(90.0, "deg")), (0, 1)]).name == "l 0..90 deg, z 0..1"


@libraries
def test_values_are_taken_in_the_unit_of_the_study(make: Callable[..., Any]) -> None:
    noise, mean = make(100.0, "mK"), make(1.0, "K")
    study = zn.Study(BOX, budget=4, kernel=zn.RBF(1.0, [30.0, 1.0]), noise=noise, mean=mean, value_unit="K")
    assert study.settings.noise == pytest.approx(0.1)
    assert study.settings.mean == 1
    study.tell(study.ask(), make(2000.0, "mK"), sem=make(0.1, "K"))
    assert [study.trials[0].value, study.trials[0].sem] == pytest.approx([2, 0.1])
    study.observe({"l": (make(0.0, "deg"), make(10.0, "deg"))}, make(1.5, "K"))
    study.correct(0, make(2.5, "K"))
    assert study.trials[0].value == 2.5
    assert study.above(make(1000.0, "mK")).title == study.above(1.0).title
    region = {"l": (0, 10)}
    assert study.probability(region, above=make(1.0, "K")) == study.probability(region, above=1.0)
    with pytest.raises(zn.InvalidInput, match=r"a measured value must be in 'K'.*Pass \.(value|magnitude)"):
        study.tell(study.ask(), make(2.0, "deg"))
    assert zn.maximize(lambda region: make(3.0, "K"), BOX, 2, value_unit="K").study.trials[0].value == 3


@libraries
def test_a_quantity_where_no_unit_is_declared_is_refused_by_name(make: Callable[..., Any]) -> None:
    angle, cases = make(5.0, "deg"), dict[str, Callable[[], Any]]()
    cases["a bound of axis x"] = lambda: zn.Box({"x": (make(0.0, "deg"), angle)})
    cases["a bound on axis z"] = lambda: BOX.region({"z": (0, angle)})
    cases["smallest on axis c"] = lambda: zn.Box({"c": (1, 10)}, units=["deg"], scale="log", smallest=angle)
    cases["lengthscale"] = lambda: zn.RBF(1.0, angle)
    cases["threshold"] = lambda: zn.Above(angle)
    cases["noise"] = lambda: zn.Study(BOX, budget=3, noise=angle)
    cases["a measured value"] = lambda: (study := zn.Study(BOX, budget=3)).tell(study.ask(), angle)
    for name, case in cases.items():
        with pytest.raises(zn.InvalidInput, match=f"{name} must come without a unit"):
            case()
    assert zn.RBF(1.0, make(5.0, "")).lengthscale == 5  # a number, whatever its type


@pytest.mark.parametrize("make", [of_astropy, of_pint])
def test_the_unit_of_a_whole_array_is_not_lost(make: Callable[..., Any]) -> None:
    table = np.array([[1.0, 2.0], [3.0, 5.0]])
    assert zn.Box({"l": make(table[0], "rad")}, units=["deg"]).bounds[0][0] == pytest.approx(180 / np.pi)
    with pytest.raises(zn.InvalidInput, match="without a unit"):
        zn.Points(make(table, "deg"))
    with pytest.raises(zn.InvalidInput, match="without a unit"):
        zn.RBF(1.0, make(table[0], "deg"))
    with pytest.raises(zn.InvalidInput, match="axis z must come without a unit"):
        BOX.region(make(np.array([[0.0, 1.0], [0.0, 1.0]]), "deg"))


@libraries
def test_a_slope_is_a_plain_number_since_its_unit_is_not_that_of_the_values(make: Callable[..., Any]) -> None:
    study = zn.Study(BOX, budget=4, kernel=zn.RBF(1.0, [30.0, 1.0]), noise=0.1, value_unit="K")
    part, by = {"l": (0, 10)}, zn.Slope("l")
    seen, trial = study.observe(part, 2.0, sem=0.1, feedback=by), study.ask()
    cases: dict[str, Callable[[Any, Any], Any]] = {
        "measured": lambda slope, error: study.tell(trial, 1.0, slopes={"l": (slope, error)}),
        "observed": lambda slope, error: study.observe(part, slope, sem=0.1, feedback=by),
        "its error": lambda slope, error: study.observe(part, 2.0, sem=error, feedback=by),
        "corrected": lambda slope, error: study.correct(seen, slope),
    }
    message = r"slope along l must come without a unit, as a number of K per deg.*Pass \."
    for case, unit in itertools.product(cases.values(), ("K", "K/deg")):
        with pytest.raises(zn.InvalidInput, match=message):
            case(make(2.0, unit), make(0.1, unit))
    assert len(study.events) == 3
    study.tell(trial, make(1000.0, "mK"), slopes={"l": (2.0, make(0.1, ""))})
    assert [own.value for own in study.observations] == [2.0, 2.0]


@libraries
def test_the_threshold_of_a_policy_is_a_number_in_the_unit_of_the_values(make: Callable[..., Any]) -> None:
    message = (
        r"threshold must come without a unit, since a policy does not know that of the study's values.*Pass \."
    )
    with pytest.raises(zn.InvalidInput, match=message):
        zn.Above(make(1.0, "K"))
    assert zn.Above(make(1.0, "")).threshold == 1
