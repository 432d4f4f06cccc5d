"""What half the beam, half the noise or twice the size would buy: campaigns with other settings, compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.errors import InvalidInput, listed, positive_number, reject, require, standard_deviation
from zonal.io.result_table import WIDEST, aligned
from zonal.kernels.feedback import Beam, Feedback
from zonal.plotting.style import INK, OTHERS, axes_or_new
from zonal.simulation.power import Power, power
from zonal.spaces import AxisSpace, ContinuousAxis, as_space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COMPARED = ("noise", "feedback", "beam", "size")
MAX_CASES = 24


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Results of simulated campaigns with several settings. Made by `compare_power`.

    Attributes
    ----------
    cases : dict of str to Power
        By what was set: ``"noise 0.1, beam 4"``.
    """

    cases: dict[str, Power]

    def table(self) -> str:
        """Return one line per case: the mean regret with each budget, and its standard error."""
        budgets = next(iter(self.cases.values())).budgets
        rows = [["", *(f"regret with {budget:g}" for budget in budgets)]]
        for name, case in self.cases.items():
            pairs = zip(case.mean.tolist(), case.sem.tolist(), strict=True)
            rows.append([name, *(f"{mean:.3g} +- {sem:.2g}" for mean, sem in pairs)])
        columns = [list(column) for column in zip(*rows, strict=True)]
        return "\n".join(aligned(columns, [False] + [True] * len(budgets), WIDEST))

    def __str__(self) -> str:
        """Return the table."""
        return self.table()

    def __repr__(self) -> str:
        """Return what was compared."""
        return f"<Comparison: {'; '.join(self.cases)}>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the mean regret against the budget, with two standard errors; a line per case.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new figure by default.
        """
        ax = axes_or_new(ax, 6.4, 4.8)
        for k, (name, case) in enumerate(self.cases.items()):
            colour = OTHERS[k % len(OTHERS)]
            style = ("-", "--", ":", "-.")[k // len(OTHERS) % 4]
            ax.errorbar(case.budgets, case.mean, 2 * case.sem, ls=style, marker="o", color=colour, label=name)
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        ax.set_xlabel("measurements", color=INK)
        ax.set_ylabel("regret: the best average,\nminus that of the region found")
        ax.legend(frameon=False)
        return ax


def compare_power(
    space: Any, budgets: Any, *, compare: Mapping[str, Iterable[Any]], noise: Any = None, **settings: Any
) -> Comparison:
    """Simulate campaigns with several settings, every combination of them; return the regrets side by side.

    Parameters
    ----------
    space, budgets, **settings
        As for `zonal.power`; runs with the same number have the same random numbers in every case.
    compare : mapping of {"noise", "feedback", "beam", "size"} to values
        Noises; feedbacks; widths of a `Beam`, as its ``fwhm``; sizes of the smallest region, as multiples of the
        space's own.
    noise : float, optional
        Of one measurement, where noises are not compared.

    Examples
    --------
    >>> import zonal as zn
    >>> from zonal.simulation.comparison import compare_power
    >>> space = zn.Box([(0, 1)], smallest=1 / 16)
    >>> found = compare_power(space, [8], compare={"noise": [0.1, 1.0]}, kernel=zn.RBF(1, 0.2), runs=4, jobs=1)
    >>> list(found.cases)
    ['noise 0.1', 'noise 1']
    """
    problem, fix = "these settings cannot be compared", f"Choose from {', '.join(COMPARED)}."
    require(isinstance(compare, Mapping) and compare, problem, compare, fix)
    reject((name for name in compare if name not in COMPARED), problem, fix)
    require(not {"feedback", "beam"} <= compare.keys(), problem, list(compare), "Compare feedbacks or beams.")
    values = {name: listed(given, f"{name} must be several values", fix) for name, given in compare.items()}
    number = int(np.prod([len(given) for given in values.values()]))
    require(0 < number <= MAX_CASES, f"at most {MAX_CASES} combinations are compared", number, "Compare fewer.")
    space, cases = as_space(space), {}
    for combination in product(*values.values()):
        case = dict(zip(values, combination, strict=True))
        name = ", ".join(_named(what, value) for what, value in case.items())
        with_size = _resized(space, case.get("size", 1.0))
        given = settings | {"noise": case.get("noise", noise)}
        if "feedback" in case or "beam" in case:
            given["feedback"] = case["feedback"] if "feedback" in case else Beam(case["beam"])
        standard_deviation(given["noise"], "noise")
        cases[name] = power(with_size, budgets, **given)
    return Comparison(cases)


def _named(what: str, value: Any) -> str:
    if isinstance(value, Feedback):
        return repr(value)
    return f"{what} {value:g}" if isinstance(value, int | float) else f"{what} {value}"


def _resized(space: Any, factor: Any) -> Any:
    """Return a space whose smallest region is some times as large along every continuous axis."""
    times = positive_number(factor, "a size")
    if times == 1:
        return space
    if not isinstance(space, AxisSpace) or not space.continuous_axes:
        raise InvalidInput("only a space with continuous axes has other sizes", times, "Compare noises.")
    space = space.with_smallest()
    pieces = space.partition.pieces(space.max_depth() or 0)
    axes = tuple(
        axis.with_smallest(min(axis.width(parts) * times, axis.side)).nearest(space.arity)
        if isinstance(axis, ContinuousAxis)
        else axis
        for axis, parts in zip(space.axes, pieces, strict=True)
    )
    return space.with_axes(axes)
