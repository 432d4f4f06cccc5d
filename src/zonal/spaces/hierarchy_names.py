"""Which of a user's nested regions is meant: by its full name, by a name that no other has, or by its levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from zonal.errors import InvalidInput, reject, require
from zonal.io.hints import guess

if TYPE_CHECKING:
    from zonal.spaces.base import PartLike
    from zonal.spaces.hierarchy import Hierarchy

Path = tuple[str, ...]

JOINT = " > "
WHOLE = "all"
MEMBERS = "members"  # the key of a list of leaves
ANYTHING = f"Pass {WHOLE!r} for all leaves."


def named_paths(paths: tuple[Path, ...]) -> dict[str, list[Path]]:
    """Return the paths to the regions of each name: its last part, and all of it."""
    every = {path[:depth]: None for path in paths for depth in range(1, len(path) + 1)}
    by_name: dict[str, dict[Path, None]] = {}
    for path in every:
        for name in (path[-1], JOINT.join(path)):
            by_name.setdefault(name, {})[path] = None
    return {name: list(same_name) for name, same_name in by_name.items()}


def path_of_name(space: Hierarchy, name: str) -> Path:
    """Return the path to the region of a name, which may contain " > "; raise if it fits several regions."""
    candidates = space.named.get(name, [])
    full = [path for path in candidates if JOINT.join(path) == name]
    if not full and name == WHOLE:
        return ()
    paths = full or candidates
    labelled = bool(paths) and not full and name in (space.labels or ())
    if len(paths) > 1 or labelled:
        first = min(paths, key=len)
        same = all(path[: len(first)] == first for path in paths)  # else they have no leaf in common
        leaves = {tuple(space.below(path)) for path in paths} if same else set[tuple[int, ...]]()
        if labelled:
            leaves.add((int(space.place[(space.labels or ()).index(name)]),))
        fix = f"Pass a tuple, such as {min(paths)}."
        require(same and len(leaves) == 1, "this name fits several regions", name, fix)
    return paths[0] if paths else tuple(name.split(JOINT))


def path_of_levels(space: Hierarchy, what: Mapping[str, PartLike | None]) -> Path | None:
    """Return the path to the region that a mapping of level to name describes; None if it lists members."""
    levels = space.level_names
    if MEMBERS in what and not (MEMBERS in levels and isinstance(what[MEMBERS], str)):
        reject((key for key in what if key != MEMBERS), "a list of members needs no other key", "Leave it out.")
        return None
    for key in what:
        fix = f"{guess(key, levels)}Levels: {', '.join(levels)}."
        require(key in levels, "a region names a level that is not there", key, fix)
    named = {levels.index(key): name for key, name in what.items() if name is not None}
    require(named, "a region needs a name", dict(what), ANYTHING)
    depth = max(named) + 1
    candidates = {path[:depth] for path in space.paths if len(path) >= depth}
    fitting: list[Path] = [
        path for path in candidates if all(path[level] == name for level, name in named.items())
    ]
    if not fitting:
        names = [path[depth - 1] for path in candidates]
        fix = f"{guess(named[depth - 1], names)}Names look like {JOINT.join(space.paths[0])!r}."
        raise InvalidInput("there is no such region", dict(what), fix)
    require(len(fitting) == 1, "this fits several regions", dict(what), "Name the levels above it too.")
    return fitting[0]
