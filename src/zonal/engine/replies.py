"""Checks of what a policy returns: a policy may be user-defined."""

from __future__ import annotations

from typing import Any

import numpy as np

from zonal._types import Floats
from zonal.errors import InvalidInput
from zonal.policies.base import RoundCosts
from zonal.tree import Tree


def number(answer: Any, question: str) -> int:
    """Return a whole number."""
    try:
        if isinstance(answer, str | bytes | bool):
            raise TypeError
        return int(answer)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(question, "the row of a node", answer) from None


def timed(answer: Any, terms: RoundCosts) -> tuple[Any, float]:
    """Return the answer without its time, and one of the times that may be chosen: the first if it has none."""
    pair = isinstance(answer, tuple) and len(answer) == 2
    chosen, time = answer if pair else (answer, terms.times.item(0))
    if time not in terms.times:
        raise _wrong("choose", "a row, or a row and one of the study's times", time)
    return chosen, float(time)


def row(answer: Any, question: str, tree: Tree) -> int:
    """Return the row of a node."""
    row_number = number(answer, question)
    if not 0 <= row_number < tree.size:
        raise _wrong(question, f"the row of a node, from 0 to {tree.size - 1}", answer)
    return row_number


def rows(answer: Any, question: str, tree: Tree) -> list[int]:
    """Return the rows of some nodes, each once."""
    try:
        listed = np.asarray(answer)
    except ValueError:  # lists of different lengths
        listed = np.empty((0, 0))
    whole = listed.ndim == 1 and (listed.size == 0 or listed.dtype.kind in "iu")
    if not whole or (listed.size and not 0 <= listed.min() <= listed.max() < tree.size):
        raise _wrong(question, f"an array of rows of nodes, from 0 to {tree.size - 1}", answer)
    return list(dict.fromkeys(listed.tolist()))


def truth(answer: Any, question: str) -> bool:
    """Return True or False."""
    if answer is not True and answer is not False and not isinstance(answer, np.bool_):
        raise _wrong(question, "True or False", answer)
    return bool(answer)


def confidence_bands(answer: Any, tree: Tree) -> tuple[Floats, Floats]:
    """Return confidence and variation of every node."""
    try:
        confidence, variation = (np.asarray(band, dtype=float) for band in answer)
    except (TypeError, ValueError):
        confidence = variation = np.empty((0, 0))
    if not confidence.shape == variation.shape == (tree.size,):
        raise _wrong("confidence_bands", f"two arrays of {tree.size} numbers, one per node", answer)
    return confidence, variation


def _wrong(question: str, wanted: str, answer: Any) -> InvalidInput:
    return InvalidInput(f"the policy's {question} must return {wanted}", answer, "Correct the policy.")
