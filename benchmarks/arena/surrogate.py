"""Contestants with a model of f of their own: BoTorch in three ways, gpCAM, and Optuna's two samplers.

All but one measure smallest cells, as points. BoTorch over regions has a kernel of averages and measures any.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.arena.contestants import Contestant, Meter, Pick, Play, Readings, all_budgets, ordered_only
from benchmarks.arena.problems import Case, Parts, Problem
from zonal.spaces import Region, Sequences

FIRST = 8  # Sobol cells before gpCAM has a model
STEPS = 50  # of gpCAM's training, from the same start each time
REGIONS = 4096  # that BoTorch over regions considers
FANTASIES, CANDIDATES, QUESTIONS = 32, 128, 128  # of BoTorch over regions: quantiles, cells, regions
OPTIMISM = 2.5  # standard deviations, by which cells that may be the best are found


def _every(problem: Problem) -> NDArray[np.intp]:
    """Return the parts of all smallest cells, shape (cells, d)."""
    return np.stack(np.unravel_index(np.arange(problem.averages.size), problem.shape), axis=1)


def _parts(row: Any) -> Parts:
    return tuple(int(part) for part in row)


def botorch(model_name: str) -> Play:
    """Return BoTorch over all cells, with one of its models; its noise is learned."""

    def play(
        problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator
    ) -> dict[int, Pick]:
        from benchmarks.arena import botorch_search, gpytorch_models

        every, symbols = _every(problem), isinstance(problem.space, Sequences)
        settled = botorch_search.search(
            lambda at: meter(problem.cell(_parts(every[at]))),
            (every + 0.5) / np.array(problem.shape),
            budgets,
            rng,
            getattr(gpytorch_models, model_name),
            symbols=symbols,
        )
        return {n: Pick(_parts(every[at])) for n, at in settled.items()}

    return play


def botorch_regions(
    problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator
) -> dict[int, Pick]:
    """Play the knowledge gradient over regions of any size, under a GPyTorch kernel of averages over regions.

    As qKnowledgeGradient it averages over fantasies the highest posterior mean after a measurement, here over
    quantiles of the one result, and over the cells that may be the best. Where noise depends on the region it is
    given, else learned.
    """
    import torch

    from benchmarks.arena.botorch_search import mean, scores
    from benchmarks.arena.gpytorch_models import region_model

    torch.set_num_threads(1)
    space, every, picks = problem.space, _every(problem), dict[int, Pick]()
    shape = np.array(problem.shape)
    cells = torch.tensor(np.stack([every / shape, (every + 1) / shape], axis=-1).reshape(len(every), -1))
    depths = range(1, problem.depth + 1)
    nodes = [(depth, index) for depth in depths for index in range(space.partition.count(depth))]
    rng.shuffle(nodes)  # of more than REGIONS only some are considered, of all sizes
    coarse = [space.cell((3, index)) for index in range(space.partition.count(3))]
    regions = [*coarse, *(space.cell(node) for node in nodes[:REGIONS])]
    boxes = torch.tensor(np.array([_sides(problem, region) for region in regions]))
    quantiles = torch.special.ndtri((torch.arange(FANTASIES, dtype=torch.double) + 0.5) / FANTASIES)
    measured, values, variances = list[int](), list[float](), list[float]()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for n in range(max(budgets) + 1):
            model: Any = None
            if n >= len(coarse):
                rewards = torch.tensor(values, dtype=torch.double).unsqueeze(-1)
                noise = (
                    torch.tensor(variances, dtype=torch.double).unsqueeze(-1) if callable(problem.noise) else None
                )
                with torch.enable_grad():
                    model = region_model(boxes[measured], rewards, noise, False)
            if n in budgets:
                picks[n] = Pick(_parts(every[int(scores(partial(mean, model), cells).argmax())]))
            if n == max(budgets):
                break
            at = n if n < len(coarse) else _most_gain(model, cells, boxes, regions, problem, quantiles)
            measured.append(at)
            values.append(float(meter(regions[at])))
            variances.append(_noise_std(problem, regions[at]) ** 2)
    return picks


def _most_gain(model: Any, cells: Any, boxes: Any, regions: list[Region], problem: Problem, quantiles: Any) -> int:
    """Return the region whose measurement is expected to raise the highest mean of a cell most."""
    import torch

    from benchmarks.arena.botorch_search import scores

    def upper(places: Any) -> Any:
        posterior = model.posterior(places)
        return posterior.mean[:, 0, 0] + OPTIMISM * posterior.variance[:, 0, 0].sqrt()

    among = scores(upper, cells).topk(min(CANDIDATES, len(cells))).indices
    variance = scores(lambda places: model.posterior(places).variance[:, 0, 0], boxes)
    if callable(problem.noise):
        errors = torch.tensor([_noise_std(problem, region) ** 2 for region in regions])
    else:
        learned = model.likelihood.noise * model.outcome_transform.stdvs.squeeze() ** 2
        errors = torch.full((len(regions),), float(learned))
    asked = (variance / (variance + errors)).topk(min(QUESTIONS, len(regions))).indices
    likely = scores(upper, boxes).topk(min(QUESTIONS, len(regions))).indices
    asked = torch.unique(torch.cat([asked, likely]))
    together = model.posterior(torch.cat([cells[among], boxes[asked]]))
    middle, covariance = together.mean[: len(among), 0], together.distribution.covariance_matrix
    slopes = covariance[len(among) :, : len(among)] / (variance[asked] + errors[asked]).sqrt()[:, None]
    after = (middle[None, :, None] + slopes[:, :, None] * quantiles).amax(dim=1).mean(dim=1)
    return int(asked[after.argmax()])


def _sides(problem: Problem, region: Region) -> list[float]:
    """Return (low, high) of every axis of a region, in widths of the space."""
    sides: list[float] = []
    for axis, (low, high) in zip(problem.space.axes, region.bounds, strict=True):
        sides += [(low - axis.low) / (axis.high - axis.low), (high - axis.low) / (axis.high - axis.low)]
    return sides


def _noise_std(problem: Problem, region: Region) -> float:
    """Return the standard deviation of the noise of one measurement of a region."""
    return float(problem.noise(region) if callable(problem.noise) else problem.noise)


def gpcam(problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator) -> dict[int, Pick]:
    """Play gpCAM's noisy expected improvement over all cells, noise learned; settle for the highest mean."""
    from gpcam import GPOptimizer
    from scipy.stats import qmc

    readings, every, picks = Readings(problem, meter), _every(problem), dict[int, Pick]()
    places = (every + 0.5) / np.array(problem.shape)
    first = [problem.at(point) for point in qmc.Sobol(len(problem.shape), rng=rng).random(FIRST)]
    flat = [int(np.ravel_multi_index(cell, problem.shape)) for cell in first]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in first:
            readings.measure(cell)
        for n in range(FIRST, max(budgets) + 1):
            values = np.array(readings.values)
            scaled = (values - values.mean()) / max(float(values.std()), 1e-12)
            # Hyperparameters: variance, a lengthscale an axis, variance of the noise.
            bounds = np.array([[0.01, 10.0], *[[0.01, 2.0]] * places.shape[1], [1e-5, 2.0]])
            start = np.array([1.0, *[0.2] * places.shape[1], 0.1])
            model = GPOptimizer(places[flat], scaled, init_hyperparameters=start, noise_function=_gpcam_noise)
            model.train(hyperparameter_bounds=bounds, method="local", max_iter=STEPS)
            if n in budgets:
                picks[n] = Pick(_parts(every[int(np.argmax(model.posterior_mean(places)["m(x)"]))]))
            if n == max(budgets):
                return picks
            scores = model.evaluate_acquisition_function(places, acquisition_function="noisy expected improvement")
            flat.append(int(np.argmax(scores)))
            readings.measure(_parts(every[flat[-1]]))
    return picks


def one_axis(case: Case) -> tuple[int, ...]:
    """Return the budgets of a case with one ordered axis: with 1,024 cells a run of gpCAM takes minutes."""
    return all_budgets(case) if len(case.shape) == 1 and not case.symbols else ()


def _gpcam_noise(x: Any, hyperparameters: Any) -> Any:
    """Return the variance of the noise at each point: the last hyperparameter."""
    return np.full(len(x), hyperparameters[-1])


def optuna_gp(
    problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator
) -> dict[int, Pick]:
    """Play Optuna's GPSampler; settle for the highest posterior mean of its own model, fitted anew."""
    import optuna
    import torch

    torch.set_num_threads(1)
    return _optuna(
        problem, meter, budgets, optuna.samplers.GPSampler(seed=int(rng.integers(2**31))), by_model=True
    )


def optuna_tpe(
    problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator
) -> dict[int, Pick]:
    """Play Optuna's TPESampler; it has no model of f, so settle for the best mean reading."""
    import optuna

    return _optuna(
        problem, meter, budgets, optuna.samplers.TPESampler(seed=int(rng.integers(2**31))), by_model=False
    )


def _optuna(
    problem: Problem, meter: Meter, budgets: tuple[int, ...], sampler: Any, by_model: bool
) -> dict[int, Pick]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    symbols = isinstance(problem.space, Sequences)
    axes = {
        f"x{j}": optuna.distributions.CategoricalDistribution(list(range(n)))
        if symbols
        else optuna.distributions.IntDistribution(0, n - 1)
        for j, n in enumerate(problem.shape)
    }
    study = optuna.create_study(sampler=sampler, direction="maximize")
    readings, picks = Readings(problem, meter), dict[int, Pick]()
    for n in range(1, max(budgets) + 1):
        trial = study.ask(axes)
        study.tell(trial, readings.measure(tuple(int(trial.params[name]) for name in axes)))
        if n in budgets:
            picks[n] = _by_model(problem, study, axes) if by_model else readings.best(n)
    return picks


def _by_model(problem: Problem, study: Any, axes: dict[str, Any]) -> Pick:
    """Return the cell of the highest posterior mean, by the fit that the sampler itself would make next.

    It goes on from the sampler's last fit, as the sampler does.
    """
    import torch
    from optuna._gp import gp, prior, search_space

    space = search_space.SearchSpace(axes)
    values = np.array([trial.value for trial in study.trials])
    last = study.sampler._gprs_cache_list
    model = gp.fit_kernel_params(
        X=space.get_normalized_params(study.trials),
        Y=(values - values.mean()) / max(float(values.std()), 1e-12),
        is_categorical=space.is_categorical,
        log_prior=prior.default_log_prior,
        minimum_noise=prior.DEFAULT_MINIMUM_NOISE_VAR,
        deterministic_objective=False,
        gpr_cache=last[0] if last else None,
    )
    every = _every(problem)
    places = np.where(space.is_categorical, every, (every + 0.5) / np.array(problem.shape))
    with torch.no_grad():
        mean, _ = model.posterior(torch.tensor(places, dtype=torch.double))
    return Pick(_parts(every[int(mean.argmax())]))


TORCH = (
    "botorch.acquisition",
    "botorch.models",
    "benchmarks.arena.botorch_search",
    "benchmarks.arena.gpytorch_models",
)


def contestants() -> list[Contestant]:
    """Return the contestants with a model of their own."""
    return [
        Contestant(
            "BoTorch",
            "`qLogNoisyExpectedImprovement` over all cells (of more than 4,096 the 2,048 of the highest posterior "
            "mean and as many at random), 8 Sobol cells first, noise learned; posterior mean over all cells. Its "
            "default prior is meant for many dimensions",
            botorch("default_model"),
            ("botorch", "torch"),
            TORCH,
            anytime=True,
        ),
        Contestant(
            "BoTorch, matched prior",
            "the same with an output scale, and with the priors that Zonal has for lengthscales, scale and noise",
            botorch("matched_model"),
            ("botorch", "torch"),
            TORCH,
            anytime=True,
            budgets=ordered_only,
        ),
        Contestant(
            "BoTorch over regions",
            "with a GPyTorch kernel of averages over regions (RBF, matched prior) and the knowledge gradient over "
            "regions of any size, 8 coarse ones first; noise that depends on the region is given to it",
            botorch_regions,
            ("botorch", "torch"),
            TORCH,
            anytime=True,
            budgets=ordered_only,
        ),
        Contestant(
            "gpCAM",
            "`GPOptimizer` over all cells as points, `noisy expected improvement`, 8 Sobol cells first, noise "
            "learned, trained after each measurement; posterior mean over all cells. On f1 only: its runs of "
            "N = 80 are the longest there, and its time grows with the number of cells",
            gpcam,
            ("gpcam", "fvgp"),
            ("gpcam",),
            anytime=True,
            budgets=one_axis,
        ),
        Contestant(
            "Optuna GP",
            "`GPSampler`; posterior mean of its own model",
            optuna_gp,
            ("optuna", "torch"),
            ("optuna._gp.gp", "optuna._gp.optim_mixed"),
            anytime=True,
        ),
        Contestant(
            "Optuna TPE",
            "`TPESampler`; the best mean reading",
            optuna_tpe,
            ("optuna",),
            ("optuna.samplers",),
            anytime=True,
        ),
    ]
