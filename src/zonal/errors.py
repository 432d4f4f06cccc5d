"""Errors: the problem, the value and the fix.

Every error that Zonal raises on purpose is one of the classes below. Checks of single numbers that several
constructors share are here too, so that the same mistake gets the same message everywhere.
"""

from __future__ import annotations

import math
import operator
import os
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from itertools import islice
from re import Match
from types import FrameType
from typing import Any, SupportsFloat, SupportsIndex, TypeAlias, TypeGuard, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal._types import Floats, Json

LARGEST_STD = 1e150
MARGIN = 1.645  # standard errors in a margin of error at 90 %, as census offices compute it
LARGEST_WHOLE = 2**63 - 1  # what files, arrays and other programs can hold
LONGEST_WAIT = min(1e9, threading.TIMEOUT_MAX)  # seconds
LONGEST_SEED = 4096  # bits: files cannot hold more
LONGEST_SHOWN = 400  # characters of a value in a message
SHOWN_WRONG = 20  # entries of a list that a message names
MAX_LISTED = 5_000_000  # entries of what a user lists
TEXTS = (str, bytes, bytearray, memoryview)

# What stands where a number, or the seed of random numbers, belongs; a file or a request may hold anything there.
Number: TypeAlias = "SupportsFloat | Json"
Whole: TypeAlias = "SupportsIndex | Json"
Bits = np.random.Generator | np.random.BitGenerator | np.random.SeedSequence
Rng: TypeAlias = SupportsIndex | Sequence[int] | NDArray[np.integer[Any]] | Bits | None
Condition = bool | np.bool_ | int | Sized | Match[str] | None  # of a check

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class ZonalError(Exception):
    """Base of all errors that Zonal raises on purpose.

    Examples
    --------
    >>> import zonal as zn
    >>> [issubclass(error, zn.ZonalError) for error in (zn.BudgetSpent, zn.InvalidInput, zn.TrialError)]
    [True, True, True]
    """


class InvalidInput(ZonalError, ValueError):
    """A value that cannot be used: the message gives the problem, the value and the fix.

    Examples
    --------
    >>> import zonal as zn
    >>> try:
    ...     zn.RBF(1.0, lengthscale=-0.1)
    ... except zn.InvalidInput as error:
    ...     print(error)
    lengthscale must be positive; got -0.1. Pass a number above 0.
    """

    def __init__(self, problem: str, value: object, fix: str) -> None:
        super().__init__(f"{problem}; got {_shown(value)}. {fix}")

    def __reduce__(
        self,
    ) -> tuple[Callable[[type[InvalidInput], str], InvalidInput], tuple[type[InvalidInput], str]]:
        """Pickle the finished message: the value itself may not be picklable."""
        return _revive, (type(self), str(self))


class SeveralWrong(ZonalError, ValueError):
    """Several entries of a list that cannot be used; nothing was changed.

    Attributes
    ----------
    wrong : list of (int, ZonalError)
        Which, counted from 0, and why.
    """

    def __init__(self, wrong: Sequence[tuple[int, ZonalError]], total: int) -> None:
        self.wrong, self.total = list(wrong), total
        shown = [f"measurement {at}: {error}" for at, error in self.wrong[:SHOWN_WRONG]]
        more = [f"and {len(self.wrong) - SHOWN_WRONG} more"] if len(self.wrong) > SHOWN_WRONG else []
        problem = f"nothing was taken in; wrong measurements, counted from 0: {len(self.wrong)} of {total}."
        super().__init__("\n  ".join([problem, *shown, *more]))

    def __reduce__(self) -> tuple[type[SeveralWrong], tuple[list[tuple[int, ZonalError]], int]]:
        """Pickle what it was made of."""
        return type(self), (self.wrong, self.total)


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
    """A trial that is unknown, already told or failed.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> try:
    ...     study.tell(7, 0.3)
    ... except zn.TrialError as error:
    ...     print(error)
    7 is not a trial of this study, which has asked for 0. Pass a trial that ask() returned, or its number.
    """


class UnknownTrial(TrialError):
    """A trial or an observation that a study never had."""


class BudgetSpent(ZonalError, RuntimeError):
    """More measurements were asked for than the budget allows.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=1)
    >>> study.tell(study.ask(), 0.7)
    >>> try:
    ...     study.ask()
    ... except zn.BudgetSpent as error:
    ...     print(error)
    the budget of 1 is used up: 1 measured, 0 pending. Call extend(n) for more.
    """


class Exhausted(ZonalError, RuntimeError):
    """No region is left that may be measured.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study(zn.Box([(0, 1)], smallest=1), budget=2, max_replicates=1)
    >>> study.tell(study.ask(), 0.7)
    >>> try:
    ...     study.ask()
    ... except zn.Exhausted as error:
    ...     print(error)  # doctest: +ELLIPSIS
    none of the 1 smallest regions may be asked for: max_replicates=1 measurements of each were made ...
    """


class CannotWrite(ZonalError, OSError):
    """A file or folder that cannot be written, and the system's reason."""

    def __init__(self, path: str | os.PathLike[str], error: OSError) -> None:
        self.reason = error.strerror or str(error)
        super().__init__(f"{path} cannot be written: {self.reason}. Free space, or try another place.")


class StudyFileError(ZonalError, OSError):
    """A study's file that cannot be read, or must not or cannot be written.

    Examples
    --------
    >>> import zonal as zn
    >>> try:
    ...     zn.Study.open("nowhere.db")
    ... except zn.StudyFileError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    there is no file nowhere.db in ...
    """


class NumericalWarning(UserWarning):
    """Rounding had to be repaired (a negative variance raised to zero), or an exact value contradicts others.

    Examples
    --------
    >>> import warnings
    >>> import zonal as zn
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", zn.NumericalWarning)  # stop instead
    ...     study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    """


class ModelWarning(UserWarning):
    """The given kernel or noise does not fit the measurements.

    Examples
    --------
    >>> import warnings
    >>> import zonal as zn
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", zn.ModelWarning)  # it is only roughly right, and you know
    ...     study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    """


class SmoothnessWarning(UserWarning):
    """A delta that grows with depth, which Assumption 3 of the paper rules out.

    Examples
    --------
    >>> import warnings
    >>> import zonal as zn
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", zn.SmoothnessWarning)
    ...     study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    """


def warn_user(complaint: Warning) -> None:
    """Warn, pointing at the line outside Zonal that led here."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "zonal":
        frame, level = frame.f_back, level + 1
    warnings.warn(complaint, stacklevel=level)


def is_masked(value: object) -> bool:
    """Tell whether an array of numpy's has masked entries, which have no value."""
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def is_quantity(value: object) -> bool:
    """Tell whether something is a number or an array with a unit, of astropy or of pint."""
    kinds = {"to_value", "unit"}, {"magnitude", "to"}
    return any(all(hasattr(type(value), name) for name in names) for names in kinds)


def without_unit(value: T, unit: str, name: str, why: str = "since none is declared for it") -> T:
    """Return a quantity of astropy or pint as numbers in a unit, "" for none; anything else unchanged.

    `why` says in a message why there is no unit.
    """
    if not is_quantity(value):
        return value
    quantity: Any = value
    of_astropy = hasattr(type(value), "to_value")
    try:
        bare = str(quantity.unit if of_astropy else quantity.units) in ("", "dimensionless")
        if unit or bare:  # to pint an angle has no dimension, but it has a unit
            number: T = quantity.to_value(unit) if of_astropy else quantity.to(unit).magnitude
            return number
    except Exception:  # each library has its own; they all mean that it cannot be converted
        pass
    wanted = f"be in {unit!r}" if unit else f"come without a unit, {why}"
    fix = f"Pass .{'value' if of_astropy else 'magnitude'}, in the right unit."
    raise InvalidInput(f"{name} must {wanted}", value, fix)


def finite_number(value: Number, name: str, fix: str = "Pass a finite number.") -> float:
    """Check that `value` is one finite real number, and return it as a float."""
    if type(value) is float and -math.inf < value < math.inf:
        return value
    value = without_unit(value, "", name)
    try:
        if isinstance(value, (*TEXTS, bool)) or getattr(value, "ndim", 0) != 0 or is_masked(value):
            raise TypeError
        if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind not in "iuf":
            raise TypeError
        number = float(value)  # type: ignore[arg-type]  # what it is not made of raises
    except Exception:  # whatever a user's object raises
        raise InvalidInput(f"{name} must be a single number", value, fix) from None
    require(math.isfinite(number), f"{name} must be finite", value, fix)
    return number


def positive_number(value: Number, name: str) -> float:
    """Check that `value` is a number above zero, and return it as a float."""
    number = finite_number(value, name, "Pass a number above 0.")
    if number <= 0:
        raise InvalidInput(f"{name} must be positive", value, "Pass a number above 0.")
    return number


def duration(value: Number, name: str) -> float:
    """Check that `value` is a number of seconds that can be waited, and return it."""
    number = positive_number(value, name)
    fix = f"Pass {LONGEST_WAIT:g} seconds at most, or nothing to wait for ever."
    require(number <= LONGEST_WAIT, f"{name} is longer than can be waited", value, fix)
    return number


def standard_deviation(value: Number, name: str) -> float:
    """Check that `value` is a standard deviation (zero means exact), and return it."""
    fix = "Pass a standard deviation of 0 or more."
    number = finite_number(value, name, fix)
    require(number >= 0, f"{name} must not be negative", value, fix)
    require(number <= LARGEST_STD, f"{name} is too large to be squared", value, f"Pass {LARGEST_STD:g} at most.")
    return number


def from_margin(sem: Any, moe: Any) -> Any:
    """Return the standard error of a reading that was given as such, or as a published margin of error."""
    if moe is None:
        return sem
    require(
        sem is None, "a reading has a standard error or a margin of error", (sem, moe), "Leave one of them out."
    )
    return (moe if is_quantity(moe) else standard_deviation(moe, "moe")) / MARGIN


def probability(value: Number, name: str) -> float:
    """Check that `value` lies strictly between 0 and 1, and return it as a float."""
    fix = "Pass a number strictly between 0 and 1."
    number = finite_number(value, name, fix)
    require(0 < number < 1, f"{name} must lie strictly between 0 and 1", value, fix)
    return number


def whole_number(value: Whole, name: str, least: int, most: int | None = LARGEST_WHOLE) -> int:
    """Check that `value` is an integer from `least` to `most` (None for no limit), and return it."""
    fix = f"Pass a whole number of {least} or more."
    try:
        if isinstance(value, bool | np.bool_) or is_masked(value):  # older versions of numpy treat both as numbers
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]  # what is not whole raises
    except Exception:  # whatever a user's object raises
        raise InvalidInput(f"{name} must be a whole number", value, fix) from None
    require(number >= least, f"{name} must be at least {least}", value, fix)
    require(most is None or number <= most, f"{name} is too large", value, f"Pass {most} at most.")
    return number


def truth(value: bool | Json, name: str) -> bool:
    """Check that `value` is True or False, and return it."""
    require(isinstance(value, bool | np.bool_), f"{name} must be True or False", value, "Pass one of them.")
    return bool(value)


def text(value: Json, name: str) -> str:
    """Check that `value` is text that can be written to a file, and return it as plain text."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text", value, "Pass text in quotation marks.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} has a character that no file can hold", value, "Leave it out.") from None
    return str.__str__(value)


def named(value: Json, what: str) -> str:
    """Check that `value` can be the name of something: text that is not empty, or a whole number; return it."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        value = str(whole_number(value, what, -LARGEST_WHOLE))
    name = text(value, what)
    require(name.strip(), f"{what} must not be empty", value, "Give it a name.")
    return name


def is_listed(what: object) -> TypeGuard[Iterable[Any]]:
    """Tell whether something can be listed; what only has indices, or an array of no dimension, cannot."""
    try:
        return isinstance(what, Iterable) and np.iterable(what)
    except Exception:  # whatever a user's object raises
        return False


def listed(what: Any, problem: str, fix: str) -> list[Any]:
    """Return the entries of something that can be listed; raise `problem` for anything else, and for text."""
    require(is_listed(what) and not isinstance(what, TEXTS) and not is_masked(what), problem, what, fix)
    try:
        entries = list(islice(iter(what), MAX_LISTED + 1))
    except Exception as error:  # whatever a user's object raises
        raise InvalidInput(f"{problem}: it cannot be listed ({type(error).__name__})", what, fix) from None
    require(len(entries) <= MAX_LISTED, f"{problem}: it has more than {MAX_LISTED} entries", what, fix)
    return entries


def mapped(what: Mapping[K, V], problem: str, fix: str) -> dict[K, V]:
    """Return the entries of a mapping, whatever kind it is; raise `problem` if it does not hand them out."""
    try:
        return dict(listed(what.items(), problem, fix))
    except InvalidInput:
        raise
    except Exception as error:  # whatever a user's object raises
        raise InvalidInput(f"{problem}: it cannot be read ({type(error).__name__})", what, fix) from None


def one_or_several(given: Number, name: str, check: Callable[[float, str], float]) -> float | tuple[float, ...]:
    """Check a number, or one number per axis; several become a tuple, which can be hashed."""
    several = isinstance(given, Sequence) or hasattr(type(given), "__array__")
    if isinstance(given, TEXTS) or not several or not is_listed(given):
        return check(given, name)  # type: ignore[arg-type]  # which raises for what is no number
    problem, fix = f"{name} must be a number or one number per axis", "Flatten it."
    entries = listed(given, problem, fix)
    nested = any(is_listed(entry) and not isinstance(entry, TEXTS) for entry in entries)
    require(entries and not nested, problem, given, fix)
    return tuple(check(value, name) for value in entries)


@overload
def plain_array(what: ArrayLike, problem: str, fix: str, dtype: type[float]) -> Floats: ...
@overload
def plain_array(what: ArrayLike, problem: str, fix: str) -> NDArray[np.generic]: ...
def plain_array(
    what: ArrayLike, problem: str, fix: str, dtype: type[float] | None = None
) -> Floats | NDArray[np.generic]:
    """Return something as an array of numpy's; raise `problem` for what is none, or is masked."""
    try:
        if is_masked(what) or isinstance(what, (*TEXTS, Mapping, Iterator, Set)):
            raise TypeError
        if isinstance(what, Sized) and not hasattr(what, "dtype") and len(what) > MAX_LISTED:
            raise TypeError
        given = what if hasattr(what, "__array__") or not is_listed(what) else listed(what, problem, fix)
        if isinstance(given, list) and any(map(is_masked, given)):
            raise TypeError
        array = np.asarray(given)
        if dtype is not None and array.dtype.kind in "cmMSUV":  # numpy converts these
            raise TypeError
        return array if dtype is None else array.astype(dtype)
    except Exception:  # whatever a user's object raises
        raise InvalidInput(problem, what, fix) from None


def attribute(what: object, name: str) -> Any:
    """Return an attribute of what a user passed; None if it has none, or raises."""
    try:
        return getattr(what, name, None)
    except Exception:  # whatever a user's object raises
        return None


def require(holds: Condition, problem: str, value: object, fix: str) -> None:
    """Raise unless something holds."""
    if not holds:
        raise InvalidInput(problem, value, fix)


def reject(wrong: Iterable[object], problem: str, fix: str) -> None:
    """Raise for the first of some wrong values, if there are any."""
    for value in wrong:
        raise InvalidInput(problem, value, fix)


def check_choice(value: T, name: str, choices: Sequence[T]) -> None:
    """Raise unless `value` is one of a few choices; an array never is."""
    try:
        is_choice = isinstance(value, Hashable) and value in choices
    except Exception:  # an array, or whatever a user's object raises
        is_choice = False
    if not is_choice:
        shown = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
        raise InvalidInput(f"{name} must be {shown}", value, "Choose one of them.")


def random_generator(rng: Rng) -> np.random.Generator:
    """Return a random generator from a seed, a generator or None; raise for anything else."""
    fix = "Pass a whole number of 0 or more, or np.random.default_rng(seed)."
    problem = "rng must be a seed or a generator"
    if rng is None or isinstance(rng, np.random.Generator | np.random.BitGenerator | np.random.SeedSequence):
        return np.random.default_rng(rng)
    # Anything else is checked number by number: numpy may end the interpreter on what it does not expect.
    several = isinstance(rng, list | tuple) or (isinstance(rng, np.ndarray) and rng.ndim == 1)
    given: Any = rng
    numbers = list(given) if several else [given]
    require(numbers and all(map(_is_seed, numbers)), problem, rng, fix)
    return np.random.default_rng([int(number) for number in numbers] if several else int(numbers[0]))


def _is_seed(value: SupportsIndex) -> bool:
    """Tell whether something can be one number of a seed."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and operator.index(value) >= 0 and operator.index(value).bit_length() <= LONGEST_SEED
