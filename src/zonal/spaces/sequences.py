"""Sequences of symbols, split position by position: pools of DNA, peptides, recipes of discrete steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from zonal.errors import InvalidInput, finite_number, listed, plain_array, reject, require, whole_number
from zonal.io.dataframes import DataFrame, DataSeries, as_frame, as_series, in_order, row_order, useful
from zonal.io.hints import hinting
from zonal.kernels.feedback import Feedback
from zonal.spaces.axes import Symbol
from zonal.spaces.axis_space import AxisSpace, ProductRegion
from zonal.spaces.base import RESTORE, PartLike, RegionLike, Space, alike, as_array
from zonal.spaces.categorical import CategoricalAxis
from zonal.spaces.partition import AxisPartition

SEQUENCE = "sequence"  # the key of a region in a mapping
LONGEST = 1000  # positions: with more, covariances of pools are too small for a float
MOST_VALUES = 100_000_000  # of a table of all sequences

# IUPAC codes of sets of bases: what a lab writes when it orders a pool.
IUPAC = {
    "AG": "R", "CT": "Y", "CG": "S", "AT": "W", "GT": "K", "AC": "M",
    "CGT": "B", "AGT": "D", "ACT": "H", "ACG": "V", "ACGT": "N",
}  # fmt: skip
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
OF_AMINO_ACIDS = {"B": "DN", "Z": "EQ", "J": "IL", "X": AMINO_ACIDS}  # the same for proteins

TOO_MANY = 1 << 32  # pools, of which a search sees too few if it cannot try every symbol at every position
HOPELESS = 1 << 63  # pools, which cannot even be numbered


class SequencePartition(AxisPartition):
    """The tree of sequences, of which one more position is fixed at each depth."""

    def warning(self, n_measurements: int) -> str:
        """Return why a search by first symbols has no prospect with so many measurements; "" if it may have."""
        positions = self.max_depth() or 0
        pools, needed = self._arity**positions, self._arity * positions
        if pools <= TOO_MANY or (needed <= n_measurements and pools < HOPELESS):
            return ""
        return (
            f"there are {self._arity}^{positions} smallest pools, and the tree fixes one position at a time: each "
            f"average is over all the rest, and {needed} measurements try every symbol at every position once "
            f"(budget: {n_measurements}). Pass a larger smallest=, fewer positions, or candidates as Points or "
            "Hierarchy."
        )

    def grain(self, depth: int) -> str:
        """Return how many sequences the pools of a depth have, for people."""
        left = len(self._axes) - depth
        many = self._arity**left
        return (
            f"pools of {many if many <= TOO_MANY else f'{self._arity}^{left}'} sequences"
            if left
            else "single sequences"
        )


@hinting()
@dataclass(frozen=True, init=False, repr=False)
class Sequences(AxisSpace):
    """All sequences of a length over an alphabet; regions are pools that share their first symbols.

    Node (h, i) fixes the first h positions, and its A children the next one; with `order`, positions are fixed in
    that order. A region outside the tree may have any set of symbols at each position.

    Parameters
    ----------
    alphabet : str or sequence of str
        From 2 to 52 symbols, in order.
    length : int
        Number of positions of a sequence.
    order : sequence of int, optional
        The order in which positions are fixed, as indices from 0; from first to last by default. Elsewhere
        positions are counted from 1.
    frequencies : array_like of shape (A,) or (length, A), optional
        How frequent each symbol is in a pool, at every position or position by position; equally by default. The
        columns of a data frame name the symbols.
    smallest : int
        The fewest sequences of a pool worth ordering: a pool is not split if a child would have fewer.

    Examples
    --------
    >>> dna = Sequences("ACGT", 8)
    >>> dna.cell((2, 3)).name, dna.region("ATRNNNNN").weight
    ('ATNNNNNN', 0.03125)
    """

    is_sequence: ClassVar[bool] = True
    from_text = Space.from_text
    axes: tuple[CategoricalAxis, ...]
    order: tuple[int, ...]
    arity: int
    smallest: int

    def __init__(
        self,
        alphabet: str | Sequence[str],
        length: int,
        order: Sequence[int] | None = None,
        frequencies: ArrayLike | DataFrame | DataSeries | None = None,
        smallest: int = 1,
    ) -> None:
        symbols, length = _symbols(alphabet), whole_number(length, "length", 1, LONGEST)
        rows = _frequencies(frequencies, length, symbols)
        axes = tuple(CategoricalAxis.of(f"position {j}", symbols, row) for j, row in enumerate(rows, 1))
        unreadable = (symbol for symbol in symbols if set(symbol) & set("[] \t\n"))
        reject(unreadable, "a symbol must not contain a bracket or a blank", "Rename it.")
        fix = "Pass for example [2, 0, 1]."
        fixed = range(length) if order is None else listed(order, "order must be a list of positions", fix)
        steps = tuple(whole_number(j, "a position in order", 0) for j in fixed)
        problem = f"order must name each position from 0 to {length - 1} once"
        require(sorted(steps) == list(range(length)), problem, order, "Leave none out, none twice.")
        number, least = len(symbols) ** length, whole_number(smallest, "smallest", 1)
        if least > number:  # which may have very many digits
            raise InvalidInput("smallest exceeds the number of sequences", smallest, f"There are {number}.")
        vars(self).update(axes=axes, arity=len(symbols), order=steps, smallest=least)

    def __repr__(self) -> str:
        """Return alphabet and length, and whatever is not the default."""
        order = "" if self.order == tuple(range(self.length)) else f", order={self.order}"
        least = "" if self.smallest == 1 else f", smallest={self.smallest}"
        alphabet = "".join(self.alphabet) if not self._joint else list(self.alphabet)
        return f"Sequences({alphabet!r}, {self.length}{order}{least})"

    def check(self) -> None:
        """Raise if these sequences, read from a file, are not possible."""
        super().check()
        frequencies = [axis.shares for axis in self.axes]
        again = Sequences(self.alphabet, self.length, self.order, frequencies, self.smallest)
        require(alike(self, again), "these are not sequences that Zonal has made", self, RESTORE)

    @property
    def alphabet(self) -> tuple[Any, ...]:
        """The symbols, in order."""
        return self.axes[0].symbols

    @property
    def length(self) -> int:
        """The number of positions of a sequence."""
        return len(self.axes)

    def _next_axis(self, splits: tuple[int, ...]) -> int | None:
        """Return the position that is fixed next, if that leaves at least `smallest` sequences."""
        fixed = sum(splits)
        left = self.length - fixed
        return self.order[fixed] if left and self.arity ** (left - 1) >= self.smallest else None

    @cached_property
    def partition(self) -> SequencePartition:
        """The tree: which position is fixed at each depth."""
        return SequencePartition(self)

    def region(self, what: RegionLike, feedback: Feedback | None = None) -> ProductRegion:
        """Return any pool, whether it is a node of the tree or not.

        Parameters
        ----------
        what : str, or sequence with one symbol or list of symbols per position
            For DNA and proteins in IUPAC codes, ``"ATRNNNNN"`` and ``"MKXX"``; for any alphabet ``*`` stands for
            all symbols and ``[AC]`` for some. Lower case is accepted if the alphabet is upper case only.
        """
        pool: RegionLike | None = what
        if isinstance(what, Mapping):
            unknown = (key for key in what if not (isinstance(key, str) and str(key) == SEQUENCE))
            reject(unknown, "a region of sequences has no such key", f"Pass {SEQUENCE!r}.")
            pool = what.get(SEQUENCE)
        if not isinstance(pool, str | Sequence):
            problem = "a region must be text, or an entry per position"
            raise InvalidInput(problem, pool, "Pass 'ATNNNNNN'.")
        parts: Sequence[PartLike] = (
            self._parse(pool) if isinstance(pool, str) else cast("Sequence[PartLike]", pool)
        )
        problem = f"a region of these sequences has {self.length} positions, not {len(parts)}"
        require(len(parts) == self.length, problem, pool, "Give a symbol, or a set of symbols, for each.")
        region = self._of(parts, feedback)
        return self._cell_or(region) if isinstance(pool, str) else region

    def _as_dict(self, region: ProductRegion) -> dict[str, Any]:
        """Return the pool by the word for it."""
        return {SEQUENCE: region.name}

    def _point(self, values: Sequence[Symbol]) -> str:
        """Return a sequence as text, given its symbol at each position."""
        return self._joint.join(map(str, values))

    def tokens(self, text: str) -> list[str]:
        """Return a text as symbols: by letter, or separated by blanks if symbols have several letters."""
        if self._joint:
            return text.replace("[", " [ ").replace("]", " ] ").split()
        upper_case_only = all(symbol == symbol.upper() for symbol in self.alphabet)
        return list(text.upper() if upper_case_only else text)

    def _lists_one(self, what: Iterable[PartLike], first: PartLike) -> bool:
        return False

    def arrange(self, values: Any, what: str, axes: Any = None) -> Any:
        """Return values, one per sequence, in order or by name, as an array with one dimension per position."""
        require(axes is None, "sequences have no axes to name", axes, "Leave axes out.")
        shape, size = (self.arity,) * self.length, self.arity**self.length
        problem = f"a table of all {self.arity}^{self.length} sequences is too long"
        require(size <= MOST_VALUES, problem, self.length, "Use fewer positions.")
        column, labels = as_series(values) or (values, None)
        if named := useful(labels):
            values = dict(zip(named, column, strict=True))
        if not isinstance(values, Mapping):
            table = as_array(values)
            return table.reshape(shape) if table.shape == (size,) else table
        number = {symbol: s for s, symbol in enumerate(self.alphabet)}
        table = np.full(shape, np.nan)
        for row, (sequence, value) in enumerate(values.items()):
            table[self._place(sequence, row, number)] = finite_number(value, f"the value of {sequence!r}")
        if len(values) < table.size:
            place = np.argwhere(np.isnan(table))[0]
            missing = self.region([self.alphabet[s] for s in place]).name
            raise InvalidInput(f"values must name all {table.size} sequences", missing, "Add it.")
        return table

    def _place(self, sequence: Any, row: int, number: Mapping[str, int]) -> tuple[int, ...]:
        """Return the numbers of a sequence's symbols; raise for the row of a table if it is none of these."""
        try:
            symbols = self.tokens(sequence) if isinstance(sequence, str) else sequence
            place = tuple(number[symbol] for symbol in symbols)
        except (KeyError, TypeError) as error:
            problem = f"sequence {sequence!r} in row {row} has a symbol outside the alphabet"
            raise InvalidInput(problem, error.args[0], "Correct it.") from None
        problem = f"sequence in row {row} must have {self.length} symbols"
        require(len(place) == self.length, problem, sequence, "Correct it.")
        return place

    def _describe(self, region: ProductRegion) -> str:
        """Return the pool in IUPAC codes, or with ``*`` for any symbol and ``[..]`` for some."""
        pools: Any = region.symbols
        return self._joint.join(self._codes.get(pool) or f"[{self._joint.join(pool)}]" for pool in pools)

    @cached_property
    def _joint(self) -> str:
        return "" if all(len(symbol) == 1 for symbol in self.alphabet) else " "

    @cached_property
    def _sets(self) -> dict[str, tuple[str, ...]]:
        """The symbols that each code stands for: of DNA, RNA or proteins, a sign for any, and single symbols."""
        alphabet = self.alphabet
        ambiguous: dict[str, Sequence[str]] = {}
        for base in "TU":
            if set(alphabet) == {*"ACG", base}:
                ambiguous = {code: members.replace("T", base) for members, code in IUPAC.items()}
        if set(AMINO_ACIDS) <= set(alphabet) and not set(OF_AMINO_ACIDS) & set(alphabet):
            ambiguous = dict(OF_AMINO_ACIDS)
        every = next(sign for sign in ("*", "?", ".", "any") if sign not in alphabet)  # ``*`` may be an amino acid
        pools = ambiguous | {every: alphabet} | {symbol: (symbol,) for symbol in alphabet}
        return {code: tuple(symbol for symbol in alphabet if symbol in pool) for code, pool in pools.items()}

    @cached_property
    def _codes(self) -> dict[tuple[str, ...], str]:
        """The code of each set of symbols that has one, the first if it has two."""
        return {pool: code for code, pool in reversed(self._sets.items())}

    def _parse(self, text: str) -> list[list[str]]:
        """Return the symbols at each position."""
        sets = self._sets
        parts: list[list[str]] = []
        opened: list[str] | None = None
        for piece in self.tokens(text):
            if piece == "[" and opened is None:
                opened = []
            elif piece == "]" and opened is not None:
                parts.append(opened)
                opened = None
            elif piece not in sets:
                raise InvalidInput(
                    f"{text!r} has a symbol outside the alphabet at position {len(parts) + 1}",
                    piece,
                    f"Choose from {', '.join(sets)}.",
                )
            elif opened is not None:
                opened += sets[piece]
            else:
                parts.append(list(sets[piece]))
        require(opened is None, "a bracket is not closed", text, "Write for example A[CG]T.")
        return parts


def _symbols(alphabet: str | Sequence[str]) -> list[str]:
    """Check an alphabet, and return its symbols."""
    listed = isinstance(alphabet, (str, Sequence))
    require(listed, "alphabet must be text or a list of symbols", alphabet, "Pass for example 'ACGT'.")
    wrong = (symbol for symbol in alphabet if not isinstance(symbol, str) or not symbol)
    reject(wrong, "the alphabet has a symbol that is not text", "Pass symbols as text.")
    return list(alphabet)


def _frequencies(frequencies: Any, length: int, alphabet: list[str]) -> list[Any]:
    """Return the frequencies at each position, in the order of the alphabet if their labels name the symbols."""
    if frequencies is None:
        return [None] * length
    frame, what, size = as_frame(frequencies), "frequencies", len(alphabet)
    if frame is None:
        frequencies = in_order(frequencies, [alphabet], what)
    else:
        order = row_order(tuple(frame.columns), [alphabet], what)
        require(frame.columns, "frequencies must have a column for each symbol", (), "Pass one each.")
        table = np.stack([np.asarray(column) for column in frame.columns.values()], axis=1)
        frequencies = table[row_order(frame.labels, [range(length)], what)][:, order]
    fix = "Pass one number per symbol, or one row per position."
    table = plain_array(frequencies, "frequencies must be numbers", fix, float)
    shapes = (size,), (length, size)
    require(table.shape in shapes, f"frequencies must have shape {shapes[0]} or {shapes[1]}", table.shape, fix)
    return list(np.broadcast_to(table, (length, size)).tolist())
