"""Looking at a study: its trials and its best regions as tables, and the study itself as a card.

It reads what a study says of itself, in the user's units, and changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.errors import whole_number
from zonal.tables.listings import Cell, Listing, card, labelled, short

if TYPE_CHECKING:
    from zonal.rounds.trials import Observation, TrialRecord
    from zonal.spaces import Region
    from zonal.study import Study

TOP = 5
OURS = {"number", "rank", "region", "replicate", "looks", "state", "note", "mean", "std", "sem"}


def trial_table(study: Study) -> Listing:
    """Return all trials and observations of a study, one row each, in order.

    The columns are number, region, one an axis, feature or level with its unit, value, standard error, replicate,
    posterior mean and standard deviation of the region's average, state and note. Observations have no number.
    """
    unit, trials, seen = study.value_unit, study.trials, study.observations
    rows: list[TrialRecord | Observation] = [*trials, *seen]
    regions = [row.region for row in rows]
    expected = study.predict(regions) if regions else None
    columns: dict[str, list[Cell]] = {"number": [trial.number for trial in trials] + [None] * len(seen)}
    columns |= _where(study, regions)
    columns[labelled(study.value_name, unit)] = [row.value for row in rows]
    columns[labelled("sem", unit)] = [row.sem for row in rows]
    columns["replicate"] = [trial.replicate for trial in trials] + [None] * len(seen)
    columns[labelled("mean", unit)] = [] if expected is None else expected.mean.tolist()
    columns[labelled("std", unit)] = [] if expected is None else expected.std.tolist()
    columns["state"] = [*(trial.state for trial in trials), *["observed"] * len(seen)]
    columns["note"] = [*(trial.note for trial in trials), *[""] * len(seen)]
    empty = {name for name in (labelled("sem", unit), "note") if not any(columns[name])}
    return Listing(
        _counted(len(trials), "trial") + (f" and {_counted(len(seen), 'observation')}" if seen else ""),
        {name: cells for name, cells in columns.items() if name not in empty},
    )


def top_table(study: Study, k: int = TOP) -> Listing:
    """Return the `k` best regions of a study, disjoint and of the smallest size, the best first.

    The columns are rank, region, one an axis, feature or level, posterior mean and standard deviation of its
    average, how often it was measured, and the probability, under the model, that no region is better.
    """
    best = study.recommend(k=whole_number(k, "the number of regions", 1))
    tree, unit = study.tree, study.value_unit
    looks = dict(zip(zip(tree.depth.tolist(), tree.index.tolist(), strict=True), tree.count.tolist(), strict=True))
    columns: dict[str, list[Cell]] = {"rank": list(range(1, len(best) + 1))}
    columns |= _where(study, [own.region for own in best])
    columns[labelled("mean", unit)] = [own.mean for own in best]
    columns[labelled("std", unit)] = [own.std for own in best]
    columns["looks"] = [looks[own.node] for own in best]
    columns["probability best"] = [own.probability_best for own in best]
    kind = "highest" if study.direction == "maximize" else "lowest"
    return Listing(f"Regions of the {kind} {study.value_name}, after {study.told} measurements", columns)


def study_card(study: Study) -> str:
    """Return what a person wants to know first of a study, as HTML."""
    facts: dict[str, object] = {
        "space": study.space,
        "measurements": f"{study.told} of {study.budget} told, {len(study.pending)} under way",
    }
    if study.edited:
        facts["history"] = f"from an edited export: {'; '.join(study.edited)}"
    if study.told:
        best = study.recommend()
        facts["best region so far"] = best.region.name
        facts["its average"] = f"{short(best.mean)} ± {short(best.std)} {study.value_unit}".rstrip()
        facts["no region better by more than"] = f"{short(best.gap)} (9 in 10, under the model)"
    return card("Study", facts)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _where(study: Study, regions: list[Region]) -> dict[str, list[Cell]]:
    """Return the names of regions, and what they are of each axis, feature or level."""
    columns: dict[str, list[Cell]] = {"region": [region.name for region in regions]}
    parts = [region.cells() for region in regions]
    for name in parts[0] if parts else ():
        columns[f"{name} (axis)" if name in OURS else name] = [part[name] for part in parts]
    return columns
