"""Campaigns simulated before the first real measurement: rehearsals and power analyses."""
