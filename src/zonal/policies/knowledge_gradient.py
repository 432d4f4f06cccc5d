"""The default: measure, at any depth, where the best smallest region's mean is expected to rise most.

Before each round the tree is split where it is most promising. Then one of two rules chooses. The knowledge
gradient is the expected rise of the highest posterior mean, averaged over all models. The guard, used every few
rounds while the kernel is learned, follows the highest raw means down the tree and uses no model: it protects
against fits that explain a narrow peak as noise. While nothing stands out from the noise, a region is measured
only after its parent: a peak that large regions only hint at is found sooner by halving than by chance. The
recommendation is the smallest region with the highest posterior mean.

On a line with fewer than ten measurements and a kernel to be learned, large regions hide too much of what little
can be seen: there it measures the smallest region with the highest upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from zonal._types import Floats
from zonal.errors import check_choice, truth
from zonal.policies.base import (
    NONE,
    OPTIMISM,
    BoundPolicy,
    Choice,
    ModelView,
    Policy,
    Reason,
    RngFactory,
    Rows,
    Views,
    best,
    best_mean,
    candidates,
)
from zonal.policies.beta import log_pi_t
from zonal.policies.cost_aware import highest, largest, payable, with_default_time
from zonal.policies.gain import log_gains, log_pairs
from zonal.tree import Tree

TOP = 256  # most promising leaves: in larger spaces, split until all of them are smallest regions
TIMES = 12  # the node limit is reached over this many rounds
CANDIDATES, QUESTIONS = 128, 256  # regions that may become the best, and nodes considered for a measurement
FINALISTS = 24  # questions whose gain is computed exactly
STANDS_OUT = 1.0  # standard deviations of the noise
SELDOM, OFTEN = 4, 2  # rounds between two choices of the guard
FEW = 10  # measurements: on a line with fewer, none can be spared for large regions
THETA = 0.1  # the probability with which upper bounds may fail where there are few
SLIVERS = 0.25  # of the space that is allowed: parts of a size that are together less than this
MOST_FOLLOWED = 2  # measurements at a smallest region by the guard


def compared(tree: Tree, views: list[ModelView], tie: float) -> Rows:
    """Return the smallest regions that may become the best: gains are about these."""
    final = candidates(tree)
    leaders = [best(tree, final, view.mean[final], tie) for view in views]
    likely = final[highest((tree.mean + 2.5 * tree.std)[final], CANDIDATES, tie)]
    among: Rows = np.union1d(likely, leaders)
    return among


class BoundKnowledgeGradient(BoundPolicy):
    """The knowledge gradient bound to a problem."""

    def nodes_to_expand(self, tree: Tree, t: int, views: Views, grown: int) -> Rows:
        """Return the leaves to split: all in a small space, else the most promising ones."""
        leaves = tree.leaf.nonzero()[0]
        able = ~tree.smallest[leaves]
        if not able.any():
            return NONE
        if sum(self.context.counts) <= self.context.room:
            return leaves[able]
        most, before = self.context.room // TIMES, tree.size - grown
        left = max(self.context.budget - t, 0) + 1
        room = min(most, max((self.context.room - before) // left, 2 * self.context.base))
        if before < self.context.room // 2:
            room = most
        leader = self._leader(tree, leaves)
        if grown >= room:
            return leader if grown < most + 2 * TOP * self.context.base else NONE
        promise = self.promise(tree, leaves, views, within=True)
        top = highest(promise, TOP, self.context.tie)
        top = top[able[top]]
        number = max(1, (room - grown) // self.context.base)
        wanted = leaves[top[highest(promise[top], number, self.context.tie)]]
        followed = self._split_next(tree) if self.context.learned else NONE
        return np.concatenate([wanted, followed, leader])

    def _split_next(self, tree: Tree) -> Rows:
        """Return the followed node if it can be split."""
        node = self.followed(tree)
        able = node is not None and tree.first_child[node] < 0 and not tree.smallest[node]
        return np.array([node]) if able else NONE

    def promise(self, tree: Tree, leaves: Rows, views: Views, within: bool) -> Floats:
        """Return how high the average of leaves may well be, or that of a smallest region `within`."""
        if not within:
            return tree.mean[leaves] + OPTIMISM * tree.std[leaves]
        hidden = np.sum([view.weight * view.hidden for view in views()], axis=0)
        return np.asarray(tree.mean[leaves] + OPTIMISM * np.sqrt(tree.std[leaves] ** 2 + hidden[leaves]))

    def _leader(self, tree: Tree, leaves: Rows) -> Rows:
        """Return the leaf with the highest mean if it can be split: what is recommended must be smallest."""
        rows = leaves[~(tree.forbidden[leaves] & tree.smallest[leaves])]
        if len(rows) == 0:
            return NONE
        rows = rows[tree.mean[rows] >= tree.mean[rows].max() - self.context.tie]
        return NONE if tree.smallest[rows].any() else rows[tree.depth[rows].argmax()][None]

    def choose(self, tree: Tree, t: int, views: Views, rng: RngFactory) -> Choice:
        """Return the guard's node when it is its turn, else the node with the largest expected gain per cost."""
        return self._decided(tree, t, views)[2]

    def reason(self, tree: Tree, t: int, views: Views) -> tuple[Reason, Rows]:
        """Return why `choose` chooses as it does, and the rows it compares by their gain, if it does."""
        return self._decided(tree, t, views)[:2]

    def _decided(self, tree: Tree, t: int, views: Views) -> tuple[Reason, Rows, Choice]:
        """Return the choice, the reason for it, and the rows it was compared with by their gain."""
        members = views()
        if not self.context.learned:
            questions = self.questions(tree, views)
            return "gain", questions, self._largest_gain(tree, members, questions)
        if self.context.line and self.context.budget < FEW and not self.context.opening:
            return "bound", NONE, self._highest_bound(tree, t)
        vague = not self._stands_out(tree, members)
        turn = t - 1 - self.context.opening
        guard = turn >= 0 and turn % (OFTEN if vague else SELDOM) == 0
        unseen = self.unseen(tree, views) if vague or guard else NONE
        choice = self._guarded(tree, unseen) if guard else None
        if choice is not None:
            return "guard", NONE, choice
        questions = unseen if len(unseen) else self.questions(tree, views, by_steps=vague)
        # Until something stands out, the models cannot tell what longer measurements would show.
        reason: Reason = "uncovered" if len(unseen) else "gain"
        return reason, questions, self._largest_gain(tree, members, questions, free=not vague)

    def _highest_bound(self, tree: Tree, t: int) -> Choice:
        """Return the smallest region with the highest upper bound, as `UCB` does."""
        smallest = tree.smallest.nonzero()[0]
        rows = payable(tree, smallest[tree.askable[smallest]])
        if not len(rows):
            rows = tree.askable.nonzero()[0]
        beta = 2 * (math.log(len(smallest)) + log_pi_t(t) - math.log(THETA))
        row = best(tree, rows, tree.mean[rows] + math.sqrt(beta) * tree.std[rows], self.context.tie)
        return with_default_time(tree, row) or row

    def _guarded(self, tree: Tree, unseen: Rows) -> Choice | None:
        """Return the guard's measurement, None if it has none; what was never covered goes before a repeat."""
        row = self._follow(tree)
        if row is None or (tree.trials[row] > 0 and len(unseen)):
            return None
        return with_default_time(tree, row)

    def _stands_out(self, tree: Tree, views: list[ModelView]) -> bool:
        """Tell whether the best region is better than the whole space by more than the noise."""
        row = self.recommend(tree)
        noise = sum(view.weight * float(view.noise[row]) for view in views)
        return bool(tree.mean[row] - tree.std[row] - tree.mean[0] > STANDS_OUT * noise)

    def followed(self, tree: Tree) -> int | None:
        """Return the node with the highest mean reward that contains something unmeasured, or None.

        Differences are relative to what was subtracted; if there are only these, posterior means are compared.
        """
        open_ = np.where(tree.smallest, tree.askable & (tree.trials < MOST_FOLLOWED), tree.leaf)
        parents = tree.parent[tree.askable & (tree.trials == 0)]
        open_[parents[parents >= 0]] = True
        averages = tree.averaged.any()
        rows = (open_ & ((tree.averaged if averages else tree.count) > 0)).nonzero()[0]
        if len(rows) == 0:
            return None
        mean, error = tree.own_rewards(rows) if averages else (tree.mean[rows], tree.std[rows])
        value = mean - (error - error.min())  # less certain means must be higher
        return best(tree, rows, value, self.context.tie)

    def _follow(self, tree: Tree) -> int | None:
        """Return the guard's choice: the child of the followed node with the highest mean, or that node again."""
        node = self.followed(tree)
        if node is None or (tree.first_child[node] < 0 and not tree.smallest[node]):
            return None
        if tree.smallest[node]:
            return node
        children = ((tree.parent == node) & tree.askable & (tree.trials == 0)).nonzero()[0]
        return best(tree, children, tree.mean[children], self.context.tie) if len(children) else None

    def unseen(self, tree: Tree, views: Views) -> Rows:
        """Return the largest allowed parts of forbidden regions that no measurement has covered yet.

        Slivers, which are together less than a quarter of what is allowed, get no more measurements in
        this way than their share of it.
        """
        if not tree.forbidden.any():
            return NONE
        parent, depth, trials = np.maximum(tree.parent, 0), tree.depth, tree.trials
        seen, parts = trials > 0, tree.forbidden[parent] & ~tree.forbidden
        levels = [(depth == level).nonzero()[0] for level in range(1, int(depth.max()) + 1)]
        for rows in levels:
            seen[rows] |= seen[parent[rows]]
        wanted = tree.askable & (tree.smallest | (self.policy.depths == "any"))
        rows = (wanted & parts & ~seen).nonzero()[0]
        if not len(rows):
            return NONE
        least = depth[rows].min()
        small, every = parts & (depth >= least), parts.nonzero()[0]
        weights = views()[0].weights(every)
        share = weights[small[every]].sum() / weights.sum()
        for level in levels:
            small[level] |= small[parent[level]]
        if share < SLIVERS and trials[small].sum() + 1 > share * (trials.sum() + 1):
            return NONE
        rows = rows[depth[rows] == least]
        most: Rows = rows[highest(tree.mean[rows] + OPTIMISM * tree.std[rows], QUESTIONS, self.context.tie)]
        return most

    def _largest_gain(self, tree: Tree, views: list[ModelView], questions: Rows, free: bool = True) -> Choice:
        """Return the node whose measurement is expected to raise the best mean most per cost.

        Its time is chosen too if `free`.
        """
        tie = self.context.tie
        among = compared(tree, views, tie)
        joint = [view.seen(questions, among) for view in views]
        means = [view.mean[among] for view in views]

        def slopes(at: Rows | slice, ratio: Floats | float) -> list[Floats]:
            """Return how much the candidates' means move with questions that take `ratio` times the usual time."""
            spreads = [view.spread(questions[at], ratio)[:, None] for view in views]
            return [covariance[at] / std for covariance, std in zip(joint, spreads, strict=True)]

        def rough(moved: list[Floats]) -> Floats:
            pairs = np.full(len(moved[0]), -np.inf)
            for view, mean, slope in zip(views, means, moved, strict=True):
                pairs = np.logaddexp(pairs, np.log(view.weight) + log_pairs(mean, slope, tie))
            return pairs

        def exact(moved: list[Floats]) -> Floats:
            heights = np.repeat(np.stack(means), len(moved[0]), axis=0)
            by_view = log_gains(heights, np.concatenate(moved)).reshape(len(views), -1)
            return np.asarray(np.logaddexp.reduce(by_view + np.log([[view.weight] for view in views]), axis=0))

        return largest(tree, questions, slopes, rough, exact, FINALISTS, free)

    def questions(self, tree: Tree, views: Views, number: int = QUESTIONS, by_steps: bool = False) -> Rows:
        """Return the askable nodes with the most promising regions; `by_steps`, only below measured ones."""
        wanted = tree.askable & (tree.smallest | (self.policy.depths == "any"))
        if by_steps and self.policy.depths == "any":
            measured = tree.trials > 0
            measured[0] = True  # the whole space need not be measured first
            parent = np.maximum(tree.parent, 0)
            wanted &= measured | measured[parent] | ~tree.askable[parent]
        idle = wanted & (tree.trials == tree.count)  # so that a batch has different regions
        rows = next(kind for kind in (idle, wanted, tree.askable) if kind.any()).nonzero()[0]
        rows = payable(tree, rows)
        if len(rows) <= number:
            return rows
        upper = np.full(tree.size, -np.inf)
        leaves = tree.leaf.nonzero()[0]
        upper[leaves] = self.promise(tree, leaves, views, within=False)
        for depth in range(int(tree.depth.max()), 0, -1):
            level = (tree.depth == depth).nonzero()[0]
            np.maximum.at(upper, tree.parent[level], upper[level])
        return rows[highest(upper[rows], number, self.context.tie)]

    def recommend(self, tree: Tree) -> int:
        """Return the smallest region with the highest mean; if there is no smallest one yet, the best leaf."""
        return best_mean(tree, candidates(tree), self.context.tie)


@dataclass(frozen=True)
class KnowledgeGradient(Policy):
    """Measure where the mean of the best region is expected to rise most (correlated knowledge gradient).

    Parameters
    ----------
    depths : {"any", "smallest"}
        Whether regions of any size, or only the smallest, may be measured after the opening.
    off_grid : bool
        Whether the last quarter of the measurements may also be of windows between the cells of the tree.

    Examples
    --------
    >>> import zonal as zn
    >>> zn.Study([(0, 1)], budget=20).settings.policy is None  # the default
    True
    >>> study = zn.Study([(0, 1)], budget=20, policy=zn.KnowledgeGradient())
    >>> study.ask().region.name
    'x 0..0.125'
    """

    depths: Literal["any", "smallest"] = "any"
    off_grid: bool = True
    measures_internal_nodes = True
    cost_aware = True
    answers_anywhere = True
    design_from = FEW
    bound_class = BoundKnowledgeGradient

    def __post_init__(self) -> None:
        check_choice(self.depths, "depths", ("any", "smallest"))
        truth(self.off_grid, "off_grid")

    @property
    def asks_anywhere(self) -> bool:  # type: ignore[override]
        """Whether windows are measured too, late in a campaign."""
        return self.off_grid
