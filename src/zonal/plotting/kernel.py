"""The learned covariance of f at two points."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zonal._types import Floats
from zonal.errors import require
from zonal.kernels.base import Kernel, KernelAxis, PlainAxis, StationaryFactor, factors
from zonal.kernels.callable import Custom
from zonal.kernels.nugget import Nugget
from zonal.plotting.style import ESTIMATE, INK, OTHERS, axes_or_new, axis_of, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.study.study import Study

LineStyle = str | tuple[float, tuple[float, ...]]  # of matplotlib: a name, or an offset and a pattern of dashes

MAX_TICKS = 24
# Styles, so that no line hides another.
LINES: tuple[LineStyle, ...] = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (5, 1.5, 1, 1.5)))


def plot_model(study: Study, ax: Axes | None = None) -> Axes:
    """Plot the correlation of f at two points, as learned or given, against their distance on each axis.

    The study has a Gaussian belief and a kernel that is not the user's function. There is a line for each
    continuous axis, averaged over all models by weight, with the models themselves as thin lines, and a bar for
    each categorical axis: the correlation of two different symbols (for motifs, of two sequences that differ
    there, about their level).
    """
    space, models = study.space, study.models
    fits = models and not isinstance(models[0].model.kernel, Custom)
    require(fits, "there is no kernel over axes to draw", models, "Print study.model instead.")
    ax = axes_or_new(ax)
    lines, symbols = space.continuous_axes, [j for j in range(space.d) if j not in space.continuous_axes]
    styles = itertools.cycle(LINES)
    for j, colour in zip(lines, itertools.cycle(OTHERS), strict=False):
        _curve(study, ax, j, colour, next(styles))
    if lines and len(models) > 1:
        ax.plot([], [], color="#777777", lw=0.6, label="single models, in the colour of their axis")
    if symbols:
        bars = {space.names[j]: float(_correlations(study, j, np.ones(1))[1][0]) for j in symbols}
        _bars(ax, bars, beside=bool(lines))
    if lines:
        ax.set_xlim(0, 1)
        ax.set_xlabel("distance of two places, as a share of the axis")
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("correlation of f")
    _say_noise(study, ax)
    legend_above(ax, columns=1 if len(lines) < 3 else 2)
    return ax


def _curve(study: Study, ax: Axes, j: int, colour: str, line: LineStyle) -> None:
    """Draw the correlation along a continuous axis, and that of each model."""
    space, share = study.space, np.linspace(0, 1, 200)
    wide = space.sides()[j]
    by_model, mean = _correlations(study, j, share * wide)
    if len(by_model) > 1:
        ax.plot(share, by_model.T, color=colour, lw=0.6, alpha=0.4)
    axis = axis_of(space, j)
    size = f"{wide:.3g} {axis.measured_in or axis.unit}".rstrip()
    ax.plot(share, mean, color=colour, lw=2, ls=line, label=f"{axis.name}, {size} wide")


def _say_noise(study: Study, ax: Axes) -> None:
    """Add the noise to the legend, if it is known."""
    model = study.model
    if model.noise is not None:
        shown = model.noise_text(study.settings.value_unit)
        ax.plot([], [], " ", label=f"noise of one measurement {shown}")


def _correlations(study: Study, j: int, reach: Floats) -> tuple[Floats, Floats]:
    """Return the correlation by distance on one axis: of each model, and on average by weight."""
    space, weights = study.space, np.array([weighted.weight for weighted in study.models])
    axes = space.axes or [PlainAxis(space.is_categorical)] * space.d
    by_model = np.array([_correlation(weighted.model.kernel, j, axes, reach) for weighted in study.models])
    return by_model, weights @ by_model / weights.sum()


def _correlation(kernel: Kernel, j: int, axes: Sequence[KernelAxis], reach: Floats) -> Floats:
    """Return the correlation of f at two points that differ on one axis only, by their distance."""
    total = np.zeros(len(reach))
    for term in kernel.terms:
        if isinstance(term, Nugget):  # of no distance above 0
            continue
        if axes[j].is_categorical:
            total += term.variance - term.variation(axes)[j] / 2
        else:
            factor = factors(term, axes)[j]
            assert isinstance(factor, StationaryFactor)
            total += term.variance * factor.profile.value(reach / factor.lengthscale)
    return np.asarray(total / kernel.point_variance)


def _bars(ax: Axes, bars: dict[str, float], beside: bool) -> None:
    """Draw the correlations of symbols: as bars, or as levels beside lines."""
    if beside:
        for (name, level), style in zip(bars.items(), itertools.cycle(["--", ":", "-."]), strict=False):
            ax.axhline(level, color=INK, ls=style, lw=1.2, label=f"{name}: two different symbols")
        return
    label = "correlation of two different symbols"
    ax.bar(range(len(bars)), list(bars.values()), color=ESTIMATE, width=0.7, label=label)
    every = -(-len(bars) // MAX_TICKS)
    ax.set_xticks(range(0, len(bars), every), [name.removeprefix("position ") for name in bars][::every])
    ax.set_xlabel("position" if next(iter(bars)).startswith("position ") else "axis")
