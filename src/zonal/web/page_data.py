"""What the page draws, as JSON: columns, five digits of posterior values, null for NaN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np

from zonal._types import Json
from zonal.engine.confidence import SURE
from zonal.engine.noise import PerWeight
from zonal.engine.results import Recommendation
from zonal.errors import Exhausted, InvalidInput, StudyFileError
from zonal.gp.noise_laws import BY_NAME, CONSTANT
from zonal.plotting.curves import along, curves_along
from zonal.plotting.history import best_then
from zonal.plotting.maps import Map, panels_of
from zonal.plotting.style import regions_of
from zonal.spaces import Node, ProductRegion
from zonal.study import summary
from zonal.study.history import failed_rows, leaf_at, n_events, problem_of, recommended_after
from zonal.study.study import Study
from zonal.study.summary import beyond, is_empty
from zonal.tree import TreeTable
from zonal.web.overview import place
from zonal.web.space_data import picture_kind, region_columns, share_of, short_numbers

BEST = 5
MAX_FEATURES = 12  # of points, from which two are drawn
FORBIDDEN, SMALLEST, ASKABLE, EXPANDED = 1, 2, 4, 8


def answer(study: Study) -> Mapping[str, Json]:
    """Return the best regions, how certain that is, and the model: what follows from the posterior."""
    answer_data: dict[str, Json] = {"best": [], "stands_out": False, "whole": None, "model": None}
    answer_data["nodes"] = len(study.tree)
    answer_data["failed"] = {str(row): blocked for row, blocked in failed_rows(study).items()}
    try:
        if is_empty(study):
            return answer_data
        tree = study.tree
        answer_data["best"] = [_best(study, recommended, tree) for recommended in study.recommend(BEST)]
        answer_data["stands_out"] = study.stands_out()
        if summary.threshold(study) is not None:
            wrong = {"threshold": summary.threshold(study), "misclassified": summary.misclassified(study)}
            answer_data["beyond"] = {**wrong, "words": beyond(study)}
    except (StudyFileError, Exhausted):  # no posterior without the user-defined kernel
        return answer_data
    answer_data["whole"] = {"mean": float(tree.mean[0]), "std": float(tree.std[0])}
    return answer_data | {"model": _model(study)}


def _best(study: Study, recommended: Recommendation, tree: TreeTable) -> Mapping[str, Json]:
    region = recommended.region
    is_window = recommended.node is None and isinstance(region, ProductRegion)
    row = leaf_at(study, cast(ProductRegion, region)) if is_window else _row_of(tree, recommended.node)
    sure = {
        "gap": recommended.gap,
        "probability_best": recommended.probability_best,
        "measurements": 0 if is_window else int(tree.count[row]),
    }
    return {"region": place(region, row), "mean": recommended.mean, "std": recommended.std, **sure}


def _row_of(tree: TreeTable, node: Node) -> int:
    return int(np.flatnonzero((tree.depth == node[0]) & (tree.index == node[1]))[0])


def _model(study: Study) -> Mapping[str, Json] | None:
    try:
        model = study.model
    except InvalidInput:  # an empirical belief has no model
        return None
    learned = problem_of(study).learned
    noise = model.noise if isinstance(model.noise, float) else None
    by_weight: Any = study.settings.noise if model.noise is None else model.noise
    falls = by_weight.std if isinstance(by_weight, PerWeight) else None  # at weight 1
    described = {
        "kernel": repr(model.kernel),
        "noise": noise,
        "noise_per_weight": falls,
        "noise_law": "" if model.law == CONSTANT.name else BY_NAME[model.law].text,
        "mean": float(model.mean),
    }
    return described | {"learned_from": study.measured if learned else 0, "models": len(study.models)}


def shape(study: Study, first: int = 0) -> Mapping[str, Json]:
    """Return where the nodes are, from a row on; rows are only ever added."""
    space, tree = study.space, study.tree
    regions = regions_of(study, slice(first, None))
    columns: dict[str, Json] = {"from": first, "parent": tree.parent[first:].tolist()}
    columns["share"] = short_numbers((share_of(region) for region in regions), 7)
    return columns | region_columns(space, regions)


def values(study: Study) -> Mapping[str, Json]:
    """Return what is known of each node."""
    tree = study.tree
    flags = FORBIDDEN * tree.forbidden + SMALLEST * tree.smallest
    flags = flags + ASKABLE * tree.askable + EXPANDED * tree.expanded
    columns: dict[str, Json] = {"event": n_events(study), "count": tree.count.tolist()}
    columns |= {"flags": flags.tolist(), "mean": None, "std": None, "prior": None}
    if np.isnan(tree.mean).all():  # no posterior without the user-defined kernel
        return columns
    prior = tree.std / np.maximum(study.relative_std(), 1e-12)
    if not is_empty(study) and summary.threshold(study) is not None:
        columns |= _held(study)
    return columns | {
        "mean": short_numbers(tree.mean),
        "std": short_numbers(tree.std),
        "prior": short_numbers(prior, 4),
    }


def _held(study: Study) -> dict[str, list[int]]:
    """Return the rows classified beyond the policy's threshold, and those that are uncertain."""
    tree = study.tree
    rows = {node: row for row, node in enumerate(zip(tree.depth.tolist(), tree.index.tolist(), strict=True))}
    columns: dict[str, list[int]] = {"held": [], "perhaps": []}
    for likely in study.above(probability=1 - SURE):
        if likely.region.node is not None:
            columns["held" if likely.probability >= SURE else "perhaps"].append(rows[likely.region.node])
    return columns


def picture(study: Study, at: Mapping[str, Any] | None = None) -> Mapping[str, Json]:
    """Return what is drawn besides the nodes: curves along one axis, maps of pairs of axes.

    The maps hold other axes at the parts that `at` gives, or else as in the best region.
    """
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
                "confidence": short_numbers(confidence_bands.confidence),
                "variation": short_numbers(confidence_bands.variation),
            }
            return drawing | ({"curves": _curves(study)} if study.models else {})
        return {"panels": _panels(study, at or {})} if study.models else drawing
    except StudyFileError:
        return drawing


def _curves(study: Study) -> Sequence[Mapping[str, Json]]:
    j, drawn = along(study.space), []
    assert j is not None
    for curve in curves_along(study, j):
        mean, std = study.predict(curve.regions)
        drawn.append(
            {
                "name": curve.name,
                "x": short_numbers(curve.x),
                "mean": short_numbers(mean),
                "std": short_numbers(std),
            }
        )
    return drawn


def _points(study: Study) -> Mapping[str, Json]:
    """Return the features of all points, and for each the row of the smallest region that contains it."""
    space, tree = study.space, study.tree
    leaf = np.zeros(space.size, dtype=int)
    for row in np.flatnonzero(np.bincount(tree.parent[1:], minlength=len(tree)) == 0).tolist():
        leaf[space.cell((int(tree.depth[row]), int(tree.index[row]))).members] = row
    features = [short_numbers(feature) for feature in space.features[space.place][:, :MAX_FEATURES].T]
    return {"names": list(space.names[:MAX_FEATURES]), "features": features, "leaf": leaf.tolist()}


def _panels(study: Study, at: Mapping[str, Any]) -> Sequence[Mapping[str, Json]]:
    space, drawn = study.space, list[Mapping[str, Json]]()
    for j, k, symbols in panels_of(study):
        panel = Map(study, j, k, symbols, at=at)
        mean, std = study.predict(panel.coloured[0])
        held = [] if panel.slice is None else panel.slice.bounds.tolist()
        others = {space.names[axis]: held[axis] for axis in space.continuous_axes if axis not in (j, k)}
        described: dict[str, Json] = {
            "axes": [j, k],
            "symbols": {name: str(symbol) for name, symbol in symbols.items()},
            "others": others,
            "columns": [next(iter(part.values())) for part in panel.side(j)],
            "rows": [next(iter(part.values())) for part in panel.side(k)],
        }
        drawn.append({**described, "mean": short_numbers(mean), "std": short_numbers(std)})
    return drawn


def history(study: Study) -> Mapping[str, Json]:
    """Return what was recommended after each of the trials, with its posterior at that time.

    Of a file made before answers were kept, they are computed after some of the trials.
    """
    columns: Any = [[], [], []]
    every = all(answer is not None for _, answer in recommended_after(study.events))
    with suppress(StudyFileError):  # no posterior without the user-defined kernel
        columns = best_then(study) if study.measured else columns
    return {**dict(zip(("number", "mean", "std"), map(short_numbers, columns), strict=True)), "every": every}


def outlook(study: Study, n: int) -> Mapping[str, Json]:
    """Return the expected improvement from more measurements; {} if it is not known."""
    try:
        return vars(study.outlook(n))
    except (InvalidInput, Exhausted, StudyFileError):
        return {"n": n, "gain": None, "low": None, "high": None}
