"""One round in memory: the only room that knows all rooms above it.

A search works in the belief's own units: rewards counted from the prior mean, more is better. It does not know
budgets, trial numbers or the user's units; a study does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from zonal.beliefs.empirical import EmpiricalBelief, EmpiricalOverlay
from zonal.beliefs.gp import GaussianBelief, Overlay
from zonal.covariance import ProductCovariance
from zonal.errors import Exhausted, InvalidInput, standard_deviation
from zonal.feedback import Feedback
from zonal.kernels import Kernel
from zonal.policies import Policy, Rows, Setting
from zonal.spaces import Box, Edges, Region
from zonal.tree import Tree

Noise = float | Callable[[Region], float]

TIE = 1e-9  # of the point prior's standard deviation
INDEX_LIMIT = 2**63


class Search:
    """A tree over a space, a belief over its nodes, and a policy that reads it.

    Attributes
    ----------
    tree : Tree
        The table, with means counted from the prior mean.
    regions : list of Region
        The region of each row.
    """

    def __init__(
        self,
        space: Box,
        kernel: Kernel | None,
        noise: Noise,
        feedback: Feedback,
        policy: Policy,
        *,
        budget: int,
        max_looks: int | None,
        rng: np.random.Generator,
    ) -> None:
        h_max = policy.depth(space.arity, budget, space.deepest())
        if space.arity ** (h_max + 1) >= INDEX_LIMIT:
            raise InvalidInput(
                f"a tree of arity {space.arity} has too many nodes at this depth to number them",
                h_max,
                "Lower the policy's h_max.",
            )
        self._space = space
        self._noise = noise
        self._feedback = feedback
        self._max_looks = max_looks
        self._h_max = h_max
        widths = np.array([space.widths(depth) for depth in range(h_max + 2)])
        self._rules = policy.bind(
            Setting(
                arity=space.arity,
                budget=budget,
                h_max=h_max,
                reach=widths * feedback.reach,
                slopes=None if kernel is None else kernel.slopes(space.d),
                tie=TIE * (1.0 if kernel is None else float(np.sqrt(kernel.point_variance))),
                rng=rng,
            )
        )
        self._belief: GaussianBelief | EmpiricalBelief
        if policy.empirical or kernel is None:
            self._belief = EmpiricalBelief()
        else:
            self._belief = GaussianBelief(ProductCovariance(kernel, feedback, space.d))
        root = space.cell((0, 0), feedback)
        self.regions = [root]
        self.tree = Tree(self.noise_of(root))
        self._belief.track(feedback.footprints(self.regions))
        self._rows = {root.edges: 0}
        self._outside: dict[Edges, int] = {}  # slots of regions not in the tree
        self._pending: list[int] = []  # nodes under way, one entry a trial
        self._barred: set[int] = set()  # nodes that cannot be measured
        self._children: dict[int, tuple[tuple[Region, ...], list[float]]] = {}
        self._overlay: Overlay | EmpiricalOverlay | None = None
        self._overlaid = 0
        self._refresh()
        if policy.whole:
            for depth in range(h_max + 1):
                if space.may_split(depth):
                    self._expand((self.tree.depth[: self.tree.size] == depth).nonzero()[0].tolist())

    def noise_of(self, region: Region) -> float:
        """Return the standard deviation of one measurement of `region`."""
        noise = self._noise
        if callable(noise):
            return standard_deviation(noise(region), f"noise({region.name})")
        return noise

    def row_of(self, region: Region) -> int | None:
        """Return the row of a region of the tree, None if it is not there."""
        return self._rows.get(region.edges)

    def choose(self, t: int) -> int:
        """Return the row to measure in round `t`, given what is known and what is under way."""
        while True:
            while not np.count_nonzero(self.tree.askable):
                self._split_by_force(t)
            seen = self._seen()
            row = self._rules.choose(seen, t, self._joint)
            if not (self._rules.refines(seen, row, t) and self._may_split(row)):
                return row
            self._expand([row])
            self.tree.expanded[row] = True

    def begin(self, row: int) -> None:
        """Note that a measurement of `row` is under way."""
        self._pending.append(row)
        self.tree.looks[row] += 1
        self._settle(row)

    def end(self, row: int) -> None:
        """Note that a measurement of `row` is no longer under way."""
        self._pending.remove(row)
        self.tree.looks[row] -= 1
        self._overlay = None
        self._settle(row)

    def tell(self, row: int, reward: float, variance: float, t: int) -> None:
        """Take in the reward of a measurement under way; expand its node if line 6 says so."""
        tree = self.tree
        may_split = self._may_split(row)
        if may_split:
            self._prepare(row)  # the user's noise function may fail: before anything changes
        slot = int(self.tree.slot[row])
        self._belief.check(slot, reward, variance)
        self._pending.remove(row)
        self._observe(slot, reward, variance)
        tree.count[row] += 1
        if tree.first_child[row] < 0 and self._rules.splits(tree, row, t):
            tree.expanded[row] = True
            if may_split:
                self._expand([row])
        self._settle(row)

    def observe(self, region: Region, reward: float, variance: float) -> None:
        """Take in a measurement of any region, made outside of the search."""
        row = self.row_of(region)
        slot = self._outside.get(region.edges) if row is None else int(self.tree.slot[row])
        if slot is None:
            if isinstance(self._belief, EmpiricalBelief):
                raise InvalidInput(
                    "StoOO learns of a region from its own measurements only, and this one is not in the tree",
                    region.name,
                    "Use a policy with a Gaussian belief, such as GPOO.",
                )
            slot = self._outside[region.edges] = self._belief.track(self._feedback.footprints([region]))
        self._belief.check(slot, reward, variance)
        self._observe(slot, reward, variance)

    def bar(self, row: int) -> None:
        """Never ask for this node again; its children may be asked for if it may be split."""
        if row in self._barred:
            return
        if self._may_split(row):
            self._expand([row])
        self._barred.add(row)
        self._settle(row)

    def bands(self, t: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return confidence and variation of every node in round `t`."""
        return self._rules.bands(self.tree, t)

    def recommend(self) -> int:
        """Return the row to recommend."""
        return self._rules.recommend(self.tree)

    def predict(self, regions: Sequence[Region]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of any regions' averages."""
        if isinstance(self._belief, EmpiricalBelief):  # which knows nodes of the tree only
            rows = [self.row_of(region) for region in regions]
            if None not in rows:
                at = np.array(rows, dtype=np.intp)
                return self.tree.mean[at], self.tree.std[at]
        mean, variance = self._belief.predict(self._feedback.footprints(regions))
        return mean, np.sqrt(variance)

    def joint(self, regions: Sequence[Region]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return means and joint covariance of any regions' averages."""
        if isinstance(self._belief, EmpiricalBelief):
            raise InvalidInput(
                "the empirical belief knows no covariances", "StoOO", "Use a policy with a Gaussian belief."
            )
        return self._belief.joint(self._feedback.footprints(regions))

    def _observe(self, slot: int, reward: float, variance: float) -> None:
        self._belief.observe(slot, reward, variance)
        self._refresh()

    def _refresh(self) -> None:
        """Copy the belief into the table."""
        tree, belief = self.tree, self._belief
        nodes = slice(0, tree.size)
        mean, variance = belief.mean, belief.variance
        if len(mean) > tree.size:  # regions outside of the tree were observed
            mean, variance = mean.take(tree.slot[nodes]), variance.take(tree.slot[nodes])
        tree.mean[nodes] = mean
        np.sqrt(variance, out=tree.std[nodes])
        self._overlay = None

    def _seen(self) -> Tree:
        """Return the table as the policy should see it: with trials under way, std is smaller."""
        if not self._pending:
            return self.tree
        if self._overlay is None:
            self._overlay = self._belief.overlay()
            self._overlaid = 0
        for row in self._pending[self._overlaid :]:
            self._overlay.add(int(self.tree.slot[row]), float(self.tree.noise[row]) ** 2)
        self._overlaid = len(self._pending)
        return self.tree.with_std(np.sqrt(self._overlay.variance.take(self.tree.slot[: self.tree.size])))

    def _joint(self, rows: Rows) -> NDArray[np.float64]:
        """Return the joint covariance of some nodes, trials under way included."""
        return (self._overlay if self._pending and self._overlay else self._belief).covariance(
            self.tree.slot[rows]
        )

    def _may_split(self, row: int) -> bool:
        depth = int(self.tree.depth[row])
        return bool(self.tree.first_child[row] < 0) and depth <= self._h_max and self._space.may_split(depth)

    def _prepare(self, row: int) -> tuple[tuple[Region, ...], list[float]]:
        """Return a node's children and their noise, made once."""
        if row not in self._children:
            children = self._space.split(self.regions[row])
            self._children[row] = children, [self.noise_of(child) for child in children]
        return self._children[row]

    def _expand(self, rows: list[int]) -> None:
        """Partition nodes (line 7)."""
        families = [self._prepare(row) for row in rows]
        children = [child for family, _ in families for child in family]
        first = self._belief.track(self._feedback.footprints(children))
        tree, start = self.tree, self.tree.size
        for row, (family, noise) in zip(rows, families, strict=True):
            indices = []
            for child in family:
                assert child.node is not None
                self._rows[child.edges] = len(self.regions)
                self.regions.append(child)
                indices.append(child.node[1])
            tree.add_children(row, indices, noise, range(first, first + len(family)))
            first += len(family)
            self._children.pop(row)
        new = slice(start, tree.size)
        tree.mean[new] = self._belief.mean[-len(children) :]
        tree.std[new] = np.sqrt(self._belief.variance[-len(children) :])
        self._overlay = None

    def _settle(self, row: int) -> None:
        """Decide whether a node may be asked for."""
        self.tree.askable[row] = (
            self.tree.first_child[row] < 0
            and row not in self._barred
            and (self._max_looks is None or self.tree.looks[row] < self._max_looks)
        )

    def _split_by_force(self, t: int) -> None:
        """Split the most promising leaf that may be split, since none may be asked for."""
        leaves = (self.tree.first_child[: self.tree.size] < 0).nonzero()[0]
        rows = np.array([row for row in leaves if self._may_split(int(row))], dtype=np.intp)
        if len(rows) == 0:
            reasons = []
            if self._max_looks is not None:
                reasons.append(f"max_looks={self._max_looks} measurements of each were made or are under way")
            if self._barred:
                reasons.append(f"{len(self._barred)} were given up as impossible to measure")
            raise Exhausted(
                f"none of the {len(leaves)} smallest regions may be asked for: {'; '.join(reasons)}. "
                "Raise max_looks or the policy's h_max, lower the space's smallest, or stop here."
            )
        row = self._rules.urgent(self._seen(), rows, t)
        self._expand([row])
        self.tree.expanded[row] = True
