"""A kernel, a feedback, a policy, a space and functions of the user's own, as people write them."""

from dataclasses import dataclass
from typing import Any

import zonal as zn
from zonal.kernels.base import ProductKernel
from zonal.kernels.measures import Measure, PointMeasure
from zonal.kernels.stationary import Profile, RBFProfile
from zonal.policies.base import PolicyContext, RngFactory, Rows, Views, best
from zonal.policies.baselines import Leaves
from zonal.tree import Tree


@dataclass(frozen=True)
class Rough(ProductKernel):
    """A kernel."""

    @property
    def profile(self) -> Profile:
        return RBFProfile()


@dataclass(frozen=True)
class Tapered(zn.Feedback):
    """A feedback."""

    def along(self, axis: Any) -> Measure:
        return PointMeasure([-0.5, 0.0, 0.5], weights=[0.25, 0.5, 0.25])


@dataclass(frozen=True)
class MostUncertain(Leaves):
    """A policy."""

    def pick(self, tree: Tree, rows: Rows, t: int, views: Views, context: PolicyContext, rng: RngFactory) -> int:
        return best(tree, rows, tree.std[rows], context.tie)


class Fine(zn.Box):
    """A space."""


def own_delta(depth: int) -> float:
    return float(0.5**depth)


def own_noise(region: zn.Region) -> float:
    return 0.1


def own_limit(region: zn.Region) -> bool:
    return bool(region.bounds[0, 0] > 0.9)


# What golden files have to be given again.
AGAIN: dict[str, dict[str, Any]] = {
    "classes": {"classes": [Fine, Rough, Tapered, MostUncertain]},
    "functions": {"noise": own_noise, "delta": own_delta, "forbidden": own_limit},
}
