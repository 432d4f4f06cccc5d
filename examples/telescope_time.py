"""The radio telescope once more, with a clock: integration, settling and slewing take their time.

The radio telescope's page shows it as its last table: `python examples/radio_telescope.py`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from campaigns import Plan, keep, settled
from skies import box, radiometer

import zonal as zn
from zonal.simulation import Landscape, datasets
from zonal.simulation.rehearsal import StudyPlayer, cut

SECONDS = 3_600  # of the whole campaign
SLEW = 0.5  # degrees a second
SETTLE = 10.0  # seconds after every slew, until the receiver can be read
CHANNEL = 4_700.0  # Hz: 1 km/s of the 21-cm line; after one second the noise is 1.5 % of system and sky
TIMES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # seconds of integration to choose from
FIXED = 4.0  # of who does not choose


def slewing(here: zn.Region, there: zn.Region) -> float:
    """Return the seconds it takes to turn from one patch to another, the short way over the sky."""
    one, other = (_direction(*region.center) for region in (here, there))
    return float(np.degrees(np.arccos(np.clip(one @ other, -1, 1)))) / SLEW


def _direction(l: float, sin_b: float) -> np.ndarray:
    """Return a unit vector."""
    flat = np.sqrt(max(0.0, 1 - sin_b**2))
    return np.array([flat * np.cos(np.radians(l)), flat * np.sin(np.radians(l)), sin_b])


COSTS = (("times", TIMES), ("overhead", SETTLE), ("travel", slewing), ("cost_unit", "s"))


@dataclass(frozen=True)
class Unaware(StudyPlayer):
    """A study that does not know what measurements cost: all take the same time, and slews are paid for."""

    def study(self, landscape: Landscape, instrument, budget: float, rng: np.random.Generator) -> zn.Study:
        """Return the study when the time is up."""
        usual = FIXED + SETTLE + 90 / SLEW  # two directions are 90 degrees apart on average
        study = zn.Study(landscape.space, budget=round(budget / usual), rng=rng, **dict(self.settings))
        left, here = budget, None
        while True:
            if not study.remaining:
                study.extend(1)
            trial = study.ask()
            left -= FIXED + SETTLE + (slewing(here, trial.region) if here is not None else 0.0)
            if left < 0:
                return study
            study.tell(trial, instrument(trial.region, time=FIXED))
            here = trial.region


def tour(landscape: Landscape, instrument, budget: float, rng: np.random.Generator) -> zn.Region:
    """Look at smallest patches drawn at random, always the nearest next: as many as the time allows."""
    space = landscape.space
    deepest = space.max_depth()
    drawn = cut(
        space, deepest, rng.permutation(space.partition.leaves(deepest))[: int(budget / (FIXED + SETTLE))].tolist()
    )
    directions = np.array([_direction(*cell.center) for cell in drawn])
    number = len(drawn)
    while (way := _nearest(directions[:number]))[1] / SLEW + number * (FIXED + SETTLE) > budget:
        number -= max(1, number // 20)
    seen = [drawn[at] for at in way[0]]
    return seen[int(np.argmax([instrument(cell, time=FIXED) for cell in seen]))]


def _nearest(directions: np.ndarray) -> tuple[list[int], float]:
    """Return an order in which each direction is the nearest of those left, and its length in degrees."""
    angles = np.degrees(np.arccos(np.clip(directions @ directions.T, -1, 1)))
    order, length, left = [0], 0.0, set(range(1, len(directions)))
    while left:
        order.append(min(left, key=lambda other: angles[order[-1], other]))
        left.remove(order[-1])
        length += angles[order[-2], order[-1]]
    return order, length


def clocked(share: float = 1 / 64) -> Plan:
    """Return what is compared in a given time, which integration, settling and slewing take."""
    players = settled({"cost-aware": StudyPlayer(COSTS), "cost-unaware": Unaware(), "tour": tour}, radiometer)
    return Plan(box(datasets.sky()), round(SECONDS * share * 64), CHANNEL**-0.5, players)


def by_the_clock(runs: int, share: float, results: Path | None) -> None:
    """Print how searches of the box compare in a given time."""
    plan = clocked(share)
    rehearsal = plan.play(runs)
    keep(results, "by the clock", rehearsal)
    print(f"box, by the clock: {plan.budget} seconds, {runs} runs\n{rehearsal.table()}")
    ours, other = (plan.first(who) for who in ("cost-aware", "cost-unaware"))
    mean = np.mean([trial.time for trial in ours.trials])
    print(
        f"first run: {ours.measured} measurements of {mean:.1f} s on average; "
        f"cost-unaware {other.measured} of {FIXED} s"
    )
