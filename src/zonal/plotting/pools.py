"""Sequences: the best pools with their standard deviations, and what each symbol does at each position."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from zonal.errors import require
from zonal.plotting import style
from zonal.spaces import ProductRegion, Sequences
from zonal.study.queries import mean_and_relative_std
from zonal.study.summary import is_empty

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from zonal.study.study import Study

BEST = 20  # pools that are listed
NAMED = 12  # positions, beyond which only every fifth has its number


def plot_pools(
    study: Study, ax: Axes | None = None, cmap: str | None = None, limits: tuple[float, float] | None = None
) -> Axes:
    """Plot the best pools of sequences, and the average of all sequences with each symbol at each position.

    Bars at the left reach one standard deviation up and down; the pool found is green. Colours at the right fade
    where little is known; a frame marks the symbols of the pool found. `cmap` and `limits` are as in `plot_map`.
    """
    fix = "Use plot_tree, or plot()."
    require(isinstance(study.space, Sequences), "pools are regions of Sequences", type(study.space).__name__, fix)
    ax = style.axes_or_new(ax, 9.5, 4.6)
    ax.set_axis_off()
    if not is_empty(study):
        _list_best(study, ax.inset_axes((0.1, 0.1, 0.35, 0.82)))
    by_position = ax.inset_axes((0.55, 0.1, 0.43, 0.82))
    style.colour_bar(study, ax, _draw_symbols(study, by_position, cmap, limits))
    style.legend_above(ax, by_position.get_legend_handles_labels()[0])
    return ax


def _list_best(study: Study, ax: Axes) -> None:
    """List the best pools, the best at the top, with their means and standard deviations."""
    pools = study.recommend(k=BEST, on_grid=True)
    rows, means = np.arange(len(pools)), [pool.mean for pool in pools]
    colours = [style.FOUND, *[style.ESTIMATE] * (len(pools) - 1)]
    for row, pool in enumerate(pools):
        ax.errorbar(pool.mean, row, xerr=pool.std, fmt="none", ecolor=colours[row], elinewidth=1.4)
    ax.scatter(means, rows, c=colours, s=16, zorder=3)
    ax.set_yticks(rows, [pool.region.name for pool in pools], fontsize=style.MIN_FONT, family="monospace")
    ax.set(ylim=(len(pools) - 0.5, -0.5), xlabel=f"mean and std of {style.value_label(study)}")
    ax.set_title(f"the {len(pools)} best pools", fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)


def _draw_symbols(study: Study, ax: Axes, cmap: str | None, limits: tuple[float, float] | None) -> ScalarMappable:
    """Colour each symbol at each position by the posterior mean of all sequences that have it there."""
    space = study.space
    symbols, length = space.alphabet, len(space.axes)
    pools = [
        space.region([[symbol] if at == position else [*symbols] for at in range(length)])
        for symbol in symbols
        for position in range(length)
    ]
    mean, relative_std = mean_and_relative_std(study, pools)
    values = mean.reshape(len(symbols), length)
    shown = ax.imshow(values, aspect="auto", cmap=style.colour_map(study, cmap))
    shown.set(alpha=style.strength(relative_std).reshape(values.shape))
    shown.set_clim(*(style.colour_limits(limits) or shown.get_clim()))
    every = 1 if length <= NAMED else 5
    ax.set_xticks(np.arange(0, length, every), [str(at + 1) for at in range(0, length, every)])
    ax.set_yticks(np.arange(len(symbols)), symbols, family="monospace")
    ax.set(xlabel="position")
    ax.set_title("average of all sequences with this symbol there", fontsize="small")
    if not is_empty(study):
        best = cast(ProductRegion, study.recommend(on_grid=True).region)
        chosen = [[*map(str, part or ())] for part in best.symbols]
        corners = [
            style.box((at - 0.45, at + 0.45), (row - 0.45, row + 0.45))
            for at, kept in enumerate(chosen)
            if len(kept) < len(symbols)
            for row, symbol in enumerate(symbols)
            if symbol in kept
        ]
        frame = ax.add_patch(style.area(corners))
        frame.set(label=style.found_label(study), **style.BEST)
        style.rim(frame, 4.2)
    return shown
