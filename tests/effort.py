"""How much is tried each time, and how much by `make torture`."""

import os
from typing import Final

EVERYTHING: Final = bool(os.environ.get("ZONAL_EVERY_LINE"))


def tries(usual: int, whole: int) -> int:
    """Return how many cases are tried: as a rule, or by `make torture`, which runs what is marked `tries`."""
    return whole if EVERYTHING else usual
