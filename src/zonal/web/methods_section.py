"""The methods paragraph of a study, for a paper: what was sought, how it was measured and modelled, what came out.

Every sentence follows from the settings and the events. What a setting leaves out is not mentioned.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from zonal.engine.events import Asked, Closed, Corrected, SetAside, Told
from zonal.engine.gross_errors import MADS, SURE
from zonal.engine.noise import PerWeight
from zonal.engine.results import Observation, TrialRecord
from zonal.engine.settings import KernelLike
from zonal.errors import StudyFileError
from zonal.io.result_table import counted, give_or_take, number, percent
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Average, Beam, Center, Feedback, Mean
from zonal.policies.knowledge_gradient import KnowledgeGradient
from zonal.policies.level_set import Above
from zonal.spaces.base import Overlapping, Region
from zonal.storage.journal import release
from zonal.study import summary
from zonal.study.history import all_asked, history, n_of_initial_design, policy_of, problem_of, told_late
from zonal.study.summary import amount, beyond, is_empty

if TYPE_CHECKING:
    from zonal.study.study import Study

MAX_NAMED = 5  # forbidden regions that are named one by one

REFERENCES = {
    "averages": "Zhang, M., Tsuchida, R. and Ong, C. S. (2022). Gaussian process bandits with aggregated "
    "feedback. AAAI Conference on Artificial Intelligence.",
    "gp": "Rasmussen, C. E. and Williams, C. K. I. (2006). Gaussian Processes for Machine Learning. MIT Press.",
    "kg": "Frazier, P., Powell, W. and Dayanik, S. (2009). The knowledge-gradient policy for correlated normal "
    "beliefs. INFORMS Journal on Computing 21(4), 599-613.",
    "sets": "Bect, J., Ginsbourger, D., Li, L., Picheny, V. and Vazquez, E. (2012). Sequential design of computer "
    "experiments for the estimation of a probability of failure. Statistics and Computing 22(3), 773-793.",
    "stooo": "Munos, R. (2014). From bandits to Monte-Carlo tree search: the optimistic principle applied to "
    "optimization and planning. Foundations and Trends in Machine Learning 7(1), 1-129.",
    "gptree": "Shekhar, S. and Javidi, T. (2018). Gaussian process bandits with adaptive discretization. "
    "Electronic Journal of Statistics 12(2), 3829-3874.",
    "ucb": "Srinivas, N., Krause, A., Kakade, S. and Seeger, M. (2012). Information-theoretic regret bounds for "
    "Gaussian process optimization in the bandit setting. IEEE Transactions on Information Theory 58(5), "
    "3250-3265.",
    "thompson": "Thompson, W. R. (1933). On the likelihood that one unknown probability exceeds another in view "
    "of the evidence of two samples. Biometrika 25(3/4), 285-294.",
}
POLICIES: dict[str, tuple[str, tuple[str, ...]]] = {  # by class: how it chooses, and the references for that
    "KnowledgeGradient": ("by the knowledge gradient", ("kg",)),
    "Above": ("to remove most of the expected misclassification, by stepwise uncertainty reduction", ("sets",)),
    "GPOO": ("by GPOO, optimistic optimisation on a tree of regions", ("averages",)),
    "StoOO": ("by StoOO, stochastic optimistic optimisation on a tree of regions", ("stooo", "averages")),
    "GPTree": ("by GPTree, adaptive discretisation", ("gptree", "averages")),
    "UCB": ("by the highest upper confidence bound", ("ucb",)),
    "Thompson": ("by Thompson sampling", ("thompson",)),
    "Random": ("at random", ()),
    "UniformGrid": ("on a uniform grid", ()),
}


class _Citations:
    """The references that are cited, numbered in the order of the text."""

    def __init__(self) -> None:
        self.cited: list[str] = []

    def __call__(self, *names: str) -> str:
        """Return the numbers of references, such as " [1, 2]"; "" without any."""
        self.cited += [name for name in names if name not in self.cited]
        numbers = ", ".join(str(self.cited.index(name) + 1) for name in names)
        return f" [{numbers}]" if numbers else ""


def methods(study: Study) -> list[str]:
    """Return a methods paragraph for a paper, and its references, as plain text."""
    cite = _Citations()
    sentences = [
        _aim(study),
        _measurements(study),
        _choice(study, cite),
        *_limits(study),
        *_costs(study),
        *_model(study, cite),
        *_changes(study),
        _answer(study),
    ]
    references = (f"[{place}] {REFERENCES[name]}" for place, name in enumerate(cite.cited, 1))
    text = re.sub(r"\.\.(?= |$)", ".", " ".join(sentences))  # after a unit such as "a.u."
    return [text, *references]


def _quantity(study: Study) -> str:
    """Return what is measured, with its unit in parentheses, since brackets are citations."""
    name, unit = study.settings.value_name, study.settings.value_unit
    return f"{name} ({unit})" if unit else name


def _with_unit(study: Study, value: float) -> str:
    return f"{value:.6g} {study.settings.value_unit}".rstrip()


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _aim(study: Study) -> str:
    policy, space = problem_of(study).policy, study.space
    side, best = ("above", "highest") if study.settings.direction == "maximize" else ("below", "lowest")
    where = f" within {space.cell((0, 0)).name}" if space.axes and space.continuous_axes else ""
    if not isinstance(policy, Above):
        aim = f"the region of the {best} average {_quantity(study)}"
    elif policy.threshold is None:
        aim = f"the regions that make up the {policy.top:.3g} of the space with the {best} average "
        aim += _quantity(study)
    else:
        limit = _with_unit(study, policy.threshold)
        aim = f"all regions of the smallest size whose average {study.settings.value_name} is {side} {limit}"
    return f"We sought {aim}{where} with Zonal {release()}."


def _measurements(study: Study) -> str:
    budget = amount(study, study.budget)
    if not study.measured:
        return f"No measurement of the budget of {budget} was made."
    spent = f"for {amount(study, study.spent)} of" if study.settings.priced else "of"
    told = [trial for trial in study.trials if trial.state == "measured"]
    text = f"Each of {counted(study.measured, 'measurement')} ({spent} a budget of {budget}) returned "
    if study.measured == 1:
        text = f"One measurement ({spent} a budget of {budget}) returned "
    text += f"a noisy {_seen(study.settings.feedback)}"
    if differences := sum(trial.minus is not None for trial in told):
        text += f"; {differences} of them {_was(differences)} differences of two regions"
    if errors := sum(trial.sem is not None for trial in told):
        text += f"; {errors} of them came with {'its' if errors == 1 else 'their'} own standard error"
    if study.settings.judged != study.settings.feedback:
        text += f". What is stated below is the {_seen(study.settings.judged)}, inferred from these measurements"
    return f"{text}."


def _seen(feedback: Feedback) -> str:
    """Return what a measurement averages."""
    match feedback:
        case Center():
            return "value at the centre of a region"
        case Average():
            return f"average over {feedback.s} representative points per axis of a region"
        case Beam():
            return f"average weighted by a normal density about the centre of a region ({feedback})"
        case Mean():
            return "average over a region"
    return f"average over a region as {type(feedback).__name__} defines it"


def _choice(study: Study, cite: _Citations) -> str:
    problem = problem_of(study)
    kind = policy_of(study).partition("(")[0]
    how, names = POLICIES.get(kind, (f"by a policy of our own, {kind}", ()))
    text = f"Regions to measure were chosen {_together(study)}{how}{cite(*names)}"
    if isinstance(problem.policy, KnowledgeGradient) and problem.learned:
        text += ", every few rounds by a guard that follows the highest measured averages without a model"
    first = n_of_initial_design(study)
    return f"{text}{f', after a sweep of {first} regions over the whole space' if first > 1 else ''}."


def _together(study: Study) -> str:
    """Return how many trials were asked for at a time, from the order of the events."""
    waiting, batches, answered, overlap, most = set[int](), list[int](), False, False, 0
    for event in (event for transaction in study.events for event in transaction):
        if isinstance(event, Asked):
            if not waiting:
                batches.append(0)
                answered = False
            overlap |= answered
            batches[-1] += 1
            waiting.add(event.number)
            most = max(most, len(waiting))
        elif isinstance(event, Told | Closed) and event.number in waiting:
            waiting.remove(event.number)
            answered = True
    if most < 2:
        return "one after the other "
    if overlap:
        return f"with up to {most} pending at a time "
    if len(batches) == 1:
        return f"in one batch of {most} "
    low = min(batches[:-1]) if batches[-1] <= most else batches[-1]  # the last may be what was left
    return f"in batches of {most} " if low == most else f"in batches of {low} to {most} "


def _limits(study: Study) -> Iterator[str]:
    """Yield what was not to be measured, or not again."""
    settings = study.settings
    if isinstance(settings.forbidden, Overlapping):
        forbidden = _named(settings.forbidden.regions)
        yield f"Regions that overlap {forbidden} were neither measured nor recommended."
    elif settings.forbidden is not None:
        rule = getattr(settings.forbidden, "__name__", type(settings.forbidden).__name__)
        yield f"Regions for which our rule {rule} returned true were neither measured nor recommended."
    if later := study.forbidden:
        yield f"Later {_named(later)} {_was(len(later))} forbidden too."
    limited = sum(bool(asked.within or asked.avoid) for asked in all_asked(study))
    if limited:
        yield f"{counted(limited, 'trial')} {_was(limited)} limited to what was possible when asked for."
    if settings.max_replicates is not None:
        yield f"No region was measured more than {counted(settings.max_replicates, 'time')}."
    if blocked := len(study.blocked):
        yield f"{counted(blocked, 'region')} could not be measured."


def _named(regions: Sequence[Region]) -> str:
    """Return the names of regions, or how many there are."""
    names = [region.name for region in regions]
    return "; ".join(names) if len(names) <= MAX_NAMED else counted(len(names), "region")


def _costs(study: Study) -> Iterator[str]:
    """Yield what a measurement cost."""
    settings = study.settings
    parts = []
    if settings.cost is not None:
        price = "an amount that depends on its region" if callable(settings.cost) else amount(study, settings.cost)
        parts.append(price)
    if settings.times:
        times = ", ".join(f"{time:.6g}" for time in settings.times)
        parts.append(f"its time (one of {times} {settings.cost_unit}".rstrip() + ")")
    if settings.overhead:
        parts.append(f"an overhead of {amount(study, settings.overhead)}")
    if settings.travel is not None:
        rate = (
            "by a function of the two"
            if callable(settings.travel)
            else (f"{amount(study, settings.travel)} per unit of distance")
        )
        parts.append(f"travel from the region before ({rate})")
    if parts:
        yield f"A measurement cost {' plus '.join(parts)}."


def _model(study: Study, cite: _Citations) -> Iterator[str]:
    """Yield how f was modelled: kernel, noise and mean, each as given or learned."""
    problem = problem_of(study)
    if problem.model_free:
        yield "No model was used: each region's average was estimated from its own measurements."
        return
    text = f"f was modelled as a Gaussian process{cite('gp')}, of which the average over a region is a linear "
    yield f"{text}functional{cite('averages')}. {_kernel(study)} {_noise(study)} {_mean(study)}"


def _kernel(study: Study) -> str:
    given = problem_of(study).unknowns.kernel
    if isinstance(given, Kernel):
        return f"Its kernel was given: {_rounded(study.settings.kernel)}."
    family = "Its kernel" if given is None else f"The parameters of its kernel, {given.__name__},"
    text = f"{family} {'was' if given is None else 'were'} learned from the measurements"
    with suppress(StudyFileError):  # no posterior without a user-defined function
        models = study.models
        if study.model.measurements and len(models) > 1:
            text += f": {len(models)} models, weighted by their posterior probability, were averaged over "
            text += f"(on average {_rounded(study.model.kernel)})"
        elif study.model.measurements:
            text += f": {_rounded(study.model.kernel)}"
    return f"{text}."


def _rounded(kernel: KernelLike) -> str:
    """Return a kernel as text, its parameters with three digits."""
    if not isinstance(kernel, Kernel):
        return f"our own function {getattr(kernel, '__name__', type(kernel).__name__)}"
    return re.sub(r"\d+\.\d{4,}(e[+-]?\d+)?", lambda digits: f"{float(digits[0]):.3g}", str(kernel))


def _noise(study: Study) -> str:
    noise, what = study.settings.noise, "The standard deviation of one measurement"
    time = " in one unit of time, falling with the square root of the time," if study.settings.times else ""
    if isinstance(noise, PerWeight) and noise.std is not None:
        return (
            f"{what}{time} was given as {_with_unit(study, noise.std)} over the square root of a region's weight."
        )
    if isinstance(noise, float):
        return f"{what}{time} was given as {_with_unit(study, noise)}."
    if noise is not None and not isinstance(noise, PerWeight):
        name = getattr(noise, "__name__", type(noise).__name__)
        return f"{what}{time} was given by a function of its region, {name}."
    text = f"{what}{time} was learned"
    text += ", as falling with the square root of a region's weight" if noise is not None else ""
    with suppress(StudyFileError):
        learned = study.model.noise
        if study.model.measurements and learned is not None:
            size = learned.std if isinstance(learned, PerWeight) else learned
            text += f" ({size:.3g} {study.settings.value_unit}".rstrip()
            text += " at weight 1)" if isinstance(learned, PerWeight) else ")"
    return f"{text}."


def _mean(study: Study) -> str:
    if study.settings.mean is not None:
        return f"The prior mean was given as {_with_unit(study, study.settings.mean)}."
    if problem_of(study).unknowns.mean is not None:
        return "The prior mean was 0, the default with a given kernel."
    with suppress(StudyFileError):
        if study.model.measurements:
            mean = f"{study.model.mean:.4g} {study.settings.value_unit}".rstrip()
            return f"The prior mean was learned ({mean})."
    return "The prior mean was learned."


def _changes(study: Study) -> Iterator[str]:
    """Yield what came from elsewhere, what was changed afterwards, and which trials have no value."""
    late = told_late(study)
    if count := sum(observation.number not in late.values() for observation in study.observations):
        yield f"{counted(count, 'measurement')} made outside the study {_was(count)} included."
    retracted = {_source(record) for record, outcomes in history(study) if outcomes[-1].state == "retracted"}
    events = (event for transaction in study.events for event in transaction)
    corrected = {(event.observed, event.number) for event in events if isinstance(event, Corrected)} - retracted
    groups = {"corrected": len(corrected), "retracted": len(retracted)}
    changed = [f"{counted(count, 'value')} {_was(count)} {verb}" for verb, count in groups.items() if count]
    if changed:
        yield f"{' and '.join(changed)} afterwards."
    yield from _set_aside(study)
    states = [trial.state for trial in study.trials if trial.number not in late]
    ended = {state: states.count(state) for state in ("failed", "cancelled")}
    lost = [f"{count} {_was(count)} {state}" for state, count in ended.items() if count]
    if lost:
        yield f"Of {counted(len(study.trials), 'trial')} {' and '.join(lost)}."


def _set_aside(study: Study) -> Iterator[str]:
    """Yield how gross errors were dealt with, if some reading was measured again for their sake, or set aside."""
    events = [event for transaction in study.events for event in transaction if isinstance(event, SetAside)]
    asked = len({(event.observed, event.number) for event in events if event.waits})
    if asked:
        yield (
            f"{counted(asked, 'reading')} far from what the models and the other readings expected (more than "
            f"{SURE:g} standard deviations, and {MADS:g} times as far off as the median) {_was(asked)} not "
            "believed before a repeat of the region agreed."
        )
    left_out = [outcomes[-1] for _, outcomes in history(study) if outcomes[-1].state == "set aside"]
    if left_out:
        values = ", ".join(f"{outcome.value:.6g}" for outcome in left_out)
        yield f"{counted(len(left_out), 'reading')} ({values}) {_was(len(left_out))} set aside as gross errors."


def _source(record: TrialRecord | Observation) -> tuple[bool, int]:
    """Return whether something is an observation, and its number."""
    return isinstance(record, Observation), record.number


def _answer(study: Study) -> str:
    if is_empty(study):
        return "Nothing was measured yet."
    try:
        best = study.recommend()
    except StudyFileError as error:  # no posterior without a user-defined function
        return str(error)
    text = f"In the end there were {beyond(study)}. " if summary.misclassified(study) is not None else ""
    kind = "an average" if problem_of(study).model_free else "a posterior average"
    text += (
        f"The region recommended is {best.region.name}, with {kind} of "
        f"{give_or_take(best.mean, best.std, best.unit)} (mean and standard deviation)"
    )
    if math.isfinite(best.gap):
        gap = number(best.gap, best.std)
        better = f"by more than {gap} {best.unit}".rstrip() if float(gap) > 0 else "at all"
        text += (
            f"; under the model, with a probability of 0.9 no region of the smallest size is better {better}, and "
            f"it is the best of all with a probability of {percent(best.probability_best)}"
        )
    return f"{text}." if study.stands_out() else f"{text}. No region stands out from the space as a whole."
