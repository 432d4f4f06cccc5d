"""Errors: the problem, the value and the fix.

Every error that Zonal raises on purpose is one of the classes below. Checks of single numbers that several
constructors share are here too, so that the same mistake gets the same message everywhere.
"""

from __future__ import annotations

import math
import operator
import sys
import threading
import warnings
from collections.abc import Hashable, Iterable, Sequence
from types import FrameType
from typing import Any, TypeGuard

import numpy as np

LARGEST_STD = 1e150
LARGEST_WHOLE = 2**63 - 1  # what files, arrays and other programs can hold
LONGEST_WAIT = min(1e9, threading.TIMEOUT_MAX)  # seconds
LONGEST_SEED = 4096  # bits: files cannot hold more
LONGEST_SHOWN = 400  # characters of a value in a message


class ZonalError(Exception):
    """Base of all errors that Zonal raises on purpose."""


class InvalidInput(ZonalError, ValueError):
    """A value that cannot be used: the message gives the problem, the value and the fix."""

    def __init__(self, problem: str, value: object, fix: str) -> None:
        super().__init__(f"{problem}; got {_shown(value)}. {fix}")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the finished message: the value itself may not be picklable."""
        return _revive, (type(self), str(self))


def _shown(value: object) -> str:
    """Return a value as text for a message, whatever it is, and not too long."""
    try:
        shown = repr(value)
    except Exception as error:  # a number of thousands of digits, or a user's object
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"
    half = LONGEST_SHOWN // 2
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:half]}...{shown[-half:]}"


def _revive(kind: type[InvalidInput], message: str) -> InvalidInput:
    error = kind.__new__(kind)
    error.args = (message,)
    return error


class TrialError(ZonalError, ValueError):
    """A trial that is unknown, already told or given up."""


class BudgetSpent(ZonalError, RuntimeError):
    """More measurements were asked for than the budget allows."""


class Exhausted(ZonalError, RuntimeError):
    """No region is left that may be measured."""


class CannotWrite(ZonalError, OSError):
    """A file or folder that cannot be written, and the system's reason."""

    def __init__(self, path: object, error: OSError) -> None:
        super().__init__(f"{path} cannot be written: {error.strerror or error}. Free space, or try another place.")


class StudyFileError(ZonalError, OSError):
    """A study's file that cannot be read, or must not or cannot be written."""


class NumericalWarning(UserWarning):
    """Rounding had to be repaired (jitter added or a negative variance raised to zero)."""


class ModelWarning(UserWarning):
    """The given kernel or noise does not fit the measurements."""


class SmoothnessWarning(UserWarning):
    """A delta that grows with depth, which Assumption 3 of the paper rules out."""


def warn_user(complaint: Warning) -> None:
    """Warn, pointing at the line outside Zonal that led here."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "zonal":
        frame, level = frame.f_back, level + 1
    warnings.warn(complaint, stacklevel=level)


def finite_number(value: Any, name: str, fix: str = "Pass a finite number.") -> float:
    """Check that `value` is one finite real number, and return it as a float."""
    if type(value) is float and -math.inf < value < math.inf:
        return value
    try:
        if isinstance(value, (str, bytes, bool)) or getattr(value, "ndim", 0) != 0:
            raise TypeError
        if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind not in "iuf":
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{name} must be a single number", value, fix) from None
    need(math.isfinite(number), f"{name} must be finite", value, fix)
    return number


def positive_number(value: Any, name: str) -> float:
    """Check that `value` is a number above zero, and return it as a float."""
    number = finite_number(value, name, "Pass a number above 0.")
    if number <= 0:
        raise InvalidInput(f"{name} must be positive", value, "Pass a number above 0.")
    return number


def duration(value: Any, name: str) -> float:
    """Check that `value` is a number of seconds that can be waited, and return it."""
    number = positive_number(value, name)
    fix = f"Pass {LONGEST_WAIT:g} seconds at most, or nothing to wait for ever."
    need(number <= LONGEST_WAIT, f"{name} is longer than can be waited", value, fix)
    return number


def standard_deviation(value: Any, name: str) -> float:
    """Check that `value` is a standard deviation (zero means exact), and return it."""
    fix = "Pass a standard deviation of 0 or more."
    number = finite_number(value, name, fix)
    need(number >= 0, f"{name} must not be negative", value, fix)
    need(number <= LARGEST_STD, f"{name} is too large to be squared", value, f"Pass {LARGEST_STD:g} at most.")
    return number


def probability(value: Any, name: str) -> float:
    """Check that `value` lies strictly between 0 and 1, and return it as a float."""
    fix = "Pass a number strictly between 0 and 1."
    number = finite_number(value, name, fix)
    need(0 < number < 1, f"{name} must lie strictly between 0 and 1", value, fix)
    return number


def whole_number(value: Any, name: str, least: int, most: int | None = LARGEST_WHOLE) -> int:
    """Check that `value` is an integer from `least` to `most` (None for no limit), and return it."""
    fix = f"Pass a whole number of {least} or more."
    try:
        if isinstance(value, bool | np.bool_):  # older versions of numpy treat it as a number
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise InvalidInput(f"{name} must be a whole number", value, fix) from None
    need(number >= least, f"{name} must be at least {least}", value, fix)
    need(most is None or number <= most, f"{name} is too large", value, f"Pass {most} at most.")
    return number


def text(value: Any, name: str) -> str:
    """Check that `value` is text that can be written to a file, and return it."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text", value, "Pass text in quotation marks.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} has a character that no file can hold", value, "Leave it out.") from None
    return value


def is_listed(what: object) -> TypeGuard[Iterable[Any]]:
    """Tell whether something can be listed; what only has indices, or an array of no dimension, cannot."""
    return isinstance(what, Iterable) and np.iterable(what)


def need(holds: object, problem: str, value: object, fix: str) -> None:
    """Raise unless something holds."""
    if not holds:
        raise InvalidInput(problem, value, fix)


def refuse(wrong: Iterable[object], problem: str, fix: str) -> None:
    """Raise for the first of some wrong values, if there are any."""
    for value in wrong:
        raise InvalidInput(problem, value, fix)


def check_choice(value: Any, name: str, choices: Sequence[Any]) -> None:
    """Raise unless `value` is one of a few choices; an array never is."""
    if not isinstance(value, Hashable) or value not in choices:
        shown = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
        raise InvalidInput(f"{name} must be {shown}", value, "Choose one of them.")


def random_generator(rng: Any) -> np.random.Generator:
    """Return a random generator from a seed, a generator or None; raise for anything else."""
    try:
        if isinstance(rng, bool | np.random.RandomState):  # some versions of numpy accept these
            raise TypeError
        if isinstance(rng, int) and rng.bit_length() > LONGEST_SEED:
            raise ValueError
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        fix = "Pass a whole number of 0 or more, or np.random.default_rng(seed)."
        raise InvalidInput("rng must be a seed or a generator", rng, fix) from None
