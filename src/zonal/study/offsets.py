"""What is known of the offsets of labels; and another study as a source of observations."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from zonal._types import Floats
from zonal.engine.apply import counted_rewards
from zonal.engine.labels import LabelsLike, checked_labels
from zonal.engine.results import Observation
from zonal.engine.state import State
from zonal.engine.trial_history import outcomes
from zonal.errors import attribute, positive_number, require
from zonal.gp.offsets import SOURCE, Label, OffsetSpec, Shifts, no_shifts, offsets_under, shifts_of
from zonal.io.result_table import Cell, Listing, labelled, number
from zonal.study.history import history
from zonal.study.observations import Measurement

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


def measurements_of(study: Study, other: Study, labels: LabelsLike, scale: float) -> list[Measurement]:
    """Return the averages of another study as measurements of a source: see `Study.observe_study`."""
    is_study = isinstance(attribute(other, "_state"), State)
    require(is_study, "other must be a study", other, "Pass one that zn.Study made or opened.")
    given = checked_labels({SOURCE: other.path.stem if other.path else other.id} if labels is None else labels)
    able = SOURCE in study.settings.offsets and SOURCE in dict(given)
    fix = 'Make the study with offsets=["source"], and pass labels={"source": "2019"}.'
    require(able, "another study comes in as a source, with an offset", dict(given), fix)
    factor, state = positive_number(scale, "scale"), other._state
    learned, measurements = state.fit_state.fit.model.noise or 1.0, list[Measurement]()
    names = {(isinstance(record, Observation), record.number): record for record, _ in history(other)}
    for source, slot, (reward, variance, weight, _), _ in counted_rewards(state, state.history):
        if slot in state.tracked.total_weights or names[source].minus is not None:
            continue  # no average
        record = names[source]
        sem = math.sqrt(learned**2 / weight if variance is None else variance)
        value, by = state.problem.sign * reward, record.region.feedback or other.settings.feedback
        measurement = Measurement(record.region, factor * value, factor * sem, by, note=record.note)
        measurements.append(measurement._replace(labels=dict(given)))
    require(measurements, "the other study has no averages", other.measured, "Measure something there first.")
    return measurements
