"""Settings and events of a study as JSON, and back, with the types that their classes declare.

Values are stored by their class (`encoding.py`). A function of the user's has no fields to store: a mark takes its
place, and it has to be passed again when the settings are read back. Values of the user's classes are marked and
stored: passing the class is enough.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property
from types import UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from zonal._types import Json
from zonal.engine.events import Event, Transaction
from zonal.engine.settings import Problem, Settings, checked_again
from zonal.errors import InvalidInput, StudyFileError, ZonalError, require
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback
from zonal.policies.base import Policy, PolicyContext, Shape
from zonal.policies.knowledge_gradient import KnowledgeGradient
from zonal.spaces import Region
from zonal.storage.encoding import (
    DECODE_ERRORS,
    GIVEN,
    MAX_BYTES,
    TOO_LARGE,
    Decoder,
    JsonObject,
    NotStorable,
    Storable,
    UnknownClass,
    array_bytes,
    encode,
    objects_in,
    stored_fields,
    user_classes,
    zonal_classes,
)

FORMAT = 6  # of files and exports: of their settings, events and tables; no other is read
# Settings that the user may have defined.
USER_DEFINED = ("space", "kernel", "noise", "feedback", "target", "policy", "delta", "forbidden", "cost", "travel")
NEEDED = ("space", "feedback", "target")  # without these the events cannot be read at all
POLICY_FLAGS = ("model_free", "expands_fully", "measures_internal_nodes")  # without these no state can be read
EVENTS = frozenset(get_args(Event))
from_json = json.JSONDecoder().decode  # faster than `json.loads`, and files have many events


def format_fix(number: Json) -> str:
    """Return what to do with a file or an export of another format."""
    newer = isinstance(number, int) and number > FORMAT
    return "Upgrade Zonal." if newer else "Open it with the release of Zonal that wrote it."


@dataclass(frozen=True)
class Missing(Policy):
    """Takes the place of what the user defined and did not pass again: it raises when it is used.

    It is a function or a policy. The flags of a policy are stored, so that states can be read.
    """

    name: str  # of the setting
    shown: str  # the name of what was given
    model_free: bool = False
    expands_fully: bool = False
    measures_internal_nodes: bool = False

    def __call__(self, *_: Region) -> NoReturn:
        """Raise: it was not passed again."""
        raise StudyFileError(
            f"this needs the user's own {self.name}, which no file holds. Open it with {self.name}=..."
        )

    def depth(self, shape: Shape, budget: int) -> int:
        """Raise: it was not passed again."""
        self()

    def bind(self, setting: PolicyContext) -> NoReturn:
        """Raise: it was not passed again."""
        self()


@dataclass(frozen=True)
class DecodedSettings:
    """Settings as read back, and the events of their study as text, and back.

    Without the kernel fits are skipped, which need it.
    """

    settings: Settings  # with placeholders for what is missing
    missing: dict[str, str] = field(default_factory=dict)  # settings not passed again, and how they were shown
    classes: dict[str, type] = field(default_factory=dict)  # the user's classes that were passed, by name

    @property
    def has_kernel(self) -> bool:
        """Whether there can be a posterior: not without a kernel."""
        return "kernel" not in self.missing

    @cached_property
    def _decode(self) -> Decoder:
        return Decoder(self.classes | user_classes(self.settings), self._given, self.settings.space)

    def write(self, event: Transaction) -> str:
        """Return an event as text."""
        try:
            return _dump(encode(event, self._mark))
        except NotStorable as error:
            raise InvalidInput(
                "this cannot be stored in a file", error.args[0], "Use Zonal's classes, or a study in memory."
            ) from None

    def _mark(self, value: Storable) -> JsonObject | None:
        """Return a mark for the kernel that was given, as a kernel or a function, and for a user's feedback."""
        kernel = self.settings.kernel
        kind: type = type(value)
        if isinstance(value, Kernel) and kernel in (value, getattr(value, "function", value)):
            return {"$": GIVEN, "name": "kernel"}
        if stored_fields(kind) is None and value == self.settings.feedback:
            return {"$": GIVEN, "name": "feedback"}
        return None

    def _given(self, mark: JsonObject) -> Kernel | Feedback | None:
        """Return what a mark stands for."""
        return self._kernel if mark["name"] == "kernel" else self.settings.feedback

    @cached_property
    def _kernel(self) -> Kernel | None:
        """The kernel that was given, as models hold it."""
        return Problem(self.settings).unknowns.given

    def renew(self) -> None:
        """Start another batch: the limit on array sizes is per batch."""
        self._decode.left = MAX_BYTES

    def read(self, text: str) -> Transaction:
        """Return an event from text; raise if it does not have the types that its class declares."""
        document = from_json(text)
        if not self.has_kernel:
            document = [fact for fact in document if fact["$"] != "Fitted"]
        event: Transaction = self._decode(document)
        for fact in event:
            if type(fact) not in EVENTS:
                raise TypeError(f"{type(fact).__name__} is no event")
            _check_types(fact)
        return event


def settings_to_json(settings: Settings) -> str:
    """Return settings as text."""
    document: dict[str, Json] = {}
    for setting in fields(settings):
        name, value = setting.name, getattr(settings, setting.name)
        if setting.default is not MISSING and value == setting.default:
            continue
        try:
            document[name] = _encode_setting(name, value)
        except NotStorable as error:
            raise InvalidInput(
                f"{name} cannot be stored in a file", error.args[0], "Use Zonal's own classes, or functions."
            ) from None
    size = sum(array_bytes(packed) for packed in objects_in(document) if "zlib" in packed)
    require(size <= MAX_BYTES, TOO_LARGE, size, "Keep the study in memory, or use fewer members.")
    return _dump(document)


def given_names(document: Json) -> list[str]:
    """Return the names of the settings in a document that the user defined, those within others too."""
    return [str(mark["name"]) for mark in objects_in(document) if mark.get("$") == GIVEN]


def users_own(settings: Settings) -> dict[str, Storable]:
    """Return the settings that the user defined: files cannot hold them, so they are passed again on opening."""
    values = {**vars(settings), "delta": getattr(settings.policy, "delta", None)}
    documents = {name: _encode_setting(name, value) for name, value in values.items() if name in USER_DEFINED}
    marked = (name for name, mark in documents.items() if isinstance(mark, dict) and mark.get("$") == GIVEN)
    return {name: values[name] for name in marked}


def same_settings(stored: Settings, wanted: Settings, file: str, seed: bool) -> None:
    """Raise if a file's study has other settings; the seed is compared only if `seed`."""
    in_file, in_call = (json.loads(settings_to_json(settings)) for settings in (stored, wanted))
    for name in {**in_call, **in_file}:
        if in_file.get(name) != in_call.get(name) and (name != "seed" or seed):
            raise StudyFileError(
                f"{file} has a study with another {name}: {getattr(stored, name)!r}, and not "
                f"{getattr(wanted, name)!r}. Open it with Study.open, or name another file."
            )


def _encode_setting(name: str, value: Storable) -> Json:
    """Return a setting as stored; if the user defined it, a mark, with its value where that can be stored."""
    kind: type = type(value)
    strangers = user_classes(value)
    if not strangers:
        try:
            return encode(value)
        except NotStorable:
            if name not in USER_DEFINED:
                raise
    if name == "policy" and zonal_classes().get(kind.__name__) is kind:
        parts = {part: _encode_setting(part, getattr(value, part)) for part in stored_fields(kind) or ()}
        return {"$": kind.__name__, **parts}
    return _mark_of(name, value, strangers)


def _mark_of(name: str, value: Storable, strangers: Mapping[str, type]) -> JsonObject:
    """Return the mark of a setting that the user defined, with its value if that can be stored by its classes."""
    shown = getattr(value, "__qualname__", type(value).__qualname__)
    mark = {"$": GIVEN, "name": name, "shown": value.shown if isinstance(value, Missing) else shown}
    if name == "policy":
        mark |= {flag: bool(getattr(value, flag)) for flag in POLICY_FLAGS}
    with suppress(NotStorable, ZonalError, *DECODE_ERRORS):  # a user's class may not be made from its fields
        document = encode(value)
        if not isinstance(value, Missing) and Decoder(strangers)(document) == value:
            mark["is"] = document
    return mark


def settings_from_json(
    text: str, given: Mapping[str, Storable], classes: Mapping[str, type] | None = None
) -> DecodedSettings:
    """Return settings from text, with the user's settings and classes that are passed again."""
    missing: dict[str, str] = {}
    marks: dict[str, JsonObject] = {}  # of the user's settings, by name
    passed = {**(classes or {}), **user_classes(list(given.values()))}

    def given_again(mark: JsonObject) -> Storable:
        name, shown = str(mark["name"]), str(mark["shown"])
        value = given.get(name)
        marks[name] = mark
        if "is" in mark and (value is None or isinstance(value, type)):
            with suppress(UnknownClass):
                stored: Storable = decode(mark["is"])
                return stored
        elif value is not None:
            return value
        if name in NEEDED:
            raise StudyFileError(
                f"this study was made with the user's own {name} ({shown}), needed to read it. "
                f"Open it with {name}=..."
            )
        missing[name] = shown
        return Missing(name, shown, **{flag: bool(mark[flag]) for flag in POLICY_FLAGS if name == "policy"})

    document = from_json(text)
    decode = Decoder(passed, given_again)
    space: Any = decode(document.pop("space"))
    decode.space = space  # first, since regions refer to it
    settings = Settings(space=space, **{name: decode(value) for name, value in document.items()})
    for name, value in given.items():
        fix = f"Leave {name}= out; to change it, start a new study."
        require(name in marks, f"this study's {name} is stored in its file", value, fix)
    if "kernel" in missing:
        policy = KnowledgeGradient() if settings.policy is None else settings.policy
        flags = {flag: bool(getattr(policy, flag)) for flag in POLICY_FLAGS} | {"model_free": True}
        blind: Any = Missing("kernel", missing["kernel"], **flags)
        settings = replace(settings, kernel=None, policy=blind)
    settings = checked_again(settings)
    for name, value in given.items():
        problem = f"this study was made with another {name}"
        require(_fits(value, marks[name]), problem, value, "Pass the original one.")
    return DecodedSettings(settings, missing, passed)


def _fits(value: Storable, mark: JsonObject) -> bool:
    """Tell whether a value, or its class, may be what a mark stands for."""
    if "is" not in mark or isinstance(value, type):
        return True
    try:
        return bool(from_json(_dump(encode(value))) == mark["is"])
    except NotStorable:
        return False


def _dump(document: Json) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


# Whether what was read has the types that its class declares, so that it cannot fail later.


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints: dict[str, Any] = get_type_hints(kind)
    return hints


def _check_types(value: Storable) -> None:
    """Raise TypeError if a field of a value, or of what it consists of, is not of the type that is declared."""
    kind: type = type(value)
    for name, hint in _hints(kind).items():
        if not _is(getattr(value, name), hint):
            raise TypeError(f"{type(value).__name__}.{name} cannot be {getattr(value, name)!r}")


def _is(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a declared type; types that cannot be judged are believed."""
    if type(value) is hint and hint in (int, str, bool):  # most are
        return True
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_is(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple and isinstance(value, tuple):
        expected = parts[:1] * len(value) if parts[1:] == (...,) else parts
        return len(value) == len(expected) and all(map(_is, value, expected))
    if isinstance(value, bool):
        return hint is bool
    if hint is float:
        return isinstance(value, int | float) and not math.isnan(value)
    kind = origin or hint
    if not isinstance(kind, type):
        return True
    # A kernel's constructor checks its fields.
    fits = isinstance(value, kind)
    if fits and not isinstance(value, Kernel) and _has_parts(kind):
        _check_types(value)
    return fits


def _has_parts(kind: type) -> bool:
    """Tell whether a class of ours has declared fields, and none but these."""
    return kind.__module__.startswith(("zonal.gp", "zonal.engine.events")) and (
        is_dataclass(kind) or issubclass(kind, tuple)
    )
