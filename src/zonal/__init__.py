"""Zonal: find the region with the highest average when measurements are noisy averages over regions."""

from zonal import interrupts  # noqa: F401  # before anything that takes long to import

# isort: split
from importlib import import_module
from typing import TYPE_CHECKING

import scipy.linalg  # noqa: F401  # before our own modules: all of it then loads a tenth quicker

from zonal import data, problems, theory
from zonal.averages.feedback import Average, Beam, Center, Feedback, Mean, Slope
from zonal.averages.kernels import RBF, Categorical, Matern
from zonal.averages.motifs import Motif
from zonal.beliefs.model import Model
from zonal.driving.refine import PointResult
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
from zonal.looking import LikelyRegions
from zonal.maximize import maximize, minimize
from zonal.patches import Patch, Patches
from zonal.policies.above import Above
from zonal.policies.baselines import UCB, Random, Thompson, UniformGrid
from zonal.policies.knowledge import KnowledgeGradient
from zonal.policies.optimistic import GPOO, GPTree, StoOO
from zonal.policies.rules import Policy
from zonal.predictions import Grid, Prediction
from zonal.problems import PerWeight, reward_function, simulate
from zonal.rounds.certainty import Outlook
from zonal.rounds.outcomes import Outcome
from zonal.rounds.trials import (
    Bands,
    Likely,
    Observation,
    Recommendation,
    Result,
    Trial,
    TrialRecord,
)
from zonal.spaces import Box, Hierarchy, Points, Product, Region, Sequences, Space
from zonal.study import Study
from zonal.tables.habits import missing
from zonal.tables.listings import Listing
from zonal.theory import GeometricDelta, LipschitzDelta, SpreadDelta
from zonal.tree import TreeTable

if TYPE_CHECKING:
    from zonal.campaigns.power import Power, power
    from zonal.campaigns.rehearsal import Rehearsal, rehearse
    from zonal.web.client import connect

__version__ = "0.1.0"

__all__ = [
    "GPOO",
    "GPTree",
    "RBF",
    "UCB",
    "Above",
    "Average",
    "Bands",
    "Beam",
    "Box",
    "BudgetSpent",
    "Categorical",
    "Center",
    "Exhausted",
    "Feedback",
    "GeometricDelta",
    "Grid",
    "Hierarchy",
    "InvalidInput",
    "KnowledgeGradient",
    "Likely",
    "LikelyRegions",
    "LipschitzDelta",
    "Listing",
    "Matern",
    "Mean",
    "Model",
    "ModelWarning",
    "Motif",
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
    "Policy",
    "Power",
    "Prediction",
    "Product",
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
    "problems",
    "rehearse",
    "reward_function",
    "simulate",
    "theory",
]


_ON_DEMAND = {
    "Power": "campaigns.power",
    "power": "campaigns.power",
    "Rehearsal": "campaigns.rehearsal",
    "rehearse": "campaigns.rehearsal",
    "connect": "web.client",
}


def __getattr__(name: str) -> object:
    """Import what is loaded on demand; for another library's name, raise with the name used here."""
    if name not in _ON_DEMAND:
        raise missing("zonal", name)
    return getattr(import_module(f"zonal.{_ON_DEMAND[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
