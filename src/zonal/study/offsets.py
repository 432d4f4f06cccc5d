"""What is known of the offsets of labels; and another study as a source of observations."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from zonal._types import Floats
from zonal.engine import commands
from zonal.engine.events import Labels, Observed
from zonal.engine.labels import LabelsLike, checked_labels
from zonal.engine.results import Observation
from zonal.engine.state import State
from zonal.engine.trial_history import outcomes
from zonal.errors import attribute, positive_number, require
from zonal.gp.offsets import SOURCE, Label, OffsetSpec, Shifts, no_shifts, offsets_under, shifts_of
from zonal.io.result_table import Cell, Listing, labelled, number
from zonal.spaces import with_feedback
from zonal.study.history import history
from zonal.study.queries import region_of

if TYPE_CHECKING:
    from zonal.study.study import Study

DRIFT = "drift"
SHOWN_READINGS = 5  # of a drift


def offsets(study: Study) -> Listing:
    """Return what is known of the offset of each label: see `Study.offsets`."""
    state = study._state
    spec = state.tracked.offsets
    fix = 'Name labels when the study is made: Study(..., offsets=["plate"]), or drift=True.'
    require(spec is not None, "this study has no offsets", study.settings.offsets, fix)
    assert spec is not None
    counts = _counts(state, spec)
    means, stds = _posterior(state, spec, [label for label, _ in counts])
    rows = [
        (*_named(spec, label), mean, std, times)
        for (label, times), mean, std in zip(counts, means.tolist(), stds.tolist(), strict=True)
    ]
    rows.sort(key=lambda row: row[0] == DRIFT or -abs(row[2]))
    unit = study.settings.value_unit
    columns: dict[str, list[Cell]] = {
        "label": [row[0] for row in rows],
        "value": [row[1] for row in rows],
        labelled("offset", unit): [row[2] for row in rows],
        labelled("std", unit): [row[3] for row in rows],
        "readings": [row[4] for row in rows],
        "in words": [sentence(*row[:4], unit) for row in rows],
    }
    std = labelled("std", unit)
    return Listing("Offsets of the readings", columns, {labelled("offset", unit): std, std: std})


def sentence(label: str, value: str, mean: float, std: float, unit: str = "") -> str:
    """Return an offset in words: plate 3 reads 0.21 +- 0.05 high."""
    what = f"reading {value}" if label == DRIFT else f"{label} {value}"
    size = f"{number(abs(mean), std)} +- {number(std, std)} {unit}".rstrip()
    return f"{what} reads {size} {'high' if mean >= 0 else 'low'}"


def _counts(state: State, spec: OffsetSpec) -> list[tuple[Label, int]]:
    """Return labels whose offset is asked for, alone, with the number of readings that have it."""
    counted: Counter[tuple[int, str]] = Counter()
    orders = []
    for source, (*_, last) in outcomes(state.history).items():
        if last.value is not None:
            given = dict(last.labels)
            counted.update((at, given[name]) for at, name in enumerate(spec.names) if name in given)
            orders += [state.orders[source]] if source in state.orders and SOURCE not in given else []
    none = ("",) * len(spec.names)
    labels = [(Label((*none[:at], value, *none[at + 1 :])), times) for (at, value), times in counted.items()]
    shown = np.unique(np.linspace(0, len(orders) - 1, SHOWN_READINGS).astype(int)).tolist() if orders else []
    return labels + [(Label(none, sorted(orders)[at]), 1) for at in shown]


def _named(spec: OffsetSpec, label: Label) -> tuple[str, str]:
    if label.order >= 0:
        return DRIFT, str(label.order)
    return next((name, value) for name, value in zip(spec.names, label.values, strict=True) if value)


def _posterior(state: State, spec: OffsetSpec, labels: list[Label]) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the offsets of some labels, in the user's direction."""
    belief = state.belief
    means, variances = [], []
    shifts = _shifts(state, spec, labels)
    for member in belief.members:
        sizes = member.model.offsets or (0.0,) * spec.number
        mean, variance = offsets_under(member, spec, shifts, sizes)
        means.append(mean)
        variances.append(variance)
    weights, every = belief.weights, np.stack(means)
    mean = weights @ every
    variance = weights @ (np.stack(variances) + (every - mean) ** 2)
    return state.problem.sign * mean, np.sqrt(variance)


def _shifts(state: State, spec: OffsetSpec, labels: list[Label]) -> Shifts:
    """Return labels as the numbers that the tracked footprints have."""
    if not labels:
        return no_shifts(spec, 0)
    tracked = state.tracked
    together = {**tracked.labels, **{tracked.size + at: label for at, label in enumerate(labels)}}
    every = shifts_of(spec, tracked.size + len(labels), together, tracked.total_weights)
    return every.take(slice(tracked.size, None))


def observe_study(study: Study, other: Study, labels: LabelsLike, scale: float) -> list[Observation]:
    """Record the averages of another study as observations of a source: see `Study.observe_study`."""
    facts = facts_of_study(study, other, labels, scale)
    with study._writing(partly=True):
        first = len(study._state.observed)
        study._commit(commands.observe(study._state, facts))
    return list(study.observations[first:])


def facts_of_study(study: Study, other: Study, labels: LabelsLike, scale: float) -> list[Observed]:
    """Return the averages of another study as observations of a source, after checking."""
    is_study = isinstance(attribute(other, "_state"), State)
    require(is_study, "other must be a study", other, "Pass one that zn.Study made or opened.")
    given = checked_labels({SOURCE: other.path.stem if other.path else other.id} if labels is None else labels)
    able = SOURCE in study.settings.offsets and SOURCE in dict(given)
    fix = 'Make the study with offsets=["source"], and pass labels={"source": "2019"}.'
    require(able, "another study comes in as a source, with an offset", dict(given), fix)
    factor = positive_number(scale, "scale")
    facts = _facts(study, other, given, factor)
    require(facts, "the other study has no averages", other.measured, "Measure something there first.")
    return facts


def _facts(study: Study, other: Study, labels: Labels, scale: float) -> list[Observed]:
    """Return the averages of another study as observations."""
    noise, facts = other._state.noise_std(), list[Observed]()
    for record, (*_, now) in history(other):
        by = record.region.feedback or other.settings.feedback
        if now.value is None or record.minus is not None or by.slope:
            continue
        sem = now.sem
        if sem is None:  # as given or learned there
            if isinstance(record, Observation):
                _, event = other._state.observed[record.number]
                sem = event.noise / math.sqrt(event.time / other._state.created.time)
            else:
                row = other._state.asked[record.number].row
                sem = float(noise[row]) / math.sqrt(record.time / other._state.created.time)
        region = with_feedback(region_of(study, record.region), by)
        facts.append(Observed(region, scale * now.value, scale * sem, 0.0, by, note=now.note, labels=labels))
    return facts
