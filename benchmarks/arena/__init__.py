"""The arena: Zonal against its peers on problems with random shifts, everybody through the same noise.

From top to bottom, each module imports only from those below: `__main__` (the command), `report` (the page and its
picture), `summary` (geometric means, ratios and intervals), `play` (runs that are kept and resumed), `roster` (who
takes part), `ours`, `plain`, `sensing` and `surrogate` (the contestants), `entropy` and `gpytorch_models` (what
some of them choose by, and model with), `contestants` (their interface), `problems`.
"""
