"""How cost grows with distinct regions, trials, nodes and models: CPU seconds, ratios and a picture.

`python -m benchmarks.scale` measures in one process, one after the other, and writes `docs/images/scale.png`;
`make bench` prints the ratios of `rows()` among its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import zonal as zn
from zonal.gp.hyperparameters import fit_posterior
from zonal.gp.kernel_families import ModelSpace, shared_tables
from zonal.gp.model import ModelSpec
from zonal.gp.stats import ObservationStats
from zonal.study.whole_map import whole_grid

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "scale.png"
PLANE = zn.Box([(0, 1)] * 2, smallest=(1 / 512, 1 / 256))
DEPTH = 12  # of the cells that are measured: 4,096 of them
NOISE = 0.1


def seconds(call: Callable[[], object], times: int = 1) -> float:
    """Return the least CPU time of a call."""
    spent = []
    for _ in range(times):
        start = process_time()
        call()
        spent.append(process_time() - start)
    return min(spent)


def readings(number: int) -> list[tuple[zn.Region, float]]:
    """Return noisy averages of distinct cells."""
    rng = np.random.default_rng(0)
    cells = [PLANE.cell((DEPTH, int(index))) for index in rng.permutation(2**DEPTH)[:number]]
    return [(cell, float(np.sin(6 * cell.center).sum() + rng.normal(0, NOISE))) for cell in cells]


def fit_seconds(number: int) -> float:
    """Return the time of weighing models on the means of distinct regions, all of them."""
    cells, values = zip(*readings(number), strict=True)
    feedback, ledger = zn.Mean(), ObservationStats()
    for slot, value in enumerate(values):
        ledger = ledger.append(slot, value, None)
    frame = ModelSpace(PLANE, feedback)
    correlate = frame.correlate(frame.layout.keys(feedback.footprints(list(cells))))
    data, spec = ledger.data(), ModelSpec(None, True, None)
    return seconds(lambda: fit_posterior(data, frame, spec, correlate, None, None, number, frame.models))


def observed(number: int, **given: Any) -> zn.Study:
    """Return a study of so many distinct regions."""
    study = zn.Study(PLANE, budget=100, rng=0, **given)
    study.observe(readings(number))
    return study


def one_by_one(number: int) -> None:
    """Observe distinct regions one after the other: the models are learned many times."""
    study = zn.Study(PLANE, budget=100, rng=0)
    for region, value in readings(number):
        study.observe(region, value)


def campaigns(d: int, runs: int = 6, budget: int = 30) -> None:
    """Play campaigns that are given nothing."""
    for run in range(runs):
        rng = np.random.default_rng(run)
        top = rng.uniform(0.2, 0.8, d)

        def measure(region: zn.Region, top: Any = top, rng: Any = rng) -> float:
            return float(np.exp(-8 * ((region.center - top) ** 2).sum()) + rng.normal(0, NOISE))

        zn.maximize(measure, zn.Box([(0, 1)] * d), budget, rng=run)


def campaigns_shared(d: int) -> None:
    """Play the same with shared tables."""
    with shared_tables():
        campaigns(d)


def rows() -> list[tuple[str, float, str, float | None]]:
    """Return lines of the table of `make bench`: what, how much, its unit, and its bound."""
    small, large = fit_seconds(300), fit_seconds(600)
    at_once, single = seconds(partial(observed, 300)), seconds(partial(one_by_one, 300))
    study = observed(900, kernel=zn.RBF(1.0, 0.15), noise=NOISE)
    cells = list(study.predict().regions[:2000])
    whole, some = seconds(study.predict, 2), seconds(partial(study.predict, cells))
    alone, shared = seconds(partial(campaigns, 1)), seconds(partial(campaigns_shared, 1))
    return [
        ("weighing models on 600 regions against 300", large / small, "x", 8),
        ("300 observations one by one against one call", single / at_once, "x", -3),
        ("131,072 averages at once against 2,000 listed ones", whole / some, "x", 15),
        ("6 campaigns alone against the same sharing tables", alone / shared, "x", None),
    ]


def growth() -> dict[str, tuple[str, list[tuple[int, float]]]]:
    """Return times by what grows: its name, and sizes with CPU seconds."""
    distinct, trials, cells = (100, 300, 1000, 2000), (20, 40, 80, 160), (1 << 10, 1 << 13, 1 << 15, 1 << 17)
    learned = [observed(n) for n in (40, 20, 10)]  # the fewer regions, the more models
    return {
        "distinct regions": ("observe() of all", [(n, seconds(partial(observed, n))) for n in distinct]),
        "trials": ("a campaign", [(n, seconds(partial(campaigns, 1, 1, n))) for n in trials]),
        "cells": ("predict() of all", [(n, map_seconds(n)) for n in cells]),
        "models": (
            "predict() of 131,072 cells",
            sorted((len(study.models), seconds(study.predict, 2)) for study in learned),
        ),
    }


def map_seconds(cells: int) -> float:
    """Return the time of all means and standard deviations of a map after 500 regions."""
    bits = cells.bit_length() - 1
    space = zn.Box([(0, 1)] * 2, smallest=(2.0 ** -((bits + 1) // 2), 2.0 ** -(bits // 2)))
    study = zn.Study(space, budget=9, kernel=zn.RBF(1.0, 0.15), noise=NOISE)
    study.observe([(region.bounds, value) for region, value in readings(500)])
    return seconds(lambda: whole_grid(study._state).predict(), 2)


def main() -> None:
    """Measure, print, and draw."""
    for what, value, unit, _ in rows():
        print(f"{what:58} {value:10.2f} {unit}", flush=True)
    measured = growth()
    for title, points in measured.values():
        print(title, [(size, round(time, 3)) for size, time in points], flush=True)
    draw(measured)


def draw(measured: dict[str, tuple[str, list[tuple[int, float]]]]) -> None:
    """Draw how time grows, one panel for each."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(measured), figsize=(11, 2.8), layout="constrained", sharey=True)
    for panel, (name, (title, points)) in zip(np.ravel(panels), measured.items(), strict=True):
        sizes = sorted({size for size, _ in points})
        panel.loglog(*zip(*points, strict=True), "o-" if len(sizes) == len(points) else "o", color="#0072B2")
        panel.set(xlabel=name, title=title)
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=8)
        panel.set_xticks([], minor=True)
        panel.title.set_fontsize(9)
    np.ravel(panels)[0].set_ylabel("CPU seconds")
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
