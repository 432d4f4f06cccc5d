"""Rehearsal: one budget, spent many times on a known landscape, by Zonal and by simple methods.

The simple methods know the tree and average repeats, but share nothing between regions: they measure every region
of one level, or descend greedily from the top, or measure smallest regions at random.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from zonal.arrays import Floats
from zonal.driving.run import INTERRUPTED
from zonal.driving.workers import played
from zonal.errors import InvalidInput, need, positive_number, whole_number
from zonal.policies.baselines import MOST_LEAVES, UCB
from zonal.policies.optimistic import GPOO
from zonal.policies.rules import numbered
from zonal.problems.instruments import Noise
from zonal.problems.landscapes import Direction, Landscape, from_table
from zonal.recipe import PRICES, members, positive
from zonal.spaces import Node, Region, Sequences
from zonal.study import Study
from zonal.tables import Table
from zonal.tables.listings import WIDEST, aligned
from zonal.theory import SpreadDelta

R = TypeVar("R")
# A method of spending a budget on an instrument: it returns the region to recommend.
Player = Callable[[Landscape, Any, Any, np.random.Generator], Region]


@dataclass(frozen=True)
class Zonal:
    """A study; what is not set is learned or chosen by default."""

    settings: tuple[tuple[str, Any], ...] = ()  # arguments of `Study`

    def study(self, landscape: Landscape, instrument: Any, budget: Any, rng: np.random.Generator) -> Study:
        """Return the study after its budget is spent."""
        study = Study(
            landscape.space, budget=budget, rng=rng, direction=landscape.direction, **dict(self.settings)
        )
        if study.optimize(instrument).message.startswith(INTERRUPTED):
            raise KeyboardInterrupt  # half a campaign must not count as one
        return study

    def __call__(self, landscape: Landscape, instrument: Any, budget: Any, rng: np.random.Generator) -> Region:
        """Return the region that the study recommends."""
        return self.study(landscape, instrument, budget, rng).found


@dataclass(frozen=True)
class Looks:
    """A simple method where looks have a cost: it uses the first of the times, and ignores travel."""

    player: Player
    settings: tuple[tuple[str, Any], ...]  # arguments of `Study`, for what looks cost

    def __call__(self, landscape: Landscape, instrument: Any, budget: float, rng: np.random.Generator) -> Region:
        """Measure as often as the budget pays for."""
        given = dict(self.settings)
        first = next(iter(given.get("times") or (1.0,)))
        prices: dict[str, Any] = {name: given[name] for name in ("cost", "overhead") if name in given}
        prices |= {"times": [first]} if given.get("times") else {}
        looks = Study(landscape.space, budget=budget, **prices)._looks_left if prices else int(budget)
        return self.player(landscape, partial(instrument, time=first), max(looks, 1), rng)


def one_level(landscape: Landscape, instrument: Any, budget: Any, rng: np.random.Generator) -> Region:
    """Measure every region of the deepest level that the budget covers, and again with what is left."""
    space, depth = landscape.space, 0
    deepest = space.deepest()
    while depth != deepest and space.leaves(depth + 1) <= budget:
        depth += 1
    cells = cut(space, depth)
    values = np.full((math.ceil(budget / len(cells)), len(cells)), math.nan)
    for spent in range(budget):
        values.flat[spent] = instrument(cells[spent % len(cells)])
    return cells[_best([float(np.mean(own[own == own])) for own in values.T], landscape)]


def greedy_descent(landscape: Landscape, instrument: Any, budget: Any, rng: np.random.Generator) -> Region:
    """Measure the children of a region, continue with the best of them, and so on, spreading the budget evenly."""
    space, region, left = landscape.space, landscape.space.cell((0, 0)), budget
    deepest = space.deepest()
    while space.may_split(region):
        children = space.split(region)
        if left < len(children):
            break
        levels = max(1, (deepest or 10) - region.node[0])
        looks = max(1, left // (levels * len(children)))
        means = [float(np.mean([instrument(child) for _ in range(looks)])) for child in children]
        left -= looks * len(children)
        region = children[_best(means, landscape)]
    return region  # type: ignore[no-any-return]


def at_random(landscape: Landscape, instrument: Any, budget: Any, rng: np.random.Generator) -> Region:
    """Measure as many random smallest regions as the budget covers."""
    space = landscape.space
    deepest = space.deepest()
    number = space.leaves(deepest)
    cells = cut(space, deepest, rng.choice(number, min(budget, number), replace=False).tolist())
    return cells[_best([instrument(cell) for cell in cells], landscape)]


def _best(values: Sequence[float], landscape: Landscape) -> int:
    return int(np.nanargmax(values) if landscape.direction == "maximize" else np.nanargmin(values))


def cut(space: Any, depth: int, chosen: Iterable[int] | None = None) -> list[Region]:
    """Return the regions of a depth and the leaves above it, or some of them by number."""
    numbers = range(space.leaves(depth)) if chosen is None else chosen
    return [space.cell(space.leaf(depth, int(number))) for number in numbers]


@dataclass(frozen=True)
class Campaigns:
    """The results of one player."""

    regions: tuple[Region, ...]  # of each run
    regrets: Floats  # by how much each region is worse than the best smallest region, shape (runs,)

    @property
    def mean(self) -> float:
        """The mean regret."""
        return float(self.regrets.mean())

    @property
    def sem(self) -> float:
        """The standard error of the mean regret; NaN for one run."""
        runs = len(self.regrets)
        return float(self.regrets.std(ddof=1)) / math.sqrt(runs) if runs > 1 else math.nan


@dataclass(frozen=True)
class Rehearsal:
    """Campaigns of several players on one landscape."""

    landscape: Landscape
    budget: float
    campaigns: dict[str, Campaigns]

    def table(self) -> str:
        """Return mean regrets with standard errors, and how often the best region was found."""
        rows = [("", "mean regret", "std. error", "best found")]
        for name, own in self.campaigns.items():
            exact = int(np.sum(own.regrets <= 1e-9 * max(1.0, abs(self.landscape.best().average))))
            error = "-" if len(own.regrets) == 1 else f"{0.0 if own.sem < 1e-9 * own.mean else own.sem:.2g}"
            rows.append((name, f"{own.mean:.4g}", error, f"{exact:5d} of {len(own.regrets)} runs"))
        return "\n".join(aligned(list(zip(*rows, strict=True)), [False, True, True, False], WIDEST))


def everybody(space: Any, **settings: Any) -> dict[str, Player]:
    """Return all players for a space: Zonal by default and with two other policies, and three simple methods.

    The space has a smallest region; the settings are those of Zonal's studies. The first, "Zonal", does what
    `maximize` does by default. UCB measures only the smallest regions; it is left out if there are too many.
    """
    given = tuple(settings.items())
    players: dict[str, Player] = {"Zonal": Zonal(given)}
    deepest = space.deepest()
    if deepest is not None and space.leaves(deepest) <= MOST_LEAVES:
        players["Zonal, UCB"] = Zonal((("policy", UCB()), *given))
    players["Zonal, GPOO"] = Zonal((("policy", GPOO(SpreadDelta(), h_max=numbered(space))), *given))
    others: dict[str, Player] = {"one level": one_level, "greedy descent": greedy_descent, "random": at_random}
    if any(settings.get(name) for name in PRICES):
        others = {name: Looks(player, given) for name, player in others.items()}
    return players | others


def rehearse(
    landscape: Landscape,
    budget: float,
    noise: Noise,
    runs: int = 30,
    players: Mapping[str, Player] | None = None,
    rng: int = 0,
    jobs: int | None = None,
    progress: bool = False,
) -> Rehearsal:
    """Simulate a campaign many times.

    Parameters
    ----------
    landscape : Landscape
        A landscape whose true averages are known.
    budget : int or float
        Number of measurements in one campaign; their cost, if the players are from `everybody` with costs.
    runs : int
        Number of campaigns per player; they differ in noise and in the player's random numbers.
    players : mapping of name to Player, optional
        `everybody` by default.
    noise, rng, jobs, progress
        As for `zonal.power`; run k of every player has the same seed.
    """
    runs, rng = whole_number(runs, "runs", 1), whole_number(rng, "rng", 0)
    players = everybody(landscape.space) if players is None else players
    priced = any(isinstance(player, Looks) for player in players.values())
    budget = positive_number(budget, "budget") if priced else whole_number(budget, "budget", 1)
    need(players, "there must be at least one player", players, "Pass at least one player.")
    landscape.best()  # raises before hours are spent
    tasks = [(name, run) for run in range(runs) for name in players]
    play = partial(_answer, landscape, dict(players), budget, noise, rng)
    answers = played(play, tasks, jobs, progress, "campaign")
    regions = [landscape.space.cell(own) if isinstance(own, tuple) else own for own in answers]
    campaigns = {}
    for k, name in enumerate(players):  # the players take turns
        own = tuple(regions[k :: len(players)])
        campaigns[name] = Campaigns(own, np.array([landscape.regret(region) for region in own]))
    return Rehearsal(landscape, budget, campaigns)


def _answer(
    landscape: Landscape, players: dict[str, Player], budget: float, noise: Noise, rng: int, task: tuple[str, int]
) -> Node | Region:
    """Return what a player recommends after one campaign: its node if it has one, which is smaller to send."""
    name, run = task
    found = campaign(players[name], landscape, noise, budget, rng, run)
    return found if found.node is None else found.node


def campaign(player: Callable[..., R], landscape: Landscape, noise: Noise, budget: float, rng: int, run: int) -> R:
    """Let a player spend a budget once; run k has the same seed for every player."""
    seeds = np.random.SeedSequence([rng, run]).spawn(2)
    instrument = landscape.simulate(noise, np.random.default_rng(seeds[0]))
    return player(landscape, instrument, budget, np.random.default_rng(seeds[1]))


def landscape_of(
    table: Table,
    value: str,
    *,
    coords: Sequence[str] = (),
    levels: Sequence[str] = (),
    sequence: str | None = None,
    weight: str | None = None,
    smallest: float | None = None,
    direction: Direction = "maximize",
) -> Landscape:
    """Return the landscape of a table's column of values.

    The space is given by coords, levels and weight as for `members`, or by a column of sequences, all possible
    ones of one length. `smallest` is the smallest weight of a region; for sequences, the fewest in a pool.
    """
    values = table.numbers(value)
    if sequence is None:
        return from_table(members(table, coords, levels, weight, smallest), values, direction=direction)
    plain = not (coords or levels)
    need(plain, "sequences have no coordinates and no levels", sequence, "Pass one kind.")
    rows = table.texts(sequence)
    weights = None if weight is None else dict(zip(rows, positive(table, weight).tolist(), strict=True))
    space = _sequences(rows, sequence, 1 if smallest is None else smallest)
    return from_table(space, dict(zip(rows, values.tolist(), strict=True)), weights, direction)


def _sequences(rows: list[str], column: str, smallest: float) -> Sequences:
    """Return the space of all sequences of a column."""
    fewest = int(smallest) if float(smallest).is_integer() else smallest  # the command line gives 16.0
    seen: dict[str, int] = {}
    for row, text in enumerate(rows):
        if text in seen:
            problem = f"column {column} has a sequence twice, in rows {seen[text] + 1} and {row + 1}"
            raise InvalidInput(problem, text, "Drop one.")
        if len(text) != len(rows[0]):
            problem = (
                f"column {column} must have sequences of one length, {len(rows[0])}, but not in row {row + 1}"
            )
            raise InvalidInput(problem, text, "Correct it.")
        seen[text] = row
    times = Counter("".join(rows))
    space = Sequences("".join(sorted(times)), len(rows[0]), smallest=whole_number(fewest, "smallest", 1))
    number = space.arity**space.length
    if len(rows) < number:
        rare = min(times, key=lambda symbol: (times[symbol], symbol))
        row = next(row for row, text in enumerate(rows) if rare in text)
        known = f"{len(rows)} of all {number} sequences over {''.join(space.alphabet)}"
        problem = f"column {column} has {known}; symbol {rare!r} occurs first in row {row + 1}"
        raise InvalidInput(problem, rows[row], "Add the missing ones, or correct a wrong symbol.")
    return space
