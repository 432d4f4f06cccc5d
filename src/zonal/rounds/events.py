"""What was decided or happened: frozen values, complete enough to be applied without deciding again.

A study is its settings and its events; its state is what applying them gives. An event names nodes by their row
in the table. A split says what the user's own functions said of the children; their regions follow from the
space, and a checksum tells whether the space still splits as it did.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from zonal.averages.feedback import Feedback
from zonal.beliefs.lattice import Fit
from zonal.spaces import Node, Region


class Split(NamedTuple):
    """A node partitioned into its children.

    Attributes
    ----------
    row : int
        Which node.
    expanded : bool
        Whether it counts as expanded from now on.
    noise : tuple of float
        Standard deviation of one measurement of each child; none where the node has no children and is only
        marked as expanded.
    forbidden : tuple of bool
        Whether the user forbids each child.
    checksum : int
        Of the children's regions.
    """

    row: int
    expanded: bool
    noise: tuple[float, ...] = ()
    forbidden: tuple[bool, ...] = ()
    checksum: int = 0


Batch = tuple[Split, ...]  # nodes split together
Growth = tuple[Batch, ...]  # in order


def checksum(children: Sequence[Region]) -> int:
    """Return a number that tells these regions from others."""
    return zlib.crc32(repr([child.key for child in children]).encode())


@dataclass(frozen=True)
class Began:
    """A study began.

    Attributes
    ----------
    id : str
        What tells its trials from those of other studies.
    seed : int
        Of its random numbers.
    policy : str
        Which one was settled on.
    h_max : int
        The deepest depth at which nodes are expanded.
    opening : int
        The depth of the opening sweep, 0 for none.
    noise : float
        Standard deviation of one measurement of the whole space.
    forbidden : bool
        Whether the user forbids to measure the whole space.
    grown : Growth
        What was split before the first measurement.
    """

    id: str
    seed: int
    policy: str
    h_max: int
    opening: int
    noise: float
    forbidden: bool
    grown: Growth


@dataclass(frozen=True)
class Asked:
    """A trial was asked for.

    Attributes
    ----------
    number : int
        Of the trial.
    row : int
        Of the node.
    node : (depth, index)
    replicate : int
        The how-manieth look at this region.
    draw : int
        From which its random numbers follow.
    by : str
        The process that asked.
    key : str
        What the asker calls this request, so that asking again does not ask twice; "" for nothing.
    grown : Growth
        What was split for it.
    """

    number: int
    row: int
    node: Node
    replicate: int
    draw: int
    by: str
    key: str
    grown: Growth


@dataclass(frozen=True)
class Taken:
    """A trial that nobody was at any more was taken up by another process, or by the same one again.

    Attributes
    ----------
    number : int
        Of the trial.
    by : str
        Who is at it from now on.
    """

    number: int
    by: str


@dataclass(frozen=True)
class Told:
    """A trial's measurement came in.

    Attributes
    ----------
    number : int
        Of the trial.
    value : float
        As told.
    sem : float or None
        Its standard error, None where the study's noise applies.
    note : str
    fit : Fit or None
        The models learned with it, None if none were.
    grown : Growth
        What was split: the node itself (line 6), then what the policy wants before the next round.
    warned : tuple of str
        Doubts about the model that came with it.
    """

    number: int
    value: float
    sem: float | None
    note: str
    fit: Fit | None
    grown: Growth
    warned: tuple[str, ...]


@dataclass(frozen=True)
class Ended:
    """A trial was given up or withdrawn.

    Attributes
    ----------
    number : int
        Of the trial.
    state : {"given up", "withdrawn"}
    barred : bool
        Whether its region is never asked for again.
    grown : Growth
        What was split for that.
    """

    number: int
    state: Literal["given up", "withdrawn"]
    barred: bool
    grown: Growth


@dataclass(frozen=True)
class Observed:
    """A measurement made outside of the study came in.

    Attributes
    ----------
    region : Region
    value : float
    sem : float or None
    noise : float
        Standard deviation that applies without a sem.
    feedback : Feedback
        How the measurement saw its region.
    fit, grown, warned
        As of `Told`.
    """

    region: Region
    value: float
    sem: float | None
    noise: float
    feedback: Feedback
    fit: Fit | None
    grown: Growth
    warned: tuple[str, ...]


@dataclass(frozen=True)
class Refitted:
    """The models were learned anew because the user wanted it."""

    fit: Fit


@dataclass(frozen=True)
class Extended:
    """The budget was raised by `n`."""

    n: int


@dataclass(frozen=True)
class Edited:
    """All that is above was read from an export that is not as Zonal wrote it.

    Attributes
    ----------
    why : str
        How that is known.
    fit : Fit or None
        The models learned from what it says, since those above may have been learned from something else; None if
        nothing is learned.
    """

    why: str
    fit: Fit | None


Event = Began | Asked | Taken | Told | Ended | Observed | Refitted | Extended | Edited
