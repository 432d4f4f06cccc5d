"""A study for people and programs: a sentence, a card, tables of trials and of best regions, JSON.

It uses what a study returns, in the user's units, and changes nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zonal._types import Json
from zonal.engine import confidence, policy
from zonal.engine.policy import views
from zonal.engine.results import (
    Explanation,
    Observation,
    Recommendation,
    RegionProbability,
    Trial,
    TrialRecord,
    answer,
)
from zonal.engine.trial_history import Outcome
from zonal.errors import truth, whole_number
from zonal.gp.noise_laws import CONSTANT
from zonal.io.result_table import (
    Cell,
    Listing,
    Probability,
    Records,
    card,
    counted,
    give_or_take,
    labelled,
    number,
    percent,
)
from zonal.spaces import Node, Region, with_feedback
from zonal.study.history import history
from zonal.study.patches import Patch, Patches, patches
from zonal.study.region_formats import region_json, table_cells
from zonal.study.suspects import set_aside_line

if TYPE_CHECKING:
    from zonal.engine.confidence import Outlook
    from zonal.study.study import Study
    from zonal.tree import TreeTable

TOP = 5
# What a study returns, as far as programs get it: JSON values, and what `jsonable` turns into them.
Shown: TypeAlias = (
    "Region | Trial | Observation | Recommendation | RegionProbability | RegionProbabilities | Outlook | "
    "Listing | Patch | Patches | TreeTable"
)
Arrays = NDArray[np.generic] | np.generic
Answer: TypeAlias = "Json | Shown | Arrays | Mapping[str, Answer] | Sequence[Answer]"
MOST_COUNTED = 10**9  # beyond it a power of ten is enough
MOST_WAITING = 3  # pending trials that are named
UNMEASURED = "nothing measured yet"
LUCK = "no region stands out: the best so far may be due to chance"


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


def to_json(answer: Answer, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """Return an answer as JSON: names as in Python, null for NaN."""
    options: dict[str, Any] = {"default": jsonable, "ensure_ascii": False, "allow_nan": False}
    options |= {"indent": indent, "separators": separators}
    try:
        return json.dumps(answer, **options)
    except ValueError:
        finite = json.loads(json.dumps(answer, default=jsonable), parse_constant=lambda _: None)
        return json.dumps(finite, **options)


def jsonable(thing: Answer) -> Any:
    """Return a value that a study returns, as JSON types."""
    match thing:
        case Region():
            return region_json(thing)
        case Trial():
            spends = {} if (thing.time, thing.cost) == (1, 1) else {"time": thing.time, "cost": thing.cost}
            labels = {"labels": dict(thing.labels)} if thing.labels else {}
            return {
                "trial": thing.number,
                "replicate": thing.replicate,
                "region": thing.region,
                **spends,
                **labels,
            }
        case Observation():
            return thing.number
        case Recommendation():
            parts = thing.as_dict()
            del parts["node"]  # which is the region's
            return parts
        case Explanation():
            return thing.as_dict()
        case RegionProbabilities():
            return {"title": thing.title, "regions": thing.records, "likeliest": thing.likeliest}
        case Patches():
            return {"title": thing.title, "patches": thing.records}
    return thing.tolist() if isinstance(thing, np.ndarray | np.generic) else vars(thing)


def amount(study: Study, value: float) -> str:
    """Return a number of measurements, or a cost with its unit."""
    return f"{value:.6g} {study.settings.cost_unit}".rstrip() if study.settings.priced else str(value)


def progress(study: Study, done: str, what: str = "") -> str:
    """Return how many measurements were made, and for how much of the budget, such as "3 of 80 measured"."""
    if not study.settings.priced:
        return f"{study.measured} of {study.budget}{what and f' {what}s'} {done}"
    told = counted(study.measured, what) if what else study.measured
    return f"{told} {done} for {study.spent:.6g} of {amount(study, study.budget)}"


def budget_line(study: Study) -> str:
    """Return how much of the budget is used, and by what."""
    left = amount(study, study.remaining)
    return f"{progress(study, 'measured')}, {len(study.pending)} pending, {left} left"


def measurements_left(study: Study) -> int:
    """Return how many of the cheapest measurements may still be asked for."""
    state = study._state
    return state.problem.n_affordable(state.created.cheapest, state.remaining)


def headline(study: Study, name: str = "") -> str:
    """Return a study's name and its progress: the `name` given, unless it is empty or the default."""
    pending = f", {len(study.pending)} pending" if study.pending else ""
    return f"{study._called if name in ('', 'value') else name}: {progress(study, 'measured')}{pending}"


def best_word(study: Study) -> str:
    """Return "best so far", or "best region" once the budget is spent."""
    return "best so far" if study.pending or measurements_left(study) else "best region"


def best_so_far(study: Study) -> str:
    """Return the recommended region and its average, without its certainty."""
    best = study.recommend()
    return f"{best.region.name}: {give_or_take(best.mean, best.std, best.unit)}"


def progress_text(study: Study) -> str:
    """Return the recommended average and its certainty, for a progress bar."""
    best = study.recommend()
    gap = f", gap {number(best.gap, best.std)}" if best.gap == best.gap else ""
    return f"best {give_or_take(best.mean, best.std, best.unit)}{gap}"


def is_empty(study: Study) -> bool:
    """Tell whether nothing was measured."""
    return not study.measured and not study.observations


def study_text(study: Study) -> str:
    """Return the progress, what is pending, the size of the smallest regions and the answer so far."""
    aside = set_aside_line(study)
    return f"{headline(study)}\n{waiting(study)}{aside}{smallest(study)}\n{answer_text(study)}"


def smallest(study: Study) -> str:
    """Return how many smallest regions there are, and of which size."""
    space, state = study.space, study._state
    depth = state.problem.bottom(state.h_max)
    number = space.partition.leaves(depth)
    many = str(number) if number < MOST_COUNTED else f"about 10^{round(math.log10(number))}"
    return f"{many} smallest region{'' if number == 1 else 's'}: {space.partition.grain(depth)}"


def waiting(study: Study) -> str:
    """Return a line with the first pending trials, which people look for after a crash; "" if there are none."""
    pending = study.pending
    if not pending:
        return ""
    shown = "; ".join(f"trial {trial.number}, {trial.region.name}" for trial in pending[:MOST_WAITING])
    more = len(pending) - MOST_WAITING
    return f"pending: {shown}{f'; and {more} more' if more > 0 else ''}\n"


def answer_text(study: Study) -> str:
    """Return the answer so far, and how certain it is."""
    if is_empty(study):
        return UNMEASURED
    best = study.recommend()
    sure = f"the best of all with probability {percent(best.probability_best)}, under the model"
    answer = f"{best_word(study)} {best.region.name}: {give_or_take(best.mean, best.std, best.unit)}"
    text = f"{answer}; {sure}" if best.probability_best == best.probability_best else answer
    if misclassified(study) is not None:
        text = f"{beyond(study)}\n{text}"
    notes = [note for note in ("" if study.stands_out() else LUCK, best.note, *instrument(study)) if note]
    return "\n".join([text, *notes])


def instrument(study: Study) -> Iterator[str]:
    """Yield how the noise depends on size, if it does, and how wide the beam is, where that is learned."""
    if study._state.model is None:
        return
    model = study.model
    if model.law != CONSTANT.name:
        yield f"noise {model.noise_text(study.settings.value_unit)}"
    if model.beam and model.measurements:
        wide = math.exp(model.spread["beam"])
        yield f"beam {model.beam:.3g} wide at half maximum ({model.beam / wide:.3g} to {model.beam * wide:.3g})"


def beyond(study: Study) -> str:
    """Return how many regions are classified beyond the policy's threshold, and how certain that is."""
    likely, wrong = study.above(), misclassified(study)
    assert wrong is not None
    share = wrong / study.space.cell((0, 0)).weight
    side = "above" if study.settings.direction == "maximize" else "below"
    limit = f"{threshold(study):.6g} {study.settings.value_unit}".rstrip()
    held = f"{counted(len(likely.records), 'region')} classified as {side} {limit}"
    return f"{held}; {percent(share)} of the space is expected to be misclassified, under the model"


def threshold(study: Study) -> float | None:
    """Return the threshold of the policy's search for a set of regions; None if it searches for the best one."""
    with study._lock:
        state = study._state
        limit = policy.threshold(state)
    return None if limit is None else state.problem.sign * (state.prior_mean + limit) + 0.0  # 0, not -0


def misclassified(study: Study) -> float | None:
    """Return the weight of regions expected on the wrong side of the policy's threshold; None if it has none."""
    with study._lock:
        state = study._state
        limit = policy.threshold(state)
        if limit is None:
            return None
        return confidence.misclassified(state.posterior_table(), views(state, pending=False), limit)


def study_card(study: Study) -> str:
    """Return the main facts of a study, as HTML."""
    facts: dict[str, object] = {"space": study.space, "measurements": budget_line(study).rpartition(", ")[0]}
    if is_empty(study):
        return card(headline(study), facts | {"best region so far": UNMEASURED})
    best = study.recommend()
    if misclassified(study) is not None:
        facts["the set"] = beyond(study)
    place = "best region" if best_word(study) == "best region" else "best region so far"
    facts |= {place if name == "region" else name: fact for name, fact in answer(best).items()}
    return card(headline(study), facts if study.stands_out() else facts | {"but": LUCK})


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
    taken = {
        "number",
        "region",
        "sem",
        "slope",
        "minus",
        "replicate",
        "time",
        "cost",
        "mean",
        "std",
        "state",
        "note",
    }
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
