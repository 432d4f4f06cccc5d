"""How many points to average, into how many parts to split: GPOO's regret on the third function over S and K."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zonal.paper.benefit import search
from zonal.paper.results import Preset, Settings, Table, save, seed
from zonal.paper.runs import Answer, Task, run_all
from zonal.plots import column_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = (1, 10, 20, 30, 40, 50)  # S
PARTS = (2, 3, 4, 5)  # K
BUDGETS = (25, 50)
Floats = NDArray[np.float64]


def run(preset: Preset, s: int, arity: int, budgets: list[int], seed: list[int]) -> Answer:
    """Return the regret at each budget; GPOO does not know its budget, so one run serves all."""
    regret = search(preset, s, max(budgets), seed, arity)["regret"]
    return {"regret": [regret[n - 1] for n in budgets]}


def experiment(settings: Settings) -> Table:
    """Run every pair of S and K, draw and list the regrets."""
    budgets = sorted({min(n, settings.budget) for n in BUDGETS})
    pairs = [(s, k) for s in POINTS for k in PARTS]
    tasks = [
        Task(run, {"preset": settings.preset, "s": s, "arity": k, "budgets": budgets, "seed": seed(settings, i)})
        for s, k in pairs
        for i in range(settings.runs)
    ]
    answers = [answer["regret"] for answer in run_all(tasks, settings.out, settings.jobs, "heatmap")]
    regret = np.array(answers).reshape(len(POINTS), len(PARTS), settings.runs, len(budgets))
    mean = regret.mean(axis=2)
    # f* comes from a grid (fidelity row 15), so that the mean of a few runs may do better: no logarithm then.
    log = np.log(np.where(mean > 0, mean, math.nan))
    error = regret.std(axis=2, ddof=1) / math.sqrt(settings.runs) if settings.runs > 1 else mean * math.nan

    table = Table("heatmap", ["N", "S", "K", "mean regret", "se", "log mean"])
    for j, n in enumerate(budgets):
        for (s, k), *numbers in zip(
            pairs, *(a[:, :, j].ravel().tolist() for a in (mean, error, log)), strict=True
        ):
            table.rows.append([n, s, k, *numbers])
    table.notes.append(
        f"GPOO on f3: mean aggregated regret over {settings.runs} runs, standard error, natural logarithm; "
        "run i has the same noise for every S and K"
    )
    for j, n in enumerate(budgets):
        s, k = pairs[int(np.argmin(mean[:, :, j]))]
        by_k, by_s = mean[:, :, j].mean(axis=0), mean[:, :, j].mean(axis=1)
        table.notes.append(f"N = {n}: lowest at S = {s}, K = {k}")
        table.notes.append(
            f"N = {n}, mean over S: {_listed('K', PARTS, by_k)}; over K: {_listed('S', POINTS, by_s)}"
        )
    table.write(settings)
    with column_width():
        save(_figure(log, budgets, settings), settings, "heatmap")
    return table


def _listed(name: str, values: tuple[int, ...], means: Floats) -> str:
    return ", ".join(f"{name} = {value} {mean:.3f}" for value, mean in zip(values, means, strict=True))


def _figure(log: Floats, budgets: list[int], settings: Settings) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(budgets), 3.2), layout="constrained")
    for j, (ax, n) in enumerate(zip(figure.subplots(1, len(budgets), squeeze=False)[0], budgets, strict=True)):
        _panel(ax, log[:, :, j])
        ax.set_title(f"N = {n}, {settings.runs} runs")
    return figure


def _panel(ax: Axes, log: Floats) -> None:
    image = ax.imshow(log, cmap="cividis", aspect="auto")
    low, high = image.get_clim()
    for (row, column), value in np.ndenumerate(log):
        dark = value < (low + high) / 2  # cividis is lighter the higher the value
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", color="white" if dark else "black")
    ax.set_xticks(range(len(PARTS)), [str(k) for k in PARTS])
    ax.set_yticks(range(len(POINTS)), [str(s) for s in POINTS])
    ax.set(xlabel="children of a node, K", ylabel="points averaged, S")
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label("log of mean aggregated regret (lower is better)")
