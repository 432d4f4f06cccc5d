"""One round in memory: the only room that knows all rooms above it.

A search works in the belief's own units: rewards counted from the prior mean, more is better. It does not know
budgets, trial numbers or the user's units; a study does.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal.beliefs.empirical import EmpiricalBelief, EmpiricalOverlay
from zonal.beliefs.fit import Model, Unknowns
from zonal.beliefs.frames import Frame, ProductFrame, SubsetFrame
from zonal.beliefs.lattice import Weighted
from zonal.beliefs.learner import Learner
from zonal.beliefs.mixture import Mixture, MixtureOverlay
from zonal.certainty import Outlook, Standing, exceeding, outlook, standings
from zonal.errors import Exhausted, InvalidInput, standard_deviation
from zonal.feedback import Feedback
from zonal.policies import INDEX_LIMIT, Policy, Rows, Setting, View, scattered
from zonal.spaces import MemberSpace, Region, Space
from zonal.theory import Variation
from zonal.tree import Tree
from zonal.variation import spread_by_depth

Noise = float | Callable[[Region], float]

TIE = 1e-9  # of the point prior's standard deviation
MOST_OPENING_CELLS = 64
NEWS = 0.25  # of the prior variance: what is known better is no news
MOST_REFINED = 500  # nodes in one round: where a prior knows every pool's average, refining would not end


class Search:
    """A tree over a space, a belief over its nodes, and a policy that reads it.

    Attributes
    ----------
    tree : Tree
        The table, with means counted from the prior mean.
    regions : list of Region
        The region of each row.
    prior_mean : float
        As given or learned.
    learned : bool
        Whether the kernel is learned.
    opening_size : int
        Cells of the opening sweep.
    """

    def __init__(
        self,
        space: Space,
        unknowns: Unknowns,
        noise: Noise | None,
        feedback: Feedback,
        policy: Policy,
        *,
        budget: int,
        max_looks: int | None,
        rng: np.random.Generator,
        forbidden: Callable[[Region], bool] | None = None,
    ) -> None:
        h_max = policy.depth(space, budget)
        self._counts = tuple(space.count(depth) for depth in range(h_max + 2))
        if max(self._counts) >= INDEX_LIMIT:
            raise InvalidInput(
                f"a tree of arity {space.base} has too many nodes at this depth to number them",
                h_max,
                "Lower the policy's h_max.",
            )
        self._space = space
        self._noise = noise
        self._feedback = feedback
        self._max_looks = max_looks
        self._forbidden = forbidden
        self._h_max = h_max
        self._policy = policy
        self._budget = budget
        self._rng = rng
        self._frame = frame_of(space, feedback)
        self._learner = Learner(unknowns, self._frame) if not policy.empirical else None
        self.prior_mean = (unknowns.mean or 0.0) if self._learner is None else self._learner.model.mean
        self._given = unknowns.given
        self.learned = self._learner is not None and unknowns.given is None
        sweep = self.learned or policy.inner
        level = min(opening_level(self._counts, budget), h_max + 1) if sweep else 0
        self.opening_size = self._counts[level] if level else 0
        self._bind()
        self._belief: Mixture | EmpiricalBelief
        if self._learner is None:
            self._belief = EmpiricalBelief(self.prior_mean)
        else:
            self._belief = Mixture(self._frame, self._learner.models, self.prior_mean)
        self._smallest = self._smallest_variances()
        root = space.cell((0, 0), feedback)
        self.regions = [root]
        self.tree = Tree(self.noise_of(root))
        self._tracked = [root]  # the region at each slot of the belief
        self._belief.track(feedback.footprints(self._tracked))
        self._rows: dict[Hashable, int] = {}
        self._outside: dict[Hashable, int] = {}  # slots of regions not in the tree
        self._entered = 0  # rows entered there
        self._has_sems = False
        self._in_order = True  # slots are rows, until a region outside of the tree is observed
        self._pending: list[int] = []  # nodes under way, one entry a trial
        self._barred: set[int] = set()  # nodes that cannot be measured
        self._children: dict[int, tuple[tuple[Region, ...], list[float], list[bool]]] = {}
        self._overlay: MixtureOverlay | EmpiricalOverlay | None = None
        self._overlaid = 0
        self._refresh()
        self._mark(0, self._is_forbidden(root))
        self._opening: list[int] = []
        if policy.whole:
            self._sweep(h_max + 1)
        elif level:
            self._sweep(level)
            self._opening = spread_out(self.tree, self._counts, space.base)

    @property
    def model(self) -> Model | None:
        """The kernel, noise and prior mean in use; None on an empirical belief."""
        return None if self._learner is None else self._learner.model

    @property
    def depth(self) -> int:
        """The depth of the smallest regions that this search knows."""
        return self._h_max + 1

    @property
    def models(self) -> tuple[Weighted, ...]:
        """The weighted models in use; none on an empirical belief."""
        if not isinstance(self._belief, Mixture):
            return ()
        members, weights = self._belief.members, self._belief.weights.tolist()
        return tuple(Weighted(w, member.model) for w, member in zip(weights, members, strict=True))

    def complaints(self) -> list[Warning]:
        """Return, once, what belief and learner have to say since the last time."""
        said: list[Warning] = [*self._belief.complaints]
        self._belief.complaints.clear()
        if self._learner is not None:
            said += self._learner.complaints
            self._learner.complaints.clear()
        return said

    @property
    def limited(self) -> bool:
        """Whether regions may run out."""
        return self._max_looks is not None or bool(self._barred) or self._forbidden is not None

    def noise_of(self, region: Region) -> float:
        """Return the standard deviation of one measurement of `region`."""
        noise = self._noise
        if noise is None:
            learned = None if self.model is None else self.model.noise
            return 0.0 if learned is None else learned
        if callable(noise):
            return standard_deviation(noise(region), f"noise({region.name})")
        return noise

    def point_noise(self) -> float | None:
        """Return the standard deviation of one measurement, whatever its region; None if it depends on that."""
        return None if callable(self._noise) else self.noise_of(self.regions[0])

    def row_of(self, region: Region) -> int | None:
        """Return the row of a region of the tree, None if it is not there."""
        for row in range(self._entered, len(self.regions)):  # few searches ask, so rows are entered only now
            self._rows.setdefault(self.regions[row].key, row)
            self._entered = row + 1
        return self._rows.get(region.key)

    def choose(self, t: int) -> int:
        """Return the row to measure in round `t`, given what is known and what is under way."""
        first = self._next_of_opening()
        if first is not None:
            return first
        for _ in range(MOST_REFINED):
            while not np.count_nonzero(self.tree.askable):
                self._split_by_force(t)
            self.grow(t)
            seen = self._seen()
            row = self._chosen(seen, t)
            if not self._rules.refines(seen, row, t):
                return row
            if not self._may_split(row):  # a smallest region is marked as if it had been split
                self.tree.expanded[row] = True
                return row
            self._expand([row])
            self.tree.expanded[row] = True
        return self._chosen(self._seen(), t)

    @property
    def opened(self) -> bool:
        """Whether the opening sweep is over."""
        return self._next_of_opening() is None

    def _next_of_opening(self) -> int | None:
        if self._learner is None or self._learner.total >= len(self._opening):
            return None
        able = (row for row in self._opening if self.tree.askable[row] and self.tree.looks[row] == 0)
        return next((row for row in able if self._is_news(row)), None)

    def _is_news(self, row: int) -> bool:
        """Tell whether a cell of the opening is worth a look: under a given model, if it is not known already."""
        if self._given is None:
            return True
        assert isinstance(self._belief, Mixture)
        prior = self._belief.members[0].belief.prior[self.tree.slot[row]]
        return bool(self._seen().std[row] ** 2 > NEWS * prior)

    def _chosen(self, seen: Tree, t: int) -> int:
        """Return what the policy chooses, checked."""
        row = int(self._rules.choose(seen, t, self._views))
        if not (0 <= row < self.tree.size and self.tree.askable[row]):
            raise InvalidInput(
                "the policy chose a node that may not be measured now", row, "Choose among tree.askable."
            )
        return row

    def grow(self, t: int) -> None:
        """Split what the policy wants split before round `t`."""
        before = self.tree.size
        while True:
            rows = self._rules.grows(self._seen(), t, self._views, self.tree.size - before)
            able = [row for row in dict.fromkeys(rows.tolist()) if self._may_split(row)]
            if not able:
                return
            self._expand(able)

    def prepare(self, t: int) -> None:
        """Grow for round `t` ahead of it, so that what is recommended until then is of the smallest size.

        Noise and forbidden regions are the user's functions: if one fails, the next ask says so, and nothing
        told is held up by it.
        """
        with suppress(Exception):
            self.grow(t)

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

    def tell(self, row: int, reward: float, sem: float | None, t: int, last: bool = False) -> None:
        """Take in the reward of a measurement under way; expand its node if line 6 says so.

        With `last` the model is learned anew: what is recommended then rests on all measurements.
        """
        tree = self.tree
        slot = int(tree.slot[row])
        variance = self._variance(float(tree.noise[row]), sem)
        self._belief.check(slot, reward, variance)
        may_split = self._may_split(row)
        if may_split:
            self._prepare(row)  # the user's noise function may fail: before anything changes
        self._observe(slot, reward, sem, variance, last)
        self._pending.remove(row)
        tree.count[row] += 1
        tree.reward[row] += (reward - tree.reward[row]) / tree.count[row]
        if tree.first_child[row] < 0 and self.has_scale() and self._rules.splits(tree, row, t):
            tree.expanded[row] = True
            if may_split:
                self._expand([row])
        self._settle(row)

    def observe(self, region: Region, reward: float, sem: float | None) -> None:
        """Take in a measurement of any region, made outside of the search."""
        variance = self._variance(self.noise_of(region) if sem is None else 0.0, sem)
        row = self.row_of(region)
        slot = self._outside.get(region.key) if row is None else int(self.tree.slot[row])
        if slot is None:
            if isinstance(self._belief, EmpiricalBelief):
                raise InvalidInput(
                    "StoOO learns of a region from its own measurements only, and this one is not in the tree",
                    region.name,
                    "Use a policy with a Gaussian belief, such as GPOO.",
                )
            (slot,) = self._track([region])
            self._outside[region.key] = slot
            self._in_order = False
        self._belief.check(slot, reward, variance)
        self._observe(slot, reward, sem, variance)

    def refit(self) -> bool:
        """Learn the model anew if anything is learned and rewards came in since; tell whether it was."""
        if self._learner is None or not self._learner.stale:
            return False
        self._learn()
        self._refresh()
        return True

    def _variance(self, noise: float, sem: float | None) -> float | None:
        """Return the noise variance of a reward, None if it is to be learned."""
        if sem is not None:
            return sem**2
        return None if self._noise is None and self._learner is not None else noise**2

    def bar(self, row: int) -> None:
        """Never ask for this node again; its children may be asked for if it may be split."""
        if row in self._barred:
            return
        if self._may_split(row):
            self._expand([row])
            self.tree.expanded[row] = self.tree.count[row] > 0
        self._barred.add(row)
        self._settle(row)

    def bands(self, t: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return confidence and variation of every node in round `t`."""
        return self._rules.bands(self.tree, t)

    def recommend(self) -> int:
        """Return the row to recommend."""
        return self._rules.recommend(self.tree)

    def ranking(self, k: int) -> list[int]:
        """Return the row to recommend and the next best, `k` disjoint regions at the most."""
        tree, first = self.tree, self.recommend()
        rows = [first]
        leaves = (tree.leaf & ~tree.forbidden[: tree.size]).nonzero()[0]
        wanted = tree.smallest[leaves]
        leaves = leaves[wanted] if wanted.any() else leaves
        lineage = self._lineage(first)
        for row in leaves[np.argsort(-tree.mean[leaves], kind="stable")].tolist():
            if len(rows) == k:
                break
            if row != first and row not in lineage and first not in self._lineage(row):
                rows.append(row)
        return rows

    def _lineage(self, row: int) -> set[int]:
        """Return the nodes that hold a node."""
        above = set()
        while (row := int(self.tree.parent[row])) >= 0:
            above.add(row)
        return above

    def standings(self, rows: Sequence[int], theta: float) -> list[Standing]:
        """Return how sure it is that each of `rows` is the best region; NaN on an empirical belief."""
        if isinstance(self._belief, EmpiricalBelief):
            return [Standing(math.nan, math.nan) for _ in rows]
        return standings(self.tree, self.told_views(), np.array(rows), theta)

    def exceeding(self, threshold: float) -> tuple[Rows, NDArray[np.float64]]:
        """Return the regions of the smallest size, and the probability that their averages exceed a threshold."""
        tree = self.tree
        rows = (tree.smallest & ~tree.forbidden).nonzero()[0]
        if len(rows) == 0:
            rows = (tree.leaf & ~tree.forbidden[: tree.size]).nonzero()[0]
        return rows, exceeding(self.told_views(), rows, threshold)

    def outlook(self, n: int, t: int) -> Outlook:
        """Return what `n` more measurements, as planned now, are expected to bring."""
        future = copy.deepcopy(self)
        plan = []
        for step in range(n):
            row = future.choose(t + step)
            future.begin(row)
            plan.append(row)
        return outlook(future.tree, future.told_views(), future.recommend(), plan)

    def advantage(self, one: int, other: int) -> float:
        """Return by how many standard deviations one node's average exceeds another's."""
        rows = np.array([one, other])
        joint = self._belief.covariance(self.tree.slot[rows])
        difference = float(self.tree.mean[one] - self.tree.mean[other])
        variance = max(float(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1]), 0.0)
        if variance == 0:
            return math.inf if difference > 0 else 0.0
        return difference / math.sqrt(variance)

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

    def _observe(
        self, slot: int, reward: float, sem: float | None, variance: float | None, last: bool = False
    ) -> None:
        self._belief.observe(slot, reward, variance)
        learner = self._learner
        self._has_sems |= sem is not None
        if learner is not None:
            learner.note(slot, reward, variance)
            if learner.checks():
                self._check_model()
            if learner.due() or (last and learner.stale):
                self._learn()
        self._refresh()

    def has_scale(self) -> bool:
        """Whether rewards can be compared with delta: not while even their scale is a guess."""
        learner = self._learner
        return learner is None or learner.unknowns.given is not None or learner.model.measurements > 0

    def _check_model(self) -> None:
        """Check what was given against the measurements."""
        assert self._learner is not None
        assert isinstance(self._belief, Mixture)
        learner, only = self._learner, self._belief.only
        if learner.learns:
            given = self._noise if isinstance(self._noise, float) and not self._has_sems else None
            learner.doubt(self._lines(), given)
        elif only is not None:
            learner.check(only.residuals(), only.repeats, only.scatter)

    def _lines(self) -> Any:
        """Return the footprints of the ledger's lines."""
        assert self._learner is not None
        return self._feedback.footprints([self._tracked[slot] for slot, _ in self._learner.ledger.lines])

    def _learn(self) -> None:
        """Learn the models from all rewards and build the belief anew; splits already made are facts."""
        assert self._learner is not None
        data = self._learner.learn(self._lines())
        model = self._learner.model
        self.prior_mean = model.mean
        self._belief = Mixture(self._frame, self._learner.models, model.mean)
        self._belief.load(data)
        self._smallest = self._smallest_variances()
        if model.noise is not None:
            self.tree.noise[: self.tree.size] = model.noise
            self._children.clear()  # whose noise was that of the old model
        self._bind()

    def _bind(self) -> None:
        """Bind the policy to the model: delta and ties follow it."""
        space, h_max = self._space, self._h_max
        kernel = self._given if self.model is None else self.model.kernel
        reach = np.array([space.reach(depth, self._feedback.reach) for depth in range(h_max + 2)])
        spread = partial(spread_by_depth, space, kernel, self._feedback, self._frame, h_max)
        slopes = None if kernel is None else self._frame.slopes(kernel)
        self._rules = self._policy.bind(
            Setting(
                counts=self._counts,
                base=space.base,
                budget=self._budget,
                h_max=h_max,
                variation=Variation(reach, slopes, spread, self.learned),
                tie=TIE * (1.0 if kernel is None else float(np.sqrt(kernel.point_variance))),
                rng=self._rng,
                learned=self.learned,
                opening=self.opening_size,
                room=self._frame.room,
            )
        )

    def _sweep(self, level: int) -> None:
        """Grow the whole tree down to a depth, as far as regions may be split."""
        for depth in range(level):
            rows = (self.tree.depth[: self.tree.size] == depth).nonzero()[0].tolist()
            self._expand([row for row in rows if self._space.may_split(self.regions[row])])

    def _refresh(self) -> None:
        """Copy the belief into the table."""
        tree = self.tree
        nodes = slice(0, tree.size)
        mean, variance = self._belief.columns()
        if not self._in_order:
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
            self._overlay.add(int(self.tree.slot[row]), self._variance(float(self.tree.noise[row]), None))
        self._overlaid = len(self._pending)
        mean, variance = self._overlay.columns()
        slots = self.tree.slot[: self.tree.size]
        return self.tree.with_posterior(mean.take(slots), np.sqrt(variance.take(slots)))

    def told_views(self) -> list[View]:
        """Return the nodes under each model, from told measurements only."""
        return self._views(pending=False)

    def _views(self, pending: bool = True) -> list[View]:
        """Return the nodes under each model, trials under way included or not."""
        tree, belief = self.tree, self._belief
        if not isinstance(belief, Mixture):
            raise InvalidInput("the empirical belief knows no covariances", "StoOO", "Use another policy.")
        slots = tree.slot[: tree.size]
        self._seen()  # brings the overlay up to date
        overlay = self._overlay if self._pending and pending else None
        assert overlay is None or isinstance(overlay, MixtureOverlay)
        views = []
        for number, (member, weight) in enumerate(zip(belief.members, belief.weights.tolist(), strict=True)):
            own = member.belief if overlay is None else overlay.overlays[number]
            noise = member.model.noise
            views.append(
                View(
                    weight=weight,
                    mean=member.belief.mean.take(slots) + (member.model.mean - belief.zero),
                    std=np.sqrt(own.variance.take(slots)),
                    noise=tree.noise[: tree.size] if noise is None else np.full(tree.size, noise),
                    prior=member.belief.prior.take(slots),
                    smallest=self._smallest[number],
                    covariance=lambda rows, others, own=own: own.covariance(slots[rows], slots[others]),  # type: ignore[misc]
                )
            )
        return views

    def _smallest_variances(self) -> list[float]:
        """Return the prior variance of a smallest region's average under each model."""
        if isinstance(self._belief, EmpiricalBelief):
            return []
        deepest = self._space.deepest()
        depth = self._h_max + 1 if deepest is None else min(self._h_max + 1, deepest)
        count = self._space.count(depth)
        some = {0} if not isinstance(self._space, MemberSpace) else set(range(0, count, max(1, count // 8)))
        cells = [self._space.cell((depth, index), self._feedback) for index in sorted(some)]
        footprints = self._feedback.footprints(cells)
        kernels = [member.model.kernel for member in self._belief.members]
        return [float(np.max(np.diag(self._frame.covariance(own).among(footprints)))) for own in kernels]

    def _is_forbidden(self, region: Region) -> bool:
        if self._forbidden is None:
            return False
        answer = self._forbidden(region)
        if not isinstance(answer, bool | np.bool_):
            raise InvalidInput(f"forbidden({region.name}) must be True or False", answer, "Return one of the two.")
        return bool(answer)

    def _may_split(self, row: int) -> bool:
        return bool(
            self.tree.first_child[row] < 0
            and self.tree.depth[row] <= self._h_max
            and self._space.may_split(self.regions[row])
        )

    def _prepare(self, row: int) -> tuple[tuple[Region, ...], list[float], list[bool]]:
        """Return a node's children, their noise and which of them are forbidden, made once."""
        if row not in self._children:
            children = self._space.split(self.regions[row])
            noise = [self.noise_of(child) for child in children]
            self._children[row] = children, noise, [self._is_forbidden(child) for child in children]
        return self._children[row]

    def _track(self, regions: Sequence[Region]) -> list[int]:
        """Return the belief's slots of regions, tracking those that were not observed before."""
        first, known = self._belief.size, self._outside
        fresh = [region for region in regions if region.key not in known] if known else regions
        if fresh:
            self._belief.track(self._feedback.footprints(fresh))
            self._tracked.extend(fresh)
        new = iter(range(first, self._belief.size))
        if not known:
            return list(new)
        return [known.pop(region.key) if region.key in known else next(new) for region in regions]

    def _expand(self, rows: list[int]) -> None:
        """Partition nodes (line 7)."""
        if not rows:
            return
        families = [self._prepare(row) for row in rows]
        children = [child for family, _, _ in families for child in family]
        slots = iter(self._track(children))
        tree, start = self.tree, self.tree.size
        for row, (family, noise, forbidden) in zip(rows, families, strict=True):
            first = tree.size
            indices = []
            for child in family:
                assert child.node is not None
                self.regions.append(child)
                indices.append(child.node[1])
            tree.add_children(row, indices, noise, [next(slots) for _ in family])
            for place, never in enumerate(forbidden):
                self._mark(first + place, never)
            self._settle(row)
            self._children.pop(row)
        new = slice(start, tree.size)
        mean, variance = self._belief.columns()
        tree.mean[new] = mean[tree.slot[new]]
        tree.std[new] = np.sqrt(variance[tree.slot[new]])
        self._overlay = None

    def _mark(self, row: int, forbidden: bool) -> None:
        """Note of a new node whether it is of the smallest size, and whether it is forbidden."""
        self.tree.smallest[row] = not self._may_split(row)
        if forbidden:
            self.tree.forbidden[row] = True
            self._settle(row)

    def _settle(self, row: int) -> None:
        """Decide whether a node may be asked for."""
        tree = self.tree
        tree.askable[row] = (
            (self._policy.inner or tree.first_child[row] < 0)
            and row not in self._barred
            and not tree.forbidden[row]
            and (self._max_looks is None or tree.looks[row] < self._max_looks)
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
            if self._forbidden is not None:
                reasons.append(f"{int(np.count_nonzero(self.tree.forbidden[leaves]))} are forbidden")
            raise Exhausted(
                f"none of the {len(leaves)} smallest regions may be asked for: {'; '.join(reasons)}. "
                "Raise max_looks or the policy's h_max, lower the space's smallest, or stop here."
            )
        row = self._rules.urgent(self._seen(), rows, t)
        self._expand([row])
        self.tree.expanded[row] = True


def frame_of(space: Any, feedback: Feedback) -> Frame:
    """Return a space as beliefs see it."""
    if isinstance(space, MemberSpace):
        return SubsetFrame(space)
    return ProductFrame(space.axes, space.sides(), feedback)


def opening_level(counts: Sequence[int], budget: int) -> int:
    """Return the depth of the opening sweep: as many cells as two fifths of the budget allow, 64 at most."""
    most = min(max(2 * budget // 5, 2), MOST_OPENING_CELLS)
    level = 0
    while level + 1 < len(counts) and 0 < counts[level + 1] <= most:
        level += 1
    return level


def spread_out(tree: Tree, counts: Sequence[int], base: int) -> list[int]:
    """Return the leaves in an order that covers the space evenly from the start."""

    def place(row: int) -> float:
        depth = int(tree.depth[row])
        return scattered(int(tree.index[row]), depth, counts[depth], base)

    return sorted((tree.first_child[: tree.size] < 0).nonzero()[0].tolist(), key=place)
