"""Rivals' criteria as policies over Zonal's regions: information gain and max-value entropy search.

They open, grow and recommend as the default does and differ in the choice alone. Region sensing (Ma, Garnett and
Schneider 2017) measures the region whose result tells most about f; under a Gaussian process that is the largest
ratio of variance and noise. The paper's successor (Zhang and others, arXiv 2412.13559) measures what tells most
about the highest value; here by the bound of GIBBON (Moss and others 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

import zonal as zn
from zonal.policies.base import ModelView, RngFactory, Rows, Views, best, candidates
from zonal.policies.cost_aware import highest
from zonal.policies.knowledge_gradient import BoundKnowledgeGradient
from zonal.tree import Tree

DRAWS, CANDIDATES = 16, 128  # of the highest value under each model, and regions that may have it
JITTER = 1e-9


class BoundInformationGain(BoundKnowledgeGradient):
    """The information gain bound to a problem."""

    def choose(self, tree: Tree, t: int, views: Views, rng: RngFactory) -> int:
        """Return the node whose measurement tells most about f."""
        rows = tree.askable.nonzero()[0]
        bits = sum(view.weight * np.log1p((view.std[rows] / view.noise[rows]) ** 2) for view in views())
        return best(tree, rows, np.asarray(bits), 1e-9)


@dataclass(frozen=True)
class InformationGain(zn.KnowledgeGradient):
    """Measure where most is learned about f."""

    bound_class = BoundInformationGain


class BoundMaxValueEntropy(BoundKnowledgeGradient):
    """The max-value entropy search bound to a problem."""

    def choose(self, tree: Tree, t: int, views: Views, rng: RngFactory) -> int:
        """Return the node whose measurement tells most about the highest average of a smallest region."""
        rows, final, random = self.questions(tree, views), candidates(tree), rng()
        among = final[highest((tree.mean + 2.5 * tree.std)[final], CANDIDATES, self.context.tie)]
        bits = sum(view.weight * _bits(view, rows, among, random) for view in views())
        return best(tree, rows, np.asarray(bits), 1e-12)


@dataclass(frozen=True)
class MaxValueEntropy(zn.KnowledgeGradient):
    """Measure where most is learned about the highest average."""

    bound_class = BoundMaxValueEntropy


def _bits(view: ModelView, rows: Rows, among: Rows, random: np.random.Generator) -> np.ndarray:
    """Return what measuring each of some rows tells about the highest of some averages, under one model."""
    mean, covariance = view.mean[among], view.covariance(among, among)
    values, vectors = np.linalg.eigh(covariance)
    drawn = vectors * np.sqrt(np.maximum(values, 0.0)) @ random.standard_normal((len(among), DRAWS))
    std = np.sqrt(np.maximum(np.diag(covariance), JITTER * float(view.prior[among].max())))
    top = (mean[:, None] + drawn).max(axis=0)
    z = (top - mean[:, None]) / std[:, None]
    ratio = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(z))
    shrinks = np.clip(ratio * (z + ratio), 0.0, 1.0)  # of the variance, by knowing the highest value
    correlation = view.seen(rows, among) / (view.spread(rows, 1.0)[:, None] * std)
    explained = np.minimum(correlation**2, 1 - JITTER)[:, :, None] * shrinks
    return np.asarray(-0.5 * np.log1p(-explained.max(axis=1)).mean(axis=1))
