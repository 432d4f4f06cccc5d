"""What the applications share: contestants who all name a region of the smallest size, and a file of all runs."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import zonal as zn
from zonal.simulation import Landscape
from zonal.simulation.rehearsal import Player, Rehearsal, StudyPlayer, cut, rehearse
from zonal.simulation.simulators import Instrument

Look = Callable[[Instrument, zn.Region], float]


@dataclass(frozen=True)
class Settled:
    """A contestant who measures in a way of the application's, and must name a region of the smallest size.

    A method that ends with a larger region returns a part: Zonal the one of the highest posterior mean, people
    without a model one at random. What a random part is worth on average is the average over the whole.
    """

    player: Player
    look: Look

    def __call__(
        self, landscape: Landscape, instrument: Instrument, budget: int, rng: np.random.Generator
    ) -> zn.Region:
        """Return the region named."""
        look = partial(self.look, instrument)
        if isinstance(self.player, StudyPlayer):
            return smallest(self.player.study(landscape, look, budget, rng))
        region = self.player(landscape, look, budget, rng)
        while landscape.space.may_split(region):
            parts = landscape.space.split(region)
            region = parts[rng.choice(len(parts), p=_shares(parts))]
        return region


class Plan(NamedTuple):
    """What a table compares: where, with which budget and noise, and who plays."""

    landscape: Landscape
    budget: int
    noise: object
    players: dict[str, Player]

    def play(self, runs: int, *only: str, jobs: int | None = None) -> Rehearsal:
        """Return the campaigns of everybody, or of some; the first runs of many are those of few."""
        players = {who: self.players[who] for who in only or self.players}
        return rehearse(self.landscape, self.budget, self.noise, runs, players, jobs=jobs)

    def first(self, who: str) -> zn.Study:
        """Return one study of a contestant's, with the first seed."""
        return campaign(self.players[who], self.landscape, self.budget, self.noise)


def settled(players: Mapping[str, Player], look: Look) -> dict[str, Player]:
    """Return the same contestants, all of whom name a smallest region."""
    return {name: Settled(player, look) for name, player in players.items()}


def halving(
    landscape: Landscape, instrument: Callable[[zn.Region], float], budget: int, rng: np.random.Generator
) -> zn.Region:
    """Return what sequential halving finds: smallest regions at random, the better half again, and so on.

    As many of them as each of its rounds can measure at least once; every round has the same share of the budget.
    """
    space = landscape.space
    deepest = space.max_depth()
    number = space.partition.leaves(deepest)
    arms = max(n for n in range(1, min(number, budget) + 1) if n * _rounds(n) <= budget)
    left = cut(space, deepest, rng.choice(number, arms, replace=False).tolist())
    values: dict[int, list[float]] = {arm: [] for arm in range(arms)}
    alive = list(values)
    for _ in range(_rounds(arms)):
        looks = max(1, budget // (_rounds(arms) * len(alive)))
        for arm in alive:
            values[arm] += [instrument(left[arm]) for _ in range(looks)]
        sign = 1 if landscape.direction == "maximize" else -1
        alive.sort(key=lambda arm: -sign * float(np.mean(values[arm])))
        alive = alive[: math.ceil(len(alive) / 2)]
    return left[alive[0]]


def _rounds(arms: int) -> int:
    return max(1, math.ceil(math.log2(arms)))


def smallest(study: zn.Study) -> zn.Region:
    """Return the recommended region, or the part of it that is smallest and best by the posterior mean."""
    region = study.recommend(on_grid=True).region
    while study.space.may_split(region):
        parts = study.space.split(region)
        region = parts[int(np.argmax(study.predict(parts).mean))]
    return region


def campaign(player: Player, landscape: Landscape, budget: int, noise: object) -> zn.Study:
    """Return one study of a contestant's, with the first seed."""
    rng = np.random.default_rng(0)
    return player.player.study(landscape, partial(player.look, landscape.simulate(noise, rng)), budget, rng)


def keep(path: Path | None, table: str, rehearsal: Rehearsal) -> None:
    """Keep the regret of every run of a table in a file, from which `docs/check_pages.py` checks the page."""
    if path is None:
        return
    tables = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    tables[table] = {who: own.regrets.tolist() for who, own in rehearsal.campaigns.items()}
    lines = [f" {json.dumps(name)}: {json.dumps(runs)}" for name, runs in sorted(tables.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _shares(parts: list[zn.Region]) -> np.ndarray:
    weights = np.array([part.weight for part in parts])
    return weights / weights.sum()
