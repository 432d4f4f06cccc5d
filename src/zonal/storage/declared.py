"""Whether what was read from a file has the types that its class declares, so that it cannot fail later."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from zonal.kernels.base import Kernel

CHECKED_WHEN_MADE = (Kernel,)  # their own constructors check their fields


@cache
def _hints(kind: Hashable) -> dict[str, Any]:
    hints: dict[str, Any] = get_type_hints(kind)
    return hints


def check_types(value: Any) -> None:
    """Raise TypeError if a field of a fact, or of what it consists of, is not of the type that is declared."""
    kind: Any = type(value)
    for name, hint in _hints(kind).items():
        own = getattr(value, name)
        if not _is(own, hint):
            raise TypeError(f"{type(value).__name__}.{name} cannot be {own!r}")


def _is(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a declared type; types that cannot be judged are believed."""
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_is(value, part) for part in parts)
    if origin is Literal:
        return any(value == part for part in parts)
    if origin is tuple:
        several = len(parts) == 2 and parts[1] is ...
        each = parts[:1] * len(value) if isinstance(value, tuple) and several else parts
        return isinstance(value, tuple) and len(value) == len(each) and all(map(_is, value, each))
    if origin is dict:
        return isinstance(value, dict)
    if hint is None or hint is NoneType:
        return value is None
    if not isinstance(hint, type):
        return True
    if isinstance(value, hint) and not isinstance(value, CHECKED_WHEN_MADE) and _has_parts(hint):
        check_types(value)
    return isinstance(value, hint)


def _has_parts(kind: type) -> bool:
    """Tell whether a class of ours has declared fields, and none but these."""
    return kind.__module__.startswith("zonal.gp") and (is_dataclass(kind) or issubclass(kind, tuple))
