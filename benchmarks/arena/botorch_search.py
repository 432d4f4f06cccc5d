"""BoTorch over a finite number of places, as the arena and the applications both play it.

It measures the eight places nearest to points of a Sobol sequence, then where `qLogNoisyExpectedImprovement` is
highest, and settles for the place of the highest posterior mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np
import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from numpy.typing import NDArray
from scipy.stats import qmc

Model = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None, bool], Any]  # as in `gpytorch_models`

FIRST = 8  # places before there is a model
MOST = 4096  # places whose acquisition is computed in a round; it would take minutes for 32,768
CHUNK = 1024  # places whose acquisition is computed at once


def search(
    measure: Callable[[int], float],
    points: NDArray[np.float64],
    budgets: Collection[int],
    rng: np.random.Generator,
    model_of: Model,
    *,
    symbols: bool = False,
    noise: NDArray[np.float64] | None = None,
    once: bool = False,
) -> dict[int, int]:
    """Return the place that it settles for after each of some numbers of measurements.

    Parameters
    ----------
    measure : callable
        The number of a place to a noisy value.
    points : array, shape (places, d)
        In the unit cube; of symbols the middle of each one's share of an axis.
    budgets : collection of int
        Numbers of measurements.
    rng : numpy.random.Generator
        Random numbers.
    model_of : callable
        One of `gpytorch_models`.
    symbols : bool
        Whether columns are symbols, which have no order.
    noise : array, shape (places,), optional
        Standard deviation of the noise at each place; by default it is learned.
    once : bool
        Whether a second measurement of a place brings nothing.
    """
    torch.set_num_threads(1)
    torch.manual_seed(int(rng.integers(2**31)))
    places = torch.tensor(_numbered(points) if symbols else points, dtype=torch.double)
    variances = None if noise is None else torch.tensor(noise**2, dtype=torch.double).unsqueeze(-1)
    first = nearest(points, qmc.Sobol(points.shape[1], rng=rng).random(FIRST))
    seen, values, settled = list[int](), list[float](), dict[int, int]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the optimiser and of scaling; we judge by the outcome
        for n in range(max(budgets) + 1):
            model: Any = None
            if n >= FIRST:
                y = torch.tensor(values, dtype=torch.double).unsqueeze(-1)
                model = model_of(places[seen], y, None if variances is None else variances[seen], symbols)
            if n in budgets:
                settled[n] = int(scores(partial(mean, model), places).argmax())
            if n == max(budgets):
                break
            if n < FIRST:
                chosen = first[n]
            else:
                among = _promising(model, places)
                gain = scores(
                    qLogNoisyExpectedImprovement(model, places[seen], prune_baseline=True), places[among]
                )
                if once:
                    gain[torch.isin(among, torch.tensor(seen))] = -torch.inf
                chosen = int(among[gain.argmax()])
            values.append(measure(chosen))
            seen.append(chosen)
    return settled


def nearest(points: NDArray[np.float64], to: NDArray[np.float64]) -> list[int]:
    """Return the place nearest to each of some points, none twice."""
    chosen: list[int] = []
    for point in to:
        distance = ((points - point) ** 2).sum(axis=1)
        distance[chosen] = np.inf
        chosen.append(int(distance.argmin()))
    return chosen


def scores(function: Callable[[Any], Any], places: Any) -> Any:
    """Return a function of each place, each a batch of its own: nobody needs the covariance of all places."""
    with torch.no_grad():
        return torch.cat([function(part.unsqueeze(1)) for part in places.split(CHUNK)])


def mean(model: Any, places: Any) -> Any:
    """Return the posterior means of places, each a batch of its own."""
    return model.posterior(places).mean[:, 0, 0]


def _promising(model: Any, places: Any) -> Any:
    """Return which places to consider: all, or of many those of the highest mean and as many at random."""
    if len(places) <= MOST:
        return torch.arange(len(places))
    likely = scores(partial(mean, model), places).topk(MOST // 2).indices
    return torch.cat([likely, torch.randperm(len(places))[: MOST // 2]])


def _numbered(points: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the numbers of symbols from the middles of their shares."""
    return np.stack([np.unique(column, return_inverse=True)[1] for column in points.T], axis=1)
