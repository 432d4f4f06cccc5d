"""How certain the recommendation is, and what more measurements would bring: from joint draws of the posterior.

Draws come from all models, by their weights. Everything here holds under the models; none of it is a guarantee. It
reads columns and views, changes nothing, and uses the same random numbers each time, so the same state gives the
same answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from zonal._blas import eigh, one_thread
from zonal._types import Flags, Floats
from zonal.policies.base import ModelView, Rows, allowed_leaves, candidates
from zonal.tree import Tree

Rng = np.random.Generator
Under = tuple[float, Floats, Floats]  # one model: its weight, and the means and standard deviations under it

SURE, HELD = 0.9, 0.5  # probability to be listed; probability to be classified as beyond the threshold
DRAWS = 2000
DRAWS_OF_BEST = 8000  # where many regions may be the best, each rarely
MAX_RIVALS = 256  # regions drawn jointly with the recommended one; all others given these
JITTER = 1e-8  # of the prior variance
LOST = 1e-12  # of the largest variance: what rounding may take of others
NOBODY: Rows = np.array([], dtype=np.intp)
HOPELESS = 5.0  # regions this many standard deviations below the recommended one are left out


class Standing(NamedTuple):
    """How a region compares with all others, under the models."""

    gap: float  # with the probability asked for, the best smallest region is better by no more than this
    probability_best: float  # the probability that no smallest region is better


@dataclass(frozen=True)
class Outlook:
    """What more measurements are expected to bring, under the models.

    Attributes
    ----------
    n : int
        How many more.
    rise : float
        By how much the true average of the recommended region is expected to improve.
    low, high : float
        The improvement lies between these with probability 0.9.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(3):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> study.outlook(5).n
    5
    """

    n: int
    gain: float
    low: float
    high: float


def rivals(tree: Tree, row: int) -> Rows:
    """Return the regions most likely to be better than a recommended one, and that one, last."""
    return np.append(np.sort(_promising(tree, row)[:MAX_RIVALS]), row)


def _promising(tree: Tree, row: int) -> Rows:
    """Return all regions that may be better than a recommended one, the most likely first."""
    rows = allowed_leaves(tree)
    rows = rows[rows != row]
    behind = (tree.mean[row] - tree.mean[rows]) / np.maximum(np.hypot(tree.std[rows], tree.std[row]), 1e-300)
    order = np.argsort(behind, kind="stable")
    return np.asarray(rows[order[behind[order] < HOPELESS]], dtype=np.intp)


def standings(
    tree: Tree,
    views: list[ModelView],
    rows: Rows,
    theta: float,
    alike: Flags | None = None,
    n_smallest: int = 1,
    tails: float = math.inf,
) -> list[Standing]:
    """Return how each of `rows`, the best first, compares, from draws of all regions that may be better.

    The gap holds with probability 1 - theta. What is said of a row does not depend on how many come after it. If
    some rows of the table are nearly `alike` one of `rows`, that is also the best if one of them is. A leaf that
    can still be split holds many of the `n_smallest` regions of the space, and the best of them counts.
    Where `tails` is finite, regions that were not measured differ from what the others say by a Student's t of so
    many degrees of freedom.
    """
    promising = _promising(tree, int(rows[0]))
    joint = promising if tails == math.inf else promising[tree.count[promising] > 0]
    compared = np.sort(np.append(joint[:MAX_RIVALS], rows[0]))
    rest = np.sort(promising[~np.isin(promising, compared)])
    blocks = compared, rest, rows[~np.isin(rows, np.append(compared, rest))]  # the last are no rivals
    places = [_place(blocks, row) for row in rows.tolist()]
    of_compared, of_rest, of_rows = (_inside(tree, views[0], leaves, n_smallest) for leaves in (*blocks[:2], rows))
    of_rows = np.minimum(of_rows, 1.0)  # an answer is one of the smallest regions in it
    of_compared[compared == rows[0]] = of_rows[0]
    best_of, rng = np.random.default_rng(5), np.random.default_rng(4)
    one_of = [np.random.default_rng([6, k]) for k in range(len(rows))]
    parts = []
    for view, averages in _draws(views, compared, blocks[2]):
        number, shared = len(averages), averages[:, : len(compared)]
        drawn = shared + _best_inside(view, compared, of_compared, number, best_of)
        given = others = np.zeros((number, 0))
        if len(rest):
            given = _given(view, compared, shared, rest, rng, tails)
            others = given + _best_inside(view, rest, of_rest, number, rng, tails)
        nothing = np.full((number, max(len(blocks[2]), 2)), -np.inf)
        second, best = np.partition(np.hstack([nothing, drawn, others]), -2, axis=1)[:, -2:].T
        means, bests = (shared, given, averages[:, len(compared) :]), (drawn, others, nothing)
        region, top, near = np.empty((3, len(rows), number))
        for k, (block, at) in enumerate(places):
            itself = bests[block][:, at]
            inside = _best_inside(view, rows[k : k + 1], of_rows[k : k + 1], number, one_of[k])[:, 0]
            region[k] = near[k] = means[block][:, at] + inside if k else itself
            top[k] = np.maximum(np.where(itself == best, second, best), region[k])
            if alike is not None:
                beside = alike[k, compared] & (compared != rows[k])
                near[k] = np.maximum(region[k], drawn[:, beside].max(axis=1, initial=-np.inf))
        parts.append((region, top, near))
    region, top, near = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return [
        Standing(float(np.quantile(short, 1 - theta)), float(np.mean(is_best)))
        for short, is_best in zip(top - region, near >= top, strict=True)
    ]


def _place(blocks: Sequence[Rows], row: int) -> tuple[int, int]:
    """Return in which of some blocks a row is, and where."""
    return next((at, int(np.argmax(block == row))) for at, block in enumerate(blocks) if row in block)


def _inside(tree: Tree, view: ModelView, leaves: Rows, n_smallest: int) -> Floats:
    """Return how many of the smallest regions are in leaves that can be split; 0 for other nodes."""
    number, split = np.zeros(len(leaves)), tree.leaf[leaves] & ~tree.smallest[leaves]
    if split.any():
        share = view.weights(leaves[split]) / view.weights(np.zeros(1, dtype=np.intp))
        number[split] = np.maximum(n_smallest * share, 1.0)
    return number


def times_best(views: list[ModelView], rows: Rows) -> tuple[Floats, Floats]:
    """Return in what share of joint draws each of some rows is the best: in one half of them, and in the other."""
    winners = np.concatenate([draw.argmax(axis=1) for _, draw in _draws(views, rows, number=DRAWS_OF_BEST)])
    first, second = (np.bincount(half, minlength=len(rows)) / len(half) for half in (winners[::2], winners[1::2]))
    return first, second


def outlook(tree: Tree, views: list[ModelView], row: int, plan: list[int], times: Floats | float = 1.0) -> Outlook:
    """Return what measuring the nodes of `plan`, for `times` usual times each, would bring to `row`.

    Truth and measurements are drawn together. The measurements update the weights of the models, and the
    recommendation follows the new posterior mean. The plan is fixed; the best search that adapts does at least as
    well.
    """
    among, asked = np.union1d(rivals(tree, row), plan), np.array(plan)
    # Only leaves can be recommended; `row` may be a larger region.
    final = (tree.leaf[among] & ~tree.forbidden[among]) | (among == row)
    # Both recommendations are by the mean: a policy's other reasons must not look like a rise.
    held = int(np.argmax(np.sum([view.weight * view.mean[among[final]] for view in views], axis=0)))
    updates = [_Update(view, asked, among[final], times) for view in views]
    rng, expected, gains = np.random.default_rng(1), [], []
    for view, draws in _draws(views, among):
        results = _results(view, among, asked, draws)
        values = results + view.noise[asked] / np.sqrt(times) * rng.standard_normal(results.shape)
        logs, means = zip(*(update(values) for update in updates), strict=True)
        weights = np.exp(logs - np.max(logs, axis=0))
        weights /= weights.sum(axis=0)
        mixed = np.einsum("vd,vdr->dr", weights, means)
        truth, samples, chosen = draws[:, final], np.arange(len(draws)), mixed.argmax(axis=1)
        gains.append(truth[samples, chosen] - truth[:, held])
        expected.append(
            mixed[samples, chosen] - mixed[:, held]
        )  # has the same mean as the rises, with less scatter
    low, high = np.quantile(np.concatenate(gains), [0.05, 0.95])
    return Outlook(len(plan), float(np.concatenate(expected).mean()), float(low), float(high))


def _results(view: ModelView, rows: Rows, asked: Rows, draws: Floats) -> Floats:
    """Return what measuring some nodes will return, without noise, given draws of what is judged of all rows."""
    at = np.searchsorted(rows, asked)
    if view.results is None:
        return np.asarray(draws[:, at])
    joint, seen = view.covariance(rows, rows), view.seen(asked, rows)
    joint[np.diag_indices(len(rows))] += _jitter(view, joint)
    with one_thread():
        slopes = np.linalg.solve(joint, seen.T)
        spread, vectors = eigh(view.seen_together(asked) - seen @ slopes)
        normal = np.random.default_rng(3).standard_normal((len(draws), len(asked)))
        # What a measurement returns is drawn about its expectation: only its difference from that enters a gain.
        return np.asarray(
            view.mean[asked]
            + (draws - view.mean[rows]) @ slopes
            + normal @ (vectors * np.sqrt(np.maximum(spread, 0))).T
        )


class _Update:
    """How measurements of some nodes change one model: its weight, and its means of other nodes."""

    def __init__(self, view: ModelView, asked: Rows, others: Rows, times: Floats | float) -> None:
        with one_thread():
            together = view.seen_together(asked) + np.diag(view.noise[asked] ** 2 / times)
            spread, vectors = eigh(together)
            spread = np.maximum(spread, 0.0) + _jitter(view, together)  # the same as in the draws
            self._whiten = vectors / np.sqrt(spread)
            self._gain = self._whiten.T @ view.seen(asked, others)
        self._foreseen, self._mean = view.mean[asked], view.mean[others]
        self._log_weight = np.log(view.weight) - 0.5 * np.log(spread).sum()

    def __call__(self, values: Floats) -> tuple[Floats, Floats]:
        """Return, for each row of values, the log weight (up to a constant shared by all models) and the means."""
        with one_thread():
            surprise = (values - self._foreseen) @ self._whiten
            return self._log_weight - 0.5 * (surprise**2).sum(axis=1), self._mean + surprise @ self._gain


def ranking(tree: Tree, first: int, k: int) -> list[int]:
    """Return a recommended row and the next best ones: at most `k` disjoint regions."""
    rows, lineage = candidates(tree), {first, *tree.lineage(first)}
    order = rows[np.argsort(-tree.mean[rows], kind="stable")].tolist()
    others = (row for row in order if row not in lineage and first not in tree.lineage(row))
    return [first, *islice(others, k - 1)]


def exceeding(models: Iterable[Under], threshold: float) -> Floats:
    """Return the probability that regions' averages exceed a threshold."""
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [weight * ndtr(np.nan_to_num((mean - threshold) / std, nan=0.0)) for weight, mean, std in models]
    return np.asarray(np.sum(parts, axis=0))


def misclassified(tree: Tree, views: list[ModelView], limit: float) -> float:
    """Return the expected weight of the smallest regions that are classified on the wrong side of a limit.

    Within a leaf that can still be split, regions vary about its average as the prior says.
    """
    rows = allowed_leaves(tree)
    models = []
    for view in views:
        hidden = np.where(tree.smallest[rows], 0.0, view.hidden[rows])
        models.append((view.weight, view.mean[rows], np.sqrt(view.std[rows] ** 2 + hidden)))
    above = exceeding(models, limit)
    return float(views[0].weights(rows) @ np.minimum(above, 1 - above))


def _given(view: ModelView, rows: Rows, draws: Floats, rest: Rows, rng: Rng, tails: float) -> Floats:
    """Return draws of many other averages, given those of some; what these leave open is independent."""
    joint, cross = view.covariance(rows, rows), view.covariance(rest, rows)
    joint[np.diag_indices(len(rows))] += _jitter(view, joint)
    with one_thread():
        slopes = np.linalg.solve(joint, cross.T)
        left = np.sqrt(np.maximum(view.std[rest] ** 2 - np.sum(cross.T * slopes, axis=0), 0.0))
        drawn = view.mean[rest] + (draws - view.mean[rows]) @ slopes
    if tails == math.inf:
        drawn += left * rng.standard_normal(drawn.shape)
    else:
        drawn += left * rng.standard_t(tails, drawn.shape) * math.sqrt(1 - 2 / tails)  # of variance one
    return drawn


def _best_inside(
    view: ModelView, rows: Rows, within: Floats, number: int, rng: Rng, tails: float = math.inf
) -> Floats:
    """Return draws of how far the best of `within` smallest regions is above the average of its node, or 0."""
    from scipy.special import ndtri, stdtrit

    above = np.zeros((number, len(rows)))
    split = np.flatnonzero(within)
    if len(split):
        # The probability of more than the largest of so many draws: of 4 ** 30 it is far below the spacing of 1.
        beyond = -np.expm1(np.log(rng.uniform(size=(number, len(split)))) / within[split])
        smallest = ndtri(beyond) if tails == math.inf else stdtrit(tails, beyond) * math.sqrt(1 - 2 / tails)
        above[:, split] = -np.sqrt(view.hidden[rows[split]]) * smallest
    return above


def _draws(
    views: list[ModelView], rows: Rows, more: Rows = NOBODY, number: int = DRAWS
) -> list[tuple[ModelView, Floats]]:
    """Return joint draws of the averages of some nodes, from each model in proportion to its weight.

    Nodes in `more` are drawn too, after the others, and change no draw of these.
    """
    ends = np.rint(np.cumsum([view.weight for view in views]) * number).astype(int)
    numbers = np.diff(ends, prepend=0)
    rng = np.random.default_rng(0)
    others = [np.random.default_rng([2, at]) for at in range(len(more))]
    rows, draws = np.append(rows, more), []
    for view, of_view in zip(views, numbers.tolist(), strict=True):
        normal = rng.standard_normal((of_view, len(rows) - len(more)))
        normal = np.column_stack([normal, *(other.standard_normal(of_view) for other in others)])
        if of_view == 0:
            continue
        covariance = view.covariance(rows, rows)
        # Only the draws have this jitter, not the belief; it is far below the scatter of draws.
        covariance[np.diag_indices(len(rows))] += _jitter(view, covariance)
        with one_thread():
            draws.append((view, view.mean[rows] + normal @ np.linalg.cholesky(covariance).T))
    return draws


def _jitter(view: ModelView, covariance: Floats) -> float:
    """Return what is added to variances: more than rounding, also where all but the prior mean is known."""
    return float(max(JITTER * (view.smallest + view.prior.max()), LOST * covariance.diagonal().max()))
