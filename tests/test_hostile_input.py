"""Values that once came through to a raw Python error, or lost a part without a word."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.problems import from_table

PAIR = np.array(["maximize", "minimize"])
BOX = zn.Box([(0, 1)])
POINTS = zn.Points([[1.0], [2.0]])
ANY: Any = None

REFUSED: dict[str, Callable[[], Any]] = {
    "a lengthscale too long to be squared": lambda: zn.RBF(1.0, 1e200),
    "one of several lengthscales": lambda: zn.Matern(1.0, (1.0, 1e200)),
    "an array as nu": lambda: zn.Matern(1.0, 1.0, nu=np.array([1.5, 2.5])),  # type: ignore[arg-type]
    "an array as direction": lambda: zn.Study(BOX, budget=3, direction=PAIR),  # type: ignore[arg-type]
    "an array as a table's direction": lambda: from_table(BOX, [1.0, 2.0], direction=PAIR),  # type: ignore[arg-type]
    "an array as direction of a power analysis": lambda: zn.power(BOX, 4, noise=0.1, direction=PAIR),  # type: ignore[arg-type]
    "an array as preset": lambda: zn.reward_function("f1", np.array(["authors", "paper"])),  # type: ignore[arg-type]
    "an array as on_error": lambda: zn.Study(BOX, budget=3).optimize(ANY or float, on_error=PAIR),  # type: ignore[arg-type]
    "a number too large for a float": lambda: from_table(BOX, 10**400),
    "a table of such numbers": lambda: from_table(BOX, [10**400, 1]),
    "a complex table": lambda: from_table(BOX, np.array([1 + 2j, 1])),
    "a complex table of sequences": lambda: from_table(zn.Sequences("AC", 1), np.array([1 + 2j, 1])),
    "a complex table of points": lambda: from_table(POINTS, np.array([1 + 2j, 1])),
    "an array without axes as axis": lambda: zn.Product({"x": np.array(1.0)}),
    "an array without axes as points": lambda: zn.Points(np.array(1.0)),
    "an array without axes as column": lambda: zn.Points({"x": np.array(1.0)}),
    "an array without axes as features": lambda: zn.Hierarchy({"a": ["b", "c"]}, features=np.array(1.0)),
    "an old generator": lambda: zn.Study(BOX, budget=3, rng=np.random.RandomState(0)),  # type: ignore[arg-type]
    "an old generator of noise": lambda: zn.simulate(np.sin, zn.Mean(), rng=np.random.RandomState(0)),  # type: ignore[arg-type]
    "true or false as seed": lambda: zn.Study(BOX, budget=3, rng=True),
    "an arity beyond counting": lambda: zn.Study(zn.Box([(0, 1)], arity=2**70), budget=3, kernel=zn.RBF(1, 1)),
}


@pytest.mark.parametrize("attempt", REFUSED.values(), ids=REFUSED)
def test_it_is_refused_with_a_reason(attempt: Callable[[], Any]) -> None:
    with pytest.raises(zn.InvalidInput, match="; got "):
        attempt()
