"""What the applications share: contestants who all name a region of the smallest size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

import zonal as zn
from zonal.campaigns.rehearsal import Player, Zonal
from zonal.problems import Landscape
from zonal.problems.instruments import Instrument

Look = Callable[[Instrument, zn.Region], float]


@dataclass(frozen=True)
class Settled:
    """A contestant who measures in a way of the application's, and must name a region of the smallest size.

    Whoever ends with a larger region names a part of it: Zonal the one of the highest posterior mean, people
    without a model one at random. What a random part is worth on average is the average over the whole.
    """

    player: Player
    look: Look

    def __call__(
        self, landscape: Landscape, instrument: Instrument, budget: int, rng: np.random.Generator
    ) -> zn.Region:
        """Return the region named."""
        look = partial(self.look, instrument)
        if isinstance(self.player, Zonal):
            return smallest(self.player.study(landscape, look, budget, rng))
        region = self.player(landscape, look, budget, rng)
        while landscape.space.may_split(region):
            parts = landscape.space.split(region)
            region = parts[rng.choice(len(parts), p=_shares(parts))]
        return region


def settled(players: Mapping[str, Player], look: Look) -> dict[str, Player]:
    """Return the same contestants, all of whom name a smallest region."""
    return {name: Settled(player, look) for name, player in players.items()}


def smallest(study: zn.Study) -> zn.Region:
    """Return the recommended region, or the part of it that is smallest and best by the posterior mean."""
    region = study.found
    while study.space.may_split(region):
        parts = study.space.split(region)
        region = parts[int(np.argmax(study.predict(parts).mean))]
    return region


def campaign(player: Player, landscape: Landscape, budget: int, noise: object) -> zn.Study:
    """Return one study of a contestant's, with the first seed."""
    rng = np.random.default_rng(0)
    return player.player.study(landscape, partial(player.look, landscape.simulate(noise, rng)), budget, rng)


def _shares(parts: list[zn.Region]) -> np.ndarray:
    weights = np.array([part.weight for part in parts])
    return weights / weights.sum()
