"""Settings and events as JSON, and back.

Values are stored by their class (`values.py`). A function of the user's has no fields to store: it is replaced by
a mark, and has to be passed again when the settings are read back. Values of the user's own classes are marked and
stored: passing the class is enough.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NoReturn, get_args

from zonal.engine.events import Event, Transaction
from zonal.engine.settings import Problem, Settings, checked_again
from zonal.errors import InvalidInput, StudyFileError, ZonalError, need
from zonal.kernels.base import Kernel
from zonal.policies.base import Policy, PolicyContext, Shape
from zonal.policies.knowledge_gradient import KnowledgeGradient
from zonal.storage.encoding import (
    MOST_BYTES,
    SENSELESS,
    TOO_LARGE,
    Decoder,
    NotStorable,
    UnknownClass,
    array_sizes,
    encode,
    own_classes,
    public,
    stored,
)
from zonal.storage.older import facts_of

# Settings that may be the user's own.
OWN = ("space", "kernel", "noise", "feedback", "policy", "delta", "forbidden", "cost", "travel")
NEEDED = ("space", "feedback")  # without these the events cannot be read at all
FACTS = frozenset(get_args(Event))
from_json = json.JSONDecoder().decode  # faster than `json.loads`, and files have many events


@dataclass(frozen=True)
class MissingCallable:
    """Takes the place of a function that was not passed again: it raises when it is called."""

    name: str

    def __call__(self, *_: object) -> NoReturn:
        """Raise: it was not passed again."""
        raise StudyFileError(
            f"this needs the user's own {self.name}, which no file holds. Open it with {self.name}=..."
        )


POLICY_FLAGS = ("model_free", "expands_fully", "measures_internal_nodes")


@dataclass(frozen=True)
class AbsentPolicy(Policy):
    """Takes the place of a policy that was not passed again; its flags are known, so states can be read."""

    model_free: bool
    expands_fully: bool
    measures_internal_nodes: bool
    missing: MissingCallable = MissingCallable("policy")

    def depth(self, shape: Shape, budget: int) -> int:
        """Raise: it was not passed again."""
        self.missing()

    def bind(self, context: PolicyContext) -> NoReturn:
        """Raise: it was not passed again."""
        self.missing()


@dataclass(frozen=True)
class DecodedSettings:
    """Settings as read back, and the events of their study as text, and back.

    Without the kernel fits are skipped, which need it.
    """

    settings: Settings  # with placeholders for what is missing
    missing: dict[str, str] = field(default_factory=dict)  # own settings not passed again, and their names there
    classes: dict[str, type] = field(default_factory=dict)  # the user's own classes that were passed, by name

    @property
    def knows(self) -> bool:
        """Whether there can be a posterior: not without a kernel."""
        return "kernel" not in self.missing

    @cached_property
    def _decode(self) -> Decoder:
        return Decoder(self.classes | own_classes(self.settings), self._given, self.settings.space)

    def write(self, event: Transaction) -> str:
        """Return an event as text."""
        try:
            return _dump(encode(event, self._mark))
        except NotStorable as error:
            raise InvalidInput(
                "this cannot be stored in a file", error.args[0], "Use Zonal's classes, or a study in memory."
            ) from None

    def _mark(self, value: Any) -> Any:
        """Return a mark for the kernel that was given, as a kernel or a function, and for a user's feedback."""
        kernel = self.settings.kernel
        if isinstance(value, Kernel) and kernel in (value, getattr(value, "function", value)):
            return {"$": "given", "name": "kernel"}
        kind: type = type(value)
        if stored(kind) is None and value == self.settings.feedback:
            return {"$": "given", "name": "feedback"}
        return None

    def _given(self, mark: dict[str, Any]) -> Any:
        """Return what a mark stands for; earlier releases also marked learned kernels of the user's own."""
        if mark["$"] == "learned":
            return self.settings.kernel(**{name: self._decode(own) for name, own in mark.items() if name != "$"})
        return self._kernel if mark["name"] == "kernel" else self.settings.feedback

    @cached_property
    def _kernel(self) -> Kernel | None:
        """The kernel that was given, as models hold it."""
        return Problem(self.settings).unknowns.given

    def renew(self) -> None:
        """Start another batch: the limit on array sizes is per batch."""
        self._decode.left = MOST_BYTES

    def read(self, text: str) -> Transaction:
        """Return an event from text."""
        document = from_json(text)
        if isinstance(document, dict):
            return self._read_older(document)
        if not self.knows:
            document = [fact for fact in document if fact["$"] != "Fitted"]
        event: Transaction = self._decode(document)
        for kind in set(map(type, event)) - FACTS:
            raise ValueError(f"{kind.__name__} is no fact")
        return event

    def _read_older(self, document: dict[str, Any]) -> Transaction:
        """Return an event as earlier releases wrote it."""
        if not self.knows:
            document["fit"] = None
        parts = {name: self._decode(own) for name, own in document.items() if name != "$"}
        return facts_of(document["$"], parts, self.settings)


def settings_to_json(settings: Settings) -> str:
    """Return settings as text."""
    document: dict[str, Any] = {}
    for own in fields(settings):
        if own.default is not MISSING and getattr(settings, own.name) == own.default:
            continue  # so files stay as releases without this setting wrote them
        try:
            document[own.name] = _own(own.name, getattr(settings, own.name))
        except NotStorable as error:
            raise InvalidInput(
                f"{own.name} cannot be stored in a file", error.args[0], "Use Zonal's own classes, or functions."
            ) from None
    size = sum(array_sizes(document))
    need(size <= MOST_BYTES, TOO_LARGE, size, "Keep the study in memory, or use fewer members.")
    return _dump(document)


def users_own(settings: Settings) -> dict[str, Any]:
    """Return the settings that are the user's own: files cannot hold them, so they are passed again on opening."""
    parts = {**vars(settings), "delta": getattr(settings.policy, "delta", None)}
    marks = {name: _own(name, part) for name, part in parts.items() if name in OWN}
    return {name: parts[name] for name, mark in marks.items() if isinstance(mark, dict) and mark.get("$") == "own"}


def same_settings(there: Settings, here: Settings, file: str, seed: bool) -> None:
    """Raise if a file's study has other settings; the seed is compared only if `seed`."""
    stored, wanted = (json.loads(settings_to_json(own)) for own in (there, here))
    for name in {**wanted, **stored}:
        if stored.get(name) != wanted.get(name) and (name != "seed" or seed):
            raise StudyFileError(
                f"{file} has a study with another {name}: {getattr(there, name)!r}, and not "
                f"{getattr(here, name)!r}. Open it with Study.open, or name another file."
            )


def _own(name: str, value: Any) -> Any:
    """Return a setting as stored; if it is the user's own, a mark, with its value where that can be stored."""
    kind, strange = type(value), own_classes(value)
    if not strange:
        try:
            return encode(value)
        except NotStorable:
            if name not in OWN:
                raise
    if name == "policy" and public().get(kind.__name__) is kind:
        parts = {own.name: _own(own.name, getattr(value, own.name)) for own in fields(value)}
        return {"$": kind.__name__, **parts}
    return _marked(name, value, strange)


def _marked(name: str, value: Any, strange: Mapping[str, type]) -> dict[str, Any]:
    """Return the mark of a user's own setting, with its value where its `strange` classes can be stored."""
    shown = getattr(value, "__qualname__", type(value).__qualname__)
    mark = {"$": "own", "name": name, "shown": shown}
    if name == "policy":
        mark |= {trait: bool(getattr(value, trait)) for trait in POLICY_FLAGS}
    with suppress(NotStorable, ZonalError, *SENSELESS):  # a user's class may not be made from its fields
        document = encode(value)
        if Decoder(strange)(document) == value:
            mark["is"] = document
    return mark


def settings_from_json(
    text: str, given: Mapping[str, Any], classes: Mapping[str, type] | None = None
) -> DecodedSettings:
    """Return settings from text, with the user's own settings and classes that are passed again."""
    missing: dict[str, str] = {}
    used: dict[str, dict[str, Any]] = {}  # marks of the user's own settings, by name
    known = {**(classes or {}), **own_classes(list(given.values()))}

    def own(mark: dict[str, Any]) -> Any:
        name, value = mark["name"], given.get(mark["name"])
        used[name] = mark
        if "is" in mark and (value is None or isinstance(value, type)):
            with suppress(UnknownClass):
                return decode(mark["is"])
        elif value is not None:
            return value
        if name in NEEDED:
            raise StudyFileError(
                f"this study was made with the user's own {name} ({mark['shown']}), needed to read it. "
                f"Open it with {name}=..."
            )
        missing[name] = mark["shown"]
        if name == "policy":
            return AbsentPolicy(*(mark[flag] for flag in POLICY_FLAGS))
        return MissingCallable(name)

    document = from_json(text)
    decode = Decoder(known, own)
    decode.space = decode(document.pop("space"))  # first, since regions refer to it
    settings = Settings(space=decode.space, **{name: decode(value) for name, value in document.items()})
    for name, value in given.items():
        fix = f"Leave {name}= out; to change it, start a new study."
        need(name in used, f"this study's {name} is stored in its file", value, fix)
    if "kernel" in missing:
        policy = KnowledgeGradient() if settings.policy is None else settings.policy
        blind: Any = AbsentPolicy(
            True, policy.expands_fully, policy.measures_internal_nodes, MissingCallable("kernel")
        )
        settings = replace(settings, kernel=None, policy=blind)
    settings = checked_again(settings)
    for name, value in given.items():
        problem = f"this study was made with another {name}"
        need(_fits(value, used[name]), problem, value, "Pass the original one.")
    return DecodedSettings(settings, missing, known)


def _fits(value: Any, mark: dict[str, Any]) -> bool:
    """Tell whether a value, or its class, may be what a mark stands for."""
    if "is" not in mark or isinstance(value, type):
        return True
    try:
        return bool(from_json(_dump(encode(value))) == mark["is"])
    except NotStorable:
        return False


def _dump(document: Any) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))
