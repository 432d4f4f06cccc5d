"""What the page draws, as JSON: columns, five digits of posterior values, null for NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from zonal._types import Json
from zonal.engine.confidence import SURE
from zonal.engine.noise import PerWeight
from zonal.engine.results import Recommendation
from zonal.errors import Exhausted, InvalidInput, StudyFileError
from zonal.plotting.curves import along, curves_along
from zonal.plotting.history import best_then
from zonal.plotting.maps import CELLS, Map, panels_of
from zonal.plotting.outlines import pieces
from zonal.plotting.style import regions_of
from zonal.spaces import Node
from zonal.study.queries import leaf_at
from zonal.study.study import Study
from zonal.study.summary import beyond, is_empty, to_json
from zonal.web.overview import place
from zonal.web.space_data import picture_kind, region_columns

BEST = 5
MAX_FEATURES = 12  # of points, from which two are drawn
FORBIDDEN, SMALLEST, ASKABLE, EXPANDED = 1, 2, 4, 8


def dumped(answer: Any) -> bytes:
    """Return an answer as JSON, with null for NaN."""
    return to_json(answer, separators=(",", ":")).encode()


def _short(numbers: Iterable[float], digits: int = 5) -> list[float | None]:
    form = f"{{:.{digits}g}}".format
    listed = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
    return [float(form(x)) if math.isfinite(x) else None for x in listed]


def answer(study: Study) -> Mapping[str, Json]:
    """Return the best regions, how certain that is, and the model: what follows from the posterior."""
    answer_data: dict[str, Json] = {"best": [], "stands_out": False, "whole": None, "model": None}
    state = study._state
    answer_data["nodes"] = len(study.tree)
    answer_data["failed"] = {str(row): row in state.blocked for row in {*state.failed_trials, *state.blocked}}
    try:
        if is_empty(study):
            return answer_data
        tree = study.tree
        answer_data["best"] = [_best(study, recommended, tree) for recommended in study.recommend(BEST)]
        answer_data["stands_out"] = study.stands_out()
        if study.threshold is not None:
            wrong = {"threshold": study.threshold, "misclassified": study.misclassified}
            answer_data["beyond"] = {**wrong, "words": beyond(study)}
    except (StudyFileError, Exhausted):  # no posterior without the user-defined kernel
        return answer_data
    answer_data["whole"] = {"mean": float(tree.mean[0]), "std": float(tree.std[0])}
    return answer_data | {"model": _model(study)}


def _best(study: Study, recommended: Recommendation, tree: Any) -> Mapping[str, Json]:
    region, is_node = recommended.region, recommended.node is not None
    row = leaf_at(study._state, region) if recommended.node is None else _row_of(tree, recommended.node)
    sure = {
        "gap": recommended.gap,
        "probability_best": recommended.probability_best,
        "measurements": int(tree.count[row]) if is_node else 0,
    }
    axes = list(region.space.continuous_axes)
    window = None if is_node else [edges[axes].tolist() for edges in pieces(region)]
    where = {**place(region, row), "window": window}
    return {"region": where, "mean": recommended.mean, "std": recommended.std, **sure}


def _row_of(tree: Any, node: Node) -> int:
    return int(np.flatnonzero((tree.depth == node[0]) & (tree.index == node[1]))[0])


def _model(study: Study) -> Mapping[str, Json] | None:
    try:
        model = study.model
    except InvalidInput:  # an empirical belief has no model
        return None
    learned = study._state.problem.learned
    noise = model.noise if isinstance(model.noise, float) else None
    by_weight: Any = study.settings.noise if model.noise is None else model.noise
    falls = by_weight.std if isinstance(by_weight, PerWeight) else None  # at weight 1
    described = {
        "kernel": repr(model.kernel),
        "noise": noise,
        "noise_per_weight": falls,
        "mean": float(model.mean),
    }
    return described | {"learned_from": study.measured if learned else 0, "models": len(study.models)}


def shape(study: Study, first: int = 0) -> Mapping[str, Json]:
    """Return where the nodes are, from a row on; rows are only ever added."""
    space, tree = study.space, study.tree
    regions = regions_of(study, slice(first, None))
    columns: dict[str, Any] = {"from": first, "parent": tree.parent[first:].tolist()}
    columns["share"] = _short((region.share for region in regions), 7)
    columns |= region_columns(space, regions)
    for edges in columns.keys() & {"low", "high"}:
        columns[edges] = [_short(numbers, 8) for numbers in columns[edges]]
    return columns


def values(study: Study) -> Mapping[str, Json]:
    """Return what is known of each node."""
    tree = study.tree
    flags = FORBIDDEN * tree.forbidden + SMALLEST * tree.smallest
    flags = flags + ASKABLE * tree.askable + EXPANDED * tree.expanded
    columns: dict[str, Json] = {"event": len(study._state.events), "count": tree.count.tolist()}
    columns |= {"flags": flags.tolist(), "mean": None, "std": None, "prior": None}
    if np.isnan(tree.mean).all():  # no posterior without the user-defined kernel
        return columns
    prior = tree.std / np.maximum(study.relative_std(), 1e-12)
    if not is_empty(study) and study.threshold is not None:
        columns |= _held(study)
    return columns | {"mean": _short(tree.mean), "std": _short(tree.std), "prior": _short(prior, 4)}


def _held(study: Study) -> dict[str, list[int]]:
    """Return the rows classified beyond the policy's threshold, and those that are uncertain."""
    tree = study.tree
    rows = {node: row for row, node in enumerate(zip(tree.depth.tolist(), tree.index.tolist(), strict=True))}
    likely = study.above(probability=1 - SURE)
    held = [
        rows[likely_region.region.node]
        for likely_region in likely
        if likely_region.probability >= SURE and likely_region.region.node
    ]
    return {
        "held": held,
        "perhaps": [
            rows[likely_region.region.node] for likely_region in likely[len(held) :] if likely_region.region.node
        ],
    }


def picture(study: Study) -> Mapping[str, Json]:
    """Return what is drawn besides the nodes: curves along one axis, maps of pairs of axes."""
    space, drawing = study.space, dict[str, Any]()
    kind = picture_kind(space)
    if kind == "scatter":
        return {"points": _points(study)}
    if is_empty(study) or kind not in ("line", "panels"):
        return drawing
    try:
        if kind == "line":
            confidence_bands = study.confidence_bands()
            drawing = {
                "confidence": _short(confidence_bands.confidence),
                "variation": _short(confidence_bands.variation),
            }
            return drawing | ({"curves": _curves(study)} if study.models else {})
        return {"cells": CELLS, "panels": _panels(study)} if study.models else drawing
    except StudyFileError:
        return drawing


def _curves(study: Study) -> Sequence[Mapping[str, Json]]:
    j, drawn = along(study.space), []
    assert j is not None
    for curve in curves_along(study, j):
        mean, std = study.predict(curve.regions)
        drawn.append({"name": curve.name, "x": _short(curve.x), "mean": _short(mean), "std": _short(std)})
    return drawn


def _points(study: Study) -> Mapping[str, Json]:
    """Return the features of all points, and for each the row of the smallest region that contains it."""
    space, tree = study.space, study.tree
    leaf = np.zeros(space.size, dtype=int)
    for row in np.flatnonzero(np.bincount(tree.parent[1:], minlength=len(tree)) == 0).tolist():
        leaf[space.cell((int(tree.depth[row]), int(tree.index[row]))).members] = row
    features = [_short(feature) for feature in space.features[space.place][:, :MAX_FEATURES].T]
    return {"names": list(space.names[:MAX_FEATURES]), "features": features, "leaf": leaf.tolist()}


def _panels(study: Study) -> Sequence[Mapping[str, Json]]:
    space, drawn = study.space, list[Mapping[str, Json]]()
    for j, k, symbols in panels_of(study):
        panel = Map(study, j, k, symbols)
        mean, std = study.predict(panel.coloured[0])
        bounds = panel.slice.bounds.tolist()
        others = {space.names[at]: bounds[at] for at in space.continuous_axes if at not in (j, k)}
        described: dict[str, Json] = {
            "axes": [j, k],
            "symbols": {name: str(symbol) for name, symbol in symbols.items()},
            "others": others,
        }
        drawn.append({**described, "mean": _short(mean), "std": _short(std)})
    return drawn


def history(study: Study) -> Mapping[str, Json]:
    """Return what was recommended after some of the trials, with its posterior at that time."""
    columns: Any = [[], [], []]
    with suppress(StudyFileError):  # no posterior without the user-defined kernel
        columns = best_then(study) if study.measured else columns
    return dict(zip(("number", "mean", "std"), map(_short, columns), strict=True))


def outlook(study: Study, n: int) -> Mapping[str, Json]:
    """Return the expected improvement from more measurements; {} if it is not known."""
    try:
        return vars(study.outlook(n))
    except (InvalidInput, Exhausted, StudyFileError):
        return {"n": n, "rise": None, "low": None, "high": None}
