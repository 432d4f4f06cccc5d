"""Settings and events as JSON, and back to the last bit.

Values of Zonal's own classes are objects with their class's name under "$". What is the user's own (a function, a
class) cannot be stored: a mark says that it was given, and whoever reads the settings back has to give it again.
Numbers keep all their digits; large arrays are compressed.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from zonal.averages.custom import Custom
from zonal.averages.feedback import Average, Beam, Center, Mean
from zonal.averages.kernels import RBF, Categorical, Kernel, Matern, Mixed, Sum
from zonal.averages.motifs import Motif
from zonal.beliefs.lattice import Fit, Weighted
from zonal.beliefs.model import Model
from zonal.errors import InvalidInput, StudyFileError
from zonal.policies import Setting, Shape
from zonal.policies.baselines import UCB, Random, Thompson, UniformGrid
from zonal.policies.gptree import GPTree
from zonal.policies.knowledge import KnowledgeGradient
from zonal.policies.optimistic import GPOO, StoOO
from zonal.problems import PerWeight
from zonal.rounds.events import (
    Asked,
    Began,
    Edited,
    Ended,
    Event,
    Extended,
    Observed,
    Refitted,
    Split,
    Taken,
    Told,
)
from zonal.rounds.settings import Problem, Settings
from zonal.spaces import (
    Box,
    Category,
    Hierarchy,
    Interval,
    MemberRegion,
    MemberSpace,
    Points,
    Product,
    ProductRegion,
    Sequences,
)
from zonal.spaces.forbidden import Overlapping
from zonal.spaces.members import Level
from zonal.theory import GeometricDelta, LipschitzDelta, SpreadDelta

KERNELS = (RBF, Matern, Categorical, Motif, Mixed, Sum)
REGIONS = (ProductRegion, MemberRegion)
EVENTS = (Began, Asked, Taken, Told, Ended, Observed, Refitted, Extended, Edited)
VALUES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(Box, Product, Sequences, Interval, Category, Level),
        *(Center, Average, Mean, Beam, PerWeight, Overlapping),
        *(GPOO, StoOO, GPTree, KnowledgeGradient, UCB, Random, Thompson, UniformGrid),
        *(GeometricDelta, LipschitzDelta, SpreadDelta),
        *(Fit, Weighted, Model),
        *(*KERNELS, *REGIONS, *EVENTS),
    )
}
# Spaces of members as they are kept, order and levels included: opening sorts nothing, in any release.
MEMBERS: dict[str, tuple[type[MemberSpace], tuple[str, ...]]] = {
    "Points": (
        Points,
        ("names", "labels", "symbolic", "arity", "smallest", "features", "weights", "rows", "_levels"),
    ),
    "Hierarchy": (
        Hierarchy,
        ("names", "labels", "levels", "symbolic", "paths", "smallest", "features", "weights", "rows", "_levels"),
    ),
}
OWN = ("space", "kernel", "noise", "feedback", "policy", "delta", "forbidden")  # what may be the user's own
NEEDED = ("space", "feedback")  # to make anything at all of the events
LONG = 64  # numbers in a tuple of whole numbers, from which on it is stored as an array
MOST_BYTES = 1 << 29  # of all arrays that are read together: a few bytes of a file may say that they are more
TOO_LARGE = f"arrays of more than {MOST_BYTES} bytes are not kept in a file"
# What reading values that make no sense may raise, beside what Zonal says itself.
SENSELESS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, zlib.error)


class NotStorable(Exception):
    """Something of the user's own."""


@dataclass(frozen=True)
class Absent:
    """Stands for a function that was not given again: it may be there, and not be called."""

    name: str

    def __call__(self, *_: object) -> NoReturn:
        """Refuse."""
        raise StudyFileError(
            f"this needs the study's own {self.name}, which is not in its file. Open it with {self.name}=..."
        )


@dataclass(frozen=True)
class AbsentPolicy:
    """Stands for a policy that was not given again; the state still follows from what it was like."""

    empirical: bool
    whole: bool
    inner: bool
    missing: Absent = Absent("policy")

    def depth(self, shape: Shape, budget: int) -> int:
        """Refuse."""
        self.missing()

    def bind(self, setting: Setting) -> NoReturn:
        """Refuse."""
        self.missing()


@dataclass(frozen=True)
class Opened:
    """Settings as read back.

    Attributes
    ----------
    settings : Settings
        With stand-ins for what is missing.
    missing : dict of str to str
        What was the user's own and was not given again, and how it was called.
    """

    settings: Settings
    missing: dict[str, str]

    @property
    def knows(self) -> bool:
        """Whether there can be a posterior: not without the kernel."""
        return "kernel" not in self.missing


def settings_to_json(settings: Settings) -> str:
    """Return settings as text."""
    stored: dict[str, Any] = {}
    for field in fields(settings):
        try:
            stored[field.name] = _own(field.name, getattr(settings, field.name))
        except NotStorable as error:
            raise InvalidInput(
                f"{field.name} cannot be kept in a file", error.args[0], "Use what comes with Zonal, or functions."
            ) from None
    size = sum(_sizes(stored))
    if size > MOST_BYTES:
        raise InvalidInput(TOO_LARGE, size, "Keep the study in memory, or use fewer members.")
    return _dump(stored)


def _own(name: str, value: Any) -> Any:
    """Return a setting to be stored; a mark where it is the user's own."""
    try:
        return encode(value)
    except NotStorable:
        if name == "policy" and type(value) in VALUES.values():
            parts = {field.name: _own(field.name, getattr(value, field.name)) for field in fields(value)}
            return {"$": type(value).__name__, **parts}
        if name not in OWN:
            raise
    mark = {"$": "own", "name": name, "shown": getattr(value, "__qualname__", type(value).__qualname__)}
    if name == "policy":
        mark |= {trait: bool(getattr(value, trait)) for trait in ("empirical", "whole", "inner")}
    return mark


def settings_from_json(text: str, given: Mapping[str, Any]) -> Opened:
    """Return settings from text.

    Parameters
    ----------
    text : str
        As `settings_to_json` made it.
    given : mapping of name to function or object
        What is the user's own, again.
    """
    missing: dict[str, str] = {}
    used: set[str] = set()

    def own(mark: dict[str, Any]) -> Any:
        name = mark["name"]
        used.add(name)
        if given.get(name) is not None:
            return given[name]
        if name in NEEDED:
            raise StudyFileError(
                f"this study was made with the user's own {name} ({mark['shown']}), and without it there is "
                f"nothing to see. Open it with {name}=..."
            )
        missing[name] = mark["shown"]
        if name == "policy":
            return AbsentPolicy(mark["empirical"], mark["whole"], mark["inner"])
        return Absent(name)

    document = json.loads(text)
    decode = Decoder(own=own)
    decode.space = decode(document.pop("space"))  # first: regions are parts of it
    settings = Settings(space=decode.space, **{name: decode(value) for name, value in document.items()})
    for name in given:
        if name not in used:
            raise InvalidInput(
                f"this study's {name} is not the user's own: it is in the file",
                given[name],
                f"Leave {name}= out; to change it begin a new study.",
            )
    if "kernel" in missing:
        policy = KnowledgeGradient() if settings.policy is None else settings.policy
        blind: Any = AbsentPolicy(empirical=True, whole=policy.whole, inner=policy.inner, missing=Absent("kernel"))
        settings = replace(settings, kernel=None, policy=blind)
    return Opened(settings, missing)


class Events:
    """Events of one study as text, and back.

    Parameters
    ----------
    opened : Opened
        The study's settings; where the kernel is missing, fits are left out: they are nothing without it.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    @cached_property
    def _decode(self) -> Decoder:
        settings = self._opened.settings
        return Decoder(space=settings.space, given=settings)

    def write(self, event: Event) -> str:
        """Return an event as text."""
        try:
            return _dump(encode(event, self._opened.settings))
        except NotStorable as error:
            raise InvalidInput(
                "this cannot be kept in a file", error.args[0], "Use what comes with Zonal, or a study in memory."
            ) from None

    def renew(self) -> None:
        """Read on: what is bounded is the size of arrays that are read together."""
        self._decode.left = MOST_BYTES

    def read(self, text: str) -> Event:
        """Return an event from text."""
        document = json.loads(text)
        if not self._opened.knows and "fit" in document:
            document["fit"] = None
        event: Event = self._decode(document)
        if not isinstance(event, EVENTS):
            raise ValueError(f"{document['$']} is no event")
        return event


def encode(value: Any, given: Settings | None = None) -> Any:
    """Return a value as JSON has it.

    Parameters
    ----------
    value : object
    given : Settings, optional
        Of the study whose event this is: it may hold the study's own feedback or kernel, or one of its class.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$": "float", "is": str(float(value))}
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Split):
        return [value.row, value.expanded, encode(value.noise), list(value.forbidden), value.checksum]
    if isinstance(value, tuple | list):
        if len(value) >= LONG and all(type(item) is int for item in value):
            return {**_array(np.array(value)), "$": "numbers"}
        return [encode(item, given) for item in value]
    if isinstance(value, dict):
        return {"$": "dict", "items": {key: encode(item, given) for key, item in value.items()}}
    if isinstance(value, type):
        if value not in KERNELS:
            raise NotStorable(value)
        return {"$": "class", "name": value.__name__}
    if given is not None and isinstance(value, Kernel) and _is_given(value, given.kernel):
        return {"$": "given", "name": "kernel"}
    name, kind = type(value).__name__, type(value)
    if name in MEMBERS and kind is MEMBERS[name][0]:
        return {"$": name, **{part: encode(getattr(value, part)) for part in MEMBERS[name][1]}}
    if VALUES.get(name) is kind:
        stored = {field.name: field for field in fields(value)}
        if isinstance(value, REGIONS):
            del stored["space"]  # it is the study's
        return {"$": name, **{part: encode(getattr(value, part), given) for part in stored}}
    if given is not None and value == given.feedback:
        return {"$": "given", "name": "feedback"}
    if given is not None and kind is given.kernel and is_dataclass(value):
        return {"$": "learned", **{field.name: encode(getattr(value, field.name)) for field in fields(value)}}
    raise NotStorable(value)


def _is_given(kernel: Kernel, given: Any) -> bool:
    """Tell whether a model's kernel is the one that the user gave, as a kernel or as a function."""
    return bool(kernel == given) or (isinstance(kernel, Custom) and kernel.function is given)


def _sizes(stored: Any) -> Iterator[int]:
    """Yield the size of each array among what is stored, in bytes."""
    if isinstance(stored, dict) and "zlib" in stored:
        yield _size_of(stored)
    elif isinstance(stored, dict | list):
        for part in stored.values() if isinstance(stored, dict) else stored:
            yield from _sizes(part)


def _size_of(stored: dict[str, Any]) -> int:
    """Return the size of a stored array in bytes, whatever its compressed bytes come to."""
    kind, shape = np.dtype(stored["kind"]), stored["shape"]
    if kind.kind not in "iufb" or not all(isinstance(number, int) and number >= 0 for number in shape):
        raise ValueError(f"there are no arrays of {kind}, {shape}")
    return int(kind.itemsize * math.prod(shape))


def _array(value: NDArray[Any]) -> dict[str, Any]:
    """Return an array, compressed, its numbers as little-endian bytes."""
    if value.dtype.kind not in "iufb":
        raise NotStorable(value)
    kind = value.dtype.newbyteorder("<")
    packed = zlib.compress(np.ascontiguousarray(value, dtype=kind).tobytes(), 6)
    return {"$": "array", "kind": kind.str, "shape": list(value.shape), "zlib": base64.b64encode(packed).decode()}


@dataclass
class Decoder:
    """Makes values of JSON.

    Attributes
    ----------
    own : callable, optional
        Turns the mark of something of the user's own into a value.
    space : optional
        Of the study whose events are read.
    given : Settings, optional
        Of that study.
    left : int
        Bytes that arrays may still have.
    """

    own: Callable[[dict[str, Any]], Any] | None = None
    space: Any = None
    given: Settings | None = None
    left: int = MOST_BYTES

    def __call__(self, value: Any) -> Any:
        """Return the value of which `encode` made this."""
        if isinstance(value, list):
            return tuple(map(self, value))
        if not isinstance(value, dict):
            return value
        name = value["$"]
        if name == "float":
            return float(value["is"])
        if name in ("array", "numbers"):
            return self._array(value) if name == "array" else tuple(self._array(value).tolist())
        if name == "dict":
            return {key: self(item) for key, item in value["items"].items()}
        if name == "class":
            return {kind.__name__: kind for kind in KERNELS}[value["name"]]
        if name == "own" and self.own is not None:
            return self.own(value)
        if name == "given" and self.given is not None:
            return self._kernel if value["name"] == "kernel" else self.given.feedback
        parts = {part: self(item) for part, item in value.items() if part != "$"}
        if name == "learned" and self.given is not None:
            return self.given.kernel(**parts)
        if name in MEMBERS:
            members, known = MEMBERS[name]
            return _whole(object.__new__(members), {**parts, "_levels": list(parts["_levels"])}, known)
        if name not in VALUES:
            raise StudyFileError(
                f"the study holds a {name}, which this version of Zonal does not know. Upgrade Zonal."
            )
        kind = VALUES[name]
        if "grown" in parts:
            parts["grown"] = tuple(tuple(Split(*split) for split in batch) for batch in parts["grown"])
        if kind in REGIONS:
            parts["space"] = self.space
        if kind in (Box, Product, Sequences):  # made of what users pass, but kept as what it came to
            return _whole(kind.__new__(kind), parts, [field.name for field in fields(kind)])
        return kind(**parts)

    def _array(self, value: dict[str, Any]) -> NDArray[Any]:
        """Return an array; it is not made before its size is known and allowed."""
        size = _size_of(value)
        self.left -= size
        if self.left < 0:
            raise StudyFileError(f"{TOO_LARGE}, and here is one of {size}.")
        unpack = zlib.decompressobj()
        content = unpack.decompress(base64.b64decode(value["zlib"]), size + 1)
        if len(content) != size or not unpack.eof:
            raise ValueError("an array is not as large as it says")
        kind = np.dtype(value["kind"])
        array = np.frombuffer(content, kind).reshape(value["shape"]).astype(kind.newbyteorder("="))
        array.flags.writeable = False
        return array

    @cached_property
    def _kernel(self) -> Any:
        """The kernel that was given, as models hold it."""
        assert self.given is not None
        return Problem(self.given).unknowns.given


def _whole(space: Any, parts: dict[str, Any], known: Iterable[str]) -> Any:
    """Return a space with all of its parts, checked: nothing was computed, and nothing is taken on trust."""
    if not parts.keys() <= set(known):
        raise ValueError(f"{type(space).__name__} has no {', '.join(parts.keys() - set(known))}")
    for part, item in parts.items():
        object.__setattr__(space, part, item)
    space.check()
    return space


def _dump(document: Any) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))
