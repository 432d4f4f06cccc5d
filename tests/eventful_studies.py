"""Studies to which all kinds of things have happened, and how to compare two of them."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import zonal as zn
from zonal.policies.base import Policy

POLICIES: dict[str, Callable[[], Policy | None]] = {
    "default": lambda: None,
    "GPOO": lambda: zn.GPOO(zn.GeometricDelta(2.0, 0.6), h_max=5),
    "StoOO": lambda: zn.StoOO(zn.GeometricDelta(1.0, 0.6), h_max=5),
    "GPTree": lambda: zn.GPTree(h_max=4),
    "UCB": lambda: zn.UCB(level=2),
    "Random": lambda: zn.Random(level=2),
    "Thompson": lambda: zn.Thompson(level=2),
    "UniformGrid": lambda: zn.UniformGrid(level=2),
    "Above": lambda: zn.Above(0.3),
}
PRICES: dict[str, Any] = {"budget": 90.0, "times": [1, 2, 4], "overhead": 0.5, "travel": 2.0, "cost_unit": "s"}


def value(node: tuple[int, int]) -> float:
    """Return something that depends on the node alone."""
    return float(np.sin(2.1 * node[0] + 1.3 * node[1]))


def lived(study: zn.Study, rounds: int = 9) -> zn.Study:
    """Return the study after all kinds of things have happened to it."""
    empirical = isinstance(study.settings.policy, zn.StoOO)
    held: list[zn.Trial] = []
    for number in range(rounds):
        held.append(study.ask())
        if number % 3 != 1:
            trial = held.pop(0)
            spent = 1.5 if study.settings.times and number == 3 else None
            study.tell(trial, value(trial.node), sem=0.2 if number == 4 else None, note="as told", time=spent)
    study.fail(study.ask())
    study.cancel(study.ask())
    study.fail(study.ask(), retry=False)
    lost = study.ask()
    study.fail(lost, retry=False)
    study.allow(lost.region)
    if not empirical:
        study.observe(study.space.cell((1, 0)), 0.3)
        study.observe(study.space.cell((1, 0)), 0.2, sem=0.5)
    study.extend(2)
    study.refit()
    study.tell(held.pop(), 0.25)
    return study


def mended(study: zn.Study) -> zn.Study:
    """Return the study after some of what was told and observed has been corrected, and some retracted."""
    first, second, third, *_ = (trial for trial in study.trials if trial.state == "measured")
    study.correct(second, 0.3, note="a typo", by="Anna")
    for seen in study.observations[:1]:
        study.correct(seen, 0.35, by="Ben")
    study.correct(first, value(first.node) / 2, sem=0.3, by="Anna")
    study.retract(third, "spilled", by="Anna")
    for seen in study.observations[1:2]:
        study.retract(seen, by="Ben")
    return study


def digest(study: zn.Study) -> dict[str, Any]:
    """Return all that can be told from outside."""
    table = study.tree
    told = {name: column.tobytes() for name, column in vars(table).items()}
    return told | {
        "events": len(study.events),
        "trials": repr([(trial, trial.time, trial.cost) for trial in study.trials]),
        "observed": repr(study.observations),
        "budget": (study.budget, study.measured, study.remaining),
        "rewards": repr(study._state.ledger),
        "draw": study._state.next_stream(),
    }


def close(again: zn.Study, study: zn.Study) -> None:
    """Check that a study built at once is the same to within rounding, and goes on in the same way."""
    one, two = again.tree, study.tree
    for name in ("depth", "index", "parent", "count", "expanded", "askable"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    known = np.isfinite(two.std)
    scale = 10.0 if isinstance(study.settings.policy, zn.StoOO) else float(two.std.max())
    np.testing.assert_allclose(one.mean, two.mean, rtol=0, atol=1e-10 * scale + 1e-10)
    np.testing.assert_allclose(one.std[known] ** 2, two.std[known] ** 2, rtol=0, atol=1e-10 * scale**2 + 1e-10)
    assert again.trials == study.trials
    assert copy.deepcopy(again).ask() == copy.deepcopy(study).ask()
