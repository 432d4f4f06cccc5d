"""Power analysis: how much regret does a budget leave? Whole campaigns are simulated before the first measurement.

It simulates what `maximize` would do, without knowing how that is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from zonal._types import Floats
from zonal.engine.settings import Given, SpaceLike
from zonal.errors import (
    LONGEST_SEED,
    TEXTS,
    InvalidInput,
    check_choice,
    is_listed,
    listed,
    positive_number,
    require,
    standard_deviation,
    truth,
    whole_number,
)
from zonal.io.hints import answering
from zonal.io.result_table import WIDEST, aligned
from zonal.plotting.style import ESTIMATE, INK, axes_or_new
from zonal.simulation.gp_samples import KernelLike, Prior, SearchSpace, model_of
from zonal.simulation.ground_truth import Direction, Landscape
from zonal.simulation.process_pool import run_all
from zonal.simulation.rehearsal import ENOUGH, Limits, StudyPlayer, few_runs, smallest_regions
from zonal.simulation.simulators import Noise
from zonal.spaces import Space, as_space
from zonal.spaces.base import forbidden_rule
from zonal.study.recipe import PRICES
from zonal.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RUNS = 50
SHARES = (8, 4, 2, 1)  # the budget is divided by these
FEWEST = 3  # least number of measurements
SURE = 0.9  # confidence of the interval of the mean regret
MAX_TICKS = 8  # most budgets that are labelled on the axis


@dataclass(frozen=True, eq=False, repr=False)
class Power:
    """Results of simulated campaigns with several budgets. Made by `power`.

    Attributes
    ----------
    space : Box, Product, Sequences, Points or Hierarchy
        The space searched, with a smallest region.
    budgets : tuple of int
        In increasing order; in units of cost where measurements have one.
    regrets : array, shape (runs, budgets)
        True average of the best smallest region minus that of the region found. A row is one function and one
        sequence of noise, the same for all budgets.
    window_regrets : array, shape (runs, budgets), or None
        The same of the region recommended at any position, against the best region of the smallest size anywhere;
        None on drawn functions, which are constant within smallest regions.
    chance : array, shape (runs,)
        The expected regret of a smallest region picked at random (by weight), without any measurement.
    std : float or None
        Prior standard deviation of f where functions are drawn; None on a table.

    Examples
    --------
    >>> import zonal as zn
    >>> expected = zn.power([(0, 1)], [2, 16], noise=0.1, kernel=zn.RBF(1.0, 0.2), runs=4, jobs=1)
    >>> expected.mean.shape
    (2,)
    """

    space: Space
    budgets: tuple[float, ...]
    regrets: Floats
    chance: Floats
    std: float | None
    window_regrets: Floats | None = None

    @property
    def runs(self) -> int:
        """The number of campaigns per budget."""
        return len(self.regrets)

    @property
    def mean(self) -> Floats:
        """The mean regret for each budget."""
        return np.asarray(self.regrets.mean(axis=0))

    @property
    def sem(self) -> Floats:
        """The standard error of each mean."""
        return np.asarray(self.regrets.std(axis=0, ddof=1) / np.sqrt(self.runs))

    @property
    def interval(self) -> Floats:
        """90 % confidence interval of each expected regret, shape (2, budgets), by Student's t."""
        from scipy.special import stdtrit

        reach = self.sem * float(stdtrit(self.runs - 1, (1 + SURE) / 2))
        return np.stack([np.maximum(self.mean - reach, 0.0), self.mean + reach])

    @property
    def relative(self) -> Floats | None:
        """The regrets in standard deviations of f; None on a table."""
        return None if self.std is None else self.regrets / self.std

    def quantile(self, q: float) -> Floats:
        """Return, for each budget, the regret that a share `q` of the campaigns stays below."""
        return np.asarray(np.quantile(self.regrets, q, axis=0))

    def budget_for(self, regret: float) -> float | None:
        """Return the smallest simulated budget whose whole interval is below `regret`, or None."""
        wanted = positive_number(regret, "regret")
        return next((n for n, upper in zip(self.budgets, self.interval[1], strict=True) if upper < wanted), None)

    def table(self) -> str:
        """Return one line per budget; the first is for no measurement, a region picked at random."""
        with_chance = replace(self, regrets=np.column_stack([self.chance, self.regrets]))
        columns: dict[str, Iterable[str | float]] = {
            "cost" if isinstance(self.budgets[0], float) else "measurements": ["none", *self.budgets],
            "mean regret": with_chance.mean,
            f"{SURE:.0%} interval": [f"{low:.3g} .. {high:.3g}" for low, high in with_chance.interval.T],
            "median": np.median(with_chance.regrets, axis=0),
            "90th percentile": with_chance.quantile(0.9),
        }
        if self.window_regrets is not None and not np.array_equal(self.window_regrets, self.regrets):
            columns["off the grid"] = ["", *self.window_regrets.mean(axis=0)]
        if self.std not in (None, 1.0):
            columns["mean in std of f"] = with_chance.mean / self.std
        written = [[name, *map(_written, cells)] for name, cells in columns.items()]
        return "\n".join([*aligned(written, [True] * len(written), WIDEST), *few_runs(self.runs)])

    def __str__(self) -> str:
        """Return the table."""
        return self.table()

    def __repr__(self) -> str:
        """Return the number of runs and the budgets."""
        return f"<Power: {self.runs} runs with {', '.join(f'{budget:g}' for budget in self.budgets)} measurements>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the mean regret against the budget, with its interval and the range of single campaigns.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new figure by default.
        """
        ax = axes_or_new(ax, 6.4, 4.8)
        label = f"10th to 90th percentile of {self.runs} campaigns"
        mean = f"{SURE:.0%} interval of the mean"
        spread = self.quantile(0.1), self.quantile(0.9)
        ax.fill_between(self.budgets, *spread, color=ESTIMATE, alpha=0.15, lw=0, label=label)
        ax.fill_between(self.budgets, *self.interval, color=ESTIMATE, alpha=0.4, lw=0, label=mean)
        ax.vlines(self.budgets, *self.interval, color=ESTIMATE, lw=1.2)
        ax.plot(self.budgets, self.mean, "o-", color=ESTIMATE, mec="white", lw=1.8, label="mean regret")
        ax.axhline(float(self.chance.mean()), color=INK, ls="--", lw=1.2, label="picking at random")
        if self.budgets[-1] > self.budgets[0]:
            ax.set_xscale("log")
        if len(self.budgets) <= MAX_TICKS:
            ax.set_xticks(self.budgets, [f"{budget:g}" for budget in self.budgets])
            ax.set_xticks([], minor=True)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("measurements")
        ax.set_ylabel("regret: the best average,\nminus that of the region found")
        ax.grid(axis="y", color="#dddddd", lw=0.6)
        ax.set_axisbelow(True)
        note = f"only {self.runs} runs: these may be far off" if self.runs < ENOUGH else None
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, title=note)
        return ax


def _written(cell: str | float) -> str:
    return f"{cell:.3g}" if isinstance(cell, np.floating) else cell if isinstance(cell, str) else f"{cell:g}"


@answering(Given)
def power(
    space: SpaceLike,
    budgets: float | Iterable[float],
    *,
    noise: Noise,
    kernel: KernelLike | None = None,
    signal: float | None = None,
    given: bool = False,
    landscape: Landscape | None = None,
    direction: Direction | None = None,
    runs: int = RUNS,
    rng: int = 0,
    jobs: int | None = None,
    progress: bool = False,
    **settings: Any,
) -> Power:
    """Simulate whole campaigns on functions drawn from the model; return the regret that each budget leaves.

    Parameters
    ----------
    space : Box, Product, Sequences, Points or Hierarchy, or bounds for a box
        The space to search. Without a smallest region it is divided as `maximize` would: each of 1, 2, 3 or more
        axes into at least 256, 32, 16 or 8 parts.
    budgets : int, or several
        Number of measurements in a campaign, or their cost. For a single number, an eighth, a quarter and a half
        of it are simulated too.
    noise : float or callable
        Standard deviation of one measurement, or a function of the region.
    kernel : Kernel, optional
        The covariance of f. By default every function has its own kernel, drawn from the priors used in learning.
    signal : float, optional
        Standard deviation of f if no kernel is given; 1 by default.
    given : bool
        Whether the search is given kernel and noise. By default it learns them, as `maximize` does when nothing is
        given; the difference shows the value of knowing them.
    landscape : Landscape, optional
        From a table (`zonal.simulation.from_table`): campaigns are simulated on it instead of on drawn functions.
    direction : {"maximize", "minimize"}, optional
        Whether high or low averages are wanted; by default the landscape's own direction, or high ones.
    runs : int
        Number of functions, at least 2; one campaign with every budget on each.
    rng : int
        Seed of all random numbers: run k has the same function and noise for any budget and number of runs.
    jobs, progress
        Number of processes, one per core by default (results do not depend on it); whether to show a progress bar.
    **settings
        Settings of the search, as for `maximize`: policy, feedback, max_replicates, forbidden (regrets then refer
        to the best region that may be measured); times, overhead, cost and travel, with which noise refers to
        one unit of time and budgets are in units of cost.

    Examples
    --------
    >>> import zonal as zn
    >>> expected = zn.power([(0, 1)], [2, 16], noise=0.1, kernel=zn.RBF(1.0, 0.2), runs=8, jobs=1)
    >>> bool(expected.mean[1] < expected.mean[0] < expected.chance.mean())
    True
    """
    planned = _budgets(budgets, any(settings.get(name) for name in PRICES))
    runs, rng = whole_number(runs, "runs", 2), whole_number(rng, "rng", 0)
    require(rng.bit_length() <= LONGEST_SEED, "rng is too large", rng, "Pass a smaller seed.")
    given, progress = truth(given, "given"), truth(progress, "progress")
    source = _source(as_space(space), kernel, signal, given, landscape, direction)
    if settings.get("forbidden") is not None:
        settings["forbidden"] = forbidden_rule(source.space, settings["forbidden"])  # an iterator is read once
    Study(source.space, budget=planned[0], direction=source.direction, **settings)  # raises before hours pass
    if not callable(noise):
        standard_deviation(noise, "noise")
    task = partial(_regrets, source, planned, noise, given, cast(Given, settings), rng)
    answers = np.array(run_all(task, range(runs), jobs, progress, "run"))
    chance, regrets, off_grid = np.split(answers, [1, 1 + len(planned)], axis=1)
    window_regrets = off_grid if off_grid.size else None
    return Power(source.space, planned, regrets, chance[:, 0], getattr(source, "std", None), window_regrets)


def _budgets(budgets: float | Iterable[float], priced: bool) -> tuple[float, ...]:
    """Return the budgets to simulate, in increasing order."""

    def checked(budget: Any) -> float:
        return positive_number(budget, "a budget") if priced else whole_number(budget, "a budget", 1)

    if is_listed(budgets) and not isinstance(budgets, TEXTS):
        fix = "Pass one number, or several."
        several = sorted({checked(budget) for budget in listed(budgets, "budgets must be numbers", fix)})
        require(several, "there is no budget", budgets, fix)
        return tuple(several)
    most = checked(budgets)
    if priced:
        return tuple(most / share for share in SHARES)
    return tuple(sorted({min(most, max(FEWEST, most // share)) for share in SHARES}))


def _source(
    space: SearchSpace,
    kernel: KernelLike | None,
    signal: float | None,
    given: bool,
    landscape: Landscape | None,
    direction: Direction | None,
) -> Prior | Landscape:
    """Return where functions come from: the model, or a table."""
    check_choice("maximize" if direction is None else direction, "direction", ("maximize", "minimize"))
    if landscape is None:
        return model_of(space, kernel, signal, direction or "maximize")
    if not isinstance(landscape, Landscape):
        raise InvalidInput("landscape must be a landscape", landscape, "Make one by zonal.simulation.from_table.")
    same = landscape.space == space
    require(same, "this landscape belongs to another space", landscape.space, "Pass landscape.space.")
    model = next((argument for argument in (kernel, signal) if argument is not None), given)
    bare = kernel is None and signal is None and not given
    require(bare, "with a landscape no functions are drawn", model, "Leave kernel, signal and given out.")
    problem = f"this landscape has its own direction, {landscape.direction}"
    require(direction in (None, landscape.direction), problem, direction, "Make another.")
    landscape.best()  # raises if there is no smallest region
    return landscape


def _regrets(
    source: Prior | Landscape,
    budgets: tuple[float, ...],
    noise: Noise,
    given: bool,
    settings: Given,
    rng: int,
    run: int,
) -> list[float]:
    """Return the regret of a region picked at random, those with each budget, and against the best window.

    Drawn functions are constant within smallest regions, so that windows can be judged on tables only.
    """
    function, draws, search = np.random.SeedSequence([rng, run]).spawn(3)
    if isinstance(source, Landscape):
        landscape = source
    else:
        kernel, landscape = source.draw(np.random.default_rng(function))
        settings = settings | ({"kernel": kernel, "noise": noise} if given else {})
    method, chance = StudyPlayer(tuple(settings.items())), landscape.regret(landscape.space.cell((0, 0)))
    rule = forbidden_rule(landscape.space, settings.get("forbidden"))
    if rule is not None:
        allowed = Limits(rule).allow(smallest_regions(landscape.space))
        landscape = landscape.among(allowed, rule)
        chance = float(
            np.average(list(map(landscape.regret, allowed)), weights=[region.weight for region in allowed])
        )
    regrets, window_regrets = [chance], []
    for budget in budgets:
        instrument = landscape.simulate(noise, np.random.default_rng(draws), settings.get("feedback"))
        study = method.study(landscape, instrument, budget, np.random.default_rng(search))
        # Negative values are rounding.
        regrets.append(max(0.0, landscape.regret(study.recommend(on_grid=True).region)))
        if isinstance(source, Landscape):
            window_regrets.append(max(0.0, landscape.window_regret(study.recommend().region)))
    return regrets + window_regrets
