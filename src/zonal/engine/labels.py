"""Labels of readings: checked, and what follows from them for the posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from zonal.errors import InvalidInput, listed, mapped, named, require
from zonal.gp.offsets import DRIFT_SHARE, SHORTEST_DRIFT, SOURCE, Label, OffsetSpec

if TYPE_CHECKING:
    from zonal.engine.events import Asked, Labels
    from zonal.engine.results import Source
    from zonal.engine.settings import Problem
    from zonal.engine.state import State

LabelsLike = Mapping[str, str | int] | None
MOST_LABELS, LONGEST = 16, 200  # labels of a reading; characters of a name or a text
EXAMPLE = 'Pass for example labels={"plate": 3}.'


def checked_names(given: Sequence[str]) -> tuple[str, ...]:
    """Check the names of the labels that have an offset, and return them."""
    fix = 'Pass a list such as offsets=["plate", "day"].'
    names = tuple(
        _short(name, "the name of a label", fix) for name in listed(given, "offsets must be a list", fix)
    )
    require(len(set(names)) == len(names), "offsets has a name twice", given, "Name each label once.")
    require(len(names) <= MOST_LABELS, f"at most {MOST_LABELS} labels can have an offset", given, "Name fewer.")
    return names


def checked_labels(given: LabelsLike) -> Labels:
    """Check the labels of a reading, and return them as text, by name."""
    if not given:
        return ()
    pairs = mapped(given, "labels must be a mapping from name to text", EXAMPLE)
    require(len(pairs) <= MOST_LABELS, f"a reading has at most {MOST_LABELS} labels", len(pairs), "Pass fewer.")
    return tuple(
        sorted(
            (_short(name, "the name of a label", EXAMPLE), _short(value, f"label {name!r}", EXAMPLE))
            for name, value in pairs.items()
        )
    )


def _short(value: object, what: str, fix: str) -> str:
    """Return a short text without blanks around it; a whole number becomes text."""
    plain = named(value, what).strip()  # type: ignore[arg-type]
    require(bool(plain), f"{what} is empty", value, fix)
    require(len(plain) <= LONGEST, f"{what} has more than {LONGEST} characters", f"{plain[:40]}...", "Shorten it.")
    return plain


def merged(planned: Labels, given: Labels) -> Labels:
    """Return labels of which those given take the place of those planned."""
    return tuple(sorted({**dict(planned), **dict(given)}.items())) if given else planned


def planned_labels(given: LabelsLike | Sequence[LabelsLike], number: int) -> list[Labels]:
    """Check labels planned for a batch, one mapping for all or one for each trial; return those of each."""
    if given is None or isinstance(given, Mapping):
        return [checked_labels(given)] * number
    problem, fix = "labels must be a mapping, or a list with one for each trial", 'Pass [{"plate": 1}, ...].'
    planned = [checked_labels(labels) for labels in listed(given, problem, fix)]
    require(len(planned) == number, f"{number} trials need as many labels", len(planned), fix)
    return planned


def needed(state: State, labels: Labels, what: str) -> None:
    """Raise if a label that has an offset is missing; a reading of another source needs no other."""
    given = dict(labels)
    if SOURCE in given and SOURCE in state.problem.settings.offsets:
        return
    missing = [name for name in state.problem.settings.offsets if name != SOURCE and name not in given]
    if missing:
        names = " and ".join(repr(name) for name in missing)
        fix = f'Pass labels={{"{missing[0]}": ...}}.'
        raise InvalidInput(f"this study has offsets of {names}, so {what} needs that label", given, fix)


def offset_spec(problem: Problem, n_affordable: int) -> OffsetSpec | None:
    """Return what shifts the readings of a study; None if nothing does."""
    settings = problem.settings
    if not problem.shifts:
        return None
    lengthscale = max(DRIFT_SHARE * n_affordable, SHORTEST_DRIFT) if settings.drift else 0.0
    return OffsetSpec(settings.offsets, lengthscale)


def label_of(state: State, source: Source, labels: Labels) -> Label | None:
    """Return what shifts a reading; None if nothing does."""
    if not state.problem.shifts:
        return None
    given = dict(labels)
    values = tuple(given.get(name, "") for name in state.problem.settings.offsets)
    order = -1 if SOURCE in given else state.orders.get(source, -1)
    return Label(values, order) if any(values) or order >= 0 else None


def planned_label(state: State, asked: Asked) -> Label | None:
    """Return the label planned for the reading of a trial, as far as it is known before."""
    if not asked.labels:
        return None
    label = label_of(state, (False, asked.number), asked.labels)
    return None if label is None or not any(label.values) else label._replace(order=-1)
