"""The paper's quantities that its algorithms need, each with its lemma: beta_t, and delta by depth."""

from zonal.theory.bounds import beta_stooo, beta_t, log_node_count, log_nodes, log_pi_t
from zonal.theory.delta import (
    Delta,
    GeometricDelta,
    LipschitzDelta,
    SpreadDelta,
    Variation,
    delta_by_depth,
    lipschitz_constants,
)

__all__ = [
    "Delta",
    "GeometricDelta",
    "LipschitzDelta",
    "SpreadDelta",
    "Variation",
    "beta_stooo",
    "beta_t",
    "delta_by_depth",
    "lipschitz_constants",
    "log_node_count",
    "log_nodes",
    "log_pi_t",
]
