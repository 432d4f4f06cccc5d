"""What happened, as facts: frozen values that can be applied without deciding anything again.

A study is its settings and its events; an event is the facts of one call, in order. Facts name nodes by their row
in the table. A split stores what the user's own functions returned for the children; their regions follow from the
space, and a checksum shows whether the space still splits in the same way.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from zonal.averages.feedback import Feedback
from zonal.beliefs.lattice import Fit
from zonal.spaces import Node, Region


class Began(NamedTuple):
    """A study began.

    Attributes
    ----------
    id : str
        Identifies the study, so that its trials are not mixed up with those of others.
    seed : int
        Of its random numbers.
    policy : str
        The policy used, as text.
    h_max : int
        The deepest depth at which nodes are expanded.
    opening : int
        The depth of the opening sweep, 0 for none.
    noise : float
        Standard deviation of one measurement of the whole space in one unit of time.
    forbidden : bool
        Whether the user forbids measuring the whole space.
    cheapest : float
        What the cheapest look costs.
    time : float
        The usual time of a look; rewards are weighted relative to it.
    """

    id: str
    seed: int
    policy: str
    h_max: int
    opening: int
    noise: float
    forbidden: bool
    cheapest: float = 1.0
    time: float = 1.0


class Split(NamedTuple):
    """Leaves were split into their children (line 7) in one step.

    Attributes
    ----------
    rows : tuple of int
        The nodes that were split.
    expanded : bool
        Whether they count as expanded.
    noise : tuple of float
        Standard deviation of one measurement of each child in one unit of time, if noise is the user's own
        function of a region; else empty.
    forbidden : tuple of bool
        Whether the user forbids each child; empty if nothing is forbidden.
    checksum : int or None
        Of the children's extents; None in files of early releases, which computed it differently.
    """

    rows: tuple[int, ...]
    expanded: bool
    noise: tuple[float, ...]
    forbidden: tuple[bool, ...]
    checksum: int | None


class Expanded(NamedTuple):
    """A node without children counts as expanded, as if it had been split."""

    row: int


class Asked(NamedTuple):
    """A trial was asked for.

    Attributes
    ----------
    number : int
        The trial's number.
    row : int
        The node's row.
    node : (depth, index)
    replicate : int
        Which measurement of this region this is, counted from 1.
    draw : int
        Determines the trial's random numbers.
    by : str
        The process that asked.
    key : str
        The caller's name for this request, so that repeating it does not ask twice; "" for none.
    time : float
        How long to measure.
    cost : float
        Of the look, including its time and the way to its region.
    """

    number: int
    row: int
    node: Node
    replicate: int
    draw: int
    by: str
    key: str
    time: float = 1.0
    cost: float = 1.0


class Taken(NamedTuple):
    """A trial whose worker has ended was taken over by another process, or by the same one again.

    Attributes
    ----------
    number : int
        The trial's number.
    by : str
        The process that measures it from now on.
    """

    number: int
    by: str


class Measured(NamedTuple):
    """A trial was told its value.

    Attributes
    ----------
    number : int
        The trial's number.
    value : float
        As told.
    sem : float or None
        Its standard error, None where the study's noise applies.
    note : str
    time : float or None
        The time really spent; None if it is the time asked for.
    minus : Region or None
        The region whose average was subtracted, if the value is a difference.
    """

    number: int
    value: float
    sem: float | None
    note: str
    time: float | None = None
    minus: Region | None = None


class Ended(NamedTuple):
    """A trial was given up or withdrawn.

    Attributes
    ----------
    number : int
        The trial's number.
    state : {"given up", "withdrawn"}
    barred : bool
        Whether its region will never be asked for again.
    """

    number: int
    state: Literal["given up", "withdrawn"]
    barred: bool


class Allowed(NamedTuple):
    """Give-ups were taken back: they no longer count against any region, nor bar it.

    Attributes
    ----------
    numbers : tuple of int
        The trials that had been given up.
    """

    numbers: tuple[int, ...]


class Observed(NamedTuple):
    """A measurement made outside the study came in.

    Attributes
    ----------
    region : Region
    value : float
    sem : float or None
    noise : float
        Standard deviation of one measurement of the usual time; applies if there is no sem.
    feedback : Feedback
        What part of its region the measurement saw.
    time : float
        How long it took.
    minus : Region or None
        The region whose average (or slope) was subtracted, if the value is a difference.
    """

    region: Region
    value: float
    sem: float | None
    noise: float
    feedback: Feedback
    time: float = 1.0
    minus: Region | None = None


class Corrected(NamedTuple):
    """A wrong value was corrected; everything else about the measurement stays as it was.

    Attributes
    ----------
    number : int
        The number of the trial or of the observation.
    observed : bool
        Whether it is an observation.
    value : float
    sem : float or None
    note : str
        What holds from now on, whether it is new or as before.
    by : str
        Who corrected it.
    """

    number: int
    observed: bool
    value: float
    sem: float | None
    note: str
    by: str


class Retracted(NamedTuple):
    """A measurement that should never have been told or observed was removed; it no longer counts.

    Attributes
    ----------
    number : int
        The number of the trial or of the observation.
    observed : bool
        Whether it is an observation.
    note : str
        Why.
    by : str
        Who retracted it.
    """

    number: int
    observed: bool
    note: str
    by: str


class Fitted(NamedTuple):
    """The models were learned again, from all rewards so far.

    Attributes
    ----------
    fit : Fit
    anew : bool
        Whether all models were searched instead of starting from the last fit: then the result
        follows from the rewards alone, whatever their order.
    """

    fit: Fit
    anew: bool = False


class Doubted(NamedTuple):
    """The measurements contradict the model that was given; the user was warned, once."""

    doubt: str


class Extended(NamedTuple):
    """The budget was raised by `n`."""

    n: float


class Edited(NamedTuple):
    """The history up to here was read from an export that was changed after Zonal wrote it.

    The models are learned again, since the ones stored may have been learned from other values.

    Attributes
    ----------
    why : str
        How the change was noticed.
    """

    why: str


Fact = (
    Began
    | Split
    | Expanded
    | Asked
    | Taken
    | Measured
    | Ended
    | Allowed
    | Observed
    | Corrected
    | Retracted
    | Fitted
    | Doubted
    | Extended
    | Edited
)
Event = tuple[Fact, ...]  # the facts of one call
