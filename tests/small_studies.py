"""A small study with everything given, to ask and tell by hand, and what it must believe."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import oracle
import zonal as zn

Array = NDArray[np.float64]
Node = tuple[int, int]

VARIANCE, LENGTHSCALE, NOISE, S = 0.1, 0.2, 0.1, 3
POLICY = zn.GPOO(delta=zn.GeometricDelta(2, 0.5), h_max=5)


def make_study(space: Any = ((0.0, 1.0),), **changes: Any) -> zn.Study:
    settings: dict[str, Any] = {
        "budget": 60,
        "kernel": zn.RBF(VARIANCE, LENGTHSCALE),
        "noise": NOISE,
        "feedback": zn.Average(S),
        "policy": POLICY,
        "rng": 0,
    }
    return zn.Study(space, **{**settings, **changes})


def wave(region: zn.Region) -> float:
    """Return a value that has a best region and no symmetry."""
    return math.sin(7 * float(region.center.sum())) + 0.3 * float(region.center[0])


def play(study: zn.Study, rounds: int, f: Callable[[zn.Region], float] = wave) -> list[Node]:
    """Ask and tell, and return the nodes asked for."""
    nodes = []
    for _ in range(rounds):
        trial = study.ask()
        study.tell(trial, f(trial.region))
        nodes.append(trial.node)
    return nodes


def table_of(study: zn.Study) -> dict[Node, tuple[float, float]]:
    """Return mean and std of every node."""
    tree = study.tree
    columns = zip(tree.depth, tree.index, tree.mean, tree.std, strict=True)
    return {(int(h), int(i)): (float(mean), float(std)) for h, i, mean, std in columns}


def dense(
    measured: list[tuple[zn.Region, float, float]], wanted: list[zn.Region], mean: float = 0.0
) -> tuple[Array, Array]:
    """Return posterior means and stds from scratch, given regions with their values and noise."""
    return oracle.posterior(
        oracle.rbf(VARIANCE, LENGTHSCALE),
        [oracle.representatives(region.bounds, S) for region, _, _ in measured],
        [value for _, value, _ in measured],
        [sem**2 for _, _, sem in measured],
        [oracle.representatives(region.bounds, S) for region in wanted],
        mean,
    )
