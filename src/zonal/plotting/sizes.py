"""The best average against the size of the region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal.io.result_table import labelled
from zonal.plotting import style
from zonal.study.sizes import sizes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.study.study import Study


def plot_sizes(study: Study, ax: Axes | None = None) -> Axes:
    """Plot mean and two standard deviations of the best region of every size, as `Study.sizes` lists them."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax = style.axes_or_new(ax)
    table, unit = study.sizes(), study.settings.value_unit
    mean, std = (np.array(table[labelled(name, unit)], dtype=float) for name in ("mean", "std"))
    axis = next(axis for axis in study.space.axes if axis.name in sizes_of(study)[0])
    width_unit = axis.measured_in or axis.unit
    x = np.array(table[labelled(f"size {axis.name}", width_unit)], dtype=float)
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=style.ESTIMATE, alpha=0.25, lw=0)
    ax.plot(x, mean, "o-", color=style.ESTIMATE, mec="white", label="best region of each size, ± 2 std")
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    others = "" if study.space.d == 1 else ", the other axes in proportion"
    ax.set_xlabel(labelled(f"size along {axis.name}{others}", width_unit))
    ax.set_ylabel(labelled(f"average {study.settings.value_name}", unit))
    ax.legend(frameon=False)
    return ax
