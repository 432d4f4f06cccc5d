"""A study for people and programs: sentences, a card, and what it returns as JSON.

It uses what a study returns, in the user's units, and changes nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zonal._types import Json
from zonal.engine import confidence, policy
from zonal.engine.policy import views
from zonal.engine.results import Explanation, Observation, Recommendation, RegionProbability, Trial, answer
from zonal.gp.noise_laws import CONSTANT
from zonal.io.result_table import Listing, card, counted, give_or_take, number, percent
from zonal.spaces import Region
from zonal.study.listings import RegionProbabilities
from zonal.study.patches import Patch, Patches
from zonal.study.region_formats import region_json
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
