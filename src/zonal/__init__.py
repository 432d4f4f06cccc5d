"""Zonal: find the region with the highest average when measurements are noisy averages over regions."""

from zonal import data, problems, theory
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
from zonal.feedback import Average, Beam, Center, Feedback, Mean
from zonal.kernels import RBF, Categorical, Matern
from zonal.maximize import maximize
from zonal.policies.baselines import UCB, Random, Thompson, UniformGrid
from zonal.policies.gptree import GPTree
from zonal.policies.knowledge import KnowledgeGradient
from zonal.policies.optimistic import GPOO, StoOO
from zonal.power import Power, power
from zonal.problems import PerWeight, reward_function, simulate
from zonal.refine import PointResult
from zonal.spaces import Box, Hierarchy, Points, Product, Region, Sequences
from zonal.study import Study
from zonal.theory import GeometricDelta, LipschitzDelta, SpreadDelta
from zonal.trials import Recommendation, Result, Trial, TrialRecord

__version__ = "0.1.0"

__all__ = [
    "GPOO",
    "GPTree",
    "RBF",
    "UCB",
    "Average",
    "Beam",
    "Box",
    "BudgetSpent",
    "Categorical",
    "Center",
    "Exhausted",
    "Feedback",
    "GeometricDelta",
    "Hierarchy",
    "InvalidInput",
    "KnowledgeGradient",
    "LipschitzDelta",
    "Matern",
    "Mean",
    "ModelWarning",
    "NumericalWarning",
    "PerWeight",
    "Recommendation",
    "PointResult",
    "Points",
    "Power",
    "Product",
    "Random",
    "Region",
    "Result",
    "Sequences",
    "SmoothnessWarning",
    "SpreadDelta",
    "StoOO",
    "Study",
    "StudyFileError",
    "Thompson",
    "Trial",
    "TrialError",
    "TrialRecord",
    "UniformGrid",
    "ZonalError",
    "data",
    "maximize",
    "power",
    "problems",
    "reward_function",
    "simulate",
    "theory",
]
