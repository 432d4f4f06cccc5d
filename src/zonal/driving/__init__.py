"""Measuring with a function: ask, measure, tell, in this process or on many machines."""
