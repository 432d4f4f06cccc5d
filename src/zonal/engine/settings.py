"""The settings of a study, checked and frozen, and what can be computed from them alone."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from functools import cache, partial
from itertools import takewhile
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from zonal._types import Floats
from zonal.engine.costs import SLACK, Prices, answer, checked_price, checked_times, checked_travel
from zonal.engine.labels import checked_names
from zonal.engine.noise import Noise, NoiseRule, unit_noise
from zonal.errors import (
    InvalidInput,
    attribute,
    check_choice,
    finite_number,
    positive_number,
    random_generator,
    require,
    standard_deviation,
    text,
    truth,
    whole_number,
    without_unit,
)
from zonal.gp.fit_schedule import ModelFitter
from zonal.gp.kernel_families import frame_of
from zonal.gp.likelihoods import Likelihood, within_range
from zonal.gp.model import ModelSpec, Spec
from zonal.kernels.base import Categorical, Kernel, ProductKernel
from zonal.kernels.callable import custom, is_kernel
from zonal.kernels.feedback import Beam, Feedback, Mean
from zonal.kernels.spectrum import Motif
from zonal.policies.base import INDEX_LIMIT, Policy
from zonal.policies.knowledge_gradient import KnowledgeGradient
from zonal.spaces import AxisSpace, FiniteSpace, Node, Region, Space, as_space
from zonal.spaces.base import DEEPEST, forbidden_rule

Forbidden = Callable[[Region], bool]
Cost = float | Callable[[Region], float]
Travel = float | Callable[[Region, Region], float]
RegionLike = Region | Mapping[str, Any] | Sequence[Hashable] | ArrayLike | date  # as in `spaces`
RegionsLike = RegionLike | Sequence[RegionLike] | None
ForbiddenLike = Forbidden | RegionLike | Sequence[RegionLike] | None
KernelFunction = Callable[[Floats, Floats], ArrayLike]  # of features
KernelLike = Spec | KernelFunction
Direction = Literal["maximize", "minimize"]
SpaceLike = Space | Sequence[tuple[float, float]] | Mapping[str, Any]  # the last as for `Box` or `Product`

T = TypeVar("T")

MAX_DESIGN_CELLS = 64
MAX_FRACTIONED_CELLS = 1024  # of which a fraction is measured
MIN_FREE_SPLITS = 3  # of that fraction: with fewer, too many axes would change together
MIN_WHOLE_AXES = 2  # that the cells of the initial design would not split, without such a fraction
MAX_MEASUREMENTS = 1_000_000  # assumed for a budget where measurements cost almost nothing
TRIED_POINTS = 200  # on which a user's kernel function is tested


class Given(TypedDict, total=False):
    """The keyword arguments of `Study` other than space, budget and direction: see `Study`."""

    kernel: KernelLike
    noise: Noise | None
    mean: float | None
    feedback: Feedback | None
    target: Feedback | None
    policy: Policy | None
    rng: int | np.random.Generator | None
    max_replicates: int | None
    forbidden: ForbiddenLike
    value_name: str
    value_unit: str
    cost: Cost | None
    times: Sequence[float] | None
    overhead: float
    travel: Travel | None
    cost_unit: str
    offsets: Sequence[str]
    drift: bool
    gross_errors: bool | None
    likelihood: Likelihood | None


def checked_feedback(feedback: Feedback, space: Space) -> Feedback:
    """Check that a feedback is one, and that it has a meaning on this space; return it."""
    fix = "Pass one, with parentheses: zn.Mean()."
    is_feedback = isinstance(feedback, Feedback)
    require(is_feedback, "feedback must be Center(), Average(s) or Mean()", feedback, fix)
    feedback.check(space)
    return feedback


def _checked_target(target: Feedback | None, space: Space) -> Feedback | None:
    if target is not None and not isinstance(target, Feedback):
        raise InvalidInput("target must be a feedback", target, "Pass what is judged, such as zn.Mean().")
    unknown = isinstance(target, Beam) and target.is_unknown
    require(not unknown, "what is judged must be known", target, "Pass the width of the beam, or zn.Mean().")
    return None if target is None else checked_feedback(target, space)


def _checked_policy(policy: Policy | None) -> Policy | None:
    able = policy is None or (attribute(policy, "bind") and not isinstance(policy, type))
    require(able, "policy must be a policy", policy, "Pass for example zn.GPOO().")
    return policy


def _checked_errors(given: bool | None, policy: Policy | None) -> bool | None:
    if given is None:
        return None
    fix = "Leave gross_errors out, or use a policy with a Gaussian belief, such as GPOO."
    able = not (given and policy is not None and policy.model_free)
    require(able, "empirical means cannot tell which reading is a gross error", given, fix)
    return truth(given, "gross_errors")


def _checked_likelihood(likelihood: Likelihood | None, noise: Noise | None) -> Likelihood | None:
    fix = "Pass for example zn.Counts(exposure=10); leave it out for numbers."
    require(likelihood is None or isinstance(likelihood, Likelihood), "this is no likelihood", likelihood, fix)
    problem = "the noise of counts and proportions follows from their rate"
    require(likelihood is None or noise is None, problem, noise, "Leave noise= out.")
    return likelihood


def _checked_kernel(kernel: KernelLike, space: Space) -> KernelLike:
    family = isinstance(kernel, type) and issubclass(kernel, ProductKernel | Categorical | Motif)
    function = callable(kernel) and space.axes is None and not isinstance(kernel, type | Kernel)
    able = kernel is None or family or function or is_kernel(kernel)
    fix = "Pass for example zn.RBF(variance=0.1, lengthscale=0.05), or zn.RBF to have it learned."
    require(able, "kernel must be a kernel, a kernel class or None", kernel, fix)
    return kernel


def _checked_direction(direction: str) -> Direction:
    check_choice(direction, "direction", ("maximize", "minimize"))
    return "maximize" if direction == "maximize" else "minimize"  # plain text, whatever kind of text it was


def _function_or(check: Callable[[float, str], float], given: T | None, name: str) -> T | float | None:
    """Check a setting that may be a function of regions, or nothing; return it."""
    free = given is None or (callable(given) and not isinstance(given, type))
    return given if free else check(given, name)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Settings:
    """Everything the user gave to a study, as `Study` takes it; `feedback` is never None."""

    space: AxisSpace | FiniteSpace
    budget: float  # at the start; `extend` adds to it
    kernel: KernelLike
    noise: Noise | None
    mean: float | None
    feedback: Feedback
    policy: Policy | None
    seed: int  # determines every random number of the study
    direction: Direction
    max_replicates: int | None
    forbidden: Forbidden | None
    value_name: str
    value_unit: str
    cost: Cost | None = None
    times: tuple[float, ...] = ()
    overhead: float = 0.0
    travel: Travel | None = None
    cost_unit: str = ""
    target: Feedback | None = None  # None: see `judged`
    offsets: tuple[str, ...] = ()  # the labels whose readings have an offset of their own
    drift: bool = False  # whether readings drift in their order
    gross_errors: bool | None = None  # None: see `Problem.doubts_readings`
    likelihood: Likelihood | None = None  # None: numbers with Gaussian noise

    @property
    def judged(self) -> Feedback:
        """What of a region is judged: the target; by default its mean if a beam measures it, else the feedback."""
        if self.target is not None:
            return self.target
        model_free = self.policy is not None and self.policy.model_free  # it knows only what was measured
        return Mean() if isinstance(self.feedback, Beam) and not model_free else self.feedback

    @property
    def priced(self) -> bool:
        """Whether measurements have a cost; if not, the budget is a number of measurements."""
        return self.cost is not None or bool(self.times) or self.overhead > 0 or self.travel is not None

    @property
    def spends(self) -> tuple[str, ...]:
        """What a trial spends and tables show: its time where times are chosen, its cost if there is any."""
        return (("time",) if self.times else ()) + (("cost",) if self.priced else ())

    @property
    def sign(self) -> float:
        """The factor that turns the user's values into rewards: 1, or -1 when minimising."""
        return 1.0 if self.direction == "maximize" else -1.0


def checked(space: SpaceLike, *, budget: float, direction: str = "maximize", **given: Unpack[Given]) -> Settings:
    """Check what the user passed, as `Study` takes it, and return it as settings."""
    checked_space, feedback = as_space(space), given.get("feedback")
    max_replicates, travel = given.get("max_replicates"), given.get("travel")
    unit = text(given.get("value_unit", ""), "value_unit")
    noise: Any = without_unit(given.get("noise"), unit, "noise")
    mean: Any = without_unit(given.get("mean"), unit, "mean")
    settings = Settings(
        space=checked_space,
        budget=budget,
        kernel=_checked_kernel(given.get("kernel"), checked_space),
        noise=_function_or(standard_deviation, noise, "noise"),
        mean=None if mean is None else finite_number(mean, "mean"),
        feedback=checked_feedback(Mean() if feedback is None else feedback, checked_space),
        policy=_checked_policy(given.get("policy")),
        direction=_checked_direction(direction),
        max_replicates=None if max_replicates is None else whole_number(max_replicates, "max_replicates", 1),
        forbidden=forbidden_rule(checked_space, given.get("forbidden")),
        value_name=text(given.get("value_name", "value"), "value_name"),
        value_unit=unit,
        cost=_function_or(checked_price, given.get("cost"), "cost"),
        times=checked_times(given.get("times"), "times"),
        overhead=checked_price(given.get("overhead", 0.0), "overhead"),
        travel=_function_or(partial(checked_travel, space=checked_space), travel, "travel"),
        cost_unit=text(given.get("cost_unit", ""), "cost_unit"),
        target=_checked_target(given.get("target"), checked_space),
        offsets=checked_names(given.get("offsets", ())),
        drift=truth(given.get("drift", False), "drift"),
        gross_errors=_checked_errors(given.get("gross_errors"), given.get("policy")),
        likelihood=_checked_likelihood(given.get("likelihood"), noise),
        seed=_seed(given.get("rng")),
    )
    checked_budget = positive_number(budget, "budget") if settings.priced else whole_number(budget, "budget", 1)
    return replace(settings, budget=checked_budget)


def checked_again(settings: Settings) -> Settings:
    """Check settings that come from a file or another process, as if a user had passed them."""
    given = {setting.name: getattr(settings, setting.name) for setting in fields(settings)}
    return checked(given.pop("space"), rng=whole_number(given.pop("seed"), "seed", 0), **given)


def _seed(rng: int | np.random.Generator | None) -> int:
    """Return the seed of a study: the number given, or one drawn from the generator given."""
    generator = random_generator(rng)
    return int(rng) if isinstance(rng, int | np.integer) else int(generator.integers(1 << 62))


def _unknowns(settings: Settings, model_free: bool, noise: NoiseRule) -> ModelSpec:
    """Return what is learned; what was given is kept."""
    kernel, space = settings.kernel, settings.space
    if not (kernel is None or isinstance(kernel, type | Kernel)):  # a function of features
        members = cast(FiniteSpace, space)
        kernel = custom(cast(KernelFunction, kernel), members.features[:: -(-members.size // TRIED_POINTS)])
    if model_free and isinstance(kernel, type):  # nothing is learned, so it need not suit the space
        kernel = None
    mean = 0.0 if model_free or isinstance(kernel, Kernel) else None
    beam = isinstance(settings.feedback, Beam) and settings.feedback.is_unknown
    if settings.mean is not None:
        mean = settings.sign * settings.mean
    offsets = len(settings.offsets) + settings.drift
    problem, how = (
        "a beam of unknown width cannot be learned beside offsets or a drift",
        "Give the beam its width.",
    )
    require(not (beam and offsets), problem, settings.feedback, how)
    return ModelSpec(kernel, noise.learned, mean, noise.laws, beam and not model_free, offsets)


class Problem:
    """What can be computed from the settings alone."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.space = settings.space
        self.feedback = settings.feedback  # what is measured of a region
        self.target = settings.judged  # what is judged of it
        self.measures_target = self.feedback == self.target
        self.policy: Policy = KnowledgeGradient() if settings.policy is None else settings.policy
        self.sign = settings.sign  # the factor that turns the user's values into rewards
        self.model_free = self.policy.model_free  # nodes have empirical means, and there is no posterior
        self.shifts = bool(settings.offsets) or settings.drift  # whether readings are shifted by more than noise
        able, fix = not (self.model_free and self.shifts), "Use a policy with a Gaussian belief, such as GPOO."
        require(able, "empirical means know no offsets and no drift", settings.offsets or "drift", fix)
        reads = settings.likelihood
        given = settings.noise if reads is None else unit_noise(reads.exposure, reads.per_weight)
        self.noise = NoiseRule(given, self.model_free, self.space, self.feedback)
        self.unknowns = _unknowns(settings, self.model_free, self.noise)  # what is learned
        self.frame = frame_of(self.space, self.target)  # the space as beliefs see it; caches averages of kernels
        self.learner = ModelFitter(self.unknowns, self.frame, learns=not self.model_free)
        self.learned = not self.model_free and self.unknowns.given is None  # whether the kernel is learned
        # Whether a reading far from all others is measured again before it is believed: by default if the policy
        # is the default, and not where every reading is exact.
        by_default = isinstance(self.policy, KnowledgeGradient) and settings.noise != 0
        self.doubts_readings = by_default if settings.gross_errors is None else settings.gross_errors
        self.checksum = zlib.crc32(np.asarray(self.space.sides(), dtype="<f8").tobytes())  # of splits
        self.node_weight = cache(self._node_weight)
        self.node_path = cache(self._node_path)
        self.prices = Prices(settings) if settings.priced else None  # None if the budget counts measurements

    def stated(self, mean: Floats, std: Floats) -> tuple[Floats, Floats]:
        """Return mean and std of averages as they are stated, in the user's units: within the range of a rate."""
        likelihood = self.settings.likelihood
        return (mean, std) if likelihood is None else within_range(mean, std, likelihood.range)

    def stated_as_numbers(self, mean: float, std: float) -> tuple[float, float]:
        """Return one mean and std as they are stated: see `stated`."""
        if self.settings.likelihood is None:
            return mean, std
        means, stds = self.stated(np.array(mean), np.array(std))
        return float(means), float(stds)

    def _node_weight(self, node: Node) -> float:
        """Return the size of a node: `Region.weight`."""
        weight: float = self.space.cell(node, self.feedback).weight
        return weight

    def _node_path(self, region: Region, h_max: int) -> tuple[int, ...] | None:
        """Return which child leads to a region at each depth from the root, None if it is not a node."""
        path, node_region = list[int](), self.space.cell((0, 0), self.feedback)
        while node_region.key != region.key and len(path) <= h_max and self.space.may_split(node_region):
            parts = self.space.split(node_region)
            inside = [at for at, part in enumerate(parts) if part.contains(region)]
            if not inside:
                return None
            path.append(inside[0])
            node_region = parts[inside[0]]
        return tuple(path) if node_region.key == region.key else None

    def n_affordable(self, cheapest: float, left: float | None = None) -> int:
        """Return how many of the cheapest measurements the budget, or what is left of it, pays for."""
        budget = self.settings.budget
        available = budget if left is None else left
        if self.prices is None:
            return int(available)
        paid = int(available / max(cheapest, budget / MAX_MEASUREMENTS) * (1 + SLACK))
        return max(paid, 1) if left is None else paid

    def checked_depth(self, h_max: int, name: str = "h_max") -> int:
        """Check h_max, the deepest depth at which nodes are expanded, and return it."""
        deepest = whole_number(h_max, name, -1, DEEPEST)
        able = all(self.space.partition.slots(depth) < INDEX_LIMIT for depth in range(deepest + 2))
        problem = f"a tree of arity {self.space.arity} has too many nodes at this depth to number them"
        require(able, problem, h_max, "Lower the policy's h_max.")
        return deepest

    def bottom(self, h_max: int) -> int:
        """Return the depth of the smallest regions."""
        deepest = self.space.max_depth()
        return h_max + 1 if deepest is None else min(h_max + 1, deepest)

    def counts(self, h_max: int) -> tuple[int, ...]:
        """Return the number of nodes at each depth."""
        return tuple(self.space.partition.count(depth) for depth in range(h_max + 2))

    def initial_depth(self, h_max: int, n_measurements: int) -> int:
        """Return the depth of the initial design, 0 for none.

        If a model is learned and the cells that can be paid for are as long as a box along several axes, it is the
        depth of cells that are shorter along every axis all the same, and a fraction of them is used.
        """
        by_default = not self.policy.expands_fully and (self.learned or self.policy.measures_internal_nodes)
        if self.model_free or not (by_default or getattr(self.policy, "initial_design", False)):
            return 0
        if self.learned and self.line and n_measurements < getattr(self.policy, "design_from", 0):
            return 0
        depth, axes = self.affordable_depth(h_max, n_measurements), len(self.space.axes or ())
        possible = self.learned and self.space.continuous and self.prices is None
        if not (possible and MIN_FREE_SPLITS <= depth <= axes - MIN_WHOLE_AXES and axes <= h_max + 1):
            return depth
        even = self.space.partition.count(axes) == self.space.arity**axes <= MAX_FRACTIONED_CELLS
        split = self.space.cell((axes, 0)).widths < self.space.cell((0, 0)).widths if even else np.zeros(1)
        return axes if split.all() else depth

    @property
    def line(self) -> bool:
        """Whether the space is a single axis with distances."""
        return self.space.continuous and len(self.space.axes or ()) == 1

    def affordable_depth(self, h_max: int, n_measurements: int) -> int:
        """Return the depth whose cells are at most 2/5 of the measurements."""
        max_cells = min(max(2 * n_measurements // 5, 2), MAX_DESIGN_CELLS)
        return len([*takewhile(lambda count: 0 < count <= max_cells, self.counts(h_max)[1:])])

    def is_forbidden(self, region: Region) -> bool:
        """Tell whether the user forbids measuring a region."""
        forbidden = self.settings.forbidden
        if forbidden is None:
            return False
        answered = answer(forbidden, region)
        if not isinstance(answered, bool | np.bool_):
            raise InvalidInput(
                f"forbidden({region.name}) must be True or False", answered, "Return one of the two."
            )
        return bool(answered)


def is_of_user(error: Exception) -> bool:
    """Tell whether a user-defined function failed (but not for lack of memory) or returned a wrong value."""
    of_user = isinstance(error, InvalidInput) or "raised_by_user" in vars(error)
    return of_user and not isinstance(error, MemoryError)
