"""What measuring brought: the history of a study, with the best region after each trial; regrets of campaigns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal._types import Flags, Floats
from zonal.engine.events import Told
from zonal.plotting.style import (
    ESTIMATE,
    FOUND,
    FUNCTION,
    INK,
    axes_or_new,
    legend_above,
    rim,
    told,
    value_label,
)
from zonal.study.history import all_asked, recommended_after
from zonal.study.summary import is_empty

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.simulation.rehearsal import Rehearsal
    from zonal.study.study import Study

MANY = 200  # measurements, beyond which they are drawn behind the best region
MARGIN = 0.12  # of what is shown, above and below it
MAX_MOMENTS = 40  # at which the best region is computed
WORK = 4e9  # multiplications that this may take: seconds
MARKS = {"failed": "x", "cancelled": "+", "retracted": "1", "set aside": "2", "pending": "|"}


def plot_history(study: Study, ax: Axes | None = None) -> Axes:
    """Plot the measurements of a study in order, and the average of the best region so far.

    There is a dot per measured average and a diamond per measured difference, darker for smaller regions, with its
    standard error if one was told; trials failed and pending are ticks below.

    The line is the posterior mean of the region recommended after each
    measurement, of the nodes of the tree, plus and minus two standard deviations.
    """
    from matplotlib.ticker import MaxNLocator

    ax = axes_or_new(ax, 7.5, 4.0)
    trials, asked = told(study), all_asked(study)
    facts = [(trial.number, trial.value, trial.sem or 0.0, asked[trial.number].node[0]) for trial in trials]
    if facts:
        differs = np.array([trial.minus is not None for trial in trials])
        numbers, values, errors, depth = np.array(facts, dtype=float).T
        _dots(ax, numbers, values, errors, depth, differs)
    _ticks(study, ax)
    if not is_empty(study):
        _best_so_far(study, ax)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("trial")
    ax.set_ylabel(value_label(study))
    legend_above(ax, columns=2)
    return ax


def _dots(ax: Axes, numbers: Floats, values: Floats, errors: Floats, depth: Floats, differs: Flags) -> None:
    """Draw measured averages and differences with their standard errors, coloured by depth."""
    from matplotlib.ticker import MaxNLocator

    if errors.any():
        ax.errorbar(numbers, values, errors, fmt="none", ecolor="#999999", lw=0.8, zorder=1)
    for which, mark, label in ((~differs, "o", "a measured average"), (differs, "D", "a measured difference")):
        if which.any():
            dots = ax.scatter(
                numbers[which], values[which], c=depth[which], cmap="viridis_r",
                vmin=depth.min(), vmax=depth.max(),
                s=float(np.clip(4000 / len(values), 5, 24)), edgecolors=INK, linewidths=0.4, marker=mark,
                zorder=2 if len(values) > MANY else 4, label=label,
            )  # fmt: skip
    bar = ax.figure.colorbar(dots, ax=ax, pad=0.01, fraction=0.04, ticks=MaxNLocator(integer=True))
    bar.set_label("depth in the tree: small regions are dark")


def _ticks(study: Study, ax: Axes) -> None:
    """Draw a tick at the bottom for every trial without a value."""
    for state, mark in MARKS.items():
        x = [trial.number for trial in study.trials if trial.state == state]
        label = state
        if x:
            ax.plot(x, [0.03] * len(x), mark, color=INK, transform=ax.get_xaxis_transform(), label=label)


def _best_so_far(study: Study, ax: Axes) -> None:
    """Draw the average of the recommended region, with its posterior at that time."""
    x, mean, std = best_then(study)
    (line,) = ax.plot(x, mean, color=FOUND, lw=1.8, zorder=3, label="best region so far: estimate")
    rim(line)
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=FOUND, alpha=0.2, lw=0, zorder=1,
                    label="two standard deviations")  # fmt: skip
    _clip(study, ax, mean, std)


def _clip(study: Study, ax: Axes, mean: Floats, std: Floats) -> None:
    """Limit the plot to what was measured and found; the band of the first few measurements may lie beyond it."""
    seen = [(trial.value, trial.sem or 0.0) for trial in told(study)]
    ends = [edge for value, error in seen if value is not None for edge in (value - error, value + error)]
    ends += [*mean, mean[-1] - 2 * std[-1], mean[-1] + 2 * std[-1]]
    low, high = min(ends), max(ends)
    margin = MARGIN * (high - low) or MARGIN * max(abs(high), 1.0)
    bottom, top = ax.get_ylim()
    ax.set_ylim(max(bottom, low - margin), min(top, high + margin))


def best_then(study: Study) -> tuple[Floats, Floats, Floats]:
    """Return trials, and mean and standard deviation of the region recommended after each of them."""
    answers = recommended_after(study.events)
    kept = [(answer.mean, answer.std) for _, answer in answers if answer is not None]
    if answers and len(kept) == len(answers):
        mean, std = np.array(kept).T
        x = np.maximum.accumulate([number for number, _ in answers]).astype(float)
        return (x, mean, std) if x.size > 1 else (np.array([-0.5, 0.5]), mean.repeat(2), std.repeat(2))
    # In memory, or in files made before answers were kept: computed again, which takes long for large trees.
    work = max(len(study.tree) * study.measured**2 * len(study.models), 1)
    number = min(study.measured, int(np.clip(WORK / work, 2, MAX_MOMENTS)))
    x, then = np.array([-0.5, 0.5]), [study, study]
    if study.measured > 1:
        moments = np.unique(np.linspace(1, study.measured, number).round().astype(int))
        told = [event.number for transaction in study.events for event in transaction if isinstance(event, Told)]
        # The last is the present: values may have been corrected or retracted since.
        x, then = np.maximum.accumulate(told)[moments - 1], [*study.snapshot(*moments[:-1].tolist()), study]
        x[-1] = max(told)
    best = [moment.recommend(on_grid=True) for moment in then]
    mean, std = np.array([[answer.mean, answer.std] for answer in best]).T
    return x, mean, std


def plot_regrets(rehearsal: Rehearsal, ax: Axes | None = None) -> Axes:
    """Plot the regret of every campaign of a rehearsal, with mean and standard error; a line per method."""
    ax, names = axes_or_new(ax), list(rehearsal.campaigns)
    for place, (name, campaigns) in enumerate(rehearsal.campaigns.items()):
        colour = ESTIMATE if name.startswith("Zonal") else FUNCTION
        runs = len(campaigns.regrets)
        spread = place + 0.24 * (np.arange(runs) / max(runs - 1, 1) - 0.5)
        ax.scatter(campaigns.regrets, spread, s=12, color=colour, alpha=0.35, lw=0)
        error = 0.0 if np.isnan(campaigns.sem) else campaigns.sem
        ax.errorbar(
            campaigns.mean, place, xerr=error, fmt="o", color=colour, ms=6, capsize=3, mec="white", mew=0.8
        )
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
    ax.set_xlabel("regret: the best average,\nminus that of the region found")
    ax.grid(axis="x", color="#dddddd", lw=0.6)
    ax.set_axisbelow(True)
    return ax
