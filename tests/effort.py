"""How much is tried each time, and how much by `make torture`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hypothesis import settings

EVERYTHING: Final = bool(os.environ.get("ZONAL_EVERY_LINE"))


def tries(usual: int, whole: int) -> int:
    """Return how many cases are tried: as a rule, or by `make torture`, which runs what is marked `tries`."""
    return whole if EVERYTHING else usual


def examples(number: int) -> settings:
    """Return the settings of a law: `make torture` tries `number` examples, `make test` a third of them."""
    from hypothesis import settings  # not above: scenes that are played in processes of their own need none

    return settings(max_examples=number if EVERYTHING else number // 3, deadline=None)
