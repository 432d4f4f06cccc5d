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
    need,
    positive_number,
    random_generator,
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
from zonal.kernels.feedback import Feedback, Mean
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

MOST_OPENING_CELLS = 64
MOST_LOOKS = 1_000_000  # assumed for a budget where looks cost almost nothing
USUAL_PARTS = 16  # of the space: the size to which noise refers that falls with size
TRIED_POINTS = 200  # on which a user's kernel function is tested


class Given(TypedDict, total=False):
    """The keyword arguments of `Study` other than space, budget and direction: see `Study`."""

    kernel: Spec | Callable[..., Any]
    noise: Noise | None
    mean: float | None
    feedback: Feedback | None
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


def _policy(policy: Any, name: str, space: Any) -> Any:
    able = policy is None or (attribute(policy, "bind") and not isinstance(policy, type))
    need(able, "policy must be a policy", policy, "Pass for example zn.GPOO().")
    return policy


def _kernel(kernel: Any, name: str, space: Any) -> Any:
    family = isinstance(kernel, type) and issubclass(kernel, ProductKernel | Categorical | Motif)
    function = callable(kernel) and space.axes is None and not isinstance(kernel, type | Kernel)
    able = kernel is None or family or function or is_kernel(kernel)
    fix = "Pass for example zn.RBF(variance=0.1, lengthscale=0.05), or zn.RBF to have it learned."
    need(able, "kernel must be a kernel, a kernel class or None", kernel, fix)
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
    forbidden: Forbidden | None = field(metadata=_by(lambda own, _, space: forbidden_rule(space, own)))
    value_name: str = field(metadata=_by(_plain(text), "value"))
    value_unit: str = field(metadata=_by(_plain(text), ""))
    cost: Cost | None = field(default=None, metadata=_by(_function_or(_plain(checked_price))))
    times: tuple[float, ...] = field(default=(), metadata=_by(_plain(checked_times)))
    overhead: float = field(default=0.0, metadata=_by(_plain(checked_price), 0.0))
    travel: Travel | None = field(default=None, metadata=_by(_function_or(checked_travel)))
    cost_unit: str = field(default="", metadata=_by(_plain(text), ""))

    @property
    def priced(self) -> bool:
        """Whether looks have a cost; if not, the budget is a number of looks."""
        return self.cost is not None or bool(self.times) or self.overhead > 0 or self.travel is not None

    @property
    def spends(self) -> tuple[str, ...]:
        """What a trial spends and tables show: its time where times are chosen, its cost where looks have one."""
        return (("time",) if self.times else ()) + (("cost",) if self.priced else ())

    @property
    def sign(self) -> float:
        """The factor that turns the user's values into rewards: 1, or -1 when minimising."""
        return 1.0 if self.direction == "maximize" else -1.0


CHECKS = {own.name: own.metadata for own in fields(Settings) if own.metadata}


def checked(space: SpaceLike, *, budget: Any, rng: Any = None, **given: Any) -> Settings:
    """Check what the user passed, as `Study` takes it, and return it as settings."""
    own: Any = as_space(space)
    taken = {name: how["usual"] for name, how in CHECKS.items()} | given
    unit = text(taken["value_unit"], "value_unit")
    taken |= {name: without_unit(taken[name], unit, name) for name in ("noise", "mean")}
    parts = {name: how["check"](taken[name], name, own) for name, how in CHECKS.items()}
    settings = Settings(space=own, budget=budget, seed=_seed(rng), **parts)
    known = positive_number(budget, "budget") if settings.priced else whole_number(budget, "budget", 1)
    return replace(settings, budget=known)


def checked_again(settings: Settings) -> Settings:
    """Check settings that come from a file or another process, as if a user had passed them."""
    given = {own.name: getattr(settings, own.name) for own in fields(settings)}
    return checked(given.pop("space"), rng=whole_number(given.pop("seed"), "seed", 0), **given)


def _seed(rng: Any) -> int:
    """Return the seed of a study: the number given, or one drawn from the generator given."""
    generator = random_generator(rng)
    return int(rng) if isinstance(rng, int | np.integer) else int(generator.integers(1 << 62))


def _is_unsaid(noise: Noise | None) -> bool:
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
    noise = settings.noise is None or _is_unsaid(settings.noise)
    return ModelSpec(kernel, noise and not empirical, mean)


class Problem:
    """What can be computed from the settings alone, and caches that all states of a study share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.space = settings.space
        self.feedback = settings.feedback
        self.policy: Policy = KnowledgeGradient() if settings.policy is None else settings.policy
        self.sign = settings.sign  # the factor that turns the user's values into rewards
        self.empirical = self.policy.model_free  # the belief has no models
        self.unknowns = _unknowns(settings, self.empirical)  # what is learned
        self.frame = frame_of(self.space, self.feedback)  # the space as beliefs see it; caches averages of kernels
        self.learner = ModelFitter(self.unknowns, self.frame, learns=not self.empirical)
        self.learned = not self.empirical and self.unknowns.given is None  # whether the kernel is learned
        noise = settings.noise
        unsaid = _is_unsaid(noise)
        self.falls = unsaid and self.unknowns.noise  # noise is learned, and known to fall with weight
        self.noise_by_region = self.falls or (callable(noise) and not unsaid)
        # Of any region, if it is not asked for each: as it was given, or in units of what is learned.
        self.usual_noise = noise if isinstance(noise, float) else float(not self.empirical)
        # What is learned then is the noise of about as large a region as an opening measures.
        self.usual_root = math.sqrt(self.space.cell((0, 0)).weight / USUAL_PARTS) if self.falls else 1.0
        self.checksum = zlib.crc32(np.asarray(self.space.sides(), dtype="<f8").tobytes())  # of splits
        self.bound: tuple[Model | None, BoundPolicy] | None = None  # the policy bound to the model in use
        self.smallest: tuple[Fit, list[float]] | None = None  # variances of a smallest region
        self.weights: dict[Node, float] = {}  # of the nodes that a policy asked about: `Region.weight`
        self.prices = Prices(settings) if settings.priced else None  # None if the budget counts looks

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "bound": None, "smallest": None, "weights": {}}

    def looks(self, cheapest: float, left: float | None = None) -> int:
        """Return how many of the cheapest looks the budget, or what is left of it, pays for."""
        budget = self.settings.budget
        own = budget if left is None else left
        if self.prices is None:
            return int(own)
        paid = int(own / max(cheapest, budget / MOST_LOOKS) * (1 + SLACK))
        return max(paid, 1) if left is None else paid

    def checked_depth(self, h_max: Any, name: str = "h_max") -> int:
        """Check h_max, the deepest depth at which nodes are expanded, and return it."""
        deepest = whole_number(h_max, name, -1, DEEPEST)
        able = all(self.space.slots(depth) < INDEX_LIMIT for depth in range(deepest + 2))
        problem = f"a tree of arity {self.space.arity} has too many nodes at this depth to number them"
        need(able, problem, h_max, "Lower the policy's h_max.")
        return deepest

    def bottom(self, h_max: int) -> int:
        """Return the depth of the smallest regions."""
        deepest = self.space.max_depth()
        return h_max + 1 if deepest is None else min(h_max + 1, deepest)

    def counts(self, h_max: int) -> tuple[int, ...]:
        """Return the number of nodes at each depth."""
        return tuple(self.space.count(depth) for depth in range(h_max + 2))

    def opening(self, h_max: int, looks: int) -> int:
        """Return the depth of the initial design, 0 for none: many cells, but no more than 2/5 of the looks."""
        usual = not self.policy.expands_fully and (self.learned or self.policy.measures_internal_nodes)
        if self.empirical or not (usual or getattr(self.policy, "initial_design", False)):
            return 0
        most = min(max(2 * looks // 5, 2), MOST_OPENING_CELLS)
        return len([*takewhile(lambda count: 0 < count <= most, self.counts(h_max)[1:])])

    def noise_of(self, region: Region) -> float:
        """Return the std of one measurement of `region`, in units of what is learned if it is learned."""
        noise: Any = self.settings.noise
        if not self.noise_by_region:
            return self.usual_noise
        if self.falls:
            return float(self.usual_root * noise.relative(region))
        return standard_deviation(answer(noise, region), f"noise({region.name})")

    def is_forbidden(self, region: Region) -> bool:
        """Tell whether the user forbids measuring a region."""
        forbidden = self.settings.forbidden
        if forbidden is None:
            return False
        said = answer(forbidden, region)
        if not isinstance(said, bool | np.bool_):
            raise InvalidInput(f"forbidden({region.name}) must be True or False", said, "Return one of the two.")
        return bool(said)

    def weighed(self, noise: float, sem: float | None, time: float = 1.0) -> tuple[float | None, float]:
        """Return the noise variance of a reward of `time` usual times, None if it is learned, and its weight."""
        weight = time / noise**2 if self.falls and noise else time  # with a sem there is no noise
        if self.empirical:  # every reward counts the same on an empirical belief
            return None, weight
        if sem is not None:
            return sem**2, weight
        return None if self.unknowns.noise else noise**2 / time, weight


def is_of_user(error: Exception) -> bool:
    """Tell whether a function of the user's failed (but not for lack of memory) or returned a wrong value."""
    own = isinstance(error, InvalidInput) or "raised_by_user" in vars(error)
    return own and not isinstance(error, MemoryError)
