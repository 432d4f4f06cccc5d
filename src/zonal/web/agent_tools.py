"""What an agent may do with a folder of studies: ten tools. With a cap it cannot overspend; it cannot erase.

Every change is an event of the study, signed with `by`, so `zonal verify` decides it again. This module must not
know the protocol.
"""

from __future__ import annotations

import math
from pathlib import Path
from threading import Lock
from typing import Any

from zonal.errors import InvalidInput, ZonalError, require
from zonal.study.history import n_events
from zonal.study.operations import recorded
from zonal.study.study import Study
from zonal.study.summary import to_json
from zonal.web.routes import MAX_BUDGET, MAX_REGIONS, MAX_TRIALS
from zonal.web.study_folder import Folder


class Refused(ZonalError, RuntimeError):
    """An agent may not do this."""


class AgentTools:
    """The tools of one connection.

    Parameters
    ----------
    folder : Path
        Where the studies are.
    read_only : bool
        Whether nothing may be changed.
    cap : int or None
        How many measurements this connection may ask for.
    by : str
        Who does it, for the history.
    """

    def __init__(self, folder: Path, read_only: bool = False, cap: int | None = None, by: str = "agent") -> None:
        self._folder, self._read_only, self._by = Folder(folder), read_only, by
        self._left = math.inf if cap is None else cap
        self._studies: dict[str, Study] = {}
        self._asking = Lock()  # the protocol runs calls in several threads

    def studies(self) -> str:
        """List the studies: name, what is sought, budget, measured, remaining."""
        return to_json([{"study": name, **_progress(self._study(name))} for name in self._folder.names()])

    def describe(self, study: str) -> str:
        """Describe a study: axes or members, smallest region, direction, unit, progress, pending trials."""
        opened = self._study(study)
        settings = opened.settings
        facts = {"space": str(opened.space), "whole": opened.space.cell((0, 0)).name, "value": settings.value_name}
        facts |= {"unit": settings.value_unit, "about": str(opened), "read_only": opened.read_only}
        return to_json({**facts, **_progress(opened), "pending": list(opened.pending)})

    def ask(self, study: str, n: int = 1) -> str:
        """Ask which regions to measure next. Measure each region's average, then tell every trial."""
        opened = self._writable(study)
        require(1 <= n <= MAX_TRIALS, "this is not a possible number of trials", n, f"Pass 1 to {MAX_TRIALS}.")
        with self._asking:
            if n > self._left:
                raise Refused(
                    f"this connection may ask for {self._left} more measurements; got {n}. Ask a person."
                )
            trials = opened.ask(n, by=self._by)
            self._left -= len(trials)
        return to_json({"trials": trials, **_progress(opened)})

    def tell(self, study: str, trial: int, value: float, sem: float | None = None, note: str = "") -> str:
        """Tell the value measured for a pending trial; sem is its standard error. Never invent a value."""
        opened = self._writable(study)
        opened.tell(trial, value, sem, note, by=self._by)
        return to_json(_progress(opened))

    def observe(self, study: str, region: str, value: float, sem: float | None = None, note: str = "") -> str:
        """Record a measurement made outside the study, of a region such as "x=0..0.5"; it costs no budget."""
        opened = self._writable(study)
        seen = opened.observe(self._place(opened, region), value, sem, note=note, by=self._by)
        return to_json({"observation": seen.number, **_progress(opened)})

    def correct(self, study: str, trial: int, value: float, sem: float | None = None, note: str = "") -> str:
        """Replace a value told by mistake; the history keeps the old one. Say why in the note."""
        opened = self._writable(study)
        opened.correct(recorded(opened, trial, observation=False), value, sem, note, by=self._by)
        return to_json(_progress(opened))

    def predict(self, study: str, regions: list[str]) -> str:
        """Predict the averages of regions, such as "x=0..0.5", with standard deviations."""
        opened = self._study(study)
        is_possible = 1 <= len(regions) <= MAX_REGIONS
        require(is_possible, "this is not a possible number of regions", len(regions), f"Pass 1 to {MAX_REGIONS}.")
        mean, std = opened.predict([self._place(opened, region) for region in regions])
        return to_json({"regions": regions, "mean": mean, "std": std})

    def recommend(self, study: str, k: int = 1) -> str:
        """Return the best region so far, or the k best, and how certain that is."""
        opened = self._study(study)
        require(1 <= k <= MAX_TRIALS, "this is not a possible number of regions", k, f"Pass 1 to {MAX_TRIALS}.")
        return to_json({"best": opened.recommend(k), "stands_out": opened.stands_out()})

    def why(self, study: str, trial: int | None = None) -> str:
        """Explain the answer, or why a trial was asked for and what its reading could change, in sentences."""
        opened = self._study(study)
        return str(opened.why() if trial is None else opened.why(trial))

    def extend(self, study: str, n: float) -> str:
        """Add n measurements (or cost) to the budget; only if a person asked for it."""
        opened = self._writable(study)
        require(0 < n <= MAX_BUDGET, "this is no budget to add", n, f"Pass up to {MAX_BUDGET}.")
        opened.extend(n if opened.settings.priced or n % 1 else int(n), by=self._by)
        return to_json(_progress(opened))

    def _study(self, name: str) -> Study:
        path = self._folder.entry(name).path
        study = self._studies.get(name)
        if study is None:
            study = self._studies[name] = Study.open(path)
        study.refresh()
        return study

    def _writable(self, name: str) -> Study:
        if self._read_only:
            raise Refused("this connection may only read. Ask a person to start `zonal mcp` without --read-only.")
        return self._study(name)

    def _place(self, study: Study, region: str) -> Any:
        if not region.strip():
            raise InvalidInput("a region is missing", region, "Pass one, such as x=0..0.5.")
        return study.space.region(study.space.from_text(region))


TOOLS = ("studies", "describe", "ask", "tell", "observe", "correct", "predict", "recommend", "why", "extend")


def _progress(study: Study) -> dict[str, Any]:
    return {
        "direction": study.settings.direction,
        "budget": study.budget,
        "measured": study.measured,
        "remaining": study.remaining,
        "events": n_events(study),
    }
