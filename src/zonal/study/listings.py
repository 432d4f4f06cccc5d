"""A study as tables: all trials, the best regions, and those that are probably beyond a threshold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.engine.results import Observation, Recommendation, RegionProbability, TrialRecord
from zonal.engine.trial_history import Outcome
from zonal.errors import truth, whole_number
from zonal.io.result_table import Cell, Listing, Probability, Records, counted, labelled, percent
from zonal.spaces import Node, Region, with_feedback
from zonal.study.history import history
from zonal.study.patches import Patches, patches
from zonal.study.region_formats import table_cells

if TYPE_CHECKING:
    from zonal.study.study import Study


@dataclass(frozen=True, repr=False)
class RegionProbabilities(Records[RegionProbability]):
    """Regions whose average is probably beyond a threshold, the most probable first.

    The rows are in ``records``; iterating over the table, or indexing by number, gives them too. ``likeliest`` is
    the most probable of all regions, even if it is not probable enough to be a row; then the title names it.
    ``threshold`` is in value units. If it is the policy's own, ``misclassified`` is the expected weight of the
    smallest regions that are classified on its wrong side, in units of ``region.weight``, under the model.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(3):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> listed = study.above(0.5)
    >>> len(listed) > 0, len(listed.patches())
    (True, 1)
    """

    likeliest: RegionProbability | None = None
    threshold: float = math.nan
    side: str = "above"
    misclassified: float | None = None
    unit: str = ""  # of the values

    def patches(self, within: float | None = None) -> Patches:
        """Return the regions joined where they touch, with peak, centroid, size and extent: a table of `Patch`.

        Regions of axes touch if they share a side, also across the cut of a ring; a common corner is not enough,
        and regions with different symbols do not touch. An axis or feature keeps its name: a column of ours with
        that name is called "patch ..." then.

        Parameters
        ----------
        within : float, optional
            For points and areas with coordinates, where it is needed: they touch if a member of one lies within
            this distance of a member of the other, in the units of the coordinates.
        """
        sign, limit = (1 if self.side == "above" else -1), self.threshold
        title = self.title.replace("Regions", "Patches of regions", 1)
        return patches(self.records, lambda mean: sign * (mean - limit), self.unit, title, within)


def table(study: Study, earlier: bool) -> Listing:
    """Return all trials and observations as a table: see `Study.table`."""
    unit, rows = study.settings.value_unit, _rows(study, truth(earlier, "history"))
    records, outcomes = _attributes(rows, "record"), _attributes(rows, "now")
    regions = _attributes(records, "region")
    expected = study.predict([with_feedback(region, None) for region in regions])
    columns: dict[str, list[Cell]] = {
        "number": _numbers(records, TrialRecord),
        "region": _attributes(regions, "name"),
        labelled(study.settings.value_name, unit): _attributes(outcomes, "value"),
        labelled("sem", unit): _attributes(outcomes, "sem"),
        "limit": _attributes(outcomes, "limit"),
        "exposure": _attributes(outcomes, "exposure"),
        "slope": _attributes(_attributes(regions, "feedback"), "slope", ""),
        "minus": _attributes(_attributes(records, "minus"), "name", ""),
        "replicate": _attributes(records, "replicate"),
        **_labels(records),
        **{labelled(name, study.settings.cost_unit): _attributes(records, name) for name in study.settings.spends},
        labelled("mean", unit): expected.mean.tolist(),
        labelled("std", unit): expected.std.tolist(),
        "state": _attributes(rows, "state"),
        "observation": _numbers(records, Observation),
        "note": _attributes(outcomes, "note"),
    }
    if earlier:
        times = dict(enumerate(study.timestamps))  # empty in memory
        columns["who"] = _attributes(outcomes, "by")
        columns["when"] = [times.get(at, "")[:19].replace("T", " ") for at in _attributes(outcomes, "event")]
    trials, seen = (len({*columns[name]} - {None}) for name in ("number", "observation"))
    left_out = {labelled("sem", unit), "limit", "exposure", "slope", "minus", "observation", "note", "who", "when"}
    shown = {name: cells for name, cells in columns.items() if name not in left_out or set(cells) - {None, ""}}
    title = counted(trials, "trial") + (f" and {counted(seen, 'observation')}" if seen else "")
    return Listing(title, joined(shown, regions, "trial"))


def _labels(records: Sequence[TrialRecord | Observation]) -> dict[str, list[Cell]]:
    """Return a column for each name of a label; called as another column of the table, it says that it is one."""
    names = dict.fromkeys(name for record in records for name, _ in record.labels)
    taken = {"number", "region", "sem", "slope", "minus", "replicate"}
    taken |= {"time", "cost", "mean", "std", "state", "note"}
    return {
        f"label {name}" if name in taken else name: [dict(record.labels).get(name, "") for record in records]
        for name in names
    }


class _Row(NamedTuple):
    """A row of the table."""

    record: TrialRecord | Observation
    now: Outcome
    state: str


def _rows(study: Study, earlier: bool) -> list[_Row]:
    """Return all trials, and the observations that count; with `earlier` all, and what each was before."""
    rows = []
    for record, (*before, now) in history(study):
        if earlier:
            rows += [_Row(record, past, f"was {past.state}") for past in before if past.state != "pending"]
        if earlier or now.value is not None or isinstance(record, TrialRecord):
            rows.append(_Row(record, now, now.state))
    return rows


def _attributes(things: Iterable[object], name: str, default: Cell = None) -> list[Any]:
    """Return an attribute of each of some things, or the default where there is none."""
    return [getattr(thing, name, default) for thing in things]


def _numbers(records: Iterable[TrialRecord | Observation], kind: type[TrialRecord | Observation]) -> list[Cell]:
    """Return the numbers of the trials, or of the observations; None in rows about the other."""
    return [record.number if isinstance(record, kind) else None for record in records]


def top(study: Study, k: int) -> Listing:
    """Return the `k` best regions as a table: see `Study.top`."""
    best = study.recommend(k=whole_number(k, "the number of regions", 1))
    tree, unit = study.tree, study.settings.value_unit
    counts: dict[Node | None, int] = dict(
        zip(zip(tree.depth.tolist(), tree.index.tolist(), strict=True), tree.count.tolist(), strict=True)
    )
    columns: dict[str, list[Cell]] = {"rank": list(range(1, len(best) + 1)), **_averages(best, unit)}
    columns["measurements"] = [counts.get(answer.node, 0) for answer in best]
    columns["P(best)"] = [Probability(answer.probability_best) for answer in best]
    kind = "highest" if study.settings.direction == "maximize" else "lowest"
    title = f"Regions of the {kind} {study.settings.value_name}, after {study.measured} measurements"
    return Listing(title, joined(columns, [answer.region for answer in best], "study"))


def likely_table(
    study: Study,
    beyond: str,
    likely: Sequence[RegionProbability],
    number: int,
    limit: tuple[float, str, float | None],
) -> RegionProbabilities:
    """Return the `number` most probable regions as a table, or a sentence about the most probable if it is 0.

    `beyond` is the statement about their averages, such as "is above 0.7 K with a probability of 0.9", and `limit`
    the threshold with its side, and the weight that is expected to be misclassified.
    """
    listed, unit = tuple(likely[:number]), study.settings.value_unit
    ours = _averages(likely, unit) | {"probability": [Probability(item.probability) for item in likely]}
    ours["sigma"] = _attributes(likely, "sigma")
    columns = joined(ours, [item.region for item in likely], "study")
    mean, std = (column_of(columns, ours[labelled(name, unit)]) for name in ("mean", "std"))
    what = f"whose average {study.settings.value_name} {beyond}, after {counted(study.measured, 'measurement')}"
    title = f"Regions {what}" if listed else f"There is no region {what}."
    if likely and not listed:
        title += f" The most probable is {likely[0].region.name}: {percent(likely[0].probability)}."
    rows = {name: cells[:number] for name, cells in columns.items()}
    likeliest = likely[0] if likely else None
    return RegionProbabilities(title, rows, {mean: std, std: std}, listed, likeliest, *limit, unit)


def _averages(best: Sequence[Recommendation | RegionProbability], unit: str) -> dict[str, list[Cell]]:
    """Return the names of some regions, and what their averages are."""
    columns: dict[str, list[Cell]] = {"region": [item.region.name for item in best]}
    return columns | {labelled(name, unit): _attributes(best, name) for name in ("mean", "std")}


def joined(ours: dict[str, list[Cell]], regions: Sequence[Region], word: str) -> dict[str, list[Cell]]:
    """Return columns with one for each axis, feature or level behind the region's name.

    Those are called as the user called them: a column of ours with the same name yields, and begins with `word`.
    """
    parts = [table_cells(region) for region in regions]
    theirs: dict[str, list[Cell]] = {name: [part[name] for part in parts] for name in parts[0]} if parts else {}
    columns: dict[str, list[Cell]] = {}
    for name, cells in ours.items():
        while name in theirs:
            name = f"{word} {name}"
        columns[name] = cells
        if cells is ours["region"]:
            columns |= theirs
    return columns


def column_of(columns: dict[str, list[Cell]], cells: list[Cell]) -> str:
    """Return the name that some cells have among joined columns."""
    return next(name for name, column in columns.items() if column is cells)
