"""What happened, as events: frozen values that can be applied without deciding anything again.

A study is its settings and its transactions; a transaction is the events of one call, in order. Events name nodes
by their row in the table. A split stores what the user's functions returned for the children; their regions follow
from the space, and a checksum shows whether the space still splits in the same way.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from zonal.gp.hyperparameters import Fit
from zonal.kernels.feedback import Feedback
from zonal.spaces import Node, Region

Labels = tuple[tuple[str, str], ...]  # of a reading: names and texts, by name


class Reading(NamedTuple):
    """What a value is that is no number with Gaussian noise, and the Gaussian that takes its place (its site)."""

    limit: Literal["", "below", "above"]  # on which side of the value the reading lies; "" for a count
    exposure: float | None  # over how much it was counted; None for a limit
    mean: float  # of the site when it came in, as a value of the average
    variance: float


class Site(NamedTuple):
    """The Gaussian that takes the place of a reading that is not Gaussian."""

    observed: bool  # whether the reading is an observation
    number: int  # of the trial or of the observation
    mean: float
    variance: float


class Created(NamedTuple):
    """A study began."""

    id: str  # identifies the study, so that its trials are not mixed up with those of others
    seed: int  # of its random numbers
    policy: str  # the policy used, as text
    h_max: int  # the deepest depth at which nodes are expanded
    opening: int  # the depth of the initial design, 0 for none
    noise: float  # standard deviation of one measurement of the whole space in one unit of time
    forbidden: bool  # whether the user forbids measuring the whole space
    cheapest: float = 1.0  # what the cheapest measurement costs
    time: float = 1.0  # the default time of a measurement; rewards are weighted relative to it


class Split(NamedTuple):
    """Leaves were split into their children (line 7) in one step."""

    rows: tuple[int, ...]  # the nodes that were split
    expanded: bool  # whether they count as expanded
    noise: tuple[float, ...]  # as of `Created`, one per child, if the noise is user-defined; else empty
    forbidden: tuple[bool, ...]  # whether the user forbids each child; empty if nothing is forbidden
    checksum: int | None  # of the children's extents; None before it is written


class Expanded(NamedTuple):
    """A node without children counts as expanded, as if it had been split."""

    row: int


class Asked(NamedTuple):
    """A trial was asked for."""

    number: int  # the trial's number
    row: int  # the node's row
    node: Node  # (depth, index)
    replicate: int  # which measurement of this region this is, counted from 1
    draw: int  # determines the trial's random numbers
    by: str  # the process that asked
    key: str  # the caller's name for this request, so that repeating it does not ask twice; "" for none
    time: float = 1.0  # how long to measure
    cost: float = 1.0  # including its time and the travel to its region
    within: tuple[Region, ...] = ()  # what was possible then: within one of these regions; anywhere if empty
    avoid: tuple[Region, ...] = ()  # and overlapping none of these
    window: Region | None = None  # what to measure if it is no node; the node is the cell at its centre
    labels: Labels = ()  # planned for its reading


class Claimed(NamedTuple):
    """A trial whose worker has ended was taken over by another process, or by the same one again."""

    number: int  # the trial's number
    by: str  # the process that measures it from now on


class Told(NamedTuple):
    """A trial was told its value."""

    number: int  # the trial's number
    value: float  # as told
    sem: float | None  # its standard error, None where the study's noise applies
    note: str
    time: float | None = None  # the time really spent; None if it is the time asked for
    minus: Region | None = None  # the region whose average was subtracted, if the value is a difference
    reading: Reading | None = None  # if the value is a count or a limit
    labels: Labels = ()  # of the reading, those planned included


class Recommended(NamedTuple):
    """What was recommended of the nodes once a trial was told; later corrections leave it as it was."""

    row: int  # the node's row
    node: Node  # (depth, index)
    mean: float  # of its average, in the user's units
    std: float


class Closed(NamedTuple):
    """A trial failed or was cancelled."""

    number: int  # the trial's number
    state: Literal["failed", "cancelled"]
    blocked: bool  # whether its region will never be asked for again
    note: str = ""  # why; "" if nobody said, or the note that the trial had stays


class Noted(NamedTuple):
    """A trial without a value got a note, in the place of the one it had."""

    number: int  # the trial's number
    note: str


class Forbidden(NamedTuple):
    """A region was forbidden while the study ran: nothing that overlaps it is measured or recommended."""

    region: Region
    note: str  # why
    by: str  # who forbade it


class Unblocked(NamedTuple):
    """Failures were taken back: they no longer count against any region, nor block it."""

    numbers: tuple[int, ...]  # the trials that had failed
    forbidden: tuple[int, ...] = ()  # the events `Forbidden` that hold no more, counted from 0


class Observed(NamedTuple):
    """An external observation came in: a measurement made outside the study."""

    region: Region
    value: float
    sem: float | None
    noise: float  # standard deviation of one measurement of the default time; applies if there is no sem
    feedback: Feedback  # what part of its region the measurement saw
    time: float = 1.0  # how long it took
    minus: Region | None = None  # the region whose average (or slope) was subtracted, if the value is a difference
    trial: int | None = None  # the trial, if it is the value of one that was told when the budget was spent
    note: str = ""
    reading: Reading | None = None  # if the value is a count or a limit
    labels: Labels = ()


class Corrected(NamedTuple):
    """A wrong value was corrected; everything else about the measurement stays as it was."""

    number: int  # the number of the trial or of the observation
    observed: bool  # whether it is an observation
    value: float
    sem: float | None
    note: str  # what holds from now on, whether it is new or as before
    by: str  # who corrected it
    reading: Reading | None = None  # if the value is a count or a limit
    labels: Labels = ()  # what holds from now on, too


class Retracted(NamedTuple):
    """A measurement that should never have been told or observed was removed; it no longer counts."""

    number: int  # the number of the trial or of the observation
    observed: bool  # whether it is an observation
    note: str  # why
    by: str  # who retracted it


class SetAside(NamedTuple):
    """A reading no longer counts, as it may be a gross error; its budget, count and round stay.

    What was expected of it is what the models and the other readings say, in the user's units.
    """

    number: int  # the number of the trial or of the observation
    observed: bool  # whether it is an observation
    by_rule: bool  # whether the rule did it, and not a person
    waits: bool  # whether it waits for a repeat of its region, which decides
    expected: float | None  # mean of what was expected; None if a person set it aside
    std: float | None  # its standard deviation, noise included
    note: str = ""  # why, if a person did it
    by: str = ""  # who


class Reinstated(NamedTuple):
    """A reading that was set aside counts again, and is believed from now on, until it is corrected."""

    number: int  # the number of the trial or of the observation
    observed: bool  # whether it is an observation
    by_rule: bool  # whether the rule did it, and not a person
    agrees: int | None  # the trial whose reading agrees with it; None if a person did it, or no repeat is possible
    note: str = ""  # why, if a person did it
    by: str = ""  # who


class Fitted(NamedTuple):
    """The models were learned again, from all rewards so far."""

    fit: Fit
    from_scratch: bool = False  # whether all models were searched, whatever the last fit: the rewards alone decide


class Approximated(NamedTuple):
    """The sites of readings that are not Gaussian were computed again, given all others."""

    sites: tuple[Site, ...]


class ModelWarned(NamedTuple):
    """The measurements contradict the model that was given; the user was warned, once."""

    warning: str


class Extended(NamedTuple):
    """The budget was raised by `n`."""

    n: float


class Signed(NamedTuple):
    """Somebody named themselves, or their request, with what this transaction did."""

    by: str  # who did it; "" if they did not say
    key: str  # the caller's name for this request, so that repeating it does nothing; "" for none


OfTrial = Asked | Claimed | Told | Closed | Noted | Unblocked
Amended = Corrected | Retracted
Judged = SetAside | Reinstated
Event = (
    Created
    | Split
    | Expanded
    | OfTrial
    | Forbidden
    | Observed
    | Amended
    | Judged
    | Fitted
    | Approximated
    | ModelWarned
    | Extended
    | Recommended
    | Signed
)
Transaction = tuple[Event, ...]  # the events of one call
