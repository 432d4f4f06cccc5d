"""Events as earlier releases wrote them, turned into facts as they are read.

Up to format 1 an event was one object with everything a call did: a `Told`, for example, held the models learned,
the splits made and the doubts raised. Old and new events may stand in one file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from zonal.rounds.events import (
    Asked,
    Began,
    Doubted,
    Ended,
    Event,
    Expanded,
    Extended,
    Fact,
    Fitted,
    Measured,
    Observed,
    Split,
    Taken,
)
from zonal.rounds.settings import Settings


def facts_of(kind: str, parts: dict[str, Any], settings: Settings) -> Event:
    """Return the facts of an event in the old format.

    Parameters
    ----------
    kind : str
        The name of its class.
    parts : dict
        Its attributes.
    settings : Settings
        Of the study.
    """
    grown = _splits(parts.pop("grown", ()), settings)
    learned: list[Fact] = [Fitted(parts.pop("fit"))] if parts.get("fit") is not None else []
    parts.pop("fit", None)
    doubts = [Doubted(doubt) for doubt in parts.pop("warned", ())]
    match kind:
        case "Began":
            return (Began(**parts), *grown)
        case "Asked":
            return (*grown, Asked(**parts))
        case "Told":
            return (Measured(**parts), *learned, *doubts, *grown)
        case "Observed":
            return (Observed(**parts), *learned, *doubts, *grown)
        case "Ended":
            return (*grown, Ended(**parts))
        case "Refitted":
            return tuple(learned)
        case "Taken":
            return (Taken(**parts),)
        case "Extended":
            return (Extended(**parts),)
    raise ValueError(f"{kind} is no event")


def _splits(growth: Sequence[Any], settings: Settings) -> list[Fact]:
    """Return the splits as facts, batch by batch.

    The old format stored noise and forbidden of every child; now only where the user passed functions.
    """
    said = callable(settings.noise), settings.forbidden is not None
    facts: list[Fact] = []
    for batch in growth:
        facts += [Expanded(row) for row, expanded, noise, *_ in batch if not noise and expanded]
        parted = [split for split in batch if split[2]]
        for expanded, some in groupby(parted, key=lambda split: bool(split[1])):
            own = list(some)
            every = (tuple(x for split in own for x in split[place]) for place in (2, 3))
            noise, forbidden = (each if wanted else () for each, wanted in zip(every, said, strict=True))
            facts.append(Split(tuple(split[0] for split in own), expanded, noise, forbidden, None))
    return facts
