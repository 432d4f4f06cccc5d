"""Regions and feedbacks as exchanged between client and server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zonal.averages.feedback import Feedback
from zonal.errors import InvalidInput, StudyFileError, whole_number
from zonal.rounds.values import SENSELESS, Decoder
from zonal.spaces import Region
from zonal.study import Study


def region_of(study: Study, said: Any) -> Region:
    """Return the region that a client described."""
    space = study.space
    if isinstance(said, Mapping) and set(said) == {"row"}:
        row = whole_number(said["row"], "a row of the table of nodes", 0, len(study.tree) - 1)
        return study._state.region(row)
    if isinstance(said, Mapping) and set(said) == {"node"}:
        node = said["node"]
        if not (isinstance(node, list) and len(node) == 2 and all(type(own) is int for own in node)):
            raise InvalidInput("a node must be [depth, index]", node, "Write [3, 5].")
        depth, index = node
        if not (0 <= depth <= (space.deepest() or depth) and depth < 64 and 0 <= index < space.count(depth)):
            raise InvalidInput("there is no such node", node, "Pass one of the study's.")
        found: Region = space.cell((depth, index))
        return found
    if isinstance(said, str):
        said = space.from_text(said)
    if isinstance(said, str | list) and not said:
        raise InvalidInput("a region is missing", said, "Send a region.")
    made: Region = space.region(said)
    return made


def said_of(region: Region) -> Any:
    """Return a client's description of a region, which `region_of` reads."""
    if region.node is not None:
        return {"node": list(region.node)}
    if region.space.axes is None:
        return region.members.tolist()  # type: ignore[attr-defined]
    if region.space.spelled:
        return [list(pool) for pool in region.symbols]  # type: ignore[attr-defined]
    return {name: list(own) if isinstance(own, tuple) else own for name, own in region.as_dict().items()}


def feedback_of(said: Any) -> Feedback | None:
    """Return the feedback that a client described, one of Zonal's own."""
    try:
        found: Feedback | None = Decoder()(said)
    except (StudyFileError, InvalidInput, *SENSELESS):
        raise InvalidInput("this is not a feedback", said, 'Send one as in settings: {"$": "Mean"}.') from None
    return found
