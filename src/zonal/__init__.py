"""Zonal: find the region with the highest average when measurements are noisy averages over regions."""

from zonal import _interrupts  # noqa: F401  # before anything that takes long to import

# isort: split
from importlib import import_module
from typing import TYPE_CHECKING

import scipy.linalg  # noqa: F401  # before our own modules: all of it then loads a tenth quicker

from zonal import simulation
from zonal.engine.confidence import Outlook
from zonal.engine.noise import PerWeight
from zonal.engine.results import (
    ConfidenceBands,
    Observation,
    Recommendation,
    RegionProbability,
    Result,
    Trial,
    TrialRecord,
)
from zonal.engine.trial_history import Outcome
from zonal.errors import (
    BudgetSpent,
    Exhausted,
    InvalidInput,
    ModelWarning,
    NumericalWarning,
    SmoothnessWarning,
    StudyFileError,
    TrialError,
    ZonalError,
)
from zonal.gp.likelihoods import Counts, Proportion
from zonal.gp.model import Model
from zonal.group_testing import GroupTesting, Pool, Pooled
from zonal.io.hints import missing
from zonal.io.result_table import Listing
from zonal.kernels.base import RBF, Categorical, Matern
from zonal.kernels.feedback import Average, Beam, Center, Feedback, Mean, Slope
from zonal.kernels.nugget import Nugget
from zonal.kernels.spectrum import Motif
from zonal.maximize import maximize, minimize
from zonal.policies.base import Policy
from zonal.policies.baselines import UCB, Random, Thompson, UniformGrid
from zonal.policies.deltas import GeometricDelta, LipschitzDelta, SpreadDelta
from zonal.policies.gpoo import GPOO, GPTree, StoOO
from zonal.policies.knowledge_gradient import KnowledgeGradient
from zonal.policies.level_set import Above
from zonal.simulation import datasets as data
from zonal.simulation import reward_function, simulate
from zonal.spaces import Box, Hierarchy, Points, Product, Region, Sequences, Space
from zonal.study.listings import RegionProbabilities
from zonal.study.patches import Patch, Patches
from zonal.study.point_search import PointResult
from zonal.study.predictions import Grid, Prediction
from zonal.study.study import Study
from zonal.tree import TreeTable

if TYPE_CHECKING:
    from zonal.simulation.power import Power, power
    from zonal.simulation.rehearsal import Rehearsal, rehearse
    from zonal.web.client import connect

__version__ = "0.1.0"

__all__ = [
    "GPOO",
    "GPTree",
    "RBF",
    "UCB",
    "Above",
    "Average",
    "ConfidenceBands",
    "Beam",
    "Box",
    "BudgetSpent",
    "Categorical",
    "Center",
    "Counts",
    "Exhausted",
    "Feedback",
    "GeometricDelta",
    "Grid",
    "GroupTesting",
    "Hierarchy",
    "InvalidInput",
    "KnowledgeGradient",
    "RegionProbability",
    "RegionProbabilities",
    "LipschitzDelta",
    "Listing",
    "Matern",
    "Mean",
    "Model",
    "ModelWarning",
    "Motif",
    "Nugget",
    "NumericalWarning",
    "Observation",
    "Outcome",
    "Outlook",
    "Patch",
    "Patches",
    "PerWeight",
    "Recommendation",
    "PointResult",
    "Points",
    "Pool",
    "Pooled",
    "Policy",
    "Power",
    "Prediction",
    "Product",
    "Proportion",
    "Random",
    "Region",
    "Rehearsal",
    "Result",
    "Sequences",
    "Slope",
    "SmoothnessWarning",
    "SpreadDelta",
    "Space",
    "StoOO",
    "Study",
    "StudyFileError",
    "Thompson",
    "Trial",
    "TreeTable",
    "TrialError",
    "TrialRecord",
    "UniformGrid",
    "ZonalError",
    "connect",
    "data",
    "maximize",
    "minimize",
    "power",
    "rehearse",
    "reward_function",
    "simulate",
    "simulation",
]


_ON_DEMAND = {
    "Power": "simulation.power",
    "power": "simulation.power",
    "Rehearsal": "simulation.rehearsal",
    "rehearse": "simulation.rehearsal",
    "connect": "web.client",
}


def __getattr__(name: str) -> object:
    """Import what is loaded on demand; for another library's name, raise with the name used here."""
    if name not in _ON_DEMAND:
        raise missing("zonal", name)
    return getattr(import_module(f"zonal.{_ON_DEMAND[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
