"""Events as earlier releases wrote them, turned into facts as they are read.

Up to format 1 an event was one object with everything a call did: a `Told`, for example, held the models learned,
the splits made and the doubts raised. Old and new events may stand in one file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby
from typing import Any

from zonal.engine import events
from zonal.engine.settings import Settings

SINCE = (events.Created, events.Asked, events.Observed, events.Closed, events.Claimed, events.Extended)
KINDS: dict[str, Any] = {kind.__name__: kind for kind in SINCE} | {"Told": events.Told}
GROWN_BEFORE = ("Asked", "Ended")  # in these the tree had grown before; in the others it grew after


def facts_of(kind: str, parts: dict[str, Any], settings: Settings) -> events.Transaction:
    """Return the facts of an event in the old format, by the name of its class and its attributes."""
    grown = _splits(parts.pop("grown", ()), settings)
    fit = parts.pop("fit", None)
    learned = [] if fit is None else [events.Fitted(fit)]
    doubts = [events.ModelWarned(doubt) for doubt in parts.pop("warned", ())]
    if kind == "Refitted":
        return tuple(learned)
    if kind not in KINDS:
        raise ValueError(f"{kind} is no event")
    fact = KINDS[kind](**parts)
    return (*grown, fact) if kind in GROWN_BEFORE else (fact, *learned, *doubts, *grown)


def _splits(growth: Sequence[Any], settings: Settings) -> list[events.Event]:
    """Return the splits as facts, batch by batch.

    The old format stored noise and forbidden of every child; now only where the user passed functions.
    """
    facts: list[events.Event] = []
    for batch in growth:
        facts += [events.Expanded(row) for row, expanded, noise, *_ in batch if not noise and expanded]
        parted = [split for split in batch if split[2]]
        for expanded, some in groupby(parted, key=lambda split: bool(split[1])):
            rows, _, noises, flags, *_ = zip(*some, strict=True)
            noise = tuple(chain.from_iterable(noises)) if callable(settings.noise) else ()
            forbidden = () if settings.forbidden is None else tuple(chain.from_iterable(flags))
            facts.append(events.Split(rows, expanded, noise, forbidden, None))
    return facts
