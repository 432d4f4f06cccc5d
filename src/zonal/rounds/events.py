"""What was decided or happened, as facts: frozen values, complete enough to be applied without deciding again.

A study is its settings and its events; an event is the facts of one call, in the order in which they came about.
Facts name nodes by their row in the table. A split says what the user's own functions said of the children; their
regions follow from the space, and a checksum tells whether the space still splits as it did.
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
        Standard deviation of one measurement of the whole space, of one unit of time.
    forbidden : bool
        Whether the user forbids to measure the whole space.
    cheapest : float
        What the cheapest look costs.
    time : float
        The usual time of a look, by which rewards are weighed.
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
    """Leaves were partitioned into their children (line 7), together.

    Attributes
    ----------
    rows : tuple of int
        Which nodes.
    expanded : bool
        Whether they count as expanded from now on.
    noise : tuple of float
        Standard deviation of one measurement of each child, of one unit of time, where that is the user's own
        function of a region.
    forbidden : tuple of bool
        Whether the user forbids each child, where the user forbids anything.
    checksum : int or None
        Of the children's extents; None in histories of old, which had others.
    """

    rows: tuple[int, ...]
    expanded: bool
    noise: tuple[float, ...]
    forbidden: tuple[bool, ...]
    checksum: int | None


class Expanded(NamedTuple):
    """A node that has no children to come counts as expanded, as if it had been split."""

    row: int


class Asked(NamedTuple):
    """A trial was asked for.

    Attributes
    ----------
    number : int
        Of the trial.
    row : int
        Of the node.
    node : (depth, index)
    replicate : int
        Which measurement of this region this is, counted from 1.
    draw : int
        From which its random numbers follow.
    by : str
        The process that asked.
    key : str
        What the asker calls this request, so that asking again does not ask twice; "" for nothing.
    time : float
        How long to look.
    cost : float
        Of the look, its time and the way there included.
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
    """A trial whose worker has ended was taken up by another process, or by the same one again.

    Attributes
    ----------
    number : int
        Of the trial.
    by : str
        Who is at it from now on.
    """

    number: int
    by: str


class Measured(NamedTuple):
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
    time : float or None
        The time really spent; None if it is that asked for.
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
        Of the trial.
    state : {"given up", "withdrawn"}
    barred : bool
        Whether its region is never asked for again.
    """

    number: int
    state: Literal["given up", "withdrawn"]
    barred: bool


class Allowed(NamedTuple):
    """Give-ups were taken back: they count against no region any more, and bar none.

    Attributes
    ----------
    numbers : tuple of int
        Of the trials that had been given up.
    """

    numbers: tuple[int, ...]


class Observed(NamedTuple):
    """A measurement made outside of the study came in.

    Attributes
    ----------
    region : Region
    value : float
    sem : float or None
    noise : float
        Standard deviation that applies without a sem, of the usual time.
    feedback : Feedback
        How the measurement saw its region.
    time : float
        How long it looked.
    minus : Region or None
        The region of which the same was subtracted, if the value is a difference.
    """

    region: Region
    value: float
    sem: float | None
    noise: float
    feedback: Feedback
    time: float = 1.0
    minus: Region | None = None


class Corrected(NamedTuple):
    """A measurement was told or observed wrongly; it is this from now on, and the rest stays as it was.

    Attributes
    ----------
    number : int
        Of the trial, or of the observation.
    observed : bool
        Whether it is an observation.
    value : float
    sem : float or None
    note : str
        All that is kept with it, whether it is new or as before.
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
    """A measurement should never have been told, or observed: it counts no more.

    Attributes
    ----------
    number : int
        Of the trial, or of the observation.
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
    """The models were learned anew, from all rewards so far.

    Attributes
    ----------
    fit : Fit
    anew : bool
        Whether they were looked for everywhere, and not from where the last ones lay: then they follow from the
        rewards alone, in whichever order these came.
    """

    fit: Fit
    anew: bool = False


class Doubted(NamedTuple):
    """The measurements spoke against the model that was given; the user was told so, once."""

    doubt: str


class Extended(NamedTuple):
    """The budget was raised by `n`."""

    n: float


class Edited(NamedTuple):
    """All that is above was read from an export that is not as Zonal wrote it.

    Models are learned anew with it, since those above may have been learned from something else.

    Attributes
    ----------
    why : str
        How that is known.
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
