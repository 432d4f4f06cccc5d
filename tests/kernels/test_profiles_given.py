"""User-defined kernels along axes are tested when a study is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.gp.fit_schedule import _times
from zonal.kernels.base import ProductKernel
from zonal.kernels.stationary import Profile


@dataclass(frozen=True)
class Shape(Profile):
    """A profile by name."""

    name: str

    def value(self, r: Any) -> Any:
        """Return the shape at these distances."""
        if self.name == "raises":
            raise ZeroDivisionError("by the user")
        shapes = {
            "straight": 1 - np.abs(r),
            "tent": np.maximum(1 - np.abs(r), 0.0),
            "box": 1.0 * (np.abs(r) < 1),
            "twice": 2 * np.exp(-r * r),
            "nan": np.where(r > 1, np.nan, np.exp(-r * r)),
            "one number": 1.0,
            "one-sided": np.exp(-r),
        }
        return shapes[self.name]


@dataclass(frozen=True)
class Own(ProductKernel):
    """A kernel of a shape."""

    name: str = "straight"

    @property
    def profile(self) -> Profile:
        """The shape."""
        return Shape(self.name)


@dataclass(frozen=True)
class Straightened(ProductKernel):
    """A class of kernels none of which is one."""

    @property
    def profile(self) -> Profile:
        """The shape."""
        return Shape("straight")


SPACES: dict[str, Any] = {
    "box": zn.Box([(0, 1)]),
    "plane": zn.Box([(0, 5), (0, 1)]),
    "points": zn.Points(np.arange(20.0) / 20),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("kernel", [Own(1.0, 0.05), Own(1.0, 0.05, "box"), Straightened], ids=str)
def test_what_is_not_positive_definite_is_refused_when_it_is_given(space: Any, kernel: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="not positive semi-definite over"):
        zn.Study(space, budget=10, kernel=kernel, noise=0.1)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("twice", "is 2 at distance 0"),
        ("nan", "a finite number for each distance"),
        ("one number", "a finite number for each distance"),
        ("raises", "fails .by the user."),
        ("one-sided", "not the same at r and at -r; got .* write abs"),
    ],
)
def test_a_profile_that_is_no_correlation_is_refused_with_what_is_wrong(name: str, problem: str) -> None:
    for space in (zn.Box([(0, 1)]), zn.Box({"l": (0, 1)}, periodic="l")):
        with pytest.raises(zn.InvalidInput, match=problem):
            zn.Study(space, budget=10, kernel=Own(1.0, 0.2, name), noise=0.1)


def test_a_kernel_that_is_one_is_taken() -> None:
    study = zn.Study([(0, 1)], budget=4, kernel=Own(1.0, 0.2, "tent"), noise=0.1)
    study.optimize(lambda region: float(region.center[0]))
    assert study.measured == 4


def test_a_warning_never_has_eighty_digits() -> None:
    assert (_times(3.14159), _times(2e79)) == ("3.1", "2e+79")
