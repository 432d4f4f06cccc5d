"""The settings of a study, checked and frozen, and what can be computed from them alone."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import takewhile
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from zonal.engine.costs import SLACK, Prices, answer, checked_price, checked_times, checked_travel
from zonal.engine.noise import PerWeight
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
    whole_number,
    without_unit,
)
from zonal.gp.fit_schedule import ModelFitter
from zonal.gp.hyperparameters import Fit
from zonal.gp.kernel_families import frame_of
from zonal.gp.model import Model, ModelSpec, Spec
from zonal.kernels.base import Categorical, Kernel, ProductKernel
from zonal.kernels.callable import custom, is_kernel
from zonal.kernels.feedback import Beam, Feedback, Mean
from zonal.kernels.spectrum import Motif
from zonal.policies.base import INDEX_LIMIT, BoundPolicy, Policy
from zonal.policies.knowledge_gradient import KnowledgeGradient
from zonal.spaces import Node, Region, Space, as_space
from zonal.spaces.base import DEEPEST, forbidden_rule

Noise = float | Callable[[Region], float]
Forbidden = Callable[[Region], bool]
Cost = float | Callable[[Region], float]
Travel = float | Callable[[Region, Region], float]
RegionLike = Region | ArrayLike | Mapping[str, Any]
RegionsLike = RegionLike | Sequence[Any] | None
ForbiddenLike = Forbidden | RegionLike | Sequence[Any] | None
Direction = Literal["maximize", "minimize"]
SpaceLike = Space | Sequence[tuple[float, float]] | Mapping[str, Any]  # the last as for `Box` or `Product`

Check = Callable[[Any, str, Any], Any]

MAX_DESIGN_CELLS = 64
MAX_MEASUREMENTS = 1_000_000  # assumed for a budget where measurements cost almost nothing
DEFAULT_PARTS = 16  # of the space: the size to which noise refers that falls with size
TRIED_POINTS = 200  # on which a user's kernel function is tested


class Given(TypedDict, total=False):
    """The keyword arguments of `Study` other than space, budget and direction: see `Study`."""

    kernel: Spec | Callable[..., Any]
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


def checked_feedback(feedback: Any, space: Any) -> Feedback:
    """Check that a feedback is one, and that it has a meaning on this space; return it."""
    if not isinstance(feedback, Feedback):
        fix = "Pass one, with parentheses: zn.Mean()."
        raise InvalidInput("feedback must be Center(), Average(s) or Mean()", feedback, fix)
    feedback.check(space)
    return feedback


def _feedback(feedback: Any, name: str, space: Any) -> Feedback:
    return checked_feedback(Mean() if feedback is None else feedback, space)


def _target(target: Any, name: str, space: Any) -> Feedback | None:
    if target is not None and not isinstance(target, Feedback):
        raise InvalidInput("target must be a feedback", target, "Pass what is judged, such as zn.Mean().")
    return None if target is None else checked_feedback(target, space)


def _policy(policy: Any, name: str, space: Any) -> Any:
    able = policy is None or (attribute(policy, "bind") and not isinstance(policy, type))
    require(able, "policy must be a policy", policy, "Pass for example zn.GPOO().")
    return policy


def _kernel(kernel: Any, name: str, space: Any) -> Any:
    family = isinstance(kernel, type) and issubclass(kernel, ProductKernel | Categorical | Motif)
    function = callable(kernel) and space.axes is None and not isinstance(kernel, type | Kernel)
    able = kernel is None or family or function or is_kernel(kernel)
    fix = "Pass for example zn.RBF(variance=0.1, lengthscale=0.05), or zn.RBF to have it learned."
    require(able, "kernel must be a kernel, a kernel class or None", kernel, fix)
    return kernel


def _direction(direction: Any, name: str, space: Any) -> Any:
    check_choice(direction, name, ("maximize", "minimize"))
    return "maximize" if direction == "maximize" else "minimize"  # plain text, whatever kind of text it was


def _function_or(check: Check) -> Check:
    """Return the check of a setting that may be a function of regions, or nothing."""

    def checks(value: Any, name: str, space: Any) -> Any:
        free = value is None or (callable(value) and not isinstance(value, type))
        return value if free else check(value, name, space)

    return checks


def _plain(check: Callable[..., Any], *more: Any, optional: bool = False) -> Check:
    """Return the check of a setting that has nothing to do with the space, and may be None if it is `optional`."""
    return lambda value, name, space: None if optional and value is None else check(value, name, *more)


def _by(check: Check, usual: Any = None) -> dict[str, Any]:
    """Return how a setting is checked: (value, name, space) -> the value as it is kept; and its usual value."""
    return {"check": check, "usual": usual}


@dataclass(frozen=True)
class Settings:
    """Everything the user gave to a study, as `Study` takes it; `feedback` is never None."""

    space: Any
    budget: float  # at the start; `extend` adds to it
    kernel: Any = field(metadata=_by(_kernel))
    noise: Noise | None = field(metadata=_by(_function_or(_plain(standard_deviation))))
    mean: float | None = field(metadata=_by(_plain(finite_number, optional=True)))
    feedback: Feedback = field(metadata=_by(_feedback))
    policy: Policy | None = field(metadata=_by(_policy))
    seed: int  # determines every random number of the study
    direction: Direction = field(metadata=_by(_direction, "maximize"))
    max_replicates: int | None = field(metadata=_by(_plain(whole_number, 1, optional=True)))
    forbidden: Forbidden | None = field(metadata=_by(lambda value, _, space: forbidden_rule(space, value)))
    value_name: str = field(metadata=_by(_plain(text), "value"))
    value_unit: str = field(metadata=_by(_plain(text), ""))
    cost: Cost | None = field(default=None, metadata=_by(_function_or(_plain(checked_price))))
    times: tuple[float, ...] = field(default=(), metadata=_by(_plain(checked_times)))
    overhead: float = field(default=0.0, metadata=_by(_plain(checked_price), 0.0))
    travel: Travel | None = field(default=None, metadata=_by(_function_or(checked_travel)))
    cost_unit: str = field(default="", metadata=_by(_plain(text), ""))
    target: Feedback | None = field(default=None, metadata=_by(_target))  # None: see `judged`

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


CHECKS = {setting.name: setting.metadata for setting in fields(Settings) if setting.metadata}


def checked(space: SpaceLike, *, budget: Any, rng: Any = None, **given: Any) -> Settings:
    """Check what the user passed, as `Study` takes it, and return it as settings."""
    checked_space: Any = as_space(space)
    taken = {name: how["usual"] for name, how in CHECKS.items()} | given
    unit = text(taken["value_unit"], "value_unit")
    taken |= {name: without_unit(taken[name], unit, name) for name in ("noise", "mean")}
    parts = {name: how["check"](taken[name], name, checked_space) for name, how in CHECKS.items()}
    settings = Settings(space=checked_space, budget=budget, seed=_seed(rng), **parts)
    checked_budget = positive_number(budget, "budget") if settings.priced else whole_number(budget, "budget", 1)
    return replace(settings, budget=checked_budget)


def checked_again(settings: Settings) -> Settings:
    """Check settings that come from a file or another process, as if a user had passed them."""
    given = {setting.name: getattr(settings, setting.name) for setting in fields(settings)}
    return checked(given.pop("space"), rng=whole_number(given.pop("seed"), "seed", 0), **given)


def _seed(rng: Any) -> int:
    """Return the seed of a study: the number given, or one drawn from the generator given."""
    generator = random_generator(rng)
    return int(rng) if isinstance(rng, int | np.integer) else int(generator.integers(1 << 62))


def _has_unknown_size(noise: Noise | None) -> bool:
    """Tell whether noise is known to fall with weight, but not how large it is."""
    return isinstance(noise, PerWeight) and noise.std is None


def _unknowns(settings: Settings, empirical: bool) -> ModelSpec:
    """Return what is learned; what was given is kept."""
    kernel, space = settings.kernel, settings.space
    if not (kernel is None or isinstance(kernel, type | Kernel)):  # a function of features
        kernel = custom(kernel, space.features[:: -(-space.size // TRIED_POINTS)])
    if empirical and isinstance(kernel, type):  # nothing is learned, so it need not suit the space
        kernel = None
    mean = 0.0 if empirical or isinstance(kernel, Kernel) else None
    if settings.mean is not None:
        mean = settings.sign * settings.mean
    noise = settings.noise is None or _has_unknown_size(settings.noise)
    return ModelSpec(kernel, noise and not empirical, mean)


class Problem:
    """What can be computed from the settings alone, and caches that all states of a study share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.space = settings.space
        self.feedback = settings.feedback  # what is measured of a region
        self.target = settings.judged  # what is judged of it
        self.measures_target = self.feedback == self.target
        self.policy: Policy = KnowledgeGradient() if settings.policy is None else settings.policy
        self.sign = settings.sign  # the factor that turns the user's values into rewards
        self.empirical = self.policy.model_free  # the belief has no models
        self.unknowns = _unknowns(settings, self.empirical)  # what is learned
        self.frame = frame_of(self.space, self.target)  # the space as beliefs see it; caches averages of kernels
        self.learner = ModelFitter(self.unknowns, self.frame, learns=not self.empirical)
        self.learned = not self.empirical and self.unknowns.given is None  # whether the kernel is learned
        noise = settings.noise
        unknown_size = _has_unknown_size(noise)
        self.noise_falls_with_weight = (
            unknown_size and self.unknowns.noise
        )  # noise is learned, and known to fall with weight
        self.noise_by_region = self.noise_falls_with_weight or (callable(noise) and not unknown_size)
        # Of any region, if it is not asked for each: as it was given, or in units of what is learned.
        self.default_noise = noise if isinstance(noise, float) else float(not self.empirical)
        # What is learned then is the noise of about as large a region as an initial design measures.
        self.default_root_weight = (
            math.sqrt(self.space.cell((0, 0)).weight / DEFAULT_PARTS) if self.noise_falls_with_weight else 1.0
        )
        self.checksum = zlib.crc32(np.asarray(self.space.sides(), dtype="<f8").tobytes())  # of splits
        self.bound: tuple[Model | None, BoundPolicy] | None = None  # the policy bound to the model in use
        self.smallest: tuple[Fit, list[float]] | None = None  # variances of a smallest region
        self.weights: dict[Node, float] = {}  # of the nodes that a policy asked about: `Region.weight`
        self.prices = Prices(settings) if settings.priced else None  # None if the budget counts measurements

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "bound": None, "smallest": None, "weights": {}}

    def n_affordable(self, cheapest: float, left: float | None = None) -> int:
        """Return how many of the cheapest measurements the budget, or what is left of it, pays for."""
        budget = self.settings.budget
        available = budget if left is None else left
        if self.prices is None:
            return int(available)
        paid = int(available / max(cheapest, budget / MAX_MEASUREMENTS) * (1 + SLACK))
        return max(paid, 1) if left is None else paid

    def checked_depth(self, h_max: Any, name: str = "h_max") -> int:
        """Check h_max, the deepest depth at which nodes are expanded, and return it."""
        deepest = whole_number(h_max, name, -1, DEEPEST)
        able = all(self.space.slots(depth) < INDEX_LIMIT for depth in range(deepest + 2))
        problem = f"a tree of arity {self.space.arity} has too many nodes at this depth to number them"
        require(able, problem, h_max, "Lower the policy's h_max.")
        return deepest

    def bottom(self, h_max: int) -> int:
        """Return the depth of the smallest regions."""
        deepest = self.space.max_depth()
        return h_max + 1 if deepest is None else min(h_max + 1, deepest)

    def counts(self, h_max: int) -> tuple[int, ...]:
        """Return the number of nodes at each depth."""
        return tuple(self.space.count(depth) for depth in range(h_max + 2))

    def initial_depth(self, h_max: int, n_measurements: int) -> int:
        """Return the depth of the initial design, 0 for none: at most 2/5 of the measurements."""
        by_default = not self.policy.expands_fully and (self.learned or self.policy.measures_internal_nodes)
        if self.empirical or not (by_default or getattr(self.policy, "initial_design", False)):
            return 0
        max_cells = min(max(2 * n_measurements // 5, 2), MAX_DESIGN_CELLS)
        return len([*takewhile(lambda count: 0 < count <= max_cells, self.counts(h_max)[1:])])

    def noise_of(self, region: Region) -> float:
        """Return the std of one measurement of `region`, in units of what is learned if it is learned."""
        noise: Any = self.settings.noise
        if not self.noise_by_region:
            return self.default_noise
        if self.noise_falls_with_weight:
            return float(self.default_root_weight * noise.relative(region))
        return standard_deviation(answer(noise, region), f"noise({region.name})")

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

    def noise_and_weight(self, noise: float, sem: float | None, time: float = 1.0) -> tuple[float | None, float]:
        """Return the noise variance of a reward of `time` usual times, None if it is learned, and its weight."""
        weight = (
            time / noise**2 if self.noise_falls_with_weight and noise else time
        )  # with a sem there is no noise
        if self.empirical:  # every reward counts the same on an empirical belief
            return None, weight
        if sem is not None:
            return sem**2, weight
        return None if self.unknowns.noise else noise**2 / time, weight


def is_of_user(error: Exception) -> bool:
    """Tell whether a user-defined function failed (but not for lack of memory) or returned a wrong value."""
    of_user = isinstance(error, InvalidInput) or "raised_by_user" in vars(error)
    return of_user and not isinstance(error, MemoryError)
