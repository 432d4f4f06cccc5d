"""Which region to measure next, and which to recommend: policies see columns and numbers, no kernel or region."""

from zonal.policies.base import Bound, Draw, Policy, Rows, Rules, Setting, Shape, View, Views, best

__all__ = ["Bound", "Draw", "Policy", "Rows", "Rules", "Setting", "Shape", "View", "Views", "best"]
