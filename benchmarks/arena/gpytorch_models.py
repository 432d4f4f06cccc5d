"""Models of BoTorch: its default, one with Zonal's priors and an output scale, and one of averages over regions.

The third has a kernel over regions (low, high): the covariance of two averages under an RBF kernel, in closed
form. So BoTorch, as a library, can be told that a measurement was an average over a larger region.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import MixedSingleTaskGP, SingleTaskGP
from gpytorch.constraints import Positive
from gpytorch.kernels import Kernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior

# Medians and widths of the log-normal priors that docs/method.md describes.
LENGTHSCALE, SCALE, NOISE = (math.log(0.15), 1.3), (0.0, 3.0), (2 * math.log(0.2), 3.0)
LEAST_NOISE = 1e-6  # of the variance of the rewards


def default_model(places: torch.Tensor, values: torch.Tensor, noise: torch.Tensor | None, symbols: bool) -> Any:
    """Return BoTorch's default model, for symbols its model of categories; noise is learned unless it is given."""
    if symbols:
        return fitted(MixedSingleTaskGP(places, values, cat_dims=list(range(places.shape[1])), train_Yvar=noise))
    return fitted(SingleTaskGP(places, values, train_Yvar=noise))


def matched_model(places: torch.Tensor, values: torch.Tensor, noise: torch.Tensor | None, symbols: bool) -> Any:
    """Return BoTorch's model with the priors of Zonal's, no least lengthscale, and an output scale."""
    if symbols:
        return default_model(places, values, noise, symbols)
    kernel = RBFKernel(
        ard_num_dims=places.shape[1],
        lengthscale_prior=LogNormalPrior(*LENGTHSCALE),
        lengthscale_constraint=Positive(initial_value=0.15),
    )
    return fitted(scaled_model(places, values, noise, kernel))


def region_model(places: torch.Tensor, values: torch.Tensor, noise: torch.Tensor | None, symbols: bool) -> Any:
    """Return the same model of averages over regions, given as (low, high) of every axis."""
    return fitted(scaled_model(places, values, noise, RegionKernel(places.shape[1] // 2)))


def scaled_model(places: torch.Tensor, values: torch.Tensor, noise: torch.Tensor | None, kernel: Kernel) -> Any:
    """Return a model with an output scale; its noise is learned unless variances are given."""
    scaled = ScaleKernel(
        kernel,
        outputscale_prior=LogNormalPrior(*SCALE),
        outputscale_constraint=Positive(initial_value=1.0),
    )
    if noise is not None:
        return SingleTaskGP(places, values, train_Yvar=noise, covar_module=scaled)
    likelihood = GaussianLikelihood(
        noise_prior=LogNormalPrior(*NOISE), noise_constraint=Positive(initial_value=0.04)
    )
    return SingleTaskGP(places, values, covar_module=scaled, likelihood=likelihood)


def fitted(model: Any) -> Any:
    """Return a model with its parameters fitted."""
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


class RegionKernel(Kernel):  # type: ignore[misc]
    """The covariance of averages over boxes under an RBF kernel; a box is (low, high) of every axis, in turn."""

    has_lengthscale = True

    def __init__(self, axes: int) -> None:
        super().__init__(
            ard_num_dims=axes,
            lengthscale_prior=LogNormalPrior(*LENGTHSCALE),
            lengthscale_constraint=Positive(initial_value=0.15),
        )
        self.ard_num_dims = 2 * axes  # columns of what it is called with; an axis has one lengthscale

    def forward(self, x1: torch.Tensor, x2: torch.Tensor, diag: bool = False, **params: Any) -> torch.Tensor:
        """Return the covariances of boxes with boxes, or of pairs of boxes if `diag`."""
        scale = self.lengthscale.squeeze(-2)
        low1, high1, low2, high2 = x1[..., ::2], x1[..., 1::2], x2[..., ::2], x2[..., 1::2]
        if not diag:
            low1, high1 = low1.unsqueeze(-2), high1.unsqueeze(-2)
            low2, high2 = low2.unsqueeze(-3), high2.unsqueeze(-3)
            scale = scale.unsqueeze(-2).unsqueeze(-2) if scale.dim() > 1 else scale

        def twice(distance: torch.Tensor) -> torch.Tensor:
            """Return the second antiderivative of exp(-d^2 / 2) at a distance in lengthscales."""
            d = distance / scale
            return torch.exp(-0.5 * d * d) - 1 + d * math.sqrt(math.pi / 2) * torch.erf(d / math.sqrt(2))

        total = twice(high1 - low2) - twice(high1 - high2) - twice(low1 - low2) + twice(low1 - high2)
        return (total * scale**2 / ((high1 - low1) * (high2 - low2))).prod(dim=-1)
