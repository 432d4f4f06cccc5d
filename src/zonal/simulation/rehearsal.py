"""Rehearsal: one budget, spent many times on a known landscape, by Zonal and by simple methods.

The simple methods know the tree and average repeats, but share nothing between regions: they measure every region
of one level, or descend greedily from the top, or measure smallest regions at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from zonal._types import Floats
from zonal.engine.settings import Given
from zonal.errors import positive_number, require, standard_deviation, whole_number
from zonal.io.hints import answering
from zonal.io.result_table import WIDEST, aligned
from zonal.kernels.feedback import Feedback
from zonal.plotting.history import plot_regrets
from zonal.policies.base import numbered
from zonal.policies.baselines import MOST_LEAVES, UCB
from zonal.policies.deltas import SpreadDelta
from zonal.policies.gpoo import GPOO
from zonal.simulation.ground_truth import Landscape
from zonal.simulation.process_pool import run_all
from zonal.simulation.readings import PlainInstrument, as_read
from zonal.simulation.simulators import Instrument, Noise
from zonal.spaces import Node, Region, Space
from zonal.spaces.base import Forbidden, forbidden_rule
from zonal.study.optimize import RunSession
from zonal.study.recipe import PRICES
from zonal.study.run_loop import INTERRUPTED, run_loop
from zonal.study.study import Study
from zonal.study.summary import measurements_left
from zonal.study.worker_id import run_id

if TYPE_CHECKING:
    from matplotlib.axes import Axes

R = TypeVar("R")

RUNS = 30
ENOUGH = 10  # fewer runs say little about a mean
# A method of spending a budget on an instrument: it returns the region to recommend.
Measure = Callable[..., float]  # of a region, and of the time where times are chosen
Player = Callable[[Landscape, Any, Any, np.random.Generator], Region]


@dataclass(frozen=True)
class StudyPlayer:
    """A study; what is not set is learned or chosen by default."""

    settings: tuple[tuple[str, Any], ...] = ()  # arguments of `Study`

    def study(self, landscape: Landscape, instrument: Measure, budget: float, rng: np.random.Generator) -> Study:
        """Return the study after its budget is spent."""
        study = Study(
            landscape.space, budget=budget, rng=rng, direction=landscape.direction, **dict(self.settings)
        )
        with run_id() as run:  # without the summary that `optimize` returns
            if run_loop(RunSession(study, run, take_over=False), instrument) == INTERRUPTED:
                raise KeyboardInterrupt  # half a campaign must not count as one
        return study

    def __call__(
        self, landscape: Landscape, instrument: Measure, budget: float, rng: np.random.Generator
    ) -> Region:
        """Return the region of the tree that the study recommends."""
        return self.study(landscape, instrument, budget, rng).recommend(on_grid=True).region

    def answers(
        self, landscape: Landscape, instrument: Measure, budget: float, rng: np.random.Generator
    ) -> tuple[Region, Region]:
        """Return the regions that the study recommends: of the tree, and at any position."""
        study = self.study(landscape, instrument, budget, rng)
        return study.recommend(on_grid=True).region, study.recommend().region


class Limits(NamedTuple):
    """What a simple method must not measure."""

    forbidden: Callable[[Region], bool] | None = None
    most: float = math.inf  # measurements of one region

    def allow(self, regions: Iterable[Region]) -> list[Region]:
        """Return the regions that may be measured."""
        return [region for region in regions if self.forbidden is None or not self.forbidden(region)]

    def below(self, space: Space, region: Region) -> Iterator[Region]:
        """Yield the children of a region, or their largest parts that may be measured."""
        for child in space.split(region):
            if self.allow([child]):
                yield child
            elif space.may_split(child):
                yield from self.below(space, child)


FREE = Limits()


@dataclass(frozen=True)
class Simple:
    """A simple method with the settings of a campaign: it uses the first of the times, and ignores travel."""

    method: Callable[..., Region]  # a `Player` that also takes `Limits`
    settings: tuple[tuple[str, Any], ...]  # arguments of `Study`

    @property
    def prices(self) -> dict[str, Any]:
        """The settings that give measurements a cost."""
        return {name: value for name, value in self.settings if name in PRICES and value}

    def __call__(
        self, landscape: Landscape, instrument: Measure, budget: float, rng: np.random.Generator
    ) -> Region:
        """Measure as often as the budget pays for."""
        given = dict(self.settings)
        first = next(iter(given.get("times") or (1.0,)))
        prices: dict[str, Any] = {name: given[name] for name in ("cost", "overhead") if name in given}
        prices |= {"times": [first]} if given.get("times") else {}
        n_measurements = int(budget)
        if prices:
            n_measurements = measurements_left(Study(landscape.space, budget=budget, **prices))
        forbidden = forbidden_rule(landscape.space, given.get("forbidden"))
        limits = Limits(forbidden, given.get("max_replicates") or math.inf)
        measure = partial(instrument, time=first) if self.prices else instrument
        return self.method(landscape, measure, max(n_measurements, 1), rng, limits)


def one_level(
    landscape: Landscape, instrument: Measure, budget: int, rng: np.random.Generator, limits: Limits = FREE
) -> Region:
    """Measure every region of the deepest level that the budget covers, and again with what is left."""
    space, depth = landscape.space, 0
    deepest = space.max_depth()
    while depth != deepest and space.partition.leaves(depth + 1) <= budget:
        depth += 1
    while not (cells := limits.allow(cut(space, depth))):
        depth += 1
    values = np.full((math.ceil(budget / len(cells)), len(cells)), math.nan)
    for spent in range(int(min(budget, limits.most * len(cells)))):
        values.flat[spent] = instrument(cells[spent % len(cells)])
    means = [
        float(np.mean(rewards[rewards == rewards])) if rewards[0] == rewards[0] else math.nan
        for rewards in values.T
    ]
    return cells[_best(means, landscape)]


def greedy_descent(
    landscape: Landscape, instrument: Measure, budget: int, rng: np.random.Generator, limits: Limits = FREE
) -> Region:
    """Measure the children of a region, continue with the best of them, and so on, spreading the budget evenly."""
    space, region, left = landscape.space, landscape.space.cell((0, 0)), budget
    deepest = space.max_depth()
    while space.may_split(region):
        children = list(limits.below(space, region))
        if not 0 < len(children) <= left:
            break
        assert region.node is not None
        levels = max(1, (deepest or 10) - region.node[0])
        n_replicates = int(min(max(1, left // (levels * len(children))), limits.most))
        means = [float(np.mean([instrument(child) for _ in range(n_replicates)])) for child in children]
        left -= n_replicates * len(children)
        region = children[_best(means, landscape)]
    return region


def at_random(
    landscape: Landscape, instrument: Measure, budget: int, rng: np.random.Generator, limits: Limits = FREE
) -> Region:
    """Measure as many random smallest regions as the budget covers."""
    space = landscape.space
    deepest = depth_of_smallest(space)
    number = space.partition.leaves(deepest)
    if limits.forbidden:
        cells = limits.allow(cut(space, deepest, rng.permutation(number).tolist()))[:budget]
    else:
        cells = cut(space, deepest, rng.choice(number, min(budget, number), replace=False).tolist())
    return cells[_best([instrument(cell) for cell in cells], landscape)]


def _best(values: Sequence[float], landscape: Landscape) -> int:
    return int(np.nanargmax(values) if landscape.direction == "maximize" else np.nanargmin(values))


def depth_of_smallest(space: Space) -> int:
    """Return the depth of the smallest regions of a space that has them."""
    depth = space.max_depth()
    assert depth is not None
    return depth


def cut(space: Space, depth: int, chosen: Iterable[int] | None = None) -> list[Region]:
    """Return the regions of a depth and the leaves above it, or some of them by number."""
    numbers = range(space.partition.leaves(depth)) if chosen is None else chosen
    return [space.cell(space.partition.leaf(depth, int(number))) for number in numbers]


@dataclass(frozen=True)
class Campaigns:
    """The results of one method."""

    regions: tuple[Region, ...]  # of each run: regions of the tree
    regrets: Floats  # by how much each region is worse than the best smallest region, shape (runs,)
    windows: tuple[Region, ...] = ()  # of each run: recommended at any position, where the method answers so
    window_regrets: Floats | None = None  # by how much each of these is worse than the best window, shape (runs,)

    @property
    def mean(self) -> float:
        """The mean regret."""
        return float(self.regrets.mean())

    @property
    def sem(self) -> float:
        """The standard error of the mean regret; NaN for one run."""
        runs = len(self.regrets)
        return float(self.regrets.std(ddof=1)) / math.sqrt(runs) if runs > 1 else math.nan


@dataclass(frozen=True, repr=False)
class Rehearsal:
    """Campaigns of several methods on one landscape. Made by `rehearse`.

    Attributes
    ----------
    landscape : Landscape
        Where they were simulated; its ``best()`` is the best of the smallest regions that may be measured.
    budget : int or float
        Number of measurements in each, or their cost.
    campaigns : dict of str to Campaigns
        By method: ``regions``, the regions found, and ``regrets``, by how much the best average exceeds theirs,
        an entry per run, with their ``mean`` and ``sem``. Likewise ``windows``, recommended at any position, and
        ``window_regrets``, against the best region of the smallest size anywhere: ``landscape.best_window()``.

    Examples
    --------
    >>> import zonal as zn
    >>> landscape = zn.simulation.from_table(zn.Box([(0, 1)], smallest=1 / 8), [0, 1, 0, 2, 5, 9, 4, 1])
    >>> result = zn.rehearse(landscape, 6, noise=0.5, runs=2, jobs=1)
    >>> result.campaigns["Zonal"].regrets.shape
    (2,)
    """

    landscape: Landscape
    budget: float
    campaigns: dict[str, Campaigns]

    @property
    def runs(self) -> int:
        """The number of campaigns per method."""
        return len(next(iter(self.campaigns.values())).regrets)

    def table(self) -> str:
        """Return mean regrets with standard errors, and how often the best region was found."""
        rows = [("", "mean regret", "std. error", "best found", "off the grid")]
        for name, campaigns in self.campaigns.items():
            exact = int(np.sum(campaigns.regrets <= 1e-9 * max(1.0, abs(self.landscape.best().average))))
            error = (
                "-"
                if len(campaigns.regrets) == 1
                else f"{0.0 if campaigns.sem < 1e-9 * campaigns.mean else campaigns.sem:.2g}"
            )
            windows = campaigns.window_regrets
            off_grid = "-" if windows is None else f"{windows.mean():.4g}"
            how_often = f"{exact:5d} of {len(campaigns.regrets)} runs"
            rows.append((name, f"{campaigns.mean:.4g}", error, how_often, off_grid))
        columns = list(zip(*rows, strict=True))[: 5 if self._off_grid else 4]
        lines = aligned(columns, [False, True, True, False, True][: len(columns)], WIDEST)
        return "\n".join([*lines, *few_runs(self.runs)])

    @property
    def _off_grid(self) -> bool:
        """Whether some region of the smallest size is better than all cells of the tree."""
        judged = any(campaigns.window_regrets is not None for campaigns in self.campaigns.values())
        return judged and self.landscape.best_window().region.node is None

    def __str__(self) -> str:
        """Return the best region there is, and the table."""
        best = self.landscape.best()
        number = self.landscape.space.partition.leaves(depth_of_smallest(self.landscape.space))
        head = f"{number} smallest regions, a budget of {self.budget:g}, {self.runs} runs"
        lines = [head, f"the best is {best.region.name}: {best.average:.6g}"]
        if self._off_grid:
            window = self.landscape.best_window()
            lines.append(f"the best off the grid is {window.region.name}: {window.average:.6g}")
        return "\n".join([*lines, self.table()])

    def __repr__(self) -> str:
        """Return the number of runs, the methods and the budget."""
        return f"<Rehearsal: {self.runs} runs of {len(self.campaigns)} methods with a budget of {self.budget:g}>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the regret of every campaign, with mean and standard error; a line per method.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new figure by default.
        """
        return plot_regrets(self, ax)


def few_runs(runs: int) -> list[str]:
    """Return a line that warns of few runs, if they are few."""
    note = f"Few runs: the means of {runs} campaigns may be far off. Simulate at least {ENOUGH}."
    return [note] if runs < ENOUGH else []


def everybody(space: Space, **settings: Any) -> dict[str, Player]:
    """Return all methods for a space: Zonal by default and with two other policies, and three simple ones.

    The space has a smallest region; the settings are those of Zonal's studies. The first, "Zonal", does what
    `maximize` does with these settings. The other policies are left out if the settings have one; UCB, which
    measures only the smallest regions, also if there are too many.
    """
    given = tuple(settings.items())
    methods: dict[str, Player] = {"Zonal": StudyPlayer(given)}
    deepest = space.max_depth()
    if settings.get("policy") is None:
        if deepest is not None and space.partition.leaves(deepest) <= MOST_LEAVES:
            methods["Zonal, UCB"] = StudyPlayer((*given, ("policy", UCB())))
        optimistic = GPOO(SpreadDelta(), h_max=numbered(space.partition))
        methods["Zonal, GPOO"] = StudyPlayer((*given, ("policy", optimistic)))
    others: dict[str, Any] = {"one level": one_level, "greedy descent": greedy_descent, "random": at_random}
    if any(settings.get(name) for name in (*PRICES, "max_replicates")) or settings.get("forbidden") is not None:
        others = {name: Simple(method, given) for name, method in others.items()}
    return methods | others


@answering(Given)
def rehearse(
    landscape: Landscape,
    budget: float,
    noise: Noise,
    runs: int = RUNS,
    methods: Mapping[str, Player] | None = None,
    rng: int = 0,
    jobs: int | None = None,
    progress: bool = False,
    *,
    given: bool = False,
    below: float | None = None,
    above: float | None = None,
    **settings: Any,
) -> Rehearsal:
    """Simulate a campaign many times on a landscape that is known, by Zonal and by simple methods.

    Parameters
    ----------
    landscape : Landscape
        A space whose true averages are known, from `zonal.simulation.from_table`; with a smallest region.
    budget : int or float
        Number of measurements in one campaign, or their cost.
    noise : float or callable
        Standard deviation of one simulated measurement, or a function of the region (see `PerWeight`).
    runs : int
        Number of campaigns per method; they differ in noise and in the method's random numbers.
    methods : mapping of name to function, optional
        Methods in place of Zonal and three simple ones (`zonal.simulation.rehearsal.everybody`).
    rng : int
        Seed of all random numbers: run k of every method has the same one.
    jobs, progress
        Number of processes, one per core by default (results do not depend on it); whether to show a progress bar.
    given : bool
        Whether the searches are given the noise. By default they learn it.
    below, above : float, optional
        Limits of what the instrument can read: Zonal is told that a reading lies beyond, and the simple methods
        take the limit for the value.
    **settings
        Settings of the searches, as for `Study`: likelihood (readings are counts then, and `noise` is 0), kernel,
        mean, feedback, policy, max_replicates, forbidden, times, overhead, cost, travel. The simple methods heed
        feedback, max_replicates and forbidden, and pay all but travel.

    Examples
    --------
    >>> import zonal as zn
    >>> values = [0, 1, 0, 2, 5, 9, 4, 1, 0, 0, 3, 1, 0, 2, 0, 1]
    >>> landscape = zn.simulation.from_table(zn.Box([(0, 1)], smallest=1 / 16), values)
    >>> result = zn.rehearse(landscape, 12, noise=0.5, max_replicates=2, runs=2, jobs=1)
    >>> sorted(result.campaigns)[:2], result.runs
    (['Zonal', 'Zonal, GPOO'], 2)
    """
    runs, rng = whole_number(runs, "runs", 1), whole_number(rng, "rng", 0)
    require(
        isinstance(landscape, Landscape),
        "landscape must be a landscape",
        landscape,
        "Make one by zonal.simulation.from_table.",
    )
    if not callable(noise):
        standard_deviation(noise, "noise")
    counts = settings.get("likelihood") is not None
    require(not counts or noise == 0, "the noise of counts follows from their rate", noise, "Pass noise=0.")
    settings |= {"noise": noise} if given else {}
    if settings.get("forbidden") is not None:
        settings["forbidden"] = forbidden_rule(landscape.space, settings["forbidden"])  # an iterator is read once
    require(methods is None or not settings, "methods have their own settings", settings, "Leave one of them out.")
    if methods is None:
        Study(
            landscape.space, budget=budget, direction=landscape.direction, **settings
        )  # raises before hours pass
        methods = everybody(landscape.space, **settings)
    require(methods, "there must be at least one method", methods, "Pass at least one method.")
    priced = any(isinstance(method, Simple) and method.prices for method in methods.values())
    budget = positive_number(budget, "budget") if priced else whole_number(budget, "budget", 1)
    reachable = within_reach(landscape, settings.get("forbidden"))
    tasks = [(name, run) for run in range(runs) for name in methods]
    read = partial(as_read, likelihood=settings.get("likelihood"), below=below, above=above)
    task = partial(_answer, reachable, dict(methods), budget, noise, rng, settings.get("feedback"), read=read)
    pairs = run_all(task, tasks, jobs, progress, "campaign")
    both = [[landscape.space.cell(node) if isinstance(node, tuple) else node for node in pair] for pair in pairs]
    campaigns = {}
    for k, name in enumerate(methods):  # the methods take turns
        recommended, windows = (tuple(regions) for regions in zip(*both[k :: len(methods)], strict=True))
        regrets = np.array([reachable.regret(region) for region in recommended])
        against_windows = np.array([max(reachable.window_regret(region), 0.0) for region in windows])
        campaigns[name] = Campaigns(recommended, regrets, windows, against_windows)
    return Rehearsal(reachable, budget, campaigns)


def within_reach(landscape: Landscape, forbidden: Forbidden) -> Landscape:
    """Return a landscape whose best region is the best of those that are not forbidden."""
    landscape.best()  # raises if there is none, or too many regions
    rule = forbidden_rule(landscape.space, forbidden)
    if rule is None:
        return landscape
    return landscape.among(Limits(rule).allow(smallest_regions(landscape.space)), rule)


def smallest_regions(space: Space) -> list[Region]:
    """Return all smallest regions of a space."""
    return cut(space, depth_of_smallest(space))


def _answer(
    landscape: Landscape,
    methods: dict[str, Player],
    budget: float,
    noise: Noise,
    rng: int,
    feedback: Feedback | None,
    task: tuple[str, int],
    read: Callable[[Instrument], Instrument] = as_read,
) -> list[Node | Region]:
    """Return what a method recommends after one campaign, in the tree and anywhere: nodes, as they are smaller."""
    name, run = task
    method = methods[name]
    both = method.answers if isinstance(method, StudyPlayer) else lambda *given: (method(*given),) * 2
    plain = not isinstance(method, StudyPlayer)
    regions = campaign(both, landscape, noise, budget, rng, run, feedback, partial(_reading_as, read, plain))
    return [region if region.node is None else region.node for region in regions]


def _reading_as(read: Callable[[Instrument], Instrument], plain: bool, instrument: Instrument) -> Instrument:
    """Return an instrument as a method sees it: with `plain`, numbers only."""
    seen = read(instrument)
    return PlainInstrument(seen) if plain and seen is not instrument else seen


def campaign(
    method: Callable[..., R],
    landscape: Landscape,
    noise: Noise,
    budget: float,
    rng: int,
    run: int,
    feedback: Feedback | None = None,
    read: Callable[[Instrument], Instrument] = as_read,
) -> R:
    """Let a method spend a budget once; run k has the same seed for every method."""
    seeds = np.random.SeedSequence([rng, run]).spawn(2)
    instrument = read(landscape.simulate(noise, np.random.default_rng(seeds[0]), feedback))
    return method(landscape, instrument, budget, np.random.default_rng(seeds[1]))
