"""Who takes part, and what the results of each depend on."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from benchmarks.arena import ours, plain, sensing, surrogate
from benchmarks.arena.contestants import Contestant
from benchmarks.arena.problems import Case

SOURCE = Path(__file__).resolve().parents[2] / "src" / "zonal"
NOT_SEARCHING = {"cli", "web", "plotting", "simulation", "__main__.py"}  # packages that no search enters

ROSTER: dict[str, Contestant] = {
    one.name: one
    for one in [*ours.contestants(), *surrogate.contestants(), *plain.contestants(), *sensing.contestants()]
}


@cache
def source_hash(folder: Path = SOURCE) -> str:
    """Return what changes when a room of Zonal that a search may enter changes."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder)
        if place.parts[0] not in NOT_SEARCHING:
            digest.update(place.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def key(contestant: Contestant, case: Case) -> str | None:
    """Return what a result of a contestant on a case depends on, None if the contestant is not installed."""
    versions = contestant.versions()
    if versions is None:
        return None
    if contestant.ours:
        versions["zonal"] += f"+{source_hash()}"
    return ", ".join([*(f"{name} {version}" for name, version in versions.items()), revisions(contestant, case)])


def revisions(contestant: Contestant, case: Case) -> str:
    """Return the end of a key: what it depends on here in the arena."""
    return f"contestant r{contestant.revision}, case r{case.revision}"
