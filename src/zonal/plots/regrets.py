"""Regrets of many campaigns side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal.plots.style import ESTIMATE, FUNCTION, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.campaigns.rehearsal import Rehearsal


def plot_regrets(rehearsal: Rehearsal, ax: Axes | None = None) -> Axes:
    """Plot the regret of every campaign of a rehearsal, with mean and standard error; a line per player."""
    ax, names = axes_or_new(ax), list(rehearsal.campaigns)
    for place, (name, own) in enumerate(rehearsal.campaigns.items()):
        colour = ESTIMATE if name.startswith("Zonal") else FUNCTION
        runs = len(own.regrets)
        spread = place + 0.24 * (np.arange(runs) / max(runs - 1, 1) - 0.5)
        ax.scatter(own.regrets, spread, s=12, color=colour, alpha=0.35, lw=0)
        error = 0.0 if np.isnan(own.sem) else own.sem
        ax.errorbar(own.mean, place, xerr=error, fmt="o", color=colour, ms=6, capsize=3, mec="white", mew=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
    ax.set_xlabel("regret: the best average,\nminus that of the region found")
    ax.grid(axis="x", color="#dddddd", lw=0.6)
    ax.set_axisbelow(True)
    return ax
