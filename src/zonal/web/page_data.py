"""What the page draws, as JSON: columns, five digits of posterior values, null for NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from zonal.engine.confidence import SURE
from zonal.engine.noise import PerWeight
from zonal.engine.results import Recommendation
from zonal.errors import Exhausted, InvalidInput, StudyFileError
from zonal.plotting.curves import along, curves_along
from zonal.plotting.history import best_then
from zonal.plotting.maps import CELLS, Map, panels_of
from zonal.plotting.style import regions_of
from zonal.study.study import Study
from zonal.study.summary import beyond, for_programs, is_empty
from zonal.web.overview import place
from zonal.web.space_data import picture_kind, region_columns

BEST = 5
MOST_FEATURES = 12  # of points, from which two are drawn
FORBIDDEN, SMALLEST, ASKABLE, EXPANDED = 1, 2, 4, 8


def dumped(answer: Any) -> bytes:
    """Return an answer as JSON, with null for NaN."""
    return for_programs(answer, separators=(",", ":")).encode()


def _short(numbers: Iterable[float], digits: int = 5) -> list[float | None]:
    form = f"{{:.{digits}g}}".format
    listed = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
    return [float(form(x)) if math.isfinite(x) else None for x in listed]


def answer(study: Study) -> dict[str, Any]:
    """Return the best regions, how certain that is, and the model: what follows from the posterior."""
    found: dict[str, Any] = {"best": [], "stands_out": False, "whole": None, "model": None}
    state = study._state
    found["nodes"] = len(study.tree)
    found["failed"] = {str(row): row in state.blocked for row in {*state.failures, *state.blocked}}
    try:
        if is_empty(study):
            return found
        tree = study.tree
        found["best"] = [_best(study, one, tree) for one in study.recommend(BEST)]
        found["stands_out"] = study.stands_out()
        if study.threshold is not None:
            wrong = {"threshold": study.threshold, "misclassified": study.misclassified}
            found["beyond"] = {**wrong, "words": beyond(study)}
    except (StudyFileError, Exhausted):  # no posterior without the user's own kernel
        return found
    found["whole"] = {"mean": float(tree.mean[0]), "std": float(tree.std[0])}
    return found | {"model": _model(study)}


def _best(study: Study, one: Recommendation, tree: Any) -> dict[str, Any]:
    row = int(np.flatnonzero((tree.depth == one.node[0]) & (tree.index == one.node[1]))[0])
    sure = {"gap": one.gap, "probability_best": one.probability_best, "measurements": int(tree.count[row])}
    return {"region": place(one.region, row), "mean": one.mean, "std": one.std, **sure}


def _model(study: Study) -> dict[str, Any] | None:
    try:
        model = study.model
    except InvalidInput:  # an empirical belief has no model
        return None
    learned = study._state.problem.learned
    noise = model.noise if isinstance(model.noise, float) else None
    by_weight: Any = study.settings.noise if model.noise is None else model.noise
    falls = by_weight.std if isinstance(by_weight, PerWeight) else None  # at weight 1
    said = {"kernel": repr(model.kernel), "noise": noise, "noise_per_weight": falls, "mean": float(model.mean)}
    return said | {"learned_from": study.measured if learned else 0, "models": len(study.models)}


def shape(study: Study, first: int = 0) -> dict[str, Any]:
    """Return where the nodes are, from a row on; rows are only ever added."""
    space, tree = study.space, study.tree
    regions = regions_of(study, slice(first, None))
    found: dict[str, Any] = {"from": first, "parent": tree.parent[first:].tolist()}
    found["share"] = _short((region.share for region in regions), 7)
    found |= region_columns(space, regions)
    for edges in found.keys() & {"low", "high"}:
        found[edges] = [_short(own, 8) for own in found[edges]]
    return found


def values(study: Study) -> dict[str, Any]:
    """Return what is known of each node."""
    tree = study.tree
    flags = FORBIDDEN * tree.forbidden + SMALLEST * tree.smallest
    flags = flags + ASKABLE * tree.askable + EXPANDED * tree.expanded
    found: dict[str, Any] = {"event": len(study._state.events), "count": tree.count.tolist()}
    found |= {"flags": flags.tolist(), "mean": None, "std": None, "prior": None}
    if np.isnan(tree.mean).all():  # no posterior without the user's own kernel
        return found
    prior = tree.std / np.maximum(study.relative_std(), 1e-12)
    if not is_empty(study) and study.threshold is not None:
        found |= _held(study)
    return found | {"mean": _short(tree.mean), "std": _short(tree.std), "prior": _short(prior, 4)}


def _held(study: Study) -> dict[str, list[int]]:
    """Return the rows classified beyond the policy's threshold, and those that are uncertain."""
    tree = study.tree
    rows = {node: row for row, node in enumerate(zip(tree.depth.tolist(), tree.index.tolist(), strict=True))}
    likely = study.above(probability=1 - SURE)
    held = [rows[own.region.node] for own in likely if own.probability >= SURE and own.region.node]
    return {"held": held, "perhaps": [rows[own.region.node] for own in likely[len(held) :] if own.region.node]}


def picture(study: Study) -> dict[str, Any]:
    """Return what is drawn besides the nodes: curves along one axis, maps of pairs of axes."""
    space, found = study.space, dict[str, Any]()
    kind = picture_kind(space)
    if kind == "scatter":
        return {"points": _points(study)}
    if is_empty(study) or kind not in ("line", "panels"):
        return found
    try:
        if kind == "line":
            confidence_bands = study.confidence_bands()
            found = {
                "confidence": _short(confidence_bands.confidence),
                "variation": _short(confidence_bands.variation),
            }
            return found | ({"curves": _curves(study)} if study.models else {})
        return {"cells": CELLS, "panels": _panels(study)} if study.models else found
    except StudyFileError:
        return found


def _curves(study: Study) -> list[dict[str, Any]]:
    j, drawn = along(study.space), []
    assert j is not None
    for curve in curves_along(study, j):
        mean, std = study.predict(curve.regions)
        drawn.append({"name": curve.name, "x": _short(curve.x), "mean": _short(mean), "std": _short(std)})
    return drawn


def _points(study: Study) -> dict[str, Any]:
    """Return the features of all points, and for each the row of the smallest region that contains it."""
    space, tree = study.space, study.tree
    leaf = np.zeros(space.size, dtype=int)
    for row in np.flatnonzero(np.bincount(tree.parent[1:], minlength=len(tree)) == 0).tolist():
        leaf[space.cell((int(tree.depth[row]), int(tree.index[row]))).members] = row
    features = [_short(own) for own in space.features[space.place][:, :MOST_FEATURES].T]
    return {"names": list(space.names[:MOST_FEATURES]), "features": features, "leaf": leaf.tolist()}


def _panels(study: Study) -> list[dict[str, Any]]:
    space, drawn = study.space, []
    for j, k, symbols in panels_of(study):
        panel = Map(study, j, k, symbols)
        mean, std = study.predict(panel.coloured[0])
        bounds = panel.slice.bounds.tolist()
        others = {space.names[at]: bounds[at] for at in space.continuous_axes if at not in (j, k)}
        own = {"axes": [j, k], "symbols": {name: str(one) for name, one in symbols.items()}, "others": others}
        drawn.append({**own, "mean": _short(mean), "std": _short(std)})
    return drawn


def history(study: Study) -> dict[str, Any]:
    """Return what was recommended after some of the trials, with its posterior at that time."""
    found: Any = [[], [], []]
    with suppress(StudyFileError):  # no posterior without the user's own kernel
        found = best_then(study) if study.measured else found
    return dict(zip(("number", "mean", "std"), map(_short, found), strict=True))


def outlook(study: Study, n: int) -> dict[str, Any]:
    """Return the expected improvement from more measurements; {} if it is not known."""
    try:
        return vars(study.outlook(n))
    except (InvalidInput, Exhausted, StudyFileError):
        return {"n": n, "rise": None, "low": None, "high": None}
