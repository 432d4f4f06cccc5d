"""What may be measured: what is possible now, what is forbidden, and what is allowed again.

As in `operations`, they are functions of a study, which methods of `Study` call.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from zonal.engine import checks, commands
from zonal.engine.events import Forbidden
from zonal.engine.results import Trial
from zonal.engine.settings import RegionLike, RegionsLike
from zonal.errors import InvalidInput, listed, require, text
from zonal.spaces import Region, is_one_region, with_feedback
from zonal.study.history import asked_trial, trial_of
from zonal.study.queries import region_of
from zonal.study.worker_id import person

if TYPE_CHECKING:
    from zonal.study.study import Study


def regions_of(study: Study, given: RegionsLike, name: str) -> tuple[Region, ...]:
    """Return regions that the user gave, one or several; none if there is nothing."""
    if given is None:
        return ()
    problem, fix = f"{name} must be a region, or a list of regions", "Pass what observe() takes."
    several = listed(given, problem, fix) if isinstance(given, Iterator) else given
    every = [several] if is_one_region(study.space, several) else listed(several, problem, fix)
    fix = f"Pass at least one region, or leave {name}= out."
    require(every or name == "avoid", "within= is empty, so nothing is possible", given, fix)
    return tuple(with_feedback(region_of(study, region), None) for region in every)


def forbid(study: Study, region: RegionLike, note: str, by: str | None) -> list[Trial]:
    """Forbid a region; return the pending trials that overlap it: see `Study.forbid`."""
    with study._writing(partly=True):
        state, banned = study._state, with_feedback(region_of(study, region), None)
        checks.forbidden(state, banned)
        fact = Forbidden(banned, text(note, "a note"), person() if by is None else text(by, "by"))
        if all(banned.key != ban.key for ban in state.forbidden_regions.values()):
            after = commands.forbid(state, fact)
            checks.anything_left(after, banned)
            study._commit(after)
        pending = [trial_of(state, asked) for asked in state.pending.values()]
    study._log(logging.INFO, "forbidden: %s", banned.name)
    return [trial for trial in pending if banned.overlaps(trial.region)]


def allow(study: Study, region: RegionLike) -> int:
    """Take back failures and what was forbidden within a region: see `Study.allow`."""
    with study._writing(partly=True):
        state, wanted = study._state, region_of(study, region)
        trials, bans = commands.failed_within(state, wanted), commands.forbidden_within(state, wanted)
        after = commands.unblock(state, trials, bans)
        if after is None:
            fix = "study.table() lists what failed."
            larger = [ban.name for ban in state.forbidden_regions.values() if ban.overlaps(wanted)]
            if state.problem.is_forbidden(wanted):
                fix = "It is forbidden; that cannot be taken back."
            elif larger:
                fix = f"What was forbidden is allowed as a whole: {'; '.join(larger)}."
            raise InvalidInput("nothing failed or was forbidden within this region", wanted.name, fix)
        study._commit(after)
    return len(trials) + len(bans)


def forgive(study: Study, trials: Iterable[Trial | int]) -> None:
    """Take back the failures of single trials that failed for other reasons than their region."""
    with study._writing(partly=True):
        several = listed(trials, "trials must be a list", "Pass [trial], even for one.")
        after = commands.unblock(study._state, [asked_trial(study, trial).number for trial in several])
        if after is not None:
            study._commit(after)
