"""Spaces whose smallest regions are a grid, and short campaigns on them."""

from __future__ import annotations

from typing import Any

import numpy as np

import zonal as zn

SPACES: dict[str, tuple[Any, Any]] = {
    "line": (zn.Box([(0, 1)], smallest=1 / 32), zn.RBF(1.0, 0.2)),
    "plane": (zn.Box([(0, 1), (0, 2)], smallest=(1 / 8, 1 / 4)), zn.Matern(1.0, 0.3, nu=1.5)),
    "sum": (zn.Box([(0, 1)] * 2, smallest=1 / 8), zn.RBF(1.0, 0.5) + zn.Matern(0.3, 0.1, nu=0.5)),
    "cube": (zn.Box([(0, 1)] * 3, smallest=1 / 4), zn.RBF(1.0, 0.4)),
    "ring": (zn.Box({"l": (0, 360), "b": (-1, 1)}, periodic=["l"], smallest=(45, 0.5)), zn.RBF(1.0, (60, 0.5))),
    "dyes": (zn.Product({"x": (0, 1), "dye": ["red", "green", "blue"]}).with_smallest(), None),
    "uneven": (zn.Box([(1, 12)], scale="integer"), None),
    "pools": (zn.Sequences("ACGT", 4), zn.Categorical(1.0, 0.4)),
}


def measured(kind: str, **settings: Any) -> zn.Study:
    """Return a study that has spent its budget."""
    space, kernel = SPACES[kind]
    study = zn.Study(space, budget=14, kernel=kernel, rng=2, **settings)
    rng = np.random.default_rng(5)
    while study.remaining:
        trial = study.ask()
        study.tell(trial, float(len(trial.region.name) % 3 + rng.normal(0, 0.3)))
    return study
