"""Frozen values as JSON, and back exactly: every value is stored by its class, field by field.

An object has the name of its class under "$". Names are looked up among Zonal's public ones and classes that the
caller passes; nothing is imported because a file names it. Numbers keep all digits; large arrays are compressed.
What is read is not trusted: every class checks its fields as if a user had passed them.
"""

from __future__ import annotations

import base64
import math
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import cache, partial
from inspect import signature
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from zonal import spaces
from zonal._types import Json
from zonal.engine import events
from zonal.errors import StudyFileError
from zonal.gp import hyperparameters
from zonal.gp.model import Model
from zonal.kernels import base
from zonal.kernels.feedback import Feedback
from zonal.policies.base import Policy
from zonal.spaces import Region


class HasFields(Protocol):
    """An instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


JsonObject = dict[str, Json]
Plain = NDArray[np.generic] | np.generic | float | str | None
Part = base.Kernel | Feedback | Policy | spaces.Space | spaces.Region | events.Event | HasFields
Storable: TypeAlias = "Plain | Part | Mapping[str, Storable] | Sequence[Storable] | Callable[..., Storable]"
Marker = Callable[[Storable], JsonObject | None]  # returns the mark of a value that is not stored; None if it is
T = TypeVar("T")
GIVEN = "given"  # marks what the user gave, which is not stored
# Fields that are not stored where they have their default, by class.
LEFT_OUT: dict[type, tuple[str, ...]] = {
    events.Asked: ("labels",),
    **dict.fromkeys((events.Told, events.Observed, events.Corrected), ("reading", "labels")),
    Model: ("law", "beam", "offsets", "unrelated"),
}
NESTED = frozenset((dict, list))  # JSON types that are not plain values
PLAIN = frozenset((type(None), bool, int, float, str, np.ndarray))
MIN_PACKED = 64  # integers in a tuple, from which on it is stored as an array
MAX_BYTES = 1 << 29  # of all arrays read together: a few compressed bytes can claim to be far more
TOO_LARGE = f"arrays of more than {MAX_BYTES} bytes cannot be stored in a file"
# What decoding meaningless values may raise, besides Zonal's own errors.
DECODE_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, zlib.error)


class NotStorable(Exception):
    """A value without fields to store."""


class UnknownClass(StudyFileError):
    """A file names a class that is neither Zonal's nor among those passed."""


@cache
def zonal_classes() -> dict[str, type]:
    """Return Zonal's classes that can be stored, by name: public ones, and those their fields need."""
    classes: dict[str, type] = {}
    for module in (hyperparameters, events, base, spaces, sys.modules["zonal"]):
        exported = getattr(module, "__all__", None)
        for name, kind in vars(module).items():
            public = name in exported if exported else getattr(kind, "__module__", "") == module.__name__
            if public and isinstance(kind, type) and stored_fields(kind) is not None:
                classes[name] = kind
    return classes


@cache
def stored_fields(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields by which values of a class are stored; None if they cannot be stored."""
    if issubclass(kind, tuple):
        return getattr(kind, "_fields", None)
    if not is_dataclass(kind) or not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return None
    skipped = "space" if issubclass(kind, Region) else ""  # all regions of a study share it
    return tuple(part.name for part in fields(kind) if part.name != skipped)


def user_classes(value: Storable) -> dict[str, type]:
    """Return the classes in a value that are not Zonal's, by name."""
    if type(value) in PLAIN:
        return {}
    kind = value if isinstance(value, type) else type(value)
    stranger = stored_fields(kind) is not None and zonal_classes().get(kind.__name__) is not kind
    classes = {kind.__name__: kind} if stranger else {}
    for part in _parts(value):
        classes |= user_classes(part)
    return classes


def _parts(value: Storable) -> Iterable[Storable]:
    """Return the fields or items of a value; a class has none."""
    kind: type = type(value)
    names = stored_fields(kind)
    if names is not None:
        return [getattr(value, name) for name in names]
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, tuple | list) else ()


def encode(value: Storable, mark: Marker | None = None) -> Json:
    """Return a value as JSON types."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$": "float", "is": str(float(value))}
    if isinstance(value, np.ndarray):
        return _packed(value, "array")
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, dict):
        return {"$": "dict", "items": {key: encode(item, mark) for key, item in value.items()}}
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return _listed(value, mark)
    return _by_fields(value, mark)


def _listed(items: Sequence[Storable], mark: Marker | None) -> Json:
    if len(items) >= MIN_PACKED and all(type(item) is int for item in items):
        return _packed(np.array(items), "numbers")
    return [encode(item, mark) for item in items]


def _by_fields(value: Storable, mark: Marker | None) -> Json:
    """Return a value by its fields, a class by its name, or the mark of what is not stored."""
    marked = None if mark is None else mark(value)
    if marked is not None:
        return marked
    kind = value if isinstance(value, type) else type(value)
    name, parts = kind.__name__, stored_fields(kind)
    if parts is None or zonal_classes().get(name, kind) is not kind:
        raise NotStorable(value)
    if value is kind:
        return {"$": "class", "name": name}
    held = {part: getattr(value, part) for part in parts}
    sparse = {part for part, default in _left_out(kind).items() if held[part] == default}
    return {"$": name, **{part: encode(item, mark) for part, item in held.items() if part not in sparse}}


@cache
def _left_out(kind: type) -> dict[str, Any]:
    """Return the defaults of the fields of a class that are not stored where they have them."""
    return {part: signature(kind).parameters[part].default for part in LEFT_OUT.get(kind, ())}


def _packed(array: NDArray[np.generic], kind: str) -> Json:
    """Return an array, compressed, its numbers as little-endian bytes."""
    if array.dtype.kind not in "iufb":
        raise NotStorable(array)
    dtype = array.dtype.newbyteorder("<")
    content = zlib.compress(np.ascontiguousarray(array, dtype=dtype).tobytes(), 6)
    text = base64.b64encode(content).decode()
    return {"$": kind, "kind": dtype.str, "shape": list(array.shape), "zlib": text}


def objects_in(document: Json) -> Iterator[JsonObject]:
    """Yield every object in a JSON document."""
    if isinstance(document, dict):
        yield document
    if isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from objects_in(part)


def array_bytes(packed: JsonObject) -> int:
    """Return the size that a stored array claims to have, in bytes."""
    shape: Any = packed["shape"]
    dtype = np.dtype(str(packed["kind"]))
    if dtype.kind not in "iufb" or not all(isinstance(length, int) and length >= 0 for length in shape):
        raise ValueError(f"arrays of {dtype}, {shape} are not possible")
    return int(dtype.itemsize * math.prod(shape))


@dataclass
class Decoder:
    """Turns JSON back into values."""

    classes: Mapping[str, type] = field(default_factory=dict)  # classes that may be named besides Zonal's
    given: Callable[[JsonObject], Any] | None = None  # returns what a mark stands for
    space: spaces.Space | None = None  # of the study whose regions are read
    left: int = MAX_BYTES  # bytes that arrays may still take

    def __post_init__(self) -> None:
        self._makers: dict[str, Callable[..., Any]] = {}  # of values of a class from their fields, by its name
        self._readers: dict[str, Callable[[JsonObject], Any]] = {  # of what is not stored by the fields of a class
            "float": lambda document: float(str(document["is"])),
            "dict": self._dict,
            "array": self._array,
            "numbers": lambda document: tuple(self._array(document).tolist()),
            "class": lambda document: self._class(str(document["name"])),
        }
        if self.given is not None:
            self._readers[GIVEN] = self.given

    def __call__(self, document: Json) -> Any:
        """Return the value that `encode` turned into this."""
        if isinstance(document, list):
            return tuple([self(item) if type(item) in NESTED else item for item in document])
        if not isinstance(document, dict):
            return document
        name: Any = document["$"]
        if name in self._readers:
            return self._readers[name](document)
        make = self._makers.get(name)
        if make is None:
            make = self._makers[name] = self._maker(self._class(name))
        # Most parts are plain; skipping the call saves time.
        parts = {part: self(item) if type(item) in NESTED else item for part, item in document.items()}
        del parts["$"]
        return make(**parts)

    def _dict(self, document: JsonObject) -> dict[str, Storable]:
        items: Any = document["items"]
        return {key: self(item) for key, item in items.items()}

    def _maker(self, kind: type[T]) -> Callable[..., T]:
        """Return what makes values of a class from their fields."""
        if issubclass(kind, Region):
            return partial(kind, self.space)  # type: ignore[arg-type]  # it is read before any region
        by_init = not is_dataclass(kind) or kind.__dataclass_params__.init  # type: ignore[attr-defined]
        return kind if by_init else partial(_restored, kind)

    def _class(self, name: str) -> type:
        """Return the class that a file names."""
        kind = zonal_classes().get(name) or self.classes.get(name)
        if kind is None:
            raise UnknownClass(
                f"the study holds a {name}, which this version of Zonal does not know. Upgrade Zonal; or, if it "
                f"is a class of your own, open the study with classes=[{name}]."
            )
        return kind

    def _array(self, packed: JsonObject) -> NDArray[np.generic]:
        """Return an array, after its size was checked."""
        size = array_bytes(packed)
        self.left -= size
        if self.left < 0:
            raise StudyFileError(f"{TOO_LARGE}; this one has {size}.")
        unpack = zlib.decompressobj()
        content = unpack.decompress(base64.b64decode(str(packed["zlib"])), size + 1)
        if len(content) != size or not unpack.eof:
            raise ValueError("an array is not as large as it claims")
        dtype = np.dtype(str(packed["kind"]))
        shape: Any = packed["shape"]
        array = np.frombuffer(content, dtype).reshape(shape).astype(dtype.newbyteorder("="))
        array.flags.writeable = False
        return array


def _restored(kind: type[T], **parts: Storable) -> T:
    """Return a value whose constructor takes other arguments than its fields; it checks itself."""
    strange = parts.keys() - set(stored_fields(kind) or ())  # type: ignore[arg-type]  # classes can be hashed
    if strange:
        raise ValueError(f"{kind.__name__} has no {', '.join(strange)}")
    value = object.__new__(kind)
    for part, item in parts.items():
        object.__setattr__(value, part, item)
    value.check()  # type: ignore[attr-defined]  # as every class without a constructor of its fields has
    return value
