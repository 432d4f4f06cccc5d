"""How many points to average, into how many parts to split: GPOO's regret on the third function over S and K."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.searches import regret_run
from reproduction.sweeps import Plan, Report, columns, standard_error, sweep
from zonal._types import Floats
from zonal.plotting import column_width

POINTS = (1, 10, 20, 30, 40, 50)  # S
PARTS = (2, 3, 4, 5)  # K
BUDGETS = (25, 50)


def regrets(plan: Plan, budgets: list[int], title: str = "heatmap") -> Floats:
    """Run every pair of S and K; return regrets of shape (S, K, runs, budgets).

    GPOO does not depend on its budget, so one run gives all of them.
    """
    pairs = {(s, k): {"s": s, "arity": k} for s in POINTS for k in PARTS}
    problem = {"preset": plan.preset, "function": "f3", "policy": "GPOO", "budget": max(budgets)}
    done = sweep(plan, title, regret_run, pairs, **problem)
    curves = np.array(list(columns(done, "regret").values()))
    return curves[..., np.array(budgets) - 1].reshape(len(POINTS), len(PARTS), plan.runs, len(budgets))


@column_width()
def experiment(plan: Plan) -> Report:
    """Run every pair of S and K, plot and list the regrets."""
    budgets = sorted({min(n, plan.budget) for n in BUDGETS})
    regret = regrets(plan, budgets)
    mean, error = regret.mean(axis=2), standard_error(np.moveaxis(regret, 2, 0))
    # f* comes from a grid (fidelity row 15), so the mean of a few runs may be negative: then there is no
    # logarithm.
    log = np.log(np.where(mean > 0, mean, np.nan))
    report = Report("heatmap", ["N", "S", "K", "mean regret", "se", "log mean"])
    report.notes.append(
        f"GPOO on f3: mean aggregated regret over {plan.runs} runs, standard error, natural logarithm; "
        "run i has the same noise for every S and K"
    )
    pairs = [(s, k) for s in POINTS for k in PARTS]
    for j, n in enumerate(budgets):
        numbers = np.stack([mean[..., j], error[..., j], log[..., j]], axis=-1).reshape(-1, 3).tolist()
        report.rows += [[n, *pair, *three] for pair, three in zip(pairs, numbers, strict=True)]
        s, k = pairs[int(np.argmin(mean[..., j]))]
        by_k, by_s = mean[..., j].mean(axis=0), mean[..., j].mean(axis=1)
        report.notes.append(f"N = {n}: lowest at S = {s}, K = {k}")
        report.notes.append(
            f"N = {n}, mean over S: {_listed('K', PARTS, by_k)}; over K: {_listed('S', POINTS, by_s)}"
        )
    return report.publish(plan, _figure(log, budgets, plan))


def _listed(name: str, values: tuple[int, ...], means: Floats) -> str:
    return ", ".join(f"{name} = {value} {mean:.3f}" for value, mean in zip(values, means, strict=True))


def _figure(log: Floats, budgets: list[int], plan: Plan) -> Figure:
    figure = Figure(figsize=(3.4 * len(budgets), 3.2), layout="constrained")
    for j, (ax, n) in enumerate(zip(figure.subplots(1, len(budgets), squeeze=False)[0], budgets, strict=True)):
        _panel(ax, log[:, :, j])
        ax.set_title(f"N = {n}, {plan.runs} runs")
    return figure


def _panel(ax: Axes, log: Floats) -> None:
    image = ax.imshow(log, cmap="viridis", aspect="auto")
    low, high = image.get_clim()
    for (i, j), value in np.ndenumerate(log):
        dark = value < low + 0.45 * (high - low)  # viridis is lighter the higher the value
        ax.text(j, i, f"{value:.2f}", ha="center", va="center", color="white" if dark else "black")
    ax.set_xticks(range(len(PARTS)), [str(k) for k in PARTS])
    ax.set_yticks(range(len(POINTS)), [str(s) for s in POINTS])
    ax.set(xlabel="children of a node, K", ylabel="points averaged, S")
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label("log of mean aggregated regret (lower is better)")
