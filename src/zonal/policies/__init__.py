"""Which region next, and which to settle for: policies see columns and numbers, never a kernel or a region."""

from zonal.policies.rules import Bound, Draw, Policy, Rows, Rules, Setting, Shape, View, Views, best

__all__ = ["Bound", "Draw", "Policy", "Rows", "Rules", "Setting", "Shape", "View", "Views", "best"]
