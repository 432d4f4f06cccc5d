"""Frozen values as JSON, and back exactly: each is stored by its class, field by field.

An object has the name of its class under "$". Names are looked up among Zonal's public ones and classes that the
caller passes; nothing is imported because a file names it. Numbers keep all digits; large arrays are compressed.
What is read is not trusted: each class checks its fields as if a user had passed them.
"""

from __future__ import annotations

import base64
import math
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal import spaces
from zonal.engine import events
from zonal.errors import StudyFileError
from zonal.gp import hyperparameters
from zonal.kernels import base
from zonal.spaces import ContinuousAxis, LogAxis, Region

Given = Callable[[Any], Any] | None  # returns a mark for what is known from the settings
NESTED = frozenset((dict, list))  # JSON types that are not plain values
MARKS = ("own", "given", "learned")  # for what is not stored
PLAIN = frozenset((type(None), bool, int, float, str, np.ndarray))
LEAST_PACKED = 64  # integers in a tuple, from which on it is stored as an array
MOST_BYTES = 1 << 29  # of all arrays read together: a few compressed bytes can claim to be far more
TOO_LARGE = f"arrays of more than {MOST_BYTES} bytes cannot be stored in a file"
# What reading meaningless values may raise, besides Zonal's own errors.
SENSELESS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, zlib.error)


class NotStorable(Exception):
    """A value without fields to store."""


class UnknownClass(StudyFileError):
    """A file names a class that is neither Zonal's nor among those passed."""


@cache
def public() -> dict[str, type]:
    """Return Zonal's own classes that can be stored, by name: public ones, and those their fields need."""
    found: dict[str, type] = {}
    for shelf in (hyperparameters, events, base, spaces, sys.modules["zonal"]):
        listed = getattr(shelf, "__all__", None)
        for name, kind in vars(shelf).items():
            offered = name in listed if listed else getattr(kind, "__module__", "") == shelf.__name__
            if offered and isinstance(kind, type) and stored(kind) is not None:
                found[name] = kind
    return found


@cache
def stored(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields by which values of a class are stored; None if they cannot be stored."""
    if issubclass(kind, tuple):
        return getattr(kind, "_fields", None)
    if not is_dataclass(kind) or not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return None
    skipped = "space" if issubclass(kind, Region) else ""  # all regions of a study share it
    return tuple(own.name for own in fields(kind) if own.name != skipped)


def own_classes(value: Any) -> dict[str, type]:
    """Return the classes in a value that are not Zonal's, by name."""
    if type(value) in PLAIN:
        return {}
    kind = value if isinstance(value, type) else type(value)
    known = stored(kind) is None or public().get(kind.__name__) is kind
    found = {} if known else {kind.__name__: kind}
    for part in _parts(value):
        found |= own_classes(part)
    return found


def _parts(value: Any) -> Iterable[Any]:
    """Return the fields or items of a value; a class has none."""
    kind: type = type(value)
    names = stored(kind)
    if names is not None:
        return [getattr(value, name) for name in names]
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, tuple | list) else ()


def encode(value: Any, given: Given = None) -> Any:
    """Return a value as JSON types."""
    write = WRITERS.get(type(value))
    if write is None:  # a subclass of one of these, or a value of fields
        kinds = () if hasattr(value, "_fields") else WRITERS
        write = next((WRITERS[kind] for kind in kinds if isinstance(value, kind)), _by_fields)
    return write(value, given)


def _plain(value: Any, given: Given) -> Any:
    return value


def _float(value: float, given: Given) -> Any:
    return float(value) if math.isfinite(value) else {"$": "float", "is": str(float(value))}


def _listed(value: Sequence[Any], given: Given) -> Any:
    if len(value) >= LEAST_PACKED and all(type(item) is int for item in value):
        return {**_packed(np.array(value)), "$": "numbers"}
    return [encode(item, given) for item in value]


def _by_fields(value: Any, given: Given) -> Any:
    """Return a value by its fields, a class by its name, or the mark of what is known from the settings."""
    mark = None if given is None else given(value)
    if mark is not None:
        return mark
    kind = value if isinstance(value, type) else type(value)
    name, parts = kind.__name__, stored(kind)
    if parts is None or public().get(name, kind) is not kind:
        raise NotStorable(value)
    if value is kind:
        return {"$": "class", "name": name}
    return {"$": name, **{part: encode(getattr(value, part), given) for part in parts}}


def _packed(value: NDArray[Any], given: Given = None) -> dict[str, Any]:
    """Return an array, compressed, its numbers as little-endian bytes."""
    if value.dtype.kind not in "iufb":
        raise NotStorable(value)
    kind = value.dtype.newbyteorder("<")
    packed = zlib.compress(np.ascontiguousarray(value, dtype=kind).tobytes(), 6)
    return {"$": "array", "kind": kind.str, "shape": list(value.shape), "zlib": base64.b64encode(packed).decode()}


WRITERS: dict[type, Callable[[Any, Given], Any]] = {
    **dict.fromkeys((type(None), bool, int, str), _plain),
    **dict.fromkeys((tuple, list), _listed),
    float: _float,
    dict: lambda value, given: {"$": "dict", "items": {key: encode(item, given) for key, item in value.items()}},
    np.ndarray: _packed,
    np.generic: lambda value, given: encode(value.item()),
}


def array_sizes(document: Any) -> Iterator[int]:
    """Yield the size in bytes of each array in a document."""
    if isinstance(document, dict) and "zlib" in document:
        yield _size_of(document)
    elif isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from array_sizes(part)


def _size_of(packed: dict[str, Any]) -> int:
    """Return the size that a stored array claims to have, in bytes."""
    kind, shape = np.dtype(packed["kind"]), packed["shape"]
    if kind.kind not in "iufb" or not all(isinstance(number, int) and number >= 0 for number in shape):
        raise ValueError(f"arrays of {kind}, {shape} are not possible")
    return int(kind.itemsize * math.prod(shape))


@dataclass
class Decoder:
    """Turns JSON back into values."""

    classes: Mapping[str, type] = field(default_factory=dict)  # classes that may be named besides Zonal's
    own: Callable[[dict[str, Any]], Any] | None = None  # turns marks, for what is not stored, into values
    space: Any = None  # of the study whose regions are read
    left: int = MOST_BYTES  # bytes that arrays may still take

    def __post_init__(self) -> None:
        # Of values whose parts are decoded first, by the name they are stored under.
        self._makers: dict[str, Callable[..., Any]] = {
            "Interval": _interval,
            "float": _number,
            "array": self._array,
            "numbers": self._numbers,
            "class": self._kind,
        }

    def __call__(self, value: Any) -> Any:
        """Return the value that `encode` turned into this."""
        if isinstance(value, list):
            return tuple([self(item) if type(item) in NESTED else item for item in value])
        if not isinstance(value, dict):
            return value
        make = self._makers.get(value["$"])
        if make is None:
            return self._otherwise(value["$"], value)
        # Most parts are plain; skipping the call saves time.
        parts = {part: self(own) if type(own) in NESTED else own for part, own in value.items() if part != "$"}
        return make(**parts)

    def _otherwise(self, name: str, value: dict[str, Any]) -> Any:
        """Return a mapping, what a mark stands for, or the first value of its class."""
        if name == "dict":
            return {key: self(item) for key, item in value["items"].items()}
        if name in MARKS and self.own is not None:
            return self.own(value)
        self._makers[name] = self._maker(self._kind(name))
        return self(value)

    def _maker(self, kind: type) -> Callable[..., Any]:
        """Return what makes values of a class from their fields."""
        if issubclass(kind, Region):
            return partial(kind, self.space)
        whole = is_dataclass(kind) and not kind.__dataclass_params__.init  # type: ignore[attr-defined]
        return partial(_whole, kind) if whole else kind

    def _numbers(self, **packed: Any) -> tuple[int, ...]:
        return tuple(self._array(**packed).tolist())

    def _kind(self, name: Any) -> type:
        """Return the class that a file names."""
        kind = public().get(name) or self.classes.get(name)
        if kind is None:
            raise UnknownClass(
                f"the study holds a {name}, which this version of Zonal does not know. Upgrade Zonal; or, if it "
                f"is a class of your own, open the study with classes=[{name}]."
            )
        return kind

    def _array(self, **packed: Any) -> NDArray[Any]:
        """Return an array, after its size was checked."""
        size = _size_of(packed)
        self.left -= size
        if self.left < 0:
            raise StudyFileError(f"{TOO_LARGE}; this one has {size}.")
        unpack = zlib.decompressobj()
        content = unpack.decompress(base64.b64decode(packed["zlib"]), size + 1)
        if len(content) != size or not unpack.eof:
            raise ValueError("an array is not as large as it claims")
        kind = np.dtype(packed["kind"])
        array = np.frombuffer(content, kind).reshape(packed["shape"]).astype(kind.newbyteorder("="))
        array.flags.writeable = False
        return array


def _number(**parts: Any) -> float:
    return float(parts["is"])


def _interval(log: bool = False, given: Any = None, **parts: Any) -> ContinuousAxis:
    """Return a continuous axis; up to format 2 logarithmic ones were stored under this name too."""
    return LogAxis(**parts, given=given) if log else ContinuousAxis(**parts)


def _whole(kind: type, **parts: Any) -> Any:
    """Return a value whose constructor takes other arguments than its fields; it checks itself."""
    if not parts.keys() <= set(stored(kind) or ()):
        raise ValueError(f"{kind.__name__} has no {', '.join(parts.keys() - set(stored(kind) or ()))}")
    value: Any = object.__new__(kind)
    for part, item in parts.items():
        object.__setattr__(value, part, item)
    value.check()
    return value
