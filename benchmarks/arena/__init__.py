"""The arena: Zonal against its peers on problems with random shifts, everybody through the same noise.

From top to bottom, each module imports only from those below: `__main__` (the command), `report` (the page and its
picture), `summary` (geometric means, ratios and intervals), `play` (runs that are kept and resumed), `roster` (who
takes part), `ours`, `plain` and `surrogate` (the contestants), `contestants` (their interface), `problems`.
"""
