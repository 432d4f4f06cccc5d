"""Which region to measure next, and which to recommend: policies see columns and numbers, no kernel or region."""

from zonal.policies.base import BoundPolicy, ModelView, Policy, PolicyContext, RngFactory, Rows, Shape, Views, best

__all__ = ["BoundPolicy", "RngFactory", "Policy", "Rows", "PolicyContext", "Shape", "ModelView", "Views", "best"]
