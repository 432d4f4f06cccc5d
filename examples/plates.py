"""The pools of DNA on plates: every plate adds a background of its own to all its readings.

The page on DNA shows it as its last table: `python examples/dna.py`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from campaigns import Plan, Settled, keep

import zonal as zn
from zonal.simulation import Landscape
from zonal.simulation.rehearsal import StudyPlayer

WELLS = 12  # pools on a plate
BACKGROUND = 2.0  # its standard deviation; a typical affinity is 1, the best pool's 14.6


@dataclass(frozen=True)
class OnPlates(StudyPlayer):
    """A study that asks for a plate of pools at a time; its readings have the background of their plate."""

    background: float = BACKGROUND
    names_plates: bool = False  # whether each reading is told with its plate

    def study(self, landscape: Landscape, instrument, budget: float, rng: np.random.Generator) -> zn.Study:
        """Return the study when all plates are read."""
        backgrounds = self.background * rng.standard_normal(int(budget))  # the same for everybody in a run
        study = zn.Study(landscape.space, budget=budget, rng=rng, **dict(self.settings))
        plate = 0
        while study.remaining:
            labels = {"plate": plate} if self.names_plates else None
            for trial in study.ask(min(WELLS, study.remaining), labels=labels):
                study.tell(trial, instrument(trial.region) + backgrounds[plate])
            plate += 1
        return study


def on_plates(landscape: Landscape, budget: int, noise: float, look) -> Plan:
    """Return what is compared: plates named, plates not named, and plates without a background."""
    players = {
        "Zonal, told the plates": OnPlates((("offsets", ["plate"]),), names_plates=True),
        "Zonal, not told": OnPlates(),
        "no background": OnPlates(background=0.0),
    }
    return Plan(landscape, budget, noise, {who: Settled(player, look) for who, player in players.items()})


def by_plates(plan: Plan, runs: int, results: Path | None) -> None:
    """Print how the searches compare."""
    rehearsal = plan.play(runs)
    keep(results, "plates", rehearsal)
    print(f"by prefix, on plates of {WELLS}: {plan.budget} measurements, {runs} runs\n{rehearsal.table()}")
