"""A categorical axis: symbols, each with its share of the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn, Self

import numpy as np

from zonal._types import Floats
from zonal.errors import (
    TEXTS,
    InvalidInput,
    finite_number,
    is_listed,
    listed,
    positive_number,
    reject,
    require,
    text,
)
from zonal.kernels.categorical import CategoryIndex
from zonal.kernels.feedback import Feedback
from zonal.spaces.axes import Axis, Part, Symbol
from zonal.spaces.base import PartLike

MOST_SYMBOLS = 52  # of one axis: a set of them is stored as a number, exactly
ANY = "any"


@dataclass(frozen=True)
class CategoricalAxis(Axis):
    """A categorical axis: symbols, each with its share of the whole. A set of symbols is a number, one bit each.

    It is split once, into its symbols. It has the methods of `axes.ContinuousAxis`.
    """

    name: str
    symbols: tuple[Symbol, ...]
    shares: tuple[float, ...]

    is_categorical: ClassVar[bool] = True
    unit = ""
    low = 0.0
    side = 1.0

    @classmethod
    def of(cls, name: str, symbols: Sequence[Symbol], frequencies: Sequence[float] | None) -> Self:
        """Check the symbols, and return the axis; they are equally frequent by default."""
        symbols = tuple(_symbol(symbol, name) for symbol in symbols)
        size, fix = len(symbols), "For more kinds of things use Hierarchy or Points."
        require(2 <= size <= MOST_SYMBOLS, f"axis {name} must have from 2 to {MOST_SYMBOLS} symbols", size, fix)
        texts = [str(symbol) for symbol in symbols]
        twice = (symbol for j, symbol in enumerate(symbols) if symbol in symbols[:j] or texts[j] in texts[:j])
        reject(twice, f"axis {name} has a symbol twice", "Name each symbol once.")
        given = [1.0] * size if frequencies is None else list(frequencies)
        problem = f"axis {name} needs a frequency for each of {size} symbols"
        require(len(given) == size, problem, given, "Pass as many.")
        shares = [
            positive_number(share, f"the frequency of {symbol} on axis {name}")
            for symbol, share in zip(symbols, given, strict=True)
        ]
        total = sum(shares)
        return cls(name, symbols, tuple(share / total for share in shares))

    def revalidated(self) -> Self:
        """Return the axis made again from its own values, to compare with it."""
        return self.of(self.name, self.symbols, self.shares)

    # Sets of symbols as numbers.

    @property
    def whole(self) -> int:
        """The set of all symbols."""
        return (1 << len(self.symbols)) - 1

    def members(self, pool: float) -> list[int]:
        """Return the numbers of the symbols of a set."""
        return [s for s in range(len(self.symbols)) if int(pool) >> s & 1]

    def frequencies(self, pool: int) -> Floats:
        """Return the frequency of every symbol within a set, shape (symbols,); they add up to 1."""
        inside = np.array([p if pool >> s & 1 else 0.0 for s, p in enumerate(self.shares)])
        return np.asarray(inside / inside.sum())

    def _part(self, pool: int) -> Part:
        share = 1.0 if pool == self.whole else sum(p for s, p in enumerate(self.shares) if pool >> s & 1)
        return float(pool), share, (float(pool), float(pool))

    # How it is split.

    def may_split(self, splits: int, arity: int) -> bool:
        """Tell whether it can be split again after `splits` splits."""
        return splits == 0

    def width(self, pieces: int) -> float:
        """Return 1, or 0 if it is split."""
        return float(pieces == 1)

    def parts(self, arity: int) -> int:
        """Return the number of parts it is split into: its symbols."""
        return self.places

    def grain(self, pieces: int) -> str:
        """Return how many symbols the parts have, for people."""
        return f"{self.name} {'any' if pieces == 1 else '1'} of {self.places}"

    @property
    def places(self) -> int:
        """The number of symbols."""
        return len(self.symbols)

    def cell(self, part: int, pieces: int) -> Part:
        """Return all symbols, or one of them."""
        return self._part(self.whole if pieces == 1 else 1 << part)

    # From the user's description to a part.

    def parse(self, what: PartLike, arity: int) -> Part:
        """Return the part that a user describes: one symbol, or several."""
        pool = 0
        fix = "Pass one symbol, or a list."
        single = isinstance(what, TEXTS) or not is_listed(what)
        for symbol in [what] if single else listed(what, f"a part of axis {self.name} must be symbols", fix):
            if not isinstance(symbol, str | int | float | np.number | np.bool_) or symbol not in self.symbols:
                choices = ", ".join(map(str, self.symbols))
                raise InvalidInput(f"axis {self.name} has no such symbol", symbol, f"Choose from {choices}.")
            pool |= 1 << self.symbols.index(symbol)
        require(pool, f"a region needs a symbol on axis {self.name}", what, "Name at least one.")
        return self._part(pool)

    def overlap(self, part: Part, other: Part) -> bool:
        """Tell whether two parts have a symbol in common."""
        return bool(int(part[0]) & int(other[0]))

    def contains(self, outer: Part, inner: Part) -> bool:
        """Tell whether all symbols of a part are in another."""
        return not int(inner[0]) & ~int(outer[0])

    # From a part to text and back.

    def bounds(self, part: Part) -> tuple[float, float]:
        """Return the numbers of the first and the last symbol."""
        members = self.members(part[0])
        return members[0], members[-1]

    def center(self, part: Part) -> float:
        """Return the number of the symbol if there is only one, else NaN."""
        members = self.members(part[0])
        return members[0] if len(members) == 1 else math.nan

    def symbols_in(self, part: Part) -> tuple[Symbol, ...]:
        """Return the symbols of a part."""
        return tuple(self.symbols[s] for s in self.members(part[0]))

    def to_json(self, part: Part) -> Symbol | list[Symbol]:
        """Return the symbol, or a list of them, as `parse` accepts it."""
        named = self.symbols_in(part)
        return named[0] if len(named) == 1 else list(named)

    def text(self, part: Part) -> str:
        """Return a part as readable text, without the name of the axis."""
        every = int(part[0]) == self.whole and ANY not in self.symbols
        return ANY if every else "|".join(map(str, self.symbols_in(part)))

    def from_text(self, text: str) -> list[Symbol] | None:
        """Return, from a text, an argument for `parse`; integers may be written with a decimal point."""
        if text == ANY and ANY not in self.symbols:
            return None
        by_text = {str(symbol): symbol for symbol in self.symbols}
        return [by_text.get(word, word) for word in ([text] if text in by_text else text.split("|"))]

    def number_of(self, part: Part, pieces: int) -> int | None:
        """Return which of `pieces` parts this is, all symbols or one of them; None if it is none of them."""
        members = self.members(part[0])
        if pieces == 1:
            return 0 if len(members) == self.places else None
        return members[0] if len(members) == 1 else None

    @property
    def example(self) -> str:
        """How a part is written, as an example."""
        return f"{self.name}={self.symbols[0]}|{self.symbols[1]}"

    def share(self, part: Part) -> float:
        """Return how much of the axis lies in a part; every symbol counts as one."""
        return len(self.symbols_in(part)) / self.places

    # Measures and kernels along the axis.

    def layout(self, ranks: list[int]) -> CategoryIndex:
        """Return the object that computes how often two parts draw the same symbol."""
        return CategoryIndex(self)

    def measure(self, feedback: Feedback) -> None:
        """Return None: the whole set of symbols is always measured."""

    def end_points(self, part: Part) -> NoReturn:
        """Raise: symbols have no order and no distances."""
        problem = f"there is no slope along axis {self.name}, which is categorical"
        raise InvalidInput(problem, self.symbols, "Name a continuous axis, or observe differences: minus=.")

    def reach(self, feedback: Feedback, width: float) -> float:
        """Return 1 if there are several symbols, else 0."""
        return width

    def rule(self, part: Part, feedback: Feedback, panels: int = 0, order: int = 0) -> tuple[Floats, Floats]:
        """Return the symbols' numbers, and their frequencies within a part."""
        members = self.members(part[0])
        return np.array(members, dtype=float), self.frequencies(int(part[0]))[members]

    def pixel_weights(self, part: Part, feedback: Feedback, pixels: int, equal: bool) -> Floats:
        """Return the frequency of every symbol within a part, or the same for all of them if `equal`."""
        inside = self.frequencies(int(part[0]))
        return np.asarray((inside > 0) / np.count_nonzero(inside)) if equal else inside

    def sample(self, part: Part, number: int, rng: np.random.Generator) -> Sequence[Symbol]:
        """Return random symbols of a part, by their frequencies."""
        members, shares = self.members(part[0]), self.frequencies(int(part[0]))
        return [self.symbols[s] for s in rng.choice(members, number, p=shares[members])]


def _symbol(given: Symbol | np.generic, name: str) -> Symbol:
    """Check a symbol of an axis, and return it as a plain value."""
    symbol = given.item() if isinstance(given, np.generic) else given
    if isinstance(symbol, str):
        symbol = text(symbol, "a symbol")
    if not isinstance(symbol, str | int | float) or symbol == "":
        problem = f"axis {name} has a symbol that is neither text nor a number"
        raise InvalidInput(problem, symbol, "Pass symbols as text, numbers or booleans.")
    return finite_number(symbol, f"a symbol of axis {name}") if isinstance(symbol, float) else symbol
