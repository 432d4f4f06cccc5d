"""Whole budgets played before the first real measurement: rehearsals and power analyses."""
