"""Benchmarks: speed, and the arena."""
