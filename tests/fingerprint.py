"""The complete state of a study as one digest, to tell whether anything at all has changed."""

import functools
import hashlib
import types
from typing import Any

import numpy as np

import zonal as zn

# What only remembers results that can be computed again: it may change without the study changing.
MEMORIES = {"_overlay", "_overlaid", "_values", "_kept"}


def fingerprint(study: zn.Study) -> str:
    """Return a digest of all that a study holds, to the last bit: its trials, tree, belief and buffers."""
    digest = hashlib.sha256()
    _walk(study, digest.update)
    return digest.hexdigest()


def _walk(value: Any, write: Any) -> None:
    write(f"<{type(value).__qualname__}>".encode())
    if isinstance(value, np.ndarray):
        write(f"{value.dtype}{value.shape}".encode())
        write(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, float):
        write(value.hex().encode())
    elif value is None or isinstance(value, (bool, int, str, bytes, slice, range, np.generic)):
        write(repr(value).encode())
    elif isinstance(value, np.random.Generator):
        write(repr(value.bit_generator.state).encode())
    elif isinstance(value, dict):
        for key, item in value.items():
            _walk(key, write)
            _walk(item, write)
    elif isinstance(value, (set, frozenset)):
        for item in sorted(value):
            _walk(item, write)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _walk(item, write)
    elif isinstance(value, functools.partial):
        _walk([value.args, value.keywords], write)
    elif isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        write(value.__qualname__.encode())
    else:
        kind = type(value)
        cached = {name for name in vars(value) if isinstance(getattr(kind, name, None), functools.cached_property)}
        _walk({name: item for name, item in vars(value).items() if name not in MEMORIES | cached}, write)
    write(b"</>")
