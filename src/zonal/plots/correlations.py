"""The learned covariance of f at two points."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.arrays import Floats
from zonal.averages.custom import Custom
from zonal.averages.kernels import Along, Kernel, Straight, factors
from zonal.errors import InvalidInput
from zonal.plots.style import ESTIMATE, INK, OTHERS, axes_or_new, axis_label, axis_of, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.reading import Reading

MOST_TICKS = 24


def plot_model(study: Reading, ax: Axes | None = None) -> Axes:
    """Plot the correlation of f at two points, as learned or given, against their distance on each axis.

    The study has a Gaussian belief and a kernel that is not the user's function. There is a line for each
    continuous axis, averaged over all models by weight, with the models themselves as thin lines, and a bar for
    each categorical axis: the correlation of two different symbols (for motifs, of two sequences that differ
    there, about their level).
    """
    space, models = study.space, study.models
    if not models or isinstance(models[0].model.kernel, Custom):
        raise InvalidInput("there is no kernel over axes to draw", study.models, "Print study.model instead.")
    ax = axes_or_new(ax)
    axes = space.axes or [Straight(space.symbolic)] * space.d
    share, sides = np.linspace(0, 1, 200), space.sides()
    weights = np.array([own.weight for own in models])
    bars: dict[str, float] = {}
    curves = 0
    for j, axis in enumerate(axes):
        reach = np.ones(1) if axis.symbolic else share * sides[j]
        each = np.array([_correlation(own.model.kernel, j, axes, reach) for own in models])
        mean = weights @ each / weights.sum()
        if axis.symbolic:
            bars[space.names[j]] = float(mean[0])
            continue
        colour, curves = OTHERS[curves % len(OTHERS)], curves + 1
        if len(models) > 1:
            thin = ax.plot(share, each.T, color=colour, lw=0.6, alpha=0.4)
            thin[0].set_label("single models" if curves == 1 else None)
        ax.plot(share, mean, color=colour, lw=2, label=_extent(space, j))
    if bars:
        _bars(ax, bars, beside=curves > 0)
    if curves:
        ax.set_xlim(0, 1)
        ax.set_xlabel("distance of two places, as a share of the axis")
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("correlation of f")
    noise, unit = study.model.noise, study.value_unit
    if noise is not None:
        shown = f"{noise:.3g} {unit}" if isinstance(noise, float) else f"{noise.std:.3g} {unit} / sqrt(weight)"
        ax.plot([], [], " ", label=f"noise of one measurement {shown}".rstrip())
    legend_above(ax, columns=1 if curves < 3 else 2)
    return ax


def _extent(space: Any, j: int) -> str:
    """Return the name of an axis, and its width in the unit of lengthscales."""
    return f"{axis_label(space, j)}: {space.sides()[j]:.3g} {axis_of(space, j).measured_in or 'wide'}"


def _correlation(kernel: Kernel, j: int, axes: Sequence[Any], reach: Floats) -> Floats:
    """Return the correlation of f at two points that differ on one axis only, by their distance."""
    total = np.zeros(len(reach))
    for term in kernel.terms:
        if axes[j].symbolic:
            total += term.variance - term.variation(axes)[j] / 2
        else:
            factor = factors(term, axes)[j]
            assert isinstance(factor, Along)
            total += term.variance * factor.profile.value(reach / factor.lengthscale)
    return np.asarray(total / kernel.point_variance)


def _bars(ax: Axes, bars: dict[str, float], beside: bool) -> None:
    """Draw the correlations of symbols: as bars, or as levels beside lines."""
    if beside:
        for (name, level), style in zip(bars.items(), itertools.cycle(["--", ":", "-."]), strict=False):
            ax.axhline(level, color=INK, ls=style, lw=1.2, label=f"{name}: two different symbols")
        return
    ax.bar(range(len(bars)), list(bars.values()), color=ESTIMATE, width=0.7, label="two different symbols there")
    every = -(-len(bars) // MOST_TICKS)
    ax.set_xticks(range(0, len(bars), every), [name.removeprefix("position ") for name in bars][::every])
    ax.set_xlabel("position" if next(iter(bars)).startswith("position ") else "axis")
