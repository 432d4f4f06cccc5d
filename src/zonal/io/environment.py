"""The environment variables in which a program finds its region, and which names of axes they confuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from zonal.errors import InvalidInput

PREFIX = "ZONAL_"
LOW, HIGH = "_LOW", "_HIGH"
TOLD = ("trial", "replicate", "attempt", "study", "region", "time", "cost")  # what programs are told besides axes


def variable(name: str) -> str:
    """Return the variable of an axis or another name: in capitals, other characters as underscores."""
    return PREFIX + re.sub(r"[^A-Z0-9]", "_", name.upper())


def check_variables(space: Any, fix: str = "Rename one of them.") -> None:
    """Raise if two axes, or an axis and what programs are told besides, have the same variable."""
    taken = {variable(name): f"the {name}" for name in TOLD}
    for name, variable_name in _variables(space):
        axis = f"axis {name!r}"
        if variable_name in taken:
            problem = f"{taken[variable_name]} and {axis} have the same environment variable for programs"
            raise InvalidInput(problem, variable_name, fix)
        taken[variable_name] = axis


def _variables(space: Any) -> Iterator[tuple[str, str]]:
    """Yield the name of each axis or feature with each of its variables."""
    if getattr(space, "is_sequence", False):
        return
    names = [(axis.name, axis.is_categorical) for axis in space.axes or ()]
    if space.axes is None and not space.is_categorical:
        names = [(name, False) for name in space.names]
    for name, is_categorical in names:
        for ending in [""] if is_categorical else [LOW, HIGH]:
            yield name, variable(name) + ending
