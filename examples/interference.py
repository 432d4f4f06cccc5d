"""The radio telescope among transmitters: now and then a pointing catches one, and reads far too much.

The radio telescope's page shows it as one of its tables: `python examples/radio_telescope.py`.
"""

from pathlib import Path

from campaigns import Plan, Settled, keep
from skies import box, radiometer

import zonal as zn
from zonal.simulation import datasets
from zonal.simulation.rehearsal import StudyPlayer

TRANSMITTER = 100.0  # as bright as the receiver itself
RARE = 1.96  # a draw of the noise beyond it, one in twenty, is a transmitter


def disturbed(instrument, region: zn.Region, time: float = 1.0) -> float:
    """Return what the radiometer reads; one pointing in twenty, whatever the patch, catches a transmitter too."""
    return radiometer(instrument, region, time) + TRANSMITTER * (abs(instrument.draw()) > RARE)


def among_transmitters(pointings: int, noise: float) -> Plan:
    """Return what is compared: asking again, believing every reading, and no transmitters at all."""
    believing = StudyPlayer((("gross_errors", False),))
    players = {
        "Zonal": Settled(StudyPlayer(), disturbed),
        "believing every reading": Settled(believing, disturbed),
        "no transmitters": Settled(StudyPlayer(), radiometer),
    }
    return Plan(box(datasets.sky()), pointings, noise, players)


def with_interference(plan: Plan, runs: int, results: Path | None) -> None:
    """Print how the searches compare."""
    rehearsal = plan.play(runs)
    keep(results, "interference", rehearsal)
    print(f"box, with interference: {plan.budget} pointings, {runs} runs\n{rehearsal.table()}\n")
