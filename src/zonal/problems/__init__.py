"""Problems with a known truth: simulated instruments, tables as oracles, and the paper's functions.

This package simulates the world. It must not know studies, beliefs or policies.
"""

from zonal.problems.functions import (
    RewardFunction,
    aggregated_regret,
    draw,
    grid_optimum,
    reward_function,
    true_optimum,
)
from zonal.problems.instruments import PerWeight, Simulation, simulate
from zonal.problems.landscapes import Landscape, from_table

__all__ = [
    "Landscape", "PerWeight", "RewardFunction", "Simulation", "aggregated_regret", "draw", "from_table",
    "grid_optimum", "reward_function", "simulate", "true_optimum",
]  # fmt: skip
