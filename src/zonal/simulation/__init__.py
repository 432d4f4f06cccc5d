"""Problems with a known truth: simulated instruments, tables as oracles, and the paper's functions.

This package simulates the world. It must not know studies, beliefs or policies.
"""

from zonal.engine.noise import PerWeight
from zonal.simulation.functions import (
    RewardFunction,
    aggregated_regret,
    draw,
    grid_optimum,
    reward_function,
    true_optimum,
)
from zonal.simulation.ground_truth import Landscape, from_table
from zonal.simulation.rasters import from_raster
from zonal.simulation.simulators import Simulation, simulate

__all__ = [
    "Landscape", "PerWeight", "RewardFunction", "Simulation", "aggregated_regret", "draw", "from_raster",
    "from_table", "grid_optimum", "reward_function", "simulate", "true_optimum",
]  # fmt: skip
